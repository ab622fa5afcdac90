/* SPDX-License-Identifier: MIT */
/* A training step on the device, by the clock: SAGE or GAT, 3 layers of 256, fan-out 10,10,10, rows of 128, batch 1000;
 * rows lie on the device before it. Four mini-batches take turns, so that no cache holds the next one's rows. Steps
 * come in three ways:
 *
 *   graphs   Blocks and labels are staged before the step, as systems do, and it is launched as one graph.
 *   plain    Likewise, op by op.
 *   demand   As graphs, but blocks and labels go up within the step, as in systems that copy in the trainer.
 *
 * Its roofline is the modelled back-end's: the same step, every op as the larger of its FLOPs and its bytes at this
 * device's own measured rates, launches free; and apart from it, what moving the blocks up takes. */
#include "harness/base/clock.h"
#include "harness/base/rng.h"
#include "harness/model/model.h"
#include "harness/tensor/modelled/modelled.h"
#include "harness/world/profile.h"
#include "tests/gpu/bench_gpu.h"
#include "tests/support/toy_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, FANOUT = 10, BATCHES = 4, STEPS_MAX = 4096 };

/* nodes: those that sources are drawn from, papers100M at 1/100, so that hops grow as in the built-in graph. hub: of
 * every FANOUT edges, those that come from one node. */
static const struct scale {
    const char *name;
    uint32_t seeds, nodes, dim, hidden, classes, hub;
} scales[] = {{"whole", 1000, 1110600, 128, 256, 172, 0},
              {"small", 2, 300, 8, 8, 3, 0},
              {"hub", 1000, 1110600, 128, 256, 172, 3},
              {"small-hub", 2, 300, 8, 8, 3, 3}};
static const struct scale *const whole = &scales[0];

static const struct scale *scale_of(const char *name)
{
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strcmp(scales[i].name, name) == 0)
            return &scales[i];
    return NULL;
}

struct minibatch {
    struct gnn_batch_view view;
    int32_t *labels;
};

/* A back-end that launches steps in one way, with a model, and with rows and lists of the mini-batches. */
struct trainer {
    struct gnn_tensor *t;
    struct gnn_model *model;
    void *x[BATCHES]; /* on the device */
    struct gnn_resident *room[BATCHES];
};

enum { PLAIN, GRAPHS, WAYS };

struct steps {
    const struct scale *scale;
    struct trainer trainer[WAYS];
    struct minibatch batch[BATCHES];
    uint64_t next;
};

/* ---- mini-batches ---- */

static void *must(void *memory)
{
    if (memory == NULL) {
        (void)fputs("bench_gpu: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Expands dst nodes by FANOUT draws each, a node at most once a row, but for the hub. local[node]: its local ID or
 * GNN_NODE_NONE. */
static struct gnn_block draw_block(struct gnn_rng *rng, const struct scale *scale, uint32_t *local, uint32_t dst)
{
    uint32_t *row_start = must(malloc((dst + 1ull) * sizeof *row_start));
    uint32_t *col = must(malloc((uint64_t)dst * FANOUT * sizeof *col));
    const uint32_t tenth = scale->nodes / FANOUT;
    uint32_t src = dst;
    for (uint32_t i = 0; i <= dst; i++)
        row_start[i] = i * FANOUT;
    for (uint32_t e = 0; e < dst * FANOUT; e++) {
        const uint32_t drawn = e % FANOUT * tenth + (uint32_t)gnn_rng_below(rng, tenth);
        const uint32_t node = e % FANOUT < scale->hub ? scale->nodes - 1 : drawn;
        if (local[node] == GNN_NODE_NONE)
            local[node] = src++;
        col[e] = local[node];
    }
    return (struct gnn_block){dst, src, dst * FANOUT, row_start, col};
}

static void draw(struct minibatch *batch, const struct scale *scale, uint64_t key)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(key, "bench of a step"));
    uint32_t *local = must(malloc(scale->nodes * sizeof *local)), dst = scale->seeds;
    memset(local, 0xff, scale->nodes * sizeof *local);
    for (uint32_t i = 0; i < dst; i++)
        local[i] = i;
    batch->view = (struct gnn_batch_view){.batch = key, .layer_count = LAYERS, .seed_count = dst};
    for (uint32_t k = LAYERS; k-- > 0;) {
        batch->view.blocks[k] = draw_block(&rng, scale, local, dst);
        dst = batch->view.blocks[k].src_count;
    }
    batch->view.node_count = dst;
    batch->labels = toy_labels(&rng, scale->seeds, scale->classes);
    free(local);
}

/* Per layer, outermost hop first: dst, src, edges, row_start, col; then the labels. All 32-bit, as this machine has
 * them: scripts/gpu_step.py reads it. */
static int dump_batch(const struct minibatch *batch, const char *folder, uint32_t number)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/batch%u", folder, number);
    FILE *const file = fopen(path, "wb");
    if (file == NULL)
        return 1;
    for (uint32_t k = 0; k < LAYERS; k++) {
        const struct gnn_block *const b = &batch->view.blocks[k];
        const uint32_t head[] = {b->dst_count, b->src_count, b->edge_count};
        (void)fwrite(head, sizeof head, 1, file);
        (void)fwrite(b->row_start, sizeof *b->row_start, b->dst_count + 1ull, file);
        (void)fwrite(b->col, sizeof *b->col, b->edge_count, file);
    }
    (void)fwrite(batch->labels, sizeof *batch->labels, batch->view.seed_count, file);
    return fclose(file);
}

