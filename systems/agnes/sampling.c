/* SPDX-License-Identifier: MIT */
#include "systems/agnes/stages.h"

#include "harness/base/arena.h"
#include "harness/base/id_map.h"
#include "harness/sample/batch.h"
#include "harness/sample/digest.h"
#include "harness/sample/draw.h"
#include "harness/sample/sort_row.h"
#include "harness/system/buffer.h"
#include "systems/agnes/bucket.h"

#include <inttypes.h>

_Static_assert(GNN_FANOUT_MAX <= UINT8_MAX, "drawn_counts holds a byte for each node");

struct workspace {       /* what one worker owns */
    agnes_node *nodes;   /* (node bound) the next F_j in the making */
    uint32_t *row_start; /* (node bound + 1) */
    struct gnn_id_map map;
    uint32_t *marks, stamp; /* (node bound) with visits=target: agnes_targets_grow */
    void *memory;
    struct gnn_sample_counters counters;
};

struct agnes_sampling {
    const struct agnes_setup *setup;
    const struct gnn_env *env;
    struct gnn_team *team;
    struct agnes_block_reader *reader;
    struct agnes_bucket bucket;
    struct workspace *workspaces; /* (W) */
    uint64_t node_bound;          /* of a mini-batch */
    uint64_t sample_key;

    /* of the hop being sampled: workers may look at it after the driver has left on a failure */
    struct agnes_hyperbatch *hyperbatch;
    uint32_t hop, fanout;           /* hops count from 1 */
    struct gnn_buffer drawn;        /* (sum |F_j|, fanout) agnes_node: drawn neighbours; see drawn_of */
    struct gnn_buffer drawn_counts; /* (sum |F_j|) bytes: how many were drawn */
};

/* ---- open, close ---- */

static void carve_workspace(struct workspace *space, uint64_t bound, uint64_t marks, struct gnn_arena *arena,
                            void **map)
{
    space->nodes = gnn_arena_take(arena, bound * sizeof *space->nodes);
    space->row_start = gnn_arena_take(arena, (bound + 1) * sizeof *space->row_start);
    *map = gnn_arena_take(arena, gnn_id_map_sized_slots(bound) * sizeof(struct gnn_id_slot));
    space->marks = gnn_arena_take(arena, marks * sizeof *space->marks);
}

static enum gnn_status open_workspace(struct gnn_world *world, struct workspace *space, uint64_t bound, uint64_t marks,
                                      struct gnn_err *err)
{
    struct gnn_arena arena = {0};
    void *map;
    carve_workspace(space, bound, marks, &arena, &map); /* counts */
    GNN_TRY(gnn_mem_alloc(world, "agnes sampler's workspace", arena.used_bytes, GNN_MEM_PLAIN, &space->memory, err));
    arena = (struct gnn_arena){.memory = space->memory, .size_bytes = arena.used_bytes};
    carve_workspace(space, bound, marks, &arena, &map);
    if (marks > 0)
        memset(space->marks, 0, marks * sizeof *space->marks);
    gnn_id_map_init_sized(&space->map, map, gnn_id_map_sized_slots(bound));
    return GNN_OK;
}

