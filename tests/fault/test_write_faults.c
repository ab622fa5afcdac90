/* SPDX-License-Identifier: MIT */
/* Writes on a ring under injected faults, in both worlds and by both engines: repeats are repeated until the file holds
 * what was handed over, failures reach the caller with their cause, nothing hangs, memory is the caller's again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/storage/ring_reads.h"
#include "tests/support/fixture.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 8192, BLOCKS = 96, FILE_BYTES = BLOCKS * BLOCK_BYTES, DEPTH = 12 };
static const uint64_t ms = UINT64_C(1000000);

/* Where a case runs. */
struct place {
    bool simulated, direct;
    enum gnn_ring_engine engine;
};

struct writer {
    struct fixture base;
    struct gnn_file *file;
    unsigned char *memory; /* (FILE_BYTES) what is written */
    unsigned char *back;   /* (FILE_BYTES) */
    struct gnn_ring_reads ring;
    bool written[BLOCKS]; /* reported */
    struct gnn_err err;
};

static unsigned char byte_of(uint64_t at)
{
    return (unsigned char)(gnn_mix64(at) >> 9 | 1); /* never 0 */
}

static bool writer_open_as(struct writer *w, const struct place *place, const struct gnn_fault_plan *plan,
                           enum gnn_short_reads short_reads)
{
    *w = (struct writer){.file = NULL};
    fixture_open(&w->base, .scratch = true, .simulated = place->simulated, .faults = plan);
    if (place->direct && !w->base.direct) {
        fixture_close(&w->base);
        return false;
    }
    char path[512];
    const unsigned flags = GNN_OPEN_WRITE | (place->direct ? GNN_OPEN_DIRECT : 0);
    must(gnn_file_open(w->base.world, io_scratch_path(&w->base.scratch, "out", path), flags, &w->file, &w->err),
         &w->err);
    void *memory[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(gnn_mem_alloc(w->base.inner, "blocks", FILE_BYTES, GNN_MEM_PLAIN, &memory[i], NULL), GNN_OK);
    w->memory = memory[0];
    w->back = memory[1];
    for (uint64_t at = 0; at < FILE_BYTES; at++)
        w->memory[at] = byte_of(at);
    const struct gnn_ring_reads_config config = {.ring = {.engine = place->engine, .depth = DEPTH},
                                                 .batch_max = DEPTH,
                                                 .short_reads = short_reads,
                                                 .entry_name = "block",
                                                 .entry_bytes = BLOCK_BYTES};
    must(gnn_ring_reads_open(w->base.world, &config, &w->ring, &w->err), &w->err);
    return true;
}

static bool writer_open(struct writer *w, const struct place *place, const struct gnn_fault_plan *plan)
{
    return writer_open_as(w, place, plan, GNN_SHORT_RESUMES);
}

static void writer_close(struct writer *w)
{
    gnn_ring_reads_close(&w->ring);
    gnn_mem_free(w->base.inner, w->back);
    gnn_mem_free(w->base.inner, w->memory);
    gnn_file_close(w->base.world, w->file);
    fixture_close(&w->base);
}

/* All blocks, in no order, DEPTH in flight; drains at the end. */
static enum gnn_status write_blocks(struct writer *w)
{
    enum gnn_status status = GNN_OK;
    w->err = (struct gnn_err){0};
    memset(w->written, 0, sizeof w->written);
    for (uint64_t next = 0, done = 0; status == GNN_OK && done < BLOCKS;) {
        struct gnn_write wanted[DEPTH];
        uint64_t tags[DEPTH];
        uint32_t count = 0, got = 0;
        for (; next < BLOCKS && count < DEPTH - gnn_ring_reads_in_flight(&w->ring); next++) {
            const uint64_t block = next * 35 % BLOCKS;
            wanted[count++] = (struct gnn_write){.file = w->file,
                                                 .offset_bytes = block * BLOCK_BYTES,
                                                 .src = w->memory + block * BLOCK_BYTES,
                                                 .len_bytes = BLOCK_BYTES,
                                                 .tag = block};
        }
        if (count > 0)
            status = gnn_ring_reads_submit_writes(&w->ring, wanted, count, &w->err);
        if (status == GNN_OK)
            status = gnn_ring_reads_wait(&w->ring, 1, DEPTH, tags, &got, &w->err);
        for (uint32_t i = 0; i < got; i++, done++) {
            assert_true(tags[i] < BLOCKS);
            assert_false(w->written[tags[i]]);
            w->written[tags[i]] = true;
        }
    }
    gnn_ring_reads_drain(&w->ring);
    assert_int_equal(gnn_ring_reads_in_flight(&w->ring), 0);
    return status;
}

/* Every block that was reported is in the file. */
static void check_blocks(struct writer *w)
{
    char path[512];
    struct gnn_file *again;
    struct gnn_file_info info;
    assert_int_equal(
        gnn_file_open(w->base.inner, io_scratch_path(&w->base.scratch, "out", path), GNN_OPEN_READ, &again, NULL),
        GNN_OK);
    gnn_file_info(w->base.inner, again, &info);
    for (uint64_t block = 0; block < BLOCKS; block++) {
        if (!w->written[block])
            continue;
        assert_true(info.size_bytes >= (block + 1) * BLOCK_BYTES);
        unsigned char *const back = w->back + block * BLOCK_BYTES;
        assert_int_equal(gnn_read_all(w->base.inner, again, block * BLOCK_BYTES, back, BLOCK_BYTES, NULL), GNN_OK);
        for (uint64_t at = 0; at < BLOCK_BYTES; at++)
            if (back[at] != byte_of(block * BLOCK_BYTES + at))
                fail_msg("block %u, byte %u", (unsigned)block, (unsigned)at);
    }
    gnn_file_close(w->base.inner, again);
}

static uint32_t written_count(const struct writer *w)
{
    uint32_t count = 0;
    for (uint32_t block = 0; block < BLOCKS; block++)
        count += w->written[block] ? 1 : 0;
    return count;
}

/* ---- what may be repeated is repeated ---- */

static void test_repeatable_faults(const struct place *place)
{
    static const struct gnn_fault_plan plans[] = {
        {.seed = 1, .write_short_probability = 0.6},
        {.seed = 2, .write_again_probability = 0.6},
        {.seed = 3, .write_slow_probability = 0.1, .slow_ns = 300000, .shuffle = true},
        {.seed = 4,
         .write_short_probability = 0.4,
         .write_again_probability = 0.4,
         .write_slow_probability = 0.05,
         .slow_ns = 200000,
         .shuffle = true},
    };
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
        struct writer w;
        struct gnn_fault_counts faults;
        if (!writer_open(&w, place, &plans[p]))
            return;
        must(write_blocks(&w), &w.err);
        assert_int_equal(written_count(&w), BLOCKS);
        check_blocks(&w);
        gnn_world_faulty_counts(w.base.world, &faults);
        const struct gnn_ring_counters *const n = &w.ring.counters;
        assert_int_equal(n->write_ios, BLOCKS);
        assert_int_equal(n->write_bytes, FILE_BYTES);
        assert_int_equal(n->completed, BLOCKS);
        assert_int_equal(n->in_flight_peak, DEPTH);
        assert_int_equal(n->requested_ios, 0); /* of reads */
        assert_int_equal(faults.writes, n->write_ios + n->repeated_ios);
        assert_int_equal(n->repeated_ios, faults.writes_again + faults.writes_shortened);
        assert_true((faults.writes_again > 0) == (plans[p].write_again_probability > 0));
        assert_true((faults.writes_shortened > 0) == (plans[p].write_short_probability > 0));
        assert_true((faults.writes_slow > 0) == (plans[p].write_slow_probability > 0));
        assert_int_equal(faults.writes_eio, 0);
        writer_close(&w);
    }
}

