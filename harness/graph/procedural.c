#include "harness/graph/procedural.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    TIERS = 32,             /* of popularity: a class has fewer than 2^32 members */
    DEGREE_LIMIT = 1 << 20, /* longest list at any scale; bounds the table */
    GUIDE_BITS = 14,
    TIER_GUIDE_BITS = 6,
    EXACT_TERMS = 4096, /* of the sums behind d0; the tail is integrated */
    ROUNDS = 4,         /* of the permutation */
    BATCH = 256,        /* nodes whose walks through the permutation overlap */
};

struct gnn_procedural {
    struct gnn_procedural_config config;
    uint64_t edge_key, class_key, hub_key, label_key;
    uint64_t class_magic;         /* floor(2^64 / classes) + 1: division by the number of classes */
    unsigned rank_half_bits;      /* of the permutation that deals out the degrees */
    uint16_t *rank_round[ROUNDS]; /* (2^rank_half_bits) its round functions, tabulated: one block of memory */
    uint32_t homophily_24bit;     /* of 2^24 */
    uint32_t label_noise_24bit;   /* of 2^24 */
    uint32_t degree_max;
    uint32_t *degree_cdf;                   /* (degree_max) P(D <= d + 1) * 2^32; the last entry is never read */
    uint32_t guide[(1u << GUIDE_BITS) + 1]; /* first degree to look at for the leading bits of the draw */
    double tier_cdf[TIERS + 1];             /* running sum of the tier weights; [0] = 0 */
    uint8_t tier_guide[TIERS][1u << TIER_GUIDE_BITS]; /* lowest tier of the draws with these leading bits */
};

/* ---- permutation ---- */

static unsigned permutation_half_bits(uint32_t count)
{
    unsigned half = 1;
    while (half < 16 && (UINT64_C(1) << (2 * half)) < count)
        half++;
    return half;
}

static uint32_t round_function(uint64_t key, unsigned round, uint32_t right, uint32_t mask)
{
    return (uint32_t)(gnn_splitmix64_at(key + round, right) >> 32) & mask;
}

uint32_t gnn_permute(uint64_t key, uint32_t count, uint32_t index)
{
    assert(index < count);
    const unsigned half = permutation_half_bits(count);
    const uint32_t mask = (uint32_t)((1u << half) - 1);
    uint64_t x = index;
    do {
        uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;
        for (unsigned round = 0; round < ROUNDS; round++) {
            const uint32_t swap = left ^ round_function(key, round, right, mask);
            left = right;
            right = swap;
        }
        x = (uint64_t)left << half | right;
    } while (x >= count);
    return (uint32_t)x;
}

/* gnn_permute with the degrees' key, one step: its round functions have at most 2^16 arguments. */
static inline uint32_t rank_step(const struct gnn_procedural *g, uint32_t x)
{
    const unsigned half = g->rank_half_bits;
    uint32_t left = x >> half, right = x & ((1u << half) - 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t swap = left ^ g->rank_round[round][right];
        left = right;
        right = swap;
    }
    return left << half | right;
}

static enum gnn_status build_ranks(struct gnn_procedural *g, struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(g->config.seed, "graph.degree");
    g->rank_half_bits = permutation_half_bits(g->config.node_count);
    const uint32_t size = 1u << g->rank_half_bits;
    uint16_t *table;
    GNN_NEW(table, (size_t)ROUNDS * size, err, "permutation of %" PRIu32 " nodes", g->config.node_count);
    for (unsigned round = 0; round < ROUNDS; round++) {
        g->rank_round[round] = table + (size_t)round * size;
        for (uint32_t right = 0; right < size; right++)
            g->rank_round[round][right] = (uint16_t)round_function(key, round, right, size - 1);
    }
    return GNN_OK;
}

/* ---- degrees ---- */

/* Mean of P(d) ~ (d + shift)^-alpha over 1..max. The first terms are summed, the rest is the integral from half a step
 * below to half a step above: with u = x + shift, x u^-alpha = u^(1-alpha) - shift u^-alpha. */