enum gnn_status agnes_sampling_open(const struct agnes_setup *setup, struct gnn_team *team, struct agnes_sampling **out,
                                    struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    const struct gnn_workload *const load = env->workload;
    const uint32_t workers = setup->config->workers;
    struct agnes_sampling *sampling;
    struct gnn_sample_bounds bounds;
    GNN_NEW(sampling, 1, err, "agnes sampling");
    *out = sampling;
    *sampling = (struct agnes_sampling){.setup = setup,
                                        .env = env,
                                        .team = team,
                                        .sample_key = gnn_rng_fork(load->seed, "sample"),
                                        .drawn = {.name = "agnes drawn neighbours"},
                                        .drawn_counts = {.name = "agnes draws of each node"}};
    GNN_TRY(gnn_sample_bounds(env->dataset, gnn_min_u32(load->batch_size, env->dataset->train.count), load->fanout,
                              load->layers, &bounds, err));
    sampling->node_bound = bounds.nodes[load->layers];
    GNN_TRY(agnes_bucket_open(env->world, setup->sizes.graph_blocks, workers, &sampling->bucket, err));
    GNN_NEW(sampling->workspaces, workers, err, "agnes: %" PRIu32 " sampling workers", workers);
    for (uint32_t w = 0; w < workers; w++)
        GNN_TRY(open_workspace(env->world, &sampling->workspaces[w], sampling->node_bound,
                               agnes_by_target(setup) ? sampling->node_bound : 0, err));
    const struct agnes_block_reader_config reader = {.team = team,
                                                     .file = setup->files.graph,
                                                     .depth = setup->config->depth,
                                                     .resident_first = setup->config->resident_first,
                                                     .buffer = {.name = "agnes graph buffer",
                                                                .frames = setup->sizes.graph_frames,
                                                                .blocks = setup->sizes.graph_blocks,
                                                                .block_bytes = setup->sizes.block_bytes,
                                                                .policy = setup->config->policy}};
    return agnes_block_reader_open(env, &reader, &sampling->reader, err);
}

void agnes_sampling_close(struct agnes_sampling *sampling)
{
    if (sampling == NULL)
        return;
    struct gnn_world *const world = sampling->env->world;
    agnes_block_reader_close(sampling->reader);
    agnes_bucket_close(&sampling->bucket);
    for (uint32_t w = 0; sampling->workspaces != NULL && w < sampling->setup->config->workers; w++)
        gnn_mem_free(world, sampling->workspaces[w].memory);
    free(sampling->workspaces);
    gnn_buffer_close(world, &sampling->drawn);
    gnn_buffer_close(world, &sampling->drawn_counts);
    free(sampling);
}

void agnes_sampling_begin(struct agnes_sampling *sampling)
{
    agnes_block_reader_begin(sampling->reader);
    agnes_bucket_begin(&sampling->bucket);
}

void agnes_sampling_counters(const struct agnes_sampling *sampling, struct agnes_stage_counters *out)
{
    agnes_block_reader_counters(sampling->reader, &out->blocks);
    agnes_bucket_counters(&sampling->bucket, &out->bucket_entries, &out->bucket_ns);
}

/* ---- draws ---- */

static uint64_t draw_key(const struct agnes_sampling *sampling, uint32_t j)
{
    const struct agnes_hyperbatch *const hyperbatch = sampling->hyperbatch;
    return gnn_draw_hop_key(sampling->sample_key, hyperbatch->epoch, hyperbatch->batches[j].number, sampling->hop);
}

static gnn_node to_old(const struct agnes_sampling *sampling, agnes_node v)
{
    return agnes_to_old(sampling->setup->files.new_to_old, v);
}

/* Draws positions of the list of a large object, ascending, into out (fanout); returns how many. begin: its first
 * block. */
static uint32_t draw_run(const struct agnes_sampling *sampling, uint32_t j, agnes_node v, uint32_t begin, uint64_t *out)
{
    uint32_t end;
    const uint64_t degree = agnes_index_run(&sampling->setup->files.index, begin, &end);
    const uint64_t key = gnn_rng_fold(draw_key(sampling, j), to_old(sampling, v));
    return gnn_draw(key, 0, degree, sampling->fanout, sampling->env->floyd_biased, out);
}

/* agnes_blocks_fn */
static uint32_t graph_blocks_of(void *ctx, uint32_t j, uint32_t position, uint32_t *out)
{
    const struct agnes_sampling *const sampling = ctx;
    const struct agnes_index *const index = &sampling->setup->files.index;
    const agnes_node v = sampling->hyperbatch->batches[j].nodes[position];
    const uint32_t begin = agnes_index_find(index, v);
    if (!agnes_index_is_run(index, begin)) {
        out[0] = begin;
        return 1;
    }
    uint64_t drawn[GNN_FANOUT_MAX];
    const uint32_t n = draw_run(sampling, j, v, begin, drawn);
    const uint32_t run_ids = agnes_run_ids(index->block_bytes, index->id_bytes);
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t block = begin + (uint32_t)(drawn[i] / run_ids);
        if (blocks == 0 || out[blocks - 1] != block)
            out[blocks++] = block;
    }
    return blocks;
}

