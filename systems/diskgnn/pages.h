/* SPDX-License-Identifier: MIT */
/* Reads of a segment's disk cache: every page that a mini-batch needs once, in ascending order, by several threads with
 * a ring each (DiskGNN, section 6). Pages are dealt in groups: a thread fills its ring with one group, handed over in
 * small submissions, waits for all of it, copies its rows to their places in the partial input, and takes its next.
 *
 * Threads  one driver; the team's workers read and copy meanwhile. */
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
};

/* What one mini-batch wants: row from[i] of a disk cache goes to rows + i rows. from never falls: rows of one page lie
 * together. */
struct diskgnn_page_rows {
    struct gnn_file *file;
    uint64_t offset_bytes;  /* of the disk cache */
    const uint32_t *from;   /* (count) */
    struct gnn_file *table; /* where `from` was read, for messages */
    uint32_t count;
    uint32_t end;        /* rows of the disk cache */
    unsigned char *rows; /* feature memory */
};

/* Memory: diskgnn_pages_bytes. Errors of the rings and the allocator; *out is the caller's to close also then. */
GNN_MUST_CHECK enum gnn_status diskgnn_pages_open(const struct gnn_env *env, const struct diskgnn_pages_config *config,
                                                  struct diskgnn_pages **out, struct gnn_err *err);
void diskgnn_pages_close(struct diskgnn_pages *pages); /* accepts NULL */
uint64_t diskgnn_pages_bytes(const struct diskgnn_pages_config *config);

/* Loads the rows. *read: pages that were read. GNN_EFORMAT: rows out of order or of none. GNN_ECANCELLED: the pipeline
 * stops, for a failed read among other reasons; the rows are undefined then. */
GNN_MUST_CHECK enum gnn_status diskgnn_pages_load(struct diskgnn_pages *pages, const struct diskgnn_page_rows *wanted,
                                                  uint32_t *read, struct gnn_err *err);

#endif
