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

/* The sums that signs of coins give. The last case: half of the small differences are positive, and the large one says
 * all, where signed ranks would see little. */
static void sign_flips_by_hand(void **state)
{
    (void)state;
    const double all[] = {1, 2, 3, 4, 5}, but_one[] = {-1, 2, 3, 4, 5}, none[] = {-1, -2, -3, -4, -5};
    const double ties[] = {1, 1, -1}, zeros[] = {0, 0, 1, 0}, large[] = {100, 1, -1, 1, -1};
    near(gnn_sign_flip_p(all, 5), 1.0 / 32);
    near(gnn_sign_flip_p(but_one, 5), 2.0 / 32); /* 13 or 15 of 15 */
    near(gnn_sign_flip_p(none, 5), 1);
    near(gnn_sign_flip_p(ties, 3), 0.5);
    near(gnn_sign_flip_p(zeros, 4), 0.5);
    near(gnn_sign_flip_p(zeros, 2), 1);
    near(gnn_sign_flip_p(zeros, 0), 1);
    near(gnn_sign_flip_p(large, 5), 11.0 / 32); /* the large one positive, and at least two of the four others */
}

/* Every choice of signs, counted. Sums that rounding could move across the observed one are left to chance. */
static void sign_flips_as_counted(void **state)
{
    enum { COUNT = 12 };
    struct gnn_rng *const rng = *state;
    for (int trial = 0; trial < 20; trial++) {
        double differences[COUNT], observed = 0;
        uint32_t reached = 0;
        for (int i = 0; i < COUNT; i++)
            observed += differences[i] = 0.3 + gnn_rng_normal(rng);
        for (uint32_t signs = 0; signs < 1U << COUNT; signs++) {
            double sum = 0;
            for (int i = 0; i < COUNT; i++)
                sum += (signs >> i & 1) != 0 ? fabs(differences[i]) : -fabs(differences[i]);
            reached += sum >= observed - 1e-9 ? 1 : 0;
        }
        const double p = gnn_sign_flip_p(differences, COUNT), wanted = (double)reached / (1U << COUNT);
        if (fabs(p - wanted) > 0.002)
            fail_msg("trial %d: p %g, counted %g", trial, p, wanted);
    }
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

static void an_interval_covers_median_and_mean(void **state)
{
    enum { TRIALS = 300, COUNT = 20 };
    struct gnn_rng *const rng = *state;
    int covered = 0, mean_covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        double values[COUNT];
        for (int i = 0; i < COUNT; i++)
            values[i] = 5 + gnn_rng_normal(rng);
        const struct gnn_interval interval = gnn_median_interval(values, COUNT, 0.95, gnn_rng_next(rng));
        const struct gnn_interval mean = gnn_mean_interval(values, COUNT, 0.95, gnn_rng_next(rng));
        covered += interval.low <= 5 && 5 <= interval.high ? 1 : 0;
        mean_covered += mean.low <= 5 && 5 <= mean.high ? 1 : 0;
        assert_true(mean.high - mean.low < 1.6); /* 3.9 / sqrt(20) = 0.88 */
    }
    if (covered < TRIALS * 90 / 100 || mean_covered < TRIALS * 88 / 100)
        fail_msg("of %d intervals %d cover the median, %d the mean", TRIALS, covered, mean_covered);
}

/* Two builds whose runs take a second with noise: a spread of the logarithm, a drift of the machine from run to run,
 * and once in a while a run that something disturbed. tail: the share of HEAD's runs that take twice as long. */
struct machine {
    struct gnn_rng *rng;
    double slowdown, spread, drift, disturbed, tail;
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
    const double late = head && m->tail > 0 && gnn_rng_unit(m->rng) < m->tail ? 2 : 1;
    metrics[0] = 1e9 * exp(noise) * hit * late * (head ? m->slowdown : 1);
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
static uint32_t count_verdicts(struct gnn_rng *rng, struct machine machine, struct gnn_ab_plan plan, uint32_t trials,
                               enum gnn_ab_verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < trials; t++) {
        struct machine m = machine;
        m.rng = rng;
        plan.seed = gnn_rng_next(rng);
        count += judged(&m, &plan).verdict == verdict ? 1 : 0;
    }
    return count;
}