static double degree_mean(double shift, double alpha, uint32_t max)
{
    const uint32_t exact = gnn_min_u32(max, EXACT_TERMS);
    double mass = 0, sum = 0;
    for (uint32_t d = 1; d <= exact; d++) {
        const double p = pow(d + shift, -alpha);
        mass += p;
        sum += p * d;
    }
    if (exact < max) {
        const double lo = exact + 0.5 + shift, hi = max + 0.5 + shift;
        const double zeroth = (pow(lo, 1 - alpha) - pow(hi, 1 - alpha)) / (alpha - 1);
        mass += zeroth;
        sum += (pow(lo, 2 - alpha) - pow(hi, 2 - alpha)) / (alpha - 2) - shift * zeroth;
    }
    return sum / mass;
}

/* The shift that gives the wanted mean, which grows with it. */
static enum gnn_status solve_shift(const struct gnn_procedural *g, double *shift, struct gnn_err *err)
{
    const double alpha = g->config.degree_exponent, mean = g->config.mean_degree;
    double low = -0.999, high = 1e9;
    if (degree_mean(low, alpha, g->degree_max) > mean || degree_mean(high, alpha, g->degree_max) < mean)
        return gnn_fail(err, GNN_EUSAGE,
                        "%" PRIu32 " nodes are too few for %.4g edges a node (lists of 1 to %" PRIu32
                        "): choose a larger scale",
                        g->config.node_count, mean, g->degree_max);
    for (int step = 0; step < 100; step++) {
        const double middle = (low + high) / 2;
        if (degree_mean(middle, alpha, g->degree_max) < mean)
            low = middle;
        else
            high = middle;
    }
    *shift = (low + high) / 2;
    return GNN_OK;
}

static enum gnn_status build_degrees(struct gnn_procedural *g, struct gnn_err *err)
{
    double shift = 0;
    GNN_TRY(solve_shift(g, &shift, err));
    assert(g->degree_max > 0);
    GNN_NEW(g->degree_cdf, g->degree_max, err, "table of %" PRIu32 " degrees", g->degree_max);
    double mass = 0;
    for (uint32_t d = 1; d <= g->degree_max; d++)
        mass += pow(d + shift, -g->config.degree_exponent);
    double sum = 0;
    for (uint32_t d = 1; d <= g->degree_max; d++) {
        sum += pow(d + shift, -g->config.degree_exponent);
        const double scaled = sum / mass * 0x1p32;
        g->degree_cdf[d - 1] = scaled < 0x1p32 - 1 ? (uint32_t)scaled : UINT32_MAX;
    }
    uint32_t d = 0;
    for (uint32_t slot = 0; slot <= 1u << GUIDE_BITS; slot++) {
        const uint64_t from = (uint64_t)slot << (32 - GUIDE_BITS);
        while (d + 1 < g->degree_max && g->degree_cdf[d] <= from)
            d++;
        g->guide[slot] = d;
    }
    return GNN_OK;
}

uint32_t gnn_procedural_degree_max(const struct gnn_procedural *graph)
{
    return graph->degree_max;
}

