/* SPDX-License-Identifier: MIT */
/* The regression gate from outside: builds that got slower, read more, hit less or drew other blocks end it with status
 * 3, unchanged ones do not; what is accepted is kept. Builds with a planted change are scripts before the program. */
#include "tests/support/must.h"
#include "tests/support/place.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct gate {
    struct place *place;
    const char *dir, *jobs, *program; /* of place; the jobs lie in its folder */
    char baseline[600];
};

static int set_up(void **state)
{
    void *place;
    struct gate *const g = calloc(1, sizeof *g);
    assert_non_null(g);
    (void)place_set_up(&place);
    g->place = place;
    g->dir = g->jobs = g->place->dir;
    g->program = g->place->program;
    (void)snprintf(g->baseline, sizeof g->baseline, "%s/baseline.json", g->dir);
    process_write_file(g->dir, "exact.ini", 0644, "%s",
                       PLACE_CELLS("2") "[pygplus]\nsystem = pygplus\nmemory = 8M\n[ginex]\nsystem = ginex\n"
                                        "ginex.feature_cache = 1M\nginex.samplers = 4\n");
    process_write_file(g->dir, "instructions.ini", 0644, "%s", PLACE_CELLS("2") "[null]\nsystem = null\n");
    process_write_file(g->dir, "time.ini", 0644, "[one]\nsystem = null\ndataset = papers100m\n");
    struct process_result r =
        process_shell("%s baseline %s %s --jobs %s --no-instructions", g->program, g->program, g->baseline, g->jobs);
    const bool ready = r.exit_status == 0;
    if (!ready)
        print_error("%s", r.err);
    process_free(&r);
    *state = g;
    return ready ? 0 : -1;
}

static int tear_down(void **state)
{
    struct gate *const g = *state;
    void *place = g->place;
    (void)place_tear_down(&place);
    free(g);
    return 0;
}

/* ---- exact values ---- */

static void an_unchanged_build_is_green(void **state)
{
    const struct gate *const g = *state;
    struct process_result r =
        process_shell("%s compare %s %s --jobs %s --no-instructions", g->program, g->baseline, g->program, g->jobs);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    must_show(r.out, "No regression: 0 red, 0 accepted, 0 noted");
    must_show(r.out, "exact values of 2 runs were compared");
    process_free(&r);
}

/* What the gate runs by itself: a run that ends at once would compare nothing. */
static void every_run_of_the_gate_ends_well(void **state)
{
    const struct gate *const g = *state;
    struct process_result r = process_shell(
        "for j in exact instructions; do %s sweep workloads/gate/$j.ini --db %s/$j.db --json >%s/out || exit 1; "
        "[ $(grep -c '\"status\":\"ok\"' %s/out) = $(grep -c '^system' workloads/gate/$j.ini) ] || exit 2; done; "
        "for j in time gpu/time; do grep -q '^evaluate = never' workloads/gate/$j.ini || exit 3; done",
        g->program, g->dir, g->dir, g->dir);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s", r.exit_status, r.err);
    process_free(&r);
}

/* A system that no job file has could get slower without a word. */
static void every_system_is_in_the_jobs_of_the_gate(void **state)
{
    const struct gate *const g = *state;
    struct process_result r =
        process_shell("for s in $(%s list systems | cut -d' ' -f1); do for j in exact instructions time; do "
                      "[ $s = null ] || grep -q \"^system = $s$\" workloads/gate/$j.ini || "
                      "echo $s $j; done; done; %s list systems | wc -l",
                      g->program, g->program);
    assert_int_equal(r.exit_status, 0);
    assert_int_equal(strspn(r.out, " 0123456789\n"), strlen(r.out)); /* nothing but the number of systems */
    assert_true(strtol(r.out, NULL, 10) >= 9);
    process_free(&r);
}

/* The real program with an option more, which its record does not show. */
static void plant(const struct gate *g, const char *name, const char *options, const char *hidden)
{
    process_write_file(g->dir, name, 0755,
                       "#!/bin/bash\nset -o pipefail\n[ \"$1\" = run ] || exec %s \"$@\"\n"
                       "%s \"$@\" %s | sed 's/\"%s\":\"[^\"]*\",//'\n",
                       g->program, g->program, options, hidden);
}

