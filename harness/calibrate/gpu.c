/* SPDX-License-Identifier: MIT */
/* Every time is a difference of two runs of the same op, one twice as long: what a run costs besides its ops (an upload
 * of a block, waiting for the last op) falls out. */
#include "harness/calibrate/gpu.h"

#include "harness/base/rng.h"
#include "harness/tensor/modelled/cost.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 65536, /* of a product, and of the targets of a block */
    COLS = 256,
    FAN = 10,
    SOURCES = 8 * ROWS, /* 512 MiB of rows: more than a GPU caches */
    DIVISOR_MAX = 256,
    ROUNDS = 8,
    LAUNCHES = 2000,
    COPY_BYTES = 64 << 20,
    SMALL_BYTES = 4096
};
_Static_assert(SOURCES / DIVISOR_MAX >= FAN, "a block draws ten different sources, one of each tenth");

struct bench {
    const struct gnn_gpu_bench *config;
    struct gnn_tensor *t;
    struct gnn_gpu_figures *out;
    uint32_t rows, sources;    /* ROWS and SOURCES, or a part of them */
    gnn_real *x, *y;           /* (sources, COLS), (2 * rows, COLS) */
    gnn_real *w, *dw;          /* (COLS, COLS): read, and written */
    uint32_t *row_start, *col; /* of the block; col names rows of x too */
    struct gnn_block block;
    char *host;   /* (copy_bytes) */
    char *pinned; /* (copy_bytes), registered; NULL until then */
    uint64_t copy_bytes;
};

/* One op, or one copy, of which many are timed. */
typedef void op_fn(const struct bench *b);

static struct gnn_mat mat(gnn_real *data, uint32_t rows, uint32_t cols)
{
    return (struct gnn_mat){.data = data, .rows = rows, .cols = cols};
}

static double run_ns(const struct bench *b, op_fn *op, uint32_t count)
{
    b->t->ops->synchronize(b->t);
    const uint64_t start_ns = b->config->now_ns(b->config->ctx);
    for (uint32_t i = 0; i < count; i++)
        op(b);
    b->t->ops->upload_wait(b->t, 0);
    b->t->ops->synchronize(b->t);
    return (double)(b->config->now_ns(b->config->ctx) - start_ns);
}

/* Nanoseconds of one op; a clock too coarse for it gives 0. */
static double op_ns(const struct bench *b, op_fn *op, uint32_t count)
{
    const double once_ns = run_ns(b, op, count), twice_ns = run_ns(b, op, 2 * count);
    return fmax(twice_ns - once_ns, 0) / count;
}

/* Of a clock that stood still: 0, which check_figures refuses. */
static double per_second(double amount, double ns)
{
    return ns > 0 ? amount / ns * 1e9 : 0;
}

static double ns_at(double amount, double rate)
{
    return rate > 0 ? amount / rate * 1e9 : 0;
}

/* ---- what is timed ---- */

static void one_number(const struct bench *b)
{
    b->t->ops->fill(b->t, b->y, 1, 1);
}

static void product(const struct bench *b)
{
    b->t->ops->gemm(b->t, false, false, 1, mat(b->x, b->rows, COLS), mat(b->w, COLS, COLS), 0,
                    mat(b->y, b->rows, COLS));
}

static void product_weights(const struct bench *b)
{
    b->t->ops->gemm(b->t, true, false, 1, mat(b->x, b->rows, COLS), mat(b->y, b->rows, COLS), 0,
                    mat(b->dw, COLS, COLS));
}

static void product_input(const struct bench *b)
{
    b->t->ops->gemm(b->t, false, true, 1, mat(b->x, b->rows, COLS), mat(b->w, COLS, COLS), 0, mat(b->y, b->rows, COLS));
}

static void stream(const struct bench *b)
{
    b->t->ops->add(b->t, b->y, b->x, (uint64_t)2 * b->rows * COLS);
}

/* Half of the rows to the other half: 256 MiB are read and as many written. */
static uint64_t copied_reals(const struct bench *b)
{
    return (uint64_t)b->sources / 2 * COLS;
}

static void device_copy(const struct bench *b)
{
    b->t->ops->copy(b->t, b->x + copied_reals(b), b->x, copied_reals(b));
}

static void means(const struct bench *b)
{
    b->t->ops->segment_reduce(b->t, GNN_REDUCE_MEAN, mat(b->y, b->rows, COLS), &b->block, mat(b->x, b->sources, COLS),
                              NULL);
}

static void pinned_copy(const struct bench *b)
{
    b->t->ops->upload_async(b->t, 0, b->x, b->pinned, b->copy_bytes);
}

static void pageable_copy(const struct bench *b)
{
    b->t->ops->upload(b->t, b->x, b->host, b->copy_bytes);
}

static void small_copy(const struct bench *b)
{
    b->t->ops->upload(b->t, b->x, b->host, SMALL_BYTES);
}

