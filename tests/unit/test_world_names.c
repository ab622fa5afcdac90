/* SPDX-License-Identifier: MIT */
/* Names and scratch files, the same cases in both worlds: what is written under one name, renamed and removed, and what
 * never has a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/world/simulated/simulated.h"
#include "tests/support/data_files.h"
#include "tests/support/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- a file system without nameless files ---- */

static bool refuse_tmpfile;

/* Stands before the C library's: what the measured world opens comes through here. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? (mode_t)va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (refuse_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* ---- either world ---- */

enum world_kind { MEASURED, SIMULATED, FAULTY_MEASURED, FAULTY_SIMULATED, WORLD_KINDS };

static void open_in(struct fixture *p, enum world_kind kind)
{
    const struct gnn_fault_plan nothing = {.seed = 1};
    fixture_open(p, .scratch = true, .simulated = kind == SIMULATED || kind == FAULTY_SIMULATED,
                 .faults = kind == FAULTY_MEASURED || kind == FAULTY_SIMULATED ? &nothing : NULL);
}

static void over_all_worlds(void (*check)(struct fixture *p))
{
    for (int kind = 0; kind < WORLD_KINDS; kind++) {
        struct fixture p;
        open_in(&p, (enum world_kind)kind);
        check(&p);
        fixture_close(&p);
    }
}

static struct gnn_file *open_named(struct fixture *p, const char *name, unsigned flags)
{
    char path[512];
    struct gnn_file *file;
    struct gnn_err err = {0};
    if (gnn_file_open(p->world, io_scratch_path(&p->scratch, name, path), flags, &file, &err) != GNN_OK)
        fail_msg("%s world: %s", p->world->ops->name, err.message);
    return file;
}

static void write_named(struct fixture *p, const char *name, const char *text)
{
    struct gnn_file *file = open_named(p, name, GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE);
    assert_int_equal(gnn_file_write(p->world, file, 0, text, strlen(text)), (int64_t)strlen(text));
    assert_int_equal(gnn_file_sync(p->world, file, NULL), GNN_OK);
    gnn_file_close(p->world, file);
}

static void check_text(struct fixture *p, struct gnn_file *file, const char *text)
{
    char got[64] = {0};
    assert_int_equal(gnn_file_read(p->world, file, 0, got, sizeof got), (int64_t)strlen(text));
    assert_string_equal(got, text);
}

static void check_named(struct fixture *p, const char *name, const char *text)
{
    struct gnn_file *file = open_named(p, name, GNN_OPEN_READ);
    check_text(p, file, text);
    gnn_file_close(p->world, file);
}

static void check_missing(struct fixture *p, const char *name)
{
    char path[512];
    struct gnn_file *file;
    struct gnn_err err = {0};
    assert_int_equal(gnn_file_open(p->world, io_scratch_path(&p->scratch, name, path), GNN_OPEN_READ, &file, &err),
                     GNN_ENOENT);
    assert_null(file);
    assert_non_null(strstr(err.message, path));
}

/* ---- scratch files ---- */

static void check_scratch(struct fixture *p)
{
    struct gnn_file *file, *other;
    const unsigned flags = GNN_OPEN_WRITE | GNN_OPEN_SCRATCH;
    assert_int_equal(gnn_file_open(p->world, p->scratch.dir, flags, &file, NULL), GNN_OK);
    assert_int_equal(gnn_file_open(p->world, p->scratch.dir, flags, &other, NULL), GNN_OK);
    assert_int_equal(data_entries(p->scratch.dir), 0);
    assert_int_equal(gnn_file_write(p->world, file, 0, "one", 3), 3);
    assert_int_equal(gnn_file_write(p->world, other, 0, "another", 7), 7);
    check_text(p, file, "one");
    check_text(p, other, "another");
    struct gnn_file_info info;
    gnn_file_info(p->world, file, &info);
    assert_int_equal(info.size_bytes, 3);
    assert_int_equal(gnn_file_sync(p->world, file, NULL), GNN_OK);
    gnn_file_close(p->world, other);
    gnn_file_close(p->world, file);
    assert_int_equal(data_entries(p->scratch.dir), 0);
}

static void test_scratch_has_no_name(void **state)
{
    (void)state;
    over_all_worlds(check_scratch);
}

static void test_scratch_where_every_file_has_a_name(void **state)
{
    (void)state;
    refuse_tmpfile = true;
    over_all_worlds(check_scratch);
    refuse_tmpfile = false;
}

