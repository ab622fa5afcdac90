/* SPDX-License-Identifier: MIT */
/* CPU time of a stretch of work: what its threads were charged, and what the machine spent on interrupts besides.
 * Interrupts run on whichever core the device chose; where the kernel does not account for them
 * (CONFIG_IRQ_TIME_ACCOUNTING off, as in most distributions) they are charged to the thread that happens to be there,
 * or, on an idle core, to none. But a core that was not idle was busy. So what is left of cores x wall time when idle
 * time and the time of threads is taken off went to interrupts. All of it is told by /proc/stat in steps of 10 ms: a
 * stretch lasts some tenths of a second. Other threads' time is taken off as the kernel's ticks found it. */
#ifndef GNN_CALIBRATE_BUSY_H
#define GNN_CALIBRATE_BUSY_H

#include "harness/base/clock.h"
#include "harness/oocgnn.h"

struct gnn_busy {
    uint32_t cores;
    uint64_t wall_ns;
    double idle_ns, threads_ns, steal_ns; /* of all cores since the machine started; NAN: not told */
};

void gnn_busy_begin(uint32_t cores, struct gnn_busy *out);
/* Since begin: busy nanoseconds over all cores that were no thread's, own_ns being the CPU time of the caller's own
 * threads. Never below 0; 0 where /proc/stat cannot be read. */
double gnn_busy_besides_ns(const struct gnn_busy *begin, double own_ns);

static inline uint64_t gnn_thread_cpu_ns(void)
{
    return gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
/* What one look at the thread's own clock costs; a stretch between two looks holds one. */
double gnn_thread_cpu_look_ns(void);

#endif
