/* SPDX-License-Identifier: MIT */
/* Mappings and buffered I/O of the simulated world on a machine of round figures (tests/support/sim_profile.h): values,
 * waits and CPU time worked out by hand. What a cap does to them is in test_sim_reclaim.c. */
#include "tests/support/sim_map.h"

/* ---- mappings ---- */

static void test_values_are_the_files(void **state)
{
    (void)state;
    for (int gathers = 0; gathers < 2; gathers++) {
        struct fixture f;
        open_fixture(&f, gathers == 1, GNN_MAP_RANDOM, GNN_OPEN_READ);
        gather_pages(&f, 0, FILE_PAGES, 1);
        gather_pages(&f, 5, 100, 7);
        const gnn_node rows[] = {0, 3, 1, 3, 699049};
        unsigned char out[5][8], expected[6];
        struct gnn_err err = {0};
        assert_int_equal(gnn_map_gather_rows(f.world, f.map, 6, rows, 5, out, sizeof out[0], &err), GNN_OK);
        for (int i = 0; i < 5; i++) {
            read_values(&f.content, (uint64_t)rows[i] * 6, sizeof expected, expected);
            assert_memory_equal(out[i], expected, sizeof expected);
        }
        close_fixture(&f);
    }
}

static void test_absent_pages_are_waited_for(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    const uint64_t start_ns = gnn_now_ns(f.world);
    gather_pages(&f, 0, 10, 20);
    assert_int_equal(gnn_now_ns(f.world) - start_ns, 10 * (ELEMENT + MAJOR + READ + WAKE));
    assert_int_equal(io_wait_ns(&f), 10 * (READ + WAKE));
    const struct gnn_simulated_counts counts = counts_of(&f);
    assert_int_equal(counts.device_read_ios, 10);
    assert_int_equal(counts.device_read_bytes, 10 * PAGE);
    assert_int_equal(counts.page_major_faults, 10);
    assert_int_equal(counts.device_read_sizes.of_class[gnn_size_class(PAGE)], 10);
    close_fixture(&f);
}

static void test_pages_that_are_there_cost_their_elements(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    gather_pages(&f, 0, 100, 1);
    const struct gnn_simulated_counts before = counts_of(&f);
    const uint64_t start_ns = gnn_now_ns(f.world), waited_ns = io_wait_ns(&f);
    gather_pages(&f, 0, 100, 1);
    assert_int_equal(gnn_now_ns(f.world) - start_ns, 100 * ELEMENT);
    assert_int_equal(io_wait_ns(&f), waited_ns);
    assert_int_equal(counts_of(&f).device_read_ios, before.device_read_ios);
    assert_int_equal(counts_of(&f).page_hits, before.page_hits + 100);
    close_fixture(&f);
}

static void test_elements_of_one_page_touch_it_once(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    const uint64_t index[] = {0, 1, 1023, 5, 1024, 0};
    uint32_t out[6];
    struct gnn_err err = {0};
    assert_int_equal(gnn_map_gather_u32(f.world, f.map, index, 6, out, &err), GNN_OK);
    assert_int_equal(counts_of(&f).page_major_faults, 2);
    assert_int_equal(counts_of(&f).page_hits, 1);
    close_fixture(&f);
}

/* The file as 8-byte entries, every other value of which is its upper half. */
static void gather_wide_values(const struct gnn_content *content, const uint64_t *index, uint64_t count, uint32_t *out)
{
    (void)content;
    for (uint64_t i = 0; i < count; i++)
        out[i] = value_at(2 * index[i] + 1) > 0 ? UINT32_MAX : value_at(2 * index[i]);
}

