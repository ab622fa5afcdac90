/* SPDX-License-Identifier: MIT */
/* AGNES: the configuration, the sizes that follow from it, and the state of an open system. The parts are opaque here.
 * Their headers describe them: layout.h, graph_blocks.h, block_reader.h, bucket.h, stages.h (sampling, gathering,
 * assembly) and rows.h (feature cache, spill). */
#ifndef AGNES_H
#define AGNES_H

#include "harness/pipeline/progress.h"
#include "harness/pipeline/team.h"
#include "harness/storage/stream.h"
#include "harness/system/buffer.h"
#include "harness/system/epoch.h"
#include "harness/system/plan.h"
#include "harness/system/system.h"
#include "harness/system/training.h"
#include "systems/agnes/block_reader.h"
#include "systems/agnes/layout.h"
#include "systems/agnes/targets.h"

/* ---- options.c ---- */

enum agnes_layout { AGNES_LAYOUT_BF, AGNES_LAYOUT_INPUT, AGNES_LAYOUT_DEGREE, AGNES_LAYOUT_RANDOM };
enum agnes_id_width { AGNES_ID_DATASET, AGNES_ID_4, AGNES_ID_8 };
enum agnes_accounting { AGNES_ACCOUNT_FULL, AGNES_ACCOUNT_PAPER };
enum agnes_setting { AGNES_SETTING_1, AGNES_SETTING_2 };
enum agnes_rank { AGNES_RANK_THRESHOLD, AGNES_RANK_COUNT };
enum agnes_visits { AGNES_VISITS_HYPERBATCH, AGNES_VISITS_TARGET };
enum agnes_overlap { AGNES_OVERLAP_ROUND, AGNES_OVERLAP_FULL, AGNES_OVERLAP_EPOCHS };
enum agnes_spill_mode { AGNES_SPILL_SYNC, AGNES_SPILL_ASYNC };
enum agnes_io { AGNES_IO_DIRECT, AGNES_IO_BUFFERED };

struct agnes_config {
    enum agnes_layout layout;
    uint64_t block_bytes; /* Z; 0 = chosen by the files' sizes */
    enum agnes_id_width id_width;
    uint32_t hyperbatch; /* H; 0 = chosen by hyperbatches per epoch */
    uint32_t first;      /* mini-batches of the first hyperbatch; 0 = H */
    enum agnes_visits visits;
    enum agnes_accounting accounting;
    enum agnes_setting setting;
    uint64_t graph_buffer_bytes, feature_cache_bytes; /* 0 = automatic */
    enum agnes_policy policy;
    bool resident_first, gbuf_keep;
    enum agnes_rank cache_rank;
    enum agnes_spill_mode spill;
    enum agnes_overlap overlap;
    enum agnes_io io;
    uint32_t workers; /* W */
    uint32_t depth;   /* D */
    enum gnn_transfer transfer;
};

extern const struct gnn_option agnes_options[];
extern const char *const agnes_layout_words[]; /* by enum agnes_layout */

static inline unsigned agnes_direct_flag(const struct agnes_config *config)
{
    return config->io == AGNES_IO_DIRECT ? (unsigned)GNN_OPEN_DIRECT : 0U;
}

/* ---- sizes.c ---- */

enum { AGNES_IN_EPOCHS, AGNES_PREPARING }; /* phases of the plan */
enum {
    AGNES_WORKERS_MAX = 64, /* of a stage */
    AGNES_SPOOL_BLOCK_BYTES = 256 << 10,
    AGNES_ALIVE_MAX = 3,             /* hyperbatches between the first seed and the last step */
    AGNES_INPUTS = 2,                /* one being assembled, one in training */
    AGNES_SLOT_MASK = (1 << 30) - 1, /* largest number of slots of the feature cache */
};

