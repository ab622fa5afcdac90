/* SPDX-License-Identifier: MIT */
/* Cooperative threads on a virtual clock, with cores as a resource.
 *
 * Every thread is a coroutine of the operating-system thread that opened the executor (which is thread 0 itself). Code
 * between two scheduling points takes no time; sim_cpu() says how much it would have taken, and at the next scheduling
 * point (sim_settle, called by everything below that can block or be seen by others) the thread holds a core that long.
 * With more threads computing than cores, each progresses at cores / threads of full speed (processor sharing, which is
 * what a fair scheduler tends to); so a burst of d on a machine with free cores takes d.
 *
 * The runnable thread with the least virtual time goes next, ties by thread number. When the running thread would be
 * next anyway it goes on without a switch. Times are nanoseconds, sums of CPU work picoseconds; integers throughout. */
#ifndef GNN_SIM_EXECUTOR_H
#define GNN_SIM_EXECUTOR_H

#include "harness/world/world.h"

enum { SIM_PS_PER_NS = 1000 };

struct sim_executor;

/* Returns the executor that a world's state begins with: it serves the hooks of threads, locks and sleeping whole. Each
 * of them settles first (below); a sleep costs no CPU. */
static inline struct sim_executor *sim_executor_of(struct gnn_world *w)
{
    return *(struct sim_executor **)w->state;
}
GNN_WORLD_HOOKS(GNN_WORLD_HOOK_DECLARE, sim)

/* Told when the clock has reached the time that the last call returned (the first: 0), between two events: it looks and
 * changes nothing. Returns when it is to be called again, UINT64_MAX: never. A call may come late, by as much as the
 * clock jumped. */
typedef uint64_t sim_tick_fn(void *ctx, uint64_t now_ns);

struct sim_executor_config {
    uint32_t cores;
    uint64_t lock_ns, wake_ns, wake_latency_ns, thread_start_ns; /* as in struct gnn_profile_cpu */
    uint64_t spin_ns;     /* how long a thread looks at a mutex that is taken before it enters the kernel */
    uint64_t futex_ns;    /* entering the kernel for a mutex that is taken, or was while somebody wanted it */
    sim_tick_fn *on_tick; /* NULL: none */
    void *on_tick_ctx;
    void (*on_deadlock)(void *ctx, const char *report); /* as in struct gnn_simulated_config */
    void *on_deadlock_ctx;
};

GNN_MUST_CHECK enum gnn_status sim_executor_open(const struct sim_executor_config *config, struct sim_executor **out,
                                                 struct gnn_err *err);
void sim_executor_close(struct sim_executor *ex); /* every thread was joined; accepts NULL */

/* The running thread's time as of its last scheduling point (nanoseconds since open). */
uint64_t sim_now(const struct sim_executor *ex);
/* CPU time of the running thread that has not passed yet. */
uint64_t sim_pending_ns(const struct sim_executor *ex);
uint64_t sim_busy_ns(const struct sim_executor *ex); /* CPU time over all cores */
/* The time that threads have slept for I/O, summed over them, up to now; spinning is none. */
uint64_t sim_io_sleep_ns(const struct sim_executor *ex);

/* Adds CPU time to the running thread; it passes at the next scheduling point, at the latest after `quantum`. */
void sim_cpu(struct sim_executor *ex, uint64_t ps);
/* Scheduling point: what sim_cpu() added passes, and others whose time has come run first. */
void sim_settle(struct sim_executor *ex);

/* Settles, then computes until the clock reads deadline_ns: a spinning wait. It holds a core meanwhile, but counts as
 * `kind`. */
void sim_spin_until(struct sim_executor *ex, uint64_t deadline_ns, enum gnn_wait kind);

#endif
