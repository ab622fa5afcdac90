/* SPDX-License-Identifier: MIT */
#include "harness/base/id_map.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <string.h>

/* 256 KiB to 1 MiB stay in a core's own cache: emptier slots are worth more there than fewer of them. */
enum { GROWING_SLOTS_MIN = 32768, EMPTIER_SLOTS_MAX = 131072, GROW_AHEAD = 16, ADD_AHEAD = 16 };

/* Slots of a hashed table: a power of two, at most half full. */
static uint32_t hashed_bits(uint32_t capacity)
{
    uint32_t bits = 4;
    while ((UINT64_C(1) << bits) < 2 * (uint64_t)capacity)
        bits++;
    return bits;
}

static bool direct(uint32_t universe, uint32_t capacity)
{
    return universe <= UINT64_C(1) << hashed_bits(capacity);
}

uint64_t gnn_id_map_bytes(uint32_t universe, uint32_t capacity)
{
    const uint64_t slots = direct(universe, capacity) ? universe : UINT64_C(1) << hashed_bits(capacity);
    return gnn_mul_bytes(slots, sizeof(struct gnn_id_slot));
}

void gnn_id_map_init(struct gnn_id_map *map, void *memory, uint32_t universe, uint32_t capacity)
{
    assert(universe > 0);
    const bool by_key = direct(universe, capacity);
    const uint32_t bits = hashed_bits(capacity);
    *map = (struct gnn_id_map){
        .slots = memory,
        .slot_count = by_key ? universe : UINT64_C(1) << bits,
        .multiplier = by_key ? 1 : GNN_RNG_GOLDEN,
        .shift = by_key ? 0 : 64 - bits,
        .base = 1,
        .capacity = gnn_min_u32(capacity, universe),
        .memory_slots = by_key ? universe : UINT64_C(1) << bits,
        .stamped_slots = by_key ? universe : UINT64_C(1) << bits,
    };
}

static void use_slots(struct gnn_id_map *map, uint64_t slots)
{
    assert(slots <= map->memory_slots);
    map->slot_count = slots;
    map->shift = (uint32_t)__builtin_clzll(slots) + 1; /* 64 - log2(slots) */
    map->stamped_slots = gnn_max_u64(map->stamped_slots, slots);
}

/* Slots of a growing table: half full at most, as one that does not grow, a quarter where it is small. */
static void use_growing_slots(struct gnn_id_map *map, uint64_t slots)
{
    const bool emptier = slots <= EMPTIER_SLOTS_MAX && slots < map->memory_slots;
    use_slots(map, slots);
    map->multiplier = GNN_RNG_GOLDEN;
    map->capacity = (uint32_t)(slots / (emptier ? 4 : 2));
}

/* All the memory, where the key is the slot in it. */
static void use_slots_by_key(struct gnn_id_map *map)
{
    map->slot_count = map->stamped_slots = map->memory_slots;
    map->multiplier = 1;
    map->shift = 0;
    map->capacity = (uint32_t)map->memory_slots;
}

void gnn_id_map_init_growing(struct gnn_id_map *map, void *memory, uint32_t universe, uint32_t capacity)
{
    gnn_id_map_init(map, memory, universe, capacity);
    map->by_key_at_last = direct(universe, capacity);
    if (map->memory_slots <= GROWING_SLOTS_MIN)
        return;
    map->stamped_slots = 0;
    use_growing_slots(map, GROWING_SLOTS_MIN);
}

void gnn_id_map_grow(struct gnn_id_map *map, const gnn_node *ids)
{
    if (map->slot_count == map->memory_slots)
        return;
    const uint32_t count = map->count;
    if (map->by_key_at_last && 4 * map->slot_count > map->memory_slots)
        use_slots_by_key(map);
    else
        use_growing_slots(map, 2 * map->slot_count);
    gnn_id_map_clear(map);
    for (uint32_t i = 0; i < count; i++) {
        if (i + GROW_AHEAD < count)
            gnn_id_map_prefetch(map, ids[i + GROW_AHEAD]);
        const uint32_t local = gnn_id_map_add(map, ids[i]);
        assert(local == i);
        (void)local;
    }
}

/* Moves the base past the stamps in use; zeroes the slots where stamps would run out before the next time. */
void gnn_id_map_clear(struct gnn_id_map *map)
{
    assert(map->base >= 1);
    map->base += map->count;
    map->count = 0;
    if (map->base <= UINT32_MAX - map->capacity)
        return;
    memset(map->slots, 0, map->stamped_slots * sizeof *map->slots);
    map->base = 1;
}

/* Puts to local the local IDs of the keys that lie where their search begins, to left which keys are left. Returns how
 * many those are. Which kind a key is is not foreseen, so no jump depends on it. */
static uint32_t find_many(const struct gnn_id_map *map, const gnn_node *keys, uint32_t count, uint32_t behind,
                          uint32_t *local, uint32_t *left)
{
    const struct gnn_id_slot *const slots = map->slots;
    const uint64_t multiplier = map->multiplier;
    const uint32_t shift = map->shift, base = map->base;
    const uint32_t ahead_count = count + behind > ADD_AHEAD ? count + behind - ADD_AHEAD : 0;
    uint32_t left_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i < ahead_count)
            __builtin_prefetch(&slots[keys[i + ADD_AHEAD] * multiplier >> shift], 1);
        const struct gnn_id_slot *const slot = &slots[keys[i] * multiplier >> shift];
        local[i] = slot->stamp - base;
        left[left_count] = i;
        left_count += (slot->stamp < base) | (slot->key != keys[i]);
    }
    return left_count;
}

void gnn_id_map_add_many(struct gnn_id_map *map, const gnn_node *keys, uint32_t count, uint32_t behind, uint32_t *local,
                         uint32_t *scratch, gnn_node *fresh)
{
    const uint32_t left_count = find_many(map, keys, count, behind, local, scratch);
    for (uint32_t k = 0; k < left_count; k++) {
        const uint32_t before = map->count;
        const gnn_node key = keys[scratch[k]];
        *fresh = key;
        local[scratch[k]] = gnn_id_map_add(map, key);
        fresh += map->count - before;
    }
}

/* At most four fifths full: `wanted` is an upper bound, which batches with repeats stay far below. */
uint64_t gnn_id_map_sized_slots(uint64_t wanted)
{
    uint64_t slots = 16;
    while (slots / 5 * 4 < wanted)
        slots *= 2;
    return slots;
}

void gnn_id_map_init_sized(struct gnn_id_map *map, void *memory, uint64_t slots)
{
    assert(slots >= 16);
    assert((slots & (slots - 1)) == 0);
    *map = (struct gnn_id_map){
        .slots = memory, .multiplier = GNN_RNG_GOLDEN, .shift = 63, .base = 1, .memory_slots = slots};
}

void gnn_id_map_resize(struct gnn_id_map *map, uint64_t wanted)
{
    const uint64_t ideal = gnn_id_map_sized_slots(wanted);
    use_slots(map, gnn_min_u64(ideal, map->memory_slots));
    assert(map->slot_count >= 16);
    const uint64_t room = map->slot_count / 5 * 4;
    assert(map->count <= map->capacity);
    map->capacity = (uint32_t)gnn_min_u64(room, UINT32_MAX / 2);
    gnn_id_map_clear(map);
}
