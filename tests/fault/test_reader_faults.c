/* SPDX-License-Identifier: MIT */
/* The reader and the exact reads under injected faults: repeats are repeated, failures reach the caller with
 * their cause, nothing hangs, and the same seed injects the same faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/reader.h"
#include "harness/storage/ring_reads.h"
#include "tests/support/fixture.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 1 << 20, ROW_BYTES = 1200, ROWS = FILE_BYTES / ROW_BYTES, LOADS = 200 };
static const uint64_t ms = UINT64_C(1000000);

struct loads {
    struct fixture base;
    struct gnn_file *file;
    struct gnn_reader *reader;
    unsigned char *rows; /* (LOADS, ROW_BYTES) */
    struct gnn_err err;
    uint32_t done;
};

static void loads_open(struct loads *f, const struct gnn_fault_plan *plan, uint32_t depth)
{
    *f = (struct loads){.done = 0};
    fixture_open(&f->base, .scratch = true, .faults = plan);
    io_scratch_fill(&f->base.scratch, "rows", FILE_BYTES);
    char path[512];
    assert_int_equal(gnn_file_open(f->base.world, io_scratch_path(&f->base.scratch, "rows", path),
                                   f->base.direct ? GNN_OPEN_DIRECT : GNN_OPEN_READ, &f->file, NULL),
                     GNN_OK);
    const struct gnn_reader_config config = {
        .depth = depth, .files = &f->file, .file_count = 1, .bounce_bytes_max = ROW_BYTES};
    if (depth > 0)
        assert_int_equal(gnn_reader_open(f->base.world, &config, &f->reader, NULL), GNN_OK);
    f->rows = calloc(LOADS, ROW_BYTES);
    assert_non_null(f->rows);
}

static void loads_close(struct loads *f)
{
    free(f->rows);
    gnn_reader_close(f->reader);
    gnn_file_close(f->base.world, f->file);
    fixture_close(&f->base);
}

static uint64_t row_of_load(uint64_t load)
{
    return load == 0 ? ROWS - 1 : load * 389 % ROWS;
}

static enum gnn_status count_done(void *ctx, uint64_t tag, struct gnn_err *err)
{
    struct loads *f = ctx;
    (void)err;
    (void)tag;
    f->done++;
    return GNN_OK;
}

static enum gnn_status load_rows(struct loads *f)
{
    struct gnn_load loads[LOADS];
    for (uint64_t i = 0; i < LOADS; i++)
        loads[i] = (struct gnn_load){.offset_bytes = row_of_load(i) * ROW_BYTES,
                                     .len_bytes = ROW_BYTES,
                                     .dst = f->rows + i * ROW_BYTES,
                                     .tag = i};
    f->err = (struct gnn_err){0};
    f->done = 0;
    return gnn_reader_load_all(f->reader, loads, LOADS, count_done, f, &f->err);
}

static void check_rows(const struct loads *f)
{
    for (uint64_t i = 0; i < LOADS; i++)
        for (uint64_t c = 0; c < ROW_BYTES / 4; c++) {
            uint32_t value;
            memcpy(&value, f->rows + i * ROW_BYTES + c * 4, 4);
            assert_int_equal(value, io_scratch_value(row_of_load(i) * (ROW_BYTES / 4) + c));
        }
}

/* ---- what may be repeated is repeated ---- */

