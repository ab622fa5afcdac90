/* SPDX-License-Identifier: MIT */
/* Both worlds from outside: the same mini-batches whatever the system, the world and the number of threads; measured
 * storage beside a modelled GPU. */
#include "tests/support/data_files.h"
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const systems[] = {"pygplus", "gnndrive",  "ginex",   "ringsampler", "agnes",
                                      "diskgnn", "mariusgnn", "presort", "graphbolt"};

static json_t *simulate(const struct tiny_runs *t, const char *const *more, int *exit_status)
{
    const char *all[TINY_ARGUMENTS_MAX] = {"--world", "simulated", "--profile", "gnndrive-paper", "--dim", "32"};
    uint32_t count = 6;
    for (; *more != NULL; more++)
        all[count++] = *more;
    all[count] = NULL;
    return tiny_runs_json(t, all, exit_status);
}

static bool has_device_sizes(const json_t *run)
{
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    return json_object_get(json_object_get(epoch, "figures"), "device_read_bytes_max") != NULL;
}

static void both_worlds_draw_the_same_mini_batches(void **state)
{
    const struct tiny_runs *const t = *state;
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        const char *const more[] = {"--system", systems[s], NULL};
        int exit_status;
        json_t *const here = tiny_runs_json(t, more, &exit_status);
        json_t *const there = simulate(t, more, &exit_status);
        json_t *const counters[] = {json_object_get(here, "counters"), json_object_get(there, "counters")};
        static const char *const equal[] = {"batch_digest", "batches", "sampled_nodes", "sampled_edges",
                                            "needed_bytes"};
        for (size_t k = 0; k < sizeof equal / sizeof equal[0]; k++) {
            json_t *const value = json_object_get(counters[0], equal[k]);
            if (!json_equal(value, json_object_get(counters[1], equal[k])))
                fail_msg("%s: %s differs between the worlds", systems[s], equal[k]);
            assert_false(json_is_null(value));
        }
        assert_false(has_device_sizes(here)); /* no counter of this machine's tells them */
        assert_true(has_device_sizes(there));
        json_decref(here);
        json_decref(there);
    }
}

/* One workload, one digest: whatever the system, the world and the number of threads. */
static void every_exact_system_draws_the_same(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const runs[][6] = {
        {"pygplus"},
        {"pygplus", "pygplus.workers=1"},
        {"gnndrive", "gnndrive.samplers=1", "gnndrive.extractors=3"},
        {"ginex", "ginex.samplers=1", "ginex.gather_threads=1", "ginex.trace_loaders=1"},
        {"ginex", "ginex.samplers=7", "ginex.superbatch=3"},
        {"ringsampler", "ringsampler.threads=1"},
        {"ringsampler", "ringsampler.threads=5", "ringsampler.io=mapped"},
        {"agnes"},
        {"diskgnn", "diskgnn.resample_every=1"},
        {"diskgnn", "diskgnn.resample_every=1", "diskgnn.samplers=1", "diskgnn.disk_limit=3"},
        {"presort"},
        {"presort", "presort.row_memory=1", "presort.hyperbatch=3", "presort.classes=sorted"},
        {"presort", "presort.row_memory=1", "presort.topology=swept", "presort.round_memory=1"},
        {"graphbolt"},
        {"graphbolt", "graphbolt.cache=1", "graphbolt.samplers=5"},
    };
    char *digest = NULL;
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++)
        for (int simulated = 0; simulated < 2; simulated++) {
            const char *more[16] = {"--system", runs[r][0], "--epochs", "2", "--evaluate", "never"};
            uint32_t count = 6;
            for (uint32_t i = 1; i < 6 && runs[r][i] != NULL; i++) {
                more[count++] = "--set";
                more[count++] = runs[r][i];
            }
            int exit_status;
            json_t *const run =
                simulated != 0 ? simulate(t, more, &exit_status) : tiny_runs_json(t, more, &exit_status);
            assert_int_equal(exit_status, 0);
            char *const own =
                json_dumps(json_object_get(json_object_get(run, "counters"), "batch_digest"), JSON_ENCODE_ANY);
            assert_non_null(own);
            if (digest == NULL)
                digest = strdup(own);
            if (strcmp(own, digest) != 0)
                fail_msg("%s (%s, simulated %d): %s, not %s", runs[r][0],
                         runs[r][1] == NULL ? "as it comes" : runs[r][1], simulated, own, digest);
            free(own);
            json_decref(run);
        }
    free(digest);
}

/* Measured storage, a profile's GPU: training sleeps as long as it would take, and the record says so. */
static void modelled_compute_in_the_measured_world(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {"--system", "gnndrive", "--compute", "model:gnndrive-paper", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(t, more, &exit_status);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    assert_string_equal(tiny_runs_text(run, "world"), "measured");
    assert_string_equal(tiny_runs_text(run, "compute"), "model:gnndrive-paper/gpu");
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "loss")));
    json_decref(run);
}

