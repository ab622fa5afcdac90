/* SPDX-License-Identifier: MIT */
/* How long reads take and how large they are, worked out by hand: in virtual time a read's time is exact. The machine
 * is sim_profile.h's with calls that cost nothing: a read alone takes 100 us. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/storage/read_times.h"
#include "harness/storage/reader.h"
#include "harness/storage/ring_reads.h"
#include "harness/world/faults.h"
#include "harness/world/simulated/simulated.h"
#include "tests/support/must.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, DEPTH = 32, PAGES = 256, LOOK_NS = 20 /* at a completion that is there already */ };
#define US UINT64_C(1000)
static const struct gnn_content bytes_of_zero = {.size_bytes = (uint64_t)PAGES * PAGE};

struct machine {
    struct gnn_profile profile;
    struct gnn_world *inner, *world; /* world: inner, or faults over it */
    struct gnn_read_times *times;
    struct gnn_file *file;
    struct gnn_reader *reader;
    unsigned char *pages; /* (PAGES) */
};

static void machine_open(struct machine *m, const struct gnn_fault_plan *faults)
{
    struct gnn_err err = {0};
    *m = (struct machine){.inner = NULL};
    sim_profile_fill(&m->profile);
    struct gnn_profile_cpu *const cpu = &m->profile.cpu;
    cpu->syscall_ns = cpu->submit_ns = cpu->complete_ns = cpu->lock_ns = cpu->wake_latency_ns = 0;
    m->inner = m->world = sim_world_of(&m->profile, 0);
    must(gnn_world_simulated_add_file(m->inner, "features", &bytes_of_zero, &err), &err);
    if (faults != NULL)
        must(gnn_world_faulty_open(m->inner, faults, &m->world, &err), &err);
    must(gnn_read_times_open(&m->times, &err), &err);
    m->world->read_times = m->times;
    must(gnn_file_open(m->world, "features", GNN_OPEN_DIRECT, &m->file, &err), &err);
    const struct gnn_reader_config config = {.depth = DEPTH, .files = &m->file, .file_count = 1};
    must(gnn_reader_open(m->world, &config, &m->reader, &err), &err);
    must(gnn_mem_alloc(m->world, "pages", (uint64_t)PAGES * PAGE, GNN_MEM_PLAIN, (void **)&m->pages, &err), &err);
}

static void machine_close(struct machine *m)
{
    gnn_reader_close(m->reader);
    gnn_mem_free(m->world, m->pages);
    gnn_file_close(m->world, m->file);
    gnn_read_times_close(m->times);
    gnn_world_faulty_close(m->world == m->inner ? NULL : m->world);
    gnn_world_simulated_close(m->inner);
}

static struct gnn_load page(const struct machine *m, uint64_t number)
{
    return (struct gnn_load){
        .len_bytes = PAGE, .offset_bytes = number * PAGE, .dst = m->pages + number * PAGE, .tag = number};
}

static void submit(const struct machine *m, uint64_t first, uint32_t count)
{
    struct gnn_err err = {0};
    for (uint64_t i = first; i < first + count; i++) {
        const struct gnn_load load = page(m, i);
        uint32_t accepted;
        must(gnn_reader_submit(m->reader, &load, 1, &accepted, &err), &err);
        assert_int_equal(accepted, 1);
    }
}

static void harvest(const struct machine *m, uint32_t count)
{
    struct gnn_err err = {0};
    uint64_t tags[DEPTH];
    uint32_t got;
    must(gnn_reader_harvest(m->reader, count, count, tags, &got, &err), &err);
    assert_int_equal(got, count);
}

static struct gnn_read_tally tally_of(const struct machine *m)
{
    static struct gnn_read_tally sum;
    sum = (struct gnn_read_tally){.times.count = 0};
    gnn_read_times_take(m->times, &sum);
    return sum;
}

static struct gnn_percentiles taken(const struct machine *m)
{
    const struct gnn_read_tally sum = tally_of(m);
    return gnn_histogram_percentiles(&sum.times);
}

/* ---- through a ring ---- */

static void a_read_alone_takes_what_the_device_takes(void **state)
{
    (void)state;
    struct machine m;
    machine_open(&m, NULL);
    submit(&m, 0, 1);
    harvest(&m, 1);
    struct gnn_percentiles p = taken(&m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.p50_ns, 100 * US);
    assert_int_equal(p.p999_ns, 100 * US);
    assert_int_equal(p.max_ns, 100 * US);
    p = taken(&m); /* begun anew */
    assert_int_equal(p.count, 0);
    assert_true(p.p50_ns == GNN_UNKNOWN);
    assert_true(p.max_ns == GNN_UNKNOWN);
    machine_close(&m);
}

