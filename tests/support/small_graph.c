/* SPDX-License-Identifier: MIT */
#include "tests/support/small_graph.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static void *must(void *memory)
{
    assert(memory != NULL);
    return memory;
}

static uint32_t random_degree(struct gnn_rng *rng, uint32_t node_count)
{
    static const uint32_t limits[] = {1, 4, 20, 20, 66, 300};
    const uint32_t limit = limits[gnn_rng_below(rng, sizeof limits / sizeof *limits)];
    return (uint32_t)gnn_rng_below(rng, limit < node_count ? limit : node_count);
}

/* `degree` distinct IDs, ascending (Knuth's selection sampling). */
static void random_list(struct gnn_rng *rng, uint32_t node_count, uint32_t degree, gnn_node *out)
{
    uint32_t taken = 0;
    for (gnn_node v = 0; taken < degree; v++)
        if (gnn_rng_below(rng, node_count - v) < degree - taken)
            out[taken++] = v;
}

static void publish(struct small_graph *graph, uint32_t node_count)
{
    graph->dataset = (struct gnn_dataset){
        .node_count = node_count, .edge_count = graph->indptr[node_count], .indptr = graph->indptr};
    (void)snprintf(graph->dataset.name, sizeof graph->dataset.name, "small");
}

void small_graph_open(struct small_graph *graph, uint64_t seed, uint32_t node_count)
{
    struct gnn_rng rng = gnn_rng_at(seed);
    graph->indptr = must(calloc((size_t)node_count + 1, sizeof *graph->indptr));
    for (uint32_t v = 0; v < node_count; v++)
        graph->indptr[v + 1] = graph->indptr[v] + random_degree(&rng, node_count);
    graph->indices = must(calloc(graph->indptr[node_count] + 1, sizeof *graph->indices));
    for (uint32_t v = 0; v < node_count; v++)
        random_list(&rng, node_count, (uint32_t)(graph->indptr[v + 1] - graph->indptr[v]),
                    graph->indices + graph->indptr[v]);
    publish(graph, node_count);
}

void small_graph_renumber(const struct small_graph *from, uint64_t seed, struct small_graph *out, gnn_node *original_id)
{
    const uint32_t node_count = from->dataset.node_count;
    struct gnn_rng rng = gnn_rng_at(seed);
    gnn_node *const new_id = must(calloc(node_count, sizeof *new_id));
    for (uint32_t v = 0; v < node_count; v++) { /* inside-out shuffle */
        const uint32_t at = (uint32_t)gnn_rng_below(&rng, v + 1);
        original_id[v] = original_id[at];
        original_id[at] = v;
    }
    for (uint32_t v = 0; v < node_count; v++)
        new_id[original_id[v]] = v;
    out->indptr = must(calloc((size_t)node_count + 1, sizeof *out->indptr));
    out->indices = must(calloc(from->indptr[node_count] + 1, sizeof *out->indices));
    uint64_t edges = 0;
    for (uint32_t v = 0; v < node_count; v++) {
        const gnn_node old = original_id[v];
        for (uint64_t e = from->indptr[old]; e < from->indptr[old + 1]; e++)
            out->indices[edges++] = new_id[from->indices[e]];
        out->indptr[v + 1] = edges;
    }
    free(new_id);
    publish(out, node_count);
}

void small_graph_close(struct small_graph *graph)
{
    free(graph->indptr);
    free(graph->indices);
    *graph = (struct small_graph){0};
}
