/* SPDX-License-Identifier: MIT */
/* A tape: part of a scratch file that is written and read in order, whole pages at a time, through one buffer. What is
 * written and what is read later are two tapes over one file, or one that is used for both in turn.
 *
 * Memory   presort_tape_bytes(): the buffer
 * Errors   those of gnn_write_all and gnn_read_all */
#ifndef PRESORT_TAPE_H
#define PRESORT_TAPE_H

#include "harness/world/world.h"

struct presort_tape_counts {
    uint64_t written_bytes, writes, read_bytes, reads;
};

/* Owners read it; only tape.c writes it. One thread at a time. */
struct presort_tape {
    struct gnn_world *world;
    struct gnn_file *file; /* the caller's */
    unsigned char *buffer;
    uint64_t at_bytes;    /* of the buffer in the file; reading: of what comes behind it */
    uint64_t used_bytes;  /* of the buffer: filled, or taken */
    uint64_t begin_bytes; /* reading: what of the next buffer is passed over */
    uint64_t end_bytes;   /* reading: of what may be read */
    struct presort_tape_counts counts;
};

uint64_t presort_tape_bytes(void);
/* GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status presort_tape_open(struct gnn_world *world, struct presort_tape *out,
                                                 struct gnn_err *err);
void presort_tape_close(struct presort_tape *t); /* accepts a zeroed one */

/* Writing begins at the start of a file. */
void presort_tape_begin(struct presort_tape *t, struct gnn_file *file);
GNN_MUST_CHECK enum gnn_status presort_tape_put(struct presort_tape *t, const void *data, uint64_t bytes,
                                                struct gnn_err *err);
/* Writes what the buffer holds: all that was put can be read. What follows begins at a page of its own. */
GNN_MUST_CHECK enum gnn_status presort_tape_flush(struct presort_tape *t, struct gnn_err *err);
/* Where in the file the next byte goes that is put. */
uint64_t presort_tape_position(const struct presort_tape *t);

/* Reading begins at a byte of a file, and ends with the page that holds the byte before end_bytes. */
void presort_tape_seek(struct presort_tape *t, struct gnn_file *file, uint64_t offset_bytes, uint64_t end_bytes);
/* GNN_ESHORT beyond the end. */
GNN_MUST_CHECK enum gnn_status presort_tape_take(struct presort_tape *t, void *data, uint64_t bytes,
                                                 struct gnn_err *err);
/* Goes on at the next page, unless it is at the beginning of one. */
void presort_tape_pass_page(struct presort_tape *t);

void presort_tape_take_counts(struct presort_tape *t, struct presort_tape_counts *out); /* since the last call */

#endif
