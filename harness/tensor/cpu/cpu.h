/* The CPU back-end's own ops; the rest of its table are the reference loops, where the compiler vectorises those as
 * well as anything. All loops but BLAS run on the calling thread: in a pipeline the other cores sample and extract. */
#ifndef GNN_TENSOR_CPU_H
#define GNN_TENSOR_CPU_H

#include "harness/tensor/tensor.h"

void gnn_cpu_column_sum(struct gnn_tensor *t, float *out, struct gnn_mat z);
void gnn_cpu_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const float *bias,
                      const struct gnn_dropout *drop);
void gnn_cpu_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                           const struct gnn_dropout *drop);
void gnn_cpu_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                         uint32_t *correct);
void gnn_cpu_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                            struct gnn_mat x, uint32_t *argmax);
void gnn_cpu_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                 const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax);
void gnn_cpu_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const float *weight,
                  struct gnn_mat x);
void gnn_cpu_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const float *weight,
                       struct gnn_mat dout);
void gnn_cpu_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att);
void gnn_cpu_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b);
void gnn_cpu_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b);
void gnn_cpu_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout);

/* What one row of a sparse product reads. Row k is x + col[k] * stride, its weight weight[k * weight_stride]; weight
 * NULL: all 1. */
struct gnn_cpu_rows {
    const float *x;
    uint64_t stride;
    const uint32_t *col;
    uint32_t count;
    const float *weight;
    uint32_t weight_stride;
};

/* out (cols) = the weighted sum of the rows, in their order. */
void gnn_cpu_sum_rows(float *out, uint64_t cols, const struct gnn_cpu_rows *rows);

#endif
