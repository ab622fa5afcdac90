/* SPDX-License-Identifier: MIT */
/* Ops over a block's rows: which kernels of sparse.h they launch. */
#include "harness/tensor/cuda/sparse.h"
#include "harness/tensor/cuda/sum_sources.h"

/* out = the rows' sums, by 16 bytes a lane where rows allow it. */
static void row_sum(struct cuda_backend *b, struct gnn_mat out, const struct gnn_cuda_block *block, struct gnn_mat x,
                    const float *weight, bool mean)
{
    if (x.cols % 4 == 0 && cuda_aligned16(out.data) && cuda_aligned16(x.data))
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_sum4, block->dst_count, (float4 *)(void *)out.data, *block,
                         (const float4 *)(const void *)x.data, x.cols / 4, weight, mean);
    else
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_sum, block->dst_count, out.data, *block, x.data, x.cols, weight, mean);
}

/* dx += the sources' sums over their targets, likewise. */
template <typename Factor>
static void source_sum(struct cuda_backend *b, struct gnn_mat dx, const struct gnn_cuda_block *block,
                       struct gnn_mat dout, const float *weight)
{
    if (dx.cols % 4 == 0 && cuda_aligned16(dx.data) && cuda_aligned16(dout.data))
        cuda_sum_sources(
            b, (float4 *)(void *)dx.data, block,
            gnn_cuda_target_term<float4, Factor>{dx.cols / 4, (const float4 *)(const void *)dout.data, weight});
    else
        cuda_sum_sources(b, dx.data, block, gnn_cuda_target_term<float, Factor>{dx.cols, dout.data, weight});
}

void cuda_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *host,
                         struct gnn_mat x, uint32_t *argmax)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(out.rows == host->dst_count);
    assert(x.rows == host->src_count);
    assert(out.cols == x.cols);
    const struct gnn_cuda_block *r = cuda_need_block(b, host);
    if (r == NULL)
        return;
    if (kind == GNN_REDUCE_MAX)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_max, host->dst_count, out.data, argmax, *r, x.data, x.cols);
    else
        row_sum(b, out, r, x, NULL, kind == GNN_REDUCE_MEAN);
}

void cuda_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                              const struct gnn_block *host, struct gnn_mat dout, const uint32_t *argmax)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(dout.rows == host->dst_count);
    assert(dx.rows == host->src_count);
    assert(dout.cols == dx.cols);
    const struct gnn_cuda_block *r = cuda_need_transpose(b, host);
    if (r == NULL)
        return;
    if (kind == GNN_REDUCE_MAX)
        cuda_sum_sources(b, dx.data, r, gnn_cuda_winner_term{dx.cols, dout.data, argmax});
    else if (kind == GNN_REDUCE_MEAN)
        source_sum<gnn_cuda_dst_part>(b, dx, r, dout, NULL);
    else
        source_sum<gnn_cuda_one>(b, dx, r, dout, NULL);
}

void cuda_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                      const struct gnn_block *host)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const struct gnn_cuda_block *r = cuda_need_transpose(b, host);
    if (r == NULL)
        return;
    if (norm == GNN_GCN_NORM_RELEASED)
        cuda_sum_sources(b, source_sum, r, gnn_cuda_norm_term{1});
    else
        GNN_LAUNCH(b->device, gnn_cuda_source_degree, host->src_count, source_sum, *r);
    GNN_LAUNCH(b->device, gnn_cuda_gcn_weight, host->edge_count, weight, *r, source_sum);
}

void cuda_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *host, const gnn_real *weight,
               struct gnn_mat x)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(out.rows == host->dst_count);
    assert(out.cols == x.cols);
    const struct gnn_cuda_block *r = cuda_need_block(b, host);
    if (r != NULL)
        row_sum(b, out, r, x, weight, false);
}

void cuda_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *host, const gnn_real *weight,
                    struct gnn_mat dout)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(dout.rows == host->dst_count);
    assert(dx.rows == host->src_count);
    const struct gnn_cuda_block *r = cuda_need_transpose(b, host);
    if (r != NULL)
        source_sum<gnn_cuda_edge_weight>(b, dx, r, dout, weight);
}
