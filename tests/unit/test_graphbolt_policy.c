/* SPDX-License-Identifier: MIT */
/* GraphBolt's eviction policies against slow models over random traces, and against traces that were worked out by hand
 * (docs/invariants.md, GraphBolt: 2, 3, 4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"
#include "systems/graphbolt/policy.h"
#include "tests/support/hang.h"

#include <stdio.h>
#include <string.h>

enum { NODES = 60, ROWS_MAX = 40, TAKES_MAX = 600, TRACES = 400 };

/* ---- the slow models: a queue is an array, oldest first ---- */

struct row {
    gnn_node node;
    uint32_t used, readers;
    bool writing;
};

struct model {
    enum graphbolt_policy_kind kind;
    uint32_t rows;     /* capacity */
    uint32_t hand;     /* SIEVE: position in the first queue */
    uint32_t count[2]; /* rows in each queue */
    struct row queue[2][ROWS_MAX + 1];
    gnn_node ghosts[ROWS_MAX]; /* oldest first; a node may occur twice */
    uint32_t ghost_count;
    bool noted[NODES];
};

static void remove_at(struct model *m, uint32_t q, uint32_t at)
{
    m->count[q]--;
    memmove(&m->queue[q][at], &m->queue[q][at + 1], (m->count[q] - at) * sizeof m->queue[q][0]);
}

static void append(struct model *m, uint32_t q, struct row row)
{
    m->queue[q][m->count[q]++] = row;
}

static bool in_use(const struct row *row)
{
    return row->readers > 0 || row->writing;
}

static void rotate(struct model *m, uint32_t q)
{
    const struct row oldest = m->queue[q][0];
    remove_at(m, q, 0);
    append(m, q, oldest);
}

static void note(struct model *m, gnn_node node)
{
    if (m->ghost_count == m->rows - m->rows / 10) {
        m->noted[m->ghosts[0]] = false;
        m->ghost_count--;
        memmove(m->ghosts, m->ghosts + 1, m->ghost_count * sizeof m->ghosts[0]);
    }
    m->noted[node] = true;
    m->ghosts[m->ghost_count++] = node;
}

static void evict_lru(struct model *m)
{
    while (in_use(&m->queue[0][0]))
        rotate(m, 0);
    remove_at(m, 0, 0);
}

static void evict_clock(struct model *m)
{
    while (in_use(&m->queue[0][0]) || m->queue[0][0].used > 0) {
        m->queue[0][0].used = 0;
        rotate(m, 0);
    }
    remove_at(m, 0, 0);
}

static void evict_sieve(struct model *m)
{
    for (;;) {
        if (m->hand >= m->count[0])
            m->hand = 0;
        struct row *const row = &m->queue[0][m->hand];
        if (!in_use(row) && row->used == 0)
            break;
        row->used = 0;
        m->hand++;
    }
    remove_at(m, 0, m->hand);
    if (m->hand == m->count[0])
        m->hand = 0;
}

static bool shrink_small(struct model *m, uint32_t rows)
{
    while (m->count[0] > rows) {
        struct row oldest = m->queue[0][0];
        remove_at(m, 0, 0);
        if (!in_use(&oldest) && oldest.used == 0) {
            note(m, oldest.node);
            return true;
        }
        oldest.used = 0;
        append(m, 1, oldest);
    }
    return false;
}

static bool some_is_free(const struct model *m, uint32_t q)
{
    bool found = false;
    for (uint32_t i = 0; i < m->count[q]; i++)
        found = found || !in_use(&m->queue[q][i]);
    return found;
}

/* A sweep in which every row is in use lowers each count four times, as four visits of the queue do. */
static bool evict_main(struct model *m)
{
    if (!some_is_free(m, 1)) {
        for (uint32_t i = 0; i < m->count[1]; i++)
            m->queue[1][i].used = 0;
        return false;
    }
    while (in_use(&m->queue[1][0]) || m->queue[1][0].used > 0) {
        if (m->queue[1][0].used > 0)
            m->queue[1][0].used--;
        rotate(m, 1);
    }
    remove_at(m, 1, 0);
    return true;
}

static void evict_s3_fifo(struct model *m)
{
    if (!shrink_small(m, m->rows / 10) && !evict_main(m) && !shrink_small(m, 0))
        assert_true(evict_main(m));
}

static struct row *find(struct model *m, gnn_node node, uint32_t *queue, uint32_t *at)
{
    for (*queue = 0; *queue < 2; ++*queue)
        for (*at = 0; *at < m->count[*queue]; ++*at)
            if (m->queue[*queue][*at].node == node)
                return &m->queue[*queue][*at];
    return NULL;
}

enum outcome { HIT, INSERTED, NOT_INSERTED };