static void test_repeatable_faults(void **state)
{
    (void)state;
    static const struct gnn_fault_plan plans[] = {
        {.seed = 1, .read_short_probability = 0.6},
        {.seed = 2, .read_again_probability = 0.6},
        {.seed = 3, .read_slow_probability = 0.1, .slow_ns = 300000, .shuffle = true},
        {.seed = 4,
         .read_short_probability = 0.4,
         .read_again_probability = 0.4,
         .read_slow_probability = 0.05,
         .slow_ns = 200000,
         .shuffle = true},
    };
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++) {
        for (uint32_t depth = 1; depth <= 81; depth += 40) {
            struct loads f;
            loads_open(&f, &plans[p], depth);
            if (load_rows(&f) != GNN_OK)
                fail_msg("seed %u: %s", (unsigned)plans[p].seed, f.err.message);
            assert_int_equal(f.done, LOADS);
            check_rows(&f);
            struct gnn_fault_counts faults;
            struct gnn_reader_counters counters;
            gnn_world_faulty_counts(f.base.world, &faults);
            gnn_reader_counters(f.reader, &counters);
            assert_int_equal(counters.requested_ios, LOADS);
            assert_int_equal(faults.reads, counters.requested_ios + counters.repeated_ios);
            assert_int_equal(faults.eio, 0);
            assert_true((faults.again > 0) == (plans[p].read_again_probability > 0));
            assert_true((faults.shortened > 0) == (plans[p].read_short_probability > 0));
            assert_true((faults.slow > 0) == (plans[p].read_slow_probability > 0));
            /* A short read that still covers the row (it lost padding) needs no repeat. */
            assert_in_range(counters.repeated_ios, faults.again, faults.again + faults.shortened);
            loads_close(&f);
        }
    }
}

static void test_slow_completions_are_waited_for(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 5, .read_slow_probability = 1, .slow_ns = 4 * ms};
    struct loads f;
    loads_open(&f, &plan, LOADS);
    struct gnn_time_split before, after;
    gnn_thread_split(f.base.world, &before);
    const uint64_t start = gnn_now_ns(f.base.world);
    assert_int_equal(load_rows(&f), GNN_OK);
    assert_true(gnn_now_ns(f.base.world) - start >= 4 * ms);
    gnn_thread_split(f.base.world, &after);
    assert_true(after.wait_ns[GNN_WAIT_IO] - before.wait_ns[GNN_WAIT_IO] >= 2 * ms);
    check_rows(&f);
    loads_close(&f);
}

