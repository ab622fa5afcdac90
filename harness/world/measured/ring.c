/* A ring is one of two engines, named by the caller; neither stands in for the other. */
#include "harness/world/measured/internal.h"

#include <assert.h>

enum { RING_DEPTH_MAX = 8192 };

enum gnn_status measured_ring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                   struct gnn_err *err)
{
    *out = NULL;
    if (config->depth == 0 || config->depth > RING_DEPTH_MAX)
        return gnn_fail(err, GNN_EUSAGE, "a ring of depth %u: 1 to %d are possible", config->depth, RING_DEPTH_MAX);
    switch (config->engine) {
    case GNN_RING_URING:
        return measured_uring_open(measured_of(w), config, out, err);
    case GNN_RING_POOL:
        return measured_pool_open(measured_of(w), config, out, err);
    }
    return gnn_fail(err, GNN_EBUG, "ring engine %d does not exist", (int)config->engine);
}

enum gnn_status measured_ring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                     uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    return ring->ops->submit(measured_of(w), ring, reads, count, accepted, err);
}

enum gnn_status measured_ring_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                   struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    assert(min <= max);
    return ring->ops->wait(measured_of(w), ring, min, max, out, got, err);
}

void measured_ring_close(struct gnn_world *w, struct gnn_ring *ring)
{
    if (ring != NULL)
        ring->ops->close(measured_of(w), ring);
}
