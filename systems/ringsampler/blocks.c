/* SPDX-License-Identifier: MIT */
/* A mini-batch's blocks: sizes first, then slots, then local IDs (paper, section 3.1, Figure 2, steps 2, 7 and 8).
 *
 * In       a hop's targets; after the reads, the neighbour each slot drew
 * Out      row_start, and col in local IDs: targets first, then new nodes in slot order
 * Frontier `all`: every node known so far is a target of the next hop (what the other systems and the models expect);
 *          `neighbours`: the distinct samples alone, the seeds and earlier targets are dropped (paper, Figure 1)
 * Dedupe   a hash map, or a sort of (ID, slot) pairs as an ablation
 * Errors   GNN_EFORMAT for IDs outside the graph; a batch that outgrows its memory is marked full */
#include "systems/ringsampler/blocks.h"

#include "harness/sample/digest.h"
#include "harness/sample/sort_row.h"
#include "systems/ringsampler/extents.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ringsampler.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PREFETCH_IDS = 16 };

/* ---- memory of a batch ---- */

/* Whether `bytes` more fit; else the batch is full from now on. */
static bool has_room(struct rs_batch *b, uint64_t bytes)
{
    assert(b->low_bytes + b->high_bytes <= b->size_bytes);
    b->full = b->full || bytes > b->size_bytes - b->high_bytes - b->low_bytes;
    return !b->full;
}

static void *take_low(struct rs_batch *b, uint64_t bytes)
{
    if (!has_room(b, bytes))
        return NULL;
    b->low_bytes += bytes;
    return b->memory + (b->low_bytes - bytes);
}

static void *take_high(struct rs_batch *b, uint64_t bytes)
{
    if (!has_room(b, bytes))
        return NULL;
    b->high_bytes += bytes;
    return b->memory + (b->size_bytes - b->high_bytes);
}

/* ---- begin ---- */

static enum gnn_status node_error(const struct rs_thread *thread, const char *what, gnn_node node, struct gnn_err *err)
{
    const struct gnn_dataset *const d = thread->s->env->dataset;
    return gnn_dataset_damaged(d, err, "dataset %s: %s %" PRIu32 ", but there are %" PRIu32 " nodes", d->name, what,
                               node, d->node_count);
}

/* Of slot p. IDs of 8 bytes that no gnn_node holds come as GNN_NODE_NONE. */
__attribute__((cold, noinline)) static enum gnn_status neighbour_error(const struct rs_thread *thread,
                                                                       const struct rs_hop *hop, uint32_t p,
                                                                       struct gnn_err *err)
{
    char what[64];
    uint32_t t = 0;
    while (hop->row_start[t + 1] <= p)
        t++;
    (void)snprintf(what, sizeof what, "in the list of node %" PRIu32 ", neighbour", hop->targets[t]);
    return node_error(thread, what, hop->col[p], err);
}

enum gnn_status rs_batch_begin(const struct rs_thread *thread, struct rs_batch *b, uint32_t number,
                               const gnn_node *seeds, uint32_t seed_count, struct gnn_err *err)
{
    assert(b->size_bytes % sizeof(uint64_t) == 0);
    assert(seed_count > 0);
    b->low_bytes = b->high_bytes = b->digest = 0;
    b->full = false;
    b->number = number;
    b->seed_count = seed_count;
    b->hop_count = thread->s->env->workload->layers;
    b->view = (struct gnn_batch_view){.node_count = 0};
    gnn_node *const nodes = take_low(b, seed_count * (uint64_t)sizeof *nodes);
    if (nodes == NULL)
        return GNN_OK;
    for (uint32_t i = 0; i < seed_count; i++) {
        if (seeds[i] >= thread->s->env->dataset->node_count)
            return node_error(thread, "seed", seeds[i], err);
        nodes[i] = seeds[i];
    }
    b->hops[0].nodes = nodes;
    b->hops[0].node_count = seed_count;
    return GNN_OK;
}

