/* SPDX-License-Identifier: MIT */
/* The modelled back-end: every op's cost by hand, the roofline, GPU memory, and the models' steps over memory that
 * nothing may touch. The GPU's time lines are in test_modelled_timeline.c. */
#include "harness/model/model.h"
#include "harness/tensor/modelled/cost.h"
#include "tests/support/model_cases.h"
#include "tests/support/modelled_clock.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

/* ---- costs ---- */

static void test_costs_by_hand(void **state)
{
    (void)state;
    const struct {
        const char *name;
        struct gnn_cost got;
        uint64_t flops, stream, gather;
        uint32_t launches;
    } cases[] = {
        {"fill", gnn_cost_fill(10), 0, 40, 0, 1},
        {"copy", gnn_cost_copy(10), 0, 80, 0, 1},
        {"gather_rows", gnn_cost_gather_rows(5, 8), 0, 5 * 8 * 4 + 5 * 4, 5 * 8 * 4, 1},
        {"gather_halves", gnn_cost_gather_halves(5, 8, true), 0, 5 * 8 * 4 + 5 * 4, 5 * 8 * 2, 1},
        {"gather_halves, in order", gnn_cost_gather_halves(5, 8, false), 0, 5 * 8 * 6, 0, 1},
        /* (5, 7) x (7, 9): a 16-tile counts 16 x 16 */
        {"gemm", gnn_cost_gemm(5, 9, 7, false, 16), 2 * 16 * 16 * 7, 4 * (35 + 63 + 45), 0, 1},
        {"gemm +=", gnn_cost_gemm(5, 9, 7, true, 1), 2 * 5 * 9 * 7, 4 * (35 + 63 + 90), 0, 1},
        {"gemm 33", gnn_cost_gemm(33, 64, 2, false, 32), 2 * 64 * 64 * 2, 4 * (66 + 128 + 2112), 0, 1},
        {"add_bias", gnn_cost_add_bias(3, 4), 12, 4 * (24 + 4), 0, 1},
        {"column_sum", gnn_cost_column_sum(3, 4), 12, 4 * (12 + 4), 0, 2},
        {"add", gnn_cost_add(6), 6, 72, 0, 1},
        {"reduce mean", gnn_cost_segment_reduce(GNN_REDUCE_MEAN, &block, 4), 20, BLOCK_BYTES + 32, 48, 1},
        {"reduce sum", gnn_cost_segment_reduce(GNN_REDUCE_SUM, &block, 4), 12, BLOCK_BYTES + 32, 48, 1},
        {"reduce max", gnn_cost_segment_reduce(GNN_REDUCE_MAX, &block, 4), 12, BLOCK_BYTES + 64, 48, 1},
        {"back mean", gnn_cost_segment_reduce_back(GNN_REDUCE_MEAN, &block, 4), 24, BLOCK_BYTES + 32, 96, 1},
        {"back max", gnn_cost_segment_reduce_back(GNN_REDUCE_MAX, &block, 4), 8, BLOCK_BYTES + 64, 64, 1},
        {"gcn_weights", gnn_cost_gcn_weights(&block), 36, 2 * BLOCK_BYTES + 4 * (3 + 9), 36, 2},
        {"spmm", gnn_cost_spmm(&block, 4), 24, BLOCK_BYTES + 4 * (3 + 8), 48, 1},
        {"spmm_back", gnn_cost_spmm_back(&block, 4), 24, BLOCK_BYTES + 4 * (3 + 8), 96, 1},
        /* 2 heads of 3 channels; 5 slots */
        {"gat_scores", gnn_cost_gat_scores(3, 2, 2, 6), 60, 4 * (18 + 12 + 10), 0, 1},
        {"gat_softmax", gnn_cost_gat_softmax(&block, 2), 160, BLOCK_BYTES + 4 * 2 * 7, 40, 1},
        {"gat_attend", gnn_cost_gat_attend(&block, 2, 6), 60, BLOCK_BYTES + 4 * (10 + 12), 120, 1},
        {"gat_back", gnn_cost_gat_back(&block, 2, 6), 120 + 80 + 120,
         2 * BLOCK_BYTES + 4 * ((18 + 10) + (40 + 12) + (54 + 10 + 24)), 4 * (90 + 20), 4},
        {"head_mean", gnn_cost_head_mean(2, 3, 4), 30, 120, 0, 1},
        {"relu", gnn_cost_activate(GNN_ACT_RELU, 2, 3, true, false), 12, 4 * (12 + 3), 0, 1},
        {"elu, dropout", gnn_cost_activate(GNN_ACT_ELU, 2, 3, false, true), 132, 48, 0, 1},
        {"activate_back", gnn_cost_activate_back(2, 3, true), 84, 72, 0, 1},
        {"softmax_nll", gnn_cost_softmax_nll(2, 3), 2 * (3 * 14 + 10), 48 + 8, 0, 2},
        {"adam", gnn_cost_adam(3), 39, 84, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gnn_cost *const got = &cases[i].got;
        if (got->flops != cases[i].flops || got->stream_bytes != cases[i].stream ||
            got->gather_bytes != cases[i].gather || got->launches != cases[i].launches)
            fail_msg("%s: %" PRIu64 " FLOPs, %" PRIu64 " + %" PRIu64 " B, %" PRIu32 " launches", cases[i].name,
                     got->flops, got->stream_bytes, got->gather_bytes, got->launches);
    }
}

static void test_roofline(void **state)
{
    (void)state;
    const struct gnn_roof roof = {
        .flops_per_s = 4000000000, .stream_bytes_per_s = 1000000000, .gather_bytes_per_s = 500000000};
    const struct {
        struct gnn_cost cost;
        uint64_t ns;
    } cases[] = {
        {{.flops = 4000}, 1000},
        {{.flops = 4001}, 1001}, /* rounded up */
        {{.stream_bytes = 100}, 100},
        {{.gather_bytes = 100}, 200},
        {{.flops = 100, .stream_bytes = 30, .gather_bytes = 10}, 50}, /* bytes bind */
        {{.flops = 400, .stream_bytes = 30, .gather_bytes = 10}, 100},
        {{.flops = UINT64_C(1) << 62}, 1152921504606846976}, /* no overflow on the way */
        {{.flops = 4000, .operands = 3000}, 1000},           /* in the rate, where they have none of their own */
        {{0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gnn_cost_ns(&cases[i].cost, &roof), cases[i].ns);
    assert_int_equal(gnn_transfer_ns(3, 2000000000), 2);
    const struct gnn_roof ordered = {.flops_per_s = 4000000000,
                                     .stream_bytes_per_s = 1000000000,
                                     .gather_bytes_per_s = 500000000,
                                     .operands_per_s = 2000000000};
    static const struct {
        struct gnn_cost cost;
        uint64_t ns;
    } products[] = {
        {{.flops = 4000, .operands = 3000}, 2500},
        {{.flops = 4000, .operands = 1, .stream_bytes = 500}, 1001},
        {{.flops = 4000, .operands = 3000, .stream_bytes = 2501}, 2501}, /* bytes bind */
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        assert_int_equal(gnn_cost_ns(&products[i].cost, &ordered), products[i].ns);
    assert_int_equal(gnn_cost_gemm(5, 9, 7, false, 16).operands, 5 * 7 + 7 * 9);
    assert_int_equal(gnn_cost_spmm(&block, 4).operands, 0);
}

/* Time of one product (64, 64) x (64, 64) and one fill of 1000 on `threads` cores. */
static void test_cpu_takes_time_of_the_caller(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    const struct {
        uint32_t threads;
        uint64_t gemm_ns, fill_ns;
    } cases[] = {
        {1, 7 + 524288, 7 + 4000},
        {2, 7 + 262144, 7 + 2000},
        {4, 7 + 131072, 7 + 1334}, /* all cores together stream 3 GB/s */
        {64, 7 + 65536, 7 + 1334}, /* there are 8 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clock clock = {0};
        struct gnn_tensor *t = open_modelled(&clock, &profile, false, cases[i].threads);
        gnn_real cell;
        const struct gnn_mat m = {&cell, 64, 64};
        t->ops->gemm(t, false, false, 1, m, m, 0, m);
        assert_int_equal(clock.now_ns, cases[i].gemm_ns);
        t->ops->fill(t, &cell, 1000, 0);
        assert_int_equal(clock.now_ns, cases[i].gemm_ns + cases[i].fill_ns);
        t->ops->synchronize(t);
        t->ops->upload(t, NULL, NULL, 500); /* one core reads and writes */
        t->ops->upload_async(t, 3, NULL, NULL, 500);
        t->ops->upload_wait(t, 3);
        assert_int_equal(clock.now_ns, cases[i].gemm_ns + cases[i].fill_ns + 2000);
        assert_int_equal(clock.computed_ns, clock.now_ns);
        t->ops->close(t);
    }
}

/* A product's operands on `threads` cores, 4 ps an element, and where a framework uses two cores and a half. */
static void test_operands_take_time(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads, milli_cores;
        uint64_t ns;
    } cases[] = {
        {1, 0, 7 + 524288 + 32768},
        {4, 0, 7 + 131072 + 8192},
        {4, 2500, 7 + 209716 + 13108}, /* 524288 and 32768 over 2.5, rounded up */
        {1, 2500, 7 + 524288 + 32768},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_profile profile = round_profile();
        struct clock clock = {0};
        gnn_real cell;
        const struct gnn_mat m = {&cell, 64, 64};
        profile.host.gemm_operand_ps = 4000;
        profile.framework.milli_cores = cases[i].milli_cores;
        struct gnn_tensor *t = open_modelled(&clock, &profile, false, cases[i].threads);
        t->ops->gemm(t, false, false, 1, m, m, 0, m);
        assert_int_equal(clock.now_ns, cases[i].ns);
        t->ops->close(t);
    }
}

/* Where the profile has a framework's costs, products on the CPU go as fast as half a core does, however many threads
 * there are: 0.5 GFLOP/s. */
static void test_a_frameworks_cpu(void **state)
{
    (void)state;
    struct gnn_profile profile = round_profile();
    const struct gnn_mat a = {NULL, 16, 32}, b = {NULL, 32, 16}, c = {NULL, 16, 16};
    enum { FLOPS = 2 * 16 * 16 * 32, LAUNCH = 7 };
    for (uint32_t threads = 1; threads <= 8; threads *= 8) {
        for (int framework = 0; framework < 2; framework++) {
            struct clock clock = {0};
            profile.framework.milli_cores = framework == 1 ? 500 : 0;
            struct gnn_tensor *const t = open_modelled(&clock, &profile, false, threads);
            t->ops->gemm(t, false, false, 1, a, b, 0, c);
            assert_int_equal(clock.now_ns, LAUNCH + (framework == 1 ? 2 * FLOPS : FLOPS / threads));
            t->ops->close(t);
        }
    }
}

/* ---- memory ---- */

static void test_gpu_memory(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    void *a = NULL, *b = NULL, *c = NULL;
    struct gnn_err err = {0};
    struct gnn_modelled_counts counts;
    assert_int_equal(t->ops->alloc(t, "a", 1000000, &a, &err), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "the second", 49000, &b, &err), GNN_EGPU);
    assert_non_null(strstr(err.message, "the second"));
    assert_non_null(strstr(err.message, "round"));
    assert_non_null(strstr(err.message, "--batch"));
    assert_string_equal(gnn_status_name(GNN_EGPU), "gpu-memory");
    assert_int_equal(t->ops->alloc(t, "b", 48000, &b, NULL), GNN_OK); /* 1000448 + 48128 = 2^20: full */
    assert_int_equal(t->ops->alloc(t, "c", 1, &c, NULL), GNN_EGPU);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.memory_bytes, 1 << 20);
    t->ops->free(t, a);
    t->ops->free(t, NULL);
    err = (struct gnn_err){0};
    assert_int_equal(t->ops->alloc(t, "c", UINT64_MAX, &c, &err), GNN_EGPU);
    assert_int_equal(t->ops->alloc(t, "c", 512, &c, NULL), GNN_OK);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.memory_bytes, 48128 + 512);
    assert_int_equal(counts.memory_peak_bytes, 1 << 20);
    assert_int_equal(clock.memory.allocations, 0); /* the host's memory is not asked */
    t->ops->free(t, b);                            /* c is left to close */
    t->ops->close(t);
}

