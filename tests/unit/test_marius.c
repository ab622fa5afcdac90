/* SPDX-License-Identifier: MIT */
/* MariusGNN as a whole: what its mini-batches have in common with the exact systems' and what not, which switches
 * change nothing but time, what is read, what fits the cap. */
#include "harness/sample/sample.h"
#include "systems/mariusgnn/mariusgnn.h"
#include "tests/differential/systems.h"
#include "tests/support/hang.h"
#include "tests/support/memory_source.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void start(struct train_run *run, const struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "mariusgnn");
    run->options = options;
    run->check_rows = !f->config.simulated;
    run->modelled = f->config.simulated ? &f->profile : NULL;
    must_run(train_run_open(run, &f->graph), run);
}

/* ---- against the exact systems ---- */

/* What the harness's sampler draws for the same workload. */
static void sample_exactly(const struct fixture *f, const struct gnn_workload *load, struct gnn_sample_counters *out)
{
    struct gnn_err err = {0};
    struct gnn_sampler_config config = {.seed = load->seed, .layers = load->layers};
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    gnn_node order[TRAIN];
    memcpy(config.fanout, load->fanout, sizeof config.fanout);
    must(gnn_source_memory(f->world, f->graph.indices, f->graph.dataset.edge_count, &source, &err), &err);
    must(gnn_sampler_open(f->world, &config, &f->graph.dataset, source, &sampler, &err), &err);
    must(gnn_batch_open(f->world, &batch, &err), &err);
    gnn_epoch_order(load->seed, 0, f->graph.dataset.train.nodes, TRAIN, order);
    for (uint32_t k = 0; k < BATCHES; k++)
        must(gnn_sampler_sample(sampler, 0, k, order + (size_t)k * 20, k + 1 < BATCHES ? 20 : 10, batch, &err), &err);
    gnn_sampler_counters(sampler, out);
    gnn_batch_close(f->world, batch);
    gnn_sampler_close(sampler);
    gnn_source_close(source);
}

/* Everything resident in one partition, incoming edges alone, without replacement: one layer draws what the exact
 * systems draw, to the digest. With two, a node that was met before is not drawn for anew (section 4.1): fewer edges
 * are drawn, and nothing else is different. */
