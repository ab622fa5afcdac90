/* SPDX-License-Identifier: MIT */
/* What goes wrong around a run: damaged datasets, disks that are full or in memory, users without permission,
 * outputs nobody reads, processes killed. Each ends with one message that names the remedy and the exit
 * status that `oocgnn --help` promises, and nothing is left behind. */
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/tiny_runs.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

enum { TMPFS_MAGIC_NUMBER = 0x01021994, RUN_MAX = 4096 };

/* The usual arguments, for a shell. Paths of the fixture hold no blanks. */
static void usual(const struct tiny_runs *t, const char *system, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes,
                   "%s run --system %s --dataset papers100m --scale 1/4000 --data %s --db %s --batch 32 "
                   "--hidden 16 --fanout 5,5 --quiet",
                   process_program(), system, t->data, t->db);
}

/* ---- damaged datasets ---- */

struct damage {
    const char *file;
    const char *command; /* $F is the file */
    int exit_status;
    const char *message;
};

static const struct damage damages[] = {
    {"features-d32", "truncate -s -4 $F", 1, "/features-d32: "},
    {"indices", "truncate -s -4 $F", 1, "/indices: "},
    {"indices",
     "sed -i /^param.blocks/d ${F%/*}/meta && "
     "printf '\\xff\\xff\\xff\\xff%.0s' {1..50000} | dd of=$F conv=notrunc status=none",
     1, "4294967295"},
    {"indices", "head -c $(stat -c %s $F) /dev/zero >$F.new && mv $F.new $F", 1,
     "/indices: the 262144 B at offset 0 have"},
    {"features-d32", "head -c $(stat -c %s $F) /dev/zero >$F.new && mv $F.new $F", 1, "/features-d32: the 262144 B at"},
    {"blocks-indices", "printf x | dd of=$F conv=notrunc status=none", 1, "/blocks-indices: checksum "},
    {"indptr", "printf '\\xff' | dd of=$F bs=1 seek=4001 conv=notrunc status=none", 1, "/indptr: "},
    {"labels", "printf '\\xff' | dd of=$F bs=1 seek=403 conv=notrunc status=none", 1, "/labels: "},
    {"labels", ": >$F", 1, "/labels: "},
    {"train", "printf '\\xff' | dd of=$F bs=1 seek=43 conv=notrunc status=none", 1, "/train: "},
    {"test", "echo more >>$F", 1, "/test: "},
    {"meta", "truncate -s -4 $F", 1, "/meta:"},
    {"meta", ": >$F", 1, "/meta: "},
    {"meta", "rm $F", 2, "oocgnn prepare papers100m --scale 1/4000"},
    {"valid", "rm $F", 2, "/valid: "},
};

static void a_damaged_dataset_is_refused_by_name(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    struct tiny_runs broken = *t;
    (void)snprintf(broken.data, sizeof broken.data, "%s/broken", t->dir);
    usual(&broken, "gnndrive", run, sizeof run);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct process_result r =
            process_shell("rm -rf %s && cp -r %s %s && F=%s/papers100m-1_4000/%s && { %s; } && %s --json", broken.data,
                          t->data, broken.data, broken.data, damages[i].file, damages[i].command, run);
        process_expect(r, damages[i].exit_status, damages[i].message, damages[i].command);
    }
    process_remove_tree(broken.data);
}

/* A dataset of an earlier build has no checksums of blocks: a run on it ends well, and the note has the command that
 * adds them. What was compared is in the record. */
