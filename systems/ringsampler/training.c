/* End to end (paper, section 5, "End-to-end implementation"): the sampler yields mini-batches as they become ready, an
 * extractor reads their features asynchronously, the trainer trains them, each stage on its own threads:
 *
 *   sample (n threads) --in batch order--> extract (1, a deep ring) --in order--> train (1)
 *
 * Thread i draws batches i, i + n, …; it holds `prefetch` tokens, empty mini-batches, so that none samples far ahead.
 * Two inputs exist: one is filled while the other trains. The stages form a chain: nothing can deadlock. */
#include "systems/ringsampler/ringsampler.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- stages ---- */

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    struct rs_thread *const thread = &s->threads[worker->index];
    for (uint32_t k = worker->index; k < s->batches; k += s->sizes.threads) {
        void *item;
        GNN_TRY(gnn_queue_pop(s->tokens[worker->index], &item));
        assert(item != NULL);
        GNN_TRY(rs_sample_one(thread, &((struct rs_item *)item)->batch, k, err));
        GNN_TRY(gnn_reorder_put(s->delivery, k, item));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status extract(struct ringsampler *s, struct rs_item *item, struct gnn_err *err)
{
    const struct gnn_batch_view *const view = &item->batch.view;
    GNN_TRY(gnn_rows_reserve(item->rows, view->node_count, err));
    return gnn_extraction_rows(s->extraction, view->nodes, view->node_count, item->rows->data, err);
}

static enum gnn_status extract_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    for (uint32_t k = 0;; k++) {
        void *taken, *input;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_reorder_take(s->delivery, &taken));
        if (taken == NULL)
            return GNN_OK;
        GNN_TRY(gnn_queue_pop(s->free_inputs, &input));
        struct rs_item *const item = taken;
        item->rows = input;
        GNN_TRY(extract(s, item, err));
        s->extracted_rows += item->batch.view.node_count;
        GNN_TRY(gnn_reorder_put(s->extracted, k, item));
        worker->items++;
    }
}

static enum gnn_status train(struct ringsampler *s, const struct rs_item *item, struct gnn_err *err)
{
    const struct gnn_batch_view *const view = &item->batch.view;
    return gnn_training_step(&s->training, view, item->rows, err);
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    for (uint32_t k = 0;; k++) {
        void *taken;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_reorder_take(s->extracted, &taken));
        if (taken == NULL)
            return GNN_OK;
        struct rs_item *const item = taken;
        GNN_TRY(train(s, item, err));
        GNN_TRY(gnn_queue_push(s->free_inputs, item->rows));
        GNN_TRY(gnn_queue_push(s->tokens[k % s->sizes.threads], item));
        worker->items++;
    }
}

/* ---- queues of an epoch ---- */

static void cancel(void *target)
{
    struct ringsampler *const s = target;
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        gnn_queue_cancel(s->tokens[i]);
    gnn_queue_cancel(s->free_inputs);
    gnn_reorder_cancel(s->delivery);
    gnn_reorder_cancel(s->extracted);
}

static enum gnn_status open_queues(struct ringsampler *s, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    const uint32_t prefetch = s->config->prefetch, items = s->sizes.items;
    assert(prefetch > 0 && s->sizes.threads > 0);
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        GNN_TRY(gnn_queue_open(world, "tokens", items, &s->tokens[i], err));
    for (uint32_t i = 0; i < items; i++) /* what is over goes to the first threads */
        GNN_TRY(gnn_queue_push(s->tokens[i < prefetch * s->sizes.threads ? i / prefetch : i % s->sizes.threads],
                               &s->items[i]));
    GNN_TRY(gnn_queue_open(world, "free inputs", RS_INPUTS, &s->free_inputs, err));
    for (uint32_t i = 0; i < RS_INPUTS; i++)
        GNN_TRY(gnn_queue_push(s->free_inputs, &s->inputs[i]));
    GNN_TRY(gnn_reorder_open(world, items, &s->delivery, err));
    gnn_reorder_reset(s->delivery, 0, s->batches);
    GNN_TRY(gnn_reorder_open(world, RS_INPUTS, &s->extracted, err));
    gnn_reorder_reset(s->extracted, 0, s->batches);
    return GNN_OK;
}

void rs_training_stages_close(struct ringsampler *s)
{
    for (uint32_t i = 0; s->tokens != NULL && i < s->sizes.threads; i++) {
        gnn_queue_close(s->tokens[i]);
        s->tokens[i] = NULL;
    }
    gnn_queue_close(s->free_inputs);
    gnn_reorder_close(s->delivery);
    gnn_reorder_close(s->extracted);
    s->free_inputs = NULL;
    s->delivery = s->extracted = NULL;
}

enum gnn_status rs_training_stages(struct ringsampler *s, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    gnn_training_begin(&s->training);
    gnn_extraction_begin(s->extraction);
    GNN_TRY(open_queues(s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", s->sizes.threads, sample_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "extract", 1, extract_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err));
    return gnn_pipeline_on_cancel(pipeline, cancel, s, err);
}

void rs_training_result(const struct ringsampler *s, struct gnn_epoch_result *out)
{
    struct gnn_reader_counters features;
    gnn_training_result(&s->training, out);
    gnn_extraction_counters(s->extraction, &features);
    if (out->counters.requested_ios != GNN_UNKNOWN) {
        out->counters.requested_ios += features.requested_ios;
        out->counters.requested_bytes += features.requested_bytes;
    }
    gnn_epoch_figure(out, "feature_reads", features.requested_ios);
    gnn_epoch_figure(out, "feature_read_bytes", features.requested_bytes);
    gnn_epoch_figure(out, "extracted_rows", s->extracted_rows);
}

/* ---- open, close ---- */

enum gnn_status rs_training_open(struct ringsampler *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const struct gnn_extraction_config extraction = {.depth = s->config->extract_depth,
                                                     .direct = s->config->feature_io == RS_FEATURES_DIRECT};
    s->items = calloc(s->sizes.items, sizeof *s->items);
    s->tokens = calloc(s->sizes.threads, sizeof(struct gnn_queue *));
    if (s->items == NULL || s->tokens == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: %" PRIu32 " mini-batches", s->sizes.items);
    GNN_TRY(gnn_mem_alloc(env->world, "ringsampler mini-batches", gnn_mul_bytes(s->sizes.items, s->sizes.batch_bytes),
                          GNN_MEM_PLAIN, &s->item_memory, err));
    for (uint32_t i = 0; i < s->sizes.items; i++) {
        s->items[i].batch.memory = (unsigned char *)s->item_memory + i * s->sizes.batch_bytes;
        s->items[i].batch.size_bytes = s->sizes.batch_bytes;
    }
    GNN_TRY(gnn_extraction_open(env, &extraction, &s->extraction, err));
    GNN_TRY(gnn_training_open(env, &s->training, err));
    for (uint32_t i = 0; i < RS_INPUTS; i++)
        gnn_rows_init(&s->inputs[i], env, "ringsampler extracted input", env->tensor->host_memory);
    return GNN_OK;
}

void rs_training_close(struct ringsampler *s)
{
    gnn_extraction_close(s->extraction); /* waits for reads into the inputs */
    for (uint32_t i = 0; i < RS_INPUTS; i++)
        gnn_rows_close(&s->inputs[i]);
    gnn_training_close(&s->training);
    gnn_mem_free(s->env->world, s->item_memory);
    free(s->tokens);
    free(s->items);
}
