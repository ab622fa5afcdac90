/* SPDX-License-Identifier: MIT */
/* Inside of harness/model/: a GAT layer that aggregates before it multiplies, for gat.c, which maps first, and what the
 * two ways have in common. */
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

/* Whether a layer of this shape should aggregate a block of this size before it multiplies: where that is less work,
 * and takes no more memory than mapping first, which memory plans count. A function of nothing but its arguments. */
bool gnn_gat_rows_pay(const struct gnn_layer *layer, const struct gnn_layer_size *size);

/* What attention needs of the layer's workspaces, whichever way: all but u, a_src and a_dst, and their gradients. */
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

static inline struct gnn_attention_grad gnn_gat_gradient(const struct gnn_layer *layer, const struct gnn_attention *att)
{
    gnn_real *dscores = layer->work[GNN_GAT_DSCORES].data;
    return (struct gnn_attention_grad){
        .ds = {dscores, att->s.rows, att->s.cols},
        .dd = {dscores + (uint64_t)att->s.rows * att->s.cols, att->d.rows, att->d.cols},
        .dalpha = layer->work[GNN_GAT_DALPHA].data,
    };
}

/* z = the heads' outputs, side by side or their mean, before skip connection and bias. */
void gnn_gat_rows_forward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat z);
/* Writes the gradients of W and both attention vectors, and of x unless dx.data is NULL, from that of z. */
void gnn_gat_rows_backward(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                           struct gnn_mat dz, struct gnn_mat dx);

#endif
