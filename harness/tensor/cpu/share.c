/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cpu/share.h"

#include "harness/base/thread_limits.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gnn_share {
    pthread_mutex_t caller; /* held by the thread whose loop is shared */
    pthread_mutex_t mutex;  /* of what follows, up to `next` */
    pthread_cond_t posted;
    uint64_t number; /* of the loop: a thread joins each once */
    bool open;       /* may be joined */
    bool ending;
    gnn_share_fn *fn;
    const void *loop;
    uint64_t items, range;
    _Atomic uint64_t next;   /* first item that no thread took */
    _Atomic uint32_t joined; /* threads of the pool inside the loop; grows under the mutex */
    uint32_t started;
    pthread_t thread[];
};

static void take_ranges(struct gnn_share *s)
{
    for (;;) {
        const uint64_t first = atomic_fetch_add_explicit(&s->next, s->range, memory_order_relaxed);
        if (first >= s->items)
            return;
        s->fn(s->loop, first, gnn_min_u64(first + s->range, s->items));
    }
}

static void *join_loops(void *arg)
{
    struct gnn_share *const s = arg;
    uint64_t seen = 0;
    (void)pthread_mutex_lock(&s->mutex);
    while (!s->ending) {
        if (!s->open || seen == s->number) {
            (void)pthread_cond_wait(&s->posted, &s->mutex);
            continue;
        }
        seen = s->number;
        atomic_fetch_add_explicit(&s->joined, 1, memory_order_relaxed);
        (void)pthread_mutex_unlock(&s->mutex);
        take_ranges(s);
        atomic_fetch_sub_explicit(&s->joined, 1, memory_order_release);
        (void)pthread_mutex_lock(&s->mutex);
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return NULL;
}

enum gnn_status gnn_share_open(uint32_t threads, gnn_share_start *start, struct gnn_share **out, struct gnn_err *err)
{
    *out = NULL;
    if (threads <= 1)
        return GNN_OK;
    struct gnn_share *const s = calloc(1, sizeof *s + (threads - 1) * sizeof s->thread[0]);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%u threads of the tensor back-end", threads);
    (void)pthread_mutex_init(&s->caller, NULL);
    (void)pthread_mutex_init(&s->mutex, NULL);
    (void)pthread_cond_init(&s->posted, NULL);
    enum gnn_status status = GNN_OK;
    while (s->started < threads - 1 && status == GNN_OK) {
        const int code = start(&s->thread[s->started], NULL, join_loops, s);
        char what[64];
        (void)snprintf(what, sizeof what, "thread %u of %u of the tensor back-end", s->started + 2, threads);
        if (code != 0)
            status = gnn_fail_thread(err, what, code, gnn_thread_stack_bytes());
        else
            (void)pthread_setname_np(s->thread[s->started++], "compute");
    }
    return GNN_OPENED(status, s, out, gnn_share_close);
}

void gnn_share_close(struct gnn_share *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->mutex);
    s->ending = true;
    (void)pthread_cond_broadcast(&s->posted);
    (void)pthread_mutex_unlock(&s->mutex);
    for (uint32_t k = 0; k < s->started; k++)
        (void)pthread_join(s->thread[k], NULL);
    (void)pthread_cond_destroy(&s->posted);
    (void)pthread_mutex_destroy(&s->mutex);
    (void)pthread_mutex_destroy(&s->caller);
    free(s);
}

/* Lets the pool join, works, and closes the loop to others. The last ranges end within microseconds of each other, a
 * product's within two milliseconds, so the caller stays on its core for them: a sleep would cost more, and would be a
 * wait that no clock names. */
static void run_shared(struct gnn_share *s, uint64_t items, uint64_t range, gnn_share_fn *fn, const void *loop)
{
    (void)pthread_mutex_lock(&s->mutex);
    s->fn = fn;
    s->loop = loop;
    s->items = items;
    s->range = range;
    s->number++;
    s->open = true;
    atomic_store_explicit(&s->next, 0, memory_order_relaxed);
    (void)pthread_cond_broadcast(&s->posted);
    (void)pthread_mutex_unlock(&s->mutex);
    take_ranges(s);
    (void)pthread_mutex_lock(&s->mutex);
    s->open = false;
    (void)pthread_mutex_unlock(&s->mutex);
    while (atomic_load_explicit(&s->joined, memory_order_acquire) > 0)
        (void)sched_yield();
}

void gnn_share_run(struct gnn_share *s, uint64_t items, uint64_t item_bytes, gnn_share_fn *fn, const void *loop)
{
    const uint64_t range = gnn_max_u64(GNN_SHARE_RANGE_BYTES / gnn_max_u64(item_bytes, 1), 1);
    if (items == 0)
        return;
    if (s == NULL || items <= range || items * item_bytes < GNN_SHARE_LOOP_BYTES ||
        pthread_mutex_trylock(&s->caller) != 0) {
        fn(loop, 0, items);
        return;
    }
    run_shared(s, items, range, fn, loop);
    (void)pthread_mutex_unlock(&s->caller);
}
