/* SPDX-License-Identifier: MIT */
/* How presort's number of threads is chosen: what is expected of an epoch against hand-worked sums and against what is
 * drawn, and the number against all others (docs/invariants.md, presort: threads). */
#include "systems/presort/presort.h"
#include "tests/support/fixture.h"
#include "tests/support/system_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- uses ---- */

/* 100 nodes that 10 mini-batches use 10 times each: as many balls as bins. */
enum { NODES = 100, BATCHES = 10, USES = 10 };

static struct presort_uses even_uses(uint32_t nodes, uint64_t uses)
{
    const struct gnn_dataset dataset = {.node_count = nodes};
    const struct gnn_workload workload = {.layers = 1};
    const struct gnn_env env = {.dataset = &dataset, .workload = &workload};
    const struct gnn_batch_size batch = {.nodes = {30, (uint32_t)(nodes * uses / BATCHES)}, .edges = 100};
    struct presort_uses out;
    presort_uses_even(&env, &batch, BATCHES, &out);
    return out;
}

static void test_balls_hit_bins(void **state)
{
    (void)state;
    assert_int_equal(presort_uses_hit(1000, 0), 0);
    assert_int_equal(presort_uses_hit(1000, 1000), 600); /* 1.5 / 2.5 */
    assert_int_equal(presort_uses_hit(1000, 2000), 800); /* 4 / 5 */
    for (uint64_t bins = 1 << 10; bins < UINT64_C(1) << 37; bins *= 8)
        for (uint64_t balls = bins / 64; balls < 32 * bins; balls += balls / 2) {
            const double exact = (double)bins * -expm1(-(double)balls / (double)bins);
            const uint64_t hit = presort_uses_hit(bins, balls);
            assert_true((double)hit <= exact);
            assert_true((double)hit >= exact * 0.92 - 1);
        }
}

static void test_rows_of_parts(void **state)
{
    (void)state;
    const struct presort_uses uses = even_uses(NODES, USES);
    assert_int_equal(uses.edges, BATCHES * 100);
    assert_int_equal(uses.sources, BATCHES * 30);
    assert_int_equal(presort_uses_rows(&uses, 10), 600);
    assert_int_equal(presort_uses_rows(&uses, 5), 400);
    assert_int_equal(presort_uses_others(&uses, 0, 5), 400);
    assert_int_equal(presort_uses_others(&uses, 50, 5), 200);
    assert_int_equal(presort_uses_others(&uses, 99, 5), 4);
    assert_int_equal(presort_uses_others(&uses, 100, 5), 0);
    assert_int_equal(presort_uses_others(&uses, 1000, 5), 0);
}

/* What is used most often is what stays. */
static void test_the_least_used_rows_are_loaded(void **state)
{
    (void)state;
    struct presort_uses uses = even_uses(NODES, USES);
    const struct presort_uses rare = even_uses(1000, 1);
    for (uint32_t bin = 0; bin < PRESORT_USES_BINS; bin++) {
        uses.nodes[bin] += rare.nodes[bin];
        uses.uses[bin] += rare.uses[bin];
    }
    assert_int_equal(presort_uses_others(&uses, NODES, 5), presort_uses_rows(&rare, 5));
    assert_int_equal(presort_uses_others(&uses, NODES - 20, 5), presort_uses_rows(&rare, 5) + 80);
    assert_int_equal(presort_uses_others(&uses, NODES + 500, 5), presort_uses_rows(&rare, 5) / 2);
}

static const struct train_graph_config graphs[] = {
    {.nodes = 900, .mean_degree = 6, .dim = 32, .classes = 5, .train = 160, .seed = 11},
    {.nodes = 6000, .mean_degree = 20, .dim = 8, .classes = 5, .train = 300, .seed = 12},
    {.nodes = 3000, .mean_degree = 3, .dim = 8, .classes = 5, .train = 3000, .seed = 13},
};

static void near(uint64_t expected, uint64_t counted, double share)
{
    if (fabs((double)expected - (double)counted) > share * (double)counted)
        fail_msg("%llu are expected, %llu were counted", (unsigned long long)expected, (unsigned long long)counted);
}

