/* SPDX-License-Identifier: MIT */
/* What kernels and the back-end above them are written against: CUDA where nvcc compiles them, and the test suite's
 * launcher where a C++ compiler does (GNN_CUDA_HOST names it), so that every kernel body also runs, under sanitizers,
 * on a machine without a GPU. Included first by every file of this folder. C++ only. */
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
#endif

extern "C" {
#include "harness/tensor/dropout.h"
#include "harness/tensor/tensor.h"
}

enum { GNN_WARP = 32, GNN_WARPS_PER_BLOCK = 8, GNN_BLOCK_THREADS = GNN_WARP * GNN_WARPS_PER_BLOCK };

/* Lane of a warp, and the warp's number in the grid: kernels that give a row to a warp. */
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

/* The thread's number in the grid, and how many there are: grid-stride loops. */
__device__ inline uint64_t gnn_thread()
{
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

__device__ inline uint64_t gnn_threads()
{
    return gridDim.x * (uint64_t)blockDim.x;
}

/* Sum and maximum over a warp in a fixed order, the result in every lane. All lanes call. */
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
