/* SPDX-License-Identifier: MIT */
/* GAT's ops: which kernels of attention.h they launch. */
#include "harness/tensor/cuda/attention.h"
#include "harness/tensor/cuda/sum_sources.h"

static struct gnn_cuda_attention attention_of(const struct gnn_attention *att)
{
    assert(att->u.cols % att->heads == 0);
    return {
        att->heads, att->u.cols / att->heads, att->slope, att->a_src, att->a_dst, att->u.data, att->s.data, att->d.data,
        att->alpha};
}

void cuda_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    GNN_LAUNCH_WARPS(cuda_backend_of(t)->device, gnn_cuda_gat_scores, (uint64_t)att->u.rows * att->heads,
                     attention_of(att), att->u.rows, att->d.rows);
}

void cuda_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *host)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const struct gnn_cuda_block *r = cuda_need_block(b, host);
    if (r != NULL)
        GNN_LAUNCH(b->device, gnn_cuda_gat_softmax, (uint64_t)host->dst_count * att->heads, attention_of(att), *r);
}

void cuda_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                     const struct gnn_block *host)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const struct gnn_cuda_block *r = cuda_need_block(b, host);
    if (r != NULL)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gat_attend, host->dst_count, out.data, attention_of(att), *r);
}

/* out (heads * channels) = sum over nodes of dscore u, in parts. */
static void weight_gradient(struct cuda_backend *b, float *out, const float *dscore, const struct gnn_cuda_attention *a,
                            uint32_t nodes)
{
    const uint32_t width = a->heads * a->channels, parts = cuda_column_parts(b, nodes);
    float *partial = (float *)b->partial.data;
    GNN_LAUNCH(b->device, gnn_cuda_gat_da, parts * (uint64_t)width, partial, dscore, *a, nodes, parts);
    cuda_column_total(b, out, partial, width, parts);
}

void cuda_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                   const struct gnn_block *host, struct gnn_mat dout)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(dout.rows == host->dst_count);
    assert(dout.cols == att->u.cols);
    const struct gnn_cuda_attention a = attention_of(att);
    const struct gnn_cuda_block *r = cuda_need_transpose(b, host);
    if (r == NULL || !cuda_reserve(b, &b->partial, "partial sums",
                                   cuda_column_parts(b, host->src_count) * (uint64_t)att->u.cols * sizeof(float)))
        return;
    const uint64_t targets = (uint64_t)host->dst_count * att->heads;
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_gat_dalpha, targets, grad->dalpha, a, *r, dout.data);
    GNN_LAUNCH(b->device, gnn_cuda_gat_dscore, targets, grad->dalpha, grad->dd.data, a, *r);
    cuda_sum_sources(b, grad->ds.data, r, gnn_cuda_dscore_term{att->heads, grad->dalpha});
    cuda_sum_sources(b, grad->du.data, r, gnn_cuda_du_term{att->u.cols, a, grad->ds.data, grad->dd.data, dout.data});
    weight_gradient(b, grad->da_src, grad->ds.data, &a, host->src_count);
    weight_gradient(b, grad->da_dst, grad->dd.data, &a, host->dst_count);
}
