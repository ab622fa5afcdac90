/* SPDX-License-Identifier: MIT */
#include "harness/sample/link_batch.h"

#include "harness/base/id_map.h"
#include "harness/base/rng.h"
#include "harness/graph/permute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const gnn_negative_set_words[] = {"sampled", "own", "all", NULL}; /* in the order of the enum */

uint32_t gnn_epoch_edge(uint64_t seed, uint64_t epoch, uint32_t count, uint32_t position)
{
    return gnn_permute(gnn_rng_fold(gnn_rng_fork(seed, "permute-edges"), epoch), count, position);
}

/* ---- sizes ---- */

uint32_t gnn_negative_from_edges(const struct gnn_negative_config *config)
{
    return (uint32_t)lround(config->degree_share * config->count);
}

static uint32_t chunk_edges_most(const struct gnn_negative_config *config, uint32_t batch_size)
{
    return (uint32_t)gnn_div_up(batch_size, config->chunks);
}

uint32_t gnn_negative_most(const struct gnn_negative_config *config, uint32_t batch_size, uint32_t node_count)
{
    switch (config->set) {
    case GNN_NEGATIVES_OWN:
        return config->count + chunk_edges_most(config, batch_size);
    case GNN_NEGATIVES_ALL:
        return node_count;
    default:
        return config->count;
    }
}

uint32_t gnn_link_node_bound(const struct gnn_negative_config *config, uint32_t batch_size, uint32_t node_count)
{
    if (config->set == GNN_NEGATIVES_ALL)
        return node_count;
    const uint64_t uniform = config->count - gnn_negative_from_edges(config);
    return (uint32_t)gnn_min_u64(2 * (batch_size + config->chunks * uniform), node_count);
}

/* Entries of each side's list of negatives. */
static uint64_t negative_entries(const struct gnn_negative_config *config, uint32_t universe, uint32_t batch_size)
{
    const uint64_t lists = config->set == GNN_NEGATIVES_ALL ? 1 : config->chunks;
    return lists * gnn_negative_most(config, batch_size, universe);
}

/* Places of true ends, on each side. */
static uint32_t masked_entries(const struct gnn_negative_config *config, uint32_t batch_size)
{
    return config->set == GNN_NEGATIVES_ALL ? batch_size : 0;
}

static uint64_t list_bytes(const struct gnn_negative_config *config, uint32_t universe, uint32_t batch_size)
{
    const uint64_t nodes = gnn_link_node_bound(config, batch_size, universe);
    const uint64_t edges = 3 * (uint64_t)batch_size + 2 * (uint64_t)masked_entries(config, batch_size);
    return gnn_mul_bytes(nodes + edges + 4 * negative_entries(config, universe, batch_size), sizeof(uint32_t));
}

uint64_t gnn_link_batch_bytes(const struct gnn_negative_config *config, uint32_t universe, uint32_t batch_size)
{
    const uint32_t nodes = gnn_link_node_bound(config, batch_size, universe);
    return gnn_add_bytes(list_bytes(config, universe, batch_size), gnn_id_map_bytes(universe, nodes));
}

/* ---- opening ---- */

static enum gnn_status check_config(const struct gnn_negative_config *config, uint32_t universe, uint32_t batch_size,
                                    struct gnn_err *err)
{
    if (config->count < 1 || config->chunks < 1 || batch_size < 1)
        return gnn_fail(err, GNN_EUSAGE, "%u negatives, %u chunks, %u edges a batch: each must be at least 1",
                        config->count, config->chunks, batch_size);
    if (!(config->degree_share >= 0 && config->degree_share <= 1))
        return gnn_fail(err, GNN_EUSAGE, "a share of %g negatives from edges: must be 0 to 1", config->degree_share);
    if (config->set == GNN_NEGATIVES_ALL && (uint64_t)chunk_edges_most(config, batch_size) * universe > UINT32_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "chunks of %u edges compared with all %u nodes have over 2^32 scores: raise --chunks, or use "
                        "--negative-set own",
                        chunk_edges_most(config, batch_size), universe);
    if (negative_entries(config, universe, batch_size) >= UINT32_MAX / 2)
        return gnn_fail(err, GNN_EUSAGE, "%u chunks of %u negatives: at most 2^31 a mini-batch", config->chunks,
                        config->count);
    return GNN_OK;
}

