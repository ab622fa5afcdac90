/* SPDX-License-Identifier: MIT */
/* Kernels over a block's rows: GraphSAGE's aggregation and GCN's normalised product, forward by the block and backward
 * by its transpose. No atomics are used on reals: every sum runs in the order of the reference loops. A result depends
 * only on its input.
 *
 * A warp processes a row; its lanes process columns. Matrices are row-major and dense. */
#ifndef GNN_TENSOR_CUDA_SPARSE_H
#define GNN_TENSOR_CUDA_SPARSE_H

#include "harness/tensor/cuda/sources.h"

/* ---- sums over a target's sources ---- */

/* out_i = scale_i * sum over the row of weight_e x_j; with weight NULL all weights are 1. With mean, scale_i is one
 * over the degree. */
__global__ void gnn_cuda_row_sum(float *out, struct gnn_cuda_block b, const float *x, uint32_t cols,
                                 const float *weight, bool mean)
{
    for (uint64_t i = gnn_warp(); i < b.dst_count; i += gnn_warps()) {
        const uint32_t first = b.row_start[i], end = b.row_start[i + 1];
        const float scale = mean && end > first ? 1 / (float)(end - first) : 1;
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP) {
            float sum = 0;
            for (uint32_t e = first; e < end; e++) {
                const float value = x[b.col[e] * (uint64_t)cols + c];
                sum += weight != NULL ? weight[e] * value : value;
            }
            out[i * cols + c] = weight != NULL ? sum : sum * scale;
        }
    }
}

/* As gnn_cuda_row_sum with 16 bytes per lane. cols is a multiple of 4, and rows are aligned to 16 bytes. */
__global__ void gnn_cuda_row_sum4(float4 *out, struct gnn_cuda_block b, const float4 *x, uint32_t quads,
                                  const float *weight, bool mean)
{
    for (uint64_t i = gnn_warp(); i < b.dst_count; i += gnn_warps()) {
        const uint32_t first = b.row_start[i], end = b.row_start[i + 1];
        const float scale = weight == NULL && mean && end > first ? 1 / (float)(end - first) : 1;
        for (uint32_t q = gnn_lane(); q < quads; q += GNN_WARP) {
            float4 sum = {0, 0, 0, 0};
            for (uint32_t e = first; e < end; e++) {
                const float4 v = x[b.col[e] * (uint64_t)quads + q];
                const float w = weight != NULL ? weight[e] : 1;
                sum.x += w * v.x;
                sum.y += w * v.y;
                sum.z += w * v.z;
                sum.w += w * v.w;
            }
            out[i * quads + q] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale};
        }
    }
}

/* The largest source per element, the first of equals. An empty row gives 0 and GNN_NODE_NONE. */
__global__ void gnn_cuda_row_max(float *out, uint32_t *argmax, struct gnn_cuda_block b, const float *x, uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < b.dst_count; i += gnn_warps())
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP) {
            uint32_t best = GNN_NODE_NONE;
            float most = 0;
            for (uint32_t e = b.row_start[i]; e < b.row_start[i + 1]; e++) {
                const float value = x[b.col[e] * (uint64_t)cols + c];
                if (best == GNN_NODE_NONE || value > most) {
                    best = b.col[e];
                    most = value;
                }
            }
            out[i * cols + c] = most;
            argmax[i * cols + c] = best;
        }
}

/* ---- sums over a source's targets ---- */

/* Factors of the summand of entry p with target i: 1, 1 / degree of the target, the edge's weight. */
struct gnn_cuda_one {
    __device__ static float of(const struct gnn_cuda_block &, const float *, uint32_t, uint32_t)
    {
        return 1;
    }
};
struct gnn_cuda_dst_part {
    __device__ static float of(const struct gnn_cuda_block &b, const float *, uint32_t, uint32_t i)
    {
        return b.dst_part[i];
    }
};
struct gnn_cuda_edge_weight {
    __device__ static float of(const struct gnn_cuda_block &b, const float *weight, uint32_t p, uint32_t)
    {
        return weight[b.src_edge[p]];
    }
};

/* dx_j += sum over the edges of source j of factor_e dout_i. T is float, or float4 if rows are aligned to 16 bytes. The
 * columns count T. */
template <typename T, typename Factor> struct gnn_cuda_target_term {
    typedef T real;
    static const bool NARROW = false, ADDS = true;
    uint32_t cols;
    const T *dout;
    const float *weight; /* (edge_count) of the edges, or NULL */

    __device__ T at(const struct gnn_cuda_block &b, uint32_t, uint32_t p, uint32_t c) const
    {
        const uint32_t i = b.src_dst[p];
        return gnn_cuda_times(dout[i * (uint64_t)cols + c], Factor::of(b, weight, p, i));
    }
    __device__ T end(const struct gnn_cuda_block &, uint32_t, uint32_t, T sum) const
    {
        return sum;
    }
};

/* dx_j += dout_i for each element that j won in row i. Row i counts once even if j is in it several times: those edges
 * are adjacent. */
struct gnn_cuda_winner_term {
    typedef float real;
    static const bool NARROW = false, ADDS = true;
    uint32_t cols;
    const float *dout;
    const uint32_t *argmax;

    __device__ float at(const struct gnn_cuda_block &b, uint32_t j, uint32_t p, uint32_t c) const
    {
        const uint32_t i = b.src_dst[p];
        const bool again = p > b.src_start[j] && b.src_dst[p - 1] == i;
        const uint64_t at = i * (uint64_t)cols + c;
        return !again && argmax[at] == j ? dout[at] : 0;
    }
    __device__ float end(const struct gnn_cuda_block &, uint32_t, uint32_t, float sum) const
    {
        return sum;
    }
};

/* ---- GCN's weights ---- */

__device__ inline float gnn_cuda_inverse_root(float x)
{
    return x > 0 ? 1 / sqrtf(x) : 0;
}

__device__ inline float gnn_cuda_row_factor(const struct gnn_cuda_block &b, uint32_t i)
{
    return gnn_cuda_inverse_root((float)(b.row_start[i + 1] - b.row_start[i]));
}

/* source_sum_j of the standard normalisation: the number of edges. */
__global__ void gnn_cuda_source_degree(float *source_sum, struct gnn_cuda_block b)
{
    for (uint64_t j = gnn_thread(); j < b.src_count; j += gnn_threads())
        source_sum[j] = (float)(b.src_start[j + 1] - b.src_start[j]);
}

/* source_sum_j of the released normalisation: the sum of the targets' factors. */
struct gnn_cuda_norm_term {
    typedef float real;
    static const bool NARROW = true, ADDS = false;
    uint32_t cols; /* 1 */

    __device__ float at(const struct gnn_cuda_block &b, uint32_t, uint32_t p, uint32_t) const
    {
        return gnn_cuda_row_factor(b, b.src_dst[p]);
    }
    __device__ float end(const struct gnn_cuda_block &, uint32_t, uint32_t, float sum) const
    {
        return sum;
    }
};

__global__ void gnn_cuda_gcn_weight(float *weight, struct gnn_cuda_block b, const float *source_sum)
{
    for (uint64_t e = gnn_thread(); e < b.edge_count; e += gnn_threads())
        weight[e] = gnn_cuda_row_factor(b, b.edge_dst[e]) * gnn_cuda_inverse_root(source_sum[b.col[e]]);
}

#endif
