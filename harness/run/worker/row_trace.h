/* SPDX-License-Identifier: MIT */
/* The file of --trace-rows: the feature rows of every trained mini-batch, in the order of training.
 *
 * It is a NumPy array of format 1.0, uint32 of shape (rows, 3): epoch from 0, mini-batch, row. NumPy and pandas read
 * or map it without a parser, and a row takes 12 bytes, half of the usual length of a line of CSV. */
#ifndef GNN_RUN_ROW_TRACE_H
#define GNN_RUN_ROW_TRACE_H

#include "harness/tensor/tensor.h"

struct gnn_row_file;

/* Opens the file. Errors of gnn_whole_file_open. */
GNN_MUST_CHECK enum gnn_status gnn_row_file_open(const char *path, struct gnn_row_file **out, struct gnn_err *err);

/* Appends the rows of a mini-batch. A failed write is kept until the check. */
void gnn_row_file_add(struct gnn_row_file *file, const struct gnn_batch_view *batch);

/* Returns the first error of a write so far: GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_row_file_check(struct gnn_row_file *file, struct gnn_err *err);
/* Writes the number of rows and gives the file its name. Only the close may follow. */
GNN_MUST_CHECK enum gnn_status gnn_row_file_finish(struct gnn_row_file *file, struct gnn_err *err);
/* Closes the file, which is gone unless it was finished. Accepts NULL. */
void gnn_row_file_close(struct gnn_row_file *file);

#endif
