/* SPDX-License-Identifier: MIT */
/* The minimum reads of any exact system: feature rows that must be brought into memory, whatever the system does.
 *
 * Premise. All rows of a mini-batch are in memory together while it trains. A system that passes the rows of a
 * mini-batch through a smaller buffer may read less. Memory below the largest mini-batch is therefore rejected.
 *
 * Proof. A row that mini-batch k uses is in memory at k. Between two uses, it stays in memory or is brought in again.
 * Where it comes from does not matter (the feature file, a copy, a spill, a packed file), nor do order and request
 * sizes. At no time are more rows in memory than fit. Belady's cache is therefore optimal over the rows of the
 * mini-batches in their order, if it has all of the memory and need not keep a row (curves.h). Memory is empty when the
 * first epoch begins.
 *
 * Scope. The bound does not hold for systems that change the mini-batches, train from features of fewer bits or never
 * gather rows. The mini-batches are the harness's own: with the same seed, every exact system uses the same rows. */
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
    uint32_t epochs;            /* at least 1 */
    uint32_t max_batches;       /* per epoch; 0 = all */
    bool floyd_biased;
    uint64_t accesses_max;   /* number of row accesses that fit; below 2^32 - 1 */
    const atomic_bool *stop; /* NULL: never stops */
};

struct gnn_row_trace_epoch {
    uint64_t batches, rows_asked;
    uint64_t rows_new;     /* rows that no earlier epoch used */
    uint64_t batch_digest; /* of the epoch's mini-batches, as in a run's record of the same digest version */
};

struct gnn_row_trace; /* owner only */

/* Samples the epochs of the lists' dataset. Its training nodes are the seeds, or all nodes if there are none. Uses 4
 * bytes per access and, while it samples, 8 per seed. gnn_row_trace_least() adds 4.2 bytes per access and 4 per node
 * while it runs. Returns GNN_EUSAGE for invalid sizes, GNN_ECANCELLED if stop was set, and errors of reads and memory.
 * Returns GNN_ENOMEM, with the remedy, if there are more accesses than accesses_max. */
GNN_MUST_CHECK enum gnn_status gnn_row_trace_open(struct gnn_world *world, struct gnn_lists *lists,
                                                  const struct gnn_row_trace_config *config, struct gnn_row_trace **out,
                                                  struct gnn_err *err);
void gnn_row_trace_close(struct gnn_row_trace *trace); /* accepts NULL */

const struct gnn_row_trace_epoch *gnn_row_trace_epochs(const struct gnn_row_trace *trace, uint32_t *count);
uint64_t gnn_row_trace_row_bytes(const struct gnn_row_trace *trace);
/* Returns the version of batch_digest (harness/sample/digest.h). */
uint32_t gnn_row_trace_digest_version(void);
/* Returns the number of distinct rows of all epochs: the working set. */
uint64_t gnn_row_trace_distinct(const struct gnn_row_trace *trace);
/* Returns the number of rows of the largest mini-batch, which memory must hold. */
uint64_t gnn_row_trace_largest_batch(const struct gnn_row_trace *trace);
/* Returns the bytes of the largest mini-batch: the smallest memory that the bound is defined for. */
uint64_t gnn_row_trace_memory_min(const struct gnn_row_trace *trace);

/* Fills rows[i * epochs + e]: epoch e's part of the minimum number of rows to bring in with memory_bytes[i]
 * (UINT64_MAX: all rows fit). The sum over the epochs is the bound. It never rises with the memory. Returns GNN_EUSAGE,
 * with the remedy, if a size is below gnn_row_trace_memory_min(), or errors of memory. */
GNN_MUST_CHECK enum gnn_status gnn_row_trace_least(const struct gnn_row_trace *trace, const uint64_t *memory_bytes,
                                                   uint32_t count, uint64_t *rows, struct gnn_err *err);

/* ---- the time of those reads on a device ---- */

/* Best costs of a device, with all members together, at the best depth and size. */
struct gnn_row_costs {
    double row_ns;        /* a row at a random place */
    double byte_ns;       /* a byte of large reads */
    double write_byte_ns; /* a byte of large writes */
};

void gnn_row_costs_of(const struct gnn_profile_storage *storage, uint64_t row_bytes, struct gnn_row_costs *out);

/* Device time of bringing in `rows` rows, of which `distinct` are different, with memory for memory_rows. */
struct gnn_row_times {
    double bytes_s;  /* their bytes as one large read: the bound */
    double random_s; /* each row read alone at a random place */
    /* External sorting (Aggarwal and Vitter, CACM 31(9), 1988). The distinct rows are read once in one sweep, then
     * every load is written and read back in `passes` passes. A block has as many bytes as are read in the time of a
     * random row. External permuting costs the smaller of random_s and sorted_s. INFINITY if memory holds fewer than
     * two blocks. */
    double sorted_s;
    uint32_t passes;
};

void gnn_row_times_of(const struct gnn_row_costs *costs, uint64_t row_bytes, uint64_t rows, uint64_t distinct,
                      uint64_t memory_rows, struct gnn_row_times *out);

#endif
