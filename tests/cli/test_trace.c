/* SPDX-License-Identifier: MIT */
/* I/O traces from outside: runs are the same with and without one, a trace has the requests that the record counts,
 * both worlds request the same, fio replays it, and `oocgnn trace` counts what is in it. */
#include "tests/support/must.h"
#include "tests/support/run_figures.h"
#include "tests/support/tiny_runs.h"

#include <limits.h>
#include <setjmp.h>
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

enum { RUN_MAX = 6000, WORDS_MAX = 3000, PATH_BYTES = 700 };

#define GOLDEN "--world simulated --profile tests/golden/machine.ini --dim 100 --generate reach=0"

/* The usual arguments, for a shell. Paths of the fixture hold no blanks. */
static const char *usual(const struct tiny_runs *t, const char *more, char text[RUN_MAX])
{
    (void)snprintf(text, RUN_MAX,
                   "%s run --dataset papers100m --scale 1/4000 --data %s --db %s --batch 32 --hidden 16 --fanout 5,5 "
                   "--evaluate never --quiet %s",
                   process_program(), t->data, t->db, more);
    return text;
}

/* The program's path from any directory. */
static const char *absolute(char path[PATH_MAX])
{
    assert_non_null(realpath(process_program(), path));
    return path;
}

static const char *path_in(const struct tiny_runs *t, const char *name, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", t->dir, name);
    return path;
}

static void expect_gone(const struct tiny_runs *t)
{
    char path[PATH_BYTES];
    struct stat info;
    assert_int_not_equal(stat(path_in(t, "trace", path), &info), 0);
    assert_int_not_equal(stat(path_in(t, "trace.part", path), &info), 0);
}

static json_t *trace_json(const struct tiny_runs *t, const char *arguments)
{
    char program[PATH_MAX];
    return tiny_runs_parse(process_shell("cd %s && %s trace --json %s", t->dir, absolute(program), arguments), 0,
                           arguments);
}

