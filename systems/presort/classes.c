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

/* ---- the least cost ---- */

/* Of the loaded rows so far, by the class of the last of them. */
struct sums {
    uint64_t direct, sorted; /* the least costs that end so; UINT64_MAX: none does */
    uint64_t all_sorted;     /* every row sorted */
    gnn_node last;           /* loaded row; GNN_NODE_NONE: none yet */
};

static uint64_t plus(uint64_t cost, uint64_t more)
{
    return gnn_add_bytes(cost, more);
}

/* What the sweep adds for `row` when the loaded row before it is in the sweep, too. */
static uint64_t reach(const struct presort_costs *costs, gnn_node before, gnn_node row)
{
    if (before == GNN_NODE_NONE)
        return costs->random_bytes;
    return gnn_min_u64((uint64_t)(row - before) * costs->row_bytes, costs->random_bytes);
}

static void set(uint64_t *words, gnn_node row, bool member)
{
    if (member)
        (void)gnn_bitset_add(words, row);
    else
        gnn_bitset_remove(words, row);
}

/* Adds a row in both classes; notes how each is reached at the least cost. */
static void add_row(struct presort_classes *c, gnn_node row, struct sums *sums)
{
    const struct presort_costs *const costs = &c->config.costs;
    const uint64_t direct = c->loads[row] * costs->random_bytes, written = c->loads[row] * costs->sorted_bytes;
    const uint64_t linked = reach(costs, sums->last, row);
    const uint64_t after_sorted = plus(sums->sorted, linked), after_direct = plus(sums->direct, costs->random_bytes);
    set(c->from_direct, row, sums->sorted < sums->direct);
    set(c->from_sorted, row, after_sorted < after_direct);
    sums->direct = plus(gnn_min_u64(sums->sorted, sums->direct), direct);
    sums->sorted = plus(gnn_min_u64(after_sorted, after_direct), written);
    sums->all_sorted = plus(sums->all_sorted, plus(linked, written));
    sums->last = row;
}

/* Goes back from the last loaded row along the cheapest way. */
static void mark_sorted(struct presort_classes *c, bool sorted)
{
    for (gnn_node row = c->config.node_count; row-- > 0;) {
        if (c->loads[row] == 0)
            continue;
        if (sorted)
            (void)gnn_bitset_add(c->sorted, row);
        sorted = gnn_bitset_has(sorted ? c->from_sorted : c->from_direct, row);
    }
}

static void mark_all(struct presort_classes *c)
{
    for (gnn_node row = 0; row < c->config.node_count; row++)
        if (c->loads[row] > 0)
            (void)gnn_bitset_add(c->sorted, row);
}

/* Takes rows out of the sweep from where on their loads pass the limit, and counts what is left and what it costs. */
static void settle(struct presort_classes *c, uint64_t loads_max, struct presort_decision *out)
{
    const struct presort_costs *const costs = &c->config.costs;
    gnn_node before = GNN_NODE_NONE;
    bool full = false;
    for (gnn_node row = 0; row < c->config.node_count; row++) {
        const uint64_t loads = c->loads[row];
        out->loads += loads;
        full = full || (gnn_bitset_has(c->sorted, row) && out->sorted_loads + loads > loads_max);
        if (full)
            gnn_bitset_remove(c->sorted, row);
        if (!gnn_bitset_has(c->sorted, row)) {
            out->cost_bytes += loads * costs->random_bytes;
            continue;
        }
        out->cost_bytes += reach(costs, before, row) + loads * costs->sorted_bytes;
        out->sorted_loads += loads;
        out->sorted_rows++;
        before = row;
    }
    out->direct_bytes = out->loads * costs->random_bytes;
}

void presort_classes_decide(struct presort_classes *c, uint64_t loads_max, struct presort_decision *out)
{
    struct sums sums = {.sorted = UINT64_MAX, .last = GNN_NODE_NONE};
    *out = (struct presort_decision){.loads = 0};
    gnn_charge(c->world, GNN_WORK_TABLE_ENTRY, c->config.node_count);
    for (gnn_node row = 0; row < c->config.node_count; row++)
        if (c->loads[row] > 0)
            add_row(c, row, &sums);
    if (c->config.choice == PRESORT_AUTO)
        mark_sorted(c, sums.sorted < sums.direct);
    else if (c->config.choice == PRESORT_SORTED)
        mark_all(c);
    settle(c, loads_max, out);
    out->sweeps_bytes = sums.all_sorted;
}

bool presort_classes_sorted(const struct presort_classes *c, gnn_node row)
{
    return gnn_bitset_has(c->sorted, row);
}

gnn_node presort_classes_next(const struct presort_classes *c, gnn_node row)
{
    for (uint64_t at = row; at < c->config.node_count; at = (at / 64 + 1) * 64) {
        const uint64_t rest = c->sorted[at / 64] >> (at % 64);
        if (rest != 0)
            return (gnn_node)(at + (uint64_t)__builtin_ctzll(rest));
    }
    return c->config.node_count;
}
