/* SPDX-License-Identifier: MIT */
/* What the worker and the control group report, and what the record makes of it. */
#include "harness/run/record_fill.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct gnn_group_reading reading(uint64_t read_bytes, uint64_t read_ios, uint64_t write_bytes)
{
    struct gnn_group_reading out;
    gnn_group_reading_unknown(&out);
    out.read_bytes = read_bytes;
    out.read_ios = read_ios;
    out.write_bytes = write_bytes;
    return out;
}

static struct gnn_wire_epoch an_epoch(void)
{
    struct gnn_wire_epoch wire = {.epoch = 3, .wall_ns = 700};
    wire.before.cpu_ns = 100;
    wire.after.cpu_ns = 140;
    wire.before.page_hits = wire.after.page_hits = GNN_UNKNOWN;
    return wire;
}

/* Reads and writes of the device are what the group's counters rose by. */
static void an_epochs_device_counts_are_differences(void **state)
{
    (void)state;
    const struct gnn_wire_epoch wire = an_epoch();
    const struct gnn_group_reading before = reading(1000, 10, 5), after = reading(1800, 13, 12);
    struct gnn_record_epoch epoch;
    gnn_record_fill_epoch(&wire, &before, &after, GNN_UNKNOWN, &epoch);
    assert_int_equal(epoch.epoch, 3);
    assert_int_equal(epoch.wall_ns, 700);
    assert_int_equal(epoch.counters.elapsed_ns, 700);
    assert_int_equal(epoch.counters.cpu_ns, 40);
    assert_int_equal(epoch.counters.device_read_bytes, 800);
    assert_int_equal(epoch.counters.device_read_ios, 3);
    assert_int_equal(epoch.counters.device_write_bytes, 7);
}

/* Without a group, or when its counter was reset, they are unknown. */
static void an_unknown_reading_gives_an_unknown_count(void **state)
{
    (void)state;
    const struct gnn_wire_epoch wire = an_epoch();
    struct gnn_group_reading none, before = reading(1000, 10, 5), after = reading(900, 9, 4);
    struct gnn_record_epoch epoch;
    gnn_group_reading_unknown(&none);
    gnn_record_fill_epoch(&wire, &before, &after, GNN_UNKNOWN, &epoch);
    assert_int_equal(epoch.counters.device_read_bytes, GNN_UNKNOWN);
    assert_int_equal(epoch.counters.device_write_bytes, GNN_UNKNOWN);
    gnn_record_fill_epoch(&wire, &before, &none, GNN_UNKNOWN, &epoch);
    assert_int_equal(epoch.counters.device_read_ios, GNN_UNKNOWN);
    assert_int_equal(epoch.counters.device_write_bytes, GNN_UNKNOWN);
}

/* Cgroup v1 leaves out what the page cache writes: where a run wrote into it, the count of the device is unknown. */
static void writes_that_the_kernel_counts_elsewhere_are_unknown(void **state)
{
    (void)state;
    static const struct {
        uint64_t misses, buffered_bytes, device_bytes;
    } cases[] = {{1, 4096, GNN_UNKNOWN}, {1, 0, 7}, {0, 4096, 7}, {0, 0, 7}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_wire_epoch wire = an_epoch();
        struct gnn_wire_begin begin = {.buffered_write_bytes = cases[c].buffered_bytes};
        struct gnn_group_reading before = reading(1000, 10, 5), after = reading(1800, 13, 12);
        struct gnn_group_reading first = reading(100, 2, 7);
        struct gnn_record_epoch epoch;
        struct gnn_record_counters opening;
        wire.buffered_write_bytes = cases[c].buffered_bytes;
        wire.result.counters.requested_write_bytes = 4096;
        before.misses_buffered_writes = after.misses_buffered_writes = first.misses_buffered_writes = cases[c].misses;
        gnn_record_fill_epoch(&wire, &before, &after, GNN_UNKNOWN, &epoch);
        assert_int_equal(epoch.counters.device_write_bytes, cases[c].device_bytes);
        assert_int_equal(epoch.counters.device_read_bytes, 800);
        assert_int_equal(epoch.counters.requested_write_bytes, 4096);
        gnn_record_fill_before(&begin, &first, 1, &opening);
        assert_int_equal(opening.device_write_bytes, cases[c].device_bytes);
    }
}

