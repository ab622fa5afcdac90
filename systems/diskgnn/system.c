/* SPDX-License-Identifier: MIT */
/* DiskGNN: offline sampling, a four-level feature store, batched packing and a pipeline over prepared mini-batches. See
 * README.md.
 *
 * Source   DiskGNN (SIGMOD 2025); where paper and released code differ, the paper is the default
 * Memory   sizes.c; under accounting=full the CPU cache gets what the cap leaves
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ENOTSUP without direct I/O), GNN_ENOSPC
 *          while preparing, GNN_ENOMEM, GNN_ECAP, GNN_EGPU, GNN_EUSAGE, GNN_ECANCELLED */
#include "systems/diskgnn/diskgnn.h"

#include "harness/system/intent.h"

#include <inttypes.h>

enum { PACK_WORKERS = 8 }; /* they wait for their writes: cores do not matter, and so many in flight fill a drive */

static void diskgnn_complete(const struct gnn_env *env, void *config)
{
    struct diskgnn_config *const c = config;
    const uint32_t cores = gnn_min_u32(env->cores, DISKGNN_WORKERS_MAX);
    c->prepare.samplers = gnn_threads(c->prepare.samplers, cores);
    c->prepare.pack_workers = gnn_threads(c->prepare.pack_workers, PACK_WORKERS);
}

static enum gnn_status diskgnn_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                    struct gnn_err *err)
{
    (void)env;
    return diskgnn_plan_expected(config, plan, err);
}

/* ---- hooks ---- */

static enum gnn_status diskgnn_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct diskgnn *s;
    GNN_NEW(s, 1, err, "diskgnn: state");
    *state = s;
    s->env = env;
    s->config = config;
    const uint32_t batches = gnn_max_u32(gnn_epoch_batches(env), 1);
    GNN_NEW(s->order, batches, err, "diskgnn: order of %" PRIu32 " mini-batches", batches);
    GNN_NEW(s->of_batch, batches, err, "diskgnn: figures of %" PRIu32 " mini-batches", batches);
    if (!env->workload->sample_only) {
        gnn_training_open(env, &s->training);
        GNN_TRY(gnn_team_open(env->world, s->config->rings, &s->team, err));
    }
    bool prepared;
    return diskgnn_prepare(s, 0, &prepared, err);
}

static void add_file(const struct diskgnn *s, struct gnn_intent *intent, struct gnn_file *file, enum diskgnn_io io,
                     bool made)
{
    const uint32_t how = io == DISKGNN_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED;
    if (file != NULL)
        gnn_intent_reads(intent, gnn_file_path(s->env->world, file), how | (made ? GNN_READS_MADE : 0));
}

static void diskgnn_intend(const void *state, struct gnn_intent *intent)
{
    const struct diskgnn *const s = state;
    const enum diskgnn_io io = s->config->prepare.io, meta = s->own_meta ? DISKGNN_IO_BUFFERED : io;
    const bool placed = s->layout.written_bytes > 0;
    add_file(s, intent, s->samples, meta, s->sampled.written_bytes > 0);
    add_file(s, intent, s->tables, meta, placed);
    add_file(s, intent, s->layout.chunks, io, placed);
    if (s->layout.disk_bytes > 0)
        add_file(s, intent, s->layout.disk, io, placed);
}

static void diskgnn_close(void *state)
{
    struct diskgnn *const s = state;
    if (s == NULL)
        return;
    diskgnn_close_prepared(s);
    gnn_team_close(s->team);
    free(s->unordered_bytes);
    free(s->of_batch);
    free(s->order);
    free(s);
}

const struct gnn_system gnn_system_diskgnn = {
    .abi = GNN_SYSTEM_ABI,
    .name = "diskgnn",
    .title = "DiskGNN (SIGMOD 2025)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = diskgnn_options,
    .config_bytes = sizeof(struct diskgnn_config),
    .complete = diskgnn_complete,
    .plan = diskgnn_plan,
    .open = diskgnn_open,
    .intend = diskgnn_intend,
    .train_epoch = diskgnn_epoch,
    .close = diskgnn_close,
};
