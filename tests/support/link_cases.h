/* SPDX-License-Identifier: MIT */
/* A mini-batch of edges drawn at random, and the loss of link prediction by its formulas in double, one edge and one
 * candidate at a time. Header only: the double build links no other support. */
#ifndef GNN_TESTS_LINK_CASES_H
#define GNN_TESTS_LINK_CASES_H

#include "harness/base/link_view.h"
#include "harness/base/rng.h"
#include "harness/model/link.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct link_case {
    struct gnn_link_config config;
    struct gnn_link_view view;
    uint32_t *lists; /* all of the view's */
};

/* Edges between random nodes; negatives of each chunk and side are random nodes and, from the middle of the list on,
 * ends of edges. The last chunk is short unless chunks divide the edges. */
static inline void link_case_open(struct link_case *c, struct gnn_rng *rng, const struct gnn_link_config *config,
                                  uint32_t nodes, uint32_t edges, uint32_t chunks, uint32_t negatives)
{
    const uint64_t shared = (uint64_t)chunks * negatives;
    uint32_t *const lists = malloc((3 * (uint64_t)edges + 4 * shared) * sizeof *lists);
    assert(lists != NULL);
    uint32_t *const end[2] = {lists, lists + edges}, *const relation = lists + 2 * (uint64_t)edges;
    uint32_t *const negative[2] = {relation + edges, relation + edges + shared};
    uint32_t *const own[2] = {negative[1] + shared, negative[1] + 2 * shared};
    *c = (struct link_case){.config = *config, .lists = lists};
    c->view = (struct gnn_link_view){.node_count = nodes,
                                     .edge_count = edges,
                                     .end = {end[0], end[1]},
                                     .relation = relation,
                                     .chunk_edges = (uint32_t)gnn_div_up(edges, chunks),
                                     .negative_count = negatives,
                                     .negative = {negative[0], negative[1]},
                                     .own = {own[0], own[1]}};
    for (uint32_t i = 0; i < edges; i++) {
        end[0][i] = (uint32_t)gnn_rng_below(rng, nodes);
        end[1][i] = (uint32_t)gnn_rng_below(rng, nodes);
        relation[i] = (uint32_t)gnn_rng_below(rng, config->relations);
    }
    for (uint32_t side = 0; side < 2; side++)
        for (uint64_t j = 0; j < shared; j++) {
            const uint32_t edge = (uint32_t)gnn_rng_below(rng, edges), chunk = (uint32_t)(j / negatives);
            const bool of_edge = j % negatives >= negatives / 2;
            negative[side][j] = of_edge ? end[side][edge] : (uint32_t)gnn_rng_below(rng, nodes);
            own[side][j] = of_edge && edge / c->view.chunk_edges == chunk ? edge % c->view.chunk_edges : GNN_NODE_NONE;
        }
}

/* The same edges, compared with all nodes but their true end. */
static inline void link_case_open_all(struct link_case *c, struct gnn_rng *rng, const struct gnn_link_config *config,
                                      uint32_t nodes, uint32_t edges, uint32_t chunks)
{
    link_case_open(c, rng, config, nodes, edges, chunks, 1);
    uint32_t *const lists = realloc(c->lists, (5 * (uint64_t)edges + 2 * (uint64_t)nodes) * sizeof *lists);
    assert(lists != NULL);
    uint32_t *const end[2] = {lists, lists + edges}, *const relation = lists + 2 * (uint64_t)edges;
    uint32_t *const masked[2] = {relation + edges, relation + 2 * (uint64_t)edges};
    uint32_t *const negative = relation + 3 * (uint64_t)edges, *const own = negative + nodes;
    for (uint32_t j = 0; j < nodes; j++) {
        negative[j] = j;
        own[j] = GNN_NODE_NONE;
    }
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < edges; i++)
            masked[side][i] = i % c->view.chunk_edges * nodes + end[side][i];
    c->lists = lists;
    c->view = (struct gnn_link_view){.node_count = nodes,
                                     .edge_count = edges,
                                     .end = {end[0], end[1]},
                                     .relation = relation,
                                     .chunk_edges = c->view.chunk_edges,
                                     .set = GNN_NEGATIVES_ALL,
                                     .negative_count = nodes,
                                     .negative = {negative, negative},
                                     .own = {own, own},
                                     .masked = {masked[0], masked[1]}};
}

