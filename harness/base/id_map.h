/* SPDX-License-Identifier: MIT */
/* A map from global node IDs to local IDs 0, 1, 2 … in order of insertion, which is emptied in constant time.
 *
 * Open addressing with linear probing in 8-byte slots. A slot holds the key and `base` + local ID. Emptying moves base
 * past every stamp in use, so slots with older stamps count as free. The slots are zeroed only before base would pass
 * 2^32, after thousands of batches. If a hashed table would have at least as many slots as there are nodes, the key
 * itself is the slot. Such a table has no collisions.
 *
 * Size. Memory is sized for the most IDs that can come. A batch with repeated IDs stays far below that. A growing map
 * therefore uses only as much of its table as its IDs need: it touches few pages and stays in the processor's caches.
 * It hashes into a part of the memory even where there is a slot per node, as long as IDs are few.
 *
 * The caller owns the memory: gnn_id_map_bytes() bytes, zeroed. One thread at a time. */
#ifndef GNN_BASE_ID_MAP_H
#define GNN_BASE_ID_MAP_H

#include "harness/oocgnn.h"

struct gnn_id_slot {
    uint32_t key;
    uint32_t stamp; /* base + local ID; below base: the slot is free */
};
_Static_assert(sizeof(struct gnn_id_slot) == 8, "eight slots a cache line");

struct gnn_id_map {
    struct gnn_id_slot *slots;
    uint64_t slot_count;
    uint64_t multiplier; /* slot = key * multiplier >> shift */
    uint32_t shift;
    uint32_t base;
    uint32_t count;         /* IDs in the map */
    uint32_t capacity;      /* largest count */
    uint64_t memory_slots;  /* slots that the caller's memory holds; slot_count of them are in use */
    uint64_t stamped_slots; /* largest slot_count so far; slots after these are zeros */
    bool by_key_at_last;    /* of a growing map: at its full size the key is the slot */
};

/* Returns the bytes of memory for up to `capacity` IDs, each below `universe`. */
uint64_t gnn_id_map_bytes(uint32_t universe, uint32_t capacity);
/* Initialises an empty map. memory: gnn_id_map_bytes(universe, capacity) bytes, zeroed. */
void gnn_id_map_init(struct gnn_id_map *map, void *memory, uint32_t universe, uint32_t capacity);
/* Initialises an empty map that uses only a part of its memory while IDs are few. After the caller adds the ID that
 * fills the map (count == capacity), it must call gnn_id_map_grow() before it adds another. */
void gnn_id_map_init_growing(struct gnn_id_map *map, void *memory, uint32_t universe, uint32_t capacity);
/* Doubles the table. ids: all IDs in the map, in order of insertion. Local IDs do not change. Does nothing if the map
 * uses all of its memory. */
void gnn_id_map_grow(struct gnn_id_map *map, const gnn_node *ids);
/* Removes every ID. A map that has grown stays large. */
void gnn_id_map_clear(struct gnn_id_map *map);

/* Initialises an empty map whose table grows and shrinks inside one range of memory. A small table touches few pages
 * and stays in the processor's caches. memory: `slots` zeroed slots, a power of two of at least 16. The capacity is 0:
 * call gnn_id_map_resize() first. */
void gnn_id_map_init_sized(struct gnn_id_map *map, void *memory, uint64_t slots);
/* Removes every ID and resizes the table for `wanted` IDs, or for as many as the memory allows; capacity has the
 * number. */
void gnn_id_map_resize(struct gnn_id_map *map, uint64_t wanted);
/* Returns the number of slots for `wanted` IDs in a map of gnn_id_map_init_sized(). */
uint64_t gnn_id_map_sized_slots(uint64_t wanted);

static inline struct gnn_id_slot *gnn_id_map_slot(const struct gnn_id_map *map, gnn_node key)
{
    return &map->slots[key * map->multiplier >> map->shift];
}

/* Prefetches the slot of key, which may be any ID. */
static inline void gnn_id_map_prefetch(const struct gnn_id_map *map, gnn_node key)
{
    __builtin_prefetch(gnn_id_map_slot(map, key), 1);
}

/* Returns the local ID of key, which must be below universe. A new key is added and gets the old count as local ID. The
 * caller adds at most `capacity` keys. */
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

/* Adds keys as gnn_id_map_add() does one after another. local (count) receives their local IDs, and fresh (count) the
 * keys that are new, in order. All must fit into the map. keys has `behind` more entries after the first count, which
 * are added next: their slots are prefetched. scratch: (count). */
void gnn_id_map_add_many(struct gnn_id_map *map, const gnn_node *keys, uint32_t count, uint32_t behind, uint32_t *local,
                         uint32_t *scratch, gnn_node *fresh);

/* Returns the local ID of key, or GNN_NODE_NONE if it is not in the map. */
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
