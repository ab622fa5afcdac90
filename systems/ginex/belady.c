/* SPDX-License-Identifier: MIT */
#include "systems/ginex/belady.h"

#include "harness/base/arena.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PREFETCH = 16 };
enum { SEGMENT_START = 0x8000, BATCH_MASK = 0x7fff }; /* of an entry of iters */
_Static_assert((SEGMENT_START & BATCH_MASK) == 0, "the mark does not touch the batch number");
_Static_assert((int)GINEX_BATCHES_MAX <= (int)BATCH_MASK, "the number after the last batch, 'never', fits too");

/* States of a node. MISSED and REFUSED live within one step. */
enum { CACHED = 1, MISSED = 2, REFUSED = 4 };

struct ginex_belady {
    struct gnn_world *world;
    struct ginex_belady_config config;
    void *memory;
    /* A node's accesses: iters[cursor[v]] is the batch of the next one. Stepping onto the first entry of another
     * node's segment means that there is none. */
    uint32_t *cursor; /* (N) */
    uint16_t *iters;  /* (accesses + 1); the last is the entry of nodes without further access: batch `batches` */
    uint16_t *freq;   /* (N), passes 1 and 2: lies where child is later */
    /* Links of a node in its bucket's heap; of the recency list (towards older, towards newer) under LRU. */
    gnn_node *child, *sibling; /* (N) */
    uint8_t *state;            /* (N) */
    gnn_node *bucket;          /* (batches + 1) roots */
    uint32_t top;              /* no bucket above it holds anything */
    gnn_node newest, oldest;   /* LRU */
    uint32_t cached;           /* nodes */
    uint32_t distinct;
    uint32_t next_batch;
    gnn_node *in_node, *out_node; /* (batch_nodes_max) */
    uint32_t *in_row;
};

/* ---- memory ---- */

static void carve(struct ginex_belady *b, struct gnn_arena *arena)
{
    const uint64_t nodes = b->config.node_count, batch = b->config.batch_nodes_max;
    b->cursor = gnn_arena_take(arena, nodes * sizeof *b->cursor);
    b->iters = gnn_arena_take(arena, (b->config.accesses + 1) * sizeof *b->iters);
    b->child = gnn_arena_take(arena, nodes * sizeof *b->child);
    b->freq = (uint16_t *)b->child;
    b->sibling = gnn_arena_take(arena, nodes * sizeof *b->sibling);
    b->state = gnn_arena_take(arena, nodes * sizeof *b->state);
    b->bucket = gnn_arena_take(arena, (b->config.batches + UINT64_C(1)) * sizeof *b->bucket);
    b->in_node = gnn_arena_take(arena, batch * sizeof *b->in_node);
    b->in_row = gnn_arena_take(arena, batch * sizeof *b->in_row);
    b->out_node = gnn_arena_take(arena, batch * sizeof *b->out_node);
}

uint64_t ginex_belady_bytes(const struct ginex_belady_config *config)
{
    struct ginex_belady b = {.config = *config};
    struct gnn_arena count = {0};
    carve(&b, &count);
    return count.used_bytes;
}

enum gnn_status ginex_belady_open(struct gnn_world *world, const struct ginex_belady_config *config,
                                  struct ginex_belady **out, struct gnn_err *err)
{
    assert(config->cache_rows > 0);
    assert(config->batches > 0);
    if (config->batches > GINEX_BATCHES_MAX || config->accesses >= UINT32_MAX)
        return gnn_fail(
            err, GNN_EUSAGE,
            "a superbatch of %" PRIu32 " mini-batches with %" PRIu64
            " accesses is too large, because the inspection handles up to %d and 2^32: lower ginex.superbatch",
            config->batches, config->accesses, GINEX_BATCHES_MAX);
    struct ginex_belady *b;
    GNN_NEW(b, 1, err, "ginex's inspection");
    *out = b;
    b->world = world;
    b->config = *config;
    struct gnn_arena arena = {.size_bytes = ginex_belady_bytes(config)};
    GNN_TRY(gnn_mem_alloc(world, "ginex inspection", arena.size_bytes, GNN_MEM_PLAIN, &b->memory, err));
    arena.memory = b->memory;
    carve(b, &arena);
    assert(arena.used_bytes == arena.size_bytes);
    return GNN_OK;
}

void ginex_belady_close(struct ginex_belady *b)
{
    if (b == NULL)
        return;
    gnn_mem_free(b->world, b->memory);
    free(b);
}

/* ---- passes 1 and 2 ---- */

void ginex_belady_count(struct ginex_belady *b, const gnn_node *nodes, uint32_t count, gnn_node *initial,
                        uint32_t *initial_count)
{
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + PREFETCH < count)
            __builtin_prefetch(&b->freq[nodes[i + PREFETCH]], 1);
        const gnn_node v = nodes[i];
        assert(v < b->config.node_count);
        assert(b->freq[v] < b->config.batches);
        const bool first = b->freq[v]++ == 0;
        b->distinct += first;
        if (first && initial != NULL && *initial_count < b->config.cache_rows)
            initial[(*initial_count)++] = v;
    }
}

