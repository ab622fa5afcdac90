/* The modelled back-end: every op's cost by hand, the roofline, the stream's and the bus's time lines, GPU memory, and
 * the models' steps over memory that nothing may touch. */
#include "harness/model/model.h"
#include "harness/tensor/modelled/cost.h"
#include "harness/tensor/modelled/modelled.h"
#include "harness/world/profile.h"
#include "tests/support/model_cases.h"
#include "tests/support/toy_block.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

/* ---- a clock by hand ---- */

struct clock {
    struct toy_memory memory; /* first: toy_alloc takes the clock for it */
    atomic_ullong now_ns, computed_ns, waited_ns;
};

static uint64_t clock_now(void *ctx)
{
    return atomic_load(&((struct clock *)ctx)->now_ns);
}

static void clock_wait(void *ctx, uint64_t deadline_ns)
{
    struct clock *c = ctx;
    unsigned long long now = atomic_load(&c->now_ns);
    while (now < deadline_ns && !atomic_compare_exchange_weak(&c->now_ns, &now, deadline_ns))
        ;
    if (now < deadline_ns)
        atomic_fetch_add(&c->waited_ns, deadline_ns - now);
}

static void clock_compute(void *ctx, uint64_t ns)
{
    struct clock *c = ctx;
    atomic_fetch_add(&c->now_ns, ns);
    atomic_fetch_add(&c->computed_ns, ns);
}

/* Round figures: 1 GFLOP/s and 1 GB/s a core, so that a FLOP or a byte is a nanosecond; the GPU ten times that. */
static struct gnn_profile round_profile(void)
{
    return (struct gnn_profile){
        .name = "round",
        .cpu = {.cores = 8},
        .host = {.present = true,
                 .gemm_flops_per_s = 1000000000,
                 .bytes_per_s = 1000000000,
                 .bytes_per_s_shared = 3000000000,
                 .gather_bytes_per_s = 500000000,
                 .launch_ns = 7},
        .gpu = {.present = true,
                .gemm_flops_per_s = 10000000000,
                .bytes_per_s = 10000000000,
                .bytes_per_s_shared = 10000000000,
                .gather_bytes_per_s = 5000000000,
                .launch_ns = 100,
                .memory_bytes = 1 << 20},
        .bus = {.pinned_bytes_per_s = 2000000000,
                .pageable_bytes_per_s = 1000000000,
                .latency_ns = 50,
                .link_bytes_per_s = 4000000000,
                .link_latency_ns = 30},
    };
}

static struct gnn_tensor *open_beside(struct clock *clock, const struct gnn_profile *profile, bool gpu,
                                      uint32_t threads, struct gnn_tensor *same_device)
{
    const struct gnn_tensor_env env = {.threads = threads,
                                       .gpu = gpu,
                                       .same_device = same_device,
                                       .alloc = toy_alloc,
                                       .free = toy_free,
                                       .now_ns = clock_now,
                                       .wait_until = clock_wait,
                                       .compute_ns = clock_compute,
                                       .ctx = clock};
    struct gnn_tensor *t = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_tensor_modelled.open(&env, profile, &t, &err), GNN_OK);
    assert_int_equal(t->host_memory, !gpu);
    return t;
}

static struct gnn_tensor *open_modelled(struct clock *clock, const struct gnn_profile *profile, bool gpu,
                                        uint32_t threads)
{
    return open_beside(clock, profile, gpu, threads, NULL);
}

/* ---- costs ---- */

/* Two targets, three sources, three edges: 0 <- {1, 2}, 1 <- {0}. */
static const uint32_t row_start[] = {0, 2, 3}, col[] = {1, 2, 0};
static const struct gnn_block block = {
    .dst_count = 2, .src_count = 3, .edge_count = 3, .row_start = row_start, .col = col};
enum { BLOCK_BYTES = 4 * (3 + 3) };

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

/* ---- the GPU's time lines ---- */

