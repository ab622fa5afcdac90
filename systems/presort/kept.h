/* SPDX-License-Identifier: MIT */
/* Kept epochs (presort.reuse): the loads of an epoch's hyperbatches, with slots and blocks, in a scratch file. Epochs
 * that train on the same mini-batches read them from there, so they do not draw, plan or sort again. One epoch is kept
 * at a time. Its lists are on one tape (tape.h):
 *
 *     | counts | windows' mini-batches, loads, first blocks | loads | next blocks | counts | ...
 *
 * Memory   presort_kept_bytes(): the buffer.
 * Disk     If a limit or the disk leaves too little room, the epoch is not kept, and the next one is drawn and planned
 *          again. After a full disk no later epoch is kept either. Other errors of reads and writes end the run. */
#ifndef PRESORT_KEPT_H
#define PRESORT_KEPT_H

#include "systems/presort/presort.h"
#include "systems/presort/tape.h"

struct presort_kept; /* one thread at a time */

/* Returns the bytes of memory that open allocates. */
uint64_t presort_kept_bytes(void);
/* Opens a file without a name. setup must outlive it. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status presort_kept_open(const struct presort_setup *setup, struct presort_kept **out,
                                                 struct gnn_err *err);
void presort_kept_close(struct presort_kept *k); /* accepts NULL */

/* Returns an upper limit of the bytes that keeping x writes. The loads of x must be planned and the size of its blocks
 * set. */
uint64_t presort_kept_list_bytes(const struct presort_hyperbatch *x);
/* Returns whether the file, of file_bytes at most, has room for x. After a full disk it is always false. */
bool presort_kept_has_room(const struct presort_kept *k, const struct presort_hyperbatch *x, uint64_t file_bytes);

/* Drops what was kept and starts keeping the hyperbatches of the epoch that drew `drawn`. */
void presort_kept_begin(struct presort_kept *k, uint64_t drawn);
/* Drops what was kept. */
void presort_kept_forget(struct presort_kept *k);
/* Adds x, the epoch's next hyperbatch, which must be distributed. With `last` the epoch is kept from then on. If the
 * disk is full, sets *added to false and returns GNN_OK. */
GNN_MUST_CHECK enum gnn_status presort_kept_put(struct presort_kept *k, const struct presort_hyperbatch *x, bool last,
                                                bool *added, struct gnn_err *err);

/* Returns whether all of the epoch that drew `drawn` is kept. */
bool presort_kept_has(const struct presort_kept *k, uint64_t drawn);
/* Returns to the epoch's first hyperbatch, which is taken next. All of the epoch must be kept. */
void presort_kept_rewind(struct presort_kept *k);
/* Reads the next hyperbatch of the kept epoch into x. */
GNN_MUST_CHECK enum gnn_status presort_kept_take(struct presort_kept *k, struct presort_hyperbatch *x,
                                                 struct gnn_err *err);

void presort_kept_take_counts(struct presort_kept *k, struct presort_tape_counts *out); /* since the last call */

#endif
