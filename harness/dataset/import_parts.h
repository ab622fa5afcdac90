/* SPDX-License-Identifier: MIT */
/* The parts of an import, in the order in which they run. Internal to harness/dataset/. */
#ifndef GNN_DATASET_IMPORT_PARTS_H
#define GNN_DATASET_IMPORT_PARTS_H

#include "harness/dataset/output.h"
#include "harness/graph/knowledge.h"

#include <assert.h>

enum {
    GNN_IMPORT_CLASSES_MAX = 1 << 24, /* a row of the last layer for each: beyond it a label is a mistake */
    GNN_IMPORT_RESERVE = 2 << 20,     /* of the memory bound: input windows, zlib, output buffers */
};

struct gnn_importer {
    const struct gnn_import_source *source;
    const struct gnn_import_options *options;
    const struct gnn_prepare_job *job;
    struct gnn_output output;
    struct gnn_meta meta;                  /* filled as the parts finish */
    const struct gnn_knowledge *generated; /* edges come from here instead of files; NULL: from files */
    uint64_t generated_first[4];           /* of its splits, and where the last ends */
    bool nodes_known;                      /* from labels or features; otherwise the largest ID decides */
};

/* Returns the bytes of memory that the large structures of a part may take. */
static inline uint64_t gnn_import_budget(const struct gnn_importer *importer)
{
    assert(importer->options->memory_bytes > GNN_IMPORT_RESERVE);
    return importer->options->memory_bytes - GNN_IMPORT_RESERVE;
}

/* Checks that --from is the kind of thing its format takes: GNN_ENOENT, GNN_EPERM, GNN_EUSAGE say what it takes, and
 * what to say instead where that can be seen. */
GNN_MUST_CHECK enum gnn_status gnn_import_check_kind(const struct gnn_import_source *source, struct gnn_err *err);

/* Checks the head of the edge file of an input that is no knowledge graph: its first edge, or its NumPy header. */
GNN_MUST_CHECK enum gnn_status gnn_import_check_edges(const struct gnn_import_source *source, struct gnn_err *err);

/* Whether the directory has the training edges of a knowledge graph. */
bool gnn_import_has_triples(const char *dir);

/* Edges to indptr and indices: transforms each edge, sorts by (target, source) in bounded memory, writes lists. Sets
 * meta's node count unless it is known. */
GNN_MUST_CHECK enum gnn_status gnn_import_topology(struct gnn_importer *importer, struct gnn_err *err);

/* Sorted keys, target << 32 | source below meta's node count, to indptr and indices; sets meta's edge count. */
struct gnn_sorter;
GNN_MUST_CHECK enum gnn_status gnn_import_lists(struct gnn_importer *importer, struct gnn_sorter *sorter,
                                                struct gnn_err *err);

/* Everything of a knowledge graph, from its first line to the last file; opens the output. */
GNN_MUST_CHECK enum gnn_status gnn_import_triples(struct gnn_importer *importer, struct gnn_err *err);

/* Generates a knowledge graph of the registry. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_knowledge(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                                     const struct gnn_generate_options *options,
                                                     const struct gnn_prepare_job *job, struct gnn_err *err);

/* Which node files the input has, found before any work; sets meta's node count and dims where they tell. */
struct gnn_node_files {
    bool labels, dense, sparse, train;
    char label_path[GNN_OUTPUT_PATH];
    char feature_path[GNN_OUTPUT_PATH];   /* dense */
    char sparse_path[4][GNN_OUTPUT_PATH]; /* data, indices, indptr, shape */
    char split_path[3][GNN_OUTPUT_PATH];  /* train, valid, test; empty = missing */
    bool split_present[3];
};
GNN_MUST_CHECK enum gnn_status gnn_import_find_nodes(struct gnn_importer *importer, struct gnn_node_files *out,
                                                     struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_import_labels(struct gnn_importer *importer, const struct gnn_node_files *files,
                                                 struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_import_splits(struct gnn_importer *importer, const struct gnn_node_files *files,
                                                 struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_import_features(struct gnn_importer *importer, const struct gnn_node_files *files,
                                                   struct gnn_err *err);

#endif
