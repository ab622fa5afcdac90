/* A hyperbatch: its mini-batches with their node lists, and the spool in which their sampled blocks wait for training
 * (AGNES, KDD 2026, sections 3.2 (2) and 3.3).
 *
 * Life     open -> per hyperbatch: begin, sampled hop by hop, seal, gathered, trained, clear -> close
 * Memory   4 bytes for each node of each mini-batch until clear; the spool's buffers until seal */
#ifndef AGNES_HYPERBATCH_H
#define AGNES_HYPERBATCH_H

#include "harness/storage/stream.h"
#include "systems/agnes/agnes.h"

/* Where the block of one hop lies in the spool: row_start (dst_count + 1), then col (edge_count). */
struct agnes_record {
    const struct gnn_stream *stream;
    uint64_t offset_bytes;
    uint32_t dst_count, edge_count, src_count;
};

static inline uint64_t agnes_record_bytes(const struct agnes_record *record)
{
    return (record->dst_count + UINT64_C(1) + record->edge_count) * sizeof(uint32_t);
}

/* Mini-batch j of a hyperbatch. */
struct agnes_batch {
    uint32_t number; /* in the epoch */
    uint32_t seed_count, count;
    agnes_node *nodes;                           /* (count) F_j while sampling, V_j afterwards; seeds first */
    struct agnes_record records[GNN_LAYERS_MAX]; /* by hop - 1 */
};

struct agnes_hyperbatch {
    const struct agnes_setup *setup;
    uint32_t first, count;                         /* mini-batches: number of the first in the epoch, how many */
    struct agnes_batch *batches;                   /* (H) */
    uint32_t *positions;                           /* (H) nodes of each list, since the last lay */
    uint64_t *base;                                /* (H + 1) positions in the lists before j, since the last lay */
    struct gnn_stream_file *spool;                 /* NULL with --sample-only, where no blocks are read again */
    struct gnn_stream *streams[AGNES_WORKERS_MAX]; /* (W) of the spool */
};

/* setup outlives it. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_open(const struct agnes_setup *setup, struct agnes_hyperbatch *out,
                                                     struct gnn_err *err);
void agnes_hyperbatch_close(struct agnes_hyperbatch *hyperbatch); /* accepts a zeroed one */

/* Gives hyperbatch h of the epoch its mini-batches, with their seeds as lists, and opens the spool. order: the epoch's,
 * of agnes_node. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_begin(struct agnes_hyperbatch *hyperbatch, uint32_t h,
                                                      const struct gnn_batch_order *order, struct gnn_err *err);
/* Numbers the positions of all lists, one list after another, as they are now: fills positions and base. */
void agnes_hyperbatch_lay(struct agnes_hyperbatch *hyperbatch);
/* Writes the rest of the spool; from now on it can be read. *written_bytes: of the whole spool. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_seal(struct agnes_hyperbatch *hyperbatch, uint64_t *written_bytes,
                                                     struct gnn_err *err);
/* Frees lists and spool, whatever state it is in. */
void agnes_hyperbatch_clear(struct agnes_hyperbatch *hyperbatch);

#endif
