/* SPDX-License-Identifier: MIT */
/* MariusGNN learning links: in memory it is another system's run to the bit, out of memory a plain loop over arrays in
 * the order of its states; what is seen, read and written; switches that change nothing but time; and what a run that
 * is killed leaves to go on from. */
#include "harness/base/rng.h"
#include "harness/graph/permute.h"
#include "harness/graph/procedural.h"
#include "harness/graph/triples.h"
#include "harness/storage/exact.h"
#include "systems/mariusgnn/mariusgnn.h"
#include "tests/support/data_files.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/link_run.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 90, DIM = 12, EDGES = 410, EPOCHS = 3 };
static const struct link_graph usual = {.nodes = NODES, .relations = 4, .edges = EDGES, .seed = 12};
static const uint64_t reals = (uint64_t)NODES * DIM;

/* Swapped in groups of two, and alone. */
#define COMET "partitions=8", "capacity=4", "policy=comet"
#define BETA "partitions=8", "capacity=4", "policy=beta"

static void start(struct link_run *run, const struct fixture *f, const char *dir, const char *const *options)
{
    link_run_init(run, f->world, "mariusgnn", dir, DIM);
    run->options = options;
    run->modelled = f->config.simulated ? &f->profile : NULL;
}

static void with_encoder(struct link_run *run, enum gnn_model_kind kind, uint32_t layers)
{
    run->model_config.kind = kind;
    run->workload.layers = layers;
    run->workload.fanout[0] = 5;
    run->workload.fanout[1] = 3;
}

static void remove_kept(const char *dir)
{
    char command[DATA_PATH + 64];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/mariusgnn-*/vectors-*", dir);
    assert_int_equal(system(command), 0);
}

/* ---- in memory ---- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b);
}

/* Whatever the window holds, training edges lie the same: all of them, ranges of several buckets, one bucket. */
static void test_triples_scattered_in_ranges_are_the_same(void **state)
{
    static const uint64_t windows[] = {1, 600, 2000, 5000, 1 << 20};
    char dir[DATA_PATH];
    struct fixture f;
    struct link_run run;
    struct marius_store store;
    size_t bytes, other_bytes;
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true);
    start(&run, &f, dir, OPTIONS("io=buffered", "edges=in", "policy=comet", "partitions=8", "capacity=4"));
    must(link_run_open(&run), &run.err);
    const struct marius_store_config config = {.partitions = 8, .triples = true};
    must(marius_store_open(&run.env, &config, &store, &f.err), &f.err);
    char *const all = data_read(store.prepared.dir, "triples", &bytes);
    assert_non_null(all);
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        struct marius_store other = {.prepared = {.world = f.world},
                                     .partitions = store.partitions,
                                     .rows = store.rows,
                                     .new_to_old = store.new_to_old};
        const struct marius_scatter scatter = {
            .env = &run.env, .store = &other, .old_to_new = store.old_to_new, .window_bytes = windows[w]};
        (void)snprintf(other.prepared.dir, sizeof other.prepared.dir, "%s", f.scratch.dir);
        must(marius_scatter_triples(&scatter, &f.err), &f.err);
        char *const found = data_read(other.prepared.dir, "triples", &other_bytes);
        assert_non_null(found);
        assert_int_equal(other_bytes, bytes);
        assert_memory_equal(found, all, bytes);
        assert_memory_equal(other.triple_start, store.triple_start, (64 + 1) * sizeof *store.triple_start);
        free(found);
        gnn_mem_free(f.world, other.triple_start);
    }
    free(all);
    marius_store_close(f.world, &store);
    link_run_close(&run);
    fixture_close(&f);
}

/* Everything resident: order, negatives and updates are PyG+'s, so losses and vectors are, whatever the partitions, to
 * the bit. With one partition a layer's neighbourhoods are, too (tests/unit/test_marius.c says why not with more), and
 * its sums but for their order: a row of a block stands there as it was drawn, with PyG+ sorted. */
