/* SPDX-License-Identifier: MIT */
/* The rows that a batch is trained on are the file's, whatever the row size, the alignment, the engine and the buffers;
 * each is read as often as the system says, and what goes to a device ahead goes in the system's own lanes. */
#include "tests/differential/systems.h"
#include "tests/support/device_tensor.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- every row of every batch at the moment of training ---- */

static void check_rows_of(struct gnn_world *world, const struct train_graph *graph, const char *system,
                          const char *const *options)
{
    struct train_run run;
    train_run_init(&run, world, system);
    run.options = options;
    run.check_rows = true;
    must_run(train_run_open(&run, graph), &run);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        assert_int_equal(run.step_count, BATCHES);
        train_run_each_seed_once(&run);
    }
    train_run_close(&run);
}

/* What direct reads of the features are to be aligned to in this world; 0: there are none. */
static uint32_t direct_align(struct gnn_world *world, const struct train_graph *graph)
{
    struct gnn_file_info info = {.offset_align_bytes = 0};
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    if (gnn_file_open(world, graph->dataset.features_path, GNN_OPEN_DIRECT, &file, &err) == GNN_OK)
        gnn_file_info(world, file, &info);
    gnn_file_close(world, file);
    return info.offset_align_bytes;
}

static void test_rows_are_the_files_rows(void **state)
{
    (void)state;
    static const uint32_t dims[] = {1, 64, 127, 128, 768};
    static const uint32_t aligns[] = {0, 512, 4096};
    const char *const *const variants[] = {
        OPTIONS("io=direct"),
        OPTIONS("io=direct", "batch_nodes=290", "extractors=3"),
        OPTIONS("io=direct", "joint=false", "batch_nodes=290"),
        OPTIONS("io=direct", "serial_extract=true", "valid=batch"),
        OPTIONS("io=direct", "lock_submit=true", "depth=4"),
    };
    const char *const *const ginex[] = {
        OPTIONS("superbatch=3", "gather_threads=3"),
        OPTIONS("superbatch=5", "fill=direct", "trace_block=8K", "gather_threads=2"),
        OPTIONS("io_unit=16K", "neighbour_block=64K", "replacement=lru", "gather_threads=3"),
    };
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        struct train_graph_config config = usual;
        struct fixture f; /* its graph, with what systems prepared beside it, is read in three worlds */
        config.dim = dims[i];
        fixture_open(&f, .graph = &config);
        const uint32_t own_align = direct_align(f.world, &f.graph);
        for (size_t a = 0; a < sizeof aligns / sizeof *aligns; a++) {
            if (aligns[a] > 0 && aligns[a] <= own_align)
                continue; /* what this machine asks for: done */
            struct fixture aligned;
            fixture_open(&aligned, .measured.force_align_bytes = aligns[a]);
            struct gnn_world *const world = aligned.world;
            check_rows_of(world, &f.graph, "pygplus", OPTIONS("workers=2"));
            check_rows_of(world, &f.graph, "pygplus", OPTIONS("workers=2", "transfer=ahead"));
            check_rows_of(world, &f.graph, "gnndrive", OPTIONS("io=buffered", "batch_nodes=290"));
            for (size_t v = 0; f.direct && v < sizeof variants / sizeof *variants; v++)
                check_rows_of(world, &f.graph, "gnndrive", variants[v]);
            check_rows_of(world, &f.graph, "ginex", OPTIONS("io=buffered", "superbatch=3", "gather_threads=3"));
            check_rows_of(world, &f.graph, "ginex",
                          OPTIONS("io=buffered", "superbatch=3", "gather_threads=3", "transfer=ahead"));
            for (size_t v = 0; f.direct && v < sizeof ginex / sizeof *ginex; v++)
                check_rows_of(world, &f.graph, "ginex", ginex[v]);
            check_rows_of(world, &f.graph, "ringsampler", OPTIONS("io=buffered", "feature_io=buffered"));
            check_rows_of(world, &f.graph, "agnes", OPTIONS("io=buffered", "hyperbatch=3", "feature_cache=1"));
            check_rows_of(world, &f.graph, "diskgnn", OPTIONS("io=buffered", "segment=3", "disk_rows=50", "page=512"));
            check_rows_of(world, &f.graph, "presort", OPTIONS("io=buffered", "row_memory=1", "hyperbatch=3"));
            check_rows_of(world, &f.graph, "presort",
                          OPTIONS("io=buffered", "row_memory=1", "classes=sorted", "hyperbatch=2", "hot=run"));
            check_rows_of(world, &f.graph, "presort",
                          OPTIONS("io=buffered", "row_memory=1", "hyperbatch=2", "classes=sorted", "reuse=2"));
            check_rows_of(world, &f.graph, "presort",
                          OPTIONS("io=buffered", "row_memory=1", "hyperbatch=2", "topology=swept", "round_memory=1"));
            check_rows_of(world, &f.graph, "graphbolt", OPTIONS("io=buffered", "cache=1", "rings=2", "group=3"));
            check_rows_of(world, &f.graph, "graphbolt", OPTIONS("io=buffered", "cache=20K", "policy=s3-fifo"));
            check_rows_of(world, &f.graph, "mariusgnn", OPTIONS("io=buffered", "partitions=7", "capacity=4"));
            if (f.direct) {
                check_rows_of(world, &f.graph, "presort", OPTIONS("row_memory=1", "classes=direct", "depth=3"));
                check_rows_of(world, &f.graph, "presort",
                              OPTIONS("row_memory=1", "classes=sorted", "block=16K", "sweep_read=4K", "window=1"));
                check_rows_of(world, &f.graph, "presort",
                              OPTIONS("row_memory=1", "classes=sorted", "hyperbatch=2", "hot=run", "random_read=64K"));
                check_rows_of(world, &f.graph, "presort",
                              OPTIONS("row_memory=1", "classes=sorted", "hyperbatch=2", "hot=run", "reuse=2"));
                check_rows_of(world, &f.graph, "presort",
                              OPTIONS("row_memory=1", "topology=swept", "hyperbatch=3", "merge=4K", "depth=2"));
                check_rows_of(world, &f.graph, "graphbolt", OPTIONS("cache=10K", "rings=3", "group=5", "policy=lru"));
                check_rows_of(world, &f.graph, "graphbolt", OPTIONS("cache=30K", "block=8K", "in_flight=9", "parts=5"));
                check_rows_of(world, &f.graph, "mariusgnn", OPTIONS("partitions=15", "capacity=5", "edges=in"));
                check_rows_of(world, &f.graph, "diskgnn", OPTIONS("chunk_request=4K", "pipeline=false"));
                check_rows_of(world, &f.graph, "diskgnn",
                              OPTIONS("segment=4", "disk_rows=100", "rings=2", "ring_entries=3", "table_stage=true"));
                check_rows_of(world, &f.graph, "agnes", OPTIONS("block=4K", "hyperbatch=3", "feature_cache=20K"));
                check_rows_of(world, &f.graph, "agnes",
                              OPTIONS("block=4K", "layout=input", "feature_cache=1", "spill=async"));
                check_rows_of(world, &f.graph, "ringsampler", OPTIONS("io=direct", "ring=16", "extract_depth=3"));
                check_rows_of(world, &f.graph, "ringsampler", OPTIONS("io=sorted", "threads=3", "cache=4K"));
            }
            fixture_close(&aligned);
        }
        fixture_close(&f);
    }
}

