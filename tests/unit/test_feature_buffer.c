/* SPDX-License-Identifier: MIT */
/* GNNDrive's feature buffer: reference counts, LRU standby list, wait list, joint extraction, the reservation
 * against deadlock and the watchdog that reports one (docs/invariants.md, GNNDrive: 1, 2, 3, 5, 6, 8, 10, 12). */
#include "harness/base/rng.h"
#include "harness/world/measured/measured.h"
#include "systems/gnndrive/feature_buffer.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCH_MAX = 64 };

/* A claim with room for BATCH_MAX nodes. */
struct batch {
    struct gnndrive_claim claim;
    gnn_node nodes[BATCH_MAX];
    uint32_t alias[BATCH_MAX], key[BATCH_MAX], slot[BATCH_MAX], wait[BATCH_MAX], pending[BATCH_MAX];
};

static void set_batch(struct batch *b, uint32_t extractor, const gnn_node *nodes, uint32_t count)
{
    assert_true(count <= BATCH_MAX);
    memcpy(b->nodes, nodes, count * sizeof *nodes);
    b->claim = (struct gnndrive_claim){.extractor = extractor,
                                       .nodes = b->nodes,
                                       .node_count = count,
                                       .alias = b->alias,
                                       .load_key = b->key,
                                       .load_slot = b->slot,
                                       .wait = b->wait,
                                       .pending = b->pending};
}

static void set_range(struct batch *b, uint32_t extractor, gnn_node first, uint32_t count)
{
    gnn_node nodes[BATCH_MAX];
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = first + i;
    set_batch(b, extractor, nodes, count);
}

struct fixture {
    struct gnn_world *world;
    struct gnndrive_buffer *fb;
};

static void open_buffer(struct fixture *f, uint32_t nodes, uint32_t slots, uint32_t group, uint32_t extractors)
{
    struct gnn_err err = {0};
    const struct gnndrive_buffer_config config = {
        .node_count = nodes, .slots = slots, .rows_per_slot = group, .extractors = extractors};
    assert_int_equal(gnn_world_measured_open(NULL, &f->world, &err), GNN_OK);
    assert_int_equal(gnndrive_buffer_open(f->world, &config, &f->fb, &err), GNN_OK);
    gnndrive_buffer_begin(f->fb);
}

static void close_buffer(struct fixture *f)
{
    gnndrive_buffer_close(f->fb);
    gnn_world_measured_close(f->world);
}

static void check(struct fixture *f, bool idle)
{
    struct gnn_err err = {0};
    must(gnndrive_buffer_check(f->fb, idle, &err), &err);
}

/* pin and take everything; loads stay unready. */
static void claim_all(struct fixture *f, struct batch *b)
{
    struct gnn_err err = {0};
    gnndrive_buffer_pin(f->fb, &b->claim);
    assert_int_equal(gnndrive_buffer_take_slots(f->fb, &b->claim, UINT32_MAX, &err), GNN_OK);
    assert_int_equal(b->claim.slot_count, b->claim.load_count);
}

static void make_ready(struct fixture *f, struct batch *b)
{
    uint32_t index[BATCH_MAX];
    for (uint32_t i = 0; i < b->claim.load_count; i++)
        index[i] = b->claim.load_count - 1 - i; /* completions come in any order */
    gnndrive_buffer_ready(f->fb, &b->claim, index, b->claim.load_count);
}

static void extract(struct fixture *f, struct batch *b)
{
    struct gnn_err err = {0};
    claim_all(f, b);
    make_ready(f, b);
    assert_int_equal(gnndrive_buffer_wait_rows(f->fb, &b->claim, &err), GNN_OK);
    gnndrive_buffer_publish(f->fb, &b->claim);
}

static void release(struct fixture *f, struct batch *b)
{
    gnndrive_buffer_release(f->fb, b->claim.nodes, b->claim.node_count);
}

/* ---- one batch after another ---- */

static void test_slots_are_given_in_order_of_last_release(void **state)
{
    (void)state;
    struct fixture f;
    open_buffer(&f, 100, 6, 1, 1);
    struct batch a, b, c;
    gnndrive_buffer_lock(f.fb);
    set_batch(&a, 0, (gnn_node[]){50, 7, 9}, 3);
    extract(&f, &a);
    assert_memory_equal(a.alias, ((uint32_t[]){0, 1, 2}), sizeof(uint32_t[3]));
    release(&f, &a);
    uint32_t order[6];
    assert_int_equal(gnndrive_buffer_standby(f.fb, order, 6), 6);
    assert_memory_equal(order, ((uint32_t[]){3, 4, 5, 0, 1, 2}), sizeof order);

    set_batch(&b, 0, (gnn_node[]){9, 1, 2, 3, 4}, 5); /* hits 9 in slot 2; 4 takes the slot of 50 */
    extract(&f, &b);
    assert_memory_equal(b.alias, ((uint32_t[]){2, 3, 4, 5, 0}), sizeof(uint32_t[5]));
    bool ready;
    assert_int_equal(gnndrive_buffer_find(f.fb, 50, &ready), GNN_NODE_NONE);
    assert_false(ready);
    check(&f, false);
    release(&f, &b);

    set_batch(&c, 0, (gnn_node[]){50}, 1); /* evicted, hence loaded again, into the slot of 7 */
    extract(&f, &c);
    assert_int_equal(c.claim.load_count, 1);
    assert_int_equal(c.alias[0], 1);
    release(&f, &c);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    struct gnndrive_buffer_counts n;
    gnndrive_buffer_counts(f.fb, &n);
    assert_int_equal(n.rows, 9);
    assert_int_equal(n.ready_rows, 1);
    assert_int_equal(n.loads, 8);
    assert_int_equal(n.evictions, 2);
    assert_int_equal(n.slot_waits + n.row_waits + n.waited_rows + n.joint_rows, 0);
    close_buffer(&f);
}