static void test_with_all_resident_only_reuse_differs(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (uint32_t layers = 1; layers <= 2; layers++) {
        struct train_run run;
        struct gnn_sample_counters exact;
        train_run_init(&run, f.world, "mariusgnn");
        run.options = OPTIONS("io=buffered", "partitions=1", "edges=in", "replace=false");
        run.workload.layers = layers;
        run.check_rows = true;
        sample_exactly(&f, &run.workload, &exact);
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        const struct gnn_sample_counters *const own = &run.result.counters.sample;
        train_run_each_seed_once(&run);
        assert_int_equal(run.wrong_values, 0);
        if (layers == 1) {
            assert_memory_equal(own, &exact, sizeof exact);
            assert_int_equal(train_run_extra(&run, "one_hop_edges"), exact.sampled_edges);
        } else {
            assert_true(own->batch_digest != exact.batch_digest);
            assert_true(train_run_extra(&run, "one_hop_edges") < exact.sampled_edges);
            assert_true(own->sampled_nodes <= exact.sampled_nodes);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* With fewer partitions than all only what is resident is seen; training nodes are resident in every epoch. */
static void test_only_resident_nodes_are_seen(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run run;
    uint32_t seen[2] = {0};
    fixture_open(&f, .graph = &usual);
    start(&run, &f, OPTIONS("io=buffered", "partitions=30", "capacity=9")); /* P = 30, k = 5 */
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        train_run_each_seed_once(&run);
        assert_int_equal(run.wrong_values, 0);
        for (uint32_t v = 0; v < f.graph.dataset.node_count; v++)
            seen[epoch] += run.needed[v] > 0;
        assert_true(seen[epoch] > TRAIN);
        assert_true(seen[epoch] <= 9 * 30);
        assert_int_equal(train_run_extra(&run, "states"), 1);
        assert_int_equal(train_run_extra(&run, "training_partitions"), 5);
    }
    train_run_close(&run);
    start(&run, &f, OPTIONS("io=buffered", "partitions=30"));
    must_run(train_run_epoch(&run, 0), &run);
    uint32_t all = 0;
    for (uint32_t v = 0; v < f.graph.dataset.node_count; v++)
        all += run.needed[v] > 0;
    assert_true(all > 2 * seen[0]);
    train_run_close(&run);
    fixture_close(&f);
}

/* ---- what changes nothing but time ---- */

/* Threads, queues, prefetching, what is kept, how it is read: the same mini-batches and the same losses, to the bit. */
static void test_switches_of_speed_change_no_loss(void **state)
{
    (void)state;
    static const char *const base[2] = {"partitions=30", "partitions=15"};
    static const char *const capacity[2] = {"capacity=9", "capacity=6"};
    static const char *const policy[2] = {"policy=training-first", "policy=replace"};
    static const char *const switches[][3] = {{"loaders=2", "loaders=1", "staleness=1"},
                                              {"staleness=7", "loaders=3", "staleness=2"},
                                              {"prefetch=false", "depth=1", "loaders=2"},
                                              {"keep=false", "bucket_reads=single", "loaders=2"},
                                              {"edge_memory=released", "always_write=true", "loaders=2"},
                                              {"always_write=true", "prefetch=false", "loaders=2"},
                                              {"sampling=team", "copied_ids=released", "loaders=3"},
                                              {"io=direct", "loaders=2", "depth=3"}};
    static double expected[EPOCHS][BATCHES * 6];
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int p = 0; p < 2; p++)
        for (size_t c = 0; c < sizeof switches / sizeof *switches; c++) {
            struct train_run run;
            uint64_t digest[EPOCHS];
            if (strcmp(switches[c][0], "io=direct") == 0 && !f.direct)
                continue;
            start(&run, &f,
                  OPTIONS("io=buffered", base[p], capacity[p], policy[p], switches[c][0], switches[c][1],
                          switches[c][2]));
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                train_run_each_seed_once(&run);
                assert_int_equal(run.wrong_values, 0);
                for (uint32_t k = 0; k < run.step_count; k++)
                    assert_int_equal(run.order[k], k);
                digest[epoch] = run.result.counters.sample.batch_digest;
                assert_true(run.step_count <= BATCHES * 6);
                if (c == 0)
                    memcpy(expected[epoch], run.loss, run.step_count * sizeof run.loss[0]);
                assert_memory_equal(run.loss, expected[epoch], run.step_count * sizeof run.loss[0]);
            }
            assert_true(digest[0] != digest[1]);
            train_run_close(&run);
        }
    fixture_close(&f);
}

/* The CPU and the device, the pool and the ring, another world: the same mini-batches. */
static void test_both_worlds_draw_the_same(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("partitions=30", "capacity=9", "io=buffered"),
        OPTIONS("partitions=15", "capacity=6", "policy=replace", "io=buffered"),
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint64_t digest[3];
        for (int where = 0; where < 3; where++) {
            struct fixture f;
            struct train_run run;
            fixture_open(&f, .graph = &usual, .simulated = where == 1);
            train_run_init(&run, f.world, "mariusgnn");
            run.options = cases[c];
            run.modelled = where == 1 ? &f.profile : NULL;
            run.device = where == 2;
            run.check_rows = where != 1;
            must_run(train_run_open(&run, &f.graph), &run);
            must_run(train_run_epoch(&run, 1), &run);
            train_run_each_seed_once(&run);
            assert_int_equal(run.wrong_values, 0);
            digest[where] = run.result.counters.sample.batch_digest;
            train_run_close(&run);
            fixture_close(&f);
        }
        assert_true(digest[0] == digest[1]);
        assert_true(digest[0] == digest[2]);
    }
}

/* ---- what is read ---- */

/* Section 5.2: nothing is read after an epoch's fill, and from the second epoch on what changed alone; the released
 * code reads all c partitions anew. With everything resident nothing is read any more. */
