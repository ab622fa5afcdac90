/* The contract of a system: one constant table of hooks per folder under systems/, listed in systems/registry.c.
 * Types only. This header is the author's manual; systems/null is the smallest example.
 *
 * Life of a run, all on the worker process's main thread of the world:
 *   complete -> plan -> open -> intend -> train_epoch x epochs -> close.
 * A hook that fails fills err; close is then called with whatever open stored (maybe NULL). */
#ifndef GNN_SYSTEM_SYSTEM_H
#define GNN_SYSTEM_SYSTEM_H

#include "harness/base/option.h"
#include "harness/graph/dataset.h"
#include "harness/model/model.h"
#include "harness/oocgnn.h"
#include "harness/pipeline/pipeline.h"
#include "harness/sample/sample.h"
#include "harness/tensor/tensor.h"
#include "harness/world/world.h"

#include <assert.h>
#include <stdatomic.h>

enum { GNN_SYSTEM_ABI = 1 };

/* What to train on. Constant for the run. */
struct gnn_workload {
    uint64_t seed;
    uint32_t batch_size;
    uint32_t layers;
    uint32_t fanout[GNN_LAYERS_MAX];
    uint32_t epochs;
    uint32_t max_batches; /* per epoch, 0 = all: smoke runs and probes */
    bool sample_only;     /* the papers' "-only": no extract, no train; features are not even opened */
};

/* Everything a system may touch. Owned by the harness, constant for the run, outlives the system. */
struct gnn_env {
    struct gnn_world *world;
    const struct gnn_dataset *dataset;
    const struct gnn_workload *workload;
    struct gnn_tensor *tensor; /* NULL when sample_only */
    struct gnn_model *model;   /* NULL when sample_only; used by one trainer thread at a time */
    const struct gnn_model_config *model_config;
    enum gnn_ring_engine io_engine; /* --io uring|pool */
    bool floyd_biased;
    uint32_t cores;         /* of the world: those this process may run on, or the profile's */
    uint64_t cap_bytes;     /* 0 = none */
    uint64_t process_bytes; /* of the cap, what the process itself takes (code, libraries, stacks); 0 = unknown */
    uint64_t
        evaluation_bytes;    /* of the cap, what evaluations between epochs hold beside the system; 0: there are none */
    const atomic_bool *stop; /* set on Ctrl-C and on limits: leave at the next batch with GNN_ECANCELLED */
    /* Called by the trainer after each step, in training order; may be NULL. Traces, tests, progress. */
    void (*on_step)(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step);
    void *on_step_ctx;
};

/* Whether the tensor back-end has a memory of its own: what it computes on must be uploaded. */
static inline bool gnn_env_on_device(const struct gnn_env *env)
{
    return env->tensor != NULL && !env->tensor->host_memory;
}

/* Returns a thread count: the one that was given, or, where that is 0, the rule's, at least 1. */
static inline uint32_t gnn_threads(uint32_t given, uint32_t by_rule)
{
    return given > 0 ? given : gnn_max_u32(by_rule, 1);
}

struct gnn_memory_plan; /* harness/system/plan.h */
struct gnn_intent;      /* harness/system/intent.h */

/* Mini-batches that the training nodes make. What a system sizes by an epoch (a superbatch, a hyperbatch) it sizes by
 * this, so that the first max_batches run as they would in the whole epoch. */
static inline uint32_t gnn_whole_epoch_batches(const struct gnn_env *env)
{
    return (uint32_t)gnn_div_up(env->dataset->train.count, env->workload->batch_size);
}

/* Mini-batches of an epoch of this run: all training nodes, or the first workload->max_batches. */
static inline uint32_t gnn_epoch_batches(const struct gnn_env *env)
{
    const uint32_t all = gnn_whole_epoch_batches(env);
    const uint32_t limit = env->workload->max_batches;
    return limit > 0 && limit < all ? limit : all;
}

/* Counters of one epoch. Unknown is GNN_UNKNOWN, never 0. */
struct gnn_counters {
    struct gnn_sample_counters sample;
    uint64_t needed_bytes;    /* logical feature and topology bytes the batches needed */
    uint64_t requested_bytes; /* bytes asked of storage by explicit reads; GNN_UNKNOWN for mappings */
    uint64_t requested_ios;
    uint64_t requested_write_bytes, requested_write_ios; /* asked of storage by explicit writes during the epoch */
    uint64_t cache_hits;                                 /* of the system's own feature cache or buffer, in rows */
    uint64_t cache_misses;
    uint64_t cache_evictions;
    /* Feature rows that the mini-batches asked for, and rows that storage delivered for them, each time it did: misses,
     * the filling of a cache, rows read back from a spill; not the neighbours that share a block or page with one. The
     * hit ratio is 1 - read / asked for every system; what is read ahead and never used makes it negative. */
    uint64_t rows_asked, rows_read;
    uint64_t prepare_disk_bytes; /* of files that open made, or found made by an earlier run; 0: it needs none */
};

enum { GNN_FIGURES_MAX = 24 };

struct gnn_figure {
    const char *name;
    uint64_t value;
};

struct gnn_epoch_result {
    double loss_sum;     /* sum over batches of loss * seeds; divide by seeds for the mean */
    uint64_t seeds;      /* trained */
    uint64_t correct;    /* dropout-on training accuracy = correct / seeds */
    uint64_t prepare_ns; /* part of the epoch spent preparing (inspect, reorder), not what open did; 0 if none */
    struct gnn_counters counters;
    uint32_t stage_count;
    struct gnn_stage_time stages[GNN_STAGES_MAX];
    /* A system's own figures: gnn_epoch_figure. */
    uint32_t figure_count;
    struct gnn_figure figures[GNN_FIGURES_MAX];
};

/* Adds one of the system's own figures: "wait_list_rows". The name is a string literal. */
static inline void gnn_epoch_figure(struct gnn_epoch_result *out, const char *name, uint64_t value)
{
    assert(out->figure_count < GNN_FIGURES_MAX);
    out->figures[out->figure_count++] = (struct gnn_figure){name, value};
}

struct gnn_system {
    uint32_t abi;                     /* GNN_SYSTEM_ABI */
    const char *name;                 /* folder, command line and record's key */
    const char *title;                /* "GNNDrive (ICPP 2024), CPU variant" */
    const struct gnn_option *options; /* NULL-name terminated; may hold no entry */
    size_t config_bytes;

    /* Optional. Puts a number where a parameter at 0 stands for a rule over the world's cores (env->cores) and the
     * workload: thread counts. What was given stays. The record lists what it changed. */
    void (*complete)(const struct gnn_env *env, void *config);
    /* Optional. Adds the system's parts to a plan that gnn_plan_begin filled; the caller judges the cap. No side
     * effects; env->model is not open yet. Checks parameters against each other and returns GNN_EUSAGE with a remedy
     * when they contradict. */
    enum gnn_status (*plan)(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                            struct gnn_err *err);
    /* Required. Allocates everything that lasts. config stays valid until close. */
    enum gnn_status (*open)(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err);
    /* Optional. Says what the epochs of this run will do and read where that is not what gnn_intent_begin filled in. */
    void (*intend)(const void *state, struct gnn_intent *intent);
    /* Required. One pass over the training nodes (or sampling only). The result is zeroed by the caller. On failure
     * everything in flight has stopped and been released before it returns. */
    enum gnn_status (*train_epoch)(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err);
    /* Required. Accepts NULL. */
    void (*close)(void *state);
};

extern const struct gnn_system *const gnn_systems[]; /* systems/registry.c, NULL-terminated */

#endif
