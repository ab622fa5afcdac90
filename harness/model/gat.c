/* GAT with a linear skip connection (Velickovic et al. 2018, equations 3 to 6; PyG's GATConv).
 *
 *   u = W x,   o_ih = sum over Ne(i) and i of alpha_ijh u_jh
 *   z_i = concat_h(o_ih) + b + V x_i, in the last layer the mean over heads        + v in the epilogue
 *
 * Saved for the backward pass: u, s, d and alpha. */
#include "harness/model/layer.h"

#include <math.h>

enum { GAT_SKIP_B, GAT_B, GAT_W, GAT_A_SRC, GAT_A_DST, GAT_SKIP_W, GAT_PARAMS };
enum { GAT_U, GAT_SCORES, GAT_ALPHA, GAT_HEADS_OUT, GAT_DU, GAT_DSCORES, GAT_DALPHA, GAT_WORKS };
_Static_assert((int)GAT_PARAMS <= (int)GNN_LAYER_PARAMS_MAX, "a layer has room for its parameters");
_Static_assert((int)GAT_WORKS <= (int)GNN_LAYER_WORK_MAX, "a layer has room for its workspaces");

static const gnn_real leaky_slope = (gnn_real)0.2;

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
    out[GAT_SKIP_B] = (struct gnn_param_spec){"skip_b", 1, layer->out, skip};
    out[GAT_B] = (struct gnn_param_spec){"b", 1, layer->out, 0};
    out[GAT_W] = (struct gnn_param_spec){"w", width, layer->in, linear};
    out[GAT_A_SRC] = (struct gnn_param_spec){"a_src", layer->heads, layer->channels, attention};
    out[GAT_A_DST] = (struct gnn_param_spec){"a_dst", layer->heads, layer->channels, attention};
    out[GAT_SKIP_W] = (struct gnn_param_spec){"skip_w", layer->out, layer->in, skip};
}

static void gat_sizes(const struct gnn_layer *layer, const struct gnn_layer_size *size, bool train, uint64_t *reals)
{
    const uint64_t width = gat_width(layer), slots = size->edges + size->dst;
    reals[GAT_U] = size->src * width;
    reals[GAT_SCORES] = (size->src + size->dst) * layer->heads;
    reals[GAT_ALPHA] = slots * layer->heads;
    reals[GAT_HEADS_OUT] = layer->last ? size->dst * width : 0;
    reals[GAT_DU] = train ? reals[GAT_U] : 0;
    reals[GAT_DSCORES] = train ? reals[GAT_SCORES] : 0;
    reals[GAT_DALPHA] = train ? reals[GAT_ALPHA] : 0;
}

static struct gnn_attention gat_attention(const struct gnn_layer *layer, const struct gnn_block *b)
{
    gnn_real *scores = layer->work[GAT_SCORES].data;
    return (struct gnn_attention){
        .heads = layer->heads,
        .slope = leaky_slope,
        .a_src = layer->param[GAT_A_SRC].value,
        .a_dst = layer->param[GAT_A_DST].value,
        .u = {layer->work[GAT_U].data, b->src_count, gat_width(layer)},
        .s = {scores, b->src_count, layer->heads},
        .d = {scores + (uint64_t)b->src_count * layer->heads, b->dst_count, layer->heads},
        .alpha = layer->work[GAT_ALPHA].data,
    };
}

static void gat_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                        struct gnn_mat z)
{
    const struct gnn_attention att = gat_attention(layer, b);
    t->ops->gemm(t, false, true, 1, x, gnn_layer_weight(layer, GAT_W), 0, att.u);
    t->ops->gat_scores(t, &att);
    t->ops->gat_softmax(t, &att, b);
    if (layer->last) {
        const struct gnn_mat heads_out = {layer->work[GAT_HEADS_OUT].data, b->dst_count, gat_width(layer)};
        t->ops->gat_attend(t, heads_out, &att, b);
        t->ops->head_mean(t, z, heads_out, layer->heads);
    } else {
        t->ops->gat_attend(t, z, &att, b);
    }
    t->ops->gemm(t, false, true, 1, gnn_mat_head(x, b->dst_count), gnn_layer_weight(layer, GAT_SKIP_W), 1, z);
    t->ops->add_bias(t, z, layer->param[GAT_B].value);
}

static void gat_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                         struct gnn_mat dz, struct gnn_mat dx)
{
    const struct gnn_attention att = gat_attention(layer, b);
    gnn_real *dscores = layer->work[GAT_DSCORES].data;
    const struct gnn_attention_grad grad = {
        .du = {layer->work[GAT_DU].data, att.u.rows, att.u.cols},
        .da_src = layer->param[GAT_A_SRC].grad,
        .da_dst = layer->param[GAT_A_DST].grad,
        .ds = {dscores, att.s.rows, att.s.cols},
        .dd = {dscores + (uint64_t)att.s.rows * att.s.cols, att.d.rows, att.d.cols},
        .dalpha = layer->work[GAT_DALPHA].data,
    };
    struct gnn_mat dout = dz;
    if (layer->last) {
        dout = (struct gnn_mat){layer->work[GAT_HEADS_OUT].data, b->dst_count, gat_width(layer)};
        t->ops->head_mean_back(t, dout, dz, layer->heads);
    }
    t->ops->copy(t, layer->param[GAT_B].grad, layer->param[GAT_SKIP_B].grad, layer->out);
    t->ops->gemm(t, true, false, 1, dz, gnn_mat_head(x, b->dst_count), 0, gnn_layer_gradient(layer, GAT_SKIP_W));
    t->ops->gat_back(t, &grad, &att, b, dout);
    t->ops->gemm(t, true, false, 1, grad.du, x, 0, gnn_layer_gradient(layer, GAT_W));
    if (dx.data == NULL)
        return;
    t->ops->gemm(t, false, false, 1, grad.du, gnn_layer_weight(layer, GAT_W), 0, dx);
    t->ops->gemm(t, false, false, 1, dz, gnn_layer_weight(layer, GAT_SKIP_W), 1, gnn_mat_head(dx, b->dst_count));
}

const struct gnn_layer_kind gnn_layer_gat = {
    .activation = GNN_ACT_ELU,
    .param_count = GAT_PARAMS,
    .work_count = GAT_WORKS,
    .params = gat_params,
    .sizes = gat_sizes,
    .forward = gat_forward,
    .backward = gat_backward,
};
