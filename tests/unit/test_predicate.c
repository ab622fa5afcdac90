/* SPDX-License-Identifier: MIT */
/* Predicates against values made by hand: what each form says, at every combination, and what has no say. */
#include "harness/figure/predicate.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SERIES = 4, XS = 3, GRAPHS = 2 };

/* In place of a number. */
#define NONE (-1.0)
#define WORD (-2.0)
#define MISSING (-3.0)

static const struct gnn_axis axes[] = {
    {.key = "memory", .count = XS, .values = {"8G", "16G", "32G"}},
    {.key = "graph", .count = GRAPHS, .values = {"small", "large"}},
};
static const char *const names[] = {"A", "B-GPU", "C d", "gap"};

/* time[series][graph][memory] */
static const double times[SERIES][GRAPHS][XS] = {
    {{8, 4, 2}, {80, 40, 20}},
    {{4, 2, 1}, {10, 10, 10}},
    {{WORD, 6, 6}, {NONE, NONE, MISSING}},
    {{MISSING, 2, 2}, {1, 1, 1}},
};

static bool has_metric(const void *ctx, const char *metric)
{
    (void)ctx;
    return strcmp(metric, "time") == 0 || strcmp(metric, "own.x") == 0;
}

static enum gnn_value_state value(const void *ctx, const char *metric, uint32_t series, const uint32_t *at, double *out)
{
    (void)ctx;
    const double found = strcmp(metric, "time") == 0 ? times[series][at[1]][at[0]] : 5;
    if (found < 0)
        return found == NONE ? GNN_VALUE_NONE : found == WORD ? GNN_VALUE_WORD : GNN_VALUE_MISSING;
    *out = found;
    return GNN_VALUE_KNOWN;
}

static const struct gnn_value_source source = {
    .axis_count = 2, .axes = axes, .series_count = SERIES, .series = names, .has_metric = has_metric, .value = value};
static const struct gnn_tolerances tolerances = {.about = 1.25, .flat = 1.1, .noise = 1.02};

static struct gnn_outcome judge_of(const struct gnn_value_source *values, const char *text, gnn_judged_fn *fn,
                                   void *ctx)
{
    struct gnn_predicate *const predicate = malloc(sizeof *predicate);
    struct gnn_outcome outcome;
    struct gnn_err err = {0};
    assert_non_null(predicate);
    must(gnn_predicate_parse(text, values, predicate, &err), &err);
    gnn_predicate_judge(predicate, values, &tolerances, fn, ctx, &outcome);
    free(predicate);
    return outcome;
}

static struct gnn_outcome judge(const char *text, gnn_judged_fn *fn, void *ctx)
{
    return judge_of(&source, text, fn, ctx);
}

