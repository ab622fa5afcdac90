/* SPDX-License-Identifier: MIT */
/* One line of progress on a terminal, redrawn at most four times a second; nothing where stderr is no
 * terminal. */
#ifndef GNN_RUN_PROGRESS_H
#define GNN_RUN_PROGRESS_H

#include "harness/run/wire.h"

struct gnn_run_progress {
    bool on;
    bool line_open; /* a line without its end stands on the terminal */
    const char *system;
    uint64_t epochs;
    uint64_t drawn_ns;
    uint64_t epoch_start_ns;
};

void gnn_run_progress_start(struct gnn_run_progress *p, bool quiet, const char *system, uint64_t epochs);
void gnn_run_progress_batches(struct gnn_run_progress *p, uint64_t epoch, uint64_t done, uint64_t total, double loss);
void gnn_run_progress_epoch(struct gnn_run_progress *p, uint64_t epoch, uint64_t wall_ns, double loss);
void gnn_run_progress_accuracy(struct gnn_run_progress *p, const struct gnn_wire_accuracy *accuracy);
/* Clears the line. */
void gnn_run_progress_end(struct gnn_run_progress *p);

#endif
