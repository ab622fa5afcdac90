/* SPDX-License-Identifier: MIT */
/* Which nodes are worth keeping: score(v) = (outdeg + 1e-8) / (indeg + 1e-8) in single precision. A node with many
 * out-edges is sampled often, one with few in-edges has a short list.
 *
 * Source   Ginex (PVLDB 15(11), 2022), neighbour cache
 * Differs  no sorting: the score at which the budget runs out is found by counting (two passes over 2^16 bins of the
 *          score's bits); equal scores go by node ID, where the released code's sort leaves them as they fall */
#ifndef GINEX_SCORE_H
#define GINEX_SCORE_H

#include "harness/system/system.h"

struct gnn_stream;
struct gnn_span_reader;

/* The topology file read from end to end, at open: once for the out-degrees, again to copy lists. */
struct ginex_scan {
    const struct gnn_env *env;
    struct gnn_stream *indices;
    struct gnn_span_reader *reader;
    uint64_t next_bytes;  /* where the next read begins */
    uint32_t *out_degree; /* (node_count) */
};
/* Counts every node's occurrences in the neighbour lists: one pass over the file, which stays the caller's. GNN_EFORMAT
 * for a neighbour outside the graph. After a failure the scan is still to be closed. */
GNN_MUST_CHECK enum gnn_status ginex_scan_open(const struct gnn_env *env, struct gnn_file *indices,
                                               struct ginex_scan *out, struct gnn_err *err);
void ginex_scan_close(struct ginex_scan *scan); /* accepts a zeroed one */
uint64_t ginex_scan_bytes(const struct gnn_env *env);
/* Another pass: the file from its beginning, in pieces that stay valid until the next call: IDs as wide as the dataset
 * stores them. After the last *ids is NULL. */
void ginex_scan_start(struct ginex_scan *scan);
GNN_MUST_CHECK enum gnn_status ginex_scan_next(struct ginex_scan *scan, const void **ids, uint64_t *first_edge,
                                               uint64_t *count, struct gnn_err *err);

/* The longest prefix of all nodes, in descending order of score, whose costs stay within the budget. */
struct ginex_choice {
    const struct gnn_dataset *dataset;
    const uint32_t *out_degree; /* (node_count) */
    uint32_t key;               /* bits of the lowest score chosen */
    gnn_node last;              /* of the nodes with that score, those up to this ID */
    bool any;
    bool skip_isolated; /* nodes without in-edges are left out: their empty lists are never looked up */
    uint64_t nodes, cost;
};

enum ginex_cost {
    GINEX_COST_LIST, /* indeg + 1: words of a cached list */
    GINEX_COST_ROW,  /* 1 */
};

enum { GINEX_CHOICE_PASSES = 3 }; /* over all nodes: what the simulated world charges its callers for */

/* The choice refers to dataset and out_degree. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status ginex_choose(const struct gnn_dataset *dataset, const uint32_t *out_degree,
                                            enum ginex_cost cost, uint64_t budget, bool skip_isolated,
                                            struct ginex_choice *out, struct gnn_err *err);
bool ginex_chosen(const struct ginex_choice *choice, gnn_node v);

/* The `rows` nodes with the highest scores, ascending by ID. */
struct ginex_top_nodes {
    gnn_node *node; /* (count); gnn_mem_free */
    uint32_t count;
};
GNN_MUST_CHECK enum gnn_status ginex_top_nodes_open(const struct ginex_scan *scan, uint32_t rows,
                                                    struct ginex_top_nodes *out, struct gnn_err *err);

#endif
