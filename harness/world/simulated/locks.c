/* Mutexes are handed over in the order of arrival: unlocking makes the first waiter the owner, so no thread overtakes
 * another. The sleepers of a condition are woken in the order of arrival too, and take the mutex like any other thread
 * when they run again; all of that time is theirs under the kind they gave. Every operation is a scheduling point
 * first: others whose time has come act before it. */
#include "harness/world/simulated/executor_internal.h"

#include <assert.h>
#include <stdlib.h>

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

/* The time until it is ours counts as `kind`. */
static void take(struct sim_executor *ex, struct gnn_mutex *mutex, enum gnn_wait kind)
{
    struct gnn_thread *const self = ex->running;
    assert(mutex->owner != self);
    if (mutex->owner == NULL) {
        mutex->owner = self;
        return;
    }
    sim_queue_add(&mutex->waiting, self);
    sim_block(ex, SIM_ON_MUTEX, mutex, kind);
    assert(mutex->owner == self);
}

static void hand_over(struct sim_executor *ex, struct gnn_mutex *mutex)
{
    assert(mutex->owner == ex->running);
    struct gnn_thread *const next = mutex->waiting.first;
    mutex->owner = next;
    if (next == NULL)
        return;
    sim_queue_remove(&mutex->waiting, next);
    sim_wake(ex, next);
}

void sim_mutex_lock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    struct sim_executor *const ex = sim_executor_of(w);
    pay_for_lock(ex);
    take(ex, mutex, GNN_WAIT_LOCK);
}

void sim_mutex_unlock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    struct sim_executor *const ex = sim_executor_of(w);
    pay_for_lock(ex);
    hand_over(ex, mutex);
}

void sim_mutex_close(struct gnn_world *w, struct gnn_mutex *mutex)
{
    (void)w;
    if (mutex == NULL)
        return;
    assert(mutex->owner == NULL);
    assert(mutex->waiting.first == NULL);
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
        hand_over(ex, mutex); /* as the kernel does it: others may have it in between */
        self->timed_out = true;
    } else {
        self->queue = &cond->waiting;
        sim_queue_add(&cond->waiting, self);
        if (self->has_deadline)
            sim_wake_at(ex, self, deadline_ns);
        hand_over(ex, mutex);
        sim_block(ex, SIM_ON_COND, cond, kind);
    }
    const bool signalled = !self->timed_out;
    take(ex, mutex, kind);
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
