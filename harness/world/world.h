/* SPDX-License-Identifier: MIT */
/* The world: everything that takes time or memory (docs/design.md, "The map"). A system uses only this header. The run
 * decides once whether the calls reach Linux (world/measured) or a virtual machine (world/simulated).
 *
 * Objects are opaque and belong to their opener. Every close accepts NULL. Any thread of this world may make calls,
 * unless a comment restricts them to the owner. A world thread has a struct gnn_time_split. Each call that can block
 * has a kind of wait, fixed or as a parameter, and adds the time that it slept to the calling thread's split. So a
 * stage's wall time is always the sum of named waits and work.
 *
 * Feature memory comes from gnn_mem_alloc(GNN_MEM_FEATURES). Only tensor_ops and the calls below dereference it: in the
 * simulated world it has addresses and no pages. */
#ifndef GNN_WORLD_H
#define GNN_WORLD_H

#include "harness/oocgnn.h"

#include <string.h>

struct gnn_thread;
struct gnn_mutex;
struct gnn_cond;
struct gnn_file;
struct gnn_map;
struct gnn_ring;
struct gnn_read_times;

/* ---- time ---- */

enum gnn_wait {
    GNN_WAIT_IO,       /* a read, write or page fault has not finished */
    GNN_WAIT_QUEUE,    /* a queue is empty or full: another stage is slower */
    GNN_WAIT_LOCK,     /* a mutex is taken */
    GNN_WAIT_COMPUTE,  /* the accelerator (or its model) has not finished */
    GNN_WAIT_RESOURCE, /* a policy's own condition: a free buffer slot, a row another batch is loading */
    GNN_WAIT_KINDS
};

/* Times of one thread since it started. wall = work + the waits. The kernel counts the time on a core (cpu_ns) and the
 * time in line for one (queued_ns). Work beyond their sum is a wait that has no name. A wait that spins is in cpu_ns,
 * too. */
struct gnn_time_split {
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t queued_ns; /* GNN_UNKNOWN if the kernel does not report it */
    uint64_t wait_ns[GNN_WAIT_KINDS];
};

/* ---- memory ---- */

/* Kinds of memory. "Large pages": the memory uses pages of 2 MiB if it has room for one and the kernel supports them.
 * The measured world touches such memory at allocation, which charges it. Other memory uses no large pages: often few
 * of its pages are touched, and a large page is charged whole. */
enum gnn_mem_flags {
    GNN_MEM_PLAIN = 0,
    GNN_MEM_FEATURES = 1, /* holds feature bytes or activations: never dereferenced by systems; in large pages */
    GNN_MEM_PINNED = 2,   /* staging for direct I/O or a GPU: touched at once, locked where permitted; in large pages */
    GNN_MEM_SHARED = 4,   /* one memory for all ranks of a run that are forked afterwards (ranks/ranks.h) */
    GNN_MEM_LARGE = 8,    /* in large pages: filled whole and read at random, or read and written past the page cache */
};

struct gnn_mem_usage {
    uint64_t current_bytes;
    uint64_t peak_bytes;
};

/* ---- storage ---- */

enum gnn_open_flags {
    GNN_OPEN_READ = 0,
    GNN_OPEN_WRITE = 1, /* create if missing, read and write */
    /* bypass the page cache; GNN_ENOTSUP if the file system refuses. Never substituted silently. */
    GNN_OPEN_DIRECT = 2,
    GNN_OPEN_TRUNCATE = 4,
    GNN_OPEN_SCRATCH = 8, /* with WRITE: a new file without a name in the directory `path`; gone with its handle,
                           * or with the process, however that ends. Traces and spills. */
    GNN_OPEN_RANDOM = 16, /* buffered reads read only the requested pages, without readahead */
};

struct gnn_file_info {
    uint64_t size_bytes;
    uint32_t mem_align_bytes;    /* alignment of buffers for direct I/O: STATX_DIOALIGN, else sysfs, else 4096 */
    uint32_t offset_align_bytes; /* alignment of offsets and lengths, likewise; 1 unless direct */
    bool direct;
};

/* The IDs of a file that a read needs. ID i is at byte i * id_bytes (4 or 8). Ascending. */
struct gnn_ids_wanted {
    const uint64_t *index; /* (count) */
    uint64_t count;
    uint32_t id_bytes;
};

