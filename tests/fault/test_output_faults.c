/* SPDX-License-Identifier: MIT */
/* Files of a preparation whose direct writes fail: a device that wants more than pages is written through the page
 * cache, what comes short or is interrupted is gone on with, and any other failure is told. The bytes and their
 * checksum are those that were handed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/base/sizes.h"
#include "harness/dataset/chunks.h"
#include "harness/dataset/output.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 8 * GNN_PAGE_BYTES,
    BLOCKS = 3,
    TAIL_BYTES = 100,
    FILE_BYTES = BLOCKS * BLOCK_BYTES + TAIL_BYTES,
    FILES_MAX = 64
};

/* ---- a device that fails ---- */

/* The direct write `at`, from 1, fails by `error`, writes short_bytes alone, or is slow; with `all_alike` buffered ones
 * fail too. */
struct fault {
    int at, error;
    size_t short_bytes;
    bool all_alike;
    unsigned slow_us; /* what it takes */
    bool awaited;     /* later direct writes wait until the error is known */
};

static struct {
    struct fault fault;
    bool is_direct[FILES_MAX]; /* by descriptor: opened for direct writes */
    int opened;                /* so many of them */
    atomic_int direct, buffered;
    atomic_int failed;           /* thread that got the error; 0: none has */
    int reserve_error, reserved; /* of the first request for space; how many there were */
} device;

/* Returns whether a thread waits for others or has ended. */
static bool is_idle(int thread)
{
    char path[64], state = 'X';
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *const file = fopen(path, "r");
    if (file == NULL)
        return true;
    const bool read = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    (void)fclose(file);
    return !read || state == 'S';
}

/* Waits until all threads can know of the error: a refused direct write is followed by a buffered one, and after any
 * other error its thread idles. The machine may be busy, so no fixed time is enough. */
static void await_error(int error)
{
    for (int idle = 0; idle < 20;) {
        const int failed = atomic_load(&device.failed);
        if (failed == gettid())
            return;
        const bool known = error == EINVAL ? atomic_load(&device.buffered) > 0 : failed != 0 && is_idle(failed);
        idle = known ? idle + 1 : 0;
        (void)usleep(1000);
    }
}

/* Stands before the C library's. What is opened past the page cache is noted and opened plainly, so that the cases are
 * the same on every file system. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags & ~O_DIRECT, mode);
    assert_true(fd < FILES_MAX);
    if (fd >= 0) {
        device.is_direct[fd] = (flags & O_DIRECT) != 0;
        device.opened += device.is_direct[fd];
    }
    return fd;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    const struct fault *const f = &device.fault;
    const bool direct = device.is_direct[fd];
    const int count = 1 + atomic_fetch_add(direct ? &device.direct : &device.buffered, 1);
    if (direct)
        assert_int_equal(((uintptr_t)data | bytes | (size_t)at) % GNN_PAGE_BYTES, 0);
    if (f->error != 0 && (direct ? count == f->at : f->all_alike)) {
        atomic_store(&device.failed, gettid());
        errno = f->error;
        return -1;
    }
    if (f->slow_us != 0 && direct && count == f->at)
        (void)usleep(f->slow_us);
    if (f->awaited && direct && count > f->at)
        await_error(f->error);
    if (f->short_bytes != 0 && direct && count == f->at)
        bytes = f->short_bytes;
    return (ssize_t)syscall(SYS_pwrite64, fd, data, bytes, at);
}

/* Fails once where the case says so. */
int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    device.reserved++;
    if (device.reserve_error != 0 && device.reserved == 1) {
        errno = device.reserve_error;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

/* ---- one file ---- */

struct written {
    enum gnn_status status;
    struct gnn_err err;
    char *bytes; /* what the file holds, to be freed */
    size_t len;
    char checksum[GNN_CHECKSUM_TEXT];
};

static unsigned open_files(void)
{
    return data_entries("/proc/self/fd");
}

/* BLOCKS writes of whole pages, the last of them with some bytes more, under the fault. */
static void write_file(const char *root, const unsigned char *data, struct fault fault, struct written *out)
{
    char dir[DATA_PATH];
    struct gnn_output output;
    struct gnn_out_file *file;
    struct gnn_meta *const meta = calloc(1, sizeof *meta);
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, root, "out")};
    const unsigned before = open_files();
    assert_non_null(meta);
    *out = (struct written){.status = GNN_OK};
    device.fault = fault;
    device.opened = 0;
    device.direct = device.buffered = device.failed = 0;
    must(gnn_output_open(&job, 0, &output, &out->err), &out->err);
    must(gnn_out_open(&output, "indices", GNN_PAGE_BYTES, GNN_OUT_DATASET, &file, &out->err), &out->err);
    assert_int_equal(device.opened, 1);
    for (int block = 0; block < BLOCKS && out->status == GNN_OK; block++)
        out->status = gnn_out_write(file, data + block * BLOCK_BYTES,
                                    BLOCK_BYTES + (block + 1 == BLOCKS ? TAIL_BYTES : 0), &out->err);
    out->status = gnn_out_end(file, out->status, meta, &out->err);
    if (out->status == GNN_OK) {
        assert_int_equal(meta->file_count, 1);
        assert_int_equal(meta->files[0].bytes, FILE_BYTES);
        (void)snprintf(out->checksum, sizeof out->checksum, "%s", meta->files[0].checksum);
    }
    out->bytes = data_read(output.partial, "indices", &out->len);
    gnn_output_close(&output);
    assert_int_equal(open_files(), before);
    free(meta);
}