static void a_dataset_without_checksums_of_blocks(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    struct tiny_runs earlier = *t;
    (void)snprintf(earlier.data, sizeof earlier.data, "%s/earlier", t->dir);
    usual(&earlier, "pygplus", run, sizeof run);
    run[strlen(run) - strlen(" --quiet")] = '\0';
    process_expect(process_shell("cp -r %s %s && D=%s/papers100m-1_4000 && sed -i /^param.blocks/d $D/meta && rm "
                                 "$D/blocks-* && %s",
                                 t->data, earlier.data, earlier.data, run),
                   0, "has no checksums of blocks", "without");
    json_t *record = tiny_runs_last(t);
    assert_string_equal(tiny_runs_text(json_object_get(record, "environment"), "dataset.blocks_compared"), "0");
    json_decref(record);
    struct process_result r =
        process_shell("%s $(%s 2>&1 | sed -n 's/.*`oocgnn \\(.*\\)` adds them.*/\\1/p') 2>/dev/null && %s",
                      process_program(), run, run);
    assert_int_equal(r.exit_status, 0);
    assert_null(strstr(r.err, "checksums of blocks"));
    process_free(&r);
    record = tiny_runs_last(t);
    const char *const compared = tiny_runs_text(json_object_get(record, "environment"), "dataset.blocks_compared");
    assert_true(strtoul(compared, NULL, 10) > 10);
    json_decref(record);
    process_remove_tree(earlier.data);
}

/* ---- where the data lie ---- */

static void a_dataset_in_memory(void **state)
{
    const struct tiny_runs *const t = *state;
    struct statfs fs;
    if (statfs("/dev/shm", &fs) != 0 || fs.f_type != TMPFS_MAGIC_NUMBER || access("/dev/shm", W_OK) != 0)
        skip_test("/dev/shm is no writable tmpfs");
    struct tiny_runs memory = *t;
    (void)snprintf(memory.data, sizeof memory.data, "/dev/shm/oocgnn-test-%d", (int)getpid());
    char run[RUN_MAX];
    usual(&memory, "gnndrive", run, sizeof run);
    struct process_result cold = process_shell("cp -r %s %s && %s", t->data, memory.data, run);
    struct process_result direct = process_shell("%s --no-cold", run);
    struct process_result buffered = process_shell("%s --no-cold --set gnndrive.io=buffered", run);
    process_remove_tree(memory.data);
    process_expect(cold, 4, "--no-cold", "cold start in memory");
    process_expect(direct, 4, "--set SYSTEM.io=buffered", "direct reads in memory");
    assert_non_null(strstr(buffered.out, "buffered reads"));
    process_expect(buffered, 0, "", "buffered reads in memory");
}

/* Unmounts, and tries again: the kernel gives back the files of a ring after its process has ended. */
static int unmount(const char *disk)
{
    uint32_t naps = 0;
    int status = umount(disk);
    while (status != 0 && errno == EBUSY && patient(&naps))
        status = umount(disk);
    return status;
}

/* A disk of 300 KiB: too small for a dataset, and for a database once it is full. */
static void a_full_disk(void **state)
{
    const struct tiny_runs *const t = *state;
    char disk[590], run[RUN_MAX], packs[RUN_MAX];
    struct tiny_runs full = *t;
    (void)snprintf(disk, sizeof disk, "%s/disk", t->dir);
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=300k") != 0)
        skip_test("no permission to mount a small disk");
    (void)snprintf(full.db, sizeof full.db, "%s/runs.db", disk);
    usual(&full, "pygplus", run, sizeof run);
    usual(t, "diskgnn", packs, sizeof packs);
    const char *const program = process_program();
    struct process_result prepare =
        process_shell("%s prepare papers100m --scale 1/4000 --dim 32 --data %s --quiet; s=$?; ls -A %s; exit $s",
                      program, disk, disk);
    struct process_result trace =
        process_shell("cat /dev/zero >%s/fill 2>/dev/null; %s --db %s --epochs 9 --evaluate never "
                      "--trace-loss %s/trace; s=$?; rm -f %s/fill; exit $s",
                      disk, run, t->db, disk, disk);
    struct process_result db =
        process_shell("cat /dev/zero >%s/fill 2>/dev/null; %s; s=$?; rm -f %s/fill; exit $s", disk, run, disk);
    /* Last: the kernel gives the space of a ring's files back some time after its process has ended. */
    struct process_result packing =
        process_shell("%s --set diskgnn.io=buffered --set diskgnn.prepare_dir=%s; s=$?; ls %s/diskgnn-* | "
                      "sed 's/^/left: /'; exit $s",
                      packs, disk, disk);
    const int unmounted = unmount(disk);
    assert_string_equal(prepare.out, "");
    process_expect(prepare, 1, "free space", "prepare on a full disk");
    process_expect(trace, 1, "No space left on device", "loss trace on a full disk");
    assert_non_null(strstr(packing.out, "left: lock"));
    assert_null(strstr(packing.out, "left: e0"));
    process_expect(packing, 1, "free some space", "packing on a full disk");
    process_expect(db, 1, "disk is full", "database on a full disk");
    assert_int_equal(unmounted, 0);
}

