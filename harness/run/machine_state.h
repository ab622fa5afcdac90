/* SPDX-License-Identifier: MIT */
/* What a run's machine holds, for the files that make it up: machine_names.c what the words of a configuration stand
 * for, machine.c the world, the dataset and what the record asks, machine_compute.c the tensor back-end. A file of this
 * list calls those before it. Internal to them. */
#ifndef GNN_RUN_MACHINE_STATE_H
#define GNN_RUN_MACHINE_STATE_H

#include "harness/dataset/synthetic.h"
#include "harness/run/fault_option.h"
#include "harness/run/machine.h"
#include "harness/run/virtual_series.h"
#include "harness/world/profile.h"

#include <stdatomic.h>

struct gnn_machine {
    const struct gnn_run_config *config;
    bool simulated;
    struct gnn_run_faults faults;
    struct gnn_profile *profile;    /* of the machine; NULL in the measured world */
    struct gnn_profile slowed;      /* the same with --fault device-slowdown and --device-readahead applied */
    struct gnn_profile *compute;    /* of --compute model:P; NULL without */
    struct gnn_profile *calibrated; /* `this`, of the measured world; NULL: not calibrated */
    struct gnn_world *inner, *faulty, *world;
    struct gnn_read_times *read_times;         /* what world's reads are noted in */
    struct gnn_synthetic *synthetic;           /* a computed graph … */
    struct gnn_dataset *dataset;               /* … or a prepared one */
    struct gnn_tensor *tensors[GNN_RANKS_MAX]; /* of the ranks that this process is */
    uint64_t tensor_bytes;                     /* of a sole worker's back-end in the host's memory, once it is open */
    void *other_processes;                     /* simulated world: their bytes, held against the cap */
    struct gnn_virtual_series *series;         /* simulated world: what it has done so far */
    _Atomic uint64_t debt_ns;                  /* measured world: modelled host time not slept yet */
};

/* ---- machine_names.c ---- */
/* Opens a profile from where data files are found, with the run's --costs in it, those of a piece at the run's scale;
 * `option` ("--profile") stands before what is wrong with the name. */
GNN_MUST_CHECK enum gnn_status gnn_machine_open_profile(const struct gnn_run_config *config, const char *option,
                                                        const char *name, struct gnn_profile **out,
                                                        struct gnn_err *err);
/* "model:P/cpu" to P and false, "model:P/gpu" and "model:P" to P and true. */
void gnn_machine_split_compute(const char *compute, char *profile, size_t profile_bytes, bool *gpu, bool *named);
/* Returns how many cores this process may run on. */
uint32_t gnn_machine_own_cores(void);

/* ---- machine.c ---- */
/* Lets the measured world allocate what the process leaves of the cap by now. */
void gnn_machine_limit(struct gnn_machine *m);

#endif
