/* PyG+, GNNDrive and Ginex on the same mini-batches: digests, losses to the bit, every gathered row, order, reads
 * (DESIGN section 4; specs/pygplus.md section 9: 1, 2, 6, 8, 9, 10; specs/gnndrive.md section 9: 1, 4, 7, 8,
 * 9, 12). */
#include "harness/world/measured/measured.h"
#include "tests/support/device_tensor.h"
#include "tests/support/train_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { EPOCHS = 2, BATCHES = 8, TRAIN = 150 }; /* 7 batches of 20 and one of 10 */

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 16, .classes = 5, .train = TRAIN, .seed = 11};

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct gnn_world *open_world(uint32_t align_bytes)
{
    const struct gnn_measured_config config = {.force_align_bytes = align_bytes};
    struct gnn_world *world;
    struct gnn_err err = {0};
    assert_int_equal(gnn_world_measured_open(&config, &world, &err), GNN_OK);
    return world;
}

/* Nothing the run opened may be left. */
static void close_world(struct gnn_world *world)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(world, &usage);
    assert_int_equal(usage.current_bytes, 0);
    gnn_world_measured_close(world);
}

static void must(enum gnn_status status, const struct train_run *run)
{
    if (status != GNN_OK)
        fail_msg("%s: %s", run->system, run->err.message);
}

/* Whether the temporary directory's file system takes direct I/O; says so when it does not. */
static bool direct_works(struct gnn_world *world, const struct train_graph *g)
{
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    const bool works = gnn_file_open(world, g->dataset.features_path, GNN_OPEN_DIRECT, &file, &err) == GNN_OK;
    if (works)
        gnn_file_close(world, file);
    else
        print_message("direct I/O left out: %s\n", err.message);
    return works;
}

static void check_each_once(const struct train_run *run)
{
    assert_int_equal(run->result.seeds, TRAIN);
    for (uint32_t i = 0; i < TRAIN; i++)
        assert_int_equal(run->seen[run->env.dataset->train.nodes[i]], 1);
    uint64_t all = 0;
    for (uint32_t v = 0; v < run->env.dataset->node_count; v++)
        all += run->seen[v];
    assert_int_equal(all, TRAIN);
}

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
        {"pygplus", OPTIONS("workers=5", "prefetch=3", "gather_threads=16", "readahead=kernel")},
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
    };
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int only = 0; only < 2; only++) {
            struct train_run run;
            struct gnn_sample_counters expected[EPOCHS];
            train_run_init(&run, world, cases[c].system);
            run.options = cases[c].options;
            run.workload.sample_only = only;
            reference_digests(world, &g, &run.workload, expected);
            must(train_run_open(&run, &g), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must(train_run_epoch(&run, epoch), &run);
                assert_memory_equal(&run.result.counters.sample, &expected[epoch], sizeof *expected);
                assert_int_equal(run.step_count, only ? 0 : BATCHES);
            }
            assert_true(expected[0].batch_digest != expected[1].batch_digest);
            train_run_close(&run);
        }
    train_graph_close(&g);
    close_world(world);
}

/* Of an epoch trained in order: every seed counts alike, those of the short last batch too. */
static double sum_of_losses(const struct train_run *run)
{
    double sum = 0;
    for (uint32_t k = 0; k < BATCHES; k++)
        sum += run->loss[k] * (k + 1 < BATCHES ? 20 : 10);
    return sum;
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
        {"agnes", OPTIONS("io=buffered", "layout=input", "block=4K", "spill=async", "feature_cache=1K")},
        {"agnes",
         OPTIONS("io=buffered", "block=4K", "hyperbatch=2", "overlap=full", "cache_rank=count", "feature_cache=2K")},
    };
    static double expected[EPOCHS][BATCHES];
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++)
        for (int cpu = 0; cpu < 2; cpu++) {
            struct gnn_world *world = open_world(0);
            struct train_graph g;
            train_graph_open(&usual, &g);
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                struct train_run run;
                train_run_init(&run, world, cases[c].system);
                run.options = cases[c].options;
                run.model_config.kind = (enum gnn_model_kind)kind;
                run.cpu = cpu;
                must(train_run_open(&run, &g), &run);
                for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                    must(train_run_epoch(&run, epoch), &run);
                    for (uint32_t k = 0; k < BATCHES; k++)
                        assert_int_equal(run.order[k], k);
                    if (c == 0)
                        memcpy(expected[epoch], run.loss, sizeof expected[epoch]);
                    assert_memory_equal(run.loss, expected[epoch], sizeof expected[epoch]);
                    assert_true(fabs(run.result.loss_sum - sum_of_losses(&run)) < 1e-9);
                    check_each_once(&run);
                }
                train_run_close(&run);
            }
            train_graph_close(&g);
            close_world(world);
        }
}

