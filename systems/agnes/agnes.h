/* AGNES inside: what system.c sizes and opens, prepare.c writes, sampling.c and gather.c do block by block, and epoch.c
 * runs. */
#ifndef AGNES_H
#define AGNES_H

#include "harness/base/id_map.h"
#include "harness/pipeline/team.h"
#include "harness/storage/reader.h"
#include "harness/storage/stream.h"
#include "harness/system/buffer.h"
#include "harness/system/plan.h"
#include "harness/system/system.h"
#include "harness/system/training.h"
#include "systems/agnes/bucket.h"
#include "systems/agnes/frames.h"
#include "systems/agnes/graph_blocks.h"

enum agnes_layout { AGNES_LAYOUT_BF, AGNES_LAYOUT_INPUT, AGNES_LAYOUT_DEGREE, AGNES_LAYOUT_RANDOM };
enum agnes_accounting { AGNES_ACCOUNT_FULL, AGNES_ACCOUNT_PAPER };
enum agnes_setting { AGNES_SETTING_1, AGNES_SETTING_2 };
enum agnes_rank { AGNES_RANK_THRESHOLD, AGNES_RANK_COUNT };
enum agnes_overlap { AGNES_OVERLAP_ROUND, AGNES_OVERLAP_FULL };
enum agnes_spill { AGNES_SPILL_SYNC, AGNES_SPILL_ASYNC };
enum agnes_io { AGNES_IO_DIRECT, AGNES_IO_BUFFERED };

enum agnes_id_width { AGNES_ID_4, AGNES_ID_8 };

struct agnes_config {
    enum agnes_layout layout;
    uint64_t block_bytes; /* Z; 0 = by the files' sizes */
    enum agnes_id_width id_width;
    uint32_t hyperbatch; /* H; 0 = by hyperbatches per epoch */
    enum agnes_accounting accounting;
    enum agnes_setting setting;
    uint64_t graph_buffer_bytes, feature_cache_bytes; /* 0 = automatic */
    enum agnes_policy policy;
    bool resident_first, gbuf_keep;
    enum agnes_rank cache_rank;
    enum agnes_spill spill;
    enum agnes_overlap overlap;
    enum agnes_io io;
    uint32_t workers; /* W */
    uint32_t depth;   /* D */
};

extern const struct gnn_option agnes_options[]; /* options.c */
extern const char *const agnes_layout_words[];  /* by enum agnes_layout */

enum {
    AGNES_SPOOL_BLOCK_BYTES = 256 << 10,
    AGNES_LOCKS = 64,       /* of staging buffers, taken in turn */
    AGNES_CONTEXTS_MAX = 3, /* hyperbatches between the first seed and the last step */
    AGNES_INPUTS = 2,       /* one in the making, one in training */
};

/* ---- sizes.c: every size from the configuration, the data and the cap ---- */

struct agnes_sizes {
    uint32_t block_bytes; /* Z */
    uint32_t id_bytes;    /* w */
    uint32_t rows;        /* r = floor(Z / R) */
    uint32_t feature_blocks, graph_blocks;
    uint32_t batches;          /* of an epoch */
    uint32_t hyperbatch;       /* H */
    uint32_t contexts;         /* hyperbatches alive: 2, with overlap=full 3 */
    uint32_t gathers;          /* sets of gathering memory: 1, with overlap=full 2 */
    uint32_t graph_frames;     /* G */
    uint32_t cache_rows;       /* C */
    uint32_t pool_frames;      /* feature blocks being read or served */
    uint64_t unbudgeted_bytes; /* everything besides the two buffers */
};

uint32_t agnes_block_bytes(const struct gnn_env *env, const struct agnes_config *config);
/* graph_blocks: 0 = not known yet, estimated. GNN_EUSAGE, GNN_ECAP: with the parameter to change. */
GNN_MUST_CHECK enum gnn_status agnes_size(const struct agnes_config *config, uint32_t graph_blocks,
                                          struct agnes_sizes *out, struct gnn_memory_plan *plan, struct gnn_err *err);

