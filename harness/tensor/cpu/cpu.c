/* BLAS for the products, vector loops for the rest. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/host.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <cblas.h>

/* The thread count of OpenBLAS belongs to the process: the back-end opened last decides. */
static enum gnn_status cpu_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                struct gnn_tensor **out, struct gnn_err *err)
{
    openblas_set_num_threads((int)env->threads);
    return gnn_host_open(&gnn_tensor_cpu, env, out, err);
}

static void cpu_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                     struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    const uint32_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    assert(a.rows <= INT32_MAX);
    assert(b.rows <= INT32_MAX);
    assert(c.rows <= INT32_MAX);
    cblas_sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans,
                (blasint)c.rows, (blasint)c.cols, (blasint)inner, alpha, a.data, (blasint)a.cols, b.data,
                (blasint)b.cols, beta, c.data, (blasint)c.cols);
}

#define HOST(op) .op = gnn_host_##op,
#define REF(op) .op = gnn_ref_##op,
#define CPU(op) .op = gnn_cpu_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_cpu = {
    .name = "cpu", .open = cpu_open, .gemm = cpu_gemm,
    GNN_TENSOR_MEMORY_OPS(HOST) GNN_TENSOR_PLAIN_OPS(REF) GNN_TENSOR_TUNED_OPS(CPU)
};
/* clang-format on */
