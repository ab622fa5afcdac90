/* SPDX-License-Identifier: MIT */
/* The fixed R-MAT graph: against a plain second statement of its recipe, the same for any number of threads and any
 * window, for ever; and what a sampler makes of empty lists and duplicates. Scale 23 takes OOCGNN_TEST_LONG. */
#include "harness/dataset/kron.h"

#include "harness/base/rng.h"
#include "harness/dataset/read.h"
#include "harness/sample/digest.h"
#include "harness/sample/sample.h"
#include "tests/support/data_files.h"
#include "tests/support/measured_world.h"
#include "tests/support/memory_source.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct gnn_generate_options options_of(uint32_t levels, uint32_t threads)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    options.levels = levels;
    options.threads = threads;
    return options;
}

static const struct gnn_registry_entry *entry_of(const char *name)
{
    const struct gnn_registry_entry *entry = NULL;
    struct gnn_err err = {0};
    must(gnn_registry_find(name, &entry, &err), &err);
    return entry;
}

static void prepare(const char *dir, uint32_t levels, uint32_t threads, uint64_t window_edges)
{
    struct gnn_err err = {0};
    const struct gnn_generate_options options = options_of(levels, threads);
    const struct gnn_prepare_job job = {.out_dir = dir};
    must(gnn_prepare_kron(entry_of("kron"), 1, &options, window_edges, &job, &err), &err);
}

/* ---- the recipe once more, with doubles and plain arrays ---- */

struct plain {
    uint32_t nodes, edges;
    uint32_t *source, *destination; /* renamed, in generation order */
};

static uint64_t plain_output(uint64_t seed, uint64_t k)
{
    uint64_t x = seed + (k + 1) * UINT64_C(11400714819323198485);
    x = (x ^ x >> 30) * UINT64_C(13787848793156543929);
    x = (x ^ x >> 27) * UINT64_C(10723151780598845931);
    return x ^ x >> 31;
}

static void plain_open(unsigned levels, struct plain *p)
{
    p->nodes = 1u << levels;
    p->edges = 16 * p->nodes;
    p->source = malloc(p->edges * sizeof *p->source);
    p->destination = malloc(p->edges * sizeof *p->destination);
    uint32_t *const names = malloc(p->nodes * sizeof *names);
    for (uint32_t i = 0; i < p->nodes; i++)
        names[i] = i;
    uint64_t next = 0;
    for (uint32_t i = p->nodes - 1; i > 0; i--) {
        const uint64_t j = plain_output(43, next++) % (i + UINT64_C(1));
        const uint32_t other = names[i];
        names[i] = names[j];
        names[j] = other;
    }
    for (uint64_t e = 0; e < p->edges; e++) {
        uint32_t s = 0, d = 0;
        for (unsigned level = 0; level < levels; level++) {
            const double u = (double)(plain_output(42, levels * e + level) >> 11) / 0x1p53;
            const unsigned quadrant = u < 0.57 ? 0 : u < 0.76 ? 1 : u < 0.95 ? 2 : 3;
            s += (quadrant >> 1) << (levels - 1 - level);
            d += (quadrant & 1) << (levels - 1 - level);
        }
        p->source[e] = names[s];
        p->destination[e] = names[d];
    }
    free(names);
}

static void plain_close(struct plain *p)
{
    free(p->source);
    free(p->destination);
}

static void *read_array(const char *dir, const char *name, uint64_t bytes)
{
    size_t len = 0;
    void *const array = data_read(dir, name, &len);
    assert_non_null(array);
    assert_int_equal(len, bytes);
    return array;
}

/* Walks the edges in generation order: each is the next entry of its source's list. */
static void test_recipe(void **state)
{
    static const unsigned levels[] = {4, 7, 11};
    for (size_t c = 0; c < sizeof levels / sizeof levels[0]; c++) {
        char dir[DATA_PATH], name[32];
        struct plain p;
        struct gnn_err err = {0};
        (void)snprintf(name, sizeof name, "levels-%u", levels[c]);
        prepare(data_path(dir, *state, name), levels[c], 2, GNN_KRON_WINDOW_EDGES);
        must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
        plain_open(levels[c], &p);
        uint64_t *const indptr = read_array(dir, "indptr", (p.nodes + UINT64_C(1)) * 8);
        gnn_node *const indices = read_array(dir, "indices", p.edges * UINT64_C(4));
        uint64_t *const next = malloc(p.nodes * sizeof *next);
        memcpy(next, indptr, p.nodes * sizeof *next);
        for (uint32_t e = 0; e < p.edges; e++)
            assert_int_equal(indices[next[p.source[e]]++], p.destination[e]);
        for (uint32_t v = 0; v < p.nodes; v++)
            assert_int_equal(next[v], indptr[v + 1]);
        free(next);
        free(indices);
        free(indptr);
        plain_close(&p);
    }
}