static void test_reads_are_the_partitions_that_change(void **state)
{
    (void)state;
    enum { P = 30, SLOT = 4096, CAPACITY = 9 }; /* 30 rows of 64 bytes make a page */
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int keep = 0; keep < 2; keep++) {
        struct train_run run;
        uint64_t again = 0;
        start(&run, &f,
              OPTIONS("io=buffered", "partitions=30", "capacity=9", keep ? "keep=true" : "keep=false",
                      "bucket_reads=single"));
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            const struct gnn_counters *const c = &run.result.counters;
            const uint64_t partitions = train_run_extra(&run, "partition_reads");
            const uint64_t edges = train_run_extra(&run, "resident_edges");
            assert_int_equal(c->requested_bytes, partitions * SLOT + edges * MARIUS_EDGE_BYTES);
            assert_int_equal(c->requested_ios, partitions + train_run_extra(&run, "bucket_reads"));
            assert_int_equal(train_run_extra(&run, "bucket_requests"), train_run_extra(&run, "bucket_reads"));
            assert_true(train_run_extra(&run, "bucket_reads") <= CAPACITY * CAPACITY);
            assert_int_equal(c->rows_read, partitions * P);
            assert_int_equal(c->rows_asked, c->sample.sampled_nodes);
            assert_int_equal(c->cache_evictions, epoch == 0 ? 0 : partitions * P);
            assert_int_equal(c->requested_write_bytes, 0);
            if (epoch == 0 || !keep)
                assert_int_equal(partitions, CAPACITY);
            else
                assert_true(partitions <= CAPACITY - 5); /* the training nodes' five stay */
            again += epoch > 0 ? partitions : 0;
        }
        assert_true(again > 0);
        train_run_close(&run);
    }
    struct train_run run;
    start(&run, &f, OPTIONS("io=buffered", "partitions=30", "policy=memory"));
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(train_run_extra(&run, "partition_reads"), epoch == 0 ? P : 0);
        assert_int_equal(train_run_extra(&run, "resident_edges"), f.graph.dataset.edge_count);
        assert_int_equal(run.result.counters.requested_ios > 0, epoch == 0);
    }
    train_run_close(&run);
    fixture_close(&f);
}

/* The released code's timer leaves out what is read before the first state. */
static void test_times_add_up_to_the_epoch(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("partitions=15", "capacity=6", "policy=training-first", "keep=false"),
        OPTIONS("partitions=15", "capacity=6", "policy=replace", "keep=false", "prefetch=false"),
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct train_run run;
        fixture_open(&f, .graph = &usual, .simulated = true);
        start(&run, &f, cases[c]);
        const uint64_t start_ns = gnn_now_ns(f.world);
        must_run(train_run_epoch(&run, 0), &run);
        const uint64_t epoch_ns = gnn_now_ns(f.world) - start_ns, fill_ns = train_run_extra(&run, "fill_ns");
        assert_true(fill_ns > 0);
        assert_int_equal(train_run_extra(&run, "sync_ns"), 0);
        assert_int_equal(train_run_extra(&run, "timed_ns"), epoch_ns - fill_ns);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* With a bucket that has most edges, the plan holds the state that draws it, however rarely it is drawn. */
static void test_a_fat_bucket_is_planned_for(void **state)
{
    (void)state;
    enum { P = 15, FAT = 10000 };
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual, .simulated = true);
    start(&run, &f, OPTIONS("partitions=15", "policy=training-first"));
    const struct marius *const m = run.state;
    struct marius_config config = *m->config;
    struct marius_store store = m->store;
    struct marius_sizes sizes;
    struct gnn_memory_plan plan;
    uint64_t start_of[P * P + 1] = {0};
    assert_true(m->store.training_first && m->sizes.training + 10 < P); /* drawn in one of twelve epochs */
    config.capacity = m->sizes.training + 1; /* one other partition of the rest is resident */
    store.bucket_start = start_of;
    for (uint32_t b = P - 1; b < P * P; b++) /* bucket (0, P - 1) */
        start_of[b + 1] = FAT;
    gnn_plan_begin(&plan, &run.env);
    must_run(marius_size(&config, &store, &m->degrees, &sizes, &plan, &run.err), &run);
    assert_int_equal(sizes.capacity, config.capacity);
    assert_true(sizes.resident_edges >= FAT);
    assert_true(sizes.resident_edges < 2 * FAT);
    train_run_close(&run);
    fixture_close(&f);
}

