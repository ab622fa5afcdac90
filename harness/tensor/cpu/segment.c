/* SPDX-License-Identifier: MIT */
/* Sparse rows: gathers of whole feature rows. Memory bound, so the next rows are prefetched while the current ones are
 * added. Backward passes gather too, by source (transpose.h); a small block's rows are scattered, in the same order. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/cpu/rows.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

static void copy_scaled(float *restrict out, float w, const float *restrict x, uint64_t cols)
{
    for (uint64_t c = 0; c < cols; c++)
        out[c] = w * x[c];
}

/* out += the weighted sum of the rows from number k on. */
static void add_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows, uint32_t k)
{
    const float *w = rows->weight;
    for (; k + 4 <= rows->count; k += 4) {
        const float *x[4];
        float four[4];
        for (uint32_t l = 0; l < 4; l++) {
            x[l] = rows->x + rows->col[k + l] * rows->stride;
            four[l] = w == NULL ? 1 : w[(uint64_t)(k + l) * rows->weight_stride];
        }
        gnn_lane_add_four(out, four, x, cols);
    }
    for (; k < rows->count; k++)
        gnn_lane_axpy(out, w == NULL ? 1 : w[(uint64_t)k * rows->weight_stride], rows->x + rows->col[k] * rows->stride,
                      cols);
}

void gnn_cpu_sum_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows)
{
    if (rows->count == 0) {
        memset(out, 0, cols * sizeof *out);
        return;
    }
    copy_scaled(out, rows->weight == NULL ? 1 : rows->weight[0], rows->x + rows->col[0] * rows->stride, cols);
    add_rows(out, cols, rows, 1);
}

void gnn_cpu_add_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows)
{
    add_rows(out, cols, rows, 0);
}

static void row_max(float *restrict out, uint32_t *restrict argmax, const struct gnn_block *b, uint32_t i,
                    struct gnn_mat x)
{
    const uint32_t start = b->row_start[i], end = b->row_start[i + 1];
    for (uint32_t c = 0; c < x.cols; c++) {
        out[c] = start < end ? gnn_mat_row(x, b->col[start])[c] : 0;
        argmax[c] = start < end ? b->col[start] : GNN_NODE_NONE;
    }
    for (uint32_t e = start + 1; e < end; e++) {
        const float *restrict row = gnn_mat_row(x, b->col[e]);
        const uint32_t j = b->col[e];
        for (uint32_t c = 0; c < x.cols; c++) {
            const bool larger = row[c] > out[c];
            argmax[c] = larger ? j : argmax[c];
            out[c] = larger ? row[c] : out[c];
        }
    }
}

void gnn_cpu_reduce_rows(const void *loop, uint64_t first, uint64_t end)
{
    const struct gnn_cpu_reduce l = *(const struct gnn_cpu_reduce *)loop;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const uint32_t start = l.block.row_start[i], degree = l.block.row_start[i + 1] - start;
        float *row = gnn_mat_row(l.out, i);
        gnn_cpu_prefetch_edges(&l.block, i, l.x);
        if (l.kind == GNN_REDUCE_MAX) {
            row_max(row, l.argmax + (uint64_t)i * l.out.cols, &l.block, i, l.x);
            continue;
        }
        const struct gnn_cpu_rows rows = {
            .x = l.x.data, .stride = l.x.cols, .col = l.block.col + start, .count = degree};
        gnn_cpu_sum_rows(row, l.x.cols, &rows);
        if (l.kind == GNN_REDUCE_MEAN && degree > 0) {
            const float scale = 1 / (float)degree;
            for (uint32_t c = 0; c < l.x.cols; c++)
                row[c] *= scale;
        }
    }
}

void gnn_cpu_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                            struct gnn_mat x, uint32_t *argmax)
{
    gnn_segment_shapes(out, b, x);
    const struct gnn_cpu_reduce loop = {.kind = kind, .out = out, .x = x, .block = *b, .argmax = argmax};
    gnn_cpu_share(t, b->dst_count, gnn_cpu_row_bytes(b->edge_count, b->dst_count, x.cols), gnn_cpu_reduce_rows, &loop);
}

struct product {
    struct gnn_mat out, x;
    struct gnn_block block;
    const float *weight;
};

static void product_rows(const void *loop, uint64_t first, uint64_t end)
{
    const struct product l = *(const struct product *)loop;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const uint32_t start = l.block.row_start[i], degree = l.block.row_start[i + 1] - start;
        const struct gnn_cpu_rows rows = {.x = l.x.data,
                                          .stride = l.x.cols,
                                          .col = l.block.col + start,
                                          .count = degree,
                                          .weight = l.weight + start,
                                          .weight_stride = 1};
        gnn_cpu_prefetch_edges(&l.block, i, l.x);
        gnn_cpu_sum_rows(gnn_mat_row(l.out, i), l.x.cols, &rows);
    }
}

void gnn_cpu_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const float *weight,
                  struct gnn_mat x)
{
    gnn_segment_shapes(out, b, x);
    const struct product loop = {.out = out, .x = x, .block = *b, .weight = weight};
    gnn_cpu_share(t, b->dst_count, gnn_cpu_row_bytes(b->edge_count, b->dst_count, x.cols), product_rows, &loop);
}

/* ---- backward: dx_j += sum of w_ij dout_i over the targets of j ---- */

/* A weight is one of the row's, 1 for a sum, or the edge's own. */
struct weights {
    bool mean;
    const float *edge; /* NULL: of the row */
};

