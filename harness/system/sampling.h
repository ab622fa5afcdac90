/* SPDX-License-Identifier: MIT */
/* The sampling stage of the systems that sample node-wise: one mapping of `indices` (or the system's own neighbour
 * sources), one sampler per worker over it, the epoch's order, and the sum of the counters. Which worker draws which
 * batch is the system's business: a mini-batch depends on (seed, epoch, batch) alone.
 *
 * With several ranks, or segments, the training nodes are cut into equal segments, contiguous in the training list,
 * each shuffled inside itself; rank r owns segments [r K / W, (r + 1) K / W), and each of its mini-batches takes an
 * equal piece of each. Draws are keyed by (seed, epoch, step, hop, node) on every rank: step k of W ranks samples, for
 * every node, what step k of one process with W times the batch and the same segments samples. */
#ifndef GNN_SYSTEM_SAMPLING_H
#define GNN_SYSTEM_SAMPLING_H

#include "harness/system/batch_size.h"
#include "harness/system/epoch.h"
#include "harness/system/intent.h"

struct gnn_sampling;

extern const char *const gnn_map_advice_words[]; /* of a system's option `readahead`: off, kernel */

struct gnn_sampling_config {
    uint32_t workers;
    enum gnn_map_advice advice; /* of the indices mapping */
    bool floyd_biased;
    bool framework; /* as in gnn_sampler_config */
    /* GNNDrive's released order: worker w owns the w-th contiguous part of the training nodes and shuffles inside it
     * (`order` in systems/gnndrive/README.md). false: one permutation of all training nodes. */
    bool segments;
    /* NULL: the mapping. Else each worker's source comes from here, is closed with the stage, and `indices` is not
     * opened. */
    enum gnn_status (*open_source)(void *ctx, uint32_t worker, struct gnn_neighbour_source **out, struct gnn_err *err);
    void *open_source_ctx;
};

/* env outlives the stage. Errors: those of opening the file and the mapping, GNN_ENOMEM, GNN_ECAP; *out is to be closed
 * also then. */
GNN_MUST_CHECK enum gnn_status gnn_sampling_open(const struct gnn_env *env, const struct gnn_sampling_config *config,
                                                 struct gnn_sampling **out, struct gnn_err *err);
void gnn_sampling_close(struct gnn_sampling *sampling); /* accepts NULL */

/* Before the workers start: the epoch's order, counters to zero. */
void gnn_sampling_begin(struct gnn_sampling *sampling, uint64_t epoch);

/* Says how many mini-batches and seeds the epochs have: more, by segments, than one permutation cuts into. */
void gnn_sampling_intend(const struct gnn_sampling *sampling, struct gnn_intent *intent);

/* Batches of an epoch, max_batches applied. */
uint32_t gnn_sampling_batches(const struct gnn_sampling *sampling);
/* Worker w's own batches, first <= k < end: all of them unless the order is by segments. */
void gnn_sampling_range(const struct gnn_sampling *sampling, uint32_t worker, uint32_t *first, uint32_t *end);
/* The seeds of batch k; *count of them. */
const gnn_node *gnn_sampling_seeds(const struct gnn_sampling *sampling, uint32_t k, uint32_t *count);

/* Samples batch k of the current epoch on worker w's sampler. One thread per worker index at a time. GNN_ECANCELLED
 * when the run's stop flag is up. */
GNN_MUST_CHECK enum gnn_status gnn_sampling_draw(struct gnn_sampling *sampling, uint32_t worker, uint32_t k,
                                                 struct gnn_batch *out, struct gnn_err *err);

/* Summed over the workers since begin. Call when none draws. */
void gnn_sampling_counters(const struct gnn_sampling *sampling, struct gnn_sample_counters *out);

#endif
