/* SPDX-License-Identifier: MIT */
#include "harness/system/rows.h"

#include "harness/system/staging.h"

#include <assert.h>

void gnn_rows_init(struct gnn_rows *rows, const struct gnn_env *env, const char *name, enum gnn_rows_place place)
{
    *rows = (struct gnn_rows){.env = env, .name = name, .place = place, .row_bytes = env->dataset->row_bytes};
}

void gnn_rows_init_wide(struct gnn_rows *rows, const struct gnn_env *env, const char *name, enum gnn_rows_place place)
{
    gnn_rows_init(rows, env, name, place);
    rows->row_bytes = gnn_dataset_wide_bytes(env->dataset);
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
    GNN_TRY(allocate(rows, gnn_mul_bytes(capacity, rows->row_bytes), &data, err));
    rows->data = data;
    rows->capacity = capacity;
    return GNN_OK;
}

enum gnn_status gnn_rows_widen(struct gnn_rows *wide, const gnn_real *stored, uint32_t count, const gnn_real **x,
                               struct gnn_err *err)
{
    const struct gnn_env *const env = wide->env;
    *x = stored;
    if (env->dataset->feature_type == GNN_F32)
        return GNN_OK;
    assert(wide->place == GNN_ROWS_TENSOR);
    assert(wide->row_bytes == gnn_dataset_wide_bytes(env->dataset));
    GNN_TRY(gnn_rows_reserve(wide, count, err));
    env->tensor->ops->gather_halves(env->tensor, wide->data, (const uint16_t *)(const void *)stored, env->dataset->dim,
                                    NULL, count, env->dataset->dim);
    *x = wide->data;
    return GNN_OK;
}
