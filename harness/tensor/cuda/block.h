/* SPDX-License-Identifier: MIT */
/* A block in the form that kernels read. */
#ifndef GNN_TENSOR_CUDA_BLOCK_H
#define GNN_TENSOR_CUDA_BLOCK_H

#include "harness/tensor/cuda/device.h"

/* A block on the device. The last three arrays are the transpose, which exists once an op has requested it. */
struct gnn_cuda_block {
    uint32_t dst_count, src_count, edge_count;
    const uint32_t *row_start; /* (dst_count + 1) */
    const uint32_t *col;       /* (edge_count) */
    const uint32_t *edge_dst;  /* (edge_count) target of edge e */
    const uint32_t *src_start; /* (src_count + 1) first entry of a source in src_edge */
    const uint32_t *src_edge;  /* (edge_count) edges by source, ascending within one */
};

#endif
