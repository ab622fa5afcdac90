/* SPDX-License-Identifier: MIT */
/* Metrics of epochs, stages, counters and the machine, by name, against a run made by hand. */
#include "harness/figure/metric.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void names_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const none[] = {"epoch_s@",
                                       "epoch_s@-1",
                                       "epoch_s@x",
                                       "epoch_s@first",
                                       "epoch_s@99999999999",
                                       "epoch@1",
                                       "first_epoch_s@1",
                                       "env.",
                                       "env.x@1",
                                       "profile.",
                                       "profile.storage",
                                       "profile.storage.",
                                       "profile.storage.speed",
                                       "profile.storage.model",
                                       "profile.storag.read_iops",
                                       "profile.storage.read_iops@0",
                                       "stage.",
                                       "stage.load",
                                       "stage..wall_s",
                                       "stage.load.queued_s",
                                       "stage.load.wall",
                                       "counter.",
                                       "counter.reads",
                                       "counter.batch_digest",
                                       "own.@1",
                                       "rank.mrr",
                                       "rank.",
                                       "accuracy_pct@1",
                                       "oom@0",
                                       "@1"};
    char base[GNN_NAME_MAX], longer[GNN_NAME_MAX + 1];
    int32_t epoch;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (gnn_metric_known(none[i]))
            fail_msg("%s is known", none[i]);
    memset(longer, 'a', GNN_NAME_MAX);
    longer[GNN_NAME_MAX] = '\0';
    assert_false(gnn_metric_split(longer, base, &epoch));
    assert_true(gnn_metric_split("reads.4K@12", base, &epoch));
    assert_string_equal(base, "reads.4K");
    assert_int_equal(epoch, 12);
}

/* Epochs of 1.15, 2 and 4 s, the second with a floor of 1.5 s. */
static void make_run(struct gnn_run_record *run)
{
    struct gnn_err err = {0};
    fake_run(run, "gnndrive", 1, 3, 1);
    run->epochs[1].wall_ns = UINT64_C(2000000000);
    run->epochs[2].wall_ns = UINT64_C(4000000000);
    run->epochs[1].counters.refaults = 70;
    run->epochs[2].counters.refaults = 90;
    run->epochs[2].counters.sampled_nodes = GNN_UNKNOWN;
    fake_figure(&run->epochs[1], GNN_FIGURE_FLOOR, UINT64_C(1500000000));
    fake_figure(&run->epochs[1], GNN_FIGURE_FLOOR_DEVICE, UINT64_C(250000000));
    fake_figure(&run->epochs[1], GNN_FIGURE_FLOOR_TRAINING, UINT64_C(1500000000));
    fake_figure(&run->epochs[0], "hyperbatches", 3);
    fake_figure(&run->epochs[2], "hyperbatches", 5);
    for (uint32_t e = 0; e < 3; e++) {
        run->epochs[e].valid_accuracy = e == 0 ? 0.3 : 0.7; /* of two that are equal the first counts */
        run->epochs[e].test_accuracy = 0.5 + 0.01 * e;
    }
    run->scale_divisor = 100;
    run->epochs[1].valid_mrr = 0.2;
    run->epochs[2].valid_mrr = 0.25;
    run->epochs[2].test_mrr = 0.24;
    run->epochs[2].test_raw_mrr = 0.15;
    run->epochs[2].test_hits_1 = 0.16;
    run->epochs[2].test_hits_10 = 0.43;
    fake_figure(&run->epochs[1], GNN_FIGURE_TEST_ROC_AUC, 812500);
    fake_figure(&run->epochs[2], GNN_FIGURE_TEST_ROC_AUC, 837500);
    fake_figure(&run->epochs[1], GNN_FIGURE_TEST_MACRO_F1, 625000);
    fake_figure(&run->epochs[2], GNN_FIGURE_TEST_QUERIES, 8);
    fake_figure(&run->epochs[2], GNN_FIGURE_TEST_OWN_FIRST, 5);
    (void)snprintf(run->profile, sizeof run->profile, "gnndrive-paper");
    must(gnn_kv_set(&run->environment, "cpu.online", "4", &err), &err);
    must(gnn_kv_set(&run->environment, "kernel.release", "6.1 x", &err), &err);
}

