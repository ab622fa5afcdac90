/* SPDX-License-Identifier: MIT */
#include "systems/ringsampler/training.h"

#include "harness/system/extraction.h"
#include "harness/system/training.h"
#include "systems/ringsampler/thread.h"

#include <assert.h>
#include <inttypes.h>

/* A mini-batch on its way through the stages. */
struct item {
    struct rs_batch batch;
    struct gnn_train_input *input; /* its extracted rows */
};

struct rs_training {
    struct ringsampler *s;
    void *item_memory;
    struct item *items; /* (sizes.items) */
    struct gnn_extraction *extraction;
    struct gnn_training training;
    struct gnn_train_input inputs[RS_INPUTS];
    /* of one epoch */
    uint64_t extracted_rows;
    struct gnn_queue **tokens; /* (threads): items that thread w may fill */
    struct gnn_reorder *sampled, *extracted;
    struct gnn_queue *free_inputs;
};

/* ---- stages ---- */

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct rs_training *const t = ctx;
    struct rs_thread *const thread = &t->s->threads[worker->index];
    for (uint32_t k = worker->index; k < t->s->order.batches; k += t->s->sizes.threads) {
        void *item;
        GNN_TRY(gnn_queue_pop(t->tokens[worker->index], &item));
        assert(item != NULL);
        GNN_TRY(rs_sample_one(thread, &((struct item *)item)->batch, k, err));
        GNN_TRY(gnn_reorder_put(t->sampled, k, item));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status extract_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct rs_training *const t = ctx;
    for (uint32_t k = 0;; k++) {
        void *taken, *input;
        GNN_TRY(gnn_check_stop(t->s->env, err));
        GNN_TRY(gnn_reorder_take(t->sampled, &taken));
        if (taken == NULL)
            return GNN_OK;
        GNN_TRY(gnn_queue_pop(t->free_inputs, &input));
        struct item *const item = taken;
        const struct gnn_batch_view *const view = &item->batch.view;
        assert(view->batch == k);
        item->input = input;
        GNN_TRY(gnn_train_input_reserve(item->input, view->node_count, err));
        GNN_TRY(gnn_extraction_rows(t->extraction, view->nodes, view->node_count, item->input->rows.data, err));
        GNN_TRY(gnn_train_input_stage(item->input, 0, view, NULL, err));
        t->extracted_rows += view->node_count;
        GNN_TRY(gnn_reorder_put(t->extracted, k, item));
        worker->items++;
    }
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct rs_training *const t = ctx;
    for (uint32_t k = 0;; k++) {
        void *taken;
        GNN_TRY(gnn_check_stop(t->s->env, err));
        GNN_TRY(gnn_reorder_take(t->extracted, &taken));
        if (taken == NULL)
            return GNN_OK;
        struct item *const item = taken;
        assert(item->batch.view.batch == k);
        GNN_TRY(gnn_training_step(&t->training, &item->batch.view, item->input, err));
        GNN_TRY(gnn_queue_push(t->free_inputs, item->input));
        GNN_TRY(gnn_queue_push(t->tokens[k % t->s->sizes.threads], item));
        worker->items++;
    }
}

/* ---- queues of an epoch ---- */

static enum gnn_status open_queues(struct rs_training *t, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const uint32_t prefetch = t->s->config->prefetch, threads = t->s->sizes.threads, items = t->s->sizes.items;
    assert(prefetch > 0);
    assert(threads > 0);
    for (uint32_t i = 0; i < threads; i++)
        GNN_TRY(gnn_pipeline_queue(pipeline, "tokens", items, &t->tokens[i], err));
    for (uint32_t i = 0; i < items; i++) { /* what is over goes to the first threads */
        const uint32_t thread = i < prefetch * threads ? i / prefetch : i % threads;
        GNN_TRY(gnn_queue_push(t->tokens[thread], &t->items[i]));
    }
    GNN_TRY(gnn_pipeline_queue(pipeline, "free inputs", RS_INPUTS, &t->free_inputs, err));
    for (uint32_t i = 0; i < RS_INPUTS; i++)
        GNN_TRY(gnn_queue_push(t->free_inputs, &t->inputs[i]));
    GNN_TRY(gnn_pipeline_reorder(pipeline, items, t->s->order.batches, &t->sampled, err));
    return gnn_pipeline_reorder(pipeline, RS_INPUTS, t->s->order.batches, &t->extracted, err);
}

