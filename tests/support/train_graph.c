/* SPDX-License-Identifier: MIT */
#include "tests/support/train_graph.h"

#include "harness/base/id_width.h"
#include "harness/base/rng.h"
#include "harness/system/intent.h"
#include "tests/support/device_tensor.h"
#include "tests/support/system_run.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

float train_feature(gnn_node node, uint32_t column)
{
    return (float)(gnn_splitmix64_at(node, column) >> 48) / 32768.0f - 1.0f;
}

float train_stored_feature(enum gnn_feature_type type, gnn_node node, uint32_t column)
{
    const float value = train_feature(node, column);
    return type == GNN_F16 ? gnn_half_widen(gnn_half_narrow(value)) : value;
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

void train_write_ids(const char *path, const gnn_node *ids, uint64_t count, uint32_t id_bytes)
{
    void *const stored = malloc(count * id_bytes + 1);
    assert_non_null(stored);
    gnn_ids_store(ids, count, id_bytes, stored);
    write_file(path, stored, count * id_bytes);
    free(stored);
}

static int by_id(const void *a, const void *b)
{
    const gnn_node x = *(const gnn_node *)a, y = *(const gnn_node *)b;
    return (x > y) - (x < y);
}

/* Distinct ascending neighbours; returns how many. */
static uint32_t draw_list(struct gnn_rng *rng, uint32_t nodes, uint32_t wanted, gnn_node *list)
{
    for (uint32_t i = 0; i < wanted; i++)
        list[i] = (gnn_node)(gnn_rng_unit(rng) * gnn_rng_unit(rng) * nodes);
    qsort(list, wanted, sizeof *list, by_id);
    uint32_t count = 0;
    for (uint32_t i = 0; i < wanted; i++)
        if (count == 0 || list[count - 1] != list[i])
            list[count++] = list[i];
    return count;
}

static void make_topology(const struct train_graph_config *c, struct train_graph *g)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(c->seed, "small graph"));
    uint64_t *indptr = calloc(c->nodes + 1, sizeof *indptr);
    const size_t hubs = c->hub_every > 0 ? c->nodes / c->hub_every + 1 : 0;
    g->indices = calloc((size_t)c->nodes * c->mean_degree * 12 + hubs * c->hub_degree, sizeof *g->indices);
    assert_true(indptr != NULL && g->indices != NULL);
    for (uint32_t v = 0; v < c->nodes; v++) {
        const double wide = -log(1 - gnn_rng_unit(&rng)) * c->mean_degree;
        const bool hub = c->hub_every > 0 && v % c->hub_every == 0;
        const uint32_t usual = wide < 10.0 * c->mean_degree ? (uint32_t)wide : 10 * c->mean_degree;
        const uint32_t wanted = hub ? c->hub_degree : usual;
        indptr[v + 1] = indptr[v] + draw_list(&rng, c->nodes, wanted, g->indices + indptr[v]);
    }
    g->dataset.indptr = indptr;
    g->dataset.edge_count = indptr[c->nodes];
    g->dataset.indices_bytes = g->dataset.edge_count * g->dataset.id_bytes;
    train_write_ids(g->dataset.indices_path, g->indices, g->dataset.edge_count, g->dataset.id_bytes);
}

static void make_nodes(const struct train_graph_config *c, struct train_graph *g)
{
    const size_t values = (size_t)c->nodes * c->dim;
    float *rows = calloc(values, sizeof *rows);
    uint16_t *halves = calloc(values, sizeof *halves);
    int32_t *labels = calloc(c->nodes, sizeof *labels);
    gnn_node *train = calloc(c->train, sizeof *train);
    assert_true(rows != NULL && halves != NULL && labels != NULL && train != NULL);
    for (uint32_t v = 0; v < c->nodes; v++) {
        labels[v] = (int32_t)(gnn_mix64(v) % c->classes);
        for (uint32_t col = 0; col < c->dim; col++)
            rows[(size_t)v * c->dim + col] = train_stored_feature(c->is_rounded ? GNN_F16 : GNN_F32, v, col);
    }
    for (uint32_t i = 0; i < c->train; i++)
        train[i] = (gnn_node)((uint64_t)i * c->nodes / c->train);
    gnn_halves_narrow_plain(rows, values, halves);
    if (c->feature_type == GNN_F16)
        write_file(g->dataset.features_path, halves, values * sizeof *halves);
    else
        write_file(g->dataset.features_path, rows, values * sizeof *rows);
    free(rows);
    free(halves);
    g->dataset.labels = labels;
    g->dataset.train = (struct gnn_split){.nodes = train, .count = c->train};
}