static uint32_t degree_of_rank(const struct gnn_procedural *graph, uint32_t rank)
{
    const uint32_t count = graph->config.node_count;
    const uint32_t u = (uint32_t)((((uint64_t)rank << 32) + (UINT64_C(1) << 31)) / count);
    uint32_t low = graph->guide[u >> (32 - GUIDE_BITS)], high = graph->guide[(u >> (32 - GUIDE_BITS)) + 1];
    while (low < high) { /* the first entry above u, the last one at most */
        const uint32_t middle = low + (high - low) / 2;
        if (graph->degree_cdf[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low + 1;
}

uint32_t gnn_procedural_degree(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t count = graph->config.node_count;
    assert(node < count);
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
    for (uint32_t done = 0; done < count; done += BATCH) {
        const uint32_t step = gnn_min_u32(count - done, BATCH);
        ranks_of_batch(graph, first + done, step, degrees + done);
        for (uint32_t i = done; i < done + step; i++)
            degrees[i] = degree_of_rank(graph, degrees[i]);
    }
}

/* ---- classes ---- */

/* Uniform in [0, bound) from 32 random bits. */
static inline uint32_t below32(uint32_t bits, uint32_t bound)
{
    return (uint32_t)(((uint64_t)bits * bound) >> 32);
}

/* node / class_count; exact for 32 bits (Lemire, Kaser and Kurz 2019, "Faster remainder by direct computation"). */
static inline uint32_t group_of(const struct gnn_procedural *g, uint64_t node)
{
    __extension__ typedef unsigned __int128 wide;
    assert(node <= UINT32_MAX);
    if (g->class_magic == 0) /* one class */
        return (uint32_t)node;
    return (uint32_t)(((wide)g->class_magic * node) >> 64);
}

/* IDs come in groups of class_count, each a rotation of all classes: member k of class c is in group k. */
static inline uint32_t rotation(const struct gnn_procedural *g, uint32_t group)
{
    return below32((uint32_t)(gnn_splitmix64_at(g->class_key, group) >> 32), g->config.class_count);
}

static inline uint64_t member_node(const struct gnn_procedural *g, uint32_t class, uint32_t member)
{
    const uint32_t count = g->config.class_count, turn = rotation(g, member);
    return (uint64_t)member * count + (class >= turn ? class - turn : class + count - turn);
}

uint32_t gnn_procedural_class(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t count = graph->config.class_count, group = group_of(graph, node);
    const uint32_t sum = node - group * count + rotation(graph, group);
    return sum < count ? sum : sum - count;
}

/* One of the classes other than `class`, which are class_count - 1 >= 1. */
static uint32_t other_class(const struct gnn_procedural *g, uint32_t class, uint32_t bits)
{
    const uint32_t other = below32(bits, g->config.class_count - 1);
    return other < class ? other : other + 1;
}

uint32_t gnn_procedural_label(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t class = gnn_procedural_class(graph, node);
    const uint64_t draw = gnn_splitmix64_at(graph->label_key, node);
    if ((draw & 0xffffff) >= graph->label_noise_24bit)
        return class;
    return other_class(graph, class, (uint32_t)(draw >> 32));
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
                        .degree = degree,
                        .class = gnn_procedural_class(g, node),
                        .key = gnn_splitmix64_at(g->edge_key, node),
                        .inside = (uint64_t)(g->config.locality * degree)};
    if (list.inside == 0)
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
    const uint32_t low = group_of(g, nodes.low), high = group_of(g, nodes.high);
    return (struct interval){low + (member_node(g, class, low) < nodes.low),
                             high + ((uint64_t)high * count != nodes.high && member_node(g, class, high) < nodes.high)};
}

/* The tier a draw falls into, looked for from `tier` on; top = log2 of the room. */
static inline unsigned tier_from(const struct gnn_procedural *g, unsigned tier, unsigned top, uint32_t bits)
{
    const double u = bits * 0x1p-32 * g->tier_cdf[top + 1];
    while (tier < top && g->tier_cdf[tier + 1] <= u)
        tier++;
    return tier;
}

/* A member of the run, by popularity. run is not empty. */
static inline uint32_t draw_member(const struct gnn_procedural *g, uint32_t class, struct interval run, uint64_t bits)
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
    const uint32_t block = (uint32_t)first + below32((uint32_t)(bits >> 32), (uint32_t)(last - first));
    if (tier == 0)
        return block;
    const uint64_t place = gnn_rng_fold(g->hub_key + class, (uint64_t)tier << 32 | block);
    return (uint32_t)(((uint64_t)block << tier) + (place & ((UINT64_C(1) << tier) - 1)));
}

static inline gnn_node entry_of(const struct gnn_procedural *g, const struct list *list, uint32_t position)
{
    assert(position < list->degree);
    const uint64_t edge = gnn_splitmix64_at(list->key, position);
    const uint64_t bits = gnn_mix64(edge ^ GNN_RNG_GOLDEN);
    uint32_t class = list->class;
    if (g->config.class_count > 1 && (edge & 0xffffff) >= g->homophily_24bit)
        class = other_class(g, class, (uint32_t)(edge >> 32));
    const struct interval nodes = stratum(g, list, position);
    const struct interval run = members(g, class, nodes);
    uint64_t source;
    if (run.low < run.high)
        source = member_node(g, class, draw_member(g, class, run, bits));
    else
        source = nodes.low + below32((uint32_t)(bits >> 32), (uint32_t)(nodes.high - nodes.low));
    if (source == list->node) /* step aside: the interval around its destination holds at least two nodes */
        source = source + 1 < nodes.high ? source + 1 : source - 1;
    assert(source >= nodes.low);
    assert(source < nodes.high);
    return (gnn_node)source;
}

gnn_node gnn_procedural_neighbour(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint32_t position)
{
    const struct list list = list_of(graph, node, degree);
    return entry_of(graph, &list, position);
}

void gnn_procedural_neighbours(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint64_t begin,
                               const uint64_t *edge_offset, uint64_t count, gnn_node *out)
{
    const struct list list = list_of(graph, node, degree);
    for (uint64_t i = 0; i < count; i++)
        out[i] = entry_of(graph, &list, (uint32_t)(edge_offset[i] - begin));
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
        {"popularity", config->popularity, 0, 1},
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

static uint32_t longest_list(const struct gnn_procedural_config *config)
{
    uint32_t max = config->node_count / 100;
    if (max < 8 * config->mean_degree)
        max = (uint32_t)(8 * config->mean_degree);
    return gnn_min_u32(gnn_min_u32(max, DEGREE_LIMIT), config->node_count / 4);
}

/* Weight 1 for tier 0, then 2^(-t (1 - s)) (1 - 2^-s): popularity 0 leaves tier 0 alone, which is uniform. */
static void build_tiers(struct gnn_procedural *g)
{
    const double popularity = g->config.popularity;
    g->tier_cdf[1] = 1;
    for (unsigned tier = 1; tier < TIERS; tier++)
        g->tier_cdf[tier + 1] = g->tier_cdf[tier] + exp2(-(double)tier * (1 - popularity)) * (1 - exp2(-popularity));
    for (unsigned top = 0; top < TIERS; top++)
        for (uint32_t slot = 0; slot < 1u << TIER_GUIDE_BITS; slot++)
            g->tier_guide[top][slot] = (uint8_t)tier_from(g, 0, top, slot << (32 - TIER_GUIDE_BITS));
}

enum gnn_status gnn_procedural_open(const struct gnn_procedural_config *config, struct gnn_procedural **out,
                                    struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    struct gnn_procedural *g;
    GNN_NEW(g, 1, err, "generated graph");
    g->config = *config;
    if (g->config.window == 0)
        g->config.window = config->node_count / 100;
    g->edge_key = gnn_rng_fork(config->seed, "graph.edge");
    g->class_key = gnn_rng_fork(config->seed, "graph.class");
    g->hub_key = gnn_rng_fork(config->seed, "graph.hub");
    g->label_key = gnn_rng_fork(config->seed, "graph.label");
    g->homophily_24bit = (uint32_t)(config->homophily * 0x1p24);
    g->label_noise_24bit = config->class_count > 1 ? (uint32_t)(config->label_noise * 0x1p24) : 0;
    g->class_magic = config->class_count > 1 ? UINT64_MAX / config->class_count + 1 : 0;
    g->degree_max = longest_list(config);
    build_tiers(g);
    enum gnn_status status = build_ranks(g, err);
    GNN_NEXT(status, build_degrees(g, err));
    return GNN_OPENED(status, g, out, gnn_procedural_close);
}

void gnn_procedural_close(struct gnn_procedural *graph)
{
    if (graph == NULL)
        return;
    free(graph->rank_round[0]);
    free(graph->degree_cdf);
    free(graph);
}
