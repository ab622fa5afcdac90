/* Ginex inside: what system.c sizes and opens, inspect.c prepares, execute.c trains and epoch.c runs in turn. */
#ifndef GINEX_H
#define GINEX_H

#include "harness/pipeline/team.h"
#include "harness/storage/stream.h"
#include "harness/system/plan.h"
#include "harness/system/system.h"
#include "harness/system/training.h"
#include "systems/ginex/belady.h"
#include "systems/ginex/feature_cache.h"
#include "systems/ginex/neighbours.h"

enum ginex_io { GINEX_IO_DIRECT, GINEX_IO_BUFFERED };
enum ginex_fill { GINEX_FILL_MAPPED, GINEX_FILL_DIRECT };
enum ginex_initial { GINEX_INITIAL_ACCESS, GINEX_INITIAL_SCORE };

struct ginex_config {
    uint32_t superbatch;      /* SB, at most K */
    uint64_t feature_cache;   /* Z_f, table included; 0 = automatic */
    uint64_t neighbour_cache; /* Z_n, table included; 0 = automatic */
    bool cache_neighbours;
    bool skip_isolated;
    uint32_t samplers;       /* V */
    uint32_t gather_threads; /* G */
    uint32_t trace_loaders;  /* L_t */
    uint32_t trace_queue;
    uint32_t trace_depth; /* reads in flight per trace loader */
    uint64_t trace_block;
    char trace_dir[GNN_TEXT_MAX]; /* "": beside the dataset */
    uint32_t id_readers;
    bool hold_ids;
    uint64_t neighbour_block;
    uint32_t io; /* enum ginex_io */
    uint64_t io_unit;
    uint32_t list_read;   /* enum ginex_list_read */
    uint32_t fill;        /* enum ginex_fill */
    uint32_t replacement; /* enum belady_policy */
    uint32_t initial;     /* enum ginex_initial */
    bool overlap;
    bool overlap_caches;
    uint32_t floyd; /* 0 exact, 1 biased */
};

/* Every size that follows from the configuration, the data and the cap. */
struct ginex_sizes {
    uint32_t batches;      /* K */
    uint32_t superbatch;   /* SB, at most K */
    uint32_t superbatches; /* M */
    uint32_t cache_rows;   /* C; 0 when sampling only */
    uint64_t feature_cache_bytes, neighbour_cache_bytes;
    struct gnn_batch_size expected;
};

/* Where a mini-batch lies in its superbatch's trace. */
struct ginex_record {
    uint64_t ids_offset, blocks_offset, changes_offset;
    uint64_t blocks_bytes;
    uint32_t worker; /* whose streams */
    uint32_t nodes;  /* n_L */
    uint32_t changes, misses;
};

/* One superbatch between its sampling and its end: the trace and what must stay in memory to find one's way in it. */
struct ginex_superbatch {
    uint32_t first, count; /* batches of the epoch */
    struct gnn_stream_file *trace;
    struct gnn_stream **ids, **blocks; /* (V) */
    struct gnn_stream *changes;
    struct ginex_record *records; /* (count) */
    gnn_node *initial;            /* (initial_count) nodes the cache starts with */
    uint32_t initial_count;
    uint64_t accesses; /* A_sb = sum of n_L */
    uint32_t nodes_max;
};

/* A mini-batch read back from the trace. */
struct ginex_item {
    void *memory; /* ids, blocks, changes, each on pages of its own */
    struct gnn_batch_view view;
    struct belady_changes changes;
    struct gnn_rows *rows; /* its gathered input, once posted */
    struct ginex_gather gather;
    struct ginex_apply apply;
};

/* Of one epoch; nanoseconds are wall time. */
struct ginex_epoch_figures {
    uint64_t pass_ns[3], neighbour_load_ns, sample_ns, fill_ns, inspect_ns;
    uint64_t fill_rows, gathered_rows, misses, evictions, accesses_max;
    uint64_t trace_read_bytes, trace_read_ios, trace_written_bytes;
    uint64_t feature_bytes, feature_ios;
    struct ginex_neighbours_counters before; /* when the epoch began */
};

struct ginex {
    const struct gnn_env *env;
    const struct ginex_config *config;
    struct ginex_sizes sizes;
    const char *trace_dir;
    struct ginex_neighbours *neighbours;
    struct gnn_sampling *sampling;
    struct gnn_batch **drawn; /* (V) */