static void test_a_batch_never_evicts_its_own_hits(void **state)
{
    (void)state;
    struct fixture f;
    open_buffer(&f, 100, 5, 1, 1);
    struct batch a, b;
    gnndrive_buffer_lock(f.fb);
    set_range(&a, 0, 10, 5);
    extract(&f, &a);
    release(&f, &a);
    /* 10 is the next victim; a one-pass claim would give its slot to 20 before it meets the hit. */
    set_batch(&b, 0, (gnn_node[]){20, 21, 12, 11, 10}, 5);
    extract(&f, &b);
    assert_memory_equal(b.alias, ((uint32_t[]){3, 4, 2, 1, 0}), sizeof(uint32_t[5]));
    check(&f, false);
    release(&f, &b);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    close_buffer(&f);
}

static void test_members_of_a_group_share_one_read(void **state)
{
    (void)state;
    struct fixture f;
    open_buffer(&f, 18, 4, 4, 2); /* groups {0..3} .. {16, 17} */
    struct batch a, b;
    struct gnn_err err = {0};
    gnndrive_buffer_lock(f.fb);
    set_batch(&a, 0, (gnn_node[]){17, 5, 16, 6, 4}, 5);
    claim_all(&f, &a);
    assert_int_equal(a.claim.load_count, 2);
    assert_int_equal(a.claim.load_key[0], 4);
    assert_int_equal(a.claim.load_key[1], 1);
    assert_int_equal(a.claim.wait_count, 0);
    set_batch(&b, 1, (gnn_node[]){7, 0}, 2); /* 7's group is being loaded by the other */
    claim_all(&f, &b);
    assert_int_equal(b.claim.wait_count, 1);
    assert_int_equal(b.claim.load_count, 1);
    make_ready(&f, &a);
    gnndrive_buffer_publish(f.fb, &a.claim);
    make_ready(&f, &b);
    assert_int_equal(gnndrive_buffer_wait_rows(f.fb, &b.claim, &err), GNN_OK);
    gnndrive_buffer_publish(f.fb, &b.claim);
    assert_memory_equal(a.alias, ((uint32_t[]){1, 5, 0, 6, 4}), sizeof(uint32_t[5]));
    assert_memory_equal(b.alias, ((uint32_t[]){7, 8}), sizeof(uint32_t[2]));
    release(&f, &a);
    bool ready;
    assert_int_equal(gnndrive_buffer_find(f.fb, 4, &ready), 1); /* still counted by 7 */
    check(&f, false);
    release(&f, &b);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    struct gnndrive_buffer_counts n;
    gnndrive_buffer_counts(f.fb, &n);
    assert_int_equal(n.joint_rows, 3);
    assert_int_equal(n.loads, 3);
    assert_int_equal(n.waited_rows, 1);
    close_buffer(&f);
}

static void test_tables_weigh_what_the_released_code_holds(void **state)
{
    (void)state;
    const struct gnndrive_buffer_config compact = {
        .node_count = 1000, .slots = 100, .rows_per_slot = 4, .extractors = 1};
    assert_int_equal(gnndrive_buffer_table_bytes(&compact), 8 * 250 + 4 * 100 + 8 * 101);
    struct gnndrive_buffer_config artifact = compact;
    artifact.artifact_tables = true;
    assert_int_equal(gnndrive_buffer_table_bytes(&artifact), 24 * 1000 + 8 * 400 + 72 * 100);
    struct gnn_world *world;
    struct gnndrive_buffer *fb;
    struct gnn_err err = {0};
    struct gnn_mem_usage usage;
    assert_int_equal(gnn_world_measured_open(NULL, &world, &err), GNN_OK);
    assert_int_equal(gnndrive_buffer_open(world, &artifact, &fb, &err), GNN_OK);
    gnn_mem_usage(world, &usage);
    assert_in_range(usage.current_bytes, 24 * 1000 + 8 * 400 + 72 * 100, 34400 + 4 * 4096);
    gnndrive_buffer_close(fb);
    gnn_mem_usage(world, &usage);
    assert_int_equal(usage.current_bytes, 0);
    artifact.slots = 1u << 31;
    assert_int_equal(gnndrive_buffer_open(world, &artifact, &fb, &err), GNN_EUSAGE);
    gnn_world_measured_close(world);
}

