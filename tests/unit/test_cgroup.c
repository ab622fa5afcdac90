/* SPDX-License-Identifier: MIT */
/* Real cgroups on this machine: the kernel counts, caps, kills and lets go. Skipped where cgroups may not be
 * made. */
#include "harness/confine/confine.h"
#include "harness/base/group_file.h"
#include "harness/measure/device.h"
#include "harness/world/measured/measured.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

static struct gnn_confine detect_or_skip(void)
{
    struct gnn_confine confine;
    struct gnn_err err = {0};
    assert_int_equal(gnn_confine_detect(&confine, &err), GNN_OK);
    if (!confine.memory_usable)
        skip_test("no cgroup can be made here: %s", confine.remedy);
    return confine;
}

static struct gnn_cgroup *make(const struct gnn_confine *confine, uint64_t memory_bytes)
{
    struct gnn_err err = {0};
    struct gnn_cgroup *cgroup = NULL;
    const struct gnn_cgroup_config config = {.memory_bytes = memory_bytes};
    must(gnn_cgroup_create(confine, &config, &cgroup, &err), &err);
    return cgroup;
}

static struct gnn_group_reading read_cgroup(const struct gnn_cgroup *cgroup)
{
    struct gnn_group_reading reading;
    struct gnn_err err = {0};
    assert_int_equal(gnn_cgroup_read(cgroup, &reading, &err), GNN_OK);
    return reading;
}

/* A child in the cgroup that touches this much and then leaves, or stays until it is killed. */
static pid_t start_eater(const struct gnn_cgroup *cgroup, size_t bytes, bool stays)
{
    const pid_t child = fork();
    if (child != 0)
        return child;
    if (gnn_cgroup_enter(cgroup) != 0)
        _exit(9);
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(8);
    for (size_t at = 0; at < bytes; at += 4096)
        ((volatile unsigned char *)memory)[at] = 1;
    while (stays)
        (void)pause();
    _exit(0);
}

static void charge_rises_by_what_is_touched(void **state)
{
    (void)state;
    const struct gnn_confine confine = detect_or_skip();
    const uint64_t bytes = 48 * (uint64_t)MIB;
    uint64_t rise_bytes = 0;
    struct gnn_err err = {0};
    must(gnn_confine_self_test(&confine, bytes, &rise_bytes, &err), &err);
    print_message("%llu bytes touched raised the charge by %llu\n", (unsigned long long)bytes,
                  (unsigned long long)rise_bytes);
    assert_true(gnn_confine_counts(bytes, rise_bytes));
    const uint64_t shadow_bytes = bytes / 100 * SANITIZERS_SHADOW_PERCENT;
    /* An eighth for page tables and the kernel's batches of pages. */
    assert_true(rise_bytes < bytes + bytes / 8 + shadow_bytes);
}

/* A group without memory of its own yet has a batch of pages in stock for every core that charged it. */
static void what_was_charged_ahead_is_counted(void **state)
{
    (void)state;
    assert_true(gnn_confine_counts(8 * MIB, 8 * MIB + 4096));
    assert_true(gnn_confine_counts(8 * MIB, 8 * MIB - 64 * 4096));
    assert_false(gnn_confine_counts(8 * MIB, 6 * MIB));
    assert_false(gnn_confine_counts(8 * MIB, 0));
}

static void limit_is_read_back(void **state)
{
    (void)state;
    const struct gnn_confine confine = detect_or_skip();
    struct gnn_cgroup *cgroup = make(&confine, 64 * MIB);
    const struct gnn_group_reading reading = read_cgroup(cgroup);
    assert_int_equal(reading.limit_bytes, 64 * MIB);
    if (reading.swap_limit_bytes != GNN_UNKNOWN)
        assert_int_equal(reading.swap_limit_bytes, 0);
    assert_int_equal(reading.oom_kills, 0);
    assert_non_null(strstr(gnn_cgroup_name(cgroup), "oocgnn-"));
    assert_non_null(strstr(gnn_cgroup_enforcement(cgroup), "cgroup-v"));
    gnn_cgroup_close(cgroup);
}

static void kernel_kills_who_exceeds_the_cap(void **state)
{
    (void)state;
    const struct gnn_confine confine = detect_or_skip();
    struct gnn_cgroup *cgroup = make(&confine, 32 * MIB);
    int status = 0;
    const pid_t child = start_eater(cgroup, 128 * MIB, false);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const struct gnn_group_reading reading = read_cgroup(cgroup);
    assert_int_equal(reading.oom_kills, 1);
    if (reading.peak_bytes != GNN_UNKNOWN) {
        assert_true(reading.peak_bytes <= 32 * MIB);
        assert_true(reading.peak_bytes > 30 * MIB);
    }
    gnn_cgroup_close(cgroup);
}

