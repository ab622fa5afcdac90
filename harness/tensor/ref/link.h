/* SPDX-License-Identifier: MIT */
/* The reference's link ops by name. Another host back-end can use those for which a plain loop is fast enough. Meaning
 * and shapes: harness/tensor/link.h. */
#ifndef GNN_TENSOR_REF_LINK_H
#define GNN_TENSOR_REF_LINK_H

#include "harness/tensor/link.h"
#include "harness/tensor/ref/ref.h"

#define GNN_REF_LINK_OP(op) GNN_LINK_OP(op) gnn_ref_link_##op;
GNN_LINK_OPS(GNN_REF_LINK_OP)
#undef GNN_REF_LINK_OP

extern const struct gnn_link_ops gnn_ref_link;

#endif
