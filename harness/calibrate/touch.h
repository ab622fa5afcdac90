/* SPDX-License-Identifier: MIT */
/* Pages of a file touched through a mapping by several threads at a time, and the CPU time of it: their own, and what
 * interrupts took elsewhere (busy.h). Waiting for the device is in neither. */
#ifndef GNN_CALIBRATE_TOUCH_H
#define GNN_CALIBRATE_TOUCH_H

#include "harness/world/world.h"

enum { GNN_TOUCH_THREADS_MAX = 8 };

struct gnn_touches {
    double cpu_ns;         /* of the threads */
    double besides_ns;     /* that no thread was charged for */
    uint64_t minor, major; /* faults */
};

/* Touches the pages of the 4-byte elements index[0..count) through a new mapping of `file`, `threads` (1 to
 * GNN_TOUCH_THREADS_MAX) stretches of them at a time, on a machine of so many cores. Errors as of
 * gnn_map_gather_u32. */
GNN_MUST_CHECK enum gnn_status gnn_touch_pages(struct gnn_world *world, struct gnn_file *file,
                                               enum gnn_map_advice advice, const uint64_t *index, uint64_t count,
                                               uint32_t threads, uint32_t cores, struct gnn_touches *out,
                                               struct gnn_err *err);

#endif
