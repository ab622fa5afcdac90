/* SPDX-License-Identifier: MIT */
/* Draws one entry of a generated list, step by step. The class is drawn first; the position gives an interval of node
 * IDs. A popularity tier then selects a block among the class's members in that interval. One member of the block
 * receives all of its draws. procedural.h states the law; entries.h draws many entries together with the same steps.
 * Internal to harness/graph/. */
#ifndef GNN_GRAPH_ENTRY_H
#define GNN_GRAPH_ENTRY_H

#include "harness/graph/class_groups.h"

enum {
    GNN_TIERS = 32,           /* popularity tiers: a class has fewer than 2^32 members */
    GNN_TIER_GUIDE_BITS = 10, /* with a guide table of 2^10 slots few draws search further */
};

/* Parameters that all lists share. */
struct gnn_entry_law {
    uint64_t hub_key;
    uint32_t node_count;
    uint32_t homophily_24bit; /* of 2^24 */
    struct gnn_class_groups groups;
    double tier_cdf[GNN_TIERS + 1];                           /* running sum of the tiers' weights; [0] = 0 */
    uint8_t tier_guide[GNN_TIERS][1u << GNN_TIER_GUIDE_BITS]; /* lowest tier of the draws with these leading bits */
};

/* Parameters of one list. With locality, the positions are divided into three runs. The first `before` positions draw
 * from the node IDs before the window. The next `inside` positions draw from the window, the others from the IDs after
 * it. */
struct gnn_entry_list {
    gnn_node node;
    uint32_t index; /* in the reachable set; GNN_NODE_NONE: outside */
    uint32_t degree;
    uint32_t class;
    uint32_t community_24bit; /* of 2^24: entries that are drawn from the training nodes */
    uint64_t key;
    uint64_t before, inside; /* positions; inside 0: no window */
    uint64_t start, window;  /* node IDs */
};

/* [low, high) of node IDs, or of member numbers of a class. */
struct gnn_id_interval {
    uint64_t low, high;
};

/* ---- the class ---- */

/* Returns one of the classes other than `class`. There must be at least two classes. */
static inline uint32_t gnn_other_class(const struct gnn_class_groups *groups, uint32_t class, uint32_t bits)
{
    const uint32_t other = gnn_below32(bits, groups->count - 1);
    return other < class ? other : other + 1;
}

/* Returns the class that an entry is drawn from. A list of the reachable set always finds a node of it, as each class
 * has at least two members there. */
static inline uint32_t gnn_entry_class(const struct gnn_entry_law *law, uint32_t own, uint64_t edge)
{
    const uint32_t other = gnn_other_class(&law->groups, own, (uint32_t)(edge >> 32));
    const bool is_other = (edge & 0xffffff) >= law->homophily_24bit;
    return own ^ ((own ^ other) & (0 - (uint32_t)is_other)); /* a branch is often mispredicted */
}

/* ---- the interval ---- */

/* The piece with this number, of `pieces` equal pieces of a range of node IDs. */
struct gnn_entry_part {
    uint64_t start, length; /* first ID and length of the range */
    uint64_t pieces, number;
};

static inline struct gnn_id_interval gnn_entry_part_nodes(struct gnn_entry_part p)
{
    return (struct gnn_id_interval){p.start + p.number * p.length / p.pieces,
                                    p.start + (p.number + 1) * p.length / p.pieces};
}

/* Returns the part of the node IDs that belongs to a position. */
static inline struct gnn_entry_part gnn_entry_part_of(const struct gnn_entry_law *law,
                                                      const struct gnn_entry_list *list, uint32_t position)
{
    const uint64_t count = law->node_count, before = list->before, after = before + list->inside,
                   end = list->start + list->window;
    if (list->inside == 0)
        return (struct gnn_entry_part){.length = count, .pieces = list->degree, .number = position};
    if (position < before)
        return (struct gnn_entry_part){.length = list->start, .pieces = before, .number = position};
    if (position < after)
        return (struct gnn_entry_part){list->start, list->window, list->inside, position - before};
    return (struct gnn_entry_part){end, count - end, list->degree - after, position - after};
}

/* Returns the members of a class whose node IDs are in the interval: a run [low, high) of member numbers. */
static inline struct gnn_id_interval gnn_entry_members(const struct gnn_class_groups *groups, uint32_t class,
                                                       struct gnn_id_interval nodes)
{
    const uint32_t low = gnn_class_group(groups, nodes.low), high = gnn_class_group(groups, nodes.high);
    return (struct gnn_id_interval){
        low + (gnn_class_member(groups, class, low) < nodes.low),
        high + ((uint64_t)high * groups->count != nodes.high && gnn_class_member(groups, class, high) < nodes.high)};
}

