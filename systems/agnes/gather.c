/* SPDX-License-Identifier: MIT */
#include "systems/agnes/stages.h"

#include "systems/agnes/bucket.h"
#include "systems/agnes/rows.h"

struct agnes_gathering {
    const struct agnes_setup *setup;
    struct gnn_team *team;
    struct agnes_block_reader *reader;
    struct agnes_bucket bucket;
    atomic_uint_fast64_t cached_rows;
    uint64_t needed_rows; /* the driver's */

    /* of the hyperbatch being gathered: workers may look at it after the driver has left on a failure */
    const struct agnes_hyperbatch *hyperbatch;
    struct agnes_row_set rows;
    atomic_uint_fast64_t spilled_rows;
    struct gnn_buffer served; /* (sum |V_j|) bytes, with visits=target: 1 once the row of a position was served */
};

/* ---- open, close ---- */

enum gnn_status agnes_gathering_open(const struct agnes_setup *setup, struct gnn_team *team,
                                     struct agnes_gathering **out, struct gnn_err *err)
{
    const struct agnes_sizes *const sizes = &setup->sizes;
    struct agnes_gathering *gathering;
    GNN_NEW(gathering, 1, err, "agnes gathering");
    *out = gathering;
    gathering->setup = setup;
    gathering->team = team;
    gathering->served.name = "agnes served rows";
    GNN_TRY(
        agnes_bucket_open(setup->env->world, sizes->feature_blocks, setup->config->workers, &gathering->bucket, err));
    const struct agnes_block_reader_config reader = {.team = team,
                                                     .file = setup->files.features,
                                                     .depth = setup->config->depth,
                                                     .resident_first = true,
                                                     .buffer = {.name = "agnes feature blocks",
                                                                .frames = sizes->pool_frames + sizes->kept_frames,
                                                                .blocks = sizes->feature_blocks,
                                                                .block_bytes = sizes->block_bytes,
                                                                .mem_flags = GNN_MEM_FEATURES}};
    return agnes_block_reader_open(setup->env, &reader, &gathering->reader, err);
}

void agnes_gathering_close(struct agnes_gathering *gathering)
{
    if (gathering == NULL)
        return;
    agnes_block_reader_close(gathering->reader);
    agnes_bucket_close(&gathering->bucket);
    gnn_buffer_close(gathering->setup->env->world, &gathering->served);
    free(gathering);
}

void agnes_gathering_begin(struct agnes_gathering *gathering)
{
    agnes_block_reader_begin(gathering->reader);
    agnes_bucket_begin(&gathering->bucket);
    atomic_store(&gathering->cached_rows, 0);
    gathering->needed_rows = 0;
}

void agnes_gathering_counters(const struct agnes_gathering *gathering, struct agnes_stage_counters *out,
                              uint64_t *needed_rows, uint64_t *cached_rows)
{
    agnes_block_reader_counters(gathering->reader, &out->blocks);
    agnes_bucket_counters(&gathering->bucket, &out->bucket_entries, &out->bucket_ns);
    *needed_rows = gathering->needed_rows;
    *cached_rows = atomic_load(&gathering->cached_rows);
}

/* ---- one block ---- */

/* gnn_each_fn: mini-batch j. */
static enum gnn_status count_nodes(void *ctx, uint32_t worker, uint64_t j, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    const struct agnes_gathering *const gathering = ctx;
    const struct agnes_batch *const batch = &gathering->hyperbatch->batches[j];
    agnes_feature_cache_count(gathering->rows.cache, batch->nodes, batch->count);
    return GNN_OK;
}

/* agnes_blocks_fn */
static uint32_t feature_block_of(void *ctx, uint32_t j, uint32_t position, uint32_t *out)
{
    const struct agnes_gathering *const gathering = ctx;
    out[0] = gathering->hyperbatch->batches[j].nodes[position] / gathering->setup->sizes.rows;
    return 1;
}

/* Returns whether an earlier target had the row of the entry already. Only with visits=target. */
static bool served_before(const struct agnes_gathering *gathering, const struct agnes_entry *entry)
{
    if (!agnes_by_target(gathering->setup))
        return false;
    unsigned char *const served =
        (unsigned char *)gathering->served.data + gathering->hyperbatch->base[entry->batch] + entry->position;
    const bool before = *served != 0;
    *served = 1;
    return before;
}

/* Serves entries [e, end) of one mini-batch from the rows of a block, the first of which is node `first`. Only this
 * worker has nodes of the block. */
