/* SPDX-License-Identifier: MIT */
/* What is prepared, opened for training and closed again: once for all epochs, or anew every few of them (option
 * resample_every). */
#include "systems/diskgnn/diskgnn.h"

enum { LAYOUTS_MAX = 4 }; /* that are made before a cap is refused */

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

void diskgnn_close_prepared(struct diskgnn *s)
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

/* Places and packs. How many rows the largest mini-batch reads is known when all are placed: where that passes the cap,
 * the caches give way and they are placed again; what is packed fits. */
static enum gnn_status open_layout(struct diskgnn *s, struct gnn_err *err)
{
    uint64_t reserve_bytes = 0;
    struct diskgnn_caches before = {0}, caches;
    struct diskgnn_prepare_config prepare = s->config->prepare;
    prepare.pack_memory = diskgnn_pack_memory(s->env, s->config);
    for (uint32_t turn = 0; turn < LAYOUTS_MAX; turn++) {
        diskgnn_choose_caches(s->env, s->config, &s->sampled, reserve_bytes, &caches);
        if (turn > 0 && caches.gpu_rows == before.gpu_rows && caches.cpu_rows == before.cpu_rows)
            break; /* they were given */
        before = caches;
        diskgnn_layout_close(s->env->world, &s->layout);
        GNN_TRY(diskgnn_layout_open(s->env, &prepare, &s->sampled, &caches, &s->layout, err));
        s->most = diskgnn_most_of(&s->sampled, &s->layout);
        const uint64_t excess_bytes = diskgnn_excess_bytes(s->env, s->config, &s->most, &s->layout);
        if (excess_bytes == 0)
            break;
        reserve_bytes += 2 * excess_bytes;
    }
    s->prepared = true;
    GNN_TRY(diskgnn_check_prepared(s->env, s->config, &s->most, &s->layout, err));
    return diskgnn_layout_pack(s->env, &prepare, &s->sampled, &s->layout, err);
}

static enum gnn_status open_prepared(struct diskgnn *s, uint64_t base, struct gnn_err *err)
{
    GNN_TRY(diskgnn_sampled_open(s->env, &s->config->prepare, base, &s->sampled, err));
    GNN_TRY(open_layout(s, err));
    if (s->config->unordered && !s->env->workload->sample_only)
        GNN_TRY(diskgnn_unordered_count(s, err));
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
    diskgnn_close_prepared(s);
    GNN_TRY(open_prepared(s, base, err));
    s->ready = true;
    return GNN_OK;
}
