/* SPDX-License-Identifier: MIT */
/* The record: one row per run in SQLite, its epochs, stages, counters, series, configuration and environment
 * beside it, and the same as JSON. results/schema.sql is the one source of names; it is compiled into the
 * program.
 *
 * Unknown is GNN_UNKNOWN, NAN, -1 (tri-states) or "" (text) here and NULL there; never 0.
 *
 * One database may be written by several processes at once (WAL, waits up to 30 s for a lock). Every function
 * below is one transaction: a supervisor that is killed leaves a readable database in which its run says
 * "running" until the next writer notices that the process is gone and marks it "interrupted". A struct
 * gnn_db belongs to one thread. */
#ifndef GNN_RECORD_H
#define GNN_RECORD_H

#include "harness/base/kv.h"
#include "harness/base/reading.h"
#include "harness/oocgnn.h"

#include <stdio.h>

enum {
    GNN_RECORD_STAGES_MAX = 12,   /* both: see the asserts in run/record_fill.c, which knows the system's limits */
    GNN_RECORD_FIGURES_MAX = 137, /* a system's and the harness's own */
    GNN_RECORD_REASONS_MAX = 1024,
};

enum gnn_run_status {
    GNN_RUN_RUNNING,
    GNN_RUN_OK,
    GNN_RUN_OOM,
    GNN_RUN_GPU_OOM,
    GNN_RUN_OOT,
    GNN_RUN_FAILED,
    GNN_RUN_INVALID,
    GNN_RUN_INTERRUPTED,
    GNN_RUN_STATUS_COUNT
};

/* "running", "ok", "oom", "gpu_oom", "oot", "failed", "invalid", "interrupted" */
const char *gnn_run_status_name(enum gnn_run_status status);

struct gnn_record_counters {
    uint64_t needed_bytes, requested_bytes, requested_ios;
    uint64_t requested_write_bytes, requested_write_ios;
    uint64_t device_read_bytes, device_read_ios, device_write_bytes; /* as the kernel counted, of the worker's group */
    uint64_t cache_hits, cache_misses, cache_evictions;
    uint64_t rows_asked, rows_read; /* of features, by the mini-batches and from storage */
    uint64_t sampled_nodes, sampled_edges, batches;
    uint64_t batch_digest; /* any 64-bit value; has_digest tells whether it is known */
    bool has_digest;
    uint64_t peak_memory_bytes, page_cache_bytes, refaults, prepare_disk_bytes;
};

/* The share of the feature rows asked for that storage did not deliver, one definition for every system; below 0 where
 * rows are read more often than they are asked for. NAN: unknown. */
double gnn_record_hit_ratio(const struct gnn_record_counters *counters);

/* Summed over the stage's workers: wall = work + waits; work is at most cpu and queued. */
struct gnn_record_stage {
    char stage[GNN_NAME_MAX];
    uint64_t workers, items;
    uint64_t wall_ns, work_ns, cpu_ns, queued_ns;
    uint64_t wait_io_ns, wait_queue_ns, wait_lock_ns, wait_compute_ns, wait_resource_ns;
};

struct gnn_record_figure {
    char name[GNN_NAME_MAX];
    uint64_t value;
};

/* Plain data without pointers: may travel through a pipe between processes of one build. */
struct gnn_record_epoch {
    uint64_t epoch;
    uint64_t wall_ns, prepare_ns;
    double loss, train_accuracy, valid_accuracy, test_accuracy;                 /* NAN: unknown; accuracies in [0, 1] */
    double valid_mrr, valid_raw_mrr, valid_hits_1, valid_hits_3, valid_hits_10; /* of links, in [0, 1] */
    double test_mrr, test_raw_mrr, test_hits_1, test_hits_3, test_hits_10;
    struct gnn_record_counters counters;
    uint32_t stage_count, figure_count;
    struct gnn_record_stage stages[GNN_RECORD_STAGES_MAX];
    struct gnn_record_figure figures[GNN_RECORD_FIGURES_MAX];
};

struct gnn_run_record {
    int64_t run_id; /* given by gnn_db_begin */
    enum gnn_run_status status;
    int valid;                            /* 1, 0, -1 not judged yet */
    char reasons[GNN_RECORD_REASONS_MAX]; /* why not ok: one per line */
    enum gnn_status failure;              /* what a failed run's worker said; decides the exit status, not kept */
    int signal;                           /* that interrupted it, 0: none; the same, not kept */
    uint64_t started_unix_ns;             /* set by gnn_db_begin when 0 */
    uint64_t wall_ns;                     /* the worker's life, open and evaluation included */