static void test_both_engines_read_the_same_rows(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    train_run_init(&run, f.world, "gnndrive");
    run.options = OPTIONS("io=buffered");
    run.io_engine = GNN_RING_POOL;
    run.check_rows = true;
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.wrong_values, 0);
    train_run_close(&run);
    fixture_close(&f);
}

static void test_rows_on_a_device_are_the_files_rows(void **state)
{
    (void)state;
    static const uint32_t dims[] = {1, 32, 100, 128, 768};
    const char *const *const variants[] = {
        OPTIONS("io=direct"),
        OPTIONS("io=direct", "batch_nodes=290", "extractors=3", "staging=40"),
        OPTIONS("io=direct", "joint=false", "batch_nodes=290"),
        OPTIONS("io=direct", "lock_submit=true", "depth=4", "staging=3"),
        OPTIONS("io=buffered", "batch_nodes=290"),
    };
    enum { BUFFERED = 4 };
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        struct train_graph_config config = usual;
        struct fixture f;
        config.dim = dims[i];
        fixture_open(&f, .graph = &config);
        for (size_t v = f.direct ? 0 : BUFFERED; v < sizeof variants / sizeof *variants; v++) {
            struct train_run run;
            train_run_init(&run, f.world, "gnndrive");
            run.options = variants[v];
            run.device = run.check_rows = true;
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.wrong_values, 0);
                train_run_each_seed_once(&run);
            }
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

