/* SPDX-License-Identifier: MIT */
/* Kernels over dense rows: gathers, a layer's epilogue, log-softmax with its loss, Adam. Grid-stride loops: any grid
 * gives the same bits. */
#ifndef GNN_TENSOR_CUDA_DENSE_H
#define GNN_TENSOR_CUDA_DENSE_H

#include "harness/tensor/cuda/device.h"

/* Kernels over arrays take the first 4 * quads elements as float4, and the others one by one. quads is 0 unless the
 * arrays are aligned to 16 bytes. */

__global__ void gnn_cuda_fill(float *dst, uint64_t count, uint64_t quads, float value)
{
    for (uint64_t k = gnn_thread(); k < quads; k += gnn_threads())
        ((float4 *)dst)[k] = {value, value, value, value};
    for (uint64_t k = 4 * quads + gnn_thread(); k < count; k += gnn_threads())
        dst[k] = value;
}

__global__ void gnn_cuda_add(float *__restrict__ dst, const float *__restrict__ src, uint64_t count, uint64_t quads)
{
    for (uint64_t k = gnn_thread(); k < quads; k += gnn_threads()) {
        const float4 a = ((const float4 *)dst)[k], b = ((const float4 *)src)[k];
        ((float4 *)dst)[k] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
    }
    for (uint64_t k = 4 * quads + gnn_thread(); k < count; k += gnn_threads())
        dst[k] += src[k];
}

/* Multiplies values by weight. A weight of 0 writes 0, even over NaN. */
__global__ void gnn_cuda_scale(float *values, uint64_t count, uint64_t quads, float weight)
{
    for (uint64_t k = gnn_thread(); k < quads; k += gnn_threads()) {
        const float4 v = ((const float4 *)values)[k];
        float4 scaled = {weight * v.x, weight * v.y, weight * v.z, weight * v.w};
        if (weight == 0)
            scaled = {0, 0, 0, 0};
        ((float4 *)values)[k] = scaled;
    }
    for (uint64_t k = 4 * quads + gnn_thread(); k < count; k += gnn_threads())
        values[k] = weight != 0 ? weight * values[k] : 0;
}

