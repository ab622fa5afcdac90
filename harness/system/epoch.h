/* SPDX-License-Identifier: MIT */
/* Common parts of every system's epoch. A pipeline is opened, run once and closed, and its stage times are added to the
 * result. The order of the training nodes is cut into the seeds of each mini-batch. */
#ifndef GNN_SYSTEM_EPOCH_H
#define GNN_SYSTEM_EPOCH_H

#include "harness/system/system.h"

/* Adds stages and cancel callbacks to a pipeline that is about to run. */
typedef enum gnn_status gnn_add_stages_fn(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err);

/* Opens a pipeline, calls add_stages to fill it, runs and closes it. Stage times are added to those of the stage of the
 * same name in `out`: a system may run several pipelines in an epoch. Returns the first error of add_stages or of a
 * worker. If the pipeline stops early, the group of ranks is cancelled. */
GNN_MUST_CHECK enum gnn_status gnn_epoch_run(const struct gnn_env *env, gnn_add_stages_fn *add_stages, void *ctx,
                                             struct gnn_epoch_result *out, struct gnn_err *err);

/* Returns GNN_ECANCELLED once the run's stop flag is set. Every stage calls it between two batches. */
GNN_MUST_CHECK enum gnn_status gnn_check_stop(const struct gnn_env *env, struct gnn_err *err);

/* The order of an epoch. To be zeroed before open. Any thread may read it between two calls of begin. */
struct gnn_batch_order {
    const struct gnn_env *env;
    const gnn_node *train; /* (train.count), the caller's */
    gnn_node *order;       /* (train.count) */
    uint32_t batches;      /* gnn_epoch_batches */
};

/* Opens the order. train: the training nodes in the system's own numbering; NULL: the dataset's. GNN_EUSAGE: the
 * dataset has no training nodes. GNN_ECAP, GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_batch_order_open(const struct gnn_env *env, const gnn_node *train,
                                                    struct gnn_batch_order *out, struct gnn_err *err);
void gnn_batch_order_close(struct gnn_batch_order *order); /* accepts a zeroed struct */
/* Shuffles the nodes for an epoch. The permutation depends on (seed, epoch) only. */
void gnn_batch_order_begin(struct gnn_batch_order *order, uint64_t epoch);
/* Returns the seeds of mini-batch k < batches and their number in *count: batch_size, or less for the last. */
const gnn_node *gnn_batch_order_seeds(const struct gnn_batch_order *order, uint32_t k, uint32_t *count);
/* Returns the host memory of an order, for memory plans. */
uint64_t gnn_batch_order_bytes(const struct gnn_env *env);

/* ---- files of the dataset ---- */

enum gnn_dataset_part { GNN_DATASET_INDICES, GNN_DATASET_FEATURES };

/* Opens a file of the dataset for reading. `flags` is GNN_OPEN_DIRECT, GNN_OPEN_RANDOM or 0. `*align_bytes` (may be
 * NULL) is the alignment of offsets and memory of reads, 1 for a buffered file. GNN_EFORMAT: the length of the file
 * differs from that of the dataset. Other errors are those of gnn_file_open. After GNN_EFORMAT, *out is the caller's to
 * close. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_file_open(const struct gnn_env *env, enum gnn_dataset_part part,
                                                     unsigned flags, struct gnn_file **out, uint32_t *align_bytes,
                                                     struct gnn_err *err);

#endif