static void test_in_memory_it_is_the_exact_system(void **state)
{
    static const struct {
        const char *partitions;
        uint32_t layers;
        enum gnn_model_kind kind;
        enum gnn_optimizer optimizer;
    } cases[] = {{"partitions=1", 0, GNN_MODEL_SAGE, GNN_OPTIMIZER_ADAGRAD},
                 {"partitions=6", 0, GNN_MODEL_SAGE, GNN_OPTIMIZER_ADAGRAD},
                 {"partitions=6", 0, GNN_MODEL_SAGE, GNN_OPTIMIZER_ADAM},
                 {"partitions=1", 1, GNN_MODEL_SAGE, GNN_OPTIMIZER_ADAGRAD},
                 {"partitions=1", 1, GNN_MODEL_GAT, GNN_OPTIMIZER_ADAM}};
    char dir[DATA_PATH];
    link_graph_import(&usual, *state, dir);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct link_run exact, own;
        static gnn_real expected[NODES * DIM], found[NODES * DIM];
        fixture_open(&f, .scratch = true);
        start(&own, &f, dir, OPTIONS("io=buffered", "edges=in", "replace=false", "policy=memory", cases[c].partitions));
        link_run_init(&exact, f.world, "pygplus", dir, DIM);
        for (int which = 0; which < 2; which++) {
            struct link_run *const run = which == 0 ? &exact : &own;
            with_encoder(run, cases[c].kind, cases[c].layers);
            run->link_config.optimizer = cases[c].optimizer;
            must(link_run_open(run), &run->err);
        }
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            must(link_run_epoch(&exact, epoch), &exact.err);
            must(link_run_epoch(&own, epoch), &own.err);
            assert_int_equal(own.result.seeds, EDGES);
            assert_int_equal(own.step_count, exact.step_count);
            for (uint32_t k = 0; k < own.step_count; k++)
                assert_true(cases[c].layers == 0 ? own.loss[k] == exact.loss[k] : is_near(own.loss[k], exact.loss[k]));
            assert_true(own.result.counters.sample.batch_digest == exact.result.counters.sample.batch_digest);
            assert_int_equal(own.result.counters.requested_write_bytes, 0);
            assert_int_equal(link_run_figure(&own, "states"), 1);
        }
        link_run_vectors(&exact, expected);
        link_run_vectors(&own, found);
        if (cases[c].layers == 0)
            assert_memory_equal(found, expected, sizeof expected);
        link_run_close(&own);
        link_run_close(&exact);
        fixture_close(&f);
    }
}

/* ---- out of memory: the order of the states, by a plain loop ---- */

/* A graph as it is cut, and all of its tables as arrays in the dataset's numbering. */
struct plain {
    const struct link_run *run; /* opened; its environment's decoder learns */
    const struct marius *m;
    struct gnn_triple *edges;
    struct gnn_link_training training;
    struct gnn_link_batch *batch;
    gnn_real *tables; /* (3, NODES, DIM) */
    uint32_t number;  /* of the next mini-batch */
};

static void move_plainly(struct plain *p, bool back)
{
    for (uint32_t t = 0; t < p->training.tables; t++)
        for (uint32_t i = 0; i < p->batch->view.node_count; i++) {
            gnn_real *const there = p->tables + t * reals + (uint64_t)p->batch->nodes[i] * DIM;
            gnn_real *const here = p->training.rows[t].data + (uint64_t)i * DIM;
            memcpy(back ? there : here, back ? here : there, DIM * sizeof *here);
        }
}

static void step_plainly(struct plain *p, uint64_t epoch, const struct gnn_triple *edges, uint32_t count,
                         const gnn_node *pool, uint32_t pool_count)
{
    struct gnn_err err = {0};
    must(gnn_link_batch_fill(p->batch, epoch, p->number, edges, count, pool, pool_count, &err), &err);
    const uint32_t nodes = p->batch->view.node_count;
    const struct gnn_link_item item = {
        .edges = p->batch, .plain = {.epoch = epoch, .batch = p->number++, .seed_count = nodes, .node_count = nodes}};
    must(gnn_link_training_reserve(&p->training, nodes, &err), &err);
    move_plainly(p, false);
    must(gnn_link_training_step(&p->training, &item, &err), &err);
    move_plainly(p, true);
}

/* The edges of state s: bucket after bucket, each in the dataset's order. */
static uint32_t edges_of_state(const struct plain *p, const struct marius_order *order, const uint32_t *state_of,
                               uint32_t s, struct gnn_triple *out)
{
    const struct marius_store *const store = &p->m->store;
    uint32_t count = 0;
    bool resident[64] = {false};
    for (uint32_t slot = 0; slot < marius_order_slots(order); slot++)
        if (marius_order_partition(order, s, slot) != MARIUS_NONE)
            resident[marius_order_partition(order, s, slot)] = true;
    for (uint32_t i = 0; i < store->partitions; i++)
        for (uint32_t j = 0; j < store->partitions; j++)
            for (uint32_t e = 0; e < EDGES && state_of[i * store->partitions + j] == s; e++) {
                assert_true(resident[i] && resident[j]);
                if (store->old_to_new[p->edges[e].source] / store->rows == i &&
                    store->old_to_new[p->edges[e].target] / store->rows == j)
                    out[count++] = p->edges[e];
            }
    return count;
}

static uint32_t nodes_of_state(const struct plain *p, const struct marius_order *order, uint32_t s, gnn_node *out)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < marius_order_slots(order); slot++) {
        const uint32_t partition = marius_order_partition(order, s, slot), rows = p->m->store.rows;
        for (uint32_t v = partition * rows; partition != MARIUS_NONE && v < (partition + 1) * rows && v < NODES; v++)
            out[count++] = p->m->store.new_to_old[v];
    }
    return count;
}

