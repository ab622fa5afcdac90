/* SPDX-License-Identifier: MIT */
/* The minimum time of an epoch: the time it takes on its machine with perfect pipelining. It is the larger of two parts
 * that can overlap (docs/floor.md):
 *
 *   `device`    The epoch's own reads and writes, with the best number in flight.
 *   `training`  Work of the stage that trains, or the time in which the GPU had work.
 *
 * Both describe what this epoch did. What any exact system would have to read is the bound (harness/stats/bound.h). */
#ifndef GNN_RUN_FLOOR_H
#define GNN_RUN_FLOOR_H

#include "harness/base/kv.h"
#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/world/profile.h"

/* What the minimum times of a run's epochs are computed from. */
struct gnn_floor {
    bool has_device; /* false: no profile describes the device, so there is no minimum time */
    struct gnn_profile_storage device;
    uint64_t device_bps, device_iops; /* limits of reads and of writes, each; 0: none */
    bool trains;                      /* false (--sample-only): there is no training */
    bool direct;                      /* all explicit reads bypass the page cache; known once the system is open */
};

/* Writes and returns what the record of a measured run made now has for GNN_ENVIRONMENT_FLOOR. Returns NULL if this
 * machine is not calibrated. */
const char *gnn_floor_calibration(char *text, size_t text_bytes);

/* Looks up the device: in the profile of a simulated machine, or in the profile `this` of the measured one, which
 * `oocgnn calibrate` writes. Records the profile and its date in the environment (GNN_ENVIRONMENT_FLOOR), as unknown if
 * there is none. Warns if `this` is old. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_floor_open(const struct gnn_run_config *config, struct gnn_kv_list *environment,
                                              struct gnn_floor *out, struct gnn_err *err);

/* Returns the device's time for the epoch's reads and writes; GNN_UNKNOWN without counters or a profile of the device.
 * Reads are those that the device delivered. If no control group counts these, they are those that the system
 * requested, provided all were direct. The time is that of as many reads of their mean size. Writes are those that the
 * device took. If that is unknown (struct gnn_record_counters), they are those that the system requested. */
uint64_t gnn_floor_device_ns(const struct gnn_floor *floor, const struct gnn_record_epoch *epoch);

/* Returns the time that a worker of stage "train" worked or waited for the accelerator, on average. If the
 * accelerator's own busy time is longer, returns that. 0: the run does not train; GNN_UNKNOWN: no such stage, or its
 * times are unknown. */
uint64_t gnn_floor_training_ns(const struct gnn_floor *floor, const struct gnn_record_epoch *epoch);

/* Adds both parts to the epoch's figures if they are known, and the larger one if both are. */
void gnn_floor_add(const struct gnn_floor *floor, struct gnn_record_epoch *epoch);

#endif
