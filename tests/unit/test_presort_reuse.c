/* SPDX-License-Identifier: MIT */
/* presort's kept epochs: a group of epochs trains on the same mini-batches, and only its first one sorts; limits, full
 * disks and failures (docs/invariants.md, presort: 1, 3, 10, 12). What a replacement recalls is in
 * test_presort_plan.c. */
#include "systems/presort/presort.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 5000, TRAIN = 160, BATCH = 8, BATCHES = TRAIN / BATCH, EPOCHS = 5, GROUP = 3, DIM = 128 };

static const struct train_graph_config usual = {
    .nodes = NODES, .mean_degree = 6, .dim = DIM, .classes = 5, .train = TRAIN, .seed = 11};

static void open_run(struct train_run *run, struct fixture *f, uint32_t epochs, const char *const *options)
{
    train_run_init(run, f->world, "presort");
    run->options = options;
    run->workload.epochs = epochs;
    run->workload.batch_size = BATCH;
    run->check_rows = !f->config.simulated;
    run->modelled = f->config.simulated ? &f->profile : NULL;
    must_run(train_run_open(run, &f->graph), run);
}

/* Of one epoch. */
struct figures {
    uint64_t digest, trained;
    uint64_t direct, sorted, there, sweep_rows, sweep_read, scratch_write, scratch_read, list_read, hot_write;
    uint64_t read, written;
};

static struct figures figures_of(const struct train_run *run)
{
    const struct presort_config *const config = ((const struct presort *)run->state)->setup.config;
    const bool reuses = config->reuse > 1, packs = config->hot == PRESORT_HOT_RUN;
    return (struct figures){.digest = run->result.counters.sample.batch_digest,
                            .trained = run->trained_digest,
                            .direct = train_run_extra(run, "direct_loads"),
                            .sorted = train_run_extra(run, "sorted_loads"),
                            .there = reuses ? train_run_extra(run, "there_loads") : 0,
                            .sweep_rows = train_run_extra(run, "sweep_rows"),
                            .sweep_read = train_run_extra(run, "sweep_read_bytes"),
                            .scratch_write = train_run_extra(run, "scratch_write_bytes"),
                            .scratch_read = train_run_extra(run, "scratch_read_bytes"),
                            .list_read = reuses ? train_run_extra(run, "list_read_bytes") : 0,
                            .hot_write = packs ? train_run_extra(run, "hot_write_bytes") : 0,
                            .read = run->result.counters.requested_bytes,
                            .written = run->result.counters.requested_write_bytes};
}

static void run_epoch(struct train_run *run, uint64_t epoch, struct figures *out)
{
    must_run(train_run_epoch(run, epoch), run);
    assert_int_equal(run->wrong_values, 0);
    train_run_each_seed_once(run);
    for (uint32_t k = 0; k < BATCHES; k++)
        assert_int_equal(run->order[k], k);
    *out = figures_of(run);
    assert_int_equal(out->direct + out->sorted, run->result.counters.cache_misses);
    assert_int_equal(out->written, out->scratch_write + out->hot_write);
}

static void run_epochs(struct fixture *f, uint32_t epochs, const char *const *options, struct figures *out)
{
    struct train_run run;
    open_run(&run, f, epochs, options);
    for (uint64_t epoch = 0; epoch < epochs; epoch++)
        run_epoch(&run, epoch, &out[epoch]);
    train_run_close(&run);
}

/* What every run with reuse=3 trains on: the mini-batches of epochs 0 and 3 of one without. */
static void check_digests(struct fixture *f, const struct figures *of)
{
    struct figures fresh[EPOCHS];
    run_epochs(f, EPOCHS, OPTIONS("io=buffered"), fresh);
    for (uint64_t e = 0; e < EPOCHS; e++) {
        assert_int_equal(of[e].digest, fresh[e - e % GROUP].digest);
        assert_int_equal(of[e].trained, fresh[e - e % GROUP].trained);
        assert_true(e == 0 || fresh[e].digest != fresh[e - 1].digest);
    }
}

#define SMALL "io=buffered", "row_memory=1", "reuse=3"
#define ALONE SMALL, "ahead=false"

