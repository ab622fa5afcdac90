/* SPDX-License-Identifier: MIT */
/* GraphBolt's disk mode: topology in memory, a row cache with an eviction policy, asynchronous reads of its misses. See
 * README.md.
 *
 * Source   dmlc/dgl, examples/graphbolt/disk_based_feature, python/dgl/graphbolt and graphbolt/src
 * Memory   sizes.c
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_ENOTSUP without direct I/O), GNN_ENOMEM, GNN_ECAP,
 *          GNN_EUSAGE for options that contradict each other, GNN_ECANCELLED */
#include "systems/graphbolt/graphbolt.h"

#include <inttypes.h>
#include <stdlib.h>

static void graphbolt_complete_options(const struct gnn_env *env, void *config)
{
    struct graphbolt_config *const c = config;
    c->samplers = gnn_threads(c->samplers, gnn_min_u32(env->cores, 32));
    c->parts = gnn_threads(c->parts, gnn_min_u32(env->cores, 32));
    c->rings = gnn_threads(c->rings, gnn_min_u32(env->cores, 32));
    c->copy_threads = gnn_threads(c->copy_threads, gnn_min_u32(env->cores, 32));
}

static enum gnn_status graphbolt_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                      struct gnn_err *err)
{
    struct graphbolt_sizes sizes;
    (void)env;
    return graphbolt_size(config, &sizes, plan, err);
}

static enum gnn_status open_sampling(struct graphbolt *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const uint32_t samplers = s->config->samplers;
    const bool direct = s->config->io == GRAPHBOLT_IO_DIRECT;
    GNN_TRY(graphbolt_topology_open(env, direct, s->config->dependency, samplers, &s->topology, err));
    const struct gnn_sampling_config config = {.workers = samplers,
                                               .floyd_biased = env->floyd_biased,
                                               .framework = true,
                                               .open_source = graphbolt_topology_source,
                                               .open_source_ctx = s->topology};
    GNN_TRY(gnn_sampling_open(env, &config, &s->sampling, err));
    const uint32_t ahead = samplers * GRAPHBOLT_BATCHES_PER_SAMPLER;
    const uint32_t count = env->workload->sample_only ? samplers : ahead + s->config->in_flight;
    GNN_NEW(s->tokens, samplers, err, "graphbolt: queues of %" PRIu32 " samplers", samplers);
    GNN_NEW(s->batches, count, err, "graphbolt: %" PRIu32 " mini-batches", count);
    s->batch_count = count;
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(gnn_batch_open(env->world, &s->batches[i], err));
    return GNN_OK;
}

/* Opens the cache on the GPU: its rows, and the list that the gather looks a row's place up in. */
static enum gnn_status open_gpu_cache(struct graphbolt *s, struct gnn_err *err)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    const uint32_t rows = s->sizes.gpu_rows;
    const uint64_t place_bytes = (rows + UINT64_C(1)) * sizeof(uint32_t);
    uint32_t *place = NULL;
    if (rows >> GNN_PLACE_ROW_BITS != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "graphbolt.gpu_cache holds %" PRIu32 " rows, but at most %u are possible: lower it", rows,
                        1U << GNN_PLACE_ROW_BITS);
    GNN_TRY(graphbolt_cache_open(s->env->world, &s->sizes.device, &s->device, err));
    GNN_TRY(tensor->ops->alloc(tensor, "graphbolt row cache", gnn_mul_bytes(rows, s->env->dataset->row_bytes),
                               &s->gpu_rows, err));
    GNN_TRY(tensor->ops->alloc(tensor, "graphbolt places of cached rows", place_bytes, &s->place, err));
    GNN_NEW(place, rows + UINT64_C(1), err, "graphbolt: places of %" PRIu32 " rows", rows);
    for (uint32_t row = 0; row < rows; row++)
        place[row] = gnn_place(0, row);
    place[rows] = GNN_PLACE_NONE;
    tensor->ops->upload(tensor, s->place, place, place_bytes);
    free(place);
    return GNN_OK;
}

static enum gnn_status open_item(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err)
{
    item->lists = (struct gnn_buffer){.name = "graphbolt row lists"};
    gnn_rows_init(&item->read, s->env, "graphbolt rows that were read", GNN_ROWS_PINNED);
    gnn_rows_init(&item->x, s->env, "graphbolt input", GNN_ROWS_TENSOR);
    return gnn_train_input_open(s->env, "graphbolt input", GNN_TRANSFER_AHEAD, &item->input, err);
}

