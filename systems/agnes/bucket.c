/* SPDX-License-Identifier: MIT */
#include "systems/agnes/bucket.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t agnes_bucket_bytes(uint64_t blocks, uint64_t tasks, uint64_t entries)
{
    return (blocks + 1) * sizeof(uint64_t) + tasks * blocks * sizeof(uint64_t) + blocks * sizeof(uint32_t) +
           gnn_mul_bytes(entries, sizeof(struct agnes_entry));
}

enum gnn_status agnes_bucket_open(struct gnn_world *world, uint32_t blocks, uint32_t tasks, struct agnes_bucket *out,
                                  struct gnn_err *err)
{
    assert(blocks > 0);
    assert(tasks > 0);
    *out = (struct agnes_bucket){.world = world, .blocks = blocks, .tasks = tasks};
    GNN_TRY(gnn_mem_alloc(world, "agnes bucket rows", agnes_bucket_bytes(blocks, tasks, 0), GNN_MEM_PLAIN, &out->memory,
                          err));
    out->row_begin = out->memory;
    out->cursor = out->row_begin + blocks + 1;
    out->needed = (uint32_t *)(out->cursor + (uint64_t)tasks * blocks);
    return GNN_OK;
}

void agnes_bucket_close(struct agnes_bucket *bucket)
{
    if (bucket->world == NULL)
        return;
    gnn_mem_free(bucket->world, bucket->entries);
    gnn_mem_free(bucket->world, bucket->memory);
}

void agnes_bucket_begin(struct agnes_bucket *bucket)
{
    bucket->built_entries = 0;
    atomic_store(&bucket->built_ns, 0);
}

void agnes_bucket_counters(const struct agnes_bucket *bucket, uint64_t *built_entries, uint64_t *built_ns)
{
    *built_entries = bucket->built_entries;
    *built_ns = atomic_load(&bucket->built_ns);
}

/* gnn_each_fn: task t, its part of the mini-batches. Advances its cursor of a block by one at each entry: the first
 * walk counts entries, the second one writes each where the cursor stood. */
static enum gnn_status walk_part(void *ctx, uint32_t worker, uint64_t t, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    struct agnes_bucket *const bucket = ctx;
    uint64_t *const cursor = bucket->cursor + t * bucket->blocks, start_ns = gnn_now_ns(bucket->world);
    const uint32_t end = (uint32_t)(bucket->batches * (t + 1) / bucket->tasks);
    struct agnes_entry *const entries = bucket->placing ? bucket->entries : NULL;
    uint32_t blocks[GNN_FANOUT_MAX];
    uint64_t walked = 0;
    assert(t < bucket->tasks);
    if (entries == NULL)
        memset(cursor, 0, bucket->blocks * sizeof *cursor);
    for (uint32_t j = (uint32_t)(bucket->batches * t / bucket->tasks); j < end; j++)
        for (uint32_t p = 0; p < bucket->positions[j]; p++) {
            const uint32_t n = bucket->blocks_of(bucket->ctx, j, p, blocks);
            for (uint32_t i = 0; i < n; i++) {
                const uint64_t at = cursor[blocks[i]]++;
                if (entries != NULL)
                    entries[at] = (struct agnes_entry){.batch = j, .position = p};
            }
            walked += n;
        }
    gnn_charge(bucket->world, GNN_WORK_TABLE_ENTRY, walked);
    atomic_fetch_add(&bucket->built_ns, gnn_now_ns(bucket->world) - start_ns);
    return GNN_OK;
}

/* Turns counts into places, block by block, task by task; returns the number of entries. */
static uint64_t lay_rows(struct agnes_bucket *bucket)
{
    uint64_t sum = 0;
    bucket->needed_count = 0;
    for (uint32_t b = 0; b < bucket->blocks; b++) {
        bucket->row_begin[b] = sum;
        for (uint32_t t = 0; t < bucket->tasks; t++) {
            uint64_t *const cursor = &bucket->cursor[(uint64_t)t * bucket->blocks + b];
            const uint64_t here = *cursor;
            *cursor = sum;
            sum += here;
        }
        if (sum > bucket->row_begin[b])
            bucket->needed[bucket->needed_count++] = b;
    }
    bucket->row_begin[bucket->blocks] = sum;
    gnn_charge(bucket->world, GNN_WORK_TABLE_ENTRY, (uint64_t)bucket->tasks * bucket->blocks);
    return sum;
}