/* What never ends is an error after a bounded number of repeats, not a hang. */
static void test_endless_repeats_end(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 6, .read_again_probability = 1};
    struct loads f;
    loads_open(&f, &plan, 2);
    assert_int_equal(load_rows(&f), GNN_EIO);
    assert_int_equal(gnn_reader_in_flight(f.reader), 0);
    struct gnn_err err = {0};
    void *memory;
    assert_int_equal(gnn_mem_alloc(f.base.world, "sector", 4096, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    assert_int_equal(gnn_read_all(f.base.world, f.file, 0, memory, 4096, &err), GNN_EIO);
    gnn_mem_free(f.base.world, memory);
    loads_close(&f);
}

/* ---- reads on a ring, without the reader's windows ---- */

enum { RING_DEPTH = 8, RING_READS = 64, RING_READ_BYTES = 4096 };

/* Reads RING_READS blocks of the file, RING_DEPTH in flight, and drains; every block that is reported is there. */
static enum gnn_status read_blocks(struct loads *f, enum gnn_short_reads short_reads, struct gnn_ring_counters *out)
{
    const struct gnn_ring_reads_config config = {.ring = {.depth = RING_DEPTH},
                                                 .batch_max = RING_DEPTH,
                                                 .short_reads = short_reads,
                                                 .entry_name = "word",
                                                 .entry_bytes = 4};
    struct gnn_ring_reads reads;
    void *memory;
    enum gnn_status status = GNN_OK;
    f->err = (struct gnn_err){0};
    assert_int_equal(gnn_ring_reads_open(f->base.world, &config, &reads, NULL), GNN_OK);
    assert_int_equal(gnn_mem_alloc(f->base.world, "blocks", RING_READS * RING_READ_BYTES, GNN_MEM_PLAIN, &memory, NULL),
                     GNN_OK);
    for (uint32_t next = 0, done = 0; status == GNN_OK && done < RING_READS;) {
        struct gnn_read wanted[RING_DEPTH];
        uint64_t tags[RING_DEPTH];
        uint32_t count = 0, got = 0;
        for (; next < RING_READS && count < RING_DEPTH - gnn_ring_reads_in_flight(&reads); next++)
            wanted[count++] = (struct gnn_read){.file = f->file,
                                                .offset_bytes = next * UINT64_C(3) * RING_READ_BYTES,
                                                .dst = (unsigned char *)memory + next * RING_READ_BYTES,
                                                .len_bytes = RING_READ_BYTES,
                                                .need_bytes = RING_READ_BYTES,
                                                .tag = next};
        if (count > 0)
            status = gnn_ring_reads_submit(&reads, wanted, count, &f->err);
        if (status == GNN_OK)
            status = gnn_ring_reads_wait(&reads, 1, RING_DEPTH, tags, &got, &f->err);
        for (uint32_t i = 0; i < got; i++, done++)
            assert_int_equal(((uint32_t *)memory)[tags[i] * RING_READ_BYTES / 4 + 1],
                             io_scratch_value(tags[i] * 3 * RING_READ_BYTES / 4 + 1));
    }
    gnn_ring_reads_drain(&reads);
    assert_int_equal(gnn_ring_reads_in_flight(&reads), 0);
    *out = reads.counters;
    gnn_ring_reads_close(&reads);
    gnn_mem_free(f->base.world, memory);
    return status;
}

static void test_short_reads_go_on_or_fail_as_configured(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 16, .read_short_probability = 0.3, .read_again_probability = 0.2};
    struct gnn_ring_counters counters;
    struct loads f;
    loads_open(&f, &plan, 0);
    gnn_file_close(f.base.world, f.file); /* buffered: a block can be cut */
    char path[512];
    assert_int_equal(
        gnn_file_open(f.base.world, io_scratch_path(&f.base.scratch, "rows", path), GNN_OPEN_READ, &f.file, NULL),
        GNN_OK);
    assert_int_equal(read_blocks(&f, GNN_SHORT_RESUMES, &counters), GNN_OK);
    assert_int_equal(counters.requested_ios, RING_READS);
    assert_int_equal(counters.completed, RING_READS);
    assert_int_equal(counters.requested_bytes, RING_READS * RING_READ_BYTES);
    assert_int_equal(counters.in_flight_peak, RING_DEPTH);
    assert_true(counters.repeated_ios > 0);
    assert_int_equal(read_blocks(&f, GNN_SHORT_FAILS, &counters), GNN_ESHORT);
    assert_non_null(strstr(f.err.message, "rows: read of 4096 bytes at offset "));
    assert_non_null(strstr(f.err.message, " (word "));
    loads_close(&f);
}

static void test_endless_repeats_on_a_ring_end(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 17, .read_again_probability = 1};
    struct gnn_ring_counters counters;
    struct loads f;
    loads_open(&f, &plan, 0);
    assert_int_equal(read_blocks(&f, GNN_SHORT_FAILS, &counters), GNN_EIO);
    assert_true(counters.repeated_ios >= 1000);
    loads_close(&f);
}

/* ---- what fails reaches the caller ---- */

static void test_failure_at_every_read(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= LOADS; nth += nth < 20 ? 1 : 41) {
        const struct gnn_fault_plan plan = {.seed = 7, .read_eio_at = nth, .shuffle = true};
        struct loads f;
        loads_open(&f, &plan, 16);
        assert_int_equal(load_rows(&f), GNN_EIO);
        assert_non_null(strstr(f.err.message, "rows: read of "));
        assert_non_null(strstr(f.err.message, "at offset "));
        assert_non_null(strstr(f.err.message, "Input/output error"));
        assert_true(f.done < LOADS);
        assert_int_equal(gnn_reader_in_flight(f.reader), 0);
        assert_int_equal(load_rows(&f), GNN_OK); /* drained, the reader serves on */
        assert_int_equal(f.done, LOADS);
        check_rows(&f);
        loads_close(&f);
    }
}

