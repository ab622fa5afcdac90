/* SPDX-License-Identifier: MIT */
/* Ginex' parts and the invariants of a whole epoch (docs/invariants.md, Ginex, 5 to 11; batches, losses and rows
 * against the other systems are in tests/differential, the replacement in test_belady.c). */
#include "harness/base/rng.h"
#include "harness/storage/stream.h"
#include "harness/system/sampling.h"
#include "systems/ginex/feature_cache.h"
#include "systems/ginex/ginex.h"
#include "systems/ginex/neighbours.h"
#include "systems/ginex/score.h"
#include "tests/support/data_files.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/io_scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRAIN = 160, BATCHES = 8 };

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 64, .classes = 5, .train = TRAIN, .seed = 11};

/* ---- scores ---- */

static uint32_t degree(const struct gnn_dataset *d, gnn_node v)
{
    return (uint32_t)(d->indptr[v + 1] - d->indptr[v]);
}

struct ranked {
    float score;
    gnn_node node;
};

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static void count_out(const struct train_graph *g, uint32_t *out)
{
    memset(out, 0, g->dataset.node_count * sizeof *out);
    for (uint64_t e = 0; e < g->dataset.edge_count; e++)
        out[g->indices[e]]++;
}

static void test_what_is_chosen_is_a_prefix_by_score(void **state)
{
    (void)state;
    struct train_graph g;
    train_graph_open(&usual, &g);
    const uint32_t n = g.dataset.node_count;
    uint32_t *out = calloc(n, sizeof *out);
    struct ranked *ranks = calloc(n, sizeof *ranks);
    assert_true(out != NULL && ranks != NULL);
    count_out(&g, out);
    for (gnn_node v = 0; v < n; v++)
        ranks[v] = (struct ranked){((float)out[v] + 1e-8f) / ((float)degree(&g.dataset, v) + 1e-8f), v};
    qsort(ranks, n, sizeof *ranks, by_score);
    for (int cost = 0; cost < 2; cost++)
        for (int skip = 0; skip < 2; skip++)
            for (uint64_t budget = 0; budget < 9000; budget += budget < 60 ? 1 : 97) {
                struct ginex_choice choice;
                struct gnn_err err = {0};
                must(ginex_choose(&g.dataset, out, (enum ginex_cost)cost, budget, skip, &choice, &err), &err);
                uint64_t left = budget, nodes = 0;
                bool open = true;
                for (uint32_t i = 0; i < n; i++) {
                    const gnn_node v = ranks[i].node;
                    const bool isolated = degree(&g.dataset, v) == 0;
                    const uint64_t price = cost == GINEX_COST_ROW ? 1 : degree(&g.dataset, v) + 1;
                    const bool counts = !(skip && isolated);
                    open = open && (!counts || price <= left);
                    const bool expected = open && counts;
                    if (ginex_chosen(&choice, v) != expected)
                        fail_msg("cost %d skip %d budget %lu: node %u, rank %u", cost, skip, (unsigned long)budget, v,
                                 i);
                    left -= expected ? price : 0;
                    nodes += expected;
                }
                assert_int_equal(choice.nodes, nodes);
                assert_int_equal(choice.cost, budget - left);
            }
    free(ranks);
    free(out);
    train_graph_close(&g);
}

/* ---- lists ---- */

/* Nodes, and the bytes of a neighbour cache that they take before there is a list in it. */
enum { LIST_NODES = 500, LIST_TABLE = 8 * LIST_NODES };

/* A graph with a list far longer than a read buffer, in a directory that has direct I/O where this machine does. */
struct lists {
    struct io_scratch scratch;
    struct gnn_dataset dataset;
    uint64_t indptr[LIST_NODES + 1];
    gnn_node *indices;
};

static void open_lists(struct lists *l, uint32_t id_bytes)
{
    static const struct gnn_meta_like {
        uint32_t node, degree;
    } large[] = {{3, 1024}, {7, 1023}, {225, 90000}, {375, 70000}, {499, 5000}};
    io_scratch_open(&l->scratch);
    memset(&l->dataset, 0, sizeof l->dataset);
    for (gnn_node v = 0; v < LIST_NODES; v++) {
        uint32_t d = (uint32_t)(gnn_mix64(v) % 9);
        for (size_t i = 0; i < sizeof large / sizeof *large; i++)
            d = large[i].node == v ? large[i].degree : d;
        l->indptr[v + 1] = l->indptr[v] + d;
    }
    const uint64_t edges = l->indptr[LIST_NODES];
    l->indices = calloc(edges, sizeof *l->indices);
    assert_non_null(l->indices);
    for (uint64_t e = 0; e < edges; e++)
        l->indices[e] = (gnn_node)(gnn_mix64(e + 77) % LIST_NODES);
    l->dataset.node_count = LIST_NODES;
    l->dataset.edge_count = edges;
    l->dataset.indptr = l->indptr;
    l->dataset.id_bytes = id_bytes;
    l->dataset.indices_bytes = edges * id_bytes;
    (void)snprintf(l->dataset.dir, sizeof l->dataset.dir, "%s", l->scratch.dir);
    (void)snprintf(l->dataset.indices_path, sizeof l->dataset.indices_path, "%s/indices", l->scratch.dir);
    train_write_ids(l->dataset.indices_path, l->indices, edges, id_bytes);
}

