/* SPDX-License-Identifier: MIT */
/* The hold on a device's readahead: it is set, and given back however the holder ends. A plain file stands for sysfs'
 * own; where this user may, an unused loop device of the kernel too. */
#include "harness/confine/readahead.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct scratch {
    char *dir;
    char path[600];
};

static int set_up(void **state)
{
    struct scratch *const s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->dir = process_temp_dir();
    (void)snprintf(s->path, sizeof s->path, "%s/read_ahead_kb", s->dir);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scratch *const s = *state;
    process_remove_tree(s->dir);
    free(s->dir);
    free(s);
    return 0;
}

static void write_kib(const char *path, unsigned kib)
{
    FILE *const file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fprintf(file, "%u\n", kib) > 0);
    assert_int_equal(fclose(file), 0);
}

static unsigned read_kib(const char *path)
{
    unsigned kib = 0;
    FILE *const file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%u", &kib), 1);
    (void)fclose(file);
    return kib;
}

/* Waits for the value; returns what is there then. */
static unsigned settled_kib(const char *path, unsigned wanted)
{
    uint32_t naps = 0;
    while (read_kib(path) != wanted && patient(&naps))
        continue;
    return read_kib(path);
}

static struct gnn_readahead *hold(const char *path, uint64_t bytes)
{
    struct gnn_readahead *held = NULL;
    struct gnn_err err = {0};
    must(gnn_readahead_hold(path, bytes, &held, &err), &err);
    return held;
}

static void it_is_set_and_given_back(void **state)
{
    const struct scratch *const s = *state;
    static const uint64_t values[] = {0, 4096, 65536, 8 << 20};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        write_kib(s->path, 128);
        struct gnn_readahead *const held = hold(s->path, values[i]);
        assert_int_equal(read_kib(s->path), values[i] / 1024);
        assert_int_equal(gnn_readahead_before(held), 128 << 10);
        gnn_readahead_release(held);
        assert_int_equal(read_kib(s->path), 128);
    }
    gnn_readahead_release(NULL);
}

/* The holder's whole process group goes with SIGKILL; nobody else is left to give anything back. */
static void a_killed_holder_gives_it_back(void **state)
{
    const struct scratch *const s = *state;
    write_kib(s->path, 128);
    const pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)hold(s->path, 0);
        (void)kill(0, SIGKILL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(settled_kib(s->path, 128), 128);
}

/* One of this process's children: the guard, when it has no other. */
static pid_t only_child(void)
{
    struct process_result r = process_shell("cat /proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    char *end = NULL;
    const long first = strtol(r.out, &end, 10);
    const long shell = strtol(end, NULL, 10); /* the cat itself comes last */
    const bool two = shell > 0;
    process_free(&r);
    return two ? (pid_t)first : 0;
}

static void a_killed_guard_is_done_without(void **state)
{
    const struct scratch *const s = *state;
    write_kib(s->path, 128);
    struct gnn_readahead *const held = hold(s->path, 0);
    const pid_t guard = only_child();
    if (guard == 0) {
        gnn_readahead_release(held);
        skip_test("the kernel does not list a process's children");
    }
    assert_int_equal(kill(guard, SIGKILL), 0);
    gnn_readahead_release(held);
    assert_int_equal(read_kib(s->path), 128);
}

static void refused(const char *path, enum gnn_status status, const char *part)
{
    struct gnn_readahead *held = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_readahead_hold(path, 4096, &held, &err), status);
    assert_null(held);
    if (strstr(err.message, part) == NULL)
        fail_msg("expected \"%s\" in: %s", part, err.message);
}

static void refusals(void **state)
{
    const struct scratch *const s = *state;
    refused("/sys/dev/block/0:0/queue/read_ahead_kb", GNN_ENOTSUP, "shows no readahead");
    refused("/proc/version", geteuid() == 0 ? GNN_ENOTSUP : GNN_EPERM, geteuid() == 0 ? "no number" : "sudo");
    write_kib(s->path, 128);
    struct gnn_readahead *const held = hold(s->path, 0);
    refused(s->path, GNN_EPERM, "another run holds");
    assert_int_equal(read_kib(s->path), 0); /* the first one's still */
    gnn_readahead_release(held);
    assert_int_equal(read_kib(s->path), 128);
    if (geteuid() == 0)
        return;
    assert_int_equal(chmod(s->path, 0444), 0);
    refused(s->path, GNN_EPERM, "echo 4 >");
}

static void the_kernels_own(void **state)
{
    (void)state;
    char path[GNN_READAHEAD_PATH];
    unsigned major = 0, minor = 0;
    FILE *const dev = fopen("/sys/block/loop7/dev", "re");
    if (dev == NULL)
        skip_test("no loop device that nobody uses");
    const int numbers = fscanf(dev, "%u:%u", &major, &minor);
    (void)fclose(dev);
    assert_int_equal(numbers, 2);
    gnn_readahead_path(major, minor, path);
    if (access(path, W_OK) != 0)
        skip_test("%s is not ours to write", path);
    const unsigned before = read_kib(path);
    struct gnn_readahead *const held = hold(path, 48 << 10);
    assert_int_equal(read_kib(path), 48);
    gnn_readahead_release(held);
    assert_int_equal(read_kib(path), before);
}

int main(void)
{
    end_a_hang();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_set_and_given_back),
        cmocka_unit_test(a_killed_holder_gives_it_back),
        cmocka_unit_test(a_killed_guard_is_done_without),
        cmocka_unit_test(refusals),
        cmocka_unit_test(the_kernels_own),
    };
    return cmocka_run_group_tests_name("readahead", tests, set_up, tear_down);
}
