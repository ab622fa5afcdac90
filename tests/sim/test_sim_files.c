/* SPDX-License-Identifier: MIT */
/* Files of the simulated world: right bytes from all three sources, Linux's answers at the edges, names, extents on the
 * device, and what a single read or write costs. The machine is sim_profile.h's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "harness/world/simulated/inode.h"
#include "tests/support/data_files.h"
#include "tests/support/io_scratch.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HOST_BYTES = 3 * 1024 * 1024 + 777 };

struct fixture {
    struct gnn_profile profile;
    struct gnn_world *world;
    struct io_scratch scratch;
};

static void fixture_open(struct fixture *f)
{
    *f = (struct fixture){0};
    io_scratch_open(&f->scratch);
    sim_profile_fill(&f->profile);
    f->world = sim_world_of(&f->profile, 0);
}

static void fixture_close(struct fixture *f)
{
    gnn_world_simulated_close(f->world);
    io_scratch_close(&f->scratch);
}

static struct gnn_file *open_file(struct fixture *f, const char *name, unsigned flags)
{
    char path[512];
    struct gnn_file *file;
    struct gnn_err err = {0};
    must(gnn_file_open(f->world, io_scratch_path(&f->scratch, name, path), flags, &file, &err), &err);
    return file;
}

static enum gnn_status try_open(struct fixture *f, const char *name, unsigned flags, struct gnn_err *err)
{
    char path[512];
    struct gnn_file *file;
    const enum gnn_status status = gnn_file_open(f->world, io_scratch_path(&f->scratch, name, path), flags, &file, err);
    gnn_file_close(f->world, file);
    if (status != GNN_OK)
        assert_non_null(strstr(err->message, path));
    return status;
}

/* ---- a content: byte k of the file ---- */

static unsigned char content_byte(uint64_t k)
{
    return (unsigned char)(gnn_mix64(k / 8) >> (k % 8 * 8));
}

static void content_read(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst)
{
    assert_true(offset_bytes + len_bytes <= content->size_bytes);
    for (uint64_t k = 0; k < len_bytes; k++)
        ((unsigned char *)dst)[k] = content_byte(offset_bytes + k);
}

static const struct gnn_content numbers = {.size_bytes = HOST_BYTES, .read = content_read};
static const struct gnn_content features = {.size_bytes = UINT64_C(1) << 42};

static void add_content(struct fixture *f, const char *name, const struct gnn_content *content)
{
    char path[512];
    assert_int_equal(gnn_world_simulated_add_file(f->world, io_scratch_path(&f->scratch, name, path), content, NULL),
                     GNN_OK);
}

/* ---- bytes ---- */

static unsigned char host_byte(uint64_t k)
{
    return (unsigned char)(io_scratch_value(k / 4) >> (k % 4 * 8));
}

