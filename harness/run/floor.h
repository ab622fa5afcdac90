/* SPDX-License-Identifier: MIT */
/* The floor of an epoch: what it takes at least on its machine, however well it is pipelined. It has two parts that
 * may go side by side, and is the larger one (docs/floor.md):
 *
 *   device     the epoch's own reads and writes, kept in flight as deeply as suits the device
 *   training   what the stage that trains worked, or the time in which the GPU had work
 *
 * Both are of what the epoch did. What any system would have to do is the bound (harness/stats/bound.h). */
#ifndef GNN_RUN_FLOOR_H
#define GNN_RUN_FLOOR_H

#include "harness/base/kv.h"
#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/world/profile.h"

/* What the floors of a run's epochs are computed from. */
struct gnn_floor {
    bool has_device; /* false: no profile tells of it, so there is no floor */
    struct gnn_profile_storage device;
    uint64_t device_bps, device_iops; /* throttles of reads and of writes, each; 0: none */
    bool trains;                      /* false (--sample-only): there is no training to wait for */
    bool direct;                      /* every explicit read goes past the page cache; known once the system is open */
};

/* Looks for the device's figures: in the profile of a simulated machine; of this one in `this`, which `oocgnn
 * calibrate` writes. Notes the profile in the environment (GNN_ENVIRONMENT_FLOOR), as unknown where there is none, and
 * when it was calibrated; warns of a `this` that is old. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_floor_open(const struct gnn_run_config *config, struct gnn_kv_list *environment,
                                              struct gnn_floor *out, struct gnn_err *err);

/* Returns the device's time for what the epoch read and wrote; GNN_UNKNOWN without counters or a profile of it. Reads
 * are those that the device was counted to deliver; where no control group counts, those that the system asked
 * for, if all were direct. They take what as many of their mean size take. */
uint64_t gnn_floor_device_ns(const struct gnn_floor *floor, const struct gnn_record_epoch *epoch);

/* Time of one of the workers of stage "train" that it computed or waited for the accelerator; or the accelerator's own,
 * if that is longer. 0 where the run does not train; GNN_UNKNOWN where no stage does nothing but that. */
uint64_t gnn_floor_training_ns(const struct gnn_floor *floor, const struct gnn_record_epoch *epoch);

/* Adds both to the epoch's figures, each where it is known, and the larger one where both are. */
void gnn_floor_add(const struct gnn_floor *floor, struct gnn_record_epoch *epoch);

#endif
