/* Graph attention (Velickovic et al. 2018) on rows of heads * channels floats. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <math.h>

void gnn_cpu_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    for (uint32_t j = 0; j < att->u.rows; j++)
        for (uint32_t h = 0; h < att->heads; h++) {
            const float *u = gnn_mat_row(att->u, j) + h * channels;
            gnn_mat_row(att->s, j)[h] = gnn_lane_dot(att->a_src + h * channels, u, channels);
            if (j < att->d.rows)
                gnn_mat_row(att->d, j)[h] = gnn_lane_dot(att->a_dst + h * channels, u, channels);
        }
}

void gnn_cpu_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b)
{
    const uint64_t heads = att->heads;
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(b, i);
        const uint32_t count = row.edges + 1;
        const float *d = gnn_mat_row(att->d, i);
        float *alpha = att->alpha + row.first * heads;
        for (uint32_t k = 0; k < count; k++) {
            const float *s = gnn_mat_row(att->s, gnn_slot_source(&row, k));
            for (uint32_t h = 0; h < heads; h++) {
                const float e = s[h] + d[h];
                alpha[k * heads + h] = e > 0 ? e : e * att->slope;
            }
        }
        for (uint32_t h = 0; h < heads; h++) {
            float max = alpha[h], sum = 0;
            for (uint32_t k = 1; k < count; k++)
                max = fmaxf(max, alpha[k * heads + h]);
            for (uint32_t k = 0; k < count; k++) {
                const bool dropped = k < row.edges && row.col[k] == i;
                alpha[k * heads + h] = dropped ? 0 : gnn_lane_exp(alpha[k * heads + h] - max);
                sum += alpha[k * heads + h];
            }
            const float scale = 1 / (sum + 1e-16f);
            for (uint32_t k = 0; k < count; k++)
                alpha[k * heads + h] *= scale;
        }
    }
}

void gnn_cpu_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    gnn_attend_shapes(out, att, b);
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(b, i);
        for (uint32_t h = 0; h < heads; h++) {
            const float *alpha = att->alpha + row.first * heads + h;
            const struct gnn_cpu_rows rows = {.x = att->u.data + h * channels,
                                              .stride = att->u.cols,
                                              .col = row.col,
                                              .count = row.edges,
                                              .weight = alpha,
                                              .weight_stride = att->heads};
            float *sum = gnn_mat_row(out, i) + h * channels;
            gnn_cpu_sum_rows(sum, channels, &rows);
            gnn_lane_axpy(sum, alpha[row.edges * heads], gnn_mat_row(att->u, i) + h * channels, channels);
        }
    }
}

static void row_back(const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                     const struct gnn_slots *row, uint32_t h, const float *dout)
{
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    const float *alpha = att->alpha + row->first * heads + h;
    float *dalpha = grad->dalpha + row->first * heads + h;
    float g = 0;
    for (uint32_t k = 0; k <= row->edges; k++) {
        const uint32_t j = gnn_slot_source(row, k);
        const float a = alpha[k * heads];
        dalpha[k * heads] = gnn_lane_dot(dout, gnn_mat_row(att->u, j) + h * channels, channels);
        g += a * dalpha[k * heads];
        gnn_lane_axpy(gnn_mat_row(grad->du, j) + h * channels, a, dout, channels);
    }
    const float target = gnn_mat_row(att->d, row->self)[h];
    float sum = 0;
    for (uint32_t k = 0; k <= row->edges; k++) {
        const uint32_t j = gnn_slot_source(row, k);
        const float de = alpha[k * heads] * (dalpha[k * heads] - g);
        const float dr = gnn_mat_row(att->s, j)[h] + target > 0 ? de : de * att->slope;
        gnn_mat_row(grad->ds, j)[h] += dr;
        sum += dr;
    }
    gnn_mat_row(grad->dd, row->self)[h] = sum;
}

/* What reaches u and the attention vector through one side's scores: du_j += ds_j a, da += sum_j ds_j u_j. */
static void scores_back(struct gnn_mat du, float *da, struct gnn_mat ds, const float *a, struct gnn_mat u)
{
    const uint64_t heads = ds.cols, channels = u.cols / heads;
    memset(da, 0, u.cols * sizeof *da);
    for (uint32_t j = 0; j < ds.rows; j++)
        for (uint32_t h = 0; h < heads; h++) {
            const float w = gnn_mat_row(ds, j)[h];
            gnn_lane_axpy(gnn_mat_row(du, j) + h * channels, w, a + h * channels, channels);
            gnn_lane_axpy(da + h * channels, w, gnn_mat_row(u, j) + h * channels, channels);
        }
}

void gnn_cpu_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    gnn_attend_shapes(dout, att, b);
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    memset(grad->du.data, 0, (uint64_t)b->src_count * att->u.cols * sizeof(float));
    memset(grad->ds.data, 0, (uint64_t)b->src_count * heads * sizeof(float));
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(b, i);
        for (uint32_t h = 0; h < heads; h++)
            row_back(grad, att, &row, h, gnn_mat_row(dout, i) + h * channels);
    }
    scores_back(grad->du, grad->da_src, grad->ds, att->a_src, att->u);
    scores_back(grad->du, grad->da_dst, grad->dd, att->a_dst, att->u);
}
