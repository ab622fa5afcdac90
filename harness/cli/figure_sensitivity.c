/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_sensitivity.h"

#include "harness/base/data_dirs.h"
#include "harness/base/grow.h"
#include "harness/base/log.h"
#include "harness/base/out_file.h"
#include "harness/world/profile.h"

#include <math.h>
#include <string.h>

static const char *const factors[] = {"x0.5", "x2"};
enum { FACTORS = sizeof factors / sizeof *factors };
static const double shown_from = 0.02; /* a smaller move has no row */

/* A parameter, and the figure's ratios with it halved and doubled. */
struct change {
    char profile[GNN_TEXT_MAX], key[GNN_NAME_MAX], value[GNN_NAME_MAX];
    struct gnn_figure_verdicts at[FACTORS];
};

struct changes {
    struct change *of;
    uint32_t count, room;
    struct gnn_figure_verdicts base;
};

static bool has_change(const struct changes *c, const char *profile, const char *key)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->of[i].profile, profile) == 0 && strcmp(c->of[i].key, key) == 0)
            return true;
    return false;
}

/* Adds the parameters of a run's profile and costs that are new. */
static enum gnn_status add_parameters(struct changes *c, const struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct gnn_profile *profile = NULL;
    struct change one = {.key = ""};
    gnn_data_dirs(&found);
    enum gnn_status status = gnn_profile_open(config->profile, found.dirs, &profile, err);
    if (!gnn_run_costs_are_ideal(config))
        GNN_NEXT(status, gnn_profile_add_costs(profile, config->costs, found.dirs, err));
    (void)snprintf(one.profile, sizeof one.profile, "%s", config->profile);
    for (uint32_t at = 0; status == GNN_OK && gnn_profile_next_assumed(profile, &at, one.key, one.value);) {
        if (has_change(c, one.profile, one.key))
            continue;
        struct change *const grown = gnn_grow(c->of, c->count, &c->room, sizeof *grown);
        if (grown == NULL) {
            status = gnn_fail(err, GNN_ENOMEM, "the parameters of profile %s", one.profile);
            break;
        }
        c->of = grown;
        c->of[c->count++] = one;
    }
    gnn_profile_close(profile);
    return status;
}

static enum gnn_status make_all(struct changes *c, gnn_changed_figure_fn *make, void *ctx, struct gnn_err *err)
{
    char text[2 * GNN_NAME_MAX];
    GNN_TRY(make(ctx, "", "", &c->base, err));
    for (uint32_t i = 0; i < c->count && c->base.ratios.count > 0; i++) {
        struct change *const one = &c->of[i];
        gnn_log_info("parameter %u of %u: %s of profile %s", i + 1, c->count, one->key, one->profile);
        for (int f = 0; f < FACTORS; f++) {
            (void)snprintf(text, sizeof text, "%s=%s", one->key, factors[f]);
            GNN_TRY(make(ctx, one->profile, text, &one->at[f], err));
        }
    }
    return GNN_OK;
}

/* Returns the ratio with a changed parameter; NAN: it has no number then. A median may be of fewer values. */
static double ratio_at(const struct gnn_figure_verdicts *changed, const struct gnn_figure_ratio *base)
{
    const size_t same = strncmp(base->where, "median of", 9) == 0 ? 9 : sizeof base->where;
    for (uint32_t r = 0; r < changed->ratios.count; r++) {
        const struct gnn_figure_ratio *const ratio = &changed->ratios.rows[r];
        if (strcmp(ratio->predicate, base->predicate) == 0 && strncmp(ratio->where, base->where, same) == 0)
            return ratio->ours;
    }
    return (double)NAN;
}

static bool moves(const struct change *change, const struct gnn_figure_ratio *base)
{
    for (int f = 0; f < FACTORS; f++) /* also if it has no number */
        if (!(fabs(ratio_at(&change->at[f], base) / base->ours - 1) < shown_from))
            return true;
    return false;
}

