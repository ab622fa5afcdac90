/* SPDX-License-Identifier: MIT */
#include "harness/system/staging.h"

enum gnn_status gnn_staging_alloc(const struct gnn_env *env, const char *name, uint64_t bytes, void **out,
                                  struct gnn_err *err)
{
    const bool device = gnn_env_on_device(env);
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(env->world, name, bytes, GNN_MEM_FEATURES | (device ? GNN_MEM_PINNED : 0), &memory, err));
    const enum gnn_status status = device ? env->tensor->ops->pin(env->tensor, name, memory, bytes, err) : GNN_OK;
    if (status == GNN_OK)
        *out = memory;
    else
        gnn_mem_free(env->world, memory);
    return status;
}

void gnn_staging_free(const struct gnn_env *env, void *ptr)
{
    if (ptr == NULL)
        return;
    if (gnn_env_on_device(env))
        env->tensor->ops->unpin(env->tensor, ptr);
    gnn_mem_free(env->world, ptr);
}
