/* SPDX-License-Identifier: MIT */
#include "harness/graph/reach.h"

#include "harness/base/rng.h"
#include "harness/graph/class_groups.h"
#include "harness/graph/community.h"
#include "harness/graph/mutual.h"
#include "harness/graph/node_order.h"
#include "harness/graph/permute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    RUN = 4096,     /* least members of a run, of a class that has so many */
    CELL_BITS = 10, /* of the table of popularity: cells of equal weight */
    CELLS = 1 << CELL_BITS,
    EXACT_RANKS = 64, /* ranks below it are drawn with their order among the runs: the hubs */
    PRIMES = 8,
    LONGEST = 4096, /* list, or 8 means */
};

/* Above 2 RUN, so that none divides a run's length. */
static const uint32_t primes[PRIMES] = {1000003, 7368787, 15485863, 32452843, 49979687, 67867967, 86028121, 104395301};
/* Above the number of runs of any class: orders them. */
static const uint64_t run_prime = 2147483647;

/* The members of a class. The first `longer` runs have length + 1 of them, the others length. */
struct reach_class {
    uint32_t members, runs, length, longer;
    uint32_t turn;          /* of the runs' order */
    uint32_t run_step;      /* run_prime mod runs */
    uint32_t run_back;      /* its inverse */
    uint32_t prime;         /* index of the map that gives popularity */
    uint32_t step[2];       /* it, mod length and length + 1 */
    uint32_t back[2];       /* their inverses */
    uint32_t other_step[2]; /* another one, for degrees that do not go with it */
    uint64_t magic[2];      /* division by length and length + 1: 2^64 over it, rounded up */
};

struct gnn_reach {
    uint32_t count;
    struct gnn_places places;
    uint64_t hub_key, degree_key, split_key;
    struct gnn_class_groups groups;
    struct reach_class *classes;           /* (groups.count) */
    uint32_t list_upto[GNN_MIXING_GROUPS]; /* lengths of lists, by group; the last one's is UINT32_MAX */
    /* Quantile below which members have the first i / CELLS of the weight in such lists. */
    double rank_at[GNN_MIXING_GROUPS][CELLS + 1];
    uint32_t coupled_24bit; /* of 2^24: members whose degree goes with their popularity */
    bool reversed;          /* ... the other way round */
    uint32_t split_count;   /* members that are in a split */
    uint32_t train_count;   /* members whose lists are train_lists'; 0: none */
    double edges;
    struct gnn_degree_law lists, train_lists;
    struct gnn_mutual *mutual;       /* NULL: lists are drawn by popularity */
    struct gnn_community *community; /* NULL: none */
    uint32_t community_count;        /* training nodes in it */
    uint32_t community_24bit;        /* of 2^24: entries of their lists that are drawn from it */
};

/* ---- members ---- */

gnn_node gnn_reach_node(const struct gnn_reach *r, uint32_t index)
{
    return gnn_places_node(&r->places, index);
}

uint32_t gnn_reach_index(const struct gnn_reach *r, gnn_node node)
{
    const uint32_t index = gnn_places_interval(&r->places, node);
    return index < r->count && gnn_reach_node(r, index) == node ? index : GNN_NODE_NONE;
}

uint32_t gnn_reach_from(const struct gnn_reach *r, gnn_node node)
{
    const uint32_t index = gnn_places_interval(&r->places, node);
    return index < r->count && gnn_reach_node(r, index) < node ? index + 1 : index;
}

uint32_t gnn_reach_count(const struct gnn_reach *r)
{
    return r->count;
}

/* The number of a member in the order that splits are cut in, which is that of mutual lists. */
static uint32_t split_place(const struct gnn_reach *r, uint32_t index)
{
    return gnn_permute_back(r->split_key, r->count, index);
}

uint32_t gnn_reach_class(const struct gnn_reach *r, uint32_t index)
{
    if (r->mutual != NULL)
        return gnn_mutual_class(r->mutual, split_place(r, index));
    return gnn_class_of(&r->groups, index);
}

/* ---- runs ---- */

static inline uint32_t run_start(const struct reach_class *c, uint32_t run)
{
    return run * c->length + gnn_min_u32(run, c->longer);
}

static inline bool is_longer(const struct reach_class *c, uint32_t run)
{
    return run < c->longer;
}

