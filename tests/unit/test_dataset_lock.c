/* SPDX-License-Identifier: MIT */
/* The lock of a dataset's directory: runs share it and see each other, a preparation that changes something has it
 * alone and waits, one that changes nothing does not. Several open files of one process stand for several processes. */
#include "harness/base/clock.h"
#include "harness/dataset/lock.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct gnn_prepare_job quiet = {.progress = NULL};

static char *make_dir(void *state, char path[DATA_PATH])
{
    assert_int_equal(mkdir(data_path(path, state, "d"), 0555), 0); /* nobody may write there */
    return path;
}

static void test_runs_share(void **state)
{
    char dir[DATA_PATH];
    int first, second, third;
    make_dir(*state, dir);
    assert_int_equal(gnn_dataset_share(dir, &first), GNN_DATASET_ALONE);
    assert_true(first >= 0);
    assert_int_equal(gnn_dataset_share(dir, &second), GNN_DATASET_SHARED);
    assert_int_equal(gnn_dataset_share(dir, &third), GNN_DATASET_SHARED);
    assert_true(gnn_dataset_unshare(&second));
    assert_int_equal(second, -1);
    assert_true(gnn_dataset_unshare(&first));
    assert_false(gnn_dataset_unshare(&third)); /* the last one */
    assert_false(gnn_dataset_unshare(&third));
}

static void test_a_preparation_is_alone(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    atomic_bool stop = true;
    const struct gnn_prepare_job stopped = {.stop = &stop};
    int run, lock;
    make_dir(*state, dir);
    must(gnn_dataset_lock(&quiet, dir, &lock, &err), &err);
    assert_int_equal(gnn_dataset_share(dir, &run), GNN_DATASET_CHANGING);
    assert_int_equal(run, -1);
    assert_int_equal(close(lock), 0);
    assert_int_equal(gnn_dataset_share(dir, &run), GNN_DATASET_ALONE);
    assert_int_equal(gnn_dataset_lock(&stopped, dir, &lock, &err), GNN_ECANCELLED);
    assert_non_null(strstr(err.message, "waiting for other processes that use this dataset"));
    assert_int_equal(lock, -1);
    assert_false(gnn_dataset_unshare(&run)); /* who waits has no lock */
    err = (struct gnn_err){0};
    must(gnn_dataset_lock(&stopped, dir, &lock, &err), &err);
    assert_int_equal(close(lock), 0);
}

static void ignore_progress(void *ctx, const struct gnn_progress *progress)
{
    (void)ctx;
    (void)progress;
}

/* A preparation waits for a run that lasts a fifth of a second, and says so once. */
static void test_a_preparation_waits(void **state)
{
    const uint64_t start_ns = gnn_host_now_ns();
    const struct gnn_prepare_job job = {.progress = ignore_progress};
    char dir[DATA_PATH], said[400] = "";
    struct gnn_err err = {0};
    int run, lock, texts[2], status;
    make_dir(*state, dir);
    assert_int_equal(pipe(texts), 0);
    assert_int_equal(gnn_dataset_share(dir, &run), GNN_DATASET_ALONE);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(texts[1], STDERR_FILENO);
        (void)close(run); /* the open file is the parent's as well, and so is its lock */
        _exit(gnn_dataset_lock(&job, dir, &lock, &err) == GNN_OK ? 0 : 1);
    }
    assert_int_equal(close(texts[1]), 0);
    (void)usleep(200000);
    assert_int_equal(waitpid(child, &status, WNOHANG), 0);
    (void)gnn_dataset_unshare(&run);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(gnn_host_now_ns() - start_ns >= 200000000);
    assert_true(read(texts[0], said, sizeof said - 1) > 0);
    assert_int_equal(close(texts[0]), 0);
    const char *const once = strstr(said, "waiting for the runs and preparations that use it; Ctrl-C ends the wait\n");
    assert_non_null(once);
    assert_null(strstr(once + 1, "waiting"));
}

/* The run has the dataset all the time: another width would have to wait for it. */
static void test_what_is_complete_waits_for_nobody(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    atomic_bool stop = false;
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, "d"), .stop = &stop};
    int run;
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = 4;
    must(gnn_registry_find("papers100m", &entry, &err), &err);
    must(gnn_prepare_generate(entry, 10000, &options, &job, &err), &err);
    assert_int_equal(gnn_dataset_share(dir, &run), GNN_DATASET_ALONE);
    must(gnn_prepare_generate(entry, 10000, &options, &job, &err), &err);
    options.seed = 2; /* a mistake is told at once, too */
    assert_int_equal(gnn_prepare_generate(entry, 10000, &options, &job, &err), GNN_EUSAGE);
    assert_false(gnn_dataset_unshare(&run));
}

static void test_nowhere(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    int fd;
    data_path(dir, *state, "nothing");
    assert_int_equal(gnn_dataset_share(dir, &fd), GNN_DATASET_ALONE);
    assert_int_equal(fd, -1);
    assert_int_equal(gnn_dataset_lock(&quiet, dir, &fd, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, "cannot open directory"));
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_share, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_preparation_is_alone, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_preparation_waits, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_complete_waits_for_nobody, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_nowhere, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("dataset_lock", tests, NULL, NULL);
}
