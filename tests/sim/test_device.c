/* SPDX-License-Identifier: MIT */
/* The device model: closed loops reproduce the grid they came from, idle latency, bursts, arrivals at random, RAID-0.
 * Whatever is expected here is computed from the profile's figures, not by the model. Mixtures are in
 * test_device_mixed.c. */
#include "tests/support/device_loops.h"
#include "tests/support/seed.h"

#include <stdlib.h>
#include <string.h>

/* A measured grid is not smooth: every point off by up to 15 %. */
static void roughen(struct gnn_profile_storage *g, uint64_t seed)
{
    struct gnn_rng rng = gnn_rng_at(seed);
    for (uint32_t s = 0; s < g->size_count; s++)
        for (uint32_t d = 0; d < g->depth_count; d++)
            g->read_ps[s][d] = g->read_ps[s][d] * (85 + gnn_rng_below(&rng, 31)) / 100;
}

/* ---- closed loops ---- */

static void test_closed_loops_reproduce_the_grid(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    check_grid(&g);
    fill_grid(&g, 90000, 90000, UINT64_C(520000000)); /* a SATA disk */
    check_grid(&g);
    fill_grid(&g, 8000, 3000000, UINT64_C(14000000000)); /* faster than a nanosecond resolves well */
    check_grid(&g);
    const uint64_t seed = test_seed();
    fill_nvme(&g);
    roughen(&g, seed);
    check_grid(&g);
}

/* Between the points: as fast as one neighbour at least, no faster than the other. */
static void test_between_grid_points(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    double previous = 0;
    for (uint32_t depth = 1; depth <= 160; depth += depth < 16 ? 1 : 13) {
        struct sim_device *device = open_device(&g);
        const uint64_t count = 40 * (uint64_t)depth;
        const struct loop loop = closed_loop(device, 4096, depth, count);
        const double per_s = (double)count / (double)loop.span_ns * 1e9;
        assert_true(per_s >= previous * 0.999);
        assert_true(per_s < 550000 * 1.001);
        previous = per_s;
        sim_device_close(device);
    }
    assert_true(previous > 550000 * 0.99);
    uint64_t latency_ns = 0;
    for (uint64_t size_bytes = 1; size_bytes <= 16 * mib; size_bytes += 1 + size_bytes / 5) {
        struct sim_device *device = open_device(&g);
        const uint64_t done_ns = sim_device_read(device, 1000, 0, size_bytes);
        assert_true(done_ns >= 1000 + latency_ns);
        latency_ns = done_ns - 1000;
        sim_device_close(device);
    }
    /* 16 MiB, far beyond the grid: 85 us and the transfer. */
    check_close((double)latency_ns, 85000 + 14.5e6 / 3.2, 0.17, "latency", 16 * mib, 1);
}

/* Beyond the largest size a read goes on at the pace of the last two, however far: 85 us and 312.5 ps a byte. */
static void test_beyond_the_largest_size(void **state)
{
    (void)state;
    const uint64_t sizes_bytes[] = {mib + 4096, 2 * mib - 4096, 2 * mib, 2 * mib + 4096, 5 * mib, 64 * mib + 512};
    struct gnn_profile_storage g;
    fill_nvme(&g);
    for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes; i++) {
        struct sim_device *const device = open_device(&g);
        const uint64_t ps = 85000000 + sizes_bytes[i] * 625 / 2;
        assert_int_equal(sim_device_read(device, 0, 0, sizes_bytes[i]), (ps + 999) / 1000);
        sim_device_close(device);
    }
}

/* That pace is no faster than the largest size at the depth that suits it best; one size alone goes on in
 * proportion. */
static void test_the_pace_beyond_the_largest_has_a_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t sizes;
        uint64_t us[2][2]; /* between two reads of 4 KiB, and of 8, at depths 1 and 2 */
        uint64_t len_bytes, expected_us;
    } cases[] = {
        {1, {{100, 60}}, 12288, 300},
        {2, {{20, 20}, {100, 100}}, 24576, 420}, /* 100 + 4 x 80 */
        {2, {{90, 90}, {100, 100}}, 24576, 300}, /* not 100 + 4 x 10, but 3 x 100 */
        {2, {{100, 100}, {60, 60}}, 10240, 75},  /* the larger is the faster: no slope */
        {2, {{100, 50}, {60, 40}}, 32768, 160},  /* 4 x 40: of the other depth */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_profile_storage g;
        fill_nvme(&g);
        g.size_count = cases[i].sizes;
        g.depth_count = 2;
        for (uint32_t s = 0; s < g.size_count; s++) {
            g.size_bytes[s] = UINT64_C(4096) << s;
            for (uint32_t d = 0; d < g.depth_count; d++)
                g.read_ps[s][d] = cases[i].us[s][d] * 1000000;
        }
        struct sim_device *const device = open_device(&g);
        assert_int_equal(sim_device_read(device, 0, 0, cases[i].len_bytes), cases[i].expected_us * 1000);
        sim_device_close(device);
    }
}

