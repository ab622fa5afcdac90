/* SPDX-License-Identifier: MIT */
/* Asynchronous extraction: reads the feature rows of a mini-batch straight into its input, by the batched reader with
 * many reads in flight. There is no cache and no buffer shared between batches. For systems that do not study
 * extraction. One thread at a time. */
#ifndef GNN_SYSTEM_EXTRACTION_H
#define GNN_SYSTEM_EXTRACTION_H

#include "harness/storage/reader.h"
#include "harness/system/system.h"

struct gnn_extraction;

struct gnn_extraction_config {
    uint32_t depth; /* most reads in flight */
    bool direct;    /* true: whole sectors, past the page cache; false: exact rows through it */
};

/* Opens the feature file. env must outlive it. Set *out to NULL first; it is the caller's to close, also on an error.
 * GNN_EFORMAT: the length of the file differs from that of the dataset. Other errors are those of the file, the ring
 * and the allocator. */
GNN_MUST_CHECK enum gnn_status gnn_extraction_open(const struct gnn_env *env,
                                                   const struct gnn_extraction_config *config,
                                                   struct gnn_extraction **out, struct gnn_err *err);
void gnn_extraction_close(struct gnn_extraction *extraction); /* waits for what is in flight; accepts NULL */

/* Returns the bytes of bounce windows and records, for memory plans. Sectors are taken as 4096 bytes if direct. */
uint64_t gnn_extraction_bytes(const struct gnn_env *env, uint32_t depth, bool direct);

void gnn_extraction_begin(struct gnn_extraction *extraction); /* sets the counters to 0 for a new epoch */
/* Reads the row of nodes[i] to row i of `rows` (count, dim). GNN_EIO, GNN_ESHORT. GNN_EFORMAT: a node is outside the
 * file. GNN_ECANCELLED: the run's stop flag was set. After an error nothing is in flight. */
GNN_MUST_CHECK enum gnn_status gnn_extraction_rows(struct gnn_extraction *extraction, const gnn_node *nodes,
                                                   uint32_t count, gnn_real *rows, struct gnn_err *err);
/* Writes the counters since begin. */
void gnn_extraction_counters(const struct gnn_extraction *extraction, struct gnn_reader_counters *out);

#endif
