/* SPDX-License-Identifier: MIT */
/* Sparse ops over a block's rows: GraphSAGE's aggregation (Hamilton et al. 2017, algorithm 1) and GCN's normalised
 * product (Kipf and Welling 2017, equation 2). */
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <tgmath.h>

static uint32_t row_degree(const struct gnn_block *b, uint32_t i)
{
    return b->row_start[i + 1] - b->row_start[i];
}

static void row_max(gnn_real *out, uint32_t *argmax, const struct gnn_block *b, uint32_t i, struct gnn_mat x)
{
    for (uint32_t c = 0; c < x.cols; c++) {
        uint32_t best = GNN_NODE_NONE;
        for (uint32_t e = b->row_start[i]; e < b->row_start[i + 1]; e++)
            if (best == GNN_NODE_NONE || gnn_mat_row(x, b->col[e])[c] > gnn_mat_row(x, best)[c])
                best = b->col[e];
        argmax[c] = best;
        out[c] = best == GNN_NODE_NONE ? 0 : gnn_mat_row(x, best)[c];
    }
}

void gnn_ref_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                            struct gnn_mat x, uint32_t *argmax)
{
    gnn_segment_shapes(out, b, x);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        gnn_real *row = gnn_mat_row(out, i);
        if (kind == GNN_REDUCE_MAX) {
            row_max(row, argmax + (uint64_t)i * out.cols, b, i, x);
            continue;
        }
        const uint32_t degree = row_degree(b, i);
        const gnn_real scale = kind == GNN_REDUCE_MEAN && degree > 0 ? 1 / (gnn_real)degree : 1;
        for (uint32_t c = 0; c < x.cols; c++) {
            gnn_real sum = 0;
            for (uint32_t e = b->row_start[i]; e < b->row_start[i + 1]; e++)
                sum += gnn_mat_row(x, b->col[e])[c];
            row[c] = sum * scale;
        }
    }
}

void gnn_ref_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                 const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax)
{
    gnn_segment_shapes(dout, b, dx);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const gnn_real *row = gnn_mat_row(dout, i);
        if (kind == GNN_REDUCE_MAX) {
            const uint32_t *winner = argmax + (uint64_t)i * dout.cols;
            for (uint32_t c = 0; c < dout.cols; c++)
                if (winner[c] != GNN_NODE_NONE)
                    gnn_mat_row(dx, winner[c])[c] += row[c];
            continue;
        }
        const gnn_real scale = kind == GNN_REDUCE_MEAN ? 1 / (gnn_real)row_degree(b, i) : 1;
        for (uint32_t e = b->row_start[i]; e < b->row_start[i + 1]; e++)
            for (uint32_t c = 0; c < dout.cols; c++)
                gnn_mat_row(dx, b->col[e])[c] += row[c] * scale;
    }
}

static gnn_real inverse_root(gnn_real x)
{
    return x > 0 ? 1 / sqrt(x) : 0;
}

void gnn_ref_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                         const struct gnn_block *b)
{
    gnn_ref_fill(t, source_sum, b->src_count, 0);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const gnn_real p = inverse_root((gnn_real)row_degree(b, i));
        for (uint32_t e = b->row_start[i]; e < b->row_start[i + 1]; e++) {
            weight[e] = p;
            source_sum[b->col[e]] += norm == GNN_GCN_NORM_RELEASED ? p : 1;
        }
    }
    for (uint32_t e = 0; e < b->edge_count; e++)
        weight[e] *= inverse_root(source_sum[b->col[e]]);
}

void gnn_ref_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight,
                  struct gnn_mat x)
{
    gnn_segment_shapes(out, b, x);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        for (uint32_t c = 0; c < x.cols; c++) {
            gnn_real sum = 0;
            for (uint32_t e = b->row_start[i]; e < b->row_start[i + 1]; e++)
                sum += weight[e] * gnn_mat_row(x, b->col[e])[c];
            gnn_mat_row(out, i)[c] = sum;
        }
    }
}

void gnn_ref_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight,
                       struct gnn_mat dout)
{
    gnn_segment_shapes(dout, b, dx);
    for (uint32_t i = 0; i < b->dst_count; i++)
        for (uint32_t e = b->row_start[i]; e < b->row_start[i + 1]; e++)
            for (uint32_t c = 0; c < dx.cols; c++)
                gnn_mat_row(dx, b->col[e])[c] += weight[e] * gnn_mat_row(dout, i)[c];
}
