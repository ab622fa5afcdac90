/* SPDX-License-Identifier: MIT */
/* The same mini-batches from every system, whatever its options: digests, losses to the bit, the order they are trained
 * in, with memory of the host or of a device. What each system promises stands in docs/invariants.md. */
#include "tests/differential/systems.h"
#include "tests/support/device_tensor.h"
#include "tests/support/hang.h"
#include "tests/support/memory_source.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the same mini-batches ---- */

static void reference_digests(struct gnn_world *world, const struct train_graph *g, const struct gnn_workload *load,
                              struct gnn_sample_counters *out)
{
    struct gnn_err err = {0};
    const struct gnn_sampler_config config = {
        .seed = load->seed, .layers = load->layers, .fanout = {load->fanout[0], load->fanout[1]}};
    gnn_node order[TRAIN];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct gnn_neighbour_source *source;
        struct gnn_sampler *sampler;
        struct gnn_batch *batch;
        assert_int_equal(gnn_source_memory(world, g->indices, g->dataset.edge_count, &source, &err), GNN_OK);
        assert_int_equal(gnn_sampler_open(world, &config, &g->dataset, source, &sampler, &err), GNN_OK);
        assert_int_equal(gnn_batch_open(world, &batch, &err), GNN_OK);
        gnn_epoch_order(load->seed, epoch, g->dataset.train.nodes, TRAIN, order);
        for (uint32_t k = 0; k < BATCHES; k++) {
            const uint32_t left = TRAIN - k * load->batch_size;
            assert_int_equal(gnn_sampler_sample(sampler, epoch, k, order + (size_t)k * load->batch_size,
                                                left < load->batch_size ? left : load->batch_size, batch, &err),
                             GNN_OK);
        }
        gnn_sampler_counters(sampler, &out[epoch]);
        gnn_batch_close(world, batch);
        gnn_sampler_close(sampler);
        gnn_source_close(source);
    }
}

static void test_digests_depend_on_nothing_but_the_workload(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
    } cases[] = {
        {"pygplus", OPTIONS("workers=1", "prefetch=1", "gather_threads=1")},
        {"pygplus", OPTIONS("workers=2")},
        {"pygplus", OPTIONS("workers=5", "prefetch=3", "gather_threads=16", "readahead=off")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=1", "extractors=1")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=3", "extractors=3", "in_order=true")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=4", "extractors=2", "depth=3")},
        {"ringsampler", OPTIONS("io=buffered", "threads=1", "feature_io=buffered")},
        {"ringsampler", OPTIONS("io=buffered-random", "threads=3", "ring=7", "feature_io=buffered")},
        {"ringsampler", OPTIONS("io=mapped", "threads=2", "dedupe=sort", "feature_io=buffered")},
        {"ringsampler",
         OPTIONS("io=buffered", "order=drain-first", "threads=5", "polling=false", "feature_io=buffered")},
        {"ginex", OPTIONS("io=buffered", "samplers=1", "gather_threads=1", "trace_loaders=1")},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "samplers=3", "gather_threads=5")},
        {"ginex", OPTIONS("io=buffered", "superbatch=1", "trace_loaders=2", "cache_neighbours=false")},
        {"ginex", OPTIONS("io=buffered", "superbatch=4", "list_read=cover", "neighbour_cache=12K")},
        {"agnes", OPTIONS("io=buffered", "workers=1")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=1", "graph_buffer=4K", "policy=clock")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "workers=5", "graph_buffer=12K")},
        {"agnes", OPTIONS("io=buffered", "layout=input", "block=4K", "hyperbatch=1024", "id_bytes=8")},
        {"agnes", OPTIONS("io=buffered", "layout=random", "block=8K", "hyperbatch=5", "resident_first=false",
                          "gbuf_keep=true", "graph_buffer=16K")},
        {"agnes", OPTIONS("io=buffered", "layout=degree", "block=4K", "depth=1", "gbuf_keep=true")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=1", "visits=target", "graph_buffer=4K")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "samplers=1")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "samplers=3", "segment=3", "disk_rows=30")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "pipeline=false", "packing=individual")},
        {"presort", OPTIONS("io=buffered")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "topology=mapped", "classes=sorted", "block=4K")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "topology=swept")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "topology=swept", "round_memory=1", "hyperbatch=3")},
        {"graphbolt", OPTIONS("io=buffered", "samplers=1")},
        {"graphbolt", OPTIONS("io=buffered", "samplers=3", "in_flight=1", "cache=10K", "parts=3", "policy=s3-fifo")},
        {"graphbolt", OPTIONS("io=buffered", "samplers=2", "in_flight=7", "cache=4K", "policy=lru")},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int only = 0; only < 2; only++) {
            struct train_run run;
            struct gnn_sample_counters expected[EPOCHS];
            train_run_init(&run, f.world, cases[c].system);
            run.options = cases[c].options;
            run.workload.sample_only = only;
            reference_digests(f.world, &f.graph, &run.workload, expected);
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                assert_memory_equal(&run.result.counters.sample, &expected[epoch], sizeof *expected);
                assert_int_equal(run.step_count, only ? 0 : BATCHES);
            }
            assert_true(expected[0].batch_digest != expected[1].batch_digest);
            train_run_close(&run);
        }
    fixture_close(&f);
}

