/* SPDX-License-Identifier: MIT */
/* Kernels of link prediction: queries, scores of pairs, distances to candidates that edges share, their loss, scattered
 * additions, Adagrad. Formulas: harness/tensor/link.h. Every sum has a fixed order. NaN is passed on. */
#ifndef GNN_TENSOR_CUDA_LINK_H
#define GNN_TENSOR_CUDA_LINK_H

#include "harness/tensor/cuda/sources.h"

extern "C" {
#include "harness/tensor/link.h"
}

/* ---- queries ---- */

/* Returns column c of combine(a, r), for one row. */
__device__ inline float gnn_cuda_query(enum gnn_decoder decoder, const float *a, const float *r, uint32_t cols,
                                       uint32_t c)
{
    const uint32_t half = cols / 2;
    if (decoder == GNN_DECODER_DISTMULT)
        return a[c] * r[c];
    if (decoder == GNN_DECODER_TRANSE)
        return a[c] + r[c];
    return c < half ? a[c] * r[c] - a[half + c] * r[half + c] : a[c - half] * r[c] + a[c] * r[c - half];
}

/* Returns column c of the gradient of one factor, from the query's gradient and the other factor. ComplEx uses the
 * conjugate of the other factor. */
__device__ inline float gnn_cuda_query_back(enum gnn_decoder decoder, const float *dq, const float *other,
                                            uint32_t cols, uint32_t c)
{
    const uint32_t half = cols / 2;
    if (decoder == GNN_DECODER_DISTMULT)
        return dq[c] * other[c];
    if (decoder == GNN_DECODER_TRANSE)
        return dq[c];
    return c < half ? dq[c] * other[c] + dq[half + c] * other[half + c]
                    : dq[c] * other[c - half] - dq[c - half] * other[c];
}

__global__ void gnn_cuda_combine(enum gnn_decoder decoder, float *q, const float *a, const float *r, uint64_t rows,
                                 uint32_t cols)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads()) {
        const uint64_t row = k / cols * cols;
        q[k] = gnn_cuda_query(decoder, a + row, r + row, cols, (uint32_t)(k % cols));
    }
}

__global__ void gnn_cuda_combine_back(enum gnn_decoder decoder, float *da, float *dr, const float *dq, const float *a,
                                      const float *r, uint64_t rows, uint32_t cols)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads()) {
        const uint64_t row = k / cols * cols;
        const uint32_t c = (uint32_t)(k % cols);
        da[k] = gnn_cuda_query_back(decoder, dq + row, r + row, cols, c);
        dr[k] = gnn_cuda_query_back(decoder, dq + row, a + row, cols, c);
    }
}

/* ---- pairs ---- */

/* Returns <a, b>, or |a - b|^2, in every lane of the warp. */
__device__ inline float gnn_cuda_pair(bool distance, const float *a, const float *b, uint32_t cols)
{
    float sum = 0;
    for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP) {
        const float apart = a[c] - b[c];
        sum += distance ? apart * apart : a[c] * b[c];
    }
    return gnn_warp_sum(sum);
}

/* Scores of pairs, a warp per row. */
__global__ void gnn_cuda_pair_scores(bool distance, float *out, const float *q, const float *x, uint32_t rows,
                                     uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < rows; i += gnn_warps()) {
        const float sum = gnn_cuda_pair(distance, q + i * cols, x + i * cols, cols);
        if (gnn_lane() == 0)
            out[i] = distance ? -sqrtf(sum) : sum;
    }
}

/* Adds to dq and writes dx, a warp per row. Equal rows at a distance of 0 have gradient 0. */
__global__ void gnn_cuda_pair_scores_back(bool distance, float *dq, float *dx, const float *g, const float *q,
                                          const float *x, uint32_t rows, uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < rows; i += gnn_warps()) {
        const float *a = q + i * cols, *b = x + i * cols;
        const float apart = distance ? sqrtf(gnn_cuda_pair(true, a, b, cols)) : 1;
        const float w = apart != 0 ? g[i] / apart : 0;
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP) {
            dq[i * cols + c] += distance ? w * (b[c] - a[c]) : w * b[c];
            dx[i * cols + c] = distance ? -(w * (b[c] - a[c])) : w * a[c];
        }
    }
}

/* ---- distances to shared candidates ---- */

/* out_i = |x_i|^2, a warp a row. */
__global__ void gnn_cuda_squares(float *out, const float *x, uint32_t rows, uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < rows; i += gnn_warps()) {
        const float sum = gnn_cuda_pair(false, x + i * cols, x + i * cols, cols);
        if (gnn_lane() == 0)
            out[i] = sum;
    }
}

