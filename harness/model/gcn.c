/* SPDX-License-Identifier: MIT */
/* GCN, normalised over the sampled block, without self-loops (Kipf and Welling 2017, equation 2).
 *
 *   z_i = W sum_{j in Ne(i)} w_ij x_j                + b in the epilogue
 *
 * The sum comes first: a sampled block has many times more sources than targets, so that the linear map, which commutes
 * with it, has fewer rows. Saved for the backward pass: edge weights and sums.
 *
 * With gcn_maps_sources, the map comes first, as in GCNConv of PyTorch Geometric, which the released programs use. The
 * workspace of the sums then holds the mapped sources, and in the backward pass their gradient. */
#include "harness/model/layer.h"

#include <math.h>

enum { GCN_B, GCN_W, GCN_PARAMS };
enum { GCN_SUM, GCN_WEIGHT, GCN_SOURCE_SUM, GCN_WORKS };
_Static_assert((int)GCN_PARAMS <= (int)GNN_LAYER_PARAMS_MAX, "a layer has room for its parameters");
_Static_assert((int)GCN_WORKS <= (int)GNN_LAYER_WORK_MAX, "a layer has room for its workspaces");

static void gcn_params(const struct gnn_layer *layer, struct gnn_param_spec *out)
{
    out[GCN_B] = (struct gnn_param_spec){"b", 1, layer->out, 0};
    out[GCN_W] = (struct gnn_param_spec){"w", layer->out, layer->in, sqrt(6.0 / ((double)layer->in + layer->out))};
}

static void gcn_sizes(const struct gnn_layer *layer, const struct gnn_layer_size *size, bool train, uint64_t *reals)
{
    (void)train;
    reals[GCN_SUM] = layer->gcn_maps_sources ? size->src * layer->out : size->dst * layer->in;
    reals[GCN_WEIGHT] = size->edges;
    reals[GCN_SOURCE_SUM] = size->src;
}

static struct gnn_mat mapped_sources(const struct gnn_layer *layer, const struct gnn_block *b)
{
    return (struct gnn_mat){layer->work[GCN_SUM].data, b->src_count, layer->out};
}

static void gcn_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                        struct gnn_mat z)
{
    const struct gnn_mat sum = {layer->work[GCN_SUM].data, b->dst_count, layer->in};
    gnn_real *weight = layer->work[GCN_WEIGHT].data;
    t->ops->gcn_weights(t, layer->gcn_norm, weight, layer->work[GCN_SOURCE_SUM].data, b);
    if (layer->gcn_maps_sources) {
        t->ops->gemm(t, false, true, 1, x, gnn_layer_weight(layer, GCN_W), 0, mapped_sources(layer, b));
        t->ops->spmm(t, z, b, weight, mapped_sources(layer, b));
        return;
    }
    t->ops->spmm(t, sum, b, weight, x);
    t->ops->gemm(t, false, true, 1, sum, gnn_layer_weight(layer, GCN_W), 0, z);
}

static void maps_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat dz, struct gnn_mat dx)
{
    const struct gnn_mat dmapped = mapped_sources(layer, b); /* the mapped sources have served */
    t->ops->fill(t, dmapped.data, (uint64_t)dmapped.rows * dmapped.cols, 0);
    t->ops->spmm_back(t, dmapped, b, layer->work[GCN_WEIGHT].data, dz);
    t->ops->gemm(t, true, false, 1, dmapped, x, 0, gnn_layer_gradient(layer, GCN_W));
    if (dx.data != NULL)
        t->ops->gemm(t, false, false, 1, dmapped, gnn_layer_weight(layer, GCN_W), 0, dx);
}

static void gcn_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                         struct gnn_mat dz, struct gnn_mat dx)
{
    if (layer->gcn_maps_sources) {
        maps_backward(t, layer, b, x, dz, dx);
        return;
    }
    const struct gnn_mat sum = {layer->work[GCN_SUM].data, b->dst_count, layer->in};
    t->ops->gemm(t, true, false, 1, dz, sum, 0, gnn_layer_gradient(layer, GCN_W));
    if (dx.data == NULL)
        return;
    const struct gnn_mat dsum = sum; /* the sums have served */
    t->ops->gemm(t, false, false, 1, dz, gnn_layer_weight(layer, GCN_W), 0, dsum);
    t->ops->fill(t, dx.data, (uint64_t)dx.rows * dx.cols, 0);
    t->ops->spmm_back(t, dx, b, layer->work[GCN_WEIGHT].data, dsum);
}

const struct gnn_layer_kind gnn_layer_gcn = {
    .activation = GNN_ACT_RELU,
    .param_count = GCN_PARAMS,
    .work_count = GCN_WORKS,
    .params = gcn_params,
    .sizes = gcn_sizes,
    .forward = gcn_forward,
    .backward = gcn_backward,
};
