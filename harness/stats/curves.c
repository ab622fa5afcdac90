/* SPDX-License-Identifier: MIT */
#include "harness/stats/curves.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_BITS = 9 /* positions a counter of the tree stands for: a cache line of marks */, LEVELS = 6 };
#define NEVER UINT32_MAX

/* ---- LRU ---- */

/* Which positions are the latest use of their row, and how many in any prefix: bits, and a Fenwick tree over blocks of
 * them. */
struct marks {
    uint64_t *words;
    uint32_t *tree; /* (blocks + 1) */
    uint32_t blocks;
};

static void count_block(struct marks *m, uint64_t position, uint32_t by)
{
    for (uint64_t at = (position >> BLOCK_BITS) + 1; at <= m->blocks; at += at & (~at + 1))
        m->tree[at] += by; /* unsigned: by may be -1 */
}

static void mark(struct marks *m, uint64_t position)
{
    m->words[position / 64] |= UINT64_C(1) << position % 64;
    count_block(m, position, 1);
}

static void unmark(struct marks *m, uint64_t position)
{
    m->words[position / 64] &= ~(UINT64_C(1) << position % 64);
    count_block(m, position, UINT32_MAX);
}

/* Marks at positions up to and including this one. */
static uint64_t marks_to(const struct marks *m, uint64_t position)
{
    uint64_t sum = 0;
    for (uint64_t at = position >> BLOCK_BITS; at > 0; at -= at & (~at + 1))
        sum += m->tree[at];
    for (uint64_t word = position >> BLOCK_BITS << (BLOCK_BITS - 6); word < position / 64; word++)
        sum += (uint64_t)__builtin_popcountll(m->words[word]);
    return sum + (uint64_t)__builtin_popcountll(m->words[position / 64] << (63 - position % 64));
}

/* Adds an access of this distance to the least size that catches it. */
static void count_distance(const uint64_t *sizes, uint32_t size_count, uint64_t distance, uint64_t *hits)
{
    uint32_t low = 0, high = size_count; /* the first size above the distance */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sizes[middle] > distance)
            high = middle;
        else
            low = middle + 1;
    }
    if (low < size_count)
        hits[low]++;
}

static void walk_lru(const struct gnn_accesses *a, struct marks *m, uint32_t *last, const uint64_t *sizes,
                     uint32_t size_count, uint64_t *hits)
{
    uint64_t distinct = 0;
    memset(last, 0xff, (uint64_t)a->node_count * sizeof *last);
    for (uint64_t i = 0; i < a->count; i++) {
        const gnn_node row = a->rows[i];
        assert(row < a->node_count);
        if (last[row] == NEVER) {
            distinct++;
        } else {
            count_distance(sizes, size_count, distinct - marks_to(m, last[row]), hits);
            unmark(m, last[row]);
        }
        mark(m, i);
        last[row] = (uint32_t)i;
    }
}

enum gnn_status gnn_lru_hits(struct gnn_world *world, const struct gnn_accesses *accesses, const uint64_t *sizes,
                             uint32_t size_count, uint64_t *hits, struct gnn_err *err)
{
    assert(accesses->count < NEVER);
    struct marks m = {.blocks = (uint32_t)(accesses->count >> BLOCK_BITS) + 1};
    void *last = NULL, *words = NULL, *tree = NULL;
    memset(hits, 0, size_count * sizeof *hits);
    enum gnn_status status =
        gnn_mem_alloc(world, "last uses", (uint64_t)accesses->node_count * sizeof(uint32_t), GNN_MEM_PLAIN, &last, err);
    GNN_NEXT(status, gnn_mem_alloc(world, "marks", (uint64_t)m.blocks << BLOCK_BITS >> 3, GNN_MEM_PLAIN, &words, err));
    GNN_NEXT(status, gnn_mem_alloc(world, "counts of marks", (m.blocks + UINT64_C(1)) * sizeof(uint32_t), GNN_MEM_PLAIN,
                                   &tree, err));
    m.words = words;
    m.tree = tree;
    if (status == GNN_OK)
        walk_lru(accesses, &m, last, sizes, size_count, hits);
    for (uint32_t i = 1; i < size_count; i++) /* a larger cache catches what a smaller one does */
        hits[i] += hits[i - 1];
    gnn_mem_free(world, tree);
    gnn_mem_free(world, words);
    gnn_mem_free(world, last);
    return status;
}

/* ---- Belady ---- */

/* A set of positions that finds its greatest: bits, and above every 64 words one that says which are not empty. */
struct positions {
    uint64_t *words[LEVELS];
    uint32_t levels;
    uint64_t members;
};

static uint64_t words_of_level(uint64_t count, uint32_t level)
{
    for (uint32_t l = 0; l <= level; l++)
        count = gnn_div_up(count, 64);
    return gnn_max_u64(count, 1);
}

static void add_position(struct positions *p, uint64_t x)
{
    p->members++;
    for (uint32_t l = 0; l < p->levels; l++, x /= 64) {
        const bool known = p->words[l][x / 64] != 0;
        p->words[l][x / 64] |= UINT64_C(1) << x % 64;
        if (known)
            return;
    }
}

