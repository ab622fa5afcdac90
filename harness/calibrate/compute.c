/* SPDX-License-Identifier: MIT */
/* The CPU as a device that computes: this program's own tensor back-end, one core, on matrices of the size training at
 * 1/100 has (some thousand rows, 256 columns); then streams on every core at once. Products are of many rows and of
 * few: the two say what is by the multiplications and what by the operands. Last, what the cost model makes of these
 * figures is compared with operations of other shapes. */
#include "harness/base/rng.h"
#include "harness/calibrate/internal.h"
#include "harness/tensor/modelled/cost.h"
#include "harness/tensor/tensor.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096, FEW_ROWS = 64, COLS = 256, TARGETS = 2048, FAN = 10, CORES_MAX = 256, STREAMS = 40 };
_Static_assert((int)GNN_FIGURE_GEMM_OPERAND == (int)GNN_FIGURE_GEMM + 1, "measured together");
_Static_assert(TARGETS <= ROWS, "the targets of a block are a prefix of its sources");
_Static_assert(ROWS / FAN * FAN <= ROWS, "a column of each tenth of the sources");
static const uint64_t matrix_bytes = (uint64_t)ROWS * COLS * sizeof(gnn_real);

struct compute {
    struct gnn_bench *bench;
    struct gnn_tensor *tensor;
    struct gnn_mat x, y, w; /* (ROWS, COLS) twice, (COLS, COLS) */
    uint32_t *row_start, *col;
    struct gnn_block block;
};

static enum gnn_status host_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    return gnn_mem_alloc(ctx, name, bytes, GNN_MEM_FEATURES, out, err);
}

static void host_free(void *ctx, void *ptr)
{
    gnn_mem_free(ctx, ptr);
}

enum gnn_status gnn_bench_tensor_open(const struct gnn_bench *bench, const struct gnn_tensor_ops *ops,
                                      struct gnn_tensor **out, struct gnn_err *err)
{
    const struct gnn_tensor_env env = {.threads = 1, .alloc = host_alloc, .free = host_free, .ctx = bench->world};
    return (ops != NULL ? ops : &gnn_tensor_cpu)->open(&env, NULL, out, err);
}

/* ---- one core ---- */

static double seconds_since(uint64_t start_ns)
{
    return (double)(gnn_thread_cpu_ns() - start_ns) * 1e-9;
}

/* Seconds of the three products of a layer: forward, gradient of the weights, gradient of the input. */
static double layer_s(const struct compute *c, uint32_t rows, uint64_t rounds)
{
    const struct gnn_tensor_ops *const ops = c->tensor->ops;
    const struct gnn_mat x = {c->x.data, rows, COLS}, y = {c->y.data, rows, COLS};
    double taken_s = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        ops->fill(c->tensor, c->x.data, (uint64_t)rows * COLS, 0.5F);
        ops->fill(c->tensor, c->w.data, (uint64_t)COLS * COLS, 0.25F);
        const uint64_t start_ns = gnn_thread_cpu_ns();
        ops->gemm(c->tensor, false, false, 1, x, c->w, 0, y);
        ops->gemm(c->tensor, true, false, 1, x, y, 0, c->w);
        ops->gemm(c->tensor, false, true, 1, y, c->w, 0, x);
        taken_s += seconds_since(start_ns);
    }
    return taken_s / (double)rounds;
}

/* values: FLOP/s, and seconds an element of the operands, such that both layers take 6 x rows x COLS^2 over the one and
 * (4 x rows x COLS + 2 x COLS^2) times the other. */
static enum gnn_status gemm_once(void *ctx, double *values, struct gnn_err *err)
{
    struct compute *const c = ctx;
    const double many_s = layer_s(c, ROWS, gnn_bench_count(c->bench, 20));
    const double few_s = layer_s(c, FEW_ROWS, gnn_bench_count(c->bench, 400));
    const double ratio = (double)ROWS / FEW_ROWS, square = (double)COLS * COLS;
    (void)err;
    values[1] = fmax((ratio * few_s - many_s) / (2 * square * (ratio - 1)), 1e-12);
    values[0] = 6 * ROWS * square / fmax(many_s - (4.0 * ROWS * COLS + 2 * square) * values[1], many_s / 2);
    return GNN_OK;
}

/* Two streams in, one out. */
static double stream_rate(const struct compute *c, gnn_real *dst, const gnn_real *src, uint64_t rounds)
{
    assert(dst != src);
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++)
        c->tensor->ops->add(c->tensor, dst, src, (uint64_t)ROWS * COLS);
    return 3.0 * (double)matrix_bytes * (double)rounds / seconds_since(start_ns);
}

