/* SPDX-License-Identifier: MIT */
#include "harness/dataset/import_ids.h"

#include "harness/dataset/import_parts.h"
#include "harness/dataset/sorter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MIN = 1024 };

struct gnn_ids {
    uint64_t limit_bytes;
    uint32_t count;
    /* a bit per possible ID and, once numbered, the rank of each word's first bit */
    uint64_t words;
    uint64_t *bits;
    uint32_t *rank; /* (words) */
    /* wide: the IDs, ascending */
    struct gnn_sorter *sorter;
    uint64_t *table; /* (room) */
    uint64_t room;
};

enum gnn_status gnn_ids_open(struct gnn_output *output, bool wide, uint64_t limit_bytes, struct gnn_ids **out,
                             struct gnn_err *err)
{
    struct gnn_ids *ids;
    GNN_NEW(ids, 1, err, "set of node IDs");
    ids->limit_bytes = limit_bytes;
    enum gnn_status status = GNN_OK;
    if (wide) /* the sorter merges while the table grows */
        status = gnn_sorter_open(output, gnn_max_u64(limit_bytes / 2, GNN_SORTER_MEMORY_MIN), true, &ids->sorter, err);
    return GNN_OPENED(status, ids, out, gnn_ids_close);
}

void gnn_ids_close(struct gnn_ids *ids)
{
    if (ids == NULL)
        return;
    gnn_sorter_close(ids->sorter);
    free(ids->bits);
    free(ids->rank);
    free(ids->table);
    free(ids);
}

uint64_t gnn_ids_bytes(const struct gnn_ids *ids)
{
    return ids->words * (sizeof *ids->bits + sizeof *ids->rank) + ids->room * sizeof *ids->table;
}

uint32_t gnn_ids_count(const struct gnn_ids *ids)
{
    return ids->count;
}

/* ---- bits ---- */

static uint64_t words_bytes(uint64_t words)
{
    return words * (sizeof(uint64_t) + sizeof(uint32_t));
}

static enum gnn_status too_small(const struct gnn_ids *ids, uint64_t largest, uint64_t needed, struct gnn_err *err)
{
    const uint64_t others = GNN_IMPORT_RESERVE + GNN_SORTER_MEMORY_MIN;
    return gnn_fail(err, GNN_ECAP,
                    "numbering IDs up to %" PRIu64 " anew takes %" PRIu64 " B of memory, %" PRIu64
                    " are allowed: raise --memory",
                    largest, needed + others, ids->limit_bytes + others);
}

static enum gnn_status add_bit(struct gnn_ids *ids, gnn_node id, struct gnn_err *err)
{
    const uint64_t word = id / 64;
    if (word >= ids->words) {
        uint64_t words = ids->words > 0 ? ids->words : TABLE_MIN;
        while (words <= word)
            words += words / 2;
        if (words_bytes(words) > ids->limit_bytes)
            words = word + 1;
        if (words_bytes(words) > ids->limit_bytes)
            return too_small(ids, id, words_bytes(words), err);
        uint64_t *bits = realloc(ids->bits, words * sizeof *bits);
        if (bits == NULL)
            return gnn_fail(err, GNN_ENOMEM, "set of %" PRIu64 " IDs", words * 64);
        memset(bits + ids->words, 0, (words - ids->words) * sizeof *bits);
        ids->bits = bits;
        ids->words = words;
    }
    ids->bits[word] |= UINT64_C(1) << (id % 64);
    return GNN_OK;
}

static enum gnn_status number_bits(struct gnn_ids *ids, struct gnn_err *err)
{
    ids->rank = malloc((ids->words + 1) * sizeof *ids->rank);
    if (ids->rank == NULL)
        return gnn_fail(err, GNN_ENOMEM, "to number %" PRIu64 " IDs", ids->words * 64);
    for (uint64_t word = 0; word < ids->words; word++) {
        ids->rank[word] = ids->count;
        ids->count += (uint32_t)__builtin_popcountll(ids->bits[word]);
    }
    return GNN_OK;
}

/* ---- a table ---- */

static enum gnn_status grow_table(struct gnn_ids *ids, uint64_t largest, struct gnn_err *err)
{
    const uint64_t most = gnn_max_u64(ids->limit_bytes / 2 / sizeof *ids->table, TABLE_MIN);
    const uint64_t room = gnn_min_u64(gnn_max_u64(ids->room + ids->room / 2, TABLE_MIN), most);
    if (room == ids->room)
        return too_small(ids, largest, 4 * ids->room * sizeof *ids->table, err);
    uint64_t *const table = realloc(ids->table, room * sizeof *table);
    if (table == NULL)
        return gnn_fail(err, GNN_ENOMEM, "table of %" PRIu64 " IDs", room);
    ids->table = table;
    ids->room = room;
    return GNN_OK;
}

static enum gnn_status number_sorted(struct gnn_ids *ids, struct gnn_err *err)
{
    GNN_TRY(gnn_sorter_finish(ids->sorter, err));
    for (;;) {
        const uint64_t *keys;
        uint64_t count = 0;
        GNN_TRY(gnn_sorter_next(ids->sorter, &keys, &count, err));
        if (count == 0)
            break;
        for (uint64_t i = 0; i < count; i++) {
            if (ids->count == GNN_NODE_NONE - 1)
                return gnn_fail(err, GNN_EFORMAT, "more than %" PRIu32 " node IDs", ids->count);
            if (ids->count == ids->room)
                GNN_TRY(grow_table(ids, keys[i], err));
            ids->table[ids->count++] = keys[i];
        }
    }
    gnn_sorter_close(ids->sorter);
    ids->sorter = NULL;
    return GNN_OK;
}

static gnn_node find(const struct gnn_ids *ids, uint64_t id)
{
    uint32_t first = 0, end = ids->count;
    while (end - first > 1) {
        const uint32_t middle = first + (end - first) / 2;
        if (ids->table[middle] <= id)
            first = middle;
        else
            end = middle;
    }
    assert(first < ids->count);
    assert(ids->table[first] == id);
    return first;
}

/* ---- either ---- */

enum gnn_status gnn_ids_add(struct gnn_ids *ids, uint64_t id, struct gnn_err *err)
{
    if (ids->sorter != NULL)
        return gnn_sorter_add(ids->sorter, id, err);
    assert(id < GNN_NODE_NONE);
    return add_bit(ids, (gnn_node)id, err);
}

enum gnn_status gnn_ids_number(struct gnn_ids *ids, struct gnn_err *err)
{
    return ids->sorter != NULL ? number_sorted(ids, err) : number_bits(ids, err);
}

gnn_node gnn_ids_rank(const struct gnn_ids *ids, uint64_t id)
{
    if (ids->table != NULL)
        return find(ids, id);
    assert(id / 64 < ids->words);
    assert(ids->rank != NULL);
    const uint64_t below = ids->bits[id / 64] & ((UINT64_C(1) << (id % 64)) - 1);
    return ids->rank[id / 64] + (uint32_t)__builtin_popcountll(below);
}
