/* SPDX-License-Identifier: MIT */
/* tensor_ops without arithmetic: every op takes the time that a profile's CPU or GPU would need and computes no values.
 * The table is gnn_tensor_modelled in tensor.h. This header gives its counters.
 *
 * CPU (env.gpu false)  An op takes max(FLOPs, bytes) on `threads` cores plus its launches. The time is spent through
 *                      env.compute_ns on the calling thread's core. The other threads' cores are not occupied. Memory
 *                      comes from env.alloc.
 * GPU (env.gpu true)   One stream in order: an op starts when it has been launched and the previous op has ended. The
 *                      launch is CPU time of the caller. The ops synchronize and download wait for the stream. Outside
 *                      of a step softmax_nll waits, too. An upload is a pageable copy: it waits for the stream and then
 *                      for itself. The op upload_async uses the bus at the pinned rate, concurrently with the stream.
 *                      Lanes are in order, and all copies share the bus. Memory is address space without pages,
 *                      accounted against the profile: GNN_EGPU.
 * Lists (GPU)          A staged batch is brought by one pinned copy in a lane, and the stream waits only for that copy.
 *                      Other blocks are uploaded when an op first needs them in a step, pageable like upload. A step
 *                      ends with synchronize, which also copies its loss to the host. Rows that a gather reads from
 *                      pinned memory cross the bus while the stream waits.
 *
 * A profile may have a framework's costs (struct gnn_profile_framework). On a GPU a training step then takes at least
 * the time that the framework needs for its edges. On a CPU products are at most as fast as the framework's.
 *
 * Values are neither read nor written. The loss of softmax_nll is NAN and correct is 0; download gives zeros. Times are
 * integers computed from the profile, the same on every machine. Any thread may call anything (extractors upload while
 * the trainer computes). One thread at a time uses a lane, and one computes. */
#ifndef GNN_TENSOR_MODELLED_H
#define GNN_TENSOR_MODELLED_H

#include "harness/tensor/tensor.h"

/* Counters since open. On the CPU the bus is unused and memory is 0. */
struct gnn_modelled_counts {
    uint64_t ops, launches;
    uint64_t busy_ns;        /* busy time of the GPU's stream, or of the core that computed */
    uint64_t stream_free_ns; /* when the GPU will have finished all its work */
    uint64_t bus_busy_ns;    /* copies in either direction */
    uint64_t uploaded_bytes, downloaded_bytes;
    uint64_t memory_bytes, memory_peak_bytes; /* of the GPU */
    uint64_t pinned_bytes;                    /* host memory that is registered now */
};

/* Waits for one all-reduce of `bytes` over `ranks`, of which t is one. It starts now, when all ranks have a complete
 * gradient. On a GPU it is a ring over the profile's links: 2 (W - 1) rounds of a W-th of the bytes each. (Patarasuk
 * and Yuan 2009, section 3; NCCL does the same between GPUs of one machine.) It does not overlap the backward pass. On
 * a CPU it is the copying and summing of ranks/average.c in shared memory. */
void gnn_modelled_all_reduce(struct gnn_tensor *t, uint32_t ranks, uint64_t bytes);

/* Writes the counters of t, which gnn_tensor_modelled opened, to *out. */
void gnn_modelled_counts(struct gnn_tensor *t, struct gnn_modelled_counts *out);

#endif