static void count_uses(struct fixture *f, struct presort_uses *out)
{
    const struct presort_topology_config config = {.kind = PRESORT_TOPOLOGY_RESIDENT, .room_bytes = UINT64_MAX};
    struct presort_topology *t;
    must(presort_topology_open(&f->env, &config, &t, &f->err), &f->err);
    must(presort_uses_count(&f->env, t, out, &f->err), &f->err);
    presort_topology_close(t);
}

/* Of an epoch that is drawn: rows and edges, of a part of an epoch, too. Within a fifth on graphs as small as these,
 * where a draw often meets what its mini-batch holds already. */
static void test_what_is_expected_is_drawn(void **state)
{
    (void)state;
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
        for (uint32_t part = 0; part < 2; part++) {
            struct fixture f;
            struct train_run run;
            struct presort_uses uses;
            fixture_open(&f, .graph = &graphs[g]);
            train_run_init(&run, f.world, "presort");
            run.options = OPTIONS("io=buffered");
            run.workload.max_batches = part * 4;
            f.workload = run.workload;
            count_uses(&f, &uses);
            must_run(train_run_open(&run, &f.graph), &run);
            must_run(train_run_epoch(&run, 0), &run);
            const struct gnn_counters *const c = &run.result.counters;
            near(presort_uses_rows(&uses, gnn_epoch_batches(&f.env)), c->rows_asked, 0.2);
            near(uses.edges, c->sample.sampled_edges, 0.2);
            train_run_close(&run);
            fixture_close(&f);
        }
}

/* ---- weighing ---- */

static const struct gnn_profile_cpu cpu = {
    .work_ps = {[GNN_WORK_SAMPLED_EDGE] = 2000,
                [GNN_WORK_HASHED_ID] = 3000,
                [GNN_WORK_SORTED_KEY] = 5000,
                [GNN_WORK_COPIED_BYTE] = 1000,
                [GNN_WORK_TABLE_ENTRY] = 7000},
    .gather_row_ns = 11,
    .submit_ns = 13,
    .complete_ns = 17,
    .wake_ns = 100,
    .wake_latency_ns = 50,
    .thread_start_ns = 1000,
};

static const struct presort_candidate candidate = {
    .threads = 1, .slots = 50, .window_rows = 80, .members_max = 200, .hyperbatches = 1, .windows = 1};

static struct presort_scales scales_of(const struct presort_uses *uses)
{
    return (struct presort_scales){.cpu = &cpu,
                                   .cores = 2,
                                   .page_ps = GNN_PAGE_BYTES * UINT64_C(1000), /* a nanosecond a byte */
                                   .fault_ns = 400,
                                   .fault_bytes = 30,
                                   .costs = {.row_bytes = 10, .random_bytes = 100, .sorted_bytes = 25},
                                   .nodes = NODES,
                                   .batches = BATCHES,
                                   .epochs = 4,
                                   .uses = uses};
}

static void check(const struct presort_scales *scales, const struct presort_candidate *c,
                  const struct presort_weight *expected)
{
    struct presort_weight w;
    presort_weigh(scales, c, &w);
    assert_int_equal(w.loads, expected->loads);
    assert_int_equal(w.sorted, expected->sorted);
    assert_int_equal(w.device_ns, expected->device_ns);
    assert_int_equal(w.prepare_ns, expected->prepare_ns);
    assert_int_equal(w.load_ns, expected->load_ns);
    assert_int_equal(w.assemble_ns, expected->assemble_ns);
    assert_int_equal(w.work_ns, expected->work_ns);
    assert_int_equal(w.epoch_ns, expected->epoch_ns);
}

/* 5 windows have room for their rows, 400 together, in 2 hyperbatches; 50 rows stay, so that 200 are loaded.
 *
 * Draw      1000 edges of 2 + 3 + 5 + 7, 300 sources of 7: 19100
 * Plan      600 rows, 5 x 400 + 4 x 200 and 2 x 50 entries of 7; 400 keys of 5; 2 x 3 + 5 times 13 bytes: 26643
 * Copy      a row 11 + 10; 4200 for the loads, 12600 for the inputs
 * Direct    200 x 100 bytes; each 13 + 17 for its request and 7: 11600 with the copies
 * Sorted    200 x 25 bytes and two sweeps over 1000; of it the sorting waits for 2000 + 200 x 15 */