/* ---- layout.c, prepare.c ---- */

/* What prepare.c leaves behind for this dataset, layout and block size, opened. */
struct agnes_layout_files {
    char dir[700];
    struct gnn_file *graph, *features; /* features NULL for -only */
    struct agnes_index index;
    gnn_node *new_to_old;               /* (node_count), NULL: identity */
    uint64_t prepare_ns, written_bytes; /* 0: it was there */
};

/* Opens the prepared layout, after preparing what of it is absent. */
GNN_MUST_CHECK enum gnn_status agnes_layout_open(const struct gnn_env *env, const struct agnes_config *config,
                                                 struct agnes_layout_files *out, struct gnn_err *err);
void agnes_layout_close(struct gnn_world *world, struct agnes_layout_files *files);

/* new_to_old (node_count), world memory; *out = NULL for layout=input. scratch_dir: where the transposed lists lie
 * meanwhile. window_bytes: memory for one window of them. */
GNN_MUST_CHECK enum gnn_status agnes_renumber(const struct gnn_env *env, const struct agnes_config *config,
                                              const char *scratch_dir, uint64_t window_bytes, gnn_node **out,
                                              struct gnn_err *err);

/* Every byte of a file in order, in pieces of a multiple of `unit` bytes (the last may be shorter): visit(ctx, at,
 * data, bytes). */
typedef enum gnn_status agnes_scan_fn(void *ctx, uint64_t at_bytes, void *data, uint64_t bytes, struct gnn_err *err);
struct agnes_scan {
    const char *path;
    bool direct;
    uint64_t begin_bytes, end_bytes; /* begin: a multiple of 4096 */
    uint64_t unit_bytes;
    unsigned mem_flags;
};
GNN_MUST_CHECK enum gnn_status agnes_scan_file(const struct gnn_env *env, const struct agnes_scan *scan,
                                               agnes_scan_fn *visit, void *ctx, struct gnn_err *err);

/* ---- hyperbatches ---- */

/* Blocks of one hop in the spool: row_start (dst_count + 1), then col (edge_count). */
struct agnes_record {
    const struct gnn_stream *stream;
    uint64_t offset_bytes;
    uint32_t dst_count, edge_count, src_count;
};

/* Mini-batch j of a hyperbatch. */
struct agnes_batch {
    uint32_t number; /* in the epoch */
    uint32_t seed_count, count;
    gnn_node *nodes;                             /* (count) F_j, later V_j; new IDs, seeds first */
    struct agnes_record records[GNN_LAYERS_MAX]; /* by hop - 1 */
};

struct agnes_hyperbatch {
    uint32_t first, count;       /* mini-batches */
    struct agnes_batch *batches; /* (H) */
    struct gnn_stream_file *spool;
    struct gnn_stream **streams; /* (W) of the spool */
};

/* ---- pump.c: blocks through frames to the workers ---- */

struct agnes_pump;
/* One frame that holds its block: the row of the bucket is served. */
typedef enum gnn_status agnes_serve_fn(void *ctx, uint32_t worker, uint32_t block, const void *memory,
                                       struct gnn_err *err);

struct agnes_flight { /* a frame on its way through the workers */
    struct gnn_task task;
    struct agnes_pump *pump;
    uint32_t frame, block;
    bool busy; /* with a worker */
};

struct agnes_pump {
    const struct gnn_env *env;
    struct gnn_team *team;
    struct gnn_file *file;
    struct gnn_reader *reader;
    struct agnes_frames *frames;
    struct agnes_flight *flights; /* (frames) */
    uint32_t depth, block_bytes;
    bool resident_first;
    agnes_serve_fn *serve;
    void *ctx;
    uint64_t reads, read_bytes, hits; /* blocks, since begin */
    uint32_t busy;
};

struct agnes_pump_config {
    struct gnn_team *team;
    struct gnn_file *file;
    uint32_t depth, block_bytes, frames, blocks;
    enum agnes_policy policy;
    bool resident_first;
    unsigned mem_flags;
    const char *name;
};
GNN_MUST_CHECK enum gnn_status agnes_pump_open(const struct gnn_env *env, const struct agnes_pump_config *config,
                                               struct agnes_pump *out, struct gnn_err *err);
