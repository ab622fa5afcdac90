/* SPDX-License-Identifier: MIT */
/* Hostile input and careless use: damaged values, names that other programs would execute, databases that keep nothing,
 * limits of the shell. Nothing wrong is recorded, nothing is executed, nothing is lost, and every command ends. */
#include "tests/support/data_files.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Prints a training node; the node that most neighbour lists have. */
static const char train_node[] = "od -An -tu4 -N4 $D/train | tr -d ' '";
static const char neighbour[] =
    "od -An -v -tu4 -w4 $D/indices | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }'";

/* In a dataset without checksums of blocks: with them the run does not begin, as cli/faults has it.
 * ReLU makes 0 of a NaN, dropout may drop what comes after: one bad value of one training node is seen all the same,
 * by every system and every model, and its node is named. In GCN, which has no self-loop, a row counts for those it is
 * a neighbour of. */
static void one_bad_feature_makes_a_run_invalid(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const variants[] = {
        "--system gnndrive --model sage", "--system pygplus --model gcn",     "--system ginex --model gat",
        "--system agnes --model sage",    "--system ringsampler --model gcn", "--system gnndrive --compute ref",
        "--system agnes --model gat",     "--system pygplus --dropout 0.9",   "--system diskgnn --model sage",
    };
    char run[RUN_MAX], dir[700], what[64], damage[512];
    (void)snprintf(dir, sizeof dir, "%s/nan", t->dir);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const size_t b = i % 3;
        (void)snprintf(damage, sizeof damage,
                       "sed -i /^param.blocks/d $D/meta && N=$(%s) && echo $N >$D.node && printf '%s' | "
                       "dd of=$D/features-d32 bs=4 seek=$((32 * N + %s)) conv=notrunc status=none",
                       strstr(variants[i], "gcn") != NULL ? neighbour : train_node, bad_values[b].bytes,
                       bad_values[b].at);
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
                 "sed -i /^param.blocks/d $D/meta && "
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

/* A run that ends before its dataset is open stands in the comparison with those that got further. */
static void an_early_end_has_its_dataset(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const ends[] = {"--memory 1M", "--time-limit 1us", ""};
    char run[RUN_MAX], dir[700];
    (void)snprintf(dir, sizeof dir, "%s/papers100m-1_4000", t->data);
    for (size_t i = 0; i < 3; i++) {
        if (i == 0 && !t->confined)
            continue;
        process_expect(process_shell("%s %s", usual(t, dir, run), ends[i]), 0, "", ends[i]);
        json_t *const record = tiny_runs_last(t);
        assert_string_equal(tiny_runs_text(record, "dataset"), "papers100m");
        assert_string_equal(tiny_runs_text(record, "scale"), "1/4000");
        assert_int_equal(json_integer_value(json_object_get(record, "dim")), 32);
        assert_true(json_is_integer(json_object_get(record, "dataset_bytes")));
        assert_int_equal(strlen(tiny_runs_text(json_object_get(record, "environment"), "dataset.digest")), 32);
        json_decref(record);
    }
    process_expect(process_shell("%s --scale 1/7", usual(t, dir, run)), 2, "has scale 1/4000", "another scale");
    process_expect(process_shell("%s --scale 1/4000", usual(t, dir, run)), 0, "", "its own scale");
}

static void a_seed_is_stored_as_it_was(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    usual(t, "papers100m --scale 1/4000", run);
    process_expect(process_shell("%s --seed 18446744073709551615", run), 2, "at most 9223372036854775807", "a seed");
    process_expect(process_shell("%s --seed 9223372036854775807", run), 0, "", "the largest seed");
    json_t *const record = tiny_runs_last(t);
    assert_true(json_integer_value(json_object_get(record, "seed")) == INT64_MAX);
    json_decref(record);
}

static int count_stopped(pid_t a, pid_t b)
{
    struct process_result r =
        process_shell("cat /proc/%ld/status /proc/%ld/status | grep -c 'State:.*T (stopped)'", (long)a, (long)b);
    const int count = (int)strtol(r.out, NULL, 10);
    process_free(&r);
    return count;
}

/* Ctrl-Z stops the worker too, `fg` lets both go on to the end; such times are not the machine's. */
static void a_stopped_run_is_stopped_and_invalid(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {"--system", "gnndrive", "--epochs", "60", "--evaluate", "never", NULL};
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, more, argv);
    const pid_t supervisor = process_start(argv);
    const pid_t worker = tiny_runs_worker_of(supervisor);
    assert_true(worker > 0);
    assert_int_equal(kill(supervisor, SIGTSTP), 0);
    int stopped = 0;
    uint32_t naps = 0;
    while (stopped < 2 && patient(&naps))
        stopped = count_stopped(supervisor, worker);
    assert_int_equal(kill(supervisor, SIGCONT), 0);
    const int end = process_wait(supervisor);
    assert_int_equal(stopped, 2);
    assert_int_equal(end, 1);
    expect_record(t, "invalid", "the worker was stopped (Ctrl-Z or SIGSTOP)");
}

