/* Sparse rows: gathers and scatters of whole feature rows. Memory bound, so the next rows are prefetched while the
 * current ones are added. Backward passes scatter in row order on one thread: deterministic without a transpose. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

enum { PREFETCH_ROWS = 8 };

static void copy_scaled(float *restrict out, float w, const float *restrict x, uint64_t cols)
{
    for (uint64_t c = 0; c < cols; c++)
        out[c] = w * x[c];
}

static void add_four(float *restrict out, const float *restrict w, const float *const *x, uint64_t cols)
{
    const float *restrict x0 = x[0], *restrict x1 = x[1], *restrict x2 = x[2], *restrict x3 = x[3];
    const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    for (uint64_t c = 0; c < cols; c++)
        out[c] = (((out[c] + w0 * x0[c]) + w1 * x1[c]) + w2 * x2[c]) + w3 * x3[c];
}

void gnn_cpu_sum_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows)
{
    if (rows->count == 0) {
        memset(out, 0, cols * sizeof *out);
        return;
    }
    const float *w = rows->weight;
    uint32_t k = 0;
    copy_scaled(out, w == NULL ? 1 : w[0], rows->x + rows->col[0] * rows->stride, cols);
    for (k = 1; k + 4 <= rows->count; k += 4) {
        const float *x[4];
        float four[4];
        for (uint32_t l = 0; l < 4; l++) {
            x[l] = rows->x + rows->col[k + l] * rows->stride;
            four[l] = w == NULL ? 1 : w[(uint64_t)(k + l) * rows->weight_stride];
        }
        add_four(out, four, x, cols);
    }
    for (; k < rows->count; k++)
        gnn_lane_axpy(out, w == NULL ? 1 : w[(uint64_t)k * rows->weight_stride], rows->x + rows->col[k] * rows->stride,
                      cols);
}

static void prefetch_edges(const struct gnn_block *b, uint32_t start, uint32_t end, struct gnn_mat x)
{
    for (uint32_t e = start + PREFETCH_ROWS; e < end + PREFETCH_ROWS && e < b->edge_count; e++)
        gnn_prefetch_row(gnn_mat_row(x, b->col[e]), x.cols);
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

void gnn_cpu_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                            struct gnn_mat x, uint32_t *argmax)
{
    gnn_segment_shapes(out, b, x);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], degree = b->row_start[i + 1] - start;
        float *row = gnn_mat_row(out, i);
        prefetch_edges(b, start, start + degree, x);
        if (kind == GNN_REDUCE_MAX) {
            row_max(row, argmax + (uint64_t)i * out.cols, b, i, x);
            continue;
        }
        const struct gnn_cpu_rows rows = {.x = x.data, .stride = x.cols, .col = b->col + start, .count = degree};
        gnn_cpu_sum_rows(row, x.cols, &rows);
        if (kind == GNN_REDUCE_MEAN && degree > 0) {
            const float scale = 1 / (float)degree;
            for (uint32_t c = 0; c < x.cols; c++)
                row[c] *= scale;
        }
    }
}

void gnn_cpu_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                 const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax)
{
    if (kind == GNN_REDUCE_MAX) {
        gnn_ref_segment_reduce_back(t, kind, dx, b, dout, argmax);
        return;
    }
    gnn_segment_shapes(dout, b, dx);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], end = b->row_start[i + 1];
        const float scale = kind == GNN_REDUCE_MEAN ? 1 / (float)(end - start) : 1;
        prefetch_edges(b, start, end, dx);
        for (uint32_t e = start; e < end; e++)
            gnn_lane_axpy(gnn_mat_row(dx, b->col[e]), scale, gnn_mat_row(dout, i), dx.cols);
    }
}

void gnn_cpu_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const float *weight,
                  struct gnn_mat x)
{
    gnn_segment_shapes(out, b, x);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], degree = b->row_start[i + 1] - start;
        const struct gnn_cpu_rows rows = {.x = x.data,
                                          .stride = x.cols,
                                          .col = b->col + start,
                                          .count = degree,
                                          .weight = weight + start,
                                          .weight_stride = 1};
        prefetch_edges(b, start, start + degree, x);
        gnn_cpu_sum_rows(gnn_mat_row(out, i), x.cols, &rows);
    }
}

void gnn_cpu_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const float *weight,
                       struct gnn_mat dout)
{
    gnn_segment_shapes(dout, b, dx);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], end = b->row_start[i + 1];
        prefetch_edges(b, start, end, dx);
        for (uint32_t e = start; e < end; e++)
            gnn_lane_axpy(gnn_mat_row(dx, b->col[e]), weight[e], gnn_mat_row(dout, i), dx.cols);
    }
}