/* Fills row_start from the index alone; returns how many slots there are in all. */
static uint64_t count_slots(const struct rs_hop *hop)
{
    uint64_t slots = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        if (t + RS_PREFETCH_TARGETS < hop->target_count)
            __builtin_prefetch(hop->indptr + hop->targets[t + RS_PREFETCH_TARGETS]);
        const uint64_t degree = hop->indptr[hop->targets[t] + 1] - hop->indptr[hop->targets[t]];
        hop->row_start[t] = (uint32_t)slots;
        slots += gnn_min_u64(degree, hop->fanout);
    }
    return slots;
}

void rs_hop_begin(const struct rs_thread *thread, struct rs_batch *b, uint32_t l)
{
    const struct gnn_env *const env = thread->s->env;
    assert(l < b->hop_count);
    const uint32_t block = b->hop_count - 1 - l;
    struct rs_hop *const hop = &b->hops[l];
    *hop = (struct rs_hop){
        .targets = hop->nodes,
        .target_count = hop->node_count,
        .fanout = env->workload->fanout[l],
        .replace = thread->s->config->replace,
        .biased = env->floyd_biased,
        .draw_key = gnn_draw_hop_key(thread->s->sample_key, thread->epoch, b->number, l + 1),
        .digest_key = gnn_digest_layer_key(thread->epoch, b->number, block),
        .indptr = env->dataset->indptr,
        .nodes = hop->nodes,
        .node_count = hop->node_count,
    };
    hop->row_start = take_high(b, (hop->target_count + UINT64_C(1)) * sizeof *hop->row_start);
    if (hop->row_start == NULL)
        return;
    const uint64_t slots = count_slots(hop);
    if (slots > UINT32_MAX) {
        b->full = true;
        return;
    }
    hop->row_start[hop->target_count] = hop->sample_count = (uint32_t)slots;
    hop->col = take_high(b, slots * sizeof *hop->col);
}

/* ---- end: the hash map ---- */

/* Puts the hop's nodes so far into the map, with room for those that the hop may bring. */
static enum gnn_status load_map(struct rs_thread *thread, const struct rs_batch *b, const struct rs_hop *hop,
                                bool chained, struct gnn_err *err)
{
    struct gnn_id_map *const map = &thread->map;
    const uint64_t universe = thread->s->env->dataset->node_count, most = (uint64_t)hop->node_count + hop->sample_count;
    const uint64_t wanted = gnn_min_u64(most, universe) + 1;
    if (chained && thread->map_holds == b && map->count == hop->node_count &&
        gnn_id_map_sized_slots(wanted) <= map->slot_count)
        return GNN_OK;
    gnn_id_map_resize(map, wanted);
    thread->map_holds = b;
    if (hop->node_count >= map->capacity)
        return GNN_OK; /* the first new node will not fit */
    for (uint32_t i = 0; i < hop->node_count; i++) {
        if (i + PREFETCH_IDS < hop->node_count)
            gnn_id_map_prefetch(map, hop->nodes[i + PREFETCH_IDS]);
        if (gnn_id_map_add(map, hop->nodes[i]) != i)
            return gnn_dataset_damaged(thread->s->env->dataset, err, "seed %" PRIu32 " occurs twice in one mini-batch",
                                       hop->nodes[i]);
    }
    return GNN_OK;
}

/* Turns neighbours into local columns; new nodes join the list as far as `limit`. *fits = false: no further. */
static enum gnn_status localise_hash(struct rs_thread *thread, struct rs_hop *hop, uint32_t limit, uint64_t *digest,
                                     bool *fits, struct gnn_err *err)
{
    struct gnn_id_map *const map = &thread->map;
    const uint32_t universe = thread->s->env->dataset->node_count;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        const uint64_t row_key = gnn_digest_row_key(hop->digest_key, hop->targets[t]);
        if (hop->row_start[t] == hop->row_start[t + 1])
            sum += gnn_digest_lonely(row_key);
        for (uint32_t p = hop->row_start[t]; p < hop->row_start[t + 1]; p++) {
            const gnn_node neighbour = hop->col[p];
            if (p + PREFETCH_IDS < hop->sample_count)
                gnn_id_map_prefetch(map, hop->col[p + PREFETCH_IDS]);
            if (neighbour >= universe)
                return neighbour_error(thread, hop, p, err);
            const uint32_t fresh = map->count, local = gnn_id_map_add(map, neighbour);
            if (local == fresh) {
                if (fresh >= limit) {
                    *fits = false;
                    return GNN_OK;
                }
                hop->nodes[local] = neighbour;
            }
            hop->col[p] = local;
            sum += gnn_digest_edge(row_key, neighbour);
        }
    }
    hop->node_count = map->count;
    *digest += sum;
    return GNN_OK;
}