void ginex_belady_lay_out(struct ginex_belady *b)
{
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, b->config.node_count);
    uint64_t sum = 0;
    for (uint32_t v = 0; v < b->config.node_count; v++) {
        b->cursor[v] = (uint32_t)sum;
        sum += b->freq[v];
    }
    assert(sum == b->config.accesses);
}

void ginex_belady_place(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count)
{
    assert(batch < b->config.batches);
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, 2 * (uint64_t)count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + 2 * PREFETCH < count)
            __builtin_prefetch(&b->cursor[nodes[i + 2 * PREFETCH]], 1);
        if (i + PREFETCH < count)
            __builtin_prefetch(&b->iters[b->cursor[nodes[i + PREFETCH]]], 1);
        b->iters[b->cursor[nodes[i]]++] = (uint16_t)batch;
    }
}

/* ---- a bucket: pairing heap, largest ID at the root ---- */

static gnn_node meld(struct ginex_belady *b, gnn_node x, gnn_node y)
{
    const gnn_node root = x > y ? x : y, under = x > y ? y : x;
    b->sibling[under] = b->child[root];
    b->child[root] = under;
    return root;
}

static void insert(struct ginex_belady *b, uint32_t key, gnn_node v)
{
    assert(key <= b->config.batches);
    b->child[v] = b->sibling[v] = GNN_NODE_NONE;
    b->bucket[key] = b->bucket[key] == GNN_NODE_NONE ? v : meld(b, b->bucket[key], v);
    if (key > b->top)
        b->top = key;
}

/* Melds the children of a root that left: in pairs from the left, then all pairs from the right. */
static gnn_node meld_children(struct ginex_belady *b, gnn_node first)
{
    gnn_node pairs = GNN_NODE_NONE;
    while (first != GNN_NODE_NONE) {
        const gnn_node x = first, y = b->sibling[x];
        first = y == GNN_NODE_NONE ? y : b->sibling[y];
        const gnn_node pair = y == GNN_NODE_NONE ? x : meld(b, x, y);
        b->sibling[pair] = pairs;
        pairs = pair;
    }
    gnn_node root = GNN_NODE_NONE;
    while (pairs != GNN_NODE_NONE) {
        const gnn_node pair = pairs;
        pairs = b->sibling[pair];
        root = root == GNN_NODE_NONE ? pair : meld(b, root, pair);
    }
    if (root != GNN_NODE_NONE)
        b->sibling[root] = GNN_NODE_NONE;
    return root;
}

/* Takes out the candidate that is accessed last, of several the one with the largest ID. */
static gnn_node take_last(struct ginex_belady *b)
{
    while (b->bucket[b->top] == GNN_NODE_NONE) {
        assert(b->top > 0);
        b->top--;
    }
    const gnn_node v = b->bucket[b->top];
    b->bucket[b->top] = meld_children(b, b->child[v]);
    return v;
}

/* ---- recency list: child points to the next older, sibling to the next newer ---- */

static void list_unlink(struct ginex_belady *b, gnn_node v)
{
    const gnn_node older = b->child[v], newer = b->sibling[v];
    *(newer == GNN_NODE_NONE ? &b->newest : &b->child[newer]) = older;
    *(older == GNN_NODE_NONE ? &b->oldest : &b->sibling[older]) = newer;
}

static void list_push(struct ginex_belady *b, gnn_node v)
{
    b->child[v] = b->newest;
    b->sibling[v] = GNN_NODE_NONE;
    *(b->newest == GNN_NODE_NONE ? &b->oldest : &b->sibling[b->newest]) = v;
    b->newest = v;
}

static gnn_node take_oldest(struct ginex_belady *b)
{
    const gnn_node v = b->oldest;
    assert(v != GNN_NODE_NONE);
    list_unlink(b, v);
    return v;
}

/* ---- pass 3 ---- */

/* Sets every cursor back to the start of its node's segment and marks the segment's first entry. */
static void mark_segments(struct ginex_belady *b)
{
    const uint32_t end = (uint32_t)b->config.accesses;
    b->iters[end] = (uint16_t)(SEGMENT_START | b->config.batches);
    for (uint32_t v = 0; v < b->config.node_count; v++) {
        if (b->freq[v] == 0) {
            b->cursor[v] = end;
            continue;
        }
        b->cursor[v] -= b->freq[v];
        b->iters[b->cursor[v]] |= SEGMENT_START;
    }
}

void ginex_belady_begin(struct ginex_belady *b, const gnn_node *initial, uint32_t initial_count)
{
    assert(initial_count <= b->config.cache_rows);
    assert(initial_count <= b->config.node_count);
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, b->config.node_count + 2 * (uint64_t)initial_count);
    mark_segments(b); /* the last look at freq */
    memset(b->bucket, 0xff, (b->config.batches + UINT64_C(1)) * sizeof *b->bucket);
    b->newest = b->oldest = GNN_NODE_NONE;
    b->top = 0;
    b->next_batch = 0;
    b->cached = initial_count;
    for (uint32_t i = 0; i < initial_count; i++) {
        const gnn_node v = initial[i];
        assert(b->state[v] == 0);
        b->state[v] = CACHED;
        if (b->config.policy == GINEX_REPLACE_LRU)
            list_push(b, v);
        else
            insert(b, b->iters[b->cursor[v]] & BATCH_MASK, v);
    }
}

