/* SPDX-License-Identifier: MIT */
/* There is one virtual clock, `now`. Running code does not advance it. It only adds up the CPU time it would have
 * taken; that time passes at the next scheduling point.
 *
 * A thread that computes for d is put into `computing`. Its key is the service it has received so far plus d. Service
 * is the CPU time that each computing thread has received. It grows as fast as time while there are cores for all
 * threads, and at cores / threads of that speed otherwise.
 *
 * The next event is the first timer, or the end of the first computation. The time of that end follows from the speed
 * and is rounded up to a nanosecond. Threads whose event has come are `ready`. They run in the order of their numbers.
 *
 * The horizon saves most of this work. It is the time of the next event, should the running thread compute until then.
 * Below it the running thread goes on without a look at the queues. An event that is added lowers the horizon; a switch
 * forgets it. The next tick is one more bound: what computes across it takes the long way, to the same nanosecond. */
#include "harness/world/simulated/executor.h"

#include "harness/world/simulated/executor_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVICE_PER_NS = 1024, HEAP_SLOTS_FIRST = 64 };
static const uint64_t quantum_ps = UINT64_C(1000000000); /* 1 ms: longer computations pass in pieces */

/* ---- heaps ---- */

static bool entry_before(const struct sim_heap_entry *a, const struct sim_heap_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

static void heap_put(struct sim_heap *heap, uint32_t at, struct sim_heap_entry entry)
{
    heap->entries[at] = entry;
    entry.thread->heap_at = at;
}

static void heap_up(struct sim_heap *heap, uint32_t at, struct sim_heap_entry entry)
{
    while (at > 0) {
        const uint32_t parent = (at - 1) / 2;
        if (!entry_before(&entry, &heap->entries[parent]))
            break;
        heap_put(heap, at, heap->entries[parent]);
        at = parent;
    }
    heap_put(heap, at, entry);
}

static void heap_down(struct sim_heap *heap, uint32_t at, struct sim_heap_entry entry)
{
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && entry_before(&heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!entry_before(&heap->entries[child], &entry))
            break;
        heap_put(heap, at, heap->entries[child]);
        at = child;
    }
    heap_put(heap, at, entry);
}

static void heap_push(struct sim_heap *heap, uint64_t key, struct gnn_thread *thread)
{
    heap_up(heap, heap->count++, (struct sim_heap_entry){.key = key, .number = thread->number, .thread = thread});
}

static void heap_remove(struct sim_heap *heap, uint32_t at)
{
    assert(at < heap->count);
    const struct sim_heap_entry last = heap->entries[--heap->count];
    if (at == heap->count)
        return;
    if (at > 0 && entry_before(&last, &heap->entries[(at - 1) / 2]))
        heap_up(heap, at, last);
    else
        heap_down(heap, at, last);
}

static struct gnn_thread *heap_pop(struct sim_heap *heap)
{
    assert(heap->count > 0);
    struct gnn_thread *const first = heap->entries[0].thread;
    heap_remove(heap, 0);
    return first;
}

static bool heap_reserve(struct sim_heap *heap, uint32_t slots)
{
    struct sim_heap_entry *const larger = reallocarray(heap->entries, slots, sizeof *larger);
    if (larger == NULL)
        return false;
    heap->entries = larger;
    return true;
}

/* ---- queues ---- */

void sim_queue_add(struct sim_queue *queue, struct gnn_thread *thread)
{
    thread->prev[queue->kind] = queue->last;
    thread->next[queue->kind] = NULL;
    if (queue->last != NULL)
        queue->last->next[queue->kind] = thread;
    else
        queue->first = thread;
    queue->last = thread;
}

void sim_queue_remove(struct sim_queue *queue, struct gnn_thread *thread)
{
    struct gnn_thread *const prev = thread->prev[queue->kind], *const next = thread->next[queue->kind];
    if (prev != NULL)
        prev->next[queue->kind] = next;
    else
        queue->first = next;
    if (next != NULL)
        next->prev[queue->kind] = prev;
    else
        queue->last = prev;
}

void sim_queue_leave(struct gnn_thread *thread)
{
    assert(thread->queue != NULL);
    sim_queue_remove(thread->queue, thread);
    thread->queue = NULL;
}

/* ---- time and service ---- */

