/* Many threads fill numbered chunks of a stream, one writes them in order. Internal to harness/dataset/. */
#ifndef GNN_DATASET_CHUNKS_H
#define GNN_DATASET_CHUNKS_H

#include "harness/dataset/output.h"

/* Fills dst with items [first, first + count). Called by several threads at once; depends on nothing but its arguments
 * and what ctx holds constant, so the stream is the same for any number of threads. */
typedef void gnn_chunk_fill(const void *ctx, uint64_t first, uint64_t count, void *dst);

struct gnn_chunk_stream {
    gnn_chunk_fill *fill;
    const void *ctx;
    uint64_t items;
    uint32_t item_bytes;
    uint32_t threads; /* 0 = every core */
};

/* Streams the items into dataset file `name`. Memory: two chunks of about 4 MiB a thread. */
GNN_MUST_CHECK enum gnn_status gnn_chunks_write(const struct gnn_chunk_stream *stream, struct gnn_output *output,
                                                const char *name, struct gnn_meta *meta, struct gnn_err *err);

/* Returns the threads to start: `wanted`, or one per core where that is 0; at most max. */
uint32_t gnn_chunk_threads(uint32_t wanted, uint32_t max);

#endif
