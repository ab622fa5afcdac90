/* SPDX-License-Identifier: MIT */
/* The state of an open CPU back-end other than its memory, and access to it for its ops. */
#ifndef GNN_TENSOR_CPU_STATE_H
#define GNN_TENSOR_CPU_STATE_H

#include "harness/tensor/cpu/share.h"
#include "harness/tensor/cpu/tile_kernels.h"
#include "harness/tensor/tensor.h"

/* Memory of the back-end that is kept from one mini-batch to the next. Zeroed: none yet. */
struct gnn_cpu_room {
    void *data;
    uint64_t bytes;
};

struct gnn_cpu_state {
    uint32_t threads;
    struct gnn_share *share;
    struct gnn_cpu_room transpose; /* transpose.h; this and `sums` are the computing thread's */
    struct gnn_cpu_room sums;      /* partial sums of column_sum */
    float *parts; /* (2 x GNN_GEMM_PARTS_BYTES) for a product (gemm.h), or for two at a time (sage.c) */
    struct gnn_tile_kernels kernels;
    bool one_product; /* calls of BLAS are made one at a time, because it has one buffer */
};

/* Returns the state of t, or NULL if t is NULL. An op that keeps nothing can run without a back-end, on one thread. */
struct gnn_cpu_state *gnn_cpu_state(struct gnn_tensor *t);

/* Returns the number of threads, or 1 if t is NULL. */
uint32_t gnn_cpu_threads(struct gnn_tensor *t);

/* Makes room for `bytes` bytes, or returns false if memory is refused. The earlier contents are lost. */
bool gnn_cpu_reserve(struct gnn_tensor *t, struct gnn_cpu_room *room, uint64_t bytes);

/* Does gnn_share_run with the back-end's threads. */
void gnn_cpu_share(struct gnn_tensor *t, uint64_t items, uint64_t item_bytes, gnn_share_fn *fn, const void *loop);

#endif
