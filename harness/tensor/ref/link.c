/* SPDX-License-Identifier: MIT */
/* Link prediction: one loop per formula (harness/tensor/link.h). Sums run in double, as in dense.c. */
#include "harness/tensor/ref/link.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <tgmath.h>

/* ---- queries ---- */

void gnn_ref_link_combine(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat q, struct gnn_mat a,
                          struct gnn_mat r)
{
    const uint32_t half = q.cols / 2;
    gnn_same_shape(q, a);
    gnn_same_shape(q, r);
    for (uint32_t i = 0; i < q.rows; i++) {
        gnn_real *restrict out = gnn_mat_row(q, i);
        const gnn_real *restrict x = gnn_mat_row(a, i), *restrict y = gnn_mat_row(r, i);
        switch (decoder) {
        case GNN_DECODER_DISTMULT:
            for (uint32_t c = 0; c < q.cols; c++)
                out[c] = x[c] * y[c];
            break;
        case GNN_DECODER_COMPLEX:
            for (uint32_t c = 0; c < half; c++) {
                out[c] = x[c] * y[c] - x[half + c] * y[half + c];
                out[half + c] = x[c] * y[half + c] + x[half + c] * y[c];
            }
            break;
        default:
            for (uint32_t c = 0; c < q.cols; c++)
                out[c] = x[c] + y[c];
        }
    }
}

/* ComplEx: q = a r, so the gradient of a is that of q times the conjugate of r. */
static void conjugate_product(gnn_real *restrict out, const gnn_real *restrict dq, const gnn_real *restrict other,
                              uint32_t half)
{
    for (uint32_t c = 0; c < half; c++) {
        out[c] = dq[c] * other[c] + dq[half + c] * other[half + c];
        out[half + c] = dq[half + c] * other[c] - dq[c] * other[half + c];
    }
}

void gnn_ref_link_combine_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat da, struct gnn_mat dr,
                               struct gnn_mat dq, struct gnn_mat a, struct gnn_mat r)
{
    gnn_same_shape(dq, a);
    gnn_same_shape(dq, r);
    gnn_same_shape(dq, da);
    gnn_same_shape(dq, dr);
    for (uint32_t i = 0; i < dq.rows; i++) {
        const gnn_real *restrict g = gnn_mat_row(dq, i), *restrict x = gnn_mat_row(a, i),
                                 *restrict y = gnn_mat_row(r, i);
        gnn_real *restrict dx = gnn_mat_row(da, i), *restrict dy = gnn_mat_row(dr, i);
        switch (decoder) {
        case GNN_DECODER_DISTMULT:
            for (uint32_t c = 0; c < dq.cols; c++) {
                dx[c] = g[c] * y[c];
                dy[c] = g[c] * x[c];
            }
            break;
        case GNN_DECODER_COMPLEX:
            conjugate_product(dx, g, y, dq.cols / 2);
            conjugate_product(dy, g, x, dq.cols / 2);
            break;
        default:
            for (uint32_t c = 0; c < dq.cols; c++)
                dx[c] = dy[c] = g[c];
        }
    }
}

/* ---- scores of pairs ---- */

static double dot(const gnn_real *a, const gnn_real *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t c = 0; c < count; c++)
        sum += (double)a[c] * (double)b[c];
    return sum;
}

static double distance(const gnn_real *a, const gnn_real *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t c = 0; c < count; c++)
        sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sqrt(sum);
}

void gnn_ref_link_pair_scores(struct gnn_tensor *t, enum gnn_decoder decoder, gnn_real *out, struct gnn_mat q,
                              struct gnn_mat x)
{
    gnn_same_shape(q, x);
    for (uint32_t i = 0; i < q.rows; i++) {
        const gnn_real *const a = gnn_mat_row(q, i), *const b = gnn_mat_row(x, i);
        out[i] = (gnn_real)(decoder == GNN_DECODER_TRANSE ? -distance(a, b, q.cols) : dot(a, b, q.cols));
    }
}

void gnn_ref_link_pair_scores_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dq, struct gnn_mat dx,
                                   const gnn_real *g, struct gnn_mat q, struct gnn_mat x)
{
    gnn_same_shape(dq, q);
    gnn_same_shape(dx, x);
    for (uint32_t i = 0; i < q.rows; i++) {
        const gnn_real *restrict a = gnn_mat_row(q, i), *restrict b = gnn_mat_row(x, i);
        gnn_real *restrict da = gnn_mat_row(dq, i), *restrict db = gnn_mat_row(dx, i);
        if (decoder != GNN_DECODER_TRANSE) {
            for (uint32_t c = 0; c < q.cols; c++) {
                da[c] += g[i] * b[c];
                db[c] = g[i] * a[c];
            }
            continue;
        }
        const double apart = distance(a, b, q.cols);
        const gnn_real w = (gnn_real)(apart > 0 ? (double)g[i] / apart : 0);
        for (uint32_t c = 0; c < q.cols; c++) {
            const gnn_real towards = w * (b[c] - a[c]);
            da[c] += towards;
            db[c] = -towards;
        }
    }
}

/* ---- scores against shared candidates ---- */

static void candidate_shapes(struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x)
{
    assert(scores.rows == q.rows);
    assert(scores.cols == x.rows);
    assert(q.cols == x.cols);
}