static void expect(const struct gnn_run_record *run, const char *name, double expected)
{
    const double found = gnn_metric_of(run, name);
    assert_true(gnn_metric_known(name));
    if (isnan(expected) ? !isnan(found) : !(fabs(found - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%s is %g, not %g", name, found, expected);
}

static void each_metric_is_of_its_epoch(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double value;
    } cases[] = {
        {"epoch_s", 3},
        {"epoch_s@0", 1.15},
        {"epoch_s@1", 2},
        {"epoch_s@last", 4},
        {"epoch_s@3", NAN},
        {"counter.refaults", 80},
        {"counter.refaults@1", 70},
        {"counter.sampled_nodes", 4.6e6}, /* of the one epoch that has it */
        {"counter.sampled_nodes@2", NAN},
        {"counter.peak_memory_bytes@0", 320 << 20},
        {"floor_s@1", 1.5},
        {"floor_device_s@1", 0.25},
        {"floor_training_s@1", 1.5},
        {"floor_s@0", NAN},
        {"own.hyperbatches", 5},
        {"own.hyperbatches@0", 3},
        {"own.hyperbatches@1", NAN},
        {"best_accuracy_pct", 51},
        {"stage.sample.workers", 2},
        {"stage.sample.wait_io_s@0", 2 * 0.55 * 1.15},
        {"stage.sample.work_s", 2 * 0.25},
        {"stage.extract.wall_s@1", 4},
        {"stage.train.wait_queue_s@1", 0.7},
        {"stage.*.cpu_s@1", 2 * 0.25 + 4 * 0.1 + 0.3 + 0.02},
        {"stage.*.workers", 8},
        {"stage.load.work_s", NAN},
        {"stage.samp.work_s", NAN},
        {"env.cpu.online", 4},
        {"env.kernel.release", NAN},
        {"env.no.such", NAN},
        {"profile.storage.read_iops", 98000},
        {"profile.storage.read_latency", 90e-6},
        {"profile.storage.write_latency", 40e-6},
        {"profile.storage.readahead", 131072},
        {"profile.host.gemm", 143e9},
        {"profile.storage.write_burst", NAN}, /* this one has none */
        {"rank.valid_mrr", 0.25},
        {"rank.valid_mrr@1", 0.2},
        {"rank.test_mrr", 0.24},
        {"rank.test_raw_mrr", 0.15},
        {"rank.test_hits_1", 0.16},
        {"rank.test_hits_10", 0.43},
        {"rank.test_hits_10@1", NAN},
        {"roc_auc", 0.8375},
        {"macro_f1", 0.625}, /* the last that is known */
        {"own_first_pct", 62.5},
        {"scale", 100},
        {"runs", 1},
    };
    struct gnn_run_record run;
    struct gnn_err err = {0};
    make_run(&run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(&run, cases[i].name, cases[i].value);
    assert_float_equal(gnn_metric_at(&run, "epoch_s", 1), 2, 1e-9);
    assert_true(gnn_metric_of_accuracy("roc_auc"));
    assert_true(gnn_metric_of_accuracy("rank.valid_mrr")); /* of real training, as accuracies are */
    assert_false(gnn_metric_of_accuracy("epoch_s"));
    assert_float_equal(gnn_metric_at(&run, "epoch_s@0", 1), 1.15, 1e-9);
    assert_float_equal(gnn_metric_at(&run, "first_epoch_s", 1), 1.15, 1e-9);
    must(gnn_kv_set(&run.config, "profile-set", "storage.read_iops_x=1/s,storage.read_iops=3000/s,storage.stripe=1",
                    &err),
         &err);
    expect(&run, "profile.storage.read_iops", 3000);
    expect(&run, "profile.storage.write_iops", 28000);
    run.profile[0] = '\0';
    expect(&run, "profile.storage.write_iops", NAN);
    (void)snprintf(run.profile, sizeof run.profile, "/nonexistent/x.ini");
    expect(&run, "profile.storage.write_iops", NAN);
    run.epochs[1].stages[0].wait_io_ns = GNN_UNKNOWN;
    expect(&run, "stage.*.wait_io_s@1", NAN);
    gnn_run_record_free(&run);
}

/* A run that timed out in a later epoch has those that ended; one that is not valid has none. */
static void an_epoch_that_ended_has_its_values(void **state)
{
    (void)state;
    struct gnn_run_record run;
    make_run(&run);
    static const enum gnn_run_status early[] = {GNN_RUN_OOT, GNN_RUN_OOM, GNN_RUN_GPU_OOM};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        run.status = early[i];
        run.valid = -1;
        expect(&run, "epoch_s@0", 1.15);
        expect(&run, "stage.sample.workers@1", 2);
        expect(&run, "epoch_s", NAN);
        expect(&run, "epoch_s@last", NAN);
        expect(&run, "first_epoch_s", NAN);
        expect(&run, "best_accuracy_pct", NAN);
        expect(&run, "runs", 0);
    }
    run.status = GNN_RUN_FAILED;
    expect(&run, "epoch_s@0", NAN);
    run.status = GNN_RUN_OK;
    run.valid = 0;
    expect(&run, "epoch_s@0", NAN);
    expect(&run, "runs", 0);
    gnn_run_record_free(&run);
}

/* What ran of a part of an epoch stands for the whole; workers and peaks do not grow. */
static void parts_are_scaled(void **state)
{
    (void)state;
    struct gnn_run_record run;
    struct gnn_err err = {0};
    make_run(&run);
    must(gnn_kv_set(&run.environment, GNN_ENVIRONMENT_WHOLE_BATCHES, "4832", &err), &err);
    fake_figure(&run.epochs[1], GNN_FIGURE_FULL_EPOCH, UINT64_C(8000000000)); /* of 1208 mini-batches 4 times as many */
    expect(&run, "epoch_s@1", 8);
    expect(&run, "floor_s@1", 6);
    expect(&run, "counter.refaults@1", 280);
    expect(&run, "counter.peak_memory_bytes@1", 320 << 20);
    expect(&run, "stage.train.work_s@1", 1.2);
    expect(&run, "stage.sample.workers@1", 2);
    gnn_run_record_free(&run);
}

static void labels_have_words_and_units(void **state)
{
    (void)state;
    static const struct {
        const char *name, *label;
    } cases[] = {
        {"epoch_s", "epoch time (s)"},
        {"epoch_s@0", "epoch time, epoch 0 (s)"},
        {"reads@last", "device reads per epoch, last epoch"},
        {"hit_pct", "cache hits (%)"},
        {"own.read_latency_p90_ns", "read latency p90 (s)"}, /* pictures have seconds and GiB */
        {"counter.device_read_bytes", "device read (GiB)"},
        {"stage.sample.work_s", "stage sample work (s)"},
        {"own.bias_millionths", "bias"},
    };
    char text[GNN_METRIC_LABEL];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(gnn_metric_known(cases[i].name));
        assert_string_equal(gnn_metric_label(cases[i].name, text), cases[i].label);
    }
    assert_float_equal(gnn_metric_unit("own.read_latency_p90_ns@1")->drawn, 1e-9, 1e-15);
    for (uint32_t i = 0; gnn_metric_name(i) != NULL; i++)
        assert_non_null(gnn_metric_words(gnn_metric_name(i)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_are_none_are_refused),    cmocka_unit_test(each_metric_is_of_its_epoch),
        cmocka_unit_test(an_epoch_that_ended_has_its_values), cmocka_unit_test(parts_are_scaled),
        cmocka_unit_test(labels_have_words_and_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
