/* SPDX-License-Identifier: MIT */
/* How the trainer of either task gets its mini-batches: in order, one token back for each. */
#include "systems/pygplus/pygplus.h"

#include <assert.h>

enum gnn_status pygplus_take_batch(struct pygplus *s, uint32_t k, struct pygplus_item *spare,
                                   struct pygplus_item **item)
{
    void *taken;
    const uint64_t start_ns = gnn_observed_ns(s->env->world);
    GNN_TRY(gnn_reorder_take(s->delivery, &taken));
    s->sample_ns += gnn_observed_ns(s->env->world) - start_ns;
    *item = taken;
    if (taken == NULL)
        return GNN_OK;
    assert(k < pygplus_batches(s));
    assert(atomic_load(&s->outstanding) > 0);
    atomic_fetch_sub(&s->outstanding, 1);
    return gnn_queue_push(s->tokens[k % s->config->workers], spare);
}
