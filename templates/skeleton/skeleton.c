/* SPDX-License-Identifier: MIT */
/* skeleton: a system of two stages. `prepare` samples a mini-batch and reads its feature rows, with many reads in
 * flight. `train` trains the mini-batches in order. Both work at the same time; a bounded queue is between them.
 *
 * Memory   order and sampler; queue + 2 mini-batches with their rows; buffers of the reads
 * Errors   those of the files and of the reads; GNN_ENOMEM, GNN_ECAP, GNN_ECANCELLED */
#include "harness/system/plugin.h"

struct skeleton_config {
    uint32_t queue, depth;
    bool direct;
};

/* clang-format off */
static const struct gnn_option options[] = {
    GNN_OPTION(skeleton_config, "queue", U32, queue, "4", .unit = "batches", .min = 1, .max = 1024,
               .help = "Mini-batches that wait for the trainer."),
    GNN_OPTION(skeleton_config, "depth", U32, depth, "64", .unit = "reads", .min = 1, .max = 4096,
               .help = "Most reads in flight."),
    GNN_OPTION(skeleton_config, "direct", BOOL, direct, "no",
               .help = "Read past the page cache (O_DIRECT)."),
    {.name = NULL},
};
/* clang-format on */

/* A mini-batch on its way through the stages. */
struct skeleton_item {
    struct gnn_batch *batch;
    struct gnn_train_input input; /* its feature rows and labels */
};

struct skeleton_state {
    const struct gnn_env *env;
    const struct skeleton_config *config;
    struct gnn_sampling *sampling;
    struct gnn_extraction *extraction;
    struct gnn_training training;
    struct skeleton_item *items; /* (item_count) */
    uint32_t item_count;

    /* of one epoch */
    struct gnn_queue *free_items, *ready;
    uint64_t rows;
};

/* Those in the queue, and one in each stage. */
static uint32_t items_of(const struct skeleton_config *config)
{
    return config->queue + 2;
}

/* ---- plan, open, close ---- */

static enum gnn_status skeleton_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                     struct gnn_err *err)
{
    const struct skeleton_config *const c = config;
    const uint32_t items = items_of(c);
    (void)err;
    gnn_plan_part(plan, "sampler", NULL, gnn_sampling_bytes(env, 1));
    gnn_plan_part(plan, "buffers of the reads", "skeleton.depth", gnn_extraction_bytes(env, c->depth, c->direct));
    gnn_plan_in_flight(plan, "mini-batches", "skeleton.queue",
                       gnn_mul_bytes(gnn_batch_reserved_bytes(env->dataset, env->workload), items));
    gnn_plan_in_flight(plan, "feature rows", "skeleton.queue", gnn_mul_bytes(gnn_plan_rows_bytes(plan), items));
    gnn_train_input_plan(plan, GNN_TRANSFER_BLOCKING, 1, items); /* on a GPU */
    gnn_training_plan(plan, GNN_PLAN_ALL_PHASES);
    gnn_plan_part(plan, "page tables of the mapping", NULL,
                  env->dataset->indices_bytes / GNN_PAGE_BYTES * sizeof(uint64_t));
    return GNN_OK;
}

static enum gnn_status skeleton_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct skeleton_state *s;
    GNN_NEW(s, 1, err, "skeleton: state");
    *state = s; /* skeleton_close gets it even if the rest fails */
    s->env = env;
    s->config = config;
    s->item_count = items_of(config);
    const struct gnn_sampling_config sampling = {.workers = 1, .floyd_biased = env->floyd_biased};
    const struct gnn_extraction_config extraction = {.depth = s->config->depth, .direct = s->config->direct};
    GNN_NEW(s->items, s->item_count, err, "skeleton: mini-batches");
    GNN_TRY(gnn_sampling_open(env, &sampling, &s->sampling, err));
    GNN_TRY(gnn_extraction_open(env, &extraction, &s->extraction, err));
    gnn_training_open(env, &s->training);
    for (uint32_t i = 0; i < s->item_count; i++) {
        GNN_TRY(gnn_batch_open(env->world, &s->items[i].batch, err));
        GNN_TRY(gnn_train_input_open(env, "skeleton rows", GNN_TRANSFER_BLOCKING, &s->items[i].input, err));
    }
    return GNN_OK;
}

