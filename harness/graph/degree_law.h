/* SPDX-License-Identifier: MIT */
/* How long lists are: a quantile function, tabulated. A shifted power law with a stated mean, a share of empty lists
 * beside it, or a law that was read off a graph. Internal to harness/graph/, but for struct gnn_rank_law and
 * struct gnn_mixing. Immutable after open. */
#ifndef GNN_GRAPH_DEGREE_LAW_H
#define GNN_GRAPH_DEGREE_LAW_H

#include "harness/oocgnn.h"

enum { GNN_LAW_POINTS_MAX = 48, GNN_MIXING_GROUPS = 8, GNN_DEGREE_GUIDE_BITS = 14 };

/* A quantity over nodes in falling order: the first share upto[0] of them has mean[0] on average, those from there to
 * upto[1] mean[1], and so on; upto ascends to 1, mean falls. count 0: nothing is stated. */
struct gnn_rank_law {
    uint32_t count;
    double upto[GNN_LAW_POINTS_MAX];
    double mean[GNN_LAW_POINTS_MAX];
};

/* Whom long and short lists name: lists fall into groups by their length, and of what point i of a law of popularity
 * has, the share share[g][i] stands in lists of group g, so that the shares of a point add up to 1. groups 0: lists are
 * all alike. */
struct gnn_mixing {
    uint32_t groups;
    uint32_t upto[GNN_MIXING_GROUPS]; /* entries of a group's longest list, ascending; the last one's is UINT32_MAX */
    double share[GNN_MIXING_GROUPS][GNN_LAW_POINTS_MAX];
};

/* Mean over all nodes. */
double gnn_rank_law_mean(const struct gnn_rank_law *law);

struct gnn_degree_config {
    double mean;     /* of the lists that are not empty; at least 1 */
    double exponent; /* alpha of P(d) ~ (d + d0)^-alpha, above 2 */
    double empty;    /* [0, 1): share of lists without an entry */
    uint32_t longest;
    uint32_t node_count;             /* for messages */
    const struct gnn_rank_law *read; /* instead of all of them; NULL: none */
};

struct gnn_degree_law {
    uint32_t max;
    uint32_t empty; /* quantiles below it have no list, of 2^32 */
    double stretch; /* of the others to 2^32 */
    uint32_t *cdf;  /* (max) P(D <= d + 1) * 2^32; the last entry is never read. NULL: a law that was read */
    struct gnn_rank_law read;
    uint32_t guide[(1u << GNN_DEGREE_GUIDE_BITS) + 1]; /* first degree to look at for the leading bits of the draw */
};

/* GNN_EUSAGE: no such law has this mean. */
GNN_MUST_CHECK enum gnn_status gnn_degree_law_open(const struct gnn_degree_config *config, struct gnn_degree_law *out,
                                                   struct gnn_err *err);
void gnn_degree_law_close(struct gnn_degree_law *law); /* accepts a zeroed one */

/* The length at quantile u / 2^32 of the lists in rising order. */
uint32_t gnn_degree_at(const struct gnn_degree_law *law, uint32_t u);
/* The point of a law that was read which that quantile belongs to: inside a point lengths rise with u, from one to the
 * next they may fall by one, for each is rounded to its own mean. Of other laws 0: they have one. */
uint32_t gnn_degree_point(const struct gnn_degree_law *law, uint32_t u);

#endif