static void a_planted_change_is_red(void **state)
{
    const struct gate *const g = *state;
    static const struct {
        const char *options, *hidden, *shown;
    } cases[] = {
        {"--fault device-slowdown=1.03", "fault", "pygplus epoch 0 wall_ns"},                     /* 3 % slower */
        {"--set pygplus.readahead=off", "pygplus.readahead", "pygplus epoch 0 device_read_ios"},  /* other reads */
        {"--set ginex.feature_cache=1000000", "ginex.feature_cache", "ginex epoch 0 cache_hits"}, /* lost hits */
        {"--seed 2", "seed", "ginex epoch 0 batch_digest"},                                       /* other blocks */
    };
    char build[800];
    (void)snprintf(build, sizeof build, "%s/planted", g->dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plant(g, "planted", cases[i].options, cases[i].hidden);
        struct process_result r = process_shell("%s compare %s %s --jobs %s --no-instructions --rows 1000", g->program,
                                                g->baseline, build, g->jobs);
        if (r.exit_status != 3)
            fail_msg("%s: exit %d: %s%s", cases[i].options, r.exit_status, r.out, r.err);
        must_show(r.out, "Regression: ");
        must_show(r.out, cases[i].shown);
        process_free(&r);
    }
}

/* As another default does: the record shows the option. What changed by it is red, and nothing is gone. */
static void a_changed_default_is_named(void **state)
{
    const struct gate *const g = *state;
    plant(g, "default-build", "--set pygplus.readahead=off", "none");
    struct process_result r = process_shell("%s compare %s %s/default-build --jobs %s --no-instructions --rows 1000",
                                            g->program, g->baseline, g->dir, g->jobs);
    assert_int_equal(r.exit_status, 3);
    must_show(r.out, "Configuration changed\n  note     pygplus readahead: ");
    must_show(r.out, "pygplus epoch 0 device_read_ios: ");
    assert_null(strstr(r.out, "Runs that are gone"));
    must_show(r.out, "exact values of 2 runs were compared.");
    process_free(&r);
}

/* The reason is kept, the next comparison of the same builds is green, and another change is not. */
static void an_accepted_change_is_kept(void **state)
{
    const struct gate *const g = *state;
    char build[800], kept[800];
    (void)snprintf(build, sizeof build, "%s/accepted-build", g->dir);
    (void)snprintf(kept, sizeof kept, "%s/accepted.json", g->dir);
    plant(g, "accepted-build", "--fault device-slowdown=1.03", "fault");
    const char *const against = "%s compare %s %s --jobs %s --no-instructions --accepted %s";
    struct process_result r =
        process_shell("%s compare %s %s --jobs %s --no-instructions --accepted %s --accept 'a slower disk'", g->program,
                      g->program, build, g->jobs, kept);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    must_show(r.out, "accepted: a slower disk");
    process_free(&r);
    r = process_shell(against, g->program, g->program, build, g->jobs, kept);
    assert_int_equal(r.exit_status, 0);
    must_show(r.out, "No regression: 0 red");
    process_free(&r);
    plant(g, "accepted-build", "--fault device-slowdown=1.04", "fault");
    r = process_shell(against, g->program, g->program, build, g->jobs, kept);
    assert_int_equal(r.exit_status, 3);
    process_free(&r);
}

static void a_baseline_takes_what_is_accepted(void **state)
{
    const struct gate *const g = *state;
    char build[800], own[800];
    (void)snprintf(build, sizeof build, "%s/next-build", g->dir);
    (void)snprintf(own, sizeof own, "%s/own.json", g->dir);
    plant(g, "next-build", "--fault device-slowdown=1.03", "fault");
    struct process_result r = process_shell("cp %s %s && %s compare %s %s --jobs %s --no-instructions --accept because",
                                            g->baseline, own, g->program, own, build, g->jobs);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    process_free(&r);
    r = process_shell("%s compare %s %s --jobs %s --no-instructions", g->program, own, build, g->jobs);
    assert_int_equal(r.exit_status, 0);
    must_show(r.out, "0 red, 0 accepted");
    process_free(&r);
    r = process_shell("grep -c '\"reason\": \"because\"' %s", own);
    assert_string_equal(r.out, "1\n");
    process_free(&r);
}