static struct gnn_model_config config_of(const char *model, const struct scale *scale)
{
    return (struct gnn_model_config){.kind = strcmp(model, "gat") == 0 ? GNN_MODEL_GAT : GNN_MODEL_SAGE,
                                     .layers = LAYERS,
                                     .in_dim = scale->dim,
                                     .hidden = scale->hidden,
                                     .heads = 4,
                                     .classes = scale->classes,
                                     .dropout = 0.5,
                                     .lr = 0.003,
                                     .gat_width_total = true,
                                     .seed = 1};
}

/* ---- the roofline ---- */

static uint64_t roof_now(void *ctx)
{
    return ((struct bench_clock *)ctx)->now_ns;
}

static void roof_wait(void *ctx, uint64_t deadline_ns)
{
    struct bench_clock *const c = ctx;
    c->now_ns = gnn_max_u64(c->now_ns, deadline_ns);
}

static void roof_compute(void *ctx, uint64_t ns)
{
    ((struct bench_clock *)ctx)->now_ns += ns;
}

struct gnn_tensor *bench_modelled_open(const struct bench_roof *roof, struct bench_clock *clock)
{
    struct gnn_profile profile = {.name = "roof", .cpu = {.cores = 1}};
    profile.gpu = (struct gnn_profile_compute){.present = true,
                                               .gemm_flops_per_s = (uint64_t)roof->gemm,
                                               .bytes_per_s = (uint64_t)roof->bandwidth,
                                               .bytes_per_s_shared = (uint64_t)roof->bandwidth,
                                               .gather_bytes_per_s = (uint64_t)roof->gather,
                                               .launch_ns = (uint64_t)roof->launch,
                                               .memory_bytes = UINT64_C(1) << 40};
    profile.host = profile.gpu;
    profile.bus = (struct gnn_profile_bus){.pinned_bytes_per_s = (uint64_t)roof->bus,
                                           .pageable_bytes_per_s = (uint64_t)roof->bus,
                                           .latency_ns = (uint64_t)roof->latency};
    const struct gnn_tensor_env env = {.threads = 1,
                                       .gpu = true,
                                       .alloc = toy_alloc,
                                       .free = toy_free,
                                       .now_ns = roof_now,
                                       .wait_until = roof_wait,
                                       .compute_ns = roof_compute,
                                       .ctx = clock};
    struct gnn_tensor *t = NULL;
    if (gnn_tensor_modelled.open(&env, &profile, &t, NULL) != GNN_OK)
        exit(1);
    return t;
}

/* What the step of one mini-batch would take a device that does nothing but its arithmetic, and nothing but its memory
 * traffic, at these rates. */
static struct gnn_modelled_counts modelled_step(const struct steps *s, const struct gnn_model_config *config,
                                                const struct minibatch *batch, const struct bench_roof *roof)
{
    struct bench_clock clock = {.now_ns = 0};
    struct gnn_tensor *const t = bench_modelled_open(roof, &clock);
    struct gnn_model *model = NULL;
    struct gnn_step_result result;
    void *x = NULL;
    struct gnn_modelled_counts counts, opened;
    if (gnn_model_open(t, config, &model, NULL) != GNN_OK ||
        t->ops->alloc(t, "rows", (uint64_t)batch->view.node_count * s->scale->dim * sizeof(gnn_real), &x, NULL) !=
            GNN_OK)
        exit(1);
    gnn_modelled_counts(t, &opened);
    if (gnn_model_train(model, &batch->view, x, batch->labels, &result, NULL) != GNN_OK)
        exit(1);
    gnn_modelled_counts(t, &counts);
    counts.busy_ns -= opened.busy_ns;
    counts.bus_busy_ns -= opened.bus_busy_ns;
    counts.uploaded_bytes -= opened.uploaded_bytes;
    counts.launches -= opened.launches;
    gnn_model_close(model);
    t->ops->free(t, x);
    t->ops->close(t);
    return counts;
}

/* ---- padded shapes ---- */

