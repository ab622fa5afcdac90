/* SPDX-License-Identifier: MIT */
/* Staging memory: world memory that a tensor back-end's device reads across the bus. It is allocated like other memory,
 * so the memory limit counts it, then touched and registered with the device. If the back-end computes in host memory,
 * it is plain feature memory. Any thread. */
#ifndef GNN_SYSTEM_STAGING_H
#define GNN_SYSTEM_STAGING_H

#include "harness/system/system.h"

/* Allocates staging memory; free it with gnn_staging_free. name: a string literal. GNN_ENOMEM, GNN_ECAP. GNN_ENOTSUP:
 * the device cannot read the host's memory. */
GNN_MUST_CHECK enum gnn_status gnn_staging_alloc(const struct gnn_env *env, const char *name, uint64_t bytes,
                                                 void **out, struct gnn_err *err);
/* Frees it; accepts NULL. No copy from it may be in progress. */
void gnn_staging_free(const struct gnn_env *env, void *ptr);

#endif