/* a * b / c, rounded down or up. */
static uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c, bool up)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t add = up ? c - 1 : 0;
    if ((a >> 40) == 0 && (b >> 23) == 0)
        return (a * b + add) / c;
    return (uint64_t)(((wide)a * b + add) / c);
}

/* Time until each of `threads` computing threads has received that much service. */
static uint64_t time_for(const struct sim_executor *ex, uint64_t service, uint32_t threads)
{
    if (threads <= ex->config.cores)
        return (service + SERVICE_PER_NS - 1) / SERVICE_PER_NS;
    return mul_div(service, threads, (uint64_t)ex->config.cores * SERVICE_PER_NS, true);
}

static void advance(struct sim_executor *ex, uint64_t to_ns, uint32_t threads)
{
    assert(to_ns >= ex->now_ns);
    const uint64_t dt_ns = to_ns - ex->now_ns;
    ex->now_ns = to_ns;
    if (threads <= ex->config.cores)
        ex->service += dt_ns * SERVICE_PER_NS;
    else
        ex->service += mul_div(dt_ns, (uint64_t)ex->config.cores * SERVICE_PER_NS, threads, false);
    if (to_ns >= ex->tick_ns)
        ex->tick_ns = ex->config.on_tick(ex->config.on_tick_ctx, to_ns);
}

/* When the next timer fires or the next thread is done, if that many compute until then. */
static uint64_t next_event_ns(const struct sim_executor *ex, uint32_t threads)
{
    uint64_t next_ns = ex->timers.count > 0 ? ex->timers.entries[0].key : UINT64_MAX;
    if (ex->computing.count > 0) {
        const uint64_t end_ns = ex->now_ns + time_for(ex, ex->computing.entries[0].key - ex->service, threads);
        if (end_ns < next_ns)
            next_ns = end_ns;
    }
    return next_ns;
}

static uint32_t computing(const struct sim_executor *ex)
{
    return ex->computing.count + ex->spinning;
}

/* ---- deadlock ---- */

static void describe(FILE *out, const struct gnn_thread *thread)
{
    static const char *const kinds[] = {"I/O", "queue", "lock", "compute", "resource"};
    _Static_assert(sizeof kinds / sizeof *kinds == GNN_WAIT_KINDS, "a word for each kind of wait");
    (void)fprintf(out, "  thread %" PRIu32 " %s: ", thread->number, thread->name);
    if (thread->state == SIM_DONE) {
        (void)fprintf(out, "has returned\n");
        return;
    }
    if (thread->state == SIM_JOINING) {
        const struct gnn_thread *const other = thread->object;
        (void)fprintf(out, "joins thread %" PRIu32 " %s", other->number, other->name);
    } else if (thread->state == SIM_ON_MUTEX) {
        const struct gnn_mutex *const mutex = thread->object;
        (void)fprintf(out, "waits (%s) for mutex %" PRIu32 ", held by thread %" PRIu32 " %s", kinds[thread->wait_kind],
                      mutex->number, mutex->owner->number, mutex->owner->name);
    } else {
        const struct gnn_cond *const cond = thread->object;
        (void)fprintf(out, "waits (%s) for condition %" PRIu32, kinds[thread->wait_kind], cond->number);
    }
    (void)fprintf(out, ", since %" PRIu64 " ns\n", thread->since_ns);
}

static _Noreturn void deadlock(const struct sim_executor *ex)
{
    char *report = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&report, &bytes);
    if (out != NULL) {
        (void)fprintf(out, "deadlock at %" PRIu64 " ns of virtual time: every thread waits for another\n", ex->now_ns);
        for (const struct gnn_thread *t = ex->every_thread.first; t != NULL; t = t->next[SIM_EVERY_THREAD])
            describe(out, t);
        (void)fclose(out);
    }
    const char *const text = report != NULL ? report : "deadlock, and no memory to describe it\n";
    if (ex->config.on_deadlock != NULL)
        ex->config.on_deadlock(ex->config.on_deadlock_ctx, text);
    else
        (void)fputs(text, stderr);
    abort(); /* no thread can run: there is no caller left to report to. The handler above ends the process before */
}

/* ---- the next thread ---- */

static void make_ready(struct sim_executor *ex, struct gnn_thread *thread)
{
    ex->horizon_ns = 0;
    heap_push(&ex->ready, 0, thread);
}