static enum gnn_status open_training(struct graphbolt *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    GNN_TRY(graphbolt_rings_open(s, err));
    GNN_TRY(graphbolt_cache_open(env->world, &s->sizes.cache, &s->cache, err));
    GNN_TRY(gnn_staging_alloc(env, "graphbolt row cache", gnn_mul_bytes(s->sizes.cache.rows, env->dataset->row_bytes),
                              &s->rows, err));
    if (s->sizes.gpu_rows > 0)
        GNN_TRY(open_gpu_cache(s, err));
    GNN_TRY(gnn_team_open(env->world, s->sizes.parts, &s->lookups, err));
    GNN_TRY(gnn_team_open(env->world, s->config->rings, &s->readers, err));
    GNN_TRY(gnn_team_open(env->world, s->config->copy_threads, &s->copiers, err));
    s->uploads = (struct gnn_buffer){.name = "graphbolt lists of uploads"};
    gnn_training_open(env, &s->training);
    GNN_NEW(s->items, s->config->in_flight, err, "graphbolt: %" PRIu32 " mini-batches in flight", s->config->in_flight);
    for (uint32_t i = 0; i < s->config->in_flight; i++)
        GNN_TRY(open_item(s, &s->items[i], err));
    return GNN_OK;
}

static void graphbolt_intend(const void *state, struct gnn_intent *intent)
{
    const struct graphbolt *const s = state;
    gnn_sampling_intend(s->sampling, intent);
    if (!s->env->workload->sample_only)
        gnn_intent_reads(intent, s->env->dataset->features_path,
                         s->config->io == GRAPHBOLT_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED);
}

static void close_training(struct graphbolt *s)
{
    struct gnn_world *const world = s->env->world;
    for (uint32_t i = 0; s->items != NULL && i < s->config->in_flight; i++) {
        gnn_train_input_close(&s->items[i].input);
        gnn_rows_close(&s->items[i].x);
        gnn_rows_close(&s->items[i].read);
        gnn_buffer_close(world, &s->items[i].lists);
    }
    free(s->items);
    gnn_training_close(&s->training);
    gnn_buffer_close(world, &s->uploads);
    gnn_team_close(s->copiers);
    gnn_team_close(s->readers);
    gnn_team_close(s->lookups);
    if (s->place != NULL)
        s->env->tensor->ops->free(s->env->tensor, s->place);
    if (s->gpu_rows != NULL)
        s->env->tensor->ops->free(s->env->tensor, s->gpu_rows);
    graphbolt_cache_close(s->device);
    gnn_staging_free(s->env, s->rows);
    graphbolt_cache_close(s->cache);
    graphbolt_rings_close(s);
}

static void graphbolt_close(void *state)
{
    struct graphbolt *const s = state;
    if (s == NULL)
        return;
    if (!s->env->workload->sample_only)
        close_training(s);
    for (uint32_t i = 0; i < s->batch_count; i++)
        gnn_batch_close(s->env->world, s->batches[i]);
    free(s->batches);
    free(s->tokens);
    gnn_sampling_close(s->sampling); /* with its sources */
    graphbolt_topology_close(s->topology);
    free(s);
}

static enum gnn_status graphbolt_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct graphbolt *s;
    GNN_NEW(s, 1, err, "graphbolt: state");
    *state = s;
    s->env = env;
    s->config = config;
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, env);
    GNN_TRY(graphbolt_size(config, &s->sizes, &plan, err));
    GNN_TRY(gnn_plan_check(&plan, "", err));
    GNN_TRY(open_sampling(s, err));
    return env->workload->sample_only ? GNN_OK : open_training(s, err);
}

const struct gnn_system gnn_system_graphbolt = {
    .abi = GNN_SYSTEM_ABI,
    .name = "graphbolt",
    .title = "GraphBolt's disk mode (Deep Graph Library, 2024)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = graphbolt_options,
    .config_bytes = sizeof(struct graphbolt_config),
    .complete = graphbolt_complete_options,
    .plan = graphbolt_plan,
    .open = graphbolt_open,
    .intend = graphbolt_intend,
    .train_epoch = graphbolt_train_epoch,
    .close = graphbolt_close,
};
