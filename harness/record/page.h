/* SPDX-License-Identifier: MIT */
/* One HTML page with everything: runs, figures, time series, the difference of two runs. It needs no network and no
 * other file. Without scripts it still shows the table of runs and the figures. */
#ifndef GNN_RECORD_PAGE_H
#define GNN_RECORD_PAGE_H

#include "harness/record/record.h"
#include "harness/record/styles.h"

#include <stdio.h>

/* A larger page is refused, because browsers on phones do not open it. */
#define GNN_PAGE_BYTES_MAX (UINT64_C(20) << 20)

/* Writes the page. `figures` is a folder whose pictures (NAME.svg, else NAME.png) are included; "": none. The data
 * behind a picture (NAME.csv) is included, too, and NAME.md or NAME.txt becomes its caption. Time series are averaged
 * to some hundred points a run, fewer if there are many runs. Times of an invalid run are left out. The place of a
 * run's system decides its colour, as in every picture.
 *
 * GNN_EUSAGE: the page would exceed GNN_PAGE_BYTES_MAX. GNN_ENOENT, GNN_EIO: the message names the folder or picture.
 * GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_page_write(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                                              gnn_place_fn *place, const char *figures, FILE *out, struct gnn_err *err);

/* ---- parts; internal to record ---- */

/* Writes the runs as one JSON object that can be placed inside a script element: it contains no '<'. */
GNN_MUST_CHECK enum gnn_status gnn_page_data(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                                             gnn_place_fn *place, FILE *out, struct gnn_err *err);

/* Writes the section of the figures, with a link to each. GNN_ENOENT: the folder does not exist or has no figures. */
GNN_MUST_CHECK enum gnn_status gnn_page_figures(const char *dir, FILE *out, struct gnn_err *err);

/* Writes text with escapes for use between tags or in a quoted attribute. */
void gnn_page_text(const char *text, FILE *out);

#endif
