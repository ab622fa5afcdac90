/* SPDX-License-Identifier: MIT */
/* Datasets of float16 rows in every system: the rows that a model reads are the widened rows of the file, on the host
 * and on a device, whatever the row size; mini-batches are those of float32; exact systems agree to the bit; reads,
 * caches and copies over the bus have half the bytes. */
#include "harness/run/worker/evaluate.h"
#include "tests/differential/systems.h"
#include "tests/support/device_tensor.h"
#include "tests/support/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

struct halves_case {
    const char *system;
    const char *const *options;
    bool direct; /* needs direct I/O */
};

/* In the order of the mini-batches, so that losses can be compared. */
static const struct halves_case cases[] = {
    {"pygplus", OPTIONS("workers=2"), false},
    {"pygplus", OPTIONS("workers=2", "transfer=ahead"), false},
    {"gnndrive", OPTIONS("io=buffered", "in_order=true", "batch_nodes=290"), false},
    {"gnndrive", OPTIONS("io=buffered", "in_order=true", "extractors=3", "transfer=gather"), false},
    {"gnndrive", OPTIONS("io=direct", "in_order=true", "batch_nodes=290", "extractors=3"), true},
    {"gnndrive", OPTIONS("io=direct", "in_order=true", "joint=false"), true},
    {"ginex", OPTIONS("io=buffered", "superbatch=3", "gather_threads=3", "feature_cache=10K"), false},
    {"ginex", OPTIONS("io=buffered", "superbatch=3", "fill=direct", "transfer=ahead"), false},
    {"ginex", OPTIONS("superbatch=5", "gather_threads=2", "feature_cache=10K"), true},
    {"ringsampler", OPTIONS("io=buffered", "feature_io=buffered"), false},
    {"ringsampler", OPTIONS("io=direct", "ring=16", "extract_depth=3", "transfer=blocking"), true},
    {"agnes", OPTIONS("io=buffered", "hyperbatch=3", "feature_cache=1"), false},
    {"agnes", OPTIONS("block=4K", "hyperbatch=3", "feature_cache=20K", "spill=async"), true},
    {"agnes", OPTIONS("io=buffered", "block=4K", "layout=input", "transfer=blocking"), false},
    {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "segment=3", "disk_rows=50", "page=512"), false},
    {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "assembly=scatter"), false},
    {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "assembly=kernel", "cache_ratio=30"), false},
    {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "cache_ratio=30", "gpu_share=50"), false},
    {"diskgnn", OPTIONS("resample_every=1", "chunk_request=4K", "pipeline=false"), true},
    {"presort", OPTIONS("io=buffered", "row_memory=1", "hyperbatch=3"), false},
    {"presort", OPTIONS("io=buffered", "row_memory=1", "classes=sorted", "hyperbatch=2", "hot=run"), false},
    {"presort", OPTIONS("io=buffered", "row_memory=1", "hyperbatch=2", "classes=sorted", "reuse=2"), false},
    {"presort", OPTIONS("row_memory=1", "classes=direct", "depth=3", "transfer=blocking"), true},
    {"presort", OPTIONS("row_memory=1", "classes=sorted", "block=16K", "sweep_read=4K", "window=1"), true},
    {"graphbolt", OPTIONS("io=buffered", "cache=6K", "policy=s3-fifo"), false},
    {"graphbolt", OPTIONS("cache=6K", "rings=2", "group=5"), true},
    {"mariusgnn", OPTIONS("io=buffered", "partitions=7", "capacity=4"), false},
    {"mariusgnn", OPTIONS("partitions=15", "capacity=5", "edges=in"), true},
};
enum { CASES = sizeof cases / sizeof *cases };

/* MariusGNN draws its own mini-batches, and so does presort where an epoch takes those of the one before again. */
static bool is_exact(const struct halves_case *c)
{
    bool is_own = strcmp(c->system, "mariusgnn") == 0;
    for (const char *const *option = c->options; *option != NULL; option++)
        is_own = is_own || strcmp(*option, "reuse=2") == 0;
    return !is_own;
}

static void run_on(struct fixture *f, const struct halves_case *c, bool device, bool cpu,
                   double expected[EPOCHS][BATCHES], bool is_first)
{
    struct train_run run;
    train_run_init(&run, f->world, c->system);
    run.options = c->options;
    run.device = device;
    run.cpu = cpu;
    run.check_rows = true;
    must_run(train_run_open(&run, &f->graph), &run);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        if (run.wrong_values != 0)
            fail_msg("%s, %u columns%s: %u values are not the file's", c->system, f->graph.dataset.dim,
                     device ? ", on a device" : "", run.wrong_values);
        train_run_each_seed_once(&run);
        if (is_first)
            memcpy(expected[epoch], run.loss, sizeof expected[epoch]);
        if (is_exact(c) && memcmp(run.loss, expected[epoch], sizeof expected[epoch]) != 0)
            fail_msg("%s %s, %u columns%s: other losses than the first system's", c->system, c->options[0],
                     f->graph.dataset.dim, device ? ", on a device" : "");
    }
    train_run_close(&run);
}

