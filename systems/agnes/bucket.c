#include "systems/agnes/bucket.h"

#include <assert.h>
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
    bucket->entries = NULL;
    bucket->memory = NULL;
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

/* Advances task t's cursors by one at each entry of its mini-batches and, unless entries is NULL, writes the entry
 * where the cursor stood. So the same walk counts and places. */
static void walk_entries(struct agnes_bucket *bucket, uint64_t t, struct agnes_entry *entries)
{
    uint64_t *const cursor = bucket->cursor + t * bucket->blocks;
    const uint32_t first = (uint32_t)(bucket->batches * t / bucket->tasks);
    const uint32_t end = (uint32_t)(bucket->batches * (t + 1) / bucket->tasks);
    uint32_t blocks[GNN_FANOUT_MAX];
    uint64_t walked = 0;
    for (uint32_t j = first; j < end; j++)
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
}

static enum gnn_status count_part(void *ctx, uint32_t worker, uint64_t t, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    struct agnes_bucket *const bucket = ctx;
    const uint64_t start_ns = gnn_now_ns(bucket->world);
    assert(t < bucket->tasks);
    memset(bucket->cursor + t * bucket->blocks, 0, bucket->blocks * sizeof *bucket->cursor);
    walk_entries(bucket, t, NULL);
    atomic_fetch_add(&bucket->built_ns, gnn_now_ns(bucket->world) - start_ns);
    return GNN_OK;
}

static enum gnn_status place_part(void *ctx, uint32_t worker, uint64_t t, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    struct agnes_bucket *const bucket = ctx;
    const uint64_t start_ns = gnn_now_ns(bucket->world);
    assert(t < bucket->tasks);
    walk_entries(bucket, t, bucket->entries);
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

static enum gnn_status for_all_parts(struct agnes_bucket *bucket, struct gnn_team *team, gnn_each_fn *each,
                                     struct gnn_err *err)
{
    if (team != NULL)
        return gnn_team_each(team, bucket->tasks, each, bucket);
    for (uint32_t t = 0; t < bucket->tasks; t++)
        GNN_TRY(each(bucket, 0, t, err));
    return GNN_OK;
}

/* Checks that every task placed its entries up to where the next one's, or the next row's, begin. */
static bool rows_are_full(const struct agnes_bucket *bucket)
{
    const uint64_t *const last = bucket->cursor + (uint64_t)(bucket->tasks - 1) * bucket->blocks;
    for (uint32_t b = 0; b < bucket->blocks; b++)
        if (last[b] != bucket->row_begin[b + 1])
            return false;
    return true;
}

enum gnn_status agnes_bucket_build(struct agnes_bucket *bucket, struct gnn_team *team, const uint32_t *positions,
                                   uint32_t batches, agnes_blocks_fn *blocks_of, void *ctx, struct gnn_err *err)
{
    bucket->positions = positions;
    bucket->batches = batches;
    bucket->blocks_of = blocks_of;
    bucket->ctx = ctx;
    GNN_TRY(for_all_parts(bucket, team, count_part, err));
    const uint64_t start_ns = gnn_now_ns(bucket->world), entries = lay_rows(bucket);
    GNN_TRY(reserve_entries(bucket, entries, err));
    assert(bucket->needed_count <= bucket->blocks);
    assert(bucket->row_begin[bucket->blocks] <= bucket->entry_capacity);
    atomic_fetch_add(&bucket->built_ns, gnn_now_ns(bucket->world) - start_ns);
    GNN_TRY(for_all_parts(bucket, team, place_part, err));
    assert(rows_are_full(bucket));
    bucket->built_entries += entries;
    return GNN_OK;
}