/* Half as many entries lie on a page, at the same CPU time each; wide ones become GNN_NODE_NONE. */
static void test_wide_ids_take_twice_the_pages(void **state)
{
    (void)state;
    for (int hooked = 0; hooked < 2; hooked++) {
        struct fixture f;
        open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
        if (hooked == 1) {
            f.content.id_bytes = 8;
            f.content.gather_ids = gather_wide_values;
        }
        uint64_t index[] = {0, 511, 512, 1023, 1024, VALUES / 2 - 1};
        uint32_t out[6];
        struct gnn_err err = {0};
        const uint64_t start_ns = gnn_now_ns(f.world);
        assert_int_equal(gnn_map_gather_ids(f.world, f.map, 8, index, 6, out, &err), GNN_OK);
        assert_int_equal(counts_of(&f).page_major_faults, 4);
        assert_int_equal(gnn_now_ns(f.world) - start_ns, 4 * (MAJOR + READ + WAKE) + 6 * ELEMENT);
        for (int i = 0; i < 6; i++) {
            const uint64_t high = value_at(2 * index[i] + 1), id = high << 32 | value_at(2 * index[i]);
            assert_int_equal(out[i], id < UINT32_MAX ? id : UINT32_MAX);
        }
        index[1] = VALUES / 2;
        assert_int_equal(gnn_map_gather_ids(f.world, f.map, 8, index, 2, out, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "524288"));
        close_fixture(&f);
    }
    for (uint32_t id_bytes = 4; id_bytes <= 8; id_bytes *= 2) { /* a scan of as many entries as fit with 8 bytes */
        enum { STEP = 4096 };
        struct fixture f;
        struct gnn_err err = {0};
        open_fixture(&f, false, GNN_MAP_RANDOM, GNN_OPEN_READ);
        for (uint64_t first = 0; first < VALUES / 2; first += STEP) {
            uint64_t index[STEP];
            uint32_t out[STEP];
            for (uint64_t i = 0; i < STEP; i++)
                index[i] = first + i;
            assert_int_equal(gnn_map_gather_ids(f.world, f.map, id_bytes, index, STEP, out, &err), GNN_OK);
        }
        assert_int_equal(counts_of(&f).page_major_faults, id_bytes == 8 ? FILE_PAGES : FILE_PAGES / 2);
        close_fixture(&f);
    }
}

static void test_read_around(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_NORMAL, GNN_OPEN_READ);
    const uint64_t start_ns = gnn_now_ns(f.world);
    gather_pages(&f, 100, 1, 1); /* pages 84 to 115 */
    /* 128 KiB lie between 64 KiB (100 us) and 1 MiB (1 ns a byte). */
    const uint64_t read_ns = READ + (uint64_t)65536 * (1048576 - READ) / 983040;
    const uint64_t wall_ns = gnn_now_ns(f.world) - start_ns, expected_ns = MAJOR + read_ns + WAKE + ELEMENT;
    assert_in_range(wall_ns, expected_ns, expected_ns + 1);
    assert_int_equal(counts_of(&f).device_read_ios, 1);
    assert_int_equal(counts_of(&f).device_read_bytes, 32 * PAGE);
    assert_int_equal(counts_of(&f).device_read_sizes.count, 1);
    assert_int_equal(counts_of(&f).device_read_sizes.max_bytes, 32 * PAGE);
    assert_int_equal(counts_of(&f).pages_readahead, 31);
    gather_pages(&f, 84, 24, 1); /* up to the marked page */
    assert_int_equal(counts_of(&f).device_read_ios, 1);
    gather_pages(&f, 108, 1, 1);
    assert_int_equal(counts_of(&f).device_read_ios, 2);
    close_fixture(&f);
}

/* How long the first 64 KiB take, by a fault's window or a call, where such reads take 100 us into large pages and
 * scattered_us into single ones; 0: as into large ones. */