    /* What was asked for. "" is NULL. */
    char system[GNN_NAME_MAX], dataset[GNN_NAME_MAX], model[GNN_NAME_MAX], preset[GNN_NAME_MAX];
    char world[GNN_NAME_MAX], profile[GNN_NAME_MAX], compute[GNN_NAME_MAX];
    char io_engine[GNN_NAME_MAX]; /* "uring", "pool", "mmap" */
    char variant[GNN_NAME_MAX];   /* "" = the full pipeline; "sample-only" */
    char tag[GNN_NAME_MAX];       /* the user's own word for this run */
    char fanout[GNN_NAME_MAX];    /* "10,10,10" */
    uint64_t scale_divisor;       /* 1/K; the column `scale` holds "1/K" or "1" */
    uint64_t dim, batch_size, epochs_planned, seed;
    uint64_t dataset_bytes; /* topology and features on disk */

    /* The cap, as enforced and as read back. */
    uint64_t cap_bytes; /* asked for; GNN_UNKNOWN: none */
    uint64_t cap_swap_bytes;
    char cap_enforcement[GNN_NAME_MAX]; /* "cgroup-v2", "cgroup-v1", "in-program", "none" */
    uint64_t cap_read_back_bytes, swap_read_back_bytes;
    uint64_t oom_kills;
    uint64_t device_bps, device_iops; /* throttle; GNN_UNKNOWN: none */

    /* Observed, not asked: 1, 0, -1 unknown. */
    int cold_asked, cold_observed, direct_asked, direct_observed;
    uint64_t resident_start_bytes, resident_end_bytes; /* of the dataset's files */

    struct gnn_record_counters counters; /* the whole run */

    struct gnn_kv_list config, environment; /* owned */
    struct gnn_record_epoch *epochs;        /* owned; gnn_run_record_add_epoch */
    uint32_t epoch_count, epoch_room;
    struct gnn_series_point *series; /* owned; gnn_run_record_add_point */
    uint32_t series_count, series_room;
};

/* Figures of the harness that others look up by name: --batches ran a part of the epoch; this is the whole, with the
 * 95 % interval of the extrapolation. */
#define GNN_FIGURE_FULL_EPOCH "full_epoch_ns"
#define GNN_FIGURE_FULL_EPOCH_LOW "full_epoch_low_ns"
#define GNN_FIGURE_FULL_EPOCH_HIGH "full_epoch_high_ns"
/* In an epoch, the time in which the device, or its model, had ops to do; absent where the host computes. */
#define GNN_FIGURE_GPU_BUSY "gpu_busy_ns"
/* In a measured epoch, the time that a hypervisor took from all cores; absent where the kernel does not tell. */
#define GNN_FIGURE_STOLEN "cpu_stolen_ns"
/* Of a system that fills a cache when it opens: the rows, as a figure of its first epoch. */
#define GNN_FIGURE_OPEN_ROWS "open_rows"
/* In the environment: the bound of the run's mini-batches (results/schema.sql). */
#define GNN_ENVIRONMENT_BOUND "bound.bytes"
/* In an epoch: its floor, and the two parts it is the larger of (docs/floor.md); each absent where unknown. */
#define GNN_FIGURE_FLOOR "floor_ns"
#define GNN_FIGURE_FLOOR_DEVICE "floor_device_ns"
#define GNN_FIGURE_FLOOR_TRAINING "floor_training_ns"
/* In the environment: name and digest of the profile that the device's part was computed from. */
#define GNN_ENVIRONMENT_FLOOR "floor.profile"
#define GNN_ENVIRONMENT_CALIBRATED "floor.calibrated" /* when that profile was measured, where it says so */

/* cap_enforcement of a cap that only the program's own allocations keep. */
#define GNN_CAP_IN_PROGRAM "in-program"

/* Everything unknown, empty, status running. */
void gnn_run_record_init(struct gnn_run_record *run);
void gnn_record_counters_unknown(struct gnn_record_counters *counters);
/* Sums up an epoch's counters, the largest of peaks; unknown plus anything is unknown. */
void gnn_record_counters_add(struct gnn_record_counters *total, const struct gnn_record_counters *epoch);
void gnn_record_epoch_unknown(struct gnn_record_epoch *epoch);
void gnn_record_stage_unknown(struct gnn_record_stage *stage);
void gnn_run_record_free(struct gnn_run_record *run); /* frees what run owns, not run; accepts NULL */

