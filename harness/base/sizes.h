/* SPDX-License-Identifier: MIT */
/* Request sizes, counted by class: up to 512 bytes, up to 1 KiB, and so on to 4 GiB. The last class includes larger
 * requests. Memory is constant. One thread writes; counts of several threads are merged. Count and largest size are
 * exact. */
#ifndef GNN_BASE_SIZES_H
#define GNN_BASE_SIZES_H

#include "harness/oocgnn.h"

enum { GNN_SIZE_LEAST_BYTES = 512, GNN_SIZE_CLASSES = 24 };

/* An empty count is zeroed. */
struct gnn_sizes {
    uint64_t count, max_bytes;
    uint64_t of_class[GNN_SIZE_CLASSES];
};

/* Returns the class of a size. Inline, because it is called for every read. */
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

/* Returns the largest size of a class, in bytes. */
static inline uint64_t gnn_size_class_bytes(uint32_t size_class)
{
    return (uint64_t)GNN_SIZE_LEAST_BYTES << size_class;
}

/* Writes the class's largest size to text as used in names: "512", "4K", "1M". Returns text. */
const char *gnn_size_class_name(uint32_t size_class, char text[8]);

void gnn_sizes_merge(struct gnn_sizes *into, const struct gnn_sizes *from);
/* Returns the requests that were added between `before` and `after`. max_bytes is the largest size of their highest
 * class, but at most after's max_bytes. */
struct gnn_sizes gnn_sizes_since(const struct gnn_sizes *after, const struct gnn_sizes *before);
/* Returns a size that `share` (0 … 1) of the requests do not exceed, or GNN_UNKNOWN if there are no requests. It is
 * the largest size of the class, but not above the largest request. */
uint64_t gnn_sizes_quantile(const struct gnn_sizes *sizes, double share);

#endif
