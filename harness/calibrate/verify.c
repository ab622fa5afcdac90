/* SPDX-License-Identifier: MIT */
/* The simulated device against the grid it was given. */
#include "harness/base/rng.h"
#include "harness/calibrate/calibrate.h"
#include "harness/world/simulated/device.h"
#include "harness/world/simulated/time_queue.h"

#include <assert.h>
#include <math.h>

enum { READS_MIN = 2000, ROUNDS = 40 };

typedef uint64_t read_fn(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes);

/* Keeps `depth` reads in flight; the rate of completions of the second half. */
static enum gnn_status closed_loop(const struct gnn_profile_storage *storage, read_fn *read, uint64_t size_bytes,
                                   uint32_t depth, double *iops, struct gnn_err *err)
{
    struct sim_device *device = NULL;
    struct sim_time_queue in_flight;
    if (!sim_time_queue_open(&in_flight, depth))
        return gnn_fail(err, GNN_ENOMEM, "calibrate: %u reads in flight", depth);
    const enum gnn_status status = sim_device_open(storage, &device, err);
    const uint32_t rounds = depth * ROUNDS, reads = gnn_max_u32(rounds, READS_MIN);
    uint64_t now_ns = 0, half_ns = 0;
    for (uint32_t i = 0; status == GNN_OK && i < reads; i++) {
        if (in_flight.count == depth) {
            now_ns = sim_time_queue_first(&in_flight)->time_ns;
            sim_time_queue_drop(&in_flight);
        }
        if (i == reads / 2)
            half_ns = now_ns;
        const uint64_t offset = gnn_splitmix64_at(size_bytes, i) % (UINT64_C(1) << 20) * size_bytes;
        sim_time_queue_add(&in_flight, read(device, now_ns, offset, size_bytes), i);
    }
    sim_device_close(device);
    sim_time_queue_close(&in_flight);
    GNN_TRY(status);
    if (now_ns <= half_ns)
        return gnn_fail(err, GNN_EBUG, "the simulated device answers without time passing");
    const uint32_t half = reads / 2;
    assert(half < reads);
    *iops = (double)(reads - 1 - half) / (double)(now_ns - half_ns) * 1e9;
    return GNN_OK;
}

/* Compares a row of the grid with what the device makes of it. */
static enum gnn_status check_row(const struct gnn_profile_storage *one, read_fn *read, uint32_t s, const uint64_t *ps,
                                 struct gnn_grid_check *out, struct gnn_err *err)
{
    for (uint32_t d = 0; d < one->depth_count; d++) {
        struct gnn_grid_point *const point = &out->points[out->count++];
        assert(ps[d] > 0);
        *point = (struct gnn_grid_point){.size_bytes = one->size_bytes[s],
                                         .depth = one->depth[d],
                                         .scattered = read == sim_device_read_scattered,
                                         .profile_iops = 1e12 / (double)ps[d]};
        GNN_TRY(closed_loop(one, read, point->size_bytes, point->depth, &point->simulated_iops, err));
        out->worst = fmax(out->worst, fabs(point->simulated_iops / point->profile_iops - 1));
    }
    return GNN_OK;
}

enum gnn_status gnn_grid_check(const struct gnn_profile_storage *storage, struct gnn_grid_check *out,
                               struct gnn_err *err)
{
    struct gnn_profile_storage one = *storage; /* the grid is that of one device */
    one.devices = 1;
    *out = (struct gnn_grid_check){.count = 0};
    for (uint32_t s = 0; s < storage->size_count; s++) {
        GNN_TRY(check_row(&one, sim_device_read, s, storage->read_ps[s], out, err));
        if (storage->scattered_ps[s][0] > 0)
            GNN_TRY(check_row(&one, sim_device_read_scattered, s, storage->scattered_ps[s], out, err));
    }
    return GNN_OK;
}