/* product mod the length of such a run: the product of two numbers below it has 32 bits. Exact for those (Lemire, Kaser
 * and Kurz 2019, "Faster remainder by direct computation"). */
static inline uint32_t mod_length(const struct reach_class *c, bool longer, uint32_t product)
{
    __extension__ typedef unsigned __int128 wide;
    const uint32_t quotient = (uint32_t)(((wide)c->magic[longer] * product) >> 64);
    return product - quotient * (c->length + longer);
}

static inline uint32_t run_of(const struct reach_class *c, uint32_t member)
{
    const uint32_t in_longer = c->longer * (c->length + 1);
    return member < in_longer ? member / (c->length + 1) : c->longer + (member - in_longer) / c->length;
}

/* Where ranks begin in a run; `map` tells the two maps apart. */
static inline uint32_t offset_of(const struct gnn_reach *r, uint32_t class, uint32_t run, uint32_t map, uint32_t length)
{
    const uint64_t key = gnn_splitmix64_at(r->hub_key + map, (uint64_t) class << 32 | run);
    return gnn_below32((uint32_t)(key >> 32), length);
}

static inline uint32_t order_of_run(const struct reach_class *c, uint32_t run)
{
    return (uint32_t)(((uint64_t)c->run_step * run + c->turn) % c->runs);
}

static inline uint32_t run_with_order(const struct reach_class *c, uint32_t order)
{
    return (uint32_t)((uint64_t)c->run_back * (order + c->runs - c->turn) % c->runs);
}

/* ---- degrees ---- */

/* Quantile of a member in the falling order of degrees. */
static double degree_rank(const struct gnn_reach *r, uint32_t index)
{
    const uint32_t class = gnn_reach_class(r, index), member = gnn_class_group(&r->groups, index);
    const struct reach_class *const c = &r->classes[class];
    assert(member < c->members);
    const uint32_t run = run_of(c, member), place = member - run_start(c, run);
    const bool longer = is_longer(c, run);
    const uint32_t length = c->length + longer;
    const bool coupled = (gnn_splitmix64_at(r->degree_key, index) & 0xffffff) < r->coupled_24bit;
    const uint64_t step = coupled ? c->step[longer] : c->other_step[longer];
    const uint32_t rank = (uint32_t)((step * place + offset_of(r, class, run, !coupled, length)) % length);
    const double falling = (rank + (order_of_run(c, run) + 0.5) / c->runs) / length;
    return coupled && r->reversed ? 1 - falling : falling;
}

bool gnn_reach_is_split(const struct gnn_reach *r, uint32_t index)
{
    return split_place(r, index) < r->split_count;
}

static inline bool is_train(const struct gnn_reach *r, uint32_t index)
{
    return r->train_count > 0 && split_place(r, index) < r->train_count;
}

uint32_t gnn_reach_degree(const struct gnn_reach *r, uint32_t index)
{
    if (r->mutual != NULL)
        return gnn_mutual_degree(r->mutual, split_place(r, index));
    const double rising = 1 - degree_rank(r, index);
    const double scaled = fmin(fmax(rising * 0x1p32, 0), 0x1p32 - 1);
    return gnn_degree_at(is_train(r, index) ? &r->train_lists : &r->lists, (uint32_t)scaled);
}

uint32_t gnn_reach_degree_max(const struct gnn_reach *r)
{
    return gnn_max_u32(r->lists.max, r->train_lists.max);
}

double gnn_reach_edges(const struct gnn_reach *r)
{
    return r->edges;
}

/* ---- sources ---- */

static inline double draw_rank(const struct gnn_reach *r, uint32_t degree, uint32_t bits)
{
    uint32_t group = 0;
    while (degree > r->list_upto[group])
        group++;
    const double *const rank_at = r->rank_at[group];
    const uint32_t cell = bits >> (32 - CELL_BITS);
    const double part = (bits & ((1u << (32 - CELL_BITS)) - 1)) * (1.0 / (1u << (32 - CELL_BITS)));
    return rank_at[cell] + part * (rank_at[cell + 1] - rank_at[cell]);
}

