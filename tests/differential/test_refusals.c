/* SPDX-License-Identifier: MIT */
/* What a system refuses and how it ends: sizes that cannot be, by the parameter's name; a batch beyond its reservation;
 * the stop flag; and memory that stays as it was from the second epoch on. */
#include "tests/differential/systems.h"
#include "tests/support/data_files.h"
#include "tests/support/hang.h"
#include "tests/support/link_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A system with its options, and how it ends under a cap: words of the message where it is refused. */
struct ending {
    const char *system;
    const char *const *options;
    uint64_t cap_bytes; /* 0: none */
    enum gnn_status status;
    const char *words;
};

static void init_run(struct train_run *run, const struct fixture *f, const char *system, const char *const *options)
{
    train_run_init(run, f->world, system);
    run->options = options;
}

/* Fails the test unless the status is that one and, of a refusal, the message has the words. */
static void must_end(const char *system, enum gnn_status status, const struct gnn_err *err, enum gnn_status expected,
                     const char *words)
{
    if (status != expected || (status != GNN_OK && strstr(err->message, words) == NULL))
        fail_msg("%s: %s: %s; expected %s: %s", system, gnn_status_name(status), err->message,
                 gnn_status_name(expected), words);
}

static void plan_must_end(const struct fixture *f, const struct ending *ending)
{
    struct train_run run;
    struct gnn_memory_plan plan;
    init_run(&run, f, ending->system, ending->options);
    run.cap_bytes = ending->cap_bytes;
    const enum gnn_status status = train_run_plan(&run, &f->graph, &plan);
    must_end(run.system, status, &run.err, ending->status, ending->words);
    if (status == GNN_OK)
        assert_true(gnn_plan_bytes(&plan) > gnn_plan_run_bytes(&plan) && gnn_plan_largest(&plan) != NULL);
    free(run.config);
}

static void test_impossible_sizes_are_refused_by_name(void **state)
{
    (void)state;
    const struct ending endings[] = {
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
        {"presort", OPTIONS("block=5000"), 0, GNN_EUSAGE, "presort.block=5000"},
        {"presort", OPTIONS("sweep_read=5000"), 0, GNN_EUSAGE, "presort.sweep_read=5000"},
        {"presort", OPTIONS("merge=5000"), 0, GNN_EUSAGE, "presort.merge=5000"},
        {"presort", OPTIONS("block=8K", "sweep_read=8K", "merge=4K"), 0, GNN_OK, ""},
        {"graphbolt", OPTIONS("block=5000"), 0, GNN_EUSAGE, "graphbolt.block=5000 is not a power of two"},
        {"graphbolt", OPTIONS("block=5000", "io=buffered"), 0, GNN_OK, ""},
        {"graphbolt", OPTIONS("gpu_cache=1M"), 0, GNN_EUSAGE, "graphbolt.gpu_cache=1048576 requires a GPU"},
        {"graphbolt", OPTIONS("rings=1"), 100000, GNN_ECAP, "--memory"},
        {"graphbolt", OPTIONS("rings=20"), 8000000, GNN_ECAP, "graphbolt.rings or graphbolt.group"},
        {"graphbolt", OPTIONS("rings=1"), 8000000, GNN_OK, ""},
        {"ringsampler", OPTIONS("threads=2"), 100000, GNN_ECAP, "--memory"},
        {"ringsampler", OPTIONS("threads=2"), 100000000, GNN_OK, ""},
        {"null", NULL, 0, GNN_OK, ""},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        plan_must_end(&f, &endings[e]);
    fixture_close(&f);
}

/* A block of AGNES holds whole rows. */
static void test_a_row_above_a_block_is_refused(void **state)
{
    (void)state;
    static const char words[] = "a feature row of 4100 bytes does not fit into agnes.block=4096";
    const struct {
        uint32_t dim;
        struct ending ending;
    } cases[] = {{1024, {"agnes", OPTIONS("block=4K"), 0, GNN_OK, ""}},
                 {1025, {"agnes", OPTIONS("block=4K"), 0, GNN_EUSAGE, words}},
                 {1025, {"agnes", OPTIONS("block=8K"), 0, GNN_OK, ""}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct train_graph_config wide = {
            .nodes = 40, .mean_degree = 3, .dim = cases[c].dim, .classes = 2, .train = 10, .seed = 11};
        struct fixture f;
        fixture_open(&f, .graph = &wide);
        plan_must_end(&f, &cases[c].ending);
        fixture_close(&f);
    }
}

/* Fails the test unless nothing lies beside the dataset's lists and features. */
static void must_be_as_it_was(const struct fixture *f)
{
    assert_int_equal(data_entries(f->graph.dataset.dir), 2);
}

/* What a system writes goes where its parameter says: a place that is not there is named, not replaced. */
static void test_a_place_that_is_not_there_is_named(void **state)
{
    (void)state;
    static const char place[] = "/no/such/place";
    const struct ending endings[] = {
        {"ginex", OPTIONS("io=buffered", "trace_dir=/no/such/place"), 0, GNN_ENOENT, place},
        {"diskgnn", OPTIONS("io=buffered", "prepare_dir=/no/such/place"), 0, GNN_EIO, place}, /* of making one in it */
        {"presort", OPTIONS("io=buffered", "scratch_dir=/no/such/place"), 0, GNN_ENOENT, place}};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        struct train_run run;
        init_run(&run, &f, endings[e].system, endings[e].options);
        const enum gnn_status status = train_run_open(&run, &f.graph);
        must_end(run.system, status, &run.err, endings[e].status, endings[e].words);
        train_run_close(&run);
        must_be_as_it_was(&f);
    }
    fixture_close(&f);
}

/* As a run goes: the plan first, which some systems refuse already, then open. */
static enum gnn_status plan_and_open(struct train_run *run, const struct train_graph *graph, bool *planned)
{
    struct gnn_memory_plan plan;
    const enum gnn_status status = train_run_plan(run, graph, &plan);
    *planned = status == GNN_OK;
    if (!*planned)
        return status;
    free(run->config);
    return train_run_open(run, graph);
}

/* ... before anything is prepared. */
static void test_nothing_to_train_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        bool planned; /* open is what refuses */
    } cases[] = {{"null", NULL, true},
                 {"pygplus", NULL, true},
                 {"ginex", OPTIONS("io=buffered"), false},
                 {"gnndrive", OPTIONS("io=buffered"), true},
                 {"ringsampler", OPTIONS("feature_io=buffered"), true},
                 {"agnes", OPTIONS("io=buffered"), true},
                 {"diskgnn", OPTIONS("io=buffered"), false},
                 {"mariusgnn", OPTIONS("io=buffered"), true},
                 {"presort", OPTIONS("io=buffered"), false},
                 {"graphbolt", OPTIONS("io=buffered"), true}};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    f.graph.dataset.train.count = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int sample_only = 0; sample_only < 2; sample_only++) {
            struct train_run run;
            bool planned;
            init_run(&run, &f, cases[c].system, cases[c].options);
            run.workload.sample_only = sample_only;
            const enum gnn_status status = plan_and_open(&run, &f.graph, &planned);
            must_end(run.system, status, &run.err, GNN_EUSAGE, "has no training nodes");
            assert_int_equal(planned, cases[c].planned);
            train_run_close(&run);
            must_be_as_it_was(&f);
        }
    fixture_close(&f);
}

