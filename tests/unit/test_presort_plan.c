/* SPDX-License-Identifier: MIT */
/* presort's plan against exhaustive search: windows, replacement by window, classes (docs/invariants.md, presort: 2, 4,
 * 5, 7, 11). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "systems/presort/classes.h"
#include "systems/presort/windows.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 8, WINDOWS = 6, TRACES = 3000, ROWS = 200 };

static struct gnn_world *world;
static const uint64_t seed = 17;

static int open_world(void **state)
{
    const int failed = measured_world_open(state);
    world = *state;
    return failed;
}

/* ---- replacement ---- */

/* Windows as sets of bits, and as the lists that the replacement gets. */
struct trace {
    uint32_t set[WINDOWS];
    gnn_node rows[WINDOWS * NODES];
    uint32_t end[WINDOWS];
    struct presort_lists lists;
    uint32_t largest_pair; /* rows of two windows beside each other */
};

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

static void list_rows(struct trace *t, uint32_t windows)
{
    uint32_t at = 0;
    t->largest_pair = 0;
    for (uint32_t j = 0; j < windows; j++) {
        for (gnn_node v = 0; v < NODES; v++)
            if ((t->set[j] >> v & 1) != 0)
                t->rows[at++] = v;
        t->end[j] = at;
        const uint32_t pair = bits(t->set[j] | (j > 0 ? t->set[j - 1] : 0));
        t->largest_pair = pair > t->largest_pair ? pair : t->largest_pair;
    }
    t->lists = (struct presort_lists){t->rows, t->end, windows};
}

static void draw_trace(struct gnn_rng *rng, uint32_t windows, struct trace *t)
{
    for (uint32_t j = 0; j < windows; j++) {
        const uint32_t a = (uint32_t)gnn_rng_below(rng, 1 << NODES), b = (uint32_t)gnn_rng_below(rng, 1 << NODES);
        t->set[j] = (a & b) == 0 ? 1 : a & b;
    }
    list_rows(t, windows);
}

/* Least loads of windows j and on when `held` is in memory, over every choice of what stays. Both the window before
 * and the one that comes have their rows in memory at a time. */
static uint32_t least_loads(const struct trace *t, uint32_t j, uint32_t held, uint32_t slots, uint32_t *known)
{
    if (j == t->lists.windows)
        return 0;
    uint32_t *const best = &known[j << NODES | held];
    if (*best > 0)
        return *best - 1;
    const uint32_t needed = t->set[j] | (j > 0 ? t->set[j - 1] : 0), may = held | t->set[j];
    uint32_t least = UINT32_MAX;
    for (uint32_t kept = may;; kept = (kept - 1) & may) {
        if ((kept & needed) == needed && bits(kept) <= slots) {
            const uint32_t rest = least_loads(t, j + 1, kept, slots, known);
            least = rest < least ? rest : least;
        }
        if (kept == 0)
            break;
    }
    *best = least + bits(t->set[j] & ~held) + 1;
    return *best - 1;
}

static struct presort_belady *open_belady(uint32_t slots)
{
    const struct presort_belady_config config = {
        .node_count = NODES, .slots = slots, .windows_max = WINDOWS, .members_max = WINDOWS * NODES, .recalls = true};
    struct presort_belady *b;
    struct gnn_err err = {0};
    must(presort_belady_open(world, &config, &b, &err), &err);
    return b;
}

/* Runs the windows over a memory that is followed here; returns the loads. */
static uint32_t run_windows(struct presort_belady *b, const struct trace *t, uint32_t slots, uint32_t before,
                            gnn_node *memory)
{
    uint32_t sum = 0;
    presort_belady_begin(b, &t->lists);
    for (uint32_t j = 0; j < t->lists.windows; j++) {
        struct presort_load loads[NODES];
        const uint32_t count = presort_belady_window(b, j, loads);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(i == 0 || loads[i].row > loads[i - 1].row);
            assert_in_range(loads[i].slot, 0, slots - 1);
            assert_int_equal(t->set[j] >> loads[i].row & 1, 1);
            const gnn_node former = memory[loads[i].slot];
            assert_true(former == GNN_NODE_NONE || ((t->set[j] | before) >> former & 1) == 0); /* in neither window */
            memory[loads[i].slot] = loads[i].row;
        }
        uint32_t held = 0;
        for (uint32_t s = 0; s < slots; s++) {
            if (memory[s] == GNN_NODE_NONE)
                continue;
            assert_int_equal(held >> memory[s] & 1, 0); /* no row twice */
            held |= 1U << memory[s];
        }
        assert_int_equal(held & t->set[j], t->set[j]);
        assert_int_equal(held & before, before);
        for (gnn_node v = 0; v < NODES; v++)
            assert_int_equal(presort_belady_holds(b, v), held >> v & 1);
        before = t->set[j];
        sum += count;
    }
    return sum;
}

