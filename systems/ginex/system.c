/* SPDX-License-Identifier: MIT */
/* Ginex: superbatches sampled ahead to disk, a provably optimal feature cache. See README.md.
 *
 * Source   Park, Min, Lee, "Ginex", PVLDB 15(11), 2022
 * Memory   sizes.c
 * Errors   those of files, GNN_ENOSPC when the trace does not fit the disk, GNN_ENOTSUP without direct I/O, GNN_ECAP */
#include "harness/system/plan.h"
#include "systems/ginex/ginex.h"

#include <inttypes.h>
#include <stdlib.h>

/* Threads: the released code's, by core. */
static void ginex_complete(const struct gnn_env *env, void *config)
{
    struct ginex_config *const c = config;
    c->samplers = gnn_threads(c->samplers, gnn_min_u32(2 * env->cores, 128));
    c->gather_threads = gnn_threads(c->gather_threads, gnn_min_u32(8 * env->cores, 128));
}

static enum gnn_status ginex_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                  struct gnn_err *err)
{
    struct ginex_sizes sizes;
    (void)env;
    return ginex_size(config, &sizes, plan, err);
}

static unsigned open_flags(const struct ginex *s)
{
    return s->config->io == GINEX_IO_DIRECT ? GNN_OPEN_DIRECT : 0;
}

/* Scans the topology where one of the caches is filled by score, and opens the neighbour lists. */
static enum gnn_status open_neighbours(struct ginex *s, struct ginex_scan *scan, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const struct ginex_neighbours_config config = {
        .cache_bytes = s->sizes.neighbour_cache_bytes,
        .skip_isolated = s->config->skip_isolated,
        .direct = s->config->io == GINEX_IO_DIRECT,
        .list_read = s->config->list_read,
        .workers = s->config->samplers,
        .load_block_bytes = (uint32_t)s->config->neighbour_block,
        .load_depth = s->config->gather_threads,
        .dir = s->trace_dir,
    };
    const uint32_t top_rows = ginex_top_rows(env, s->config, &s->sizes);
    const bool by_score = env->dataset->edge_count > 0 && (config.cache_bytes > 0 || top_rows > 0);
    if (by_score)
        GNN_TRY(ginex_scan_open(env, s->indices, scan, err));
    if (by_score && top_rows > 0)
        GNN_TRY(ginex_top_nodes_open(scan, top_rows, &s->top, err));
    return ginex_neighbours_open(env, &config, s->indices, by_score ? scan : NULL, &s->neighbours, err);
}

static enum gnn_status open_sampling(struct ginex *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const uint32_t samplers = s->config->samplers;
    struct ginex_scan scan = {.env = NULL};
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, open_flags(s), &s->indices, NULL, err));
    const uint64_t start_ns = gnn_now_ns(env->world);
    const enum gnn_status status = open_neighbours(s, &scan, err);
    ginex_scan_close(&scan);
    s->prepare_ns = gnn_now_ns(env->world) - start_ns;
    if (status != GNN_OK)
        return status;
    const struct gnn_sampling_config sampling = {
        .workers = samplers,
        .floyd_biased = env->floyd_biased || s->config->floyd == GINEX_FLOYD_BIASED,
        .open_source = ginex_source_open,
        .open_source_ctx = s->neighbours,
    };
    GNN_TRY(gnn_sampling_open(env, &sampling, &s->sampling, err));
    GNN_NEW(s->drawn, samplers, err, "batches of %" PRIu32 " ginex samplers", samplers);
    for (uint32_t w = 0; w < samplers; w++)
        GNN_TRY(gnn_batch_open(env->world, &s->drawn[w], err));
    return GNN_OK;
}

static enum gnn_status open_features(struct ginex *s, struct gnn_err *err)
{
    uint32_t align;
    GNN_TRY(gnn_dataset_file_open(s->env, GNN_DATASET_FEATURES, open_flags(s), &s->features, &align, err));
    if (s->config->io_unit % align != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "ginex.io_unit=%" PRIu64 " is not a multiple of %" PRIu32
                        " bytes, which direct I/O requires here: choose a multiple, or set ginex.io=buffered",
                        s->config->io_unit, align);
    if (s->config->fill != GINEX_FILL_MAPPED)
        return GNN_OK;
    GNN_TRY(gnn_dataset_file_open(s->env, GNN_DATASET_FEATURES, 0, &s->features_mapped, NULL, err));
    return gnn_map_open(s->env->world, s->features_mapped, s->config->readahead, &s->features_map, err);
}

static enum gnn_status open_training(struct ginex *s, struct gnn_err *err)
{
    GNN_TRY(open_features(s, err));
    GNN_TRY(gnn_team_open(s->env->world, s->config->gather_threads, &s->team, err));
    gnn_training_open(s->env, &s->training);
    return GNN_OK;
}

static void ginex_intend(const void *state, struct gnn_intent *intent)
{
    const struct ginex *const s = state;
    const struct gnn_dataset *const d = s->env->dataset;
    const uint32_t how = s->config->io == GINEX_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED;
    gnn_sampling_intend(s->sampling, intent);
    gnn_intent_phases(intent, s->sizes.superbatch, "ginex.superbatch");
    gnn_intent_reads(intent, d->indices_path, how);
    gnn_intent_reads(intent, NULL, how); /* neighbour cache */
    gnn_intent_reads(intent, NULL, s->config->trace_io == GINEX_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED);
    if (!s->env->workload->sample_only)
        gnn_intent_reads(intent, d->features_path, how | (s->features_map != NULL ? GNN_READS_MAPPED : 0));
}

static void ginex_close(void *state)
{
    struct ginex *s = state;
    if (s == NULL)
        return;
    struct gnn_world *world = s->env->world;
    gnn_team_close(s->team);
    gnn_map_close(world, s->features_map);
    gnn_file_close(world, s->features_mapped);
    gnn_file_close(world, s->features);
    for (uint32_t w = 0; s->drawn != NULL && w < s->config->samplers; w++)
        gnn_batch_close(world, s->drawn[w]);
    free(s->drawn);
    gnn_sampling_close(s->sampling); /* with its sources */
    ginex_neighbours_close(s->neighbours);
    gnn_mem_free(world, s->top.node);
    gnn_file_close(world, s->indices);
    free(s);
}

static enum gnn_status ginex_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct ginex *s;
    GNN_NEW(s, 1, err, "ginex's state");
    *state = s;
    s->env = env;
    s->config = config;
    s->trace_dir = s->config->trace_dir[0] != '\0' ? s->config->trace_dir : env->dataset->dir;
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, env);
    GNN_TRY(ginex_size(config, &s->sizes, &plan, err));
    GNN_TRY(gnn_plan_check(&plan, "", err));
    GNN_TRY(open_sampling(s, err));
    return env->workload->sample_only ? GNN_OK : open_training(s, err);
}

const struct gnn_system gnn_system_ginex = {
    .abi = GNN_SYSTEM_ABI,
    .name = "ginex",
    .title = "Ginex (PVLDB 2022)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = ginex_options,
    .config_bytes = sizeof(struct ginex_config),
    .complete = ginex_complete,
    .plan = ginex_plan,
    .open = ginex_open,
    .intend = ginex_intend,
    .train_epoch = ginex_epoch,
    .close = ginex_close,
};
