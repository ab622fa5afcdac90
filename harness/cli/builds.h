/* SPDX-License-Identifier: MIT */
/* Builds of this program run as children: what a job file means to them, one run, its record as JSON, its instructions.
 * A build is an executable; what it says is read as text, so builds of different revisions can be compared. */
#ifndef GNN_CLI_BUILDS_H
#define GNN_CLI_BUILDS_H

#include "harness/compare/facts.h"
#include "harness/oocgnn.h"

/* One run of a job file, as a build's `sweep --dry-run` prints it. */
struct gnn_build_cell {
    char section[GNN_NAME_MAX];
    char **arguments; /* (count): "--name=value", and "--set=system.key=value" */
    uint32_t count;
};

struct gnn_build_job {
    struct gnn_build_cell *cells;
    uint32_t count, room;
};

/* Asks the build what the job file means; data: --data of its runs, or "". GNN_EIO when it does not run,
 * GNN_EFORMAT when it has no cells. */
GNN_MUST_CHECK enum gnn_status gnn_build_job_open(const char *program, const char *job_file, const char *data,
                                                  struct gnn_build_job *out, struct gnn_err *err);
void gnn_build_job_close(struct gnn_build_job *job);

/* Reads the plan out of what `sweep --dry-run` printed. */
GNN_MUST_CHECK enum gnn_status gnn_build_job_parse(const char *text, struct gnn_build_job *out, struct gnn_err *err);

/* Runs one cell to its end, recorded in db; *out is its JSON, which the caller decrefs. GNN_EIO when the build ends
 * without printing one, GNN_ECANCELLED when the run was interrupted. */
GNN_MUST_CHECK enum gnn_status gnn_build_run(const char *program, const struct gnn_build_cell *cell, const char *db,
                                             json_t **out, struct gnn_err *err);

/* Runs every cell of the job and adds what came out to facts, which are labelled then. dir: for the database. */
GNN_MUST_CHECK enum gnn_status gnn_build_facts(const char *program, const struct gnn_build_job *job, const char *dir,
                                               struct gnn_facts *facts, struct gnn_err *err);

/* Counts the instructions of the cells' workers under valgrind, one at a time, into facts->instructions. Where that
 * cannot be (no valgrind, instructions that it does not know), facts->no_instructions says why and what would help. */
GNN_MUST_CHECK enum gnn_status gnn_build_instructions(const char *program, const struct gnn_build_job *job,
                                                      const char *dir, struct gnn_facts *facts, struct gnn_err *err);

#endif
