/* SPDX-License-Identifier: MIT */
/* The trace of a world's reads and writes: what its lines hold, in both worlds and around faults, and that nothing is
 * left of a trace that is not complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/whole_file.h"
#include "harness/world/traced.h"
#include "tests/support/fixture.h"
#include "tests/support/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 16, LINES_MAX = 64, DEPTH = 8 };

struct line {
    uint64_t us, offset, len, ns, depth, epoch;
    char file[GNN_IO_TRACE_NAME_MAX], action[16];
    int fields;
};

struct traced_case {
    struct fixture base;
    char path[600];
    struct gnn_io_trace *trace;
    struct gnn_world *world;
    unsigned char *memory;
    struct line lines[LINES_MAX];
    uint32_t count;
};

static void open_case(struct traced_case *c, bool simulated, const struct gnn_fault_plan *faults)
{
    *c = (struct traced_case){.count = 0};
    fixture_open(&c->base, .scratch = true, .simulated = simulated, .faults = faults);
    io_scratch_fill(&c->base.scratch, "rows", FILE_BYTES);
    (void)snprintf(c->path, sizeof c->path, "%s/trace", c->base.scratch.dir);
    assert_int_equal(gnn_io_trace_open("--trace-io", c->path, &c->trace, NULL), GNN_OK);
    assert_int_equal(gnn_world_traced_open(c->base.world, c->trace, &c->world, NULL), GNN_OK);
    void *memory;
    assert_int_equal(gnn_mem_alloc(c->world, "a buffer", FILE_BYTES, GNN_MEM_PINNED, &memory, NULL), GNN_OK);
    c->memory = memory;
}

static void close_case(struct traced_case *c)
{
    gnn_mem_free(c->world, c->memory);
    gnn_world_traced_close(c->world);
    gnn_io_trace_close(c->trace);
    fixture_close(&c->base);
}

static struct gnn_file *open_rows(struct traced_case *c, unsigned flags)
{
    char path[512];
    struct gnn_file *file;
    assert_int_equal(gnn_file_open(c->world, io_scratch_path(&c->base.scratch, "rows", path), flags, &file, NULL),
                     GNN_OK);
    return file;
}

/* Finishes the trace and reads it. */
static void read_back(struct traced_case *c)
{
    char text[1024];
    assert_int_equal(gnn_io_trace_finish(c->trace, NULL), GNN_OK);
    FILE *const in = fopen(c->path, "re");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof text, in));
    assert_string_equal(text, "fio version 3 iolog\n");
    uint64_t last_us = 0;
    while (fgets(text, sizeof text, in) != NULL) {
        assert_true(c->count < LINES_MAX);
        struct line *const l = &c->lines[c->count++];
        l->fields = sscanf(text, "%" SCNu64 " %255s %15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                           &l->us, l->file, l->action, &l->offset, &l->len, &l->ns, &l->depth, &l->epoch);
        assert_true(l->fields == 3 || l->fields == 8);
        assert_true(l->us >= last_us);
        last_us = l->us;
        if (l->fields == 8)
            assert_int_equal(l->ns / 1000, l->us);
    }
    (void)fclose(in);
}

static const struct line *next(struct traced_case *c, uint32_t *at, const char *action)
{
    assert_true(*at < c->count);
    const struct line *const l = &c->lines[(*at)++];
    assert_string_equal(l->action, action);
    return l;
}

static void expect_request(struct traced_case *c, uint32_t *at, const char *action, uint64_t offset, uint64_t len,
                           uint64_t depth, uint64_t epoch)
{
    const struct line *const l = next(c, at, action);
    assert_int_equal(l->offset, offset);
    assert_int_equal(l->len, len);
    assert_int_equal(l->depth, depth);
    assert_int_equal(l->epoch, epoch);
}