static void test_stages_by_hand(void **state)
{
    (void)state;
    const struct presort_uses uses = even_uses(NODES, USES);
    struct presort_scales scales = scales_of(&uses);
    const struct presort_weight direct = {.loads = 200,
                                          .device_ns = 20000,
                                          .prepare_ns = 19100 + 26643,
                                          .load_ns = 11600,
                                          .assemble_ns = 19100 + 4200 + 12600,
                                          .work_ns = (19100 + 26643 + 11600 + 35900) / 2,
                                          .epoch_ns = 46621 + 2000};
    const struct presort_weight sorted = {.loads = 200,
                                          .sorted = true,
                                          .device_ns = 7000,
                                          .prepare_ns = 19100 + 26643 + 4200 + 5000,
                                          .load_ns = 5600,
                                          .assemble_ns = 35900,
                                          .work_ns = (19100 + 30843 + 5600 + 35900) / 2,
                                          .epoch_ns = 54943 + 2000};
    scales.classes = PRESORT_DIRECT;
    check(&scales, &candidate, &direct);
    scales.classes = PRESORT_SORTED;
    check(&scales, &candidate, &sorted);
    scales.classes = PRESORT_AUTO;
    check(&scales, &candidate, &sorted);
    scales.costs.random_bytes = 35; /* of a load, and 10 for its share of the sweeps */
    struct presort_weight w;
    presort_weigh(&scales, &candidate, &w);
    assert_false(w.sorted);
    scales.costs.random_bytes = 36;
    presort_weigh(&scales, &candidate, &w);
    assert_true(w.sorted);
}

/* Two draw 10 mini-batches in 5 turns, each of two wakes and a way there and back. */
static void test_a_thread_more_by_hand(void **state)
{
    (void)state;
    const struct presort_uses uses = even_uses(NODES, USES);
    struct presort_scales scales = scales_of(&uses);
    struct presort_candidate c = candidate;
    c.threads = 2;
    struct presort_weight two = {.loads = 200,
                                 .sorted = true,
                                 .device_ns = 7000,
                                 .prepare_ns = 19100 / 2 + 5 * (2 * 100 + 2 * 50) + 30843 + 5000,
                                 .load_ns = 5600,
                                 .assemble_ns = 35900 / 2,
                                 .work_ns = 91443 / 2,
                                 .epoch_ns = 46893 + 4000};
    check(&scales, &c, &two);
    scales.cores = 1; /* all work is one core's */
    two.work_ns = 91443;
    two.epoch_ns = 91443 + 4000;
    check(&scales, &c, &two);
}

/* Half of 300 draws wait 400 for a page, once for the preparation and once for the assembly, and the device serves
 * 2 x 150 x 30 bytes; of the other half, in 80 pages, 20 wait in each of 4 epochs, for the preparation alone. */
static void test_page_faults_by_hand(void **state)
{
    (void)state;
    const struct presort_uses uses = even_uses(NODES, USES);
    struct presort_scales scales = scales_of(&uses);
    struct presort_candidate c = candidate;
    c.absent_percent = 50;
    scales.list_pages = 80;
    struct presort_weight w = {.loads = 200,
                               .sorted = true,
                               .device_ns = 7000 + 9000 + 20 * 30,
                               .prepare_ns = 54943 + 60000 + 8000,
                               .load_ns = 5600,
                               .assemble_ns = 35900 + 60000,
                               .work_ns = 91443 / 2,
                               .epoch_ns = 122943 + 2000};
    check(&scales, &c, &w);
    c.threads = 2;
    w.prepare_ns = (19100 + 68000) / 2 + 1500 + 30843 + 5000;
    w.assemble_ns = (35900 + 60000) / 2;
    w.epoch_ns = w.prepare_ns + 4000;
    check(&scales, &c, &w);
    scales.list_pages = 100000; /* more than are drawn from */
    presort_weigh(&scales, &c, &w);
    assert_int_equal(w.device_ns, 7000 + 9000 + UINT64_C(37) * 30);
    scales.list_pages = 0; /* lists in memory */
    presort_weigh(&scales, &c, &w);
    assert_int_equal(w.device_ns, 7000);
}