static uint32_t count_slower(struct gnn_rng *rng, struct machine machine, struct gnn_ab_plan plan, uint32_t trials)
{
    return count_verdicts(rng, machine, plan, trials, GNN_AB_SLOWER);
}

/* The same build twice, on machines from quiet to wild: red once in a hundred at most, which is alpha. */
static void an_unchanged_build_stays_green(void **state)
{
    struct gnn_rng *const rng = *state;
    static const struct machine machines[] = {
        {.slowdown = 1, .spread = 0.003},
        {.slowdown = 1, .spread = 0.02},
        {.slowdown = 1, .spread = 0.02, .drift = 0.003},
        {.slowdown = 1, .spread = 0.01, .disturbed = 0.1},
        {.slowdown = 1, .spread = 0.02, .disturbed = 0.3},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const uint32_t red = count_slower(rng, machines[i], usual, 100);
        if (red > 1)
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

/* Three runs of ten take twice as long: HEAD is a third slower on average, and its median hardly moves. */
static void a_tail_is_red(void **state)
{
    enum { TRIALS = 200 };
    struct gnn_rng *const rng = *state;
    const struct machine late = {.slowdown = 1, .spread = 0.007, .tail = 0.3};
    const uint32_t red = count_slower(rng, late, usual, TRIALS);
    if (red < 178) /* 94.5 % by 400 trials, less five deviations of 1.1 % */
        fail_msg("%u of %d are red", red, TRIALS);
    struct machine m = late;
    struct gnn_ab_series s;
    m.rng = rng;
    do
        s = judged(&m, &usual);
    while (s.verdict != GNN_AB_SLOWER);
    assert_true(s.mean_alone);
    assert_true(s.mean.ratio > 1.05);
    assert_true(s.p <= usual.alpha);
}

/* At the limit itself `fine` is wrong. It is looked at three times, and all of them together may err in 2.5 %. */
static void fine_at_the_limit_is_rare(void **state)
{
    enum { TRIALS = 300 };
    const struct machine at_limit = {.slowdown = 1.03, .spread = 0.014}, twin = {.slowdown = 1, .spread = 0.035};
    const uint32_t fine = count_verdicts(*state, at_limit, usual, TRIALS, GNN_AB_FINE);
    const uint32_t faster = count_verdicts(*state, twin, usual, TRIALS, GNN_AB_FASTER);
    if (fine > 14 || faster > 6) /* 7.5 and three deviations; the margin makes wrong `faster` rarer */
        fail_msg("of %d: %u at the limit are fine, %u unchanged are faster", TRIALS, fine, faster);
}

static void faster_and_unsure_are_no_red(void **state)
{
    struct machine faster = {.rng = *state, .slowdown = 0.95, .spread = 0.005};
    assert_int_equal(judged(&faster, &usual).verdict, GNN_AB_FASTER);
    const struct machine wild = {.slowdown = 1.03, .spread = 0.3};
    assert_true(count_verdicts(*state, wild, usual, 20, GNN_AB_UNSURE) >= 16);
    struct machine m = wild;
    struct gnn_ab_series s;
    m.rng = *state;
    do
        s = judged(&m, &usual);
    while (s.verdict != GNN_AB_UNSURE || s.count < 40); /* every look was taken, and not a second set */
    assert_true(gnn_pairs_needed(s.spread, usual.limit) > 40);
}

/* ---- one look, by hand ---- */

/* Ten pairs, all slower by 4.9 to 5.1 %: p = 1/1024 in both tests. */
static struct gnn_ab_series ten_slower_pairs(void)
{
    struct gnn_ab_series s = {.count = 10};
    for (uint32_t i = 0; i < s.count; i++) {
        s.base[i] = 1e9;
        s.head[i] = 1e9 * (1.049 + 0.0002 * i);
    }
    return s;
}

/* Holm's family is both tests of all series that were measured, also of those that have a verdict already. The looks
 * multiply it. */
static void p_is_corrected_for_tests_and_looks(void **state)
{
    (void)state;
    static struct gnn_ab_series series[4];
    static const struct {
        enum gnn_ab_verdict others;
        uint32_t looks;
        double factor;
    } cases[] = {{GNN_AB_ABSENT, 1, 2},
                 {GNN_AB_ABSENT, 3, 6},
                 {GNN_AB_FINE, 1, 8},
                 {GNN_AB_FINE, 3, 24},
                 {GNN_AB_SLOWER, 3, 24}};
    struct gnn_ab_plan plan = usual;
    plan.alpha = 0.1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < 3; k++)
            series[k] = (struct gnn_ab_series){.verdict = cases[i].others};
        series[3] = ten_slower_pairs();
        gnn_ab_judge(&plan, series, 4, cases[i].looks - 1, cases[i].looks);
        near(series[3].median.p, cases[i].factor / 1024);
        near(series[3].mean.p, cases[i].factor / 1024);
        assert_int_equal(series[3].verdict, GNN_AB_SLOWER);
        assert_int_equal(series[0].verdict, cases[i].others);
    }
}