/* ---- a reference LRU on random traces ---- */

enum { MODEL_SLOTS = 24, MODEL_NODES = 90, MODEL_LIVE = 3, UNIVERSE_MAX = 600 };

/* The plainest possible buffer: the standby list is an array, everything is searched. */
struct model {
    uint32_t slots, group;
    uint32_t owner[MODEL_SLOTS];
    uint32_t refs[MODEL_NODES], slot[MODEL_NODES]; /* by key */
    uint32_t standby[MODEL_SLOTS], standby_count;
    uint64_t loads, evictions;
};

static void model_open(struct model *m, uint32_t slots, uint32_t group)
{
    *m = (struct model){.slots = slots, .group = group, .standby_count = slots};
    for (uint32_t i = 0; i < slots; i++) {
        m->standby[i] = i;
        m->owner[i] = GNN_NODE_NONE;
    }
    for (uint32_t i = 0; i < MODEL_NODES; i++)
        m->slot[i] = GNN_NODE_NONE;
}

static void model_drop(struct model *m, uint32_t position)
{
    m->standby_count--;
    memmove(m->standby + position, m->standby + position + 1, (m->standby_count - position) * sizeof *m->standby);
}

static void model_claim(struct model *m, const gnn_node *nodes, uint32_t count, uint32_t *alias)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t key = nodes[i] / m->group;
        for (uint32_t p = 0; m->refs[key] == 0 && m->slot[key] != GNN_NODE_NONE && p < m->standby_count; p++)
            if (m->standby[p] == m->slot[key]) {
                model_drop(m, p);
                break;
            }
        m->refs[key]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t key = nodes[i] / m->group;
        if (m->slot[key] == GNN_NODE_NONE) {
            const uint32_t victim = m->standby[0];
            model_drop(m, 0);
            if (m->owner[victim] != GNN_NODE_NONE) {
                m->slot[m->owner[victim]] = GNN_NODE_NONE;
                m->evictions++;
            }
            m->owner[victim] = key;
            m->slot[key] = victim;
            m->loads++;
        }
        alias[i] = m->slot[key] * m->group + nodes[i] % m->group;
    }
}

static void model_release(struct model *m, const gnn_node *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t key = nodes[i] / m->group;
        if (--m->refs[key] == 0)
            m->standby[m->standby_count++] = m->slot[key];
    }
}

static uint32_t random_nodes(struct gnn_rng *rng, gnn_node *nodes, uint32_t max, uint32_t universe)
{
    bool taken[UNIVERSE_MAX] = {false};
    const uint32_t count = 1 + (uint32_t)gnn_rng_below(rng, max);
    for (uint32_t i = 0; i < count;) {
        const gnn_node node = (gnn_node)(gnn_rng_unit(rng) * gnn_rng_unit(rng) * universe); /* some are hot */
        if (!taken[node])
            nodes[i++] = node;
        taken[node] = true;
    }
    return count;
}

static void run_trace(uint64_t seed, uint32_t group, uint32_t slots)
{
    struct fixture f;
    struct model m;
    struct batch live[MODEL_LIVE];
    uint32_t live_count = 0;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(seed, group));
    open_buffer(&f, MODEL_NODES, slots, group, 1);
    model_open(&m, slots, group);
    gnndrive_buffer_lock(f.fb);
    for (uint32_t step = 0; step < 2000; step++) {
        const bool full = live_count == MODEL_LIVE;
        if (full || (live_count > 0 && gnn_rng_below(&rng, 2) == 0)) {
            const uint32_t which = (uint32_t)gnn_rng_below(&rng, live_count);
            release(&f, &live[which]);
            model_release(&m, live[which].nodes, live[which].claim.node_count);
            struct batch *last = &live[--live_count];
            if (which != live_count)
                set_batch(&live[which], 0, last->nodes, last->claim.node_count);
        } else {
            gnn_node nodes[BATCH_MAX];
            uint32_t alias[BATCH_MAX];
            const uint32_t count = random_nodes(&rng, nodes, slots / MODEL_LIVE, MODEL_NODES);
            struct batch *b = &live[live_count++];
            set_batch(b, 0, nodes, count);
            extract(&f, b);
            model_claim(&m, nodes, count, alias);
            assert_memory_equal(b->alias, alias, count * sizeof *alias);
        }
        uint32_t standby[MODEL_SLOTS];
        assert_int_equal(gnndrive_buffer_standby(f.fb, standby, MODEL_SLOTS), m.standby_count);
        assert_memory_equal(standby, m.standby, m.standby_count * sizeof *standby);
        check(&f, live_count == 0);
    }
    while (live_count > 0)
        release(&f, &live[--live_count]);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    struct gnndrive_buffer_counts n;
    gnndrive_buffer_counts(f.fb, &n);
    assert_int_equal(n.loads, m.loads);
    assert_int_equal(n.evictions, m.evictions);
    assert_int_equal(n.ready_rows + n.loads + n.joint_rows + n.waited_rows, n.rows);
    assert_true(n.evictions > 100);
    close_buffer(&f);
}