/* The order is that of the swaps; the train split is the same set. */
static void test_seeds(void **state)
{
    char dir[DATA_PATH];
    size_t len = 0;
    prepare(data_path(dir, *state, "d"), 10, 1, GNN_KRON_WINDOW_EDGES);
    uint64_t *const indptr = read_array(dir, "indptr", 1025 * 8);
    gnn_node ids[1024], train[1024];
    uint32_t count = 0;
    for (gnn_node v = 0; v < 1024; v++)
        if (indptr[v] != indptr[v + 1])
            ids[count++] = v;
    memcpy(train, ids, sizeof train); /* fewer than 100 000: all of them */
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t j = i + (uint32_t)(plain_output(44, i) % (count - i));
        const gnn_node other = ids[i];
        ids[i] = ids[j];
        ids[j] = other;
    }
    assert_true(count > 500 && count < 1000);
    char *const seeds = data_read(dir, "seeds", &len);
    assert_int_equal(len, count * sizeof *ids);
    assert_memory_equal(seeds, ids, len);
    char *const split = data_read(dir, "train", &len);
    assert_int_equal(len, count * sizeof *train);
    assert_memory_equal(split, train, len);
    free(split);
    free(seeds);
    free(indptr);
}

/* Threads and windows change nothing, and neither does time: a change here is another graph. */
static void test_same_bytes(void **state)
{
    static const struct {
        const char *name, *checksum;
    } golden[] = {
        {"indptr", "9bff590b0cd43fb2eeebcf187b59f6ba"}, {"indices", "eb7865439a8c580ce600d52b62be41c3"},
        {"train", "8c5440fc8e28cefc958f896adc59bf89"},  {"labels", "911107d2bfef8fd1eaec487c5f58d417"},
        {"valid", "99aa06d3014798d86001c324468d497f"},  {"features-d1", "f7f1f5f1be2d85e30ac99e51a4c8ba16"},
    };
    static const struct {
        uint32_t threads;
        uint64_t window_edges;
    } ways[] = {{1, GNN_KRON_WINDOW_EDGES}, {2, 5000}, {3, 2500}, {16, 65536}, {40, 65535}};
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        char dir[DATA_PATH], name[32];
        struct gnn_meta meta;
        struct gnn_err err = {0};
        (void)snprintf(name, sizeof name, "way-%zu", w);
        prepare(data_path(dir, *state, name), 12, ways[w].threads, ways[w].window_edges);
        must(gnn_read_meta(dir, &meta, &err), &err);
        for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
            assert_string_equal(gnn_meta_find_file(&meta, golden[i].name)->checksum, golden[i].checksum);
    }
}

static void test_refused(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, "d")};
    struct {
        uint32_t divisor;
        struct gnn_generate_options options;
        uint64_t window_edges;
        enum gnn_status status;
        const char *message;
    } cases[] = {
        {2, options_of(0, 0), 1 << 20, GNN_EUSAGE, "--levels"},
        {1, options_of(3, 0), 1 << 20, GNN_EUSAGE, "3 levels: expected 4 to 30"},
        {1, options_of(31, 0), 1 << 20, GNN_EUSAGE, "31 levels"},
        {1, options_of(8, 0), 1 << 20, GNN_EUSAGE, "homophily 0.2"},
        {1, options_of(8, 0), 1 << 20, GNN_EUSAGE, "seed 5"},
        {1, options_of(8, 0), 3, GNN_ECAP, "a window 3"},
    };
    cases[3].options.homophily = 0.2;
    cases[4].options.seed = 5;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (struct gnn_err){0};
        assert_int_equal(
            gnn_prepare_kron(entry_of("kron"), cases[i].divisor, &cases[i].options, cases[i].window_edges, &job, &err),
            cases[i].status);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
        assert_int_equal(data_entries(*state), 0);
    }
    prepare(dir, 5, 1, 1 << 20);
    struct gnn_generate_options again = options_of(5, 1);
    err = (struct gnn_err){0};
    must(gnn_prepare_generate(entry_of("kron"), 1, &again, &job, &err), &err); /* there already */
    again.dim = 7;
    assert_int_equal(gnn_prepare_generate(entry_of("kron"), 1, &again, &job, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "exists already"));
}

static void raise_stop(void *ctx, const struct gnn_progress *progress)
{
    if (strcmp(progress->phase, "degrees") == 0 && progress->phase_ended)
        atomic_store((atomic_bool *)ctx, true);
}

static void test_stopped(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    atomic_bool stop = false;
    const struct gnn_generate_options options = options_of(12, 2);
    const struct gnn_prepare_job job = {
        .out_dir = data_path(dir, *state, "d"), .progress = raise_stop, .progress_ctx = &stop, .stop = &stop};
    assert_int_equal(gnn_prepare_kron(entry_of("kron"), 1, &options, 1 << 20, &job, &err), GNN_ECANCELLED);
    assert_int_equal(data_entries(*state), 0);
}

/* ---- empty lists and duplicates ---- */

/* Every row of a block: min(degree, fanout) entries; with the fanout above the degree, the list itself, duplicates and
 * self-loops included; and every node once in the batch. */
