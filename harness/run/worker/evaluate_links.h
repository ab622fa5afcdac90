/* SPDX-License-Identifier: MIT */
/* Ranks of the validation and test edges (docs/link-prediction.md): MRR and Hits@k over both sides. All systems use
 * this code, outside the epoch's clock; the vectors come from the system (read_embeddings).
 *
 * Everything is in memory, as in the papers' evaluations: the vectors of all nodes, the known edges, and the scores of
 * some edges against all nodes. */
#ifndef GNN_RUN_EVALUATE_LINKS_H
#define GNN_RUN_EVALUATE_LINKS_H

#include "harness/run/wire.h"
#include "harness/system/system.h"

/* Ranks the edges of both splits. With `candidates` > 0, every 10,000 edges share that many sampled candidates, half of
 * them ends of those edges. 0: all nodes are candidates, except those that make an edge of any split. GNN_ECANCELLED:
 * env->stop was set. */
GNN_MUST_CHECK enum gnn_status gnn_evaluate_links(const struct gnn_env *env, const struct gnn_system *system,
                                                  void *state, uint32_t candidates, struct gnn_link_quality *valid,
                                                  struct gnn_link_quality *test, struct gnn_err *err);

/* Returns the host memory of an evaluation, for memory plans. */
uint64_t gnn_evaluate_links_bytes(const struct gnn_env *env, uint32_t candidates);

#endif