static void close_kills_and_removes(void **state)
{
    (void)state;
    const struct gnn_confine confine = detect_or_skip();
    struct gnn_cgroup *cgroup = make(&confine, 64 * MIB);
    char dir[2048];
    (void)snprintf(dir, sizeof dir, "%s/%s", confine.memory_parent, gnn_cgroup_name(cgroup));
    struct stat info;
    assert_int_equal(stat(dir, &info), 0);
    const pid_t child = start_eater(cgroup, 4 * MIB, true);
    while (gnn_group_for_each_pid(dir, NULL, NULL) < 1)
        (void)usleep(1000);
    gnn_cgroup_close(cgroup);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(stat(dir, &info), -1);
    assert_int_equal(errno, ENOENT);
}

/* A supervisor is killed with a worker inside its cgroup; the next one cleans up both. */
static void dead_owners_are_reclaimed(void **state)
{
    (void)state;
    const struct gnn_confine confine = detect_or_skip();
    if (confine.needs_leaf)
        skip_test("this group takes one process that makes cgroups, and here are two");
    int name_pipe[2];
    assert_int_equal(pipe(name_pipe), 0);
    const pid_t supervisor = fork();
    if (supervisor == 0) {
        struct gnn_cgroup *cgroup = make(&confine, 64 * MIB);
        (void)close(name_pipe[0]);
        const pid_t worker = fork();
        if (worker == 0) {
            for (int fd = 3; fd < 64; fd++) /* as exec would: the lock is close-on-exec */
                if (fd != name_pipe[1])
                    (void)close(fd);
            (void)!gnn_cgroup_enter(cgroup);
            (void)!write(name_pipe[1], gnn_cgroup_name(cgroup), strlen(gnn_cgroup_name(cgroup)));
            (void)close(name_pipe[1]);
            for (;;)
                (void)pause();
        }
        (void)close(name_pipe[1]);
        for (;;)
            (void)pause();
    }
    (void)close(name_pipe[1]);
    char name[64] = "";
    assert_true(read(name_pipe[0], name, sizeof name - 1) > 0);
    (void)close(name_pipe[0]);
    char dir[2048];
    (void)snprintf(dir, sizeof dir, "%s/%s", confine.memory_parent, name);
    struct stat info;
    struct gnn_cgroup *while_alive = make(&confine, 64 * MIB);
    gnn_cgroup_close(while_alive);
    assert_int_equal(stat(dir, &info), 0); /* its owner lives */
    assert_int_equal(kill(supervisor, SIGKILL), 0);
    assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
    assert_int_equal(stat(dir, &info), 0);
    struct gnn_cgroup *afterwards = make(&confine, 64 * MIB);
    gnn_cgroup_close(afterwards);
    assert_int_equal(stat(dir, &info), -1);
}

/* Page cache is charged, and the group's reads are counted. */
static void cached_file_is_charged_and_reads_are_counted(void **state)
{
    (void)state;
    const struct gnn_confine confine = detect_or_skip();
    char path[] = "./oocgnn-cgroup-XXXXXX"; /* on the build's disk: /tmp may be memory */
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)unlink(path);
    static unsigned char block[MIB];
    for (int i = 0; i < 16; i++)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    struct gnn_cgroup *cgroup = NULL;
    struct gnn_cgroup_config config = {.memory_bytes = 64 * MIB};
    struct gnn_device_info device;
    struct gnn_err err = {0};
    assert_int_equal(gnn_device_find(".", &device, &err), GNN_OK);
    config.throttle = (struct gnn_throttle){.major = device.major, .minor = device.minor};
    assert_int_equal(gnn_cgroup_create(&confine, &config, &cgroup, &err), GNN_OK);
    const pid_t child = fork();
    if (child == 0) {
        if (gnn_cgroup_enter(cgroup) != 0)
            _exit(1);
        for (int i = 0; i < 16; i++)
            if (pread(fd, block, sizeof block, (off_t)i * MIB) != (ssize_t)sizeof block)
                _exit(2);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    const struct gnn_group_reading reading = read_cgroup(cgroup);
    assert_true(reading.file_bytes >= 15 * MIB);
    if (!confine.io_usable || device.major == 0) {
        print_message("reads not counted: no I/O controller, or no block device under the build\n");
    } else {
        assert_in_range(reading.read_bytes, 16 * MIB, 17 * MIB);
        assert_true(reading.read_ios >= 1);
        assert_int_equal(reading.misses_buffered_writes, confine.io == GNN_CGROUP_V1 ? 1 : 0);
    }
    gnn_cgroup_close(cgroup);
    (void)close(fd);
}

