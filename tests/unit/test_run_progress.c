/* SPDX-License-Identifier: MIT */
/* What a run writes to stderr while it lasts: lines every 30 seconds to a file, one redrawn line to a terminal. The
 * clock and the stream are the test's. */
#include "harness/run/supervisor/progress.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)

static uint64_t test_now_ns;

static uint64_t test_clock(void)
{
    return test_now_ns;
}

struct written {
    struct gnn_run_progress progress;
    FILE *out;
    char *text;
    size_t bytes, seen;
};

/* 3 epochs, from second 100 of the clock. */
static void open_written(struct written *w, bool terminal)
{
    test_now_ns = 100 * S;
    w->seen = 0;
    w->out = open_memstream(&w->text, &w->bytes);
    assert_non_null(w->out);
    const struct gnn_run_progress_setup setup = {.out = w->out,
                                                 .terminal = terminal,
                                                 .now_ns = test_clock,
                                                 .system = "ginex",
                                                 .dataset = "papers100m",
                                                 .epochs = 3};
    gnn_run_progress_start(&w->progress, &setup);
}

/* What was written since the last call is exactly this. */
static void expect_written(struct written *w, const char *expected)
{
    assert_int_equal(fflush(w->out), 0);
    assert_string_equal(w->text + w->seen, expected);
    w->seen = w->bytes;
}

static void close_written(struct written *w)
{
    assert_int_equal(fclose(w->out), 0);
    free(w->text);
}

static void tick_at(struct written *w, uint64_t second)
{
    test_now_ns = second * S;
    gnn_run_progress_tick(&w->progress);
}

static void a_file_gets_one_line_every_30_seconds(void **state)
{
    (void)state;
    struct written w;
    open_written(&w, false);
    assert_int_equal(gnn_run_progress_next_ns(&w.progress), 130 * S);
    tick_at(&w, 129);
    expect_written(&w, "");
    tick_at(&w, 130);
    expect_written(&w, "oocgnn: ginex on papers100m: preparing, 30.0 s elapsed\n");
    tick_at(&w, 130);
    expect_written(&w, "");
    assert_int_equal(gnn_run_progress_next_ns(&w.progress), 160 * S);

    test_now_ns = 140 * S; /* training begins */
    gnn_run_progress_epoch_begin(&w.progress);
    tick_at(&w, 161);
    expect_written(&w, "oocgnn: ginex on papers100m: epoch 1 of 3, 1.02 m elapsed\n");
    gnn_run_progress_batches(&w.progress, 0, 25, 100, 1.25);
    expect_written(&w, "");
    tick_at(&w, 200); /* a twelfth took 60 s: eleven are left */
    expect_written(&w, "oocgnn: ginex on papers100m: epoch 1 of 3, mini-batch 25 of 100, loss 1.2500, 1.67 m elapsed, "
                       "about 11.0 m left\n");
    close_written(&w);
}

static void finished_epochs_count_for_the_rest(void **state)
{
    (void)state;
    struct written w;
    struct gnn_wire_accuracy accuracy = {.links = false};
    open_written(&w, false);
    gnn_run_progress_epoch_begin(&w.progress);
    gnn_run_progress_batches(&w.progress, 0, 100, 100, 1);
    gnn_run_progress_epoch(&w.progress, 0, 200 * S, 1);
    gnn_run_progress_accuracy(&w.progress, &accuracy);
    expect_written(&w, "");
    tick_at(&w, 300);
    expect_written(&w, "oocgnn: ginex on papers100m: 1 of 3 epochs done, 3.33 m elapsed, about 6.67 m left\n");
    test_now_ns = 310 * S;
    gnn_run_progress_epoch_begin(&w.progress);
    gnn_run_progress_batches(&w.progress, 1, 50, 100, (double)NAN);
    tick_at(&w, 400);
    expect_written(&w, "oocgnn: ginex on papers100m: epoch 2 of 3, mini-batch 50 of 100, 5.00 m elapsed, "
                       "about 5.00 m left\n");
    close_written(&w);
}

static void a_terminal_gets_the_redrawn_line_and_no_other(void **state)
{
    (void)state;
    struct written w;
    open_written(&w, true);
    assert_true(gnn_run_progress_next_ns(&w.progress) == UINT64_MAX);
    tick_at(&w, 1000);
    expect_written(&w, "");
    gnn_run_progress_epoch_begin(&w.progress);
    test_now_ns += 10 * S;
    gnn_run_progress_batches(&w.progress, 0, 10, 30, 0.5);
    expect_written(&w, "ginex  epoch 1/3  batch 10/30  loss 0.5000  20.0 s left");
    gnn_run_progress_batches(&w.progress, 0, 11, 30, 0.5); /* too early for another */
    gnn_run_progress_end(&w.progress);
    expect_written(&w, "\r\033[K");
    close_written(&w);
}

static void a_loss_that_was_not_computed_is_left_out(void **state)
{
    (void)state;
    struct written w;
    open_written(&w, true);
    gnn_run_progress_epoch_begin(&w.progress);
    test_now_ns += 10 * S;
    gnn_run_progress_batches(&w.progress, 0, 10, 30, (double)NAN);
    gnn_run_progress_epoch(&w.progress, 0, 30 * S, (double)NAN);
    expect_written(&w, "ginex  epoch 1/3  batch 10/30  20.0 s left\r\033[Kginex  epoch 1/3  30.0 s\n");
    close_written(&w);
}

static void a_quiet_run_writes_nothing(void **state)
{
    (void)state;
    for (int terminal = 0; terminal < 2; terminal++) {
        struct gnn_run_progress p;
        const struct gnn_wire_accuracy accuracy = {.links = true};
        const struct gnn_run_progress_setup setup = {
            .terminal = terminal == 1, .now_ns = test_clock, .system = "ginex", .dataset = "x", .epochs = 1};
        test_now_ns = 0;
        gnn_run_progress_start(&p, &setup);
        assert_true(gnn_run_progress_next_ns(&p) == UINT64_MAX);
        test_now_ns = 100 * S;
        gnn_run_progress_epoch_begin(&p);
        gnn_run_progress_batches(&p, 0, 1, 2, 1); /* a NULL stream would end the test */
        gnn_run_progress_tick(&p);
        gnn_run_progress_epoch(&p, 0, S, 1);
        gnn_run_progress_accuracy(&p, &accuracy);
        gnn_run_progress_end(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gets_one_line_every_30_seconds),
        cmocka_unit_test(finished_epochs_count_for_the_rest),
        cmocka_unit_test(a_terminal_gets_the_redrawn_line_and_no_other),
        cmocka_unit_test(a_loss_that_was_not_computed_is_left_out),
        cmocka_unit_test(a_quiet_run_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
