/* SPDX-License-Identifier: MIT */
/* Models and the training step; docs/training-step.md follows one through the files. A model owns its parameters, their
 * Adam state and its activation workspaces, all on one tensor back-end; it grows the workspaces at warm-up and then
 * allocates nothing per batch. Not thread-safe: one trainer thread at a time. */
#ifndef GNN_MODEL_H
#define GNN_MODEL_H

#include "harness/base/block.h"
#include "harness/model/optimizer.h"
#include "harness/tensor/tensor.h"

enum gnn_model_kind { GNN_MODEL_SAGE, GNN_MODEL_GCN, GNN_MODEL_GAT, GNN_MODEL_KINDS };

extern const char *const gnn_model_names[]; /* "sage", "gcn", "gat", NULL */

struct gnn_model_config {
    enum gnn_model_kind kind;
    uint32_t layers; /* = number of fan-outs */
    uint32_t in_dim;
    uint32_t hidden; /* SAGE, GCN: width; GAT: channels per head */
    uint32_t heads;  /* GAT */
    uint32_t classes;
    double dropout;       /* 0.5 */
    double lr;            /* 0.003 */
    double weight_decay;  /* 0; decoupled L2 is not used: added to the gradient as in torch.optim.Adam */
    bool gat_width_total; /* false: hidden channels per head (as released); true: hidden / heads per head */
    enum gnn_gcn_norm gcn_norm;
    uint64_t seed;                /* parameters' initial values and dropout masks */
    uint32_t rank;                /* of several workers: equal parameters, dropout masks of its own */
    enum gnn_optimizer optimizer; /* of an encoder (gnn_model_encode_back); gnn_model_train is Adam's */
};

struct gnn_model;

GNN_MUST_CHECK enum gnn_status gnn_model_open(struct gnn_tensor *tensor, const struct gnn_model_config *config,
                                              struct gnn_model **out, struct gnn_err *err);
void gnn_model_close(struct gnn_model *model);

struct gnn_step_result {
    double loss;      /* mean over the batch's seeds */
    uint32_t correct; /* argmax == label on this forward pass */
    bool finite; /* the loss is a number, and when training every gradient so far; true where nothing is computed */
};

/* Called between backward pass and Adam step, when the first has finished, with the gradient of all parameters together
 * (count reals on the back-end, padding included) and this step's result: several workers make it their mean. */
typedef enum gnn_status gnn_gradient_fn(const void *ctx, gnn_real *gradient, uint64_t count,
                                        const struct gnn_batch_view *batch, const struct gnn_step_result *step,
                                        struct gnn_err *err);
void gnn_model_on_gradient(struct gnn_model *model, gnn_gradient_fn *fn, const void *ctx);
/* The count that it is called with. */
uint64_t gnn_model_gradient_count(const struct gnn_model_config *config);

/* Forward, backward, one Adam step. x (batch->node_count, in_dim) on the back-end, labels of the seeds on the host.
 * Dropout masks are keyed by (seed, epoch, batch, layer), so the step depends on nothing but the batch and the
 * parameters. */
GNN_MUST_CHECK enum gnn_status gnn_model_train(struct gnn_model *model, const struct gnn_batch_view *batch,
                                               const gnn_real *x, const int32_t *labels, struct gnn_step_result *out,
                                               struct gnn_err *err);

/* Forward only, dropout off. */
GNN_MUST_CHECK enum gnn_status gnn_model_evaluate(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                  const gnn_real *x, const int32_t *labels, struct gnn_step_result *out,
                                                  struct gnn_err *err);

/* Forward only, dropout off: the logits out (seed_count, classes), before log-softmax, on the host. */
GNN_MUST_CHECK enum gnn_status gnn_model_logits(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                const gnn_real *x, gnn_real *out, struct gnn_err *err);

/* As an encoder: the last layer's output is no logit but the vector of a seed, `classes` wide, and there are no labels.
 *
 * Forward; *out (seed_count, classes) is the model's until its next call. Dropout is on when training. */
GNN_MUST_CHECK enum gnn_status gnn_model_encode(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                const gnn_real *x, bool train, const gnn_real **out,
                                                struct gnn_err *err);
/* Right after a training gnn_model_encode of the same batch and x: from the gradient of its output, dout (seed_count,
 * classes), writes that of the input, dx (node_count, in_dim), and takes one step of the parameters. *finite as in
 * struct gnn_step_result. */
GNN_MUST_CHECK enum gnn_status gnn_model_encode_back(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                     const gnn_real *x, gnn_real *dout, gnn_real *dx, bool *finite,
                                                     struct gnn_err *err);

/* Bytes the model will hold at most for batches of at most these sizes (workspaces and their growth included), for
 * memory plans. max_nodes_per_hop (layers + 1): [0] the seeds, [layers] all nodes of a batch. */
uint64_t gnn_model_bytes(const struct gnn_model_config *config, const uint32_t *max_nodes_per_hop);

/* Every parameter, for tests, checkpoints and the record's model hash. name is "layer0.w_l" and the like. */
struct gnn_param {
    const char *name;
    gnn_real *value, *grad, *m, *v;
    uint32_t rows, cols;
};
uint32_t gnn_model_param_count(const struct gnn_model *model);
struct gnn_param gnn_model_param(const struct gnn_model *model, uint32_t index);
/* Says how many steps made the parameters and their state what they are: Adam's correction goes on from there. */
void gnn_model_set_step(struct gnn_model *model, uint64_t step);

#endif