/* What others do to a run while it lasts: $P is the supervisor, $W the worker, $D the dataset, $G the memory group. */
static const struct {
    const char *command, *reason;
    bool confined;
} disturbances[] = {
    {"mv $D $D.old; cp -r $D.old $D; rm -r $D.old", "while the run read it", false},
    {"printf x | dd of=$D/labels conv=notrunc status=none", "while the run read it", false},
    {"touch $D/indices", "while the run read it", false},
    {"kill -STOP $W; sleep 0.05; kill -CONT $W", "the worker was stopped", false},
    {"echo $((80 << 20)) >$G/memory.limit_in_bytes || echo $((80 << 20)) >$G/memory.max", "the memory limit from",
     true},
    {"for t in $W; do echo $t >$(dirname $G)/cgroup.procs; done", "out of its control group", true},
};

static void a_disturbed_run_is_invalid(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    for (size_t i = 0; i < sizeof disturbances / sizeof disturbances[0]; i++) {
        if (disturbances[i].confined && !t->confined)
            continue;
        struct process_result r = process_shell(
            "D=%s/moved; rm -rf $D $D.trace; cp -r %s/papers100m-1_4000 $D; %s --dataset $D --epochs 200 %s "
            "--trace-loss "
            "$D.trace >%s/log 2>&1 & P=$!; D=%s/moved; for i in {1..60000}; do test -s $D.trace && break; sleep 0.01; "
            "done; "
            "W=$(pgrep -P $P); G=$(find /sys/fs/cgroup -type d -path '*memory*' -name \"oocgnn-$P-*\" | head -1); "
            "test -n \"$G\" || G=$(find /sys/fs/cgroup -type d -name \"oocgnn-$P-*\" | head -1); %s; wait $P",
            t->dir, t->data, usual(t, "x", run), disturbances[i].confined ? "--memory 96M" : "", t->dir, t->dir,
            disturbances[i].command);
        if (r.exit_status != 1)
            fail_msg("%s: exit %d\n%s%s", disturbances[i].command, r.exit_status, r.out, r.err);
        process_free(&r);
        expect_record(t, "invalid", disturbances[i].reason);
    }
}

/* ---- never an unlike comparison ---- */

static void unlike_runs_are_told_apart(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    struct tiny_runs other = *t;
    (void)snprintf(other.db, sizeof other.db, "%s/unlike.db", t->dir);
    const char *const db = other.db;
    usual(&other, "papers100m --scale 1/4000", run);
    process_expect(
        process_shell("%s && %s --seed 2 && %s --hidden 8 && %s --hidden 8 --lr 0.5 --io pool", run, run, run, run), 0,
        "", "four runs");
    const char *const report = process_program();
    struct process_result r = process_shell("%s report --runs --db %s", report, db);
    assert_non_null(strstr(r.out, "hidden=16 lr=0.003: run 1 2\n"));
    assert_non_null(strstr(r.out, "hidden=8 lr=0.003: run 3\n"));
    assert_non_null(strstr(r.out, "hidden=8 lr=0.5: run 4\n"));
    process_free(&r);
    r = process_shell("%s report --db %s --series hidden --where lr=3e-3 --json | wc -l", report, db);
    assert_string_equal(r.out, "3\n");
    process_free(&r);
    r = process_shell("%s report --db %s --series lr --json | wc -l", report, db); /* io differs too: left out */
    assert_string_equal(r.out, "1\n");
    process_free(&r);
    r = process_shell("%s report --db %s --where hidden=16 --json | wc -l", report, db);
    assert_string_equal(r.out, "2\n");
    process_free(&r);
    process_expect(process_shell("%s report --db %s --where hiden=16", report, db), 2, "did you mean \"hidden\"",
                   "where");
    process_expect(process_shell("%s report --db %s --series gnndrive.slot", report, db), 2, "slots", "series");
    process_expect(process_shell("%s report 1 --db %s --series lr", report, db), 2, "leave RUN", "series of a run");
    r = process_shell("%s report 1 1 1 --db %s --json | wc -l", report, db);
    assert_string_equal(r.out, "1\n");
    process_free(&r);
}

