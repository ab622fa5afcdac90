/* SPDX-License-Identifier: MIT */
/* Draws of several rows side by side: what gnn_draw() gives row by row, for fewer operations an edge. */
#ifndef GNN_SAMPLE_DRAW_LANES_H
#define GNN_SAMPLE_DRAW_LANES_H

#include "harness/sample/draw.h"
#include "harness/sample/lanes.h"

#define GNN_DRAW_LANES_DEGREE_MAX UINT32_C(0x7fffffff)

/* Rows that wait for their draw; what the lanes from count on hold does not matter. */
struct gnn_draw_lanes {
    uint32_t count;
    gnn_node node[GNN_LANES];   /* destinations in original IDs, which are folded into the hop's key */
    uint32_t degree[GNN_LANES]; /* above the fan-out, at most GNN_DRAW_LANES_DEGREE_MAX */
    uint32_t at[GNN_LANES];     /* of the row's first edge in out */
    uint64_t begin[GNN_LANES];  /* of the row's list */
};

/* Writes fanout edge offsets of each row that waits, ascending, to out + at. Nothing else of out is touched. */
void gnn_draw_lanes(const struct gnn_draw_lanes *lanes, uint64_t hop_key, uint32_t fanout, bool biased, uint64_t *out);

#endif
