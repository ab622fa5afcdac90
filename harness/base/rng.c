/* SPDX-License-Identifier: MIT */
#include "harness/base/rng.h"

#include <math.h>

uint64_t gnn_rng_fork(uint64_t seed, const char *purpose)
{
    uint64_t key = gnn_rng_fold(seed, 0);
    for (const char *c = purpose; *c != '\0'; c++)
        key = gnn_rng_fold(key, (unsigned char)*c);
    return key;
}

double gnn_rng_normal(struct gnn_rng *rng)
{
    const double two_pi = 6.283185307179586476925;
    const double u = 1.0 - gnn_rng_unit(rng); /* (0, 1]: the logarithm stays finite */
    const double v = gnn_rng_unit(rng);
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}