/* ---- one block ---- */

struct served_block {
    const struct agnes_sampling *sampling;
    uint32_t number;
    agnes_node first;
    const unsigned char *memory;
};

static enum gnn_status bad_slot(const struct served_block *block, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT,
                    "%s/graph: a list in block %" PRIu32
                    " crosses the end of the block, the file is damaged; remove the directory to prepare it again",
                    block->sampling->setup->files.prepared.dir, block->number);
}

/* Draws from the list of a node of a normal block, all of which is here, into out (fanout); *count of them.
 * GNN_EFORMAT: the list does not lie inside the block. */
static enum gnn_status serve_node(const struct served_block *block, uint64_t hop_key, agnes_node v, agnes_node *out,
                                  uint8_t *count, struct gnn_err *err)
{
    const struct agnes_sampling *const sampling = block->sampling;
    const struct agnes_index *const index = &sampling->setup->files.index;
    const struct agnes_slot slot = agnes_block_slot(block->memory, index->block_bytes, v - block->first);
    if (!agnes_slot_fits(index, slot))
        return bad_slot(block, err);
    uint64_t drawn[GNN_FANOUT_MAX];
    const uint32_t n = gnn_draw(gnn_rng_fold(hop_key, to_old(sampling, v)), 0, (uint64_t)slot.count, sampling->fanout,
                                sampling->env->floyd_biased, drawn);
    for (uint32_t i = 0; i < n; i++)
        out[i] = agnes_block_id(block->memory, index->id_bytes, (uint64_t)slot.offset_bytes, drawn[i]);
    *count = (uint8_t)n;
    return GNN_OK;
}

/* Serves those drawn positions of a large object that lie in this block of its run; returns how many. The block with
 * the first position sets *count, which is over all of the run. */
static uint32_t serve_piece(const struct served_block *block, uint32_t j, agnes_node v, agnes_node *out, uint8_t *count)
{
    const struct agnes_index *const index = &block->sampling->setup->files.index;
    const uint32_t begin = agnes_index_find(index, v);
    const uint32_t run_ids = agnes_run_ids(index->block_bytes, index->id_bytes);
    assert(begin <= block->number);
    const uint64_t low = (uint64_t)(block->number - begin) * run_ids;
    uint64_t drawn[GNN_FANOUT_MAX];
    const uint32_t n = draw_run(block->sampling, j, v, begin, drawn);
    uint32_t served = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (drawn[i] < low || drawn[i] >= low + run_ids)
            continue;
        out[i] = agnes_block_id(block->memory, index->id_bytes, 0, drawn[i] - low);
        if (i == 0)
            *count = (uint8_t)n;
        served++;
    }
    return served;
}