/* Three reads on a ring of two entries: one of them waits for room. */
static void read_by_ring(struct traced_case *c, struct gnn_file *file)
{
    const struct gnn_ring_config config = {.engine = GNN_RING_POOL, .depth = 2};
    struct gnn_ring *ring;
    struct gnn_read reads[3];
    struct gnn_completion done[2];
    uint32_t accepted, got;
    for (uint32_t i = 0; i < 3; i++)
        reads[i] = (struct gnn_read){.file = file,
                                     .offset_bytes = i * UINT64_C(8192),
                                     .len_bytes = 4096 + i,
                                     .dst = c->memory + i * 8192,
                                     .tag = i};
    assert_int_equal(gnn_ring_open(c->world, &config, &ring, NULL), GNN_OK);
    assert_int_equal(gnn_ring_submit(c->world, ring, reads, 3, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 2);
    assert_int_equal(gnn_ring_wait(c->world, ring, 2, 2, done, &got, NULL), GNN_OK);
    assert_int_equal(got, 2);
    assert_int_equal(gnn_ring_submit(c->world, ring, &reads[2], 1, &accepted, NULL), GNN_OK);
    assert_int_equal(accepted, 1);
    gnn_ring_close(c->world, ring); /* its completion is not taken */
}

static void every_request_has_a_line(void **state)
{
    const bool simulated = *(const bool *)*state;
    struct traced_case *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    open_case(c, simulated, NULL);
    struct gnn_file *const file = open_rows(c, GNN_OPEN_READ), *const again = open_rows(c, GNN_OPEN_READ);
    struct gnn_file *scratch[2];
    gnn_io_trace_epoch(c->trace, 1);
    read_by_ring(c, file);
    gnn_io_trace_epoch(c->trace, 2);
    assert_int_equal(gnn_file_read(c->world, again, 100, c->memory, 200), 200);
    gnn_io_trace_epoch(c->trace, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            gnn_file_open(c->world, c->base.scratch.dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH, &scratch[i], NULL), GNN_OK);
    assert_int_equal(gnn_file_write(c->world, scratch[1], 0, c->memory, 300), 300);
    gnn_file_close(c->world, scratch[0]);
    gnn_file_close(c->world, again);
    gnn_file_close(c->world, file);
    read_back(c);
    uint32_t at = 0;
    assert_non_null(strstr(next(c, &at, "add")->file, "/rows"));
    (void)next(c, &at, "open"); /* once, for two handles */
    expect_request(c, &at, "read", 0, 4096, 1, 1);
    expect_request(c, &at, "read", 8192, 4097, 2, 1);
    expect_request(c, &at, "read", 16384, 4098, 1, 1);
    expect_request(c, &at, "read", 100, 200, 1, 2); /* the ring that was closed has none in flight */
    assert_non_null(strstr(next(c, &at, "add")->file, "/scratch-1"));
    (void)next(c, &at, "open");
    (void)next(c, &at, "add");
    assert_non_null(strstr(next(c, &at, "open")->file, "/scratch-2"));
    expect_request(c, &at, "write", 0, 300, 1, 0);
    assert_non_null(strstr(next(c, &at, "close")->file, "/scratch-1"));
    assert_non_null(strstr(next(c, &at, "close")->file, "/rows"));
    assert_non_null(strstr(next(c, &at, "close")->file, "/scratch-2")); /* still open at the end */
    assert_int_equal(at, c->count);
    gnn_file_close(c->world, scratch[1]);
    close_case(c);
    free(c);
}

/* A read that fails was requested, too; a failed allocation still fails. */
static void around_faults(void **state)
{
    (void)state;
    const struct gnn_fault_plan plan = {.seed = 1, .read_eio_at = 1, .alloc_fail_at = 2};
    struct traced_case *const c = calloc(1, sizeof *c);
    void *memory;
    assert_non_null(c);
    open_case(c, false, &plan);
    struct gnn_file *const file = open_rows(c, GNN_OPEN_READ);
    assert_int_equal(gnn_mem_alloc(c->world, "another", 4096, GNN_MEM_PLAIN, &memory, NULL), GNN_ENOMEM);
    assert_true(gnn_file_read(c->world, file, 0, c->memory, 512) < 0);
    read_by_ring(c, file);
    gnn_file_close(c->world, file);
    read_back(c);
    uint32_t at = 2;
    expect_request(c, &at, "read", 0, 512, 1, 0);
    expect_request(c, &at, "read", 0, 4096, 1, 0);
    close_case(c);
    free(c);
}

/* A request that ends at a known time is in flight until then; times that come late do not go back. */
static void depth_and_time(void **state)
{
    (void)state;
    struct traced_case *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    open_case(c, true, NULL);
    struct gnn_file *const file = open_rows(c, GNN_OPEN_READ);
    static const uint64_t times[][3] = {
        {5000, 9000, 1}, {6000, 8000, 2}, {8000, 9000, 2}, {7000, 7000, 3}, {9000, 9000, 1}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const struct gnn_io_request request = {.action = GNN_IO_READ,
                                               .file = file,
                                               .offset_bytes = i,
                                               .len_bytes = 1,
                                               .now_ns = times[i][0] + 1000000,
                                               .done_ns = times[i][1] + 1000000};
        gnn_io_trace_add(c->trace, &request);
    }
    read_back(c);
    uint32_t at = 2;
    for (uint64_t i = 0; i < sizeof times / sizeof times[0]; i++)
        expect_request(c, &at, "read", i, 1, times[i][2], 0);
    assert_int_equal(c->lines[5].ns, c->lines[4].ns);
    assert_int_equal(c->lines[3].ns - c->lines[2].ns, 1000);
    gnn_file_close(c->world, file);
    close_case(c);
    free(c);
}

static void names_that_fio_cannot_read(void **state)
{
    (void)state;
    struct traced_case *const c = calloc(1, sizeof *c);
    struct gnn_err err = {0};
    struct gnn_file *file;
    char path[600];
    assert_non_null(c);
    open_case(c, false, NULL);
    io_scratch_fill(&c->base.scratch, "two words", 4096);
    (void)snprintf(path, sizeof path, "%s/two words", c->base.scratch.dir);
    assert_int_equal(gnn_file_open(c->world, path, GNN_OPEN_READ, &file, &err), GNN_EUSAGE);
    assert_null(file);
    assert_non_null(strstr(err.message, "use a link without blanks"));
    err = (struct gnn_err){0};
    const int dir_bytes = snprintf(path, sizeof path, "%s/", c->base.scratch.dir);
    memset(path + dir_bytes, 'x', 255);
    path[dir_bytes + 255] = '\0';
    assert_int_equal(gnn_file_open(c->world, path, GNN_OPEN_WRITE, &file, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "a shorter link"));
    assert_int_equal(unlink(path), 0);
    close_case(c);
    free(c);
}

/* ---- the file ---- */

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static void only_complete_files_have_a_name(void **state)
{
    const char *const dir = *state;
    char path[600], part[620];
    struct gnn_whole_file *file;
    (void)snprintf(path, sizeof path, "%s/out", dir);
    (void)snprintf(part, sizeof part, "%s.part", path);
    assert_int_equal(gnn_whole_file_open("--x", path, "abc", &file, NULL), GNN_OK);
    (void)fputs("abcdef", gnn_whole_file_stream(file));
    assert_int_equal(gnn_whole_file_flush(file, NULL), GNN_OK);
    assert_false(exists(path));
    gnn_whole_file_close(file);
    assert_false(exists(path));
    assert_false(exists(part));
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        assert_int_equal(gnn_whole_file_open("--x", path, "abc", &file, NULL), GNN_OK);
        assert_false(exists(path)); /* the first does not pass for the second */
        (void)fprintf(gnn_whole_file_stream(file), "abc%d", i);
        assert_int_equal(gnn_whole_file_finish(file, NULL), GNN_OK);
        gnn_whole_file_close(file);
        assert_false(exists(part));
    }
    char text[8] = "";
    FILE *const in = fopen(path, "re");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof text, in));
    (void)fclose(in);
    assert_string_equal(text, "abc1");
}

