/* SPDX-License-Identifier: MIT */
/* DiskGNN: its configuration, the sizes that follow from it, and what an open system is made of. What is prepared
 * before the first epoch is prepare.h's; what trains from it is here: pages.h (disk cache), load.c (chunks, tables,
 * graph samples), assemble.c (rows of the four levels in one input), epoch.c (the pipeline). */
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

/* How the rows of the three sources become one input, where a device computes. On the host all do as DIRECT does, but
 * that SCATTER copies the partial input once more. */
enum diskgnn_assembly {
    DISKGNN_ASSEMBLY_STREAM,  /* the host's rows cross in a stream beside training, the GPU cache's join before it */
    DISKGNN_ASSEMBLY_KERNEL,  /* one kernel over the three sources, in the training stream */
    DISKGNN_ASSEMBLY_SCATTER, /* the partial input is copied whole beside training, then a kernel over all */
};

struct diskgnn_config {
    struct diskgnn_prepare_config prepare;
    enum diskgnn_accounting accounting;
    double cache_ratio;                        /* of the features, in percent */
    uint32_t cache_share;                      /* of what the cap leaves, in percent */
    uint32_t gpu_share;                        /* of the cached rows, in percent */
    uint64_t gpu_cache_bytes, cpu_cache_bytes; /* 0 = automatic */
    bool unordered;                            /* tell what mini-batches would read of rows in no order */
    bool pipeline;                             /* off: one thread, one mini-batch at a time */
    bool table_stage;                          /* a stage of its own reads the address tables */
    uint32_t queue;                            /* items of a queue */
    uint32_t rings, ring_entries, submit;      /* of the disk cache's reads */
    uint64_t chunk_request;                    /* bytes of one read of a chunk; 0 = the chunk */
    uint32_t chunk_depth;                      /* of these in flight */
    enum diskgnn_io meta_io;                   /* of tables and graph samples */
    enum diskgnn_assembly assembly;
    enum gnn_transfer transfer; /* of a graph sample's lists */
};

extern const struct gnn_option diskgnn_options[];

/* ---- sizes.c ---- */

/* What one mini-batch holds at most: expected, found by sampling, or known from the layout. */
struct diskgnn_most {
    uint64_t nodes;        /* |V_i| */
    uint64_t record_bytes; /* of a graph sample */
    uint64_t table_bytes;
    uint64_t partial_rows, partial_bytes; /* r + q; chunk with its padding, or all these rows if they are more */
    uint64_t pages;                       /* of the disk cache */
};

/* Slots of each kind: being filled, waiting in a queue, in use. */
struct diskgnn_slots {
    uint32_t tables, partials, inputs, graphs;
};
struct diskgnn_slots diskgnn_slots_of(const struct gnn_env *env, const struct diskgnn_config *config);

/* Checks the options against each other and adds every part that is known before sampling, from what is expected.
 * GNN_EUSAGE with the parameter to change; the caller judges the cap. */
GNN_MUST_CHECK enum gnn_status diskgnn_plan_expected(const struct diskgnn_config *config, struct gnn_memory_plan *plan,
                                                     struct gnn_err *err);
/* Chooses nG and nC after sampling, so that what the cap leaves beside the rest, less a reserve, is the CPU cache's:
 * the more rows are cached, the smaller the partial inputs. */
void diskgnn_choose_caches(const struct gnn_env *env, const struct diskgnn_config *config,
                           const struct diskgnn_sampled *sampled, uint64_t reserve_bytes, struct diskgnn_caches *out);
/* Memory of packing: as given, else most of what the cap leaves beside everything that is there then, 1 GiB at most. */
uint64_t diskgnn_pack_memory(const struct gnn_env *env, const struct diskgnn_config *config);
/* What the mini-batches of a layout hold. */
struct diskgnn_most diskgnn_most_of(const struct diskgnn_sampled *sampled, const struct diskgnn_layout *layout);
/* Bytes by which training from a layout would pass the cap; 0: none, or the cap is no budget. */
uint64_t diskgnn_excess_bytes(const struct gnn_env *env, const struct diskgnn_config *config,
                              const struct diskgnn_most *most, const struct diskgnn_layout *layout);
/* Judges the cap by what was prepared: GNN_ECAP, GNN_EGPU. */
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

/* The rows that a mini-batch reads: the chunk as it lies on the disk, then those of the disk cache. */
struct diskgnn_partial {
    struct diskgnn_table_slot *table;
    unsigned char *rows; /* (partial_bytes) staging memory */
};

/* A complete input, in the making or made. */
struct diskgnn_input {
    uint32_t batch, nodes;
    uint32_t host_rows;              /* that the gather reads across the bus */
    struct diskgnn_partial *partial; /* that the gather in training will read, else NULL */
    struct gnn_rows x;               /* (nodes) where ops read it */
    struct gnn_rows copy;            /* SCATTER: the partial input, where ops read it */
    uint32_t *places;                /* (nodes) of every row: below place_count in diskgnn.place */
    uint32_t *from;                  /* (nodes) with a device, STREAM: rows on their way, by where they lie */
};

