/* SPDX-License-Identifier: MIT */
/* Kept epochs (presort.reuse): what the hyperbatches of an epoch load, into which slots and out of which blocks, in a
 * scratch file of their own, so that epochs that train on the same mini-batches take it from there and neither draw,
 * plan nor sort again. One epoch is kept at a time.
 *
 *     | counts | windows' mini-batches, loads, first blocks | loads | next blocks | counts | ...
 *
 * They are written and read on one tape (tape.h).
 *
 * Disk     Too little left of a limit ends the keeping of the epoch, and nothing else: the next one is drawn and
 *          planned again. So does a full disk, and no later epoch is kept. Other errors of reads and writes end the
 *          run.
 * Memory   presort_kept_bytes(): the buffer */
#ifndef PRESORT_KEPT_H
#define PRESORT_KEPT_H

#include "systems/presort/presort.h"
#include "systems/presort/tape.h"

struct presort_kept; /* one thread at a time */

/* Returns the bytes of memory that open allocates. */
uint64_t presort_kept_bytes(void);
/* Opens a file without a name. setup outlives it. *out is the caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_kept_open(const struct presort_setup *setup, struct presort_kept **out,
                                                 struct gnn_err *err);
void presort_kept_close(struct presort_kept *k); /* accepts NULL */

/* Returns the bytes that keeping x writes at most. Its loads are planned, and its blocks have their size. */
uint64_t presort_kept_list_bytes(const struct presort_hyperbatch *x);
/* Returns whether the file, which may have file_bytes, has room for x; never after a full disk. */
bool presort_kept_has_room(const struct presort_kept *k, const struct presort_hyperbatch *x, uint64_t file_bytes);

/* Forgets what was kept; hyperbatches of the epoch that drew `drawn` follow. */
void presort_kept_begin(struct presort_kept *k, uint64_t drawn);
/* Forgets what was kept; nothing follows. */
void presort_kept_forget(struct presort_kept *k);
/* Adds x, the epoch's next hyperbatch, which was distributed; with `last` the epoch is kept from here on. Sets *added
 * to false where the disk is full. */
GNN_MUST_CHECK enum gnn_status presort_kept_put(struct presort_kept *k, const struct presort_hyperbatch *x, bool last,
                                                bool *added, struct gnn_err *err);

/* Returns whether all of the epoch that drew `drawn` is kept. */
bool presort_kept_has(const struct presort_kept *k, uint64_t drawn);
/* Goes back to the epoch's first hyperbatch, which is taken next. All of the epoch is kept. */
void presort_kept_rewind(struct presort_kept *k);
/* Makes x the next hyperbatch of the epoch that is kept. */
GNN_MUST_CHECK enum gnn_status presort_kept_take(struct presort_kept *k, struct presort_hyperbatch *x,
                                                 struct gnn_err *err);

void presort_kept_take_counts(struct presort_kept *k, struct presort_tape_counts *out); /* since the last call */

#endif
