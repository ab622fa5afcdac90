/* SPDX-License-Identifier: MIT */
/* DENSE sampling, hop by hop (MariusGNN, EuroSys 2023, algorithm 1).
 *
 * In       distinct targets; in- and out-neighbour lists of the resident subgraph
 * Out      one list of nodes, one of neighbours, in the order of the hops; a view of them as K blocks
 * Errors   GNN_EUSAGE for 2^32 neighbours and more; those of the allocator
 *
 * A neighbour takes three steps, and each is a random access to memory: its position in a list is drawn, the list is
 * read there, the ID is looked up. Rows go through the steps in chunks, each step a chunk behind the one before, which
 * fetched into the cache what it will read. In between, col holds the position and then the local ID. */
#include "systems/mariusgnn/dense.h"

#include "harness/base/arena.h"
#include "harness/base/id_map.h"
#include "harness/sample/digest.h"
#include "harness/sample/draw.h"
#include "systems/mariusgnn/dense_marks.h"

#include <assert.h>
#include <inttypes.h>

enum {
    CHUNK_ROWS = 16,
    ROWS_AHEAD = 32,  /* whose list starts are fetched */
    LINE_IDS = 16,    /* of a cache line */
    OUT_DIRECTION = 1 /* folded into the key of draws among outgoing edges */
};

/* Bounds of a mini-batch. */
struct bounds {
    uint32_t nodes[GNN_LAYERS_MAX + 1]; /* after hop h */
    uint64_t edges;                     /* drawn, of all hops */
};

struct marius_dense {
    struct gnn_world *world;
    struct marius_dense_config config;
    uint64_t sample_key;
    uint32_t local_capacity, hash_capacity, node_capacity; /* what the following hold; 0: nothing */
    void *map_memory;
    struct gnn_id_map map;     /* where a node stands: hops that hash */
    struct marius_marks marks; /* hops that mark */
    struct gnn_sample_counters counters;
    uint64_t one_hop_edges;
};

struct marius_dense_batch {
    struct gnn_batch_view view;
    uint32_t ends[GNN_LAYERS_MAX + 1];
    void *memory;
    uint64_t memory_bytes;
    gnn_node *nodes;
    uint32_t *locals;
    uint32_t *row_start;
    uint32_t *col;
};

/* One hop in the making: rows [first, end) are its delta. */
struct hop {
    const struct marius_subgraph *graph;
    struct marius_dense_batch *batch;
    uint64_t key;
    uint32_t fanout;
    bool hashed;
    uint32_t first, end;
    uint32_t edges;              /* of the batch, so far */
    uint32_t in_end[CHUNK_ROWS]; /* where the in part of a row ends that was drawn and not read yet */
};

/* ---- sizes ---- */

static uint32_t directions(const struct marius_dense_config *config)
{
    return config->out_edges ? 2 : 1;
}

/* A hop may find few nodes and the next one many, so no delta's bound lessens another's; but every node has one row,
 * and every entry of a list is drawn once at most. */
static void find_bounds(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                        uint32_t targets, struct bounds *out)
{
    const uint64_t entries = gnn_mul_bytes(edge_count, directions(config));
    const uint64_t first = gnn_min_u32(targets, local_count);
    uint64_t delta = first, row_max = 0;
    *out = (struct bounds){.nodes[0] = (uint32_t)first};
    for (uint32_t h = 0; h < config->layers; h++) {
        const uint64_t row = (uint64_t)config->fanout[h] * directions(config);
        const uint64_t drawn = gnn_min_u64(gnn_mul_bytes(delta, row), entries);
        delta = gnn_min_u64(drawn, local_count - first);
        row_max = gnn_max_u64(row_max, row);
        out->nodes[h + 1] = (uint32_t)gnn_min_u64(out->nodes[h] + delta, local_count);
        out->edges = gnn_add_bytes(out->edges, drawn);
    }
    const uint64_t rows = gnn_mul_bytes(out->nodes[config->layers - 1], row_max);
    out->edges = gnn_min_u64(gnn_min_u64(out->edges, rows), entries);
}

