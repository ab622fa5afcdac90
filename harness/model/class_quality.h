/* SPDX-License-Identifier: MIT */
/* Quality of a classification beyond its accuracy: macro-averaged F1 and, for two classes, the area under the ROC
 * curve. Plain numbers on the host. */
#ifndef GNN_MODEL_CLASS_QUALITY_H
#define GNN_MODEL_CLASS_QUALITY_H

#include "harness/tensor/tensor.h"

/* A node of a two-class task. */
struct gnn_scored_node {
    gnn_real score; /* the higher, the more likely class 1 */
    bool positive;  /* its label is class 1 */
};

/* Returns the area under the ROC curve: the share of pairs of a positive and a negative node in which the positive one
 * has the higher score. A tie counts half. NAN: one of the classes is empty, or a score is NaN. Sorts the nodes. */
double gnn_roc_auc(struct gnn_scored_node *nodes, uint32_t count);

/* Predictions of one class. */
struct gnn_class_count {
    uint64_t labelled, predicted, correct;
};

/* Adds the predictions of a matrix of logits (count, classes): of equal logits the first wins. */
void gnn_class_count_add(struct gnn_class_count *counts, uint32_t classes, const gnn_real *logits,
                         const int32_t *labels, uint32_t count);
/* Returns the mean of F1 = 2 correct / (labelled + predicted) over the classes that occur, as a label or as a
 * prediction. NAN: none occurs. */
double gnn_macro_f1(const struct gnn_class_count *counts, uint32_t classes);

#endif
