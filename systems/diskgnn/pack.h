/* SPDX-License-Identifier: MIT */
/* Packing: rows are read from the features and appended to the targets that need them (DiskGNN, SIGMOD 2025, section
 * 5.2). A target is a run of rows in one of the three files: the rows of a cache, a chunk, or a window of a disk cache.
 * Every target needs its rows by rising node ID, which is the order of the features. So partition after partition of
 * the features is read once, sequentially, and each target appends the rows that it finds there. A spool lists these
 * rows beforehand, in one stream a partition. The final order of a disk cache is the MinHash order. It is cut into
 * windows that fit the memory. Each window is put in order when all its rows are there.
 *
 *     List      Reads tables and lists of all mini-batches and writes entries (target, count, node IDs) by partition.
 *     Partition Reads a partition's rows and entries. Meanwhile W threads gather and append the one before.
 *     Order     Reads, permutes and writes back each window of the disk caches.
 *
 * A piece is a part of an entry that ends with a page of its target. So several threads can append to one target. It is
 * about as long as a write should be. W is a number of writes in flight, not of cores.
 *
 * The progress is saved to the disk at intervals, and an interrupted packing resumes from there (pack_kept.c).
 *
 * Individual packing, the ablation, reads the pages of each row of each target, pack_depth at a time. */
#ifndef DISKGNN_PACK_H
#define DISKGNN_PACK_H

#include "systems/diskgnn/internal.h"

enum diskgnn_file { DISKGNN_CHUNKS, DISKGNN_DISK, DISKGNN_CACHED, DISKGNN_FILES };
enum { DISKGNN_TARGET_GPU, DISKGNN_TARGET_CPU, DISKGNN_TARGET_CHUNKS /* chunk i is target i + 2; then windows */ };
enum { DISKGNN_WRITE_BYTES = 256 << 10 }; /* length of pieces, about: several in flight fill a drive's bandwidth */

struct diskgnn_target {
    struct gnn_file *file;
    uint64_t offset_bytes;
    uint32_t rows, done; /* done: rows with which an append has begun */
    bool paged;          /* rows of a disk cache, which do not cross pages */
};

/* Rows [first, first + rows) of a segment's disk cache. */
struct diskgnn_window {
    uint32_t segment, first, rows;
    uint64_t order_offset_bytes; /* in the stream of orders: the place in the window of each row by rising ID */
};

/* The progress of an earlier packing (pack_kept.c). All zeros: there is none. During packing, the rows of all nodes
 * below next_node are in every target. During ordering, chunks and caches are complete, and the first `ordered` windows
 * are in order; the other windows are lost. */
struct diskgnn_kept {
    bool any, ordering;
    uint32_t next_node, ordered, window_rows;
    uint64_t rows; /* in all targets together */
};

struct diskgnn_packer {
    struct diskgnn_job *job;
    const struct diskgnn_sampled *sampled;
    struct diskgnn_layout *layout;
    struct gnn_file *files[DISKGNN_FILES], *features;
    struct diskgnn_target *targets; /* (target_count) */
    struct diskgnn_window *windows; /* (window_count) window w is target 2 + n + w */
    uint32_t target_count, window_count, window_rows;

    uint64_t memory_bytes; /* of two partitions with their entries, or twice that of ordering two windows */
    uint32_t first_row;    /* of the first partition: rows before it are kept */
    uint32_t partitions, part_rows;
    struct gnn_stream_file *spool;
    struct gnn_stream **streams; /* (partitions) */
    struct gnn_stream *orders;

    unsigned char *tails;   /* (target_count, page) bytes of a page that is not full yet; feature memory */
    unsigned char *zeros;   /* a page; feature memory */
    unsigned char *staging; /* (workers, staging_bytes) feature memory */
    uint64_t staging_bytes;
    uint32_t workers;                            /* individual: one, with the staging of all */
    uint64_t read_ns, read_bytes, written_bytes; /* of features and disk caches; written bytes without padding */

