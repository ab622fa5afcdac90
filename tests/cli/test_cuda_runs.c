/* SPDX-License-Identifier: MIT */
/* `--compute cuda` from outside, on the test suite's launcher built as a plugin: several workers with a GPU each, whose
 * gradients a stand-in for NCCL sums, and link prediction. It shows that the program does what it says, and nothing
 * about a GPU. */
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"
#include "tests/support/tiny_runs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS_MAX = 32, BATCHES = 4 };

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

/* A file beside the program. */
static void beside(const char *file, char *path, size_t path_bytes)
{
    const char *const program = process_program(), *const slash = strrchr(program, '/');
    assert_non_null(slash);
    (void)snprintf(path, path_bytes, "%.*s/%s", (int)(slash - program), program, file);
}

static int set_up(void **state)
{
    char plugin[1024], nccl[1024];
    beside("tests/support/stand_in_cuda.so", plugin, sizeof plugin);
    beside("tests/gpu/stub_nccl.so", nccl, sizeof nccl);
    set("OOCGNN_CUDA_PLUGIN", plugin);
    set("OOCGNN_NCCL", nccl);
    set("OOCGNN_STAND_IN_DEVICES", "4");
    return tiny_runs_set_up(state);
}

/* A run of GNNDrive on the stand-in, or of what the words say. */
static const char *const usual[] = {"--system", "gnndrive", "--batch", "8",     "--evaluate",
                                    "never",    "--epochs", "1",       "--set", "gnndrive.in_order=yes",
                                    NULL};
#define RUN(t, exit_status, ...) tiny_runs_must((t), (exit_status), usual, (const char *const[]){__VA_ARGS__, NULL})

static void expect_failure(json_t *run, const char *part)
{
    tiny_runs_expect_reason(run, "failed", part);
}

/* Losses of `workers` on that back-end. */
static void train(const struct tiny_runs *t, const char *workers, const char *compute, double *losses)
{
    char trace[700];
    (void)snprintf(trace, sizeof trace, "%s/losses", t->dir);
    json_t *const run =
        RUN(t, 0, "--workers", workers, "--compute", compute, "--max-batches", "4", "--trace-loss", trace);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    json_decref(run);
    assert_int_equal(tiny_runs_losses(trace, losses, STEPS_MAX), BATCHES);
}

/* Each step's loss is that of the CPU's workers, whose gradients meet in shared memory; and the same bits again. */
static void workers_on_gpus_train_as_on_the_cpu(void **state)
{
    static const char *const workers[] = {"2", "4"};
    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
        double cpu[STEPS_MAX], cuda[STEPS_MAX], again[STEPS_MAX];
        train(*state, workers[w], "cpu", cpu);
        train(*state, workers[w], "cuda", cuda);
        train(*state, workers[w], "cuda", again);
        assert_memory_equal(cuda, again, BATCHES * sizeof *cuda);
        for (uint32_t k = 0; k < BATCHES; k++)
            if (!(fabs(cuda[k] - cpu[k]) <= 1e-4 * fabs(cpu[k])))
                fail_msg("%s workers, step %u: %.9g, on the CPU %.9g", workers[w], k, cuda[k], cpu[k]);
    }
}

/* Said before anything is opened. */
static void without_nccl_several_are_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    char before[1024];
    (void)snprintf(before, sizeof before, "%s", getenv("OOCGNN_NCCL"));
    set("OOCGNN_NCCL", "/nonexistent/libnccl.so.2");
    const char *const words[] = {"--system", "gnndrive", "--workers", "2", "--compute", "cuda", NULL};
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, words, argv);
    process_expect(process_run(argv), 4, "several workers with a GPU each need NCCL 2.14 or later", "without NCCL");
    json_t *const one = RUN(*state, 0, "--compute", "cuda", "--max-batches", "2"); /* who is alone needs none */
    assert_string_equal(tiny_runs_text(one, "status"), "ok");
    json_decref(one);
    set("OOCGNN_NCCL", before);
}

static void a_gpu_each(void **state)
{
    set("OOCGNN_STAND_IN_DEVICES", "1");
    expect_failure(RUN(*state, 4, "--workers", "2", "--compute", "cuda"),
                   "worker 1 of 2: --compute cuda:1: there are devices 0 to 0");
    set("OOCGNN_STAND_IN_DEVICES", "4");
}

