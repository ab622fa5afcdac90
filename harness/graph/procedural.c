#include "harness/graph/procedural.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    TIERS = 32,
    DEGREE_LIMIT = 1 << 20, /* longest list at any scale; bounds the table */
    GUIDE_BITS = 10,
    EXACT_TERMS = 4096, /* of the sums behind d0; the tail is integrated */
};

struct gnn_procedural {
    struct gnn_procedural_config config;
    uint64_t degree_key, edge_key, class_key, hub_key, label_key;
    uint32_t homophily_24bit;   /* of 2^24 */
    uint32_t label_noise_24bit; /* of 2^24 */
    uint32_t degree_max;
    uint32_t *degree_cdf; /* (degree_max) P(D <= d + 1) * 2^32; the last entry is never read */
    uint32_t guide[(1u << GUIDE_BITS) + 1]; /* first degree to look at for the leading bits of the draw */
    double tier_cdf[TIERS + 1];             /* running sum of the tier weights; [0] = 0 */
};

/* ---- permutation ---- */

uint32_t gnn_permute(uint64_t key, uint32_t count, uint32_t index)
{
    assert(index < count);
    unsigned half = 1;
    while (half < 16 && (UINT64_C(1) << (2 * half)) < count)
        half++;
    const uint32_t mask = (uint32_t)((1u << half) - 1);
    uint64_t x = index;
    do {
        uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;
        for (unsigned round = 0; round < 4; round++) {
            const uint32_t mixed = (uint32_t)(gnn_splitmix64_at(key + round, right) >> 32) & mask;
            const uint32_t swap = left ^ mixed;
            left = right;
            right = swap;
        }
        x = (uint64_t)left << half | right;
    } while (x >= count);
    return (uint32_t)x;
}

/* ---- degrees ---- */

/* Mean of P(d) ~ (d + shift)^-alpha over 1..max. The first terms are summed, the rest is the integral from
 * half a step below to half a step above: with u = x + shift, x u^-alpha = u^(1-alpha) - shift u^-alpha. */
