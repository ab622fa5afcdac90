/* SPDX-License-Identifier: MIT */
/* Copies of rows after the reads of a mini-batch (FeatureCache in dmlc/dgl, graphbolt/src/feature_cache.cc, and
 * read_async in impl/cpu_cached_feature.py).
 *
 *   CPU   Rows that were found go from the cache to the input. Rows that were read go from the input to their slots.
 *   GPU   Both cross the bus: the first from the pinned cache, the others from the list of rows that were read. Rows
 *         with a slot in the GPU's cache go there, and the trainer gathers them. The others go to the input. Rows that
 *         were read are copied to their slots in host memory, too.
 *
 * A slot of the GPU's cache that is written was last used by a mini-batch whose training step has ended (lookup.c). */
#include "systems/graphbolt/graphbolt.h"

#include <assert.h>

enum { COPY_LANE = 0 };

static char *slot_at(const struct graphbolt *s, uint32_t slot)
{
    return (char *)s->rows + slot * (uint64_t)s->env->dataset->row_bytes;
}

static bool has_slot(uint32_t taken)
{
    return (taken & ~GRAPHBOLT_MISSED) != GRAPHBOLT_NO_SLOT;
}

/* ---- in host memory ---- */

/* gnn_part_fn: copies an equal contiguous part of the mini-batch. */
static enum gnn_status copy_job(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    const struct graphbolt *const s = ctx;
    const struct graphbolt_item *const item = s->in_copy;
    const uint64_t row_bytes = s->env->dataset->row_bytes;
    uint64_t first, end;
    (void)err;
    gnn_team_share(item->nodes, part, parts, &first, &end);
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, end - first);
    gnn_charge(s->env->world, GNN_WORK_FRESH_PAGE, (end - first) * row_bytes / GNN_PAGE_BYTES); /* its own a batch */
    for (uint64_t i = first; i < end; i++) {
        const uint32_t taken = item->taken[i], slot = taken & ~GRAPHBOLT_MISSED;
        char *const row = (char *)item->input.rows.data + i * row_bytes;
        if ((taken & GRAPHBOLT_MISSED) == 0)
            gnn_mem_copy(s->env->world, row, slot_at(s, slot), row_bytes);
        else if (has_slot(taken))
            gnn_mem_copy(s->env->world, slot_at(s, slot), row, row_bytes);
    }
    return GNN_OK;
}

/* gnn_part_fn: copies a part of the rows that were read to their slots. */
static enum gnn_status keep_job(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    const struct graphbolt *const s = ctx;
    const struct graphbolt_item *const item = s->in_copy;
    const uint64_t row_bytes = s->env->dataset->row_bytes;
    uint64_t first, end;
    (void)err;
    gnn_team_share(item->miss_count, part, parts, &first, &end);
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, end - first);
    for (uint64_t m = first; m < end; m++) {
        const uint32_t taken = item->taken[item->missed[m]];
        if (has_slot(taken))
            gnn_mem_copy(s->env->world, slot_at(s, taken & ~GRAPHBOLT_MISSED),
                         (const char *)item->read.data + m * row_bytes, row_bytes);
    }
    return GNN_OK;
}

/* ---- to the GPU ---- */

static bool needs_copy(const struct graphbolt_item *item, uint32_t i)
{
    return item->on_gpu == NULL || (item->on_gpu[i] & GRAPHBOLT_MISSED) != 0;
}

/* Returns whether row i is copied to the GPU's cache. Sets *to to its row there, or in the input. */
static bool to_gpu_cache(const struct graphbolt_item *item, uint32_t i, uint32_t *to)
{
    const bool cached = item->on_gpu != NULL && has_slot(item->on_gpu[i]);
    *to = cached ? item->on_gpu[i] & ~GRAPHBOLT_MISSED : i;
    return cached;
}

/* Starts the copies of the rows that were found in host memory (`read` false) or read, to one of the two places. */
static void upload(struct graphbolt *s, const struct graphbolt_item *item, bool read, bool cached)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    uint32_t *const to = s->uploads.data, *const from = to + item->nodes;
    uint32_t count = 0, m = 0;
    for (uint32_t i = 0; i < item->nodes; i++) {
        const uint32_t taken = item->taken[i];
        const bool was_read = (taken & GRAPHBOLT_MISSED) != 0;
        if (to_gpu_cache(item, i, &to[count]) == cached && was_read == read && needs_copy(item, i))
            from[count++] = read ? m : taken;
        m += was_read;
    }
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, item->nodes);
    if (count > 0)
        tensor->ops->upload_rows(tensor, COPY_LANE, cached ? s->gpu_rows : (void *)item->x.data, to,
                                 read ? (void *)item->read.data : s->rows, from, count, s->env->dataset->row_bytes);
}

static enum gnn_status copy_to_gpu(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err)
{
    GNN_TRY(gnn_buffer_reserve(s->env->world, &s->uploads, (2 * (uint64_t)item->nodes + 1) * sizeof(uint32_t), err));
    GNN_TRY(gnn_rows_reserve(&item->x, item->nodes, err));
    for (int read = 0; read < 2; read++)
        for (int cached = 0; cached <= (s->device != NULL); cached++)
            upload(s, item, read != 0, cached != 0);
    return gnn_train_input_stage(&item->input, COPY_LANE, gnn_batch_view(item->batch), item->gather, err);
}

enum gnn_status graphbolt_copy(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err)
{
    const bool device = graphbolt_on_device(s);
    s->in_copy = item;
    gnn_team_post(s->copiers, device ? keep_job : copy_job, s);
    const enum gnn_status status = device ? copy_to_gpu(s, item, err) : GNN_OK;
    GNN_TRY(gnn_team_wait(s->copiers));
    return status;
}

void graphbolt_stop_copies(struct graphbolt *s)
{
    s->env->tensor->ops->upload_wait(s->env->tensor, COPY_LANE);
}

/* ---- training ---- */

/* Gathers the rows of the GPU's cache into the input, whose other rows have been copied. */
static void gather_cached(const struct graphbolt *s, const struct graphbolt_item *item)
{
    struct gnn_tensor *const tensor = s->env->tensor;
    const uint32_t words = s->env->dataset->row_bytes / (uint32_t)sizeof(gnn_real);
    const struct gnn_placement placement = {
        .table = {{s->gpu_rows, words}}, .place = s->place, .type = GNN_F32}; /* rows as they are stored */
    tensor->ops->gather_placed(tensor, item->x.data, &placement, item->gather, item->nodes, words, 0);
}

enum gnn_status graphbolt_train(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err)
{
    const struct gnn_batch_view *const view = gnn_batch_view(item->batch);
    const gnn_real *x;
    if (!graphbolt_on_device(s))
        return gnn_training_step(&s->training, view, &item->input, err);
    GNN_TRY(gnn_train_input_use(&item->input, view, &x, err));
    if (s->device != NULL)
        gather_cached(s, item);
    enum gnn_status status = gnn_rows_widen(&s->training.wide, item->x.data, view->node_count, &x, err);
    GNN_NEXT(status, gnn_training_step_on(&s->training, view, &item->input, x, err));
    gnn_train_input_end(&item->input);
    return status;
}