static void test_loads_are_the_fewest_there_can_be(void **state)
{
    (void)state;
    static uint32_t known[(WINDOWS + 1) << NODES];
    for (uint64_t trace = 0; trace < TRACES; trace++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed, trace));
        struct trace t;
        draw_trace(&rng, 1 + (uint32_t)gnn_rng_below(&rng, WINDOWS), &t);
        uint32_t more = UINT32_MAX;
        for (uint32_t slots = t.largest_pair; slots <= NODES; slots++) {
            gnn_node memory[NODES];
            memset(memory, 0xff, sizeof memory);
            memset(known, 0, sizeof known);
            struct presort_belady *const b = open_belady(slots);
            const uint32_t loads = run_windows(b, &t, slots, 0, memory);
            presort_belady_close(b);
            assert_int_equal(loads, least_loads(&t, 0, 0, slots, known));
            assert_true(loads <= more); /* more memory never loads more */
            more = loads;
        }
    }
}

static void test_memory_is_carried_over(void **state)
{
    (void)state;
    for (uint64_t trace = 0; trace < TRACES; trace++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed + 1, trace));
        struct trace t[3];
        uint32_t slots = 0, before = 0, seen = 0;
        for (int h = 0; h < 3; h++) {
            draw_trace(&rng, 1 + (uint32_t)gnn_rng_below(&rng, WINDOWS), &t[h]);
            const uint32_t last = h > 0 ? t[h - 1].set[t[h - 1].lists.windows - 1] : 0;
            const uint32_t joint = bits(last | t[h].set[0]);
            slots = slots > t[h].largest_pair ? slots : t[h].largest_pair;
            slots = slots > joint ? slots : joint;
        }
        slots += (uint32_t)gnn_rng_below(&rng, NODES - slots + 1);
        gnn_node memory[NODES];
        memset(memory, 0xff, sizeof memory);
        struct presort_belady *const b = open_belady(slots);
        for (int h = 0; h < 3; h++) {
            uint32_t used = 0;
            for (uint32_t j = 0; j < t[h].lists.windows; j++)
                used |= t[h].set[j];
            const uint32_t loads = run_windows(b, &t[h], slots, before, memory);
            if (slots == NODES) /* everything fits: only what is new comes in */
                assert_int_equal(loads, bits(used & ~seen));
            seen |= used;
            before = t[h].set[t[h].lists.windows - 1];
        }
        presort_belady_clear(b);
        for (gnn_node v = 0; v < NODES; v++)
            assert_false(presort_belady_holds(b, v));
        presort_belady_close(b);
    }
}

/* ---- recalled rows ---- */

/* What the windows of a hyperbatch load. */
struct planned {
    struct presort_load loads[WINDOWS][NODES];
    uint32_t count[WINDOWS];
};

/* Plans the windows; returns the rows that are recalled, each once. */
static uint32_t plan_windows(struct presort_belady *b, const struct trace *t, struct planned *p)
{
    uint32_t recalled = 0;
    presort_belady_begin(b, &t->lists);
    for (uint32_t j = 0; j < t->lists.windows; j++) {
        p->count[j] = presort_belady_window(b, j, p->loads[j]);
        for (uint32_t i = 0; i < p->count[j]; i++) {
            struct presort_load *const load = &p->loads[j][i];
            if ((load->slot & PRESORT_RECALLED) != 0) {
                assert_int_equal(recalled >> load->row & 1, 0);
                recalled |= 1U << load->row;
            }
            load->slot &= ~PRESORT_RECALLED;
        }
    }
    return recalled;
}