static void close_lists(struct lists *l)
{
    free(l->indices);
    io_scratch_close(&l->scratch);
}

static uint64_t rule_bytes(enum ginex_list_read rule, uint64_t begin, uint64_t count, uint64_t id_bytes)
{
    if (rule == GINEX_LIST_ARTIFACT)
        return count * id_bytes / 4096 * 4096 + 8192;
    return ((begin + count) * id_bytes + 4095) / 4096 * 4096 - begin * id_bytes / 4096 * 4096;
}

/* Every edge of every node through one source. */
static void fetch_all(struct lists *l, struct ginex_neighbours *n, enum ginex_list_read rule)
{
    enum { ROWS = 100 };
    struct gnn_err err = {0};
    struct gnn_neighbour_source *source;
    struct ginex_neighbours_counters counters;
    uint64_t *offset = calloc(l->dataset.edge_count, sizeof *offset), bytes = 0, lists = 0, cached = 0;
    gnn_node *out = calloc(l->dataset.edge_count, sizeof *out);
    assert_true(offset != NULL && out != NULL);
    for (uint64_t e = 0; e < l->dataset.edge_count; e++)
        offset[e] = e;
    must(ginex_source_open(n, 0, &source, &err), &err);
    ginex_neighbours_take_counters(n, &counters);
    for (gnn_node first = 0; first < l->dataset.node_count; first += ROWS) {
        gnn_node nodes[ROWS];
        uint32_t row_start[ROWS + 1];
        for (uint32_t i = 0; i < ROWS; i++) {
            const gnn_node v = nodes[i] = first + i;
            row_start[i] = (uint32_t)(l->indptr[v] - l->indptr[first]);
            const bool has = ginex_neighbours_has(n, v);
            const uint64_t d = l->indptr[v + 1] - l->indptr[v];
            cached += has && d > 0;
            lists += !has && d > 0;
            bytes += !has && d > 0 ? rule_bytes(rule, l->indptr[v], d, l->dataset.id_bytes) : 0;
        }
        row_start[ROWS] = (uint32_t)(l->indptr[first + ROWS] - l->indptr[first]);
        must(source->ops->fetch_lists(source, nodes, row_start, ROWS, offset + l->indptr[first], out + l->indptr[first],
                                      &err),
             &err);
    }
    assert_memory_equal(out, l->indices, l->dataset.edge_count * sizeof *out);
    ginex_neighbours_take_counters(n, &counters);
    assert_int_equal(counters.cached_lists, cached);
    assert_int_equal(counters.read_lists, lists);
    assert_int_equal(counters.list_bytes, bytes);
    gnn_source_close(source);
    free(out);
    free(offset);
}

static void lists_are_the_files_lists(uint32_t id_bytes)
{
    struct lists l;
    memset(&l, 0, sizeof l);
    open_lists(&l, id_bytes);
    static const uint64_t caches[] = {0,      LIST_TABLE, LIST_TABLE + 400, LIST_TABLE + 24000, LIST_TABLE + 284000,
                                      2000000};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        for (int variant = 0; variant < 4; variant++) {
            const bool direct = variant % 2 == 1;
            if (direct && !l.scratch.direct)
                continue;
            struct fixture f;
            fixture_open(&f, .graph = NULL);
            const struct gnn_workload workload = {.seed = 1};
            const struct gnn_env env = {
                .world = f.world, .dataset = &l.dataset, .workload = &workload, .io_engine = GNN_RING_POOL};
            const struct ginex_neighbours_config config = {
                .cache_bytes = caches[i],
                .skip_isolated = i % 2 == 1,
                .direct = direct,
                .list_read = variant >= 2 ? GINEX_LIST_COVER : GINEX_LIST_ARTIFACT,
                .workers = 1,
                .load_block_bytes = variant >= 2 ? 65536 : 4096,
                .load_depth = 7,
                .dir = l.scratch.dir,
            };
            struct ginex_neighbours *n;
            struct ginex_scan scan = {.env = NULL};
            struct gnn_file *indices;
            struct gnn_err err = {0};
            must(gnn_file_open(f.world, l.dataset.indices_path, direct ? GNN_OPEN_DIRECT : GNN_OPEN_READ, &indices,
                               &err),
                 &err);
            must(ginex_scan_open(&env, indices, &scan, &err), &err);
            must(ginex_neighbours_open(&env, &config, indices, &scan, &n, &err), &err);
            ginex_scan_close(&scan);
            if (caches[i] > 0)
                assert_in_range(ginex_neighbours_words(n) * id_bytes + LIST_TABLE, LIST_TABLE, caches[i]);
            if (caches[i] >= 2000000)
                assert_true(ginex_neighbours_words(n) >= l.dataset.edge_count);
            fetch_all(&l, n, config.list_read); /* nothing loaded: every list is read */
            must(ginex_neighbours_load(n, &err), &err);
            fetch_all(&l, n, config.list_read);
            ginex_neighbours_unload(n);
            fetch_all(&l, n, config.list_read);
            ginex_neighbours_close(n);
            gnn_file_close(f.world, indices);
            fixture_close(&f);
        }
    close_lists(&l);
}