void gnn_ref_link_distances(struct gnn_tensor *t, struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x)
{
    candidate_shapes(scores, q, x);
    for (uint32_t i = 0; i < scores.rows; i++) {
        gnn_real *const row = gnn_mat_row(scores, i);
        const double own = dot(gnn_mat_row(q, i), gnn_mat_row(q, i), q.cols);
        for (uint32_t j = 0; j < scores.cols; j++) {
            const double square = own + dot(gnn_mat_row(x, j), gnn_mat_row(x, j), x.cols) - 2 * (double)row[j];
            row[j] = (gnn_real)(square > 0 ? -sqrt(square) : 0);
        }
    }
}

/* row = -weight * from. */
static void scaled_row(gnn_real *restrict row, const gnn_real *restrict from, double weight, uint32_t cols)
{
    for (uint32_t c = 0; c < cols; c++)
        row[c] = (gnn_real)(-weight * (double)from[c]);
}

void gnn_ref_link_distances_back(struct gnn_tensor *t, struct gnn_mat g, struct gnn_mat scores, struct gnn_mat q,
                                 struct gnn_mat x, struct gnn_mat dq, struct gnn_mat dx)
{
    candidate_shapes(scores, q, x);
    gnn_same_shape(g, scores);
    gnn_same_shape(dq, q);
    gnn_same_shape(dx, x);
    for (uint32_t i = 0; i < g.rows; i++) {
        gnn_real *const w = gnn_mat_row(g, i);
        const gnn_real *const score = gnn_mat_row(scores, i);
        double sum = 0;
        for (uint32_t j = 0; j < g.cols; j++) {
            w[j] = score[j] < 0 ? -w[j] / score[j] : 0;
            sum += (double)w[j];
        }
        scaled_row(gnn_mat_row(dq, i), gnn_mat_row(q, i), sum, q.cols);
    }
    for (uint32_t j = 0; j < g.cols; j++) {
        double sum = 0;
        for (uint32_t i = 0; i < g.rows; i++)
            sum += (double)gnn_mat_row(g, i)[j];
        scaled_row(gnn_mat_row(dx, j), gnn_mat_row(x, j), sum, x.cols);
    }
}

/* ---- loss ---- */

void gnn_ref_link_loss(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own,
                       double *loss)
{
    for (uint32_t i = 0; i < scores.rows; i++) {
        gnn_real *const row = gnn_mat_row(scores, i);
        const double mine = (double)positive[i];
        double max = mine, sum = 0;
        for (uint32_t j = 0; j < scores.cols; j++)
            max = own[j] != i && (double)row[j] > max ? (double)row[j] : max;
        for (uint32_t j = 0; j < scores.cols; j++)
            sum += own[j] != i ? exp((double)row[j] - max) : 0;
        sum += exp(mine - max);
        *loss += max + log(sum) - mine;
        for (uint32_t j = 0; j < scores.cols; j++)
            row[j] = (gnn_real)(own[j] != i ? exp((double)row[j] - max) / sum : 0);
        positive[i] = (gnn_real)(exp(mine - max) / sum - 1);
    }
}

/* ---- rows and steps ---- */

void gnn_ref_link_scatter_add(struct gnn_tensor *t, gnn_real *table, const uint32_t *rows, struct gnn_mat x)
{
    for (uint32_t i = 0; i < x.rows; i++) {
        gnn_real *restrict to = table + (uint64_t)rows[i] * x.cols;
        const gnn_real *restrict from = gnn_mat_row(x, i);
        for (uint32_t c = 0; c < x.cols; c++)
            to[c] += from[c];
    }
}

void gnn_ref_link_adagrad(struct gnn_tensor *t, gnn_real *value, const gnn_real *grad, gnn_real *state, uint64_t count,
                          const struct gnn_adagrad *adagrad)
{
    const gnn_real lr = (gnn_real)adagrad->lr, eps = (gnn_real)adagrad->eps;
    for (uint64_t k = 0; k < count; k++) {
        state[k] += grad[k] * grad[k];
        value[k] -= lr * grad[k] / (sqrt(state[k]) + eps);
    }
}

void gnn_ref_link_cubes_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dx, double weight,
                             struct gnn_mat x)
{
    const gnn_real scale = (gnn_real)(3 * weight);
    const uint32_t half = x.cols / 2;
    gnn_same_shape(dx, x);
    for (uint32_t i = 0; i < x.rows; i++) {
        gnn_real *restrict to = gnn_mat_row(dx, i);
        const gnn_real *restrict from = gnn_mat_row(x, i);
        if (decoder != GNN_DECODER_COMPLEX) {
            for (uint32_t c = 0; c < x.cols; c++)
                to[c] += scale * fabs(from[c]) * from[c];
            continue;
        }
        for (uint32_t c = 0; c < half; c++) {
            const gnn_real length = scale * sqrt(from[c] * from[c] + from[half + c] * from[half + c]);
            to[c] += length * from[c];
            to[half + c] += length * from[half + c];
        }
    }
}

#define REF(op) .op = gnn_ref_link_##op,
const struct gnn_link_ops gnn_ref_link = {GNN_LINK_OPS(REF)};
