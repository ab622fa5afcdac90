/* SPDX-License-Identifier: MIT */
/* Page-cache residency and eviction. "Cold" is a fact that was observed, not an option. */
#ifndef GNN_MEASURE_PAGE_CACHE_H
#define GNN_MEASURE_PAGE_CACHE_H

#include "harness/oocgnn.h"

struct gnn_residency {
    uint64_t file_bytes;
    uint64_t resident_bytes; /* GNN_UNKNOWN where the kernel does not let this user see (mincore on others'
                                files) */
};

/* Resident pages of one regular file, by mincore. */
GNN_MUST_CHECK enum gnn_status gnn_cache_residency(const char *path, struct gnn_residency *out, struct gnn_err *err);

/* Writes dirty pages back and asks the kernel to drop the file's pages. Pages another process maps stay. */
GNN_MUST_CHECK enum gnn_status gnn_cache_evict(const char *path, struct gnn_err *err);

/* Evicts the files, for a third of a second again and again where pages stay, and sums up what is resident afterwards.
 * Cold was observed when gnn_cache_is_cold(out). A path may be a directory: then every regular file in it counts,
 * however deep; links to files are followed, links to directories are not. */
GNN_MUST_CHECK enum gnn_status gnn_cache_make_cold(const char *const *paths, uint32_t count, struct gnn_residency *out,
                                                   struct gnn_err *err);

/* The same sum without evicting. */
GNN_MUST_CHECK enum gnn_status gnn_cache_residency_all(const char *const *paths, uint32_t count,
                                                       struct gnn_residency *out, struct gnn_err *err);

/* At most one byte in a thousand is resident; unknown residency is not cold. */
bool gnn_cache_is_cold(const struct gnn_residency *residency);

#endif
