/* SPDX-License-Identifier: MIT */
/* tensor_ops on a device: open, close and the table. Everything that touches CUDA is behind runtime.h, so these files
 * are compiled by nvcc for the plugin and by a C++ compiler for the tests; state.h says which holds what. */
#include "harness/tensor/cuda/state.h"

static enum gnn_status cuda_check(struct gnn_tensor *t, struct gnn_err *err)
{
    const struct cuda_backend *b = cuda_backend_of(t);
    if (b->status != GNN_OK)
        return gnn_fail(err, b->status, "%s", b->err.message);
    return gnn_device_check(b->device, err);
}

void cuda_close(struct gnn_tensor *t)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(b->group.comm == NULL); /* left: closing waits for the stream, which may wait for others */
    if (b->device != NULL) {
        cuda_leave_capture(b, "close");
        gnn_device_synchronize(b->device);
        cuda_lanes_close(b);
        cuda_pinned_free(b, &b->staging);
        cuda_pinned_free(b, &b->result);
        cuda_pool_close(b);
        gnn_device_close(b->device);
    }
    delete b;
}

static enum gnn_status cuda_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                 struct gnn_tensor **out, struct gnn_err *err)
{
    (void)profile;
    assert(env->alloc != NULL);
    assert(env->free != NULL);
    struct cuda_backend *b = new (std::nothrow) cuda_backend();
    if (b == NULL)
        return gnn_fail(err, GNN_ENOMEM, "CUDA back-end (%zu bytes)", sizeof *b);
    b->base.ops = &gnn_tensor_cuda;
    b->env = *env;
    b->choice.graphs = env->graphs;
    b->choice.clock = env->now_ns != NULL;
    for (uint32_t slot = 0; slot < GNN_STEP_GRAPHS; slot++)
        b->graphs[slot] = slot;
    enum gnn_status status = gnn_device_open(env->device, env->precision, &b->device, err);
    if (status == GNN_OK)
        b->base.memory_bytes = gnn_device_memory_bytes(b->device);
    if (status == GNN_OK)
        gnn_device_identify(b->device, &b->base.gpu);
    if (status == GNN_OK)
        status = cuda_pinned_reserve(b, &b->staging, "staging of the CUDA back-end", GNN_TENSOR_STAGING_BYTES, err);
    if (status == GNN_OK)
        status = cuda_pinned_reserve(b, &b->result, "results of a step", sizeof(struct cuda_results), err);
    if (status == GNN_OK)
        *out = &b->base;
    else
        cuda_close(&b->base);
    return status;
}

/* C++ wants the entries in the order of their declaration. */
const struct gnn_tensor_ops gnn_tensor_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .upload_async = cuda_upload_async,
    .upload_wait = cuda_upload_wait,
    .upload_rows = cuda_upload_rows,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .event_record = cuda_event_record,
    .event_await = cuda_event_await,
    .event_wait = cuda_event_wait,
    .resident_open = cuda_resident_open,
    .resident_close = cuda_resident_close,
    .resident_stage = cuda_resident_stage,
    .resident_use = cuda_resident_use,
    .step_begin = cuda_step_begin,
    .step_end = cuda_step_end,
    .take_times = cuda_take_times,
    .range = cuda_range,
    .fill = cuda_fill,
    .copy = cuda_copy,
    .gather_rows = cuda_gather_rows,
    .gather_halves = cuda_gather_halves,
    .gather_placed = cuda_gather_placed,
    .gemm = cuda_gemm,
    .add_bias = cuda_add_bias,
    .column_sum = cuda_column_sum,
    .add = cuda_add,
    .segment_reduce = cuda_segment_reduce,
    .segment_reduce_back = cuda_segment_reduce_back,
    .gcn_weights = cuda_gcn_weights,
    .spmm = cuda_spmm,
    .spmm_back = cuda_spmm_back,
    .gat_scores = cuda_gat_scores,
    .gat_softmax = cuda_gat_softmax,
    .gat_attend = cuda_gat_attend,
    .gat_back = cuda_gat_back,
    .head_mean = cuda_head_mean,
    .head_mean_back = cuda_head_mean_back,
    .activate = cuda_activate,
    .activate_back = cuda_activate_back,
    .softmax_nll = cuda_softmax_nll,
    .adam = cuda_adam,
    .synchronize = cuda_synchronize,
    .check = cuda_check,
    .link = &gnn_cuda_link,
    .group = &gnn_cuda_group,
    .gat_rows = nullptr, /* no kernels: rows are mapped first */
    .sage = nullptr,     /* a step is one graph of its ops anyway */
};