/* On a direct file a short write ends at a unit, and so does its repeat. */
static void test_short_writes_keep_their_alignment(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 5, .write_short_probability = 0.85};
    struct writer w;
    if (!writer_open(&w, place, &plan))
        return;
    must(write_blocks(&w), &w.err); /* off its alignment it would be EINVAL */
    check_blocks(&w);
    writer_close(&w);
}

static void test_slow_completions_are_waited_for(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 6, .write_slow_probability = 1, .slow_ns = 3 * ms};
    struct writer w;
    struct gnn_time_split before, after;
    if (!writer_open(&w, place, &plan))
        return;
    gnn_thread_split(w.base.world, &before);
    const uint64_t start_ns = gnn_now_ns(w.base.world);
    must(write_blocks(&w), &w.err);
    assert_true(gnn_now_ns(w.base.world) - start_ns >= BLOCKS / DEPTH * 3 * ms);
    gnn_thread_split(w.base.world, &after);
    assert_true(after.wait_ns[GNN_WAIT_IO] - before.wait_ns[GNN_WAIT_IO] >= BLOCKS / DEPTH * 2 * ms);
    check_blocks(&w);
    writer_close(&w);
}

/* ---- what fails reaches the caller ---- */

static void test_failure_at_every_write(const struct place *place)
{
    for (uint64_t nth = 1; nth <= BLOCKS; nth += nth < 14 ? 3 : 41) {
        const struct gnn_fault_plan plan = {.seed = 7, .write_eio_at = nth, .shuffle = true};
        struct writer w;
        if (!writer_open(&w, place, &plan))
            return;
        assert_int_equal(write_blocks(&w), GNN_EIO);
        assert_non_null(strstr(w.err.message, "out: write of 8192 bytes at offset "));
        assert_non_null(strstr(w.err.message, " (block "));
        assert_non_null(strstr(w.err.message, "Input/output error"));
        assert_true(written_count(&w) < BLOCKS);
        check_blocks(&w);
        memset(w.memory, 0, FILE_BYTES); /* drained: it is the caller's */
        for (uint64_t at = 0; at < FILE_BYTES; at++)
            w.memory[at] = byte_of(at);
        must(write_blocks(&w), &w.err); /* and the ring serves on */
        assert_int_equal(written_count(&w), BLOCKS);
        check_blocks(&w);
        writer_close(&w);
    }
}

