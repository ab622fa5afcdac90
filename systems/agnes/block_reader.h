/* SPDX-License-Identifier: MIT */
/* Block-wise I/O: brings the blocks of a file through a buffer of frames to the workers of a team (AGNES, KDD 2026,
 * section 3.4 (1) and (4)). Sampling has a block reader over the graph blocks, gathering has one over the feature
 * blocks.
 *
 * Order    Resident blocks are served first. No read begins before the last of them is served, so none is evicted for a
 *          missing block. Missing blocks follow, in ascending order, many in flight. A frame is pinned while a worker
 *          has it.
 * Threads  One thread, the driver, submits and polls. It waits for a read or, with none in flight, for a worker. Only
 *          the driver may call the functions. */
#ifndef AGNES_BLOCK_READER_H
#define AGNES_BLOCK_READER_H

#include "harness/pipeline/team.h"
#include "harness/system/system.h"

/* ---- frames.c ---- */

/* A buffer of frames of one block each, with pins (AGNES, KDD 2026, sections 3.2 (2) and 3.4 (1)). The graph buffer
 * with its index table is one, the pool of feature blocks is another. Only the thread that drives a block reader may
 * use it. Workers receive frames and return them.
 *
 * A frame is free or holds a block; a pinned one is never evicted. With LRU (the paper) the victim is the least
 * recently unpinned frame. With CLOCK (the released code) it is the first frame in turn whose reference bit is clear.
 * The last unpin sets the bit. */

enum agnes_policy { AGNES_POLICY_LRU, AGNES_POLICY_CLOCK };
#define AGNES_NO_FRAME UINT32_MAX

struct agnes_frames;

struct agnes_frames_config {
    const char *name; /* of the memory: a string literal */
    uint32_t frames, blocks, block_bytes;
    enum agnes_policy policy;
    unsigned mem_flags;
};
/* Allocates the frames (frames x block_bytes) and their tables. Returns GNN_ENOMEM or GNN_ECAP if they do not fit: *out
 * must be closed even then. */
GNN_MUST_CHECK enum gnn_status agnes_frames_open(struct gnn_world *world, const struct agnes_frames_config *config,
                                                 struct agnes_frames **out, struct gnn_err *err);
void agnes_frames_close(struct agnes_frames *frames); /* accepts NULL */

/* Returns the frame that holds the block, or AGNES_NO_FRAME. */
uint32_t agnes_frames_find(const struct agnes_frames *frames, uint32_t block);
/* Assigns a frame to a block that has none and evicts the block that it held. Returns the frame, pinned once, or
 * AGNES_NO_FRAME if all are pinned. */
uint32_t agnes_frames_take(struct agnes_frames *frames, uint32_t block);
void agnes_frames_pin(struct agnes_frames *frames, uint32_t frame);
void agnes_frames_unpin(struct agnes_frames *frames, uint32_t frame);
/* Drops every block and every pin. */
void agnes_frames_clear(struct agnes_frames *frames);

void *agnes_frames_memory(const struct agnes_frames *frames, uint32_t frame);
uint64_t agnes_frames_evictions(const struct agnes_frames *frames); /* since open */
uint32_t agnes_frames_pinned(const struct agnes_frames *frames);    /* frames with pins */

/* ---- block_reader.c ---- */

struct agnes_block_reader;

struct agnes_block_reader_config {
    struct gnn_team *team;
    struct gnn_file *file; /* blocks x block_bytes; the caller keeps file and team open */
    uint32_t depth;        /* largest number of reads in flight */
    bool resident_first;   /* false: all blocks in ascending order */
    struct agnes_frames_config buffer;
};
/* Opens a reader over a file of blocks. env must outlive it. Returns errors of the allocator and of gnn_reader_open;
 * *out must be closed even then. */
GNN_MUST_CHECK enum gnn_status agnes_block_reader_open(const struct gnn_env *env,
                                                       const struct agnes_block_reader_config *config,
                                                       struct agnes_block_reader **out, struct gnn_err *err);
void agnes_block_reader_close(struct agnes_block_reader *reader); /* accepts NULL */

/* Sets the counters to zero before an epoch. If the last epoch failed, it also drops the blocks in the frames. */
void agnes_block_reader_begin(struct agnes_block_reader *reader);
/* Drops every block in the frames. No worker may have one. */
void agnes_block_reader_forget(struct agnes_block_reader *reader);

/* Uses one block on worker `worker` of the team. memory (block_bytes) is valid until the function returns. */
typedef enum gnn_status agnes_serve_fn(void *ctx, uint32_t worker, uint32_t block, const void *memory,
                                       struct gnn_err *err);
/* Serves `count` distinct blocks, ascending in `needed`, and reads each missing one once. Returns when the last worker
 * is done. On failure no read is in flight; workers may still run until the pipeline has ended. */
GNN_MUST_CHECK enum gnn_status agnes_block_reader_serve(struct agnes_block_reader *reader, const uint32_t *needed,
                                                        uint32_t count, agnes_serve_fn *serve, void *ctx,
                                                        struct gnn_err *err);

/* Blocks since begin. */
struct agnes_block_counters {
    uint64_t reads, read_bytes;
    uint64_t hits;      /* found in a frame */
    uint64_t evictions; /* blocks that made room for another one */
};
void agnes_block_reader_counters(const struct agnes_block_reader *reader, struct agnes_block_counters *out);

#endif
