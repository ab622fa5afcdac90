/* SPDX-License-Identifier: MIT */
/* The order in which a sweep's run configurations are run. Those that are compared are run next to each other, so a
 * slow hour of the machine affects all systems alike. */
#ifndef GNN_RUN_SWEEP_ORDER_H
#define GNN_RUN_SWEEP_ORDER_H

#include "harness/run/sweep/job_file.h"

/* Run configurations grouped by workload (GNN_IDENTITY_WORKLOAD), within a group in the order of the job file. */
struct gnn_sweep_order {
    uint32_t count;
    uint32_t *cells;  /* (count) indices of the job's run configurations */
    uint32_t *groups; /* (count) of each one's workload: its first configuration */
};

/* Makes the order; on an error nothing is left open. A refused configuration is a workload of its own. GNN_ENOMEM,
 * errors of gnn_run_identity. */
GNN_MUST_CHECK enum gnn_status gnn_sweep_order_open(const struct gnn_job *job, struct gnn_sweep_order *out,
                                                    struct gnn_err *err);
void gnn_sweep_order_close(struct gnn_sweep_order *order); /* accepts a zeroed struct */

/* Writes the order of one round of repetitions (from 0), workload by workload. In every second round the configurations
 * of each workload are reversed, so that no system always precedes another. */
void gnn_sweep_round(const struct gnn_sweep_order *order, uint32_t round, uint32_t *cells);

#endif
