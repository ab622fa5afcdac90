/* SPDX-License-Identifier: MIT */
/* The inner world may be a decorator, too, whose hooks expect that world as their first argument. So every hook that a
 * decorator has (faults.c) is passed on here, and the others are copied. */
#include "harness/world/traced.h"

#include <assert.h>
#include <stdlib.h>

struct traced {
    struct gnn_world base; /* its state is the inner world's: the hooks that are not decorated are the inner ones */
    struct gnn_world_ops ops;
    struct gnn_world *inner;
    struct gnn_io_trace *trace;
};

static struct traced *traced_of(struct gnn_world *w)
{
    return (struct traced *)w;
}

static struct gnn_world *inner_of(struct gnn_world *w)
{
    return traced_of(w)->inner;
}

/* ---- passed on ---- */

static enum gnn_status traced_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags,
                                        void **out, struct gnn_err *err)
{
    return gnn_mem_alloc(inner_of(w), name, bytes, flags, out, err);
}

static enum gnn_status traced_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                       struct gnn_map **out, struct gnn_err *err)
{
    return gnn_map_open(inner_of(w), file, advice, out, err);
}

static enum gnn_status traced_map_gather_ids(struct gnn_world *w, struct gnn_map *map, uint32_t id_bytes,
                                             const uint64_t *index, uint64_t count, uint32_t *out, struct gnn_err *err)
{
    return gnn_map_gather_ids(inner_of(w), map, id_bytes, index, count, out, err);
}

static enum gnn_status traced_map_gather_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                              const gnn_node *rows, uint64_t count, void *dst,
                                              uint64_t dst_stride_bytes, struct gnn_err *err)
{
    return gnn_map_gather_rows(inner_of(w), map, row_bytes, rows, count, dst, dst_stride_bytes, err);
}

static enum gnn_status traced_map_put_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                           const gnn_node *rows, uint64_t count, const void *src, struct gnn_err *err)
{
    return gnn_map_put_rows(inner_of(w), map, row_bytes, rows, count, src, err);
}

static void traced_map_close(struct gnn_world *w, struct gnn_map *map)
{
    gnn_map_close(inner_of(w), map);
}

/* ---- traced ---- */

static enum gnn_status traced_file_open(struct gnn_world *w, const char *path, unsigned flags, struct gnn_file **out,
                                        struct gnn_err *err)
{
    struct traced *const t = traced_of(w);
    struct gnn_file *file;
    *out = NULL;
    GNN_TRY(gnn_file_open(t->inner, path, flags, &file, err));
    const enum gnn_status status =
        gnn_io_trace_opened(t->trace, file, path, (flags & GNN_OPEN_SCRATCH) != 0, gnn_observed_ns(t->inner), err);
    if (status == GNN_OK)
        *out = file;
    else
        gnn_file_close(t->inner, file);
    return status;
}

static void traced_file_close(struct gnn_world *w, struct gnn_file *file)
{
    struct traced *const t = traced_of(w);
    if (file != NULL)
        gnn_io_trace_closed(t->trace, file, gnn_observed_ns(t->inner));
    gnn_file_close(t->inner, file);
}

/* Traces a request that is in flight until gnn_io_trace_done. */
static void add(struct traced *t, enum gnn_io_action action, const struct gnn_file *file, uint64_t offset_bytes,
                uint64_t len_bytes)
{
    const struct gnn_io_request request = {.action = action,
                                           .file = file,
                                           .offset_bytes = offset_bytes,
                                           .len_bytes = len_bytes,
                                           .now_ns = gnn_observed_ns(t->inner),
                                           .done_later = true};
    gnn_io_trace_add(t->trace, &request);
}

static int64_t traced_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                uint64_t len_bytes, const struct gnn_ids_wanted *wanted)
{
    struct traced *const t = traced_of(w);
    add(t, GNN_IO_READ, file, offset_bytes, len_bytes);
    const int64_t moved = gnn_file_read_ids(t->inner, file, offset_bytes, dst, len_bytes, wanted);
    gnn_io_trace_done(t->trace, 1);
    return moved;
}

static int64_t traced_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                                 uint64_t len_bytes)
{
    struct traced *const t = traced_of(w);
    add(t, GNN_IO_WRITE, file, offset_bytes, len_bytes);
    const int64_t moved = gnn_file_write(t->inner, file, offset_bytes, src, len_bytes);
    gnn_io_trace_done(t->trace, 1);
    return moved;
}

