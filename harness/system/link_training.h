/* SPDX-License-Identifier: MIT */
/* The training stage of link prediction: one step on a mini-batch whose rows are gathered, and the epoch's sums. For
 * nodes it is training.h. One trainer thread at a time. */
#ifndef GNN_SYSTEM_LINK_TRAINING_H
#define GNN_SYSTEM_LINK_TRAINING_H

#include "harness/system/batch_size.h"
#include "harness/system/embeddings.h"
#include "harness/system/link_sampling.h"

struct gnn_link_training {
    const struct gnn_env *env;
    struct gnn_rows rows[GNN_EMBEDDING_TABLES_MAX];   /* on the host: gathered vectors and state, replaced by the new
                                                       * ones */
    struct gnn_rows device[GNN_EMBEDDING_TABLES_MAX]; /* copies of them on the device, if ops need these */
    struct gnn_rows state;                            /* optimiser state, its tables one after another */
    struct gnn_rows d_targets, d_input;               /* gradients */
    uint32_t tables;
    uint64_t step;   /* steps of the run so far */
    double loss_sum; /* sum over edges and sides in this epoch */
    uint64_t edges, batches;
};

void gnn_link_training_open(const struct gnn_env *env, struct gnn_link_training *out);
void gnn_link_training_close(struct gnn_link_training *training); /* accepts a zeroed one */
void gnn_link_training_begin(struct gnn_link_training *training); /* sets the sums to 0 */

/* Makes room in rows[0 .. tables) for `count` nodes. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnn_link_training_reserve(struct gnn_link_training *training, uint32_t count,
                                                         struct gnn_err *err);
/* Trains one step on the item, then calls on_step. `rows` holds the vectors and state of its nodes, and afterwards the
 * new ones. GNN_ENUMBER, with the batch: loss or gradient is not finite. */
GNN_MUST_CHECK enum gnn_status gnn_link_training_step(struct gnn_link_training *training,
                                                      const struct gnn_link_item *item, struct gnn_err *err);
/* Writes the epoch's sums to `out`. The mean loss is per edge, both sides together. */
void gnn_link_training_result(const struct gnn_link_training *training, struct gnn_epoch_result *out);

/* Returns the bytes of the rows, for memory plans. */
uint64_t gnn_link_training_bytes(const struct gnn_env *env, const struct gnn_batch_size *size);

#endif
