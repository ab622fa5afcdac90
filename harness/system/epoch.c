/* SPDX-License-Identifier: MIT */
#include "harness/system/epoch.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- the pipeline ---- */

static struct gnn_stage_time *stage_named(struct gnn_epoch_result *out, const char *name)
{
    for (uint32_t i = 0; i < out->stage_count; i++)
        if (strcmp(out->stages[i].stage, name) == 0)
            return &out->stages[i];
    return NULL;
}

static void add_times(const struct gnn_pipeline *pipeline, struct gnn_epoch_result *out)
{
    struct gnn_stage_time times[GNN_STAGES_MAX];
    const uint32_t count = gnn_pipeline_times(pipeline, times, GNN_STAGES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct gnn_stage_time *sum = stage_named(out, times[i].stage);
        if (sum == NULL) {
            assert(out->stage_count < GNN_STAGES_MAX);
            out->stages[out->stage_count++] = times[i];
            continue;
        }
        assert(sum->workers == times[i].workers);
        sum->items += times[i].items;
        sum->wall_ns += times[i].wall_ns;
        sum->cpu_ns += times[i].cpu_ns;
        sum->queued_ns = gnn_add_bytes(sum->queued_ns, times[i].queued_ns);
        sum->work_ns += times[i].work_ns;
        for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
            sum->wait_ns[kind] += times[i].wait_ns[kind];
    }
}

/* Why the pipeline stops is told when it has: gnn_epoch_run's caller fails, and the rank with it. */
static void stop_ranks(void *target)
{
    const struct gnn_env *const env = target;
    const struct gnn_err why = {.status = GNN_ECANCELLED};
    gnn_ranks_cancel(env->ranks, env->rank, &why);
}

enum gnn_status gnn_epoch_run(const struct gnn_env *env, gnn_add_stages_fn *add_stages, void *ctx,
                              struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct gnn_pipeline *pipeline = NULL;
    enum gnn_status status = gnn_pipeline_open(env->world, &pipeline, err);
    GNN_NEXT(status, add_stages(ctx, pipeline, err));
    if (env->ranks != NULL) /* a trainer that waits for the other ranks' gradients waits no longer */
        GNN_NEXT(status, gnn_pipeline_on_cancel(pipeline, stop_ranks, (void *)env, err));
    if (status == GNN_OK) {
        status = gnn_pipeline_run(pipeline, err);
        add_times(pipeline, out);
    }
    gnn_pipeline_close(pipeline);
    return status;
}

enum gnn_status gnn_check_stop(const struct gnn_env *env, struct gnn_err *err)
{
    if (env->stop != NULL && atomic_load(env->stop))
        return gnn_fail(err, GNN_ECANCELLED, "stopped on request");
    return GNN_OK;
}

/* ---- the order ---- */

uint64_t gnn_batch_order_bytes(const struct gnn_env *env)
{
    return env->dataset->train.count * (uint64_t)sizeof(gnn_node);
}

enum gnn_status gnn_batch_order_open(const struct gnn_env *env, const gnn_node *train, struct gnn_batch_order *out,
                                     struct gnn_err *err)
{
    const struct gnn_dataset *d = env->dataset;
    if (d->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", d->dir);
    *out = (struct gnn_batch_order){
        .env = env, .train = train != NULL ? train : d->train.nodes, .batches = gnn_epoch_batches(env)};
    GNN_MEM_NEW(env->world, out->order, d->train.count, "order of the epoch", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void gnn_batch_order_close(struct gnn_batch_order *order)
{
    if (order->env != NULL)
        gnn_mem_free(order->env->world, order->order);
    *order = (struct gnn_batch_order){.env = NULL};
}

void gnn_batch_order_begin(struct gnn_batch_order *order, uint64_t epoch)
{
    assert(order->order != NULL);
    gnn_epoch_order(order->env->workload->seed, epoch, order->train, order->env->dataset->train.count, order->order);
}

const gnn_node *gnn_batch_order_seeds(const struct gnn_batch_order *order, uint32_t k, uint32_t *count)
{
    assert(k < order->batches);
    const uint32_t batch_size = order->env->workload->batch_size;
    const uint64_t first = (uint64_t)k * batch_size, left = order->env->dataset->train.count - first;
    *count = (uint32_t)gnn_min_u64(left, batch_size);
    return order->order + first;
}

/* ---- files of the dataset ---- */

enum gnn_status gnn_dataset_file_open(const struct gnn_env *env, enum gnn_dataset_part part, unsigned flags,
                                      struct gnn_file **out, uint32_t *align_bytes, struct gnn_err *err)
{
    const struct gnn_dataset *d = env->dataset;
    const bool features = part == GNN_DATASET_FEATURES;
    const char *const path = features ? d->features_path : d->indices_path;
    const uint64_t bytes = features ? d->feature_bytes : d->indices_bytes;
    struct gnn_file_info info;
    GNN_TRY(gnn_file_open(env->world, path, GNN_OPEN_READ | flags, out, err));
    gnn_file_info(env->world, *out, &info);
    if (info.size_bytes != bytes)
        return gnn_dataset_damaged(d, err, "%s: %" PRIu64 " bytes, %" PRIu64 " expected", path, info.size_bytes, bytes);
    if (align_bytes != NULL)
        *align_bytes = gnn_max_u32(info.offset_align_bytes, info.mem_align_bytes);
    return GNN_OK;
}