static enum outcome insert(struct model *m, gnn_node node)
{
    static void (*const evict[])(struct model *) = {[GRAPHBOLT_LRU] = evict_lru,
                                                    [GRAPHBOLT_CLOCK] = evict_clock,
                                                    [GRAPHBOLT_SIEVE] = evict_sieve,
                                                    [GRAPHBOLT_S3_FIFO] = evict_s3_fifo};
    if (m->count[0] + m->count[1] == m->rows) {
        if (!some_is_free(m, 0) && !some_is_free(m, 1))
            return NOT_INSERTED;
        evict[m->kind](m);
    }
    append(m, m->noted[node], (struct row){.node = node, .writing = true});
    m->noted[node] = false;
    return INSERTED;
}

static enum outcome take(struct model *m, gnn_node node)
{
    uint32_t q, at;
    struct row *row = find(m, node, &q, &at);
    if (row == NULL)
        return insert(m, node);
    row->used = m->kind == GRAPHBOLT_S3_FIFO ? gnn_min_u32(row->used + 1, 3) : 1;
    if (m->kind == GRAPHBOLT_LRU) {
        const struct row moved = *row;
        remove_at(m, q, at);
        append(m, q, moved);
        row = &m->queue[q][m->count[q] - 1];
    }
    if (row->writing)
        return NOT_INSERTED;
    row->readers++;
    return HIT;
}

static void complete(struct model *m, gnn_node node, enum outcome outcome)
{
    uint32_t q, at;
    struct row *const row = outcome == NOT_INSERTED ? NULL : find(m, node, &q, &at);
    if (row == NULL)
        return;
    if (outcome == INSERTED)
        row->writing = false;
    else
        row->readers--;
}

/* ---- the cache under test ---- */

struct cache {
    struct graphbolt_part part;
    struct graphbolt_entry entry[ROWS_MAX];
    uint32_t where[NODES];
    gnn_node ghosts[ROWS_MAX];
};

static void open_cache(struct cache *c, enum graphbolt_policy_kind kind, uint32_t rows)
{
    memset(c, 0, sizeof *c);
    graphbolt_part_init(&c->part, kind, rows, c->entry, c->where, c->ghosts);
}

static enum outcome outcome_of(uint32_t taken)
{
    if ((taken & GRAPHBOLT_MISSED) == 0)
        return HIT;
    return (taken & ~GRAPHBOLT_MISSED) == GRAPHBOLT_NO_SLOT ? NOT_INSERTED : INSERTED;
}

/* Returns a node; low numbers are drawn more often. */
static gnn_node draw(struct gnn_rng *rng)
{
    const double u = gnn_rng_unit(rng);
    return (gnn_node)(u * u * NODES);
}

/* Every lookup of a random trace has the model's result. `open_uses` lookups are in use at a time. */
static void check_trace(enum graphbolt_policy_kind kind, uint64_t seed)
{
    struct gnn_rng rng = gnn_rng_at(seed);
    const uint32_t rows = 1 + (uint32_t)gnn_rng_below(&rng, ROWS_MAX);
    const uint32_t open_uses = (uint32_t)gnn_rng_below(&rng, gnn_rng_below(&rng, 2) == 0 ? 4 : 2 * ROWS_MAX);
    gnn_node nodes[TAKES_MAX];
    uint32_t taken[TAKES_MAX];
    struct cache c;
    struct model m = {.kind = kind, .rows = rows};
    open_cache(&c, kind, rows);
    for (uint32_t t = 0; t < TAKES_MAX; t++) {
        nodes[t] = draw(&rng);
        taken[t] = graphbolt_part_take(&c.part, nodes[t]);
        const enum outcome expected = take(&m, nodes[t]);
        if (outcome_of(taken[t]) != expected)
            fail_msg("%s, seed %llu, %u rows: lookup %u of node %u gave %d, expected %d", c.part.policy->name,
                     (unsigned long long)seed, rows, t, nodes[t], (int)outcome_of(taken[t]), (int)expected);
        if (expected != NOT_INSERTED)
            assert_int_equal(c.entry[taken[t] & ~GRAPHBOLT_MISSED].node, nodes[t]);
        if (t < open_uses)
            continue;
        graphbolt_part_complete(&c.part, taken[t - open_uses]);
        complete(&m, nodes[t - open_uses], outcome_of(taken[t - open_uses]));
    }
}

static void test_policies_against_models(void **state)
{
    (void)state;
    for (int kind = GRAPHBOLT_LRU; kind <= GRAPHBOLT_S3_FIFO; kind++)
        for (uint64_t seed = 1; seed <= TRACES; seed++)
            check_trace((enum graphbolt_policy_kind)kind, seed);
}

/* ---- traces by hand ---- */

/* Looks the nodes up one after the other, each completed at once, and returns the hits as a text of h and m. */
static void run(struct cache *c, const char *nodes, char *hits)
{
    for (; *nodes != '\0'; nodes++, hits++) {
        const uint32_t taken = graphbolt_part_take(&c->part, (gnn_node)(*nodes - 'a'));
        *hits = outcome_of(taken) == HIT ? 'h' : 'm';
        graphbolt_part_complete(&c->part, taken);
    }
    *hits = '\0';
}

