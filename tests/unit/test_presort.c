/* SPDX-License-Identifier: MIT */
/* presort's epochs: what was planned is what is read and written, whatever the sizes, in both worlds; its limits, and a
 * disk that is full (docs/invariants.md, presort: 1, 2, 3, 4, 6, 7, 10). Batches and losses against the other
 * systems are in tests/differential, the plan alone in test_presort_plan.c, requests in test_presort_requests.c. */
#include "tests/support/hang.h"
#include "tests/support/presort_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Of all epochs together, as reading and writing beside training falls into the epoch before. */
struct sums {
    uint64_t planned, planned_sorted, direct, sorted, sweep_rows, written, scratch_read, full;
    uint64_t requested, read, writes, hyperbatches, windows;
};

static void add_epoch(const struct train_run *run, struct sums *s)
{
    s->planned += train_run_extra(run, "planned_loads");
    s->planned_sorted += train_run_extra(run, "planned_sorted_loads");
    s->direct += train_run_extra(run, "direct_loads");
    s->sorted += train_run_extra(run, "sorted_loads");
    s->sweep_rows += train_run_extra(run, "sweep_rows");
    s->written += train_run_extra(run, "scratch_write_bytes");
    s->scratch_read += train_run_extra(run, "scratch_read_bytes");
    s->full += train_run_extra(run, "scratch_full");
    s->hyperbatches += train_run_extra(run, "hyperbatches");
    s->windows += train_run_extra(run, "windows");
    s->read += run->result.counters.rows_read;
    s->requested += run->result.counters.rows_asked;
    s->writes += run->result.counters.requested_write_bytes;
}

/* What is chosen row by row costs no more than either extreme; where training waits, no more than twice as much as
 * sorting. */
static void check_cost(const struct train_run *run, const char *const *options)
{
    const struct presort *const s = run->state;
    const uint64_t planned = train_run_extra(run, "planned_bytes");
    const uint32_t times = s->setup.sizes.first < s->setup.sizes.hyperbatch ? 2 : 1;
    bool chosen = true;
    for (uint32_t i = 0; options[i] != NULL; i++)
        chosen = chosen && strncmp(options[i], "classes=", 8) != 0;
    assert_true(!chosen || planned <= train_run_extra(run, "all_direct_bytes"));
    assert_true(!chosen || planned <= times * train_run_extra(run, "all_sorted_bytes"));
}

static void run_epochs(struct fixture *f, const char *const *options, struct sums *out)
{
    struct train_run run;
    *out = (struct sums){.planned = 0};
    open_run(&run, f, options);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        train_run_each_seed_once(&run);
        for (uint32_t k = 0; k < BATCHES; k++)
            assert_int_equal(run.order[k], k);
        const struct gnn_counters *const n = &run.result.counters;
        assert_int_equal(n->cache_hits + n->cache_misses, n->sample.sampled_nodes);
        assert_int_equal(train_run_extra(&run, "planned_loads"), n->cache_misses);
        check_cost(&run, options);
        add_epoch(&run, out);
    }
    train_run_close(&run);
}

static void check_sums(const struct sums *s)
{
    assert_int_equal(s->direct + s->sorted, s->planned);
    assert_int_equal(s->read, s->sweep_rows + s->planned);
    assert_int_equal(s->written, s->writes);
    if (s->full > 0)
        return;
    assert_int_equal(s->sorted, s->planned_sorted);
    assert_int_equal(s->scratch_read, s->written); /* every block once */
    assert_true(s->written >= s->sorted * ROW_BYTES);
}

