/* SPDX-License-Identifier: MIT */
/* The page cache model on rooms of a few hundred pages: which pages go, what is read ahead, what comes back. That the
 * rules are Linux's is shown by test_page_cache_kernel.c. */
#include "harness/base/rng.h"
#include "harness/world/simulated/page_cache.h"
#include "harness/world/simulated/page_lists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE = GNN_PAGE_BYTES, ROOM_PAGES = 256, FILE_PAGES = 4096, WINDOW_PAGES = 32, NO_WINDOW = 0 };

struct fixture {
    struct sim_page_cache *cache;
    uint32_t file;
};

static uint32_t add_file(struct sim_page_cache *cache, uint64_t pages)
{
    uint32_t file;
    struct gnn_err err = {0};
    assert_int_equal(sim_page_cache_add_file(cache, pages * PAGE, &file, &err), GNN_OK);
    return file;
}

static struct fixture open_cache(uint64_t room_pages, uint64_t window_pages)
{
    struct fixture f;
    struct gnn_err err = {0};
    assert_int_equal(sim_page_cache_open(room_pages * PAGE, window_pages * PAGE, &f.cache, &err), GNN_OK);
    f.file = add_file(f.cache, FILE_PAGES);
    return f;
}

static struct sim_page_cache_counts counts_of(const struct fixture *f)
{
    struct sim_page_cache_counts counts;
    sim_page_cache_counts(f->cache, &counts);
    return counts;
}

static struct sim_touch touch(const struct fixture *f, uint64_t page, enum sim_readahead readahead)
{
    struct sim_touch out;
    sim_page_cache_touch(f->cache, f->file, page, readahead, &out);
    return out;
}

static struct sim_touch read_pages(const struct fixture *f, uint64_t page, uint64_t pages)
{
    struct sim_touch out;
    sim_page_cache_read(f->cache, f->file, page, pages, SIM_READAHEAD_NORMAL, &out);
    return out;
}

static bool holds(const struct fixture *f, uint64_t page)
{
    return sim_page_cache_holds(f->cache, f->file, page);
}

static void assert_range(const struct sim_touch *t, uint32_t i, uint64_t first_page, uint64_t pages)
{
    assert_true(i < t->read_count);
    assert_int_equal(t->reads[i].first_page, first_page);
    assert_int_equal(t->reads[i].pages, pages);
}

/* ---- which pages go ---- */

static void test_mappings_without_recency_leave_in_order(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, WINDOW_PAGES);
    for (uint64_t page = 0; page < 3 * ROOM_PAGES; page++) {
        const struct sim_touch t = touch(&f, page, SIM_READAHEAD_RANDOM);
        assert_true(t.major && !t.minor && t.read_count == 1);
        assert_range(&t, 0, page, 1);
        (void)touch(&f, page - page % 8, SIM_READAHEAD_RANDOM); /* using pages again does not keep them */
    }
    uint64_t first = 0;
    while (!holds(&f, first))
        first++;
    assert_true(first > 2 * ROOM_PAGES);
    for (uint64_t page = first; page < 3 * ROOM_PAGES; page++)
        assert_true(holds(&f, page));
    assert_int_equal(counts_of(&f).pages, 3 * ROOM_PAGES - first);
    sim_page_cache_close(f.cache);
}