static void each_form_says_what_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum gnn_verdict_of_predicate verdict;
        uint32_t judged, held;
    } cases[] = {
        {"time[A, memory=8G, graph=small] = 8", GNN_HOLDS, 1, 1},
        {"time[A, memory=8G, graph=small] = 8.1", GNN_HOLDS_NOT, 1, 0},
        {"((((((((((((((((1)))))))))))))))) = 1", GNN_HOLDS, 1, 1}, /* as deep as it goes */
        {"time[A, memory=8G, graph=small] / time[B-GPU, memory=8G, graph=small] ~ 2.4", GNN_HOLDS, 1, 1},
        {"time[A, memory=8G, graph=small] / time[B-GPU, memory=8G, graph=small] ~ 1.6", GNN_HOLDS, 1, 1},
        {"time[A, memory=8G, graph=small] / time[B-GPU, memory=8G, graph=small] ~ 2.51", GNN_HOLDS_NOT, 1, 0},
        {"time[A, memory=8G, graph=small] / time[B-GPU, memory=8G, graph=small] ~ 1.59", GNN_HOLDS_NOT, 1, 0},
        {"time[B-GPU] < time[A]", GNN_HOLDS, 6, 6}, /* every memory, every graph */
        {"time[A, graph=small] < 5", GNN_HOLDS_NOT, 3, 2},
        {"time[A, memory=32G] <= 20", GNN_HOLDS, 2, 2},
        {"time[A, memory=32G] < 20", GNN_HOLDS_NOT, 2, 1},
        {"1 < time[B-GPU, graph=large] < time[A, graph=large]", GNN_HOLDS, 3, 3},
        {"10 >= time[B-GPU, graph=large] > 9", GNN_HOLDS, 3, 3},
        {"max(time[A] / time[B-GPU]) = 8", GNN_HOLDS, 1, 1},
        {"min(time[A] / time[B-GPU]) = 2", GNN_HOLDS, 1, 1},
        {"mean(time[A, graph=small]) = (8 + 4 + 2) / 3", GNN_HOLDS, 1, 1},
        {"median(time[A, graph=small]) = 4", GNN_HOLDS, 1, 1},
        {"median(time[A, graph=small, memory=8G|32G]) = 5", GNN_HOLDS, 1, 1}, /* between two */
        {"max(time[A, graph=small]) - min(time[A, graph=small]) * 2 = 4", GNN_HOLDS, 1, 1},
        {"falls(time[A])", GNN_HOLDS, 2, 2},
        {"rises(time[A])", GNN_HOLDS_NOT, 2, 0},
        {"rises(time[A, graph=large] / time[B-GPU, graph=large])", GNN_HOLDS_NOT, 1, 0},
        {"flat(time[B-GPU, graph=large])", GNN_HOLDS, 1, 1},
        {"flat(time[B-GPU])", GNN_HOLDS_NOT, 2, 1},
        {"rises(time[B-GPU, graph=large])", GNN_HOLDS_NOT, 1, 0}, /* a flat curve neither rises nor falls */
        {"falls(time[B-GPU, graph=large])", GNN_HOLDS_NOT, 1, 0},
        {"never_falls(time[B-GPU, graph=large])", GNN_HOLDS, 1, 1},
        {"never_rises(time[B-GPU, graph=large])", GNN_HOLDS, 1, 1},
        {"never_rises(time[A])", GNN_HOLDS, 2, 2},
        {"never_falls(time[A])", GNN_HOLDS_NOT, 2, 0},
        {"argmin(time[A]) = 32G", GNN_HOLDS, 2, 2},
        {"argmax(time[A]) = 8G", GNN_HOLDS, 2, 2},
        {"argmin(time[A]) = 16G", GNN_HOLDS_NOT, 2, 0},
        {"own.x[A] * 2 = 10", GNN_HOLDS, 6, 6},
        {"time[A, memory=16G|32G, graph=small] < 5", GNN_HOLDS, 2, 2}, /* 8 at 8G has no say */
        {"time[A, memory=8G|32G, graph=small|large] < 21", GNN_HOLDS_NOT, 4, 3},
        {"max(time[A, memory=16G|32G]) = 40", GNN_HOLDS, 1, 1},
        {"max(time[A, memory=16G|32G, graph=small]) < min(time[A, memory=8G, graph=small|large])", GNN_HOLDS, 1, 1},
        {"rises(time[A, memory=16G|32G])", GNN_HOLDS_NOT, 2, 0},
        {"exponent(time[A]) = -1", GNN_HOLDS, 2, 2},
        {"exponent(time[A] * time[A]) = -2", GNN_HOLDS, 2, 2},
        {"-0.001 < exponent(time[B-GPU, graph=large]) < 0.001", GNN_HOLDS, 1, 1},
        {"exponent(time[B-GPU]) < exponent(time[A]) + 0.5", GNN_HOLDS_NOT, 2, 1},
        {"8 > 7 > 6 > 5 > 4 > 3 > 2 > 1", GNN_HOLDS, 1, 1},
        {"2 + 3 * 4 - 6 / 2 = 11", GNN_HOLDS, 1, 1},
        {"max(2, 3) = 3", GNN_HOLDS, 1, 1}, /* of two: at every combination */
        {"min(2, 3) * 2 = 4", GNN_HOLDS, 1, 1},
        {"max(time[A, graph=small], 3) = 3", GNN_HOLDS_NOT, 3, 1},
        {"max(min(time[A, graph=small], 5)) = 5", GNN_HOLDS, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_outcome outcome = judge(cases[i].text, NULL, NULL);
        if (outcome.verdict != cases[i].verdict || outcome.judged != cases[i].judged || outcome.held != cases[i].held)
            fail_msg("%s: verdict %d, %u of %u held", cases[i].text, (int)outcome.verdict, outcome.held,
                     outcome.judged);
    }
}

/* ---- curves of eight points ---- */

enum { POINTS = 8 };
static const struct gnn_axis eight[] = {
    {.key = "n", .count = POINTS, .values = {"1", "2", "4", "8", "16", "32", "64", "128"}}};
static const char *const curves[] = {"slow fall", "slow rise", "dip", "steps", "hundredth"};