static void databases_that_cannot_be(void **state)
{
    const struct tiny_runs *const t = *state;
    char run[RUN_MAX];
    usual(t, "null", run, sizeof run);
    process_expect(process_shell("%s --db %s/no/dir/x.db", run, t->dir), 2, "directory",
                   "database in a missing directory");
    process_expect(process_shell("echo text >%s/text.db; %s --db %s/text.db", t->dir, run, t->dir), 1, "not a database",
                   "a text file as database");
    process_expect(process_shell("%s --db %s", run, t->dir), 2, t->dir, "a directory as database");
    process_expect(process_shell("%s --trace-loss %s/no/trace", run, t->dir), 2, "No such file",
                   "trace in a missing directory");
}

/* ---- who runs it ---- */

static void an_ordinary_user(void **state)
{
    const struct tiny_runs *const t = *state;
    char base[700];
    static const char *const user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    (void)snprintf(base, sizeof base, "%s/user", t->dir);
    struct process_result r =
        process_shell("mkdir -p %s/db && cp %s %s/oocgnn && cp -r %s %s/data && chmod -R a+rX %s && chmod 711 %s && "
                      "chmod 777 %s/db && [ $(id -u) = 0 ] && %s test -x %s/oocgnn",
                      base, process_program(), base, t->data, base, base, t->dir, base, user, base);
    const bool possible = r.exit_status == 0;
    process_free(&r);
    if (!possible)
        skip_test("cannot become an ordinary user here");
    char run[RUN_MAX];
    (void)snprintf(run, sizeof run,
                   "cd %s && %s ./oocgnn run --system pygplus --dataset papers100m --scale 1/4000 --db db/x.db "
                   "--batch 32 --hidden 16 --fanout 5,5 --json",
                   base, user);
    process_expect(process_shell("%s", run), 4, "--no-cold", "residency of somebody else's files");
    if (t->confined)
        process_expect(process_shell("%s --no-cold --memory 64M", run), 4, "--cap program", "a cap without permission");
    r = process_shell("%s --no-cold --memory 64M --cap program", run);
    assert_non_null(strstr(r.out, "\"cap_enforcement\":\"in-program\""));
    process_expect(r, 0, "", "a cap by the program");
    process_expect(process_shell("chmod 700 %s/data; %s --no-cold", base, run), 4, "Permission denied",
                   "an unreadable dataset");
}

/* ---- who reads the output ---- */

static void output_that_nobody_receives(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const program = process_program();
    char run[RUN_MAX];
    usual(t, "null", run, sizeof run);
    process_expect(process_shell("%s list systems >/dev/full", program), 1, "No space left", "list to a full device");
    process_expect(process_shell("%s list systems >&-", program), 1, "standard output", "list to a closed stream");
    process_expect(process_shell("%s --json >/dev/full", run), 1, "standard output", "JSON to a full device");
    process_expect(process_shell("%s >&-", run), 1, "standard output", "run to a closed stream");

    /* No standard stream at all, or one that is closed meanwhile: the run is recorded all the same. */
    struct process_result r = process_shell("%s --seed 41 <&- >&- 2>&-", run);
    process_free(&r);
    r = process_shell("%s --seed 42 2>&1 | true", run);
    process_free(&r);
    r = process_shell("%s report --last 2 --json --db %s", program, t->db);
    assert_non_null(strstr(r.out, "\"seed\":41"));
    assert_non_null(strstr(r.out, "\"seed\":42"));
    assert_null(strstr(r.out, "\"running\""));
    process_free(&r);
}

