/* SPDX-License-Identifier: MIT */
/* What this machine can do: one line per capability, with the command that would get what is missing. */
#ifndef GNN_CLI_DOCTOR_H
#define GNN_CLI_DOCTOR_H

#include "harness/oocgnn.h"

#include <stdio.h>

enum gnn_verdict { GNN_VERDICT_OK, GNN_VERDICT_NOTE, GNN_VERDICT_MISSING };

struct gnn_finding {
    const char *topic; /* "io_uring" */
    enum gnn_verdict verdict;
    bool needed; /* a run cannot do without */
    char text[1024];
    char remedy[1024]; /* "" if none is needed */
};

enum { GNN_FINDINGS_MAX = 29 };

/* Looks at the machine and at `dir`, where datasets are or will be; returns how many findings were filled. */
uint32_t gnn_doctor(const char *dir, struct gnn_finding *out);

#endif
