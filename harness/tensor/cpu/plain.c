/* SPDX-License-Identifier: MIT */
/* The reference's loops, a range of them on each thread. What is one line of arithmetic an element the compiler
 * vectorises there as well as anywhere. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <math.h>

static struct gnn_mat rows_of(struct gnn_mat m, uint64_t first, uint64_t end)
{
    return (struct gnn_mat){gnn_mat_row(m, first), (uint32_t)(end - first), m.cols};
}

/* ---- elements ---- */

struct fill {
    float *dst, value;
};

static void fill_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct fill *const l = loop;
    gnn_ref_fill(NULL, l->dst + first, end - first, l->value);
}

void gnn_cpu_fill(struct gnn_tensor *t, float *dst, uint64_t count, float value)
{
    const struct fill loop = {dst, value};
    gnn_cpu_share(t, count, sizeof *dst, fill_range, &loop);
}

struct sum {
    float *dst;
    const float *src;
};

static void add_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct sum *const l = loop;
    gnn_ref_add(NULL, l->dst + first, l->src + first, end - first);
}

void gnn_cpu_add(struct gnn_tensor *t, float *dst, const float *src, uint64_t count)
{
    const struct sum loop = {dst, src};
    gnn_cpu_share(t, count, 2 * sizeof *dst, add_range, &loop);
}

struct update {
    float *param, *m, *v;
    const float *grad;
    const struct gnn_adam *adam;
};

static void adam_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct update *const l = loop;
    gnn_ref_adam(NULL, l->param + first, l->grad + first, l->m + first, l->v + first, end - first, l->adam);
}

void gnn_cpu_adam(struct gnn_tensor *t, float *param, const float *grad, float *m, float *v, uint64_t count,
                  const struct gnn_adam *adam)
{
    const struct update loop = {.param = param, .m = m, .v = v, .grad = grad, .adam = adam};
    gnn_cpu_share(t, count, 4 * sizeof *param, adam_range, &loop);
}

/* ---- rows ---- */

struct table_rows {
    float *out;
    const float *table;
    uint64_t stride;
    const uint32_t *rows;
    uint32_t cols;
};

static void gather_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct table_rows *const l = loop;
    gnn_ref_gather_rows(NULL, l->out + first * l->cols, l->table, l->stride, l->rows + first, (uint32_t)(end - first),
                        l->cols);
}

void gnn_cpu_gather_rows(struct gnn_tensor *t, float *out, const float *table, uint64_t row_stride,
                         const uint32_t *rows, uint32_t count, uint32_t cols)
{
    const struct table_rows loop = {.out = out, .table = table, .stride = row_stride, .rows = rows, .cols = cols};
    gnn_cpu_share(t, count, 2 * sizeof *out * cols, gather_range, &loop);
}

struct half_rows {
    float *out;
    const uint16_t *table;
    uint64_t stride;
    const uint32_t *rows; /* NULL: row i */
    uint32_t cols;
};

static void gather_halves_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct half_rows *const l = loop;
    if (l->rows == NULL && l->stride == l->cols) {
        gnn_halves_widen(l->table + first * l->cols, (end - first) * l->cols, l->out + first * l->cols);
        return;
    }
    for (uint64_t i = first; i < end; i++)
        gnn_halves_widen(l->table + (l->rows != NULL ? l->rows[i] : i) * l->stride, l->cols, l->out + i * l->cols);
}

void gnn_cpu_gather_halves(struct gnn_tensor *t, float *out, const uint16_t *table, uint64_t row_stride,
                           const uint32_t *rows, uint32_t count, uint32_t cols)
{
    const struct half_rows loop = {.out = out, .table = table, .stride = row_stride, .rows = rows, .cols = cols};
    gnn_cpu_share(t, count, (sizeof *out + sizeof *table) * cols, gather_halves_range, &loop);
}

struct placed_rows {
    float *out;
    const struct gnn_placement *placement;
    const uint32_t *rows;
    uint32_t cols, host_count;
};

