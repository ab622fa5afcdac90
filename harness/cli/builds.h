/* SPDX-License-Identifier: MIT */
/* Runs builds of this program as child processes: the plan of a job file, one run, its record as JSON, its instruction
 * counts. A build is an executable. Its output is parsed as text, so builds of different revisions can be compared. */
#ifndef GNN_CLI_BUILDS_H
#define GNN_CLI_BUILDS_H

#include "harness/compare/facts.h"
#include "harness/oocgnn.h"

/* One run of a job file, as a build's `sweep --dry-run` prints it. */
struct gnn_build_cell {
    char section[GNN_NAME_MAX];
    uint32_t number;  /* of this run among those of its section, from 1 */
    char **arguments; /* (count): "--name=value", and "--set=system.key=value" */
    uint32_t count;
};

struct gnn_build_job {
    struct gnn_build_cell *cells;
    uint32_t count, room;
};

/* Reads the plan of the job file from the build. data: --data of its runs, or "". Returns GNN_EIO if the build does not
 * run, or GNN_EFORMAT if the plan has no configuration. gnn_build_job_close() frees out. */
GNN_MUST_CHECK enum gnn_status gnn_build_job_open(const char *program, const char *job_file, const char *data,
                                                  struct gnn_build_job *out, struct gnn_err *err);
void gnn_build_job_close(struct gnn_build_job *job);

/* Parses the output of `sweep --dry-run`. Returns GNN_EFORMAT if it has no configuration. */
GNN_MUST_CHECK enum gnn_status gnn_build_job_parse(const char *text, struct gnn_build_job *out, struct gnn_err *err);

/* Runs one configuration to its end and records it in db. *out is its JSON, which the caller decrefs. Returns GNN_EIO
 * if the build ends without a record, or GNN_ECANCELLED if the run was interrupted. */
GNN_MUST_CHECK enum gnn_status gnn_build_run(const char *program, const struct gnn_build_cell *cell, const char *db,
                                             json_t **out, struct gnn_err *err);

/* Runs every configuration of the job, adds the results to facts and labels them. dir: directory for the database.
 * Returns errors of gnn_build_run() and gnn_facts_add(). */
GNN_MUST_CHECK enum gnn_status gnn_build_facts(const char *program, const struct gnn_build_job *job, const char *dir,
                                               struct gnn_facts *facts, struct gnn_err *err);

/* Counts the instructions of the configurations' workers under valgrind, one after another, into facts->instructions.
 * If that is not possible, facts->no_instructions has the reason and the remedy, and there are no counts. Reasons are
 * that valgrind is missing, or does not support an instruction of the build. */
GNN_MUST_CHECK enum gnn_status gnn_build_instructions(const char *program, const struct gnn_build_job *job,
                                                      const char *dir, struct gnn_facts *facts, struct gnn_err *err);

#endif
