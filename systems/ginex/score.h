/* SPDX-License-Identifier: MIT */
/* The nodes that are worth caching: score(v) = (outdeg + 1e-8) / (indeg + 1e-8) in single precision. A node with many
 * out-edges is sampled often. A node with few in-edges has a short list.
 *
 * Source   Ginex (PVLDB 15(11), 2022), neighbour cache.
 * Differs  Nodes are not sorted. Counting finds the score at which the budget is used up (two passes over 2^16 bins of
 *          the score's bits). Equal scores are ordered by node ID; the released code's sort leaves their order
 *          undefined. */
#ifndef GINEX_SCORE_H
#define GINEX_SCORE_H

#include "harness/system/system.h"

struct gnn_stream;
struct gnn_span_reader;

/* The topology file, read from end to end at open: once for the out-degrees, again to copy lists. */
struct ginex_scan {
    const struct gnn_env *env;
    struct gnn_stream *indices;
    struct gnn_span_reader *reader;
    uint64_t next_bytes;  /* offset of the next read */
    uint32_t *out_degree; /* (node_count) */
};
/* Counts every node's occurrences in the neighbour lists in one pass over the file, which the caller keeps open.
 * Returns GNN_EFORMAT if a neighbour is outside the graph. The caller must close the scan even after a failure. */
GNN_MUST_CHECK enum gnn_status ginex_scan_open(const struct gnn_env *env, struct gnn_file *indices,
                                               struct ginex_scan *out, struct gnn_err *err);
void ginex_scan_close(struct ginex_scan *scan); /* accepts a zeroed one */
uint64_t ginex_scan_bytes(const struct gnn_env *env);
/* Starts another pass over the file. ginex_scan_next returns it in pieces of IDs, as wide as the dataset stores them;
 * after the last, *ids is NULL. A piece stays valid until the next call. */
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
    bool skip_isolated; /* leaves out nodes without in-edges: their empty lists are never read */
    uint64_t nodes, cost;
};

enum ginex_cost {
    GINEX_COST_LIST, /* indeg + 1: words of a cached list */
    GINEX_COST_ROW,  /* 1 */
};

enum { GINEX_CHOICE_PASSES = 3 }; /* over all nodes: for what callers charge the simulated world */

/* Chooses the nodes. The choice refers to dataset and out_degree, which must outlive it. Returns GNN_ENOMEM if a table
 * does not fit. */
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