static void put_number(double value, int digits, const char *after, FILE *out)
{
    if (isfinite(value))
        (void)fprintf(out, "%.*g%s", digits, value, after);
    else
        (void)fprintf(out, "-%s", after);
}

static void print_ratio(const struct changes *c, const struct gnn_figure_ratio *base)
{
    uint32_t shown = 0;
    (void)printf("\n%s%s%s: %.3g, published %.4g\n\n| parameter | value | halved | doubled |\n|---|---|---|---|\n",
                 base->predicate, base->where[0] != '\0' ? ", " : "", base->where, base->ours, base->published);
    for (uint32_t i = 0; i < c->count; i++) {
        if (!moves(&c->of[i], base))
            continue;
        shown++;
        (void)printf("| %s (%s) | %s | ", c->of[i].key, c->of[i].profile, c->of[i].value);
        put_number(ratio_at(&c->of[i].at[0], base), 3, " | ", stdout);
        put_number(ratio_at(&c->of[i].at[1], base), 3, " |\n", stdout);
    }
    (void)printf("\n%u other parameters change it by less than %.0f %%\n", c->count - shown, 100 * shown_from);
}

static void put_csv(const struct gnn_paper_figure *figure, const struct changes *c, FILE *out)
{
    (void)fputs("figure,ratio,where,published,ours,profile,parameter,value,halved,doubled\n", out);
    for (uint32_t r = 0; r < c->base.ratios.count; r++) {
        const struct gnn_figure_ratio *const base = &c->base.ratios.rows[r];
        for (uint32_t i = 0; i < c->count; i++) {
            (void)fprintf(out, "%s,%s,\"%s\",%.9g,%.9g,%s,%s,%s,", figure->id, base->predicate, base->where,
                          base->published, base->ours, c->of[i].profile, c->of[i].key, c->of[i].value);
            put_number(ratio_at(&c->of[i].at[0], base), 9, ",", out);
            put_number(ratio_at(&c->of[i].at[1], base), 9, "\n", out);
        }
    }
}

static enum gnn_status write_csv(const struct gnn_paper_figure *figure, const struct changes *c, const char *dir,
                                 struct gnn_err *err)
{
    char name[2 * GNN_NAME_MAX];
    FILE *file;
    GNN_TRY(gnn_make_dirs(dir, err));
    (void)snprintf(name, sizeof name, "%s-sensitivity", figure->file);
    GNN_TRY(gnn_out_file_open(dir, name, "csv", &file, err));
    put_csv(figure, c, file);
    return gnn_out_file_close(file, dir, name, "csv", err);
}

static enum gnn_status show(const struct gnn_paper_figure *figure, const struct changes *c, const char *dir,
                            struct gnn_err *err)
{
    (void)printf("\nRatios with one parameter of a profile halved or doubled%s\n",
                 c->base.ratios.count == 0 ? ": none, because no ratio to a published number has a value" : "");
    for (uint32_t r = 0; r < c->base.ratios.count; r++)
        print_ratio(c, &c->base.ratios.rows[r]);
    return write_csv(figure, c, dir, err);
}

enum gnn_status gnn_figure_sensitivity(const struct gnn_paper_figure *figure, gnn_changed_figure_fn *make, void *ctx,
                                       const char *dir, struct gnn_err *err)
{
    struct changes c = {.count = 0};
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < figure->job->count && status == GNN_OK; i++)
        if (figure->job->cells[i].refusal[0] == '\0' && figure->job->cells[i].config.profile[0] != '\0')
            status = add_parameters(&c, &figure->job->cells[i].config, err);
    GNN_NEXT(status, make_all(&c, make, ctx, err));
    GNN_NEXT(status, show(figure, &c, dir, err));
    for (uint32_t i = 0; i < c.count; i++)
        for (int f = 0; f < FACTORS; f++)
            gnn_figure_verdicts_close(&c.of[i].at[f]);
    gnn_figure_verdicts_close(&c.base);
    free(c.of);
    return status;
}
