/* SPDX-License-Identifier: MIT */
/* Orders of partitions and their training examples: see policy.h.
 *
 * Source   MariusGNN (EuroSys 2023) sections 5 and 6; the one-swap sequence is BETA's (Marius, OSDI 2021) as the
 *          released code generates it */
#include "systems/mariusgnn/policy.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

static void exchange(uint32_t *a, uint32_t *b)
{
    const uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void shuffle(struct gnn_rng *rng, uint32_t *list, uint32_t count)
{
    for (uint32_t left = count; left > 1; left--)
        exchange(&list[left - 1], &list[gnn_rng_below(rng, left)]);
}

static void fill_ascending(uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
}

/* ---- memory ---- */

static enum gnn_status order_open(struct gnn_world *world, uint32_t partitions, uint32_t group, uint32_t places,
                                  uint64_t states, struct marius_order *out, struct gnn_err *err)
{
    assert(partitions > 0);
    assert(group > 0);
    assert(places > 0);
    *out = (struct marius_order){
        .partitions = partitions, .group = group, .units = (uint32_t)gnn_div_up(partitions, group), .places = places};
    assert(places <= out->units);
    if (states > UINT32_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "%" PRIu32 " partitions with %" PRIu32 " resident need %" PRIu64
                        " states, which is too many: lower mariusgnn.partitions",
                        partitions, places, states);
    out->states = (uint32_t)states;
    GNN_MEM_NEW(world, out->members, (uint64_t)out->units * group, "groups of partitions", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->resident, states * places, "order of partitions", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

uint64_t marius_order_bytes(uint32_t partitions, uint32_t group, uint32_t places, uint64_t states)
{
    const uint64_t members = gnn_mul_bytes(gnn_div_up(partitions, group), group * UINT64_C(4));
    const uint64_t resident = gnn_mul_bytes(states, places * UINT64_C(4));
    return gnn_add_bytes(gnn_round_up(members, GNN_PAGE_BYTES), gnn_round_up(resident, GNN_PAGE_BYTES));
}

void marius_order_close(struct gnn_world *world, struct marius_order *order)
{
    gnn_mem_free(world, order->members);
    gnn_mem_free(world, order->resident);
    *order = (struct marius_order){.members = NULL};
}

uint32_t marius_order_partition(const struct marius_order *order, uint32_t state, uint32_t slot)
{
    assert(state < order->states);
    assert(slot < marius_order_slots(order));
    const uint32_t unit = order->resident[(uint64_t)state * order->places + slot / order->group];
    return order->members[(uint64_t)unit * order->group + slot % order->group];
}

uint32_t marius_order_swapped(const struct marius_order *order, uint32_t state)
{
    assert(state + 1 < order->states);
    const uint32_t *const now = order->resident + (uint64_t)state * order->places;
    uint32_t place = 0;
    while (now[place] == now[order->places + place])
        place++;
    assert(place < order->places);
    return place;
}

/* Cuts a random permutation of the partitions into groups. */
static void group_at_random(struct marius_order *order, struct gnn_rng *rng)
{
    fill_ascending(order->members, order->partitions);
    shuffle(rng, order->members, order->partitions);
    for (uint64_t i = order->partitions; i < (uint64_t)order->units * order->group; i++)
        order->members[i] = MARIUS_NONE;
}

/* ---- the one-swap sequence ---- */

uint64_t marius_one_swap_states(uint32_t units, uint32_t places)
{
    assert(places >= 2);
    assert(places <= units);
    const uint64_t n = units - places, x = n / (places - 1);
    return n + (x + 1) * n - (places - 1) * x * (x + 1) / 2 + 1;
}

uint64_t marius_one_swap_bound(uint32_t units, uint32_t places)
{
    assert(places >= 2);
    assert(places <= units);
    const uint64_t q = units, m = places;
    return gnn_div_up(q * (q - 1) / 2 - m * (m - 1) / 2, m - 1);
}

/* A sequence in the making: what is in the buffer, what is outside, the states so far. */
struct sequence {
    uint32_t *buffer;  /* (places) */
    uint32_t *outside; /* (outside_count) */
    uint32_t places, outside_count;
    uint32_t *next; /* where the next state goes */
};

static void emit(struct sequence *s)
{
    for (uint32_t i = 0; i < s->places; i++)
        *s->next++ = s->buffer[i];
}

/* Every unit outside passes once through one place, while the others stay. */
static void rotate(struct sequence *s, uint32_t place)
{
    for (uint32_t i = 0; i < s->outside_count; i++) {
        exchange(&s->outside[i], &s->buffer[place]);
        emit(s);
    }
}

/* The units that stayed have met all others and leave for good, for as many from outside. */
static void replace_stayed(struct sequence *s, uint32_t rotated)
{
    const uint32_t replaced = gnn_min_u32(s->outside_count, s->places - 1);
    for (uint32_t i = 0; i < replaced; i++) {
        s->buffer[(rotated + 1 + i) % s->places] = s->outside[i];
        emit(s);
    }
    s->outside += replaced;
    s->outside_count -= replaced;
}

/* Fills resident with the one-swap sequence over the units in `list`. The released code shuffles the buffer before
 * every round and rotates its last place; here a place is where a unit lies, so the place that rotates is drawn. */
static void one_swap(struct gnn_rng *rng, uint32_t *list, uint32_t units, uint32_t places, uint32_t *resident)
{
    struct sequence s = {
        .buffer = list, .outside = list + places, .places = places, .outside_count = units - places, .next = resident};
    shuffle(rng, list, units);
    emit(&s);
    while (s.outside_count > 0) {
        const uint32_t place = (uint32_t)gnn_rng_below(rng, places);
        shuffle(rng, s.outside, s.outside_count);
        rotate(&s, place);
        shuffle(rng, s.outside, s.outside_count);
        replace_stayed(&s, place);
    }
}

enum gnn_status marius_order_comet(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions, uint32_t group,
                                   uint32_t places, struct marius_order *out, struct gnn_err *err)
{
    const uint32_t units = (uint32_t)gnn_div_up(partitions, group);
    uint32_t *list;
    GNN_TRY(order_open(world, partitions, group, places, marius_one_swap_states(units, places), out, err));
    group_at_random(out, rng);
    GNN_NEW(list, units, err, "%" PRIu32 " logical partitions", units);
    fill_ascending(list, units);
    one_swap(rng, list, units, places, out->resident);
    free(list);
    return GNN_OK;
}

enum gnn_status marius_order_beta(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions, uint32_t capacity,
                                  struct marius_order *out, struct gnn_err *err)
{
    return marius_order_comet(world, rng, partitions, 1, capacity, out, err);
}

/* ---- node classification ---- */

/* Draws `wanted` of the partitions k .. p - 1, ascending, by a pass over all of them (Knuth's selection sampling). */
static void draw_others(struct gnn_rng *rng, uint32_t training, uint32_t partitions, uint32_t wanted, uint32_t *drawn)
{
    for (uint32_t i = training; i < partitions && wanted > 0; i++)
        if (gnn_rng_below(rng, partitions - i) < wanted) {
            *drawn++ = i;
            wanted--;
        }
    assert(wanted == 0);
}

/* Puts what was resident back into its place; the others fill what is left, in order. */
static void keep_places(uint32_t *state, const uint32_t *before, uint32_t first, uint32_t end, uint32_t *place_of)
{
    for (uint32_t i = first; i < end; i++)
        place_of[before[i]] = i;
    for (uint32_t i = first; i < end; i++)
        while (place_of[state[i]] != MARIUS_NONE && place_of[state[i]] != i)
            exchange(&state[i], &state[place_of[state[i]]]);
}

enum gnn_status marius_order_training_first(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                            uint32_t training, uint32_t capacity, const uint32_t *before,
                                            struct marius_order *out, struct gnn_err *err)
{
    assert(training <= capacity);
    assert(capacity <= partitions);
    GNN_TRY(order_open(world, partitions, 1, capacity, 1, out, err));
    fill_ascending(out->members, partitions);
    fill_ascending(out->resident, training);
    draw_others(rng, training, partitions, capacity - training, out->resident + training);
    if (before == NULL)
        return GNN_OK;
    uint32_t *place_of;
    GNN_NEW(place_of, partitions, err, "places of %" PRIu32 " partitions", partitions);
    memset(place_of, 0xff, partitions * sizeof *place_of);
    keep_places(out->resident, before, training, capacity, place_of);
    free(place_of);
    return GNN_OK;
}

enum gnn_status marius_order_replace(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions, uint32_t group,
                                     uint32_t places, struct marius_order *out, struct gnn_err *err)
{
    const uint32_t units = (uint32_t)gnn_div_up(partitions, group);
    uint32_t *list;
    GNN_TRY(order_open(world, partitions, group, places, (uint64_t)units - places + 1, out, err));
    group_at_random(out, rng);
    GNN_NEW(list, units, err, "%" PRIu32 " logical partitions", units);
    fill_ascending(list, units);
    shuffle(rng, list, units);
    memcpy(out->resident, list, places * sizeof *list);
    for (uint32_t s = 1; s < out->states; s++) {
        uint32_t *const now = out->resident + (uint64_t)s * places;
        memcpy(now, now - places, places * sizeof *now);
        now[gnn_rng_below(rng, places)] = list[places + s - 1];
    }
    free(list);
    return GNN_OK;
}

/* ---- training examples ---- */

/* For every logical partition the states that hold it, ascending: states[first[u] .. first[u + 1]). */
struct residency {
    uint64_t *first;   /* (units + 1) */
    uint32_t *states;  /* (states * places) */
    uint32_t *unit_of; /* (partitions) */
};

static void residency_close(struct residency *r)
{
    free(r->first);
    free(r->states);
    free(r->unit_of);
}

static enum gnn_status residency_alloc(const struct marius_order *order, struct residency *r, struct gnn_err *err)
{
    const uint64_t entries = (uint64_t)order->states * order->places;
    GNN_NEW(r->first, order->units + UINT64_C(2), err, "states of %" PRIu32 " logical partitions", order->units);
    GNN_NEW(r->states, entries, err, "%" PRIu64 " residencies", entries);
    GNN_NEW(r->unit_of, order->partitions, err, "groups of %" PRIu32 " partitions", order->partitions);
    return GNN_OK;
}

/* A counting sort of the states by what they hold. */
static enum gnn_status residency_open(const struct marius_order *order, struct residency *r, struct gnn_err *err)
{
    const uint64_t entries = (uint64_t)order->states * order->places;
    GNN_TRY(residency_alloc(order, r, err));
    for (uint64_t e = 0; e < entries; e++)
        r->first[order->resident[e] + 2]++;
    for (uint32_t u = 0; u < order->units; u++)
        r->first[u + 2] += r->first[u + 1];
    for (uint64_t e = 0; e < entries; e++)
        r->states[r->first[order->resident[e] + 1]++] = (uint32_t)(e / order->places);
    for (uint64_t m = 0; m < (uint64_t)order->units * order->group; m++)
        if (order->members[m] != MARIUS_NONE)
            r->unit_of[order->members[m]] = (uint32_t)(m / order->group);
    return GNN_OK;
}

/* Writes the states that hold both units, ascending, into both (states); returns how many. */
static uint32_t states_of_both(const struct residency *r, uint32_t a, uint32_t b, uint32_t *both)
{
    uint32_t count = 0;
    uint64_t i = r->first[a], k = r->first[b];
    while (i < r->first[a + 1] && k < r->first[b + 1]) {
        if (r->states[i] == r->states[k]) {
            both[count++] = r->states[i++];
            k++;
        } else if (r->states[i] < r->states[k]) {
            i++;
        } else {
            k++;
        }
    }
    return count;
}

/* Gives the buckets between the partitions of two logical ones to the states that hold both. */
static void assign_units(const struct marius_order *order, uint32_t from, uint32_t to, const uint32_t *both,
                         uint32_t count, enum marius_assignment assignment, struct gnn_rng *rng, uint32_t *state_of)
{
    assert(count > 0);
    for (uint32_t i = 0; i < order->group; i++)
        for (uint32_t j = 0; j < order->group; j++) {
            const uint32_t source = order->members[(uint64_t)from * order->group + i];
            const uint32_t destination = order->members[(uint64_t)to * order->group + j];
            if (source == MARIUS_NONE || destination == MARIUS_NONE)
                continue;
            const uint64_t which = assignment == MARIUS_ASSIGN_GREEDY ? 0 : gnn_rng_below(rng, count);
            state_of[(uint64_t)source * order->partitions + destination] = both[which];
        }
}

enum gnn_status marius_assign_buckets(const struct marius_order *order, enum marius_assignment assignment,
                                      struct gnn_rng *rng, uint32_t *state_of, struct gnn_err *err)
{
    struct residency r = {.first = NULL};
    uint32_t *both = NULL;
    enum gnn_status status = residency_open(order, &r, err);
    if (status == GNN_OK) {
        both = calloc(order->states, sizeof *both);
        if (both == NULL)
            status = gnn_fail(err, GNN_ENOMEM, "out of memory for %" PRIu32 " states: lower mariusgnn.partitions",
                              order->states);
    }
    for (uint32_t from = 0; status == GNN_OK && from < order->units; from++)
        for (uint32_t to = 0; to < order->units; to++)
            assign_units(order, from, to, both, states_of_both(&r, from, to, both), assignment, rng, state_of);
    free(both);
    residency_close(&r);
    return status;
}

enum gnn_status marius_assign_nodes(const struct marius_order *order, uint64_t key, const gnn_node *nodes,
                                    uint32_t count, uint32_t rows, uint32_t *state_of, struct gnn_err *err)
{
    struct residency r = {.first = NULL};
    const enum gnn_status status = residency_open(order, &r, err);
    for (uint32_t i = 0; status == GNN_OK && i < count; i++) {
        const uint32_t unit = r.unit_of[nodes[i] / rows];
        const uint64_t first = r.first[unit], choices = r.first[unit + 1] - first;
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(key, nodes[i]));
        assert(choices > 0);
        state_of[i] = r.states[first + gnn_rng_below(&rng, choices)];
    }
    residency_close(&r);
    return status;
}

/* ---- the bias ---- */

/* tally (states, p): how many ends in each partition the buckets of each state have. */
static void count_ends(const struct marius_order *order, const uint32_t *state_of, uint32_t *tally)
{
    const uint32_t p = order->partitions;
    for (uint32_t i = 0; i < p; i++)
        for (uint32_t j = 0; j < p; j++) {
            uint32_t *const ends = tally + (uint64_t)state_of[(uint64_t)i * p + j] * p;
            ends[i]++;
            ends[j]++;
        }
}

enum gnn_status marius_bias(const struct marius_order *order, const uint32_t *state_of, double *bias,
                            struct gnn_err *err)
{
    const uint32_t p = order->partitions;
    uint32_t *tally;
    GNN_NEW(tally, (uint64_t)order->states * p, err, "tallies of %" PRIu32 " partitions", p);
    count_ends(order, state_of, tally);
    uint32_t widest = 0;
    for (uint32_t s = 0; s < order->states; s++) {
        uint32_t least = UINT32_MAX, most = 0;
        for (uint32_t i = 0; i < p; i++) {
            const uint32_t so_far = tally[(uint64_t)s * p + i] + (s > 0 ? tally[(uint64_t)(s - 1) * p + i] : 0);
            tally[(uint64_t)s * p + i] = so_far;
            least = gnn_min_u32(least, so_far);
            most = gnn_max_u32(most, so_far);
        }
        widest = gnn_max_u32(widest, most - least);
    }
    free(tally);
    *bias = widest / (2.0 * p); /* a partition has p buckets out and p in */
    return GNN_OK;
}

/* ---- auto-tuning ---- */

double marius_rule_partitions(const struct marius_graph_size *size, uint32_t disk_block_bytes)
{
    const double node_bytes = (double)size->nodes * size->row_bytes;
    const double edge_bytes = (double)size->edges * size->edge_bytes;
    return fmin(node_bytes / disk_block_bytes, sqrt(edge_bytes / disk_block_bytes));
}

uint32_t marius_tuned_partitions(const struct marius_graph_size *size, uint32_t disk_block_bytes)
{
    const double rule = marius_rule_partitions(size, disk_block_bytes);
    double power = rule > 1 ? exp2(round(log2(rule))) : 1;
    power = fmin(power, 1 << 20);
    uint32_t partitions = (uint32_t)power;
    while (partitions > 1 && !marius_partitions_fit(size->nodes, partitions))
        partitions /= 2;
    return partitions;
}

/* c PO + 2 c^2 EBO < memory is a quadratic in c. */
uint32_t marius_rule_capacity(const struct marius_graph_size *size, uint32_t partitions, uint64_t memory_bytes)
{
    const double p = partitions;
    const double partition_bytes = (double)size->nodes * size->row_bytes / p;
    const double bucket_bytes = (double)size->edges * size->edge_bytes / (p * p);
    uint32_t capacity = partitions;
    while (capacity > 0 &&
           capacity * partition_bytes + 2.0 * capacity * capacity * bucket_bytes >= (double)memory_bytes)
        capacity--;
    return capacity;
}
