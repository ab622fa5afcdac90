/* SPDX-License-Identifier: MIT */
/* Each validity check goes red when its invariant is broken, and only then: a sound fabricated run, broken in
 * one place per case. */
#include "harness/run/validity.h"
#include "tests/support/fake_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { EPOCHS = 2, BATCH_SIZE = 10, BATCHES = 1208, TRAIN_COUNT = 12072 };

struct fixture {
    struct gnn_run_config config;
    struct gnn_validity_facts facts;
    struct gnn_run_record run;
};

static void add_seeds(struct gnn_record_epoch *epoch, uint64_t seeds)
{
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    (void)snprintf(figure->name, sizeof figure->name, "%s", GNN_FIGURE_SEEDS);
    figure->value = seeds;
}

static void make_sound(struct fixture *f)
{
    gnn_run_config_defaults(&f->config);
    f->config.epochs = EPOCHS;
    f->config.batch_size = BATCH_SIZE;
    f->config.memory_bytes = 320u << 20;
    f->config.cold = true;
    f->facts = (struct gnn_validity_facts){.batches_expected = BATCHES, .seeds_expected = TRAIN_COUNT, .direct = true};
    fake_run(&f->run, "gnndrive", 1.0, EPOCHS, 1);
    f->run.counters.device_read_bytes = f->run.counters.requested_bytes;
    for (uint32_t i = 0; i < EPOCHS; i++)
        add_seeds(&f->run.epochs[i], TRAIN_COUNT);
}

/* ---- ways to break it; each reaches one check ---- */

static void lose_an_epoch(struct fixture *f)
{
    f->run.epoch_count = 1;
}

static void lose_a_batch(struct fixture *f)
{
    f->run.epochs[1].counters.batches = BATCHES - 1;
}

static void add_a_batch(struct fixture *f)
{
    f->run.epochs[0].counters.batches = BATCHES + 1;
}

static void unknown_batches(struct fixture *f)
{
    f->run.epochs[0].counters.batches = GNN_UNKNOWN;
}

static void lose_a_seed(struct fixture *f)
{
    f->run.epochs[1].figures[f->run.epochs[1].figure_count - 1].value = TRAIN_COUNT - 1;
}

static void forget_the_seeds(struct fixture *f)
{
    f->run.epochs[0].figure_count--;
}

static void too_many_seeds_for_max_batches(struct fixture *f)
{
    f->facts.batches_expected = 3;
    f->facts.seeds_expected = UINT64_C(3) * BATCH_SIZE;
    for (uint32_t i = 0; i < EPOCHS; i++)
        f->run.epochs[i].counters.batches = 3;
}

static void train_something_else(struct fixture *f)
{
    f->facts.trained_otherwise = true;
    f->facts.trained_otherwise_epoch = 1;
}

static void set_split(struct fixture *f, const char *key, const char *value)
{
    assert_int_equal(gnn_kv_set(&f->run.environment, key, value, NULL), GNN_OK);
}

static void test_accuracy_on_training_nodes(struct fixture *f)
{
    set_split(f, "accuracy.valid_split", "valid");
    set_split(f, "accuracy.test_split", "train");
}

static void valid_accuracy_on_test_nodes(struct fixture *f)
{
    set_split(f, "accuracy.valid_split", "test");
    set_split(f, "accuracy.test_split", "test");
}

static void loss_not_a_number(struct fixture *f)
{
    f->run.epochs[1].loss = (double)NAN;
}

static void loss_infinite(struct fixture *f)
{
    f->run.epochs[0].loss = (double)INFINITY;
}

static void cap_not_set(struct fixture *f)
{
    f->run.cap_read_back_bytes = f->run.cap_bytes + 4096;
}

static void cap_unread(struct fixture *f)
{
    f->run.cap_read_back_bytes = GNN_UNKNOWN;
}

static void peak_beyond_cap(struct fixture *f)
{
    f->run.counters.peak_memory_bytes = f->run.cap_bytes + 1;
}

static void warm_start(struct fixture *f)
{
    f->run.cold_observed = 0;
    f->run.resident_start_bytes = 123456;
}

