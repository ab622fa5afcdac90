/* SPDX-License-Identifier: MIT */
/* The executor's internals. The clock, cores and threads are in executor.c, which uses mutexes and conditions only as
 * declared here. Their operations are in locks.c, on top of it. */
#ifndef GNN_SIM_EXECUTOR_INTERNAL_H
#define GNN_SIM_EXECUTOR_INTERNAL_H

#include "harness/world/simulated/coroutine.h"
#include "harness/world/simulated/executor.h"

#include <pthread.h>

/* State of a thread, for reports. */
enum sim_state {
    SIM_RUNNABLE, /* running, computing, or ready to run */
    SIM_SLEEPING,
    SIM_ON_MUTEX,
    SIM_ON_COND,
    SIM_JOINING,
    SIM_DONE
};

/* A list of threads: those that wait, in order of arrival, or every thread of the executor, in order of start. */
enum sim_queue_kind { SIM_WAITING, SIM_EVERY_THREAD, SIM_QUEUE_KINDS };
struct sim_queue {
    struct gnn_thread *first, *last;
    enum sim_queue_kind kind; /* a thread may be in one queue of each kind */
};

struct gnn_mutex {
    struct gnn_thread *owner; /* NULL: free; then no thread sleeps on it, or one is waking up */
    bool contended;           /* taken, and a thread slept or was about to: leaving it enters the kernel */
    struct sim_queue waiting, spinning;
    uint32_t number; /* for reports */
};

struct gnn_cond {
    struct sim_queue waiting;
    uint32_t number;
};

struct gnn_thread {
    struct sim_coroutine coroutine;
    struct sim_executor *executor;
    struct gnn_thread *prev[SIM_QUEUE_KINDS], *next[SIM_QUEUE_KINDS];
    struct gnn_thread *joiner;
    gnn_thread_fn *fn;
    void *arg;
    uint32_t number;
    uint32_t races_lost; /* times that it was woken for a mutex that another thread had taken again */
    uint32_t heap_at;    /* position in the heap that holds it; a thread is in one heap at most */
    uint64_t pending_ps; /* CPU time that has not passed yet */
    uint64_t start_ns;
    uint64_t cpu_ns;
    uint64_t queued_ns; /* time by which computing took longer than on a core of its own */
    uint64_t wait_ns[GNN_WAIT_KINDS];
    enum sim_state state;
    enum gnn_wait wait_kind; /* of a thread that waits */
    uint64_t since_ns;
    const void *object; /* what it waits for, by state: struct gnn_mutex, gnn_cond or gnn_thread */
    /* of the condition, or of the threads that poll the mutex; NULL: none. A deadline removes the thread from it */
    struct sim_queue *queue;
    bool has_deadline, timed_out;
    char name[GNN_NAME_MAX];
};

/* Threads by (key, number). The key of timers is a time. The key of computing threads is the service at which they are
 * done. Ready threads have key 0 and so are ordered by number. */
struct sim_heap_entry {
    uint64_t key;
    uint32_t number; /* the thread's, so that a comparison does not access the thread */
    struct gnn_thread *thread;
};
struct sim_heap {
    struct sim_heap_entry *entries;
    uint32_t count;
};

struct sim_executor {
    struct sim_executor_config config;
    pthread_t host; /* the operating-system thread that runs everything */
    uint64_t now_ns;
    uint64_t horizon_ns; /* the running thread may compute up to here, exclusive; 0: not known */
    uint64_t service;    /* CPU time that each computing thread has received, in 1/1024 ns */
    uint64_t tick_ns;    /* when on_tick is called next; UINT64_MAX: never */
    uint64_t busy_ns;
    uint64_t io_sleep_ns, io_since_ns; /* of all threads, up to io_since_ns */
    uint32_t io_sleepers;              /* threads that sleep for I/O since then */
    uint32_t spinning;                 /* threads that hold a core until a time, in `timers` */
    struct sim_heap ready, timers, computing;
    uint32_t heap_slots; /* of each heap: number of threads that fit */
    struct gnn_thread *running;
    struct sim_queue every_thread;
    uint32_t threads;
    uint32_t threads_started, mutexes_opened, conds_opened; /* source of their numbers */
    struct gnn_thread main;
};

/* Sleeps until another thread or a timer wakes the calling thread, and sets its state meanwhile. The time counts as
 * `kind`, unless that is GNN_WAIT_KINDS. */
void sim_block(struct sim_executor *ex, enum sim_state state, const void *object, enum gnn_wait kind);
/* Wakes the blocked thread, which continues wake_latency_ns from now. This costs the running thread wake_ns. */
void sim_wake(struct sim_executor *ex, struct gnn_thread *thread);
/* Lets the blocked thread continue at deadline_ns. A caller that wakes it earlier cancels this with sim_cancel_wake. */
void sim_wake_at(struct sim_executor *ex, struct gnn_thread *thread, uint64_t deadline_ns);
void sim_cancel_wake(struct sim_executor *ex, struct gnn_thread *thread);

/* Does sim_block while holding the core, until deadline_ns or sim_spin_over. A thread that sim_spin_over may end is in
 * the queue thread->queue. After the deadline its timed_out is true. */
void sim_spin(struct sim_executor *ex, enum sim_state state, const void *object, uint64_t deadline_ns,
              enum gnn_wait kind);
/* Ends the spinning of the thread, because its condition now holds. */
void sim_spin_over(struct sim_executor *ex, struct gnn_thread *thread);

void sim_queue_add(struct sim_queue *queue, struct gnn_thread *thread);
void sim_queue_remove(struct sim_queue *queue, struct gnn_thread *thread);
/* Removes the thread from thread->queue. */
void sim_queue_leave(struct gnn_thread *thread);

#endif