uint64_t marius_dense_bound(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                            uint32_t batch_size, uint32_t *nodes)
{
    struct bounds bounds;
    find_bounds(config, local_count, edge_count, batch_size, &bounds);
    memcpy(nodes, bounds.nodes, (config->layers + UINT64_C(1)) * sizeof *nodes);
    return bounds.edges;
}

static uint32_t hash_nodes(const struct marius_dense_config *config, const struct bounds *bounds)
{
    return config->hash_hops == 0 ? 0 : bounds->nodes[gnn_min_u32(config->hash_hops, config->layers)];
}

static bool marks_used(const struct marius_dense_config *config)
{
    return config->hash_hops < config->layers;
}

uint64_t marius_dense_bytes(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                            uint32_t batch_size)
{
    struct bounds bounds;
    find_bounds(config, local_count, edge_count, batch_size, &bounds);
    const uint64_t map = config->hash_hops > 0 ? gnn_id_map_bytes(local_count, hash_nodes(config, &bounds)) : 0;
    const uint64_t marks = marks_used(config) ? marius_marks_bytes(local_count, bounds.nodes[config->layers]) : 0;
    return gnn_add_bytes(map, marks);
}

/* Rows are drawn for up to the last hop but one. */
static void carve(struct marius_dense_batch *batch, const struct bounds *bounds, uint32_t layers,
                  struct gnn_arena *arena)
{
    const uint64_t nodes = bounds->nodes[layers], rows = bounds->nodes[layers - 1];
    batch->nodes = gnn_arena_take(arena, nodes * sizeof *batch->nodes);
    batch->locals = gnn_arena_take(arena, nodes * sizeof *batch->locals);
    batch->row_start = gnn_arena_take(arena, (rows + 1) * sizeof *batch->row_start);
    batch->col = gnn_arena_take(arena, gnn_mul_bytes(bounds->edges, sizeof *batch->col));
}

uint64_t marius_dense_batch_bytes(const struct marius_dense_config *config, uint32_t local_count, uint64_t edge_count,
                                  uint32_t batch_size)
{
    struct bounds bounds;
    struct marius_dense_batch batch;
    struct gnn_arena count = {0};
    find_bounds(config, local_count, edge_count, batch_size, &bounds);
    carve(&batch, &bounds, config->layers, &count);
    return count.used_bytes;
}

/* ---- opening ---- */

static enum gnn_status check_config(const struct marius_dense_config *config, struct gnn_err *err)
{
    if (config->layers < 1 || config->layers > GNN_LAYERS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%" PRIu32 " layers are not supported, only 1 to %d: change --fanout",
                        config->layers, GNN_LAYERS_MAX);
    for (uint32_t h = 0; h < config->layers; h++) {
        const uint32_t fanout = config->fanout[h];
        if (fanout != MARIUS_DENSE_ALL && (fanout < 1 || fanout > MARIUS_DENSE_FANOUT_MAX))
            return gnn_fail(err, GNN_EUSAGE,
                            "fan-out %" PRIu32 " of hop %" PRIu32 " is outside 1 to %d: change --fanout", fanout, h + 1,
                            MARIUS_DENSE_FANOUT_MAX);
    }
    return GNN_OK;
}

enum gnn_status marius_dense_open(struct gnn_world *world, const struct marius_dense_config *config,
                                  struct marius_dense **out, struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    struct marius_dense *dense;
    GNN_NEW(dense, 1, err, "DENSE sampler");
    dense->world = world;
    dense->config = *config;
    dense->sample_key = gnn_rng_fork(config->seed, "sample");
    *out = dense;
    return GNN_OK;
}

static void release(struct marius_dense *dense)
{
    gnn_mem_free(dense->world, dense->map_memory);
    dense->map_memory = NULL;
    marius_marks_release(dense->world, &dense->marks);
    dense->local_capacity = dense->hash_capacity = dense->node_capacity = 0;
}

