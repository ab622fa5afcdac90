#include "systems/agnes/bucket.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

uint64_t agnes_bucket_bytes(uint64_t blocks, uint64_t tasks, uint64_t entries)
{
    return (blocks + 1) * sizeof(uint64_t) + tasks * blocks * sizeof(uint64_t) + blocks * sizeof(uint32_t) +
           gnn_mul_bytes(entries, sizeof(struct agnes_entry));
}

enum gnn_status agnes_bucket_open(struct gnn_world *world, uint32_t blocks, uint32_t tasks, struct agnes_bucket *out,
                                  struct gnn_err *err)
{
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
    bucket->entries = NULL;
    bucket->memory = NULL;
}

/* Mini-batches of task t: first .. end. */
static void part_of(const struct agnes_bucket *bucket, uint32_t t, uint32_t *first, uint32_t *end)
{
    *first = (uint32_t)((uint64_t)bucket->batches * t / bucket->tasks);
    *end = (uint32_t)((uint64_t)bucket->batches * (t + 1) / bucket->tasks);
}

static enum gnn_status count_part(void *ctx, uint32_t worker, uint64_t t, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    const struct agnes_bucket *const bucket = ctx;
    uint64_t *const count = bucket->cursor + t * bucket->blocks, start_ns = gnn_now_ns(bucket->world);
    uint32_t first, end, blocks[GNN_FANOUT_MAX];
    uint64_t entries = 0;
    memset(count, 0, bucket->blocks * sizeof *count);
    part_of(bucket, (uint32_t)t, &first, &end);
    for (uint32_t j = first; j < end; j++)
        for (uint32_t p = 0; p < bucket->counts[j]; p++) {
            const uint32_t n = bucket->blocks_of(bucket->ctx, j, p, blocks);
            for (uint32_t i = 0; i < n; i++)
                count[blocks[i]]++;
            entries += n;
        }
    gnn_charge(bucket->world, GNN_WORK_TABLE_ENTRY, entries);
    __atomic_fetch_add(&((struct agnes_bucket *)ctx)->built_ns, gnn_now_ns(bucket->world) - start_ns, __ATOMIC_RELAXED);
    return GNN_OK;
}

static enum gnn_status place_part(void *ctx, uint32_t worker, uint64_t t, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    const struct agnes_bucket *const bucket = ctx;
    uint64_t *const cursor = bucket->cursor + t * bucket->blocks, start_ns = gnn_now_ns(bucket->world);
    uint32_t first, end, blocks[GNN_FANOUT_MAX];
    uint64_t entries = 0;
    part_of(bucket, (uint32_t)t, &first, &end);
    for (uint32_t j = first; j < end; j++)
        for (uint32_t p = 0; p < bucket->counts[j]; p++) {
            const uint32_t n = bucket->blocks_of(bucket->ctx, j, p, blocks);
            for (uint32_t i = 0; i < n; i++)
                bucket->entries[cursor[blocks[i]]++] = (struct agnes_entry){.batch = j, .position = p};
            entries += n;
        }
    gnn_charge(bucket->world, GNN_WORK_TABLE_ENTRY, entries);
    __atomic_fetch_add(&((struct agnes_bucket *)ctx)->built_ns, gnn_now_ns(bucket->world) - start_ns, __ATOMIC_RELAXED);
    return GNN_OK;
}

/* Counts become places: block by block, task by task. */
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

static enum gnn_status reserve(struct agnes_bucket *bucket, uint64_t entries, struct gnn_err *err)
{
    if (entries <= bucket->entry_capacity)
        return GNN_OK;
    gnn_mem_free(bucket->world, bucket->entries);
    bucket->entries = NULL;
    bucket->entry_capacity = 0;
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(bucket->world, "agnes bucket entries", gnn_mul_bytes(entries, sizeof *bucket->entries),
                          GNN_MEM_PLAIN, &memory, err));
    bucket->entries = memory;
    bucket->entry_capacity = entries;
    return GNN_OK;
}

static enum gnn_status for_all_parts(struct agnes_bucket *bucket, struct gnn_team *team, gnn_each_fn *each,
                                     struct gnn_err *err)
{
    if (team != NULL)
        return gnn_team_each(team, bucket->tasks, each, bucket);
    for (uint32_t t = 0; t < bucket->tasks; t++)
        GNN_TRY(each(bucket, 0, t, err));
    return GNN_OK;
}

enum gnn_status agnes_bucket_build(struct agnes_bucket *bucket, struct gnn_team *team, const uint32_t *counts,
                                   uint32_t batches, agnes_blocks_fn *blocks_of, void *ctx, struct gnn_err *err)
{
    bucket->counts = counts;
    bucket->batches = batches;
    bucket->blocks_of = blocks_of;
    bucket->ctx = ctx;
    GNN_TRY(for_all_parts(bucket, team, count_part, err));
    const uint64_t start_ns = gnn_now_ns(bucket->world), entries = lay_rows(bucket);
    GNN_TRY(reserve(bucket, entries, err));
    bucket->built_ns += gnn_now_ns(bucket->world) - start_ns;
    GNN_TRY(for_all_parts(bucket, team, place_part, err));
    bucket->built_entries += entries;
    return GNN_OK;
}