/* ---- every row of every batch at the moment of training ---- */

static void check_rows_of(struct gnn_world *world, const struct train_graph *g, const char *system,
                          const char *const *options)
{
    struct train_run run;
    train_run_init(&run, world, system);
    run.options = options;
    run.check_rows = true;
    must(train_run_open(&run, g), &run);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        assert_int_equal(run.step_count, BATCHES);
        check_each_once(&run);
    }
    train_run_close(&run);
}

static void test_rows_are_the_files_rows(void **state)
{
    (void)state;
    static const uint32_t dims[] = {1, 32, 64, 100, 127, 128, 768};
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
        struct train_graph g;
        config.dim = dims[i];
        train_graph_open(&config, &g);
        for (size_t a = 0; a < sizeof aligns / sizeof *aligns; a++) {
            struct gnn_world *world = open_world(aligns[a]);
            const bool direct = direct_works(world, &g);
            check_rows_of(world, &g, "pygplus", OPTIONS("workers=2"));
            check_rows_of(world, &g, "gnndrive", OPTIONS("io=buffered", "batch_nodes=290"));
            for (size_t v = 0; direct && v < sizeof variants / sizeof *variants; v++)
                check_rows_of(world, &g, "gnndrive", variants[v]);
            check_rows_of(world, &g, "ginex", OPTIONS("io=buffered", "superbatch=3", "gather_threads=3"));
            for (size_t v = 0; direct && v < sizeof ginex / sizeof *ginex; v++)
                check_rows_of(world, &g, "ginex", ginex[v]);
            check_rows_of(world, &g, "ringsampler", OPTIONS("io=buffered", "feature_io=buffered"));
            check_rows_of(world, &g, "agnes", OPTIONS("io=buffered", "hyperbatch=3", "feature_cache=1"));
            if (direct) {
                check_rows_of(world, &g, "agnes", OPTIONS("block=4K", "hyperbatch=3", "feature_cache=20K"));
                check_rows_of(world, &g, "agnes",
                              OPTIONS("block=4K", "layout=input", "feature_cache=1", "spill=async"));
                check_rows_of(world, &g, "ringsampler", OPTIONS("io=direct", "ring=16", "extract_depth=3"));
                check_rows_of(world, &g, "ringsampler", OPTIONS("io=sorted", "threads=3", "cache=4K"));
            }
            close_world(world);
        }
        train_graph_close(&g);
    }
}

static void test_both_engines_read_the_same_rows(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    struct train_run run;
    train_run_init(&run, world, "gnndrive");
    run.options = OPTIONS("io=buffered");
    run.io_engine = GNN_RING_POOL;
    run.check_rows = true;
    must(train_run_open(&run, &g), &run);
    must(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.wrong_values, 0);
    train_run_close(&run);
    train_graph_close(&g);
    close_world(world);
}

/* ---- a tensor back-end with memory of its own ---- */