/* The fallback: l - c_l + 1 states, every partition read once an epoch, buckets that stay are not read again. */
static void test_replacement_reads_every_partition_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int prefetch = 0; prefetch < 2; prefetch++) {
        struct train_run run;
        start(&run, &f,
              OPTIONS("io=buffered", "partitions=15", "capacity=6", "policy=replace", "keep=false",
                      prefetch ? "prefetch=true" : "prefetch=false"));
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            train_run_each_seed_once(&run);
            assert_int_equal(train_run_extra(&run, "states"), 5 - 2 + 1);
            assert_int_equal(train_run_extra(&run, "logical_partitions"), 5);
            assert_int_equal(train_run_extra(&run, "partition_reads"), 15);
            assert_int_equal(run.result.counters.rows_read, f.graph.dataset.node_count);
            assert_true(train_run_extra(&run, "buckets_kept") > 0);
            assert_true(train_run_extra(&run, "bucket_reads") <= 36 + 3 * 3 * (2 * 6 - 3));
            assert_true(train_run_extra(&run, "timed_ns") > 0);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_part_of_an_epoch_stops_at_its_batches(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (uint32_t most = 1; most < 6; most++) {
        struct train_run run;
        train_run_init(&run, f.world, "mariusgnn");
        run.options = OPTIONS("io=buffered", "partitions=15", "capacity=6", "policy=replace");
        run.workload.max_batches = most;
        must_run(train_run_open(&run, &f.graph), &run);
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            assert_int_equal(run.result.counters.sample.batches, most);
            assert_int_equal(run.step_count, most);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* ---- sizes ---- */

static const struct train_graph_config large = {
    .nodes = 20000, .mean_degree = 30, .dim = 128, .classes = 5, .train = TRAIN, .seed = 11};

/* What a run holds, by hand: c partitions of rows, 16 bytes a resident edge, 12 a resident node, 4 a node, 8 a bucket;
 * little besides where mini-batches are small. */
static void test_memory_is_partitions_and_edges(void **state)
{
    (void)state;
    enum { P = 64, ROWS = 313, SLOT = 163840 }; /* 20,000 nodes; 313 rows of 512 bytes in whole pages */
    static const char *const capacity[] = {"capacity=48", "capacity=56", "capacity=64"};
    struct fixture f;
    fixture_open(&f, .graph = &large);
    for (uint64_t i = 0; i < 3; i++) {
        struct train_run run;
        struct gnn_mem_usage usage;
        const uint64_t c = 48 + 8 * i;
        start(&run, &f, OPTIONS("io=buffered", "partitions=64", "loaders=1", "staleness=1", capacity[i]));
        must_run(train_run_epoch(&run, 0), &run);
        gnn_mem_usage(f.world, &usage);
        const uint64_t edges = train_run_extra(&run, "resident_edges");
        const uint64_t by_hand = c * SLOT + 16 * edges + 12 * c * ROWS + UINT64_C(4) * large.nodes + 8 * P * P;
        assert_true(edges > 0);
        assert_in_range(usage.current_bytes, by_hand, by_hand + by_hand / 10);
        train_run_close(&run);
    }
    fixture_close(&f);
}

static uint64_t part_bytes(const struct gnn_memory_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, name) == 0)
            return plan->parts[i].bytes;
    fail_msg("no part %s", name);
    return 0;
}

/* c is the largest whose parts fit, beside what a device asks for of the host: they do, and a partition's rows and
 * edges more would not. */
static void check_that_the_capacity_fills(struct fixture *f, uint64_t cap_bytes, struct gnn_tensor *device)
{
    struct train_run run;
    struct gnn_memory_plan plan;
    train_run_init(&run, f->world, "mariusgnn");
    run.options = OPTIONS("io=buffered", "partitions=64", "loaders=1", "staleness=1");
    run.cap_bytes = cap_bytes;
    run.plan_on = device;
    must_run(train_run_plan(&run, &f->graph, &plan), &run);
    const uint64_t slot = gnn_round_up(UINT64_C(313) * 512, 4096);
    const uint64_t buffer = part_bytes(&plan, "partition buffer");
    const uint64_t capacity = buffer / slot;
    assert_int_equal(buffer % slot, 0);
    assert_in_range(capacity, 2, 63);
    uint64_t grows = buffer;
    for (size_t i = 0; i < 3; i++)
        grows += part_bytes(&plan, ((const char *[]){"resident edges", "samplers", "mini-batches in flight"})[i]);
    assert_true(gnn_plan_left(&plan, 1) < 2 * grows / capacity); /* in the epochs */
    free(run.config);
}

static void test_the_capacity_fills_the_cap(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_tensor device = {.memory_bytes = 0}; /* a GPU that does not say how large it is */
    fixture_open(&f, .graph = &large);
    for (uint64_t cap_bytes = UINT64_C(9) << 20; cap_bytes <= UINT64_C(17) << 20; cap_bytes += UINT64_C(2) << 20)
        check_that_the_capacity_fills(&f, cap_bytes, NULL);
    for (uint64_t cap_bytes = UINT64_C(9) << 20; cap_bytes <= UINT64_C(11) << 20; cap_bytes += UINT64_C(1) << 16)
        check_that_the_capacity_fills(&f, cap_bytes, &device);
    fixture_close(&f);
}

/* Few edges come in, many go out, and a mini-batch is what the latter make it. */
static const struct train_graph_config leaving = {
    .nodes = 20000, .mean_degree = 4, .dim = 64, .classes = 5, .train = TRAIN, .seed = 11};

enum { LARGEST_CAP = 16 << 20, CAP_STEP = 512 << 10, MANY_EPOCHS = 3, MANY_RESIDENT = 16 };

static enum gnn_status start_under(struct train_run *run, const struct fixture *f, const char *policy, bool device,
                                   uint64_t cap)
{
    train_run_init(run, f->world, "mariusgnn");
    run->options = OPTIONS("io=buffered", "partitions=64", policy);
    run->workload.layers = 2;
    run->workload.fanout[0] = 10;
    run->workload.fanout[1] = 8;
    run->modelled = &f->profile;
    run->device = device;
    run->cap_bytes = cap;
    const enum gnn_status status = train_run_open(run, &f->graph);
    run->options = NULL; /* they end here */
    return status;
}

/* No mini-batch had more rows than were thought of, on the host or on the device, and the largest not far fewer. */
static void rows_are_as_planned(const struct train_run *run, const struct marius_sizes *sizes,
                                const struct gnn_memory_plan *plan)
{
    const struct marius *const m = run->state;
    const uint64_t most = gnn_rows_capacity(sizes->largest.nodes[run->workload.layers]);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < sizes->staleness; i++)
        rows = gnn_max_u64(rows, m->items[i].input.rows.capacity);
    assert_true(rows <= most);
    assert_true(sizes->capacity < MANY_RESIDENT || 5 * rows >= 2 * most);
    if (run->device)
        assert_true(part_bytes(plan, "inputs of mini-batches") >=
                    sizes->staleness * rows * run->env.dataset->row_bytes);
}