void agnes_pump_close(struct agnes_pump *pump);
/* Nothing is in flight or with a worker: after an epoch that failed, too. */
void agnes_pump_begin(struct agnes_pump *pump);
/* Serves `count` distinct blocks, ascending in `needed`; each missing one is read once. On failure nothing is in
 * flight. */
GNN_MUST_CHECK enum gnn_status agnes_pump_run(struct agnes_pump *pump, const uint32_t *needed, uint32_t count,
                                              agnes_serve_fn *serve, void *ctx, struct gnn_err *err);

/* ---- sampling.c ---- */

struct agnes_lane {      /* what one sampling worker owns */
    gnn_node *nodes;     /* (node bound) F_j in the making */
    uint32_t *row_start; /* (node bound + 1) */
    struct gnn_id_map map;
    void *memory;
    struct gnn_sample_counters counters;
};

struct agnes;
struct agnes_hop { /* the one being sampled */
    struct agnes *s;
    struct agnes_hyperbatch *hb;
    uint32_t number; /* from 1 */
    uint32_t fanout;
    gnn_node *drawn; /* (sum |F_j|, fanout) */
    uint8_t *counts; /* (sum |F_j|) */
};

struct agnes_sampling {
    struct agnes_hop hop;
    uint32_t *list_counts; /* (H) |F_j| */
    struct gnn_team *team;
    struct agnes_pump pump;
    struct agnes_bucket bucket;
    struct gnn_buffer drawn;  /* (sum |F_j|, fanout) ids by position */
    struct gnn_buffer counts; /* (sum |F_j|) bytes: how many were drawn */
    uint64_t *base;           /* (H + 1) position 0 of j in the two above */
    struct agnes_lane *lanes; /* (W) */
    uint64_t node_bound;
    uint64_t sample_key;
};

/* ---- gather.c, spill.c ---- */

struct agnes_spill_batch {
    uint32_t rows;   /* S_j so far */
    uint32_t blocks; /* of them written */
};

/* A full staging buffer on its way to the spill file. */
struct agnes_spill_job {
    struct agnes_gathered *gathered;
    uint32_t buffer, place;
};

/* Rows of one hyperbatch: cached, staged, spilled. */
struct agnes_gathered {
    void *tier_memory;
    _Atomic uint32_t *tier;       /* (node_count) first counts, then AGNES_CACHED | slot */
    void *cache;                  /* (C, dim) */
    void *staging;                /* (H + spares, Z) */
    uint32_t *staging_of;         /* (H) which of them is j's */
    struct agnes_spill_job *jobs; /* (H + spares), spill=async */
    struct gnn_queue *spare;      /* spill=async: free buffers, as jobs */
    struct gnn_buffer place;      /* (sum |V_j|) row of position p of j among j's spilled rows */
    uint64_t *base;               /* (H + 1) */
    struct gnn_buffer spill_at;   /* (H, blocks_max) places in the spill file, in blocks */
    uint32_t blocks_max;
    struct agnes_spill_batch *batches; /* (H) */
    struct gnn_file *spill;
    atomic_uint spill_end; /* blocks */
    struct gnn_mutex *locks[AGNES_LOCKS];
    struct gnn_reader *reload;
};

struct agnes_gather_round { /* the hyperbatch being gathered */
    struct agnes *s;
    struct agnes_hyperbatch *hb;
    struct agnes_gathered *g;
    uint32_t *place; /* (sum |V_j|) */
};

struct agnes_gathering {
    struct agnes_gather_round round;
    uint32_t *list_counts; /* (H) |V_j| */
    struct gnn_team *team;
    struct agnes_pump pump;
    struct agnes_bucket bucket;
    struct gnn_queue *full; /* spill=async: staging buffers to write */
    atomic_uint_fast64_t spill_writes, spill_write_bytes, cached_rows, spilled_rows;
};

