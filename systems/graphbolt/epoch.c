/* SPDX-License-Identifier: MIT */
/* GraphBolt's epoch (dmlc/dgl, python/dgl/graphbolt/dataloader.py and feature_fetcher.py):
 *
 *   sample (samplers) --in order--> lookup --> read --> copy --> train --idle items--> lookup
 *                                     |          |        |
 *                                  lookups     rings   copiers: their teams
 *
 * Mini-batches pass the last four stages in order, and up to in_flight of them are between lookup and training. As in
 * the released code, whose stages each hold one, the rows that a mini-batch reads are in the cache for others once it
 * has left the last stage. */
#include "systems/graphbolt/graphbolt.h"

#include <assert.h>
#include <inttypes.h>

/* ---- stages ---- */

static enum gnn_status draw(struct graphbolt *s, uint32_t worker, uint32_t k, struct gnn_batch *batch,
                            struct gnn_err *err)
{
    const uint32_t batches = gnn_whole_epoch_batches(s->env);
    graphbolt_topology_begin_batch(s->topology, worker, s->epoch, k, batches);
    return gnn_sampling_draw(s->sampling, worker, k, batch, err);
}

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    const uint32_t batches = gnn_sampling_batches(s->sampling);
    for (uint32_t k = worker->index; k < batches; k += s->config->samplers) {
        void *batch;
        GNN_TRY(gnn_queue_pop(s->tokens[worker->index], &batch));
        assert(batch != NULL);
        GNN_TRY(draw(s, worker->index, k, batch, err));
        GNN_TRY(gnn_reorder_put(s->delivery, k, batch));
        worker->items++;
    }
    return GNN_OK;
}

/* -only: draws mini-batches and drops them. */
static enum gnn_status sample_only_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    const uint32_t batches = gnn_sampling_batches(s->sampling);
    for (uint32_t k = worker->index; k < batches; k += s->config->samplers) {
        GNN_TRY(draw(s, worker->index, k, s->batches[worker->index], err));
        worker->items++;
    }
    return GNN_OK;
}

/* Takes the next mini-batch into the item, or sets *more to false after the last. Its sampler gets the item's old
 * one. */
static enum gnn_status take_batch(struct graphbolt *s, struct graphbolt_item *item, uint32_t k, bool *more)
{
    void *taken;
    const uint64_t start_ns = gnn_observed_ns(s->env->world);
    GNN_TRY(gnn_reorder_take(s->delivery, &taken));
    s->counts.sample_ns += gnn_observed_ns(s->env->world) - start_ns;
    *more = taken != NULL;
    if (taken == NULL)
        return GNN_OK;
    struct gnn_batch *const old = item->batch;
    item->batch = taken;
    return gnn_queue_push(s->tokens[k % s->config->samplers], old);
}

static enum gnn_status lookup_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    for (uint32_t k = 0;; k++) {
        void *popped;
        bool more;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->idle, &popped));
        struct graphbolt_item *const item = popped;
        GNN_TRY(graphbolt_complete(s, item));
        GNN_TRY(take_batch(s, item, k, &more));
        if (!more)
            break;
        GNN_TRY(graphbolt_lookup(s, item, err));
        GNN_TRY(gnn_queue_push(s->reading, item));
        worker->items++;
    }
    gnn_team_done(s->lookups);
    gnn_queue_done(s->reading);
    return GNN_OK;
}

typedef enum gnn_status item_fn(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err);

/* Does `work` for every item of a queue and hands it to the next. */
static enum gnn_status pass_on(struct graphbolt *s, struct gnn_queue *from, item_fn *work, struct gnn_queue *to,
                               struct gnn_worker *worker, struct gnn_err *err)
{
    for (;;) {
        void *item;
        GNN_TRY(gnn_queue_pop(from, &item));
        if (item == NULL)
            return GNN_OK;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(work(s, item, err));
        GNN_TRY(gnn_queue_push(to, item));
        worker->items++;
    }
}

static enum gnn_status read_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    GNN_TRY(pass_on(s, s->reading, graphbolt_read, s->copying, worker, err));
    gnn_team_done(s->readers);
    gnn_queue_done(s->copying);
    return GNN_OK;
}

static enum gnn_status copy_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    GNN_TRY(pass_on(s, s->copying, graphbolt_copy, s->training_queue, worker, err));
    gnn_team_done(s->copiers);
    gnn_queue_done(s->training_queue);
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    return pass_on(s, s->training_queue, graphbolt_train, s->idle, worker, err);
}

/* ---- an epoch ---- */

