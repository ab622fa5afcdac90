/* Graph attention (Velickovic et al. 2018, equations 1 to 6): scores, edge softmax with one self-loop per target, and
 * the backward pass in the order of the formulas. */
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

void gnn_ref_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    for (uint32_t j = 0; j < att->u.rows; j++)
        for (uint32_t h = 0; h < att->heads; h++) {
            const gnn_real *u = gnn_mat_row(att->u, j) + h * channels;
            gnn_mat_row(att->s, j)[h] = dot(att->a_src + h * channels, u, channels);
            if (j < att->d.rows)
                gnn_mat_row(att->d, j)[h] = dot(att->a_dst + h * channels, u, channels);
        }
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

void gnn_ref_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    gnn_ref_fill(t, out.data, (uint64_t)out.rows * out.cols, 0);
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(b, i);
        for (uint32_t k = 0; k <= row.edges; k++)
            for (uint32_t h = 0; h < att->heads; h++)
                axpy(gnn_mat_row(out, i) + h * channels, att->alpha[(row.first + k) * heads + h],
                     gnn_mat_row(att->u, gnn_slot_source(&row, k)) + h * channels, channels);
    }
}

/* dr of every slot of (i, h), and what follows from it for s and t; du gets the part that goes through alpha. */
static void row_back(const struct gnn_attention_grad *grad, const struct gnn_attention *att, const struct gnn_block *b,
                     uint32_t i, uint32_t h, const gnn_real *dout)
{
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    const struct gnn_slots row = gnn_row_slots(b, i);
    const gnn_real *alpha = att->alpha + row.first * heads + h;
    gnn_real *dalpha = grad->dalpha + row.first * heads + h;
    gnn_real g = 0;
    for (uint32_t k = 0; k <= row.edges; k++) {
        const uint32_t j = gnn_slot_source(&row, k);
        dalpha[k * heads] = dot(dout, gnn_mat_row(att->u, j) + h * channels, channels);
        g += alpha[k * heads] * dalpha[k * heads];
    }
    for (uint32_t k = 0; k <= row.edges; k++) {
        const uint32_t j = gnn_slot_source(&row, k);
        const gnn_real de = alpha[k * heads] * (dalpha[k * heads] - g);
        const bool positive = gnn_mat_row(att->s, j)[h] + gnn_mat_row(att->d, i)[h] > 0;
        const gnn_real dr = positive ? de : de * att->slope;
        gnn_mat_row(grad->dd, i)[h] += dr;
        gnn_mat_row(grad->ds, j)[h] += dr;
        axpy(gnn_mat_row(grad->du, j) + h * channels, alpha[k * heads], dout, channels);
    }
}

void gnn_ref_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    gnn_attend_shapes(dout, att, b);
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    gnn_ref_fill(t, grad->du.data, (uint64_t)b->src_count * att->u.cols, 0);
    gnn_ref_fill(t, grad->ds.data, (uint64_t)b->src_count * heads, 0);
    gnn_ref_fill(t, grad->dd.data, (uint64_t)b->dst_count * heads, 0);
    gnn_ref_fill(t, grad->da_src, att->u.cols, 0);
    gnn_ref_fill(t, grad->da_dst, att->u.cols, 0);
    for (uint32_t i = 0; i < b->dst_count; i++)
        for (uint32_t h = 0; h < heads; h++)
            row_back(grad, att, b, i, h, gnn_mat_row(dout, i) + h * channels);
    for (uint32_t j = 0; j < b->src_count; j++)
        for (uint32_t h = 0; h < heads; h++) {
            const gnn_real *u = gnn_mat_row(att->u, j) + h * channels;
            gnn_real *du = gnn_mat_row(grad->du, j) + h * channels;
            const gnn_real ds = gnn_mat_row(grad->ds, j)[h];
            axpy(du, ds, att->a_src + h * channels, channels);
            axpy(grad->da_src + h * channels, ds, u, channels);
            if (j >= b->dst_count)
                continue;
            const gnn_real dd = gnn_mat_row(grad->dd, j)[h];
            axpy(du, dd, att->a_dst + h * channels, channels);
            axpy(grad->da_dst + h * channels, dd, u, channels);
        }
}
