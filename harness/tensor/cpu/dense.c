/* SPDX-License-Identifier: MIT */
/* Dense passes over activations, in column chunks small enough for scratch on the stack. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/cpu/rows.h"
#include "harness/tensor/dropout.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <math.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a mask word's low 16 bits belong to its first element");
_Static_assert(GNN_CHUNK % 4 == 0, "chunks start on a mask word");

/* ---- sums over rows ---- */

/* part (cols) = the sum of rows start and the next, GNN_CPU_SUM_ROWS at most, over cols columns from `first`. */
static void sum_rows(float *restrict part, struct gnn_mat z, uint32_t start, uint32_t first, uint32_t cols)
{
    const uint32_t count = gnn_min_u32(z.rows - start, GNN_CPU_SUM_ROWS);
    memset(part, 0, cols * sizeof *part);
    for (uint32_t i = start; i < start + count; i++) {
        const float *restrict row = gnn_mat_row(z, i) + first;
        for (uint32_t c = 0; c < cols; c++)
            part[c] += row[c];
    }
}

/* parts: the sums that gnn_cpu_sum_blocks left; NULL: none, they are made here. */
static void add_parts(float *out, struct gnn_mat z, const float *parts)
{
    for (uint32_t first = 0; first < z.cols; first += GNN_CHUNK) {
        const uint32_t cols = gnn_min_u32(z.cols - first, GNN_CHUNK);
        double total[GNN_CHUNK] = {0};
        for (uint32_t start = 0; start < z.rows; start += GNN_CPU_SUM_ROWS) {
            float made[GNN_CHUNK];
            const float *part = made;
            if (parts == NULL)
                sum_rows(made, z, start, first, cols);
            else
                part = parts + (uint64_t)(start / GNN_CPU_SUM_ROWS) * z.cols + first;
            for (uint32_t c = 0; c < cols; c++)
                total[c] += (double)part[c];
        }
        for (uint32_t c = 0; c < cols; c++)
            out[first + c] = (float)total[c];
    }
}

void gnn_cpu_sum_blocks(const void *loop, uint64_t first, uint64_t end)
{
    const struct gnn_cpu_column_sum *const l = loop;
    for (uint64_t block = first; block < end; block++)
        sum_rows(l->parts + block * l->z.cols, l->z, (uint32_t)(block * GNN_CPU_SUM_ROWS), 0, l->z.cols);
}

void gnn_cpu_add_blocks(float *out, const struct gnn_cpu_column_sum *sums)
{
    add_parts(out, sums->z, sums->parts);
}

/* Threads sum blocks of rows, the caller adds these up in their order: as on one thread, which needs no memory. */
void gnn_cpu_column_sum(struct gnn_tensor *t, float *out, struct gnn_mat z)
{
    const uint64_t blocks = gnn_div_up(z.rows, GNN_CPU_SUM_ROWS), row_bytes = z.cols * sizeof *out;
    struct gnn_cpu_state *const state = gnn_cpu_state(t);
    if (gnn_cpu_threads(t) == 1 || z.rows * row_bytes < GNN_SHARE_LOOP_BYTES ||
        !gnn_cpu_reserve(t, &state->sums, blocks * row_bytes)) {
        add_parts(out, z, NULL);
        return;
    }
    const struct gnn_cpu_column_sum loop = {.z = z, .parts = state->sums.data};
    gnn_cpu_share(t, blocks, GNN_CPU_SUM_ROWS * row_bytes, gnn_cpu_sum_blocks, &loop);
    add_parts(out, z, loop.parts);
}

/* ---- a layer's epilogue ---- */

/* Dropout as a loop sees it: a threshold of 0 keeps everything, whatever the bits. */
struct mask {
    uint64_t key;
    uint32_t threshold;
    float scale, keep;
    uint16_t bits[GNN_CHUNK];
};

static void mask_open(struct mask *mask, const struct gnn_dropout *drop)
{
    mask->key = drop->key;
    mask->threshold = gnn_dropout_threshold(drop->rate);
    mask->scale = (float)(1 / (1 - drop->rate));
    mask->keep = (float)(1 - drop->rate);
    memset(mask->bits, 0, sizeof mask->bits);
}

static void mask_draw(struct mask *mask, uint32_t total_cols, uint32_t row, uint32_t first, uint32_t cols)
{
    if (mask->threshold == 0)
        return;
    const uint32_t count = (cols + 3) / 4;
    for (uint32_t w = 0; w < count; w++) {
        const uint64_t word = gnn_dropout_word(mask->key, total_cols, row, first / 4 + w);
        memcpy(mask->bits + 4 * (uint64_t)w, &word, sizeof word);
    }
}

/* Inlined with a constant activation, so that each has a loop of its own without a branch. */
__attribute__((always_inline)) static inline void activate_chunk(enum gnn_activation act, float *restrict z,
                                                                 const float *restrict bias,
                                                                 const struct mask *restrict mask, uint32_t cols)
{
    const uint32_t threshold = mask->threshold;
    const float scale = mask->scale;
    for (uint32_t c = 0; c < cols; c++) {
        const float x = z[c] + bias[c], less = act == GNN_ACT_ELU ? gnn_lane_expm1(x) : 0;
        const float y = (act == GNN_ACT_NONE || !(x <= 0) ? x : less) * scale; /* passes NaN on, as PyTorch does */
        z[c] = mask->bits[c] >= threshold ? y : 0;
    }
}

