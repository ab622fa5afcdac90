/* SPDX-License-Identifier: MIT */
#include "tests/support/op_cases.h"

#include "harness/tensor/gat_rows.h"
#include "harness/tensor/link.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SEED = 7 };

/* ---- an op run once: named inputs drawn from a fixed seed and uploaded, everything it wrote downloaded ---- */

/* REPEATS: a source is twice in a row, and out of order. HUBS: every row with edges has one of two adjacent sources,
 * three of four rows the first. */
enum form { PLAIN, REPEATS, HUBS };

struct shape {
    uint32_t dst, src, cols, heads; /* cols: per head where heads matter */
    struct toy_degree degree;
    enum form form;
};

static const struct shape shapes[] = {
    {0, 0, 5, 1, {0, 0}, PLAIN},        {0, 4, 3, 2, {0, 0}, PLAIN},        {1, 1, 1, 1, {0, 1}, PLAIN},
    {1, 9, 16, 2, {9, 9}, PLAIN},       {3, 7, 31, 3, {0, 4}, PLAIN},       {5, 5, 4, 4, {0, 0}, PLAIN},
    {17, 40, 33, 1, {0, 13}, PLAIN},    {64, 200, 128, 4, {10, 10}, PLAIN}, {130, 300, 172, 2, {0, 10}, PLAIN},
    {200, 900, 256, 1, {1, 10}, PLAIN}, {65, 90, 257, 4, {0, 15}, PLAIN},   {40, 70, 515, 2, {2, 6}, PLAIN},
    {30, 50, 24, 2, {0, 9}, REPEATS},   {25, 80, 20, 9, {0, 6}, PLAIN},     {500, 600, 20, 2, {1, 3}, HUBS},
    {330, 340, 7, 3, {0, 2}, HUBS},
};

enum { OUTPUTS_MAX = 6, SCRATCH_MAX = 24 };

struct op_run {
    struct gnn_tensor *t;
    const char *backend;
    const struct shape *shape;
    struct gnn_block block;
    struct gnn_rng rng;
    uint32_t variant;
    void *scratch[SCRATCH_MAX]; /* the back-end's; nothing here dereferences it */
    uint32_t scratch_count;
    struct {
        const gnn_real *device;
        gnn_real *data; /* downloaded */
        uint64_t count;
    } output[OUTPUTS_MAX];
    uint32_t output_count;
    const uint32_t *integers; /* of the back-end: compared exactly; NULL: none */
    uint64_t integer_count;
    uint32_t exact; /* integer result, compared exactly */
};

/* The bytes in the back-end's memory; frees host. */
static void *place(struct op_run *run, void *host, uint64_t bytes)
{
    void *device = NULL;
    assert_true(run->scratch_count < SCRATCH_MAX);
    assert_int_equal(run->t->ops->alloc(run->t, "of an op's test", bytes, &device, NULL), GNN_OK);
    run->t->ops->upload(run->t, device, host, bytes);
    run->scratch[run->scratch_count++] = device;
    free(host);
    return device;
}

static gnn_real *place_reals(struct op_run *run, gnn_real *host, uint64_t count)
{
    return place(run, host, count * sizeof *host);
}

static gnn_real *vector(struct op_run *run, uint64_t count)
{
    return place_reals(run, toy_reals(&run->rng, count, -2, 2), count);
}

static struct gnn_mat matrix(struct op_run *run, uint32_t rows, uint32_t cols)
{
    return (struct gnn_mat){vector(run, (uint64_t)rows * cols), rows, cols};
}

static void output(struct op_run *run, const gnn_real *device, uint64_t count)
{
    assert_true(run->output_count < OUTPUTS_MAX);
    run->output[run->output_count].device = device;
    run->output[run->output_count++].count = count;
}

static void output_mat(struct op_run *run, struct gnn_mat m)
{
    output(run, m.data, (uint64_t)m.rows * m.cols);
}

static uint32_t *numbers(uint64_t count)
{
    uint32_t *const host = calloc(count + 1, sizeof *host);
    assert_non_null(host);
    return host;
}

/* ---- the ops ---- */

static void run_gather(struct op_run *run)
{
    const struct shape *s = run->shape;
    const uint32_t stride = s->cols + 3 * run->variant;
    const gnn_real *table = vector(run, (uint64_t)s->src * stride);
    const struct gnn_mat out = matrix(run, run->block.edge_count, s->cols);
    run->t->ops->gather_rows(run->t, out.data, table, stride, run->block.col, out.rows, s->cols);
    output_mat(run, out);
}

static void run_gather_halves(struct op_run *run)
{
    const struct shape *s = run->shape;
    const uint32_t stride = s->cols + (run->variant & 1 ? 3 : 0);
    const bool listed = run->variant & 2;
    const uint64_t count = (uint64_t)s->src * stride;
    uint16_t *const halves = malloc(count * sizeof *halves + 1);
    assert_non_null(halves);
    for (uint64_t k = 0; k < count; k++)
        halves[k] = (uint16_t)(gnn_rng_below(&run->rng, 1 << 16) & 0xbbff); /* finite, with subnormals */
    const uint16_t *const table = place(run, halves, count * sizeof *halves);
    const struct gnn_mat out = matrix(run, listed ? run->block.edge_count : s->src, s->cols);
    run->t->ops->gather_halves(run->t, out.data, table, stride, listed ? run->block.col : NULL, out.rows, s->cols);
    output_mat(run, out);
}

