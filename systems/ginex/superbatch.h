/* SPDX-License-Identifier: MIT */
/* A superbatch and its trace. Node lists and blocks are written while it is sampled, change sets while it is inspected.
 * They are read back to inspect (ginex_ids_*) and to execute (ginex_load_batch). superbatch.c describes the layout on
 * disk. */
#ifndef GINEX_SUPERBATCH_H
#define GINEX_SUPERBATCH_H

#include "harness/storage/stream.h"
#include "systems/ginex/ginex.h"

/* The place of a mini-batch in its superbatch's trace. */
struct ginex_record {
    uint64_t ids_offset, blocks_offset, changes_offset;
    uint64_t blocks_bytes;
    uint32_t worker; /* that wrote it: its streams have it */
    uint32_t nodes;  /* n_L */
    uint32_t changes, misses;
};

/* One superbatch from its sampling to its end: the trace, and the positions in it, which must stay in memory. */
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

/* Opens superbatch `number` of the epoch. Returns GNN_ENOMEM or the errors of gnn_stream_file_open; the caller must
 * close *out even then. */
GNN_MUST_CHECK enum gnn_status ginex_superbatch_open(struct ginex *s, uint32_t number, struct ginex_superbatch **out,
                                                     struct gnn_err *err);
/* Closes a superbatch and adds what was written to the epoch's statistics. Accepts NULL. */
void ginex_superbatch_close(struct ginex *s, struct ginex_superbatch *sb);

/* Appends a sampled batch to worker w's streams. Only one thread may use a worker index. Returns GNN_ENOSPC or GNN_EIO
 * if writing fails. */
GNN_MUST_CHECK enum gnn_status ginex_store_batch(struct ginex_superbatch *sb, uint32_t worker,
                                                 const struct gnn_batch_view *view, struct gnn_err *err);
/* Ends worker w's streams. Its batches can be read from then on. */
GNN_MUST_CHECK enum gnn_status ginex_seal_worker(struct ginex_superbatch *sb, uint32_t worker, struct gnn_err *err);
/* Sums up the records. Every worker's streams must be sealed. */
void ginex_superbatch_sum(struct ginex_superbatch *sb);
/* Appends the change set of batch `index` of the superbatch to sb->changes, which must be open. Batches must come in
 * order. */
GNN_MUST_CHECK enum gnn_status ginex_store_changes(struct ginex_superbatch *sb, uint32_t index,
                                                   const struct ginex_changes *changes, struct gnn_err *err);

/* A mini-batch read back from the trace. */
struct ginex_trace_batch {
    void *memory; /* ids, blocks, changes, each on separate pages */
    struct gnn_batch_view view;
    struct ginex_changes changes;
};
uint64_t ginex_batch_bytes(const struct ginex_superbatch *sb); /* memory into which each batch fits */
/* Reads batch `index` of the superbatch into batch->memory (page-aligned, ginex_batch_bytes). Returns GNN_EFORMAT if
 * the trace differs from what was written, or errors of the file. */
GNN_MUST_CHECK enum gnn_status ginex_load_batch(const struct ginex_superbatch *sb, uint32_t index,
                                                struct gnn_reader *reader, struct ginex_trace_batch *batch,
                                                struct gnn_err *err);

/* Smallest size of a record of blocks, in bytes: its header. */
enum { GINEX_BLOCKS_BYTES_MIN = 32 + 12 * GNN_LAYERS_MAX };
/* Points the view into ids (record->nodes) and blocks (record->blocks_bytes, aligned to 4), which were read for
 * mini-batch `batch`. blocks_bytes must be GINEX_BLOCKS_BYTES_MIN at least. Returns GNN_EFORMAT if header or lengths
 * differ from the record's. The contents of the blocks are not checked. Has no side effects. */
GNN_MUST_CHECK enum gnn_status ginex_decode_batch(const struct ginex_record *record, uint64_t batch,
                                                  const gnn_node *ids, const unsigned char *blocks,
                                                  struct gnn_batch_view *view, struct gnn_err *err);

/* The node lists of a superbatch's batches, in order. */
struct ginex_ids;
/* Opens a reader of node lists. With hold, the first walk keeps all lists in memory for the next walks, until
 * ginex_ids_drop. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status ginex_ids_open(struct ginex *s, const struct ginex_superbatch *sb, bool hold,
                                              struct ginex_ids **out, struct gnn_err *err);
void ginex_ids_close(struct ginex_ids *ids);  /* accepts NULL; adds what was read to the epoch's statistics */
void ginex_ids_rewind(struct ginex_ids *ids); /* before each walk */
void ginex_ids_drop(struct ginex_ids *ids);
/* Returns the next batch's nodes, or NULL in *nodes after the last. They are valid until the next call. */
GNN_MUST_CHECK enum gnn_status ginex_ids_next(struct ginex_ids *ids, const gnn_node **nodes, uint32_t *count,
                                              struct gnn_err *err);

#endif
