/* SPDX-License-Identifier: MIT */
/* Rings of the simulated world: right bytes and right answers in the order they end, the grid's speed through the whole
 * path, CPU costs that bound it, waits that sleep, look or spin; and the batched reader over it, with and without
 * faults.
 * The machine is sim_profile.h's, some figures changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/storage/reader.h"
#include "harness/world/faults.h"
#include "harness/world/simulated/simulated.h"
#include "tests/support/io_scratch.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 1 << 20, DEPTH_MAX = 1024 };

/* ---- a world with a file of numbers and one of features ---- */

static void numbers_read(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst)
{
    assert_true(offset_bytes + len_bytes <= content->size_bytes);
    for (uint64_t k = 0; k < len_bytes; k++)
        ((unsigned char *)dst)[k] =
            (unsigned char)(io_scratch_value((offset_bytes + k) / 4) >> ((offset_bytes + k) % 4 * 8));
}

static const struct gnn_content numbers = {.size_bytes = FILE_BYTES - 100, .read = numbers_read};
static const struct gnn_content features = {.size_bytes = UINT64_C(1) << 38};

struct fixture {
    struct gnn_profile profile;
    struct gnn_world *world;
    struct gnn_file *numbers[2], *features[2]; /* buffered, direct */
    void *slots;                               /* feature memory (SLOT_BYTES) */
};

enum { SLOT_BYTES = 16 << 20 };

typedef void tune_fn(struct gnn_profile *profile);

static void fixture_open(struct fixture *f, tune_fn *tune)
{
    *f = (struct fixture){.world = NULL};
    sim_profile_fill(&f->profile);
    if (tune != NULL)
        tune(&f->profile);
    f->world = sim_world_of(&f->profile, 0);
    assert_int_equal(gnn_world_simulated_add_file(f->world, "numbers", &numbers, NULL), GNN_OK);
    assert_int_equal(gnn_world_simulated_add_file(f->world, "features", &features, NULL), GNN_OK);
    for (int direct = 0; direct < 2; direct++) {
        const unsigned flags = direct == 1 ? GNN_OPEN_DIRECT : GNN_OPEN_RANDOM;
        assert_int_equal(gnn_file_open(f->world, "numbers", flags, &f->numbers[direct], NULL), GNN_OK);
        if (direct == 1)
            assert_int_equal(gnn_file_open(f->world, "features", flags, &f->features[direct], NULL), GNN_OK);
    }
    assert_int_equal(gnn_mem_alloc(f->world, "slots", SLOT_BYTES, GNN_MEM_FEATURES, &f->slots, NULL), GNN_OK);
}

static void fixture_close(struct fixture *f)
{
    gnn_mem_free(f->world, f->slots);
    for (int direct = 0; direct < 2; direct++) {
        gnn_file_close(f->world, f->numbers[direct]);
        gnn_file_close(f->world, f->features[direct]);
    }
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
    profile->cpu.ring_cached_ns = 0;
    profile->cpu.buffered_page_ns = 0;
    profile->cpu.lock_ns = 0;
    profile->cpu.wake_ns = 0;
    profile->cpu.wake_latency_ns = 0;
}

static struct gnn_ring *open_ring(struct fixture *f, const struct gnn_ring_config *config)
{
    struct gnn_ring *ring;
    struct gnn_err err = {0};
    must(gnn_ring_open(f->world, config, &ring, &err), &err);
    return ring;
}

/* ---- bytes and answers ---- */

enum { READS = 300, READ_BYTES_MAX = 8192 };

static void check_answer(const struct gnn_read *read, const struct gnn_completion *done, bool direct)
{
    const bool aligned = read->offset_bytes % 512 == 0 && read->len_bytes % 512 == 0;
    const uint64_t size = numbers.size_bytes;
    const uint64_t left = read->offset_bytes < size ? size - read->offset_bytes : 0;
    const int64_t expected = direct && !aligned       ? -EINVAL
                             : read->len_bytes < left ? (int64_t)read->len_bytes
                                                      : (int64_t)left;
    assert_int_equal(done->result, expected);
    const unsigned char *const got = read->dst;
    for (int64_t k = 0; k < expected; k++) {
        const uint64_t at = read->offset_bytes + (uint64_t)k;
        if (got[k] != (unsigned char)(io_scratch_value(at / 4) >> (at % 4 * 8)))
            fail_msg("read at %u: byte %d", (unsigned)read->offset_bytes, (int)k);
    }
    assert_int_equal(got[expected < 0 ? 0 : expected], 0xee);
}

