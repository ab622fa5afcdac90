/* SPDX-License-Identifier: MIT */
/* Checksums of the blocks of a dataset's large files. A run reads some blocks and compares them, which costs
 * milliseconds where a checksum of the whole file costs a pass over it.
 *
 * File `blocks-NAME` belongs to file NAME: u64 [blocks], little-endian, the XXH3-64 of each block of GNN_BLOCK_BYTES.
 * The last block may be shorter. A file of 1 TiB has 32 MiB of them. */
#ifndef GNN_STORAGE_BLOCK_SUMS_H
#define GNN_STORAGE_BLOCK_SUMS_H

#include "harness/oocgnn.h"

enum { GNN_BLOCK_BYTES = 256 * 1024 };

/* Returns the number of blocks of a file of this size. */
uint64_t gnn_block_count(uint64_t file_bytes);

/* Returns the checksum of bytes in memory. */
uint64_t gnn_block_sum(const void *data, uint64_t bytes);

/* Checksums of the blocks of a stream. */
struct gnn_block_sums;
GNN_MUST_CHECK enum gnn_status gnn_block_sums_open(struct gnn_block_sums **out, struct gnn_err *err); /* GNN_ENOMEM */
void gnn_block_sums_add(struct gnn_block_sums *sums, const void *data, uint64_t bytes);
/* Ends the stream. *of receives the checksums of its *count blocks, which belong to `sums`. Returns GNN_ENOMEM if an
 * add had no memory for one. */
GNN_MUST_CHECK enum gnn_status gnn_block_sums_end(struct gnn_block_sums *sums, const uint64_t **of, uint64_t *count,
                                                  struct gnn_err *err);
void gnn_block_sums_close(struct gnn_block_sums *sums); /* accepts NULL */

#endif