/* ---- fitting ---- */

static uint32_t launches_of(const struct bench *b)
{
    return gnn_max_u32(LAUNCHES / b->config->divisor, ROUNDS);
}

static enum gnn_status launch_once(void *ctx, double *values, struct gnn_err *err)
{
    (void)err;
    values[0] = op_ns(ctx, one_number, launches_of(ctx));
    return GNN_OK;
}

static enum gnn_status gemm_once(void *ctx, double *values, struct gnn_err *err)
{
    const struct bench *const b = ctx;
    (void)err;
    const double ns = op_ns(b, product, ROUNDS) + op_ns(b, product_weights, ROUNDS) + op_ns(b, product_input, ROUNDS);
    values[0] = per_second(3.0 * 2.0 * b->rows * COLS * COLS, ns);
    return GNN_OK;
}

/* Sums, and the faster of sums and copies: a slow kernel of ours does not lower what the memory can do. */
static enum gnn_status stream_once(void *ctx, double *values, struct gnn_err *err)
{
    const struct bench *const b = ctx;
    (void)err;
    const struct gnn_cost sums = gnn_cost_add((uint64_t)2 * b->rows * COLS), copies = gnn_cost_copy(copied_reals(b));
    values[0] = per_second((double)sums.stream_bytes, op_ns(b, stream, ROUNDS));
    values[1] = fmax(values[0], per_second((double)copies.stream_bytes, op_ns(b, device_copy, ROUNDS)));
    return GNN_OK;
}

/* What a mean writes, and the block it reads, is taken off at the rate of streams. */
static enum gnn_status gather_once(void *ctx, double *values, struct gnn_err *err)
{
    const struct bench *const b = ctx;
    (void)err;
    const struct gnn_cost cost = gnn_cost_segment_reduce(GNN_REDUCE_MEAN, &b->block, COLS);
    const double ns = op_ns(b, means, ROUNDS);
    const double streamed_ns = ns_at((double)cost.stream_bytes, b->out->bandwidth.value);
    values[0] = per_second((double)cost.gather_bytes, fmax(ns - streamed_ns, ns / 4));
    return GNN_OK;
}

static enum gnn_status copies_once(void *ctx, double *values, struct gnn_err *err)
{
    const struct bench *const b = ctx;
    (void)err;
    const double bytes = (double)b->copy_bytes;
    const double large_ns = op_ns(b, pageable_copy, ROUNDS), small_ns = op_ns(b, small_copy, launches_of(b));
    values[0] = per_second(bytes, op_ns(b, pinned_copy, ROUNDS));
    values[1] = per_second(bytes - SMALL_BYTES, large_ns - small_ns);
    values[2] = fmax(small_ns - ns_at(SMALL_BYTES, values[1]) - b->out->launch.value, 1);
    return GNN_OK;
}

static enum gnn_status fit(struct bench *b, struct gnn_err *err)
{
    struct gnn_gpu_figures *const out = b->out;
    const uint32_t repeats = b->config->repeats;
    struct gnn_figure copies[3], streams[2];
    GNN_TRY(gnn_figures_measure(launch_once, b, repeats, 1, &out->launch, err));
    GNN_TRY(gnn_figures_measure(gemm_once, b, repeats, 1, &out->gemm, err));
    GNN_TRY(gnn_figures_measure(stream_once, b, repeats, 2, streams, err));
    out->sums = streams[0];
    out->bandwidth = streams[1];
    GNN_TRY(gnn_figures_measure(gather_once, b, repeats, 1, &out->gather, err));
    GNN_TRY(gnn_figures_measure(copies_once, b, repeats, 3, copies, err));
    out->pinned = copies[0];
    out->pageable = copies[1];
    out->latency = copies[2];
    return GNN_OK;
}

/* ---- shapes that nothing was fitted to ---- */

static void other_product(const struct bench *b)
{
    b->t->ops->gemm(b->t, false, false, 1, mat(b->x, b->rows * 3 / 4, COLS / 2), mat(b->w, COLS / 2, 192), 0,
                    mat(b->y, b->rows * 3 / 4, 192));
}

static void other_gradient(const struct bench *b)
{
    b->t->ops->gemm(b->t, true, false, 1, mat(b->x, b->rows / 2, COLS), mat(b->y, b->rows / 2, COLS / 2), 0,
                    mat(b->dw, COLS, COLS / 2));
}

static void other_stream(const struct bench *b)
{
    b->t->ops->add(b->t, b->y, b->x, (uint64_t)b->rows * COLS);
}

static void other_sum(const struct bench *b)
{
    b->t->ops->segment_reduce(b->t, GNN_REDUCE_SUM, mat(b->y, b->rows, COLS / 2), &b->block,
                              mat(b->x, b->sources, COLS / 2), NULL);
}

