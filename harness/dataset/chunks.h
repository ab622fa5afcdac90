/* Many threads fill and write numbered chunks of a file; one sums them in order meanwhile. Internal to
 * harness/dataset/. */
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

/* Writes the items as dataset file `name`. Returns the first failure of a thread. Memory: two chunks of about 4 MiB a
 * thread, of which there are two more than fill, since a thread waits while its chunk is written. */
GNN_MUST_CHECK enum gnn_status gnn_chunks_write(const struct gnn_chunk_stream *stream, struct gnn_output *output,
                                                const char *name, struct gnn_meta *meta, struct gnn_err *err);

/* Returns the threads to start: `wanted`, or one per core where that is 0; at most max. */
uint32_t gnn_chunk_threads(uint32_t wanted, uint32_t max);

#endif
