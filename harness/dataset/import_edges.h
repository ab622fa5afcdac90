/* SPDX-License-Identifier: MIT */
/* The edges of an import, read as often as they are needed. Internal to harness/dataset/. */
#ifndef GNN_DATASET_IMPORT_EDGES_H
#define GNN_DATASET_IMPORT_EDGES_H

#include "harness/dataset/edges.h"
#include "harness/dataset/import_parts.h"

struct gnn_edge_reader;
typedef enum gnn_status gnn_edge_fn(void *ctx, uint64_t source, uint64_t target, const struct gnn_edge_reader *reader,
                                    struct gnn_err *err);

/* Zero the last two fields before the first pass. */
struct gnn_edge_reader {
    struct gnn_importer *importer;
    gnn_edge_fn *visit; /* called for each edge of the input, in its order */
    void *ctx;
    struct gnn_edges *edges; /* of a pass over the input */
    bool copied;             /* of a pipe: later passes read the copy */
};

/* Opens the edges of a source that is text. */
GNN_MUST_CHECK enum gnn_status gnn_import_open_edges(const struct gnn_import_source *source, bool ignore_columns,
                                                     struct gnn_edges **out, struct gnn_err *err);

/* Opens edges of a directory: arrays, or a text. */
GNN_MUST_CHECK enum gnn_status gnn_import_open_found(const struct gnn_edge_files *files, bool ignore_columns,
                                                     struct gnn_edges **out, struct gnn_err *err);

/* Makes one pass over the edges. again: another pass follows. Fills the report of the importer with what a text
 * states. Returns errors of reading and of visit. */
GNN_MUST_CHECK enum gnn_status gnn_import_each_edge(struct gnn_edge_reader *reader, const char *phase, bool again,
                                                    struct gnn_err *err);

/* Writes the place of the edge that is visited to text. */
void gnn_import_edge_place(const struct gnn_edge_reader *reader, char *text, size_t text_bytes);

/* Writes the way past a first line of text that states counts to text, or "" for arrays and other lines. */
void gnn_import_counts_remedy(const struct gnn_edge_reader *reader, bool first, char *text, size_t text_bytes);

#endif