static enum gnn_status stream_once(void *ctx, double *values, struct gnn_err *err)
{
    struct compute *const c = ctx;
    (void)err;
    values[0] = stream_rate(c, c->y.data, c->x.data, gnn_bench_count(c->bench, STREAMS));
    return GNN_OK;
}

/* Means over ten rows each at random places; what is written in order is taken off at the rate of streams. */
static enum gnn_status reduce_once(void *ctx, double *values, struct gnn_err *err)
{
    struct compute *const c = ctx;
    const uint64_t rounds = gnn_bench_count(c->bench, 20);
    const struct gnn_mat out = {.data = c->y.data, .rows = TARGETS, .cols = COLS};
    (void)err;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++)
        c->tensor->ops->segment_reduce(c->tensor, GNN_REDUCE_MEAN, out, &c->block, c->x, NULL);
    const double whole_s = seconds_since(start_ns) / (double)rounds;
    const double written_s =
        (double)TARGETS * COLS * sizeof(gnn_real) / c->bench->out->figure[GNN_FIGURE_BANDWIDTH].value;
    values[0] = (double)TARGETS * FAN * COLS * sizeof(gnn_real) / fmax(whole_s - written_s, whole_s / 4);
    return GNN_OK;
}

/* An operation on one number: the call and nothing else. */
static enum gnn_status launch_once(void *ctx, double *values, struct gnn_err *err)
{
    struct compute *const c = ctx;
    const uint64_t rounds = gnn_bench_count(c->bench, 100000);
    (void)err;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++)
        c->tensor->ops->add(c->tensor, c->y.data, c->x.data, 1);
    values[0] = seconds_since(start_ns) * 1e9 / (double)rounds;
    return GNN_OK;
}

/* ---- every core ---- */

struct lane {
    const struct compute *compute;
    atomic_uint *waiting;
    uint32_t index;
    gnn_real *memory; /* two matrices */
    double rate;
    struct gnn_thread *thread;
};

static void lane_main(void *arg)
{
    struct lane *const lane = arg;
    memset(lane->memory, 0, 2 * matrix_bytes);
    (void)atomic_fetch_sub(lane->waiting, 1);
    while (atomic_load(lane->waiting) > 0)
        continue;
    lane->rate = stream_rate(lane->compute, lane->memory, lane->memory + (uint64_t)ROWS * COLS,
                             gnn_bench_count(lane->compute->bench, STREAMS));
}

static enum gnn_status shared_once(void *ctx, double *values, struct gnn_err *err)
{
    struct compute *const c = ctx;
    struct gnn_world *const world = c->bench->world;
    const uint32_t cores = gnn_min_u32(c->bench->out->cores, CORES_MAX);
    struct lane *const lanes = calloc(cores, sizeof *lanes);
    atomic_uint waiting = cores;
    enum gnn_status status = lanes == NULL ? gnn_fail(err, GNN_ENOMEM, "calibrate: %u streams", cores) : GNN_OK;
    for (uint32_t i = 0; status == GNN_OK && i < cores; i++) {
        void *memory = NULL;
        status = gnn_mem_alloc(world, "a stream", 2 * matrix_bytes, GNN_MEM_PLAIN, &memory, err);
        lanes[i] = (struct lane){.compute = c, .waiting = &waiting, .index = i, .memory = memory};
    }
    for (uint32_t i = 0; status == GNN_OK && i < cores; i++) {
        status = gnn_thread_start(world, "stream", lane_main, &lanes[i], &lanes[i].thread, err);
        if (status != GNN_OK)
            atomic_store(&waiting, 0); /* those that run do not wait for the others */
    }
    values[0] = 0;
    for (uint32_t i = 0; lanes != NULL && i < cores; i++) {
        gnn_thread_join(world, lanes[i].thread);
        gnn_mem_free(world, lanes[i].memory);
        values[0] += lanes[i].rate;
    }
    free(lanes);
    return status;
}

/* ---- shapes that nothing was fitted to ---- */

/* Runs an operation of the back-end once; returns what it costs. */
struct shape;
typedef struct gnn_cost shape_fn(const struct compute *c, const struct shape *s);

struct shape {
    const char *what;
    shape_fn *run;
    bool trans_a;
    uint32_t rows, inner, cols;
};

static struct gnn_mat part(struct gnn_mat m, uint32_t rows, uint32_t cols)
{
    assert((uint64_t)rows * cols <= (uint64_t)m.rows * m.cols);
    return (struct gnn_mat){.data = m.data, .rows = rows, .cols = cols};
}

