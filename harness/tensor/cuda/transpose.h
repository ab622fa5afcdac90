/* SPDX-License-Identifier: MIT */
/* The kernels that build a block's transpose, before and after a stable sort by source. */
#ifndef GNN_TENSOR_CUDA_TRANSPOSE_H
#define GNN_TENSOR_CUDA_TRANSPOSE_H

#include "harness/tensor/cuda/block.h"

/* Writes the target of every edge, the edge's own number, and 1 / degree of every target. The stable sort by source
 * moves the edges' numbers. */
__global__ void gnn_cuda_edges(struct gnn_cuda_block b, uint32_t *edge_dst, uint32_t *edge_number, float *dst_part)
{
    for (uint64_t i = gnn_warp(); i < b.dst_count; i += gnn_warps()) {
        const uint32_t first = b.row_start[i], end = b.row_start[i + 1];
        if (gnn_lane() == 0)
            dst_part[i] = end > first ? 1 / (float)(end - first) : 0;
        for (uint32_t e = first + gnn_lane(); e < end; e += GNN_WARP) {
            edge_dst[e] = (uint32_t)i;
            edge_number[e] = e;
        }
    }
}

/* Writes where each source begins. sorted (edge_count) holds the sources in ascending order. A source without edges
 * begins where the next one does. */
__global__ void gnn_cuda_source_starts(uint32_t *src_start, const uint32_t *sorted, uint32_t edge_count,
                                       uint32_t src_count)
{
    for (uint64_t p = gnn_thread(); p <= edge_count; p += gnn_threads()) {
        const uint32_t first = p == 0 ? 0 : sorted[p - 1] + 1, last = p == edge_count ? src_count : sorted[p];
        for (uint32_t j = first; j <= last; j++)
            src_start[j] = (uint32_t)p;
    }
}

/* Writes the target of every entry, so that sums read it without a detour by the edge's number. */
__global__ void gnn_cuda_entry_targets(uint32_t *src_dst, const uint32_t *src_edge, const uint32_t *edge_dst,
                                       uint32_t edge_count)
{
    for (uint64_t p = gnn_thread(); p < edge_count; p += gnn_threads())
        src_dst[p] = edge_dst[src_edge[p]];
}

#endif