/* A read is timed until its thread looks, not until the device has it. */
static void a_read_lasts_until_it_is_looked_for(void **state)
{
    (void)state;
    struct machine m;
    machine_open(&m, NULL);
    submit(&m, 0, 1);
    gnn_sleep_until(m.world, gnn_now_ns(m.world) + 700 * US, GNN_WAIT_QUEUE);
    harvest(&m, 1);
    assert_int_equal(taken(&m).max_ns, 700 * US + LOOK_NS);
    machine_close(&m);
}

/* Each from its own submission on: 40 us apart, taken all at once when the last is there. */
static void every_read_has_its_own_start(void **state)
{
    (void)state;
    struct machine m;
    machine_open(&m, NULL);
    const uint64_t start_ns = gnn_now_ns(m.world);
    for (uint64_t i = 0; i < 10; i++) {
        gnn_sleep_until(m.world, start_ns + 40 * US * i, GNN_WAIT_QUEUE);
        submit(&m, i, 1);
    }
    gnn_sleep_until(m.world, start_ns + 1000 * US, GNN_WAIT_QUEUE);
    harvest(&m, 10);
    const struct gnn_percentiles p = taken(&m);
    assert_int_equal(p.count, 10);
    assert_int_equal(p.max_ns, 1000 * US + LOOK_NS);
    /* The fifth in rising order took 1000 - 5 * 40 us, the ninth 1000 - 40; a bucket is 1/32 wide. */
    assert_in_range(p.p50_ns, 800 * US, 800 * US * 33 / 32);
    assert_in_range(p.p90_ns, 960 * US, 960 * US * 33 / 32);
    machine_close(&m);
}

/* A repeat is part of the read it repeats: as many times as reads, none of them shorter than a device's answer. */
static void a_repeat_is_no_read_of_its_own(void **state)
{
    (void)state;
    static const struct gnn_fault_plan faults = {.seed = 3, .read_again_probability = 0.4};
    struct machine m;
    machine_open(&m, &faults);
    struct gnn_reader_counters counters;
    struct gnn_err err = {0};
    struct gnn_load loads[PAGES];
    for (uint64_t i = 0; i < PAGES; i++)
        loads[i] = page(&m, i);
    must(gnn_reader_load_all(m.reader, loads, PAGES, NULL, NULL, &err), &err);
    gnn_reader_counters(m.reader, &counters);
    assert_true(counters.repeated_ios > PAGES / 4);
    const struct gnn_percentiles p = taken(&m);
    assert_int_equal(p.count, PAGES);
    assert_true(p.p50_ns >= 100 * US);
    machine_close(&m);
}

/* ---- one at a time ---- */

static void reads_one_at_a_time_are_timed_too(void **state)
{
    (void)state;
    struct machine m;
    struct gnn_err err = {0};
    machine_open(&m, NULL);
    for (uint64_t i = 0; i < 3; i++)
        must(gnn_read_all(m.world, m.file, i * PAGE, m.pages, PAGE, &err), &err);
    const struct gnn_percentiles p = taken(&m);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.p50_ns, 100 * US);
    assert_int_equal(p.max_ns, 100 * US);
    machine_close(&m);
}

/* ---- how large ---- */

/* Fails the test unless so many reads were of the class that ends at most_bytes. */
static void expect_class(const struct gnn_sizes *sizes, uint64_t most_bytes, uint64_t count)
{
    const uint32_t size_class = gnn_size_class(most_bytes);
    assert_int_equal(gnn_size_class_bytes(size_class), most_bytes);
    if (sizes->of_class[size_class] != count)
        fail_msg("%llu reads to %llu bytes, expected %llu", (unsigned long long)sizes->of_class[size_class],
                 (unsigned long long)most_bytes, (unsigned long long)count);
}

/* Of rings and of single reads, each in its class; taken, they are gone. */
static void reads_have_the_size_that_was_asked_for(void **state)
{
    (void)state;
    struct machine m;
    struct gnn_err err = {0};
    machine_open(&m, NULL);
    submit(&m, 0, 7);
    harvest(&m, 7);
    struct gnn_load large = page(&m, 8);
    large.len_bytes = 3 * PAGE;
    uint32_t accepted;
    must(gnn_reader_submit(m.reader, &large, 1, &accepted, &err), &err);
    harvest(&m, 1);
    must(gnn_read_all(m.world, m.file, 0, m.pages, PAGE / 8, &err), &err);
    must(gnn_read_all(m.world, m.file, 0, m.pages, (uint64_t)64 * PAGE, &err), &err);
    must(gnn_read_all(m.world, m.file, 0, m.pages, 0, &err), &err); /* none */
    const struct gnn_read_tally tally = tally_of(&m);
    assert_int_equal(tally.sizes.count, 10);
    assert_int_equal(tally.times.count, 10);
    assert_int_equal(tally.sizes.max_bytes, 64 * PAGE);
    expect_class(&tally.sizes, PAGE / 8, 1);
    expect_class(&tally.sizes, PAGE, 7);
    expect_class(&tally.sizes, 4 * PAGE, 1);
    expect_class(&tally.sizes, 64 * PAGE, 1);
    assert_int_equal(gnn_sizes_quantile(&tally.sizes, 0.5), PAGE);
    assert_int_equal(gnn_sizes_quantile(&tally.sizes, 0.9), 4 * PAGE);
    assert_int_equal(tally_of(&m).sizes.count, 0);
    machine_close(&m);
}

