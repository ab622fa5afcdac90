/* SPDX-License-Identifier: MIT */
/* Draws for several rows at once. Results are those of gnn_draw() row by row, with fewer operations per edge. */
#ifndef GNN_SAMPLE_DRAW_LANES_H
#define GNN_SAMPLE_DRAW_LANES_H

#include "harness/sample/draw.h"
#include "harness/sample/lanes.h"

#define GNN_DRAW_LANES_DEGREE_MAX UINT32_C(0x7fffffff)

/* Rows that wait for their draw. Lanes from `count` on may hold anything. */
struct gnn_draw_lanes {
    uint32_t count;
    gnn_node node[GNN_LANES];   /* destinations in original IDs; they are folded into the hop's key */
    uint32_t degree[GNN_LANES]; /* above the fan-out, at most GNN_DRAW_LANES_DEGREE_MAX */
    uint32_t at[GNN_LANES];     /* index in `out` of the row's first edge */
    uint64_t begin[GNN_LANES];  /* first edge of the row's list */
};

/* Draws for each waiting row and writes its `fanout` edge offsets, ascending, to out + at. No other element of `out` is
 * written. */
void gnn_draw_lanes(const struct gnn_draw_lanes *lanes, uint64_t hop_key, uint32_t fanout, bool biased, uint64_t *out);

#endif
