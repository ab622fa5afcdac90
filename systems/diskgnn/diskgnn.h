/* SPDX-License-Identifier: MIT */
/* DiskGNN: the configuration, the sizes that follow from it, and the state of an open system. prepare.h covers what is
 * prepared before the first epoch. Training from it is here: pages.h (disk cache), load.c (chunks, tables, graph
 * samples), assemble.c (rows of the four levels in one input) and epoch.c (the pipeline). */
#ifndef DISKGNN_H
#define DISKGNN_H

#include "harness/pipeline/team.h"
#include "harness/storage/ring_reads.h"
#include "harness/system/plan.h"
#include "harness/system/training.h"
#include "systems/diskgnn/pages.h"
#include "systems/diskgnn/prepare.h"

/* ---- options.c ---- */

enum diskgnn_accounting { DISKGNN_ACCOUNT_FULL, DISKGNN_ACCOUNT_PAPER };

/* How the rows of the three sources become one input on a device. On the host, every mode gathers directly from the
 * sources, and SCATTER copies the partial input first. */
enum diskgnn_assembly {
    DISKGNN_ASSEMBLY_STREAM,  /* the host's rows are copied in a stream during training; GPU cache rows join later */
    DISKGNN_ASSEMBLY_KERNEL,  /* one kernel over the three sources, in the training stream */
    DISKGNN_ASSEMBLY_SCATTER, /* the partial input is copied whole during training, then a kernel gathers all */
};

/* Where the feature loader reads to. */
enum diskgnn_loader {
    DISKGNN_LOADER_IN_PLACE, /* a chunk goes to its place in the partial input */
    DISKGNN_LOADER_COPIES,   /* into new memory that is cloned; then its rows are copied to the partial input */
};

struct diskgnn_config {
    struct diskgnn_prepare_config prepare;
    enum diskgnn_accounting accounting;
    double cache_ratio;                        /* of the features, in percent */
    uint32_t cache_share;                      /* of the memory that the limit leaves, in percent */
    uint32_t gpu_share;                        /* of the cached rows, in percent */
    uint64_t gpu_cache_bytes, cpu_cache_bytes; /* 0 = automatic */
    bool unordered;                            /* report what mini-batches would read of unordered rows */
    bool pipeline;                             /* off: one thread, one mini-batch at a time */
    bool table_stage;                          /* a separate stage reads the address tables */
    uint32_t queue;                            /* items of a queue */
    uint32_t rings, ring_entries, submit;      /* of the disk cache's reads */
    uint64_t chunk_request;                    /* bytes of one read of a chunk; 0 = the chunk */
    uint32_t chunk_depth;                      /* chunk reads in flight */
    enum diskgnn_io meta_io;                   /* of tables and graph samples */
    enum diskgnn_loader loader;
    bool drop_cache; /* the page cache forgets the prepared files before each epoch */
    enum diskgnn_assembly assembly;
    enum gnn_transfer transfer; /* of a graph sample's lists */
};

extern const struct gnn_option diskgnn_options[];

/* Returns whether the host's rows wait on the device as float16 until they are widened into the input. */
static inline bool diskgnn_streams_halves(const struct gnn_env *env, const struct diskgnn_config *config)
{
    return env->dataset->feature_type == GNN_F16 && gnn_env_on_device(env) &&
           config->assembly == DISKGNN_ASSEMBLY_STREAM;
}

/* ---- sizes.c ---- */

/* Upper limits of what one mini-batch holds: expected, found by sampling, or taken from the layout. */
struct diskgnn_most {
    uint64_t nodes;        /* |V_i| */
    uint64_t record_bytes; /* of a graph sample */
    uint64_t table_bytes;
    uint64_t partial_rows, partial_bytes; /* r + q; padded chunk, or all these rows if they take more */
    uint64_t pages;                       /* of the disk cache */
};

/* Returns the bytes of one of the two buffers of loader=copies. */
static inline uint64_t diskgnn_chunk_step(const struct diskgnn_most *most)
{
    return gnn_round_up(gnn_max_u64(most->partial_bytes, 1), GNN_PAGE_BYTES);
}

/* Slots of each kind: being filled, waiting in a queue, in use. */
struct diskgnn_slots {
    uint32_t tables, partials, inputs, graphs;
};
struct diskgnn_slots diskgnn_slots_of(const struct gnn_env *env, const struct diskgnn_config *config);

/* Checks the options against each other and adds every part that is known before sampling, from expected sizes. Returns
 * GNN_EUSAGE with the parameter to change if options contradict each other. The caller compares the plan with the
 * memory limit. */
GNN_MUST_CHECK enum gnn_status diskgnn_plan_expected(const struct diskgnn_config *config, struct gnn_memory_plan *plan,
                                                     struct gnn_err *err);