static void weighted_sum(const struct bench *b)
{
    b->t->ops->spmm(b->t, mat(b->y, b->rows, COLS), &b->block, b->y + (uint64_t)b->rows * COLS,
                    mat(b->x, b->sources, COLS));
}

static void activation(const struct bench *b)
{
    static const struct gnn_dropout half = {.rate = 0.5, .key = 1};
    b->t->ops->activate(b->t, GNN_ACT_RELU, mat(b->y, b->rows, COLS), b->w, &half);
}

static void other_pinned(const struct bench *b)
{
    b->t->ops->upload_async(b->t, 0, b->x, b->pinned, b->copy_bytes / 8);
}

static void other_pageable(const struct bench *b)
{
    b->t->ops->upload(b->t, b->x, b->host, b->copy_bytes / 8);
}

/* Ops that follow each other: the stream works while the next is launched. */
static double predict_op(const struct bench *b, struct gnn_cost cost)
{
    const struct gnn_gpu_figures *const f = b->out;
    const struct gnn_roof roof = {.flops_per_s = (uint64_t)f->gemm.value,
                                  .stream_bytes_per_s = (uint64_t)f->bandwidth.value,
                                  .gather_bytes_per_s = (uint64_t)f->gather.value,
                                  .gemm_tile = GNN_GPU_TILE};
    return fmax((double)gnn_cost_ns(&cost, &roof), cost.launches * f->launch.value);
}

struct held_out {
    const struct bench *bench;
    op_fn *op;
};

static enum gnn_status check_one(void *ctx, double *values, struct gnn_err *err)
{
    const struct held_out *const h = ctx;
    (void)err;
    values[0] = op_ns(h->bench, h->op, ROUNDS);
    return GNN_OK;
}

static enum gnn_status check(struct bench *b, const char *what, op_fn *op, double predicted_ns, struct gnn_err *err)
{
    struct held_out h = {.bench = b, .op = op};
    struct gnn_figure seen;
    assert(b->out->check_count < GNN_GPU_CHECKS_MAX);
    GNN_TRY(gnn_figures_measure(check_one, &h, b->config->repeats, 1, &seen, err));
    b->out->checks[b->out->check_count++] =
        (struct gnn_check){.what = what, .predicted_ns = predicted_ns, .measured_ns = seen.value};
    return GNN_OK;
}

static enum gnn_status verify(struct bench *b, struct gnn_err *err)
{
    const uint32_t rows = b->rows;
    const double pinned_ns = (double)b->copy_bytes / 8 / b->out->pinned.value * 1e9;
    const double pageable_ns = (double)b->copy_bytes / 8 / b->out->pageable.value * 1e9;
    const double copied_ns = pageable_ns + b->out->latency.value + b->out->launch.value;
    GNN_TRY(check(b, "a product of 128 by 192 columns", other_product,
                  predict_op(b, gnn_cost_gemm(rows * 3 / 4, 192, COLS / 2, false, GNN_GPU_TILE)), err));
    GNN_TRY(check(b, "a gradient of weights over half the rows", other_gradient,
                  predict_op(b, gnn_cost_gemm(COLS, COLS / 2, rows / 2, false, GNN_GPU_TILE)), err));
    GNN_TRY(check(b, "sums of half as many numbers", other_stream, predict_op(b, gnn_cost_add((uint64_t)rows * COLS)),
                  err));
    GNN_TRY(check(b, "sums of rows half as wide", other_sum,
                  predict_op(b, gnn_cost_segment_reduce(GNN_REDUCE_SUM, &b->block, COLS / 2)), err));
    GNN_TRY(check(b, "weighted sums", weighted_sum, predict_op(b, gnn_cost_spmm(&b->block, COLS)), err));
    GNN_TRY(check(b, "bias, ReLU and dropout", activation,
                  predict_op(b, gnn_cost_activate(GNN_ACT_RELU, rows, COLS, true, true)), err));
    GNN_TRY(check(b, "pinned copies an eighth as large", other_pinned, fmax(pinned_ns, b->out->launch.value), err));
    return check(b, "pageable copies an eighth as large", other_pageable, copied_ns, err);
}

double gnn_gpu_worst(const struct gnn_gpu_figures *figures)
{
    double worst = 0;
    for (uint32_t i = 0; i < figures->check_count; i++)
        worst = fmax(worst, fabs(figures->checks[i].predicted_ns / figures->checks[i].measured_ns - 1));
    return worst;
}

/* ---- the whole ---- */

/* Memory of the device with the host's numbers in it, over and over: a GPU is faster on constants than on data. */
static enum gnn_status take(struct bench *b, const char *name, uint64_t count, gnn_real **out, struct gnn_err *err)
{
    void *memory = NULL;
    const uint64_t bytes = count * sizeof **out;
    GNN_TRY(b->t->ops->alloc(b->t, name, bytes, &memory, err));
    *out = memory;
    for (uint64_t at = 0; at < bytes; at += b->copy_bytes)
        b->t->ops->upload(b->t, (char *)memory + at, b->host, gnn_min_u64(b->copy_bytes, bytes - at));
    return GNN_OK;
}