/* ---- the block ---- */

/* Returns the tier of a draw, searched from `tier` upwards. `top` is log2 of the run's length. */
static inline unsigned gnn_entry_tier_from(const struct gnn_entry_law *law, unsigned tier, unsigned top, uint32_t bits)
{
    const double u = bits * 0x1p-32 * law->tier_cdf[top + 1];
    while (tier < top && law->tier_cdf[tier + 1] <= u)
        tier++;
    return tier;
}

/* Returns a tier for a run of `length` >= 1 members. The 2^tier members of a block never exceed the run's length. */
static inline unsigned gnn_entry_tier(const struct gnn_entry_law *law, uint64_t length, uint32_t bits)
{
    const unsigned top = 63 - (unsigned)__builtin_clzll(length);
    return gnn_entry_tier_from(law, law->tier_guide[top][bits >> (32 - GNN_TIER_GUIDE_BITS)], top, bits);
}

/* One of the blocks of 2^tier members that begin at multiples of 2^tier. */
struct gnn_entry_block {
    unsigned tier;
    uint32_t number;
};

/* Returns a block inside the run, its tier drawn by popularity. `run` is not empty. */
static inline struct gnn_entry_block gnn_entry_draw_block(const struct gnn_entry_law *law, struct gnn_id_interval run,
                                                          uint64_t bits)
{
    unsigned tier = gnn_entry_tier(law, run.high - run.low, (uint32_t)bits);
    uint64_t first = 0, last = 0;
    for (;; tier--) { /* tier 0 always fits: its blocks are single members */
        assert(tier < GNN_TIERS);
        first = (run.low + (UINT64_C(1) << tier) - 1) >> tier;
        last = run.high >> tier;
        if (first < last)
            break;
    }
    return (struct gnn_entry_block){tier,
                                    (uint32_t)first + gnn_below32((uint32_t)(bits >> 32), (uint32_t)(last - first))};
}

/* ---- the member ---- */

/* Returns the member that receives all draws of the block. */
static inline uint32_t gnn_entry_hub(const struct gnn_entry_law *law, uint32_t class, struct gnn_entry_block block)
{
    const uint64_t place = gnn_rng_fold(law->hub_key + class, (uint64_t)block.tier << 32 | block.number);
    return (uint32_t)(((uint64_t)block.number << block.tier) + (place & ((UINT64_C(1) << block.tier) - 1)));
}

/* Returns a node of the interval, for a class without members in it. */
static inline uint64_t gnn_entry_any_node(struct gnn_id_interval nodes, uint64_t bits)
{
    return nodes.low + gnn_below32((uint32_t)(bits >> 32), (uint32_t)(nodes.high - nodes.low));
}

/* Returns the source, or its neighbour in the interval if the source is the list's own node. The interval then holds at
 * least two nodes. */
static inline gnn_node gnn_entry_step_aside(uint64_t source, gnn_node own, struct gnn_id_interval nodes)
{
    if (source == own)
        source = source + 1 < nodes.high ? source + 1 : source - 1;
    assert(source >= nodes.low);
    assert(source < nodes.high);
    return (gnn_node)source;
}

/* Returns the 64 random bits from which an entry's tier, block and place are drawn. */
static inline uint64_t gnn_entry_bits(uint64_t edge)
{
    return gnn_mix64(edge ^ GNN_RNG_GOLDEN);
}

/* Returns the entry at a position of a list outside the reachable set. */
static inline gnn_node gnn_entry(const struct gnn_entry_law *law, const struct gnn_entry_list *list, uint32_t position)
{
    const uint64_t edge = gnn_splitmix64_at(list->key, position), bits = gnn_entry_bits(edge);
    const uint32_t class = gnn_entry_class(law, list->class, edge);
    const struct gnn_id_interval nodes = gnn_entry_part_nodes(gnn_entry_part_of(law, list, position));
    const struct gnn_id_interval run = gnn_entry_members(&law->groups, class, nodes);
    uint64_t source;
    if (run.low < run.high)
        source = gnn_class_member(&law->groups, class, gnn_entry_hub(law, class, gnn_entry_draw_block(law, run, bits)));
    else
        source = gnn_entry_any_node(nodes, bits);
    return gnn_entry_step_aside(source, list->node, nodes);
}

#endif
