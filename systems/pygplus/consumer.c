/* SPDX-License-Identifier: MIT */
/* PyG+'s epoch: W samplers feed a reorder buffer; one consumer starts the gather of batch k, then trains batch k - 1.
 *
 *   sample (W) --in batch order--> train: take k | wait for gather k-1 | start gather k | train k-1
 *                                    gather (G): rows of batch k out of the mapping
 *
 * With transfer=ahead and a GPU, batch k - 1 crosses the bus meanwhile and batch k - 2 trains; the gather of k waits
 * for the copy of k - 2, whose host memory it fills.
 *
 * Overlap: sampling of later batches, the gather of k, the training of k - 1. A worker draws batch k only while fewer
 * than `prefetch` of its own batches wait for delivery: it needs one of its tokens, an empty item, and the consumer
 * gives worker k mod W a fresh one when it takes batch k. Nothing else synchronises; the stages form a chain. */
#include "systems/pygplus/pygplus.h"

#include "harness/base/atomic_max.h"

#include <assert.h>
#include <string.h>

static enum gnn_status draw(struct pygplus *s, uint32_t worker, uint32_t k, struct pygplus_item *item,
                            struct gnn_err *err)
{
    return pygplus_links(s) ? gnn_link_sampling_draw(s->link_sampling, worker, k, &item->link, err)
                            : gnn_sampling_draw(s->sampling, worker, k, item->batch, err);
}

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pygplus *s = ctx;
    const uint32_t batches = pygplus_batches(s);
    for (uint32_t k = worker->index; k < batches; k += s->config->workers) {
        void *item;
        GNN_TRY(gnn_queue_pop(s->tokens[worker->index], &item));
        assert(item != NULL);
        gnn_atomic_max(&s->outstanding_peak, atomic_fetch_add(&s->outstanding, 1) + 1);
        GNN_TRY(draw(s, worker->index, k, item, err));
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
    assert(item->input->rows.capacity >= view->node_count);
    gnn_team_share(view->node_count, worker, workers, &first, &end);
    if (first == end)
        return GNN_OK;
    gnn_env_range(s->env, "read");
    gnn_charge(s->env->world, GNN_WORK_FRESH_PAGE, (end - first) * row_bytes / GNN_PAGE_BYTES); /* its own a batch */
    const enum gnn_status status =
        gnn_map_gather_rows(s->env->world, s->features_map, row_bytes, view->nodes + first, end - first,
                            (char *)item->input->rows.data + first * row_bytes, row_bytes, err);
    gnn_env_range(s->env, NULL);
    return status;
}

static enum gnn_status start_gather(struct pygplus *s, struct pygplus_item *item, uint32_t k, struct gnn_err *err)
{
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    item->input = &s->input[k % PYGPLUS_INPUTS];
    GNN_TRY(gnn_train_input_reserve(item->input, view->node_count, err));
    s->gathering = item;
    gnn_team_post(s->gather, gather_part, s);
    s->gathered_rows += view->node_count;
    return GNN_OK;
}

/* Trains a batch whose rows are gathered; the last of an epoch unless it is dropped. */
static enum gnn_status train_one(struct pygplus *s, const struct pygplus_item *item, struct gnn_worker *worker,
                                 struct gnn_err *err)
{
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    if (s->config->drop_last_train && view->batch + 1 == pygplus_batches(s))
        return GNN_OK;
    worker->items++;
    return gnn_training_step(&s->training, view, item->input, err);
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct pygplus *s = ctx;
    const uint32_t delivered = pygplus_delivered(s->env, s->config), batches = pygplus_batches(s);
    struct pygplus_item *of[PYGPLUS_DELIVERED_MAX] = {NULL}; /* batch k's at k % delivered, free again once trained */
    for (uint32_t i = 0; i < delivered; i++)
        of[i] = &s->items[i];
    for (uint32_t k = 0; k < batches + delivered - 1; k++) {
        struct pygplus_item *item = NULL, **const place = &of[k % delivered];
        GNN_TRY(gnn_check_stop(s->env, err));
        if (k < batches + 1)
            GNN_TRY(pygplus_take_batch(s, k, *place, &item));
        GNN_TRY(gnn_team_wait(s->gather));
        if (delivered > PYGPLUS_INPUTS && k > 0 && k <= batches) {
            const struct pygplus_item *const gathered = of[(k - 1) % delivered];
            GNN_TRY(gnn_train_input_stage(gathered->input, 0, gnn_batch_view(gathered->batch), NULL, err));
        }
        if (item != NULL) {
            *place = item;
            GNN_TRY(start_gather(s, item, k, err));
        } else if (k == batches) {
            gnn_team_done(s->gather);
        }
        if (k + 1 >= delivered)
            GNN_TRY(train_one(s, of[(k + 1) % delivered], worker, err));
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
        GNN_TRY(pygplus_take_batch(s, k, spare, &item));
        if (item == NULL)
            return GNN_OK;
        spare = item;
        worker->items++;
    }
}