/* Same losses to the bit, every row where the trainer looks, and nothing read into memory that is not the host's. */
static void test_a_device_of_its_own_changes_no_loss(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        bool lanes; /* copies go through them */
    } cases[] = {
        {"pygplus", OPTIONS("workers=1", "gather_threads=1"), false},
        {"pygplus", OPTIONS("workers=3", "gather_threads=7"), false},
        {"gnndrive", OPTIONS("io=buffered", "samplers=1", "extractors=1", "in_order=true"), true},
        {"gnndrive", OPTIONS("io=buffered", "samplers=3", "extractors=3", "in_order=true"), true},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "staging=1"), true},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "staging=7", "valid=batch"), true},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "staging=13", "lock_submit=true"), true},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "batch_nodes=300", "staging=5"), true},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2", "in_order=true", "serial_extract=true"), true},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K"), false},
        {"ringsampler", OPTIONS("threads=3", "feature_io=buffered"), false},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "feature_cache=4K"), false},
    };
    static double expected[EPOCHS][BATCHES];
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++)
        for (size_t c = 0; c <= sizeof cases / sizeof *cases; c++) {
            struct train_run run;
            train_run_init(&run, world, c == 0 ? "pygplus" : cases[c - 1].system);
            run.options = c == 0 ? NULL : cases[c - 1].options;
            run.model_config.kind = (enum gnn_model_kind)kind;
            run.device = c > 0;
            run.check_rows = run.model_config.kind == GNN_MODEL_SAGE;
            must(train_run_open(&run, &g), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must(train_run_epoch(&run, epoch), &run);
                if (c == 0)
                    memcpy(expected[epoch], run.loss, sizeof expected[epoch]);
                assert_memory_equal(run.loss, expected[epoch], sizeof expected[epoch]);
                assert_int_equal(run.wrong_values, 0);
                check_each_once(&run);
            }
            if (c > 0) {
                const uint64_t copies = device_tensor_lane_copies(run.env.tensor);
                assert_true((copies > 0) == cases[c - 1].lanes);
                assert_true(copies >= run.result.counters.cache_misses || !cases[c - 1].lanes);
            }
            train_run_close(&run);
        }
    train_graph_close(&g);
    close_world(world);
}

/* Sectors, groups, rows that straddle them, eviction: out of order, with every kind of staging. */
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
        struct train_graph g;
        config.dim = dims[i];
        train_graph_open(&config, &g);
        struct gnn_world *world = open_world(0);
        const bool direct = direct_works(world, &g);
        for (size_t v = direct ? 0 : BUFFERED; v < sizeof variants / sizeof *variants; v++) {
            struct train_run run;
            train_run_init(&run, world, "gnndrive");
            run.options = variants[v];
            run.device = run.check_rows = true;
            must(train_run_open(&run, &g), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.wrong_values, 0);
                check_each_once(&run);
            }
            train_run_close(&run);
        }
        close_world(world);
        train_graph_close(&g);
    }
}

/* ---- order and bounds ---- */

