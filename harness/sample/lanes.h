/* SPDX-License-Identifier: MIT */
/* Vectors that hold one entry of each of several rows: row i is lane i. The compiler maps them to the processor's
 * vector instructions. */
#ifndef GNN_SAMPLE_LANES_H
#define GNN_SAMPLE_LANES_H

#include <stdint.h>

enum { GNN_LANES = 8 };

typedef uint32_t gnn_lanes __attribute__((vector_size(4 * GNN_LANES)));

/* Orders each lane: the smaller of its two entries goes to *low, the larger to *high. */
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
