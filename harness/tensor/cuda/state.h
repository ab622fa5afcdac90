/* SPDX-License-Identifier: MIT */
/* What the files of the CUDA back-end share: its open state, and the functions of one that another calls.
 *
 *   memory.cc     device memory that is given out again, scratch, pinned staging, copies, events, waits
 *   blocks.cc     a mini-batch's lists on the device, staged ahead or brought when needed; transposed blocks
 *   dense.cc sparse.cc attention.cc link.cc   which kernels an op launches
 *   step.cc       a step as one graph, its results, times and ranges
 *   group.cc      several devices with one model: gradients summed by NCCL
 *   backend.cc    open, close and the table
 *
 * Threads  one thread computes; others allocate, stage and copy in lanes of their own. The pool has a mutex; the rest
 *          belongs to the computing thread, a lane's staging to the lane's. */
#ifndef GNN_TENSOR_CUDA_STATE_H
#define GNN_TENSOR_CUDA_STATE_H

#include "harness/tensor/cuda/backend.h"
#include "harness/tensor/cuda/block.h"
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

/* Device memory that grows and is not initialised. */
struct cuda_scratch {
    void *data;
    uint64_t bytes;
};

/* Memory of the host that is counted (gnn_tensor_env.alloc) and pinned. */
struct cuda_pinned {
    void *data;
    uint64_t bytes;
};

/* A piece that was freed with kernels under way is given out again after the next synchronize: they may be at work on
 * it, and its next owner may copy into it in another stream. */
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
    uint64_t allocations; /* of the device, ever */
};

/* A block on the device. */
struct cuda_block {
    const uint32_t *row_start, *col; /* of the host: what it is known by */
    struct gnn_cuda_block device;
    struct cuda_scratch transpose;
    bool transposed;
};

/* One mini-batch's lists, side by side in one piece of device memory. */
struct gnn_resident {
    struct cuda_scratch lists;
    struct cuda_block blocks[GNN_LAYERS_MAX];
    uint32_t block_count;
    const int32_t *host_labels, *labels; /* NULL: not staged */
    const uint32_t *host_rows, *rows;
    struct gnn_event *landed, *read; /* its copy; the last op that looked at it */
};

/* A lane's pinned memory for what it stages: one half is filled while the other is on its way. */
struct cuda_lane {
    struct cuda_pinned half[GNN_CUDA_HALVES];
    struct gnn_event *landed[GNN_CUDA_HALVES]; /* NULL: no copy out of it yet */
    uint32_t next;
};

/* What a step brings back to the host. */
struct cuda_result {
    double loss;
    uint32_t correct;
};

/* In pinned memory: of steps and of links, whichever is due. */
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
    struct gnn_resident on_demand; /* lists that nobody staged, until the next synchronize */
    struct cuda_scratch demanded[GNN_LAYERS_MAX];
    std::atomic<struct gnn_resident *> in_use; /* the computing thread's; lanes compare with it in asserts */
    struct cuda_scratch rows, labels, partial, losses, sort;
    struct cuda_scratch sides, scatter, link_loss; /* link.cc */
    struct cuda_pinned staging;                    /* for what goes up in the stream's order, one after the other */
    uint64_t staging_used;
    struct cuda_pinned result; /* of the step under way */
    double *loss_to;           /* NULL: none is due */
    uint32_t *correct_to;
    double *link_loss_to; /* NULL: none is due */
    struct cuda_lane lanes[GNN_LANES_MAX];
    std::atomic<bool> under_way; /* kernels, since the last synchronize */
    /* Who computes, from its first op after a synchronize to the next, and what it had slept before: all that it sleeps
     * meanwhile without telling, it sleeps in launches and copies. */
    std::atomic<std::thread::id> caller;
    int64_t asleep_ns; /* the caller's */
    bool in_step, capturing;
    uint32_t graphs[GNN_STEP_GRAPHS]; /* their slots, the one that was used last first */
    uint32_t builds_in_a_row;         /* steps whose graph had to be built anew */
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

/* The ops, cuda_NAME each. */
#define CUDA_OP(op) std::remove_pointer_t<decltype(gnn_tensor_ops::op)> cuda_##op;
GNN_TENSOR_MEMORY_OPS(CUDA_OP)
GNN_TENSOR_PLAIN_OPS(CUDA_OP)
GNN_TENSOR_TUNED_OPS(CUDA_OP)
CUDA_OP(gemm)
#undef CUDA_OP

