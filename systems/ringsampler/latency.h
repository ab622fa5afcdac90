/* Latencies of requests: a histogram whose buckets are 1/32 wide relative to their values, so that a percentile is
 * right within 3.2 %. Fixed memory, one writer; histograms of several threads add up. Largest and count are exact. */
#ifndef RINGSAMPLER_LATENCY_H
#define RINGSAMPLER_LATENCY_H

#include "harness/oocgnn.h"

enum { RS_LATENCY_SUB = 32, RS_LATENCY_BUCKETS = RS_LATENCY_SUB * 60 };

struct rs_histogram {
    uint64_t count, max_ns;
    uint64_t buckets[RS_LATENCY_BUCKETS];
};

/* Of one request from its start, and from the start of the stream (the paper's Figure 6 reads like the second). */
struct rs_latencies {
    struct rs_histogram request, stream;
};

void rs_histogram_add(struct rs_histogram *histogram, uint64_t ns);
void rs_histogram_merge(struct rs_histogram *into, const struct rs_histogram *from);
/* Returns the value that `share` (0 … 1) of the entries do not exceed: its bucket's upper end, the largest entry at
 * most; GNN_UNKNOWN without entries. */
uint64_t rs_histogram_quantile(const struct rs_histogram *histogram, double share);

#endif
