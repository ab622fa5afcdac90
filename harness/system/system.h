/* SPDX-License-Identifier: MIT */
/* The contract of a system: one constant table of hooks per folder under systems/, listed in systems/registry.c. This
 * header has types only. It is the author's manual. The smallest example is systems/null.
 *
 * A run calls the hooks on the main thread of the worker process:
 *  complete -> plan -> open -> intend -> train_epoch x epochs -> close.
 * With several workers, complete, plan and open_shared come first. Each rank then does the rest on its own main thread.
 * A hook that fails fills err. close is then called with what open has stored, maybe NULL. */
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

/* What is learned: classes of nodes from their features, or edges of a knowledge graph. For edges, vectors of the nodes
 * are learned with the model (docs/link-prediction.md). */
enum gnn_task_kind { GNN_TASK_NODES, GNN_TASK_LINK };

/* The training task. Constant for the run. */
struct gnn_workload {
    enum gnn_task_kind task;
    struct gnn_negative_config negatives; /* for GNN_TASK_LINK, where a batch holds batch_size edges */
    uint64_t seed;
    uint32_t batch_size;
    uint32_t layers; /* layers of sampling and model; 0: vectors are scored directly (GNN_TASK_LINK only) */
    uint32_t fanout[GNN_LAYERS_MAX];
    uint32_t epochs;
    uint32_t max_batches; /* limit per epoch, 0 = none: for smoke runs and probes */
    bool sample_only;     /* the papers' "-only" mode: no extraction, no training; feature files are not opened */
    /* Number of workers (ranks); 0 counts as 1. Each trains batch_size seeds in a step, from its own segments of the
     * training nodes. segments is a multiple of workers and divides workers * batch_size. */
    uint32_t workers, segments;
};

struct gnn_profile_storage; /* harness/world/profile.h */
struct gnn_profile_cpu;

/* Everything a system may use. Owned by the harness, constant for the run, outlives the system. */
struct gnn_env {
    struct gnn_world *world;
    const struct gnn_dataset *dataset;
    const struct gnn_workload *workload;
    struct gnn_tensor *tensor; /* NULL when sample_only */
    struct gnn_model *model;   /* NULL when sample_only, or without layers; for one trainer thread at a time */
    const struct gnn_model_config *model_config;
    struct gnn_link *link; /* GNN_TASK_LINK: the decoder; threads as model */
    const struct gnn_link_config *link_config;
    enum gnn_ring_engine io_engine;            /* --io uring|pool */
    const struct gnn_profile_storage *storage; /* the device of the data; NULL: unknown */
    const struct gnn_profile_cpu *cpu;         /* what work costs on a core; NULL: unknown */
    bool floyd_biased;
    uint32_t cores;     /* cores of the world: those this process may use, or the profile's; a rank's share of them */
    uint64_t cap_bytes; /* memory limit; 0 = none */
    uint64_t process_bytes; /* part of the limit that the process itself takes (code, libraries, stacks); 0 = unknown */
    /* Part of the limit that evaluations between epochs hold; 0: there are none. */
    uint64_t evaluation_bytes;
    const atomic_bool *stop; /* set on Ctrl-C and on limits: return at the next batch with GNN_ECANCELLED */
    /* Called by the trainer after each step, in training order; may be NULL. For traces, tests, progress. */
    void (*on_step)(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step);
    void *on_step_ctx;

    /* ---- several workers; all zero with one ---- */
    uint32_t rank;               /* rank of this process, or of this thread of a simulated machine */
    struct gnn_ranks *ranks;     /* the group of ranks; NULL: one worker */
    struct gnn_average *average; /* mean of the gradients over the ranks; NULL: one worker */
    void *shared;                /* what the system's open_shared stored for all ranks */
    bool on_device;              /* result of gnn_env_on_device while tensor is NULL (open_shared) */
};

static inline uint32_t gnn_env_workers(const struct gnn_env *env)
{
    return gnn_max_u32(env->workload->workers, 1);
}

