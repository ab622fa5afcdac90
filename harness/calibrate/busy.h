/* SPDX-License-Identifier: MIT */
/* CPU time of a section of work: the time charged to its threads, and the time that the machine spent on interrupts.
 *
 * Interrupts run on whichever core the device selects. Without CONFIG_IRQ_TIME_ACCOUNTING, as in most distributions,
 * the kernel charges them to the thread that runs on that core, or to none on an idle core. But a core that was not
 * idle was busy. So cores x wall time, minus idle time and the time of threads, is the time of interrupts.
 *
 * Resolution. /proc/stat counts in steps of 10 ms, so a section must last some tenths of a second. Other threads' time
 * is subtracted as the kernel's ticks counted it. Stolen time (a hypervisor ran something else) is subtracted, too. */
#ifndef GNN_CALIBRATE_BUSY_H
#define GNN_CALIBRATE_BUSY_H

#include "harness/base/clock.h"
#include "harness/oocgnn.h"

struct gnn_busy {
    uint32_t cores;
    uint64_t wall_ns;
    double idle_ns, threads_ns, steal_ns; /* of all cores since the machine started; NAN: unknown */
};

void gnn_busy_begin(uint32_t cores, struct gnn_busy *out);
/* Returns the busy nanoseconds since begin, over all cores, that were not charged to a thread. own_ns is the CPU time
 * of the caller's own threads. Never below 0; 0 if /proc/stat cannot be read. */
double gnn_busy_besides_ns(const struct gnn_busy *begin, double own_ns);

static inline uint64_t gnn_thread_cpu_ns(void)
{
    return gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
/* Returns the cost of one read of the thread's own clock. A section between two reads includes it once. */
double gnn_thread_cpu_look_ns(void);

#endif
