/* SPDX-License-Identifier: MIT */
/* What a run does to this machine and reads from it: the control group, the device's readahead, the page cache at the
 * start, the probes. A run
 * on a modelled machine has no host: every function accepts NULL, then confines, evicts and reads nothing. */
#ifndef GNN_RUN_HOST_H
#define GNN_RUN_HOST_H

#include "harness/confine/confine.h"
#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/run/wire.h"

#include <sys/types.h>

struct gnn_run_host;

/* Finds the device below the dataset's directory. config outlives the host. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_open(const struct gnn_run_config *config, const char *dataset_dir,
                                                 struct gnn_run_host **out, struct gnn_err *err);
void gnn_run_host_close(struct gnn_run_host *host); /* the group too; the device has its readahead again */

/* Makes the control group, sets the device's readahead and evicts the dataset, as the configuration asks, and notes it
 * in the record. A group counts even where nothing is capped. GNN_EPERM, GNN_ENOTSUP: a cap, a throttle, a readahead or
 * a cold start cannot be had here. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_prepare(struct gnn_run_host *host, struct gnn_run_record *run,
                                                    struct gnn_err *err);

const struct gnn_cgroup *gnn_run_host_cgroup(const struct gnn_run_host *host); /* NULL: none */

/* Starts to probe the machine and the worker; start_ns is time 0 of the series. */
GNN_MUST_CHECK enum gnn_status gnn_run_host_watch(struct gnn_run_host *host, pid_t worker, uint64_t start_ns,
                                                  struct gnn_run_record *run, struct gnn_err *err);
/* When the next probe is due, on the host's clock; UINT64_MAX: never. */
uint64_t gnn_run_host_next_probe_ns(const struct gnn_run_host *host);
/* Reads the probes: the interval since the last reading. */
void gnn_run_host_probe(struct gnn_run_host *host, struct gnn_series_point *out);

/* The group's counters; all unknown without a group. */
void gnn_run_host_read_group(const struct gnn_run_host *host, struct gnn_group_reading *out);
/* What a hypervisor has taken from all cores so far; GNN_UNKNOWN before gnn_run_host_watch and where the kernel does
 * not tell. */
uint64_t gnn_run_host_stolen_ns(const struct gnn_run_host *host);

/* Observes, before the first epoch, the files that the opened system says it reads: what open wrote must have left the
 * page cache again for the start to be cold. intent outlives the host. */
void gnn_run_host_observe_opened(struct gnn_run_host *host, const struct gnn_intent *intent,
                                 struct gnn_run_record *run);
/* Observes after the first epoch whether the reads that were to go past the page cache did, and keeps the answer in the
 * record. Unknown where a file was in the page cache before. Later calls change nothing: an evaluation reads through
 * the page cache. */
void gnn_run_host_observe_direct(struct gnn_run_host *host, struct gnn_run_record *run);

/* Reads what is known only at the end: kills, what stayed in the page cache, and the peak of the whole run, evaluation
 * included, which is the run's own only where no epoch ended. *peak_bytes: GNN_UNKNOWN without a group. */
void gnn_run_host_end(const struct gnn_run_host *host, struct gnn_run_record *run, uint64_t *peak_bytes);

#endif
