#include "harness/graph/procedural.h"

#include "harness/base/rng.h"
#include "harness/graph/class_groups.h"
#include "harness/graph/mutual.h"
#include "harness/graph/permute.h"
#include "harness/graph/reach.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    TIERS = 32,             /* of popularity: a class has fewer than 2^32 members */
    DEGREE_LIMIT = 1 << 20, /* longest list at any scale; bounds the table */
    TIER_GUIDE_BITS = 10,   /* so many that few draws have to look further */
    VOTES_MAX = 64,
    BATCH = 256, /* nodes whose walks through the permutation overlap */
    PIECE = 64,  /* entries of a list that are drawn step by step together */
};

struct gnn_procedural {
    struct gnn_procedural_config config;
    uint64_t edge_key, hub_key, label_key, split_key, clarity_key;
    struct gnn_class_groups groups;
    struct gnn_reach *reach; /* NULL: none */
    unsigned rank_half_bits; /* of the permutation that deals out the degrees */
    uint16_t
        *rank_round[GNN_PERMUTE_ROUNDS]; /* (2^rank_half_bits) its round functions, tabulated: one block of memory */
    uint32_t homophily_24bit;            /* of 2^24 */
    uint32_t label_noise_24bit;          /* of 2^24 */
    uint32_t votes;
    uint32_t degree_max;
    struct gnn_degree_law lists;                      /* of nodes outside the reach */
    double tier_cdf[TIERS + 1];                       /* running sum of the tier weights; [0] = 0 */
    uint8_t tier_guide[TIERS][1u << TIER_GUIDE_BITS]; /* lowest tier of the draws with these leading bits */
};

/* ---- permutation ---- */

/* gnn_permute with the degrees' key, one step: its round functions have at most 2^16 arguments. */
static inline uint32_t rank_step(const struct gnn_procedural *g, uint32_t x)
{
    const unsigned half = g->rank_half_bits;
    uint32_t left = x >> half, right = x & ((1u << half) - 1);
    for (unsigned round = 0; round < GNN_PERMUTE_ROUNDS; round++) {
        const uint32_t swap = left ^ g->rank_round[round][right];
        left = right;
        right = swap;
    }
    return left << half | right;
}

static enum gnn_status build_ranks(struct gnn_procedural *g, struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(g->config.seed, "graph.degree");
    g->rank_half_bits = gnn_permute_half_bits(g->config.node_count);
    const uint32_t size = 1u << g->rank_half_bits;
    uint16_t *table;
    GNN_NEW(table, (size_t)GNN_PERMUTE_ROUNDS * size, err, "permutation of %" PRIu32 " nodes", g->config.node_count);
    for (unsigned round = 0; round < GNN_PERMUTE_ROUNDS; round++) {
        g->rank_round[round] = table + (size_t)round * size;
        for (uint32_t right = 0; right < size; right++)
            g->rank_round[round][right] = (uint16_t)gnn_permute_round(key, round, right, size - 1);
    }
    return GNN_OK;
}

/* ---- degrees ---- */

uint32_t gnn_procedural_degree_max(const struct gnn_procedural *graph)
{
    return graph->degree_max;
}

static uint32_t degree_of_rank(const struct gnn_procedural *graph, uint32_t rank)
{
    const uint32_t count = graph->config.node_count;
    return gnn_degree_at(&graph->lists, (uint32_t)((((uint64_t)rank << 32) + (UINT64_C(1) << 31)) / count));
}

uint32_t gnn_procedural_degree(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t count = graph->config.node_count;
    assert(node < count);
    const uint32_t index = graph->reach != NULL ? gnn_reach_index(graph->reach, node) : GNN_NODE_NONE;
    if (index != GNN_NODE_NONE)
        return gnn_reach_degree(graph->reach, index);
    uint32_t x = node;
    do
        x = rank_step(graph, x);
    while (x >= count);
    return degree_of_rank(graph, x);
}

/* A step leaves the nodes' range about as often as not, which no branch predictor foresees: so a whole batch takes a
 * step, and those outside are listed for the next one. */
