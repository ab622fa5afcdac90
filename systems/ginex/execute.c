/* Switch and Execute: fills the feature cache of a superbatch, then gathers and trains its batches from the trace.
 *
 * Source   ginex.md section 3, Switch and Execute
 *
 *     load (L_t)   ids, blocks and change set of batches t, t + L_t, ... from the trace, trace_queue ahead
 *     gather (G)   fill | gather 0 | apply 0 | gather 1 ........ | apply 1 | gather 2
 *     train (1)         wait       | wait    | train 0 .. wait   | wait    | train 1
 *
 * Order    change set b strictly after gather b and before gather b + 1; the cache is never changed while a gather
 *          runs. Overlap: gather b + 1 beside training b (overlap=false: after it)
 * Memory   of this phase alone: the cache, two inputs, the items; freed before the next Inspect unless overlap_caches
 *          keeps the cache until that has ended, as the released code does */
#include "systems/ginex/ginex.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- load ---- */

static enum gnn_status load_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex *s = ctx;
    const uint32_t t = worker->index;
    for (uint32_t b = t; b < s->stored->count; b += s->config->trace_loaders) {
        void *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->tokens[t], &item));
        GNN_TRY(ginex_load_item(s->stored, b, s->loaders[t], item, err));
        GNN_TRY(gnn_queue_push(s->ready[t], item));
        worker->items++;
    }
    return GNN_OK;
}

/* ---- gather ---- */

static enum gnn_status gather_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex *s = ctx;
    return gnn_team_work(s->team, worker, err);
}

static enum gnn_status fill(struct ginex *s, struct gnn_err *err)
{
    const struct ginex_superbatch *sb = s->stored;
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    enum gnn_status status;
    ginex_cache_assign(s->cache, sb->initial, sb->initial_count);
    if (s->config->fill == GINEX_FILL_DIRECT) {
        status = ginex_cache_fill_direct(s->cache, s->env->io_engine, sb->initial, sb->initial_count,
                                         &s->figures.feature_bytes, &s->figures.feature_ios, err);
    } else {
        s->fill = (struct ginex_fill_job){s->cache, s->features_map, sb->initial, sb->initial_count};
        gnn_team_post(s->team, ginex_cache_fill, &s->fill);
        status = gnn_team_wait(s->team);
    }
    s->figures.fill_ns += gnn_now_ns(s->env->world) - start_ns;
    s->figures.fill_rows += sb->initial_count;
    return status;
}

static enum gnn_status start_gather(struct ginex *s, struct ginex_item *item, uint32_t b, struct gnn_err *err)
{
    item->rows = &s->input[b % 2];
    GNN_TRY(gnn_rows_reserve(item->rows, item->view.node_count, err));
    item->gather = (struct ginex_gather){s->cache, item->view.nodes, item->view.node_count, item->rows->data};
    gnn_team_post(s->team, ginex_cache_gather, &item->gather);
    s->figures.gathered_rows += item->view.node_count;
    return GNN_OK;
}

/* The gather's misses are what the inspection foretold, or somebody is wrong. */
static enum gnn_status end_gather(struct ginex *s, const struct ginex_item *item, struct gnn_err *err)
{
    struct ginex_cache_counts counts;
    GNN_TRY(gnn_team_wait(s->team));
    ginex_cache_take_counts(s->cache, &counts);
    s->figures.misses += counts.misses;
    s->figures.feature_bytes += counts.bytes;
    s->figures.feature_ios += counts.ios;
    if (counts.misses == item->changes.misses)
        return GNN_OK;
    return gnn_fail(err, GNN_EBUG,
                    "ginex: mini-batch %" PRIu64 " missed %" PRIu64 " rows, the inspection foretold %" PRIu32,
                    item->view.batch, counts.misses, item->changes.misses);
}

static enum gnn_status apply(struct ginex *s, struct ginex_item *item)
{
    if (item->changes.count == 0)
        return GNN_OK;
    item->apply = (struct ginex_apply){s->cache, &item->changes, item->rows->data};
    s->figures.evictions += item->changes.count;
    gnn_team_post(s->team, ginex_cache_apply, &item->apply);
    return gnn_team_wait(s->team);
}

/* ---- train ---- */

static enum gnn_status take(struct ginex *s, uint32_t b, struct ginex_item *spare, struct ginex_item **item)
{
    const uint32_t t = b % s->config->trace_loaders;
    void *taken;
    GNN_TRY(gnn_queue_push(s->tokens[t], spare));
    GNN_TRY(gnn_queue_pop(s->ready[t], &taken));
    *item = taken;
    return GNN_OK;
}

static enum gnn_status train(struct ginex *s, const struct ginex_item *item, struct gnn_err *err)
{
    return gnn_training_step(&s->training, &item->view, item->rows, err);
}

static enum gnn_status train_batches(struct ginex *s, struct gnn_worker *worker, struct gnn_err *err)
{
    const uint32_t count = s->stored->count;
    struct ginex_item *item = NULL, *next = NULL, *spare = &s->items[1];
    GNN_TRY(take(s, 0, &s->items[0], &item));
    GNN_TRY(start_gather(s, item, 0, err));
    for (uint32_t b = 0; b < count; b++) {
        const bool more = b + 1 < count;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(end_gather(s, item, err));
        GNN_TRY(apply(s, item));
        if (more)
            GNN_TRY(take(s, b + 1, spare, &next));
        if (more && s->config->overlap)
            GNN_TRY(start_gather(s, next, b + 1, err));
        GNN_TRY(train(s, item, err));
        worker->items++;
        if (more && !s->config->overlap)
            GNN_TRY(start_gather(s, next, b + 1, err));
        spare = item;
        item = next;
    }
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex *s = ctx;
    GNN_TRY(fill(s, err));
    GNN_TRY(train_batches(s, worker, err));
    gnn_team_done(s->team);
    return GNN_OK;
}

