/* Sampling of a hyperbatch, hop by hop over graph blocks (AGNES, KDD 2026, section 3.3, Algorithm 1; specs/agnes.md
 * section 3).
 *
 *   bucket   which positions of which F_j need which block
 *   serve    block by block, W workers: draw, and write the drawn IDs at position x fanout
 *   localise mini-batch by mini-batch, W workers: local IDs in order of discovery, blocks to the spool, next F_j
 *
 * What is drawn depends on (seed, epoch, mini-batch, hop, node) alone and what is written has its place, so neither
 * threads nor blocks nor hyperbatches show in the result. A large object is served piecewise: its positions are drawn
 * over the whole degree, which the index knows, and each block of its run serves those that lie in it.
 *
 * Memory   (4 fanout + 1) sum |F_j| of the hop; 8 sum |F_j| of the bucket; V_j; one ID map per worker, filled again at
 *          every hop (the release keeps one per mini-batch) */
#include "systems/agnes/agnes.h"

#include "harness/base/arena.h"
#include "harness/sample/batch.h"
#include "harness/sample/digest.h"
#include "harness/sample/draw.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- memory ---- */

static void carve_lane(struct agnes_lane *lane, uint64_t bound, struct gnn_arena *arena, void **map)
{
    lane->nodes = gnn_arena_take(arena, bound * sizeof *lane->nodes);
    lane->row_start = gnn_arena_take(arena, (bound + 1) * sizeof *lane->row_start);
    *map = gnn_arena_take(arena, gnn_id_map_sized_slots(bound) * sizeof(struct gnn_id_slot));
}
static enum gnn_status open_lane(struct agnes *s, struct agnes_lane *lane, struct gnn_err *err)
{
    struct gnn_arena count = {0};
    void *map;
    carve_lane(lane, s->sampling.node_bound, &count, &map);
    GNN_TRY(
        gnn_mem_alloc(s->env->world, "agnes sampler's workspace", count.used_bytes, GNN_MEM_PLAIN, &lane->memory, err));
    struct gnn_arena arena = {.memory = lane->memory, .size_bytes = count.used_bytes};
    carve_lane(lane, s->sampling.node_bound, &arena, &map);
    gnn_id_map_init_sized(&lane->map, map, gnn_id_map_sized_slots(s->sampling.node_bound));
    return GNN_OK;
}
static enum gnn_status open_contexts(struct agnes *s, struct gnn_err *err)
{
    for (uint32_t c = 0; c < s->sizes.contexts; c++) {
        struct agnes_hyperbatch *const hb = &s->contexts[c];
        hb->batches = calloc(s->sizes.hyperbatch, sizeof *hb->batches);
        hb->streams = calloc(s->config->workers, sizeof(struct gnn_stream *));
        if (hb->batches == NULL || hb->streams == NULL)
            return gnn_fail(err, GNN_ENOMEM, "agnes: hyperbatch of %" PRIu32, s->sizes.hyperbatch);
    }
    return GNN_OK;
}
enum gnn_status agnes_sampling_open(struct agnes *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const struct gnn_workload *const load = env->workload;
    struct agnes_sampling *const x = &s->sampling;
    struct gnn_sample_bounds bounds;
    GNN_TRY(gnn_sample_bounds(
        env->dataset, load->batch_size < env->dataset->train.count ? load->batch_size : env->dataset->train.count,
        load->fanout, load->layers, &bounds, err));
    x->node_bound = bounds.nodes[load->layers];
    x->sample_key = gnn_rng_fork(load->seed, "sample");
    x->drawn.name = "agnes drawn neighbours";
    x->counts.name = "agnes draws of each node";
    GNN_TRY(open_contexts(s, err));
    GNN_TRY(gnn_team_open(env->world, s->config->workers, &x->team, err));
    GNN_TRY(agnes_bucket_open(env->world, s->sizes.graph_blocks, s->config->workers, &x->bucket, err));
    const struct agnes_pump_config pump = {.team = x->team,
                                           .file = s->files.graph,
                                           .depth = s->config->depth,
                                           .block_bytes = s->sizes.block_bytes,
                                           .frames = s->sizes.graph_frames,
                                           .blocks = s->sizes.graph_blocks,
                                           .policy = s->config->policy,
                                           .resident_first = s->config->resident_first,
                                           .mem_flags = GNN_MEM_PLAIN,
                                           .name = "agnes graph buffer"};
    GNN_TRY(agnes_pump_open(env, &pump, &x->pump, err));
    x->base = calloc(s->sizes.hyperbatch + UINT64_C(1), sizeof *x->base);
    x->list_counts = calloc(s->sizes.hyperbatch, sizeof *x->list_counts);
    x->lanes = calloc(s->config->workers, sizeof *x->lanes);
    if (x->base == NULL || x->list_counts == NULL || x->lanes == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: %" PRIu32 " sampling workers", s->config->workers);
    for (uint32_t w = 0; w < s->config->workers; w++)
        GNN_TRY(open_lane(s, &x->lanes[w], err));
    return GNN_OK;
}
void agnes_sampling_close(struct agnes *s)
{
    struct gnn_world *const world = s->env->world;
    struct agnes_sampling *const x = &s->sampling;
    agnes_pump_close(&x->pump);
    agnes_bucket_close(&x->bucket);
    gnn_team_close(x->team);
    for (uint32_t w = 0; x->lanes != NULL && w < s->config->workers; w++)
        gnn_mem_free(world, x->lanes[w].memory);
    free(x->lanes);
    free(x->list_counts);
    free(x->base);
    gnn_buffer_close(world, &x->drawn);
    gnn_buffer_close(world, &x->counts);
    for (uint32_t c = 0; c < AGNES_CONTEXTS_MAX; c++) {
        if (s->contexts[c].batches != NULL && s->contexts[c].streams != NULL)
            agnes_hyperbatch_clear(s, &s->contexts[c]);
        free(s->contexts[c].batches);
        free(s->contexts[c].streams);
    }
}
void agnes_hyperbatch_clear(struct agnes *s, struct agnes_hyperbatch *hb)
{
    for (uint32_t w = 0; w < s->config->workers; w++) {
        gnn_stream_close(hb->streams[w]);
        hb->streams[w] = NULL;
    }
    gnn_stream_file_close(hb->spool);
    hb->spool = NULL;
    for (uint32_t j = 0; j < s->sizes.hyperbatch; j++) {
        gnn_mem_free(s->env->world, hb->batches[j].nodes);
        hb->batches[j] = (struct agnes_batch){0};
    }
    hb->count = 0;
} /* ---- draws ---- */
static uint64_t draw_key(const struct agnes_hop *hop, const struct agnes_batch *batch)
{
    return gnn_draw_hop_key(hop->s->sampling.sample_key, hop->s->epoch, batch->number, hop->number);
}
static gnn_node original(const struct agnes *s, gnn_node v)
{
    return agnes_to_old(s->files.new_to_old, v);
} /* Positions of the list of a large object, ascending; *begin: its first block. */
static uint32_t draw_run(const struct agnes_hop *hop, uint32_t j, gnn_node v, uint32_t begin, uint64_t *degree,
                         uint64_t *out)
{
    uint32_t end;
    *degree = agnes_index_run(&hop->s->files.index, begin, &end);
    const uint64_t key = gnn_rng_fold(draw_key(hop, &hop->hb->batches[j]), original(hop->s, v));
    return gnn_draw(key, 0, *degree, hop->fanout, hop->s->env->floyd_biased, out);
} /* agnes_blocks_fn */
static uint32_t graph_blocks_of(void *ctx, uint32_t j, uint32_t position, uint32_t *out)
{
    const struct agnes_hop *const hop = ctx;
    const struct agnes_index *const index = &hop->s->files.index;
    const gnn_node v = hop->hb->batches[j].nodes[position];
    const uint32_t begin = agnes_index_find(index, v);
    if (!agnes_index_is_run(index, begin)) {
        out[0] = begin;
        return 1;
    }
    uint64_t drawn[GNN_FANOUT_MAX], degree;
    const uint32_t n = draw_run(hop, j, v, begin, &degree, drawn);
    const uint32_t run_ids = agnes_run_ids(index->block_bytes, index->id_bytes);
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t block = begin + (uint32_t)(drawn[i] / run_ids);
        if (blocks == 0 || out[blocks - 1] != block)
            out[blocks++] = block;
    }
    return blocks;
} /* ---- one block ---- */
static enum gnn_status bad_slot(const struct agnes *s, uint32_t block, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT,
                    "%s/graph: block %" PRIu32 " has a list outside itself: remove the directory, it will be "
                    "prepared again",
                    s->files.dir, block);
} /* A node of a normal block: the whole list is here. Returns how many were drawn; UINT32_MAX: a bad slot. */
static uint32_t serve_node(const struct agnes_hop *hop, uint64_t hop_key, gnn_node v, gnn_node first,
                           const unsigned char *memory, gnn_node *out)
{
    const struct agnes_index *const index = &hop->s->files.index;
    const struct agnes_slot slot = agnes_block_slot(memory, index->block_bytes, v - first);
    if (slot.count < 0 || slot.offset_bytes < 0 ||
        (uint64_t)slot.offset_bytes + (uint64_t)slot.count * index->id_bytes > index->block_bytes)
        return UINT32_MAX;
    uint64_t drawn[GNN_FANOUT_MAX];
    const uint32_t n = gnn_draw(gnn_rng_fold(hop_key, original(hop->s, v)), 0, (uint64_t)slot.count, hop->fanout,
                                hop->s->env->floyd_biased, drawn);
    for (uint32_t i = 0; i < n; i++)
        out[i] = agnes_block_id(memory, index->id_bytes, (uint64_t)slot.offset_bytes, drawn[i]);
    return n;
} /* A block of a run: those positions that lie in it. The first of them tells how many there are in all. */
static uint32_t serve_piece(const struct agnes_hop *hop, const struct agnes_entry *entry, gnn_node v, uint32_t block,
                            const unsigned char *memory, gnn_node *out, uint8_t *count)
{
    const struct agnes_index *const index = &hop->s->files.index;
    const uint32_t begin = agnes_index_find(index, v);
    const uint32_t run_ids = agnes_run_ids(index->block_bytes, index->id_bytes);
    const uint64_t low = (uint64_t)(block - begin) * run_ids;
    uint64_t drawn[GNN_FANOUT_MAX], degree;
    const uint32_t n = draw_run(hop, entry->batch, v, begin, &degree, drawn);
    uint32_t served = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (drawn[i] < low || drawn[i] >= low + run_ids)
            continue;
        out[i] = agnes_block_id(memory, index->id_bytes, 0, drawn[i] - low);
        if (i == 0)
            *count = (uint8_t)n;
        served++;
    }
    return served;
} /* agnes_serve_fn: every entry of the block's row. */
static enum gnn_status serve_block(void *ctx, uint32_t worker, uint32_t block, const void *memory, struct gnn_err *err)
{
    (void)worker;
    const struct agnes_hop *const hop = ctx;
    const struct agnes *const s = hop->s;
    const struct agnes_bucket *const bucket = &s->sampling.bucket;
    const bool run = agnes_index_is_run(&s->files.index, block);
    const gnn_node first = s->files.index.ranges[block].first;
    uint64_t edges = 0, key = 0;
    uint32_t keyed = UINT32_MAX;
    GNN_TRY(agnes_block_check(&s->files.index, block, memory, s->files.dir, err));
    for (uint64_t e = bucket->row_begin[block]; e < bucket->row_begin[block + 1]; e++) {
        const struct agnes_entry *const entry = &bucket->entries[e];
        const struct agnes_batch *const batch = &hop->hb->batches[entry->batch];
        const gnn_node v = batch->nodes[entry->position];
        const uint64_t at = s->sampling.base[entry->batch] + entry->position;
        gnn_node *const out = hop->drawn + at * hop->fanout;
        if (run) {
            edges += serve_piece(hop, entry, v, block, memory, out, &hop->counts[at]);
            continue;
        }
        if (entry->batch != keyed)
            key = draw_key(hop, batch);
        keyed = entry->batch;
        const uint32_t n = serve_node(hop, key, v, first, memory, out);
        if (n == UINT32_MAX)
            return bad_slot(s, block, err);
        hop->counts[at] = (uint8_t)n;
        edges += n;
    }
    gnn_charge(s->env->world, GNN_WORK_SAMPLED_EDGE, edges);
    return GNN_OK;
} /* ---- one mini-batch ---- */
static void sort_row(uint32_t *row, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const uint32_t value = row[i];
        uint32_t at = i;
        for (; at > 0 && row[at - 1] > value; at--)
            row[at] = row[at - 1];
        row[at] = value;
    }
}
static enum gnn_status add_known(const struct agnes_batch *batch, struct agnes_lane *lane, struct gnn_err *err)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        lane->nodes[i] = batch->nodes[i];
        if (gnn_id_map_add(&lane->map, batch->nodes[i]) != i)
            return gnn_fail(err, GNN_EFORMAT, "seed %" PRIu32 " stands twice in one mini-batch", batch->nodes[i]);
    }
    return GNN_OK;
} /* Global IDs of the rows become local ones, in place and packed: `col` never passes what is still to be read. */
static enum gnn_status number_rows(const struct agnes_hop *hop, const struct agnes_batch *batch, uint64_t base,
                                   struct agnes_lane *lane, uint64_t *digest, struct gnn_err *err)
{
    const struct agnes *const s = hop->s;
    const uint32_t layer = s->env->workload->layers - hop->number, nodes = s->env->dataset->node_count;
    const uint64_t layer_key = gnn_digest_layer_key(s->epoch, batch->number, layer);
    uint32_t *const col = hop->drawn + base * hop->fanout;
    uint32_t edges = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        const gnn_node *const row = col + (uint64_t)i * hop->fanout;
        const uint64_t row_key = gnn_digest_row_key(layer_key, original(s, batch->nodes[i]));
        const uint32_t begin = edges;
        lane->row_start[i] = begin;
        for (uint32_t k = 0; k < hop->counts[base + i]; k++) {
            const gnn_node v = row[k];
            if (v >= nodes)
                return gnn_fail(err, GNN_EFORMAT, "%s/graph: neighbour %" PRIu32 ", but there are %" PRIu32 " nodes",
                                s->files.dir, v, nodes);
            const uint32_t fresh = lane->map.count, local = gnn_id_map_add(&lane->map, v);
            if (local == fresh)
                lane->nodes[local] = v;
            *digest += gnn_digest_edge(row_key, original(s, v));
            col[edges++] = local;
        }
        sort_row(col + begin, edges - begin);
    }
    lane->row_start[batch->count] = edges;
    return GNN_OK;
}
static enum gnn_status spool(struct gnn_stream *stream, struct agnes_record *record, const uint32_t *row_start,
                             const uint32_t *col, struct gnn_err *err)
{
    record->stream = stream;
    GNN_TRY(gnn_stream_begin(stream, &record->offset_bytes, err));
    GNN_TRY(gnn_stream_append(stream, row_start, (record->dst_count + UINT64_C(1)) * sizeof *row_start, err));
    return gnn_stream_append(stream, col, record->edge_count * (uint64_t)sizeof *col, err);
} /* The list of the next hop takes the place of this one's. */
static enum gnn_status grow_list(struct gnn_world *world, struct agnes_batch *batch, const struct agnes_lane *lane,
                                 struct gnn_err *err)
{
    void *grown = NULL;
    GNN_TRY(gnn_mem_alloc(world, "agnes node lists", lane->map.count * (uint64_t)sizeof *batch->nodes, GNN_MEM_PLAIN,
                          &grown, err));
    memcpy(grown, lane->nodes, lane->map.count * sizeof *batch->nodes);
    gnn_mem_free(world, batch->nodes);
    batch->nodes = grown;
    batch->count = lane->map.count;
    gnn_charge(world, GNN_WORK_COPIED_BYTE, batch->count * (uint64_t)sizeof *batch->nodes);
    return GNN_OK;
}