static void check_source(struct fixture *f, const char *name, unsigned flags, unsigned char (*byte)(uint64_t),
                         struct gnn_rng *rng)
{
    enum { ROOM = 2 * 1024 * 1024 };
    struct gnn_file *file = open_file(f, name, flags);
    struct gnn_file_info info;
    gnn_file_info(f->world, file, &info);
    assert_int_equal(info.size_bytes, HOST_BYTES);
    const uint64_t unit = info.offset_align_bytes;
    assert_int_equal(unit, (flags & GNN_OPEN_DIRECT) != 0 ? 512 : 1);
    assert_int_equal(info.mem_align_bytes, unit);
    void *memory;
    assert_int_equal(gnn_mem_alloc(f->world, "bytes", ROOM, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    const unsigned char *const got = memory;
    for (int round = 0; round < 40; round++) {
        const uint64_t offset = gnn_round_down(gnn_rng_below(rng, HOST_BYTES + 2000), unit);
        const uint64_t len = gnn_round_down(gnn_rng_below(rng, round % 4 == 0 ? ROOM : 9000), unit);
        const uint64_t left = offset < HOST_BYTES ? HOST_BYTES - offset : 0;
        const int64_t expected = (int64_t)(len < left ? len : left);
        memset(memory, 0xee, ROOM);
        assert_int_equal(gnn_file_read(f->world, file, offset, memory, len), expected);
        for (uint64_t k = 0; k<(uint64_t)expected; k += expected> 20000 && k > 5000 ? 97 : 1)
            if (got[k] != byte(offset + k))
                fail_msg("%s: byte %u", name, (unsigned)(offset + k));
        assert_int_equal(got[expected], 0xee); /* nothing behind */
    }
    gnn_mem_free(f->world, memory);
    gnn_file_close(f->world, file);
}

static void copy_in(struct fixture *f, const char *from, const char *to)
{
    struct gnn_file *in = open_file(f, from, GNN_OPEN_READ), *out = open_file(f, to, GNN_OPEN_WRITE);
    unsigned char bytes[70001];
    uint64_t at = 0;
    for (int64_t got = 1; got > 0; at += (uint64_t)got) {
        got = gnn_file_read(f->world, in, at, bytes, sizeof bytes);
        assert_int_equal(gnn_file_write(f->world, out, at, bytes, (uint64_t)got), got);
    }
    gnn_file_close(f->world, in);
    gnn_file_close(f->world, out);
}

static void test_bytes_of_all_sources(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    io_scratch_fill(&f.scratch, "host", HOST_BYTES);
    add_content(&f, "content", &numbers);
    copy_in(&f, "content", "written");
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int direct = 0; direct < 2; direct++) {
        const unsigned flags = direct == 1 ? GNN_OPEN_DIRECT : GNN_OPEN_READ;
        check_source(&f, "host", flags, host_byte, &rng);
        check_source(&f, "content", flags, content_byte, &rng);
        check_source(&f, "written", flags, content_byte, &rng);
    }
    fixture_close(&f);
}

/* Any order of writes, against an array. */
static void test_written_like_an_array(void **state)
{
    (void)state;
    enum { ROOM = 5 * 1024 * 1024, ROUNDS = 400 };
    struct fixture f;
    fixture_open(&f);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    unsigned char *model = calloc(1, ROOM), *bytes = malloc(ROOM);
    assert_non_null(model);
    assert_non_null(bytes);
    struct gnn_file *file = open_file(&f, "f", GNN_OPEN_WRITE);
    uint64_t size = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t offset = gnn_rng_below(&rng, ROOM), room = ROOM - offset;
        const uint64_t len = 1 + gnn_rng_below(&rng, room < 100000 ? room : 100000);
        if (round == ROUNDS / 2) {
            gnn_file_close(f.world, file);
            file = open_file(&f, "f", GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE);
            memset(model, 0, ROOM);
            size = 0;
        }
        if (gnn_rng_below(&rng, 2) == 0) {
            for (uint64_t k = 0; k < len; k++)
                bytes[k] = (unsigned char)(gnn_mix64(k ^ (uint64_t)round) >> 11);
            memcpy(model + offset, bytes, len);
            assert_int_equal(gnn_file_write(f.world, file, offset, bytes, len), (int64_t)len);
            size = offset + len > size ? offset + len : size;
        } else {
            const uint64_t left = offset < size ? size - offset : 0;
            const int64_t expected = (int64_t)(len < left ? len : left);
            assert_int_equal(gnn_file_read(f.world, file, offset, bytes, len), expected);
            assert_memory_equal(bytes, model + offset, (size_t)expected);
        }
        struct gnn_file_info info;
        gnn_file_info(f.world, file, &info);
        assert_int_equal(info.size_bytes, size);
    }
    gnn_file_close(f.world, file);
    free(bytes);
    free(model);
    fixture_close(&f);
}