/* Rows that are put into a mapping are no explicit writes, and how many bytes they become nobody has counted. */
static void writes_through_a_mapping_are_not_requested(void **state)
{
    (void)state;
    struct gnn_wire_epoch wire = an_epoch();
    const struct gnn_group_reading before = reading(0, 0, 0);
    struct gnn_record_epoch epoch;
    gnn_record_fill_epoch(&wire, &before, &before, GNN_UNKNOWN, &epoch);
    assert_int_equal(epoch.counters.requested_write_bytes, 0);
    assert_int_equal(epoch.counters.requested_write_ios, 0);
    wire.buffered_write_bytes = wire.mapped_write_bytes = 64;
    gnn_record_fill_epoch(&wire, &before, &before, GNN_UNKNOWN, &epoch);
    assert_int_equal(epoch.counters.requested_write_bytes, GNN_UNKNOWN);
    assert_int_equal(epoch.counters.requested_write_ios, GNN_UNKNOWN);
}

static void what_came_before_is_the_first_reading(void **state)
{
    (void)state;
    const struct gnn_wire_begin wire = {.usage.cpu_ns = 55,
                                        .requested_bytes = 4096,
                                        .requested_ios = 2,
                                        .requested_write_bytes = 512,
                                        .requested_write_ios = 1};
    struct gnn_group_reading group = reading(8192, 3, 600);
    struct gnn_record_counters before;
    group.peak_bytes = 1 << 20;
    group.file_bytes = 16384;
    group.refaults = 9;
    gnn_record_fill_before(&wire, &group, 77, &before);
    assert_int_equal(before.elapsed_ns, 77);
    assert_int_equal(before.cpu_ns, 55);
    assert_int_equal(before.requested_bytes, 4096);
    assert_int_equal(before.requested_ios, 2);
    assert_int_equal(before.requested_write_bytes, 512);
    assert_int_equal(before.requested_write_ios, 1);
    assert_int_equal(before.device_read_bytes, 8192);
    assert_int_equal(before.device_read_ios, 3);
    assert_int_equal(before.device_write_bytes, 600);
    assert_int_equal(before.peak_memory_bytes, 1 << 20);
    assert_int_equal(before.page_cache_bytes, 16384);
    assert_int_equal(before.refaults, 9);
    assert_int_equal(before.batches, GNN_UNKNOWN); /* only an epoch has them */
    assert_int_equal(before.rows_read, GNN_UNKNOWN);
    assert_false(before.has_digest);
}

static uint64_t figure_of(const struct gnn_record_epoch *epoch, const char *name)
{
    for (uint32_t i = 0; i < epoch->figure_count; i++)
        if (strcmp(epoch->figures[i].name, name) == 0)
            return epoch->figures[i].value;
    return GNN_UNKNOWN;
}

/* What is not a number is left out. */
static void qualities_are_statistics_of_the_epoch(void **state)
{
    (void)state;
    const struct gnn_wire_accuracy wire = {.valid = {.accuracy = 0.5, .roc_auc = (double)NAN, .macro_f1 = 0.25},
                                           .test = {.accuracy = 0.75, .roc_auc = 0.8765434999, .macro_f1 = 1}};
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    gnn_record_fill_accuracy(&wire, &epoch);
    assert_true(epoch.valid_accuracy == 0.5);
    assert_true(epoch.test_accuracy == 0.75);
    assert_int_equal(epoch.figure_count, 3);
    assert_int_equal(figure_of(&epoch, GNN_FIGURE_TEST_ROC_AUC), 876543);
    assert_int_equal(figure_of(&epoch, GNN_FIGURE_VALID_MACRO_F1), 250000);
    assert_int_equal(figure_of(&epoch, GNN_FIGURE_TEST_MACRO_F1), 1000000);
}

static void own_ends_are_counted_among_all_nodes(void **state)
{
    (void)state;
    const struct gnn_wire_accuracy wire = {.links = true,
                                           .valid_links = {.mrr = 0.1, .queries = 8, .own_first = GNN_UNKNOWN},
                                           .test_links = {.mrr = 0.2, .queries = 6, .own_first = 5}};
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    gnn_record_fill_accuracy(&wire, &epoch);
    assert_true(epoch.test_mrr == 0.2);
    assert_int_equal(epoch.figure_count, 2);
    assert_int_equal(figure_of(&epoch, GNN_FIGURE_TEST_QUERIES), 6);
    assert_int_equal(figure_of(&epoch, GNN_FIGURE_TEST_OWN_FIRST), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epochs_device_counts_are_differences),
        cmocka_unit_test(an_unknown_reading_gives_an_unknown_count),
        cmocka_unit_test(writes_that_the_kernel_counts_elsewhere_are_unknown),
        cmocka_unit_test(writes_through_a_mapping_are_not_requested),
        cmocka_unit_test(what_came_before_is_the_first_reading),
        cmocka_unit_test(qualities_are_statistics_of_the_epoch),
        cmocka_unit_test(own_ends_are_counted_among_all_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