static inline void link_case_close(struct link_case *c)
{
    free(c->lists);
}

/* ---- the formulas ---- */

/* Score of (a, r) against x. */
static inline double link_score(const struct gnn_link_config *config, const gnn_real *a, const gnn_real *r,
                                const gnn_real *x)
{
    const uint32_t half = config->dim / 2;
    double score = 0;
    for (uint32_t c = 0; c < config->dim; c++) {
        double q = 0;
        switch (config->decoder) {
        case GNN_DECODER_DISTMULT:
            q = (double)a[c] * (double)r[c];
            break;
        case GNN_DECODER_COMPLEX:
            q = c < half ? (double)a[c] * (double)r[c] - (double)a[c + half] * (double)r[c + half]
                         : (double)a[c - half] * (double)r[c] + (double)a[c] * (double)r[c - half];
            break;
        default:
            q = (double)a[c] + (double)r[c];
        }
        score += config->decoder == GNN_DECODER_TRANSE ? (q - (double)x[c]) * (q - (double)x[c]) : q * (double)x[c];
    }
    return config->decoder == GNN_DECODER_TRANSE ? -sqrt(score) : score;
}

/* The loss of the whole mini-batch: relations[0] of (s, r), relations[1] of the inverse. */
static inline double link_loss(const struct link_case *c, const gnn_real *h, const gnn_real *const relations[2])
{
    const struct gnn_link_view *const v = &c->view;
    const uint32_t dim = c->config.dim;
    double loss = 0;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < v->edge_count; i++) {
            const gnn_real *const a = h + (uint64_t)v->end[1 - side][i] * dim;
            const gnn_real *const r = relations[1 - side] + (uint64_t)v->relation[i] * dim;
            const uint32_t chunk = i / v->chunk_edges;
            const uint64_t first = gnn_link_chunk_first(v, chunk);
            const double positive = link_score(&c->config, a, r, h + (uint64_t)v->end[side][i] * dim);
            double sum = 1;
            for (uint64_t j = first; j < first + gnn_link_chunk_negatives(v, chunk); j++)
                if (v->own[side][j] != i % v->chunk_edges &&
                    (v->set != GNN_NEGATIVES_ALL || v->negative[side][j] != v->end[side][i]))
                    sum += exp(link_score(&c->config, a, r, h + (uint64_t)v->negative[side][j] * dim) - positive);
            loss += log(sum);
        }
    return loss;
}

/* Sum of |x|^3 over the numbers of a vector, which are complex with ComplEx. */
static inline double link_cubes(const struct gnn_link_config *config, const gnn_real *x)
{
    const bool complex_numbers = config->decoder == GNN_DECODER_COMPLEX;
    const uint32_t numbers = complex_numbers ? config->dim / 2 : config->dim;
    double sum = 0;
    for (uint32_t c = 0; c < numbers; c++)
        sum += pow(hypot((double)x[c], complex_numbers ? (double)x[numbers + c] : 0), 3);
    return sum;
}

/* The penalty on long vectors: both ends and the relation of every edge, once for each side. */
static inline double link_penalty(const struct link_case *c, const gnn_real *h, const gnn_real *const relations[2])
{
    const struct gnn_link_view *const v = &c->view;
    const uint64_t dim = c->config.dim;
    double sum = 0;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < v->edge_count; i++)
            sum += link_cubes(&c->config, h + v->end[0][i] * dim) + link_cubes(&c->config, h + v->end[1][i] * dim) +
                   link_cubes(&c->config, relations[1 - side] + v->relation[i] * dim);
    return c->config.n3 * sum;
}

#endif
