/* SPDX-License-Identifier: MIT */
/* Node-wise neighbour sampling, hop by hop.
 *
 * Source   GraphSAGE (Hamilton et al. 2017), algorithm 2: uniform, without replacement; positions by draw.h
 * In       seeds (B) distinct node IDs; CSC in-neighbour lists
 * Out      a batch of L blocks; the frontier of hop l is the whole node list so far
 * Memory   per sampler: edge offsets of the largest hop (8 B each) and the ID map, for the largest seed count so far
 * Errors   GNN_EFORMAT for IDs outside the graph and repeated seeds; those of the neighbour source
 *
 * A hop is three passes: draw positions, fetch the neighbours in one go, turn them into local IDs. Each pass has its
 * own random accesses (indptr, indices, ID map) and prefetches ahead of them. */
#include "harness/sample/sample.h"

#include "harness/base/id_map.h"
#include "harness/sample/batch.h"
#include "harness/sample/digest.h"
#include "harness/sample/draw_lanes.h"
#include "harness/sample/sort_row.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREFETCH_ROWS = 16,
    TILE_ROWS = 32, /* that are localised together: what is noted of them stays in the first cache */
    TILE_EDGES = TILE_ROWS * GNN_FANOUT_MAX,
};

/* What is noted of the edges of a few rows. */
struct tile {
    uint64_t digest_key[TILE_EDGES]; /* of the edge's row */
    gnn_node neighbour[TILE_EDGES];  /* in original IDs */
    uint32_t local[TILE_EDGES + GNN_FANOUT_MAX];
    uint32_t scratch[TILE_EDGES];
    gnn_node fresh[TILE_EDGES]; /* that are new */
};

struct gnn_sampler {
    struct gnn_world *world;
    struct gnn_sampler_config config;
    const struct gnn_dataset *dataset;
    struct gnn_neighbour_source *source;
    uint64_t sample_key;
    uint32_t seed_capacity; /* seeds that offsets and map are sized for */
    uint64_t *edge_offset;  /* (edge_room), the edges of the largest hop */
    uint64_t edge_room;
    void *map_memory;
    struct gnn_id_map map;
    struct gnn_sample_counters counters;
    struct tile tile;
};

/* One hop in the making; node_count grows while neighbours are given local IDs. */
struct hop {
    uint32_t fanout;
    uint32_t dst_count;
    uint32_t edge_count;
    uint64_t draw_key;
    uint64_t digest_key;
    gnn_node *nodes;
    uint32_t *row_start;
    uint32_t *col;
};

