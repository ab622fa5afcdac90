/* SPDX-License-Identifier: MIT */
/* The prepared store: the graph cut into partitions of nodes (MariusGNN, EuroSys 2023, section 3). Its directory is
 * <dataset>/mariusgnn-<placement>-s<seed>-p<p>-<digest>/.
 *
 *   `order`            New ID -> old ID, uint32 (N).
 *   `edges`            (source, destination) in new IDs, 2 x uint32 each, by bucket. Padded to a page.
 *   `buckets`          Header of one page, then the first edge of every bucket, uint64 (p * p + 1). Written last: if it
 *                      exists, all three are complete.
 *   `features-d<dim>`  Or `features-f16-d<dim>`. Partition after partition: P rows each, rounded up to a page.
 *   `triples`          Training edges of a knowledge graph by bucket, struct gnn_triple in the dataset's IDs.
 *   `triple-buckets`   As buckets. Written after triples.
 *   `lock`             Held by the run that prepares.
 *
 * Node v of the new numbering is row v mod P of partition v div P, P = ceil(N / p). Bucket (i, j), number i p + j, has
 * the edges from partition i into partition j, in the dataset's order. So a node's neighbours from one partition keep
 * that order, too. With placement=training, training node t of the dataset's list is t, and all others follow at random
 * (section 5.2). With random, all are at random. Each seed of a run has its own placement.
 *
 * Links need triples. They need order, edges and buckets only with an encoder, and they have no features. With every
 * partition in memory, their training edges come from the dataset unchanged, and triples are not made. */
#ifndef MARIUSGNN_STORE_H
#define MARIUSGNN_STORE_H

#include "harness/system/prepared.h"
#include "harness/system/system.h"

enum { MARIUS_EDGE_BYTES = 8 };

struct marius_store_config {
    uint32_t partitions;
    bool training_first;
    bool direct;   /* bypasses the page cache, reading and preparing */
    bool writable; /* features are opened for writing, too */
    bool triples;  /* training edges by bucket: links, unless all partitions are in memory */
};

struct marius_store {
    struct gnn_prepared prepared;
    uint32_t partitions, rows; /* p, P */
    bool training_first;
    uint64_t slot_bytes;               /* of a partition in the feature file */
    uint64_t *bucket_start;            /* (p * p + 1) edges before each bucket */
    gnn_node *new_to_old;              /* (N) */
    struct gnn_file *edges, *features; /* features NULL with --sample-only and with links */
    uint64_t *triple_start;            /* (p * p + 1) training edges before each bucket; NULL without triples */
    gnn_node *old_to_new;              /* (N) with links, else NULL */
    struct gnn_file *triples;          /* NULL without triples */
    uint64_t prepare_ns;               /* of this open; 0 if nothing was prepared */
    uint64_t disk_bytes;               /* of the files that this run uses, even if an earlier run wrote them */
};

/* Returns the bytes of P rows rounded up to a page: of a partition on the disk, and of a slot in memory. */
static inline uint64_t marius_slot_bytes(uint32_t rows, uint32_t row_bytes)
{
    return gnn_round_up((uint64_t)rows * row_bytes, GNN_PAGE_BYTES);
}

static inline uint64_t marius_bucket_edges(const struct marius_store *store, uint32_t from, uint32_t to)
{
    const uint64_t bucket = (uint64_t)from * store->partitions + to;
    return store->bucket_start[bucket + 1] - store->bucket_start[bucket];
}

static inline uint64_t marius_bucket_triples(const struct marius_store *store, uint32_t from, uint32_t to)
{
    const uint64_t bucket = (uint64_t)from * store->partitions + to;
    return store->triple_start[bucket + 1] - store->triple_start[bucket];
}

/* Opens the store of a dataset and prepares the files that are absent. Edges and rows are scattered in two passes each.
 * The first writes them to a scratch file by ranges that memory can hold; the second puts them into place range by
 * range. Memory while preparing: 8 bytes a node, 8 a bucket, and a quarter of what the memory limit leaves. One run
 * prepares at a time; another one waits for its lock.
 *
 * Every partition must have a row (marius_partitions_fit). Returns GNN_EFORMAT if a file does not match the dataset,
 * GNN_ECANCELLED while waiting, or errors of the files. After a failure the caller must still close *out. */
GNN_MUST_CHECK enum gnn_status marius_store_open(const struct gnn_env *env, const struct marius_store_config *config,
                                                 struct marius_store *out, struct gnn_err *err);
void marius_store_close(struct gnn_world *world, struct marius_store *store); /* accepts a zeroed one */

/* Returns the smallest memory in bytes that preparing takes, without the order of the nodes and the table; or 0 if
 * nothing has to be prepared. */
uint64_t marius_store_least_bytes(const struct gnn_env *env, const struct marius_store_config *config);

/* Fills train (train.count) with the new IDs of the dataset's training nodes, in its order. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status marius_store_train(const struct gnn_env *env, const struct marius_store *store,
                                                  gnn_node *train, struct gnn_err *err);

/* ---- numbering.c ---- */

/* Fills new_to_old (N) with the placement, as described above. */
void marius_number(const struct gnn_env *env, bool training_first, gnn_node *new_to_old);
/* Fills old_to_new (N) with the inverse of new_to_old. */
void marius_invert(const gnn_node *new_to_old, uint32_t nodes, gnn_node *old_to_new);

/* ---- scatter.c ---- */

/* The input of a scatter. */
struct marius_scatter {
    const struct gnn_env *env;
    struct marius_store *store;
    const gnn_node *old_to_new; /* (N) */
    uint64_t window_bytes;      /* of one range in place; as much again for the part read from the scratch file */
    bool direct;
};
/* Counts the buckets into store->bucket_start and writes the edges. */
GNN_MUST_CHECK enum gnn_status marius_scatter_edges(const struct marius_scatter *scatter, struct gnn_err *err);
/* Writes the feature rows to file `name` of the store. */
GNN_MUST_CHECK enum gnn_status marius_scatter_rows(const struct marius_scatter *scatter, const char *name,
                                                   struct gnn_err *err);

/* ---- scatter_triples.c ---- */

/* Counts the buckets of the training edges into store->triple_start and writes the edges. */
GNN_MUST_CHECK enum gnn_status marius_scatter_triples(const struct marius_scatter *scatter, struct gnn_err *err);

#endif
