/* The training stage's common part: labels of the seeds, one step of the model, the epoch's sums, the on_step
 * hook; and memory for feature rows that grows at warm-up. One trainer thread at a time. */
#ifndef GNN_SYSTEM_TRAINING_H
#define GNN_SYSTEM_TRAINING_H

#include "harness/system/system.h"

/* Rows of features: grows, never shrinks. On the tensor back-end, or in the world's feature memory. */
struct gnn_rows {
    const struct gnn_env *env;
    const char *name;  /* a string literal */
    bool on_tensor;    /* where it is allocated */
    gnn_real *data;    /* (capacity, dim), not initialised */
    uint64_t capacity; /* rows */
};
void gnn_rows_init(struct gnn_rows *rows, const struct gnn_env *env, const char *name, bool on_tensor);
/* Room for `count` rows, an eighth more when it has to grow; old contents are lost then. */
GNN_MUST_CHECK enum gnn_status gnn_rows_reserve(struct gnn_rows *rows, uint64_t count, struct gnn_err *err);
void gnn_rows_close(struct gnn_rows *rows);

struct gnn_training {
    const struct gnn_env *env;
    int32_t *labels;          /* (batch_size) */
    struct gnn_rows uploaded; /* the input on the tensor back-end, where its memory is not the host's */
    double loss_sum;          /* of this epoch */
    uint64_t seeds, correct, batches;
};

GNN_MUST_CHECK enum gnn_status gnn_training_open(const struct gnn_env *env, struct gnn_training *out,
                                                 struct gnn_err *err);
void gnn_training_close(struct gnn_training *training);
void gnn_training_begin(struct gnn_training *training); /* sums to zero */

/* Trains one step on the rows of batch->nodes, uploaded first where they are not on the tensor back-end; then calls
 * on_step. GNN_EFORMAT when a seed has no label; GNN_ENUMBER, with the batch and the node, when an input row, the loss
 * or a gradient is not finite. */
GNN_MUST_CHECK enum gnn_status gnn_training_step(struct gnn_training *training, const struct gnn_batch_view *batch,
                                                 const struct gnn_rows *rows, struct gnn_err *err);
/* Says what made a step other than finite: looks for the first such row of x (node_count, dim), on the back-end. */
GNN_MUST_CHECK enum gnn_status gnn_step_not_finite(const struct gnn_env *env, const struct gnn_batch_view *batch,
                                                   const gnn_real *x, const struct gnn_step_result *step,
                                                   struct gnn_err *err);
void gnn_training_result(const struct gnn_training *training, struct gnn_epoch_result *out);

#endif
