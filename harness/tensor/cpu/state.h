/* SPDX-License-Identifier: MIT */
/* What an open CPU back-end has beside its memory, and the way of its ops to it. */
#ifndef GNN_TENSOR_CPU_STATE_H
#define GNN_TENSOR_CPU_STATE_H

#include "harness/tensor/cpu/share.h"
#include "harness/tensor/cpu/tile_kernels.h"
#include "harness/tensor/tensor.h"

/* Memory of the back-end that is kept from one mini-batch for the next; zeroed: none yet. */
struct gnn_cpu_room {
    void *data;
    uint64_t bytes;
};

struct gnn_cpu_state {
    uint32_t threads;
    struct gnn_share *share;
    struct gnn_cpu_room transpose; /* transpose.h; like the next, the computing thread's */
    struct gnn_cpu_room sums;      /* of column_sum */
    float *parts; /* (2 x GNN_GEMM_PARTS_BYTES) of a product (gemm.h), or of two side by side (sage.c) */
    struct gnn_tile_kernels kernels;
    bool one_product; /* calls of BLAS come one after the other: it has one buffer */
};

/* NULL where t is: an op that keeps nothing runs without a back-end, on one thread. */
struct gnn_cpu_state *gnn_cpu_state(struct gnn_tensor *t);

/* 1 where t is NULL. */
uint32_t gnn_cpu_threads(struct gnn_tensor *t);

/* Lets the room hold so many bytes, whatever was in it. Returns false where memory is refused. */
bool gnn_cpu_reserve(struct gnn_tensor *t, struct gnn_cpu_room *room, uint64_t bytes);

/* gnn_share_run among the back-end's threads. */
void gnn_cpu_share(struct gnn_tensor *t, uint64_t items, uint64_t item_bytes, gnn_share_fn *fn, const void *loop);

#endif