static void test_an_accessed_bit_gives_a_second_round(void **state)
{
    (void)state;
    static const struct {
        enum sim_readahead advice;
        bool stays;
    } cases[] = {{SIM_READAHEAD_NORMAL, true}, {SIM_READAHEAD_RANDOM, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
        uint64_t absent = 0;
        for (uint64_t page = 16; page < 16 + 8 * ROOM_PAGES; page++) {
            absent += touch(&f, 3, cases[c].advice).major;
            (void)touch(&f, page, SIM_READAHEAD_RANDOM);
        }
        if (cases[c].stays)
            assert_int_equal(absent, 1);
        else
            assert_true(absent > 4);
        sim_page_cache_close(f.cache);
    }
}

static void test_a_second_read_keeps_a_page_through_a_scan(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    (void)read_pages(&f, 0, 1);
    (void)read_pages(&f, 100, 1);
    (void)read_pages(&f, 0, 1);
    for (uint64_t page = 1000; page < 1000 + 4 * ROOM_PAGES; page++)
        (void)read_pages(&f, page, 1);
    assert_true(holds(&f, 0));
    assert_false(holds(&f, 100));
    sim_page_cache_close(f.cache);
}

static void test_pieces_of_a_page_are_one_access(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    for (int piece = 0; piece < 8; piece++)
        (void)read_pages(&f, 0, 1);
    for (uint64_t page = 1000; page < 1000 + 2 * ROOM_PAGES; page++)
        (void)read_pages(&f, page, 1);
    assert_false(holds(&f, 0));
    sim_page_cache_close(f.cache);
}

/* A page that comes back sooner than the active list is long is active at once, so it outlives pages that came with it
 * and were used as little. */
static void test_refault_distance(void **state)
{
    (void)state;
    static const struct {
        bool summed; /* reclaim knows how many pages are active */
        bool active;
    } cases[] = {{true, true}, {false, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
        for (uint64_t i = 0; i < 2 * 128; i++) /* 128 active pages */
            (void)read_pages(&f, i % 128, 1);
        if (cases[c].summed)
            sim_page_cache_sum_statistics(f.cache);
        uint64_t page = 1000;
        (void)touch(&f, 999, SIM_READAHEAD_RANDOM);
        while (holds(&f, 999))
            (void)touch(&f, page++, SIM_READAHEAD_RANDOM);
        (void)touch(&f, 999, SIM_READAHEAD_RANDOM);
        assert_int_equal(counts_of(&f).refaulted, 1);
        for (uint64_t end = page + ROOM_PAGES; page < end; page++)
            (void)touch(&f, page, SIM_READAHEAD_RANDOM);
        assert_int_equal(holds(&f, 999), cases[c].active);
        sim_page_cache_close(f.cache);
    }
}

/* An evicted page leaves behind whether it was ever active, and has that again when it comes back soon: reading around
 * a mapping does not take a page that thrashes for a hit. */
static void test_a_page_that_was_active_once_stays_marked(void **state)
{
    (void)state;
    enum { ACTIVE = 160, NEVER = 1000 };
    struct sim_page_lists *const lists = calloc(1, sizeof *lists);
    struct gnn_err err = {0};
    uint32_t first;
    assert_non_null(lists);
    assert_int_equal(sim_page_lists_open(lists, &err), GNN_OK);
    assert_int_equal(sim_page_lists_add(lists, FILE_PAGES, &first, &err), GNN_OK);
    lists->limit_bytes = (uint64_t)ROOM_PAGES * PAGE;
    for (uint32_t page = first; page < first + ACTIVE; page++) {
        sim_page_insert(lists, page);
        sim_page_mark_accessed(lists, page);
        sim_page_mark_accessed(lists, page);
    }
    sim_page_lists_sum(lists);
    const uint32_t never = first + NEVER;
    uint32_t next = never + 1;
    sim_page_insert(lists, never);
    while ((lists->flags[never] & SIM_PAGE_CACHED) != 0)
        sim_page_insert(lists, next++);
    assert_int_equal(lists->flags[never], SIM_SHADOW);
    sim_page_insert(lists, never);
    assert_int_equal(lists->flags[never], SIM_PAGE_CACHED | SIM_PAGE_ACTIVE);
    while ((lists->flags[first] & SIM_PAGE_CACHED) != 0) {
        sim_page_lists_sum(lists); /* more active than inactive ones: the oldest are moved back */
        sim_page_insert(lists, next++);
    }
    assert_int_equal(lists->flags[first], SIM_SHADOW_WORKINGSET);
    sim_page_insert(lists, first);
    assert_int_equal(lists->flags[first], SIM_PAGE_CACHED | SIM_PAGE_ACTIVE | SIM_PAGE_WORKINGSET);
    sim_page_lists_close(lists);
    free(lists);
}

/* Pages that were hot once do not stay for ever: more active than inactive ones are moved back. */
static void test_a_stale_active_list_shrinks(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    for (uint64_t i = 0; i < 4 * 200; i++)
        (void)read_pages(&f, i % 200, 1);
    for (uint64_t page = 1000; page < 1000 + 2 * ROOM_PAGES; page++) {
        sim_page_cache_sum_statistics(f.cache);
        (void)touch(&f, page, SIM_READAHEAD_RANDOM);
    }
    uint64_t old = 0;
    for (uint64_t page = 0; page < 200; page++)
        old += holds(&f, page);
    assert_true(old > 64 && old <= ROOM_PAGES / 2 + 32);
    sim_page_cache_close(f.cache);
}

/* Pages that come back soon and are active at once show that the active ones are not the best ones: the oldest of those
 * are moved back, although they are fewer than the inactive ones. Without such pages they stay. */
static void test_refaults_age_the_active_list(void **state)
{
    (void)state;
    enum { ACTIVE = 60, ROUNDS = 4 };
    for (int refaults = 0; refaults < 2; refaults++) {
        struct sim_page_lists *const lists = calloc(1, sizeof *lists);
        struct gnn_err err = {0};
        uint32_t first, still_active = 0;
        assert_non_null(lists);
        assert_int_equal(sim_page_lists_open(lists, &err), GNN_OK);
        assert_int_equal(sim_page_lists_add(lists, FILE_PAGES, &first, &err), GNN_OK);
        lists->limit_bytes = (uint64_t)ROOM_PAGES * PAGE;
        for (uint32_t page = first; page < first + ACTIVE; page++) {
            sim_page_insert(lists, page);
            sim_page_mark_accessed(lists, page);
            sim_page_mark_accessed(lists, page);
        }
        uint32_t next = first + ACTIVE;
        for (int round = 0; round < ROUNDS; round++) {
            const uint32_t again = next;
            sim_page_insert(lists, next++);
            while ((lists->flags[again] & SIM_PAGE_CACHED) != 0) {
                sim_page_lists_sum(lists);
                sim_page_insert(lists, next++);
            }
            if (refaults > 0) {
                sim_page_insert(lists, again);
                assert_int_equal(lists->flags[again], SIM_PAGE_CACHED | SIM_PAGE_ACTIVE);
            }
        }
        for (uint32_t page = first; page < first + ACTIVE; page++)
            still_active += (lists->flags[page] & SIM_PAGE_ACTIVE) != 0;
        assert_true(refaults > 0 ? still_active < ACTIVE : still_active == ACTIVE);
        sim_page_lists_close(lists);
        free(lists);
    }
}

static void test_less_room_evicts_at_once(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    for (uint64_t page = 0; page < ROOM_PAGES / 2; page++)
        (void)touch(&f, page, SIM_READAHEAD_RANDOM);
    assert_int_equal(counts_of(&f).evicted, 0);
    sim_page_cache_set_room(f.cache, (uint64_t)64 * PAGE);
    const struct sim_page_cache_counts counts = counts_of(&f);
    assert_true(counts.pages <= 64 && counts.pages >= 16);
    assert_int_equal(counts.pages + counts.evicted, ROOM_PAGES / 2);
    assert_true(holds(&f, ROOM_PAGES / 2 - 1));
    assert_false(holds(&f, 0));
    sim_page_cache_set_room(f.cache, 0);
    assert_int_equal(counts_of(&f).pages, 0);
    sim_page_cache_close(f.cache);
}

/* 512 pages far apart need 8 pages of table entries and 8 x 8 nodes besides themselves. */
static void test_kernel_memory_takes_room(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    for (uint64_t i = 0; i < 2 * ROOM_PAGES; i++)
        (void)touch(&f, i * 64 % FILE_PAGES + i / 64, SIM_READAHEAD_RANDOM);
    const uint64_t taken = 8 + (64 * 584 + PAGE - 1) / PAGE;
    assert_true(counts_of(&f).pages <= ROOM_PAGES - taken);
    assert_true(counts_of(&f).pages >= ROOM_PAGES - taken - 64);
    sim_page_cache_close(f.cache);
}

/* ---- what is read ahead ---- */

static void test_windows_of_sequential_reads(void **state)
{
    (void)state;
    static const struct {
        uint64_t page, pages, first, count;
    } steps[] = {
        {0, 1, 0, 4},   {1, 1, 4, 8},    {2, 1, 0, 0},    {3, 1, 0, 0},
        {4, 1, 12, 16}, {12, 1, 28, 32}, {28, 1, 60, 32}, /* the device's window */
    };
    struct fixture f = open_cache(ROOM_PAGES, WINDOW_PAGES);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct sim_touch t = read_pages(&f, steps[i].page, steps[i].pages);
        assert_int_equal(t.read_count, steps[i].count > 0);
        assert_int_equal(t.major, i == 0);
        if (steps[i].count > 0)
            assert_range(&t, 0, steps[i].first, steps[i].count);
    }
    assert_int_equal(counts_of(&f).readahead, 91);
    assert_int_equal(counts_of(&f).major_faults, 1);
    sim_page_cache_close(f.cache);
}

static void test_reads_elsewhere_bring_in_what_they_ask_for(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, WINDOW_PAGES);
    struct sim_touch t = read_pages(&f, 1000, 1);
    assert_range(&t, 0, 1000, 1);
    t = read_pages(&f, 2000, 8);
    assert_range(&t, 0, 2000, 8);
    t = read_pages(&f, 1996, 8); /* its second half is there */
    assert_int_equal(t.read_count, 1);
    assert_range(&t, 0, 1996, 4);
    t = read_pages(&f, 2100, 40); /* more than a window: as much again is read before its second half is used */
    assert_range(&t, 0, 2100, 80);
    struct sim_touch random;
    sim_page_cache_read(f.cache, f.file, 0, 3, SIM_READAHEAD_RANDOM, &random);
    assert_range(&random, 0, 0, 3);
    t = read_pages(&f, FILE_PAGES - 2, 2);
    assert_range(&t, 0, FILE_PAGES - 2, 2);
    sim_page_cache_close(f.cache);
}