static void epoch_plainly(struct plain *p, uint64_t epoch, enum marius_assignment assignment)
{
    const struct marius_sizes *const z = &p->m->sizes;
    const uint64_t seed = p->run->workload.seed;
    struct gnn_err err = {0};
    struct marius_order order;
    uint32_t state_of[64];
    uint32_t trained = 0;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fork(seed, "partitions"), epoch));
    must(marius_order_comet(p->run->world, &rng, z->partitions, z->group, z->places, &order, &err), &err);
    must(marius_assign_buckets(&order, assignment, &rng, state_of, &err), &err);
    p->number = 0;
    for (uint32_t s = 0; s < order.states; s++) {
        struct gnn_triple edges[EDGES], batch[20];
        gnn_node pool[NODES];
        const uint32_t count = edges_of_state(p, &order, state_of, s, edges);
        const uint32_t pool_count = nodes_of_state(p, &order, s, pool);
        const uint64_t key = gnn_rng_fold(gnn_rng_fold(gnn_rng_fork(seed, "permute-edges"), epoch), s);
        for (uint32_t first = 0; first < count; first += 20) {
            const uint32_t take = gnn_min_u32(count - first, 20);
            for (uint32_t i = 0; i < take; i++)
                batch[i] = edges[gnn_permute(key, count, first + i)];
            step_plainly(p, epoch, batch, take, pool, pool_count);
        }
        trained += count;
    }
    assert_int_equal(trained, EDGES);
    marius_order_close(p->run->world, &order);
}

static void learn_plainly(struct link_run *run, enum marius_assignment assignment, gnn_real *out)
{
    struct gnn_err err = {0};
    struct plain p = {.run = run, .m = run->state, .tables = calloc(3 * reals, sizeof *out)};
    assert_non_null(p.tables);
    run->env.on_step = NULL;
    for (gnn_node v = 0; v < NODES; v++)
        gnn_embedding_init(run->workload.seed, v, DIM, p.tables + (uint64_t)v * DIM);
    must(gnn_triples_load(run->world, run->dataset, GNN_TRIPLES_TRAIN, &p.edges, &err), &err);
    must(gnn_link_batch_open(run->world, &run->workload.negatives, NODES, 20, &p.batch, &err), &err);
    gnn_link_training_open(&run->env, &p.training);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
        epoch_plainly(&p, epoch, assignment);
    memcpy(out, p.tables, reals * sizeof *out);
    gnn_link_training_close(&p.training);
    gnn_link_batch_close(p.batch);
    gnn_mem_free(run->world, p.edges);
    free(p.tables);
}

/* No update is lost on its way through slots, blocks and files: the vectors are those of arrays, to the bit. */
static void test_out_of_memory_it_is_a_plain_loop(void **state)
{
    const struct {
        const char *const *options;
        enum marius_assignment assignment;
        enum gnn_optimizer optimizer;
    } cases[] = {{OPTIONS(COMET, "io=buffered"), MARIUS_ASSIGN_RANDOM, GNN_OPTIMIZER_ADAGRAD},
                 {OPTIONS(COMET, "io=buffered", "prefetch=false"), MARIUS_ASSIGN_RANDOM, GNN_OPTIMIZER_ADAM},
                 {OPTIONS(BETA, "io=buffered"), MARIUS_ASSIGN_GREEDY, GNN_OPTIMIZER_ADAGRAD},
                 {OPTIONS(COMET, "io=buffered", "vectors=kept"), MARIUS_ASSIGN_RANDOM, GNN_OPTIMIZER_ADAM}};
    char dir[DATA_PATH];
    link_graph_import(&usual, *state, dir);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static gnn_real expected[NODES * DIM], found[NODES * DIM];
        struct fixture f;
        fixture_open(&f, .scratch = true);
        for (int which = 0; which < 2; which++) {
            struct link_run run;
            remove_kept(dir);
            start(&run, &f, dir, cases[c].options);
            run.link_config.optimizer = cases[c].optimizer;
            must(link_run_open(&run), &run.err);
            if (which == 0)
                learn_plainly(&run, cases[c].assignment, expected);
            for (uint64_t epoch = 0; epoch < EPOCHS && which == 1; epoch++)
                must(link_run_epoch(&run, epoch), &run.err);
            if (which == 1)
                link_run_vectors(&run, found);
            link_run_close(&run);
        }
        assert_memory_equal(found, expected, sizeof expected);
        fixture_close(&f);
    }
}

/* ---- what is seen ---- */

struct watch {
    gnn_node old_to_new[NODES];
    uint32_t rows, most; /* partitions of a mini-batch */
};

static void count_partitions(void *ctx, const struct gnn_batch_view *batch)
{
    struct watch *const w = ctx;
    uint64_t met = 0;
    for (uint32_t i = 0; i < batch->node_count; i++)
        met |= UINT64_C(1) << w->old_to_new[batch->nodes[i]] / w->rows;
    w->most = gnn_max_u32(w->most, (uint32_t)__builtin_popcountll(met));
}

