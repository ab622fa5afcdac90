/* SPDX-License-Identifier: MIT */
/* GNNDrive's epoch (section 4.1, Figure 4): sample (Ns) -> extract (Ne) -> train (1) -> release (1), and back to the
 * samplers' free items.
 *
 *   free items --> sample --[Q_e]--> extract --[Q_t]--> train --[unbounded]--> release --> free items
 *
 * Batches may overtake each other at both queues (section 4.3, reordering); with in_order both are reorder buffers and
 * batches enter the feature buffer in order too. A trainer or releaser that has a batch never waits for an extractor:
 * the feature buffer's deadlock rule requires it. */
#include "systems/gnndrive/gnndrive.h"

#include "harness/base/atomic_max.h"

#include <assert.h>

/* ---- channels ---- */

static enum gnn_status channel_open(struct gnn_pipeline *pipeline, const char *name, bool in_order, uint32_t depth,
                                    uint32_t producers, uint32_t batches, struct gnndrive_channel *out,
                                    struct gnn_err *err)
{
    *out = (struct gnndrive_channel){.queue = NULL};
    if (in_order)
        return gnn_pipeline_reorder(pipeline, depth, batches, &out->reorder, err);
    GNN_TRY(gnn_pipeline_queue(pipeline, name, depth, &out->queue, err));
    gnn_queue_producers(out->queue, producers);
    return GNN_OK;
}

static enum gnn_status channel_push(struct gnndrive_channel *channel, struct gnndrive_item *item)
{
    if (channel->reorder != NULL)
        return gnn_reorder_put(channel->reorder, item->k, item);
    return gnn_queue_push(channel->queue, item);
}

static enum gnn_status channel_pop(struct gnndrive_channel *channel, struct gnndrive_item **item)
{
    void *popped = NULL;
    if (channel->reorder != NULL)
        GNN_TRY(gnn_reorder_take(channel->reorder, &popped));
    else
        GNN_TRY(gnn_queue_pop(channel->queue, &popped));
    *item = popped;
    return GNN_OK;
}

static void channel_done(struct gnndrive_channel *channel)
{
    if (channel->queue != NULL) /* a reorder buffer knows its last ticket */
        gnn_queue_done(channel->queue);
}

/* ---- stages ---- */

/* Takes the next batch of sampler w; false when there is none. */
static bool next_batch(struct gnndrive *s, uint32_t w, uint32_t *k)
{
    uint32_t first, end;
    gnn_sampling_range(s->sampling, w, &first, &end);
    const uint32_t counter = s->config->order == GNNDRIVE_ORDER_SEGMENTS ? w : 0;
    const uint32_t taken = atomic_fetch_add(&s->next_batch[counter], 1);
    *k = first + taken;
    return taken < end - first;
}

/* Takes an item before a batch number, so that the sampler of the next batch never waits for a free item. */
static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnndrive *s = ctx;
    for (;;) {
        void *popped;
        GNN_TRY(gnn_queue_pop(s->free_items, &popped));
        struct gnndrive_item *item = popped;
        if (!next_batch(s, worker->index, &item->k)) {
            channel_done(&s->extracting);
            return gnn_queue_push(s->free_items, item);
        }
        GNN_TRY(gnn_sampling_draw(s->sampling, worker->index, item->k, item->batch, err));
        GNN_TRY(channel_push(&s->extracting, item));
        worker->items++;
    }
}

/* -only: draws batches and drops them. */
static enum gnn_status sample_only_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnndrive *s = ctx;
    uint32_t k;
    while (next_batch(s, worker->index, &k)) {
        GNN_TRY(gnn_sampling_draw(s->sampling, worker->index, k, s->items[worker->index].batch, err));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status extract_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnndrive *s = ctx;
    for (;;) {
        struct gnndrive_item *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        const uint64_t start_ns = gnn_observed_ns(s->env->world);
        GNN_TRY(channel_pop(&s->extracting, &item));
        s->extractors[worker->index].sample_ns += gnn_observed_ns(s->env->world) - start_ns;
        if (item == NULL) {
            channel_done(&s->training_queue);
            return GNN_OK;
        }
        gnn_atomic_max(&s->batch_nodes_peak, gnn_batch_view(item->batch)->node_count);
        GNN_TRY(gnndrive_extract(s, worker->index, item, err));
        GNN_TRY(channel_push(&s->training_queue, item));
        worker->items++;
    }
}

