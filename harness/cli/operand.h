/* SPDX-License-Identifier: MIT */
/* BASE and HEAD of a comparison: a database of runs, a baseline file, or a build. */
#ifndef GNN_CLI_OPERAND_H
#define GNN_CLI_OPERAND_H

#include "harness/compare/facts.h"
#include "harness/oocgnn.h"

enum gnn_operand_kind { GNN_OPERAND_DATABASE, GNN_OPERAND_BASELINE, GNN_OPERAND_BUILD };

struct gnn_operand {
    enum gnn_operand_kind kind;
    const char *path;
    struct gnn_facts facts;
    json_t *accepted; /* accepted changes of a baseline file, else NULL */
};

/* The jobs of a build: the job files exact.ini, instructions.ini and time.ini of a directory. */
struct gnn_gate_jobs {
    char exact[1024], instructions[1024], time[1024];
};

/* Finds the job files in dir, or in the directory that comes with the program if dir is "". Returns GNN_ENOENT if it
 * has neither exact.ini nor time.ini. */
GNN_MUST_CHECK enum gnn_status gnn_gate_jobs(const char *dir, struct gnn_gate_jobs *out, struct gnn_err *err);

/* Detects the kind of the file from its first bytes, and reads a database or a baseline. Runs nothing. Returns
 * GNN_EUSAGE for any other file, GNN_ENOENT if there is none, or errors of reading it. what: "BASE" or "HEAD", for
 * messages. */
GNN_MUST_CHECK enum gnn_status gnn_operand_open(const char *what, const char *path, struct gnn_operand *out,
                                                struct gnn_err *err);
void gnn_operand_close(struct gnn_operand *operand); /* accepts a zeroed one */

/* Makes a build run exact.ini, count instructions.ini, or both, into the operand's facts. Does nothing for other kinds.
 * dir: directory for its databases. */
GNN_MUST_CHECK enum gnn_status gnn_operand_run(struct gnn_operand *operand, const struct gnn_gate_jobs *jobs,
                                               bool exact, bool instructions, const char *data, const char *dir,
                                               struct gnn_err *err);

/* Create a directory for the files that builds write, in $TMPDIR or /tmp, and remove it with its files. Return
 * GNN_EPERM if it cannot be created. */
GNN_MUST_CHECK enum gnn_status gnn_work_dir_make(char *path, size_t path_bytes, struct gnn_err *err);
void gnn_work_dir_remove(const char *path);

#endif
