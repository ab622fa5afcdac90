/* SPDX-License-Identifier: MIT */
#include "harness/stats/trees.h"

#include "harness/base/rng.h"
#include "harness/graph/permute.h"

#include <math.h>

enum { FANOUT = GNN_TREE_FANOUT, TREE_NODES = 1 + FANOUT + FANOUT * FANOUT, PIECE = 4096 };

struct growing {
    struct gnn_lists *lists;
    const struct gnn_dataset *dataset;
    struct gnn_rng rng;
    gnn_node tree[TREE_NODES]; /* distinct: the root, then its neighbours, then theirs */
    uint32_t count;
    uint64_t seconds, again, roots, mutual;
};

/* Whether the node is among the first `count` of the tree; adds it otherwise. */
static bool is_met(struct growing *g, gnn_node node)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->tree[i] == node)
            return true;
    g->tree[g->count++] = node;
    return false;
}

/* Positions of a list without repeats, at most FANOUT: Floyd's sample. */
static uint32_t draw_offsets(struct growing *g, gnn_node node, uint64_t *offsets)
{
    const uint64_t begin = g->dataset->indptr[node], degree = g->dataset->indptr[node + 1] - begin;
    const uint32_t count = (uint32_t)gnn_min_u64(degree, FANOUT);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t last = begin + degree - count + i;
        offsets[i] = begin + gnn_rng_below(&g->rng, degree - count + i + 1);
        for (uint32_t k = 0; k < i; k++)
            if (offsets[k] == offsets[i])
                offsets[i] = last;
    }
    return count;
}

static enum gnn_status draw_neighbours(struct growing *g, gnn_node node, gnn_node *out, uint32_t *count,
                                       struct gnn_err *err)
{
    uint64_t offsets[FANOUT];
    struct gnn_neighbour_source *const source = gnn_lists_source(g->lists);
    *count = draw_offsets(g, node, offsets);
    return *count > 0 ? source->ops->fetch(source, offsets, *count, out, err) : GNN_OK;
}

/* Counts the root as mutual if it stands in the list of this neighbour. */
static enum gnn_status look_back(struct growing *g, gnn_node root, gnn_node neighbour, struct gnn_err *err)
{
    gnn_node piece[PIECE];
    const uint64_t end = g->dataset->indptr[neighbour + 1];
    g->roots++;
    for (uint64_t at = g->dataset->indptr[neighbour]; at < end; at += PIECE) {
        const uint64_t count = gnn_min_u64(end - at, PIECE);
        GNN_TRY(gnn_lists_read(g->lists, at, count, piece, err));
        for (uint64_t i = 0; i < count; i++)
            if (piece[i] == root) {
                g->mutual++;
                return GNN_OK;
            }
    }
    return GNN_OK;
}

static enum gnn_status grow_tree(struct growing *g, gnn_node root, struct gnn_err *err)
{
    gnn_node first[FANOUT], second[FANOUT];
    uint32_t firsts = 0, seconds = 0;
    g->tree[0] = root;
    g->count = 1;
    GNN_TRY(draw_neighbours(g, root, first, &firsts, err));
    for (uint32_t i = 0; i < firsts; i++)
        (void)is_met(g, first[i]);
    const uint32_t first_end = g->count; /* a list may name a node twice */
    for (uint32_t i = 1; i < first_end; i++) {
        GNN_TRY(draw_neighbours(g, g->tree[i], second, &seconds, err));
        for (uint32_t k = 0; k < seconds; k++) {
            g->again += is_met(g, second[k]);
        }
        g->seconds += seconds;
    }
    return firsts > 0 ? look_back(g, root, first[0], err) : GNN_OK;
}

enum gnn_status gnn_trees_measure(struct gnn_lists *lists, const gnn_node *nodes, uint32_t count, uint64_t seed,
                                  struct gnn_trees *out, struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(seed, "stats.trees");
    const uint32_t roots = gnn_min_u32(count, GNN_TREE_SEEDS);
    struct growing g = {.lists = lists, .dataset = gnn_lists_dataset(lists), .rng = gnn_rng_at(key)};
    for (uint32_t i = 0; i < roots; i++)
        GNN_TRY(grow_tree(&g, nodes[gnn_permute(key, count, i)], err));
    out->mutual = g.roots > 0 ? (double)g.mutual / (double)g.roots : (double)NAN;
    out->again = g.seconds > 0 ? (double)g.again / (double)g.seconds : (double)NAN;
    return GNN_OK;
}