void marius_dense_close(struct marius_dense *dense)
{
    if (dense == NULL)
        return;
    release(dense);
    free(dense);
}

enum gnn_status marius_dense_batch_open(struct gnn_world *world, struct marius_dense_batch **out, struct gnn_err *err)
{
    (void)world;
    GNN_NEW(*out, 1, err, "DENSE mini-batch");
    return GNN_OK;
}

void marius_dense_batch_close(struct gnn_world *world, struct marius_dense_batch *batch)
{
    if (batch == NULL)
        return;
    gnn_mem_free(world, batch->memory);
    free(batch);
}

/* Makes the sampler's memory large enough for this and every earlier batch. */
static enum gnn_status reserve(struct marius_dense *dense, uint32_t local_count, const struct bounds *bounds,
                               struct gnn_err *err)
{
    const struct marius_dense_config *const config = &dense->config;
    const uint32_t locals = gnn_max_u32(dense->local_capacity, local_count);
    const uint32_t hashed = gnn_max_u32(dense->hash_capacity, hash_nodes(config, bounds));
    const uint32_t nodes = gnn_max_u32(dense->node_capacity, bounds->nodes[config->layers]);
    if (locals == dense->local_capacity && hashed == dense->hash_capacity && nodes == dense->node_capacity)
        return GNN_OK;
    release(dense);
    if (config->hash_hops > 0) {
        GNN_TRY(gnn_mem_alloc(dense->world, "DENSE's hash set", gnn_id_map_bytes(locals, hashed), GNN_MEM_PLAIN,
                              &dense->map_memory, err));
        gnn_id_map_init(&dense->map, dense->map_memory, locals, hashed);
    }
    if (marks_used(config))
        GNN_TRY(marius_marks_reserve(dense->world, &dense->marks, locals, nodes, err));
    dense->local_capacity = locals;
    dense->hash_capacity = hashed;
    dense->node_capacity = nodes;
    return GNN_OK;
}

static enum gnn_status reserve_batch(struct gnn_world *world, struct marius_dense_batch *batch,
                                     const struct bounds *bounds, uint32_t layers, struct gnn_err *err)
{
    struct gnn_arena count = {0};
    carve(batch, bounds, layers, &count);
    if (count.used_bytes > batch->memory_bytes) {
        gnn_mem_free(world, batch->memory);
        batch->memory = NULL;
        batch->memory_bytes = 0;
        GNN_TRY(gnn_mem_alloc(world, "mini-batch", count.used_bytes, GNN_MEM_PLAIN, &batch->memory, err));
        batch->memory_bytes = count.used_bytes;
    }
    struct gnn_arena arena = {.memory = batch->memory, .size_bytes = batch->memory_bytes};
    carve(batch, bounds, layers, &arena);
    assert(arena.used_bytes <= batch->memory_bytes);
    return GNN_OK;
}

/* ---- the three steps of a neighbour ---- */

/* Draws from list [begin, begin + degree); positions go to out. Returns how many. */
static uint32_t draw_list(uint64_t key, uint32_t begin, uint32_t degree, uint32_t fanout, bool replace, uint32_t *out)
{
    if (degree <= fanout) {
        for (uint32_t i = 0; i < degree; i++)
            out[i] = begin + i;
        return degree;
    }
    if (replace) {
        struct gnn_rng rng = gnn_rng_at(key);
        for (uint32_t i = 0; i < fanout; i++)
            out[i] = begin + (uint32_t)gnn_rng_below(&rng, degree);
        return fanout;
    }
    uint64_t position[MARIUS_DENSE_FANOUT_MAX];
    const uint32_t drawn = gnn_draw(key, begin, degree, fanout, false, position);
    for (uint32_t i = 0; i < drawn; i++)
        out[i] = (uint32_t)position[i];
    return drawn;
}

static void prefetch_list(const uint32_t *nbrs, const uint32_t *position, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || position[i] / LINE_IDS != position[i - 1] / LINE_IDS)
            __builtin_prefetch(nbrs + position[i]);
}

