/* SPDX-License-Identifier: MIT */
/* A graph in memory for the benches of sampling: a dataset's, or one of the size of papers100M at 1/100: 1.11 M nodes,
 * 16.2 M edges, Pareto degrees, sources skewed towards low IDs. Included by benches; each is one file. */
#ifndef GNN_TESTS_BENCH_GRAPH_H
#define GNN_TESTS_BENCH_GRAPH_H

#include "harness/base/rng.h"
#include "harness/graph/dataset.h"
#include "harness/world/measured/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 1110600, EDGES = 16158000, DEGREE_LIMIT = 20000 };

struct graph {
    struct gnn_dataset *opened; /* NULL when synthesised */
    struct gnn_dataset dataset;
    uint64_t *indptr;
    gnn_node *indices;
};

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Running sum of shifted Pareto(1.3) degrees, scaled to about EDGES, each under a limit. Returns the edges. */
static uint64_t synthesise_degrees(uint64_t *indptr)
{
    static const double shape = 1.3;
    const double mean = shape / (shape - 1);
    const double scale = (double)EDGES / NODES / mean * 1.24; /* makes up for what the limit cuts off */
    uint64_t edges = 0;
    for (uint32_t v = 0; v < NODES; v++) {
        const double u = 1.0 - (double)(gnn_splitmix64_at(1, v) >> 11) * 0x1.0p-53;
        const double degree = scale * pow(u, -1 / shape) - scale * 0.5;
        indptr[v] = edges;
        edges += degree < DEGREE_LIMIT ? (uint64_t)degree : DEGREE_LIMIT;
    }
    indptr[NODES] = edges;
    return edges;
}

static enum gnn_status synthesise(struct gnn_world *world, struct graph *graph, struct gnn_err *err)
{
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(world, "indptr", (NODES + 1) * sizeof(uint64_t), GNN_MEM_LARGE, &memory, err));
    graph->indptr = memory;
    const uint64_t edges = synthesise_degrees(graph->indptr);
    GNN_TRY(gnn_mem_alloc(world, "indices", edges * sizeof(gnn_node), GNN_MEM_LARGE, &memory, err));
    graph->indices = memory;
    for (uint64_t e = 0; e < edges; e++) {
        const double u = (double)(gnn_splitmix64_at(2, e) >> 11) * 0x1.0p-53;
        graph->indices[e] = (gnn_node)(u * sqrt(u) * NODES); /* sources: density falls as v^(-1/3) */
    }
    for (uint32_t v = 0; v < NODES; v++)
        qsort(graph->indices + graph->indptr[v], graph->indptr[v + 1] - graph->indptr[v], sizeof(gnn_node),
              compare_u32);
    graph->dataset =
        (struct gnn_dataset){.name = "synthesised", .node_count = NODES, .edge_count = edges, .indptr = graph->indptr};
    return GNN_OK;
}

static enum gnn_status read_indices(struct gnn_world *world, struct graph *graph, struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    void *memory = NULL;
    const uint64_t bytes = graph->dataset.edge_count * sizeof(gnn_node);
    GNN_TRY(gnn_mem_alloc(world, "indices", bytes, GNN_MEM_LARGE, &memory, err));
    graph->indices = memory;
    GNN_TRY(gnn_file_open(world, graph->dataset.indices_path, GNN_OPEN_READ, &file, err));
    uint64_t done_bytes = 0;
    int64_t got = 1;
    for (; done_bytes < bytes && got > 0; done_bytes += (uint64_t)got)
        got = gnn_file_read(world, file, done_bytes, (char *)memory + done_bytes, bytes - done_bytes);
    gnn_file_close(world, file);
    return done_bytes == bytes ? GNN_OK : gnn_fail(err, GNN_ESHORT, "%s", graph->dataset.indices_path);
}

static enum gnn_status graph_open(struct gnn_world *world, const char *dir, struct graph *graph, struct gnn_err *err)
{
    if (dir == NULL)
        return synthesise(world, graph, err);
    GNN_TRY(gnn_dataset_open(world, dir, 0, GNN_F32, sizeof(gnn_node), &graph->opened, err));
    graph->dataset = *graph->opened;
    return read_indices(world, graph, err);
}

static void graph_close(struct gnn_world *world, struct graph *graph)
{
    if (graph->opened != NULL)
        gnn_dataset_close(world, graph->opened);
    else
        gnn_mem_free(world, graph->indptr);
    gnn_mem_free(world, graph->indices);
}

/* The nodes batches are cut from: the training nodes, or one node in a hundred. */
static uint32_t seed_pool(const struct graph *graph, gnn_node *pool, uint32_t max)
{
    const struct gnn_split *const train = &graph->dataset.train;
    uint32_t count = 0;
    if (train->count > 0) {
        count = train->count < max ? train->count : max;
        memcpy(pool, train->nodes, count * sizeof *pool);
        return count;
    }
    for (gnn_node v = 0; v < graph->dataset.node_count && count < max; v += 100)
        pool[count++] = v;
    return count;
}

#endif
