/* SPDX-License-Identifier: MIT */
/* Sizes of requests by class: what a class ends at, what shares come to, sums and differences; and threads of this
 * machine that read side by side. */
#include "harness/base/sizes.h"
#include "harness/storage/exact.h"
#include "harness/storage/read_times.h"
#include "harness/world/measured/measured.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_class_ends_at_a_power_of_two(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t size_class;
        const char *name;
    } cases[] = {
        {0, 0, "512"},
        {1, 0, "512"},
        {512, 0, "512"},
        {513, 1, "1K"},
        {1024, 1, "1K"},
        {1025, 2, "2K"},
        {4096, 3, "4K"},
        {4097, 4, "8K"},
        {131072, 8, "128K"},
        {1 << 20, 11, "1M"},
        {UINT64_C(1) << 30, 21, "1G"},
        {UINT64_C(1) << 32, 23, "4G"},
        {(UINT64_C(1) << 32) + 1, 23, "4G"},
        {UINT64_MAX, 23, "4G"},
    };
    char name[8];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(gnn_size_class(cases[i].bytes), cases[i].size_class);
        assert_string_equal(gnn_size_class_name(cases[i].size_class, name), cases[i].name);
    }
}

static void shares_end_at_their_class(void **state)
{
    (void)state;
    struct gnn_sizes sizes = {.count = 0};
    assert_true(gnn_sizes_quantile(&sizes, 0.5) == GNN_UNKNOWN);
    gnn_sizes_add(&sizes, 3000);
    assert_int_equal(gnn_sizes_quantile(&sizes, 0), 3000); /* the largest is exact */
    for (int i = 0; i < 89; i++)
        gnn_sizes_add(&sizes, 512);
    for (int i = 0; i < 9; i++)
        gnn_sizes_add(&sizes, 4000);
    gnn_sizes_add(&sizes, 100000);
    assert_int_equal(sizes.count, 100);
    assert_int_equal(gnn_sizes_quantile(&sizes, 0.89), 512);
    assert_int_equal(gnn_sizes_quantile(&sizes, 0.9), 4096);
    assert_int_equal(gnn_sizes_quantile(&sizes, 0.99), 4096);
    assert_int_equal(gnn_sizes_quantile(&sizes, 1), 100000);
    gnn_sizes_add(&sizes, UINT64_C(1) << 40);
    assert_int_equal(gnn_sizes_quantile(&sizes, 1), UINT64_C(1) << 40);
}

static void sizes_add_up_and_are_told_apart(void **state)
{
    (void)state;
    struct gnn_sizes first = {.count = 0}, second = {.count = 0};
    gnn_sizes_add(&first, 5000);
    gnn_sizes_add(&first, 1 << 20);
    gnn_sizes_add(&second, 512);
    gnn_sizes_add(&second, 5000);
    struct gnn_sizes sum = first;
    gnn_sizes_merge(&sum, &second);
    assert_int_equal(sum.count, 4);
    assert_int_equal(sum.max_bytes, 1 << 20);
    const struct gnn_sizes since = gnn_sizes_since(&sum, &first);
    assert_int_equal(since.count, 2);
    assert_memory_equal(since.of_class, second.of_class, sizeof since.of_class);
    assert_int_equal(since.max_bytes, 8192); /* of its class, as the largest of all came before */
    assert_int_equal(gnn_sizes_since(&sum, &sum).count, 0);
}

/* ---- threads of this machine ---- */

enum { READERS = 8, READS_EACH = 2000, FILE_BYTES = 65536 };

struct place {
    struct gnn_world *world;
    struct gnn_file *file;
};

static void read_alone(void *ctx)
{
    const struct place *const p = ctx;
    struct gnn_err err = {0};
    unsigned char bytes[8192];
    for (uint32_t i = 0; i < READS_EACH; i++)
        must(gnn_read_all(p->world, p->file, i % 8 * sizeof bytes, bytes, i % 4 == 0 ? sizeof bytes : 600, &err), &err);
}

static void threads_lose_nothing_of_each_other(void **state)
{
    (void)state;
    static struct gnn_read_tally sum;

    struct gnn_err err = {0};
    struct gnn_read_times *times;
    struct gnn_thread *threads[READERS];
    struct place p;
    char *const dir = process_temp_dir();
    char path[512];
    (void)snprintf(path, sizeof path, "%s/bytes", dir);
    FILE *const made = fopen(path, "we");
    assert_non_null(made);
    for (int i = 0; i < FILE_BYTES; i++)
        (void)fputc(i, made);
    assert_int_equal(fclose(made), 0);
    must(gnn_world_measured_open(NULL, &p.world, &err), &err);
    must(gnn_read_times_open(&times, &err), &err);
    p.world->read_times = times;
    must(gnn_file_open(p.world, path, 0, &p.file, &err), &err);
    for (uint32_t i = 0; i < READERS; i++)
        must(gnn_thread_start(p.world, "reader", read_alone, &p, &threads[i], &err), &err);
    for (uint32_t i = 0; i < READERS; i++)
        gnn_thread_join(p.world, threads[i]);
    gnn_read_times_take(times, &sum);
    assert_int_equal(sum.sizes.count, READERS * READS_EACH);
    assert_int_equal(sum.times.count, READERS * READS_EACH);
    assert_int_equal(sum.sizes.of_class[gnn_size_class(8192)], READERS * READS_EACH / 4);
    assert_int_equal(sum.sizes.of_class[gnn_size_class(600)], READERS * READS_EACH / 4 * 3);
    gnn_file_close(p.world, p.file);
    gnn_read_times_close(times);
    gnn_world_measured_close(p.world);
    process_remove_tree(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_ends_at_a_power_of_two),
        cmocka_unit_test(shares_end_at_their_class),
        cmocka_unit_test(sizes_add_up_and_are_told_apart),
        cmocka_unit_test(threads_lose_nothing_of_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
