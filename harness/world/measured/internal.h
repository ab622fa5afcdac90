/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the measured world share. */
#ifndef GNN_WORLD_MEASURED_INTERNAL_H
#define GNN_WORLD_MEASURED_INTERNAL_H

#include "harness/world/measured/measured.h"
#include "harness/world/ring_engines.h"

#include <pthread.h>
#include <stdatomic.h>

struct measured;

/* One thread of the world. Only that thread writes the struct. */
struct gnn_thread {
    struct measured *world;
    struct gnn_thread *prev, *next; /* the world's list of joined-in threads, under its lock */
    uint64_t start_ns;
    uint64_t start_cpu_ns, start_queued_ns;
    uint64_t wait_ns[GNN_WAIT_KINDS];
    int schedstat_fd; /* -1 if the kernel does not report it */
    bool started;     /* by thread_start, freed by thread_join; else freed at thread exit or with the world */
    pthread_t handle;
    gnn_thread_fn *fn;
    void *arg;
};

/* Memory that gnn_mem_alloc has allocated. All processes of a world share one count. */
struct measured_count {
    atomic_uint_fast64_t bytes, peak_bytes;
};

struct measured {
    struct gnn_world base;
    struct gnn_measured_config config;
    bool sharing;       /* locks opened now are shared by all processes of the run */
    pthread_key_t self; /* struct gnn_thread of the calling thread: per world, so that worlds may nest in tests */
    pthread_mutex_t lock;
    struct gnn_thread *joined_in;
    struct measured_count *memory; /* own_memory, or a page that all processes share */
    struct measured_count own_memory;
};

struct gnn_file {
    int fd;
    bool direct;
    uint32_t mem_align_bytes;
    uint32_t offset_align_bytes;
    char *path;
};

static inline struct measured *measured_of(struct gnn_world *w)
{
    return w->state;
}

GNN_WORLD_HOOKS(GNN_WORLD_HOOK_DECLARE, measured)

/* ---- memory.c ---- */

/* Returns a page shared with every process forked later, or NULL if there is no memory. */
void *measured_shared_page(void);
void measured_shared_page_free(void *page);

/* ---- threads.c ---- */

/* Returns the calling thread's record, which its first call creates; never NULL. Call it before a wait starts, so that
 * the wait is within the thread's wall time. */
struct gnn_thread *measured_self(struct measured *m);
/* Resets the running thread's clocks and /proc entry to its own, because a fork copied the parent's. */
void measured_thread_forked(struct gnn_thread *self);
/* Frees a record that its thread can no longer reach. */
void measured_thread_free(struct gnn_thread *thread);
/* Destructor of the pthread key: a thread that joined in by itself ends. */
void measured_thread_exit(void *thread);

/* Enclose work that may sleep in the kernel for the device, in a page fault or because its queue is full. Time in which
 * the thread neither computed nor queued for the CPU counts as GNN_WAIT_IO. Stop returns that time. */
struct measured_fault_timer {
    uint64_t wall_ns, cpu_ns, queued_ns;
};
void measured_fault_timer_start(struct gnn_thread *self, struct measured_fault_timer *timer);
uint64_t measured_fault_timer_stop(struct gnn_thread *self, const struct measured_fault_timer *timer);

/* Locks the mutex. The time counts as `kind` (locks.c). */
void measured_mutex_lock_as(struct gnn_world *w, struct gnn_mutex *mutex, enum gnn_wait kind);

#endif