static void test_read_around_of_mappings(void **state)
{
    (void)state;
    static const struct {
        uint64_t page, first, pages;
    } cases[] = {
        {1000, 984, 32},
        {3, 0, 32},
        {FILE_PAGES - 1, FILE_PAGES - 17, 17},
        {512, 496, 32},
        {FILE_PAGES - 100, 3980, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = open_cache(ROOM_PAGES, WINDOW_PAGES);
        const struct sim_touch t = touch(&f, cases[i].page, SIM_READAHEAD_NORMAL);
        assert_true(t.major);
        assert_int_equal(t.read_count, 1);
        assert_range(&t, 0, cases[i].first, cases[i].pages);
        assert_int_equal(counts_of(&f).readahead, cases[i].pages - 1);
        sim_page_cache_close(f.cache);
    }
}

static void test_pages_that_are_there_are_not_read_again(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, WINDOW_PAGES);
    (void)touch(&f, 995, SIM_READAHEAD_RANDOM);
    (void)touch(&f, 996, SIM_READAHEAD_RANDOM);
    const struct sim_touch t = touch(&f, 1000, SIM_READAHEAD_NORMAL);
    assert_int_equal(t.read_count, 2);
    assert_range(&t, 0, 984, 11);
    assert_range(&t, 1, 997, 19);
    sim_page_cache_close(f.cache);
}

