/* SPDX-License-Identifier: MIT */
/* Cooperative threads on a virtual clock, with cores as a resource.
 *
 * Every thread is a coroutine of one operating-system thread, which opened the executor and is thread 0 itself. Code
 * between two scheduling points takes no time. A call of sim_cpu() states how much time it would have taken. At the
 * next scheduling point the thread holds a core that long. Scheduling points are sim_settle and everything below that
 * can block or that others can observe. If more threads compute than there are cores, each progresses at cores /
 * threads of full speed. This is processor sharing, which a fair scheduler approximates. A burst of d on a machine with
 * free cores takes d.
 *
 * The runnable thread with the least virtual time runs next, ties by thread number. If that is the running thread it
 * continues without a switch. Times are nanoseconds, sums of CPU work picoseconds, all of them integers. */
#ifndef GNN_SIM_EXECUTOR_H
#define GNN_SIM_EXECUTOR_H

#include "harness/world/world.h"

enum { SIM_PS_PER_NS = 1000 };

struct sim_executor;

/* Returns the executor at the start of a world's state. It implements the hooks of threads, locks and sleeping. Each
 * hook settles first (below). A sleep costs no CPU. */
static inline struct sim_executor *sim_executor_of(struct gnn_world *w)
{
    return *(struct sim_executor **)w->state;
}
GNN_WORLD_HOOKS(GNN_WORLD_HOOK_DECLARE, sim)

/* Observes the clock; called between two events, and must not change anything. The first call is at time 0, a later one
 * when the clock reaches the time that the call before returned. Returns the time of the next call, UINT64_MAX: never.
 * A call may be late by the length of the clock's last step. */
typedef uint64_t sim_tick_fn(void *ctx, uint64_t now_ns);

struct sim_executor_config {
    uint32_t cores;
    uint64_t lock_ns, wake_ns, wake_latency_ns, thread_start_ns; /* as in struct gnn_profile_cpu */
    uint64_t spin_ns;     /* how long a thread polls a mutex that is taken before it enters the kernel */
    uint64_t futex_ns;    /* entering the kernel for a mutex that is taken, or that others waited for */
    sim_tick_fn *on_tick; /* NULL: none */
    void *on_tick_ctx;
    void (*on_deadlock)(void *ctx, const char *report); /* as in struct gnn_simulated_config */
    void *on_deadlock_ctx;
};

GNN_MUST_CHECK enum gnn_status sim_executor_open(const struct sim_executor_config *config, struct sim_executor **out,
                                                 struct gnn_err *err);
void sim_executor_close(struct sim_executor *ex); /* every thread was joined; accepts NULL */

/* Returns the running thread's time at its last scheduling point (nanoseconds since open). */
uint64_t sim_now(const struct sim_executor *ex);
/* Returns the running thread's CPU time that has not passed yet. */
uint64_t sim_pending_ns(const struct sim_executor *ex);
uint64_t sim_busy_ns(const struct sim_executor *ex); /* CPU time over all cores */
/* Returns the time that threads have slept for I/O so far, summed over them, without spinning. */
uint64_t sim_io_sleep_ns(const struct sim_executor *ex);

/* Adds CPU time to the running thread. It passes at the next scheduling point, or now if 1 ms has accumulated. */
void sim_cpu(struct sim_executor *ex, uint64_t ps);
/* Scheduling point: CPU time added by sim_cpu() passes, and other threads whose time has come run first. */
void sim_settle(struct sim_executor *ex);

/* Settles, then computes until the clock reads deadline_ns: a spinning wait. It holds a core but counts as `kind`. */
void sim_spin_until(struct sim_executor *ex, uint64_t deadline_ns, enum gnn_wait kind);

#endif