static void test_random_traces_match_a_reference_lru(void **state)
{
    (void)state;
    static const struct {
        uint32_t group, slots; /* fewer slots than the 90 nodes have groups */
    } cases[] = {{1, 24}, {2, 18}, {3, 12}, {4, 9}};
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            print_message("trace seed %lu, %u rows per slot\n", (unsigned long)seed, cases[c].group);
            run_trace(seed, cases[c].group, cases[c].slots);
        }
}

/* One batch at a time, a larger buffer holds all that a smaller one does (LRU inclusion). */
static void test_serial_reads_never_increase_with_the_buffer(void **state)
{
    (void)state;
    for (uint32_t group = 1; group <= 4; group += 3) {
        uint64_t before = UINT64_MAX;
        for (uint32_t slots = 12; slots <= 60; slots += 6) {
            struct fixture f;
            struct gnn_rng rng = gnn_rng_at(99);
            open_buffer(&f, 200, slots, group, 1);
            gnndrive_buffer_lock(f.fb);
            for (uint32_t step = 0; step < 1500; step++) {
                gnn_node nodes[12];
                struct batch b;
                set_batch(&b, 0, nodes, random_nodes(&rng, nodes, 12, 200));
                extract(&f, &b);
                release(&f, &b);
            }
            check(&f, true);
            gnndrive_buffer_unlock(f.fb);
            struct gnndrive_buffer_counts n;
            gnndrive_buffer_counts(f.fb, &n);
            assert_true(n.loads <= before);
            before = n.loads;
            close_buffer(&f);
        }
        assert_in_range(before, 40, 5000); /* of about 9700 rows */
    }
}

/* ---- giving up ---- */

static void test_an_abandoned_claim_leaves_nothing_behind(void **state)
{
    (void)state;
    for (uint32_t taken = 0; taken <= 4; taken++) {
        for (uint32_t arrived = 0; arrived <= taken; arrived++) {
            struct fixture f;
            open_buffer(&f, 100, 9, 1, 2);
            struct batch old, a, b;
            struct gnn_err err = {0};
            gnndrive_buffer_lock(f.fb);
            set_range(&old, 0, 0, 2);
            extract(&f, &old);
            release(&f, &old);
            set_batch(&a, 0, (gnn_node[]){0, 10, 11, 12, 13}, 5);
            gnndrive_buffer_pin(f.fb, &a.claim);
            assert_int_equal(gnndrive_buffer_take_slots(f.fb, &a.claim, taken, &err), GNN_OK);
            assert_int_equal(a.claim.slot_count, taken);
            set_batch(&b, 1, (gnn_node[]){13, 10, 20}, 3); /* waits for two of them */
            gnndrive_buffer_pin(f.fb, &b.claim);
            gnndrive_buffer_ready(f.fb, &a.claim, (uint32_t[]){0, 1, 2, 3}, arrived);
            check(&f, false);
            gnndrive_buffer_abandon(f.fb, &a.claim);
            check(&f, false);
            gnndrive_buffer_abandon(f.fb, &b.claim);
            check(&f, true);
            bool ready;
            for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(gnndrive_buffer_find(f.fb, 10 + i, &ready) != GNN_NODE_NONE, i < arrived);
            gnndrive_buffer_unlock(f.fb);
            close_buffer(&f);
        }
    }
}

/* ---- threads ---- */

struct sleeper {
    struct fixture *f;
    struct batch *b;
    struct gnn_thread *thread;
    enum gnn_status status;
    struct gnn_err err;
    atomic_bool started;
};

static void take_rest(void *arg)
{
    struct sleeper *s = arg;
    gnndrive_buffer_lock(s->f->fb);
    atomic_store(&s->started, true);
    s->status = gnndrive_buffer_take_slots(s->f->fb, &s->b->claim, UINT32_MAX, &s->err);
    gnndrive_buffer_unlock(s->f->fb);
}

static void wait_rest(void *arg)
{
    struct sleeper *s = arg;
    gnndrive_buffer_lock(s->f->fb);
    atomic_store(&s->started, true);
    s->status = gnndrive_buffer_wait_rows(s->f->fb, &s->b->claim, &s->err);
    gnndrive_buffer_unlock(s->f->fb);
}

/* Returns once the thread is inside its sleep: it holds the lock from `started` until then. */
static void start_sleeper(struct sleeper *s, struct fixture *f, struct batch *b, gnn_thread_fn *fn)
{
    *s = (struct sleeper){.f = f, .b = b};
    struct gnn_err err = {0};
    assert_int_equal(gnn_thread_start(f->world, "sleeper", fn, s, &s->thread, &err), GNN_OK);
    while (!atomic_load(&s->started))
        gnn_sleep_until(f->world, gnn_now_ns(f->world) + 100000, GNN_WAIT_RESOURCE);
    gnndrive_buffer_lock(f->fb);
    gnndrive_buffer_unlock(f->fb);
}