static void test_one_fault_maps_sixteen_cached_pages(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    for (uint64_t page = 64; page < 84; page++)
        (void)read_pages(&f, page, 1);
    static const struct {
        uint64_t page;
        bool minor;
    } steps[] = {{70, true}, {64, false}, {79, false}, {80, true}, {83, false}, {70, false}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct sim_touch t = touch(&f, steps[i].page, SIM_READAHEAD_RANDOM);
        assert_int_equal(t.minor, steps[i].minor);
        assert_false(t.major);
    }
    assert_int_equal(counts_of(&f).minor_faults, 2);
    sim_page_cache_close(f.cache);
}

/* ---- files ---- */

static void test_unmapping_keeps_pages_and_what_was_seen_of_them(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    (void)touch(&f, 7, SIM_READAHEAD_NORMAL);
    (void)touch(&f, 900, SIM_READAHEAD_RANDOM);
    sim_page_cache_unmap(f.cache, f.file);
    assert_true(holds(&f, 7) && holds(&f, 900));
    assert_true(touch(&f, 7, SIM_READAHEAD_NORMAL).minor);
    assert_true(touch(&f, 900, SIM_READAHEAD_RANDOM).minor);
    sim_page_cache_unmap(f.cache, f.file); /* page 7 was seen twice now: it is active */
    for (uint64_t page = 1000; page < 1000 + 2 * ROOM_PAGES; page++)
        (void)touch(&f, page, SIM_READAHEAD_RANDOM);
    assert_true(holds(&f, 7));
    assert_false(holds(&f, 900));
    sim_page_cache_close(f.cache);
}

