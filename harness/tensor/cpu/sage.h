/* SPDX-License-Identifier: MIT */
/* The CPU back-end's ops for a layer of GraphSAGE (harness/tensor/sage.h). */
#ifndef GNN_TENSOR_CPU_SAGE_H
#define GNN_TENSOR_CPU_SAGE_H

#include "harness/tensor/sage.h"

extern const struct gnn_sage_ops gnn_cpu_sage;

#endif
