/* RingSampler inside: what system.c opens and epoch.c runs. A sampling thread has a file handle, a ring and a
 * workspace of its own; threads share the offset index and the epoch's order, which do not change during an epoch. */
#ifndef RINGSAMPLER_H
#define RINGSAMPLER_H

#include "harness/base/arena.h"
#include "harness/base/id_map.h"
#include "harness/system/extraction.h"
#include "harness/system/plan.h"
#include "harness/system/system.h"
#include "harness/system/training.h"
#include "systems/ringsampler/latency.h"

enum rs_io { RS_IO_DIRECT, RS_IO_BUFFERED, RS_IO_BUFFERED_RANDOM, RS_IO_MAPPED, RS_IO_SORTED };
enum rs_coalesce { RS_COALESCE_NONE, RS_COALESCE_SECTOR, RS_COALESCE_ADJACENT };
enum rs_order { RS_ORDER_SUBMIT_FIRST, RS_ORDER_DRAIN_FIRST };
enum rs_frontier { RS_FRONTIER_ALL, RS_FRONTIER_NEIGHBOURS };
enum rs_split { RS_SPLIT_CONSECUTIVE, RS_SPLIT_INTERLEAVED, RS_SPLIT_RELEASE };
enum rs_dedupe { RS_DEDUPE_HASH, RS_DEDUPE_SORT };
enum rs_workspaces { RS_WORKSPACES_RIGHT, RS_WORKSPACES_RELEASE };
enum rs_feature_io { RS_FEATURES_DIRECT, RS_FEATURES_BUFFERED };

enum {
    RS_BUNDLE_MAX = 64,
    RS_CACHE_BLOCK_BYTES = GNN_PAGE_BYTES,
    RS_ENTRIES_BYTES_MIN = 32768, /* a chunk of draws and then some */
    RS_WORKSPACE_BYTES_MIN = 131072,
    RS_MAPPED_CHUNK = 32768, /* positions of one gather through the mapping */
};

struct ringsampler_config {
    uint32_t threads; /* n */
    uint32_t ring;    /* Q */
    enum rs_io io;
    enum rs_coalesce coalesce;
    enum rs_order order;
    enum rs_frontier frontier;
    enum rs_split split;
    enum rs_dedupe dedupe;
    enum rs_workspaces workspaces;
    bool replace, polling, sqpoll, iopoll, register_file, register_buffer;
    uint64_t workspace_bytes; /* of a thread; 0 = the bound, or what the cap leaves */
    /* io=sorted */
    uint32_t bundle; /* 0 = as many as fit */
    uint64_t cache_bytes, extent_bytes, gap_bytes, read_buffer_bytes;
    /* with training */
    uint32_t prefetch, extract_depth;
    enum rs_feature_io feature_io;
    /* on demand */
    uint32_t requests, concurrency;
};
extern const struct gnn_option ringsampler_options[]; /* options.c */

/* ---- sizes.c ---- */

/* Bounds of a mini-batch under the frontier rule, and what a thread's memory is made of. */
struct rs_sizes {
    uint32_t threads;
    uint32_t seeds;                   /* of a mini-batch */
    uint32_t targets[GNN_LAYERS_MAX]; /* of hop l, at most */
    uint64_t samples[GNN_LAYERS_MAX]; /* of hop l, at most */
    uint64_t batch_bytes;             /* nodes and blocks at their bounds */
    uint64_t map_slots, dedupe_bytes; /* ID map, or the pairs of dedupe=sort */
    uint64_t entries_bytes;           /* io=sorted: 8 B a target of the largest hop */
    uint64_t workspace_bytes;         /* of a thread: dedupe, entries, and one batch or a bundle of them */
    uint64_t engine_bytes;            /* of a thread: read buffers and request records, ring included */
    uint64_t release_bytes;           /* of a thread: what the released code holds besides */
    uint64_t cache_bytes;             /* shared */
    uint32_t items;                   /* with training: batches in the making, delivered, in training */
};
GNN_MUST_CHECK enum gnn_status rs_size(const struct gnn_env *env, const struct ringsampler_config *config,
                                       struct rs_sizes *out, struct gnn_err *err);
