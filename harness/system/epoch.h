/* SPDX-License-Identifier: MIT */
/* What every system's epoch has in common: a pipeline that is opened, run once and closed, its stage times added to the
 * result; and the order of the training nodes, cut into the seeds of each mini-batch. */
#ifndef GNN_SYSTEM_EPOCH_H
#define GNN_SYSTEM_EPOCH_H

#include "harness/system/system.h"

/* Adds stages and cancel callbacks to a pipeline that is about to run. */
typedef enum gnn_status gnn_add_stages_fn(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err);

/* Opens a pipeline, lets add_stages fill it, runs and closes it. Stage times go into out, added to those of a stage of
 * the same name: a system may run several pipelines an epoch. Returns the first error of add_stages or of a worker. */
GNN_MUST_CHECK enum gnn_status gnn_epoch_run(const struct gnn_env *env, gnn_add_stages_fn *add_stages, void *ctx,
                                             struct gnn_epoch_result *out, struct gnn_err *err);

/* GNN_ECANCELLED once the run's stop flag is up. Every stage asks between two batches. */
GNN_MUST_CHECK enum gnn_status gnn_check_stop(const struct gnn_env *env, struct gnn_err *err);

/* The order of an epoch. Zeroed before open; read by any thread between two calls of begin. */
struct gnn_batch_order {
    const struct gnn_env *env;
    const gnn_node *train; /* (train.count), the caller's */
    gnn_node *order;       /* (train.count) */
    uint32_t batches;      /* gnn_epoch_batches */
};

/* train: the training nodes in the system's own numbering; NULL: the dataset's. GNN_ECAP, GNN_ENOMEM; GNN_EUSAGE
 * when the dataset has no training nodes. */
GNN_MUST_CHECK enum gnn_status gnn_batch_order_open(const struct gnn_env *env, const gnn_node *train,
                                                    struct gnn_batch_order *out, struct gnn_err *err);
void gnn_batch_order_close(struct gnn_batch_order *order); /* accepts a zeroed one */
/* Shuffles for an epoch: the permutation depends on (seed, epoch) alone. */
void gnn_batch_order_begin(struct gnn_batch_order *order, uint64_t epoch);
/* Returns the seeds of mini-batch k < batches; *count of them, batch_size but for the last. */
const gnn_node *gnn_batch_order_seeds(const struct gnn_batch_order *order, uint32_t k, uint32_t *count);
/* Host memory it holds, for plans. */
uint64_t gnn_batch_order_bytes(const struct gnn_env *env);

/* ---- files of the dataset ---- */

enum gnn_dataset_part { GNN_DATASET_INDICES, GNN_DATASET_FEATURES };

/* Opens a file of the dataset for reading; flags: GNN_OPEN_DIRECT, GNN_OPEN_RANDOM or 0. *align_bytes (may be NULL):
 * what offsets and memory of reads must be multiples of, 1 for a buffered file. GNN_EFORMAT when the file is not as
 * long as the dataset says. *out is the caller's to close also on that error. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_file_open(const struct gnn_env *env, enum gnn_dataset_part part,
                                                     unsigned flags, struct gnn_file **out, uint32_t *align_bytes,
                                                     struct gnn_err *err);

#endif