static void expect_refused(const char *path, enum gnn_status status, const char *part)
{
    struct gnn_whole_file *file;
    struct gnn_err err = {0};
    assert_int_equal(gnn_whole_file_open("--x", path, "abc", &file, &err), status);
    assert_null(file);
    if (strstr(err.message, part) == NULL)
        fail_msg("%s: %s", path, err.message);
}

static void wrong_places(void **state)
{
    const char *const dir = *state;
    char path[600];
    process_write_file(dir, "other", 0600, "xyz");
    (void)snprintf(path, sizeof path, "%s/other", dir);
    expect_refused(path, GNN_EUSAGE, "holds something else");
    process_write_file(dir, "short", 0600, "ab");
    (void)snprintf(path, sizeof path, "%s/short", dir);
    expect_refused(path, GNN_EUSAGE, "holds something else");
    expect_refused(dir, GNN_EUSAGE, "no regular file");
    expect_refused("/dev/full", GNN_EUSAGE, "no regular file");
    (void)snprintf(path, sizeof path, "%s/no/file", dir);
    expect_refused(path, GNN_EUSAGE, "name a file in a directory that can be written");
}

int main(void)
{
    static bool measured = false, simulated = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_request_has_a_line, &measured),
        cmocka_unit_test_prestate(every_request_has_a_line, &simulated),
        cmocka_unit_test(around_faults),
        cmocka_unit_test(depth_and_time),
        cmocka_unit_test(names_that_fio_cannot_read),
        cmocka_unit_test_setup_teardown(only_complete_files_have_a_name, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(wrong_places, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