/* ---- nothing is executed ---- */

static const char *const odd_names[] = {
    "`touch pwned`", "\"; touch pwned; \"",          "a:b", "<script>", "$(touch pwned)", "%s%n%s",
    "--help",        "gr\xc3\xbcner '; !touch pwned"};

/* Makes a SNAP edge list of 200 nodes in the fixture's directory. */
static void write_edges(const struct tiny_runs *t)
{
    process_expect(process_shell("for i in {0..199}; do echo $i $(((i * 7 + 1) %% 200)); done >%s/edges", t->dir), 0,
                   "", "edges");
}

static const char import_options[] = "--format snap --dim 4 --classes 3 --train-fraction 0.5 --quiet";

/* Through import, run, JSON, table and picture: the name, which bash has in $N, is what it is. */
static void names_are_data(void **state)
{
    const struct tiny_runs *const t = *state;
    write_edges(t);
    for (size_t i = 0; i < sizeof odd_names / sizeof odd_names[0]; i++) {
        assert_int_equal(setenv("N", odd_names[i], 1), 0);
        struct process_result r = process_shell(
            "O=$(realpath %s) && cd %s && rm -rf odd && mkdir odd && cd odd && "
            "$O prepare ./\"$N\" --out set --from ../edges %s >&2 && "
            "$O run --system pygplus --dataset ./set --db x.db --batch 20 --hidden 8 --fanout 2,2 --quiet --json && "
            "$O report --db x.db >&2 && { test %zu -gt 2 || ! type gnuplot >&2 || $O report --db x.db --plot pl >&2; } "
            "&& "
            "test -z \"$(find . -name 'pwned*')\"",
            process_program(), t->dir, import_options, i);
        json_t *const run = json_loads(r.out, 0, NULL);
        if (r.exit_status != 0 || strcmp(tiny_runs_text(run, "dataset"), odd_names[i]) != 0)
            fail_msg("%s: exit %d\n%s%s", odd_names[i], r.exit_status, r.out, r.err);
        json_decref(run);
        process_free(&r);
    }
    (void)unsetenv("N");
}

static void names_that_no_file_can_hold_are_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const names[] = {"$'new\nline'", "$'esc\e[31m'", "$'no \xff text'", "$(printf 'x%.0s' {1..64})"};
    write_edges(t);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        process_expect(process_shell("cd %s && $OLDPWD/%s prepare %s --out bad --from edges %s; s=$?; test ! -e bad && "
                                     "exit $s",
                                     t->dir, process_program(), names[i], import_options),
                       2, "the name of", names[i]);
    damaged_copy(t, "named", "sed -i '/^name/s/=.*/= /' $D/meta");
    process_expect(process_shell("%s prepare %s/named --check", process_program(), t->dir), 1, "name is empty",
                   "no name");
    damaged_copy(t, "named", "sed -i $'/^name/s/$/\\xff/' $D/meta");
    process_expect(process_shell("%s prepare %s/named --check", process_program(), t->dir), 1, "no UTF-8", "bytes");
    damaged_copy(t, "named", "sed -i 's/$/\\r/' $D/meta");
    process_expect(process_shell("%s prepare %s/named --check", process_program(), t->dir), 1, "carriage return", "CR");
}

