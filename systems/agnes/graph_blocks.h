/* Graph blocks: Z bytes that hold the neighbour lists of a range of nodes, and the object index table over them
 * (AGNES, KDD 2026, section 3.2; specs/agnes.md section 2).
 *
 *   0                                                         Z - 16 - 8k ... Z - 16   Z - 8
 *   | ids of object 0 | ids of object 1 | ...   free   ...   | slot k |   ... | slot 0 | {free, slots} |
 *
 * slot: {int32 ids in this block, int32 byte offset of the first}. Every node of [first, last] has one, also with
 * degree 0. An object never straddles two blocks unless it is large (id_bytes x degree > Z - 16): then it has a run of
 * blocks to itself, one slot each, all full but the last. Ids keep the order of their list (sampling draws positions).
 */
#ifndef AGNES_GRAPH_BLOCKS_H
#define AGNES_GRAPH_BLOCKS_H

#include "harness/oocgnn.h"

#include <assert.h>
#include <string.h>

/* One block's row of the object index table. */
struct agnes_object_range {
    gnn_node first, last;
    uint64_t edge_begin; /* ids in the blocks before this one: degrees of runs need no read */
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

enum { AGNES_TRAILER_BYTES = 8, AGNES_SLOT_BYTES = 8 };

/* The left-most block of `node`, which is below node_count. */
static inline uint32_t agnes_index_find(const struct agnes_index *index, gnn_node node)
{
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

/* Whether the block holds a part of a large object. */
static inline bool agnes_index_is_run(const struct agnes_index *index, uint32_t block)
{
    const struct agnes_object_range *const r = &index->ranges[block];
    return r[1].first == r->first || (block > 0 && r[-1].first == r->first);
}

/* Blocks of the run that begins at `begin`, and the ids in them. */
static inline uint64_t agnes_index_run(const struct agnes_index *index, uint32_t begin, uint32_t *end)
{
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

static inline gnn_node agnes_block_id(const unsigned char *block, uint32_t id_bytes, uint64_t offset_bytes, uint64_t at)
{
    if (id_bytes == sizeof(uint32_t)) {
        uint32_t id;
        memcpy(&id, block + offset_bytes + at * sizeof id, sizeof id);
        return id;
    }
    uint64_t id;
    memcpy(&id, block + offset_bytes + at * sizeof id, sizeof id);
    return id < GNN_NODE_NONE ? (gnn_node)id : GNN_NODE_NONE;
}

/* Ids that fit into a block of a run. */
static inline uint32_t agnes_run_ids(uint32_t block_bytes, uint32_t id_bytes)
{
    return (block_bytes - AGNES_TRAILER_BYTES - AGNES_SLOT_BYTES) / id_bytes;
}

/* Node v's old ID under a renumbering; NULL: none. */
static inline gnn_node agnes_old(const gnn_node *new_to_old, gnn_node v)
{
    return new_to_old == NULL ? v : new_to_old[v];
}

/* Cuts the nodes, in new order, into blocks. ranges NULL: only counts. indptr (node_count + 1) is in old IDs. Returns
 * the number of blocks; ranges (that many + 1) are filled. */
uint32_t agnes_blocks_cut(const uint64_t *indptr, const gnn_node *new_to_old, uint32_t node_count, uint32_t block_bytes,
                          uint32_t id_bytes, struct agnes_object_range *ranges);

/* Slots and trailer of one block, everything else zero: the ids are put in as they come. */
void agnes_block_format(const struct agnes_index *index, uint32_t block, const uint64_t *indptr,
                        const gnn_node *new_to_old, unsigned char *memory);

/* Puts `count` ids, positions `at` and on of node v's list, into those blocks of [first, end) that hold them. memory:
 * the blocks one after another, formatted. */
void agnes_blocks_put(const struct agnes_index *index, uint32_t first, uint32_t end, gnn_node v, uint64_t at,
                      const gnn_node *ids, uint64_t count, unsigned char *memory);

/* What a block says of itself against the index: GNN_EFORMAT. */
GNN_MUST_CHECK enum gnn_status agnes_block_check(const struct agnes_index *index, uint32_t block,
                                                 const unsigned char *memory, const char *path, struct gnn_err *err);

#endif