static struct gnn_cost run_product(const struct compute *c, const struct shape *s)
{
    const struct gnn_mat a = s->trans_a ? part(c->x, s->inner, s->rows) : part(c->x, s->rows, s->inner);
    c->tensor->ops->gemm(c->tensor, s->trans_a, false, 1, a, part(c->w, s->inner, s->cols), 0,
                         part(c->y, s->rows, s->cols));
    return gnn_cost_gemm(s->rows, s->cols, s->inner, false, GNN_CPU_TILE);
}

static struct gnn_cost run_means(const struct compute *c, const struct shape *s)
{
    c->tensor->ops->segment_reduce(c->tensor, GNN_REDUCE_MEAN, part(c->y, TARGETS, s->cols), &c->block,
                                   part(c->x, ROWS, s->cols), NULL);
    return gnn_cost_segment_reduce(GNN_REDUCE_MEAN, &c->block, s->cols);
}

static struct gnn_cost run_activation(const struct compute *c, const struct shape *s)
{
    static const struct gnn_dropout drop = {.rate = 0.5};
    c->tensor->ops->activate(c->tensor, GNN_ACT_RELU, part(c->y, s->rows, s->cols), c->w.data, &drop);
    return gnn_cost_activate(GNN_ACT_RELU, s->rows, s->cols, true, true);
}

/* Parameters and moments in y, gradients in x. */
static struct gnn_cost run_adam(const struct compute *c, const struct shape *s)
{
    static const struct gnn_adam adam = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 1};
    const uint64_t count = (uint64_t)s->rows * s->cols;
    assert(3 * count <= (uint64_t)ROWS * COLS);
    c->tensor->ops->adam(c->tensor, c->y.data, c->x.data, c->y.data + count, c->y.data + 2 * count, count, &adam);
    return gnn_cost_adam(count);
}

static const struct shape shapes[] = {
    {"a product, 16 x 256 by 256 x 172", run_product, false, 16, 256, 172},
    {"a product, 256 x 256 by 256 x 256", run_product, false, 256, 256, 256},
    {"a product, 1500 x 128 by 128 x 256", run_product, false, 1500, 128, 256},
    {"a gradient of weights over 250 rows", run_product, true, 256, 250, 256},
    {"means of 10 random rows of 512 B", run_means, false, 0, 0, COLS / 2},
    {"bias, ReLU and dropout over 1500 rows", run_activation, false, 1500, 0, COLS},
    {"Adam over 256 x 1100 parameters", run_adam, false, 1100, 0, COLS},
};
enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes, ROUNDS = 50 };
_Static_assert((int)SHAPE_COUNT == (int)GNN_COMPUTE_CHECKS, "a calibration holds them");

struct held_out {
    const struct compute *compute;
    const struct shape *shape;
    struct gnn_cost cost;
};

/* Puts small numbers everywhere: some operations are run on their own results, which grow. */
static void refill(const struct compute *c)
{
    const struct gnn_tensor_ops *const ops = c->tensor->ops;
    ops->fill(c->tensor, c->x.data, (uint64_t)ROWS * COLS, 0.5F);
    ops->fill(c->tensor, c->y.data, (uint64_t)ROWS * COLS, 0.5F);
    ops->fill(c->tensor, c->w.data, (uint64_t)COLS * COLS, 0.25F);
}

static enum gnn_status shape_once(void *ctx, double *values, struct gnn_err *err)
{
    struct held_out *const h = ctx;
    const uint64_t rounds = gnn_bench_count(h->compute->bench, ROUNDS);
    (void)err;
    refill(h->compute);
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++)
        h->cost = h->shape->run(h->compute, h->shape);
    values[0] = seconds_since(start_ns) * 1e9 / (double)rounds;
    return GNN_OK;
}

/* What the cost model says, by the figures that were measured. */
static double predicted_ns(const struct gnn_figure *figure, const struct gnn_cost *cost)
{
    const struct gnn_roof roof = {.flops_per_s = (uint64_t)figure[GNN_FIGURE_GEMM].value,
                                  .stream_bytes_per_s = (uint64_t)figure[GNN_FIGURE_BANDWIDTH].value,
                                  .gather_bytes_per_s = (uint64_t)figure[GNN_FIGURE_HOST_GATHER].value,
                                  .gemm_tile = GNN_CPU_TILE,
                                  .operands_per_s = (uint64_t)(1e9 / figure[GNN_FIGURE_GEMM_OPERAND].value)};
    return (double)gnn_cost_ns(cost, &roof) + cost->launches * figure[GNN_FIGURE_LAUNCH].value;
}