static void test_what_is_planned_is_done(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered"),
        OPTIONS(SMALL),
        OPTIONS(SMALL, "classes=direct"),
        OPTIONS(SMALL, "classes=sorted"),
        OPTIONS(SMALL, "classes=sorted", "block=4K", "write_depth=1", "sweep_read=4K", "sweep_depth=1", "depth=1"),
        OPTIONS(SMALL, "hyperbatch=3", "random_read=2K"),
        OPTIONS(SMALL, "hyperbatch=1", "window=1", "classes=sorted"),
        OPTIONS(SMALL, "window=2", "ahead=false", "classes=sorted", "topology=mapped"),
        OPTIONS(SMALL, "list_memory=8K", "classes=sorted"),
        OPTIONS(SMALL, "staging=1", "classes=sorted"),
        OPTIONS(SMALL, "random_read=100M", "window_share=50"),
        OPTIONS(SMALL, "window=1", "threads=1"),
        OPTIONS(SMALL, "window=3", "threads=7", "hyperbatch=4"),
    };
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct fixture f;
            struct sums s;
            fixture_open(&f, .graph = &usual, .simulated = simulated);
            run_epochs(&f, cases[c], &s);
            check_sums(&s);
            if (c == 2 || c == 9) /* no block has room for a row */
                assert_int_equal(s.sorted, 0);
            if (c == 3 || c == 4 || c == 6 || c == 10)
                assert_int_equal(s.direct, 0);
            if (c == 5)
                assert_int_equal(s.hyperbatches, EPOCHS * 3);
            if (c == 6)
                assert_int_equal(s.windows, EPOCHS * BATCHES);
            if (c == 8)
                assert_true(s.hyperbatches > EPOCHS);
            fixture_close(&f);
        }
}

static void test_where_all_rows_fit_each_comes_in_once(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run run;
    uint64_t loads = 0;
    fixture_open(&f, .graph = &usual);
    uint32_t *const seen = calloc(usual.nodes, sizeof *seen);
    assert_non_null(seen);
    open_run(&run, &f, OPTIONS("io=buffered", "row_memory=2M"));
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint64_t fresh = 0;
        must_run(train_run_epoch(&run, epoch), &run);
        for (uint32_t v = 0; v < usual.nodes; v++) {
            fresh += run.needed[v] > 0 && seen[v] == 0;
            seen[v] |= run.needed[v] > 0;
        }
        assert_int_equal(run.result.counters.cache_misses, fresh);
        loads += fresh;
    }
    assert_true(loads <= usual.nodes);
    assert_int_equal(run.result.counters.cache_evictions, 0);
    train_run_close(&run);
    free(seen);
    fixture_close(&f);
}

static void test_limits_are_kept(void **state)
{
    (void)state;
    struct sums free_of, s;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    run_epochs(&f, OPTIONS(SMALL, "classes=sorted", "block=4K"), &free_of);
    assert_true(free_of.written > 300000);
    run_epochs(&f, OPTIONS(SMALL, "classes=sorted", "block=4K", "write_budget=0"), &s);
    check_sums(&s);
    assert_int_equal(s.written, 0);
    assert_int_equal(s.direct, free_of.sorted); /* the same loads */
    run_epochs(&f, OPTIONS(SMALL, "classes=sorted", "block=4K", "write_budget=100K"), &s);
    check_sums(&s);
    assert_in_range(s.written, 1, EPOCHS * 100 * 1024);
    run_epochs(&f, OPTIONS(SMALL, "classes=sorted", "block=4K", "scratch_limit=160K"), &s);
    check_sums(&s);
    assert_in_range(s.written, 1, s.hyperbatches * 80 * 1024);
    fixture_close(&f);
}

/* ---- threads ---- */

/* What an epoch was, whichever threads made it. */
struct made {
    uint64_t digest, edges, planned, sorted, evictions, reads, writes, windows, hyperbatches;
    double loss_sum;
};

static struct made made_of(const struct train_run *run)
{
    const struct gnn_counters *const n = &run->result.counters;
    return (struct made){.digest = run->trained_digest,
                         .edges = n->sample.sampled_edges,
                         .planned = train_run_extra(run, "planned_loads"),
                         .sorted = train_run_extra(run, "planned_sorted_loads"),
                         .evictions = n->cache_evictions,
                         .reads = n->requested_ios,
                         .writes = n->requested_write_ios,
                         .windows = train_run_extra(run, "windows"),
                         .hyperbatches = train_run_extra(run, "hyperbatches"),
                         .loss_sum = run->result.loss_sum};
}

