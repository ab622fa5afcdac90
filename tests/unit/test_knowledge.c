/* SPDX-License-Identifier: MIT */
/* The generated knowledge graph: ends of one class but for the noise, popular nodes and relations, the same from any
 * place; what is prepared is the function, edge by edge. */
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "harness/graph/knowledge.h"
#include "harness/graph/permute.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 2003, RELATIONS = 21, EDGES = 40000 };

/* Position of every node in a facet's permutation, found by walking it. */
static void find_positions(const struct gnn_knowledge *graph, uint32_t facet, uint32_t positions[NODES])
{
    for (uint32_t p = 0; p < NODES; p++)
        positions[gnn_permute(graph->facet_key[facet], NODES, p)] = p;
}

static uint32_t class_of(const struct gnn_knowledge *graph, uint32_t position)
{
    const uint64_t classes = gnn_knowledge_classes(graph);
    uint32_t class = (uint32_t)(position * classes / NODES);
    while ((class + 1) * (uint64_t)NODES / classes <= position)
        class ++;
    return class;
}

static void test_ends_share_a_class(void **state)
{
    (void)state;
    static uint32_t positions[GNN_KNOWLEDGE_FACETS][NODES], degree[NODES];
    uint32_t relations[RELATIONS] = {0}, apart = 0, loops = 0, popular = 0;
    struct gnn_knowledge graph;
    gnn_knowledge_init(&graph, test_seed(), NODES, RELATIONS, 0.1);
    for (uint32_t f = 0; f < GNN_KNOWLEDGE_FACETS; f++)
        find_positions(&graph, f, positions[f]);
    memset(degree, 0, sizeof degree);
    for (uint64_t i = 0; i < EDGES; i++) {
        const struct gnn_triple e = gnn_knowledge_edge(&graph, i), again = gnn_knowledge_edge(&graph, i);
        assert_memory_equal(&e, &again, sizeof e);
        assert_true(e.source < NODES && e.target < NODES && e.relation < RELATIONS);
        const uint32_t *const p = positions[e.relation % GNN_KNOWLEDGE_FACETS];
        apart += class_of(&graph, p[e.source]) != class_of(&graph, p[e.target]);
        loops += e.source == e.target;
        relations[e.relation]++;
        degree[e.source]++;
        degree[e.target]++;
    }
    /* A tenth is noise, of which one in 62 falls into the class: 0.0984; four sigmas of 40,000 draws are 0.006. */
    assert_true(apart > 0.092 * EDGES && apart < 0.105 * EDGES);
    assert_true(loops < 0.001 * EDGES); /* of the noise alone */
    assert_true(relations[0] > 3 * relations[RELATIONS - 1] && relations[RELATIONS - 1] > 0);
    for (uint32_t v = 0; v < NODES; v++) {
        assert_true(degree[v] > 0);
        popular += degree[v] > 2 * 2 * EDGES / NODES;
    }
    assert_true(popular > 5); /* one position in 32 is drawn five times as often as the mean, in one facet of eight */
}

static void test_other_seeds_make_other_graphs(void **state)
{
    (void)state;
    struct gnn_knowledge one, two;
    uint32_t same = 0;
    gnn_knowledge_init(&one, 1, NODES, RELATIONS, 0.1);
    gnn_knowledge_init(&two, 2, NODES, RELATIONS, 0.1);
    for (uint64_t i = 0; i < 1000; i++) {
        const struct gnn_triple a = gnn_knowledge_edge(&one, i), b = gnn_knowledge_edge(&two, i);
        same += a.source == b.source;
    }
    assert_true(same < 20);
}

/* The least that there can be. */
static void test_small_graphs(void **state)
{
    (void)state;
    struct gnn_knowledge graph;
    for (uint32_t nodes = 1; nodes < 70; nodes++) {
        gnn_knowledge_init(&graph, 3, nodes, 1, 0.5);
        for (uint64_t i = 0; i < 50; i++) {
            const struct gnn_triple e = gnn_knowledge_edge(&graph, i);
            assert_true(e.source < nodes && e.target < nodes && e.relation == 0);
        }
    }
}

/* Counts of the registry over the scale; edges of the splits one after another. */
static void test_prepared(void **state)
{
    char dir[DATA_PATH];
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    struct gnn_err err = {0};
    struct gnn_meta *const meta = malloc(sizeof *meta);
    struct gnn_knowledge graph;
    uint64_t first = 0;
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, "kg")};
    gnn_option_defaults(gnn_generate_table, &options);
    options.seed = 5;
    must(gnn_registry_find("freebase86m", &entry, &err), &err);
    must(gnn_prepare_generate(entry, 50000, &options, &job, &err), &err);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_read_meta(dir, meta, &err), &err);
    assert_int_equal(meta->node_count, 1721);
    assert_int_equal(meta->triple_count[0], 6095);
    assert_int_equal(meta->triple_count[1], 338);
    assert_int_equal(meta->relation_count, GNN_KNOWLEDGE_FACETS);
    assert_int_equal(meta->scale_divisor, 50000);
    gnn_knowledge_init(&graph, 5, meta->node_count, meta->relation_count, options.label_noise);
    for (int split = 0; split < 3; split++) {
        size_t length = 0;
        char *const bytes = data_read(dir, gnn_meta_triples_name(split), &length);
        const struct gnn_triple *const edges = (const struct gnn_triple *)(const void *)bytes;
        assert_int_equal(length, meta->triple_count[split] * sizeof *edges);
        for (uint64_t i = 0; i < meta->triple_count[split]; i++) {
            const struct gnn_triple e = gnn_knowledge_edge(&graph, first + i);
            assert_memory_equal(&edges[i], &e, sizeof e);
        }
        first += meta->triple_count[split];
        free(bytes);
    }
    must(gnn_prepare_generate(entry, 50000, &options, &job, &err), &err); /* there already */
    options.seed = 6;
    assert_int_equal(gnn_prepare_generate(entry, 50000, &options, &job, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "made with seed 5, not 6"));
    free(meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_share_a_class),
        cmocka_unit_test(test_other_seeds_make_other_graphs),
        cmocka_unit_test(test_small_graphs),
        cmocka_unit_test_setup_teardown(test_prepared, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("knowledge", tests, NULL, NULL);
}
