/* SPDX-License-Identifier: MIT */
/* The contract of a system: one constant table of hooks per folder under systems/, listed in systems/registry.c.
 * Types only. This header is the author's manual; systems/null is the smallest example.
 *
 * Life of a run, all on the worker process's main thread of the world:
 *   complete -> plan -> open -> intend -> train_epoch x epochs -> close.
 * With several workers complete, plan and open_shared come first, then each rank does the rest on its own main thread.
 * A hook that fails fills err; close is then called with whatever open stored (maybe NULL). */
#ifndef GNN_SYSTEM_SYSTEM_H
#define GNN_SYSTEM_SYSTEM_H

#include "harness/base/option.h"
#include "harness/graph/dataset.h"
#include "harness/model/link.h"
#include "harness/model/model.h"
#include "harness/oocgnn.h"
#include "harness/pipeline/pipeline.h"
#include "harness/ranks/average.h"
#include "harness/sample/link_batch.h"
#include "harness/sample/sample.h"
#include "harness/tensor/tensor.h"
#include "harness/world/world.h"

#include <assert.h>
#include <stdatomic.h>

enum { GNN_SYSTEM_ABI = 1 };

/* What is learned: classes of nodes from their features, or edges of a knowledge graph, whose nodes have vectors that
 * are learned with it (docs/link-prediction.md). */
enum gnn_task_kind { GNN_TASK_NODES, GNN_TASK_LINK };

/* What to train on. Constant for the run. */
struct gnn_workload {
    enum gnn_task_kind task;
    struct gnn_negative_config negatives; /* of GNN_TASK_LINK, where a batch holds batch_size edges */
    uint64_t seed;
    uint32_t batch_size;
    uint32_t layers; /* of sampling and model; 0: vectors are scored as they are (GNN_TASK_LINK alone) */
    uint32_t fanout[GNN_LAYERS_MAX];
    uint32_t epochs;
    uint32_t max_batches; /* per epoch, 0 = all: smoke runs and probes */
    bool sample_only;     /* the papers' "-only": no extract, no train; features are not even opened */
    /* Several workers (ranks): batch_size seeds each a step, from the segments of the training nodes that are theirs.
     * 0 counts as 1. segments is a multiple of workers and divides workers * batch_size. */
    uint32_t workers, segments;
};

struct gnn_profile_storage; /* harness/world/profile.h */
struct gnn_profile_cpu;

/* Everything a system may touch. Owned by the harness, constant for the run, outlives the system. */
struct gnn_env {
    struct gnn_world *world;
    const struct gnn_dataset *dataset;
    const struct gnn_workload *workload;
    struct gnn_tensor *tensor; /* NULL when sample_only */
    struct gnn_model *model;   /* NULL when sample_only, or without layers; used by one trainer thread at a time */
    const struct gnn_model_config *model_config;
    struct gnn_link *link; /* GNN_TASK_LINK: the decoder; as model */
    const struct gnn_link_config *link_config;
    enum gnn_ring_engine io_engine;            /* --io uring|pool */
    const struct gnn_profile_storage *storage; /* figures of the device that the data lies on; NULL: not known */
    const struct gnn_profile_cpu *cpu;         /* what work costs on a core; NULL: not known */
    bool floyd_biased;
    uint32_t cores;         /* of the world: those this process may run on, or the profile's; a rank's share of them */
    uint64_t cap_bytes;     /* 0 = none */
    uint64_t process_bytes; /* of the cap, what the process itself takes (code, libraries, stacks); 0 = unknown */
    /* Of the cap, what evaluations between epochs hold beside the system; 0: there are none. */
    uint64_t evaluation_bytes;
    const atomic_bool *stop; /* set on Ctrl-C and on limits: leave at the next batch with GNN_ECANCELLED */
    /* Called by the trainer after each step, in training order; may be NULL. Traces, tests, progress. */
    void (*on_step)(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step);
    void *on_step_ctx;

    /* ---- several workers; all zero with one ---- */
    uint32_t rank;               /* of this process, or of this thread of a simulated machine */
    struct gnn_ranks *ranks;     /* where the ranks meet; NULL: one worker */
    struct gnn_average *average; /* means of the gradients over the ranks; NULL: one worker */
    void *shared;                /* what the system's open_shared left for all ranks */
    bool on_device;              /* says for tensor == NULL (open_shared) what gnn_env_on_device will say */
};

static inline uint32_t gnn_env_workers(const struct gnn_env *env)
{
    return gnn_max_u32(env->workload->workers, 1);
}

/* Whether the tensor back-end has a memory of its own: what it computes on must be uploaded. */
static inline bool gnn_env_on_device(const struct gnn_env *env)
{
    return env->tensor != NULL ? !env->tensor->host_memory : env->on_device;
}

/* Opens a named range on the calling thread's row of a profiler's time line ("read", "copy", "train"); NULL: closes it.
 * Nothing without a tensor back-end. */
static inline void gnn_env_range(const struct gnn_env *env, const char *name)
{
    if (env->tensor != NULL)
        env->tensor->ops->range(env->tensor, name);
}

/* Returns a thread count: the one that was given, or, where that is 0, the rule's, at least 1. */
static inline uint32_t gnn_threads(uint32_t given, uint32_t by_rule)
{
    return given > 0 ? given : gnn_max_u32(by_rule, 1);
}