static void test_stream_runs_behind_the_caller(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    gnn_real *const p = NULL;
    t->ops->fill(t, p, 25000, 0);        /* launched at 100, 10000 ns of work: ends 10100 */
    assert_int_equal(clock.now_ns, 100); /* the caller paid the launch alone */
    t->ops->add(t, p, p, 2500);          /* launched at 200, starts 10100, ends 13100 */
    assert_int_equal(clock.now_ns, 200);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 13100);
    assert_int_equal(clock.waited_ns, 12900);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 13100);
    clock_compute(&clock, 6900);
    t->ops->fill(t, p, 250, 0); /* an idle stream starts it when it is launched: 20100 + 100 */
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 20200);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.busy_ns, 13100);
    assert_int_equal(counts.ops, 3);
    assert_int_equal(counts.launches, 3);
    t->ops->close(t);
}

static void test_an_all_reduce_is_a_ring(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    t->ops->fill(t, NULL, 25000, 0); /* ends 10100 */
    /* 4 ranks: 6 rounds of 4000 bytes at 4 GB/s and 30 ns, behind the fill; the caller waits */
    gnn_modelled_all_reduce(t, 4, 16000);
    assert_int_equal(clock.now_ns, 10100 + 6 * (1000 + 30));
    gnn_modelled_all_reduce(t, 2, 16001); /* launched at once; 2 rounds of 8001 bytes, rounded up */
    assert_int_equal(clock.now_ns, 10100 + 6 * (1000 + 30) + 100 + 2 * (2001 + 30));
    t->ops->close(t);

    /* CPU, 4 ranks: the gradient copied out and the mean back (32000 bytes moved each), a fourth of all four gradients
     * read and of the mean written; 1 GB/s of one core */
    clock = (struct clock){0};
    t = open_modelled(&clock, &profile, false, 1);
    gnn_modelled_all_reduce(t, 4, 16000);
    assert_int_equal(clock.now_ns, 32000 + 16000 + 4000 + 32000);
    t->ops->close(t);
}

/* More ranks than GPUs: those of one GPU share its stream, its bus and its memory. */
static void test_two_ranks_share_a_gpu(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *const t = open_modelled(&clock, &profile, true, 1);
    struct gnn_tensor *const other = open_beside(&clock, &profile, true, 1, t);
    void *memory, *more = NULL;
    struct gnn_err err = {0};
    t->ops->fill(t, NULL, 25000, 0);        /* ends 10100 */
    other->ops->fill(other, NULL, 2500, 0); /* launched at 200, behind it: ends 11100 */
    other->ops->synchronize(other);
    assert_int_equal(clock.now_ns, 11100);
    assert_int_equal(other->ops->alloc(other, "most", 900 << 10, &memory, &err), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "some", 200 << 10, &more, &err), GNN_EGPU);
    other->ops->free(other, memory);
    err = (struct gnn_err){0};
    assert_int_equal(t->ops->alloc(t, "some", 200 << 10, &more, &err), GNN_OK);
    t->ops->free(t, more);
    other->ops->close(other);
    t->ops->close(t);
}

static void test_copies_beside_the_stream(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    gnn_real *const p = NULL;
    t->ops->fill(t, p, 250000, 0);             /* at 100; ends 100100 */
    t->ops->upload_async(t, 0, p, NULL, 4000); /* called at 200; 250 to 2250 */
    t->ops->upload_async(t, 1, p, NULL, 4000); /* called at 300; the bus is taken: 2250 to 4250 */
    t->ops->upload_async(t, 0, p, NULL, 2000); /* called at 400; 4250 to 5250 */
    assert_int_equal(clock.now_ns, 400);
    t->ops->upload_wait(t, 1);
    assert_int_equal(clock.now_ns, 4250);
    t->ops->upload_wait(t, 0);
    assert_int_equal(clock.now_ns, 5250); /* long before the stream is free */
    t->ops->upload_wait(t, 2);            /* nothing was given to it */
    assert_int_equal(clock.now_ns, 5250);
    /* a pageable copy waits for the stream: 100100 + 50 + 1000 */
    t->ops->upload(t, p, NULL, 1000);
    assert_int_equal(clock.now_ns, 101150);
    char text[8] = "garbage";
    t->ops->download(t, text, p, sizeof text); /* called at 101250, + 50 + 8 */
    assert_int_equal(clock.now_ns, 101308);
    assert_memory_equal(text, "\0\0\0\0\0\0\0", 8);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 11000);
    assert_int_equal(counts.downloaded_bytes, 8);
    assert_int_equal(counts.bus_busy_ns, 2000 + 2000 + 1000 + 1000 + 8);
    t->ops->close(t);
}

