/* SPDX-License-Identifier: MIT */
/* presort inside: the configuration (options.c), the sizes that follow from it (sizes.c; weigh.h and uses.h say which
 * are best), and what an open system is made of. The parts are opaque here; their headers say what they do: windows.h,
 * belady.h and classes.h plan a hyperbatch, distribute.h sorts it, hot.h packs what it swept, kept.h keeps it for other
 * epochs, load.h brings its windows in, handout.h hands out their mini-batches, rounds.h and spool.h draw where lists
 * are swept, epoch.c orders all of it. */
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
    uint32_t hyperbatch;                       /* mini-batches at most; 0: an epoch's */
    uint32_t first;                            /* of the first hyperbatch of a run at most; 0: chosen */
    uint32_t window;                           /* mini-batches at most; 0: by rows alone */
    uint32_t window_share;                     /* percent of the row memory that a window may take */
    uint64_t row_memory, list_memory, staging; /* 0: by what the cap leaves */
    uint64_t block_bytes;                      /* of a write to the scratch file, at most */
    enum presort_choice classes;
    uint64_t random_read; /* bytes; 0: the device's */
    uint32_t write_cost;  /* percent of a read byte's; 0: the device's */
    uint64_t scratch_limit, write_budget;
    uint32_t reuse;                 /* epochs that the mini-batches drawn for the first of them serve */
    char scratch_dir[GNN_TEXT_MAX]; /* "": beside the dataset */
    enum presort_hot_kind hot;
    bool ahead;
    uint32_t threads; /* that draw mini-batches ahead, and as many that assemble them; 0: by weighing */
    uint32_t depth, write_depth, sweep_depth;
    uint64_t sweep_read, merge; /* bytes of a read of the sweep, of one of neighbouring direct rows, at most */
    enum presort_io io;
    enum presort_topology_kind topology;
    uint32_t topology_share; /* percent of what the cap leaves that the neighbour lists may have */
    uint64_t round_memory;   /* of what a round draws; 0: by the share */
    enum gnn_map_advice readahead;
    enum gnn_transfer transfer;
};

extern const struct gnn_option presort_options[];

/* The epoch whose mini-batches an epoch trains on. */
static inline uint64_t presort_drawn_epoch(const struct presort_config *config, uint64_t epoch)
{
    return epoch - epoch % config->reuse;
}

static inline unsigned presort_direct_flag(const struct presort_config *config)
{
    return config->io == PRESORT_IO_DIRECT ? (unsigned)GNN_OPEN_DIRECT : 0U;
}

/* Bytes of one read of a sweep at most: a row with the sectors that it begins and ends in has room. */
static inline uint64_t presort_sweep_span_bytes(const struct gnn_env *env, const struct presort_config *config)
{
    return gnn_max_u64(gnn_span_room(env->dataset->row_bytes) + UINT64_C(2) * GNN_PAGE_BYTES, config->sweep_read);
}

/* ---- sizes.c ---- */

enum {
    PRESORT_THREADS_MAX = 16,
    PRESORT_INPUTS_MAX = PRESORT_THREADS_MAX + 1, /* of mini-batches: one for each thread that assembles, one trains */
    PRESORT_ALIVE = 2,                            /* hyperbatches: one is prepared, one trains */
    PRESORT_EXTENT_DEPTH = 4,                     /* blocks of the scratch file that are read at a time */
};
/* Bit of a load's slot: its row waits in an extent. */
#define PRESORT_SORTED_LOAD (UINT32_C(1) << 31)

struct presort_sizes {
    uint32_t batches;       /* K, of an epoch of this run */
    uint32_t threads;       /* T, that draw mini-batches ahead, and that assemble them */
    uint32_t hyperbatch;    /* mini-batches at most, */
    uint32_t first;         /* and of one that training waits for */
    uint32_t windows_max;   /* of a hyperbatch */
    uint32_t members_max;   /* rows of all of them together */
    uint32_t window_rows;   /* rows of one */
    uint32_t lone_rows;     /* of one that is a single mini-batch's */
    uint32_t input_rows;    /* of a mini-batch, that inputs have room for from the start */
    uint32_t slots;         /* rows in memory */
    uint32_t slot_of_bytes; /* of a slot's number in the table of nodes: 2, or 4 */
    uint32_t blocks_max;    /* of a hyperbatch in the scratch file */
    uint32_t merge_buffers; /* of merged reads in flight; 0: each direct row is read by itself */
    uint32_t hot_places;    /* of packed rows; 0: none are packed */
    uint64_t staging_bytes;
    enum presort_topology_kind topology; /* auto: not chosen yet */
    uint64_t topology_bytes;             /* that the neighbour lists have, or may have; swept: all that rounds take */
    uint64_t drawn_bytes;                /* of it, of what a round draws; 0: the lists are not swept */
    uint32_t round_batches;              /* mini-batches that a round is expected to hold */
    uint64_t list_random_bytes;          /* that a read of a page of lists at a random place costs */
    struct presort_costs costs;
    struct presort_weight expected; /* what the number of threads was chosen by */
};