static json_int_t count_of(const json_t *object, const char *part, const char *key)
{
    const json_t *const value = json_object_get(json_object_get(object, part), key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* ---- wrong input ---- */

static void wrong_traces_of_runs(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more;
        int exit_status;
        const char *part;
    } cases[] = {
        {"--system gnndrive --workers 2 --trace-io x", 4, "use --workers 1, or --world simulated"},
        {"--system gnndrive --workers 2 --trace-rows x", 4, "use --workers 1"},
        {"--system null --sample-only --trace-rows x", 4, "leave one of the two out"},
        {"--system null --trace-io x --trace-rows x", 2, "name two files"},
        {"--system null --trace-io no/such/dir/x", 2, "name a file in a directory that can be written"},
        {"--system null --trace-rows no/such/dir/x", 2, "name a file in a directory that can be written"},
        {"--system null --trace-io /dev/null", 2, "no regular file"},
        {"--system null --trace-io README.md", 2, "holds something else"},
        {"--system null --trace-rows README.md", 2, "holds something else"},
    };
    char run[RUN_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        process_expect(process_shell("%s", usual(t, cases[i].more, run)), cases[i].exit_status, cases[i].part,
                       cases[i].more);
}

static void wrong_traces_to_read(void **state)
{
    char program[PATH_MAX];
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *text, *arguments;
        int exit_status;
        const char *part;
    } cases[] = {
        {"", "", 2, "which trace?"},
        {"", "none", 2, "name a trace that `oocgnn run --trace-io FILE` wrote"},
        {"", "wrong wrong", 2, "one trace at a time"},
        {"", "wrong", 1, "expected \"fio version 3 iolog\""},
        {"fio version 2 iolog\n", "wrong", 1, "wrong:1: \"fio version 2 iolog\": expected"},
        {"fio version 3 iolog\n0 f add\n0 f\n", "wrong", 1, "wrong:3: \"0 f\": expected TIME FILE ACTION"},
        {"fio version 3 iolog\n0 f reed 1 2\n", "wrong", 1, "expected an action of fio"},
        {"fio version 3 iolog\n0 f read 1\n", "wrong", 1, "expected an offset and a length"},
        {"fio version 3 iolog\n0 f read 1 4294967296\n", "wrong", 1, "below 4 GiB"},
        {"fio version 3 iolog\n0 f read 1 2", "wrong", 1, "a trace that was cut is rejected"},
        {"fio version 3 iolog\n0 f read 1 2 3 4 5\n", "wrong --epoch 4", 2, "no request of this epoch"},
        {"fio version 3 iolog\n0 f add\n", "wrong --replay d", 2, "no request that could be replayed"},
        {"fio version 3 iolog\n0 f read 0 512\n", "wrong --replay a:b", 2, "name it through a link"},
        {"fio version 3 iolog\n0 f read 0 512\n", "wrong --replay 'a b'", 2, "without blanks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        process_write_file(t->dir, "wrong", 0600, "%s", cases[i].text);
        process_expect(process_shell("cd %s && %s trace %s", t->dir, absolute(program), cases[i].arguments),
                       cases[i].exit_status, cases[i].part, cases[i].text);
    }
}

/* ---- the same run ---- */

static const char *const traced[] = {
    "--system pygplus --memory 8M",
    "--system gnndrive --memory 12M",
    "--system gnndrive --workers 2",
    "--system ginex --memory 24M",
    "--system agnes --set agnes.hyperbatch=8",
    "--system diskgnn",
    "--system mariusgnn --set mariusgnn.partitions=16 --set mariusgnn.capacity=8",
    "--system presort --set presort.row_memory=300K",
    "--system ringsampler --sample-only --set ringsampler.threads=2",
};

/* Every figure of the record, also the device's, without what is the run's own. */
static char *figures_of(const struct tiny_runs *t, const char *more, char identity[64])
{
    char run[RUN_MAX], words[WORDS_MAX];
    (void)snprintf(words, sizeof words, GOLDEN " --epochs 2 --json %s", more);
    struct process_result r = process_shell("%s", usual(t, words, run));
    json_t *const record = json_loads(r.out, 0, NULL);
    if (record == NULL)
        fail_msg("%s: %s", more, r.err);
    (void)snprintf(identity, 64, "%s", tiny_runs_text(json_object_get(record, "environment"), "run.identity"));
    assert_string_equal(tiny_runs_text(record, "status"), "ok");
    char *const text = json_dumps(json_object_get(record, "epochs"), JSON_SORT_KEYS);
    json_decref(record);
    process_free(&r);
    return text;
}

static void runs_are_the_same(void **state)
{
    const struct tiny_runs *const t = *state;
    for (size_t i = 0; i < sizeof traced / sizeof traced[0]; i++) {
        char words[WORDS_MAX], identities[2][64];
        char *const without = figures_of(t, traced[i], identities[0]);
        (void)snprintf(words, sizeof words, "%s --trace-io %s/trace", traced[i], t->dir);
        char *const with = figures_of(t, words, identities[1]);
        if (strcmp(without, with) != 0 || strcmp(identities[0], identities[1]) != 0 || identities[0][0] == '\0')
            fail_msg("%s: another run with a trace", traced[i]);
        free(without);
        free(with);
    }
}

/* Mappings alone read here, and every request of the one device is a page fault's. */
static void faults_are_the_requests_of_the_device(void **state)
{
    const struct tiny_runs *const t = *state;
    char trace[PATH_BYTES];
    const char *const more[] = {"--world",
                                "simulated",
                                "--profile",
                                "tests/golden/machine.ini",
                                "--profile-set",
                                "storage.devices=1",
                                "--dim",
                                "100",
                                "--system",
                                "pygplus",
                                "--memory",
                                "8M",
                                "--epochs",
                                "2",
                                "--evaluate",
                                "never",
                                "--trace-io",
                                path_in(t, "trace", trace),
                                NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(t, more, &exit_status);
    assert_int_equal(exit_status, 0);
    json_int_t requests = 0, bytes = 0;
    for (int epoch = 1; epoch <= 2; epoch++) {
        char words[32];
        (void)snprintf(words, sizeof words, "trace --epoch %d", epoch);
        json_t *const w = trace_json(t, words);
        requests += count_of(w, "reads", "requests");
        bytes += count_of(w, "reads", "bytes");
        assert_int_equal(count_of(w, "writes", "requests"), 0);
        assert_true(count_of(w, "reads", "depth_most") > 1);
        assert_true(count_of(w, "reads", "blocks") > 1000); /* all over the files */
        json_decref(w);
    }
    assert_true(requests > 100);
    assert_int_equal(requests, whole(run, "counters", "device_read_ios"));
    assert_int_equal(bytes, whole(run, "counters", "device_read_bytes"));
    json_decref(run);
}

/* Requests of the neighbour IDs in one epoch, or in all of the trace. */
static json_int_t ids_of(const struct tiny_runs *t, int epoch)
{
    char words[32];
    (void)snprintf(words, sizeof words, "trace --epoch %d", epoch);
    json_t *const w = trace_json(t, words);
    json_int_t requests = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(w, "files")); i++) {
        const json_t *const part = json_array_get(json_object_get(w, "files"), i);
        if (strstr(tiny_runs_text(part, "file"), "/indices") != NULL)
            requests += json_integer_value(json_object_get(part, "requests"));
    }
    json_decref(w);
    return requests;
}

/* Workers of a simulated run end an epoch at different times, and none of their requests is outside of it. */
static void workers_share_their_epochs(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], words[WORDS_MAX];
    (void)snprintf(
        words, sizeof words,
        GOLDEN
        " --system gnndrive --workers 3 --epochs 2 --sample-only --set gnndrive.readahead=off --trace-io %s/trace",
        t->dir);
    process_expect(process_shell("%s", usual(t, words, run)), 0, "", words);
    const json_int_t all = ids_of(t, 0);
    assert_true(all > 20);
    assert_int_equal(ids_of(t, 1) + ids_of(t, 2), all);
}