GNN_MUST_CHECK enum gnn_status gnn_run_record_add_epoch(struct gnn_run_record *run,
                                                        const struct gnn_record_epoch *epoch, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_run_record_add_point(struct gnn_run_record *run,
                                                        const struct gnn_series_point *point, struct gnn_err *err);
/* Appends one line to run->reasons (cut at its size). */
void gnn_run_record_reason(struct gnn_run_record *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- database ---- */

struct gnn_db;

enum gnn_db_mode {
    GNN_DB_WRITE, /* created if missing; stale "running" rows become "interrupted" */
    GNN_DB_READ,  /* GNN_ENOENT if missing; also what this user may not write */
};

/* GNN_EUSAGE when the name is empty, one that SQLite keeps in memory or reads as a URI, or no regular file's. */
GNN_MUST_CHECK enum gnn_status gnn_db_check_name(const char *path, struct gnn_err *err);

/* Besides those: GNN_EFORMAT when the file is no database of ours or of another schema version: the message says
 * which. */
GNN_MUST_CHECK enum gnn_status gnn_db_open(const char *path, enum gnn_db_mode mode, struct gnn_db **out,
                                           struct gnn_err *err);
void gnn_db_close(struct gnn_db *db); /* accepts NULL */

/* Inserts the run with status "running", its config and environment; sets run_id and started_unix_ns. */
GNN_MUST_CHECK enum gnn_status gnn_db_begin(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err);
/* Appends one finished epoch with its stages, counters and figures. */
GNN_MUST_CHECK enum gnn_status gnn_db_epoch(struct gnn_db *db, int64_t run_id, const struct gnn_record_epoch *epoch,
                                            struct gnn_err *err);
/* Appends points of the series: call it every few seconds with what came in since. */
GNN_MUST_CHECK enum gnn_status gnn_db_series(struct gnn_db *db, int64_t run_id, const struct gnn_series_point *points,
                                             uint32_t count, struct gnn_err *err);
/* Writes every column of the run's row and the whole run's counters; status is no longer "running". Epochs
 * and series are what gnn_db_epoch and gnn_db_series appended. */
GNN_MUST_CHECK enum gnn_status gnn_db_finish(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err);

/* Sets a key of a finished run's environment: what was found out about it later. GNN_ENOENT: no such run. */
GNN_MUST_CHECK enum gnn_status gnn_db_set_environment(struct gnn_db *db, int64_t run_id, const char *key,
                                                      const char *value, struct gnn_err *err);

/* Reads everything back into a record the caller frees. GNN_ENOENT: no such run. */
GNN_MUST_CHECK enum gnn_status gnn_db_load(struct gnn_db *db, int64_t run_id, struct gnn_run_record *out,
                                           struct gnn_err *err);

/* Loads count runs into a new array, for gnn_run_records_free; *out is NULL after an error. */
GNN_MUST_CHECK enum gnn_status gnn_db_load_all(struct gnn_db *db, const int64_t *ids, uint32_t count,
                                               struct gnn_run_record **out, struct gnn_err *err);
void gnn_run_records_free(struct gnn_run_record *runs, uint32_t count); /* accepts NULL */

/* The last n runs, oldest first, into ids[0..*count). */
GNN_MUST_CHECK enum gnn_status gnn_db_last(struct gnn_db *db, uint32_t n, int64_t *ids, uint32_t *count,
                                           struct gnn_err *err);

/* Which comparison. */
enum { GNN_CHOICES_MAX = 16 };
struct gnn_db_choice {
    const char *series;       /* an option in which the runs may differ; "" none */
    struct gnn_kv_list where; /* options and the values they must have; owned by the caller */
};

/* The latest comparison: every finished run of the same workload (dataset, scale, dim, model, world, profile,
 * compute, cap, batch size, fan-out, variant, tag, cold state, build) as the newest finished run, all systems and
 * seeds, oldest first. At most max. Which of them repeat each other: gnn_run_series_open. GNN_EUSAGE when there are
 * more than GNN_CHOICES_MAX conditions. */
GNN_MUST_CHECK enum gnn_status gnn_db_comparison(struct gnn_db *db, const struct gnn_db_choice *choice, uint32_t max,
                                                 int64_t *ids, uint32_t *count, struct gnn_err *err);

/* ---- JSON ---- */

/* One object on one line, names as in results/schema.sql: the run's columns, then epochs[] (each with
 * stages[], counters, figures), stages[] (summed over epochs), counters, config, environment; series[] when
 * with_series. Of an invalid run every time is null. */
GNN_MUST_CHECK enum gnn_status gnn_run_json(const struct gnn_run_record *run, bool with_series, FILE *out,
                                            struct gnn_err *err);

/* As GNN_FIGURE_GPU_BUSY, what crossed the bus: the device's time for it, summed over its lanes, without the gaps
 * between copies, and the bytes. Of several GPUs, times are the busiest one's and bytes all's. */
#define GNN_FIGURE_GPU_COPY "gpu_copy_ns"
#define GNN_FIGURE_GPU_UPLOADED "gpu_uploaded_bytes"
#define GNN_FIGURE_GPU_DOWNLOADED "gpu_downloaded_bytes"

#endif