static void test_a_disk_that_fills_up(const struct place *place)
{
    for (uint64_t blocks = 0; blocks < BLOCKS; blocks += 31) {
        const struct gnn_fault_plan plan = {
            .seed = 8, .write_enospc = true, .write_enospc_after_bytes = blocks * BLOCK_BYTES + 100};
        struct writer w;
        struct gnn_fault_counts faults;
        if (!writer_open(&w, place, &plan))
            return;
        assert_int_equal(write_blocks(&w), GNN_ENOSPC);
        assert_non_null(strstr(w.err.message, "No space left"));
        assert_non_null(strstr(w.err.message, "free some space"));
        assert_true(written_count(&w) <= blocks);
        check_blocks(&w);
        gnn_world_faulty_counts(w.base.world, &faults);
        assert_true(faults.writes_refused > 0);
        assert_int_equal(faults.writes - faults.writes_refused, blocks); /* so many fitted */
        writer_close(&w);
    }
}

/* A part that was not written is not taken of the disk: with short writes the same number of blocks fits. */
static void test_short_writes_take_no_more_of_the_disk(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 9,
                                        .write_enospc = true,
                                        .write_enospc_after_bytes = FILE_BYTES + BLOCK_BYTES,
                                        .write_short_probability = 0.5};
    struct writer w;
    struct gnn_fault_counts faults;
    if (!writer_open(&w, place, &plan))
        return;
    must(write_blocks(&w), &w.err);
    check_blocks(&w);
    gnn_world_faulty_counts(w.base.world, &faults);
    assert_true(faults.writes_shortened > 0);
    assert_int_equal(faults.writes_refused, 0);
    writer_close(&w);
}

static void test_short_writes_fail_where_configured(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 10, .write_short_probability = 0.3};
    struct writer w;
    if (!writer_open_as(&w, place, &plan, GNN_SHORT_FAILS))
        return;
    assert_int_equal(write_blocks(&w), GNN_ESHORT);
    assert_non_null(strstr(w.err.message, "fewer bytes were written"));
    check_blocks(&w);
    writer_close(&w);
}

static void test_endless_repeats_end(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 11, .write_again_probability = 1};
    struct writer w;
    if (!writer_open(&w, place, &plan))
        return;
    assert_int_equal(write_blocks(&w), GNN_EIO);
    assert_true(w.ring.counters.repeated_ios >= 1000);
    assert_int_equal(written_count(&w), 0);
    writer_close(&w);
}