enum { AGNES_CACHED = 1U << 31, AGNES_COPIED = 1U << 30, AGNES_SLOT_MASK = (1U << 30) - 1 };

/* ---- epoch.c ---- */

/* A mini-batch on its way from assembly to training. */
struct agnes_item {
    struct gnn_batch_view view;
    struct gnn_buffer blocks; /* its records */
    struct gnn_buffer nodes;  /* V_j in original IDs */
    struct gnn_rows rows;
    bool last; /* of its hyperbatch */
};

/* Which hyperbatches have passed which stage. */
struct agnes_gate {
    struct gnn_mutex *mutex;
    struct gnn_cond *cond;
    uint32_t sampled, gathered, stepped, trained;
    bool cancelled;
};

struct agnes {
    const struct gnn_env *env;
    const struct agnes_config *config;
    struct agnes_sizes sizes;
    struct agnes_layout_files files;
    gnn_node *train, *order; /* (train.count) in new IDs; of the epoch */
    struct agnes_hyperbatch contexts[AGNES_CONTEXTS_MAX];
    struct agnes_sampling sampling;

    /* not opened for -only */
    struct agnes_gathering gathering;
    struct agnes_gathered gathered[AGNES_CONTEXTS_MAX - 1];
    struct gnn_training training;
    struct agnes_item items[AGNES_INPUTS];
    struct gnn_buffer reload;

    /* of one epoch */
    uint64_t epoch;
    uint32_t hyperbatches;
    struct agnes_gate gate;
    struct gnn_queue *free_items, *assembled;
    uint64_t trained_rows, evictions_before;
    uint64_t spool_write_bytes, spool_read_bytes, spool_reads, spool_writes;
    uint64_t spill_reads, spill_read_bytes;
    bool told_preparation;
};

GNN_MUST_CHECK enum gnn_status agnes_sampling_open(struct agnes *s, struct gnn_err *err);
void agnes_sampling_close(struct agnes *s);
/* Samples hyperbatch h into its context. Driver of the sampling team. */
GNN_MUST_CHECK enum gnn_status agnes_sample(struct agnes *s, uint32_t h, struct gnn_err *err);
/* Frees lists and spool of a context; whatever state it is in. */
void agnes_hyperbatch_clear(struct agnes *s, struct agnes_hyperbatch *hb);

GNN_MUST_CHECK enum gnn_status agnes_gathering_open(struct agnes *s, struct gnn_err *err);
void agnes_gathering_close(struct agnes *s);
GNN_MUST_CHECK enum gnn_status agnes_gather(struct agnes *s, uint32_t h, struct gnn_err *err);

/* spill.c: appends the row to j's staging buffer; writes the buffer out when it is full. The caller holds j's lock.
 * *row: its number among j's spilled rows. */
GNN_MUST_CHECK enum gnn_status agnes_spill_row(struct agnes *s, struct agnes_gathered *g, uint32_t j, const void *data,
                                               uint32_t *row, struct gnn_err *err);
/* spill=async: writes full staging buffers until there are no more. */
GNN_MUST_CHECK enum gnn_status agnes_spill_writer(struct agnes *s, uint64_t *items, struct gnn_err *err);
/* Brings j's spilled rows back: row k is at agnes_spill_find. */
GNN_MUST_CHECK enum gnn_status agnes_spill_reload(struct agnes *s, struct agnes_gathered *g, uint32_t j,
                                                  struct gnn_err *err);
const void *agnes_spilled(const struct agnes *s, const struct agnes_gathered *g, uint32_t j, uint32_t row);

/* assemble.c: the contiguous input and blocks of one mini-batch. */
GNN_MUST_CHECK enum gnn_status agnes_assemble(struct agnes *s, uint32_t h, uint32_t j, struct gnn_reader *spool,
                                              struct agnes_item *item, struct gnn_err *err);

GNN_MUST_CHECK enum gnn_status agnes_epoch(struct agnes *s, uint64_t epoch, struct gnn_epoch_result *out,
                                           struct gnn_err *err);

#endif
