/* SPDX-License-Identifier: MIT */
/* Our side of scripts/bench_peers.py: answers what it is asked, as the libraries it is compared with do.
 *
 *   bench_peers sample DATASET BATCH THREADS         mini-batches of fan-out 10,10,10, topology in memory
 *   bench_peers step DATASET BATCH THREADS MODEL     training steps of MODEL (sage, gcn, gat), 3 x 256
 *   bench_peers group BYTES                          a control group with a memory cap, as a run's
 *
 * DATASET is a prepared one. Mini-batches are those of `oocgnn export --batches` with seed 1, which the others read.
 * Prints a line of JSON when ready, for steps with the digest of the mini-batches. Then a line "N" on standard input is
 * answered by N mini-batches, and their times; they take turns, over and over. Of a group, a line is the number of a
 * process that is to live in it, and at the end of the input its peak is printed. */
#include "harness/base/clock.h"
#include "harness/base/denormals.h"
#include "harness/confine/cgroup.h"
#include "harness/model/model.h"
#include "harness/sample/sample.h"
#include "harness/tensor/cpu/kernels.h"
#include "tests/bench/graph.h"
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, FANOUT = 10, HIDDEN = 256, HEADS = 4, STEP_BATCHES = 4, SAMPLE_BATCHES = 256, THREADS_MAX = 64 };

static gnn_node pool[1 << 21]; /* nodes that mini-batches are cut from, in the order of an epoch */

struct bench {
    struct gnn_world *world;
    struct graph graph;
    struct gnn_sampler_config config;
    uint32_t batch_size, seed_count, batches, threads;
};

/* Opens the graph and cuts `most` mini-batches, or as many as an epoch has. */
static enum gnn_status bench_open(struct bench *bench, const char *dir, uint32_t most, struct gnn_err *err)
{
    bench->config = (struct gnn_sampler_config){.seed = 1, .layers = LAYERS, .fanout = {FANOUT, FANOUT, FANOUT}};
    GNN_TRY(gnn_world_measured_open(NULL, &bench->world, err));
    GNN_TRY(graph_open(bench->world, dir, &bench->graph, err));
    const uint32_t count = seed_pool(&bench->graph, pool, sizeof pool / sizeof *pool);
    gnn_epoch_order(1, 0, pool, count, pool);
    bench->seed_count = count;
    bench->batches = gnn_min_u32(most, (uint32_t)gnn_div_up(count, bench->batch_size));
    return GNN_OK;
}

/* Returns the seeds of a mini-batch and their number: fewer for the last one of the epoch. */
static const gnn_node *seeds_of(const struct bench *bench, uint32_t number, uint32_t *count)
{
    const uint32_t first = number * bench->batch_size;
    *count = gnn_min_u32(bench->batch_size, bench->seed_count - first);
    return pool + first;
}

static void bench_close(struct bench *bench)
{
    if (bench->world == NULL)
        return;
    graph_close(bench->world, &bench->graph);
    gnn_world_measured_close(bench->world);
}

/* ---- sampling ---- */

struct sampling {
    const struct bench *bench;
    atomic_uint next;
    uint32_t first, end; /* of the mini-batches that are asked for, counted over all epochs */
};

struct worker {
    struct sampling *sampling;
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    struct gnn_err err;
};

static enum gnn_status worker_open(struct worker *worker, struct sampling *sampling, struct gnn_err *err)
{
    const struct bench *const bench = sampling->bench;
    worker->sampling = sampling;
    GNN_TRY(
        gnn_source_memory(bench->world, bench->graph.indices, bench->graph.dataset.edge_count, &worker->source, err));
    GNN_TRY(
        gnn_sampler_open(bench->world, &bench->config, &bench->graph.dataset, worker->source, &worker->sampler, err));
    return gnn_batch_open(bench->world, &worker->batch, err);
}

static void worker_close(struct worker *worker)
{
    gnn_sampler_close(worker->sampler);
    gnn_source_close(worker->source);
    gnn_batch_close(worker->sampling->bench->world, worker->batch);
}