/* gnn_each_fn: mini-batch j. */
static enum gnn_status localise(void *ctx, uint32_t worker, uint64_t j, struct gnn_err *err)
{
    const struct agnes_hop *const hop = ctx;
    struct agnes *const s = hop->s;
    struct gnn_world *const world = s->env->world;
    struct agnes_lane *const lane = &s->sampling.lanes[worker];
    struct agnes_batch *const batch = &hop->hb->batches[j];
    const uint64_t base = s->sampling.base[j];
    uint64_t bound = batch->count * (UINT64_C(1) + hop->fanout);
    bound = bound < s->env->dataset->node_count ? bound : s->env->dataset->node_count;
    gnn_id_map_resize(&lane->map, bound);
    assert(lane->map.capacity >= bound && bound <= s->sampling.node_bound);
    GNN_TRY(add_known(batch, lane, err));
    uint64_t digest = 0;
    GNN_TRY(number_rows(hop, batch, base, lane, &digest, err));
    struct agnes_record *const record = &batch->records[hop->number - 1];
    *record = (struct agnes_record){
        .dst_count = batch->count, .edge_count = lane->row_start[batch->count], .src_count = lane->map.count};
    gnn_charge(world, GNN_WORK_HASHED_ID, batch->count + (uint64_t)record->edge_count);
    gnn_charge(world, GNN_WORK_SORTED_KEY, record->edge_count);
    struct gnn_stream *const stream = hop->hb->streams[worker];
    if (stream != NULL)
        GNN_TRY(spool(stream, record, lane->row_start, hop->drawn + base * hop->fanout, err));
    lane->counters.sampled_edges += record->edge_count;
    lane->counters.batch_digest += digest;
    if (hop->number == s->env->workload->layers) {
        lane->counters.batches++;
        lane->counters.sampled_nodes += lane->map.count;
    }
    return grow_list(world, batch, lane, err);
} /* ---- a hyperbatch ---- */
static enum gnn_status lay_hop(struct agnes_hop *hop, struct gnn_err *err)
{
    struct agnes *const s = hop->s;
    struct agnes_sampling *const x = &s->sampling;
    for (uint32_t j = 0; j < hop->hb->count; j++) {
        x->list_counts[j] = hop->hb->batches[j].count;
        x->base[j + 1] = x->base[j] + x->list_counts[j];
    }
    const uint64_t positions = x->base[hop->hb->count];
    GNN_TRY(
        gnn_buffer_reserve(s->env->world, &x->drawn, gnn_mul_bytes(positions, hop->fanout * sizeof(gnn_node)), err));
    GNN_TRY(gnn_buffer_reserve(s->env->world, &x->counts, positions, err));
    hop->drawn = x->drawn.data;
    hop->counts = x->counts.data;
    return agnes_bucket_build(&x->bucket, x->team, x->list_counts, hop->hb->count, graph_blocks_of, hop, err);
}

