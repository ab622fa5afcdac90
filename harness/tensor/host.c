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