static void test_pygplus_delivers_in_order_and_stays_in_its_window(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    const struct {
        uint32_t workers, prefetch;
    } cases[] = {{1, 1}, {1, 2}, {3, 1}, {4, 2}, {16, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char workers[32], prefetch[32];
        (void)snprintf(workers, sizeof workers, "workers=%u", cases[c].workers);
        (void)snprintf(prefetch, sizeof prefetch, "prefetch=%u", cases[c].prefetch);
        struct train_run run;
        train_run_init(&run, world, "pygplus");
        run.options = OPTIONS(workers, prefetch);
        run.workload.batch_size = 2;
        must(train_run_open(&run, &g), &run);
        must(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.step_count, TRAIN / 2);
        for (uint32_t k = 0; k < run.step_count; k++)
            assert_int_equal(run.order[k], k);
        assert_in_range(train_run_extra(&run, "sampled_ahead_peak"), 1, cases[c].workers * cases[c].prefetch);
        assert_int_equal(run.result.stage_count, 3);
        assert_string_equal(run.result.stages[1].stage, "gather");
        assert_int_equal(run.result.stages[1].items, run.step_count);
        train_run_close(&run);
    }
    train_graph_close(&g);
    close_world(world);
}

static void test_the_last_batch_can_be_left_untrained(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    struct train_run run;
    train_run_init(&run, world, "pygplus");
    run.options = OPTIONS("drop_last_train=true");
    must(train_run_open(&run, &g), &run);
    must(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.step_count, BATCHES - 1);
    assert_int_equal(run.result.seeds, TRAIN - 10);
    assert_int_equal(run.result.counters.sample.batches, BATCHES);
    train_run_close(&run);
    train_graph_close(&g);
    close_world(world);
}

static void test_max_batches_and_orders(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    static const char *const systems[] = {"pygplus", "gnndrive", "null", "ginex", "ringsampler", "agnes"};
    for (size_t s = 0; s < 6; s++) {
        struct train_run run;
        train_run_init(&run, world, systems[s]);
        run.options = s % 2 == 1 ? OPTIONS("io=buffered") : s == 4 ? OPTIONS("feature_io=buffered") : NULL;
        run.workload.max_batches = 3;
        must(train_run_open(&run, &g), &run);
        must(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.result.counters.sample.batches, 3);
        assert_int_equal(run.result.seeds, 60);
        train_run_close(&run);
    }
    struct train_run run;
    train_run_init(&run, world, "gnndrive");
    run.options = OPTIONS("io=buffered", "order=segments", "samplers=4");
    must(train_run_open(&run, &g), &run);
    uint64_t digest[EPOCHS];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must(train_run_epoch(&run, epoch), &run);
        check_each_once(&run);
        assert_int_equal(run.step_count, 8); /* 37, 38, 37 and 38 seeds: two batches each */
        digest[epoch] = run.result.counters.sample.batch_digest;
    }
    assert_true(digest[0] != digest[1]);
    train_run_close(&run);
    train_graph_close(&g);
    close_world(world);
}

static void test_biased_floyd_draws_other_batches(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    uint64_t digest[2];
    for (int biased = 0; biased < 2; biased++) {
        struct train_run run;
        train_run_init(&run, world, "pygplus");
        run.options = biased ? OPTIONS("floyd=biased") : OPTIONS("floyd=exact");
        run.workload.sample_only = true;
        must(train_run_open(&run, &g), &run);
        must(train_run_epoch(&run, 0), &run);
        digest[biased] = run.result.counters.sample.batch_digest;
        train_run_close(&run);
    }
    assert_true(digest[0] != digest[1]);
    train_graph_close(&g);
    close_world(world);
}

/* ---- reads and memory ---- */