/* agnes_serve_fn: every entry of the block's row. */
static enum gnn_status serve_block(void *ctx, uint32_t worker, uint32_t number, const void *memory, struct gnn_err *err)
{
    (void)worker;
    const struct agnes_sampling *const sampling = ctx;
    const struct agnes_index *const index = &sampling->setup->files.index;
    const struct agnes_bucket *const bucket = &sampling->bucket;
    const struct served_block block = {
        .sampling = sampling, .number = number, .first = index->ranges[number].first, .memory = memory};
    const bool run = agnes_index_is_run(index, number);
    uint64_t edges = 0, key = 0;
    uint32_t keyed = UINT32_MAX; /* the mini-batch whose key it is */
    GNN_TRY(agnes_block_check(index, number, memory, sampling->setup->files.prepared.dir, err));
    for (uint64_t e = bucket->row_begin[number]; e < bucket->row_begin[number + 1]; e++) {
        const struct agnes_entry *const entry = &bucket->entries[e];
        const agnes_node v = sampling->hyperbatch->batches[entry->batch].nodes[entry->position];
        const uint64_t at = sampling->hyperbatch->base[entry->batch] + entry->position;
        agnes_node *const out = (agnes_node *)sampling->drawn.data + at * sampling->fanout;
        uint8_t *const count = (uint8_t *)sampling->drawn_counts.data + at;
        if (run) {
            edges += serve_piece(&block, entry->batch, v, out, count);
            continue;
        }
        if (entry->batch != keyed)
            key = draw_key(sampling, entry->batch);
        keyed = entry->batch;
        GNN_TRY(serve_node(&block, key, v, out, count, err));
        edges += *count;
    }
    gnn_charge(sampling->env->world, GNN_WORK_SAMPLED_EDGE, edges);
    return GNN_OK;
}

/* ---- one mini-batch ---- */

static enum gnn_status add_known(const struct agnes_sampling *sampling, const struct agnes_batch *batch,
                                 struct workspace *space, struct gnn_err *err)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        space->nodes[i] = batch->nodes[i];
        if (gnn_id_map_add(&space->map, batch->nodes[i]) != i)
            return gnn_dataset_damaged(sampling->env->dataset, err, "seed %" PRIu32 " occurs twice in one mini-batch",
                                       batch->nodes[i]);
    }
    return GNN_OK;
}

/* Returns what was drawn for mini-batch j: (count, fanout), then packed local IDs, then the nodes they added. */
static agnes_node *drawn_of(const struct agnes_sampling *sampling, uint64_t j)
{
    return (agnes_node *)sampling->drawn.data + sampling->hyperbatch->base[j] * sampling->fanout;
}

/* Gives the rows of mini-batch j local IDs, in place and packed: `col` never passes a row that is still to be read. */
static enum gnn_status number_rows(const struct agnes_sampling *sampling, uint64_t j, struct workspace *space,
                                   struct gnn_err *err)
{
    const struct agnes_batch *const batch = &sampling->hyperbatch->batches[j];
    const uint32_t layer = sampling->env->workload->layers - sampling->hop, nodes = sampling->env->dataset->node_count;
    const uint64_t layer_key = gnn_digest_layer_key(sampling->hyperbatch->epoch, batch->number, layer),
                   base = sampling->hyperbatch->base[j];
    const uint8_t *const counts = (const uint8_t *)sampling->drawn_counts.data + base;
    uint32_t *const col = drawn_of(sampling, j);
    uint64_t digest = 0;
    uint32_t edges = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        const agnes_node *const row = col + (uint64_t)i * sampling->fanout;
        const uint64_t row_key = gnn_digest_row_key(layer_key, to_old(sampling, batch->nodes[i]));
        const uint32_t begin = edges;
        space->row_start[i] = begin;
        if (counts[i] == 0)
            digest += gnn_digest_lonely(row_key);
        for (uint32_t k = 0; k < counts[i]; k++) {
            const agnes_node v = row[k];
            if (v >= nodes)
                return gnn_fail(err, GNN_EFORMAT,
                                "%s/graph: neighbour %" PRIu32 " is not below the number of nodes, %" PRIu32
                                ", the file is damaged; remove the directory to prepare it again",
                                sampling->setup->files.prepared.dir, v, nodes);
            const uint32_t fresh = space->map.count, local = gnn_id_map_add(&space->map, v);
            if (local == fresh)
                space->nodes[local] = v;
            digest += gnn_digest_edge(row_key, to_old(sampling, v));
            col[edges++] = local;
        }
        gnn_sort_row(col + begin, edges - begin, (uint64_t)batch->count * sampling->fanout - begin);
    }
    space->row_start[batch->count] = edges;
    gnn_count_digest(&space->counters, batch->number, digest);
    return GNN_OK;
}

