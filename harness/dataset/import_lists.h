/* SPDX-License-Identifier: MIT */
/* Writes indptr and indices of an import, one edge after the other. Internal to harness/dataset/. */
#ifndef GNN_DATASET_IMPORT_LISTS_H
#define GNN_DATASET_IMPORT_LISTS_H

#include "harness/dataset/import_parts.h"

enum { GNN_ISOLATED_SHARE = 8 /* of an import's memory, to count nodes without edges */ };

/* Writes lists. To be zeroed before open. */
struct gnn_list_writer {
    struct gnn_importer *importer;
    struct gnn_isolated *isolated;
    struct gnn_out_file *indptr, *indices;
    uint64_t previous; /* target << 32 | source of the last edge */
    uint64_t next;     /* node whose offset is written next */
    uint64_t edges;
    uint32_t id_bytes;
};

/* Creates the files. meta has the number of nodes. Returns errors of gnn_out_open(), or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_list_writer_open(struct gnn_importer *importer, struct gnn_list_writer *out,
                                                    struct gnn_err *err);
/* Appends an edge. Targets never descend, so offsets come out in order and need no table. Both IDs are below meta's
 * node count. Returns errors of writing. */
GNN_MUST_CHECK enum gnn_status gnn_list_writer_add(struct gnn_list_writer *writer, gnn_node source, gnn_node target,
                                                   struct gnn_err *err);
/* Returns status, the result of adding the edges. If that is GNN_OK, first ends the files, counts the nodes without
 * edges and enters both into meta. Releases the writer in any case. */
GNN_MUST_CHECK enum gnn_status gnn_list_writer_end(struct gnn_list_writer *writer, enum gnn_status status,
                                                   struct gnn_err *err);

#endif
