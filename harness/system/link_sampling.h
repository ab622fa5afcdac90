/* SPDX-License-Identifier: MIT */
/* Sampling of mini-batches of edges: the epoch's order over a mapping of the training edges, and negatives. With layers
 * it also samples the neighbourhoods of all their nodes. A mini-batch depends on (seed, epoch, batch) only, not on the
 * worker that draws it. */
#ifndef GNN_SYSTEM_LINK_SAMPLING_H
#define GNN_SYSTEM_LINK_SAMPLING_H

#include "harness/system/sampling.h"

/* One mini-batch: edges, negatives, and the nodes whose vectors they need. */
struct gnn_link_item {
    struct gnn_link_batch *edges;
    struct gnn_batch *blocks;    /* with layers: sampled from the seeds edges->nodes; else NULL */
    struct gnn_batch_view plain; /* without layers: a mini-batch without blocks */
};

GNN_MUST_CHECK enum gnn_status gnn_link_item_open(const struct gnn_env *env, struct gnn_link_item *out,
                                                  struct gnn_err *err); /* to be closed also after an error */
void gnn_link_item_close(const struct gnn_env *env, struct gnn_link_item *item);
/* Returns its nodes and blocks. The first edges->view.node_count nodes are those of the edges. */
const struct gnn_batch_view *gnn_link_item_view(const struct gnn_link_item *item);

struct gnn_link_sampling;

/* Opens the stage. env must outlive it. advice: for the mappings. GNN_EUSAGE: no training edges. GNN_ENOMEM, GNN_ECAP,
 * errors of files and mappings. Set *out to NULL first; it is the caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_link_sampling_open(const struct gnn_env *env, uint32_t workers,
                                                      enum gnn_map_advice advice, bool floyd_biased,
                                                      struct gnn_link_sampling **out, struct gnn_err *err);
void gnn_link_sampling_close(struct gnn_link_sampling *sampling); /* accepts NULL */

/* Begins an epoch: sets the counters to 0. */
void gnn_link_sampling_begin(struct gnn_link_sampling *sampling, uint64_t epoch);
/* Draws batch k < gnn_epoch_batches of the epoch on worker `worker`. One thread per worker at a time. GNN_ECANCELLED:
 * the run's stop flag was set. GNN_EFORMAT: an edge has a node or a relation that the dataset lacks. */
GNN_MUST_CHECK enum gnn_status gnn_link_sampling_draw(struct gnn_link_sampling *sampling, uint32_t worker, uint32_t k,
                                                      struct gnn_link_item *item, struct gnn_err *err);
/* Writes the counters since begin, summed over the workers. No worker may draw meanwhile. */
void gnn_link_sampling_counters(const struct gnn_link_sampling *sampling, struct gnn_sample_counters *out);

/* Return the bytes of an item, and of the stage with `workers` workers, for memory plans. */
uint64_t gnn_link_item_bytes(const struct gnn_env *env);
uint64_t gnn_link_sampling_bytes(const struct gnn_env *env, uint32_t workers);

#endif