static unsigned char *make_data(void)
{
    unsigned char *const data = aligned_alloc(GNN_PAGE_BYTES, gnn_round_up(FILE_BYTES, GNN_PAGE_BYTES));
    assert_non_null(data);
    for (uint64_t at = 0; at < FILE_BYTES; at++)
        data[at] = (unsigned char)(gnn_mix64(at) >> 9);
    return data;
}

/* Writes under the fault; the file is whole, after so many direct and buffered writes. One more buffered write is that
 * of the checksums of its blocks. */
static void expect_whole(const char *root, struct fault fault, int direct, int buffered)
{
    struct written w;
    char checksum[GNN_CHECKSUM_TEXT];
    unsigned char *const data = make_data();
    gnn_checksum_of(data, FILE_BYTES, checksum);
    write_file(root, data, fault, &w);
    must(w.status, &w.err);
    assert_int_equal(w.len, FILE_BYTES);
    assert_memory_equal(w.bytes, data, FILE_BYTES);
    assert_string_equal(w.checksum, checksum);
    if (device.direct != direct || device.buffered != buffered + 1)
        fail_msg("fault at %d: %d direct writes and %d buffered ones, expected %d and %d", fault.at, device.direct,
                 device.buffered, direct, buffered + 1);
    free(w.bytes);
    free(data);
}

static void expect_failure(const char *root, struct fault fault, enum gnn_status status, const char *message,
                           int buffered)
{
    struct written w;
    unsigned char *const data = make_data();
    write_file(root, data, fault, &w);
    if (w.status != status || strstr(w.err.message, message) == NULL ||
        strstr(w.err.message, "writing ") != w.err.message)
        fail_msg("%s '%s', expected \"%s\"", gnn_status_name(w.status), w.err.message, message);
    assert_int_equal(device.direct, fault.at);
    assert_int_equal(device.buffered, buffered);
    free(w.bytes);
    free(data);
}

/* ---- cases ---- */

static void test_whole_pages_go_past_the_page_cache(void **state)
{
    expect_whole(*state, (struct fault){.at = 0}, BLOCKS, 1);
}

/* From the write that is refused on, none is tried directly again: the device wants more than pages, and will. */
static void test_a_refused_direct_write_goes_through_the_page_cache(void **state)
{
    for (int at = 1; at <= BLOCKS; at++)
        expect_whole(*state, (struct fault){.at = at, .error = EINVAL}, at, BLOCKS + 1 - at);
}

