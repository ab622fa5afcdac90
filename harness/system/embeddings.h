/* SPDX-License-Identifier: MIT */
/* Vectors of nodes that are learned, with the optimiser's state beside them, as mapped files: what a system that keeps
 * them in the page cache uses, and what another begins from.
 *
 * A table has gnn_dataset.dim reals a row, one row a node in the dataset's numbering. Tables: the vectors, drawn from
 * N(0, 0.001^2) by (seed, node), and one of zeros for each real of state (model/optimizer.h). The files have no names
 * and go with the run. */
#ifndef GNN_SYSTEM_EMBEDDINGS_H
#define GNN_SYSTEM_EMBEDDINGS_H

#include "harness/system/rows.h"

enum { GNN_EMBEDDING_TABLES_MAX = 3 };

/* The vector that node begins with: dim reals into row. */
void gnn_embedding_init(uint64_t seed, gnn_node node, uint32_t dim, gnn_real *row);

struct gnn_embeddings {
    const struct gnn_env *env;
    uint32_t tables; /* 1 + states of the optimiser */
    struct gnn_file *file[GNN_EMBEDDING_TABLES_MAX];
    struct gnn_map *map[GNN_EMBEDDING_TABLES_MAX];
};

/* Writes the files in the dataset's directory and maps them. Errors: of files, GNN_ENOSPC, GNN_ENOMEM; *out is to be
 * closed also then. */
GNN_MUST_CHECK enum gnn_status gnn_embeddings_open(const struct gnn_env *env, enum gnn_map_advice advice,
                                                   struct gnn_embeddings *out, struct gnn_err *err);
void gnn_embeddings_close(struct gnn_embeddings *embeddings); /* accepts a zeroed one */

/* Rows of table t to dst (count, dim) or from src. Any thread; two do not put the same row. */
GNN_MUST_CHECK enum gnn_status gnn_embeddings_gather(const struct gnn_embeddings *embeddings, uint32_t table,
                                                     const gnn_node *nodes, uint64_t count, gnn_real *dst,
                                                     struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_embeddings_put(const struct gnn_embeddings *embeddings, uint32_t table,
                                                  const gnn_node *nodes, uint64_t count, const gnn_real *src,
                                                  struct gnn_err *err);

/* Bytes of all tables on disk. */
uint64_t gnn_embeddings_bytes(const struct gnn_env *env);

#endif
