/* SPDX-License-Identifier: MIT */
/* The common part of the two worlds' rings: the table of an engine, the checks of a configuration, and the thread-pool
 * engine. That engine uses only world.h and so runs in either world. Each world has its own io_uring: measured/uring.c,
 * simulated/ring.c. Internal to harness/world. */
#ifndef GNN_WORLD_RING_ENGINES_H
#define GNN_WORLD_RING_ENGINES_H

#include "harness/world/world.h"

#include <stdatomic.h>

enum { GNN_RING_DEPTH_MAX = 8192, GNN_RING_POOL_THREADS_MAX = 64 };

/* The operations of an engine; every ring has one. Engines embed struct gnn_ring first. Contracts as in world.h. */
struct gnn_ring_ops {
    enum gnn_status (*submit)(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads, uint32_t count,
                              uint32_t *accepted, struct gnn_err *err);
    enum gnn_status (*submit_writes)(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_write *writes,
                                     uint32_t count, uint32_t *accepted, struct gnn_err *err);
    enum gnn_status (*wait)(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                            struct gnn_completion *out, uint32_t *got, struct gnn_err *err);
    void (*close)(struct gnn_world *w, struct gnn_ring *ring);
};

struct gnn_ring {
    const struct gnn_ring_ops *ops;
};

/* The functions that a world adds to the common part. */
struct gnn_ring_engines {
    /* Opens the world's io_uring. The depth was checked. */
    enum gnn_status (*uring_open)(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                  struct gnn_err *err);
    /* Waits on the core until *completed - taken >= min, and counts that time as GNN_WAIT_IO. */
    void (*spin)(struct gnn_world *w, const atomic_uint_fast64_t *completed, uint64_t taken, uint32_t min);
    /* Takes the lock that the owner shares with the pool's threads, as the owner. */
    void (*lock)(struct gnn_world *w, struct gnn_mutex *mutex);
    /* Lets the time of a wait without sleep pass; NULL: it has passed already. */
    void (*look)(struct gnn_world *w);
};

/* Opens the engine that config names, or returns GNN_EUSAGE if the depth is 0 or above GNN_RING_DEPTH_MAX, or if the
 * thread pool is given options of io_uring. One engine never replaces the other. `engines` outlives the ring. */
GNN_MUST_CHECK enum gnn_status gnn_ring_engine_open(struct gnn_world *w, const struct gnn_ring_engines *engines,
                                                    const struct gnn_ring_config *config, struct gnn_ring **out,
                                                    struct gnn_err *err);

/* Hooks of the world's table: they call the engine. */
enum gnn_status gnn_ring_engine_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                       uint32_t count, uint32_t *accepted, struct gnn_err *err);
enum gnn_status gnn_ring_engine_submit_writes(struct gnn_world *w, struct gnn_ring *ring,
                                              const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                              struct gnn_err *err);
enum gnn_status gnn_ring_engine_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                     struct gnn_completion *out, uint32_t *got, struct gnn_err *err);
void gnn_ring_engine_close(struct gnn_world *w, struct gnn_ring *ring); /* accepts NULL */

#endif