static enum gnn_status spool(struct gnn_stream *stream, struct agnes_record *record, const uint32_t *row_start,
                             const uint32_t *col, struct gnn_err *err)
{
    record->stream = stream;
    GNN_TRY(gnn_stream_begin(stream, &record->offset_bytes, err));
    GNN_TRY(gnn_stream_append(stream, row_start, (record->dst_count + UINT64_C(1)) * sizeof *row_start, err));
    return gnn_stream_append(stream, col, record->edge_count * (uint64_t)sizeof *col, err);
}

/* gnn_each_fn: mini-batch j. */
static enum gnn_status localise(void *ctx, uint32_t worker, uint64_t j, struct gnn_err *err)
{
    const struct agnes_sampling *const sampling = ctx;
    struct gnn_world *const world = sampling->env->world;
    struct workspace *const space = &sampling->workspaces[worker];
    struct agnes_batch *const batch = &sampling->hyperbatch->batches[j];
    const uint64_t bound =
        gnn_min_u64(batch->count * (UINT64_C(1) + sampling->fanout), sampling->env->dataset->node_count);
    assert(bound <= sampling->node_bound);
    gnn_id_map_resize(&space->map, bound);
    assert(space->map.capacity >= bound);
    GNN_TRY(add_known(sampling, batch, space, err));
    GNN_TRY(number_rows(sampling, j, space, err));
    struct agnes_record *const record = &batch->records[sampling->hop - 1];
    *record = (struct agnes_record){
        .dst_count = batch->count, .edge_count = space->row_start[batch->count], .src_count = space->map.count};
    gnn_charge(world, GNN_WORK_HASHED_ID, batch->count + (uint64_t)record->edge_count);
    gnn_charge(world, GNN_WORK_SORTED_KEY, record->edge_count);
    agnes_node *const drawn = drawn_of(sampling, j);
    if (agnes_by_target(sampling->setup)) {
        const uint64_t looked = agnes_targets_grow(&sampling->hyperbatch->targets, batch->first_target,
                                                   batch->first_target + batch->seed_count, space->row_start, drawn,
                                                   space->marks, &space->stamp);
        gnn_charge(world, GNN_WORK_HASHED_ID, looked);
    }
    struct gnn_stream *const stream = sampling->hyperbatch->streams[worker];
    if (stream != NULL)
        GNN_TRY(spool(stream, record, space->row_start, drawn, err));
    const uint64_t fresh = space->map.count - batch->count;
    assert(fresh <= batch->count * (uint64_t)sampling->fanout);
    memcpy(drawn, space->nodes + batch->count, fresh * sizeof *drawn); /* the rows are digested and spooled */
    gnn_charge(world, GNN_WORK_COPIED_BYTE, fresh * sizeof *drawn);
    space->counters.sampled_edges += record->edge_count;
    if (sampling->hop == sampling->env->workload->layers) {
        space->counters.batches++;
        space->counters.sampled_nodes += space->map.count;
    }
    return GNN_OK;
}

/* gnn_each_fn: the list of mini-batch j becomes that of the next hop. */
static enum gnn_status grow_list(void *ctx, uint32_t worker, uint64_t j, struct gnn_err *err)
{
    (void)worker;
    (void)err;
    const struct agnes_sampling *const sampling = ctx;
    struct agnes_batch *const batch = &sampling->hyperbatch->batches[j];
    agnes_batch_grow(batch, sampling->hop, drawn_of(sampling, j));
    gnn_charge(sampling->env->world, GNN_WORK_COPIED_BYTE, batch->count * (uint64_t)sizeof *batch->nodes);
    return GNN_OK;
}

/* ---- a hyperbatch ---- */

