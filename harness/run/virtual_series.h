/* SPDX-License-Identifier: MIT */
/* The time series of a simulated run, on its own clock. Per interval it has what the profile's machine did, in the form
 * of the supervisor's probes.
 *
 * The length of a run is not known at its start. So a reading is taken every 100 us of the clock at first. Whenever the
 * table is full, every second reading is dropped and the interval doubles. Thus between GNN_VIRTUAL_POINTS_MAX / 2 and
 * GNN_VIRTUAL_POINTS_MAX intervals of nearly equal length remain.
 *
 * Taking a reading costs no virtual time and does not affect the run. */
#ifndef GNN_RUN_VIRTUAL_SERIES_H
#define GNN_RUN_VIRTUAL_SERIES_H

#include "harness/base/reading.h"

enum { GNN_VIRTUAL_POINTS_MAX = 256 };

/* One reading; counts are cumulative since the world opened. */
struct gnn_virtual_reading {
    uint64_t now_ns;
    uint64_t cpu_busy_ns;                                       /* sum over all cores */
    uint64_t io_sleep_ns;                                       /* sum over all threads */
    uint64_t device_busy_ns, read_bytes, read_ios, write_bytes; /* storage; busy summed over its devices */
    uint64_t gpu_busy_ns;                                       /* sum over all GPUs; GNN_UNKNOWN: none is modelled */
    uint64_t major_faults, refaults;
    uint64_t anon_bytes, file_bytes; /* at this time */
};

struct gnn_virtual_series {
    uint32_t cores, devices, gpus;                                   /* that percentages refer to */
    uint64_t every_ns;                                               /* interval; 0 before the first reading */
    struct gnn_virtual_reading readings[GNN_VIRTUAL_POINTS_MAX + 1]; /* [0] is the start: all zeros */
    uint32_t count;                                                  /* readings after the start */
};

/* Adds a reading, which is later than the last one, unless it comes too soon after it. Returns the time when the next
 * one is due. */
uint64_t gnn_virtual_series_add(struct gnn_virtual_series *series, const struct gnn_virtual_reading *reading);

/* Computes the interval that ends at reading i + 1. Values that a modelled machine lacks (pressure, power) are NAN. I/O
 * wait is the time that threads slept for I/O, limited to the cores' idle time. */
void gnn_virtual_series_point(const struct gnn_virtual_series *series, uint32_t i, struct gnn_series_point *out);

#endif