static void run_gemm(struct op_run *run)
{
    const struct shape *s = run->shape;
    const bool trans_a = run->variant & 1, trans_b = run->variant & 2;
    const uint32_t rows = s->src, inner = s->cols, cols = s->dst + 1;
    const struct gnn_mat a = trans_a ? matrix(run, inner, rows) : matrix(run, rows, inner);
    const struct gnn_mat b = trans_b ? matrix(run, cols, inner) : matrix(run, inner, cols);
    const struct gnn_mat c = matrix(run, rows, cols);
    if (run->variant & 4)
        run->t->ops->gemm(run->t, trans_a, trans_b, -0.5f, a, b, 0.25f, c);
    else
        run->t->ops->gemm(run->t, trans_a, trans_b, 1, a, b, 0, c);
    output_mat(run, c);
}

/* No rows to sum over: the product is zero, whatever was in c. */
static void run_gemm_inner_zero(struct op_run *run)
{
    const struct gnn_mat a = {vector(run, 0), 0, 7}, b = {vector(run, 0), 0, 5}, c = matrix(run, 7, 5);
    run->t->ops->gemm(run->t, true, false, 1, a, b, 0, c);
    output_mat(run, c);
}

static void run_add_bias(struct op_run *run)
{
    const struct gnn_mat z = matrix(run, run->shape->src, run->shape->cols);
    run->t->ops->add_bias(run->t, z, vector(run, z.cols));
    output_mat(run, z);
}

static void run_column_sum(struct op_run *run)
{
    const struct gnn_mat z = matrix(run, run->shape->src, run->shape->cols);
    gnn_real *out = vector(run, z.cols);
    run->t->ops->column_sum(run->t, out, z);
    output(run, out, z.cols);
}

static void run_add(struct op_run *run)
{
    const uint64_t count = (uint64_t)run->shape->src * run->shape->cols;
    gnn_real *dst = vector(run, count);
    run->t->ops->add(run->t, dst, vector(run, count), count);
    output(run, dst, count);
}

static void run_fill_copy(struct op_run *run)
{
    const uint64_t count = (uint64_t)run->shape->src * run->shape->cols;
    gnn_real *filled = vector(run, count), *copied = vector(run, count);
    run->t->ops->fill(run->t, filled, count, 3);
    run->t->ops->copy(run->t, copied, vector(run, count), count);
    output(run, filled, count);
    output(run, copied, count);
}

static void run_segment(struct op_run *run)
{
    const struct shape *s = run->shape;
    const enum gnn_reduce kind = (enum gnn_reduce)run->variant;
    const struct gnn_mat x = matrix(run, s->src, s->cols), out = matrix(run, s->dst, s->cols);
    const uint64_t count = (uint64_t)s->dst * s->cols;
    uint32_t *argmax = place(run, numbers(count), count * sizeof *argmax);
    run->t->ops->segment_reduce(run->t, kind, out, &run->block, x, kind == GNN_REDUCE_MAX ? argmax : NULL);
    output_mat(run, out);
    run->integers = argmax;
    run->integer_count = count;
}

static void run_segment_back(struct op_run *run)
{
    const struct shape *s = run->shape;
    const enum gnn_reduce kind = (enum gnn_reduce)run->variant;
    const struct gnn_mat dx = matrix(run, s->src, s->cols), dout = matrix(run, s->dst, s->cols);
    uint32_t *argmax = numbers((uint64_t)s->dst * s->cols);
    for (uint32_t i = 0; i < s->dst; i++)
        for (uint32_t c = 0; c < s->cols; c++) {
            const uint32_t start = run->block.row_start[i], degree = run->block.row_start[i + 1] - start;
            argmax[(uint64_t)i * s->cols + c] = degree == 0 ? GNN_NODE_NONE : run->block.col[start + c % degree];
        }
    argmax = place(run, argmax, (uint64_t)s->dst * s->cols * sizeof *argmax);
    run->t->ops->segment_reduce_back(run->t, kind, dx, &run->block, dout, kind == GNN_REDUCE_MAX ? argmax : NULL);
    output_mat(run, dx);
}

static void run_gcn_weights(struct op_run *run)
{
    gnn_real *weight = vector(run, run->block.edge_count), *sum = vector(run, run->shape->src);
    run->t->ops->gcn_weights(run->t, (enum gnn_gcn_norm)run->variant, weight, sum, &run->block);
    output(run, weight, run->block.edge_count);
}

static void run_spmm(struct op_run *run)
{
    const struct shape *s = run->shape;
    const struct gnn_mat x = matrix(run, s->src, s->cols), out = matrix(run, s->dst, s->cols);
    run->t->ops->spmm(run->t, out, &run->block, vector(run, run->block.edge_count), x);
    output_mat(run, out);
}

static void run_spmm_back(struct op_run *run)
{
    const struct shape *s = run->shape;
    const struct gnn_mat dx = matrix(run, s->src, s->cols), dout = matrix(run, s->dst, s->cols);
    run->t->ops->spmm_back(run->t, dx, &run->block, vector(run, run->block.edge_count), dout);
    output_mat(run, dx);
}

/* Scores of score_max at most. */
static struct gnn_attention attention(struct op_run *run, double score_max)
{
    const struct shape *s = run->shape;
    gnn_real *const scores = toy_reals(&run->rng, (uint64_t)s->src * s->heads, -score_max, score_max);
    return (struct gnn_attention){
        .heads = s->heads,
        .slope = 0.2f,
        .a_src = vector(run, (uint64_t)s->heads * s->cols),
        .a_dst = vector(run, (uint64_t)s->heads * s->cols),
        .u = matrix(run, s->src, s->heads * s->cols),
        .s = {place_reals(run, scores, (uint64_t)s->src * s->heads), s->src, s->heads},
        .d = matrix(run, s->dst, s->heads),
        .alpha = vector(run, ((uint64_t)run->block.edge_count + s->dst) * s->heads),
    };
}