/* A hundredth and a half less or more at each point; a rise of a third with one step down; of 3 % and of 1 % in all. */
static const double heights[][POINTS] = {
    {100, 98.5, 97.02, 95.57, 94.13, 92.72, 91.33, 89.96},
    {100, 101.5, 103.02, 104.57, 106.14, 107.73, 109.34, 110.98},
    {100, 110, 120, 110, 120, 125, 130, 133},
    {100, 100, 100, 100, 101, 101, 101, 103},
    {100, 100, 100, 100, 100, 101, 101, 101},
};

static enum gnn_value_state height(const void *ctx, const char *metric, uint32_t series, const uint32_t *at,
                                   double *out)
{
    (void)ctx, (void)metric;
    *out = heights[series][at[0]];
    return GNN_VALUE_KNOWN;
}

static void a_curve_is_judged_from_end_to_end(void **state)
{
    (void)state;
    static const struct gnn_value_source of_eight = {
        .axis_count = 1, .axes = eight, .series_count = 5, .series = curves, .has_metric = has_metric, .value = height};
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"rises(time[slow fall])", false},
        {"falls(time[slow fall])", true},
        {"never_falls(time[slow fall])", false},
        {"never_rises(time[slow fall])", true},
        {"rises(time[slow rise])", true},
        {"falls(time[slow rise])", false},
        {"never_falls(time[slow rise])", true},
        {"never_rises(time[slow rise])", false},
        {"rises(time[dip])", false},
        {"never_falls(time[dip])", false},
        {"rises(time[steps])", true},
        {"falls(time[steps])", false},
        {"rises(time[hundredth])", false},
        {"never_rises(time[hundredth])", true},
        {"never_falls(time[steps])", true},
        {"never_rises(time[steps])", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_outcome outcome = judge_of(&of_eight, cases[i].text, NULL, NULL);
        if ((outcome.verdict == GNN_HOLDS) != cases[i].holds || outcome.judged != 1)
            fail_msg("%s: verdict %d", cases[i].text, (int)outcome.verdict);
    }
}

/* A cell that ended without a number, or that the figure does not have, has no say; one that was not run keeps the
 * verdict open, unless another already spoke against it. */
static void what_is_not_there_has_no_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum gnn_verdict_of_predicate verdict;
        uint32_t judged, with_number, words, missing;
    } cases[] = {
        {"time[C d, graph=small] = 6", GNN_HOLDS, 2, 2, 1, 0},
        {"time[C d] = 6", GNN_NOT_MEASURABLE, 2, 2, 1, 1},
        {"time[C d] = 7", GNN_HOLDS_NOT, 2, 2, 1, 1},
        /* One run is missing, and the other ended without a number: the missing one decides. */
        {"time[C d, graph=small] / time[gap, graph=small] = 3", GNN_NOT_MEASURABLE, 2, 2, 0, 1},
        {"time[gap, graph=small] / time[C d, graph=small] = 1 / 3", GNN_NOT_MEASURABLE, 2, 2, 0, 1},
        {"time[C d, memory=8G, graph=small] = 6", GNN_NOT_MEASURABLE, 0, 0, 1, 0},
        {"time[C d, memory=8G, graph=large] = 6", GNN_NOT_MEASURABLE, 0, 0, 0, 0},
        /* Inside of a fold and of a curve those without a number are counted, too. */
        {"max(time[C d, graph=small]) = 6", GNN_HOLDS, 1, 2, 1, 0},
        {"max(time[C d, graph=small]) < max(time[A, graph=small])", GNN_HOLDS, 1, 5, 1, 0},
        {"max(time[A]) / 10 = 8", GNN_HOLDS, 1, 6, 0, 0},
        {"max(time[C d]) = 6", GNN_NOT_MEASURABLE, 0, 0, 0, 1},
        {"max(time[C d, memory=8G, graph=small]) = 6", GNN_NOT_MEASURABLE, 0, 0, 1, 0},
        {"time[A, graph=small] / (time[A, graph=small] - 8) = 1", GNN_HOLDS_NOT, 2, 2, 1, 0}, /* 8 / 0 */
        {"flat(time[C d, graph=small])", GNN_HOLDS, 1, 2, 1, 0},
        {"flat(time[A, memory=8G, graph=small])", GNN_HOLDS, 1, 3, 0, 0},
        {"falls(time[A])", GNN_HOLDS, 2, 6, 0, 0},
        {"argmin(time[C d, graph=small]) = 16G", GNN_HOLDS, 1, 2, 1, 0},
        {"-0.001 < exponent(time[C d, graph=small]) < 0.001", GNN_HOLDS, 1, 2, 1, 0},
        {"-0.001 < exponent(time[C d, graph=small, memory=16G|32G]) < 0.001", GNN_HOLDS, 1, 2, 0, 0},
        {"-0.001 < exponent(time[A, memory=8G]) < 0.001", GNN_HOLDS, 2, 6, 0, 0},
        {"-0.001 < exponent(time[gap]) < 0.001", GNN_NOT_MEASURABLE, 1, 3, 0, 1},
        {"argmin(time[C d, graph=small, memory=8G]) = 16G", GNN_NOT_MEASURABLE, 0, 0, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_outcome outcome = judge(cases[i].text, NULL, NULL);
        if (outcome.verdict != cases[i].verdict || outcome.judged != cases[i].judged ||
            outcome.with_number != cases[i].with_number || outcome.words != cases[i].words ||
            outcome.missing != cases[i].missing)
            fail_msg("%s: verdict %d, %u judged, %u with a number, %u words, %u missing", cases[i].text,
                     (int)outcome.verdict, outcome.judged, outcome.with_number, outcome.words, outcome.missing);
    }
}