#define PRESORT                                                                                                        \
    "--system presort --set presort.merge=0 --set presort.threads=1 --set presort.row_memory=300K --epochs 2 "         \
    "--set presort.topology=resident --set presort.random_read=5K --set presort.write_cost=100"

/* Direct reads and scratch files: both worlds request the same from a prepared dataset. */
static void worlds_request_the_same(void **state)
{
    const struct tiny_runs *const t = *state;
    char runs[2][RUN_MAX], words[WORDS_MAX];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(words, sizeof words, "%s --trace-io %s/world-%d --dataset %s/papers100m-1_4000 %s", PRESORT,
                       t->dir, i, t->data, i == 0 ? "" : "--world simulated --profile tests/golden/machine.ini");
        process_expect(process_shell("%s", usual(t, words, runs[i])), 0, "", words);
    }
    process_expect(
        process_shell("cd %s && for i in 0 1; do awk '$4 != \"\" {print $2, $3, $4, $5, $8}' world-$i | sort "
                      ">requests-$i; done; test $(grep -c read requests-0) -gt 300 && grep -q write "
                      "requests-0 && cmp requests-0 requests-1",
                      t->dir),
        0, "", "requests of both worlds");
}

/* ---- nothing half-written ---- */

static void a_killed_run_leaves_nothing(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], words[WORDS_MAX], path[PATH_BYTES];
    for (int rows = 0; rows < 2; rows++) {
        (void)snprintf(words, sizeof words, GOLDEN " --system gnndrive --fault die-at-batch=3 --trace-%s %s/trace",
                       rows ? "rows" : "io", t->dir);
        (void)unlink(path_in(t, "trace", path));
        process_expect(process_shell("%s", usual(t, words, run)), 1, "signal 9", words);
        expect_gone(t);
    }
}