static void start_unobserved(struct fixture *f)
{
    f->run.cold_observed = -1;
    f->run.resident_start_bytes = GNN_UNKNOWN;
}

/* 2 MiB were there before the run: they count in no growth. */
static void another_process_reads(struct fixture *f)
{
    f->run.resident_start_bytes = 2 << 20;
    f->facts.resident_most_bytes = f->run.cap_bytes + (2 << 20) + 4096;
}

static void device_idle(struct fixture *f)
{
    f->run.counters.device_read_bytes = f->run.counters.requested_bytes / 100 * 97;
}

static void direct_was_cached(struct fixture *f)
{
    f->run.direct_asked = 1;
    f->run.direct_observed = 0;
}

static void rows_unread(struct fixture *f)
{
    f->run.counters.cache_misses = f->run.counters.requested_bytes / (f->run.dim * 4) + 1;
}

static void prepare_outside(struct fixture *f)
{
    f->run.epochs[0].prepare_ns = f->run.epochs[0].wall_ns + 1;
}

static void evaluation_beyond_cap(struct fixture *f)
{
    f->facts.peak_bytes = f->run.cap_bytes + 1;
}

static void time_lost(struct fixture *f)
{
    struct gnn_record_stage *const stage = &f->run.epochs[1].stages[2];
    stage->wall_ns += stage->wall_ns / 50;
}

static void time_invented(struct fixture *f)
{
    struct gnn_record_stage *const stage = &f->run.epochs[0].stages[1];
    stage->wait_lock_ns += stage->wall_ns / 50;
}

static void gpu_beyond_the_epoch(struct fixture *f)
{
    struct gnn_record_epoch *const epoch = &f->run.epochs[1];
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    (void)snprintf(figure->name, sizeof figure->name, "%s", GNN_FIGURE_GPU_BUSY);
    figure->value = epoch->wall_ns + epoch->wall_ns / 50;
}

static void no_stage(struct fixture *f)
{
    f->run.epochs[0].stage_count = 0;
}

static void somebody_killed(struct fixture *f)
{
    f->run.oom_kills = 1;
}

/* The reads of a stage were waited for and nobody said so: wall = work + waits all the same. */
static void wait_lost(struct fixture *f)
{
    struct gnn_record_stage *const stage = &f->run.epochs[1].stages[1];
    stage->work_ns += stage->wait_io_ns;
    stage->wait_io_ns = 0;
}

/* Work is the stage's CPU time, 50 ms in line and as much again, a tenth of its time and 20 ms a worker; then more. */
static void fill_the_tenth(struct gnn_record_stage *stage, uint64_t more_ns)
{
    const uint64_t work_ns = stage->work_ns;
    stage->queued_ns = 50000000;
    stage->work_ns = stage->cpu_ns + 2 * stage->queued_ns + stage->wall_ns / 10 + stage->workers * 20000000 + more_ns;
    const uint64_t moved_ns = stage->work_ns - work_ns;
    const uint64_t of_queue_ns = moved_ns < stage->wait_queue_ns ? moved_ns : stage->wait_queue_ns;
    stage->wait_queue_ns -= of_queue_ns;
    stage->wait_io_ns -= moved_ns - of_queue_ns;
}

static void wait_lost_beyond_the_tenth(struct fixture *f)
{
    fill_the_tenth(&f->run.epochs[0].stages[0], 1);
}

/* A hypervisor took 1 s, or so it says; the epoch before it is none of its. */
static void give_stolen(struct gnn_record_epoch *epoch)
{
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    (void)snprintf(figure->name, sizeof figure->name, "%s", GNN_FIGURE_STOLEN);
    figure->value = 1000000000;
}

static void wait_lost_beyond_what_was_stolen(struct fixture *f)
{
    give_stolen(&f->run.epochs[0]);
    fill_the_tenth(&f->run.epochs[0].stages[0], 1000000001);
}

static void stolen_in_another_epoch(struct fixture *f)
{
    give_stolen(&f->run.epochs[1]);
    fill_the_tenth(&f->run.epochs[0].stages[0], 1);
}