/* Fails unless so many epochs hold no more than the open system had planned. Returns what it had. */
static uint64_t stays_within_its_plan(struct train_run *run, const struct fixture *f)
{
    const struct marius *const m = run->state;
    struct marius_sizes sizes;
    struct gnn_memory_plan plan;
    struct gnn_mem_usage usage;
    gnn_plan_begin(&plan, &run->env);
    must_run(marius_size(m->config, &m->store, &m->degrees, &sizes, &plan, &run->err), run);
    assert_int_equal(sizes.capacity, m->sizes.capacity);
    for (uint64_t epoch = 0; epoch < MANY_EPOCHS; epoch++)
        must_run(train_run_epoch(run, epoch), run);
    gnn_mem_usage(f->world, &usage); /* what grows does not shrink before the end */
    const uint64_t planned = gnn_plan_phase_bytes(&plan, 1);
    rows_are_as_planned(run, &sizes, &plan);
    assert_true(planned <= run->cap_bytes);
    assert_true(usage.current_bytes + part_bytes(&plan, "dataset's offsets, labels and splits") <= planned);
    return planned;
}

static void is_refused_by_name(const struct train_run *run, enum gnn_status status)
{
    assert_int_equal(status, GNN_ECAP);
    assert_non_null(strstr(run->err.message, "the run needs about"));
    assert_non_null(strstr(run->err.message, "raise --memory or change"));
}

static const char *const automatic[] = {"policy=training-first", "policy=replace", "policy=auto"};