static double degree_mean(double shift, double alpha, uint32_t max)
{
    const uint32_t exact = max < EXACT_TERMS ? max : EXACT_TERMS;
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
    g->degree_cdf = calloc(g->degree_max, sizeof *g->degree_cdf);
    if (g->degree_cdf == NULL)
        return gnn_fail(err, GNN_ENOMEM, "no memory for a table of %" PRIu32 " degrees", g->degree_max);
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

uint32_t gnn_procedural_degree(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t count = graph->config.node_count;
    const uint32_t rank = gnn_permute(graph->degree_key, count, node);
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

/* ---- classes ---- */

/* Uniform in [0, bound) from 32 random bits. */
static uint32_t below32(uint32_t bits, uint32_t bound)
{
    return (uint32_t)(((uint64_t)bits * bound) >> 32);
}

/* IDs come in groups of class_count, each a rotation of all classes: member k of class c is in group k. */
static uint32_t rotation(const struct gnn_procedural *g, uint32_t group)
{
    return below32((uint32_t)(gnn_splitmix64_at(g->class_key, group) >> 32), g->config.class_count);
}

static uint64_t member_node(const struct gnn_procedural *g, uint32_t class, uint32_t member)
{
    const uint32_t count = g->config.class_count, turn = rotation(g, member);
    return (uint64_t)member * count + (class >= turn ? class - turn : class + count - turn);
}

uint32_t gnn_procedural_class(const struct gnn_procedural *graph, gnn_node node)
{
    const uint32_t count = graph->config.class_count;
    const uint32_t sum = node % count + rotation(graph, node / count);
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

static struct interval part(uint64_t start, uint64_t length, uint64_t pieces, uint64_t piece)
{
    return (struct interval){start + piece * length / pieces, start + (piece + 1) * length / pieces};
}

/* The interval of node IDs that a position owns. With locality, three runs of positions share out what lies
 * before, inside and after the window; degree_max <= node_count / 4 keeps every interval non-empty. */
static struct interval stratum(const struct gnn_procedural *g, gnn_node node, uint32_t degree,
                               uint32_t position)
{
    const uint64_t count = g->config.node_count;
    const uint64_t inside = (uint64_t)(g->config.locality * degree);
    if (inside == 0)
        return part(0, count, degree, position);
    uint64_t window = g->config.window > 2 * inside ? g->config.window : 2 * inside;
    if (window > count / 2)
        window = count / 2;
    uint64_t start = node > window / 2 ? node - window / 2 : 0;
    if (start > count - window)
        start = count - window;
    const uint64_t outside = degree - inside, before = outside * start / (count - window);
    if (position < before)
        return part(0, start, before, position);
    if (position < before + inside)
        return part(start, window, inside, position - before);
    return part(start + window, count - window - start, outside - before, position - before - inside);
}

/* The members of a class whose node IDs lie in the interval: a run [low, high) of member numbers. */
static struct interval members(const struct gnn_procedural *g, uint32_t class, struct interval nodes)
{
    const uint32_t count = g->config.class_count;
    struct interval run = {nodes.low / count, nodes.high / count};
    if (member_node(g, class, (uint32_t)run.low) < nodes.low)
        run.low++;
    if (nodes.high % count != 0 && member_node(g, class, (uint32_t)run.high) < nodes.high)
        run.high++;
    return run;
}

static unsigned draw_tier(const struct gnn_procedural *g, uint64_t room, uint32_t bits)
{
    assert(room > 0);
    const unsigned top = 63 - (unsigned)__builtin_clzll(room);
    const double u = bits * 0x1p-32 * g->tier_cdf[top + 1];
    unsigned tier = 0;
    while (tier < top && g->tier_cdf[tier + 1] <= u)
        tier++;
    return tier;
}

/* A member of the run, by popularity. run is not empty. */
static uint32_t draw_member(const struct gnn_procedural *g, uint32_t class, struct interval run,
                            uint64_t bits)
{
    unsigned tier = draw_tier(g, run.high - run.low, (uint32_t)bits);
    uint64_t first = 0, last = 0;
    for (;; tier--) { /* tier 0 always fits: its blocks are single members */
        assert(tier < 64);
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

gnn_node gnn_procedural_neighbour(const struct gnn_procedural *graph, gnn_node node, uint32_t degree,
                                  uint32_t position)
{
    assert(position < degree && degree <= graph->degree_max);
    const uint64_t edge = gnn_splitmix64_at(gnn_splitmix64_at(graph->edge_key, node), position);
    const uint64_t bits = gnn_mix64(edge ^ GNN_RNG_GOLDEN);
    uint32_t class = gnn_procedural_class(graph, node);
    if (graph->config.class_count > 1 && (edge & 0xffffff) >= graph->homophily_24bit)
        class = other_class(graph, class, (uint32_t)(edge >> 32));
    const struct interval nodes = stratum(graph, node, degree, position);
    const struct interval run = members(graph, class, nodes);
    uint64_t source;
    if (run.low < run.high)
        source = member_node(graph, class, draw_member(graph, class, run, bits));
    else
        source = nodes.low + below32((uint32_t)(bits >> 32), (uint32_t)(nodes.high - nodes.low));
    if (source ==
        node) /* step aside inside the interval, which holds at least two nodes around its destination */
        source = source + 1 < nodes.high ? source + 1 : source - 1;
    assert(source >= nodes.low && source < nodes.high);
    return (gnn_node)source;
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
    if (max > DEGREE_LIMIT)
        max = DEGREE_LIMIT;
    return max < config->node_count / 4 ? max : config->node_count / 4;
}

enum gnn_status gnn_procedural_open(const struct gnn_procedural_config *config, struct gnn_procedural **out,
                                    struct gnn_err *err)
{
    GNN_TRY(check_config(config, err));
    struct gnn_procedural *g = calloc(1, sizeof *g);
    if (g == NULL)
        return gnn_fail(err, GNN_ENOMEM, "no memory for a generated graph");
    g->config = *config;
    if (g->config.window == 0)
        g->config.window = config->node_count / 100;
    g->degree_key = gnn_rng_fork(config->seed, "graph.degree");
    g->edge_key = gnn_rng_fork(config->seed, "graph.edge");
    g->class_key = gnn_rng_fork(config->seed, "graph.class");
    g->hub_key = gnn_rng_fork(config->seed, "graph.hub");
    g->label_key = gnn_rng_fork(config->seed, "graph.label");
    g->homophily_24bit = (uint32_t)(config->homophily * 0x1p24);
    g->label_noise_24bit = config->class_count > 1 ? (uint32_t)(config->label_noise * 0x1p24) : 0;
    g->degree_max = longest_list(config);
    /* weight 1 for tier 0, then 2^(-t (1 - s)) (1 - 2^-s): popularity 0 leaves tier 0 alone, which is uniform
     */
    g->tier_cdf[1] = 1;
    for (unsigned tier = 1; tier < TIERS; tier++)
        g->tier_cdf[tier + 1] = g->tier_cdf[tier] + exp2(-(double)tier * (1 - config->popularity)) *
                                                        (1 - exp2(-config->popularity));
    const enum gnn_status status = build_degrees(g, err);
    if (status == GNN_OK)
        *out = g;
    else
        gnn_procedural_close(g);
    return status;
}

void gnn_procedural_close(struct gnn_procedural *graph)
{
    if (graph == NULL)
        return;
    free(graph->degree_cdf);
    free(graph);
}