/* Makes the time of each of a stage's workers `ns`, and half of it work that no clock saw. */
static void last(struct gnn_record_stage *stage, uint64_t ns)
{
    stage->wall_ns = stage->workers * ns;
    stage->work_ns = stage->wall_ns / 2;
    stage->cpu_ns = 0;
    stage->wait_io_ns = stage->wall_ns - stage->work_ns;
    stage->wait_resource_ns = stage->wait_queue_ns = 0;
}

static void wait_lost_in_a_second(struct fixture *f)
{
    last(&f->run.epochs[1].stages[1], 1000000000);
}

static void wait_lost_beside_a_gpu(struct fixture *f)
{
    wait_lost(f);
    (void)snprintf(f->config.compute, sizeof f->config.compute, "cuda:1");
}

static const struct {
    void (*damage)(struct fixture *f);
    const char *reason;
} damages[] = {
    {lose_an_epoch, "1 of 2 epochs"},
    {lose_a_batch, "epoch 1 trained 1207 mini-batches, expected 1208"},
    {add_a_batch, "epoch 0 trained 1209 mini-batches"},
    {unknown_batches, "mini-batches"},
    {lose_a_seed, "epoch 1 trained 12071 seeds, expected 12072"},
    {forget_the_seeds, "epoch 0 trained 0 seeds"},
    {too_many_seeds_for_max_batches, "12072 seeds, expected 30"},
    {train_something_else, "epoch 1 trained other blocks than it sampled"},
    {test_accuracy_on_training_nodes, "test_accuracy was computed on the nodes of the split train"},
    {valid_accuracy_on_test_nodes, "valid_accuracy was computed on the nodes of the split test"},
    {loss_not_a_number, "the loss of epoch 1"},
    {loss_infinite, "the loss of epoch 0"},
    {cap_not_set, "read back as"},
    {cap_unread, "read back as"},
    {peak_beyond_cap, "exceeds the memory limit"},
    {warm_start, "123456 B of the dataset"},
    {start_unobserved, "could not be observed"},
    {another_process_reads,
     "335548416 B of the dataset came into the page cache, more than the memory limit of 335544320 "
     "B allows: another process read the dataset"},
    {device_idle, "the device delivered"},
    {direct_was_cached, "came into the page cache"},
    {rows_unread, "rows were missed"},
    {prepare_outside, "epoch 0 prepared for"},
    {evaluation_beyond_cap, "exceeds the memory limit"},
    {time_lost, "epoch 1 stage train"},
    {time_invented, "epoch 0 stage extract"},
    {wait_lost, "a wait was not counted"},
    {wait_lost_beyond_the_tenth, "a wait was not counted"},
    {wait_lost_beyond_what_was_stolen, "a wait was not counted"},
    {stolen_in_another_epoch, "a wait was not counted"},
    {wait_lost_in_a_second, "a wait was not counted"},
    {wait_lost_beside_a_gpu, "a wait was not counted"},
    {no_stage, "no stage"},
    {gpu_beyond_the_epoch, "epoch 1: the GPU was busy for"},
    {somebody_killed, "killed 1 process"},
};

static void each_broken_invariant_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct fixture f;
        make_sound(&f);
        damages[i].damage(&f);
        const uint32_t failed = gnn_validity_check(&f.config, &f.facts, &f.run);
        if (failed != 1 || strstr(f.run.reasons, damages[i].reason) == NULL)
            fail_msg("case %zu: %u checks failed, expected \"%s\" in: %s", i, failed, damages[i].reason, f.run.reasons);
        gnn_run_record_free(&f.run);
    }
}

/* ---- what may be so, and is no fault ---- */

static void leave(struct fixture *f)
{
    (void)f;
}

static void both_splits_evaluated(struct fixture *f)
{
    set_split(f, "accuracy.valid_split", "valid");
    set_split(f, "accuracy.test_split", "test");
}

static void within_one_percent(struct fixture *f)
{
    f->run.epochs[0].stages[0].work_ns += f->run.epochs[0].stages[0].wall_ns / 200;
}