/* More than a device works on waits in its queue: the same throughput, the latency grows. */
static void test_beyond_the_deepest(void **state)
{
    (void)state;
    static const uint32_t depth_max[] = {4, 6, 128, 1024};
    for (size_t i = 0; i < sizeof depth_max / sizeof depth_max[0]; i++) {
        struct gnn_profile_storage g;
        fill_nvme(&g);
        g.depth_max = depth_max[i];
        struct sim_device *device = open_device(&g);
        const uint32_t depth = 2000;
        const uint64_t count = 20 * (uint64_t)depth;
        const struct loop loop = closed_loop(device, 4096, depth, count);
        const double slots_ns = (85000 + 4096 / 3.2) / (depth_max[i] < 128 ? depth_max[i] : 128);
        const double expected_ns = slots_ns > 1e9 / 550000 ? slots_ns : 1e9 / 550000;
        check_close((double)loop.span_ns / (double)count, expected_ns, 0.01, "time between reads", 4096, depth);
        check_close((double)loop.latency_ns, expected_ns * depth, 0.01, "latency", 4096, depth);
        sim_device_close(device);
    }
}

/* Callers who come back a little after each read leave a device busy that has others to do meanwhile, and bound one
 * that has not. */
static void test_late_callers(void **state)
{
    (void)state;
    static const struct {
        uint32_t depth;
        uint64_t think_ns;
        double expected_ns;
    } cases[] = {{128, 0, 1e9 / 550000},
                 {128, 700, 1e9 / 550000},
                 {128, 20000, 1e9 / 550000},
                 {1, 50000, 136280},
                 {8, 100000, 186280.0 / 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_profile_storage g;
        fill_nvme(&g);
        struct sim_device *device = open_device(&g);
        uint64_t next_ns[128] = {0}, now_ns = 0;
        enum { COUNT = 20000 };
        for (uint32_t k = 0; k < COUNT; k++) {
            uint32_t first = 0;
            for (uint32_t c = 1; c < cases[i].depth; c++)
                first = next_ns[c] < next_ns[first] ? c : first;
            now_ns = next_ns[first];
            next_ns[first] = sim_device_read(device, now_ns, (uint64_t)k * 4096, 4096) + cases[i].think_ns;
        }
        check_close((double)now_ns / COUNT, cases[i].expected_ns, 0.01, "time between reads", 4096, cases[i].depth);
        sim_device_close(device);
    }
}

/* ---- open arrivals ---- */

static void test_idle_latency(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    struct sim_device *device = open_device(&g);
    uint64_t now_ns = 7;
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t s = i % g.size_count;
        const uint64_t done_ns = sim_device_read(device, now_ns, i * mib, g.size_bytes[s]);
        assert_int_equal(done_ns - now_ns, (g.read_ps[s][0] + 999) / 1000);
        now_ns = done_ns;
    }
    const uint64_t done_ns = sim_device_write(device, now_ns, 0, 4096);
    check_close((double)(done_ns - now_ns), 20000 + 4096 / 1.6, 0.001, "write latency", 4096, 1);
    struct sim_device_counts counts;
    sim_device_counts(device, &counts);
    assert_int_equal(counts.read_ios, 100);
    assert_int_equal(counts.write_ios, 1);
    assert_int_equal(counts.write_bytes, 4096);
    assert_int_equal(counts.busy_ns, done_ns - 7); /* one after the other, no gap */
    sim_device_close(device);
}

