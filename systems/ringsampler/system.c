/* RingSampler: neighbours read by offset, one ring per thread. See README.md.
 *
 * Source   Chen, Song, Martinez, Kalavri, "RingSampler: GNN sampling on large-scale graphs with io_uring", HotStorage
 *          2025; specs/ringsampler.md
 * Memory   sizes.c: everything is allocated here, nothing during an epoch
 * Errors   GNN_EUSAGE for contradictory parameters; those of files and rings (GNN_ENOENT, GNN_ENOTSUP, GNN_EPERM);
 *          GNN_ENOMEM, GNN_ECAP; during an epoch GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ECANCELLED */
#include "systems/ringsampler/ringsampler.h"

#include "harness/base/rng.h"
#include "systems/ringsampler/sector_cache.h"

#include <inttypes.h>
#include <stdlib.h>

static enum gnn_status ringsampler_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                        struct gnn_err *err)
{
    struct rs_sizes sizes;
    GNN_TRY(rs_size(env, config, &sizes, err));
    rs_plan_parts(config, &sizes, plan);
    return GNN_OK;
}

static enum gnn_status open_shared(struct ringsampler *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    void *order = NULL;
    GNN_TRY(gnn_mem_alloc(env->world, "order of the epoch", env->dataset->train.count * (uint64_t)sizeof *s->order,
                          GNN_MEM_PLAIN, &order, err));
    s->order = order;
    if (s->config->io == RS_IO_MAPPED) {
        GNN_TRY(gnn_file_open(env->world, env->dataset->indices_path, GNN_OPEN_READ, &s->mapped_file, err));
        GNN_TRY(gnn_map_open(env->world, s->mapped_file, GNN_MAP_RANDOM, &s->map, err));
    }
    if (s->sizes.cache_bytes > 0)
        GNN_TRY(rs_cache_open(env->world, env->dataset->edge_count, s->config->cache_bytes, &s->cache, err));
    s->threads = calloc(s->sizes.threads, sizeof *s->threads);
    return s->threads != NULL ? GNN_OK
                              : gnn_fail(err, GNN_ENOMEM, "ringsampler: %" PRIu32 " threads", s->sizes.threads);
}

/* Every thread has its own handle; one look is enough to say that the file is what the dataset promises. */
static enum gnn_status check_edges(const struct ringsampler *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const struct gnn_file *const file = s->config->io == RS_IO_MAPPED ? s->mapped_file : s->threads[0].file;
    struct gnn_file_info info;
    gnn_file_info(env->world, file, &info);
    if (info.size_bytes >= env->dataset->edge_count * sizeof(gnn_node))
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " bytes, %" PRIu64 " edges expected; run `oocgnn prepare` again",
                    env->dataset->indices_path, info.size_bytes, env->dataset->edge_count);
}

static enum gnn_status ringsampler_open(const struct gnn_env *env, const void *config, void **state,
                                        struct gnn_err *err)
{
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", env->dataset->dir);
    struct ringsampler *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: state");
    *state = s;
    s->env = env;
    s->config = config;
    s->sample_key = gnn_rng_fork(env->workload->seed, "sample");
    GNN_TRY(rs_size(env, config, &s->sizes, err));
    const uint64_t seeds = env->dataset->train.count, all = (seeds + s->sizes.seeds - 1) / s->sizes.seeds;
    const uint32_t most = env->workload->max_batches;
    s->batches = most > 0 && most < all ? most : (uint32_t)all;
    GNN_TRY(open_shared(s, err));
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        GNN_TRY(rs_thread_open(s, &s->threads[i], err));
    GNN_TRY(check_edges(s, err));
    return env->workload->sample_only ? GNN_OK : rs_training_open(s, err);
}

static enum gnn_status ringsampler_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                               struct gnn_err *err)
{
    return rs_epoch(state, epoch, out, err);
}

static void ringsampler_close(void *state)
{
    struct ringsampler *const s = state;
    if (s == NULL)
        return;
    rs_training_close(s);
    for (uint32_t i = 0; s->threads != NULL && i < s->sizes.threads; i++)
        rs_thread_close(&s->threads[i]);
    free(s->threads);
    rs_cache_close(s->cache);
    gnn_map_close(s->env->world, s->map);
    gnn_file_close(s->env->world, s->mapped_file);
    gnn_mem_free(s->env->world, s->order);
    free(s);
}

const struct gnn_system gnn_system_ringsampler = {
    .abi = GNN_SYSTEM_ABI,
    .name = "ringsampler",
    .title = "RingSampler (HotStorage 2025): offset sampling, one io_uring per thread",
    .options = ringsampler_options,
    .config_bytes = sizeof(struct ringsampler_config),
    .plan = ringsampler_plan,
    .open = ringsampler_open,
    .train_epoch = ringsampler_train_epoch,
    .close = ringsampler_close,
};
