/* SPDX-License-Identifier: MIT */
/* The steps of an import, in their order. Internal to harness/dataset/. */
#ifndef GNN_DATASET_IMPORT_PARTS_H
#define GNN_DATASET_IMPORT_PARTS_H

#include "harness/dataset/array_files.h"
#include "harness/dataset/edge_line.h"
#include "harness/dataset/output.h"
#include "harness/graph/knowledge.h"

#include <assert.h>

enum {
    GNN_IMPORT_CLASSES_MAX = 1 << 24, /* the last layer has a row per class; a label above is an error in the input */
    GNN_IMPORT_RESERVE = 2 << 20,     /* of the memory bound: input windows, zlib, output buffers */
};

/* What the edges of an input state and reveal. */
struct gnn_edge_report {
    bool text; /* the next fields up to lines are of a text */
    char path[GNN_OUTPUT_PATH];
    struct gnn_edge_facts facts;
    bool unended;                      /* its last line has no line end */
    uint32_t extra;                    /* columns behind the node IDs */
    uint64_t first_line, heading_line; /* of the first pair and of the names of columns; 0: none */
    uint64_t lines;                    /* of edges */
    uint64_t edges;                    /* of the input */
    uint64_t first[2];                 /* ends of the first edge */
    uint64_t rest_largest;             /* node ID of the other edges */
    uint64_t directions;               /* 0: every edge occurs as often in either direction (a sum of hashes) */
    uint64_t repeats;                  /* stored edges equal to the one before */
    uint64_t isolated;                 /* nodes without stored edges */
    bool first_isolated;               /* node 0 is one of them */
};

struct gnn_importer {
    const struct gnn_import_source *source;
    const struct gnn_import_options *options;
    const struct gnn_prepare_job *job;
    struct gnn_output output;
    struct gnn_meta meta;                  /* filled as the steps finish */
    const struct gnn_knowledge *generated; /* source of the edges instead of files; NULL: files */
    uint64_t generated_first[4];           /* first edge of each of its splits, and the end of the last */
    struct gnn_edge_report report;         /* filled as edges and lists are finished */
    bool nodes_known;                      /* from labels or features; else the largest ID defines the number */
    uint32_t labelled;                     /* the first nodes, which can have labels; 0: all can */
    const char *nodes_from;                /* file or option that defines it, for messages */
    const struct gnn_array_files *arrays;  /* of an import from arrays; else NULL */
};

/* Returns the bytes of memory that the large structures of a step may use. */
static inline uint64_t gnn_import_budget(const struct gnn_importer *importer)
{
    assert(importer->options->memory_bytes > GNN_IMPORT_RESERVE);
    return importer->options->memory_bytes - GNN_IMPORT_RESERVE;
}

/* Checks that --from is what its format requires. Returns GNN_ENOENT, GNN_EPERM or GNN_EUSAGE; the message states what
 * the format requires and, if it is clear, what to write instead. */
GNN_MUST_CHECK enum gnn_status gnn_import_check_kind(const struct gnn_import_source *source, struct gnn_err *err);

/* Checks the start of the edge file of an input other than a knowledge graph: its first edge, or its NumPy header.
 * Returns GNN_EFORMAT, or errors of opening it. */
GNN_MUST_CHECK enum gnn_status gnn_import_check_edges(const struct gnn_import_source *source,
                                                      const struct gnn_import_options *options, struct gnn_err *err);

/* Returns whether the directory has the training edges of a knowledge graph. */
bool gnn_import_has_triples(const char *dir);

/* Writes indptr and indices from the edges: transforms each edge, sorts by (target, source) in bounded memory, writes
 * lists. Sets meta's node count unless it is known. Returns GNN_EFORMAT for an edge outside the known nodes or an input
 * without edges, or GNN_ECAP if the memory bound is too small. */
GNN_MUST_CHECK enum gnn_status gnn_import_topology(struct gnn_importer *importer, struct gnn_err *err);

/* Writes indptr and indices from sorted keys target << 32 | source, with IDs below meta's node count. Sets meta's edge
 * count. */
struct gnn_sorter;
GNN_MUST_CHECK enum gnn_status gnn_import_lists(struct gnn_importer *importer, struct gnn_sorter *sorter,
                                                struct gnn_err *err);

/* Compares the edges with what the input states, after the last edge. Warns of the differences. Returns GNN_EFORMAT for
 * an input that would make a useless dataset. */
GNN_MUST_CHECK enum gnn_status gnn_import_judge_counts(struct gnn_importer *importer, struct gnn_err *err);
/* The same for the lists, after they are written. Returns GNN_EUSAGE if nearly all nodes have no edge. */
GNN_MUST_CHECK enum gnn_status gnn_import_judge_lists(struct gnn_importer *importer, struct gnn_err *err);

/* Imports a knowledge graph, from its first line to the last file. Opens the output. */
GNN_MUST_CHECK enum gnn_status gnn_import_triples(struct gnn_importer *importer, struct gnn_err *err);

/* Generates a knowledge graph of the registry. Errors as for gnn_prepare_generate(). */
GNN_MUST_CHECK enum gnn_status gnn_prepare_knowledge(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                                     const struct gnn_generate_options *options,
                                                     const struct gnn_prepare_job *job, struct gnn_err *err);

/* The files of the input. gnn_import_find_nodes() finds them before any work, and sets meta's node count and
 * widths if they are known. It returns GNN_ENOENT for a missing file, GNN_EUSAGE for options that do not fit the input,
 * or GNN_EFORMAT. */
struct gnn_node_files {
    bool labels, dense, sparse, train;
    struct gnn_array_files arrays;
};
GNN_MUST_CHECK enum gnn_status gnn_import_find_nodes(struct gnn_importer *importer, struct gnn_node_files *out,
                                                     struct gnn_err *err);
/* Checks that every part is there, or may be drawn at random. Returns GNN_EUSAGE, or GNN_ENOENT if a published dataset
 * has the part. */
GNN_MUST_CHECK enum gnn_status gnn_import_check_parts(const struct gnn_importer *importer,
                                                      const struct gnn_node_files *files, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_import_labels(struct gnn_importer *importer, const struct gnn_node_files *files,
                                                 struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_import_splits(struct gnn_importer *importer, const struct gnn_node_files *files,
                                                 struct gnn_err *err);
/* Adds the members of the given splits to the sorter, as (node << 2 | split). Returns GNN_EFORMAT for a node outside
 * the nodes, or for a file without a list of nodes. */
GNN_MUST_CHECK enum gnn_status gnn_import_split_members(const struct gnn_importer *importer,
                                                        const struct gnn_node_files *files, struct gnn_sorter *sorter,
                                                        struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_import_features(struct gnn_importer *importer, const struct gnn_node_files *files,
                                                   struct gnn_err *err);

#endif
