/* SPDX-License-Identifier: MIT */
/* The page cache of the simulated world under a cap: what going round a file, reclaim and touched memory cost, worked
 * out by hand. */
#include "tests/support/sim_map.h"

#include <string.h>

/* A file of 4 MiB under a cap that leaves half of it: going round it, everything is read every time. */
static void test_a_cap_makes_rounds_miss(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_err err = {0};
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    const uint64_t room_bytes = f.profile.memory_bytes - f.profile.process_bytes;
    void *hog;
    assert_int_equal(gnn_mem_alloc(f.world, "hog", room_bytes - (2 << 20), GNN_MEM_PINNED, &hog, &err), GNN_OK);
    for (uint64_t round = 1; round <= 3; round++) {
        gather_pages(&f, 0, FILE_PAGES, 1);
        assert_int_equal(counts_of(&f).device_read_ios, round * FILE_PAGES);
        assert_true(counts_of(&f).cached_bytes <= 2 << 20);
    }
    gnn_mem_free(f.world, hog);
    gather_pages(&f, 0, FILE_PAGES, 1);
    const uint64_t ios = counts_of(&f).device_read_ios;
    gather_pages(&f, 0, FILE_PAGES, 1);
    assert_int_equal(counts_of(&f).device_read_ios, ios);
    close_fixture(&f);
}

enum way { BY_MAPPING, BY_READ, BY_WRITE };

/* Going round a file under that cap, with reclaim at a price. Returns how long it took; *evicted: how many pages
 * went. */
static uint64_t round_under_a_cap(uint64_t evict_page_ns, uint64_t unmap_page_ns, enum way way, uint64_t *evicted)
{
    struct fixture f;
    struct gnn_err err = {0};
    static unsigned char bytes[PAGE];
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ | GNN_OPEN_RANDOM);
    f.profile.cpu.evict_page_ns = evict_page_ns;
    f.profile.cpu.unmap_page_ns = unmap_page_ns;
    const uint64_t room_bytes = f.profile.memory_bytes - f.profile.process_bytes;
    void *hog;
    struct gnn_file *out;
    assert_int_equal(gnn_mem_alloc(f.world, "hog", room_bytes - (2 << 20), GNN_MEM_PINNED, &hog, &err), GNN_OK);
    assert_int_equal(gnn_file_open(f.world, "out", GNN_OPEN_WRITE, &out, &err), GNN_OK);
    const uint64_t start_ns = gnn_now_ns(f.world);
    if (way == BY_MAPPING)
        gather_pages(&f, 0, FILE_PAGES, 1);
    for (uint64_t page = 0; page < FILE_PAGES && way == BY_READ; page++)
        assert_int_equal(gnn_file_read(f.world, f.file, page * PAGE, bytes, PAGE), PAGE);
    for (uint64_t page = 0; page < FILE_PAGES && way == BY_WRITE; page++)
        assert_int_equal(gnn_file_write(f.world, out, page * PAGE, bytes, PAGE), PAGE);
    const uint64_t wall_ns = gnn_now_ns(f.world) - start_ns;
    *evicted = counts_of(&f).pages_evicted;
    gnn_file_close(f.world, out);
    gnn_mem_free(f.world, hog);
    close_fixture(&f);
    return wall_ns;
}

/* A page that goes costs its price, one with page-table entries what those cost besides; the read of the page that
 * came for it starts behind that. */
static void test_reclaim_has_its_price(void **state)
{
    (void)state;
    uint64_t evicted, again;
    const uint64_t mapped_ns = round_under_a_cap(0, 0, BY_MAPPING, &evicted);
    assert_in_range(evicted, FILE_PAGES / 2, FILE_PAGES - 1);
    assert_int_equal(round_under_a_cap(700, 0, BY_MAPPING, &again) - mapped_ns, 700 * evicted);
    assert_int_equal(round_under_a_cap(700, 3000, BY_MAPPING, &again) - mapped_ns, 3700 * evicted);
    assert_int_equal(again, evicted);
    for (enum way way = BY_READ; way <= BY_WRITE; way++) {
        const uint64_t wall_ns = round_under_a_cap(0, 0, way, &evicted);
        assert_in_range(evicted, FILE_PAGES / 2, FILE_PAGES - 1);
        assert_int_equal(round_under_a_cap(700, 3000, way, &again) - wall_ns, 700 * evicted);
        assert_int_equal(again, evicted);
    }
}

/* Memory takes room from the page cache when it is touched, not when it is reserved: 6 MiB for a file of 4 MiB and what
 * is gathered from it. */
static void test_what_is_touched_takes_room(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_err err = {0};
    gnn_node rows[2 * FILE_PAGES];
    void *hog, *plain, *features;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    const uint64_t room_bytes = f.profile.memory_bytes - f.profile.process_bytes;
    assert_int_equal(gnn_mem_alloc(f.world, "hog", room_bytes - (12 << 20), GNN_MEM_PINNED, &hog, &err), GNN_OK);
    /* reserved: all the room there is */
    assert_int_equal(gnn_mem_alloc(f.world, "plain", 4 << 20, GNN_MEM_PLAIN, &plain, &err), GNN_OK);
    assert_int_equal(gnn_mem_alloc(f.world, "features", 8 << 20, GNN_MEM_FEATURES, &features, &err), GNN_OK);
    gather_pages(&f, 0, FILE_PAGES, 1);
    gather_pages(&f, 0, FILE_PAGES, 1);
    assert_int_equal(counts_of(&f).device_read_ios, FILE_PAGES);
    /* Every page, then every page backwards: the file and the first rows fill what 4 MiB of plain memory leave; from
     * then on a row takes the oldest page's room, and half of the file is gone when its turn comes. */
    memset(plain, 1, 4 << 20);
    assert_int_equal(counts_of(&f).charged_bytes, room_bytes - (8 << 20));
    for (uint32_t i = 0; i < 2 * FILE_PAGES; i++)
        rows[i] = i < FILE_PAGES ? i : 2 * FILE_PAGES - 1 - i;
    assert_int_equal(gnn_map_gather_rows(f.world, f.map, PAGE, rows, UINT64_C(2) * FILE_PAGES, features, PAGE, &err),
                     GNN_OK);
    const struct gnn_simulated_counts counts = counts_of(&f);
    assert_int_equal(counts.charged_bytes, room_bytes);
    assert_int_equal(counts.charged_peak_bytes, room_bytes);
    assert_true(counts.device_read_ios > FILE_PAGES + FILE_PAGES / 3);
    gnn_mem_free(f.world, features);
    gnn_mem_free(f.world, plain);
    gather_pages(&f, 0, FILE_PAGES, 1);
    const uint64_t ios = counts_of(&f).device_read_ios;
    gather_pages(&f, 0, FILE_PAGES, 1);
    assert_int_equal(counts_of(&f).device_read_ios, ios);
    gnn_mem_free(f.world, hog);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cap_makes_rounds_miss),
        cmocka_unit_test(test_reclaim_has_its_price),
        cmocka_unit_test(test_what_is_touched_takes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
