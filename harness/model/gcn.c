/* GCN, normalised over the sampled block, without self-loops (Kipf and Welling 2017, equation 2).
 *
 *   z_i = sum_{j in Ne(i)} w_ij (W x_j)              + b in the epilogue
 *
 * The linear map comes first, on all sources, as released. Saved for the backward pass: the edge weights. */
#include "harness/model/layer.h"

#include <math.h>

enum { GCN_B, GCN_W, GCN_PARAMS };
enum { GCN_U, GCN_WEIGHT, GCN_SUM, GCN_WORKS };
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
    reals[GCN_U] = size->src * layer->out;
    reals[GCN_WEIGHT] = size->edges;
    reals[GCN_SUM] = size->src;
}

static void gcn_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                        struct gnn_mat z)
{
    const struct gnn_mat u = {layer->work[GCN_U].data, b->src_count, layer->out};
    gnn_real *weight = layer->work[GCN_WEIGHT].data;
    t->ops->gcn_weights(t, layer->gcn_norm, weight, layer->work[GCN_SUM].data, b);
    t->ops->gemm(t, false, true, 1, x, gnn_layer_weight(layer, GCN_W), 0, u);
    t->ops->spmm(t, z, b, weight, u);
}

static void gcn_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                         struct gnn_mat dz, struct gnn_mat dx)
{
    const struct gnn_mat du = {layer->work[GCN_U].data, b->src_count, layer->out}; /* u has served */
    t->ops->fill(t, du.data, (uint64_t)du.rows * du.cols, 0);
    t->ops->spmm_back(t, du, b, layer->work[GCN_WEIGHT].data, dz);
    t->ops->gemm(t, true, false, 1, du, x, 0, gnn_layer_gradient(layer, GCN_W));
    if (dx.data != NULL)
        t->ops->gemm(t, false, false, 1, du, gnn_layer_weight(layer, GCN_W), 0, dx);
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