/* The record names the device that computed, not the machine's first. */
static void the_record_names_the_device(void **state)
{
    static const struct {
        const char *compute, *bus_id, *uuid;
    } cases[] = {{"cuda", "ffff:00:00.0", "GPU-stand-in-0"}, {"cuda:2", "ffff:00:02.0", "GPU-stand-in-2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *const run = RUN(*state, 0, "--compute", cases[i].compute, "--max-batches", "2");
        const json_t *const environment = json_object_get(run, "environment");
        assert_string_equal(tiny_runs_text(environment, "gpu.bus_id"), cases[i].bus_id);
        assert_string_equal(tiny_runs_text(environment, "gpu.uuid"), cases[i].uuid);
        assert_string_equal(tiny_runs_text(environment, "gpu.name"), "stand-in");
        assert_string_equal(tiny_runs_text(environment, "gpu.capability"), "0.0");
        assert_string_equal(tiny_runs_text(environment, "gpu.multiprocessors"), "1");
        json_decref(run);
    }
    json_t *const cpu = RUN(*state, 0, "--compute", "cpu", "--max-batches", "2");
    assert_null(json_object_get(json_object_get(cpu, "environment"), "gpu.uuid"));
    json_decref(cpu);
}

/* One worker's sum fails in the midst of training: the others, whose devices wait for it, end as well. */
static void a_failing_sum_ends_all_workers(void **state)
{
    const struct tiny_runs *const t = *state;
    set("STUB_NCCL_FAILS", "sum:1:3");
    expect_failure(RUN(t, 1, "--workers", "2", "--compute", "cuda"),
                   "worker 1 of 2: NCCL: sum of the gradients: made-up system error");
    set("STUB_NCCL_FAILS", "init:1:1");
    expect_failure(RUN(t, 1, "--workers", "2", "--compute", "cuda"), "worker 1 of 2: NCCL: joining the group");
    assert_int_equal(unsetenv("STUB_NCCL_FAILS"), 0);
    assert_false(tiny_runs_worker_left(t));
}

static void a_killed_worker_ends_all_workers(void **state)
{
    const struct tiny_runs *const t = *state;
    expect_failure(RUN(t, 1, "--workers", "2", "--compute", "cuda", "--fault", "die-at-batch=3,die-rank=1"),
                   "worker 1 of 2 died of signal 9");
    assert_false(tiny_runs_worker_left(t));
}

/* ---- links ---- */

static double number_of(const json_t *run, const char *key)
{
    const json_t *const epochs = json_object_get(run, "epochs");
    return json_number_value(json_object_get(json_array_get(epochs, json_array_size(epochs) - 1), key));
}

/* Trains links with these words; returns the test MRR. */
static double learn(const struct tiny_runs *t, const char *compute, const char *more, double *losses)
{
    char trace[700];
    (void)snprintf(trace, sizeof trace, "%s/losses", t->dir);
    struct process_result r = process_shell(
        "%s run --system pygplus --task link --dataset freebase86m --scale 1/50000 --data %s --db %s --dim 24 --batch "
        "200 --chunks 4 --max-batches 4 --no-cold --compute %s --trace-loss %s --json --quiet %s",
        process_program(), t->data, t->db, compute, trace, more);
    json_t *const run = json_loads(r.out, 0, NULL);
    if (run == NULL || strcmp(tiny_runs_text(run, "status"), "ok") != 0)
        fail_msg("%s %s: %s", compute, more, r.err);
    const double mrr = number_of(run, "test_mrr");
    json_decref(run);
    process_free(&r);
    assert_int_equal(tiny_runs_losses(trace, losses, STEPS_MAX), BATCHES);
    return mrr;
}

/* Every decoder, with and without an encoder: losses and ranks of the CPU, and the same bits again. */
static void links_are_learned_as_on_the_cpu(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const cases[] = {"--negatives 60 --decoder distmult",
                                        "--negatives 60 --decoder complex --optimizer adam --embedding-lr 0.02",
                                        "--negatives 60 --decoder transe",
                                        "--negatives 60 --encoder --fanout 4",
                                        "--negatives 60 --negative-set own --decoder complex",
                                        "--negative-set all --decoder distmult",
                                        "--negative-set all --decoder transe"};
    struct process_result r =
        process_shell("%s prepare freebase86m --scale 1/50000 --dim 24 --data %s --quiet", process_program(), t->data);
    if (r.exit_status != 0)
        fail_msg("%s", r.err);
    process_free(&r);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double cpu[STEPS_MAX], cuda[STEPS_MAX], again[STEPS_MAX];
        const double cpu_mrr = learn(t, "cpu", cases[c], cpu), mrr = learn(t, "cuda", cases[c], cuda);
        assert_true(learn(t, "cuda", cases[c], again) == mrr);
        assert_memory_equal(cuda, again, BATCHES * sizeof *cuda);
        for (uint32_t k = 0; k < BATCHES; k++)
            if (!(fabs(cuda[k] - cpu[k]) <= 1e-4 * fabs(cpu[k])))
                fail_msg("%s, step %u: %.9g, on the CPU %.9g", cases[c], k, cuda[k], cpu[k]);
        if (!(fabs(mrr - cpu_mrr) <= 0.02 * cpu_mrr)) /* ranks that are decided by rounding change places */
            fail_msg("%s: MRR %.4f, on the CPU %.4f", cases[c], mrr, cpu_mrr);
    }
}