static void run_gat_scores(struct op_run *run)
{
    const struct gnn_attention att = attention(run, 2);
    run->t->ops->gat_scores(run->t, &att);
    output_mat(run, att.s);
    output_mat(run, att.d);
}

static void run_gat_softmax(struct op_run *run)
{
    /* 2000: far beyond exp's range without the maximum taken off */
    const struct gnn_attention att = attention(run, run->variant == 1 ? 2000 : 2);
    run->t->ops->gat_softmax(run->t, &att, &run->block);
    output(run, att.alpha, ((uint64_t)run->block.edge_count + att.d.rows) * att.heads);
}

static void run_gat_attend(struct op_run *run)
{
    const struct gnn_attention att = attention(run, 2);
    const struct gnn_mat out = matrix(run, run->shape->dst, att.u.cols);
    run->t->ops->gat_attend(run->t, out, &att, &run->block);
    output_mat(run, out);
}

static void run_gat_back(struct op_run *run)
{
    const struct gnn_attention att = attention(run, 2);
    const uint64_t slots = (uint64_t)run->block.edge_count + att.d.rows;
    const struct gnn_attention_grad grad = {
        .du = matrix(run, att.u.rows, att.u.cols),
        .da_src = vector(run, att.u.cols),
        .da_dst = vector(run, att.u.cols),
        .ds = matrix(run, att.s.rows, att.heads),
        .dd = matrix(run, att.d.rows, att.heads),
        .dalpha = vector(run, slots * att.heads),
    };
    run->t->ops->gat_back(run->t, &grad, &att, &run->block, matrix(run, run->shape->dst, att.u.cols));
    output_mat(run, grad.du);
    output(run, grad.da_src, att.u.cols);
    output(run, grad.da_dst, att.u.cols);
}

/* ---- GAT on rows that all heads share ---- */

static struct gnn_attention rows_attention(struct op_run *run)
{
    struct gnn_attention att = attention(run, 2);
    att.u = matrix(run, run->shape->src, run->shape->cols);
    return att;
}

static void run_rows_scores(struct op_run *run)
{
    const struct gnn_attention att = rows_attention(run);
    run->t->ops->gat_rows->scores(run->t, &att);
    output_mat(run, att.s);
    output_mat(run, att.d);
}

static void run_rows_attend(struct op_run *run)
{
    const struct gnn_attention att = rows_attention(run);
    const struct gnn_mat out = matrix(run, run->shape->dst, att.heads * att.u.cols);
    run->t->ops->gat_rows->attend(run->t, out, &att, &run->block);
    output_mat(run, out);
}

/* Variant 1: nobody asks for the gradient of the rows. */
static void run_rows_back(struct op_run *run)
{
    const struct gnn_attention att = rows_attention(run);
    const uint32_t width = att.heads * att.u.cols;
    const struct gnn_attention_grad grad = {
        .du = run->variant == 1 ? (struct gnn_mat){0} : matrix(run, att.u.rows, att.u.cols),
        .da_src = vector(run, width),
        .da_dst = vector(run, width),
        .ds = matrix(run, att.s.rows, att.heads),
        .dd = matrix(run, att.d.rows, att.heads),
        .dalpha = vector(run, ((uint64_t)run->block.edge_count + att.d.rows) * att.heads),
    };
    run->t->ops->gat_rows->back(run->t, &grad, &att, &run->block, matrix(run, run->shape->dst, width));
    if (grad.du.data != NULL)
        output_mat(run, grad.du);
    output(run, grad.da_src, width);
    output(run, grad.da_dst, width);
}

/* One matrix for each head: side by side in rows that are longer than all of them, or one below the other. */
static struct gnn_head_mat head_mat(struct op_run *run, uint32_t rows, uint32_t cols, bool beside)
{
    const uint32_t heads = run->shape->heads, stride = beside ? heads * cols + 3 : cols;
    gnn_real *const data = vector(run, (uint64_t)rows * (beside ? stride : heads * cols));
    return (struct gnn_head_mat){
        .data = data, .rows = rows, .cols = cols, .stride = stride, .step = beside ? cols : (uint64_t)rows * cols};
}

/* Bits of the variant: both transpositions, a sum over heads, sums so long that they are cut. */
static void run_rows_product(struct op_run *run)
{
    const bool trans_a = run->variant & 1, trans_b = run->variant & 2, summed = run->variant & 4;
    const bool is_long = run->variant & 8;
    const uint32_t rows = is_long ? 9 : run->shape->src, cols = is_long ? 5 : run->shape->dst + 1;
    const uint32_t inner = is_long ? 4200 : run->shape->cols;
    const struct gnn_head_mat a = trans_a ? head_mat(run, inner, rows, true) : head_mat(run, rows, inner, true);
    const struct gnn_head_mat b = trans_b ? head_mat(run, cols, inner, false) : head_mat(run, inner, cols, false);
    struct gnn_head_mat c = head_mat(run, rows, cols, !trans_a);
    if (summed)
        c.step = 0;
    run->t->ops->gat_rows->product(run->t, run->shape->heads, trans_a, trans_b, -0.5f, a, b, trans_b ? 0.25f : 0, c);
    output(run, c.data, (uint64_t)rows * (trans_a ? run->shape->heads * cols : c.stride));
}

