/* SPDX-License-Identifier: MIT */
/* Devices of round figures for the tests of the device model, and closed loops on them. Header only. */
#ifndef GNN_TESTS_DEVICE_LOOPS_H
#define GNN_TESTS_DEVICE_LOOPS_H

#include "harness/base/rng.h"
#include "harness/world/simulated/device.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint64_t mib = 1024 * 1024;

/* As profile.h fills a grid: max(latency / depth, 1 / IOPS, size / bandwidth). */
static inline void fill_grid(struct gnn_profile_storage *g, uint64_t latency_ns, uint64_t iops, uint64_t bytes_per_s)
{
    *g = (struct gnn_profile_storage){.devices = 1,
                                      .stripe_bytes = 128 * 1024,
                                      .sector_bytes = 512,
                                      .depth_max = 1024,
                                      .size_count = 12,
                                      .depth_count = 8,
                                      .write_latency_ns = 20000,
                                      .write_bytes_per_s = bytes_per_s / 2,
                                      .write_iops = iops / 4,
                                      .readahead_bytes = 128 * 1024};
    for (uint32_t s = 0; s < g->size_count; s++)
        g->size_bytes[s] = UINT64_C(512) << s;
    for (uint32_t d = 0; d < g->depth_count; d++)
        g->depth[d] = 1U << d;
    for (uint32_t s = 0; s < g->size_count; s++) {
        const uint64_t transfer_ps = g->size_bytes[s] * 1000000 / (bytes_per_s / 1000000);
        for (uint32_t d = 0; d < g->depth_count; d++) {
            uint64_t ps = (latency_ns * 1000 + transfer_ps) / g->depth[d];
            ps = ps < 1000000000000 / iops ? 1000000000000 / iops : ps;
            g->read_ps[s][d] = ps < transfer_ps ? transfer_ps : ps;
        }
    }
}

static inline void fill_nvme(struct gnn_profile_storage *g)
{
    fill_grid(g, 85000, 550000, UINT64_C(3200000000));
}

static inline struct sim_device *open_device(const struct gnn_profile_storage *g)
{
    struct sim_device *device;
    struct gnn_err err = {0};
    must(sim_device_open(g, &device, &err), &err);
    return device;
}

struct loop {
    uint64_t span_ns;    /* from the end of the warm-up */
    uint64_t latency_ns; /* mean */
};

enum { LOOP_DEPTH_MAX = 2048 };

/* Keeps `depth` reads of size_bytes in flight and times `count` of them after as many to warm up. count is a multiple
 * of depth: reads that end together are counted whole. */
static inline struct loop closed_loop(struct sim_device *device, uint64_t size_bytes, uint32_t depth, uint64_t count)
{
    static uint64_t done_ns[LOOP_DEPTH_MAX];
    assert_true(depth <= LOOP_DEPTH_MAX);
    struct gnn_rng rng = gnn_rng_at(size_bytes + depth);
    uint64_t now_ns = 0, start_ns = 0, latency_ns = 0;
    for (uint32_t i = 0; i < depth; i++)
        done_ns[i] = sim_device_read(device, 0, gnn_rng_below(&rng, 1 << 20) * size_bytes, size_bytes);
    for (uint64_t i = 0; i <= 2 * count; i++) {
        uint32_t first = 0;
        for (uint32_t k = 1; k < depth; k++)
            first = done_ns[k] < done_ns[first] ? k : first;
        now_ns = done_ns[first];
        if (i == count)
            start_ns = now_ns;
        done_ns[first] = sim_device_read(device, now_ns, gnn_rng_below(&rng, 1 << 20) * size_bytes, size_bytes);
        if (i > count)
            latency_ns += done_ns[first] - now_ns;
    }
    return (struct loop){.span_ns = now_ns - start_ns, .latency_ns = latency_ns / count};
}

static inline void check_close(double got, double expected, double tolerance, const char *what, uint64_t size_bytes,
                               uint32_t depth)
{
    if (fabs(got / expected - 1) > tolerance)
        fail_msg("%s of %u bytes at depth %u: %.1f, expected %.1f", what, (unsigned)size_bytes, depth, got, expected);
}

static inline void check_grid(const struct gnn_profile_storage *g)
{
    for (uint32_t s = 0; s < g->size_count; s++) {
        for (uint32_t d = 0; d < g->depth_count; d++) {
            struct sim_device *device = open_device(g);
            const uint64_t count = 40 * (uint64_t)g->depth[d];
            const struct loop loop = closed_loop(device, g->size_bytes[s], g->depth[d], count);
            const double ns = (double)g->read_ps[s][d] / 1000;
            check_close((double)loop.span_ns / (double)count, ns, 0.01, "time between reads", g->size_bytes[s],
                        g->depth[d]);
            check_close((double)loop.latency_ns, ns * g->depth[d], 0.01, "latency", g->size_bytes[s], g->depth[d]);
            sim_device_close(device);
        }
    }
}

#endif