enum gnn_map_advice {
    GNN_MAP_RANDOM, /* no readahead: one fault reads one page */
    GNN_MAP_NORMAL, /* the kernel's default readahead */
};

enum gnn_ring_engine { GNN_RING_URING, GNN_RING_POOL };

struct gnn_ring_config {
    enum gnn_ring_engine engine; /* selected by name; GNN_ENOTSUP if the world lacks it */
    uint32_t depth;              /* maximum number of reads and writes in flight */
    uint32_t pool_threads;       /* GNN_RING_POOL: 0 = depth, at most 64 */
    bool sqpoll;                 /* kernel thread polls the submission queue */
    bool iopoll;                 /* completions are polled; the device must support it */
    /* a wait polls the completion queue and keeps its core meanwhile: costs CPU time, saves a wake-up (it still counts
     * as GNN_WAIT_IO) */
    bool spin;
    struct gnn_file *const *register_files; /* optional: registered with the ring if the engine supports it */
    uint32_t register_file_count;
    void *register_buffer; /* optional: one memory range for the data of all reads and writes */
    uint64_t register_buffer_bytes;
};

struct gnn_read {
    struct gnn_file *file;
    uint64_t offset_bytes;
    void *dst;
    uint32_t len_bytes;
    uint32_t need_bytes; /* for storage/ring_reads.h, ignored by rings: bytes of len_bytes that must arrive */
    uint64_t tag;        /* returned with the completion */
};

struct gnn_write {
    struct gnn_file *file; /* open for writing */
    uint64_t offset_bytes;
    const void *src;
    uint32_t len_bytes;
    uint64_t tag; /* as of a read: both share a ring's completions */
};

struct gnn_completion {
    uint64_t tag;
    int32_t result; /* bytes moved, possibly fewer than requested, or a negated errno */
};

/* ---- work charged in the simulated world, free in the measured one ---- */

enum gnn_work {
    GNN_WORK_SAMPLED_EDGE, /* draw one position and append it */
    GNN_WORK_HASHED_ID,    /* one insert or lookup in an ID map */
    GNN_WORK_SORTED_KEY,
    GNN_WORK_COPIED_BYTE,
    GNN_WORK_TABLE_ENTRY, /* one entry of a mapping table looked up or updated */
    /* Work of a released program in its language and libraries. With ideal costs the first is the cost of drawing,
     * hashing and sorting an edge as above, and the others cost nothing (profile.h, "released"). */
    GNN_WORK_FRAMEWORK_EDGE, /* an edge drawn by a framework's sampler */
    GNN_WORK_SHARED_EDGE,    /* extra cost of an edge if the threads of a sampler share one mini-batch */
    GNN_WORK_BITMAP_BYTE,    /* a byte of a bitmap of nodes read, and cleared if it was set */
    GNN_WORK_SORT_STEP,      /* one item of a stable sort, for each doubling of their number */
    GNN_WORK_LIST_TAKE,      /* an entry found and removed from a list in order of use: std::list, std::unordered_map */
    GNN_WORK_LIST_EVICT,     /* the oldest entry of such a list removed, and its owner's table entry cleared */
    GNN_WORK_LIST_PUT,       /* an entry appended to such a list */
    GNN_WORK_FRESH_PAGE,     /* first touch of a page that was just allocated */
    GNN_WORK_PROCESS_START,  /* a worker process forked from a process that holds a framework */
    GNN_WORK_CPU_NS,         /* nanoseconds of one core, as computed by a model (tensor/modelled) */
    GNN_WORK_KINDS
};

typedef void gnn_thread_fn(void *arg);

/* The operations of a world. Every hook is required. Call them through the wrappers below. */
struct gnn_world;
struct gnn_world_ops {
    const char *name; /* "measured" or "simulated": the record's column */

    uint64_t (*now_ns)(struct gnn_world *w);
    uint64_t (*observed_ns)(struct gnn_world *w);
    void (*sleep_until)(struct gnn_world *w, uint64_t deadline_ns, enum gnn_wait kind);