static void ranks_of_batch(const struct gnn_procedural *g, gnn_node first, uint32_t count, uint32_t *rank)
{
    assert(count <= BATCH);
    uint16_t outside[BATCH];
    uint32_t outside_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        rank[i] = rank_step(g, first + i);
        outside[outside_count] = (uint16_t)i;
        outside_count += rank[i] >= g->config.node_count;
    }
    while (outside_count > 0) {
        uint32_t left = 0;
        for (uint32_t k = 0; k < outside_count; k++) {
            const uint16_t i = outside[k];
            rank[i] = rank_step(g, rank[i]);
            outside[left] = i;
            left += rank[i] >= g->config.node_count;
        }
        outside_count = left;
    }
}

void gnn_procedural_degrees(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *degrees)
{
    assert((uint64_t)first + count <= graph->config.node_count);
    for (uint32_t done = 0; done < count && graph->lists.max > 0; done += BATCH) {
        const uint32_t step = gnn_min_u32(count - done, BATCH);
        ranks_of_batch(graph, first + done, step, degrees + done);
        for (uint32_t i = done; i < done + step; i++)
            degrees[i] = degree_of_rank(graph, degrees[i]);
    }
    if (graph->reach == NULL)
        return;
    const uint32_t members = gnn_reach_count(graph->reach);
    for (uint32_t index = gnn_reach_from(graph->reach, first); index < members; index++) {
        const gnn_node node = gnn_reach_node(graph->reach, index);
        if (node - first >= count)
            return;
        degrees[node - first] = gnn_reach_degree(graph->reach, index);
    }
}

/* ---- classes ---- */

uint32_t gnn_procedural_class(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t index = graph->reach != NULL ? gnn_reach_index(graph->reach, node) : GNN_NODE_NONE;
    return index != GNN_NODE_NONE ? gnn_reach_class(graph->reach, index) : gnn_class_of(&graph->groups, node);
}

/* One of the classes other than `class`, which are class_count - 1 >= 1. */
static uint32_t other_class(const struct gnn_procedural *g, uint32_t class, uint32_t bits)
{
    const uint32_t other = gnn_below32(bits, g->config.class_count - 1);
    return other < class ? other : other + 1;
}

/* ---- neighbours ---- */

struct interval {
    uint64_t low, high;
};

static inline struct interval part(uint64_t start, uint64_t length, uint64_t pieces, uint64_t piece)
{
    return (struct interval){start + piece * length / pieces, start + (piece + 1) * length / pieces};
}

/* What the entries of one list have in common. With locality, three runs of positions share out what lies before,
 * inside and after the window: `before` positions, `inside` ones, and the rest. */
struct list {
    gnn_node node;
    uint32_t index; /* in the reach; GNN_NODE_NONE: outside */
    uint32_t degree;
    uint32_t class;
    uint64_t key;
    uint64_t before, inside; /* positions; inside 0: no window */
    uint64_t start, window;  /* node IDs */
};

/* degree_max <= node_count / 4 keeps every interval non-empty. */
static inline struct list list_of(const struct gnn_procedural *g, gnn_node node, uint32_t degree)
{
    assert(node < g->config.node_count);
    assert(degree <= g->degree_max);
    const uint64_t count = g->config.node_count;
    struct list list = {.node = node,
                        .index = g->reach != NULL ? gnn_reach_index(g->reach, node) : GNN_NODE_NONE,
                        .degree = degree,
                        .key = gnn_splitmix64_at(g->edge_key, node),
                        .inside = (uint64_t)(g->config.locality * degree)};
    const bool reached = list.index != GNN_NODE_NONE;
    list.class = reached ? gnn_reach_class(g->reach, list.index) : gnn_class_of(&g->groups, node);
    if (list.inside == 0 || reached)
        return list;
    list.window = gnn_min_u64(gnn_max_u64(g->config.window, 2 * list.inside), count / 2);
    const uint64_t room = count - list.window;
    assert(room > 0);
    list.start = gnn_min_u64(node > list.window / 2 ? node - list.window / 2 : 0, room);
    list.before = (degree - list.inside) * list.start / room;
    return list;
}