/* The next of eight sizes an octave. */
static uint32_t size_class(uint32_t count)
{
    uint32_t step = 1;
    while (count / step >= 16)
        step *= 2;
    return (uint32_t)gnn_round_up(count, step);
}

/* A mini-batch to count with, whose layers have the sizes of their classes: nodes that nobody draws, edges nowhere. */
static struct minibatch padded(const struct minibatch *batch)
{
    struct minibatch out = *batch;
    for (uint32_t k = 0; k < LAYERS; k++) {
        const struct gnn_block *b = &batch->view.blocks[k];
        const uint32_t dst = k + 1 < LAYERS ? size_class(b->dst_count) : b->dst_count;
        const uint32_t edges = size_class(b->edge_count);
        uint32_t *row_start = must(calloc(dst + 1ull, sizeof *row_start));
        for (uint32_t i = 0; i < dst; i++)
            row_start[i] = b->row_start[gnn_min_u32(i, b->dst_count)];
        row_start[dst] = edges;
        out.view.blocks[k] =
            (struct gnn_block){dst, size_class(b->src_count), edges, row_start, must(calloc(edges, sizeof *b->col))};
    }
    out.view.node_count = out.view.blocks[0].src_count;
    return out;
}

static double padded_roof_ns(const struct steps *s, const struct gnn_model_config *config,
                             const struct minibatch *batch, const struct bench_roof *roof)
{
    struct minibatch larger = padded(batch);
    const double ns = (double)modelled_step(s, config, &larger, roof).busy_ns;
    toy_batch_free(&larger.view);
    return ns;
}

/* One line: sizes, FLOPs, bytes and roofline of the mini-batches' mean, and the roofline of padded ones. */
static void print_counts(const struct steps *s, const struct gnn_model_config *config, const struct bench_roof *roof)
{
    static const double endless = 1e18;
    const struct bench_roof arithmetic = {
        .gemm = roof->gemm, .bandwidth = endless, .gather = endless, .bus = roof->bus};
    const struct bench_roof traffic = {
        .gemm = endless, .bandwidth = roof->bandwidth, .gather = roof->gather, .bus = roof->bus};
    double roof_ns = 0, bus_ns = 0, flops = 0, traffic_ns = 0, launches = 0, nodes = 0, edges = 0, padded_ns = 0;
    for (uint32_t i = 0; i < BATCHES; i++) {
        const struct gnn_modelled_counts both = modelled_step(s, config, &s->batch[i], roof);
        roof_ns += (double)both.busy_ns / BATCHES;
        bus_ns += (double)both.bus_busy_ns / BATCHES;
        launches += (double)both.launches / BATCHES;
        flops += (double)modelled_step(s, config, &s->batch[i], &arithmetic).busy_ns * 1e-9 * roof->gemm / BATCHES;
        traffic_ns += (double)modelled_step(s, config, &s->batch[i], &traffic).busy_ns / BATCHES;
        padded_ns += padded_roof_ns(s, config, &s->batch[i], roof) / BATCHES;
        nodes += (double)s->batch[i].view.node_count / BATCHES;
        edges += (double)s->batch[i].view.blocks[0].edge_count / BATCHES;
    }
    (void)printf("{\"nodes\":%.0f,\"outermost_edges\":%.0f,\"flops\":%.6g,\"traffic_ns\":%.0f,\"modelled_launches\":"
                 "%.0f,\"roof_ns\":%.0f,\"bus_ns\":%.0f,\"padded_roof_ns\":%.0f}\n",
                 nodes, edges, flops, traffic_ns, launches, roof_ns, bus_ns, padded_ns);
    (void)fflush(stdout);
}

/* ---- steps ---- */

static void must_do(enum gnn_status status, const struct gnn_err *err)
{
    if (status == GNN_OK)
        return;
    (void)fprintf(stderr, "bench_gpu: %s\n", err->message);
    exit(1);
}

/* Trains the next mini-batch. Returns its time. Lists that are staged have landed before. */
static double step_ns(struct steps *s, struct trainer *by, bool staged)
{
    const uint32_t k = s->next++ % BATCHES;
    struct minibatch *const batch = &s->batch[k];
    const struct gnn_batch_lists lists = {.view = &batch->view, .labels = batch->labels};
    struct gnn_step_result result;
    struct gnn_err err = {0};
    if (staged) {
        must_do(by->t->ops->resident_stage(by->t, by->room[k], 0, &lists, &err), &err);
        by->t->ops->upload_wait(by->t, 0);
    }
    const uint64_t start_ns = gnn_host_now_ns();
    if (staged)
        by->t->ops->resident_use(by->t, by->room[k]);
    must_do(gnn_model_train(by->model, &batch->view, by->x[k], batch->labels, &result, &err), &err);
    const double ns = (double)(gnn_host_now_ns() - start_ns);
    if (staged)
        by->t->ops->resident_use(by->t, NULL);
    return ns;
}

