/* SPDX-License-Identifier: MIT */
/* The statistics of interleaved pairs: by hand where a hand suffices, over many seeded trials where chance decides. */
#include "harness/base/rng.h"
#include "harness/compare/ab.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-12))
        fail_msg("got %.15g, expected %.15g", got, wanted);
}

/* ---- by hand ---- */

static void quantiles(void **state)
{
    (void)state;
    const double values[] = {1, 2, 4, 8};
    near(gnn_quantile(values, 4, 0), 1);
    near(gnn_quantile(values, 4, 1), 8);
    near(gnn_quantile(values, 4, 0.5), 3);
    near(gnn_quantile(values, 4, 0.25), 1.75);
    near(gnn_quantile(values, 1, 0.9), 1);
    assert_true(isnan(gnn_quantile(values, 0, 0.5)));
}

/* The sums of ranks that signs of coins give, counted on fingers. */
static void signed_ranks_by_hand(void **state)
{
    (void)state;
    const double all[] = {1, 2, 3, 4, 5}, but_one[] = {-1, 2, 3, 4, 5}, none[] = {-1, -2, -3, -4, -5};
    const double ties[] = {1, 1, -1}, zeros[] = {0, 0, 1, 0}, nothing[] = {0, 0};
    near(gnn_signed_rank_p(all, 5), 1.0 / 32);     /* 15 of 15: one of 32 */
    near(gnn_signed_rank_p(but_one, 5), 2.0 / 32); /* 14 or 15 */
    near(gnn_signed_rank_p(none, 5), 1);
    near(gnn_signed_rank_p(ties, 3), 0.5); /* ranks 2, 2, 2: at least two of three coins */
    near(gnn_signed_rank_p(zeros, 4), 0.5);
    near(gnn_signed_rank_p(nothing, 2), 1);
    near(gnn_signed_rank_p(nothing, 0), 1);
}

static void holm_by_hand(void **state)
{
    (void)state;
    double three[] = {0.01, 0.04, 0.03}, of_four[] = {0.01, 0.04, 0.03}, large[] = {0.9, 0.5};
    gnn_holm(three, 3, 3); /* 3 x 0.01, 2 x 0.03, and 1 x 0.04 is not below its elder */
    near(three[0], 0.03);
    near(three[2], 0.06);
    near(three[1], 0.06);
    gnn_holm(of_four, 3, 4);
    near(of_four[0], 0.04);
    near(of_four[2], 0.09);
    near(of_four[1], 0.09);
    gnn_holm(large, 2, 2);
    near(large[1], 1);
    near(large[0], 1);
}

/* (2.8 * 0.03 / 0.05)^2 * 1.1 = 3.1; 0.10 against 0.05: 34.5 */
static void pairs_that_are_needed(void **state)
{
    (void)state;
    assert_int_equal(gnn_pairs_needed(0.03, 0.05), 4);
    assert_int_equal(gnn_pairs_needed(0.10, 0.05), 35);
    assert_int_equal(gnn_pairs_needed(0, 0.05), 2);
}

/* ---- by chance ---- */

static void an_interval_covers_the_median(void **state)
{
    enum { TRIALS = 300, COUNT = 20 };
    struct gnn_rng *const rng = *state;
    int covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        double values[COUNT];
        for (int i = 0; i < COUNT; i++)
            values[i] = 5 + gnn_rng_normal(rng);
        const struct gnn_interval interval = gnn_median_interval(values, COUNT, 0.95, gnn_rng_next(rng));
        covered += interval.low <= 5 && 5 <= interval.high ? 1 : 0;
    }
    if (covered < TRIALS * 90 / 100)
        fail_msg("%d of %d intervals cover the median", covered, TRIALS);
}

/* Two builds whose runs take a second with noise: a spread of the logarithm, a drift of the machine from run to run,
 * and once in a while a run that something disturbed. */
struct machine {
    struct gnn_rng *rng;
    double slowdown, spread, drift, disturbed;
    uint32_t runs, fail_at;
    uint32_t calls[2];
    char order[256]; /* 'b' and 'h' */
};

static enum gnn_status observe(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                               struct gnn_err *err)
{
    struct machine *const m = ctx;
    (void)cell;
    if (m->runs < sizeof m->order - 1)
        m->order[m->runs] = head ? 'h' : 'b';
    m->runs++;
    m->calls[head]++;
    if (m->runs == m->fail_at)
        return gnn_fail(err, GNN_EIO, "run %u failed", m->runs);
    const double noise = m->spread * gnn_rng_normal(m->rng) + m->drift * m->runs;
    const double hit = gnn_rng_unit(m->rng) < m->disturbed ? 1.5 : 1;
    metrics[0] = 1e9 * exp(noise) * hit * (head ? m->slowdown : 1);
    return GNN_OK;
}

