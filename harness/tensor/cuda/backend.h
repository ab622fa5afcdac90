/* SPDX-License-Identifier: MIT */
/* The table that the plugin exports. */
#ifndef GNN_TENSOR_CUDA_BACKEND_H
#define GNN_TENSOR_CUDA_BACKEND_H

#ifdef __cplusplus
extern "C" {
#endif

#include "harness/tensor/tensor.h"

extern const struct gnn_tensor_ops gnn_tensor_cuda;

/* Allocations made on the device since open: constant in steady state. */
uint64_t gnn_cuda_allocations(const struct gnn_tensor *t);

#ifdef __cplusplus
}
#endif

#endif