/* Checks the options against each other, chooses every size and adds the parts they come to. GNN_EUSAGE with the
 * parameter to change; the caller judges the cap. topology: as it was chosen, auto before that. resident_bytes: what
 * the lists in memory take; GNN_UNKNOWN: that is not known yet, or there are none. uses: what is expected by those
 * lists; NULL likewise, and every row counts for as likely as another. */
GNN_MUST_CHECK enum gnn_status presort_size(const struct presort_config *config, enum presort_topology_kind topology,
                                            uint64_t resident_bytes, const struct presort_uses *uses,
                                            struct presort_sizes *out, struct gnn_memory_plan *plan,
                                            struct gnn_err *err);
/* Returns whether lists that are not in memory can be swept: in the room that they have, with a disk that may be
 * written. */
bool presort_can_sweep(const struct gnn_env *env, const struct presort_config *config, uint64_t room_bytes);
/* The parts of a plan of one hyperbatch after the other. */
struct presort_windows_config presort_windows_config_of(const struct gnn_env *env, const struct presort_config *config,
                                                        const struct presort_sizes *sizes);
struct presort_belady_config presort_belady_config_of(const struct gnn_env *env, const struct presort_config *config,
                                                      const struct presort_sizes *sizes);
/* What requests cost: as the options say, else by the figures of the device, else as on a SATA drive. */
struct presort_costs presort_costs_of(const struct gnn_env *env, const struct presort_config *config);

/* Inputs of mini-batches: one for each thread that assembles, one trains. */
static inline uint32_t presort_inputs(const struct presort_sizes *sizes)
{
    return sizes->threads + 1;
}

/* What every part reads; constant after open. */
struct presort_setup {
    const struct gnn_env *env;
    const struct presort_config *config;
    struct presort_sizes sizes;
    const char *scratch_dir;
    struct gnn_file *features;
    struct presort_scratch *scratch;   /* (PRESORT_ALIVE) of extents */
    struct gnn_file **tapes;           /* (PRESORT_ALIVE) scratch files of what epochs drew; with swept lists */
    uint32_t align_bytes;              /* of reads of the features */
    struct presort_topology *topology; /* NULL: lists are not in memory */
    struct presort_rounds *rounds;     /* NULL: lists are not swept; the inspection's, or the sampler's */
};

/* Whether a read that has come to the end of a row goes on to the row at at_bytes: what it adds costs less than another
 * request, or begins in a sector that is read anyway. */
static inline bool presort_goes_on(const struct presort_costs *costs, uint32_t align_bytes, uint64_t end_bytes,
                                   uint64_t at_bytes)
{
    return at_bytes - end_bytes + costs->row_bytes <= costs->random_bytes ||
           gnn_round_down(at_bytes, align_bytes) < gnn_round_up(end_bytes, align_bytes);
}

/* On a tape, instead of a number of neighbours: what follows begins at the next page. */
#define PRESORT_TAPE_GOES_ON UINT32_MAX

/* Consecutive mini-batches on a tape: what they drew from neighbour lists that were swept (rounds.h), at each hop how
 * many neighbours and which. */
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

/* A hyperbatch: mini-batches whose windows were planned together, with what each window loads, and the extents in
 * which its sorted rows wait.
 *
 * Extents  Block b lies b times block_bytes behind base_bytes in a scratch file, which is the hyperbatch's own, or,
 *          where epochs are kept (kept.h), that of the epoch's hyperbatches, one behind the other. A window's blocks
 *          are a list in the order they were written: its sorted loads in ascending order, block_rows in each but the
 *          last.
 * Memory   8 bytes a load; 4 a block; 20 a window; the blocks of a scratch file that are read at a time */
struct presort_hyperbatch {
    const struct presort_setup *setup;
    uint64_t epoch;
    uint32_t first_batch, batches, windows;
    bool more;                  /* the run prepares another one after it */
    bool keeps;                 /* for the next epoch: its lists are written, too */
    uint32_t *batch_end;        /* (windows_max) mini-batches of window j and those before it */
    struct presort_load *loads; /* (members_max) of window j: loads[load_end[j - 1] .. load_end[j]) */
    uint32_t *load_end;         /* (windows_max) */
    struct presort_decision decision;
    struct presort_spooled spooled; /* with swept lists: the first mini-batches, as far as there was room */

