/* SPDX-License-Identifier: MIT */
/* Rows written through a mapping, in both worlds: they are there, in the file too; what may not be is refused. */
#include "harness/storage/exact.h"
#include "tests/support/fixture.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3000, WIDTH = 7, ROW_BYTES = WIDTH * 4, SOME = 5 };

struct put {
    struct fixture f;
    struct gnn_file *file;
    struct gnn_map *map;
    uint32_t table[ROWS][WIDTH];
};

static void put_open(struct put *p, bool simulated, unsigned flags)
{
    char path[512];
    memset(p, 0, sizeof *p);
    fixture_open(&p->f, .scratch = true, .simulated = simulated);
    struct gnn_file *made = NULL;
    (void)io_scratch_path(&p->f.scratch, "table", path);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t c = 0; c < WIDTH; c++)
            p->table[i][c] = 100 * i + c;
    must(gnn_file_open(p->f.world, path, GNN_OPEN_WRITE, &made, &p->f.err), &p->f.err);
    must(gnn_write_all(p->f.world, made, 0, p->table, sizeof p->table, &p->f.err), &p->f.err);
    must(gnn_file_evict(p->f.world, made, &p->f.err), &p->f.err);
    gnn_file_close(p->f.world, made);
    must(gnn_file_open(p->f.world, path, flags, &p->file, &p->f.err), &p->f.err);
    must(gnn_map_open(p->f.world, p->file, GNN_MAP_RANDOM, &p->map, &p->f.err), &p->f.err);
}

static void put_close(struct put *p)
{
    gnn_map_close(p->f.world, p->map);
    gnn_file_close(p->f.world, p->file);
    fixture_close(&p->f);
}

static const gnn_node some[SOME] = {2999, 0, 146, 147, 1500}; /* row 146 crosses a page */

static uint64_t sync_ns(struct put *p)
{
    const uint64_t start_ns = gnn_now_ns(p->f.world);
    must(gnn_file_sync(p->f.world, p->file, &p->f.err), &p->f.err);
    return gnn_now_ns(p->f.world) - start_ns;
}

static void check_put(bool simulated)
{
    static struct put p; /* too large for a stack */
    uint32_t rows[SOME][WIDTH], found[ROWS][WIDTH];
    put_open(&p, simulated, GNN_OPEN_WRITE);
    for (uint32_t i = 0; i < SOME; i++)
        for (uint32_t c = 0; c < WIDTH; c++)
            p.table[some[i]][c] = rows[i][c] = 7000000 + 10 * i + c;
    must(gnn_map_put_rows(p.f.world, p.map, ROW_BYTES, some, SOME, rows, &p.f.err), &p.f.err);
    memset(rows, 0, sizeof rows);
    must(gnn_map_gather_rows(p.f.world, p.map, ROW_BYTES, some, SOME, rows, ROW_BYTES, &p.f.err), &p.f.err);
    for (uint32_t i = 0; i < SOME; i++)
        assert_memory_equal(rows[i], p.table[some[i]], ROW_BYTES);
    const uint64_t first_ns = sync_ns(&p), second_ns = sync_ns(&p);
    assert_true(!simulated || first_ns > 10 * second_ns); /* dirty pages are written once */
    must(gnn_read_all(p.f.world, p.file, 0, found, sizeof found, &p.f.err), &p.f.err);
    assert_memory_equal(found, p.table, sizeof found);
    put_close(&p);
}

static void test_rows_are_put(void **state)
{
    (void)state;
    check_put(false);
    check_put(true);
}

static void check_refusals(bool simulated)
{
    static struct put p;
    static const gnn_node beyond[2] = {1, ROWS};
    uint32_t rows[SOME][WIDTH] = {{0}};
    put_open(&p, simulated, GNN_OPEN_READ);
    assert_int_equal(gnn_map_put_rows(p.f.world, p.map, ROW_BYTES, some, SOME, rows, &p.f.err), GNN_EPERM);
    assert_non_null(strstr(p.f.err.message, "for writing"));
    put_close(&p);
    put_open(&p, simulated, GNN_OPEN_WRITE);
    assert_int_equal(gnn_map_put_rows(p.f.world, p.map, ROW_BYTES, beyond, 2, rows, &p.f.err), GNN_EFORMAT);
    assert_non_null(strstr(p.f.err.message, "row 3000 of 28 bytes was to be written, the file holds 3000"));
    put_close(&p);
}

static void test_what_may_not_be_is_refused(void **state)
{
    (void)state;
    check_refusals(false);
    check_refusals(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_put),
        cmocka_unit_test(test_what_may_not_be_is_refused),
    };
    return cmocka_run_group_tests_name("map_put", tests, NULL, NULL);
}