/* A disk of 64 KiB: the end of the first epoch finds it full. */
static void a_full_disk(void **state)
{
    const struct tiny_runs *const t = *state;
    char disk[PATH_BYTES], run[RUN_MAX], words[WORDS_MAX];
    assert_int_equal(mkdir(path_in(t, "disk", disk), 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=64k") != 0)
        skip_test("no permission to mount a small disk");
    struct process_result results[2];
    for (int rows = 0; rows < 2; rows++) {
        (void)snprintf(words, sizeof words, GOLDEN " --system gnndrive --epochs 3 --trace-%s %s/trace",
                       rows ? "rows" : "io", disk);
        results[rows] = process_shell("%s; s=$?; ls -A %s; exit $s", usual(t, words, run), disk);
    }
    assert_int_equal(umount(disk), 0);
    for (int rows = 0; rows < 2; rows++) {
        assert_null(strstr(results[rows].out, "trace\n"));
        process_expect(results[rows], 1, "No space left on device; nothing is kept of it: free some space",
                       rows ? "--trace-rows" : "--trace-io");
    }
}

/* ---- rows ---- */

/* A NumPy array of the rows of every trained mini-batch, the same in two exact systems. */
static void rows_of_mini_batches(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const systems[] = {"gnndrive --set gnndrive.in_order=yes",
                                          "presort --set presort.row_memory=300K"};
    for (int i = 0; i < 2; i++) {
        char run[RUN_MAX], words[WORDS_MAX];
        (void)snprintf(words, sizeof words, GOLDEN " --epochs 2 --json --system %s --trace-rows %s/rows-%d", systems[i],
                       t->dir, i);
        struct process_result r = process_shell("%s", usual(t, words, run));
        json_t *const record = json_loads(r.out, 0, NULL);
        if (record == NULL)
            fail_msg("%s: %s", systems[i], r.err);
        process_expect(
            process_shell(
                "cd %s && python3 -c '\nimport re, struct, sys\nd = open(\"rows-%d\", \"rb\").read()\n"
                "assert d[:8] == b\"\\x93NUMPY\\x01\\0\" and len(d[:10]) + struct.unpack(\"<H\", d[8:10])[0] == 128\n"
                "h = eval(d[10:128])\nassert h[\"descr\"] == \"<u4\" and not h[\"fortran_order\"]\n"
                "n = h[\"shape\"][0]\nassert h[\"shape\"] == (n, 3) and len(d) == 128 + 12 * n\n"
                "r = list(struct.iter_unpack(\"<3I\", d[128:]))\nassert n == %lld, n\n"
                "assert {e for e, b, v in r} == {0, 1} and max(v for e, b, v in r) < 27765\n"
                "assert len({(e, b, v) for e, b, v in r}) == n'",
                t->dir, i, (long long)whole(record, "counters", "sampled_nodes")),
            0, "", systems[i]);
        json_decref(record);
        process_free(&r);
    }
    process_expect(process_shell("cd %s && cmp rows-0 rows-1", t->dir), 0, "", "rows of two exact systems");
}

/* ---- the analysis ---- */

static const char small_trace[] = "fio version 3 iolog\n"
                                  "0 /a/f add\n"
                                  "0 /a/f open\n"
                                  "0 /a/f read 0 4096 0 1 1\n"
                                  "10 /a/f read 4096 4096 10000 2 1\n"
                                  "20 /a/f read 0 512 20000 3 1\n"
                                  "30 /a/f read 8192 8192 30000 1 2\n"
                                  "40 /a/f write 100 200 40000 1 2\n"
                                  "40 /a/f sync\n"
                                  "50 /a/f close\n";

static json_int_t part_of(const json_t *w, size_t part, const char *key)
{
    const json_t *const value = json_object_get(json_array_get(json_object_get(w, "files"), part), key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void statistics_of_a_trace(void **state)
{
    const struct tiny_runs *const t = *state;
    process_write_file(t->dir, "small", 0600, "%s", small_trace);
    json_t *const w = trace_json(t, "small");
    assert_int_equal(json_array_size(json_object_get(w, "files")), 2);
    assert_int_equal(part_of(w, 0, "requests"), 4);
    assert_int_equal(part_of(w, 0, "bytes"), 16896);
    assert_int_equal(part_of(w, 0, "least_bytes"), 512);
    assert_int_equal(part_of(w, 0, "median_bytes"), 4096);
    assert_int_equal(part_of(w, 0, "most_bytes"), 8192);
    assert_int_equal(part_of(w, 0, "end_bytes"), 16384);
    assert_int_equal(part_of(w, 0, "sequential"), 1);
    assert_int_equal(part_of(w, 0, "aligned"), 4);
    assert_int_equal(part_of(w, 0, "depth_most"), 3);
    assert_int_equal(part_of(w, 0, "block_uses"), 5);
    assert_int_equal(part_of(w, 0, "blocks"), 4);
    assert_int_equal(part_of(w, 0, "reuse_half_bytes"), 8192); /* one other block in between */
    assert_int_equal(part_of(w, 0, "reuse_90_bytes"), 8192);
    const json_t *const first = json_array_get(json_object_get(w, "files"), 0);
    assert_true(json_real_value(json_object_get(first, "depth_mean")) == 1.75);
    assert_int_equal(part_of(w, 1, "bytes"), 200);
    assert_int_equal(part_of(w, 1, "aligned"), 0);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(w, "files"), 1), "reuse_half_bytes")));
    assert_int_equal(count_of(w, "reads", "requests"), 4);
    assert_int_equal(count_of(w, "writes", "bytes"), 200);
    json_decref(w);
    json_t *const second = trace_json(t, "small --epoch 2");
    assert_int_equal(count_of(second, "reads", "requests"), 1);
    assert_int_equal(part_of(second, 0, "bytes"), 8192);
    json_decref(second);
}

/* A table for people; a trace of another program has no depth. */
static void a_table(void **state)
{
    char program[PATH_MAX];
    const struct tiny_runs *const t = *state;
    process_write_file(t->dir, "small", 0600, "%s", small_trace);
    struct process_result r = process_shell("cd %s && %s trace small --epoch 1", t->dir, absolute(program));
    const char *const parts[] = {"Requests of epoch 1.",
                                 "| f | read | 3 | 8.50 KiB | 4.00 KiB | 4.00 KiB | 2.0 | 3 | 33.3 % | "
                                 "33.3 % | 8.00 KiB | 8.00 KiB |",
                                 "| all | read | 3 |", NULL};
    process_expect_all(&r, 0, parts);
    assert_null(strstr(r.out, "write"));
    process_free(&r);
    process_write_file(t->dir, "plain", 0600,
                       "fio version 3 iolog\n0 f read 0 4096\n1 f read 4096 4096\n2 a/g read 0 1\n3 b/g read 0 1\n");
    r = process_shell("cd %s && %s trace plain", t->dir, absolute(program));
    const char *const plain[] = {"| f | read | 2 | 8.00 KiB | 4.00 KiB | 4.00 KiB | - | - | 50.0 % | 0.0 % | - | - |",
                                 "| a/g |", "| b/g |", NULL};
    process_expect_all(&r, 0, plain);
    process_free(&r);
}