/* Adds the system's parts to a plan. */
void rs_plan_parts(const struct ringsampler_config *config, const struct rs_sizes *sizes, struct gnn_memory_plan *plan);

/* ---- blocks.c: a mini-batch in its own range of memory ---- */

/* One hop. Slot p of target t: row_start[t] <= p < row_start[t + 1]. */
struct rs_hop {
    const gnn_node *targets; /* (target_count) */
    uint32_t target_count, sample_count, fanout;
    bool replace, biased;
    uint64_t draw_key, digest_key;
    const uint64_t *indptr;
    uint32_t *row_start; /* (target_count + 1) */
    uint32_t *col;       /* (sample_count): first the neighbours as they were read, then local IDs */
    gnn_node *nodes;     /* (node_count): what the local IDs stand for; targets come first */
    uint32_t node_count;
};

/* Nodes grow from the low end of the memory, blocks from the high end: a batch takes what it needs. */
struct rs_batch {
    unsigned char *memory;
    uint64_t size_bytes, low_bytes, high_bytes;
    uint32_t number, seed_count, hop_count;
    struct rs_hop hops[GNN_LAYERS_MAX];
    struct gnn_batch_view view; /* frontier=all: the blocks as the model wants them */
    uint64_t digest;
    bool full; /* it did not fit */
};

struct rs_thread;
/* Seeds become the first targets. GNN_EFORMAT: a seed outside the graph. */
GNN_MUST_CHECK enum gnn_status rs_batch_begin(const struct rs_thread *thread, struct rs_batch *batch, uint32_t number,
                                              const gnn_node *seeds, uint32_t seed_count, struct gnn_err *err);
/* Takes row_start and col of hop l (from 0), and fills row_start: sizes are known before anything is read. */
void rs_hop_begin(const struct rs_thread *thread, struct rs_batch *batch, uint32_t l);
/* Between the two the hop's col is filled. Then: neighbours become local IDs, the next hop's targets are known. */
GNN_MUST_CHECK enum gnn_status rs_hop_end(struct rs_thread *thread, struct rs_batch *batch, uint32_t l,
                                          struct gnn_err *err);
void rs_batch_end(struct rs_batch *batch, uint64_t epoch, bool chained);

/* ---- how neighbours are read: grouped.c, mapped.c, sorted.c ---- */

struct rs_fetch;
struct rs_fetch_counts {
    uint64_t reads, completions, requested_bytes; /* of the ring */
    uint64_t submits;                             /* groups handed over */
    uint64_t in_flight_peak;
    uint64_t cache_hits, cache_misses; /* io=sorted with a cache: samples */
    uint64_t sweeps;                   /* io=sorted */
};
struct rs_fetch_ops {
    /* Draws the positions of every hop and fills every col. On failure nothing is in flight. */
    enum gnn_status (*fetch)(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count, struct gnn_err *err);
    void (*close)(struct rs_fetch *fetch);
};
struct rs_fetch {
    const struct rs_fetch_ops *ops; /* embedders put this struct first */
    struct rs_fetch_counts counts;
};

struct ringsampler;
GNN_MUST_CHECK enum gnn_status rs_grouped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status rs_mapped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status rs_sorted_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err);
/* Memory of each besides the workspace; align_bytes of direct reads. */
uint64_t rs_grouped_bytes(const struct ringsampler_config *config, uint32_t align_bytes);
uint64_t rs_mapped_bytes(void);
uint64_t rs_sorted_bytes(const struct ringsampler_config *config);

/* ---- thread.c ---- */

