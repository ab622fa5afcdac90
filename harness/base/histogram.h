/* Durations as a histogram whose buckets are 1/32 wide relative to their values, so that a percentile is right within
 * 3.2 %. Fixed memory, one writer; histograms of several threads add up. Largest and count are exact. */
#ifndef GNN_BASE_HISTOGRAM_H
#define GNN_BASE_HISTOGRAM_H

#include "harness/oocgnn.h"

enum { GNN_HISTOGRAM_SUB = 32, GNN_HISTOGRAM_BUCKETS = GNN_HISTOGRAM_SUB * 60 };

/* Zeroed is empty. */
struct gnn_histogram {
    uint64_t count, max_ns;
    uint64_t buckets[GNN_HISTOGRAM_BUCKETS];
};

void gnn_histogram_add(struct gnn_histogram *histogram, uint64_t ns);
void gnn_histogram_merge(struct gnn_histogram *into, const struct gnn_histogram *from);
/* Returns the value that `share` (0 … 1) of the entries do not exceed: its bucket's upper end, the largest entry at
 * most; GNN_UNKNOWN without entries. */
uint64_t gnn_histogram_quantile(const struct gnn_histogram *histogram, double share);

#endif