uint32_t gnn_reach_source(const struct gnn_reach *r, uint32_t own, uint32_t class, uint32_t degree, double place,
                          uint32_t bits)
{
    const struct reach_class *const c = &r->classes[class];
    const double rank = draw_rank(r, degree, bits), in_run = rank * c->length;
    assert(rank < 1);
    const uint32_t run = in_run < EXACT_RANKS ? run_with_order(c, (uint32_t)((in_run - (uint32_t)in_run) * c->runs))
                                              : gnn_min_u32((uint32_t)(place * c->runs), c->runs - 1);
    const bool longer = is_longer(c, run);
    const uint32_t length = c->length + longer;
    const uint32_t turned = (uint32_t)(rank * length) + length - offset_of(r, class, run, 0, length);
    const uint32_t at = mod_length(c, longer, c->back[longer] * (turned < length ? turned : turned - length));
    uint32_t member = run_start(c, run) + at;
    uint64_t index = gnn_class_member(&r->groups, class, member);
    if (index == own && c->members > 1) { /* step aside */
        member = member + 1 < c->members ? member + 1 : 0;
        index = gnn_class_member(&r->groups, class, member);
    } else if (index == own) {
        index = own > 0 ? own - 1 : 1;
    }
    assert(index < r->count);
    return (uint32_t)index;
}

uint32_t gnn_reach_community(const struct gnn_reach *r, uint32_t index)
{
    return r->community != NULL && split_place(r, index) < r->community_count ? r->community_24bit : 0;
}

uint32_t gnn_reach_train_source(const struct gnn_reach *r, uint32_t own, uint32_t class, uint32_t bits)
{
    return gnn_community_draw(r->community, class, bits, own);
}

bool gnn_reach_is_mutual(const struct gnn_reach *r)
{
    return r->mutual != NULL;
}

uint32_t gnn_reach_mutual(const struct gnn_reach *r, uint32_t index, uint32_t position)
{
    const uint32_t member = gnn_mutual_neighbour(r->mutual, split_place(r, index), position);
    return gnn_permute(r->split_key, r->count, member);
}

/* ---- open and close ---- */

/* The inverse of a modulo m, which share no factor: the extended Euclid. 0 for m = 1. */
static uint32_t inverse_mod(uint64_t a, uint64_t m)
{
    int64_t t = 0, next_t = 1, rest = (int64_t)m, next_rest = (int64_t)(a % m);
    while (next_rest != 0) {
        const int64_t quotient = rest / next_rest;
        const int64_t t_after = t - quotient * next_t, rest_after = rest - quotient * next_rest;
        t = next_t;
        next_t = t_after;
        rest = next_rest;
        next_rest = rest_after;
    }
    return (uint32_t)(t < 0 ? t + (int64_t)m : t);
}

static struct reach_class class_of(const struct gnn_reach *r, uint32_t class)
{
    const uint32_t whole = r->count / r->groups.count;
    struct reach_class c = {.members = whole};
    c.members += gnn_class_member(&r->groups, class, whole) < r->count;
    c.runs = gnn_max_u32(c.members / RUN, 1);
    c.length = c.members / c.runs;
    assert(c.length < 2 * RUN); /* products of two positions have 32 bits */
    c.longer = c.members % c.runs;
    c.turn = gnn_below32((uint32_t)(gnn_splitmix64_at(r->hub_key + 2, class) >> 32), c.runs);
    c.run_step = (uint32_t)(run_prime % c.runs);
    c.run_back = inverse_mod(run_prime, c.runs);
    for (uint32_t longer = 0; longer < 2; longer++) {
        const uint32_t length = c.length + longer, prime = primes[class % PRIMES];
        c.magic[longer] = UINT64_MAX / length + 1;
        c.step[longer] = prime % length;
        c.back[longer] = inverse_mod(prime, length);
        c.other_step[longer] = primes[(class + 3) % PRIMES] % length;
    }
    return c;
}

static enum gnn_status build_classes(struct gnn_reach *r, struct gnn_err *err)
{
    if (r->count / 2 < r->groups.count)
        return gnn_fail(err, GNN_EUSAGE,
                        "a reach of %" PRIu32 " nodes is too small for %" PRIu32 " classes: choose a larger scale",
                        r->count, r->groups.count);
    GNN_NEW(r->classes, r->groups.count, err, "table of %" PRIu32 " classes", r->groups.count);
    for (uint32_t class = 0; class < r->groups.count; class ++)
        r->classes[class] = class_of(r, class);
    return GNN_OK;
}

