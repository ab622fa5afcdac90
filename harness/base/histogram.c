/* SPDX-License-Identifier: MIT */
#include "harness/base/histogram.h"

#include <assert.h>
#include <math.h>

/* Returns the largest value of a bucket. */
static uint64_t upper_ns(uint32_t bucket)
{
    if (bucket < GNN_HISTOGRAM_SUB)
        return bucket;
    const uint32_t shift = bucket / GNN_HISTOGRAM_SUB - 1;
    const uint64_t lower = (uint64_t)(GNN_HISTOGRAM_SUB + bucket % GNN_HISTOGRAM_SUB) << shift;
    return lower + (UINT64_C(1) << shift) - 1;
}

void gnn_histogram_merge(struct gnn_histogram *into, const struct gnn_histogram *from)
{
    for (uint32_t i = 0; i < GNN_HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->count += from->count;
    into->max_ns = gnn_max_u64(into->max_ns, from->max_ns);
}

void gnn_histogram_clear(struct gnn_histogram *histogram)
{
    for (uint32_t i = 0; i < GNN_HISTOGRAM_BUCKETS; i++)
        if (histogram->buckets[i] != 0)
            histogram->buckets[i] = 0;
    histogram->count = histogram->max_ns = 0;
}

uint64_t gnn_histogram_quantile(const struct gnn_histogram *histogram, double share)
{
    assert(share >= 0);
    assert(share <= 1);
    if (histogram->count == 0)
        return GNN_UNKNOWN;
    const uint64_t wanted = (uint64_t)ceil(share * (double)histogram->count);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < GNN_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= wanted && seen > 0)
            return gnn_min_u64(upper_ns(i), histogram->max_ns);
    }
    return histogram->max_ns;
}

struct gnn_percentiles gnn_histogram_percentiles(const struct gnn_histogram *histogram)
{
    return (struct gnn_percentiles){.count = histogram->count,
                                    .p50_ns = gnn_histogram_quantile(histogram, 0.5),
                                    .p90_ns = gnn_histogram_quantile(histogram, 0.9),
                                    .p99_ns = gnn_histogram_quantile(histogram, 0.99),
                                    .p999_ns = gnn_histogram_quantile(histogram, 0.999),
                                    .max_ns = gnn_histogram_quantile(histogram, 1)};
}
