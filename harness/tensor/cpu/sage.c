/* SPDX-License-Identifier: MIT */
/* A layer of GraphSAGE, a few rows at a time: forward their means, both products and the epilogue; backward the
 * epilogue, the sum for the bias, the terms of both weights' gradients and, where they are asked for, the gradients of
 * the means and of the rows themselves. What one loop leaves the next finds in a second-level cache: op by op, each of
 * them passes over all rows in memory. Small layers stay in a cache anyway, and go op by op. */
#include "harness/tensor/cpu/sage.h"
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/product.h"
#include "harness/tensor/cpu/rows.h"
#include "harness/tensor/shapes.h"

enum {
    FORWARD_ROWS = 16 * GNN_TILE_ROWS,                /* 96: of 256 columns 96 KiB */
    BACKWARD_ROWS = GNN_GEMM_TERMS,                   /* of 256 columns 192 KiB */
    ROWS_LEAST = 4 * FORWARD_ROWS,                    /* of a layer, forward; backward asks for sums that are cut */
    ROOM = GNN_GEMM_PARTS_BYTES / (int)sizeof(float), /* floats for a product: the back-end has as many again */
};
_Static_assert(BACKWARD_ROWS % GNN_TILE_ROWS == 0, "whole tiles of rows");
_Static_assert(BACKWARD_ROWS % GNN_TILE_TERMS == 0, "whole tiles of terms; BLAS is called for none but the last");
_Static_assert(BACKWARD_ROWS % GNN_CPU_SUM_ROWS == 0, "whole blocks of column sums");

static void check_shapes(const struct gnn_sage *s, const struct gnn_block *b)
{
    gnn_segment_shapes(s->mean, b, s->x);
    assert(s->y.rows == b->dst_count);
    assert(s->w_l.rows == s->y.cols);
    assert(s->w_l.cols == s->x.cols);
    gnn_same_shape(s->w_r, s->w_l);
}

static void check_gradients(const struct gnn_sage *s, const struct gnn_sage_grad *g)
{
    gnn_same_shape(g->dy, s->y);
    gnn_same_shape(g->dw_l, s->w_l);
    gnn_same_shape(g->dw_r, s->w_r);
    if (g->dx.data != NULL)
        gnn_same_shape(g->dx, s->x);
}

/* ---- forward ---- */

struct forward {
    struct gnn_cpu_reduce means;
    struct gnn_cpu_product of_means, of_rows;
    struct gnn_cpu_epilogue epilogue;
};

static void forward_panels(const void *loop, uint64_t first, uint64_t end)
{
    const struct forward *const l = loop;
    for (uint64_t k = first; k < end; k++) {
        const uint32_t row = (uint32_t)k * FORWARD_ROWS, count = gnn_min_u32(l->epilogue.z.rows - row, FORWARD_ROWS);
        gnn_cpu_reduce_rows(&l->means, row, row + count);
        gnn_cpu_multiply_rows(&l->of_means, row, count);
        gnn_cpu_multiply_rows(&l->of_rows, row, count);
        gnn_cpu_activate_rows(&l->epilogue, row, row + count);
    }
}

static bool sage_forward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_block *b)
{
    float *const room = gnn_cpu_state(t)->parts;
    struct forward loop = {
        .means = {.kind = GNN_REDUCE_MEAN, .out = s->mean, .x = s->x, .block = *b},
        .epilogue = {.act = s->act, .z = s->y, .bias = s->bias, .drop = &s->drop},
    };
    check_shapes(s, b);
    if (b->dst_count < ROWS_LEAST ||
        !gnn_cpu_rows_product(t, s->mean, true, s->w_l, false, s->y, room, &loop.of_means) ||
        !gnn_cpu_rows_product(t, gnn_mat_head(s->x, b->dst_count), true, s->w_r, true, s->y, room + ROOM,
                              &loop.of_rows))
        return false;
    const uint64_t row_bytes =
        gnn_cpu_row_bytes(b->edge_count, b->dst_count, s->x.cols) + 4 * sizeof(float) * s->y.cols;
    gnn_cpu_share(t, gnn_div_up(b->dst_count, FORWARD_ROWS), FORWARD_ROWS * row_bytes, forward_panels, &loop);
    return true;
}

/* ---- backward ---- */

struct backward {
    struct gnn_cpu_epilogue epilogue;
    bool has_epilogue; /* dy is not the gradient before it yet */
    struct gnn_cpu_column_sum sums;
    struct gnn_cpu_product dw_l, dw_r;
    bool asks_dx;
    struct gnn_cpu_product dmean, drows;
};

