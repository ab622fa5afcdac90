/* SPDX-License-Identifier: MIT */
/* Fills and writes numbered chunks of files with many threads, while one thread checksums them in order. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_CHUNKS_H
#define GNN_DATASET_CHUNKS_H

#include "harness/dataset/output.h"

/* Fills dst with items [first, first + count). Several threads call it at once. The result must depend only on the
 * arguments and on constant data of ctx, so that it is the same for any number of threads. */
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
    const char *phase; /* name of the phase in progress reports */
    const struct gnn_chunk_stream *streams;
    uint32_t stream_count; /* at most GNN_CHUNK_STREAMS_MAX */
    uint32_t threads;      /* number that fill; 0 = one per core */
};

/* Writes the files of all streams at the same time, all with the same share of their items done. One that needs the
 * processor and one that needs the disk then overlap. The files are entered into meta in their order. Returns the first
 * error of a thread, GNN_ECANCELLED if the job was stopped, or GNN_ENOMEM. Memory: two chunks of about 2 MiB per file
 * and thread. There are two threads more than fill, because a thread waits while its chunk is written. */
GNN_MUST_CHECK enum gnn_status gnn_chunks_write(const struct gnn_chunk_job *job, struct gnn_output *output,
                                                struct gnn_meta *meta, struct gnn_err *err);

/* Returns the number of threads to start: `wanted`, or one per core if it is 0, but at most max. */
uint32_t gnn_chunk_threads(uint32_t wanted, uint32_t max);

#endif
