/* SPDX-License-Identifier: MIT */
/* Neighbours through a mapping: the page cache serves, one fault at a time. No ring; the measure of what a ring buys,
 * and the fastest way to lists that are cached. */
#include "systems/ringsampler/fetch.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ringsampler.h"

#include <assert.h>

enum { MAPPED_CHUNK = 32768 }; /* positions of one gather through the mapping */
_Static_assert(MAPPED_CHUNK >= (int)GNN_FANOUT_MAX, "a target's draws fit a chunk");

struct mapped {
    struct rs_fetch base;
    uint64_t *positions; /* (MAPPED_CHUNK) */
};

static enum gnn_status gather(const struct mapped *x, uint64_t count, uint32_t *out, struct gnn_err *err)
{
    const struct ringsampler *const s = x->base.thread->s;
    assert(count <= MAPPED_CHUNK);
    return gnn_map_gather_ids(s->env->world, s->map, s->env->dataset->id_bytes, x->positions, count, out, err);
}

static enum gnn_status read_hop(const struct mapped *x, const struct rs_hop *hop, struct gnn_err *err)
{
    uint32_t pending = 0, done = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        if (pending + hop->fanout > MAPPED_CHUNK) {
            GNN_TRY(gather(x, pending, hop->col + done, err));
            done += pending;
            pending = 0;
        }
        pending += rs_draw(hop, t, x->positions + pending);
    }
    assert(done + pending == hop->sample_count);
    return pending == 0 ? GNN_OK : gather(x, pending, hop->col + done, err);
}

static enum gnn_status mapped_fetch(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count,
                                    struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(read_hop((struct mapped *)fetch, hops[i], err));
    return GNN_OK;
}

static void mapped_close(struct rs_fetch *fetch)
{
    free(((struct mapped *)fetch)->positions);
    free(fetch);
}

static const struct rs_fetch_ops mapped_ops = {.fetch = mapped_fetch, .close = mapped_close};

uint64_t rs_mapped_bytes(void)
{
    return MAPPED_CHUNK * sizeof(uint64_t);
}

enum gnn_status rs_mapped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err)
{
    struct mapped *x;
    GNN_NEW(x, 1, err, "ringsampler: mapped reads");
    *out = &x->base;
    x->base.ops = &mapped_ops;
    x->base.thread = thread;
    GNN_NEW(x->positions, MAPPED_CHUNK, err, "ringsampler: positions of a gather");
    return GNN_OK;
}
