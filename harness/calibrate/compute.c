/* The CPU as a device that computes: this program's own tensor back-end, one core, on matrices of the size training at
 * 1/100 has (some thousand rows, 256 columns); then streams on every core at once. */
#include "harness/base/rng.h"
#include "harness/calibrate/internal.h"
#include "harness/tensor/tensor.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096, COLS = 256, TARGETS = 2048, FAN = 10, CORES_MAX = 256, STREAMS = 40 };
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

/* The three products of a layer: forward, gradient of the weights, gradient of the input. */
static enum gnn_status gemm_once(void *ctx, double *values, struct gnn_err *err)
{
    struct compute *const c = ctx;
    const struct gnn_tensor_ops *const ops = c->tensor->ops;
    const uint64_t rounds = gnn_bench_count(c->bench, 20);
    (void)err;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        ops->gemm(c->tensor, false, false, 1, c->x, c->w, 0, c->y);
        ops->gemm(c->tensor, true, false, 1, c->x, c->y, 0, c->w);
        ops->gemm(c->tensor, false, true, 1, c->y, c->w, 0, c->x);
        ops->fill(c->tensor, c->x.data, (uint64_t)ROWS * COLS, 0.5F);
        ops->fill(c->tensor, c->w.data, (uint64_t)COLS * COLS, 0.25F);
    }
    values[0] = 3.0 * 2.0 * ROWS * COLS * COLS * (double)rounds / seconds_since(start_ns);
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
    GNN_TRY(gnn_figures_measure(gemm_once, c, repeats, 1, &figure[GNN_FIGURE_GEMM], err));
    GNN_TRY(gnn_figures_measure(stream_once, c, repeats, 1, &figure[GNN_FIGURE_BANDWIDTH], err));
    GNN_TRY(gnn_figures_measure(shared_once, c, repeats, 1, &figure[GNN_FIGURE_BANDWIDTH_SHARED], err));
    /* All cores together cannot be slower than one: what says so is the disturbance. */
    if (figure[GNN_FIGURE_BANDWIDTH_SHARED].value < figure[GNN_FIGURE_BANDWIDTH].value)
        figure[GNN_FIGURE_BANDWIDTH_SHARED].value = figure[GNN_FIGURE_BANDWIDTH].value;
    GNN_TRY(gnn_figures_measure(reduce_once, c, repeats, 1, &figure[GNN_FIGURE_HOST_GATHER], err));
    return gnn_figures_measure(launch_once, c, repeats, 1, &figure[GNN_FIGURE_LAUNCH], err);
}

enum gnn_status gnn_bench_compute(struct gnn_bench *bench, struct gnn_err *err)
{
    struct compute c = {.bench = bench};
    enum gnn_status status = compute_open(&c, err);
    GNN_NEXT(status, measure(&c, err));
    compute_close(&c);
    return status;
}
