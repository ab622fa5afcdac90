/* SPDX-License-Identifier: MIT */
/* The bucket matrix: which positions of which mini-batches need which block (AGNES, KDD 2026, section 3.4 (3)). A row
 * belongs to a block. Its entries are grouped by mini-batch, positions ascending. It is built by counting sort in
 * parallel. Task t counts and places the t-th part of the mini-batches, so the result does not depend on the number of
 * tasks. The entries {mini-batch, position} of block b are at row_begin[b] .. row_begin[b + 1]. The blocks that have
 * entries are needed[0 .. needed_count), ascending.
 *
 * Memory   8 bytes an entry; 8 (tasks + 1) + 4 bytes a block. The released code holds a dense blocks x mini-batches
 *          matrix of lists. */
#ifndef AGNES_BUCKET_H
#define AGNES_BUCKET_H

#include "harness/pipeline/team.h"
#include "harness/world/world.h"

#include <stdatomic.h>

struct agnes_entry {
    uint32_t batch, position;
};
_Static_assert(sizeof(struct agnes_entry) == 8, "memory of a bucket: 8 bytes an entry");

/* Writes the blocks that (batch, position) needs, ascending, into out (GNN_FANOUT_MAX) and returns their number. */
typedef uint32_t agnes_blocks_fn(void *ctx, uint32_t batch, uint32_t position, uint32_t *out);

struct agnes_bucket {
    struct gnn_world *world;
    uint32_t blocks, tasks;
    uint64_t *row_begin; /* (blocks + 1) */
    uint64_t *cursor;    /* (tasks, blocks) */
    uint32_t *needed;    /* (blocks) */
    uint32_t needed_count;
    struct agnes_entry *entries;
    uint64_t entry_capacity;
    void *memory; /* of the three fixed arrays */

    uint64_t built_entries;        /* since begin */
    atomic_uint_fast64_t built_ns; /* since begin, summed over the threads that build */

    /* of the build in progress */
    const uint32_t *positions; /* (batches) */
    uint32_t batches;
    agnes_blocks_fn *blocks_of;
    void *ctx;
    bool placing; /* the second walk */
};

/* Allocates the arrays of rows, or returns GNN_ENOMEM or GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_bucket_open(struct gnn_world *world, uint32_t blocks, uint32_t tasks,
                                                 struct agnes_bucket *out, struct gnn_err *err);
void agnes_bucket_close(struct agnes_bucket *bucket); /* accepts a zeroed one */

void agnes_bucket_begin(struct agnes_bucket *bucket); /* sets the counters to zero */
void agnes_bucket_counters(const struct agnes_bucket *bucket, uint64_t *built_entries, uint64_t *built_ns);

/* Builds the matrix from what blocks_of returns for each position. positions (batches) is the number of positions of
 * each mini-batch. Runs on the team, which must be idle, or on the calling thread if team is NULL. Returns GNN_ENOMEM
 * or GNN_ECAP if there is no room for the entries. */
GNN_MUST_CHECK enum gnn_status agnes_bucket_build(struct agnes_bucket *bucket, struct gnn_team *team,
                                                  const uint32_t *positions, uint32_t batches,
                                                  agnes_blocks_fn *blocks_of, void *ctx, struct gnn_err *err);
/* Builds the rows of the blocks that `count` positions of one mini-batch need, and of no others: row_begin has their
 * begin and end only. On the calling thread. Returns GNN_ENOMEM or GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_bucket_build_few(struct agnes_bucket *bucket, uint32_t batch,
                                                      const uint32_t *positions, uint32_t count,
                                                      agnes_blocks_fn *blocks_of, void *ctx, struct gnn_err *err);
/* Returns the memory of such a bucket in bytes, for plans. */
uint64_t agnes_bucket_bytes(uint64_t blocks, uint64_t tasks, uint64_t entries);

#endif
