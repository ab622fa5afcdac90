/* SPDX-License-Identifier: MIT */
/* The floor of an epoch, by hand: the device's part, training's part, the larger of the two, and when there is none. */
#include "harness/record/summary.h"
#include "harness/run/floor.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two members. A read of 4 KiB: 24 us alone, 6 at depth 4; of 64 KiB: 200 and 100; 100 MB/s of writes each. */
static const struct gnn_floor disks = {.has_device = true,
                                       .device = {.devices = 2,
                                                  .size_count = 2,
                                                  .depth_count = 2,
                                                  .size_bytes = {4096, 65536},
                                                  .depth = {1, 4},
                                                  .read_ps = {{24000000, 6000000}, {200000000, 100000000}},
                                                  .write_bytes_per_s = 100000000},
                                       .trains = true};

/* Everything unknown but what is named: reads the device delivered, and bytes it wrote. */
static struct gnn_record_epoch epoch_of(uint64_t ios, uint64_t bytes, uint64_t written_bytes)
{
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    epoch.counters.device_read_ios = ios;
    epoch.counters.device_read_bytes = bytes;
    epoch.counters.device_write_bytes = written_bytes;
    return epoch;
}

/* ---- the device ---- */

static void reads_and_writes_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint64_t ios, bytes, written_bytes, ns;
    } cases[] = {
        {0, 0, 0, 0},
        {1000, 1000 * 4096, 0, 3000000},      /* 6 us each on two members */
        {1000, 1000 * 512, 0, 3000000},       /* smaller reads cost as much as the smallest that was measured */
        {1000, 1000 * 34816ull, 0, 26500000}, /* halfway between the sizes: (6 + 100) / 2 us */
        {10, 10 * 131072, 0, 1000000},        /* larger than the largest: in proportion */
        {0, 0, 400000, 2000000},
        {1000, 1000 * 4096, 400000, 5000000}, /* they take turns */
        {1000, 999 * 4096 + 4095, 0, 3000000},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct gnn_record_epoch epoch = epoch_of(cases[c].ios, cases[c].bytes, cases[c].written_bytes);
        const uint64_t ns = gnn_floor_device_ns(&disks, &epoch);
        if (ns != cases[c].ns)
            fail_msg("case %zu: %llu ns", c, (unsigned long long)ns);
    }
}

/* 128 KiB alone: 70 % read at 200 us is 140 us, 30 % written at 100 MB/s is 393.216 us. */
static void reads_beside_writes(void **state)
{
    (void)state;
    static const struct {
        uint64_t mixed_bytes_per_s; /* GNN_MIXED_BYTES over the time that both take together */
        uint64_t ns;                /* of 3 ms of reads and 2 ms of writes */
    } cases[] = {
        {0, 5000000},
        {333333333, 3000000}, /* 393.216 us: all that is lesser goes beside, and more than that is not to be had */
        {400000000, 3000000}, /* 327.68 us: faster than writing alone */
        {282960865, 4000000}, /* 463.216 us: half of it */
        {245814080, 5000000}, /* 533.216 us: in turns */
        {131072000, 5000000}, /* 1 ms: they disturb each other, which a floor does not count */
    };
    const struct gnn_record_epoch epoch = epoch_of(1000, 1000 * 4096, 400000);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_floor floor = disks;
        floor.device.mixed_bytes_per_s = cases[c].mixed_bytes_per_s;
        const uint64_t ns = gnn_floor_device_ns(&floor, &epoch);
        if (fabs((double)ns - (double)cases[c].ns) > 2000)
            fail_msg("case %zu: %llu ns", c, (unsigned long long)ns);
    }
}

static void throttles_are_floors(void **state)
{
    (void)state;
    static const struct {
        uint64_t ios, bytes, written_bytes, device_bps, device_iops, ns;
    } cases[] = {
        {1000, 4096000, 0, 409600000, 0, 10000000},                                              /* bytes read */
        {1000, 4096000, 0, 0, 50000, 20000000},                                                  /* reads */
        {1000, 4096000, 400000, 40000000, 0, 102400000},  {0, 0, 400000, 40000000, 0, 10000000}, /* bytes written */
        {1000, 4096000, 0, 4096000000, 1000000, 3000000}, /* looser than the device: no limits */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct gnn_record_epoch epoch = epoch_of(cases[c].ios, cases[c].bytes, cases[c].written_bytes);
        struct gnn_floor floor = disks;
        floor.device_bps = cases[c].device_bps;
        floor.device_iops = cases[c].device_iops;
        const uint64_t ns = gnn_floor_device_ns(&floor, &epoch);
        if (ns != cases[c].ns)
            fail_msg("case %zu: %llu ns", c, (unsigned long long)ns);
    }
}