/* Lists that AGNES cuts into several blocks of 4 KiB (1020 IDs, or half as many) and Ginex reads in several pages:
 * drawn from over their whole length, in one frame as in many. */
static void test_lists_of_many_blocks(void **state)
{
    (void)state;
    static const struct train_graph_config hubs = {.nodes = 6000,
                                                   .mean_degree = 6,
                                                   .dim = 4,
                                                   .classes = 3,
                                                   .train = TRAIN,
                                                   .seed = 31,
                                                   .hub_every = 100,
                                                   .hub_degree = 6000};
    const struct {
        const char *system;
        const char *const *options;
    } cases[] = {
        {"pygplus", OPTIONS("workers=2")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=2")},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "samplers=2", "cache_neighbours=false")},
        {"ringsampler", OPTIONS("io=buffered", "threads=2", "feature_io=buffered")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=1", "graph_buffer=4K")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "graph_buffer=12K", "id_bytes=8")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=8", "layout=random", "graph_buffer=1M")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=5", "resident_first=false", "gbuf_keep=true")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=2", "visits=target", "workers=3")},
    };
    struct fixture f;
    fixture_open(&f, .graph = &hubs);
    uint64_t longest = 0;
    for (uint32_t v = 0; v < hubs.nodes; v++)
        longest = gnn_max_u64(longest, f.graph.dataset.indptr[v + 1] - f.graph.dataset.indptr[v]);
    assert_true(longest > 2 * 1020); /* three blocks */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        struct gnn_sample_counters expected[EPOCHS];
        train_run_init(&run, f.world, cases[c].system);
        run.options = cases[c].options;
        run.workload.sample_only = true;
        reference_digests(f.world, &f.graph, &run.workload, expected);
        must_run(train_run_open(&run, &f.graph), &run);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            assert_memory_equal(&run.result.counters.sample, &expected[epoch], sizeof *expected);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* A system samples exactly, or its table says that its samples are its own. */