static void test_sampling_only_never_opens_the_features(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    assert_int_equal(unlink(g.dataset.features_path), 0);
    static const char *const systems[] = {"pygplus", "gnndrive", "ginex", "ringsampler", "agnes"};
    for (size_t s = 0; s < 5; s++)
        for (int only = 0; only < 2; only++) {
            struct train_run run;
            train_run_init(&run, world, systems[s]);
            run.options = s == 2 || s == 4 ? OPTIONS("io=buffered") : NULL;
            run.workload.sample_only = only;
            const enum gnn_status status = train_run_open(&run, &g);
            assert_int_equal(status, only ? GNN_OK : GNN_ENOENT);
            if (only) {
                must(train_run_epoch(&run, 0), &run);
                assert_int_equal(run.result.counters.sample.batches, BATCHES);
                assert_int_equal(run.result.counters.needed_bytes,
                                 run.result.counters.sample.sampled_edges * sizeof(gnn_node));
            }
            train_run_close(&run);
        }
    train_graph_close(&g);
    close_world(world);
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

/* With a slot for every group nothing is read twice, however batches overlap, and a second epoch reads what
 * is new. */
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
        struct gnn_world *world = open_world(512);
        struct train_graph_config config = usual;
        struct train_graph g;
        config.dim = cases[c].dim;
        train_graph_open(&config, &g);
        struct gnn_file_info info = {.offset_align_bytes = 512};
        struct gnn_file *file = NULL;
        struct gnn_err err = {0};
        if (gnn_file_open(world, g.dataset.features_path, GNN_OPEN_DIRECT, &file, &err) == GNN_OK)
            gnn_file_info(world, file, &info);
        else
            info.offset_align_bytes = 0;
        gnn_file_close(world, file);
        if (info.offset_align_bytes == 512 || cases[c].buffered) {
            struct train_run run;
            train_run_init(&run, world, "gnndrive");
            run.options = cases[c].options;
            run.workload.fanout[0] = run.workload.fanout[1] = 2;
            must(train_run_open(&run, &g), &run);
            must(train_run_epoch(&run, 0), &run);
            const struct gnn_counters *n = &run.result.counters;
            const uint64_t reads = distinct_needed(&run, cases[c].group);
            assert_int_equal(n->cache_misses, reads);
            assert_int_equal(n->requested_ios, reads);
            assert_int_equal(n->cache_hits + n->cache_misses, n->sample.sampled_nodes);
            assert_int_equal(n->cache_evictions, 0);
            const uint64_t joint = train_run_extra(&run, "joint_rows");
            assert_true(cases[c].group == 1 ? joint == 0 : joint > 0);
            assert_int_equal(train_run_extra(&run, "redundant_bytes"),
                             n->requested_bytes - (reads + joint) * cases[c].dim * 4);
            if (cases[c].read_bytes > 0)
                assert_int_equal(n->requested_bytes, reads * cases[c].read_bytes);
            else /* rows of 400 bytes touch one or two sectors */
                assert_in_range(n->requested_bytes, reads * 512, reads * 1024);
            assert_int_equal(n->needed_bytes, n->sample.sampled_edges * 4 + n->sample.sampled_nodes * cases[c].dim * 4);
            must(train_run_epoch(&run, 0), &run); /* the same batches again: all there */
            assert_int_equal(run.result.counters.requested_ios, 0);
            assert_int_equal(run.result.counters.cache_misses, 0);
            train_run_close(&run);
        } else {
            print_message("case %zu left out: no direct I/O in sectors of 512 here\n", c);
        }
        train_graph_close(&g);
        close_world(world);
    }
}

/* Batches trained after one that comes later in the epoch's order. */
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
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    struct train_run run;
    train_run_init(&run, world, "gnndrive");
    run.options = OPTIONS("io=buffered", "batch_nodes=200", "slots=600", "extractors=3", "samplers=3", "depth=2");
    run.check_rows = true;
    run.workload.batch_size = 10;
    must(train_run_open(&run, &g), &run);
    for (uint64_t epoch = 0; epoch < 5; epoch++) {
        must(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        check_each_once(&run);
        assert_true(run.result.counters.cache_evictions > 0 || epoch == 0);
        assert_int_equal(train_run_extra(&run, "buffer_slots"), 600);
        assert_int_equal(train_run_extra(&run, "overtaken_batches"), overtaken(&run));
    }
    train_run_close(&run);
    train_graph_close(&g);
    close_world(world);
}

static void test_memory_is_steady_from_the_second_epoch(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    static const char *const systems[] = {"pygplus", "gnndrive", "null", "ginex", "ringsampler", "agnes"};
    for (size_t s = 0; s < 6; s++) {
        struct train_run run;
        struct gnn_mem_usage second = {0}, later;
        train_run_init(&run, world, systems[s]);
        run.options = s == 1   ? OPTIONS("io=buffered", "samplers=1", "extractors=1")
                      : s == 3 ? OPTIONS("io=buffered", "samplers=1")
                      : s == 4 ? OPTIONS("feature_io=buffered")
                      : s == 5 ? OPTIONS("io=buffered", "workers=1")
                               : NULL;
        run.model_config.dropout = 0;
        run.workload.fanout[0] = run.workload.fanout[1] = 60; /* whole lists: every epoch's batches grow alike */
        run.workload.batch_size = TRAIN;
        must(train_run_open(&run, &g), &run);
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            must(train_run_epoch(&run, epoch), &run);
            gnn_mem_usage(world, epoch == 1 ? &second : &later);
        }
        assert_int_equal(second.current_bytes, later.current_bytes);
        train_run_close(&run);
    }
    train_graph_close(&g);
    close_world(world);
}

/* ---- refusals and stopping ---- */

