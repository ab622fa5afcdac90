/* SPDX-License-Identifier: MIT */
/* The least that any exact system has to move: feature rows that must come into memory, whatever the system does.
 *
 * A row that mini-batch k uses is in memory at k. Between two uses of a row it either stays there or has to come in
 * again; where from (the feature file, a copy, a spill, a packed file), in what order and in what pieces does not
 * matter. At no time are more rows in memory than fit. So no system brings in fewer rows than Belady's cache over the
 * rows of the mini-batches in their order, with all of the memory as cache and what will not be kept passing by
 * (curves.h). Memory is empty when the first epoch begins. Systems that change the mini-batches, train from features of
 * fewer bits or never gather rows are not bound by it.
 *
 * The mini-batches are the harness's own: same seed, same rows as every exact system's. */
#ifndef GNN_STATS_BOUND_H
#define GNN_STATS_BOUND_H

#include "harness/base/option.h"
#include "harness/stats/lists.h"
#include "harness/world/profile.h"

#include <stdatomic.h>

/* ---- the rows of the mini-batches ---- */

struct gnn_row_trace_config {
    uint64_t seed;
    uint32_t batch_size;
    struct gnn_u32_list fanout; /* from the seeds outward */
    uint32_t epochs;            /* at least one */
    uint32_t max_batches;       /* of an epoch; 0 = all */
    bool floyd_biased;
    uint64_t accesses_max;   /* room for so many row accesses; below 2^32 - 1 */
    const atomic_bool *stop; /* NULL: never */
};

struct gnn_row_trace_epoch {
    uint64_t batches, rows_asked;
    uint64_t rows_new;     /* that no earlier epoch asked for */
    uint64_t batch_digest; /* of the epoch's mini-batches, as a run records it */
};

struct gnn_row_trace; /* owner only */

/* Samples the epochs of the lists' dataset, whose training nodes are the seeds (all nodes where there are none). In
 * memory are 4 bytes an access and 4 a training node; gnn_row_trace_least takes 4.2 bytes an access and 4 a node more
 * for as long as it runs. GNN_EUSAGE for sizes that cannot be, GNN_ENOMEM with the remedy when there are more accesses
 * than accesses_max, GNN_ECANCELLED when stop was raised; errors of reads and memory. */
GNN_MUST_CHECK enum gnn_status gnn_row_trace_open(struct gnn_world *world, struct gnn_lists *lists,
                                                  const struct gnn_row_trace_config *config, struct gnn_row_trace **out,
                                                  struct gnn_err *err);
void gnn_row_trace_close(struct gnn_row_trace *trace); /* accepts NULL */

const struct gnn_row_trace_epoch *gnn_row_trace_epochs(const struct gnn_row_trace *trace, uint32_t *count);
uint64_t gnn_row_trace_row_bytes(const struct gnn_row_trace *trace);
/* Different rows of all epochs: the working set. */
uint64_t gnn_row_trace_distinct(const struct gnn_row_trace *trace);

/* rows[i * epochs + e]: of the least rows that have to come in with memory_bytes[i] (UINT64_MAX: all of them fit),
 * those of epoch e. Their sum over the epochs is the bound; it never rises with the memory. */
GNN_MUST_CHECK enum gnn_status gnn_row_trace_least(const struct gnn_row_trace *trace, const uint64_t *memory_bytes,
                                                   uint32_t count, uint64_t *rows, struct gnn_err *err);

/* ---- what they cost a device ---- */

/* A device at its best, all members together: at the depth and size that suit it most. */
struct gnn_row_costs {
    double row_ns;        /* a row at a random place */
    double byte_ns;       /* a byte of large reads */
    double write_byte_ns; /* a byte of large writes */
};

void gnn_row_costs_of(const struct gnn_profile_storage *storage, uint64_t row_bytes, struct gnn_row_costs *out);

/* Device time of bringing in `rows` rows, of which `distinct` are different, with room for memory_rows. */
struct gnn_row_times {
    double bytes_s;  /* their bytes as one large read: the bound */
    double random_s; /* each read by itself at a random place */
    /* External sorting (Aggarwal and Vitter, CACM 31(9), 1988): what is different read once in one sweep, then every
     * load written and read back in `passes` passes, with blocks of as many bytes as are read in the time of a random
     * row. External permuting costs the cheaper of the two. */
    double sorted_s;
    uint32_t passes;
};

void gnn_row_times_of(const struct gnn_row_costs *costs, uint64_t row_bytes, uint64_t rows, uint64_t distinct,
                      uint64_t memory_rows, struct gnn_row_times *out);

#endif
