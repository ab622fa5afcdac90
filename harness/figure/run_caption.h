/* SPDX-License-Identifier: MIT */
/* The caption of a picture of recorded runs: at most two lines, never cut off. */
#ifndef GNN_FIGURE_RUN_CAPTION_H
#define GNN_FIGURE_RUN_CAPTION_H

#include "harness/figure/from_runs.h"

/* Writes the caption to text (GNN_FIGURE_LINE). Its last parts are written first: where memory limits are, repetitions,
 * the meaning of words, options in which places of the picture differ, and the build. The rest of its room has the
 * conditions that all runs with a time share. conditions (count) has those of each run (gnn_run_conditions). */
void gnn_run_caption_write(const struct gnn_paper_figure *figure, const struct gnn_run_record *runs,
                           const struct gnn_kv_list *conditions, uint32_t count, const struct gnn_runs_request *request,
                           char *text);

#endif
