/* SPDX-License-Identifier: MIT */
/* Conditions on recorded runs: --where OPTION=VALUE of `oocgnn report` and `oocgnn plot`. */
#ifndef GNN_CLI_WHERE_H
#define GNN_CLI_WHERE_H

#include "harness/base/kv.h"

/* Adds the condition in `word` to the list. Its values are written as records have them: "96M" for 98304K. Several
 * values are those of a job file (harness/run/sweep/grid.h), such as "64M|96M", "64M,96M" or "64M..256M*2". The list
 * has bars between them.
 *
 * Returns GNN_EUSAGE if there is no such option or value, or if the list already has a condition on the option. */
GNN_MUST_CHECK enum gnn_status gnn_where_add(struct gnn_kv_list *where, const char *word, struct gnn_err *err);

/* Checks that records have the key: an option of a run, a parameter of a system, or one of gnn_run_facts. Returns
 * GNN_EUSAGE with similar names. The message begins with `what`, such as "--x". */
GNN_MUST_CHECK enum gnn_status gnn_where_check_key(const char *what, const char *key, struct gnn_err *err);

#endif