static void check_direct_scratch(struct fixture *p)
{
    if (!p->direct) {
        leave_out("direct scratch files: no direct I/O in the temporary directory");
        return;
    }
    struct gnn_file *file;
    assert_int_equal(
        gnn_file_open(p->world, p->scratch.dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | GNN_OPEN_DIRECT, &file, NULL),
        GNN_OK);
    struct gnn_file_info info;
    gnn_file_info(p->world, file, &info);
    assert_true(info.direct);
    const uint64_t bytes = 4 * gnn_round_up(info.offset_align_bytes, info.mem_align_bytes);
    void *memory;
    assert_int_equal(gnn_mem_alloc(p->world, "four units", bytes, GNN_MEM_PINNED, &memory, NULL), GNN_OK);
    for (uint64_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = (unsigned char)(i * 7 + i / 256);
    assert_int_equal(gnn_file_write(p->world, file, bytes, memory, bytes), (int64_t)bytes);
    memset(memory, 1, bytes);
    assert_int_equal(gnn_file_read(p->world, file, 0, memory, bytes), (int64_t)bytes); /* a hole */
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0);
    assert_int_equal(gnn_file_read(p->world, file, bytes, memory, bytes), (int64_t)bytes);
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(((unsigned char *)memory)[i], (unsigned char)(i * 7 + i / 256));
    gnn_mem_free(p->world, memory);
    gnn_file_close(p->world, file);
    assert_int_equal(data_entries(p->scratch.dir), 0);
}

static void test_direct_scratch(void **state)
{
    (void)state;
    over_all_worlds(check_direct_scratch);
    refuse_tmpfile = true;
    over_all_worlds(check_direct_scratch);
    refuse_tmpfile = false;
}

/* The measured world says where scratch files cannot be; the simulated one takes any directory. */
static void test_scratch_in_a_missing_directory(void **state)
{
    (void)state;
    struct fixture p;
    open_in(&p, MEASURED);
    for (int round = 0; round < 2; round++) {
        refuse_tmpfile = round == 1;
        char path[512];
        struct gnn_file *file;
        struct gnn_err err = {0};
        assert_int_equal(gnn_file_open(p.world, io_scratch_path(&p.scratch, "missing", path),
                                       GNN_OPEN_WRITE | GNN_OPEN_SCRATCH, &file, &err),
                         GNN_ENOENT);
        assert_non_null(strstr(err.message, path));
    }
    refuse_tmpfile = false;
    fixture_close(&p);
}

/* ---- names ---- */

static void check_rename(struct fixture *p)
{
    char from[512], to[512];
    (void)io_scratch_path(&p->scratch, "new", from);
    (void)io_scratch_path(&p->scratch, "layout", to);
    write_named(p, "new", "first");
    check_missing(p, "layout");
    assert_int_equal(gnn_file_rename(p->world, from, to, NULL), GNN_OK);
    check_missing(p, "new");
    check_named(p, "layout", "first");
    /* It replaces what is there; who has that open goes on reading it. */
    struct gnn_file *old = open_named(p, "layout", GNN_OPEN_READ);
    write_named(p, "new", "the second");
    assert_int_equal(gnn_file_rename(p->world, from, to, NULL), GNN_OK);
    check_text(p, old, "first");
    check_named(p, "layout", "the second");
    gnn_file_close(p->world, old);
    /* An open file keeps its bytes under its new name. */
    struct gnn_file *writing = open_named(p, "layout", GNN_OPEN_WRITE);
    assert_int_equal(gnn_file_rename(p->world, to, from, NULL), GNN_OK);
    assert_int_equal(gnn_file_write(p->world, writing, 4, "SECOND", 6), 6);
    gnn_file_close(p->world, writing);
    check_named(p, "new", "the SECOND");
    assert_int_equal(gnn_file_rename(p->world, from, from, NULL), GNN_OK);
    check_named(p, "new", "the SECOND");
    struct gnn_err err = {0};
    assert_int_equal(gnn_file_rename(p->world, to, from, &err), GNN_EIO);
    assert_non_null(strstr(err.message, to));
    assert_non_null(strstr(err.message, "rename"));
    check_named(p, "new", "the SECOND");
}

static void test_rename(void **state)
{
    (void)state;
    over_all_worlds(check_rename);
}

