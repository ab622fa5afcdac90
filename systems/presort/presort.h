/* SPDX-License-Identifier: MIT */
/* presort: the configuration (options.c), the sizes that follow from it (sizes.c; weigh.h and uses.h find the best),
 * and the state of an open system. The parts are opaque here. Their headers describe them. Planning of a hyperbatch:
 * windows.h, belady.h, classes.h. Sorting: distribute.h, hot.h (packed rows), kept.h (plans for later epochs). Loading
 * of windows: load.h, handout.h (their mini-batches). Drawing from swept lists: rounds.h, spool.h. Order of all stages:
 * epoch.c. */
#ifndef PRESORT_H
#define PRESORT_H

#include "harness/pipeline/progress.h"
#include "harness/storage/stream.h"
#include "harness/system/epoch.h"
#include "harness/system/sampling.h"
#include "harness/system/training.h"
#include "systems/presort/belady.h"
#include "systems/presort/classes.h"
#include "systems/presort/topology.h"
#include "systems/presort/weigh.h"
#include "systems/presort/windows.h"

/* ---- options.c ---- */

enum presort_io { PRESORT_IO_DIRECT, PRESORT_IO_BUFFERED };
enum presort_hot_kind { PRESORT_HOT_OFF, PRESORT_HOT_RUN };

struct presort_config {
    uint32_t hyperbatch;                       /* largest number of mini-batches; 0: an epoch's */
    uint32_t first;                            /* of a run's first hyperbatch, at most; 0: chosen */
    uint32_t window;                           /* largest number of mini-batches; 0: limited by rows only */
    uint32_t window_share;                     /* percent of the row memory that a window may take */
    uint64_t row_memory, list_memory, staging; /* 0: by what the memory limit leaves */
    uint64_t block_bytes;                      /* largest write to the scratch file */
    enum presort_choice classes;
    uint64_t random_read; /* bytes; 0: the device's */
    uint32_t write_cost;  /* percent of a read byte's; 0: the device's */
    uint64_t scratch_limit, write_budget;
    uint32_t reuse;                 /* epochs that train the mini-batches drawn for the first of them */
    char scratch_dir[GNN_TEXT_MAX]; /* "": the dataset's directory */
    enum presort_hot_kind hot;
    bool ahead;
    uint32_t threads; /* that draw mini-batches ahead, and as many that assemble them; 0: chosen by weigh.h */
    uint32_t depth, write_depth, sweep_depth;
    uint64_t sweep_read, merge; /* largest read of the sweep, and of nearby direct rows, in bytes */
    enum presort_io io;
    enum presort_topology_kind topology;
    uint32_t topology_share; /* percent of what the memory limit leaves that the neighbour lists may have */
    uint64_t round_memory;   /* for what a round draws; 0: by the share */
    enum gnn_map_advice readahead;
    enum gnn_transfer transfer;
};

extern const struct gnn_option presort_options[];

/* Returns the epoch whose mini-batches an epoch trains. */
static inline uint64_t presort_drawn_epoch(const struct presort_config *config, uint64_t epoch)
{
    return epoch - epoch % config->reuse;
}

static inline unsigned presort_direct_flag(const struct presort_config *config)
{
    return config->io == PRESORT_IO_DIRECT ? (unsigned)GNN_OPEN_DIRECT : 0U;
}

/* Returns the largest size in bytes of a read of a sweep. A row always fits, with the sectors that it begins and ends
 * in. */
static inline uint64_t presort_sweep_span_bytes(const struct gnn_env *env, const struct presort_config *config)
{
    return gnn_max_u64(gnn_span_room(env->dataset->row_bytes) + UINT64_C(2) * GNN_PAGE_BYTES, config->sweep_read);
}

/* ---- sizes.c ---- */

enum {
    PRESORT_THREADS_MAX = 16,
    PRESORT_INPUTS_MAX = PRESORT_THREADS_MAX + 1, /* one for each thread that assembles, one in training */
    PRESORT_ALIVE = 2,                            /* hyperbatches: one is prepared, one trains */
    PRESORT_EXTENT_DEPTH = 4,                     /* blocks of the scratch file that are read at a time */
};
/* Bit of a load's slot: its row is in an extent. */
#define PRESORT_SORTED_LOAD (UINT32_C(1) << 31)