/* ---- end: sorted pairs ---- */

/* Fills first[i] of node i (targets, then slots): the earliest index with the same ID. */
static enum gnn_status find_first(struct rs_thread *thread, const struct rs_hop *hop, uint32_t *first,
                                  struct gnn_err *err)
{
    const uint32_t universe = thread->s->env->dataset->node_count, known = hop->node_count;
    const uint64_t count = (uint64_t)known + hop->sample_count;
    uint64_t *const pairs = thread->pairs;
    for (uint32_t i = 0; i < known; i++)
        pairs[i] = (uint64_t)hop->nodes[i] << 32 | i;
    for (uint32_t p = 0; p < hop->sample_count; p++) {
        if (hop->col[p] >= universe)
            return neighbour_error(thread, hop, p, err);
        pairs[known + (uint64_t)p] = (uint64_t)hop->col[p] << 32 | (known + p);
    }
    gnn_sort_keys(pairs, count, 0, 32 + rs_bits(universe));
    uint32_t head = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i == 0 || pairs[i] >> 32 != pairs[i - 1] >> 32)
            head = (uint32_t)pairs[i];
        else if ((uint32_t)pairs[i] < hop->node_count)
            return gnn_dataset_damaged(thread->s->env->dataset, err, "seed %" PRIu64 " occurs twice in one mini-batch",
                                       pairs[i] >> 32);
        first[(uint32_t)pairs[i]] = head;
    }
    return GNN_OK;
}

static enum gnn_status localise_sort(struct rs_thread *thread, struct rs_hop *hop, uint32_t limit, uint64_t *digest,
                                     bool *fits, struct gnn_err *err)
{
    const uint32_t known = hop->node_count;
    *fits = (uint64_t)known + hop->sample_count <= thread->pair_capacity;
    if (!*fits)
        return GNN_OK;
    uint32_t *const first = (uint32_t *)(thread->pairs + thread->pair_capacity);
    GNN_TRY(find_first(thread, hop, first, err));
    for (uint32_t t = 0; t < hop->target_count; t++) {
        const uint64_t row_key = gnn_digest_row_key(hop->digest_key, hop->targets[t]);
        if (hop->row_start[t] == hop->row_start[t + 1])
            *digest += gnn_digest_lonely(row_key);
        for (uint32_t p = hop->row_start[t]; p < hop->row_start[t + 1]; p++) {
            const uint32_t earliest = first[known + p];
            *digest += gnn_digest_edge(row_key, hop->col[p]);
            if (earliest == known + p) { /* a new node: its local ID is the next */
                if (hop->node_count >= limit) {
                    *fits = false;
                    return GNN_OK;
                }
                hop->nodes[hop->node_count] = hop->col[p];
                hop->col[p] = hop->node_count++;
            } else {
                hop->col[p] = earliest < known ? earliest : hop->col[earliest - known];
            }
        }
    }
    return GNN_OK;
}

/* ---- end: what follows ---- */

/* Makes the distinct samples the next targets, in local order: those that are targets already, then every new node. */
static void take_samples(struct rs_batch *b, const struct rs_hop *hop, struct rs_hop *next)
{
    const uint64_t mark_bytes = gnn_round_up(hop->target_count, 8);
    b->low_bytes = gnn_round_up(b->low_bytes, sizeof(uint32_t));
    unsigned char *const sampled = take_high(b, mark_bytes);
    next->nodes = take_low(b, hop->node_count * (uint64_t)sizeof *next->nodes);
    next->node_count = 0;
    if (b->full)
        return;
    memset(sampled, 0, mark_bytes);
    for (uint32_t p = 0; p < hop->sample_count; p++)
        if (hop->col[p] < hop->target_count)
            sampled[hop->col[p]] = 1;
    for (uint32_t i = 0; i < hop->node_count; i++)
        if (i >= hop->target_count || sampled[i] != 0)
            next->nodes[next->node_count++] = hop->nodes[i];
    b->high_bytes -= mark_bytes;
    b->low_bytes -= (hop->node_count - next->node_count) * (uint64_t)sizeof *next->nodes;
}

