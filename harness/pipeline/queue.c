/* SPDX-License-Identifier: MIT */
/* A ring of pointers behind one mutex: mini-batches come by the hundred per second, so a lock costs nothing beside
 * them, and waiting stays visible to the world. */
#include "harness/pipeline/pipeline.h"

#include <assert.h>
#include <stdlib.h>

enum { UNBOUNDED_FIRST_SLOTS = 64 };

struct gnn_queue {
    struct gnn_world *world;
    struct gnn_mutex *mutex; /* guards everything below */
    struct gnn_cond *not_empty, *not_full;
    void **slots; /* ring of slot_count; items at head .. head + count */
    uint32_t slot_count, head, count, peak;
    uint32_t producers;      /* declared; 0: this queue has no end */
    uint32_t producers_left; /* that have not called done */
    bool bounded, cancelled;
};

enum gnn_status gnn_queue_open(struct gnn_world *world, const char *name, uint32_t capacity, struct gnn_queue **out,
                               struct gnn_err *err)
{
    struct gnn_queue *queue;
    GNN_NEW(queue, 1, err, "queue %s", name);
    *out = queue;
    queue->world = world;
    queue->bounded = capacity > 0;
    queue->slot_count = queue->bounded ? capacity : UNBOUNDED_FIRST_SLOTS;
    GNN_NEW(queue->slots, queue->slot_count, err, "queue %s: %u slots", name, queue->slot_count);
    GNN_TRY(gnn_mutex_open(world, &queue->mutex, err));
    GNN_TRY(gnn_cond_open(world, &queue->not_empty, err));
    return gnn_cond_open(world, &queue->not_full, err);
}

void gnn_queue_close(struct gnn_queue *queue)
{
    if (queue == NULL)
        return;
    gnn_cond_close(queue->world, queue->not_full);
    gnn_cond_close(queue->world, queue->not_empty);
    gnn_mutex_close(queue->world, queue->mutex);
    free(queue->slots);
    free(queue);
}

void gnn_queue_producers(struct gnn_queue *queue, uint32_t producers)
{
    gnn_mutex_lock(queue->world, queue->mutex);
    queue->producers = queue->producers_left = producers;
    queue->cancelled = false;
    gnn_mutex_unlock(queue->world, queue->mutex);
}

void gnn_queue_done(struct gnn_queue *queue)
{
    gnn_mutex_lock(queue->world, queue->mutex);
    assert(queue->producers_left > 0);
    if (--queue->producers_left == 0)
        gnn_cond_broadcast(queue->world, queue->not_empty);
    gnn_mutex_unlock(queue->world, queue->mutex);
}

void gnn_queue_cancel(struct gnn_queue *queue)
{
    if (queue == NULL)
        return;
    gnn_mutex_lock(queue->world, queue->mutex);
    queue->cancelled = true;
    gnn_cond_broadcast(queue->world, queue->not_empty);
    gnn_cond_broadcast(queue->world, queue->not_full);
    gnn_mutex_unlock(queue->world, queue->mutex);
}

/* Unbounded queues double; false when memory is out. */
static bool ensure_slot(struct gnn_queue *queue)
{
    if (queue->count < queue->slot_count)
        return true;
    assert(!queue->bounded);
    void **const larger = reallocarray(queue->slots, 2 * (size_t)queue->slot_count, sizeof *larger);
    if (larger == NULL)
        return false;
    for (uint32_t i = 0; i < queue->head; i++) /* the part that had wrapped around */
        larger[queue->slot_count + i] = larger[i];
    queue->slots = larger;
    queue->slot_count *= 2;
    return true;
}

enum gnn_status gnn_queue_push(struct gnn_queue *queue, void *item)
{
    assert(item != NULL);
    gnn_mutex_lock(queue->world, queue->mutex);
    while (queue->bounded && queue->count == queue->slot_count && !queue->cancelled)
        (void)gnn_cond_wait(queue->world, queue->not_full, queue->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    enum gnn_status status = queue->cancelled ? GNN_ECANCELLED : GNN_OK;
    if (status == GNN_OK && !ensure_slot(queue))
        status = GNN_ENOMEM;
    if (status == GNN_OK) {
        queue->slots[(queue->head + queue->count++) % queue->slot_count] = item;
        queue->peak = gnn_max_u32(queue->peak, queue->count);
        assert(queue->count <= queue->slot_count);
        gnn_cond_signal(queue->world, queue->not_empty);
    }
    gnn_mutex_unlock(queue->world, queue->mutex);
    return status;
}

static bool finished(const struct gnn_queue *queue)
{
    return queue->producers > 0 && queue->producers_left == 0;
}

enum gnn_status gnn_queue_pop(struct gnn_queue *queue, void **item)
{
    *item = NULL;
    gnn_mutex_lock(queue->world, queue->mutex);
    while (queue->count == 0 && !queue->cancelled && !finished(queue))
        (void)gnn_cond_wait(queue->world, queue->not_empty, queue->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = queue->cancelled;
    if (!cancelled && queue->count > 0) {
        *item = queue->slots[queue->head];
        assert(*item != NULL);
        queue->head = (queue->head + 1) % queue->slot_count;
        queue->count--;
        if (queue->bounded)
            gnn_cond_signal(queue->world, queue->not_full);
    }
    gnn_mutex_unlock(queue->world, queue->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

uint32_t gnn_queue_peak(const struct gnn_queue *queue)
{
    gnn_mutex_lock(queue->world, queue->mutex);
    const uint32_t peak = queue->peak;
    gnn_mutex_unlock(queue->world, queue->mutex);
    return peak;
}