static void note(void *ctx, const struct gnn_judged *judged)
{
    char *const text = ctx;
    const size_t used = strlen(text);
    (void)snprintf(text + used, 500 - used, "[%s: %g %g %s]", judged->where, judged->values[0],
                   judged->count > 1 ? judged->values[1] : 0, judged->holds ? "yes" : "no");
}

static void every_combination_is_told(void **state)
{
    (void)state;
    char text[500] = "";
    (void)judge("time[A, memory=8G] / time[B-GPU, memory=8G] ~ 2", note, text);
    assert_string_equal(text, "[graph=small: 2 2 yes][graph=large: 8 2 no]");
    text[0] = '\0';
    (void)judge("falls(time[A])", note, text);
    assert_string_equal(text, "[graph=small: 0.5 0.25 yes][graph=large: 0.5 0.25 yes]");
    text[0] = '\0';
    (void)judge("max(time[A]) = 80", note, text);
    assert_string_equal(text, "[: 80 80 yes]");
}

static void add_leaf(void *ctx, const char *metric, double number)
{
    char *const text = ctx;
    const size_t used = strlen(text);
    (void)snprintf(text + used, 200 - used, "[%s%.4g]", metric, number);
}

static void leaves_are_those_of_an_operand(void **state)
{
    (void)state;
    static const struct {
        const char *text, *left, *right;
        bool about;
    } cases[] = {
        {"time[A] / time[B-GPU] ~ 16.9", "[time0][time0]", "[16.9]", true},
        {"max(own.x[A] / 2) ~ 3 / (4 - time[A])", "[own.x0][2]", "[3][4][time0]", true},
        {"time[A] < 3", "[time0]", "[3]", false},
        {"3 < time[A] ~ 4", "[3]", "[time0]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_predicate *const predicate = malloc(sizeof *predicate);
        struct gnn_err err = {0};
        char left[200] = "", right[200] = "";
        assert_non_null(predicate);
        must(gnn_predicate_parse(cases[i].text, &source, predicate, &err), &err);
        assert_int_equal(gnn_predicate_is_about(predicate), cases[i].about);
        gnn_predicate_leaves(predicate, 0, add_leaf, left);
        gnn_predicate_leaves(predicate, 1, add_leaf, right);
        assert_string_equal(left, cases[i].left);
        assert_string_equal(right, cases[i].right);
        must(gnn_predicate_parse("flat(time[A])", &source, predicate, &err), &err);
        assert_false(gnn_predicate_is_about(predicate));
        free(predicate);
    }
}

struct refused {
    const char *text, *part;
};

static void expect_refused(const struct refused *cases, size_t count, enum gnn_status expected)
{
    struct gnn_predicate *const predicate = malloc(sizeof *predicate);
    assert_non_null(predicate);
    for (size_t i = 0; i < count; i++) {
        struct gnn_err err = {0};
        if (gnn_predicate_parse(cases[i].text, &source, predicate, &err) != expected ||
            strstr(err.message, cases[i].part) == NULL)
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].text, err.message, cases[i].part);
    }
    free(predicate);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {"", "expected a number"},
        {"time[A]", "expected a comparison"},
        {"time[A] <", "expected a number"},
        {"time[A] < 3 4", "expected the end"},
        {"time[A < 3", "not closed"},
        {"hours[A] < 3", "no metric \"hours\""},
        {"time[A, memory] < 3", "not closed"},
        {"mode(time[A]) < 3", "no function \"mode\""},
        {"max(time[A] < 3", "expected )"},
        {"falls(time[A]", "expected )"},
        {"falls(time[A]) < 3", "expected the end"},
        {"time < 3", "expected [ or ("},
        {"max(1, 2, 3) = 3", "expected )"},
        {"mean(1, 2) = 1.5", "expected )"},
        {"time@0[A] < 3", "no metric \"time@0\""},
        {"-(2 - 5) = 3", "expected a number"},
        {"(((((((((((((((((1))))))))))))))))) = 1", "too deep"},
        {"1 < 2 < 3 < 4 < 5 < 6 < 7 < 8 < 9", "expected the end"},
        {"1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1 = 1", "too long"},
    };
    expect_refused(cases, sizeof cases / sizeof *cases, GNN_EUSAGE);
}

