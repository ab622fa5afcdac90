/* SPDX-License-Identifier: MIT */
/* Compares the measured time of two builds, A/B, in pairs of runs. The two runs of a pair follow each other directly,
 * and the order alternates between pairs, so that drift affects both builds.
 *
 * Verdict. A build is slower if the median or the mean of the pairs' ratios is: with a small p-value, and with an
 * interval above the margin. The median is tested by Wilcoxon's signed ranks of log ratios. The mean is tested by sign
 * flips; it finds runs that take twice as long once in a while. The p-values are corrected by Holm over both tests of
 * all series, and by Bonferroni over the looks. So are the intervals.
 *
 * The verdict is red only after a second set of pairs confirms it. Each set is tested at the square root of alpha, so
 * that a wrong red verdict has a probability of alpha.
 *
 * A metric that BASE has in all pairs and HEAD in none is gone. If it is missing in some pairs, the others are judged.
 *
 * Series without a verdict get more pairs, twice as many at every look, up to a limit. After that they are unsure,
 * which blocks nothing. The report gives the number of pairs that would have been necessary. */
#ifndef GNN_COMPARE_AB_H
#define GNN_COMPARE_AB_H

#include "harness/compare/stats.h"

enum { GNN_AB_PAIRS_LEAST = 10, GNN_AB_METRICS_MAX = 8 };

struct gnn_ab_plan {
    uint32_t pairs, pairs_max; /* pairs at the first look, at the last: >= GNN_AB_PAIRS_LEAST, <= GNN_PAIRS_MAX */
    double margin;             /* a slowdown up to this share is not reported: 0.01 */
    double limit;              /* a slowdown from this share on must be found: an interval that ends below it is fine */
    double alpha;              /* probability of a wrong red verdict, over all series */
    uint64_t seed;             /* for the order within the pairs, and the bootstrap */
};

enum gnn_ab_verdict {
    GNN_AB_OPEN,
    GNN_AB_FINE,
    GNN_AB_FASTER,
    GNN_AB_SLOWER,
    GNN_AB_UNSURE,
    GNN_AB_ABSENT, /* BASE did not have this metric in any pair */
    GNN_AB_GONE,   /* BASE had this metric in all pairs, HEAD in none */
};

/* An estimate of head / base, with an interval that covers it with 95 % at all looks together. */
struct gnn_ab_estimate {
    double ratio, low, high;
    double p; /* p-value of "HEAD is slower", corrected */
};

/* One metric of one configuration. */
struct gnn_ab_series {
    uint32_t tried;      /* pairs that were run */
    uint32_t missing[2]; /* number of them in which BASE, in which HEAD did not have the metric */
    uint32_t count;      /* pairs in which both had it; the fields below are about these */
    double base[GNN_PAIRS_MAX], head[GNN_PAIRS_MAX];
    bool head_first[GNN_PAIRS_MAX];
    enum gnn_ab_verdict verdict;
    struct gnn_ab_estimate median; /* of the pairs' ratios: signed-rank test */
    struct gnn_ab_estimate mean;   /* geometric mean of the pairs' ratios: sign-flip test */
    double spread;                 /* standard deviation of the log ratios */
    bool confirmed;                /* a second set of pairs was slower, too */
    bool mean_alone;               /* confirmed, and the median is not slower */
    double p;                      /* confirmed: p-value of both sets, the square of the larger one; else 0 */
};

/* Runs one build on one configuration and writes its metrics: times > 0, or NAN if it does not have one. */
typedef enum gnn_status gnn_ab_observe_fn(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                                          struct gnn_err *err);

/* Judges series (count <= GNN_TESTS_MAX / 2) with one set of pairs at look `look` of `looks`, at level plan->alpha. A
 * series that has a verdict keeps it. A series with fewer than GNN_AB_PAIRS_LEAST pairs is absent or gone, stays open,
 * or is unsure after the last look. */
void gnn_ab_judge(const struct gnn_ab_plan *plan, struct gnn_ab_series *series, uint32_t count, uint32_t look,
                  uint32_t looks);

/* Measures series until each has a verdict. There is one for each configuration and metric, at index configuration *
 * metrics + metric. The caller owns them; they are reset first. After a failed confirmation a series keeps its first
 * pairs, and its verdict is GNN_AB_UNSURE. Returns the first error of observe, or GNN_EUSAGE for a plan or number of
 * configurations outside the limits. */
GNN_MUST_CHECK enum gnn_status gnn_ab_run(const struct gnn_ab_plan *plan, uint32_t cells, uint32_t metrics,
                                          gnn_ab_observe_fn *observe, void *ctx, struct gnn_ab_series *series,
                                          struct gnn_err *err);

#endif