/* Every extractor takes one slot in turn until all have n - 1; then one after another asks for its last. */
static void round_robin(uint32_t extractors, uint32_t n, bool one_spare)
{
    struct fixture f;
    struct batch b[4];
    struct sleeper s[4];
    struct gnn_err err = {0};
    open_buffer(&f, 100, extractors * (n - 1) + (one_spare ? 1 : 0), 1, extractors);
    gnndrive_buffer_lock(f.fb);
    for (uint32_t e = 0; e < extractors; e++) {
        set_range(&b[e], e, e * 20, n);
        gnndrive_buffer_pin(f.fb, &b[e].claim);
    }
    for (uint32_t turn = 0; turn + 1 < n; turn++)
        for (uint32_t e = 0; e < extractors; e++)
            assert_int_equal(gnndrive_buffer_take_slots(f.fb, &b[e].claim, 1, &err), GNN_OK);
    gnndrive_buffer_unlock(f.fb);
    for (uint32_t e = 1; e < extractors && !one_spare; e++)
        start_sleeper(&s[e], &f, &b[e], take_rest);
    gnndrive_buffer_lock(f.fb);
    const enum gnn_status status = gnndrive_buffer_take_slots(f.fb, &b[0].claim, 1, &err);
    gnndrive_buffer_unlock(f.fb);
    assert_int_equal(status, one_spare ? GNN_OK : GNN_EBUG);
    if (one_spare) {
        for (uint32_t e = 1; e < extractors; e++)
            start_sleeper(&s[e], &f, &b[e], take_rest);
        for (uint32_t done = 0; done < extractors; done++) { /* each release lets exactly one more finish */
            uint32_t e = 0;
            gnndrive_buffer_lock(f.fb);
            while (b[e].claim.slot_count < n || b[e].claim.node_count == 0) {
                if (++e == extractors) {
                    e = 0;
                    gnndrive_buffer_unlock(f.fb);
                    gnn_sleep_until(f.world, gnn_now_ns(f.world) + 100000, GNN_WAIT_RESOURCE);
                    gnndrive_buffer_lock(f.fb);
                }
            }
            make_ready(&f, &b[e]);
            gnndrive_buffer_publish(f.fb, &b[e].claim);
            release(&f, &b[e]);
            b[e].claim.node_count = 0;
            gnndrive_buffer_unlock(f.fb);
        }
    } else {
        assert_non_null(strstr(err.message, "deadlock"));
        assert_non_null(strstr(err.message, "gnndrive.buffer_mult"));
        gnndrive_buffer_cancel(f.fb);
    }
    for (uint32_t e = 1; e < extractors; e++) {
        gnn_thread_join(f.world, s[e].thread);
        assert_int_equal(s[e].status, one_spare ? GNN_OK : GNN_ECANCELLED);
    }
    gnndrive_buffer_lock(f.fb);
    for (uint32_t e = 0; e < extractors && !one_spare; e++)
        gnndrive_buffer_abandon(f.fb, &b[e].claim);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    close_buffer(&f);
}

static void test_the_reservation_is_tight(void **state)
{
    (void)state;
    for (uint32_t extractors = 2; extractors <= 4; extractors++)
        for (uint32_t n = 2; n <= 5; n++) {
            round_robin(extractors, n, false);
            round_robin(extractors, n, true);
        }
}

static void test_the_watchdog_sees_a_wait_for_a_row_too(void **state)
{
    (void)state;
    struct fixture f;
    struct batch a, b;
    struct sleeper s;
    struct gnn_err err = {0};
    open_buffer(&f, 100, 3, 1, 2);
    gnndrive_buffer_lock(f.fb);
    set_range(&a, 0, 0, 2); /* 0 and 1: has one slot, wants another */
    set_batch(&b, 1, (gnn_node[]){1, 10, 11}, 3);
    gnndrive_buffer_pin(f.fb, &a.claim);
    gnndrive_buffer_pin(f.fb, &b.claim);
    assert_int_equal(gnndrive_buffer_take_slots(f.fb, &a.claim, 1, &err), GNN_OK);
    assert_int_equal(gnndrive_buffer_take_slots(f.fb, &b.claim, 2, &err), GNN_OK);
    make_ready(&f, &b);
    gnndrive_buffer_unlock(f.fb);
    start_sleeper(&s, &f, &b, wait_rest);
    gnndrive_buffer_lock(f.fb);
    assert_int_equal(gnndrive_buffer_take_slots(f.fb, &a.claim, 1, &err), GNN_EBUG);
    gnndrive_buffer_unlock(f.fb);
    gnndrive_buffer_cancel(f.fb);
    gnn_thread_join(f.world, s.thread);
    assert_int_equal(s.status, GNN_ECANCELLED);
    gnndrive_buffer_lock(f.fb);
    gnndrive_buffer_abandon(f.fb, &b.claim);
    gnndrive_buffer_abandon(f.fb, &a.claim);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    close_buffer(&f);
}