/* Localises the hop's neighbours by hash map or sort. Marks the batch full where its nodes do not fit its memory, or
 * the map's or the pairs'. */
static enum gnn_status localise(struct rs_thread *thread, struct rs_batch *b, struct rs_hop *hop, bool chained,
                                struct gnn_err *err)
{
    const bool hash = thread->s->config->dedupe == RS_DEDUPE_HASH;
    const uint32_t before = hop->node_count;
    uint64_t limit = before + (b->size_bytes - b->high_bytes - b->low_bytes) / sizeof *hop->nodes;
    if (hash) {
        GNN_TRY(load_map(thread, b, hop, chained, err));
        limit = gnn_min_u64(limit, gnn_max_u64(thread->map.capacity, 1) - 1);
    }
    bool fits = before <= limit;
    if (fits)
        GNN_TRY((hash ? localise_hash : localise_sort)(thread, hop, (uint32_t)gnn_min_u64(limit, UINT32_MAX),
                                                       &b->digest, &fits, err));
    if (!fits) {
        b->full = true;
        thread->map_holds = NULL;
        return GNN_OK;
    }
    assert(hop->node_count >= before);
    assert(hop->node_count <= limit);
    b->low_bytes += (hop->node_count - before) * (uint64_t)sizeof *hop->nodes;
    if (hash)
        thread->map_peak = gnn_max_u64(thread->map_peak, hop->node_count);
    return GNN_OK;
}

enum gnn_status rs_hop_end(struct rs_thread *thread, struct rs_batch *b, uint32_t l, struct gnn_err *err)
{
    assert(l < b->hop_count);
    assert(!b->full);
    struct rs_hop *const hop = &b->hops[l];
    struct gnn_world *const world = thread->s->env->world;
    const bool chained = thread->s->config->frontier == RS_FRONTIER_ALL;
    const bool hash = thread->s->config->dedupe == RS_DEDUPE_HASH;
    const uint32_t known = hop->node_count;
    GNN_TRY(localise(thread, b, hop, chained, err));
    if (b->full)
        return GNN_OK;
    gnn_charge(world, GNN_WORK_SAMPLED_EDGE, hop->sample_count);
    if (hash)
        gnn_charge(world, GNN_WORK_HASHED_ID, hop->sample_count);
    else
        gnn_charge(world, GNN_WORK_SORTED_KEY, gnn_sort_keys_work((uint64_t)known + hop->sample_count));
    if (chained) {
        gnn_sort_rows(hop->col, hop->row_start, hop->target_count, hop->row_start[hop->target_count], hop->col);
        gnn_charge(world, GNN_WORK_SORTED_KEY, hop->sample_count);
    }
    if (l + 1 == b->hop_count)
        return GNN_OK;
    struct rs_hop *const next = &b->hops[l + 1];
    next->nodes = hop->nodes;
    next->node_count = hop->node_count;
    if (!chained)
        take_samples(b, hop, next);
    return GNN_OK;
}

void rs_batch_end(struct rs_batch *b, uint64_t epoch, bool chained)
{
    if (!chained)
        return;
    assert(!b->full);
    const struct rs_hop *const last = &b->hops[b->hop_count - 1];
    b->view = (struct gnn_batch_view){.epoch = epoch,
                                      .batch = b->number,
                                      .layer_count = b->hop_count,
                                      .seed_count = b->seed_count,
                                      .node_count = last->node_count,
                                      .nodes = last->nodes};
    for (uint32_t l = 0; l < b->hop_count; l++) {
        const struct rs_hop *const hop = &b->hops[l];
        b->view.blocks[b->hop_count - 1 - l] = (struct gnn_block){.dst_count = hop->target_count,
                                                                  .src_count = hop->node_count,
                                                                  .edge_count = hop->sample_count,
                                                                  .row_start = hop->row_start,
                                                                  .col = hop->col};
    }
}
