/* SPDX-License-Identifier: MIT */
#include "systems/presort/uses.h"

#include <assert.h>

enum { OCTAVE = 8, OCTAVE_BITS = 3 }; /* bins of an octave */

static uint32_t bin_of(uint32_t uses)
{
    if (uses < OCTAVE)
        return uses;
    const uint32_t octave = 31 - (uint32_t)__builtin_clz(uses) - OCTAVE_BITS;
    return (octave + 1) * OCTAVE + (uses >> octave) % OCTAVE;
}

static void add_nodes(struct presort_uses *out, uint64_t uses, uint32_t nodes)
{
    const uint32_t bin = bin_of((uint32_t)gnn_min_u64(uses / nodes, UINT32_MAX));
    assert(bin < PRESORT_USES_BINS);
    out->nodes[bin] += nodes;
    out->uses[bin] += uses;
}

uint64_t presort_uses_hit(uint64_t bins, uint64_t balls)
{
    assert(bins > 0);
    assert(bins < UINT64_C(1) << 40);
    assert(balls < UINT64_C(1) << 40);
    const unsigned __int128 some = (unsigned __int128)balls * (2 * bins + balls);
    return (uint64_t)(bins * some / ((unsigned __int128)2 * bins * bins + some));
}

/* ---- counting ---- */

/* Of each node, PRESORT_USE a mini-batch: */
struct counting {
    const struct gnn_env *env;
    uint32_t *held;  /* mini-batches that hold it */
    uint32_t *drawn; /* how often this hop draws it */
    uint64_t batches;
    uint64_t visited; /* list entries */
};

/* Passes on what the node draws. */
static void draw_from(struct counting *c, const struct presort_topology *topology, gnn_node node, uint32_t fanout,
                      struct presort_uses *out)
{
    uint64_t degree;
    const gnn_node *const list = presort_topology_list(topology, node, &degree);
    const uint64_t drawn = c->held[node] * gnn_min_u64(degree, fanout);
    out->sources += c->held[node];
    out->edges += drawn;
    c->visited += degree;
    for (uint64_t i = 0; i < degree; i++)
        c->drawn[list[i]] = (uint32_t)gnn_min_u64(c->drawn[list[i]] + drawn / degree, UINT32_MAX);
}

/* Adds what a hop draws to the mini-batches that do not hold it yet. */
static void join(struct counting *c)
{
    for (uint32_t v = 0; v < c->env->dataset->node_count; v++) {
        const uint64_t without = c->batches - c->held[v];
        c->held[v] += (uint32_t)(presort_uses_hit(c->batches, c->drawn[v]) * without / c->batches);
        c->drawn[v] = 0;
    }
}

static void count_hop(struct counting *c, const struct presort_topology *topology, uint32_t fanout,
                      struct presort_uses *out)
{
    c->visited = 0;
    for (gnn_node v = 0; v < c->env->dataset->node_count; v++)
        if (c->held[v] > 0)
            draw_from(c, topology, v, fanout, out);
    join(c);
    gnn_charge(c->env->world, GNN_WORK_TABLE_ENTRY, c->visited + c->env->dataset->node_count);
}

static void sum_up(const struct counting *c, struct presort_uses *out)
{
    out->edges /= PRESORT_USE;
    out->sources /= PRESORT_USE;
    for (gnn_node v = 0; v < c->env->dataset->node_count; v++)
        if (c->held[v] > 0)
            add_nodes(out, c->held[v], 1);
}

static enum gnn_status count(struct counting *c, const struct presort_topology *topology, struct presort_uses *out,
                             struct gnn_err *err)
{
    const struct gnn_env *const env = c->env;
    const struct gnn_dataset *const d = env->dataset;
    const uint64_t whole = gnn_whole_epoch_batches(env);
    GNN_MEM_NEW(env->world, c->held, d->node_count, "presort expected uses", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(env->world, c->drawn, d->node_count, "presort expected draws", GNN_MEM_PLAIN, err);
    for (uint32_t i = 0; i < d->train.count; i++)
        c->held[d->train.nodes[i]] = (uint32_t)(UINT64_C(1) * PRESORT_USE * gnn_epoch_batches(env) / whole);
    for (uint32_t hop = 0; hop < env->workload->layers; hop++)
        count_hop(c, topology, env->workload->fanout[hop], out);
    sum_up(c, out);
    return GNN_OK;
}

enum gnn_status presort_uses_count(const struct gnn_env *env, const struct presort_topology *topology,
                                   struct presort_uses *out, struct gnn_err *err)
{
    struct counting c = {.env = env,
                         .batches = gnn_min_u64(gnn_epoch_batches(env) * (uint64_t)PRESORT_USE, UINT32_MAX)};
    *out = (struct presort_uses){.edges = 0};
    const enum gnn_status status = count(&c, topology, out, err);
    gnn_mem_free(env->world, c.drawn);
    gnn_mem_free(env->world, c.held);
    return status;
}

void presort_uses_even(const struct gnn_env *env, const struct gnn_batch_size *batch, uint32_t batches,
                       struct presort_uses *out)
{
    const uint32_t layers = env->workload->layers;
    *out = (struct presort_uses){.edges = gnn_mul_bytes(batches, batch->edges)};
    for (uint32_t l = 0; l < layers; l++)
        out->sources += batches * (uint64_t)batch->nodes[l];
    add_nodes(out, gnn_mul_bytes(batches * (uint64_t)batch->nodes[layers], PRESORT_USE), env->dataset->node_count);
}

/* ---- what follows ---- */

/* Rows of so many nodes of a bin. */
static uint64_t rows_of(const struct presort_uses *uses, uint32_t bin, uint64_t nodes, uint64_t parts)
{
    const uint64_t hit = presort_uses_hit(parts * PRESORT_USE, uses->uses[bin] / uses->nodes[bin]);
    return (uint64_t)((unsigned __int128)nodes * hit / PRESORT_USE);
}

uint32_t presort_uses_mean(const struct presort_uses *uses, uint32_t batches)
{
    uint64_t all = 0;
    assert(batches > 0);
    for (uint32_t bin = 0; bin < PRESORT_USES_BINS; bin++)
        all += uses->uses[bin];
    return (uint32_t)gnn_min_u64(all / PRESORT_USE / batches, UINT32_MAX);
}

uint64_t presort_uses_others(const struct presort_uses *uses, uint64_t resident, uint32_t parts)
{
    uint64_t rows = 0;
    assert(parts > 0);
    for (uint32_t bin = PRESORT_USES_BINS; bin-- > 0;) {
        const uint64_t in_memory = gnn_min_u64(uses->nodes[bin], resident);
        if (uses->nodes[bin] > in_memory)
            rows += rows_of(uses, bin, uses->nodes[bin] - in_memory, parts);
        resident -= in_memory;
    }
    return rows;
}

uint64_t presort_uses_rows(const struct presort_uses *uses, uint32_t parts)
{
    return presort_uses_others(uses, 0, parts);
}