/* Does `count` rows of a part; add: to the part's sums so far. */
static void backward_rows(const struct backward *l, uint64_t part, uint32_t row, uint32_t count, bool add)
{
    if (l->has_epilogue)
        gnn_cpu_activate_back_rows(&l->epilogue, row, row + count);
    gnn_cpu_sum_blocks(&l->sums, row / GNN_CPU_SUM_ROWS, gnn_div_up(row + count, GNN_CPU_SUM_ROWS));
    gnn_cpu_multiply_terms(&l->dw_l, part, row, count, add);
    gnn_cpu_multiply_terms(&l->dw_r, part, row, count, add);
    if (!l->asks_dx)
        return;
    gnn_cpu_multiply_rows(&l->dmean, row, count); /* the means of these rows have served */
    gnn_cpu_multiply_rows(&l->drows, row, count);
}

static void backward_parts(const void *loop, uint64_t first, uint64_t end)
{
    const struct backward *const l = loop;
    const uint32_t step = l->dw_l.cut.step;
    for (uint64_t k = first; k < end; k++) {
        const uint32_t begin = (uint32_t)k * step, last = begin + gnn_min_u32(l->sums.z.rows - begin, step);
        for (uint32_t row = begin; row < last; row += BACKWARD_ROWS)
            backward_rows(l, k, row, gnn_min_u32(last - row, BACKWARD_ROWS), row > begin);
    }
}

/* Returns whether the way back is done whole: its sums are cut, and there are kernels for all of it. Threads share no
 * more than the parts here. Where they are more than these and dx is asked for, single ops are faster, which share
 * rows' gradients by panels. */
static bool open_backward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_sage_grad *g,
                          const struct gnn_block *b, struct backward *l)
{
    const struct gnn_gemm_cut cut = gnn_gemm_cut(true, g->dw_l.rows, g->dw_l.cols, b->dst_count);
    const struct gnn_mat rows = gnn_mat_head(s->x, b->dst_count);
    float *const room = gnn_cpu_state(t)->parts;
    if (!cut.of_sums || (l->asks_dx && gnn_cpu_threads(t) > cut.count) ||
        !gnn_cpu_terms_product(t, g->dy, s->mean, g->dw_l, &cut, room, &l->dw_l) ||
        !gnn_cpu_terms_product(t, g->dy, rows, g->dw_r, &cut, room + ROOM, &l->dw_r))
        return false;
    if (!l->asks_dx)
        return true;
    const struct gnn_mat drows = gnn_mat_head(g->dx, b->dst_count);
    return gnn_cpu_rows_product(t, g->dy, false, s->w_l, false, s->mean, NULL, &l->dmean) &&
           gnn_cpu_rows_product(t, g->dy, false, s->w_r, false, drows, NULL, &l->drows);
}

static bool sage_backward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_sage_grad *g,
                          const struct gnn_block *b)
{
    struct gnn_cpu_state *const state = gnn_cpu_state(t);
    const uint64_t block_count = gnn_div_up(b->dst_count, GNN_CPU_SUM_ROWS);
    struct backward loop = {
        .epilogue = {.act = s->act, .z = g->dy, .y = s->y, .drop = &s->drop},
        .has_epilogue = gnn_cpu_changes_back(s->act, &s->drop),
        .asks_dx = g->dx.data != NULL,
    };
    check_shapes(s, b);
    check_gradients(s, g);
    if (!open_backward(t, s, g, b, &loop) ||
        !gnn_cpu_reserve(t, &state->sums, block_count * g->dy.cols * sizeof(float)))
        return false;
    loop.sums = (struct gnn_cpu_column_sum){.z = g->dy, .parts = state->sums.data};
    const uint64_t row_bytes = sizeof(float) * (g->dy.cols + (loop.asks_dx ? 4 : 2) * (uint64_t)s->x.cols);
    /* The last part alone calls BLAS, for terms behind whole tiles: one call at a time, as one_product asks. */
    gnn_cpu_share(t, loop.dw_l.cut.count, loop.dw_l.cut.step * row_bytes, backward_parts, &loop);
    gnn_cpu_add_blocks(g->db, &loop.sums);
    gnn_cpu_add_parts(&loop.dw_l);
    gnn_cpu_add_parts(&loop.dw_r);
    if (loop.asks_dx)
        gnn_cpu_mean_back(t, g->dx, b->dst_count, b, s->mean);
    return true;
}

const struct gnn_sage_ops gnn_cpu_sage = {.forward = sage_forward, .backward = sage_backward};
