/* SPDX-License-Identifier: MIT */
/* Merging databases, for sweeps whose run configurations were run on several machines. */
#ifndef GNN_RECORD_MERGE_H
#define GNN_RECORD_MERGE_H

#include "harness/record/record.h"

struct gnn_merged {
    uint32_t added;
    uint32_t known;   /* in db already: same process, started at the same time */
    uint32_t running; /* status "running": left out */
};

/* Copies the runs of the database at `path` into db, which is open for writing. The runs get new numbers. Either all or
 * none are copied; counts are added to *out. GNN_EUSAGE: path is db itself. Otherwise errors of gnn_db_open. */
GNN_MUST_CHECK enum gnn_status gnn_db_merge(struct gnn_db *db, const char *path, struct gnn_merged *out,
                                            struct gnn_err *err);

#endif
