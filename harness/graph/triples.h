/* SPDX-License-Identifier: MIT */
/* The edges of a knowledge graph: splits in files (storage/meta.h), and which edges are known to be true. */
#ifndef GNN_GRAPH_TRIPLES_H
#define GNN_GRAPH_TRIPLES_H

#include "harness/base/link_view.h"
#include "harness/graph/dataset.h"

enum gnn_triple_split { GNN_TRIPLES_TRAIN, GNN_TRIPLES_VALID, GNN_TRIPLES_TEST, GNN_TRIPLE_SPLITS };

enum { GNN_TRIPLES_PATH = 600 };

/* Writes the path of a split's file. */
void gnn_triples_path(const struct gnn_dataset *dataset, enum gnn_triple_split split, char path[GNN_TRIPLES_PATH]);

/* Opens a split's file for reading. GNN_EFORMAT when it is not as long as the dataset says. */
GNN_MUST_CHECK enum gnn_status gnn_triples_file(struct gnn_world *world, const struct gnn_dataset *dataset,
                                                enum gnn_triple_split split, struct gnn_file **out,
                                                struct gnn_err *err);

/* Loads a whole split into world memory, *out to be freed by gnn_mem_free. GNN_EFORMAT when an edge has a node or a
 * relation outside the graph. */
GNN_MUST_CHECK enum gnn_status gnn_triples_load(struct gnn_world *world, const struct gnn_dataset *dataset,
                                                enum gnn_triple_split split, struct gnn_triple **out,
                                                struct gnn_err *err);

/* All edges of all splits, sorted both ways, to leave true ones out of a ranking (Bordes et al. 2013, section 4.2).
 * Memory: 24 B an edge. */
struct gnn_known;
GNN_MUST_CHECK enum gnn_status gnn_known_open(struct gnn_world *world, const struct gnn_dataset *dataset,
                                              struct gnn_known **out, struct gnn_err *err);
void gnn_known_close(struct gnn_known *known); /* accepts NULL */
uint64_t gnn_known_bytes(const struct gnn_dataset *dataset);
/* The edges that share `end` and `relation`: side 1 with end their source, side 0 with end their target. *count of
 * them, in ascending order of the other end; an edge that is in two splits stands there once. */
const struct gnn_triple *gnn_known_find(const struct gnn_known *known, uint32_t side, gnn_node end, uint32_t relation,
                                        uint64_t *count);

#endif