/* Where all rows stay nothing is loaded; limits on windows and hyperbatches add to the plan. */
static void test_limits_by_hand(void **state)
{
    (void)state;
    const struct presort_uses uses = even_uses(NODES, USES);
    const struct presort_scales scales = scales_of(&uses);
    struct presort_candidate c = candidate;
    struct presort_weight w;
    c.slots = NODES;
    presort_weigh(&scales, &c, &w);
    assert_int_equal(w.loads, 0);
    assert_int_equal(w.device_ns, 0);
    assert_int_equal(w.load_ns, 0);
    assert_int_equal(w.prepare_ns, 19100 + (600 + 2000 + 200) * 7 + 2000 + 11 * 13);
    c.hyperbatches = 3;
    presort_weigh(&scales, &c, &w);
    assert_int_equal(w.prepare_ns, 19100 + (600 + 2000 + 300) * 7 + 2000 + 14 * 13);
    c.windows = BATCHES; /* each asks for all of its rows */
    presort_weigh(&scales, &c, &w);
    assert_int_equal(w.prepare_ns, 19100 + (600 + 3000 + 300) * 7 + 3000 + 19 * 13);
    c.window_rows = 1;
    presort_weigh(&scales, &c, &w);
    assert_int_equal(w.prepare_ns, 19100 + (600 + 3000 + 300) * 7 + 3000 + 19 * 13);
}

/* ---- the choice ---- */

/* A device that serves so many reads of a page a second, and as many bytes. */
static struct gnn_profile_storage storage_of(uint64_t reads_per_s)
{
    return (struct gnn_profile_storage){.devices = 1,
                                        .size_count = 1,
                                        .depth_count = 1,
                                        .size_bytes = {GNN_PAGE_BYTES},
                                        .depth = {1},
                                        .read_ps = {{UINT64_C(1000000000000) / reads_per_s}},
                                        .write_bytes_per_s = reads_per_s * GNN_PAGE_BYTES};
}

static const char *const *pinned(uint32_t threads)
{
    static char text[16];
    static const char *const options[] = {text, NULL};
    (void)snprintf(text, sizeof text, "threads=%u", threads);
    return options;
}

/* Sizes beside lists that are in memory where uses say what is in them; returns whether they fit the cap. */
static bool size(struct fixture *f, const char *const *options, enum presort_topology_kind topology,
                 const struct presort_uses *uses, struct presort_sizes *out)
{
    struct presort_config *const config = system_configure(system_find("presort"), options);
    struct gnn_memory_plan plan;
    const uint64_t lists_bytes = uses != NULL ? presort_topology_bytes_all(&f->graph.dataset) : GNN_UNKNOWN;
    gnn_plan_begin(&plan, &f->env);
    must(presort_size(config, topology, lists_bytes, uses, out, &plan, &f->err), &f->err);
    free(config);
    return f->env.cap_bytes == 0 || gnn_plan_bytes(&plan) <= f->env.cap_bytes;
}

/* The fewest of the threads with which the epoch is expected to be shortest, of those that fit. */
static uint32_t best_of_all(struct fixture *f, const struct presort_uses *uses)
{
    struct presort_sizes sizes;
    (void)size(f, pinned(1), PRESORT_TOPOLOGY_RESIDENT, uses, &sizes);
    uint64_t best_ns = sizes.expected.epoch_ns;
    uint32_t best = 1;
    for (uint32_t threads = 2; threads <= gnn_min_u32(f->env.cores, PRESORT_THREADS_MAX); threads++)
        if (size(f, pinned(threads), PRESORT_TOPOLOGY_RESIDENT, uses, &sizes) && sizes.expected.epoch_ns < best_ns) {
            best = threads;
            best_ns = sizes.expected.epoch_ns;
        }
    return best;
}

