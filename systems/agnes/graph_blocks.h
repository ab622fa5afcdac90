/* SPDX-License-Identifier: MIT */
/* Graph blocks of Z bytes, each with the neighbour lists of a range of nodes, and the object index table over them.
 * AGNES (KDD 2026), section 3.2 (1) and (2); the layout of a block is the released code's.
 *
 *   0                                                         Z - 16 - 8k ... Z - 16   Z - 8
 *   | IDs of object 0 | IDs of object 1 | ...   free   ...   | slot k |   ... | slot 0 | {free, slots} |
 *
 * Slot     {int32 IDs in this block, int32 offset in bytes}. Every node of [first, last] has one, even with degree 0.
 * Objects  An object that fits into a block is never split. A large one (id_bytes x degree > Z - 16) has a run of
 *          blocks to itself. Each block of a run has one slot, and all but the last are full.
 * Order    IDs keep the order of their list, because sampling draws positions.
 * Names    A gnn_node is the dataset's ID of a node; an agnes_node is its ID in the prepared layout. Blocks contain
 *          only agnes_node. Functions agnes_to_old and agnes_to_new convert. */
#ifndef AGNES_GRAPH_BLOCKS_H
#define AGNES_GRAPH_BLOCKS_H

#include "harness/base/id_width.h"
#include "harness/oocgnn.h"

#include <assert.h>
#include <string.h>

typedef uint32_t agnes_node; /* a node's ID in the prepared layout */
_Static_assert(sizeof(agnes_node) == sizeof(gnn_node), "lists are renumbered in place");

/* One block's row of the object index table; also on disk. */
struct agnes_object_range {
    agnes_node first, last;
    uint64_t edge_begin; /* IDs in the blocks before this one: degrees of runs are known without a read */
};

struct agnes_index {
    struct agnes_object_range *ranges; /* (blocks + 1); the last is {node_count, node_count, edge_count} */
    uint32_t blocks;
    uint32_t block_bytes, id_bytes;
    uint32_t node_count;
};

struct agnes_slot {
    int32_t count;
    int32_t offset_bytes;
};

struct agnes_trailer {
    int32_t free_bytes;
    int32_t slots;
};

enum { AGNES_TRAILER_BYTES = 8, AGNES_SLOT_BYTES = 8 };
_Static_assert(sizeof(struct agnes_object_range) == 16, "a row of the index file");
_Static_assert(sizeof(struct agnes_slot) == AGNES_SLOT_BYTES, "a slot on disk");
_Static_assert(sizeof(struct agnes_trailer) == AGNES_TRAILER_BYTES, "a block's trailer on disk");

/* Returns the dataset's ID of a node. With new_to_old NULL both numberings are the same. */
static inline gnn_node agnes_to_old(const gnn_node *new_to_old, agnes_node v)
{
    return new_to_old == NULL ? v : new_to_old[v];
}

/* Returns the prepared layout's ID of a node. With old_to_new NULL both numberings are the same. */
static inline agnes_node agnes_to_new(const agnes_node *old_to_new, gnn_node v)
{
    return old_to_new == NULL ? v : old_to_new[v];
}

/* Returns the first block that has IDs of `node`. */
static inline uint32_t agnes_index_find(const struct agnes_index *index, agnes_node node)
{
    assert(node < index->node_count);
    uint32_t low = 0, count = index->blocks;
    while (count > 1) { /* the last block with first <= node … */
        const uint32_t half = count / 2;
        low = index->ranges[low + half].first <= node ? low + half : low;
        count -= half;
    }
    while (low > 0 && index->ranges[low - 1].last == node) /* … is the last of a run */
        low--;
    return low;
}

/* Returns whether the block holds a part of a large object. */
static inline bool agnes_index_is_run(const struct agnes_index *index, uint32_t block)
{
    const struct agnes_object_range *const r = &index->ranges[block];
    return r[1].first == r->first || (block > 0 && r[-1].first == r->first);
}

/* Returns the number of IDs in the run of blocks that begins at `begin`. *end is the block after the run. */
static inline uint64_t agnes_index_run(const struct agnes_index *index, uint32_t begin, uint32_t *end)
{
    assert(begin < index->blocks);
    uint32_t b = begin;
    while (b < index->blocks && index->ranges[b].first == index->ranges[begin].first)
        b++;
    *end = b;
    return index->ranges[b].edge_begin - index->ranges[begin].edge_begin;
}

static inline struct agnes_slot agnes_block_slot(const unsigned char *block, uint32_t block_bytes, uint32_t k)
{
    struct agnes_slot slot;
    memcpy(&slot, block + block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES * (k + UINT64_C(1)), sizeof slot);
    return slot;
}

/* Returns whether a slot's list is inside the block. */
static inline bool agnes_slot_fits(const struct agnes_index *index, struct agnes_slot slot)
{
    return slot.count >= 0 && slot.offset_bytes >= 0 &&
           (uint64_t)slot.offset_bytes + (uint64_t)slot.count * index->id_bytes <= index->block_bytes;
}

/* Returns the ID at place `at` of the list that begins at offset_bytes, or GNN_NODE_NONE if no node can have that
 * ID. */
static inline agnes_node agnes_block_id(const unsigned char *block, uint32_t id_bytes, uint64_t offset_bytes,
                                        uint64_t at)
{
    if (id_bytes == sizeof(uint32_t)) {
        uint32_t id;
        memcpy(&id, block + offset_bytes + at * sizeof id, sizeof id);
        return id;
    }
    uint64_t id;
    memcpy(&id, block + offset_bytes + at * sizeof id, sizeof id);
    return gnn_id_narrow(id);
}

/* Returns how many IDs fit into a block of a run. */
static inline uint32_t agnes_run_ids(uint32_t block_bytes, uint32_t id_bytes)
{
    return (block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES) / id_bytes;
}

/* Cuts the nodes, in the layout's order, into blocks and returns the number of blocks. Fills ranges (blocks + 1); with
 * ranges NULL it only counts. indptr (node_count + 1) is in the dataset's IDs. */
uint32_t agnes_blocks_cut(const uint64_t *indptr, const gnn_node *new_to_old, uint32_t node_count, uint32_t block_bytes,
                          uint32_t id_bytes, struct agnes_object_range *ranges);

/* Writes slots and trailer of one block. Everything else is zero until agnes_blocks_put writes IDs. */
void agnes_block_format(const struct agnes_index *index, uint32_t block, const uint64_t *indptr,
                        const gnn_node *new_to_old, unsigned char *memory);

/* Copies `count` IDs of node v's list, from position `at` on, into those blocks of [first, end) that hold them. memory
 * has these blocks one after another, formatted. */
void agnes_blocks_put(const struct agnes_index *index, uint32_t first, uint32_t end, agnes_node v, uint64_t at,
                      const agnes_node *ids, uint64_t count, unsigned char *memory);

/* Compares the trailer of a block that was read with the index. Returns GNN_EFORMAT if they differ. */
GNN_MUST_CHECK enum gnn_status agnes_block_check(const struct agnes_index *index, uint32_t block,
                                                 const unsigned char *memory, const char *path, struct gnn_err *err);

#endif