/* Its rows and slots never come, but that is the failed batch's error to tell. */
static void test_a_failed_batch_is_not_taken_for_a_deadlock(void **state)
{
    (void)state;
    struct fixture f;
    struct batch failing, waits_for_row, waits_for_slot;
    struct sleeper row, slot;
    open_buffer(&f, 100, 2, 1, 3);
    gnndrive_buffer_lock(f.fb);
    set_range(&failing, 0, 0, 2);
    claim_all(&f, &failing);
    set_range(&waits_for_row, 1, 0, 2);
    claim_all(&f, &waits_for_row);
    set_range(&waits_for_slot, 2, 50, 1);
    gnndrive_buffer_pin(f.fb, &waits_for_slot.claim);
    gnndrive_buffer_unlock(f.fb);
    start_sleeper(&row, &f, &waits_for_row, wait_rest);
    start_sleeper(&slot, &f, &waits_for_slot, take_rest);
    gnndrive_buffer_lock(f.fb);
    gnndrive_buffer_abandon(f.fb, &failing.claim); /* wakes the third, for nothing: the second holds both */
    gnndrive_buffer_unlock(f.fb);
    gnn_sleep_until(f.world, gnn_now_ns(f.world) + 5000000, GNN_WAIT_RESOURCE);
    gnndrive_buffer_cancel(f.fb);
    gnn_thread_join(f.world, row.thread);
    gnn_thread_join(f.world, slot.thread);
    assert_int_equal(row.status, GNN_ECANCELLED);
    assert_int_equal(slot.status, GNN_ECANCELLED);
    gnndrive_buffer_lock(f.fb);
    gnndrive_buffer_abandon(f.fb, &waits_for_row.claim);
    gnndrive_buffer_abandon(f.fb, &waits_for_slot.claim);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    close_buffer(&f);
}

static void test_a_waiter_wakes_when_the_row_arrives(void **state)
{
    (void)state;
    struct fixture f;
    struct batch a, b;
    struct sleeper s;
    open_buffer(&f, 100, 10, 1, 2);
    gnndrive_buffer_lock(f.fb);
    set_range(&a, 0, 0, 4);
    claim_all(&f, &a);
    set_range(&b, 1, 2, 4); /* 2 and 3 are being read by the other */
    claim_all(&f, &b);
    assert_int_equal(b.claim.wait_count, 2);
    assert_int_equal(b.claim.load_count, 2);
    make_ready(&f, &b);
    gnndrive_buffer_unlock(f.fb);
    start_sleeper(&s, &f, &b, wait_rest);
    for (uint32_t i = 0; i < 4; i++) { /* two wakes for nothing, one for a part, one for all */
        gnndrive_buffer_lock(f.fb);
        gnndrive_buffer_ready(f.fb, &a.claim, &i, 1);
        gnndrive_buffer_unlock(f.fb);
    }
    gnn_thread_join(f.world, s.thread);
    assert_int_equal(s.status, GNN_OK);
    gnndrive_buffer_lock(f.fb);
    gnndrive_buffer_publish(f.fb, &b.claim);
    gnndrive_buffer_publish(f.fb, &a.claim);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(b.alias[i], a.alias[i + 2]);
    release(&f, &a);
    release(&f, &b);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    struct gnndrive_buffer_counts n;
    gnndrive_buffer_counts(f.fb, &n);
    assert_int_equal(n.loads, 6);
    assert_int_equal(n.waited_rows, 2);
    assert_in_range(n.row_waits, 1, 4);
    close_buffer(&f);
}

static void test_admission_follows_tickets_and_space(void **state)
{
    (void)state;
    struct fixture f;
    struct batch a, b;
    open_buffer(&f, 100, 10, 1, 2);
    gnndrive_buffer_lock(f.fb);
    assert_int_equal(gnndrive_buffer_admit(f.fb, 0, 6), GNN_OK);
    assert_int_equal(gnndrive_buffer_admit(f.fb, 1, 4), GNN_OK); /* exactly full */
    set_range(&a, 0, 0, 6);
    set_range(&b, 1, 10, 4);
    extract(&f, &a);
    extract(&f, &b);
    release(&f, &a);
    assert_int_equal(gnndrive_buffer_admit(f.fb, 2, 6), GNN_OK);
    gnndrive_buffer_unlock(f.fb);
    gnndrive_buffer_cancel(f.fb);
    gnndrive_buffer_lock(f.fb);
    assert_int_equal(gnndrive_buffer_admit(f.fb, 3, 1), GNN_ECANCELLED); /* no room: would have slept */
    assert_int_equal(gnndrive_buffer_admit(f.fb, 9, 1), GNN_ECANCELLED); /* not its turn */
    release(&f, &b);
    check(&f, true);
    gnndrive_buffer_unlock(f.fb);
    close_buffer(&f);
}

