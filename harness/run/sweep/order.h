/* SPDX-License-Identifier: MIT */
/* The order in which a sweep's cells are run, so that what is compared is run side by side: a slow hour of the machine
 * meets every system alike. */
#ifndef GNN_RUN_SWEEP_ORDER_H
#define GNN_RUN_SWEEP_ORDER_H

#include "harness/run/sweep/job_file.h"

/* Cells by workload (GNN_IDENTITY_WORKLOAD): those of one stand together, in the order of the job file. */
struct gnn_sweep_order {
    uint32_t count;
    uint32_t *cells;  /* (count) */
    uint32_t *groups; /* (count) number of the workload of each entry of cells, ascending */
};

/* GNN_ENOMEM; errors of gnn_run_identity. A refused cell is a workload of its own. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_order_open(const struct gnn_job *job, struct gnn_sweep_order *out,
                                                    struct gnn_err *err);
void gnn_sweep_order_close(struct gnn_sweep_order *order); /* accepts a zeroed one */

/* Writes the cells of one round of repetitions (from 0): workload by workload, in every second round the cells of each
 * from the last to the first, so that no system always goes before another. */
void gnn_sweep_round(const struct gnn_sweep_order *order, uint32_t round, uint32_t *cells);

#endif
