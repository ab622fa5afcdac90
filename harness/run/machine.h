/* SPDX-License-Identifier: MIT */
/* Opens world, dataset and tensor back-end of a run. This is the only code that includes both worlds. What the record
 * contains about the machine comes from gnn_machine_usage. */
#ifndef GNN_RUN_MACHINE_H
#define GNN_RUN_MACHINE_H

#include "harness/run/config.h"
#include "harness/run/wire.h"
#include "harness/storage/read_times.h"

struct gnn_machine;

/* Handles a deadlock of the simulated world; ctx is NULL. Does not return. */
typedef void gnn_deadlock_fn(void *ctx, const char *report);

/* Opens the world. config must outlive the machine. Set *out to NULL first; it is the caller's to close, also on an
 * error. GNN_EUSAGE: unknown profile. Otherwise errors of the worlds. */
GNN_MUST_CHECK enum gnn_status gnn_machine_open(const struct gnn_run_config *config, gnn_deadlock_fn *on_deadlock,
                                                struct gnn_machine **out, struct gnn_err *err);
void gnn_machine_close(struct gnn_machine *machine); /* accepts NULL; all that was opened in the world must be closed */

struct gnn_world *gnn_machine_world(struct gnn_machine *machine); /* with the run's faults, if any */

/* Set the epoch of the requests that --trace-io writes (from 1; 0 outside of epochs). Return the first error of a write
 * to the trace. Give the complete trace its name. Without --trace-io they do nothing. */
void gnn_machine_trace_epoch(struct gnn_machine *machine, uint64_t epoch);
GNN_MUST_CHECK enum gnn_status gnn_machine_trace_check(struct gnn_machine *machine, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_machine_trace_finish(struct gnn_machine *machine, struct gnn_err *err);

/* Opens the prepared dataset, or in the simulated world the registry's graph. The machine owns it. */
GNN_MUST_CHECK enum gnn_status gnn_machine_dataset(struct gnn_machine *machine, const struct gnn_dataset **out,
                                                   struct gnn_err *err);
/* Does the same for a memory plan: a graph of the registry is computed in both worlds, without files to read. */
GNN_MUST_CHECK enum gnn_status gnn_machine_planned_dataset(struct gnn_machine *machine, const struct gnn_dataset **out,
                                                           struct gnn_err *err);
/* Opens the tensor back-end of one rank (0 with one worker); the machine owns it. Ranks of a simulated machine call in
 * their order: rank r has GPU r mod the number of GPUs in the profile. */
GNN_MUST_CHECK enum gnn_status gnn_machine_tensor(struct gnn_machine *machine, uint32_t rank, struct gnn_tensor **out,
                                                  struct gnn_err *err);
/* Returns whether that back-end has its own memory. It can be called before the back-end is opened. */
bool gnn_machine_on_device(const struct gnn_machine *machine);
/* Returns the function that sums the ranks' gradients, whose ctx is the machine. NULL: they are summed in shared
 * memory. */
gnn_all_reduce_fn *gnn_machine_all_reduce(const struct gnn_machine *machine);

/* Returns whether several workers are processes, forked from this one once the shared parts are open. Otherwise they
 * are threads of its world. */
bool gnn_machine_ranks_are_processes(const struct gnn_machine *machine);
/* Prepares the world of this process; to be called in each process after the last fork. */
void gnn_machine_forked(struct gnn_machine *machine);

/* Writes what the run has used so far. */
void gnn_machine_usage(struct gnn_machine *machine, struct gnn_machine_usage *out);

/* Copies up to `max` intervals of a simulated run's time series, from number `first` on. Returns how many were copied;
 * 0 in the measured world, which is probed from outside. */
uint32_t gnn_machine_series(const struct gnn_machine *machine, uint32_t first, uint32_t max,
                            struct gnn_series_point *out);

/* Writes the durations and sizes of reads from storage since the last call, over the ranks in this process
 * (storage/read_times.h). No read may be in progress. */
void gnn_machine_read_times(struct gnn_machine *machine, struct gnn_read_tally *out);

/* Returns the part of the memory limit that the process itself takes. In the simulated world this is the profile's
 * value. In the measured world it is the anonymous memory and page tables in use outside the world's allocations, plus
 * a reserve. With one worker the back-end is included once gnn_machine_tensor has opened it: a GPU's driver, and memory
 * that is pinned for it. */
uint64_t gnn_machine_process_bytes(const struct gnn_machine *machine);

/* Returns the cores of the world: the profile's, or those that this process may use. */
uint32_t gnn_machine_cores(const struct gnn_machine *machine);

/* Returns the description of the storage device: from the profile, or in the measured world from `oocgnn calibrate`.
 * NULL: there is none. */
const struct gnn_profile_storage *gnn_machine_storage(const struct gnn_machine *machine);
/* Returns what work costs on a core, from the same sources; NULL: unknown. */
const struct gnn_profile_cpu *gnn_machine_cpu(const struct gnn_machine *machine);

const char *gnn_machine_profile_digest(const struct gnn_machine *machine); /* "" without a profile */
const char *gnn_machine_costs_digest(const struct gnn_machine *machine);   /* "" if costs are ideal */
/* Returns the readahead of the modelled device in bytes; GNN_UNKNOWN in the measured world. */
uint64_t gnn_machine_readahead(const struct gnn_machine *machine);

/* Checks the configuration (gnn_run_config_check), then replaces words by what they mean. In the simulated world,
 * --compute auto, cpu and cuda become model:PROFILE/cpu or /gpu, and the system must train there. --compute-threads 0
 * becomes a number. GNN_EUSAGE, GNN_ENOTSUP: the message has the remedy. */
GNN_MUST_CHECK enum gnn_status gnn_machine_resolve(struct gnn_run_config *config, struct gnn_err *err);

#endif
