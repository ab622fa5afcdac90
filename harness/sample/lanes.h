/* SPDX-License-Identifier: MIT */
/* Several rows side by side, a lane each: a vector holds an entry of every row, and the compiler makes of it what the
 * processor has. */
#ifndef GNN_SAMPLE_LANES_H
#define GNN_SAMPLE_LANES_H

#include <stdint.h>

enum { GNN_LANES = 8 };

typedef uint32_t gnn_lanes __attribute__((vector_size(4 * GNN_LANES)));

/* Puts the smaller of each lane's two entries to *low, the larger to *high. */
static inline void gnn_lanes_order(gnn_lanes *low, gnn_lanes *high)
{
    gnn_lanes a = *low, b = *high;
    for (uint32_t lane = 0; lane < GNN_LANES; lane++) {
        const uint32_t x = a[lane], y = b[lane];
        a[lane] = x < y ? x : y;
        b[lane] = x < y ? y : x;
    }
    *low = a;
    *high = b;
}

#endif
