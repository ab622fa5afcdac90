/* SPDX-License-Identifier: MIT */
/* Reads of a segment's disk cache: every page that a mini-batch needs once, in ascending order. Several threads read,
 * each with its own ring (DiskGNN, section 6). Pages are dealt in groups. A thread submits one group to its ring in
 * small submissions and waits for all of it. Then it copies the rows to their places in the partial input and takes its
 * next group.
 *
 * Threads  One driver. The team's workers read and copy meanwhile. */
#ifndef DISKGNN_PAGES_H
#define DISKGNN_PAGES_H

#include "harness/pipeline/team.h"
#include "systems/diskgnn/prepare.h"

struct diskgnn_pages;

struct diskgnn_pages_config {
    struct gnn_team *team;
    uint32_t rings;   /* = the team's workers */
    uint32_t entries; /* of a ring: pages of a group */
    uint32_t submit;  /* reads handed over at a time */
    struct diskgnn_rows rows;
    uint32_t pages_most; /* of one load */
    bool new_memory;     /* charge the first touch of what a load reads into */
};

/* The rows that one mini-batch needs: row from[i] of a disk cache goes to row i of `rows`. from never falls, so rows of
 * one page are adjacent. */
struct diskgnn_page_rows {
    struct gnn_file *file;
    uint64_t offset_bytes;  /* of the disk cache */
    const uint32_t *from;   /* (count) */
    struct gnn_file *table; /* the file that `from` was read from, for messages */
    uint32_t count;
    uint32_t end;        /* rows of the disk cache */
    unsigned char *rows; /* feature memory */
};

/* Opens the rings and their buffers, diskgnn_pages_bytes in all. Returns errors of the rings and the allocator; the
 * caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status diskgnn_pages_open(const struct gnn_env *env, const struct diskgnn_pages_config *config,
                                                  struct diskgnn_pages **out, struct gnn_err *err);
void diskgnn_pages_close(struct diskgnn_pages *pages); /* accepts NULL */
uint64_t diskgnn_pages_bytes(const struct diskgnn_pages_config *config);

/* Loads the rows. *read is the number of pages that were read. Returns GNN_EFORMAT if rows are out of order or outside
 * the disk cache. Returns GNN_ECANCELLED if the pipeline stops, for example after a failed read; the rows are then
 * undefined. */
GNN_MUST_CHECK enum gnn_status diskgnn_pages_load(struct diskgnn_pages *pages, const struct diskgnn_page_rows *wanted,
                                                  uint32_t *read, struct gnn_err *err);

#endif
