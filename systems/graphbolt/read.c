/* SPDX-License-Identifier: MIT */
/* Reads of missed rows (OnDiskNpyArray::IndexSelectIOUringImpl in dmlc/dgl, graphbolt/src/cnumpy.cc). Threads with a
 * ring each take groups of rows from a common counter. A thread submits its group, waits for all of its reads, and
 * copies the rows from the windows. A window is the blocks in which a row is stored. */
#include "systems/graphbolt/graphbolt.h"

#include "harness/system/epoch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static uint64_t ring_bytes(const struct graphbolt_config *config, uint32_t window_bytes)
{
    return gnn_add_bytes(gnn_mul_bytes(config->group, window_bytes),
                         gnn_ring_reads_bytes(config->group, config->group));
}

uint64_t graphbolt_rings_bytes(const struct graphbolt_config *config, uint32_t window_bytes)
{
    return gnn_mul_bytes(config->rings, ring_bytes(config, window_bytes));
}

static enum gnn_status open_ring(struct graphbolt *s, struct graphbolt_ring *ring, struct gnn_err *err)
{
    const uint32_t group = s->config->group;
    const struct gnn_ring_reads_config config = {
        .ring = {.engine = s->env->io_engine, .depth = group}, .batch_max = group, .short_reads = GNN_SHORT_RESUMES};
    void *windows = NULL;
    GNN_NEW(ring->wanted, group, err, "graphbolt: %" PRIu32 " reads", group);
    GNN_NEW(ring->tags, group, err, "graphbolt: %" PRIu32 " tags", group);
    GNN_TRY(gnn_mem_alloc(s->env->world, "graphbolt read windows", gnn_mul_bytes(group, s->sizes.window_bytes),
                          GNN_MEM_FEATURES, &windows, err));
    ring->windows = windows;
    return gnn_ring_reads_open(s->env->world, &config, &ring->reads, err);
}

enum gnn_status graphbolt_rings_open(struct graphbolt *s, struct gnn_err *err)
{
    uint32_t align;
    const unsigned flags = s->config->io == GRAPHBOLT_IO_DIRECT ? GNN_OPEN_DIRECT : 0;
    GNN_TRY(gnn_dataset_file_open(s->env, GNN_DATASET_FEATURES, flags, &s->features, &align, err));
    if (graphbolt_block(s->config) % align != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "graphbolt.block=%" PRIu64 " is less than the %" PRIu32
                        " bytes that direct I/O requires here: set graphbolt.block=%" PRIu32,
                        s->config->block_bytes, align, align);
    GNN_NEW(s->ring, s->config->rings, err, "graphbolt: %" PRIu32 " rings", s->config->rings);
    for (uint32_t r = 0; r < s->config->rings; r++)
        GNN_TRY(open_ring(s, &s->ring[r], err));
    return GNN_OK;
}

void graphbolt_rings_close(struct graphbolt *s)
{
    for (uint32_t r = 0; s->ring != NULL && r < s->config->rings; r++) {
        struct graphbolt_ring *const ring = &s->ring[r];
        gnn_ring_reads_close(&ring->reads);
        gnn_mem_free(s->env->world, ring->windows);
        free(ring->tags);
        free(ring->wanted);
    }
    free(s->ring);
    gnn_file_close(s->env->world, s->features);
}

void graphbolt_read_counters(const struct graphbolt *s, struct gnn_counters *out, bool clear)
{
    for (uint32_t r = 0; r < s->config->rings; r++) {
        struct gnn_ring_counters *const counters = &s->ring[r].reads.counters;
        out->requested_bytes += counters->requested_bytes;
        out->requested_ios += counters->requested_ios;
        if (clear)
            *counters = (struct gnn_ring_counters){.requested_ios = 0};
    }
}

/* ---- a group ---- */

/* Returns the place of missed row m: in the input, or with a GPU in the list of rows that were read. */
static char *row_of(const struct graphbolt *s, const struct graphbolt_item *item, uint32_t m)
{
    const uint64_t row_bytes = s->env->dataset->row_bytes;
    if (graphbolt_on_device(s))
        return (char *)item->read.data + m * row_bytes;
    return (char *)item->input.rows.data + item->missed[m] * row_bytes;
}

static uint64_t offset_of(const struct graphbolt *s, const struct graphbolt_item *item, uint32_t m)
{
    return gnn_batch_view(item->batch)->nodes[item->missed[m]] * (uint64_t)s->env->dataset->row_bytes;
}

static enum gnn_status read_group(const struct graphbolt *s, struct graphbolt_ring *ring, uint32_t first,
                                  uint32_t count, struct gnn_err *err)
{
    const struct graphbolt_item *const item = s->in_read;
    const uint64_t block = graphbolt_block(s->config), row_bytes = s->env->dataset->row_bytes;
    uint32_t got = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = offset_of(s, item, first + i), start = gnn_round_down(at, block);
        const uint64_t end = at + row_bytes, len = gnn_round_up(end, block) - start;
        assert(len <= s->sizes.window_bytes);
        ring->wanted[i] = (struct gnn_read){.file = s->features,
                                            .offset_bytes = start,
                                            .dst = ring->windows + (uint64_t)i * s->sizes.window_bytes,
                                            .len_bytes = (uint32_t)len,
                                            .need_bytes = (uint32_t)(end - start)};
    }
    GNN_TRY(gnn_ring_reads_submit(&ring->reads, ring->wanted, count, err));
    return gnn_ring_reads_wait(&ring->reads, count, count, ring->tags, &got, err);
}

static void take_rows(const struct graphbolt *s, const struct graphbolt_ring *ring, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t inside = offset_of(s, s->in_read, first + i) % graphbolt_block(s->config);
        gnn_mem_copy(s->env->world, row_of(s, s->in_read, first + i),
                     ring->windows + (uint64_t)i * s->sizes.window_bytes + inside, s->env->dataset->row_bytes);
    }
}

/* gnn_part_fn: takes groups until there are no more. */
static enum gnn_status read_job(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    struct graphbolt_ring *const ring = &s->ring[part];
    const uint32_t misses = s->in_read->miss_count;
    assert(parts == s->config->rings);
    gnn_env_range(s->env, "read");
    for (;;) {
        const uint64_t first = (uint64_t)atomic_fetch_add(&s->next_group, 1) * s->config->group;
        if (first >= misses)
            break;
        const uint32_t count = gnn_min_u32(misses - (uint32_t)first, s->config->group);
        enum gnn_status status = gnn_check_stop(s->env, err);
        GNN_NEXT(status, read_group(s, ring, (uint32_t)first, count, err));
        if (status != GNN_OK) {
            gnn_ring_reads_drain(&ring->reads);
            return status;
        }
        take_rows(s, ring, (uint32_t)first, count);
    }
    gnn_env_range(s->env, NULL);
    return GNN_OK;
}

enum gnn_status graphbolt_read(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err)
{
    if (graphbolt_on_device(s))
        GNN_TRY(gnn_rows_reserve(&item->read, item->miss_count, err));
    else
        GNN_TRY(gnn_train_input_reserve(&item->input, item->nodes, err));
    if (item->miss_count == 0)
        return GNN_OK;
    s->in_read = item;
    atomic_store(&s->next_group, 0);
    gnn_team_post(s->readers, read_job, s);
    return gnn_team_wait(s->readers);
}
