/* SPDX-License-Identifier: MIT */
/* The clocks of this machine, for code that runs outside a world: probes, progress, calibration. A system takes its
 * time from its world. */
#ifndef GNN_BASE_CLOCK_H
#define GNN_BASE_CLOCK_H

#include <assert.h>
#include <stdint.h>
#include <time.h>

/* Returns the time of that clock in nanoseconds. */
static inline uint64_t gnn_clock_ns(clockid_t clock)
{
    struct timespec now;
    const int rc = clock_gettime(clock, &now);
    assert(rc == 0); /* the clocks we name exist on every Linux */
    (void)rc;
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Returns monotonic time in nanoseconds. Only differences have a meaning. */
static inline uint64_t gnn_host_now_ns(void)
{
    return gnn_clock_ns(CLOCK_MONOTONIC);
}

/* Returns start + span, or UINT64_MAX if the sum is larger. */
static inline uint64_t gnn_later_ns(uint64_t start_ns, uint64_t span_ns)
{
    return span_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + span_ns;
}

#endif
