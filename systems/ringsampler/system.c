/* SPDX-License-Identifier: MIT */
/* RingSampler: neighbours read by offset, one ring per thread. See README.md.
 *
 * Source   Chen, Song, Martinez, Kalavri, "RingSampler: GNN sampling on large-scale graphs with io_uring", HotStorage
 *          2025
 * Memory   sizes.c: everything is allocated here, nothing during an epoch
 * Errors   GNN_EUSAGE for contradictory parameters; those of files and rings (GNN_ENOENT, GNN_ENOTSUP, GNN_EPERM);
 *          GNN_ENOMEM, GNN_ECAP; during an epoch GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ECANCELLED */
#include "harness/base/rng.h"
#include "systems/ringsampler/sector_cache.h"
#include "systems/ringsampler/thread.h"
#include "systems/ringsampler/training.h"

#include <inttypes.h>

/* Threads: the paper's 64, one a core: a polling thread keeps it. */
static void ringsampler_complete(const struct gnn_env *env, void *config)
{
    struct ringsampler_config *const c = config;
    c->threads = gnn_threads(c->threads, gnn_min_u32(env->cores, 64));
    c->concurrency = gnn_threads(c->concurrency, gnn_min_u32(env->cores, 64));
}

static enum gnn_status ringsampler_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                        struct gnn_err *err)
{
    struct rs_sizes sizes;
    GNN_TRY(rs_size(env, config, &sizes, err));
    rs_plan_parts(config, &sizes, plan);
    return GNN_OK;
}

static enum gnn_status ringsampler_open(const struct gnn_env *env, const void *config, void **state,
                                        struct gnn_err *err)
{
    struct ringsampler *s;
    GNN_NEW(s, 1, err, "ringsampler: state");
    *state = s;
    s->env = env;
    s->config = config;
    s->sample_key = gnn_rng_fork(env->workload->seed, "sample");
    GNN_TRY(gnn_batch_order_open(env, NULL, &s->order, err));
    GNN_TRY(rs_size(env, config, &s->sizes, err));
    if (s->config->io == RS_IO_MAPPED) {
        GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, 0, &s->mapped_file, NULL, err));
        GNN_TRY(gnn_map_open(env->world, s->mapped_file, GNN_MAP_RANDOM, &s->map, err));
    }
    if (s->sizes.cache_bytes > 0)
        GNN_TRY(rs_cache_open(env->world, env->dataset->edge_count, env->dataset->id_bytes, s->config->cache_bytes,
                              &s->cache, err));
    GNN_NEW(s->threads, s->sizes.threads, err, "ringsampler: %" PRIu32 " threads", s->sizes.threads);
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        GNN_TRY(rs_thread_open(s, &s->threads[i], err));
    return env->workload->sample_only ? GNN_OK : rs_training_open(s, &s->training, err);
}

static void ringsampler_intend(const void *state, struct gnn_intent *intent)
{
    static const uint32_t how[] = {[RS_IO_DIRECT] = GNN_READS_DIRECT,
                                   [RS_IO_BUFFERED] = GNN_READS_BUFFERED,
                                   [RS_IO_BUFFERED_RANDOM] = GNN_READS_BUFFERED,
                                   [RS_IO_MAPPED] = GNN_READS_MAPPED,
                                   [RS_IO_SORTED] = GNN_READS_DIRECT};
    const struct ringsampler *const s = state;
    const struct gnn_dataset *const d = s->env->dataset;
    gnn_intent_reads(intent, d->indices_path, how[s->config->io]);
    if (s->training != NULL)
        gnn_intent_reads(intent, d->features_path,
                         s->config->feature_io == RS_FEATURES_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED);
    if (s->config->requests > 0) /* a stream of requests has no epoch */
        intent->batches = intent->whole_batches = s->config->requests;
}

static void ringsampler_close(void *state)
{
    struct ringsampler *const s = state;
    if (s == NULL)
        return;
    rs_training_close(s->training);
    for (uint32_t i = 0; s->threads != NULL && i < s->sizes.threads; i++)
        rs_thread_close(&s->threads[i]);
    free(s->threads);
    rs_cache_close(s->cache);
    gnn_map_close(s->env->world, s->map);
    gnn_file_close(s->env->world, s->mapped_file);
    gnn_batch_order_close(&s->order);
    free(s);
}

const struct gnn_system gnn_system_ringsampler = {
    .abi = GNN_SYSTEM_ABI,
    .name = "ringsampler",
    .title = "RingSampler (HotStorage 2025): offset sampling, one io_uring per thread",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = ringsampler_options,
    .config_bytes = sizeof(struct ringsampler_config),
    .complete = ringsampler_complete,
    .plan = ringsampler_plan,
    .open = ringsampler_open,
    .intend = ringsampler_intend,
    .train_epoch = rs_epoch,
    .close = ringsampler_close,
};