/* A name in a database that somebody else wrote: JSON is printed all the same. */
static void a_foreign_name_stops_no_report(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    usual(t, "papers100m --scale 1/4000", run);
    struct process_result r = process_shell(
        "type sqlite3 >/dev/null || exit 127; %s --db %s/odd.db >/dev/null && sqlite3 %s/odd.db \"UPDATE runs SET "
        "dataset = CAST(X'41ff0a1b5b33316d' AS TEXT)\" && %s report --db %s/odd.db --json && "
        "%s report --db %s/odd.db | grep -c $'\\e'",
        run, t->dir, t->dir, process_program(), t->dir, process_program(), t->dir);
    if (r.exit_status == 127)
        skip_test("no sqlite3");
    assert_non_null(strstr(r.out, "\"dataset\":\"A?"));
    assert_non_null(strstr(r.out, "}\n0\n"));
    process_free(&r);
}

static void paths_that_fio_would_read_are_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const paths[] = {"c:d", "$HOME", "`touch pwned`", "x;y"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        process_expect(
            process_shell("cd %s && $OLDPWD/%s calibrate --quick --out this.ini --device '%s'; s=$?; test ! -e c "
                          "-a ! -e pwned && exit $s",
                          t->dir, process_program(), paths[i]),
            2, "fio gives a meaning to", paths[i]);
}

/* A pipe in the place of a file would hold whoever opens it. */
static void pipes_are_no_files(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const files[] = {"meta", "indptr", "indices", "labels", "train", "features-d32"};
    char run[RUN_MAX], dir[700], damage[200];
    (void)snprintf(dir, sizeof dir, "%s/pipes", t->dir);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(damage, sizeof damage, "rm $D/%s && mkfifo $D/%s", files[i], files[i]);
        damaged_copy(t, "pipes", damage);
        struct process_result r = process_shell(HANG_TIMEOUT " %s", usual(t, dir, run));
        if (r.exit_status == 0 || r.exit_status == 124 || strstr(r.err, "no regular file") == NULL)
            fail_msg("%s: exit %d\n%s", files[i], r.exit_status, r.err);
        process_free(&r);
        r = process_shell(HANG_TIMEOUT " %s prepare %s --check", process_program(), dir);
        assert_int_equal(r.exit_status, 1);
        process_free(&r);
    }
    process_expect(process_shell("mkfifo %s/db; " HANG_TIMEOUT " %s --db %s/db", t->dir,
                                 usual(t, "papers100m --scale 1/4000", run), t->dir),
                   2, "no regular file", "a pipe as database");
}

/* ---- nothing is lost ---- */

static void a_database_that_keeps_nothing_is_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const names[] = {"", ":memory:", "file:foo.db?mode=memory", ".", "/tmp"};
    char run[RUN_MAX];
    usual(t, "papers100m --scale 1/4000", run);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        process_expect(process_shell("%s --db '%s'", run, names[i]), 2, "name a file", names[i]);
        process_expect(
            process_shell("printf '[global]\nsystem = null\ndataset = papers100m\nscale = 1/4000\ndata = %s\n"
                          "[x]\ndb = %s\n' >%s/job && %s sweep %s/job",
                          t->data, names[i], t->dir, process_program(), t->dir),
            2, "name a file", names[i]);
    }
    process_expect(
        process_shell("printf '[x]\nsystem = null\ndataset = papers100m\ndata = %s\n' >%s/job; %s sweep %s/job "
                      "--db ''",
                      t->data, t->dir, process_program(), t->dir),
        2, "keeps nothing", "sweep --db ''");
}

/* A database that this user may not write, or whose mount is read-only, is read all the same. */
static void a_database_is_read_without_permission_to_write(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], mine[600];
    if (geteuid() != 0)
        skip_test("takes root");
    (void)snprintf(mine, sizeof mine, "%s/r#o?%%41", t->dir);
    struct process_result r =
        process_shell("mkdir -p '%s' && %s --db '%s/x.db'", mine, usual(t, "papers100m --scale 1/4000", run), mine);
    process_expect(r, 0, "", "a run");
    process_expect(
        process_shell("chmod 755 %s && cp %s /tmp/oocgnn-$$ && setpriv --reuid=65534 --regid=65534 "
                      "--clear-groups /tmp/oocgnn-$$ report --db '%s/x.db' >&2; s=$?; rm /tmp/oocgnn-$$; exit $s",
                      t->dir, process_program(), mine),
        0, "papers100m", "another user");
    r = process_shell("mount --bind '%s' '%s' && mount -o remount,ro,bind '%s'", mine, mine, mine);
    if (r.exit_status == 0) {
        struct process_result ro = process_shell("%s report --db '%s/x.db' >&2", process_program(), mine);
        struct process_result rw = process_shell("%s --db '%s/x.db'", run, mine);
        process_free(&r);
        r = process_shell("umount '%s'", mine);
        process_expect(ro, 0, "papers100m", "a read-only mount");
        process_expect(rw, 4, "may write", "a run on a read-only mount");
    }
    process_free(&r);
}