static float row_weight(const struct weights *w, uint32_t degree)
{
    return w->mean ? 1 / (float)degree : 1;
}

static void scatter(struct gnn_mat dx, const struct gnn_block *b, struct gnn_mat dout, const struct weights *w)
{
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], end = b->row_start[i + 1];
        const float of_row = row_weight(w, end - start);
        gnn_cpu_prefetch_edges(b, i, dx);
        for (uint32_t e = start; e < end; e++)
            gnn_lane_axpy(gnn_mat_row(dx, b->col[e]), w->edge != NULL ? w->edge[e] : of_row, gnn_mat_row(dout, i),
                          dx.cols);
    }
}

static void place_edges(const struct gnn_cpu_transpose *by_source, const struct gnn_block *b, const struct weights *w)
{
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], end = b->row_start[i + 1];
        const float of_row = row_weight(w, end - start);
        for (uint32_t e = start; e < end; e++)
            *gnn_cpu_transpose_next(by_source, b->col[e]) =
                (struct gnn_cpu_edge){.target = i, .of.weight = w->edge != NULL ? w->edge[e] : of_row};
    }
}

struct gather {
    struct gnn_mat dx, dout;
    uint32_t kept; /* rows of dx that are added to; the others are written */
    struct gnn_cpu_transpose by_source;
};

/* As add_rows, on top of what is there. */
static void add_edges(float *restrict out, const struct gnn_cpu_edge *edge, uint32_t count, struct gnn_mat x)
{
    uint32_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const float *row[4];
        float four[4];
        for (uint32_t l = 0; l < 4; l++) {
            row[l] = gnn_mat_row(x, edge[k + l].target);
            four[l] = edge[k + l].of.weight;
        }
        gnn_lane_add_four(out, four, row, x.cols);
    }
    for (; k < count; k++)
        gnn_lane_axpy(out, edge[k].of.weight, gnn_mat_row(x, edge[k].target), x.cols);
}

static void gather_sources(const void *loop, uint64_t first, uint64_t end)
{
    const struct gather l = *(const struct gather *)loop;
    for (uint32_t j = (uint32_t)first; j < end; j++) {
        const uint32_t start = l.by_source.start[j], count = l.by_source.start[j + 1] - start;
        gnn_cpu_prefetch_targets(&l.by_source, start, count, l.dout);
        if (j >= l.kept)
            memset(gnn_mat_row(l.dx, j), 0, l.dx.cols * sizeof *l.dx.data);
        add_edges(gnn_mat_row(l.dx, j), l.by_source.edge + start, count, l.dout);
    }
}

static void add_back(struct gnn_tensor *t, struct gnn_mat dx, uint32_t kept, const struct gnn_block *b,
                     struct gnn_mat dout, const struct weights *w)
{
    struct gather loop = {.dx = dx, .dout = dout, .kept = kept};
    gnn_segment_shapes(dout, b, dx);
    if ((uint64_t)b->edge_count * dx.cols * sizeof(float) < GNN_SHARE_LOOP_BYTES ||
        !gnn_cpu_transpose_begin(t, b, false, &loop.by_source)) {
        memset(gnn_mat_row(dx, kept), 0, (uint64_t)(dx.rows - kept) * dx.cols * sizeof *dx.data);
        scatter(dx, b, dout, w);
        return;
    }
    place_edges(&loop.by_source, b, w);
    gnn_cpu_share(t, b->src_count, gnn_cpu_row_bytes(b->edge_count, b->src_count, dx.cols), gather_sources, &loop);
}

void gnn_cpu_mean_back(struct gnn_tensor *t, struct gnn_mat dx, uint32_t kept, const struct gnn_block *b,
                       struct gnn_mat dout)
{
    add_back(t, dx, kept, b, dout, &(struct weights){.mean = true});
}

struct max_back {
    struct gnn_mat dx, dout;
    const uint32_t *argmax;
};

/* Of some of the columns: every source's winners stand anywhere. */
static void max_back_columns(const void *loop, uint64_t first, uint64_t end)
{
    const struct max_back l = *(const struct max_back *)loop;
    const uint32_t columns = gnn_min_u32((uint32_t)end * GNN_LINE_FLOATS, l.dx.cols);
    for (uint32_t i = 0; i < l.dout.rows; i++)
        for (uint32_t c = (uint32_t)first * GNN_LINE_FLOATS; c < columns; c++) {
            const uint32_t winner = l.argmax[(uint64_t)i * l.dout.cols + c];
            if (winner != GNN_NODE_NONE)
                gnn_mat_row(l.dx, winner)[c] += gnn_mat_row(l.dout, i)[c];
        }
}

void gnn_cpu_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                 const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax)
{
    if (kind != GNN_REDUCE_MAX) {
        add_back(t, dx, dx.rows, b, dout, &(struct weights){.mean = kind == GNN_REDUCE_MEAN});
        return;
    }
    gnn_segment_shapes(dout, b, dx);
    const struct max_back loop = {.dx = dx, .dout = dout, .argmax = argmax};
    gnn_cpu_share(t, gnn_div_up(dx.cols, GNN_LINE_FLOATS), UINT64_C(3) * dout.rows * GNN_LINE_BYTES, max_back_columns,
                  &loop);
}

void gnn_cpu_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const float *weight,
                       struct gnn_mat dout)
{
    add_back(t, dx, dx.rows, b, dout, &(struct weights){.edge = weight});
}