    enum gnn_status (*thread_start)(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                    struct gnn_thread **out, struct gnn_err *err);
    void (*thread_join)(struct gnn_world *w, struct gnn_thread *thread);
    void (*thread_split)(struct gnn_world *w, struct gnn_time_split *out);
    void (*add_wait)(struct gnn_world *w, enum gnn_wait kind, uint64_t ns);

    enum gnn_status (*mutex_open)(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err);
    void (*mutex_lock)(struct gnn_world *w, struct gnn_mutex *mutex);
    void (*mutex_unlock)(struct gnn_world *w, struct gnn_mutex *mutex);
    void (*mutex_close)(struct gnn_world *w, struct gnn_mutex *mutex);
    enum gnn_status (*cond_open)(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err);
    bool (*cond_wait)(struct gnn_world *w, struct gnn_cond *cond, struct gnn_mutex *mutex, uint64_t deadline_ns,
                      enum gnn_wait kind);
    void (*cond_signal)(struct gnn_world *w, struct gnn_cond *cond);
    void (*cond_broadcast)(struct gnn_world *w, struct gnn_cond *cond);
    void (*cond_close)(struct gnn_world *w, struct gnn_cond *cond);

    enum gnn_status (*mem_alloc)(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags, void **out,
                                 struct gnn_err *err);
    void (*mem_free)(struct gnn_world *w, void *ptr);
    void (*mem_usage)(struct gnn_world *w, struct gnn_mem_usage *out);
    void (*mem_copy)(struct gnn_world *w, void *dst, const void *src, uint64_t bytes);
    void (*mem_touch)(struct gnn_world *w, const void *ptr, uint64_t bytes);

    enum gnn_status (*file_open)(struct gnn_world *w, const char *path, unsigned flags, struct gnn_file **out,
                                 struct gnn_err *err);
    void (*file_info)(struct gnn_world *w, const struct gnn_file *file, struct gnn_file_info *out);
    const char *(*file_path)(struct gnn_world *w, const struct gnn_file *file);
    int64_t (*file_read)(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                         uint64_t len_bytes, const struct gnn_ids_wanted *wanted);
    int64_t (*file_write)(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                          uint64_t len_bytes);
    enum gnn_status (*file_sync)(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err);
    enum gnn_status (*file_evict)(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err);
    enum gnn_status (*file_lock)(struct gnn_world *w, struct gnn_file *file, bool *held, struct gnn_err *err);
    void (*file_close)(struct gnn_world *w, struct gnn_file *file);
    enum gnn_status (*file_rename)(struct gnn_world *w, const char *from, const char *to, struct gnn_err *err);
    enum gnn_status (*file_remove)(struct gnn_world *w, const char *path, struct gnn_err *err);
    enum gnn_status (*dir_make)(struct gnn_world *w, const char *path, struct gnn_err *err);

    enum gnn_status (*map_open)(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                struct gnn_map **out, struct gnn_err *err);
    enum gnn_status (*map_gather_ids)(struct gnn_world *w, struct gnn_map *map, uint32_t id_bytes,
                                      const uint64_t *index, uint64_t count, uint32_t *out, struct gnn_err *err);
    enum gnn_status (*map_gather_rows)(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                       const gnn_node *rows, uint64_t count, void *dst, uint64_t dst_stride_bytes,
                                       struct gnn_err *err);
    enum gnn_status (*map_put_rows)(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes, const gnn_node *rows,
                                    uint64_t count, const void *src, struct gnn_err *err);
    void (*map_close)(struct gnn_world *w, struct gnn_map *map);

    enum gnn_status (*ring_open)(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                 struct gnn_err *err);
    enum gnn_status (*ring_submit)(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                   uint32_t count, uint32_t *accepted, struct gnn_err *err);
    enum gnn_status (*ring_submit_writes)(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_write *writes,
                                          uint32_t count, uint32_t *accepted, struct gnn_err *err);
    enum gnn_status (*ring_wait)(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                 struct gnn_completion *out, uint32_t *got, struct gnn_err *err);
    void (*ring_close)(struct gnn_world *w, struct gnn_ring *ring);

    void (*charge)(struct gnn_world *w, enum gnn_work kind, uint64_t count);
};

