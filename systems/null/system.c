/* null: the harness's own cost. Every mini-batch of the epoch goes through the pipeline, one queue between two stages,
 * and nothing else happens: no sampling, no reading, no training. Copy this folder to start a new system: README.md. */
#include "harness/system/plan.h"

struct null_config {
    uint32_t queue;
};

/* clang-format off */
static const struct gnn_option options[] = {
    {.name = "queue", .type = GNN_OPT_U32, .offset = offsetof(struct null_config, queue), .unit = "batches", .def = "4",
     .min = 1, .max = 4096, .help = "Depth of the queue between the two stages.", .source = "ours"},
    {.name = NULL},
};
/* clang-format on */

struct null_batch {
    uint32_t seed_count;
};

struct null_state {
    const struct gnn_env *env;
    const struct null_config *config;
    struct gnn_batch_order order;
    struct null_batch *batches; /* (order.batches) */
    struct gnn_queue *queue;    /* of one epoch */
    uint64_t seeds;             /* counted in this epoch */
};

static void null_close(void *state)
{
    struct null_state *s = state;
    if (s == NULL)
        return;
    gnn_mem_free(s->env->world, s->batches);
    gnn_batch_order_close(&s->order);
    free(s);
}

static uint64_t batches_bytes(const struct gnn_env *env)
{
    return gnn_epoch_batches(env) * (uint64_t)sizeof(struct null_batch);
}

static enum gnn_status null_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                 struct gnn_err *err)
{
    (void)config;
    (void)err;
    gnn_plan_part(plan, "order of the epoch", NULL, gnn_batch_order_bytes(env));
    gnn_plan_in_flight(plan, "mini-batches", "--batch", batches_bytes(env));
    return GNN_OK;
}

static enum gnn_status null_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct null_state *s;
    void *batches = NULL;
    GNN_NEW(s, 1, err, "null: state");
    *state = s;
    s->env = env;
    s->config = config;
    GNN_TRY(gnn_batch_order_open(env, NULL, &s->order, err));
    GNN_TRY(gnn_mem_alloc(env->world, "null batches", batches_bytes(env), GNN_MEM_PLAIN, &batches, err));
    s->batches = batches;
    return GNN_OK;
}

/* ---- stages ---- */

static enum gnn_status cut_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct null_state *s = ctx;
    for (uint32_t k = 0; k < s->order.batches; k++) {
        GNN_TRY(gnn_check_stop(s->env, err));
        (void)gnn_batch_order_seeds(&s->order, k, &s->batches[k].seed_count);
        GNN_TRY(gnn_queue_push(s->queue, &s->batches[k]));
        worker->items++;
    }
    gnn_queue_done(s->queue);
    return GNN_OK;
}

static enum gnn_status count_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct null_state *s = ctx;
    for (;;) {
        void *item;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->queue, &item));
        if (item == NULL)
            return GNN_OK;
        s->seeds += ((const struct null_batch *)item)->seed_count;
        worker->items++;
    }
}

static void cancel(void *target)
{
    gnn_queue_cancel(((struct null_state *)target)->queue);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct null_state *s = ctx;
    GNN_TRY(gnn_queue_open(s->env->world, "batches", s->config->queue, &s->queue, err));
    gnn_queue_producers(s->queue, 1);
    GNN_TRY(gnn_pipeline_stage(pipeline, "cut", 1, cut_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "count", 1, count_stage, s, err));
    return gnn_pipeline_on_cancel(pipeline, cancel, s, err);
}

static enum gnn_status null_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct null_state *s = state;
    gnn_batch_order_begin(&s->order, epoch);
    s->seeds = 0;
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    gnn_queue_close(s->queue);
    s->queue = NULL;
    out->seeds = s->seeds;
    out->counters = (struct gnn_counters){
        .sample.batches = s->order.batches,
        .cache_hits = GNN_UNKNOWN,
        .cache_misses = GNN_UNKNOWN,
        .cache_evictions = GNN_UNKNOWN,
    };
    return status;
}

const struct gnn_system gnn_system_null = {
    .abi = GNN_SYSTEM_ABI,
    .name = "null",
    .title = "null: batches counted through the pipeline, nothing moved",
    .options = options,
    .config_bytes = sizeof(struct null_config),
    .plan = null_plan,
    .open = null_open,
    .train_epoch = null_train_epoch,
    .close = null_close,
};
