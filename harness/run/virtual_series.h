/* SPDX-License-Identifier: MIT */
/* The time series of a simulated run, taken on its own clock: what the machine of the profile did, interval by
 * interval, as the supervisor's probes tell it of this machine. How long a run will be is not known when it begins,
 * so readings are taken every 100 us of the clock at first, and every second one is dropped, and half as many
 * taken, whenever there is no more room: between GNN_VIRTUAL_POINTS_MAX / 2 and GNN_VIRTUAL_POINTS_MAX intervals of
 * nearly equal length stay.
 *
 * Taking a reading costs no virtual time and changes nothing that the run does. */
#ifndef GNN_RUN_VIRTUAL_SERIES_H
#define GNN_RUN_VIRTUAL_SERIES_H

#include "harness/base/reading.h"

enum { GNN_VIRTUAL_POINTS_MAX = 256 };

/* Cumulative since the world opened. */
struct gnn_virtual_reading {
    uint64_t now_ns;
    uint64_t cpu_busy_ns;                                       /* over all cores */
    uint64_t io_sleep_ns;                                       /* over all threads */
    uint64_t device_busy_ns, read_bytes, read_ios, write_bytes; /* of storage; busy summed over its devices */
    uint64_t gpu_busy_ns;                                       /* over all GPUs; GNN_UNKNOWN: none is modelled */
    uint64_t major_faults, refaults;
    uint64_t anon_bytes, file_bytes; /* now */
};

struct gnn_virtual_series {
    uint32_t cores, devices, gpus;                                   /* that percentages are of */
    uint64_t every_ns;                                               /* 0 before the first */
    struct gnn_virtual_reading readings[GNN_VIRTUAL_POINTS_MAX + 1]; /* the first is the start: all zeros */
    uint32_t count;                                                  /* of readings after it */
};

/* Takes a reading, which is later than the last, unless it comes too soon after it; returns when the next is due. */
uint64_t gnn_virtual_series_add(struct gnn_virtual_series *series, const struct gnn_virtual_reading *reading);

/* The interval that ends at reading i + 1. What a modelled machine does not tell (pressure, power) is NAN. I/O wait is
 * the time that threads slept for I/O, as far as cores were idle for it. */
void gnn_virtual_series_point(const struct gnn_virtual_series *series, uint32_t i, struct gnn_series_point *out);

#endif
