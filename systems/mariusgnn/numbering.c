/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/store.h"

#include <assert.h>

/* Of a sequence of placements, one for each seed of a run. */
static const uint64_t placement_seed = UINT64_C(0x6d6172697573);
static const uint64_t first_seed = 1; /* has the sequence's number 0 */

/* Writes the training nodes, then the others ascending; returns how many training nodes come first. */
static uint32_t list_training_first(const struct gnn_dataset *d, gnn_node *list)
{
    uint32_t next = d->train.count, t = 0;
    for (gnn_node v = 0; v < d->node_count; v++) { /* the split is ascending */
        if (t < d->train.count && d->train.nodes[t] == v)
            list[t++] = v;
        else
            list[next++] = v;
    }
    assert(t == d->train.count);
    assert(next == d->node_count);
    return t;
}

void marius_number(const struct gnn_env *env, bool training_first, gnn_node *new_to_old)
{
    const struct gnn_dataset *const d = env->dataset;
    uint32_t fixed = 0;
    if (training_first)
        fixed = list_training_first(d, new_to_old);
    else
        for (gnn_node v = 0; v < d->node_count; v++)
            new_to_old[v] = v;
    gnn_epoch_order(placement_seed, env->workload->seed - first_seed, new_to_old + fixed, d->node_count - fixed,
                    new_to_old + fixed);
    gnn_charge(env->world, GNN_WORK_TABLE_ENTRY, d->node_count);
}

void marius_invert(const gnn_node *new_to_old, uint32_t nodes, gnn_node *old_to_new)
{
    for (gnn_node v = 0; v < nodes; v++) {
        assert(new_to_old[v] < nodes);
        old_to_new[new_to_old[v]] = v;
    }
}
