/* SPDX-License-Identifier: MIT */
#include "harness/graph/knowledge.h"

#include "harness/base/rng.h"
#include "harness/graph/permute.h"

#include <assert.h>

void gnn_knowledge_init(struct gnn_knowledge *graph, uint64_t seed, uint32_t nodes, uint32_t relations, double noise)
{
    assert(nodes > 0);
    assert(relations > 0);
    *graph = (struct gnn_knowledge){.node_count = nodes,
                                    .relation_count = relations,
                                    .noise = noise,
                                    .edge_key = gnn_rng_fork(seed, "knowledge.edge")};
    for (uint32_t f = 0; f < GNN_KNOWLEDGE_FACETS; f++)
        graph->facet_key[f] = gnn_rng_fold(gnn_rng_fork(seed, "knowledge.facet"), f);
}

uint32_t gnn_knowledge_classes(const struct gnn_knowledge *graph)
{
    return gnn_max_u32(graph->node_count / GNN_KNOWLEDGE_CLASS_NODES, 1);
}

/* Some of [0, count) more often than others. */
static uint32_t skewed(struct gnn_rng *rng, uint32_t count)
{
    const double u = gnn_rng_unit(rng);
    return gnn_min_u32((uint32_t)(u * u * count), count - 1);
}

struct gnn_triple gnn_knowledge_edge(const struct gnn_knowledge *graph, uint64_t index)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(graph->edge_key, index));
    const uint32_t relation = skewed(&rng, graph->relation_count), classes = gnn_knowledge_classes(graph);
    const uint64_t key = graph->facet_key[relation % GNN_KNOWLEDGE_FACETS];
    const uint64_t class = gnn_rng_below(&rng, classes);
    const uint32_t first = (uint32_t)(class * graph->node_count / classes);
    const uint32_t size = (uint32_t)((class + 1) * graph->node_count / classes) - first;
    const uint32_t from = skewed(&rng, size), to = skewed(&rng, size);
    const bool noisy = gnn_rng_unit(&rng) < graph->noise;
    return (struct gnn_triple){
        .source = gnn_permute(key, graph->node_count, first + from),
        .relation = relation,
        .target = noisy ? (gnn_node)gnn_rng_below(&rng, graph->node_count)
                        : gnn_permute(key, graph->node_count, first + (to == from ? (to + 1) % size : to))};
}