/* The interval of node IDs that a position owns. */
static inline struct interval stratum(const struct gnn_procedural *g, const struct list *list, uint32_t position)
{
    const uint64_t count = g->config.node_count, after = list->before + list->inside;
    if (list->inside == 0)
        return part(0, count, list->degree, position);
    if (position < list->before)
        return part(0, list->start, list->before, position);
    if (position < after)
        return part(list->start, list->window, list->inside, position - list->before);
    return part(list->start + list->window, count - list->window - list->start, list->degree - after, position - after);
}

/* The members of a class whose node IDs lie in the interval: a run [low, high) of member numbers. */
static inline struct interval members(const struct gnn_procedural *g, uint32_t class, struct interval nodes)
{
    const uint32_t count = g->config.class_count;
    const uint32_t low = gnn_class_group(&g->groups, nodes.low), high = gnn_class_group(&g->groups, nodes.high);
    return (struct interval){
        low + (gnn_class_member(&g->groups, class, low) < nodes.low),
        high + ((uint64_t)high * count != nodes.high && gnn_class_member(&g->groups, class, high) < nodes.high)};
}

/* The tier a draw falls into, looked for from `tier` on; top = log2 of the room. */
static inline unsigned tier_from(const struct gnn_procedural *g, unsigned tier, unsigned top, uint32_t bits)
{
    const double u = bits * 0x1p-32 * g->tier_cdf[top + 1];
    while (tier < top && g->tier_cdf[tier + 1] <= u)
        tier++;
    return tier;
}

/* Blocks of 2^tier members that begin at multiples of it: one of them. */
struct block {
    unsigned tier;
    uint32_t number;
};

/* A block inside the run, of a tier by popularity. run is not empty. */
static inline struct block draw_block(const struct gnn_procedural *g, struct interval run, uint64_t bits)
{
    const unsigned top = 63 - (unsigned)__builtin_clzll(run.high - run.low);
    unsigned tier = tier_from(g, g->tier_guide[top][(uint32_t)bits >> (32 - TIER_GUIDE_BITS)], top, (uint32_t)bits);
    uint64_t first = 0, last = 0;
    for (;; tier--) { /* tier 0 always fits: its blocks are single members */
        assert(tier < TIERS);
        first = (run.low + (UINT64_C(1) << tier) - 1) >> tier;
        last = run.high >> tier;
        if (first < last)
            break;
    }
    return (struct block){tier, (uint32_t)first + gnn_below32((uint32_t)(bits >> 32), (uint32_t)(last - first))};
}

/* The member that has all of the block's draws. */
static inline uint32_t hub_of(const struct gnn_procedural *g, uint32_t class, struct block block)
{
    const uint64_t place = gnn_rng_fold(g->hub_key + class, (uint64_t)block.tier << 32 | block.number);
    return (uint32_t)(((uint64_t)block.number << block.tier) + (place & ((UINT64_C(1) << block.tier) - 1)));
}

/* A node of the interval, where the class has none in it. */
static inline uint64_t any_node(struct interval nodes, uint64_t bits)
{
    return nodes.low + gnn_below32((uint32_t)(bits >> 32), (uint32_t)(nodes.high - nodes.low));
}

/* Returns the source, or one beside it where it is the list's own node: the interval around that holds two at least. */
static inline gnn_node step_aside(uint64_t source, gnn_node own, struct interval nodes)
{
    if (source == own)
        source = source + 1 < nodes.high ? source + 1 : source - 1;
    assert(source >= nodes.low);
    assert(source < nodes.high);
    return (gnn_node)source;
}

/* The class that an entry is drawn from. A list of the reach holds such a node in any case: each class has two. */
static inline uint32_t class_of_entry(const struct gnn_procedural *g, const struct list *list, uint64_t edge)
{
    const uint32_t own = list->class, other = other_class(g, own, (uint32_t)(edge >> 32));
    const bool is_other = (edge & 0xffffff) >= g->homophily_24bit;
    return own ^ ((own ^ other) & (0 - (uint32_t)is_other)); /* a branch is often mispredicted */
}

