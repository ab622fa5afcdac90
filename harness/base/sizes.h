/* SPDX-License-Identifier: MIT */
/* Sizes of requests, counted by class: up to 512 bytes, more than that up to 1 KiB, and so on to 4 GiB, in which larger
 * ones count too. Fixed memory, one writer; counts of several threads add up. Count and largest are exact. */
#ifndef GNN_BASE_SIZES_H
#define GNN_BASE_SIZES_H

#include "harness/oocgnn.h"

enum { GNN_SIZE_LEAST_BYTES = 512, GNN_SIZE_CLASSES = 24 };

/* Zeroed is empty. */
struct gnn_sizes {
    uint64_t count, max_bytes;
    uint64_t of_class[GNN_SIZE_CLASSES];
};

/* In the header, as it is called for every read. */
static inline uint32_t gnn_size_class(uint64_t bytes)
{
    if (bytes <= GNN_SIZE_LEAST_BYTES)
        return 0;
    return gnn_min_u32(64 - (uint32_t)__builtin_clzll((bytes - 1) / GNN_SIZE_LEAST_BYTES), GNN_SIZE_CLASSES - 1);
}

static inline void gnn_sizes_add(struct gnn_sizes *sizes, uint64_t bytes)
{
    sizes->of_class[gnn_size_class(bytes)]++;
    sizes->count++;
    sizes->max_bytes = gnn_max_u64(sizes->max_bytes, bytes);
}

/* The most bytes of a class. */
static inline uint64_t gnn_size_class_bytes(uint32_t size_class)
{
    return (uint64_t)GNN_SIZE_LEAST_BYTES << size_class;
}

/* Writes the class's most bytes as names have them: "512", "4K", "1M". Returns `text`. */
const char *gnn_size_class_name(uint32_t size_class, char text[8]);

void gnn_sizes_merge(struct gnn_sizes *into, const struct gnn_sizes *from);
/* Returns what came to `before` until it was `after`. Its largest is told by the class: the most bytes of that, after's
 * largest at most. */
struct gnn_sizes gnn_sizes_since(const struct gnn_sizes *after, const struct gnn_sizes *before);
/* Returns the size that `share` (0 … 1) of the requests do not exceed: the most bytes of its class, the largest
 * request at most; GNN_UNKNOWN without requests. */
uint64_t gnn_sizes_quantile(const struct gnn_sizes *sizes, double share);

#endif
