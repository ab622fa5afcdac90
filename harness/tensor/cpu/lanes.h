/* SPDX-License-Identifier: MIT */
/* Inner loops that the compiler vectorises, and an exponential that it can vectorise. Sums keep a fixed number of
 * partial sums on any machine. So results do not depend on alignment, and on -march only through single operations. */
#ifndef GNN_TENSOR_LANES_H
#define GNN_TENSOR_LANES_H

#include <stdint.h>
#include <string.h>

enum {
    GNN_LANES = 16,        /* partial sums of a reduction */
    GNN_CHUNK = 256,       /* columns processed with scratch on the stack */
    GNN_PREFETCH_ROWS = 8, /* rows between the row that is added and the row that is prefetched */
    GNN_LINE_FLOATS = 16,  /* floats in a cache line */
    GNN_LINE_BYTES = GNN_LINE_FLOATS * 4
};

/* exp(x) = scale + scale * less, with scale a power of two and less = exp(r) - 1, |r| <= ln(2) / 2. Relative error
 * below 2e-7. x is clamped to [-87, 88]; NaN stays NaN. */
struct gnn_exp_parts {
    float scale, less;
};

static inline struct gnn_exp_parts gnn_exp_split(float x)
{
    const float shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, left in the low bits */
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504088896341f + shifter;
    const float n = shifted - shifter;
    const float r = (x - n * 0.693359375f) - n * -2.12194440054690583e-4f; /* ln(2) in two parts */
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 1.0f / 2;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    struct gnn_exp_parts parts = {.less = series * r * r + r};
    memcpy(&parts.scale, &bits, sizeof bits);
    return parts;
}

static inline float gnn_lane_exp(float x)
{
    const struct gnn_exp_parts e = gnn_exp_split(x);
    return e.scale + e.scale * e.less;
}

/* exp(x) - 1 without cancellation near 0. */
static inline float gnn_lane_expm1(float x)
{
    const struct gnn_exp_parts e = gnn_exp_split(x);
    return e.scale * e.less + (e.scale - 1.0f);
}

/* Returns the sum of the partial sums, halving their number until one is left. Written out, because the compiler keeps
 * loops of unknown length in memory. */
