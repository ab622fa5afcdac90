/* SPDX-License-Identifier: MIT */
/* Graph attention (Velickovic et al. 2018, equations 1 to 6): scores, edge softmax with one self-loop per target, and
 * the backward pass in the order of the formulas. Heads have columns of their own, or share the rows (gat_rows.h). */
#include "harness/tensor/gat_rows.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <math.h>
#include <tgmath.h>

static gnn_real dot(const gnn_real *a, const gnn_real *b, uint64_t count)
{
    double sum = 0;
    for (uint64_t k = 0; k < count; k++)
        sum += (double)a[k] * (double)b[k];
    return (gnn_real)sum;
}

static void axpy(gnn_real *y, gnn_real a, const gnn_real *x, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        y[k] += a * x[k];
}

static void scores(const struct gnn_attention *att, struct gnn_head_cols cols)
{
    for (uint32_t j = 0; j < att->u.rows; j++)
        for (uint32_t h = 0; h < att->heads; h++) {
            const gnn_real *u = gnn_mat_row(att->u, j) + h * cols.step;
            gnn_mat_row(att->s, j)[h] = dot(att->a_src + h * cols.count, u, cols.count);
            if (j < att->d.rows)
                gnn_mat_row(att->d, j)[h] = dot(att->a_dst + h * cols.count, u, cols.count);
        }
}

void gnn_ref_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    scores(att, gnn_own_cols(att));
}

static gnn_real score(const struct gnn_attention *att, uint32_t i, uint32_t j, uint32_t h)
{
    const gnn_real e = gnn_mat_row(att->s, j)[h] + gnn_mat_row(att->d, i)[h];
    return e > 0 ? e : e * att->slope;
}

void gnn_ref_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b)
{
    const uint64_t heads = att->heads;
    for (uint32_t i = 0; i < b->dst_count; i++)
        for (uint32_t h = 0; h < heads; h++) {
            const struct gnn_slots row = gnn_row_slots(b, i);
            gnn_real *alpha = att->alpha + row.first * heads + h;
            gnn_real max = score(att, i, i, h);
            for (uint32_t k = 0; k <= row.edges; k++)
                max = fmax(max, score(att, i, gnn_slot_source(&row, k), h));
            gnn_real sum = 0;
            for (uint32_t k = 0; k <= row.edges; k++) {
                const bool dropped = k < row.edges && row.col[k] == i; /* the last slot stands for it */
                const gnn_real e = score(att, i, gnn_slot_source(&row, k), h);
                alpha[k * heads] = dropped ? 0 : exp(e - max);
                sum += alpha[k * heads];
            }
            for (uint32_t k = 0; k <= row.edges; k++)
                alpha[k * heads] /= sum + (gnn_real)1e-16;
        }
}

static void attend(struct gnn_mat out, const struct gnn_attention *att, const struct gnn_block *b,
                   struct gnn_head_cols cols)
{
    gnn_ref_fill(NULL, out.data, (uint64_t)out.rows * out.cols, 0);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(b, i);
        for (uint32_t k = 0; k <= row.edges; k++)
            for (uint32_t h = 0; h < att->heads; h++)
                axpy(gnn_mat_row(out, i) + h * cols.count, att->alpha[(row.first + k) * att->heads + h],
                     gnn_mat_row(att->u, gnn_slot_source(&row, k)) + h * cols.step, cols.count);
    }
}

void gnn_ref_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    gnn_attend_shapes(out, att, b);
    attend(out, att, b, gnn_own_cols(att));
}

/* dr of every slot of (i, h), and what follows from it for s and d; du gets the part that goes through alpha. */
static void row_back(const struct gnn_attention_grad *grad, const struct gnn_attention *att, const struct gnn_block *b,
                     struct gnn_head_cols cols, uint32_t i, uint32_t h, const gnn_real *dout)
{
    const uint64_t heads = att->heads;
    const struct gnn_slots row = gnn_row_slots(b, i);
    const gnn_real *alpha = att->alpha + row.first * heads + h;
    gnn_real *dalpha = grad->dalpha + row.first * heads + h;
    gnn_real g = 0;
    for (uint32_t k = 0; k <= row.edges; k++) {
        const uint32_t j = gnn_slot_source(&row, k);
        dalpha[k * heads] = dot(dout, gnn_mat_row(att->u, j) + h * cols.step, cols.count);
        g += alpha[k * heads] * dalpha[k * heads];
    }
    for (uint32_t k = 0; k <= row.edges; k++) {
        const uint32_t j = gnn_slot_source(&row, k);
        const gnn_real de = alpha[k * heads] * (dalpha[k * heads] - g);
        const bool positive = gnn_mat_row(att->s, j)[h] + gnn_mat_row(att->d, i)[h] > 0;
        const gnn_real dr = positive ? de : de * att->slope;
        gnn_mat_row(grad->dd, i)[h] += dr;
        gnn_mat_row(grad->ds, j)[h] += dr;
        if (grad->du.data != NULL)
            axpy(gnn_mat_row(grad->du, j) + h * cols.step, alpha[k * heads], dout, cols.count);
    }
}