static void test_blocks_cross_once_a_step(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    const struct gnn_mat x = {NULL, 3, 4}, out = {NULL, 2, 4};
    struct gnn_modelled_counts counts;
    for (uint32_t step = 1; step <= 2; step++) {
        t->ops->segment_reduce(t, GNN_REDUCE_MEAN, out, &block, x, NULL);
        t->ops->segment_reduce_back(t, GNN_REDUCE_MEAN, x, &block, out, NULL);
        t->ops->synchronize(t);
        gnn_modelled_counts(t, &counts);
        assert_int_equal(counts.uploaded_bytes, step * BLOCK_BYTES);
    }
    const uint64_t before_ns = clock.now_ns;
    const int32_t labels[2] = {0, 1};
    double loss = 0;
    uint32_t correct = 9;
    t->ops->softmax_nll(t, (struct gnn_mat){NULL, 2, 3}, labels, &loss, &correct);
    assert_true(isnan(loss));
    assert_int_equal(correct, 0);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 2 * BLOCK_BYTES + 8);
    assert_int_equal(counts.downloaded_bytes, 12);
    /* labels 100 + 50 + 8; two launches, 104 FLOPs in 11 ns; the result 100 while that runs, + 50 + 12 */
    assert_int_equal(clock.now_ns - before_ns, 158 + 200 + 100 + 50 + 12);
    t->ops->close(t);
}

/* Where the profile has a framework's costs, a step lasts at least 1000 ns + 10 a edge: 1030 for three. Ops that take
 * longer are not stretched, and without a step nothing is. */
static void test_a_frameworks_step(void **state)
{
    (void)state;
    static const struct {
        uint64_t reals, ends_ns; /* of a fill of 0.4 ns a real, launched at 100 */
    } cases[] = {{250, 1030}, {2325, 1030}, {2500, 1100}};
    struct gnn_profile profile = round_profile();
    profile.framework = (struct gnn_profile_framework){.step_ns = 1000, .step_edge_ps = 10000, .milli_cores = 500};
    const struct gnn_batch_view view = {.layer_count = 1, .seed_count = 2, .node_count = 3, .blocks = {block}};
    const struct gnn_batch_lists lists = {&view, NULL, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clock clock = {0};
        struct gnn_tensor *const t = open_modelled(&clock, &profile, true, 1);
        t->ops->step_begin(t, &lists);
        t->ops->fill(t, NULL, cases[i].reals, 0);
        t->ops->step_end(t);
        t->ops->synchronize(t);
        assert_int_equal(clock.now_ns, cases[i].ends_ns);
        t->ops->fill(t, NULL, 250, 0);
        t->ops->synchronize(t);
        assert_int_equal(clock.now_ns, cases[i].ends_ns + 200);
        t->ops->close(t);
    }
}

/* ... and on the CPU products go as fast as half a core does, however many threads there are: 0.5 GFLOP/s. */
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