/* Writes two pages of one file and one of another through a ring. */
static void write_through_a_ring(const struct machine *m, struct gnn_file *direct, struct gnn_file *buffered)
{
    struct gnn_err err = {0};
    struct gnn_ring_reads ring;
    const struct gnn_ring_reads_config config = {.ring = {.depth = 4}, .batch_max = 4};
    struct gnn_write writes[] = {
        {.file = direct, .src = m->pages, .len_bytes = PAGE},
        {.file = direct, .offset_bytes = PAGE, .src = m->pages, .len_bytes = PAGE},
        {.file = buffered, .src = m->pages, .len_bytes = PAGE},
    };
    uint64_t tags[4];
    uint32_t got;
    must(gnn_ring_reads_open(m->world, &config, &ring, &err), &err);
    must(gnn_ring_reads_submit_writes(&ring, writes, 3, &err), &err);
    must(gnn_ring_reads_wait(&ring, 3, 3, tags, &got, &err), &err);
    gnn_ring_reads_close(&ring);
}

/* Bytes read and written, what went into the page cache apart, and what was put into a mapping. */
static void bytes_are_counted_both_ways(void **state)
{
    (void)state;
    struct machine m;
    struct gnn_err err = {0};
    struct gnn_file *direct, *buffered;
    machine_open(&m, NULL);
    must(gnn_file_open(m.world, "direct", GNN_OPEN_WRITE | GNN_OPEN_DIRECT, &direct, &err), &err);
    must(gnn_file_open(m.world, "buffered", GNN_OPEN_WRITE, &buffered, &err), &err);
    submit(&m, 0, 3);
    harvest(&m, 3);
    must(gnn_read_all(m.world, m.file, 0, m.pages, (uint64_t)2 * PAGE, &err), &err);
    must(gnn_write_all(m.world, direct, 0, m.pages, (uint64_t)4 * PAGE, &err), &err);
    must(gnn_write_all(m.world, buffered, 0, m.pages, 100, &err), &err);
    must(gnn_write_all(m.world, buffered, 0, m.pages, 0, &err), &err); /* none */
    must(gnn_read_times_note_put(m.world, 64, &err), &err);
    write_through_a_ring(&m, direct, buffered);
    static struct gnn_read_tally twice;
    const struct gnn_read_tally tally = tally_of(&m);
    assert_int_equal(tally.read_bytes, 5 * PAGE);
    assert_int_equal(tally.writes, 5);
    assert_int_equal(tally.write_bytes, 7 * PAGE + 100);
    assert_int_equal(tally.buffered_write_bytes, PAGE + 100);
    assert_int_equal(tally.put_bytes, 64);
    gnn_read_tally_merge(&twice, &tally);
    gnn_read_tally_merge(&twice, &tally);
    assert_int_equal(twice.times.count, 8);
    assert_int_equal(twice.sizes.count, 8);
    assert_int_equal(twice.read_bytes, 10 * PAGE);
    assert_int_equal(twice.writes, 10);
    assert_int_equal(twice.write_bytes, 14 * PAGE + 200);
    assert_int_equal(twice.buffered_write_bytes, 2 * PAGE + 200);
    assert_int_equal(twice.put_bytes, 128);
    const struct gnn_read_tally gone = tally_of(&m);
    assert_int_equal(gone.read_bytes + gone.writes + gone.write_bytes + gone.buffered_write_bytes + gone.put_bytes, 0);
    gnn_file_close(m.world, direct);
    gnn_file_close(m.world, buffered);
    machine_close(&m);
}

