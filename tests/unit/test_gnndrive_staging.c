/* SPDX-License-Identifier: MIT */
/* The staging buffer that ranks share: whoever copies from a slot finds the group that it asked for, whatever the
 * others do meanwhile, and every slot comes back, borrowed ones too. Tried by hand and by ranks with random delays, as
 * threads and as processes. */
#include "harness/base/rng.h"
#include "systems/gnndrive/staging.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS = 16, RANKS = 4, PORTION = 6, KEYS = 40, SLOT_BYTES = 64, ROUNDS = 400, HELD_MAX = 9 };

static const struct gnndrive_staging_config usual = {
    .ranks = RANKS, .portion = PORTION, .keys = KEYS, .slot_bytes = SLOT_BYTES};

static struct gnndrive_staging *opened(struct gnn_world *world, const struct gnndrive_staging_config *config)
{
    struct gnndrive_staging *staging;
    struct gnn_err err = {0};
    must(gnndrive_staging_open(world, config, &staging, &err), &err);
    return staging;
}

/* ---- by hand ---- */

static void test_a_group_is_found_from_when_it_is_read_until_its_slot_is_taken(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    const struct gnndrive_staging_config two = {.ranks = 2, .portion = 2, .keys = 10, .slot_bytes = SLOT_BYTES};
    struct gnndrive_staging *const s = opened(f.world, &two);
    const uint32_t first = gnndrive_staging_take(s, 0, 7);
    assert_int_equal(first, 0);
    assert_int_equal(gnndrive_staging_find(s, 1, 7), GNNDRIVE_STAGING_NONE); /* still on its way */
    gnndrive_staging_publish(s, first);
    assert_int_equal(gnndrive_staging_find(s, 1, 7), first);
    gnndrive_staging_release(s, first);
    assert_int_equal(gnndrive_staging_take(s, 0, 8), 1);
    assert_int_equal(gnndrive_staging_take(s, 0, 9), 2); /* slot 0 is held by rank 1: borrowed from its portion */
    gnndrive_staging_release(s, first);
    assert_int_equal(gnndrive_staging_find(s, 0, 7), first); /* nobody uses it, and it is still there */
    gnndrive_staging_release(s, first);
    assert_int_equal(gnndrive_staging_take(s, 0, 3), first); /* the least recently used of the portion */
    assert_int_equal(gnndrive_staging_find(s, 1, 7), GNNDRIVE_STAGING_NONE); /* before anything is read into it */
    assert_int_equal(gnndrive_staging_take(s, 0, 4), 3);
    assert_int_equal(gnndrive_staging_take(s, 1, 5), GNNDRIVE_STAGING_NONE); /* all are in use */
    struct gnndrive_staging_counts n;
    gnndrive_staging_counts(s, 0, &n);
    assert_int_equal(n.hits, 1);
    assert_int_equal(n.borrowed, 2);
    gnndrive_staging_counts(s, 1, &n);
    assert_int_equal(n.hits, 1);
    assert_int_equal(gnndrive_staging_check(s, &f.err), GNN_EBUG);
    for (uint32_t slot = 0; slot < 4; slot++)
        gnndrive_staging_release(s, slot); /* reads that failed: empty */
    f.err = (struct gnn_err){0};
    assert_int_equal(gnndrive_staging_check(s, &f.err), GNN_OK);
    for (uint32_t key = 0; key < 10; key++)
        assert_int_equal(gnndrive_staging_find(s, 0, key), GNNDRIVE_STAGING_NONE);
    gnndrive_staging_close(s);
    gnndrive_staging_close(NULL);
    fixture_close(&f);
}

/* Slots and the lists' anchors are numbered below 2^31. */
static void test_too_many_slots_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    const struct gnndrive_staging_config many = {.ranks = 64, .portion = (1 << 25) - 1, .keys = 1, .slot_bytes = 1};
    struct gnndrive_staging *s = NULL;
    assert_int_equal(gnndrive_staging_open(f.world, &many, &s, &f.err), GNN_EUSAGE);
    assert_non_null(strstr(f.err.message, "2147483584 slots"));
    assert_null(s);
    fixture_close(&f);
}