static void place_lists(struct gnn_link_batch *b)
{
    uint32_t *at = b->memory;
    b->own_nodes = at;
    at += gnn_link_node_bound(&b->config, b->batch_size, b->universe);
    for (uint32_t side = 0; side < 2; side++, at += b->batch_size)
        b->end[side] = at;
    b->relation = at;
    at += b->batch_size;
    const uint64_t entries = negative_entries(&b->config, b->universe, b->batch_size);
    for (uint32_t side = 0; side < 2; side++, at += entries)
        b->negative[side] = at;
    for (uint32_t side = 0; side < 2; side++, at += entries)
        b->own[side] = at;
    for (uint32_t side = 0; side < 2; side++, at += masked_entries(&b->config, b->batch_size))
        b->masked[side] = at;
    b->nodes = b->own_nodes;
}

static enum gnn_status fill_handle(struct gnn_link_batch *b, struct gnn_err *err)
{
    const uint32_t nodes = gnn_link_node_bound(&b->config, b->batch_size, b->universe);
    GNN_TRY(gnn_mem_alloc(b->world, "batch of edges", list_bytes(&b->config, b->universe, b->batch_size), GNN_MEM_PLAIN,
                          &b->memory, err));
    GNN_TRY(gnn_mem_alloc(b->world, "ID map of a batch of edges", gnn_id_map_bytes(b->universe, nodes), GNN_MEM_PLAIN,
                          &b->map_memory, err));
    GNN_NEW(b->map, 1, err, "ID map of a batch of edges");
    gnn_id_map_init(b->map, b->map_memory, b->universe, nodes);
    place_lists(b);
    return GNN_OK;
}

enum gnn_status gnn_link_batch_open(struct gnn_world *world, const struct gnn_negative_config *config,
                                    uint32_t universe, uint32_t batch_size, struct gnn_link_batch **out,
                                    struct gnn_err *err)
{
    struct gnn_link_batch *b;
    assert(universe > 0);
    GNN_TRY(check_config(config, universe, batch_size, err));
    GNN_NEW(b, 1, err, "batch of edges");
    *b = (struct gnn_link_batch){.world = world, .config = *config, .universe = universe, .batch_size = batch_size};
    const enum gnn_status status = fill_handle(b, err);
    return GNN_OPENED(status, b, out, gnn_link_batch_close);
}

void gnn_link_batch_close(struct gnn_link_batch *batch)
{
    if (batch == NULL)
        return;
    gnn_mem_free(batch->world, batch->memory);
    gnn_mem_free(batch->world, batch->map_memory);
    free(batch->map);
    free(batch);
}

/* ---- filling ---- */

/* The row of a node; a new one is appended. */
static uint32_t row_of(struct gnn_link_batch *b, gnn_node node)
{
    const uint32_t row = gnn_id_map_add(b->map, node);
    b->own_nodes[row] = node;
    return row;
}

static enum gnn_status take_edges(struct gnn_link_batch *b, const struct gnn_triple *edges, uint32_t count,
                                  struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (edges[i].source >= b->universe || edges[i].target >= b->universe)
            return gnn_fail(err, GNN_EFORMAT, "an edge joins nodes %" PRIu32 " and %" PRIu32 ", the graph has %" PRIu32,
                            edges[i].source, edges[i].target, b->universe);
        b->end[0][i] = row_of(b, edges[i].source);
        b->end[1][i] = row_of(b, edges[i].target);
        b->relation[i] = edges[i].relation;
    }
    return GNN_OK;
}

/* The negatives of one chunk and side: uniform ones first, then ends of the mini-batch's edges. */
static void draw_negatives(struct gnn_link_batch *b, uint64_t key, uint32_t chunk, uint32_t side, const gnn_node *pool,
                           uint32_t pool_count)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fold(key, chunk), side));
    const uint32_t count = b->config.count, uniform = count - gnn_negative_from_edges(&b->config);
    const uint32_t first = chunk * b->view.chunk_edges;
    uint32_t *const row = b->negative[side] + gnn_link_chunk_first(&b->view, chunk);
    uint32_t *const own = b->own[side] + gnn_link_chunk_first(&b->view, chunk);
    for (uint32_t j = 0; j < count; j++) {
        own[j] = GNN_NODE_NONE;
        if (j < uniform) {
            const uint32_t pick = (uint32_t)gnn_rng_below(&rng, pool_count);
            row[j] = row_of(b, pool != NULL ? pool[pick] : pick);
            continue;
        }
        const uint32_t edge = (uint32_t)gnn_rng_below(&rng, b->view.edge_count);
        row[j] = b->end[side][edge];
        if (edge >= first && edge - first < b->view.chunk_edges)
            own[j] = edge - first;
    }
}

/* The ends that the chunk's queries are made of, behind its sampled negatives. An edge from a node to itself is not
 * compared with that node. */