static void check_bytes(struct fixture *f, const struct gnn_ring_config *config, bool direct, struct gnn_rng *rng)
{
    struct gnn_ring *ring = open_ring(f, config);
    void *memory;
    const uint64_t stride = READ_BYTES_MAX + 512;
    assert_int_equal(gnn_mem_alloc(f->world, "bytes", READS * stride, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    memset(memory, 0xee, READS * stride);
    static struct gnn_read reads[READS];
    static uint8_t seen[READS];
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < READS; i++) {
        const uint64_t unit = direct && i % 16 != 5 ? 512 : 1;
        const uint64_t offset =
            i % 10 == 3 ? FILE_BYTES - 4096 + gnn_rng_below(rng, 6000) : gnn_rng_below(rng, FILE_BYTES);
        reads[i] = (struct gnn_read){.file = f->numbers[direct ? 1 : 0],
                                     .offset_bytes = gnn_round_down(offset, unit),
                                     .dst = (unsigned char *)memory + i * stride,
                                     .len_bytes = (uint32_t)gnn_round_up(1 + gnn_rng_below(rng, READ_BYTES_MAX), unit),
                                     .tag = i};
    }
    uint32_t submitted = 0, completed = 0;
    uint64_t last_ns = 0;
    while (completed < READS) {
        uint32_t accepted = 0, got = 0;
        struct gnn_completion done[64];
        assert_int_equal(gnn_ring_submit(f->world, ring, reads + submitted, READS - submitted, &accepted, NULL),
                         GNN_OK);
        submitted += accepted;
        assert_true(submitted - completed <= config->depth);
        assert_true(submitted == READS || submitted - completed == config->depth);
        const uint32_t min = completed % 3 == 0 ? 1 : (submitted - completed + 1) / 2;
        const uint32_t asked = min < 64 ? min : 64;
        assert_int_equal(gnn_ring_wait(f->world, ring, asked, 64, done, &got, NULL), GNN_OK);
        assert_in_range(got, asked, 64);
        for (uint32_t i = 0; i < got; i++) {
            assert_int_equal(seen[done[i].tag]++, 0);
            check_answer(&reads[done[i].tag], &done[i], direct);
        }
        completed += got;
        assert_true(gnn_now_ns(f->world) >= last_ns);
        last_ns = gnn_now_ns(f->world);
    }
    gnn_ring_close(f->world, ring);
    gnn_mem_free(f->world, memory);
}

static void test_bytes_and_answers(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    static const struct gnn_ring_config configs[] = {
        {.depth = 1},
        {.depth = 7},
        {.depth = 64},
        {.depth = DEPTH_MAX},
        {.depth = 32, .spin = true},
        {.depth = 32, .sqpoll = true, .iopoll = true},
        {.engine = GNN_RING_POOL, .depth = 1},
        {.engine = GNN_RING_POOL, .depth = 40, .pool_threads = 3},
        {.engine = GNN_RING_POOL, .depth = 16},
        {.engine = GNN_RING_POOL, .depth = 16, .spin = true},
    };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
        for (int direct = 0; direct < 2; direct++)
            check_bytes(&f, &configs[i], direct == 1, &rng);
    fixture_close(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL);
    static const struct gnn_ring_config configs[] = {
        {.depth = 0},
        {.depth = 8193},
        {.engine = GNN_RING_POOL, .depth = 4, .sqpoll = true},
        {.engine = GNN_RING_POOL, .depth = 4, .iopoll = true},
    };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        struct gnn_ring *ring;
        struct gnn_err err = {0};
        assert_int_equal(gnn_ring_open(f.world, &configs[i], &ring, &err), GNN_EUSAGE);
        assert_null(ring);
        assert_true(err.message[0] != '\0');
    }
    gnn_ring_close(f.world, NULL);
    fixture_close(&f);
}

/* Closing waits for what is in flight; buffers are free afterwards. */
static void test_close_with_reads_in_flight(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL);
    for (int engine = 0; engine < 2; engine++) {
        struct gnn_ring *ring =
            open_ring(&f, &(struct gnn_ring_config){.engine = (enum gnn_ring_engine)engine, .depth = 100});
        unsigned char *memory = aligned_alloc(512, 100 * 512);
        assert_non_null(memory);
        const uint64_t start_ns = gnn_now_ns(f.world);
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t accepted;
            const struct gnn_read read = {
                .file = f.numbers[1], .offset_bytes = i * 512, .dst = memory + i * 512, .len_bytes = 512};
            assert_int_equal(gnn_ring_submit(f.world, ring, &read, 1, &accepted, NULL), GNN_OK);
            assert_int_equal(accepted, 1);
        }
        gnn_ring_close(f.world, ring);
        assert_true(gnn_now_ns(f.world) - start_ns >= 100000);
        free(memory);
    }
    fixture_close(&f);
}

