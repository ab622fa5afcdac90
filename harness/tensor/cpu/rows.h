/* SPDX-License-Identifier: MIT */
/* Loops over rows, for an op that runs several of them on the same few rows while these are in its cache (sage.c). Ops
 * that consist of one such loop share it among threads (share.h). Internal to the CPU back-end. */
#ifndef GNN_TENSOR_CPU_ROWS_H
#define GNN_TENSOR_CPU_ROWS_H

#include "harness/tensor/cpu/share.h"
#include "harness/tensor/tensor.h"

/* Arguments of segment_reduce on rows of targets. */
struct gnn_cpu_reduce {
    enum gnn_reduce kind;
    struct gnn_mat out, x;
    struct gnn_block block;
    uint32_t *argmax;
};
gnn_share_fn gnn_cpu_reduce_rows;

/* Arguments of activate on rows of z, and of activate_back, where z is dy. */
struct gnn_cpu_epilogue {
    enum gnn_activation act;
    struct gnn_mat z, y; /* y: backward only */
    const float *bias;   /* NULL: none */
    const struct gnn_dropout *drop;
};
gnn_share_fn gnn_cpu_activate_rows, gnn_cpu_activate_back_rows;
/* Returns whether activate_back changes anything. */
bool gnn_cpu_changes_back(enum gnn_activation act, const struct gnn_dropout *drop);

/* column_sum adds the rows of a block of GNN_CPU_SUM_ROWS rows in float, and the blocks' sums in double. So the
 * rounding error of a sum does not grow with the rows, and threads can share the blocks. */
enum { GNN_CPU_SUM_ROWS = 64 };
struct gnn_cpu_column_sum {
    struct gnn_mat z;
    float *parts; /* (blocks, cols), written */
};
gnn_share_fn gnn_cpu_sum_blocks;
void gnn_cpu_add_blocks(float *out, const struct gnn_cpu_column_sum *sums);

/* Does segment_reduce_back for a mean. It adds to the first `kept` rows of dx and overwrites the others. */
void gnn_cpu_mean_back(struct gnn_tensor *t, struct gnn_mat dx, uint32_t kept, const struct gnn_block *b,
                       struct gnn_mat dout);

#endif
