/* SPDX-License-Identifier: MIT */
/* --id-bytes from outside: a width that was not prepared is refused with the remedy; the other width beside the first;
 * the same mini-batches, twice the topology, in both worlds; the record and the caption say which. */
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t integer(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* Runs and hands out needed bytes and digest of the first epoch. */
static json_t *run(const struct tiny_runs *t, const char *system, const char *id_bytes, bool simulated)
{
    const char *const measured[] = {"--system", system, "--id-bytes", id_bytes, "--sample-only", "--no-cold", NULL};
    const char *const profile[] = {"--system", system,      "--id-bytes", id_bytes,         "--sample-only",
                                   "--world",  "simulated", "--profile",  "gnndrive-paper", NULL};
    int status = 0;
    json_t *const record = tiny_runs_json(t, simulated ? profile : measured, &status);
    assert_int_equal(status, 0);
    assert_string_equal(tiny_runs_text(record, "status"), "ok");
    assert_string_equal(tiny_runs_text(json_object_get(record, "config"), "id-bytes"), id_bytes);
    return record;
}

static void a_width_that_is_not_there_is_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    char part[1500];
    (void)snprintf(
        part, sizeof part,
        "no neighbour IDs of 8 bytes (it has: 4); `oocgnn prepare %s/papers100m-1_4000 --id-bytes 8` adds them",
        t->data);
    process_expect(process_shell("%s run --system gnndrive --dataset papers100m --scale 1/4000 --data %s --db %s "
                                 "--id-bytes 8 --no-cold --quiet",
                                 process_program(), t->data, t->db),
                   2, part, "run --id-bytes 8");
    process_expect(process_shell("%s run --system gnndrive --dataset papers100m --id-bytes 6", process_program()), 2,
                   "\"6\" is none of 4, 8", "run --id-bytes 6");
}

static void both_widths_draw_the_same_mini_batches(void **state)
{
    static const char *const systems[] = {"pygplus", "ringsampler", "agnes", "diskgnn"};
    const struct tiny_runs *const t = *state;
    process_expect(process_shell("%s prepare papers100m --scale 1/4000 --data %s --id-bytes 8 --quiet && "
                                 "%s prepare papers100m --scale 1/4000 --data %s --check --quiet",
                                 process_program(), t->data, process_program(), t->data),
                   0, "is sound", "prepare --id-bytes 8");
    char digest[64] = "";
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
            int64_t needed[2], dataset[2], edges = 0;
            for (int wide = 0; wide < 2; wide++) {
                json_t *const record = run(t, systems[s], wide ? "8" : "4", simulated == 1);
                const json_t *const epoch = json_array_get(json_object_get(record, "epochs"), 0);
                const json_t *const counters = json_object_get(epoch, "counters");
                if (digest[0] == '\0')
                    (void)snprintf(digest, sizeof digest, "%s", tiny_runs_text(counters, "batch_digest"));
                assert_string_equal(tiny_runs_text(counters, "batch_digest"), digest);
                edges = integer(counters, "sampled_edges");
                needed[wide] = integer(counters, "needed_bytes");
                dataset[wide] = integer(record, "dataset_bytes");
                json_decref(record);
            }
            assert_int_equal(needed[0], 4 * edges);
            assert_int_equal(needed[1], 8 * edges);
            assert_true(dataset[1] > dataset[0]);
        }
    process_expect(process_shell("%s report --db %s --last 1 1>&2", process_program(), t->db), 0,
                   "neighbour IDs of 8 bytes", "the caption");
}

/* Training and evaluation too, which reads the lists by itself. */
static void losses_and_accuracies_are_the_same(void **state)
{
    const struct tiny_runs *const t = *state;
    double loss[2], accuracy[2];
    process_expect(process_shell("%s prepare papers100m --scale 1/4000 --out %s/d --id-bytes 8 --dim 8 --quiet && "
                                 "%s prepare papers100m --scale 1/4000 --out %s/d --id-bytes 4 --dim 8 --quiet",
                                 process_program(), t->dir, process_program(), t->dir),
                   0, "is ready", "prepare both");
    char dir[700];
    (void)snprintf(dir, sizeof dir, "%s/d", t->dir);
    for (int wide = 0; wide < 2; wide++) {
        const char *const more[] = {"--system",   "pygplus",        "--dataset",  dir,    "--scale",   "1/1",
                                    "--id-bytes", wide ? "8" : "4", "--evaluate", "last", "--no-cold", NULL};
        int status = 0;
        json_t *const record = tiny_runs_json(t, more, &status);
        assert_int_equal(status, 0);
        const json_t *const epochs = json_object_get(record, "epochs");
        const json_t *const last = json_array_get(epochs, json_array_size(epochs) - 1);
        loss[wide] = json_real_value(json_object_get(last, "loss"));
        accuracy[wide] = json_real_value(json_object_get(last, "test_accuracy"));
        assert_true(json_is_real(json_object_get(last, "loss")));
        assert_true(json_is_real(json_object_get(last, "test_accuracy")));
        json_decref(record);
    }
    assert_true(loss[0] == loss[1]);
    assert_true(accuracy[0] == accuracy[1]);
}

/* A directory's meta file has the seed and the options; the command names the width alone. Features that are added are
 * those of a second preparation. */
static void a_directory_takes_more_widths(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const program = process_program(), *const dir = t->dir;
    static const char options[] = "prepare papers100m --scale 1/4000 --seed 7 --reach 0 --homophily 0.31 --quiet";
    process_expect(process_shell("%s %s --dim 8 --out '%s/a b' && %s %s --dim 4 --out %s/c && "
                                 "%s prepare '%s/a b' --dim 4 --id-bytes 8 --quiet && "
                                 "%s prepare '%s/a b' --check --quiet && cmp '%s/a b/features-d4' %s/c/features-d4 && "
                                 "test -e '%s/a b/indices-8'",
                                 program, options, dir, program, options, dir, program, dir, program, dir, dir, dir,
                                 dir),
                   0, "is sound", "prepare DIR");
    process_expect(process_shell("%s prepare %s/c --dim 2 --seed 8", program, dir), 2,
                   "only --dim, --feature-type and --id-bytes", "prepare DIR --seed");
    process_expect(process_shell("%s prepare freebase86m --scale 1/40000 --out %s/k --quiet && "
                                 "%s prepare %s/k --dim 2",
                                 program, dir, program, dir),
                   2, "features of width 2 cannot be added", "prepare DIR --dim of a knowledge graph");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_width_that_is_not_there_is_refused),
        cmocka_unit_test(both_widths_draw_the_same_mini_batches),
        cmocka_unit_test(losses_and_accuracies_are_the_same),
        cmocka_unit_test(a_directory_takes_more_widths),
    };
    return cmocka_run_group_tests_name("id_width_cli", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
