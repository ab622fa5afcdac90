/* SPDX-License-Identifier: MIT */
/* Block-wise I/O: brings the blocks of a file through a buffer of frames to the workers of a team (AGNES, KDD 2026,
 * section 3.4 (1) and (4)). Sampling has one over the graph blocks, gathering one over the feature blocks.
 *
 * Order    Resident blocks are served first: no read begins before the last of them is, so that none of them is evicted
 *          for a missing one; then the missing ones, read in ascending order, many in flight. A frame is pinned while a
 *          worker has it.
 * Threads  One thread, the driver, submits and polls: it waits for a read or, with none in flight, for a worker. All
 *          functions are the driver's. */
#ifndef AGNES_BLOCK_READER_H
#define AGNES_BLOCK_READER_H

#include "harness/pipeline/team.h"
#include "harness/system/system.h"

/* ---- frames.c ---- */

/* A buffer of frames of one block each, with pins: the graph buffer and its index table (AGNES, KDD 2026, sections 3.2
 * (2) and 3.4 (1)), and the pool of feature blocks. Only the thread that drives a block reader touches it: workers get
 * frames handed, and hand them back.
 *
 * A frame is free, or holds a block; a pinned one is never evicted. The next one to be evicted is the least recently
 * unpinned (LRU, the paper), or the first whose reference bit is down as the hand goes round (CLOCK, the released code;
 * the bit is set at the last unpin). */

enum agnes_policy { AGNES_POLICY_LRU, AGNES_POLICY_CLOCK };
#define AGNES_NO_FRAME UINT32_MAX

struct agnes_frames;

struct agnes_frames_config {
    const char *name; /* of the memory: a string literal */
    uint32_t frames, blocks, block_bytes;
    enum agnes_policy policy;
    unsigned mem_flags;
};
/* Allocates the frames (frames x block_bytes) and their tables. GNN_ENOMEM, GNN_ECAP: *out is to be closed. */
GNN_MUST_CHECK enum gnn_status agnes_frames_open(struct gnn_world *world, const struct agnes_frames_config *config,
                                                 struct agnes_frames **out, struct gnn_err *err);
void agnes_frames_close(struct agnes_frames *frames); /* accepts NULL */

/* Returns the frame that holds the block, or AGNES_NO_FRAME. */
uint32_t agnes_frames_find(const struct agnes_frames *frames, uint32_t block);
/* Returns a frame for a block that has none, pinned once, and evicts what it held. AGNES_NO_FRAME: all are pinned. */
uint32_t agnes_frames_take(struct agnes_frames *frames, uint32_t block);
void agnes_frames_pin(struct agnes_frames *frames, uint32_t frame);
void agnes_frames_unpin(struct agnes_frames *frames, uint32_t frame);
/* Forgets every block and every pin. */
void agnes_frames_clear(struct agnes_frames *frames);

void *agnes_frames_memory(const struct agnes_frames *frames, uint32_t frame);
uint64_t agnes_frames_evictions(const struct agnes_frames *frames); /* since open */
uint32_t agnes_frames_pinned(const struct agnes_frames *frames);    /* frames with pins */

/* ---- block_reader.c ---- */

struct agnes_block_reader;

struct agnes_block_reader_config {
    struct gnn_team *team;
    struct gnn_file *file; /* blocks x block_bytes; kept open by the caller, as the team is */
    uint32_t depth;        /* reads in flight at most */
    bool resident_first;   /* false: all blocks in ascending order */
    struct agnes_frames_config buffer;
};
/* env outlives the reader. Errors: those of the allocator and of gnn_reader_open. */
GNN_MUST_CHECK enum gnn_status agnes_block_reader_open(const struct gnn_env *env,
                                                       const struct agnes_block_reader_config *config,
                                                       struct agnes_block_reader **out, struct gnn_err *err);
void agnes_block_reader_close(struct agnes_block_reader *reader); /* accepts NULL */

/* Sets the counters to zero before an epoch. Forgets the frames' blocks if the last epoch ended half-way. */
void agnes_block_reader_begin(struct agnes_block_reader *reader);
/* Forgets every block in the frames: nothing is with a worker. */
void agnes_block_reader_forget(struct agnes_block_reader *reader);

/* Uses one block: memory (block_bytes) is valid until it returns. Runs on worker `worker` of the team. */
typedef enum gnn_status agnes_serve_fn(void *ctx, uint32_t worker, uint32_t block, const void *memory,
                                       struct gnn_err *err);
/* Serves `count` distinct blocks, ascending in `needed`; each missing one is read once. Returns when the last worker
 * is done. On failure no read is in flight; workers may still be at work until the pipeline has ended. */
GNN_MUST_CHECK enum gnn_status agnes_block_reader_serve(struct agnes_block_reader *reader, const uint32_t *needed,
                                                        uint32_t count, agnes_serve_fn *serve, void *ctx,
                                                        struct gnn_err *err);

/* Blocks since begin. */
struct agnes_block_counters {
    uint64_t reads, read_bytes;
    uint64_t hits;      /* found in a frame */
    uint64_t evictions; /* thrown out of a frame for another block */
};
void agnes_block_reader_counters(const struct agnes_block_reader *reader, struct agnes_block_counters *out);

#endif
