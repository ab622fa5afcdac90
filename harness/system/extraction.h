/* SPDX-License-Identifier: MIT */
/* Asynchronous extraction: the feature rows of a mini-batch by the shared batched reader, many reads in flight,
 * straight into the batch's input. No cache and no buffer shared between batches: for systems whose point lies
 * elsewhere. One thread at a time. */
#ifndef GNN_SYSTEM_EXTRACTION_H
#define GNN_SYSTEM_EXTRACTION_H

#include "harness/storage/reader.h"
#include "harness/system/system.h"

struct gnn_extraction;

struct gnn_extraction_config {
    uint32_t depth; /* reads in flight */
    bool direct;    /* whole sectors past the page cache; else exact rows through it */
};

/* Opens the feature file. env outlives it. Errors: those of the file, the ring and the allocator; GNN_EFORMAT when the
 * file is not as long as the dataset says. *out is the caller's to close also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_extraction_open(const struct gnn_env *env,
                                                   const struct gnn_extraction_config *config,
                                                   struct gnn_extraction **out, struct gnn_err *err);
void gnn_extraction_close(struct gnn_extraction *extraction); /* waits for what is in flight; accepts NULL */

/* For a system's plan: bounce windows and records, with sectors of 4096 bytes where none is known yet. */
uint64_t gnn_extraction_bytes(const struct gnn_env *env, uint32_t depth, bool direct);

void gnn_extraction_begin(struct gnn_extraction *extraction); /* counters to zero: a new epoch */
/* rows (count, dim): row i becomes that of nodes[i]. GNN_EIO, GNN_ESHORT, GNN_EFORMAT (a node outside the file); on
 * failure nothing is in flight. GNN_ECANCELLED when the run's stop flag is up. */
GNN_MUST_CHECK enum gnn_status gnn_extraction_rows(struct gnn_extraction *extraction, const gnn_node *nodes,
                                                   uint32_t count, gnn_real *rows, struct gnn_err *err);
/* Since begin. */
void gnn_extraction_counters(const struct gnn_extraction *extraction, struct gnn_reader_counters *out);

#endif
