/* CPU time of a stretch of work: what its threads were charged, and what the machine spent besides. Interrupts run on
 * whichever core the device chose; where the kernel does not account for them (CONFIG_IRQ_TIME_ACCOUNTING off, as in
 * most distributions) they are nobody's. But a core that was not idle was busy: cores x wall time less idle time, as
 * /proc/stat tells it in steps of 10 ms a core, is all there was. Other work on the machine counts in, so the least
 * of several stretches is taken, not their median. */
#ifndef GNN_CALIBRATE_BUSY_H
#define GNN_CALIBRATE_BUSY_H

#include "harness/oocgnn.h"

#include <time.h>

struct gnn_busy {
    uint32_t cores;
    uint64_t wall_ns;
    double idle_ns;
};

void gnn_busy_begin(uint32_t cores, struct gnn_busy *out);
/* Since begin: busy nanoseconds over all cores besides own_ns, never below 0. 0 where /proc/stat cannot be read. */
double gnn_busy_besides_ns(const struct gnn_busy *begin, double own_ns);

uint64_t gnn_clock_ns(clockid_t clock);
static inline uint64_t gnn_wall_ns(void)
{
    return gnn_clock_ns(CLOCK_MONOTONIC);
}
static inline uint64_t gnn_thread_cpu_ns(void)
{
    return gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