static void who_counted(void **state)
{
    (void)state;
    struct gnn_floor floor = disks;
    struct gnn_record_epoch epoch = epoch_of(1000, 4096000, 0);
    epoch.counters.requested_ios = 2000;
    epoch.counters.requested_bytes = 8192000;
    epoch.counters.requested_write_bytes = 400000;
    floor.direct = true;
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), 3000000); /* the device's counters come first */
    epoch.counters.device_write_bytes = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), 5000000);
    epoch.counters.device_read_ios = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), 8000000);
    epoch.counters.device_read_ios = 1000;
    epoch.counters.device_read_bytes = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), 8000000);
    floor.direct = false; /* the page cache may have had them */
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), GNN_UNKNOWN);
    floor.direct = true;
    epoch.counters.requested_bytes = GNN_UNKNOWN; /* a mapping's */
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), GNN_UNKNOWN);
    epoch.counters.requested_bytes = 8192000;
    epoch.counters.requested_write_bytes = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), GNN_UNKNOWN);
    epoch = epoch_of(1000, 4096000, 0);
    floor.has_device = false;
    assert_int_equal(gnn_floor_device_ns(&floor, &epoch), GNN_UNKNOWN);
}

/* ---- training ---- */

/* Adds a stage that worked and waited so long on so many workers; the first 100 ns of its work were without a core. */
static void add_stage(struct gnn_record_epoch *epoch, const char *name, uint64_t workers, uint64_t work_ns,
                      uint64_t wait_compute_ns)
{
    struct gnn_record_stage *const stage = &epoch->stages[epoch->stage_count++];
    gnn_record_stage_unknown(stage);
    (void)snprintf(stage->stage, sizeof stage->stage, "%s", name);
    stage->workers = workers;
    stage->work_ns = work_ns;
    stage->cpu_ns = work_ns - 100;
    stage->wait_compute_ns = wait_compute_ns;
    stage->wait_io_ns = stage->wait_queue_ns = stage->wait_resource_ns = 1000000;
}

static void training_by_hand(void **state)
{
    (void)state;
    struct gnn_record_epoch epoch = epoch_of(0, 0, 0);
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), GNN_UNKNOWN); /* no stage that trains */
    add_stage(&epoch, "sample", 4, 90000, 90000);
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), GNN_UNKNOWN);
    add_stage(&epoch, "train", 1, 5100, 700);
    struct gnn_record_stage *const train = &epoch.stages[1];
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), 5700);
    train->cpu_ns = 9000; /* in the kernel, in a wait's name */
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), 5800);
    train->cpu_ns = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), 5800);
    train->workers = 2; /* ranks, each of which trains its part */
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), 2900);
    fake_figure(&epoch, GNN_FIGURE_GPU_BUSY, 2899);
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), 2900);
    epoch.figures[0].value = 2901;
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), 2901);
    train->wait_compute_ns = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), GNN_UNKNOWN);
    train->wait_compute_ns = 0;
    train->work_ns = GNN_UNKNOWN;
    assert_int_equal(gnn_floor_training_ns(&disks, &epoch), GNN_UNKNOWN);
    struct gnn_floor sampling = disks;
    sampling.trains = false;
    assert_int_equal(gnn_floor_training_ns(&sampling, &epoch), 0);
}

/* ---- both ---- */

static void the_larger_one(void **state)
{
    (void)state;
    static const struct {
        uint64_t ios, work_ns, floor_ns;
    } cases[] = {{1, 2999 + 100, 3000}, {1, 3000 + 100, 3000}, {1, 3001 + 100, 3001}, {0, 100, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_record_epoch epoch = epoch_of(cases[c].ios, 4096 * cases[c].ios, 0);
        add_stage(&epoch, "train", 1, cases[c].work_ns, 0);
        gnn_floor_add(&disks, &epoch);
        assert_int_equal(epoch.figure_count, 3);
        assert_int_equal(gnn_recorded_figure(&epoch, "floor_device_ns"), 3000 * cases[c].ios);
        assert_int_equal(gnn_recorded_figure(&epoch, "floor_training_ns"), cases[c].work_ns - 100);
        assert_int_equal(gnn_recorded_figure(&epoch, "floor_ns"), cases[c].floor_ns);
    }
}

/* A part alone is no floor: what is not known might be longer. */
static void no_floor_of_one_part(void **state)
{
    (void)state;
    struct gnn_floor nothing = disks;
    struct gnn_record_epoch epoch = epoch_of(1, 4096, 0);
    gnn_floor_add(&disks, &epoch);
    assert_int_equal(epoch.figure_count, 1);
    assert_int_equal(gnn_recorded_figure(&epoch, GNN_FIGURE_FLOOR_DEVICE), 3000);
    nothing.has_device = false;
    epoch = epoch_of(1, 4096, 0);
    add_stage(&epoch, "train", 1, 300, 0);
    gnn_floor_add(&nothing, &epoch);
    assert_int_equal(epoch.figure_count, 1);
    assert_int_equal(gnn_recorded_figure(&epoch, GNN_FIGURE_FLOOR_TRAINING), 200);
}

/* ---- over a run's epochs ---- */

static void ratio_of_a_run(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 1, 2, 1);
    run.epochs[0].wall_ns = 900;
    run.epochs[1].wall_ns = 600;
    assert_int_equal(gnn_run_floor_ns(&run), GNN_UNKNOWN);
    assert_true(isnan(gnn_run_floor_ratio(&run)));
    fake_figure(&run.epochs[0], GNN_FIGURE_FLOOR, 400);
    assert_true(isnan(gnn_run_floor_ratio(&run))); /* one epoch does not tell */
    fake_figure(&run.epochs[1], GNN_FIGURE_FLOOR, 200);
    fake_figure(&run.epochs[1], GNN_FIGURE_FULL_EPOCH, 6000); /* the whole, of which 600 ns were run */
    assert_int_equal(gnn_run_floor_ns(&run), 600);
    assert_true(gnn_run_floor_ratio(&run) == 2.5);
    run.epochs[0].wall_ns = GNN_UNKNOWN;
    assert_true(isnan(gnn_run_floor_ratio(&run)));
    run.epochs[0].wall_ns = 900;
    run.valid = 0;
    assert_int_equal(gnn_run_floor_ns(&run), GNN_UNKNOWN);
    assert_true(isnan(gnn_run_floor_ratio(&run)));
    run.valid = 1;
    for (uint32_t e = 0; e < 2; e++)
        for (uint32_t i = 0; i < run.epochs[e].figure_count; i++)
            run.epochs[e].figures[i].value = 0;
    assert_true(isnan(gnn_run_floor_ratio(&run))); /* nothing was to be done */
    gnn_run_record_free(&run);
}

