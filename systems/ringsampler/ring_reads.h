/* Reads of the edge file on a thread's ring, each compared with what was asked. A read that fails or stays short ends
 * the run, with its position in the message: no partial figure is stored. EINTR and EAGAIN are the kernel's "once
 * more" and are repeated. Topology only: buffers are dereferenced in both worlds. */
#ifndef RINGSAMPLER_RING_READS_H
#define RINGSAMPLER_RING_READS_H

#include "harness/world/world.h"

struct rs_reads_config {
    struct gnn_ring_config ring;
    struct gnn_file *file; /* kept open by the caller */
};

struct rs_reads {
    struct gnn_world *world;
    struct gnn_ring *ring;
    struct gnn_file *file;
    uint64_t file_bytes;
    uint32_t depth, in_flight, in_flight_peak, free_count;
    struct gnn_read *table;             /* (depth): what is in flight, the caller's tag in it */
    struct gnn_read *batch;             /* (depth): scratch of a submission */
    uint32_t *free_entries;             /* (depth): stack of table indices */
    struct gnn_completion *completions; /* (depth) */
    uint64_t issued, completed, requested_bytes, submits;
};

uint64_t rs_reads_bytes(uint32_t depth);
GNN_MUST_CHECK enum gnn_status rs_reads_open(struct gnn_world *world, const struct rs_reads_config *config,
                                             struct rs_reads *out, struct gnn_err *err);
void rs_reads_close(struct rs_reads *reads); /* waits for what is in flight; accepts a zeroed one */

/* All of them, in one batch; at most depth in flight (asserted). A window of a direct file may pass the file's end. */
GNN_MUST_CHECK enum gnn_status rs_reads_submit(struct rs_reads *reads, const struct gnn_read *wanted, uint32_t count,
                                               struct gnn_err *err);
/* Tags of completed reads into tags (depth); waits until `min` are there. */
GNN_MUST_CHECK enum gnn_status rs_reads_take(struct rs_reads *reads, uint32_t min, uint64_t *tags, uint32_t *got,
                                             struct gnn_err *err);
/* Waits until nothing is in flight; results are dropped. After an error, before buffers are used again. */
void rs_reads_drain(struct rs_reads *reads);

#endif
