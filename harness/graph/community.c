/* SPDX-License-Identifier: MIT */
#include "harness/graph/community.h"

#include "harness/graph/class_groups.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct gnn_community {
    uint32_t class_count;
    uint32_t *start; /* (class_count + 2) of a class's nodes in index */
    uint32_t *index; /* (nodes) in the set, by class */
};

/* Counts the nodes of each class, then places them behind those of the classes before. */
static enum gnn_status fill(struct gnn_community *c, const struct gnn_community_node *nodes, uint32_t count,
                            struct gnn_err *err)
{
    GNN_NEW(c->start, (size_t)c->class_count + 2, err, "classes of %" PRIu32 " training nodes", count);
    GNN_NEW(c->index, (size_t)count + 1, err, "community of %" PRIu32 " training nodes", count);
    uint32_t *const next = c->start + 1; /* of class k: its start, and its end once all nodes are placed */
    for (uint32_t i = 0; i < count; i++) {
        assert(nodes[i].class < c->class_count);
        next[nodes[i].class + 1]++;
    }
    for (uint32_t class = 0; class < c->class_count; class ++)
        next[class + 1] += next[class];
    for (uint32_t i = 0; i < count; i++)
        c->index[next[nodes[i].class]++] = nodes[i].index;
    assert(c->start[c->class_count] == count);
    return GNN_OK;
}

enum gnn_status gnn_community_open(const struct gnn_community_node *nodes, uint32_t count, uint32_t class_count,
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

uint32_t gnn_community_draw(const struct gnn_community *community, uint32_t class, uint32_t bits, uint32_t own)
{
    assert(class < community->class_count);
    const uint32_t start = community->start[class], count = community->start[class + 1] - start;
    if (count == 0)
        return GNN_NODE_NONE;
    const uint32_t at = gnn_below32(bits, count), index = community->index[start + at];
    if (index != own)
        return index;
    return count > 1 ? community->index[start + (at + 1) % count] : GNN_NODE_NONE;
}