static void test_burst_drains_at_full_speed(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    for (uint64_t size_bytes = 512; size_bytes <= mib; size_bytes *= 8) {
        struct sim_device *device = open_device(&g);
        enum { BURST = 20000 };
        uint64_t last_ns = 0;
        for (uint32_t i = 0; i < BURST; i++) {
            const uint64_t done_ns = sim_device_read(device, 5000, i * size_bytes, size_bytes);
            last_ns = done_ns > last_ns ? done_ns : last_ns;
        }
        const double transfer_ns = (double)size_bytes / 3.2;
        const double full_ns = transfer_ns > 1e9 / 550000 ? transfer_ns : 1e9 / 550000;
        check_close((double)(last_ns - 5000), BURST * full_ns, 0.01, "burst", size_bytes, BURST);
        struct sim_device_counts counts;
        sim_device_counts(device, &counts);
        assert_int_equal(counts.read_ios, BURST);
        assert_int_equal(counts.read_bytes, BURST * size_bytes);
        assert_int_equal(counts.busy_ns, last_ns - 5000);
        sim_device_close(device);
    }
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Arrivals at random, of one size, at a share of what the device can do: what comes in goes out; the number in flight,
 * counted over time from the two lists of times, is throughput x mean latency; latency grows with the load and starts
 * at the idle device's. */
static void test_littles_law(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    struct gnn_profile_storage g;
    fill_nvme(&g);
    const uint64_t seed = test_seed();
    struct gnn_rng rng = gnn_rng_at(seed);
    uint64_t *arrived_ns = calloc(COUNT, sizeof *arrived_ns), *done_ns = calloc(COUNT, sizeof *done_ns);
    assert_non_null(arrived_ns);
    assert_non_null(done_ns);
    double previous_ns = 86000;
    for (uint32_t percent = 10; percent <= 90; percent += 20) {
        struct sim_device *device = open_device(&g);
        const double gap_ns = 1e9 / 550000 * 100 / percent;
        double at_ns = 0, latency_sum_ns = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            at_ns += -log(1 - gnn_rng_unit(&rng)) * gap_ns;
            arrived_ns[i] = (uint64_t)at_ns;
            done_ns[i] = sim_device_read(device, arrived_ns[i], gnn_rng_below(&rng, 1 << 20) * 4096, 4096);
            latency_sum_ns += (double)(done_ns[i] - arrived_ns[i]);
        }
        qsort(done_ns, COUNT, sizeof *done_ns, compare_u64);
        double area = 0; /* integral of the number in flight */
        uint32_t in = 0, out = 0;
        uint64_t t_ns = 0;
        while (out < COUNT) {
            const bool arrival = in < COUNT && arrived_ns[in] < done_ns[out];
            const uint64_t next_ns = arrival ? arrived_ns[in] : done_ns[out];
            area += (double)(in - out) * (double)(next_ns - t_ns);
            t_ns = next_ns;
            in += arrival ? 1 : 0;
            out += arrival ? 0 : 1;
        }
        const double mean_ns = latency_sum_ns / COUNT, per_ns = COUNT / (double)t_ns;
        check_close(area / (double)t_ns, per_ns * mean_ns, 0.001, "in flight", 4096, percent);
        check_close(per_ns, 1 / gap_ns, 0.03, "throughput", 4096, percent);
        assert_true(mean_ns >= previous_ns * 0.999);
        previous_ns = mean_ns;
        sim_device_close(device);
    }
    assert_true(previous_ns < 4 * 86000); /* 90 % busy: queues, but no congestion */
    free(arrived_ns);
    free(done_ns);
}

/* ---- RAID-0 ---- */

static void test_raid0_multiplies(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes;
        uint32_t depth;
    } cases[] = {{4096, 256}, {65536, 128}, {131072, 128}, {mib, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double alone = 0;
        for (uint32_t devices = 1; devices <= 4; devices *= 2) {
            struct gnn_profile_storage g;
            fill_nvme(&g);
            g.devices = devices;
            struct sim_device *device = open_device(&g);
            const uint64_t count = 40 * (uint64_t)cases[i].depth;
            const struct loop loop = closed_loop(device, cases[i].size_bytes, cases[i].depth * devices, count);
            const double per_ns = (double)count / (double)loop.span_ns;
            alone = devices == 1 ? per_ns : alone;
            check_close(per_ns, alone * devices, 0.05, "reads per ns", cases[i].size_bytes, devices);
            sim_device_close(device);
        }
    }
}

/* Blocks below the stripe, read one after the other by somebody who keeps so many in flight on each member: they lie on
 * as many members as stripes are being read, so an array of four has four times the bandwidth at 64 KiB too. */
static void test_raid0_of_blocks_in_order(void **state)
{
    (void)state;
    enum { DEPTH = 32, BLOCKS = 8192, BLOCK_BYTES = 65536 };
    double alone = 0;
    for (uint32_t devices = 1; devices <= 4; devices *= 2) {
        static uint64_t done_ns[4 * DEPTH];
        struct gnn_profile_storage g;
        fill_nvme(&g);
        g.devices = devices;
        g.stripe_bytes = 512 * 1024;
        struct sim_device *device = open_device(&g);
        uint64_t now_ns = 0;
        for (uint64_t i = 0; i < BLOCKS; i++) {
            uint32_t first = 0;
            for (uint32_t k = 1; k < DEPTH * devices; k++)
                first = done_ns[k] < done_ns[first] ? k : first;
            now_ns = i < DEPTH * devices ? 0 : done_ns[first];
            first = i < DEPTH * devices ? (uint32_t)i : first;
            done_ns[first] = sim_device_read(device, now_ns, i * BLOCK_BYTES, BLOCK_BYTES);
        }
        const double per_ns = (double)BLOCKS / (double)now_ns;
        alone = devices == 1 ? per_ns : alone;
        check_close(per_ns, alone * devices, 0.1, "blocks per ns", BLOCK_BYTES, devices);
        memset(done_ns, 0, sizeof done_ns);
        sim_device_close(device);
    }
}

