/* SPDX-License-Identifier: MIT */
/* Slots addressed by ticket modulo the window: a ticket's slot is free exactly when it lies inside the window, so
 * nothing is searched. */
#include "harness/pipeline/pipeline.h"

#include <assert.h>
#include <stdlib.h>

struct gnn_reorder {
    struct gnn_world *world;
    struct gnn_mutex *mutex; /* guards everything below */
    struct gnn_cond *arrived;
    struct gnn_cond *moved; /* next advanced */
    void **slots;           /* (window); ticket t in slot t % window */
    uint32_t window;
    uint64_t next; /* first ticket not taken */
    uint64_t end;
    bool cancelled;
};

enum gnn_status gnn_reorder_open(struct gnn_world *world, uint32_t window, struct gnn_reorder **out,
                                 struct gnn_err *err)
{
    assert(window > 0);
    struct gnn_reorder *reorder;
    GNN_NEW(reorder, 1, err, "reorder buffer");
    *out = reorder;
    reorder->world = world;
    reorder->window = window;
    GNN_NEW(reorder->slots, window, err, "reorder buffer of %u slots", window);
    GNN_TRY(gnn_mutex_open(world, &reorder->mutex, err));
    GNN_TRY(gnn_cond_open(world, &reorder->arrived, err));
    return gnn_cond_open(world, &reorder->moved, err);
}

void gnn_reorder_close(struct gnn_reorder *reorder)
{
    if (reorder == NULL)
        return;
    gnn_cond_close(reorder->world, reorder->moved);
    gnn_cond_close(reorder->world, reorder->arrived);
    gnn_mutex_close(reorder->world, reorder->mutex);
    free(reorder->slots);
    free(reorder);
}

void gnn_reorder_reset(struct gnn_reorder *reorder, uint64_t first_ticket, uint64_t end_ticket)
{
    assert(first_ticket <= end_ticket);
    gnn_mutex_lock(reorder->world, reorder->mutex);
    for (uint32_t i = 0; i < reorder->window; i++)
        reorder->slots[i] = NULL;
    reorder->next = first_ticket;
    reorder->end = end_ticket;
    reorder->cancelled = false;
    gnn_mutex_unlock(reorder->world, reorder->mutex);
}

enum gnn_status gnn_reorder_put(struct gnn_reorder *reorder, uint64_t ticket, void *item)
{
    assert(item != NULL);
    gnn_mutex_lock(reorder->world, reorder->mutex);
    assert(ticket >= reorder->next); /* once only */
    assert(ticket < reorder->end);
    while (ticket >= reorder->next + reorder->window && !reorder->cancelled)
        (void)gnn_cond_wait(reorder->world, reorder->moved, reorder->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = reorder->cancelled;
    if (!cancelled) {
        void **const slot = &reorder->slots[ticket % reorder->window];
        assert(*slot == NULL);
        *slot = item;
        if (ticket == reorder->next)
            gnn_cond_signal(reorder->world, reorder->arrived);
    }
    gnn_mutex_unlock(reorder->world, reorder->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

static enum gnn_status take_locked(struct gnn_reorder *reorder, void **item)
{
    *item = NULL;
    while (!reorder->cancelled && reorder->next < reorder->end &&
           reorder->slots[reorder->next % reorder->window] == NULL)
        (void)gnn_cond_wait(reorder->world, reorder->arrived, reorder->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    if (reorder->cancelled)
        return GNN_ECANCELLED;
    if (reorder->next == reorder->end)
        return GNN_OK;
    void **const slot = &reorder->slots[reorder->next % reorder->window];
    *item = *slot;
    *slot = NULL;
    reorder->next++;
    gnn_cond_broadcast(reorder->world, reorder->moved);
    if (reorder->next == reorder->end)
        gnn_cond_broadcast(reorder->world, reorder->arrived); /* other takers end too */
    else if (reorder->slots[reorder->next % reorder->window] != NULL)
        gnn_cond_signal(reorder->world, reorder->arrived); /* its own put found it not yet due */
    return GNN_OK;
}

enum gnn_status gnn_reorder_take(struct gnn_reorder *reorder, void **item)
{
    gnn_mutex_lock(reorder->world, reorder->mutex);
    const enum gnn_status status = take_locked(reorder, item);
    gnn_mutex_unlock(reorder->world, reorder->mutex);
    return status;
}

void gnn_reorder_cancel(struct gnn_reorder *reorder)
{
    if (reorder == NULL)
        return;
    gnn_mutex_lock(reorder->world, reorder->mutex);
    reorder->cancelled = true;
    gnn_cond_broadcast(reorder->world, reorder->arrived);
    gnn_cond_broadcast(reorder->world, reorder->moved);
    gnn_mutex_unlock(reorder->world, reorder->mutex);
}