static enum gnn_status check_config(const struct gnn_sampler_config *config, struct gnn_err *err)
{
    if (config->layers < 1 || config->layers > GNN_LAYERS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%u layers; give 1 to %d fanouts", config->layers, GNN_LAYERS_MAX);
    for (uint32_t l = 0; l < config->layers; l++)
        if (config->fanout[l] < 1 || config->fanout[l] > GNN_FANOUT_MAX)
            return gnn_fail(err, GNN_EUSAGE, "fanout %u of hop %u is outside 1 to %d", config->fanout[l], l + 1,
                            GNN_FANOUT_MAX);
    return GNN_OK;
}

enum gnn_status gnn_sampler_open(struct gnn_world *world, const struct gnn_sampler_config *config,
                                 const struct gnn_dataset *dataset, struct gnn_neighbour_source *source,
                                 struct gnn_sampler **out, struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    struct gnn_sampler *sampler;
    GNN_NEW(sampler, 1, err, "sampler");
    sampler->world = world;
    sampler->config = *config;
    sampler->dataset = dataset;
    sampler->source = source;
    sampler->sample_key = gnn_rng_fork(config->seed, "sample");
    *out = sampler;
    return GNN_OK;
}

static void free_workspace(struct gnn_sampler *sampler)
{
    gnn_mem_free(sampler->world, sampler->edge_offset);
    gnn_mem_free(sampler->world, sampler->map_memory);
    sampler->edge_offset = NULL;
    sampler->map_memory = NULL;
    sampler->seed_capacity = 0;
}

void gnn_sampler_close(struct gnn_sampler *sampler)
{
    if (sampler == NULL)
        return;
    free_workspace(sampler);
    free(sampler);
}

void gnn_sampler_counters(const struct gnn_sampler *sampler, struct gnn_sample_counters *out)
{
    *out = sampler->counters;
}

/* Sizes offsets and map for seed_count seeds, unless they are large enough. */
static enum gnn_status reserve_workspace(struct gnn_sampler *sampler, const struct gnn_sample_bounds *bounds,
                                         struct gnn_err *err)
{
    const uint32_t seed_count = bounds->nodes[0];
    if (sampler->edge_offset != NULL && seed_count <= sampler->seed_capacity)
        return GNN_OK;
    free_workspace(sampler);
    uint64_t edges = 1;
    for (uint32_t l = 1; l <= bounds->layers; l++)
        edges = gnn_max_u64(edges, bounds->edges[l]);
    const uint32_t universe = sampler->dataset->node_count;
    const uint32_t capacity = bounds->nodes[bounds->layers];
    assert(edges <= UINT32_MAX); /* gnn_sample_bounds refuses more */
    GNN_MEM_NEW(sampler->world, sampler->edge_offset, edges, "sampler's edge offsets", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_mem_alloc(sampler->world, "sampler's ID map", gnn_id_map_bytes(universe, capacity), GNN_MEM_PLAIN,
                          &sampler->map_memory, err));
    gnn_id_map_init_growing(&sampler->map, sampler->map_memory, universe, capacity);
    sampler->edge_room = edges;
    sampler->seed_capacity = seed_count;
    return GNN_OK;
}

static enum gnn_status node_error(const struct gnn_sampler *sampler, const char *what, gnn_node node,
                                  struct gnn_err *err)
{
    return gnn_dataset_damaged(sampler->dataset, err, "dataset %s: %s %u, but there are %u nodes",
                               sampler->dataset->name, what, node, sampler->dataset->node_count);
}

/* IDs of 8 bytes that no gnn_node holds come as GNN_NODE_NONE. */
__attribute__((cold, noinline)) static enum gnn_status neighbour_error(const struct gnn_sampler *sampler, gnn_node of,
                                                                       gnn_node neighbour, struct gnn_err *err)
{
    char what[64];
    (void)snprintf(what, sizeof what, "in the list of node %u, neighbour", of);
    return node_error(sampler, what, neighbour, err);
}

/* Gives the seeds local IDs 0 .. B - 1. */
static enum gnn_status add_seeds(struct gnn_sampler *sampler, const gnn_node *seeds, uint32_t seed_count,
                                 gnn_node *nodes, struct gnn_err *err)
{
    for (uint32_t i = 0; i < seed_count; i++) {
        if (seeds[i] >= sampler->dataset->node_count)
            return node_error(sampler, "seed", seeds[i], err);
        if (gnn_id_map_add(&sampler->map, seeds[i]) != i)
            return gnn_fail(err, GNN_EFORMAT, "seed node %u occurs twice in one mini-batch", seeds[i]);
        nodes[i] = seeds[i];
        if (sampler->map.count == sampler->map.capacity)
            gnn_id_map_grow(&sampler->map, nodes);
    }
    return GNN_OK;
}

static gnn_node original(const struct gnn_sampler *sampler, gnn_node node)
{
    const gnn_node *const map = sampler->config.original_id;
    return map == NULL ? node : map[node];
}

static void draw_waiting(struct gnn_sampler *sampler, const struct hop *hop, struct gnn_draw_lanes *lanes)
{
    gnn_draw_lanes(lanes, hop->draw_key, hop->fanout, sampler->config.floyd_biased, sampler->edge_offset);
    lanes->count = 0;
}

/* Puts the edge offsets of node v's row from `edges` on, or lets it wait for its draw. Returns its edges. Whether there
 * are more neighbours than are drawn is not foreseen: no jump depends on it, a row is written as if there were not. */
static uint32_t draw_row(struct gnn_sampler *sampler, const struct hop *hop, gnn_node v, uint32_t edges,
                         struct gnn_draw_lanes *lanes)
{
    const uint64_t *const indptr = sampler->dataset->indptr;
    const uint64_t begin = indptr[v], degree = indptr[v + 1] - begin;
    const uint32_t fanout = hop->fanout, count = (uint32_t)gnn_min_u64(degree, fanout);
    uint64_t *const out = sampler->edge_offset + edges;
    if (degree > GNN_DRAW_LANES_DEGREE_MAX)
        return gnn_draw(gnn_rng_fold(hop->draw_key, original(sampler, v)), begin, degree, fanout,
                        sampler->config.floyd_biased, out);
    lanes->node[lanes->count] = original(sampler, v);
    lanes->degree[lanes->count] = (uint32_t)degree;
    lanes->begin[lanes->count] = begin;
    lanes->at[lanes->count] = edges;
    lanes->count += degree > fanout;
    const uint32_t written = edges + (uint64_t)fanout <= sampler->edge_room ? fanout : count;
    for (uint32_t i = 0; i < written; i++)
        out[i] = begin + i; /* the next row, or this one's draw, writes over the rest */
    return count;
}

/* Pass 1: row_start, and the edge offsets of every row one after another. */
static void draw_positions(struct gnn_sampler *sampler, struct hop *hop)
{
    const uint64_t *const indptr = sampler->dataset->indptr;
    struct gnn_draw_lanes lanes = {.count = 0};
    uint32_t edges = 0;
    for (uint32_t i = 0; i < hop->dst_count; i++) {
        if (i + PREFETCH_ROWS < hop->dst_count)
            __builtin_prefetch(indptr + hop->nodes[i + PREFETCH_ROWS]);
        hop->row_start[i] = edges;
        edges += draw_row(sampler, hop, hop->nodes[i], edges, &lanes);
        if (lanes.count == GNN_LANES)
            draw_waiting(sampler, hop, &lanes);
    }
    draw_waiting(sampler, hop, &lanes);
    assert((uint64_t)hop->dst_count * hop->fanout >= edges);
    hop->row_start[hop->dst_count] = edges;
    hop->edge_count = edges;
}

/* Fails where a neighbour of rows first .. end - 1 lies outside the graph. */
static enum gnn_status check_neighbours(const struct gnn_sampler *sampler, const struct hop *hop, uint32_t first,
                                        uint32_t end, struct gnn_err *err)
{
    const uint32_t node_count = sampler->dataset->node_count;
    gnn_node largest = 0;
    for (uint32_t e = hop->row_start[first]; e < hop->row_start[end]; e++)
        largest = gnn_max_u32(largest, hop->col[e]);
    if (largest < node_count)
        return GNN_OK;
    uint32_t e = hop->row_start[first];
    while (hop->col[e] < node_count)
        e++;
    while (hop->row_start[first + 1] <= e)
        first++;
    return neighbour_error(sampler, hop->nodes[first], hop->col[e], err);
}

/* Puts every edge's row key to the tile. Rows are written as if they were whole: the next one writes over the rest.
 * Returns what rows without neighbours add to the digest. */
static uint64_t note_digest_keys(struct gnn_sampler *sampler, const struct hop *hop, uint32_t first, uint32_t end)
{
    uint64_t lonely = 0;
    for (uint32_t i = first; i < end; i++) {
        uint64_t *const key = sampler->tile.digest_key + (hop->row_start[i] - hop->row_start[first]);
        const uint64_t row_key = gnn_digest_row_key(hop->digest_key, original(sampler, hop->nodes[i]));
        if (hop->row_start[i] == hop->row_start[i + 1])
            lonely += gnn_digest_lonely(row_key);
        for (uint32_t k = 0; k < hop->fanout; k++)
            key[k] = row_key;
    }
    return lonely;
}

/* Returns what rows first .. end - 1 add to the digest. */
static uint64_t digest_rows(struct gnn_sampler *sampler, const struct hop *hop, uint32_t first, uint32_t end)
{
    struct tile *const tile = &sampler->tile;
    const uint32_t begin = hop->row_start[first], count = hop->row_start[end] - begin;
    const gnn_node *neighbour = hop->col + begin;
    uint64_t sum = note_digest_keys(sampler, hop, first, end);
    if (sampler->config.original_id != NULL) {
        for (uint32_t e = 0; e < count; e++)
            tile->neighbour[e] = sampler->config.original_id[neighbour[e]];
        neighbour = tile->neighbour;
    }
    for (uint32_t e = 0; e < count; e++)
        sum += gnn_digest_edge(tile->digest_key[e], neighbour[e]);
    return sum;
}

/* Puts the local IDs of edges begin .. end - 1 to the tile; new nodes join the list. */
static void add_neighbours(struct gnn_sampler *sampler, const struct hop *hop, uint32_t begin, uint32_t end)
{
    struct gnn_id_map *const map = &sampler->map;
    struct tile *const tile = &sampler->tile;
    const uint32_t before = map->count;
    if (map->capacity - before < end - begin)
        gnn_id_map_grow(map, hop->nodes);
    gnn_id_map_add_many(map, hop->col + begin, end - begin, hop->edge_count - end, tile->local, tile->scratch,
                        tile->fresh);
    assert(map->count <= map->capacity);
    memcpy(hop->nodes + before, tile->fresh, (map->count - before) * sizeof *hop->nodes);
}

/* Pass 3: global neighbour IDs become local columns, new nodes join the list, the digest sees every edge. A few rows at
 * a time go through one loop after the other, each of which does one thing to all their edges. */
static enum gnn_status localise(struct gnn_sampler *sampler, const struct hop *hop, uint64_t *digest,
                                struct gnn_err *err)
{
    const struct tile *const tile = &sampler->tile;
    for (uint32_t first = 0; first < hop->dst_count; first += TILE_ROWS) {
        const uint32_t end = gnn_min_u32(first + TILE_ROWS, hop->dst_count), begin = hop->row_start[first];
        GNN_TRY(check_neighbours(sampler, hop, first, end, err));
        *digest += digest_rows(sampler, hop, first, end);
        add_neighbours(sampler, hop, begin, hop->row_start[end]);
        gnn_sort_rows(tile->local, hop->row_start + first, end - first, sizeof tile->local / sizeof *tile->local,
                      hop->col + begin);
    }
    return GNN_OK;
}

static void charge_hop(const struct gnn_sampler *sampler, uint64_t edges)
{
    struct gnn_world *const world = sampler->world;
    if (sampler->config.framework) {
        gnn_charge(world, GNN_WORK_FRAMEWORK_EDGE, edges);
        return;
    }
    gnn_charge(world, GNN_WORK_SAMPLED_EDGE, edges);
    gnn_charge(world, GNN_WORK_HASHED_ID, edges);
    gnn_charge(world, GNN_WORK_SORTED_KEY, edges);
}

static enum gnn_status run_hop(struct gnn_sampler *sampler, struct hop *hop, uint64_t *digest, struct gnn_err *err)
{
    const struct gnn_neighbour_source_ops *const ops = sampler->source->ops;
    draw_positions(sampler, hop);
    if (ops->fetch_lists != NULL)
        GNN_TRY(ops->fetch_lists(sampler->source, hop->nodes, hop->row_start, hop->dst_count, sampler->edge_offset,
                                 hop->col, err));
    else
        GNN_TRY(ops->fetch(sampler->source, sampler->edge_offset, hop->edge_count, hop->col, err));
    GNN_TRY(localise(sampler, hop, digest, err));
    charge_hop(sampler, hop->edge_count);
    return GNN_OK;
}

static enum gnn_status run_hops(struct gnn_sampler *sampler, struct gnn_batch *out, struct gnn_batch_view *view,
                                uint64_t *digest, struct gnn_err *err)
{
    for (uint32_t l = 1; l <= view->layer_count; l++) {
        const uint32_t block = view->layer_count - l;
        struct hop hop = {
            .fanout = sampler->config.fanout[l - 1],
            .dst_count = sampler->map.count,
            .draw_key = gnn_draw_hop_key(sampler->sample_key, view->epoch, view->batch, l),
            .digest_key = gnn_digest_layer_key(view->epoch, view->batch, block),
            .nodes = out->nodes,
            .row_start = out->row_start[block],
            .col = out->col[block],
        };
        GNN_TRY(run_hop(sampler, &hop, digest, err));
        assert(hop.dst_count <= sampler->map.count);
        view->blocks[block] = (struct gnn_block){
            .dst_count = hop.dst_count,
            .src_count = sampler->map.count,
            .edge_count = hop.edge_count,
            .row_start = hop.row_start,
            .col = hop.col,
        };
    }
    return GNN_OK;
}

static void count_batch(struct gnn_sample_counters *counters, const struct gnn_batch_view *view, uint64_t digest)
{
    counters->batches++;
    counters->sampled_nodes += view->node_count;
    for (uint32_t b = 0; b < view->layer_count; b++)
        counters->sampled_edges += view->blocks[b].edge_count;
    gnn_count_digest(counters, view->batch, digest);
}

enum gnn_status gnn_sampler_sample(struct gnn_sampler *sampler, uint64_t epoch, uint64_t batch, const gnn_node *seeds,
                                   uint32_t seed_count, struct gnn_batch *out, struct gnn_err *err)
{
    const struct gnn_sampler_config *const config = &sampler->config;
    struct gnn_sample_bounds bounds;
    if (seed_count < 1 || seed_count > sampler->dataset->node_count)
        return gnn_fail(err, GNN_EUSAGE, "mini-batch of %u seeds; the graph has %u nodes", seed_count,
                        sampler->dataset->node_count);
    GNN_TRY(gnn_sample_bounds(sampler->dataset, seed_count, config->fanout, config->layers, &bounds, err));
    GNN_TRY(gnn_batch_reserve(sampler->world, out, &bounds, err));
    GNN_TRY(reserve_workspace(sampler, &bounds, err));
    gnn_id_map_clear(&sampler->map);
    GNN_TRY(add_seeds(sampler, seeds, seed_count, out->nodes, err));
    struct gnn_batch_view view = {
        .epoch = epoch, .batch = batch, .layer_count = config->layers, .seed_count = seed_count, .nodes = out->nodes};
    uint64_t digest = 0;
    GNN_TRY(run_hops(sampler, out, &view, &digest, err));
    view.node_count = sampler->map.count;
    assert(view.node_count >= seed_count);
    assert(view.node_count <= bounds.nodes[config->layers]);
    out->view = view; /* only a whole batch is seen */
    count_batch(&sampler->counters, &view, digest);
    return GNN_OK;
}