struct gnn_world {
    const struct gnn_world_ops *ops;
    /* the implementation's; a decorator (faults.h) has the one of its inner world, so that hooks can be copied */
    void *state;
    struct gnn_read_times *read_times; /* optional: records of reads (storage/read_times.h) */
};

/* Every hook that a world implements itself, for the two macros below. The other four are gnn_ring_engine_*. */
/* clang-format off */
#define GNN_WORLD_HOOKS(DO, prefix) \
    DO(prefix, now_ns) DO(prefix, sleep_until) DO(prefix, thread_start) DO(prefix, thread_join)                        \
    DO(prefix, thread_split) DO(prefix, add_wait) DO(prefix, mutex_open) DO(prefix, mutex_lock)                        \
    DO(prefix, mutex_unlock) DO(prefix, mutex_close) DO(prefix, cond_open) DO(prefix, cond_wait)                       \
    DO(prefix, cond_signal) DO(prefix, cond_broadcast) DO(prefix, cond_close) DO(prefix, mem_alloc)                    \
    DO(prefix, mem_free) DO(prefix, mem_usage) DO(prefix, mem_copy) DO(prefix, file_open) DO(prefix, file_info)        \
    DO(prefix, file_path) DO(prefix, file_read) DO(prefix, file_write) DO(prefix, file_sync) DO(prefix, file_evict)    \
    DO(prefix, file_close) DO(prefix, file_rename) DO(prefix, file_remove) DO(prefix, dir_make) DO(prefix, map_open)   \
    DO(prefix, map_gather_ids) DO(prefix, map_gather_rows) DO(prefix, map_put_rows) DO(prefix, map_close)              \
    DO(prefix, ring_open) DO(prefix, charge) DO(prefix, mem_touch) DO(prefix, file_lock)          \
    DO(prefix, observed_ns)
/* clang-format on */
/* Declare prefix_hook with the hook's type and contract, and make it the table's entry. */
#define GNN_WORLD_HOOK_DECLARE(prefix, hook) __typeof__(*((struct gnn_world_ops *)0)->hook) prefix##_##hook;
#define GNN_WORLD_HOOK_ENTRY(prefix, hook) .hook = prefix##_##hook,

/* ---- clock and threads ---- */

/* Returns monotonic (or virtual) nanoseconds. */
static inline uint64_t gnn_now_ns(struct gnn_world *w)
{
    return w->ops->now_ns(w);
}

/* Returns the clock without side effects, for observers. In the simulated world other threads may run during
 * gnn_now_ns, which systems use. This call changes nothing: the caller's work that has not passed yet counts as if it
 * ran undisturbed. */
static inline uint64_t gnn_observed_ns(struct gnn_world *w)
{
    return w->ops->observed_ns(w);
}

/* Sleeps until the clock reads deadline_ns. The time slept counts as `kind`. */
static inline void gnn_sleep_until(struct gnn_world *w, uint64_t deadline_ns, enum gnn_wait kind)
{
    w->ops->sleep_until(w, deadline_ns, kind);
}

/* Starts fn(arg) on a new thread of this world. Every started thread is joined exactly once. GNN_ETHREADS, GNN_ENOMEM:
 * it cannot be started. */
static inline enum gnn_status gnn_thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                               struct gnn_thread **out, struct gnn_err *err)
{
    return w->ops->thread_start(w, name, fn, arg, out, err);
}

/* Waits for the thread to return and frees it. Accepts NULL. The wait is not charged to any kind. */
static inline void gnn_thread_join(struct gnn_world *w, struct gnn_thread *thread)
{
    w->ops->thread_join(w, thread);
}

/* Writes the calling thread's split so far to *out. Works on any thread, including the one that opened the world. */
static inline void gnn_thread_split(struct gnn_world *w, struct gnn_time_split *out)
{
    w->ops->thread_split(w, out);
}

/* Returns the part of the split that has no name: wall time less the time on a core, in line for one and in waits. It
 * grows if a thread sleeps in a call that is not timed as a wait. It is negative after waits that spun, which count
 * both as a wait and as time on a core. It is 0 if the kernel does not report the time in line. */