static void gpu_all_the_epoch(struct fixture *f)
{
    struct gnn_record_epoch *const epoch = &f->run.epochs[0];
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    (void)snprintf(figure->name, sizeof figure->name, "%s", GNN_FIGURE_GPU_BUSY);
    figure->value = epoch->wall_ns + epoch->wall_ns / 200;
}

static void counters_lag(struct fixture *f)
{
    f->run.counters.device_read_bytes = f->run.counters.requested_bytes / 100 * 99;
}

static void buffered_reads(struct fixture *f)
{
    f->facts.direct = false;
    f->run.counters.device_read_bytes = 0;
}

static void mapped(struct fixture *f)
{
    f->run.counters.requested_bytes = GNN_UNKNOWN;
}

static void no_counting_group(struct fixture *f)
{
    f->run.counters.device_read_bytes = GNN_UNKNOWN;
    f->run.counters.peak_memory_bytes = GNN_UNKNOWN;
    f->run.oom_kills = GNN_UNKNOWN;
    f->run.cap_bytes = GNN_UNKNOWN;
    f->run.cap_read_back_bytes = GNN_UNKNOWN;
}

static void program_cap(struct fixture *f)
{
    f->config.cap_kind = GNN_CAP_PROGRAM;
    f->run.cap_read_back_bytes = GNN_UNKNOWN;
}

static void cache_as_large_as_the_cap(struct fixture *f)
{
    f->run.resident_start_bytes = 2 << 20;
    f->facts.resident_most_bytes = f->run.cap_bytes + (2 << 20);
}

/* Where nothing limits the page cache, or nobody saw it, its growth says nothing. */
static void cache_without_a_cap(struct fixture *f)
{
    no_counting_group(f);
    f->facts.resident_most_bytes = UINT64_C(1) << 40;
}

static void cache_beside_a_program_cap(struct fixture *f)
{
    program_cap(f);
    f->facts.resident_most_bytes = UINT64_C(1) << 40;
}

static void cache_of_a_modelled_machine(struct fixture *f)
{
    f->config.world = GNN_WORLD_SIMULATED;
    f->facts.resident_most_bytes = UINT64_C(1) << 40;
}

static void cache_unseen_at_the_start(struct fixture *f)
{
    f->run.cold_asked = 0;
    f->run.resident_start_bytes = GNN_UNKNOWN;
    f->facts.resident_most_bytes = UINT64_C(1) << 40;
}

static void warm_by_wish(struct fixture *f)
{
    f->run.cold_asked = 0;
    f->run.cold_observed = 0;
}

static void sampling_alone(struct fixture *f)
{
    f->config.sample_only = true;
    for (uint32_t i = 0; i < EPOCHS; i++) {
        f->run.epochs[i].loss = (double)NAN;
        f->run.epochs[i].figure_count--;
    }
}

static void max_batches(struct fixture *f)
{
    f->facts.batches_expected = 3;
    f->facts.seeds_expected = UINT64_C(3) * BATCH_SIZE;
    for (uint32_t i = 0; i < EPOCHS; i++) {
        f->run.epochs[i].counters.batches = 3;
        f->run.epochs[i].figures[f->run.epochs[i].figure_count - 1].value = 3 * BATCH_SIZE;
    }
}

/* A system whose epochs differ, and says so. */
static void epochs_that_differ(struct fixture *f)
{
    f->facts.batches_expected = f->facts.seeds_expected = GNN_UNKNOWN;
    f->run.epochs[0].counters.batches += 2;
    f->run.epochs[1].figures[f->run.epochs[1].figure_count - 1].value = 5;
}

static void in_line_for_a_core(struct fixture *f)
{
    fill_the_tenth(&f->run.epochs[0].stages[0], 0);
}

static void stolen(struct fixture *f)
{
    give_stolen(&f->run.epochs[0]);
    fill_the_tenth(&f->run.epochs[0].stages[0], 1000000000);
}

static void shorter_than_a_second(struct fixture *f)
{
    last(&f->run.epochs[1].stages[1], 999999999);
}

