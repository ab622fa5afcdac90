/* SPDX-License-Identifier: MIT */
/* One sequential pass over a file of the dataset, with read-ahead: for what systems prepare. One thread. */
#ifndef GNN_SYSTEM_SCAN_H
#define GNN_SYSTEM_SCAN_H

#include "harness/system/system.h"

/* Receives `count` units of a file in `data`, from number `first` on. */
typedef enum gnn_status gnn_scan_fn(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err);

/* A range of a dataset's file. */
struct gnn_scan {
    const char *path;
    bool direct;
    uint64_t begin_bytes, end_bytes; /* begin is a multiple of 4096 */
    uint64_t unit_bytes;             /* size of a row, or of a neighbour ID */
    bool ids;                        /* units are neighbour IDs of nodes of the graph; `visit` receives gnn_nodes */
    unsigned mem_flags;              /* for the read buffers: GNN_MEM_FEATURES for rows */
};
/* Returns a scan of all edges of the dataset, or of all its feature rows. */
struct gnn_scan gnn_scan_of_edges(const struct gnn_env *env, bool direct);
struct gnn_scan gnn_scan_of_rows(const struct gnn_env *env, bool direct);
/* Scans the file and calls `visit` for every piece; its errors end the scan. GNN_EFORMAT: the file ends before
 * end_bytes, or an ID is not a node. GNN_ECANCELLED: the run's stop flag was set. */
GNN_MUST_CHECK enum gnn_status gnn_scan_file(const struct gnn_env *env, const struct gnn_scan *scan, gnn_scan_fn *visit,
                                             void *ctx, struct gnn_err *err);
/* Returns the host memory of a scan of units of this size, for memory plans. */
uint64_t gnn_scan_bytes(uint64_t unit_bytes);

#endif
