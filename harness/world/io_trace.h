/* SPDX-License-Identifier: MIT */
/* A file of the reads and writes of a world, in the iolog format version 3 of fio (docs/traces.md). traced.h is the
 * world that writes to it.
 *
 * A line has the time in microseconds since the trace was opened, the file, and `add`, `open`, `close`, `read` or
 * `write`, the latter two with offset and length in bytes. Times never decrease. fio reads these five fields. Behind
 * them are the time in nanoseconds, the requests in flight with this one, and the epoch from 1, 0 outside of epochs.
 *
 * Any thread may call. A failed write is kept until gnn_io_trace_check. */
#ifndef GNN_WORLD_IO_TRACE_H
#define GNN_WORLD_IO_TRACE_H

#include "harness/oocgnn.h"

#define GNN_IO_TRACE_MAGIC "fio version 3 iolog"
enum { GNN_IO_TRACE_NAME_MAX = 256 }; /* bytes of a file's name that fio reads, 0 included */

struct gnn_io_trace;
struct gnn_file;

enum gnn_io_action { GNN_IO_READ, GNN_IO_WRITE };

struct gnn_io_request {
    enum gnn_io_action action;
    const struct gnn_file *file; /* opened by gnn_io_trace_opened */
    uint64_t offset_bytes, len_bytes;
    uint64_t now_ns; /* on the clock of the world */
    bool done_later; /* counts as in flight until gnn_io_trace_done; false: until done_ns */
    uint64_t done_ns;
};

/* Opens a trace that begins at now_ns. Errors of gnn_whole_file_open. `option` begins the messages. */
GNN_MUST_CHECK enum gnn_status gnn_io_trace_open(const char *option, const char *path, struct gnn_io_trace **out,
                                                 struct gnn_err *err);

/* Notes an open file. scratch: it has no name, path is its directory. GNN_EUSAGE: fio cannot read a name with blanks
 * or of more than 255 bytes. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_io_trace_opened(struct gnn_io_trace *trace, const struct gnn_file *file,
                                                   const char *path, bool scratch, uint64_t now_ns,
                                                   struct gnn_err *err);
void gnn_io_trace_closed(struct gnn_io_trace *trace, const struct gnn_file *file, uint64_t now_ns);

/* Writes the line of a request. */
void gnn_io_trace_add(struct gnn_io_trace *trace, const struct gnn_io_request *request);
/* Ends `count` requests that were added with done_later. */
void gnn_io_trace_done(struct gnn_io_trace *trace, uint32_t count);

/* Sets the epoch of the requests to come, from 1; 0: none. */
void gnn_io_trace_epoch(struct gnn_io_trace *trace, uint64_t epoch);

/* Returns the first error of a write so far: GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_io_trace_check(struct gnn_io_trace *trace, struct gnn_err *err);
/* Closes the files that are still open in the trace, and gives it its name. Only the close may follow. */
GNN_MUST_CHECK enum gnn_status gnn_io_trace_finish(struct gnn_io_trace *trace, struct gnn_err *err);
/* Closes the trace, which is gone unless it was finished. Accepts NULL. */
void gnn_io_trace_close(struct gnn_io_trace *trace);

#endif