static void check_remove(struct fixture *p)
{
    char path[512];
    (void)io_scratch_path(&p->scratch, "f", path);
    assert_int_equal(gnn_file_remove(p->world, path, NULL), GNN_OK); /* not there: fine */
    write_named(p, "f", "bytes");
    struct gnn_file *file = open_named(p, "f", GNN_OPEN_READ);
    assert_int_equal(gnn_file_remove(p->world, path, NULL), GNN_OK);
    check_missing(p, "f");
    check_text(p, file, "bytes"); /* until its last handle closes */
    write_named(p, "f", "others");
    check_named(p, "f", "others");
    check_text(p, file, "bytes");
    gnn_file_close(p->world, file);
    check_named(p, "f", "others");
    assert_int_equal(gnn_file_remove(p->world, path, NULL), GNN_OK);
    assert_int_equal(gnn_file_remove(p->world, path, NULL), GNN_OK);
    check_missing(p, "f");
    struct gnn_err err = {0};
    assert_int_not_equal(gnn_file_remove(p->world, p->scratch.dir, &err), GNN_OK);
    assert_non_null(strstr(err.message, p->scratch.dir));
}

static void test_remove(void **state)
{
    (void)state;
    over_all_worlds(check_remove);
}

static void check_directory(struct fixture *p)
{
    char dir[512], path[600];
    (void)io_scratch_path(&p->scratch, "made", dir);
    assert_int_equal(gnn_dir_make(p->world, dir, NULL), GNN_OK);
    assert_int_equal(gnn_dir_make(p->world, dir, NULL), GNN_OK);
    struct stat info;
    assert_int_equal(stat(dir, &info) == 0 && S_ISDIR(info.st_mode), !p->config.simulated);
    (void)snprintf(path, sizeof path, "%s/f", dir);
    struct gnn_file *file;
    assert_int_equal(gnn_file_open(p->world, path, GNN_OPEN_WRITE, &file, NULL), GNN_OK);
    assert_int_equal(gnn_file_write(p->world, file, 0, "x", 1), 1);
    check_text(p, file, "x");
    gnn_file_close(p->world, file);
    assert_int_equal(gnn_file_remove(p->world, path, NULL), GNN_OK);
    assert_int_equal(gnn_file_open(p->world, path, GNN_OPEN_READ, &file, NULL), GNN_ENOENT);
    (void)rmdir(dir);
}

static void test_directory(void **state)
{
    (void)state;
    over_all_worlds(check_directory);
}

static void test_directory_cannot_be_made(void **state)
{
    (void)state;
    struct fixture p;
    open_in(&p, MEASURED);
    char path[512];
    struct gnn_err err = {0};
    assert_int_not_equal(gnn_dir_make(p.world, io_scratch_path(&p.scratch, "missing/below", path), &err), GNN_OK);
    assert_non_null(strstr(err.message, path));
    fixture_close(&p);
}

/* ---- GNN_OPEN_RANDOM ---- */

enum { RANDOM_FILE_BYTES = 8 << 20, PAGES = RANDOM_FILE_BYTES / GNN_PAGE_BYTES };

/* Pages of the host's file that are in the page cache. */
static unsigned resident_pages(const char *path)
{
    static unsigned char flags[PAGES];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    void *map = mmap(NULL, RANDOM_FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, RANDOM_FILE_BYTES, flags), 0);
    unsigned count = 0;
    for (unsigned i = 0; i < PAGES; i++)
        count += flags[i] & 1;
    (void)munmap(map, RANDOM_FILE_BYTES);
    (void)close(fd);
    return count;
}

static bool evict(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)fsync(fd);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
    return resident_pages(path) == 0;
}

/* Two reads of one page in sequence, which is where readahead would begin; pages in the cache afterwards. */
static unsigned pages_after_two(struct gnn_world *world, const char *path, unsigned flags)
{
    if (!evict(path))
        return 0;
    struct gnn_file *file;
    assert_int_equal(gnn_file_open(world, path, flags, &file, NULL), GNN_OK);
    uint32_t page[GNN_PAGE_BYTES / 4];
    for (uint64_t k = 0; k < 2; k++) {
        assert_int_equal(gnn_file_read(world, file, k * sizeof page, page, sizeof page), sizeof page);
        assert_int_equal(page[1], io_scratch_value(k * (sizeof page / 4) + 1));
    }
    gnn_file_close(world, file);
    return resident_pages(path);
}