static void remove_position(struct positions *p, uint64_t x)
{
    p->members--;
    for (uint32_t l = 0; l < p->levels; l++, x /= 64) {
        p->words[l][x / 64] &= ~(UINT64_C(1) << x % 64);
        if (p->words[l][x / 64] != 0)
            return;
    }
}

static uint64_t greatest_position(const struct positions *p)
{
    uint64_t x = 0;
    assert(p->members > 0);
    for (uint32_t l = p->levels; l-- > 0;)
        x = x * 64 + 63 - (uint64_t)__builtin_clzll(p->words[l][x]);
    return x;
}

/* The set holds the next use of every row in the cache; it is empty again at the end. */
static void walk_belady(const struct gnn_accesses *a, const uint32_t *next, uint64_t size, const uint64_t *ends,
                        uint64_t *misses, struct positions *p)
{
    uint32_t part = 0;
    uint64_t hits = 0, first = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        for (; i == ends[part]; part++) {
            misses[part] = ends[part] - first - hits;
            first = ends[part];
            hits = 0;
        }
        if ((p->words[0][i / 64] >> i % 64 & 1) != 0) {
            hits++;
            remove_position(p, i);
        }
        if (next[i] == NEVER)
            continue;
        add_position(p, next[i]);
        if (p->members > size)
            remove_position(p, greatest_position(p));
    }
    misses[part] = a->count - first - hits;
    assert(p->members == 0); /* every position that was kept has come */
}

static void find_next_uses(const struct gnn_accesses *a, uint32_t *last, uint32_t *next)
{
    memset(last, 0xff, (uint64_t)a->node_count * sizeof *last);
    for (uint64_t i = a->count; i-- > 0;) {
        assert(a->rows[i] < a->node_count);
        next[i] = last[a->rows[i]];
        last[a->rows[i]] = (uint32_t)i;
    }
}

static enum gnn_status open_positions(struct gnn_world *world, uint64_t count, struct positions *p, void **memory,
                                      struct gnn_err *err)
{
    uint64_t words = 0;
    for (p->levels = 1; words_of_level(count, p->levels - 1) > 1; p->levels++)
        assert(p->levels < LEVELS);
    for (uint32_t l = 0; l < p->levels; l++)
        words += words_of_level(count, l);
    GNN_TRY(gnn_mem_alloc(world, "next uses in the cache", words * sizeof(uint64_t), GNN_MEM_PLAIN, memory, err));
    uint64_t *at = *memory;
    for (uint32_t l = 0; l < p->levels; l++) {
        p->words[l] = at;
        at += words_of_level(count, l);
    }
    return GNN_OK;
}

enum gnn_status gnn_belady_misses(struct gnn_world *world, const struct gnn_accesses *accesses, const uint64_t *sizes,
                                  uint32_t size_count, const uint64_t *ends, uint32_t part_count, uint64_t *misses,
                                  struct gnn_err *err)
{
    assert(accesses->count < NEVER);
    assert(part_count > 0);
    assert(ends[part_count - 1] == accesses->count);
    void *last = NULL, *next = NULL, *memory = NULL;
    struct positions p = {.members = 0};
    memset(misses, 0, (uint64_t)size_count * part_count * sizeof *misses);
    enum gnn_status status =
        gnn_mem_alloc(world, "last uses", (uint64_t)accesses->node_count * sizeof(uint32_t), GNN_MEM_PLAIN, &last, err);
    GNN_NEXT(status, gnn_mem_alloc(world, "next uses", gnn_max_u64(accesses->count, 1) * sizeof(uint32_t),
                                   GNN_MEM_PLAIN, &next, err));
    if (status == GNN_OK)
        find_next_uses(accesses, last, next);
    gnn_mem_free(world, last);
    GNN_NEXT(status, open_positions(world, accesses->count, &p, &memory, err));
    for (uint32_t i = 0; i < size_count && status == GNN_OK; i++)
        walk_belady(accesses, next, sizes[i], ends, misses + (uint64_t)i * part_count, &p);
    gnn_mem_free(world, memory);
    gnn_mem_free(world, next);
    return status;
}

enum gnn_status gnn_belady_hits(struct gnn_world *world, const struct gnn_accesses *accesses, const uint64_t *sizes,
                                uint32_t size_count, uint64_t *hits, struct gnn_err *err)
{
    GNN_TRY(gnn_belady_misses(world, accesses, sizes, size_count, &accesses->count, 1, hits, err));
    for (uint32_t i = 0; i < size_count; i++)
        hits[i] = accesses->count - hits[i];
    return GNN_OK;
}

/* ---- sorting ---- */

/* Bytes from the lowest up, each pass stable; four passes end in `values` again. */
void gnn_sort_falling(uint32_t *values, uint32_t *scratch, uint64_t count)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        uint64_t place[257] = {0};
        for (uint64_t i = 0; i < count; i++)
            place[(~values[i] >> shift & 0xff) + 1]++;
        for (unsigned digit = 1; digit < 257; digit++)
            place[digit] += place[digit - 1];
        for (uint64_t i = 0; i < count; i++)
            scratch[place[~values[i] >> shift & 0xff]++] = values[i];
        uint32_t *const sorted = scratch;
        scratch = values;
        values = sorted;
    }
}
