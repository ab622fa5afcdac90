/* SPDX-License-Identifier: MIT */
/* PyG+: the state that system.c opens and consumer.c runs. */
#ifndef PYGPLUS_H
#define PYGPLUS_H

#include "harness/pipeline/team.h"
#include "harness/system/link_training.h"
#include "harness/system/plan.h"
#include "harness/system/training.h"

#include <stdatomic.h>

enum pygplus_floyd { PYGPLUS_FLOYD_EXACT, PYGPLUS_FLOYD_BIASED };
_Static_assert(sizeof(enum pygplus_floyd) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
_Static_assert(sizeof(enum gnn_map_advice) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");

struct pygplus_config {
    uint32_t workers;              /* W */
    uint32_t prefetch;             /* batches a worker may sample ahead */
    uint32_t gather_threads;       /* A */
    enum gnn_map_advice readahead; /* of both mappings */
    enum pygplus_floyd floyd;
    bool drop_last_train;
    enum gnn_transfer transfer;
    uint64_t ballast_bytes; /* per worker */
};
extern const struct gnn_option pygplus_options[]; /* options.c */

/* Batches that were sampled and delivered: one whose rows are gathered, one in training and, with transfer=ahead, one
 * in transfer to the GPU. */
enum { PYGPLUS_INPUTS = 2, PYGPLUS_DELIVERED_MAX = PYGPLUS_INPUTS + 1 };

/* Returns the number of delivered batches. On the CPU nothing is transferred, and a batch that trained one step later
 * would read rows that the next gather fills. */
static inline uint32_t pygplus_delivered(const struct gnn_env *env, const struct pygplus_config *config)
{
    return config->transfer == GNN_TRANSFER_AHEAD && gnn_env_on_device(env) ? PYGPLUS_DELIVERED_MAX : PYGPLUS_INPUTS;
}

struct pygplus_item {
    struct gnn_batch *batch;       /* --task nodes */
    struct gnn_train_input *input; /* its gathered rows, once the gather has started */
    struct gnn_link_item link;     /* --task link */
};

struct pygplus {
    const struct gnn_env *env;
    const struct pygplus_config *config;
    struct gnn_sampling *sampling;
    struct pygplus_item *items; /* (item_count) = prefetch * W + pygplus_delivered */
    uint32_t item_count;
    void *ballast;

    /* not opened with --sample-only */
    struct gnn_file *features;
    struct gnn_map *features_map;
    struct gnn_team *gather; /* G threads: page faults happen inside their copies */
    struct gnn_training training;
    struct gnn_train_input input[PYGPLUS_INPUTS]; /* batch k's is input[k % 2]: one is gathered, one in training */

    /* only with --task link, in place of sampling, features, training and input */
    struct gnn_link_sampling *link_sampling;
    struct gnn_embeddings embeddings;
    struct gnn_link_training link_training;

    /* of one epoch */
    struct gnn_queue **tokens; /* (W) items that worker w may fill */
    struct gnn_reorder *delivery;
    const struct pygplus_item *gathering;               /* the batch whose rows the team copies */
    atomic_uint_fast64_t outstanding, outstanding_peak; /* samples being drawn or waiting for delivery */
    uint64_t gathered_rows;
    uint64_t sample_ns; /* the trainer waited for the loader: its start, and sampled mini-batches */
};

static inline bool pygplus_links(const struct pygplus *s)
{
    return s->env->workload->task == GNN_TASK_LINK;
}

/* Returns the number of mini-batches of an epoch. */
static inline uint32_t pygplus_batches(const struct pygplus *s)
{
    return pygplus_links(s) ? gnn_epoch_batches(s->env) : gnn_sampling_batches(s->sampling);
}

/* delivery.c: takes batch k, in order, or sets *item to NULL after the last. Then worker k mod W may draw another batch
 * into *spare. Returns GNN_ECANCELLED if the pipeline stops. */
GNN_MUST_CHECK enum gnn_status pygplus_take_batch(struct pygplus *s, uint32_t k, struct pygplus_item *spare,
                                                  struct pygplus_item **item);

/* link.c: --task link. Functions open its additional state, add its parts to a plan, train, and report its statistics.
 * `pygplus_link_open` returns errors of files and the allocator; pygplus_link_close must follow even then. */
GNN_MUST_CHECK enum gnn_status pygplus_link_open(struct pygplus *s, struct gnn_err *err);
void pygplus_link_close(struct pygplus *s);
void pygplus_link_plan(const struct gnn_env *env, const struct pygplus_config *config, struct gnn_memory_plan *plan);
gnn_stage_fn pygplus_link_train_stage;
void pygplus_link_result(const struct pygplus *s, struct gnn_epoch_result *out);
GNN_MUST_CHECK enum gnn_status pygplus_read_embeddings(void *state, const gnn_node *nodes, uint32_t count,
                                                       gnn_real *out, struct gnn_err *err);

/* consumer.c: trains an epoch: the train_epoch hook. state is a struct pygplus. */
GNN_MUST_CHECK enum gnn_status pygplus_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                                   struct gnn_err *err);

#endif
