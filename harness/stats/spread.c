/* SPDX-License-Identifier: MIT */
/* How numbers are spread over nodes. */
#include "harness/stats/curves.h"
#include "harness/stats/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const double gnn_stats_quantiles[GNN_STATS_QUANTILES] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99};
const double gnn_stats_shares[GNN_STATS_SHARES] = {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1};

/* Where the law's steps end: closely where few nodes have much, and evenly behind. */
static const double steps[] = {0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075,
                               0.01,    0.015,   0.02,    0.03,   0.04,   0.05,   0.065, 0.08,  0.1,   0.125, 0.15,
                               0.175,   0.2,     0.225,   0.25,   0.275,  0.3,    0.35,  0.4,   0.45,  0.5,   0.55,
                               0.6,     0.65,    0.7,     0.75,   0.8,    0.85,   0.9,   0.95,  1};
enum { STEPS = sizeof steps / sizeof steps[0] };
_Static_assert(sizeof steps / sizeof steps[0] <= GNN_LAW_POINTS_MAX, "a law has room for all steps");

/* A step without a node of its own is left out. */
static void read_law(const uint32_t *falling, uint64_t count, struct gnn_rank_law *law)
{
    uint64_t at = 0;
    law->count = 0;
    for (int i = 0; i < STEPS; i++) {
        const uint64_t end = i + 1 == STEPS ? count : (uint64_t)(steps[i] * (double)count);
        double sum = 0;
        if (end <= at)
            continue;
        for (uint64_t v = at; v < end; v++)
            sum += falling[v];
        law->upto[law->count] = (double)end / (double)count;
        law->mean[law->count++] = sum / (double)(end - at);
        at = end;
    }
}

void gnn_spread_of(uint32_t *values, uint32_t *scratch, uint64_t count, struct gnn_spread *spread)
{
    *spread = (struct gnn_spread){.nodes = count, .mean = NAN, .zero = NAN};
    for (int i = 0; i < GNN_STATS_SHARES; i++)
        spread->best[i] = NAN;
    if (count == 0)
        return;
    uint64_t sum = 0, below = 0, zeros = 0;
    gnn_sort_falling(values, scratch, count);
    for (uint64_t v = 0; v < count; v++) {
        sum += values[v];
        zeros += values[v] == 0;
    }
    spread->max = values[0];
    spread->mean = (double)sum / (double)count;
    spread->zero = (double)zeros / (double)count;
    for (int i = 0; i < GNN_STATS_QUANTILES; i++)
        spread->quantile[i] = values[count - 1 - (uint64_t)(gnn_stats_quantiles[i] * (double)(count - 1))];
    uint64_t v = 0;
    for (int i = 0; i < GNN_STATS_SHARES; i++) {
        for (; v < (uint64_t)(gnn_stats_shares[i] * (double)count); v++)
            below += values[v];
        spread->best[i] = sum == 0 ? (double)NAN : (double)below / (double)sum;
    }
    read_law(values, count, &spread->law);
}