/* Loads what was planned: each window has its rows then, and the one before still has its own. */
static void load_windows(const struct trace *t, const struct planned *p, uint32_t slots, uint32_t *before,
                         gnn_node *memory)
{
    for (uint32_t j = 0; j < t->lists.windows; j++) {
        uint32_t held = 0;
        for (uint32_t i = 0; i < p->count[j]; i++)
            memory[p->loads[j][i].slot] = p->loads[j][i].row;
        for (uint32_t s = 0; s < slots; s++)
            held |= memory[s] == GNN_NODE_NONE ? 0 : 1U << memory[s];
        assert_int_equal(held & t->set[j], t->set[j]);
        assert_int_equal(held & *before, *before);
        *before = t->set[j];
    }
}

/* An epoch of two hyperbatches, after another one, is executed again and again out of what was planned once: from the
 * memory that it left, and from an empty one. */
static void test_a_plan_can_be_executed_again(void **state)
{
    (void)state;
    for (uint64_t trace = 0; trace < TRACES; trace++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed + 7, trace));
        struct trace t[3];
        struct planned p[3];
        uint32_t slots = 0, used = 0, before = 0;
        for (int h = 0; h < 3; h++) {
            draw_trace(&rng, 1 + (uint32_t)gnn_rng_below(&rng, WINDOWS), &t[h]);
            const uint32_t last = h > 0 ? t[h - 1].set[t[h - 1].lists.windows - 1] : 0;
            slots = gnn_max_u32(slots, gnn_max_u32(t[h].largest_pair, bits(last | t[h].set[0])));
            for (uint32_t j = 0; h > 0 && j < t[h].lists.windows; j++)
                used |= t[h].set[j];
        }
        slots = gnn_max_u32(slots, bits(t[2].set[t[2].lists.windows - 1] | t[1].set[0]));
        slots += (uint32_t)gnn_rng_below(&rng, NODES - slots + 1);
        struct presort_belady *const b = open_belady(slots);
        gnn_node memory[2][NODES];
        memset(memory, 0xff, sizeof memory);
        assert_int_equal(plan_windows(b, &t[0], &p[0]), 0);
        load_windows(&t[0], &p[0], slots, &before, memory[0]);
        uint32_t held = 0;
        for (gnn_node v = 0; v < NODES; v++)
            held |= (uint32_t)presort_belady_holds(b, v) << v;
        presort_belady_recall(b, true);
        uint32_t recalled = 0;
        for (int h = 1; h < 3; h++) {
            const uint32_t more = plan_windows(b, &t[h], &p[h]);
            assert_int_equal(recalled & more, 0);
            recalled |= more;
        }
        assert_int_equal(recalled & ~(held & used), 0);
        assert_true(slots < NODES || recalled == (held & used));
        for (int again = 0; again < 4; again++) {
            before = 0; /* between epochs no window is in use */
            for (int h = 1; h < 3; h++)
                load_windows(&t[h], &p[h], slots, &before, memory[again % 2]);
        }
        presort_belady_recall(b, false);
        assert_int_equal(plan_windows(b, &t[1], &p[1]), 0);
        presort_belady_close(b);
    }
}

/* ---- classes ---- */

enum { LOADED = 9 };

struct rows {
    gnn_node row[LOADED];
    uint32_t loads[LOADED];
    uint32_t count;
};

static uint64_t cost_of(const struct rows *r, const struct presort_costs *c, uint32_t sorted)
{
    uint64_t cost = 0, end = 0;
    bool first = true;
    for (uint32_t i = 0; i < r->count; i++) {
        if ((sorted >> i & 1) == 0) {
            cost += r->loads[i] * c->random_bytes;
            continue;
        }
        const uint64_t way = (r->row[i] + UINT64_C(1)) * c->row_bytes - end;
        cost += (first || way > c->random_bytes ? c->random_bytes : way) + r->loads[i] * c->sorted_bytes;
        end = (r->row[i] + UINT64_C(1)) * c->row_bytes;
        first = false;
    }
    return cost;
}

static void draw_rows(struct gnn_rng *rng, struct rows *r)
{
    gnn_node at = 0;
    r->count = 1 + (uint32_t)gnn_rng_below(rng, LOADED);
    for (uint32_t i = 0; i < r->count; i++) {
        at += (gnn_node)gnn_rng_below(rng, gnn_rng_below(rng, 3) == 0 ? 30 : 4) + (i > 0 ? 1 : 0);
        assert_true(at < ROWS + 100);
        r->row[i] = at;
        r->loads[i] = 1 + (uint32_t)gnn_rng_below(rng, 4);
    }
}

