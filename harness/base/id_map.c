#include "harness/base/id_map.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <string.h>

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
        .capacity = capacity < universe ? capacity : universe,
    };
}

void gnn_id_map_clear(struct gnn_id_map *map)
{
    assert(map->count <= map->capacity);
    map->base += map->count;
    map->count = 0;
    if (map->base <= UINT32_MAX - map->capacity)
        return;
    memset(map->slots, 0, map->slot_count * sizeof *map->slots);
    map->base = 1;
}
