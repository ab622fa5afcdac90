/* SPDX-License-Identifier: MIT */
/* Measured time of two builds, A/B: pairs of runs one right after the other, in an order that turns round from pair to
 * pair, so that what drifts falls on both. A verdict takes at least ten pairs, a small probability (Wilcoxon's
 * signed-rank test on log ratios, corrected by Holm over everything that is measured and over the looks), and an
 * interval of the median ratio that lies above the margin; and it is confirmed by pairs of its own before it is red.
 *
 * What is not yet decided gets more pairs, twice as many at every look, up to a limit; then it is unsure, which blocks
 * nothing and is said with the pairs it would have taken. */
#ifndef GNN_COMPARE_AB_H
#define GNN_COMPARE_AB_H

#include "harness/compare/stats.h"

enum { GNN_AB_PAIRS_LEAST = 10, GNN_AB_METRICS_MAX = 4 };

struct gnn_ab_plan {
    uint32_t pairs, pairs_max; /* of the first look and of the last: >= GNN_AB_PAIRS_LEAST, <= GNN_PAIRS_MAX */
    double margin;             /* a slowdown of at most this is not reported: 0.01 */
    double limit;              /* one from here on must not be missed: where the interval ends below, it is fine */
    double alpha;              /* chance of a wrong red, over all that is measured */
    uint64_t seed;             /* of the order within the pairs, and of the bootstrap */
};

enum gnn_ab_verdict {
    GNN_AB_OPEN,
    GNN_AB_FINE,
    GNN_AB_FASTER,
    GNN_AB_SLOWER,
    GNN_AB_UNSURE,
    GNN_AB_ABSENT, /* this cell has no such metric */
};

/* One metric of one cell. */
struct gnn_ab_series {
    uint32_t count; /* pairs */
    double base[GNN_PAIRS_MAX], head[GNN_PAIRS_MAX];
    bool head_first[GNN_PAIRS_MAX];
    enum gnn_ab_verdict verdict;
    double ratio, low, high; /* head / base: median and its 95 % interval */
    double p;                /* corrected */
    double spread;           /* of the log ratios: 1.4826 times the median distance from their median */
    bool confirmed;          /* slower in pairs of its own again */
};

/* Runs one build on one cell and writes its metrics (times, > 0; NAN: has none). */
typedef enum gnn_status gnn_ab_observe_fn(void *ctx, uint32_t cell, bool head, double metrics[GNN_AB_METRICS_MAX],
                                          struct gnn_err *err);

/* Pairs that decide: judges series (count) with what they hold now at look `look` of `looks`. Series that are decided
 * stay so. */
void gnn_ab_judge(const struct gnn_ab_plan *plan, struct gnn_ab_series *series, uint32_t count, uint32_t look,
                  uint32_t looks);

/* Measures cells x metrics series until each is decided; series[cell * metrics + metric], which the caller owns, start
 * anew. Where a confirmation failed the series' first pairs stay and the verdict is GNN_AB_UNSURE. The first error of
 * observe ends it. */
GNN_MUST_CHECK enum gnn_status gnn_ab_run(const struct gnn_ab_plan *plan, uint32_t cells, uint32_t metrics,
                                          gnn_ab_observe_fn *observe, void *ctx, struct gnn_ab_series *series,
                                          struct gnn_err *err);

#endif