static bool is_same(const struct made *a, const struct made *b)
{
    return a->digest == b->digest && a->edges == b->edges && a->planned == b->planned && a->sorted == b->sorted &&
           a->evictions == b->evictions && a->reads == b->reads && a->writes == b->writes && a->windows == b->windows &&
           a->hyperbatches == b->hyperbatches &&
           ((isnan(a->loss_sum) && isnan(b->loss_sum)) || a->loss_sum == b->loss_sum); /* modelled ones have none */
}

/* However many threads draw and assemble, and whichever of them is first, the same is planned, read, written and
 * trained on, in the same order. */
static void test_threads_change_nothing(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS(SMALL, "threads=1", "hyperbatch=3"),
        OPTIONS(SMALL, "threads=2", "hyperbatch=3"),
        OPTIONS(SMALL, "threads=3", "hyperbatch=3"),
        OPTIONS(SMALL, "threads=16", "hyperbatch=3"),
    };
    for (int simulated = 0; simulated < 2; simulated++) {
        struct made of[EPOCHS];
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct fixture f;
            struct train_run run;
            fixture_open(&f, .graph = &usual, .simulated = simulated);
            open_run(&run, &f, cases[c]);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.wrong_values, 0);
                for (uint32_t k = 0; k < BATCHES; k++)
                    assert_int_equal(run.order[k], k);
                const struct made made = made_of(&run);
                assert_true(c == 0 || is_same(&made, &of[epoch]));
                of[epoch] = made;
            }
            train_run_close(&run);
            fixture_close(&f);
        }
    }
}

struct times {
    uint64_t epoch_ns, inspect_ns, assemble_ns, train_ns; /* the last two: work of all threads */
};

static uint64_t work_of(const struct train_run *run, const char *stage)
{
    for (uint32_t i = 0; i < run->result.stage_count; i++)
        if (strcmp(run->result.stages[i].stage, stage) == 0)
            return run->result.stages[i].work_ns;
    fail_msg("no stage %s", stage);
    return 0;
}

