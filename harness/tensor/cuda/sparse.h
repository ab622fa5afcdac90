/* SPDX-License-Identifier: MIT */
/* Kernels over a block's rows: GraphSAGE's aggregation and GCN's normalised product, forward by the block and backward
 * by its transpose. No atomics are used on reals: every sum runs in the order of the reference loops. A result depends
 * only on its input.
 *
 * A warp processes a row; its lanes process columns. Matrices are row-major and dense. */
#ifndef GNN_TENSOR_CUDA_SPARSE_H
#define GNN_TENSOR_CUDA_SPARSE_H

#include "harness/tensor/cuda/block.h"

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

/* dx_j += sum over the edges of source j of factor_e dout_i. The factor is weight_e, one over i's degree (mean), or
 * 1. */
__global__ void gnn_cuda_source_sum(float *dx, struct gnn_cuda_block b, const float *dout, uint32_t cols,
                                    const float *weight, bool mean)
{
    for (uint64_t j = gnn_warp(); j < b.src_count; j += gnn_warps()) {
        const uint32_t first = b.src_start[j], end = b.src_start[j + 1];
        for (uint32_t c = gnn_lane(); c < cols && first < end; c += GNN_WARP) {
            float sum = dx[j * cols + c];
            for (uint32_t p = first; p < end; p++) {
                const uint32_t e = b.src_edge[p], i = b.edge_dst[e];
                const float degree = (float)(b.row_start[i + 1] - b.row_start[i]);
                const float factor = weight != NULL ? weight[e] : mean ? 1 / degree : 1;
                sum += dout[i * (uint64_t)cols + c] * factor;
            }
            dx[j * cols + c] = sum;
        }
    }
}

/* As gnn_cuda_source_sum with 16 bytes per lane. cols is a multiple of 4, and rows are aligned to 16 bytes. */
__global__ void gnn_cuda_source_sum4(float4 *dx, struct gnn_cuda_block b, const float4 *dout, uint32_t quads,
                                     const float *weight, bool mean)
{
    for (uint64_t j = gnn_warp(); j < b.src_count; j += gnn_warps()) {
        const uint32_t first = b.src_start[j], end = b.src_start[j + 1];
        for (uint32_t q = gnn_lane(); q < quads && first < end; q += GNN_WARP) {
            float4 sum = dx[j * quads + q];
            for (uint32_t p = first; p < end; p++) {
                const uint32_t e = b.src_edge[p], i = b.edge_dst[e];
                const float degree = (float)(b.row_start[i + 1] - b.row_start[i]);
                const float factor = weight != NULL ? weight[e] : mean ? 1 / degree : 1;
                const float4 v = dout[i * (uint64_t)quads + q];
                sum.x += v.x * factor;
                sum.y += v.y * factor;
                sum.z += v.z * factor;
                sum.w += v.w * factor;
            }
            dx[j * quads + q] = sum;
        }
    }
}

/* dx_j += dout_i for each element that j won in row i. Row i counts once even if j is in it several times: those edges
 * are adjacent. */
__global__ void gnn_cuda_source_max(float *dx, struct gnn_cuda_block b, const float *dout, uint32_t cols,
                                    const uint32_t *argmax)
{
    for (uint64_t j = gnn_warp(); j < b.src_count; j += gnn_warps())
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP) {
            float sum = dx[j * cols + c];
            for (uint32_t p = b.src_start[j]; p < b.src_start[j + 1]; p++) {
                const uint32_t i = b.edge_dst[b.src_edge[p]];
                const bool again = p > b.src_start[j] && b.edge_dst[b.src_edge[p - 1]] == i;
                const uint64_t at = i * (uint64_t)cols + c;
                if (!again && argmax[at] == j)
                    sum += dout[at];
            }
            dx[j * cols + c] = sum;
        }
}

/* ---- GCN's weights ---- */

__device__ inline float gnn_cuda_inverse_root(float x)
{
    return x > 0 ? 1 / sqrtf(x) : 0;
}

__device__ inline float gnn_cuda_row_factor(const struct gnn_cuda_block &b, uint32_t i)
{
    return gnn_cuda_inverse_root((float)(b.row_start[i + 1] - b.row_start[i]));
}

/* source_sum_j: the sum of the targets' factors in the released normalisation, the number of edges in the standard
 * one. */
__global__ void gnn_cuda_source_norm(float *source_sum, struct gnn_cuda_block b, bool released)
{
    for (uint64_t j = gnn_thread(); j < b.src_count; j += gnn_threads()) {
        float sum = 0;
        for (uint32_t p = b.src_start[j]; p < b.src_start[j + 1]; p++)
            sum += released ? gnn_cuda_row_factor(b, b.edge_dst[b.src_edge[p]]) : 1;
        source_sum[j] = sum;
    }
}

__global__ void gnn_cuda_gcn_weight(float *weight, struct gnn_cuda_block b, const float *source_sum)
{
    for (uint64_t e = gnn_thread(); e < b.edge_count; e += gnn_threads())
        weight[e] = gnn_cuda_row_factor(b, b.edge_dst[e]) * gnn_cuda_inverse_root(source_sum[b.col[e]]);
}

#endif
