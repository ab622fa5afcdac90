/* SPDX-License-Identifier: MIT */
/* The device model under mixtures: reads of two sizes, reads beside writes, writing for long, reads into single pages.
 * Whatever is expected here is computed from the profile's figures, not by the model. */
#include "tests/support/device_loops.h"

struct mixture {
    uint64_t small_bytes, large_bytes;
    uint32_t small_depth, large_depth;
};

/* Two closed loops side by side. Every read weighs what it costs the device at full speed; the sum over a time is that
 * time when the device is kept busy, and never more. */
static void check_mixture(const struct mixture *mix)
{
    struct gnn_profile_storage g;
    fill_nvme(&g);
    struct sim_device *device = open_device(&g);
    uint64_t done_ns[256], weight_sum_ns = 0, now_ns = 0, small_ns = 0, smalls = 0;
    const uint32_t depth = mix->small_depth + mix->large_depth;
    assert_true(depth <= 256);
    for (uint32_t i = 0; i < depth; i++)
        done_ns[i] = 0;
    const uint64_t end_ns = UINT64_C(2000000000);
    while (true) {
        uint32_t first = 0;
        for (uint32_t k = 1; k < depth; k++)
            first = done_ns[k] < done_ns[first] ? k : first;
        now_ns = done_ns[first];
        if (now_ns > end_ns)
            break;
        const bool is_small = first < mix->small_depth;
        const uint64_t size_bytes = is_small ? mix->small_bytes : mix->large_bytes;
        done_ns[first] = sim_device_read(device, now_ns, 0, size_bytes);
        const uint64_t transfer_ns = size_bytes * 10 / 32;
        weight_sum_ns += transfer_ns > 1818 ? transfer_ns : 1818;
        small_ns += is_small ? done_ns[first] - now_ns : 0;
        smalls += is_small ? 1 : 0;
    }
    const double share = (double)weight_sum_ns / (double)now_ns;
    if (share > 1.03 || share < 0.9)
        fail_msg("%u x %u and %u x %u bytes: the device served %.3f of its time", mix->small_depth,
                 (unsigned)mix->small_bytes, mix->large_depth, (unsigned)mix->large_bytes, share);
    /* A small read waits for its share, not for everybody's large ones. */
    const double fair_ns = 86300 > (double)depth * 1818 ? 86300 : (double)depth * 1818;
    assert_true((double)small_ns / (double)smalls < 2.1 * fair_ns);
    sim_device_close(device);
}

static void test_mixtures_conserve_bandwidth(void **state)
{
    (void)state;
    static const struct mixture mixtures[] = {{4096, mib, 32, 16},  {4096, mib, 1, 16},  {512, 131072, 64, 32},
                                              {4096, 8192, 64, 64}, {4096, mib, 200, 1}, {512, 65536, 8, 128}};
    for (size_t i = 0; i < sizeof mixtures / sizeof mixtures[0]; i++)
        check_mixture(&mixtures[i]);
}

/* Reads and writes share the device. */
static void test_writes(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    static const struct {
        uint64_t size_bytes;
        double expected_ns;
    } cases[] = {{4096, 1e9 / (550000.0 / 4)}, {mib, (double)(1024 * 1024) / 1.6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_device *device = open_device(&g);
        enum { COUNT = 5000 };
        uint64_t last_ns = 0;
        for (uint32_t k = 0; k < COUNT; k++)
            last_ns = sim_device_write(device, 0, k * cases[i].size_bytes, cases[i].size_bytes);
        check_close((double)last_ns, COUNT * cases[i].expected_ns, 0.01, "writes", cases[i].size_bytes, COUNT);
        /* A large read now waits behind them. */
        assert_true(sim_device_read(device, 1, 0, 16 * mib) > last_ns);
        sim_device_close(device);
    }
}

/* A closed loop of reads and writes of 128 KiB, `read_percent` of them reads: bytes a second. */
static double mixed_rate(const struct gnn_profile_storage *g, uint32_t read_percent, uint32_t depth)
{
    enum { COUNT = 40000, SIZE_BYTES = 131072 };
    struct sim_device *device = open_device(g);
    struct gnn_rng rng = gnn_rng_at(read_percent);
    uint64_t done_ns[LOOP_DEPTH_MAX] = {0}, now_ns = 0, start_ns = 0;
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        uint32_t first = 0;
        for (uint32_t k = 1; k < depth; k++)
            first = done_ns[k] < done_ns[first] ? k : first;
        now_ns = done_ns[first];
        start_ns = i == COUNT ? now_ns : start_ns;
        const uint64_t offset_bytes = gnn_rng_below(&rng, 1 << 16) * SIZE_BYTES;
        done_ns[first] = gnn_rng_below(&rng, 100) < read_percent
                             ? sim_device_read(device, now_ns, offset_bytes, SIZE_BYTES)
                             : sim_device_write(device, now_ns, offset_bytes, SIZE_BYTES);
    }
    sim_device_close(device);
    return (double)COUNT * SIZE_BYTES / (double)(now_ns - start_ns) * 1e9;
}