static enum gnn_status reserve_entries(struct agnes_bucket *bucket, uint64_t entries, struct gnn_err *err)
{
    if (entries <= bucket->entry_capacity)
        return GNN_OK;
    gnn_mem_free(bucket->world, bucket->entries);
    bucket->entries = NULL;
    bucket->entry_capacity = 0;
    GNN_MEM_NEW(bucket->world, bucket->entries, entries, "agnes bucket entries", GNN_MEM_PLAIN, err);
    bucket->entry_capacity = entries;
    return GNN_OK;
}

static enum gnn_status walk_all(struct agnes_bucket *bucket, struct gnn_team *team, bool placing, struct gnn_err *err)
{
    bucket->placing = placing;
    if (team != NULL)
        return gnn_team_each(team, bucket->tasks, walk_part, bucket);
    for (uint32_t t = 0; t < bucket->tasks; t++)
        GNN_TRY(walk_part(bucket, 0, t, err));
    return GNN_OK;
}

enum gnn_status agnes_bucket_build(struct agnes_bucket *bucket, struct gnn_team *team, const uint32_t *positions,
                                   uint32_t batches, agnes_blocks_fn *blocks_of, void *ctx, struct gnn_err *err)
{
    bucket->positions = positions;
    bucket->batches = batches;
    bucket->blocks_of = blocks_of;
    bucket->ctx = ctx;
    GNN_TRY(walk_all(bucket, team, false, err));
    const uint64_t start_ns = gnn_now_ns(bucket->world), entries = lay_rows(bucket);
    GNN_TRY(reserve_entries(bucket, entries, err));
    assert(bucket->needed_count <= bucket->blocks);
    assert(bucket->row_begin[bucket->blocks] <= bucket->entry_capacity);
    atomic_fetch_add(&bucket->built_ns, gnn_now_ns(bucket->world) - start_ns);
    GNN_TRY(walk_all(bucket, team, true, err));
    assert(bucket->cursor[(uint64_t)bucket->tasks * bucket->blocks - 1] == entries); /* the last row is full */
    bucket->built_entries += entries;
    return GNN_OK;
}

/* ---- few positions ---- */

/* By block, which stands in place of the mini-batch, then by position. */
static int by_block(const void *a, const void *b)
{
    const struct agnes_entry *const left = a, *const right = b;
    if (left->batch != right->batch)
        return left->batch < right->batch ? -1 : 1;
    return (left->position > right->position) - (left->position < right->position);
}

/* Makes rows of entries that are sorted by block. */
static void cut_rows(struct agnes_bucket *bucket, uint32_t batch, uint64_t entries)
{
    bucket->needed_count = 0;
    for (uint64_t e = 0; e < entries; e++) {
        const uint32_t block = bucket->entries[e].batch;
        if (bucket->needed_count == 0 || bucket->needed[bucket->needed_count - 1] != block) {
            bucket->needed[bucket->needed_count++] = block;
            bucket->row_begin[block] = e;
        }
        bucket->row_begin[block + 1] = e + 1;
        bucket->entries[e].batch = batch;
    }
}

enum gnn_status agnes_bucket_build_few(struct agnes_bucket *bucket, uint32_t batch, const uint32_t *positions,
                                       uint32_t count, agnes_blocks_fn *blocks_of, void *ctx, struct gnn_err *err)
{
    const uint64_t start_ns = gnn_now_ns(bucket->world);
    uint32_t blocks[GNN_FANOUT_MAX];
    uint64_t entries = 0;
    for (uint32_t i = 0; i < count; i++)
        entries += blocks_of(ctx, batch, positions[i], blocks);
    GNN_TRY(reserve_entries(bucket, entries, err));
    entries = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t n = blocks_of(ctx, batch, positions[i], blocks);
        for (uint32_t b = 0; b < n; b++)
            bucket->entries[entries++] = (struct agnes_entry){.batch = blocks[b], .position = positions[i]};
    }
    assert(entries <= bucket->entry_capacity);
    qsort(bucket->entries, entries, sizeof *bucket->entries, by_block);
    cut_rows(bucket, batch, entries);
    gnn_charge(bucket->world, GNN_WORK_TABLE_ENTRY, entries);
    gnn_charge(bucket->world, GNN_WORK_SORTED_KEY, entries);
    bucket->built_entries += entries;
    atomic_fetch_add(&bucket->built_ns, gnn_now_ns(bucket->world) - start_ns);
    return GNN_OK;
}