/* The quantile up to which the first `weight` of (x + q)^-s lies. */
static double power_rank(double weight, double s, double q)
{
    if (fabs(s - 1) < 1e-9)
        return q * (pow((1 + q) / q, weight) - 1);
    const double low = s < 1 && q == 0 ? 0 : pow(q, 1 - s), high = pow(1 + q, 1 - s);
    return pow(low + weight * (high - low), 1 / (1 - s)) - q;
}

/* The same of a law that was read: mean weights by quantile. */
static double read_rank(const struct gnn_rank_law *law, double weight)
{
    const double all = gnn_rank_law_mean(law);
    double below = 0, from = 0;
    for (uint32_t i = 0; i < law->count; i++) {
        const double here = (law->upto[i] - from) * law->mean[i] / all;
        if (here > 0 && below + here >= weight)
            return from + (weight - below) / here * (law->upto[i] - from);
        below += here;
        from = law->upto[i];
    }
    return 1;
}

static void build_group_ranks(const struct gnn_procedural_config *config, const struct gnn_rank_law *read,
                              double *rank_at)
{
    for (uint32_t i = 0; i <= CELLS; i++) {
        const double weight = (double)i / CELLS;
        const double rank =
            read != NULL ? read_rank(read, weight) : power_rank(weight, config->popularity, config->reach.hub_shift);
        rank_at[i] = fmin(fmax(rank, 0), 1);
    }
    rank_at[0] = 0;
    rank_at[CELLS] = 1;
}

/* What lists of this group have of a law; all of it where they have nothing. */
static struct gnn_rank_law law_of_group(const struct gnn_rank_law *law, const struct gnn_mixing *mixing, uint32_t group)
{
    struct gnn_rank_law part = *law;
    for (uint32_t i = 0; i < law->count; i++)
        part.mean[i] *= mixing->share[group][i];
    return gnn_rank_law_mean(&part) > 0 ? part : *law;
}

static void build_ranks(struct gnn_reach *r, const struct gnn_procedural_config *config)
{
    const struct gnn_rank_law *const read = config->reach.popularity;
    const struct gnn_mixing *const mixing = config->reach.mixing;
    const uint32_t groups = read != NULL && mixing != NULL ? gnn_max_u32(mixing->groups, 1) : 1;
    assert(groups <= GNN_MIXING_GROUPS);
    for (uint32_t g = 0; g < groups; g++) {
        const struct gnn_rank_law part = groups > 1 ? law_of_group(read, mixing, g) : (struct gnn_rank_law){0};
        r->list_upto[g] = g + 1 < groups ? mixing->upto[g] : UINT32_MAX;
        build_group_ranks(config, groups > 1 ? &part : read, r->rank_at[g]);
    }
}

/* The longest list: far above any fan-out, and the same at every scale, so that what a fan-out draws is too. */
static uint32_t longest_list(const struct gnn_reach *r, double mean)
{
    return (uint32_t)fmin(fmin(fmax(LONGEST, 8 * mean), 1 << 20), r->count / 4.0);
}

static enum gnn_status build_lists(struct gnn_reach *r, const struct gnn_procedural_config *config, struct gnn_err *err)
{
    const struct gnn_reach_config *const c = &config->reach;
    const double mean = c->list_mean > 0 ? c->list_mean : config->mean_degree / (1 - c->empty);
    const bool own = c->train_mean > 0 || c->train_degrees != NULL;
    const struct gnn_degree_config lists = {.mean = mean,
                                            .exponent = config->degree_exponent,
                                            .empty = c->empty,
                                            .longest = longest_list(r, mean),
                                            .node_count = config->node_count,
                                            .read = c->degrees};
    const struct gnn_degree_config train = {.mean = c->train_mean,
                                            .exponent = config->degree_exponent,
                                            .empty = c->train_empty,
                                            .longest = longest_list(r, c->train_mean),
                                            .node_count = config->node_count,
                                            .read = c->train_degrees};
    GNN_TRY(gnn_degree_law_open(&lists, &r->lists, err));
    const double usual = c->degrees != NULL ? gnn_rank_law_mean(c->degrees) : mean * (1 - c->empty);
    r->train_count = own ? c->train_count : 0;
    r->edges = usual * (r->count - r->train_count);
    if (!own)
        return GNN_OK;
    GNN_TRY(gnn_degree_law_open(&train, &r->train_lists, err));
    const double theirs =
        c->train_degrees != NULL ? gnn_rank_law_mean(c->train_degrees) : c->train_mean * (1 - c->train_empty);
    r->edges += theirs * r->train_count;
    return GNN_OK;
}

