/* SPDX-License-Identifier: MIT */
/* A histogram of durations. A bucket is 1/32 as wide as its values, so a percentile is right within 3.2 %. Memory is
 * constant. One thread writes; histograms of several threads are merged. Count and largest value are exact. */
#ifndef GNN_BASE_HISTOGRAM_H
#define GNN_BASE_HISTOGRAM_H

#include "harness/oocgnn.h"

#include <assert.h>

enum { GNN_HISTOGRAM_SUB = 32, GNN_HISTOGRAM_BUCKETS = GNN_HISTOGRAM_SUB * 60 };

/* An empty histogram is zeroed. */
struct gnn_histogram {
    uint64_t count, max_ns;
    uint64_t buckets[GNN_HISTOGRAM_BUCKETS];
};

/* Returns the bucket of a duration. Below GNN_HISTOGRAM_SUB every value has its own bucket. Above, the leading bit
 * selects 32 buckets and the next five bits one of them. */
static inline uint32_t gnn_histogram_bucket(uint64_t ns)
{
    if (ns < GNN_HISTOGRAM_SUB)
        return (uint32_t)ns;
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(ns); /* >= 5 */
    return (octave - 4) * GNN_HISTOGRAM_SUB + (uint32_t)(ns >> (octave - 5)) % GNN_HISTOGRAM_SUB;
}

/* Adds a duration. Inline, because it is called for every read. */
static inline void gnn_histogram_add(struct gnn_histogram *histogram, uint64_t ns)
{
    const uint32_t bucket = gnn_histogram_bucket(ns);
    assert(bucket < GNN_HISTOGRAM_BUCKETS);
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->max_ns = gnn_max_u64(histogram->max_ns, ns);
}

void gnn_histogram_merge(struct gnn_histogram *into, const struct gnn_histogram *from);
/* Empties the histogram. Writes only to buckets that are not 0, so untouched memory stays untouched. */
void gnn_histogram_clear(struct gnn_histogram *histogram);
/* Returns a duration that `share` (0 … 1) of the entries do not exceed, or GNN_UNKNOWN if there are no entries. It is
 * the upper end of the entry's bucket, but not above the largest entry. */
uint64_t gnn_histogram_quantile(const struct gnn_histogram *histogram, double share);

/* Percentiles of a histogram. Each time is GNN_UNKNOWN if the histogram is empty. */
struct gnn_percentiles {
    uint64_t count;
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
};
struct gnn_percentiles gnn_histogram_percentiles(const struct gnn_histogram *histogram);

#endif
