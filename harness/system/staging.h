/* SPDX-License-Identifier: MIT */
/* Staging memory: memory of the world that a tensor back-end's device reads across the bus. It is allocated as any
 * other (so the cap counts it), touched, and registered with the device; where the back-end computes in host memory it
 * is plain feature memory. Any thread. */
#ifndef GNN_SYSTEM_STAGING_H
#define GNN_SYSTEM_STAGING_H

#include "harness/system/system.h"

/* GNN_ENOMEM, GNN_ECAP; GNN_ENOTSUP where the device does not read the host's memory. name: a string literal. */
GNN_MUST_CHECK enum gnn_status gnn_staging_alloc(const struct gnn_env *env, const char *name, uint64_t bytes,
                                                 void **out, struct gnn_err *err);
/* Accepts NULL. Nothing may be copying from it. */
void gnn_staging_free(const struct gnn_env *env, void *ptr);

#endif