static enum gnn_status draw_numbers(struct bench *b, struct gnn_err *err)
{
    const uint64_t count = b->copy_bytes / sizeof(gnn_real);
    gnn_real *numbers;
    GNN_NEW(numbers, count, err, "calibrate: %llu bytes to copy", (unsigned long long)b->copy_bytes);
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (gnn_real)(gnn_splitmix64_at(3, i) >> 40) / (gnn_real)(1 << 23) - 1;
    b->host = (char *)numbers;
    char *pinned;
    GNN_NEW(pinned, b->copy_bytes, err, "calibrate: %llu bytes to copy", (unsigned long long)b->copy_bytes);
    memcpy(pinned, numbers, b->copy_bytes);
    const enum gnn_status status = b->t->ops->pin(b->t, "bytes to copy", pinned, b->copy_bytes, err);
    if (status == GNN_OK)
        b->pinned = pinned;
    else
        free(pinned);
    return status;
}

/* Sources distinct and ascending in each row, one of each tenth of them. */
static enum gnn_status make_block(struct bench *b, struct gnn_err *err)
{
    const uint32_t edges = b->rows * FAN, tenth = b->sources / FAN;
    GNN_NEW(b->row_start, b->rows + 1, err, "calibrate: a block of %u rows", b->rows);
    GNN_NEW(b->col, edges, err, "calibrate: a block of %u edges", edges);
    for (uint32_t i = 0; i <= b->rows; i++)
        b->row_start[i] = i * FAN;
    for (uint32_t e = 0; e < edges; e++)
        b->col[e] = e % FAN * tenth + (uint32_t)(gnn_splitmix64_at(5, e) % tenth);
    b->block = (struct gnn_block){
        .dst_count = b->rows, .src_count = b->sources, .edge_count = edges, .row_start = b->row_start, .col = b->col};
    return GNN_OK;
}

static enum gnn_status bench_open(struct bench *b, struct gnn_err *err)
{
    GNN_TRY(draw_numbers(b, err));
    GNN_TRY(take(b, "rows", (uint64_t)b->sources * COLS, &b->x, err));
    GNN_TRY(take(b, "results", (uint64_t)2 * b->rows * COLS, &b->y, err));
    GNN_TRY(take(b, "weights", (uint64_t)COLS * COLS, &b->w, err));
    GNN_TRY(take(b, "gradients", (uint64_t)COLS * COLS, &b->dw, err));
    return make_block(b, err);
}

static void bench_close(struct bench *b)
{
    b->t->ops->free(b->t, b->dw);
    b->t->ops->free(b->t, b->w);
    b->t->ops->free(b->t, b->y);
    b->t->ops->free(b->t, b->x);
    free(b->col);
    free(b->row_start);
    b->t->ops->unpin(b->t, b->pinned);
    free(b->pinned);
    free(b->host);
}

static enum gnn_status check_figures(const struct gnn_gpu_figures *f, struct gnn_err *err)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {{"gemm", f->gemm.value},         {"bandwidth", f->bandwidth.value}, {"sums", f->sums.value},
                   {"gather", f->gather.value},     {"launch", f->launch.value},       {"pinned", f->pinned.value},
                   {"pageable", f->pageable.value}, {"latency", f->latency.value}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!isfinite(figures[i].value) || figures[i].value <= 0)
            return gnn_fail(err, GNN_EBUG, "the device's %s came out as %g", figures[i].name, figures[i].value);
    return GNN_OK;
}

enum gnn_status gnn_gpu_measure(const struct gnn_gpu_bench *config, struct gnn_gpu_figures *out, struct gnn_err *err)
{
    const uint32_t part = config->divisor;
    struct bench b = {.config = config,
                      .t = config->tensor,
                      .out = out,
                      .rows = ROWS / part,
                      .sources = SOURCES / part,
                      .copy_bytes = COPY_BYTES / part};
    assert(config->repeats >= 1);
    assert(part >= 1);
    assert(part <= DIVISOR_MAX);
    assert((uint64_t)b.sources * COLS * sizeof(gnn_real) >= b.copy_bytes);
    *out = (struct gnn_gpu_figures){.check_count = 0};
    enum gnn_status status = bench_open(&b, err);
    GNN_NEXT(status, fit(&b, err));
    GNN_NEXT(status, check_figures(out, err));
    GNN_NEXT(status, verify(&b, err));
    if (status == GNN_OK && b.t->ops->check != NULL)
        status = b.t->ops->check(b.t, err);
    bench_close(&b);
    return status;
}