struct presort_sizes {
    uint32_t batches;       /* K, of an epoch of this run */
    uint32_t threads;       /* T, that draw mini-batches ahead, and that assemble them */
    uint32_t hyperbatch;    /* largest number of mini-batches, */
    uint32_t first;         /* and in one that training waits for */
    uint32_t windows_max;   /* of a hyperbatch */
    uint32_t members_max;   /* rows of all of them together */
    uint32_t window_rows;   /* rows of one */
    uint32_t lone_rows;     /* of one with a single mini-batch */
    uint32_t input_rows;    /* of a mini-batch, for which inputs have room from the start */
    uint32_t slots;         /* rows in memory */
    uint32_t slot_of_bytes; /* of a slot's number in the table of nodes: 2, or 4 */
    uint32_t blocks_max;    /* of a hyperbatch in the scratch file */
    uint32_t merge_buffers; /* of merged reads in flight; 0: each direct row has its own read */
    uint32_t hot_places;    /* of packed rows; 0: no packed file */
    uint64_t staging_bytes;
    enum presort_topology_kind topology; /* auto: not chosen yet */
    uint64_t topology_bytes;             /* that neighbour lists take, or may take; swept: memory of rounds */
    uint64_t drawn_bytes;                /* part of it for what a round draws; 0: lists are not swept */
    uint32_t round_batches;              /* mini-batches that a round is expected to hold */
    uint64_t list_random_bytes;          /* cost of reading a page of lists at a random place */
    struct presort_costs costs;
    struct presort_weight expected; /* the estimate for this number of threads */
};

/* Checks the options against each other, chooses every size and adds the parts to the plan. Returns GNN_EUSAGE with the
 * parameter to change if options contradict each other. The caller compares the plan with the memory limit.
 *
 * `topology` is the choice made so far, auto before it. `resident_bytes` is the size of the lists in memory, or
 * GNN_UNKNOWN if it is not known or there are none. `uses` are the uses expected from those lists. With uses NULL all
 * rows are assumed to be equally likely. */
GNN_MUST_CHECK enum gnn_status presort_size(const struct presort_config *config, enum presort_topology_kind topology,
                                            uint64_t resident_bytes, const struct presort_uses *uses,
                                            struct presort_sizes *out, struct gnn_memory_plan *plan,
                                            struct gnn_err *err);
/* Returns whether lists that are not in memory can be swept: room_bytes suffice, and the disk may be written. */
bool presort_can_sweep(const struct gnn_env *env, const struct presort_config *config, uint64_t room_bytes);
/* Return the configurations of the parts that plan one hyperbatch after the other. */
struct presort_windows_config presort_windows_config_of(const struct gnn_env *env, const struct presort_config *config,
                                                        const struct presort_sizes *sizes);
struct presort_belady_config presort_belady_config_of(const struct gnn_env *env, const struct presort_config *config,
                                                      const struct presort_sizes *sizes);
/* Returns the costs of requests: from the options, else from the device's profile, else those of a SATA drive. */
struct presort_costs presort_costs_of(const struct gnn_env *env, const struct presort_config *config);

/* Returns the number of inputs of mini-batches: one for each thread that assembles, one in training. */
static inline uint32_t presort_inputs(const struct presort_sizes *sizes)
{
    return sizes->threads + 1;
}

/* What every part reads. Constant after open. */
struct presort_setup {
    const struct gnn_env *env;
    const struct presort_config *config;
    struct presort_sizes sizes;
    const char *scratch_dir;
    struct gnn_file *features;
    struct presort_scratch *scratch;   /* (PRESORT_ALIVE) files of extents */
    struct gnn_file **tapes;           /* (PRESORT_ALIVE) scratch files of drawn neighbours; with swept lists */
    uint32_t align_bytes;              /* of reads of the features */
    struct presort_topology *topology; /* NULL: lists are not in memory */
    struct presort_rounds *rounds;     /* NULL: lists are not swept; used by the inspection or the sampler */
};