static inline int64_t gnn_split_unnamed_ns(const struct gnn_time_split *split)
{
    if (split->queued_ns == GNN_UNKNOWN)
        return 0;
    uint64_t named_ns = split->cpu_ns + split->queued_ns;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        named_ns += split->wait_ns[kind];
    return (int64_t)(split->wall_ns - named_ns);
}

/* Adds a wait that the caller timed itself (a library that blocks) to the calling thread's split. */
static inline void gnn_add_wait(struct gnn_world *w, enum gnn_wait kind, uint64_t ns)
{
    w->ops->add_wait(w, kind, ns);
}

/* ---- locks ---- */

static inline enum gnn_status gnn_mutex_open(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err)
{
    return w->ops->mutex_open(w, out, err);
}
static inline void gnn_mutex_lock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    w->ops->mutex_lock(w, mutex);
}
static inline void gnn_mutex_unlock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    w->ops->mutex_unlock(w, mutex);
}
static inline void gnn_mutex_close(struct gnn_world *w, struct gnn_mutex *mutex)
{
    w->ops->mutex_close(w, mutex);
}
static inline enum gnn_status gnn_cond_open(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err)
{
    return w->ops->cond_open(w, out, err);
}

#define GNN_NO_DEADLINE UINT64_MAX

/* Sleeps until signalled, or returns false if the clock passes deadline_ns. Wake-ups may be spurious. */
static inline bool gnn_cond_wait(struct gnn_world *w, struct gnn_cond *cond, struct gnn_mutex *mutex,
                                 uint64_t deadline_ns, enum gnn_wait kind)
{
    return w->ops->cond_wait(w, cond, mutex, deadline_ns, kind);
}
static inline void gnn_cond_signal(struct gnn_world *w, struct gnn_cond *cond)
{
    w->ops->cond_signal(w, cond);
}
static inline void gnn_cond_broadcast(struct gnn_world *w, struct gnn_cond *cond)
{
    w->ops->cond_broadcast(w, cond);
}
static inline void gnn_cond_close(struct gnn_world *w, struct gnn_cond *cond)
{
    w->ops->cond_close(w, cond);
}

/* ---- large memory ---- */

/* Allocates page-aligned zeroed memory, counted under `name` (a string literal), or returns GNN_ENOMEM or GNN_ECAP with
 * name and size. A page counts towards the memory limit when it is first written, pinned memory at once. */
static inline enum gnn_status gnn_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags,
                                            void **out, struct gnn_err *err)
{
    return w->ops->mem_alloc(w, name, bytes, flags, out, err);
}
/* Allocates `count` elements of the pointer's type, or returns the error from the calling function. */
#define GNN_MEM_NEW(w, pointer, count, name, flags, err)                                                               \
    do {                                                                                                               \
        void *gnn_mem_new_ = NULL;                                                                                     \
        GNN_TRY(gnn_mem_alloc((w), (name), gnn_mul_bytes((count), sizeof *(pointer)), (flags), &gnn_mem_new_, (err))); \
        (pointer) = gnn_mem_new_;                                                                                      \
    } while (0)
/* Allocates memory that represents another program's memory (tables, interpreters), or returns as gnn_mem_alloc. Each
 * page is touched, so that it is charged. *out = NULL for 0 bytes. */
static inline enum gnn_status gnn_mem_hold(struct gnn_world *w, const char *name, uint64_t bytes, void **out,
                                           struct gnn_err *err)
{
    *out = NULL;
    if (bytes == 0)
        return GNN_OK;
    GNN_TRY(gnn_mem_alloc(w, name, bytes, GNN_MEM_PLAIN, out, err));
    memset(*out, 1, bytes);
    return GNN_OK;
}
static inline void gnn_mem_free(struct gnn_world *w, void *ptr)
{
    w->ops->mem_free(w, ptr);
}
static inline void gnn_mem_usage(struct gnn_world *w, struct gnn_mem_usage *out)
{
    w->ops->mem_usage(w, out);
}

/* Copies bytes, where either side may be feature memory (as when a staged row is copied to its slot). The simulated
 * world charges the bytes and one access to memory, as for a row of a mapping. It moves no bytes of feature memory. */
static inline void gnn_mem_copy(struct gnn_world *w, void *dst, const void *src, uint64_t bytes)
{
    w->ops->mem_copy(w, dst, src, bytes);
}

