/* SPDX-License-Identifier: MIT */
/* PyG+, GNNDrive, Ginex, RingSampler, AGNES, DiskGNN, MariusGNN, presort and GraphBolt on storage and memory that fail:
 * a clean first error, nothing leaked or left pinned, no hang, and the next epoch right again; slow, short and repeated
 * reads change nothing but time (docs/invariants.md, GNNDrive: 1, 5; run under the address and thread sanitizers too).
 * Every case in both worlds: the simulated one has no values to compare, and ends in a report where the measured one
 * would hang. */
#include "tests/support/fixture.h"
#include "tests/support/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRAIN = 90 };

static const struct train_graph_config usual = {
    .nodes = 700, .mean_degree = 6, .dim = 100, .classes = 4, .train = TRAIN, .seed = 5};

static const char *const buffered[] = {"io=buffered", "batch_nodes=220", NULL};
static const char *const direct[] = {"io=direct", "batch_nodes=220", NULL};
static const char *const shallow[] = {"io=buffered", "batch_nodes=220", "extractors=3",
                                      "depth=2",     "in_order=true",   NULL};
static const char *const serial[] = {"io=buffered", "batch_nodes=220", "serial_extract=true", NULL};
static const char *const staging[] = {"io=buffered", "batch_nodes=220", "extractors=3", "staging=17", NULL};
static const char *const workers[] = {"workers=3", "gather_threads=3", NULL};

static const char *const ginex_buffered[] = {"io=buffered", "superbatch=4", "feature_cache=40K", NULL};
static const char *const ginex_direct[] = {"superbatch=3",   "feature_cache=40K", "neighbour_cache=8K",
                                           "trace_block=8K", "fill=direct",       NULL};

/* Its own reads of the edge file: test_ringsampler_faults.c. */
static const char *const ring_buffered[] = {"io=mapped", "feature_io=buffered", "threads=3", NULL};
static const char *const ring_direct[] = {"io=mapped", "extract_depth=5", "prefetch=1", NULL};

static const char *const agnes_buffered[] = {"io=buffered", "block=4K",         "hyperbatch=4",
                                             "workers=3",   "feature_cache=4K", NULL};
static const char *const agnes_direct[] = {"block=4K",        "hyperbatch=3",    "layout=input",
                                           "spill=async",     "overlap=epochs",  "depth=2",
                                           "graph_buffer=8K", "feature_cache=1", NULL};

static const char *const diskgnn_buffered[] = {"io=buffered",   "segment=4",    "disk_rows=60", "rings=2", "samplers=2",
                                               "cache_ratio=5", "partitions=3", "checkpoint=1", NULL};
static const char *const diskgnn_direct[] = {
    "segment=3", "disk_rows=300",    "rings=2", "ring_entries=3",     "chunk_request=4K",
    "submit=2",  "table_stage=true", "queue=1", "packing=individual", NULL};
static const char *const presort_buffered[] = {
    "io=buffered", "row_memory=1", "hyperbatch=4", "block=4K", "window=2", "topology=mapped", NULL};
static const char *const presort_direct[] = {"row_memory=1", "classes=sorted", "block=8K",      "sweep_read=4K",
                                             "depth=2",      "write_depth=1",  "sweep_depth=1", NULL};
static const char *const presort_hot[] = {"io=buffered", "row_memory=1",    "classes=sorted", "hyperbatch=2",
                                          "block=4K",    "random_read=64K", "hot=run",        NULL};
static const char *const presort_reuse[] = {
    "io=buffered", "row_memory=1", "classes=sorted", "hyperbatch=2", "block=4K", "reuse=2", NULL};
static const char *const presort_swept[] = {"io=buffered", "row_memory=1",   "hyperbatch=4",   "block=4K",
                                            "window=2",    "topology=swept", "round_memory=1", NULL};
static const char *const presort_swept_direct[] = {"row_memory=1",   "classes=sorted", "block=8K", "depth=2",
                                                   "topology=swept", "merge=4K",       NULL};
/* Part of what is drawn has room on the tape. */
static const char *const presort_swept_part[] = {"io=buffered",    "row_memory=1",     "hyperbatch=3",     "block=4K",
                                                 "topology=swept", "round_memory=16K", "write_budget=60K", NULL};