static void test_no_edge_to_learn_is_refused(void **state)
{
    static const struct link_graph knowledge = {.nodes = 300, .relations = 2, .edges = 900, .seed = 3};
    char dir[DATA_PATH];
    struct fixture f;
    uint32_t systems = 0;
    link_graph_import(&knowledge, *state, dir);
    fixture_open(&f, .scratch = true);
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++) {
        struct link_run run;
        if (((*s)->variants & GNN_VARIANT_LINK) == 0)
            continue;
        systems++;
        link_run_init(&run, f.world, (*s)->name, dir, 8);
        run.dataset->triple_count[0] = 0;
        const enum gnn_status status = link_run_open(&run);
        must_end(run.system, status, &run.err, GNN_EUSAGE, "has no training edges");
        link_run_close(&run);
    }
    assert_true(systems >= 2);
    fixture_close(&f);
}

static void test_a_batch_beyond_the_reservation_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    init_run(&run, &f, "gnndrive", OPTIONS("io=buffered", "extractors=2", "batch_nodes=30", "slots=60"));
    must_run(train_run_open(&run, &f.graph), &run);
    const enum gnn_status status = train_run_epoch(&run, 0);
    must_end(run.system, status, &run.err, GNN_ECAP, "gnndrive.batch_nodes");
    train_run_close(&run);
    fixture_close(&f);
}

/* One cap for all: of what it leaves beside everything else, half goes to features, in each system (--preset
 * equal-memory). */
