#include "harness/base/histogram.h"

#include <assert.h>
#include <math.h>

/* Below GNN_HISTOGRAM_SUB every value has a bucket; above, the leading bit chooses 32 buckets and the next five bits
 * one of them. */
static uint32_t bucket_of(uint64_t ns)
{
    if (ns < GNN_HISTOGRAM_SUB)
        return (uint32_t)ns;
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(ns); /* >= 5 */
    return (octave - 4) * GNN_HISTOGRAM_SUB + (uint32_t)(ns >> (octave - 5)) % GNN_HISTOGRAM_SUB;
}

/* Returns the largest value of a bucket. */
static uint64_t upper_ns(uint32_t bucket)
{
    if (bucket < GNN_HISTOGRAM_SUB)
        return bucket;
    const uint32_t shift = bucket / GNN_HISTOGRAM_SUB - 1;
    const uint64_t lower = (uint64_t)(GNN_HISTOGRAM_SUB + bucket % GNN_HISTOGRAM_SUB) << shift;
    return lower + (UINT64_C(1) << shift) - 1;
}

void gnn_histogram_add(struct gnn_histogram *histogram, uint64_t ns)
{
    const uint32_t bucket = bucket_of(ns);
    assert(bucket < GNN_HISTOGRAM_BUCKETS);
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->max_ns = gnn_max_u64(histogram->max_ns, ns);
}

void gnn_histogram_merge(struct gnn_histogram *into, const struct gnn_histogram *from)
{
    for (uint32_t i = 0; i < GNN_HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->count += from->count;
    into->max_ns = gnn_max_u64(into->max_ns, from->max_ns);
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
