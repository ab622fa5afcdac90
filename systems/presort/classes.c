#include "systems/presort/classes.h"

#include "harness/base/arena.h"
#include "harness/base/bitset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct presort_classes {
    struct gnn_world *world;
    struct presort_classes_config config;
    void *memory;
    uint16_t *loads;       /* (node_count) */
    uint64_t *sorted;      /* a set of nodes */
    uint64_t *from_sorted; /* of a row that is sorted: the loaded row before it is sorted on the cheapest way there */
    uint64_t *from_direct; /* likewise of a row that is direct */
};

/* ---- memory ---- */

static void carve(struct presort_classes *c, struct gnn_arena *arena)
{
    const uint64_t nodes = c->config.node_count, words = gnn_bitset_words(nodes);
    c->sorted = gnn_arena_take(arena, words * sizeof *c->sorted);
    c->from_sorted = gnn_arena_take(arena, words * sizeof *c->from_sorted);
    c->from_direct = gnn_arena_take(arena, words * sizeof *c->from_direct);
    c->loads = gnn_arena_take(arena, nodes * sizeof *c->loads);
}

uint64_t presort_classes_bytes(uint32_t node_count)
{
    struct presort_classes c = {.config.node_count = node_count};
    struct gnn_arena count = {0};
    carve(&c, &count);
    return count.used_bytes;
}

enum gnn_status presort_classes_open(struct gnn_world *world, const struct presort_classes_config *config,
                                     struct presort_classes **out, struct gnn_err *err)
{
    assert(config->costs.row_bytes > 0);
    assert(config->costs.random_bytes >= config->costs.row_bytes);
    struct presort_classes *c;
    GNN_NEW(c, 1, err, "presort's classes");
    *out = c;
    c->world = world;
    c->config = *config;
    struct gnn_arena arena = {.size_bytes = presort_classes_bytes(config->node_count)};
    GNN_TRY(gnn_mem_alloc(world, "presort classes", arena.size_bytes, GNN_MEM_PLAIN, &c->memory, err));
    arena.memory = c->memory;
    carve(c, &arena);
    return GNN_OK;
}

void presort_classes_close(struct presort_classes *c)
{
    if (c == NULL)
        return;
    gnn_mem_free(c->world, c->memory);
    free(c);
}

void presort_classes_begin(struct presort_classes *c)
{
    memset(c->loads, 0, c->config.node_count * sizeof *c->loads);
    memset(c->sorted, 0, gnn_bitset_words(c->config.node_count) * sizeof *c->sorted);
}

void presort_classes_add(struct presort_classes *c, gnn_node row)
{
    assert(row < c->config.node_count);
    assert(c->loads[row] < UINT16_MAX);
    c->loads[row]++;
}

/* ---- the two sweeps ---- */

/* Rows that are swept together: the packed ones, each at its place, or the others, each at its node. */
enum sweep { PACKED, APART };

static uint32_t places_of(const struct presort_classes *c, enum sweep sweep)
{
    if (sweep == APART)
        return c->config.node_count;
    return c->config.packed != NULL ? c->config.packed->places : 0;
}

static bool is_packed(const struct presort_classes *c, gnn_node row)
{
    return c->config.packed != NULL && gnn_bitset_has(c->config.packed->members, row);
}

bool presort_classes_packs(const struct presort_classes *c, gnn_node row)
{
    return !gnn_bitset_has(c->config.packed->held, row);
}

/* The loaded row at a place of a sweep; GNN_NODE_NONE: none is. */
static gnn_node loaded_at(const struct presort_classes *c, enum sweep sweep, uint32_t place)
{
    const gnn_node row = sweep == PACKED ? c->config.packed->rows[place] : place;
    if (row == GNN_NODE_NONE || c->loads[row] == 0 || (sweep == APART && is_packed(c, row)))
        return GNN_NODE_NONE;
    return row;
}

/* ---- the least cost ---- */

#define NO_PLACE UINT32_MAX

