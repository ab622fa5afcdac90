/* SPDX-License-Identifier: MIT */
/* Switch and Execute: fills the feature cache of a superbatch, then gathers and trains its batches from the trace.
 *
 * Source   Ginex (PVLDB 15(11), 2022), main loop; Switch and Execute of the released code
 *
 *     load (L_t)   ids, blocks and change set of batches t, t + L_t, ... from the trace, trace_queue ahead
 *     gather (G)   fill | gather 0 | apply 0 | gather 1 ........ | apply 1 | gather 2
 *     train (1)         wait       | wait    | train 0 .. wait   | wait    | train 1
 *
 * With transfer=ahead and a GPU, batch b - 1 trains while b crosses the bus; the gather of b + 1 waits for the copy of
 * b - 1, whose host memory it fills.
 *
 * Order    change set b strictly after gather b and before gather b + 1; the cache is never changed while a gather
 *          runs. Overlap: gather b + 1 beside training b (overlap=false: after it)
 * Memory   of this phase alone: the cache, two inputs, batches of the trace; freed before the next Inspect unless
 *          overlap_caches keeps the cache until that has ended, as the released code does */
#include "systems/ginex/superbatch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* A thread that reads batches t, t + L_t, ... of the trace. */
struct loader {
    struct gnn_queue *empty, *loaded; /* of struct ginex_trace_batch */
    struct gnn_reader *reader;
};

/* What one Execute needs. */
struct ginex_execution {
    struct ginex *s;
    const struct ginex_superbatch *sb; /* s->stored */
    struct ginex_trace_batch *batches; /* (batch_count): trace_queue + 1 of each loader, and the trainer's */
    uint32_t batch_count;
    void *memory; /* of the batches */
    struct loader *loaders;
    struct gnn_train_input input[GINEX_INPUTS]; /* one being gathered, one in training: batch b's is input[b % 2] */
    struct ginex_fill_job fill;                 /* jobs of the team; at most one of them is under way */
    struct ginex_gather gather;
    struct ginex_apply apply;
};

/* ---- load ---- */

static enum gnn_status load_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex_execution *x = ctx;
    struct loader *const loader = &x->loaders[worker->index];
    for (uint32_t b = worker->index; b < x->sb->count; b += x->s->config->trace_loaders) {
        void *batch;
        GNN_TRY(gnn_check_stop(x->s->env, err));
        GNN_TRY(gnn_queue_pop(loader->empty, &batch));
        GNN_TRY(ginex_load_batch(x->sb, b, loader->reader, batch, err));
        GNN_TRY(gnn_queue_push(loader->loaded, batch));
        worker->items++;
    }
    return GNN_OK;
}

/* Takes loaded batch b and gives its loader a spare one to fill. */
static enum gnn_status exchange_batch(struct ginex_execution *x, uint32_t b, struct ginex_trace_batch *spare,
                                      struct ginex_trace_batch **batch)
{
    struct loader *const loader = &x->loaders[b % x->s->config->trace_loaders];
    void *loaded;
    GNN_TRY(gnn_queue_push(loader->empty, spare));
    GNN_TRY(gnn_queue_pop(loader->loaded, &loaded));
    *batch = loaded;
    assert((*batch)->view.batch == x->sb->first + (uint64_t)b);
    return GNN_OK;
}

/* ---- gather ---- */

static enum gnn_status fill_cache(struct ginex_execution *x, struct gnn_err *err)
{
    struct ginex *s = x->s;
    const gnn_node *const initial = x->sb->initial;
    const uint32_t count = x->sb->initial_count;
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    enum gnn_status status;
    ginex_cache_assign(s->cache, initial, count);
    if (s->config->fill == GINEX_FILL_DIRECT) {
        status = ginex_cache_fill_direct(s->cache, s->env->io_engine, initial, count, &s->figures.feature_bytes,
                                         &s->figures.feature_ios, err);
    } else {
        x->fill = (struct ginex_fill_job){s->cache, s->features_map, initial, count};
        gnn_team_post(s->team, ginex_cache_fill, &x->fill);
        status = gnn_team_wait(s->team);
    }
    s->figures.fill_ns += gnn_now_ns(s->env->world) - start_ns;
    s->figures.fill_rows += count;
    return status;
}

/* gnn_part_fn: a worker's part of the gather. */
static enum gnn_status gather_part(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    struct ginex_execution *const x = ctx;
    gnn_env_range(x->s->env, "read");
    const enum gnn_status status = ginex_cache_gather(&x->gather, worker, workers, err);
    gnn_env_range(x->s->env, NULL);
    return status;
}

