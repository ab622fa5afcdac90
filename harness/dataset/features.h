/* SPDX-License-Identifier: MIT */
/* Synthetic feature rows: a noisy centroid per class, or noise alone. Pure functions of (key, node, column). Internal
 * to harness/dataset/. */
#ifndef GNN_DATASET_FEATURES_H
#define GNN_DATASET_FEATURES_H

#include "harness/oocgnn.h"

/* `signal` of a graph without a reach, and of one with a reach, whose rows show their class more or less clearly. */
#define GNN_FEATURE_SIGNAL 0.75
#define GNN_FEATURE_SIGNAL_REACH 3.0

/* row (dim) = amplitude * sign(class, column) + noise(node, column). The signs are +1 or -1, hashed; the noise is the
 * sum of four uniforms, scaled to variance 1 (Irwin-Hall: symmetric, inside +-3.47). amplitude 0 gives noise alone. */
void gnn_feature_row(uint64_t key, uint32_t class, uint32_t node, uint32_t dim, float amplitude, float *row);

/* The amplitude that separates classes alike at any width and class count: signal * sqrt(2 ln classes / dim), so that a
 * row lies signal * sqrt(2 ln classes) standard deviations from the origin along its class's direction, against about
 * sqrt(2 ln classes) for the best of the wrong classes. */
float gnn_feature_amplitude(double signal, uint32_t class_count, uint32_t dim);

#endif