/* A file that takes no write at all is no endless loop. */
static void test_what_is_refused_buffered_too_is_told(void **state)
{
    for (int at = 1; at <= BLOCKS; at++)
        expect_failure(*state, (struct fault){.at = at, .error = EINVAL, .all_alike = true}, GNN_EIO,
                       "/indices: Invalid argument", 1);
}

/* Nothing but EINVAL says that another way of writing would do. */
static void test_other_failures_of_direct_writes_are_told(void **state)
{
    for (int at = 1; at <= BLOCKS; at++) {
        expect_failure(*state, (struct fault){.at = at, .error = EIO}, GNN_EIO, "/indices: Input/output error", 0);
        expect_failure(*state, (struct fault){.at = at, .error = ENOSPC}, GNN_ENOSPC, "/indices: the disk is full", 0);
    }
}

static void test_an_interrupted_direct_write_is_repeated(void **state)
{
    for (int at = 1; at <= BLOCKS; at++)
        expect_whole(*state, (struct fault){.at = at, .error = EINTR}, BLOCKS + 1, 1);
}

/* The rest of a short write is direct again where it begins at a page, else buffered; the next block is direct. */
static void test_a_short_direct_write_is_gone_on_with(void **state)
{
    expect_whole(*state, (struct fault){.at = 2, .short_bytes = 3 * GNN_PAGE_BYTES}, BLOCKS + 1, 1);
    expect_whole(*state, (struct fault){.at = 2, .short_bytes = 3 * GNN_PAGE_BYTES + 512}, BLOCKS, 2);
    expect_whole(*state, (struct fault){.at = BLOCKS, .short_bytes = 512}, BLOCKS, 1);
}

/* ---- chunks that many threads write ---- */

enum {
    CHUNK_ITEMS = (2 << 20) / 8,
    CHUNKS = 21, /* more than have slots */
    TAIL_ITEMS = 1000,
    ITEMS = CHUNKS * CHUNK_ITEMS + TAIL_ITEMS,
    FEW_ITEMS = 5 * 512 /* whole pages */
};

/* gnn_chunk_fill */
static void fill_items(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    (void)ctx;
    for (uint64_t i = 0; i < count; i++)
        ((uint64_t *)dst)[i] = gnn_mix64(first + i);
}

static void check_items(const char *partial, const char *name, const struct gnn_meta_file *entry, uint64_t count)
{
    char checksum[GNN_CHECKSUM_TEXT];
    size_t len;
    uint64_t *const items = (uint64_t *)data_read(partial, name, &len);
    assert_int_equal(len, count * sizeof *items);
    for (uint64_t i = 0; i < count; i++)
        if (items[i] != gnn_mix64(i))
            fail_msg("%s: item %llu is not what was filled in", name, (unsigned long long)i);
    gnn_checksum_of(items, len, checksum);
    assert_string_equal(entry->name, name);
    assert_string_equal(entry->checksum, checksum);
    assert_int_equal(entry->bytes, len);
    free(items);
}

/* Writes two files of items together under the fault. What was written of one that failed goes with its directory. */
static enum gnn_status write_items(const char *root, struct fault fault, uint32_t threads, struct gnn_err *err)
{
    char dir[DATA_PATH];
    struct gnn_output output;
    struct gnn_meta *const meta = calloc(1, sizeof *meta);
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, root, "out")};
    const struct gnn_chunk_stream streams[] = {
        {.name = "indices", .fill = fill_items, .items = ITEMS, .item_bytes = 8},
        {.name = "labels", .fill = fill_items, .items = FEW_ITEMS, .item_bytes = 8}};
    const struct gnn_chunk_job chunks = {.phase = "both", .streams = streams, .stream_count = 2, .threads = threads};
    const unsigned before = open_files();
    assert_non_null(meta);
    *err = (struct gnn_err){.status = GNN_OK};
    device.fault = fault;
    device.opened = 0;
    device.direct = device.buffered = device.failed = 0;
    must(gnn_output_open(&job, 0, &output, err), err);
    const enum gnn_status status = gnn_chunks_write(&chunks, &output, meta, err);
    if (status == GNN_OK) {
        check_items(output.partial, "indices", &meta->files[0], ITEMS);
        check_items(output.partial, "labels", &meta->files[1], FEW_ITEMS);
    }
    gnn_output_close(&output);
    assert_int_equal(open_files(), before);
    free(meta);
    return status;
}