static void add_query_ends(struct gnn_link_batch *b, uint32_t chunk, uint32_t side)
{
    const struct gnn_link_view *const v = &b->view;
    const uint32_t first = chunk * v->chunk_edges;
    const uint64_t at = gnn_link_chunk_first(v, chunk) + b->config.count;
    for (uint32_t i = 0; i < gnn_link_chunk_edges(v, chunk); i++) {
        const uint32_t end = b->end[1 - side][first + i];
        b->negative[side][at + i] = end;
        b->own[side][at + i] = end == b->end[side][first + i] ? i : GNN_NODE_NONE;
    }
}

/* The pool, and so all rows in their order: a row is its own place in the list. */
static void take_all(struct gnn_link_batch *b, const gnn_node *pool, uint32_t pool_count)
{
    struct gnn_link_view *const v = &b->view;
    for (uint32_t i = 0; i < pool_count; i++)
        (void)row_of(b, pool != NULL ? pool[i] : i);
    v->negative_count = b->map->count;
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t j = 0; j < v->negative_count; j++) {
            b->negative[side][j] = j;
            b->own[side][j] = GNN_NODE_NONE;
        }
        for (uint32_t i = 0; i < v->edge_count; i++)
            b->masked[side][i] = i % v->chunk_edges * v->negative_count + b->end[side][i];
        v->masked[side] = b->masked[side];
    }
}

static void take_negatives(struct gnn_link_batch *b, const gnn_node *pool, uint32_t pool_count)
{
    struct gnn_link_view *const v = &b->view;
    const uint64_t key = gnn_rng_fold(gnn_rng_fold(gnn_rng_fork(b->config.seed, "negative"), v->epoch), v->batch);
    if (v->set == GNN_NEGATIVES_ALL) {
        take_all(b, pool, pool_count);
        gnn_charge(b->world, GNN_WORK_HASHED_ID, pool_count);
        return;
    }
    for (uint32_t chunk = 0; chunk < gnn_link_chunks(v); chunk++)
        for (uint32_t side = 0; side < 2; side++) {
            draw_negatives(b, key, chunk, side, pool, pool_count);
            if (v->set == GNN_NEGATIVES_OWN)
                add_query_ends(b, chunk, side);
        }
    gnn_charge(b->world, GNN_WORK_SAMPLED_EDGE, 2 * (uint64_t)gnn_link_chunks(v) * b->config.count);
}

/* A sum over edges and negatives, so that it does not depend on the rows they got. */
static uint64_t digest_of(const struct gnn_link_batch *b)
{
    const struct gnn_link_view *const v = &b->view;
    const uint64_t key = gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(0, v->epoch), v->batch), GNN_NODE_NONE);
    uint64_t digest = 0;
    for (uint32_t i = 0; i < v->edge_count; i++)
        digest += gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(key, b->nodes[v->end[0][i]]), v->relation[i]),
                               b->nodes[v->end[1][i]]);
    const uint32_t lists = v->set == GNN_NEGATIVES_ALL ? 1 : gnn_link_chunks(v);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t chunk = 0; chunk < lists; chunk++) {
            const uint32_t *const row = v->negative[side] + gnn_link_chunk_first(v, chunk);
            const uint64_t of_chunk = gnn_rng_fold(gnn_rng_fold(key, side), chunk);
            for (uint32_t j = 0; j < gnn_link_chunk_negatives(v, chunk); j++)
                digest += gnn_rng_fold(of_chunk, b->nodes[row[j]]);
        }
    return digest;
}

enum gnn_status gnn_link_batch_fill(struct gnn_link_batch *batch, uint64_t epoch, uint64_t number,
                                    const struct gnn_triple *edges, uint32_t count, const gnn_node *pool,
                                    uint32_t pool_count, struct gnn_err *err)
{
    struct gnn_link_view *const v = &batch->view;
    assert(count > 0);
    assert(count <= batch->batch_size);
    assert(pool == NULL || pool_count > 0);
    *v = (struct gnn_link_view){.edge_count = 0};
    gnn_id_map_clear(batch->map);
    GNN_TRY(take_edges(batch, edges, count, err));
    *v = (struct gnn_link_view){.epoch = epoch,
                                .batch = number,
                                .edge_count = count,
                                .end = {batch->end[0], batch->end[1]},
                                .relation = batch->relation,
                                .chunk_edges = (uint32_t)gnn_div_up(count, batch->config.chunks),
                                .set = batch->config.set,
                                .negative = {batch->negative[0], batch->negative[1]},
                                .own = {batch->own[0], batch->own[1]}};
    v->negative_count = batch->config.count + (v->set == GNN_NEGATIVES_OWN ? v->chunk_edges : 0);
    take_negatives(batch, pool, pool != NULL ? pool_count : batch->universe);
    v->node_count = batch->map->count;
    batch->digest = digest_of(batch);
    gnn_charge(batch->world, GNN_WORK_HASHED_ID, 2 * (uint64_t)count);
    return GNN_OK;
}
