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

enum { LAYOUTS_MAX = 4 }; /* that are made before a cap is refused */

static void diskgnn_complete(const struct gnn_env *env, void *config)
{
    struct diskgnn_config *const c = config;
    const uint32_t cores = gnn_min_u32(env->cores, DISKGNN_WORKERS_MAX);
    c->prepare.samplers = gnn_threads(c->prepare.samplers, cores);
    c->prepare.pack_workers = gnn_threads(c->prepare.pack_workers, cores);
}

static enum gnn_status diskgnn_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                    struct gnn_err *err)
{
    (void)env;
    return diskgnn_plan_expected(config, plan, err);
}

/* ---- preparation ---- */

/* Tables and graph samples have handles of their own where they alone go through the page cache. */
static enum gnn_status open_meta(struct diskgnn *s, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    s->samples = s->sampled.samples;
    s->tables = s->layout.tables;
    s->own_meta = s->config->prepare.io == DISKGNN_IO_DIRECT && s->config->meta_io == DISKGNN_IO_BUFFERED;
    if (!s->own_meta)
        return GNN_OK;
    const char *const samples = gnn_file_path(world, s->samples);
    const char *const tables = s->tables != NULL ? gnn_file_path(world, s->tables) : NULL;
    s->samples = s->tables = NULL;
    GNN_TRY(gnn_file_open(world, samples, GNN_OPEN_READ, &s->samples, err));
    return tables != NULL ? gnn_file_open(world, tables, GNN_OPEN_READ, &s->tables, err) : GNN_OK;
}

static void close_prepared(struct diskgnn *s)
{
    struct gnn_world *const world = s->env->world;
    diskgnn_slots_close(s);
    if (s->own_meta) {
        gnn_file_close(world, s->tables);
        gnn_file_close(world, s->samples);
    }
    if (s->prepared && s->sampled.epoch > 0) /* of a later epoch's: no other run begins with them */
        diskgnn_prepared_remove(s->env, &s->sampled, &s->layout);
    diskgnn_layout_close(world, &s->layout);
    diskgnn_sampled_close(world, &s->sampled);
    s->tables = s->samples = NULL;
    s->own_meta = s->prepared = false;
}

/* Places and packs. How many rows the largest mini-batch reads is known afterwards: where that passes the cap, the caches
 * give way and it is done again. */
static enum gnn_status open_layout(struct diskgnn *s, struct gnn_err *err)
{
    uint64_t reserve_bytes = 0;
    struct diskgnn_caches before = {0}, caches;
    for (uint32_t turn = 0; turn < LAYOUTS_MAX; turn++) {
        diskgnn_choose_caches(s->env, s->config, &s->sampled, reserve_bytes, &caches);
        if (turn > 0 && caches.gpu_rows == before.gpu_rows && caches.cpu_rows == before.cpu_rows)
            break; /* they were given */
        before = caches;
        diskgnn_layout_close(s->env->world, &s->layout);
        GNN_TRY(diskgnn_layout_open(s->env, &s->config->prepare, &s->sampled, &caches, &s->layout, err));
        s->most = diskgnn_most_of(&s->sampled, &s->layout);
        const uint64_t excess_bytes = diskgnn_excess_bytes(s->env, s->config, &s->most, &s->layout);
        if (excess_bytes == 0)
            break;
        reserve_bytes += 2 * excess_bytes;
    }
    s->prepared = true;
    return diskgnn_check_prepared(s->env, s->config, &s->most, &s->layout, err);
}

static enum gnn_status open_prepared(struct diskgnn *s, uint64_t base, struct gnn_err *err)
{
    GNN_TRY(diskgnn_sampled_open(s->env, &s->config->prepare, base, &s->sampled, err));
    GNN_TRY(open_layout(s, err));
    GNN_TRY(open_meta(s, err));
    return diskgnn_slots_open(s, err);
}

enum gnn_status diskgnn_prepare(struct diskgnn *s, uint64_t epoch, bool *prepared, struct gnn_err *err)
{
    const uint64_t base = diskgnn_base_epoch(&s->config->prepare, epoch);
    *prepared = !s->ready || s->sampled.epoch != base;
    if (!*prepared)
        return GNN_OK;
    s->ready = false;
    close_prepared(s);
    GNN_TRY(open_prepared(s, base, err));
    s->ready = true;
    return GNN_OK;
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
    close_prepared(s);
    gnn_team_close(s->team);
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
