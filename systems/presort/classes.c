/* SPDX-License-Identifier: MIT */
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
    uint16_t *table;       /* (node_count) UINT16_MAX less the loads of a row that is not decided yet */
    uint64_t *rows;        /* a set of nodes: loaded rows, and once they are decided those that are sorted */
    uint64_t *from_sorted; /* of a row that is sorted: the loaded row before it is sorted on the cheapest way there */
    uint64_t *from_direct; /* likewise of a row that is direct */
};

/* ---- memory ---- */

static void carve(struct presort_classes *c, struct gnn_arena *arena)
{
    const uint64_t words = gnn_bitset_words(c->config.node_count);
    c->rows = gnn_arena_take(arena, words * sizeof *c->rows);
    c->from_sorted = gnn_arena_take(arena, words * sizeof *c->from_sorted);
    c->from_direct = gnn_arena_take(arena, words * sizeof *c->from_direct);
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
    c->table = config->table;
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
    memset(c->rows, 0, gnn_bitset_words(c->config.node_count) * sizeof *c->rows);
}

void presort_classes_add(struct presort_classes *c, gnn_node row)
{
    assert(row < c->config.node_count);
    assert(c->table[row] > 0);
    c->table[row]--;
    (void)gnn_bitset_add(c->rows, row);
}

static uint64_t loads_of(const struct presort_classes *c, gnn_node row)
{
    return UINT64_C(0) + UINT16_MAX - c->table[row];
}

/* ---- the two sweeps ---- */

/* Rows that are swept together: the packed ones, each at its place, or the others, each at its node. */
enum sweep { PACKED, APART };

#define NO_PLACE UINT32_MAX

static uint32_t places_of(const struct presort_classes *c, enum sweep sweep)
{
    return sweep == APART ? c->config.node_count : c->config.packed->places;
}

static gnn_node row_at(const struct presort_classes *c, enum sweep sweep, uint32_t place)
{
    return sweep == APART ? place : c->config.packed->rows[place];
}

bool presort_classes_packs(const struct presort_classes *c, gnn_node row)
{
    return !gnn_bitset_has(c->config.packed->held, row);
}

bool presort_classes_sorted(const struct presort_classes *c, gnn_node row)
{
    return gnn_bitset_has(c->rows, row);
}

/* The rows of a word of the set that are not packed. */
static uint64_t apart_of(const struct presort_classes *c, uint64_t word)
{
    return c->rows[word] & ~(c->config.packed != NULL ? c->config.packed->members[word] : 0);
}

gnn_node presort_classes_next(const struct presort_classes *c, gnn_node row)
{
    for (uint64_t at = row; at < c->config.node_count; at = (at / 64 + 1) * 64) {
        const uint64_t rest = apart_of(c, at / 64) >> (at % 64);
        if (rest != 0)
            return (gnn_node)(at + (uint64_t)__builtin_ctzll(rest));
    }
    return c->config.node_count;
}

static bool has_place(const struct presort_classes *c, uint32_t place)
{
    const gnn_node row = c->config.packed->rows[place];
    return row != GNN_NODE_NONE && gnn_bitset_has(c->rows, row);
}

uint32_t presort_classes_next_packed(const struct presort_classes *c, uint32_t place)
{
    while (place < c->config.packed->places && !has_place(c, place))
        place++;
    return place;
}

/* The first place of the set from `place` on; places_of(): there is none. */
static uint32_t next_place(const struct presort_classes *c, enum sweep sweep, uint32_t place)
{
    return sweep == APART ? presort_classes_next(c, place) : presort_classes_next_packed(c, place);
}

/* The last place of the set before `place`; NO_PLACE: there is none. */
static uint32_t last_place(const struct presort_classes *c, enum sweep sweep, uint32_t place)
{
    if (sweep == PACKED) {
        while (place > 0 && !has_place(c, place - 1))
            place--;
        return place > 0 ? place - 1 : NO_PLACE;
    }
    for (uint64_t end = place; end > 0; end = (end - 1) / 64 * 64) {
        const uint64_t word = (end - 1) / 64, rest = apart_of(c, word) << (63 - (end - 1) % 64);
        if (rest != 0)
            return (uint32_t)(end - 1 - (uint64_t)__builtin_clzll(rest));
    }
    return NO_PLACE;
}

/* Charges a pass over a sweep in which so many rows were found: the set's words come in order, what is known of a row
 * lies anywhere, and so does the row of a place. */
static void charge_pass(const struct presort_classes *c, enum sweep sweep, uint64_t rows)
{
    const uint64_t sets = c->config.packed != NULL ? 2 : 1;
    const uint64_t bytes = sets * gnn_bitset_words(c->config.node_count) * sizeof *c->rows;
    gnn_charge(c->world, GNN_WORK_COPIED_BYTE, sweep == APART ? bytes : 0);
    gnn_charge(c->world, GNN_WORK_TABLE_ENTRY, sweep == APART ? rows : places_of(c, sweep));
}

/* ---- the least cost ---- */

/* What a least cost is of: this hyperbatch, the next one, or both where this one packs what the next one reads. */
enum horizon { THIS, NEXT, BOTH_PACKED, HORIZONS };

/* Of a sweep's loaded rows so far, by the class of the last of them. */
struct sums {
    uint64_t direct, sorted; /* the least costs that end so; UINT64_MAX: none does */
    uint64_t all_sorted;     /* every row sorted */
    uint64_t loads, rows;
    uint32_t last; /* place of a loaded row; NO_PLACE: none yet */
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
    const uint64_t loads = (twice ? 2 : 1) * loads_of(c, row);
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
    sums->loads += loads_of(c, row);
    sums->rows++;
    sums->last = place;
}