static const char *const diskgnn_sequence[] = {"io=buffered", "pipeline=false", "assembly=kernel", NULL};
static const char *const marius_buffered[] = {"io=buffered", "partitions=30", "capacity=9", "loaders=3", NULL};
static const char *const marius_replace[] = {"io=buffered",    "partitions=15", "capacity=6", "loaders=2",
                                             "policy=replace", "keep=false",    NULL};
static const char *const marius_direct[] = {"partitions=15", "capacity=6",     "policy=replace",
                                            "depth=2",       "prefetch=false", NULL};

static const char *const graphbolt_buffered[] = {"io=buffered", "cache=8K", "rings=2", "group=5", NULL};
static const char *const graphbolt_direct[] = {"cache=8K", "policy=s3-fifo", "rings=3", "group=3", "parts=2", NULL};
static const char *const graphbolt_gpu[] = {"io=buffered", "cache=8K", "gpu_cache=4K", "rings=2", "group=5", NULL};

static const struct system_case {
    const char *system;
    const char *const *options;
    bool direct, device;
} systems[] = {
    {"pygplus", workers, false, false},
    {"gnndrive", buffered, false, false},
    {"gnndrive", direct, true, false},
    {"gnndrive", shallow, false, false},
    {"gnndrive", serial, false, false},
    {"pygplus", workers, false, true},
    {"gnndrive", buffered, false, true},
    {"gnndrive", staging, false, true},
    {"ginex", ginex_buffered, false, false},
    {"ginex", ginex_direct, true, false},
    {"ginex", ginex_buffered, false, true},
    {"ringsampler", ring_buffered, false, false},
    {"ringsampler", ring_direct, true, false},
    {"ringsampler", ring_buffered, false, true},
    {"agnes", agnes_buffered, false, false},
    {"agnes", agnes_direct, true, false},
    {"agnes", agnes_buffered, false, true},
    {"diskgnn", diskgnn_buffered, false, false},
    {"diskgnn", diskgnn_direct, true, false},
    {"diskgnn", diskgnn_buffered, false, true},
    {"diskgnn", diskgnn_sequence, false, true},
    {"mariusgnn", marius_buffered, false, false},
    {"mariusgnn", marius_replace, false, false},
    {"mariusgnn", marius_direct, true, false},
    {"mariusgnn", marius_buffered, false, true},
    {"presort", presort_buffered, false, false},
    {"presort", presort_direct, true, false},
    {"presort", presort_buffered, false, true},
    {"presort", presort_hot, false, false},
    {"presort", presort_reuse, false, false},
    {"presort", presort_swept, false, false},
    {"presort", presort_swept_direct, true, false},
    {"presort", presort_swept, false, true},
    {"presort", presort_swept_part, false, false},
    {"graphbolt", graphbolt_buffered, false, false},
    {"graphbolt", graphbolt_direct, true, false},
    {"graphbolt", graphbolt_buffered, false, true},
    {"graphbolt", graphbolt_gpu, false, true},
};
enum { SYSTEMS = sizeof systems / sizeof *systems };

enum in_world { MEASURED, SIMULATED };

static void open_in(enum in_world kind, struct fixture *f, const struct gnn_fault_plan *plan)
{
    fixture_open(f, .graph = &usual, .simulated = kind == SIMULATED, .faults = plan);
}

static bool left_out(const struct fixture *f, const struct system_case *c)
{
    return c->direct && !f->direct;
}

static void init_run(struct train_run *run, const struct fixture *f, const struct system_case *c)
{
    train_run_init(run, f->world, c->system);
    run->options = c->options;
    run->device = c->device;
    run->check_rows = !f->config.simulated;
    run->modelled = f->config.simulated ? &f->profile : NULL;
    run->workload.batch_size = 9;
}

static void expect_good_epoch(struct train_run *run, uint64_t epoch)
{
    must_run(train_run_epoch(run, epoch), run);
    assert_int_equal(run->wrong_values, 0);
    train_run_each_seed_once(run);
    const bool in_order = run->options == workers || run->options == shallow || strcmp(run->system, "ginex") == 0 ||
                          strcmp(run->system, "ringsampler") == 0 || strcmp(run->system, "agnes") == 0 ||
                          strcmp(run->system, "mariusgnn") == 0 || strcmp(run->system, "presort") == 0 ||
                          strcmp(run->system, "graphbolt") == 0;
    for (uint32_t k = 0; in_order && k < run->step_count; k++)
        assert_int_equal(run->order[k], k);
}

