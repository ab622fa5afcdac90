/* SPDX-License-Identifier: MIT */
/* Figures of no paper: a job file of `oocgnn sweep` with a section [figure]. */
#ifndef GNN_FIGURE_OWN_H
#define GNN_FIGURE_OWN_H

#include "harness/figure/figure.h"

/* Returns the series of a configuration: its section, or its system if the section has several systems. */
const char *gnn_own_series(const struct gnn_job *job, uint32_t cell);

/* Checks that no two configurations have the same place. GNN_EUSAGE: the message has an option in which they differ. */
GNN_MUST_CHECK enum gnn_status gnn_own_check_places(const struct gnn_paper_figure *figure, struct gnn_err *err);

#endif