/* Of a part of a figure findings about the rest are of what is not there, which is no mistake. */
static void what_is_not_there_is_told_apart(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {"time[D] < 3", "no series \"D\""},
        {"time[b-GPU] < 3", "did you mean"},
        {"time[A, memory=9G] < 3", "takes no value 9G"},
        {"time[A, memory=8G|9G] < 3", "takes no value 9G"},
        {"time[A, memory=8G|] < 3", "takes no value "},
        {"time[A, dim=9] < 3", "no axis \"dim\""},
    };
    expect_refused(cases, sizeof cases / sizeof *cases, GNN_ENOENT);
}

/* ---- expressions ---- */

static enum gnn_value_state own_or_of_series(const void *ctx, const char *metric, uint32_t series, const uint32_t *at,
                                             double *out)
{
    if (series != GNN_SERIES_OWN)
        return value(ctx, metric, series, at, out);
    *out = 100;
    return strcmp(metric, "time") == 0 ? GNN_VALUE_KNOWN : GNN_VALUE_MISSING;
}

static void an_expression_has_no_comparison(void **state)
{
    (void)state;
    static const struct refused bad[] = {
        {"", "expected a number"},
        {"time < 3", "expected an operator or the end"},
        {"time time", "expected an operator or the end"},
        {"rises(time)", "no function \"rises\""},
        {"hours", "no metric \"hours\""},
        {"max(time", "expected )"},
        {"time[D]", "no series \"D\""},
        {"stage.*cpu_s", "no metric \"stage.\""},
    };
    static const struct {
        const char *text;
        enum gnn_value_state state;
        double value;
    } cases[] = {
        {"time", GNN_VALUE_KNOWN, 100},
        {"2 * time - 1K / 8", GNN_VALUE_KNOWN, 72},
        {"time / time[A]", GNN_VALUE_KNOWN, 2.5},
        {"time / time[A, memory=8G]", GNN_VALUE_KNOWN, 1.25},
        {"time / max(time[A])", GNN_VALUE_KNOWN, 1.25},
        {"max(time, 200) + min(time, 7)", GNN_VALUE_KNOWN, 207},
        {"own.x + time", GNN_VALUE_MISSING, 0},
        {"time / time[C d, memory=16G]", GNN_VALUE_NONE, 0},
        {"time / time[C d, memory=8G, graph=small]", GNN_VALUE_WORD, 0},
        {"time / (time - 100)", GNN_VALUE_WORD, 0},
    };
    static const struct gnn_value_source both = {.axis_count = 2,
                                                 .axes = axes,
                                                 .series_count = SERIES,
                                                 .series = names,
                                                 .has_metric = has_metric,
                                                 .value = own_or_of_series};
    static const uint32_t at[] = {1, 1}; /* 16G, large */
    struct gnn_predicate *const parsed = malloc(sizeof *parsed);
    assert_non_null(parsed);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gnn_err err = {0};
        if (gnn_expression_parse(bad[i].text, &both, parsed, &err) == GNN_OK ||
            strstr(err.message, bad[i].part) == NULL)
            fail_msg("%s: \"%s\" lacks \"%s\"", bad[i].text, err.message, bad[i].part);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        double found = 0;
        must(gnn_expression_parse(cases[i].text, &both, parsed, &err), &err);
        if (gnn_expression_value(parsed, &both, at, &found) != cases[i].state || fabs(found - cases[i].value) > 1e-9)
            fail_msg("%s: %g", cases[i].text, found);
    }
    free(parsed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expression_has_no_comparison),   cmocka_unit_test(each_form_says_what_it_says),
        cmocka_unit_test(a_curve_is_judged_from_end_to_end), cmocka_unit_test(what_is_not_there_has_no_say),
        cmocka_unit_test(every_combination_is_told),         cmocka_unit_test(leaves_are_those_of_an_operand),
        cmocka_unit_test(what_is_none_is_refused),           cmocka_unit_test(what_is_not_there_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