static inline gnn_node entry_of(const struct gnn_procedural *g, const struct list *list, uint32_t position)
{
    assert(position < list->degree);
    if (list->index != GNN_NODE_NONE && gnn_reach_is_mutual(g->reach))
        return gnn_reach_node(g->reach, gnn_reach_mutual(g->reach, list->index, position));
    const uint64_t edge = gnn_splitmix64_at(list->key, position);
    const uint64_t bits = gnn_mix64(edge ^ GNN_RNG_GOLDEN);
    const uint32_t class = class_of_entry(g, list, edge);
    if (list->index != GNN_NODE_NONE) {
        const double place = (position + (uint32_t)(bits >> 32) * 0x1p-32) / list->degree;
        return gnn_reach_node(g->reach,
                              gnn_reach_source(g->reach, list->index, class, list->degree, place, (uint32_t)bits));
    }
    const struct interval nodes = stratum(g, list, position);
    const struct interval run = members(g, class, nodes);
    uint64_t source;
    if (run.low < run.high)
        source = gnn_class_member(&g->groups, class, hub_of(g, class, draw_block(g, run, bits)));
    else
        source = any_node(nodes, bits);
    return step_aside(source, list->node, nodes);
}

gnn_node gnn_procedural_neighbour(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint32_t position)
{
    const struct list list = list_of(graph, node, degree);
    return entry_of(graph, &list, position);
}

/* ---- many entries of a list ---- */

/* One end of an interval of node IDs, and what finds each class's first member from it on. */
struct bound {
    uint64_t node;
    uint32_t group, turn;
};

static inline struct bound bound_at(const struct gnn_procedural *g, uint64_t node)
{
    const uint32_t group = gnn_class_group(&g->groups, node);
    return (struct bound){node, group, gnn_class_rotation(&g->groups, group)};
}

/* The class's first member whose node ID is not below the bound. */
static inline uint32_t first_member(const struct gnn_procedural *g, const struct bound *bound, uint32_t class)
{
    const uint32_t place = gnn_class_place(&g->groups, class, bound->turn);
    return bound->group + ((uint64_t)bound->group * g->groups.count + place < bound->node);
}

/* Some entries of a list outside the reach. */
struct piece {
    uint32_t count;
    uint32_t position[PIECE];
    uint64_t edge[PIECE], bits[PIECE];
    struct interval nodes[PIECE];
    uint32_t class[PIECE], block[PIECE];
    uint8_t tier[PIECE];
    bool empty[PIECE]; /* the class has no member in the interval */
};

static void draw_bits(uint64_t key, struct piece *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        p->edge[i] = gnn_splitmix64_at(key, p->position[i]);
        p->bits[i] = gnn_mix64(p->edge[i] ^ GNN_RNG_GOLDEN);
    }
}

/* Where the interval of one position ends that of the next one begins. */
static void draw_blocks(const struct gnn_procedural *g, const struct list *list, struct piece *p)
{
    struct bound low = {.node = 0}, high = {.node = 0};
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t class = class_of_entry(g, list, p->edge[i]), position = p->position[i];
        low = i > 0 && position == p->position[i - 1] + 1 ? high : bound_at(g, stratum(g, list, position).low);
        high = bound_at(g, stratum(g, list, position).high);
        const struct interval run = {first_member(g, &low, class), first_member(g, &high, class)};
        p->nodes[i] = (struct interval){low.node, high.node};
        p->class[i] = class;
        p->empty[i] = run.low >= run.high;
        const struct block block = p->empty[i] ? (struct block){.tier = 0} : draw_block(g, run, p->bits[i]);
        p->tier[i] = (uint8_t)block.tier;
        p->block[i] = block.number;
    }
}

/* Draws as entry_of does, but one step for all entries, then the next: within an entry each step waits for the one
 * before, and no branch predictor foresees which way some of them go. */
static void draw_piece(const struct gnn_procedural *g, const struct list *list, struct piece *p, gnn_node *out)
{
    draw_bits(list->key, p);
    draw_blocks(g, list, p);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct block block = {p->tier[i], p->block[i]};
        const uint64_t hub = gnn_class_member(&g->groups, p->class[i], hub_of(g, p->class[i], block));
        out[i] = step_aside(p->empty[i] ? any_node(p->nodes[i], p->bits[i]) : hub, list->node, p->nodes[i]);
    }
}

