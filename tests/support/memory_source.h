/* SPDX-License-Identifier: MIT */
/* A neighbour source that needs no file: what the others are compared with. */
#ifndef GNN_TESTS_MEMORY_SOURCE_H
#define GNN_TESTS_MEMORY_SOURCE_H

#include "harness/sample/sample.h"

/* In memory: indices (edge_count), kept by the caller. */
GNN_MUST_CHECK enum gnn_status gnn_source_memory(struct gnn_world *world, const gnn_node *indices, uint64_t edge_count,
                                                 struct gnn_neighbour_source **out, struct gnn_err *err);

#endif
