/* SPDX-License-Identifier: MIT */
/* Joining databases: those of a sweep whose cells were run on several machines. */
#ifndef GNN_RECORD_MERGE_H
#define GNN_RECORD_MERGE_H

#include "harness/record/record.h"

struct gnn_merged {
    uint32_t added;
    uint32_t known;   /* were there already: of the same process, started at the same moment */
    uint32_t running; /* are in progress, or say so: left out */
};

/* Copies the runs of the database at path into db, which is open for writing, under numbers of their own, all of them
 * or none. *out is added to. GNN_EUSAGE: path is db itself; else errors of gnn_db_open. */
GNN_MUST_CHECK enum gnn_status gnn_db_merge(struct gnn_db *db, const char *path, struct gnn_merged *out,
                                            struct gnn_err *err);

#endif
