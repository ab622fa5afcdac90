/* SPDX-License-Identifier: MIT */
/* The feature cache of one superbatch: an address table over all nodes, and C rows. The gather uses it, and change sets
 * keep it current. The inspection decides which rows it holds; nothing is decided here.
 *
 * Source   Ginex (PVLDB 15(11), 2022), feature cache; Switch and Execute of the released code.
 * Memory   4 N + C R bytes, and one read window per worker. Rows are feature memory and are never interpreted.
 * Threads  Functions fill, gather and apply are jobs of a team. The cache must not change while a gather runs. The
 *          caller applies after waiting for the gather, and gathers again after waiting for the apply.
 * Differs  A row that covers whole units is read straight into its place. Buffered files are read row by row. */
#ifndef GINEX_FEATURE_CACHE_H
#define GINEX_FEATURE_CACHE_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"
#include "systems/ginex/belady.h"

struct ginex_cache;

struct ginex_cache_config {
    uint32_t node_count;
    uint32_t rows; /* C: largest number of rows */
    uint32_t row_bytes;
    uint32_t unit_bytes; /* unit of direct reads: a power of two; 1 for a buffered file */
    uint32_t workers;    /* of the team */
    struct gnn_file *features;
};

/* Opens an empty cache. Returns GNN_ENOMEM or GNN_ECAP; the caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status ginex_cache_open(struct gnn_world *world, const struct ginex_cache_config *config,
                                                struct ginex_cache **out, struct gnn_err *err);
void ginex_cache_close(struct ginex_cache *cache); /* accepts NULL */
uint64_t ginex_cache_bytes(const struct ginex_cache_config *config);

/* Assigns row k to the k-th initial node in the table. Afterwards the rows are filled in one of two ways. Function
 * ginex_cache_fill is a team's job and uses page faults. Function ginex_cache_fill_direct runs on one thread and reads
 * rows together that are close to each other. */
void ginex_cache_assign(struct ginex_cache *cache, const gnn_node *initial, uint32_t count);
struct ginex_fill_job {
    struct ginex_cache *cache;
    struct gnn_map *features;
    const gnn_node *initial;
    uint32_t count;
};
GNN_MUST_CHECK enum gnn_status ginex_cache_fill(void *fill_job, uint32_t worker, uint32_t workers, struct gnn_err *err);
/* Fills the rows of the initial nodes, which must be ascending. Adds what was read to *bytes and *ios. Returns errors
 * of the file, the ring and the allocator. */
GNN_MUST_CHECK enum gnn_status ginex_cache_fill_direct(struct ginex_cache *cache, enum gnn_ring_engine engine,
                                                       const gnn_node *initial, uint32_t count, uint64_t *bytes,
                                                       uint64_t *ios, struct gnn_err *err);
uint64_t ginex_cache_fill_direct_bytes(uint32_t row_bytes); /* memory that the direct fill takes */

/* A gather: copies the rows of a batch to dst (count, row_bytes), each from the cache or by one synchronous read. */
struct ginex_gather {
    struct ginex_cache *cache;
    const gnn_node *nodes;
    uint32_t count;
    void *dst;
};
GNN_MUST_CHECK enum gnn_status ginex_cache_gather(void *gather, uint32_t worker, uint32_t workers, struct gnn_err *err);
/* Misses of the gathers since the last call, and what these read. No gather may be running. */
struct ginex_cache_counts {
    uint64_t misses, bytes, ios;
};
void ginex_cache_take_counts(struct ginex_cache *cache, struct ginex_cache_counts *out);

/* A change set, applied after the gather of its batch: row in_row[k] of the batch's input takes the slot of
 * out_node[k]. The job returns GNN_EFORMAT if a node or row does not exist, or GNN_EBUG if the cache differs from what
 * the change set expects. */
struct ginex_apply {
    struct ginex_cache *cache;
    const struct ginex_changes *changes;
    const void *rows; /* (row_count, row_bytes) the batch's gathered input */
    uint32_t row_count;
};
GNN_MUST_CHECK enum gnn_status ginex_cache_apply(void *apply, uint32_t worker, uint32_t workers, struct gnn_err *err);

#endif
