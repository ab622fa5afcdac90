/* SPDX-License-Identifier: MIT */
/* GAT that aggregates before it multiplies. The sum over neighbours commutes with the linear map, and so do the scores:
 *
 *   v_h = W_h^T a_h,   s_jh = <v_src_h, x_j>,   d_ih = <v_dst_h, x_i>
 *   y_ih = sum over Ne(i) and i of alpha_ijh x_j,   o_ih = W_h y_ih
 *
 * Products have a row for each target instead of each source, and the sums are over rows of `in` columns for each head
 * instead of `channels`. Backward: dy_ih = W_h^T do_ih, dW_h = sum_i do_ih y_ih^T + a_h dv_h^T, da_h = W_h dv_h.
 *
 * Saved for the backward pass: y and v, where the other way has u; s, d and alpha. dy and dv lie where it has du. */
#include "harness/tensor/gat_rows.h"
#include "harness/model/gat.h"

/* What sums over rows take, in multiplications that a product of matrices makes meanwhile: for each element that is
 * read of a row, and for each that is multiplied and added. By `bench_train 1 3 gat` a product makes 43 a nanosecond,
 * gat_attend 3 to 6, one for each element that it reads, or 8 to 13 where four heads share a row; the passes backward
 * are slower. Near the point where both ways are as long it matters little, and it is not measured anew: the choice has
 * to be the same on every machine. */
static const uint64_t read_weight = 12, sum_weight = 4;

/* The gradient of the outermost layer's input is wanted by an encoder alone, whose vectors are learned. */
static bool gradient_goes_on(const struct gnn_layer *layer)
{
    return layer->index > 0;
}

/* y and both v, in reals: where the other way has u. */
static uint64_t rows_room(const struct gnn_layer *layer, uint64_t dst)
{
    return gnn_mul_bytes(dst + 2, (uint64_t)layer->heads * layer->in);
}

/* So many passes over rows, each read once and summed `sums` times. */
static uint64_t passes_work(uint64_t passes, uint64_t cols, uint64_t sums)
{
    return gnn_mul_bytes(passes, gnn_mul_bytes(cols, read_weight + sum_weight * sums));
}

/* Mapping all sources, then aggregating: products forward, for W and for x; passes for the output, dalpha and du over
 * slots, and for scores and their two gradients over sources. */
static uint64_t map_first_work(const struct gnn_layer *layer, const struct gnn_layer_size *size)
{
    const uint64_t width = (uint64_t)layer->heads * layer->channels, slots = size->edges + size->dst;
    const uint64_t products = gradient_goes_on(layer) ? 3 : 2;
    return gnn_add_bytes(gnn_mul_bytes(products * size->src, layer->in * width),
                         passes_work(3 * (slots + size->src), width, 1));
}

/* The same of aggregating first: products for the output, W and y; passes as above, but for what only x's gradient
 * wants. */
static uint64_t rows_first_work(const struct gnn_layer *layer, const struct gnn_layer_size *size)
{
    const uint64_t width = (uint64_t)layer->heads * layer->channels, slots = size->edges + size->dst;
    const uint64_t of_sources = gradient_goes_on(layer) ? 3 : 1;
    return gnn_add_bytes(gnn_mul_bytes(3 * size->dst, layer->in * width),
                         passes_work(3 * slots + of_sources * size->src, layer->in, layer->heads));
}

bool gnn_gat_rows_pay(const struct gnn_layer *layer, const struct gnn_layer_size *size)
{
    const uint64_t room = gnn_mul_bytes(size->src, (uint64_t)layer->heads * layer->channels);
    return rows_room(layer, size->dst) <= room && rows_first_work(layer, size) < map_first_work(layer, size);
}

/* What a pass reads and writes besides x and z, as one matrix for each head. */
struct head_mats {
    struct gnn_head_mat w, dw;                    /* (channels, in) */
    struct gnn_head_mat y, dy;                    /* (dst, in) */
    struct gnn_head_mat a[2], v[2], da[2], dv[2]; /* (1, channels), (1, in): of the sources' side, of the targets' */
    struct gnn_mat all_y, all_dy;                 /* (dst, heads * in) */
};

static struct gnn_head_mat by_head(gnn_real *data, uint32_t rows, uint32_t cols)
{
    return (struct gnn_head_mat){
        .data = data, .rows = rows, .cols = cols, .stride = cols, .step = (uint64_t)rows * cols};
}