/* One side of the scores: what w, the gradient of <a_h, u_j>, makes of a's gradient and of u's. */
static void score_back(const struct gnn_attention_grad *grad, const struct gnn_attention *att, const gnn_real *a,
                       gnn_real *da, struct gnn_mat w, struct gnn_head_cols cols)
{
    for (uint32_t j = 0; j < w.rows; j++)
        for (uint32_t h = 0; h < att->heads; h++) {
            const gnn_real score = gnn_mat_row(w, j)[h];
            axpy(da + h * cols.count, score, gnn_mat_row(att->u, j) + h * cols.step, cols.count);
            if (grad->du.data != NULL)
                axpy(gnn_mat_row(grad->du, j) + h * cols.step, score, a + h * cols.count, cols.count);
        }
}

static void back(const struct gnn_attention_grad *grad, const struct gnn_attention *att, const struct gnn_block *b,
                 struct gnn_mat dout, struct gnn_head_cols cols)
{
    const uint64_t heads = att->heads;
    if (grad->du.data != NULL)
        gnn_ref_fill(NULL, grad->du.data, (uint64_t)b->src_count * att->u.cols, 0);
    gnn_ref_fill(NULL, grad->ds.data, (uint64_t)b->src_count * heads, 0);
    gnn_ref_fill(NULL, grad->dd.data, (uint64_t)b->dst_count * heads, 0);
    gnn_ref_fill(NULL, grad->da_src, heads * cols.count, 0);
    gnn_ref_fill(NULL, grad->da_dst, heads * cols.count, 0);
    for (uint32_t i = 0; i < b->dst_count; i++)
        for (uint32_t h = 0; h < heads; h++)
            row_back(grad, att, b, cols, i, h, gnn_mat_row(dout, i) + h * cols.count);
    score_back(grad, att, att->a_src, grad->da_src, grad->ds, cols);
    score_back(grad, att, att->a_dst, grad->da_dst, grad->dd, cols);
}

void gnn_ref_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    gnn_attend_shapes(dout, att, b);
    back(grad, att, b, dout, gnn_own_cols(att));
}

/* ---- rows as they come ---- */

static void rows_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    scores(att, gnn_shared_cols(att));
}

static void rows_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    gnn_attend_cols(out, att, b, gnn_shared_cols(att));
    attend(out, att, b, gnn_shared_cols(att));
}

static void rows_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    gnn_attend_cols(dout, att, b, gnn_shared_cols(att));
    back(grad, att, b, dout, gnn_shared_cols(att));
}

/* Element (i, j) of a head's matrix, or of its transpose. */
static double element(const struct gnn_head_mat *m, bool trans, uint32_t h, uint64_t i, uint64_t j)
{
    return (double)m->data[h * m->step + (trans ? j * m->stride + i : i * m->stride + j)];
}

static void rows_product(struct gnn_tensor *t, uint32_t heads, bool trans_a, bool trans_b, gnn_real alpha,
                         struct gnn_head_mat a, struct gnn_head_mat b, gnn_real beta, struct gnn_head_mat c)
{
    const uint32_t inner = gnn_head_inner(trans_a, trans_b, &a, &b, &c);
    for (uint32_t h = 0; h < heads; h++)
        for (uint64_t i = 0; i < c.rows; i++)
            for (uint64_t j = 0; j < c.cols; j++) {
                double sum = 0;
                for (uint64_t k = 0; k < inner; k++)
                    sum += element(&a, trans_a, h, i, k) * element(&b, trans_b, h, k, j);
                const gnn_real keep = c.step == 0 && h > 0 ? 1 : beta; /* a sum over heads goes on */
                gnn_real *const out = &c.data[h * c.step + i * c.stride + j];
                *out = (gnn_real)((double)alpha * sum + (keep == 0 ? 0 : (double)keep * (double)*out));
            }
}

const struct gnn_gat_rows_ops gnn_ref_gat_rows = {
    .scores = rows_scores, .attend = rows_attend, .back = rows_back, .product = rows_product};
