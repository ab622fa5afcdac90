/* SPDX-License-Identifier: MIT */
/* A world that writes a trace of its reads and writes: a decorator around any world, the outermost of several. It
 * changes nothing else: the same calls reach the inner world, and virtual times stay the same.
 *
 * Traced are the reads and writes of rings and files as they are requested, even if they then fail or move fewer bytes.
 * Page faults of mappings
 * are not visible here. A world that models them passes them to gnn_io_trace_add itself.
 *
 * Handles of files, threads, locks, memory and mappings are the inner world's. Rings opened here are used here. */
#ifndef GNN_WORLD_TRACED_H
#define GNN_WORLD_TRACED_H

#include "harness/world/io_trace.h"
#include "harness/world/world.h"

/* Opens a traced world around `inner`, or returns GNN_ENOMEM. Both the inner world and the trace outlive this one and
 * are not closed with it. No file may be open yet. */
GNN_MUST_CHECK enum gnn_status gnn_world_traced_open(struct gnn_world *inner, struct gnn_io_trace *trace,
                                                     struct gnn_world **out, struct gnn_err *err);
void gnn_world_traced_close(struct gnn_world *world); /* accepts NULL */

#endif