/* The same where kernels do it: no factor, more rows than a tile has, sums of all heads, and sums that are cut. */
static void run_rows_product_plain(struct op_run *run)
{
    const bool trans_a = run->variant & 1, trans_b = run->variant == 2 || run->variant == 6, summed = run->variant & 4;
    const uint32_t rows = trans_a ? 37 : 101, cols = 20, inner = trans_a ? 1300 : run->shape->cols;
    const struct gnn_head_mat a = trans_a ? head_mat(run, inner, rows, true) : head_mat(run, rows, inner, true);
    const struct gnn_head_mat b = trans_b ? head_mat(run, cols, inner, false) : head_mat(run, inner, cols, false);
    struct gnn_head_mat c = head_mat(run, rows, cols, true); /* side by side, so that rows are further apart */
    if (summed)
        c.step = 0;
    run->t->ops->gat_rows->product(run->t, run->shape->heads, trans_a, trans_b, 1, a, b,
                                   run->variant & 2 ? (gnn_real)1 : 0, c);
    output(run, c.data, (uint64_t)rows * c.stride);
}

/* Heads whose transposed b's are more than the back-end has room for. */
static void run_rows_product_wide(struct op_run *run)
{
    const uint32_t heads = 5, rows = 64, side = 256;
    const struct gnn_head_mat a = {matrix(run, rows, side).data, rows, side, side, 0};
    const struct gnn_head_mat b = {vector(run, (uint64_t)heads * side * side), side, side, side, (uint64_t)side * side};
    const struct gnn_head_mat c = {vector(run, (uint64_t)heads * rows * side), rows, side, side, (uint64_t)rows * side};
    run->t->ops->gat_rows->product(run->t, heads, false, true, 1, a, b, 0, c);
    output(run, c.data, (uint64_t)heads * rows * side);
}

static void run_head_mean(struct op_run *run)
{
    const struct shape *s = run->shape;
    const struct gnn_mat x = matrix(run, s->dst, s->heads * s->cols), out = matrix(run, s->dst, s->cols);
    run->t->ops->head_mean(run->t, out, x, s->heads);
    output_mat(run, out);
}

static void run_head_mean_back(struct op_run *run)
{
    const struct shape *s = run->shape;
    const struct gnn_mat dx = matrix(run, s->dst, s->heads * s->cols), dout = matrix(run, s->dst, s->cols);
    run->t->ops->head_mean_back(run->t, dx, dout, s->heads);
    output_mat(run, dx);
}

static const struct gnn_dropout drops[] = {{0, 5}, {0.5, 99}, {0.2, 1234567}};

static void run_activate(struct op_run *run)
{
    const struct gnn_mat z = matrix(run, run->shape->src, run->shape->cols);
    const gnn_real *bias = run->variant % 2 == 0 ? NULL : vector(run, z.cols);
    run->t->ops->activate(run->t, (enum gnn_activation)(run->variant % 3), z, bias, &drops[run->variant / 3]);
    output_mat(run, z);
}

static void run_activate_back(struct op_run *run)
{
    const enum gnn_activation act = (enum gnn_activation)(run->variant % 3);
    const struct gnn_dropout *drop = &drops[run->variant / 3];
    const uint64_t count = (uint64_t)run->shape->src * run->shape->cols;
    struct gnn_mat y = {toy_reals(&run->rng, count, -2, 2), run->shape->src, run->shape->cols};
    gnn_tensor_ref.activate(NULL, act, y, NULL, drop);
    y.data = place_reals(run, y.data, count);
    const struct gnn_mat dy = matrix(run, y.rows, y.cols);
    run->t->ops->activate_back(run->t, act, dy, y, drop);
    output_mat(run, dy);
}

static void run_softmax_nll(struct op_run *run)
{
    const uint64_t count = (uint64_t)run->shape->src * run->shape->cols;
    const double widest = run->variant == 1 ? 800 : 2;
    struct gnn_mat logits = {toy_reals(&run->rng, count, -widest, widest), run->shape->src, run->shape->cols};
    for (uint64_t k = 0; run->variant == 2 && k < count; k++)
        logits.data[k] = roundf(logits.data[k]); /* ties */
    logits.data = place_reals(run, logits.data, count);
    int32_t *labels = toy_labels(&run->rng, logits.rows, logits.cols);
    double loss = -1;
    run->t->ops->softmax_nll(run->t, logits, labels, &loss, &run->exact);
    free(labels);
    gnn_real *back = toy_reals(&run->rng, 1, 0, 0);
    back[0] = (gnn_real)loss;
    output(run, place_reals(run, back, 1), 1);
    output_mat(run, logits);
}

static void run_adam(struct op_run *run)
{
    const uint64_t count = (uint64_t)run->shape->src * run->shape->cols;
    gnn_real *param = vector(run, count), *grad = vector(run, count), *m = vector(run, count);
    gnn_real *v = place_reals(run, toy_reals(&run->rng, count, 0, 1), count);
    const struct gnn_adam adam = {.lr = 0.003,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8,
                                  .weight_decay = run->variant * 0.1,
                                  .step = 1 + run->variant * 999};
    run->t->ops->adam(run->t, param, grad, m, v, count, &adam);
    output(run, param, count);
    output(run, m, count);
    output(run, v, count);
}

/* ---- link prediction ---- */

/* Of vectors: ComplEx takes an even number. */
static uint32_t link_cols(const struct op_run *run)
{
    return run->variant == GNN_DECODER_COMPLEX ? 2 * run->shape->cols : run->shape->cols;
}