struct gnn_memory_plan; /* harness/system/plan.h */
struct gnn_intent;      /* harness/system/intent.h */

static inline uint32_t gnn_segments(const struct gnn_env *env)
{
    return gnn_max_u32(env->workload->segments, 1);
}

/* What an epoch passes over: training nodes, or training edges. */
static inline uint32_t gnn_train_count(const struct gnn_env *env)
{
    return env->workload->task == GNN_TASK_LINK ? env->dataset->triple_count[0] : env->dataset->train.count;
}

/* Training nodes cut into segments: the nodes of one. What is left over is not trained, so that every rank has as many
 * (as GNNDrive's released code does it). */
static inline uint32_t gnn_segment_nodes(const struct gnn_env *env)
{
    return gnn_train_count(env) / gnn_segments(env);
}

/* Training nodes of one rank. */
static inline uint32_t gnn_epoch_nodes(const struct gnn_env *env)
{
    return gnn_segment_nodes(env) * (gnn_segments(env) / gnn_env_workers(env));
}

/* Mini-batches that a rank's training nodes make. What a system sizes by an epoch (a superbatch, a hyperbatch) it sizes
 * by this, so that the first max_batches run as they would in the whole epoch. */
static inline uint32_t gnn_whole_epoch_batches(const struct gnn_env *env)
{
    return (uint32_t)gnn_div_up(gnn_epoch_nodes(env), env->workload->batch_size);
}

/* Mini-batches of an epoch of this run, of one rank: all its training nodes, or the first workload->max_batches. */
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

enum { GNN_FIGURES_MAX = 48 };

struct gnn_figure {
    const char *name;
    uint64_t value;
    bool is_size; /* several workers: the largest stands for all; else their sum */
};

struct gnn_epoch_result {
    double loss_sum;     /* sum over batches of loss * seeds; divide by seeds for the mean */
    uint64_t seeds;      /* trained; edges of GNN_TASK_LINK */
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
    out->figures[out->figure_count++] = (struct gnn_figure){name, value, false};
}

/* Likewise one that is no amount but a size or a setting: "buffer_slots". */
static inline void gnn_epoch_size(struct gnn_epoch_result *out, const char *name, uint64_t value)
{
    gnn_epoch_figure(out, name, value);
    out->figures[out->figure_count - 1].is_size = true;
}

/* What a system can run on, and what it samples; `oocgnn list systems` shows it. */
enum gnn_variant {
    GNN_VARIANT_CPU = 1,
    GNN_VARIANT_GPU = 2,
    GNN_VARIANT_SAMPLE_ONLY = 4,
    GNN_VARIANT_LINK = 8,
    /* Its mini-batches have the epoch's seeds, but neighbourhoods of its own design: their digest is its own. Without
     * it a system samples exactly what (seed, epoch, batch) say, and equal workloads have equal digests. */
    GNN_VARIANT_OWN_SAMPLES = 16,
};

struct gnn_system {
    uint32_t abi;                     /* GNN_SYSTEM_ABI */
    const char *name;                 /* folder, command line and record's key */
    const char *title;                /* "GNNDrive (ICPP 2024), CPU variant" */
    uint32_t variants;                /* enum gnn_variant, a bit each */
    const struct gnn_option *options; /* NULL-name terminated; may hold no entry */
    size_t config_bytes;
    uint32_t workers_max; /* ranks of a run at most; 0 or 1: one process alone */

    /* Optional. Puts a number where a parameter at 0 stands for a rule over the world's cores (env->cores) and the
     * workload: thread counts. What was given stays. The record lists what it changed. */
    void (*complete)(const struct gnn_env *env, void *config);
    /* Optional. Adds the system's parts to a plan that gnn_plan_begin filled; the caller judges the cap. No side
     * effects; env->model is not open yet. Checks parameters against each other and returns GNN_EUSAGE with a remedy
     * when they contradict. */
    enum gnn_status (*plan)(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                            struct gnn_err *err);
    /* Optional, and only called with several workers: once, before any rank starts. What it opens belongs to all of
     * them (GNN_MEM_SHARED, locks; no threads, no rings) and reaches their open as env->shared. env->tensor and
     * env->model are NULL. close_shared is called when every rank has closed; accepts NULL. */
    enum gnn_status (*open_shared)(const struct gnn_env *env, const void *config, void **shared, struct gnn_err *err);
    void (*close_shared)(void *shared);
    /* Required. Allocates everything that lasts. config stays valid until close. */
    enum gnn_status (*open)(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err);
    /* Optional. Says what the epochs of this run will do and read where that is not what gnn_intent_begin filled in. */
    void (*intend)(const void *state, struct gnn_intent *intent);
    /* Required. One pass over the training nodes (or sampling only). The result is zeroed by the caller. On failure
     * everything in flight has stopped and been released before it returns. */
    enum gnn_status (*train_epoch)(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err);
    /* GNN_VARIANT_LINK: the vectors of count nodes, in the dataset's numbering, as the last epoch left them, into out
     * (count, dim), memory that this process writes to (gnn_rows). Between two epochs. */
    enum gnn_status (*read_embeddings)(void *state, const gnn_node *nodes, uint32_t count, gnn_real *out,
                                       struct gnn_err *err);
    /* Required. Accepts NULL. */
    void (*close)(void *state);
};

extern const struct gnn_system *const gnn_systems[]; /* systems/registry.c, NULL-terminated */

#endif