/* The interval is far above the margin, and the p-value is not small: no red. */
static void red_takes_a_small_p(void **state)
{
    (void)state;
    static struct gnn_ab_series series;
    struct gnn_ab_plan plan = usual;
    series = ten_slower_pairs();
    plan.alpha = 1.9 / 1024;
    gnn_ab_judge(&plan, &series, 1, 0, 1);
    assert_true(series.median.low > 1.04);
    assert_true(series.mean.low > 1.04);
    assert_int_equal(series.verdict, GNN_AB_UNSURE);
    series.verdict = GNN_AB_OPEN;
    plan.alpha = 2.1 / 1024;
    gnn_ab_judge(&plan, &series, 1, 0, 1);
    assert_int_equal(series.verdict, GNN_AB_SLOWER);
    series.verdict = GNN_AB_OPEN;
    plan.margin = 0.06; /* and none below the margin */
    gnn_ab_judge(&plan, &series, 1, 0, 1);
    assert_int_equal(series.verdict, GNN_AB_UNSURE);
}

/* More looks make wider intervals, so that all of them together cover the ratio. */
static void intervals_are_corrected_for_looks(void **state)
{
    static struct gnn_ab_series one, three;
    struct gnn_rng *const rng = *state;
    one = (struct gnn_ab_series){.count = 40};
    for (uint32_t i = 0; i < one.count; i++) {
        one.base[i] = exp(0.02 * gnn_rng_normal(rng));
        one.head[i] = exp(0.02 * gnn_rng_normal(rng));
    }
    three = one;
    gnn_ab_judge(&usual, &one, 1, 0, 1);
    gnn_ab_judge(&usual, &three, 1, 0, 3);
    near(one.median.ratio, three.median.ratio);
    assert_true(log(three.mean.high / three.mean.low) > 1.1 * log(one.mean.high / one.mean.low)); /* 2.39 : 1.96 */
    assert_true(three.median.low < one.median.low || three.median.high > one.median.high);
    const double deviation = 0.02 * sqrt(2);
    assert_true(one.spread > 0.6 * deviation);
    assert_true(one.spread < 1.5 * deviation);
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

/* A coin for each configuration and each two pairs says which build begins. */
static void a_coin_says_who_begins(void **state)
{
    enum { CELLS = 16, SEEDS = 8 };
    static struct gnn_ab_series series[CELLS];
    struct gnn_err err = {0};
    uint32_t first = 0, all = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct machine m = {.rng = *state, .slowdown = 1, .spread = 0.001};
        struct gnn_ab_plan plan = usual;
        plan.seed = seed;
        must(gnn_ab_run(&plan, CELLS, 1, observe, &m, series, &err), &err);
        for (uint32_t c = 0; c < CELLS; c++)
            for (uint32_t pair = 0; pair < 10; pair += 2, all++)
                first += series[c].head_first[pair] ? 1 : 0;
    }
    assert_int_equal(all, 640);
    if (first < 256 || first > 384) /* 320, five deviations of 12.6 */
        fail_msg("head begins %u of %u", first, all);
}

