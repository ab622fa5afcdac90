/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_fit.h"

#include "harness/base/units.h"
#include "harness/cli/plan_fit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCALES_MAX = 32, JUDGED_MAX = 256 };

/* The figure at other scales, each opened once. */
struct scales {
    const struct gnn_paper_figure *figure;
    gnn_figure_open_fn *open;
    void *ctx;
    struct gnn_paper_figure *opened[SCALES_MAX]; /* NULL: it could not be */
    uint32_t divisors[SCALES_MAX], count;
};

uint32_t gnn_usual_scale(double divisor)
{
    static const uint32_t steps[] = {80, 60, 50, 40, 30, 25, 20, 15, 10};
    for (uint64_t tens = 1000000000; tens >= 10; tens /= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if ((uint64_t)divisor >= steps[i] * tens / 10)
                return (uint32_t)(steps[i] * tens / 10);
    return divisor >= 5 ? 5 : divisor >= 2 ? 2 : 1;
}

/* NULL where the figure cannot be opened at that scale. */
static const struct gnn_paper_figure *at_scale(struct scales *s, uint32_t divisor)
{
    struct gnn_err ignored = {0};
    if (divisor == s->figure->scale_divisor)
        return s->figure;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->divisors[i] == divisor)
            return s->opened[i];
    if (s->count == SCALES_MAX)
        return NULL;
    struct gnn_paper_figure *opened = NULL;
    if (s->open(s->ctx, divisor, &opened, &ignored) != GNN_OK)
        opened = NULL;
    s->divisors[s->count] = divisor;
    s->opened[s->count++] = opened;
    return opened;
}

/* Computes what a configuration needs. Returns how much of its memory limit that is, 1 being all of it, or 0 if it
 * cannot be computed. */
static double share_of(struct scales *s, uint32_t cell, uint32_t divisor, struct gnn_run_need *need)
{
    const struct gnn_paper_figure *const figure = at_scale(s, divisor);
    *need = (struct gnn_run_need){.bytes = 0};
    if (figure == NULL || cell >= figure->job->count || figure->job->cells[cell].refusal[0] != '\0')
        return 0;
    return gnn_plan_share(&figure->job->cells[cell].config, need);
}

/* Returns the nodes of the configuration's graph at scale 1/divisor. */
static uint64_t nodes_of(const struct scales *s, uint32_t cell, uint32_t divisor)
{
    return gnn_plan_nodes(&s->figure->job->cells[cell].config, divisor);
}

/* Returns the divisor of the largest scale below the figure's whose graph is computed in a moment. */
static uint32_t smallest_divisor(const struct scales *s, uint32_t cell)
{
    const uint32_t half = gnn_usual_scale(0.5 * s->figure->scale_divisor);
    uint32_t divisor = half;
    while (divisor > 1 && gnn_plan_is_quick(nodes_of(s, cell, gnn_usual_scale(divisor - 1))))
        divisor = gnn_usual_scale(divisor - 1);
    return divisor;
}

/* Returns the divisor of the least usual scale at which the configuration fits. It is between `fits`, at which it does,
 * and the figure's. */
static uint32_t search(struct scales *s, uint32_t cell, uint32_t fits)
{
    uint32_t exceeds = s->figure->scale_divisor;
    struct gnn_run_need ignored;
    for (;;) {
        const uint32_t middle = gnn_usual_scale(0.5 * (fits + exceeds));
        if (middle <= fits)
            return fits;
        const double share = share_of(s, cell, middle, &ignored);
        *(share > 0 && share <= 1 ? &fits : &exceeds) = middle;
    }
}

/* Returns the divisor at which a phase takes the whole limit, by the line through two of its shares: what shrinks with
 * the graph is a fixed share of the limit, the rest one that grows with the divisor. 0: it exceeds the limit at every
 * scale. */
static double crossing(uint32_t divisor, double share, double share_at_twice)
{
    const double slope = (share_at_twice - share) / divisor, whole = share - slope * (divisor - 1);
    if (whole > 1)
        return 0;
    return slope > 0 ? 1 + (1 - whole) / slope : divisor;
}

/* Returns the same as search() if the graphs at which the configuration fits are too large to be computed. 0: it fits
 * at no scale. need: at 1/divisor. */
static uint32_t estimate(struct scales *s, uint32_t cell, uint32_t divisor, const struct gnn_run_need *need)
{
    struct gnn_run_need further;
    double least = divisor - 1;
    if (share_of(s, cell, 2 * divisor, &further) <= 0)
        return 0;
    const double cap = (double)at_scale(s, divisor)->job->cells[cell].config.memory_bytes;
    const double cap_further = (double)at_scale(s, 2 * divisor)->job->cells[cell].config.memory_bytes;
    for (uint32_t p = 0; p < GNN_PLAN_PHASES_MAX; p++)
        least = fmin(
            least, crossing(divisor, (double)need->phase_bytes[p] / cap, (double)further.phase_bytes[p] / cap_further));
    return least >= 1 ? gnn_usual_scale(least) : 0;
}

