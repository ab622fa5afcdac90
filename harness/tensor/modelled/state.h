/* SPDX-License-Identifier: MIT */
/* What an open modelled back-end has, and what the files of this folder share of it: memory.c the GPU's memory and the
 * host's that is registered; timeline.c when ops and copies begin and end; lists.c a mini-batch's lists and a training
 * step; modelled.c open, close, the ops and the table. A file of this list calls those before it. */
#ifndef GNN_TENSOR_MODELLED_STATE_H
#define GNN_TENSOR_MODELLED_STATE_H

#include "harness/tensor/modelled/cost.h"
#include "harness/tensor/modelled/modelled.h"
#include "harness/world/profile.h"

#include <pthread.h>

enum {
    RESULT_BYTES = 8 + 4,       /* what softmax_nll brings back */
    BLOCKS_MAX = GNN_LAYERS_MAX /* of one step */
};

struct region; /* memory.c: GPU memory */
struct pin;    /* memory.c: registered memory of the host */

enum { HALVES = 2 }; /* of a lane's staging memory: one is filled while the other is on the bus */

struct lane {
    uint64_t free_ns;
    uint64_t half_landed_ns[HALVES]; /* the last copy out of it */
    void *half[HALVES];              /* memory of the host, for its account */
    uint64_t half_bytes[HALVES];
    uint32_t next_half;
};

struct gnn_resident {
    struct gnn_batch_lists lists;
    uint64_t landed_ns;
    uint64_t read_ns; /* the stream has passed the ops that read it */
};

struct modelled {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
    struct gnn_roof roof;
    struct gnn_profile_bus bus;
    uint64_t launch_ns;
    uint64_t core_bytes_per_s; /* one core of the host */
    uint64_t memory_limit_bytes;
    char profile_name[GNN_NAME_MAX];

    pthread_mutex_t mutex;   /* never held across a hook of env: those may run other threads of a simulated world */
    struct modelled *device; /* itself, or the back-end whose GPU this one uses as well (closed after this one) */
    uint64_t stream_free_ns, bus_free_ns; /* of the device; likewise the memory taken in counts */
    struct lane lanes[GNN_LANES_MAX];
    const uint32_t *resident[BLOCKS_MAX]; /* columns of the blocks uploaded in this step */
    uint32_t resident_count;
    struct gnn_resident *in_use;
    struct gnn_profile_framework framework;
    uint64_t step_start_ns, step_least_ns; /* of the step under way */
    bool in_step, result_due;              /* a step's loss crosses the bus when it is asked for */
    struct region *regions;
    struct pin *pins;
    struct gnn_modelled_counts counts, taken; /* in all, and when take_times was last called */
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
/* Returns whether host lies in registered memory. */
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
/* On a GPU the caller's core launches and the stream gets the work, on a CPU the core does both. */
void modelled_run_op(struct gnn_tensor *t, struct gnn_cost cost);
/* A copy that the stream waits for and the caller too, either direction. */
void modelled_copy_and_wait(struct modelled *m, uint64_t bytes, uint64_t *counter);
/* Rows that a kernel reads out of the host's memory: the stream waits while they cross the bus. */
void modelled_cross_bus(struct modelled *m, uint64_t bytes);
/* One core reads and writes. */
void modelled_host_copy(struct modelled *m, uint64_t bytes);
/* One launch brings `bytes` of pinned memory over the bus, in the lane. Latencies of copies that follow each other
 * overlap, their bytes do not. */
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
/* The arrays of a block that was not staged cross the bus once a step. */
void modelled_upload_block(struct modelled *m, const struct gnn_block *b);

#undef MODELLED_OP

#endif
