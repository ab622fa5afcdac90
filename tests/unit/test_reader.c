/* SPDX-License-Identifier: MIT */
/* The batched reader: every row width on 512- and 4096-byte sectors, to the last row of the file, through
 * both engines; what is asked of storage is aligned, counted and complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/reader.h"
#include "tests/support/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 6 * 1024 * 1024, ROWS_CHECKED = 40 };

/* ---- a world whose ring_submit checks alignment ---- */

static const struct gnn_world_ops *plain_ops;
static uint32_t demanded_align;

static enum gnn_status checking_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                       uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(reads[i].offset_bytes % demanded_align, 0);
        assert_int_equal(reads[i].len_bytes % demanded_align, 0);
        assert_int_equal((uintptr_t)reads[i].dst % demanded_align, 0);
    }
    return plain_ops->ring_submit(w, ring, reads, count, accepted, err);
}

/* The same world, every submission checked. Restored by the caller through plain_ops. */
static void check_alignment(struct gnn_world *world, struct gnn_world_ops *checking, uint32_t align)
{
    plain_ops = world->ops;
    demanded_align = align;
    *checking = *plain_ops;
    checking->ring_submit = checking_submit;
    world->ops = checking;
}

/* ---- layouts ---- */

static void test_row_layout(void **state)
{
    (void)state;
    static const struct {
        uint32_t row_bytes, align_bytes, rows_per_load, load_bytes, window_bytes_max, bounce_bytes_max;
    } cases[] = {
        {4, 512, 128, 512, 512, 512},      {128, 512, 4, 512, 512, 512},      {256, 512, 2, 512, 512, 512},
        {512, 512, 1, 512, 512, 0},        {1024, 512, 1, 1024, 1024, 0},     {3072, 512, 1, 3072, 3072, 0},
        {400, 512, 1, 400, 1024, 400},     {516, 512, 1, 516, 1024, 516},     {508, 512, 1, 508, 1024, 508},
        {768, 512, 1, 768, 1024, 768},     {2000, 512, 1, 2000, 2560, 2000},  {512, 4096, 8, 4096, 4096, 4096},
        {3072, 4096, 1, 3072, 8192, 3072}, {16384, 4096, 1, 16384, 16384, 0}, {400, 1, 1, 400, 400, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_row_layout layout = gnn_row_layout(cases[i].row_bytes, cases[i].align_bytes);
        assert_int_equal(layout.rows_per_load, cases[i].rows_per_load);
        assert_int_equal(layout.load_bytes, cases[i].load_bytes);
        assert_int_equal(layout.window_bytes_max, cases[i].window_bytes_max);
        assert_int_equal(layout.bounce_bytes_max, cases[i].bounce_bytes_max);
    }
}

/* window_bytes_max against the definition, over a whole period of rows. */
static void test_widest_window(void **state)
{
    (void)state;
    for (uint32_t width = 1; width <= 4096; width += width < 300 ? 1 : 37) {
        for (uint32_t align = 512; align <= 4096; align *= 8) {
            const uint64_t bytes = (uint64_t)width * 4;
            const struct gnn_row_layout layout = gnn_row_layout((uint32_t)bytes, align);
            uint64_t widest = 0;
            for (uint64_t row = 0; row < align; row += layout.rows_per_load) {
                const struct gnn_row_range range = gnn_row_range(&layout, row, bytes * align * 2);
                const uint64_t end = range.offset_bytes + range.len_bytes;
                assert_true(range.offset_bytes <= row * bytes && (row + 1) * bytes <= end);
                const uint64_t window = gnn_round_up(end, align) - gnn_round_down(range.offset_bytes, align);
                widest = window > widest ? window : widest;
            }
            assert_int_equal(widest, layout.window_bytes_max);
        }
    }
}

/* ---- every row width ---- */

struct rows_file {
    struct fixture base;
    struct gnn_file *file;
    char path[512];
    uint64_t file_bytes;
};

static void rows_file_open(struct rows_file *f, uint32_t force_align_bytes, bool direct)
{
    fixture_open(&f->base, .scratch = true, .measured.force_align_bytes = force_align_bytes);
    f->file_bytes = FILE_BYTES;
    io_scratch_fill(&f->base.scratch, "rows", f->file_bytes);
    if (direct && !f->base.direct)
        return; /* the test skips */
    struct gnn_err err = {0};
    const unsigned flags = GNN_OPEN_READ | (direct ? GNN_OPEN_DIRECT : 0);
    const enum gnn_status status =
        gnn_file_open(f->base.world, io_scratch_path(&f->base.scratch, "rows", f->path), flags, &f->file, &err);
    must(status, &err);
}

static void rows_file_close(struct rows_file *f)
{
    gnn_file_close(f->base.world, f->file);
    fixture_close(&f->base);
}

/* The file shrinks to a whole number of rows, so that the last one ends where the file does. */
static uint64_t cut_to_rows(struct rows_file *f, uint32_t row_bytes)
{
    f->file_bytes = gnn_round_down(f->file_bytes, row_bytes);
    assert_int_equal(truncate(f->path, (off_t)f->file_bytes), 0);
    return f->file_bytes / row_bytes;
}

static void check_row(const unsigned char *slot, const struct gnn_row_layout *layout, uint64_t row)
{
    const uint64_t width = layout->row_bytes / 4;
    const unsigned char *bytes = slot + row % layout->rows_per_load * layout->row_bytes;
    for (uint64_t column = 0; column < width; column++) {
        uint32_t value;
        memcpy(&value, bytes + column * 4, 4);
        if (value != io_scratch_value(row * width + column))
            fail_msg("row width %u floats, sector %u: row %u column %u is wrong", (unsigned)width, layout->align_bytes,
                     (unsigned)row, (unsigned)column);
    }
}

/* Loads ROWS_CHECKED rows, the first and the last among them, and checks them and that nothing beside was
 * written. */
static void check_width(struct rows_file *f, uint32_t width, uint32_t depth, enum gnn_ring_engine engine,
                        struct gnn_rng *rng)
{
    const uint32_t row_bytes = width * 4;
    const uint64_t rows = cut_to_rows(f, row_bytes);
    struct gnn_file_info info;
    gnn_file_info(f->base.world, f->file, &info);
    const struct gnn_row_layout layout = gnn_row_layout(row_bytes, info.offset_align_bytes);
    const struct gnn_reader_config config = {.engine = engine,
                                             .depth = depth,
                                             .pool_threads = 4,
                                             .files = &f->file,
                                             .file_count = 1,
                                             .bounce_bytes_max = layout.bounce_bytes_max};
    struct gnn_err err = {0};
    struct gnn_reader *reader;
    must(gnn_reader_open(f->base.world, &config, &reader, &err), &err);
    const uint64_t guard = 64;
    const uint64_t stride = gnn_round_up(layout.load_bytes + guard, 4096);
    void *slots;
    assert_int_equal(gnn_mem_alloc(f->base.world, "slots", stride * ROWS_CHECKED, GNN_MEM_FEATURES, &slots, NULL),
                     GNN_OK);
    memset(slots, 0, stride * ROWS_CHECKED);
    uint64_t row[ROWS_CHECKED];
    struct gnn_load loads[ROWS_CHECKED];
    uint64_t windows = 0;
    for (uint32_t i = 0; i < ROWS_CHECKED; i++) {
        row[i] = i == 0 ? 0 : i == 1 ? rows - 1 : gnn_rng_below(rng, rows);
        const struct gnn_row_range range = gnn_row_range(&layout, row[i], f->file_bytes);
        loads[i] = (struct gnn_load){.offset_bytes = range.offset_bytes,
                                     .len_bytes = range.len_bytes,
                                     .dst = (unsigned char *)slots + i * stride,
                                     .tag = i};
        windows += gnn_round_up(range.offset_bytes + range.len_bytes, layout.align_bytes) -
                   gnn_round_down(range.offset_bytes, layout.align_bytes);
    }
    if (gnn_reader_load_all(reader, loads, ROWS_CHECKED, NULL, NULL, &err) != GNN_OK)
        fail_msg("row width %u: %s", width, err.message);
    for (uint32_t i = 0; i < ROWS_CHECKED; i++) {
        const unsigned char *slot = (const unsigned char *)slots + i * stride;
        check_row(slot, &layout, row[i]);
        for (uint64_t g = 0; g < guard; g++)
            assert_int_equal(slot[layout.load_bytes + g], 0);
    }
    struct gnn_reader_counters counters;
    gnn_reader_counters(reader, &counters);
    assert_int_equal(counters.loads, ROWS_CHECKED);
    assert_int_equal(counters.requested_ios, ROWS_CHECKED);
    assert_int_equal(counters.requested_bytes, windows);
    gnn_reader_close(reader);
    gnn_mem_free(f->base.world, slots);
}

/* Dense at the narrow end, around every multiple of 64 floats, and random in between. */
static bool width_is_checked(uint32_t width, struct gnn_rng *rng)
{
    const uint32_t off = (width + 1) % 64; /* 0, 1, 2: one below, on, one above */
    const uint32_t period = width < 1024 ? 64 : 512;
    return width <= 40 || (off <= 2 && (width + 1) / period * period + off == width + 1) || gnn_rng_below(rng, 80) == 0;
}

static void check_all_widths(uint32_t align, bool direct, enum gnn_ring_engine engine)
{
    struct rows_file f = {0};
    rows_file_open(&f, align, direct);
    if (direct && !f.base.direct) {
        rows_file_close(&f);
        skip_test("no direct I/O in the temporary directory");
    }
    struct gnn_file_info info;
    gnn_file_info(f.base.world, f.file, &info);
    struct gnn_world_ops checking;
    check_alignment(f.base.world, &checking, direct ? align : 1);
    const uint64_t seed = 20240812;
    print_message("seed %u, sector %u\n", (unsigned)seed, info.offset_align_bytes);
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed, align));
    for (uint32_t width = 1; width <= 4096; width++)
        if (width_is_checked(width, &rng))
            check_width(&f, width, 1 + width % 33, engine, &rng);
    f.base.world->ops = plain_ops;
    rows_file_close(&f);
}

