/* SPDX-License-Identifier: MIT */
#include "harness/compare/ab.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <math.h>

/* ---- one look ---- */

static struct gnn_ab_estimate estimate(double log_ratio, struct gnn_interval interval, double p)
{
    return (struct gnn_ab_estimate){
        .ratio = exp(log_ratio), .low = exp(interval.low), .high = exp(interval.high), .p = p};
}

/* The intervals hold at all looks together. */
static void describe(const struct gnn_ab_plan *plan, struct gnn_ab_series *s, uint32_t looks)
{
    double logs[GNN_PAIRS_MAX], sorted[GNN_PAIRS_MAX], sum = 0, squares = 0;
    const uint32_t count = s->count;
    const double share = 1 - 0.05 / looks;
    assert(count >= 2);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = logs[i] = log(s->head[i] / s->base[i]);
        sum += logs[i];
    }
    gnn_sort_doubles(sorted, count);
    const double median = gnn_quantile(sorted, count, 0.5), mean = sum / count;
    s->median = estimate(median, gnn_median_interval(logs, count, share, plan->seed), gnn_signed_rank_p(logs, count));
    s->mean = estimate(mean, gnn_mean_interval(logs, count, share, plan->seed), gnn_sign_flip_p(logs, count));
    for (uint32_t i = 0; i < count; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    s->spread = sqrt(squares / (count - 1));
}

static bool is_slower(const struct gnn_ab_plan *plan, const struct gnn_ab_estimate *e)
{
    return e->p < plan->alpha && e->low > 1 + plan->margin;
}

/* Returns the smallest p-value of an estimate that is slower, or 1 if neither is. */
static double p_of_slower(const struct gnn_ab_plan *plan, const struct gnn_ab_series *s)
{
    return fmin(is_slower(plan, &s->median) ? s->median.p : 1, is_slower(plan, &s->mean) ? s->mean.p : 1);
}

static enum gnn_ab_verdict verdict_of(const struct gnn_ab_plan *plan, const struct gnn_ab_series *s, bool last)
{
    const bool mean_is_fine = s->mean.high < 1 + plan->limit;
    if (p_of_slower(plan, s) < 1)
        return GNN_AB_SLOWER;
    if (s->median.high < 1 - plan->margin && mean_is_fine)
        return GNN_AB_FASTER;
    if (s->median.high < 1 + plan->limit && mean_is_fine)
        return GNN_AB_FINE;
    return last ? GNN_AB_UNSURE : GNN_AB_OPEN;
}

/* Returns the verdict of a series that has too few pairs for a test. */
static enum gnn_ab_verdict verdict_without_pairs(const struct gnn_ab_series *s, bool last)
{
    if (s->missing[0] == s->tried)
        return GNN_AB_ABSENT;
    if (s->missing[0] == 0 && s->missing[1] == s->tried)
        return GNN_AB_GONE;
    return last ? GNN_AB_UNSURE : GNN_AB_OPEN;
}

static bool is_testable(const struct gnn_ab_series *s)
{
    return s->verdict == GNN_AB_OPEN && s->count >= GNN_AB_PAIRS_LEAST;
}

void gnn_ab_judge(const struct gnn_ab_plan *plan, struct gnn_ab_series *series, uint32_t count, uint32_t look,
                  uint32_t looks)
{
    double p[GNN_TESTS_MAX];
    uint32_t tests = 0, family = 0;
    assert(count <= GNN_TESTS_MAX / 2);
    assert(look < looks);
    for (uint32_t i = 0; i < count; i++) {
        if (series[i].verdict == GNN_AB_OPEN && !is_testable(&series[i]))
            series[i].verdict = verdict_without_pairs(&series[i], look + 1 == looks);
        family += series[i].verdict != GNN_AB_ABSENT && series[i].verdict != GNN_AB_GONE ? 2 : 0;
        if (!is_testable(&series[i]))
            continue;
        describe(plan, &series[i], looks);
        p[tests++] = series[i].median.p;
        p[tests++] = series[i].mean.p;
    }
    gnn_holm(p, tests, family);
    tests = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_testable(&series[i]))
            continue;
        series[i].median.p = fmin(1, p[tests++] * looks); /* Bonferroni over the looks */
        series[i].mean.p = fmin(1, p[tests++] * looks);
        series[i].verdict = verdict_of(plan, &series[i], look + 1 == looks);
    }
}

/* ---- measuring ---- */

struct measuring {
    const struct gnn_ab_plan *plan;
    uint32_t cells, metrics;
    gnn_ab_observe_fn *observe;
    void *ctx;
    struct gnn_ab_series *series;
};

static bool is_open(const struct measuring *m, uint32_t cell)
{
    for (uint32_t i = 0; i < m->metrics; i++)
        if (m->series[cell * m->metrics + i].verdict == GNN_AB_OPEN)
            return true;
    return false;
}

/* ABBA: two pairs mirror each other, and a coin says which of the builds begins. */
static bool head_begins(const struct gnn_ab_plan *plan, uint32_t cell, uint32_t pair)
{
    const uint64_t coin = gnn_rng_fold(gnn_rng_fold(gnn_rng_fork(plan->seed, "order"), cell), pair / 2);
    return ((coin ^ pair) & 1) != 0;
}