static void test_same_seed_same_faults(void **state)
{
    (void)state;
    struct gnn_fault_counts counts[3];
    char message[3][GNN_ERR_MAX];
    for (int run = 0; run < 3; run++) {
        const struct gnn_fault_plan plan = {.seed = run < 2 ? 8 : 9,
                                            .read_eio_probability = 0.01,
                                            .read_short_probability = 0.3,
                                            .read_again_probability = 0.2};
        struct loads f;
        loads_open(&f, &plan, 1); /* one at a time: the first failure is the same one */
        assert_int_equal(load_rows(&f), GNN_EIO);
        gnn_world_faulty_counts(f.base.world, &counts[run]);
        (void)memcpy(message[run], strstr(f.err.message, "read of"), 80);
        message[run][80] = '\0';
        loads_close(&f);
    }
    assert_memory_equal(&counts[0], &counts[1], sizeof counts[0]);
    assert_string_equal(message[0], message[1]);
    assert_string_not_equal(message[0], message[2]);
}

/* The draw of a read does not depend on how many are in flight. */
static void test_faults_do_not_depend_on_depth(void **state)
{
    (void)state;
    struct gnn_fault_counts counts[3];
    static const uint32_t depths[] = {1, 7, 64};
    for (int run = 0; run < 3; run++) {
        const struct gnn_fault_plan plan = {
            .seed = 10, .read_short_probability = 0.3, .read_again_probability = 0.2, .shuffle = true};
        struct loads f;
        loads_open(&f, &plan, depths[run]);
        assert_int_equal(load_rows(&f), GNN_OK);
        gnn_world_faulty_counts(f.base.world, &counts[run]);
        loads_close(&f);
    }
    assert_memory_equal(&counts[0], &counts[1], sizeof counts[0]);
    assert_memory_equal(&counts[0], &counts[2], sizeof counts[0]);
}

struct job {
    struct loads *f;
    struct gnn_reader *reader;
    unsigned char *rows;
    enum gnn_status status;
};

static void load_on_thread(void *arg)
{
    struct job *job = arg;
    struct loads mine = {.reader = job->reader, .rows = job->rows};
    job->status = load_rows(&mine);
}

static void test_threads_under_faults(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    const struct gnn_fault_plan plan = {.seed = 11, .read_short_probability = 0.3, .read_again_probability = 0.3};
    struct loads f;
    loads_open(&f, &plan, 0);
    struct job jobs[THREADS];
    struct gnn_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        const struct gnn_reader_config config = {.engine = i % 2 == 0 ? GNN_RING_URING : GNN_RING_POOL,
                                                 .depth = 8,
                                                 .files = &f.file,
                                                 .file_count = 1,
                                                 .bounce_bytes_max = ROW_BYTES};
        jobs[i] = (struct job){.f = &f, .rows = calloc(LOADS, ROW_BYTES)};
        assert_int_equal(gnn_reader_open(f.base.world, &config, &jobs[i].reader, NULL), GNN_OK);
        assert_int_equal(gnn_thread_start(f.base.world, "loader", load_on_thread, &jobs[i], &threads[i], NULL), GNN_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        gnn_thread_join(f.base.world, threads[i]);
        assert_int_equal(jobs[i].status, GNN_OK);
        memcpy(f.rows, jobs[i].rows, (size_t)LOADS * ROW_BYTES);
        check_rows(&f);
        gnn_reader_close(jobs[i].reader);
        free(jobs[i].rows);
    }
    loads_close(&f);
}

/* ---- memory, mappings, writes ---- */