/* Returns whether the tensor back-end has its own memory, so that its inputs must be uploaded. */
static inline bool gnn_env_on_device(const struct gnn_env *env)
{
    return env->tensor != NULL ? !env->tensor->host_memory : env->on_device;
}

/* Opens a named range ("read", "copy", "train") on the calling thread's row of a profiler's time line. NULL: closes it.
 * Does nothing without a tensor back-end. */
static inline void gnn_env_range(const struct gnn_env *env, const char *name)
{
    if (env->tensor != NULL)
        env->tensor->ops->range(env->tensor, name);
}

/* Returns a thread count: `given`, or if that is 0 the rule's, at least 1. */
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

/* Returns the size of an epoch: the number of training nodes, or of training edges. */
static inline uint32_t gnn_train_count(const struct gnn_env *env)
{
    return env->workload->task == GNN_TASK_LINK ? env->dataset->triple_count[0] : env->dataset->train.count;
}

/* Returns the training nodes of one segment. Those left over are not trained, so that all ranks have the same number
 * (as in GNNDrive's released code). */
static inline uint32_t gnn_segment_nodes(const struct gnn_env *env)
{
    return gnn_train_count(env) / gnn_segments(env);
}

/* Returns the training nodes of one rank. */
static inline uint32_t gnn_epoch_nodes(const struct gnn_env *env)
{
    return gnn_segment_nodes(env) * (gnn_segments(env) / gnn_env_workers(env));
}

/* Returns the mini-batches of a rank's whole epoch. Systems size by it what depends on the epoch (a superbatch, a
 * hyperbatch). The first max_batches thus run as they would in the whole epoch. */
static inline uint32_t gnn_whole_epoch_batches(const struct gnn_env *env)
{
    return (uint32_t)gnn_div_up(gnn_epoch_nodes(env), env->workload->batch_size);
}

/* Returns the mini-batches of one rank in an epoch of this run: all, or the first workload->max_batches. */
static inline uint32_t gnn_epoch_batches(const struct gnn_env *env)
{
    const uint32_t all = gnn_whole_epoch_batches(env);
    const uint32_t limit = env->workload->max_batches;
    return limit > 0 && limit < all ? limit : all;
}

/* Counters of one epoch. An unknown value is GNN_UNKNOWN, never 0. */
struct gnn_counters {
    struct gnn_sample_counters sample;
    uint64_t needed_bytes;    /* feature and topology bytes that the batches needed */
    uint64_t requested_bytes; /* bytes of explicit reads; GNN_UNKNOWN for mappings */
    uint64_t requested_ios;
    uint64_t requested_write_bytes, requested_write_ios; /* explicit writes during the epoch */
    uint64_t cache_hits;                                 /* of the system's own feature cache or buffer, in rows */
    uint64_t cache_misses;
    uint64_t cache_evictions;
    /* Feature rows that the mini-batches requested, and rows that storage delivered for them, counted each time.
     * Delivered are misses, the filling of a cache, and rows read back from a spill. Neighbours that share a block or
     * page with such a row are left out. For every system the hit ratio is 1 - read / asked. Rows that are read ahead
     * and never used can make it negative. */
    uint64_t rows_asked, rows_read;
    uint64_t prepare_disk_bytes; /* files that open made, or that an earlier run had made; 0: it needs none */
};

enum { GNN_FIGURES_MAX = 48 };

struct gnn_figure {
    const char *name;
    uint64_t value;
    bool is_size; /* with several workers: true: the largest is reported, false: the sum */
};

struct gnn_epoch_result {
    double loss_sum;     /* sum over batches of loss * seeds; divide by seeds for the mean */
    uint64_t seeds;      /* trained seeds; for GNN_TASK_LINK edges */
    uint64_t correct;    /* dropout-on training accuracy = correct / seeds */
    uint64_t prepare_ns; /* part of the epoch spent preparing (inspect, reorder), without open; 0 if none */
    struct gnn_counters counters;
    uint32_t stage_count;
    struct gnn_stage_time stages[GNN_STAGES_MAX];
    /* The system's own statistics: gnn_epoch_figure. */
    uint32_t figure_count;
    struct gnn_figure figures[GNN_FIGURES_MAX];
};

