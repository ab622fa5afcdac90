/* SPDX-License-Identifier: MIT */
/* The open state of the CUDA back-end, and the functions that its files share.
 *
 *   Memory   memory.cc: device memory that is reused, scratch, pinned staging, copies, events, waits.
 *   Lists    blocks.cc: a mini-batch's lists on the device, staged ahead or copied on demand; transposed blocks.
 *   Ops      dense.cc, sparse.cc, attention.cc, link.cc: the kernels that an op launches.
 *   Step     step.cc: a step as one graph, its results, times and ranges.
 *   Group    group.cc: several devices with one model; gradients summed by NCCL.
 *   Table    backend.cc: open, close and the table of operations.
 *
 * Threads  One thread computes; others allocate, stage and copy in lanes of their own. The pool has a mutex. A lane's
 *          staging memory belongs to the lane's thread, the rest to the computing thread. */
#ifndef GNN_TENSOR_CUDA_STATE_H
#define GNN_TENSOR_CUDA_STATE_H

#include "harness/tensor/cuda/backend.h"
#include "harness/tensor/cuda/block.h"
#include "harness/tensor/cuda/choice.h"
#include "harness/tensor/cuda/nccl_calls.h"
#include "harness/tensor/cuda/runtime.h"

extern "C" {
#include "harness/tensor/group.h"
}

#include <atomic>
#include <mutex>
#include <thread>
#include <type_traits>

enum { GNN_CUDA_POOL_MAX = 512, GNN_CUDA_HALVES = 2 };

/* Device memory that grows. Its contents are not initialised. */
struct cuda_scratch {
    void *data;
    uint64_t bytes;
};

/* Host memory that is counted (gnn_tensor_env.alloc) and pinned. */
struct cuda_pinned {
    void *data;
    uint64_t bytes;
};

/* State of device memory in the pool. A piece that is freed while kernels run is RETIRED until the next synchronize.
 * The kernels may still use it, and its next owner may copy into it in another stream. */
enum cuda_piece_state { CUDA_PIECE_FREE, CUDA_PIECE_USED, CUDA_PIECE_RETIRED };

struct cuda_piece {
    void *ptr;
    uint64_t bytes;
    enum cuda_piece_state state;
};

struct cuda_pool {
    std::mutex mutex;
    struct cuda_piece pieces[GNN_CUDA_POOL_MAX];
    uint32_t count;
    uint64_t allocations; /* allocations made on the device since open */
};

/* A block on the device. */
struct cuda_block {
    const uint32_t *row_start, *col; /* of the host: they identify the block */
    struct gnn_cuda_block device;
    struct cuda_scratch transpose;
    bool transposed;
};

/* One mini-batch's lists, adjacent in one piece of device memory. */
struct gnn_resident {
    struct cuda_scratch lists;
    struct cuda_block blocks[GNN_LAYERS_MAX];
    uint32_t block_count;
    const int32_t *host_labels, *labels; /* NULL: not staged */
    const uint32_t *host_rows, *rows;
    struct gnn_event *landed, *read; /* after its copy; after the last op that read it */
};

/* A lane's pinned memory for staging. One half is filled while the other is copied. */
struct cuda_lane {
    struct cuda_pinned half[GNN_CUDA_HALVES];
    struct gnn_event *landed[GNN_CUDA_HALVES]; /* NULL: no copy from it yet */
    uint32_t next;
};

/* Results of a step, copied to the host. */
struct cuda_result {
    double loss;
    uint32_t correct;
};

/* Results in pinned memory, of steps or of links. */
struct cuda_results {
    struct cuda_result step;
    double link_loss;
};

/* This device's place in a group. */
struct cuda_group {
    struct gnn_nccl nccl;
    struct ncclComm *comm; /* NULL: in none */
    struct gnn_group_config config;
};