static void count_overtaken(struct gnndrive *s, uint32_t k)
{
    if (k + 1 < s->trained_last)
        s->overtaken++;
    else
        s->trained_last = k + 1;
}

/* Lets go of an item; who is the last gives it back to the samplers. */
static enum gnn_status drop_item(struct gnndrive *s, struct gnndrive_item *item)
{
    return atomic_fetch_sub(&item->holders, 1) == 1 ? gnn_queue_push(s->free_items, item) : GNN_OK;
}

/* Gathers the batch's rows into the dense input. With a GPU its slots may be released as soon as the gather has passed:
 * the releaser waits for that, the trainer does not. */
static enum gnn_status gather(struct gnndrive *s, struct gnndrive_item *item, struct gnn_err *err)
{
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    struct gnn_tensor *tensor = s->env->tensor;
    const uint32_t dim = s->env->dataset->dim;
    GNN_TRY(gnn_rows_reserve(&s->dense, view->node_count, err));
    if (s->env->dataset->feature_type == GNN_F16)
        tensor->ops->gather_halves(tensor, s->dense.data, s->slots, dim, item->alias, view->node_count, dim);
    else
        tensor->ops->gather_rows(tensor, s->dense.data, s->slots, dim, item->alias, view->node_count, dim);
    if (item->rows_read == NULL)
        return GNN_OK;
    tensor->ops->event_record(tensor, item->rows_read, GNN_LANE_STREAM);
    return gnn_queue_push(s->releasing, item);
}

static enum gnn_status train_one(struct gnndrive *s, struct gnndrive_item *item, struct gnn_err *err)
{
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    struct gnn_train_input *const input = s->sizes.staging > 0 ? &item->input : &s->input;
    const gnn_real *none;
    assert(item->held);
    if (s->sizes.lock_reach == GNNDRIVE_LOCK_EXTRACTION) { /* the interpreter lock kept the trainer out meanwhile */
        gnndrive_buffer_lock(s->fb);
        gnndrive_buffer_unlock(s->fb);
    }
    const uint32_t k = item->k;
    atomic_store(&item->holders, 2);
    GNN_TRY(gnn_train_input_use(input, view, &none, err));
    enum gnn_status status = gather(s, item, err);
    GNN_NEXT(status, gnn_training_step_on(&s->training, view, input, s->dense.data, err));
    gnn_train_input_end(input);
    GNN_TRY(status);
    s->trained_rows += view->node_count;
    count_overtaken(s, k);
    if (item->rows_read == NULL)
        GNN_TRY(gnn_queue_push(s->releasing, item));
    return drop_item(s, item);
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnndrive *s = ctx;
    for (;;) {
        struct gnndrive_item *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(channel_pop(&s->training_queue, &item));
        if (item == NULL) {
            gnn_queue_done(s->releasing);
            return GNN_OK;
        }
        GNN_TRY(train_one(s, item, err));
        worker->items++;
    }
}

static void release_rows(struct gnndrive *s, struct gnndrive_item *item)
{
    assert(item->held);
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    gnndrive_buffer_lock(s->fb);
    gnndrive_buffer_release(s->fb, view->nodes, view->node_count);
    gnndrive_buffer_unlock(s->fb);
    item->held = false;
}

static enum gnn_status release_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    (void)err;
    struct gnndrive *s = ctx;
    for (;;) {
        void *item;
        GNN_TRY(gnn_queue_pop(s->releasing, &item));
        if (item == NULL)
            return GNN_OK;
        if (((struct gnndrive_item *)item)->rows_read != NULL)
            s->env->tensor->ops->event_wait(s->env->tensor, ((struct gnndrive_item *)item)->rows_read);
        release_rows(s, item);
        GNN_TRY(drop_item(s, item));
        worker->items++;
    }
}

