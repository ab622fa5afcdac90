/* SPDX-License-Identifier: MIT */
/* Compares a dataset's large files with the checksums of their blocks (storage/block_sums.h). A run compares a sample
 * when it starts, `prepare --check` compares all. */
#ifndef GNN_DATASET_BLOCKS_H
#define GNN_DATASET_BLOCKS_H

#include "harness/storage/meta.h"

enum { GNN_BLOCKS_SAMPLED = 64 }; /* blocks that a run compares, over all files that it reads */

/* The checksums of one file's blocks. */
struct gnn_blocks {
    uint64_t *sums; /* (count); NULL: the dataset has none of this file */
    uint64_t count;
};

/* Loads the checksums of the blocks of dataset file `name`, which meta lists. Without any, out->sums is NULL. Returns
 * GNN_EFORMAT if their own checksum differs from meta's, or errors of reading. To be closed also after an error. */
GNN_MUST_CHECK enum gnn_status gnn_blocks_open(const char *dir, const struct gnn_meta *meta, const char *name,
                                               struct gnn_blocks *out, struct gnn_err *err);
void gnn_blocks_close(struct gnn_blocks *blocks);

/* Compares block number `block` of the file at path. Returns GNN_EFORMAT with offset, expected and found checksum and
 * the remedy if it differs. */
GNN_MUST_CHECK enum gnn_status gnn_blocks_compare(const struct gnn_blocks *blocks, const char *path, uint64_t block,
                                                  const void *data, uint64_t bytes, struct gnn_err *err);

/* What a run compared of the bytes that it reads. */
struct gnn_blocks_sample {
    uint64_t compared; /* blocks */
    bool unknown;      /* a file that the run reads has no checksums of blocks */
};

/* Compares up to GNN_BLOCKS_SAMPLED blocks of the files that a run with these widths reads during its epochs: features
 * or triples, and neighbour IDs. The blocks of a file are cut into equal parts, and `seed` decides which block of a
 * part is read. Files that are missing or have another size are left out: the run reports them when it opens the
 * dataset. Reads past the page cache. Errors as gnn_blocks_compare() and gnn_blocks_open(). */
GNN_MUST_CHECK enum gnn_status gnn_blocks_compare_sample(const char *dir, uint32_t dim, enum gnn_feature_type type,
                                                         uint32_t id_bytes, uint64_t seed,
                                                         struct gnn_blocks_sample *out, struct gnn_err *err);

#endif
