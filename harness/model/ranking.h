/* SPDX-License-Identifier: MIT */
/* Ranks of true edges among candidates: mean reciprocal rank and Hits@k (Bordes et al. 2013, section 4.2; MariusGNN,
 * section 7.1). Plain numbers on the host.
 *
 * rank = 1 + number of candidates that score at least as high as the true edge. Ties count against the true edge. A
 * decoder that gives all edges the same score, or NaN, therefore ranks last. */
#ifndef GNN_MODEL_RANKING_H
#define GNN_MODEL_RANKING_H

#include "harness/tensor/tensor.h"

#include <math.h>

struct gnn_ranking {
    uint64_t queries;
    double reciprocal_sum;
    uint64_t hits_1, hits_3, hits_10;
};

static inline void gnn_ranking_add(struct gnn_ranking *ranking, uint64_t rank)
{
    ranking->queries++;
    ranking->reciprocal_sum += 1 / (double)rank;
    ranking->hits_1 += rank <= 1;
    ranking->hits_3 += rank <= 3;
    ranking->hits_10 += rank <= 10;
}

/* Returns part / queries, or NAN if there was no query. */
static inline double gnn_ranking_share(const struct gnn_ranking *ranking, double part)
{
    return ranking->queries > 0 ? part / (double)ranking->queries : (double)NAN;
}

static inline double gnn_ranking_mrr(const struct gnn_ranking *ranking)
{
    return gnn_ranking_share(ranking, ranking->reciprocal_sum);
}

/* Returns whether a candidate counts against the true edge. NaN counts. */
static inline bool gnn_ranks_above(gnn_real candidate, gnn_real positive)
{
    return !(candidate < positive);
}

/* Returns how many of the `count` scores count against the true edge. If the true edge is among them, it is counted,
 * too. */
uint64_t gnn_rank_count(const gnn_real *scores, uint64_t count, gnn_real positive);

#endif
