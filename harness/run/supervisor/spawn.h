/* SPDX-License-Identifier: MIT */
/* Starts the worker: this executable again, in its control group, with two pipes. */
#ifndef GNN_RUN_SPAWN_H
#define GNN_RUN_SPAWN_H

#include "harness/confine/confine.h"
#include "harness/run/config.h"

#include <sys/types.h>

/* Exit statuses of a child that could not become a worker. */
enum {
    GNN_CHILD_NO_FILES = 125, /* too few file descriptors were left */
    GNN_CHILD_NO_GROUP = 126, /* it could not enter its control group */
};

struct gnn_child {
    pid_t pid;
    int from_fd;    /* messages from the worker (run/wire.h) */
    int control_fd; /* commands to the worker; closing it means stop */
};

/* Starts a worker; cgroup may be NULL. Its arguments are the configuration printed through the option table, so the
 * same parser reads it. GNN_ETHREADS, GNN_ENOMEM: fork failed. GNN_EIO, GNN_EFILES: no pipe. */
GNN_MUST_CHECK enum gnn_status gnn_spawn_worker(const struct gnn_run_config *config, const struct gnn_cgroup *cgroup,
                                                struct gnn_child *out, struct gnn_err *err);

/* Parses the configuration from argv[2…] of `oocgnn --worker …`, on the worker's side. GNN_EUSAGE, GNN_EBUG. */
GNN_MUST_CHECK enum gnn_status gnn_spawn_parse(int argc, char **argv, struct gnn_run_config *config,
                                               struct gnn_err *err);

#endif
