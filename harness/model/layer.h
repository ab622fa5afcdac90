/* SPDX-License-Identifier: MIT */
/* Inside of harness/model/: one layer, and the table each kind of layer fills. model.c owns the order of things
 * (forward through the layers, loss, backward, Adam) and the epilogue every layer shares, bias + activation + dropout;
 * a kind knows its parameters, its workspaces and its two products, and may do the epilogue with them. */
#ifndef GNN_MODEL_LAYER_H
#define GNN_MODEL_LAYER_H

#include "harness/model/model.h"

#include <assert.h>

enum { GNN_LAYER_PARAMS_MAX = 6, GNN_LAYER_WORK_MAX = 7 };

/* Memory of the back-end that grows and never shrinks. */
struct gnn_workspace {
    gnn_real *data;
    uint64_t count; /* reals */
};

/* What decides the size of a layer's workspaces. */
struct gnn_layer_size {
    uint64_t dst, src, edges;
};

struct gnn_layer {
    const struct gnn_layer_kind *kind;
    uint32_t index;
    bool last;
    uint32_t in;                                  /* columns of x */
    uint32_t out;                                 /* columns of z */
    uint32_t heads, channels;                     /* GAT */
    enum gnn_gcn_norm gcn_norm;                   /* GCN */
    struct gnn_param param[GNN_LAYER_PARAMS_MAX]; /* [0] is the bias of the epilogue */
    char param_name[GNN_LAYER_PARAMS_MAX][32];
    struct gnn_workspace work[GNN_LAYER_WORK_MAX];
    struct gnn_workspace y, dy; /* the layer's output (dst, out) and its gradient; the last layer's dy is its y */
};

/* What every layer ends with: y = dropout(act(z + b)). */
struct gnn_epilogue {
    enum gnn_activation act;
    struct gnn_dropout drop;
};

/* Initial values are uniform in [-bound, bound]; 0: zeros. */
struct gnn_param_spec {
    const char *name;
    uint32_t rows, cols;
    double bound;
};

struct gnn_layer_kind {
    enum gnn_activation activation; /* of hidden layers */
    uint32_t param_count;
    uint32_t work_count;
    void (*params)(const struct gnn_layer *layer, struct gnn_param_spec *out);
    /* Reals of every workspace; the ones that only training needs are 0 otherwise. */
    void (*sizes)(const struct gnn_layer *layer, const struct gnn_layer_size *size, bool train, uint64_t *reals);
    /* z (dst, out) = the layer before bias param[0], activation and dropout. x (src, in). */
    void (*forward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                    struct gnn_mat z);
    /* Right after forward on the same block and x. Writes the gradients of every parameter but param[0], whose gradient
     * is there already, and dx (src, in) unless dx.data is NULL. */
    void (*backward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                     struct gnn_mat dz, struct gnn_mat dx);
    /* Forward and backward with the epilogue, where the back-end has one op for all of it. Forward writes y; backward
     * writes the gradients of every parameter, param[0] too, and dx as above, and turns dy into the gradient before the
     * epilogue. Returns false where the op is no gain, or kernels or memory are refused: nothing was done, and the
     * caller goes op by op. NULL: no back-end has one for this kind. */
    bool (*whole_forward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat y, const struct gnn_epilogue *epilogue);
    bool (*whole_backward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                           struct gnn_mat y, const struct gnn_epilogue *epilogue, struct gnn_mat dy, struct gnn_mat dx);
};

extern const struct gnn_layer_kind gnn_layer_sage;
extern const struct gnn_layer_kind gnn_layer_gcn;
extern const struct gnn_layer_kind gnn_layer_gat;

uint32_t gnn_model_layer_count(const struct gnn_model *model);
struct gnn_layer *gnn_model_layer(struct gnn_model *model, uint32_t index);

/* Grows every buffer of the layer to what a block of this size needs. */
GNN_MUST_CHECK enum gnn_status gnn_layer_reserve(struct gnn_tensor *t, struct gnn_layer *layer,
                                                 const struct gnn_layer_size *size, bool train, struct gnn_err *err);

static inline struct gnn_mat gnn_layer_weight(const struct gnn_layer *layer, uint32_t index)
{
    assert(index < layer->kind->param_count);
    const struct gnn_param *p = &layer->param[index];
    return (struct gnn_mat){p->value, p->rows, p->cols};
}

static inline struct gnn_mat gnn_layer_gradient(const struct gnn_layer *layer, uint32_t index)
{
    assert(index < layer->kind->param_count);
    const struct gnn_param *p = &layer->param[index];
    return (struct gnn_mat){p->grad, p->rows, p->cols};
}

#endif