void train_graph_open(const struct train_graph_config *c, struct train_graph *g)
{
    *g = (struct train_graph){.dataset = {.name = "small",
                                          .scale_divisor = 1,
                                          .node_count = c->nodes,
                                          .dim = c->dim,
                                          .class_count = c->classes,
                                          .feature_type = c->feature_type,
                                          .row_bytes = c->dim * gnn_feature_type_bytes(c->feature_type),
                                          .id_bytes = c->id_bytes > 0 ? c->id_bytes : (uint32_t)sizeof(gnn_node)}};
    struct gnn_dataset *d = &g->dataset;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(d->dir, sizeof d->dir, "%.200s/oocgnn-small-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(d->dir));
    (void)snprintf(d->indices_path, sizeof d->indices_path, "%s/indices", d->dir);
    (void)snprintf(d->features_path, sizeof d->features_path, "%s/features-d%u", d->dir, c->dim);
    make_topology(c, g);
    make_nodes(c, g);
    d->topology_bytes = (c->nodes + 1) * sizeof *d->indptr + d->indices_bytes;
    d->feature_bytes = (uint64_t)c->nodes * d->row_bytes;
}

/* What a system prepared for itself: directories of files. */
static void remove_prepared(const char *dir)
{
    DIR *const all = opendir(dir);
    assert_non_null(all);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        char path[1024];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (unlink(path) != 0) {
            remove_prepared(path);
            assert_int_equal(rmdir(path), 0);
        }
    }
    assert_int_equal(closedir(all), 0);
}

void train_graph_close(struct train_graph *g)
{
    remove_prepared(g->dataset.dir);
    assert_int_equal(rmdir(g->dataset.dir), 0);
    free((void *)g->dataset.indptr);
    free((void *)g->dataset.labels);
    free((void *)g->dataset.train.nodes);
    free(g->indices);
}

/* ---- a run ---- */

void train_run_init(struct train_run *run, struct gnn_world *world, const char *system)
{
    *run = (struct train_run){
        .system = system,
        .world = world,
        .workload = {.seed = 7, .batch_size = 20, .layers = 2, .fanout = {4, 3}, .epochs = 2},
        .model_config = {.kind = GNN_MODEL_SAGE, .hidden = 8, .heads = 2, .dropout = 0.5, .lr = 0.003, .seed = 7}};
}

/* The op that reads the input first in GraphSAGE's layer 0. ops is the struct's only way to reach the run. */
static struct train_run *run_of(struct gnn_tensor *t)
{
    return (struct train_run *)((char *)(uintptr_t)t->ops - offsetof(struct train_run, ops));
}

static const struct gnn_tensor_ops *back_end(const struct train_run *run)
{
    if (run->backend != NULL)
        return run->backend;
    if (run->modelled != NULL)
        return &gnn_tensor_modelled;
    return run->device ? &device_tensor : run->cpu ? &gnn_tensor_cpu : &gnn_tensor_ref;
}

static void watched_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                           struct gnn_mat x, uint32_t *argmax)
{
    struct train_run *run = run_of(t);
    if (run->input == NULL)
        run->input = run->device && run->modelled == NULL ? device_tensor_look(t, x.data) : x.data;
    back_end(run)->segment_reduce(t, kind, out, b, x, argmax);
}

static void on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct train_run *run = ctx;
    const uint32_t dim = run->env.dataset->dim;
    for (uint32_t i = 0; run->check_rows && i < batch->node_count; i++)
        for (uint32_t c = 0; c < dim; c++)
            run->wrong_values += run->input[(size_t)i * dim + c] !=
                                 train_stored_feature(run->env.dataset->feature_type, batch->nodes[i], c);
    run->input = NULL;
    for (uint32_t i = 0; i < batch->seed_count; i++)
        run->seen[batch->nodes[i]]++;
    for (uint32_t i = 0; i < batch->node_count; i++)
        run->needed[batch->nodes[i]]++;
    assert_true(batch->batch < TRAIN_BATCHES_MAX && run->step_count < TRAIN_BATCHES_MAX);
    const uint64_t digest = gnn_batch_digest(batch, NULL);
    run->trained_digest += digest;
    run->spot_digest += gnn_is_spot(batch->batch) ? digest : 0;
    run->loss[batch->batch] = step->loss;
    run->order[run->step_count++] = (uint32_t)batch->batch;
    if (run->stop_after > 0 && run->step_count == run->stop_after)
        atomic_store(&run->stop, true);
}

static enum gnn_status configure(struct train_run *run, const struct train_graph *graph)
{
    run->table = system_find(run->system);
    run->config = system_configure(run->table, run->options);
    run->model_config.layers = run->workload.layers;
    run->model_config.in_dim = graph->dataset.dim;
    run->model_config.classes = graph->dataset.class_count;
    run->env = (struct gnn_env){.world = run->world,
                                .dataset = &graph->dataset,
                                .workload = &run->workload,
                                .model_config = &run->model_config,
                                .io_engine = run->io_engine,
                                .cores = TRAIN_CORES,
                                .cap_bytes = run->cap_bytes,
                                .stop = &run->stop,
                                .on_step = on_step,
                                .on_step_ctx = run,
                                .rank = run->rank,
                                .ranks = run->ranks,
                                .average = run->average,
                                .shared = run->shared,
                                .on_device = run->device};
    run->model_config.rank = run->rank;
    if (run->table->complete != NULL)
        run->table->complete(&run->env, run->config);
    return GNN_OK;
}

