/* SPDX-License-Identifier: MIT */
/* Writes on a ring of the simulated world, to the nanosecond: alone, one after the other, beside reads in either order,
 * through the page cache, with mixed and sustained figures; and when their bytes leave.
 * The machine is sim_profile.h's: a write of n bytes takes 20 us and n / 500 MB/s, and one starts every 20 us or
 * n / 500 MB/s; a read takes 100 us alone, 64 KiB of them one every 65.536 us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/world/simulated/simulated.h"
#include "tests/support/must.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 16 << 20, BLOCK_BYTES = 65536, MEMORY_BYTES = 1 << 20 };

static const struct gnn_content features = {.size_bytes = UINT64_C(1) << 38};

struct fixture {
    struct gnn_profile profile;
    struct gnn_world *world;
    struct gnn_file *out, *cached, *features; /* out is direct, cached the same file through the page cache */
    unsigned char *memory;                    /* (MEMORY_BYTES) */
    struct gnn_ring *ring;
    uint64_t start_ns;
};

typedef void tune_fn(struct gnn_profile *profile);

static struct gnn_file *open_file(struct fixture *f, const char *path, unsigned flags)
{
    struct gnn_file *file;
    struct gnn_err err = {0};
    must(gnn_file_open(f->world, path, flags, &file, &err), &err);
    return file;
}

