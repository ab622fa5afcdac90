/* SPDX-License-Identifier: MIT */
/* Drawing mini-batches of edges: the epoch's order over a mapping of the training edges, negatives, and with layers the
 * neighbourhoods of all their nodes. A mini-batch depends on (seed, epoch, batch) alone, whoever draws it. */
#ifndef GNN_SYSTEM_LINK_SAMPLING_H
#define GNN_SYSTEM_LINK_SAMPLING_H

#include "harness/system/sampling.h"

/* One mini-batch: the edges with their negatives, and the nodes whose vectors they need. */
struct gnn_link_item {
    struct gnn_link_batch *edges;
    struct gnn_batch *blocks;    /* with layers: seeds are edges->nodes; else NULL */
    struct gnn_batch_view plain; /* without: a mini-batch of no blocks */
};

GNN_MUST_CHECK enum gnn_status gnn_link_item_open(const struct gnn_env *env, struct gnn_link_item *out,
                                                  struct gnn_err *err); /* close also after an error */
void gnn_link_item_close(const struct gnn_env *env, struct gnn_link_item *item);
/* Its nodes and blocks; the first edges->view.node_count nodes are the edges' own. */
const struct gnn_batch_view *gnn_link_item_view(const struct gnn_link_item *item);

struct gnn_link_sampling;

/* advice: of the mappings. Errors: of files and mappings, GNN_EUSAGE, GNN_ENOMEM, GNN_ECAP; *out is to be closed also
 * then. */
GNN_MUST_CHECK enum gnn_status gnn_link_sampling_open(const struct gnn_env *env, uint32_t workers,
                                                      enum gnn_map_advice advice, bool floyd_biased,
                                                      struct gnn_link_sampling **out, struct gnn_err *err);
void gnn_link_sampling_close(struct gnn_link_sampling *sampling); /* accepts NULL */

/* Counters to zero. */
void gnn_link_sampling_begin(struct gnn_link_sampling *sampling, uint64_t epoch);
/* Draws batch k < gnn_epoch_batches of the epoch on worker w. One thread per worker at a time. */
GNN_MUST_CHECK enum gnn_status gnn_link_sampling_draw(struct gnn_link_sampling *sampling, uint32_t worker, uint32_t k,
                                                      struct gnn_link_item *item, struct gnn_err *err);
/* Summed over the workers since begin. Call when none draws. */
void gnn_link_sampling_counters(const struct gnn_link_sampling *sampling, struct gnn_sample_counters *out);

/* Bytes of an item and of a worker, for memory plans. */
uint64_t gnn_link_item_bytes(const struct gnn_env *env);
uint64_t gnn_link_sampling_bytes(const struct gnn_env *env, uint32_t workers);

#endif