/* Lists that were staged cross in one pinned copy, beside the stream, and are not asked for again. */
static void test_a_staged_batch_crosses_once_ahead(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    const int32_t labels[2] = {0, 1};
    const uint32_t rows[3] = {2, 0, 1};
    const struct gnn_batch_view view = {.layer_count = 1, .seed_count = 2, .node_count = 3, .blocks = {block}};
    const struct gnn_batch_lists lists = {&view, labels, rows};
    const struct gnn_mat x = {NULL, 3, 4}, out = {NULL, 2, 4};
    struct gnn_resident *room = NULL;
    struct gnn_modelled_counts counts;
    uint32_t correct;
    double loss;
    enum { BYTES = BLOCK_BYTES + 8 + 12 };
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    t->ops->fill(t, NULL, 25000, 0); /* at 100; ends 10100 */
    assert_int_equal(t->ops->resident_stage(t, room, 0, &lists, NULL), GNN_OK);
    const uint64_t staged_ns = 100 + 2 * BYTES + 100; /* a core copies it at 1 GB/s read and written, a launch */
    assert_int_equal(clock.now_ns, staged_ns);
    t->ops->resident_use(t, room);
    t->ops->step_begin(t, &lists);
    t->ops->gather_rows(t, NULL, NULL, 4, rows, 3, 4);
    t->ops->segment_reduce(t, GNN_REDUCE_MEAN, out, &block, x, NULL);
    t->ops->softmax_nll(t, (struct gnn_mat){NULL, 2, 3}, labels, &loss, &correct);
    t->ops->step_end(t);
    assert_int_equal(clock.now_ns, staged_ns + 400); /* four launches: nothing was waited for */
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, BYTES);
    assert_int_equal(counts.bus_busy_ns, BYTES / 2);
    assert_int_equal(counts.downloaded_bytes, 0);
    t->ops->synchronize(t);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.downloaded_bytes, 12);
    t->ops->resident_use(t, NULL);
    t->ops->resident_close(t, room);
    struct gnn_device_times times;
    t->ops->take_times(t, &times);
    assert_int_equal(times.uploaded_bytes, BYTES);
    assert_int_equal(times.downloaded_bytes, 12);
    assert_int_equal(times.kernel_ns, counts.busy_ns);
    assert_int_equal(times.launches, counts.launches);
    t->ops->take_times(t, &times);
    assert_int_equal(times.copy_ns + times.kernel_ns + times.launches, 0); /* since the last call */
    t->ops->close(t);
}

/* The host waits in none of these: lane after stream, stream after lane. */
static void test_events_order_lanes_and_the_stream(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    struct gnn_event *event = NULL;
    gnn_real *const p = NULL;
    assert_int_equal(t->ops->event_open(t, &event, NULL), GNN_OK);
    t->ops->event_wait(t, event); /* was never recorded: has passed */
    assert_int_equal(clock.now_ns, 0);
    t->ops->fill(t, p, 25000, 0); /* at 100; ends 10100 */
    t->ops->event_record(t, event, GNN_LANE_STREAM);
    t->ops->event_await(t, event, 3);
    t->ops->upload_async(t, 3, p, NULL, 4000); /* called at 200; 10100 to 12100 */
    t->ops->event_record(t, event, 3);
    t->ops->event_await(t, event, GNN_LANE_STREAM);
    t->ops->fill(t, p, 250, 0); /* launched at 300; 12100 to 12200 */
    assert_int_equal(clock.now_ns, 300);
    t->ops->event_wait(t, event);
    assert_int_equal(clock.now_ns, 12100);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 12200);
    t->ops->event_close(t, event);
    t->ops->close(t);
}

/* Many rows in one launch, and gathers that read the host's memory: the bus is charged, and the stream waits for it. */
static void test_rows_out_of_pinned_memory(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    static gnn_real table[100];
    const uint32_t rows[5] = {4, 3, 2, 1, 0};
    struct gnn_modelled_counts counts;
    assert_int_equal(t->ops->pin(t, "table", table, sizeof table, NULL), GNN_OK);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.pinned_bytes, sizeof table);
    t->ops->upload_rows(t, 0, NULL, rows, table, rows, 5, 80); /* at 100; 150 to 350 */
    assert_int_equal(clock.now_ns, 100);
    t->ops->upload_wait(t, 0);
    assert_int_equal(clock.now_ns, 350);
    t->ops->gather_rows(t, NULL, table, 20, rows, 5, 20); /* the list: 450 + 50 + 20; the rows: + 50 + 200 */
    assert_int_equal(clock.now_ns, 350 + 100 + 50 + 20 + 100);
    t->ops->synchronize(t); /* 770, then 420 in order at 10 GB/s, 400 at random at 5 */
    const uint64_t gathered_ns = clock.now_ns;
    assert_int_equal(gathered_ns, 770 + 42 + 80);
    const struct gnn_placement placement = {.place = NULL};
    t->ops->gather_placed(t, NULL, &placement, rows, 5, 20, 2); /* two of them cross */
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, gathered_ns + 100 + 50 + 20 + 50 + 80 + 42 + 80);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 400 + 20 + 400 + 20 + 160);
    t->ops->unpin(t, table);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.pinned_bytes, 0);
    t->ops->close(t);
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
    assert_int_equal(gnn_model_evaluate(model, &batch, x, labels, &step, NULL), GNN_OK);
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