static void no_clock_of_the_queue(struct fixture *f)
{
    wait_lost(f);
    f->run.epochs[1].stages[1].queued_ns = GNN_UNKNOWN;
}

static void sound_runs_pass(void **state)
{
    (void)state;
    void (*const variants[])(struct fixture * f) = {leave,
                                                    both_splits_evaluated,
                                                    within_one_percent,
                                                    gpu_all_the_epoch,
                                                    counters_lag,
                                                    buffered_reads,
                                                    mapped,
                                                    no_counting_group,
                                                    program_cap,
                                                    cache_as_large_as_the_cap,
                                                    cache_without_a_cap,
                                                    cache_beside_a_program_cap,
                                                    cache_of_a_modelled_machine,
                                                    cache_unseen_at_the_start,
                                                    warm_by_wish,
                                                    sampling_alone,
                                                    max_batches,
                                                    epochs_that_differ,
                                                    in_line_for_a_core,
                                                    stolen,
                                                    shorter_than_a_second,
                                                    no_clock_of_the_queue};
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        struct fixture f;
        make_sound(&f);
        variants[i](&f);
        const uint32_t failed = gnn_validity_check(&f.config, &f.facts, &f.run);
        if (failed != 0)
            fail_msg("variant %zu: %s", i, f.run.reasons);
        gnn_run_record_free(&f.run);
    }
}

/* A run whose two epochs read 50 rows of 512 B each, and whose environment has this minimum. */
static bool check_bound(const char *bound_bytes, enum gnn_run_status status, struct gnn_run_record *run)
{
    struct gnn_err err = {0};
    fake_run(run, "gnndrive", 1.0, 2, 1);
    run->status = status;
    for (uint32_t e = 0; e < 2; e++)
        run->epochs[e].counters.rows_read = 50;
    if (bound_bytes != NULL)
        assert_int_equal(gnn_kv_set(&run->environment, GNN_ENVIRONMENT_BOUND, bound_bytes, &err), GNN_OK);
    return gnn_validity_check_bound(run);
}

static void no_run_reads_less_than_the_minimum(void **state)
{
    (void)state;
    static const struct {
        const char *bound_bytes;
        enum gnn_run_status before, after;
    } cases[] = {{"51200", GNN_RUN_OK, GNN_RUN_OK}, {"51201", GNN_RUN_OK, GNN_RUN_INVALID},
                 {"1", GNN_RUN_OK, GNN_RUN_OK},     {"0", GNN_RUN_OK, GNN_RUN_OK},
                 {NULL, GNN_RUN_OK, GNN_RUN_OK},    {"102400", GNN_RUN_OOT, GNN_RUN_OOT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_run_record run;
        const bool broken = cases[i].before != cases[i].after;
        assert_int_equal(check_bound(cases[i].bound_bytes, cases[i].before, &run), !broken);
        assert_int_equal(run.status, cases[i].after);
        assert_int_equal(run.valid, broken ? 0 : 1);
        assert_int_equal(
            strstr(run.reasons, "counted 51200 B of rows read, but no exact system reads less than 51201 B") != NULL,
            broken);
        gnn_run_record_free(&run);
    }
}

/* Every broken invariant has its line, not the first alone. */
static void reasons_add_up(void **state)
{
    (void)state;
    struct fixture f;
    make_sound(&f);
    lose_a_batch(&f);
    loss_infinite(&f);
    somebody_killed(&f);
    assert_int_equal(gnn_validity_check(&f.config, &f.facts, &f.run), 3);
    assert_non_null(strstr(f.run.reasons, "mini-batches"));
    assert_non_null(strstr(f.run.reasons, "loss"));
    assert_non_null(strstr(f.run.reasons, "killed"));
    gnn_run_record_free(&f.run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_invariant_is_found),
        cmocka_unit_test(sound_runs_pass),
        cmocka_unit_test(no_run_reads_less_than_the_minimum),
        cmocka_unit_test(reasons_add_up),
    };
    return cmocka_run_group_tests_name("validity", tests, NULL, NULL);
}