/* ---- who is killed ---- */

static pid_t start_endless(const struct tiny_runs *t, const char *const *more)
{
    const char *words[16] = {"--system", "gnndrive", "--epochs", "100000", "--evaluate", "never"};
    const char *argv[TINY_ARGUMENTS_MAX];
    size_t count = 6;
    for (; *more != NULL && count < 15; more++)
        words[count++] = *more;
    words[count] = NULL;
    tiny_runs_arguments(t, words, argv);
    return process_start(argv);
}

static bool cgroup_left(pid_t supervisor)
{
    struct process_result r = process_shell("find /sys/fs/cgroup -type d -name 'oocgnn-%ld-*'", (long)supervisor);
    const bool left = r.out[0] != '\0';
    process_free(&r);
    return left;
}

static void expect_end(const struct tiny_runs *t, pid_t supervisor, const char *status, const char *reason)
{
    json_t *const run = tiny_runs_last(t);
    assert_string_equal(tiny_runs_text(run, "status"), status);
    char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
    assert_non_null(strstr(reasons, reason));
    free(reasons);
    json_decref(run);
    assert_false(tiny_runs_worker_left(t));
    assert_false(cgroup_left(supervisor));
}

static void a_crashed_worker_is_a_failed_run(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const none[] = {NULL};
    const pid_t supervisor = start_endless(t, none);
    const pid_t worker = tiny_runs_worker_of(supervisor);
    assert_true(worker > 0);
    tiny_runs_nap(0.3);
    assert_int_equal(kill(worker, SIGABRT), 0);
    assert_int_equal(process_wait(supervisor), 1);
    expect_end(t, supervisor, "failed", "signal 6");
}

/* A worker that no longer listens: the first signal asks it in vain, the second kills it; and the probes'
 * interval has no say in when. */
static void the_second_signal_insists(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const seldom[] = {"--interval", "1h", NULL};
    const pid_t supervisor = start_endless(t, seldom);
    const pid_t worker = tiny_runs_worker_of(supervisor);
    assert_true(worker > 0);
    tiny_runs_nap(0.3);
    assert_int_equal(kill(worker, SIGSTOP), 0);
    assert_int_equal(kill(supervisor, SIGTERM), 0);
    tiny_runs_nap(0.2);
    assert_int_equal(kill(supervisor, SIGINT), 0);
    assert_int_equal(process_wait(supervisor), 143); /* of the first */
    expect_end(t, supervisor, "interrupted", "user");
}

/* Whenever the signal comes, nothing stays. Before the supervisor is ready it dies of the signal; then there
 * is nothing to clean up. */
static void interrupted_at_any_moment(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const none[] = {NULL};
    for (int ms = 0; ms <= 120; ms += 15) {
        const pid_t supervisor = start_endless(t, none);
        tiny_runs_nap(ms * 1e-3);
        assert_int_equal(kill(supervisor, SIGINT), 0);
        const int status = process_wait(supervisor);
        if (status != 130 && status != -SIGINT)
            fail_msg("interrupted after %d ms: status %d", ms, status);
        assert_false(tiny_runs_worker_left(t));
        assert_false(cgroup_left(supervisor));
    }
}

static void the_next_run_removes_a_dead_ones_cgroup(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const none[] = {NULL};
    if (!t->confined)
        skip_test("no writable memory control group");
    const pid_t supervisor = start_endless(t, none);
    assert_true(tiny_runs_worker_of(supervisor) > 0);
    assert_true(cgroup_left(supervisor));
    assert_int_equal(kill(supervisor, SIGKILL), 0);
    assert_int_equal(process_wait(supervisor), -SIGKILL);
    tiny_runs_await_end(t);
    const char *const next[] = {"--system", "null", "--evaluate", "never", NULL};
    int exit_status;
    json_decref(tiny_runs_json(t, next, &exit_status));
    assert_int_equal(exit_status, 0);
    assert_false(cgroup_left(supervisor));
}