static void open_dense(struct fixture *f, struct presort_uses *uses)
{
    static const struct train_graph_config dense = {
        .nodes = 9000, .mean_degree = 20, .dim = 128, .classes = 5, .train = 9000, .seed = 11};
    fixture_open(f, .graph = &dense);
    f->workload.fanout[0] = f->workload.fanout[1] = 10;
    f->env.cores = 2;
    count_uses(f, uses);
}

static uint64_t least_cap(struct fixture *f, const struct presort_uses *uses)
{
    struct presort_sizes sizes;
    uint64_t cap = 1 << 20;
    for (f->env.cap_bytes = cap; !size(f, pinned(1), PRESORT_TOPOLOGY_RESIDENT, uses, &sizes); f->env.cap_bytes = cap)
        cap += 1 << 16;
    return cap;
}

/* Where drawing is all that takes the processor, even the tightest cap would have several for it; and a thread that
 * gains nothing costs nothing. */
static const struct gnn_profile_cpu drawing = {.work_ps = {[GNN_WORK_SAMPLED_EDGE] = 100000}};

/* Checks every cap from the least on, and none, on a device and cores. */
static void check_caps(struct fixture *f, const struct presort_uses *uses, uint64_t least, uint32_t *chosen)
{
    for (uint64_t part = 0; part < 12; part++) {
        struct presort_sizes sizes;
        f->env.cap_bytes = part == 11 ? 0 : least + part * least / 10;
        assert_true(size(f, NULL, PRESORT_TOPOLOGY_RESIDENT, uses, &sizes));
        assert_int_equal(sizes.threads, best_of_all(f, uses));
        assert_true(sizes.threads <= f->env.cores);
        chosen[sizes.threads]++;
    }
}

/* Whatever the cap, the cores, the processor and the device; and the choice is between several. */
static void test_the_best_of_all_is_chosen(void **state)
{
    (void)state;
    static const uint32_t cores[] = {1, 2, 4, 64};
    static const uint64_t speeds[] = {1000, 100000, 10000000};
    struct fixture f;
    struct presort_uses uses;
    uint32_t chosen[PRESORT_THREADS_MAX + 1] = {0}, several = 0;
    open_dense(&f, &uses);
    const uint64_t least = least_cap(&f, &uses);
    for (size_t c = 0; c < sizeof cores / sizeof *cores; c++)
        for (size_t s = 0; s < 2 * sizeof speeds / sizeof *speeds; s++) {
            const struct gnn_profile_storage storage = storage_of(speeds[s / 2]);
            f.env.storage = &storage;
            f.env.cpu = s % 2 == 0 ? NULL : &drawing;
            f.env.cores = cores[c];
            check_caps(&f, &uses, least, chosen);
        }
    for (uint32_t t = 1; t <= PRESORT_THREADS_MAX; t++)
        several += chosen[t] > 0;
    assert_true(chosen[1] > 0);
    assert_true(several >= 4);
    f.env.storage = NULL;
    fixture_close(&f);
}

/* Lists that make the mean mini-batch larger than degrees do make the largest so, by as much and up to the fan-outs'
 * bound; lists that say less change nothing. */
static void test_lists_correct_the_largest_mini_batch(void **state)
{
    (void)state;
    struct fixture f;
    struct presort_uses uses;
    struct presort_sizes sizes;
    struct gnn_memory_plan plan;
    uint32_t bound[GNN_LAYERS_MAX + 1];
    open_dense(&f, &uses);
    f.env.cap_bytes = 0;
    f.workload.batch_size = 4;
    f.workload.fanout[0] = f.workload.fanout[1] = 40;
    gnn_plan_begin(&plan, &f.env);
    const uint32_t layers = f.workload.layers, largest = plan.largest.nodes[layers];
    const uint32_t batches = gnn_epoch_batches(&f.env);
    (void)gnn_sample_node_bound(f.graph.dataset.node_count, 4, f.workload.fanout, layers, bound);
    assert_true(largest + 40 < bound[layers]);
    for (int more = -40; more <= 2000; more += more < 40 ? 40 : 1960) {
        struct gnn_batch_size told = plan.batch;
        told.nodes[layers] = (uint32_t)((int)told.nodes[layers] + more);
        told.edges += more > 0 ? (uint64_t)more : 0;
        presort_uses_even(&f.env, &told, batches, &uses);
        assert_true(size(&f, NULL, PRESORT_TOPOLOGY_RESIDENT, &uses, &sizes));
        const uint32_t wanted = more <= 0 ? largest : gnn_min_u32(largest + (uint32_t)more, bound[layers]);
        assert_in_range(sizes.input_rows, (wanted - 1) * UINT64_C(5) / 4, wanted * UINT64_C(5) / 4);
    }
    fixture_close(&f);
}

