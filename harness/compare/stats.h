/* SPDX-License-Identifier: MIT */
/* Statistics of paired measurements: the difference of two interleaved builds and its certainty. Pure functions. */
#ifndef GNN_COMPARE_STATS_H
#define GNN_COMPARE_STATS_H

#include "harness/oocgnn.h"

enum { GNN_PAIRS_MAX = 512, GNN_TESTS_MAX = 1024 };

/* Returns the quantile at `share` of values (count, ascending), with linear interpolation (type 7 of Hyndman and Fan),
 * or NAN if count is 0. */
double gnn_quantile(const double *values, uint32_t count, double share);

/* Sorts values in ascending order. They must not contain NAN. */
void gnn_sort_doubles(double *values, uint32_t count);

/* Returns the one-sided p-value of Wilcoxon's signed-rank test, exact also with ties. It is the probability of a sum of
 * positive ranks at least as large as the observed one, if every sign is random. A small value means that differences
 * are above 0. Zeros are ignored; the result is 1 if all are 0 or memory runs out. count <= GNN_PAIRS_MAX. */
double gnn_signed_rank_p(const double *differences, uint32_t count);

/* Returns the one-sided p-value of the sign-flip test of the mean. It is the probability of a sum at least as large as
 * the observed one, if the sign of every difference is random. Sizes are rounded to 1/16384 of their sum; the test is
 * exact for the rounded ones. It finds a few large differences that the signed ranks miss. The result is 1 if all are
 * 0 or memory runs out. count <= GNN_PAIRS_MAX. */
double gnn_sign_flip_p(const double *differences, uint32_t count);

struct gnn_interval {
    double low, high;
};

/* Return the percentile bootstrap interval of the median, of the mean, that covers `share` (0.95), with `seed`.
 * 1 <= count <= GNN_PAIRS_MAX. */
struct gnn_interval gnn_median_interval(const double *values, uint32_t count, double share, uint64_t seed);
struct gnn_interval gnn_mean_interval(const double *values, uint32_t count, double share, uint64_t seed);

/* Applies Holm's correction in place: p[i] can then be compared with the level of the whole family. The family has
 * `family` >= count tests; those that are not in p count as large. count <= GNN_TESTS_MAX. */
void gnn_holm(double *p, uint32_t count, uint32_t family);

/* Returns the number of pairs that detect a relative difference with 80 % power at 5 %. `spread` is that of the paired
 * log ratios. The number is (2.8 spread / difference)^2 plus a tenth, the cost of the signed-rank test against
 * Student's t. */
uint32_t gnn_pairs_needed(double spread, double difference);

#endif
