/* SPDX-License-Identifier: MIT */
/* A block in the form that kernels read. */
#ifndef GNN_TENSOR_CUDA_BLOCK_H
#define GNN_TENSOR_CUDA_BLOCK_H

#include "harness/tensor/cuda/device.h"

/* A block on the device. The arrays from edge_dst on are the transpose, which exists once an op has requested it. */
struct gnn_cuda_block {
    uint32_t dst_count, src_count, edge_count;
    const uint32_t *row_start; /* (dst_count + 1) */
    const uint32_t *col;       /* (edge_count) */
    const uint32_t *edge_dst;  /* (edge_count) target of edge e */
    const float *dst_part;     /* (dst_count) 1 / degree; 0 for a target without edges */
    const uint32_t *src_start; /* (src_count + 1) first entry of a source in the arrays below */
    const uint32_t *src_edge;  /* (edge_count) edges by source, ascending within one */
    const uint32_t *src_dst;   /* (edge_count) their targets */
    const uint32_t *entry_src; /* (edge_count) their sources */
};

#endif