/* Red takes a second set of pairs; the first alone shows twenty runs of each build. */
static void red_is_confirmed(void **state)
{
    struct machine m = {.rng = *state, .slowdown = 1.1, .spread = 0.001};
    const struct gnn_ab_series s = judged(&m, &usual);
    assert_int_equal(s.verdict, GNN_AB_SLOWER);
    assert_true(s.confirmed);
    assert_false(s.mean_alone);
    assert_int_equal(m.calls[0], 20);
    assert_true(s.median.low > 1.09);
    assert_true(s.median.high < 1.11);
    const double one_set = 6.0 / 1024; /* ten positive signs, two tests, three looks */
    near(s.p, one_set * one_set);
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

/* Metrics that come and go: in neither build; in BASE alone; in HEAD alone; missing in one run of 32 of HEAD, which
 * takes 20 % longer; in BASE always and in HEAD once in a while; in BASE once in a while and in HEAD never. */
enum { NOWHERE, GONE, NEW, PARTIAL, RARE, NEVER_SURE, METRICS };
_Static_assert((int)METRICS <= (int)GNN_AB_METRICS_MAX, "one each");

static enum gnn_status come_and_go(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                                   struct gnn_err *err)
{
    struct machine *const m = ctx;
    double all[GNN_AB_METRICS_MAX];
    const enum gnn_status status = observe(ctx, cell, head, all, err);
    const uint32_t run = m->calls[head];
    if (!head)
        metrics[GONE] = metrics[RARE] = all[0];
    else
        metrics[NEW] = all[0];
    if (!head || run % 32 != 3)
        metrics[PARTIAL] = all[0] * (head ? 1.2 : 1);
    if (head && run % 8 == 3)
        metrics[RARE] = all[0];
    if (!head && run % 8 == 3)
        metrics[NEVER_SURE] = all[0];
    return status;
}

static void a_metric_that_is_missing_is_noted(void **state)
{
    static struct gnn_ab_series series[METRICS];
    struct gnn_err err = {0};
    struct machine m = {.rng = *state, .slowdown = 1, .spread = 0.05};
    must(gnn_ab_run(&usual, 1, METRICS, come_and_go, &m, series, &err), &err);
    assert_int_equal(series[NOWHERE].verdict, GNN_AB_ABSENT);
    assert_int_equal(series[NOWHERE].missing[1], series[NOWHERE].tried);
    assert_int_equal(series[GONE].verdict, GNN_AB_GONE);
    assert_int_equal(series[GONE].tried, 10); /* the first look is enough */
    assert_int_equal(series[NEW].verdict, GNN_AB_ABSENT);
    assert_int_equal(series[NEW].missing[1], 0);
    assert_int_equal(series[PARTIAL].verdict, GNN_AB_SLOWER);
    assert_true(series[PARTIAL].missing[1] >= 1);
    assert_int_equal(series[PARTIAL].missing[0], 0);
    assert_int_equal(series[PARTIAL].count, series[PARTIAL].tried - series[PARTIAL].missing[1]);
    assert_int_equal(series[RARE].verdict, GNN_AB_UNSURE);
    assert_int_equal(series[RARE].count, 5); /* of 40: too few for a test */
    assert_int_equal(series[NEVER_SURE].verdict, GNN_AB_UNSURE);
    assert_int_equal(series[NEVER_SURE].missing[0], 35);
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
        cmocka_unit_test(sign_flips_by_hand),
        cmocka_unit_test_prestate(sign_flips_as_counted, &rng),
        cmocka_unit_test(holm_by_hand),
        cmocka_unit_test(pairs_that_are_needed),
        cmocka_unit_test_prestate(an_interval_covers_median_and_mean, &rng),
        cmocka_unit_test_prestate(an_unchanged_build_stays_green, &rng),
        cmocka_unit_test_prestate(the_level_of_one_look_is_held, &rng),
        cmocka_unit_test_prestate(a_slowdown_of_3_percent_is_red, &rng),
        cmocka_unit_test_prestate(a_tail_is_red, &rng),
        cmocka_unit_test_prestate(fine_at_the_limit_is_rare, &rng),
        cmocka_unit_test_prestate(faster_and_unsure_are_no_red, &rng),
        cmocka_unit_test(p_is_corrected_for_tests_and_looks),
        cmocka_unit_test(red_takes_a_small_p),
        cmocka_unit_test_prestate(intervals_are_corrected_for_looks, &rng),
        cmocka_unit_test_prestate(pairs_are_interleaved, &rng),
        cmocka_unit_test_prestate(a_coin_says_who_begins, &rng),
        cmocka_unit_test_prestate(red_is_confirmed, &rng),
        cmocka_unit_test_prestate(what_does_not_come_again_is_unsure, &rng),
        cmocka_unit_test_prestate(every_cell_and_metric_is_judged_alone, &rng),
        cmocka_unit_test_prestate(a_metric_that_is_missing_is_noted, &rng),
        cmocka_unit_test_prestate(what_cannot_be_measured_is_told, &rng),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
