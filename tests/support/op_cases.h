/* SPDX-License-Identifier: MIT */
/* Every op of tensor_ops over a table of shapes and variants, against the reference. */
#ifndef GNN_TESTS_OP_CASES_H
#define GNN_TESTS_OP_CASES_H

#include "harness/tensor/tensor.h"

/* How the back-end rounds sums. */
enum op_rounding {
    OP_ROUNDING_TWICE,  /* a product, then the sum that it is added to, in the order of the reference */
    OP_ROUNDING_PIECES, /* the same, but the edges of a source are summed in pieces of 64 */
    OP_ROUNDING_FUSED   /* in pieces, and product and sum at once: a GPU, unless its compiler is told not to */
};

/* Fails the test where the back-end's result is further from the reference's than the op's tolerance. A back-end
 * without an op has NULL in its table: the pair is printed as skipped. Everything lies in memory of the back-end's own
 * alloc and goes there and back by its upload and download. */
void op_cases_against_reference(const struct gnn_tensor_ops *table, enum op_rounding rounding);
/* Fails where a second run gives other bits. on_threads: also where one does on two of the host's threads, of a
 * back-end that computes on them; prints where they differ from one. */
void op_cases_same_bits(const struct gnn_tensor_ops *table, bool on_threads);
/* Fails where 2, 3 or 5 threads give other bits than one. */
void op_cases_same_bits_on_threads(const struct gnn_tensor_ops *table);
/* Fails where an activation turns what is no number into a number: the run would pass for a sound one. */
void op_cases_pass_nan_on(const struct gnn_tensor_ops *table);

#endif