/* Ends, negatives and neighbours are of the c partitions in memory, and of no more: every edge once all the same. */
static void test_only_resident_nodes_are_seen(void **state)
{
    const char *const *const cases[] = {OPTIONS(COMET, "io=buffered"), OPTIONS(BETA, "io=buffered"),
                                        OPTIONS("partitions=9", "capacity=4", "policy=comet", "io=buffered")};
    char dir[DATA_PATH];
    link_graph_import(&usual, *state, dir);
    for (size_t c = 0; c < 3; c++)
        for (uint32_t layers = 0; layers <= 2; layers++) {
            struct fixture f;
            struct link_run run;
            struct watch watch = {.most = 0};
            fixture_open(&f, .scratch = true);
            start(&run, &f, dir, cases[c]);
            with_encoder(&run, GNN_MODEL_SAGE, layers);
            must(link_run_open(&run), &run.err);
            const struct marius *const m = run.state;
            marius_invert(m->store.new_to_old, NODES, watch.old_to_new);
            watch.rows = m->sizes.rows;
            run.look = count_partitions;
            run.look_ctx = &watch;
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                must(link_run_epoch(&run, epoch), &run.err);
                assert_int_equal(run.result.seeds, EDGES);
                assert_int_equal(link_run_figure(&run, "states"), marius_states(&m->sizes, &run.env));
                assert_true(link_run_figure(&run, "bias_millionths") > 0);
            }
            assert_int_equal(watch.most, 4); /* two groups of two; four */
            link_run_close(&run);
            fixture_close(&f);
        }
}

/* ---- what is read and written ---- */

/* Section 3: c partitions at first, g at each swap, and as many written; training edges once. */
static void test_reads_and_writes_have_their_closed_forms(void **state)
{
    enum { P = 8, C = 4, SLOT = 4096, TABLES = 2 }; /* 12 rows of 48 bytes take a page */
    static const struct {
        const char *policy, *prefetch;
        uint32_t group;
    } cases[] = {
        {"policy=comet", "prefetch=true", 2},
        {"policy=comet", "prefetch=false", 2},
        {"policy=beta", "prefetch=true", 1},
        {"policy=beta", "prefetch=false", 1},
    };
    char dir[DATA_PATH];
    link_graph_import(&usual, *state, dir);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct link_run run;
        const uint64_t g = cases[c].group, states = marius_one_swap_states(P / cases[c].group, C / cases[c].group);
        fixture_open(&f, .scratch = true);
        start(&run, &f, dir,
              OPTIONS("io=buffered", "partitions=8", "capacity=4", "keep=false", cases[c].policy, cases[c].prefetch));
        must(link_run_open(&run), &run.err);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            must(link_run_epoch(&run, epoch), &run.err);
            const struct gnn_counters *const k = &run.result.counters;
            assert_int_equal(link_run_figure(&run, "states"), states);
            assert_int_equal(link_run_figure(&run, "logical_partitions"), P / g);
            assert_int_equal(link_run_figure(&run, "partition_reads"), C + g * (states - 1));
            assert_in_range(link_run_figure(&run, "partition_writes"), C + g * (states - 1) - C, C + g * (states - 1));
            assert_int_equal(k->requested_write_bytes, link_run_figure(&run, "partition_writes") * TABLES * SLOT);
            assert_int_equal(link_run_figure(&run, "training_edge_bytes"), EDGES * sizeof(struct gnn_triple));
            assert_int_equal(k->requested_bytes, link_run_figure(&run, "partition_reads") * TABLES * SLOT +
                                                     EDGES * sizeof(struct gnn_triple));
        }
        link_run_close(&run);
        fixture_close(&f);
    }
}

/* The released code's timer leaves out what is read before the first state and written after the last. */
static void test_times_add_up_to_the_epoch(void **state)
{
    char dir[DATA_PATH];
    struct fixture f;
    struct link_run run;
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true, .simulated = true);
    start(&run, &f, dir, OPTIONS(COMET, "io=buffered", "keep=false"));
    must(link_run_open(&run), &run.err);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        const uint64_t start_ns = gnn_now_ns(f.world);
        must(link_run_epoch(&run, epoch), &run.err);
        const uint64_t epoch_ns = gnn_now_ns(f.world) - start_ns;
        const uint64_t fill_ns = link_run_figure(&run, "fill_ns"), sync_ns = link_run_figure(&run, "sync_ns");
        assert_true(fill_ns > 0);
        assert_true(sync_ns > 0);
        assert_int_equal(link_run_figure(&run, "timed_ns"), epoch_ns - fill_ns - sync_ns);
    }
    link_run_close(&run);
    fixture_close(&f);
}

/* ---- what changes nothing but time ---- */

