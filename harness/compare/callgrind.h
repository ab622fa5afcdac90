/* SPDX-License-Identifier: MIT */
/* Reads instruction counts from a file of `valgrind --tool=callgrind`: those that each function of one program executed
 * itself. Callees and libraries are not included, because loops of libraries differ between processors. The counts are
 * reproducible, unlike times. Format: valgrind's manual, "Callgrind Format Specification". */
#ifndef GNN_COMPARE_CALLGRIND_H
#define GNN_COMPARE_CALLGRIND_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

#include <stdio.h>

/* Adds up the counts of the file `in` (`name` in messages) for the object whose path ends with `program`. The list
 * `out` receives "PART: total" and "PART: FUNCTION" for the code of the system and of the harness. Code that takes the
 * place of the machine and the graph (harness/world, harness/graph, harness/dataset) has a total of its own, "PART
 * simulation: total", and functions. Functions of the same name in several files count as one. So do levels of a
 * recursion, and the parts into which a compiler splits a function. If out has counts of earlier files for this part,
 * the new ones are added. Returns GNN_EFORMAT if the file has another format or no instruction of the program. */
GNN_MUST_CHECK enum gnn_status gnn_callgrind_read(FILE *in, const char *name, const char *program, const char *part,
                                                  struct gnn_kv_list *out, struct gnn_err *err);

#endif
