/* SPDX-License-Identifier: MIT */
/* Page-cache residency and eviction. "Cold" is an observation, not an option. */
#ifndef GNN_MEASURE_PAGE_CACHE_H
#define GNN_MEASURE_PAGE_CACHE_H

#include "harness/oocgnn.h"

struct gnn_residency {
    uint64_t file_bytes;
    uint64_t resident_bytes; /* GNN_UNKNOWN if mincore does not show this user the file's pages */
};

/* Counts the resident bytes of one regular file, by mincore. Returns GNN_ENOENT, GNN_EPERM or GNN_EIO if the file
 * cannot be read, or GNN_EUSAGE if it is not a regular file. */
GNN_MUST_CHECK enum gnn_status gnn_cache_residency(const char *path, struct gnn_residency *out, struct gnn_err *err);

/* Writes dirty pages of the file back and requests that the kernel drop all of its pages. Pages that another process
 * maps are not dropped. Returns errors as gnn_cache_residency() does. */
GNN_MUST_CHECK enum gnn_status gnn_cache_evict(const char *path, struct gnn_err *err);

/* Evicts the files, and repeats this for a third of a second while pages stay resident. Fills out with the sum over all
 * files of what is resident then; gnn_cache_is_cold(out) gives the verdict. For a directory, every regular file in it
 * counts, up to eight levels deep. Links to files are followed, links to directories are not. */
GNN_MUST_CHECK enum gnn_status gnn_cache_make_cold(const char *const *paths, uint32_t count, struct gnn_residency *out,
                                                   struct gnn_err *err);

/* Sums up residency over the same files as gnn_cache_make_cold() does, without evicting. */
GNN_MUST_CHECK enum gnn_status gnn_cache_residency_all(const char *const *paths, uint32_t count,
                                                       struct gnn_residency *out, struct gnn_err *err);

/* Returns whether at most one byte in a thousand is resident. Unknown residency is not cold. */
bool gnn_cache_is_cold(const struct gnn_residency *residency);

#endif