/* ---- speed ---- */

struct speed {
    double ns;   /* between two reads */
    double busy; /* cores */
    uint64_t wait_io_ns;
    uint64_t span_ns;
};

/* Keeps `depth` reads of feature rows in flight, `count` in all; takes at least `min` and at most all at a time. */
static struct speed closed_loop(struct fixture *f, const struct gnn_ring_config *config, uint32_t size_bytes,
                                uint64_t count, uint32_t min)
{
    struct gnn_ring *ring = open_ring(f, config);
    struct gnn_rng rng = gnn_rng_at(size_bytes + config->depth);
    static struct gnn_read reads[DEPTH_MAX];
    static struct gnn_completion done[DEPTH_MAX];
    struct gnn_time_split before, after;
    struct gnn_simulated_counts counts, later;
    gnn_thread_split(f->world, &before);
    gnn_world_simulated_counts(f->world, &counts);
    const uint64_t start_ns = gnn_now_ns(f->world);
    uint64_t submitted = 0, completed = 0;
    while (completed < count) {
        const uint64_t room = config->depth - (submitted - completed);
        const uint32_t batch = (uint32_t)(count - submitted < room ? count - submitted : room);
        for (uint32_t i = 0; i < batch; i++)
            reads[i] = (struct gnn_read){.file = f->features[1],
                                         .offset_bytes = gnn_rng_below(&rng, 1 << 16) * size_bytes,
                                         .dst = f->slots,
                                         .len_bytes = size_bytes};
        uint32_t accepted = 0, got = 0;
        assert_int_equal(gnn_ring_submit(f->world, ring, reads, batch, &accepted, NULL), GNN_OK);
        assert_int_equal(accepted, batch);
        submitted += accepted;
        const uint64_t in_flight = submitted - completed;
        assert_int_equal(
            gnn_ring_wait(f->world, ring, in_flight < min ? (uint32_t)in_flight : min, DEPTH_MAX, done, &got, NULL),
            GNN_OK);
        for (uint32_t i = 0; i < got; i++)
            assert_int_equal(done[i].result, size_bytes);
        completed += got;
    }
    const uint64_t span_ns = gnn_now_ns(f->world) - start_ns;
    gnn_thread_split(f->world, &after);
    gnn_world_simulated_counts(f->world, &later);
    assert_int_equal(later.device_read_ios - counts.device_read_ios, count);
    assert_int_equal(later.device_read_bytes - counts.device_read_bytes, count * size_bytes);
    gnn_ring_close(f->world, ring);
    return (struct speed){.ns = (double)span_ns / (double)count,
                          .busy = (double)(later.cpu_busy_ns - counts.cpu_busy_ns) / (double)span_ns,
                          .wait_io_ns = after.wait_ns[GNN_WAIT_IO] - before.wait_ns[GNN_WAIT_IO],
                          .span_ns = span_ns};
}

static void check_close(double got, double expected, double tolerance, const char *what)
{
    if (fabs(got / expected - 1) > tolerance)
        fail_msg("%s: %.1f, expected %.1f", what, got, expected);
}

/* Through file, ring and executor a closed loop still shows the profile's grid, when calls cost nothing. */
static void test_grid_through_the_ring(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls);
    const struct gnn_profile_storage *const g = &f.profile.storage;
    for (uint32_t s = 0; s < g->size_count; s++) {
        for (uint32_t d = 0; d < g->depth_count; d++) {
            const struct gnn_ring_config config = {.depth = g->depth[d]};
            const uint64_t count = 200 * (uint64_t)g->depth[d];
            const struct speed speed = closed_loop(&f, &config, (uint32_t)g->size_bytes[s], count, 1);
            check_close(speed.ns, (double)g->read_ps[s][d] / 1000, 0.01, "ns between reads");
            assert_true(speed.busy < 0.001);
            check_close((double)speed.wait_io_ns, (double)speed.span_ns, 0.001, "I/O wait");
        }
    }
    fixture_close(&f);
}

static void slow_calls(struct gnn_profile *profile)
{
    profile->cpu.syscall_ns = 3000;
    profile->cpu.submit_ns = 9000;
    profile->cpu.complete_ns = 6000;
}

/* The slower of device and CPU: one core can submit and take a read in 15 us and its share of two system calls, the
 * device serves one in 10 us. A device fast enough leaves the core all busy; fast calls leave the device busy. */
