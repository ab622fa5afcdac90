/* SPDX-License-Identifier: MIT */
/* Internal to harness/model/: one layer, and the table that each kind of layer fills. A kind defines its parameters,
 * its workspaces and its forward and backward products.
 *
 * model.c runs the layers in order, then loss, backward pass and Adam. It also runs the epilogue that all layers share:
 * bias, activation, dropout. A kind may run the epilogue together with its products. */
#ifndef GNN_MODEL_LAYER_H
#define GNN_MODEL_LAYER_H

#include "harness/model/model.h"

#include <assert.h>

enum { GNN_LAYER_PARAMS_MAX = 6, GNN_LAYER_WORK_MAX = 7 };

/* A buffer on the back-end; it grows and never shrinks. */
struct gnn_workspace {
    gnn_real *data;
    uint64_t count; /* reals */
};

/* The numbers of targets, sources and edges of a block: they decide the size of a layer's workspaces. */
struct gnn_layer_size {
    uint64_t dst, src, edges;
};

struct gnn_layer {
    const struct gnn_layer_kind *kind;
    uint32_t index;
    bool last;
    uint32_t in;                                  /* columns of x */
    uint32_t out;                                 /* columns of z */
    uint32_t heads, channels;                     /* GAT only */
    enum gnn_gcn_norm gcn_norm;                   /* GCN only */
    bool gcn_maps_sources;                        /* GCN only */
    struct gnn_param param[GNN_LAYER_PARAMS_MAX]; /* [0] is the bias of the epilogue */
    char param_name[GNN_LAYER_PARAMS_MAX][32];
    struct gnn_workspace work[GNN_LAYER_WORK_MAX];
    struct gnn_workspace y, dy; /* the layer's output (dst, out) and its gradient; the last layer's dy is its y */
};

/* The last step of every layer: y = dropout(act(z + b)). */
struct gnn_epilogue {
    enum gnn_activation act;
    struct gnn_dropout drop;
};

/* A parameter's name, shape and range. Initial values are uniform in [-bound, bound); bound 0: zeros. */
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
    /* Writes the number of reals of every workspace. Those that only training needs are 0 unless `train` is set. */
    void (*sizes)(const struct gnn_layer *layer, const struct gnn_layer_size *size, bool train, uint64_t *reals);
    /* Computes z (dst, out) from x (src, in), before the bias param[0], activation and dropout. */
    void (*forward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                    struct gnn_mat z);
    /* Writes the gradients of all parameters except param[0], which the caller has written already. Also writes dx
     * (src, in) unless dx.data is NULL. Called right after forward on the same block and x. */
    void (*backward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                     struct gnn_mat dz, struct gnn_mat dx);
    /* Run forward or backward pass together with the epilogue, in one op of the back-end. NULL: this kind has no such
     * op. They return false, and have done nothing, if the op brings no gain or the back-end refuses kernels or memory.
     * The caller then runs the single ops.
     *
     * whole_forward writes y. whole_backward writes the gradients of all parameters, param[0] included, and dx as
     * above. It turns dy into the gradient before the epilogue. */
    bool (*whole_forward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                          struct gnn_mat y, const struct gnn_epilogue *epilogue);
    bool (*whole_backward)(struct gnn_tensor *t, struct gnn_layer *layer, const struct gnn_block *b, struct gnn_mat x,
                           struct gnn_mat y, const struct gnn_epilogue *epilogue, struct gnn_mat dy, struct gnn_mat dx);
};

extern const struct gnn_layer_kind gnn_layer_sage;
extern const struct gnn_layer_kind gnn_layer_gcn;
extern const struct gnn_layer_kind gnn_layer_gat;

/* Return the number of layers and one of them, which the model owns; index: below the count. */
uint32_t gnn_model_layer_count(const struct gnn_model *model);
struct gnn_layer *gnn_model_layer(struct gnn_model *model, uint32_t index);

/* Grows every buffer of the layer to the size that this block needs. Fails with the back-end's status if memory is
 * refused. The old contents of a buffer that grows are lost. */
GNN_MUST_CHECK enum gnn_status gnn_layer_reserve(struct gnn_tensor *t, struct gnn_layer *layer,
                                                 const struct gnn_layer_size *size, bool train, struct gnn_err *err);

/* Return the values and the gradient of a parameter as a matrix on the back-end. */
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
