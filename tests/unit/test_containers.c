/* SPDX-License-Identifier: MIT */
/* The ID map, the arena and the bitset against plain loops. */
#include "harness/base/arena.h"
#include "harness/base/bitset.h"
#include "harness/base/id_map.h"
#include "harness/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Adds `adds` random IDs and compares with a list that is searched from the start. */
static void compare_generation(struct gnn_id_map *map, struct gnn_rng *rng, uint32_t universe, uint32_t adds)
{
    uint32_t *const list = calloc(adds, sizeof *list);
    uint32_t count = 0;
    assert_non_null(list);
    gnn_id_map_clear(map);
    for (uint32_t i = 0; i < adds; i++) {
        const uint32_t key = (uint32_t)gnn_rng_below(rng, universe);
        uint32_t local = 0;
        while (local < count && list[local] != key)
            local++;
        assert_int_equal(gnn_id_map_find(map, key), local < count ? local : GNN_NODE_NONE);
        if (local == count)
            list[count++] = key;
        assert_int_equal(gnn_id_map_add(map, key), local);
        assert_int_equal(map->count, count);
        if (map->count == map->capacity)
            gnn_id_map_grow(map, list); /* one that has all its memory in use stays as it is */
    }
    for (uint32_t local = 0; local < count; local++)
        assert_int_equal(gnn_id_map_find(map, list[local]), local);
    free(list);
}

static void id_map_against_list(void **state)
{
    (void)state;
    static const struct case_of_a_map {
        uint32_t universe, capacity, adds;
    } cases[] = {
        {1, 1, 1},
        {5, 5, 20},
        {100, 200, 150},
        {UINT32_MAX, 16, 16},
        {UINT32_MAX, 300, 300},
        {5000, 100, 100},
        {UINT32_MAX, 1 << 20, 600},
    };
    struct gnn_rng rng = gnn_rng_at(1);
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        const struct case_of_a_map *const c = &cases[i / 2];
        struct gnn_id_map map;
        void *const memory = calloc(1, gnn_id_map_bytes(c->universe, c->capacity));
        assert_non_null(memory);
        (i % 2 == 0 ? gnn_id_map_init : gnn_id_map_init_growing)(&map, memory, c->universe, c->capacity);
        for (int generation = 0; generation < 20; generation++)
            compare_generation(&map, &rng, c->universe, c->adds);
        map.base = UINT32_MAX - map.capacity - 2 * c->adds; /* soon the stamps run out and start again */
        for (int generation = 0; generation < 20; generation++)
            compare_generation(&map, &rng, c->universe, c->adds);
        assert_true(map.base < UINT32_MAX / 2);
        free(memory);
    }
}

/* Adds pieces of a list of keys, of any length, to one map and its keys one by one to another; fresh ones and local IDs
 * must be the same. Returns how many keys are inside. */
static uint32_t compare_with_one_by_one(struct gnn_id_map *many, struct gnn_id_map *one, struct gnn_rng *rng,
                                        const gnn_node *keys, uint32_t count, gnn_node *inside)
{
    enum { PIECE = 40 };
    gnn_id_map_clear(many);
    gnn_id_map_clear(one);
    for (uint32_t at = 0, piece; at < count; at += piece) {
        uint32_t local[PIECE + 1], scratch[PIECE];
        gnn_node fresh[PIECE];
        piece = gnn_min_u32((uint32_t)gnn_rng_below(rng, PIECE + 1), count - at);
        const uint32_t before = many->count, behind = (uint32_t)gnn_rng_below(rng, count - at - piece + 1);
        if (many->capacity - before < piece)
            gnn_id_map_grow(many, inside);
        local[piece] = 0x5a5a5a5a;
        gnn_id_map_add_many(many, keys + at, piece, behind, local, scratch, fresh);
        assert_int_equal(local[piece], 0x5a5a5a5a);
        memcpy(inside + before, fresh, (many->count - before) * sizeof *fresh);
        for (uint32_t i = 0; i < piece; i++) {
            assert_int_equal(local[i], gnn_id_map_add(one, keys[at + i]));
            assert_int_equal(inside[local[i]], keys[at + i]);
        }
        assert_int_equal(many->count, one->count);
    }
    return many->count;
}

