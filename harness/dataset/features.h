/* SPDX-License-Identifier: MIT */
/* Synthetic feature rows: a centroid per class plus noise, or noise only. Pure functions of (key, node, column).
 * Internal to harness/dataset/. */
#ifndef GNN_DATASET_FEATURES_H
#define GNN_DATASET_FEATURES_H

#include "harness/base/half.h"
#include "harness/oocgnn.h"

/* Defaults of `signal`, without and with a reachable set. The larger it is, the more clearly rows show their class. */
#define GNN_FEATURE_SIGNAL 0.75
#define GNN_FEATURE_SIGNAL_REACH 3.0

/* Fills row (dim): amplitude * sign(class, column) + noise(node, column). Signs are +1 or -1, by hash. Noise is the sum
 * of four uniforms, scaled to variance 1 (Irwin-Hall: symmetric, within +-3.47). Amplitude 0 gives noise only. */
void gnn_feature_row(uint64_t key, uint32_t class, uint32_t node, uint32_t dim, float amplitude, float *row);

/* Writes the same row as numbers of this type, floats rounded to the nearest half. */
void gnn_feature_row_store(uint64_t key, uint32_t class, uint32_t node, uint32_t dim, float amplitude,
                           enum gnn_feature_type type, void *row);

/* Returns an amplitude that separates classes equally well at any width and class count: signal * sqrt(2 ln classes /
 * dim). Along its class's direction, a row is then signal * sqrt(2 ln classes) standard deviations from the origin. The
 * best of the wrong classes reaches about sqrt(2 ln classes). */
float gnn_feature_amplitude(double signal, uint32_t class_count, uint32_t dim);

#endif
