/* SPDX-License-Identifier: MIT */
/* RingSampler: what its files share. Names inside the folder begin with rs_; ringsampler_ is used for what the harness
 * sees (table, options). A sampling thread has a file handle, a ring and a workspace of its own. Threads share the
 * offset index, the epoch's order and the sector cache. Each mechanism has a header.
 *
 *   `thread.h`   A sampling thread, its batches and bundles.
 *   `blocks.h`   A batch's targets, slots and local IDs.
 *   `training.h` Extraction and training after sampling.
 *   `fetch.h`    Ways to read neighbours. */
#ifndef RINGSAMPLER_H
#define RINGSAMPLER_H

#include "harness/base/histogram.h"
#include "harness/base/id_map.h"
#include "harness/system/plan.h"
#include "harness/system/train_input.h"

enum rs_io { RS_IO_DIRECT, RS_IO_BUFFERED, RS_IO_BUFFERED_RANDOM, RS_IO_MAPPED, RS_IO_SORTED };
enum rs_coalesce { RS_COALESCE_NONE, RS_COALESCE_SECTOR, RS_COALESCE_ADJACENT };
enum rs_order { RS_ORDER_SUBMIT_FIRST, RS_ORDER_DRAIN_FIRST };
enum rs_frontier { RS_FRONTIER_ALL, RS_FRONTIER_NEIGHBOURS };
enum rs_split { RS_SPLIT_CONSECUTIVE, RS_SPLIT_INTERLEAVED, RS_SPLIT_RELEASE };
enum rs_dedupe { RS_DEDUPE_HASH, RS_DEDUPE_SORT };
enum rs_workspaces { RS_WORKSPACES_RIGHT, RS_WORKSPACES_RELEASE };
enum rs_feature_io { RS_FEATURES_DIRECT, RS_FEATURES_BUFFERED };

enum {
    RS_RING_MAX = 4096,
    RS_BUNDLE_MAX = 64,
    RS_CACHE_BLOCK_BYTES = GNN_PAGE_BYTES,
    RS_ENTRIES_BYTES_MIN = 32768, /* more than a chunk of draws */
    RS_WORKSPACE_BYTES_MIN = 131072,
};
_Static_assert(RS_ENTRIES_BYTES_MIN < RS_WORKSPACE_BYTES_MIN / 2, "the least workspace has room for batches too");

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
    uint64_t workspace_bytes; /* of a thread; 0 = the bound, or what the memory limit leaves */
    /* io=sorted */
    uint32_t bundle; /* 0 = as many as fit */
    uint64_t cache_bytes, extent_bytes, gap_bytes, read_buffer_bytes;
    /* with training */
    uint32_t prefetch, extract_depth;
    enum rs_feature_io feature_io;
    enum gnn_transfer transfer;
    /* on demand */
    uint32_t requests, concurrency;
};
extern const struct gnn_option ringsampler_options[]; /* options.c */

/* ---- sizes.c ---- */

/* The memory of a mini-batch and of a thread, by the bounds of the frontier rule or what the memory limit leaves. */
struct rs_sizes {
    uint32_t threads;                 /* sampling threads, or requests in service */
    uint32_t seeds;                   /* of a mini-batch */
    uint64_t batch_bytes;             /* nodes and blocks: their bounds, or less under a memory limit */
    uint64_t map_slots, dedupe_bytes; /* ID map, or the pairs of dedupe=sort; likewise */
    uint64_t batch_bound, dedupe_bound;
    uint64_t entries_bytes;   /* io=sorted: 8 B a target of the largest hop */
    uint64_t workspace_bytes; /* of a thread: dedupe, entries, and one batch or a bundle of them */
    uint64_t engine_bytes;    /* of a thread: read buffers and request records, ring included */
    uint64_t release_bytes;   /* of a thread: additional memory of the released code */
    uint64_t cache_bytes;     /* shared */
    uint32_t items;           /* with training: batches being sampled, delivered, in training */
};

/* Checks the options against each other and the workload, and chooses the sizes of everything that open allocates.
 * Returns GNN_EUSAGE if they contradict each other. */
GNN_MUST_CHECK enum gnn_status rs_size(const struct gnn_env *env, const struct ringsampler_config *config,
                                       struct rs_sizes *out, struct gnn_err *err);
/* Adds the system's parts to a plan. */
void rs_plan_parts(const struct ringsampler_config *config, const struct rs_sizes *sizes, struct gnn_memory_plan *plan);

/* ---- a sampling thread: thread.h ---- */

/* Latencies of requests, from their start and from the start of the stream. The paper's Figure 6 appears to show the
 * latter. */
struct rs_latencies {
    struct gnn_histogram request, stream;
};

struct rs_thread {
    struct ringsampler *s;
    struct gnn_file *file;  /* this thread's handle of the edge file; NULL with io=mapped */
    struct rs_fetch *fetch; /* with this thread's ring */
    void *workspace;        /* (sizes.workspace_bytes): ID map or pairs, entries, batches */
    void *release_ballast;
    struct gnn_id_map map;
    const struct rs_batch *map_holds; /* the batch whose nodes are in the map */
    uint64_t *pairs;                  /* dedupe=sort: (pair_capacity) twice */
    uint64_t pair_capacity;
    unsigned char *rest; /* the workspace without the part for dedupe: entries and batches */
    uint64_t rest_bytes;
    uint64_t *entries; /* (entry_capacity), at the end of rest */
    uint64_t entry_capacity;
    struct rs_batch *batches;                              /* (RS_BUNDLE_MAX) */
    uint64_t batch_bytes_peak, hop_targets_peak, map_peak; /* of any batch so far: for sizing bundles */
    /* of one epoch */
    uint64_t epoch;
    struct gnn_sample_counters counters;
    uint64_t frontier_nodes, deferred_batches, bundle_peak;
    struct rs_latencies latencies;
};

/* ---- the system ---- */

struct ringsampler {
    const struct gnn_env *env;
    const struct ringsampler_config *config;
    struct rs_sizes sizes;
    uint64_t sample_key;
    struct gnn_batch_order order;
    struct rs_thread *threads; /* (sizes.threads) */
    struct gnn_file *mapped_file;
    struct gnn_map *map;          /* io=mapped */
    struct rs_cache *cache;       /* io=sorted with a cache, else NULL */
    struct rs_training *training; /* NULL with --sample-only */
    uint64_t start_ns;            /* of the epoch */
};

/* ---- epoch.c, on_demand.c ---- */

/* Runs an epoch: the train_epoch hook. state is the struct ringsampler. */
GNN_MUST_CHECK enum gnn_status rs_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err);
/* Serves the requests of one thread and adds their number to *items. */
GNN_MUST_CHECK enum gnn_status rs_on_demand_thread(struct ringsampler *s, uint32_t thread, uint64_t *items,
                                                   struct gnn_err *err);
void rs_on_demand_result(const struct ringsampler *s, struct gnn_epoch_result *out);

#endif
