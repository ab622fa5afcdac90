/* SPDX-License-Identifier: MIT */
/* MariusGNN: the configuration, the sizes that follow from it, and the state of an open system. Headers describe the
 * parts: policy.h (which partitions are in memory when), store.h (files), partition_buffer.h (node vectors in memory),
 * resident_edges.h (their edges), dense.h (sampling). For links, training_edges.h has what is trained and vectors.h has
 * what is learned. */
#ifndef MARIUSGNN_H
#define MARIUSGNN_H

#include "harness/system/epoch.h"
#include "harness/system/link_training.h"
#include "harness/system/plan.h"
#include "harness/system/training.h"
#include "systems/mariusgnn/degrees.h"
#include "systems/mariusgnn/dense.h"
#include "systems/mariusgnn/partition_buffer.h"
#include "systems/mariusgnn/policy.h"
#include "systems/mariusgnn/resident_edges.h"
#include "systems/mariusgnn/store.h"
#include "systems/mariusgnn/training_edges.h"
#include "systems/mariusgnn/vectors.h"

/* ---- options.c ---- */

enum marius_policy {
    MARIUS_POLICY_AUTO,     /* nodes: training-first where it leaves room for another partition, else replace;
                               links: memory where everything fits, else comet */
    MARIUS_POLICY_TRAINING, /* nodes: one state an epoch */
    MARIUS_POLICY_REPLACE,  /* nodes: l - c_l + 1 states */
    MARIUS_POLICY_MEMORY,   /* everything resident: the paper's in-memory runs */
    MARIUS_POLICY_COMET,    /* links: groups of partitions, edge buckets to any state that holds them */
    MARIUS_POLICY_BETA,     /* links: single partitions, edge buckets to the first state that holds them */
};
enum marius_kept { MARIUS_VECTORS_SCRATCH, MARIUS_VECTORS_KEPT };
enum marius_edges { MARIUS_EDGES_BOTH, MARIUS_EDGES_IN };
enum marius_io { MARIUS_IO_DIRECT, MARIUS_IO_BUFFERED };
enum marius_bucket_reads { MARIUS_BUCKETS_COALESCED, MARIUS_BUCKETS_SINGLE };
enum marius_edge_memory { MARIUS_MEMORY_COMPACT, MARIUS_MEMORY_RELEASED };
enum marius_sampling { MARIUS_SAMPLING_SINGLE, MARIUS_SAMPLING_TEAM };
enum marius_copied_ids { MARIUS_COPIED_COMPACT, MARIUS_COPIED_RELEASED };
enum { MARIUS_COPIED_EDGE_BYTES = 16, MARIUS_COPIED_NODE_BYTES = 8 }; /* to a GPU, in the released code */

struct marius_config {
    enum marius_policy policy;
    uint32_t partitions;  /* p; 0 = section 6's rule */
    uint32_t capacity;    /* c; 0 = what fits the memory limit */
    uint32_t logical;     /* c_l: logical partitions resident, if there are several states */
    uint64_t block_bytes; /* D of the rule, at scale 1 */
    enum marius_edges edges;
    bool replace;       /* draws with replacement */
    uint32_t hash_hops; /* of dense.h */
    uint32_t loaders;
    uint32_t staleness; /* mini-batches in flight; 0 = by rule */
    bool prefetch;
    bool keep;         /* node vectors stay in memory from epoch to epoch */
    bool always_write; /* partitions that leave are written back even if nothing changed them */
    enum marius_io io;
    enum marius_bucket_reads bucket_reads;
    uint32_t depth; /* reads in flight */
    enum marius_edge_memory edge_memory;
    enum marius_sampling sampling;
    enum gnn_transfer transfer;
    enum marius_copied_ids copied_ids;
    enum marius_kept vectors;
};
extern const struct gnn_option marius_options[];

/* ---- sizes.c ---- */

struct marius_sizes {
    uint32_t partitions, rows; /* p, P */
    uint32_t training;         /* k: partitions that training nodes fill if they come first */
    uint32_t capacity;         /* c = c_l g: slots */
    uint32_t group, places;    /* g, c_l */
    bool training_first;       /* one state, training nodes placed first; false: random placement, replace */
    bool whole;                /* c = p: nothing is read after the first epoch's fill */
    bool prefetch;             /* with several states, the next one is read while one trains */
    uint32_t subgraphs;        /* alive at a time: 1, or 2 with several states */
    uint32_t staleness;
    uint64_t slot_bytes;           /* of a partition's rows in memory and on the disk */
    uint64_t resident_edges;       /* of a state, planned for */
    uint64_t state_edges;          /* links: training edges of a state, planned for */
    struct gnn_batch_size largest; /* mini-batch, planned for */
    uint32_t rule_capacity;        /* the paper's c for the memory limit: section 6, F = 0 */
};

/* Checks the options against each other, chooses every size and adds the parts to the plan. Returns GNN_EUSAGE with the
 * parameter to change if options contradict each other. The caller compares the plan with the memory limit.
 *
 * An open store gives its table and its placement. With store NULL, buckets of equal size are assumed. The degrees are
 * the store's; with degrees NULL they are guessed. With a store, the other placement (training_first) may result: then
 * the caller must open the store again. */
GNN_MUST_CHECK enum gnn_status marius_size(const struct marius_config *config, const struct marius_store *store,
                                           const struct marius_degrees *degrees, struct marius_sizes *out,
                                           struct gnn_memory_plan *plan, struct gnn_err *err);
/* Returns the largest number of states of an epoch. */
uint64_t marius_states(const struct marius_sizes *sizes, const struct gnn_env *env);
/* Returns whether the degrees of the store are read: mini-batches hold rows and draw from both directions. */
bool marius_needs_degrees(const struct gnn_env *env, const struct marius_config *config);
/* Returns the configuration of a sampler of this run. */
struct marius_dense_config marius_dense_of(const struct gnn_env *env, const struct marius_config *config);