/* The device's floor: with one so slow that the rows that a thread costs take longer than all work, one draws; the same
 * memory on a fast one has several. */
static void test_a_slow_device_has_one(void **state)
{
    (void)state;
    struct fixture f;
    struct presort_uses uses;
    struct presort_sizes sizes;
    open_dense(&f, &uses);
    f.env.cores = 64;
    f.env.cap_bytes = least_cap(&f, &uses) * 5 / 4;
    struct gnn_profile_storage storage = storage_of(1000);
    f.env.storage = &storage;
    (void)size(&f, NULL, PRESORT_TOPOLOGY_RESIDENT, &uses, &sizes);
    assert_int_equal(sizes.threads, 1);
    assert_int_equal(sizes.expected.device_ns + UINT64_C(2) * 36000, sizes.expected.epoch_ns);
    storage = storage_of(10000000);
    (void)size(&f, NULL, PRESORT_TOPOLOGY_RESIDENT, &uses, &sizes);
    assert_true(sizes.threads > 1);
    fixture_close(&f);
}

/* What is asked for is what there is, but for swept lists, which one draws from; and where a cap has to have room for
 * lists first, one is planned until they are there. */
static void test_what_is_given_or_not_known(void **state)
{
    (void)state;
    struct fixture f;
    struct presort_uses uses;
    struct presort_sizes sizes;
    open_dense(&f, &uses);
    const struct gnn_profile_storage storage = storage_of(10000000);
    f.env.storage = &storage;
    f.env.cores = 64;
    for (uint32_t threads = 1; threads <= PRESORT_THREADS_MAX; threads += 5) {
        (void)size(&f, pinned(threads), PRESORT_TOPOLOGY_RESIDENT, &uses, &sizes);
        assert_int_equal(sizes.threads, threads);
        (void)size(&f, pinned(threads), PRESORT_TOPOLOGY_AUTO, NULL, &sizes);
        assert_int_equal(sizes.threads, threads);
        (void)size(&f, pinned(threads), PRESORT_TOPOLOGY_SWEPT, NULL, &sizes);
        assert_int_equal(sizes.threads, 1);
    }
    (void)size(&f, NULL, PRESORT_TOPOLOGY_AUTO, NULL, &sizes);
    assert_true(sizes.threads > 1); /* without a cap */
    f.env.cap_bytes = 1 << 30;
    (void)size(&f, NULL, PRESORT_TOPOLOGY_AUTO, NULL, &sizes);
    assert_int_equal(sizes.threads, 1);
    (void)size(&f, NULL, PRESORT_TOPOLOGY_MAPPED, NULL, &sizes);
    assert_true(sizes.threads > 1);
    (void)size(&f, NULL, PRESORT_TOPOLOGY_SWEPT, NULL, &sizes);
    assert_int_equal(sizes.threads, 1);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balls_hit_bins),
        cmocka_unit_test(test_rows_of_parts),
        cmocka_unit_test(test_the_least_used_rows_are_loaded),
        cmocka_unit_test(test_what_is_expected_is_drawn),
        cmocka_unit_test(test_stages_by_hand),
        cmocka_unit_test(test_a_thread_more_by_hand),
        cmocka_unit_test(test_page_faults_by_hand),
        cmocka_unit_test(test_limits_by_hand),
        cmocka_unit_test(test_the_best_of_all_is_chosen),
        cmocka_unit_test(test_lists_correct_the_largest_mini_batch),
        cmocka_unit_test(test_a_slow_device_has_one),
        cmocka_unit_test(test_what_is_given_or_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
