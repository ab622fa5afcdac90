/* SPDX-License-Identifier: MIT */
/* The largest of the values that several threads report, such as a peak or the latest end. */
#ifndef GNN_BASE_ATOMIC_MAX_H
#define GNN_BASE_ATOMIC_MAX_H

#include <stdatomic.h>
#include <stdint.h>

/* Raises *max to value if *max is smaller. Any thread. */
static inline void gnn_atomic_max(atomic_uint_fast64_t *max, uint64_t value)
{
    uint_fast64_t seen = atomic_load(max);
    while (seen < value && !atomic_compare_exchange_weak(max, &seen, value))
        continue; /* seen is now what another thread stored */
}

#endif
