/* SPDX-License-Identifier: MIT */
/* The record: one row per run in SQLite, with its epochs, stages, counters, series, configuration and environment. The
 * same data is available as JSON. All names come from results/schema.sql, which is compiled into the program.
 *
 * Unknown values are GNN_UNKNOWN, NAN, -1 (tri-states) or "" (text) here and NULL there; never 0.
 *
 * Several processes may write one database at once (WAL, waits up to 30 s for a lock). Every function below is one
 * transaction. If a supervisor is killed, the database stays readable and its run stays "running". The next writer
 * detects that the process is gone and marks the run "interrupted". A struct gnn_db belongs to one thread. */
#ifndef GNN_RECORD_H
#define GNN_RECORD_H

#include "harness/base/kv.h"
#include "harness/base/reading.h"
#include "harness/oocgnn.h"

#include <stdio.h>

enum {
    GNN_RECORD_STAGES_MAX = 12,   /* both: asserts in run/record_fill.c compare them with the system's limits */
    GNN_RECORD_FIGURES_MAX = 147, /* figures of a system and of the harness */
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

/* Returns `running`, `ok`, `oom`, `gpu_oom`, `oot`, `failed`, `invalid` or `interrupted`. */
const char *gnn_run_status_name(enum gnn_run_status status);

struct gnn_record_counters {
    uint64_t elapsed_ns, cpu_ns; /* time on the run's clock; CPU time of the worker's processes */
    uint64_t needed_bytes, requested_bytes, requested_ios;
    uint64_t requested_write_bytes, requested_write_ios;
    uint64_t device_read_bytes, device_read_ios, device_write_bytes; /* counted by the kernel for the worker's group */
    uint64_t cache_hits, cache_misses, cache_evictions;
    uint64_t rows_asked, rows_read; /* feature rows: requested by mini-batches, delivered by storage */
    uint64_t sampled_nodes, sampled_edges, batches;
    uint64_t batch_digest; /* any 64-bit value; unknown if has_digest is false */
    bool has_digest;
    uint64_t peak_memory_bytes, page_cache_bytes, refaults, prepare_disk_bytes;
};

/* Returns the share of the requested feature rows that storage did not deliver; the definition is the same for all
 * systems. It is below 0 if rows are read more often than they are requested. NAN: unknown. */
double gnn_record_hit_ratio(const struct gnn_record_counters *counters);

/* Looks up a counter by its name in results/schema.sql. Returns false if no counter with a number has this name. *value
 * is NAN if it is unknown; *adds_up is false for peaks and sizes. */
bool gnn_record_counter(const struct gnn_record_counters *counters, const char *name, double *value, bool *adds_up);

/* Times of a stage, summed over its workers. wall = work + waits; work is at most cpu + queued. */
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

/* One epoch. Plain data without pointers: it can pass through a pipe between processes of one build. */
struct gnn_record_epoch {
    uint64_t epoch;
    int complete; /* 1: the work of exactly one epoch; 0: more or less than that; -1 unknown */
    uint64_t wall_ns, prepare_ns;
    double loss, train_accuracy, valid_accuracy, test_accuracy;                 /* NAN: unknown; accuracies in [0, 1] */
    double valid_mrr, valid_raw_mrr, valid_hits_1, valid_hits_3, valid_hits_10; /* link prediction, in [0, 1] */
    double test_mrr, test_raw_mrr, test_hits_1, test_hits_3, test_hits_10;
    struct gnn_record_counters counters;
    uint32_t stage_count, figure_count;
    struct gnn_record_stage stages[GNN_RECORD_STAGES_MAX];
    struct gnn_record_figure figures[GNN_RECORD_FIGURES_MAX];
};

struct gnn_run_record {
    int64_t run_id; /* set by gnn_db_begin */
    enum gnn_run_status status;
    int valid;                            /* 1, 0, -1 not judged yet */
    char reasons[GNN_RECORD_REASONS_MAX]; /* why the run is not ok: one reason per line */
    enum gnn_status failure;              /* status of a failed run's worker; decides the exit status, not stored */
    int signal;                           /* signal that interrupted the run, 0: none; not stored */
    uint64_t started_unix_ns;             /* set by gnn_db_begin when 0 */
    uint64_t wall_ns;                     /* lifetime of the worker, with open and evaluation */