static void check_rows(const struct gnn_dataset *dataset, const gnn_node *indices, const struct gnn_batch_view *view,
                       const uint32_t *fanout, uint64_t *duplicates, uint64_t *empty)
{
    for (uint32_t b = 0; b < view->layer_count; b++) {
        const struct gnn_block *const block = &view->blocks[b];
        const uint32_t most = fanout[view->layer_count - 1 - b];
        for (uint32_t i = 0; i < block->dst_count; i++) {
            const gnn_node v = view->nodes[i];
            const uint64_t degree = dataset->indptr[v + 1] - dataset->indptr[v];
            const uint32_t begin = block->row_start[i], count = block->row_start[i + 1] - begin;
            assert_int_equal(count, degree < most ? degree : most);
            *empty += count == 0;
            uint64_t sum = 0, expected = 0;
            for (uint32_t e = begin; e < begin + count; e++) {
                assert_true(block->col[e] < block->src_count);
                sum += gnn_mix64(view->nodes[block->col[e]]);
                *duplicates += e > begin && block->col[e] == block->col[e - 1];
            }
            for (uint64_t e = dataset->indptr[v]; e < dataset->indptr[v + 1]; e++)
                expected += gnn_mix64(indices[e]);
            assert_true(degree > most || sum == expected);
        }
    }
    gnn_node *const seen = calloc(dataset->node_count, sizeof *seen);
    for (uint32_t i = 0; i < view->node_count; i++)
        assert_int_equal(seen[view->nodes[i]]++, 0);
    free(seen);
}

static void test_sampling(void **state)
{
    static const struct gnn_sampler_config config = {.seed = 1, .layers = 3, .fanout = {20, 15, 10}};
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    void *world_state = NULL;
    struct gnn_dataset *dataset = NULL;
    struct gnn_neighbour_source *source = NULL;
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    assert_int_equal(measured_world_open(&world_state), 0);
    struct gnn_world *const world = world_state;
    prepare(data_path(dir, *state, "d"), 12, 1, 1 << 20);
    must(gnn_dataset_open(world, dir, 0, GNN_F32, sizeof(gnn_node), &dataset, &err), &err);
    assert_int_equal(dataset->valid.count, 0);
    gnn_node *const indices = read_array(dir, "indices", dataset->edge_count * sizeof(gnn_node));
    must(gnn_source_memory(world, indices, dataset->edge_count, &source, &err), &err);
    must(gnn_sampler_open(world, &config, dataset, source, &sampler, &err), &err);
    must(gnn_batch_open(world, &batch, &err), &err);
    uint64_t duplicates = 0, empty = 0, digest = 0;
    for (uint32_t at = 0; at < dataset->train.count; at += 256) {
        const uint32_t left = dataset->train.count - at, count = left < 256 ? left : 256;
        must(gnn_sampler_sample(sampler, 0, at / 256, dataset->train.nodes + at, count, batch, &err), &err);
        check_rows(dataset, indices, gnn_batch_view(batch), config.fanout, &duplicates, &empty);
        digest += gnn_batch_digest(gnn_batch_view(batch), NULL);
    }
    struct gnn_sample_counters counters;
    gnn_sampler_counters(sampler, &counters);
    assert_int_equal(counters.batch_digest, digest);
    assert_true(duplicates > 1000 && empty > 100); /* both kinds were met */
    gnn_batch_close(world, batch);
    gnn_sampler_close(sampler);
    gnn_source_close(source);
    free(indices);
    gnn_dataset_close(world, dataset);
    assert_int_equal(measured_world_close(&world_state), 0);
}

/* The graph itself: the published counts, and its bytes. */
static void test_scale_23(void **state)
{
    if (getenv("OOCGNN_TEST_LONG") == NULL)
        skip_test("scale 23 takes half a minute, 0.7 GB of memory and of disk: set OOCGNN_TEST_LONG=1");
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_meta meta;
    const struct gnn_generate_options options = options_of(0, 0);
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, "d")};
    must(gnn_prepare_generate(entry_of("kron"), 1, &options, &job, &err), &err);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.node_count, 8388608);
    assert_int_equal(meta.edge_count, 134217728);
    assert_int_equal(meta.train_count, 100000);
    assert_string_equal(gnn_meta_find_file(&meta, "indices")->checksum, "64231104af0c4edcebc3ea7596f2ee0e");
    assert_string_equal(gnn_meta_find_file(&meta, "train")->checksum, "eecf7231f250b890d314d15ce544ef00");
    uint64_t *const indptr = read_array(dir, "indptr", 8388609 * UINT64_C(8));
    uint64_t largest = 0, with_edge = 0;
    for (uint32_t v = 0; v < meta.node_count; v++) {
        const uint64_t degree = indptr[v + 1] - indptr[v];
        largest = degree > largest ? degree : largest;
        with_edge += degree > 0;
    }
    assert_int_equal(largest, 244119);
    assert_int_equal(with_edge, 3850813);
    free(indptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_recipe, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_seeds, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_same_bytes, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_refused, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_sampling, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_scale_23, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("kron", tests, NULL, NULL);
}
