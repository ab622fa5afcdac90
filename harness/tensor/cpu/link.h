/* SPDX-License-Identifier: MIT */
/* The CPU back-end's link ops (harness/tensor/link.h). */
#ifndef GNN_TENSOR_CPU_LINK_H
#define GNN_TENSOR_CPU_LINK_H

#include "harness/tensor/link.h"

extern const struct gnn_link_ops gnn_cpu_link;

#endif
