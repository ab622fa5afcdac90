/* SPDX-License-Identifier: MIT */
/* Models and the training step; docs/training-step.md follows one step through the files.
 *
 * A model owns its parameters, their Adam state and its activation workspaces, all on one tensor back-end. Workspaces
 * grow during warm-up; afterwards no batch allocates memory. Not thread-safe: one trainer thread at a time. */
#ifndef GNN_MODEL_H
#define GNN_MODEL_H

#include "harness/base/block.h"
#include "harness/model/optimizer.h"
#include "harness/tensor/tensor.h"

enum gnn_model_kind { GNN_MODEL_SAGE, GNN_MODEL_GCN, GNN_MODEL_GAT, GNN_MODEL_KINDS };

extern const char *const gnn_model_names[]; /* "sage", "gcn", "gat", NULL */

struct gnn_model_config {
    enum gnn_model_kind kind;
    uint32_t layers; /* number of layers = number of fan-outs */
    uint32_t in_dim;
    uint32_t hidden; /* SAGE, GCN: width; GAT: channels per head */
    uint32_t heads;  /* GAT only */
    uint32_t classes;
    double dropout;       /* default 0.5 */
    double lr;            /* default 0.003 */
    double weight_decay;  /* default 0; L2, added to the gradient as in torch.optim.Adam, not decoupled */
    bool gat_width_total; /* false: hidden channels per head (as released); true: hidden / heads per head */
    enum gnn_gcn_norm gcn_norm;
    bool gcn_maps_sources;        /* false: GCN maps the sums; true: all sources, before the sum (as released) */
    uint64_t seed;                /* for the parameters' initial values and the dropout masks */
    uint32_t rank;                /* index of this worker: workers have equal parameters and their own dropout masks */
    enum gnn_optimizer optimizer; /* for encoders (gnn_model_encode_back); gnn_model_train always uses Adam */
};

struct gnn_model;

/* Opens a model with parameters that depend on the seed only; *out is the caller's to close. On an error nothing is
 * left open. GNN_EUSAGE: a number in the configuration is out of its range. Otherwise errors are those of the
 * back-end. */
GNN_MUST_CHECK enum gnn_status gnn_model_open(struct gnn_tensor *tensor, const struct gnn_model_config *config,
                                              struct gnn_model **out, struct gnn_err *err);
/* Closes a model; accepts NULL. */
void gnn_model_close(struct gnn_model *model);

struct gnn_step_result {
    double loss;      /* mean over the batch's seeds */
    uint32_t correct; /* argmax == label on this forward pass */
    bool finite;      /* the loss and, in training, all gradients so far are finite; true if not computed */
};

/* Replaces this worker's gradient by the mean over all workers. Called between backward pass and Adam step, when the
 * backward pass has finished. `gradient` holds the gradients of all parameters: `count` reals on the back-end, padding
 * included. step: this worker's result. A status other than GNN_OK ends the training step with it. */
typedef enum gnn_status gnn_gradient_fn(const void *ctx, gnn_real *gradient, uint64_t count,
                                        const struct gnn_batch_view *batch, const struct gnn_step_result *step,
                                        struct gnn_err *err);
/* Sets the function that gnn_model_train calls with the gradient; NULL: none, for a single worker. */
void gnn_model_on_gradient(struct gnn_model *model, gnn_gradient_fn *fn, const void *ctx);
/* Returns the `count` that gnn_gradient_fn is called with, for a model of this configuration. */
uint64_t gnn_model_gradient_count(const struct gnn_model_config *config);

/* Runs forward pass, backward pass and one Adam step.
 *
 * x (batch->node_count, in_dim) is on the back-end, the labels of the seeds are on the host. Dropout masks are keyed by
 * (seed, epoch, batch, rank, layer), so the step depends on the batch and the parameters only. Errors are those of the
 * back-end and of the gradient function. */
GNN_MUST_CHECK enum gnn_status gnn_model_train(struct gnn_model *model, const struct gnn_batch_view *batch,
                                               const gnn_real *x, const int32_t *labels, struct gnn_step_result *out,
                                               struct gnn_err *err);

/* Runs the forward pass without dropout and computes loss and accuracy. Arguments and errors as gnn_model_train. The
 * logits (seed_count, classes) are written to `logits` on the host, unless it is NULL. */
GNN_MUST_CHECK enum gnn_status gnn_model_evaluate(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                  const gnn_real *x, const int32_t *labels, struct gnn_step_result *out,
                                                  gnn_real *logits, struct gnn_err *err);

/* Runs the forward pass without dropout and writes the logits, before log-softmax, to `out` (seed_count, classes) on
 * the host. x as in gnn_model_train. */
GNN_MUST_CHECK enum gnn_status gnn_model_logits(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                const gnn_real *x, gnn_real *out, struct gnn_err *err);

/* Runs the forward pass of an encoder: the last layer's output is the vector of a seed, `classes` wide, instead of
 * logits. There are no labels. *out (seed_count, classes) is on the back-end and valid until the model's next call.
 * Dropout is on if `train` is set. */
GNN_MUST_CHECK enum gnn_status gnn_model_encode(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                const gnn_real *x, bool train, const gnn_real **out,
                                                struct gnn_err *err);
/* Runs the backward pass of an encoder and one step of its parameters. Reads dout (seed_count, classes), the gradient
 * of the output; writes dx (node_count, in_dim), the gradient of the input. Called right after gnn_model_encode with
 * `train` set, on the same batch and x. *finite as in struct gnn_step_result. */
GNN_MUST_CHECK enum gnn_status gnn_model_encode_back(struct gnn_model *model, const struct gnn_batch_view *batch,
                                                     const gnn_real *x, gnn_real *dout, gnn_real *dx, bool *finite,
                                                     struct gnn_err *err);

/* Returns the largest size in bytes of a model for batches up to these sizes, for memory plans. The workspaces and
 * their growth are included. max_nodes_per_hop (layers + 1): [0] the seeds, [layers] all nodes of a batch. */
uint64_t gnn_model_bytes(const struct gnn_model_config *config, const uint32_t *max_nodes_per_hop);

/* One parameter, for tests, checkpoints and the record's model hash. name is "layer0.w_l" and the like; the arrays
 * (rows, cols) are on the back-end and the model's. */
struct gnn_param {
    const char *name;
    gnn_real *value, *grad, *m, *v;
    uint32_t rows, cols;
};
uint32_t gnn_model_param_count(const struct gnn_model *model);
struct gnn_param gnn_model_param(const struct gnn_model *model, uint32_t index);
/* Sets how many steps the parameters and their state have seen. Adam's bias correction continues from there. */
void gnn_model_set_step(struct gnn_model *model, uint64_t step);

#endif