static void run_link_combine(struct op_run *run)
{
    const uint32_t rows = run->shape->src, cols = link_cols(run);
    const struct gnn_mat q = matrix(run, rows, cols), a = matrix(run, rows, cols), r = matrix(run, rows, cols);
    run->t->ops->link->combine(run->t, (enum gnn_decoder)run->variant, q, a, r);
    output_mat(run, q);
}

static void run_link_combine_back(struct op_run *run)
{
    const uint32_t rows = run->shape->src, cols = link_cols(run);
    const struct gnn_mat da = matrix(run, rows, cols), dr = matrix(run, rows, cols), dq = matrix(run, rows, cols);
    const struct gnn_mat a = matrix(run, rows, cols), r = matrix(run, rows, cols);
    run->t->ops->link->combine_back(run->t, (enum gnn_decoder)run->variant, da, dr, dq, a, r);
    output_mat(run, da);
    output_mat(run, dr);
}

static void run_link_pair_scores(struct op_run *run)
{
    const uint32_t rows = run->shape->src, cols = link_cols(run);
    const struct gnn_mat q = matrix(run, rows, cols), x = matrix(run, rows, cols);
    gnn_real *const out = vector(run, rows);
    run->t->ops->link->pair_scores(run->t, (enum gnn_decoder)run->variant, out, q, x);
    output(run, out, rows);
}

static void run_link_pair_scores_back(struct op_run *run)
{
    const uint32_t rows = run->shape->src, cols = link_cols(run);
    const struct gnn_mat dq = matrix(run, rows, cols), dx = matrix(run, rows, cols);
    const struct gnn_mat q = matrix(run, rows, cols), x = matrix(run, rows, cols);
    run->t->ops->link->pair_scores_back(run->t, (enum gnn_decoder)run->variant, dq, dx, vector(run, rows), q, x);
    output_mat(run, dq);
    output_mat(run, dx);
}

/* Queries of 5 and more columns: one number may lie so near another that its square is all rounding. */
static void run_link_distances(struct op_run *run)
{
    const uint32_t cols = run->shape->cols + 4;
    const struct gnn_mat q = matrix(run, run->shape->src, cols), x = matrix(run, run->shape->dst + 1, cols);
    const struct gnn_mat scores = matrix(run, q.rows, x.rows);
    run->t->ops->gemm(run->t, false, true, 1, q, x, 0, scores);
    run->t->ops->link->distances(run->t, scores, q, x);
    output_mat(run, scores);
}

static void run_link_distances_back(struct op_run *run)
{
    const struct gnn_mat q = matrix(run, run->shape->src, run->shape->cols);
    const struct gnn_mat x = matrix(run, run->shape->dst + 1, run->shape->cols);
    const struct gnn_mat dq = matrix(run, q.rows, q.cols), dx = matrix(run, x.rows, x.cols);
    const uint64_t count = (uint64_t)q.rows * x.rows;
    gnn_real *const far = toy_reals(&run->rng, count, -4, -0.5);
    for (uint64_t k = 0; k < count; k += 7)
        far[k] = 0; /* equal rows */
    const struct gnn_mat scores = {place_reals(run, far, count), q.rows, x.rows}, g = matrix(run, q.rows, x.rows);
    run->t->ops->link->distances_back(run->t, g, scores, q, x, dq, dx);
    output_mat(run, g);
    output_mat(run, dq);
    output_mat(run, dx);
}

/* Variant 1: beyond exp's range without the maximum taken off. Every third candidate is somebody's own end. */
static void run_link_loss(struct op_run *run)
{
    const uint32_t rows = run->shape->src, cols = run->shape->dst + 1;
    const double widest = run->variant == 1 ? 300 : 2;
    const uint64_t count = (uint64_t)rows * cols;
    const struct gnn_mat scores = {place_reals(run, toy_reals(&run->rng, count, -widest, widest), count), rows, cols};
    gnn_real *const positive = place_reals(run, toy_reals(&run->rng, rows, -widest, widest), rows);
    uint32_t *const own = numbers(cols);
    for (uint32_t j = 0; j < cols; j++)
        own[j] = j % 3 == 0 && rows > 0 ? (uint32_t)gnn_rng_below(&run->rng, rows) : GNN_NODE_NONE;
    double loss = 0.5;
    run->t->ops->link->loss(run->t, scores, positive, own, &loss);
    run->t->ops->link->loss(run->t, (struct gnn_mat){scores.data, 0, cols}, positive, own, &loss); /* adds nothing */
    run->t->ops->synchronize(run->t);
    free(own);
    gnn_real *const back = toy_reals(&run->rng, 1, 0, 0);
    back[0] = (gnn_real)loss;
    output(run, place_reals(run, back, 1), 1);
    output_mat(run, scores);
    output(run, positive, rows);
}

static void run_link_scatter_add(struct op_run *run)
{
    const struct gnn_mat table = matrix(run, run->shape->src, run->shape->cols);
    const struct gnn_mat x = matrix(run, run->block.edge_count, run->shape->cols);
    run->t->ops->link->scatter_add(run->t, table.data, run->block.col, x);
    output_mat(run, table);
}

static void run_link_adagrad(struct op_run *run)
{
    const uint64_t count = (uint64_t)run->shape->src * run->shape->cols;
    gnn_real *const value = vector(run, count), *const grad = vector(run, count);
    gnn_real *const state = place_reals(run, toy_reals(&run->rng, count, 0, 1), count);
    const struct gnn_adagrad adagrad = {.lr = 0.1, .eps = 1e-10};
    run->t->ops->link->adagrad(run->t, value, grad, state, count, &adagrad);
    output(run, value, count);
    output(run, state, count);
}