    struct presort_scratch *scratch;
    uint64_t base_bytes;
    struct gnn_stream *stream; /* over the blocks that were written; NULL: none */
    uint32_t block_bytes, block_rows, blocks;
    uint32_t *first_block, *last_block; /* (windows_max) UINT32_MAX: none */
    uint32_t *next_block;               /* (blocks_max) */
};

GNN_MUST_CHECK enum gnn_status presort_hyperbatch_open(const struct presort_setup *setup,
                                                       struct presort_hyperbatch *out, struct gnn_err *err);
void presort_hyperbatch_close(struct presort_hyperbatch *x); /* accepts a zeroed one */
/* Its blocks are written, and can be read; they are not any more. */
GNN_MUST_CHECK enum gnn_status presort_hyperbatch_attach(struct presort_hyperbatch *x, struct gnn_err *err);
void presort_hyperbatch_detach(struct presort_hyperbatch *x);
GNN_MUST_CHECK enum gnn_status presort_scratch_open(const struct presort_setup *setup, struct presort_scratch *out,
                                                    struct gnn_err *err);
void presort_scratch_close(struct gnn_world *world, struct presort_scratch *scratch); /* accepts a zeroed one */
/* Of a hyperbatch and a scratch file. */
uint64_t presort_hyperbatch_bytes(const struct gnn_env *env, const struct presort_config *config,
                                  const struct presort_sizes *sizes);

/* ---- lists.c ---- */

struct presort_spool; /* spool.h */

/* A sampler for each thread. Their neighbours are those that spool brings back, or where that is NULL those of the
 * lists, wherever they are; one thread at a time draws what is spooled or swept. */
GNN_MUST_CHECK enum gnn_status presort_sampling_open(const struct presort_setup *setup, struct presort_spool *spool,
                                                     struct gnn_sampling **out, struct gnn_err *err);

/* ---- prepare.c ---- */

struct presort_preparer;

/* Of one epoch, while it was prepared. */
struct presort_prepared {
    uint64_t inspect_ns, plan_ns, distribute_ns;
    uint64_t sweep_rows, sweep_bytes, sweep_ios, written_bytes, writes;
    uint64_t fallbacks; /* hyperbatches whose rows are read one by one because the disk was full */
    uint64_t hot_rows, hot_written_bytes, hot_writes; /* that were packed */
    uint64_t hot_read_bytes;                          /* of the sweep, from the packed file */
    uint64_t hot_full;                                /* sweeps not packed because the disk was full */
    uint64_t list_read_bytes, list_reads;             /* of kept epochs; what they write is among the writes above */
};

/* setup outlives it. */
GNN_MUST_CHECK enum gnn_status presort_preparer_open(const struct presort_setup *setup, struct presort_preparer **out,
                                                     struct gnn_err *err);
void presort_preparer_close(struct presort_preparer *p); /* accepts NULL */
/* Adds the threads that draw ahead, where there are several, to a pipeline that is about to run. */
GNN_MUST_CHECK enum gnn_status presort_preparer_stage(struct presort_preparer *p, struct gnn_pipeline *pipeline,
                                                      struct gnn_err *err);
void presort_preparer_done(struct presort_preparer *p); /* nothing more is prepared in this pipeline */
/* Inspects, plans and distributes the next hyperbatch of the run, or takes one that was kept. One thread at a time. */
GNN_MUST_CHECK enum gnn_status presort_prepare(struct presort_preparer *p, struct presort_hyperbatch *x,
                                               struct presort_prepared *figures, struct gnn_err *err);
/* Nothing is in memory, and nothing was prepared: the next hyperbatch is the first of this epoch. */
void presort_preparer_forget(struct presort_preparer *p, uint64_t epoch);
/* Whether what comes next is the first hyperbatch of an epoch, and of which. */
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
    struct gnn_batch *drawn; /* with sample_only */

    /* Of the run; not opened for sample_only. */
    struct presort_preparer *preparer;
    struct presort_hyperbatch hyperbatches[PRESORT_ALIVE]; /* number g of the run is hyperbatches[g % 2] */
    struct presort_scratch scratch[PRESORT_ALIVE];
    struct gnn_file *tapes[PRESORT_ALIVE];
    struct presort_loader *loader;
    struct gnn_progress *progress; /* prepared and released hyperbatches, loaded and assembled windows, of the run */
    struct presort_handout *handout;
    struct gnn_batch *batches[PRESORT_INPUTS_MAX]; /* (presort_inputs) */
    struct gnn_train_input inputs[PRESORT_INPUTS_MAX];
    struct gnn_training training;
    uint64_t topology_ns; /* of reading the lists, when the run opened */
    uint64_t next_epoch;  /* that what is in memory and prepared is of */
    bool whole;           /* the epoch before it ended well */
};

GNN_MUST_CHECK enum gnn_status presort_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                             struct gnn_err *err);

#endif