/* Heads that stand side by side in the rows of m. */
static struct gnn_head_mat side_by_side(struct gnn_mat m, uint32_t heads)
{
    const uint32_t cols = m.cols / heads;
    return (struct gnn_head_mat){.data = m.data, .rows = m.rows, .cols = cols, .stride = m.cols, .step = cols};
}

static struct head_mats head_mats(const struct gnn_layer *layer, uint32_t dst)
{
    static const uint32_t vector[2] = {GNN_GAT_A_SRC, GNN_GAT_A_DST};
    const uint32_t heads = layer->heads, in = layer->in, channels = layer->channels;
    const struct gnn_mat y = {layer->work[GNN_GAT_U].data, dst, heads * in};
    const struct gnn_mat dy = {layer->work[GNN_GAT_DU].data, dst, heads * in};
    struct head_mats m = {.w = by_head(layer->param[GNN_GAT_W].value, channels, in),
                          .dw = by_head(layer->param[GNN_GAT_W].grad, channels, in),
                          .y = side_by_side(y, heads),
                          .dy = side_by_side(dy, heads),
                          .all_y = y,
                          .all_dy = dy};
    for (uint32_t side = 0; side < 2; side++) {
        const uint64_t behind = ((uint64_t)dst + side) * heads * in;
        m.a[side] = by_head(layer->param[vector[side]].value, 1, channels);
        m.da[side] = by_head(layer->param[vector[side]].grad, 1, channels);
        m.v[side] = by_head(y.data + behind, 1, in);
        m.dv[side] = by_head(dy.data != NULL ? dy.data + behind : NULL, 1, in);
    }
    return m;
}

static struct gnn_attention rows_attention(const struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                                           const struct head_mats *m)
{
    struct gnn_attention att = gnn_gat_attention(layer, b);
    att.u = x;
    att.a_src = m->v[0].data;
    att.a_dst = m->v[1].data;
    return att;
}

/* The heads' outputs in z: side by side, or in the last layer z for each of them. */
static struct gnn_head_mat outputs(const struct gnn_layer *layer, struct gnn_mat z)
{
    struct gnn_head_mat out = side_by_side(z, layer->last ? 1 : layer->heads);
    if (layer->last)
        out.step = 0;
    return out;
}

static gnn_real output_weight(const struct gnn_layer *layer)
{
    return layer->last ? 1 / (gnn_real)layer->heads : 1;
}

void gnn_gat_rows_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat z)
{
    const struct gnn_gat_rows_ops *const ops = t->ops->gat_rows;
    const struct head_mats m = head_mats(layer, b->dst_count);
    const struct gnn_attention att = rows_attention(layer, b, x, &m);
    for (uint32_t side = 0; side < 2; side++)
        ops->product(t, layer->heads, false, false, 1, m.a[side], m.w, 0, m.v[side]);
    ops->scores(t, &att);
    t->ops->gat_softmax(t, &att, b);
    ops->attend(t, m.all_y, &att, b);
    ops->product(t, layer->heads, false, true, output_weight(layer), m.y, m.w, 0, outputs(layer, z));
}

void gnn_gat_rows_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                           struct gnn_mat dz, struct gnn_mat dx)
{
    const struct gnn_gat_rows_ops *const ops = t->ops->gat_rows;
    const struct head_mats m = head_mats(layer, b->dst_count);
    const struct gnn_attention att = rows_attention(layer, b, x, &m);
    struct gnn_attention_grad grad = gnn_gat_gradient(layer, &att);
    grad.du = dx;
    grad.da_src = m.dv[0].data;
    grad.da_dst = m.dv[1].data;
    ops->product(t, layer->heads, true, false, output_weight(layer), outputs(layer, dz), m.y, 0, m.dw);
    ops->product(t, layer->heads, false, false, output_weight(layer), outputs(layer, dz), m.w, 0, m.dy);
    ops->back(t, &grad, &att, b, m.all_dy);
    for (uint32_t side = 0; side < 2; side++) {
        ops->product(t, layer->heads, false, true, 1, m.dv[side], m.w, 0, m.da[side]);
        ops->product(t, layer->heads, true, false, 1, m.a[side], m.dv[side], 1, m.dw);
    }
}
