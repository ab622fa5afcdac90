/* SPDX-License-Identifier: MIT */
/* The least cost of requests to a device: at the best depth and size of reads, with all of its members together. Also
 * the time of a read without any other request. Integers, so that a plan computed from them is the same on every
 * machine. */
#ifndef GNN_WORLD_STORAGE_COSTS_H
#define GNN_WORLD_STORAGE_COSTS_H

#include "harness/world/profile.h"

struct gnn_storage_costs {
    uint64_t read_ps;       /* of a read of the given size at a random place */
    uint64_t alone_ps;      /* of the same read alone on an idle device, from submission to completion */
    uint64_t page_ps;       /* of GNN_PAGE_BYTES as part of large reads */
    uint64_t page_write_ps; /* of GNN_PAGE_BYTES as part of large writes, at the rate that the device sustains */
};

/* Writes the costs for reads of read_bytes, which is above 0, to *out. */
void gnn_storage_costs_of(const struct gnn_profile_storage *storage, uint64_t read_bytes,
                          struct gnn_storage_costs *out);

#endif