static enum gnn_status check_shapes(const struct compute *c, struct gnn_err *err)
{
    for (uint32_t i = 0; i < SHAPE_COUNT; i++) {
        struct held_out h = {.compute = c, .shape = &shapes[i]};
        struct gnn_figure seen;
        GNN_TRY(gnn_figures_measure(shape_once, &h, c->bench->repeats, 1, &seen, err));
        c->bench->out->checks[c->bench->out->check_count++] =
            (struct gnn_check){.what = shapes[i].what,
                               .predicted_ns = predicted_ns(c->bench->out->figure, &h.cost),
                               .measured_ns = seen.value};
    }
    return GNN_OK;
}

/* ---- the whole ---- */

static enum gnn_status take(struct compute *c, const char *name, uint32_t rows, uint32_t cols, struct gnn_mat *out,
                            struct gnn_err *err)
{
    void *memory = NULL;
    *out = (struct gnn_mat){.rows = rows, .cols = cols};
    GNN_TRY(c->tensor->ops->alloc(c->tensor, name, (uint64_t)rows * cols * sizeof(gnn_real), &memory, err));
    out->data = memory;
    c->tensor->ops->fill(c->tensor, out->data, (uint64_t)rows * cols, 0.5F);
    return GNN_OK;
}

/* Columns distinct and ascending inside each row, one of each tenth of the sources. */
static enum gnn_status make_block(struct compute *c, struct gnn_err *err)
{
    GNN_NEW(c->row_start, TARGETS + 1, err, "calibrate: a block of %d rows", TARGETS);
    GNN_NEW(c->col, (size_t)TARGETS * FAN, err, "calibrate: a block of %d edges", TARGETS * FAN);
    for (uint32_t i = 0; i <= TARGETS; i++)
        c->row_start[i] = i * FAN;
    for (uint32_t e = 0; e < TARGETS * FAN; e++)
        c->col[e] = e % FAN * (ROWS / FAN) + (uint32_t)(gnn_splitmix64_at(5, e) % (ROWS / FAN));
    c->block = (struct gnn_block){
        .dst_count = TARGETS, .src_count = ROWS, .edge_count = TARGETS * FAN, .row_start = c->row_start, .col = c->col};
    return GNN_OK;
}

static enum gnn_status compute_open(struct compute *c, struct gnn_err *err)
{
    GNN_TRY(gnn_bench_tensor_open(c->bench, NULL, &c->tensor, err));
    GNN_TRY(take(c, "inputs", ROWS, COLS, &c->x, err));
    GNN_TRY(take(c, "outputs", ROWS, COLS, &c->y, err));
    GNN_TRY(take(c, "weights", COLS, COLS, &c->w, err));
    return make_block(c, err);
}

static void compute_close(struct compute *c)
{
    free(c->row_start);
    free(c->col);
    if (c->tensor == NULL)
        return;
    c->tensor->ops->free(c->tensor, c->w.data);
    c->tensor->ops->free(c->tensor, c->y.data);
    c->tensor->ops->free(c->tensor, c->x.data);
    c->tensor->ops->close(c->tensor);
}

static enum gnn_status measure(struct compute *c, struct gnn_err *err)
{
    struct gnn_figure *const figure = c->bench->out->figure;
    const uint32_t repeats = c->bench->repeats;
    GNN_TRY(gnn_figures_measure(gemm_once, c, repeats, 2, &figure[GNN_FIGURE_GEMM], err));
    figure[GNN_FIGURE_GEMM_OPERAND].value *= 1e9;
    GNN_TRY(gnn_figures_measure(stream_once, c, repeats, 1, &figure[GNN_FIGURE_BANDWIDTH], err));
    GNN_TRY(gnn_figures_measure(shared_once, c, repeats, 1, &figure[GNN_FIGURE_BANDWIDTH_SHARED], err));
    /* All cores together cannot be slower than one: what says so is the disturbance. */
    if (figure[GNN_FIGURE_BANDWIDTH_SHARED].value < figure[GNN_FIGURE_BANDWIDTH].value)
        figure[GNN_FIGURE_BANDWIDTH_SHARED].value = figure[GNN_FIGURE_BANDWIDTH].value;
    GNN_TRY(gnn_figures_measure(reduce_once, c, repeats, 1, &figure[GNN_FIGURE_HOST_GATHER], err));
    GNN_TRY(gnn_figures_measure(launch_once, c, repeats, 1, &figure[GNN_FIGURE_LAUNCH], err));
    return check_shapes(c, err);
}

enum gnn_status gnn_bench_compute(struct gnn_bench *bench, struct gnn_err *err)
{
    struct compute c = {.bench = bench};
    enum gnn_status status = compute_open(&c, err);
    GNN_NEXT(status, measure(&c, err));
    compute_close(&c);
    return status;
}