static void bring_rows(struct steps *s, uint32_t k)
{
    struct gnn_rng rng = gnn_rng_at(k);
    const uint64_t count = (uint64_t)s->batch[k].view.node_count * s->scale->dim;
    gnn_real *const rows = toy_reals(&rng, count, -1, 1);
    struct gnn_err err = {0};
    for (uint32_t way = 0; way < WAYS; way++) {
        struct trainer *const by = &s->trainer[way];
        must_do(by->t->ops->alloc(by->t, "rows", count * sizeof *rows, &by->x[k], &err), &err);
        by->t->ops->upload(by->t, by->x[k], rows, count * sizeof *rows);
    }
    free(rows);
}

static void open_steps(struct steps *s, const struct gpu_device *gpu, const struct gnn_model_config *config)
{
    struct gnn_err err = {0};
    for (uint32_t way = 0; way < WAYS; way++) {
        struct trainer *const by = &s->trainer[way];
        by->t = gpu_device_open_as(gpu, way == GRAPHS);
        must_do(gnn_model_open(by->t, config, &by->model, &err), &err);
        for (uint32_t k = 0; k < BATCHES; k++)
            must_do(by->t->ops->resident_open(by->t, &by->room[k], &err), &err);
    }
    for (uint32_t k = 0; k < BATCHES; k++)
        bring_rows(s, k);
    for (uint32_t way = 0; way < WAYS; way++) /* workspaces grow */
        for (uint32_t i = 0; i < 4 * BATCHES; i++)
            (void)step_ns(s, &s->trainer[way], i / BATCHES % 2 == 0);
}

static void close_steps(struct steps *s)
{
    for (uint32_t way = 0; way < WAYS; way++) {
        struct trainer *const by = &s->trainer[way];
        gnn_model_close(by->model);
        for (uint32_t k = 0; k < BATCHES; k++) {
            by->t->ops->resident_close(by->t, by->room[k]);
            by->t->ops->free(by->t, by->x[k]);
        }
        by->t->ops->close(by->t);
    }
    for (uint32_t k = 0; k < BATCHES; k++) {
        toy_batch_free(&s->batch[k].view);
        free(s->batch[k].labels);
    }
}

/* Answers "N WAY" with N times, how long the device computed in all of them, and how many were graphs. */
static int serve(struct steps *s)
{
    unsigned count;
    char way[16];
    struct gnn_device_times times;
    while (scanf("%u %15s", &count, way) == 2 && count <= STEPS_MAX) {
        struct trainer *const by = &s->trainer[strcmp(way, "plain") == 0 ? PLAIN : GRAPHS];
        const bool demand = strcmp(way, "demand") == 0;
        if (!demand && by == &s->trainer[GRAPHS] && strcmp(way, "graphs") != 0)
            return 2;
        by->t->ops->take_times(by->t, &times);
        (void)printf("{\"steps_ns\":[");
        for (unsigned i = 0; i < count; i++)
            (void)printf("%s%.0f", i == 0 ? "" : ",", step_ns(s, by, !demand));
        by->t->ops->take_times(by->t, &times);
        (void)printf("],\"busy_ns\":%" PRIu64 ",\"held_ns\":%" PRIu64 ",\"graph_steps\":%" PRIu64 "}\n",
                     times.kernel_ns, times.held_ns, times.graph_steps);
        (void)fflush(stdout);
    }
    return 0;
}

int bench_counts(const char *model, const struct bench_roof *roof)
{
    struct steps s = {.scale = whole};
    const struct gnn_model_config config = config_of(model, s.scale);
    for (uint32_t i = 0; i < BATCHES; i++)
        draw(&s.batch[i], s.scale, i + 1);
    print_counts(&s, &config, roof);
    for (uint32_t i = 0; i < BATCHES; i++) {
        toy_batch_free(&s.batch[i].view);
        free(s.batch[i].labels);
    }
    return 0;
}

int bench_step(const struct gpu_device *gpu, const char *model, const struct bench_roof *roof, const char *size,
               const char *dump)
{
    struct steps s = {.scale = scale_of(size)};
    if (s.scale == NULL)
        return 2;
    const struct gnn_model_config config = config_of(model, s.scale);
    for (uint32_t i = 0; i < BATCHES; i++) {
        draw(&s.batch[i], s.scale, i + 1);
        if (dump != NULL && dump_batch(&s.batch[i], dump, i) != 0) {
            (void)fprintf(stderr, "bench_gpu: %s cannot be written into\n", dump);
            return 1;
        }
    }
    print_counts(&s, &config, roof);
    open_steps(&s, gpu, &config);
    const int status = serve(&s);
    close_steps(&s);
    return status;
}
