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
    (void)profile;
    openblas_set_num_threads((int)env->threads);
    return gnn_host_open(&gnn_tensor_cpu, env, out, err);
}

static void cpu_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                     struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    (void)t;
    const uint32_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    assert(a.rows <= INT32_MAX);
    assert(b.rows <= INT32_MAX);
    assert(c.rows <= INT32_MAX);
    cblas_sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans,
                (blasint)c.rows, (blasint)c.cols, (blasint)inner, alpha, a.data, (blasint)a.cols, b.data,
                (blasint)b.cols, beta, c.data, (blasint)c.cols);
}

const struct gnn_tensor_ops gnn_tensor_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = gnn_host_close,
    .alloc = gnn_host_alloc,
    .free = gnn_host_free,
    .upload = gnn_host_upload,
    .upload_async = gnn_host_upload_async,
    .upload_wait = gnn_host_upload_wait,
    .download = gnn_host_download,
    .fill = gnn_ref_fill,
    .copy = gnn_host_copy,
    .gather_rows = gnn_ref_gather_rows,
    .gemm = cpu_gemm,
    .add_bias = gnn_ref_add_bias,
    .column_sum = gnn_cpu_column_sum,
    .add = gnn_ref_add,
    .segment_reduce = gnn_cpu_segment_reduce,
    .segment_reduce_back = gnn_cpu_segment_reduce_back,
    .gcn_weights = gnn_ref_gcn_weights,
    .spmm = gnn_cpu_spmm,
    .spmm_back = gnn_cpu_spmm_back,
    .gat_scores = gnn_cpu_gat_scores,
    .gat_softmax = gnn_cpu_gat_softmax,
    .gat_attend = gnn_cpu_gat_attend,
    .gat_back = gnn_cpu_gat_back,
    .head_mean = gnn_ref_head_mean,
    .head_mean_back = gnn_ref_head_mean_back,
    .activate = gnn_cpu_activate,
    .activate_back = gnn_cpu_activate_back,
    .softmax_nll = gnn_cpu_softmax_nll,
    .adam = gnn_ref_adam,
    .synchronize = gnn_host_synchronize,
};