struct applicant {
    struct fixture *f;
    uint32_t ticket, node_count;
    struct gnn_thread *thread;
    enum gnn_status status;
    atomic_bool started, admitted;
};

static void apply(void *arg)
{
    struct applicant *a = arg;
    gnndrive_buffer_lock(a->f->fb);
    atomic_store(&a->started, true);
    a->status = gnndrive_buffer_admit(a->f->fb, a->ticket, a->node_count);
    atomic_store(&a->admitted, true);
    gnndrive_buffer_unlock(a->f->fb);
}

static void start_applicant(struct applicant *a, struct fixture *f, uint32_t ticket, uint32_t node_count)
{
    struct gnn_err err = {0};
    *a = (struct applicant){.f = f, .ticket = ticket, .node_count = node_count};
    assert_int_equal(gnn_thread_start(f->world, "applicant", apply, a, &a->thread, &err), GNN_OK);
    while (!atomic_load(&a->started))
        gnn_sleep_until(f->world, gnn_now_ns(f->world) + 100000, GNN_WAIT_RESOURCE);
    gnndrive_buffer_lock(f->fb); /* free only when it sleeps or is through */
    gnndrive_buffer_unlock(f->fb);
}

static void join_applicant(struct applicant *a)
{
    gnn_thread_join(a->f->world, a->thread);
    assert_int_equal(a->status, GNN_OK);
}

/* A later ticket sleeps though there is room; the next one sleeps while there is none. */
static void test_admission_sleeps_until_its_turn_and_room(void **state)
{
    (void)state;
    struct fixture f;
    struct batch first;
    struct applicant second, third;
    open_buffer(&f, 100, 10, 1, 3);
    start_applicant(&third, &f, 2, 1);
    assert_false(atomic_load(&third.admitted));
    gnndrive_buffer_lock(f.fb);
    assert_int_equal(gnndrive_buffer_admit(f.fb, 0, 6), GNN_OK);
    set_range(&first, 0, 0, 6);
    extract(&f, &first);
    gnndrive_buffer_unlock(f.fb);
    start_applicant(&second, &f, 1, 5); /* 6 + 5 > 10 */
    assert_false(atomic_load(&second.admitted));
    assert_false(atomic_load(&third.admitted));
    gnndrive_buffer_lock(f.fb);
    release(&f, &first);
    gnndrive_buffer_unlock(f.fb);
    join_applicant(&second); /* woken by the release */
    join_applicant(&third);  /* woken by the second's admission */
    close_buffer(&f);
}

/* Extractors and a releaser at full speed over the smallest buffer that must not deadlock. Slots hold the key
 * they were loaded with, so a moved or doubly used slot shows. */
enum { STRESS_EXTRACTORS = 4, STRESS_N = 12, STRESS_BATCHES = 400, STRESS_NODES = 600, STRESS_GROUP = 2 };

struct stress {
    struct fixture f;
    uint64_t seed;
    _Atomic uint32_t content[STRESS_EXTRACTORS * (STRESS_N - 1) + 1];
    atomic_uint loading[STRESS_NODES]; /* by key: reads in flight */
    atomic_uint next, wrong;
    atomic_bool done;
    struct gnn_mutex *mutex;
    struct batch *trained[STRESS_EXTRACTORS * STRESS_BATCHES];
    uint32_t trained_count, released_count;
};

struct stress_worker {
    struct stress *s;
    uint32_t index;
};

static void stress_batch(struct stress *s, struct batch *b, struct gnn_rng *rng)
{
    struct gnn_err err = {0};
    claim_all(&s->f, b);
    gnndrive_buffer_unlock(s->f.fb);
    for (uint32_t i = 0; i < b->claim.load_count; i++) {
        if (atomic_fetch_add(&s->loading[b->key[i]], 1) != 0)
            atomic_fetch_add(&s->wrong, 1); /* two batches read one group */
        if (gnn_rng_below(rng, 16) == 0)
            gnn_sleep_until(s->f.world, gnn_now_ns(s->f.world) + 20000, GNN_WAIT_IO);
        atomic_store(&s->content[b->slot[i]], b->key[i]);
        atomic_fetch_sub(&s->loading[b->key[i]], 1);
    }
    gnndrive_buffer_lock(s->f.fb);
    make_ready(&s->f, b);
    must(gnndrive_buffer_wait_rows(s->f.fb, &b->claim, &err), &err);
    gnndrive_buffer_publish(s->f.fb, &b->claim);
    for (uint32_t i = 0; i < b->claim.node_count; i++)
        if (atomic_load(&s->content[b->alias[i] / STRESS_GROUP]) != b->nodes[i] / STRESS_GROUP ||
            b->alias[i] % STRESS_GROUP != b->nodes[i] % STRESS_GROUP)
            atomic_fetch_add(&s->wrong, 1);
}

