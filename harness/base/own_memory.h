/* SPDX-License-Identifier: MIT */
/* Memory of this process that a control group charges to it: anonymous pages and page tables. Mapped files are not
 * counted, because other processes share them. */
#ifndef GNN_BASE_OWN_MEMORY_H
#define GNN_BASE_OWN_MEMORY_H

#include <stdint.h>

/* Returns the bytes, or 0 if /proc/self/status does not report them. */
uint64_t gnn_own_memory_bytes(void);

#endif