/* What a least cost is of: this hyperbatch, the next one, or both where this one packs what the next one reads. */
enum horizon { THIS, NEXT, BOTH_PACKED, HORIZONS };

/* Of a sweep's loaded rows so far, by the class of the last of them. */
struct sums {
    uint64_t direct, sorted; /* the least costs that end so; UINT64_MAX: none does */
    uint64_t all_sorted;     /* every row sorted */
    uint32_t last;           /* place of a loaded row; NO_PLACE: none yet */
};

static uint64_t plus(uint64_t cost, uint64_t more)
{
    return gnn_add_bytes(cost, more);
}

/* What the sweep adds for the row at `place` when the loaded row before it is in the sweep, too. */
static uint64_t reach(const struct presort_costs *costs, uint32_t before, uint32_t place)
{
    if (before == NO_PLACE)
        return costs->random_bytes;
    return gnn_min_u64((uint64_t)(place - before) * costs->row_bytes, costs->random_bytes);
}

static void set(uint64_t *words, gnn_node row, bool member)
{
    if (member)
        (void)gnn_bitset_add(words, row);
    else
        gnn_bitset_remove(words, row);
}

/* Adds a row in both classes; where `notes`, notes how each is reached at the least cost. */
static void add_row(struct presort_classes *c, gnn_node row, uint32_t place, enum horizon horizon, bool notes,
                    struct sums *sums)
{
    const struct presort_costs *const costs = &c->config.costs;
    const bool twice = horizon == BOTH_PACKED && presort_classes_packs(c, row);
    const uint64_t loads = twice ? UINT64_C(2) * c->loads[row] : c->loads[row];
    const uint64_t direct = loads * costs->random_bytes;
    const uint64_t written = (loads + (twice ? 1 : 0)) * costs->sorted_bytes;
    const uint64_t linked = reach(costs, sums->last, place);
    const uint64_t after_sorted = plus(sums->sorted, linked), after_direct = plus(sums->direct, costs->random_bytes);
    if (notes) {
        set(c->from_direct, row, sums->sorted < sums->direct);
        set(c->from_sorted, row, after_sorted < after_direct);
    }
    sums->direct = plus(gnn_min_u64(sums->sorted, sums->direct), direct);
    sums->sorted = plus(gnn_min_u64(after_sorted, after_direct), written);
    sums->all_sorted = plus(sums->all_sorted, plus(linked, written));
    sums->last = place;
}

/* Goes back from the last loaded row along the cheapest way, unless every row is of one class. */
static void mark_sorted(struct presort_classes *c, enum sweep sweep, bool sorted)
{
    for (uint32_t place = places_of(c, sweep); place-- > 0;) {
        const gnn_node row = loaded_at(c, sweep, place);
        if (row == GNN_NODE_NONE)
            continue;
        if (c->config.choice != PRESORT_AUTO)
            sorted = c->config.choice == PRESORT_SORTED;
        if (sorted)
            (void)gnn_bitset_add(c->sorted, row);
        sorted = gnn_bitset_has(sorted ? c->from_sorted : c->from_direct, row);
    }
}

/* Sums a sweep's rows over the horizons from first to last, and notes the ways of the first. */
static void add_rows(struct presort_classes *c, enum sweep sweep, enum horizon first, enum horizon last,
                     struct sums *sums)
{
    const uint32_t places = places_of(c, sweep);
    gnn_charge(c->world, GNN_WORK_TABLE_ENTRY, places);
    for (enum horizon h = first; h <= last; h++)
        sums[h] = (struct sums){.sorted = UINT64_MAX, .last = NO_PLACE};
    for (uint32_t place = 0; place < places; place++) {
        const gnn_node row = loaded_at(c, sweep, place);
        for (enum horizon h = first; h <= last && row != GNN_NODE_NONE; h++)
            if (h != NEXT || presort_classes_packs(c, row))
                add_row(c, row, place, h, h == first, &sums[h]);
    }
}