/* What an epoch will do: the checks of a run compare with it. */
static void skeleton_intend(const void *state, struct gnn_intent *intent)
{
    const struct skeleton_state *const s = state;
    gnn_sampling_intend(s->sampling, intent);
    gnn_intent_reads(intent, s->env->dataset->indices_path, GNN_READS_MAPPED);
    gnn_intent_reads(intent, s->env->dataset->features_path, s->config->direct ? GNN_READS_DIRECT : GNN_READS_BUFFERED);
}

static void skeleton_close(void *state)
{
    struct skeleton_state *const s = state;
    if (s == NULL)
        return;
    gnn_extraction_close(s->extraction); /* waits for reads into the inputs */
    for (uint32_t i = 0; s->items != NULL && i < s->item_count; i++) {
        gnn_train_input_close(&s->items[i].input);
        gnn_batch_close(s->env->world, s->items[i].batch);
    }
    gnn_training_close(&s->training);
    gnn_sampling_close(s->sampling);
    free(s->items);
    free(s);
}

/* ---- stages ---- */

static enum gnn_status prepare_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct skeleton_state *const s = ctx;
    for (uint32_t k = 0; k < gnn_sampling_batches(s->sampling); k++) {
        void *taken;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->free_items, &taken));
        struct skeleton_item *const item = taken;
        GNN_TRY(gnn_sampling_draw(s->sampling, 0, k, item->batch, err));
        const struct gnn_batch_view *const view = gnn_batch_view(item->batch);
        GNN_TRY(gnn_train_input_reserve(&item->input, view->node_count, err));
        GNN_TRY(gnn_extraction_rows(s->extraction, view->nodes, view->node_count, item->input.rows.data, err));
        s->rows += view->node_count;
        GNN_TRY(gnn_queue_push(s->ready, item));
        worker->items++;
    }
    gnn_queue_done(s->ready);
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct skeleton_state *const s = ctx;
    for (;;) {
        void *taken;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->ready, &taken));
        if (taken == NULL) /* prepare is done and the queue is empty */
            return GNN_OK;
        struct skeleton_item *const item = taken;
        GNN_TRY(gnn_training_step(&s->training, gnn_batch_view(item->batch), &item->input, err));
        GNN_TRY(gnn_queue_push(s->free_items, item));
        worker->items++;
    }
}

/* ---- an epoch ---- */

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct skeleton_state *const s = ctx;
    GNN_TRY(gnn_pipeline_queue(pipeline, "free items", s->item_count, &s->free_items, err));
    for (uint32_t i = 0; i < s->item_count; i++)
        GNN_TRY(gnn_queue_push(s->free_items, &s->items[i]));
    GNN_TRY(gnn_pipeline_queue(pipeline, "ready items", s->config->queue, &s->ready, err));
    gnn_queue_producers(s->ready, 1);
    GNN_TRY(gnn_pipeline_stage(pipeline, "prepare", 1, prepare_stage, s, err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err);
}

static enum gnn_status skeleton_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                            struct gnn_err *err)
{
    struct skeleton_state *const s = state;
    struct gnn_counters *const c = &out->counters;
    gnn_sampling_begin(s->sampling, epoch);
    gnn_extraction_begin(s->extraction);
    gnn_training_begin(&s->training);
    s->rows = 0;
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    gnn_training_result(&s->training, out);
    gnn_sampling_counters(s->sampling, &c->sample);
    c->needed_bytes = c->sample.sampled_edges * s->env->dataset->id_bytes + s->rows * s->env->dataset->row_bytes;
    c->requested_bytes = c->requested_ios = GNN_UNKNOWN; /* of the mapping only the kernel knows */
    c->cache_hits = c->cache_misses = c->cache_evictions = GNN_UNKNOWN;
    c->rows_asked = s->rows;
    c->rows_read = s->config->direct ? s->rows : GNN_UNKNOWN;
    gnn_epoch_figure(out, "rows", s->rows); /* a statistic of your own */
    return status;
}

static const struct gnn_system skeleton_system = {
    .abi = GNN_SYSTEM_ABI,
    .name = "skeleton",
    .title = "skeleton: asynchronous reads, no cache",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU,
    .options = options,
    .config_bytes = sizeof(struct skeleton_config),
    .plan = skeleton_plan,
    .open = skeleton_open,
    .intend = skeleton_intend,
    .train_epoch = skeleton_train_epoch,
    .close = skeleton_close,
};
GNN_PLUGIN(skeleton_system)