static void test_lists_are_the_files_lists(void **state)
{
    (void)state;
    lists_are_the_files_lists(4);
    lists_are_the_files_lists(8);
}

static void test_a_cache_below_its_table_is_refused(void **state)
{
    (void)state;
    struct lists l;
    memset(&l, 0, sizeof l);
    open_lists(&l, 4);
    struct fixture f;
    fixture_open(&f, .graph = NULL);
    const struct gnn_env env = {.world = f.world, .dataset = &l.dataset};
    const struct ginex_neighbours_config config = {.cache_bytes = LIST_TABLE - 1, .workers = 1, .dir = l.scratch.dir};
    struct ginex_neighbours *n = NULL;
    struct gnn_err err = {0};
    assert_int_equal(ginex_neighbours_open(&env, &config, NULL, NULL, &n, &err), GNN_ECAP);
    assert_non_null(strstr(err.message, "ginex.neighbour_cache"));
    assert_null(n);
    fixture_close(&f);
    close_lists(&l);
}

/* ---- change sets ---- */

static void test_a_change_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        gnn_node in;
        uint32_t row;
        gnn_node out;
        enum gnn_status status;
    } cases[] = {
        {7, 1, 5, GNN_OK},      {900, 0, 5, GNN_EFORMAT}, {7, 0, 900, GNN_EFORMAT},
        {7, 2, 5, GNN_EFORMAT}, {3, 0, 5, GNN_EBUG},      {7, 0, 8, GNN_EBUG},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct gnn_file *features;
    struct gnn_err err = {0};
    must(gnn_file_open(f.world, f.graph.dataset.features_path, GNN_OPEN_READ, &features, &err), &err);
    const struct ginex_cache_config config = {.node_count = f.graph.dataset.node_count,
                                              .rows = 2,
                                              .row_bytes = f.graph.dataset.row_bytes,
                                              .unit_bytes = 1,
                                              .workers = 1,
                                              .features = features};
    gnn_real *const rows = calloc(2, f.graph.dataset.row_bytes);
    assert_non_null(rows);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const gnn_node initial[] = {3, 5};
        const struct ginex_changes changes = {&cases[c].in, &cases[c].row, &cases[c].out, 1, 1};
        struct ginex_cache *cache;
        struct gnn_err refusal = {0};
        must(ginex_cache_open(f.world, &config, &cache, &err), &err);
        ginex_cache_assign(cache, initial, 2);
        struct ginex_apply apply = {cache, &changes, rows, 2};
        if (ginex_cache_apply(&apply, 0, 1, &refusal) != cases[c].status)
            fail_msg("case %zu: %s", c, refusal.message);
        ginex_cache_close(cache);
    }
    free(rows);
    gnn_file_close(f.world, features);
    fixture_close(&f);
}

/* ---- whole epochs ---- */

/* Node lists of an epoch's batches, as the trainer saw them. */
struct seen {
    struct train_run *run;
    void (*inner)(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step);
    uint32_t batches;
    uint32_t count[64];
    gnn_node *nodes[64];
    uint32_t files_max; /* in the dataset's directory while training */
};

static void see(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct seen *seen = ctx;
    seen->inner(seen->run, batch, step);
    const uint32_t files = data_entries(seen->run->env.dataset->dir);
    seen->files_max = files > seen->files_max ? files : seen->files_max;
    assert_true(seen->batches < 64);
    seen->count[seen->batches] = batch->node_count;
    seen->nodes[seen->batches] = malloc(batch->node_count * sizeof(gnn_node));
    assert_non_null(seen->nodes[seen->batches]);
    memcpy(seen->nodes[seen->batches++], batch->nodes, batch->node_count * sizeof(gnn_node));
}

