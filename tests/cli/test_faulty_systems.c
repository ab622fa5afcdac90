/* SPDX-License-Identifier: MIT */
/* Systems that are wrong in one place each, and what a run makes of them. This program is oocgnn with a registry of its
 * own: called with arguments it is the program under test, its worker included. */
#include "harness/cli/cli.h"
#include "harness/system/intent.h"
#include "harness/system/system.h"
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct gnn_system gnn_system_null;
extern const struct gnn_system gnn_system_gnndrive;

/* ---- a system around GNNDrive ---- */

struct wrapped {
    struct gnn_env env; /* what GNNDrive gets */
    const struct gnn_env *real;
    void *state;
};

/* on_step: what is called after each step in place of the run's own hook; NULL: nothing. */
static enum gnn_status open_with(const struct gnn_env *env, const void *config,
                                 void (*on_step)(void *ctx, const struct gnn_batch_view *batch,
                                                 const struct gnn_step_result *step),
                                 void **state, struct gnn_err *err)
{
    struct wrapped *w;
    GNN_NEW(w, 1, err, "a system around another");
    *state = w;
    w->real = env;
    w->env = *env;
    if (on_step != NULL) {
        w->env.on_step = on_step;
        w->env.on_step_ctx = w;
    }
    return gnn_system_gnndrive.open(&w->env, config, &w->state, err);
}

static enum gnn_status wrap_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    return open_with(env, config, NULL, state, err);
}

static void wrap_intend(const void *state, struct gnn_intent *intent)
{
    gnn_system_gnndrive.intend(((const struct wrapped *)state)->state, intent);
}

static enum gnn_status wrap_train(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    return gnn_system_gnndrive.train_epoch(((struct wrapped *)state)->state, epoch, out, err);
}

static void wrap_close(void *state)
{
    struct wrapped *const w = state;
    if (w != NULL)
        gnn_system_gnndrive.close(w->state);
    free(w);
}

/* ---- what is wrong with it ---- */

/* The last worker trains, instead of mini-batch 64, one with another node in its place. */
static void train_another(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    const struct wrapped *const w = ctx;
    struct gnn_batch_view other = *batch;
    gnn_node *nodes = NULL;
    if (batch->batch == 64 && w->env.rank + 1 == gnn_env_workers(&w->env)) {
        nodes = malloc(batch->node_count * sizeof *nodes);
        assert_non_null(nodes);
        memcpy(nodes, batch->nodes, batch->node_count * sizeof *nodes);
        nodes[batch->node_count - 1] ^= 1;
        other.nodes = nodes;
    }
    w->real->on_step(w->real->on_step_ctx, &other, step);
    free(nodes);
}

static enum gnn_status open_that_trains_another(const struct gnn_env *env, const void *config, void **state,
                                                struct gnn_err *err)
{
    return open_with(env, config, train_another, state, err);
}

/* Leaves out half of the rows that it read. */
static enum gnn_status train_and_miscount(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                          struct gnn_err *err)
{
    const enum gnn_status status = wrap_train(state, epoch, out, err);
    out->counters.rows_read /= 2;
    return status;
}

/* ---- the registry ---- */

static struct gnn_system sound, trains_another, miscounts, cpu_alone, gpu_alone;
const struct gnn_system *const gnn_systems[] = {&sound, &trains_another, &miscounts, &cpu_alone, &gpu_alone, NULL};

static void make_systems(void)
{
    sound = gnn_system_gnndrive;
    sound.name = "sound";
    sound.open = wrap_open;
    sound.intend = wrap_intend;
    sound.train_epoch = wrap_train;
    sound.close = wrap_close;
    trains_another = sound;
    trains_another.name = "trains-another";
    trains_another.open = open_that_trains_another;
    miscounts = sound;
    miscounts.name = "miscounts";
    miscounts.train_epoch = train_and_miscount;
    cpu_alone = gpu_alone = gnn_system_null;
    cpu_alone.name = "cpu-alone";
    cpu_alone.variants = GNN_VARIANT_CPU;
    gpu_alone.name = "gpu-alone";
    gpu_alone.variants = GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY;
}

/* ---- tests ---- */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SIMULATED "--world", "simulated", "--profile", "gnndrive-paper"

/* 76 mini-batches, or 38 steps of two workers: the second of those that are looked at is another one. */
static void what_is_trained_otherwise_is_found(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const worlds[][5] = {{"--world", "measured"}, {SIMULATED}};
    for (size_t w = 0; w < 2; w++) {
        const char *const *const one = WORDS("--batch", "4", "--evaluate", "never");
        const char *const *const two = WORDS("--batch", "2", "--workers", "2", "--evaluate", "never");
        for (int workers = 1; workers <= 2; workers++) {
            const char *sound_words[8] = {"--system", "sound"}, *wrong_words[8] = {"--system", "trains-another"};
            for (size_t i = 0; i < 4 && worlds[w][i] != NULL; i++)
                sound_words[2 + i] = wrong_words[2 + i] = worlds[w][i];
            json_decref(tiny_runs_must(t, 0, sound_words, workers == 1 ? one : two));
            tiny_runs_expect_reason(tiny_runs_must(t, 1, wrong_words, workers == 1 ? one : two), "invalid",
                                    "epoch 0 trained other blocks than it sampled");
        }
    }
}