static void fire_timers(struct sim_executor *ex)
{
    while (ex->timers.count > 0 && ex->timers.entries[0].key <= ex->now_ns) {
        struct gnn_thread *const thread = heap_pop(&ex->timers);
        if (thread->queue != NULL) {
            thread->timed_out = true;
            sim_queue_leave(thread);
        }
        make_ready(ex, thread);
    }
}

/* The thread whose turn is next, at its time. */
static struct gnn_thread *next_thread(struct sim_executor *ex)
{
    while (ex->ready.count == 0) {
        const uint32_t threads = computing(ex);
        const uint64_t next_ns = next_event_ns(ex, threads);
        if (next_ns == UINT64_MAX)
            deadlock(ex);
        advance(ex, next_ns, threads);
        fire_timers(ex);
        while (ex->computing.count > 0 && ex->computing.entries[0].key <= ex->service)
            make_ready(ex, heap_pop(&ex->computing));
    }
    return heap_pop(&ex->ready);
}

/* The running thread stands in a heap or a queue: others run until its turn comes again. */
static void dispatch(struct sim_executor *ex)
{
    struct gnn_thread *const self = ex->running;
    struct gnn_thread *const next = next_thread(ex);
    ex->horizon_ns = 0;
    if (next == self)
        return;
    ex->running = next;
    sim_coroutine_switch(&self->coroutine, &next->coroutine);
    assert(ex->running == self);
}

static void settle_slowly(struct sim_executor *ex, uint64_t d_ns)
{
    struct gnn_thread *const self = ex->running;
    assert(pthread_equal(pthread_self(), ex->host)); /* a thread of the host's is no thread of this world */
    if (d_ns == 0) {
        if (ex->ready.count == 0 || ex->ready.entries[0].number > self->number)
            return;
        make_ready(ex, self);
        dispatch(ex);
        return;
    }
    self->cpu_ns += d_ns;
    ex->busy_ns += d_ns;
    const uint32_t threads = computing(ex) + 1;
    const uint64_t end_ns = ex->now_ns + time_for(ex, d_ns * SERVICE_PER_NS, threads);
    if (ex->ready.count == 0) {
        ex->horizon_ns = gnn_min_u64(next_event_ns(ex, threads), ex->tick_ns);
        if (end_ns < ex->horizon_ns) {
            self->queued_ns += end_ns - ex->now_ns - d_ns;
            advance(ex, end_ns, threads);
            return;
        }
    }
    const uint64_t start_ns = ex->now_ns;
    heap_push(&ex->computing, ex->service + d_ns * SERVICE_PER_NS, self);
    dispatch(ex);
    self->queued_ns += ex->now_ns - start_ns - d_ns;
}

void sim_settle(struct sim_executor *ex)
{
    struct gnn_thread *const self = ex->running;
    const uint64_t d_ns = self->pending_ps / SIM_PS_PER_NS;
    self->pending_ps -= d_ns * SIM_PS_PER_NS; /* what is less than a nanosecond passes later */
    if (computing(ex) < ex->config.cores && ex->now_ns + d_ns < ex->horizon_ns) {
        ex->now_ns += d_ns;
        ex->service += d_ns * SERVICE_PER_NS;
        ex->busy_ns += d_ns;
        self->cpu_ns += d_ns;
        return;
    }
    settle_slowly(ex, d_ns);
}

void sim_cpu(struct sim_executor *ex, uint64_t ps)
{
    struct gnn_thread *const self = ex->running;
    self->pending_ps += ps;
    if (self->pending_ps >= quantum_ps)
        sim_settle(ex);
}

uint64_t sim_now(const struct sim_executor *ex)
{
    return ex->now_ns;
}

uint64_t sim_pending_ns(const struct sim_executor *ex)
{
    return ex->running->pending_ps / SIM_PS_PER_NS;
}

uint64_t sim_busy_ns(const struct sim_executor *ex)
{
    return ex->busy_ns;
}

/* ---- blocking and waking ---- */

uint64_t sim_io_sleep_ns(const struct sim_executor *ex)
{
    return ex->io_sleep_ns + ex->io_sleepers * (ex->now_ns - ex->io_since_ns);
}

static void count_io_sleepers(struct sim_executor *ex, bool one_more)
{
    ex->io_sleep_ns = sim_io_sleep_ns(ex);
    ex->io_since_ns = ex->now_ns;
    ex->io_sleepers = one_more ? ex->io_sleepers + 1 : ex->io_sleepers - 1;
}