static void forget(struct seen *seen)
{
    for (uint32_t b = 0; b < seen->batches; b++)
        free(seen->nodes[b]);
    seen->batches = 0;
}

static bool accessed(const struct seen *s, uint32_t b, gnn_node v)
{
    for (uint32_t i = 0; i < s->count[b]; i++)
        if (s->nodes[b][i] == v)
            return true;
    return false;
}

/* Misses of the rule, step by step and without any of its data structures: keep those accessed soonest. */
static uint64_t naive_misses(const struct seen *s, uint32_t first, uint32_t end, uint32_t nodes, uint32_t rows,
                             uint64_t *filled)
{
    bool *cached = calloc(nodes, 1), *candidate = calloc(nodes, 1);
    uint32_t *next = calloc(nodes, sizeof *next), held = 0;
    uint64_t misses = 0;
    assert_true(cached != NULL && candidate != NULL && next != NULL);
    for (uint32_t b = first; b < end; b++)
        for (uint32_t i = 0; i < s->count[b]; i++)
            if (!cached[s->nodes[b][i]] && held < rows) {
                cached[s->nodes[b][i]] = true;
                held++;
            }
    *filled += held;
    for (uint32_t b = first; b < end; b++) {
        for (gnn_node v = 0; v < nodes; v++) {
            const bool here = accessed(s, b, v);
            misses += here && !cached[v];
            candidate[v] = here || cached[v];
            cached[v] = false;
            for (next[v] = b + 1; next[v] < end && !accessed(s, next[v], v);)
                next[v]++;
        }
        uint32_t kept = 0;
        for (uint32_t when = b + 1; when <= end; when++)
            for (gnn_node v = 0; v < nodes && kept < rows; v++)
                if (candidate[v] && next[v] == when) {
                    cached[v] = true;
                    kept++;
                }
    }
    free(next);
    free(candidate);
    free(cached);
    return misses;
}

static void init_run(struct train_run *run, struct gnn_world *world, const char *const *options)
{
    train_run_init(run, world, "ginex");
    run->options = options;
    run->check_rows = true;
}

static void watch(struct train_run *run, struct seen *seen)
{
    *seen = (struct seen){.run = run, .inner = run->env.on_step};
    run->env.on_step = see;
    run->env.on_step_ctx = seen;
}

static void test_misses_of_an_epoch_are_the_offline_optimum(void **state)
{
    (void)state;
    static const uint32_t superbatches[] = {1, 3, 4, 8, 1000}, rows[] = {1, 40, 150, 300, 900};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++) {
            char superbatch[32], cache[48];
            (void)snprintf(superbatch, sizeof superbatch, "superbatch=%u", superbatches[i]);
            (void)snprintf(cache, sizeof cache, "feature_cache=%u", 900 * 4 + rows[j] * 256);
            struct train_run run;
            struct seen seen;
            init_run(&run, f.world, OPTIONS("io=buffered", superbatch, cache, "gather_threads=3"));
            must(train_run_open(&run, &f.graph), &run.err);
            watch(&run, &seen);
            must(train_run_epoch(&run, 0), &run.err);
            uint64_t expected = 0, filled = 0;
            for (uint32_t first = 0; first < BATCHES; first += superbatches[i]) {
                const uint32_t end = first + superbatches[i] < BATCHES ? first + superbatches[i] : (uint32_t)BATCHES;
                expected += naive_misses(&seen, first, end, 900, rows[j], &filled);
            }
            assert_int_equal(run.result.counters.cache_misses, expected);
            assert_int_equal(run.result.counters.rows_read, expected + filled); /* a filled row is read too */
            assert_int_equal(run.result.counters.rows_asked, run.result.counters.sample.sampled_nodes);
            assert_int_equal(train_run_extra(&run, "cache_rows"), rows[j]);
            const uint32_t sb = superbatches[i] < BATCHES ? superbatches[i] : (uint32_t)BATCHES;
            assert_int_equal(train_run_extra(&run, "superbatches"), (BATCHES + sb - 1) / sb);
            assert_int_equal(seen.files_max, 2); /* indices and features */
            assert_int_equal(run.wrong_values, 0);
            forget(&seen);
            train_run_close(&run);
        }
    fixture_close(&f);
}