    /* Requested configuration. "" is NULL. */
    char system[GNN_NAME_MAX], dataset[GNN_NAME_MAX], model[GNN_NAME_MAX], preset[GNN_NAME_MAX];
    char world[GNN_NAME_MAX], profile[GNN_NAME_MAX], compute[GNN_NAME_MAX];
    char io_engine[GNN_NAME_MAX]; /* "uring", "pool", "mmap" */
    char variant[GNN_NAME_MAX];   /* "" = the full pipeline; "sample-only" */
    char tag[GNN_NAME_MAX];       /* the user's own name for this run */
    char fanout[GNN_NAME_MAX];    /* "10,10,10" */
    uint64_t scale_divisor;       /* 1/K; the column `scale` holds "1/K" or "1" */
    uint64_t dim, batch_size, epochs_planned, seed;
    uint64_t dataset_bytes; /* topology and features on disk */

    /* The memory limit, as enforced and as read back. */
    uint64_t cap_bytes; /* requested limit; GNN_UNKNOWN: none */
    uint64_t cap_swap_bytes;
    char cap_enforcement[GNN_NAME_MAX]; /* "cgroup-v2", "cgroup-v1", "in-program", "none" */
    uint64_t cap_read_back_bytes, swap_read_back_bytes;
    uint64_t oom_kills;
    uint64_t device_bps, device_iops; /* limits of the device; GNN_UNKNOWN: none */

    /* Requested and observed: 1, 0, -1 unknown. */
    int cold_asked, cold_observed, direct_asked, direct_observed;
    uint64_t resident_start_bytes, resident_end_bytes; /* pages of the dataset's files in the page cache */

    struct gnn_record_counters counters; /* sum over the epochs */
    struct gnn_record_counters before;   /* before the first epoch; counts that only an epoch has are unknown */