static void test_systems_say_whose_samples_they_draw(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++) {
        struct train_run run;
        struct gnn_sample_counters exact[EPOCHS];
        const bool samples = strcmp((*s)->name, "null") != 0;
        train_run_init(&run, f.world, (*s)->name);
        run.options = samples && strcmp((*s)->name, "pygplus") != 0 ? OPTIONS("io=buffered") : NULL;
        run.workload.sample_only = true;
        reference_digests(f.world, &f.graph, &run.workload, exact);
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        const struct gnn_sample_counters *const own = &run.result.counters.sample;
        const bool equal = own->batch_digest == exact[0].batch_digest;
        assert_int_equal(own->batches, exact[0].batches);
        assert_int_equal(samples && equal, samples && ((*s)->variants & GNN_VARIANT_OWN_SAMPLES) == 0);
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_biased_floyd_draws_other_batches(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    uint64_t digest[2];
    for (int biased = 0; biased < 2; biased++) {
        struct train_run run;
        train_run_init(&run, f.world, "pygplus");
        run.options = biased ? OPTIONS("floyd=biased") : OPTIONS("floyd=exact");
        run.workload.sample_only = true;
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        digest[biased] = run.result.counters.sample.batch_digest;
        train_run_close(&run);
    }
    assert_true(digest[0] != digest[1]);
    fixture_close(&f);
}

/* ---- the same losses ---- */

static double sum_of_losses(const struct train_run *run)
{
    double sum = 0;
    for (uint32_t k = 0; k < BATCHES; k++)
        sum += run->loss[k] * (k + 1 < BATCHES ? 20 : 10);
    return sum;
}

/* Every neighbour that was drawn and every row of a mini-batch, whoever read them and from where. */
static uint64_t needed_bytes(const struct train_run *run)
{
    const struct gnn_sample_counters *const sample = &run->result.counters.sample;
    return sample->sampled_edges * run->env.dataset->id_bytes + sample->sampled_nodes * run->env.dataset->row_bytes;
}

static void test_losses_agree_to_the_bit(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
    } cases[] = {
        {"pygplus", OPTIONS("workers=1", "gather_threads=1")},
        {"pygplus", OPTIONS("workers=3", "gather_threads=7")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=1", "extractors=1", "in_order=true")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=3", "extractors=3", "in_order=true")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=2", "extractors=2", "in_order=true", "batch_nodes=300")},
        {"gnndrive", OPTIONS("io=buffered", "samplers=2", "extractors=3", "in_order=true", "serial_extract=true")},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "lock_submit=true", "valid=batch")},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "meta=compact", "depth=1")},
        {"ringsampler", OPTIONS("threads=1", "feature_io=buffered", "prefetch=1")},
        {"ringsampler", OPTIONS("io=mapped", "threads=3", "feature_io=buffered", "extract_depth=3")},
        {"ginex", OPTIONS("io=buffered", "samplers=1", "gather_threads=1", "trace_loaders=1")},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "samplers=3", "gather_threads=7")},
        {"ginex", OPTIONS("io=buffered", "superbatch=2", "trace_loaders=3", "feature_cache=10K")},
        {"ginex", OPTIONS("io=buffered", "superbatch=8", "replacement=lru", "fill=direct")},
        {"ginex", OPTIONS("io=buffered", "superbatch=5", "replacement=static", "initial=score")},
        {"ginex", OPTIONS("io=buffered", "superbatch=4", "overlap=false", "hold_ids=false")},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "overlap_caches=true", "initial=score")},
        {"agnes", OPTIONS("io=buffered", "workers=1", "block=4K", "hyperbatch=1")},
        {"agnes", OPTIONS("io=buffered", "workers=3", "block=4K", "hyperbatch=3", "feature_cache=4K")},
        {"agnes", OPTIONS("io=buffered", "workers=3", "block=4K", "hyperbatch=2", "visits=target", "feature_cache=4K")},
        {"agnes", OPTIONS("io=buffered", "layout=input", "block=4K", "spill=async", "feature_cache=1K")},
        {"agnes",
         OPTIONS("io=buffered", "block=4K", "hyperbatch=2", "overlap=full", "cache_rank=count", "feature_cache=2K")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=2", "first=1", "overlap=epochs", "feature_cache=2K",
                          "spill=async", "gbuf_keep=true")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "samplers=1")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "samplers=4", "segment=3", "disk_rows=30", "rings=3")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "pipeline=false", "assembly=scatter")},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "table_stage=true", "queue=1", "cache_ratio=50")},
        {"presort", OPTIONS("io=buffered")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "hyperbatch=3", "window=1", "classes=sorted", "block=4K")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "list_memory=4K", "topology=mapped", "classes=direct")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "hyperbatch=2", "classes=sorted", "hot=run")},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "list_memory=4K", "topology=swept", "round_memory=1")},
        {"graphbolt", OPTIONS("io=buffered", "cache=20K")},
        {"graphbolt", OPTIONS("io=buffered", "cache=4K", "policy=lru", "rings=3", "group=7", "copy_threads=3")},
        {"graphbolt", OPTIONS("io=buffered", "cache=8K", "policy=clock", "parts=3", "in_flight=9", "samplers=3")},
        {"graphbolt", OPTIONS("io=buffered", "cache=1", "policy=s3-fifo", "in_flight=2")},
    };
    static double expected[EPOCHS][BATCHES];
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++)
        for (int cpu = 0; cpu < 2; cpu++) {
            struct fixture f;
            fixture_open(&f, .graph = &usual);
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                struct train_run run;
                train_run_init(&run, f.world, cases[c].system);
                run.options = cases[c].options;
                run.model_config.kind = (enum gnn_model_kind)kind;
                run.cpu = cpu;
                must_run(train_run_open(&run, &f.graph), &run);
                for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                    must_run(train_run_epoch(&run, epoch), &run);
                    for (uint32_t k = 0; k < BATCHES; k++)
                        assert_int_equal(run.order[k], k);
                    if (c == 0)
                        memcpy(expected[epoch], run.loss, sizeof expected[epoch]);
                    assert_memory_equal(run.loss, expected[epoch], sizeof expected[epoch]);
                    assert_true(fabs(run.result.loss_sum - sum_of_losses(&run)) < 1e-9);
                    train_run_each_seed_once(&run);
                    assert_int_equal(run.result.counters.needed_bytes, needed_bytes(&run));
                }
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