static void databases_are_compared(void **state)
{
    const struct gate *const g = *state;
    struct process_result r = process_shell(
        "D=%s P=%s; $P sweep $D/exact.ini --db $D/a.db --json >$D/out && $P sweep $D/exact.ini --db $D/b.db "
        "--json >$D/out && $P compare $D/a.db $D/b.db",
        g->dir, g->program);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    must_show(r.out, "exact values of 2 runs were compared");
    process_free(&r);
    r = process_shell("%s run --system null --dataset papers100m --scale 1/4000 --dim 100 --world simulated --profile "
                      "tests/golden/machine.ini --db %s/c.db --quiet >%s/out && %s compare %s/a.db %s/c.db",
                      g->program, g->dir, g->dir, g->program, g->dir, g->dir);
    process_expect(r, 2, "nothing to compare", "databases without a common run");
}

static void a_summary_is_appended(void **state)
{
    const struct gate *const g = *state;
    char build[800];
    (void)snprintf(build, sizeof build, "%s/summary-build", g->dir);
    plant(g, "summary-build", "--seed 2", "seed");
    struct process_result r =
        process_shell("echo before >%s/page.md; %s compare %s %s --jobs %s --no-instructions --summary "
                      "%s/page.md >%s/out; echo \"status $?\"; cat %s/page.md",
                      g->dir, g->program, g->baseline, build, g->jobs, g->dir, g->dir, g->dir);
    must_show(r.out, "status 3\nbefore\n## Regression: ");
    must_show(r.out, "### Exact values\n\n| | run | value | base | head | |\n");
    process_free(&r);
}

/* ---- measured time, with builds whose epochs take what the test says ---- */

/* A build whose later epochs, first epoch and opening take these times, and up to 1 % more. gpu: an expression of the
 * shell that is the time of its kernels in ns, or "null". It cannot read a database that another build wrote. */
static void fake_build(const struct gate *g, const char *name, const char *epoch, const char *first,
                       const char *opening, const char *gpu)
{
    process_write_file(g->dir, name, 0755,
                       "#!/bin/bash\ncase $1 in\n"
                       "sweep) echo 'configuration 1 [one]: oocgnn run --system=null --dataset=a b --set null.x=1' ;;\n"
                       "run) [ \"$3\" = '--dataset=a b' ] && [ \"$4\" = --set=null.x=1 ] || exit 9\n"
                       "    while [[ $1 != --db=* ]]; do shift; done\n"
                       "    db=${1#--db=}; [ \"$(cat \"$db\" 2>/dev/null || echo %s)\" = %s ] || exit 9\n"
                       "    echo %s >\"$db\"\n"
                       "    n=$(cat %s/count 2>/dev/null || echo 0); echo $((n + 1)) >%s/count\n"
                       "    of() { echo $(($1 / 10000 * (10000 + (n * 7919 + 13) %% 101))); }\n"
                       "    echo '{\"status\": \"ok\", \"world\": \"measured\", \"config\": {\"system\": \"null\"}, "
                       "\"environment\": {\"system.open_ns\": \"'$(of %s)'\"}, "
                       "\"epochs\": [{\"wall_ns\": '$(of %s)'}, {\"wall_ns\": '$(of %s)', \"figures\": "
                       "{\"gpu_busy_ns\": '%s'}}]}' ;;\n"
                       "esac\n",
                       name, name, name, g->dir, g->dir, opening, first, epoch, gpu);
}

static struct process_result time_of(const struct gate *g, const char *base, const char *head)
{
    return process_shell(
        "rm -f %s/count; %s compare %s/%s %s/%s --jobs %s --no-exact --no-instructions --time --samples "
        "%s/samples.csv",
        g->dir, g->program, g->dir, base, g->dir, head, g->jobs, g->dir);
}