static void draw_rows(const struct marius_dense *dense, struct hop *hop, uint32_t row, uint32_t end)
{
    const struct marius_subgraph *const graph = hop->graph;
    const struct marius_dense_batch *const batch = hop->batch;
    const bool replace = dense->config.replace;
    for (; row < end; row++) {
        const uint32_t v = batch->locals[row];
        const uint64_t key = gnn_rng_fold(hop->key, batch->nodes[row]);
        if (row + ROWS_AHEAD < hop->end) {
            __builtin_prefetch(graph->in_start + batch->locals[row + ROWS_AHEAD]);
            if (dense->config.out_edges)
                __builtin_prefetch(graph->out_start + batch->locals[row + ROWS_AHEAD]);
        }
        uint32_t *col = batch->col + hop->edges;
        uint32_t drawn =
            draw_list(key, graph->in_start[v], graph->in_start[v + 1] - graph->in_start[v], hop->fanout, replace, col);
        prefetch_list(graph->in_nbrs, col, drawn);
        hop->edges += drawn;
        hop->in_end[row % CHUNK_ROWS] = hop->edges;
        if (dense->config.out_edges) {
            col += drawn;
            drawn = draw_list(gnn_rng_fold(key, OUT_DIRECTION), graph->out_start[v],
                              graph->out_start[v + 1] - graph->out_start[v], hop->fanout, replace, col);
            prefetch_list(graph->out_nbrs, col, drawn);
            hop->edges += drawn;
        }
        batch->row_start[row + 1] = hop->edges;
    }
}

static void fetch_rows(const struct marius_dense *dense, const struct hop *hop, uint32_t row, uint32_t end)
{
    const struct marius_dense_batch *const batch = hop->batch;
    const uint32_t first = batch->row_start[row], last = batch->row_start[end];
    uint32_t *const col = batch->col;
    for (; row < end; row++) {
        const uint32_t middle = hop->in_end[row % CHUNK_ROWS];
        for (uint32_t e = batch->row_start[row]; e < middle; e++)
            col[e] = hop->graph->in_nbrs[col[e]];
        for (uint32_t e = middle; e < batch->row_start[row + 1]; e++)
            col[e] = hop->graph->out_nbrs[col[e]];
    }
    if (hop->hashed)
        for (uint32_t e = first; e < last; e++)
            gnn_id_map_prefetch(&dense->map, col[e]);
    else
        for (uint32_t e = first; e < last; e++)
            marius_marks_prefetch(&dense->marks, col[e]);
}

static void add_hashed(struct marius_dense *dense, const struct hop *hop, uint32_t e, uint32_t end)
{
    struct gnn_id_map *const map = &dense->map;
    uint32_t *const locals = hop->batch->locals, *const col = hop->batch->col;
    for (; e < end; e++) {
        const uint32_t v = col[e], fresh = map->count;
        assert(v < hop->graph->local_count);
        const uint32_t place = gnn_id_map_add(map, v);
        if (place == fresh)
            locals[place] = v;
        col[e] = place;
    }
    assert(map->count <= map->capacity);
}

static void add_marked(struct marius_dense *dense, const struct hop *hop, uint32_t e, uint32_t end)
{
    for (; e < end; e++) {
        assert(hop->batch->col[e] < hop->graph->local_count);
        marius_marks_mark(&dense->marks, hop->batch->col[e]);
    }
}

static void add_rows(struct marius_dense *dense, const struct hop *hop, uint32_t row, uint32_t end)
{
    const uint32_t *const row_start = hop->batch->row_start;
    (hop->hashed ? add_hashed : add_marked)(dense, hop, row_start[row], row_start[end]);
}

/* ---- a hop ---- */

/* Copies the original IDs of nodes [first, end). */
static void name_nodes(const struct marius_subgraph *graph, const struct marius_dense_batch *batch, uint32_t first,
                       uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (i + ROWS_AHEAD < end)
            __builtin_prefetch(graph->original + batch->locals[i + ROWS_AHEAD]);
        batch->nodes[i] = graph->original[batch->locals[i]];
        assert(batch->nodes[i] != GNN_NODE_NONE);
    }
}

