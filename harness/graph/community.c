/* SPDX-License-Identifier: MIT */
#include "harness/graph/community.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct gnn_community {
    uint32_t class_count;
    uint32_t *start; /* (class_count + 1) of a class's nodes in index */
    uint32_t *index; /* (nodes) in the set; by class, then by falling popularity */
};

static int by_class_and_rank(const void *a, const void *b)
{
    const struct gnn_community_node *const x = a, *const y = b;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum gnn_status fill(struct gnn_community *c, struct gnn_community_node *nodes, uint32_t count,
                            struct gnn_err *err)
{
    GNN_NEW(c->start, (size_t)c->class_count + 1, err, "classes of %" PRIu32 " training nodes", count);
    GNN_NEW(c->index, (size_t)count + 1, err, "community of %" PRIu32 " training nodes", count);
    qsort(nodes, count, sizeof *nodes, by_class_and_rank);
    for (uint32_t i = 0; i < count; i++) {
        assert(nodes[i].class < c->class_count);
        c->index[i] = nodes[i].index;
        c->start[nodes[i].class + 1] = i + 1;
    }
    for (uint32_t class = 0; class < c->class_count; class ++)
        c->start[class + 1] = gnn_max_u32(c->start[class + 1], c->start[class]); /* classes without nodes */
    return GNN_OK;
}

enum gnn_status gnn_community_open(struct gnn_community_node *nodes, uint32_t count, uint32_t class_count,
                                   struct gnn_community **out, struct gnn_err *err)
{
    struct gnn_community *c;
    GNN_NEW(c, 1, err, "community of training nodes");
    c->class_count = class_count;
    const enum gnn_status status = fill(c, nodes, count, err);
    return GNN_OPENED(status, c, out, gnn_community_close);
}

void gnn_community_close(struct gnn_community *community)
{
    if (community == NULL)
        return;
    free(community->start);
    free(community->index);
    free(community);
}

uint32_t gnn_community_draw(const struct gnn_community *community, uint32_t class, double rank, uint32_t own)
{
    assert(class < community->class_count);
    assert(rank >= 0);
    assert(rank < 1);
    const uint32_t start = community->start[class], count = community->start[class + 1] - start;
    if (count == 0)
        return GNN_NODE_NONE;
    const uint32_t at = (uint32_t)(rank * count);
    const uint32_t index = community->index[start + at];
    if (index != own)
        return index;
    return count > 1 ? community->index[start + (at + 1) % count] : GNN_NODE_NONE;
}