static void test_switches_of_speed_change_no_loss(void **state)
{
    static const char *const policy[] = {"policy=comet", "policy=beta", "policy=memory"};
    static const char *const switches[][3] = {{"loaders=2", "loaders=1", "staleness=1"},
                                              {"staleness=7", "loaders=3", "staleness=2"},
                                              {"prefetch=false", "depth=1", "loaders=2"},
                                              {"keep=false", "bucket_reads=single", "loaders=2"},
                                              {"edge_memory=released", "always_write=true", "loaders=2"},
                                              {"vectors=kept", "prefetch=false", "loaders=2"},
                                              {"sampling=team", "copied_ids=released", "loaders=3"},
                                              {"io=direct", "loaders=2", "depth=3"}};
    static double expected[2][LINK_RUN_STEPS_MAX];
    char dir[DATA_PATH];
    link_graph_import(&usual, *state, dir);
    for (int p = 0; p < 3; p++)
        for (size_t c = 0; c < sizeof switches / sizeof *switches; c++) {
            struct fixture f;
            struct link_run run;
            fixture_open(&f, .scratch = true);
            remove_kept(dir);
            if (strcmp(switches[c][0], "io=direct") != 0 || f.direct) {
                start(&run, &f, dir,
                      OPTIONS("io=buffered", "partitions=8", p < 2 ? "capacity=4" : "capacity=0", policy[p],
                              switches[c][0], switches[c][1], switches[c][2]));
                with_encoder(&run, GNN_MODEL_SAGE, 1);
                must(link_run_open(&run), &run.err);
                for (uint64_t epoch = 0; epoch < 2; epoch++) {
                    must(link_run_epoch(&run, epoch), &run.err);
                    assert_int_equal(run.result.seeds, EDGES);
                    if (c == 0)
                        memcpy(expected[epoch], run.loss, run.step_count * sizeof run.loss[0]);
                    assert_memory_equal(run.loss, expected[epoch], run.step_count * sizeof run.loss[0]);
                }
                link_run_close(&run);
            }
            fixture_close(&f);
        }
}

static void test_both_worlds_draw_the_same(void **state)
{
    const char *const *const cases[] = {OPTIONS(COMET, "io=buffered"), OPTIONS(BETA),
                                        OPTIONS("policy=memory", "partitions=6")};
    char dir[DATA_PATH];
    link_graph_import(&usual, *state, dir);
    for (size_t c = 0; c < 3; c++)
        for (uint32_t layers = 0; layers < 2; layers++) {
            uint64_t digest[2] = {0, 0};
            for (int simulated = 0; simulated < 2; simulated++) {
                struct fixture f;
                struct link_run run;
                fixture_open(&f, .scratch = true, .simulated = simulated);
                if (!simulated && c == 1 && !f.direct) {
                    fixture_close(&f);
                    continue;
                }
                start(&run, &f, dir, cases[c]);
                with_encoder(&run, GNN_MODEL_SAGE, layers);
                must(link_run_open(&run), &run.err);
                must(link_run_epoch(&run, 1), &run.err);
                assert_int_equal(run.result.seeds, EDGES);
                digest[simulated] = run.result.counters.sample.batch_digest;
                link_run_close(&run);
                fixture_close(&f);
            }
            assert_true(digest[0] == digest[1] || digest[0] == 0);
        }
}

/* A learning rate of 0: what is written is what was read, in every place. */
static void test_a_rate_of_0_leaves_every_vector(void **state)
{
    static gnn_real before[NODES * DIM], after[NODES * DIM];
    char dir[DATA_PATH];
    struct fixture f;
    struct link_run run;
    struct gnn_err err = {0};
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true);
    start(&run, &f, dir, OPTIONS(COMET, "io=buffered", "vectors=kept"));
    run.link_config.lr = 0;
    must(link_run_open(&run), &run.err);
    link_run_vectors(&run, before);
    for (uint64_t epoch = 0; epoch < 2; epoch++)
        must(link_run_epoch(&run, epoch), &run.err);
    link_run_vectors(&run, after);
    assert_memory_equal(before, after, sizeof before);
    const struct marius *const m = run.state;
    const struct marius_table *const tables = m->links->vectors.table;
    unsigned char *const places[2] = {malloc(m->store.slot_bytes), malloc(m->store.slot_bytes)};
    uint64_t state_changed = 0;
    for (uint32_t t = 0; t < 2; t++)
        for (uint32_t p = 0; p < 8; p++) {
            for (uint32_t k = 0; k < 2; k++)
                must(gnn_read_all(f.world, tables[t].file, (k * 8 + p) * m->store.slot_bytes, places[k],
                                  m->store.slot_bytes, &err),
                     &err);
            const int differ = memcmp(places[0], places[1], (size_t)m->store.rows * DIM * sizeof(gnn_real));
            if (t == 0 && p < 7) /* the last partition is shorter, and what fills it up is of no node */
                assert_int_equal(differ, 0);
            state_changed += t == 1 && differ != 0;
        }
    assert_true(state_changed > 0);
    free(places[0]);
    free(places[1]);
    link_run_close(&run);
    fixture_close(&f);
}

/* ---- what a killed run leaves ---- */