/* The n-th read fails once. Whoever meets it stops everybody; afterwards the same state trains a whole epoch. */
static void test_a_failed_read_ends_the_epoch_and_nothing_else(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    static const uint64_t at[] = {1, 2, 3, 7, 20, 45, 60, 150, 800};
    for (size_t s = 0; s < SYSTEMS; s++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            struct fixture f;
            open_in(kind, &f, &(struct gnn_fault_plan){.seed = 1, .read_eio_at = at[i]});
            if (!left_out(&f, &systems[s])) {
                struct train_run run;
                init_run(&run, &f, &systems[s]);
                const enum gnn_status opened = train_run_open(&run, &f.graph);
                const enum gnn_status status = opened == GNN_OK ? train_run_epoch(&run, 0) : opened;
                struct gnn_fault_counts counts;
                gnn_world_faulty_counts(f.world, &counts);
                assert_int_equal(status, counts.eio > 0 ? GNN_EIO : GNN_OK);
                assert_true(status == GNN_OK || strlen(run.err.message) > 0);
                assert_true(counts.eio == 1 || counts.reads < at[i]);
                if (opened == GNN_OK && counts.eio > 0)
                    expect_good_epoch(&run, 1);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

static void test_many_failures_at_once(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    for (size_t s = 0; s < SYSTEMS; s++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct fixture f;
            open_in(kind, &f,
                    &(struct gnn_fault_plan){.seed = seed,
                                             .read_eio_probability = 0.3,
                                             .read_slow_probability = 0.3,
                                             .slow_ns = 300000,
                                             .shuffle = true});
            if (!left_out(&f, &systems[s])) {
                struct train_run run;
                init_run(&run, &f, &systems[s]);
                enum gnn_status status = train_run_open(&run, &f.graph);
                for (uint64_t epoch = 0; status == GNN_OK && epoch < 3; epoch++) {
                    assert_int_equal(train_run_epoch(&run, epoch), GNN_EIO);
                    assert_int_equal(run.wrong_values, 0); /* what was trained before the error was right */
                }
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

/* Delays, short reads, EAGAIN and EINTR, completions out of order: rows stay right, nothing is loaded twice. */
static void test_slow_and_short_reads_change_nothing(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    static const struct gnn_fault_plan plans[] = {
        {.seed = 3, .read_slow_probability = 0.2, .slow_ns = 400000, .shuffle = true},
        {.seed = 4, .read_short_probability = 0.4},
        {.seed = 5, .read_again_probability = 0.4},
        {.seed = 6,
         .read_short_probability = 0.2,
         .read_again_probability = 0.2,
         .read_slow_probability = 0.1,
         .slow_ns = 400000,
         .shuffle = true},
    };
    for (size_t s = 0; s < SYSTEMS; s++)
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
            struct fixture f;
            open_in(kind, &f, &plans[i]);
            if (!left_out(&f, &systems[s])) {
                struct train_run run;
                init_run(&run, &f, &systems[s]);
                must_run(train_run_open(&run, &f.graph), &run);
                expect_good_epoch(&run, 0);
                expect_good_epoch(&run, 1);
                const struct gnn_counters *n = &run.result.counters;
                if (n->cache_misses != GNN_UNKNOWN)
                    assert_int_equal(n->cache_hits + n->cache_misses, n->sample.sampled_nodes);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

/* Whether the case reads one of its files through a mapping too: the world sees that, no counter of the system does. */
static bool maps(const struct system_case *c)
{
    return strcmp(c->system, "gnndrive") == 0 || c->options == ginex_buffered || c->options == presort_buffered;
}

/* What an epoch says it asked of storage is what arrived there. */
static void test_every_read_is_counted(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    for (size_t s = 0; s < SYSTEMS; s++) {
        struct fixture f;
        open_in(kind, &f, &(struct gnn_fault_plan){.seed = 1});
        if (!left_out(&f, &systems[s])) {
            struct train_run run;
            struct gnn_fault_counts before, after;
            init_run(&run, &f, &systems[s]);
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                gnn_world_faulty_counts(f.world, &before);
                must_run(train_run_epoch(&run, epoch), &run);
                gnn_world_faulty_counts(f.world, &after);
                const uint64_t asked = run.result.counters.requested_ios, reads = after.reads - before.reads;
                if (asked != GNN_UNKNOWN && (maps(&systems[s]) ? asked >= reads : asked != reads))
                    fail_msg("%s (case %zu), epoch %lu: %lu reads, counted %lu", run.system, s, (unsigned long)epoch,
                             (unsigned long)reads, (unsigned long)asked);
            }
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

/* Every allocation in turn fails. */
static void test_every_failed_allocation_is_reported_and_undone(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    for (size_t s = 0; s < SYSTEMS; s++) {
        uint64_t at = 1;
        for (bool refused = true; refused; at++) {
            struct fixture f;
            open_in(kind, &f, &(struct gnn_fault_plan){.seed = 1, .alloc_fail_at = at});
            refused = false;
            if (!left_out(&f, &systems[s])) {
                struct train_run run;
                init_run(&run, &f, &systems[s]);
                run.workload.max_batches = 3;
                enum gnn_status status = train_run_open(&run, &f.graph);
                if (status == GNN_OK)
                    status = train_run_epoch(&run, 0);
                struct gnn_fault_counts counts;
                gnn_world_faulty_counts(f.world, &counts);
                refused = counts.allocs_refused > 0;
                assert_int_equal(status, refused ? GNN_ENOMEM : GNN_OK);
                assert_null(strstr(run.err.message, ": : ")); /* the memory has a name */
                assert_int_equal(run.wrong_values, 0);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
        print_message("%s: %lu allocations\n", systems[s].system, (unsigned long)(at - 2));
    }
}

static bool writes(const struct system_case *c)
{
    return strcmp(c->system, "ginex") == 0 || strcmp(c->system, "diskgnn") == 0 || strcmp(c->system, "mariusgnn") == 0;
}

/* Traces and what is prepared need room. Whenever it ends, the run says so in one message that names the remedy. */
static void test_a_full_disk_ends_the_run(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    for (size_t s = 0; s < SYSTEMS; s++) {
        if (!writes(&systems[s]))
            continue;
        bool whole = false;
        for (uint64_t bytes = 0; !whole; bytes += 12000 + bytes / 2) {
            struct fixture f;
            open_in(kind, &f,
                    &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = bytes});
            if (left_out(&f, &systems[s])) {
                whole = true;
            } else {
                struct train_run run;
                init_run(&run, &f, &systems[s]);
                enum gnn_status status = train_run_open(&run, &f.graph);
                if (status == GNN_OK)
                    status = train_run_epoch(&run, 0);
                whole = status == GNN_OK;
                assert_true(whole || status == GNN_ENOSPC);
                assert_true(whole || strstr(run.err.message, "free some space") != NULL);
                assert_int_equal(run.wrong_values, 0);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
    }
}

static void test_a_cut_feature_file_is_refused(void **state)
{
    const enum in_world kind = *(const enum in_world *)*state;
    for (size_t s = 0; s < SYSTEMS; s++) {
        struct fixture f;
        open_in(kind, &f, &(struct gnn_fault_plan){.seed = 1});
        if (!left_out(&f, &systems[s])) {
            struct train_run run;
            assert_int_equal(truncate(f.graph.dataset.features_path, 100000), 0);
            init_run(&run, &f, &systems[s]);
            enum gnn_status status = train_run_open(&run, &f.graph);
            if (status == GNN_OK)
                status = train_run_epoch(&run, 0);
            if (status != GNN_EFORMAT || strstr(run.err.message, "features-d100") == NULL)
                fail_msg("%s (case %zu): status %d, %s", systems[s].system, s, status, run.err.message);
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

#define IN(world, test) cmocka_unit_test_prestate(test, (void *)(uintptr_t)&worlds[world])
#define IN_BOTH(test) IN(MEASURED, test), IN(SIMULATED, test)

int main(void)
{
    static const enum in_world worlds[] = {[MEASURED] = MEASURED, [SIMULATED] = SIMULATED};
    const struct CMUnitTest tests[] = {
        IN_BOTH(test_a_failed_read_ends_the_epoch_and_nothing_else),
        IN_BOTH(test_many_failures_at_once),
        IN_BOTH(test_slow_and_short_reads_change_nothing),
        IN_BOTH(test_every_read_is_counted),
        IN_BOTH(test_every_failed_allocation_is_reported_and_undone),
        IN_BOTH(test_a_full_disk_ends_the_run),
        IN_BOTH(test_a_cut_feature_file_is_refused),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