/* ---- lanes ---- */

/* Lanes that lists were staged in, and that rows were copied in: a bit each. */
static atomic_uint staged_in, copied_in;

static enum gnn_status note_stage(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                  const struct gnn_batch_lists *lists, struct gnn_err *err)
{
    atomic_fetch_or(&staged_in, 1U << lane);
    return device_tensor.resident_stage(t, room, lane, lists, err);
}

static void note_upload(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    atomic_fetch_or(&copied_in, 1U << lane);
    device_tensor.upload_async(t, lane, dst, host_src, bytes);
}

static void note_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                      const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    atomic_fetch_or(&copied_in, 1U << lane);
    device_tensor.upload_rows(t, lane, table, to, host_rows, from, count, row_bytes);
}

/* One thread at a time uses a lane, and memory is planned for so many: each stager has its own and no other is used. */
static void test_copies_ahead_keep_to_their_lanes(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        unsigned staging, copying; /* lanes that may be used, a bit each */
    } cases[] = {
        {"pygplus", OPTIONS("transfer=ahead"), 1, 1},
        {"ginex", OPTIONS("transfer=ahead", "io=buffered"), 1, 1},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2"), 3, 3},
        {"ringsampler", OPTIONS("transfer=ahead", "feature_io=buffered"), 1, 1},
        {"agnes", OPTIONS("transfer=ahead", "io=buffered", "block=4K"), 1, 1},
        {"diskgnn", OPTIONS("transfer=ahead", "io=buffered"), 2, 1}, /* the lists' is not the rows' */
        {"mariusgnn", OPTIONS("transfer=ahead", "io=buffered", "loaders=2", "partitions=8"), 3, 3},
        {"presort", OPTIONS("transfer=ahead", "io=buffered", "threads=2"), 3, 3},
        {"graphbolt", OPTIONS("io=buffered", "gpu_cache=4K", "cache=10K"), 1, 1},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        train_run_init(&run, f.world, cases[c].system);
        run.options = cases[c].options;
        run.device = run.check_rows = true;
        must_run(train_run_open(&run, &f.graph), &run);
        run.ops.resident_stage = note_stage;
        run.ops.upload_async = note_upload;
        run.ops.upload_rows = note_rows;
        atomic_store(&staged_in, 0);
        atomic_store(&copied_in, 0);
        must_run(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.wrong_values, 0);
        const unsigned staged = atomic_load(&staged_in), copied = atomic_load(&copied_in);
        if (staged == 0 || copied == 0 || (staged & ~cases[c].staging) != 0 || (copied & ~cases[c].copying) != 0)
            fail_msg("%s staged in lanes %x and copied in %x, expected %x and %x", run.system, staged, copied,
                     cases[c].staging, cases[c].copying);
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* ---- reads ---- */

static void test_sampling_only_never_opens_the_features(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    assert_int_equal(unlink(f.graph.dataset.features_path), 0);
    static const char *const systems[] = {"pygplus", "gnndrive", "ginex",   "ringsampler",
                                          "agnes",   "diskgnn",  "presort", "graphbolt"};
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++)
        for (int only = 0; only < 2; only++) {
            struct train_run run;
            train_run_init(&run, f.world, systems[s]);
            run.options = s == 2 || s >= 4 ? OPTIONS("io=buffered") : NULL;
            run.workload.sample_only = only;
            const enum gnn_status status = train_run_open(&run, &f.graph);
            assert_int_equal(status, only ? GNN_OK : GNN_ENOENT);
            if (only) {
                must_run(train_run_epoch(&run, 0), &run);
                assert_int_equal(run.result.counters.sample.batches, BATCHES);
                assert_int_equal(run.result.counters.needed_bytes,
                                 run.result.counters.sample.sampled_edges * sizeof(gnn_node));
            }
            train_run_close(&run);
        }
    fixture_close(&f);
}

static uint64_t distinct_needed(const struct train_run *run, uint32_t group)
{
    uint64_t distinct = 0;
    for (uint32_t v = 0; v < run->env.dataset->node_count; v += group) {
        bool any = false;
        for (uint32_t m = v; m < v + group && m < run->env.dataset->node_count; m++)
            any = any || run->needed[m] > 0;
        distinct += any;
    }
    return distinct;
}

