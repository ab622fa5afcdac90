/* SPDX-License-Identifier: MIT */
/* Kernels over dense rows: gathers, a layer's epilogue, log-softmax with its loss, Adam. Grid-stride loops: any grid
 * gives the same bits. */
#ifndef GNN_TENSOR_CUDA_DENSE_H
#define GNN_TENSOR_CUDA_DENSE_H

#include "harness/tensor/cuda/device.h"

__global__ void gnn_cuda_fill(float *dst, uint64_t count, float value)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads())
        dst[k] = value;
}

__global__ void gnn_cuda_add(float *dst, const float *src, uint64_t count)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads())
        dst[k] += src[k];
}

/* Multiplies values by weight. A weight of 0 writes 0, even over NaN. */
__global__ void gnn_cuda_scale(float *values, uint64_t count, float weight)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads())
        values[k] = weight != 0 ? weight * values[k] : 0;
}

__global__ void gnn_cuda_add_bias(float *z, uint64_t rows, uint32_t cols, const float *bias)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads())
        z[k] += bias[k % cols];
}

/* out[i] = table[rows[i]], a warp per row. T is float, or float4 if rows are aligned to 16 bytes. The table may be
 * pinned host memory, which the device reads across the bus. stride and cols count T. */
template <typename T>
__global__ void gnn_cuda_gather(T *out, const T *table, uint64_t stride, const uint32_t *rows, uint32_t count,
                                uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < count; i += gnn_warps()) {
        const T *from = table + rows[i] * stride;
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            out[i * cols + c] = from[c];
    }
}

/* One half, or four as the word that holds them, and what they are widened to. */
template <typename H> struct gnn_cuda_wide;
template <> struct gnn_cuda_wide<uint16_t> {
    typedef float type;
};
template <> struct gnn_cuda_wide<uint64_t> {
    typedef float4 type;
};

__device__ inline float gnn_cuda_widen(uint16_t half)
{
    return gnn_half_widen(half);
}

__device__ inline float4 gnn_cuda_widen(uint64_t four)
{
    float4 wide;
    wide.x = gnn_half_widen((uint16_t)four);
    wide.y = gnn_half_widen((uint16_t)(four >> 16));
    wide.z = gnn_half_widen((uint16_t)(four >> 32));
    wide.w = gnn_half_widen((uint16_t)(four >> 48));
    return wide;
}

/* out[i] = table[rows[i]], or table[i] without rows, a warp per row; halves are widened. H is uint16_t, or uint64_t if
 * rows of four halves each are aligned to 8 bytes. The table may be pinned host memory. stride and cols count H. */
template <typename H>
__global__ void gnn_cuda_gather_halves(typename gnn_cuda_wide<H>::type *out, const H *table, uint64_t stride,
                                       const uint32_t *rows, uint32_t count, uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < count; i += gnn_warps()) {
        const H *from = table + (rows != NULL ? rows[i] : i) * stride;
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            out[i * cols + c] = gnn_cuda_widen(from[c]);
    }
}

/* Tables of a placement; stride counts the kernel's T. */
struct gnn_cuda_tables {
    const void *rows[GNN_PLACE_TABLES];
    uint64_t stride[GNN_PLACE_TABLES];
};

/* out[i] = the row that place[rows[i]] names, a warp per row; unchanged for GNN_PLACE_NONE. A table may be pinned host
 * memory. */
template <typename T>
__global__ void gnn_cuda_gather_placed(T *out, struct gnn_cuda_tables tables, const uint32_t *place,
                                       const uint32_t *rows, uint32_t count, uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < count; i += gnn_warps()) {
        const uint32_t at = place[rows[i]], table = at >> GNN_PLACE_ROW_BITS;
        if (table >= GNN_PLACE_TABLES)
            continue;
        const uint64_t row = at & ((UINT32_C(1) << GNN_PLACE_ROW_BITS) - 1);
        const T *from = (const T *)tables.rows[table] + row * tables.stride[table];
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            out[i * cols + c] = from[c];
    }
}

