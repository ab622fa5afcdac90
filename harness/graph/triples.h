/* SPDX-License-Identifier: MIT */
/* The edges of a knowledge graph: the files of its splits (storage/meta.h), and an index of all known true edges. */
#ifndef GNN_GRAPH_TRIPLES_H
#define GNN_GRAPH_TRIPLES_H

#include "harness/base/link_view.h"
#include "harness/graph/dataset.h"

enum gnn_triple_split { GNN_TRIPLES_TRAIN, GNN_TRIPLES_VALID, GNN_TRIPLES_TEST, GNN_TRIPLE_SPLITS };

enum { GNN_TRIPLES_PATH = 600 };

/* Writes the path of a split's file to `path`. */
void gnn_triples_path(const struct gnn_dataset *dataset, enum gnn_triple_split split, char path[GNN_TRIPLES_PATH]);

/* Opens a split's file for reading, or returns GNN_EFORMAT if its size does not match the dataset's edge count. */
GNN_MUST_CHECK enum gnn_status gnn_triples_file(struct gnn_world *world, const struct gnn_dataset *dataset,
                                                enum gnn_triple_split split, struct gnn_file **out,
                                                struct gnn_err *err);

/* Loads a whole split into world memory, or returns GNN_EFORMAT if an edge has a node or a relation outside the graph.
 * The caller frees *out with gnn_mem_free. */
GNN_MUST_CHECK enum gnn_status gnn_triples_load(struct gnn_world *world, const struct gnn_dataset *dataset,
                                                enum gnn_triple_split split, struct gnn_triple **out,
                                                struct gnn_err *err);

/* All edges of all splits, sorted by source and by target, to exclude true edges from a ranking (Bordes et al. 2013,
 * section 4.2). Memory: 24 B per edge, which gnn_known_bytes returns. */
struct gnn_known;
GNN_MUST_CHECK enum gnn_status gnn_known_open(struct gnn_world *world, const struct gnn_dataset *dataset,
                                              struct gnn_known **out, struct gnn_err *err);
void gnn_known_close(struct gnn_known *known); /* accepts NULL */
uint64_t gnn_known_bytes(const struct gnn_dataset *dataset);
/* Returns the edges that share `end` and `relation`, *count of them. `end` is their source with side 1, their target
 * with side 0. They are in ascending order of the other end. An edge that is in two splits appears once. */
const struct gnn_triple *gnn_known_find(const struct gnn_known *known, uint32_t side, gnn_node end, uint32_t relation,
                                        uint64_t *count);

#endif
