/* Hostile input and careless use: damaged values, names that other programs would execute, databases that keep nothing,
 * limits of the shell. Nothing wrong is recorded, nothing is executed, nothing is lost, and every command ends. */
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUN_MAX = 4096 };

/* The usual arguments on a dataset directory, for a shell. Paths of the fixture hold no blanks. */
static const char *usual(const struct tiny_runs *t, const char *dataset, char text[RUN_MAX])
{
    (void)snprintf(text, RUN_MAX,
                   "%s run --system gnndrive --dataset %s --data %s --db %s --batch 32 --hidden 16 --fanout 5,5 "
                   "--evaluate never --quiet",
                   process_program(), dataset, t->data, t->db);
    return text;
}

/* Copies the dataset to a directory of its own and damages it by `command`, in which $D is that directory. */
static void damaged_copy(const struct tiny_runs *t, const char *name, const char *command)
{
    process_expect(process_shell("rm -rf %s/%s; cp -r %s/papers100m-1_4000 %s/%s && D=%s/%s && %s", t->dir, name,
                                 t->data, t->dir, name, t->dir, name, command),
                   0, "", command);
}

static void expect_record(const struct tiny_runs *t, const char *status, const char *reason)
{
    json_t *const run = tiny_runs_last(t);
    char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
    if (strcmp(tiny_runs_text(run, "status"), status) != 0 || strstr(reasons, reason) == NULL)
        fail_msg("%s %s, expected %s and \"%s\"", tiny_runs_text(run, "status"), reasons, status, reason);
    free(reasons);
    json_decref(run);
}

/* ---- never a wrong record ---- */

/* A value of the features in hexadecimal, least byte first, where it goes (float `at`), and the node it is of. */
static const struct {
    const char *name, *bytes, *at;
} bad_values[] = {
    {"a NaN", "\\x00\\x00\\xc0\\x7f", "31"},
    {"an infinity", "\\x00\\x00\\x80\\xff", "0"},
    {"a number whose square is none", "\\xff\\xff\\x7f\\x7f", "7"},
};

/* ReLU makes 0 of a NaN, dropout may drop what comes after: one bad value of one training node is seen all the same,
 * by every system and every model, and its node is named. */
static void one_bad_feature_makes_a_run_invalid(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const variants[] = {
        "--system gnndrive --model sage", "--system pygplus --model gcn",     "--system ginex --model gat",
        "--system agnes --model sage",    "--system ringsampler --model gcn", "--system gnndrive --compute ref",
        "--system agnes --model gat",     "--system pygplus --dropout 0.9",
    };
    char run[RUN_MAX], dir[700], what[64], damage[512];
    (void)snprintf(dir, sizeof dir, "%s/nan", t->dir);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const size_t b = i % 3;
        (void)snprintf(damage, sizeof damage,
                       "N=$(od -An -tu4 -N4 $D/train | tr -d ' ') && echo $N >$D.node && printf '%s' | "
                       "dd of=$D/features-d32 bs=4 seek=$((32 * N + %s)) conv=notrunc status=none",
                       bad_values[b].bytes, bad_values[b].at);
        damaged_copy(t, "nan", damage);
        struct process_result node = process_shell("cat %s.node", dir);
        if (b < 2)
            (void)snprintf(what, sizeof what, "features of node %.20s", strtok(node.out, "\n"));
        else
            (void)snprintf(what, sizeof what, "not finite though every input is");
        process_free(&node);
        process_expect(process_shell("%s %s", usual(t, dir, run), variants[i]), 1, "", variants[i]);
        expect_record(t, "invalid", what);
    }
}

/* A row that only evaluation reads spoils an accuracy. */
static void a_bad_feature_of_a_test_node_is_seen(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], dir[700];
    (void)snprintf(dir, sizeof dir, "%s/nan", t->dir);
    damaged_copy(t, "nan",
                 "N=$(od -An -tu4 -N4 $D/test | tr -d ' ') && printf '\\xff\\xff\\xff\\xff' | "
                 "dd of=$D/features-d32 bs=4 seek=$((32 * N)) conv=notrunc status=none");
    process_expect(process_shell("%s --evaluate last", usual(t, dir, run)), 1, "", "evaluation");
    expect_record(t, "invalid", "are not all finite numbers");
}

static void a_check_names_the_node(void **state)
{
    const struct tiny_runs *const t = *state;
    damaged_copy(t, "nan",
                 "printf '\\xff\\xff\\xff\\xff' | dd of=$D/features-d32 bs=4 seek=165 conv=notrunc status=none");
    process_expect(process_shell("%s prepare %s/nan --check --quiet", process_program(), t->dir), 1,
                   "feature 5 of node 5 is not a finite number", "prepare --check");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_feature_makes_a_run_invalid),
        cmocka_unit_test(a_bad_feature_of_a_test_node_is_seen),
        cmocka_unit_test(a_check_names_the_node),
    };
    return cmocka_run_group_tests_name("hostile", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