/* Feature bytes are nowhere; what is written from feature memory reads as zeros and counts like any other. */
static void test_opaque_bytes(void **state)
{
    (void)state;
    enum { MIB = 1024 * 1024 };
    struct fixture f;
    fixture_open(&f);
    add_content(&f, "features", &features);
    struct gnn_file *file = open_file(&f, "features", GNN_OPEN_DIRECT);
    void *slots, *plain;
    assert_int_equal(gnn_mem_alloc(f.world, "slots", 8 * MIB, GNN_MEM_FEATURES, &slots, NULL), GNN_OK);
    assert_int_equal(gnn_mem_alloc(f.world, "plain", 4 * MIB, GNN_MEM_PLAIN, &plain, NULL), GNN_OK);
    unsigned char *const bytes = plain;
    assert_int_equal(gnn_file_read(f.world, file, UINT64_C(1) << 41, slots, 8 * MIB), 8 * MIB);
    memset(bytes, 1, MIB);
    assert_int_equal(gnn_file_read(f.world, file, UINT64_C(1) << 41, plain, MIB), MIB);
    for (int k = 0; k < MIB; k++)
        assert_int_equal(bytes[k], 0);
    gnn_file_close(f.world, file);
    file = open_file(&f, "spill", GNN_OPEN_WRITE | GNN_OPEN_DIRECT);
    memset(bytes, 7, 4 * MIB);
    assert_int_equal(gnn_file_write(f.world, file, 0, plain, 4 * MIB), 4 * MIB);
    assert_int_equal(gnn_file_write(f.world, file, 512, slots, 2 * MIB), 2 * MIB); /* a part, a whole, a part */
    assert_int_equal(gnn_file_write(f.world, file, UINT64_C(1) << 36, slots, 8 * MIB), 8 * MIB);
    struct gnn_file_info info;
    gnn_file_info(f.world, file, &info);
    assert_int_equal(info.size_bytes, (UINT64_C(1) << 36) + 8 * MIB);
    assert_int_equal(gnn_file_read(f.world, file, 0, plain, 4 * MIB), 4 * MIB);
    for (int k = 0; k < 4 * MIB; k++)
        if (bytes[k] != (k < 512 || k >= 512 + 2 * MIB ? 7 : 0))
            fail_msg("byte %d", k);
    memset(bytes, 9, 1024);
    assert_int_equal(gnn_file_write(f.world, file, MIB, plain, 1024), 1024); /* and back again */
    assert_int_equal(gnn_file_read(f.world, file, MIB - 512, plain, 2048), 2048);
    for (int k = 0; k < 2048; k++)
        assert_int_equal(bytes[k], k >= 512 && k < 1536 ? 9 : 0);
    gnn_file_close(f.world, file);
    gnn_mem_free(f.world, plain);
    gnn_mem_free(f.world, slots);
    fixture_close(&f);
}

/* What plain memory should not hold lies in a file of the host: the same bytes, whichever chunk they are in. */
static void test_a_large_file_spills(void **state)
{
    (void)state;
    enum { MIB = 1024 * 1024, CHUNKS = 300, PART = 4096 };
    static _Alignas(PART) unsigned char bytes[PART];
    static unsigned char want[PART];
    struct fixture f;
    fixture_open(&f);
    void *slots;
    assert_int_equal(gnn_mem_alloc(f.world, "slots", 2 * MIB, GNN_MEM_FEATURES, &slots, NULL), GNN_OK);
    struct gnn_file *file = open_file(&f, "large", GNN_OPEN_WRITE | GNN_OPEN_DIRECT);
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < CHUNKS; k++) {
            memset(bytes, k % 251 + 1 + round, PART);
            assert_int_equal(gnn_file_write(f.world, file, (uint64_t)k * MIB + PART, bytes, PART), PART);
        }
        /* Two chunks of either kind become zeros, and one is written again. */
        assert_int_equal(gnn_file_write(f.world, file, UINT64_C(10) * MIB, slots, 2 * MIB), 2 * MIB);
        assert_int_equal(gnn_file_write(f.world, file, UINT64_C(290) * MIB, slots, 2 * MIB), 2 * MIB);
        memset(bytes, 255, PART);
        assert_int_equal(gnn_file_write(f.world, file, UINT64_C(291) * MIB, bytes, PART), PART);
        for (int k = 0; k < CHUNKS; k++) {
            const bool zeros = k == 10 || k == 11 || k == 290 || k == 291;
            memset(want, zeros ? 0 : k % 251 + 1 + round, PART);
            assert_int_equal(gnn_file_read(f.world, file, (uint64_t)k * MIB + PART, bytes, PART), PART);
            assert_memory_equal(bytes, want, PART);
            memset(want, k == 291 ? 255 : 0, PART);
            assert_int_equal(gnn_file_read(f.world, file, (uint64_t)k * MIB, bytes, PART), PART);
            assert_memory_equal(bytes, want, PART);
        }
        gnn_file_close(f.world, file);
        file = open_file(&f, "large", GNN_OPEN_WRITE | GNN_OPEN_DIRECT | GNN_OPEN_TRUNCATE);
    }
    gnn_file_close(f.world, file);
    gnn_mem_free(f.world, slots);
    fixture_close(&f);
}

/* ---- edges and errors ---- */