/* ---- set-up of a superbatch ---- */

static void cancel(void *target)
{
    struct ginex *s = target;
    for (uint32_t t = 0; t < s->config->trace_loaders; t++) {
        gnn_queue_cancel(s->tokens[t]);
        gnn_queue_cancel(s->ready[t]);
    }
    gnn_team_cancel(s->team);
}

static uint32_t item_count(const struct ginex *s)
{
    return s->config->trace_loaders * (s->config->trace_queue + 1) + 2;
}

/* Each loader owns trace_queue + 1 items; the first two are the trainer's spares. */
static enum gnn_status open_items(struct ginex *s, struct gnn_err *err)
{
    const uint64_t bytes = ginex_item_bytes(s->stored);
    s->items = calloc(item_count(s), sizeof *s->items);
    if (s->items == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: %" PRIu32 " mini-batches", item_count(s));
    GNN_TRY(gnn_mem_alloc(s->env->world, "ginex batches from the trace", gnn_mul_bytes(bytes, item_count(s)),
                          GNN_MEM_PLAIN, &s->items_memory, err));
    for (uint32_t i = 0; i < item_count(s); i++)
        s->items[i].memory = (char *)s->items_memory + i * bytes;
    return GNN_OK;
}

static enum gnn_status open_loaders(struct ginex *s, struct gnn_err *err)
{
    struct gnn_world *world = s->env->world;
    const uint32_t loaders = s->config->trace_loaders, own = s->config->trace_queue + 1;
    struct gnn_file *const file = gnn_stream_file_handle(s->stored->trace);
    const struct gnn_reader_config config = {
        .engine = s->env->io_engine, .depth = s->config->trace_depth, .files = &file, .file_count = 1};
    s->tokens = calloc(loaders, sizeof(struct gnn_queue *));
    s->ready = calloc(loaders, sizeof(struct gnn_queue *));
    s->loaders = calloc(loaders, sizeof(struct gnn_reader *));
    if (s->tokens == NULL || s->ready == NULL || s->loaders == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: %" PRIu32 " trace loaders", loaders);
    for (uint32_t t = 0; t < loaders; t++) {
        GNN_TRY(gnn_queue_open(world, "trace items", own + 2, &s->tokens[t], err));
        GNN_TRY(gnn_queue_open(world, "trace", s->config->trace_queue, &s->ready[t], err));
        GNN_TRY(gnn_reader_open(world, &config, &s->loaders[t], err));
        for (uint32_t i = 0; i < own; i++)
            GNN_TRY(gnn_queue_push(s->tokens[t], &s->items[2 + t * own + i]));
    }
    return GNN_OK;
}

static enum gnn_status open_cache(struct ginex *s, struct gnn_err *err)
{
    const struct gnn_dataset *d = s->env->dataset;
    const struct ginex_cache_config config = {
        .node_count = d->node_count,
        .rows = s->sizes.cache_rows,
        .row_bytes = d->row_bytes,
        .unit_bytes = s->config->io == GINEX_IO_DIRECT ? (uint32_t)s->config->io_unit : 1,
        .workers = s->config->gather_threads,
        .features = s->features,
    };
    return ginex_cache_open(s->env->world, &config, &s->cache, err);
}

static enum gnn_status open_all(struct ginex *s, struct gnn_err *err)
{
    for (int i = 0; i < 2; i++)
        gnn_rows_init(&s->input[i], s->env, "ginex gathered input", s->env->tensor->host_memory);
    GNN_TRY(open_items(s, err));
    GNN_TRY(open_loaders(s, err));
    return open_cache(s, err);
}

static void close_loaders(struct ginex *s)
{
    for (uint32_t t = 0; t < s->config->trace_loaders; t++) {
        if (s->tokens != NULL)
            gnn_queue_close(s->tokens[t]);
        if (s->ready != NULL)
            gnn_queue_close(s->ready[t]);
        if (s->loaders == NULL || s->loaders[t] == NULL)
            continue;
        struct gnn_reader_counters counters;
        gnn_reader_counters(s->loaders[t], &counters);
        s->figures.trace_read_bytes += counters.requested_bytes;
        s->figures.trace_read_ios += counters.requested_ios;
        gnn_reader_close(s->loaders[t]);
    }
    free(s->tokens);
    free(s->ready);
    free(s->loaders);
    s->tokens = s->ready = NULL;
    s->loaders = NULL;
}

static void close_all(struct ginex *s)
{
    close_loaders(s);
    gnn_mem_free(s->env->world, s->items_memory);
    free(s->items);
    s->items_memory = NULL;
    s->items = NULL;
    for (int i = 0; i < 2; i++)
        gnn_rows_close(&s->input[i]);
    if (s->config->overlap_caches)
        return;
    ginex_cache_close(s->cache);
    s->cache = NULL;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct ginex *s = ctx;
    GNN_TRY(open_all(s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "load", s->config->trace_loaders, load_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "gather", s->config->gather_threads, gather_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err));
    GNN_TRY(gnn_pipeline_on_cancel(pipeline, cancel, s, err));
    gnn_team_begin(s->team);
    return GNN_OK;
}

enum gnn_status ginex_execute(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err)
{
    ginex_cache_close(s->cache); /* the one before, where caches overlap */
    s->cache = NULL;
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    close_all(s);
    return status;
}
