/* SPDX-License-Identifier: MIT */
/* The changes that a comparison found, and which of them are red. Exact values: every change is red. Instruction
 * counts: an increase above the tolerance. Times: the verdict of harness/compare/ab.h. A change that was accepted is
 * not red; its reason is kept. */
#ifndef GNN_COMPARE_CHANGES_H
#define GNN_COMPARE_CHANGES_H

#include "harness/compare/ab.h"
#include "harness/compare/facts.h"

#include <stdio.h>

enum gnn_change_kind {
    GNN_CHANGE_CONFIG,       /* an option of a configuration differs, such as a default; its values are compared */
    GNN_CHANGE_EXACT,        /* a value differs or is missing */
    GNN_CHANGE_MISSING,      /* HEAD does not have a configuration of BASE */
    GNN_CHANGE_UNSTEADY,     /* HEAD's own runs of one configuration disagree */
    GNN_CHANGE_INSTRUCTIONS, /* of a function, or the total */
    GNN_CHANGE_TIME,
    GNN_CHANGE_KINDS
};

enum gnn_judgement { GNN_JUDGED_RED, GNN_JUDGED_ACCEPTED, GNN_JUDGED_NOTE };

struct gnn_change {
    enum gnn_change_kind kind;
    enum gnn_judgement judgement;
    char cell[GNN_CELL_LABEL_BYTES];
    char name[3 * GNN_NAME_MAX]; /* name of the value: "epoch 0 requested_ios"; "" for a whole configuration */
    char base[2 * GNN_NAME_MAX], head[2 * GNN_NAME_MAX];
    char text[384]; /* the size of the change, its certainty, why it was accepted */
};

/* An empty list is zeroed. */
struct gnn_changes {
    struct gnn_change *of;
    uint32_t count, room;
    uint32_t cells, values;         /* numbers that were compared exactly */
    uint32_t new_cells, new_values; /* numbers that only HEAD has, which are not changes */
    uint32_t functions, series;     /* numbers that were compared by instructions, by time */
    uint32_t unsure;                /* series without a verdict */
};

void gnn_changes_clear(struct gnn_changes *changes);

/* Compares exact values and adds the changes. Configurations match by their options, else by their place in the job
 * file. In the second case the options that differ are added as notes. Returns GNN_EUSAGE if base and head have no
 * common configuration, because such a comparison can never be red. */
GNN_MUST_CHECK enum gnn_status gnn_compare_exact(const struct gnn_facts *base, const struct gnn_facts *head,
                                                 struct gnn_changes *out, struct gnn_err *err);

/* Compares the totals of all parts and base's hot loops. tolerance: a share, 0.005. A function that only one of them
 * has is compared in "total" only. A part that HEAD does not have is red, if HEAD has counts. */
GNN_MUST_CHECK enum gnn_status gnn_compare_instructions(const struct gnn_facts *base, const struct gnn_facts *head,
                                                        double tolerance, struct gnn_changes *out, struct gnn_err *err);

/* Adds the verdict of one series. A metric that is gone is red. A metric that neither build has adds nothing. */
GNN_MUST_CHECK enum gnn_status gnn_compare_time(const char *cell, const char *metric, const struct gnn_ab_plan *plan,
                                                const struct gnn_ab_series *series, struct gnn_changes *out,
                                                struct gnn_err *err);

/* Returns the number of red changes. */
uint32_t gnn_changes_red(const struct gnn_changes *changes);

/* ---- accepting ---- */

/* Marks red changes as accepted that are in `accepted` with the same base and head value (instruction counts: within
 * the tolerance). `accepted` is an array of `{reason, base, head, changes: [[cell, name, base, head], ...]}`, as in a
 * baseline file. Times are never accepted. */
void gnn_changes_accept_known(struct gnn_changes *changes, const json_t *accepted, double tolerance);

/* Appends the red changes to `accepted` under the reason, and marks them as accepted. Returns GNN_EUSAGE, with nothing
 * appended, if a time or a disagreement of HEAD's own runs is among them. */
GNN_MUST_CHECK enum gnn_status gnn_changes_accept(struct gnn_changes *changes, json_t *accepted, const char *reason,
                                                  const char *base_revision, const char *head_revision,
                                                  struct gnn_err *err);

/* ---- output ---- */

/* Prints the verdict in one line, then a table with red changes first. Each kind has at most `rows` rows, and the
 * number of the others. The format is Markdown for a CI's page, or text. */
void gnn_changes_print(const struct gnn_changes *changes, const struct gnn_facts *base, const struct gnn_facts *head,
                       bool markdown, uint32_t rows, FILE *out);

#endif
