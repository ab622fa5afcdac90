/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/evaluate.h"

#include "harness/base/rng.h"
#include "harness/model/class_quality.h"
#include "harness/system/sampling.h"
#include "harness/system/training.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS_MAX = 512,     /* of a batch of inference: its features are held beside whatever the system holds */
    GATHER_THREADS = 8,  /* page faults in flight */
    ROWS_PER_THREAD = 64 /* below this a thread is not worth its start */
};

struct evaluation {
    const struct gnn_env *env;
    struct gnn_file *indices_file, *features_file;
    struct gnn_map *indices, *features;
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    struct gnn_rows rows;   /* (node_count, dim) of the batch, on the host */
    struct gnn_rows device; /* the same where ops read it, if they have memory of their own */
    struct gnn_rows wide;   /* the same, if the dataset's rows are float16 */
    gnn_real *logits;       /* (SEEDS_MAX, classes) of the batch */
    uint64_t correct;
    struct gnn_class_count *counts; /* (classes) */
    struct gnn_scored_node *scored; /* (nodes of the split), with two classes; else NULL */
    uint32_t scored_count;
};

static void close_evaluation(struct evaluation *e)
{
    struct gnn_world *const w = e->env->world;
    gnn_mem_free(w, e->scored);
    free(e->counts);
    free(e->logits);
    gnn_rows_close(&e->rows);
    gnn_rows_close(&e->device);
    gnn_rows_close(&e->wide);
    gnn_sampler_close(e->sampler);
    gnn_batch_close(w, e->batch);
    gnn_source_close(e->source);
    gnn_map_close(w, e->features);
    gnn_map_close(w, e->indices);
    gnn_file_close(w, e->features_file);
    gnn_file_close(w, e->indices_file);
}