/* An epoch that takes what another one of its group left: the same loads, and nothing but reading. */
static void check_taken(const struct figures *first, const struct figures *of)
{
    assert_int_equal(of->direct + of->sorted + of->there, first->direct + first->sorted + first->there);
    assert_int_equal(of->sweep_rows + of->sweep_read + of->written, 0);
    assert_true(of->list_read > 0);
    assert_true(of->direct + of->sorted > 0);
    assert_in_range(of->scratch_read, 0, first->scratch_write);
}

static void test_epochs_of_a_group_sort_once(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS(ALONE),
        OPTIONS(ALONE, "classes=sorted"),
        OPTIONS(ALONE, "classes=direct"),
        OPTIONS(ALONE, "classes=sorted", "hyperbatch=1", "window=1", "block=4K"),
        OPTIONS(ALONE, "random_read=2K", "hyperbatch=3", "topology=mapped"),
        OPTIONS(ALONE, "classes=sorted", "list_memory=8K"),
        OPTIONS(ALONE, "classes=sorted", "random_read=64K", "hyperbatch=3", "hot=run"),
    };
    enum { CASES = sizeof cases / sizeof *cases };
    uint64_t there = 0;
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t c = 0; c < CASES; c++) {
            struct fixture f;
            struct figures of[EPOCHS];
            fixture_open(&f, .graph = &usual, .simulated = simulated);
            run_epochs(&f, EPOCHS, cases[c], of);
            check_digests(&f, of);
            assert_int_equal(of[0].there, 0);
            there += of[1].there + of[4].there;
            for (uint64_t e = 0; e < EPOCHS; e++) {
                assert_int_equal(of[e].list_read == 0, e % GROUP == 0);
                if (e % GROUP > 0)
                    check_taken(&of[e - e % GROUP], &of[e]);
            }
            if (c == 1) {
                assert_int_equal(of[0].direct + of[1].direct, 0);
                assert_true(of[0].sweep_rows > 0 && of[3].sweep_rows > 0);
            }
            assert_memory_equal(&of[1], &of[2], sizeof of[1]); /* each begins with what the one before left */
            fixture_close(&f);
        }
    assert_true(there > 0);
}

/* Prepared ahead, over the ends of epochs and groups, in several hyperbatches; all together it is the same work. */
static void test_ahead_does_the_same_work(void **state)
{
    (void)state;
    for (int c = 0; c < 4; c++) {
        struct fixture f;
        struct figures ahead[EPOCHS], alone[EPOCHS];
        uint64_t sums[2][4] = {{0}};
        const char *const hyperbatch = c / 2 == 0 ? "hyperbatch=3" : "hyperbatch=0";
        fixture_open(&f, .graph = &usual, .simulated = c % 2 == 1);
        run_epochs(&f, EPOCHS, OPTIONS(SMALL, "classes=sorted", hyperbatch, "window=1", "block=4K"), ahead);
        run_epochs(&f, EPOCHS, OPTIONS(ALONE, "classes=sorted", hyperbatch, "window=1", "block=4K"), alone);
        check_digests(&f, ahead);
        for (uint64_t e = 0; e < EPOCHS; e++)
            for (int a = 0; a < 2; a++) {
                const struct figures *const of = a == 0 ? &ahead[e] : &alone[e];
                sums[a][0] += of->sorted;
                sums[a][1] += of->sweep_rows;
                sums[a][2] += of->written;
                sums[a][3] += of->scratch_read;
            }
        assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
        fixture_close(&f);
    }
}