/* As sim_block, asleep or on a core. */
static void wait_as(struct sim_executor *ex, enum sim_state state, const void *object, enum gnn_wait kind)
{
    struct gnn_thread *const self = ex->running;
    self->state = state;
    self->object = object;
    self->wait_kind = kind;
    self->since_ns = ex->now_ns;
    dispatch(ex);
    self->state = SIM_RUNNABLE;
    if (kind < GNN_WAIT_KINDS)
        self->wait_ns[kind] += ex->now_ns - self->since_ns;
}

void sim_block(struct sim_executor *ex, enum sim_state state, const void *object, enum gnn_wait kind)
{
    if (kind != GNN_WAIT_IO) {
        wait_as(ex, state, object, kind);
        return;
    }
    count_io_sleepers(ex, true);
    wait_as(ex, state, object, kind);
    count_io_sleepers(ex, false);
}

void sim_wake_at(struct sim_executor *ex, struct gnn_thread *thread, uint64_t deadline_ns)
{
    if (deadline_ns < ex->horizon_ns)
        ex->horizon_ns = deadline_ns;
    heap_push(&ex->timers, deadline_ns, thread);
}

void sim_cancel_wake(struct sim_executor *ex, struct gnn_thread *thread)
{
    assert(ex->timers.entries[thread->heap_at].thread == thread);
    heap_remove(&ex->timers, thread->heap_at);
}

static void sleep_over(struct sim_executor *ex, struct gnn_thread *thread)
{
    if (ex->config.wake_latency_ns == 0)
        make_ready(ex, thread);
    else
        sim_wake_at(ex, thread, ex->now_ns + ex->config.wake_latency_ns);
}

void sim_wake(struct sim_executor *ex, struct gnn_thread *thread)
{
    ex->running->pending_ps += ex->config.wake_ns * SIM_PS_PER_NS;
    sleep_over(ex, thread);
}

void sim_sleep_until(struct gnn_world *w, uint64_t deadline_ns, enum gnn_wait kind)
{
    struct sim_executor *const ex = sim_executor_of(w);
    assert(kind < GNN_WAIT_KINDS);
    sim_settle(ex);
    if (deadline_ns <= ex->now_ns)
        return;
    sim_wake_at(ex, ex->running, deadline_ns);
    sim_block(ex, SIM_SLEEPING, NULL, kind);
}

void sim_spin(struct sim_executor *ex, enum sim_state state, const void *object, uint64_t deadline_ns,
              enum gnn_wait kind)
{
    const uint64_t service = ex->service;
    sim_wake_at(ex, ex->running, deadline_ns);
    ex->spinning++;
    wait_as(ex, state, object, kind);
    ex->spinning--;
    const uint64_t cpu_ns = (ex->service - service) / SERVICE_PER_NS;
    ex->running->cpu_ns += cpu_ns;
    ex->busy_ns += cpu_ns;
}

void sim_spin_until(struct sim_executor *ex, uint64_t deadline_ns, enum gnn_wait kind)
{
    assert(kind < GNN_WAIT_KINDS);
    sim_settle(ex);
    if (deadline_ns > ex->now_ns)
        sim_spin(ex, SIM_SLEEPING, NULL, deadline_ns, kind);
}

void sim_spin_over(struct sim_executor *ex, struct gnn_thread *thread)
{
    sim_queue_leave(thread);
    sim_cancel_wake(ex, thread);
    make_ready(ex, thread);
}

/* ---- threads ---- */

static void thread_name(struct gnn_thread *thread, const char *name)
{
    (void)snprintf(thread->name, sizeof thread->name, "%s", name);
}

static void add_thread(struct sim_executor *ex, struct gnn_thread *thread)
{
    thread->executor = ex;
    thread->number = ex->threads_started++;
    thread->start_ns = ex->now_ns;
    sim_queue_add(&ex->every_thread, thread);
    ex->threads++;
}

/* Room for every thread in every heap, so that no scheduling point allocates. */
static bool reserve(struct sim_executor *ex, uint32_t threads)
{
    if (threads <= ex->heap_slots)
        return true;
    const uint32_t slots = ex->heap_slots == 0 ? HEAP_SLOTS_FIRST : 2 * ex->heap_slots;
    if (!heap_reserve(&ex->ready, slots) || !heap_reserve(&ex->timers, slots) || !heap_reserve(&ex->computing, slots))
        return false;
    ex->heap_slots = slots;
    return true;
}