/* Virtual times of an epoch in which hardly anything is read. */
static struct times times_in_memory(const char *const *options)
{
    static const struct train_graph_config dense = {
        .nodes = 9000, .mean_degree = 20, .dim = DIM, .classes = 5, .train = TRAIN, .seed = 11};
    struct fixture f;
    struct train_run run;
    struct times out;
    fixture_open(&f, .graph = &dense, .simulated = true);
    train_run_init(&run, f.world, "presort");
    run.options = options;
    run.workload.epochs = EPOCHS;
    run.workload.fanout[0] = run.workload.fanout[1] = GNN_FANOUT_MAX; /* every epoch has the same rows */
    run.modelled = &f.profile;
    must_run(train_run_open(&run, &f.graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    out.epoch_ns = gnn_now_ns(f.world);
    must_run(train_run_epoch(&run, 1), &run);
    out.epoch_ns = gnn_now_ns(f.world) - out.epoch_ns;
    assert_in_range(run.result.counters.rows_read, 0, run.result.counters.rows_asked / 200); /* of hubs */
    out.inspect_ns = train_run_extra(&run, "inspect_ns");
    out.assemble_ns = work_of(&run, "assemble");
    out.train_ns = work_of(&run, "train");
    train_run_close(&run);
    fixture_close(&f);
    return out;
}

/* Threads share both the drawing ahead and the assembling: with one of them an epoch takes what assembling takes, with
 * several the trainer waits for the first mini-batch alone. */
static void test_threads_share_the_work(void **state)
{
    (void)state;
    const struct times one = times_in_memory(OPTIONS("io=buffered", "row_memory=16M", "ahead=false", "threads=1"));
    const struct times four = times_in_memory(OPTIONS("io=buffered", "row_memory=16M", "ahead=false", "threads=4"));
    assert_true(one.assemble_ns > one.train_ns * 3 / 2);
    assert_in_range(one.epoch_ns, one.assemble_ns + one.train_ns / BATCHES, one.assemble_ns * 9 / 8);
    assert_in_range(four.epoch_ns, four.train_ns + four.assemble_ns / BATCHES,
                    (four.train_ns + four.assemble_ns / BATCHES) * 11 / 10);
    assert_in_range(four.inspect_ns, one.inspect_ns / 4, one.inspect_ns * 2 / 3);
}

static uint64_t hyperbatches_of(struct train_run *run, uint64_t epoch)
{
    must_run(train_run_epoch(run, epoch), run);
    assert_int_equal(run->wrong_values, 0);
    return train_run_extra(run, "hyperbatches");
}

/* The hyperbatch that training waits for is small, each of those behind it four times as large, up to the largest; so
 * again where nothing was prepared ahead. */
static void test_the_first_hyperbatches_grow(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint32_t first_epoch, next, anew; /* hyperbatches of 8 mini-batches */
    } cases[] = {
        {OPTIONS(SMALL), 3, 1, 3}, /* 1, 4, 3 */
        {OPTIONS(SMALL, "first=2"), 2, 1, 2},
        {OPTIONS(SMALL, "first=100"), 1, 1, 1},
        {OPTIONS(SMALL, "hyperbatch=3"), 3, 3, 3},
        {OPTIONS(SMALL, "hyperbatch=3", "first=1"), 4, 3, 4}, /* 1, 3, 3, 1 */
        {OPTIONS(SMALL, "ahead=false"), 3, 3, 3},
        {OPTIONS(SMALL, "reuse=3"), 1, 1, 1},
    };
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct fixture f;
            struct train_run run;
            fixture_open(&f, .graph = &usual, .simulated = simulated);
            open_run(&run, &f, cases[c].options);
            assert_int_equal(hyperbatches_of(&run, 0), cases[c].first_epoch);
            assert_int_equal(hyperbatches_of(&run, 1), cases[c].next);
            assert_int_equal(hyperbatches_of(&run, 0), cases[c].anew);
            train_run_close(&run);
            fixture_close(&f);
        }
}

/* Virtual times of a run's first epoch: until its first window can be loaded, and all of it. */
static uint64_t first_epoch_ns(const char *const *options, uint64_t *prepare_ns)
{
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual, .simulated = true);
    open_run(&run, &f, options);
    const uint64_t start_ns = gnn_now_ns(f.world);
    must_run(train_run_epoch(&run, 0), &run);
    const uint64_t epoch_ns = gnn_now_ns(f.world) - start_ns;
    *prepare_ns = run.result.prepare_ns;
    train_run_close(&run);
    fixture_close(&f);
    return epoch_ns;
}

/* Training begins when an eighth of the mini-batches is planned, and the rest is planned beside it. */
static void test_training_begins_before_all_is_planned(void **state)
{
    (void)state;
    uint64_t small_ns, whole_ns;
    const uint64_t small_epoch_ns = first_epoch_ns(OPTIONS(SMALL, "classes=direct"), &small_ns);
    const uint64_t whole_epoch_ns = first_epoch_ns(OPTIONS(SMALL, "classes=direct", "first=8"), &whole_ns);
    assert_in_range(small_ns, whole_ns / 8, whole_ns / 4);
    assert_true(small_epoch_ns < whole_epoch_ns);
    assert_true(whole_epoch_ns - small_epoch_ns > (whole_ns - small_ns) / 2);
}

