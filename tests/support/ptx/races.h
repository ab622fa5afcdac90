/* SPDX-License-Identifier: MIT */
/* Who last wrote and read each byte, and whether an access is ordered behind those. Two accesses of one byte, one of
 * them a write, are ordered if one thread made both, or if a barrier of their block or of their warp stands between.
 * Blocks are not ordered at all. */
#ifndef GNN_TESTS_PTX_RACES_H
#define GNN_TESTS_PTX_RACES_H

#include "harness/oocgnn.h"

/* A thread at a moment. */
struct ptx_moment {
    uint32_t block, thread;           /* thread: in the block */
    uint32_t barriers, warp_barriers; /* passed by the block, and by the warp */
};

/* One byte's past. */
struct ptx_byte {
    struct ptx_moment writer, reader;
    uint32_t written, read; /* 0: never; read: 1 by `reader`, 2 by its warp, 3 by its block, 4 by several blocks */
};

/* Books an access. Returns false if it is not ordered behind an earlier one, of which *other is the thread. */
bool ptx_byte_write(struct ptx_byte *byte, const struct ptx_moment *now, struct ptx_moment *other);
bool ptx_byte_read(struct ptx_byte *byte, const struct ptx_moment *now, struct ptx_moment *other);

/* Bytes of global memory, in pages that come when they are first touched. */
struct ptx_shadow;
GNN_MUST_CHECK enum gnn_status ptx_shadow_open(struct ptx_shadow **out, struct gnn_err *err);
void ptx_shadow_close(struct ptx_shadow *s); /* accepts NULL */
/* Returns the past of the byte at an address, followed by those of the bytes up to the next multiple of 16, or NULL if
 * memory runs out. */
struct ptx_byte *ptx_shadow_at(struct ptx_shadow *s, uint64_t address);

#endif