static void thread_main(void *arg)
{
    struct gnn_thread *const self = arg;
    struct sim_executor *const ex = self->executor;
    self->fn(self->arg);
    sim_settle(ex);
    if (self->joiner != NULL)
        self->pending_ps += ex->config.wake_ns * SIM_PS_PER_NS;
    sim_settle(ex);
    self->state = SIM_DONE;
    if (self->joiner != NULL)
        sleep_over(ex, self->joiner);
    struct gnn_thread *const next = next_thread(ex);
    assert(next != self);
    ex->horizon_ns = 0;
    ex->running = next;
    sim_coroutine_leave(&self->coroutine, &next->coroutine);
}

enum gnn_status sim_thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                 struct gnn_thread **out, struct gnn_err *err)
{
    struct sim_executor *const ex = sim_executor_of(w);
    sim_cpu(ex, ex->config.thread_start_ns * SIM_PS_PER_NS);
    sim_settle(ex);
    struct gnn_thread *const thread = calloc(1, sizeof *thread);
    if (thread == NULL || !reserve(ex, ex->threads + 1)) {
        free(thread);
        return gnn_fail(err, GNN_ENOMEM, "thread %s: %zu bytes", name, sizeof *thread);
    }
    thread_name(thread, name);
    thread->fn = fn;
    thread->arg = arg;
    const enum gnn_status status = sim_coroutine_open(&thread->coroutine, thread_main, thread, err);
    if (status != GNN_OK) {
        free(thread);
        return status;
    }
    add_thread(ex, thread);
    make_ready(ex, thread);
    *out = thread;
    return GNN_OK;
}

void sim_thread_join(struct gnn_world *w, struct gnn_thread *thread)
{
    struct sim_executor *const ex = sim_executor_of(w);
    if (thread == NULL)
        return;
    sim_settle(ex);
    assert(thread != ex->running);
    assert(thread->joiner == NULL);
    if (thread->state != SIM_DONE) {
        thread->joiner = ex->running;
        sim_block(ex, SIM_JOINING, thread, GNN_WAIT_KINDS);
    }
    assert(thread->state == SIM_DONE);
    sim_queue_remove(&ex->every_thread, thread);
    ex->threads--;
    sim_coroutine_close(&thread->coroutine);
    free(thread);
}

void sim_thread_split(struct gnn_world *w, struct gnn_time_split *out)
{
    struct sim_executor *const ex = sim_executor_of(w);
    sim_settle(ex);
    const struct gnn_thread *const self = ex->running;
    out->wall_ns = ex->now_ns - self->start_ns;
    out->cpu_ns = self->cpu_ns;
    out->queued_ns = self->queued_ns;
    memcpy(out->wait_ns, self->wait_ns, sizeof out->wait_ns);
}

void sim_add_wait(struct gnn_world *w, enum gnn_wait kind, uint64_t ns)
{
    struct sim_executor *const ex = sim_executor_of(w);
    assert(kind < GNN_WAIT_KINDS);
    ex->running->wait_ns[kind] += ns;
}

/* ---- open, close ---- */

enum gnn_status sim_executor_open(const struct sim_executor_config *config, struct sim_executor **out,
                                  struct gnn_err *err)
{
    assert(config->cores > 0);
    assert(config->cores <= 1 << 16); /* as many as a profile may have */
    struct sim_executor *const ex = calloc(1, sizeof *ex);
    if (ex == NULL || !reserve(ex, 1)) {
        sim_executor_close(ex);
        return gnn_fail(err, GNN_ENOMEM, "the simulated world's executor: %zu bytes", sizeof *ex);
    }
    ex->config = *config;
    ex->tick_ns = config->on_tick != NULL ? 0 : UINT64_MAX;
    ex->host = pthread_self();
    ex->every_thread.kind = SIM_EVERY_THREAD;
    thread_name(&ex->main, "main");
    sim_coroutine_adopt(&ex->main.coroutine);
    add_thread(ex, &ex->main);
    ex->running = &ex->main;
    *out = ex;
    return GNN_OK;
}

void sim_executor_close(struct sim_executor *ex)
{
    if (ex == NULL)
        return;
    assert(ex->threads <= 1); /* every thread was joined */
    sim_coroutine_close(&ex->main.coroutine);
    free(ex->ready.entries);
    free(ex->timers.entries);
    free(ex->computing.entries);
    free(ex);
}
