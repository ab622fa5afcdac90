/* SPDX-License-Identifier: MIT */
/* Operations in progress, ordered by their end: the requests in a device, the reads in a ring.
 *
 * A sorted circular array. Ends arrive nearly in order, because a device answers almost first come, first served. So an
 * entry added at the back passes few others. An entry that ends before all others is added at the front. Entries with
 * equal times leave in the order of their arrival. */
#ifndef GNN_SIM_TIME_QUEUE_H
#define GNN_SIM_TIME_QUEUE_H

#include "harness/oocgnn.h"

#include <assert.h>
#include <stdlib.h>

struct sim_timed {
    uint64_t time_ns;
    uint64_t value; /* the owner's */
};

struct sim_time_queue {
    struct sim_timed *entries; /* (mask + 1) */
    uint32_t mask;
    uint32_t head, count; /* entry k is at (head + k) & mask */
};

/* Opens a queue with room for at least `entries`, or returns false if memory is exhausted. */
GNN_MUST_CHECK static inline bool sim_time_queue_open(struct sim_time_queue *queue, uint32_t entries)
{
    uint32_t room = 16;
    while (room < entries)
        room *= 2;
    *queue = (struct sim_time_queue){.entries = malloc(room * sizeof *queue->entries), .mask = room - 1};
    return queue->entries != NULL;
}

static inline void sim_time_queue_close(struct sim_time_queue *queue)
{
    free(queue->entries);
    *queue = (struct sim_time_queue){.entries = NULL};
}

static inline struct sim_timed *sim_time_queue_at(const struct sim_time_queue *queue, uint32_t k)
{
    return &queue->entries[(queue->head + k) & queue->mask];
}

/* Doubles the room. If memory is exhausted the process aborts, because no caller could handle the error. */
static inline void sim_time_queue_grow(struct sim_time_queue *queue)
{
    struct sim_time_queue wider;
    const bool grown = sim_time_queue_open(&wider, 2 * (queue->mask + 1));
    assert(grown);
    (void)grown;
    for (uint32_t k = 0; k < queue->count; k++)
        wider.entries[k] = *sim_time_queue_at(queue, k);
    wider.count = queue->count;
    sim_time_queue_close(queue);
    *queue = wider;
}

static inline void sim_time_queue_add(struct sim_time_queue *queue, uint64_t time_ns, uint64_t value)
{
    if (queue->count > queue->mask)
        sim_time_queue_grow(queue);
    const struct sim_timed added = {.time_ns = time_ns, .value = value};
    if (queue->count > 0 && time_ns < queue->entries[queue->head].time_ns) {
        queue->head = (queue->head - 1) & queue->mask;
        queue->entries[queue->head] = added;
        queue->count++;
        return;
    }
    uint32_t k = queue->count++;
    for (; k > 0 && sim_time_queue_at(queue, k - 1)->time_ns > time_ns; k--)
        *sim_time_queue_at(queue, k) = *sim_time_queue_at(queue, k - 1);
    *sim_time_queue_at(queue, k) = added;
}

/* Returns the earliest entry, or NULL if there is none. */
static inline const struct sim_timed *sim_time_queue_first(const struct sim_time_queue *queue)
{
    return queue->count > 0 ? &queue->entries[queue->head] : NULL;
}

static inline void sim_time_queue_drop(struct sim_time_queue *queue)
{
    assert(queue->count > 0);
    queue->head = (queue->head + 1) & queue->mask;
    queue->count--;
}

#endif