static void test_every_system_reads_the_widened_rows(void **state)
{
    (void)state;
    static const uint32_t dims[] = {1, 32, 127, 128, 768};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        struct train_graph_config config = usual;
        struct fixture f;
        double expected[2][EPOCHS][BATCHES];
        bool is_first[2] = {true, true};
        config.dim = dims[i];
        config.feature_type = GNN_F16;
        fixture_open(&f, .graph = &config);
        for (size_t c = 0; c < CASES; c++) {
            if (cases[c].direct && !f.direct)
                continue;
            for (int device = 0; device < 2; device++) {
                run_on(&f, &cases[c], device != 0, false, expected[0], is_first[0]);
                is_first[0] = false;
            }
            run_on(&f, &cases[c], false, true, expected[1], is_first[1]);
            is_first[1] = false;
        }
        fixture_close(&f);
    }
}

/* Runs an epoch of one system on rows of this type. */
static void run_type(enum gnn_feature_type type, const char *system, const char *const *options, bool device,
                     struct gnn_epoch_result *out, double loss[BATCHES])
{
    struct train_graph_config config = usual;
    struct fixture f;
    struct train_run run;
    config.feature_type = type;
    config.dim = 128; /* rows of one sector of 512 B, or half of it */
    fixture_open(&f, .graph = &config);
    train_run_init(&run, f.world, system);
    run.options = options;
    run.device = device;
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    *out = run.result;
    memcpy(loss, run.loss, BATCHES * sizeof *loss);
    train_run_close(&run);
    fixture_close(&f);
}

static void test_mini_batches_are_those_of_float32(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        struct gnn_epoch_result wide, half;
        double wide_loss[BATCHES], half_loss[BATCHES];
        if (cases[c].direct)
            continue; /* no other mini-batches */
        run_type(GNN_F32, cases[c].system, cases[c].options, false, &wide, wide_loss);
        run_type(GNN_F16, cases[c].system, cases[c].options, false, &half, half_loss);
        if (is_exact(&cases[c])) /* its partitions, and so its samples, depend on the rows' bytes */
            assert_int_equal(half.counters.sample.batch_digest, wide.counters.sample.batch_digest);
        assert_true(memcmp(half_loss, wide_loss, sizeof half_loss) != 0); /* rounded rows */
        for (uint32_t k = 0; k < BATCHES && is_exact(&cases[c]); k++)
            assert_true(half_loss[k] > 0.9 * wide_loss[k] && half_loss[k] < 1.1 * wide_loss[k]);
    }
}

/* Returns the host memory that a plan counts for an evaluation. */
static uint64_t evaluation_bytes(const struct train_graph_config *config, bool device)
{
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = config);
    train_run_init(&run, f.world, "pygplus");
    run.device = device;
    must_run(train_run_open(&run, &f.graph), &run);
    const uint64_t bytes = gnn_evaluate_bytes(&run.env);
    train_run_close(&run);
    fixture_close(&f);
    return bytes;
}

/* Stored rows are half as large everywhere; on the host their widened copy comes on top. */
static void test_an_evaluation_plans_for_both(void **state)
{
    (void)state;
    struct train_graph_config half = usual;
    half.feature_type = GNN_F16;
    const uint64_t wide = evaluation_bytes(&usual, false), on_host = evaluation_bytes(&half, false);
    const uint64_t on_device = evaluation_bytes(&half, true);
    assert_int_equal(evaluation_bytes(&usual, true), wide);
    assert_true(on_host > wide && wide > on_device);
    assert_int_equal(on_host - wide, wide - on_device);
}

/* An epoch and an evaluation on one of three back-ends. */
static void train_and_evaluate(const struct train_graph_config *config, int backend, double loss[BATCHES],
                               double *accuracy)
{
    struct fixture f;
    struct train_run run;
    struct gnn_err err = {0};
    struct gnn_node_quality quality;
    gnn_node held_out[60];
    fixture_open(&f, .graph = config);
    for (uint32_t i = 0; i < sizeof held_out / sizeof *held_out; i++)
        held_out[i] = 5 + 13 * i;
    const struct gnn_split split = {.nodes = held_out, .count = sizeof held_out / sizeof *held_out, .name = "test"};
    train_run_init(&run, f.world, "pygplus");
    run.options = OPTIONS("workers=2");
    run.cpu = backend == 1;
    run.device = backend == 2;
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    memcpy(loss, run.loss, BATCHES * sizeof *loss);
    must_run(gnn_evaluate_split(&run.env, &split, &quality, &err), &run);
    *accuracy = quality.accuracy;
    train_run_close(&run);
    fixture_close(&f);
}

