/* Which nodes are worth keeping: score(v) = (outdeg + 1e-8) / (indeg + 1e-8) in single precision. A node with many
 * out-edges is sampled often, one with few in-edges has a short list.
 *
 * Source   Ginex (PVLDB 15(11), 2022), neighbour cache; ginex.md section 2
 * Differs  no sorting: the score at which the budget runs out is found by counting (two passes over 2^16 bins of the
 *          score's bits); equal scores go by node ID, where the released code's sort leaves them as they fall */
#ifndef GINEX_SCORE_H
#define GINEX_SCORE_H

#include "harness/system/system.h"

struct gnn_stream;
struct gnn_span_reader;

enum { GINEX_SCAN_BYTES = 1 << 20, GINEX_SCAN_DEPTH = 4 }; /* of passes over the topology */

/* Counts every node's occurrences in the neighbour lists: one pass over the file. degree (node_count), zeroed.
 * GNN_EFORMAT for a neighbour outside the graph. */
GNN_MUST_CHECK enum gnn_status ginex_out_degrees(const struct gnn_env *env, struct gnn_span_reader *reader,
                                                 const struct gnn_stream *indices, uint32_t *degree,
                                                 struct gnn_err *err);

/* The longest prefix of all nodes, in descending order of score, whose costs stay within the budget. */
struct ginex_choice {
    uint32_t key;  /* bits of the lowest score chosen */
    gnn_node last; /* of the nodes with that score, those up to this ID */
    bool any;
    bool skip_isolated; /* nodes without in-edges are left out: their empty lists are never looked up */
    uint64_t nodes, cost;
};

enum ginex_cost {
    GINEX_COST_LIST, /* indeg + 1: words of a cached list */
    GINEX_COST_ROW,  /* 1 */
};

GNN_MUST_CHECK enum gnn_status ginex_choose(const struct gnn_dataset *dataset, const uint32_t *out_degree,
                                            enum ginex_cost cost, uint64_t budget, bool skip_isolated,
                                            struct ginex_choice *out, struct gnn_err *err);

bool ginex_chosen(const struct ginex_choice *choice, const struct gnn_dataset *dataset, const uint32_t *out_degree,
                  gnn_node v);

float ginex_score(uint32_t out_degree, uint64_t in_degree);

/* Calls the walk over the whole of an attached file in pieces of step_bytes. */
struct ginex_walk {
    const struct gnn_stream *stream;
    uint64_t at_bytes, step_bytes;
};
struct gnn_span;
bool ginex_walk_next(void *walk, struct gnn_span *out); /* a gnn_span_fn */

#endif