/* Returns whether a read that has reached the end of a row continues to the row at at_bytes. It does if that costs less
 * than another request, or if the row begins in a sector that is read anyway. */
static inline bool presort_goes_on(const struct presort_costs *costs, uint32_t align_bytes, uint64_t end_bytes,
                                   uint64_t at_bytes)
{
    return at_bytes - end_bytes + costs->row_bytes <= costs->random_bytes ||
           gnn_round_down(at_bytes, align_bytes) < gnn_round_up(end_bytes, align_bytes);
}

/* On a tape, in place of a number of neighbours: the next entry begins at the next page. */
#define PRESORT_TAPE_GOES_ON UINT32_MAX

/* Consecutive mini-batches on a tape: the neighbours that they drew from swept lists (rounds.h). Each hop has their
 * number, then the neighbours. */
struct presort_spooled {
    uint32_t tape, batches;
    uint64_t begin_bytes, end_bytes;
};

/* ---- hyperbatch.c ---- */

/* A scratch file of extents, without a name. */
struct presort_scratch {
    struct gnn_file *file;
    struct gnn_span_reader *reader; /* reads the blocks back */
};

/* A hyperbatch: mini-batches whose windows are planned together. It has the loads of each window and the extents of its
 * sorted rows.
 *
 * Extents  Block b is at base_bytes + b times block_bytes in a scratch file. The file belongs to the hyperbatch or, if
 *          epochs are kept (kept.h), to all hyperbatches of the epoch. A window's blocks form a list in the order they
 *          were written. They have its sorted loads in their order, block_rows in each but the last.
 * Memory   8 bytes a load; 4 a block; 20 a window; the blocks of a scratch file that are read at a time. */
struct presort_hyperbatch {
    const struct presort_setup *setup;
    uint64_t epoch;
    uint32_t first_batch, batches, windows;
    bool more;                  /* the run prepares another one after this */
    bool keeps;                 /* the epoch is kept for later ones: its lists are written, too */
    uint32_t *batch_end;        /* (windows_max) mini-batches of windows 0 .. j */
    struct presort_load *loads; /* (members_max) those of window j: loads[load_end[j - 1] .. load_end[j]) */
    uint32_t *load_end;         /* (windows_max) */
    struct presort_decision decision;
    struct presort_spooled spooled; /* with swept lists: the first mini-batches, those with room on the tape */

    struct presort_scratch *scratch;
    uint64_t base_bytes;
    struct gnn_stream *stream; /* of the blocks that were written; NULL: none */
    uint32_t block_bytes, block_rows, blocks;
    uint32_t *first_block, *last_block; /* (windows_max) UINT32_MAX: none */
    uint32_t *next_block;               /* (blocks_max) */
};

GNN_MUST_CHECK enum gnn_status presort_hyperbatch_open(const struct presort_setup *setup,
                                                       struct presort_hyperbatch *out, struct gnn_err *err);
void presort_hyperbatch_close(struct presort_hyperbatch *x); /* accepts a zeroed one */
/* Opens the blocks for reading, which must be written. presort_hyperbatch_detach ends this. */
GNN_MUST_CHECK enum gnn_status presort_hyperbatch_attach(struct presort_hyperbatch *x, struct gnn_err *err);
void presort_hyperbatch_detach(struct presort_hyperbatch *x);
GNN_MUST_CHECK enum gnn_status presort_scratch_open(const struct presort_setup *setup, struct presort_scratch *out,
                                                    struct gnn_err *err);
void presort_scratch_close(struct gnn_world *world, struct presort_scratch *scratch); /* accepts a zeroed one */
/* Returns the bytes of a hyperbatch and a scratch file. */
uint64_t presort_hyperbatch_bytes(const struct gnn_env *env, const struct presort_config *config,
                                  const struct presort_sizes *sizes);

/* ---- lists.c ---- */

struct presort_spool; /* spool.h */