/* An epoch, a first epoch, an opening, a GPU's kernels: each slower alone, and kernels whose time is gone. */
static void times_are_judged_from_pairs(void **state)
{
    const struct gate *const g = *state;
    static const struct {
        const char *name, *epoch, *first, *opening, *gpu, *shown;
    } slow[] = {
        {"slow", "1030000000", "2000000000", "100000000", "$(of 500000000)", "red      one epoch: "},
        {"cold", "1000000000", "2060000000", "100000000", "$(of 500000000)", "red      one first epoch: "},
        {"opens", "1000000000", "2000000000", "103000000", "$(of 500000000)", "red      one opening: "},
        {"kernels", "1000000000", "2000000000", "100000000", "$(of 515000000)", "red      one GPU kernels: "},
        {"blind", "1000000000", "2000000000", "100000000", "null", "red      one GPU kernels: - -> gone  gone: "},
    };
    fake_build(g, "usual", "1000000000", "2000000000", "100000000", "$(of 500000000)");
    fake_build(g, "same", "1000000000", "2000000000", "100000000", "$(of 500000000)");
    struct process_result r = time_of(g, "usual", "same");
    if (r.exit_status != 0)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    must_show(r.out, "4 times were measured in interleaved pairs; 0 without a verdict");
    process_free(&r);
    r = process_shell("wc -l <%s/samples.csv; head -1 %s/samples.csv; cat %s/count", g->dir, g->dir, g->dir);
    must_show(r.out, "41\ncell,metric,pair,first,base_ns,head_ns\n22\n"); /* ten pairs, and a run of each before */
    process_free(&r);
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        fake_build(g, slow[i].name, slow[i].epoch, slow[i].first, slow[i].opening, slow[i].gpu);
        r = time_of(g, "usual", slow[i].name);
        if (r.exit_status != 3)
            fail_msg("%s: exit %d: %s%s", slow[i].name, r.exit_status, r.out, r.err);
        must_show(r.out, ": 1 red, ");
        must_show(r.out, slow[i].shown);
        if (strcmp(slow[i].gpu, "null") != 0)
            must_show(r.out, "slower, and again in a second set of pairs: +");
        process_free(&r);
    }
}

/* ---- instructions ---- */

/* The line that says why instructions were not counted; "": they were. */
static void reason_of(const char *out, char reason[256])
{
    const char *const why = strstr(out, "Left out: instruction counts: ");
    (void)snprintf(reason, 256, "%.*s", why == NULL ? 0 : (int)strcspn(why, "\n"), why == NULL ? "" : why);
}

static void instructions_repeat(void **state)
{
    const struct gate *const g = *state;
    struct process_result r =
        process_shell("%s compare %s %s --jobs %s --no-exact", g->program, g->program, g->program, g->jobs);
    if (r.exit_status != 0)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    const bool counted = strstr(r.out, "Instruction counts of ") != NULL;
    char reason[256];
    reason_of(r.out, reason);
    process_free(&r);
    if (!counted && reason[0] == '\0')
        fail_msg("neither counted nor said why not");
    if (!counted)
        skip_test("%s", reason);
}

/* The loops of sampling are hot in the gate's own job, and 1 % more work in one is red by its name. BASE is a baseline
 * with 1 % less. */
static void a_slower_sampler_is_red(void **state)
{
    const struct gate *const g = *state;
    struct process_result r =
        process_shell("D=%s/sampler P=%s; mkdir -p $D; cp %s/exact.ini $D; "
                      "sed '/^\\[gnndrive\\]/,$d' workloads/gate/instructions.ini >$D/instructions.ini; "
                      "$P baseline $P $D/full.json --jobs $D >$D/out 2>&1 || exit 1; "
                      "n=$(sed -n 's/.*\"pygplus: gnn_sampler_sample\": \"\\([0-9]*\\)\".*/\\1/p' $D/full.json); "
                      "[ -n \"$n\" ] || { grep -o 'no instruction counts: .*' $D/out; exit 77; }; "
                      "sed \"/pygplus: gnn_sampler_sample/s/$n/$((n * 100 / 101))/\" $D/full.json >$D/base.json; "
                      "$P compare $D/base.json $P --jobs $D --no-exact --require instructions",
                      g->dir, g->program, g->dir);
    if (r.exit_status == 77)
        skip_test("%s", r.out);
    if (r.exit_status != 3)
        fail_msg("exit %d: %s%s", r.exit_status, r.out, r.err);
    must_show(r.out, "Regression: 1 red");
    must_show(r.out, "  red      pygplus gnn_sampler_sample: ");
    process_free(&r);
}