static void begin_classes(struct presort_classes *c, const struct rows *r)
{
    presort_classes_begin(c);
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < r->loads[i]; k++)
            presort_classes_add(c, r->row[i]);
}

static struct presort_classes *open_packed_classes(enum presort_choice choice, const struct presort_costs *costs,
                                                   const struct rows *r, const struct presort_packed *packed)
{
    static uint16_t table[400];
    memset(table, 0xff, sizeof table);
    const struct presort_classes_config config = {
        .node_count = 400, .choice = choice, .costs = *costs, .packed = packed, .table = table};
    struct presort_classes *c;
    struct gnn_err err = {0};
    must(presort_classes_open(world, &config, &c, &err), &err);
    begin_classes(c, r);
    return c;
}

static struct presort_classes *open_classes(enum presort_choice choice, const struct presort_costs *costs,
                                            const struct rows *r)
{
    return open_packed_classes(choice, costs, r, NULL);
}

/* The rows that were sorted, as bits; they come in order from presort_classes_next. */
static uint32_t sorted_of(const struct presort_classes *c, const struct rows *r)
{
    uint32_t set = 0;
    gnn_node next = presort_classes_next(c, 0);
    for (uint32_t i = 0; i < r->count; i++) {
        const bool sorted = presort_classes_sorted(c, r->row[i]);
        assert_int_equal(sorted, next == r->row[i]);
        set |= (uint32_t)sorted << i;
        if (sorted)
            next = presort_classes_next(c, next + 1);
    }
    assert_int_equal(next, 400);
    return set;
}

static void test_classes_cost_the_least_there_can_be(void **state)
{
    (void)state;
    uint32_t all_direct = 0, all_sorted = 0, mixed = 0;
    for (uint64_t trace = 0; trace < TRACES; trace++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed + 2, trace));
        struct rows r;
        draw_rows(&rng, &r);
        const uint64_t row_bytes = 100;
        const struct presort_costs costs = {.row_bytes = row_bytes,
                                            .random_bytes = row_bytes + gnn_rng_below(&rng, 1500),
                                            .sorted_bytes = row_bytes + gnn_rng_below(&rng, 300)};
        const uint32_t every = (1U << r.count) - 1;
        uint64_t least = UINT64_MAX;
        for (uint32_t set = 0; set <= every; set++)
            least = gnn_min_u64(least, cost_of(&r, &costs, set));
        struct presort_decision d;
        struct presort_classes *const c = open_classes(PRESORT_AUTO, &costs, &r);
        presort_classes_decide(c, UINT64_MAX, 1, &d);
        const uint32_t set = sorted_of(c, &r);
        assert_int_equal(d.cost_bytes, least);
        assert_int_equal(d.cost_bytes, cost_of(&r, &costs, set));
        assert_int_equal(d.direct_bytes, cost_of(&r, &costs, 0));
        assert_int_equal(d.sweeps_bytes, cost_of(&r, &costs, every));
        assert_int_equal(d.sorted_rows, bits(set));
        struct presort_decision again; /* of other rows, as if they were the first */
        draw_rows(&rng, &r);
        begin_classes(c, &r);
        presort_classes_decide(c, gnn_rng_below(&rng, 4), 1, &again);
        assert_int_equal(again.direct_bytes, cost_of(&r, &costs, 0));
        assert_int_equal(again.sweeps_bytes, cost_of(&r, &costs, (1U << r.count) - 1));
        all_direct += set == 0;
        all_sorted += set == every;
        mixed += set != 0 && set != every;
        presort_classes_close(c);
    }
    assert_true(all_direct > TRACES / 20 && all_sorted > TRACES / 20 && mixed > TRACES / 20);
}

