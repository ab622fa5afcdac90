/* SPDX-License-Identifier: MIT */
/* The storage device: a RAID-0 of equal devices, each a queue whose speed depends on request size and on how many
 * requests are in flight. A pure model without threads: the caller says when, the model says until when. Requests are
 * offered in ascending order of now_ns. O(1) amortised and well under 100 ns of host time a request.
 *
 * A request that arrives as the k-th in flight completes no earlier than arrival + k x read_ps(size, k), which is what
 * a closed loop of depth k shows for its latency (Little's law). In a mixture of sizes smaller requests count for less
 * than one, and a request completes no earlier than the device, at full speed, could have served all that came before
 * it; except that small ones pass large ones at their fair share of the device. Writes are in the same queue with their
 * own figures; how reads and writes get on with each other, and what a device does that is written to for long, are the
 * profile's mixed and sustained figures, where it has them. So a closed loop of any depth
 * reproduces the profile's grid, an idle device answers after its latency, a burst drains at the device's full speed
 * and no mixture exceeds it. The arithmetic stands at the head of device.c.
 *
 * With one member a request is served whole; with more it is cut at stripes, and the I/Os counted are the parts, as the
 * members see them. */
#ifndef GNN_SIM_DEVICE_H
#define GNN_SIM_DEVICE_H

#include "harness/base/sizes.h"
#include "harness/world/profile.h"

struct sim_device;

struct sim_device_counts {
    uint64_t read_bytes, read_ios, write_bytes, write_ios;
    uint64_t busy_ns;            /* at least one request in flight, summed over devices */
    struct gnn_sizes read_sizes; /* of the I/Os counted */
};

/* GNN_EFORMAT names what the profile lacks. The caller closes *out after a failure too. */
GNN_MUST_CHECK enum gnn_status sim_device_open(const struct gnn_profile_storage *storage, struct sim_device **out,
                                               struct gnn_err *err);
void sim_device_close(struct sim_device *device); /* accepts NULL */

/* Completion time of one request; it is cut at stripes, and done when its last part is. len_bytes > 0. */
uint64_t sim_device_read(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes);
/* Likewise into single pages that lie anywhere: by scattered_ps. */
uint64_t sim_device_read_scattered(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes,
                                   uint64_t len_bytes);
uint64_t sim_device_write(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes);
void sim_device_counts(const struct sim_device *device, struct sim_device_counts *out);

#endif
