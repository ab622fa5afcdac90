/* The gather: A threads copy the rows of one batch out of the mapped feature file, each an equal contiguous
 * part of the node list. Page faults happen inside the copy; the number of threads is the number of faults in
 * flight.
 *
 * Source   PyG+ as shipped with Ginex: its multi-threaded gather (pygplus.md section 3, consumer loop and
 * gather k) Life     open -> per epoch: begin, workers run gather_pool_work, one thread posts and waits in
 * turn, finish -> close Order    exactly one gather may be in flight: post after the previous wait (asserted)
 */
#ifndef PYGPLUS_GATHER_POOL_H
#define PYGPLUS_GATHER_POOL_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

struct gather_pool;

struct gather_job {
    const gnn_node *nodes; /* (count) */
    uint32_t count;
    void *dst; /* (count, row_bytes) dense */
};

/* map and row_bytes serve every job; the map stays the caller's. */
GNN_MUST_CHECK enum gnn_status gather_pool_open(struct gnn_world *world, struct gnn_map *map,
                                                uint32_t row_bytes, uint32_t workers,
                                                struct gather_pool **out, struct gnn_err *err);
void gather_pool_close(struct gather_pool *pool); /* accepts NULL */
void gather_pool_begin(struct gather_pool *pool);

/* The consumer's side, one thread. */
void gather_pool_post(struct gather_pool *pool, const struct gather_job *job);
/* Sleeps (GNN_WAIT_QUEUE) until the posted job is done; at once when there is none. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gather_pool_wait(struct gather_pool *pool);
void gather_pool_finish(struct gather_pool *pool); /* no more jobs: workers return after the last */

/* Worker `index`: copies its part of every job until finish; *jobs counts them. GNN_ECANCELLED, GNN_EIO,
 * GNN_EFORMAT. */
GNN_MUST_CHECK enum gnn_status gather_pool_work(struct gather_pool *pool, uint32_t index, uint64_t *jobs,
                                                struct gnn_err *err);
void gather_pool_cancel(struct gather_pool *pool);

#endif
