/* SPDX-License-Identifier: MIT */
/* One entry of a generated list, step by step: the class it is drawn from, the interval of node IDs that its position
 * owns, the class's members there, the block of them that a popularity tier names, and the member that has all of the
 * block's draws. procedural.h states the law; entries.h draws many entries together, by the same steps. Internal to
 * harness/graph/. */
#ifndef GNN_GRAPH_ENTRY_H
#define GNN_GRAPH_ENTRY_H

#include "harness/graph/class_groups.h"

enum {
    GNN_TIERS = 32,           /* of popularity: a class has fewer than 2^32 members */
    GNN_TIER_GUIDE_BITS = 10, /* so many that few draws have to look further */
};

/* What all lists have in common. */
struct gnn_entry_law {
    uint64_t hub_key;
    uint32_t node_count;
    uint32_t homophily_24bit; /* of 2^24 */
    struct gnn_class_groups groups;
    double tier_cdf[GNN_TIERS + 1];                           /* running sum of the tiers' weights; [0] = 0 */
    uint8_t tier_guide[GNN_TIERS][1u << GNN_TIER_GUIDE_BITS]; /* lowest tier of the draws with these leading bits */
};

/* What the entries of one list have in common. With locality, three runs of positions share out what lies before,
 * inside and after the window: `before` positions, `inside` ones, and the rest. */
struct gnn_entry_list {
    gnn_node node;
    uint32_t index; /* in the reach; GNN_NODE_NONE: outside */
    uint32_t degree;
    uint32_t class;
    uint64_t key;
    uint64_t before, inside; /* positions; inside 0: no window */
    uint64_t start, window;  /* node IDs */
};

/* [low, high): of node IDs, or of a class's member numbers. */
struct gnn_id_interval {
    uint64_t low, high;
};

/* ---- the class ---- */

/* One of the classes other than `class`, of which there is one at least. */
static inline uint32_t gnn_other_class(const struct gnn_class_groups *groups, uint32_t class, uint32_t bits)
{
    const uint32_t other = gnn_below32(bits, groups->count - 1);
    return other < class ? other : other + 1;
}

/* The class that an entry is drawn from. A list of the reach holds such a node in any case: each class has two. */
static inline uint32_t gnn_entry_class(const struct gnn_entry_law *law, uint32_t own, uint64_t edge)
{
    const uint32_t other = gnn_other_class(&law->groups, own, (uint32_t)(edge >> 32));
    const bool is_other = (edge & 0xffffff) >= law->homophily_24bit;
    return own ^ ((own ^ other) & (0 - (uint32_t)is_other)); /* a branch is often mispredicted */
}

/* ---- the interval ---- */

/* Of `pieces` equal pieces of a range of node IDs, the one with this number. */
struct gnn_entry_part {
    uint64_t start, length; /* of the range */
    uint64_t pieces, number;
};

static inline struct gnn_id_interval gnn_entry_part_nodes(struct gnn_entry_part p)
{
    return (struct gnn_id_interval){p.start + p.number * p.length / p.pieces,
                                    p.start + (p.number + 1) * p.length / p.pieces};
}

/* Returns the part of the node IDs that a position owns. */
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

/* The members of a class whose node IDs lie in the interval: a run [low, high) of member numbers. */
static inline struct gnn_id_interval gnn_entry_members(const struct gnn_class_groups *groups, uint32_t class,
                                                       struct gnn_id_interval nodes)
{
    const uint32_t low = gnn_class_group(groups, nodes.low), high = gnn_class_group(groups, nodes.high);
    return (struct gnn_id_interval){
        low + (gnn_class_member(groups, class, low) < nodes.low),
        high + ((uint64_t)high * groups->count != nodes.high && gnn_class_member(groups, class, high) < nodes.high)};
}

/* ---- the block ---- */

/* The tier a draw falls into, looked for from `tier` on; top = log2 of the run. */
static inline unsigned gnn_entry_tier_from(const struct gnn_entry_law *law, unsigned tier, unsigned top, uint32_t bits)
{
    const double u = bits * 0x1p-32 * law->tier_cdf[top + 1];
    while (tier < top && law->tier_cdf[tier + 1] <= u)
        tier++;
    return tier;
}

/* The tier of a run of `length` members, of 1 at least: 2^tier of them are no more than the run has. */
static inline unsigned gnn_entry_tier(const struct gnn_entry_law *law, uint64_t length, uint32_t bits)
{
    const unsigned top = 63 - (unsigned)__builtin_clzll(length);
    return gnn_entry_tier_from(law, law->tier_guide[top][bits >> (32 - GNN_TIER_GUIDE_BITS)], top, bits);
}

/* Blocks of 2^tier members that begin at multiples of it: one of them. */
struct gnn_entry_block {
    unsigned tier;
    uint32_t number;
};

/* A block inside the run, of a tier by popularity. run is not empty. */
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

/* The member that has all of the block's draws. */
static inline uint32_t gnn_entry_hub(const struct gnn_entry_law *law, uint32_t class, struct gnn_entry_block block)
{
    const uint64_t place = gnn_rng_fold(law->hub_key + class, (uint64_t)block.tier << 32 | block.number);
    return (uint32_t)(((uint64_t)block.number << block.tier) + (place & ((UINT64_C(1) << block.tier) - 1)));
}

/* A node of the interval, where the class has none in it. */
static inline uint64_t gnn_entry_any_node(struct gnn_id_interval nodes, uint64_t bits)
{
    return nodes.low + gnn_below32((uint32_t)(bits >> 32), (uint32_t)(nodes.high - nodes.low));
}

/* Returns the source, or one beside it where it is the list's own node: the interval around that holds two at least. */
static inline gnn_node gnn_entry_step_aside(uint64_t source, gnn_node own, struct gnn_id_interval nodes)
{
    if (source == own)
        source = source + 1 < nodes.high ? source + 1 : source - 1;
    assert(source >= nodes.low);
    assert(source < nodes.high);
    return (gnn_node)source;
}

/* The 64 bits behind an entry's tier, block and place. */
static inline uint64_t gnn_entry_bits(uint64_t edge)
{
    return gnn_mix64(edge ^ GNN_RNG_GOLDEN);
}

/* The entry at a position of a list outside the reach. */
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