static uint64_t time_of_64_kib(uint32_t kernel, uint64_t scattered_us, enum gnn_map_advice advice, unsigned flags,
                               bool faults)
{
    struct fixture f = {.world = NULL};
    void *memory;
    sim_profile_fill(&f.profile);
    f.profile.kernel = kernel;
    f.profile.storage.readahead_bytes = 65536;
    for (uint32_t d = 0; d < f.profile.storage.depth_count; d++)
        f.profile.storage.scattered_ps[2][d] = scattered_us * 1000000;
    open_on_profile(&f, true, advice, GNN_OPEN_READ);
    struct gnn_file *file;
    assert_int_equal(gnn_file_open(f.world, "values", flags, &file, NULL), GNN_OK);
    assert_int_equal(gnn_mem_alloc(f.world, "bytes", 65536, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    const uint64_t start_ns = gnn_now_ns(f.world);
    if (faults)
        gather_pages(&f, 0, 1, 1);
    else
        assert_int_equal(gnn_file_read(f.world, file, 0, memory, 65536), 65536);
    const uint64_t wall_ns = gnn_now_ns(f.world) - start_ns;
    assert_true(counts_of(&f).device_read_bytes >= 65536); /* a call may have the next 64 KiB read ahead */
    gnn_mem_free(f.world, memory);
    gnn_file_close(f.world, file);
    close_fixture(&f);
    return wall_ns;
}

/* Pages of the page cache lie anywhere, but for those of a call that is read ahead; memory of direct reads does not. */
static void test_single_pages_take_their_own_time(void **state)
{
    static const struct {
        uint32_t kernel;
        enum gnn_map_advice advice;
        unsigned flags;
        bool faults;
        uint64_t more_ns;
    } cases[] = {
        {6018, GNN_MAP_NORMAL, GNN_OPEN_READ, true, 200000},
        {6018, GNN_MAP_RANDOM, GNN_OPEN_READ | GNN_OPEN_RANDOM, false, 200000},
        {6018, GNN_MAP_RANDOM, GNN_OPEN_READ, false, 0},
        {6016, GNN_MAP_RANDOM, GNN_OPEN_READ, false, 0},
        {6015, GNN_MAP_RANDOM, GNN_OPEN_READ, false, 186667}, /* no large folios; what is read ahead is behind it */
        {6018, GNN_MAP_RANDOM, GNN_OPEN_READ | GNN_OPEN_DIRECT, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const uint64_t scattered_us[] = {0, 100, 300};
        uint64_t ns[3];
        for (size_t k = 0; k < 3; k++)
            ns[k] = time_of_64_kib(cases[i].kernel, scattered_us[k], cases[i].advice, cases[i].flags, cases[i].faults);
        assert_int_equal(ns[1], ns[0]);
        assert_int_equal(ns[2], ns[0] + cases[i].more_ns);
    }
}

static void test_past_the_end(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    uint64_t index[] = {VALUES - 1, VALUES, 0};
    uint32_t out[3] = {0};
    struct gnn_err err = {0};
    assert_int_equal(gnn_map_gather_u32(f.world, f.map, index, 3, out, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "1048576"));
    const gnn_node rows[] = {FILE_PAGES - 1, FILE_PAGES};
    static unsigned char pages[2][PAGE];
    err = (struct gnn_err){0};
    assert_int_equal(gnn_map_gather_rows(f.world, f.map, PAGE, rows, 2, pages, PAGE, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "values: row 1024"));
    assert_int_equal(gnn_map_gather_u32(f.world, f.map, index, 1, out, &err), GNN_OK);
    assert_int_equal(gnn_map_gather_u32(f.world, f.map, NULL, 0, NULL, &err), GNN_OK);
    close_fixture(&f);
}

/* Rows into memory without pages: a store there would end the test. */
static void test_feature_rows_cost_time_and_move_nothing(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    struct gnn_err err = {0};
    void *rows;
    assert_int_equal(gnn_mem_alloc(f.world, "rows", 8192 * 3, GNN_MEM_FEATURES, &rows, &err), GNN_OK);
    const gnn_node nodes[] = {1, 7, 1}; /* 6000 B each: bytes 6000-11999 and 42000-47999, pages 1-2 and 10-11 */
    const uint64_t start_ns = gnn_now_ns(f.world);
    assert_int_equal(gnn_map_gather_rows(f.world, f.map, 6000, nodes, 3, rows, 8192, &err), GNN_OK);
    assert_int_equal(gnn_now_ns(f.world) - start_ns, 4 * (MAJOR + READ + WAKE) + 3 * (ROW + 6000));
    assert_int_equal(counts_of(&f).device_read_ios, 4);
    assert_int_equal(counts_of(&f).page_hits, 2);
    gnn_mem_free(f.world, rows);
    close_fixture(&f);
}

struct toucher {
    const struct fixture *f;
    uint64_t page;
    uint64_t done_ns, wait_ns;
};

static void touch_page(void *arg)
{
    struct toucher *const t = arg;
    gather_pages(t->f, t->page, 1, 1);
    t->done_ns = gnn_now_ns(t->f->world);
    t->wait_ns = io_wait_ns(t->f);
}

static void test_threads_share_a_read(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    struct toucher touchers[3];
    struct gnn_thread *threads[3];
    struct gnn_err err = {0};
    const uint64_t start_ns = gnn_now_ns(f.world);
    for (int i = 0; i < 3; i++) {
        touchers[i] = (struct toucher){.f = &f, .page = 9};
        assert_int_equal(gnn_thread_start(f.world, "toucher", touch_page, &touchers[i], &threads[i], &err), GNN_OK);
    }
    for (int i = 0; i < 3; i++)
        gnn_thread_join(f.world, threads[i]);
    assert_int_equal(counts_of(&f).device_read_ios, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(touchers[i].done_ns >= start_ns + READ + WAKE);
        assert_true(touchers[i].wait_ns > READ / 2 && touchers[i].wait_ns <= READ + WAKE);
        /* The last was started at most three starts later, but waits for the same read. */
        assert_true(touchers[i].done_ns - touchers[0].done_ns <= ELEMENT);
    }
    close_fixture(&f);
}

/* Whoever touches a page of a window waits for the window's read, wherever in the file it begins. */
static void test_threads_share_a_window(void **state)
{
    (void)state;
    enum { WINDOW = 32, TOUCHERS = 5 };
    for (uint64_t page = 16; page < 16 + 64; page += 3) {
        struct fixture f;
        open_fixture(&f, true, GNN_MAP_NORMAL, GNN_OPEN_READ);
        const uint64_t pages[TOUCHERS] = {page, page - WINDOW / 2, page - 1, page + 1, page + WINDOW / 2 - 1};
        struct toucher touchers[TOUCHERS];
        struct gnn_thread *threads[TOUCHERS];
        struct gnn_err err = {0};
        const uint64_t start_ns = gnn_now_ns(f.world);
        for (int i = 0; i < TOUCHERS; i++) {
            touchers[i] = (struct toucher){.f = &f, .page = pages[i]};
            assert_int_equal(gnn_thread_start(f.world, "toucher", touch_page, &touchers[i], &threads[i], &err), GNN_OK);
        }
        for (int i = 0; i < TOUCHERS; i++)
            gnn_thread_join(f.world, threads[i]);
        assert_int_equal(counts_of(&f).device_read_ios, 1);
        for (int i = 0; i < TOUCHERS; i++) {
            assert_true(touchers[i].done_ns >= start_ns + READ + WAKE);
            assert_true(touchers[i].wait_ns > READ / 2);
        }
        close_fixture(&f);
    }
}

/* ---- buffered reads and writes ---- */

static void test_buffered_reads(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ | GNN_OPEN_RANDOM);
    static unsigned char bytes[4 * PAGE], expected[4 * PAGE];
    static const struct {
        uint64_t offset, len, absent_pages, pages;
    } steps[] = {
        {10 * PAGE, PAGE, 1, 1}, {10 * PAGE, PAGE, 0, 1}, {9 * PAGE + 5, 2 * PAGE, 2, 3}, {10 * PAGE + 1, 1, 0, 1}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const uint64_t start_ns = gnn_now_ns(f.world), ios = counts_of(&f).device_read_bytes;
        assert_int_equal(gnn_file_read(f.world, f.file, steps[i].offset, bytes, steps[i].len), steps[i].len);
        read_values(&f.content, steps[i].offset, steps[i].len, expected);
        assert_memory_equal(bytes, expected, steps[i].len);
        assert_int_equal(counts_of(&f).device_read_bytes - ios, steps[i].absent_pages * PAGE);
        /* Of BUFFERED_PAGE all but 576 ps is the copy of 4096 bytes, at 244 ps each. */
        const uint64_t copy_ns = (steps[i].pages * 576 + steps[i].len * 244) / 1000;
        const uint64_t cpu_ns = SYSCALL + ROW + copy_ns + steps[i].absent_pages * READAHEAD_PAGE;
        const uint64_t wall_ns = gnn_now_ns(f.world) - start_ns;
        if (steps[i].absent_pages == 2) /* two reads at once, around the page that is there */
            assert_in_range(wall_ns, cpu_ns + READ + WAKE, cpu_ns + READ + READ / 4 + WAKE);
        else
            assert_in_range(wall_ns - (steps[i].absent_pages > 0 ? READ + WAKE : 0), cpu_ns, cpu_ns + 1);
    }
    close_fixture(&f);
}

static void test_writes_are_written_back(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_err err = {0};
    open_fixture(&f, true, GNN_MAP_RANDOM, GNN_OPEN_READ);
    struct gnn_file *out;
    static unsigned char bytes[1 << 20];
    assert_int_equal(gnn_file_open(f.world, "out", GNN_OPEN_WRITE, &out, &err), GNN_OK);
    assert_int_equal(gnn_file_write(f.world, out, 0, bytes, sizeof bytes), sizeof bytes);
    assert_int_equal(counts_of(&f).device_write_bytes, 0);
    assert_int_equal(gnn_file_sync(f.world, out, &err), GNN_OK);
    assert_int_equal(counts_of(&f).device_write_bytes, sizeof bytes);
    assert_int_equal(gnn_file_sync(f.world, out, &err), GNN_OK);
    assert_int_equal(counts_of(&f).device_write_bytes, sizeof bytes);
    assert_int_equal(counts_of(&f).cached_bytes, sizeof bytes);
    assert_int_equal(gnn_file_evict(f.world, out, &err), GNN_OK);
    assert_int_equal(counts_of(&f).cached_bytes, 0);
    for (uint64_t mib = 1; mib < 128; mib++) /* twice the machine's memory */
        assert_int_equal(gnn_file_write(f.world, out, mib << 20, bytes, sizeof bytes), sizeof bytes);
    const uint64_t evicted_bytes = counts_of(&f).device_write_bytes;
    assert_in_range(evicted_bytes, 60 << 20, 70 << 20);
    assert_int_equal(gnn_file_sync(f.world, out, &err), GNN_OK);
    assert_int_equal(counts_of(&f).device_write_bytes, 128 << 20);
    gnn_file_close(f.world, out);
    assert_int_equal(gnn_file_remove(f.world, "out", &err), GNN_OK);
    assert_int_equal(counts_of(&f).cached_bytes, 0);
    close_fixture(&f);
}

static void test_two_worlds_take_the_same_time(void **state)
{
    (void)state;
    uint64_t end_ns[2];
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        open_fixture(&f, true, GNN_MAP_NORMAL, GNN_OPEN_READ);
        for (uint64_t stride = 1; stride < 40; stride++)
            gather_pages(&f, stride, FILE_PAGES / 40, stride);
        end_ns[i] = gnn_now_ns(f.world);
        close_fixture(&f);
    }
    assert_int_equal(end_ns[0], end_ns[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_the_files),
        cmocka_unit_test(test_absent_pages_are_waited_for),
        cmocka_unit_test(test_pages_that_are_there_cost_their_elements),
        cmocka_unit_test(test_elements_of_one_page_touch_it_once),
        cmocka_unit_test(test_wide_ids_take_twice_the_pages),
        cmocka_unit_test(test_read_around),
        cmocka_unit_test(test_single_pages_take_their_own_time),
        cmocka_unit_test(test_past_the_end),
        cmocka_unit_test(test_feature_rows_cost_time_and_move_nothing),
        cmocka_unit_test(test_threads_share_a_read),
        cmocka_unit_test(test_threads_share_a_window),
        cmocka_unit_test(test_buffered_reads),
        cmocka_unit_test(test_writes_are_written_back),
        cmocka_unit_test(test_two_worlds_take_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
