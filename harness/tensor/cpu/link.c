/* SPDX-License-Identifier: MIT */
/* Link prediction: the ops whose plain loops do not become vector code, reductions and exponentials. */
#include "harness/tensor/cpu/link.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/ref/link.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <math.h>

static float distance(const float *restrict a, const float *restrict b, uint32_t count)
{
    float lane[GNN_LANES] = {0};
    uint32_t k = 0;
    for (; k + GNN_LANES <= count; k += GNN_LANES)
        for (uint32_t l = 0; l < GNN_LANES; l++)
            lane[l] += (a[k + l] - b[k + l]) * (a[k + l] - b[k + l]);
    for (uint32_t l = 0; k + l < count; l++)
        lane[l] += (a[k + l] - b[k + l]) * (a[k + l] - b[k + l]);
    return sqrtf(gnn_lane_fold(lane));
}

static void cpu_pair_scores(struct gnn_tensor *t, enum gnn_decoder decoder, gnn_real *out, struct gnn_mat q,
                            struct gnn_mat x)
{
    gnn_same_shape(q, x);
    for (uint32_t i = 0; i < q.rows; i++) {
        const float *const a = gnn_mat_row(q, i), *const b = gnn_mat_row(x, i);
        out[i] = decoder == GNN_DECODER_TRANSE ? -distance(a, b, q.cols) : gnn_lane_dot(a, b, q.cols);
    }
}

/* The squares of the candidates' lengths are the same for every row: a chunk of columns at a time keeps them. */
static void cpu_distances(struct gnn_tensor *t, struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x)
{
    float length[GNN_CHUNK];
    assert(scores.rows == q.rows);
    assert(scores.cols == x.rows);
    for (uint32_t first = 0; first < x.rows; first += GNN_CHUNK) {
        const uint32_t count = gnn_min_u32(x.rows - first, GNN_CHUNK);
        for (uint32_t j = 0; j < count; j++)
            length[j] = gnn_lane_dot(gnn_mat_row(x, first + j), gnn_mat_row(x, first + j), x.cols);
        for (uint32_t i = 0; i < q.rows; i++) {
            float *restrict row = gnn_mat_row(scores, i) + first;
            const float own = gnn_lane_dot(gnn_mat_row(q, i), gnn_mat_row(q, i), q.cols);
            for (uint32_t j = 0; j < count; j++) {
                const float square = own + length[j] - 2 * row[j];
                row[j] = -sqrtf(square > 0 ? square : 0);
            }
        }
    }
}

/* Replaces every score by exp(score - max), masked ones by 0, and returns their sum. */
static double exponentials(float *restrict row, uint32_t cols, float max)
{
    float lane[GNN_LANES] = {0};
    uint32_t k = 0;
    for (uint32_t c = 0; c < cols; c++)
        row[c] = gnn_lane_exp(row[c] - max);
    for (; k + GNN_LANES <= cols; k += GNN_LANES)
        for (uint32_t l = 0; l < GNN_LANES; l++)
            lane[l] += row[k + l];
    for (uint32_t l = 0; k + l < cols; l++)
        lane[l] += row[k + l];
    return (double)gnn_lane_fold(lane);
}

static void cpu_loss(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own, double *loss)
{
    for (uint32_t j = 0; j < scores.cols; j++)
        if (own[j] < scores.rows)
            gnn_mat_row(scores, own[j])[j] = -INFINITY;
    for (uint32_t i = 0; i < scores.rows; i++) {
        float *restrict row = gnn_mat_row(scores, i);
        float max = positive[i];
        for (uint32_t c = 0; c < scores.cols; c++)
            max = row[c] > max ? row[c] : max;
        const float mine = gnn_lane_exp(positive[i] - max);
        const double sum = exponentials(row, scores.cols, max) + (double)mine;
        *loss += log(sum) - (double)(positive[i] - max);
        const float scale = (float)(1 / sum);
        for (uint32_t c = 0; c < scores.cols; c++)
            row[c] *= scale;
        positive[i] = (float)((double)mine / sum - 1);
    }
    for (uint32_t j = 0; j < scores.cols; j++) /* the exponential is clamped: what is masked is 0, not small */
        if (own[j] < scores.rows)
            gnn_mat_row(scores, own[j])[j] = 0;
}

const struct gnn_link_ops gnn_cpu_link = {
    .combine = gnn_ref_link_combine,
    .combine_back = gnn_ref_link_combine_back,
    .pair_scores = cpu_pair_scores,
    .pair_scores_back = gnn_ref_link_pair_scores_back,
    .distances = cpu_distances,
    .distances_back = gnn_ref_link_distances_back,
    .loss = cpu_loss,
    .scatter_add = gnn_ref_link_scatter_add,
    .adagrad = gnn_ref_link_adagrad,
    .cubes_back = gnn_ref_link_cubes_back,
};