/* Chooses nG and nC after sampling. The CPU cache gets what the memory limit leaves after everything else and a
 * reserve. The more rows are cached, the smaller the partial inputs are. If the memory limit does not apply
 * (accounting=paper, or none is set), option cache_ratio gives the sizes. */
void diskgnn_choose_caches(const struct gnn_env *env, const struct diskgnn_config *config,
                           const struct diskgnn_sampled *sampled, uint64_t reserve_bytes, struct diskgnn_caches *out);
/* Returns the memory of packing in bytes: option pack_memory, else most of what the memory limit leaves in that phase,
 * at most 1 GiB. */
uint64_t diskgnn_pack_memory(const struct gnn_env *env, const struct diskgnn_config *config);
/* Returns the upper limits of the mini-batches of a layout. */
struct diskgnn_most diskgnn_most_of(const struct diskgnn_sampled *sampled, const struct diskgnn_layout *layout);
/* Returns the bytes by which training from a layout would exceed the memory limit, or 0 if it fits or the limit does
 * not apply. */
uint64_t diskgnn_excess_bytes(const struct gnn_env *env, const struct diskgnn_config *config,
                              const struct diskgnn_most *most, const struct diskgnn_layout *layout);
/* Compares what was prepared with the memory limit. Returns GNN_ECAP or GNN_EGPU if training does not fit. */
GNN_MUST_CHECK enum gnn_status diskgnn_check_prepared(const struct gnn_env *env, const struct diskgnn_config *config,
                                                      const struct diskgnn_most *most,
                                                      const struct diskgnn_layout *layout, struct gnn_err *err);

struct diskgnn_pages_config diskgnn_pages_config_of(const struct diskgnn_config *config,
                                                    const struct diskgnn_rows *rows, struct gnn_team *team,
                                                    uint64_t pages_most);

/* ---- slots ---- */

/* Tables of the placement that a gather reads. */
enum { DISKGNN_GPU_CACHE, DISKGNN_CPU_CACHE, DISKGNN_PARTIAL };
_Static_assert((int)DISKGNN_PARTIAL < (int)GNN_PLACE_TABLES, "a table each");

struct diskgnn_table_slot {
    uint32_t batch;
    uint32_t *words; /* (table_bytes) */
};

/* The rows that a mini-batch reads: the chunk as it is on the disk, then those of the disk cache. */
struct diskgnn_partial {
    struct diskgnn_table_slot *table;
    unsigned char *rows; /* (partial_bytes) staging memory */
};

/* A complete input, or one being assembled. */
struct diskgnn_input {
    uint32_t batch, nodes;
    uint32_t host_rows;              /* rows that the gather reads across the bus */
    struct diskgnn_partial *partial; /* source of the gather in training, else NULL */
    struct gnn_rows x;               /* (nodes) in memory of the back-end */
    struct gnn_rows copy;            /* SCATTER: the partial input in memory of the back-end */
    uint32_t *places;                /* (nodes) the number of every row, an index of diskgnn.place */
    uint32_t *from;                  /* (nodes) with a device, STREAM: source row of each copy in flight */
};

/* A graph sample. */
struct diskgnn_graph {
    struct gnn_batch_view view;   /* over words */
    uint32_t *words;              /* (record_bytes) */
    struct gnn_train_input input; /* labels and lists; no rows */
};

struct diskgnn;

/* A chunk on its way from the memory that it was read into. */
struct diskgnn_copying {
    const struct diskgnn *s;
    unsigned char *rows; /* of the partial input */
    uint32_t count;
};

/* ---- an open system ---- */

/* Times of the steps of an epoch with pipeline=false. */
struct diskgnn_parts {
    uint64_t load_ns, assemble_ns, graph_ns, train_ns;
};

struct diskgnn_counters {
    uint64_t gpu_rows, cpu_rows, shared_rows, packed_rows; /* served by each level: the assembler counts */
    uint64_t chunk_bytes, chunk_reads, page_bytes, page_reads, table_bytes, table_reads;
    uint64_t sample_bytes, sample_reads;
    struct gnn_sample_counters sample;
    struct diskgnn_parts parts;
};

struct diskgnn {
    const struct gnn_env *env;
    const struct diskgnn_config *config;
    struct diskgnn_sampled sampled;
    struct diskgnn_layout layout;
    struct gnn_file *samples, *tables; /* those of sampled and layout, or separate handles */
    bool own_meta;                     /* separate handles: io=direct, meta_io=buffered */
    bool prepared, ready;              /* prepared: sampled and layout are open; ready: slots, too */
    struct diskgnn_slots slots;        /* of each kind */
    struct diskgnn_most most;
    uint32_t *order;           /* (batches of an epoch) */
    uint64_t *of_batch;        /* (batches of an epoch) for statistics */
    uint64_t *unordered_bytes; /* (sampled.batches) with option unordered, else NULL */
    struct diskgnn_graph *graphs;
    void *graph_memory;

