/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_left.h"

#include "harness/base/grow.h"
#include "harness/figure/fio_cells.h"
#include "harness/run/sweep/lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Minutes of a cell by what the file says of all of them, without variants; NAN: it says nothing at this scale. */
static double minutes_by_file(const struct gnn_paper_figure *figure)
{
    if (figure->about.minutes[0] == '\0' || !figure->own_setup)
        return (double)NAN;
    const uint32_t variants = figure->has_variants ? figure->axes[figure->axis_count - 1].count : 1;
    return strtod(figure->about.minutes, NULL) * variants / figure->job->count;
}

void gnn_figure_met_close(struct gnn_figure_met *met)
{
    free(met->identities);
    *met = (struct gnn_figure_met){.count = 0};
}

/* Notes a cell; *again: it was met before. fio's cells belong to one figure each. */
static enum gnn_status meet(const struct gnn_paper_figure *figure, uint32_t number, struct gnn_figure_met *met,
                            bool *again, struct gnn_err *err)
{
    char identity[GNN_CHECKSUM_TEXT];
    *again = false;
    if (figure->by_fio)
        return GNN_OK;
    GNN_TRY(gnn_run_identity(&figure->job->cells[number].config, GNN_IDENTITY_RUN, identity, err));
    for (uint32_t i = 0; i < met->count && !*again; i++)
        *again = memcmp(met->identities[i], identity, sizeof identity) == 0;
    if (*again)
        return GNN_OK;
    void *const grown = gnn_grow(met->identities, met->count, &met->room, sizeof *met->identities);
    if (grown == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the configurations that are left");
    met->identities = grown;
    memcpy(met->identities[met->count++], identity, sizeof identity);
    return GNN_OK;
}

static void count_left(struct gnn_figure_left *left, double minutes)
{
    left->cells++;
    left->unknown += isfinite(minutes) ? 0 : 1;
    left->minutes += isfinite(minutes) ? minutes : 0;
}

enum gnn_status gnn_figure_left(const struct gnn_paper_figure *figure, struct gnn_figure_met *met,
                                struct gnn_figure_left *all, struct gnn_figure_left *own, struct gnn_err *err)
{
    *all = *own = (struct gnn_figure_left){.cells = 0};
    for (uint32_t i = 0; i < figure->job->count; i++) {
        struct gnn_run_cost cost = {.host_ns = GNN_UNKNOWN};
        struct gnn_err ignored = {0}; /* an estimate is no reason to fail */
        bool again;
        if (figure->job->cells[i].refusal[0] != '\0' || figure->cells[i].run_count > 0)
            continue;
        (void)!(figure->by_fio ? gnn_fio_cell_cost(figure, i, &cost, &ignored)
                               : gnn_sweep_cost(&figure->job->cells[i].config, &cost, &ignored));
        const double minutes = cost.host_ns != GNN_UNKNOWN ? (double)cost.host_ns / 60e9 : minutes_by_file(figure);
        GNN_TRY(meet(figure, i, met, &again, err));
        count_left(all, minutes);
        if (!again)
            count_left(own, minutes);
    }
    return GNN_OK;
}