static void test_forgotten_files_leave_nothing(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    const struct fixture other = {f.cache, add_file(f.cache, 10)};
    (void)touch(&other, 9, SIM_READAHEAD_RANDOM);
    for (uint64_t page = 0; page < ROOM_PAGES + 100; page++)
        (void)touch(&f, page, SIM_READAHEAD_RANDOM);
    (void)touch(&other, 8, SIM_READAHEAD_RANDOM);
    sim_page_cache_forget(f.cache, f.file);
    assert_int_equal(counts_of(&f).pages, 1);
    assert_true(holds(&other, 8));
    const uint64_t refaulted = counts_of(&f).refaulted, evicted = counts_of(&f).evicted;
    for (uint64_t page = 0; page < ROOM_PAGES - 32; page++) /* the whole room is there again, kernel memory too */
        assert_true(touch(&f, page, SIM_READAHEAD_RANDOM).major);
    assert_int_equal(counts_of(&f).refaulted, refaulted);
    assert_int_equal(counts_of(&f).evicted, evicted);
    sim_page_cache_close(f.cache);
}

static void test_files_grow(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    const struct fixture grown = {f.cache, add_file(f.cache, 0)};
    struct gnn_err err = {0};
    for (uint64_t pages = 1; pages < 5000; pages = pages * 2 + 1) {
        assert_int_equal(sim_page_cache_grow_file(f.cache, grown.file, pages * PAGE - 1, &err), GNN_OK);
        sim_page_cache_write(f.cache, grown.file, pages - 1, 1);
        assert_true(holds(&grown, pages - 1));
        assert_int_equal(add_file(f.cache, 1), counts_of(&f).pages + 1); /* others come in between */
    }
    uint64_t from = 0, next = 1;
    struct sim_page_range range;
    for (; sim_page_cache_take_dirty(f.cache, grown.file, &from, &range); next = next * 2 + 1) {
        assert_int_equal(range.first_page, next - 1);
        assert_int_equal(range.pages, 1);
    }
    assert_int_equal(next, 8191);
    sim_page_cache_close(f.cache);
}

/* ---- dirty pages ---- */

