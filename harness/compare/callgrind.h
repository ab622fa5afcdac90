/* SPDX-License-Identifier: MIT */
/* Instruction counts out of a file of `valgrind --tool=callgrind`: what each function of one program executed itself,
 * without what it called and without its libraries, whose loops differ between processors. They repeat where times do
 * not. The format: valgrind's manual, "Callgrind Format Specification". */
#ifndef GNN_COMPARE_CALLGRIND_H
#define GNN_COMPARE_CALLGRIND_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

#include <stdio.h>

/* Sums up the file `in` (named `name` in messages) for the object whose path ends with `program`, and puts into out
 * "total" and every function by name; functions of one name in several files count as one, and so do the levels of a
 * recursion. Counts of several files add up when out holds earlier ones. GNN_EFORMAT: no such file, or nothing of the
 * program in it. */
GNN_MUST_CHECK enum gnn_status gnn_callgrind_read(FILE *in, const char *name, const char *program,
                                                  struct gnn_kv_list *out, struct gnn_err *err);

#endif
