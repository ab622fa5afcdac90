/* SPDX-License-Identifier: MIT */
/* The distribution of list lengths, as a table of its quantiles. It is a shifted power law with a stated mean and a
 * share of empty lists, or a law that was measured on a graph. Internal to harness/graph/, except struct gnn_rank_law
 * and struct gnn_mixing. Immutable after open. */
#ifndef GNN_GRAPH_DEGREE_LAW_H
#define GNN_GRAPH_DEGREE_LAW_H

#include "harness/oocgnn.h"

enum { GNN_LAW_POINTS_MAX = 48, GNN_MIXING_GROUPS = 8, GNN_DEGREE_GUIDE_BITS = 14 };

/* A quantity over nodes in falling order. The first share upto[0] of the nodes has mean[0] on average, the nodes from
 * there to upto[1] have mean[1], and so on. upto ascends to 1, mean falls. With count 0 no law is stated. */
struct gnn_rank_law {
    uint32_t count;
    double upto[GNN_LAW_POINTS_MAX];
    double mean[GNN_LAW_POINTS_MAX];
};

/* Which nodes appear in long and in short lists. Lists form groups by length. Share share[g][i] of the entries that
 * name nodes of point i of a popularity law is in lists of group g. The shares of a point add up to 1. With groups 0
 * the length of a list has no influence. */
struct gnn_mixing {
    uint32_t groups;
    uint32_t upto[GNN_MIXING_GROUPS]; /* entries of a group's longest list, ascending; the last one's is UINT32_MAX */
    double share[GNN_MIXING_GROUPS][GNN_LAW_POINTS_MAX];
};

/* Returns the mean over all nodes. */
double gnn_rank_law_mean(const struct gnn_rank_law *law);

struct gnn_degree_config {
    double mean;     /* mean length of the lists that are not empty; at least 1 */
    double exponent; /* alpha of P(d) ~ (d + d0)^-alpha, above 2 */
    double empty;    /* [0, 1): share of lists without an entry */
    uint32_t longest;
    uint32_t node_count;             /* for error messages */
    const struct gnn_rank_law *read; /* measured law that replaces the fields above; NULL: none */
};

struct gnn_degree_law {
    uint32_t max;
    uint32_t empty; /* quantiles below it, of 2^32, have an empty list */
    double stretch; /* factor that spreads the other quantiles over 2^32 */
    uint32_t *cdf;  /* (max) P(D <= d + 1) * 2^32; the last entry is never read. NULL for a measured law */
    struct gnn_rank_law read;
    uint32_t guide[(1u << GNN_DEGREE_GUIDE_BITS) + 1]; /* first degree to look at, by the leading bits of the draw */
};

/* Computes the table of a law, or returns GNN_EUSAGE if no power law of these lengths has this mean. Close it with
 * gnn_degree_law_close. */
GNN_MUST_CHECK enum gnn_status gnn_degree_law_open(const struct gnn_degree_config *config, struct gnn_degree_law *out,
                                                   struct gnn_err *err);
void gnn_degree_law_close(struct gnn_degree_law *law); /* accepts a zeroed struct */

/* Returns the length at quantile u / 2^32 of the lists in rising order. */
uint32_t gnn_degree_at(const struct gnn_degree_law *law, uint32_t u);
/* Returns the point of a measured law that quantile u / 2^32 belongs to, or 0 for a power law. Lengths rise with u
 * inside a point. From one point to the next they may fall by one, because each is rounded to the mean of its own
 * point. */
uint32_t gnn_degree_point(const struct gnn_degree_law *law, uint32_t u);

#endif
