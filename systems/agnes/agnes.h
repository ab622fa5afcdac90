/* SPDX-License-Identifier: MIT */
/* AGNES: its configuration, the sizes that follow from it, and what an open system is made of. The parts are opaque
 * here; headers say what they do: layout.h, graph_blocks.h, block_reader.h, bucket.h, stages.h (sampling,
 * gathering, assembly), rows.h (feature cache, spill). */
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

/* ---- options.c ---- */

enum agnes_layout { AGNES_LAYOUT_BF, AGNES_LAYOUT_INPUT, AGNES_LAYOUT_DEGREE, AGNES_LAYOUT_RANDOM };
enum agnes_id_width { AGNES_ID_DATASET, AGNES_ID_4, AGNES_ID_8 };
enum agnes_accounting { AGNES_ACCOUNT_FULL, AGNES_ACCOUNT_PAPER };
enum agnes_setting { AGNES_SETTING_1, AGNES_SETTING_2 };
enum agnes_rank { AGNES_RANK_THRESHOLD, AGNES_RANK_COUNT };
enum agnes_overlap { AGNES_OVERLAP_ROUND, AGNES_OVERLAP_FULL, AGNES_OVERLAP_EPOCHS };
enum agnes_spill_mode { AGNES_SPILL_SYNC, AGNES_SPILL_ASYNC };
enum agnes_io { AGNES_IO_DIRECT, AGNES_IO_BUFFERED };

struct agnes_config {
    enum agnes_layout layout;
    uint64_t block_bytes; /* Z; 0 = by the files' sizes */
    enum agnes_id_width id_width;
    uint32_t hyperbatch; /* H; 0 = by hyperbatches per epoch */
    uint32_t first;      /* mini-batches of the first hyperbatch; 0 = H */
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
    AGNES_INPUTS = 2,                /* one in the making, one in training */
    AGNES_SLOT_MASK = (1 << 30) - 1, /* slots of the feature cache at most */
};

struct agnes_sizes {
    uint32_t block_bytes; /* Z */
    uint32_t id_bytes;    /* w */
    uint32_t rows;        /* r = floor(Z / R) */
    uint32_t feature_blocks, graph_blocks;
    uint32_t batches;      /* of an epoch */
    uint32_t hyperbatch;   /* H at most: the last one may be filled less, and with agnes.first others */
    uint32_t first;        /* mini-batches of the first hyperbatch, H at most, where none was gathered before */
    uint32_t alive;        /* hyperbatches that exist at a time: 2, where all stages overlap 3 */
    uint32_t row_sets;     /* of them gathered or being gathered: 1, or 2; 0 with --sample-only */
    uint32_t graph_frames; /* G */
    uint32_t cache_rows;   /* C */
    uint32_t pool_frames;  /* feature blocks being read or served */
};

uint32_t agnes_id_bytes(const struct gnn_env *env, const struct agnes_config *config); /* w */
/* Returns Z. */
uint32_t agnes_block_bytes(const struct gnn_env *env, const struct agnes_config *config);
/* Checks the options against each other, chooses every size and adds the parts they come to. graph_blocks: 0 = not
 * known yet, estimated. GNN_EUSAGE with the parameter to change; the caller judges the cap. */
GNN_MUST_CHECK enum gnn_status agnes_size(const struct agnes_config *config, uint32_t graph_blocks,
                                          struct agnes_sizes *out, struct gnn_memory_plan *plan, struct gnn_err *err);

/* What every part reads; constant after open. */
struct agnes_setup {
    const struct gnn_env *env;
    const struct agnes_config *config;
    struct agnes_sizes sizes;
    struct agnes_layout_files files;
};

/* ---- hyperbatch.c ---- */

/* A hyperbatch: its mini-batches with their node lists, and the spool in which their sampled blocks wait for training
 * (AGNES, KDD 2026, sections 3.2 (2) and 3.3).
 *
 * Life     open -> per hyperbatch: begin, sampled hop by hop, seal, gathered, trained, clear -> close
 * Memory   4 bytes for each node of each mini-batch, and those of the hop before; the spool's buffers until seal. The
 *          lists share two allocations, which the next hyperbatch has again: a mapping for each list at each hop had
 *          the workers wait for each other inside the kernel */

/* Where the block of one hop lies in the spool: row_start (dst_count + 1), then col (edge_count). */
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
    agnes_node *nodes;                           /* (count) F_j while sampling, V_j afterwards; seeds first */
    agnes_node *grown;                           /* (src_count of the last hop) where its next list goes */
    struct agnes_record records[GNN_LAYERS_MAX]; /* by hop - 1 */
};

