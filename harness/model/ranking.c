/* SPDX-License-Identifier: MIT */
#include "harness/model/ranking.h"

uint64_t gnn_rank_count(const gnn_real *scores, uint64_t count, gnn_real positive)
{
    uint64_t above = 0;
    for (uint64_t i = 0; i < count; i++)
        above += gnn_ranks_above(scores[i], positive);
    return above;
}