static void test_a_device_of_its_own_changes_no_loss(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        /* Rows and lists reach the device; IN_PLACE: lists ahead, rows are read where they lie. */
        enum { BLOCKING, AHEAD, IN_PLACE, ROW_BY_ROW, JOINED, ROWS_TOGETHER } how;
    } cases[] = {
        {"pygplus", OPTIONS("workers=1", "gather_threads=1"), BLOCKING},
        {"pygplus", OPTIONS("workers=3", "gather_threads=7"), BLOCKING},
        {"pygplus", OPTIONS("workers=1", "gather_threads=1", "transfer=ahead"), AHEAD},
        {"pygplus", OPTIONS("workers=3", "gather_threads=7", "transfer=ahead"), AHEAD},
        {"gnndrive", OPTIONS("io=buffered", "samplers=1", "extractors=1", "in_order=true"), ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "samplers=3", "extractors=3", "in_order=true"), ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "staging=1"), ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "staging=7", "valid=batch"), ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "staging=13", "lock_submit=true"),
         ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "batch_nodes=300", "staging=5"),
         ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "transfer=gather"), ROWS_TOGETHER},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "staging=7", "transfer=gather"),
         ROWS_TOGETHER},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "serial_extract=true"), ROW_BY_ROW},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "coalesce=true", "depth=0"), JOINED},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "coalesce=true", "staging=13"), JOINED},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K"), BLOCKING},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K", "transfer=ahead"), AHEAD},
        {"ginex", OPTIONS("io=buffered", "superbatch=1", "feature_cache=20K", "transfer=ahead"), AHEAD},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K", "transfer=ahead", "overlap=false"),
         AHEAD},
        {"ringsampler", OPTIONS("threads=3", "feature_io=buffered"), AHEAD},
        {"ringsampler", OPTIONS("threads=3", "feature_io=buffered", "transfer=blocking"), BLOCKING},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "feature_cache=4K"), AHEAD},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "feature_cache=4K", "transfer=blocking"),
         BLOCKING},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1"), ROWS_TOGETHER},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "segment=3", "disk_rows=30", "queue=1"), ROWS_TOGETHER},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "assembly=scatter"), AHEAD},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "assembly=kernel"), IN_PLACE},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "assembly=kernel", "transfer=blocking"), BLOCKING},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "classes=sorted", "block=4K"), AHEAD},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "transfer=blocking"), BLOCKING},
        {"presort", OPTIONS("io=buffered", "row_memory=20K", "topology=swept", "round_memory=1"), AHEAD},
        {"graphbolt", OPTIONS("io=buffered", "cache=10K"), ROWS_TOGETHER},
        {"graphbolt", OPTIONS("io=buffered", "cache=10K", "gpu_cache=4K", "policy=s3-fifo", "parts=2"), ROWS_TOGETHER},
        {"graphbolt", OPTIONS("io=buffered", "cache=4K", "gpu_cache=8K", "in_flight=1"), ROWS_TOGETHER},
        {"graphbolt", OPTIONS("io=buffered", "cache=4K", "gpu_cache=1", "in_flight=6"), ROWS_TOGETHER},
    };
    static double expected[EPOCHS][BATCHES];
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++)
        for (size_t c = 0; c <= sizeof cases / sizeof *cases; c++) {
            struct train_run run;
            train_run_init(&run, f.world, c == 0 ? "pygplus" : cases[c - 1].system);
            run.options = c == 0 ? NULL : cases[c - 1].options;
            run.model_config.kind = (enum gnn_model_kind)kind;
            run.device = c > 0;
            run.check_rows = run.model_config.kind == GNN_MODEL_SAGE;
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                if (c == 0)
                    memcpy(expected[epoch], run.loss, sizeof expected[epoch]);
                assert_memory_equal(run.loss, expected[epoch], sizeof expected[epoch]);
                assert_int_equal(run.wrong_values, 0);
                train_run_each_seed_once(&run);
            }
            if (c > 0) {
                struct device_tensor_counts n;
                const uint64_t copies = device_tensor_lane_copies(run.env.tensor);
                const bool ahead = cases[c - 1].how != BLOCKING, rows = cases[c - 1].how >= ROW_BY_ROW;
                device_tensor_counts(run.env.tensor, &n);
                assert_int_equal(n.staged_batches, ahead ? EPOCHS * BATCHES : 0);
                assert_int_equal(n.used_batches, n.staged_batches);
                assert_int_equal(n.unstaged_blocks > 0, !ahead);
                if (rows)
                    assert_true(copies >= run.result.counters.cache_misses || cases[c - 1].how == JOINED);
                else
                    assert_int_equal(copies, cases[c - 1].how == IN_PLACE ? 0 : n.staged_batches); /* one a batch */
                assert_int_equal(n.row_launches > 0, cases[c - 1].how == ROWS_TOGETHER);
                assert_true(n.row_launches < copies || !rows);
            }
            train_run_close(&run);
        }
    fixture_close(&f);
}

