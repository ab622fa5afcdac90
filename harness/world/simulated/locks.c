/* SPDX-License-Identifier: MIT */
/* Mutexes as the measured world has them, the C library's adaptive ones over futexes: unlocking frees the mutex, and
 * whoever comes next takes it, be it a thread that was never asleep. A thread that finds it taken looks again for a
 * while, on its core; then it enters the kernel, which looks once more, and sleeps. The one that unlocks wakes the
 * first sleeper if anyone has slept since the mutex was taken, and the woken thread competes like any other. So a mutex
 * is never held by a thread that is still waking up, and short critical sections do not line their users up behind one
 * another at the pace of wake-ups.
 *
 * In virtual time a sleeper could come too late for ever, at the same point of its rival's round; a real machine's
 * jitter ends that. Here a thread that came too late LOST_MAX times is handed the mutex.
 *
 * The sleepers of a condition are woken in the order of arrival, and take the mutex like any other thread when they run
 * again; all of that time is theirs under the kind they gave. Every operation is a scheduling point first: others whose
 * time has come act before it. */
#include "harness/world/simulated/executor_internal.h"

#include <assert.h>
#include <stdlib.h>

enum { LOST_MAX = 64 };

/* ---- mutexes ---- */

enum gnn_status sim_mutex_open(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err)
{
    struct sim_executor *const ex = sim_executor_of(w);
    struct gnn_mutex *mutex;
    GNN_NEW(mutex, 1, err, "mutex: %zu bytes", sizeof *mutex);
    mutex->number = ex->mutexes_opened++;
    *out = mutex;
    return GNN_OK;
}

static void pay_for_lock(struct sim_executor *ex)
{
    ex->running->pending_ps += ex->config.lock_ns * SIM_PS_PER_NS;
    sim_settle(ex);
}

static void own(struct gnn_mutex *mutex, struct gnn_thread *thread, bool contended)
{
    assert(mutex->owner == NULL);
    mutex->owner = thread;
    mutex->contended = contended;
    thread->races_lost = 0;
}

/* Returns whether the mutex was left, and so is ours, while we looked. */
static bool spin(struct sim_executor *ex, struct gnn_mutex *mutex, enum gnn_wait kind)
{
    struct gnn_thread *const self = ex->running;
    sim_settle(ex);
    if (mutex->owner == NULL) { /* left while we settled */
        own(mutex, self, false);
        return true;
    }
    if (ex->config.spin_ns == 0)
        return false;
    self->timed_out = false;
    self->queue = &mutex->spinning;
    sim_queue_add(&mutex->spinning, self);
    sim_spin(ex, SIM_ON_MUTEX, mutex, ex->now_ns + ex->config.spin_ns, kind);
    assert(self->timed_out == (mutex->owner != self));
    return mutex->owner == self;
}

/* The mutex is taken: sleeps until it is ours. */
static void take_slowly(struct sim_executor *ex, struct gnn_mutex *mutex, enum gnn_wait kind)
{
    struct gnn_thread *const self = ex->running;
    while (mutex->owner != NULL) {
        mutex->contended = true; /* who unlocks while we enter the kernel enters it too */
        self->pending_ps += ex->config.futex_ns * SIM_PS_PER_NS;
        sim_settle(ex);
        if (mutex->owner == NULL)
            break;
        mutex->contended = true; /* it may be another's by now */
        sim_queue_add(&mutex->waiting, self);
        sim_block(ex, SIM_ON_MUTEX, mutex, kind);
        if (mutex->owner == self)
            return;
        self->races_lost++;
    }
    own(mutex, self, true);
}

/* What is waited for the mutex counts as `kind`. contended: leaving it enters the kernel in any case. */
static void take(struct sim_executor *ex, struct gnn_mutex *mutex, enum gnn_wait kind, bool contended)
{
    assert(mutex->owner != ex->running);
    if (mutex->owner == NULL)
        own(mutex, ex->running, contended);
    else if (spin(ex, mutex, kind))
        mutex->contended |= contended;
    else
        take_slowly(ex, mutex, kind);
}

