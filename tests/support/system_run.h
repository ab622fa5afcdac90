/* SPDX-License-Identifier: MIT */
/* What runs of a system inside a test's process share: train_graph.h, link_run.h. */
#ifndef GNN_TESTS_SYSTEM_RUN_H
#define GNN_TESTS_SYSTEM_RUN_H

#include "harness/system/system.h"

/* The system of that name; fails the test where there is none. */
const struct gnn_system *system_find(const char *name);

/* Its settings: defaults, then options ("name=value", NULL-terminated; may be NULL), which must be right; to be
 * freed. */
void *system_configure(const struct gnn_system *system, const char *const *options);

/* A tensor back-end on one core, its memory, clock and work the world's. */
struct gnn_tensor_env system_tensor_env(struct gnn_world *world);

/* A system's own figure of an epoch; fails the test where it reports none of that name. */
uint64_t system_figure(const struct gnn_epoch_result *result, const char *name);

#endif
