/* SPDX-License-Identifier: MIT */
/* Loops over rows, for an op that runs several of them on the same few rows while these are in its cache (sage.c). The
 * ops that are such a loop share it among threads (share.h). Internal to the CPU back-end. */
#ifndef GNN_TENSOR_CPU_ROWS_H
#define GNN_TENSOR_CPU_ROWS_H

#include "harness/tensor/cpu/share.h"
#include "harness/tensor/tensor.h"

/* segment_reduce of targets. */
struct gnn_cpu_reduce {
    enum gnn_reduce kind;
    struct gnn_mat out, x;
    struct gnn_block block;
    uint32_t *argmax;
};
gnn_share_fn gnn_cpu_reduce_rows;

/* activate of rows of z; and activate_back, where z is dy. */
struct gnn_cpu_epilogue {
    enum gnn_activation act;
    struct gnn_mat z, y; /* y: the way back alone */
    const float *bias;   /* NULL: none */
    const struct gnn_dropout *drop;
};
gnn_share_fn gnn_cpu_activate_rows, gnn_cpu_activate_back_rows;
/* Whether activate_back changes anything. */
bool gnn_cpu_changes_back(enum gnn_activation act, const struct gnn_dropout *drop);

/* column_sum: blocks of so many rows are summed in float, and the blocks in double: so a sum's rounding does not grow
 * with the rows, and threads may share the blocks. */
enum { GNN_CPU_SUM_ROWS = 64 };
struct gnn_cpu_column_sum {
    struct gnn_mat z;
    float *parts; /* (blocks, cols), written */
};
gnn_share_fn gnn_cpu_sum_blocks;
void gnn_cpu_add_blocks(float *out, const struct gnn_cpu_column_sum *sums);

/* segment_reduce_back of a mean, which adds to the first `kept` rows of dx and writes the others. */
void gnn_cpu_mean_back(struct gnn_tensor *t, struct gnn_mat dx, uint32_t kept, const struct gnn_block *b,
                       struct gnn_mat dout);

#endif
