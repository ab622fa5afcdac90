/* SPDX-License-Identifier: MIT */
/* Mutexes and conditions that know how long a thread waited for them. */
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct gnn_mutex {
    pthread_mutex_t handle;
    bool shared; /* lies on a page of its own that all processes of the run have */
};

struct gnn_cond {
    pthread_cond_t handle;
    bool shared;
};

/* Room for a lock: of this process, or of all that are forked later. NULL: none. */
static void *lock_memory(const struct measured *m, size_t bytes)
{
    assert(bytes <= GNN_PAGE_BYTES);
    return m->sharing ? measured_shared_page() : calloc(1, bytes);
}

static void lock_memory_free(void *memory, bool shared)
{
    if (shared)
        measured_shared_page_free(memory);
    else
        free(memory);
}

enum gnn_status measured_mutex_open(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err)
{
    const struct measured *const m = measured_of(w);
    struct gnn_mutex *const mutex = lock_memory(m, sizeof *mutex);
    if (mutex == NULL)
        return gnn_fail(err, GNN_ENOMEM, "mutex: %zu bytes", sizeof *mutex);
    mutex->shared = m->sharing;
    pthread_mutexattr_t attr;
    int rc = pthread_mutexattr_init(&attr);
    assert(rc == 0);
    /* Adaptive: critical sections here are shorter than a wake-up, so a thread looks again before it sleeps. */
    rc = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    assert(rc == 0);
    rc = pthread_mutexattr_setpshared(&attr, m->sharing ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
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
    lock_memory_free(mutex, mutex->shared);
}

enum gnn_status measured_cond_open(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err)
{
    const struct measured *const m = measured_of(w);
    struct gnn_cond *const cond = lock_memory(m, sizeof *cond);
    if (cond == NULL)
        return gnn_fail(err, GNN_ENOMEM, "condition: %zu bytes", sizeof *cond);
    cond->shared = m->sharing;
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    assert(rc == 0);
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    assert(rc == 0);
    rc = pthread_condattr_setpshared(&attr, m->sharing ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
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
    lock_memory_free(cond, cond->shared);
}