    struct diskgnn_kept kept;
    bool saved;            /* the file of the progress exists */
    uint64_t unkept_bytes; /* read and written since then */
    uint64_t kept_row_count;
};

/* ---- pack_list.c ---- */

/* Fills spool and orders from the tables and lists. Returns GNN_EFORMAT if they are damaged. */
GNN_MUST_CHECK enum gnn_status diskgnn_pack_list(struct diskgnn_packer *p, struct gnn_err *err);

/* ---- pack_rows.c ---- */

/* Returns how many of the next `left` rows of a target make a piece: about as many as one write has. A piece ends with
 * a page, or with the target's last row. */
uint32_t diskgnn_piece_rows(const struct diskgnn_packer *p, uint32_t target, uint32_t left);

/* Returns the offset in bytes of row `row` from the beginning of its target. */
uint64_t diskgnn_target_offset(const struct diskgnn_packer *p, uint32_t target, uint32_t row);

/* An append of rows to a target, whole pages at a time. */
struct diskgnn_append {
    struct diskgnn_packer *p;
    uint32_t target, row, end; /* rows of the target: the next, and the end */
    unsigned char *staging;
    uint64_t base_bytes; /* offset in the target at which staging begins */
};
/* Begins an append of the next `count` rows. Several appends to a target may be in progress at once if all but the last
 * end with a page. They must begin in order, one caller at a time. */
void diskgnn_append_begin(struct diskgnn_append *a, struct diskgnn_packer *p, uint32_t target, uint32_t count,
                          uint32_t worker);
GNN_MUST_CHECK enum gnn_status diskgnn_append_row(struct diskgnn_append *a, const unsigned char *row,
                                                  struct gnn_err *err);
/* Writes the whole pages and keeps the rest for the next append. After the target's last row it writes the rest too,
 * padded. */
GNN_MUST_CHECK enum gnn_status diskgnn_append_end(struct diskgnn_append *a, struct gnn_err *err);

/* ---- pack_batched.c, pack_order.c ---- */

GNN_MUST_CHECK enum gnn_status diskgnn_pack_batched(struct diskgnn_packer *p, struct gnn_err *err);
/* Puts the rows of the disk caches, which are by rising ID in every window, into their final order. */
GNN_MUST_CHECK enum gnn_status diskgnn_pack_order(struct diskgnn_packer *p, struct gnn_err *err);

/* ---- pack_kept.c ---- */

/* Reads the saved progress into p->kept. A file that is damaged or does not fit this packing counts as none. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_read(struct diskgnn_packer *p, struct gnn_err *err);
/* Checks the saved progress after listing and logs where packing resumes. Returns GNN_EFORMAT if the tables require
 * other rows there. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_check(const struct diskgnn_packer *p, struct gnn_err *err);
/* Returns the number of a target's rows that an earlier packing wrote. ids (count) are its nodes, rising unless all
 * rows are there. */
uint32_t diskgnn_kept_rows(const struct diskgnn_packer *p, uint32_t target, const gnn_node *ids, uint32_t count);
/* Fills the last page of a target again, if its rows so far (targets[].done) do not end with a page. Uses the first
 * worker's staging. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_page(const struct diskgnn_packer *p, uint32_t target, const gnn_node *ids,
                                                 struct gnn_err *err);
/* Adds `bytes` that were moved since the last call; everything up to `now` is written. Saves the progress once option
 * checkpoint's bytes have been moved. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_save(struct diskgnn_packer *p, const struct diskgnn_kept *now,
                                                 uint64_t bytes, struct gnn_err *err);
/* Saves the progress before disk caches are changed in place, because what was saved before would be wrong. Does
 * nothing if none was saved. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_begin_order(struct diskgnn_packer *p, struct gnn_err *err);

/* ---- pack_individual.c ---- */

GNN_MUST_CHECK enum gnn_status diskgnn_pack_individual(struct diskgnn_packer *p, struct gnn_err *err);

#endif