/* The same from tables of halves. */
template <typename H>
__global__ void gnn_cuda_gather_placed_halves(typename gnn_cuda_wide<H>::type *out, struct gnn_cuda_tables tables,
                                              const uint32_t *place, const uint32_t *rows, uint32_t count,
                                              uint32_t cols)
{
    for (uint64_t i = gnn_warp(); i < count; i += gnn_warps()) {
        const uint32_t at = place[rows[i]], table = at >> GNN_PLACE_ROW_BITS;
        if (table >= GNN_PLACE_TABLES)
            continue;
        const uint64_t row = at & ((UINT32_C(1) << GNN_PLACE_ROW_BITS) - 1);
        const H *from = (const H *)tables.rows[table] + row * tables.stride[table];
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            out[i * cols + c] = gnn_cuda_widen(from[c]);
    }
}

/* Moves of rows into slots. The lists are launch parameters, so no copy has to precede the launch. */
enum { GNN_CUDA_MOVES = 128 };
struct gnn_cuda_moves {
    uint32_t count;
    uint32_t to[GNN_CUDA_MOVES], from[GNN_CUDA_MOVES];
};

/* Row to[i] of table = row from[i] of pinned host memory, a warp per row. A row has `words` elements of T. */
template <typename T>
__global__ void gnn_cuda_move_rows(T *table, const T *host_rows, struct gnn_cuda_moves moves, uint64_t words)
{
    for (uint64_t i = gnn_warp(); i < moves.count; i += gnn_warps()) {
        const T *from = host_rows + moves.from[i] * words;
        T *to = table + moves.to[i] * words;
        for (uint64_t w = gnn_lane(); w < words; w += GNN_WARP)
            to[w] = from[w];
    }
}

/* Column sums, first step of two: part p of parts sums its share of the rows, a thread per column. Both steps have a
 * fixed order. */
__global__ void gnn_cuda_column_parts(float *partial, const float *z, uint32_t rows, uint32_t cols, uint32_t parts)
{
    for (uint64_t k = gnn_thread(); k < (uint64_t)parts * cols; k += gnn_threads()) {
        const uint32_t c = (uint32_t)(k % cols);
        const uint64_t part = k / cols, first = rows * part / parts, end = rows * (part + 1) / parts;
        float sum = 0;
        for (uint64_t i = first; i < end; i++)
            sum += z[i * cols + c];
        partial[k] = sum;
    }
}

/* Column sums, second step: out_c = the sum of partial (parts, cols) over the parts. */
__global__ void gnn_cuda_column_total(float *out, const float *partial, uint32_t cols, uint32_t parts)
{
    for (uint64_t c = gnn_thread(); c < cols; c += gnn_threads()) {
        double sum = 0;
        for (uint32_t p = 0; p < parts; p++)
            sum += (double)partial[p * (uint64_t)cols + c];
        out[c] = (float)sum;
    }
}

__global__ void gnn_cuda_head_mean(float *out, const float *x, uint64_t rows, uint32_t cols, uint32_t heads)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads()) {
        const float *from = x + k / cols * cols * heads + k % cols;
        float sum = 0;
        for (uint32_t h = 0; h < heads; h++)
            sum += from[h * (uint64_t)cols];
        out[k] = sum / (float)heads;
    }
}

__global__ void gnn_cuda_head_mean_back(float *dx, const float *dout, uint64_t rows, uint32_t cols, uint32_t heads)
{
    const uint64_t width = (uint64_t)cols * heads;
    for (uint64_t k = gnn_thread(); k < rows * width; k += gnn_threads())
        dx[k] = dout[k / width * cols + k % cols] / (float)heads;
}

/* ---- a layer's epilogue ---- */

/* Returns the activation of z. NaN is passed on. */
__device__ inline float gnn_cuda_activation(enum gnn_activation act, float z)
{
    return act == GNN_ACT_NONE || !(z <= 0) ? z : act == GNN_ACT_RELU ? 0 : expm1f(z);
}

/* Returns the derivative, given the activation's value. */
__device__ inline float gnn_cuda_activation_slope(enum gnn_activation act, float value)
{
    return act == GNN_ACT_NONE || !(value <= 0) ? 1 : act == GNN_ACT_RELU ? 0 : value + 1;
}

struct gnn_cuda_dropout {
    uint64_t key;
    uint32_t threshold; /* gnn_dropout_threshold */
    float keep, scale;  /* 1 - rate and its inverse */
};

/* z = dropout(act(z + bias)); bias may be NULL. */
__global__ void gnn_cuda_activate(enum gnn_activation act, float *z, uint64_t rows, uint32_t cols, const float *bias,
                                  struct gnn_cuda_dropout drop)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads()) {
        const uint32_t c = (uint32_t)(k % cols);
        const float y = gnn_cuda_activation(act, z[k] + (bias != NULL ? bias[c] : 0));
        z[k] = gnn_dropout_keeps(drop.key, drop.threshold, cols, k / cols, c) ? y * drop.scale : 0;
    }
}

