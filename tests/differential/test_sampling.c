/* SPDX-License-Identifier: MIT */
/* Same seed, same mini-batches: in memory or mapped, on one thread or four, under any numbering of the nodes. */
#include "harness/base/rng.h"
#include "harness/sample/sample.h"
#include "harness/world/measured/measured.h"
#include "tests/support/memory_source.h"
#include "tests/support/seed.h"
#include "tests/support/small_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 3000, BATCH_SIZE = 30, BATCHES = NODES / BATCH_SIZE, THREADS_MAX = 4 };

struct fixture {
    struct gnn_world *world;
    struct small_graph graph;
    struct gnn_sampler_config config;
    gnn_node order[NODES];
    char path[256]; /* indices on disk */
    struct gnn_file *file;
    struct gnn_map *map;
};

static void write_indices(struct fixture *f)
{
    const char *const tmp = getenv("TMPDIR");
    (void)snprintf(f->path, sizeof f->path, "%s/oocgnn-indices-XXXXXX", tmp != NULL ? tmp : "/tmp");
    const int fd = mkstemp(f->path);
    const size_t bytes = f->graph.dataset.edge_count * sizeof(gnn_node);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, f->graph.indices, bytes), bytes);
    assert_int_equal(close(fd), 0);
}

static int open_fixture(void **state)
{
    static struct fixture f;
    struct gnn_err err = {0};
    const uint64_t seed = test_seed();
    if (gnn_world_measured_open(NULL, &f.world, &err) != GNN_OK)
        return -1;
    small_graph_open(&f.graph, seed, NODES);
    f.config = (struct gnn_sampler_config){.seed = seed, .layers = 3, .fanout = {10, 10, 5}};
    for (uint32_t v = 0; v < NODES; v++)
        f.order[v] = v;
    gnn_epoch_order(seed, 1, f.order, NODES, f.order);
    write_indices(&f);
    if (gnn_file_open(f.world, f.path, GNN_OPEN_READ, &f.file, &err) != GNN_OK ||
        gnn_map_open(f.world, f.file, GNN_MAP_RANDOM, &f.map, &err) != GNN_OK)
        return -1;
    *state = &f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *const f = *state;
    gnn_map_close(f->world, f->map);
    gnn_file_close(f->world, f->file);
    small_graph_close(&f->graph);
    gnn_world_measured_close(f->world);
    return unlink(f->path);
}

/* One thread that takes the next free batch until none is left. */
struct runner {
    struct fixture *fixture;
    const struct gnn_dataset *dataset;
    struct gnn_sampler_config config;
    const gnn_node *order;
    struct gnn_neighbour_source *source;
    atomic_uint *next;
    uint64_t *digests; /* (BATCHES), of all runners */
    struct gnn_sample_counters counters;
    struct gnn_err err;
};

static enum gnn_status run_batches(struct runner *runner, struct gnn_sampler *sampler, struct gnn_batch *batch)
{
    for (;;) {
        const uint32_t k = atomic_fetch_add(runner->next, 1);
        if (k >= BATCHES)
            return GNN_OK;
        GNN_TRY(gnn_sampler_sample(sampler, 1, k, runner->order + (uint64_t)k * BATCH_SIZE, BATCH_SIZE, batch,
                                   &runner->err));
        runner->digests[k] = gnn_batch_digest(gnn_batch_view(batch), runner->config.original_id);
    }
}

static void runner_main(void *arg)
{
    struct runner *const runner = arg;
    struct gnn_world *const world = runner->fixture->world;
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    if (gnn_sampler_open(world, &runner->config, runner->dataset, runner->source, &sampler, &runner->err) == GNN_OK &&
        gnn_batch_open(world, &batch, &runner->err) == GNN_OK && run_batches(runner, sampler, batch) == GNN_OK)
        gnn_sampler_counters(sampler, &runner->counters);
    gnn_batch_close(world, batch);
    gnn_sampler_close(sampler);
}