enum gnn_status train_run_plan(struct train_run *run, const struct train_graph *graph, struct gnn_memory_plan *plan)
{
    GNN_TRY(configure(run, graph));
    run->env.tensor = run->plan_on;
    gnn_plan_begin(plan, &run->env);
    enum gnn_status status = run->table->plan(&run->env, run->config, plan, &run->err);
    GNN_NEXT(status, gnn_plan_check(plan, "", &run->err));
    run->env.tensor = NULL; /* nothing was opened */
    return status;
}

enum gnn_status train_run_open_shared(struct train_run *run, const struct train_graph *graph, void **shared)
{
    GNN_TRY(configure(run, graph));
    return run->table->open_shared(&run->env, run->config, shared, &run->err);
}

enum gnn_status train_run_open(struct train_run *run, const struct train_graph *graph)
{
    GNN_TRY(configure(run, graph));
    run->seen = calloc(graph->dataset.node_count, sizeof *run->seen);
    run->needed = calloc(graph->dataset.node_count, sizeof *run->needed);
    assert_true(run->seen != NULL && run->needed != NULL);
    if (!run->workload.sample_only) {
        struct gnn_tensor_env env = system_tensor_env(run->world);
        env.graphs = true;
        env.gpu = run->modelled != NULL && run->device;
        GNN_TRY(back_end(run)->open(&env, run->modelled, &run->env.tensor, &run->err));
        run->ops = *back_end(run);
        if (run->model_config.kind == GNN_MODEL_SAGE)
            run->ops.segment_reduce = watched_reduce;
        run->env.tensor->ops = &run->ops;
        GNN_TRY(gnn_model_open(run->env.tensor, &run->model_config, &run->env.model, &run->err));
    }
    return run->table->open(&run->env, run->config, &run->state, &run->err);
}

static void check_intent(const struct train_run *run)
{
    struct gnn_intent intent;
    const struct gnn_sample_counters *const sampled = &run->result.counters.sample;
    gnn_intent_begin(&run->env, &intent);
    if (run->table->intend != NULL)
        run->table->intend(run->state, &intent);
    if (intent.batches != GNN_UNKNOWN)
        assert_int_equal(sampled->batches, intent.batches);
    if (intent.seeds != GNN_UNKNOWN)
        assert_int_equal(run->workload.sample_only ? 0 : run->result.seeds, intent.seeds);
    if (run->workload.sample_only || run->step_count != sampled->batches)
        return;
    assert_true(run->trained_digest == sampled->batch_digest);
    assert_true(run->spot_digest == sampled->spot_digest);
}

enum gnn_status train_run_epoch(struct train_run *run, uint64_t epoch)
{
    const uint32_t nodes = run->env.dataset->node_count;
    memset(run->seen, 0, nodes * sizeof *run->seen);
    memset(run->needed, 0, nodes * sizeof *run->needed);
    run->step_count = 0;
    run->trained_digest = run->spot_digest = 0;
    run->input = NULL;
    run->result = (struct gnn_epoch_result){.loss_sum = 0};
    run->err = (struct gnn_err){.status = GNN_OK};
    const enum gnn_status status = run->table->train_epoch(run->state, epoch, &run->result, &run->err);
    if (status == GNN_OK)
        check_intent(run);
    return status;
}

void train_run_close(struct train_run *run)
{
    if (run->table != NULL)
        run->table->close(run->state);
    if (run->env.tensor != NULL) {
        gnn_model_close(run->env.model);
        run->ops.close(run->env.tensor);
    }
    free(run->needed);
    free(run->seen);
    free(run->config);
}

void train_run_must(enum gnn_status status, const struct train_run *run, const char *file, int line)
{
    if (status == GNN_OK)
        return;
    print_error("%s", run->system);
    for (const char *const *o = run->options; o != NULL && *o != NULL; o++)
        print_error(" %s", *o);
    print_error(": %s: %s\n", gnn_status_name(status), run->err.message);
    _fail(file, line);
}

void train_run_each_seed_once(const struct train_run *run)
{
    const struct gnn_split *const train = &run->env.dataset->train;
    uint64_t all = 0;
    assert_int_equal(run->result.seeds, train->count);
    for (uint64_t i = 0; i < train->count; i++)
        assert_int_equal(run->seen[train->nodes[i]], 1);
    for (uint32_t v = 0; v < run->env.dataset->node_count; v++)
        all += run->seen[v];
    assert_int_equal(all, train->count);
}

uint64_t train_run_extra(const struct train_run *run, const char *name)
{
    return system_figure(&run->result, name);
}