/* A part that must run and does not is an error, after everything else was reported. */
static void a_required_part_is_not_left_out(void **state)
{
    const struct gate *const g = *state;
    static const struct {
        const char *arguments; /* $B: a baseline without counts, $P: the program */
        int exit_status;
        const char *message;
    } cases[] = {
        {"$B $P --require instructions", 4, "--require instructions: the part was left out: "},
        {"$B $P --require exact,instructions --accept why", 4, "--require instructions: the part was left out: "},
        {"$B $B --require exact --no-instructions", 0, ""},
        {"$B $B --require time", 2, "--require time: this part is switched off; add --time"},
        {"$B $B --require instructions --no-instructions", 2, "add --instructions"},
        {"$B $B --require exact,times", 2, "\"times\" is no part; parts are exact, instructions and time"},
        {"$B $B --require ,", 2, "\"\" is no part"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        process_expect(
            process_shell("B=%s P=%s; $P compare %s --jobs %s", g->baseline, g->program, cases[i].arguments, g->jobs),
            cases[i].exit_status, cases[i].message, cases[i].arguments);
}

/* ---- wrong usage ---- */

static void wrong_usage(void **state)
{
    const struct gate *const g = *state;
    static const struct {
        const char *arguments; /* $B: the baseline, $P: the program, $D: the test's folder */
        int exit_status;
        const char *message;
    } cases[] = {
        {"compare $B", 2, "expected BASE and HEAD"},
        {"compare $B $B $B", 2, "unexpected argument"},
        {"compare nosuch.db $B", 2, "BASE \"nosuch.db\": No such file or directory; name a build"},
        {"compare $B nosuch.db", 2, "HEAD \"nosuch.db\": No such file or directory; name a build"},
        {"compare '' $B", 2, "BASE \"\": No such file"},
        {"compare $D $B", 2, "Is a directory; name a build"},
        {"compare $D/empty $B", 2, "it is empty; name a build"},
        {"compare /bin/true $B", 1, "the plan has no configuration; is it a build of oocgnn?"},
        {"compare /bin/false $B", 1, "it ended with status 1; is it a build of oocgnn?"},
        {"compare $B README.md", 2, "neither a database of runs, nor a baseline"},
        {"compare $B $B --no-exact --no-instructions", 2, "add --time"},
        {"compare $B $P --time", 2, "two builds"},
        {"compare $P $P --accept why", 2, "--accepted FILE"},
        {"compare $B $B --accepted $D/nosuch.json", 2, "no such file"},
        {"compare $B $B --accepted $D/empty", 2, "an empty file, and no baseline; `oocgnn baseline BUILD "},
        {"compare $B $B --accepted $D", 2, "no plain file, and no baseline"},
        {"compare $B $B --accepted README.md", 1,
         "name a baseline file, as `oocgnn baseline BUILD README.md` writes one"},
        {"compare $B $B --samples $D/samples.csv", 2, "add --time"},
        {"compare $B $B --summary $D/no/page.md", 2, "Name a file in a directory that you may write to."},
        {"compare $P $P --time --samples /proc/no.csv", 2, "--samples /proc/no.csv: No such file or directory. Name"},
        {"compare $P $B --accept why --accepted /proc/no.json", 2,
         "--accepted /proc/no.json: No such file or directory."},
        {"compare $P $P --jobs $D/nosuch", 2, "no exact.ini"},
        {"compare $B $B --pairs 3", 2, "option pairs"},
        {"baseline $P", 2, "expected BUILD or DATABASE, and OUT"},
        {"baseline a b c", 2, "unexpected argument"},
        {"baseline nosuch $D/new.json", 2, "BUILD or DATABASE \"nosuch\": No such file"},
        {"baseline $B $D/no/new.json", 2, "Name a file in a directory that you may write to."},
        {"baseline $P $D", 2, "Is a directory. Name a file"},
    };
    process_write_file(g->dir, "empty", 0644, "%s", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        process_expect(process_shell("B=%s P=%s D=%s; $P %s", g->baseline, g->program, g->dir, cases[i].arguments),
                       cases[i].exit_status, cases[i].message, cases[i].arguments);
    struct process_result r = process_shell("mkdir %s/tmp; TMPDIR=%s/tmp %s compare %s %s; ls %s/tmp | wc -l", g->dir,
                                            g->dir, g->program, g->baseline, g->baseline, g->dir);
    must_show(r.out, "compared.\n");
    assert_non_null(strstr(r.out, "\n0\n")); /* nothing is left behind */
    process_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_build_is_green),
        cmocka_unit_test(every_run_of_the_gate_ends_well),
        cmocka_unit_test(every_system_is_in_the_jobs_of_the_gate),
        cmocka_unit_test(a_planted_change_is_red),
        cmocka_unit_test(a_changed_default_is_named),
        cmocka_unit_test(an_accepted_change_is_kept),
        cmocka_unit_test(a_baseline_takes_what_is_accepted),
        cmocka_unit_test(databases_are_compared),
        cmocka_unit_test(a_summary_is_appended),
        cmocka_unit_test(times_are_judged_from_pairs),
        cmocka_unit_test(instructions_repeat),
        cmocka_unit_test(a_slower_sampler_is_red),
        cmocka_unit_test(a_required_part_is_not_left_out),
        cmocka_unit_test(wrong_usage),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