/* Opens a sampler for each thread. Neighbours come from spool or, if it is NULL, from the lists, in memory or not.
 * Spooled and swept neighbours may be drawn by one thread at a time only. */
GNN_MUST_CHECK enum gnn_status presort_sampling_open(const struct presort_setup *setup, struct presort_spool *spool,
                                                     struct gnn_sampling **out, struct gnn_err *err);

/* ---- prepare.c ---- */

struct presort_preparer;

/* Counts of the preparation of one epoch. */
struct presort_prepared {
    uint64_t inspect_ns, plan_ns, distribute_ns;
    uint64_t sweep_rows, sweep_bytes, sweep_ios, written_bytes, writes;
    uint64_t fallbacks; /* hyperbatches whose rows are read one by one because the disk was full */
    uint64_t hot_rows, hot_written_bytes, hot_writes; /* of rows that were packed */
    uint64_t hot_read_bytes;                          /* by the sweep, from the packed file */
    uint64_t hot_full;                                /* sweeps not packed because the disk was full */
    uint64_t list_read_bytes, list_reads;             /* of kept epochs; their writes are counted above */
};

/* Opens the preparation. setup must outlive it. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status presort_preparer_open(const struct presort_setup *setup, struct presort_preparer **out,
                                                     struct gnn_err *err);
void presort_preparer_close(struct presort_preparer *p); /* accepts NULL */
/* Adds the threads that draw ahead, if there are several, to a pipeline before it runs. */
GNN_MUST_CHECK enum gnn_status presort_preparer_stage(struct presort_preparer *p, struct gnn_pipeline *pipeline,
                                                      struct gnn_err *err);
void presort_preparer_done(struct presort_preparer *p); /* ends preparation in this pipeline */
/* Inspects, plans and distributes the next hyperbatch of the run, or takes a kept one. Only one thread at a time. */
GNN_MUST_CHECK enum gnn_status presort_prepare(struct presort_preparer *p, struct presort_hyperbatch *x,
                                               struct presort_prepared *figures, struct gnn_err *err);
/* Drops everything that is in memory or prepared: the next hyperbatch is the first of this epoch. */
void presort_preparer_forget(struct presort_preparer *p, uint64_t epoch);
/* Returns whether the next hyperbatch is the first of an epoch. *epoch is the epoch that it belongs to. */
bool presort_preparer_between(const struct presort_preparer *p, uint64_t *epoch);
uint32_t presort_preparer_largest(const struct presort_preparer *p); /* rows of the largest window so far */
uint64_t presort_preparer_evictions(const struct presort_preparer *p);

/* ---- epoch.c, system.c ---- */

enum presort_passed { PRESORT_PREPARED, PRESORT_LOADED, PRESORT_ASSEMBLED, PRESORT_RELEASED, PRESORT_COUNTS };

struct presort_loader;  /* load.h */
struct presort_handout; /* handout.h */

struct presort {
    struct presort_setup setup;
    struct presort_spool *spool; /* with swept lists */
    struct gnn_sampling *sampling;
    struct gnn_batch *drawn; /* with --sample-only */

    /* Of the run; not opened with --sample-only. */
    struct presort_preparer *preparer;
    struct presort_hyperbatch hyperbatches[PRESORT_ALIVE]; /* number g of the run is hyperbatches[g % 2] */
    struct presort_scratch scratch[PRESORT_ALIVE];
    struct gnn_file *tapes[PRESORT_ALIVE];
    struct presort_loader *loader;
    struct gnn_progress *progress; /* of the run: prepared and released hyperbatches, loaded and assembled windows */
    struct presort_handout *handout;
    struct gnn_batch *batches[PRESORT_INPUTS_MAX]; /* (presort_inputs) */
    struct gnn_train_input inputs[PRESORT_INPUTS_MAX];
    struct gnn_training training;
    uint64_t topology_ns; /* time of reading the lists when the run opened */
    uint64_t next_epoch;  /* the epoch that what is in memory and prepared belongs to */
    bool whole;           /* the epoch before it was completed */
};

GNN_MUST_CHECK enum gnn_status presort_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                             struct gnn_err *err);

#endif
