/* SPDX-License-Identifier: MIT */
/* The sampling stage of systems that sample node-wise. It holds one mapping of `indices` (or the system's own neighbour
 * sources), one sampler per worker, the epoch's order, and the sum of the counters. The system decides which worker
 * draws which batch. A mini-batch depends on (seed, epoch, batch) only.
 *
 * With several ranks, or segments, the training nodes are cut into K equal segments. A segment is contiguous in the
 * training list and shuffled separately. Rank r owns the segments [r K / W, (r + 1) K / W). Each of its mini-batches
 * takes an equal piece of each.
 *
 * Draws are keyed by (seed, epoch, step, hop, node) on every rank. Step k of W ranks thus samples the same neighbours
 * of every node as step k of one process. That process has W times the batch size and the same segments. */
#ifndef GNN_SYSTEM_SAMPLING_H
#define GNN_SYSTEM_SAMPLING_H

#include "harness/system/batch_size.h"
#include "harness/system/epoch.h"
#include "harness/system/intent.h"

struct gnn_sampling;

extern const char *const gnn_map_advice_words[]; /* values of a system's option `readahead`: off, kernel */

struct gnn_sampling_config {
    uint32_t workers;
    enum gnn_map_advice advice; /* for the mapping of indices */
    bool floyd_biased;
    bool framework; /* as in gnn_sampler_config */
    /* GNNDrive's released order: worker w owns the w-th contiguous part of the training nodes and shuffles inside it
     * (`order` in systems/gnndrive/README.md). false: one permutation of all training nodes. */
    bool segments;
    /* Opens a worker's neighbour source, which is closed with the stage; `indices` is not opened then. NULL: all
     * workers use the mapping. */
    enum gnn_status (*open_source)(void *ctx, uint32_t worker, struct gnn_neighbour_source **out, struct gnn_err *err);
    void *open_source_ctx;
};

/* Opens the stage. env must outlive it. GNN_EUSAGE: no training nodes, or fewer than segments. GNN_ENOMEM, GNN_ECAP,
 * errors of the file and the mapping. Set *out to NULL first; it is the caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_sampling_open(const struct gnn_env *env, const struct gnn_sampling_config *config,
                                                 struct gnn_sampling **out, struct gnn_err *err);
void gnn_sampling_close(struct gnn_sampling *sampling); /* accepts NULL */

/* Begins an epoch: makes its order and sets the counters to 0. Call it before the workers start. */
void gnn_sampling_begin(struct gnn_sampling *sampling, uint64_t epoch);

/* Sets how many mini-batches and seeds the epochs have. By segments there are more mini-batches than with one
 * permutation. */
void gnn_sampling_intend(const struct gnn_sampling *sampling, struct gnn_intent *intent);

/* Returns the batches of an epoch, limited by max_batches. */
uint32_t gnn_sampling_batches(const struct gnn_sampling *sampling);
/* Returns the batches first <= k < end of a worker: all of them unless the order is by segments. */
void gnn_sampling_range(const struct gnn_sampling *sampling, uint32_t worker, uint32_t *first, uint32_t *end);
/* Returns the seeds of batch k and their number in *count. */
const gnn_node *gnn_sampling_seeds(const struct gnn_sampling *sampling, uint32_t k, uint32_t *count);

/* Samples batch k of the current epoch on the sampler of worker `worker`. One thread per worker at a time.
 * GNN_ECANCELLED: the run's stop flag was set. Other errors as gnn_sampler_sample. */
GNN_MUST_CHECK enum gnn_status gnn_sampling_draw(struct gnn_sampling *sampling, uint32_t worker, uint32_t k,
                                                 struct gnn_batch *out, struct gnn_err *err);

/* Writes the counters since begin, summed over the workers. No worker may draw meanwhile. */
void gnn_sampling_counters(const struct gnn_sampling *sampling, struct gnn_sample_counters *out);

#endif