static void cancel_waits(void *target)
{
    const struct gnndrive *const s = target;
    gnndrive_buffer_cancel(s->fb);
    if (s->sizes.portion > 0)
        gnndrive_staging_cancel(s->shared->staging, s->env->rank);
}

static enum gnn_status open_queues(struct gnndrive *s, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const struct gnndrive_config *config = s->config;
    const uint32_t batches = gnn_sampling_batches(s->sampling);
    GNN_TRY(gnn_pipeline_queue(pipeline, "free items", s->sizes.items, &s->free_items, err));
    for (uint32_t i = 0; i < s->sizes.items; i++)
        GNN_TRY(gnn_queue_push(s->free_items, &s->items[i]));
    GNN_TRY(channel_open(pipeline, "extracting", config->in_order, s->sizes.extract_queue, config->samplers, batches,
                         &s->extracting, err));
    GNN_TRY(channel_open(pipeline, "training", config->in_order, s->sizes.train_queue, config->extractors, batches,
                         &s->training_queue, err));
    GNN_TRY(gnn_pipeline_queue(pipeline, "releasing", 0, &s->releasing, err));
    gnn_queue_producers(s->releasing, 1);
    return GNN_OK;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct gnndrive *s = ctx;
    if (s->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "sample", s->config->samplers, sample_only_stage, s, err);
    GNN_TRY(open_queues(s, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", s->config->samplers, sample_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "extract", s->config->extractors, extract_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "release", 1, release_stage, s, err));
    return gnn_pipeline_on_cancel(pipeline, cancel_waits, s, err);
}

/* Releases what a failed or stopped epoch left in the queues, then checks that no batch holds a row: of no rank, where
 * they share the buffer. A rank that failed does not wait for the others to say so. */
static enum gnn_status release_and_check(struct gnndrive *s, enum gnn_status status, struct gnn_err *err)
{
    for (uint32_t i = 0; i < s->sizes.items; i++)
        if (s->items[i].held)
            release_rows(s, &s->items[i]);
    const bool shares = s->sizes.sharing > 1 || s->sizes.portion > 0;
    if (shares && status != GNN_OK)
        return status;
    if (shares)
        GNN_TRY(gnn_ranks_meet(s->env->ranks, err));
    if (s->sizes.sharing > 1 && s->env->rank > 0)
        return GNN_OK;
    if (s->sizes.portion > 0 && s->env->rank == 0)
        GNN_TRY(gnndrive_staging_check(s->shared->staging, err));
    gnndrive_buffer_lock(s->fb);
    const enum gnn_status checked = gnndrive_buffer_check(s->fb, true, err);
    gnndrive_buffer_unlock(s->fb);
    return checked;
}

/* Adds the figures of the staging buffer that ranks share; returns the loads that cost no read. */
static uint64_t add_staging(const struct gnndrive *s, struct gnn_epoch_result *out)
{
    struct gnndrive_staging_counts n;
    if (s->sizes.portion == 0)
        return 0;
    gnndrive_staging_counts(s->shared->staging, s->env->rank, &n);
    gnn_epoch_figure(out, "staging_hits", n.hits);
    gnn_epoch_figure(out, "borrowed_slots", n.borrowed);
    gnn_epoch_figure(out, "staging_waits", n.waits);
    return n.hits;
}

static void add_io(const struct gnndrive *s, struct gnn_epoch_result *out)
{
    uint64_t bounced = 0, sample_ns = 0;
    for (uint32_t e = 0; e < s->config->extractors; e++) {
        struct gnn_reader_counters reads;
        gnn_reader_counters(s->extractors[e].reader, &reads);
        out->counters.requested_bytes += reads.requested_bytes;
        out->counters.requested_ios += reads.requested_ios;
        bounced += reads.bounced_loads;
        sample_ns += s->extractors[e].sample_ns;
    }
    struct gnndrive_buffer_counts n;
    gnndrive_buffer_counts(s->fb, &n);
    n.loads -= add_staging(s, out);
    out->counters.cache_hits = n.rows - n.loads;
    out->counters.cache_misses = n.loads;
    out->counters.cache_evictions = n.evictions;
    out->counters.rows_asked = n.rows;
    out->counters.rows_read = n.loads + n.joint_rows;
    const uint64_t useful = (n.loads + n.joint_rows) * s->env->dataset->row_bytes;
    const uint64_t requested = out->counters.requested_bytes;
    gnn_epoch_figure(out, "wait_list_rows", n.waited_rows);
    gnn_epoch_figure(out, "row_waits", n.row_waits);
    gnn_epoch_figure(out, "slot_waits", n.slot_waits);
    gnn_epoch_figure(out, "joint_rows", n.joint_rows);
    gnn_epoch_figure(out, "overtaken_batches", s->overtaken);
    gnn_epoch_figure(out, "redundant_bytes", requested > useful ? requested - useful : 0);
    gnn_epoch_figure(out, "bounced_reads", bounced);
    gnn_epoch_figure(out, "sample_ns", sample_ns / s->config->extractors);
    gnn_epoch_size(out, "buffer_slots", s->sizes.slots);
    gnn_epoch_size(out, "rows_per_slot", s->sizes.layout.rows_per_load);
    gnn_epoch_size(out, "batch_nodes", s->sizes.batch_nodes);
    gnn_epoch_size(out, "batch_nodes_peak", atomic_load(&s->batch_nodes_peak));
}

static void fill_result(const struct gnndrive *s, struct gnn_epoch_result *out)
{
    struct gnn_counters *c = &out->counters;
    gnn_sampling_counters(s->sampling, &c->sample);
    c->needed_bytes =
        c->sample.sampled_edges * s->env->dataset->id_bytes + s->trained_rows * s->env->dataset->row_bytes;
    if (s->env->workload->sample_only)
        return;
    gnn_training_result(&s->training, out);
    add_io(s, out);
}

/* Empties the counts of the feature buffer; where ranks share it, one does and the others wait for it. */
static enum gnn_status begin_buffer(struct gnndrive *s, struct gnn_err *err)
{
    if (s->sizes.sharing == 1 || s->env->rank == 0)
        gnndrive_buffer_begin(s->fb);
    if (s->sizes.portion > 0)
        gnndrive_staging_begin(s->shared->staging, s->env->rank);
    return s->sizes.sharing == 1 ? GNN_OK : gnn_ranks_meet(s->env->ranks, err);
}

static enum gnn_status begin_epoch(struct gnndrive *s, uint64_t epoch, struct gnn_err *err)
{
    gnn_sampling_begin(s->sampling, epoch);
    for (uint32_t w = 0; w < s->config->samplers; w++)
        atomic_store(&s->next_batch[w], 0);
    s->trained_rows = s->overtaken = 0;
    s->trained_last = 0;
    atomic_store(&s->batch_nodes_peak, 0);
    if (s->env->workload->sample_only)
        return GNN_OK;
    gnn_training_begin(&s->training);
    for (uint32_t e = 0; e < s->config->extractors; e++) {
        gnn_reader_clear_counters(s->extractors[e].reader);
        s->extractors[e].sample_ns = 0;
    }
    return begin_buffer(s, err);
}

enum gnn_status gnndrive_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct gnndrive *s = state;
    GNN_TRY(begin_epoch(s, epoch, err));
    const uint64_t start_ns = gnn_observed_ns(s->env->world);
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    if (s->env->workload->sample_only) /* no trainer waits, so the whole epoch is sampling */
        gnn_epoch_figure(out, "sample_ns", gnn_observed_ns(s->env->world) - start_ns);
    fill_result(s, out);
    if (s->fb == NULL)
        return status;
    const enum gnn_status checked = release_and_check(s, status, err);
    return status != GNN_OK ? status : checked;
}