/* Moves past the access at `batch`; returns the batch of the next one, or `batches`. */
static uint32_t advance(struct ginex_belady *b, gnn_node v, uint32_t batch)
{
    uint32_t at = b->cursor[v];
    assert((b->iters[at] & BATCH_MASK) == batch);
    at++;
    if ((b->iters[at] & SEGMENT_START) != 0)
        at = (uint32_t)b->config.accesses;
    b->cursor[v] = at;
    return b->iters[at] & BATCH_MASK;
}

/* Adds the batch's nodes to the candidates. Returns how many of them were not cached. */
static uint32_t add_candidates(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count)
{
    uint32_t misses = 0;
    const bool lru = b->config.policy == GINEX_REPLACE_LRU;
    b->bucket[batch] = GNN_NODE_NONE; /* these are nodes of this batch: each joins again below */
    for (uint32_t i = 0; i < count; i++) {
        if (i + 2 * PREFETCH < count) {
            __builtin_prefetch(&b->cursor[nodes[i + 2 * PREFETCH]], 1);
            __builtin_prefetch(&b->state[nodes[i + 2 * PREFETCH]], 1);
            __builtin_prefetch(&b->child[nodes[i + 2 * PREFETCH]], 1);
            __builtin_prefetch(&b->sibling[nodes[i + 2 * PREFETCH]], 1);
        }
        if (i + PREFETCH < count)
            __builtin_prefetch(&b->iters[b->cursor[nodes[i + PREFETCH]]]);
        const gnn_node v = nodes[i];
        const uint32_t next = advance(b, v, batch);
        const bool cached = (b->state[v] & CACHED) != 0;
        misses += !cached;
        if (!cached)
            b->state[v] = MISSED;
        if (lru && cached)
            list_unlink(b, v);
        if (lru)
            list_push(b, v);
        else
            insert(b, next, v);
    }
    return misses;
}

/* Takes `surplus` candidates out and lists those that were cached. Returns how many it listed. */
static uint32_t evict(struct ginex_belady *b, uint32_t surplus)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < surplus; i++) {
        const gnn_node v = b->config.policy == GINEX_REPLACE_LRU ? take_oldest(b) : take_last(b);
        if ((b->state[v] & CACHED) != 0) {
            b->state[v] = 0;
            b->out_node[out++] = v;
        } else {
            assert(b->state[v] == MISSED);
            b->state[v] = MISSED | REFUSED;
        }
    }
    return out;
}

/* Marks what missed and was kept as cached and lists it. Returns how many it listed. */
static uint32_t admit(struct ginex_belady *b, const gnn_node *nodes, uint32_t count)
{
    uint32_t in = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + PREFETCH < count)
            __builtin_prefetch(&b->state[nodes[i + PREFETCH]], 1);
        const gnn_node v = nodes[i];
        if (b->state[v] == MISSED) {
            b->state[v] = CACHED;
            b->in_node[in] = v;
            b->in_row[in++] = i;
        } else if (b->state[v] != CACHED) {
            b->state[v] = 0;
        }
    }
    return in;
}

static uint32_t count_misses(const struct ginex_belady *b, const gnn_node *nodes, uint32_t count)
{
    uint32_t misses = 0;
    for (uint32_t i = 0; i < count; i++)
        misses += (b->state[nodes[i]] & CACHED) == 0;
    return misses;
}

void ginex_belady_step(struct ginex_belady *b, uint32_t batch, const gnn_node *nodes, uint32_t count,
                       struct ginex_changes *out)
{
    assert(batch == b->next_batch);
    assert(batch < b->config.batches);
    assert(count <= b->config.batch_nodes_max);
    b->next_batch++;
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, 4 * (uint64_t)count);
    *out = (struct ginex_changes){b->in_node, b->in_row, b->out_node, 0, 0};
    if (b->config.policy == GINEX_REPLACE_STATIC) {
        out->misses = count_misses(b, nodes, count);
        return;
    }
    out->misses = add_candidates(b, batch, nodes, count);
    const uint64_t candidates = b->cached + (uint64_t)out->misses, room = b->config.cache_rows;
    const uint32_t surplus = candidates > room ? (uint32_t)(candidates - room) : 0;
    gnn_charge(b->world, GNN_WORK_SORTED_KEY, surplus);
    const uint32_t evicted = evict(b, surplus), admitted = admit(b, nodes, count);
    assert(evicted == admitted); /* the cache is full, or it holds whatever is accessed */
    assert(admitted <= out->misses);
    out->count = admitted;
}

bool ginex_belady_cached(const struct ginex_belady *b, gnn_node node)
{
    return (b->state[node] & CACHED) != 0;
}

uint32_t ginex_belady_distinct(const struct ginex_belady *b)
{
    return b->distinct;
}