/* Two ranks read one group at the same time: both slots are right, and either may go first. */
static void test_a_group_in_two_slots(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    const struct gnndrive_staging_config two = {.ranks = 2, .portion = 1, .keys = 10, .slot_bytes = SLOT_BYTES};
    struct gnndrive_staging *const s = opened(f.world, &two);
    const uint32_t a = gnndrive_staging_take(s, 0, 7), b = gnndrive_staging_take(s, 1, 7);
    gnndrive_staging_publish(s, a);
    gnndrive_staging_publish(s, b);
    gnndrive_staging_release(s, a);
    assert_int_equal(gnndrive_staging_take(s, 0, 2), a); /* what the table does not say goes */
    assert_int_equal(gnndrive_staging_find(s, 0, 7), b);
    gnndrive_staging_release(s, b);
    gnndrive_staging_release(s, b);
    assert_int_equal(gnndrive_staging_take(s, 1, 3), b);
    assert_int_equal(gnndrive_staging_find(s, 0, 7), GNNDRIVE_STAGING_NONE);
    gnndrive_staging_release(s, a);
    gnndrive_staging_release(s, b);
    assert_int_equal(gnndrive_staging_check(s, &f.err), GNN_OK);
    gnndrive_staging_close(s);
    fixture_close(&f);
}

/* Of the slots that nobody uses the one goes first that was let go longest ago; before all, one whose read failed. */
static void test_the_least_recently_used_goes_first(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    const struct gnndrive_staging_config one = {.ranks = 1, .portion = 4, .keys = 20, .slot_bytes = SLOT_BYTES};
    struct gnndrive_staging *const s = opened(f.world, &one);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(gnndrive_staging_take(s, 0, i), i);
    for (uint32_t i = 0; i < 3; i++)
        gnndrive_staging_publish(s, i);
    static const uint32_t let_go[] = {1, 2, 3, 0}; /* slot 3 is empty */
    for (uint32_t i = 0; i < 4; i++)
        gnndrive_staging_release(s, let_go[i]);
    assert_int_equal(gnndrive_staging_find(s, 0, 1), 1); /* used again */
    gnndrive_staging_release(s, 1);
    static const uint32_t expected[] = {3, 2, 0, 1};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(gnndrive_staging_take(s, 0, 10 + i), expected[i]);
    for (uint32_t i = 0; i < 4; i++)
        gnndrive_staging_release(s, i);
    assert_int_equal(gnndrive_staging_check(s, &f.err), GNN_OK);
    gnndrive_staging_close(s);
    fixture_close(&f);
}

struct look {
    struct gnn_world *world;
    struct gnndrive_staging *staging;
    uint64_t at_ns;
    uint32_t found;
};

/* Of virtual time the work passes where the next lock is taken: a microsecond between the table and the slot. */
static void look_slowly(void *arg)
{
    struct look *const look = arg;
    gnn_sleep_until(look->world, look->at_ns, GNN_WAIT_RESOURCE);
    gnn_charge(look->world, GNN_WORK_TABLE_ENTRY, 1000);
    look->found = gnndrive_staging_find(look->staging, 0, 7);
}

/* The table says group 7 is in slot 0; until the slot is locked, somebody takes it for another group, or for the same
 * one, whose read may have arrived by then or not. */
static void test_what_is_taken_during_a_look_is_not_found(void **state)
{
    (void)state;
    static const struct {
        uint32_t key;
        bool arrived;
        uint32_t found;
    } cases[] = {{7, true, 0},
                 {7, false, GNNDRIVE_STAGING_NONE},
                 {6, true, GNNDRIVE_STAGING_NONE},
                 {8, true, GNNDRIVE_STAGING_NONE},
                 {8, false, GNNDRIVE_STAGING_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_open(&f, .simulated = true);
        const struct gnndrive_staging_config one = {.ranks = 1, .portion = 1, .keys = 10, .slot_bytes = SLOT_BYTES};
        struct look look = {.world = f.world, .staging = opened(f.world, &one)};
        struct gnn_thread *thread;
        assert_int_equal(gnndrive_staging_take(look.staging, 0, 7), 0);
        gnndrive_staging_publish(look.staging, 0);
        gnndrive_staging_release(look.staging, 0);
        look.at_ns = gnn_now_ns(f.world) + 1000000;
        must(gnn_thread_start(f.world, "look", look_slowly, &look, &thread, &f.err), &f.err);
        gnn_sleep_until(f.world, look.at_ns + 100, GNN_WAIT_RESOURCE);
        assert_int_equal(gnndrive_staging_take(look.staging, 0, cases[i].key), 0);
        if (cases[i].arrived)
            gnndrive_staging_publish(look.staging, 0);
        assert_true(gnn_now_ns(f.world) < look.at_ns + 1000);
        gnn_thread_join(f.world, thread);
        assert_int_equal(look.found, cases[i].found);
        gnndrive_staging_release(look.staging, 0);
        if (look.found == 0)
            gnndrive_staging_release(look.staging, 0);
        must(gnndrive_staging_check(look.staging, &f.err), &f.err);
        gnndrive_staging_close(look.staging);
        fixture_close(&f);
    }
}

/* ---- ranks at random ---- */

struct rank {
    struct gnn_world *world;
    struct gnndrive_staging *staging;
    uint32_t rank;
    uint32_t *content; /* (slots, WORDS) what lies in the slots, whose own memory the simulated world has not */
    struct gnn_thread *thread;
    struct outcome {
        uint32_t wrong, copies, hits, waits;
        enum gnn_status status;
    } * out;
};

static void nap(struct gnn_world *world, struct gnn_rng *rng)
{
    const uint64_t draw = gnn_rng_below(rng, 16);
    if (draw < 4)
        gnn_sleep_until(world, gnn_now_ns(world) + 1000 * (1 + draw), GNN_WAIT_IO);
}

/* "Reads" the group: its key in every word of the slot. The other ranks must not find it half written. */
static void read_into(struct rank *r, uint32_t slot, uint32_t key, struct gnn_rng *rng)
{
    volatile uint32_t *const words = r->content + (size_t)slot * WORDS;
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = key;
        if (i == 7)
            nap(r->world, rng);
    }
}