/* Each dirty page is handed out once: by reclaim or by a sync. */
static void test_dirty_pages_are_written_once(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    static uint8_t written[FILE_PAGES];
    memset(written, 0, sizeof written);
    struct sim_page_range ranges[4];
    for (uint64_t page = 0; page < 1000; page += 10) {
        sim_page_cache_write(f.cache, f.file, page, 5);
        for (uint32_t n; (n = sim_page_cache_take_evicted(f.cache, ranges, 4)) > 0;)
            for (uint32_t i = 0; i < n; i++)
                for (uint64_t p = 0; p < ranges[i].pages; p++) {
                    assert_int_equal(ranges[i].file, f.file);
                    assert_false(holds(&f, ranges[i].first_page + p));
                    written[ranges[i].first_page + p]++;
                }
    }
    uint64_t evicted = 0, from = 0;
    for (uint64_t page = 0; page < FILE_PAGES; page++)
        evicted += written[page];
    assert_int_equal(evicted, counts_of(&f).evicted);
    assert_true(evicted > 200);
    while (sim_page_cache_take_dirty(f.cache, f.file, &from, ranges))
        for (uint64_t p = 0; p < ranges[0].pages; p++)
            written[ranges[0].first_page + p]++;
    for (uint64_t page = 0; page < FILE_PAGES; page++)
        assert_int_equal(written[page], page < 1000 && page % 10 < 5);
    from = 0;
    assert_false(sim_page_cache_take_dirty(f.cache, f.file, &from, ranges));
    sim_page_cache_close(f.cache);
}

/* ---- anything goes ---- */

static uint64_t digest_of(uint64_t digest, uint64_t word)
{
    return gnn_rng_fold(digest, word);
}

/* Returns a digest of everything the model answered. */
static uint64_t drive(uint64_t seed)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed, 1));
    struct fixture f = open_cache(ROOM_PAGES, WINDOW_PAGES);
    uint64_t digest = seed;
    for (uint32_t i = 0; i < 20000; i++) {
        const enum sim_readahead advice = (enum sim_readahead)gnn_rng_below(&rng, 2);
        const uint64_t page = gnn_rng_below(&rng, gnn_rng_below(&rng, 2) == 0 ? 100 : FILE_PAGES - 8);
        struct sim_touch t = {0};
        switch (gnn_rng_below(&rng, 16)) {
        case 0:
            sim_page_cache_write(f.cache, f.file, page, 1 + page % 8);
            break;
        case 1:
            sim_page_cache_set_room(f.cache, gnn_rng_below(&rng, ROOM_PAGES) * PAGE);
            break;
        case 2:
            sim_page_cache_set_room(f.cache, (uint64_t)ROOM_PAGES * PAGE);
            break;
        case 3:
            sim_page_cache_sum_statistics(f.cache);
            break;
        case 4:
        case 5:
        case 6:
            sim_page_cache_read(f.cache, f.file, page, 1 + page % 8, advice, &t);
            break;
        default:
            sim_page_cache_touch(f.cache, f.file, page, advice, &t);
            break;
        }
        for (uint32_t r = 0; r < t.read_count; r++)
            digest = digest_of(digest_of(digest, t.reads[r].first_page), t.reads[r].pages);
        if (gnn_rng_below(&rng, 5000) == 0)
            sim_page_cache_forget(f.cache, f.file);
        if (gnn_rng_below(&rng, 1000) == 0)
            sim_page_cache_unmap(f.cache, f.file);
    }
    const struct sim_page_cache_counts counts = counts_of(&f);
    uint64_t pages = 0;
    for (uint64_t page = 0; page < FILE_PAGES; page++)
        pages += holds(&f, page);
    assert_int_equal(pages, counts.pages);
    assert_true(counts.pages <= ROOM_PAGES && counts.evicted > 0 && counts.refaulted > 0);
    sim_page_cache_close(f.cache);
    return digest_of(digest_of(digest, counts.evicted), counts.hits);
}