static void fixture_open(struct fixture *f, tune_fn *tune, const struct gnn_ring_config *config)
{
    void *memory;
    struct gnn_err err = {0};
    *f = (struct fixture){.world = NULL};
    sim_profile_fill(&f->profile);
    if (tune != NULL)
        tune(&f->profile);
    f->world = sim_world_of(&f->profile, 0);
    assert_int_equal(gnn_world_simulated_add_file(f->world, "features", &features, NULL), GNN_OK);
    f->features = open_file(f, "features", GNN_OPEN_DIRECT);
    f->out = open_file(f, "out", GNN_OPEN_WRITE | GNN_OPEN_DIRECT);
    f->cached = open_file(f, "out", GNN_OPEN_WRITE);
    assert_int_equal(gnn_mem_alloc(f->world, "bytes", MEMORY_BYTES, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    f->memory = memory;
    must(gnn_ring_open(f->world, config, &f->ring, &err), &err);
    f->start_ns = gnn_now_ns(f->world);
}

static void fixture_close(struct fixture *f)
{
    gnn_ring_close(f->world, f->ring);
    gnn_mem_free(f->world, f->memory);
    gnn_file_close(f->world, f->cached);
    gnn_file_close(f->world, f->out);
    gnn_file_close(f->world, f->features);
    struct gnn_mem_usage usage;
    gnn_mem_usage(f->world, &usage);
    assert_int_equal(usage.current_bytes, 0);
    gnn_world_simulated_close(f->world);
}

/* Calls cost nothing: what is left is the device. */
static void free_calls(struct gnn_profile *profile)
{
    profile->cpu.syscall_ns = 0;
    profile->cpu.submit_ns = 0;
    profile->cpu.complete_ns = 0;
    profile->cpu.wake_latency_ns = 0;
}

static const struct gnn_ring_config depth_16 = {.depth = 16};

static void submit_write(struct fixture *f, struct gnn_file *file, uint64_t block, uint32_t len_bytes, uint64_t tag)
{
    uint32_t accepted;
    const struct gnn_write write = {
        .file = file, .offset_bytes = block * BLOCK_BYTES, .src = f->memory, .len_bytes = len_bytes, .tag = tag};
    assert_int_equal(gnn_ring_submit_writes(f->world, f->ring, &write, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 1);
}

static void submit_read(struct fixture *f, uint64_t block, uint32_t len_bytes, uint64_t tag)
{
    uint32_t accepted;
    const struct gnn_read read = {.file = f->features,
                                  .offset_bytes = block * BLOCK_BYTES,
                                  .dst = f->memory + MEMORY_BYTES / 2,
                                  .len_bytes = len_bytes,
                                  .tag = tag};
    assert_int_equal(gnn_ring_submit(f->world, f->ring, &read, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 1);
}

/* Takes one completion; returns when it came, counted from the fixture's start. */
static uint64_t next_done_ns(struct fixture *f, uint64_t *tag)
{
    struct gnn_completion done;
    uint32_t got;
    assert_int_equal(gnn_ring_wait(f->world, f->ring, 1, 1, &done, &got, NULL), GNN_OK);
    assert_int_equal(got, 1);
    assert_true(done.result > 0);
    *tag = done.tag;
    return gnn_now_ns(f->world) - f->start_ns;
}

static void expect_next(struct fixture *f, uint64_t tag, uint64_t done_ns)
{
    uint64_t got_tag;
    const uint64_t got_ns = next_done_ns(f, &got_tag);
    assert_int_equal(got_tag, tag);
    assert_int_equal(got_ns, done_ns);
}

/* ---- one write ---- */

/* Its call, its request; the device; being woken; its completion. The same as the call that waits by itself, but that
 * the wait is another call, made while the device works. */
static void test_a_write_alone(void **state)
{
    (void)state;
    static const struct {
        uint32_t len_bytes;
        uint64_t device_ns;
    } cases[] = {{512, 20000 + 1024}, {4096, 20000 + 8192}, {65536, 20000 + 131072}, {1 << 19, 20000 + 1048576}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct gnn_simulated_counts counts;
        struct gnn_time_split before, after;
        fixture_open(&f, NULL, &depth_16);
        gnn_thread_split(f.world, &before);
        submit_write(&f, f.out, 3, cases[i].len_bytes, 9);
        expect_next(&f, 9, 1500 + cases[i].device_ns + 5000 + 500);
        gnn_thread_split(f.world, &after);
        assert_int_equal(after.wait_ns[GNN_WAIT_IO] - before.wait_ns[GNN_WAIT_IO], cases[i].device_ns - 1000 + 5000);
        gnn_world_simulated_counts(f.world, &counts);
        assert_int_equal(counts.device_write_ios, 1);
        assert_int_equal(counts.device_write_bytes, cases[i].len_bytes);
        assert_int_equal(counts.device_read_ios, 0);
        const uint64_t start_ns = gnn_now_ns(f.world);
        assert_int_equal(gnn_file_write(f.world, f.out, 0, f.memory, cases[i].len_bytes), cases[i].len_bytes);
        assert_int_equal(gnn_now_ns(f.world) - start_ns, 1500 + cases[i].device_ns + 5000 + 500);
        fixture_close(&f);
    }
}

/* Handing over is one call for each eighth of the depth, and a request's cost each. */
static void test_what_handing_over_costs(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_write writes[16];
    uint32_t accepted;
    fixture_open(&f, NULL, &depth_16);
    for (uint64_t i = 0; i < 16; i++)
        writes[i] = (struct gnn_write){
            .file = f.out, .offset_bytes = i * BLOCK_BYTES, .src = f.memory, .len_bytes = BLOCK_BYTES, .tag = i};
    assert_int_equal(gnn_ring_submit_writes(f.world, f.ring, writes, 16, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 16);
    assert_int_equal(gnn_now_ns(f.world) - f.start_ns, 6 * 1000 + 16 * 500); /* three at a time */
    assert_int_equal(gnn_ring_submit_writes(f.world, f.ring, writes, 16, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 0);
    fixture_close(&f);
}

/* ---- several ---- */

/* They end in the order they came, one every 131.072 us: the first has its latency besides. */
static void test_writes_take_turns(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls, &depth_16);
    for (uint64_t i = 0; i < 8; i++)
        submit_write(&f, f.out, i, BLOCK_BYTES, i);
    expect_next(&f, 0, 20000 + 131072);
    for (uint64_t i = 1; i < 8; i++)
        expect_next(&f, i, (i + 1) * 131072);
    fixture_close(&f);
}

/* Small ones are bound by their number: one every 20 us, as long as they take 28.192 us each. */
static void test_small_writes_are_bound_by_iops(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls, &depth_16);
    for (uint64_t i = 0; i < 8; i++)
        submit_write(&f, f.out, i, 4096, i);
    expect_next(&f, 0, 28192);
    for (uint64_t i = 1; i < 8; i++)
        expect_next(&f, i, (i + 1) * 20000);
    fixture_close(&f);
}

/* A read that finds a write counts it as another read at its depth (between 100 us at 1 and 524.288 at 8); it does not
 * have to wait for the write itself, which is no larger than its fair share. */
static void test_a_read_behind_a_write(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls, &depth_16);
    submit_write(&f, f.out, 0, BLOCK_BYTES, 1);
    submit_read(&f, 0, BLOCK_BYTES, 2);
    expect_next(&f, 1, 151072);
    expect_next(&f, 2, 160613); /* 100000 + (524288 - 100000) / 7, rounded up */
    fixture_close(&f);
}

/* A write that finds a read waits for its turn: 65.536 us of the read, then its own 131.072. */
static void test_a_write_behind_a_read(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls, &depth_16);
    submit_read(&f, 0, BLOCK_BYTES, 2);
    submit_write(&f, f.out, 0, BLOCK_BYTES, 1);
    expect_next(&f, 2, 100000);
    expect_next(&f, 1, 65536 + 131072);
    fixture_close(&f);
}

/* A burst of both: the device is busy for the sum of what they take alone, and no longer; the last write ends it. */
static void test_both_kinds_share_the_device(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_simulated_counts counts;
    uint64_t tag, last_ns = 0;
    fixture_open(&f, free_calls, &(struct gnn_ring_config){.depth = 64});
    for (uint64_t i = 0; i < 32; i++) {
        submit_read(&f, i, BLOCK_BYTES, 100 + i);
        submit_write(&f, f.out, i, BLOCK_BYTES, i);
    }
    for (int i = 0; i < 64; i++)
        last_ns = next_done_ns(&f, &tag);
    assert_int_equal(last_ns, 32 * (131072 + 65536));
    gnn_world_simulated_counts(f.world, &counts);
    assert_int_equal(counts.device_write_bytes, 32 * BLOCK_BYTES);
    assert_int_equal(counts.device_read_bytes, 32 * BLOCK_BYTES);
    assert_int_equal(counts.device_busy_ns, last_ns);
    fixture_close(&f);
}

/* ---- figures of the profile ---- */

/* Full duplex: 1000 / 0.7 MB/s is as fast as the reads among them alone. */
static void side_by_side(struct gnn_profile *profile)
{
    free_calls(profile);
    profile->storage.mixed_bytes_per_s = 2000000000; /* above the bound counts as the bound */
}

/* The write behind a read again: of the weight in flight a third is the read's, so a third of the write goes beside it:
 * 65.536 + 131.072 x 2 / 3. */
static void test_side_by_side(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, side_by_side, &depth_16);
    submit_read(&f, 0, BLOCK_BYTES, 2);
    submit_write(&f, f.out, 0, BLOCK_BYTES, 1);
    expect_next(&f, 2, 100000);
    expect_next(&f, 1, 152918); /* 65536 + 131072 x 2 / 3 = 152917.3 */
    fixture_close(&f);
}

/* 128 KiB, 70 % read, take 0.7 x 131.072 + 0.3 x 262.144 = 170.3936 us in turns, and 249.0368 here: 78.6432, all that
 * the lesser part takes, on top, so c = 1. */
static void in_each_others_way(struct gnn_profile *profile)
{
    free_calls(profile);
    profile->storage.mixed_bytes_per_s = 526315789; /* 131072 bytes in 249.0368 us */
}

static void test_in_each_others_way(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, in_each_others_way, &depth_16);
    submit_read(&f, 0, BLOCK_BYTES, 2);
    submit_write(&f, f.out, 0, BLOCK_BYTES, 1);
    expect_next(&f, 2, 100000);
    uint64_t tag;
    const uint64_t done_ns = next_done_ns(&f, &tag); /* 65536 + 131072 x 4 / 3 */
    assert_in_range(done_ns, 240298, 240300);
    fixture_close(&f);
}