static void test_open_errors(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    io_scratch_fill(&f.scratch, "host", 4096);
    add_content(&f, "content", &numbers);
    static const struct {
        const char *name;
        unsigned flags;
        enum gnn_status status;
    } cases[] = {
        {"missing", GNN_OPEN_READ, GNN_ENOENT},
        {"missing", GNN_OPEN_DIRECT, GNN_ENOENT},
        {"host/below", GNN_OPEN_READ, GNN_ENOENT},
        {".", GNN_OPEN_READ, GNN_ENOENT},
        {"host", GNN_OPEN_WRITE, GNN_EPERM},
        {"host", GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE, GNN_EPERM},
        {"content", GNN_OPEN_WRITE, GNN_EPERM},
        {"host", GNN_OPEN_READ, GNN_OK},
        {"content", GNN_OPEN_READ | GNN_OPEN_RANDOM, GNN_OK},
        {"new/dir/f", GNN_OPEN_WRITE, GNN_OK}, /* directories need not exist */
        {"new//dir/./f", GNN_OPEN_READ, GNN_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[512];
        struct gnn_file *file;
        struct gnn_err err = {0};
        const enum gnn_status status =
            gnn_file_open(f.world, io_scratch_path(&f.scratch, cases[i].name, path), cases[i].flags, &file, &err);
        if (status != cases[i].status)
            fail_msg("%s: status %d, expected %d (%s)", cases[i].name, (int)status, (int)cases[i].status, err.message);
        assert_int_equal(file != NULL, status == GNN_OK);
        gnn_file_close(f.world, file);
    }
    char path[512];
    struct gnn_err err = {0};
    assert_int_equal(
        gnn_world_simulated_add_file(f.world, io_scratch_path(&f.scratch, "content", path), &numbers, &err), GNN_EBUG);
    assert_non_null(strstr(err.message, path));
    gnn_file_close(f.world, NULL);
    fixture_close(&f);
}

static void test_edges_of_reads_and_writes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    f.profile.storage.sector_bytes = 4096; /* the world looks at its profile */
    add_content(&f, "content", &numbers);
    struct gnn_file *direct = open_file(&f, "content", GNN_OPEN_DIRECT);
    struct gnn_file *written = open_file(&f, "written", GNN_OPEN_WRITE | GNN_OPEN_DIRECT);
    void *memory;
    assert_int_equal(gnn_mem_alloc(f.world, "bytes", 1 << 20, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    static const struct {
        uint64_t offset, skip, len;
        int64_t got, put;
    } cases[] = {
        {0, 0, 4096, 4096, 4096},
        {512, 0, 4096, -EINVAL, -EINVAL},
        {0, 512, 4096, -EINVAL, -EINVAL},
        {0, 0, 4095, -EINVAL, -EINVAL},
        {0, 0, 0, 0, 0},
        {HOST_BYTES / 4096 * 4096, 0, 8192, HOST_BYTES % 4096, 8192},
        {(HOST_BYTES / 4096 + 1) * 4096, 0, 4096, 0, 4096},
        {UINT64_MAX - 4095, 0, 4096, -EINVAL, -EINVAL},
        {UINT64_C(1) << 50, 0, 4096, 0, -EFBIG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char *const at = (unsigned char *)memory + cases[i].skip;
        assert_int_equal(gnn_file_read(f.world, direct, cases[i].offset, at, cases[i].len), cases[i].got);
        assert_int_equal(gnn_file_write(f.world, written, cases[i].offset, at, cases[i].len), cases[i].put);
        assert_int_equal(gnn_file_write(f.world, direct, cases[i].offset, at, cases[i].len), -EBADF);
    }
    gnn_file_close(f.world, written);
    gnn_file_close(f.world, direct);
    gnn_mem_free(f.world, memory);
    fixture_close(&f);
}

/* ---- names over the host's and registered files ---- */

static void test_names_hide(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    io_scratch_fill(&f.scratch, "host", 4096);
    io_scratch_fill(&f.scratch, "other", 8192);
    add_content(&f, "host", &numbers);
    struct gnn_file *file = open_file(&f, "host", GNN_OPEN_READ);
    assert_int_equal(file->inode->size_bytes, HOST_BYTES); /* the content, not the host's file */
    gnn_file_close(f.world, file);
    char host[512], other[512], third[512];
    (void)io_scratch_path(&f.scratch, "host", host);
    (void)io_scratch_path(&f.scratch, "other", other);
    (void)io_scratch_path(&f.scratch, "third", third);
    struct gnn_err err = {0};
    assert_int_equal(gnn_file_remove(f.world, host, NULL), GNN_OK);
    assert_int_equal(try_open(&f, "host", GNN_OPEN_READ, &err), GNN_ENOENT);
    assert_int_equal(gnn_file_remove(f.world, other, NULL), GNN_OK);
    err = (struct gnn_err){0};
    assert_int_equal(try_open(&f, "other", GNN_OPEN_READ, &err), GNN_ENOENT);
    file = open_file(&f, "other", GNN_OPEN_WRITE); /* now its name is free */
    assert_int_equal(gnn_file_write(f.world, file, 0, "mine", 4), 4);
    gnn_file_close(f.world, file);
    assert_int_equal(gnn_file_rename(f.world, other, host, NULL), GNN_OK);
    file = open_file(&f, "host", GNN_OPEN_READ);
    char text[8] = {0};
    assert_int_equal(gnn_file_read(f.world, file, 0, text, sizeof text), 4);
    assert_string_equal(text, "mine");
    gnn_file_close(f.world, file);
    io_scratch_fill(&f.scratch, "third", 100);
    assert_int_equal(gnn_file_rename(f.world, third, other, NULL), GNN_OK); /* a host's file under a new name */
    err = (struct gnn_err){0};
    assert_int_equal(try_open(&f, "third", GNN_OPEN_READ, &err), GNN_ENOENT);
    file = open_file(&f, "other", GNN_OPEN_READ);
    assert_int_equal(file->inode->size_bytes, 100);
    gnn_file_close(f.world, file);
    assert_int_equal(data_entries(f.scratch.dir), 3); /* the host never noticed */
    struct stat info;
    assert_int_equal(stat(other, &info), 0);
    assert_int_equal(info.st_size, 8192);
    fixture_close(&f);
}

/* ---- the device ---- */

static void test_extents_are_disjoint(void **state)
{
    (void)state;
    enum { FILES = 12 };
    struct fixture f;
    fixture_open(&f);
    io_scratch_fill(&f.scratch, "host", HOST_BYTES);
    io_scratch_fill(&f.scratch, "empty", 0);
    add_content(&f, "content", &numbers);
    add_content(&f, "features", &features);
    struct gnn_file *file[FILES];
    uint64_t start[FILES], end[FILES];
    static const char *const fixed[] = {"host", "content", "features", "empty"};
    for (int i = 0; i < FILES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "w%d", i);
        if (i < 4)
            file[i] = open_file(&f, fixed[i], GNN_OPEN_READ | (i == 2 ? GNN_OPEN_DIRECT : 0));
        else
            file[i] = open_file(&f, i % 2 == 0 ? name : "", GNN_OPEN_WRITE | (i % 2 == 0 ? 0 : GNN_OPEN_SCRATCH));
        start[i] = sim_inode_device_offset(file[i]->inode, 0);
        end[i] = start[i] + (i < 4 ? file[i]->inode->size_bytes : UINT64_C(1) << 38);
        assert_int_equal(start[i] % (1 << 20), 0);
        assert_int_equal(sim_inode_device_offset(file[i]->inode, 12345), start[i] + 12345);
        for (int k = 0; k < i; k++)
            assert_true(end[k] <= start[i] || end[i] <= start[k] || start[i] == end[i]);
    }
    for (int i = 0; i < FILES; i++)
        gnn_file_close(f.world, file[i]);
    fixture_close(&f);
}

/* What one direct read and write cost on the idle machine of round figures. */
static void test_direct_times(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    add_content(&f, "content", &numbers);
    void *memory;
    assert_int_equal(gnn_mem_alloc(f.world, "bytes", 1 << 20, GNN_MEM_PLAIN, &memory, NULL), GNN_OK);
    struct gnn_file *file = open_file(&f, "content", GNN_OPEN_DIRECT);
    struct gnn_file *out = open_file(&f, "out", GNN_OPEN_WRITE | GNN_OPEN_DIRECT);
    static const struct {
        uint64_t offset, len, device_ns;
        bool write;
    } cases[] = {
        {0, 512, 100000, false},
        {4096, 4096, 100000, false},
        {0, 65536, 100000, false},
        {0, 1 << 20, 1048576, false},
        {HOST_BYTES / 512 * 512, 4096, 100000, false},
        {0, 4096, 20000 + 8192, true},
        {0, 1 << 20, 20000 + 2097152, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_time_split before, after;
        gnn_thread_split(f.world, &before);
        const uint64_t start_ns = gnn_now_ns(f.world);
        if (cases[i].write)
            assert_int_equal(gnn_file_write(f.world, out, cases[i].offset, memory, cases[i].len), cases[i].len);
        else
            assert_true(gnn_file_read(f.world, file, cases[i].offset, memory, cases[i].len) > 0);
        const uint64_t spent_ns = gnn_now_ns(f.world) - start_ns;
        gnn_thread_split(f.world, &after);
        /* syscall and submit, the device, the wake-up's latency, the completion */
        assert_int_equal(spent_ns, 1000 + 500 + cases[i].device_ns + 5000 + 500);
        assert_int_equal(after.wait_ns[GNN_WAIT_IO] - before.wait_ns[GNN_WAIT_IO], cases[i].device_ns + 5000);
    }
    struct gnn_simulated_counts counts;
    gnn_world_simulated_counts(f.world, &counts);
    assert_int_equal(counts.device_read_ios, 5);
    assert_int_equal(counts.device_read_bytes,
                     512 + 4096 + 65536 + (1 << 20) + (HOST_BYTES % 512 == 0 ? 0 : 1024 - 512));
    assert_int_equal(counts.device_write_ios, 2);
    assert_int_equal(counts.device_write_bytes, 4096 + (1 << 20));
    gnn_file_close(f.world, out);
    gnn_file_close(f.world, file);
    gnn_mem_free(f.world, memory);
    fixture_close(&f);
}

/* Buffered: the first read goes to the device, the second does not; also through another handle, after a close. Synced
 * bytes are on the device, once. */
static void test_buffered_uses_the_cache(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    add_content(&f, "content", &numbers);
    static unsigned char bytes[65536];
    struct gnn_simulated_counts counts, later;
    for (int round = 0; round < 3; round++) {
        struct gnn_file *file = open_file(&f, "content", GNN_OPEN_READ | GNN_OPEN_RANDOM);
        assert_int_equal(gnn_file_read(f.world, file, 65536, bytes, sizeof bytes), sizeof bytes);
        assert_int_equal(bytes[99], content_byte(65536 + 99));
        gnn_file_close(f.world, file);
        gnn_world_simulated_counts(f.world, &counts);
        assert_int_equal(counts.device_read_bytes, 65536);
    }
    struct gnn_file *out = open_file(&f, "out", GNN_OPEN_WRITE);
    for (uint64_t k = 0; k < 8; k++)
        assert_int_equal(gnn_file_write(f.world, out, k * sizeof bytes, bytes, sizeof bytes), sizeof bytes);
    gnn_world_simulated_counts(f.world, &counts);
    assert_int_equal(counts.device_write_bytes, 0);
    const uint64_t start_ns = gnn_now_ns(f.world);
    assert_int_equal(gnn_file_sync(f.world, out, NULL), GNN_OK);
    const uint64_t spent_ns = gnn_now_ns(f.world) - start_ns;
    assert_true(spent_ns >= 8 * 65536 * 2); /* 500 MB/s */
    gnn_world_simulated_counts(f.world, &counts);
    assert_int_equal(counts.device_write_bytes, 8 * 65536);
    assert_int_equal(gnn_file_sync(f.world, out, NULL), GNN_OK);
    assert_int_equal(gnn_file_read(f.world, out, 0, bytes, sizeof bytes), sizeof bytes);
    gnn_world_simulated_counts(f.world, &later);
    assert_int_equal(later.device_write_bytes, counts.device_write_bytes);
    assert_int_equal(later.device_read_bytes, counts.device_read_bytes);
    gnn_file_close(f.world, out);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_all_sources), cmocka_unit_test(test_written_like_an_array),
        cmocka_unit_test(test_opaque_bytes),         cmocka_unit_test(test_a_large_file_spills),
        cmocka_unit_test(test_open_errors),          cmocka_unit_test(test_edges_of_reads_and_writes),
        cmocka_unit_test(test_names_hide),           cmocka_unit_test(test_extents_are_disjoint),
        cmocka_unit_test(test_direct_times),         cmocka_unit_test(test_buffered_uses_the_cache),
    };
    return cmocka_run_group_tests_name("sim_files", tests, NULL, NULL);
}