struct outcome {
    struct gnn_sample_counters counters;
    uint64_t digests[BATCHES];
};

static void run_threads(struct runner prototype, bool mapped, const gnn_node *indices, uint32_t threads,
                        struct outcome *out)
{
    struct fixture *const f = prototype.fixture;
    struct runner runners[THREADS_MAX];
    struct gnn_thread *handles[THREADS_MAX] = {NULL};
    atomic_uint next = 0;
    struct gnn_err err = {0};
    *out = (struct outcome){0};
    prototype.next = &next;
    prototype.digests = out->digests;
    for (uint32_t t = 0; t < threads; t++) {
        runners[t] = prototype;
        assert_int_equal(
            mapped ? gnn_source_mapped(f->world, f->map, sizeof(gnn_node), &runners[t].source, &err)
                   : gnn_source_memory(f->world, indices, prototype.dataset->edge_count, &runners[t].source, &err),
            GNN_OK);
        assert_int_equal(gnn_thread_start(f->world, "sample", runner_main, &runners[t], &handles[t], &err), GNN_OK);
    }
    for (uint32_t t = 0; t < threads; t++) {
        gnn_thread_join(f->world, handles[t]);
        gnn_source_close(runners[t].source);
        if (runners[t].err.status != GNN_OK)
            fail_msg("%s", runners[t].err.message);
        out->counters.batches += runners[t].counters.batches;
        out->counters.sampled_nodes += runners[t].counters.sampled_nodes;
        out->counters.sampled_edges += runners[t].counters.sampled_edges;
        out->counters.batch_digest += runners[t].counters.batch_digest;
    }
}

static void compare(const struct outcome *a, const struct outcome *b, const char *what)
{
    for (uint32_t k = 0; k < BATCHES; k++)
        if (a->digests[k] != b->digests[k])
            fail_msg("%s: batch %u differs", what, k);
    assert_int_equal(a->counters.batches, BATCHES);
    assert_int_equal(b->counters.batches, BATCHES);
    assert_int_equal(a->counters.sampled_nodes, b->counters.sampled_nodes);
    assert_int_equal(a->counters.sampled_edges, b->counters.sampled_edges);
    assert_true(a->counters.batch_digest == b->counters.batch_digest);
}

static struct runner prototype(struct fixture *f)
{
    return (struct runner){.fixture = f, .dataset = &f->graph.dataset, .config = f->config, .order = f->order};
}

static void sources_and_threads(void **state)
{
    struct fixture *const f = *state;
    static struct outcome reference, other;
    run_threads(prototype(f), false, f->graph.indices, 1, &reference);
    uint64_t sum = 0;
    for (uint32_t k = 0; k < BATCHES; k++)
        sum += reference.digests[k];
    assert_true(sum == reference.counters.batch_digest);
    for (uint32_t threads = 1; threads <= THREADS_MAX; threads++) {
        for (int mapped = 0; mapped < 2; mapped++) {
            char what[64];
            (void)snprintf(what, sizeof what, "%s, %u threads", mapped ? "mapped" : "memory", threads);
            run_threads(prototype(f), mapped == 1, f->graph.indices, threads, &other);
            compare(&reference, &other, what);
        }
    }
}

static void renumbered_graph(void **state)
{
    struct fixture *const f = *state;
    static struct outcome reference, other;
    static gnn_node original_id[NODES], new_id[NODES], order[NODES];
    struct small_graph renumbered;
    small_graph_renumber(&f->graph, f->config.seed, &renumbered, original_id);
    for (uint32_t v = 0; v < NODES; v++)
        new_id[original_id[v]] = v;
    for (uint32_t i = 0; i < NODES; i++)
        order[i] = new_id[f->order[i]];
    run_threads(prototype(f), false, f->graph.indices, 1, &reference);
    struct runner moved = prototype(f);
    moved.dataset = &renumbered.dataset;
    moved.order = order;
    moved.config.original_id = original_id;
    run_threads(moved, false, renumbered.indices, 2, &other);
    compare(&reference, &other, "renumbered");
    moved.config.original_id = NULL; /* without the way back the draws are others: the test can tell */
    run_threads(moved, false, renumbered.indices, 1, &other);
    assert_true(reference.counters.batch_digest != other.counters.batch_digest);
    small_graph_close(&renumbered);
}

