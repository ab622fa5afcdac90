/* SPDX-License-Identifier: MIT */
/* One page of HTML that holds everything: runs, figures, time series, the difference of two runs. Needs no network and
 * no other file; without scripts it still shows the table of runs and the figures. */
#ifndef GNN_RECORD_PAGE_H
#define GNN_RECORD_PAGE_H

#include "harness/record/record.h"

#include <stdio.h>

/* A page of runs beyond this is refused: browsers on phones stop there. */
#define GNN_PAGE_BYTES_MAX (UINT64_C(20) << 20)

/* Writes the page. figures: a folder whose pictures (NAME.svg, else NAME.png) go in, with the data behind them
 * (NAME.csv), and what is said about them (NAME.md or NAME.txt) as their caption; "" none. Time series are thinned to
 * some hundred points a run, by the mean, as far as many runs leave room. Of an invalid run no time is in it.
 * GNN_EUSAGE when it would be larger than GNN_PAGE_BYTES_MAX, GNN_ENOENT and GNN_EIO name the folder or picture. */
GNN_MUST_CHECK enum gnn_status gnn_page_write(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                                              const char *figures, FILE *out, struct gnn_err *err);

/* ---- parts; internal to record ---- */

/* The runs as one JSON object that may stand inside a script element: no '<' is in it. */
GNN_MUST_CHECK enum gnn_status gnn_page_data(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                                             FILE *out, struct gnn_err *err);

/* The section of the figures, with links to each; GNN_ENOENT where the folder has none. */
GNN_MUST_CHECK enum gnn_status gnn_page_figures(const char *dir, FILE *out, struct gnn_err *err);

/* Text between tags or in a quoted attribute. */
void gnn_page_text(const char *text, FILE *out);

#endif
