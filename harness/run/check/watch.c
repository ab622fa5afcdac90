/* SPDX-License-Identifier: MIT */
#include "harness/run/check/watch.h"

const char *const gnn_watched_words[GNN_WATCHED] = {"blocks of memory", "files", "mappings", "rings", "threads"};

static struct gnn_watch *watch_of(struct gnn_world *w)
{
    return (struct gnn_watch *)w;
}

static struct gnn_world *inner_of(struct gnn_world *w)
{
    return watch_of(w)->inner;
}

static enum gnn_status opened(struct gnn_world *w, enum gnn_watched kind, enum gnn_status status)
{
    if (status == GNN_OK)
        atomic_fetch_add(&watch_of(w)->open[kind], 1);
    return status;
}

static void closed(struct gnn_world *w, enum gnn_watched kind, const void *object)
{
    if (object != NULL)
        atomic_fetch_sub(&watch_of(w)->open[kind], 1);
}

/* ---- what is counted ---- */

static enum gnn_status watch_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags,
                                       void **out, struct gnn_err *err)
{
    return opened(w, GNN_WATCH_MEMORY, gnn_mem_alloc(inner_of(w), name, bytes, flags, out, err));
}

static void watch_mem_free(struct gnn_world *w, void *ptr)
{
    closed(w, GNN_WATCH_MEMORY, ptr);
    gnn_mem_free(inner_of(w), ptr);
}

static enum gnn_status watch_file_open(struct gnn_world *w, const char *path, unsigned flags, struct gnn_file **out,
                                       struct gnn_err *err)
{
    return opened(w, GNN_WATCH_FILES, gnn_file_open(inner_of(w), path, flags, out, err));
}

static void watch_file_close(struct gnn_world *w, struct gnn_file *file)
{
    closed(w, GNN_WATCH_FILES, file);
    gnn_file_close(inner_of(w), file);
}

static enum gnn_status watch_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                      struct gnn_map **out, struct gnn_err *err)
{
    return opened(w, GNN_WATCH_MAPS, gnn_map_open(inner_of(w), file, advice, out, err));
}

static void watch_map_close(struct gnn_world *w, struct gnn_map *map)
{
    closed(w, GNN_WATCH_MAPS, map);
    gnn_map_close(inner_of(w), map);
}

static enum gnn_status watch_ring_open(struct gnn_world *w, const struct gnn_ring_config *config, struct gnn_ring **out,
                                       struct gnn_err *err)
{
    return opened(w, GNN_WATCH_RINGS, gnn_ring_open(inner_of(w), config, out, err));
}

static void watch_ring_close(struct gnn_world *w, struct gnn_ring *ring)
{
    closed(w, GNN_WATCH_RINGS, ring);
    gnn_ring_close(inner_of(w), ring);
}

static enum gnn_status watch_thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                          struct gnn_thread **out, struct gnn_err *err)
{
    return opened(w, GNN_WATCH_THREADS, gnn_thread_start(inner_of(w), name, fn, arg, out, err));
}

static void watch_thread_join(struct gnn_world *w, struct gnn_thread *thread)
{
    closed(w, GNN_WATCH_THREADS, thread);
    gnn_thread_join(inner_of(w), thread);
}

static int64_t watch_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                                uint64_t len_bytes)
{
    atomic_fetch_add(&watch_of(w)->written_bytes, len_bytes);
    return inner_of(w)->ops->file_write(inner_of(w), file, offset_bytes, src, len_bytes);
}

static enum gnn_status watch_ring_submit_writes(struct gnn_world *w, struct gnn_ring *ring,
                                                const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                                struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++)
        atomic_fetch_add(&watch_of(w)->written_bytes, writes[i].len_bytes);
    return inner_of(w)->ops->ring_submit_writes(inner_of(w), ring, writes, count, accepted, err);
}

/* ---- what is passed on: the inner world may be a decorator itself, whose hooks need it ---- */

static int64_t watch_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                               uint64_t len_bytes, const struct gnn_ids_wanted *wanted)
{
    return inner_of(w)->ops->file_read(inner_of(w), file, offset_bytes, dst, len_bytes, wanted);
}

static enum gnn_status watch_map_gather_ids(struct gnn_world *w, struct gnn_map *map, uint32_t id_bytes,
                                            const uint64_t *index, uint64_t count, uint32_t *out, struct gnn_err *err)
{
    return inner_of(w)->ops->map_gather_ids(inner_of(w), map, id_bytes, index, count, out, err);
}

static enum gnn_status watch_map_gather_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                             const gnn_node *rows, uint64_t count, void *dst, uint64_t dst_stride_bytes,
                                             struct gnn_err *err)
{
    return inner_of(w)->ops->map_gather_rows(inner_of(w), map, row_bytes, rows, count, dst, dst_stride_bytes, err);
}

static enum gnn_status watch_map_put_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                          const gnn_node *rows, uint64_t count, const void *src, struct gnn_err *err)
{
    return inner_of(w)->ops->map_put_rows(inner_of(w), map, row_bytes, rows, count, src, err);
}

static enum gnn_status watch_ring_submit(struct gnn_world *w, struct gnn_ring *ring, const struct gnn_read *reads,
                                         uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    return inner_of(w)->ops->ring_submit(inner_of(w), ring, reads, count, accepted, err);
}

static enum gnn_status watch_ring_wait(struct gnn_world *w, struct gnn_ring *ring, uint32_t min, uint32_t max,
                                       struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    return inner_of(w)->ops->ring_wait(inner_of(w), ring, min, max, out, got, err);
}

void gnn_watch_init(struct gnn_watch *watch, struct gnn_world *inner)
{
    *watch = (struct gnn_watch){.inner = inner};
    watch->ops = *inner->ops;
    watch->ops.mem_alloc = watch_mem_alloc;
    watch->ops.mem_free = watch_mem_free;
    watch->ops.file_open = watch_file_open;
    watch->ops.file_close = watch_file_close;
    watch->ops.file_read = watch_file_read;
    watch->ops.file_write = watch_file_write;
    watch->ops.map_open = watch_map_open;
    watch->ops.map_close = watch_map_close;
    watch->ops.map_gather_ids = watch_map_gather_ids;
    watch->ops.map_gather_rows = watch_map_gather_rows;
    watch->ops.map_put_rows = watch_map_put_rows;
    watch->ops.ring_open = watch_ring_open;
    watch->ops.ring_close = watch_ring_close;
    watch->ops.ring_submit = watch_ring_submit;
    watch->ops.ring_submit_writes = watch_ring_submit_writes;
    watch->ops.ring_wait = watch_ring_wait;
    watch->ops.thread_start = watch_thread_start;
    watch->ops.thread_join = watch_thread_join;
    watch->base = (struct gnn_world){.ops = &watch->ops, .state = inner->state, .read_times = inner->read_times};
}
