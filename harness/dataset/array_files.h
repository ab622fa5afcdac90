/* SPDX-License-Identifier: MIT */
/* The files of an import from arrays: where each part of the graph is, and in which form. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_ARRAY_FILES_H
#define GNN_DATASET_ARRAY_FILES_H

#include "harness/dataset/edge_arrays.h"

enum { GNN_FIND_SPLITS = 3 };

enum gnn_split_form {
    GNN_SPLIT_NONE,
    GNN_SPLIT_LINES, /* text with a node ID per line, as OGB's train.csv */
    GNN_SPLIT_IDS,   /* an array of node IDs, or of a truth value per node */
    GNN_SPLIT_MASK,  /* an array of a truth value per node; of several such rows or columns, the first */
    GNN_SPLIT_TORCH, /* a member of a dictionary that torch.save wrote */
};

struct gnn_split_file {
    enum gnn_split_form form;
    char path[GNN_OUTPUT_PATH];
};

/* The files of an import from arrays. An empty path: missing. */
struct gnn_array_files {
    struct gnn_edge_files edges;
    char label_path[GNN_OUTPUT_PATH];
    char feature_path[GNN_OUTPUT_PATH];           /* dense */
    char sparse_path[4][GNN_OUTPUT_PATH];         /* data, indices, indptr, shape */
    struct gnn_npy_header label_raw, feature_raw; /* of files without a header; zero: the file has its own */
    struct gnn_split_file split[GNN_FIND_SPLITS]; /* train, valid, test */
    char split_dir[GNN_OUTPUT_PATH];              /* where they were found; "" if in the folder that was searched */
    uint64_t nodes;                               /* as conf.json or num-node-list.csv states them; 0: unknown */
};

#endif