/* The jobs touch files of their directory alone. */
static void a_replay(void **state)
{
    char program[PATH_MAX];
    const struct tiny_runs *const t = *state;
    process_write_file(t->dir, "small", 0600, "%s", small_trace);
    process_expect(
        process_shell("cd %s && rm -rf r && %s trace small --epoch 2 --replay r && D=$(cd r && pwd -P) && "
                      "printf 'fio version 3 iolog\\n0 %%s/file-0 add\\n0 %%s/file-0 open\\n0 %%s/file-0 read "
                      "8192 8192\\n10 %%s/file-0 write 100 200\\n' $D $D $D $D | cmp - r/replay.iolog && grep -q "
                      "'^filesize=1048576$' r/fill.fio && grep -q '^iodepth=1$' r/replay.fio && grep -q "
                      "'^ioengine=psync$' r/replay.fio && grep -q '^direct=0$' r/replay.fio && grep -q "
                      "'file-0 is /a/f' r/replay.fio && ! grep -v '^;' r/*.fio | grep /a/f",
                      t->dir, absolute(program)),
        0, "", "a replay");
    process_expect(
        process_shell("cd %s && rm -rf r && grep -v write small >reads && %s trace reads --replay r && grep -q "
                      "'^iodepth=3$' r/replay.fio && grep -q '^ioengine=io_uring$' r/replay.fio && grep -q "
                      "'^direct=1$' r/replay.fio",
                      t->dir, absolute(program)),
        0, "", "a replay of reads");
}

/* fio issues as many requests with as many bytes. With psync it counts all of them: of asynchronous requests it leaves
 * out the bytes of those that end last. */
static void fio_replays_it(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX], words[WORDS_MAX];
    struct process_result version = process_shell("fio --version");
    const bool has_fio = version.exit_status == 0;
    process_free(&version);
    if (!has_fio)
        skip_test("no fio; install it: apt-get install fio");
    (void)snprintf(words, sizeof words, GOLDEN " --system presort --set presort.row_memory=300K --trace-io %s/trace",
                   t->dir);
    process_expect(process_shell("%s", usual(t, words, run)), 0, "", words);
    json_t *const w = trace_json(t, "trace --replay fio");
    process_expect(
        process_shell("cd %s/fio && sed -i 's/^ioengine=.*/ioengine=psync/' replay.fio && fio fill.fio >/dev/null "
                      "&& fio --output-format=json --output=out replay.fio",
                      t->dir),
        0, "", "fio");
    char out[PATH_BYTES];
    json_t *const report = json_load_file(path_in(t, "fio/out", out), 0, NULL);
    const json_t *const job = json_array_get(json_object_get(report, "jobs"), 0);
    assert_non_null(job);
    assert_true(count_of(w, "writes", "requests") > 0);
    assert_int_equal(count_of(job, "read", "total_ios"), count_of(w, "reads", "requests"));
    assert_int_equal(count_of(job, "read", "io_bytes"), count_of(w, "reads", "bytes"));
    assert_int_equal(count_of(job, "write", "total_ios"), count_of(w, "writes", "requests"));
    assert_int_equal(count_of(job, "write", "io_bytes"), count_of(w, "writes", "bytes"));
    json_decref(report);
    json_decref(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_traces_of_runs),
        cmocka_unit_test(wrong_traces_to_read),
        cmocka_unit_test(runs_are_the_same),
        cmocka_unit_test(faults_are_the_requests_of_the_device),
        cmocka_unit_test(workers_share_their_epochs),
        cmocka_unit_test(worlds_request_the_same),
        cmocka_unit_test(a_killed_run_leaves_nothing),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(rows_of_mini_batches),
        cmocka_unit_test(statistics_of_a_trace),
        cmocka_unit_test(a_table),
        cmocka_unit_test(a_replay),
        cmocka_unit_test(fio_replays_it),
    };
    return cmocka_run_group_tests(tests, tiny_runs_prepare, tiny_runs_tear_down);
}
