/* SPDX-License-Identifier: MIT */
/* Durations as a histogram whose buckets are 1/32 wide relative to their values, so that a percentile is right within
 * 3.2 %. Fixed memory, one writer; histograms of several threads add up. Largest and count are exact. */
#ifndef GNN_BASE_HISTOGRAM_H
#define GNN_BASE_HISTOGRAM_H

#include "harness/oocgnn.h"

#include <assert.h>

enum { GNN_HISTOGRAM_SUB = 32, GNN_HISTOGRAM_BUCKETS = GNN_HISTOGRAM_SUB * 60 };

/* Zeroed is empty. */
struct gnn_histogram {
    uint64_t count, max_ns;
    uint64_t buckets[GNN_HISTOGRAM_BUCKETS];
};

/* Below GNN_HISTOGRAM_SUB every value has a bucket; above, the leading bit chooses 32 buckets and the next five bits
 * one of them. */
static inline uint32_t gnn_histogram_bucket(uint64_t ns)
{
    if (ns < GNN_HISTOGRAM_SUB)
        return (uint32_t)ns;
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(ns); /* >= 5 */
    return (octave - 4) * GNN_HISTOGRAM_SUB + (uint32_t)(ns >> (octave - 5)) % GNN_HISTOGRAM_SUB;
}

/* In the header, as it is called for every read. */
static inline void gnn_histogram_add(struct gnn_histogram *histogram, uint64_t ns)
{
    const uint32_t bucket = gnn_histogram_bucket(ns);
    assert(bucket < GNN_HISTOGRAM_BUCKETS);
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->max_ns = gnn_max_u64(histogram->max_ns, ns);
}

void gnn_histogram_merge(struct gnn_histogram *into, const struct gnn_histogram *from);
/* Empties it. Writes to the buckets that hold something only: untouched memory stays so. */
void gnn_histogram_clear(struct gnn_histogram *histogram);
/* Returns the value that `share` (0 … 1) of the entries do not exceed: its bucket's upper end, the largest entry at
 * most; GNN_UNKNOWN without entries. */
uint64_t gnn_histogram_quantile(const struct gnn_histogram *histogram, double share);

/* What is told of a histogram; GNN_UNKNOWN for each time of an empty one. */
struct gnn_percentiles {
    uint64_t count;
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};
struct gnn_percentiles gnn_histogram_percentiles(const struct gnn_histogram *histogram);

#endif