/* Whatever is written when the disk is full, training goes on, and rows are read one by one from then on. */
static void test_a_full_disk_falls_back(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++)
        for (uint64_t bytes = 0; bytes < 900000; bytes += 9000 + bytes / 2) {
            struct fixture f;
            struct sums s;
            fixture_open(
                &f, .graph = &usual, .simulated = simulated,
                .faults = &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = bytes});
            run_epochs(&f, OPTIONS(SMALL, "classes=sorted", "block=4K", "hyperbatch=5"), &s);
            check_sums(&s);
            assert_true(s.full <= 1);
            assert_int_equal(s.full == 1, s.direct > 0);
            fixture_close(&f);
        }
}

static void test_an_epoch_out_of_order_begins_anew(void **state)
{
    (void)state;
    static const uint64_t epochs[] = {1, 1, 0, 2};
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual);
    open_run(&run, &f, OPTIONS(SMALL));
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        must_run(train_run_epoch(&run, epochs[i]), &run);
        assert_int_equal(run.wrong_values, 0);
    }
    train_run_close(&run);
    fixture_close(&f);
}

/* Compares the whole list of every node that can be drawn from with the dataset's. */
static uint32_t check_lists(struct fixture *f, struct presort_topology *t)
{
    const struct gnn_dataset *const d = &f->graph.dataset;
    struct gnn_neighbour_source *source;
    uint32_t nodes = 0;
    bool *const reached = calloc(d->node_count, sizeof *reached);
    gnn_node *const out = calloc(d->edge_count, sizeof *out);
    uint64_t *const offsets = calloc(d->edge_count, sizeof *offsets);
    assert_true(reached != NULL && out != NULL && offsets != NULL);
    for (uint32_t i = 0; i < d->train.count; i++) {
        const gnn_node v = d->train.nodes[i];
        reached[v] = true;
        for (uint64_t e = d->indptr[v]; e < d->indptr[v + 1]; e++)
            reached[f->graph.indices[e]] = true;
    }
    must(presort_topology_source(t, 0, &source, &f->err), &f->err);
    for (gnn_node v = 0; v < d->node_count; v++) {
        const uint32_t degree = (uint32_t)(d->indptr[v + 1] - d->indptr[v]), rows[] = {0, degree};
        if (!reached[v])
            continue;
        for (uint32_t i = 0; i < degree; i++)
            offsets[i] = d->indptr[v] + i;
        must(source->ops->fetch_lists(source, &v, rows, 1, offsets, out, &f->err), &f->err);
        assert_memory_equal(out, f->graph.indices + d->indptr[v], degree * sizeof *out);
        nodes++;
    }
    gnn_source_close(source);
    free(offsets);
    free(out);
    free(reached);
    return nodes;
}

static void test_lists_in_memory_are_the_datasets(void **state)
{
    (void)state;
    static const struct train_graph_config wide = {
        .nodes = 9000, .mean_degree = 8, .dim = 4, .classes = 5, .train = TRAIN, .seed = 11};
    struct fixture f;
    fixture_open(&f, .graph = &wide);
    const uint64_t all = presort_topology_bytes_all(&f.graph.dataset);
    struct presort_topology_config config = {.kind = PRESORT_TOPOLOGY_AUTO, .room_bytes = all};
    for (int part = 0; part < 2; part++, config.room_bytes--) {
        struct presort_topology *t;
        must(presort_topology_open(&f.env, &config, &t, &f.err), &f.err);
        assert_non_null(t);
        assert_int_equal(presort_topology_bytes(t) == all, part == 0);
        assert_true(presort_topology_bytes(t) < all / 2 || part == 0); /* few can be reached */
        assert_in_range(check_lists(&f, t), TRAIN, wide.nodes / 2);
        presort_topology_close(t);
    }
    struct presort_topology *t;
    config.room_bytes = 5000;
    must(presort_topology_open(&f.env, &config, &t, &f.err), &f.err);
    assert_null(t);
    config.kind = PRESORT_TOPOLOGY_RESIDENT;
    assert_int_equal(presort_topology_open(&f.env, &config, &t, &f.err), GNN_ECAP);
    assert_non_null(strstr(f.err.message, "set presort.topology=swept or mapped"));
    presort_topology_close(t);
    fixture_close(&f);
}