static const struct gnn_ab_plan usual = {
    .pairs = 10, .pairs_max = 40, .margin = 0.01, .limit = 0.03, .alpha = 0.01, .seed = 1};

static struct gnn_ab_series judged(struct machine *m, const struct gnn_ab_plan *plan)
{
    static struct gnn_ab_series series; /* large for a stack */
    struct gnn_err err = {0};
    must(gnn_ab_run(plan, 1, 1, observe, m, &series, &err), &err);
    return series;
}

/* Counts verdicts over trials with seeds of their own. */
static uint32_t count_slower(struct gnn_rng *rng, struct machine machine, struct gnn_ab_plan plan, uint32_t trials)
{
    uint32_t slower = 0;
    for (uint32_t t = 0; t < trials; t++) {
        struct machine m = machine;
        m.rng = rng;
        plan.seed = gnn_rng_next(rng);
        slower += judged(&m, &plan).verdict == GNN_AB_SLOWER ? 1 : 0;
    }
    return slower;
}

/* The same build twice, on machines from quiet to wild: never red. The chance of one is below alpha squared. */
static void an_unchanged_build_stays_green(void **state)
{
    struct gnn_rng *const rng = *state;
    static const struct machine machines[] = {
        {.slowdown = 1, .spread = 0.003},
        {.slowdown = 1, .spread = 0.02},
        {.slowdown = 1, .spread = 0.02, .drift = 0.003},
        {.slowdown = 1, .spread = 0.01, .disturbed = 0.1},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const uint32_t red = count_slower(rng, machines[i], usual, 100);
        if (red > 0)
            fail_msg("machine %zu: %u of 100 unchanged builds are red", i, red);
    }
}

/* Without margin and confirmation the level of the test itself: alpha, with room for three standard deviations. */
static void the_level_of_one_look_is_held(void **state)
{
    enum { TRIALS = 600 };
    struct gnn_rng *const rng = *state;
    static struct gnn_ab_series series;
    const struct gnn_ab_plan plan = {
        .pairs = 12, .pairs_max = 12, .margin = 0, .limit = 0.03, .alpha = 0.05, .seed = 3};
    int red = 0;
    for (int t = 0; t < TRIALS; t++) {
        series = (struct gnn_ab_series){.count = 12};
        for (uint32_t i = 0; i < series.count; i++) {
            series.base[i] = exp(0.02 * gnn_rng_normal(rng));
            series.head[i] = exp(0.02 * gnn_rng_normal(rng));
        }
        gnn_ab_judge(&plan, &series, 1, 0, 1);
        red += series.verdict == GNN_AB_SLOWER ? 1 : 0;
    }
    if (red > 46) /* 600 x 0.05 = 30, deviation 5.3 */
        fail_msg("%d of %d unchanged pairs are red at 5 %%", red, TRIALS);
}

static void a_slowdown_of_3_percent_is_red(void **state)
{
    struct gnn_rng *const rng = *state;
    const struct machine quiet = {.slowdown = 1.03, .spread = 0.005}, usual_noise = {.slowdown = 1.03, .spread = 0.01},
                         drifting = {.slowdown = 1.03, .spread = 0.005, .drift = 0.002};
    assert_int_equal(count_slower(rng, quiet, usual, 50), 50);
    assert_true(count_slower(rng, usual_noise, usual, 100) >= 90);
    assert_true(count_slower(rng, drifting, usual, 50) >= 45);
}

static void faster_and_unsure_are_no_red(void **state)
{
    struct machine faster = {.rng = *state, .slowdown = 0.95, .spread = 0.005};
    assert_int_equal(judged(&faster, &usual).verdict, GNN_AB_FASTER);
    struct machine wild = {.rng = *state, .slowdown = 1.03, .spread = 0.3};
    const struct gnn_ab_series s = judged(&wild, &usual);
    assert_int_equal(s.verdict, GNN_AB_UNSURE);
    assert_int_equal(s.count, 40); /* every look was taken */
    assert_true(gnn_pairs_needed(s.spread, usual.limit) > 40);
}

/* ---- how it is measured ---- */

