/* SPDX-License-Identifier: MIT */
#include "harness/pipeline/progress.h"

#include <assert.h>
#include <string.h>

struct gnn_progress {
    struct gnn_world *world;
    struct gnn_mutex *mutex;
    struct gnn_cond *cond;
    uint64_t *counts; /* (count) */
    uint32_t count;
    bool cancelled;
};

enum gnn_status gnn_progress_open(struct gnn_world *world, uint32_t counts, struct gnn_progress **out,
                                  struct gnn_err *err)
{
    struct gnn_progress *p;
    GNN_NEW(p, 1, err, "progress of stages");
    *out = p;
    p->world = world;
    p->count = counts;
    GNN_NEW(p->counts, counts, err, "progress of stages");
    GNN_TRY(gnn_mutex_open(world, &p->mutex, err));
    return gnn_cond_open(world, &p->cond, err);
}

void gnn_progress_close(struct gnn_progress *p)
{
    if (p == NULL)
        return;
    gnn_cond_close(p->world, p->cond);
    gnn_mutex_close(p->world, p->mutex);
    free(p->counts);
    free(p);
}

enum gnn_status gnn_progress_wait(struct gnn_progress *p, uint32_t count, int64_t wanted)
{
    assert(count < p->count);
    gnn_mutex_lock(p->world, p->mutex);
    while (!p->cancelled && (int64_t)p->counts[count] < wanted)
        (void)gnn_cond_wait(p->world, p->cond, p->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = p->cancelled;
    gnn_mutex_unlock(p->world, p->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

void gnn_progress_add(struct gnn_progress *p, uint32_t count)
{
    assert(count < p->count);
    gnn_mutex_lock(p->world, p->mutex);
    p->counts[count]++;
    gnn_cond_broadcast(p->world, p->cond);
    gnn_mutex_unlock(p->world, p->mutex);
}

uint64_t gnn_progress_count(struct gnn_progress *p, uint32_t count)
{
    assert(count < p->count);
    gnn_mutex_lock(p->world, p->mutex);
    const uint64_t value = p->counts[count];
    gnn_mutex_unlock(p->world, p->mutex);
    return value;
}

void gnn_progress_clear(struct gnn_progress *p)
{
    memset(p->counts, 0, p->count * sizeof *p->counts);
}

static void cancel(void *target)
{
    struct gnn_progress *const p = target;
    gnn_mutex_lock(p->world, p->mutex);
    p->cancelled = true;
    gnn_cond_broadcast(p->world, p->cond);
    gnn_mutex_unlock(p->world, p->mutex);
}

enum gnn_status gnn_progress_join(struct gnn_progress *p, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    p->cancelled = false;
    return gnn_pipeline_on_cancel(pipeline, cancel, p, err);
}