void gnn_procedural_neighbours(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint64_t begin,
                               const uint64_t *edge_offset, uint64_t count, gnn_node *out)
{
    const struct list list = list_of(graph, node, degree);
    struct piece piece;
    if (list.index != GNN_NODE_NONE) {
        for (uint64_t i = 0; i < count; i++)
            out[i] = entry_of(graph, &list, (uint32_t)(edge_offset[i] - begin));
        return;
    }
    for (uint64_t done = 0; done < count; done += piece.count) {
        piece.count = (uint32_t)gnn_min_u64(count - done, PIECE);
        for (uint32_t i = 0; i < piece.count; i++)
            piece.position[i] = (uint32_t)(edge_offset[done + i] - begin);
        draw_piece(graph, &list, &piece, out + done);
    }
}

/* ---- labels ---- */

/* Sums of 32 bits, so that a label does not depend on a rounding. */
static uint32_t clarity_of(const struct gnn_procedural *g, gnn_node node)
{
    return (uint32_t)(gnn_splitmix64_at(g->clarity_key, node) >> 41) + 1;
}

double gnn_procedural_clarity(const struct gnn_procedural *graph, gnn_node node)
{
    return graph->reach != NULL ? clarity_of(graph, node) * 0x1p-22 : 1;
}

/* The class that the first entries of a member's list show most clearly; that of the first of them among equals. */
static uint32_t voted_class(const struct gnn_procedural *g, gnn_node node, uint32_t degree)
{
    const struct list list = list_of(g, node, degree);
    const uint32_t count = gnn_min_u32(degree, g->votes);
    assert(count > 0);
    uint32_t class[VOTES_MAX] = {0}, votes[VOTES_MAX] = {0}, best = 0;
    for (uint32_t i = 0; i < count; i++) {
        const gnn_node source = entry_of(g, &list, i);
        uint32_t at = 0;
        class[i] = class_of_entry(g, &list, gnn_splitmix64_at(list.key, i));
        while (class[at] != class[i])
            at++;
        votes[at] += clarity_of(g, source);
        if (votes[at] > votes[best])
            best = at;
    }
    return class[best];
}

static uint32_t true_label(const struct gnn_procedural *g, gnn_node node, uint32_t index)
{
    const uint32_t degree = gnn_reach_is_split(g->reach, index) && g->votes > 0 ? gnn_reach_degree(g->reach, index) : 0;
    return degree > 0 ? voted_class(g, node, degree) : gnn_reach_class(g->reach, index);
}

static inline uint32_t label_in(const struct gnn_procedural *graph, gnn_node node, uint32_t class)
{
    const uint64_t draw = gnn_splitmix64_at(graph->label_key, node);
    if ((draw & 0xffffff) >= graph->label_noise_24bit)
        return class;
    return other_class(graph, class, (uint32_t)(draw >> 32));
}

uint32_t gnn_procedural_label(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t index = graph->reach != NULL ? gnn_reach_index(graph->reach, node) : GNN_NODE_NONE;
    return label_in(graph, node,
                    index != GNN_NODE_NONE ? true_label(graph, node, index) : gnn_class_of(&graph->groups, node));
}

void gnn_procedural_labels(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *labels)
{
    assert((uint64_t)first + count <= graph->config.node_count);
    for (uint32_t i = 0; i < count; i++)
        labels[i] = label_in(graph, first + i, gnn_class_of(&graph->groups, first + i));
    if (graph->reach == NULL)
        return;
    const uint32_t members = gnn_reach_count(graph->reach);
    for (uint32_t index = gnn_reach_from(graph->reach, first); index < members; index++) {
        const gnn_node node = gnn_reach_node(graph->reach, index);
        if (node - first >= count)
            return;
        labels[node - first] = label_in(graph, node, true_label(graph, node, index));
    }
}

/* ---- splits ---- */

uint32_t gnn_procedural_reach_count(const struct gnn_procedural *graph)
{
    return graph->reach != NULL ? gnn_reach_count(graph->reach) : graph->config.node_count;
}

