/* SPDX-License-Identifier: MIT */
/* Dense ops: one loop per formula. Sums run in double so that the oracle's own rounding stays out of the picture. */
#include "harness/tensor/dropout.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <string.h>
#include <tgmath.h>

void gnn_ref_fill(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value)
{
    for (uint64_t k = 0; k < count; k++)
        dst[k] = value;
}

void gnn_ref_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                         const uint32_t *rows, uint32_t count, uint32_t cols)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(out + (uint64_t)i * cols, table + rows[i] * row_stride, cols * sizeof *out);
}

void gnn_ref_gather_halves(struct gnn_tensor *t, gnn_real *out, const uint16_t *table, uint64_t row_stride,
                           const uint32_t *rows, uint32_t count, uint32_t cols)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t *const from = table + (rows != NULL ? rows[i] : i) * row_stride;
        for (uint32_t c = 0; c < cols; c++)
            out[(uint64_t)i * cols + c] = (gnn_real)gnn_half_widen(from[c]);
    }
}

void gnn_ref_gather_placed(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                           const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t place = placement->place[rows[i]];
        if (place == GNN_PLACE_NONE)
            continue;
        const uint32_t table = place >> GNN_PLACE_ROW_BITS;
        const uint64_t row = place & ((UINT32_C(1) << GNN_PLACE_ROW_BITS) - 1);
        assert(table < GNN_PLACE_TABLES);
        const void *const rows_of = placement->table[table].rows;
        const uint32_t at = (uint32_t)row;
        if (placement->type == GNN_F16)
            gnn_ref_gather_halves(t, out + (uint64_t)i * cols, rows_of, placement->table[table].stride, &at, 1, cols);
        else
            gnn_ref_gather_rows(t, out + (uint64_t)i * cols, rows_of, placement->table[table].stride, &at, 1, cols);
    }
}

void gnn_ref_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
                  gnn_real beta, struct gnn_mat c)
{
    const uint64_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    const uint64_t a_row = trans_a ? 1 : a.cols, a_inner = trans_a ? a.cols : 1;
    const uint64_t b_col = trans_b ? b.cols : 1, b_inner = trans_b ? 1 : b.cols;
    for (uint64_t i = 0; i < c.rows; i++) {
        for (uint64_t j = 0; j < c.cols; j++) {
            double sum = 0;
            for (uint64_t k = 0; k < inner; k++)
                sum += (double)a.data[i * a_row + k * a_inner] * (double)b.data[j * b_col + k * b_inner];
            gnn_real *out = &c.data[i * c.cols + j];
            const double old = beta == 0 ? 0 : (double)beta * (double)*out;
            *out = (gnn_real)((double)alpha * sum + old);
        }
    }
}

void gnn_ref_add_bias(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias)
{
    for (uint32_t i = 0; i < z.rows; i++) {
        gnn_real *row = gnn_mat_row(z, i);
        for (uint32_t c = 0; c < z.cols; c++)
            row[c] += bias[c];
    }
}

void gnn_ref_column_sum(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z)
{
    for (uint32_t c = 0; c < z.cols; c++) {
        double sum = 0;
        for (uint32_t i = 0; i < z.rows; i++)
            sum += (double)gnn_mat_row(z, i)[c];
        out[c] = (gnn_real)sum;
    }
}

void gnn_ref_add(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        dst[k] += src[k];
}

void gnn_ref_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads)
{
    gnn_head_shapes(x, out, heads);
    for (uint32_t i = 0; i < out.rows; i++) {
        const gnn_real *from = gnn_mat_row(x, i);
        gnn_real *to = gnn_mat_row(out, i);
        for (uint32_t c = 0; c < out.cols; c++) {
            gnn_real sum = 0;
            for (uint32_t h = 0; h < heads; h++)
                sum += from[h * out.cols + c];
            to[c] = sum / (gnn_real)heads;
        }
    }
}

void gnn_ref_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads)
{
    gnn_head_shapes(dx, dout, heads);
    for (uint32_t i = 0; i < dout.rows; i++) {
        const gnn_real *from = gnn_mat_row(dout, i);
        gnn_real *to = gnn_mat_row(dx, i);
        for (uint32_t h = 0; h < heads; h++)
            for (uint32_t c = 0; c < dout.cols; c++)
                to[h * dout.cols + c] = from[c] / (gnn_real)heads;
    }
}