/* The figure of the first epoch; -1 where it has none. */
static json_int_t figure_of(const json_t *run, const char *name)
{
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    const json_t *const figure = json_object_get(json_object_get(epoch, "figures"), name);
    return figure == NULL ? -1 : json_integer_value(figure);
}

/* What a device did is in the record and in the report; where the host computed there is none of it, and no zero. */
static void what_the_device_did_is_told(void **state)
{
    static const char *const names[] = {"gpu_busy_ns",          "gpu_copy_ns",  "gpu_uploaded_bytes",
                                        "gpu_downloaded_bytes", "gpu_launches", "gpu_held_ns"};
    const struct tiny_runs *const t = *state;
    for (int device = 0; device < 2; device++) {
        json_t *const run = RUN(t, 0, "--compute", device ? "cuda" : "cpu", "--max-batches", "2");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const json_int_t value = figure_of(run, names[i]);
            if (device ? value <= 0 : value != -1)
                fail_msg("--compute %s: %s is %lld", device ? "cuda" : "cpu", names[i], (long long)value);
        }
        json_decref(run);
        struct process_result r = process_shell("%s report --last 1 --db %s", process_program(), t->db);
        assert_int_equal(r.exit_status, 0);
        if ((strstr(r.out, "GPU: mean of an epoch") != NULL) != (device == 1))
            fail_msg("%s", r.out);
        process_free(&r);
    }
}

/* What the device's driver takes of the host's memory counts before the plan is judged: a cap that it passes is refused
 * by name, and not left to the kernel, unless the driver alone passes it. */
static void a_drivers_memory_is_planned(void **state)
{
    static const struct {
        const char *driver_bytes, *memory, *reason; /* NULL: it fits */
    } cases[] = {{"0", "108M", NULL},
                 {"100000000", "108M", "in addition to the page cache (the process itself takes 10"},
                 {"100000000", "150M", NULL},
                 {"150000000", "120M", "killed the worker as it opened (a GPU's driver takes memory of the host too)"}};
    const struct tiny_runs *const t = *state;
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer's own memory counts too");
    if (!t->confined) /* the program's own accounting does not count a driver */
        skip_test("no writable memory control group");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set("OOCGNN_STAND_IN_DRIVER_BYTES", cases[i].driver_bytes);
        json_t *const run =
            RUN(t, 0, "--compute", "cuda", "--memory", cases[i].memory, "--max-batches", "2", "--batch", "600");
        if (cases[i].reason != NULL) {
            tiny_runs_expect_reason(run, "oom", cases[i].reason);
            continue;
        }
        assert_string_equal(tiny_runs_text(run, "status"), "ok");
        json_decref(run);
    }
    set("OOCGNN_STAND_IN_DRIVER_BYTES", "0");
}

static void doctor_finds_nccl(void **state)
{
    (void)state;
    struct process_result r = process_shell("%s doctor", process_program());
    if (strstr(r.out, "NCCL 2.28.9, for --workers with a GPU each") == NULL)
        fail_msg("%s", r.out);
    process_free(&r);
    r = process_shell("OOCGNN_NCCL=/nonexistent.so %s doctor", process_program());
    if (strstr(r.out, "need NCCL 2.14 or later (/nonexistent.so") == NULL)
        fail_msg("%s", r.out);
    process_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_on_gpus_train_as_on_the_cpu),
        cmocka_unit_test(without_nccl_several_are_refused),
        cmocka_unit_test(a_gpu_each),
        cmocka_unit_test(the_record_names_the_device),
        cmocka_unit_test(a_failing_sum_ends_all_workers),
        cmocka_unit_test(a_killed_worker_ends_all_workers),
        cmocka_unit_test(links_are_learned_as_on_the_cpu),
        cmocka_unit_test(what_the_device_did_is_told),
        cmocka_unit_test(a_drivers_memory_is_planned),
        cmocka_unit_test(doctor_finds_nccl),
    };
    char plugin[1024];
    beside("tests/support/stand_in_cuda.so", plugin, sizeof plugin);
    if (access(plugin, R_OK) != 0) {
        (void)printf("skip: the stand-in is not built: make tests\n[  SKIPPED ] %zu test(s)\n",
                     sizeof tests / sizeof *tests);
        return 0;
    }
    end_a_hang();
    return cmocka_run_group_tests_name("cuda runs", tests, set_up, tiny_runs_tear_down);
}
