/* The two engines of a ring, as tables: ring.c has io_uring's, ring_pool.c the thread pool's. */
#ifndef GNN_SIM_RING_H
#define GNN_SIM_RING_H

#include "harness/world/simulated/internal.h"

struct sim_ring_ops {
    enum gnn_status (*submit)(struct simulated *s, struct gnn_ring *ring, const struct gnn_read *reads, uint32_t count,
                              uint32_t *accepted, struct gnn_err *err);
    enum gnn_status (*wait)(struct simulated *s, struct gnn_ring *ring, uint32_t min, uint32_t max,
                            struct gnn_completion *out, uint32_t *got, struct gnn_err *err);
    void (*close)(struct simulated *s, struct gnn_ring *ring);
};

struct gnn_ring {
    const struct sim_ring_ops *ops;
};

/* Looking at a completion queue and finding what is there, or nothing: a cache line another core wrote. */
static const uint64_t sim_look_ps = 20000;

enum gnn_status sim_ring_pool_open(struct simulated *s, const struct gnn_ring_config *config, struct gnn_ring **out,
                                   struct gnn_err *err);

#endif