static void test_cpu_bounds_the_ring(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, slow_calls);
    const struct gnn_ring_config deep = {.depth = 32};
    const struct speed bound = closed_loop(&f, &deep, 4096, 8000, 5);
    assert_true(bound.ns > 15000 && bound.ns < 15000 + 2 * 3000.0 / 4);
    assert_true(bound.busy > 0.97 && bound.busy < 1.001);
    /* 64 KiB: the device needs 65.5 us, the CPU hides behind it. */
    const struct speed device = closed_loop(&f, &deep, 65536, 4000, 1);
    check_close(device.ns, 65536, 0.01, "ns between reads");
    /* One at a time: everything adds up. */
    const struct gnn_ring_config single = {.depth = 1};
    const struct speed alone = closed_loop(&f, &single, 4096, 1000, 1);
    check_close(alone.ns, 3000 + 9000 + 100000 + 5000 + 6000, 0.001, "ns between reads");
    fixture_close(&f);
}

/* ---- waiting ---- */

static void submit_one(struct fixture *f, struct gnn_ring *ring, uint64_t tag)
{
    uint32_t accepted;
    const struct gnn_read read = {
        .file = f->features[1], .offset_bytes = tag * 4096, .dst = f->slots, .len_bytes = 4096, .tag = tag};
    assert_int_equal(gnn_ring_submit(f->world, ring, &read, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 1);
}

/* Syscall and submit pass before the read starts. Then: asleep until the wake-up, or on the core until the device is
 * done, with no wake-up and no call of the kernel. */
static void test_sleep_and_spin(void **state)
{
    (void)state;
    static const struct {
        struct gnn_ring_config config;
        uint64_t spent_ns, wait_ns, busy_ns;
    } cases[] = {
        /* the second call of the kernel burns while the device works */
        {{.depth = 4}, 1500 + 100000 + 5000 + 500, 99000 + 5000, 1500 + 1000 + 500},
        {{.depth = 4, .spin = true}, 1500 + 100000 + 500, 100000, 1500 + 100000 + 500},
        {{.depth = 4, .sqpoll = true}, 500 + 100000 + 5000 + 500, 99000 + 5000, 500 + 1000 + 500},
        {{.depth = 4, .iopoll = true}, 1500 + 100000 + 500, 99000, 1500 + 100000 + 500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        fixture_open(&f, NULL);
        struct gnn_ring *ring = open_ring(&f, &cases[i].config);
        struct gnn_time_split before, after;
        struct gnn_simulated_counts counts, later;
        const uint64_t start_ns = gnn_now_ns(f.world);
        gnn_thread_split(f.world, &before);
        gnn_world_simulated_counts(f.world, &counts);
        submit_one(&f, ring, 5);
        struct gnn_completion done;
        uint32_t got;
        assert_int_equal(gnn_ring_wait(f.world, ring, 1, 1, &done, &got, NULL), GNN_OK);
        assert_int_equal(got, 1);
        assert_int_equal(done.tag, 5);
        assert_int_equal(gnn_now_ns(f.world) - start_ns, cases[i].spent_ns);
        gnn_thread_split(f.world, &after);
        gnn_world_simulated_counts(f.world, &later);
        assert_int_equal(after.wait_ns[GNN_WAIT_IO] - before.wait_ns[GNN_WAIT_IO], cases[i].wait_ns);
        assert_int_equal(later.cpu_busy_ns - counts.cpu_busy_ns, cases[i].busy_ns);
        gnn_ring_close(f.world, ring);
        fixture_close(&f);
    }
}

static uint64_t ns_of_four_bytes(struct fixture *f, struct gnn_ring *ring, uint64_t offset_bytes)
{
    uint32_t value, accepted, got;
    struct gnn_completion done;
    const struct gnn_read read = {
        .file = f->numbers[0], .offset_bytes = offset_bytes, .dst = &value, .len_bytes = 4, .tag = 1};
    const uint64_t start_ns = gnn_now_ns(f->world);
    assert_int_equal(gnn_ring_submit(f->world, ring, &read, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(gnn_ring_wait(f->world, ring, 1, 1, &done, &got, NULL), GNN_OK);
    assert_int_equal(done.result, 4);
    return gnn_now_ns(f->world) - start_ns;
}

/* Four bytes that are cached: a call, a place in memory, four copied bytes and two looks. No interrupt, no page. */
static void test_cached_bytes_cost_no_interrupt(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL);
    const struct gnn_ring_config config = {.depth = 4};
    struct gnn_ring *const ring = open_ring(&f, &config);
    const uint64_t missed_ns = ns_of_four_bytes(&f, ring, 4096);
    assert_true(missed_ns >= 1000 + 100000 + 5000 + f.profile.cpu.complete_ns);
    for (uint64_t at = 4096; at < 8192; at += 1000)
        assert_in_range(ns_of_four_bytes(&f, ring, at), 1000 + 50 + 1 + 2 * 20, 1000 + 50 + 2 + 2 * 20);
    gnn_ring_close(f.world, ring);
    fixture_close(&f);
}

static void known_ring_reads(struct gnn_profile *profile)
{
    profile->cpu.ring_cached_ns = 700;
    profile->cpu.ring_missed_ns = 6000;
}

/* Where the profile knows what a ring asks of a buffered read, that holds instead of what a call of pread would take:
 * a call, the read, a look at a queue that holds it. */
static void test_cached_reads_of_a_ring_have_their_price(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, known_ring_reads);
    struct gnn_ring *const ring = open_ring(&f, &(struct gnn_ring_config){.depth = 4});
    /* Its submission; the device, which is asked before; being woken; another call, for the wait; its completion. */
    const uint64_t missed_ns = ns_of_four_bytes(&f, ring, 4096);
    assert_int_equal(missed_ns, 1000 + 100000 + 5000 + 500);
    for (uint64_t at = 4096; at < 8192; at += 1000)
        assert_in_range(ns_of_four_bytes(&f, ring, at), 1000 + 700 + 20, 1000 + 700 + 20 + 1);
    gnn_ring_close(f.world, ring);
    fixture_close(&f);
}

/* The owner is busy for the whole of it, whether the page was there or not. */
static void test_reads_of_a_ring_take_their_owner(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, known_ring_reads);
    struct gnn_ring *const ring = open_ring(&f, &(struct gnn_ring_config){.depth = 4});
    static const uint64_t cpu_ns[] = {1000 + 5500 + 1000 + 500, 1000 + 700 + 20};
    for (int cached = 0; cached < 2; cached++) {
        struct gnn_simulated_counts before, after;
        (void)gnn_now_ns(f.world); /* what opening files took has passed */
        gnn_world_simulated_counts(f.world, &before);
        (void)ns_of_four_bytes(&f, ring, 4096);
        gnn_world_simulated_counts(f.world, &after);
        assert_in_range(after.cpu_busy_ns - before.cpu_busy_ns, cpu_ns[cached], cpu_ns[cached] + 1);
    }
    gnn_ring_close(f.world, ring);
    fixture_close(&f);
}

/* CPU time of reading every page of the file while 64 KiB are left for them; *evicted: how many had to go. */
static uint64_t busy_ns_of_a_round(uint64_t evict_page_ns, uint64_t *evicted)
{
    struct fixture f;
    struct gnn_simulated_counts before, after;
    void *hog;
    fixture_open(&f, known_ring_reads);
    f.profile.cpu.evict_page_ns = evict_page_ns;
    struct gnn_ring *const ring = open_ring(&f, &(struct gnn_ring_config){.depth = 4});
    gnn_mem_free(f.world, f.slots); /* reserved and not touched */
    f.slots = NULL;
    struct gnn_mem_usage usage;
    gnn_mem_usage(f.world, &usage);
    const uint64_t room_bytes = f.profile.memory_bytes - f.profile.process_bytes - usage.current_bytes;
    assert_int_equal(gnn_mem_alloc(f.world, "hog", room_bytes - (64 << 10), GNN_MEM_PINNED, &hog, NULL), GNN_OK);
    gnn_world_simulated_counts(f.world, &before);
    for (uint64_t at = 0; at + 4 <= numbers.size_bytes; at += 4096)
        (void)ns_of_four_bytes(&f, ring, at);
    gnn_world_simulated_counts(f.world, &after);
    *evicted = after.pages_evicted - before.pages_evicted;
    gnn_ring_close(f.world, ring);
    gnn_mem_free(f.world, hog);
    fixture_close(&f);
    return after.cpu_busy_ns - before.cpu_busy_ns;
}

static void test_reads_of_a_ring_reclaim(void **state)
{
    (void)state;
    uint64_t evicted, again;
    const uint64_t busy_ns = busy_ns_of_a_round(0, &evicted);
    assert_true(evicted > 32);
    const uint64_t more_ns = busy_ns_of_a_round(800, &again) - busy_ns;
    assert_in_range(more_ns, 800 * evicted - 16, 800 * evicted + 16); /* picoseconds of what stands before */
    assert_int_equal(again, evicted);
}

/* The kernel's polling thread serves them one after the other, while the owner only looks. */
static void test_the_polling_thread_serves_cached_reads(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, known_ring_reads);
    struct gnn_ring *const ring = open_ring(&f, &(struct gnn_ring_config){.depth = 4, .sqpoll = true, .spin = true});
    (void)ns_of_four_bytes(&f, ring, 4096);
    uint32_t values[4], accepted, got;
    struct gnn_read reads[4];
    struct gnn_completion done[4];
    for (uint32_t i = 0; i < 4; i++)
        reads[i] = (struct gnn_read){
            .file = f.numbers[0], .offset_bytes = 4096 + 4 * i, .dst = &values[i], .len_bytes = 4, .tag = i};
    const uint64_t start_ns = gnn_now_ns(f.world);
    assert_int_equal(gnn_ring_submit(f.world, ring, reads, 4, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 4);
    assert_int_equal(gnn_now_ns(f.world), start_ns); /* nothing of the owner's */
    assert_int_equal(gnn_ring_wait(f.world, ring, 4, 4, done, &got, NULL), GNN_OK);
    assert_int_equal(got, 4);
    assert_in_range(gnn_now_ns(f.world) - start_ns, 4 * 700, 4 * 700 + 1);
    gnn_ring_close(f.world, ring);
    fixture_close(&f);
}

/* A loop that only looks ends, whatever calls cost; nothing comes early. */
static void test_looking_passes_time(void **state)
{
    (void)state;
    for (int variant = 0; variant < 6; variant++) {
        struct fixture f;
        fixture_open(&f, variant % 2 == 0 ? free_calls : NULL);
        const struct gnn_ring_config config = {
            .engine = variant < 4 ? GNN_RING_URING : GNN_RING_POOL, .depth = 8, .spin = variant == 2 || variant == 3};
        struct gnn_ring *ring = open_ring(&f, &config);
        struct gnn_completion done;
        uint32_t got = 0;
        assert_int_equal(gnn_ring_wait(f.world, ring, 0, 1, &done, &got, NULL), GNN_OK);
        assert_int_equal(got, 0);
        const uint64_t start_ns = gnn_now_ns(f.world);
        submit_one(&f, ring, 9);
        uint32_t looks = 0;
        while (got == 0) {
            assert_int_equal(gnn_ring_wait(f.world, ring, 0, 1, &done, &got, NULL), GNN_OK);
            assert_true(++looks < 100000);
        }
        assert_true(looks > 20);
        assert_int_equal(done.tag, 9);
        /* the pool's threads have just been started, and are woken */
        assert_in_range(gnn_now_ns(f.world) - start_ns, 100000, variant < 4 ? 112000 : 150000);
        gnn_ring_close(f.world, ring);
        fixture_close(&f);
    }
}

/* What is there is taken, up to max; the rest stays for the next call. */
static void test_min_and_max(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct gnn_ring *ring = open_ring(&f, &(struct gnn_ring_config){.depth = 16});
    for (uint64_t i = 0; i < 16; i++)
        submit_one(&f, ring, i);
    struct gnn_completion done[16];
    uint32_t got, accepted;
    const struct gnn_read read = {.file = f.features[1], .dst = f.slots, .len_bytes = 512};
    assert_int_equal(gnn_ring_submit(f.world, ring, &read, 1, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 0); /* full */
    gnn_sleep_until(f.world, gnn_now_ns(f.world) + 10000000, GNN_WAIT_COMPUTE);
    uint64_t next = 0;
    static const uint32_t max[] = {1, 5, 0, 16};
    for (size_t i = 0; i < sizeof max / sizeof max[0]; i++) {
        assert_int_equal(gnn_ring_wait(f.world, ring, 0, max[i], done, &got, NULL), GNN_OK);
        assert_int_equal(got, max[i] < 16 - next ? max[i] : 16 - next);
        for (uint32_t k = 0; k < got; k++)
            assert_int_equal(done[k].tag, next++); /* alike and alone: first come, first served */
    }
    assert_int_equal(next, 16);
    gnn_ring_close(f.world, ring);
    fixture_close(&f);
}

/* The pool's threads bound what is in flight. */
static void test_pool_threads_bound_the_reads(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, free_calls);
    static const struct {
        uint32_t depth, threads, expected;
    } cases[] = {{32, 1, 1}, {32, 8, 8}, {8, 0, 8}, {1, 8, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct gnn_ring_config config = {
            .engine = GNN_RING_POOL, .depth = cases[i].depth, .pool_threads = cases[i].threads};
        const struct speed speed = closed_loop(&f, &config, 4096, 4000, 1);
        check_close(speed.ns, 100000.0 / cases[i].expected, 0.02, "ns between reads");
    }
    fixture_close(&f);
}

/* ---- the reader over it ---- */

struct rows {
    struct gnn_world *world; /* the simulated one, or the faulty one around it */
    struct gnn_reader *reader;
    uint32_t row_bytes, done;
    struct gnn_load loads[200];
    unsigned char *bytes; /* (200, row_bytes) */
    struct gnn_err err;
};

enum { LOADS = 200 };

static void rows_open(struct rows *r, struct gnn_world *world, struct gnn_file *const *file, uint32_t row_bytes,
                      uint32_t depth, enum gnn_ring_engine engine)
{
    *r = (struct rows){.world = world, .row_bytes = row_bytes, .bytes = calloc(LOADS, row_bytes)};
    const struct gnn_reader_config config = {
        .engine = engine, .depth = depth, .files = file, .file_count = 1, .bounce_bytes_max = row_bytes};
    if (gnn_reader_open(world, &config, &r->reader, &r->err) != GNN_OK)
        fail_msg("%s", r->err.message);
    const uint64_t count = numbers.size_bytes / row_bytes;
    for (uint64_t i = 0; i < LOADS; i++)
        r->loads[i] = (struct gnn_load){.offset_bytes = (i == 0 ? count - 1 : i * 389 % count) * row_bytes,
                                        .len_bytes = row_bytes,
                                        .dst = r->bytes + i * row_bytes,
                                        .tag = i};
}

static enum gnn_status count_done(void *ctx, uint64_t tag, struct gnn_err *err)
{
    (void)tag;
    (void)err;
    ((struct rows *)ctx)->done++;
    return GNN_OK;
}

static enum gnn_status rows_load(struct rows *r)
{
    r->err = (struct gnn_err){0};
    r->done = 0;
    return gnn_reader_load_all(r->reader, r->loads, LOADS, count_done, r, &r->err);
}

static void rows_check(const struct rows *r)
{
    assert_int_equal(r->done, LOADS);
    for (uint64_t i = 0; i < LOADS; i++)
        for (uint32_t k = 0; k < r->row_bytes; k++) {
            const uint64_t at = r->loads[i].offset_bytes + k;
            if (r->bytes[i * r->row_bytes + k] != (unsigned char)(io_scratch_value(at / 4) >> (at % 4 * 8)))
                fail_msg("rows of %u bytes: load %u, byte %u", r->row_bytes, (unsigned)i, k);
        }
}

static void rows_close(struct rows *r)
{
    gnn_reader_close(r->reader);
    free(r->bytes);
}

static void test_reader(void **state)
{
    (void)state;
    static const uint32_t row_bytes[] = {4, 400, 508, 512, 516, 1024, 1200, 2000, 3072, 4096, 9000};
    struct fixture f;
    fixture_open(&f, NULL);
    for (size_t i = 0; i < sizeof row_bytes / sizeof row_bytes[0]; i++) {
        for (int variant = 0; variant < 4; variant++) {
            struct rows r;
            rows_open(&r, f.world, &f.numbers[variant % 2], row_bytes[i], 1 + (uint32_t)i * 7,
                      variant < 2 ? GNN_RING_URING : GNN_RING_POOL);
            must(rows_load(&r), &r.err);
            rows_check(&r);
            rows_close(&r);
        }
    }
    fixture_close(&f);
}

static void test_reader_under_faults(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, NULL);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const struct gnn_fault_plan plan = {.seed = seed,
                                            .read_short_probability = seed % 2 == 0 ? 0.4 : 0,
                                            .read_again_probability = seed % 3 == 0 ? 0.4 : 0,
                                            .read_slow_probability = seed % 2 == 1 ? 0.1 : 0,
                                            .slow_ns = 300000,
                                            .shuffle = seed > 3};
        struct gnn_world *faulty;
        assert_int_equal(gnn_world_faulty_open(f.world, &plan, &faulty, NULL), GNN_OK);
        for (int direct = 0; direct < 2; direct++) {
            struct rows r;
            rows_open(&r, faulty, &f.numbers[direct], 1200, 16, GNN_RING_URING);
            if (rows_load(&r) != GNN_OK)
                fail_msg("seed %u: %s", (unsigned)seed, r.err.message);
            rows_check(&r);
            rows_close(&r);
        }
        gnn_world_faulty_close(faulty);
    }
    for (uint64_t nth = 1; nth <= LOADS; nth += nth < 10 ? 1 : 47) {
        const struct gnn_fault_plan plan = {.seed = 7, .read_eio_at = nth, .shuffle = true};
        struct gnn_world *faulty;
        assert_int_equal(gnn_world_faulty_open(f.world, &plan, &faulty, NULL), GNN_OK);
        struct rows r;
        rows_open(&r, faulty, &f.numbers[1], 1200, 16, nth % 2 == 0 ? GNN_RING_POOL : GNN_RING_URING);
        assert_int_equal(rows_load(&r), GNN_EIO);
        assert_non_null(strstr(r.err.message, "numbers"));
        assert_non_null(strstr(r.err.message, "Input/output error"));
        assert_int_equal(gnn_reader_in_flight(r.reader), 0);
        assert_int_equal(rows_load(&r), GNN_OK); /* drained, the reader serves on */
        rows_check(&r);
        rows_close(&r);
        gnn_world_faulty_close(faulty);
    }
    fixture_close(&f);
}

