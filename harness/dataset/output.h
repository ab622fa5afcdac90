/* SPDX-License-Identifier: MIT */
/* The output of a preparation: a partial directory that becomes the dataset by a rename, files with running checksums,
 * and progress reports. For harness/dataset/ and harness/export/. One thread at a time, except for gnn_out_write_at. */
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
/* Sets the amount of work done and reports it if a fifth of a second has passed. Returns GNN_ECANCELLED if stop is
 * set. */
GNN_MUST_CHECK enum gnn_status gnn_ticker_set(struct gnn_ticker *ticker, uint64_t done, struct gnn_err *err);
/* Returns GNN_ECANCELLED if the job's stop flag is set. Every loop over nodes, edges or bytes must check it several
 * times a second, through the ticker, a write function, or directly. job may be NULL. */
GNN_MUST_CHECK enum gnn_status gnn_job_stopped(const struct gnn_prepare_job *job, const char *phase,
                                               struct gnn_err *err);
/* Sends the last report of the phase. */
void gnn_ticker_end(struct gnn_ticker *ticker);

/* ---- the directory ---- */

struct gnn_output {
    const struct gnn_prepare_job *job;
    bool created;
    int lock_fd; /* lock of the partial directory, held while this process lives; -1: none */
    char target[GNN_OUTPUT_PATH];
    char partial[GNN_OUTPUT_PATH]; /* "<target>.partial-<pid>" */
};

/* Removes partial directories of out_dir whose processes no longer exist. */
void gnn_output_sweep(const char *out_dir);

/* Removes old partial directories, then creates a new one. needed_bytes is compared with the free space first; 0:
 * unknown. Returns GNN_ENOSPC, GNN_EPERM or GNN_ENOENT, which name the directory, or GNN_EUSAGE for a path of invalid
 * length. */
GNN_MUST_CHECK enum gnn_status gnn_output_open(const struct gnn_prepare_job *job, uint64_t needed_bytes,
                                               struct gnn_output *out, struct gnn_err *err);
/* Writes meta, syncs and renames the partial directory to target. Returns GNN_EUSAGE if target exists. */
GNN_MUST_CHECK enum gnn_status gnn_output_commit(struct gnn_output *output, const struct gnn_meta *meta,
                                                 struct gnn_err *err);
/* Syncs a partial directory without a meta file and renames it to target. Returns GNN_EUSAGE if target is a file or a
 * directory with files, or errors of syncing and renaming. */
GNN_MUST_CHECK enum gnn_status gnn_output_publish(struct gnn_output *output, struct gnn_err *err);
/* Moves a finished dataset file, the checksums of its blocks, and the new meta into the existing dataset at target.
 * Returns errors of writing and renaming. */
GNN_MUST_CHECK enum gnn_status gnn_output_commit_into(struct gnn_output *output, const char *file,
                                                      const struct gnn_meta *meta, struct gnn_err *err);
/* The same for `count` finished files of any kind. */
GNN_MUST_CHECK enum gnn_status gnn_output_commit_files(struct gnn_output *output, const char *const *files,
                                                       uint32_t count, const struct gnn_meta *meta,
                                                       struct gnn_err *err);
/* Removes the partial directory unless it was committed, and releases its lock. Accepts a zeroed struct. */
void gnn_output_close(struct gnn_output *output);

/* ---- a file in it ---- */

struct gnn_out_file; /* buffered, sequential */

enum gnn_out_kind {
    GNN_OUT_DATASET, /* checksummed and synced; a large one also block by block (storage/block_sums.h) */
    GNN_OUT_META,    /* synced: meta, and checksums of blocks */
    GNN_OUT_SPILL,   /* read back and removed by this process: neither */
    GNN_OUT_EXPORT,  /* gnn_output_publish() syncs all of them together */
};

/* Creates a file in the partial directory. It must not exist. buffer_bytes is at least 4096. Returns errors of
 * gnn_out_errno(), or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_out_open(struct gnn_output *output, const char *name, uint64_t buffer_bytes,
                                            enum gnn_out_kind kind, struct gnn_out_file **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_out_write(struct gnn_out_file *file, const void *data, uint64_t bytes,
                                             struct gnn_err *err);
/* Reserves disk space for `bytes` bytes if the file system supports it. Many threads can then write at the same time;
 * without it each waits for the one that extends the file. Returns GNN_ENOSPC if the disk is full. */
GNN_MUST_CHECK enum gnn_status gnn_out_reserve(struct gnn_out_file *file, uint64_t bytes, struct gnn_err *err);
/* Writes bytes at an offset, bypassing the page cache if offset, bytes and memory are whole pages. Many threads may
 * call it at once for different bytes of the file. gnn_out_write() must not be used for the same file then. Returns
 * errors of gnn_out_errno(), or GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnn_out_write_at(struct gnn_out_file *file, uint64_t offset_bytes, const void *data,
                                                uint64_t bytes, struct gnn_err *err);
/* Adds data of gnn_out_write_at() to size and checksum. One thread adds all of it, in the order of the file; the data
 * may still be in the process of being written. */
void gnn_out_add(struct gnn_out_file *file, const void *data, uint64_t bytes);
/* Writes node IDs, each id_bytes wide. */
GNN_MUST_CHECK enum gnn_status gnn_out_ids(struct gnn_out_file *file, const gnn_node *ids, uint64_t count,
                                           uint32_t id_bytes, struct gnn_err *err);
/* Closes the file and returns status, the result of writing it. If that is GNN_OK, first flushes and syncs the file,
 * and enters size and checksum of a dataset file into meta (NULL for other kinds). The checksums of the blocks of a
 * large one are written to a file next to it. After an error file may be NULL. */
GNN_MUST_CHECK enum gnn_status gnn_out_end(struct gnn_out_file *file, enum gnn_status status, struct gnn_meta *meta,
                                           struct gnn_err *err);

/* Ends the checksums of the blocks of dataset file `name`, writes them to blocks-NAME, and enters that file into
 * meta. */
struct gnn_block_sums;
GNN_MUST_CHECK enum gnn_status gnn_out_blocks(struct gnn_output *output, const char *name,
                                              struct gnn_block_sums *blocks, struct gnn_meta *meta,
                                              struct gnn_err *err);

/* Writes a whole array as file `name`. meta is NULL unless the kind is GNN_OUT_DATASET. */
GNN_MUST_CHECK enum gnn_status gnn_out_array(struct gnn_output *output, const char *name, const void *data,
                                             uint64_t bytes, enum gnn_out_kind kind, struct gnn_meta *meta,
                                             struct gnn_err *err);

/* Fails with the status for the errno `code` of a failed call on path, and a message. For a full disk the message has
 * the remedy. Returns the status. */
enum gnn_status gnn_out_errno(int code, const char *what, const char *path, struct gnn_err *err);

#endif
