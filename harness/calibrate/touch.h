/* SPDX-License-Identifier: MIT */
/* Touches pages of a file through a mapping with several threads, and measures the CPU time: that of the threads, and
 * that of interrupts elsewhere (busy.h). Neither includes waiting for the device. */
#ifndef GNN_CALIBRATE_TOUCH_H
#define GNN_CALIBRATE_TOUCH_H

#include "harness/world/world.h"

enum { GNN_TOUCH_THREADS_MAX = 8 };

struct gnn_touches {
    double cpu_ns;         /* of the threads */
    double besides_ns;     /* charged to no thread */
    uint64_t minor, major; /* faults */
};

/* Touches the pages of the 4-byte elements index[0..count) through a new mapping of `file`. `threads` (1 to
 * GNN_TOUCH_THREADS_MAX) threads touch one part each. `cores` is the number of cores of the machine. Returns errors of
 * gnn_map_open(), gnn_thread_start() and gnn_map_gather_u32(). */
GNN_MUST_CHECK enum gnn_status gnn_touch_pages(struct gnn_world *world, struct gnn_file *file,
                                               enum gnn_map_advice advice, const uint64_t *index, uint64_t count,
                                               uint32_t threads, uint32_t cores, struct gnn_touches *out,
                                               struct gnn_err *err);

#endif