gnn_node gnn_procedural_split_node(const struct gnn_procedural *graph, uint32_t index)
{
    const uint32_t place = gnn_permute(graph->split_key, gnn_procedural_reach_count(graph), index);
    return graph->reach != NULL ? gnn_reach_node(graph->reach, place) : place;
}

/* ---- open and close ---- */

static enum gnn_status check_config(const struct gnn_procedural_config *config, struct gnn_err *err)
{
    const struct {
        const char *name;
        double value, min, max;
    } limits[] = {
        {"nodes", config->node_count, 8, 4294967294.0},
        {"classes", config->class_count, 1, config->node_count},
        {"degree exponent", config->degree_exponent, 2.01, 10},
        {"homophily", config->homophily, 0, 1},
        {"popularity", config->popularity, 0, config->reach.share > 0 ? 4 : 1},
        {"locality", config->locality, 0, 1},
        {"label noise", config->label_noise, 0, 1},
        {"window", config->window, 0, floor(config->node_count / 2.0)},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (!(limits[i].value >= limits[i].min && limits[i].value <= limits[i].max))
            return gnn_fail(err, GNN_EUSAGE, "%s %g of a generated graph: expected %g to %g", limits[i].name,
                            limits[i].value, limits[i].min, limits[i].max);
    return GNN_OK;
}

static enum gnn_status check_reach(const struct gnn_procedural_config *config, struct gnn_err *err)
{
    const struct gnn_reach_config *const c = &config->reach;
    const struct {
        const char *name;
        double value, min, max;
    } limits[] = {
        {"reach", c->share, 0, 1},
        {"spread", c->spread, c->share, 1},
        {"share of empty lists", c->empty, 0, 0.999},
        {"share of empty training lists", c->train_empty, 0, 0.999},
        {"list mean", c->list_mean, 0, config->node_count},
        {"training list mean", c->train_mean, 0, config->node_count},
        {"hub shift", c->hub_shift, config->popularity < 1 || c->popularity != NULL ? 0 : 1e-9, 1},
        {"coupling", c->coupling, -1, 1},
        {"votes", c->votes, 0, c->mutual ? 0 : VOTES_MAX},
        {"clique share", c->clique_share, 0, c->mutual ? 1 : 0},
        {"locality beside a reach", config->locality, 0, 0},
    };
    if (c->share == 0)
        return GNN_OK;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (!(limits[i].value >= limits[i].min && limits[i].value <= limits[i].max))
            return gnn_fail(err, GNN_EUSAGE, "%s %g of a generated graph: expected %g to %g", limits[i].name,
                            limits[i].value, limits[i].min, limits[i].max);
    return GNN_OK;
}

static uint32_t longest_list(const struct gnn_procedural_config *config, double mean)
{
    uint32_t max = config->node_count / 100;
    if (max < 8 * mean)
        max = (uint32_t)(8 * mean);
    return gnn_min_u32(gnn_min_u32(max, DEGREE_LIMIT), config->node_count / 4);
}

/* Weight 1 for tier 0, then 2^(-t (1 - s)) (1 - 2^-s): popularity 0 leaves tier 0 alone, which is uniform. */
static void build_tiers(struct gnn_procedural *g)
{
    const double popularity = fmin(g->config.popularity, 1); /* above 1 is a reach's own */
    g->tier_cdf[1] = 1;
    for (unsigned tier = 1; tier < TIERS; tier++)
        g->tier_cdf[tier + 1] = g->tier_cdf[tier] + exp2(-(double)tier * (1 - popularity)) * (1 - exp2(-popularity));
    for (unsigned top = 0; top < TIERS; top++)
        for (uint32_t slot = 0; slot < 1u << TIER_GUIDE_BITS; slot++)
            g->tier_guide[top][slot] = (uint8_t)tier_from(g, 0, top, slot << (32 - TIER_GUIDE_BITS));
}

/* What the reach leaves of the edges, on the nodes outside it. */
static enum gnn_status outside_lists(const struct gnn_procedural *g, struct gnn_degree_config *lists,
                                     struct gnn_rank_law *read, struct gnn_err *err)
{
    static const double least = 1.5; /* a law's mean; below it lists are empty instead */
    const struct gnn_procedural_config *const c = &g->config;
    const uint32_t outside = c->node_count - gnn_reach_count(g->reach);
    const double edges = c->mean_degree * c->node_count, left = edges - gnn_reach_edges(g->reach);
    if (left < -0.01 * edges && c->reach.degrees == NULL) /* a law that was read is kept, whatever the sum */
        return gnn_fail(
            err, GNN_EUSAGE,
            "the reach's lists hold %.4g edges, the whole graph only %.4g: lower the list mean, or the reach",
            gnn_reach_edges(g->reach), edges);
    const double mean = fmax(left, 0) / outside;
    lists->mean = fmax(mean, least);
    lists->empty = fmin(fmax(1 - mean / least, 0), 0.999);
    if (c->reach.rest_degrees == NULL)
        return GNN_OK;
    *read = *c->reach.rest_degrees;
    const uint32_t quarter = c->node_count / 4;
    for (uint32_t i = 0; i < read->count; i++) /* a list has an interval of the IDs for each entry */
        read->mean[i] = fmin(read->mean[i], quarter - 2.0);
    lists->read = read;
    return GNN_OK;
}

/* The lengths of the lists that no reach holds, and the longest of all. */
static enum gnn_status open_lists(struct gnn_procedural *g, struct gnn_err *err)
{
    struct gnn_degree_config lists = {
        .mean = g->config.mean_degree, .exponent = g->config.degree_exponent, .node_count = g->config.node_count};
    struct gnn_rank_law read;
    const bool whole = g->reach != NULL && gnn_reach_count(g->reach) == g->config.node_count;
    if (g->reach != NULL && !whole)
        GNN_TRY(outside_lists(g, &lists, &read, err));
    lists.longest = longest_list(&g->config, lists.mean);
    if (!whole)
        GNN_TRY(gnn_degree_law_open(&lists, &g->lists, err));
    g->degree_max = g->lists.max;
    if (g->reach != NULL)
        g->degree_max = gnn_max_u32(g->degree_max, gnn_reach_degree_max(g->reach));
    return GNN_OK;
}

enum gnn_status gnn_procedural_open(const struct gnn_procedural_config *config, struct gnn_procedural **out,
                                    struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    GNN_TRY(check_reach(config, err));
    struct gnn_procedural *g;
    GNN_NEW(g, 1, err, "generated graph");
    g->config = *config;
    if (g->config.window == 0)
        g->config.window = config->node_count / 100;
    g->edge_key = gnn_rng_fork(config->seed, "graph.edge");
    g->groups = gnn_class_groups_of(gnn_rng_fork(config->seed, "graph.class"), config->class_count);
    g->hub_key = gnn_rng_fork(config->seed, "graph.hub");
    g->label_key = gnn_rng_fork(config->seed, "graph.label");
    g->split_key = gnn_rng_fork(config->seed, "split");
    g->clarity_key = gnn_rng_fork(config->seed, "graph.clarity");
    g->votes = config->reach.votes;
    g->homophily_24bit =
        config->class_count > 1 ? (uint32_t)(config->homophily * 0x1p24) : 1U << 24; /* no other class */
    g->label_noise_24bit = config->class_count > 1 ? (uint32_t)(config->label_noise * 0x1p24) : 0;
    build_tiers(g);
    enum gnn_status status = build_ranks(g, err);
    if (status == GNN_OK && config->reach.share > 0)
        status = gnn_reach_open(config, &g->reach, err);
    GNN_NEXT(status, open_lists(g, err));
    g->config.reach = (struct gnn_reach_config){.share = config->reach.share}; /* the laws are the caller's */
    return GNN_OPENED(status, g, out, gnn_procedural_close);
}

void gnn_procedural_close(struct gnn_procedural *graph)
{
    if (graph == NULL)
        return;
    free(graph->rank_round[0]);
    gnn_degree_law_close(&graph->lists);
    gnn_reach_close(graph->reach);
    free(graph);
}