/* Nothing depends on how many threads there are; all seeds are trained, also where T is a multiple of B SB. */
static void test_threads_change_nothing(void **state)
{
    (void)state;
    const char *const *const variants[] = {
        OPTIONS("io=buffered", "superbatch=4", "samplers=1", "gather_threads=1", "trace_loaders=1", "trace_queue=1",
                "id_readers=1", "trace_depth=1"),
        OPTIONS("io=buffered", "superbatch=4", "samplers=2", "gather_threads=3", "trace_loaders=2"),
        OPTIONS("io=buffered", "superbatch=4", "samplers=7", "gather_threads=16", "trace_loaders=6", "id_readers=40",
                "trace_block=4K"),
        OPTIONS("io=buffered", "superbatch=4", "hold_ids=false", "overlap=false", "fill=direct"),
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct gnn_counters first = {.needed_bytes = 0};
    double loss[BATCHES];
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct train_run run;
        init_run(&run, f.world, variants[v]);
        must(train_run_open(&run, &f.graph), &run.err);
        must(train_run_epoch(&run, 0), &run.err);
        const struct gnn_counters *c = &run.result.counters;
        if (v == 0) {
            first = *c;
            memcpy(loss, run.loss, sizeof loss);
        }
        assert_memory_equal(&c->sample, &first.sample, sizeof first.sample);
        assert_memory_equal(run.loss, loss, sizeof loss);
        assert_int_equal(c->cache_hits, first.cache_hits);
        assert_int_equal(c->cache_misses, first.cache_misses);
        assert_int_equal(c->cache_evictions, first.cache_evictions);
        assert_int_equal(c->cache_hits + c->cache_misses, c->sample.sampled_nodes);
        assert_int_equal(run.result.seeds, TRAIN);
        for (uint32_t i = 0; i < TRAIN; i++)
            assert_int_equal(run.seen[f.graph.dataset.train.nodes[i]], 1);
        assert_int_equal(data_entries(f.graph.dataset.dir), 2);
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_feature_reads_are_pages_of_the_misses(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    if (gnn_file_open(f.world, f.graph.dataset.features_path, GNN_OPEN_DIRECT, &file, &err) == GNN_OK) {
        gnn_file_close(f.world, file);
        static const uint32_t units[] = {4096, 16384};
        for (size_t u = 0; u < 2; u++) {
            char unit[32];
            (void)snprintf(unit, sizeof unit, "io_unit=%u", units[u]);
            struct train_run run;
            init_run(&run, f.world, OPTIONS("cache_neighbours=false", "superbatch=3", "feature_cache=30K", unit));
            must(train_run_open(&run, &f.graph), &run.err);
            must(train_run_epoch(&run, 0), &run.err);
            const struct gnn_counters *c = &run.result.counters;
            assert_true(c->cache_misses > 0);
            assert_int_equal(c->requested_bytes - train_run_extra(&run, "list_read_bytes") -
                                 train_run_extra(&run, "trace_read_bytes"),
                             c->cache_misses * units[u]);
            assert_int_equal(train_run_extra(&run, "fill_rows"), 3 * train_run_extra(&run, "cache_rows"));
            train_run_close(&run);
        }
    } else {
        leave_out("direct I/O: %s", err.message);
    }
    fixture_close(&f);
}

static void test_stages_and_phases_add_up(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    init_run(&run, f.world, OPTIONS("io=buffered", "superbatch=3", "feature_cache=30K"));
    must(train_run_open(&run, &f.graph), &run.err);
    const uint64_t start_ns = gnn_now_ns(f.world);
    must(train_run_epoch(&run, 0), &run.err);
    const uint64_t wall_ns = gnn_now_ns(f.world) - start_ns;
    static const struct {
        const char *name;
        uint64_t items;
    } stages[] = {{"inspect", BATCHES}, {"sample", BATCHES}, {"load", BATCHES}, {"gather", 0}, {"train", BATCHES}};
    assert_int_equal(run.result.stage_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct gnn_stage_time *t = &run.result.stages[i];
        assert_string_equal(t->stage, stages[i].name);
        if (stages[i].items > 0)
            assert_int_equal(t->items, stages[i].items);
        uint64_t sum = t->work_ns;
        for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
            sum += t->wait_ns[kind];
        assert_true(fabs((double)sum - (double)t->wall_ns) <= 0.01 * (double)t->wall_ns);
        assert_in_range(t->wall_ns, 1, wall_ns * t->workers);
    }
    assert_in_range(run.result.prepare_ns, 1, wall_ns);
    assert_in_range(train_run_extra(&run, "pass1_ns") + train_run_extra(&run, "pass2_ns") +
                        train_run_extra(&run, "pass3_ns"),
                    1, wall_ns);
    assert_true(train_run_extra(&run, "trace_written_bytes") > 0);
    assert_true(train_run_extra(&run, "trace_read_bytes") > 0);
    train_run_close(&run);
    fixture_close(&f);
}

static void test_nothing_is_left_after_a_stop(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (uint32_t stop = 1; stop < BATCHES; stop++) {
        struct train_run run;
        struct gnn_mem_usage opened, stopped;
        init_run(&run, f.world, OPTIONS("io=buffered", "superbatch=3", "overlap_caches=true"));
        run.stop_after = stop;
        must(train_run_open(&run, &f.graph), &run.err);
        must(train_run_epoch(&run, 1) == GNN_ECANCELLED ? GNN_OK : GNN_EBUG, &run.err);
        assert_int_equal(run.step_count, stop);
        assert_int_equal(data_entries(f.graph.dataset.dir), 2);
        gnn_mem_usage(f.world, &opened);
        atomic_store(&run.stop, false);
        run.stop_after = 0;
        must(train_run_epoch(&run, 0), &run.err);
        must(train_run_epoch(&run, 1), &run.err);
        assert_int_equal(run.result.seeds, TRAIN);
        gnn_mem_usage(f.world, &stopped);
        assert_in_range(stopped.current_bytes, opened.current_bytes / 2, opened.current_bytes * 2);
        train_run_close(&run);
    }
    assert_int_equal(data_entries(f.graph.dataset.dir), 2);
    fixture_close(&f);
}

/* The two caches are there in turn; with overlap_caches both at once, as in the released code. */
static void test_the_caches_share_their_memory_in_time(void **state)
{
    (void)state;
    struct train_graph_config config = usual;
    struct train_graph g;
    config.dim = 1024;
    config.nodes = 4000;
    config.mean_degree = 300;
    train_graph_open(&config, &g);
    uint64_t peak[2];
    for (int both = 0; both < 2; both++) {
        struct fixture f;
        fixture_open(&f, .graph = NULL);
        struct gnn_mem_usage usage;
        struct train_run run;
        init_run(&run, f.world,
                 OPTIONS("io=buffered", "superbatch=13", "samplers=1", "feature_cache=5M", "neighbour_cache=8M",
                         "trace_block=4K", "id_readers=1", both ? "overlap_caches=true" : "overlap_caches=false"));
        run.check_rows = false;
        run.workload.batch_size = 4;
        run.workload.max_batches = 39; /* three superbatches of some 400 rows of 4 KiB each */
        run.workload.fanout[0] = run.workload.fanout[1] = 2;
        must(train_run_open(&run, &g), &run.err);
        must(train_run_epoch(&run, 0), &run.err);
        gnn_mem_usage(f.world, &usage);
        peak[both] = usage.peak_bytes;
        train_run_close(&run);
        fixture_close(&f);
    }
    assert_in_range(peak[1] - peak[0], 500000, 8000000);
    train_graph_close(&g);
}

/* Replacement policies at work: the optimum misses least, a fixed cache changes nothing. */
static void test_policies(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    uint64_t misses[3], by_score = 0;
    for (int p = 0; p < 4; p++) {
        const char *const policies[] = {"replacement=belady", "replacement=lru", "replacement=static",
                                        "replacement=static"};
        struct train_run run;
        init_run(&run, f.world,
                 OPTIONS("io=buffered", "feature_cache=40K", policies[p], p == 3 ? "initial=score" : "initial=access"));
        must(train_run_open(&run, &f.graph), &run.err);
        must(train_run_epoch(&run, 0), &run.err);
        *(p < 3 ? &misses[p] : &by_score) = run.result.counters.cache_misses;
        assert_int_equal(run.result.counters.cache_evictions > 0, p < 2);
        assert_int_equal(run.wrong_values, 0);
        train_run_close(&run);
    }
    assert_true(misses[0] < misses[1] && misses[0] < misses[2] && misses[0] < by_score);
    fixture_close(&f);
}

/* A row that crosses a page costs two, and the last row of the file what there is: by hand, from the nodes. */
static void test_rows_across_pages_cost_two(void **state)
{
    (void)state;
    struct train_graph_config config = usual;
    config.dim = 100; /* 400 bytes */
    struct fixture f;
    fixture_open(&f, .graph = &config);
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    if (gnn_file_open(f.world, f.graph.dataset.features_path, GNN_OPEN_DIRECT, &file, &err) == GNN_OK) {
        gnn_file_close(f.world, file);
        struct train_run run;
        struct seen seen;
        init_run(&run, f.world,
                 OPTIONS("cache_neighbours=false", "replacement=static", "feature_cache=4000", "gather_threads=3"));
        must(train_run_open(&run, &f.graph), &run.err);
        watch(&run, &seen);
        must(train_run_epoch(&run, 0), &run.err);
        assert_int_equal(train_run_extra(&run, "cache_rows"), 1);
        uint64_t expected = 0, crossing = 0, misses = 0;
        for (uint32_t b = 0; b < seen.batches; b++)
            for (uint32_t i = 0; i < seen.count[b]; i++) {
                const uint64_t v = seen.nodes[b][i], first = v * 400 / 4096, last = (v * 400 + 399) / 4096;
                if (v == seen.nodes[0][0])
                    continue;
                misses++;
                crossing += first != last;
                expected += (last - first + 1) * 4096;
            }
        const struct gnn_counters *c = &run.result.counters;
        assert_true(crossing > 0);
        assert_int_equal(c->cache_misses, misses);
        assert_int_equal(c->requested_bytes - train_run_extra(&run, "list_read_bytes") -
                             train_run_extra(&run, "trace_read_bytes"),
                         expected);
        forget(&seen);
        train_run_close(&run);
    } else {
        leave_out("direct I/O: %s", err.message);
    }
    fixture_close(&f);
}

/* Below the least cap the message names what is largest in the phase that does not fit, and less of it helps. */
static void test_the_advice_below_a_cap_helps(void **state)
{
    (void)state;
    static const struct {
        const char *options[6], *words, *better;
    } cases[] = {
        {{"feature_cache=60M", "cache_neighbours=false"}, "ginex.feature_cache", "feature_cache=6M"},
        {{"feature_cache=60M", "cache_neighbours=false", "overlap_caches=true", "samplers=1", "trace_block=10M"},
         "ginex.feature_cache",
         "feature_cache=6M"},
        {{"feature_cache=1M", "trace_block=20M"}, "ginex.trace_block", "trace_block=4K"},
        {{"feature_cache=1M", "samplers=100"}, "ginex.samplers", "samplers=1"},
        {{"feature_cache=1M", "neighbour_cache=900M", "trace_block=4K"},
         "ginex.neighbour_cache",
         "cache_neighbours=false"},
        {{"feature_cache=1M", "io_unit=16M"}, "ginex.gather_threads", "gather_threads=1"},
        {{"feature_cache=1M", "trace_loaders=64", "trace_queue=64"}, "ginex.trace_loaders", "trace_loaders=1"},
    };
    struct train_graph_config config = usual;
    config.nodes = 150000;
    config.mean_degree = 12;
    config.dim = 256;
    struct fixture f;
    fixture_open(&f, .graph = &config);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint64_t least[2];
        for (int helped = 0; helped < 2; helped++) {
            const char *options[8] = {NULL};
            for (uint32_t i = 0; i < 6; i++)
                options[i] = cases[c].options[i];
            for (uint32_t i = 0; helped == 1; i++)
                if (options[i] == NULL) {
                    options[i] = cases[c].better;
                    break;
                }
            uint64_t low = 1000, high = UINT64_C(1) << 40;
            while (low < high) {
                const uint64_t middle = (low + high) / 2;
                struct train_run run;
                struct gnn_memory_plan plan;
                init_run(&run, f.world, options);
                run.cap_bytes = middle;
                const enum gnn_status status = train_run_plan(&run, &f.graph, &plan);
                assert_true(status == GNN_OK || status == GNN_ECAP);
                if (helped == 0 && status == GNN_ECAP && strstr(run.err.message, cases[c].words) == NULL)
                    fail_msg("case %zu: %s", c, run.err.message);
                free(run.config);
                *(status == GNN_OK ? &high : &low) = status == GNN_OK ? middle : middle + 1;
            }
            least[helped] = high;
        }
        if (least[1] >= least[0])
            fail_msg("case %zu: %s does not help", c, cases[c].better);
    }
    fixture_close(&f);
}

static uint64_t part_bytes(const struct gnn_memory_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->part_count; i++)
        if (strcmp(plan->parts[i].name, name) == 0)
            return plan->parts[i].bytes;
    fail_msg("no part is called %s", name);
    return 0;
}

