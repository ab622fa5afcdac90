/* SPDX-License-Identifier: MIT */
/* Statistics of paired measurements: what two interleaved builds differ by, and how sure that is. Pure functions. */
#ifndef GNN_COMPARE_STATS_H
#define GNN_COMPARE_STATS_H

#include "harness/oocgnn.h"

enum { GNN_PAIRS_MAX = 512 };

/* The value below which `share` of the values lie, between two of them linearly (type 7 of Hyndman and Fan); NAN when
 * count is 0. values ascend. */
double gnn_quantile(const double *values, uint32_t count, double share);

/* Sorts ascending. No NAN. */
void gnn_sort_doubles(double *values, uint32_t count);

/* Wilcoxon's signed-rank test, exact with ties too: the probability that a sum of the positive differences' ranks at
 * least as large as theirs comes up where every sign is a coin's. Small: the differences are above 0. Zeros are left
 * out; 1 when nothing is left. count <= GNN_PAIRS_MAX. */
double gnn_signed_rank_p(const double *differences, uint32_t count);

struct gnn_interval {
    double low, high;
};

/* Percentile bootstrap of the median, with so much between the ends (0.95), from `seed`. count >= 1. */
struct gnn_interval gnn_median_interval(const double *values, uint32_t count, double share, uint64_t seed);

/* Holm's correction in place: p[i] becomes what may be compared with the level of the whole family, which holds
 * `family` >= count tests (those that are not among p are certainly not small). */
void gnn_holm(double *p, uint32_t count, uint32_t family);

/* Pairs needed to see a relative difference with 80 % power at 5 %, when paired log ratios spread by `spread`:
 * (2.8 spread / difference)^2 and a tenth more, which the signed-rank test costs against Student's t. */
uint32_t gnn_pairs_needed(double spread, double difference);

#endif
