/* SPDX-License-Identifier: MIT */
/* Memory of this process that a control group charges to it: anonymous pages and page tables. Files that it is mapped
 * from are shared with others and not counted. */
#ifndef GNN_BASE_OWN_MEMORY_H
#define GNN_BASE_OWN_MEMORY_H

#include <stdint.h>

/* Returns the bytes, or 0 where /proc/self/status does not tell them. */
uint64_t gnn_own_memory_bytes(void);

#endif
