/* SPDX-License-Identifier: MIT */
/* What a comparison found, and what is red of it. Exact values: every change. Instruction counts: more than the
 * tolerance. Times: what the pairs of harness/compare/ab.h say. A change that was accepted, with a reason that is kept,
 * is no longer red. */
#ifndef GNN_COMPARE_CHANGES_H
#define GNN_COMPARE_CHANGES_H

#include "harness/compare/ab.h"
#include "harness/compare/facts.h"

#include <stdio.h>

enum gnn_change_kind {
    GNN_CHANGE_EXACT,        /* a value differs, or is gone */
    GNN_CHANGE_MISSING,      /* a cell of BASE that HEAD does not have */
    GNN_CHANGE_UNSTEADY,     /* HEAD's own runs of one cell disagree */
    GNN_CHANGE_INSTRUCTIONS, /* of a function, or in total */
    GNN_CHANGE_TIME,
    GNN_CHANGE_KINDS
};

enum gnn_judgement { GNN_JUDGED_RED, GNN_JUDGED_ACCEPTED, GNN_JUDGED_NOTE };

struct gnn_change {
    enum gnn_change_kind kind;
    enum gnn_judgement judgement;
    char cell[GNN_CELL_LABEL_BYTES];
    char name[3 * GNN_NAME_MAX]; /* of the value: "epoch 0 requested_ios"; "" for a whole cell */
    char base[2 * GNN_NAME_MAX], head[2 * GNN_NAME_MAX];
    char text[256]; /* in words: by how much, with what certainty, why accepted */
};

/* Zeroed is empty. */
struct gnn_changes {
    struct gnn_change *of;
    uint32_t count, room;
    uint32_t cells, values;         /* compared exactly */
    uint32_t new_cells, new_values; /* of HEAD alone: no change of anything */
    uint32_t functions, series;     /* compared by instructions, by time */
    uint32_t unsure;                /* series without a verdict */
};

void gnn_changes_clear(struct gnn_changes *changes);

/* GNN_EUSAGE when no cell of one is a cell of the other: such a comparison could not turn red. */
GNN_MUST_CHECK enum gnn_status gnn_compare_exact(const struct gnn_facts *base, const struct gnn_facts *head,
                                                 struct gnn_changes *out, struct gnn_err *err);

/* Compares the total and base's hot loops. tolerance: a share, 0.005. Functions that only one of them names are seen in
 * "total" alone. */
GNN_MUST_CHECK enum gnn_status gnn_compare_instructions(const struct gnn_facts *base, const struct gnn_facts *head,
                                                        double tolerance, struct gnn_changes *out, struct gnn_err *err);

/* Adds one series' verdict. */
GNN_MUST_CHECK enum gnn_status gnn_compare_time(const char *cell, const char *metric, const struct gnn_ab_plan *plan,
                                                const struct gnn_ab_series *series, struct gnn_changes *out,
                                                struct gnn_err *err);

/* How many are red. */
uint32_t gnn_changes_red(const struct gnn_changes *changes);

/* ---- accepting ---- */

/* `accepted` is an array of {reason, base, head, changes: [[cell, name, base, head], ...]}, as a baseline file keeps
 * it. Red changes that stand in it, from the same value to the same value (instruction counts: within the tolerance),
 * are accepted. Times never are. */
void gnn_changes_accept_known(struct gnn_changes *changes, const json_t *accepted, double tolerance);

/* Appends the red changes under the reason, and makes them accepted. GNN_EUSAGE when a time is among them. */
GNN_MUST_CHECK enum gnn_status gnn_changes_accept(struct gnn_changes *changes, json_t *accepted, const char *reason,
                                                  const char *base_revision, const char *head_revision,
                                                  struct gnn_err *err);

/* ---- telling ---- */

/* The verdict in a line, then a table: what is red first; at most `rows` of each kind, and how many more there are.
 * Markdown for a CI's page, or text. */
void gnn_changes_print(const struct gnn_changes *changes, const struct gnn_facts *base, const struct gnn_facts *head,
                       bool markdown, uint32_t rows, FILE *out);

#endif
