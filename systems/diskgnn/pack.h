/* SPDX-License-Identifier: MIT */
/* Packing: rows are read from the features and appended to what needs them (DiskGNN, SIGMOD 2025, section 5.2).
 *
 * A target is a run of rows in one of the three files: the rows of a cache, a chunk, a window of a disk cache. Every
 * target wants its rows by rising node ID, which is the order of the features: partition after partition of the
 * features is read once, sequentially, and each target appends the rows it finds there. Which rows those are is listed
 * beforehand in a spool, one stream a partition. A disk cache wants its rows in MinHash order in the end: it is cut
 * into windows that fit the memory, and each is put in order when all its rows are there.
 *
 *     list       tables and lists of all mini-batches -> entries (target, count, node IDs) by partition
 *     partition  read its rows and entries; meanwhile the one before is gathered and appended by W threads
 *     order      windows of disk caches: read, permute, write back
 *
 * A piece is a part of an entry that ends with a page of its target, so that several threads append to one target, and
 * about as long as a write should be. W is a number of writes in flight, not of cores.
 *
 * How far it is is kept on the disk now and then, and taken up from there (pack_kept.c).
 *
 * Individual packing, the ablation, reads the pages of each row of each target, pack_depth at a time. */
#ifndef DISKGNN_PACK_H
#define DISKGNN_PACK_H

#include "systems/diskgnn/internal.h"

enum diskgnn_file { DISKGNN_CHUNKS, DISKGNN_DISK, DISKGNN_CACHED, DISKGNN_FILES };
enum { DISKGNN_TARGET_GPU, DISKGNN_TARGET_CPU, DISKGNN_TARGET_CHUNKS /* chunk i is target i + 2; then windows */ };
enum { DISKGNN_WRITE_BYTES = 256 << 10 }; /* of a piece, about: several in flight fill a drive's bandwidth */

struct diskgnn_target {
    struct gnn_file *file;
    uint64_t offset_bytes;
    uint32_t rows, done; /* done: that an append has begun with */
    bool paged;          /* rows of a disk cache: they do not cross pages */
};

/* Rows [first, first + rows) of a segment's disk cache. */
struct diskgnn_window {
    uint32_t segment, first, rows;
    uint64_t order_offset_bytes; /* in the stream of orders: for rows by rising ID, where each comes in the window */
};

/* What an earlier packing has left (pack_kept.c). All zeros: nothing.
 *
 *   packing    the rows of all nodes below next_node are in every target
 *   ordering   chunks and caches are complete, and the first `ordered` windows are in order; the others are lost */
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

    uint64_t memory_bytes; /* of two partitions with their entries; of ordering two windows, half of it */
    uint32_t first_row;    /* that partitions begin with: those before are kept */
    uint32_t partitions, part_rows;
    struct gnn_stream_file *spool;
    struct gnn_stream **streams; /* (partitions) */
    struct gnn_stream *orders;

    unsigned char *tails;   /* (target_count, page) bytes of a page that is not full yet; feature memory */
    unsigned char *zeros;   /* a page; feature memory */
    unsigned char *staging; /* (workers, staging_bytes) feature memory */
    uint64_t staging_bytes;
    uint32_t workers;                            /* individual: one, with the staging of all */
    uint64_t read_ns, read_bytes, written_bytes; /* of features and disk caches; paddings of what is written not */

    struct diskgnn_kept kept;
    bool saved;            /* such a file is there */
    uint64_t unkept_bytes; /* read and written since */
    uint64_t kept_row_count;
};

/* ---- pack_list.c ---- */

/* Fills spool and orders. */
GNN_MUST_CHECK enum gnn_status diskgnn_pack_list(struct diskgnn_packer *p, struct gnn_err *err);

/* ---- pack_rows.c ---- */

/* How many of the next `left` rows of a target make a piece: about as many as one write has, and the last of them ends
 * a page, unless they are all that are left. */
uint32_t diskgnn_piece_rows(const struct diskgnn_packer *p, uint32_t target, uint32_t left);

/* Where row `row` of a target begins in it. */
uint64_t diskgnn_target_offset(const struct diskgnn_packer *p, uint32_t target, uint32_t row);

/* Appends rows to a target, whole pages at a time. */
struct diskgnn_append {
    struct diskgnn_packer *p;
    uint32_t target, row, end; /* rows of the target: the next, and beyond the last */
    unsigned char *staging;
    uint64_t base_bytes; /* of the target: what staging begins with */
};
/* Begins with the next `count` rows. Several appends to a target may be on their way at once if all but the last end
 * with a page; they begin in order, one caller at a time. */
void diskgnn_append_begin(struct diskgnn_append *a, struct diskgnn_packer *p, uint32_t target, uint32_t count,
                          uint32_t worker);
GNN_MUST_CHECK enum gnn_status diskgnn_append_row(struct diskgnn_append *a, const unsigned char *row,
                                                  struct gnn_err *err);
/* Writes what is whole and keeps the rest for the next append; after the target's last row writes that too, padded. */
GNN_MUST_CHECK enum gnn_status diskgnn_append_end(struct diskgnn_append *a, struct gnn_err *err);

/* ---- pack_batched.c, pack_order.c ---- */

GNN_MUST_CHECK enum gnn_status diskgnn_pack_batched(struct diskgnn_packer *p, struct gnn_err *err);
/* Puts the rows of the disk caches, which lie by rising ID in every window, into their order. */
GNN_MUST_CHECK enum gnn_status diskgnn_pack_order(struct diskgnn_packer *p, struct gnn_err *err);

/* ---- pack_kept.c ---- */

/* Fills p->kept. What is damaged, or does not fit this packing, is nothing. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_read(struct diskgnn_packer *p, struct gnn_err *err);
/* Says on the log where packing goes on, when all is listed. GNN_EFORMAT: the tables want other rows there. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_check(const struct diskgnn_packer *p, struct gnn_err *err);
/* How many of a target's rows are there; ids (count): its nodes, rising unless all are. */
uint32_t diskgnn_kept_rows(const struct diskgnn_packer *p, uint32_t target, const gnn_node *ids, uint32_t count);
/* Fills the page that the target's last rows, targets[].done of them, have begun. Uses the first worker's staging. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_page(const struct diskgnn_packer *p, uint32_t target, const gnn_node *ids,
                                                 struct gnn_err *err);
/* Says that `bytes` more were moved and everything up to `now` is written; keeps that every so many of them. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_save(struct diskgnn_packer *p, const struct diskgnn_kept *now,
                                                 uint64_t bytes, struct gnn_err *err);
/* Says that disk caches are changed in place from now on: what was kept before would be wrong. */
GNN_MUST_CHECK enum gnn_status diskgnn_kept_begin_order(struct diskgnn_packer *p, struct gnn_err *err);

/* ---- pack_individual.c ---- */

GNN_MUST_CHECK enum gnn_status diskgnn_pack_individual(struct diskgnn_packer *p, struct gnn_err *err);

#endif