static void stress_extractor(void *arg)
{
    const struct stress_worker *w = arg;
    struct stress *s = w->s;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(s->seed, w->index));
    while (atomic_fetch_add(&s->next, 1) < STRESS_BATCHES) {
        struct batch *b = malloc(sizeof *b);
        gnn_node nodes[STRESS_N];
        const uint32_t count = random_nodes(&rng, nodes, STRESS_N, STRESS_NODES);
        set_batch(b, w->index, nodes, count);
        gnndrive_buffer_lock(s->f.fb);
        stress_batch(s, b, &rng);
        gnndrive_buffer_unlock(s->f.fb);
        gnn_mutex_lock(s->f.world, s->mutex);
        s->trained[s->trained_count++] = b;
        gnn_mutex_unlock(s->f.world, s->mutex);
    }
}

static void stress_releaser(void *arg)
{
    struct stress *s = arg;
    for (;;) {
        gnn_mutex_lock(s->f.world, s->mutex);
        struct batch *b = s->released_count < s->trained_count ? s->trained[s->released_count++] : NULL;
        const bool done = atomic_load(&s->done) && b == NULL;
        gnn_mutex_unlock(s->f.world, s->mutex);
        if (done)
            return;
        if (b == NULL) {
            gnn_sleep_until(s->f.world, gnn_now_ns(s->f.world) + 20000, GNN_WAIT_QUEUE);
            continue;
        }
        gnndrive_buffer_lock(s->f.fb);
        release(&s->f, b);
        gnndrive_buffer_unlock(s->f.fb);
        free(b);
    }
}

static void test_overlapping_batches_never_load_twice_nor_deadlock(void **state)
{
    (void)state;
    static struct stress s; /* large; one test, one run */
    struct gnn_err err = {0};
    struct gnn_thread *thread[STRESS_EXTRACTORS], *releaser;
    struct stress_worker worker[STRESS_EXTRACTORS];
    s.seed = 20240812;
    print_message("stress seed %lu\n", (unsigned long)s.seed);
    open_buffer(&s.f, STRESS_NODES, STRESS_EXTRACTORS * (STRESS_N - 1) + 1, STRESS_GROUP, STRESS_EXTRACTORS);
    assert_int_equal(gnn_mutex_open(s.f.world, &s.mutex, &err), GNN_OK);
    assert_int_equal(gnn_thread_start(s.f.world, "release", stress_releaser, &s, &releaser, &err), GNN_OK);
    for (uint32_t e = 0; e < STRESS_EXTRACTORS; e++) {
        worker[e] = (struct stress_worker){.s = &s, .index = e};
        assert_int_equal(gnn_thread_start(s.f.world, "extract", stress_extractor, &worker[e], &thread[e], &err),
                         GNN_OK);
    }
    for (uint32_t e = 0; e < STRESS_EXTRACTORS; e++)
        gnn_thread_join(s.f.world, thread[e]);
    atomic_store(&s.done, true);
    gnn_thread_join(s.f.world, releaser);
    assert_int_equal(atomic_load(&s.wrong), 0);
    struct gnndrive_buffer_counts n;
    gnndrive_buffer_counts(s.f.fb, &n);
    assert_int_equal(n.ready_rows + n.loads + n.joint_rows + n.waited_rows, n.rows);
    assert_true(n.evictions > 0);
    print_message("%lu rows, %lu loads, %lu waited for, %lu slot waits\n", (unsigned long)n.rows,
                  (unsigned long)n.loads, (unsigned long)n.waited_rows, (unsigned long)n.slot_waits);
    gnndrive_buffer_lock(s.f.fb);
    check(&s.f, true);
    gnndrive_buffer_unlock(s.f.fb);
    gnn_mutex_close(s.f.world, s.mutex);
    close_buffer(&s.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_are_given_in_order_of_last_release),
        cmocka_unit_test(test_a_batch_never_evicts_its_own_hits),
        cmocka_unit_test(test_members_of_a_group_share_one_read),
        cmocka_unit_test(test_tables_weigh_what_the_released_code_holds),
        cmocka_unit_test(test_random_traces_match_a_reference_lru),
        cmocka_unit_test(test_serial_reads_never_increase_with_the_buffer),
        cmocka_unit_test(test_an_abandoned_claim_leaves_nothing_behind),
        cmocka_unit_test(test_the_reservation_is_tight),
        cmocka_unit_test(test_the_watchdog_sees_a_wait_for_a_row_too),
        cmocka_unit_test(test_a_failed_batch_is_not_taken_for_a_deadlock),
        cmocka_unit_test(test_a_waiter_wakes_when_the_row_arrives),
        cmocka_unit_test(test_admission_follows_tickets_and_space),
        cmocka_unit_test(test_admission_sleeps_until_its_turn_and_room),
        cmocka_unit_test(test_overlapping_batches_never_load_twice_nor_deadlock),
    };
    end_a_hang(); /* a missing signal is a failure, not a hang */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