/* 1 MiB goes at 500 MB/s, then 125 MB/s. */
static void short_of_breath(struct gnn_profile *profile)
{
    free_calls(profile);
    profile->storage.write_sustained_bytes_per_s = 125000000;
    profile->storage.write_burst_bytes = 1 << 20;
}

static void test_a_full_write_cache(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t tag;
    fixture_open(&f, short_of_breath, &(struct gnn_ring_config){.depth = 32});
    for (uint64_t i = 0; i < 24; i++)
        submit_write(&f, f.out, i, BLOCK_BYTES, i);
    expect_next(&f, 0, 20000 + 131072);
    for (uint64_t i = 1; i < 16; i++)
        expect_next(&f, i, (i + 1) * 131072);
    for (uint64_t i = 16; i < 24; i++)
        expect_next(&f, i, 16 * 131072 + (i - 15) * 524288);
    /* The cache empties while nothing is written: in 1 MiB / 125 MB/s less 1 MiB / 500 MB/s all of it. Half of that
     * time is half of the burst: 8 writes at full speed, the ninth is slow. */
    const uint64_t all_ns = 8388608 - 2097152;
    gnn_sleep_until(f.world, gnn_now_ns(f.world) + all_ns / 2, GNN_WAIT_COMPUTE);
    f.start_ns = gnn_now_ns(f.world);
    for (uint64_t i = 0; i < 10; i++)
        submit_write(&f, f.out, i, BLOCK_BYTES, i);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(next_done_ns(&f, &tag), i == 0 ? 151072 : (i + 1) * 131072);
    expect_next(&f, 8, 8 * 131072 + 524288);
    expect_next(&f, 9, 8 * 131072 + 2 * 524288);
    fixture_close(&f);
}