struct cuda_backend {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
    struct gnn_device *device;
    struct cuda_pool pool;
    struct gnn_resident on_demand; /* lists that were not staged, until the next synchronize */
    struct cuda_scratch demanded[GNN_LAYERS_MAX];
    std::atomic<struct gnn_resident *> in_use; /* the computing thread's; lanes compare with it in asserts */
    struct cuda_scratch rows, labels, partial, losses, sort;
    struct cuda_scratch pieces;                    /* of sources.h */
    struct cuda_scratch sides, scatter, link_loss; /* link.cc */
    struct cuda_pinned staging;                    /* for copies in the stream's order, one after the other */
    uint64_t staging_used, staging_wanted;         /* since the last synchronize */
    bool staging_refused;                          /* more of it was refused once */
    struct cuda_pinned result;                     /* of the current step */
    double *loss_to;                               /* NULL: no result is due */
    uint32_t *correct_to;
    double *link_loss_to; /* NULL: no result is due */
    struct cuda_lane lanes[GNN_LANES_MAX];
    std::atomic<bool> under_way; /* kernels may be running since the last synchronize */
    bool gathered;               /* since the last synchronize */
    /* The computing thread from its first op after a synchronize to the next, and the time that it had slept before.
     * Further sleep without a named wait happened in launches and copies. */
    std::atomic<std::thread::id> caller;
    int64_t asleep_ns; /* the caller's */
    bool in_step, capturing;
    uint32_t graphs[GNN_STEP_GRAPHS]; /* their slots, the most recently used first */
    struct cuda_choice choice;        /* how the next step is launched */
    bool step_due;                    /* a step waits for synchronize, to be timed; it began at step_start_ns */
    bool step_built;
    uint64_t step_start_ns;
    uint64_t graph_steps, graph_builds;
    struct cuda_group group;
    enum gnn_status status; /* the first failure of an op that had to allocate */
    struct gnn_err err;
};

static inline struct cuda_backend *cuda_backend_of(struct gnn_tensor *t)
{
    return (struct cuda_backend *)t;
}

static inline bool cuda_aligned16(const void *ptr)
{
    return (uintptr_t)ptr % 16 == 0;
}

/* Declares the ops, as cuda_NAME. */
#define CUDA_OP(op) std::remove_pointer_t<decltype(gnn_tensor_ops::op)> cuda_##op;
GNN_TENSOR_MEMORY_OPS(CUDA_OP)
GNN_TENSOR_PLAIN_OPS(CUDA_OP)
GNN_TENSOR_TUNED_OPS(CUDA_OP)
CUDA_OP(gemm)
#undef CUDA_OP

/* ---- waits: memory.cc ---- */

/* Enclose a wait for the device, measured by the clock: the host continues when the device has finished. Begin returns
 * the time. */
uint64_t cuda_wait_begin(struct cuda_backend *b);
uint64_t cuda_now(const struct cuda_backend *b); /* 0 without a clock */
void cuda_wait_end(struct cuda_backend *b, uint64_t start_ns);

/* Begins to observe the calling thread's launches and copies, together until the next synchronize. The time that it
 * sleeps in them is reported as a wait. */
void cuda_calls_begin(struct cuda_backend *b);

/* Observes one driver call that may sleep (memory, registration, events). The time that it slept is reported as a wait,
 * the time that it computed is not. */
struct cuda_call {
    explicit cuda_call(struct cuda_backend *backend);
    ~cuda_call();
    cuda_call(const cuda_call &) = delete;
    cuda_call &operator=(const cuda_call &) = delete;
    struct cuda_backend *const b;
    const int64_t asleep_ns;
};

/* Observes one of many short calls, by the clock alone. A call that takes longer than any enqueueing of a copy is
 * reported as a wait. */
struct cuda_quick_call {
    explicit cuda_quick_call(struct cuda_backend *backend);
    ~cuda_quick_call();
    cuda_quick_call(const cuda_quick_call &) = delete;
    cuda_quick_call &operator=(const cuda_quick_call &) = delete;
    struct cuda_backend *const b;
    const uint64_t start_ns;
};