/* Charges feature memory to the memory limit after a write that the simulated world cannot observe (modelled
 * operations). Reads, gathers and copies of the world charge it themselves. */
static inline void gnn_mem_touch(struct gnn_world *w, const void *ptr, uint64_t bytes)
{
    w->ops->mem_touch(w, ptr, bytes);
}

/* ---- files ---- */

static inline enum gnn_status gnn_file_open(struct gnn_world *w, const char *path, unsigned flags,
                                            struct gnn_file **out, struct gnn_err *err)
{
    return w->ops->file_open(w, path, flags, out, err);
}
static inline void gnn_file_info(struct gnn_world *w, const struct gnn_file *file, struct gnn_file_info *out)
{
    w->ops->file_info(w, file, out);
}
/* Returns the alignment that buffers, offsets and lengths of a direct read share: the larger of the two. */
static inline uint32_t gnn_file_align(const struct gnn_file_info *info)
{
    return gnn_max_u32(info->mem_align_bytes, info->offset_align_bytes);
}
static inline const char *gnn_file_path(struct gnn_world *w, const struct gnn_file *file)
{
    return w->ops->file_path(w, file);
}

/* Read or write once, as the kernel does. Return the bytes moved (possibly fewer than requested, 0 at the end), or a
 * negated errno. Use harness/storage/reader.h, which retries and compares. Counts as GNN_WAIT_IO. */
static inline int64_t gnn_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                    uint64_t len_bytes)
{
    return w->ops->file_read(w, file, offset_bytes, dst, len_bytes, NULL);
}
/* Does gnn_file_read for a caller that uses only the wanted IDs. IDs that were moved are at their places in dst, other
 * bytes of dst are undefined. dst is plain memory; wanted NULL: all bytes. The simulated world then computes only these
 * IDs of a generated graph. This saves most of a read's cost on the host if a page is read for one neighbour. */
static inline int64_t gnn_file_read_ids(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                        uint64_t len_bytes, const struct gnn_ids_wanted *wanted)
{
    return w->ops->file_read(w, file, offset_bytes, dst, len_bytes, wanted);
}
static inline int64_t gnn_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                                     uint64_t len_bytes)
{
    return w->ops->file_write(w, file, offset_bytes, src, len_bytes);
}
static inline enum gnn_status gnn_file_sync(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    return w->ops->file_sync(w, file, err);
}
/* Drops the file's pages from the page cache, after writing the dirty ones. So files that a run wrote before its first
 * epoch are as cold as the files that it found. Mapped pages may stay. */
static inline enum gnn_status gnn_file_evict(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    return w->ops->file_evict(w, file, err);
}
/* Takes the file's lock for this handle without sleeping, or sets *held = false if another handle of any process holds
 * it. The lock ends with the handle, or with the process, however that ends. A caller that prepares shared files holds
 * the lock of a file in the same directory. A file system without locks always grants it. */
static inline enum gnn_status gnn_file_lock(struct gnn_world *w, struct gnn_file *file, bool *held, struct gnn_err *err)
{
    return w->ops->file_lock(w, file, held, err);
}
static inline void gnn_file_close(struct gnn_world *w, struct gnn_file *file)
{
    w->ops->file_close(w, file);
}

/* Renames `from` to `to`, which it replaces. Files that a system prepares (as a block layout) are written under another
 * name, synced, and renamed last. So a file has its final name only when it is complete. */
static inline enum gnn_status gnn_file_rename(struct gnn_world *w, const char *from, const char *to,
                                              struct gnn_err *err)
{
    return w->ops->file_rename(w, from, to, err);
}
/* Removes the name. A missing file is not an error. */
static inline enum gnn_status gnn_file_remove(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    return w->ops->file_remove(w, path, err);
}
/* Makes one directory level. An existing directory is not an error. */
static inline enum gnn_status gnn_dir_make(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    return w->ops->dir_make(w, path, err);
}

/* ---- mappings: the page cache is the cache ---- */

/* Maps the whole file, read-only unless the file is open for writing. The file stays open until the map is closed. */
static inline enum gnn_status gnn_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                           struct gnn_map **out, struct gnn_err *err)
{
    return w->ops->map_open(w, file, advice, out, err);
}

