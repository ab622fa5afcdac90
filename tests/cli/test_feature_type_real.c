/* SPDX-License-Identifier: MIT */
/* Float16 features of real graphs: over five seeds, the mean test accuracy stays inside the range of float32, and each
 * seed's accuracy moves by a small part of that range. Skipped where the graphs are not at hand. */
#include "tests/support/data_files.h"
#include "tests/support/tiny_runs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 5 };

/* Rows that are divided by their sums, so that most values are no halves. */
static const struct {
    const char *name, *epochs;
} graphs[] = {{"cora", "20"}, {"citeseer", "20"}};

struct quality {
    double loss, accuracy;
};

static struct quality train(const struct tiny_runs *t, const char *graph, const char *type, int seed,
                            const char *epochs)
{
    char dir[700], number[16];
    (void)snprintf(dir, sizeof dir, "%s/%s-%s", t->dir, graph, type);
    (void)snprintf(number, sizeof number, "%d", seed);
    const char *const more[] = {
        "--system",  "pygplus", "--dataset", dir,          "--scale",  "1/1",   "--feature-type", type,
        "--seed",    number,    "--epochs",  epochs,       "--fanout", "10,10", "--hidden",       "32",
        "--no-cold", "--batch", "32",        "--evaluate", "last",     NULL};
    int status = 0;
    json_t *const record = tiny_runs_json(t, more, &status);
    assert_int_equal(status, 0);
    const json_t *const reached = json_object_get(record, "epochs");
    const json_t *const last = json_array_get(reached, json_array_size(reached) - 1);
    assert_true(json_is_real(json_object_get(last, "test_accuracy")));
    const struct quality quality = {.loss = json_real_value(json_object_get(last, "loss")),
                                    .accuracy = json_real_value(json_object_get(last, "test_accuracy"))};
    json_decref(record);
    return quality;
}

static void import(const struct tiny_runs *t, const char *from, const char *graph, const char *type)
{
    process_expect(process_shell("%s prepare %s-%s --from %s --row-normalise --feature-type %s --data %s --quiet && "
                                 "%s prepare %s/%s-%s --check --quiet",
                                 process_program(), graph, type, from, type, t->dir, process_program(), t->dir, graph,
                                 type),
                   0, "is sound", "import");
}

static void accuracy_stays_in_the_range_of_seeds(void **state)
{
    const struct tiny_runs *const t = *state;
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        char from[DATA_PATH];
        double least = 1, most = 0, mean = 0, farthest = 0;
        if (data_real(graphs[g].name, from) == NULL)
            continue;
        import(t, from, graphs[g].name, "f32");
        import(t, from, graphs[g].name, "f16");
        for (int seed = 1; seed <= SEEDS; seed++) {
            const struct quality wide = train(t, graphs[g].name, "f32", seed, graphs[g].epochs);
            const struct quality half = train(t, graphs[g].name, "f16", seed, graphs[g].epochs);
            least = fmin(least, wide.accuracy);
            most = fmax(most, wide.accuracy);
            mean += half.accuracy / SEEDS;
            farthest = fmax(farthest, fabs(half.accuracy - wide.accuracy));
            assert_true(half.loss != wide.loss); /* the rows are rounded */
            assert_true(fabs(half.loss - wide.loss) < 0.002 * wide.loss);
        }
        (void)printf("%s: test accuracy %.4f to %.4f, of float16 %.4f on average, at most %.4f from the same seed's\n",
                     graphs[g].name, least, most, mean, farthest);
        assert_true(least < most);
        assert_true(mean >= least && mean <= most);
        assert_true(farthest <= (most - least) / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy_stays_in_the_range_of_seeds),
    };
    return cmocka_run_group_tests_name("feature_type_real", tests, tiny_runs_prepare, tiny_runs_tear_down);
}