static void test_impossible_sizes_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        uint64_t cap_bytes;
        enum gnn_status status;
        const char *words;
    } cases[] = {
        {"gnndrive", OPTIONS("io=buffered", "batch_nodes=200", "slots=300"), 0, GNN_EUSAGE, "gnndrive.buffer_mult"},
        {"gnndrive", OPTIONS("io=buffered", "batch_nodes=200", "slots=100"), 0, GNN_EUSAGE, "gnndrive.slots=100"},
        {"gnndrive", OPTIONS("in_order=true", "order=segments"), 0, GNN_EUSAGE, "gnndrive.order=global"},
        {"gnndrive", OPTIONS("serial_extract=true", "lock_submit=true"), 0, GNN_EUSAGE, "gnndrive.lock_submit"},
        {"gnndrive", OPTIONS("batch_nodes=200"), 100000, GNN_ECAP, "--memory"},
        {"gnndrive", OPTIONS("batch_nodes=200"), 0, GNN_OK, ""},
        {"gnndrive", OPTIONS("batch_nodes=200"), 100000000, GNN_OK, ""},
        {"pygplus", OPTIONS("workers=4"), 100000, GNN_ECAP, "--memory"},
        {"pygplus", OPTIONS("ballast_bytes=100M"), 300000000, GNN_OK, ""},
        {"pygplus", OPTIONS("ballast_bytes=100M"), 200000000, GNN_ECAP, "pygplus.ballast_bytes"},
        {"ginex", OPTIONS("superbatch=8"), 0, GNN_OK, ""},
        {"ginex", OPTIONS("superbatch=8"), 100000000, GNN_OK, ""},
        {"ginex", OPTIONS("superbatch=8"), 100000, GNN_ECAP, "--memory"},
        {"ginex", OPTIONS("samplers=100"), 8000000, GNN_ECAP, "ginex.samplers"},
        {"ginex", OPTIONS("feature_cache=3K"), 0, GNN_ECAP, "ginex.feature_cache"},
        {"ginex", OPTIONS("feature_cache=3664"), 0, GNN_OK, ""}, /* 4 N + R */
        {"ginex", OPTIONS("feature_cache=3663"), 0, GNN_ECAP, "ginex.feature_cache"},
        {"ginex", OPTIONS("neighbour_cache=7199"), 0, GNN_ECAP, "ginex.neighbour_cache"}, /* 8 N */
        {"ginex", OPTIONS("neighbour_cache=7200"), 0, GNN_OK, ""},
        {"ginex", OPTIONS("trace_block=64M", "samplers=1"), 30000000, GNN_ECAP, "ginex.trace_block"},
        {"ginex", OPTIONS("io_unit=5000"), 0, GNN_EUSAGE, "ginex.io_unit"},
        {"ginex", OPTIONS("trace_block=5000"), 0, GNN_EUSAGE, "ginex.trace_block"},
        {"ringsampler", OPTIONS("threads=2"), 100000, GNN_ECAP, "--memory"},
        {"ringsampler", OPTIONS("threads=2"), 100000000, GNN_OK, ""},
        {"null", NULL, 0, GNN_OK, ""},
    };
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        struct gnn_memory_plan plan;
        train_run_init(&run, world, cases[c].system);
        run.options = cases[c].options;
        run.cap_bytes = cases[c].cap_bytes;
        const enum gnn_status status = train_run_plan(&run, &g, &plan);
        if (status != cases[c].status || (status != GNN_OK && strstr(run.err.message, cases[c].words) == NULL))
            fail_msg("case %zu: %s: %s", c, gnn_status_name(status), run.err.message);
        if (status == GNN_OK)
            assert_true(gnn_plan_bytes(&plan) > gnn_plan_run_bytes(&plan) && gnn_plan_largest(&plan) != NULL);
        free(run.config);
    }
    train_graph_close(&g);
    close_world(world);
}