struct rs_thread {
    struct ringsampler *s;
    struct gnn_file *file; /* its own handle of the edge file */
    struct rs_fetch *fetch;
    void *workspace;
    void *release_ballast;
    struct gnn_id_map map;
    uint64_t *pairs; /* dedupe=sort: (pair_capacity) twice */
    uint64_t pair_capacity;
    unsigned char *rest; /* what dedupe left of the workspace: entries and batches */
    uint64_t rest_bytes;
    uint64_t *entries; /* (entry_capacity), at the end of rest */
    uint64_t entry_capacity;
    const struct rs_batch *map_holds; /* whose nodes the map knows */
    uint64_t epoch;
    uint64_t batch_bytes_peak, hop_targets_peak, map_peak; /* of any batch so far: sizes the bundles */
    struct gnn_sample_counters counters;
    uint64_t frontier_nodes, deferred_batches, bundle_peak;
    struct rs_batch *batches; /* (RS_BUNDLE_MAX) */
    struct rs_latencies latencies;
};
GNN_MUST_CHECK enum gnn_status rs_thread_open(struct ringsampler *s, struct rs_thread *thread, struct gnn_err *err);
void rs_thread_close(struct rs_thread *thread); /* accepts a zeroed one */
void rs_thread_begin(struct rs_thread *thread, uint64_t epoch);
/* Samples begun batches hop by hop, together. A batch that does not fit its memory is marked `full` and counts for
 * nothing. */
GNN_MUST_CHECK enum gnn_status rs_sample(struct rs_thread *thread, struct rs_batch *batches, uint32_t count,
                                         struct gnn_err *err);
/* Samples one batch into memory of the caller's; one that does not fit is GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status rs_sample_one(struct rs_thread *thread, struct rs_batch *batch, uint32_t number,
                                             struct gnn_err *err);
/* Batches first, first + step … (count of them), bundled as memory allows. */
GNN_MUST_CHECK enum gnn_status rs_thread_run(struct rs_thread *thread, uint32_t first, uint32_t count, uint32_t step,
                                             uint64_t *items, struct gnn_err *err);

/* ---- the system ---- */

struct rs_cache;
struct rs_item {
    struct rs_batch batch;
    struct gnn_rows *rows; /* its extracted input */
};
enum { RS_INPUTS = 2 }; /* one being extracted, one in training */

struct ringsampler {
    const struct gnn_env *env;
    const struct ringsampler_config *config;
    struct rs_sizes sizes;
    uint64_t sample_key;
    uint32_t batches;
    gnn_node *order; /* (train.count) of the epoch */
    struct rs_thread *threads;
    struct gnn_file *mapped_file;
    struct gnn_map *map;    /* io=mapped */
    struct rs_cache *cache; /* io=sorted */

    /* with training */
    void *item_memory;
    struct rs_item *items;
    struct gnn_extraction *extraction;
    struct gnn_training training;
    struct gnn_rows inputs[RS_INPUTS];
    uint64_t extracted_rows;

    /* of one epoch */
    uint64_t start_ns;
    struct rs_fetch_counts before;
    struct gnn_queue **tokens; /* (threads): items thread w may fill */
    struct gnn_reorder *delivery, *extracted;
    struct gnn_queue *free_inputs;
};

/* Seeds of batch (or request) `number` of the epoch; *count of them. */
const gnn_node *rs_seeds(const struct ringsampler *s, uint32_t number, uint32_t *count);

/* epoch.c, training.c, on_demand.c */
GNN_MUST_CHECK enum gnn_status rs_epoch(struct ringsampler *s, uint64_t epoch, struct gnn_epoch_result *out,
                                        struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status rs_training_open(struct ringsampler *s, struct gnn_err *err);
void rs_training_close(struct ringsampler *s);
GNN_MUST_CHECK enum gnn_status rs_training_stages(struct ringsampler *s, struct gnn_pipeline *pipeline,
                                                  struct gnn_err *err);
void rs_training_stages_close(struct ringsampler *s);
void rs_training_result(const struct ringsampler *s, struct gnn_epoch_result *out);
GNN_MUST_CHECK enum gnn_status rs_on_demand_thread(struct ringsampler *s, uint32_t thread, uint64_t *items,
                                                   struct gnn_err *err);
void rs_on_demand_result(const struct ringsampler *s, struct gnn_epoch_result *out);

#endif
