/* SPDX-License-Identifier: MIT */
#include "harness/system/batch_size.h"

#include "harness/base/id_map.h"
#include "harness/sample/batch.h"

#include <assert.h>
#include <math.h>

enum { DEGREES_LOOKED_AT = 1 << 16 };
static const double largest_sigmas = 5.2565; /* sqrt(2 ln 10^6) */

/* In-degrees of nodes spread evenly over all: how many have so many in-neighbours, GNN_FANOUT_MAX or more as one. */
struct degrees {
    uint32_t nodes[GNN_FANOUT_MAX + 1], looked_at;
};

static void look_at_degrees(const struct gnn_dataset *dataset, struct degrees *out)
{
    *out = (struct degrees){.looked_at = gnn_min_u32(dataset->node_count, DEGREES_LOOKED_AT)};
    for (uint32_t i = 0; i < out->looked_at; i++) {
        const uint64_t v = (uint64_t)i * dataset->node_count / out->looked_at;
        out->nodes[gnn_min_u64(dataset->indptr[v + 1] - dataset->indptr[v], GNN_FANOUT_MAX)]++;
    }
}

static uint32_t seeds_of(const struct gnn_dataset *dataset, const struct gnn_workload *workload)
{
    if (workload->task == GNN_TASK_LINK) /* the nodes that edges and negatives need */
        return gnn_link_node_bound(&workload->negatives, gnn_min_u32(workload->batch_size, dataset->triple_count[0]),
                                   dataset->node_count);
    return gnn_min_u32(workload->batch_size, dataset->train.count);
}

/* ---- expected ---- */

static double mean_draws(const struct degrees *degrees, uint32_t fanout)
{
    uint64_t draws = 0;
    for (uint32_t d = 1; d <= GNN_FANOUT_MAX; d++)
        draws += (uint64_t)degrees->nodes[d] * gnn_min_u32(d, fanout);
    return (double)draws / degrees->looked_at;
}

static uint32_t distinct(double draws, uint32_t node_count)
{
    const double n = node_count;
    return (uint32_t)ceil(n * -expm1(-draws / n));
}

void gnn_batch_expect(const struct gnn_dataset *dataset, const struct gnn_workload *workload,
                      struct gnn_batch_size *out)
{
    struct degrees degrees;
    look_at_degrees(dataset, &degrees);
    *out = (struct gnn_batch_size){.nodes[0] = seeds_of(dataset, workload)};
    double draws = out->nodes[0];
    for (uint32_t l = 0; l < workload->layers; l++) {
        const double drawn = mean_draws(&degrees, workload->fanout[l]);
        out->edges += (uint64_t)ceil(out->nodes[l] * drawn);
        draws *= 1 + drawn;
        out->nodes[l + 1] = distinct(draws, dataset->node_count);
    }
}

/* ---- the largest ---- */

/* Nodes of the tree that grows from a node, itself included, over its degree and its draws. */
struct tree {
    double mean, variance;
};

/* Returns the tree of a node that joins before hop `joined` of `hops`, of any degree above 0. later[h]: of one that
 * joins before hop h. A node draws in every hop that follows, as often as its degree lets it. */
static struct tree tree_of(const struct degrees *degrees, const uint32_t *fanout, uint32_t joined, uint32_t hops,
                           const struct tree *later)
{
    const double nodes = degrees->looked_at - degrees->nodes[0];
    double mean = 0, square = 0, variance = 0;
    for (uint32_t d = 1; d <= GNN_FANOUT_MAX; d++) {
        double size = 1, spread = 0;
        for (uint32_t h = joined; h < hops; h++) {
            size += gnn_min_u32(d, fanout[h]) * later[h + 1].mean;
            spread += gnn_min_u32(d, fanout[h]) * later[h + 1].variance;
        }
        mean += degrees->nodes[d] * size;
        square += degrees->nodes[d] * size * size;
        variance += degrees->nodes[d] * spread;
    }
    if (nodes <= 0)
        return (struct tree){.mean = 1};
    mean /= nodes;
    return (struct tree){.mean = mean, .variance = fmax(square / nodes - mean * mean, 0) + variance / nodes};
}