/* Whole and in order, whichever thread comes first; past the page cache but for the end that is no whole page, and from
 * a refusal on through it. */
static void test_chunks_are_whole_and_in_order(void **state)
{
    struct gnn_err err;
    for (uint32_t threads = 1; threads < 6; threads += 2) {
        must(write_items(*state, (struct fault){.at = 0}, threads, &err), &err);
        assert_int_equal(device.direct, CHUNKS + 2); /* of the first file's last one its whole pages */
        assert_int_equal(device.buffered, 2);        /* the other is of the checksums of its blocks */
        must(write_items(*state, (struct fault){.at = 4, .error = EINVAL, .awaited = true}, threads, &err), &err);
        assert_in_range(device.direct, 4, 5 + threads + 2); /* those on their way, and the other file's */
        must(write_items(*state, (struct fault){.at = 3, .short_bytes = GNN_PAGE_BYTES}, threads, &err), &err);
        /* All others are written and summed meanwhile, as far as there are slots. */
        must(write_items(*state, (struct fault){.at = 2, .slow_us = 50000}, threads, &err), &err);
    }
}

/* Space for each file is set aside before anything is written: a disk that is too full is told at once, an interrupted
 * request is made again, and a file system that has no such request does without. */
static void test_space_is_set_aside(void **state)
{
    static const struct {
        int error, requests;
        enum gnn_status status;
        bool writes;
    } cases[] = {
        {0, 2, GNN_OK, true},           {EINTR, 3, GNN_OK, true},       {EOPNOTSUPP, 2, GNN_OK, true},
        {ENOSPC, 1, GNN_ENOSPC, false}, {EDQUOT, 1, GNN_ENOSPC, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_err err;
        device.reserve_error = cases[c].error;
        device.reserved = 0;
        assert_int_equal(write_items(*state, (struct fault){.at = 0}, 2, &err), cases[c].status);
        assert_int_equal(device.reserved, cases[c].requests);
        assert_int_equal(device.direct > 0, cases[c].writes);
        if (cases[c].status != GNN_OK)
            assert_non_null(strstr(err.message, "/indices: the disk is full"));
    }
    device.reserve_error = 0;
}

static void test_a_chunk_that_is_not_written_fails_the_file(void **state)
{
    struct gnn_err err;
    for (int at = 1; at <= CHUNKS; at += 4)
        for (uint32_t threads = 1; threads < 4; threads++) {
            assert_int_equal(write_items(*state, (struct fault){.at = at, .error = EIO}, threads, &err), GNN_EIO);
            assert_non_null(strstr(err.message, "s: Input/output error"));
            const struct fault full = {.at = at, .error = ENOSPC, .awaited = true};
            assert_int_equal(write_items(*state, full, threads, &err), GNN_ENOSPC);
            assert_in_range(device.direct, at, at + (int)threads + 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole_pages_go_past_the_page_cache, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_refused_direct_write_goes_through_the_page_cache, data_set_up,
                                        data_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_refused_buffered_too_is_told, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_other_failures_of_direct_writes_are_told, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_an_interrupted_direct_write_is_repeated, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_short_direct_write_is_gone_on_with, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_chunks_are_whole_and_in_order, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_space_is_set_aside, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_chunk_that_is_not_written_fails_the_file, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