/* Notes that the stream has work from now on. */
static inline void cuda_begin_work(struct cuda_backend *b)
{
    cuda_calls_begin(b);
    b->under_way = true;
    gnn_device_held_begin(b->device);
}

/* ---- memory.cc ---- */

/* Makes room in scratch, or returns false if the device is full; the error is kept for check. The old contents are
 * lost. */
bool cuda_reserve(struct cuda_backend *b, struct cuda_scratch *s, const char *name, uint64_t bytes);
enum gnn_status cuda_pinned_reserve(struct cuda_backend *b, struct cuda_pinned *p, const char *name, uint64_t bytes,
                                    struct gnn_err *err);
void cuda_pinned_free(struct cuda_backend *b, struct cuda_pinned *p);
/* Copies a host array to the device in the stream's order. The array may change when the call returns. */
void cuda_send(struct cuda_backend *b, void *dst, const void *host_src, uint64_t bytes);
/* Empties the staging memory, after the stream has passed all copies from it. If the lists since the last call needed
 * more, it grows, up to a limit. Refused memory is no error, because lists also fit in turns. */
enum { CUDA_STAGING_MOST_BYTES = 32 << 20 };
void cuda_staging_settle(struct cuda_backend *b);
/* Keeps the first failure for check. */
void cuda_keep(struct cuda_backend *b, const struct gnn_err *err);
void cuda_pool_settle(struct cuda_backend *b); /* after the stream has passed every kernel: frees retired pieces */
void cuda_pool_close(struct cuda_backend *b);

/* ---- blocks.cc ---- */

/* Return the block, or the block with its transpose, on the device, or NULL if the device is full. */
const struct gnn_cuda_block *cuda_need_block(struct cuda_backend *b, const struct gnn_block *host);
const struct gnn_cuda_block *cuda_need_transpose(struct cuda_backend *b, const struct gnn_block *host);
/* Writes the first entry of each source, and of their end, to src_start (src_count + 1). sorted (edge_count) holds the
 * sources in ascending order. */
void cuda_source_starts(struct cuda_backend *b, uint32_t *src_start, const uint32_t *sorted, uint32_t edge_count,
                        uint32_t src_count);
/* Return the seeds' labels, or the row numbers of a gather, on the device, or NULL if the device is full. */
const int32_t *cuda_need_labels(struct cuda_backend *b, const int32_t *host, uint32_t count);
const uint32_t *cuda_need_rows(struct cuda_backend *b, const uint32_t *host, uint32_t count);
void cuda_forget_demanded(struct cuda_backend *b); /* at the end of a step */
/* Returns the number of bits that hold every number up to count. */
uint32_t cuda_bits_of(uint32_t count);
void cuda_lanes_close(struct cuda_backend *b);

/* ---- dense.cc ---- */

/* Returns the number of parts in which columns of `rows` numbers are summed: a power of two by multiprocessors. So sums
 * of long columns have other last digits on another model of GPU. */
uint32_t cuda_column_parts(const struct cuda_backend *b, uint64_t rows);
/* out (width) = the sum of partial (parts, width) over the parts. */
void cuda_column_total(struct cuda_backend *b, float *out, const float *partial, uint32_t width, uint32_t parts);
/* Does values *= weight. A weight of 0 writes 0, even over NaN. */
void cuda_scale(struct cuda_backend *b, float *values, uint64_t count, float weight);

/* ---- step.cc ---- */

/* Launches the work recorded so far; the rest of the step runs op by op. Called before anything that waits or
 * allocates, which `what` names. */
void cuda_leave_capture(struct cuda_backend *b, const char *what);
void cuda_deliver_results(struct cuda_backend *b); /* after the stream has passed them */

/* ---- link.cc ---- */

extern const struct gnn_link_ops gnn_cuda_link;

/* ---- group.cc ---- */

void cuda_group_leave(struct gnn_tensor *t);
extern const struct gnn_group_ops gnn_cuda_group;

#endif