/* Goes back from the last loaded row along the cheapest way, unless every row is of one class, and takes the direct
 * rows out of the set. */
static void keep_sorted(struct presort_classes *c, enum sweep sweep, bool sorted)
{
    uint32_t place = places_of(c, sweep);
    while ((place = last_place(c, sweep, place)) != NO_PLACE) {
        const gnn_node row = row_at(c, sweep, place);
        if (c->config.choice != PRESORT_AUTO)
            sorted = c->config.choice == PRESORT_SORTED;
        if (!sorted) {
            gnn_bitset_remove(c->rows, row);
            c->table[row] = UINT16_MAX;
        }
        sorted = gnn_bitset_has(sorted ? c->from_sorted : c->from_direct, row);
    }
}

/* Sums a sweep's rows over the horizons from first to last, and notes the ways of the first. */
static void add_rows(struct presort_classes *c, enum sweep sweep, enum horizon first, enum horizon last,
                     struct sums *sums)
{
    const uint32_t places = places_of(c, sweep);
    for (enum horizon h = first; h <= last; h++)
        sums[h] = (struct sums){.sorted = UINT64_MAX, .last = NO_PLACE};
    for (uint32_t place = next_place(c, sweep, 0); place < places; place = next_place(c, sweep, place + 1))
        for (enum horizon h = first; h <= last; h++)
            if (h != NEXT || presort_classes_packs(c, row_at(c, sweep, place)))
                add_row(c, row_at(c, sweep, place), place, h, h == first, &sums[h]);
    charge_pass(c, sweep, sums[first].rows);
}

static uint64_t least(const struct presort_classes *c, const struct sums *sums)
{
    return c->config.choice == PRESORT_SORTED ? sums->all_sorted : gnn_min_u64(sums->sorted, sums->direct);
}

/* Decides for the rows of a sweep by the sums that the chosen way ends in, and adds what all of them would cost. */
static void choose(struct presort_classes *c, enum sweep sweep, const struct sums *chosen, const struct sums *this,
                   struct presort_decision *out)
{
    keep_sorted(c, sweep, chosen->sorted < chosen->direct);
    charge_pass(c, sweep, this->rows);
    out->loads += this->loads;
    out->cost_bytes += gnn_min_u64(this->sorted, this->direct);
    out->sweeps_bytes += this->all_sorted;
}

static void choose_packed(struct presort_classes *c, struct presort_decision *out)
{
    struct sums sums[HORIZONS];
    add_rows(c, PACKED, THIS, THIS, sums);
    choose(c, PACKED, &sums[THIS], &sums[THIS], out);
}

/* Packs where this hyperbatch and the next one cost less for it. */
static void choose_apart(struct presort_classes *c, struct presort_decision *out)
{
    const bool grows = c->config.packed != NULL && c->config.packed->grows;
    struct sums sums[HORIZONS];
    add_rows(c, APART, THIS, grows ? BOTH_PACKED : THIS, sums);
    out->packs = grows && least(c, &sums[BOTH_PACKED]) < plus(least(c, &sums[THIS]), least(c, &sums[NEXT]));
    if (out->packs)
        add_rows(c, APART, BOTH_PACKED, BOTH_PACKED, sums);
    choose(c, APART, &sums[out->packs ? BOTH_PACKED : THIS], &sums[THIS], out);
}

/* Takes rows out of a sweep from where on the loads of both pass the limit, and adds what is left and what it costs.
 * Returns whether the limit was passed. */
static bool settle(struct presort_classes *c, enum sweep sweep, uint64_t loads_max, bool full,
                   struct presort_decision *out)
{
    const struct presort_costs *const costs = &c->config.costs;
    const uint32_t places = places_of(c, sweep);
    uint32_t before = NO_PLACE;
    uint64_t rows = 0;
    for (uint32_t place = next_place(c, sweep, 0); place < places; place = next_place(c, sweep, place + 1)) {
        const gnn_node row = row_at(c, sweep, place);
        const uint64_t loads = loads_of(c, row);
        c->table[row] = UINT16_MAX;
        rows++;
        full = full || out->sorted_loads + loads > loads_max;
        if (full) {
            gnn_bitset_remove(c->rows, row);
            continue;
        }
        out->cost_bytes += reach(costs, before, place) + loads * costs->sorted_bytes;
        out->sorted_loads += loads;
        out->sorted_rows++;
        before = place;
    }
    charge_pass(c, sweep, rows);
    return full;
}

void presort_classes_decide(struct presort_classes *c, uint64_t loads_max, uint32_t gain, struct presort_decision *out)
{
    const bool packed = c->config.packed != NULL;
    assert(gain > 0);
    *out = (struct presort_decision){.loads = 0};
    if (packed)
        choose_packed(c, out);
    choose_apart(c, out);
    out->direct_bytes = out->loads * c->config.costs.random_bytes;
    const bool gains = c->config.choice != PRESORT_AUTO || out->direct_bytes / gain >= out->cost_bytes;
    out->cost_bytes = 0;
    const bool full = packed && settle(c, PACKED, gains ? loads_max : 0, false, out);
    (void)settle(c, APART, gains ? loads_max : 0, full, out);
    out->cost_bytes += (out->loads - out->sorted_loads) * c->config.costs.random_bytes;
}