/* What struct gnn_ring * means in this world. Owner only, as every ring. */
struct traced_ring {
    struct gnn_ring *inner;
    uint32_t in_flight;
};

static enum gnn_status traced_ring_open(struct gnn_world *w, const struct gnn_ring_config *config,
                                        struct gnn_ring **out, struct gnn_err *err)
{
    struct traced_ring *ring;
    *out = NULL;
    GNN_NEW(ring, 1, err, "ring handle: %zu bytes", sizeof *ring);
    const enum gnn_status status = gnn_ring_open(inner_of(w), config, &ring->inner, err);
    if (status == GNN_OK)
        *out = (struct gnn_ring *)ring;
    else
        free(ring);
    return status;
}

/* Requests whose completion was never taken end here, too. */
static void traced_ring_close(struct gnn_world *w, struct gnn_ring *handle)
{
    struct traced_ring *const ring = (struct traced_ring *)handle;
    if (ring == NULL)
        return;
    gnn_ring_close(inner_of(w), ring->inner);
    gnn_io_trace_done(traced_of(w)->trace, ring->in_flight);
    free(ring);
}

static enum gnn_status traced_ring_submit(struct gnn_world *w, struct gnn_ring *handle, const struct gnn_read *reads,
                                          uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    struct traced *const t = traced_of(w);
    struct traced_ring *const ring = (struct traced_ring *)handle;
    const enum gnn_status status = gnn_ring_submit(t->inner, ring->inner, reads, count, accepted, err);
    for (uint32_t i = 0; i < *accepted; i++)
        add(t, GNN_IO_READ, reads[i].file, reads[i].offset_bytes, reads[i].len_bytes);
    ring->in_flight += *accepted;
    return status;
}

static enum gnn_status traced_ring_submit_writes(struct gnn_world *w, struct gnn_ring *handle,
                                                 const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                                 struct gnn_err *err)
{
    struct traced *const t = traced_of(w);
    struct traced_ring *const ring = (struct traced_ring *)handle;
    const enum gnn_status status = gnn_ring_submit_writes(t->inner, ring->inner, writes, count, accepted, err);
    for (uint32_t i = 0; i < *accepted; i++)
        add(t, GNN_IO_WRITE, writes[i].file, writes[i].offset_bytes, writes[i].len_bytes);
    ring->in_flight += *accepted;
    return status;
}

static enum gnn_status traced_ring_wait(struct gnn_world *w, struct gnn_ring *handle, uint32_t min, uint32_t max,
                                        struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    struct traced *const t = traced_of(w);
    struct traced_ring *const ring = (struct traced_ring *)handle;
    const enum gnn_status status = gnn_ring_wait(t->inner, ring->inner, min, max, out, got, err);
    assert(*got <= ring->in_flight);
    ring->in_flight -= *got;
    gnn_io_trace_done(t->trace, *got);
    return status;
}

/* ---- open, close ---- */

enum gnn_status gnn_world_traced_open(struct gnn_world *inner, struct gnn_io_trace *trace, struct gnn_world **out,
                                      struct gnn_err *err)
{
    *out = NULL;
    struct traced *t;
    GNN_NEW(t, 1, err, "the traced world: %zu bytes", sizeof *t);
    t->ops = *inner->ops;
    t->ops.mem_alloc = traced_mem_alloc;
    t->ops.file_open = traced_file_open;
    t->ops.file_read = traced_file_read;
    t->ops.file_write = traced_file_write;
    t->ops.file_close = traced_file_close;
    t->ops.map_open = traced_map_open;
    t->ops.map_gather_ids = traced_map_gather_ids;
    t->ops.map_gather_rows = traced_map_gather_rows;
    t->ops.map_put_rows = traced_map_put_rows;
    t->ops.map_close = traced_map_close;
    t->ops.ring_open = traced_ring_open;
    t->ops.ring_submit = traced_ring_submit;
    t->ops.ring_submit_writes = traced_ring_submit_writes;
    t->ops.ring_wait = traced_ring_wait;
    t->ops.ring_close = traced_ring_close;
    t->base = (struct gnn_world){.ops = &t->ops, .state = inner->state};
    t->inner = inner;
    t->trace = trace;
    *out = &t->base;
    return GNN_OK;
}

void gnn_world_traced_close(struct gnn_world *world)
{
    free(world == NULL ? NULL : traced_of(world));
}
