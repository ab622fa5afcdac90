/* SPDX-License-Identifier: MIT */
/* The packed file of rows in use: a row that a sweep reads from among the features is appended to it as well, so that
 * later sweeps of the run read it there, beside others in use and not among rows that no mini-batch uses.
 *
 *     features   . . 3 . . . . 8 . . . . . 14 . .          a sweep reads through the gaps
 *     packed     3 8 14 | 5 9 | ...                        each sweep's new rows ascending, from a page of their own
 *     place      0 1 2    8 9
 *
 * Row at place p lies at p times row_bytes. A page is written once, and no sweep reads what it writes: rows are known
 * here once all of them are written. So a sweep that ends early leaves nothing half-written behind, and a row is packed
 * at most once.
 *
 * Disk     A scratch file without a name. A full disk ends the packing: what this sweep would have added is forgotten,
 *          and everything else stays as it is. Other errors of reads and writes end the run.
 * Memory   presort_hot_bytes(): 8 bytes a place, 0.19 a node, the writes and reads in flight */
#ifndef PRESORT_HOT_H
#define PRESORT_HOT_H

#include "systems/presort/presort.h"

struct presort_hot; /* one thread at a time */

/* The places that an index has in so many bytes of memory; 0: they are too few for any. */
uint32_t presort_hot_places(const struct gnn_env *env, const struct presort_config *config, uint64_t room_bytes);
uint64_t presort_hot_bytes(const struct gnn_env *env, const struct presort_config *config, uint32_t places);
/* Of a setup with places. held: the rows that the next hyperbatch need not load. Both outlive the file. *out is the
 * caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_hot_open(const struct presort_setup *setup, const uint64_t *held,
                                                struct presort_hot **out, struct gnn_err *err);
void presort_hot_close(struct presort_hot *h); /* accepts NULL; waits for writes under way */

/* The rows that are packed; it stays where it is, and changes with presort_hot_expect and presort_hot_end. */
const struct presort_packed *presort_hot_packed(const struct presort_hot *h);
uint32_t presort_hot_place(const struct presort_hot *h, gnn_node row); /* of a packed one */
/* Reads the packed rows. */
struct gnn_span_reader *presort_hot_reader(const struct presort_hot *h);
const struct gnn_stream *presort_hot_stream(const struct presort_hot *h); /* NULL: there are none */

/* Says whether the run has another sweep after the next one: only then rows are packed. */
void presort_hot_expect(struct presort_hot *h, bool more);
/* A sweep begins whose rows may be appended, as far as places, disk_bytes of the file and budget_bytes of writes go. */
void presort_hot_begin(struct presort_hot *h, uint64_t disk_bytes, uint64_t budget_bytes);
/* Appends a row that is not packed, and comes after those of the same sweep; nothing where there is no room, or the
 * sweep was not begun. */
GNN_MUST_CHECK enum gnn_status presort_hot_append(struct presort_hot *h, gnn_node row, const unsigned char *data,
                                                  struct gnn_err *err);
/* Ends the sweep: its rows are packed. */
GNN_MUST_CHECK enum gnn_status presort_hot_end(struct presort_hot *h, struct gnn_err *err);
/* Forgets the sweep's rows, and waits for what is in flight. */
void presort_hot_cancel(struct presort_hot *h);

struct presort_hot_counts {
    uint64_t rows, written_bytes, writes;
    uint64_t read_bytes, reads;
    uint64_t full; /* sweeps that were not packed as the disk was full: 1 at most in a run */
};
void presort_hot_take_counts(struct presort_hot *h, struct presort_hot_counts *out); /* since the last call */

#endif