/* "Copies" it to a GPU, which takes a while. */
static void copy_from(struct rank *r, uint32_t slot, uint32_t key, struct gnn_rng *rng)
{
    const volatile uint32_t *const words = r->content + (size_t)slot * WORDS;
    for (uint32_t i = 0; i < WORDS; i++) {
        r->out->wrong += words[i] != key;
        if (i == 3)
            nap(r->world, rng);
    }
    r->out->copies++;
}

/* A round: some groups are taken or found, those to be read are read, all are copied, then all are let go. */
static enum gnn_status one_round(struct rank *r, struct gnn_rng *rng, struct gnn_err *err)
{
    uint32_t slots[HELD_MAX], keys[HELD_MAX], count = 0;
    bool found[HELD_MAX];
    const uint32_t wanted = 1 + (uint32_t)gnn_rng_below(rng, HELD_MAX);
    while (count < wanted) {
        keys[count] = (uint32_t)gnn_rng_below(rng, KEYS);
        slots[count] = gnndrive_staging_find(r->staging, r->rank, keys[count]);
        found[count] = slots[count] != GNNDRIVE_STAGING_NONE;
        if (!found[count])
            slots[count] = gnndrive_staging_take(r->staging, r->rank, keys[count]);
        if (slots[count] != GNNDRIVE_STAGING_NONE)
            count++;
        else if (count > 0)
            break;
        else
            GNN_TRY(gnndrive_staging_wait(r->staging, r->rank, err));
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool fails = !found[i] && gnn_rng_below(rng, 20) == 0;
        if (!found[i] && !fails) {
            read_into(r, slots[i], keys[i], rng);
            gnndrive_staging_publish(r->staging, slots[i]);
        }
        if (!fails)
            copy_from(r, slots[i], keys[i], rng);
        r->out->hits += found[i];
    }
    for (uint32_t i = 0; i < count; i++)
        gnndrive_staging_release(r->staging, slots[i]);
    return GNN_OK;
}

static void rank_run(void *arg)
{
    struct rank *const r = arg;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(5, r->rank));
    struct gnn_err err = {0};
    for (uint32_t i = 0; i < ROUNDS && r->out->status == GNN_OK; i++)
        r->out->status = one_round(r, &rng, &err);
    struct gnndrive_staging_counts n;
    gnndrive_staging_counts(r->staging, r->rank, &n);
    r->out->waits = (uint32_t)n.waits;
}

static void expect_right(struct gnndrive_staging *staging, const struct outcome *out)
{
    struct gnn_err err = {0};
    uint64_t borrowed = 0, hits = 0;
    for (uint32_t k = 0; k < RANKS; k++) {
        struct gnndrive_staging_counts n;
        gnndrive_staging_counts(staging, k, &n);
        assert_int_equal(out[k].status, GNN_OK);
        assert_int_equal(out[k].wrong, 0);
        assert_int_equal(out[k].hits, n.hits);
        assert_true(out[k].copies > ROUNDS);
        borrowed += n.borrowed;
        hits += n.hits;
    }
    assert_true(borrowed > 0); /* otherwise nothing is tested: a rank wants more than its portion */
    assert_true(hits > 0);
    must(gnndrive_staging_check(staging, &err), &err);
}

/* Outcomes and contents of the slots, in memory that all processes share. */
struct shared {
    struct outcome out[RANKS];
    uint32_t content[RANKS * PORTION * WORDS];
};

static struct shared *shared_open(void)
{
    struct shared *const s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s != MAP_FAILED);
    return s;
}