static void a_time_limit_shorter_than_opening(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const more[] = {"--system", "gnndrive", "--time-limit", "1us", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(t, more, &exit_status);
    assert_int_equal(exit_status, 0);
    assert_string_equal(tiny_runs_text(run, "status"), "oot");
    assert_int_equal(json_array_size(json_object_get(run, "epochs")), 0);
    json_decref(run);
}

/* ---- what the kernel enforces ---- */

static void a_slow_device_is_slow(void **state)
{
    const struct tiny_runs *const t = *state;
    if (!t->throttled)
        skip_test("no writable control group for I/O, or no block device behind the test directory");
    static const double limit_bytes = 2 << 20;
    /* without readahead: whatever this machine's device reads ahead, the bytes are those the system asks for */
    const char *const more[] = {"--system", "pygplus", "--device-bps",          "2M", "--evaluate",
                                "never",    "--set",   "pygplus.readahead=off", NULL};
    int exit_status;
    json_t *const run = tiny_runs_json(t, more, &exit_status);
    if (exit_status != 0)
        fail_msg("status %d, %s: %s", exit_status, tiny_runs_text(run, "status"), tiny_runs_text(run, "reasons"));
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    const json_t *const counters = json_object_get(epoch, "counters");
    const double bytes = (double)json_integer_value(json_object_get(counters, "device_read_bytes"));
    const double seconds = 1e-9 * (double)json_integer_value(json_object_get(epoch, "wall_ns"));
    assert_true(bytes > 1 << 20);
    if (bytes / seconds > 1.25 * limit_bytes) /* a token bucket may start full */
        fail_msg("%.0f B in %.3f s under a limit of %.0f B/s", bytes, seconds, limit_bytes);
    json_decref(run);
}

/* ---- sweeps ---- */

static void write_job(const char *path, const struct tiny_runs *t, const char *cells)
{
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "[global]\ndataset = papers100m\nscale = 1/4000\ndata = %s\ndb = %s/sweep.db\nbatch = 64\n"
                  "hidden = 8\nfanout = 3,3\nevaluate = never\n%s",
                  t->data, t->dir, cells);
    assert_int_equal(fclose(file), 0);
}

static void expect_runs(const struct tiny_runs *t, const char *path, const char *options, int runs)
{
    struct process_result r = process_shell("%s sweep %s --json %s | wc -l", process_program(), path, options);
    if (atoi(r.out) != runs)
        fail_msg("sweep %s made %s runs, expected %d\n%s", options, r.out, runs, r.err);
    process_free(&r);
    (void)t;
}

/* A cell is done when every option and every parameter is the recorded one, however it is spelt. */
static void a_sweep_resumes_what_is_missing(void **state)
{
    const struct tiny_runs *const t = *state;
    char path[700];
    (void)snprintf(path, sizeof path, "%s/job.ini", t->dir);
    write_job(path, t, "[g]\nsystem = gnndrive\ngnndrive.extractors = 1\n[n]\nsystem = null\n");
    expect_runs(t, path, "--dry-run | head -0", 0);
    expect_runs(t, path, "--resume", 2);
    expect_runs(t, path, "--resume", 0);
    expect_runs(t, path, "--resume --repeat 2", 2);
    write_job(path, t, "[g]\nsystem = gnndrive\ngnndrive.extractors = 01\n[n]\nsystem = null\nseed = 0001\n");
    expect_runs(t, path, "--resume", 0);
    write_job(path, t, "[g]\nsystem = gnndrive\ngnndrive.extractors = 3 | 1\n[n]\nsystem = null\nseed = 2\n");
    expect_runs(t, path, "--resume", 2);
    write_job(path, t, "[g]\nsystem = gnndrive\n"); /* the default, which nobody ran */
    expect_runs(t, path, "--resume", 1);
}