/* Rows of float16, each from its own table. */
static void widen_placed_range(const struct placed_rows *l, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++) {
        const uint32_t place = l->placement->place[l->rows[i]], table = place >> GNN_PLACE_ROW_BITS;
        const uint64_t row = place & ((UINT32_C(1) << GNN_PLACE_ROW_BITS) - 1);
        if (place != GNN_PLACE_NONE)
            gnn_halves_widen((const uint16_t *)l->placement->table[table].rows +
                                 row * l->placement->table[table].stride,
                             l->cols, l->out + i * l->cols);
    }
}

static void gather_placed_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct placed_rows *const l = loop;
    if (l->placement->type == GNN_F16)
        widen_placed_range(l, first, end);
    else
        gnn_ref_gather_placed(NULL, l->out + first * l->cols, l->placement, l->rows + first, (uint32_t)(end - first),
                              l->cols, l->host_count);
}

void gnn_cpu_gather_placed(struct gnn_tensor *t, float *out, const struct gnn_placement *placement,
                           const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    const struct placed_rows loop = {
        .out = out, .placement = placement, .rows = rows, .cols = cols, .host_count = host_count};
    gnn_cpu_share(t, count, 2 * sizeof *out * cols, gather_placed_range, &loop);
}

struct bias {
    struct gnn_mat z;
    const float *bias;
};

static void bias_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct bias *const l = loop;
    gnn_ref_add_bias(NULL, rows_of(l->z, first, end), l->bias);
}

void gnn_cpu_add_bias(struct gnn_tensor *t, struct gnn_mat z, const float *bias)
{
    const struct bias loop = {z, bias};
    gnn_cpu_share(t, z.rows, z.cols * sizeof *bias, bias_range, &loop);
}

struct heads {
    struct gnn_mat to, from;
    uint32_t heads;
};

static void head_mean_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct heads *const l = loop;
    gnn_ref_head_mean(NULL, rows_of(l->to, first, end), rows_of(l->from, first, end), l->heads);
}

void gnn_cpu_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads)
{
    const struct heads loop = {out, x, heads};
    gnn_head_shapes(x, out, heads);
    gnn_cpu_share(t, out.rows, x.cols * sizeof(float), head_mean_range, &loop);
}

static void head_mean_back_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct heads *const l = loop;
    gnn_ref_head_mean_back(NULL, rows_of(l->to, first, end), rows_of(l->from, first, end), l->heads);
}

void gnn_cpu_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads)
{
    const struct heads loop = {dx, dout, heads};
    gnn_head_shapes(dx, dout, heads);
    gnn_cpu_share(t, dx.rows, dx.cols * sizeof(float), head_mean_back_range, &loop);
}

/* ---- GCN's weights ---- */

struct gcn {
    float *weight, *root;
    const uint32_t *col;
};

static float inverse_root(float x)
{
    return x > 0 ? 1 / sqrtf(x) : 0;
}

static void root_range(const void *loop, uint64_t first, uint64_t end)
{
    float *const root = ((const struct gcn *)loop)->root;
    for (uint64_t j = first; j < end; j++)
        root[j] = inverse_root(root[j]);
}

static void weight_range(const void *loop, uint64_t first, uint64_t end)
{
    const struct gcn l = *(const struct gcn *)loop;
    for (uint64_t e = first; e < end; e++)
        l.weight[e] *= l.root[l.col[e]];
}

/* A source's sum adds up in the order of the rows, on one thread; its root is taken once and not once an edge. */
void gnn_cpu_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, float *weight, float *source_sum,
                         const struct gnn_block *b)
{
    const struct gcn loop = {weight, source_sum, b->col};
    gnn_cpu_fill(t, source_sum, b->src_count, 0);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t start = b->row_start[i], end = b->row_start[i + 1];
        const float p = inverse_root((float)(end - start)), term = norm == GNN_GCN_NORM_RELEASED ? p : 1;
        for (uint32_t e = start; e < end; e++) {
            weight[e] = p;
            source_sum[b->col[e]] += term;
        }
    }
    gnn_cpu_share(t, b->src_count, 2 * sizeof *weight, root_range, &loop);
    gnn_cpu_share(t, b->edge_count, 4 * sizeof *weight, weight_range, &loop);
}