static void worker_run(void *arg)
{
    struct worker *const worker = arg;
    const struct bench *const bench = worker->sampling->bench;
    for (;;) {
        const uint32_t at = atomic_fetch_add(&worker->sampling->next, 1), number = at % bench->batches;
        uint32_t count;
        const gnn_node *const seeds = seeds_of(bench, number, &count);
        if (at >= worker->sampling->end || gnn_sampler_sample(worker->sampler, at / bench->batches, number, seeds,
                                                              count, worker->batch, &worker->err) != GNN_OK)
            return;
    }
}

static uint64_t edges_so_far(const struct worker *workers, uint32_t threads)
{
    uint64_t edges = 0;
    for (uint32_t t = 0; t < threads; t++) {
        struct gnn_sample_counters counters;
        gnn_sampler_counters(workers[t].sampler, &counters);
        edges += counters.sampled_edges;
    }
    return edges;
}

/* Samples `count` mini-batches, each by whichever worker is free; the first worker is the calling thread. */
static enum gnn_status sample_some(struct sampling *sampling, struct worker *workers, uint32_t count,
                                   struct gnn_err *err)
{
    const struct bench *const bench = sampling->bench;
    struct gnn_thread *threads[THREADS_MAX] = {NULL};
    enum gnn_status status = GNN_OK;
    const uint64_t before = edges_so_far(workers, bench->threads), start_ns = gnn_host_now_ns();
    sampling->end = sampling->first + count;
    atomic_store(&sampling->next, sampling->first);
    for (uint32_t t = 1; t < bench->threads && status == GNN_OK; t++)
        status = gnn_thread_start(bench->world, "sample", worker_run, &workers[t], &threads[t], err);
    worker_run(&workers[0]);
    for (uint32_t t = 1; t < bench->threads; t++)
        gnn_thread_join(bench->world, threads[t]);
    sampling->first = sampling->end;
    for (uint32_t t = 0; t < bench->threads && status == GNN_OK; t++)
        if (workers[t].err.status != GNN_OK)
            status = gnn_fail(err, workers[t].err.status, "%s", workers[t].err.message);
    (void)printf("{\"total_ns\":%" PRIu64 ",\"edges\":%" PRIu64 "}\n", gnn_host_now_ns() - start_ns,
                 edges_so_far(workers, bench->threads) - before);
    (void)fflush(stdout);
    return status;
}

static enum gnn_status serve_samples(struct bench *bench, struct gnn_err *err)
{
    struct sampling sampling = {.bench = bench};
    struct worker workers[THREADS_MAX];
    enum gnn_status status = GNN_OK;
    unsigned count;
    memset(workers, 0, sizeof workers);
    for (uint32_t t = 0; t < bench->threads; t++) {
        workers[t].sampling = &sampling;
        GNN_NEXT(status, worker_open(&workers[t], &sampling, err));
    }
    if (status == GNN_OK) {
        (void)printf("{\"library\":\"oocgnn\",\"batches\":%u}\n", bench->batches);
        (void)fflush(stdout);
    }
    while (status == GNN_OK && scanf("%u", &count) == 1)
        status = sample_some(&sampling, workers, count, err);
    for (uint32_t t = 0; t < bench->threads; t++)
        worker_close(&workers[t]);
    return status;
}

/* ---- training steps ---- */

struct minibatch {
    struct gnn_batch *batch;
    const struct gnn_batch_view *view;
    int32_t *labels;
    float *x;
};

static void *must_alloc(uint64_t bytes)
{
    void *const memory = aligned_alloc(GNN_PAGE_BYTES, gnn_round_up(bytes + 1, GNN_PAGE_BYTES));
    if (memory == NULL) {
        (void)fprintf(stderr, "bench_peers: %" PRIu64 " bytes of memory are not there\n", bytes);
        exit(1);
    }
    return memory;
}

static enum gnn_status plain_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    (void)ctx, (void)name, (void)err;
    *out = must_alloc(bytes);
    return GNN_OK;
}

static void plain_free(void *ctx, void *ptr)
{
    (void)ctx;
    free(ptr);
}

