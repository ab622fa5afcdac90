/* SPDX-License-Identifier: MIT */
#include "harness/ranks/ranks.h"

#include <assert.h>

/* All of it in shared memory, which a fork maps at the same address. */
struct gnn_ranks {
    struct gnn_world *world;
    uint32_t count;
    uint64_t report_bytes;
    unsigned char *reports; /* (count, report_bytes) */
    struct gnn_mutex *mutex;
    struct gnn_cond *all_here;

    /* under the mutex */
    uint32_t arrived;
    uint64_t meetings;
    atomic_bool cancelled;  /* read without it */
    struct gnn_err failure; /* GNN_OK: none */
    uint32_t failed_rank;

    atomic_bool stop;
    atomic_bool left[GNN_RANKS_MAX];
};

enum gnn_status gnn_ranks_open(struct gnn_world *world, uint32_t count, uint64_t report_bytes, struct gnn_ranks **out,
                               struct gnn_err *err)
{
    assert(count >= 1);
    assert(count <= GNN_RANKS_MAX);
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(world, "what the workers share", sizeof(struct gnn_ranks), GNN_MEM_SHARED, &memory, err));
    struct gnn_ranks *const ranks = memory;
    *out = ranks;
    ranks->world = world;
    ranks->count = count;
    ranks->report_bytes = gnn_round_up(report_bytes, 64);
    GNN_MEM_NEW(world, ranks->reports, gnn_mul_bytes(count, ranks->report_bytes), "the workers' reports",
                GNN_MEM_SHARED, err);
    GNN_TRY(gnn_mutex_open(world, &ranks->mutex, err));
    return gnn_cond_open(world, &ranks->all_here, err);
}

void gnn_ranks_close(struct gnn_ranks *ranks)
{
    if (ranks == NULL)
        return;
    struct gnn_world *const world = ranks->world;
    gnn_cond_close(world, ranks->all_here);
    gnn_mutex_close(world, ranks->mutex);
    gnn_mem_free(world, ranks->reports);
    gnn_mem_free(world, ranks);
}

uint32_t gnn_ranks_count(const struct gnn_ranks *ranks)
{
    return ranks == NULL ? 1 : ranks->count;
}

enum gnn_status gnn_ranks_meet(struct gnn_ranks *ranks, struct gnn_err *err)
{
    if (ranks == NULL)
        return GNN_OK;
    gnn_mutex_lock(ranks->world, ranks->mutex);
    const uint64_t meeting = ranks->meetings;
    if (!ranks->cancelled && ++ranks->arrived == ranks->count) {
        ranks->arrived = 0;
        ranks->meetings++;
        gnn_cond_broadcast(ranks->world, ranks->all_here);
    }
    while (!ranks->cancelled && ranks->meetings == meeting)
        (void)gnn_cond_wait(ranks->world, ranks->all_here, ranks->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
    /* A meeting that took place is one, even if somebody failed right after it. */
    const bool met = ranks->meetings != meeting;
    gnn_mutex_unlock(ranks->world, ranks->mutex);
    return met ? GNN_OK : gnn_fail(err, GNN_ECANCELLED, "another worker failed or was stopped");
}

enum gnn_status gnn_ranks_go_on(struct gnn_ranks *ranks, struct gnn_err *err)
{
    if (ranks == NULL || !atomic_load(&ranks->cancelled))
        return GNN_OK;
    return gnn_fail(err, GNN_ECANCELLED, "another worker failed or was stopped");
}

void gnn_ranks_cancel(struct gnn_ranks *ranks, uint32_t rank, const struct gnn_err *why)
{
    if (ranks == NULL)
        return;
    assert(rank < ranks->count);
    gnn_mutex_lock(ranks->world, ranks->mutex);
    ranks->cancelled = true;
    if (why->status != GNN_OK && why->status != GNN_ECANCELLED && ranks->failure.status == GNN_OK) {
        ranks->failure = *why;
        ranks->failed_rank = rank;
    }
    gnn_cond_broadcast(ranks->world, ranks->all_here);
    gnn_mutex_unlock(ranks->world, ranks->mutex);
}

const struct gnn_err *gnn_ranks_failure(const struct gnn_ranks *ranks, uint32_t *rank)
{
    if (ranks == NULL || ranks->failure.status == GNN_OK)
        return NULL;
    *rank = ranks->failed_rank;
    return &ranks->failure;
}

void *gnn_ranks_report(struct gnn_ranks *ranks, uint32_t rank)
{
    assert(rank < ranks->count);
    return ranks->reports + rank * ranks->report_bytes;
}

atomic_bool *gnn_ranks_stop(struct gnn_ranks *ranks)
{
    return &ranks->stop;
}

void gnn_ranks_leave(struct gnn_ranks *ranks, uint32_t rank)
{
    assert(rank < ranks->count);
    atomic_store(&ranks->left[rank], true);
}

bool gnn_ranks_left(const struct gnn_ranks *ranks, uint32_t rank)
{
    assert(rank < ranks->count);
    return atomic_load(&ranks->left[rank]);
}
