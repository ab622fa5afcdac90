/* SPDX-License-Identifier: MIT */
/* Whether configurations fit their memory limits by the systems' memory plans, before anything is run. */
#ifndef GNN_CLI_PLAN_FIT_H
#define GNN_CLI_PLAN_FIT_H

#include "harness/run/worker/worker.h"

/* Returns the nodes of the configuration's graph at scale 1/divisor, for a graph of the registry. Other graphs have the
 * nodes of their meta file at every scale. UINT64_MAX: there is no such graph. */
uint64_t gnn_plan_nodes(const struct gnn_run_config *config, uint32_t divisor);

/* Returns whether a graph with this number of nodes is computed, or read, in a moment. */
bool gnn_plan_is_quick(uint64_t nodes);

/* Computes what the configuration needs. Returns the share of its memory limit, where 1 is all of it, or 0 if it cannot
 * be computed or there is no limit. The configuration must be resolved. */
double gnn_plan_share(const struct gnn_run_config *config, struct gnn_run_need *need);

#endif