void gnn_cpu_activate_rows(const void *loop, uint64_t first_row, uint64_t end)
{
    static const float no_bias[GNN_CHUNK];
    const struct gnn_cpu_epilogue l = *(const struct gnn_cpu_epilogue *)loop;
    struct mask mask;
    mask_open(&mask, l.drop);
    for (uint32_t i = (uint32_t)first_row; i < end; i++)
        for (uint32_t first = 0; first < l.z.cols; first += GNN_CHUNK) {
            const uint32_t cols = gnn_min_u32(l.z.cols - first, GNN_CHUNK);
            float *row = gnn_mat_row(l.z, i) + first;
            const float *add = l.bias != NULL ? l.bias + first : no_bias;
            mask_draw(&mask, l.z.cols, i, first, cols);
            if (l.act == GNN_ACT_RELU)
                activate_chunk(GNN_ACT_RELU, row, add, &mask, cols);
            else if (l.act == GNN_ACT_ELU)
                activate_chunk(GNN_ACT_ELU, row, add, &mask, cols);
            else
                activate_chunk(GNN_ACT_NONE, row, add, &mask, cols);
        }
}

void gnn_cpu_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const float *bias,
                      const struct gnn_dropout *drop)
{
    const struct gnn_cpu_epilogue loop = {.act = act, .z = z, .bias = bias, .drop = drop};
    gnn_cpu_share(t, z.rows, 2 * sizeof *z.data * z.cols, gnn_cpu_activate_rows, &loop);
}

/* A positive output was kept and passed the ReLU; everything else has no gradient: the mask is not needed. */
static void relu_back(float *restrict dy, const float *restrict y, uint64_t count, float scale)
{
    for (uint64_t k = 0; k < count; k++)
        dy[k] = y[k] <= 0 ? 0 : dy[k] * scale;
}

static void smooth_back_chunk(enum gnn_activation act, float *restrict dy, const float *restrict y,
                              const struct mask *restrict mask, uint32_t cols)
{
    const uint32_t threshold = mask->threshold;
    const float scale = mask->scale, keep = mask->keep;
    for (uint32_t c = 0; c < cols; c++) {
        const float value = y[c] * keep;
        const float slope = act != GNN_ACT_ELU || value > 0 ? 1 : value + 1;
        const float dz = dy[c] * scale * slope;
        dy[c] = mask->bits[c] >= threshold ? dz : 0;
    }
}

void gnn_cpu_activate_back_rows(const void *loop, uint64_t first_row, uint64_t end)
{
    const struct gnn_cpu_epilogue l = *(const struct gnn_cpu_epilogue *)loop;
    struct mask mask;
    mask_open(&mask, l.drop);
    if (l.act == GNN_ACT_RELU) {
        relu_back(gnn_mat_row(l.z, first_row), gnn_mat_row(l.y, first_row), (end - first_row) * l.z.cols, mask.scale);
        return;
    }
    for (uint32_t i = (uint32_t)first_row; i < end; i++)
        for (uint32_t first = 0; first < l.z.cols; first += GNN_CHUNK) {
            const uint32_t cols = gnn_min_u32(l.z.cols - first, GNN_CHUNK);
            mask_draw(&mask, l.z.cols, i, first, cols);
            smooth_back_chunk(l.act, gnn_mat_row(l.z, i) + first, gnn_mat_row(l.y, i) + first, &mask, cols);
        }
}

bool gnn_cpu_changes_back(enum gnn_activation act, const struct gnn_dropout *drop)
{
    return act != GNN_ACT_NONE || gnn_dropout_threshold(drop->rate) != 0;
}

void gnn_cpu_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                           const struct gnn_dropout *drop)
{
    gnn_same_shape(dy, y);
    if (!gnn_cpu_changes_back(act, drop))
        return;
    const struct gnn_cpu_epilogue loop = {.act = act, .z = dy, .y = y, .drop = drop};
    gnn_cpu_share(t, dy.rows, 3 * sizeof *dy.data * dy.cols, gnn_cpu_activate_back_rows, &loop);
}

/* ---- the loss ---- */

/* The first index of the largest element. */
static uint32_t row_argmax(const float *row, uint32_t cols)
{
    uint32_t best = 0;
    for (uint32_t c = 1; c < cols; c++)
        best = row[c] > row[best] ? c : best;
    return best;
}

/* A row for each seed and no more: on the calling thread, whose sum of the rows' losses has one order. */
void gnn_cpu_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                         uint32_t *correct)
{
    double nll = 0;
    *correct = 0;
    assert(logits.cols >= 1);
    for (uint32_t i = 0; i < logits.rows; i++) {
        float *row = gnn_mat_row(logits, i);
        assert(labels[i] >= 0);
        assert((uint32_t)labels[i] < logits.cols);
        const uint32_t label = (uint32_t)labels[i], best = row_argmax(row, logits.cols);
        const float max = row[best], own = row[label];
        *correct += best == label;
        for (uint32_t c = 0; c < logits.cols; c++)
            row[c] = gnn_lane_exp(row[c] - max);
        double sum = (double)row[0];
        for (uint32_t c = 1; c < logits.cols; c++)
            sum += (double)row[c];
        nll += log(sum) - (double)(own - max);
        const float scale = (float)(1 / (sum * logits.rows));
        const float own_p = row[label];
        for (uint32_t c = 0; c < logits.cols; c++)
            row[c] *= scale;
        row[label] = (float)(((double)own_p / sum - 1) / logits.rows);
    }
    *loss = logits.rows == 0 ? 0 : nll / logits.rows;
}