/* The disk of the database fills up once the run has its row: the record is printed, and stored once there is room. */
static void a_database_that_fills_up_loses_nothing(void **state)
{
    const struct tiny_runs *const t = *state;
    char disk[600], run[RUN_MAX];
    (void)snprintf(disk, sizeof disk, "%s/disk", t->dir);
    process_expect(process_shell("mkdir %s", disk), 0, "", "mkdir");
    if (mount("tmpfs", disk, "tmpfs", 0, "size=1m") != 0)
        skip_test("no permission to mount a small disk");
    struct process_result r = process_shell(
        "%s --db %s/x.db --epochs 40 --interval 10ms --json & p=$!; until grep -qsa papers100m %s/x.db-wal; "
        "do sleep 0.01; done; sleep 0.05; cat /dev/zero >%s/fill; wait $p",
        usual(t, "papers100m --scale 1/4000", run), disk, disk, disk);
    process_expect(process_shell("umount %s", disk), 0, "", "umount");
    json_t *const record = json_loads(r.out, 0, NULL);
    if (record == NULL || r.exit_status != 1 || json_array_size(json_object_get(record, "epochs")) != 40)
        fail_msg("exit %d\n%s%s", r.exit_status, r.out, r.err);
    assert_non_null(strstr(r.err, "disk is full"));
    json_decref(record);
    process_free(&r);
}

static void a_database_that_is_removed_meanwhile_is_told(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    struct process_result r = process_shell(
        "cd %s; $OLDPWD/%s --db gone.db --epochs 60 --json & p=$!; until test -e gone.db-shm; do sleep 0.01; "
        "done; sleep 0.1; rm gone.db*; wait $p",
        t->dir, usual(t, "papers100m --scale 1/4000", run));
    json_t *const record = json_loads(r.out, 0, NULL);
    assert_non_null(record);
    json_decref(record);
    process_expect(r, 1, "was removed or replaced during the run", "a removed database");
}

/* A loss trace takes the place of an older one, and of nothing else. */
static void a_trace_overwrites_traces_alone(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], dir[700];
    (void)snprintf(dir, sizeof dir, "%s/traced", t->dir);
    damaged_copy(t, "traced", "true");
    usual(t, dir, run);
    process_expect(process_shell("%s --trace-loss %s/t && %s --trace-loss %s/t", run, t->dir, run, t->dir), 0, "",
                   "twice");
    process_expect(process_shell("%s --trace-loss %s/features-d32", run, dir), 2, "is no loss trace", "over a dataset");
    process_expect(process_shell("%s --trace-loss %s", run, t->db), 2, "is no loss trace", "over the database");
    process_expect(process_shell("%s", run), 0, "", "both are whole");
}

/* Sweeps at once into one database that is not there yet: every cell is run. */
static void sweeps_at_once_share_a_database(void **state)
{
    const struct tiny_runs *const t = *state;
    struct process_result r = process_shell(
        "cd %s; O=$OLDPWD/%s; printf '[global]\ndataset = papers100m\nscale = 1/4000\ndata = %s\ncold = no\nevaluate = "
        "never\ndb = at-once.db\n[x]\nsystem = null | pygplus\n' >job; for i in 1 2 3; do $O sweep job --resume --json "
        "& done; "
        "wait; $O report --last 20 --json --db at-once.db | grep -c '\"status\":\"ok\"' >&2; rm job",
        t->dir, process_program(), t->data);
    if (strtol(r.err, NULL, 10) < 2 && strstr(r.err, "is empty") != NULL)
        fail_msg("%s", r.err);
    assert_null(strstr(r.err, "empty"));
    process_free(&r);
}

