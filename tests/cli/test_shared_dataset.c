/* SPDX-License-Identifier: MIT */
/* Other processes on the dataset of a measured run: what they bring into the page cache is seen in every epoch, runs
 * see each other, and preparations and runs wait for each other. */
#include "harness/measure/page_cache.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/tiny_runs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIDE = 512, PATH = 700 };
#define WIDE_TEXT "512" /* of the features, 57 MB, more than any limit here */

static int set_up(void **state)
{
    const int failed = tiny_runs_set_up(state);
    const struct tiny_runs *const t = *state;
    if (failed == 0)
        process_expect(process_shell("%s prepare papers100m --scale 1/4000 --dim %d --data %s --quiet",
                                     process_program(), WIDE, t->data),
                       0, "", "prepare");
    return failed;
}

static const char *features(const struct tiny_runs *t, char path[PATH])
{
    (void)snprintf(path, PATH, "%s/papers100m-1_4000/features-d%d", t->data, WIDE);
    return path;
}

/* ---- a run in the background ---- */

/* Long enough for what a test does meanwhile: epochs of some milliseconds. */
#define LONG "--dim", WIDE_TEXT, "--batch", "8", "--epochs", "300"
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Size of the trace that tiny_runs_start_training has the run write, flushed at the end of every epoch. */
static off_t trace_bytes(const struct tiny_runs *t)
{
    char path[PATH];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/first-epoch.trace", t->dir);
    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

/* Waits until an epoch has begun and ended since the call. */
static void await_an_epoch(const struct tiny_runs *t)
{
    for (int ends = 0; ends < 2; ends++) {
        const off_t before = trace_bytes(t);
        uint32_t naps = 0;
        while (trace_bytes(t) == before && patient(&naps))
            continue;
        assert_true(trace_bytes(t) > before);
    }
}

/* Brings the first `share` thousandths of a file into the page cache, and no more. */
static void read_thousandths(const char *path, uint64_t share)
{
    enum { PAGE = 4096 };
    char page[PAGE];
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    if (share < 1000) /* nothing is read ahead */
        assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
    for (uint64_t at = 0; at < (uint64_t)info.st_size / 1000 * share; at += PAGE)
        assert_true(pread(fd, page, PAGE, (off_t)at) > 0);
    assert_int_equal(close(fd), 0);
}

static uint64_t resident_bytes(const char *path)
{
    struct gnn_residency residency;
    struct gnn_err err = {0};
    must(gnn_cache_residency(path, &residency, &err), &err);
    return residency.resident_bytes;
}

static uint64_t count_of(const json_t *run, const char *key)
{
    return strtoull(tiny_runs_text(json_object_get(run, "environment"), key), NULL, 10);
}

/* ---- readers ---- */

/* Another process reads the features during some epochs and is gone, with all of its pages, long before the end: what
 * it leaves in the page cache is more than the run's own limit lets in. */
static void a_reader_of_a_capped_run_is_found(void **state)
{
    const struct tiny_runs *const t = *state;
    char path[PATH];
    struct gnn_err err = {0};
    if (!t->confined)
        skip_test("no writable memory control group");
    const pid_t run = tiny_runs_start_training(t, WORDS("--system", "gnndrive", "--set", "gnndrive.io=buffered",
                                                        "--memory", "32M", "--evaluate", "never", LONG));
    read_thousandths(features(t, path), 1000);
    await_an_epoch(t);
    must(gnn_cache_evict(path, &err), &err);
    assert_true(resident_bytes(path) < 32 << 20);
    assert_int_equal(process_wait(run), 1);
    json_t *const record = tiny_runs_last(t);
    assert_true(json_integer_value(json_object_get(record, "resident_end_bytes")) < 32 << 20);
    assert_true(count_of(record, "dataset.resident_most_bytes") > 56000000);
    tiny_runs_expect_reason(record, "invalid", "allows: another process read the dataset");
}

/* Direct reads are looked at after every epoch: a reader comes after the first. What it brings in of a file is no sign
 * up to a hundredth. */
static void a_reader_of_direct_files_is_found(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        uint64_t share;
        int exit_status, observed;
    } cases[] = {{5, 0, 1}, {20, 1, 0}};
    char path[PATH];
    if (!t->confined)
        skip_test("direct reads may not be seen here"); /* as in cli/run: direct_reads_are_observed */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pid_t run = tiny_runs_start_training(t, WORDS("--system", "gnndrive", "--evaluate", "never", LONG));
        read_thousandths(features(t, path), cases[i].share);
        assert_int_equal(process_wait(run), cases[i].exit_status);
        json_t *const record = tiny_runs_last(t);
        assert_int_equal(json_integer_value(json_object_get(record, "direct_asked")), 1);
        assert_int_equal(json_integer_value(json_object_get(record, "direct_observed")), cases[i].observed);
        if (cases[i].observed == 0)
            tiny_runs_expect_reason(record, "invalid", "files they read came into the page cache");
        else
            json_decref(record);
    }
}

