/* SPDX-License-Identifier: MIT */
/* Inside of the executor: executor.c has the clock, cores and threads, and knows of mutexes and conditions what stands
 * here; locks.c has their operations on top of it. */
#ifndef GNN_SIM_EXECUTOR_INTERNAL_H
#define GNN_SIM_EXECUTOR_INTERNAL_H

#include "harness/world/simulated/coroutine.h"
#include "harness/world/simulated/executor.h"

#include <pthread.h>

/* What a thread that does not run is doing: for reports. */
enum sim_state {
    SIM_RUNNABLE, /* runs, computes, or its turn comes */
    SIM_SLEEPING,
    SIM_ON_MUTEX,
    SIM_ON_COND,
    SIM_JOINING,
    SIM_DONE
};

/* Threads that wait, first come first, or every thread of the executor, in order of their start. */
enum sim_queue_kind { SIM_WAITING, SIM_EVERY_THREAD, SIM_QUEUE_KINDS };
struct sim_queue {
    struct gnn_thread *first, *last;
    enum sim_queue_kind kind; /* a thread may be in one queue of each */
};

struct gnn_mutex {
    struct gnn_thread *owner; /* NULL: free; then no thread sleeps on it, or one is on its way up */
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
    uint32_t races_lost; /* times it was woken for a mutex that another had taken again */
    uint32_t heap_at;    /* where it stands in the one heap it may be in */
    uint64_t pending_ps; /* CPU time that has not passed yet */
    uint64_t start_ns;
    uint64_t cpu_ns;
    uint64_t queued_ns; /* computing took longer than on a core of its own */
    uint64_t wait_ns[GNN_WAIT_KINDS];
    enum sim_state state;
    enum gnn_wait wait_kind; /* of a thread that waits */
    uint64_t since_ns;
    const void *object;      /* struct gnn_mutex, gnn_cond or gnn_thread it waits for, by state */
    struct sim_queue *queue; /* of the condition or the mutex's lookers, NULL: none; a deadline takes it out */
    bool has_deadline, timed_out;
    char name[GNN_NAME_MAX];
};

/* Threads by (key, number): timers by time, computing ones by the service at which they are done, those whose turn has
 * come by number alone. */
struct sim_heap_entry {
    uint64_t key;
    uint32_t number; /* the thread's: comparing needs no look at it */
    struct gnn_thread *thread;
};
struct sim_heap {
    struct sim_heap_entry *entries;
    uint32_t count;
};

struct sim_executor {
    struct sim_executor_config config;
    pthread_t host; /* the operating-system thread everything runs on */
    uint64_t now_ns;
    uint64_t horizon_ns; /* until here, exclusive, the running thread may compute on; 0: not known */
    uint64_t service;    /* what each computing thread has received, in 1/1024 ns */
    uint64_t tick_ns;    /* when on_tick is called next; UINT64_MAX: never */
    uint64_t busy_ns;
    uint64_t io_sleep_ns, io_since_ns; /* of all threads, up to io_since_ns */
    uint32_t io_sleepers;              /* since then */
    uint32_t spinning;                 /* threads that hold a core until a time, in `timers` */
    struct sim_heap ready, timers, computing;
    uint32_t heap_slots; /* of each heap: threads there may be */
    struct gnn_thread *running;
    struct sim_queue every_thread;
    uint32_t threads;
    uint32_t threads_started, mutexes_opened, conds_opened; /* their numbers */
    struct gnn_thread main;
};

/* Sleeps until another thread or a timer wakes the calling thread, whose state is set; the time counts as `kind` unless
 * that is GNN_WAIT_KINDS. */
void sim_block(struct sim_executor *ex, enum sim_state state, const void *object, enum gnn_wait kind);
/* The blocked thread goes on wake_latency_ns from now; waking it costs the running thread wake_ns. */
void sim_wake(struct sim_executor *ex, struct gnn_thread *thread);
/* The blocked thread goes on at deadline_ns unless sim_wake comes first. */
void sim_wake_at(struct sim_executor *ex, struct gnn_thread *thread, uint64_t deadline_ns);
void sim_cancel_wake(struct sim_executor *ex, struct gnn_thread *thread);

/* As sim_block, on the core, until deadline_ns or sim_spin_over; a thread that can be told stands in the queue
 * thread->queue, and timed_out says that it was not. */
void sim_spin(struct sim_executor *ex, enum sim_state state, const void *object, uint64_t deadline_ns,
              enum gnn_wait kind);
/* The spinning thread sees what it spins for now. */
void sim_spin_over(struct sim_executor *ex, struct gnn_thread *thread);

void sim_queue_add(struct sim_queue *queue, struct gnn_thread *thread);
void sim_queue_remove(struct sim_queue *queue, struct gnn_thread *thread);
/* Takes the thread out of thread->queue. */
void sim_queue_leave(struct gnn_thread *thread);

#endif