/* Direct costs 7 loads of 8192, the least is 25600, with all rows sorted: 2.24 times less. */
static void test_sorting_has_to_gain(void **state)
{
    (void)state;
    const struct presort_costs costs = {.row_bytes = 512, .random_bytes = 8192, .sorted_bytes = 1024};
    const struct rows r = {{3, 4, 7, 130}, {1, 2, 1, 3}, 4};
    static const enum presort_choice choices[] = {PRESORT_AUTO, PRESORT_SORTED, PRESORT_DIRECT};
    for (uint32_t i = 0; i < sizeof choices / sizeof *choices; i++)
        for (uint32_t gain = 1; gain <= 3; gain++) {
            struct presort_decision d;
            struct presort_classes *const c = open_classes(choices[i], &costs, &r);
            const bool sorted = choices[i] == PRESORT_SORTED || (choices[i] == PRESORT_AUTO && gain <= 2);
            presort_classes_decide(c, UINT64_MAX, gain, &d);
            assert_int_equal(sorted_of(c, &r), sorted ? 15 : 0);
            assert_int_equal(d.cost_bytes, sorted ? 25600 : 7 * 8192);
            assert_int_equal(d.direct_bytes, 7 * 8192);
            assert_int_equal(d.sorted_loads, sorted ? 7 : 0);
            presort_classes_close(c);
        }
}

static void test_classes_can_be_forced_and_limited(void **state)
{
    (void)state;
    const struct presort_costs costs = {.row_bytes = 512, .random_bytes = 8192, .sorted_bytes = 1024};
    const struct rows r = {{3, 4, 7, 130}, {1, 2, 1, 3}, 4};
    struct presort_decision d;
    struct presort_classes *c = open_classes(PRESORT_DIRECT, &costs, &r);
    presort_classes_decide(c, UINT64_MAX, 1, &d);
    assert_int_equal(sorted_of(c, &r), 0);
    assert_int_equal(d.cost_bytes, 7 * 8192);
    presort_classes_close(c);
    for (uint64_t most = 0; most <= 8; most++) {
        static const uint32_t set_of[] = {0, 1, 1, 3, 7, 7, 7, 15, 15}; /* 1, then 3, 4 and 7 loads */
        c = open_classes(PRESORT_SORTED, &costs, &r);
        presort_classes_decide(c, most, 1, &d);
        assert_int_equal(sorted_of(c, &r), set_of[most]);
        assert_true(d.sorted_loads <= most);
        assert_int_equal(d.loads, 7);
        presort_classes_close(c);
    }
}

/* ---- packed rows ---- */

enum { PLACES = 64 };

/* Rows of which some lie packed, in an order of their own and with places between them where nothing lies. */
struct packing {
    uint32_t place[LOADED]; /* UINT32_MAX: it is not packed */
    gnn_node rows[PLACES];
    uint64_t members[400 / 64 + 1], held[400 / 64 + 1];
    struct presort_packed packed;
};

static void draw_packing(struct gnn_rng *rng, const struct rows *r, struct packing *p)
{
    memset(p, 0xff, sizeof *p);
    memset(p->members, 0, sizeof p->members);
    memset(p->held, 0, sizeof p->held);
    p->packed = (struct presort_packed){.rows = p->rows, .members = p->members, .places = PLACES, .held = p->held};
    p->packed.grows = gnn_rng_below(rng, 4) > 0;
    for (uint32_t i = 0; i < r->count; i++) {
        if (gnn_rng_below(rng, 3) == 0)
            p->held[r->row[i] / 64] |= UINT64_C(1) << r->row[i] % 64;
        const uint32_t place = (uint32_t)gnn_rng_below(rng, gnn_rng_below(rng, 2) == 0 ? PLACES : 12);
        if (gnn_rng_below(rng, 2) == 0 || p->rows[place] != GNN_NODE_NONE)
            continue;
        p->place[i] = place;
        p->rows[place] = r->row[i];
        p->members[r->row[i] / 64] |= UINT64_C(1) << r->row[i] % 64;
    }
}

/* The packed rows by their places, or the others by their nodes. */
static struct rows lane_of(const struct rows *r, const struct packing *p, bool packed)
{
    struct rows lane = {.count = 0};
    for (uint32_t place = 0; packed && place < PLACES; place++)
        for (uint32_t i = 0; i < r->count; i++)
            if (p->place[i] == place) {
                lane.row[lane.count] = place;
                lane.loads[lane.count++] = r->loads[i];
            }
    for (uint32_t i = 0; !packed && i < r->count; i++)
        if (p->place[i] == UINT32_MAX) {
            lane.row[lane.count] = r->row[i];
            lane.loads[lane.count++] = r->loads[i];
        }
    return lane;
}