/* What evaluations leave in the page cache between epochs is not the epochs'. */
static void evaluations_are_no_readers(void **state)
{
    const struct tiny_runs *const t = *state;
    char path[PATH];
    int exit_status;
    if (!t->confined)
        skip_test("direct reads may not be seen here");
    json_t *const record = tiny_runs_json(
        t,
        WORDS("--system", "gnndrive", "--evaluate", "each", "--dim", WIDE_TEXT, "--fanout", "15,15", "--epochs", "3"),
        &exit_status);
    assert_int_equal(exit_status, 0);
    assert_int_equal(json_integer_value(json_object_get(record, "direct_observed")), 1);
    assert_true(resident_bytes(features(t, path)) > 57000000 / 50); /* or the case would show nothing */
    json_decref(record);
}

/* ---- runs ---- */

/* Runs in the background are this one and `other`, which records into a database of its own; it never ends. */
static pid_t start_other(const struct tiny_runs *t, const struct tiny_runs *other)
{
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(
        t, WORDS("--system", "gnndrive", "--evaluate", "never", "--no-cold", "--db", other->db, "--epochs", "100000"),
        argv);
    const pid_t pid = process_start(argv);
    assert_true(tiny_runs_worker_of(pid) != 0); /* it has its share of the dataset */
    return pid;
}

static void expect_shared(json_t *run, const char *when)
{
    assert_string_equal(tiny_runs_text(json_object_get(run, "environment"), "dataset.shared"), when);
    json_decref(run);
}

/* The other one begins during the first run and goes on after it; a third begins and ends during the other one. */
static void runs_on_one_dataset_see_each_other(void **state)
{
    const struct tiny_runs *const t = *state;
    struct tiny_runs other = *t;
    int exit_status;
    (void)snprintf(other.db, sizeof other.db, "%s/other.db", t->dir);
    const pid_t run = tiny_runs_start_training(t, WORDS("--system", "gnndrive", "--evaluate", "never", LONG));
    const pid_t longer = start_other(t, &other);
    assert_int_equal(process_wait(run), 0);
    expect_shared(tiny_runs_last(t), "end");
    const char *const third[] = {"--system", "null", "--evaluate", "never", "--no-cold", NULL};
    expect_shared(tiny_runs_json(t, third, &exit_status), "start and end");
    struct process_result r = process_shell("%s report --last 1 --db %s", process_program(), t->db);
    process_expect_all(&r, 0, WORDS("another run used the same dataset at the start and end of this run"));
    process_free(&r);
    assert_int_equal(kill(longer, SIGINT), 0);
    assert_int_equal(process_wait(longer), 128 + SIGINT);
    expect_shared(tiny_runs_last(&other), "start");
    expect_shared(tiny_runs_json(t, third, &exit_status), ""); /* alone again */
    expect_shared(tiny_runs_json(t, WORDS("--system", "null", "--world", "simulated", "--profile", "gnndrive-paper"),
                                 &exit_status),
                  "");
}

/* ---- preparations ---- */

static struct timespec written(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mtim;
}

/* A width is not written before the run is over, whose last epoch wrote the end of its trace. */
static void a_preparation_waits_for_a_run(void **state)
{
    const struct tiny_runs *const t = *state;
    char trace[PATH], added[PATH];
    (void)snprintf(trace, sizeof trace, "%s/first-epoch.trace", t->dir);
    (void)snprintf(added, sizeof added, "%s/papers100m-1_4000/features-d7", t->data);
    const pid_t run = tiny_runs_start_training(t, WORDS("--system", "gnndrive", "--evaluate", "never", LONG));
    const pid_t preparation = process_start(WORDS(process_program(), "prepare", "papers100m", "--scale", "1/4000",
                                                  "--dim", "7", "--data", t->data, "--quiet"));
    assert_int_equal(process_wait(run), 0);
    assert_int_equal(process_wait(preparation), 0);
    const struct timespec last = written(trace), first = written(added);
    assert_true(first.tv_sec > last.tv_sec || (first.tv_sec == last.tv_sec && first.tv_nsec >= last.tv_nsec));
    expect_shared(tiny_runs_last(t), ""); /* who waits uses nothing */
}

/* Bash holds the dataset's lock as a preparation does. The run says that it waits. Then it runs, or a signal ends it,
 * which leaves no record. */
static void a_run_waits_for_a_preparation(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *then, *out;
    } cases[] = {{"flock -u 9; wait $P; echo $?", "0\n1\n"}, {"kill -TERM $P; wait $P; echo $?", "143\n0\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct process_result r = process_shell(
            "D=%s; R=%s; B=$D/waits%zu.db; exec 9<%s/papers100m-1_4000; flock 9; "
            "$R run --system null --dataset papers100m --scale 1/4000 --data %s --db $B --evaluate never >$D/out "
            "2>$D/said 9<&- & P=$!; for i in {1..60000}; do grep -q waiting $D/said && break; sleep 0.01; done; "
            "cat $D/said >&2; %s; $R report --db $B --json 2>/dev/null | wc -l",
            t->dir, process_program(), i, t->data, t->data, cases[i].then);
        process_expect_all(&r, 0, WORDS("waiting for the preparation that changes it", cases[i].out));
        assert_string_equal(r.out, cases[i].out);
        process_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_of_a_capped_run_is_found), cmocka_unit_test(a_reader_of_direct_files_is_found),
        cmocka_unit_test(evaluations_are_no_readers),        cmocka_unit_test(runs_on_one_dataset_see_each_other),
        cmocka_unit_test(a_preparation_waits_for_a_run),     cmocka_unit_test(a_run_waits_for_a_preparation),
    };
    return cmocka_run_group_tests_name("shared_dataset", tests, set_up, tiny_runs_tear_down);
}