struct agnes_hyperbatch {
    const struct agnes_setup *setup;
    uint64_t epoch;                                /* that it is trained in */
    uint32_t first, count;                         /* mini-batches: number of the first in the epoch, how many */
    struct agnes_batch *batches;                   /* (H) */
    struct gnn_buffer lists[2];                    /* of all mini-batches; a hop's list grows from one into the other */
    uint32_t turn;                                 /* which of them the lists are in */
    uint32_t *positions;                           /* (H) nodes of each list, since the last lay */
    uint64_t *base;                                /* (H + 1) positions in the lists before j, since the last lay */
    struct gnn_stream_file *spool;                 /* NULL with --sample-only, where no blocks are read again */
    struct gnn_stream *streams[AGNES_WORKERS_MAX]; /* (W) of the spool */
};

/* setup outlives it. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_open(const struct agnes_setup *setup, struct agnes_hyperbatch *out,
                                                     struct gnn_err *err);
void agnes_hyperbatch_close(struct agnes_hyperbatch *hyperbatch); /* accepts a zeroed one */

/* Gives a hyperbatch its mini-batches, `count` of an epoch (H at most) from `first` on, with their seeds as lists, and
 * opens the spool. order: the epoch's, of agnes_node. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_begin(struct agnes_hyperbatch *hyperbatch, uint64_t epoch,
                                                      uint32_t first, uint32_t count,
                                                      const struct gnn_batch_order *order, struct gnn_err *err);
/* Numbers the positions of all lists, one list after another, as they are now: fills positions and base. */
void agnes_hyperbatch_lay(struct agnes_hyperbatch *hyperbatch);
/* Finds room for the lists of the next hop, src_count of record `hop` (from 1) each: fills grown. GNN_ENOMEM,
 * GNN_ECAP. agnes_batch_grow then moves one list there; many threads, each another mini-batch. fresh (src_count -
 * count): the nodes that come behind the list as it is. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_grow(struct agnes_hyperbatch *hyperbatch, uint32_t hop,
                                                     struct gnn_err *err);
void agnes_batch_grow(struct agnes_batch *batch, uint32_t hop, const agnes_node *fresh);
/* Writes the rest of the spool; from now on it can be read. *written: of the whole spool. */
GNN_MUST_CHECK enum gnn_status agnes_hyperbatch_seal(struct agnes_hyperbatch *hyperbatch,
                                                     struct gnn_stream_file_counters *written, struct gnn_err *err);
/* Empties the lists and frees the spool, whatever state it is in. */
void agnes_hyperbatch_clear(struct agnes_hyperbatch *hyperbatch);

/* ---- an open system ---- */

/* What a stage read and what its bucket cost, since its begin. */
struct agnes_stage_counters {
    struct agnes_block_counters blocks;
    uint64_t bucket_entries, bucket_ns;
};

/* Rows of one gathered hyperbatch. */
struct agnes_row_set {
    struct agnes_feature_cache *cache;
    struct agnes_spill *spill;
};

/* What a hyperbatch is counted by in the epoch that trains it, whichever it was sampled and gathered in. */
struct agnes_counts {
    struct gnn_sample_counters samples;
    uint64_t spilled_rows; /* for every mini-batch that needs one */
};

struct agnes {
    struct agnes_setup setup;
    agnes_node *train;            /* (train.count) */
    struct gnn_batch_order order; /* of train: agnes_node */
    struct gnn_team *sampling_team, *gathering_team;
    struct agnes_sampling *sampling;
    struct agnes_hyperbatch *hyperbatches; /* (alive) the run's g-th, since an epoch failed, is in g mod alive */
    struct gnn_progress *progress;         /* hyperbatches since the run began, or since an epoch failed: epoch.c */

    /* not opened with --sample-only */
    struct agnes_gathering *gathering;
    struct agnes_row_set row_sets[AGNES_ALIVE_MAX - 1]; /* (row_sets) those of the g-th are in g mod row_sets */
    struct agnes_assembly *assembly;
    struct gnn_training training;

    bool preparation_reported;       /* in the first epoch's figures */
    uint64_t next_epoch;             /* whose first hyperbatch is gathered, where one is */
    struct agnes_counts next_counts; /* of that hyperbatch */
};

/* epoch.c: opens agnes->progress. */
GNN_MUST_CHECK enum gnn_status agnes_progress_open(struct agnes *agnes, struct gnn_err *err);
/* The train_epoch hook; agnes: struct agnes. */
GNN_MUST_CHECK enum gnn_status agnes_epoch(void *agnes, uint64_t epoch, struct gnn_epoch_result *out,
                                           struct gnn_err *err);

#endif
