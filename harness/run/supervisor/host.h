/* SPDX-License-Identifier: MIT */
/* What a run sets and reads on this machine: the control group, the device's readahead, the page cache at the start,
 * and the probes. A run on a modelled machine has no host: every function accepts NULL, and does nothing then. */
#ifndef GNN_RUN_HOST_H
#define GNN_RUN_HOST_H

#include "harness/confine/confine.h"
#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/run/wire.h"

#include <sys/types.h>

struct gnn_run_host;

/* Finds the block device of the dataset's directory. config must outlive the host. Set *out to NULL first; it is the
 * caller's to close, also on an error. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_open(const struct gnn_run_config *config, const char *dataset_dir,
                                                 struct gnn_run_host **out, struct gnn_err *err);
void gnn_run_host_close(struct gnn_run_host *host); /* removes the group, restores the device's readahead */

/* Makes the control group, sets the device's readahead and evicts the dataset, as configured; records all three. A
 * group is made even without a limit, for its counters. GNN_EPERM, GNN_ENOTSUP: a memory limit, a throttle, a readahead
 * or a cold start is not possible here. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_prepare(struct gnn_run_host *host, struct gnn_run_record *run,
                                                    struct gnn_err *err);

const struct gnn_cgroup *gnn_run_host_cgroup(const struct gnn_run_host *host); /* NULL: no group */

/* Starts to probe the machine and the worker. start_ns: time 0 of the series. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_watch(struct gnn_run_host *host, pid_t worker, uint64_t start_ns,
                                                  struct gnn_run_record *run, struct gnn_err *err);
/* Probes the GPU that the run computes on from now on, and records which one it is. Does nothing without a GPU. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_watch_gpu(struct gnn_run_host *host, const struct gnn_gpu_identity *gpu,
                                                      struct gnn_run_record *run, struct gnn_err *err);
/* Returns the time of the next probe on the host's clock; UINT64_MAX: never. */
uint64_t gnn_run_host_next_probe_ns(const struct gnn_run_host *host);
/* Reads the probes and computes the interval since the last reading. */
void gnn_run_host_probe(struct gnn_run_host *host, struct gnn_series_point *out);

/* Reads the group's counters; all unknown without a group. */
void gnn_run_host_read_group(const struct gnn_run_host *host, struct gnn_group_reading *out);
/* Returns the time that a hypervisor has taken from all cores so far. GNN_UNKNOWN: before gnn_run_host_watch, or not
 * reported by the kernel. */
uint64_t gnn_run_host_stolen_ns(const struct gnn_run_host *host);

/* Observes the files that the opened system reads, before the first epoch. Files that open wrote must have left the
 * page cache for the start to be cold. intent must outlive the host. */
void gnn_run_host_observe_opened(struct gnn_run_host *host, const struct gnn_intent *intent,
                                 struct gnn_run_record *run);
/* Observes after an epoch whether direct reads bypassed the page cache, and records the result. It stays unknown while
 * a file is in the page cache for another reason. Once it is "no", it stays so. */
void gnn_run_host_observe_direct(const struct gnn_run_host *host, struct gnn_run_record *run);
/* Observes the same files after an evaluation, before the next epoch starts. An evaluation reads through the page
 * cache, and what it left there is no sign. */
void gnn_run_host_observe_evaluated(struct gnn_run_host *host);

/* Raises *most_bytes to the bytes of the dataset that are in the page cache now. Does nothing without a memory limit,
 * or if this user does not see them. */
void gnn_run_host_observe_cache(const struct gnn_run_host *host, uint64_t *most_bytes);

/* Reads what is known only at the end: kills, pages left in the page cache, and the peak of the whole run, evaluation
 * included. The peak is recorded as the run's own only if no epoch ended. *peak_bytes: GNN_UNKNOWN without a group.
 * *most_bytes is raised as by gnn_run_host_observe_cache. */
void gnn_run_host_end(const struct gnn_run_host *host, struct gnn_run_record *run, uint64_t *peak_bytes,
                      uint64_t *most_bytes);

#endif
