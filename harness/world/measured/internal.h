/* What the files of the measured world share. */
#ifndef GNN_WORLD_MEASURED_INTERNAL_H
#define GNN_WORLD_MEASURED_INTERNAL_H

#include "harness/world/measured/measured.h"
#include "harness/world/ring_engines.h"

#include <pthread.h>
#include <stdatomic.h>

struct measured;

/* One thread of the world; the struct is written by that thread alone. `serial` is never reused, unlike pthread_t and
 * addresses: rings tell by it whether their owner changed. */
struct gnn_thread {
    struct measured *world;
    struct gnn_thread *prev, *next; /* the world's list of joined-in threads, under its lock */
    uint64_t start_ns;
    uint64_t start_cpu_ns;
    uint64_t wait_ns[GNN_WAIT_KINDS];
    int schedstat_fd; /* -1 where the kernel does not tell */
    bool started;     /* by thread_start, freed by thread_join; else freed at thread exit or with the world */
    pthread_t handle;
    gnn_thread_fn *fn;
    void *arg;
};

struct measured {
    struct gnn_world base;
    struct gnn_measured_config config;
    pthread_key_t self; /* struct gnn_thread of the calling thread: per world, so that worlds may nest in tests */
    pthread_mutex_t lock;
    struct gnn_thread *joined_in;
    atomic_uint_fast64_t memory_bytes;
    atomic_uint_fast64_t memory_peak_bytes;
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
    return (struct measured *)w;
}

/* threads.c */
uint64_t measured_now_ns(struct gnn_world *w);
void measured_sleep_until(struct gnn_world *w, uint64_t deadline_ns, enum gnn_wait kind);
enum gnn_status measured_thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                      struct gnn_thread **out, struct gnn_err *err);
void measured_thread_join(struct gnn_world *w, struct gnn_thread *thread);
void measured_thread_split(struct gnn_world *w, struct gnn_time_split *out);
void measured_add_wait(struct gnn_world *w, enum gnn_wait kind, uint64_t ns);

/* The calling thread's record, made at its first call; never NULL. Taken before a wait starts, so that the wait lies
 * within the thread's wall time. */
struct gnn_thread *measured_self(struct measured *m);
/* Frees a record that is no longer reachable from its thread. */
void measured_thread_free(struct gnn_thread *thread);
/* The pthread key's destructor: a thread that joined in by itself ends. */
void measured_thread_exit(void *thread);

/* Brackets work that may fault: time that the thread neither computed nor queued for the CPU, it waited for I/O. */
struct measured_fault_timer {
    uint64_t wall_ns, cpu_ns, runqueue_ns;
};
void measured_fault_timer_start(struct gnn_thread *self, struct measured_fault_timer *timer);
void measured_fault_timer_stop(struct gnn_thread *self, const struct measured_fault_timer *timer);

/* locks.c */
enum gnn_status measured_mutex_open(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err);
void measured_mutex_lock(struct gnn_world *w, struct gnn_mutex *mutex);
void measured_mutex_lock_as(struct gnn_world *w, struct gnn_mutex *mutex, enum gnn_wait kind);
void measured_mutex_unlock(struct gnn_world *w, struct gnn_mutex *mutex);
void measured_mutex_close(struct gnn_world *w, struct gnn_mutex *mutex);
enum gnn_status measured_cond_open(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err);
bool measured_cond_wait(struct gnn_world *w, struct gnn_cond *cond, struct gnn_mutex *mutex, uint64_t deadline_ns,
                        enum gnn_wait kind);
void measured_cond_signal(struct gnn_world *w, struct gnn_cond *cond);
void measured_cond_broadcast(struct gnn_world *w, struct gnn_cond *cond);
void measured_cond_close(struct gnn_world *w, struct gnn_cond *cond);

/* memory.c */
enum gnn_status measured_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags, void **out,
                                   struct gnn_err *err);
void measured_mem_free(struct gnn_world *w, void *ptr);
void measured_mem_usage(struct gnn_world *w, struct gnn_mem_usage *out);
void measured_mem_copy(struct gnn_world *w, void *dst, const void *src, uint64_t bytes);

/* file.c */
enum gnn_status measured_file_open(struct gnn_world *w, const char *path, unsigned flags, struct gnn_file **out,
                                   struct gnn_err *err);
void measured_file_info(struct gnn_world *w, const struct gnn_file *file, struct gnn_file_info *out);
const char *measured_file_path(struct gnn_world *w, const struct gnn_file *file);
int64_t measured_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                           uint64_t len_bytes);
int64_t measured_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                            uint64_t len_bytes);
enum gnn_status measured_file_sync(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err);
void measured_file_close(struct gnn_world *w, struct gnn_file *file);
enum gnn_status measured_file_rename(struct gnn_world *w, const char *from, const char *to, struct gnn_err *err);
enum gnn_status measured_file_remove(struct gnn_world *w, const char *path, struct gnn_err *err);
enum gnn_status measured_dir_make(struct gnn_world *w, const char *path, struct gnn_err *err);

/* map.c */
enum gnn_status measured_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                  struct gnn_map **out, struct gnn_err *err);
enum gnn_status measured_map_gather_u32(struct gnn_world *w, struct gnn_map *map, const uint64_t *index, uint64_t count,
                                        uint32_t *out, struct gnn_err *err);
enum gnn_status measured_map_gather_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                         const gnn_node *rows, uint64_t count, void *dst, uint64_t dst_stride_bytes,
                                         struct gnn_err *err);
void measured_map_close(struct gnn_world *w, struct gnn_map *map);

/* uring.c */
enum gnn_status measured_ring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                   struct gnn_err *err);

#endif
