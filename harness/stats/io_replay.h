/* SPDX-License-Identifier: MIT */
/* Prepares the replay of a trace with fio on files of its own, so that no file of a dataset is written. */
#ifndef GNN_STATS_IO_REPLAY_H
#define GNN_STATS_IO_REPLAY_H

#include "harness/stats/io_workload.h"

/* Writes three files into an existing directory, which is an absolute path that fio reads as one path. replay.iolog
 * is the trace with files of this directory. The job fill.fio writes these files. The job replay.fio replays the trace.
 * The workload is that of the trace. Requests of other epochs are left out. Errors of the trace; GNN_EUSAGE: the path
 * is too long for fio; GNN_EPERM, GNN_ENOSPC, GNN_EIO. */
GNN_MUST_CHECK enum gnn_status gnn_io_replay_write(const struct gnn_io_workload *workload, const char *trace,
                                                   const char *dir, struct gnn_err *err);

#endif
