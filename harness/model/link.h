/* SPDX-License-Identifier: MIT */
/* Link prediction on node vectors: a decoder (harness/tensor/link.h) with one vector per relation, its loss, the
 * gradient, and the update of the relations. The formulas are in docs/link-prediction.md. They are MariusGNN's (EuroSys
 * 2023, section 6; Marius, OSDI 2021, section 2).
 *
 * An edge (s, r, d) is scored twice, with two tables of relations. (s, r) is scored against d and against negatives in
 * the place of d. (d, r inverse) is scored against s and against negatives in the place of s. A mini-batch is cut into
 * chunks. The edges of a chunk share their negatives, so the scores of a chunk and side are one matrix product.
 *
 * Not thread-safe: one trainer thread at a time. Workspaces grow during warm-up. */
#ifndef GNN_MODEL_LINK_H
#define GNN_MODEL_LINK_H

#include "harness/base/link_view.h"
#include "harness/model/optimizer.h"
#include "harness/tensor/link.h"
#include "harness/tensor/tensor.h"

extern const char *const gnn_decoder_words[]; /* "distmult", "complex", "transe", NULL */

/* What the vectors of the relations are before the first step. */
enum gnn_relation_start {
    GNN_RELATIONS_IDENTITY, /* 1 in a product, 0 in a sum: scores depend on the vectors of the nodes alone */
    GNN_RELATIONS_RANDOM,   /* every real is uniform in [-1, 1), and depends on the seed */
    GNN_RELATION_STARTS
};
extern const char *const gnn_relation_start_words[]; /* "identity", "random", NULL */

struct gnn_link_config {
    enum gnn_decoder decoder;
    enum gnn_relation_start start;
    uint64_t seed; /* of GNN_RELATIONS_RANDOM */
    enum gnn_optimizer optimizer;
    uint32_t dim; /* columns of node and relation vectors; even for ComplEx */
    uint32_t relations;
    double lr;
    double n3; /* weight of the penalty on long vectors, 0 = none (docs/link-prediction.md) */
};

struct gnn_link;

/* Opens the decoder, with relations that begin as config->start; *out is the caller's to close.
 * On an error nothing is left open. GNN_EUSAGE: decoder, optimizer, dimension, relations or learning rate is invalid.
 * GNN_ENOTSUP: the back-end has no link ops, or lacks the one that config->n3 needs. */
GNN_MUST_CHECK enum gnn_status gnn_link_open(struct gnn_tensor *tensor, const struct gnn_link_config *config,
                                             struct gnn_link **out, struct gnn_err *err);
void gnn_link_close(struct gnn_link *link); /* accepts NULL */

/* Scores the edges, writes the gradient of the loss with respect to the node vectors, and updates the relations once.
 * The node vectors h (node_count, dim) are on the back-end; dh (node_count, dim) is overwritten. `*loss` is the sum
 * over edges and both sides, without the penalty. `*finite` is set if the loss is a finite number, or if the back-end
 * computes no values. Errors are those of the back-end. */
GNN_MUST_CHECK enum gnn_status gnn_link_train(struct gnn_link *link, const struct gnn_link_view *view,
                                              const gnn_real *h, gnn_real *dh, double *loss, bool *finite,
                                              struct gnn_err *err);

/* Writes the queries of one side: q (count, dim) = combine(h[end[i]], relation[i]) with the relations of that side.
 * With side 1 a source queries targets; with side 0 a target queries sources. end and relation (count) are on the host,
 * h is on the back-end. */
GNN_MUST_CHECK enum gnn_status gnn_link_queries(struct gnn_link *link, uint32_t side, const gnn_real *h,
                                                const uint32_t *end, const uint32_t *relation, uint32_t count,
                                                struct gnn_mat q, struct gnn_err *err);
/* Writes scores (q.rows, x.rows): every query against every candidate in x. */
void gnn_link_scores(struct gnn_link *link, struct gnn_mat q, struct gnn_mat x, struct gnn_mat scores);
/* Writes out (q.rows): out[i] is the score of query i against row i of x. */
void gnn_link_pair_scores(struct gnn_link *link, struct gnn_mat q, struct gnn_mat x, gnn_real *out);

/* Values, gradients and optimiser state of the relations, each (relations, dim) on the back-end. index 0 is the table
 * of (s, r), index 1 that of (d, r inverse). For tests, checkpoints and the record's model hash. */
struct gnn_link_table {
    gnn_real *value, *grad, *state;
    uint32_t rows, cols;
};
struct gnn_link_table gnn_link_relations(const struct gnn_link *link, uint32_t index);
/* Sets how many steps the relations' values and state have seen. Adam's bias correction continues from there. */
void gnn_link_set_step(struct gnn_link *link, uint64_t step);

/* Returns the largest size in bytes for mini-batches up to these sizes, for memory plans. */
uint64_t gnn_link_bytes(const struct gnn_link_config *config, uint32_t chunk_edges, uint32_t negatives);

#endif
