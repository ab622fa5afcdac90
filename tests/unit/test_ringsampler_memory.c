/* SPDX-License-Identifier: MIT */
/* RingSampler's memory (docs/invariants.md, RingSampler 9) by what is really held: the world's memory and the heap
 * together, not the sizes that the system computed for itself. */
#include "tests/support/hang.h"
#include "tests/support/heap_count.h"

#include "tests/support/fixture.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEEDS = 500, FANOUT_1 = 10, FANOUT_2 = 5, NODES = 20000, RING = 512 };

static const struct train_graph_config large = {
    .nodes = NODES, .mean_degree = 8, .dim = 4, .classes = 5, .train = 5000, .seed = 11};

struct held {
    uint64_t bytes;       /* after the last epoch */
    uint64_t grown_bytes; /* from the end of the first epoch to that of the last */
    uint64_t calls;       /* of malloc and free in the last epoch */
};

static uint64_t held_now(const struct fixture *f)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(f->world, &usage);
    return usage.current_bytes + (uint64_t)atomic_load(&heap_bytes);
}

static struct held measure(const struct train_graph_config *graph, const char *const *options, uint32_t max_batches)
{
    struct fixture f;
    struct train_run run;
    struct held held = {.bytes = 0};
    fixture_open(&f, .graph = graph);
    train_run_init(&run, f.world, "ringsampler");
    run.options = options;
    run.workload.sample_only = true;
    run.workload.batch_size = SEEDS;
    run.workload.fanout[0] = FANOUT_1;
    run.workload.fanout[1] = FANOUT_2;
    run.workload.max_batches = max_batches;
    const uint64_t before = held_now(&f);
    must_run(train_run_open(&run, &f.graph), &run);
    const uint64_t own = malloc_usable_size(run.seen) + malloc_usable_size(run.needed) + malloc_usable_size(run.config);
    uint64_t after_first = 0;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        const long calls = atomic_load(&heap_calls);
        must_run(train_run_epoch(&run, epoch), &run);
        held.calls = (uint64_t)(atomic_load(&heap_calls) - calls);
        held.bytes = held_now(&f) - before - own;
        after_first = epoch == 0 ? held.bytes : after_first;
    }
    held.grown_bytes = held.bytes - after_first;
    train_run_close(&run);
    fixture_close(&f);
    return held;
}

/* By hand, of one thread (paper section 3.1): nodes and blocks of a mini-batch at their bounds, a map of its nodes that
 * is half full at most, in a power of two of 8-byte slots, two groups of Q requests, and the kernel's side of a ring of
 * 2 Q. */
static uint64_t thread_bytes(void)
{
    const uint64_t hop_1 = SEEDS * FANOUT_1, known = SEEDS + hop_1, hop_2 = known * FANOUT_2;
    const uint64_t blocks = (SEEDS + 1 + hop_1 + known + 1 + hop_2) * sizeof(uint32_t);
    uint64_t slots = 1;
    while (slots < 2 * NODES)
        slots *= 2;
    const uint64_t requests = UINT64_C(2) * RING * (sizeof(struct gnn_read) + 64), ring = UINT64_C(2) * RING * 100;
    return blocks + NODES * sizeof(gnn_node) + slots * 8 + requests + ring;
}

static void test_what_is_held_is_the_formula(void **state)
{
    (void)state;
    if (!HEAP_COUNT_WORKS)
        skip_test("the heap is the sanitizer's");
    static const char *const threads[] = {"threads=1", "threads=2", "threads=4"};
    struct held held[3];
    for (int i = 0; i < 3; i++) {
        held[i] = measure(&large, OPTIONS("io=buffered", threads[i]), 0);
        const uint64_t formula = (UINT64_C(1) << i) * thread_bytes() + large.train * sizeof(gnn_node);
        print_message("%s: holds %llu bytes, by hand %llu\n", threads[i], (unsigned long long)held[i].bytes,
                      (unsigned long long)formula);
        assert_true((double)held[i].bytes <= 1.05 * (double)formula);
        assert_true(held[i].bytes >= formula / 3); /* the formula says something */
        assert_int_equal(held[i].grown_bytes, 0);
    }
    const double first = (double)(held[1].bytes - held[0].bytes), rest = (double)(held[2].bytes - held[1].bytes);
    assert_true(rest >= 1.95 * first && rest <= 2.05 * first); /* linear in n */
}

static void test_edges_cost_no_memory(void **state)
{
    (void)state;
    if (!HEAP_COUNT_WORKS)
        skip_test("the heap is the sanitizer's");
    struct train_graph_config dense = large;
    dense.mean_degree = 24;
    const struct held few = measure(&large, OPTIONS("io=buffered", "threads=2"), 0);
    const struct held many = measure(&dense, OPTIONS("io=buffered", "threads=2"), 0);
    assert_true((double)many.bytes <= 1.05 * (double)few.bytes);
}

/* An epoch starts threads and has a pipeline; a mini-batch allocates nothing. */
static void test_a_mini_batch_allocates_nothing(void **state)
{
    (void)state;
    if (!HEAP_COUNT_WORKS)
        skip_test("the heap is the sanitizer's");
    static const char *const ways[] = {"io=buffered", "io=mapped", "dedupe=sort", "order=drain-first"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        const char *const *const options = OPTIONS(ways[w], "threads=2");
        const struct held some = measure(&large, options, 4), all = measure(&large, options, 0);
        print_message("%s: %llu calls with 4 batches, %llu with 10\n", ways[w], (unsigned long long)some.calls,
                      (unsigned long long)all.calls);
        assert_int_equal(some.calls, all.calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_held_is_the_formula),
        cmocka_unit_test(test_edges_cost_no_memory),
        cmocka_unit_test(test_a_mini_batch_allocates_nothing),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("RingSampler's memory", tests, NULL, NULL);
}