/* What a run holds at most is what was planned, in either phase. */
static void test_the_peak_is_planned_for(void **state)
{
    (void)state;
    static const char *const variants[][6] = {
        {"io=buffered", "superbatch=3", "feature_cache=600K"},
        {"io=buffered", "superbatch=3", "neighbour_cache=2M", "feature_cache=30K"},
        {"io=buffered", "superbatch=3", "feature_cache=600K", "overlap_caches=true"},
        {"io=buffered", "superbatch=3", "hold_ids=false", "fill=direct", "initial=score"},
    };
    struct train_graph_config config = usual;
    config.nodes = 4000;
    config.mean_degree = 100;
    struct train_graph g;
    enum { VARIANTS = sizeof variants / sizeof *variants };
    for (size_t round = 0; round < (size_t)2 * VARIANTS; round++) {
        const size_t v = round / 2;
        config.id_bytes = round % 2 == 0 ? 4 : 8;
        train_graph_open(&config, &g);
        struct fixture f;
        fixture_open(&f, .graph = NULL);
        struct gnn_memory_plan plan;
        struct gnn_mem_usage usage;
        struct train_run run;
        init_run(&run, f.world, variants[v]);
        must(train_run_plan(&run, &g, &plan), &run.err);
        free(run.config);
        init_run(&run, f.world, variants[v]);
        must(train_run_open(&run, &g), &run.err);
        must(train_run_epoch(&run, 0), &run.err);
        gnn_mem_usage(f.world, &usage);
        const uint64_t planned = gnn_plan_bytes(&plan) - part_bytes(&plan, "process itself");
        if (usage.peak_bytes > planned + planned / 20)
            fail_msg("variant %zu: %lu bytes at the peak, %lu planned", v, (unsigned long)usage.peak_bytes,
                     (unsigned long)planned);
        train_run_close(&run);
        fixture_close(&f);
        train_graph_close(&g);
    }
}

