/* SPDX-License-Identifier: MIT */
/* gnuplot as a child process, and texts as its scripts write them: for record, and for other pictures beside it. */
#ifndef GNN_RECORD_GNUPLOT_H
#define GNN_RECORD_GNUPLOT_H

#include "harness/oocgnn.h"

#include <stdio.h>

/* A double-quoted gnuplot string: what would end it or be executed in it is written in octal, line ends as \n. */
void gnn_gnuplot_string(FILE *script, const char *text);

/* Runs gnuplot on dir/base.gp inside dir and checks that base.png and base.svg came out. GNN_ENOTSUP without
 * gnuplot, GNN_EFORMAT with its first complaint when it fails. */
GNN_MUST_CHECK enum gnn_status gnn_gnuplot_run(const char *dir, const char *base, struct gnn_err *err);

#endif
