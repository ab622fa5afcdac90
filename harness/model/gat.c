/* SPDX-License-Identifier: MIT */
/* GAT with a linear skip connection (Velickovic et al. 2018, equations 3 to 6; PyG's GATConv).
 *
 *   u = W x,   o_ih = sum over Ne(i) and i of alpha_ijh u_jh
 *   z_i = concat_h(o_ih) + b + V x_i, in the last layer the mean over heads        + v in the epilogue
 *
 * All sources are mapped before they are aggregated, as the released codes do; where it is less work, and the back-end
 * has ops for it, they are aggregated before they are mapped (gat_rows.c): the same but for rounding.
 *
 * Saved for the backward pass: u, s, d and alpha. */
#include "harness/model/gat.h"

#include <math.h>

_Static_assert((int)GNN_GAT_PARAMS <= (int)GNN_LAYER_PARAMS_MAX, "a layer has room for its parameters");
_Static_assert((int)GNN_GAT_WORKS <= (int)GNN_LAYER_WORK_MAX, "a layer has room for its workspaces");

static uint32_t gat_width(const struct gnn_layer *layer)
{
    return layer->heads * layer->channels;
}

static void gat_params(const struct gnn_layer *layer, struct gnn_param_spec *out)
{
    const uint32_t width = gat_width(layer);
    const double skip = 1 / sqrt((double)layer->in);
    const double linear = sqrt(6.0 / ((double)layer->in + width));
    const double attention = sqrt(6.0 / ((double)layer->heads + layer->channels));
    out[GNN_GAT_SKIP_B] = (struct gnn_param_spec){"skip_b", 1, layer->out, skip};
    out[GNN_GAT_B] = (struct gnn_param_spec){"b", 1, layer->out, 0};
    out[GNN_GAT_W] = (struct gnn_param_spec){"w", width, layer->in, linear};
    out[GNN_GAT_A_SRC] = (struct gnn_param_spec){"a_src", layer->heads, layer->channels, attention};
    out[GNN_GAT_A_DST] = (struct gnn_param_spec){"a_dst", layer->heads, layer->channels, attention};
    out[GNN_GAT_SKIP_W] = (struct gnn_param_spec){"skip_w", layer->out, layer->in, skip};
}

static void gat_sizes(const struct gnn_layer *layer, const struct gnn_layer_size *size, bool train, uint64_t *reals)
{
    const uint64_t width = gat_width(layer), slots = size->edges + size->dst;
    reals[GNN_GAT_U] = size->src * width;
    reals[GNN_GAT_SCORES] = (size->src + size->dst) * layer->heads;
    reals[GNN_GAT_ALPHA] = slots * layer->heads;
    reals[GNN_GAT_HEADS_OUT] = layer->last ? size->dst * width : 0;
    reals[GNN_GAT_DU] = train ? reals[GNN_GAT_U] : 0;
    reals[GNN_GAT_DSCORES] = train ? reals[GNN_GAT_SCORES] : 0;
    reals[GNN_GAT_DALPHA] = train ? reals[GNN_GAT_ALPHA] : 0;
}

static struct gnn_attention mapped_attention(const struct gnn_layer *layer, const struct gnn_block *b)
{
    struct gnn_attention att = gnn_gat_attention(layer, b);
    att.u = (struct gnn_mat){layer->work[GNN_GAT_U].data, b->src_count, gat_width(layer)};
    att.a_src = layer->param[GNN_GAT_A_SRC].value;
    att.a_dst = layer->param[GNN_GAT_A_DST].value;
    return att;
}

static bool rows_first(const struct gnn_tensor *t, const struct gnn_layer *layer, const struct gnn_block *b)
{
    const struct gnn_layer_size size = {b->dst_count, b->src_count, b->edge_count};
    return t->ops->gat_rows != NULL && gnn_gat_rows_pay(layer, &size);
}

static void map_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                        struct gnn_mat z)
{
    const struct gnn_attention att = mapped_attention(layer, b);
    t->ops->gemm(t, false, true, 1, x, gnn_layer_weight(layer, GNN_GAT_W), 0, att.u);
    t->ops->gat_scores(t, &att);
    t->ops->gat_softmax(t, &att, b);
    if (layer->last) {
        const struct gnn_mat heads_out = {layer->work[GNN_GAT_HEADS_OUT].data, b->dst_count, gat_width(layer)};
        t->ops->gat_attend(t, heads_out, &att, b);
        t->ops->head_mean(t, z, heads_out, layer->heads);
    } else {
        t->ops->gat_attend(t, z, &att, b);
    }
}

static void gat_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                        struct gnn_mat z)
{
    if (rows_first(t, layer, b))
        gnn_gat_rows_forward(t, layer, b, x, z);
    else
        map_forward(t, layer, b, x, z);
    t->ops->gemm(t, false, true, 1, gnn_mat_head(x, b->dst_count), gnn_layer_weight(layer, GNN_GAT_SKIP_W), 1, z);
    t->ops->add_bias(t, z, layer->param[GNN_GAT_B].value);
}

/* The gradient of the heads' outputs from that of z. */
static struct gnn_mat heads_gradient(struct gnn_tensor *t, const struct gnn_layer *layer, struct gnn_mat dz)
{
    if (!layer->last)
        return dz;
    const struct gnn_mat dout = {layer->work[GNN_GAT_HEADS_OUT].data, dz.rows, gat_width(layer)};
    t->ops->head_mean_back(t, dout, dz, layer->heads);
    return dout;
}

static void map_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                         struct gnn_mat dout, struct gnn_mat dx)
{
    const struct gnn_attention att = mapped_attention(layer, b);
    struct gnn_attention_grad grad = gnn_gat_gradient(layer, &att);
    grad.du = (struct gnn_mat){layer->work[GNN_GAT_DU].data, att.u.rows, att.u.cols};
    grad.da_src = layer->param[GNN_GAT_A_SRC].grad;
    grad.da_dst = layer->param[GNN_GAT_A_DST].grad;
    t->ops->gat_back(t, &grad, &att, b, dout);
    t->ops->gemm(t, true, false, 1, grad.du, x, 0, gnn_layer_gradient(layer, GNN_GAT_W));
    if (dx.data != NULL)
        t->ops->gemm(t, false, false, 1, grad.du, gnn_layer_weight(layer, GNN_GAT_W), 0, dx);
}

static void gat_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                         struct gnn_mat dz, struct gnn_mat dx)
{
    const bool rows = rows_first(t, layer, b);
    const struct gnn_mat dout = rows ? dz : heads_gradient(t, layer, dz);
    t->ops->copy(t, layer->param[GNN_GAT_B].grad, layer->param[GNN_GAT_SKIP_B].grad, layer->out);
    t->ops->gemm(t, true, false, 1, dz, gnn_mat_head(x, b->dst_count), 0, gnn_layer_gradient(layer, GNN_GAT_SKIP_W));
    if (rows)
        gnn_gat_rows_backward(t, layer, b, x, dz, dx);
    else
        map_backward(t, layer, b, x, dout, dx);
    if (dx.data != NULL)
        t->ops->gemm(t, false, false, 1, dz, gnn_layer_weight(layer, GNN_GAT_SKIP_W), 1,
                     gnn_mat_head(dx, b->dst_count));
}

const struct gnn_layer_kind gnn_layer_gat = {
    .activation = GNN_ACT_ELU,
    .param_count = GNN_GAT_PARAMS,
    .work_count = GNN_GAT_WORKS,
    .params = gat_params,
    .sizes = gat_sizes,
    .forward = gat_forward,
    .backward = gat_backward,
};
