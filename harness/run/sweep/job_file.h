/* SPDX-License-Identifier: MIT */
/* Job files: a grid of runs as data, in the shape of fio's. INI (harness/base/ini.h):
 *
 *   [global]                    what every section begins with
 *   include = common.ini        puts that file's [global] here; in [global] its sections are run too, before these
 *   [name]                      one case; keys are options of `oocgnn run`, or system.key
 *   memory = 8G..128G*2         a key with several values (harness/run/sweep/grid.h) makes a grid of the case
 *
 * A later entry of a name replaces an earlier one. A file is looked for beside the one that includes it. */
#ifndef GNN_RUN_SWEEP_JOB_FILE_H
#define GNN_RUN_SWEEP_JOB_FILE_H

#include "harness/base/kv.h"
#include "harness/run/config.h"
#include "harness/run/sweep/grid.h"

struct gnn_job_cell {
    char section[GNN_NAME_MAX];
    struct gnn_run_config config; /* checked and resolved, unless it is refused */
    struct gnn_kv_list choices;   /* every key of the case with the value it has here, as the file writes it */
    char refusal[GNN_ERR_MAX];    /* why there can be no such run; "" */
};

struct gnn_job {
    struct gnn_job_cell *cells;
    uint32_t count, room;
};

/* All may be NULL. Lists of words end with NULL. */
struct gnn_job_options {
    const struct gnn_kv_list *overrides; /* win over the file; a value of NULL takes the key out */
    const char *const *other_sections;   /* of the file that are no cases */
    const char *const *other_keys;       /* that are no options: kept among the choices alone */
    bool keep_refused;                   /* a combination that cannot be run is a cell with its refusal, no error */
    bool pass_without_system;            /* a case that names no system is none */
    bool foreign_keys; /* keys are another program's: kept among the choices alone, and only bars part their values */
};

/* Reads the file and makes every combination, the last key turning fastest. GNN_EUSAGE names file, line or case, and
 * what is wrong; GNN_ENOENT a file that is not there. */
GNN_MUST_CHECK enum gnn_status gnn_job_open(const char *path, const struct gnn_job_options *options,
                                            struct gnn_job **out, struct gnn_err *err);
void gnn_job_close(struct gnn_job *job); /* accepts NULL */

/* Drops every case whose key has none of these values. A case without the key stays where it is a system's parameter,
 * which other systems do not have, and goes where it is an option of every run. */
void gnn_job_keep(struct gnn_job *job, const char *key, const struct gnn_grid_values *values);

#endif