__global__ void gnn_cuda_add_bias(float *z, uint64_t rows, uint32_t cols, const float *bias)
{
    for (struct gnn_walk w = gnn_walk_of(cols); w.row < rows; gnn_walk_on(&w))
        z[w.row * cols + w.col] += bias[w.col];
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
__global__ void gnn_cuda_gather_placed(T *out, const __grid_constant__ struct gnn_cuda_tables tables,
                                       const uint32_t *place, const uint32_t *rows, uint32_t count, uint32_t cols)
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
__global__ void gnn_cuda_gather_placed_halves(typename gnn_cuda_wide<H>::type *out,
                                              const __grid_constant__ struct gnn_cuda_tables tables,
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

/* Moves of rows into slots: row to[i] becomes row from[i]. The lists are launch parameters, so no copy has to precede
 * the launch. Parameters have at most 32764 bytes, and 4096 before CUDA 12.1. A word is float4 if rows are aligned to
 * 16 bytes, else a byte. */
template <typename T> struct gnn_cuda_few_moves {
    typedef T word;
    enum { ROWS_MAX = 128 };
    uint32_t count;
    uint32_t to[ROWS_MAX], from[ROWS_MAX];
};
template <typename T> struct gnn_cuda_many_moves {
    typedef T word;
    enum { ROWS_MAX = 2048 };
    uint32_t count;
    uint32_t to[ROWS_MAX], from[ROWS_MAX];
};

/* Moves rows from pinned host memory to table, a warp per row. */
template <typename Moves>
__global__ void gnn_cuda_move_rows(typename Moves::word *table, const typename Moves::word *host_rows,
                                   const __grid_constant__ Moves moves, uint64_t words)
{
    for (uint64_t i = gnn_warp(); i < moves.count; i += gnn_warps()) {
        const typename Moves::word *from = host_rows + moves.from[i] * words;
        typename Moves::word *to = table + moves.to[i] * words;
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

/* Four neighbours of a row: a word of the dropout mask. WHOLE: rows are whole words, aligned to 16 bytes. */
template <bool WHOLE> __device__ inline void gnn_cuda_load_word(float *word, const float *from, uint32_t left)
{
    if constexpr (WHOLE) {
        const float4 four = *(const float4 *)from;
        word[0] = four.x;
        word[1] = four.y;
        word[2] = four.z;
        word[3] = four.w;
    } else {
        for (uint32_t k = 0; k < 4; k++)
            word[k] = k < left ? from[k] : 0;
    }
}

template <bool WHOLE> __device__ inline void gnn_cuda_store_word(float *to, const float *word, uint32_t left)
{
    if constexpr (WHOLE) {
        *(float4 *)to = {word[0], word[1], word[2], word[3]};
    } else {
        for (uint32_t k = 0; k < 4; k++)
            if (k < left)
                to[k] = word[k];
    }
}

/* Returns the mask's bits for word `word` of a row. */
__device__ inline uint64_t gnn_cuda_mask(const struct gnn_cuda_dropout &drop, uint32_t cols, uint64_t row,
                                         uint32_t word)
{
    return drop.threshold == 0 ? 0 : gnn_dropout_word(drop.key, cols, row, word);
}

/* z = dropout(act(z + bias)); bias may be NULL, and is aligned like z. */
template <bool WHOLE>
__global__ void gnn_cuda_activate(enum gnn_activation act, float *z, uint64_t rows, uint32_t cols, const float *bias,
                                  struct gnn_cuda_dropout drop)
{
    for (struct gnn_walk w = gnn_walk_of((uint32_t)gnn_dropout_words(cols)); w.row < rows; gnn_walk_on(&w)) {
        const uint32_t c = 4 * w.col;
        const uint64_t mask = gnn_cuda_mask(drop, cols, w.row, w.col);
        float value[4], add[4] = {0, 0, 0, 0};
        gnn_cuda_load_word<WHOLE>(value, z + w.row * cols + c, cols - c);
        if (bias != NULL)
            gnn_cuda_load_word<WHOLE>(add, bias + c, cols - c);
        for (uint32_t k = 0; k < 4; k++) {
            const float y = gnn_cuda_activation(act, value[k] + add[k]);
            value[k] = (uint32_t)(mask >> (16 * k) & 0xffff) >= drop.threshold ? y * drop.scale : 0;
        }
        gnn_cuda_store_word<WHOLE>(z + w.row * cols + c, value, cols - c);
    }
}

template <bool WHOLE>
__global__ void gnn_cuda_activate_back(enum gnn_activation act, float *__restrict__ dy, const float *__restrict__ y,
                                       uint64_t rows, uint32_t cols, struct gnn_cuda_dropout drop)
{
    for (struct gnn_walk w = gnn_walk_of((uint32_t)gnn_dropout_words(cols)); w.row < rows; gnn_walk_on(&w)) {
        const uint32_t c = 4 * w.col;
        const uint64_t mask = gnn_cuda_mask(drop, cols, w.row, w.col);
        float grad[4], value[4];
        gnn_cuda_load_word<WHOLE>(grad, dy + w.row * cols + c, cols - c);
        gnn_cuda_load_word<WHOLE>(value, y + w.row * cols + c, cols - c);
        for (uint32_t k = 0; k < 4; k++) {
            const float back = grad[k] * drop.scale * gnn_cuda_activation_slope(act, value[k] * drop.keep);
            grad[k] = (uint32_t)(mask >> (16 * k) & 0xffff) >= drop.threshold ? back : 0;
        }
        gnn_cuda_store_word<WHOLE>(dy + w.row * cols + c, grad, cols - c);
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

__device__ inline void gnn_cuda_adam_one(float *param, float grad, float *m, float *v, const struct gnn_cuda_adam &a)
{
    const float g = grad + a.decay * *param;
    *m = a.beta1 * *m + a.rest1 * g;
    *v = a.beta2 * *v + a.rest2 * g * g;
    *param -= a.rate * *m / (sqrtf(*v) / a.root2 + a.eps);
}

/* One step of Adam. All parameters of a model are one array and take one launch. */
__global__ void gnn_cuda_adam_step(float *__restrict__ param, const float *__restrict__ grad, float *__restrict__ m,
                                   float *__restrict__ v, uint64_t count, uint64_t quads, struct gnn_cuda_adam a)
{
    for (uint64_t k = gnn_thread(); k < quads; k += gnn_threads()) {
        float4 p = ((const float4 *)param)[k], first = ((const float4 *)m)[k], second = ((const float4 *)v)[k];
        const float4 g = ((const float4 *)grad)[k];
        gnn_cuda_adam_one(&p.x, g.x, &first.x, &second.x, a);
        gnn_cuda_adam_one(&p.y, g.y, &first.y, &second.y, a);
        gnn_cuda_adam_one(&p.z, g.z, &first.z, &second.z, a);
        gnn_cuda_adam_one(&p.w, g.w, &first.w, &second.w, a);
        ((float4 *)param)[k] = p;
        ((float4 *)m)[k] = first;
        ((float4 *)v)[k] = second;
    }
    for (uint64_t k = 4 * quads + gnn_thread(); k < count; k += gnn_threads())
        gnn_cuda_adam_one(&param[k], grad[k], &m[k], &v[k], a);
}

#endif
