/* SPDX-License-Identifier: MIT */
/* BASE and HEAD of a comparison: a database of runs, a kept baseline file, or a build. */
#ifndef GNN_CLI_OPERAND_H
#define GNN_CLI_OPERAND_H

#include "harness/compare/facts.h"
#include "harness/oocgnn.h"

enum gnn_operand_kind { GNN_OPERAND_DATABASE, GNN_OPERAND_BASELINE, GNN_OPERAND_BUILD };

struct gnn_operand {
    enum gnn_operand_kind kind;
    const char *path;
    struct gnn_facts facts;
    json_t *accepted; /* of a baseline file, else NULL */
};

/* What a build runs: the job files exact.ini, instructions.ini and time.ini of a folder. */
struct gnn_gate_jobs {
    char exact[1024], instructions[1024], time[1024];
};

/* dir: the folder, or "" for the one that comes with the program. GNN_ENOENT when it has neither exact.ini nor
 * time.ini. */
GNN_MUST_CHECK enum gnn_status gnn_gate_jobs(const char *dir, struct gnn_gate_jobs *out, struct gnn_err *err);

/* Finds out by the first bytes which of the three it is; reads a database or a baseline, runs nothing. GNN_EUSAGE for
 * any other file. what: "BASE" or "HEAD", for messages. */
GNN_MUST_CHECK enum gnn_status gnn_operand_open(const char *what, const char *path, struct gnn_operand *out,
                                                struct gnn_err *err);
void gnn_operand_close(struct gnn_operand *operand); /* accepts a zeroed one */

/* Lets a build run exact.ini, count instructions.ini, or both, into the operand's facts (nothing for the other kinds).
 * dir: for its databases. */
GNN_MUST_CHECK enum gnn_status gnn_operand_run(struct gnn_operand *operand, const struct gnn_gate_jobs *jobs,
                                               bool exact, bool instructions, const char *data, const char *dir,
                                               struct gnn_err *err);

/* A folder for what builds write, below $TMPDIR or /tmp, and its removal with the files in it. */
GNN_MUST_CHECK enum gnn_status gnn_work_dir_make(char *path, size_t path_bytes, struct gnn_err *err);
void gnn_work_dir_remove(const char *path);

#endif