/* Where all rows fit, a taken epoch reads its lists and nothing else. */
static void test_rows_that_are_there_are_not_read(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", "row_memory=2M", "reuse=3", "classes=sorted", "ahead=false"),
        OPTIONS("io=buffered", "row_memory=2M", "reuse=3", "classes=direct", "ahead=false"),
        OPTIONS("io=buffered", "row_memory=2M", "reuse=3", "hyperbatch=3", "ahead=false"),
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct train_run run;
        bool known[NODES] = {false};
        fixture_open(&f, .graph = &usual);
        open_run(&run, &f, EPOCHS, cases[c]);
        for (uint64_t e = 0; e < EPOCHS; e++) {
            struct figures of;
            uint64_t fresh = 0;
            run_epoch(&run, e, &of);
            for (gnn_node v = 0; v < NODES; v++) {
                fresh += run.needed[v] > 0 && !known[v];
                known[v] = known[v] || run.needed[v] > 0;
            }
            assert_int_equal(of.direct + of.sorted, fresh);
            assert_int_equal(of.sweep_rows, of.sorted); /* no row that stays is sorted */
            assert_true(e % GROUP == 0 || of.read == of.list_read);
            assert_int_equal(fresh > 0, e % GROUP == 0);
        }
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* The last epoch of a run keeps nothing, and a group that the run cuts off is as good as a whole one. */
static void test_the_runs_end_cuts_a_group(void **state)
{
    (void)state;
    struct fixture f;
    struct figures of[EPOCHS];
    fixture_open(&f, .graph = &usual);
    for (uint32_t epochs = 1; epochs <= EPOCHS; epochs++) {
        run_epochs(&f, epochs, OPTIONS(ALONE, "classes=direct"), of);
        for (uint32_t e = 0; e < epochs; e++) {
            assert_int_equal(of[e].written > 0, e % GROUP == 0 && e + 1 < epochs); /* lists alone */
            assert_int_equal(of[e].list_read > 0, e % GROUP > 0);
        }
    }
    fixture_close(&f);
}

/* ---- limits and failures ---- */

/* Of one run under a limit, block by block of what it may write. */
struct limited {
    uint64_t kept, given_up; /* epochs that could be taken */
};

static void run_limited(struct fixture *f, const char *limit, struct limited *sum)
{
    struct figures of[EPOCHS];
    struct train_run run;
    open_run(&run, f, EPOCHS, OPTIONS(ALONE, "classes=sorted", "block=4K", "hyperbatch=10", "window_share=50", limit));
    const struct presort_config *const config = ((const struct presort *)run.state)->setup.config;
    const uint64_t file_bytes = config->scratch_limit / 3; /* two of extents, one of lists */
    for (uint64_t e = 0; e < EPOCHS; e++) {
        run_epoch(&run, e, &of[e]);
        assert_true(of[e].written <= config->write_budget);
        assert_true(of[e].scratch_read <= file_bytes);
        assert_true(e > 0 || of[e].written - of[e].scratch_read <= file_bytes); /* each block was read once */
        sum->kept += e % GROUP > 0 && of[e].list_read > 0;
        sum->given_up += e % GROUP > 0 && of[e].list_read == 0;
    }
    check_digests(f, of);
    train_run_close(&run);
}

/* Rows so narrow that lists are a good part of what is written, and windows so wide that few blocks are cut short. */
static void test_lists_count_to_the_budget(void **state)
{
    (void)state;
    static const struct train_graph_config narrow = {
        .nodes = NODES, .mean_degree = 6, .dim = 4, .classes = 5, .train = TRAIN, .seed = 11};
    struct fixture f;
    uint64_t kept = 0;
    fixture_open(&f, .graph = &narrow);
    for (uint32_t kib = 8; kib < 100; kib += 2) {
        char budget[40];
        struct figures of[2];
        (void)snprintf(budget, sizeof budget, "write_budget=%uK", kib);
        run_epochs(&f, 2,
                   OPTIONS("io=buffered", "reuse=2", "ahead=false", "row_memory=32K", "window_share=50",
                           "classes=sorted", "block=4K", budget),
                   of);
        assert_true(of[0].written <= kib * 1024);
        kept += of[1].list_read > 0;
    }
    assert_true(kept > 0);
    fixture_close(&f);
}

static void test_limits_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int budget = 0; budget < 2; budget++) {
        struct limited sum = {0};
        for (uint32_t kib = 0; kib < 900; kib += 10 + kib / 8) {
            char limit[40];
            (void)snprintf(limit, sizeof limit, "%s=%uK", budget == 1 ? "write_budget" : "scratch_limit", kib);
            run_limited(&f, limit, &sum);
        }
        assert_true(sum.kept > 0 && sum.given_up > 0);
    }
    fixture_close(&f);
}

/* Whatever is written when the disk is full, every epoch trains, and what could not be kept is planned again. */
static void test_a_full_disk_ends_the_keeping(void **state)
{
    (void)state;
    uint64_t unkept = 0;
    for (int simulated = 0; simulated < 2; simulated++)
        for (uint64_t bytes = 0; bytes < 1500000; bytes += 9000 + bytes / 2) {
            struct fixture f;
            struct figures of[EPOCHS];
            fixture_open(
                &f, .graph = &usual, .simulated = simulated,
                .faults = &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = bytes});
            run_epochs(&f, EPOCHS, OPTIONS(ALONE, "classes=sorted", "block=4K", "hyperbatch=5"), of);
            check_digests(&f, of);
            unkept += of[1].list_read == 0;
            for (uint64_t e = 1; e < EPOCHS; e++)
                assert_true(e % GROUP == 0 || of[e].list_read > 0 || of[e].direct > 0);
            fixture_close(&f);
        }
    assert_true(unkept > 0);
}

