/* PyG+'s epoch: W samplers feed a reorder buffer; one consumer starts the gather of batch k, then trains batch k - 1.
 *
 *   sample (W) --in batch order--> train: take k | wait for gather k-1 | start gather k | train k-1
 *                                    gather (A): rows of batch k out of the mapping
 *
 * Overlap: sampling of later batches, the gather of k, the training of k - 1. A worker draws batch k only while fewer
 * than `prefetch` of its own batches wait for delivery: it needs one of its tokens, an empty item, and the consumer
 * gives worker k mod W a fresh one when it takes batch k. Nothing else synchronises; the stages form a chain. */
#include "systems/pygplus/pygplus.h"

#include "harness/base/atomic_max.h"

#include <assert.h>
#include <string.h>

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pygplus *s = ctx;
    const uint32_t batches = gnn_sampling_batches(s->sampling);
    for (uint32_t k = worker->index; k < batches; k += s->config->workers) {
        void *item;
        GNN_TRY(gnn_queue_pop(s->tokens[worker->index], &item));
        assert(item != NULL);
        gnn_atomic_max(&s->outstanding_peak, atomic_fetch_add(&s->outstanding, 1) + 1);
        GNN_TRY(gnn_sampling_draw(s->sampling, worker->index, k, ((struct pygplus_item *)item)->batch, err));
        GNN_TRY(gnn_reorder_put(s->delivery, k, item));
        worker->items++;
    }
    return GNN_OK;
}

/* Copies an equal contiguous part of the node list, row by row. */
static enum gnn_status gather_part(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    const struct pygplus *s = ctx;
    const struct pygplus_item *item = s->gathering;
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    const uint32_t row_bytes = s->env->dataset->row_bytes;
    uint64_t first, end;
    assert(item->rows->capacity >= view->node_count);
    gnn_team_share(view->node_count, worker, workers, &first, &end);
    if (first == end)
        return GNN_OK;
    return gnn_map_gather_rows(s->env->world, s->features_map, row_bytes, view->nodes + first, end - first,
                               (char *)item->rows->data + first * row_bytes, row_bytes, err);
}

/* Takes batch k, in order, and lets worker k mod W draw another into *spare. *item = NULL after the last. */
static enum gnn_status take_batch(struct pygplus *s, uint32_t k, struct pygplus_item *spare, struct pygplus_item **item)
{
    void *taken;
    GNN_TRY(gnn_reorder_take(s->delivery, &taken));
    *item = taken;
    if (taken == NULL)
        return GNN_OK;
    assert(k < gnn_sampling_batches(s->sampling));
    assert(atomic_load(&s->outstanding) > 0);
    atomic_fetch_sub(&s->outstanding, 1);
    return gnn_queue_push(s->tokens[k % s->config->workers], spare);
}

static enum gnn_status start_gather(struct pygplus *s, struct pygplus_item *item, uint32_t k, struct gnn_err *err)
{
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    item->rows = &s->input[k % PYGPLUS_DELIVERED_MAX];
    GNN_TRY(gnn_rows_reserve(item->rows, view->node_count, err));
    s->gathering = item;
    gnn_team_post(s->gather, gather_part, s);
    s->gathered_rows += view->node_count;
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pygplus *s = ctx;
    struct pygplus_item *spare = &s->items[0], *other_spare = &s->items[1], *item = NULL;
    for (uint32_t k = 0; k == 0 || item != NULL; k++) {
        struct pygplus_item *const gathered = item; /* batch k - 1, once the team is done */
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(take_batch(s, k, spare, &item));
        GNN_TRY(gnn_team_wait(s->gather));
        if (item != NULL)
            GNN_TRY(start_gather(s, item, k, err));
        else
            gnn_team_done(s->gather);
        spare = gathered == NULL ? other_spare : gathered;
        if (gathered == NULL || (item == NULL && s->config->drop_last_train))
            continue;
        GNN_TRY(gnn_training_step(&s->training, gnn_batch_view(gathered->batch), gathered->rows, err));
        worker->items++;
    }
    return GNN_OK;
}

/* -only: takes batches in order and drops them. */
static enum gnn_status deliver_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    (void)err;
    struct pygplus *s = ctx;
    struct pygplus_item *spare = &s->items[0];
    for (uint32_t k = 0;; k++) {
        struct pygplus_item *item;
        GNN_TRY(take_batch(s, k, spare, &item));
        if (item == NULL)
            return GNN_OK;
        spare = item;
        worker->items++;
    }
}

/* Gives each worker `prefetch` tokens; the first PYGPLUS_DELIVERED_MAX items are the consumer's spares. */
static enum gnn_status open_queues(struct pygplus *s, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const uint32_t prefetch = s->config->prefetch;
    assert(s->item_count == prefetch * s->config->workers + PYGPLUS_DELIVERED_MAX);
    for (uint32_t w = 0; w < s->config->workers; w++) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "tokens", prefetch, &s->tokens[w], err));
        for (uint32_t i = 0; i < prefetch; i++)
            GNN_TRY(gnn_queue_push(s->tokens[w], &s->items[PYGPLUS_DELIVERED_MAX + w * prefetch + i]));
    }
    return gnn_pipeline_reorder(pipeline, prefetch * s->config->workers, gnn_sampling_batches(s->sampling),
                                &s->delivery, err);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct pygplus *s = ctx;
    GNN_TRY(open_queues(s, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", s->config->workers, sample_stage, s, err));
    if (s->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "deliver", 1, deliver_stage, s, err);
    GNN_TRY(gnn_team_stage(s->gather, pipeline, "gather", err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err);
}

static void fill_result(const struct pygplus *s, struct gnn_epoch_result *out)
{
    if (!s->env->workload->sample_only)
        gnn_training_result(&s->training, out);
    struct gnn_counters *c = &out->counters;
    gnn_sampling_counters(s->sampling, &c->sample);
    c->needed_bytes =
        c->sample.sampled_edges * s->env->dataset->id_bytes + s->gathered_rows * s->env->dataset->row_bytes;
    c->requested_bytes = c->requested_ios = GNN_UNKNOWN; /* mappings: only the kernel knows */
    c->cache_hits = c->cache_misses = c->cache_evictions = GNN_UNKNOWN;
    c->rows_asked = s->gathered_rows;
    c->rows_read = GNN_UNKNOWN; /* likewise */
    gnn_epoch_figure(out, "sampled_ahead_peak", atomic_load(&s->outstanding_peak));
    gnn_epoch_figure(out, "gathered_rows", s->gathered_rows);
}

enum gnn_status pygplus_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct pygplus *s = state;
    gnn_sampling_begin(s->sampling, epoch);
    gnn_training_begin(&s->training);
    atomic_store(&s->outstanding, 0);
    atomic_store(&s->outstanding_peak, 0);
    s->gathered_rows = 0;
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    fill_result(s, out);
    return status;
}