static enum gnn_status run_hop(struct agnes_hop *hop, struct gnn_err *err)
{
    struct agnes_sampling *const x = &hop->s->sampling;
    GNN_TRY(gnn_check_stop(hop->s->env, err));
    GNN_TRY(lay_hop(hop, err));
    GNN_TRY(agnes_pump_run(&x->pump, x->bucket.needed, x->bucket.needed_count, serve_block, hop, err));
    return gnn_team_each(x->team, hop->hb->count, localise, hop);
}

static enum gnn_status take_seeds(struct agnes *s, struct agnes_hyperbatch *hb, uint32_t h, struct gnn_err *err)
{
    const uint32_t batch_size = s->env->workload->batch_size, total = s->env->dataset->train.count;
    hb->first = h * s->sizes.hyperbatch;
    const uint32_t left = s->sizes.batches - hb->first;
    hb->count = left < s->sizes.hyperbatch ? left : s->sizes.hyperbatch;
    for (uint32_t j = 0; j < hb->count; j++) {
        struct agnes_batch *const batch = &hb->batches[j];
        const uint64_t begin = (uint64_t)(hb->first + j) * batch_size, rest = total - begin;
        const uint32_t seeds = rest < batch_size ? (uint32_t)rest : batch_size;
        void *nodes = NULL;
        GNN_TRY(gnn_mem_alloc(s->env->world, "agnes node lists", seeds * (uint64_t)sizeof *batch->nodes, GNN_MEM_PLAIN,
                              &nodes, err));
        memcpy(nodes, s->order + begin, seeds * sizeof *batch->nodes);
        *batch = (struct agnes_batch){.number = hb->first + j, .seed_count = seeds, .count = seeds, .nodes = nodes};
    }
    return GNN_OK;
}