static enum gnn_status draw_minibatch(const struct bench *bench, struct gnn_sampler *sampler, uint32_t number,
                                      struct minibatch *m, struct gnn_err *err)
{
    const struct gnn_dataset *const dataset = &bench->graph.dataset;
    uint32_t seed_count;
    const gnn_node *const seeds = seeds_of(bench, number, &seed_count);
    GNN_TRY(gnn_batch_open(bench->world, &m->batch, err));
    GNN_TRY(gnn_sampler_sample(sampler, 0, number, seeds, seed_count, m->batch, err));
    m->view = gnn_batch_view(m->batch);
    m->labels = must_alloc(seed_count * sizeof *m->labels);
    for (uint32_t i = 0; i < seed_count; i++)
        m->labels[i] = dataset->labels[seeds[i]];
    const uint64_t count = (uint64_t)m->view->node_count * dataset->dim;
    m->x = must_alloc(count * sizeof *m->x);
    for (uint64_t k = 0; k < count; k++)
        m->x[k] = (float)(k % 101) / 50 - 1;
    return GNN_OK;
}

static enum gnn_status step(struct gnn_model *model, const struct minibatch *m, uint64_t *ns, struct gnn_err *err)
{
    struct gnn_step_result result;
    const uint64_t start_ns = gnn_host_now_ns();
    GNN_TRY(gnn_model_train(model, m->view, m->x, m->labels, &result, err));
    *ns = gnn_host_now_ns() - start_ns;
    return result.finite ? GNN_OK : gnn_fail(err, GNN_EBUG, "the loss is no number");
}

static enum gnn_status serve_steps(const struct bench *bench, struct gnn_model *model, const struct minibatch *m,
                                   struct gnn_err *err)
{
    uint64_t ns, at = 0, digest = 0;
    unsigned count;
    for (; at < 2 * bench->batches; at++) /* workspaces grow */
        GNN_TRY(step(model, &m[at % bench->batches], &ns, err));
    for (uint32_t i = 0; i < bench->batches; i++)
        digest += gnn_batch_digest(m[i].view, NULL);
    (void)printf("{\"library\":\"oocgnn\",\"batches\":%u,\"dim\":%u,\"digest\":\"%016" PRIx64 "\"}\n", bench->batches,
                 bench->graph.dataset.dim, digest);
    (void)fflush(stdout);
    while (scanf("%u", &count) == 1) {
        for (unsigned i = 0; i < count; i++, at++) {
            GNN_TRY(step(model, &m[at % bench->batches], &ns, err));
            (void)printf("%s%" PRIu64, i == 0 ? "{\"steps_ns\":[" : ",", ns);
        }
        (void)puts("]}");
        (void)fflush(stdout);
    }
    return GNN_OK;
}

static enum gnn_status train(struct bench *bench, const char *model_name, struct gnn_err *err)
{
    struct gnn_model_config config = {.layers = LAYERS,
                                      .in_dim = bench->graph.dataset.dim,
                                      .hidden = HIDDEN,
                                      .heads = HEADS,
                                      .classes = bench->graph.dataset.class_count,
                                      .dropout = 0.5,
                                      .lr = 0, /* peers_side.py says why */
                                      .gat_width_total = true,
                                      .gcn_norm = GNN_GCN_NORM_STANDARD,
                                      .seed = 1};
    while (config.kind < GNN_MODEL_KINDS && strcmp(gnn_model_names[config.kind], model_name) != 0)
        config.kind++;
    if (config.kind == GNN_MODEL_KINDS)
        return gnn_fail(err, GNN_EUSAGE, "no model \"%s\"", model_name);
    const struct gnn_tensor_env env = {.threads = bench->threads, .alloc = plain_alloc, .free = plain_free};
    struct minibatch batches[STEP_BATCHES];
    memset(batches, 0, sizeof batches);
    struct gnn_neighbour_source *source = NULL;
    struct gnn_sampler *sampler = NULL;
    struct gnn_tensor *tensor = NULL;
    struct gnn_model *model = NULL;
    enum gnn_status status =
        gnn_source_memory(bench->world, bench->graph.indices, bench->graph.dataset.edge_count, &source, err);
    GNN_NEXT(status, gnn_sampler_open(bench->world, &bench->config, &bench->graph.dataset, source, &sampler, err));
    for (uint32_t i = 0; i < bench->batches; i++)
        GNN_NEXT(status, draw_minibatch(bench, sampler, i, &batches[i], err));
    GNN_NEXT(status, gnn_tensor_cpu.open(&env, NULL, &tensor, err));
    GNN_NEXT(status, gnn_model_open(tensor, &config, &model, err));
    GNN_NEXT(status, serve_steps(bench, model, batches, err));
    gnn_model_close(model);
    if (tensor != NULL)
        gnn_tensor_cpu.close(tensor);
    for (uint32_t i = 0; i < STEP_BATCHES; i++) {
        gnn_batch_close(bench->world, batches[i].batch);
        free(batches[i].labels);
        free(batches[i].x);
    }
    gnn_sampler_close(sampler);
    gnn_source_close(source);
    return status;
}