/* Sets out[i] to entry index[i] of a file of entries of id_bytes, 4 or 8 (gnn_id_narrow). Returns GNN_EFORMAT for an
 * index past the end of the file, GNN_EIO for an unreadable page. Page faults during the call count as GNN_WAIT_IO. */
static inline enum gnn_status gnn_map_gather_ids(struct gnn_world *w, struct gnn_map *map, uint32_t id_bytes,
                                                 const uint64_t *index, uint64_t count, uint32_t *out,
                                                 struct gnn_err *err)
{
    return w->ops->map_gather_ids(w, map, id_bytes, index, count, out, err);
}
static inline enum gnn_status gnn_map_gather_u32(struct gnn_world *w, struct gnn_map *map, const uint64_t *index,
                                                 uint64_t count, uint32_t *out, struct gnn_err *err)
{
    return gnn_map_gather_ids(w, map, sizeof *out, index, count, out, err);
}

/* Copies row_bytes from file offset rows[i] * row_bytes to dst + i * dst_stride_bytes. Faults and errors as above. */
static inline enum gnn_status gnn_map_gather_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                                  const gnn_node *rows, uint64_t count, void *dst,
                                                  uint64_t dst_stride_bytes, struct gnn_err *err)
{
    return w->ops->map_gather_rows(w, map, row_bytes, rows, count, dst, dst_stride_bytes, err);
}
/* Copies row i of src to file offset rows[i] * row_bytes, or returns GNN_EPERM if the file is not open for writing.
 * Faults and other errors as above. The pages become dirty; the kernel or gnn_file_sync writes them back. Two threads
 * must not put the same row. */
static inline enum gnn_status gnn_map_put_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                               const gnn_node *rows, uint64_t count, const void *src,
                                               struct gnn_err *err)
{
    return w->ops->map_put_rows(w, map, row_bytes, rows, count, src, err);
}
static inline void gnn_map_close(struct gnn_world *w, struct gnn_map *map)
{
    w->ops->map_close(w, map);
}

/* ---- rings: asynchronous reads and writes. Owner only: one thread submits to and waits on a ring ---- */

static inline enum gnn_status gnn_ring_open(struct gnn_world *w, const struct gnn_ring_config *config,
                                            struct gnn_ring **out, struct gnn_err *err)
{
    return w->ops->ring_open(w, config, out, err);
}

/* Submits up to `count` reads in one batch and sets *accepted to the number that fitted into the depth (possibly 0).
 * Never blocks. Buffers belong to the ring until their completion is returned. */
static inline enum gnn_status gnn_ring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                              uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    return w->ops->ring_submit(w, ring, reads, count, accepted, err);
}

/* Submits writes in the same way, on the same ring and within the same depth. Files open DIRECT require offset, length
 * and src in multiples of gnn_file_align, as reads do; otherwise the write completes with -EINVAL. A file that is not
 * open for writing gives -EBADF. The data belongs to the ring, and the file stays open, until the completion is
 * returned. The completion states the bytes written; storage/ring_reads.h writes the remaining bytes.
 *
 * Operations in flight have no order. A read that overlaps a write in flight returns old or new bytes. Reads submitted
 * after a write completed return its bytes, as with gnn_file_write. Only gnn_file_sync makes them survive a power
 * failure. */
static inline enum gnn_status gnn_ring_submit_writes(struct gnn_world *w, struct gnn_ring *ring,
                                                     const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                                     struct gnn_err *err)
{
    return w->ops->ring_submit_writes(w, ring, writes, count, accepted, err);
}

/* Takes up to `max` completions, sleeping (GNN_WAIT_IO) until `min` are available. With min = 0 it never sleeps. */
static inline enum gnn_status gnn_ring_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                            struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    return w->ops->ring_wait(w, ring, min, max, out, got, err);
}

/* Waits for all reads and writes in flight, then frees the ring. */
static inline void gnn_ring_close(struct gnn_world *w, struct gnn_ring *ring)
{
    w->ops->ring_close(w, ring);
}

/* ---- charged CPU work ---- */

static inline void gnn_charge(struct gnn_world *w, enum gnn_work kind, uint64_t count)
{
    w->ops->charge(w, kind, count);
}

#endif