/* Takes the delta through the three steps. Returns the nodes of the batch afterwards. */
static uint32_t run_hop(struct marius_dense *dense, struct hop *hop)
{
    struct marius_dense_batch *const batch = hop->batch;
    uint32_t drawn = hop->first, fetched = hop->first, added = hop->first;
    batch->row_start[hop->first] = hop->edges;
    while (added < hop->end) {
        add_rows(dense, hop, added, fetched);
        added = fetched;
        fetch_rows(dense, hop, fetched, drawn);
        fetched = drawn;
        drawn += gnn_min_u32(hop->end - drawn, CHUNK_ROWS);
        draw_rows(dense, hop, fetched, drawn);
    }
    if (hop->hashed)
        return dense->map.count;
    return hop->end + marius_marks_take(&dense->marks, batch->locals + hop->end);
}

/* Charges the share of each thread in work that all threads of a mini-batch do. */
static void charge_share(const struct marius_dense *dense, enum gnn_work kind, uint64_t count)
{
    gnn_charge(dense->world, kind, gnn_div_up(count, gnn_max_u32(dense->config.threads, 1)));
}

static void charge_hop(const struct marius_dense *dense, const struct hop *hop)
{
    const uint64_t edges = hop->edges - hop->batch->row_start[hop->first];
    charge_share(dense, GNN_WORK_SAMPLED_EDGE, edges);
    gnn_charge(dense->world, GNN_WORK_SHARED_EDGE, edges); /* what more threads do not make shorter */
    if (hop->hashed) {
        gnn_charge(dense->world, GNN_WORK_HASHED_ID, edges); /* the released code's set is one thread's, too */
        return;
    }
    /* marked, and found at the end; a word for every 64 local IDs, where the released code has a byte for each */
    charge_share(dense, GNN_WORK_TABLE_ENTRY, 2 * edges + dense->marks.words);
    charge_share(dense, GNN_WORK_BITMAP_BYTE, hop->graph->local_count);
}

/* Puts the targets at the head, where the hops that hash find them. */
static void add_targets(struct marius_dense *dense, const struct marius_subgraph *graph,
                        const struct marius_dense_batch *batch, const uint32_t *targets, uint32_t count)
{
    if (dense->config.hash_hops > 0)
        gnn_id_map_clear(&dense->map);
    for (uint32_t i = 0; i < count; i++) {
        assert(targets[i] < graph->local_count);
        batch->locals[i] = targets[i];
        if (dense->config.hash_hops > 0) {
            const uint32_t place = gnn_id_map_add(&dense->map, targets[i]);
            assert(place == i); /* distinct */
            (void)place;
        }
    }
    name_nodes(graph, batch, 0, count);
}

/* All hops: nodes, row starts and columns, of which those of marked hops are local IDs still. Returns the edges. */
static uint32_t run_hops(struct marius_dense *dense, const struct marius_subgraph *graph, uint64_t epoch,
                         uint64_t number, struct marius_dense_batch *batch)
{
    const struct marius_dense_config *const config = &dense->config;
    uint32_t *const ends = batch->ends;
    struct hop hop = {.graph = graph, .batch = batch};
    for (uint32_t h = 1; h <= config->layers; h++) {
        hop.key = gnn_draw_hop_key(dense->sample_key, epoch, number, h);
        hop.fanout = config->fanout[h - 1];
        hop.hashed = h <= config->hash_hops;
        hop.first = hop.end; /* the nodes that the hop before found */
        hop.end = ends[h - 1];
        if (h == config->hash_hops + 1) {
            marius_marks_begin(&dense->marks, graph->local_count);
            marius_marks_know(&dense->marks, batch->locals, hop.end);
        }
        ends[h] = run_hop(dense, &hop);
        name_nodes(graph, batch, hop.end, ends[h]);
        charge_hop(dense, &hop);
    }
    return hop.edges;
}