/* ---- a control group ---- */

static bool move_into(const char *dir, const char *process)
{
    char path[GNN_CGROUP_PATH_MAX + GNN_CGROUP_NAME_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", dir);
    FILE *const file = dir[0] != '\0' ? fopen(path, "w") : NULL;
    const bool written = file != NULL && fputs(process, file) >= 0;
    return (file == NULL || fclose(file) == 0) && (written || dir[0] == '\0');
}

static enum gnn_status hold_group(const char *bytes, struct gnn_err *err)
{
    const struct gnn_cgroup_config config = {.memory_bytes = strtoull(bytes, NULL, 10)};
    struct gnn_confine confine;
    struct gnn_cgroup *group = NULL;
    struct gnn_group_reading reading;
    char process[32];
    GNN_TRY(gnn_confine_detect(&confine, err));
    GNN_TRY(gnn_cgroup_create(&confine, &config, &group, err));
    (void)printf("{\"cap\":%" PRIu64 ",\"enforcement\":\"%s\"}\n", config.memory_bytes, gnn_cgroup_enforcement(group));
    (void)fflush(stdout);
    while (scanf("%31s", process) == 1) {
        const bool moved = move_into(group->memory_dir, process) &&
                           (strcmp(group->io_dir, group->memory_dir) == 0 || move_into(group->io_dir, process));
        (void)printf("{\"moved\":%s}\n", moved ? "true" : "false");
        (void)fflush(stdout);
    }
    enum gnn_status status = gnn_cgroup_read(group, &reading, err);
    if (status == GNN_OK)
        (void)printf("{\"peak_bytes\":%" PRIu64 ",\"oom_kills\":%" PRIu64 "}\n", reading.peak_bytes, reading.oom_kills);
    gnn_cgroup_close(group);
    return status;
}

int main(int argc, char **argv)
{
    gnn_blas_use_better_kernels(argv);
    gnn_denormals_flush();
    struct bench bench = {.world = NULL};
    struct gnn_err err = {0};
    enum gnn_status status = GNN_OK;
    const bool samples = argc == 5 && strcmp(argv[1], "sample") == 0;
    if (argc == 3 && strcmp(argv[1], "group") == 0) {
        status = hold_group(argv[2], &err);
    } else if (samples || (argc == 6 && strcmp(argv[1], "step") == 0)) {
        bench.batch_size = (uint32_t)strtoul(argv[3], NULL, 10);
        bench.threads = (uint32_t)strtoul(argv[4], NULL, 10);
        if (bench.batch_size < 1 || bench.threads < 1 || bench.threads > THREADS_MAX)
            status = gnn_fail(&err, GNN_EUSAGE, "a batch of %s with %s threads", argv[3], argv[4]);
        GNN_NEXT(status, bench_open(&bench, argv[2], samples ? SAMPLE_BATCHES : STEP_BATCHES, &err));
        GNN_NEXT(status, samples ? serve_samples(&bench, &err) : train(&bench, argv[5], &err));
    } else {
        status = gnn_fail(&err, GNN_EUSAGE, "sample, step or group; see the head of tests/bench/bench_peers.c");
    }
    if (status != GNN_OK)
        (void)fprintf(stderr, "bench_peers: %s\n", err.message);
    bench_close(&bench);
    return status == GNN_OK ? 0 : 1;
}