static gnn_real activation(enum gnn_activation act, gnn_real z)
{
    switch (act) {
    case GNN_ACT_RELU:
        return z <= 0 ? 0 : z; /* passes what is no number on, as PyTorch does */
    case GNN_ACT_ELU:
        return z > 0 ? z : expm1(z);
    case GNN_ACT_NONE:
        break;
    }
    return z;
}

/* The derivative, given the activation's value. */
static gnn_real activation_slope(enum gnn_activation act, gnn_real value)
{
    switch (act) {
    case GNN_ACT_RELU:
        return (gnn_real)(value <= 0 ? 0 : 1);
    case GNN_ACT_ELU:
        return value > 0 ? 1 : value + 1;
    case GNN_ACT_NONE:
        break;
    }
    return 1;
}

void gnn_ref_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                      const struct gnn_dropout *drop)
{
    const uint32_t threshold = gnn_dropout_threshold(drop->rate);
    const gnn_real scale = (gnn_real)(1 / (1 - drop->rate));
    for (uint32_t i = 0; i < z.rows; i++) {
        gnn_real *row = gnn_mat_row(z, i);
        for (uint32_t c = 0; c < z.cols; c++) {
            const gnn_real y = activation(act, row[c] + (bias != NULL ? bias[c] : 0));
            row[c] = gnn_dropout_keeps(drop->key, threshold, z.cols, i, c) ? y * scale : 0;
        }
    }
}

void gnn_ref_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                           const struct gnn_dropout *drop)
{
    gnn_same_shape(dy, y);
    const uint32_t threshold = gnn_dropout_threshold(drop->rate);
    const gnn_real keep = (gnn_real)(1 - drop->rate), scale = (gnn_real)(1 / (1 - drop->rate));
    for (uint32_t i = 0; i < dy.rows; i++) {
        gnn_real *row = gnn_mat_row(dy, i);
        const gnn_real *out = gnn_mat_row(y, i);
        for (uint32_t c = 0; c < dy.cols; c++) {
            const bool kept = gnn_dropout_keeps(drop->key, threshold, dy.cols, i, c);
            row[c] = kept ? row[c] * scale * activation_slope(act, out[c] * keep) : 0;
        }
    }
}

void gnn_ref_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                         uint32_t *correct)
{
    double nll = 0;
    *correct = 0;
    assert(logits.cols >= 1);
    for (uint32_t i = 0; i < logits.rows; i++) {
        gnn_real *row = gnn_mat_row(logits, i);
        assert(labels[i] >= 0);
        assert((uint32_t)labels[i] < logits.cols);
        const uint32_t label = (uint32_t)labels[i];
        uint32_t best = 0;
        for (uint32_t c = 1; c < logits.cols; c++)
            best = row[c] > row[best] ? c : best;
        *correct += best == label;
        const double max = (double)row[best], own = (double)row[label];
        double sum = exp((double)row[0] - max);
        for (uint32_t c = 1; c < logits.cols; c++)
            sum += exp((double)row[c] - max);
        nll += max + log(sum) - own;
        for (uint32_t c = 0; c < logits.cols; c++) {
            const double p = exp((double)row[c] - max) / sum;
            row[c] = (gnn_real)((p - (c == label ? 1 : 0)) / logits.rows);
        }
    }
    *loss = logits.rows == 0 ? 0 : nll / logits.rows;
}

void gnn_ref_adam(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
                  const struct gnn_adam *adam)
{
    assert(adam->step >= 1);
    const gnn_real beta1 = (gnn_real)adam->beta1, beta2 = (gnn_real)adam->beta2;
    const gnn_real rest1 = (gnn_real)(1 - adam->beta1), rest2 = (gnn_real)(1 - adam->beta2);
    const gnn_real decay = (gnn_real)adam->weight_decay, eps = (gnn_real)adam->eps;
    const double correction1 = 1 - pow(adam->beta1, (double)adam->step);
    const double correction2 = 1 - pow(adam->beta2, (double)adam->step);
    const gnn_real rate = (gnn_real)(adam->lr / correction1);
    const gnn_real root2 = (gnn_real)sqrt(correction2);
    for (uint64_t k = 0; k < count; k++) {
        const gnn_real g = grad[k] + decay * param[k];
        m[k] = beta1 * m[k] + rest1 * g;
        v[k] = beta2 * v[k] + rest2 * g * g;
        param[k] -= rate * m[k] / (sqrt(v[k]) / root2 + eps);
    }
}
