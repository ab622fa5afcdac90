/* SPDX-License-Identifier: MIT */
/* Packing of neighbour lists into blocks.
 *
 * Source   AGNES (KDD 2026) section 3.2 (1); block layout of the released code
 * Memory   none of its own
 * Differs  a large object's blocks are full but for the last and all of it is sampled (the released code samples the
 *          first block); index rows carry the running number of IDs, 16 bytes in all (released code: 24) */
#include "systems/agnes/graph_blocks.h"

#include <inttypes.h>

static uint64_t degree_of(const uint64_t *indptr, gnn_node old)
{
    return indptr[old + 1] - indptr[old];
}

struct cut {
    struct agnes_object_range *ranges;
    uint32_t blocks;
    uint64_t edges; /* in closed blocks */
};

static void close_block(struct cut *cut, agnes_node first, agnes_node last, uint64_t edges)
{
    if (cut->ranges != NULL)
        cut->ranges[cut->blocks] = (struct agnes_object_range){.first = first, .last = last, .edge_begin = cut->edges};
    cut->blocks++;
    cut->edges += edges;
}

uint32_t agnes_blocks_cut(const uint64_t *indptr, const gnn_node *new_to_old, uint32_t node_count, uint32_t block_bytes,
                          uint32_t id_bytes, struct agnes_object_range *ranges)
{
    assert(block_bytes > AGNES_TRAILER_BYTES + AGNES_SLOT_BYTES);
    assert(id_bytes == sizeof(uint32_t) || id_bytes == sizeof(uint64_t));
    const uint64_t room = block_bytes - AGNES_TRAILER_BYTES, run_ids = agnes_run_ids(block_bytes, id_bytes);
    struct cut cut = {.ranges = ranges};
    agnes_node first = 0;
    uint64_t used = 0, edges = 0; /* of the open block, which begins at `first` */
    for (agnes_node v = 0; v < node_count; v++) {
        const uint64_t degree = degree_of(indptr, agnes_to_old(new_to_old, v));
        const bool large = degree > run_ids;
        const uint64_t bytes = degree * id_bytes + AGNES_SLOT_BYTES;
        if (v > first && (large || used + bytes > room)) {
            close_block(&cut, first, v - 1, edges);
            first = v;
            used = edges = 0;
        }
        if (large) {
            for (uint64_t left = degree; left > 0;) {
                const uint64_t part = gnn_min_u64(left, run_ids);
                close_block(&cut, v, v, part);
                left -= part;
            }
            first = v + 1;
            continue;
        }
        used += bytes;
        edges += degree;
    }
    if (first < node_count)
        close_block(&cut, first, node_count - 1, edges);
    if (ranges != NULL)
        ranges[cut.blocks] = (struct agnes_object_range){node_count, node_count, cut.edges};
    return cut.blocks;
}

static void put_slot(unsigned char *memory, uint32_t block_bytes, uint32_t k, uint64_t count, uint64_t offset)
{
    const struct agnes_slot slot = {.count = (int32_t)count, .offset_bytes = (int32_t)offset};
    memcpy(memory + block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES * (k + UINT64_C(1)), &slot, sizeof slot);
}

void agnes_block_format(const struct agnes_index *index, uint32_t block, const uint64_t *indptr,
                        const gnn_node *new_to_old, unsigned char *memory)
{
    assert(block < index->blocks);
    const struct agnes_object_range *const r = &index->ranges[block];
    uint64_t used = 0;
    memset(memory, 0, index->block_bytes);
    if (agnes_index_is_run(index, block)) {
        const uint64_t ids = r[1].edge_begin - r->edge_begin;
        put_slot(memory, index->block_bytes, 0, ids, 0);
        used = ids * index->id_bytes;
    } else {
        for (agnes_node v = r->first; v <= r->last; v++) {
            const uint64_t degree = degree_of(indptr, agnes_to_old(new_to_old, v));
            put_slot(memory, index->block_bytes, v - r->first, degree, used);
            used += degree * index->id_bytes;
        }
    }
    const uint32_t slots = r->last - r->first + 1;
    const uint64_t free_bytes = index->block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES * (uint64_t)slots - used;
    assert(free_bytes < index->block_bytes);
    const struct agnes_trailer trailer = {.free_bytes = (int32_t)free_bytes, .slots = (int32_t)slots};
    memcpy(memory + index->block_bytes - sizeof trailer, &trailer, sizeof trailer);
}

static void put_ids(const struct agnes_index *index, unsigned char *block, uint64_t offset_bytes, uint64_t at,
                    const agnes_node *ids, uint64_t count)
{
    assert(offset_bytes + (at + count) * index->id_bytes <=
           index->block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES);
    unsigned char *const dst = block + offset_bytes + at * index->id_bytes;
    if (index->id_bytes == sizeof *ids) {
        memcpy(dst, ids, count * sizeof *ids);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t wide = ids[i];
        memcpy(dst + i * sizeof wide, &wide, sizeof wide);
    }
}

void agnes_blocks_put(const struct agnes_index *index, uint32_t first, uint32_t end, agnes_node v, uint64_t at,
                      const agnes_node *ids, uint64_t count, unsigned char *memory)
{
    assert(first < end);
    assert(end <= index->blocks);
    const uint32_t begin = agnes_index_find(index, v);
    if (!agnes_index_is_run(index, begin)) {
        if (begin < first || begin >= end)
            return;
        unsigned char *const block = memory + (uint64_t)(begin - first) * index->block_bytes;
        const struct agnes_slot slot = agnes_block_slot(block, index->block_bytes, v - index->ranges[begin].first);
        put_ids(index, block, (uint64_t)slot.offset_bytes, at, ids, count);
        return;
    }
    const uint32_t run_ids = agnes_run_ids(index->block_bytes, index->id_bytes);
    for (uint64_t done = 0; done < count;) {
        const uint64_t position = at + done, in_block = position % run_ids, left = count - done;
        const uint64_t part = gnn_min_u64(left, run_ids - in_block);
        const uint64_t block = begin + position / run_ids;
        if (block >= first && block < end)
            put_ids(index, memory + (block - first) * index->block_bytes, 0, in_block, ids + done, part);
        done += part;
    }
}

enum gnn_status agnes_block_check(const struct agnes_index *index, uint32_t block, const unsigned char *memory,
                                  const char *path, struct gnn_err *err)
{
    assert(block < index->blocks);
    const struct agnes_object_range *const r = &index->ranges[block];
    struct agnes_trailer trailer;
    memcpy(&trailer, memory + index->block_bytes - sizeof trailer, sizeof trailer);
    const int64_t slots = (int64_t)(r->last - r->first) + 1;
    const int64_t edges = (int64_t)(r[1].edge_begin - r->edge_begin);
    const int64_t free_bytes =
        index->block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES * slots - edges * index->id_bytes;
    if (trailer.free_bytes == free_bytes && trailer.slots == slots)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: graph block %" PRIu32 " has %" PRId32 " slots and %" PRId32 " free bytes, expected %" PRId64
                    " and %" PRId64 "; the file is damaged: remove the directory to prepare it again",
                    path, block, trailer.slots, trailer.free_bytes, slots, free_bytes);
}