/* Few keys that repeat, and many; a slot per node, and tables up to half full, whose keys collide; maps that grow. */
static void keys_at_a_time_are_those_one_by_one(void **state)
{
    (void)state;
    static const struct {
        uint32_t universe, capacity, count;
        bool growing;
    } cases[] = {
        {1, 1, 30, false},           {60, 60, 400, false},           {UINT32_MAX, 300, 300, false},
        {300000, 300, 300, false},   {300, 300000, 2000, true},      {UINT32_MAX, 1 << 17, 60000, true},
        {90000, 40000, 60000, true}, {300000, 300000, 200000, true},
    };
    struct gnn_rng rng = gnn_rng_at(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t universe = cases[i].universe, capacity = cases[i].capacity, count = cases[i].count;
        struct gnn_id_map many, one;
        void *const memory = calloc(2, gnn_id_map_bytes(universe, capacity));
        gnn_node *const keys = calloc(count, sizeof *keys), *const inside = calloc(count, sizeof *inside);
        assert_true(memory != NULL && keys != NULL && inside != NULL);
        (cases[i].growing ? gnn_id_map_init_growing : gnn_id_map_init)(&many, memory, universe, capacity);
        gnn_id_map_init(&one, (char *)memory + gnn_id_map_bytes(universe, capacity), universe, capacity);
        for (int generation = 0; generation < 6; generation++) {
            for (uint32_t k = 0; k < count; k++)
                keys[k] = (gnn_node)gnn_rng_below(&rng, universe);
            if (generation == 3)
                many.base = UINT32_MAX - many.capacity - count / 2; /* soon the stamps run out and start again */
            const uint32_t found = compare_with_one_by_one(&many, &one, &rng, keys, count, inside);
            for (uint32_t local = 0; local < found; local++)
                assert_int_equal(gnn_id_map_find(&many, inside[local]), local);
        }
        free(memory);
        free(keys);
        free(inside);
    }
}

/* 100 of at most a million IDs leave all but the first 256 KiB of the table alone, and growing keeps local IDs even
 * where the stamps run out in it. */
static void a_growing_map_uses_what_its_ids_need(void **state)
{
    (void)state;
    enum { CAPACITY = 1 << 20, IDS = 50000, FIRST_SLOTS = 32768 };
    const uint64_t slots = gnn_id_map_bytes(UINT32_MAX, CAPACITY) / sizeof(struct gnn_id_slot);
    struct gnn_id_slot *const memory = calloc(slots, sizeof *memory);
    gnn_node *const ids = calloc(IDS, sizeof *ids);
    assert_non_null(memory);
    assert_non_null(ids);
    struct gnn_id_map map;
    gnn_id_map_init_growing(&map, memory, UINT32_MAX, CAPACITY);
    assert_int_equal(map.capacity, FIRST_SLOTS / 4);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(gnn_id_map_add(&map, 7919 * i), i);
    for (uint64_t i = FIRST_SLOTS; i < slots; i++)
        assert_int_equal(memory[i].stamp, 0);
    for (int round = 0; round < 2; round++) {
        memset(memory, 0, slots * sizeof *memory);
        gnn_id_map_init_growing(&map, memory, UINT32_MAX, CAPACITY);
        if (round == 1)
            map.base = UINT32_MAX - FIRST_SLOTS + 100; /* stamps run out as it grows */
        for (uint32_t i = 0; i < IDS; i++) {
            ids[i] = 104729 * i + 1;
            assert_int_equal(gnn_id_map_add(&map, ids[i]), i);
            if (map.count == map.capacity)
                gnn_id_map_grow(&map, ids);
        }
        assert_int_equal(map.slot_count, 262144); /* up to 131072 slots a quarter full at most, then half */
        assert_int_equal(map.capacity, 131072);
        for (uint32_t i = 0; i < IDS; i++)
            assert_int_equal(gnn_id_map_find(&map, ids[i]), i);
        assert_int_equal(gnn_id_map_find(&map, UINT32_MAX - 1), GNN_NODE_NONE);
    }
    assert_true(map.base < UINT32_MAX / 2);
    free(ids);
    free(memory);
}

/* Memory with a slot per node: hashed as long as half of it holds the IDs, then by key; the last may fill all of it. */
static void a_growing_map_comes_to_a_slot_per_node(void **state)
{
    (void)state;
    enum { UNIVERSE = 300000 };
    struct gnn_id_slot *const memory = calloc(UNIVERSE, sizeof *memory);
    gnn_node *const ids = calloc(UNIVERSE, sizeof *ids);
    struct gnn_id_map map;
    assert_non_null(memory);
    assert_non_null(ids);
    assert_int_equal(gnn_id_map_bytes(UNIVERSE, UNIVERSE), UNIVERSE * sizeof *memory);
    gnn_id_map_init_growing(&map, memory, UNIVERSE, UNIVERSE);
    uint64_t largest_hashed = 0;
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        ids[i] = UNIVERSE - 1 - i;
        assert_int_equal(gnn_id_map_add(&map, ids[i]), i);
        if (map.slot_count < UNIVERSE)
            largest_hashed = map.slot_count;
        if (map.count == map.capacity)
            gnn_id_map_grow(&map, ids);
    }
    assert_int_equal(largest_hashed, 131072);
    assert_int_equal(map.slot_count, UNIVERSE);
    assert_int_equal(map.capacity, UNIVERSE);
    assert_ptr_equal(gnn_id_map_slot(&map, 77), &memory[77]);
    for (uint32_t i = 0; i < UNIVERSE; i++)
        assert_int_equal(gnn_id_map_find(&map, ids[i]), i);
    gnn_id_map_clear(&map);
    for (uint32_t i = 0; i < UNIVERSE; i++)
        assert_int_equal(gnn_id_map_find(&map, i), GNN_NODE_NONE);
    free(memory);
    free(ids);
}