static void test_widths_on_512(void **state)
{
    (void)state;
    check_all_widths(512, true, GNN_RING_URING);
}

static void test_widths_on_4096(void **state)
{
    (void)state;
    check_all_widths(4096, true, GNN_RING_URING);
}

static void test_widths_pool(void **state)
{
    (void)state;
    check_all_widths(4096, true, GNN_RING_POOL);
}

static void test_widths_buffered(void **state)
{
    (void)state;
    check_all_widths(0, false, GNN_RING_URING);
}

/* ---- the extractor's rhythm, refusals, blocks ---- */

/* Submit one, take what is there, and drain at the end: each tag comes back exactly once. */
static void test_submit_and_harvest(void **state)
{
    (void)state;
    struct rows_file f = {0};
    rows_file_open(&f, 0, false);
    enum { LOADS = 500, BYTES = 512 };
    const struct gnn_reader_config config = {.depth = 8, .files = &f.file, .file_count = 1};
    struct gnn_reader *reader;
    assert_int_equal(gnn_reader_open(f.base.world, &config, &reader, NULL), GNN_OK);
    unsigned char *slots = calloc(LOADS, BYTES);
    uint8_t seen[LOADS] = {0};
    uint32_t submitted = 0, completed = 0, most = 0;
    while (completed < LOADS) {
        uint32_t accepted = 0;
        if (submitted < LOADS) {
            const struct gnn_load load = {.offset_bytes = (uint64_t)(submitted * 7919U % 4096) * BYTES,
                                          .len_bytes = BYTES,
                                          .dst = slots + (size_t)submitted * BYTES,
                                          .tag = submitted};
            assert_int_equal(gnn_reader_submit(reader, &load, 1, &accepted, NULL), GNN_OK);
            submitted += accepted;
        }
        const uint32_t in_flight = gnn_reader_in_flight(reader);
        most = in_flight > most ? in_flight : most;
        uint64_t tags[16];
        uint32_t got;
        assert_int_equal(gnn_reader_harvest(reader, accepted == 0 ? 1 : 0, 16, tags, &got, NULL), GNN_OK);
        assert_true(accepted != 0 || got >= 1);
        for (uint32_t i = 0; i < got; i++)
            assert_int_equal(seen[tags[i]]++, 0);
        completed += got;
        assert_int_equal(gnn_reader_in_flight(reader), submitted - completed);
    }
    assert_in_range(most, 1, 8);
    for (uint32_t i = 0; i < LOADS; i++) {
        uint32_t value;
        memcpy(&value, slots + (size_t)i * BYTES, sizeof value);
        assert_int_equal(value, io_scratch_value((uint64_t)(i * 7919U % 4096) * BYTES / 4));
    }
    gnn_reader_close(reader);
    free(slots);
    rows_file_close(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct rows_file f = {0};
    rows_file_open(&f, 0, false);
    struct gnn_err err = {0};
    struct gnn_reader *reader;
    struct gnn_reader_config config = {.depth = 0, .files = &f.file, .file_count = 1};
    assert_int_equal(gnn_reader_open(f.base.world, &config, &reader, &err), GNN_EUSAGE);
    assert_null(reader);
    config.depth = 4;
    struct gnn_file *const files[GNN_READER_FILES_MAX + 1] = {f.file};
    static const uint32_t counts[] = {0, GNN_READER_FILES_MAX + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const struct gnn_reader_config none = {.depth = 4, .files = files, .file_count = counts[i]};
        err = (struct gnn_err){0};
        assert_int_equal(gnn_reader_open(f.base.world, &none, &reader, &err), GNN_EUSAGE);
        assert_non_null(strstr(err.message, "1 to 16 are possible"));
        assert_null(reader);
    }
    assert_int_equal(gnn_reader_open(f.base.world, &config, &reader, NULL), GNN_OK);
    unsigned char dst[16];
    static const struct {
        uint64_t offset_bytes;
        uint32_t len_bytes;
        enum gnn_status status;
    } cases[] = {
        {FILE_BYTES - 16, 16, GNN_OK},
        {FILE_BYTES - 15, 16, GNN_ESHORT},
        {FILE_BYTES, 1, GNN_ESHORT},
        {UINT64_MAX - 3, 16, GNN_ESHORT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_load load = {
            .offset_bytes = cases[i].offset_bytes, .len_bytes = cases[i].len_bytes, .dst = dst};
        struct gnn_err why = {0};
        assert_int_equal(gnn_reader_load_all(reader, &load, 1, NULL, NULL, &why), cases[i].status);
        if (cases[i].status != GNN_OK)
            assert_non_null(strstr(why.message, "rows"));
        assert_int_equal(gnn_reader_in_flight(reader), 0);
    }
    gnn_reader_close(reader);
    gnn_reader_close(NULL);
    rows_file_close(&f);
}

static void test_misaligned_without_bounce(void **state)
{
    (void)state;
    struct rows_file f = {0};
    rows_file_open(&f, 0, true);
    if (!f.base.direct) {
        rows_file_close(&f);
        skip_test("no direct I/O in the temporary directory");
    }
    const struct gnn_reader_config config = {.depth = 4, .files = &f.file, .file_count = 1};
    struct gnn_reader *reader;
    assert_int_equal(gnn_reader_open(f.base.world, &config, &reader, NULL), GNN_OK);
    unsigned char dst[400];
    const struct gnn_load load = {.offset_bytes = 400, .len_bytes = 400, .dst = dst};
    struct gnn_err err = {0};
    assert_int_equal(gnn_reader_load_all(reader, &load, 1, NULL, NULL, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "bounce"));
    gnn_reader_close(reader);
    rows_file_close(&f);
}

/* The file is cut while the reader has it open: bytes that are gone are an error, not zeros. */
static void test_file_cut_meanwhile(void **state)
{
    (void)state;
    struct rows_file f = {0};
    rows_file_open(&f, 0, false);
    const struct gnn_reader_config config = {.depth = 4, .files = &f.file, .file_count = 1};
    struct gnn_reader *reader;
    assert_int_equal(gnn_reader_open(f.base.world, &config, &reader, NULL), GNN_OK);
    assert_int_equal(truncate(f.path, 1000), 0);
    unsigned char dst[512];
    const struct gnn_load loads[] = {{.offset_bytes = 0, .len_bytes = 512, .dst = dst, .tag = 0},
                                     {.offset_bytes = 768, .len_bytes = 512, .dst = dst, .tag = 1}};
    struct gnn_err err = {0};
    assert_int_equal(gnn_reader_load_all(reader, loads, 1, NULL, NULL, &err), GNN_OK);
    assert_int_equal(gnn_reader_load_all(reader, loads, 2, NULL, NULL, &err), GNN_ESHORT);
    assert_non_null(strstr(err.message, "offset 1000"));
    gnn_reader_close(reader);
    rows_file_close(&f);
}

static void test_exact(void **state)
{
    (void)state;
    struct rows_file f = {0};
    rows_file_open(&f, 0, false);
    uint32_t values[64];
    assert_int_equal(gnn_read_all(f.base.world, f.file, 4 * 100, values, sizeof values, NULL), GNN_OK);
    for (uint64_t i = 0; i < 64; i++)
        assert_int_equal(values[i], io_scratch_value(100 + i));
    struct gnn_err err = {0};
    assert_int_equal(gnn_read_all(f.base.world, f.file, FILE_BYTES - 8, values, sizeof values, &err), GNN_ESHORT);
    assert_non_null(strstr(err.message, "rows"));
    struct gnn_file *out;
    char path[512];
    assert_int_equal(
        gnn_file_open(f.base.world, io_scratch_path(&f.base.scratch, "out", path), GNN_OPEN_WRITE, &out, NULL), GNN_OK);
    uint32_t back[64] = {0};
    assert_int_equal(gnn_write_all(f.base.world, out, 12, values, sizeof values, NULL), GNN_OK);
    assert_int_equal(gnn_file_sync(f.base.world, out, NULL), GNN_OK);
    assert_int_equal(gnn_read_all(f.base.world, out, 12, back, sizeof back, NULL), GNN_OK);
    assert_memory_equal(values, back, sizeof values);
    gnn_file_close(f.base.world, out);
    rows_file_close(&f);
}

/* What the block layer calls ENODATA is a sector that cannot be read. */
static void test_reasons(void **state)
{
    (void)state;
    assert_non_null(strstr(gnn_io_reason(ENODATA), "medium error"));
    assert_non_null(strstr(gnn_io_reason(EREMOTEIO), "target error"));
    assert_non_null(strstr(gnn_io_reason(EILSEQ), "protection error"));
    assert_non_null(strstr(gnn_io_reason(EOPNOTSUPP), "nvme.poll_queues"));
    assert_string_equal(gnn_io_reason(EIO), strerror(EIO));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_row_layout),
        cmocka_unit_test(test_widest_window),
        cmocka_unit_test(test_widths_on_512),
        cmocka_unit_test(test_widths_on_4096),
        cmocka_unit_test(test_widths_pool),
        cmocka_unit_test(test_widths_buffered),
        cmocka_unit_test(test_submit_and_harvest),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_misaligned_without_bounce),
        cmocka_unit_test(test_file_cut_meanwhile),
        cmocka_unit_test(test_exact),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