static enum gnn_status open_counts(struct evaluation *e, uint32_t nodes, struct gnn_err *err)
{
    const uint32_t classes = e->env->dataset->class_count;
    GNN_NEW(e->logits, (uint64_t)SEEDS_MAX * classes, err, "logits of an evaluation");
    GNN_NEW(e->counts, classes, err, "counts of %" PRIu32 " classes", classes);
    if (classes == 2)
        GNN_MEM_NEW(e->env->world, e->scored, nodes, "scores of a split", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

static enum gnn_status open_evaluation(struct evaluation *e, uint32_t nodes, struct gnn_err *err)
{
    struct gnn_world *const w = e->env->world;
    const struct gnn_dataset *const data = e->env->dataset;
    const struct gnn_workload *const load = e->env->workload;
    gnn_rows_init(&e->rows, e->env, "evaluation inputs", gnn_env_on_device(e->env) ? GNN_ROWS_HOST : GNN_ROWS_TENSOR);
    gnn_rows_init(&e->device, e->env, "uploaded evaluation inputs", GNN_ROWS_TENSOR);
    gnn_rows_init_wide(&e->wide, e->env, "evaluation inputs, widened", GNN_ROWS_TENSOR);
    GNN_TRY(gnn_file_open(w, data->indices_path, GNN_OPEN_READ, &e->indices_file, err));
    GNN_TRY(gnn_file_open(w, data->features_path, GNN_OPEN_READ, &e->features_file, err));
    GNN_TRY(gnn_map_open(w, e->indices_file, GNN_MAP_RANDOM, &e->indices, err));
    GNN_TRY(gnn_map_open(w, e->features_file, GNN_MAP_RANDOM, &e->features, err));
    GNN_TRY(gnn_source_mapped(w, e->indices, data->id_bytes, &e->source, err));
    struct gnn_sampler_config config = {
        .seed = gnn_rng_fork(load->seed, "evaluate"), .layers = load->layers, .floyd_biased = e->env->floyd_biased};
    memcpy(config.fanout, load->fanout, sizeof config.fanout);
    GNN_TRY(gnn_sampler_open(w, &config, data, e->source, &e->sampler, err));
    GNN_TRY(gnn_batch_open(w, &e->batch, err));
    return open_counts(e, nodes, err);
}

/* Rows [first, first + count) of the batch, on a thread of their own. */
struct gather {
    const struct evaluation *e;
    const struct gnn_batch_view *view;
    uint32_t first, count;
    struct gnn_thread *thread;
    struct gnn_err err;
};

static void gather_part(void *arg)
{
    struct gather *const g = arg;
    const uint32_t row_bytes = g->e->env->dataset->row_bytes;
    char *const dst = (char *)g->e->rows.data + (uint64_t)g->first * row_bytes;
    /* The error's own status tells how it went. */
    (void)!gnn_map_gather_rows(g->e->env->world, g->e->features, row_bytes, g->view->nodes + g->first, g->count, dst,
                               row_bytes, &g->err);
}

static enum gnn_status gather_rows(struct evaluation *e, const struct gnn_batch_view *view, struct gnn_err *err)
{
    struct gnn_world *const w = e->env->world;
    struct gather parts[GATHER_THREADS] = {{.e = NULL}};
    GNN_TRY(gnn_rows_reserve(&e->rows, view->node_count, err));
    uint32_t threads = view->node_count / ROWS_PER_THREAD + 1;
    threads = gnn_min_u32(threads, GATHER_THREADS);
    enum gnn_status status = GNN_OK;
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t first = (uint32_t)((uint64_t)view->node_count * t / threads);
        const uint32_t end = (uint32_t)((uint64_t)view->node_count * (t + 1) / threads);
        parts[t] = (struct gather){.e = e, .view = view, .first = first, .count = end - first};
        if (t + 1 == threads)
            gather_part(&parts[t]);
        else if (status == GNN_OK)
            status = gnn_thread_start(w, "evaluate", gather_part, &parts[t], &parts[t].thread, err);
    }
    for (uint32_t t = 0; t < threads; t++) {
        gnn_thread_join(w, parts[t].thread);
        if (status == GNN_OK && parts[t].err.status != GNN_OK)
            status = gnn_fail(err, parts[t].err.status, "%s", parts[t].err.message);
    }
    return status;
}

/* Sets *x to the gathered rows where ops read them, in float32. */
static enum gnn_status bring_rows(struct evaluation *e, uint32_t count, const gnn_real **x, struct gnn_err *err)
{
    struct gnn_tensor *const tensor = e->env->tensor;
    if (!gnn_env_on_device(e->env))
        return gnn_rows_widen(&e->wide, e->rows.data, count, x, err);
    GNN_TRY(gnn_rows_reserve(&e->device, count, err));
    tensor->ops->upload(tensor, e->device.data, e->rows.data, (uint64_t)count * e->env->dataset->row_bytes);
    return gnn_rows_widen(&e->wide, e->device.data, count, x, err);
}

/* Adds the predictions of a batch, whose logits are there. */
static void add_predictions(struct evaluation *e, const int32_t *labels, uint32_t count)
{
    gnn_class_count_add(e->counts, e->env->dataset->class_count, e->logits, labels, count);
    for (uint32_t i = 0; e->scored != NULL && i < count; i++)
        e->scored[e->scored_count++] =
            (struct gnn_scored_node){.score = e->logits[2 * i + 1] - e->logits[2 * i], .positive = labels[i] == 1};
}

static enum gnn_status evaluate_batch(struct evaluation *e, uint64_t index, const gnn_node *seeds, uint32_t count,
                                      struct gnn_err *err)
{
    GNN_TRY(gnn_sampler_sample(e->sampler, 0, index, seeds, count, e->batch, err));
    const struct gnn_batch_view *const view = gnn_batch_view(e->batch);
    GNN_TRY(gather_rows(e, view, err));
    int32_t labels[SEEDS_MAX];
    assert(count <= SEEDS_MAX);
    assert(e->env->dataset->labels != NULL);
    for (uint32_t i = 0; i < count; i++)
        labels[i] = e->env->dataset->labels[seeds[i]];
    struct gnn_step_result step;
    const gnn_real *x;
    GNN_TRY(bring_rows(e, view->node_count, &x, err));
    GNN_TRY(gnn_model_evaluate(e->env->model, view, x, labels, &step, e->logits, err));
    if (!step.finite)
        return gnn_step_not_finite(e->env, view, x, &step, err);
    e->correct += step.correct;
    add_predictions(e, labels, count);
    return GNN_OK;
}

uint64_t gnn_evaluate_bytes(const struct gnn_env *env)
{
    struct gnn_workload load = *env->workload;
    load.batch_size = gnn_min_u32(load.batch_size, SEEDS_MAX);
    struct gnn_batch_size largest;
    gnn_batch_largest(env->dataset, &load, &largest);
    struct gnn_env own = *env;
    own.workload = &load;
    const uint64_t samplers = gnn_sampling_bytes(&own, 1) - gnn_sampling_bytes(&own, 0); /* no order of an epoch */
    const struct gnn_dataset *const d = env->dataset;
    const bool widened = d->feature_type != GNN_F32 && !gnn_env_on_device(env);
    const uint32_t row_bytes = d->row_bytes + (widened ? gnn_dataset_wide_bytes(d) : 0);
    const uint64_t rows = gnn_mul_bytes(gnn_rows_capacity(largest.nodes[load.layers]), row_bytes);
    const uint64_t scored = d->class_count == 2 ? gnn_max_u32(d->valid.count, d->test.count) : 0;
    return samplers + gnn_batch_reserved_bytes(env->dataset, &load) + rows + scored * sizeof(struct gnn_scored_node);
}

static enum gnn_status evaluate_all(struct evaluation *e, const struct gnn_split *split, struct gnn_err *err)
{
    const uint32_t batch_size = gnn_min_u32(e->env->workload->batch_size, SEEDS_MAX);
    uint64_t index = 0;
    for (uint32_t at = 0; at < split->count; at += batch_size) {
        if (atomic_load(e->env->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped while evaluating");
        const uint32_t count = gnn_min_u32(split->count - at, batch_size);
        GNN_TRY(evaluate_batch(e, index++, split->nodes + at, count, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_evaluate_split(const struct gnn_env *env, const struct gnn_split *split,
                                   struct gnn_node_quality *out, struct gnn_err *err)
{
    assert(env->model != NULL);
    *out = (struct gnn_node_quality){NAN, NAN, NAN};
    if (split->count == 0)
        return GNN_OK;
    struct evaluation e = {.env = env};
    enum gnn_status status = open_evaluation(&e, split->count, err);
    GNN_NEXT(status, evaluate_all(&e, split, err));
    if (status == GNN_OK) {
        assert(e.scored == NULL || e.scored_count == split->count);
        out->accuracy = (double)e.correct / (double)split->count;
        out->macro_f1 = gnn_macro_f1(e.counts, env->dataset->class_count);
        out->roc_auc = e.scored != NULL ? gnn_roc_auc(e.scored, e.scored_count) : (double)NAN;
    }
    close_evaluation(&e);
    return status;
}
