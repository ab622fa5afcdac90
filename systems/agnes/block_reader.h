/* Block-wise I/O: brings the blocks of a file through a buffer of frames to the workers of a team (AGNES, KDD 2026,
 * section 3.4 (1) and (4)). Sampling has one over the graph blocks, gathering one over the feature blocks.
 *
 * Order    Resident blocks are served first, all of them pinned before the first is served, so that none of them is
 *          evicted; then the missing ones, read in ascending order, many in flight. A frame stays pinned until its
 *          worker is done with it.
 * Threads  One thread, the driver, submits and polls: it waits for a read or, with none in flight, for a worker. All
 *          functions are the driver's. */
#ifndef AGNES_BLOCK_READER_H
#define AGNES_BLOCK_READER_H

#include "harness/pipeline/team.h"
#include "harness/system/system.h"
#include "systems/agnes/frames.h"

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