struct agnes_sizes {
    uint32_t block_bytes; /* Z */
    uint32_t id_bytes;    /* w */
    uint32_t rows;        /* r = floor(Z / R) */
    uint32_t feature_blocks, graph_blocks;
    uint32_t batches;      /* per epoch */
    uint32_t hyperbatch;   /* H at most; the last one, and the first ones with agnes.first, may have fewer */
    uint32_t first;        /* mini-batches of the first hyperbatch (H at most) if the epoch before gathered none */
    uint32_t alive;        /* hyperbatches that exist at a time: 2, or 3 if all stages overlap */
    uint32_t row_sets;     /* hyperbatches with rows at a time: alive - 1; 0 with --sample-only */
    uint32_t graph_frames; /* G */
    uint32_t cache_rows;   /* C */
    uint32_t pool_frames;  /* feature blocks being read or served */
    uint32_t kept_frames;  /* feature blocks kept for the next target: in place of cache rows, with visits=target */
};

uint32_t agnes_id_bytes(const struct gnn_env *env, const struct agnes_config *config); /* w */
/* Returns Z, in bytes. */
uint32_t agnes_block_bytes(const struct gnn_env *env, const struct agnes_config *config);
/* Checks the options against each other, chooses every size and adds the parts to the plan. Returns GNN_EUSAGE with the
 * parameter to change if options contradict each other. A graph_blocks of 0 means not known yet: the number is
 * estimated. The caller compares the plan with the memory limit. */
GNN_MUST_CHECK enum gnn_status agnes_size(const struct agnes_config *config, uint32_t graph_blocks,
                                          struct agnes_sizes *out, struct gnn_memory_plan *plan, struct gnn_err *err);

/* What every part reads. Constant after open. */
struct agnes_setup {
    const struct gnn_env *env;
    const struct agnes_config *config;
    struct agnes_sizes sizes;
    struct agnes_layout_files files;
};

/* ---- hyperbatch.c ---- */

/* A hyperbatch: its mini-batches with their node lists, and a spool. Sampled blocks wait for training in the spool.
 * AGNES (KDD 2026), sections 3.2 (2) and 3.3.
 *
 * Life     Open; per hyperbatch begin, sampling hop by hop, seal, gathering, training, clear; close.
 * Memory   4 bytes for each node of each mini-batch, and for each node of the lists of the hop before. The spool's
 *          buffers until seal.
 * Lists    All lists share two allocations, which the next hyperbatch uses again. With one mapping for each list at
 *          each hop, workers waited for each other inside the kernel. */

/* The place in the spool of the block of one hop: row_start (dst_count + 1), then col (edge_count). */
struct agnes_record {
    const struct gnn_stream *stream;
    uint64_t offset_bytes;
    uint32_t dst_count, edge_count, src_count;
};

static inline uint64_t agnes_record_bytes(const struct agnes_record *record)
{
    return (record->dst_count + UINT64_C(1) + record->edge_count) * sizeof(uint32_t);
}

/* Mini-batch j of a hyperbatch. */
struct agnes_batch {
    uint32_t number; /* in the epoch */
    uint32_t seed_count, count;
    uint64_t first_target;                       /* its first seed among the targets of the hyperbatch */
    agnes_node *nodes;                           /* (count) F_j while sampling, V_j afterwards; seeds first */
    agnes_node *grown;                           /* (src_count of the last hop) memory for the list of the next hop */
    struct agnes_record records[GNN_LAYERS_MAX]; /* by hop - 1 */
};

struct agnes_hyperbatch {
    const struct agnes_setup *setup;
    uint64_t epoch;                                /* in which it is trained */
    uint32_t first, count;                         /* mini-batches: number of the first in the epoch, how many */
    struct agnes_batch *batches;                   /* (H) */
    struct gnn_buffer lists[2];                    /* of all mini-batches; each hop moves them to the other one */
    uint32_t turn;                                 /* index in `lists` of the current lists */
    uint32_t *positions;                           /* (H) nodes of each list at the last lay */
    uint64_t *base;                                /* (H + 1) positions in the lists before j at the last lay */
    struct gnn_stream_file *spool;                 /* NULL with --sample-only, where no blocks are read again */
    struct gnn_stream *streams[AGNES_WORKERS_MAX]; /* (W) of the spool */
    struct agnes_targets targets;                  /* visits=target */
};

static inline bool agnes_by_target(const struct agnes_setup *setup)
{
    return setup->config->visits == AGNES_VISITS_TARGET;
}