static void test_allocation_fails(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 12, .alloc_fail_at = 2};
    struct loads f;
    loads_open(&f, &plan, 0);
    void *memory;
    assert_int_equal(gnn_mem_alloc(f.base.world, "first", 10, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    if (f.base.direct) {
        const struct gnn_reader_config config = {
            .depth = 4, .files = &f.file, .file_count = 1, .bounce_bytes_max = ROW_BYTES};
        struct gnn_err err = {0};
        assert_int_equal(gnn_reader_open(f.base.world, &config, &f.reader, &err), GNN_ENOMEM);
        assert_null(f.reader);
        assert_non_null(strstr(err.message, "read bounce slots"));
        assert_int_equal(gnn_reader_open(f.base.world, &config, &f.reader, NULL), GNN_OK);
    }
    gnn_mem_free(f.base.world, memory);
    loads_close(&f);
}

static void test_gathers_fail(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 13, .read_eio_at = 2, .read_slow_probability = 1, .slow_ns = ms};
    struct loads f;
    loads_open(&f, &plan, 0);
    struct gnn_map *map;
    assert_int_equal(gnn_map_open(f.base.world, f.file, GNN_MAP_RANDOM, &map, NULL), GNN_OK);
    const uint64_t index[2] = {5, 70};
    const gnn_node rows[2] = {1, 2};
    uint32_t out[2];
    unsigned char bytes[16];
    const uint64_t start = gnn_now_ns(f.base.world);
    assert_int_equal(gnn_map_gather_u32(f.base.world, map, index, 2, out, NULL), GNN_OK);
    assert_int_equal(out[1], io_scratch_value(70));
    struct gnn_err err = {0};
    assert_int_equal(gnn_map_gather_rows(f.base.world, map, 8, rows, 2, bytes, 8, &err), GNN_EIO);
    assert_non_null(strstr(err.message, "rows"));
    assert_true(gnn_now_ns(f.base.world) - start >= 2 * ms);
    assert_int_equal(gnn_map_gather_rows(f.base.world, map, 8, rows, 2, bytes, 8, NULL), GNN_OK);
    gnn_map_close(f.base.world, map);
    loads_close(&f);
}

static void test_disk_full(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {
        .seed = 14, .write_enospc = true, .write_enospc_after_bytes = 10000, .write_short_probability = 0.5};
    struct loads f;
    loads_open(&f, &plan, 0);
    char path[512];
    struct gnn_file *out;
    assert_int_equal(
        gnn_file_open(f.base.world, io_scratch_path(&f.base.scratch, "out", path), GNN_OPEN_WRITE, &out, NULL), GNN_OK);
    for (uint64_t at = 0; at < 10000; at += 1000)
        assert_int_equal(gnn_write_all(f.base.world, out, at, f.rows, 1000, NULL), GNN_OK);
    struct gnn_err err = {0};
    assert_int_equal(gnn_write_all(f.base.world, out, 10000, f.rows, 1000, &err), GNN_ENOSPC);
    assert_non_null(strstr(err.message, "No space left"));
    assert_non_null(strstr(err.message, path));
    struct gnn_fault_counts counts;
    gnn_world_faulty_counts(f.base.world, &counts);
    assert_int_equal(counts.writes_refused, 1);
    assert_true(counts.writes_shortened > 0);
    gnn_file_close(f.base.world, out);
    loads_close(&f);
}

static void test_exact_reads_go_on(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 15, .read_short_probability = 0.5, .read_again_probability = 0.3};
    struct loads f;
    loads_open(&f, &plan, 0);
    void *memory;
    assert_int_equal(gnn_mem_alloc(f.base.world, "all", FILE_BYTES, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    for (uint64_t at = 0; at < FILE_BYTES; at += 65536)
        assert_int_equal(gnn_read_all(f.base.world, f.file, at, (unsigned char *)memory + at, 65536, NULL), GNN_OK);
    for (uint64_t i = 0; i < FILE_BYTES / 4; i++)
        assert_int_equal(((const uint32_t *)memory)[i], io_scratch_value(i));
    gnn_mem_free(f.base.world, memory);
    loads_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeatable_faults),
        cmocka_unit_test(test_slow_completions_are_waited_for),
        cmocka_unit_test(test_endless_repeats_end),
        cmocka_unit_test(test_failure_at_every_read),
        cmocka_unit_test(test_same_seed_same_faults),
        cmocka_unit_test(test_faults_do_not_depend_on_depth),
        cmocka_unit_test(test_threads_under_faults),
        cmocka_unit_test(test_allocation_fails),
        cmocka_unit_test(test_gathers_fail),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_exact_reads_go_on),
        cmocka_unit_test(test_short_reads_go_on_or_fail_as_configured),
        cmocka_unit_test(test_endless_repeats_on_a_ring_end),
    };
    return cmocka_run_group_tests_name("reader_faults", tests, NULL, NULL);
}
