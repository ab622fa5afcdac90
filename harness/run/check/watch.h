/* SPDX-License-Identifier: MIT */
/* A world around another one that counts what a system opens and gives back. It injects nothing and changes no time. */
#ifndef GNN_RUN_CHECK_WATCH_H
#define GNN_RUN_CHECK_WATCH_H

#include "harness/world/world.h"

#include <stdatomic.h>

/* Kinds of what a system opens. */
enum gnn_watched { GNN_WATCH_MEMORY, GNN_WATCH_FILES, GNN_WATCH_MAPS, GNN_WATCH_RINGS, GNN_WATCH_THREADS, GNN_WATCHED };

extern const char *const gnn_watched_words[GNN_WATCHED]; /* "blocks of memory" */

struct gnn_watch {
    struct gnn_world base; /* what the system gets */
    struct gnn_world_ops ops;
    struct gnn_world *inner;
    atomic_int_fast64_t open[GNN_WATCHED]; /* opened and not closed */
    atomic_uint_fast64_t written_bytes;    /* by explicit writes to files with a name */
};

/* Begins to watch. The inner world must outlive the watch. It holds no memory. */
void gnn_watch_init(struct gnn_watch *watch, struct gnn_world *inner);

#endif