/* Nothing but the rounding of its values tells float16 from float32: losses and accuracies have the same bits. */
static void test_rounded_float32_is_the_same(void **state)
{
    (void)state;
    struct train_graph_config half = usual, rounded = usual;
    half.dim = rounded.dim = 37;
    half.feature_type = GNN_F16;
    rounded.is_rounded = true;
    for (int backend = 0; backend < 3; backend++) {
        double half_loss[BATCHES], loss[BATCHES], half_accuracy, accuracy;
        train_and_evaluate(&half, backend, half_loss, &half_accuracy);
        train_and_evaluate(&rounded, backend, loss, &accuracy);
        assert_memory_equal(half_loss, loss, sizeof loss);
        assert_true(half_accuracy == accuracy);
        assert_true(accuracy > 0);
    }
}

/* ---- bytes ---- */

/* Bytes that cross the bus: copies of rows in lanes, and pageable uploads of rows. */
static atomic_uint_least64_t uploaded_bytes;

static void count_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    atomic_fetch_add(&uploaded_bytes, bytes);
    device_tensor.upload(t, dst, host_src, bytes);
}

static void count_lane(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    atomic_fetch_add(&uploaded_bytes, bytes);
    device_tensor.upload_async(t, lane, dst, host_src, bytes);
}

static void count_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                       const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    atomic_fetch_add(&uploaded_bytes, count * row_bytes);
    device_tensor.upload_rows(t, lane, table, to, host_rows, from, count, row_bytes);
}

/* Returns the bytes of rows that one epoch moves to the device. */
static uint64_t epoch_uploads(enum gnn_feature_type type, const char *system, const char *const *options)
{
    struct train_graph_config config = usual;
    struct fixture f;
    struct train_run run;
    config.feature_type = type;
    fixture_open(&f, .graph = &config);
    train_run_init(&run, f.world, system);
    run.options = options;
    run.device = run.check_rows = true;
    must_run(train_run_open(&run, &f.graph), &run);
    run.ops.upload = count_upload;
    run.ops.upload_async = count_lane;
    run.ops.upload_rows = count_rows;
    atomic_store(&uploaded_bytes, 0);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.wrong_values, 0);
    train_run_close(&run);
    fixture_close(&f);
    return atomic_load(&uploaded_bytes);
}

static void test_half_the_bytes_cross_the_bus(void **state)
{
    (void)state;
    const struct halves_case crossing[] = {
        {"pygplus", OPTIONS("workers=2"), false},
        {"pygplus", OPTIONS("transfer=ahead"), false},
        {"gnndrive", OPTIONS("io=buffered", "in_order=true", "slots=900", "joint=false"), false},
        {"gnndrive", OPTIONS("io=buffered", "in_order=true", "slots=900", "joint=false", "transfer=gather"), false},
        {"ginex", OPTIONS("io=buffered", "superbatch=3", "feature_cache=20K", "transfer=ahead"), false},
        {"ringsampler", OPTIONS("feature_io=buffered"), false},
        {"agnes", OPTIONS("io=buffered", "block=4K", "hyperbatch=3", "transfer=blocking"), false},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "cpu_cache=1K", "gpu_cache=1K"), false},
        {"diskgnn", OPTIONS("io=buffered", "resample_every=1", "assembly=scatter", "cpu_cache=1", "gpu_cache=1"),
         false},
        {"presort", OPTIONS("io=buffered", "row_memory=20K"), false},
        {"graphbolt", OPTIONS("io=buffered", "cache=20K"), false},
    };
    for (size_t c = 0; c < sizeof crossing / sizeof *crossing; c++) {
        const uint64_t wide = epoch_uploads(GNN_F32, crossing[c].system, crossing[c].options);
        const uint64_t half = epoch_uploads(GNN_F16, crossing[c].system, crossing[c].options);
        assert_true(wide > 0);
        if (strcmp(crossing[c].system, "diskgnn") == 0) /* twice as many rows fit its caches */
            assert_true(2 * half <= wide);
        else if (2 * half != wide)
            fail_msg("%s: %llu B of float16 and %llu B of float32 crossed", crossing[c].system,
                     (unsigned long long)half, (unsigned long long)wide);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_system_reads_the_widened_rows),
        cmocka_unit_test(test_mini_batches_are_those_of_float32),
        cmocka_unit_test(test_an_evaluation_plans_for_both),
        cmocka_unit_test(test_rounded_float32_is_the_same),
        cmocka_unit_test(test_half_the_bytes_cross_the_bus),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("halves", tests, NULL, NULL);
}