/* Of 128 KiB, p percent read, each kind alone at its own rate. */
static double turns_rate(double p)
{
    return 1 / (p / 100 / 3.2e9 + (1 - p / 100) / 1.6e9);
}

/* Without a figure reads and writes take turns, in any mixture. */
static void test_reads_and_writes_take_turns(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    for (uint32_t percent = 0; percent <= 100; percent += 10)
        check_close(mixed_rate(&g, percent, 64), turns_rate(percent), 0.03, "a mixture", 131072, percent);
}

/* A closed loop of 70 % reads shows the profile's own mixed figure, from side by side (3.2 GB/s / 0.7) to much in each
 * other's way; either kind alone is what it was, and mixtures between lie between. */
static void test_the_mixed_figure_comes_out(void **state)
{
    (void)state;
    static const uint64_t rates[] = {800000000, 1500000000, 2461538462, 3500000000, 4571428571};
    struct gnn_profile_storage g;
    double previous[11] = {0};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        fill_nvme(&g);
        g.mixed_bytes_per_s = rates[i];
        check_close(mixed_rate(&g, 70, 64), (double)rates[i], 0.05, "the mixture", 131072, 64);
        check_close(mixed_rate(&g, 100, 64), 3.2e9, 0.01, "reads alone", 131072, 64);
        check_close(mixed_rate(&g, 0, 64), 1.6e9, 0.01, "writes alone", 131072, 64);
        for (uint32_t p = 1; p < 10; p++) { /* the more of the one, the more of any */
            const double rate = mixed_rate(&g, 10 * p, 64);
            assert_true(rate > previous[p] * 0.999);
            previous[p] = rate;
        }
    }
    g.mixed_bytes_per_s = 100 * rates[4]; /* more than the two side by side reach counts as that */
    check_close(mixed_rate(&g, 70, 64), (double)rates[4], 0.05, "the mixture", 131072, 64);
    fill_nvme(&g);
    g.mixed_bytes_per_s = rates[0];
    check_grid(&g);
}

/* Nothing of a mixture stays when one of the kinds has ended: a burst of reads goes at full speed. */
static void test_a_mixture_leaves_nothing_behind(void **state)
{
    (void)state;
    enum { BURST = 200, SIZE_BYTES = 131072 };
    struct gnn_profile_storage g;
    fill_nvme(&g);
    g.mixed_bytes_per_s = 800000000;
    struct sim_device *device = open_device(&g);
    uint64_t end_ns = 0, last_ns = 0;
    for (uint64_t i = 0; i < 2 * BURST; i++) {
        const uint64_t done_ns = i % 2 == 0 ? sim_device_read(device, 0, i * SIZE_BYTES, SIZE_BYTES)
                                            : sim_device_write(device, 0, i * SIZE_BYTES, SIZE_BYTES);
        end_ns = done_ns > end_ns ? done_ns : end_ns;
    }
    for (uint64_t i = 0; i < BURST; i++)
        last_ns = sim_device_read(device, end_ns, i * SIZE_BYTES, SIZE_BYTES);
    check_close((double)(last_ns - end_ns), BURST * SIZE_BYTES / 3.2, 0.01, "burst of reads", SIZE_BYTES, BURST);
    sim_device_close(device);
}

