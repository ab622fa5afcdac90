/* SPDX-License-Identifier: MIT */
/* A block by source, from which a backward pass gathers. The edges of a source keep the block's order. So a sum over
 * them adds the same values in the same order as a scatter over the block's rows, and has the same bits. Here each row
 * of the output is written once and by one thread. Random reads are limited to rows of the targets, far fewer than
 * sources. */
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
    /* (sources + 2); once filled, the edges of source j are edge[start[j]] up to edge[start[j + 1]] */
    uint32_t *start;
    uint32_t edges;
};

/* Allocates room for the block's edges by source, and with `self` for the slots of self-loops. Returns false if memory
 * is refused; the caller scatters then. The caller then places every edge, in the order of the block's rows, with
 * gnn_cpu_transpose_next. */
bool gnn_cpu_transpose_begin(struct gnn_tensor *t, const struct gnn_block *b, bool self, struct gnn_cpu_transpose *out);

/* Returns the place of the source's next edge. */
static inline struct gnn_cpu_edge *gnn_cpu_transpose_next(const struct gnn_cpu_transpose *by_source, uint32_t source)
{
    return &by_source->edge[by_source->start[source + 1]++];
}

/* Prefetches the rows of x that are read after those of edges start to start + count. */
static inline void gnn_cpu_prefetch_targets(const struct gnn_cpu_transpose *by_source, uint32_t start, uint32_t count,
                                            struct gnn_mat x)
{
    const uint64_t end = gnn_min_u64(UINT64_C(0) + start + count + GNN_PREFETCH_ROWS, by_source->edges);
    for (uint64_t e = UINT64_C(0) + start + GNN_PREFETCH_ROWS; e < end; e++)
        gnn_prefetch_row(x.data + (uint64_t)by_source->edge[e].target * x.cols, x.cols);
}

#endif