static void expect(enum graphbolt_policy_kind kind, uint32_t rows, const char *nodes, const char *hits)
{
    struct cache c;
    char found[64];
    open_cache(&c, kind, rows);
    run(&c, nodes, found);
    assert_string_equal(found, hits);
}

/* Three rows. d has to replace a, b or c, of which a was used again: all three drop b. e: c goes. Then a is used, and f
 * and g drop d and e. a is there, d is not. */
static void test_three_rows(void **state)
{
    (void)state;
    expect(GRAPHBOLT_LRU, 3, "abcadeafgad", "mmmhmmhmmhm");
    expect(GRAPHBOLT_CLOCK, 3, "abcadeafgad", "mmmhmmhmmhm");
    expect(GRAPHBOLT_SIEVE, 3, "abcadeafgad", "mmmhmmhmmhm");
}

/* Three rows; a is used once more, then new nodes come: d drops b, e drops c.
 * f: LRU drops a, its oldest use. CLOCK has the order a d e without marks and drops a. SIEVE's hand has passed a and
 * drops d. The last lookup of a thus hits under SIEVE alone. */
static void test_sieve_keeps_what_was_used(void **state)
{
    (void)state;
    expect(GRAPHBOLT_LRU, 3, "abcadefa", "mmmhmmmm");
    expect(GRAPHBOLT_CLOCK, 3, "abcadefa", "mmmhmmmm");
    expect(GRAPHBOLT_SIEVE, 3, "abcadefa", "mmmhmmmh");
}

/* Three rows; b is used, then a. d drops c under both. e: LRU drops b, whose use is older. CLOCK ignores the order of
 * the uses and drops a, which was queued first. */
static void test_clock_ignores_the_order_of_uses(void **state)
{
    (void)state;
    expect(GRAPHBOLT_LRU, 3, "abcbadea", "mmmhhmmh");
    expect(GRAPHBOLT_CLOCK, 3, "abcbadea", "mmmhhmmm");
}

/* Ten rows, of which the small queue has one. a to j fill the cache; k drops a, whose node is noted. a comes back into
 * the main queue, in place of b. Nine more nodes drop c to k from the small queue, and a stays. LRU drops it. */
static void test_s3_fifo_remembers(void **state)
{
    (void)state;
    expect(GRAPHBOLT_S3_FIFO, 10, "abcdefghijkalmnopqrsta", "mmmmmmmmmmmmmmmmmmmmmh");
    expect(GRAPHBOLT_LRU, 10, "abcdefghijkalmnopqrstua", "mmmmmmmmmmmmmmmmmmmmmmm");
}

/* A row that is being written is missed without being inserted again, and a row in use is not evicted. */
static void test_rows_in_use(void **state)
{
    (void)state;
    for (int kind = GRAPHBOLT_LRU; kind <= GRAPHBOLT_S3_FIFO; kind++) {
        struct cache c;
        open_cache(&c, (enum graphbolt_policy_kind)kind, 2);
        const uint32_t a = graphbolt_part_take(&c.part, 0);
        assert_int_equal(outcome_of(a), INSERTED);
        assert_int_equal(outcome_of(graphbolt_part_take(&c.part, 0)), NOT_INSERTED);
        const uint32_t b = graphbolt_part_take(&c.part, 1);
        assert_int_equal(c.part.busy, 2);
        assert_int_equal(outcome_of(graphbolt_part_take(&c.part, 2)), NOT_INSERTED);
        graphbolt_part_complete(&c.part, a);
        const uint32_t reading = graphbolt_part_take(&c.part, 0), again = graphbolt_part_take(&c.part, 0);
        assert_int_equal(outcome_of(reading), HIT);
        graphbolt_part_complete(&c.part, reading);
        assert_int_equal(outcome_of(graphbolt_part_take(&c.part, 2)), NOT_INSERTED); /* `again` still reads */
        graphbolt_part_complete(&c.part, again);
        assert_int_equal(c.part.busy, 1);
        assert_int_equal(outcome_of(graphbolt_part_take(&c.part, 2)), INSERTED); /* in place of node 0 */
        graphbolt_part_complete(&c.part, b);
        assert_int_equal(outcome_of(graphbolt_part_take(&c.part, 1)), HIT);
        assert_int_equal(c.part.evictions, 1);
    }
}

int main(void)
{
    end_a_hang();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies_against_models),   cmocka_unit_test(test_three_rows),
        cmocka_unit_test(test_sieve_keeps_what_was_used), cmocka_unit_test(test_clock_ignores_the_order_of_uses),
        cmocka_unit_test(test_s3_fifo_remembers),         cmocka_unit_test(test_rows_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
