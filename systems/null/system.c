/* null: the harness's own cost. Every batch of the epoch goes through the pipeline, one queue between two
 * stages, and nothing else happens: no sampling, no reading, no training. See README.md. */
#include "harness/system/system.h"

#include <stdlib.h>

struct null_config {
    uint32_t queue;
};

static const struct gnn_option options[] = {
    {.name = "queue",
     .type = GNN_OPT_U32,
     .offset = offsetof(struct null_config, queue),
     .unit = "batches",
     .def = "4",
     .min = 1,
     .max = 4096,
     .help = "Depth of the queue between the two stages.",
     .source = "ours"},
    {.name = NULL},
};

struct null_batch {
    uint32_t seeds;
};

struct null_state {
    const struct gnn_env *env;
    const struct null_config *config;
    gnn_node *order;            /* (train.count) */
    struct null_batch *batches; /* (batch_count) */
    uint32_t batch_count;
    struct gnn_queue *queue;
    uint64_t seeds;
};

static void null_close(void *state)
{
    struct null_state *s = state;
    if (s == NULL)
        return;
    gnn_mem_free(s->env->world, s->batches);
    gnn_mem_free(s->env->world, s->order);
    free(s);
}

static uint32_t batch_count_of(const struct gnn_env *env)
{
    const uint64_t all =
        ((uint64_t)env->dataset->train.count + env->workload->batch_size - 1) / env->workload->batch_size;
    const uint32_t max = env->workload->max_batches;
    return max > 0 && max < all ? max : (uint32_t)all;
}

static enum gnn_status null_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *out,
                                 struct gnn_err *err)
{
    (void)config;
    (void)err;
    out->fixed_bytes = env->dataset->train.count * (uint64_t)sizeof(gnn_node);
    out->batches_bytes = batch_count_of(env) * (uint64_t)sizeof(struct null_batch);
    out->largest = "order of the epoch";
    out->remedy = "--scale";
    return GNN_OK;
}

static enum gnn_status null_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct null_state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "null: state");
    *state = s;
    s->env = env;
    s->config = config;
    s->batch_count = batch_count_of(env);
    void *order = NULL, *batches = NULL;
    GNN_TRY(gnn_mem_alloc(env->world, "order of the epoch", env->dataset->train.count * (uint64_t)sizeof *s->order,
                          GNN_MEM_PLAIN, &order, err));
    s->order = order;
    GNN_TRY(gnn_mem_alloc(env->world, "batches", s->batch_count * (uint64_t)sizeof *s->batches, GNN_MEM_PLAIN, &batches,
                          err));
    s->batches = batches;
    return GNN_OK;
}

static enum gnn_status cut(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct null_state *s = ctx;
    const uint32_t total = s->env->dataset->train.count, size = s->env->workload->batch_size;
    for (uint32_t k = 0; k < s->batch_count; k++) {
        if (s->env->stop != NULL && atomic_load(s->env->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped on request");
        const uint64_t left = total - (uint64_t)k * size;
        s->batches[k].seeds = left < size ? (uint32_t)left : size;
        GNN_TRY(gnn_queue_push(s->queue, &s->batches[k]));
        worker->items++;
    }
    gnn_queue_done(s->queue);
    return GNN_OK;
}

static enum gnn_status count(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    (void)err;
    struct null_state *s = ctx;
    for (;;) {
        void *item;
        GNN_TRY(gnn_queue_pop(s->queue, &item));
        if (item == NULL)
            return GNN_OK;
        s->seeds += ((const struct null_batch *)item)->seeds;
        worker->items++;
    }
}

static void cancel(void *target)
{
    gnn_queue_cancel(target);
}

static enum gnn_status run_pipeline(struct null_state *s, struct gnn_pipeline *pipeline, struct gnn_epoch_result *out,
                                    struct gnn_err *err)
{
    gnn_queue_producers(s->queue, 1);
    GNN_TRY(gnn_pipeline_stage(pipeline, "cut", 1, cut, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "count", 1, count, s, err));
    GNN_TRY(gnn_pipeline_on_cancel(pipeline, cancel, s->queue, err));
    const enum gnn_status status = gnn_pipeline_run(pipeline, err);
    out->stage_count = gnn_pipeline_times(pipeline, out->stages, GNN_STAGES_MAX);
    return status;
}

static void fill_counters(const struct null_state *s, struct gnn_epoch_result *out)
{
    out->seeds = s->seeds;
    out->counters = (struct gnn_counters){
        .sample.batches = s->batch_count,
        .cache_hits = GNN_UNKNOWN,
        .cache_misses = GNN_UNKNOWN,
        .cache_evictions = GNN_UNKNOWN,
    };
}

static enum gnn_status null_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct null_state *s = state;
    const struct gnn_env *env = s->env;
    gnn_epoch_order(env->workload->seed, epoch, env->dataset->train.nodes, env->dataset->train.count, s->order);
    s->seeds = 0;
    struct gnn_pipeline *pipeline = NULL;
    enum gnn_status status = gnn_queue_open(env->world, "batches", s->config->queue, &s->queue, err);
    if (status == GNN_OK)
        status = gnn_pipeline_open(env->world, &pipeline, err);
    if (status == GNN_OK)
        status = run_pipeline(s, pipeline, out, err);
    fill_counters(s, out);
    gnn_pipeline_close(pipeline);
    gnn_queue_close(s->queue);
    s->queue = NULL;
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
