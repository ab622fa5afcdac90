/* SPDX-License-Identifier: MIT */
/* Detects what others did to a run while it lasted. A file that it reads was replaced, its memory limit was changed, or
 * its worker was moved out of its group or stopped. The worker notices none of these, but they make figures that the
 * configuration does not describe. One at a time, on the supervisor's thread. */
#ifndef GNN_RUN_DISTURBANCE_H
#define GNN_RUN_DISTURBANCE_H

#include "harness/base/half.h"
#include "harness/record/record.h"

#include <sys/stat.h>
#include <sys/types.h>

enum { GNN_WATCHED_FILES = 8, GNN_WATCHED_PATH = 600 };

struct gnn_disturbance {
    struct {
        char path[GNN_WATCHED_PATH];
        struct stat before;
    } files[GNN_WATCHED_FILES];
    uint32_t file_count;
    const char *group; /* name of the control group; NULL: none */
    bool cap_changed, left_group, stopped;
    uint32_t reasons; /* number appended to the record */
};

/* Records the state of the dataset's files: topology, labels, splits and the features of width `dim` (GNN_UNKNOWN:
 * none). */
void gnn_disturbance_start(struct gnn_disturbance *d, const char *dataset_dir, uint64_t dim,
                           enum gnn_feature_type type);

/* Checks the worker and the limit of its group, and appends new findings to the record's reasons. The worker must be
 * alive, because one that has ended is in no group even before it is reaped. */
void gnn_disturbance_look(struct gnn_disturbance *d, pid_t worker, uint64_t limit_bytes, struct gnn_run_record *run);

/* Compares the files at the end, and appends a reason if one has changed. */
void gnn_disturbance_end(struct gnn_disturbance *d, struct gnn_run_record *run);

#endif