__global__ void gnn_cuda_activate_back(enum gnn_activation act, float *dy, const float *y, uint64_t rows, uint32_t cols,
                                       struct gnn_cuda_dropout drop)
{
    for (uint64_t k = gnn_thread(); k < rows * cols; k += gnn_threads()) {
        const bool kept = gnn_dropout_keeps(drop.key, drop.threshold, cols, k / cols, (uint32_t)(k % cols));
        dy[k] = kept ? dy[k] * drop.scale * gnn_cuda_activation_slope(act, y[k] * drop.keep) : 0;
    }
}

/* ---- the loss ---- */

/* Returns the column of the row's largest value, the lowest of equals, in every lane of the warp. */
__device__ inline uint32_t gnn_cuda_row_argmax(const float *row, uint32_t cols)
{
    float most = -INFINITY;
    uint32_t best = cols;
    for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
        if (best == cols || row[c] > most) {
            most = row[c];
            best = c;
        }
    for (uint32_t step = GNN_WARP / 2; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, most, step);
        const uint32_t at = __shfl_xor_sync(0xffffffffu, best, step);
        if (at < cols && (best == cols || other > most || (other == most && at < best))) {
            most = other;
            best = at;
        }
    }
    return best;
}

/* Log-softmax and its negative log-likelihood, a warp per row. logits become (softmax - onehot) / rows. row_loss (rows)
 * and row_correct (rows) receive each row's contribution. */
__global__ void gnn_cuda_softmax_nll(float *logits, const int32_t *labels, uint32_t rows, uint32_t cols,
                                     float *row_loss, uint32_t *row_correct)
{
    for (uint64_t i = gnn_warp(); i < rows; i += gnn_warps()) {
        float *row = logits + i * cols;
        const uint32_t label = (uint32_t)labels[i], best = gnn_cuda_row_argmax(row, cols);
        const float max = row[best], own = row[label];
        float sum = 0;
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            sum += expf(row[c] - max);
        sum = gnn_warp_sum(sum);
        __syncwarp(); /* own and max are read before anything is written */
        for (uint32_t c = gnn_lane(); c < cols; c += GNN_WARP)
            row[c] = (expf(row[c] - max) / sum - (c == label ? 1.0f : 0.0f)) / (float)rows;
        if (gnn_lane() == 0) {
            row_loss[i] = max + logf(sum) - own;
            row_correct[i] = best == label;
        }
    }
}

/* One block of GNN_BLOCK_THREADS: *loss = the mean of row_loss, *correct = the sum of row_correct, in fixed order. */
__global__ void gnn_cuda_loss_total(const float *row_loss, const uint32_t *row_correct, uint32_t rows, double *loss,
                                    uint32_t *correct)
{
    __shared__ double losses[GNN_BLOCK_THREADS];
    __shared__ uint32_t hits[GNN_BLOCK_THREADS];
    double sum = 0;
    uint32_t right = 0;
    for (uint32_t i = threadIdx.x; i < rows; i += GNN_BLOCK_THREADS) {
        sum += (double)row_loss[i];
        right += row_correct[i];
    }
    losses[threadIdx.x] = sum;
    hits[threadIdx.x] = right;
    __syncthreads();
    for (uint32_t half = GNN_BLOCK_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            losses[threadIdx.x] += losses[threadIdx.x + half];
            hits[threadIdx.x] += hits[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *loss = rows == 0 ? 0 : losses[0] / rows;
        *correct = hits[0];
    }
}

/* ---- Adam ---- */

struct gnn_cuda_adam {
    float beta1, beta2, rest1, rest2, decay, eps, rate, root2;
};

/* One step of Adam. All parameters of a model are one array and take one launch. */
__global__ void gnn_cuda_adam_step(float *param, const float *grad, float *m, float *v, uint64_t count,
                                   struct gnn_cuda_adam a)
{
    for (uint64_t k = gnn_thread(); k < count; k += gnn_threads()) {
        const float g = grad[k] + a.decay * param[k];
        m[k] = a.beta1 * m[k] + a.rest1 * g;
        v[k] = a.beta2 * v[k] + a.rest2 * g * g;
        param[k] -= a.rate * m[k] / (sqrtf(v[k]) / a.root2 + a.eps);
    }
}

#endif