    /* not opened with --sample-only */
    void *gpu_cache; /* (gpu_rows, dim) on the back-end */
    void *cpu_cache; /* (cpu_rows, dim) staging memory */
    uint32_t *place; /* (place_count) on the back-end: of cached rows, of partial rows, and one for none */
    uint32_t place_count;
    struct diskgnn_table_slot *table_slots;
    struct diskgnn_partial *partials;
    struct diskgnn_input *inputs;
    void *table_memory, *list_memory;
    struct gnn_team *team;
    struct diskgnn_pages *pages;
    unsigned char *chunk_memory; /* (2, chunk_step_bytes) COPIES: a chunk as it was read, and its clone */
    uint64_t chunk_step_bytes;
    struct diskgnn_copying copying;    /* workers may still look at it when a stopped load has returned */
    struct gnn_ring_reads chunk_reads; /* zeroed unless chunk_request is given */
    struct gnn_training training;

    bool preparation_reported;        /* in the statistics of the first epoch */
    struct diskgnn_counters counters; /* of one epoch; each stage writes different members */
};

/* ---- reopen.c ---- */

/* Samples, places and packs what epoch `epoch` trains, and opens the slots for it, unless it is open already. *prepared
 * is whether it did so. Returns the errors of diskgnn_sampled_open, diskgnn_layout_open and diskgnn_slots_open, or
 * GNN_ECAP or GNN_EGPU if training does not fit. */
GNN_MUST_CHECK enum gnn_status diskgnn_prepare(struct diskgnn *s, uint64_t epoch, bool *prepared, struct gnn_err *err);
void diskgnn_close_prepared(struct diskgnn *s); /* accepts a closed or half-open one */

/* ---- slots.c ---- */

/* Opens caches and slots for what is prepared. After a failure the caller must call diskgnn_slots_close. */
GNN_MUST_CHECK enum gnn_status diskgnn_slots_open(struct diskgnn *s, struct gnn_err *err);
void diskgnn_slots_close(struct diskgnn *s); /* accepts a closed or half-open one */

/* ---- load.c ---- */

/* Reads the address table of mini-batch `batch`. This function and the next two return GNN_EIO, GNN_ESHORT, GNN_EFORMAT
 * or GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status diskgnn_load_table(struct diskgnn *s, uint32_t batch, struct diskgnn_table_slot *table,
                                                  struct gnn_err *err);
/* Reads the rows of the table's mini-batch that are on the disk: its chunk, then its rows of the disk cache. */
GNN_MUST_CHECK enum gnn_status diskgnn_load_partial(struct diskgnn *s, struct diskgnn_partial *partial,
                                                    struct gnn_err *err);
/* Reads a graph sample that `epoch` trains, and checks it. */
GNN_MUST_CHECK enum gnn_status diskgnn_load_graph(struct diskgnn *s, uint64_t epoch, uint32_t batch,
                                                  struct diskgnn_graph *graph, struct gnn_err *err);

/* ---- assemble.c ---- */

/* Assembles what can be assembled while another input trains. If *released is true, the partial input may be filled
 * again. Otherwise input->partial refers to it until diskgnn_assemble_rest. Returns GNN_EFORMAT if the table gives a
 * row no place or two. */
GNN_MUST_CHECK enum gnn_status diskgnn_assemble(struct diskgnn *s, struct diskgnn_partial *partial,
                                                struct diskgnn_input *input, bool *released, struct gnn_err *err);
/* Completes the input on the trainer's thread. With a device, this is the gather in the training stream. */
void diskgnn_assemble_rest(const struct diskgnn *s, const struct diskgnn_input *input);

/* ---- by_batch.c ---- */

/* Fills s->unordered_bytes for what is prepared: the bytes that each mini-batch would read from one disk cache for all
 * mini-batches, by falling count instead of MinHash order. Returns the errors of diskgnn_layout_open. */
GNN_MUST_CHECK enum gnn_status diskgnn_unordered_count(struct diskgnn *s, struct gnn_err *err);
/* Adds the statistics of single mini-batches, those of the epoch's order. */
void diskgnn_report_batches(const struct diskgnn *s, struct gnn_epoch_result *out);

/* ---- epoch.c: the train_epoch hook; state: struct diskgnn ---- */

GNN_MUST_CHECK enum gnn_status diskgnn_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                             struct gnn_err *err);

#endif