static bool is_held(const struct packing *p, gnn_node row)
{
    return (p->held[row / 64] >> row % 64 & 1) != 0;
}

/* What the next hyperbatch loads of the same: what is not in memory still. */
static struct rows loaded_again(const struct rows *lane, const struct packing *p)
{
    struct rows again = {.count = 0};
    for (uint32_t i = 0; i < lane->count; i++)
        if (!is_held(p, lane->row[i])) {
            again.row[again.count] = lane->row[i];
            again.loads[again.count++] = lane->loads[i];
        }
    return again;
}

/* Of a hyperbatch that packs what the next one loads again, and of that one, which reads it packed. */
static uint64_t cost_of_two(const struct rows *lane, const struct packing *p, const struct presort_costs *c,
                            uint32_t sorted)
{
    uint64_t cost = cost_of(lane, c, sorted);
    for (uint32_t i = 0; i < lane->count; i++) {
        const bool is_sorted = (sorted >> i & 1) != 0;
        if (is_held(p, lane->row[i]))
            continue;
        cost += lane->loads[i] * (is_sorted ? c->sorted_bytes : c->random_bytes); /* the other's loads */
        cost += is_sorted ? (c->sorted_bytes - c->row_bytes) + c->row_bytes : 0;  /* written packed, and swept there */
    }
    return cost;
}

/* The least cost over all choices, or that of sorting all; packing NULL: of one hyperbatch. */
static uint64_t least_of(const struct rows *lane, const struct packing *p, const struct presort_costs *c, bool all)
{
    const uint32_t every = (1U << lane->count) - 1;
    uint64_t least = UINT64_MAX;
    for (uint32_t set = all ? every : 0; set <= every; set++)
        least = gnn_min_u64(least, p != NULL ? cost_of_two(lane, p, c, set) : cost_of(lane, c, set));
    return least;
}

/* What was decided for the rows of a lane; presort_classes_next and its like find the sorted ones. */
static uint32_t set_of_lane(const struct presort_classes *c, const struct packing *p, const struct rows *lane,
                            bool packed)
{
    uint32_t set = 0, next = packed ? presort_classes_next_packed(c, 0) : presort_classes_next(c, 0);
    for (uint32_t i = 0; i < lane->count; i++) {
        const bool sorted = presort_classes_sorted(c, packed ? p->rows[lane->row[i]] : lane->row[i]);
        assert_int_equal(sorted, next == lane->row[i]);
        set |= (uint32_t)sorted << i;
        if (sorted)
            next = packed ? presort_classes_next_packed(c, next + 1) : presort_classes_next(c, next + 1);
    }
    assert_int_equal(next, packed ? PLACES : 400);
    return set;
}

static void test_packed_rows_cost_the_least_there_can_be(void **state)
{
    (void)state;
    uint32_t packs = 0, forgoes = 0;
    for (uint64_t trace = 0; trace < TRACES; trace++) {
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed + 3, trace));
        struct rows r;
        struct packing p;
        struct presort_decision d;
        draw_rows(&rng, &r);
        draw_packing(&rng, &r, &p);
        const uint64_t row_bytes = 100;
        const struct presort_costs costs = {.row_bytes = row_bytes,
                                            .random_bytes = row_bytes + gnn_rng_below(&rng, 1500),
                                            .sorted_bytes = row_bytes + gnn_rng_below(&rng, 300)};
        const bool all = gnn_rng_below(&rng, 4) == 0;
        const struct rows packed = lane_of(&r, &p, true), apart = lane_of(&r, &p, false);
        const struct rows again = loaded_again(&apart, &p);
        const uint32_t every = (1U << apart.count) - 1;
        const uint64_t now = least_of(&apart, NULL, &costs, all), next = least_of(&again, NULL, &costs, all);
        const uint64_t both = least_of(&apart, &p, &costs, all);
        struct presort_classes *const c =
            open_packed_classes(all ? PRESORT_SORTED : PRESORT_AUTO, &costs, &r, &p.packed);
        presort_classes_decide(c, UINT64_MAX, 1, &d);
        const uint32_t of_packed = set_of_lane(c, &p, &packed, true), of_apart = set_of_lane(c, &p, &apart, false);
        assert_int_equal(d.packs, p.packed.grows && both < now + next);
        assert_int_equal(d.packs ? cost_of_two(&apart, &p, &costs, of_apart) : cost_of(&apart, &costs, of_apart),
                         d.packs ? both : now);
        assert_int_equal(cost_of(&packed, &costs, of_packed), least_of(&packed, NULL, &costs, all));
        for (uint32_t i = 0; i < apart.count; i++)
            assert_int_equal(presort_classes_packs(c, apart.row[i]), !is_held(&p, apart.row[i]));
        assert_int_equal(d.cost_bytes, cost_of(&packed, &costs, of_packed) + cost_of(&apart, &costs, of_apart));
        assert_int_equal(d.sweeps_bytes,
                         cost_of(&packed, &costs, (1U << packed.count) - 1) + cost_of(&apart, &costs, every));
        assert_int_equal(d.sorted_rows, bits(of_packed) + bits(of_apart));
        packs += d.packs;
        forgoes += p.packed.grows && !d.packs;
        presort_classes_close(c);
    }
    assert_true(packs > TRACES / 10 && forgoes > TRACES / 10);
}

