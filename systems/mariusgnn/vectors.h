/* SPDX-License-Identifier: MIT */
/* Vectors of nodes that are learned, with the optimiser's state beside them, partition after partition as the buffer
 * moves them (MariusGNN, EuroSys 2023, section 3; Marius, OSDI 2021).
 *
 * A table has P rows a partition, in the store's numbering, rounded up to a page: the vectors, drawn from N(0, 0.001^2)
 * by (seed, node of the dataset), and one of zeros for each real of state (harness/model/optimizer.h).
 *
 *   scratch  files without names, which go with the run; a partition has one place in each
 *   kept     <store>/vectors-<what>/table<k>, from which a later run goes on. A partition has two places, and the
 *            manifest says in which the last completed epoch left it: an epoch writes to the other one. So a run that
 *            is killed, at whatever moment, leaves that epoch as it was. It costs twice the disk, and a manifest an
 *            epoch; no partition is written more often.
 *
 * The manifest: header of one page, a byte for each partition of each table, values and state of relations and of the
 * encoder's parameters. It is written as manifest.part when the tables are synced, synced, and renamed.
 *
 * Threads  one at a time; the places are shared with the partition buffer (partition_buffer.h) */
#ifndef MARIUSGNN_VECTORS_H
#define MARIUSGNN_VECTORS_H

#include "harness/system/embeddings.h"
#include "systems/mariusgnn/partition_buffer.h"
#include "systems/mariusgnn/store.h"

struct marius_table {
    struct gnn_file *file;
    struct marius_places places; /* with vectors that are kept */
    unsigned char *kept;         /* (p) places.kept */
};

struct marius_vectors {
    const struct gnn_env *env;
    const struct marius_store *store;
    bool kept;
    uint32_t tables; /* 1 + states of the optimiser */
    struct marius_table table[GNN_EMBEDDING_TABLES_MAX];
    struct gnn_prepared prepared; /* of kept ones: their directory */
    struct gnn_file *lock;
    uint64_t epochs; /* completed, by this run and those that it goes on from */
    uint64_t step;   /* of the optimiser, when the last of them ended */
};

/* Makes the tables, or opens those that an earlier run kept and gives the decoder and the encoder of env the parameters
 * that go with them. direct: past the page cache. GNN_EUSAGE: another run has them; GNN_EFORMAT: files that are not
 * what they say; errors of files, GNN_ENOSPC. On a failure close what *out holds. */
GNN_MUST_CHECK enum gnn_status marius_vectors_open(const struct gnn_env *env, const struct marius_store *store,
                                                   bool direct, bool kept, struct marius_vectors *out,
                                                   struct gnn_err *err);
void marius_vectors_close(struct marius_vectors *vectors); /* accepts a zeroed one */

/* The epoch is complete, its partitions are written and synced: kept ones have from now on this state to go on from.
 * step: of the optimiser. */
GNN_MUST_CHECK enum gnn_status marius_vectors_complete(struct marius_vectors *vectors, uint64_t step,
                                                       struct gnn_err *err);
/* Reads a partition of a table as it is in the file: slot_bytes to dst, page-aligned. */
GNN_MUST_CHECK enum gnn_status marius_vectors_read(const struct marius_vectors *vectors, uint32_t table,
                                                   uint32_t partition, void *dst, struct gnn_err *err);

/* Bytes of all tables on the disk, and of the manifest in memory while it is written. */
uint64_t marius_vectors_disk_bytes(const struct gnn_env *env, uint32_t partitions, uint64_t slot_bytes, bool kept);
uint64_t marius_vectors_manifest_bytes(const struct gnn_env *env, uint32_t partitions);

#endif