/* Pairs mirror each other two by two, so that what drifts falls on both builds. */
static void pairs_are_interleaved(void **state)
{
    struct machine m = {.rng = *state, .slowdown = 1, .spread = 0.001};
    const struct gnn_ab_series s = judged(&m, &usual);
    assert_int_equal(s.verdict, GNN_AB_FINE);
    assert_int_equal(s.count, 10);
    assert_int_equal(m.calls[0], 10);
    assert_int_equal(m.calls[1], 10);
    for (uint32_t pair = 0; pair < 10; pair++) {
        assert_true(m.order[2 * pair] != m.order[2 * pair + 1]);
        assert_int_equal(s.head_first[pair], m.order[2 * pair] == 'h');
        if (pair % 2 == 1)
            assert_true(m.order[2 * pair] != m.order[2 * pair - 2]);
    }
}

/* Red takes a second set of pairs; the first alone shows twenty runs of each build. */
static void red_is_confirmed(void **state)
{
    struct machine m = {.rng = *state, .slowdown = 1.1, .spread = 0.001};
    const struct gnn_ab_series s = judged(&m, &usual);
    assert_int_equal(s.verdict, GNN_AB_SLOWER);
    assert_true(s.confirmed);
    assert_int_equal(m.calls[0], 20);
    assert_true(s.low > 1.09);
    assert_true(s.high < 1.11);
}

/* Slow for the first pairs alone: what a neighbour on the machine does. */
static enum gnn_status disturb_first(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                                     struct gnn_err *err)
{
    struct machine *const m = ctx;
    m->slowdown = m->runs < 20 ? 1.1 : 1;
    return observe(ctx, cell, head, metrics, err);
}

static void what_does_not_come_again_is_unsure(void **state)
{
    static struct gnn_ab_series series;
    struct gnn_err err = {0};
    struct machine m = {.rng = *state, .spread = 0.001};
    must(gnn_ab_run(&usual, 1, 1, disturb_first, &m, &series, &err), &err);
    assert_int_equal(series.verdict, GNN_AB_UNSURE);
    assert_false(series.confirmed);
}

/* The second metric is nowhere, as GPU times are without a GPU; the second cell is slow, and the first stays green. */
static enum gnn_status two_cells(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                                 struct gnn_err *err)
{
    struct machine *const m = ctx;
    m->slowdown = cell == 1 ? 1.1 : 1;
    return observe(ctx, cell, head, metrics, err);
}

static void every_cell_and_metric_is_judged_alone(void **state)
{
    static struct gnn_ab_series series[4];
    struct gnn_err err = {0};
    struct machine m = {.rng = *state, .spread = 0.002};
    must(gnn_ab_run(&usual, 2, 2, two_cells, &m, series, &err), &err);
    assert_int_equal(series[0].verdict, GNN_AB_FINE);
    assert_int_equal(series[1].verdict, GNN_AB_ABSENT);
    assert_int_equal(series[2].verdict, GNN_AB_SLOWER);
    assert_int_equal(series[3].verdict, GNN_AB_ABSENT);
}

static void what_cannot_be_measured_is_told(void **state)
{
    static struct gnn_ab_series series;
    struct gnn_err err = {0};
    struct machine m = {.rng = *state, .slowdown = 1, .fail_at = 7};
    assert_int_equal(gnn_ab_run(&usual, 1, 1, observe, &m, &series, &err), GNN_EIO);
    assert_non_null(strstr(err.message, "run 7 failed"));
    struct gnn_ab_plan one_run = usual;
    one_run.pairs = 1;
    err = (struct gnn_err){0};
    assert_int_equal(gnn_ab_run(&one_run, 1, 1, observe, &m, &series, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "--pairs 1"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_ab_run(&usual, 0, 1, observe, &m, &series, &err), GNN_EUSAGE);
}

int main(void)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(test_seed(), "compare"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),
        cmocka_unit_test(signed_ranks_by_hand),
        cmocka_unit_test(holm_by_hand),
        cmocka_unit_test(pairs_that_are_needed),
        cmocka_unit_test_prestate(an_interval_covers_the_median, &rng),
        cmocka_unit_test_prestate(an_unchanged_build_stays_green, &rng),
        cmocka_unit_test_prestate(the_level_of_one_look_is_held, &rng),
        cmocka_unit_test_prestate(a_slowdown_of_3_percent_is_red, &rng),
        cmocka_unit_test_prestate(faster_and_unsure_are_no_red, &rng),
        cmocka_unit_test_prestate(pairs_are_interleaved, &rng),
        cmocka_unit_test_prestate(red_is_confirmed, &rng),
        cmocka_unit_test_prestate(what_does_not_come_again_is_unsure, &rng),
        cmocka_unit_test_prestate(every_cell_and_metric_is_judged_alone, &rng),
        cmocka_unit_test_prestate(what_cannot_be_measured_is_told, &rng),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