/* ---- waits: memory.cc ---- */

/* A wait for the device, by the clock: the host can go on when the device can. Begin returns the time. */
uint64_t cuda_wait_begin(struct cuda_backend *b);
void cuda_wait_end(struct cuda_backend *b, uint64_t start_ns);

/* From here to the next synchronize the calling thread's launches and copies are looked at together: what it sleeps in
 * them is a wait. */
void cuda_calls_begin(struct cuda_backend *b);

/* One call of the driver that may sleep (memory, registration, events): what it slept is a wait, what it computed is
 * not. */
struct cuda_call {
    explicit cuda_call(struct cuda_backend *backend);
    ~cuda_call();
    cuda_call(const cuda_call &) = delete;
    cuda_call &operator=(const cuda_call &) = delete;
    struct cuda_backend *const b;
    const int64_t asleep_ns;
};

/* The same for calls that are many, by the clock alone: one that takes longer than any copy is given in has waited. */
struct cuda_quick_call {
    explicit cuda_quick_call(struct cuda_backend *backend);
    ~cuda_quick_call();
    cuda_quick_call(const cuda_quick_call &) = delete;
    cuda_quick_call &operator=(const cuda_quick_call &) = delete;
    struct cuda_backend *const b;
    const uint64_t start_ns;
};

/* The stream has work from here on. */
static inline void cuda_begin_work(struct cuda_backend *b)
{
    cuda_calls_begin(b);
    b->under_way = true;
    gnn_device_busy_begin(b->device);
}

/* ---- memory.cc ---- */

/* Room in scratch; false when the device is full, which is kept for check. The old contents are lost. */
bool cuda_reserve(struct cuda_backend *b, struct cuda_scratch *s, const char *name, uint64_t bytes);
enum gnn_status cuda_pinned_reserve(struct cuda_backend *b, struct cuda_pinned *p, const char *name, uint64_t bytes,
                                    struct gnn_err *err);
void cuda_pinned_free(struct cuda_backend *b, struct cuda_pinned *p);
/* Copies a host array up in the stream's order; the array may change at once. */
void cuda_send(struct cuda_backend *b, void *dst, const void *host_src, uint64_t bytes);
/* Keeps the first failure for check. */
void cuda_keep(struct cuda_backend *b, const struct gnn_err *err);
void cuda_pool_settle(struct cuda_backend *b); /* the stream has passed every kernel: retired pieces are free */
void cuda_pool_close(struct cuda_backend *b);

/* ---- blocks.cc ---- */

/* The block on the device; NULL when that is full. */
const struct gnn_cuda_block *cuda_need_block(struct cuda_backend *b, const struct gnn_block *host);
const struct gnn_cuda_block *cuda_need_transpose(struct cuda_backend *b, const struct gnn_block *host);
/* The seeds' labels, and the row numbers of a gather, likewise. */
const int32_t *cuda_need_labels(struct cuda_backend *b, const int32_t *host, uint32_t count);
const uint32_t *cuda_need_rows(struct cuda_backend *b, const uint32_t *host, uint32_t count);
void cuda_forget_demanded(struct cuda_backend *b); /* at the end of a step */
/* Bits that hold every number up to count. */
uint32_t cuda_bits_of(uint32_t count);
void cuda_lanes_close(struct cuda_backend *b);

/* ---- dense.cc ---- */

enum { GNN_CUDA_COLUMN_PARTS = 64 };
/* out (width) = the sum of partial (GNN_CUDA_COLUMN_PARTS, width) over the parts. */
void cuda_column_total(struct cuda_backend *b, float *out, const float *partial, uint32_t width);
/* values *= weight; a weight of 0 leaves 0, whatever was there. */
void cuda_scale(struct cuda_backend *b, float *values, uint64_t count, float weight);

/* ---- step.cc ---- */

/* Launches what was captured so far; the rest of the step runs op by op. Before anything that waits or allocates. */
void cuda_leave_capture(struct cuda_backend *b);
void cuda_deliver_results(struct cuda_backend *b); /* the stream has passed them */

/* ---- link.cc ---- */

extern const struct gnn_link_ops gnn_cuda_link;

/* ---- group.cc ---- */

void cuda_group_leave(struct gnn_tensor *t);
extern const struct gnn_group_ops gnn_cuda_group;

#endif
