/* A buffer of frames of one block each, with pins: the graph buffer and its index table (AGNES, KDD 2026, sections 3.2
 * (2) and 3.4 (1)), and the pool of feature blocks. Only the thread that drives a block reader touches it: workers get
 * frames handed, and hand them back.
 *
 * A frame is free, or holds a block; a pinned one is never evicted. The next one to be evicted is the least recently
 * unpinned (LRU, the paper), or the first whose reference bit is down as the hand goes round (CLOCK, the released code;
 * the bit is set at the last unpin). */
#ifndef AGNES_FRAMES_H
#define AGNES_FRAMES_H

#include "harness/world/world.h"

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

#endif
