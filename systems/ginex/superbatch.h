/* SPDX-License-Identifier: MIT */
/* A superbatch and its trace: node lists and blocks written while it is sampled, change sets written while it is
 * inspected; read back to inspect (ginex_ids_*) and to execute (ginex_load_batch). Layout on disk: superbatch.c. */
#ifndef GINEX_SUPERBATCH_H
#define GINEX_SUPERBATCH_H

#include "harness/storage/stream.h"
#include "systems/ginex/ginex.h"

/* Where a mini-batch lies in its superbatch's trace. */
struct ginex_record {
    uint64_t ids_offset, blocks_offset, changes_offset;
    uint64_t blocks_bytes;
    uint32_t worker; /* whose streams */
    uint32_t nodes;  /* n_L */
    uint32_t changes, misses;
};

/* One superbatch between its sampling and its end: the trace and what must stay in memory to find one's way in it. */
struct ginex_superbatch {
    uint32_t first, count; /* batches of the epoch */
    struct gnn_stream_file *trace;
    struct gnn_stream **ids, **blocks; /* (V) */
    struct gnn_stream *changes;
    struct ginex_record *records; /* (count) */
    gnn_node *initial;            /* (initial_count) nodes the cache starts with */
    uint32_t initial_count;
    uint64_t accesses; /* A_sb = sum of n_L */
    uint32_t nodes_max;
};

/* number: of the epoch's superbatches. GNN_ENOMEM, errors of gnn_stream_file_open. *out is the caller's to close also
 * after an error. */
GNN_MUST_CHECK enum gnn_status ginex_superbatch_open(struct ginex *s, uint32_t number, struct ginex_superbatch **out,
                                                     struct gnn_err *err);
/* Accepts NULL. Adds what was written to the epoch's figures. */
void ginex_superbatch_close(struct ginex *s, struct ginex_superbatch *sb);

/* Appends a sampled batch to worker w's streams. One thread per worker index. GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status ginex_store_batch(struct ginex_superbatch *sb, uint32_t worker,
                                                 const struct gnn_batch_view *view, struct gnn_err *err);
/* Ends worker w's streams: its batches can be read from now on. */
GNN_MUST_CHECK enum gnn_status ginex_seal_worker(struct ginex_superbatch *sb, uint32_t worker, struct gnn_err *err);
/* Sums up the records once every worker's streams are sealed. */
void ginex_superbatch_sum(struct ginex_superbatch *sb);
/* Appends the change set of batch `index` of the superbatch; in order, to an open sb->changes. */
GNN_MUST_CHECK enum gnn_status ginex_store_changes(struct ginex_superbatch *sb, uint32_t index,
                                                   const struct ginex_changes *changes, struct gnn_err *err);

/* A mini-batch read back from the trace. */
struct ginex_trace_batch {
    void *memory; /* ids, blocks, changes, each on pages of its own */
    struct gnn_batch_view view;
    struct ginex_changes changes;
};
uint64_t ginex_batch_bytes(const struct ginex_superbatch *sb); /* memory that each of its batches fits into */
/* Reads batch `index` of the superbatch into batch->memory (page-aligned, ginex_batch_bytes). GNN_EFORMAT when the
 * trace is not what was written. */
GNN_MUST_CHECK enum gnn_status ginex_load_batch(const struct ginex_superbatch *sb, uint32_t index,
                                                struct gnn_reader *reader, struct ginex_trace_batch *batch,
                                                struct gnn_err *err);

/* Bytes of a record of blocks at least: its header. */
enum { GINEX_BLOCKS_BYTES_MIN = 32 + 12 * GNN_LAYERS_MAX };
/* Points the view into ids (record->nodes) and blocks (record->blocks_bytes, GINEX_BLOCKS_BYTES_MIN at least, aligned
 * to 4), which are what was read of mini-batch `batch`. GNN_EFORMAT where header or lengths are not the record's; what
 * the blocks hold is as it was read. Pure. */
GNN_MUST_CHECK enum gnn_status ginex_decode_batch(const struct ginex_record *record, uint64_t batch,
                                                  const gnn_node *ids, const unsigned char *blocks,
                                                  struct gnn_batch_view *view, struct gnn_err *err);

/* The node lists of a superbatch's batches, in order. */
struct ginex_ids;
/* hold: the first walk keeps everything in memory for the next ones, until ginex_ids_drop. *out is the caller's to
 * close also after an error. */
GNN_MUST_CHECK enum gnn_status ginex_ids_open(struct ginex *s, const struct ginex_superbatch *sb, bool hold,
                                              struct ginex_ids **out, struct gnn_err *err);
void ginex_ids_close(struct ginex_ids *ids);  /* accepts NULL; adds what was read to the epoch's figures */
void ginex_ids_rewind(struct ginex_ids *ids); /* before each walk */
void ginex_ids_drop(struct ginex_ids *ids);
/* The next batch's nodes; after the last *nodes is NULL. Valid until the next call. */
GNN_MUST_CHECK enum gnn_status ginex_ids_next(struct ginex_ids *ids, const gnn_node **nodes, uint32_t *count,
                                              struct gnn_err *err);

#endif