/* In the simulated world threads change places at every charge, also between the look into the table and the lock. */
static void test_random_ranks_as_threads(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        fixture_open(&f, .simulated = simulated);
        struct gnndrive_staging *const staging = opened(f.world, &usual);
        struct shared *const s = shared_open();
        struct rank ranks[RANKS];
        for (uint32_t k = 0; k < RANKS; k++) {
            ranks[k] = (struct rank){
                .world = f.world, .staging = staging, .rank = k, .content = s->content, .out = &s->out[k]};
            must(gnn_thread_start(f.world, "rank", rank_run, &ranks[k], &ranks[k].thread, &f.err), &f.err);
        }
        for (uint32_t k = 0; k < RANKS; k++)
            gnn_thread_join(f.world, ranks[k].thread);
        expect_right(staging, s->out);
        assert_int_equal(munmap(s, sizeof *s), 0);
        gnndrive_staging_close(staging);
        fixture_close(&f);
    }
}

static void test_random_ranks_as_processes(void **state)
{
    (void)state;
    if (SANITIZERS_SHADOW_PERCENT > 100)
        skip_test("ThreadSanitizer does not see other processes");
    struct fixture f;
    fixture_open(&f, .measured = {.processes = true});
    struct gnndrive_staging *const staging = opened(f.world, &usual);
    struct shared *const s = shared_open();
    pid_t pids[RANKS];
    for (uint32_t k = 0; k < RANKS; k++) {
        pids[k] = fork();
        assert_true(pids[k] >= 0);
        if (pids[k] == 0) {
            gnn_world_measured_forked(f.inner);
            struct rank own = {
                .world = f.world, .staging = staging, .rank = k, .content = s->content, .out = &s->out[k]};
            rank_run(&own);
            _exit(0);
        }
    }
    gnn_world_measured_forked(f.inner);
    for (uint32_t k = 0; k < RANKS; k++) {
        int status;
        assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    expect_right(staging, s->out);
    assert_int_equal(munmap(s, sizeof *s), 0);
    gnndrive_staging_close(staging);
    fixture_close(&f);
}

static void sleeper_run(void *arg)
{
    struct rank *const r = arg;
    struct gnn_err err = {0};
    r->out->status = gnndrive_staging_wait(r->staging, r->rank, &err);
}

static uint64_t waits_of(struct gnndrive_staging *staging)
{
    struct gnndrive_staging_counts n;
    gnndrive_staging_counts(staging, 0, &n);
    return n.waits;
}

/* A sleeper wakes when a slot of its portion comes back, or is told to stop. */
static void test_waiting_ends(void **state)
{
    (void)state;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        struct fixture f;
        fixture_open(&f);
        const struct gnndrive_staging_config one = {.ranks = 1, .portion = 1, .keys = 4, .slot_bytes = SLOT_BYTES};
        struct gnndrive_staging *const staging = opened(f.world, &one);
        struct outcome out = {0};
        struct rank r = {.world = f.world, .staging = staging, .out = &out};
        gnndrive_staging_begin(staging, 0);
        const uint32_t slot = gnndrive_staging_take(staging, 0, 1);
        must(gnn_thread_start(f.world, "sleeper", sleeper_run, &r, &r.thread, &f.err), &f.err);
        while (waits_of(staging) == 0) /* it sleeps, or is about to */
            gnn_sleep_until(f.world, gnn_now_ns(f.world) + 1000000, GNN_WAIT_IO);
        if (cancelled)
            gnndrive_staging_cancel(staging, 0);
        else
            gnndrive_staging_release(staging, slot);
        gnn_thread_join(f.world, r.thread);
        assert_int_equal(out.status, cancelled ? GNN_ECANCELLED : GNN_OK);
        if (cancelled)
            gnndrive_staging_release(staging, slot);
        else /* there is a slot now: no sleep */
            must(gnndrive_staging_wait(staging, 0, &f.err), &f.err);
        assert_int_equal(waits_of(staging), 1);
        must(gnndrive_staging_check(staging, &f.err), &f.err);
        gnndrive_staging_close(staging);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_group_is_found_from_when_it_is_read_until_its_slot_is_taken),
        cmocka_unit_test(test_too_many_slots_are_refused),
        cmocka_unit_test(test_a_group_in_two_slots),
        cmocka_unit_test(test_the_least_recently_used_goes_first),
        cmocka_unit_test(test_what_is_taken_during_a_look_is_not_found),
        cmocka_unit_test(test_waiting_ends),
        cmocka_unit_test(test_random_ranks_as_threads),
        cmocka_unit_test(test_random_ranks_as_processes),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("staging", tests, NULL, NULL);
}
