/* SPDX-License-Identifier: MIT */
/* Neighbour lists during superbatch sampling: a static neighbour cache, and reads of whole lists that it does not have.
 *
 * Source   Ginex (PVLDB 15(11), 2022), neighbour cache.
 * Cache    The longest prefix of the nodes by score whose lists fit. An entry is a count and the neighbours. Its words
 *          are as wide as the dataset's IDs (--id-bytes 8: the original's). A table has the position of every node's
 *          entry. The cache is built once, at open, into a scratch file. Every Inspect loads it and frees it at its
 *          end, so it never shares memory with the feature cache.
 * Miss     One read of the WHOLE list, whatever part of it was drawn, and again at each hop and in each batch.
 * Differs  Entries are in node order, not in score order, so building takes two sequential passes over the topology.
 *          Lists above 256 KiB are read in several pieces, without the extra page of the original's rule. */
#ifndef GINEX_NEIGHBOURS_H
#define GINEX_NEIGHBOURS_H

#include "harness/system/system.h"
#include "systems/ginex/score.h"

enum ginex_list_read {
    GINEX_LIST_ARTIFACT, /* floor(w g / 4096) * 4096 + 8192 bytes from the list's first page on; w: --id-bytes */
    GINEX_LIST_COVER,    /* the pages that contain the list */
};

enum {
    GINEX_LIST_BUFFER_BYTES = (256 << 10) + 2 * GNN_PAGE_BYTES, /* of each source */
    GINEX_BUILD_BYTES = 1 << 20, /* memory for building the cache, without the scan: one write */
};

struct ginex_neighbours_config {
    uint64_t cache_bytes; /* Z_n; 0: no cache */
    bool skip_isolated;
    bool direct;
    enum ginex_list_read list_read;
    uint32_t workers;          /* V: number of sources */
    uint32_t load_block_bytes; /* bytes of a read when the cache is loaded */
    uint32_t load_depth;       /* such reads in flight */
    const char *dir;           /* directory of the cache's file */
};

struct ginex_neighbours;

/* Builds the cache from the scan, or none if scan is NULL (then there is no cache or no edge). Lists are read from
 * `indices`, which the caller keeps open. Returns GNN_ECAP if cache_bytes cannot hold the table, or errors of the
 * files. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status ginex_neighbours_open(const struct gnn_env *env,
                                                     const struct ginex_neighbours_config *config,
                                                     struct gnn_file *indices, struct ginex_scan *scan,
                                                     struct ginex_neighbours **out, struct gnn_err *err);
void ginex_neighbours_close(struct ginex_neighbours *n); /* accepts NULL */

/* Reads the cache from disk to memory; ginex_neighbours_unload frees that memory. No source may be in use. */
GNN_MUST_CHECK enum gnn_status ginex_neighbours_load(struct ginex_neighbours *n, struct gnn_err *err);
void ginex_neighbours_unload(struct ginex_neighbours *n);

/* Opens worker w's source: a struct gnn_sampling_config.open_source with the neighbours as context. The caller closes
 * it. */
GNN_MUST_CHECK enum gnn_status ginex_source_open(void *neighbours, uint32_t worker, struct gnn_neighbour_source **out,
                                                 struct gnn_err *err);

struct ginex_neighbours_counters {
    uint64_t cached_lists, read_lists; /* lists that were drawn from, over all sources */
    uint64_t list_bytes, list_ios;
    uint64_t load_bytes, load_ios;
};
/* Returns the counts since the last call and resets them. No source may be in use. */
void ginex_neighbours_take_counters(struct ginex_neighbours *n, struct ginex_neighbours_counters *out);

uint64_t ginex_neighbours_words(const struct ginex_neighbours *n);      /* of all entries */
uint64_t ginex_neighbours_file_bytes(const struct ginex_neighbours *n); /* of the cache's file, table included */

/* Returns whether the loaded cache has v's list. */
bool ginex_neighbours_has(const struct ginex_neighbours *n, gnn_node v);

#endif
