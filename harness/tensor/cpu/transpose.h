/* SPDX-License-Identifier: MIT */
/* A block by source: what a backward pass gathers with. A source's edges stand in the order of the block's, so a sum
 * over them adds what a scatter over the block's rows adds, in that order: the same bits. But each row of the output is
 * written once and by one thread, and what is read at random are rows of the targets, far fewer than sources. */
#ifndef GNN_TENSOR_CPU_TRANSPOSE_H
#define GNN_TENSOR_CPU_TRANSPOSE_H

#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/tensor.h"

struct gnn_cpu_edge {
    uint32_t target;
    union {
        float weight;
        uint32_t slot; /* GAT: struct gnn_attention */
    } of;
};

struct gnn_cpu_transpose {
    struct gnn_cpu_edge *edge; /* (edges), by source */
    uint32_t *start;           /* (sources + 2); source j's are edge[start[j]] up to edge[start[j + 1]] once filled */
    uint32_t edges;
};

/* Makes room for the block's edges by source, and for the slots of self-loops (self). Returns false where memory is
 * refused: the caller scatters. Every edge is then placed, in the order of the block's rows, by
 * gnn_cpu_transpose_next. */
bool gnn_cpu_transpose_begin(struct gnn_tensor *t, const struct gnn_block *b, bool self, struct gnn_cpu_transpose *out);

/* The place of the next edge of this source. */
static inline struct gnn_cpu_edge *gnn_cpu_transpose_next(const struct gnn_cpu_transpose *by_source, uint32_t source)
{
    return &by_source->edge[by_source->start[source + 1]++];
}

/* Fetches the rows of x that are next after those of edges start to start + count. */
static inline void gnn_cpu_prefetch_targets(const struct gnn_cpu_transpose *by_source, uint32_t start, uint32_t count,
                                            struct gnn_mat x)
{
    const uint64_t end = gnn_min_u64(UINT64_C(0) + start + count + GNN_PREFETCH_ROWS, by_source->edges);
    for (uint64_t e = UINT64_C(0) + start + GNN_PREFETCH_ROWS; e < end; e++)
        gnn_prefetch_row(x.data + (uint64_t)by_source->edge[e].target * x.cols, x.cols);
}

#endif
