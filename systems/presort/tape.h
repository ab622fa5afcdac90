/* SPDX-License-Identifier: MIT */
/* A tape: part of a scratch file that is written and read in order, whole pages at a time, through one buffer. Writing
 * and later reading use two tapes over one file, or one tape in turn.
 *
 * Memory   presort_tape_bytes(): the buffer.
 * Errors   Those of gnn_write_all and gnn_read_all. */
#ifndef PRESORT_TAPE_H
#define PRESORT_TAPE_H

#include "harness/world/world.h"

struct presort_tape_counts {
    uint64_t written_bytes, writes, read_bytes, reads;
};

/* Owners may read the fields; only tape.c writes them. One thread at a time. */
struct presort_tape {
    struct gnn_world *world;
    struct gnn_file *file; /* the caller's */
    unsigned char *buffer;
    uint64_t at_bytes;    /* writing: the buffer's offset in the file; reading: its end */
    uint64_t used_bytes;  /* of the buffer: filled, or taken */
    uint64_t begin_bytes; /* reading: bytes to skip in the next buffer */
    uint64_t end_bytes;   /* reading: end of what may be read */
    struct presort_tape_counts counts;
};

uint64_t presort_tape_bytes(void);
/* Allocates the buffer, or returns GNN_ENOMEM or GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status presort_tape_open(struct gnn_world *world, struct presort_tape *out,
                                                 struct gnn_err *err);
void presort_tape_close(struct presort_tape *t); /* accepts a zeroed one */

/* Begins writing at the start of a file. */
void presort_tape_begin(struct presort_tape *t, struct gnn_file *file);
GNN_MUST_CHECK enum gnn_status presort_tape_put(struct presort_tape *t, const void *data, uint64_t bytes,
                                                struct gnn_err *err);
/* Writes the contents of the buffer, so that everything that was put can be read. The next byte goes to a new page. */
GNN_MUST_CHECK enum gnn_status presort_tape_flush(struct presort_tape *t, struct gnn_err *err);
/* Returns the offset in the file of the next byte that is put. */
uint64_t presort_tape_position(const struct presort_tape *t);

/* Begins reading at a byte of a file. Reading ends with the page of the byte before end_bytes. */
void presort_tape_seek(struct presort_tape *t, struct gnn_file *file, uint64_t offset_bytes, uint64_t end_bytes);
/* Reads the next `bytes` bytes. Returns GNN_ESHORT past the end. */
GNN_MUST_CHECK enum gnn_status presort_tape_take(struct presort_tape *t, void *data, uint64_t bytes,
                                                 struct gnn_err *err);
/* Skips to the next page, unless the tape is at the beginning of one. */
void presort_tape_pass_page(struct presort_tape *t);

void presort_tape_take_counts(struct presort_tape *t, struct presort_tape_counts *out); /* since the last call */

#endif