static enum gnn_status open_spool(struct agnes *s, struct agnes_hyperbatch *hb, struct gnn_err *err)
{
    const struct gnn_stream_file_config config = {.dir = s->files.dir,
                                                  .direct = s->config->io == AGNES_IO_DIRECT,
                                                  .block_bytes = AGNES_SPOOL_BLOCK_BYTES,
                                                  .mem_flags = GNN_MEM_PLAIN};
    GNN_TRY(gnn_stream_file_open(s->env->world, &config, &hb->spool, err));
    for (uint32_t w = 0; w < s->config->workers; w++)
        GNN_TRY(gnn_stream_open(hb->spool, &hb->streams[w], err));
    return GNN_OK;
}

static enum gnn_status seal_spool(struct agnes *s, struct agnes_hyperbatch *hb, struct gnn_err *err)
{
    struct gnn_stream_file_counters counters;
    for (uint32_t w = 0; w < s->config->workers; w++)
        GNN_TRY(gnn_stream_seal(hb->streams[w], err));
    gnn_stream_file_counters(hb->spool, &counters);
    s->spool_write_bytes += counters.written_bytes;
    s->spool_writes += counters.writes;
    return GNN_OK;
}

/* What workers look at does not lie on this thread's stack: on a failure it leaves while they are still at work. */
static enum gnn_status sample_hops(struct agnes *s, struct agnes_hyperbatch *hb, struct gnn_err *err)
{
    for (uint32_t l = 1; l <= s->env->workload->layers; l++) {
        s->sampling.hop = (struct agnes_hop){.s = s, .hb = hb, .number = l, .fanout = s->env->workload->fanout[l - 1]};
        GNN_TRY(run_hop(&s->sampling.hop, err));
    }
    return GNN_OK;
}

enum gnn_status agnes_sample(struct agnes *s, uint32_t h, struct gnn_err *err)
{
    struct agnes_hyperbatch *const hb = &s->contexts[h % s->sizes.contexts];
    const bool spools = !s->env->workload->sample_only;
    GNN_TRY(take_seeds(s, hb, h, err));
    if (spools)
        GNN_TRY(open_spool(s, hb, err));
    GNN_TRY(sample_hops(s, hb, err));
    if (!s->config->gbuf_keep)
        agnes_frames_clear(s->sampling.pump.frames);
    return spools ? seal_spool(s, hb, err) : GNN_OK;
}