/* scores (rows, cols) of <q_i, x_j> become -|q_i - x_j|, given the rows' squares. */
__global__ void gnn_cuda_distances(float *scores, const float *q_square, const float *x_square, uint64_t rows,
                                   uint32_t cols)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads()) {
        const float square = q_square[k / cols] + x_square[k % cols] - 2 * scores[k];
        scores[k] = square <= 0 ? 0 : -sqrtf(square);
    }
}

/* g becomes w = g / distance. */
__global__ void gnn_cuda_distance_weights(float *g, const float *scores, uint64_t count)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads())
        g[k] = scores[k] != 0 ? -g[k] / scores[k] : 0;
}

/* out_i = the sum of row i, a warp a row. */
__global__ void gnn_cuda_row_totals(float *out, const float *x, uint32_t rows, uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < rows; i += gnn_warps()) {
        float sum = 0;
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            sum += x[i * cols + c];
        sum = gnn_warp_sum(sum);
        if (gnn_lane() == 0)
            out[i] = sum;
    }
}

/* out_i = -weight_i x_i. */
__global__ void gnn_cuda_minus_rows(float *out, const float *weight, const float *x, uint64_t rows, uint32_t cols)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads())
        out[k] = -weight[k / cols] * x[k];
}

/* ---- the loss ---- */

/* Loss of a row of scores, a warp per row. The scores and positive_i become their gradients. own_j is the row that
 * candidate j is not compared with. row_loss (rows) receives each row's contribution. */
__global__ void gnn_cuda_link_loss(float *scores, float *positive, const uint32_t *own, uint32_t rows, uint32_t cols,
                                   float *row_loss)
{
    for (uint64_t i = gnn_warp(); i < rows; i += gnn_warps()) {
        float *row = scores + i * cols;
        const float mine = positive[i];
        float max = mine, sum = 0;
        for (uint32_t j = gnn_lane(); j < cols; j += GNN_WARP)
            max = own[j] != i ? fmaxf(max, row[j]) : max;
        max = gnn_warp_max(max);
        for (uint32_t j = gnn_lane(); j < cols; j += GNN_WARP)
            sum += own[j] != i ? expf(row[j] - max) : 0;
        sum = gnn_warp_sum(sum) + expf(mine - max);
        __syncwarp(); /* mine is read before it is written */
        for (uint32_t j = gnn_lane(); j < cols; j += GNN_WARP)
            row[j] = own[j] != i ? expf(row[j] - max) / sum : 0;
        if (gnn_lane() == 0) {
            row_loss[i] = max + logf(sum) - mine;
            positive[i] = expf(mine - max) / sum - 1;
        }
    }
}

/* One block of GNN_BLOCK_THREADS: *total += the sum of row_loss, in fixed order. */
__global__ void gnn_cuda_link_total(const float *row_loss, uint32_t rows, double *total)
{
    __shared__ double sums[GNN_BLOCK_THREADS];
    double sum = 0;
    for (uint32_t i = threadIdx.x; i < rows; i += GNN_BLOCK_THREADS)
        sum += (double)row_loss[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t half = GNN_BLOCK_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *total += sums[0];
}

/* ---- rows and steps ---- */

__global__ void gnn_cuda_count_up(uint32_t *out, uint32_t count)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads())
        out[k] = (uint32_t)k;
}

/* table_j += x_i for every i that names row j. The rows' list takes the place of a block, with an entry for every i,
 * sorted by row. The i of each entry is in src_edge, in the order of the list for equal rows. */
struct gnn_cuda_rows_term {
    typedef float real;
    static const bool NARROW = false, ADDS = true;
    uint32_t cols;
    const float *x;

    __device__ float at(const struct gnn_cuda_block &b, uint32_t, uint32_t p, uint32_t c) const
    {
        return x[b.src_edge[p] * (uint64_t)cols + c];
    }
    __device__ float end(const struct gnn_cuda_block &, uint32_t, uint32_t, float sum) const
    {
        return sum;
    }
};

__global__ void gnn_cuda_adagrad_step(float *value, const float *grad, float *state, uint64_t count, float lr,
                                      float eps)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads()) {
        state[k] += grad[k] * grad[k];
        value[k] -= lr * grad[k] / (sqrtf(state[k]) + eps);
    }
}

#endif
