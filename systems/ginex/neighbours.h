/* SPDX-License-Identifier: MIT */
/* Neighbour lists during superbatch sampling: the static neighbour cache, and reads of whole lists for what it
 * lacks.
 *
 * Source   Ginex (PVLDB 15(11), 2022), neighbour cache
 * Cache    the longest prefix of the nodes by score whose lists fit; an entry is a count and the neighbours, words as
 *          wide as the dataset's IDs (--id-bytes 8: the original's); a table says for every node where its entry
 *          begins. Built once, at open, into a scratch file; loaded at every Inspect and freed at its end, so that it
 *          never shares memory with the feature cache
 * Miss     one read of the WHOLE list, at each hop and in each batch anew, whatever of it was drawn
 * Differs  entries lie in node order, not in score order, so that building is two sequential passes over the topology;
 *          lists above 256 KiB arrive in several reads, without the rule's page too many */
#ifndef GINEX_NEIGHBOURS_H
#define GINEX_NEIGHBOURS_H

#include "harness/system/system.h"
#include "systems/ginex/score.h"

enum ginex_list_read {
    GINEX_LIST_ARTIFACT, /* floor(w g / 4096) * 4096 + 8192 bytes from the page the list begins on; w: --id-bytes */
    GINEX_LIST_COVER,    /* the pages the list lies on */
};

enum {
    GINEX_LIST_BUFFER_BYTES = (256 << 10) + 2 * GNN_PAGE_BYTES, /* of each source */
    GINEX_BUILD_BYTES = 1 << 20, /* memory that building the cache needs besides the scan: one write */
};

struct ginex_neighbours_config {
    uint64_t cache_bytes; /* Z_n; 0: no cache */
    bool skip_isolated;
    bool direct;
    enum ginex_list_read list_read;
    uint32_t workers;          /* V: sources */
    uint32_t load_block_bytes; /* of one read when the cache is loaded */
    uint32_t load_depth;       /* of them in flight */
    const char *dir;           /* where the cache's file is made */
};

struct ginex_neighbours;

/* Builds the cache from the scan (NULL: there is none, or no edge). `indices` is where lists are read, and stays the
 * caller's. GNN_ECAP when cache_bytes cannot hold the table. *out is to be closed also on an error. */
GNN_MUST_CHECK enum gnn_status ginex_neighbours_open(const struct gnn_env *env,
                                                     const struct ginex_neighbours_config *config,
                                                     struct gnn_file *indices, struct ginex_scan *scan,
                                                     struct ginex_neighbours **out, struct gnn_err *err);
void ginex_neighbours_close(struct ginex_neighbours *n); /* accepts NULL */

/* Reads the cache from disk to memory, and frees that memory. While no source is in use. */
GNN_MUST_CHECK enum gnn_status ginex_neighbours_load(struct ginex_neighbours *n, struct gnn_err *err);
void ginex_neighbours_unload(struct ginex_neighbours *n);

/* Opens worker w's source: a struct gnn_sampling_config.open_source with the neighbours as context. Closed by its
 * owner. */
GNN_MUST_CHECK enum gnn_status ginex_source_open(void *neighbours, uint32_t worker, struct gnn_neighbour_source **out,
                                                 struct gnn_err *err);

struct ginex_neighbours_counters {
    uint64_t cached_lists, read_lists; /* looked up, over all sources */
    uint64_t list_bytes, list_ios;
    uint64_t load_bytes, load_ios;
};
/* Fills in the counts since the last call and resets them. While no source is in use. */
void ginex_neighbours_take_counters(struct ginex_neighbours *n, struct ginex_neighbours_counters *out);

uint64_t ginex_neighbours_words(const struct ginex_neighbours *n);      /* that the cached lists take */
uint64_t ginex_neighbours_file_bytes(const struct ginex_neighbours *n); /* of the cache's file, table included */

/* Whether the loaded cache has v's list. */
bool ginex_neighbours_has(const struct ginex_neighbours *n, gnn_node v);

#endif
