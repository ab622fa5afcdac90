/* SPDX-License-Identifier: MIT */
/* Threads, the clock, and each thread's split of its time. */
#include "harness/base/clock.h"
#include "harness/base/thread_limits.h"
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAULT_WAIT_NS_MIN = 2000 }; /* shorter than any device, longer than the clocks' own time */

uint64_t measured_now_ns(struct gnn_world *w)
{
    (void)w;
    return gnn_host_now_ns();
}

uint64_t measured_observed_ns(struct gnn_world *w)
{
    (void)w;
    return gnn_host_now_ns();
}

void measured_sleep_until(struct gnn_world *w, uint64_t deadline_ns, enum gnn_wait kind)
{
    struct gnn_thread *self = measured_self(measured_of(w));
    const uint64_t start_ns = gnn_host_now_ns();
    if (deadline_ns <= start_ns)
        return;
    const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
                                      .tv_nsec = (long)(deadline_ns % UINT64_C(1000000000))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
        continue;
    assert(kind < GNN_WAIT_KINDS);
    self->wait_ns[kind] += gnn_host_now_ns() - start_ns;
}

/* ---- the calling thread's record ---- */

/* Returns the nanoseconds this thread stood runnable without a CPU, the second of "cpu_ns delay_ns slices"; GNN_UNKNOWN
 * where the kernel does not tell. */
static uint64_t queued_ns(const struct gnn_thread *self)
{
    char text[64];
    const ssize_t got = self->schedstat_fd < 0 ? -1 : pread(self->schedstat_fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return GNN_UNKNOWN;
    text[got] = '\0';
    const char *second = strchr(text, ' ');
    return second == NULL ? GNN_UNKNOWN : strtoull(second, NULL, 10);
}

/* Runs on the thread itself: the clocks and /proc/thread-self are its own. */
static void thread_begin(struct gnn_thread *thread)
{
    thread->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    thread->start_queued_ns = queued_ns(thread);
    thread->start_cpu_ns = gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    thread->start_ns = gnn_host_now_ns();
    const int rc = pthread_setspecific(thread->world->self, thread);
    assert(rc == 0);
}

void measured_thread_forked(struct gnn_thread *self)
{
    if (self->schedstat_fd >= 0)
        (void)close(self->schedstat_fd);
    thread_begin(self);
}

static struct gnn_thread *thread_new(struct measured *m)
{
    struct gnn_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL)
        return NULL;
    thread->world = m;
    thread->schedstat_fd = -1;
    return thread;
}

void measured_thread_free(struct gnn_thread *thread)
{
    if (thread->schedstat_fd >= 0)
        (void)close(thread->schedstat_fd);
    free(thread);
}

struct gnn_thread *measured_self(struct measured *m)
{
    struct gnn_thread *self = pthread_getspecific(m->self);
    if (self != NULL)
        return self;
    self = thread_new(m);
    assert(self != NULL); /* some hundred bytes at a thread's first call: nothing could go on without them */
    (void)pthread_mutex_lock(&m->lock);
    self->next = m->joined_in;
    if (self->next != NULL)
        self->next->prev = self;
    m->joined_in = self;
    (void)pthread_mutex_unlock(&m->lock);
    thread_begin(self);
    return self;
}

void measured_thread_exit(void *thread)
{
    struct gnn_thread *self = thread;
    if (self->started)
        return; /* thread_join frees it */
    struct measured *m = self->world;
    (void)pthread_mutex_lock(&m->lock);
    if (self->prev != NULL)
        self->prev->next = self->next;
    else
        m->joined_in = self->next;
    if (self->next != NULL)
        self->next->prev = self->prev;
    (void)pthread_mutex_unlock(&m->lock);
    measured_thread_free(self);
}

/* ---- start, join ---- */

static void *thread_main(void *arg)
{
    struct gnn_thread *self = arg;
    thread_begin(self);
    self->fn(self->arg);
    return NULL;
}

enum gnn_status measured_thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                      struct gnn_thread **out, struct gnn_err *err)
{
    struct gnn_thread *thread = thread_new(measured_of(w));
    if (thread == NULL)
        return gnn_fail(err, GNN_ENOMEM, "thread %s: %zu bytes", name, sizeof *thread);
    thread->started = true;
    thread->fn = fn;
    thread->arg = arg;
    const int rc = pthread_create(&thread->handle, NULL, thread_main, thread);
    if (rc != 0) {
        char what[GNN_NAME_MAX + 8];
        (void)snprintf(what, sizeof what, "thread %s", name);
        measured_thread_free(thread);
        return gnn_fail_thread(err, what, rc, gnn_thread_stack_bytes());
    }
    char short_name[16]; /* the kernel's limit */
    (void)snprintf(short_name, sizeof short_name, "%.15s", name);
    (void)pthread_setname_np(thread->handle, short_name);
    *out = thread;
    return GNN_OK;
}

void measured_thread_join(struct gnn_world *w, struct gnn_thread *thread)
{
    (void)w;
    if (thread == NULL)
        return;
    const int rc = pthread_join(thread->handle, NULL);
    assert(rc == 0);
    measured_thread_free(thread);
}

/* ---- splits ---- */

void measured_thread_split(struct gnn_world *w, struct gnn_time_split *out)
{
    const struct gnn_thread *self = measured_self(measured_of(w));
    out->wall_ns = gnn_host_now_ns() - self->start_ns;
    out->cpu_ns = gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - self->start_cpu_ns;
    const uint64_t queued = queued_ns(self);
    out->queued_ns = queued == GNN_UNKNOWN ? GNN_UNKNOWN : queued - self->start_queued_ns;
    memcpy(out->wait_ns, self->wait_ns, sizeof out->wait_ns);
}

void measured_add_wait(struct gnn_world *w, enum gnn_wait kind, uint64_t ns)
{
    assert(kind < GNN_WAIT_KINDS);
    measured_self(measured_of(w))->wait_ns[kind] += ns;
}

void measured_fault_timer_start(struct gnn_thread *self, struct measured_fault_timer *timer)
{
    timer->queued_ns = queued_ns(self);
    timer->cpu_ns = gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    timer->wall_ns = gnn_host_now_ns();
}

uint64_t measured_fault_timer_stop(struct gnn_thread *self, const struct measured_fault_timer *timer)
{
    const uint64_t wall_ns = gnn_host_now_ns() - timer->wall_ns;
    const uint64_t cpu_ns = gnn_clock_ns(CLOCK_THREAD_CPUTIME_ID) - timer->cpu_ns;
    if (wall_ns < cpu_ns + FAULT_WAIT_NS_MIN)
        return 0; /* nothing was waited for: not worth the second look into /proc */
    const uint64_t delay_ns = queued_ns(self) - timer->queued_ns; /* both unknown: 0 */
    if (delay_ns >= wall_ns - cpu_ns)
        return 0;
    self->wait_ns[GNN_WAIT_IO] += wall_ns - cpu_ns - delay_ns;
    return wall_ns - cpu_ns - delay_ns;
}
