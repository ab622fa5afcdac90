/* SPDX-License-Identifier: MIT */
/* --fault: the plan of a run that is to go wrong, as one text "key=value,key=value". Same text, same seed, same failure
 * (harness/world/faults.h), in either world. */
#ifndef GNN_RUN_FAULT_OPTION_H
#define GNN_RUN_FAULT_OPTION_H

#include "harness/base/option.h"
#include "harness/world/faults.h"

struct gnn_run_faults {
    struct gnn_fault_plan plan;
    double device_slowdown; /* simulated world: every device time times this; 1 = as the profile has it */
    uint64_t die_at_batch;  /* a worker kills itself after so many training steps; 0 = never */
    uint32_t die_rank;      /* which of several workers */
};

extern const struct gnn_option gnn_fault_options[]; /* into struct gnn_run_faults */

/* "" is no fault at all. GNN_EUSAGE names the key, the value and what there is. */
GNN_MUST_CHECK enum gnn_status gnn_faults_parse(const char *text, struct gnn_run_faults *out, struct gnn_err *err);

#endif
