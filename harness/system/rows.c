/* SPDX-License-Identifier: MIT */
#include "harness/system/rows.h"

#include "harness/system/staging.h"

void gnn_rows_init(struct gnn_rows *rows, const struct gnn_env *env, const char *name, enum gnn_rows_place place)
{
    *rows = (struct gnn_rows){.env = env, .name = name, .place = place};
}

void gnn_rows_close(struct gnn_rows *rows)
{
    if (rows->data == NULL)
        return;
    switch (rows->place) {
    case GNN_ROWS_TENSOR:
        rows->env->tensor->ops->free(rows->env->tensor, rows->data);
        break;
    case GNN_ROWS_HOST:
        gnn_mem_free(rows->env->world, rows->data);
        break;
    case GNN_ROWS_PINNED:
        gnn_staging_free(rows->env, rows->data);
        break;
    }
    rows->data = NULL;
    rows->capacity = 0;
}

static enum gnn_status allocate(const struct gnn_rows *rows, uint64_t bytes, void **data, struct gnn_err *err)
{
    const struct gnn_env *env = rows->env;
    switch (rows->place) {
    case GNN_ROWS_TENSOR:
        return env->tensor->ops->alloc(env->tensor, rows->name, bytes, data, err);
    case GNN_ROWS_HOST:
        return gnn_mem_alloc(env->world, rows->name, bytes, GNN_MEM_FEATURES, data, err);
    case GNN_ROWS_PINNED:
        return gnn_staging_alloc(env, rows->name, bytes, data, err);
    }
    return gnn_fail(err, GNN_EBUG, "rows are in no known place");
}

enum gnn_status gnn_rows_reserve(struct gnn_rows *rows, uint64_t count, struct gnn_err *err)
{
    if (count <= rows->capacity)
        return GNN_OK;
    gnn_rows_close(rows);
    const uint64_t capacity = gnn_rows_capacity(count);
    void *data = NULL;
    GNN_TRY(allocate(rows, gnn_mul_bytes(capacity, rows->env->dataset->row_bytes), &data, err));
    rows->data = data;
    rows->capacity = capacity;
    return GNN_OK;
}
