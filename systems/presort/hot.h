/* SPDX-License-Identifier: MIT */
/* The packed file of rows in use. A row that a sweep reads among the features is also appended to it. Later sweeps of
 * the run read the row there, next to other rows in use instead of rows that no mini-batch uses.
 *
 *     Features   . . 3 . . . . 8 . . . . . 14 . .          a sweep reads through the gaps.
 *     Packed     3 8 14 | 5 9 | ...                        each sweep's new rows ascending, from a new page on.
 *     Place      0 1 2    8 9
 *
 * The row at place p begins at p times row_bytes. A page is written once, and no sweep reads what it writes. Rows of a
 * sweep are packed only when all of them are written. So a sweep that ends early leaves no partial state, and a row is
 * packed at most once.
 *
 * Disk     A scratch file without a name. If the disk is full, packing ends: the rows of this sweep are dropped, and
 *          everything else stays. Other errors of reads and writes end the run.
 * Memory   presort_hot_bytes(): 8 bytes a place, 0.19 a node, the writes and reads in flight. */
#ifndef PRESORT_HOT_H
#define PRESORT_HOT_H

#include "systems/presort/presort.h"

struct presort_hot; /* one thread at a time */

/* Returns the number of places for which room_bytes of memory suffice, or 0 if it is too small for any. */
uint32_t presort_hot_places(const struct gnn_env *env, const struct presort_config *config, uint64_t room_bytes);
uint64_t presort_hot_bytes(const struct gnn_env *env, const struct presort_config *config, uint32_t places);
/* Opens an empty packed file for a setup with places. held is the set of rows that the next hyperbatch need not load.
 * setup and held must outlive the file. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status presort_hot_open(const struct presort_setup *setup, const uint64_t *held,
                                                struct presort_hot **out, struct gnn_err *err);
void presort_hot_close(struct presort_hot *h); /* accepts NULL; waits for writes under way */

/* Returns the packed rows, always at the same address. presort_hot_expect and presort_hot_end change them. */
const struct presort_packed *presort_hot_packed(const struct presort_hot *h);
uint32_t presort_hot_place(const struct presort_hot *h, gnn_node row); /* of a packed one */
/* Returns the reader of the packed rows. */
struct gnn_span_reader *presort_hot_reader(const struct presort_hot *h);
const struct gnn_stream *presort_hot_stream(const struct presort_hot *h); /* NULL: no row is packed */

/* Sets whether the run has another sweep after the next one. Rows are packed only if it has. */
void presort_hot_expect(struct presort_hot *h, bool more);
/* Begins a sweep whose rows may be appended, within the places, disk_bytes of the file and budget_bytes of writes. */
void presort_hot_begin(struct presort_hot *h, uint64_t disk_bytes, uint64_t budget_bytes);
/* Appends a row that is not packed. Rows of a sweep must be ascending. Does nothing if there is no room or the sweep
 * was not begun. A full disk ends the packing and returns GNN_OK. */
GNN_MUST_CHECK enum gnn_status presort_hot_append(struct presort_hot *h, gnn_node row, const unsigned char *data,
                                                  struct gnn_err *err);
/* Ends the sweep and packs its rows. A full disk ends the packing and returns GNN_OK. */
GNN_MUST_CHECK enum gnn_status presort_hot_end(struct presort_hot *h, struct gnn_err *err);
/* Drops the sweep's rows, after waiting for writes in flight. */
void presort_hot_cancel(struct presort_hot *h);

struct presort_hot_counts {
    uint64_t rows, written_bytes, writes;
    uint64_t read_bytes, reads;
    uint64_t full; /* sweeps not packed because the disk was full: at most 1 in a run */
};
void presort_hot_take_counts(struct presort_hot *h, struct presort_hot_counts *out); /* since the last call */

#endif