/* ---- determinism ---- */

struct reading {
    struct fixture *f;
    uint64_t seed, digest;
};

static void read_on_thread(void *arg)
{
    struct reading *mine = arg;
    struct gnn_world *const w = mine->f->world;
    struct gnn_rng rng = gnn_rng_at(mine->seed);
    struct gnn_ring *ring = open_ring(mine->f, &(struct gnn_ring_config){.depth = 24});
    uint32_t in_flight = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        const struct gnn_read read = {.file = mine->f->features[1],
                                      .offset_bytes = gnn_rng_below(&rng, 1 << 20) * 512,
                                      .dst = mine->f->slots,
                                      .len_bytes = 512U << gnn_rng_below(&rng, 5),
                                      .tag = i};
        uint32_t accepted, got;
        assert_int_equal(gnn_ring_submit(w, ring, &read, 1, &accepted, NULL), GNN_OK);
        in_flight += accepted;
        struct gnn_completion done[24];
        assert_int_equal(gnn_ring_wait(w, ring, in_flight == 24 ? 3 : 0, 24, done, &got, NULL), GNN_OK);
        in_flight -= got;
        for (uint32_t k = 0; k < got; k++)
            mine->digest = gnn_mix64(mine->digest ^ done[k].tag ^ gnn_now_ns(w) << 20);
        gnn_charge(w, GNN_WORK_SAMPLED_EDGE, gnn_rng_below(&rng, 5000));
    }
    gnn_ring_close(w, ring);
}