static enum gnn_status start_gather(struct ginex_execution *x, const struct ginex_trace_batch *batch, uint32_t b,
                                    struct gnn_err *err)
{
    struct gnn_train_input *const input = &x->input[b % GINEX_INPUTS];
    GNN_TRY(gnn_train_input_reserve(input, batch->view.node_count, err));
    x->gather = (struct ginex_gather){x->s->cache, batch->view.nodes, batch->view.node_count, input->rows.data};
    gnn_team_post(x->s->team, gather_part, x);
    x->s->figures.gathered_rows += batch->view.node_count;
    return GNN_OK;
}

/* Waits for the gather and checks that it missed exactly the rows the inspection predicted: GNN_EBUG. */
static enum gnn_status end_gather(struct ginex_execution *x, const struct ginex_trace_batch *batch, struct gnn_err *err)
{
    struct ginex_epoch_figures *const figures = &x->s->figures;
    struct ginex_cache_counts counts;
    assert(batch != NULL);
    GNN_TRY(gnn_team_wait(x->s->team));
    ginex_cache_take_counts(x->s->cache, &counts);
    figures->misses += counts.misses;
    figures->feature_bytes += counts.bytes;
    figures->feature_ios += counts.ios;
    if (counts.misses == batch->changes.misses)
        return GNN_OK;
    return gnn_fail(err, GNN_EBUG,
                    "ginex: mini-batch %" PRIu64 " missed %" PRIu64 " rows, but the inspection predicted %" PRIu32,
                    batch->view.batch, counts.misses, batch->changes.misses);
}

static enum gnn_status apply_changes(struct ginex_execution *x, const struct ginex_trace_batch *batch, uint32_t b)
{
    if (batch->changes.count == 0)
        return GNN_OK;
    x->apply = (struct ginex_apply){x->s->cache, &batch->changes, x->input[b % GINEX_INPUTS].rows.data,
                                    batch->view.node_count};
    x->s->figures.evictions += batch->changes.count;
    gnn_team_post(x->s->team, ginex_cache_apply, &x->apply);
    return gnn_team_wait(x->s->team);
}

/* ---- train ---- */

/* Ends the gather of batch b, brings the cache up to date, and gets batch b + 1 from the trace. */
static enum gnn_status finish_gather(struct ginex_execution *x, struct ginex_trace_batch **of, uint32_t b,
                                     struct gnn_err *err)
{
    const uint32_t held = ginex_trainer_batches(x->s->env, x->s->config);
    const struct ginex_trace_batch *const batch = of[b % held];
    GNN_TRY(end_gather(x, batch, err));
    GNN_TRY(apply_changes(x, batch, b));
    GNN_TRY(gnn_train_input_stage(&x->input[b % GINEX_INPUTS], 0, &batch->view, NULL, err));
    if (b + 1 == x->sb->count)
        return GNN_OK;
    struct ginex_trace_batch **const next = &of[(b + 1) % held];
    return exchange_batch(x, b + 1, *next, next);
}

/* Trains b beside the gather of b + 1; with transfer=ahead and a GPU the batch before b, while b crosses the bus. */
static enum gnn_status train_batches(struct ginex_execution *x, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex *s = x->s;
    const uint32_t count = x->sb->count, held = ginex_trainer_batches(s->env, s->config), behind = held - GINEX_INPUTS;
    struct ginex_trace_batch *of[GINEX_TRAINER_BATCHES_MAX] = {NULL}; /* batch b's at b % held */
    for (uint32_t i = 0; i < held; i++)
        of[i] = &x->batches[i];
    GNN_TRY(exchange_batch(x, 0, of[0], &of[0]));
    GNN_TRY(start_gather(x, of[0], 0, err));
    for (uint32_t b = 0; b < count + behind; b++) {
        const bool more = b + 1 < count;
        GNN_TRY(gnn_check_stop(s->env, err));
        if (b < count)
            GNN_TRY(finish_gather(x, of, b, err));
        if (more && s->config->overlap)
            GNN_TRY(start_gather(x, of[(b + 1) % held], b + 1, err));
        if (b >= behind) {
            const uint32_t t = b - behind;
            GNN_TRY(gnn_training_step(&s->training, &of[t % held]->view, &x->input[t % GINEX_INPUTS], err));
            worker->items++;
        }
        if (more && !s->config->overlap)
            GNN_TRY(start_gather(x, of[(b + 1) % held], b + 1, err));
    }
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex_execution *x = ctx;
    GNN_TRY(fill_cache(x, err));
    GNN_TRY(train_batches(x, worker, err));
    gnn_team_done(x->s->team);
    return GNN_OK;
}