/* A closed reach: empty lists, lists in no order, sources that stand in one twice. Every exact system draws the same,
 * from a prepared graph in the measured world and from a computed one. */
static void a_closed_reach_is_drawn_alike(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char reach[] = "reach=0.3,empty=0.2,hub_shift=0.01,popularity=1.3,train_mean=40";
    static const char *const exact[] = {"pygplus", "gnndrive", "ginex",   "ringsampler",
                                        "agnes",   "diskgnn",  "presort", "graphbolt"};
    char dir[DATA_PATH], digest[64] = "";
    (void)data_path(dir, t->dir, "reach");
    struct process_result r = process_shell("%s prepare papers100m --scale 1/4000 --dim 32 --reach 0.3 --empty 0.2 "
                                            "--hub-shift 0.01 --popularity 1.3 --train-mean 40 --out %s --quiet",
                                            process_program(), dir);
    if (r.exit_status != 0)
        fail_msg("%s", r.err);
    process_free(&r);
    for (size_t s = 0; s < sizeof exact / sizeof exact[0]; s++)
        for (int simulated = 0; simulated < 2; simulated++) {
            const char *const computed[] = {"--system", exact[s], "--generate", reach, "--evaluate", "never", NULL};
            const char *const prepared[] = {"--system", exact[s],     "--dataset", dir, "--scale",
                                            "1/4000",   "--evaluate", "never",     NULL};
            int exit_status;
            json_t *const run =
                simulated != 0 ? simulate(t, computed, &exit_status) : tiny_runs_json(t, prepared, &exit_status);
            assert_string_equal(tiny_runs_text(run, "status"), "ok");
            const char *const own = tiny_runs_text(json_object_get(run, "counters"), "batch_digest");
            if (digest[0] == '\0')
                (void)snprintf(digest, sizeof digest, "%s", own);
            if (strcmp(own, digest) != 0)
                fail_msg("%s (simulated %d): %s, not %s", exact[s], simulated, own, digest);
            json_decref(run);
        }
}

/* A prepared import stands in both worlds: the mini-batches are the same, and the simulated one times them on a
 * profile's machine. */
static void an_import_is_simulated(void **state)
{
    const struct tiny_runs *const t = *state;
    char from[DATA_PATH], dir[DATA_PATH];
    if (data_real("fb100-13schools", from) == NULL)
        skip();
    const char *const prepare[] = {process_program(),
                                   "prepare",
                                   "fb100",
                                   "--from",
                                   from,
                                   "--add-reverse",
                                   "--out",
                                   data_path(dir, t->dir, "fb100"),
                                   "--quiet",
                                   NULL};
    struct process_result r = process_run(prepare);
    if (r.exit_status != 0)
        fail_msg("%s", r.err);
    process_free(&r);
    static const char *const some[] = {"pygplus", "gnndrive"};
    for (size_t s = 0; s < sizeof some / sizeof some[0]; s++) {
        char digests[2][64];
        for (int world = 0; world < 2; world++) {
            const char *const more[] = {"--system",
                                        some[s],
                                        "--dataset",
                                        dir,
                                        "--scale",
                                        "1/1",
                                        "--max-batches",
                                        "4",
                                        world == 0 ? "--world" : NULL,
                                        "simulated",
                                        "--profile",
                                        "gnndrive-paper",
                                        NULL};
            int exit_status;
            json_t *const run = tiny_runs_json(t, more, &exit_status);
            assert_string_equal(tiny_runs_text(run, "status"), "ok");
            assert_string_equal(tiny_runs_text(run, "world"), world == 0 ? "simulated" : "measured");
            assert_string_equal(tiny_runs_text(run, "dataset"), "fb100");
            const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
            assert_true(json_integer_value(json_object_get(epoch, "wall_ns")) > 0);
            (void)snprintf(digests[world], sizeof digests[world], "%s",
                           tiny_runs_text(json_object_get(run, "counters"), "batch_digest"));
            json_decref(run);
        }
        assert_true(digests[0][0] != '\0');
        assert_string_equal(digests[0], digests[1]);
    }
    process_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_worlds_draw_the_same_mini_batches),
        cmocka_unit_test(every_exact_system_draws_the_same),
        cmocka_unit_test(modelled_compute_in_the_measured_world),
        cmocka_unit_test(a_closed_reach_is_drawn_alike),
        cmocka_unit_test(an_import_is_simulated),
    };
    return cmocka_run_group_tests(tests, tiny_runs_prepare, tiny_runs_tear_down);
}
