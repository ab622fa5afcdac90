/* SPDX-License-Identifier: MIT */
/* The storage device: a RAID-0 of equal devices. Each is a queue whose speed depends on request size and on the number
 * of requests in flight. A pure model without threads: the caller gives the time of a request, the model returns its
 * end. Requests are submitted in ascending order of now_ns. A request costs amortised O(1), well under 100 ns of host
 * time.
 *
 * A request that is the k-th in flight completes no earlier than arrival + k x read_ps(size, k). This is the latency of
 * a closed loop of depth k (Little's law). In a mixture of sizes smaller requests count for less than one. A request
 * completes no earlier than the device, at full speed, could have served all earlier requests. Small requests are an
 * exception: they pass large ones at their fair share of the device. Writes are in the same queue with their own
 * parameters. The profile's mixed and sustained rates, if present, give the mutual influence of reads and writes, and
 * the effect of long writing. So a closed loop of any depth reproduces the profile's grid, and an idle device answers
 * after its latency. A burst drains at the device's full speed, and no mixture exceeds it. The arithmetic is at the
 * head of device.c.
 *
 * A single member serves a request whole. With several members a request is cut at stripes. The I/Os counted are the
 * parts, as the members receive them. */
#ifndef GNN_SIM_DEVICE_H
#define GNN_SIM_DEVICE_H

#include "harness/base/sizes.h"
#include "harness/world/profile.h"

struct sim_device;

struct sim_device_counts {
    uint64_t read_bytes, read_ios, write_bytes, write_ios;
    uint64_t busy_ns;            /* time with at least one request in flight, summed over devices */
    struct gnn_sizes read_sizes; /* of the I/Os counted */
};

/* Opens a device, or returns GNN_EFORMAT with the name of a missing parameter. The caller closes *out after a failure,
 * too. */
GNN_MUST_CHECK enum gnn_status sim_device_open(const struct gnn_profile_storage *storage, struct sim_device **out,
                                               struct gnn_err *err);
void sim_device_close(struct sim_device *device); /* accepts NULL */

/* Returns the completion time of one request, which is that of its last part. len_bytes > 0. */
uint64_t sim_device_read(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes);
/* Returns the same for a read into scattered single pages: by scattered_ps. */
uint64_t sim_device_read_scattered(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes,
                                   uint64_t len_bytes);
uint64_t sim_device_write(struct sim_device *device, uint64_t now_ns, uint64_t offset_bytes, uint64_t len_bytes);
void sim_device_counts(const struct sim_device *device, struct sim_device_counts *out);

#endif