static uint32_t least_scale(struct scales *s, uint32_t cell)
{
    const uint32_t divisor = smallest_divisor(s, cell);
    struct gnn_run_need need;
    const double share = share_of(s, cell, divisor, &need);
    if (share > 0 && share <= 1)
        return search(s, cell, divisor);
    return share > 1 && divisor > 1 ? estimate(s, cell, divisor, &need) : 0;
}

/* What is known of a configuration: those of a series with the same need and limit are alike. */
struct judged {
    uint32_t series, least;
    uint64_t need_bytes, cap_bytes;
};

struct judgements {
    struct judged of[JUDGED_MAX];
    uint32_t count;
};

/* Returns the divisor of the least scale at which the configuration fits; 0: it fits at none. */
static uint32_t judge(struct scales *s, uint32_t cell, uint64_t need_bytes, struct judgements *known)
{
    const struct judged wanted = {.series = s->figure->cells[cell].series,
                                  .need_bytes = need_bytes,
                                  .cap_bytes = s->figure->job->cells[cell].config.memory_bytes};
    for (uint32_t i = 0; i < known->count; i++)
        if (known->of[i].series == wanted.series && known->of[i].need_bytes == need_bytes &&
            known->of[i].cap_bytes == wanted.cap_bytes)
            return known->of[i].least;
    const uint32_t least = least_scale(s, cell);
    if (known->count < JUDGED_MAX) {
        known->of[known->count] = wanted;
        known->of[known->count++].least = least;
    }
    return least;
}

static void look_at(struct scales *s, uint32_t cell, struct judgements *known, struct gnn_series_fit *fit)
{
    struct gnn_run_need need;
    fit->cells++;
    if (share_of(s, cell, s->figure->scale_divisor, &need) <= 1)
        return;
    const uint32_t least = judge(s, cell, need.bytes, known);
    fit->too_large += least > 0 ? 1 : 0;
    fit->never += least > 0 ? 0 : 1;
    if (fit->need_bytes > 0 && (least == 0 || (fit->scale_divisor != 0 && least >= fit->scale_divisor)))
        return;
    fit->scale_divisor = least;
    fit->need_bytes = need.bytes;
    fit->cap_bytes = s->figure->job->cells[cell].config.memory_bytes;
}

static bool is_planned(const struct scales *s, uint32_t cell)
{
    const struct gnn_job_cell *const c = &s->figure->job->cells[cell];
    return c->refusal[0] == '\0' && c->search.option[0] == '\0' && c->config.world == GNN_WORLD_SIMULATED &&
           s->figure->cells[cell].run_count == 0 && gnn_plan_is_quick(nodes_of(s, cell, s->figure->scale_divisor));
}

void gnn_figure_fit(const struct gnn_paper_figure *figure, gnn_figure_open_fn *open, void *ctx,
                    struct gnn_figure_fit *out)
{
    struct scales scales = {.figure = figure, .open = open, .ctx = ctx};
    struct judgements known = {.count = 0};
    *out = (struct gnn_figure_fit){.too_large = 0};
    if (figure->job == NULL || figure->by_fio || figure->scale_divisor <= 1)
        return;
    for (uint32_t i = 0; i < figure->job->count; i++)
        if (is_planned(&scales, i))
            look_at(&scales, i, &known, &out->series[figure->cells[i].series]);
    for (uint32_t s = 0; s < figure->series_count; s++) {
        out->too_large += out->series[s].too_large;
        out->never += out->series[s].never;
    }
    for (uint32_t i = 0; i < scales.count; i++)
        gnn_figure_close(scales.opened[i]);
}

void gnn_series_fit_text(const struct gnn_paper_figure *figure, uint32_t series, const struct gnn_series_fit *fit,
                         char *text, size_t text_bytes)
{
    char need[32], cap[32], remedy[48] = "it does not fit at any scale";
    assert(fit->need_bytes > 0);
    if (fit->scale_divisor > 0)
        (void)snprintf(remedy, sizeof remedy, fit->scale_divisor == 1 ? "use --scale 1" : "use --scale 1/%u or larger",
                       fit->scale_divisor);
    (void)snprintf(text, text_bytes,
                   "at 1/%u the memory limit is %s, but %s needs at least %s (%u of %u configurations): %s",
                   figure->scale_divisor, gnn_format_bytes(fit->cap_bytes, cap, sizeof cap),
                   figure->series[series].name, gnn_format_bytes(fit->need_bytes, need, sizeof need),
                   fit->scale_divisor > 0 ? fit->too_large : fit->never, fit->cells, remedy);
}
