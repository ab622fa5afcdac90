/* SPDX-License-Identifier: MIT */
/* Many threads fill and write numbered chunks of files; one sums them in order meanwhile. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_CHUNKS_H
#define GNN_DATASET_CHUNKS_H

#include "harness/dataset/output.h"

/* Fills dst with items [first, first + count). Called by several threads at once; depends on nothing but its arguments
 * and what ctx holds constant, so the stream is the same for any number of threads. */
typedef void gnn_chunk_fill(const void *ctx, uint64_t first, uint64_t count, void *dst);

enum { GNN_CHUNK_STREAMS_MAX = 4 };

/* One dataset file. */
struct gnn_chunk_stream {
    const char *name;
    gnn_chunk_fill *fill;
    const void *ctx;
    uint64_t items;
    uint32_t item_bytes;
};

struct gnn_chunk_job {
    const char *phase; /* what progress is told as */
    const struct gnn_chunk_stream *streams;
    uint32_t stream_count; /* GNN_CHUNK_STREAMS_MAX at most */
    uint32_t threads;      /* that fill; 0 = every core */
};

/* Writes the files of all streams together, each as far as the others, so that one which takes the processor and one
 * which takes the disk share the time. They enter meta in their order. Returns the first failure of a thread. Memory:
 * two chunks of about 2 MiB a file and thread, of which there are two more than fill, since a thread waits while its
 * chunk is written. */
GNN_MUST_CHECK enum gnn_status gnn_chunks_write(const struct gnn_chunk_job *job, struct gnn_output *output,
                                                struct gnn_meta *meta, struct gnn_err *err);

/* Returns the threads to start: `wanted`, or one per core where that is 0; at most max. */
uint32_t gnn_chunk_threads(uint32_t wanted, uint32_t max);

#endif