static void test_random_reads_nothing_ahead(void **state)
{
    (void)state;
    struct fixture p;
    open_in(&p, MEASURED);
    io_scratch_fill(&p.scratch, "f", RANDOM_FILE_BYTES);
    char path[512];
    (void)io_scratch_path(&p.scratch, "f", path);
    const unsigned normal = pages_after_two(p.world, path, GNN_OPEN_READ);
    if (normal <= 2)
        print_message("the kernel reads nothing ahead here: skipped\n");
    else
        assert_int_equal(pages_after_two(p.world, path, GNN_OPEN_READ | GNN_OPEN_RANDOM), 2);
    fixture_close(&p);
    open_in(&p, SIMULATED);
    io_scratch_fill(&p.scratch, "f", RANDOM_FILE_BYTES);
    uint64_t read_bytes[2];
    for (int random = 0; random < 2; random++) {
        struct gnn_simulated_counts before, after;
        gnn_world_simulated_counts(p.world, &before);
        const uint64_t offset_bytes = random == 0 ? 0 : RANDOM_FILE_BYTES / 2;
        struct gnn_file *file = open_named(&p, "f", random == 0 ? GNN_OPEN_READ : GNN_OPEN_RANDOM);
        uint32_t page[GNN_PAGE_BYTES / 4];
        for (uint64_t at = offset_bytes; at < offset_bytes + 2 * sizeof page; at += sizeof page) {
            assert_int_equal(gnn_file_read(p.world, file, at, page, sizeof page), sizeof page);
            assert_int_equal(page[1], io_scratch_value(at / 4 + 1));
        }
        gnn_file_close(p.world, file);
        gnn_world_simulated_counts(p.world, &after);
        read_bytes[random] = after.device_read_bytes - before.device_read_bytes;
    }
    assert_int_equal(read_bytes[1], 2 * GNN_PAGE_BYTES);
    assert_true(read_bytes[0] > 2 * GNN_PAGE_BYTES);
    fixture_close(&p);
}

/* One handle at a time, and the next when that is closed; a handle may ask again. */
static void check_lock(struct fixture *p)
{
    struct gnn_file *one = open_named(p, "lock", GNN_OPEN_WRITE), *two = open_named(p, "lock", GNN_OPEN_WRITE);
    bool held = false;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(gnn_file_lock(p->world, one, &held, NULL), GNN_OK);
        assert_true(held);
        assert_int_equal(gnn_file_lock(p->world, two, &held, NULL), GNN_OK);
        assert_false(held);
    }
    gnn_file_close(p->world, one);
    assert_int_equal(gnn_file_lock(p->world, two, &held, NULL), GNN_OK);
    assert_true(held);
    gnn_file_close(p->world, two);
}

static void test_lock(void **state)
{
    (void)state;
    over_all_worlds(check_lock);
}

/* A run on this machine leaves a lock, which is empty: the simulated world replaces it. It writes no other file of the
 * machine. */
static void test_empty_files_of_the_machine_are_replaced(void **state)
{
    struct fixture p;
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    struct stat info;
    char path[512];
    (void)state;
    open_in(&p, SIMULATED);
    static const char *const texts[] = {"1", ""};
    for (int empty = 0; empty < 2; empty++) {
        FILE *const host = fopen(io_scratch_path(&p.scratch, empty ? "lock" : "edges", path), "we");
        assert_non_null(host);
        assert_true(fputs(texts[empty], host) >= 0);
        assert_int_equal(fclose(host), 0);
        if (!empty)
            assert_int_equal(gnn_file_open(p.world, path, GNN_OPEN_WRITE, &file, &err), GNN_EPERM);
    }
    check_lock(&p);
    write_named(&p, "lock", "held");
    check_named(&p, "lock", "held");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 0);
    fixture_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scratch_has_no_name),
        cmocka_unit_test(test_scratch_where_every_file_has_a_name),
        cmocka_unit_test(test_direct_scratch),
        cmocka_unit_test(test_scratch_in_a_missing_directory),
        cmocka_unit_test(test_rename),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_empty_files_of_the_machine_are_replaced),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_directory_cannot_be_made),
        cmocka_unit_test(test_random_reads_nothing_ahead),
    };
    return cmocka_run_group_tests_name("world_names", tests, NULL, NULL);
}