/* ---- whose figures ---- */

/* Opens the floor of a configuration; what the environment says is copied to text, "-" where it says unknown. */
static void open_floor_of(const struct gnn_run_config *config, const char *calibrated, struct gnn_floor *floor,
                          char text[128])
{
    struct gnn_kv_list environment = {0};
    struct gnn_err err = {0};
    must(gnn_floor_open(config, &environment, floor, &err), &err);
    assert_int_equal(environment.count, calibrated == NULL ? 1 : 2);
    if (calibrated != NULL)
        assert_string_equal(gnn_kv_get(&environment, "floor.calibrated"), calibrated);
    assert_string_equal(environment.items[0].key, "floor.profile");
    const char *const value = gnn_kv_get(&environment, "floor.profile");
    (void)snprintf(text, 128, "%s", value == NULL ? "-" : value);
    gnn_kv_clear(&environment);
}

static void open_floor(const struct gnn_run_config *config, struct gnn_floor *floor, char text[128])
{
    open_floor_of(config, NULL, floor, text);
}

/* A machine that is modelled has its profile's device; this one that of `this`, or none. */
static void where_the_figures_come_from(void **state)
{
    (void)state;
    char *const dir = process_temp_dir(), text[128], of_model[128];
    struct gnn_run_config config;
    struct gnn_floor floor;
    assert_int_equal(setenv("XDG_DATA_HOME", dir, 1), 0);
    gnn_run_config_defaults(&config);
    open_floor(&config, &floor, text);
    assert_string_equal(text, "-");
    assert_false(floor.has_device);
    assert_true(floor.trains);

    config.world = GNN_WORLD_SIMULATED;
    config.sample_only = true;
    config.device_bps = 77;
    config.device_iops = 88;
    (void)snprintf(config.profile, sizeof config.profile, "tests/golden/machine.ini");
    open_floor(&config, &floor, of_model);
    assert_true(floor.has_device);
    assert_false(floor.trains);
    assert_false(floor.direct);
    assert_int_equal(floor.device.devices, 2);
    assert_int_equal(floor.device.write_bytes_per_s, 400000000);
    assert_int_equal(floor.device_bps, 77);
    assert_int_equal(floor.device_iops, 88);
    assert_memory_equal(of_model, "machine ", 8);

    struct process_result r =
        process_shell("mkdir -p %s/oocgnn && cp tests/golden/machine.ini %s/oocgnn/this.ini", dir, dir);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    gnn_run_config_defaults(&config);
    (void)snprintf(config.profile, sizeof config.profile, "gnndrive-paper"); /* of its modelled accelerator */
    open_floor(&config, &floor, text);
    assert_true(floor.has_device);
    assert_int_equal(floor.device.devices, 2);
    assert_memory_equal(text, "this ", 5);
    assert_string_equal(text + 5, of_model + 8); /* the same bytes */

    r = process_shell("sed -i 's/^title/calibrated = 2026-01-02T03:04:05Z stated\\n&/' %s/oocgnn/this.ini", dir);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    open_floor_of(&config, "2026-01-02T03:04:05Z", &floor, text);
    assert_string_not_equal(text + 5, of_model + 8);

    process_write_file(dir, "oocgnn/this.ini", 0644, "[machine]\nmachine_id = broken\n");
    open_floor(&config, &floor, text);
    assert_string_equal(text, "-");
    assert_false(floor.has_device);
    process_remove_tree(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_by_hand),
        cmocka_unit_test(reads_beside_writes),
        cmocka_unit_test(throttles_are_floors),
        cmocka_unit_test(who_counted),
        cmocka_unit_test(training_by_hand),
        cmocka_unit_test(the_larger_one),
        cmocka_unit_test(no_floor_of_one_part),
        cmocka_unit_test(ratio_of_a_run),
        cmocka_unit_test(where_the_figures_come_from),
    };
    return cmocka_run_group_tests_name("floor", tests, NULL, NULL);
}