static void test_reads_are_the_distinct_absent_groups(void **state)
{
    (void)state;
    const struct {
        uint32_t dim, group, read_bytes;
        const char *const *options;
        bool buffered;
    } cases[] = {
        {128, 1, 512, OPTIONS("slots=900", "extractors=3"), false},
        {32, 4, 512, OPTIONS("slots=900", "extractors=3"), false},
        {128, 1, 512, OPTIONS("slots=900", "io=buffered"), true},
        {100, 1, 0, OPTIONS("slots=900"), false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_graph_config config = usual;
        struct fixture f;
        config.dim = cases[c].dim;
        fixture_open(&f, .graph = &config, .measured.force_align_bytes = 512);
        if (direct_align(f.world, &f.graph) == 512 || cases[c].buffered) {
            struct train_run run;
            train_run_init(&run, f.world, "gnndrive");
            run.options = cases[c].options;
            run.workload.fanout[0] = run.workload.fanout[1] = 2;
            must_run(train_run_open(&run, &f.graph), &run);
            must_run(train_run_epoch(&run, 0), &run);
            const struct gnn_counters *n = &run.result.counters;
            const uint64_t reads = distinct_needed(&run, cases[c].group);
            assert_int_equal(n->cache_misses, reads);
            assert_int_equal(n->requested_ios, reads);
            assert_int_equal(n->cache_hits + n->cache_misses, n->sample.sampled_nodes);
            assert_int_equal(n->cache_evictions, 0);
            const uint64_t joint = train_run_extra(&run, "joint_rows");
            assert_int_equal(n->rows_asked, n->sample.sampled_nodes);
            assert_int_equal(n->rows_read, reads + joint);
            assert_true(cases[c].group == 1 ? joint == 0 : joint > 0);
            assert_int_equal(train_run_extra(&run, "redundant_bytes"),
                             n->requested_bytes - (reads + joint) * cases[c].dim * 4);
            if (cases[c].read_bytes > 0)
                assert_int_equal(n->requested_bytes, reads * cases[c].read_bytes);
            else /* rows of 400 bytes touch one or two sectors */
                assert_in_range(n->requested_bytes, reads * 512, reads * 1024);
            assert_int_equal(n->needed_bytes, n->sample.sampled_edges * 4 + n->sample.sampled_nodes * cases[c].dim * 4);
            must_run(train_run_epoch(&run, 0), &run); /* the same batches again: all there */
            assert_int_equal(run.result.counters.requested_ios, 0);
            assert_int_equal(run.result.counters.cache_misses, 0);
            assert_int_equal(run.result.counters.rows_read, 0);
            train_run_close(&run);
        } else {
            leave_out("case %zu: no direct I/O in sectors of 512 here", c);
        }
        fixture_close(&f);
    }
}

static uint32_t overtaken(const struct train_run *run)
{
    uint32_t count = 0, highest = 0;
    for (uint32_t i = 0; i < run->step_count; i++) {
        count += run->order[i] < highest;
        highest = run->order[i] > highest ? run->order[i] : highest;
    }
    return count;
}

static void test_a_tight_buffer_evicts_and_stays_right(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    train_run_init(&run, f.world, "gnndrive");
    run.options = OPTIONS("io=buffered", "batch_nodes=200", "slots=600", "extractors=3", "samplers=3", "depth=2");
    run.check_rows = true;
    run.workload.batch_size = 10;
    must_run(train_run_open(&run, &f.graph), &run);
    for (uint64_t epoch = 0; epoch < 5; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        train_run_each_seed_once(&run);
        assert_true(run.result.counters.cache_evictions > 0 || epoch == 0);
        assert_int_equal(train_run_extra(&run, "buffer_slots"), 600);
        assert_int_equal(train_run_extra(&run, "overtaken_batches"), overtaken(&run));
    }
    train_run_close(&run);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_the_files_rows),
        cmocka_unit_test(test_both_engines_read_the_same_rows),
        cmocka_unit_test(test_rows_on_a_device_are_the_files_rows),
        cmocka_unit_test(test_copies_ahead_keep_to_their_lanes),
        cmocka_unit_test(test_sampling_only_never_opens_the_features),
        cmocka_unit_test(test_reads_are_the_distinct_absent_groups),
        cmocka_unit_test(test_a_tight_buffer_evicts_and_stays_right),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
