/* SPDX-License-Identifier: MIT */
#include "harness/graph/entries.h"

enum { LANES = GNN_WIDE_LANES, GROUPS = GNN_ENTRIES_GROUPS };

typedef double doubles __attribute__((vector_size(8 * LANES)));

/* Eight entries in the making. */
struct eight {
    gnn_wide edge, bits, class;
    gnn_wide nodes_low, nodes_high; /* the interval of node IDs */
    gnn_wide run_low, run_high;     /* the class's members in it */
    gnn_wide is_empty;              /* all bits: there is none */
    gnn_wide tier, block;
    gnn_wide source;
};

/* Takes yes in lanes where the mask is all ones, no where it is 0. */
static inline void choose(const gnn_wide *mask, const gnn_wide *yes, const gnn_wide *no, gnn_wide *out)
{
    *out = *no ^ ((*no ^ *yes) & *mask);
}

/* gnn_below32() of 32 bits each. */
static inline void below(const gnn_wide *bits, const gnn_wide *bound, gnn_wide *out)
{
    *out = (*bits * *bound) >> 32;
}

/* ---- classes ---- */

static void draw_bits(const struct gnn_entries *all, uint32_t k, struct eight *e)
{
    e->edge = all->key[k] + (all->position[k] + 1) * GNN_RNG_GOLDEN;
    gnn_mix64_lanes(&e->edge);
    e->bits = e->edge ^ GNN_RNG_GOLDEN;
    gnn_mix64_lanes(&e->bits);
}

static void draw_classes(const struct gnn_entries *all, uint32_t k, struct eight *e)
{
    const gnn_wide others = all->law->groups.count - 1 + (gnn_wide){0};
    const gnn_wide bits = e->edge >> 32, is_other = (gnn_wide)((e->edge & 0xffffff) >= all->law->homophily_24bit);
    gnn_wide other;
    below(&bits, &others, &other);
    other -= (gnn_wide)(other >= all->own_class[k]); /* adds one: all bits are -1 */
    choose(&is_other, &other, &all->own_class[k], &e->class);
}

/* ---- members in the interval ---- */

/* gnn_entry_part_nodes(). Where a quotient is not whole it lies 1 / pieces at least below the next whole number, which
 * rounding to 53 bits does not bridge while length * pieces is below 2^52. */
static void find_intervals(const struct gnn_entries *all, uint32_t k, struct eight *e)
{
    const doubles divisor = __builtin_convertvector(all->pieces[k], doubles);
    const gnn_wide low = all->number[k] * all->length[k], high = low + all->length[k];
    e->nodes_low = all->start[k] + __builtin_convertvector(__builtin_convertvector(low, doubles) / divisor, gnn_wide);
    e->nodes_high = all->start[k] + __builtin_convertvector(__builtin_convertvector(high, doubles) / divisor, gnn_wide);
}

/* gnn_class_group(): the upper half of a product of 64 by 32 bits. */
static inline void group_of(const struct gnn_class_groups *g, const gnn_wide *node, gnn_wide *group)
{
    *group = *node;
    if (g->magic != 0)
        *group = ((g->magic >> 32) * *node + (((g->magic & UINT32_MAX) * *node) >> 32)) >> 32;
}

/* gnn_class_place() at this group's gnn_class_rotation(). */
static inline void place_in(const struct gnn_class_groups *g, const gnn_wide *class, const gnn_wide *group,
                            gnn_wide *place)
{
    const gnn_wide count = g->count + (gnn_wide){0};
    gnn_wide turn = g->key + (*group + 1) * GNN_RNG_GOLDEN;
    gnn_mix64_lanes(&turn);
    turn >>= 32;
    below(&turn, &count, &turn);
    *place = *class - turn + (count & (gnn_wide)(*class < turn));
}

/* The class's first member whose node ID is not below `node`. */
static inline void first_member(const struct gnn_class_groups *g, const gnn_wide *class, const gnn_wide *node,
                                gnn_wide *member)
{
    gnn_wide group, place;
    group_of(g, node, &group);
    place_in(g, class, &group, &place);
    *member = group - (gnn_wide)(group * g->count + place < *node); /* adds one */
}

/* An empty run is given one member, so that it has a block. */
static void find_members(const struct gnn_entries *all, struct eight *e)
{
    first_member(&all->law->groups, &e->class, &e->nodes_low, &e->run_low);
    first_member(&all->law->groups, &e->class, &e->nodes_high, &e->run_high);
    e->is_empty = (gnn_wide)(e->run_low >= e->run_high);
    const gnn_wide one = e->run_low + 1;
    choose(&e->is_empty, &one, &e->run_high, &e->run_high);
}

/* ---- blocks ---- */

static void draw_tiers(const struct gnn_entries *all, struct eight *e)
{
    const gnn_wide length = e->run_high - e->run_low;
    for (uint32_t lane = 0; lane < LANES; lane++)
        e->tier[lane] = gnn_entry_tier(all->law, length[lane], (uint32_t)e->bits[lane]);
}

static inline void blocks_inside(const struct eight *e, gnn_wide *first, gnn_wide *last)
{
    *first = (e->run_low + (((gnn_wide){0} + 1) << e->tier) - 1) >> e->tier;
    *last = e->run_high >> e->tier;
}

