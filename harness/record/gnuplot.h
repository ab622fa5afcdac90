/* SPDX-License-Identifier: MIT */
/* Running gnuplot as a child process, and writing strings for its scripts. Used by record and by other code that
 * draws. */
#ifndef GNN_RECORD_GNUPLOT_H
#define GNN_RECORD_GNUPLOT_H

#include "harness/oocgnn.h"

#include <stdio.h>

/* Writes a double-quoted gnuplot string. Characters that would end it or be executed are written in octal, line ends as
 * \n. */
void gnn_gnuplot_string(FILE *script, const char *text);

/* Writes a line that sets a variable of the script to a text. */
void gnn_gnuplot_set(FILE *script, const char *name, const char *text);

/* Runs gnuplot on dir/base.gp inside dir, and checks that it made base.png and base.svg. GNN_ENOTSUP: gnuplot is not
 * installed. GNN_EFORMAT: it failed; the message has its first complaint. */
GNN_MUST_CHECK enum gnn_status gnn_gnuplot_run(const char *dir, const char *base, struct gnn_err *err);

#endif