static void test_open_refuses(void **state)
{
    (void)state;
    struct gnn_profile profile = round_profile();
    profile.gpu.present = false;
    struct clock clock = {0};
    const struct gnn_tensor_env env = {.threads = 1,
                                       .gpu = true,
                                       .alloc = toy_alloc,
                                       .free = toy_free,
                                       .now_ns = clock_now,
                                       .wait_until = clock_wait,
                                       .compute_ns = clock_compute,
                                       .ctx = &clock};
    struct gnn_tensor *t = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_tensor_modelled.open(&env, &profile, &t, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "round"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_tensor_modelled.open(&env, NULL, &t, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "--profile"));
}

/* ---- models ---- */

/* CPU memory without pages, so that a back-end or a model that looks inside dies. The address space goes with the
 * process. */
struct untouchable {
    struct clock clock;
    uint32_t alive;
};

static enum gnn_status untouchable_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    struct untouchable *u = ctx;
    (void)name;
    (void)err;
    char *const base = mmap(NULL, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(base != MAP_FAILED);
    u->alive++;
    *out = base;
    return GNN_OK;
}

static void untouchable_free(void *ctx, void *ptr)
{
    struct untouchable *u = ctx;
    (void)ptr;
    u->alive--;
}

/* One training step and one evaluation; the clock's time afterwards. */
static uint64_t run_model(enum gnn_model_kind kind, bool gpu, uint32_t hidden)
{
    const struct gnn_profile profile = round_profile();
    struct gnn_profile roomy = profile;
    roomy.gpu.memory_bytes = UINT64_C(1) << 30;
    struct untouchable u = {0};
    const struct gnn_tensor_env env = {.threads = 2,
                                       .gpu = gpu,
                                       .alloc = untouchable_alloc,
                                       .free = untouchable_free,
                                       .now_ns = clock_now,
                                       .wait_until = clock_wait,
                                       .compute_ns = clock_compute,
                                       .ctx = &u};
    struct gnn_tensor *t = NULL;
    assert_int_equal(gnn_tensor_modelled.open(&env, &roomy, &t, NULL), GNN_OK);
    struct gnn_model_config config = toy_model_config(kind);
    config.hidden = hidden;
    struct gnn_model *model = NULL;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    struct gnn_rng rng = gnn_rng_at(3);
    struct gnn_batch_view batch = toy_batch(&rng, 3, 40, 1, (struct toy_degree){0, 4});
    int32_t *labels = toy_labels(&rng, 40, 7);
    void *x = NULL;
    assert_int_equal(t->ops->alloc(t, "x", batch.node_count * UINT64_C(48), &x, NULL), GNN_OK);
    struct gnn_step_result step = {0};
    assert_int_equal(gnn_model_train(model, &batch, x, labels, &step, NULL), GNN_OK);
    assert_true(isnan(step.loss) && step.correct == 0);
    assert_int_equal(gnn_model_evaluate(model, &batch, x, labels, &step, NULL, NULL), GNN_OK);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_true(counts.busy_ns > 0 && counts.busy_ns <= atomic_load(&u.clock.now_ns));
    assert_true((counts.memory_peak_bytes > 0) == gpu);
    t->ops->free(t, x);
    gnn_model_close(model);
    assert_int_equal(u.alive, 0);
    t->ops->close(t);
    toy_batch_free(&batch);
    free(labels);
    return atomic_load(&u.clock.now_ns);
}

static void test_models_touch_nothing(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < GNN_MODEL_KINDS; kind++)
        for (int gpu = 0; gpu < 2; gpu++) {
            const uint64_t once = run_model((enum gnn_model_kind)kind, gpu == 1, 32);
            const uint64_t again = run_model((enum gnn_model_kind)kind, gpu == 1, 32);
            const uint64_t wider = run_model((enum gnn_model_kind)kind, gpu == 1, 256);
            print_message("%s on the %s: %" PRIu64 " ns, 8 times as wide %" PRIu64 " ns\n", gnn_model_names[kind],
                          gpu == 1 ? "GPU" : "CPU", once, wider);
            assert_int_equal(once, again);
            assert_true(wider > 2 * once);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_by_hand),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_cpu_takes_time_of_the_caller),
        cmocka_unit_test(test_operands_take_time),
        cmocka_unit_test(test_a_frameworks_cpu),
        cmocka_unit_test(test_gpu_memory),
        cmocka_unit_test(test_open_refuses),
        cmocka_unit_test(test_models_touch_nothing),
    };
    return cmocka_run_group_tests_name("modelled", tests, NULL, NULL);
}
