/* SPDX-License-Identifier: MIT */
/* presort's handing out: mini-batches leave in order and come back in any; windows are assembled, and hyperbatches
 * released, in order, once all of theirs came back (docs/invariants.md, presort: 4). */
#include "systems/presort/handout.h"
#include "tests/support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { FIRST_WINDOW = 5 };

struct setting {
    struct fixture f;
    struct gnn_progress *progress;
    struct presort_handout *handout;
    uint32_t batch_end[2];
    struct presort_hyperbatch x;
};

/* A hyperbatch of mini-batches 0 to 4, in windows of three and two; mini-batch 5 is of another one. */
static void set(struct setting *s)
{
    *s = (struct setting){.batch_end = {3, 5}};
    fixture_open(&s->f);
    must(gnn_progress_open(s->f.world, PRESORT_COUNTS, &s->progress, &s->f.err), &s->f.err);
    must(presort_handout_open(s->f.world, s->progress, &s->handout, &s->f.err), &s->f.err);
    for (uint32_t i = 0; i < FIRST_WINDOW; i++) {
        gnn_progress_add(s->progress, PRESORT_LOADED);
        gnn_progress_add(s->progress, PRESORT_ASSEMBLED);
    }
    presort_handout_begin(s->handout, 6, FIRST_WINDOW);
    s->x = (struct presort_hyperbatch){
        .batches = 5, .windows = 2, .batch_end = s->batch_end, .spooled = {.tape = 1, .batches = 4}};
}

static void unset(struct setting *s)
{
    presort_handout_close(s->handout);
    gnn_progress_close(s->progress);
    fixture_close(&s->f);
}

static void expect_taken(struct setting *s, uint32_t batch, bool begins)
{
    struct presort_taken taken;
    bool some;
    assert_int_equal(presort_handout_take(s->handout, &taken, &some), GNN_OK);
    assert_true(some);
    assert_int_equal(taken.batch, batch);
    assert_int_equal(taken.begins, begins);
    assert_int_equal(taken.spooled.batches, batch < 5 ? 4 : 0);
}

static void expect_counts(const struct setting *s, uint64_t loaded, uint64_t assembled, uint64_t released)
{
    assert_int_equal(gnn_progress_count(s->progress, PRESORT_LOADED), FIRST_WINDOW + loaded);
    assert_int_equal(gnn_progress_count(s->progress, PRESORT_ASSEMBLED), FIRST_WINDOW + assembled);
    assert_int_equal(gnn_progress_count(s->progress, PRESORT_RELEASED), released);
}

static void test_windows_are_assembled_in_order(void **state)
{
    (void)state;
    struct setting s;
    struct presort_taken taken;
    bool some;
    uint32_t last_end[] = {1};
    set(&s);
    presort_handout_window(s.handout, &s.x, 0);
    presort_handout_window(s.handout, &s.x, 1);
    expect_counts(&s, 2, 0, 0);
    for (uint32_t k = 0; k < 5; k++)
        expect_taken(&s, k, k == 0);
    presort_handout_give(s.handout, 4);
    presort_handout_give(s.handout, 1);
    presort_handout_give(s.handout, 3); /* all of the second window, which the first one holds back */
    presort_handout_give(s.handout, 0);
    expect_counts(&s, 2, 0, 0);
    presort_handout_give(s.handout, 2);
    expect_counts(&s, 2, 2, 1);
    s.x = (struct presort_hyperbatch){.first_batch = 5, .batches = 1, .windows = 1, .batch_end = last_end};
    presort_handout_window(s.handout, &s.x, 0);
    expect_taken(&s, 5, true);
    expect_counts(&s, 3, 2, 1);
    presort_handout_give(s.handout, 5);
    expect_counts(&s, 3, 3, 2);
    assert_int_equal(presort_handout_take(s.handout, &taken, &some), GNN_OK);
    assert_false(some);
    unset(&s);
}

/* A window is assembled before mini-batches of the next one come back, and the hyperbatch not released with it. */
static void test_a_window_does_not_wait_for_the_next(void **state)
{
    (void)state;
    struct setting s;
    set(&s);
    presort_handout_window(s.handout, &s.x, 0);
    for (uint32_t k = 0; k < 3; k++)
        expect_taken(&s, k, k == 0);
    presort_handout_give(s.handout, 0);
    presort_handout_give(s.handout, 2);
    expect_counts(&s, 1, 0, 0);
    presort_handout_give(s.handout, 1);
    expect_counts(&s, 1, 1, 0);
    presort_handout_window(s.handout, &s.x, 1);
    expect_taken(&s, 3, false);
    expect_taken(&s, 4, false);
    presort_handout_give(s.handout, 3);
    expect_counts(&s, 2, 1, 0);
    presort_handout_give(s.handout, 4);
    expect_counts(&s, 2, 2, 1);
    unset(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_are_assembled_in_order),
        cmocka_unit_test(test_a_window_does_not_wait_for_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
