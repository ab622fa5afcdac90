/* SPDX-License-Identifier: MIT */
/* Progress reports of a run. On a terminal: one line, redrawn at most four times a second, and a line per epoch.
 * Elsewhere (a file, a pipe, a CI log): one line every 30 seconds. */
#ifndef GNN_RUN_PROGRESS_H
#define GNN_RUN_PROGRESS_H

#include "harness/run/wire.h"

#include <stdio.h>

struct gnn_run_progress_setup {
    FILE *out;                /* NULL: no reports */
    bool terminal;            /* out is a terminal */
    uint64_t (*now_ns)(void); /* gnn_host_now_ns, or a test's clock */
    const char *system, *dataset;
    uint64_t epochs;
};

struct gnn_run_progress {
    struct gnn_run_progress_setup setup;
    bool line_open; /* the terminal shows a line without an end */
    uint64_t drawn_ns;
    uint64_t start_ns, training_start_ns, epoch_start_ns;
    bool training;        /* the first epoch has begun */
    uint64_t epoch;       /* from 0; equal to `epochs` after the last */
    uint64_t done, total; /* mini-batches of this epoch; total 0: unknown */
    double loss;          /* last mini-batch; NAN: not computed */
};

void gnn_run_progress_start(struct gnn_run_progress *p, const struct gnn_run_progress_setup *setup);
void gnn_run_progress_epoch_begin(struct gnn_run_progress *p);
void gnn_run_progress_batches(struct gnn_run_progress *p, uint64_t epoch, uint64_t done, uint64_t total, double loss);
void gnn_run_progress_epoch(struct gnn_run_progress *p, uint64_t epoch, uint64_t wall_ns, double loss);
void gnn_run_progress_accuracy(struct gnn_run_progress *p, const struct gnn_wire_accuracy *accuracy);

/* Writes the line that is due, unless out is a terminal. Call it whenever gnn_run_progress_next_ns has passed. */
void gnn_run_progress_tick(struct gnn_run_progress *p);

/* Returns the time when the next line is due, or UINT64_MAX if none will be. */
uint64_t gnn_run_progress_next_ns(const struct gnn_run_progress *p);

/* Clears the line. */
void gnn_run_progress_end(struct gnn_run_progress *p);

#endif
