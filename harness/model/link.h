/* SPDX-License-Identifier: MIT */
/* Link prediction on top of node vectors: a decoder (harness/tensor/link.h) with a vector for each relation, the loss
 * against negatives that edges share, its gradient, and the step of the relations. docs/link-prediction.md has the
 * formulas; they are MariusGNN's (EuroSys 2023, section 6; Marius, OSDI 2021, section 2).
 *
 * An edge (s, r, d) is scored twice, with two tables of relations: (s, r) against d and against nodes in d's place, and
 * (d, r inverse) against s and against nodes in s's place. A mini-batch is cut into chunks; the edges of a chunk share
 * the nodes they are compared with, so that scores are one product a chunk and side.
 *
 * Not thread-safe: one trainer thread at a time. Workspaces grow at warm-up. */
#ifndef GNN_MODEL_LINK_H
#define GNN_MODEL_LINK_H

#include "harness/base/link_view.h"
#include "harness/model/optimizer.h"
#include "harness/tensor/link.h"
#include "harness/tensor/tensor.h"

extern const char *const gnn_decoder_words[]; /* "distmult", "complex", "transe", NULL */

struct gnn_link_config {
    enum gnn_decoder decoder;
    enum gnn_optimizer optimizer;
    uint32_t dim; /* of node and relation vectors; even for ComplEx */
    uint32_t relations;
    double lr;
};

struct gnn_link;

/* GNN_EUSAGE: a decoder, a dimension or a learning rate that cannot be. GNN_ENOTSUP: the back-end has no link ops. */
GNN_MUST_CHECK enum gnn_status gnn_link_open(struct gnn_tensor *tensor, const struct gnn_link_config *config,
                                             struct gnn_link **out, struct gnn_err *err);
void gnn_link_close(struct gnn_link *link); /* accepts NULL */

/* Scores the edges, writes the loss's gradient with respect to the node vectors, and takes a step of the relations.
 * h (node_count, dim); dh likewise, written. *loss: summed over edges and sides. *finite: it is a number; true where
 * nothing is computed. */
GNN_MUST_CHECK enum gnn_status gnn_link_train(struct gnn_link *link, const struct gnn_link_view *view,
                                              const gnn_real *h, gnn_real *dh, double *loss, bool *finite,
                                              struct gnn_err *err);

/* Queries of one side for scoring: q (count, dim) = combine(h[end[i]], relation[i]) with the side's table. side 1:
 * sources ask for targets; side 0: targets ask for sources. end and relation on the host, h a table of the back-end. */
GNN_MUST_CHECK enum gnn_status gnn_link_queries(struct gnn_link *link, uint32_t side, const gnn_real *h,
                                                const uint32_t *end, const uint32_t *relation, uint32_t count,
                                                struct gnn_mat q, struct gnn_err *err);
/* scores (q.rows, x.rows) of queries against candidates. */
void gnn_link_scores(struct gnn_link *link, struct gnn_mat q, struct gnn_mat x, struct gnn_mat scores);
/* out[i]: of query i against row i of x. */
void gnn_link_pair_scores(struct gnn_link *link, struct gnn_mat q, struct gnn_mat x, gnn_real *out);

/* The relations' values, gradients and state: [0] of (s, r), [1] of the inverse; each (relations, dim) on the
 * back-end. For tests, checkpoints and the record's model hash. */
struct gnn_link_table {
    gnn_real *value, *grad, *state;
    uint32_t rows, cols;
};
struct gnn_link_table gnn_link_relations(const struct gnn_link *link, uint32_t index);
/* Says how many steps made the relations' values and state what they are: Adam's correction goes on from there. */
void gnn_link_set_step(struct gnn_link *link, uint64_t step);

/* Bytes it will hold at most for mini-batches of at most these sizes, for memory plans. */
uint64_t gnn_link_bytes(const struct gnn_link_config *config, uint32_t chunk_edges, uint32_t negatives);

#endif