/* Reads and writes of one ring, both failing now and then: each is accounted for by itself. */
static void test_reads_and_writes_under_faults(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 12,
                                        .read_short_probability = 0.3,
                                        .read_again_probability = 0.2,
                                        .write_short_probability = 0.3,
                                        .write_again_probability = 0.2,
                                        .shuffle = true};
    struct writer w;
    if (!writer_open(&w, place, &plan))
        return;
    must(write_blocks(&w), &w.err);
    memset(w.back, 0, FILE_BYTES);
    for (uint64_t block = 0; block < BLOCKS; block++) {
        struct gnn_write write = {.file = w.file,
                                  .offset_bytes = FILE_BYTES + block * BLOCK_BYTES,
                                  .src = w.memory + block * BLOCK_BYTES,
                                  .len_bytes = BLOCK_BYTES,
                                  .tag = 1};
        struct gnn_read read = {.file = w.file,
                                .offset_bytes = block * BLOCK_BYTES,
                                .dst = w.back + block * BLOCK_BYTES,
                                .len_bytes = BLOCK_BYTES,
                                .need_bytes = BLOCK_BYTES,
                                .tag = 2};
        uint64_t tags[2];
        uint32_t got;
        must(gnn_ring_reads_submit_writes(&w.ring, &write, 1, &w.err), &w.err);
        must(gnn_ring_reads_submit(&w.ring, &read, 1, &w.err), &w.err);
        must(gnn_ring_reads_wait(&w.ring, 2, 2, tags, &got, &w.err), &w.err);
        assert_int_equal(got, 2);
        assert_int_equal(tags[0] + tags[1], 3);
    }
    for (uint64_t at = 0; at < FILE_BYTES; at++)
        if (w.back[at] != byte_of(at))
            fail_msg("byte %u", (unsigned)at);
    assert_int_equal(w.ring.counters.requested_ios, BLOCKS);
    assert_int_equal(w.ring.counters.write_ios, 2 * BLOCKS);
    assert_int_equal(w.ring.counters.completed, 3 * BLOCKS);
    writer_close(&w);
}

/* Closing with writes in flight waits for them, and their memory is free. */
static void test_closing_in_flight(const struct place *place)
{
    const struct gnn_fault_plan plan = {.seed = 13, .write_slow_probability = 0.3, .slow_ns = ms};
    struct writer w;
    if (!writer_open(&w, place, &plan))
        return;
    struct gnn_write wanted[DEPTH];
    for (uint64_t block = 0; block < DEPTH; block++) {
        w.written[block] = true;
        wanted[block] = (struct gnn_write){.file = w.file,
                                           .offset_bytes = block * BLOCK_BYTES,
                                           .src = w.memory + block * BLOCK_BYTES,
                                           .len_bytes = BLOCK_BYTES,
                                           .tag = block};
    }
    must(gnn_ring_reads_submit_writes(&w.ring, wanted, DEPTH, &w.err), &w.err);
    gnn_ring_reads_close(&w.ring);
    memset(w.memory, 0xee, FILE_BYTES);
    check_blocks(&w);
    writer_close(&w);
}

/* A direct write off its alignment is the caller's mistake, and is told so. */
static void test_alignment_is_named(const struct place *place)
{
    struct writer w;
    struct gnn_file_info info;
    uint64_t tag;
    uint32_t got;
    if (!place->direct || !writer_open(&w, place, NULL))
        return;
    gnn_file_info(w.base.world, w.file, &info);
    struct gnn_write write = {.file = w.file, .offset_bytes = 100, .src = w.memory, .len_bytes = BLOCK_BYTES, .tag = 1};
    must(gnn_ring_reads_submit_writes(&w.ring, &write, 1, &w.err), &w.err);
    assert_int_equal(gnn_ring_reads_wait(&w.ring, 1, 1, &tag, &got, &w.err),
                     info.offset_align_bytes > 100 ? GNN_EUSAGE : GNN_OK);
    if (info.offset_align_bytes > 100)
        assert_non_null(strstr(w.err.message, "direct I/O needs multiples of "));
    gnn_ring_reads_drain(&w.ring);
    writer_close(&w);
}

/* ---- draws ---- */