/* Adds a statistic of the system: "wait_list_rows". The name is a string literal. */
static inline void gnn_epoch_figure(struct gnn_epoch_result *out, const char *name, uint64_t value)
{
    assert(out->figure_count < GNN_FIGURES_MAX);
    out->figures[out->figure_count++] = (struct gnn_figure){name, value, false};
}

/* Adds a statistic that is a size or a setting instead of an amount: "buffer_slots". */
static inline void gnn_epoch_size(struct gnn_epoch_result *out, const char *name, uint64_t value)
{
    gnn_epoch_figure(out, name, value);
    out->figures[out->figure_count - 1].is_size = true;
}

/* What a system can run on, and what it samples; shown by `oocgnn list systems`. A run that needs a variant that is not
 * declared is rejected before it starts. */
enum gnn_variant {
    GNN_VARIANT_CPU = 1,
    GNN_VARIANT_GPU = 2,
    GNN_VARIANT_SAMPLE_ONLY = 4,
    GNN_VARIANT_LINK = 8,
    /* Its mini-batches have the epoch's seeds but neighbourhoods of its own design, and a digest of its own. Without
     * this bit a system samples exactly what (seed, epoch, batch) define. Equal workloads then have equal digests. */
    GNN_VARIANT_OWN_SAMPLES = 16,
};

struct gnn_system {
    uint32_t abi;                     /* GNN_SYSTEM_ABI */
    const char *name;                 /* name of folder, command line and record's key */
    const char *title;                /* "GNNDrive (ICPP 2024), CPU variant" */
    uint32_t variants;                /* bits of enum gnn_variant */
    const struct gnn_option *options; /* ends with a NULL name; may have no entry */
    size_t config_bytes;
    uint32_t workers_max; /* most ranks of a run; 0 or 1: one process only */

    /* Optional. Replaces parameters of 0 that stand for a rule, such as thread counts, by a number. It follows from the
     * world's cores (env->cores) and the workload. Given values stay. The record lists what it changed. */
    void (*complete)(const struct gnn_env *env, void *config);
    /* Optional. Adds the system's parts to a plan that gnn_plan_begin filled; the caller checks the memory limit. No
     * side effects; env->model is not open yet. Returns GNN_EUSAGE with a remedy if parameters contradict each
     * other. */
    enum gnn_status (*plan)(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                            struct gnn_err *err);
    /* Optional, only called with several workers: once, before any rank starts. What it opens is shared by all ranks
     * (GNN_MEM_SHARED, locks; no threads, no rings). Their open receives it as env->shared. env->tensor and env->model
     * are NULL. close_shared is called after every rank has closed; it accepts NULL. */
    enum gnn_status (*open_shared)(const struct gnn_env *env, const void *config, void **shared, struct gnn_err *err);
    void (*close_shared)(void *shared);
    /* Required. Allocates everything that lasts. config stays valid until close. */
    enum gnn_status (*open)(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err);
    /* Optional. Changes in `intent` what gnn_intent_begin filled in and this system does differently. */
    void (*intend)(const void *state, struct gnn_intent *intent);
    /* Required. Runs one pass over the training nodes (or samples only). The caller has zeroed the result. On an error,
     * everything in flight must have stopped and been released before it returns. */
    enum gnn_status (*train_epoch)(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err);
    /* Required for GNN_VARIANT_LINK. Writes the vectors of `count` nodes, as the last epoch left them, to out (count,
     * dim). Nodes are in the dataset's numbering; out is memory that this process can write (gnn_rows). Called between
     * two epochs. */
    enum gnn_status (*read_embeddings)(void *state, const gnn_node *nodes, uint32_t count, gnn_real *out,
                                       struct gnn_err *err);
    /* Required. Frees the state; accepts NULL. */
    void (*close)(void *state);
};

extern const struct gnn_system *const gnn_systems[]; /* systems/registry.c, NULL-terminated */

#endif
