/* SPDX-License-Identifier: MIT */
/* Limits that a run inherits from its container, its user or its shell. A thread that such a limit refuses is a failure
 * of the machine, never the result "oom" of a system. */
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RUN_MAX = 4096 };

/* The usual arguments for a shell. Paths of the fixture hold no blanks. */
static const char *usual(const struct tiny_runs *t, char text[RUN_MAX])
{
    (void)snprintf(text, RUN_MAX,
                   "%s run --dataset papers100m --scale 1/4000 --data %s --db %s --batch 32 --hidden 16 "
                   "--fanout 5,5 --evaluate never --quiet",
                   process_program(), t->data, t->db);
    return text;
}

/* Makes a control group of `controller` at the root of its hierarchy, for the commands of a shell. Skips the test if
 * that is not possible. */
static void need_group(const char *controller, const char *file, const char *value, char dir[256])
{
    const bool v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    (void)snprintf(dir, 256, "/sys/fs/cgroup/%s/oocgnn-test-%ld", v2 ? "." : controller, (long)getpid());
    struct process_result r = process_shell("mkdir %s && echo %s >%s/%s", dir, value, dir, file);
    const bool made = r.exit_status == 0;
    process_free(&r);
    if (made)
        return;
    (void)rmdir(dir);
    skip_test("no control group can be made here");
}

static void expect_failed(const struct tiny_runs *t, struct process_result r, const char *part, const char *what)
{
    process_expect(r, 4, part, what);
    json_t *const run = tiny_runs_last(t);
    assert_int_equal(json_integer_value(json_object_get(run, "oom_kills")), 0);
    tiny_runs_expect_reason(run, "failed", part);
}

/* ---- threads ---- */

/* From the limit at which the supervisor cannot start the worker to those at which a stage lacks a thread. */
static void a_pids_limit_fails_a_run(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], group[256], part[400];
    need_group("pids", "pids.max", "4", group);
    usual(t, run);
    for (int limit = 2; limit <= 10; limit += 2) {
        struct process_result r =
            process_shell("echo %d >%s/pids.max && echo 0 >%s/cgroup.procs && "
                          "exec env OPENBLAS_NUM_THREADS=1 " HANG_TIMEOUT " %s --system gnndrive --compute-threads 1",
                          limit, group, group, run);
        (void)snprintf(part, sizeof part, "control group %s is %d processes and threads, and %d are in use", group,
                       limit, limit);
        expect_failed(t, r, part, "pids.max");
    }
    assert_int_equal(rmdir(group), 0);
}

/* The kernel does not hold root to this limit, so another user runs the program. */
static void a_limit_of_the_user_fails_a_run(void **state)
{
    static const char other[] = "setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all";
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    const bool root = geteuid() == 0;
    assert_int_equal(chmod(t->dir, 0777), 0);
    struct process_result r = process_shell("%s test -x %s -a -w %s", root ? other : "", process_program(), t->dir);
    const bool can = r.exit_status == 0;
    process_free(&r);
    if (!can)
        skip_test("no other user can run the program here");
    r = process_shell("%s bash -c 'ulimit -u 6; exec env OPENBLAS_NUM_THREADS=1 " HANG_TIMEOUT
                      " %s --db %s/user.db --system gnndrive --no-cold'",
                      root ? other : "", usual(t, run), t->dir);
    process_expect(r, 4, "the limit of this user is 6 processes and threads (ulimit -u)", "ulimit -u");
}

/* Stacks do not fit, of real threads and of simulated ones; nor does an allocation. */
static void a_limit_of_the_address_space_fails_a_run(void **state)
{
    static const struct {
        const char *limits, *words, *part;
    } cases[] = {
        {"-v 400000", "--set gnndrive.samplers=120", "MiB are in use, and the stack of a thread takes"},
        {"-v 262144", "--world simulated --profile gnndrive-paper --set gnndrive.samplers=128",
         "cannot start a simulated thread"},
        {"-s 200000 -v 300000", "", "the address space of a process is limited to 293 MiB: raise ulimit -v"},
    };
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer's shadow takes more address space than the limits leave");
    usual(t, run);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_failed(t,
                      process_shell("ulimit %s; exec env OPENBLAS_NUM_THREADS=1 " HANG_TIMEOUT
                                    " %s --system gnndrive --set gnndrive.extractors=64 %s",
                                    cases[i].limits, run, cases[i].words),
                      cases[i].part, cases[i].words);
}

/* ---- memory ---- */

static json_t *run_in(const struct tiny_runs *t, const char *group, const char *words)
{
    char run[RUN_MAX];
    struct process_result r =
        process_shell("%s%s%s; exec %s --system gnndrive %s", group == NULL ? ":" : "echo 0 >",
                      group == NULL ? "" : group, group == NULL ? "" : "/cgroup.procs", usual(t, run), words);
    process_expect(r, 0, "", words);
    return tiny_runs_last(t);
}

static const char *environment_of(const json_t *run, const char *key)
{
    return tiny_runs_text(json_object_get(run, "environment"), key);
}

/* Three runs: without a limit, with that of the group, and with one of its own below that. */
static void an_inherited_memory_limit_is_recorded(void **state)
{
    static const char key[] = "memory.inherited_limit_bytes", identity[] = "run.identity";
    const struct tiny_runs *const t = *state;
    char group[256];
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer's shadow does not fit the limit");
    need_group("memory",
               access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? "memory.max" : "memory.limit_in_bytes", "200M",
               group);
    json_t *const wide = run_in(t, NULL, ""), *const inner = run_in(t, group, "");
    const bool limited = environment_of(wide, key)[0] != '\0'; /* the tests live in a container themselves */
    assert_string_equal(environment_of(inner, key), "209715200");
    assert_true(json_is_null(json_object_get(inner, "cap_bytes")));
    assert_string_not_equal(environment_of(wide, identity), environment_of(inner, identity));
    struct process_result r = process_shell("%s report --runs --last 2 --db %s", process_program(), t->db);
    const char *const parts[] = {"memory limit 200 MiB (inherited)", "gnndrive (limit inherited)",
                                 limited ? "inherited" : "no memory limit", "inherited-memory=200 MiB", NULL};
    process_expect_all(&r, 0, parts);
    process_free(&r);
    r = process_shell("%s report --last 2 --db %s", process_program(), t->db); /* no ratio between the two */
    const char *const summary[] = {"inherited-memory", "gnndrive (limit inherited)", "  200 MiB", "  1.00  ", NULL};
    process_expect_all(&r, 0, summary);
    process_free(&r);
    if (t->confined) {
        json_t *const own = run_in(t, NULL, "--memory 100M"), *const both = run_in(t, group, "--memory 100M");
        assert_string_equal(environment_of(both, key), "209715200");
        assert_string_equal(environment_of(own, identity), environment_of(both, identity));
        json_decref(own);
        json_decref(both);
    }
    json_decref(wide);
    json_decref(inner);
    /* The parameters alone take more than the limit. */
    json_t *const killed = run_in(t, group, "--hidden 4096 --fanout 5,5,5");
    tiny_runs_expect_reason(killed, "oom", "it does not fit into 200 MiB, the memory limit of its container");
    assert_int_equal(rmdir(group), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pids_limit_fails_a_run),
        cmocka_unit_test(a_limit_of_the_user_fails_a_run),
        cmocka_unit_test(a_limit_of_the_address_space_fails_a_run),
        cmocka_unit_test(an_inherited_memory_limit_is_recorded),
    };
    return cmocka_run_group_tests(tests, tiny_runs_set_up, tiny_runs_tear_down);
}