/* Wakes the first sleeper; returns whether it has the mutex already. */
static bool wake_sleeper(struct sim_executor *ex, struct gnn_mutex *mutex)
{
    struct gnn_thread *const first = mutex->waiting.first;
    if (first == NULL) { /* nobody sleeps any more, but only the kernel knows */
        ex->running->pending_ps += ex->config.futex_ns * SIM_PS_PER_NS;
        return false;
    }
    sim_queue_remove(&mutex->waiting, first);
    sim_wake(ex, first);
    if (first->races_lost < LOST_MAX)
        return false;
    own(mutex, first, true);
    return true;
}

static void leave(struct sim_executor *ex, struct gnn_mutex *mutex)
{
    assert(mutex->owner == ex->running);
    mutex->owner = NULL;
    if (mutex->contended && wake_sleeper(ex, mutex))
        return;
    mutex->contended = false;
    struct gnn_thread *const spinner = mutex->spinning.first;
    if (spinner == NULL)
        return;
    own(mutex, spinner, false);
    sim_spin_over(ex, spinner);
}

void sim_mutex_lock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    struct sim_executor *const ex = sim_executor_of(w);
    pay_for_lock(ex);
    take(ex, mutex, GNN_WAIT_LOCK, false);
}

void sim_mutex_unlock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    struct sim_executor *const ex = sim_executor_of(w);
    pay_for_lock(ex);
    leave(ex, mutex);
}

void sim_mutex_close(struct gnn_world *w, struct gnn_mutex *mutex)
{
    (void)w;
    if (mutex == NULL)
        return;
    assert(mutex->owner == NULL);
    assert(mutex->waiting.first == NULL);
    assert(mutex->spinning.first == NULL);
    free(mutex);
}

/* ---- conditions ---- */

enum gnn_status sim_cond_open(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err)
{
    struct sim_executor *const ex = sim_executor_of(w);
    struct gnn_cond *cond;
    GNN_NEW(cond, 1, err, "condition: %zu bytes", sizeof *cond);
    cond->number = ex->conds_opened++;
    *out = cond;
    return GNN_OK;
}

bool sim_cond_wait(struct gnn_world *w, struct gnn_cond *cond, struct gnn_mutex *mutex, uint64_t deadline_ns,
                   enum gnn_wait kind)
{
    struct sim_executor *const ex = sim_executor_of(w);
    assert(kind < GNN_WAIT_KINDS);
    pay_for_lock(ex);
    struct gnn_thread *const self = ex->running;
    self->timed_out = false;
    self->has_deadline = deadline_ns != GNN_NO_DEADLINE;
    if (self->has_deadline && deadline_ns <= ex->now_ns) {
        leave(ex, mutex); /* as the kernel does it: others may have it in between */
        self->timed_out = true;
    } else {
        self->queue = &cond->waiting;
        sim_queue_add(&cond->waiting, self);
        if (self->has_deadline)
            sim_wake_at(ex, self, deadline_ns);
        leave(ex, mutex);
        sim_block(ex, SIM_ON_COND, cond, kind);
    }
    const bool signalled = !self->timed_out;
    take(ex, mutex, kind, true); /* the library takes it as one that others may sleep on */
    return signalled;
}

static void wake_first(struct sim_executor *ex, struct gnn_cond *cond)
{
    struct gnn_thread *const thread = cond->waiting.first;
    sim_queue_leave(thread);
    if (thread->has_deadline)
        sim_cancel_wake(ex, thread);
    sim_wake(ex, thread);
}

void sim_cond_signal(struct gnn_world *w, struct gnn_cond *cond)
{
    struct sim_executor *const ex = sim_executor_of(w);
    pay_for_lock(ex);
    if (cond->waiting.first != NULL)
        wake_first(ex, cond);
}

void sim_cond_broadcast(struct gnn_world *w, struct gnn_cond *cond)
{
    struct sim_executor *const ex = sim_executor_of(w);
    pay_for_lock(ex);
    while (cond->waiting.first != NULL)
        wake_first(ex, cond);
}

void sim_cond_close(struct gnn_world *w, struct gnn_cond *cond)
{
    (void)w;
    assert(cond == NULL || cond->waiting.first == NULL);
    free(cond);
}
