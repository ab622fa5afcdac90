/* SPDX-License-Identifier: MIT */
/* The training stage of links: one step on a mini-batch whose rows are there, and the epoch's sums. As training.h for
 * nodes. One trainer thread at a time. */
#ifndef GNN_SYSTEM_LINK_TRAINING_H
#define GNN_SYSTEM_LINK_TRAINING_H

#include "harness/system/batch_size.h"
#include "harness/system/embeddings.h"
#include "harness/system/link_sampling.h"

struct gnn_link_training {
    const struct gnn_env *env;
    struct gnn_rows rows[GNN_EMBEDDING_TABLES_MAX];   /* where the host gathers vectors and state, and finds them new */
    struct gnn_rows device[GNN_EMBEDDING_TABLES_MAX]; /* their copies, where ops need ones */
    struct gnn_rows state;                            /* of the optimiser, its tables one after another */
    struct gnn_rows d_targets, d_input;               /* gradients */
    uint32_t tables;
    uint64_t step;   /* of the run */
    double loss_sum; /* of this epoch, over edges and sides */
    uint64_t edges, batches;
};

void gnn_link_training_open(const struct gnn_env *env, struct gnn_link_training *out);
void gnn_link_training_close(struct gnn_link_training *training); /* accepts a zeroed one */
void gnn_link_training_begin(struct gnn_link_training *training); /* sums to zero */

/* Makes room in rows[0 .. tables) for `count` nodes. */
GNN_MUST_CHECK enum gnn_status gnn_link_training_reserve(struct gnn_link_training *training, uint32_t count,
                                                         struct gnn_err *err);
/* One step on the item, whose nodes' vectors and state lie in rows: afterwards the new ones do. Then calls on_step.
 * GNN_ENUMBER, with the batch, when loss or gradient is no finite number. */
GNN_MUST_CHECK enum gnn_status gnn_link_training_step(struct gnn_link_training *training,
                                                      const struct gnn_link_item *item, struct gnn_err *err);
/* The mean loss counts edges, both sides together. */
void gnn_link_training_result(const struct gnn_link_training *training, struct gnn_epoch_result *out);

/* Bytes of the rows, for memory plans. */
uint64_t gnn_link_training_bytes(const struct gnn_env *env, const struct gnn_batch_size *size);

#endif
