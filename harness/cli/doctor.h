/* SPDX-License-Identifier: MIT */
/* Checks what this machine supports: one finding per capability, with the command that adds a missing one. */
#ifndef GNN_CLI_DOCTOR_H
#define GNN_CLI_DOCTOR_H

#include "harness/oocgnn.h"

#include <stdio.h>

enum gnn_verdict { GNN_VERDICT_OK, GNN_VERDICT_NOTE, GNN_VERDICT_MISSING };

struct gnn_finding {
    const char *topic; /* "io_uring" */
    enum gnn_verdict verdict;
    bool needed; /* a run requires it */
    char text[1024];
    char remedy[1024]; /* "" if none is needed */
};

enum { GNN_FINDINGS_MAX = 29 };

/* Checks the machine and `dir`, the directory of datasets, which need not exist. Fills out (GNN_FINDINGS_MAX) and
 * returns the number of findings. */
uint32_t gnn_doctor(const char *dir, struct gnn_finding *out);

#endif