enum { KILLED_EPOCHS = 2 };
static const char *const kept_options[] = {COMET, "io=buffered", "vectors=kept", "loaders=1", NULL};

static void start_kept(struct link_run *run, struct gnn_world *world, const char *dir)
{
    link_run_init(run, world, "mariusgnn", dir, DIM);
    run->options = kept_options;
    run->link_config.optimizer = GNN_OPTIMIZER_ADAM;
    with_encoder(run, GNN_MODEL_SAGE, 1);
}

/* A world that ends the process when so many writes and renames have been begun. */
static struct gnn_world_ops dying_ops;
static const struct gnn_world_ops *living_ops;
static uint32_t calls_left;

static void count_call(void)
{
    if (--calls_left == 0)
        (void)kill(getpid(), SIGKILL);
}

static int64_t dying_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                           uint64_t len_bytes)
{
    count_call();
    return living_ops->file_write(w, file, offset_bytes, src, len_bytes);
}

static enum gnn_status dying_rename(struct gnn_world *w, const char *from, const char *to, struct gnn_err *err)
{
    count_call();
    return living_ops->file_rename(w, from, to, err);
}

/* In a child. Exits with 0 when it came to its end. */
static void learn_and_die(const char *dir, uint32_t die_at)
{
    struct gnn_world *world;
    struct link_run run;
    const struct gnn_measured_config measured = {0};
    struct gnn_err err = {0};
    if (gnn_world_measured_open(&measured, &world, &err) != GNN_OK)
        _exit(3);
    living_ops = world->ops;
    dying_ops = *world->ops;
    dying_ops.file_write = dying_write;
    dying_ops.file_rename = dying_rename;
    calls_left = die_at;
    struct gnn_world dying = {.ops = &dying_ops, .state = world->state};
    start_kept(&run, &dying, dir);
    enum gnn_status status = link_run_open(&run);
    for (uint64_t epoch = 0; epoch < KILLED_EPOCHS && status == GNN_OK; epoch++)
        status = link_run_epoch(&run, epoch);
    _exit(status == GNN_OK ? 0 : 4);
}

/* Whether the child was killed; it fails the test where it ended otherwise than by that or well. */
static bool was_killed(const char *dir, uint32_t die_at)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        learn_and_die(dir, die_at);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

/* At every third write or rename of a run's: the next one finds the last completed epoch's vectors, and what it makes
 * of them is what a run without an end makes, to the bit, decoder and encoder with it. */
static void test_a_killed_run_is_gone_on_with(void **state)
{
    static gnn_real expected[KILLED_EPOCHS + 2][NODES * DIM], found[NODES * DIM];
    char dir[DATA_PATH];
    struct fixture f;
    struct link_run run;
    uint32_t gone_on[KILLED_EPOCHS + 1] = {0};
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true);
    start_kept(&run, f.world, dir);
    must(link_run_open(&run), &run.err);
    for (uint64_t epoch = 0; epoch <= KILLED_EPOCHS; epoch++) {
        link_run_vectors(&run, expected[epoch]);
        must(link_run_epoch(&run, epoch), &run.err);
    }
    link_run_vectors(&run, expected[KILLED_EPOCHS + 1]);
    link_run_close(&run);
    fixture_close(&f);
    bool killed = true;
    for (uint32_t die_at = 1; killed; die_at += 3) {
        remove_kept(dir);
        killed = was_killed(dir, die_at);
        fixture_open(&f, .scratch = true);
        start_kept(&run, f.world, dir);
        must(link_run_open(&run), &run.err);
        const struct marius *const m = run.state;
        const uint64_t first = m->links->first_epoch;
        assert_true(killed ? first <= KILLED_EPOCHS : first == KILLED_EPOCHS);
        gone_on[first]++;
        link_run_vectors(&run, found);
        assert_memory_equal(found, expected[first], sizeof found);
        must(link_run_epoch(&run, 0), &run.err);
        assert_int_equal(link_run_figure(&run, "epochs_before"), first);
        link_run_vectors(&run, found);
        assert_memory_equal(found, expected[first + 1], sizeof found);
        link_run_close(&run);
        fixture_close(&f);
    }
    for (uint32_t e = 0; e <= KILLED_EPOCHS; e++)
        assert_true(gone_on[e] >= (e < KILLED_EPOCHS ? 3 : 1));
}

/* ---- failures ---- */

/* Reads that fail, disks that fill up, memory that is refused, wherever: one error and nothing left, or no error and
 * the same epochs. */
