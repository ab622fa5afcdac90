/* SPDX-License-Identifier: MIT */
/* State of a run's machine, shared by the files that implement it. They are machine_names.c for the words of a
 * configuration, machine.c for the world, the dataset and the usage, and machine_compute.c for the tensor back-end.
 * Each file calls only those before it in this list. Internal to them. */
#ifndef GNN_RUN_MACHINE_STATE_H
#define GNN_RUN_MACHINE_STATE_H

#include "harness/dataset/synthetic.h"
#include "harness/run/fault_option.h"
#include "harness/run/machine.h"
#include "harness/run/virtual_series.h"
#include "harness/world/io_trace.h"
#include "harness/world/profile.h"

#include <stdatomic.h>

struct gnn_machine {
    const struct gnn_run_config *config;
    bool simulated;
    struct gnn_run_faults faults;
    struct gnn_profile *profile;    /* the machine's profile; NULL in the measured world */
    struct gnn_profile slowed;      /* copy with --fault device-slowdown and --device-readahead applied */
    struct gnn_profile *compute;    /* profile of --compute model:P; NULL without */
    struct gnn_profile *calibrated; /* profile `this` of the measured world; NULL: not calibrated */
    struct gnn_io_trace *trace;     /* --trace-io, or NULL */
    struct gnn_world *inner, *faulty, *traced, *world;
    struct gnn_read_times *read_times;         /* records the reads of world */
    struct gnn_synthetic *synthetic;           /* a computed graph … */
    struct gnn_dataset *dataset;               /* … or a prepared one */
    struct gnn_tensor *tensors[GNN_RANKS_MAX]; /* those of the ranks in this process */
    uint64_t tensor_bytes;                     /* host memory of the only worker's back-end, once it is open */
    void *other_processes;                     /* simulated world: their memory, charged to the limit */
    struct gnn_virtual_series *series;         /* simulated world: time series so far */
    _Atomic uint64_t debt_ns;                  /* measured world: modelled host time not slept yet */
};

/* ---- machine_names.c ---- */
/* Opens a profile from the data directories, with the costs of --costs added. Costs of a mini-batch's step and of a
 * process start do not depend on its size; they are divided by the run's scale. `option` ("--profile") begins messages
 * about the name. GNN_EUSAGE. */
GNN_MUST_CHECK enum gnn_status gnn_machine_open_profile(const struct gnn_run_config *config, const char *option,
                                                        const char *name, struct gnn_profile **out,
                                                        struct gnn_err *err);
/* Splits "model:P/cpu" into P and *gpu = false, "model:P/gpu" and "model:P" into P and *gpu = true. *named: the suffix
 * was given. */
void gnn_machine_split_compute(const char *compute, char *profile, size_t profile_bytes, bool *gpu, bool *named);
/* Returns the number of cores that this process may use. */
uint32_t gnn_machine_own_cores(void);

/* ---- machine.c ---- */
/* Sets the measured world's limit on allocations to what the process now leaves of the memory limit. */
void gnn_machine_limit(struct gnn_machine *m);

#endif
