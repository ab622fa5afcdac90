/* SPDX-License-Identifier: MIT */
#include "harness/tensor/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(struct gnn_host_tensor, base) == 0, "a host back-end is its base");

enum gnn_status gnn_host_open(const struct gnn_tensor_ops *ops, const struct gnn_tensor_env *env,
                              struct gnn_tensor **out, struct gnn_err *err)
{
    assert(env->threads >= 1);
    assert(env->alloc != NULL);
    assert(env->free != NULL);
    struct gnn_host_tensor *host;
    GNN_NEW(host, 1, err, "tensor back-end \"%s\"", ops->name);
    host->base.ops = ops;
    host->base.host_memory = true;
    host->env = *env;
    *out = &host->base;
    return GNN_OK;
}

void gnn_host_close(struct gnn_tensor *t)
{
    const struct gnn_host_tensor *const host = (struct gnn_host_tensor *)t;
    if (host != NULL && host->own != NULL)
        host->close_own(t);
    free(t);
}

enum gnn_status gnn_host_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    const struct gnn_tensor_env *env = &((struct gnn_host_tensor *)t)->env;
    return env->alloc(env->ctx, name, bytes, out, err);
}

void gnn_host_free(struct gnn_tensor *t, void *ptr)
{
    const struct gnn_tensor_env *env = &((struct gnn_host_tensor *)t)->env;
    if (ptr != NULL)
        env->free(env->ctx, ptr);
}

void gnn_host_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    memcpy(dst, host_src, bytes);
}

void gnn_host_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    gnn_host_upload(t, dst, host_src, bytes);
}

void gnn_host_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    /* a copy has landed when it returns */
}

void gnn_host_upload_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                          const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy((char *)table + to[i] * row_bytes, (const char *)host_rows + from[i] * row_bytes, row_bytes);
}

enum gnn_status gnn_host_pin(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes, struct gnn_err *err)
{
    return GNN_OK; /* there is no device that would reach into it */
}

void gnn_host_unpin(struct gnn_tensor *t, void *host)
{
}

/* Everything has finished when it returns, so every event has passed and lists are read where they lie. */

enum gnn_status gnn_host_event_open(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err)
{
    *out = NULL;
    return GNN_OK;
}

void gnn_host_event_close(struct gnn_tensor *t, struct gnn_event *event)
{
}

void gnn_host_event_record(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
}

void gnn_host_event_await(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
}

void gnn_host_event_wait(struct gnn_tensor *t, struct gnn_event *event)
{
}

enum gnn_status gnn_host_resident_open(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err)
{
    *out = NULL;
    return GNN_OK;
}

void gnn_host_resident_close(struct gnn_tensor *t, struct gnn_resident *room)
{
}

enum gnn_status gnn_host_resident_stage(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                        const struct gnn_batch_lists *lists, struct gnn_err *err)
{
    return GNN_OK;
}

void gnn_host_resident_use(struct gnn_tensor *t, struct gnn_resident *room)
{
}

void gnn_host_step_begin(struct gnn_tensor *t, const struct gnn_batch_lists *lists)
{
}

bool gnn_host_step_end(struct gnn_tensor *t)
{
    return true;
}

void gnn_host_take_times(struct gnn_tensor *t, struct gnn_device_times *out)
{
    *out = (struct gnn_device_times){0};
}

void gnn_host_range(struct gnn_tensor *t, const char *name)
{
}

void gnn_host_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    memcpy(host_dst, src, bytes);
}

void gnn_host_copy(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    memcpy(dst, src, count * sizeof *dst);
}

void gnn_host_synchronize(struct gnn_tensor *t)
{
    /* every op has finished when it returns */
}
