/* SPDX-License-Identifier: MIT */
/* Host time of one request to the simulated storage device, in closed loops of one size and of several; and of one read
 * through a ring of the simulated world, from submission to completion, device included.
 *
 *   bench_device
 *
 * Exit status 1 when a request costs 100 ns or more. */
#include "harness/base/rng.h"
#include "harness/world/simulated/device.h"
#include "harness/world/simulated/simulated.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { REQUESTS = 4 * 1000 * 1000, DEPTH_MAX = 1024 };
static const double target_ns = 100;

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 90 us, 600 000 reads/s, 3.2 GB/s. */
static void fill(struct gnn_profile_storage *g, uint32_t devices)
{
    *g = (struct gnn_profile_storage){.devices = devices,
                                      .stripe_bytes = 128 * 1024,
                                      .sector_bytes = 512,
                                      .depth_max = 1024,
                                      .size_count = 12,
                                      .depth_count = 8,
                                      .write_latency_ns = 20000,
                                      .write_bytes_per_s = UINT64_C(1600000000),
                                      .write_iops = 150000};
    for (uint32_t s = 0; s < g->size_count; s++) {
        g->size_bytes[s] = UINT64_C(512) << s;
        for (uint32_t d = 0; d < g->depth_count; d++) {
            g->depth[d] = 1U << d;
            const uint64_t transfer_ps = g->size_bytes[s] * 10000 / 32;
            uint64_t ps = (90000000 + transfer_ps) / g->depth[d];
            ps = ps < 1666667 ? 1666667 : ps;
            g->read_ps[s][d] = ps < transfer_ps ? transfer_ps : ps;
        }
    }
}

/* Host nanoseconds a request. The oldest request is taken for the first to end: nearly right, and cheap. */
static double run(uint32_t devices, uint32_t depth, const uint64_t *sizes, uint32_t size_count, double *virtual_s)
{
    struct gnn_profile_storage storage;
    fill(&storage, devices);
    struct sim_device *device;
    if (sim_device_open(&storage, &device, NULL) != GNN_OK)
        return -1;
    static uint64_t done_ns[DEPTH_MAX];
    for (uint32_t i = 0; i < depth; i++)
        done_ns[i] = sim_device_read(device, 0, (uint64_t)i * 4096, sizes[i % size_count]);
    uint64_t now_ns = 0;
    const double start_s = now_s();
    for (uint64_t i = 0; i < REQUESTS; i++) {
        const uint32_t slot = (uint32_t)(i % depth);
        now_ns = done_ns[slot] > now_ns ? done_ns[slot] : now_ns;
        done_ns[slot] = sim_device_read(device, now_ns, (gnn_mix64(i) & 0xffffff) * 4096, sizes[i % size_count]);
    }
    const double spent_s = now_s() - start_s;
    *virtual_s = (double)now_ns * 1e-9;
    sim_device_close(device);
    return spent_s * 1e9 / REQUESTS;
}

/* Reads of feature rows, the ring kept full, an eighth of it taken at a time (as the batched reader does it). */
static enum gnn_status read_rows(struct gnn_world *world, struct gnn_ring *ring, struct gnn_file *file, void *slots,
                                 uint32_t depth)
{
    static struct gnn_read reads[DEPTH_MAX];
    static struct gnn_completion done[DEPTH_MAX];
    uint64_t submitted = 0, completed = 0;
    while (completed < REQUESTS) {
        const uint64_t room = depth - (submitted - completed), left = REQUESTS - submitted;
        const uint32_t batch = (uint32_t)(room < left ? room : left);
        for (uint32_t i = 0; i < batch; i++)
            reads[i] = (struct gnn_read){.file = file,
                                         .offset_bytes = (gnn_mix64(submitted + i) & 0xffffff) * 512,
                                         .dst = (char *)slots + (uint64_t)i * 512,
                                         .len_bytes = 512,
                                         .tag = i};
        uint32_t accepted, got;
        GNN_TRY(gnn_ring_submit(world, ring, reads, batch, &accepted, NULL));
        submitted += accepted;
        const uint64_t in_flight = submitted - completed;
        const uint32_t min = depth / 8 + 1;
        GNN_TRY(gnn_ring_wait(world, ring, in_flight < min ? (uint32_t)in_flight : min, depth, done, &got, NULL));
        completed += got;
    }
    return GNN_OK;
}

/* Host nanoseconds a read, or -1. */
static double run_ring(uint32_t depth, double *virtual_s)
{
    struct gnn_profile profile = {
        .name = "bench",
        .memory_bytes = UINT64_C(64) << 20,
        .cpu = {.cores = 4, .syscall_ns = 300, .submit_ns = 300, .complete_ns = 200, .wake_latency_ns = 3000}};
    fill(&profile.storage, 1);
    static const struct gnn_content features = {.size_bytes = UINT64_C(1) << 40};
    const struct gnn_simulated_config config = {.profile = &profile};
    struct gnn_world *world;
    if (gnn_world_simulated_open(&config, &world, NULL) != GNN_OK)
        return -1;
    struct gnn_file *file = NULL;
    struct gnn_ring *ring = NULL;
    void *slots = NULL;
    const struct gnn_ring_config ring_config = {.depth = depth};
    double ns = -1;
    if (gnn_world_simulated_add_file(world, "features", &features, NULL) == GNN_OK &&
        gnn_file_open(world, "features", GNN_OPEN_DIRECT, &file, NULL) == GNN_OK &&
        gnn_mem_alloc(world, "slots", DEPTH_MAX * 512, GNN_MEM_FEATURES, &slots, NULL) == GNN_OK &&
        gnn_ring_open(world, &ring_config, &ring, NULL) == GNN_OK) {
        const double start_s = now_s();
        if (read_rows(world, ring, file, slots, depth) == GNN_OK)
            ns = (now_s() - start_s) * 1e9 / REQUESTS;
        *virtual_s = (double)gnn_now_ns(world) * 1e-9;
    }
    gnn_ring_close(world, ring);
    gnn_mem_free(world, slots);
    gnn_file_close(world, file);
    gnn_world_simulated_close(world);
    return ns;
}

static void report(const char *what, const char *name, double ns, double virtual_s)
{
    (void)printf("%-7s %-32s %6.1f ns a request (%.2f M requests/s of virtual time)\n", what, name, ns,
                 REQUESTS / virtual_s * 1e-6);
}

int main(void)
{
    static const uint64_t one[] = {512}, mixed[] = {512, 4096, 1024, 65536, 2048};
    static const struct {
        const char *name;
        uint32_t devices, depth;
        const uint64_t *sizes;
        uint32_t size_count;
    } cases[] = {
        {"512 B, depth 32", 1, 32, one, 1},
        {"512 B, depth 1000", 1, 1000, one, 1},
        {"five sizes, depth 32", 1, 32, mixed, 5},
        {"five sizes, depth 256", 1, 256, mixed, 5},
        {"512 B, RAID-0 of 4, depth 128", 4, 128, one, 1},
    };
    bool fast = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double virtual_s = 0;
        const double ns = run(cases[i].devices, cases[i].depth, cases[i].sizes, cases[i].size_count, &virtual_s);
        report("device", cases[i].name, ns, virtual_s);
        fast = fast && ns >= 0 && ns < target_ns;
    }
    static const uint32_t depths[] = {32, 1024};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        double virtual_s = 0;
        const double ns = run_ring(depths[i], &virtual_s);
        report("ring", depths[i] == 32 ? "512 B, depth 32" : "512 B, depth 1024", ns, virtual_s);
        fast = fast && ns >= 0 && ns < target_ns;
    }
    return fast ? 0 : 1;
}