/* What comes in pieces was asked for once, as a whole: by a ring and one at a time. */
static void short_reads_are_one_request(void **state)
{
    (void)state;
    static const struct gnn_fault_plan faults = {.seed = 5, .read_short_probability = 0.5};
    struct machine m;
    struct gnn_err err = {0};
    struct gnn_load loads[DEPTH];
    struct gnn_reader_counters counters;
    machine_open(&m, &faults);
    for (uint64_t i = 0; i < DEPTH; i++) {
        loads[i] = page(&m, 4 * i);
        loads[i].len_bytes = 4 * PAGE;
    }
    must(gnn_reader_load_all(m.reader, loads, DEPTH, NULL, NULL, &err), &err);
    gnn_reader_counters(m.reader, &counters);
    assert_true(counters.repeated_ios > 0);
    for (uint64_t i = 0; i < DEPTH; i++)
        must(gnn_read_all(m.world, m.file, 4 * i * PAGE, m.pages, (uint64_t)2 * PAGE, &err), &err);
    const struct gnn_read_tally tally = tally_of(&m);
    assert_int_equal(tally.sizes.count, 2 * DEPTH);
    expect_class(&tally.sizes, 4 * PAGE, DEPTH);
    expect_class(&tally.sizes, 2 * PAGE, DEPTH);
    machine_close(&m);
}

enum { READERS = 8, READS_EACH = 50 };

struct alone {
    struct machine *m;
    uint32_t index;
};

/* Reads pages one at a time: reader i those of its own size. */
static void read_alone(void *ctx)
{
    const struct alone *const a = ctx;
    struct gnn_err err = {0};
    const uint64_t len_bytes = (uint64_t)PAGE << (a->index % 4);
    for (uint64_t i = 0; i < READS_EACH; i++)
        must(gnn_read_all(a->m->world, a->m->file, i * len_bytes % ((uint64_t)PAGES * PAGE / 2), a->m->pages, len_bytes,
                          &err),
             &err);
}

/* Threads that read side by side lose none of each other's. */
static void readers_side_by_side_are_all_counted(void **state)
{
    (void)state;
    struct machine m;
    struct gnn_err err = {0};
    struct alone readers[READERS];
    struct gnn_thread *threads[READERS];
    machine_open(&m, NULL);
    for (uint32_t i = 0; i < READERS; i++) {
        readers[i] = (struct alone){&m, i};
        must(gnn_thread_start(m.world, "reader", read_alone, &readers[i], &threads[i], &err), &err);
    }
    for (uint32_t i = 0; i < READERS; i++)
        gnn_thread_join(m.world, threads[i]);
    const struct gnn_read_tally tally = tally_of(&m);
    assert_int_equal(tally.sizes.count, READERS * READS_EACH);
    for (uint32_t i = 0; i < 4; i++)
        expect_class(&tally.sizes, (uint64_t)PAGE << i, READERS / 4 * READS_EACH);
    machine_close(&m);
}

/* ---- the collector ---- */

static void histograms_are_lent_to_one_at_a_time(void **state)
{
    (void)state;
    struct machine m;
    struct gnn_err err = {0};
    struct gnn_read_tally *a, *b, *again;
    machine_open(&m, NULL);
    must(gnn_read_times_join(m.world, &a, &err), &err);
    must(gnn_read_times_join(m.world, &b, &err), &err);
    assert_ptr_not_equal(a, b);
    gnn_histogram_add(&a->times, 5);
    gnn_read_times_leave(a);
    must(gnn_read_times_join(m.world, &again, &err), &err);
    assert_ptr_equal(again, a); /* and what is in it stays: it is taken later */
    gnn_histogram_add(&again->times, 7);
    gnn_histogram_add(&b->times, 6);
    const struct gnn_percentiles p = taken(&m);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.p50_ns, 6);
    assert_int_equal(p.max_ns, 7);
    gnn_read_times_leave(again);
    gnn_read_times_leave(b);
    machine_close(&m);
}

static void a_world_without_a_collector_times_nothing(void **state)
{
    (void)state;
    struct machine m;
    struct gnn_err err = {0};
    struct gnn_read_tally *none;
    machine_open(&m, NULL);
    m.world->read_times = NULL;
    must(gnn_read_times_join(m.world, &none, &err), &err);
    assert_null(none);
    gnn_read_times_leave(none);
    must(gnn_read_all(m.world, m.file, 0, m.pages, PAGE, &err), &err);
    assert_int_equal(taken(&m).count, 0);
    machine_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_alone_takes_what_the_device_takes),
        cmocka_unit_test(a_read_lasts_until_it_is_looked_for),
        cmocka_unit_test(every_read_has_its_own_start),
        cmocka_unit_test(a_repeat_is_no_read_of_its_own),
        cmocka_unit_test(reads_one_at_a_time_are_timed_too),
        cmocka_unit_test(reads_have_the_size_that_was_asked_for),
        cmocka_unit_test(bytes_are_counted_both_ways),
        cmocka_unit_test(short_reads_are_one_request),
        cmocka_unit_test(readers_side_by_side_are_all_counted),
        cmocka_unit_test(histograms_are_lent_to_one_at_a_time),
        cmocka_unit_test(a_world_without_a_collector_times_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