/* ---- threads ---- */

enum { LANES = 4, COPIES = 2000 };

struct uploader {
    struct gnn_tensor *t;
    uint32_t lane;
    pthread_t thread;
};

static void *upload_many(void *arg)
{
    const struct uploader *u = arg;
    for (uint32_t i = 0; i < COPIES; i++) {
        u->t->ops->upload_async(u->t, u->lane, NULL, NULL, 512);
        if (i % 64 == 63)
            u->t->ops->upload_wait(u->t, u->lane);
    }
    u->t->ops->upload_wait(u->t, u->lane);
    return NULL;
}

static void test_uploads_beside_a_trainer(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    struct uploader uploaders[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        uploaders[l] = (struct uploader){.t = t, .lane = l};
        assert_int_equal(pthread_create(&uploaders[l].thread, NULL, upload_many, &uploaders[l]), 0);
    }
    for (uint32_t i = 0; i < 500; i++) {
        void *p = NULL;
        assert_int_equal(t->ops->alloc(t, "p", 4096, &p, NULL), GNN_OK);
        t->ops->fill(t, p, 1024, 0);
        t->ops->synchronize(t);
        t->ops->free(t, p);
    }
    for (uint32_t l = 0; l < LANES; l++)
        assert_int_equal(pthread_join(uploaders[l].thread, NULL), 0);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, LANES * COPIES * 512);
    assert_int_equal(counts.bus_busy_ns, LANES * COPIES * 256);
    assert_int_equal(counts.memory_bytes, 0);
    assert_true(atomic_load(&clock.now_ns) >= counts.bus_busy_ns);
    t->ops->close(t);
}

/* A block whose lists are the head of the one before brings none of its own. */
static void test_shared_lists_cross_once(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    const struct gnn_block head = {.dst_count = 1, .src_count = 2, .edge_count = 2, .row_start = row_start, .col = col};
    const struct gnn_batch_view view = {.layer_count = 2, .seed_count = 1, .node_count = 3, .blocks = {block, head}};
    const struct gnn_batch_lists lists = {&view, NULL, NULL};
    struct gnn_resident *room = NULL;
    struct gnn_modelled_counts counts;
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_stage(t, room, 0, &lists, NULL), GNN_OK);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, BLOCK_BYTES);
    t->ops->resident_close(t, room);
    t->ops->close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_by_hand),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_cpu_takes_time_of_the_caller),
        cmocka_unit_test(test_operands_take_time),
        cmocka_unit_test(test_stream_runs_behind_the_caller),
        cmocka_unit_test(test_an_all_reduce_is_a_ring),
        cmocka_unit_test(test_two_ranks_share_a_gpu),
        cmocka_unit_test(test_copies_beside_the_stream),
        cmocka_unit_test(test_blocks_cross_once_a_step),
        cmocka_unit_test(test_a_frameworks_step),
        cmocka_unit_test(test_a_frameworks_cpu),
        cmocka_unit_test(test_a_staged_batch_crosses_once_ahead),
        cmocka_unit_test(test_shared_lists_cross_once),
        cmocka_unit_test(test_events_order_lanes_and_the_stream),
        cmocka_unit_test(test_rows_out_of_pinned_memory),
        cmocka_unit_test(test_gpu_memory),
        cmocka_unit_test(test_open_refuses),
        cmocka_unit_test(test_models_touch_nothing),
        cmocka_unit_test(test_uploads_beside_a_trainer),
    };
    return cmocka_run_group_tests_name("modelled", tests, NULL, NULL);
}
