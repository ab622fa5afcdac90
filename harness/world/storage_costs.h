/* SPDX-License-Identifier: MIT */
/* What requests cost a device at its best: at the depth and size of reads that suit it most, all of its members
 * together; and what one takes that has it to itself. Integers, so that a plan that is made by them is the same
 * everywhere. */
#ifndef GNN_WORLD_STORAGE_COSTS_H
#define GNN_WORLD_STORAGE_COSTS_H

#include "harness/world/profile.h"

struct gnn_storage_costs {
    uint64_t read_ps;       /* of a read of the given size at a random place */
    uint64_t alone_ps;      /* likewise, from one that begins when nothing else is in flight until it is there */
    uint64_t page_ps;       /* of GNN_PAGE_BYTES of large reads */
    uint64_t page_write_ps; /* of as many of large writes, as long as anybody likes to write */
};

/* read_bytes > 0. */
void gnn_storage_costs_of(const struct gnn_profile_storage *storage, uint64_t read_bytes,
                          struct gnn_storage_costs *out);

#endif
