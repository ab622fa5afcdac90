/* SPDX-License-Identifier: MIT */
/* Parts of a Markdown page that are made from data. A part is the lines between a mark and the line `<!-- end -->`:
 *
 *   `<!-- figure ID columns=A,B where=KEY=VALUE|VALUE -->`  Table of ID.csv; by default all columns that have values.
 *                                                          Without `where`, the list of its verdicts follows.
 *   `<!-- ratios PAPER methods="A|B" -->`                   Table of ratios.csv with one row for each number that the
 *                                                          paper prints and one column for each method.
 *   `<!-- findings PAPER methods="A|B" -->`                 Table of findings.csv with one row for each finding without
 *                                                          a printed number, and one column for each method.
 *   `<!-- merit PAPER methods="A|B" -->`                    Figures of merit of each method; PAPER may be left out.
 *
 * `where` may be repeated. A word with a blank is in quotes. */
#ifndef GNN_CLI_PAGE_MARKS_H
#define GNN_CLI_PAGE_MARKS_H

#include "harness/oocgnn.h"

#include <stdio.h>

struct gnn_page {
    const char *path;       /* for messages */
    const char *dir;        /* folder of the data */
    uint32_t marks, differ; /* number of marks, and of marks whose part is not what the data give */
};

/* Copies text to out with every part made from the data, and counts marks. For each part that differs, prints page,
 * line and the new lines to stdout. Returns GNN_EUSAGE for a wrong mark, or errors of the data files. Messages have
 * page and line. */
GNN_MUST_CHECK enum gnn_status gnn_page_fill(struct gnn_page *page, const char *text, FILE *out, struct gnn_err *err);

/* Checks that the last line of a page has a date, a commit and a command. Returns GNN_EFORMAT, which names the line. */
GNN_MUST_CHECK enum gnn_status gnn_page_check_origin(const struct gnn_page *page, const char *text,
                                                     struct gnn_err *err);

#endif