static void run_link_cubes_back(struct op_run *run)
{
    const uint32_t rows = run->shape->src, cols = link_cols(run);
    const struct gnn_mat dx = matrix(run, rows, cols), x = matrix(run, rows, cols);
    run->t->ops->link->cubes_back(run->t, (enum gnn_decoder)run->variant, dx, 0.3, x);
    output_mat(run, dx);
}

struct op_case {
    const char *name;
    size_t hook; /* offset in struct gnn_tensor_ops */
    void (*run)(struct op_run *run);
    uint32_t variants;
    double tolerance; /* of the largest magnitude in the output */
    double fused;     /* likewise, where a product and the sum it goes into are rounded once */
    const char *why;
};

#define HOOK(field) offsetof(struct gnn_tensor_ops, field)
static const struct op_case ops[] = {
    {"gather_rows", HOOK(gather_rows), run_gather, 2, 0, 0, "moves bytes"},
    {"gather_halves", HOOK(gather_halves), run_gather_halves, 4, 0, 0, "every half is a float"},
    {"gemm", HOOK(gemm), run_gemm, 8, 2e-6, 2e-6, "float sums of up to 515 products"},
    {"gemm over 0", HOOK(gemm), run_gemm_inner_zero, 1, 0, 0, "an empty sum"},
    {"add_bias", HOOK(add_bias), run_add_bias, 1, 0, 0, "one addition"},
    {"column_sum", HOOK(column_sum), run_column_sum, 1, 2e-6, 2e-6, "blocks of 64 rows in float"},
    {"add", HOOK(add), run_add, 1, 0, 0, "one addition"},
    {"fill, copy", HOOK(fill), run_fill_copy, 1, 0, 0, "moves bytes"},
    {"segment_reduce", HOOK(segment_reduce), run_segment, 3, 0, 1e-6, "same order of additions"},
    {"segment_reduce_back", HOOK(segment_reduce_back), run_segment_back, 3, 0, 1e-6, "same order of additions"},
    {"gcn_weights", HOOK(gcn_weights), run_gcn_weights, 2, 1e-6, 1e-6, "two roots"},
    {"spmm", HOOK(spmm), run_spmm, 1, 0, 1e-6, "same order of additions"},
    {"spmm_back", HOOK(spmm_back), run_spmm_back, 1, 0, 1e-6, "same order of additions"},
    {"gat_scores", HOOK(gat_scores), run_gat_scores, 1, 2e-6, 2e-6, "16 partial sums"},
    {"gat_softmax", HOOK(gat_softmax), run_gat_softmax, 2, 1e-6, 5e-5,
     "own exponential; fused: half an ulp of a score of 2000"},
    {"gat_attend", HOOK(gat_attend), run_gat_attend, 1, 0, 1e-6, "same order of additions"},
    {"gat_back", HOOK(gat_back), run_gat_back, 1, 5e-6, 5e-6, "differences of float dot products"},
    {"gat_rows: scores", HOOK(gat_rows), run_rows_scores, 1, 2e-6, 2e-6, "16 partial sums"},
    {"gat_rows: attend", HOOK(gat_rows), run_rows_attend, 1, 0, 1e-6, "same order of additions"},
    {"gat_rows: back", HOOK(gat_rows), run_rows_back, 2, 5e-6, 5e-6, "differences of float dot products"},
    {"gat_rows: product", HOOK(gat_rows), run_rows_product, 16, 5e-6, 5e-6, "float sums of up to 4 times 4200"},
    {"gat_rows: product, plain", HOOK(gat_rows), run_rows_product_plain, 8, 5e-6, 5e-6,
     "float sums of up to 4 times 1300"},
    {"gat_rows: product, wide", HOOK(gat_rows), run_rows_product_wide, 1, 2e-6, 2e-6, "float sums of 256"},
    {"head_mean", HOOK(head_mean), run_head_mean, 1, 1e-6, 1e-6, "division by the heads"},
    {"head_mean_back", HOOK(head_mean_back), run_head_mean_back, 1, 1e-6, 1e-6, "division by the heads"},
    {"activate", HOOK(activate), run_activate, 9, 3e-7, 5e-7, "own exponential"},
    {"activate_back", HOOK(activate_back), run_activate_back, 9, 1e-7, 3e-7, "products in another order"},
    {"softmax_nll", HOOK(softmax_nll), run_softmax_nll, 3, 2e-6, 2e-6, "float softmax"},
    {"adam", HOOK(adam), run_adam, 2, 1e-6, 1e-6, "root and division"},
    {"link: combine", HOOK(link), run_link_combine, 3, 3e-7, 5e-7, "two products, subtracted"},
    {"link: combine_back", HOOK(link), run_link_combine_back, 3, 3e-7, 5e-7, "two products, added"},
    {"link: pair_scores", HOOK(link), run_link_pair_scores, 3, 3e-6, 3e-6, "float sums of up to 1030 products"},
    {"link: pair_scores_back", HOOK(link), run_link_pair_scores_back, 3, 3e-6, 3e-6, "a distance in float"},
    {"link: distances", HOOK(link), run_link_distances, 1, 1e-4, 1e-4, "differences of squares in float"},
    {"link: distances_back", HOOK(link), run_link_distances_back, 1, 5e-6, 5e-6, "float sums over rows and columns"},
    {"link: loss", HOOK(link), run_link_loss, 2, 3e-6, 3e-6, "own exponential"},
    {"link: scatter_add", HOOK(link), run_link_scatter_add, 1, 0, 0, "same order of additions"},
    {"link: adagrad", HOOK(link), run_link_adagrad, 1, 1e-6, 1e-6, "root and division"},
    {"link: cubes_back", HOOK(link), run_link_cubes_back, 3, 1e-6, 1e-6, "a root and three products"},
};
enum { OPS = sizeof ops / sizeof *ops, SHAPES = sizeof shapes / sizeof *shapes };