/* The disk has room for the extents, and not for all of the lists. */
static void test_a_disk_without_room_for_lists(void **state)
{
    (void)state;
    const char *const *const options = OPTIONS(ALONE, "classes=sorted", "block=4K");
    for (int simulated = 0; simulated < 2; simulated++)
        for (uint64_t pages = 0; pages < 2; pages++) {
            struct fixture f;
            struct figures of[EPOCHS];
            fixture_open(&f, .graph = &usual, .simulated = simulated);
            run_epochs(&f, EPOCHS, options, of);
            const uint64_t extents = of[0].scratch_read;
            assert_true(of[0].written > extents + 4096);
            fixture_close(&f);
            const struct gnn_fault_plan faults = {
                .seed = 1, .write_enospc = true, .write_enospc_after_bytes = extents + pages * 4096};
            fixture_open(&f, .graph = &usual, .simulated = simulated, .faults = &faults);
            run_epochs(&f, EPOCHS, options, of);
            check_digests(&f, of);
            assert_int_equal(of[0].direct, 0);
            for (uint64_t e = 1; e < EPOCHS; e++)
                assert_true(of[e].list_read == 0 && of[e].direct > 0);
            fixture_close(&f);
        }
}

/* Nothing that was kept is taken where memory is not as it was left. */
static void test_an_epoch_out_of_order_is_drawn_again(void **state)
{
    (void)state;
    static const uint64_t epochs[] = {1, 2, 0, 2, 2, 0, 1, 2, 3, 0, 4};
    static const bool takes[] = {false, true, false, false, false, false, true, true, false, false, false};
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual);
    open_run(&run, &f, EPOCHS, OPTIONS(ALONE, "classes=sorted", "hyperbatch=3"));
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct figures of;
        run_epoch(&run, epochs[i], &of);
        assert_int_equal(of.list_read > 0, takes[i]);
    }
    train_run_close(&run);
    fixture_close(&f);
}

/* A read that fails in an epoch, of whatever kind, leaves nothing behind that a later one could take for right. */
static void test_a_failed_epoch_is_forgotten(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++)
        for (uint64_t at = 1; at < 400; at += 1 + at / 4) {
            struct fixture f;
            struct train_run run;
            struct figures of[GROUP];
            uint64_t failed = 0;
            fixture_open(&f, .graph = &usual, .simulated = simulated,
                         .faults = &(struct gnn_fault_plan){.seed = 1, .read_eio_at = at});
            train_run_init(&run, f.world, "presort");
            run.options = OPTIONS(SMALL, "classes=sorted", "hyperbatch=3", "block=4K");
            run.workload.epochs = GROUP;
            run.workload.batch_size = BATCH;
            run.check_rows = !f.config.simulated;
            run.modelled = f.config.simulated ? &f.profile : NULL;
            const bool opened = train_run_open(&run, &f.graph) == GNN_OK;
            for (uint64_t e = 0; opened && e < GROUP; e++) {
                if (train_run_epoch(&run, e) != GNN_OK) {
                    failed++;
                    run.err = (struct gnn_err){0};
                    run_epoch(&run, e, &of[e]);
                }
                assert_int_equal(run.wrong_values, 0);
                of[e] = figures_of(&run);
                assert_int_equal(of[e].trained, of[0].trained);
            }
            assert_true(failed <= 1);
            train_run_close(&run);
            fixture_close(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_of_a_group_sort_once),
        cmocka_unit_test(test_ahead_does_the_same_work),
        cmocka_unit_test(test_rows_that_are_there_are_not_read),
        cmocka_unit_test(test_the_runs_end_cuts_a_group),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_lists_count_to_the_budget),
        cmocka_unit_test(test_a_full_disk_ends_the_keeping),
        cmocka_unit_test(test_a_disk_without_room_for_lists),
        cmocka_unit_test(test_an_epoch_out_of_order_is_drawn_again),
        cmocka_unit_test(test_a_failed_epoch_is_forgotten),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