/* The draw of a write does not depend on world, engine or how many are in flight. */
static void test_same_seed_same_faults(void **state)
{
    (void)state;
    struct gnn_fault_counts first = {0};
    for (int i = 0; i < 4; i++) {
        const struct place place = {.simulated = (i & 1) != 0, .engine = (i & 2) != 0 ? GNN_RING_POOL : GNN_RING_URING};
        const struct gnn_fault_plan plan = {
            .seed = 14, .write_short_probability = 0.3, .write_again_probability = 0.2, .shuffle = true};
        struct writer w;
        struct gnn_fault_counts counts;
        assert_true(writer_open(&w, &place, &plan));
        must(write_blocks(&w), &w.err);
        gnn_world_faulty_counts(w.base.world, &counts);
        if (i == 0)
            first = counts;
        assert_memory_equal(&counts, &first, sizeof counts);
        writer_close(&w);
    }
    assert_true(first.writes_again > 0);
    assert_true(first.writes_shortened > 0);
}

/* Writes one at a time fail as those of a ring do. */
static void test_single_writes_fail_too(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {
        .seed = 15, .write_eio_at = 3, .write_again_probability = 0.4, .write_slow_probability = 0.3, .slow_ns = ms};
    struct writer w;
    struct gnn_fault_counts faults;
    assert_true(writer_open(&w, &(struct place){.simulated = true}, &plan));
    enum gnn_status status = GNN_OK;
    uint32_t failures = 0;
    for (uint64_t block = 0; block < BLOCKS; block++) {
        status = gnn_write_all(w.base.world, w.file, block * BLOCK_BYTES, w.memory + block * BLOCK_BYTES, BLOCK_BYTES,
                               &w.err);
        failures += status == GNN_EIO ? 1 : 0;
        w.written[block] = status == GNN_OK;
    }
    assert_int_equal(failures, 1);
    assert_int_equal(written_count(&w), BLOCKS - 1);
    check_blocks(&w);
    gnn_world_faulty_counts(w.base.world, &faults);
    assert_int_equal(faults.writes_eio, 1);
    assert_true(faults.writes_again > 0);
    assert_true(faults.writes_slow > 0);
    writer_close(&w);
}

/* ---- every promise in every place ---- */

typedef void promise_fn(const struct place *place);

static void everywhere(promise_fn *promise)
{
    for (int i = 0; i < 8; i++) {
        const struct place place = {
            .simulated = (i & 1) != 0, .direct = (i & 2) != 0, .engine = (i & 4) != 0 ? GNN_RING_POOL : GNN_RING_URING};
        promise(&place);
    }
}

#define EVERYWHERE(promise)                                                                                            \
    static void promise##_everywhere(void **state)                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        everywhere(promise);                                                                                           \
    }
EVERYWHERE(test_repeatable_faults)
EVERYWHERE(test_short_writes_keep_their_alignment)
EVERYWHERE(test_slow_completions_are_waited_for)
EVERYWHERE(test_failure_at_every_write)
EVERYWHERE(test_a_disk_that_fills_up)
EVERYWHERE(test_short_writes_take_no_more_of_the_disk)
EVERYWHERE(test_short_writes_fail_where_configured)
EVERYWHERE(test_endless_repeats_end)
EVERYWHERE(test_reads_and_writes_under_faults)
EVERYWHERE(test_closing_in_flight)
EVERYWHERE(test_alignment_is_named)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeatable_faults_everywhere),
        cmocka_unit_test(test_short_writes_keep_their_alignment_everywhere),
        cmocka_unit_test(test_slow_completions_are_waited_for_everywhere),
        cmocka_unit_test(test_failure_at_every_write_everywhere),
        cmocka_unit_test(test_a_disk_that_fills_up_everywhere),
        cmocka_unit_test(test_short_writes_take_no_more_of_the_disk_everywhere),
        cmocka_unit_test(test_short_writes_fail_where_configured_everywhere),
        cmocka_unit_test(test_endless_repeats_end_everywhere),
        cmocka_unit_test(test_reads_and_writes_under_faults_everywhere),
        cmocka_unit_test(test_closing_in_flight_everywhere),
        cmocka_unit_test(test_alignment_is_named_everywhere),
        cmocka_unit_test(test_same_seed_same_faults),
        cmocka_unit_test(test_single_writes_fail_too),
    };
    return cmocka_run_group_tests_name("write_faults", tests, NULL, NULL);
}
