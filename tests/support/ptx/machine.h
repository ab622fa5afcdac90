/* SPDX-License-Identifier: MIT */
/* A block in execution. Internal to this folder. */
#ifndef GNN_TESTS_PTX_MACHINE_H
#define GNN_TESTS_PTX_MACHINE_H

#include "tests/support/ptx/code.h"
#include "tests/support/ptx/races.h"

struct ptx_warp {
    uint32_t number; /* in the block */
    uint32_t counters[PTX_LANES];
    uint32_t alive, waiting; /* lanes that have not ended; that wait for others of the warp */
    uint32_t barrier;        /* the step at which it waits for the block, or PTX_NONE */
    uint32_t warp_barriers;
    uint64_t (*values)[PTX_LANES]; /* by slot */
    uint32_t *written;             /* by slot: lanes */
};

struct ptx_machine {
    const struct ptx_launch *launch;
    const struct ptx_kernel *kernel;
    struct ptx_warp *warps;
    uint32_t warp_count;
    uint32_t block, barriers;
    uint64_t steps_left;
    unsigned char *shared, *local; /* local: of every thread */
    struct ptx_byte *shared_past;
    bool *local_written;
    struct ptx_shadow *global_past;
    const struct ptx_range *last; /* the range that an access hit last */
    struct gnn_err *err;
};

/* Fails with the place of the step and the thread. */
enum gnn_status ptx_fault(const struct ptx_machine *m, const struct ptx_step *step, uint32_t thread, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

/* Reads or writes memory for the active lanes of a warp. */
enum gnn_status ptx_access(struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step, uint32_t active);

/* Writes a slot of a lane, cut to the register's width. */
static inline void ptx_set(const struct ptx_kernel *k, struct ptx_warp *w, uint32_t slot, uint32_t lane, uint64_t value)
{
    const uint32_t bits = k->slots[slot].bits;
    w->values[slot][lane] = bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
    w->written[slot] |= UINT32_C(1) << lane;
}

/* For loops over the lanes of a mask. */
static inline uint32_t ptx_take_lane(uint32_t *mask)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(*mask);
    *mask &= *mask - 1;
    return lane;
}

#endif
