/* The oracle: plain loops in the order of the formulas, in float or in double. */
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/host.h"

static enum gnn_status ref_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                struct gnn_tensor **out, struct gnn_err *err)
{
    (void)profile;
    return gnn_host_open(&gnn_tensor_ref, env, out, err);
}

const struct gnn_tensor_ops gnn_tensor_ref = {
    .name = "ref",
    .open = ref_open,
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
    .gemm = gnn_ref_gemm,
    .add_bias = gnn_ref_add_bias,
    .column_sum = gnn_ref_column_sum,
    .add = gnn_ref_add,
    .segment_reduce = gnn_ref_segment_reduce,
    .segment_reduce_back = gnn_ref_segment_reduce_back,
    .gcn_weights = gnn_ref_gcn_weights,
    .spmm = gnn_ref_spmm,
    .spmm_back = gnn_ref_spmm_back,
    .gat_scores = gnn_ref_gat_scores,
    .gat_softmax = gnn_ref_gat_softmax,
    .gat_attend = gnn_ref_gat_attend,
    .gat_back = gnn_ref_gat_back,
    .head_mean = gnn_ref_head_mean,
    .head_mean_back = gnn_ref_head_mean_back,
    .activate = gnn_ref_activate,
    .activate_back = gnn_ref_activate_back,
    .softmax_nll = gnn_ref_softmax_nll,
    .adam = gnn_ref_adam,
    .synchronize = gnn_host_synchronize,
};
