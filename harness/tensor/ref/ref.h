/* The reference back-end's ops by name, so that another host back-end can take over those where a plain loop is as fast
 * as anything. Meaning and shapes: harness/tensor/tensor.h. */
#ifndef GNN_TENSOR_REF_H
#define GNN_TENSOR_REF_H

#include "harness/tensor/tensor.h"

/* First real of row i. */
static inline gnn_real *gnn_mat_row(struct gnn_mat m, uint64_t i)
{
    return m.data + i * m.cols;
}

void gnn_ref_fill(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value);
void gnn_ref_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                         const uint32_t *rows, uint32_t count, uint32_t cols);
void gnn_ref_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
                  gnn_real beta, struct gnn_mat c);
void gnn_ref_add_bias(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias);
void gnn_ref_column_sum(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z);
void gnn_ref_add(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count);
void gnn_ref_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads);
void gnn_ref_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads);
void gnn_ref_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                      const struct gnn_dropout *drop);
void gnn_ref_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                           const struct gnn_dropout *drop);
void gnn_ref_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                         uint32_t *correct);
void gnn_ref_adam(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
                  const struct gnn_adam *adam);

void gnn_ref_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                            struct gnn_mat x, uint32_t *argmax);
void gnn_ref_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                 const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax);
void gnn_ref_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                         const struct gnn_block *b);
void gnn_ref_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight,
                  struct gnn_mat x);
void gnn_ref_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight,
                       struct gnn_mat dout);

void gnn_ref_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att);
void gnn_ref_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b);
void gnn_ref_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b);
void gnn_ref_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout);

#endif