/* ---- comparison ---- */

/* Downloads what the op wrote and frees what it was given. */
static void collect(struct op_run *run)
{
    const struct gnn_tensor_ops *const table = run->t->ops;
    for (uint32_t o = 0; o < run->output_count; o++) {
        const uint64_t bytes = run->output[o].count * sizeof(gnn_real);
        run->output[o].data = malloc(bytes + 1);
        assert_non_null(run->output[o].data);
        table->download(run->t, run->output[o].data, run->output[o].device, bytes);
    }
    uint32_t *const integers = numbers(run->integer_count);
    if (run->integers != NULL)
        table->download(run->t, integers, run->integers, run->integer_count * sizeof *integers);
    for (uint64_t k = 0; k < run->integer_count; k++)
        run->exact = run->exact * 31 + integers[k];
    free(integers);
    for (uint32_t k = 0; k < run->scratch_count; k++)
        table->free(run->t, run->scratch[k]);
}

/* The second source of a row is the first one again; the last two change places. */
static void repeat_sources(const struct gnn_block *b)
{
    for (uint32_t i = 0; i < b->dst_count; i++) {
        uint32_t *const row = (uint32_t *)(uintptr_t)b->col + b->row_start[i];
        const uint32_t degree = b->row_start[i + 1] - b->row_start[i], last = degree > 0 ? row[degree - 1] : 0;
        if (degree >= 2)
            row[1] = row[0];
        if (degree >= 4) {
            row[degree - 1] = row[degree - 2];
            row[degree - 2] = last;
        }
    }
}

/* One source of every row is a hub. A source stays in a row once. */
static void add_hubs(const struct gnn_block *b)
{
    enum { HUB = 5 };
    for (uint32_t i = 0; i < b->dst_count; i++) {
        uint32_t *const row = (uint32_t *)(uintptr_t)b->col + b->row_start[i];
        const uint32_t degree = b->row_start[i + 1] - b->row_start[i], hub = HUB + (i % 4 == 3);
        bool there = false;
        for (uint32_t k = 0; k < degree; k++)
            there = there || row[k] == hub;
        if (!there && degree > 0)
            row[i % degree] = hub;
    }
}

static void run_once(struct op_run *run, struct gnn_tensor *t, const struct op_case *op, const struct shape *shape,
                     uint32_t variant)
{
    *run =
        (struct op_run){.t = t, .backend = t->ops->name, .shape = shape, .rng = gnn_rng_at(SEED), .variant = variant};
    run->block = toy_block(&run->rng, shape->dst, shape->src, shape->degree);
    if (shape->form == REPEATS)
        repeat_sources(&run->block);
    if (shape->form == HUBS)
        add_hubs(&run->block);
    op->run(run);
    t->ops->synchronize(t);
    collect(run);
    struct gnn_err err = {0};
    if (t->ops->check != NULL && t->ops->check(t, &err) != GNN_OK)
        fail_msg("%s on %s: %s", op->name, run->backend, err.message);
}

static void run_free(struct op_run *run)
{
    toy_block_free(&run->block);
    for (uint32_t o = 0; o < run->output_count; o++)
        free(run->output[o].data);
}

static void compare(const struct op_case *op, double tolerance, const struct op_run *got, const struct op_run *want)
{
    const char *backend = got->backend;
    const unsigned shape = (unsigned)(got->shape - shapes);
    assert_int_equal(got->output_count, want->output_count);
    if (got->exact != want->exact)
        fail_msg("%s on %s, shape %u, variant %u: integers differ", op->name, backend, shape, got->variant);
    for (uint32_t o = 0; o < want->output_count; o++) {
        double scale = 0;
        for (uint64_t k = 0; k < want->output[o].count; k++)
            scale = fmax(scale, fabs((double)want->output[o].data[k]));
        for (uint64_t k = 0; k < want->output[o].count; k++) {
            const double a = (double)got->output[o].data[k], b = (double)want->output[o].data[k];
            if (!(fabs(a - b) <= tolerance * scale))
                fail_msg("%s on %s, shape %u, variant %u, output %u[%llu]: %.9g, reference %.9g, scale %.3g", op->name,
                         backend, shape, got->variant, o, (unsigned long long)k, a, b, scale);
        }
    }
}

/* The one op of links that a back-end may lack. */
static bool lacks_cubes(const struct gnn_tensor_ops *table, const struct op_case *op)
{
    return op->run == run_link_cubes_back && table->link->cubes_back == NULL;
}

static double tolerance_of(const struct op_case *op, enum op_rounding rounding, const struct shape *shape)
{
    static const double in_pieces = 2e-6; /* of float sums of 500 reals in two orders */
    const double tolerance = rounding == OP_ROUNDING_FUSED ? op->fused : op->tolerance;
    return shape->form == HUBS && rounding != OP_ROUNDING_TWICE ? fmax(tolerance, in_pieces) : tolerance;
}