static void every_model_on_both_systems(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const systems[] = {"pygplus", "gnndrive"};
    static const char *const models[][6] = {{"--model", "gcn", NULL},
                                            {"--model", "gcn", "--gcn-norm", "standard", NULL},
                                            {"--model", "gat", "--heads", "2", "--gat-width-total", NULL},
                                            {"--model", "sage", "--compute", "ref", NULL}};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        double loss[2];
        for (size_t s = 0; s < 2; s++) {
            const char *more[16] = {"--system", systems[s], "--set", "gnndrive.in_order=yes", "--evaluate", "never"};
            for (size_t i = 0; models[m][i] != NULL; i++)
                more[6 + i] = models[m][i];
            int exit_status;
            json_t *const run = tiny_runs_json(t, more, &exit_status);
            assert_int_equal(exit_status, 0);
            const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
            loss[s] = json_real_value(json_object_get(epoch, "loss"));
            json_decref(run);
        }
        assert_true(loss[0] > 0);
        assert_memory_equal(&loss[0], &loss[1], sizeof loss[0]);
    }
}

/* ---- what sampling ahead leaves behind ---- */

static pid_t start_ahead(const struct tiny_runs *t, const char *const *system)
{
    const char *words[16] = {"--epochs", "100000", "--evaluate", "never", "--no-cold"};
    const char *argv[TINY_ARGUMENTS_MAX];
    size_t count = 5;
    for (; *system != NULL && count < 15; system++)
        words[count++] = *system;
    words[count] = NULL;
    tiny_runs_arguments(t, words, argv);
    return process_start(argv);
}

/* Scratch files without a name that the process holds on the dataset's file system. */
static bool holds_scratch(const struct tiny_runs *t, pid_t pid)
{
    struct process_result r =
        process_shell("ls -l /proc/%ld/fd 2>/dev/null | grep -F '%s' | grep -c deleted", (long)pid, t->data);
    const bool holds = strtol(r.out, NULL, 10) > 0;
    process_free(&r);
    return holds;
}

/* Everything below the data directory, with sizes. */
static struct process_result listing(const struct tiny_runs *t)
{
    return process_shell("find %s -printf '%%p %%y %%s\\n' | sort", t->data);
}

/* A superbatch is on disk while it is trained: whoever ends the run in its middle, and however, its files go too. */
static void nothing_is_left_of_a_superbatch(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const systems[][9] = {
        {"--system", "ginex", "--set", "ginex.superbatch=3", NULL},
        {"--system", "ginex", "--set", "ginex.superbatch=3", "--set", "ginex.io=buffered", NULL},
    };
    struct process_result before = listing(t);
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++)
        for (int way = 0; way < 3; way++) {
            const pid_t supervisor = start_ahead(t, systems[s]);
            const pid_t worker = tiny_runs_worker_of(supervisor);
            assert_true(worker > 0);
            uint32_t naps = 0;
            while (!holds_scratch(t, worker))
                assert_true(patient(&naps)); /* otherwise nothing is tested */
            tiny_runs_nap(0.1);
            assert_int_equal(kill(way == 1 ? worker : supervisor, way == 2 ? SIGINT : SIGKILL), 0);
            assert_int_equal(process_wait(supervisor), way == 0 ? -SIGKILL : way == 2 ? 130 : 1);
            tiny_runs_await_end(t);
            assert_false(tiny_runs_worker_left(t));
            struct process_result after = listing(t);
            assert_string_equal(after.out, before.out);
            process_free(&after);
        }
    process_free(&before);
}

/* ---- a preparation that is cut off ---- */

static bool found(const struct tiny_runs *t, const char *pattern)
{
    struct process_result r = process_shell("find %s -path '%s' | head -1", t->data, pattern);
    const bool is = r.out[0] != '\0';
    process_free(&r);
    return is;
}

static uint64_t figure_of(const json_t *run, const char *name)
{
    const json_t *const figures = json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "figures");
    assert_true(json_is_integer(json_object_get(figures, name)));
    return (uint64_t)json_integer_value(json_object_get(figures, name));
}

/* Packing that lasts long enough to be cut off: large mini-batches with one slow read at a time, or one partition
 * at a time with a file of the progress. */