/* Without a cap and an option the neighbour cache is its table and a tenth of all lists with their counts, words as
 * wide as the dataset's IDs; a budget in bytes holds half as many words of 8 bytes. */
static void test_the_neighbour_cache_has_words_of_the_datasets_width(void **state)
{
    (void)state;
    uint64_t words[2];
    for (int wide = 0; wide < 2; wide++) {
        struct train_graph_config config = usual;
        config.id_bytes = wide ? 8 : 4;
        struct fixture f;
        struct gnn_memory_plan plan;
        fixture_open(&f, .graph = &config);
        for (int budget = 0; budget < 2; budget++) {
            struct train_run run;
            static const char *const given[] = {"io=buffered", "neighbour_cache=14K", NULL};
            init_run(&run, f.world, given);
            run.options = budget ? given : NULL;
            must(train_run_plan(&run, &f.graph, &plan), &run.err);
            const uint64_t nodes = f.graph.dataset.node_count, lists = f.graph.dataset.edge_count + nodes;
            const uint64_t bytes = budget ? 14336 : 8 * nodes + lists * config.id_bytes / 10;
            assert_int_equal(part_bytes(&plan, "neighbour cache"), bytes + 2 * GNN_PAGE_BYTES);
            free(run.config);
            if (budget == 0)
                continue;
            init_run(&run, f.world, given);
            must(train_run_open(&run, &f.graph), &run.err);
            words[wide] = ginex_neighbours_words(((struct ginex *)run.state)->neighbours);
            assert_in_range(words[wide] * config.id_bytes, 1, 14336 - 8 * nodes);
            train_run_close(&run);
        }
        fixture_close(&f);
    }
    assert_true(words[0] > words[1]);
}

