/* Mutexes and conditions that know how long a thread waited for them. */
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct gnn_mutex {
    pthread_mutex_t handle;
};

struct gnn_cond {
    pthread_cond_t handle;
};

enum gnn_status measured_mutex_open(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err)
{
    (void)w;
    struct gnn_mutex *mutex;
    GNN_NEW(mutex, 1, err, "mutex: %zu bytes", sizeof *mutex);
    /* Adaptive: critical sections here are shorter than a wake-up, so a thread looks again before it sleeps. */
    pthread_mutexattr_t attr;
    int rc = pthread_mutexattr_init(&attr);
    assert(rc == 0);
    rc = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    assert(rc == 0);
    rc = pthread_mutex_init(&mutex->handle, &attr);
    assert(rc == 0);
    (void)pthread_mutexattr_destroy(&attr);
    *out = mutex;
    return GNN_OK;
}

void measured_mutex_lock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    measured_mutex_lock_as(w, mutex, GNN_WAIT_LOCK);
}

void measured_mutex_lock_as(struct gnn_world *w, struct gnn_mutex *mutex, enum gnn_wait kind)
{
    assert(kind < GNN_WAIT_KINDS);
    /* An uncontended lock costs no look at the clock. */
    if (pthread_mutex_trylock(&mutex->handle) == 0)
        return;
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    const int rc = pthread_mutex_lock(&mutex->handle);
    assert(rc == 0);
    self->wait_ns[kind] += measured_now_ns(w) - start_ns;
}

void measured_mutex_unlock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    (void)w;
    const int rc = pthread_mutex_unlock(&mutex->handle);
    assert(rc == 0);
}

void measured_mutex_close(struct gnn_world *w, struct gnn_mutex *mutex)
{
    (void)w;
    if (mutex == NULL)
        return;
    const int rc = pthread_mutex_destroy(&mutex->handle);
    assert(rc == 0);
    free(mutex);
}

enum gnn_status measured_cond_open(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err)
{
    (void)w;
    struct gnn_cond *cond;
    GNN_NEW(cond, 1, err, "condition: %zu bytes", sizeof *cond);
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    assert(rc == 0);
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    assert(rc == 0);
    rc = pthread_cond_init(&cond->handle, &attr);
    assert(rc == 0);
    (void)pthread_condattr_destroy(&attr);
    *out = cond;
    return GNN_OK;
}

bool measured_cond_wait(struct gnn_world *w, struct gnn_cond *cond, struct gnn_mutex *mutex, uint64_t deadline_ns,
                        enum gnn_wait kind)
{
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = measured_now_ns(w);
    int rc;
    if (deadline_ns == GNN_NO_DEADLINE) {
        rc = pthread_cond_wait(&cond->handle, &mutex->handle);
    } else {
        const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
                                          .tv_nsec = (long)(deadline_ns % UINT64_C(1000000000))};
        rc = pthread_cond_timedwait(&cond->handle, &mutex->handle, &deadline);
    }
    assert(rc == 0 || rc == ETIMEDOUT);
    assert(kind < GNN_WAIT_KINDS);
    self->wait_ns[kind] += measured_now_ns(w) - start_ns;
    return rc == 0;
}

void measured_cond_signal(struct gnn_world *w, struct gnn_cond *cond)
{
    (void)w;
    (void)pthread_cond_signal(&cond->handle);
}

void measured_cond_broadcast(struct gnn_world *w, struct gnn_cond *cond)
{
    (void)w;
    (void)pthread_cond_broadcast(&cond->handle);
}

void measured_cond_close(struct gnn_world *w, struct gnn_cond *cond)
{
    (void)w;
    if (cond == NULL)
        return;
    (void)pthread_cond_destroy(&cond->handle);
    free(cond);
}
