/* SPDX-License-Identifier: MIT */
#include "harness/ranks/average.h"

#include <assert.h>
#include <inttypes.h>

/* In shared memory. */
struct gnn_average_memory {
    struct gnn_world *world;
    struct gnn_ranks *ranks;
    uint64_t count;                              /* reals of a gradient; 0: values do not pass through here */
    gnn_real *gradients;                         /* (ranks, count) */
    gnn_real *mean;                              /* (count) */
    struct gnn_average_step step[GNN_RANKS_MAX]; /* each written by its rank before the meeting that follows */
};

enum gnn_status gnn_average_memory_open(struct gnn_world *world, struct gnn_ranks *ranks, uint64_t count,
                                        struct gnn_average_memory **out, struct gnn_err *err)
{
    void *memory = NULL;
    GNN_TRY(
        gnn_mem_alloc(world, "the workers' steps", sizeof(struct gnn_average_memory), GNN_MEM_SHARED, &memory, err));
    struct gnn_average_memory *const m = memory;
    *out = m;
    m->world = world;
    m->ranks = ranks;
    m->count = count;
    if (count == 0)
        return GNN_OK;
    GNN_MEM_NEW(world, m->gradients, gnn_mul_bytes(gnn_ranks_count(ranks), count), "the workers' gradients",
                GNN_MEM_SHARED, err);
    GNN_MEM_NEW(world, m->mean, count, "mean gradient", GNN_MEM_SHARED, err);
    return GNN_OK;
}

void gnn_average_memory_close(struct gnn_average_memory *memory)
{
    if (memory == NULL)
        return;
    gnn_mem_free(memory->world, memory->mean);
    gnn_mem_free(memory->world, memory->gradients);
    gnn_mem_free(memory->world, memory);
}

uint64_t gnn_average_memory_bytes(uint32_t ranks, uint64_t count)
{
    const uint64_t gradients = gnn_mul_bytes(gnn_mul_bytes(ranks + UINT64_C(1), count), sizeof(gnn_real));
    return gnn_add_bytes(gradients, sizeof(struct gnn_average_memory));
}

void gnn_average_init(struct gnn_average *average, const struct gnn_average_config *config)
{
    assert(config->memory != NULL);
    assert(config->rank < gnn_ranks_count(config->memory->ranks));
    *average = (struct gnn_average){.config = *config};
}

/* Adds up what the ranks said of this step, in their order. */
static struct gnn_average_step total(const struct gnn_average_memory *m)
{
    struct gnn_average_step all = {0};
    const uint32_t ranks = gnn_ranks_count(m->ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        all.seeds += m->step[r].seeds;
        all.correct += m->step[r].correct;
        all.loss += m->step[r].loss * (double)m->step[r].seeds;
    }
    all.loss = all.seeds > 0 ? all.loss / (double)all.seeds : 0;
    return all;
}

static double weight_of(const struct gnn_average_memory *m, uint32_t rank, uint64_t seeds)
{
    return seeds > 0 ? (double)m->step[rank].seeds / (double)seeds : 0;
}

/* Writes reals [first, end) of the mean, summed in the order of the ranks. */
static void sum_part(struct gnn_average_memory *m, uint64_t seeds, uint64_t first, uint64_t end)
{
    enum { PIECE = 1024 };
    const uint32_t ranks = gnn_ranks_count(m->ranks);
    double sum[PIECE];
    for (uint64_t at = first; at < end; at += PIECE) {
        const uint64_t n = gnn_min_u64(end - at, PIECE);
        for (uint64_t i = 0; i < n; i++)
            sum[i] = 0;
        for (uint32_t r = 0; r < ranks; r++) {
            const double weight = weight_of(m, r, seeds);
            const gnn_real *const gradient = m->gradients + r * m->count + at;
            for (uint64_t i = 0; i < n; i++)
                sum[i] += weight * (double)gradient[i];
        }
        for (uint64_t i = 0; i < n; i++)
            m->mean[at + i] = (gnn_real)sum[i];
    }
}

/* Two meetings: all gradients are there; the mean is there. The next step writes a gradient when every rank has read
 * this one's (it has met for the mean), and the mean when every rank has copied this one's (it has met with its next
 * gradient). */
static enum gnn_status average_shared(struct gnn_average *a, struct gnn_tensor *t, gnn_real *gradient, uint64_t count,
                                      struct gnn_err *err)
{
    struct gnn_average_memory *const m = a->config.memory;
    uint64_t first, end;
    assert(count == m->count);
    t->ops->download(t, m->gradients + a->config.rank * count, gradient, count * sizeof *gradient);
    GNN_TRY(gnn_ranks_meet(m->ranks, err));
    a->all = total(m);
    gnn_ranks_part(count, gnn_ranks_count(m->ranks), a->config.rank, &first, &end);
    sum_part(m, a->all.seeds, first, end);
    GNN_TRY(gnn_ranks_meet(m->ranks, err));
    t->ops->upload(t, gradient, m->mean, count * sizeof *gradient);
    return GNN_OK;
}

enum gnn_status gnn_average_gradient(struct gnn_average *a, struct gnn_tensor *tensor, gnn_real *gradient,
                                     uint64_t count, const struct gnn_average_step *own, struct gnn_err *err)
{
    struct gnn_average_memory *const m = a->config.memory;
    m->step[a->config.rank] = *own;
    if (a->config.all_reduce == NULL)
        return average_shared(a, tensor, gradient, count, err);
    GNN_TRY(gnn_ranks_meet(m->ranks, err));
    a->all = total(m);
    const gnn_real weight = (gnn_real)weight_of(m, a->config.rank, a->all.seeds);
    GNN_TRY(a->config.all_reduce(a->config.all_reduce_ctx, tensor, gradient, count, weight, err));
    return gnn_ranks_meet(m->ranks, err); /* nobody writes its next step while somebody reads this one */
}
