/* SPDX-License-Identifier: MIT */
/* Opens world, dataset and tensor back-end of a run. The only code that includes both worlds; what a record must say
 * about the machine comes from gnn_machine_usage. */
#ifndef GNN_RUN_MACHINE_H
#define GNN_RUN_MACHINE_H

#include "harness/run/config.h"
#include "harness/run/wire.h"
#include "harness/storage/read_times.h"

struct gnn_machine;

/* Told of a deadlock of the simulated world; ctx is NULL. Does not return. */
typedef void gnn_deadlock_fn(void *ctx, const char *report);

/* Errors: those of the worlds, GNN_EUSAGE for an unknown profile; the caller closes the machine after one too. */
GNN_MUST_CHECK enum gnn_status gnn_machine_open(const struct gnn_run_config *config, gnn_deadlock_fn *on_deadlock,
                                                struct gnn_machine **out, struct gnn_err *err);
void gnn_machine_close(struct gnn_machine *machine); /* accepts NULL; everything opened in the world is closed */

struct gnn_world *gnn_machine_world(struct gnn_machine *machine); /* with the run's faults, if any */

/* The prepared dataset, or in the simulated world the registry's graph without one. The machine keeps it. */
GNN_MUST_CHECK enum gnn_status gnn_machine_dataset(struct gnn_machine *machine, const struct gnn_dataset **out,
                                                   struct gnn_err *err);
/* The tensor back-end of one rank (0 with one worker). Ranks of a simulated machine ask in their order: rank r has GPU
 * r mod the profile's. */
GNN_MUST_CHECK enum gnn_status gnn_machine_tensor(struct gnn_machine *machine, uint32_t rank, struct gnn_tensor **out,
                                                  struct gnn_err *err);
/* Whether that back-end will have a memory of its own: known before it is opened. */
bool gnn_machine_on_device(const struct gnn_machine *machine);
/* How the ranks' gradients are summed; NULL: through shared memory. Its ctx is the machine. */
gnn_all_reduce_fn *gnn_machine_all_reduce(const struct gnn_machine *machine);

/* Whether several workers are processes, forked from this one once what they share is open; else threads of its
 * world. */
bool gnn_machine_ranks_are_processes(const struct gnn_machine *machine);
/* In each process after the last fork. */
void gnn_machine_forked(struct gnn_machine *machine);

/* Reads what the run has used so far. */
void gnn_machine_usage(struct gnn_machine *machine, struct gnn_machine_usage *out);

/* Copies up to `max` intervals of a simulated run's time series, from the one numbered `first` on; returns how many
 * there were. None in the measured world, which is looked at from outside. */
uint32_t gnn_machine_series(const struct gnn_machine *machine, uint32_t first, uint32_t max,
                            struct gnn_series_point *out);

/* Sets *out to how long the reads of storage took since this was asked last, and how large they were: those of every
 * rank that is this process (storage/read_times.h). Nothing is read meanwhile. */
void gnn_machine_read_times(struct gnn_machine *machine, struct gnn_read_tally *out);

/* What the process itself takes of the cap: the profile's figure; in the measured world its anonymous memory and page
 * tables beside the world's allocations, as far as they are there by now, and a reserve for what comes. A sole
 * worker's back-end is in it once gnn_machine_tensor has opened it: a GPU's driver, and what is pinned for it. */
uint64_t gnn_machine_process_bytes(const struct gnn_machine *machine);

/* Cores of the world: of the profile, or those this process may run on. */
uint32_t gnn_machine_cores(const struct gnn_machine *machine);

/* Figures of the storage device: the profile's; in the measured world those of `oocgnn calibrate`. NULL: there are
 * none. */
const struct gnn_profile_storage *gnn_machine_storage(const struct gnn_machine *machine);
/* Likewise what work costs on a core. */
const struct gnn_profile_cpu *gnn_machine_cpu(const struct gnn_machine *machine);

const char *gnn_machine_profile_digest(const struct gnn_machine *machine); /* "" without a profile */
const char *gnn_machine_costs_digest(const struct gnn_machine *machine);   /* "" where costs are ideal */
/* Readahead of the modelled device; GNN_UNKNOWN where the machine is this one. */
uint64_t gnn_machine_readahead(const struct gnn_machine *machine);

/* Replaces words that stand for something else: --compute auto, cpu and cuda of the simulated world become
 * model:PROFILE/cpu or /gpu, --compute-threads 0 becomes a number. GNN_EUSAGE, GNN_ENOTSUP with a remedy. */
GNN_MUST_CHECK enum gnn_status gnn_machine_resolve(struct gnn_run_config *config, struct gnn_err *err);

#endif
