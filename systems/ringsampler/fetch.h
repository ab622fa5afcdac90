/* SPDX-License-Identifier: MIT */
/* Ways to read neighbours from the edge file. Option `io` chooses one per run. Every thread has a separate fetch.
 *
 *   `grouped.c` For direct, buffered and buffered-random: a read per position, in groups that fit the ring (the
 *               paper's).
 *   `sorted.c`  For sorted: all positions of a hop in the order of the file, joined (ours).
 *   `mapped.c`  For mapped: through the page cache, without a ring (ours, for comparison).
 *
 * A read that fails or stays short ends the run with its position in the message. No partial result is stored. Buffers
 * hold topology, whose bytes are real in both worlds. */
#ifndef RINGSAMPLER_FETCH_H
#define RINGSAMPLER_FETCH_H

#include "harness/storage/ring_reads.h"
#include "systems/ringsampler/blocks.h"
#include "systems/ringsampler/extents.h"

struct ringsampler_config;
struct rs_thread;
struct rs_fetch;

struct rs_fetch_ops {
    /* Draws the positions of every hop and fills every col. After a failure nothing is in flight. */
    enum gnn_status (*fetch)(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count, struct gnn_err *err);
    void (*close)(struct rs_fetch *fetch); /* accepts a half-opened one */
};

/* Counts since open. */
struct rs_fetch_counts {
    struct gnn_ring_counters ring;     /* zero with io=mapped */
    uint64_t submits;                  /* groups, or runs of joined reads, handed over */
    uint64_t cache_hits, cache_misses; /* io=sorted with a cache: samples */
    uint64_t sweeps;                   /* io=sorted */
};

/* The common part of a fetch. Each way embeds it as the first member. */
struct rs_fetch {
    const struct rs_fetch_ops *ops;
    struct rs_thread *thread;
    struct gnn_ring_reads reads; /* of the edge file; zeroed with io=mapped */
    uint64_t file_bytes;
    uint32_t id_bytes;    /* of an entry of the edge file: 4 or 8 */
    uint32_t align_bytes; /* of direct reads of the edge file; 1 for buffered ones */
    struct rs_fetch_counts counts;
};

GNN_MUST_CHECK enum gnn_status rs_grouped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status rs_mapped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status rs_sorted_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err);
/* Return the memory of each way in bytes, without the workspace. Parameters are the bytes of an entry and the alignment
 * of direct reads. */
uint64_t rs_grouped_bytes(const struct ringsampler_config *config, uint32_t id_bytes, uint32_t align_bytes);
uint64_t rs_mapped_bytes(void);
uint64_t rs_sorted_bytes(const struct ringsampler_config *config);

/* ---- shared by grouped.c and sorted.c ---- */

/* Sets ops, thread, file size, width of an entry and alignment. */
void rs_fetch_init(struct rs_fetch *fetch, const struct rs_fetch_ops *ops, struct rs_thread *thread);
/* Opens a ring of `depth` reads. If register_buffer is set, registers the buffer, which most reads use. */
GNN_MUST_CHECK enum gnn_status rs_fetch_open_ring(struct rs_fetch *fetch, uint32_t depth, void *buffer,
                                                  uint64_t buffer_bytes, struct gnn_err *err);
/* Returns the read of an extent into dst. It may extend past the end of the file; only the bytes up to the end must
 * arrive. */
struct gnn_read rs_fetch_read(const struct rs_fetch *fetch, const struct rs_extent *extent, uint32_t unit_bytes,
                              void *dst, uint64_t tag);
/* Submits the reads in one batch. At most the ring's depth may be in flight (asserted). */
GNN_MUST_CHECK enum gnn_status rs_fetch_submit(struct rs_fetch *fetch, struct gnn_read *reads, uint32_t count,
                                               struct gnn_err *err);

/* Adds the counts to *sum. For peaks, *sum keeps the larger value. */
void rs_fetch_add_counts(const struct rs_fetch *fetch, struct rs_fetch_counts *sum);

#endif