/* One large read uses all members at once; the parts are counted, the bytes are not counted twice. */
static void test_raid0_cuts_at_stripes(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    g.devices = 4;
    static const struct {
        uint64_t offset_bytes, len_bytes, parts;
    } cases[] = {{0, 131072, 1},    {0, 131073, 2},     {131071, 2, 2},       {131072, 131072, 1},
                 {4096, 131072, 2}, {0, 4 * 131072, 4}, {512, 8 * 131072, 9}, {5 * 131072 - 1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_device *device = open_device(&g);
        (void)sim_device_read(device, 0, cases[i].offset_bytes, cases[i].len_bytes);
        struct sim_device_counts counts;
        sim_device_counts(device, &counts);
        assert_int_equal(counts.read_ios, cases[i].parts);
        assert_int_equal(counts.read_bytes, cases[i].len_bytes);
        sim_device_close(device);
    }
    struct sim_device *device = open_device(&g);
    const uint64_t four_ns = sim_device_read(device, 0, 0, 4 * 131072);
    const uint64_t now_ns = four_ns;
    const uint64_t one_ns = sim_device_read(device, now_ns, 0, 131072) - now_ns;
    assert_int_equal(four_ns, one_ns); /* one stripe of each */
    sim_device_close(device);
}

/* As members see them: what a stripe cuts is two. Writes have no sizes. */
static void requests_are_counted_by_size(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    struct sim_device_counts counts;
    fill_nvme(&g);
    g.devices = 2;
    struct sim_device *device = open_device(&g);
    for (uint64_t i = 0; i < 30; i++)
        (void)sim_device_read(device, 0, i * 4096, 512);
    for (uint64_t i = 0; i < 20; i++)
        (void)sim_device_read(device, 0, i * 4096, 4096);
    (void)sim_device_read(device, 0, 131072 - 4096, 4096 + 65536);
    (void)sim_device_write(device, 0, 0, 1048576);
    sim_device_counts(device, &counts);
    assert_int_equal(counts.read_sizes.count, counts.read_ios);
    assert_int_equal(counts.read_sizes.of_class[gnn_size_class(512)], 30);
    assert_int_equal(counts.read_sizes.of_class[gnn_size_class(4096)], 21);
    assert_int_equal(counts.read_sizes.of_class[gnn_size_class(65536)], 1);
    assert_int_equal(counts.read_sizes.max_bytes, 65536);
    sim_device_close(device);
}

static void test_refusals(void **state)
{
    (void)state;
    struct gnn_profile_storage good;
    fill_nvme(&good);
    for (int i = 0; i < 9; i++) {
        struct gnn_profile_storage g = good;
        switch (i) {
        case 0:
            g.devices = 0;
            break;
        case 1:
            g.stripe_bytes = 0;
            break;
        case 2:
            g.depth[0] = 2;
            break;
        case 3:
            g.depth[3] = g.depth[2];
            break;
        case 4:
            g.size_bytes[1] = g.size_bytes[0];
            break;
        case 5:
            g.read_ps[2][3] = 0;
            break;
        case 6:
            g.write_bytes_per_s = 0;
            break;
        case 7:
            g.write_sustained_bytes_per_s = g.write_bytes_per_s + 1;
            break;
        default:
            g.size_count = 0;
            break;
        }
        struct sim_device *device;
        struct gnn_err err = {0};
        assert_int_equal(sim_device_open(&g, &device, &err), GNN_EFORMAT);
        assert_null(device);
    }
    sim_device_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_loops_reproduce_the_grid),
        cmocka_unit_test(test_between_grid_points),
        cmocka_unit_test(test_beyond_the_largest_size),
        cmocka_unit_test(test_the_pace_beyond_the_largest_has_a_bound),
        cmocka_unit_test(test_beyond_the_deepest),
        cmocka_unit_test(test_late_callers),
        cmocka_unit_test(test_idle_latency),
        cmocka_unit_test(test_burst_drains_at_full_speed),
        cmocka_unit_test(test_littles_law),
        cmocka_unit_test(test_raid0_multiplies),
        cmocka_unit_test(test_raid0_of_blocks_in_order),
        cmocka_unit_test(test_raid0_cuts_at_stripes),
        cmocka_unit_test(requests_are_counted_by_size),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