/* A device of which no more is said takes writes at full speed for ever. */
static void test_without_those_figures_nothing_changes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls, &(struct gnn_ring_config){.depth = 64});
    for (uint64_t i = 0; i < 64; i++)
        submit_write(&f, f.out, i, BLOCK_BYTES, i);
    uint64_t tag, last_ns = 0;
    for (int i = 0; i < 64; i++)
        last_ns = next_done_ns(&f, &tag);
    assert_int_equal(last_ns, 64 * 131072);
    fixture_close(&f);
}

/* ---- through the page cache ---- */

static void known_ring_reads(struct gnn_profile *profile)
{
    profile->cpu.ring_cached_ns = 700; /* of reads: nothing of a write's */
    profile->cpu.ring_missed_ns = 6000;
}

/* A call, a row's place, a page of 1 us, two looks; the device hears of it when the file is synced. */
static void test_a_buffered_write_costs_a_copy(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_simulated_counts counts;
    uint64_t tag;
    fixture_open(&f, known_ring_reads, &depth_16);
    memset(f.memory, 7, 4096);
    submit_write(&f, f.cached, 0, 4096, 1);
    memset(f.memory, 9, 4096); /* it was copied */
    const uint64_t done_ns = next_done_ns(&f, &tag);
    assert_in_range(done_ns, 1000 + 50 + 1000 + 2 * 20, 1000 + 50 + 1000 + 2 * 20 + 1);
    gnn_world_simulated_counts(f.world, &counts);
    assert_int_equal(counts.device_write_ios, 0);
    assert_int_equal(gnn_file_sync(f.world, f.cached, NULL), GNN_OK);
    gnn_world_simulated_counts(f.world, &counts);
    assert_int_equal(counts.device_write_ios, 1);
    assert_int_equal(counts.device_write_bytes, 4096);
    unsigned char byte = 0;
    assert_int_equal(gnn_file_read(f.world, f.cached, 4095, &byte, 1), 1);
    assert_int_equal(byte, 7);
    fixture_close(&f);
}

/* The kernel's polling thread copies, one after the other, while the owner only looks. */
static void test_the_polling_thread_copies(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t tag;
    fixture_open(&f, NULL, &(struct gnn_ring_config){.depth = 16, .sqpoll = true, .spin = true});
    for (uint64_t i = 0; i < 4; i++)
        submit_write(&f, f.cached, i, 4096, i);
    assert_int_equal(gnn_now_ns(f.world), f.start_ns);
    for (uint64_t i = 0; i < 4; i++) {
        const uint64_t done_ns = next_done_ns(&f, &tag);
        assert_int_equal(tag, i);
        assert_in_range(done_ns, (i + 1) * 1050, (i + 1) * 1050 + 100);
    }
    fixture_close(&f);
}

/* ---- when bytes leave ---- */

/* Whoever changes the memory of a direct write in flight, or reads its range, finds out: the bytes leave, and the file
 * grows, when the completion is taken. */
static void test_bytes_leave_when_a_completion_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_file_info info;
    unsigned char byte = 0;
    uint64_t tag;
    fixture_open(&f, NULL, &depth_16);
    memset(f.memory, 1, 4096);
    submit_write(&f, f.out, 0, 4096, 1);
    (void)next_done_ns(&f, &tag);
    memset(f.memory, 2, 4096);
    submit_write(&f, f.out, 0, 4096, 2);
    submit_write(&f, f.out, 5, 4096, 3);
    gnn_sleep_until(f.world, gnn_now_ns(f.world) + 1000000, GNN_WAIT_COMPUTE); /* the device is long done */
    gnn_file_info(f.world, f.out, &info);
    assert_int_equal(info.size_bytes, 4096);
    assert_int_equal(gnn_file_read(f.world, f.cached, 10, &byte, 1), 1);
    assert_int_equal(byte, 1);
    memset(f.memory, 3, 4096);
    (void)next_done_ns(&f, &tag);
    (void)next_done_ns(&f, &tag);
    gnn_file_info(f.world, f.out, &info);
    assert_int_equal(info.size_bytes, 5 * BLOCK_BYTES + 4096);
    assert_int_equal(gnn_file_read(f.world, f.cached, 10, &byte, 1), 1);
    assert_int_equal(byte, 3);
    fixture_close(&f);
}