static uint64_t least(const struct presort_classes *c, const struct sums *sums)
{
    return c->config.choice == PRESORT_SORTED ? sums->all_sorted : gnn_min_u64(sums->sorted, sums->direct);
}

static void choose_packed(struct presort_classes *c)
{
    struct sums sums[HORIZONS];
    add_rows(c, PACKED, THIS, THIS, sums);
    mark_sorted(c, PACKED, sums[THIS].sorted < sums[THIS].direct);
}

/* Returns whether this hyperbatch and the next one cost less where this one packs. */
static bool choose_apart(struct presort_classes *c)
{
    const bool grows = c->config.packed != NULL && c->config.packed->grows;
    struct sums sums[HORIZONS];
    add_rows(c, APART, THIS, grows ? BOTH_PACKED : THIS, sums);
    const bool packs = grows && least(c, &sums[BOTH_PACKED]) < plus(least(c, &sums[THIS]), least(c, &sums[NEXT]));
    if (packs)
        add_rows(c, APART, BOTH_PACKED, BOTH_PACKED, sums);
    const struct sums *const chosen = &sums[packs ? BOTH_PACKED : THIS];
    mark_sorted(c, APART, chosen->sorted < chosen->direct);
    return packs;
}

/* Takes rows out of a sweep from where on the loads of both pass the limit, and adds what is left and what it costs.
 * Returns whether the limit was passed. */
static bool settle(struct presort_classes *c, enum sweep sweep, uint64_t loads_max, bool full,
                   struct presort_decision *out)
{
    const struct presort_costs *const costs = &c->config.costs;
    uint32_t before = NO_PLACE, last = NO_PLACE; /* in the sweep, and in that of all rows */
    for (uint32_t place = 0; place < places_of(c, sweep); place++) {
        const gnn_node row = loaded_at(c, sweep, place);
        if (row == GNN_NODE_NONE)
            continue;
        const uint64_t loads = c->loads[row];
        out->loads += loads;
        out->sweeps_bytes += reach(costs, last, place) + loads * costs->sorted_bytes;
        last = place;
        full = full || (gnn_bitset_has(c->sorted, row) && out->sorted_loads + loads > loads_max);
        if (full)
            gnn_bitset_remove(c->sorted, row);
        if (!gnn_bitset_has(c->sorted, row)) {
            out->cost_bytes += loads * costs->random_bytes;
            continue;
        }
        out->cost_bytes += reach(costs, before, place) + loads * costs->sorted_bytes;
        out->sorted_loads += loads;
        out->sorted_rows++;
        before = place;
    }
    return full;
}

void presort_classes_decide(struct presort_classes *c, uint64_t loads_max, struct presort_decision *out)
{
    choose_packed(c);
    *out = (struct presort_decision){.packs = choose_apart(c)};
    const bool full = settle(c, PACKED, loads_max, false, out);
    (void)settle(c, APART, loads_max, full, out);
    out->direct_bytes = out->loads * c->config.costs.random_bytes;
}

bool presort_classes_sorted(const struct presort_classes *c, gnn_node row)
{
    return gnn_bitset_has(c->sorted, row);
}

gnn_node presort_classes_next(const struct presort_classes *c, gnn_node row)
{
    const struct presort_packed *const packed = c->config.packed;
    for (uint64_t at = row; at < c->config.node_count; at = (at / 64 + 1) * 64) {
        const uint64_t word = c->sorted[at / 64] & ~(packed != NULL ? packed->members[at / 64] : 0);
        const uint64_t rest = word >> (at % 64);
        if (rest != 0)
            return (gnn_node)(at + (uint64_t)__builtin_ctzll(rest));
    }
    return c->config.node_count;
}

uint32_t presort_classes_next_packed(const struct presort_classes *c, uint32_t place)
{
    const struct presort_packed *const packed = c->config.packed;
    while (place < packed->places &&
           (packed->rows[place] == GNN_NODE_NONE || !gnn_bitset_has(c->sorted, packed->rows[place])))
        place++;
    return place;
}