static bool hook_missing(const struct gnn_tensor_ops *table, const struct op_case *op)
{
    void (*hook)(void);
    memcpy(&hook, (const char *)table + op->hook, sizeof hook);
    const bool missing = hook == NULL || lacks_cubes(table, op);
    if (missing)
        (void)printf("skipped: %s has no %s\n", table->name, op->name);
    return missing;
}

void op_cases_against_reference(const struct gnn_tensor_ops *table, enum op_rounding rounding)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *ref = toy_tensor_open(&gnn_tensor_ref, &memory, 1), *t = toy_tensor_open(table, &memory, 1);
    for (const struct op_case *op = ops; op < ops + OPS; op++) {
        if (hook_missing(table, op))
            continue;
        for (uint32_t s = 0; s < SHAPES; s++)
            for (uint32_t variant = 0; variant < op->variants; variant++) {
                struct op_run got, want;
                run_once(&got, t, op, &shapes[s], variant);
                run_once(&want, ref, op, &shapes[s], variant);
                compare(op, tolerance_of(op, rounding, &shapes[s]), &got, &want);
                run_free(&got);
                run_free(&want);
            }
    }
    t->ops->close(t);
    ref->ops->close(ref);
}

static bool same_bits(const struct op_run *a, const struct op_run *b)
{
    for (uint32_t o = 0; o < a->output_count; o++)
        if (a->output[o].count > 0 &&
            memcmp(a->output[o].data, b->output[o].data, a->output[o].count * sizeof(gnn_real)) != 0)
            return false;
    return true;
}

void op_cases_same_bits(const struct gnn_tensor_ops *table, bool on_threads)
{
    static const struct shape big = {700, 3000, 256, 2, {0, 10}, PLAIN};
#ifdef __SANITIZE_THREAD__
    static const uint32_t threads[] = {1, 1, 1, 1}; /* OpenBLAS is not instrumented: its own threads look like races */
#else
    static const uint32_t threads[] = {1, 1, 2, 2};
#endif
    const uint32_t runs = on_threads ? 4 : 2;
    for (const struct op_case *op = ops; op < ops + OPS; op++) {
        struct toy_memory memory = {0};
        struct op_run run[4];
        if (hook_missing(table, op))
            continue;
        for (uint32_t r = 0; r < runs; r++) {
            struct gnn_tensor *t = toy_tensor_open(table, &memory, threads[r]);
            run_once(&run[r], t, op, &big, 0);
            t->ops->close(t);
        }
        if (!same_bits(&run[0], &run[1]) || (on_threads && !same_bits(&run[2], &run[3])))
            fail_msg("%s on %s: a second run gives other bits", op->name, table->name);
        if (on_threads && !same_bits(&run[0], &run[2]))
            (void)printf("%s on %s: two threads give other bits than one\n", op->name, table->name);
        for (uint32_t r = 0; r < runs; r++)
            run_free(&run[r]);
    }
}

void op_cases_same_bits_on_threads(const struct gnn_tensor_ops *table)
{
    /* rows enough for loops to be shared, of even and odd lengths; one with repeated sources */
    static const struct shape wide[] = {{600, 1500, 128, 2, {0, 10}, PLAIN}, {520, 2100, 67, 3, {1, 9}, REPEATS}};
    static const uint32_t threads[] = {1, 2, 3, 5};
    for (const struct op_case *op = ops; op < ops + OPS; op++)
        for (uint32_t s = 0; s < sizeof wide / sizeof *wide; s++)
            for (uint32_t variant = 0; variant < op->variants; variant++) {
                struct op_run run[4];
                for (uint32_t r = 0; r < 4; r++) {
                    struct toy_memory memory = {0};
                    struct gnn_tensor *t = toy_tensor_open(table, &memory, threads[r]);
                    run_once(&run[r], t, op, &wide[s], variant);
                    t->ops->close(t);
                    assert_int_equal(memory.current_bytes, 0);
                }
                for (uint32_t r = 1; r < 4; r++)
                    if (!same_bits(&run[0], &run[r]) || run[0].exact != run[r].exact)
                        fail_msg("%s on %s, shape %u, variant %u: %u threads give other bits than one", op->name,
                                 table->name, s, variant, threads[r]);
                for (uint32_t r = 0; r < 4; r++)
                    run_free(&run[r]);
            }
}

void op_cases_pass_nan_on(const struct gnn_tensor_ops *table)
{
    enum { ROWS = 3, COLS = 5, COUNT = ROWS * COLS, BAD = 7 };
    static const struct gnn_dropout keep_all = {.rate = 0};
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(table, &memory, 1);
    void *z;
    assert_int_equal(t->ops->alloc(t, "z", COUNT * sizeof(gnn_real), &z, NULL), GNN_OK);
    for (int act = GNN_ACT_NONE; act <= GNN_ACT_ELU; act++) {
        gnn_real values[COUNT];
        for (int k = 0; k < COUNT; k++)
            values[k] = k == BAD ? (gnn_real)NAN : (gnn_real)(k - BAD);
        t->ops->upload(t, z, values, sizeof values);
        t->ops->activate(t, (enum gnn_activation)act, (struct gnn_mat){z, ROWS, COLS}, NULL, &keep_all);
        t->ops->download(t, values, z, sizeof values);
        for (int k = 0; k < COUNT; k++)
            if (isnan(values[k]) != (k == BAD))
                fail_msg("activation %d on %s: element %d became %g", act, table->name, k, (double)values[k]);
    }
    t->ops->free(t, z);
    t->ops->close(t);
}
