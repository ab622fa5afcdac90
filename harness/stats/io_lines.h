/* SPDX-License-Identifier: MIT */
/* Reads the lines of an I/O trace: fio's iolog format version 3, with the three more fields of a request that a run
 * writes (harness/world/io_trace.h), or without them. */
#ifndef GNN_STATS_IO_LINES_H
#define GNN_STATS_IO_LINES_H

#include "harness/world/io_trace.h"

enum gnn_io_line_kind { GNN_IO_LINE_FILE, GNN_IO_LINE_READ, GNN_IO_LINE_WRITE, GNN_IO_LINE_OTHER };

struct gnn_io_line {
    enum gnn_io_line_kind kind; /* OTHER: sync, trim */
    uint64_t time_us;
    char file[GNN_IO_TRACE_NAME_MAX], action[16];
    uint64_t offset_bytes, len_bytes; /* of READ and WRITE */
    uint64_t depth, epoch;            /* GNN_UNKNOWN: the line has no such field */
};

struct gnn_io_lines;

/* Opens a trace. GNN_ENOENT, GNN_EPERM; GNN_EFORMAT: it is no iolog of version 3. */
GNN_MUST_CHECK enum gnn_status gnn_io_lines_open(const char *path, struct gnn_io_lines **out, struct gnn_err *err);
void gnn_io_lines_close(struct gnn_io_lines *lines); /* accepts NULL */

/* Reads the next line, or sets *more = false at the end. GNN_EFORMAT: the message has the number of the line. */
GNN_MUST_CHECK enum gnn_status gnn_io_lines_next(struct gnn_io_lines *lines, struct gnn_io_line *out, bool *more,
                                                 struct gnn_err *err);

#endif