/* ---- an open system ---- */

static inline bool marius_learns_links(const struct gnn_env *env)
{
    return env->workload->task == GNN_TASK_LINK;
}

/* Returns the largest number of nodes that a mini-batch begins with: its seeds, or the ends and negatives of its
 * edges. */
uint32_t marius_targets_most(const struct gnn_env *env);

/* One mini-batch between its seeds and its training step. */
struct marius_item {
    uint32_t *targets; /* (marius_targets_most) local IDs */
    struct marius_dense_batch *batch;
    struct gnn_train_input input; /* nodes; not opened with --sample-only */
    struct gnn_triple *edges;     /* links: (batch_size) */
    struct gnn_link_item link;
};

/* What one loader has drawn in this epoch, with links. */
struct marius_lane {
    uint64_t batches, nodes, digest;
};

/* Additional state for learning links. */
struct marius_links {
    struct marius_vectors vectors;
    struct marius_training_edges *edges;
    struct gnn_link_training training;
    struct marius_lane *lanes; /* (loaders) */
    gnn_node *pool;            /* (pool_count) resident nodes, in the dataset's IDs, from which negatives are drawn */
    uint32_t pool_count;       /* 0: negatives are drawn from all nodes */
    uint32_t *bucket_state;    /* (p, p) the state of the epoch that trains a bucket */
    uint64_t first_epoch;      /* of this run: epochs that earlier runs completed, with vectors that are kept */
    double bias;               /* B of the epoch */
    uint64_t rows;             /* requested by mini-batches */
};

struct marius {
    const struct gnn_env *env;
    const struct marius_config *config;
    struct marius_sizes sizes;
    struct marius_store store;
    struct marius_degrees degrees;          /* of the store, if they are needed */
    gnn_node *train;                        /* (train.count) new IDs, in the order of the dataset's list */
    struct gnn_batch_order order;           /* of train */
    struct marius_partition_buffer *buffer; /* NULL with --sample-only */
    struct marius_resident_edges *edges;
    struct marius_dense **dense; /* (loaders) */
    struct marius_item *items;   /* (staleness) */
    struct gnn_mutex *turn;      /* held by the loader that samples, with sampling=team; else NULL */
    struct gnn_training training;
    struct marius_links *links; /* with --task link only; train, order, training and the next three are then unused */

    /* With several states. NULL with one, whose X is the whole order. */
    uint32_t *state_of;    /* (train.count) the state of each node of the order */
    uint32_t *state_start; /* (states + 2) */
    gnn_node *examples;    /* (train.count) X_1, X_2 and so on; state s has state_start[s] .. state_start[s + 1] */

    uint32_t *resident;      /* (capacity) partition in each slot; [0] = MARIUS_NONE: all are empty */
    uint32_t *next_resident; /* (capacity) of the next state */
    uint32_t *entering;      /* (group) partitions of the next swap */
    uint32_t *slot_of;       /* (partitions) slot of a resident one */
    bool preparation_reported;
};

/* ---- links.c: the differences if links are learned ---- */

GNN_MUST_CHECK enum gnn_status marius_links_open(struct marius *m, struct gnn_err *err); /* after the store */
void marius_links_close(struct marius *m);
void marius_links_begin(struct marius *m); /* sets an epoch's sums to zero */
/* Draws the order of the epoch's states and, with several, the state that trains each bucket. Returns GNN_ENOMEM,
 * GNN_ECAP or GNN_EUSAGE. */
GNN_MUST_CHECK enum gnn_status marius_links_draw(struct marius *m, struct gnn_rng *rng, struct marius_order *order,
                                                 struct gnn_err *err);
/* Lists the nodes of the state that begins (m->resident), from which negatives are drawn. */
void marius_links_begin_state(struct marius *m);

/* A mini-batch of a state. */
struct marius_place {
    uint64_t epoch;
    uint32_t state, set; /* set: of the state's training edges */
    uint32_t first, count;
    uint32_t batch; /* number in the epoch */
};
/* Draws the edges and negatives of a mini-batch and, with an encoder, their neighbourhoods in graph. Any loader may
 * call it. */
GNN_MUST_CHECK enum gnn_status marius_links_load(struct marius *m, uint32_t worker, const struct marius_place *place,
                                                 const struct marius_subgraph *graph, struct marius_item *item,
                                                 struct gnn_err *err);
/* Trains one mini-batch: copies its rows out of the partition buffer, runs a step and copies the new rows back. Only
 * the trainer may call it. */
GNN_MUST_CHECK enum gnn_status marius_links_train(struct marius *m, const struct marius_item *item,
                                                  struct gnn_err *err);
/* Writes and syncs the resident partitions. With vectors that are kept, this completes the epoch. */
GNN_MUST_CHECK enum gnn_status marius_links_end(struct marius *m, struct gnn_err *err);
/* Returns whether marius_links_end has work. It has none if all partitions are resident and vectors are not kept. */
bool marius_links_write(const struct marius *m);
void marius_links_result(struct marius *m, struct gnn_epoch_result *out);
/* Copies the vectors of `count` nodes to out: the read_embeddings hook. state is a struct marius. */
GNN_MUST_CHECK enum gnn_status marius_read_embeddings(void *state, const gnn_node *nodes, uint32_t count, gnn_real *out,
                                                      struct gnn_err *err);

/* epoch.c: trains an epoch: the train_epoch hook. state is a struct marius. */
GNN_MUST_CHECK enum gnn_status marius_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                            struct gnn_err *err);

#endif