static void test_any_order_of_calls_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        assert_int_equal(drive(seed), drive(seed));
    }
}

static void test_a_large_file_costs_nothing_until_touched(void **state)
{
    (void)state;
    struct fixture f = open_cache(ROOM_PAGES, NO_WINDOW);
    const struct fixture large = {f.cache, add_file(f.cache, UINT64_C(228) << 18)};
    assert_true(touch(&large, (UINT64_C(228) << 18) - 1, SIM_READAHEAD_RANDOM).major);
    assert_true(holds(&large, (UINT64_C(228) << 18) - 1));
    struct gnn_err err = {0};
    uint32_t number;
    assert_int_equal(sim_page_cache_add_file(f.cache, UINT64_C(17) << 40, &number, &err), GNN_ECAP);
    sim_page_cache_close(f.cache);
}

/* Touches of one page in 32, in any order, with too little room for them. The window's other page lies in the 16
 * before, so that a page that comes in is the one hit of its fault; since 6.10 it is none when it thrashes, and the
 * mapping is no longer read around. Before that it goes on. */
static uint64_t read_around(uint32_t kernel, uint64_t *misses)
{
    enum { TOUCHES = 30000, PLACES = 1000, APART = 32 };
    struct fixture f = open_cache(PLACES * 3 / 4, 2);
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(7, "reading around"));
    f.file = add_file(f.cache, PLACES * APART);
    sim_page_cache_set_kernel(f.cache, kernel);
    for (uint32_t i = 0; i < TOUCHES; i++) {
        (void)touch(&f, (uint64_t)APART * gnn_rng_below(&rng, PLACES), SIM_READAHEAD_NORMAL);
        sim_page_cache_sum_statistics(f.cache);
    }
    const uint64_t pages = counts_of(&f).readahead;
    *misses = counts_of(&f).major_faults;
    sim_page_cache_close(f.cache);
    return pages;
}

static void test_an_old_kernel_reads_around_for_ever(void **state)
{
    (void)state;
    uint64_t misses, other;
    const uint64_t old = read_around(5019, &misses), last = read_around(6018, &other);
    assert_in_range(old, misses - 40, misses); /* the first page has none before it */
    assert_int_equal(read_around(6009, &other), old);
    assert_int_equal(read_around(6010, &other), last);
    assert_true(old > 2 * last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mappings_without_recency_leave_in_order),
        cmocka_unit_test(test_an_accessed_bit_gives_a_second_round),
        cmocka_unit_test(test_a_second_read_keeps_a_page_through_a_scan),
        cmocka_unit_test(test_pieces_of_a_page_are_one_access),
        cmocka_unit_test(test_refault_distance),
        cmocka_unit_test(test_a_page_that_was_active_once_stays_marked),
        cmocka_unit_test(test_a_stale_active_list_shrinks),
        cmocka_unit_test(test_refaults_age_the_active_list),
        cmocka_unit_test(test_less_room_evicts_at_once),
        cmocka_unit_test(test_kernel_memory_takes_room),
        cmocka_unit_test(test_windows_of_sequential_reads),
        cmocka_unit_test(test_reads_elsewhere_bring_in_what_they_ask_for),
        cmocka_unit_test(test_read_around_of_mappings),
        cmocka_unit_test(test_pages_that_are_there_are_not_read_again),
        cmocka_unit_test(test_one_fault_maps_sixteen_cached_pages),
        cmocka_unit_test(test_unmapping_keeps_pages_and_what_was_seen_of_them),
        cmocka_unit_test(test_forgotten_files_leave_nothing),
        cmocka_unit_test(test_files_grow),
        cmocka_unit_test(test_dirty_pages_are_written_once),
        cmocka_unit_test(test_any_order_of_calls_twice),
        cmocka_unit_test(test_an_old_kernel_reads_around_for_ever),
        cmocka_unit_test(test_a_large_file_costs_nothing_until_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