/* Gives each worker `prefetch` tokens; the first pygplus_delivered items are the consumer's spares. */
static enum gnn_status open_queues(struct pygplus *s, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const uint32_t prefetch = s->config->prefetch, delivered = pygplus_delivered(s->env, s->config);
    assert(s->item_count == prefetch * s->config->workers + delivered);
    for (uint32_t w = 0; w < s->config->workers; w++) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "tokens", prefetch, &s->tokens[w], err));
        for (uint32_t i = 0; i < prefetch; i++)
            GNN_TRY(gnn_queue_push(s->tokens[w], &s->items[delivered + w * prefetch + i]));
    }
    return gnn_pipeline_reorder(pipeline, prefetch * s->config->workers, pygplus_batches(s), &s->delivery, err);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct pygplus *s = ctx;
    GNN_TRY(open_queues(s, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", s->config->workers, sample_stage, s, err));
    if (s->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "deliver", 1, deliver_stage, s, err);
    GNN_TRY(gnn_team_stage(s->gather, pipeline, "gather", err));
    return gnn_pipeline_stage(pipeline, "train", 1, pygplus_links(s) ? pygplus_link_train_stage : train_stage, s, err);
}

static void fill_result(const struct pygplus *s, struct gnn_epoch_result *out)
{
    struct gnn_counters *c = &out->counters;
    if (pygplus_links(s)) {
        pygplus_link_result(s, out);
    } else {
        if (!s->env->workload->sample_only)
            gnn_training_result(&s->training, out);
        gnn_sampling_counters(s->sampling, &c->sample);
    }
    c->needed_bytes =
        c->sample.sampled_edges * s->env->dataset->id_bytes + s->gathered_rows * s->env->dataset->row_bytes;
    c->requested_bytes = c->requested_ios = GNN_UNKNOWN; /* mappings: only the kernel knows */
    c->cache_hits = c->cache_misses = c->cache_evictions = GNN_UNKNOWN;
    c->rows_asked = s->gathered_rows;
    c->rows_read = GNN_UNKNOWN; /* likewise */
    gnn_epoch_figure(out, "sampled_ahead_peak", atomic_load(&s->outstanding_peak));
    gnn_epoch_figure(out, "gathered_rows", s->gathered_rows);
    gnn_epoch_figure(out, "sample_ns", s->sample_ns);
}

enum gnn_status pygplus_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct pygplus *s = state;
    if (pygplus_links(s)) {
        gnn_link_sampling_begin(s->link_sampling, epoch);
        gnn_link_training_begin(&s->link_training);
    } else {
        gnn_sampling_begin(s->sampling, epoch);
        gnn_training_begin(&s->training);
    }
    atomic_store(&s->outstanding, 0);
    atomic_store(&s->outstanding_peak, 0);
    s->gathered_rows = 0;
    const uint64_t start_ns = gnn_observed_ns(s->env->world);
    gnn_charge(s->env->world, GNN_WORK_PROCESS_START, s->config->workers); /* a loader's, made anew for each epoch */
    s->sample_ns = gnn_observed_ns(s->env->world) - start_ns;
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    fill_result(s, out);
    return status;
}