/* Full speed until the cache is full, what it can keep up after that; full speed again after a rest. */
static void test_a_device_falls_to_its_sustained_rate(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    g.write_bytes_per_s = 500000000;
    g.write_sustained_bytes_per_s = 100000000;
    g.write_burst_bytes = 1000000;
    struct sim_device *device = open_device(&g);
    for (uint64_t i = 1; i <= 20; i++) { /* 100 kB each: 200 us, then 1 ms */
        const uint64_t done_ns = sim_device_write(device, 0, i * mib, 100000);
        const uint64_t turn_ns = i <= 10 ? i * 200000 : 2000000 + (i - 10) * 1000000;
        assert_int_equal(done_ns, i == 1 ? 220000 : turn_ns);
    }
    /* Reads are as fast as beside any writes: their latency, when there is nothing else any more. */
    assert_int_equal(sim_device_read(device, 12000000, 0, 4096) - 12000000, (g.read_ps[3][0] + 999) / 1000);
    /* Ten writes' worth of bytes at 100 MB/s, less what they take to write, and it is at rest; longer is no better. */
    static const uint64_t starts_ns[] = {12000000 + 8000000, 90000000};
    for (int turn = 0; turn < 2; turn++)
        for (uint64_t i = 1; i <= 11; i++) {
            const uint64_t done_ns = sim_device_write(device, starts_ns[turn], i * mib, 100000) - starts_ns[turn];
            assert_int_equal(done_ns, i == 1 ? 220000 : i <= 10 ? i * 200000 : 3000000);
        }
    sim_device_close(device);
    g.write_sustained_bytes_per_s = 1; /* whatever a slowed device comes to */
    g.write_burst_bytes = UINT64_C(1) << 56;
    device = open_device(&g);
    assert_int_equal(sim_device_write(device, 0, 0, 100000), 220000);
    sim_device_close(device);
}

/* Scattered reads go by their own rows, sizes without one by the others; both kinds are in one queue. */
static void test_scattered_reads_have_their_own_grid(void **state)
{
    (void)state;
    struct gnn_profile_storage g;
    fill_nvme(&g);
    g.depth_max = 96; /* between two depths of the grid: one is made of both rows */
    for (uint32_t d = 0; d < g.depth_count; d++)
        g.scattered_ps[11][d] = 3 * g.read_ps[11][d];
    static const uint64_t sizes_bytes[] = {4096, 524288, 786432, 1048576, 2097152};
    for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes; i++) {
        struct sim_device *const plain = open_device(&g), *const scattered = open_device(&g);
        const uint64_t plain_ns = sim_device_read(plain, 0, 0, sizes_bytes[i]);
        const uint64_t scattered_ns = sim_device_read_scattered(scattered, 0, 0, sizes_bytes[i]);
        if (sizes_bytes[i] <= 524288)
            assert_int_equal(scattered_ns, plain_ns);
        else if (sizes_bytes[i] < mib) /* half way between one row of the two and three times the other */
            assert_in_range(scattered_ns, (g.read_ps[10][0] + 3 * g.read_ps[11][0]) / 2000,
                            (g.read_ps[10][0] + 3 * g.read_ps[11][0]) / 2000 + 1);
        else if (sizes_bytes[i] == mib)
            assert_in_range(scattered_ns, 3 * plain_ns - 3, 3 * plain_ns);
        else /* the slope of its own last two rows */
            assert_in_range(scattered_ns, (9 * g.read_ps[11][0] - 2 * g.read_ps[10][0]) / 1000,
                            (9 * g.read_ps[11][0] - 2 * g.read_ps[10][0]) / 1000 + 1);
        sim_device_close(scattered);
        sim_device_close(plain);
    }
    /* At 128 five times: half way between 64 x 3 and 128 x 5 at a depth of 96. */
    g.scattered_ps[11][7] = 5 * g.read_ps[11][7];
    struct sim_device *const device = open_device(&g);
    uint64_t end_ns = 0;
    for (uint64_t i = 0; i < 96; i++)
        end_ns = sim_device_read_scattered(device, 0, i * mib, mib);
    assert_in_range(end_ns, 416 * g.read_ps[11][7] / 1000 - 1000, 416 * g.read_ps[11][7] / 1000 + 1000);
    assert_true(sim_device_read(device, 0, 0, mib) > 10 * g.read_ps[11][0] / 1000); /* behind its fair share of them */
    sim_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixtures_conserve_bandwidth),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_reads_and_writes_take_turns),
        cmocka_unit_test(test_the_mixed_figure_comes_out),
        cmocka_unit_test(test_a_mixture_leaves_nothing_behind),
        cmocka_unit_test(test_a_device_falls_to_its_sustained_rate),
        cmocka_unit_test(test_scattered_reads_have_their_own_grid),
    };
    return cmocka_run_group_tests_name("device_mixed", tests, NULL, NULL);
}