#define PACKED "--system", "diskgnn", "--fanout", "10,10"
#define SLOW_READS "--fault", "slow=0.2,slow-by=5ms"
static const struct slow_packing {
    const char *words[11];
    const char *begun; /* a file that is there from then on */
    bool kept;         /* what was packed is taken up */
} slow_packings[] = {
    {{PACKED, SLOW_READS, "--set", "diskgnn.packing=individual", "--set", "diskgnn.pack_depth=1", NULL},
     "*/diskgnn-*/*-cached.part",
     false},
    {{PACKED, SLOW_READS, "--set", "diskgnn.checkpoint=1", "--set", "diskgnn.partitions=400", NULL},
     "*/diskgnn-*/*-packing",
     true},
};

/* way 0: the supervisor is killed, 1: the worker, 2: Ctrl-C. */
static void cut_off(const struct tiny_runs *t, const struct slow_packing *slow, int way)
{
    const pid_t supervisor = start_ahead(t, slow->words);
    const pid_t worker = tiny_runs_worker_of(supervisor);
    assert_true(worker > 0);
    uint32_t naps = 0;
    while (!found(t, slow->begun))
        assert_true(patient(&naps)); /* otherwise nothing is tested */
    assert_int_equal(kill(way == 1 ? worker : supervisor, way == 2 ? SIGINT : SIGKILL), 0);
    assert_int_equal(process_wait(supervisor), way == 0 ? -SIGKILL : way == 2 ? 130 : 1);
    tiny_runs_await_end(t);
    assert_false(tiny_runs_worker_left(t));
    assert_false(found(t, "*/diskgnn-*/*-cached"));
    assert_true(way < 2 || found(t, "*.part") == slow->kept);
}

/* Killed or interrupted while it packs: what was sampled and placed before stays and is not made again, nor is what was
 * packed and kept; and the next run finds nothing else. */
static void a_preparation_is_resumed(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const quick[] = {PACKED, "--epochs", "1", "--evaluate", "never", NULL};
    for (size_t s = 0; s < sizeof slow_packings / sizeof *slow_packings; s++)
        for (int way = 0; way < 3; way++) {
            cut_off(t, &slow_packings[s], way);
            int exit_status;
            json_t *const run = tiny_runs_json(t, quick, &exit_status);
            assert_int_equal(exit_status, 0);
            assert_int_equal(figure_of(run, "draw_prepare_ns"), 0);
            assert_int_equal(figure_of(run, "place_prepare_ns"), 0);
            assert_true(figure_of(run, "pack_prepare_ns") > 0);
            assert_int_equal(figure_of(run, "pack_kept_prepare_rows") > 0, slow_packings[s].kept);
            json_decref(run);
            assert_false(found(t, "*.part"));
            assert_false(found(t, "*-packing"));
            assert_true(found(t, "*/diskgnn-*/*-cached"));
            struct process_result r = process_shell("rm -r $(find %s -name 'diskgnn-*')", t->data);
            assert_int_equal(r.exit_status, 0);
            process_free(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_dataset_is_refused_by_name),
        cmocka_unit_test(a_dataset_without_checksums_of_blocks),
        cmocka_unit_test(a_dataset_in_memory),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(databases_that_cannot_be),
        cmocka_unit_test(an_ordinary_user),
        cmocka_unit_test(output_that_nobody_receives),
        cmocka_unit_test(a_crashed_worker_is_a_failed_run),
        cmocka_unit_test(the_second_signal_insists),
        cmocka_unit_test(interrupted_at_any_moment),
        cmocka_unit_test(nothing_is_left_of_a_superbatch),
        cmocka_unit_test(a_preparation_is_resumed),
        cmocka_unit_test(the_next_run_removes_a_dead_ones_cgroup),
        cmocka_unit_test(a_time_limit_shorter_than_opening),
        cmocka_unit_test(a_slow_device_is_slow),
        cmocka_unit_test(a_sweep_resumes_what_is_missing),
        cmocka_unit_test(every_model_on_both_systems),
    };
    return cmocka_run_group_tests_name("faults", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