static enum gnn_status serve_batch(struct agnes_gathering *gathering, agnes_node first, const unsigned char *memory,
                                   uint64_t e, uint64_t end, struct gnn_err *err)
{
    const struct agnes_entry *const entries = gathering->bucket.entries;
    const uint32_t j = entries[e].batch, row_bytes = gathering->setup->env->dataset->row_bytes;
    const agnes_node *const nodes = gathering->hyperbatch->batches[j].nodes;
    const struct agnes_row_set *const rows = &gathering->rows;
    uint64_t spilled = 0, cached = 0, again = 0;
    enum gnn_status status = GNN_OK;
    agnes_spill_lock(rows->spill, j);
    for (; status == GNN_OK && e < end; e++) {
        const agnes_node v = nodes[entries[e].position];
        const void *const row = memory + (uint64_t)(v - first) * row_bytes;
        if (served_before(gathering, &entries[e])) {
            again++;
            continue;
        }
        if (agnes_feature_cache_put(rows->cache, v, row, &cached))
            continue;
        status = agnes_spill_add(rows->spill, j, entries[e].position, row, err);
        spilled++;
    }
    agnes_spill_unlock(rows->spill, j);
    gnn_charge(gathering->setup->env->world, GNN_WORK_COPIED_BYTE, again * row_bytes); /* to another target's rows */
    atomic_fetch_add_explicit(&gathering->cached_rows, cached, memory_order_relaxed);
    atomic_fetch_add_explicit(&gathering->spilled_rows, spilled, memory_order_relaxed);
    return status;
}

/* agnes_serve_fn: every entry of the block's row. */
static enum gnn_status serve_block(void *ctx, uint32_t worker, uint32_t block, const void *memory, struct gnn_err *err)
{
    (void)worker;
    struct agnes_gathering *const gathering = ctx;
    const struct agnes_bucket *const bucket = &gathering->bucket;
    const uint64_t row_end = bucket->row_begin[block + 1];
    for (uint64_t e = bucket->row_begin[block], end; e < row_end; e = end) {
        for (end = e + 1; end < row_end && bucket->entries[end].batch == bucket->entries[e].batch;)
            end++;
        GNN_TRY(serve_batch(gathering, block * gathering->setup->sizes.rows, memory, e, end, err));
    }
    return GNN_OK;
}

/* ---- a hyperbatch ---- */

/* Serves the rows of each target in turn. */
static enum gnn_status visit_by_target(struct agnes_gathering *gathering, struct gnn_err *err)
{
    const struct agnes_targets *const targets = &gathering->hyperbatch->targets;
    struct agnes_bucket *const bucket = &gathering->bucket;
    for (uint64_t t = 0; t < targets->count; t++) {
        const struct agnes_target *const target = agnes_targets_at(targets, t);
        GNN_TRY(agnes_bucket_build_few(bucket, target->batch, agnes_targets_positions(targets, t), target->count,
                                       feature_block_of, gathering, err));
        GNN_TRY(agnes_block_reader_serve(gathering->reader, bucket->needed, bucket->needed_count, serve_block,
                                         gathering, err));
    }
    return GNN_OK;
}

/* Serves all rows of all mini-batches, block by block. */
static enum gnn_status visit_blocks(struct agnes_gathering *gathering, struct gnn_err *err)
{
    const struct agnes_bucket *const bucket = &gathering->bucket;
    return agnes_block_reader_serve(gathering->reader, bucket->needed, bucket->needed_count, serve_block, gathering,
                                    err);
}

static enum gnn_status clear_served(struct agnes_gathering *gathering, struct gnn_err *err)
{
    const struct agnes_hyperbatch *const hyperbatch = gathering->hyperbatch;
    const uint64_t positions = hyperbatch->base[hyperbatch->count];
    GNN_TRY(gnn_buffer_reserve(gathering->setup->env->world, &gathering->served, positions, err));
    memset(gathering->served.data, 0, positions);
    return GNN_OK;
}

enum gnn_status agnes_gathering_run(struct agnes_gathering *gathering, struct agnes_hyperbatch *hyperbatch,
                                    const struct agnes_row_set *rows, uint64_t *spilled_rows, struct gnn_err *err)
{
    gathering->hyperbatch = hyperbatch;
    gathering->rows = *rows;
    atomic_store(&gathering->spilled_rows, 0);
    agnes_hyperbatch_lay(hyperbatch);
    agnes_feature_cache_clear(rows->cache);
    GNN_TRY(agnes_spill_begin(rows->spill, hyperbatch, err));
    GNN_TRY(gnn_team_each(gathering->team, hyperbatch->count, count_nodes, gathering));
    uint64_t needed;
    GNN_TRY(agnes_feature_cache_place(rows->cache, &needed, err));
    gathering->needed_rows += needed;
    const bool by_target = agnes_by_target(gathering->setup);
    if (by_target)
        GNN_TRY(clear_served(gathering, err));
    else
        GNN_TRY(agnes_bucket_build(&gathering->bucket, gathering->team, hyperbatch->positions, hyperbatch->count,
                                   feature_block_of, gathering, err));
    agnes_block_reader_forget(gathering->reader); /* nothing is worth keeping for the next hyperbatch */
    GNN_TRY(gnn_check_stop(gathering->setup->env, err));
    gnn_env_range(gathering->setup->env, "read");
    const enum gnn_status status = by_target ? visit_by_target(gathering, err) : visit_blocks(gathering, err);
    gnn_env_range(gathering->setup->env, NULL);
    GNN_TRY(status);
    *spilled_rows += atomic_load(&gathering->spilled_rows);
    return agnes_spill_finish(rows->spill);
}