/* Closing passes the time of what is in flight, and its bytes are there. */
static void test_closing_waits(void **state)
{
    (void)state;
    for (int engine = 0; engine < 2; engine++) {
        struct fixture f;
        const struct gnn_ring_config config = {.engine = (enum gnn_ring_engine)engine, .depth = 16};
        fixture_open(&f, NULL, &config);
        memset(f.memory, 5, BLOCK_BYTES);
        for (uint64_t i = 0; i < 16; i++)
            submit_write(&f, f.out, i, BLOCK_BYTES, i);
        gnn_ring_close(f.world, f.ring);
        f.ring = NULL;
        assert_true(gnn_now_ns(f.world) - f.start_ns >= 16 * 131072);
        memset(f.memory, 6, BLOCK_BYTES);
        for (uint64_t i = 0; i < 16; i++) {
            unsigned char byte = 0;
            assert_int_equal(gnn_file_read(f.world, f.cached, i * BLOCK_BYTES + 77, &byte, 1), 1);
            assert_int_equal(byte, 5);
        }
        fixture_close(&f);
    }
}

/* The pool's threads bound what is in flight: one thread is a chain of calls. */
static void test_pool_threads_bound_the_writes(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        struct fixture f;
        uint64_t tag, last_ns = 0;
        const struct gnn_ring_config config = {.engine = GNN_RING_POOL, .depth = 16, .pool_threads = threads};
        fixture_open(&f, free_calls, &config);
        for (uint64_t i = 0; i < 16; i++)
            submit_write(&f, f.out, i, 4096, i);
        for (int i = 0; i < 16; i++)
            last_ns = next_done_ns(&f, &tag);
        const uint64_t expected_ns = 16 * (threads == 1 ? UINT64_C(28192) : 20000);
        assert_in_range(last_ns, expected_ns, expected_ns + expected_ns / 10 + 20000);
        fixture_close(&f);
    }
}

/* ---- determinism ---- */

static uint64_t digest_of_a_mixture(void)
{
    struct fixture f;
    struct gnn_rng rng = gnn_rng_at(5);
    uint64_t digest = 0;
    uint32_t in_flight = 0;
    fixture_open(&f, NULL, &depth_16);
    for (uint64_t i = 0; i < 1500; i++) {
        const uint32_t len_bytes = 512U << gnn_rng_below(&rng, 8);
        const uint64_t block = gnn_rng_below(&rng, FILE_BYTES / BLOCK_BYTES);
        if (gnn_rng_below(&rng, 3) == 0)
            submit_read(&f, block, len_bytes, i);
        else
            submit_write(&f, gnn_rng_below(&rng, 4) == 0 ? f.cached : f.out, block, len_bytes, i);
        in_flight++;
        while (in_flight > gnn_rng_below(&rng, 15)) {
            uint64_t tag;
            digest = gnn_mix64(digest ^ next_done_ns(&f, &tag) << 16);
            digest = gnn_mix64(digest ^ tag);
            in_flight--;
        }
    }
    fixture_close(&f);
    return digest;
}

static void test_same_nanoseconds_twice(void **state)
{
    (void)state;
    const uint64_t digest = digest_of_a_mixture();
    assert_true(digest == digest_of_a_mixture());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_write_alone),
        cmocka_unit_test(test_what_handing_over_costs),
        cmocka_unit_test(test_writes_take_turns),
        cmocka_unit_test(test_small_writes_are_bound_by_iops),
        cmocka_unit_test(test_a_read_behind_a_write),
        cmocka_unit_test(test_a_write_behind_a_read),
        cmocka_unit_test(test_both_kinds_share_the_device),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_in_each_others_way),
        cmocka_unit_test(test_a_full_write_cache),
        cmocka_unit_test(test_without_those_figures_nothing_changes),
        cmocka_unit_test(test_a_buffered_write_costs_a_copy),
        cmocka_unit_test(test_the_polling_thread_copies),
        cmocka_unit_test(test_bytes_leave_when_a_completion_is_taken),
        cmocka_unit_test(test_closing_waits),
        cmocka_unit_test(test_pool_threads_bound_the_writes),
        cmocka_unit_test(test_same_nanoseconds_twice),
    };
    return cmocka_run_group_tests_name("sim_writes", tests, NULL, NULL);
}