static void test_failures_end_in_a_first_error(void **state)
{
    static const struct gnn_fault_plan plans[] = {
        {.read_eio_at = 1},
        {.read_eio_at = 9},
        {.read_eio_at = 30},
        {.read_eio_at = 80},
        {.alloc_fail_at = 2},
        {.alloc_fail_at = 7},
        {.alloc_fail_at = 15},
        {.alloc_fail_at = 24},
        {.alloc_fail_at = 40},
        {.write_enospc = true, .write_enospc_after_bytes = 3000},
        {.write_enospc = true, .write_enospc_after_bytes = 40000},
        {.write_enospc = true, .write_enospc_after_bytes = 150000},
        {.read_short_probability = 0.4, .read_again_probability = 0.2, .write_short_probability = 0.4},
    };
    char dir[DATA_PATH];
    uint32_t failed = 0, ended_well = 0;
    double expected[LINK_RUN_STEPS_MAX] = {0};
    link_graph_import(&usual, *state, dir);
    for (size_t p = 0; p <= sizeof plans / sizeof *plans; p++) { /* the first without a failure */
        struct fixture f;
        struct link_run run;
        fixture_open(&f, .scratch = true, .faults = p == 0 ? NULL : &plans[p - 1]);
        link_run_init(&run, f.inner, "mariusgnn", dir, DIM);
        run.world = f.world;
        run.options = OPTIONS(COMET, "io=buffered", "vectors=kept");
        with_encoder(&run, GNN_MODEL_SAGE, 1);
        remove_kept(dir);
        enum gnn_status status = link_run_open(&run);
        for (uint64_t epoch = 0; epoch < 2 && status == GNN_OK; epoch++)
            status = link_run_epoch(&run, epoch);
        if (p == 0)
            memcpy(expected, run.loss, sizeof expected);
        assert_int_equal(run.err.status, status);
        if (status == GNN_OK)
            assert_memory_equal(run.loss, expected, run.step_count * sizeof run.loss[0]);
        failed += status != GNN_OK;
        ended_well += status == GNN_OK;
        link_run_close(&run);
        fixture_close(&f);
    }
    assert_true(failed >= 8 && ended_well >= 2);
}

/* ---- refusals ---- */

static void spoil(const char *dir, const char *file, long at)
{
    char command[DATA_PATH + 128];
    (void)snprintf(command, sizeof command,
                   "f=$(echo '%s'/mariusgnn-*/vectors-*/%s) && printf '\\377\\377' | dd of=\"$f\" bs=1 seek=%ld "
                   "conv=notrunc status=none",
                   dir, file, at);
    assert_int_equal(system(command), 0);
}

static void test_what_is_kept_is_told_apart(void **state)
{
    char dir[DATA_PATH];
    struct fixture f;
    struct link_run first, second;
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true);
    start_kept(&first, f.world, dir);
    must(link_run_open(&first), &first.err);
    start_kept(&second, f.world, dir); /* while another run has it */
    assert_int_equal(link_run_open(&second), GNN_EUSAGE);
    assert_non_null(strstr(second.err.message, "another run is learning"));
    link_run_close(&second);
    must(link_run_epoch(&first, 0), &first.err);
    link_run_close(&first);
    start_kept(&second, f.world, dir);
    spoil(dir, "manifest", GNN_PAGE_BYTES + 40);
    assert_int_equal(link_run_open(&second), GNN_EFORMAT);
    assert_non_null(strstr(second.err.message, "wrong checksum"));
    assert_non_null(strstr(second.err.message, "mariusgnn.vectors=scratch"));
    link_run_close(&second);
    start_kept(&second, f.world, dir);
    spoil(dir, "manifest", 16); /* how many nodes it has */
    assert_int_equal(link_run_open(&second), GNN_EFORMAT);
    assert_non_null(strstr(second.err.message, "does not match this dataset"));
    link_run_close(&second);
    fixture_close(&f);
}

static void test_contradictions_are_refused_by_name(void **state)
{
    const struct {
        const char *const *options;
        const char *says;
    } cases[] = {
        {OPTIONS("policy=replace"), "require --task nodes"},
        {OPTIONS("policy=training-first"), "require --task nodes"},
        {OPTIONS("partitions=8", "capacity=4", "logical=1"), "every two groups"},
        {OPTIONS("partitions=8", "capacity=2", "logical=3"), "mariusgnn.logical"},
        {OPTIONS("partitions=8", "capacity=1", "policy=beta"), "cannot hold 2 groups"},
        {OPTIONS("partitions=8", "capacity=9"), "exceeds the 8 partitions"},
    };
    char dir[DATA_PATH];
    struct fixture f;
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct link_run run;
        struct gnn_memory_plan plan;
        start(&run, &f, dir, cases[c].options);
        assert_int_equal(link_run_plan(&run, &plan), GNN_EUSAGE);
        assert_non_null(strstr(run.err.message, cases[c].says));
        link_run_close(&run);
    }
    fixture_close(&f);
}

/* ---- sizes ---- */

enum { LARGE_PARTITIONS = 16 };

