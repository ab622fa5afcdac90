/* SPDX-License-Identifier: MIT */
/* Anonymous memory of the whole process after every epoch, as the kernel counts it: what a system, the
 * pipeline or the model would leak in an epoch shows here, the harness's own accounting aside
 * (docs/invariants.md, PyG+: 8; GNNDrive: 12). */
#include "tests/support/fixture.h"
#include "tests/support/sanitizers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EPOCHS = 10, SLACK_BYTES = 32 << 10 };

static const struct train_graph_config usual = {
    .nodes = 2000, .mean_degree = 8, .dim = 256, .classes = 5, .train = 300, .seed = 17};

static uint64_t anonymous_bytes(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *const file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Anonymous: %llu kB", &kib) == 1)
            break;
    (void)fclose(file);
    return kib << 10;
}

/* The same mini-batches again and again, with one worker for each thing: from the third time on everything
 * has grown as far as it will. The slack is that of all epochs together. */
static void check_system(const char *system, const char *const *options, enum gnn_model_kind kind)
{
    struct fixture f;
    struct train_run run;
    uint64_t after[EPOCHS];
    fixture_open(&f, .graph = &usual);
    train_run_init(&run, f.world, system);
    run.options = options;
    run.cpu = true;
    run.model_config.kind = kind;
    run.workload.batch_size = 75;
    run.workload.fanout[0] = run.workload.fanout[1] = 60;
    must_run(train_run_open(&run, &f.graph), &run);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, 0), &run);
        after[epoch] = anonymous_bytes();
    }
    train_run_close(&run);
    fixture_close(&f);
    for (uint32_t epoch = 3; epoch < EPOCHS; epoch++)
        if (after[epoch] > after[2] + SLACK_BYTES)
            fail_msg("%s: anonymous memory grew from %llu to %llu bytes between epochs 2 and %u", system,
                     (unsigned long long)after[2], (unsigned long long)after[epoch], epoch);
}

static void test_an_epoch_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const pygplus[] = {"workers=1", "gather_threads=2", NULL};
    static const char *const gnndrive[] = {"io=buffered", "samplers=1", "extractors=1", NULL};
    if (SANITIZERS_SHADOW_PERCENT > 0 || anonymous_bytes() == 0)
        skip_test("a sanitizer's memory is not ours, or no /proc/self/smaps_rollup");
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++) {
        check_system("pygplus", pygplus, (enum gnn_model_kind)kind);
        check_system("gnndrive", gnndrive, (enum gnn_model_kind)kind);
    }
    check_system("null", NULL, GNN_MODEL_SAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_epoch_leaves_nothing_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
