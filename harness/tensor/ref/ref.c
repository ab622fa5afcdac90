/* SPDX-License-Identifier: MIT */
/* The oracle: plain loops in the order of the formulas, in float or in double. */
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/host.h"
#include "harness/tensor/ref/link.h"

static enum gnn_status ref_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                struct gnn_tensor **out, struct gnn_err *err)
{
    return gnn_host_open(&gnn_tensor_ref, env, out, err);
}

#define HOST(op) .op = gnn_host_##op,
#define REF(op) .op = gnn_ref_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_ref = {
    .name = "ref", .open = ref_open, .gemm = gnn_ref_gemm, .link = &gnn_ref_link,
    .gat_rows = &gnn_ref_gat_rows,
    GNN_TENSOR_MEMORY_OPS(HOST) GNN_TENSOR_PLAIN_OPS(REF) GNN_TENSOR_TUNED_OPS(REF)
};
/* clang-format on */