/* What enters the key changes the batch: seed, epoch, batch and hop, but not what was sampled before. */
static void keys_matter(void **state)
{
    struct fixture *const f = *state;
    static const struct {
        uint64_t seed_step, epoch, batch;
        bool same;
    } cases[] = {{0, 4, 9, true}, {1, 4, 9, false}, {0, 5, 9, false}, {0, 4, 10, false}};
    gnn_node nodes[2000];
    uint32_t node_count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_sampler_config config = f->config;
        struct gnn_neighbour_source *source = NULL;
        struct gnn_sampler *sampler = NULL;
        struct gnn_batch *batch = NULL;
        struct gnn_err err = {0};
        config.seed += cases[i].seed_step;
        config.layers = 2;
        assert_int_equal(gnn_source_mapped(f->world, f->map, sizeof(gnn_node), &source, &err), GNN_OK);
        assert_int_equal(gnn_sampler_open(f->world, &config, &f->graph.dataset, source, &sampler, &err), GNN_OK);
        assert_int_equal(gnn_batch_open(f->world, &batch, &err), GNN_OK);
        for (size_t before = 0; before < i; before++) /* other batches first */
            assert_int_equal(gnn_sampler_sample(sampler, 0, before, f->order + 50, 15, batch, &err), GNN_OK);
        assert_int_equal(gnn_sampler_sample(sampler, cases[i].epoch, cases[i].batch, f->order, 15, batch, &err),
                         GNN_OK);
        const struct gnn_batch_view *const view = gnn_batch_view(batch);
        assert_in_range(view->node_count, 15, 2000);
        if (i == 0) {
            node_count = view->node_count;
            memcpy(nodes, view->nodes, node_count * sizeof *nodes);
        }
        const bool same = view->node_count == node_count && memcmp(nodes, view->nodes, node_count * sizeof *nodes) == 0;
        assert_int_equal(same, cases[i].same);
        gnn_batch_close(f->world, batch);
        gnn_sampler_close(sampler);
        gnn_source_close(source);
    }
}

static void a_file_that_ends_early(void **state)
{
    struct fixture *const f = *state;
    struct gnn_dataset longer = f->graph.dataset;
    uint64_t indptr[] = {0, longer.edge_count + 1};
    longer.node_count = 1;
    longer.edge_count++;
    longer.indptr = indptr;
    struct gnn_neighbour_source *source = NULL;
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    struct gnn_err err = {0};
    const struct gnn_sampler_config config = {.seed = 1, .layers = 1, .fanout = {64}};
    assert_int_equal(gnn_source_mapped(f->world, f->map, sizeof(gnn_node), &source, &err), GNN_OK);
    assert_int_equal(gnn_sampler_open(f->world, &config, &longer, source, &sampler, &err), GNN_OK);
    assert_int_equal(gnn_batch_open(f->world, &batch, &err), GNN_OK);
    indptr[0] = longer.edge_count - 1; /* one edge, just past the end */
    assert_int_equal(gnn_sampler_sample(sampler, 0, 0, (const gnn_node[]){0}, 1, batch, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, f->path));
    gnn_batch_close(f->world, batch);
    gnn_sampler_close(sampler);
    gnn_source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_and_threads),
        cmocka_unit_test(renumbered_graph),
        cmocka_unit_test(keys_matter),
        cmocka_unit_test(a_file_that_ends_early),
    };
    return cmocka_run_group_tests_name("sampling", tests, open_fixture, close_fixture);
}
