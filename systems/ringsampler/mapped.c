/* Neighbours through a mapping: the page cache serves, one fault at a time. No ring; the measure of what a ring buys,
 * and the fastest way to lists that are cached. */
#include "systems/ringsampler/offsets.h"

#include <stdlib.h>

struct mapped {
    struct rs_fetch base;
    struct rs_thread *thread;
    uint64_t *positions; /* (RS_MAPPED_CHUNK) */
};

static enum gnn_status gather(struct mapped *x, uint64_t count, uint32_t *out, struct gnn_err *err)
{
    return gnn_map_gather_u32(x->thread->s->env->world, x->thread->s->map, x->positions, count, out, err);
}

static enum gnn_status read_hop(struct mapped *x, const struct rs_hop *hop, struct gnn_err *err)
{
    uint32_t pending = 0, done = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        if (pending + hop->fanout > RS_MAPPED_CHUNK) {
            GNN_TRY(gather(x, pending, hop->col + done, err));
            done += pending;
            pending = 0;
        }
        pending += rs_draw(hop, t, x->positions + pending);
    }
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
    struct mapped *const x = (struct mapped *)fetch;
    if (x == NULL)
        return;
    free(x->positions);
    free(x);
}

static const struct rs_fetch_ops mapped_ops = {.fetch = mapped_fetch, .close = mapped_close};

uint64_t rs_mapped_bytes(void)
{
    return RS_MAPPED_CHUNK * sizeof(uint64_t);
}

enum gnn_status rs_mapped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err)
{
    struct mapped *const x = calloc(1, sizeof *x);
    if (x == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: mapped reads");
    x->base.ops = &mapped_ops;
    *out = &x->base;
    x->thread = thread;
    x->positions = malloc(RS_MAPPED_CHUNK * sizeof *x->positions);
    return x->positions != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "ringsampler: positions of a gather");
}
