/* SPDX-License-Identifier: MIT */
/* Starting the worker: this executable again, born in its cgroup, with two pipes. */
#ifndef GNN_RUN_SPAWN_H
#define GNN_RUN_SPAWN_H

#include "harness/confine/confine.h"
#include "harness/run/config.h"

#include <sys/types.h>

/* Exit statuses of a child that could not become a worker. */
enum {
    GNN_CHILD_NO_FILES = 125, /* it was left too few file descriptors */
    GNN_CHILD_NO_GROUP = 126, /* it could not enter its control group */
};

struct gnn_child {
    pid_t pid;
    int from_fd;    /* messages of the worker (run/wire.h) */
    int control_fd; /* commands to it; closing it means stop */
};

/* cgroup may be NULL. The worker's arguments are the config printed through its option table, so the hand-over
 * is the command line's own parser. */
GNN_MUST_CHECK enum gnn_status gnn_spawn_worker(const struct gnn_run_config *config, const struct gnn_cgroup *cgroup,
                                                struct gnn_child *out, struct gnn_err *err);

/* The worker's side: the config from argv[2…] of `oocgnn --worker …`. */
GNN_MUST_CHECK enum gnn_status gnn_spawn_parse(int argc, char **argv, struct gnn_run_config *config,
                                               struct gnn_err *err);

#endif
