/* SPDX-License-Identifier: MIT */
/* The feature cache of one superbatch: an address table over all nodes and C rows; the gather that uses it, and the
 * change sets that keep it up to date. The inspection has decided which rows are in it; here nothing is decided.
 *
 * Source   Ginex (PVLDB 15(11), 2022), feature cache; Switch and Execute of the released code
 * Memory   4 N + C R, one read window per worker. Rows are feature memory and never looked at
 * Threads  fill, gather and apply are jobs of a team; the cache is never changed while a gather runs (the caller's
 *          order: apply after the wait for the gather, the next gather after the wait for the apply)
 * Differs  a row that covers whole units is read straight into its place; buffered files are read row by row */
#ifndef GINEX_FEATURE_CACHE_H
#define GINEX_FEATURE_CACHE_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"
#include "systems/ginex/belady.h"

struct ginex_cache;

struct ginex_cache_config {
    uint32_t node_count;
    uint32_t rows; /* C at most */
    uint32_t row_bytes;
    uint32_t unit_bytes; /* of reads on a direct file: a power of two; 1 for a buffered one */
    uint32_t workers;    /* of the team */
    struct gnn_file *features;
};

/* GNN_ENOMEM, GNN_ECAP: *out is the caller's to close also then. */
GNN_MUST_CHECK enum gnn_status ginex_cache_open(struct gnn_world *world, const struct ginex_cache_config *config,
                                                struct ginex_cache **out, struct gnn_err *err);
void ginex_cache_close(struct ginex_cache *cache); /* accepts NULL */
uint64_t ginex_cache_bytes(const struct ginex_cache_config *config);

/* Row k is the k-th initial node's. First assign fills the table, then the rows are filled: by page faults, a team's
 * job; or by one thread that reads rows together that lie close together. */
void ginex_cache_assign(struct ginex_cache *cache, const gnn_node *initial, uint32_t count);
struct ginex_fill_job {
    struct ginex_cache *cache;
    struct gnn_map *features;
    const gnn_node *initial;
    uint32_t count;
};
GNN_MUST_CHECK enum gnn_status ginex_cache_fill(void *fill_job, uint32_t worker, uint32_t workers, struct gnn_err *err);
/* initial: ascending. Adds what was read to *bytes and *ios. */
GNN_MUST_CHECK enum gnn_status ginex_cache_fill_direct(struct ginex_cache *cache, enum gnn_ring_engine engine,
                                                       const gnn_node *initial, uint32_t count, uint64_t *bytes,
                                                       uint64_t *ios, struct gnn_err *err);
uint64_t ginex_cache_fill_direct_bytes(uint32_t row_bytes); /* memory it needs */

/* Copies the rows of a batch to dst (count, row_bytes): from the cache, or by one synchronous read. */
struct ginex_gather {
    struct ginex_cache *cache;
    const gnn_node *nodes;
    uint32_t count;
    void *dst;
};
GNN_MUST_CHECK enum gnn_status ginex_cache_gather(void *gather, uint32_t worker, uint32_t workers, struct gnn_err *err);
/* Misses of the gathers since the last call, and what these read. While no gather runs. */
struct ginex_cache_counts {
    uint64_t misses, bytes, ios;
};
void ginex_cache_take_counts(struct ginex_cache *cache, struct ginex_cache_counts *out);

/* After the gather of the batch: row in_row[k] of its input takes the slot of out_node[k]. GNN_EFORMAT for a node or
 * row that does not exist; GNN_EBUG where the cache does not hold what the change set says. */
struct ginex_apply {
    struct ginex_cache *cache;
    const struct ginex_changes *changes;
    const void *rows; /* (row_count, row_bytes) the batch's gathered input */
    uint32_t row_count;
};
GNN_MUST_CHECK enum gnn_status ginex_cache_apply(void *apply, uint32_t worker, uint32_t workers, struct gnn_err *err);

#endif
