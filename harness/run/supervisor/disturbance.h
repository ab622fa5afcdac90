/* SPDX-License-Identifier: MIT */
/* What others did to a run while it lasted: another file in the place of one that it reads, another cap, its worker
 * taken out of its group, or stopped. None of it is seen by the worker; all of it makes figures that are not those
 * of the configuration. One at a time, on the supervisor's thread. */
#ifndef GNN_RUN_DISTURBANCE_H
#define GNN_RUN_DISTURBANCE_H

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
    uint32_t reasons; /* appended to the record */
};

/* Notes the dataset's files as they are: topology, labels, splits and the features of that width (GNN_UNKNOWN:
 * none). */
void gnn_disturbance_start(struct gnn_disturbance *d, const char *dataset_dir, uint64_t dim);

/* Looks at the worker and the limit of its group, and appends to the record's reasons what is new. The worker must be
 * alive: one that ended and was not reaped yet is in no group. */
void gnn_disturbance_look(struct gnn_disturbance *d, pid_t worker, uint64_t limit_bytes, struct gnn_run_record *run);

/* Compares the files at the end. */
void gnn_disturbance_end(struct gnn_disturbance *d, struct gnn_run_record *run);

#endif
