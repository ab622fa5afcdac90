/* SPDX-License-Identifier: MIT */
/* Assigns the nodes of a generated graph to classes. IDs form groups of as many nodes as there are classes. Each group
 * is a rotation of all classes by an amount that is hashed from the group's number. So member k of a class is in group
 * k, all classes have equally many members up to the last group, and members are spread evenly. Internal to
 * harness/graph/. */
#ifndef GNN_GRAPH_CLASS_GROUPS_H
#define GNN_GRAPH_CLASS_GROUPS_H

#include "harness/base/rng.h"

#include <assert.h>

struct gnn_class_groups {
    uint64_t key;
    uint64_t magic; /* floor(2^64 / classes) + 1: division by the number of classes; 0: one class */
    uint32_t count; /* classes */
};

static inline struct gnn_class_groups gnn_class_groups_of(uint64_t key, uint32_t class_count)
{
    return (struct gnn_class_groups){
        .key = key, .magic = class_count > 1 ? UINT64_MAX / class_count + 1 : 0, .count = class_count};
}

/* Returns a number that is uniform in [0, bound), computed from 32 random bits. */
static inline uint32_t gnn_below32(uint32_t bits, uint32_t bound)
{
    return (uint32_t)(((uint64_t)bits * bound) >> 32);
}

/* Returns node / classes, exactly for 32 bits (Lemire, Kaser and Kurz 2019, "Faster remainder by direct
 * computation"). */
static inline uint32_t gnn_class_group(const struct gnn_class_groups *g, uint64_t node)
{
    __extension__ typedef unsigned __int128 wide;
    assert(node <= UINT32_MAX);
    if (g->magic == 0)
        return (uint32_t)node;
    return (uint32_t)(((wide)g->magic * node) >> 64);
}

static inline uint32_t gnn_class_rotation(const struct gnn_class_groups *g, uint32_t group)
{
    return gnn_below32((uint32_t)(gnn_splitmix64_at(g->key, group) >> 32), g->count);
}

/* Returns the position of a class in a group that is rotated by `turn`. Avoids a branch, which would be mispredicted in
 * half of all cases. */
static inline uint32_t gnn_class_place(const struct gnn_class_groups *g, uint32_t class, uint32_t turn)
{
    return class - turn + (g->count & (0 - (uint32_t)(class < turn)));
}

/* Returns the node that is this member of the class. The result is beyond the last node if the class has no such
 * member. */
static inline uint64_t gnn_class_member(const struct gnn_class_groups *g, uint32_t class, uint32_t member)
{
    return (uint64_t)member * g->count + gnn_class_place(g, class, gnn_class_rotation(g, member));
}

static inline uint32_t gnn_class_of(const struct gnn_class_groups *g, uint32_t node)
{
    const uint32_t group = gnn_class_group(g, node);
    const uint32_t sum = node - group * g->count + gnn_class_rotation(g, group);
    return sum < g->count ? sum : sum - g->count;
}

#endif
