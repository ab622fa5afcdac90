/* SPDX-License-Identifier: MIT */
/* The arithmetic of link prediction, which node classification does not use. A separate table, because a back-end may
 * lack it (ops->link is NULL). Same rules as tensor_ops: row-major matrices of this back-end's memory, lists on the
 * host, sizes trusted and asserted, no errors.
 *
 * A decoder turns one end and the relation into a query. The query q = combine(a, r) is scored against the other end,
 * x:
 *
 *   DistMult   q = a * r, element by element                  score = <q, x>          (Yang et al. 2015)
 *   ComplEx    the same for complex numbers: the first half   score = Re <q, conj x>  (Trouillon et al. 2016)
 *              of a row holds real parts, the second               = <q, x> as rows of reals
 *              imaginary ones
 *   TransE     q = a + r                                      score = -|q - x|        (Bordes et al. 2013, L2) */
#ifndef GNN_TENSOR_LINK_H
#define GNN_TENSOR_LINK_H

#include "harness/tensor/tensor.h"

enum gnn_decoder { GNN_DECODER_DISTMULT, GNN_DECODER_COMPLEX, GNN_DECODER_TRANSE, GNN_DECODER_KINDS };

struct gnn_adagrad {
    double lr, eps; /* step = -lr * g / (sqrt(state + g^2) + eps) */
};

struct gnn_link_ops {
    /* Sets q = combine(a, r), all of one shape. */
    void (*combine)(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat q, struct gnn_mat a,
                    struct gnn_mat r);
    /* Writes the gradients of a and r from that of q. */
    void (*combine_back)(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat da, struct gnn_mat dr,
                         struct gnn_mat dq, struct gnn_mat a, struct gnn_mat r);

    /* Sets out[i] to the score of row i of q against row i of x. */
    void (*pair_scores)(struct gnn_tensor *t, enum gnn_decoder decoder, gnn_real *out, struct gnn_mat q,
                        struct gnn_mat x);
    /* Adds to dq and writes dx, given the gradient g (rows) of pair_scores. The distance of equal rows has gradient
     * 0. */
    void (*pair_scores_back)(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dq, struct gnn_mat dx,
                             const gnn_real *g, struct gnn_mat q, struct gnn_mat x);

    /* Replaces scores (rows of q, rows of x), which hold <q_i, x_j>, by -|q_i - x_j|, for TransE against shared
     * candidates. Computed from |q|^2 + |x|^2 - 2 <q, x>. */
    void (*distances)(struct gnn_tensor *t, struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x);
    /* Computes the part of the gradient of `distances` that is not a matrix product. The scores' gradient g is replaced
     * by w = g / distance. Written are dq = -(sum_j w_ij) q_i and dx = -(sum_i w_ij) x_j. The caller adds w x and w^T
     * q. */
    void (*distances_back)(struct gnn_tensor *t, struct gnn_mat g, struct gnn_mat scores, struct gnn_mat q,
                           struct gnn_mat x, struct gnn_mat dq, struct gnn_mat dx);

    /* Adds sum_i (log(exp(positive[i]) + sum_j exp(scores[i][j])) - positive[i]) to *loss and replaces all scores by
     * its gradient. positive[i] is the positive score of row i. On the host, own[j] is the row for which candidate j is
     * masked, or GNN_NODE_NONE. The host's *loss is updated by the next synchronize; until then all calls pass the same
     * pointer. */
    void (*loss)(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own, double *loss);

    /* Adds x[i] to table[rows[i]], the transpose of gather_rows. rows is on the host. If rows repeat, their values are
     * added in the order of the list. */
    void (*scatter_add)(struct gnn_tensor *t, gnn_real *table, const uint32_t *rows, struct gnn_mat x);

    /* Does state += g^2, then value -= lr g / (sqrt(state) + eps), over count elements. A gradient of 0 changes
     * nothing, so rows of a table that no edge touched can be left out. */
    void (*adagrad)(struct gnn_tensor *t, gnn_real *value, const gnn_real *grad, gnn_real *state, uint64_t count,
                    const struct gnn_adagrad *adagrad);

    /* Adds to dx the gradient of weight * sum |x_c|^3, which is 3 weight |x_c| x_c. The terms are the reals of x.
     * With ComplEx they are its complex numbers, and |x_c| is the modulus. Optional: NULL in a back-end without it. */
    void (*cubes_back)(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dx, double weight,
                       struct gnn_mat x);
};

/* clang-format off */
#define GNN_LINK_OPS(X) \
    X(combine) X(combine_back) X(pair_scores) X(pair_scores_back) X(distances) X(distances_back) X(loss) \
    X(scatter_add) X(adagrad) X(cubes_back)
/* clang-format on */

/* The type of an op's function. */
#define GNN_LINK_OP(op) __typeof__(*((struct gnn_link_ops *)0)->op)

#endif
