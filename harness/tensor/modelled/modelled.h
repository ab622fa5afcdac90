/* SPDX-License-Identifier: MIT */
/* tensor_ops without arithmetic: every op takes the time a profile's CPU or GPU would need and gives no values. The
 * table is gnn_tensor_modelled in tensor.h; here is what happened on it.
 *
 * CPU (env.gpu false)  an op is max(FLOPs, bytes) on `threads` cores plus its launches, spent through env.compute_ns on
 *                      the calling thread's core (that the other threads hold cores too is not modelled). Memory is
 *                      env.alloc's.
 * GPU (env.gpu true)   one stream in order: an op starts when it has been launched and the one before it has ended; the
 *                      launch is CPU time of the caller. synchronize, download and softmax_nll wait for the stream.
 *                      upload is a pageable copy: it waits for the stream and then for itself. upload_async rides the
 *                      bus at the pinned rate beside the stream; lanes are in order, and all copies share the bus. A
 *                      block's arrays are uploaded when an op first needs them in a step (synchronize ends it),
 *                      pageable like upload, unless the batch in use was staged: then one pinned copy in a lane brought
 *                      them, and the stream waits for that alone. Rows that a gather reads out of pinned memory cross
 *                      the bus while the stream waits. A step's loss comes back with the next synchronize. Memory is
 *                      address space without pages, accounted against the profile: GNN_EGPU.
 *
 * A profile with a framework's costs (struct gnn_profile_framework): a training step takes at least what its edges take
 * there on a GPU; on the CPU products go no faster than they do there.
 *
 * Values: nothing is read or written. softmax_nll gives loss = NAN and correct = 0, download gives zeros. Times are
 * integers of the profile's figures, the same on every machine. Any thread may call anything (extractors upload while
 * the trainer computes); one thread at a time uses a lane, one computes. */
#ifndef GNN_TENSOR_MODELLED_H
#define GNN_TENSOR_MODELLED_H

#include "harness/tensor/tensor.h"

/* Since open. On the CPU the bus is unused and memory is 0. */
struct gnn_modelled_counts {
    uint64_t ops, launches;
    uint64_t busy_ns;        /* of the GPU's stream, or of the core that computed */
    uint64_t stream_free_ns; /* when the GPU will have done all that it was given */
    uint64_t bus_busy_ns;    /* copies in either direction */
    uint64_t uploaded_bytes, downloaded_bytes;
    uint64_t memory_bytes, memory_peak_bytes; /* of the GPU */
    uint64_t pinned_bytes;                    /* of the host, registered now */
};

/* The time of one all-reduce of `bytes` over `ranks` of which t is one, from when all have a complete gradient (this
 * call): waits for it as an op would. GPU: a ring over the profile's links, 2 (W - 1) rounds of a W-th of the bytes
 * each (Patarasuk and Yuan 2009, section 3; what NCCL does between GPUs of one machine), nothing of it beside the
 * backward pass. CPU: as ranks/average.c does it in shared memory. */
void gnn_modelled_all_reduce(struct gnn_tensor *t, uint32_t ranks, uint64_t bytes);

/* t was opened by gnn_tensor_modelled. */
void gnn_modelled_counts(struct gnn_tensor *t, struct gnn_modelled_counts *out);

#endif
