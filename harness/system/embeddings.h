/* SPDX-License-Identifier: MIT */
/* Learned vectors of nodes and their optimiser state, as mapped files. For a system that keeps them in the page cache,
 * and as the start of another one.
 *
 * A table has one row per node, in the dataset's numbering. Each row has gnn_dataset.dim reals. The first table holds
 * the vectors, drawn from N(0, 0.001^2) by (seed, node). Then there is one table of zeros per real of state
 * (model/optimizer.h). The files have no names and disappear when they are closed. */
#ifndef GNN_SYSTEM_EMBEDDINGS_H
#define GNN_SYSTEM_EMBEDDINGS_H

#include "harness/system/rows.h"

enum { GNN_EMBEDDING_TABLES_MAX = 3 };

/* Writes the initial vector of a node to row (dim). */
void gnn_embedding_init(uint64_t seed, gnn_node node, uint32_t dim, gnn_real *row);

struct gnn_embeddings {
    const struct gnn_env *env;
    uint32_t tables; /* 1 + states of the optimiser */
    struct gnn_file *file[GNN_EMBEDDING_TABLES_MAX];
    struct gnn_map *map[GNN_EMBEDDING_TABLES_MAX];
};

/* Writes the files in the dataset's directory and maps them. GNN_ENOSPC, GNN_ENOMEM, GNN_ECANCELLED, other errors of
 * files. *out is to be closed also after an error. */
GNN_MUST_CHECK enum gnn_status gnn_embeddings_open(const struct gnn_env *env, enum gnn_map_advice advice,
                                                   struct gnn_embeddings *out, struct gnn_err *err);
void gnn_embeddings_close(struct gnn_embeddings *embeddings); /* accepts a zeroed struct */

/* Copy rows of a table to dst (count, dim), or from src (count, dim). Any thread; two threads must not put the same row
 * at once. */
GNN_MUST_CHECK enum gnn_status gnn_embeddings_gather(const struct gnn_embeddings *embeddings, uint32_t table,
                                                     const gnn_node *nodes, uint64_t count, gnn_real *dst,
                                                     struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_embeddings_put(const struct gnn_embeddings *embeddings, uint32_t table,
                                                  const gnn_node *nodes, uint64_t count, const gnn_real *src,
                                                  struct gnn_err *err);

/* Returns the bytes of all tables on disk. */
uint64_t gnn_embeddings_bytes(const struct gnn_env *env);

#endif