/* Whatever the cap: the plan refuses it by name, or what was planned is enough. */
static void test_no_epoch_outgrows_its_plan(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof automatic / sizeof *automatic; p++)
        for (int device = 0; device < 2; device++) {
            struct fixture f;
            uint64_t refused = 0, planned = 0;
            fixture_open(&f, .graph = &leaving, .simulated = true);
            for (uint64_t cap = CAP_STEP; cap <= LARGEST_CAP; cap += CAP_STEP) {
                struct train_run run;
                const enum gnn_status status = start_under(&run, &f, automatic[p], device, cap);
                if (status == GNN_OK) {
                    const uint64_t now = stays_within_its_plan(&run, &f);
                    assert_true(now >= planned);
                    planned = now;
                } else {
                    is_refused_by_name(&run, status);
                    assert_int_equal(planned, 0); /* by less memory alone */
                    refused++;
                }
                train_run_close(&run);
            }
            assert_true(refused > 0 && planned > 0);
            fixture_close(&f);
        }
}

/* The least cap that is accepted is enough, and a page less is refused. */
static void test_the_least_cap_is_enough(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof automatic / sizeof *automatic; p++) {
        struct fixture f;
        struct train_run run;
        uint64_t enough = LARGEST_CAP, too_little = 0;
        fixture_open(&f, .graph = &leaving, .simulated = true);
        must_run(start_under(&run, &f, automatic[p], true, enough), &run); /* makes the store */
        train_run_close(&run);
        while (enough - too_little > GNN_PAGE_BYTES) {
            const uint64_t cap = gnn_round_down((enough + too_little) / 2, GNN_PAGE_BYTES);
            *(start_under(&run, &f, automatic[p], true, cap) == GNN_OK ? &enough : &too_little) = cap;
            train_run_close(&run);
        }
        assert_true(too_little > 0);
        is_refused_by_name(&run, start_under(&run, &f, automatic[p], true, too_little));
        train_run_close(&run);
        must_run(start_under(&run, &f, automatic[p], true, enough), &run);
        (void)stays_within_its_plan(&run, &f);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* Training nodes that leave no room for another partition are placed at random, and groups of partitions replaced. */
static void test_the_fallback_is_automatic(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual);
    start(&run, &f, OPTIONS("io=buffered", "partitions=15", "capacity=4")); /* P = 60, k = 3 */
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(train_run_extra(&run, "training_first"), 1);
    train_run_close(&run);
    start(&run, &f, OPTIONS("io=buffered", "partitions=15", "capacity=3"));
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(train_run_extra(&run, "training_first"), 0);
    assert_int_equal(train_run_extra(&run, "capacity"), 2); /* two groups of one */
    assert_int_equal(train_run_extra(&run, "states"), 14);
    train_run_each_seed_once(&run);
    train_run_close(&run);
    fixture_close(&f);
}

static void test_contradictions_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        const char *says;
    } cases[] = {
        {OPTIONS("partitions=15", "capacity=3", "policy=training-first"), "mariusgnn.policy=replace"},
        {OPTIONS("partitions=15", "capacity=16"), "exceeds the 15 partitions"},
        {OPTIONS("partitions=600"), "the last partition is empty"},
        {OPTIONS("partitions=15", "capacity=2", "logical=3", "policy=replace"), "mariusgnn.logical"},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        train_run_init(&run, f.world, "mariusgnn");
        run.options = cases[c].options;
        assert_int_equal(train_run_open(&run, &f.graph), GNN_EUSAGE);
        assert_non_null(strstr(run.err.message, cases[c].says));
        train_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_all_resident_only_reuse_differs),
        cmocka_unit_test(test_only_resident_nodes_are_seen),
        cmocka_unit_test(test_switches_of_speed_change_no_loss),
        cmocka_unit_test(test_both_worlds_draw_the_same),
        cmocka_unit_test(test_reads_are_the_partitions_that_change),
        cmocka_unit_test(test_replacement_reads_every_partition_once),
        cmocka_unit_test(test_times_add_up_to_the_epoch),
        cmocka_unit_test(test_a_fat_bucket_is_planned_for),
        cmocka_unit_test(test_part_of_an_epoch_stops_at_its_batches),
        cmocka_unit_test(test_memory_is_partitions_and_edges),
        cmocka_unit_test(test_the_capacity_fills_the_cap),
        cmocka_unit_test(test_no_epoch_outgrows_its_plan),
        cmocka_unit_test(test_the_least_cap_is_enough),
        cmocka_unit_test(test_the_fallback_is_automatic),
        cmocka_unit_test(test_contradictions_are_refused_by_name),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