/* Plans, opens and trains under the cap. Returns the partitions in memory; 0: it was refused by name. */
static uint64_t capacity_under(const char *dir, uint32_t layers, uint64_t cap)
{
    struct fixture f;
    struct link_run run;
    struct gnn_memory_plan plan;
    uint64_t capacity = 0;
    fixture_open(&f, .scratch = true, .measured = {.memory_limit_bytes = cap});
    link_run_init(&run, f.world, "mariusgnn", dir, 256);
    run.options = OPTIONS("io=buffered", "partitions=16", "loaders=1", "staleness=2", "depth=2");
    run.cap_bytes = cap;
    if (layers > 0)
        with_encoder(&run, GNN_MODEL_SAGE, layers);
    enum gnn_status status = link_run_plan(&run, &plan);
    free(run.config);
    run.config = NULL;
    GNN_NEXT(status, link_run_open(&run));
    if (status == GNN_OK) {
        must(link_run_epoch(&run, 0), &run.err);
        capacity = link_run_figure(&run, "capacity");
    } else {
        assert_int_equal(status, GNN_ECAP);
        assert_non_null(strstr(run.err.message, "the run needs about"));
    }
    link_run_close(&run);
    fixture_close(&f);
    return capacity;
}

/* From too little for two groups up to enough for all: what the plan accepts holds as many partitions as fit, and an
 * epoch stays within the world's limit. */
static void test_the_capacity_follows_the_cap(void **state)
{
    static const struct link_graph large = {.nodes = 6000, .relations = 4, .edges = 2000, .seed = 5};
    char dir[DATA_PATH];
    link_graph_import(&large, *state, dir);
    for (uint32_t layers = 0; layers <= 2; layers++) {
        uint64_t before = 0, refused = 0, whole = 0, part = 0;
        for (uint64_t cap = UINT64_C(2) << 20; cap <= UINT64_C(32) << 20; cap += UINT64_C(2) << 20) {
            const uint64_t capacity = capacity_under(dir, layers, cap);
            assert_true(capacity >= before);
            before = capacity;
            refused += capacity == 0;
            whole += capacity == LARGE_PARTITIONS;
            part += capacity > 0 && capacity < LARGE_PARTITIONS;
        }
        assert_true(refused > 0 && part > 0 && whole > 0);
    }
}

/* ---- one preparation at a time ---- */

struct opener {
    struct link_run *run;
    _Atomic bool done;
    enum gnn_status status;
};

static void open_late(void *arg)
{
    struct opener *const o = arg;
    o->status = link_run_open(o->run);
    o->done = true;
}

static void test_a_preparation_waits_for_another(void **state)
{
    char dir[DATA_PATH], path[DATA_PATH + 64];
    struct fixture f;
    struct link_run run;
    struct gnn_thread *thread;
    struct gnn_file *lock;
    bool held = false;
    link_graph_import(&usual, *state, dir);
    fixture_open(&f, .scratch = true);
    start(&run, &f, dir, OPTIONS(COMET, "io=buffered"));
    struct opener opener = {.run = &run};
    (void)snprintf(path, sizeof path, "%s/mariusgnn-random-s%" PRIu64 "-p8-%.12s", dir, run.workload.seed,
                   run.dataset->digest);
    must(gnn_dir_make(f.world, path, &f.err), &f.err);
    (void)snprintf(path + strlen(path), sizeof path - strlen(path), "/lock");
    must(gnn_file_open(f.world, path, GNN_OPEN_WRITE, &lock, &f.err), &f.err);
    must(gnn_file_lock(f.world, lock, &held, &f.err), &f.err);
    assert_true(held);
    must(gnn_thread_start(f.world, "opener", open_late, &opener, &thread, &f.err), &f.err);
    gnn_sleep_until(f.world, gnn_now_ns(f.world) + UINT64_C(200000000), GNN_WAIT_RESOURCE);
    assert_false(opener.done);
    gnn_file_close(f.world, lock);
    gnn_thread_join(f.world, thread);
    must(opener.status, &run.err);
    link_run_close(&run);
    fixture_close(&f);
}

int main(void)
{
#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, data_set_up, data_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(test_triples_scattered_in_ranges_are_the_same),
        WITH_DIRECTORY(test_in_memory_it_is_the_exact_system),
        WITH_DIRECTORY(test_out_of_memory_it_is_a_plain_loop),
        WITH_DIRECTORY(test_only_resident_nodes_are_seen),
        WITH_DIRECTORY(test_reads_and_writes_have_their_closed_forms),
        WITH_DIRECTORY(test_times_add_up_to_the_epoch),
        WITH_DIRECTORY(test_switches_of_speed_change_no_loss),
        WITH_DIRECTORY(test_both_worlds_draw_the_same),
        WITH_DIRECTORY(test_a_rate_of_0_leaves_every_vector),
        WITH_DIRECTORY(test_a_killed_run_is_gone_on_with),
        WITH_DIRECTORY(test_failures_end_in_a_first_error),
        WITH_DIRECTORY(test_what_is_kept_is_told_apart),
        WITH_DIRECTORY(test_contradictions_are_refused_by_name),
        WITH_DIRECTORY(test_the_capacity_follows_the_cap),
        WITH_DIRECTORY(test_a_preparation_waits_for_another),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