    struct gnn_kv_list config, environment; /* owned */
    struct gnn_record_epoch *epochs;        /* owned; gnn_run_record_add_epoch */
    uint32_t epoch_count, epoch_room;
    struct gnn_series_point *series; /* owned; gnn_run_record_add_point */
    uint32_t series_count, series_room;
};

/* Names of the harness's figures. With --batches only a part of the epoch ran. These are the whole epoch's time,
 * whether it is settled (1 or 0), the number of independent groups (0: fewer than four), and the 95 % interval. A time
 * that is not settled has no interval. */
#define GNN_FIGURE_FULL_EPOCH "full_epoch_ns"
#define GNN_FIGURE_FULL_EPOCH_SETTLED "full_epoch_settled"
#define GNN_FIGURE_FULL_EPOCH_GROUPS "full_epoch_groups"
#define GNN_FIGURE_FULL_EPOCH_LOW "full_epoch_low_ns"
#define GNN_FIGURE_FULL_EPOCH_HIGH "full_epoch_high_ns"
/* Time of an epoch in which the device, or its model, had ops to run. Absent if the host computed. */
#define GNN_FIGURE_GPU_BUSY "gpu_busy_ns"
/* Time of a measured epoch that a hypervisor took from all cores. Absent if the kernel does not report it. */
#define GNN_FIGURE_STOLEN "cpu_stolen_ns"
/* Quality of the predictions for validation and test nodes, in millionths. Each is absent if it is unknown. */
#define GNN_FIGURE_VALID_ROC_AUC "valid_roc_auc_millionths"
#define GNN_FIGURE_TEST_ROC_AUC "test_roc_auc_millionths"
#define GNN_FIGURE_VALID_MACRO_F1 "valid_macro_f1_millionths"
#define GNN_FIGURE_TEST_MACRO_F1 "test_macro_f1_millionths"
/* Link prediction, ranks among all nodes: queries of validation and test edges, and those of them whose own end, the
 * node that the query starts from, ranks first. */
#define GNN_FIGURE_VALID_QUERIES "valid_queries"
#define GNN_FIGURE_TEST_QUERIES "test_queries"
#define GNN_FIGURE_VALID_OWN_FIRST "valid_own_first"
#define GNN_FIGURE_TEST_OWN_FIRST "test_own_first"
/* Rows that a system read to fill a cache before an epoch; a figure of that epoch. */
#define GNN_FIGURE_OPEN_ROWS "open_rows"
/* Key of the environment: version of the batch digests. A record without it has version 1. */
#define GNN_ENVIRONMENT_DIGEST_VERSION "batch_digest.version"
#define GNN_DIGEST_VERSION_FIRST "1"
/* Key of the environment: minimum reads of the run's mini-batches (results/schema.sql). */
#define GNN_ENVIRONMENT_BOUND "bound.bytes"
/* Key of the environment: when another measured run used the dataset of this one: "start", "end" or "start and end". */
#define GNN_ENVIRONMENT_SHARED "dataset.shared"
/* Key of the environment: mini-batches of a whole epoch, over all workers, however many of them --max-batches or
 * --batches leave. */
#define GNN_ENVIRONMENT_WHOLE_BATCHES "epoch.whole_batches"
/* Minimum time of an epoch, and the two parts of which it is the larger (docs/floor.md). Each is absent if unknown. */
#define GNN_FIGURE_FLOOR "floor_ns"
#define GNN_FIGURE_FLOOR_DEVICE "floor_device_ns"
#define GNN_FIGURE_FLOOR_TRAINING "floor_training_ns"
/* Keys of the environment: name and digest of the profile that the device's part was computed from. */
#define GNN_ENVIRONMENT_FLOOR "floor.profile"
#define GNN_ENVIRONMENT_CALIBRATED "floor.calibrated" /* when that profile was measured, if it is known */

/* Key of the environment: memory limit that the run's process inherited from its container or control group
 * (results/schema.sql). Absent if there is none. */
#define GNN_ENVIRONMENT_INHERITED "memory.inherited_limit_bytes"

/* cap_enforcement of a memory limit that only the program's own allocations observe. */
#define GNN_CAP_IN_PROGRAM "in-program"

/* Make everything unknown and empty. The status is GNN_RUN_RUNNING. */
void gnn_run_record_init(struct gnn_run_record *run);
void gnn_record_counters_unknown(struct gnn_record_counters *counters);
/* Adds an epoch's counters to the total; of peaks the larger counts. Unknown plus anything is unknown. */
void gnn_record_counters_add(struct gnn_record_counters *total, const struct gnn_record_counters *epoch);
void gnn_record_epoch_unknown(struct gnn_record_epoch *epoch);
void gnn_record_stage_unknown(struct gnn_record_stage *stage);
void gnn_run_record_free(struct gnn_run_record *run); /* frees what run owns, not run itself; accepts NULL */

/* Append a copy of an epoch or of a point. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_run_record_add_epoch(struct gnn_run_record *run,
                                                        const struct gnn_record_epoch *epoch, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_run_record_add_point(struct gnn_run_record *run,
                                                        const struct gnn_series_point *point, struct gnn_err *err);
/* Appends one line to run->reasons, cut at its size. */
void gnn_run_record_reason(struct gnn_run_record *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- database ---- */

struct gnn_db;

enum gnn_db_mode {
    GNN_DB_WRITE, /* created if missing; stale "running" rows become "interrupted" */
    GNN_DB_READ,  /* GNN_ENOENT if missing; the file need not be writable */
};

/* Checks the name of a database. GNN_EUSAGE: it is empty, is special to SQLite (":memory:", "file:..."), or is not a
 * regular file. */
GNN_MUST_CHECK enum gnn_status gnn_db_check_name(const char *path, struct gnn_err *err);

/* Opens a database; *out is the caller's to close, NULL on an error. Errors as gnn_db_check_name. GNN_EFORMAT: the file
 * is not an oocgnn database or has another schema version, which the message names. GNN_ENOENT, GNN_EPERM, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_db_open(const char *path, enum gnn_db_mode mode, struct gnn_db **out,
                                           struct gnn_err *err);
void gnn_db_close(struct gnn_db *db); /* accepts NULL */

/* Inserts the run with status "running", its configuration and environment. Sets run_id, and started_unix_ns if it is
 * 0. */
GNN_MUST_CHECK enum gnn_status gnn_db_begin(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err);
/* Appends one finished epoch with its stages, counters and figures. */
GNN_MUST_CHECK enum gnn_status gnn_db_epoch(struct gnn_db *db, int64_t run_id, const struct gnn_record_epoch *epoch,
                                            struct gnn_err *err);
/* Appends points of the series. Call it every few seconds with the new points. */
GNN_MUST_CHECK enum gnn_status gnn_db_series(struct gnn_db *db, int64_t run_id, const struct gnn_series_point *points,
                                             uint32_t count, struct gnn_err *err);
/* Writes the run's counters before the first epoch, once they are known. */
GNN_MUST_CHECK enum gnn_status gnn_db_before(struct gnn_db *db, int64_t run_id,
                                             const struct gnn_record_counters *before, struct gnn_err *err);
/* Writes every column of the run's row, and its counters over and before the epochs. The status must not be "running"
 * any more. Epochs and series are not written: gnn_db_epoch and gnn_db_series append them. */
GNN_MUST_CHECK enum gnn_status gnn_db_finish(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err);

/* Sets a key of a finished run's environment, for what was found out later. GNN_ENOENT: no such run. */
GNN_MUST_CHECK enum gnn_status gnn_db_set_environment(struct gnn_db *db, int64_t run_id, const char *key,
                                                      const char *value, struct gnn_err *err);

/* Writes status, verdict and reasons of a finished run, for a check that comes later. GNN_ENOENT: no such run. */
GNN_MUST_CHECK enum gnn_status gnn_db_judge(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err);

/* Loads a run with all its data. The caller frees it with gnn_run_record_free. GNN_ENOENT: no such run. */
GNN_MUST_CHECK enum gnn_status gnn_db_load(struct gnn_db *db, int64_t run_id, struct gnn_run_record *out,
                                           struct gnn_err *err);

/* Loads `count` runs into a new array; free it with gnn_run_records_free. *out is NULL after an error. */
GNN_MUST_CHECK enum gnn_status gnn_db_load_all(struct gnn_db *db, const int64_t *ids, uint32_t count,
                                               struct gnn_run_record **out, struct gnn_err *err);
void gnn_run_records_free(struct gnn_run_record *runs, uint32_t count); /* accepts NULL */

/* Writes the last n runs, oldest first, to ids[0..*count). */
GNN_MUST_CHECK enum gnn_status gnn_db_last(struct gnn_db *db, uint32_t n, int64_t *ids, uint32_t *count,
                                           struct gnn_err *err);

/* Selects a comparison. */
enum { GNN_CHOICES_MAX = 16 };
struct gnn_db_choice {
    const char *series;       /* an option in which the runs may differ; "": none */
    struct gnn_kv_list where; /* options and their values, with bars between several; owned by the caller */
    bool any_workload;        /* choose from all workloads, not only from that of the newest run */
};

/* Selects the latest comparison: all finished runs with the workload of the newest finished run, of all systems and
 * seeds. Oldest first, at most `max`. gnn_run_series_open groups repetitions. Runs may differ in an option of which
 * several values are chosen.
 *
 * The workload here is dataset, scale, dim, model, variant, tag, world, profile, compute, memory limit, the inherited
 * memory limit (gnn_run_inherited_bytes), batch size, fan-out, cold state, device limits and build. GNN_EUSAGE: more
 * than GNN_CHOICES_MAX conditions. */
GNN_MUST_CHECK enum gnn_status gnn_db_comparison(struct gnn_db *db, const struct gnn_db_choice *choice, uint32_t max,
                                                 int64_t *ids, uint32_t *count, struct gnn_err *err);

/* ---- JSON ---- */

/* Writes one object on one line, with names as in results/schema.sql. It has the run's columns, then epochs[] (each
 * with stages[], counters, figures), stages[] and counters (summed over epochs), before_first_epoch (counters), config,
 * environment. With with_series it also has series[]. All times of an invalid run are null.
 *
 * first_epoch_ns is the time of the first epoch. epoch_ns is the median over the epochs that count, which have counted
 * = 1 (gnn_run_counts_epoch). */
GNN_MUST_CHECK enum gnn_status gnn_run_json(const struct gnn_run_record *run, bool with_series, FILE *out,
                                            struct gnn_err *err);

/* Names of figures for copies across the bus: the device's time, summed over its lanes without gaps between copies, and
 * the bytes. With several GPUs, times are those of the busiest one, bytes are sums. Absent as GNN_FIGURE_GPU_BUSY. */
#define GNN_FIGURE_GPU_COPY "gpu_copy_ns"
#define GNN_FIGURE_GPU_UPLOADED "gpu_uploaded_bytes"
#define GNN_FIGURE_GPU_DOWNLOADED "gpu_downloaded_bytes"

#endif