/* Returns the draws of the largest mini-batch after so many hops, its seeds included. */
static double largest_draws(const struct degrees *degrees, const struct gnn_workload *workload, uint32_t seeds,
                            uint32_t hops)
{
    struct tree trees[GNN_LAYERS_MAX + 1];
    assert(hops <= GNN_LAYERS_MAX);
    trees[hops] = (struct tree){.mean = 1};
    for (uint32_t joined = hops; joined-- > 0;)
        trees[joined] = tree_of(degrees, workload->fanout, joined, hops, trees);
    return seeds * trees[0].mean + largest_sigmas * sqrt(seeds * trees[0].variance);
}

void gnn_batch_largest(const struct gnn_dataset *dataset, const struct gnn_workload *workload,
                       struct gnn_batch_size *out)
{
    const uint32_t seeds = seeds_of(dataset, workload);
    struct degrees degrees;
    uint32_t bound[GNN_LAYERS_MAX + 1];
    uint64_t bound_edges = 0;
    look_at_degrees(dataset, &degrees);
    (void)gnn_sample_node_bound(dataset->node_count, seeds, workload->fanout, workload->layers, bound);
    *out = (struct gnn_batch_size){.nodes[0] = seeds};
    double draws = seeds;
    for (uint32_t l = 0; l < workload->layers; l++) {
        draws = largest_draws(&degrees, workload, seeds, l + 1);
        bound_edges += gnn_min_u64((uint64_t)out->nodes[l] * workload->fanout[l], dataset->edge_count);
        out->nodes[l + 1] = gnn_min_u32(distinct(draws, dataset->node_count), bound[l + 1]);
    }
    out->edges = gnn_min_u64((uint64_t)ceil(draws) - seeds, bound_edges);
}

/* ---- bytes ---- */

uint64_t gnn_batch_bytes(const struct gnn_batch_size *size, uint32_t layers)
{
    uint64_t entries = size->nodes[layers] + size->edges;
    for (uint32_t l = 0; l < layers; l++)
        entries += size->nodes[l] + UINT64_C(1);
    return entries * sizeof(uint32_t);
}

uint64_t gnn_batch_reserved_bytes(const struct gnn_dataset *dataset, const struct gnn_workload *workload)
{
    struct gnn_sample_bounds bounds;
    const enum gnn_status status =
        gnn_sample_bounds(dataset, seeds_of(dataset, workload), workload->fanout, workload->layers, &bounds, NULL);
    return status == GNN_OK ? gnn_round_up(gnn_batch_memory_bytes(&bounds), GNN_PAGE_BYTES) : 0;
}

uint64_t gnn_sampler_bytes(const struct gnn_dataset *dataset, const struct gnn_workload *workload)
{
    struct gnn_sample_bounds bounds;
    uint64_t edges = 1;
    if (gnn_sample_bounds(dataset, seeds_of(dataset, workload), workload->fanout, workload->layers, &bounds, NULL) !=
        GNN_OK)
        return 0;
    for (uint32_t l = 1; l <= bounds.layers; l++)
        edges = gnn_max_u64(edges, bounds.edges[l]);
    const uint64_t map = gnn_id_map_bytes(dataset->node_count, bounds.nodes[bounds.layers]);
    return gnn_round_up(edges * sizeof(uint64_t), GNN_PAGE_BYTES) + gnn_round_up(map, GNN_PAGE_BYTES);
}

uint64_t gnn_sampling_bytes(const struct gnn_env *env, uint32_t workers)
{
    const uint64_t nodes = gnn_epoch_nodes(env), segment = gnn_segment_nodes(env);
    const uint64_t order = (nodes + (nodes > segment ? segment : 0)) * sizeof(gnn_node);
    return gnn_add_bytes(gnn_round_up(order, GNN_PAGE_BYTES),
                         gnn_mul_bytes(workers, gnn_sampler_bytes(env->dataset, env->workload)));
}