/* ---- order and bounds ---- */

static void test_pygplus_delivers_in_order_and_stays_in_its_window(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    const struct {
        uint32_t workers, prefetch;
    } cases[] = {{1, 1}, {1, 2}, {3, 1}, {4, 2}, {16, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char workers[32], prefetch[32];
        (void)snprintf(workers, sizeof workers, "workers=%u", cases[c].workers);
        (void)snprintf(prefetch, sizeof prefetch, "prefetch=%u", cases[c].prefetch);
        struct train_run run;
        train_run_init(&run, f.world, "pygplus");
        run.options = OPTIONS(workers, prefetch);
        run.workload.batch_size = 2;
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.step_count, TRAIN / 2);
        for (uint32_t k = 0; k < run.step_count; k++)
            assert_int_equal(run.order[k], k);
        assert_in_range(train_run_extra(&run, "sampled_ahead_peak"), 1, cases[c].workers * cases[c].prefetch);
        assert_int_equal(run.result.stage_count, 3);
        assert_string_equal(run.result.stages[1].stage, "gather");
        assert_int_equal(run.result.stages[1].items, run.step_count);
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_the_last_batch_can_be_left_untrained(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    train_run_init(&run, f.world, "pygplus");
    run.options = OPTIONS("drop_last_train=true");
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.step_count, BATCHES - 1);
    assert_int_equal(run.result.seeds, TRAIN - 10);
    assert_int_equal(run.result.counters.sample.batches, BATCHES);
    train_run_close(&run);
    fixture_close(&f);
}

static void test_max_batches_and_orders(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    static const char *const systems[] = {"pygplus", "gnndrive", "null",      "ginex",   "ringsampler",
                                          "agnes",   "diskgnn",  "mariusgnn", "presort", "graphbolt"};
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
        struct train_run run;
        train_run_init(&run, f.world, systems[s]);
        run.options = s % 2 == 1 || s >= 6 ? OPTIONS("io=buffered") : s == 4 ? OPTIONS("feature_io=buffered") : NULL;
        run.workload.max_batches = 3;
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.result.counters.sample.batches, 3);
        assert_int_equal(run.result.seeds, 60);
        train_run_close(&run);
    }
    struct train_run run;
    train_run_init(&run, f.world, "gnndrive");
    run.options = OPTIONS("io=buffered", "order=segments", "samplers=4");
    must_run(train_run_open(&run, &f.graph), &run);
    uint64_t digest[EPOCHS];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        train_run_each_seed_once(&run);
        assert_int_equal(run.step_count, 8); /* 37, 38, 37 and 38 seeds: two batches each */
        digest[epoch] = run.result.counters.sample.batch_digest;
    }
    assert_true(digest[0] != digest[1]);
    train_run_close(&run);
    fixture_close(&f);
}

static void test_null_counts_batches_and_moves_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    assert_int_equal(unlink(f.graph.dataset.features_path), 0);
    assert_int_equal(unlink(f.graph.dataset.indices_path), 0);
    struct train_run run;
    train_run_init(&run, f.world, "null");
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.result.seeds, TRAIN);
    assert_int_equal(run.result.counters.sample.batches, BATCHES);
    assert_int_equal(run.result.stages[1].items, BATCHES);
    assert_int_equal(run.result.counters.needed_bytes, 0);
    train_run_close(&run);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests_depend_on_nothing_but_the_workload),
        cmocka_unit_test(test_lists_of_many_blocks),
        cmocka_unit_test(test_systems_say_whose_samples_they_draw),
        cmocka_unit_test(test_biased_floyd_draws_other_batches),
        cmocka_unit_test(test_losses_agree_to_the_bit),
        cmocka_unit_test(test_a_device_of_its_own_changes_no_loss),
        cmocka_unit_test(test_pygplus_delivers_in_order_and_stays_in_its_window),
        cmocka_unit_test(test_the_last_batch_can_be_left_untrained),
        cmocka_unit_test(test_max_batches_and_orders),
        cmocka_unit_test(test_null_counts_batches_and_moves_nothing),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("same batches", tests, NULL, NULL);
}