static void test_equal_memory_is_half_of_what_the_cap_leaves(void **state)
{
    (void)state;
    const struct {
        const char *system;
        const char *const *options;
        const char *part;
        uint64_t cap_bytes;
        uint32_t parts; /* of the room that the part's bytes are: 2 = half of it */
    } cases[] = {
        {"gnndrive", OPTIONS("buffer_share=50", "batch_nodes=300", "extractors=1"), "feature buffer", 6 << 20, 2},
        {"ginex", OPTIONS("cache_share=50"), "feature cache", 8 << 20, 2},
        {"agnes", OPTIONS("block=4K", "hyperbatch=1"), "graph buffer and feature cache", 7 << 20, 1},
        {"diskgnn", OPTIONS("gpu_share=0"), "CPU cache", 11 << 20, 1}, /* the topology is no longer needed */
    };
    struct fixture f;
    static const struct train_graph_config large = {
        .nodes = 20000, .mean_degree = 60, .dim = 128, .classes = 5, .train = TRAIN, .seed = 11};
    fixture_open(&f, .graph = &large);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct train_run run;
        struct gnn_memory_plan plan;
        init_run(&run, &f, cases[c].system, cases[c].options);
        run.cap_bytes = cases[c].cap_bytes;
        must_run(train_run_plan(&run, &f.graph, &plan), &run);
        uint64_t bytes = 0, phase = 0;
        for (uint32_t i = 0; i < plan.part_count; i++)
            if (strcmp(plan.parts[i].name, cases[c].part) == 0) {
                bytes = plan.parts[i].bytes;
                phase = plan.parts[i].phases == GNN_PLAN_ALL_PHASES ? 0 : (uint64_t)__builtin_ctz(plan.parts[i].phases);
            }
        const uint64_t room = gnn_plan_left(&plan, (uint32_t)phase) + bytes;
        assert_in_range(bytes, 256 << 10, 1 << 30);
        const double share = (double)bytes * cases[c].parts / (double)room;
        if (share < 0.96 || share > 1.01)
            fail_msg("%s: %s has %llu of %llu bytes", cases[c].system, cases[c].part, (unsigned long long)bytes,
                     (unsigned long long)room);
        free(run.config);
    }
    fixture_close(&f);
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
        {"diskgnn", OPTIONS("io=buffered")},
        {"diskgnn", OPTIONS("io=buffered", "pipeline=false", "segment=5", "disk_rows=40")},
        {"presort", OPTIONS("io=buffered", "row_memory=1", "classes=sorted", "block=4K")},
        {"presort", OPTIONS("io=buffered", "row_memory=1", "hyperbatch=3", "ahead=false")},
        {"graphbolt", OPTIONS("io=buffered", "cache=10K", "in_flight=5")},
        {"mariusgnn", OPTIONS("io=buffered", "partitions=30", "capacity=9", "loaders=3")},
        {"mariusgnn", OPTIONS("io=buffered", "partitions=15", "capacity=6", "policy=replace")},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        init_run(&run, &f, cases[c].system, cases[c].options);
        run.workload.batch_size = 5;
        run.stop_after = 4;
        run.check_rows = true;
        must_run(train_run_open(&run, &f.graph), &run);
        assert_int_equal(train_run_epoch(&run, 0), GNN_ECANCELLED);
        assert_int_equal(run.step_count, 4); /* no step after the flag */
        assert_int_equal(run.result.seeds, 20);
        atomic_store(&run.stop, false);
        run.stop_after = 0;
        must_run(train_run_epoch(&run, 1), &run); /* everything was given back */
        train_run_each_seed_once(&run);
        assert_int_equal(run.wrong_values, 0);
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_memory_is_steady_from_the_second_epoch(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    static const char *const systems[] = {"pygplus", "gnndrive", "null",      "ginex",   "ringsampler",
                                          "agnes",   "diskgnn",  "mariusgnn", "presort", "graphbolt"};
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
        struct train_run run;
        struct gnn_mem_usage second = {0}, later;
        train_run_init(&run, f.world, systems[s]);
        run.options = s == 1   ? OPTIONS("io=buffered", "samplers=1", "extractors=1")
                      : s == 3 ? OPTIONS("io=buffered", "samplers=1")
                      : s == 4 ? OPTIONS("feature_io=buffered")
                      : s == 5 ? OPTIONS("io=buffered", "workers=1")
                      : s == 6 ? OPTIONS("io=buffered")
                      : s == 7 ? OPTIONS("io=buffered", "loaders=1", "replace=false")
                      : s == 8 ? OPTIONS("io=buffered", "threads=1")
                               : NULL;
        run.model_config.dropout = 0;
        run.workload.fanout[0] = run.workload.fanout[1] = 60; /* whole lists: every epoch's batches grow alike */
        run.workload.batch_size = TRAIN;
        must_run(train_run_open(&run, &f.graph), &run);
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            gnn_mem_usage(f.world, epoch == 1 ? &second : &later);
        }
        assert_int_equal(second.current_bytes, later.current_bytes);
        train_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impossible_sizes_are_refused_by_name),
        cmocka_unit_test(test_a_row_above_a_block_is_refused),
        cmocka_unit_test(test_a_place_that_is_not_there_is_named),
        cmocka_unit_test(test_nothing_to_train_is_refused),
        cmocka_unit_test_setup_teardown(test_no_edge_to_learn_is_refused, data_set_up, data_tear_down),
        cmocka_unit_test(test_a_batch_beyond_the_reservation_is_refused),
        cmocka_unit_test(test_equal_memory_is_half_of_what_the_cap_leaves),
        cmocka_unit_test(test_the_stop_flag_ends_an_epoch_cleanly),
        cmocka_unit_test(test_memory_is_steady_from_the_second_epoch),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
