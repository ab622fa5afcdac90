/* SPDX-License-Identifier: MIT */
/* From global node IDs to local ones 0, 1, 2 … in order of arrival, emptied in constant time.
 *
 * Open addressing with linear probing in 8-byte slots. A slot holds the key and `base` + local ID; emptying moves base
 * past every stamp in use, so the stamps of earlier generations reads as free. Only when base would pass 2^32 (after
 * thousands of batches) the slots are zeroed. Where the table would have as many slots as there are nodes, the key
 * itself is the slot and nothing ever collides.
 *
 * Memory is for the most IDs that can come, which a batch with repeats stays far below: a growing map uses as much of
 * its table as its IDs need, so that it touches few pages and stays in the processor's caches. Memory with a slot per
 * node is hashed into in part, too, as long as IDs are few.
 *
 * The memory is the caller's: gnn_id_map_bytes() of it, zeroed. One thread at a time. */
#ifndef GNN_BASE_ID_MAP_H
#define GNN_BASE_ID_MAP_H

#include "harness/oocgnn.h"

struct gnn_id_slot {
    uint32_t key;
    uint32_t stamp; /* base + local ID; below base: free */
};
_Static_assert(sizeof(struct gnn_id_slot) == 8, "eight slots a cache line");

struct gnn_id_map {
    struct gnn_id_slot *slots;
    uint64_t slot_count;
    uint64_t multiplier; /* slot = key * multiplier >> shift */
    uint32_t shift;
    uint32_t base;
    uint32_t count;         /* IDs inside */
    uint32_t capacity;      /* at most */
    uint64_t memory_slots;  /* that the caller's memory holds; slot_count of them are in use */
    uint64_t stamped_slots; /* the most that ever were in use: those behind them are zeros */
    bool by_key_at_last;    /* of a growing map: all its memory is used by key */
};

/* Bytes for up to `capacity` IDs, each below `universe`. */
uint64_t gnn_id_map_bytes(uint32_t universe, uint32_t capacity);
/* memory: gnn_id_map_bytes(universe, capacity), zeroed. */
void gnn_id_map_init(struct gnn_id_map *map, void *memory, uint32_t universe, uint32_t capacity);
/* The same, but as long as IDs are few a part of the memory is in use. Whoever adds the ID that fills the map
 * (count == capacity) calls gnn_id_map_grow() before the next. */
void gnn_id_map_init_growing(struct gnn_id_map *map, void *memory, uint32_t universe, uint32_t capacity);
/* Doubles the table; ids: all that are inside, in order of arrival; local IDs stay as they are. Does nothing to a map
 * that has all its memory in use. */
void gnn_id_map_grow(struct gnn_id_map *map, const gnn_node *ids);
/* Forgets every ID; a map that has grown stays large. */
void gnn_id_map_clear(struct gnn_id_map *map);

/* A map whose table grows and shrinks inside one range of memory (slots, zeroed): a small one touches few pages and
 * stays in the processor's caches. Starts empty with room for nothing: resize first. */
void gnn_id_map_init_sized(struct gnn_id_map *map, void *memory, uint64_t slots);
/* Forgets every ID; from now on up to min(wanted, what the memory allows) fit: see capacity. */
void gnn_id_map_resize(struct gnn_id_map *map, uint64_t wanted);
/* Slots for `wanted` IDs in such a map. */
uint64_t gnn_id_map_sized_slots(uint64_t wanted);

static inline struct gnn_id_slot *gnn_id_map_slot(const struct gnn_id_map *map, gnn_node key)
{
    return &map->slots[key * map->multiplier >> map->shift];
}

/* Brings the slot nearer; harmless for any key. */
static inline void gnn_id_map_prefetch(const struct gnn_id_map *map, gnn_node key)
{
    __builtin_prefetch(gnn_id_map_slot(map, key), 1);
}

/* The local ID of key, which is < universe; a new key gets the old count. The caller adds at most `capacity`. */
static inline uint32_t gnn_id_map_add(struct gnn_id_map *map, gnn_node key)
{
    struct gnn_id_slot *slot = gnn_id_map_slot(map, key);
    for (;;) {
        if (slot->stamp < map->base) {
            *slot = (struct gnn_id_slot){.key = key, .stamp = map->base + map->count};
            return map->count++;
        }
        if (slot->key == key)
            return slot->stamp - map->base;
        slot++;
        if (slot == map->slots + map->slot_count)
            slot = map->slots;
    }
}

/* Fills local (count) with the local IDs of keys, as gnn_id_map_add() gives them one after another, and fresh (count)
 * with the keys among them that are new, in order. All fit into the map. Behind the keys lie `behind` more, which come
 * next: their slots are brought nearer. scratch: (count). */
void gnn_id_map_add_many(struct gnn_id_map *map, const gnn_node *keys, uint32_t count, uint32_t behind, uint32_t *local,
                         uint32_t *scratch, gnn_node *fresh);

/* The local ID, or GNN_NODE_NONE. */
static inline uint32_t gnn_id_map_find(const struct gnn_id_map *map, gnn_node key)
{
    const struct gnn_id_slot *slot = gnn_id_map_slot(map, key);
    while (slot->stamp >= map->base) {
        if (slot->key == key)
            return slot->stamp - map->base;
        slot++;
        if (slot == map->slots + map->slot_count)
            slot = map->slots;
    }
    return GNN_NODE_NONE;
}

#endif