static enum gnn_status open_mutual(struct gnn_reach *r, const struct gnn_procedural_config *config, struct gnn_err *err)
{
    const struct gnn_mutual_config mutual = {.seed = config->seed,
                                             .count = r->count,
                                             .train_count = r->train_count,
                                             .class_count = config->class_count,
                                             .homophily = config->homophily,
                                             .clique_share = config->reach.clique_share,
                                             .lists = &r->lists,
                                             .train_lists = &r->train_lists};
    return config->reach.mutual ? gnn_mutual_open(&mutual, &r->mutual, err) : GNN_OK;
}

static enum gnn_status gather_community(struct gnn_reach *r, struct gnn_err *err)
{
    struct gnn_community_node *nodes;
    GNN_NEW(nodes, (size_t)r->community_count + 1, err, "list of %" PRIu32 " training nodes", r->community_count);
    for (uint32_t i = 0; i < r->community_count; i++) {
        const uint32_t index = gnn_permute(r->split_key, r->count, i);
        nodes[i] = (struct gnn_community_node){.index = index, .class = gnn_reach_class(r, index)};
    }
    const enum gnn_status status = gnn_community_open(nodes, r->community_count, r->groups.count, &r->community, err);
    free(nodes);
    return status;
}

/* Entries that are drawn from all members name training nodes, too, as often as any other node. */
static enum gnn_status open_community(struct gnn_reach *r, const struct gnn_reach_config *c, struct gnn_err *err)
{
    const double by_chance = (double)c->train_count / r->count;
    if (c->train_share == 0)
        return GNN_OK;
    if (c->train_share < by_chance)
        return gnn_fail(err, GNN_EUSAGE,
                        "train_share %g: %g of the reachable set are training nodes, so lists name at least that share "
                        "of them; choose a larger share, or 0 for lists that prefer none",
                        c->train_share, by_chance);
    r->community_count = c->train_count;
    r->community_24bit = (uint32_t)((c->train_share - by_chance) / (1 - by_chance) * 0x1p24);
    return gather_community(r, err);
}

enum gnn_status gnn_reach_open(const struct gnn_procedural_config *config, struct gnn_reach **out, struct gnn_err *err)
{
    const struct gnn_reach_config *const c = &config->reach;
    struct gnn_reach *r;
    GNN_NEW(r, 1, err, "reach of a generated graph");
    r->count = gnn_max_u32((uint32_t)(c->share * config->node_count + 0.5), 1);
    r->count = gnn_min_u32(r->count, config->node_count);
    r->split_count = c->split_count;
    gnn_places_open(&c->order, config->node_count, r->count, gnn_rng_fork(config->seed, "reach.place"), &r->places);
    r->hub_key = gnn_rng_fork(config->seed, "reach.hub");
    r->degree_key = gnn_rng_fork(config->seed, "reach.degree");
    r->split_key = gnn_rng_fork(config->seed, "split");
    r->groups = gnn_class_groups_of(gnn_rng_fork(config->seed, "reach.class"), config->class_count);
    r->coupled_24bit = (uint32_t)(fabs(c->coupling) * 0x1p24);
    r->reversed = c->coupling < 0;
    build_ranks(r, config);
    enum gnn_status status = GNN_OK;
    if (c->split_count > r->count)
        status = gnn_fail(err, GNN_EUSAGE,
                          "%" PRIu32 " training, validation and test nodes do not fit into a reach of %" PRIu32,
                          c->split_count, r->count);
    GNN_NEXT(status, build_classes(r, err));
    GNN_NEXT(status, build_lists(r, config, err));
    GNN_NEXT(status, open_mutual(r, config, err));
    GNN_NEXT(status, open_community(r, c, err));
    return GNN_OPENED(status, r, out, gnn_reach_close);
}

void gnn_reach_close(struct gnn_reach *r)
{
    if (r == NULL)
        return;
    gnn_mutual_close(r->mutual);
    gnn_community_close(r->community);
    gnn_degree_law_close(&r->lists);
    gnn_degree_law_close(&r->train_lists);
    free(r->classes);
    free(r);
}
