/* SPDX-License-Identifier: MIT */
#include "harness/run/virtual_series.h"

#include <assert.h>
#include <math.h>

static const uint64_t first_every_ns = 100000;
static const double ns_per_s = 1e9;

/* Keeps every second reading: those at even places, of which the start is one. */
static void thin_out(struct gnn_virtual_series *series)
{
    series->count /= 2;
    for (size_t i = 1; i <= series->count; i++)
        series->readings[i] = series->readings[2 * i];
    series->every_ns *= 2;
}

uint64_t gnn_virtual_series_add(struct gnn_virtual_series *series, const struct gnn_virtual_reading *reading)
{
    assert(reading->now_ns >= series->readings[series->count].now_ns);
    if (series->every_ns == 0)
        series->every_ns = first_every_ns;
    if (series->count == GNN_VIRTUAL_POINTS_MAX)
        thin_out(series);
    if (reading->now_ns > 0 && reading->now_ns - series->readings[series->count].now_ns >= series->every_ns)
        series->readings[++series->count] = *reading;
    return (reading->now_ns / series->every_ns + 1) * series->every_ns;
}

static uint64_t rise(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static double share_pct(uint64_t part_ns, uint64_t whole_ns)
{
    return whole_ns == 0 ? (double)NAN : fmin(100.0 * (double)part_ns / (double)whole_ns, 100.0);
}

static double per_second(uint64_t before, uint64_t now, uint64_t interval_ns)
{
    return (double)rise(before, now) / (double)interval_ns * ns_per_s;
}

void gnn_virtual_series_point(const struct gnn_virtual_series *series, uint32_t i, struct gnn_series_point *out)
{
    assert(i < series->count);
    const struct gnn_virtual_reading *const b = &series->readings[i], *const n = &series->readings[i + 1];
    const uint64_t interval_ns = n->now_ns - b->now_ns, cpu_ns = series->cores * interval_ns;
    const uint64_t busy_ns = rise(b->cpu_busy_ns, n->cpu_busy_ns);
    const uint64_t wait_ns = gnn_min_u64(rise(b->io_sleep_ns, n->io_sleep_ns), rise(busy_ns, cpu_ns));
    const double none = (double)NAN;
    *out = (struct gnn_series_point){
        .time_ns = n->now_ns,
        .interval_ns = interval_ns,
        .cpu_pct = share_pct(busy_ns, cpu_ns),
        .iowait_pct = share_pct(wait_ns, cpu_ns),
        .worker_cpu_pct = 100.0 * (double)busy_ns / (double)interval_ns,
        .psi_cpu_some_pct = none,
        .psi_memory_some_pct = none,
        .psi_memory_full_pct = none,
        .psi_io_some_pct = none,
        .psi_io_full_pct = none,
        .disk_read_bytes_per_s = per_second(b->read_bytes, n->read_bytes, interval_ns),
        .disk_read_ios_per_s = per_second(b->read_ios, n->read_ios, interval_ns),
        .disk_write_bytes_per_s = per_second(b->write_bytes, n->write_bytes, interval_ns),
        .disk_busy_pct = share_pct(rise(b->device_busy_ns, n->device_busy_ns), series->devices * interval_ns),
        .memory_bytes = n->anon_bytes + n->file_bytes,
        .anon_bytes = n->anon_bytes,
        .file_bytes = n->file_bytes,
        .refaults = rise(b->refaults, n->refaults),
        .worker_major_faults = rise(b->major_faults, n->major_faults),
        .gpu_busy_pct = n->gpu_busy_ns == GNN_UNKNOWN || series->gpus == 0
                            ? none
                            : share_pct(rise(b->gpu_busy_ns, n->gpu_busy_ns), series->gpus * interval_ns),
        .gpu_memory_bytes = GNN_UNKNOWN,
        .gpu_power_w = none,
        .gpu_rx_bytes_per_s = none,
        .gpu_tx_bytes_per_s = none,
    };
    out->group_read_bytes_per_s = out->disk_read_bytes_per_s;
    out->group_read_ios_per_s = out->disk_read_ios_per_s;
}
