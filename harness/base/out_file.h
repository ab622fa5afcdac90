/* SPDX-License-Identifier: MIT */
/* Files DIR/NAME.SUFFIX that a command writes as it goes. */
#ifndef GNN_BASE_OUT_FILE_H
#define GNN_BASE_OUT_FILE_H

#include "harness/oocgnn.h"

#include <stdio.h>

/* Opens the file for writing. Returns GNN_EPERM, GNN_EFILES or GNN_EIO, which name the path. */
GNN_MUST_CHECK enum gnn_status gnn_out_file_open(const char *dir, const char *name, const char *suffix, FILE **out,
                                                 struct gnn_err *err);

/* Closes the file. Returns GNN_ENOSPC or GNN_EIO if a part of it was not written. */
GNN_MUST_CHECK enum gnn_status gnn_out_file_close(FILE *file, const char *dir, const char *name, const char *suffix,
                                                  struct gnn_err *err);

#endif