static void test_same_nanoseconds_twice(void **state)
{
    (void)state;
    enum { THREADS = 6, RUNS = 2 };
    uint64_t end_ns[RUNS], digest[RUNS] = {0};
    for (int run = 0; run < RUNS; run++) {
        struct fixture f;
        fixture_open(&f, NULL);
        struct reading readings[THREADS];
        struct gnn_thread *threads[THREADS];
        for (uint64_t i = 0; i < THREADS; i++) {
            readings[i] = (struct reading){.f = &f, .seed = 77 + i};
            assert_int_equal(gnn_thread_start(f.world, "reader", read_on_thread, &readings[i], &threads[i], NULL),
                             GNN_OK);
        }
        for (int i = 0; i < THREADS; i++) {
            gnn_thread_join(f.world, threads[i]);
            digest[run] = gnn_mix64(digest[run] ^ readings[i].digest);
        }
        end_ns[run] = gnn_now_ns(f.world);
        fixture_close(&f);
    }
    assert_int_equal(end_ns[0], end_ns[1]);
    assert_true(digest[0] == digest[1]);
    print_message("%llu ns, digest %016llx: the same from any compiler\n", (unsigned long long)end_ns[0],
                  (unsigned long long)digest[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_and_answers),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_close_with_reads_in_flight),
        cmocka_unit_test(test_grid_through_the_ring),
        cmocka_unit_test(test_cpu_bounds_the_ring),
        cmocka_unit_test(test_sleep_and_spin),
        cmocka_unit_test(test_cached_bytes_cost_no_interrupt),
        cmocka_unit_test(test_cached_reads_of_a_ring_have_their_price),
        cmocka_unit_test(test_reads_of_a_ring_take_their_owner),
        cmocka_unit_test(test_reads_of_a_ring_reclaim),
        cmocka_unit_test(test_the_polling_thread_serves_cached_reads),
        cmocka_unit_test(test_looking_passes_time),
        cmocka_unit_test(test_min_and_max),
        cmocka_unit_test(test_pool_threads_bound_the_reads),
        cmocka_unit_test(test_reader),
        cmocka_unit_test(test_reader_under_faults),
        cmocka_unit_test(test_same_nanoseconds_twice),
    };
    return cmocka_run_group_tests_name("sim_ring", tests, NULL, NULL);
}