/* Draws for the nodes of each target in turn. A node of several targets is drawn again, with the same result. */
static enum gnn_status visit_by_target(struct agnes_sampling *sampling, struct gnn_err *err)
{
    const struct agnes_targets *const targets = &sampling->hyperbatch->targets;
    struct agnes_bucket *const bucket = &sampling->bucket;
    for (uint64_t t = 0; t < targets->count; t++) {
        const struct agnes_target *const target = agnes_targets_at(targets, t);
        GNN_TRY(agnes_bucket_build_few(bucket, target->batch, agnes_targets_positions(targets, t), target->count,
                                       graph_blocks_of, sampling, err));
        GNN_TRY(agnes_block_reader_serve(sampling->reader, bucket->needed, bucket->needed_count, serve_block, sampling,
                                         err));
    }
    return GNN_OK;
}

/* Draws for all nodes of all mini-batches, block by block. */
static enum gnn_status visit_blocks(struct agnes_sampling *sampling, struct gnn_err *err)
{
    const struct agnes_hyperbatch *const hyperbatch = sampling->hyperbatch;
    struct agnes_bucket *const bucket = &sampling->bucket;
    GNN_TRY(agnes_bucket_build(bucket, sampling->team, hyperbatch->positions, hyperbatch->count, graph_blocks_of,
                               sampling, err));
    return agnes_block_reader_serve(sampling->reader, bucket->needed, bucket->needed_count, serve_block, sampling, err);
}

static enum gnn_status sample_hop(struct agnes_sampling *sampling, struct gnn_err *err)
{
    struct agnes_hyperbatch *const hyperbatch = sampling->hyperbatch;
    const bool by_target = agnes_by_target(sampling->setup);
    struct gnn_world *const world = sampling->env->world;
    GNN_TRY(gnn_check_stop(sampling->env, err));
    agnes_hyperbatch_lay(hyperbatch);
    const uint64_t all = hyperbatch->base[hyperbatch->count];
    GNN_TRY(
        gnn_buffer_reserve(world, &sampling->drawn, gnn_mul_bytes(all, sampling->fanout * sizeof(agnes_node)), err));
    GNN_TRY(gnn_buffer_reserve(world, &sampling->drawn_counts, all, err));
    GNN_TRY(by_target ? visit_by_target(sampling, err) : visit_blocks(sampling, err));
    if (by_target)
        GNN_TRY(agnes_targets_reserve(&hyperbatch->targets, sampling->fanout, err));
    GNN_TRY(gnn_team_each(sampling->team, hyperbatch->count, localise, sampling));
    if (by_target)
        agnes_targets_turn(&hyperbatch->targets);
    GNN_TRY(agnes_hyperbatch_grow(hyperbatch, sampling->hop, err));
    return gnn_team_each(sampling->team, hyperbatch->count, grow_list, sampling);
}

/* Adds what the workers counted of the hyperbatch. */
static void add_samples(const struct agnes_sampling *sampling, struct gnn_sample_counters *samples)
{
    for (uint32_t w = 0; w < sampling->setup->config->workers; w++) {
        const struct gnn_sample_counters *const one = &sampling->workspaces[w].counters;
        samples->batches += one->batches;
        samples->sampled_nodes += one->sampled_nodes;
        samples->sampled_edges += one->sampled_edges;
        samples->batch_digest += one->batch_digest;
        samples->spot_digest += one->spot_digest;
    }
}

enum gnn_status agnes_sampling_run(struct agnes_sampling *sampling, struct agnes_hyperbatch *hyperbatch,
                                   struct gnn_sample_counters *samples, struct gnn_err *err)
{
    const struct gnn_workload *const load = sampling->env->workload;
    sampling->hyperbatch = hyperbatch;
    for (uint32_t w = 0; w < sampling->setup->config->workers; w++)
        sampling->workspaces[w].counters = (struct gnn_sample_counters){0};
    for (uint32_t hop = 1; hop <= load->layers; hop++) {
        sampling->hop = hop;
        sampling->fanout = load->fanout[hop - 1];
        assert(sampling->fanout <= GNN_FANOUT_MAX);
        GNN_TRY(sample_hop(sampling, err));
    }
    add_samples(sampling, samples);
    if (!sampling->setup->config->gbuf_keep)
        agnes_block_reader_forget(sampling->reader);
    return GNN_OK;
}