static const char below_bound[] = " B of rows read, but no exact system reads less than ";

/* In the record, with the run or later, and once. GNNDrive's buffer holds what an epoch of this graph needs: it reads
 * each row once, which is the least. */
static void fewer_reads_than_the_least_are_found(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {SIMULATED, "--compute", "cpu", "--evaluate", "never", NULL};
    json_t *run = tiny_runs_must(t, 0, WORDS("--system", "sound", "--bound"), more);
    assert_true(json_real_value(json_object_get(run, "bound_ratio")) == 1);
    json_decref(run);
    run = tiny_runs_must(t, 1, WORDS("--system", "miscounts", "--bound"), more);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "wall_ns")));
    tiny_runs_expect_reason(run, "invalid", below_bound);
    tiny_runs_expect_reason(tiny_runs_last(t), "invalid", below_bound);

    run = tiny_runs_must(t, 0, WORDS("--system", "miscounts"), more); /* the minimum is not computed yet */
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(run, "run_id")));
    json_decref(run);
    for (int turn = 0; turn < 2; turn++) {
        struct process_result r = process_run(WORDS(process_program(), "bound", number, "--db", t->db));
        process_expect_all(&r, 0, WORDS(" is invalid: the system counted ", below_bound));
        process_free(&r);
    }
    run = tiny_runs_last(t);
    const char *const reasons = tiny_runs_text(run, "reasons"), *const first = strstr(reasons, below_bound);
    assert_non_null(first);
    assert_null(strstr(first + 1, below_bound));
    tiny_runs_expect_reason(run, "invalid", below_bound);
}

static void expect_refusal(const struct tiny_runs *t, const char *const *more, const char *const *parts)
{
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, more, argv);
    struct process_result r = process_run(argv);
    process_expect_all(&r, r.exit_status, parts);
    assert_int_not_equal(r.exit_status, 0);
    assert_string_equal(r.out, ""); /* no run, no record */
    process_free(&r);
}

/* What a system does not declare is refused by name before anything runs, in both worlds. */
static void undeclared_variants_are_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const *const sampling = WORDS("--sample-only: cpu-alone cannot sample without training");
    expect_refusal(t, WORDS("--system", "cpu-alone", "--sample-only"), sampling);
    expect_refusal(t, WORDS("--system", "cpu-alone", "--sample-only", SIMULATED), sampling);
    const char *const *const gpu = WORDS("cpu-alone does not train on a GPU; use --compute cpu");
    expect_refusal(t, WORDS("--system", "cpu-alone", "--compute", "cuda"), gpu);
    expect_refusal(t, WORDS("--system", "cpu-alone", "--compute", "model:gnndrive-paper/gpu"), gpu);
    expect_refusal(t, WORDS("--system", "cpu-alone", SIMULATED), gpu); /* the profile has one */
    expect_refusal(t, WORDS("--system", "cpu-alone", SIMULATED, "--compute", "cuda"), gpu);
    const char *const *const cpu = WORDS("gpu-alone does not train on the CPU; use --compute cuda");
    expect_refusal(t, WORDS("--system", "gpu-alone"), cpu);
    expect_refusal(t, WORDS("--system", "gpu-alone", "--compute", "ref"), cpu);
    expect_refusal(t, WORDS("--system", "gpu-alone", "--compute", "model:gnndrive-paper/cpu"), cpu);
    expect_refusal(t, WORDS("--system", "gpu-alone", SIMULATED, "--compute", "cpu"), cpu);
}

static void declared_variants_run(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const first[] = {"--evaluate", "never", NULL};
    json_decref(tiny_runs_must(t, 0, first, WORDS("--system", "cpu-alone")));
    json_decref(tiny_runs_must(t, 0, first, WORDS("--system", "cpu-alone", "--compute", "ref")));
    json_decref(tiny_runs_must(t, 0, first, WORDS("--system", "cpu-alone", SIMULATED, "--compute", "cpu")));
    json_decref(tiny_runs_must(t, 0, first, WORDS("--system", "gpu-alone", SIMULATED)));
    json_decref(tiny_runs_must(t, 0, first, WORDS("--system", "gpu-alone", "--sample-only")));
    json_decref(tiny_runs_must(t, 0, first, WORDS("--system", "gpu-alone", "--compute", "cpu", "--sample-only")));
}

int main(int argc, char **argv)
{
    make_systems();
    if (argc > 1)
        return gnn_cli(argc, argv);
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return 1;
    self[length] = '\0';
    (void)setenv("OOCGNN", self, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_trained_otherwise_is_found),
        cmocka_unit_test(fewer_reads_than_the_least_are_found),
        cmocka_unit_test(undeclared_variants_are_refused),
        cmocka_unit_test(declared_variants_run),
    };
    return cmocka_run_group_tests_name("faulty_systems", tests, tiny_runs_prepare, tiny_runs_tear_down);
}