/* Makes f.db below dir, with a table that is none of oocgnn's. */
static void make_foreign_database(const char *dir)
{
    char path[RUN_MAX];
    (void)snprintf(path, sizeof path, "%s/f.db", dir);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE x (y)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void causes_of_a_database_are_right(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const program = process_program();
    char run[RUN_MAX];
    usual(t, "papers100m --scale 1/4000", run);
    process_expect(
        process_shell("for f in {3..30}; do eval \"exec $f>&-\"; done; ulimit -n 5; %s --db %s/n.db", run, t->dir), 4,
        "ulimit -n", "few files");
    process_expect(process_shell(": >%s/e.db; %s report --db %s/e.db", t->dir, program, t->dir), 2, "is empty",
                   "empty");
    make_foreign_database(t->dir);
    process_expect(process_shell("printf '[x]\nsystem = null\ndataset = papers100m\nscale = 1/4000\ndata = %s\ndb = "
                                 "%s/f.db\n' >%s/job; %s sweep %s/job --resume",
                                 t->data, t->dir, t->dir, program, t->dir),
                   1, "none of oocgnn's", "a foreign database");
}

/* A resumed sweep knows runs that lie far back. */
static void a_sweep_resumes_after_a_thousand_runs(void **state)
{
    const struct tiny_runs *const t = *state;
    struct process_result r = process_shell(
        "type sqlite3 >/dev/null || exit 127; cd %s; O=$OLDPWD/%s; printf '[x]\nsystem = null\ndataset = "
        "papers100m\nscale "
        "= 1/4000\ndata = %s\nevaluate = never\ndb = many.db\n' >job; $O sweep job --json --quiet 2>/dev/null | wc -l; "
        "$O sweep job --json | wc -l; sqlite3 many.db \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE "
        "i < 1200) INSERT INTO runs (status, system, dataset, started_unix_ns) SELECT 'ok', 'null', 'x', i FROM n\"; "
        "$O sweep "
        "job --json --resume | wc -l",
        t->dir, process_program(), t->data);
    if (r.exit_status == 127)
        skip_test("no sqlite3");
    if (strcmp(r.out, "0\n1\n0\n") != 0)
        fail_msg("%s%s", r.out, r.err);
    process_free(&r);
}

/* What a killed preparation left is swept before its space is missed; a quick try never replaces a calibration. */
static void what_was_left_makes_room(void **state)
{
    const struct tiny_runs *const t = *state;
    char disk[600];
    (void)snprintf(disk, sizeof disk, "%s/room", t->dir);
    process_expect(process_shell("mkdir %s", disk), 0, "", "mkdir");
    if (mount("tmpfs", disk, "tmpfs", 0, "size=8m") != 0)
        skip_test("no permission to mount a small disk");
    struct process_result r = process_shell("P=%s/papers100m-1_4000.partial-1; mkdir $P && head -c 5M /dev/zero "
                                            ">$P/indices && %s prepare papers100m --scale "
                                            "1/4000 --dim 32 --data %s --quiet && ls %s",
                                            disk, process_program(), disk, disk);
    process_expect(process_shell("umount %s", disk), 0, "", "umount");
    assert_non_null(strstr(r.out, "papers100m-1_4000\n"));
    assert_null(strstr(r.out, "partial"));
    process_expect(r, 0, "", "prepare on a disk that is full of leavings");
}

/* ---- imports ---- */

static void an_import_says_what_is_random(void **state)
{
    const struct tiny_runs *const t = *state;
    write_edges(t);
    struct process_result r = process_shell("rm -rf %s/im; %s prepare im --out %s/im --from %s/edges %s", t->dir,
                                            process_program(), t->dir, t->dir, import_options);
    assert_non_null(strstr(r.err, "random ones of width 4"));
    assert_non_null(strstr(r.err, "random ones of 3 classes"));
    process_expect(r, 0, "0.5 of the nodes are drawn for training", "import");
    static const int64_t edge[2] = {0, 1};
    char ogb[DATA_PATH];
    assert_int_equal(mkdir(data_path(ogb, t->dir, "ogb"), 0777), 0);
    data_write_npy(ogb, "edge_index.npy", "<i8", "(2, 1)", edge, sizeof edge);
    data_write(ogb, "valid_idx.npy", "", 0);
    process_expect(process_shell("%s prepare im --out %s/im2 --from %s --format ogb --dim 4 --classes 3",
                                 process_program(), t->dir, ogb),
                   2, "needs its training nodes", "a split without training nodes");
}

/* An ID far above the number of edges is a name or a slip: nothing of 4 billion nodes is begun. */
static void far_ids_need_a_word(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const program = process_program();
    char import[1200];
    (void)snprintf(import, sizeof import, "cd %s && rm -rf far && $OLDPWD/%s prepare far --out far --from far.txt %s",
                   t->dir, program, import_options);
    process_expect(process_shell("printf '\357\273\2771 2\r\n2 3\r\n3 4000000000\r\n' >%s/far.txt; %s", t->dir, import),
                   2, "add --relabel to number only the nodes", "a far ID");
    process_expect(process_shell("%s --relabel", import), 0, "", "--relabel");
    process_expect(process_shell("%s --nodes 100", import), 1, "the nodes end at 99", "--nodes too few");
    process_expect(process_shell("printf '1 2\n2 3\n' >%s/far.txt; %s --nodes 70000 && grep '^nodes = 70000' far/meta",
                                 t->dir, import),
                   0, "", "--nodes");
}

/* Whatever an import is at, SIGTERM and SIGINT end it within a second, and nothing is left. In memory, so that no
 * disk is waited for; and SIGINT as a terminal has it, since a shell's background process ignores it until the program
 * says what it does. */
static void an_import_obeys_signals(void **state)
{
    const struct tiny_runs *const t = *state;
    char disk[600];
    (void)snprintf(disk, sizeof disk, "%s/memory", t->dir);
    process_expect(process_shell("mkdir %s; echo 1 2 >%s/two", disk, t->dir), 0, "", "mkdir");
    const int limit_ms = SANITIZERS_SHADOW_PERCENT > 0 ? 5000 : 1000;
    const bool mounted = mount("tmpfs", disk, "tmpfs", 0, "size=700m") == 0;
    struct process_result r = process_shell(
        "O=$(realpath %s); cd %s; for w in 0.05 0.15 0.25 0.4; do for s in TERM INT; do env "
        "--default-signal=INT $O prepare big "
        "--out "
        "memory/big --from two --nodes 12000000 %s --dim 8 2>err & p=$!; sleep $w; kill -$s $p 2>err2 || continue; "
        "from=$(date +%%s%%N); wait $p; e=$?; ms=$((($(date +%%s%%N) - from) / 1000000)); test $ms -lt %d -a $e -gt "
        "128 -a -z "
        "\"$(ls memory)\" || echo $w $s: status $e after $ms ms, left: $(ls memory); rm -rf memory/*; done; done",
        process_program(), t->dir, import_options, limit_ms);
    if (mounted)
        (void)umount(disk);
    if (r.out[0] != '\0')
        fail_msg("%s%s", r.out, r.err);
    process_free(&r);
}

/* ---- limits and small mistakes ---- */

/* OpenBLAS starts a thread a core as it is loaded; on many cores it fails under such limits before main is reached. */
static void limits_of_the_shell_are_told(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *limit, *message;
        int exit_status;
    } cases[] = {{"-v 60000", "ulimit -v", 4},
                 {"-s 64", "ulimit -s", 4},
                 {"-d 100000", "ulimit -d", 4},
                 {"-f 1", "File too large", 1},
                 {"-n 8", "ulimit -n", 4}};
    if (SANITIZERS_SHADOW_PERCENT > 0)
        skip_test("a sanitizer's shadow takes more address space than the limits leave");
    char run[RUN_MAX];
    usual(t, "papers100m --scale 1/4000", run);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct process_result r =
            process_shell("for f in {3..30}; do eval \"exec $f>&-\"; done; "
                          "export OPENBLAS_NUM_THREADS=1; ulimit %s; " HANG_TIMEOUT " %s --db %s/l.db",
                          cases[i].limit, run, t->dir);
        assert_string_equal(r.out, "");
        process_expect(r, cases[i].exit_status, cases[i].message, cases[i].limit);
    }
    /* Whichever descriptor is the one that is not left: the run works, or names the limit. */
    for (int files = 4; files <= 24; files++) {
        struct process_result r = process_shell(
            "for f in {3..30}; do eval \"exec $f>&-\"; done; ulimit -n %d; " HANG_TIMEOUT " %s --db %s/l.db", files,
            run, t->dir);
        if (r.exit_status != 0 && (r.exit_status != 4 || strstr(r.err, "ulimit -n") == NULL))
            fail_msg("ulimit -n %d: exit %d\n%s%s", files, r.exit_status, r.out, r.err);
        process_free(&r);
    }
    for (int kib = 262144; kib <= 524288; kib += 65536) {
        struct process_result r = process_shell(
            "export OPENBLAS_NUM_THREADS=1; ulimit -v %d; " HANG_TIMEOUT " %s --db %s/l.db --json", kib, run, t->dir);
        if (r.exit_status != 0 && (r.exit_status != 4 || strstr(r.err, "ulimit -v") == NULL))
            fail_msg("ulimit -v %d: exit %d\n%s%s", kib, r.exit_status, r.out, r.err);
        process_free(&r);
    }
}

