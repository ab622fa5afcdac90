/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_plan.h"

#include <math.h>
#include <stdio.h>

static void print_minutes(const struct gnn_figure_left *left, char *text, size_t text_bytes)
{
    if (left->cells == 0)
        (void)snprintf(text, text_bytes, "-");
    else if (left->unknown == left->cells)
        (void)snprintf(text, text_bytes, "?");
    else
        (void)snprintf(text, text_bytes, "%.1f%s", left->minutes, left->unknown > 0 ? "+?" : "");
}

/* Notes a dataset that must be imported before the runs that are left. */
static void note_import(const struct gnn_paper_figure *figure, struct gnn_figure_file *found)
{
    char command[3 * GNN_TEXT_MAX];
    found->needs[0] = '\0';
    if (found->left.cells > 0 && gnn_figure_import_command(figure, command, sizeof command) != NULL)
        (void)snprintf(found->needs, sizeof found->needs, "; needs %.200s: `%s`", figure->job->cells[0].config.dataset,
                       command);
}

bool gnn_figure_plan_leaves_out(const struct gnn_figures *f, const struct gnn_paper_figure *figure)
{
    if (!f->config.all || f->config.world == GNN_WORLD_MEASURED || figure->by_fio)
        return false;
    for (uint32_t i = 0; i < figure->job->count; i++)
        if (!figure->cells[i].trains && figure->job->cells[i].config.world == GNN_WORLD_MEASURED)
            return true;
    return false;
}

/* Looks what is recorded of a figure, and notes what is left to run. */
static enum gnn_status look_at(struct gnn_figures *f, struct gnn_figure_file *found, uint32_t *cells,
                               uint32_t *recorded, struct gnn_err *err)
{
    struct gnn_paper_figure *figure;
    GNN_TRY(gnn_figure_file_open(f, found, f->scale_divisor, &figure, err));
    enum gnn_status status = gnn_figure_load(figure, f->config.any_build, 1, err);
    gnn_figure_count(figure, cells, recorded);
    if (!gnn_figure_plan_leaves_out(f, figure))
        GNN_NEXT(status, gnn_figure_left(figure, &f->met, &found->left, &found->own, err));
    if (status == GNN_OK)
        note_import(figure, found);
    gnn_figure_close(figure);
    return status;
}

enum gnn_status gnn_figure_plan_print(struct gnn_figures *f, struct gnn_figure_file *found, struct gnn_err *err)
{
    uint32_t cells, recorded;
    char state[48], minutes[32];
    if (found->about.missing[0] != '\0') {
        (void)printf("%-20s %-12s %-8s %s\n", found->id, "-", "-", found->about.missing);
        return GNN_OK;
    }
    GNN_TRY(look_at(f, found, &cells, &recorded, err));
    print_minutes(&found->left, minutes, sizeof minutes);
    (void)snprintf(state, sizeof state, "%u of %u", recorded, cells);
    (void)printf("%-20s %-12s %-8s %s%s\n", found->id, state, minutes, found->about.title, found->needs);
    return GNN_OK;
}

const char *gnn_figure_plan_left(const struct gnn_figures *f, uint32_t first, double a_cell, char *text,
                                 size_t text_bytes)
{
    struct gnn_figure_left total = {.cells = 0};
    char beside[64] = "", unknown[80] = "";
    for (uint32_t i = first; i < f->found_count; i++) {
        total.cells += f->found[i].own.cells;
        total.unknown += f->found[i].own.unknown;
        total.minutes += f->found[i].own.minutes;
    }
    if (total.unknown > 0)
        (void)snprintf(unknown, sizeof unknown,
                       isfinite(a_cell) ? ", %u of them estimated by the average so far"
                                        : ", and %u without an estimate",
                       total.unknown);
    total.minutes += isfinite(a_cell) ? total.unknown * a_cell : 0;
    if (f->config.jobs > 1)
        (void)snprintf(beside, sizeof beside, ", %.0f with %u at a time", total.minutes / f->config.jobs,
                       f->config.jobs);
    (void)snprintf(text, text_bytes, "%u configurations to run: about %.0f minutes of a core%s%s", total.cells,
                   total.minutes, beside, unknown);
    return text;
}

void gnn_figure_plan_all(struct gnn_figures *f)
{
    for (uint32_t i = 0; i < f->found_count; i++) {
        uint32_t cells, recorded;
        struct gnn_err ignored = {0};
        if (f->found[i].about.missing[0] == '\0')
            (void)!look_at(f, &f->found[i], &cells, &recorded, &ignored);
    }
}
