/* SPDX-License-Identifier: MIT */
/* The table of operations that the plugin exports. */
#ifndef GNN_TENSOR_CUDA_BACKEND_H
#define GNN_TENSOR_CUDA_BACKEND_H

#ifdef __cplusplus
extern "C" {
#endif

#include "harness/tensor/tensor.h"

extern const struct gnn_tensor_ops gnn_tensor_cuda;

/* Returns the number of allocations made on the device since open. Constant in steady state. */
uint64_t gnn_cuda_allocations(const struct gnn_tensor *t);

#ifdef __cplusplus
}
#endif

#endif