/* What the plan says to change where rows are too many. */
static const char *remedy_for_rows(const struct gnn_memory_plan *plan)
{
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, "rows") == 0)
            return plan->parts[i].remedy;
    return "no rows";
}

static void test_sizes_fit_the_cap(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    struct gnn_memory_plan plan;
    train_run_init(&run, f.world, "presort");
    run.cap_bytes = 1;
    assert_int_equal(train_run_plan(&run, &f.graph, &plan), GNN_ECAP);
    assert_non_null(strstr(run.err.message, "change presort."));
    assert_string_equal(remedy_for_rows(&plan), "--batch or --fanout"); /* as few as there can be */
    const uint64_t least = gnn_plan_bytes(&plan);
    free(run.config);
    run.err = (struct gnn_err){0};
    for (uint64_t cap = least; cap < 8 * least; cap += least / 7) {
        run.cap_bytes = cap;
        must_run(train_run_plan(&run, &f.graph, &plan), &run);
        assert_true(gnn_plan_bytes(&plan) <= cap);
        free(run.config);
    }
    assert_string_equal(remedy_for_rows(&plan), "presort.row_memory");
    fixture_close(&f);
}

/* However many threads, inputs have their room from the start. */
static void test_inputs_have_their_room(void **state)
{
    (void)state;
    const char *const *const cases[] = {OPTIONS("io=buffered"), OPTIONS("io=buffered", "threads=5")};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct train_run run;
        fixture_open(&f, .graph = &usual);
        open_run(&run, &f, cases[c]);
        const struct presort *const s = run.state;
        assert_true(s->setup.sizes.threads == 5 || c == 0);
        for (uint32_t i = 0; i < presort_inputs(&s->setup.sizes); i++)
            assert_true(s->inputs[i].rows.capacity >= s->setup.sizes.input_rows);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* As many rows in memory as narrow numbers of slots reach, and one more: each node has its own row. */
static void test_slots_have_numbers_wide_enough(void **state)
{
    (void)state;
    static const struct train_graph_config many = {
        .nodes = 70000, .mean_degree = 2, .dim = 4, .classes = 5, .train = 68000, .seed = 11};
    struct fixture f;
    fixture_open(&f, .graph = &many);
    for (uint32_t slots = 65536; slots <= 65537; slots++) {
        struct train_run run;
        char memory[40];
        (void)snprintf(memory, sizeof memory, "row_memory=%u", slots * 28); /* a row of 16, 12 beside it */
        train_run_init(&run, f.world, "presort");
        run.options = OPTIONS("io=buffered", memory);
        run.workload.batch_size = 4000;
        run.check_rows = true;
        must_run(train_run_open(&run, &f.graph), &run);
        const struct presort_sizes *const sizes = &((const struct presort *)run.state)->setup.sizes;
        assert_int_equal(sizes->slots, slots);
        assert_int_equal(sizes->slot_of_bytes, slots == 65536 ? 2 : 4);
        must_run(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.wrong_values, 0);
        train_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_planned_is_done),
        cmocka_unit_test(test_where_all_rows_fit_each_comes_in_once),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_threads_share_the_work),
        cmocka_unit_test(test_the_first_hyperbatches_grow),
        cmocka_unit_test(test_training_begins_before_all_is_planned),
        cmocka_unit_test(test_a_full_disk_falls_back),
        cmocka_unit_test(test_an_epoch_out_of_order_begins_anew),
        cmocka_unit_test(test_lists_in_memory_are_the_datasets),
        cmocka_unit_test(test_sizes_fit_the_cap),
        cmocka_unit_test(test_inputs_have_their_room),
        cmocka_unit_test(test_slots_have_numbers_wide_enough),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
