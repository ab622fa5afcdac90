/* SPDX-License-Identifier: MIT */
#include "harness/base/rng.h"
#include "harness/sample/sample.h"

#include <string.h>

void gnn_epoch_order(uint64_t seed, uint64_t epoch, const gnn_node *nodes, uint32_t count, gnn_node *order)
{
    if (count == 0)
        return;
    memmove(order, nodes, count * sizeof *order);
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fork(seed, "permute"), epoch));
    for (uint32_t left = count; left > 1; left--) { /* Fisher-Yates from the end */
        const uint32_t pick = (uint32_t)gnn_rng_below(&rng, left);
        const gnn_node moved = order[pick];
        order[pick] = order[left - 1];
        order[left - 1] = moved;
    }
}
