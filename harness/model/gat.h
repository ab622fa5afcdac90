/* SPDX-License-Identifier: MIT */
/* Internal to harness/model/: a GAT layer that aggregates neighbours before the linear map, and what it shares with
 * gat.c. gat.c maps the sources first and aggregates afterwards. */
#ifndef GNN_MODEL_GAT_H
#define GNN_MODEL_GAT_H

#include "harness/model/layer.h"

enum { GNN_GAT_SKIP_B, GNN_GAT_B, GNN_GAT_W, GNN_GAT_A_SRC, GNN_GAT_A_DST, GNN_GAT_SKIP_W, GNN_GAT_PARAMS };
enum {
    GNN_GAT_U,
    GNN_GAT_SCORES,
    GNN_GAT_ALPHA,
    GNN_GAT_HEADS_OUT,
    GNN_GAT_DU,
    GNN_GAT_DSCORES,
    GNN_GAT_DALPHA,
    GNN_GAT_WORKS
};

/* Returns whether aggregating before the linear map pays for a layer of this shape and a block of this size. It pays if
 * it is less work and takes no more memory than mapping first. Memory plans count the memory of mapping first. The
 * result depends on the arguments only, so it is the same on every machine. */
bool gnn_gat_rows_pay(const struct gnn_layer *layer, const struct gnn_layer_size *size);

/* Returns the attention operands that both orders share, in the layer's workspaces. The caller sets u, a_src and
 * a_dst. */
static inline struct gnn_attention gnn_gat_attention(const struct gnn_layer *layer, const struct gnn_block *b)
{
    gnn_real *scores = layer->work[GNN_GAT_SCORES].data;
    return (struct gnn_attention){
        .heads = layer->heads,
        .slope = (gnn_real)0.2,
        .s = {scores, b->src_count, layer->heads},
        .d = {scores + (uint64_t)b->src_count * layer->heads, b->dst_count, layer->heads},
        .alpha = layer->work[GNN_GAT_ALPHA].data,
    };
}

/* Returns the gradients that both orders share, in the layer's workspaces. The caller sets du, da_src and da_dst. */
static inline struct gnn_attention_grad gnn_gat_gradient(const struct gnn_layer *layer, const struct gnn_attention *att)
{
    gnn_real *dscores = layer->work[GNN_GAT_DSCORES].data;
    return (struct gnn_attention_grad){
        .ds = {dscores, att->s.rows, att->s.cols},
        .dd = {dscores + (uint64_t)att->s.rows * att->s.cols, att->d.rows, att->d.cols},
        .dalpha = layer->work[GNN_GAT_DALPHA].data,
    };
}

/* Writes the heads' outputs to z (dst, out), before skip connection and bias. They are concatenated; in the last layer
 * they are averaged. x: (src, in). */
void gnn_gat_rows_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat z);
/* Writes the gradients of W and of both attention vectors from dz (dst, out), the gradient of z. Writes dx (src, in),
 * the gradient of x, unless dx.data is NULL. */
void gnn_gat_rows_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                           struct gnn_mat dz, struct gnn_mat dx);

#endif