static void small_mistakes_are_named(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const program = process_program();
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"run --", "unexpected argument \"--\""},
        {"run -- foo", "unexpected argument \"--\""},
        {"list datset", "did you mean \"datasets\""},
        {"list params gnndriv", "did you mean \"gnndrive\""},
        {"run --system GNNDrive --dataset papers100m", "did you mean \"gnndrive\""},
        {"run --system null --dataset papers100m --device-bps 1", "at least 64K"},
        {"run --system null --dataset papers100m --device-iops 2", "at least 64K"},
        {"run --system null --dataset cli", "use `./cli`"},
    };
    process_expect(process_shell("cp -r %s/papers100m-1_4000 %s/cli", t->data, t->dir), 0, "", "cp");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        process_expect(process_shell("cd %s && $OLDPWD/%s %s", t->dir, program, cases[i].words), 2, cases[i].message,
                       cases[i].words);
    process_expect(
        process_shell("printf '\xef\xbb\xbf[x]\nsystem = null\ndataset = papers100m\ndata = %s\n' >%s/bom && %s "
                      "sweep %s/bom --dry-run",
                      t->data, t->dir, program, t->dir),
        0, "", "a byte-order mark");
    process_expect(process_shell("%s prepare papers100m --scale 1/4000 --dim 32 --data %s --quiet", program, t->data),
                   0, "is ready", "prepare twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_feature_makes_a_run_invalid),
        cmocka_unit_test(a_bad_feature_of_a_test_node_is_seen),
        cmocka_unit_test(a_check_names_the_node),
        cmocka_unit_test(an_early_end_has_its_dataset),
        cmocka_unit_test(a_seed_is_stored_as_it_was),
        cmocka_unit_test(a_stopped_run_is_stopped_and_invalid),
        cmocka_unit_test(a_disturbed_run_is_invalid),
        cmocka_unit_test(unlike_runs_are_told_apart),
        cmocka_unit_test(names_are_data),
        cmocka_unit_test(names_that_no_file_can_hold_are_refused),
        cmocka_unit_test(a_foreign_name_stops_no_report),
        cmocka_unit_test(paths_that_fio_would_read_are_refused),
        cmocka_unit_test(pipes_are_no_files),
        cmocka_unit_test(a_database_that_keeps_nothing_is_refused),
        cmocka_unit_test(a_database_is_read_without_permission_to_write),
        cmocka_unit_test(a_database_that_fills_up_loses_nothing),
        cmocka_unit_test(a_database_that_is_removed_meanwhile_is_told),
        cmocka_unit_test(a_trace_overwrites_traces_alone),
        cmocka_unit_test(sweeps_at_once_share_a_database),
        cmocka_unit_test(causes_of_a_database_are_right),
        cmocka_unit_test(a_sweep_resumes_after_a_thousand_runs),
        cmocka_unit_test(what_was_left_makes_room),
        cmocka_unit_test(an_import_says_what_is_random),
        cmocka_unit_test(far_ids_need_a_word),
        cmocka_unit_test(an_import_obeys_signals),
        cmocka_unit_test(limits_of_the_shell_are_told),
        cmocka_unit_test(small_mistakes_are_named),
    };
    return cmocka_run_group_tests_name("hostile", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
