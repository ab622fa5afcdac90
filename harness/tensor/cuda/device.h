/* SPDX-License-Identifier: MIT */
/* The platform of the kernels and the back-end. It is CUDA if nvcc compiles them. If a C++ compiler does, it is the
 * test suite's launcher, which GNN_CUDA_HOST names. So every kernel body also runs on a machine without a GPU, under
 * sanitizers. Included first by every file of this folder. C++ only. */
#ifndef GNN_TENSOR_CUDA_DEVICE_H
#define GNN_TENSOR_CUDA_DEVICE_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include GNN_CUDA_HOST /* the launcher's header, named by the build */
#define __grid_constant__
#endif

extern "C" {
#include "harness/tensor/dropout.h"
#include "harness/tensor/tensor.h"
}

enum { GNN_WARP = 32, GNN_WARPS_PER_BLOCK = 8, GNN_BLOCK_THREADS = GNN_WARP * GNN_WARPS_PER_BLOCK };

/* Return the thread's lane in its warp, the warp's number in the grid, and the number of warps. For kernels that give a
 * row to a warp. */
__device__ inline uint32_t gnn_lane()
{
    return threadIdx.x % GNN_WARP;
}

__device__ inline uint64_t gnn_warp()
{
    return (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / GNN_WARP;
}

__device__ inline uint64_t gnn_warps()
{
    return gridDim.x * (uint64_t)blockDim.x / GNN_WARP;
}

/* Return the thread's number in the grid, and the number of threads. For grid-stride loops. */
__device__ inline uint64_t gnn_thread()
{
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

__device__ inline uint64_t gnn_threads()
{
    return gridDim.x * (uint64_t)blockDim.x;
}

/* The elements that a thread of the grid visits in a matrix of `cols` columns. Each element has one thread. A thread
 * divides by cols once. After that it adds steps. */
struct gnn_walk {
    uint64_t row, row_step;
    uint32_t col, col_step, cols;
};

__device__ inline struct gnn_walk gnn_walk_of(uint32_t cols)
{
    const uint64_t first = gnn_thread(), step = gnn_threads();
    return {first / cols, step / cols, (uint32_t)(first % cols), (uint32_t)(step % cols), cols};
}

__device__ inline void gnn_walk_on(struct gnn_walk *w)
{
    w->row += w->row_step;
    w->col += w->col_step;
    if (w->col >= w->cols) {
        w->col -= w->cols;
        w->row++;
    }
}

/* Return the sum and the maximum over a warp, in every lane. The order is fixed. All lanes must call. */
__device__ inline float gnn_warp_sum(float value)
{
    for (uint32_t step = GNN_WARP / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

__device__ inline float gnn_warp_max(float value)
{
    for (uint32_t step = GNN_WARP / 2; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}

#endif
