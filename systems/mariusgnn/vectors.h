/* SPDX-License-Identifier: MIT */
/* Vectors of nodes that are learned, and the optimiser's state, partition after partition as the buffer moves them.
 * MariusGNN (EuroSys 2023), section 3; Marius (OSDI 2021).
 *
 * A table has P rows a partition, in the store's numbering, rounded up to a page. The first table has the vectors,
 * drawn from N(0, 0.001^2) by (seed, node of the dataset). For each state of the optimiser there is a table, which
 * begins with zeros (harness/model/optimizer.h).
 *
 *   Scratch  Files without names, which are freed at the end of the run. A partition has one place in each.
 *   Kept     Files <store>/vectors-<what>/table<k>, from which a later run continues. A partition has two places. The
 *            manifest records the place of each at the last completed epoch, and an epoch writes to the other one. So a
 *            run that is killed at any moment leaves the last completed epoch unchanged. This doubles the disk space
 *            and adds a manifest an epoch. No partition is written more often.
 *
 * The manifest has a header of one page, then a byte for each partition of each table. Values and state of relations
 * and of the encoder's parameters follow. When the tables are synced, it is written as manifest.part, synced and
 * renamed.
 *
 * Threads  One at a time. The places are shared with the partition buffer (partition_buffer.h). */
#ifndef MARIUSGNN_VECTORS_H
#define MARIUSGNN_VECTORS_H

#include "harness/system/embeddings.h"
#include "systems/mariusgnn/partition_buffer.h"
#include "systems/mariusgnn/store.h"

struct marius_table {
    struct gnn_file *file;
    struct marius_places places; /* if vectors are kept */
    unsigned char *kept;         /* (p) places.kept */
};

struct marius_vectors {
    const struct gnn_env *env;
    const struct marius_store *store;
    bool kept;
    uint32_t tables; /* 1 + states of the optimiser */
    struct marius_table table[GNN_EMBEDDING_TABLES_MAX];
    struct gnn_prepared prepared; /* directory of kept vectors */
    struct gnn_file *lock;
    uint64_t epochs; /* completed by this run and the runs that it continues */
    uint64_t step;   /* of the optimiser at the end of the last of them */
};

/* Creates the tables, or opens those that an earlier run kept and copies its parameters to the decoder and the encoder
 * of env. direct bypasses the page cache. Returns GNN_EUSAGE if another run uses them, or GNN_EFORMAT if they do not
 * match the run or are damaged. Returns errors of files and GNN_ENOSPC, too. After a failure the caller must still
 * close *out. */
GNN_MUST_CHECK enum gnn_status marius_vectors_open(const struct gnn_env *env, const struct marius_store *store,
                                                   bool direct, bool kept, struct marius_vectors *out,
                                                   struct gnn_err *err);
void marius_vectors_close(struct marius_vectors *vectors); /* accepts a zeroed one */

/* Records a completed epoch, whose partitions must be written and synced. A later run continues kept vectors from this
 * state. step is the optimiser's. */
GNN_MUST_CHECK enum gnn_status marius_vectors_complete(struct marius_vectors *vectors, uint64_t step,
                                                       struct gnn_err *err);
/* Reads a partition of a table from the file: slot_bytes to dst, which must be page-aligned. */
GNN_MUST_CHECK enum gnn_status marius_vectors_read(const struct marius_vectors *vectors, uint32_t table,
                                                   uint32_t partition, void *dst, struct gnn_err *err);

/* Returns the bytes of all tables on the disk, with the manifest of kept ones. marius_vectors_manifest_bytes returns
 * the memory for writing the manifest. */
uint64_t marius_vectors_disk_bytes(const struct gnn_env *env, uint32_t partitions, uint64_t slot_bytes, bool kept);
uint64_t marius_vectors_manifest_bytes(const struct gnn_env *env, uint32_t partitions);

#endif
