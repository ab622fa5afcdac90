/* SPDX-License-Identifier: MIT */
/* Ginex: the configuration (options.c), the sizes that follow from it (sizes.c), and the shared state, which system.c
 * opens. epoch.c runs inspect.c and execute.c in turn, one superbatch (superbatch.h) ahead. State that only one phase
 * needs is in that phase's file. */
#ifndef GINEX_H
#define GINEX_H

#include "harness/pipeline/team.h"
#include "harness/system/epoch.h"
#include "harness/system/sampling.h"
#include "harness/system/training.h"
#include "systems/ginex/belady.h"
#include "systems/ginex/feature_cache.h"
#include "systems/ginex/neighbours.h"

enum ginex_io { GINEX_IO_DIRECT, GINEX_IO_BUFFERED };
enum ginex_fill { GINEX_FILL_MAPPED, GINEX_FILL_DIRECT };
enum ginex_initial { GINEX_INITIAL_ACCESS, GINEX_INITIAL_SCORE };
enum ginex_floyd { GINEX_FLOYD_EXACT, GINEX_FLOYD_BIASED };

struct ginex_config {
    uint32_t superbatch;      /* SB, at most K */
    uint64_t feature_cache;   /* Z_f, table included; 0 = automatic */
    uint64_t neighbour_cache; /* Z_n, table included; 0 = automatic */
    uint32_t cache_share;     /* percent of what the limit leaves that an automatic cache gets; 0 = the paper's share */
    bool cache_neighbours, skip_isolated;
    uint32_t samplers;                 /* V */
    uint32_t gather_threads;           /* G */
    uint32_t trace_loaders;            /* L_t */
    uint32_t trace_queue, trace_depth; /* of a trace loader: batches ahead, reads in flight */
    uint64_t trace_block;
    enum ginex_io trace_io;
    char trace_dir[GNN_TEXT_MAX]; /* "": the dataset's directory */
    uint32_t id_readers;
    bool hold_ids;
    uint64_t neighbour_block;
    enum ginex_io io;
    uint64_t io_unit;
    enum ginex_list_read list_read;
    enum ginex_fill fill;
    enum gnn_map_advice readahead; /* of the mapping that a fill faults on */
    enum ginex_replacement replacement;
    enum ginex_initial initial;
    bool overlap, overlap_caches;
    enum ginex_floyd floyd;
    enum gnn_transfer transfer;
};
/* Inputs of mini-batches: one is gathered while the other trains. */
enum { GINEX_INPUTS = 2, GINEX_TRAINER_BATCHES_MAX = GINEX_INPUTS + 1 };
/* Returns how many mini-batches of the trace the trainer holds. With transfer=ahead and a GPU there is one more, in
 * transfer. On the CPU nothing is transferred, and a batch that trained one step later would read rows that the next
 * gather fills. */
static inline uint32_t ginex_trainer_batches(const struct gnn_env *env, const struct ginex_config *config)
{
    return config->transfer == GNN_TRANSFER_AHEAD && gnn_env_on_device(env) ? GINEX_TRAINER_BATCHES_MAX : GINEX_INPUTS;
}
extern const struct gnn_option ginex_options[]; /* options.c */

/* Every size that follows from the configuration, the data and the memory limit. */
struct ginex_sizes {
    uint32_t batches;      /* K */
    uint32_t superbatch;   /* SB, at most K */
    uint32_t superbatches; /* M */
    uint32_t cache_rows;   /* C: rows that there is room for; 0 with --sample-only */
    uint64_t neighbour_cache_bytes;
};

/* Statistics of one epoch. Times are wall times in nanoseconds. */
struct ginex_epoch_figures {
    uint64_t pass_ns[3], neighbour_load_ns, sample_ns, fill_ns, inspect_ns;
    uint64_t fill_rows, gathered_rows, misses, evictions, accesses_max;
    uint64_t trace_read_bytes, trace_read_ios, trace_written_bytes, trace_writes;
    uint64_t feature_bytes, feature_ios;
};

struct ginex_superbatch; /* superbatch.h */

struct ginex {
    /* Of the run. */
    const struct gnn_env *env;
    const struct ginex_config *config;
    struct ginex_sizes sizes;
    const char *trace_dir; /* directory of the scratch files */
    struct gnn_file *indices;
    struct ginex_neighbours *neighbours;
    struct ginex_top_nodes top; /* initial=score: the nodes that the feature cache starts with */
    uint64_t prepare_ns;        /* scan of the topology and building of the neighbour cache, at open */
    struct gnn_sampling *sampling;
    struct gnn_batch **drawn; /* (V) */

    /* Of the run; not opened with --sample-only. */
    struct gnn_file *features;
    struct gnn_file *features_mapped; /* fill=mapped */
    struct gnn_map *features_map;
    struct gnn_training training;
    struct gnn_team *team; /* G threads: fill, gather, apply */

    /* Of an epoch. */
    struct ginex_superbatch *sampled; /* being sampled */
    struct ginex_superbatch *stored;  /* already sampled, to be inspected and executed */
    struct ginex_cache *cache;        /* of the superbatch executed last; kept after Execute only with overlap_caches */
    struct ginex_epoch_figures figures;
};

/* sizes.c: chooses every size and adds Ginex' parts to a plan that was begun. It has no side effects. Returns
 * GNN_EUSAGE if parameters contradict each other, or GNN_ECAP if a cache is smaller than its table. */
GNN_MUST_CHECK enum gnn_status ginex_size(const struct ginex_config *config, struct ginex_sizes *out,
                                          struct gnn_memory_plan *plan, struct gnn_err *err);
/* Compares the plan for a superbatch as it was sampled with the memory limit. Returns GNN_ECAP if it does not fit. */
GNN_MUST_CHECK enum gnn_status ginex_check_inspection(const struct ginex *s, const struct ginex_superbatch *sb,
                                                      struct gnn_err *err);
/* Returns the rows of the feature cache that are chosen by score at open, or 0 if it starts with the first accesses. */
uint32_t ginex_top_rows(const struct gnn_env *env, const struct ginex_config *config, const struct ginex_sizes *sizes);
/* Returns the largest number of rows of the feature cache for a superbatch that was sampled: C, or its accesses if they
 * are fewer. Pass 1 of the inspection finds the exact number: C, or the distinct nodes of the superbatch. With
 * initial=score it is C. */
uint32_t ginex_rows_at_most(const struct ginex *s, const struct ginex_superbatch *sb);
/* Returns the feature cache's configuration, without rows and file. */
struct ginex_cache_config ginex_cache_settings(const struct gnn_env *env, const struct ginex_config *config);

/* inspect.c: samples s->sampled while it inspects s->stored. The former is NULL if nothing is left, the latter if
 * nothing was sampled yet. */
GNN_MUST_CHECK enum gnn_status ginex_inspect(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err);
/* execute.c: trains s->stored and closes the feature cache. */
GNN_MUST_CHECK enum gnn_status ginex_execute(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err);
void ginex_drop_cache(struct ginex *s);
/* epoch.c: trains an epoch: the train_epoch hook. state is a struct ginex. */
GNN_MUST_CHECK enum gnn_status ginex_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                           struct gnn_err *err);

#endif