static enum gnn_status open_queues(struct graphbolt *s, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const uint32_t in_flight = s->config->in_flight, ahead = GRAPHBOLT_BATCHES_PER_SAMPLER;
    const uint32_t samplers = s->config->samplers;
    struct gnn_queue **const queues[] = {&s->reading, &s->copying, &s->training_queue};
    assert(s->batch_count == in_flight + samplers * ahead);
    GNN_TRY(gnn_pipeline_queue(pipeline, "idle", in_flight, &s->idle, err));
    for (uint32_t i = 0; i < in_flight; i++) {
        s->items[i].batch = s->batches[i];
        GNN_TRY(gnn_queue_push(s->idle, &s->items[i]));
    }
    for (uint32_t w = 0; w < samplers; w++) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "tokens", ahead, &s->tokens[w], err));
        for (uint32_t i = 0; i < ahead; i++)
            GNN_TRY(gnn_queue_push(s->tokens[w], s->batches[in_flight + w * ahead + i]));
    }
    for (size_t q = 0; q < sizeof queues / sizeof *queues; q++) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "items", in_flight, queues[q], err));
        gnn_queue_producers(*queues[q], 1);
    }
    return gnn_pipeline_reorder(pipeline, samplers * ahead, gnn_sampling_batches(s->sampling), &s->delivery, err);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    if (s->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "sample", s->config->samplers, sample_only_stage, s, err);
    GNN_TRY(open_queues(s, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", s->config->samplers, sample_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "lookup", 1, lookup_stage, s, err));
    GNN_TRY(gnn_team_stage(s->lookups, pipeline, "lookups", err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "read", 1, read_stage, s, err));
    GNN_TRY(gnn_team_stage(s->readers, pipeline, "rings", err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "copy", 1, copy_stage, s, err));
    GNN_TRY(gnn_team_stage(s->copiers, pipeline, "copiers", err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err);
}

static void add_rows(struct graphbolt *s, struct gnn_epoch_result *out)
{
    const struct graphbolt_epoch_counts *const n = &s->counts;
    struct gnn_counters *const c = &out->counters;
    struct graphbolt_cache_counts now;
    graphbolt_cache_counts(s->cache, &now);
    graphbolt_read_counters(s, c, true);
    s->looked_up += n->rows - n->gpu_hits;
    s->missed += n->misses;
    c->cache_hits = n->rows - n->misses;
    c->cache_misses = n->misses;
    c->cache_evictions = now.evictions - s->before.evictions;
    c->rows_asked = n->rows;
    c->rows_read = n->misses;
    gnn_epoch_figure(out, "gpu_hits", n->gpu_hits);
    gnn_epoch_figure(out, "not_inserted_rows", n->repeated);
    gnn_epoch_figure(out, "eviction_steps", now.steps - s->before.steps);
    gnn_epoch_figure(out, "looked_up_so_far", s->looked_up);
    gnn_epoch_figure(out, "missed_so_far", s->missed);
    gnn_epoch_figure(out, "sample_ns", n->sample_ns);
    gnn_epoch_size(out, "cache_rows", s->sizes.cache.rows);
    gnn_epoch_size(out, "gpu_cache_rows", s->sizes.gpu_rows);
    gnn_epoch_size(out, "parts", s->sizes.parts);
}

static void fill_result(struct graphbolt *s, uint64_t start_ns, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    gnn_sampling_counters(s->sampling, &c->sample);
    c->needed_bytes = c->sample.sampled_edges * s->env->dataset->id_bytes + s->counts.rows * s->env->dataset->row_bytes;
    if (s->env->workload->sample_only) { /* no stage waits for samples, so the whole epoch is sampling */
        gnn_epoch_figure(out, "sample_ns", gnn_observed_ns(s->env->world) - start_ns);
        return;
    }
    gnn_training_result(&s->training, out);
    add_rows(s, out);
}

/* Ends the uses of the last mini-batches. GNN_EBUG: a row is in use that no mini-batch uses. */
static enum gnn_status end_uses(struct graphbolt *s, struct gnn_err *err)
{
    for (uint32_t i = 0; i < s->config->in_flight; i++)
        graphbolt_complete_alone(s, &s->items[i]);
    const uint64_t busy = graphbolt_cache_busy(s->cache) + (s->device != NULL ? graphbolt_cache_busy(s->device) : 0);
    if (busy == 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EBUG, "graphbolt: %" PRIu64 " rows of the caches are in use after the epoch", busy);
}

/* After a failure: copies to the GPU end, and nothing that was cached counts. */
static void forget_rows(struct graphbolt *s)
{
    if (graphbolt_on_device(s))
        graphbolt_stop_copies(s);
    for (uint32_t i = 0; i < s->config->in_flight; i++)
        s->items[i].nodes = 0;
    graphbolt_cache_clear(s->cache);
    if (s->device != NULL)
        graphbolt_cache_clear(s->device);
}

enum gnn_status graphbolt_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct graphbolt *const s = state;
    s->epoch = epoch;
    gnn_sampling_begin(s->sampling, epoch);
    s->counts = (struct graphbolt_epoch_counts){.rows = 0};
    if (!s->env->workload->sample_only) {
        gnn_training_begin(&s->training);
        graphbolt_cache_counts(s->cache, &s->before);
    }
    const uint64_t start_ns = gnn_observed_ns(s->env->world);
    enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    fill_result(s, start_ns, out);
    if (s->cache != NULL && status == GNN_OK)
        status = end_uses(s, err);
    else if (s->cache != NULL)
        forget_rows(s);
    return status;
}