/* A limit is spent on packed rows first, as they lie. */
static void test_packed_rows_are_limited_first(void **state)
{
    (void)state;
    const struct presort_costs costs = {.row_bytes = 512, .random_bytes = 8192, .sorted_bytes = 1024};
    const struct rows r = {{3, 4, 7, 130}, {1, 2, 1, 3}, 4};
    struct packing p;
    memset(&p, 0xff, sizeof p);
    memset(p.members, 0, sizeof p.members);
    p.rows[2] = 130;
    p.rows[5] = 4;
    p.members[130 / 64] |= UINT64_C(1) << 130 % 64;
    p.members[0] |= UINT64_C(1) << 4;
    p.packed = (struct presort_packed){.rows = p.rows, .members = p.members, .places = 6};
    for (uint64_t most = 0; most <= 8; most++) {
        static const uint32_t set_of[] = {0, 0, 0, 8, 8, 10, 11, 15, 15}; /* 3 loads of 130, 2 of 4, then 3 and 7 */
        struct presort_decision d;
        struct presort_classes *const c = open_packed_classes(PRESORT_SORTED, &costs, &r, &p.packed);
        uint32_t set = 0;
        presort_classes_decide(c, most, 1, &d);
        for (uint32_t i = 0; i < r.count; i++)
            set |= (uint32_t)presort_classes_sorted(c, r.row[i]) << i;
        assert_int_equal(set, set_of[most]);
        assert_true(d.sorted_loads <= most);
        assert_int_equal(d.loads, 7);
        presort_classes_close(c);
    }
}

/* ---- windows ---- */

static void test_windows_hold_what_fits(void **state)
{
    (void)state;
    const struct presort_windows_config config = {
        .node_count = ROWS, .windows_max = 4, .members_max = 12, .rows_max = 5, .lone_rows_max = 5};
    static const gnn_node batches[][4] = {{9, 2, 150, 4}, {2, 4, 9, 199}, {0, 1, 2, 4}, {70, 64, 63, 65}, {5, 6, 7, 8}};
    static const gnn_node expected[] = {2, 4, 9, 150, 199, 0, 1, 2, 4};
    struct presort_windows w;
    struct gnn_err err = {0};
    bool taken;
    must(presort_windows_open(world, &config, &w, &err), &err);
    presort_windows_begin(&w);
    for (uint32_t k = 0; k < 4; k++) {
        must(presort_windows_take(&w, batches[k], 4, &taken, &err), &err);
        assert_int_equal(taken, k < 3); /* 9 rows are listed, and 4 more are too many */
    }
    presort_windows_end(&w);
    assert_int_equal(w.lists.windows, 2);
    assert_int_equal(w.lists.end[0], 5);
    assert_int_equal(w.lists.end[1], 9);
    assert_int_equal(w.batch_end[0], 2);
    assert_int_equal(w.batch_end[1], 3);
    assert_memory_equal(w.lists.rows, expected, sizeof expected);
    assert_int_equal(w.largest, 5);
    presort_windows_begin(&w);
    must(presort_windows_take(&w, batches[3], 4, &taken, &err), &err);
    assert_true(taken);
    presort_windows_end(&w);
    static const gnn_node ascending[] = {63, 64, 65, 70};
    assert_memory_equal(w.lists.rows, ascending, sizeof ascending);
    presort_windows_close(&w);
}

