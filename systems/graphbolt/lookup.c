/* SPDX-License-Identifier: MIT */
/* Lookups: which rows of a mini-batch are in a cache, and which must be read (CPUCachedFeature.read_async and
 * GPUCachedFeature, query_and_replace). Every partition has a thread, which looks at all nodes and takes those of its
 * partition. Lookups of mini-batches are in order. Before the lookup of mini-batch k, the uses of mini-batch k -
 * in_flight end, and no others: what is found does not depend on the speed of the stages. */
#include "systems/graphbolt/graphbolt.h"

#include <assert.h>

/* ---- end of uses ---- */

static void complete_part(struct graphbolt *s, const struct graphbolt_item *item, uint32_t part)
{
    for (uint32_t i = 0; i < item->nodes; i++) {
        graphbolt_cache_complete(s->cache, part, item->taken[i]);
        if (s->device != NULL)
            graphbolt_cache_complete(s->device, part, item->on_gpu[i]);
    }
}

/* gnn_part_fn */
static enum gnn_status complete_job(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    (void)err;
    assert(parts == s->sizes.parts);
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, s->in_lookup->nodes / parts);
    complete_part(s, s->in_lookup, part);
    return GNN_OK;
}

enum gnn_status graphbolt_complete(struct graphbolt *s, struct graphbolt_item *item)
{
    if (item->nodes == 0)
        return GNN_OK;
    s->in_lookup = item;
    gnn_team_post(s->lookups, complete_job, s);
    GNN_TRY(gnn_team_wait(s->lookups));
    item->nodes = 0;
    return GNN_OK;
}

void graphbolt_complete_alone(struct graphbolt *s, struct graphbolt_item *item)
{
    for (uint32_t part = 0; item->nodes > 0 && part < s->sizes.parts; part++)
        complete_part(s, item, part);
    item->nodes = 0;
}

/* ---- lookups ---- */

static enum gnn_status reserve_lists(struct graphbolt *s, struct graphbolt_item *item, uint32_t nodes,
                                     struct gnn_err *err)
{
    const uint64_t lists = s->device != NULL ? 4 : 2;
    GNN_TRY(gnn_buffer_reserve(s->env->world, &item->lists, lists * sizeof(uint32_t) * nodes, err));
    item->taken = item->lists.data;
    item->missed = item->taken + nodes;
    item->on_gpu = s->device != NULL ? item->missed + nodes : NULL;
    item->gather = s->device != NULL ? item->on_gpu + nodes : NULL;
    return GNN_OK;
}

/* Takes the nodes of a partition. A row that is on the GPU needs nothing from the host. */
static void take_part(struct graphbolt *s, struct graphbolt_item *item, uint32_t part)
{
    const struct gnn_batch_view *const view = gnn_batch_view(item->batch);
    uint64_t own = 0, in_host = 0;
    for (uint32_t i = 0; i < view->node_count; i++) {
        const gnn_node v = view->nodes[i];
        if (graphbolt_part_of(s->sizes.parts, v) != part)
            continue;
        own++;
        if (s->device != NULL)
            item->on_gpu[i] = graphbolt_cache_take(s->device, part, v);
        const bool wanted = s->device == NULL || (item->on_gpu[i] & GRAPHBOLT_MISSED) != 0;
        item->taken[i] = wanted ? graphbolt_cache_take(s->cache, part, v) : GRAPHBOLT_NO_SLOT;
        in_host += wanted;
    }
    gnn_charge(s->env->world, GNN_WORK_HASHED_ID, in_host + (s->device != NULL ? own : 0));
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, view->node_count);
}

/* gnn_part_fn */
static enum gnn_status take_job(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct graphbolt *const s = ctx;
    (void)err;
    assert(parts == s->sizes.parts);
    take_part(s, s->in_lookup, part);
    return GNN_OK;
}

/* Lists the rows to read, in the order of the mini-batch. */
static void list_misses(struct graphbolt *s, struct graphbolt_item *item)
{
    item->miss_count = 0;
    for (uint32_t i = 0; i < item->nodes; i++) {
        const uint32_t taken = item->taken[i];
        s->counts.gpu_hits += taken == GRAPHBOLT_NO_SLOT;
        if ((taken & GRAPHBOLT_MISSED) == 0)
            continue;
        s->counts.repeated += (taken & ~GRAPHBOLT_MISSED) == GRAPHBOLT_NO_SLOT;
        item->missed[item->miss_count++] = i;
    }
    for (uint32_t i = 0; item->gather != NULL && i < item->nodes; i++)
        item->gather[i] = gnn_min_u32(item->on_gpu[i] & ~GRAPHBOLT_MISSED, s->sizes.gpu_rows);
    gnn_charge(s->env->world, GNN_WORK_COPIED_BYTE, sizeof(uint32_t) * (uint64_t)item->nodes);
    s->counts.rows += item->nodes;
    s->counts.misses += item->miss_count;
}

enum gnn_status graphbolt_lookup(struct graphbolt *s, struct graphbolt_item *item, struct gnn_err *err)
{
    const uint32_t nodes = gnn_batch_view(item->batch)->node_count;
    assert(item->nodes == 0);
    GNN_TRY(reserve_lists(s, item, nodes, err));
    s->in_lookup = item;
    gnn_team_post(s->lookups, take_job, s);
    GNN_TRY(gnn_team_wait(s->lookups));
    item->nodes = nodes;
    list_misses(s, item);
    return GNN_OK;
}