/* Keys that start in the last slot and must go round to the first. */
static void id_map_wraps_around(void **state)
{
    (void)state;
    struct gnn_id_map map;
    static struct gnn_id_slot memory[16];
    assert_int_equal(gnn_id_map_bytes(UINT32_MAX, 8), sizeof memory);
    gnn_id_map_init(&map, memory, UINT32_MAX, 8);
    uint32_t keys[8];
    uint32_t found = 0;
    for (uint32_t key = 0; found < 8; key++)
        if (gnn_id_map_slot(&map, key) == &memory[15])
            keys[found++] = key;
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(gnn_id_map_add(&map, keys[i]), i);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(gnn_id_map_find(&map, keys[i]), i);
    assert_int_equal(memory[0].key, keys[1]);
}

static void id_map_sizes(void **state)
{
    (void)state;
    assert_int_equal(gnn_id_map_bytes(1000, 400), 1000 * 8); /* a slot per node takes no more than hashing */
    assert_int_equal(gnn_id_map_bytes(1025, 400), 1024 * 8);
    assert_int_equal(gnn_id_map_bytes(UINT32_MAX, 512), 1024 * 8);
    assert_int_equal(gnn_id_map_bytes(UINT32_MAX, 513), 2048 * 8);
}

static void arena_carves(void **state)
{
    (void)state;
    struct gnn_arena count = {0};
    assert_null(gnn_arena_take(&count, 1));
    assert_null(gnn_arena_take(&count, 64));
    assert_null(gnn_arena_take(&count, 65));
    assert_int_equal(count.used_bytes, 64 + 64 + 128);
    static _Alignas(64) char memory[256];
    struct gnn_arena arena = {.memory = memory, .size_bytes = sizeof memory};
    assert_ptr_equal(gnn_arena_take(&arena, 1), memory);
    assert_ptr_equal(gnn_arena_take(&arena, 64), memory + 64);
    assert_ptr_equal(gnn_arena_take(&arena, 65), memory + 128);
    assert_null(gnn_arena_take(&arena, 1));
    gnn_arena_reset(&arena);
    assert_ptr_equal(gnn_arena_take(&arena, 256), memory);
    gnn_arena_reset(&arena);
    assert_null(gnn_arena_take(&arena, UINT64_MAX - 3)); /* no overflow into a small number */
    assert_null(gnn_arena_take(&arena, 1));
}

static void bitset_members(void **state)
{
    (void)state;
    assert_int_equal(gnn_bitset_words(0), 0);
    assert_int_equal(gnn_bitset_words(64), 1);
    assert_int_equal(gnn_bitset_words(65), 2);
    uint64_t words[4] = {0};
    for (uint64_t member = 0; member < 256; member += 3) {
        assert_true(gnn_bitset_add(words, member));
        assert_false(gnn_bitset_add(words, member));
    }
    for (uint64_t member = 0; member < 256; member++)
        assert_int_equal(gnn_bitset_has(words, member), member % 3 == 0);
    assert_int_equal(gnn_bitset_count(words, 4), 86);
    gnn_bitset_remove(words, 63);
    gnn_bitset_remove(words, 64);
    assert_false(gnn_bitset_has(words, 63));
    assert_int_equal(gnn_bitset_count(words, 4), 85);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(id_map_against_list),
        cmocka_unit_test(keys_at_a_time_are_those_one_by_one),
        cmocka_unit_test(a_growing_map_uses_what_its_ids_need),
        cmocka_unit_test(a_growing_map_comes_to_a_slot_per_node),
        cmocka_unit_test(id_map_wraps_around),
        cmocka_unit_test(id_map_sizes),
        cmocka_unit_test(arena_carves),
        cmocka_unit_test(bitset_members),
    };
    return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