/* Turns the columns of marked hops into places. */
static void find_places(struct marius_dense *dense, struct marius_dense_batch *batch, uint32_t edges)
{
    const struct marius_dense_config *const config = &dense->config;
    if (!marks_used(config))
        return;
    marius_marks_place(&dense->marks, batch->locals, batch->ends[config->layers]);
    const uint32_t first = config->hash_hops > 0 ? batch->row_start[batch->ends[config->hash_hops - 1]] : 0;
    marius_marks_find(&dense->marks, batch->col + first, edges - first);
}

/* Every block's lists are heads of the same ones. */
static void make_view(const struct marius_dense_batch *batch, uint32_t layers, struct gnn_batch_view *view)
{
    view->layer_count = layers;
    view->seed_count = batch->ends[0];
    view->node_count = batch->ends[layers];
    view->nodes = batch->nodes;
    for (uint32_t h = 1; h <= layers; h++)
        view->blocks[layers - h] = (struct gnn_block){
            .dst_count = batch->ends[h - 1],
            .src_count = batch->ends[h],
            .edge_count = batch->row_start[batch->ends[h - 1]],
            .row_start = batch->row_start,
            .col = batch->col,
        };
}

static void count_batch(struct marius_dense *dense, const struct gnn_batch_view *view)
{
    struct gnn_sample_counters *const counters = &dense->counters;
    counters->batches++;
    counters->sampled_nodes += view->node_count;
    for (uint32_t b = 0; b < view->layer_count; b++)
        counters->sampled_edges += view->blocks[b].edge_count;
    dense->one_hop_edges += view->blocks[0].edge_count;
    gnn_count_digest(counters, view->batch, gnn_batch_digest(view, NULL));
}

enum gnn_status marius_dense_sample(struct marius_dense *dense, const struct marius_subgraph *graph, uint64_t epoch,
                                    uint64_t batch, const uint32_t *targets, uint32_t count,
                                    struct marius_dense_batch *out, struct gnn_err *err)
{
    const struct marius_dense_config *const config = &dense->config;
    struct bounds bounds;
    assert(count >= 1);
    assert(!config->out_edges || graph->out_start != NULL);
    out->view = (struct gnn_batch_view){0};
    find_bounds(config, graph->local_count, graph->edge_count, count, &bounds);
    if (bounds.edges > UINT32_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "a mini-batch of %" PRIu32 " targets could draw %" PRIu64
                        " neighbours, but its lists hold %" PRIu32 ": lower --batch or --fanout",
                        count, bounds.edges, UINT32_MAX);
    GNN_TRY(reserve(dense, graph->local_count, &bounds, err));
    GNN_TRY(reserve_batch(dense->world, out, &bounds, config->layers, err));
    out->ends[0] = count;
    add_targets(dense, graph, out, targets, count);
    const uint32_t edges = run_hops(dense, graph, epoch, batch, out);
    assert(edges <= bounds.edges);
    find_places(dense, out, edges);
    struct gnn_batch_view view = {.epoch = epoch, .batch = batch};
    make_view(out, config->layers, &view);
    assert(view.node_count <= bounds.nodes[config->layers]);
    out->view = view; /* only a whole batch is seen */
    count_batch(dense, &view);
    return GNN_OK;
}

/* ---- looking ---- */

const struct gnn_batch_view *marius_dense_view(const struct marius_dense_batch *batch)
{
    return &batch->view;
}

const uint32_t *marius_dense_rows(const struct marius_dense_batch *batch)
{
    return batch->locals;
}

const uint32_t *marius_dense_ends(const struct marius_dense_batch *batch)
{
    return batch->ends;
}

void marius_dense_counters(const struct marius_dense *dense, struct gnn_sample_counters *out)
{
    *out = dense->counters;
}

uint64_t marius_dense_one_hop_edges(const struct marius_dense *dense)
{
    return dense->one_hop_edges;
}

void marius_dense_clear_counters(struct marius_dense *dense)
{
    dense->counters = (struct gnn_sample_counters){0};
    dense->one_hop_edges = 0;
}