enum gnn_status rs_training_begin(struct rs_training *t, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    t->extracted_rows = 0;
    gnn_training_begin(&t->training);
    gnn_extraction_begin(t->extraction);
    GNN_TRY(open_queues(t, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", t->s->sizes.threads, sample_stage, t, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "extract", 1, extract_stage, t, err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, t, err);
}

void rs_training_end(struct rs_training *t, struct gnn_epoch_result *out)
{
    struct gnn_reader_counters features;
    gnn_training_result(&t->training, out);
    gnn_extraction_counters(t->extraction, &features);
    out->counters.needed_bytes += t->extracted_rows * t->s->env->dataset->row_bytes;
    if (out->counters.requested_ios != GNN_UNKNOWN) {
        out->counters.requested_ios += features.requested_ios;
        out->counters.requested_bytes += features.requested_bytes;
    }
    out->counters.rows_asked = t->extracted_rows;
    /* Through the page cache only the kernel knows. */
    out->counters.rows_read = t->s->config->feature_io == RS_FEATURES_DIRECT ? t->extracted_rows : GNN_UNKNOWN;
    gnn_epoch_figure(out, "feature_reads", features.requested_ios);
    gnn_epoch_figure(out, "feature_read_bytes", features.requested_bytes);
    gnn_epoch_figure(out, "extracted_rows", t->extracted_rows);
}

/* ---- open, close ---- */

enum gnn_status rs_training_open(struct ringsampler *s, struct rs_training **out, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const struct gnn_extraction_config extraction = {.depth = s->config->extract_depth,
                                                     .direct = s->config->feature_io == RS_FEATURES_DIRECT};
    struct rs_training *t;
    GNN_NEW(t, 1, err, "ringsampler: training");
    *out = t;
    t->s = s;
    GNN_NEW(t->items, s->sizes.items, err, "ringsampler: %" PRIu32 " mini-batches", s->sizes.items);
    GNN_NEW(t->tokens, s->sizes.threads, err, "ringsampler: tokens of %" PRIu32 " threads", s->sizes.threads);
    GNN_TRY(gnn_mem_alloc(env->world, "ringsampler mini-batches", gnn_mul_bytes(s->sizes.items, s->sizes.batch_bytes),
                          GNN_MEM_PLAIN, &t->item_memory, err));
    for (uint32_t i = 0; i < s->sizes.items; i++) {
        t->items[i].batch.memory = (unsigned char *)t->item_memory + i * s->sizes.batch_bytes;
        t->items[i].batch.size_bytes = s->sizes.batch_bytes;
    }
    GNN_TRY(gnn_extraction_open(env, &extraction, &t->extraction, err));
    gnn_training_open(env, &t->training);
    for (uint32_t i = 0; i < RS_INPUTS; i++)
        GNN_TRY(gnn_train_input_open(env, "ringsampler extracted input", s->config->transfer, &t->inputs[i], err));
    return GNN_OK;
}

void rs_training_close(struct rs_training *t)
{
    if (t == NULL)
        return;
    gnn_extraction_close(t->extraction); /* waits for reads into the inputs */
    for (uint32_t i = 0; i < RS_INPUTS; i++)
        gnn_train_input_close(&t->inputs[i]);
    gnn_training_close(&t->training);
    gnn_mem_free(t->s->env->world, t->item_memory);
    free(t->tokens);
    free(t->items);
    free(t);
}