static inline float gnn_lane_fold(const float *lane)
{
    float eight[8], four[4];
    _Static_assert(GNN_LANES == 16, "folded four times");
    for (uint32_t l = 0; l < 8; l++)
        eight[l] = lane[l] + lane[l + 8];
    for (uint32_t l = 0; l < 4; l++)
        four[l] = eight[l] + eight[l + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

static inline float gnn_lane_dot(const float *restrict a, const float *restrict b, uint64_t count)
{
    float lane[GNN_LANES] = {0};
    uint64_t k = 0;
    for (; k + GNN_LANES <= count; k += GNN_LANES)
        for (uint32_t l = 0; l < GNN_LANES; l++)
            lane[l] += a[k + l] * b[k + l];
    for (uint32_t l = 0; k + l < count; l++)
        lane[l] += a[k + l] * b[k + l];
    return gnn_lane_fold(lane);
}

/* The partial sums of one inner product, and halves and quarters of them. As vector types the compiler keeps them in
 * registers. */
typedef float gnn_lanes __attribute__((vector_size(GNN_LANES * sizeof(float))));
typedef float gnn_half_lanes __attribute__((vector_size(GNN_LANES / 2 * sizeof(float))));
typedef float gnn_quarter_lanes __attribute__((vector_size(GNN_LANES / 4 * sizeof(float))));

/* Does gnn_lane_fold on four sums, except its last two additions. */
static inline void gnn_lane_fold_to_fours(float (*restrict out)[4], const gnn_lanes *sum)
{
    for (uint32_t s = 0; s < 4; s++) {
        gnn_half_lanes half[2];
        gnn_quarter_lanes quarter[2];
        memcpy(half, &sum[s], sizeof half);
        half[0] += half[1];
        memcpy(quarter, &half[0], sizeof quarter);
        quarter[0] += quarter[1];
        memcpy(out[s], &quarter[0], sizeof out[s]);
    }
}

/* Adds the products of `count` floats, GNN_LANES at most, of a with two rows. */
static inline void gnn_lane_add_products(gnn_lanes *restrict first, gnn_lanes *restrict second, const float *a,
                                         const float *b0, const float *b1, uint64_t count)
{
    gnn_lanes of_a = {0}, of_first = {0}, of_second = {0};
    memcpy(&of_a, a, count * sizeof *a);
    memcpy(&of_first, b0, count * sizeof *a);
    memcpy(&of_second, b1, count * sizeof *a);
    *first += of_a * of_first;
    *second += of_a * of_second;
}

/* Does the same for four heads. Written out, because the compiler keeps values that a loop indexes in memory. */
static inline void gnn_lane_add_four_products(gnn_lanes *restrict first, gnn_lanes *restrict second, const float *a,
                                              uint64_t a_step, const float *b0, const float *b1, uint64_t b_step,
                                              uint64_t count)
{
    gnn_lane_add_products(&first[0], &second[0], a, b0, b1, count);
    gnn_lane_add_products(&first[1], &second[1], a + a_step, b0 + b_step, b1 + b_step, count);
    gnn_lane_add_products(&first[2], &second[2], a + 2 * a_step, b0 + 2 * b_step, b1 + 2 * b_step, count);
    gnn_lane_add_products(&first[3], &second[3], a + 3 * a_step, b0 + 3 * b_step, b1 + 3 * b_step, count);
}

/* Sets out0[h] and out1[h] to gnn_lane_dot of a + h * a_step with b0 and b1 + h * b_step, for four heads. The eight
 * sums are independent of each other. */
static inline void gnn_lane_four_dots_of_two(float *restrict out0, float *restrict out1, const float *a,
                                             uint64_t a_step, const float *b0, const float *b1, uint64_t b_step,
                                             uint64_t count)
{
    gnn_lanes first[4] = {{0}, {0}, {0}, {0}}, second[4] = {{0}, {0}, {0}, {0}};
    uint64_t k = 0;
    for (; k + GNN_LANES <= count; k += GNN_LANES)
        gnn_lane_add_four_products(first, second, a + k, a_step, b0 + k, b1 + k, b_step, GNN_LANES);
    if (k < count)
        gnn_lane_add_four_products(first, second, a + k, a_step, b0 + k, b1 + k, b_step, count - k);
    float four[8][4];
    gnn_lane_fold_to_fours(four, first);
    gnn_lane_fold_to_fours(four + 4, second);
    for (uint32_t h = 0; h < 4; h++)
        out0[h] = (four[h][0] + four[h][2]) + (four[h][1] + four[h][3]);
    for (uint32_t h = 0; h < 4; h++)
        out1[h] = (four[h + 4][0] + four[h + 4][2]) + (four[h + 4][1] + four[h + 4][3]);
}

/* Sets out[r][h] = gnn_lane_dot(a + h * a_step, b[r] + h * b_step, count) for two rows, to the bit. This is necessary
 * because the end of a thread's range decides whether a row has a partner. */
static inline void gnn_lane_dots_of_two(float *const out[2], const float *a, uint64_t a_step, const float *const b[2],
                                        uint64_t b_step, uint64_t heads, uint64_t count)
{
    uint64_t h = 0;
    for (; h + 4 <= heads; h += 4)
        gnn_lane_four_dots_of_two(out[0] + h, out[1] + h, a + h * a_step, a_step, b[0] + h * b_step, b[1] + h * b_step,
                                  b_step, count);
    for (; h < heads; h++)
        for (uint32_t r = 0; r < 2; r++)
            out[r][h] = gnn_lane_dot(a + h * a_step, b[r] + h * b_step, count);
}

/* Does the same for one row. */
static inline void gnn_lane_dots(float *restrict out, const float *restrict a, uint64_t a_step, const float *restrict b,
                                 uint64_t b_step, uint64_t heads, uint64_t count)
{
    for (uint64_t h = 0; h < heads; h++)
        out[h] = gnn_lane_dot(a + h * a_step, b + h * b_step, count);
}

static inline void gnn_lane_axpy(float *restrict y, float a, const float *restrict x, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        y[k] += a * x[k];
}

/* Adds four weighted rows to y, in their order. y is read and written once for all of them. */
static inline void gnn_lane_add_four(float *restrict y, const float *restrict w, const float *const *x, uint64_t count)
{
    const float *restrict x0 = x[0], *restrict x1 = x[1], *restrict x2 = x[2], *restrict x3 = x[3];
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    for (uint64_t k = 0; k < count; k++)
        y[k] = (((y[k] + w0 * x0[k]) + w1 * x1[k]) + w2 * x2[k]) + w3 * x3[k];
}

/* Prefetches a row that will be read at random, which the hardware prefetcher cannot predict. */
static inline void gnn_prefetch_row(const float *row, uint32_t cols)
{
    for (uint32_t c = 0; c < cols; c += GNN_LINE_FLOATS)
        __builtin_prefetch(row + c, 0, 2);
}

#endif
