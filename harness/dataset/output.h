/* SPDX-License-Identifier: MIT */
/* Where a preparation writes: a partial directory that becomes the dataset by a rename, files with running checksums,
 * and a ticker for progress. Internal to harness/dataset/. One thread at a time, but for gnn_out_write_at. */
#ifndef GNN_DATASET_OUTPUT_H
#define GNN_DATASET_OUTPUT_H

#include "harness/dataset/prepare.h"
#include "harness/storage/meta.h"

enum { GNN_OUTPUT_PATH = 1024 };

/* ---- progress ---- */

struct gnn_ticker {
    const struct gnn_prepare_job *job;
    struct gnn_progress report;
    uint64_t start_ns, last_ns;
};

void gnn_ticker_start(struct gnn_ticker *ticker, const struct gnn_prepare_job *job, const char *phase, const char *unit,
                      uint64_t total);
/* Sets the amount done so far and reports when a fifth of a second has passed. GNN_ECANCELLED once stop is raised. */
GNN_MUST_CHECK enum gnn_status gnn_ticker_set(struct gnn_ticker *ticker, uint64_t done, struct gnn_err *err);
/* GNN_ECANCELLED once the job's stop flag is raised. Every loop over nodes, edges or bytes asks several times a second,
 * through the ticker, through what it writes, or itself. job may be NULL. */
GNN_MUST_CHECK enum gnn_status gnn_job_stopped(const struct gnn_prepare_job *job, const char *phase,
                                               struct gnn_err *err);
/* The phase's last report. */
void gnn_ticker_end(struct gnn_ticker *ticker);

/* ---- the directory ---- */

struct gnn_output {
    const struct gnn_prepare_job *job;
    bool created;
    int lock_fd; /* of the partial directory: held while this process lives; -1 none */
    char target[GNN_OUTPUT_PATH];
    char partial[GNN_OUTPUT_PATH]; /* "<target>.partial-<pid>" */
};

/* Removes the partial directories beside out_dir of processes that no longer exist. */
void gnn_output_sweep(const char *out_dir);

/* Makes the partial directory after a sweep. needed_bytes is compared with the free space first; 0: unknown.
 * GNN_ENOSPC, GNN_EPERM, GNN_ENOENT name the directory. */
GNN_MUST_CHECK enum gnn_status gnn_output_open(const struct gnn_prepare_job *job, uint64_t needed_bytes,
                                               struct gnn_output *out, struct gnn_err *err);
/* Writes meta, syncs, renames. GNN_EUSAGE when target exists. */
GNN_MUST_CHECK enum gnn_status gnn_output_commit(struct gnn_output *output, const struct gnn_meta *meta,
                                                 struct gnn_err *err);
/* Moves one finished file and the new meta into the existing dataset at target. */
GNN_MUST_CHECK enum gnn_status gnn_output_commit_into(struct gnn_output *output, const char *file,
                                                      const struct gnn_meta *meta, struct gnn_err *err);
/* Removes whatever has not been committed. Accepts a zeroed struct. */
void gnn_output_close(struct gnn_output *output);

/* Waits until no other process changes the dataset in dir, and keeps others from it until the descriptor is closed: -1
 * after an error. GNN_ECANCELLED when the job is stopped meanwhile. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_lock(const struct gnn_prepare_job *job, const char *dir, int *lock_fd,
                                                struct gnn_err *err);

/* ---- a file in it ---- */

struct gnn_out_file; /* buffered, sequential */

enum gnn_out_kind {
    GNN_OUT_DATASET, /* checksummed and synced */
    GNN_OUT_META,    /* synced */
    GNN_OUT_SPILL,   /* read back and removed by this process: neither */
};

/* buffer_bytes at least 4096. The file must not exist. */
GNN_MUST_CHECK enum gnn_status gnn_out_open(struct gnn_output *output, const char *name, uint64_t buffer_bytes,
                                            enum gnn_out_kind kind, struct gnn_out_file **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_out_write(struct gnn_out_file *file, const void *data, uint64_t bytes,
                                             struct gnn_err *err);
/* Sets the disk space of so many bytes aside, where the file system can: many threads then write at once, where each
 * would wait for the one that makes the file longer. GNN_ENOSPC. */
GNN_MUST_CHECK enum gnn_status gnn_out_reserve(struct gnn_out_file *file, uint64_t bytes, struct gnn_err *err);
/* Writes bytes at an offset, past the page cache where offset, bytes and memory are whole pages. Many threads may do so
 * at once, each other bytes of the file, in which gnn_out_write then has no part. */
GNN_MUST_CHECK enum gnn_status gnn_out_write_at(struct gnn_out_file *file, uint64_t offset_bytes, const void *data,
                                                uint64_t bytes, struct gnn_err *err);
/* Adds what was, or is being, written so to size and checksum: all of it, in the order of the file, by one thread. */
void gnn_out_add(struct gnn_out_file *file, const void *data, uint64_t bytes);
/* Writes node IDs, id_bytes each. */
GNN_MUST_CHECK enum gnn_status gnn_out_ids(struct gnn_out_file *file, const gnn_node *ids, uint64_t count,
                                           uint32_t id_bytes, struct gnn_err *err);
/* Closes the file and returns status, the outcome of writing it. When that is GNN_OK, flushes and syncs first and
 * enters size and checksum of a dataset file into meta (NULL for other kinds). After a failure file may be NULL. */
GNN_MUST_CHECK enum gnn_status gnn_out_end(struct gnn_out_file *file, enum gnn_status status, struct gnn_meta *meta,
                                           struct gnn_err *err);

/* Writes a whole array as file `name`; meta is NULL unless the kind is GNN_OUT_DATASET. */
GNN_MUST_CHECK enum gnn_status gnn_out_array(struct gnn_output *output, const char *name, const void *data,
                                             uint64_t bytes, enum gnn_out_kind kind, struct gnn_meta *meta,
                                             struct gnn_err *err);

/* errno of a failed call on path as status and message: a full disk says what to do about it. */
enum gnn_status gnn_out_errno(int code, const char *what, const char *path, struct gnn_err *err);

#endif
