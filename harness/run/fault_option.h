/* SPDX-License-Identifier: MIT */
/* --fault: the planned faults of a run, as one text "key=value,key=value". With the same text and seed the same faults
 * occur, in either world (harness/world/faults.h). */
#ifndef GNN_RUN_FAULT_OPTION_H
#define GNN_RUN_FAULT_OPTION_H

#include "harness/base/option.h"
#include "harness/world/faults.h"

struct gnn_run_faults {
    struct gnn_fault_plan plan;
    double device_slowdown; /* simulated world: factor on every device time; 1 = as the profile */
    uint64_t die_at_batch;  /* training steps after which a worker kills itself; 0 = never */
    uint32_t die_rank;      /* the rank that does, of several workers */
};

extern const struct gnn_option gnn_fault_options[]; /* options of struct gnn_run_faults */

/* Parses the text; "" means no faults. GNN_EUSAGE: the message has the key, the value and the valid keys. */
GNN_MUST_CHECK enum gnn_status gnn_faults_parse(const char *text, struct gnn_run_faults *out, struct gnn_err *err);

#endif