static enum gnn_status add_pair(const struct measuring *m, uint32_t cell, uint32_t pair, struct gnn_err *err)
{
    double values[2][GNN_AB_METRICS_MAX];
    const bool head_first = head_begins(m->plan, cell, pair);
    for (int turn = 0; turn < 2; turn++) {
        const bool head = (turn == 0) == head_first;
        for (uint32_t i = 0; i < GNN_AB_METRICS_MAX; i++)
            values[head][i] = (double)NAN;
        GNN_TRY(m->observe(m->ctx, cell, head, values[head], err));
    }
    for (uint32_t i = 0; i < m->metrics; i++) {
        struct gnn_ab_series *const s = &m->series[cell * m->metrics + i];
        if (s->verdict != GNN_AB_OPEN)
            continue;
        const bool missing[2] = {!(values[0][i] > 0), !(values[1][i] > 0)};
        s->tried++;
        s->missing[0] += missing[0] ? 1 : 0;
        s->missing[1] += missing[1] ? 1 : 0;
        if (missing[0] || missing[1])
            continue;
        assert(s->count < GNN_PAIRS_MAX);
        s->head_first[s->count] = head_first;
        s->base[s->count] = values[0][i];
        s->head[s->count++] = values[1][i];
    }
    return GNN_OK;
}

static uint32_t count_looks(const struct gnn_ab_plan *plan)
{
    uint32_t looks = 1;
    for (uint32_t pairs = plan->pairs; pairs < plan->pairs_max; pairs *= 2)
        looks++;
    return looks;
}

static enum gnn_status measure(const struct measuring *m, struct gnn_err *err)
{
    const uint32_t looks = count_looks(m->plan);
    uint32_t pair = 0, target = m->plan->pairs;
    for (uint32_t look = 0; look < looks; look++) {
        for (; pair < target; pair++)
            for (uint32_t cell = 0; cell < m->cells; cell++)
                if (is_open(m, cell))
                    GNN_TRY(add_pair(m, cell, pair, err));
        gnn_ab_judge(m->plan, m->series, m->cells * m->metrics, look, looks);
        target = gnn_min_u32(2 * target, m->plan->pairs_max);
    }
    return GNN_OK;
}

/* Merges the second set of pairs of a series into its verdict. Both sets had p-values below the level of one set. */
static void take_second(const struct gnn_ab_plan *plan, struct gnn_ab_series *s, const struct gnn_ab_series *again)
{
    s->confirmed = again->verdict == GNN_AB_SLOWER;
    s->verdict = s->confirmed ? GNN_AB_SLOWER : GNN_AB_UNSURE;
    if (!s->confirmed)
        return;
    const double larger = fmax(p_of_slower(plan, s), p_of_slower(plan, again));
    s->p = larger * larger;
    s->mean_alone = !is_slower(plan, &s->median);
}

/* Measures what came out slower a second time, in separate pairs. */
static enum gnn_status confirm(const struct measuring *first, struct gnn_err *err)
{
    const uint32_t count = first->cells * first->metrics;
    struct gnn_ab_series *again;
    GNN_NEW(again, count + 1, err, "%u series of pairs", count);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        again[i].verdict = first->series[i].verdict == GNN_AB_SLOWER ? GNN_AB_OPEN : GNN_AB_ABSENT;
        any = any || again[i].verdict == GNN_AB_OPEN;
    }
    struct gnn_ab_plan plan = *first->plan;
    struct measuring second = *first;
    plan.seed = gnn_rng_fork(plan.seed, "confirm");
    second.plan = &plan;
    second.series = again;
    const enum gnn_status status = any ? measure(&second, err) : GNN_OK;
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        if (first->series[i].verdict == GNN_AB_SLOWER)
            take_second(&plan, &first->series[i], &again[i]);
    free(again);
    return status;
}

enum gnn_status gnn_ab_run(const struct gnn_ab_plan *plan, uint32_t cells, uint32_t metrics, gnn_ab_observe_fn *observe,
                           void *ctx, struct gnn_ab_series *series, struct gnn_err *err)
{
    assert(metrics >= 1);
    assert(metrics <= GNN_AB_METRICS_MAX);
    if (plan->pairs < GNN_AB_PAIRS_LEAST || plan->pairs > plan->pairs_max || plan->pairs_max > GNN_PAIRS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--pairs %u, --pairs-max %u: expected %d <= pairs <= pairs-max <= %d",
                        plan->pairs, plan->pairs_max, GNN_AB_PAIRS_LEAST, GNN_PAIRS_MAX);
    if (cells == 0 || cells > GNN_PAIRS_MAX / metrics)
        return gnn_fail(err, GNN_EUSAGE, "%u configurations to be timed: expected 1 to %u", cells,
                        GNN_PAIRS_MAX / metrics);
    for (uint32_t i = 0; i < cells * metrics; i++)
        series[i] = (struct gnn_ab_series){.verdict = GNN_AB_OPEN};
    struct gnn_ab_plan set = *plan;
    set.alpha = sqrt(plan->alpha); /* a red verdict takes two sets */
    const struct measuring m = {
        .plan = &set, .cells = cells, .metrics = metrics, .observe = observe, .ctx = ctx, .series = series};
    GNN_TRY(measure(&m, err));
    return confirm(&m, err);
}