    /* not opened for -only */
    struct gnn_file *features;
    uint64_t features_bytes;
    struct gnn_map *features_map; /* fill=mapped */
    struct gnn_file *features_mapped;
    struct gnn_training training;
    struct gnn_team *team; /* G threads: fill, gather, apply */

    /* of one epoch */
    struct ginex_superbatch *sampled, *stored; /* being sampled; sampled before and not yet executed */
    struct ginex_cache *cache;
    struct ginex_epoch_figures figures;

    /* of one Inspect */
    struct gnn_queue *gate, *first_batch;
    atomic_uint next_batch;
    atomic_uint_fast64_t gate_ns, sampled_ns; /* when sampling may begin; when the last sampler ended */
    struct belady *belady;

    /* of one Execute */
    struct ginex_item *items; /* (trace_loaders * (trace_queue + 1) + 2) */
    void *items_memory;
    struct gnn_queue **tokens, **ready; /* (trace_loaders) empty items, loaded items */
    struct gnn_reader **loaders;        /* (trace_loaders) */
    struct ginex_fill_job fill;
    struct gnn_rows input[2]; /* one being gathered, one in training */
};

/* sizes.c: no side effects. Fills sizes and adds the parts to a plan that gnn_plan_begin filled. */
GNN_MUST_CHECK enum gnn_status ginex_size(const struct ginex_config *config, struct ginex_sizes *out,
                                          struct gnn_memory_plan *plan, struct gnn_err *err);
/* The inspection of a superbatch as it turned out, against the cap. */
GNN_MUST_CHECK enum gnn_status ginex_check_inspection(const struct ginex *s, const struct ginex_superbatch *sb,
                                                      struct gnn_err *err);
struct belady_config ginex_belady_config(const struct ginex *s, const struct ginex_superbatch *sb);
struct ginex_neighbours_config ginex_neighbours_settings(const struct gnn_env *env, const struct ginex_config *config,
                                                         const struct ginex_sizes *sizes);
const char *ginex_trace_dir(const struct gnn_env *env, const struct ginex_config *config);

/* superbatch.c: the trace. */
GNN_MUST_CHECK enum gnn_status ginex_superbatch_open(struct ginex *s, uint32_t number, struct ginex_superbatch **out,
                                                     struct gnn_err *err);
void ginex_superbatch_close(struct ginex *s, struct ginex_superbatch *sb); /* accepts NULL */
/* Appends a sampled batch to worker w's streams. */
GNN_MUST_CHECK enum gnn_status ginex_store_batch(struct ginex_superbatch *sb, uint32_t worker,
                                                 const struct gnn_batch_view *view, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status ginex_store_changes(struct ginex_superbatch *sb, uint32_t index,
                                                   const struct belady_changes *changes, struct gnn_err *err);
uint64_t ginex_item_bytes(const struct ginex_superbatch *sb); /* of one item's memory */
/* Reads batch `index` of the superbatch into the item. */
GNN_MUST_CHECK enum gnn_status ginex_load_item(const struct ginex_superbatch *sb, uint32_t index,
                                               struct gnn_reader *reader, struct ginex_item *item, struct gnn_err *err);

/* The ids of a superbatch's batches, in order. */
struct ginex_ids;
/* hold: the first walk keeps everything in memory for the next ones, until ginex_ids_drop. */
GNN_MUST_CHECK enum gnn_status ginex_ids_open(struct ginex *s, const struct ginex_superbatch *sb, bool hold,
                                              struct ginex_ids **out, struct gnn_err *err);
void ginex_ids_close(struct ginex_ids *ids); /* accepts NULL; adds what was read to the epoch's figures */
void ginex_ids_rewind(struct ginex_ids *ids);
void ginex_ids_drop(struct ginex_ids *ids);
/* After the last *nodes is NULL. Valid until the next call. */
GNN_MUST_CHECK enum gnn_status ginex_ids_next(struct ginex_ids *ids, const gnn_node **nodes, uint32_t *count,
                                              struct gnn_err *err);

/* inspect.c: samples s->sampled (NULL: nothing left) beside the inspection of s->stored (NULL: nothing yet). */
GNN_MUST_CHECK enum gnn_status ginex_inspect(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err);
/* execute.c: trains s->stored. */
GNN_MUST_CHECK enum gnn_status ginex_execute(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err);
/* epoch.c */
GNN_MUST_CHECK enum gnn_status ginex_epoch(struct ginex *s, uint64_t epoch, struct gnn_epoch_result *out,
                                           struct gnn_err *err);

#endif