/* A graph sample. */
struct diskgnn_graph {
    struct gnn_batch_view view;   /* over words */
    uint32_t *words;              /* (record_bytes) */
    struct gnn_train_input input; /* labels and lists; no rows */
};

/* ---- an open system ---- */

struct diskgnn_counters {
    uint64_t gpu_rows, cpu_rows, shared_rows, packed_rows; /* served by each level: the assembler counts */
    uint64_t chunk_bytes, chunk_reads, page_bytes, page_reads, table_bytes, table_reads;
    uint64_t sample_bytes, sample_reads;
    struct gnn_sample_counters sample;
};

struct diskgnn {
    const struct gnn_env *env;
    const struct diskgnn_config *config;
    struct diskgnn_sampled sampled;
    struct diskgnn_layout layout;
    struct gnn_file *samples, *tables; /* of the two above, or handles of its own */
    bool own_meta;                     /* the latter: with meta_io other than io */
    bool prepared, ready;              /* both of the above are open; and so are the slots */
    struct diskgnn_slots slots;        /* of each kind */
    struct diskgnn_most most;
    uint32_t *order;           /* (batches of an epoch) */
    uint64_t *of_batch;        /* (batches of an epoch) for figures */
    uint64_t *unordered_bytes; /* (sampled.batches) with option unordered, else NULL */
    struct diskgnn_graph *graphs;
    void *graph_memory;

    /* not opened with --sample-only */
    void *gpu_cache; /* (gpu_rows, dim) on the back-end */
    void *cpu_cache; /* (cpu_rows, dim) staging memory */
    uint32_t *place; /* (place_count) on the back-end: of cached rows, then partial ones, then none */
    uint32_t place_count;
    struct diskgnn_table_slot *table_slots;
    struct diskgnn_partial *partials;
    struct diskgnn_input *inputs;
    void *table_memory, *list_memory;
    struct gnn_team *team;
    struct diskgnn_pages *pages;
    struct gnn_ring_reads chunk_reads; /* zeroed unless chunk_request is given */
    struct gnn_training training;

    bool preparation_reported;        /* in the first epoch's figures */
    struct diskgnn_counters counters; /* of one epoch; every stage writes its own members */
};

/* ---- reopen.c ---- */

/* Draws and packs what epoch `epoch` trains if it is not what is open, and fits the slots to it. *prepared: whether it
 * did. */
GNN_MUST_CHECK enum gnn_status diskgnn_prepare(struct diskgnn *s, uint64_t epoch, bool *prepared, struct gnn_err *err);
void diskgnn_close_prepared(struct diskgnn *s); /* accepts what was never opened, or in part */

/* ---- slots.c ---- */

/* Opens caches and slots for what is prepared. On a failure diskgnn_slots_close undoes what there is. */
GNN_MUST_CHECK enum gnn_status diskgnn_slots_open(struct diskgnn *s, struct gnn_err *err);
void diskgnn_slots_close(struct diskgnn *s); /* accepts what was never opened */

/* ---- load.c ---- */

/* Reads the address table of mini-batch i. Errors of these three: GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status diskgnn_load_table(struct diskgnn *s, uint32_t batch, struct diskgnn_table_slot *table,
                                                  struct gnn_err *err);
/* Reads the rows that lie on the disk, of the table's mini-batch. */
GNN_MUST_CHECK enum gnn_status diskgnn_load_partial(struct diskgnn *s, struct diskgnn_partial *partial,
                                                    struct gnn_err *err);
/* Reads a graph sample for training it in `epoch`. */
GNN_MUST_CHECK enum gnn_status diskgnn_load_graph(struct diskgnn *s, uint64_t epoch, uint32_t batch,
                                                  struct diskgnn_graph *graph, struct gnn_err *err);

/* ---- assemble.c ---- */

/* Makes the input as far as that is possible beside training. *released: the partial input may be filled again;
 * otherwise input->partial has it until diskgnn_assemble_rest. GNN_EFORMAT: the table gives a row no place or two. */
GNN_MUST_CHECK enum gnn_status diskgnn_assemble(struct diskgnn *s, struct diskgnn_partial *partial,
                                                struct diskgnn_input *input, bool *released, struct gnn_err *err);
/* The rest, on the trainer's thread: with a device the gather in the training stream. */
void diskgnn_assemble_rest(const struct diskgnn *s, const struct diskgnn_input *input);

/* ---- by_batch.c ---- */

/* Fills s->unordered_bytes for what is prepared: what each mini-batch would read without an order of the rows. Errors
 * as diskgnn_layout_open. */
GNN_MUST_CHECK enum gnn_status diskgnn_unordered_count(struct diskgnn *s, struct gnn_err *err);
/* Adds the figures of single mini-batches, those of the epoch's order. */
void diskgnn_report_batches(const struct diskgnn *s, struct gnn_epoch_result *out);

/* ---- epoch.c: the train_epoch hook; state: struct diskgnn ---- */

GNN_MUST_CHECK enum gnn_status diskgnn_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                             struct gnn_err *err);

#endif