/* A tier's blocks may all reach beyond a run that is as long as one or a little longer; then it holds one of half the
 * size at least. */
static void draw_blocks(struct eight *e)
{
    const gnn_wide bits = e->bits >> 32;
    gnn_wide first, last;
    blocks_inside(e, &first, &last);
    e->tier += (gnn_wide)(first >= last); /* less one */
    blocks_inside(e, &first, &last);
    last -= first;
    below(&bits, &last, &e->block);
    e->block += first;
}

/* ---- sources ---- */

/* gnn_entry_hub(), and the node that is this member. */
static void hub_nodes(const struct gnn_entries *all, struct eight *e)
{
    const gnn_wide key = all->law->hub_key + e->class;
    gnn_wide hub = e->tier << 32 | e->block, place;
    gnn_rng_fold_lanes(&key, &hub);
    hub = (e->block << e->tier) + (hub & ((((gnn_wide){0} + 1) << e->tier) - 1));
    place_in(&all->law->groups, &e->class, &hub, &place);
    e->source = hub * all->law->groups.count + place;
}

/* A node of the interval, where the class has none in it; and not the list's own. */
static void settle(const struct gnn_entries *all, uint32_t k, struct eight *e)
{
    const gnn_wide bits = e->bits >> 32, length = e->nodes_high - e->nodes_low;
    gnn_wide any;
    below(&bits, &length, &any);
    any += e->nodes_low;
    choose(&e->is_empty, &any, &e->source, &e->source);
    const gnn_wide is_own = (gnn_wide)(e->source == all->own_node[k]), fits = (gnn_wide)(e->source + 1 < e->nodes_high);
    e->source += is_own & (1 - ((fits + 1) << 1)); /* 1 where the next one fits, else -1 */
}

static void put(const struct gnn_entries *all, const struct eight *e)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const struct eight *const group = &e[i / LANES];
        assert(group->source[i % LANES] >= group->nodes_low[i % LANES]);
        assert(group->source[i % LANES] < group->nodes_high[i % LANES]);
        *all->out[i] = (gnn_node)group->source[i % LANES];
    }
}

void gnn_entries_open(const struct gnn_entry_law *law, struct gnn_entries *out)
{
    out->law = law;
    out->count = 0;
}

/* Lanes behind the last entry repeat it. */
static void fill_up(struct gnn_entries *all)
{
    const uint32_t last = all->count - 1;
    for (uint32_t i = all->count; i % LANES != 0; i++) {
        gnn_wide *const fields[] = {all->key,   all->own_class, all->own_node, all->position,
                                    all->start, all->length,    all->pieces,   all->number};
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
            fields[f][i / LANES][i % LANES] = fields[f][last / LANES][last % LANES];
    }
}

void gnn_entries_draw(struct gnn_entries *all)
{
    const uint32_t groups = (uint32_t)gnn_div_up(all->count, LANES);
    struct eight e[GROUPS];
    if (groups == 0)
        return;
    fill_up(all);
    for (uint32_t k = 0; k < groups; k++)
        draw_bits(all, k, &e[k]);
    for (uint32_t k = 0; k < groups; k++)
        draw_classes(all, k, &e[k]);
    for (uint32_t k = 0; k < groups; k++)
        find_intervals(all, k, &e[k]);
    for (uint32_t k = 0; k < groups; k++)
        find_members(all, &e[k]);
    for (uint32_t k = 0; k < groups; k++)
        draw_tiers(all, &e[k]);
    for (uint32_t k = 0; k < groups; k++)
        draw_blocks(&e[k]);
    for (uint32_t k = 0; k < groups; k++)
        hub_nodes(all, &e[k]);
    for (uint32_t k = 0; k < groups; k++)
        settle(all, k, &e[k]);
    put(all, e);
    all->count = 0;
}

static inline void add_entry(struct gnn_entries *all, const struct gnn_entry_list *list, uint32_t position,
                             gnn_node *out)
{
    const struct gnn_entry_part piece = gnn_entry_part_of(all->law, list, position);
    const uint32_t k = all->count / LANES, lane = all->count % LANES;
    all->out[all->count++] = out;
    all->key[k][lane] = list->key;
    all->own_class[k][lane] = list->class;
    all->own_node[k][lane] = list->node;
    all->position[k][lane] = position;
    all->start[k][lane] = piece.start;
    all->length[k][lane] = piece.length;
    all->pieces[k][lane] = piece.pieces;
    all->number[k][lane] = piece.number;
}

void gnn_entries_add(struct gnn_entries *all, const struct gnn_entry_list *list, uint64_t begin,
                     const uint64_t *edge_offset, uint64_t count, gnn_node *out)
{
    const bool exact = (uint64_t)all->law->node_count * list->degree < UINT64_C(1) << 52; /* find_intervals */
    assert(list->index == GNN_NODE_NONE);
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t position = (uint32_t)(edge_offset[i] - begin);
        assert(edge_offset[i] - begin < list->degree);
        if (!exact) {
            out[i] = gnn_entry(all->law, list, position);
            continue;
        }
        add_entry(all, list, position, &out[i]);
        if (all->count == GNN_ENTRIES_MOST)
            gnn_entries_draw(all);
    }
}