/* Moves 4 MiB of fd; returns whether all of it was moved. */
typedef bool move_fn(int fd, unsigned char *block);

static bool read_directly(int fd, unsigned char *block)
{
    return pread(fd, block, 4 * MIB, 0) == 4 * MIB;
}

static bool write_directly(int fd, unsigned char *block)
{
    return pwrite(fd, block, 4 * MIB, 0) == 4 * MIB;
}

/* The same by a ring of the measured world, which has the group of the thread that hands over. */
static bool write_by_ring(int fd, unsigned char *block)
{
    char path[64];
    struct gnn_world *world;
    struct gnn_file *file;
    struct gnn_ring *ring;
    struct gnn_write writes[4];
    struct gnn_completion done[4];
    uint32_t accepted = 0, got = 0;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (gnn_world_measured_open(NULL, &world, NULL) != GNN_OK ||
        gnn_file_open(world, path, GNN_OPEN_WRITE | GNN_OPEN_DIRECT, &file, NULL) != GNN_OK ||
        gnn_ring_open(world, &(struct gnn_ring_config){.depth = 4}, &ring, NULL) != GNN_OK)
        return false;
    for (uint64_t i = 0; i < 4; i++)
        writes[i] = (struct gnn_write){.file = file, .offset_bytes = i * MIB, .src = block + i * MIB, .len_bytes = MIB};
    bool ok = gnn_ring_submit_writes(world, ring, writes, 4, &accepted, NULL) == GNN_OK && accepted == 4 &&
              gnn_ring_wait(world, ring, 4, 4, done, &got, NULL) == GNN_OK && got == 4;
    for (int i = 0; i < 4; i++)
        ok = ok && done[i].result == MIB;
    gnn_ring_close(world, ring);
    gnn_file_close(world, file);
    gnn_world_measured_close(world);
    return ok;
}

/* 4 MiB at 8 MiB/s take half a second, at the disk's own speed a few milliseconds. */
static void throttle_slows(move_fn *move)
{
    const struct gnn_confine confine = detect_or_skip();
    struct gnn_device_info device;
    struct gnn_err err = {0};
    assert_int_equal(gnn_device_find(".", &device, &err), GNN_OK);
    if (!confine.io_usable || device.major == 0)
        skip_test("no I/O controller, or no block device under the build");
    char path[] = "./oocgnn-cgroup-XXXXXX";
    const int fd = mkostemp(path, O_DIRECT);
    if (fd < 0)
        skip_test("no direct I/O here");
    (void)unlink(path);
    unsigned char *block = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    assert_int_equal(write(fd, block, 4 * MIB), 4 * MIB);
    const struct gnn_cgroup_config config = {
        .memory_bytes = 64 * MIB, .throttle = {.major = device.major, .minor = device.minor, .bps = 8 * MIB}};
    struct gnn_cgroup *cgroup = NULL;
    assert_int_equal(gnn_cgroup_create(&confine, &config, &cgroup, &err), GNN_OK);
    double seconds = 0;
    for (int turn = 0; turn < 20; turn++) { /* others' traffic on the device: once more */
        struct timespec start, end;
        (void)clock_gettime(CLOCK_MONOTONIC, &start);
        const pid_t child = fork();
        if (child == 0)
            _exit(gnn_cgroup_enter(cgroup) == 0 && move(fd, block) ? 0 : 1);
        int status = 1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        assert_true(seconds > 0.35);
        if (seconds < 2.0)
            break;
        print_message("turn %d: 4 MiB at 8 MiB/s took %.2f s\n", turn, seconds);
    }
    assert_true(seconds < 2.0);
    gnn_cgroup_close(cgroup);
    (void)munmap(block, 4 * MIB);
    (void)close(fd);
}

static void throttle_slows_direct_reads(void **state)
{
    (void)state;
    throttle_slows(read_directly);
}

static void throttle_slows_direct_writes(void **state)
{
    (void)state;
    throttle_slows(write_directly);
}

static void throttle_slows_writes_of_a_ring(void **state)
{
    (void)state;
    throttle_slows(write_by_ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charge_rises_by_what_is_touched),
        cmocka_unit_test(what_was_charged_ahead_is_counted),
        cmocka_unit_test(limit_is_read_back),
        cmocka_unit_test(kernel_kills_who_exceeds_the_cap),
        cmocka_unit_test(close_kills_and_removes),
        cmocka_unit_test(dead_owners_are_reclaimed),
        cmocka_unit_test(cached_file_is_charged_and_reads_are_counted),
        cmocka_unit_test(throttle_slows_direct_reads),
        cmocka_unit_test(throttle_slows_direct_writes),
        cmocka_unit_test(throttle_slows_writes_of_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
