/* SPDX-License-Identifier: MIT */
/* GraphSAGE with mean aggregation, at input width before the linear map (Hamilton et al. 2017, algorithm 1; PyG's
 * SAGEConv).
 *
 *   z_i = W_l mean_{j in Ne(i)} x_j + W_r x_i        + b in the epilogue
 *
 * Saved for the backward pass: the means. */
#include "harness/tensor/sage.h"
#include "harness/model/layer.h"

#include <math.h>

enum { SAGE_B, SAGE_W_L, SAGE_W_R, SAGE_PARAMS };
enum { SAGE_MEAN, SAGE_WORKS };
_Static_assert((int)SAGE_PARAMS <= (int)GNN_LAYER_PARAMS_MAX, "a layer has room for its parameters");
_Static_assert((int)SAGE_WORKS <= (int)GNN_LAYER_WORK_MAX, "a layer has room for its workspaces");

static void sage_params(const struct gnn_layer *layer, struct gnn_param_spec *out)
{
    const double bound = 1 / sqrt((double)layer->in);
    out[SAGE_B] = (struct gnn_param_spec){"b", 1, layer->out, bound};
    out[SAGE_W_L] = (struct gnn_param_spec){"w_l", layer->out, layer->in, bound};
    out[SAGE_W_R] = (struct gnn_param_spec){"w_r", layer->out, layer->in, bound};
}

static void sage_sizes(const struct gnn_layer *layer, const struct gnn_layer_size *size, bool train, uint64_t *reals)
{
    (void)train;
    reals[SAGE_MEAN] = size->dst * layer->in;
}

static void sage_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                         struct gnn_mat z)
{
    const struct gnn_mat mean = {layer->work[SAGE_MEAN].data, b->dst_count, layer->in};
    t->ops->segment_reduce(t, GNN_REDUCE_MEAN, mean, b, x, NULL);
    t->ops->gemm(t, false, true, 1, mean, gnn_layer_weight(layer, SAGE_W_L), 0, z);
    t->ops->gemm(t, false, true, 1, gnn_mat_head(x, b->dst_count), gnn_layer_weight(layer, SAGE_W_R), 1, z);
}

static void sage_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat dz, struct gnn_mat dx)
{
    const struct gnn_mat mean = {layer->work[SAGE_MEAN].data, b->dst_count, layer->in};
    t->ops->gemm(t, true, false, 1, dz, mean, 0, gnn_layer_gradient(layer, SAGE_W_L));
    t->ops->gemm(t, true, false, 1, dz, gnn_mat_head(x, b->dst_count), 0, gnn_layer_gradient(layer, SAGE_W_R));
    if (dx.data == NULL)
        return;
    const struct gnn_mat dmean = mean; /* the means have served */
    const uint64_t head = (uint64_t)b->dst_count * layer->in;
    t->ops->gemm(t, false, false, 1, dz, gnn_layer_weight(layer, SAGE_W_L), 0, dmean);
    t->ops->gemm(t, false, false, 1, dz, gnn_layer_weight(layer, SAGE_W_R), 0, gnn_mat_head(dx, b->dst_count));
    t->ops->fill(t, dx.data + head, (uint64_t)b->src_count * layer->in - head, 0);
    t->ops->segment_reduce_back(t, GNN_REDUCE_MEAN, dx, b, dmean, NULL);
}

/* ---- in one op each way ---- */

static struct gnn_sage operands(const struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                                struct gnn_mat y, const struct gnn_epilogue *epilogue)
{
    return (struct gnn_sage){.x = x,
                             .mean = {layer->work[SAGE_MEAN].data, b->dst_count, layer->in},
                             .w_l = gnn_layer_weight(layer, SAGE_W_L),
                             .w_r = gnn_layer_weight(layer, SAGE_W_R),
                             .y = y,
                             .bias = layer->param[SAGE_B].value,
                             .act = epilogue->act,
                             .drop = epilogue->drop};
}

static bool sage_whole_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b,
                               struct gnn_mat x, struct gnn_mat y, const struct gnn_epilogue *epilogue)
{
    const struct gnn_sage s = operands(layer, b, x, y, epilogue);
    return t->ops->sage != NULL && t->ops->sage->forward(t, &s, b);
}

static bool sage_whole_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b,
                                struct gnn_mat x, struct gnn_mat y, const struct gnn_epilogue *epilogue,
                                struct gnn_mat dy, struct gnn_mat dx)
{
    const struct gnn_sage s = operands(layer, b, x, y, epilogue);
    const struct gnn_sage_grad grad = {.dy = dy,
                                       .db = layer->param[SAGE_B].grad,
                                       .dw_l = gnn_layer_gradient(layer, SAGE_W_L),
                                       .dw_r = gnn_layer_gradient(layer, SAGE_W_R),
                                       .dx = dx};
    return t->ops->sage != NULL && t->ops->sage->backward(t, &s, &grad, b);
}

const struct gnn_layer_kind gnn_layer_sage = {
    .activation = GNN_ACT_RELU,
    .param_count = SAGE_PARAMS,
    .work_count = SAGE_WORKS,
    .params = sage_params,
    .sizes = sage_sizes,
    .forward = sage_forward,
    .backward = sage_backward,
    .whole_forward = sage_whole_forward,
    .whole_backward = sage_whole_backward,
};