/* ---- set-up of a superbatch ---- */

static enum gnn_status open_batches(struct ginex_execution *x, struct gnn_err *err)
{
    const struct ginex_config *config = x->s->config;
    const uint64_t bytes = ginex_batch_bytes(x->sb);
    x->batch_count = config->trace_loaders * (config->trace_queue + 1) + ginex_trainer_batches(x->s->env, config);
    GNN_NEW(x->batches, x->batch_count, err, "%" PRIu32 " ginex mini-batches", x->batch_count);
    GNN_TRY(gnn_mem_alloc(x->s->env->world, "ginex batches from the trace", gnn_mul_bytes(bytes, x->batch_count),
                          GNN_MEM_LARGE, &x->memory, err));
    for (uint32_t i = 0; i < x->batch_count; i++)
        x->batches[i].memory = (char *)x->memory + i * bytes;
    return GNN_OK;
}

/* Each loader gets trace_queue + 1 batches; the first ones stay with the trainer. */
static enum gnn_status open_loaders(struct ginex_execution *x, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const uint32_t loaders = x->s->config->trace_loaders, queue = x->s->config->trace_queue;
    struct gnn_file *const file = gnn_stream_file_handle(x->sb->trace);
    const struct gnn_reader_config config = {
        .engine = x->s->env->io_engine, .depth = x->s->config->trace_depth, .files = &file, .file_count = 1};
    uint32_t given = ginex_trainer_batches(x->s->env, x->s->config);
    GNN_NEW(x->loaders, loaders, err, "%" PRIu32 " ginex trace loaders", loaders);
    for (struct loader *l = x->loaders; l < x->loaders + loaders; l++) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "trace batches to fill",
                                   queue + 1 + ginex_trainer_batches(x->s->env, x->s->config), &l->empty, err));
        GNN_TRY(gnn_pipeline_queue(pipeline, "trace", queue, &l->loaded, err));
        GNN_TRY(gnn_reader_open(x->s->env->world, &config, &l->reader, err));
        for (uint32_t i = 0; i < queue + 1; i++)
            GNN_TRY(gnn_queue_push(l->empty, &x->batches[given++]));
    }
    assert(given == x->batch_count);
    return GNN_OK;
}

/* With a row for each node that it starts with: a superbatch that asks for fewer different rows than there is room for
 * gets no more, as released (mmapped_features[indices]); change sets keep their number. */
static enum gnn_status open_cache(struct ginex *s, struct gnn_err *err)
{
    struct ginex_cache_config config = ginex_cache_settings(s->env, s->config);
    config.rows = s->stored->initial_count;
    config.features = s->features;
    return ginex_cache_open(s->env->world, &config, &s->cache, err);
}

static void close_loaders(struct ginex_execution *x)
{
    for (uint32_t t = 0; x->loaders != NULL && t < x->s->config->trace_loaders; t++) {
        struct loader *const l = &x->loaders[t];
        if (l->reader == NULL)
            continue;
        struct gnn_reader_counters counters;
        gnn_reader_counters(l->reader, &counters);
        x->s->figures.trace_read_bytes += counters.requested_bytes;
        x->s->figures.trace_read_ios += counters.requested_ios;
        gnn_reader_close(l->reader);
    }
    free(x->loaders);
}

static void close_execution(struct ginex_execution *x)
{
    close_loaders(x);
    gnn_mem_free(x->s->env->world, x->memory);
    free(x->batches);
    for (int i = 0; i < GINEX_INPUTS; i++)
        gnn_train_input_close(&x->input[i]);
    gnn_training_close(&x->s->training);
    if (!x->s->config->overlap_caches)
        ginex_drop_cache(x->s);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct ginex_execution *x = ctx;
    struct ginex *s = x->s;
    for (int i = 0; i < GINEX_INPUTS; i++)
        GNN_TRY(gnn_train_input_open(s->env, "ginex gathered input", s->config->transfer, &x->input[i], err));
    GNN_TRY(open_batches(x, err));
    GNN_TRY(open_loaders(x, pipeline, err));
    GNN_TRY(open_cache(s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "load", s->config->trace_loaders, load_stage, x, err));
    GNN_TRY(gnn_team_stage(s->team, pipeline, "gather", err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, x, err);
}

void ginex_drop_cache(struct ginex *s)
{
    ginex_cache_close(s->cache);
    s->cache = NULL;
}

enum gnn_status ginex_execute(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct ginex_execution x = {.s = s, .sb = s->stored};
    ginex_drop_cache(s); /* the one before, where caches overlap */
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, &x, out, err);
    close_execution(&x);
    return status;
}