static void test_a_mini_batch_above_the_limit_is_refused(void **state)
{
    (void)state;
    const struct presort_windows_config config = {
        .node_count = ROWS, .windows_max = 4, .members_max = 30, .rows_max = 3, .lone_rows_max = 3, .batches_max = 1};
    static const gnn_node nodes[] = {1, 2, 3, 4};
    struct presort_windows w;
    struct gnn_err err = {0};
    bool taken;
    must(presort_windows_open(world, &config, &w, &err), &err);
    presort_windows_begin(&w);
    assert_int_equal(presort_windows_take(&w, nodes, 4, &taken, &err), GNN_ECAP);
    assert_non_null(strstr(err.message, "4 rows, but a window can have only 3"));
    err = (struct gnn_err){0};
    for (uint32_t k = 0; k < 2; k++) { /* and nothing of it was left; a window of one mini-batch each */
        must(presort_windows_take(&w, nodes, 3, &taken, &err), &err);
        assert_true(taken);
    }
    presort_windows_end(&w);
    assert_int_equal(w.lists.windows, 2);
    assert_int_equal(w.lists.end[1], 6);
    presort_windows_close(&w);
}

/* Estimates of the largest mini-batch can be too low: one that passes the usual limit has a window alone. */
static void test_a_mini_batch_may_have_a_window_alone(void **state)
{
    (void)state;
    const struct presort_windows_config config = {
        .node_count = ROWS, .windows_max = 4, .members_max = 12, .rows_max = 3, .lone_rows_max = 5};
    static const gnn_node first[] = {8, 9}, few[] = {1, 2}, many[] = {2, 3, 4, 5, 6}, one[] = {6}, other[] = {7},
                          most[] = {1, 2, 3, 4, 5, 6};
    static const gnn_node expected[] = {8, 9, 1, 2, 2, 3, 4, 5, 6, 7};
    struct presort_windows w;
    struct gnn_err err = {0};
    bool taken;
    must(presort_windows_open(world, &config, &w, &err), &err);
    presort_windows_begin(&w);
    assert_int_equal(presort_windows_take(&w, most, 6, &taken, &err), GNN_ECAP);
    assert_non_null(strstr(err.message, "6 rows, but a window can have only 5"));
    err = (struct gnn_err){0};
    must(presort_windows_take(&w, first, 2, &taken, &err), &err);
    must(presort_windows_take(&w, few, 2, &taken, &err), &err); /* together 4: more than 3, though not than 5 */
    must(presort_windows_take(&w, many, 5, &taken, &err), &err);
    assert_true(taken);
    must(presort_windows_take(&w, one, 1, &taken, &err), &err); /* what it holds joins it, nothing else does */
    must(presort_windows_take(&w, other, 1, &taken, &err), &err);
    assert_true(taken);
    presort_windows_end(&w);
    assert_int_equal(w.lists.windows, 4);
    assert_int_equal(w.lists.end[2], 9);
    assert_memory_equal(w.lists.rows, expected, sizeof expected);
    assert_int_equal(w.largest, 5);
    presort_windows_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads_are_the_fewest_there_can_be),
        cmocka_unit_test(test_memory_is_carried_over),
        cmocka_unit_test(test_a_plan_can_be_executed_again),
        cmocka_unit_test(test_classes_cost_the_least_there_can_be),
        cmocka_unit_test(test_sorting_has_to_gain),
        cmocka_unit_test(test_classes_can_be_forced_and_limited),
        cmocka_unit_test(test_packed_rows_cost_the_least_there_can_be),
        cmocka_unit_test(test_packed_rows_are_limited_first),
        cmocka_unit_test(test_windows_hold_what_fits),
        cmocka_unit_test(test_a_mini_batch_above_the_limit_is_refused),
        cmocka_unit_test(test_a_mini_batch_may_have_a_window_alone),
    };
    return cmocka_run_group_tests(tests, open_world, measured_world_close);
}