/* A cache that outlives its Execute meets a next Inspect only where there is one. */
static void one_superbatch_overlaps_no_caches(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    static const char *const sizes[] = {"superbatch=1500", "superbatch=2"};
    for (int s = 0; s < 2; s++) {
        uint64_t bytes[2];
        for (int overlap = 0; overlap < 2; overlap++) {
            struct train_run run;
            struct gnn_memory_plan plan;
            init_run(&run, f.world,
                     OPTIONS("io=buffered", "feature_cache=5M", sizes[s],
                             overlap == 1 ? "overlap_caches=true" : "overlap_caches=false"));
            must(train_run_plan(&run, &f.graph, &plan), &run.err);
            bytes[overlap] = gnn_plan_phase_bytes(&plan, 1); /* while a superbatch is inspected */
            free(run.config);
        }
        assert_true((bytes[1] > bytes[0]) == (s == 1));
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_superbatch_overlaps_no_caches),
        cmocka_unit_test(test_what_is_chosen_is_a_prefix_by_score),
        cmocka_unit_test(test_lists_are_the_files_lists),
        cmocka_unit_test(test_a_cache_below_its_table_is_refused),
        cmocka_unit_test(test_a_change_that_cannot_be_is_refused),
        cmocka_unit_test(test_misses_of_an_epoch_are_the_offline_optimum),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_feature_reads_are_pages_of_the_misses),
        cmocka_unit_test(test_stages_and_phases_add_up),
        cmocka_unit_test(test_nothing_is_left_after_a_stop),
        cmocka_unit_test(test_the_caches_share_their_memory_in_time),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_rows_across_pages_cost_two),
        cmocka_unit_test(test_the_advice_below_a_cap_helps),
        cmocka_unit_test(test_the_peak_is_planned_for),
        cmocka_unit_test(test_the_neighbour_cache_has_words_of_the_datasets_width),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