static void test_a_batch_beyond_the_reservation_is_refused(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    struct train_run run;
    train_run_init(&run, world, "gnndrive");
    run.options = OPTIONS("io=buffered", "batch_nodes=30", "slots=60");
    must(train_run_open(&run, &g), &run);
    assert_int_equal(train_run_epoch(&run, 0), GNN_ECAP);
    assert_non_null(strstr(run.err.message, "gnndrive.batch_nodes"));
    train_run_close(&run);
    train_graph_close(&g);
    close_world(world);
}

static void test_the_stop_flag_ends_an_epoch_cleanly(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
    } cases[] = {
        {"pygplus", OPTIONS("workers=3")},
        {"gnndrive", OPTIONS("io=buffered", "extractors=2")},
        {"gnndrive", OPTIONS("io=buffered", "extractors=3", "in_order=true", "batch_nodes=290")},
        {"ginex", OPTIONS("io=buffered", "superbatch=7")},
        {"ginex", OPTIONS("io=buffered")},
        {"ringsampler", OPTIONS("threads=3", "feature_io=buffered")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3")},
        {"agnes", OPTIONS("io=buffered", "block=4K", "overlap=full", "hyperbatch=2", "spill=async")},
    };
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        train_run_init(&run, world, cases[c].system);
        run.options = cases[c].options;
        run.workload.batch_size = 5;
        run.stop_after = 4;
        run.check_rows = true;
        must(train_run_open(&run, &g), &run);
        assert_int_equal(train_run_epoch(&run, 0), GNN_ECANCELLED);
        assert_int_equal(run.step_count, 4); /* no step after the flag */
        assert_int_equal(run.result.seeds, 20);
        atomic_store(&run.stop, false);
        run.stop_after = 0;
        must(train_run_epoch(&run, 1), &run); /* everything was given back */
        check_each_once(&run);
        assert_int_equal(run.wrong_values, 0);
        train_run_close(&run);
    }
    train_graph_close(&g);
    close_world(world);
}

static void test_null_counts_batches_and_moves_nothing(void **state)
{
    (void)state;
    struct gnn_world *world = open_world(0);
    struct train_graph g;
    train_graph_open(&usual, &g);
    assert_int_equal(unlink(g.dataset.features_path), 0);
    assert_int_equal(unlink(g.dataset.indices_path), 0);
    struct train_run run;
    train_run_init(&run, world, "null");
    must(train_run_open(&run, &g), &run);
    must(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.result.seeds, TRAIN);
    assert_int_equal(run.result.counters.sample.batches, BATCHES);
    assert_int_equal(run.result.stages[1].items, BATCHES);
    assert_int_equal(run.result.counters.needed_bytes, 0);
    train_run_close(&run);
    train_graph_close(&g);
    close_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests_depend_on_nothing_but_the_workload),
        cmocka_unit_test(test_losses_agree_to_the_bit),
        cmocka_unit_test(test_rows_are_the_files_rows),
        cmocka_unit_test(test_both_engines_read_the_same_rows),
        cmocka_unit_test(test_a_device_of_its_own_changes_no_loss),
        cmocka_unit_test(test_rows_on_a_device_are_the_files_rows),
        cmocka_unit_test(test_pygplus_delivers_in_order_and_stays_in_its_window),
        cmocka_unit_test(test_the_last_batch_can_be_left_untrained),
        cmocka_unit_test(test_max_batches_and_orders),
        cmocka_unit_test(test_biased_floyd_draws_other_batches),
        cmocka_unit_test(test_sampling_only_never_opens_the_features),
        cmocka_unit_test(test_reads_are_the_distinct_absent_groups),
        cmocka_unit_test(test_a_tight_buffer_evicts_and_stays_right),
        cmocka_unit_test(test_memory_is_steady_from_the_second_epoch),
        cmocka_unit_test(test_impossible_sizes_are_refused_by_name),
        cmocka_unit_test(test_a_batch_beyond_the_reservation_is_refused),
        cmocka_unit_test(test_the_stop_flag_ends_an_epoch_cleanly),
        cmocka_unit_test(test_null_counts_batches_and_moves_nothing),
    };
    alarm(280); /* a hang is a failure too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
