/* SPDX-License-Identifier: MIT */
/* The state of an open modelled back-end, and the functions that the files of this folder share. They are memory.c
 * (memory of the GPU, registered host memory) and timeline.c (start and end of ops and copies). Above these are lists.c
 * (a mini-batch's lists, a training step) and modelled.c (open, close, the ops, the table). Of these files each calls
 * only those before it. */
#ifndef GNN_TENSOR_MODELLED_STATE_H
#define GNN_TENSOR_MODELLED_STATE_H

#include "harness/tensor/modelled/cost.h"
#include "harness/tensor/modelled/modelled.h"
#include "harness/world/profile.h"

#include <pthread.h>

enum {
    RESULT_BYTES = 8 + 4,       /* bytes that softmax_nll copies to the host */
    BLOCKS_MAX = GNN_LAYERS_MAX /* blocks of one step */
};

struct region; /* memory.c: GPU memory */
struct pin;    /* memory.c: registered memory of the host */

enum { HALVES = 2 }; /* halves of a lane's staging memory: one is filled while the other is copied */

struct lane {
    uint64_t free_ns;
    uint64_t half_landed_ns[HALVES]; /* arrival of the last copy from it */
    void *half[HALVES];              /* host memory, which is counted */
    uint64_t half_bytes[HALVES];
    uint32_t next_half;
};

struct gnn_resident {
    struct gnn_batch_lists lists;
    uint64_t landed_ns;
    uint64_t read_ns; /* when the stream has passed the ops that read it */
};

struct modelled {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
    struct gnn_roof roof;
    struct gnn_profile_bus bus;
    uint64_t launch_ns;
    uint64_t core_bytes_per_s; /* of one core of the host */
    uint64_t memory_limit_bytes;
    char profile_name[GNN_NAME_MAX];

    pthread_mutex_t mutex;   /* never held across a hook of env, which may run other threads of a simulated world */
    struct modelled *device; /* itself, or the back-end whose GPU this one shares (closed after this one) */
    uint64_t stream_free_ns, bus_free_ns; /* of the device, as is the memory taken in counts */
    struct lane lanes[GNN_LANES_MAX];
    const uint32_t *resident[BLOCKS_MAX]; /* columns of the blocks uploaded in this step */
    uint32_t resident_count;
    struct gnn_resident *in_use;
    struct gnn_profile_framework framework;
    uint64_t step_start_ns, step_least_ns; /* of the current step */
    bool in_step, result_due;              /* a step's loss crosses the bus at the next synchronize */
    struct region *regions;
    struct pin *pins;
    struct gnn_modelled_counts counts, taken; /* since open; value at the last take_times */
};

static inline struct modelled *modelled_of(struct gnn_tensor *t)
{
    return (struct modelled *)t;
}

static inline void lock(struct modelled *m)
{
    (void)pthread_mutex_lock(&m->device->mutex);
}

static inline void unlock(struct modelled *m)
{
    (void)pthread_mutex_unlock(&m->device->mutex);
}

static inline uint64_t now(const struct modelled *m)
{
    return m->env.now_ns(m->env.ctx);
}

#define MODELLED_OP(op) GNN_TENSOR_OP(op) modelled_##op

/* ---- memory.c ---- */
MODELLED_OP(alloc);
MODELLED_OP(free);
MODELLED_OP(pin);
MODELLED_OP(unpin);
/* Frees the allocations and pins that are left. */
void modelled_memory_close(struct modelled *m);
/* Returns whether host is in registered memory. */
bool modelled_is_pinned(struct modelled *m, const void *host);

/* ---- timeline.c ---- */
MODELLED_OP(synchronize);
MODELLED_OP(upload);
MODELLED_OP(download);
MODELLED_OP(upload_async);
MODELLED_OP(upload_rows);
MODELLED_OP(upload_wait);
MODELLED_OP(event_open);
MODELLED_OP(event_close);
MODELLED_OP(event_record);
MODELLED_OP(event_await);
MODELLED_OP(event_wait);
/* Runs an op. On a GPU the caller's core launches and the stream does the work; on a CPU the core does both. */
void modelled_run_op(struct gnn_tensor *t, struct gnn_cost cost);
/* Runs a copy, in either direction, for which the stream and the caller wait. */
void modelled_copy_and_wait(struct modelled *m, uint64_t bytes, uint64_t *counter);
/* Reads rows of host memory by a kernel. The stream waits while they cross the bus. */
void modelled_cross_bus(struct modelled *m, uint64_t bytes);
/* Copies in host memory: one core reads and writes `bytes`. */
void modelled_host_copy(struct modelled *m, uint64_t bytes);
/* Copies `bytes` of pinned memory over the bus with one launch, in the lane. Latencies of successive copies overlap,
 * their transfers do not. */
void modelled_lane_copy(struct modelled *m, uint32_t lane, uint64_t bytes);

/* ---- lists.c ---- */
MODELLED_OP(resident_open);
MODELLED_OP(resident_close);
MODELLED_OP(resident_stage);
MODELLED_OP(resident_use);
MODELLED_OP(step_begin);
MODELLED_OP(step_end);
MODELLED_OP(take_times);
MODELLED_OP(range);
/* Copies the arrays of a block that was not staged over the bus, once a step. */
void modelled_upload_block(struct modelled *m, const struct gnn_block *b);

#undef MODELLED_OP

#endif