/* Allocates the tables of a hyperbatch, or returns GNN_ENOMEM. setup must outlive it. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_open(const struct agnes_setup *setup, struct agnes_hyperbatch *out,
                                                     struct gnn_err *err);
void agnes_hyperbatch_close(struct agnes_hyperbatch *hyperbatch); /* accepts a zeroed one */

/* Starts a hyperbatch with `count` mini-batches of an epoch (H at most) from `first` on: their seeds become the lists.
 * Opens the spool. The order is the epoch's, of agnes_node. Returns GNN_ENOMEM, GNN_ECAP or an error of the spool's
 * file. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_begin(struct agnes_hyperbatch *hyperbatch, uint64_t epoch,
                                                      uint32_t first, uint32_t count,
                                                      const struct gnn_batch_order *order, struct gnn_err *err);
/* Numbers the positions of all lists as they are now, one list after another: fills positions and base. */
void agnes_hyperbatch_lay(struct agnes_hyperbatch *hyperbatch);
/* Reserves memory for the lists of the next hop, src_count of record `hop` (from 1) each, and fills grown. Returns
 * GNN_ENOMEM or GNN_ECAP if there is none. Afterwards agnes_batch_grow moves one list there. Threads may do so at once,
 * each for another mini-batch. fresh (src_count - count) has the nodes that follow the present list. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_grow(struct agnes_hyperbatch *hyperbatch, uint32_t hop,
                                                     struct gnn_err *err);
void agnes_batch_grow(struct agnes_batch *batch, uint32_t hop, const agnes_node *fresh);
/* Writes the rest of the spool, which can be read from then on. *written counts the whole spool. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_seal(struct agnes_hyperbatch *hyperbatch,
                                                     struct gnn_stream_file_counters *written, struct gnn_err *err);
/* Empties the lists and closes the spool, in any state. */
void agnes_hyperbatch_clear(struct agnes_hyperbatch *hyperbatch);

/* ---- an open system ---- */

/* Counts of a stage since its begin: blocks that it read, and the cost of its bucket. */
struct agnes_stage_counters {
    struct agnes_block_counters blocks;
    uint64_t bucket_entries, bucket_ns;
};

/* Rows of one gathered hyperbatch. */
struct agnes_row_set {
    struct agnes_feature_cache *cache;
    struct agnes_spill *spill;
};

/* Counts of a hyperbatch. They belong to the epoch that trains it, even if the epoch before sampled and gathered it. */
struct agnes_counts {
    struct gnn_sample_counters samples;
    uint64_t spilled_rows; /* one for every mini-batch that needs the row */
};

struct agnes {
    struct agnes_setup setup;
    agnes_node *train;            /* (train.count) */
    struct gnn_batch_order order; /* of train: agnes_node */
    struct gnn_team *sampling_team, *gathering_team;
    struct agnes_sampling *sampling;
    struct agnes_hyperbatch *hyperbatches; /* (alive) the g-th, as in progress, is in g mod alive */
    struct gnn_progress *progress;         /* hyperbatches since the run began, or since an epoch failed: epoch.c */

    /* not opened with --sample-only */
    struct agnes_gathering *gathering;
    struct agnes_row_set row_sets[AGNES_ALIVE_MAX - 1]; /* (row_sets) those of number g are in g mod row_sets */
    struct agnes_assembly *assembly;
    struct gnn_training training;

    bool preparation_reported;       /* in the statistics of the first epoch */
    uint64_t next_epoch;             /* the epoch whose first hyperbatch is gathered already, if any */
    struct agnes_counts next_counts; /* of that hyperbatch */
};

/* epoch.c: opens agnes->progress. Returns the errors of gnn_progress_open. */
GNN_MUST_CHECK enum gnn_status agnes_progress_open(struct agnes *agnes, struct gnn_err *err);
/* Trains an epoch: the train_epoch hook. agnes is a struct agnes. */
GNN_MUST_CHECK enum gnn_status agnes_epoch(void *agnes, uint64_t epoch, struct gnn_epoch_result *out,
                                           struct gnn_err *err);

#endif
