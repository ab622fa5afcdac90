/* SPDX-License-Identifier: MIT */
/* null: the harness's own cost. Every mini-batch of the epoch goes through the pipeline, two queues between two stages,
 * and nothing else happens: no sampling, no reading, no training. The skeleton of a new system: README.md.
 *
 * Memory   the order of the epoch; queue + 2 mini-batches: those queued and one in each stage
 * Errors   GNN_ENOMEM, GNN_ECAP, GNN_ECANCELLED; GNN_EUSAGE when the dataset has no training nodes */
#include "harness/system/plan.h"

#include <assert.h>

struct null_config {
    uint32_t queue;
};

/* clang-format off */
static const struct gnn_option options[] = {
    {.name = "queue", .type = GNN_OPT_U32, .offset = offsetof(struct null_config, queue), .unit = "batches", .def = "4",
     .min = 1, .max = 4096,
     .help = "Capacity of the queue between the two stages.",
     .source = "ours"},
    {.name = NULL},
};
/* clang-format on */

/* A mini-batch on its way through the stages. */
struct null_batch {
    const gnn_node *seeds; /* (seed_count) in the epoch's order */
    uint32_t seed_count;
};

struct null_state {
    const struct gnn_env *env;
    const struct null_config *config;
    struct gnn_batch_order order;
    struct null_batch *batches; /* (batch_count) */
    uint32_t batch_count;

    /* of one epoch */
    struct gnn_queue *free_batches, *ready; /* cut takes from the first, count from the second */
    uint64_t seeds;
};

static uint32_t batches_in_flight(const struct null_config *config)
{
    return config->queue + 2;
}

/* ---- plan, open, close ---- */

static enum gnn_status null_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                 struct gnn_err *err)
{
    (void)err; /* a contradiction between options is reported here: GNN_EUSAGE */
    gnn_plan_part(plan, "order of the epoch", NULL, gnn_batch_order_bytes(env));
    gnn_plan_in_flight(plan, "mini-batches", "null.queue",
                       batches_in_flight(config) * (uint64_t)sizeof(struct null_batch));
    return GNN_OK;
}

static enum gnn_status null_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct null_state *s;
    GNN_NEW(s, 1, err, "null: state");
    *state = s; /* null_close gets it even if the rest fails */
    s->env = env;
    s->config = config;
    s->batch_count = batches_in_flight(config);
    GNN_NEW(s->batches, s->batch_count, err, "null: mini-batches");
    return gnn_batch_order_open(env, NULL, &s->order, err);
}

static void null_close(void *state)
{
    struct null_state *s = state;
    if (s == NULL)
        return;
    gnn_batch_order_close(&s->order);
    free(s->batches);
    free(s);
}

/* ---- stages ---- */

static enum gnn_status cut_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct null_state *s = ctx;
    for (uint32_t k = 0; k < s->order.batches; k++) {
        void *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->free_batches, &item));
        assert(item != NULL); /* a pool has no end, unlike a queue with producers */
        struct null_batch *batch = item;
        batch->seeds = gnn_batch_order_seeds(&s->order, k, &batch->seed_count);
        GNN_TRY(gnn_queue_push(s->ready, batch));
        worker->items++;
    }
    gnn_queue_done(s->ready);
    return GNN_OK;
}

static enum gnn_status count_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct null_state *s = ctx;
    for (;;) {
        void *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->ready, &item));
        if (item == NULL) /* cut is done and the queue is empty */
            return GNN_OK;
        const struct null_batch *batch = item;
        assert(batch->seed_count > 0);
        assert(batch->seed_count <= s->env->workload->batch_size);
        s->seeds += batch->seed_count;
        GNN_TRY(gnn_queue_push(s->free_batches, item));
        worker->items++;
    }
}

/* ---- an epoch ---- */

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct null_state *s = ctx;
    GNN_TRY(gnn_pipeline_queue(pipeline, "free batches", s->batch_count, &s->free_batches, err));
    for (uint32_t i = 0; i < s->batch_count; i++)
        GNN_TRY(gnn_queue_push(s->free_batches, &s->batches[i]));
    GNN_TRY(gnn_pipeline_queue(pipeline, "ready batches", s->config->queue, &s->ready, err));
    gnn_queue_producers(s->ready, 1);
    GNN_TRY(gnn_pipeline_stage(pipeline, "cut", 1, cut_stage, s, err));
    return gnn_pipeline_stage(pipeline, "count", 1, count_stage, s, err);
}

static enum gnn_status null_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct null_state *s = state;
    gnn_batch_order_begin(&s->order, epoch);
    s->seeds = 0;
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    out->seeds = s->seeds;
    out->counters = (struct gnn_counters){
        .sample.batches = s->order.batches,
        .cache_hits = GNN_UNKNOWN,
        .cache_misses = GNN_UNKNOWN,
        .cache_evictions = GNN_UNKNOWN,
        .rows_asked = GNN_UNKNOWN,
        .rows_read = GNN_UNKNOWN,
    };
    return status;
}

const struct gnn_system gnn_system_null = {
    .abi = GNN_SYSTEM_ABI,
    .name = "null",
    .title = "null: batches counted through the pipeline, nothing moved",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = options,
    .config_bytes = sizeof(struct null_config),
    .plan = null_plan,
    .open = null_open,
    .train_epoch = null_train_epoch,
    .close = null_close,
};
