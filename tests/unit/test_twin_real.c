/* SPDX-License-Identifier: MIT */
/* Real graphs and their twins: of each graph statistics, of the statistics a recipe, of the recipe a graph, whose
 * statistics are the first ones to within 10 % (a share below a tenth: to within a hundredth). Skipped where the graphs
 * are not at hand. OOCGNN_TEST_LONG takes the large ones too. */
#include "harness/stats/stats.h"
#include "harness/stats/twin.h"
#include "tests/support/data_files.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name;
    enum gnn_import_format format;
    bool add_reverse, large;
} graphs[] = {
    {"tolokers", GNN_IMPORT_OGB, true, false},
    {"fb100-13schools", GNN_IMPORT_OGB, true, true},
    {"fb15k-237", GNN_IMPORT_TRIPLES, true, false},
    {"codex-m", GNN_IMPORT_TRIPLES, true, false},        /* short and long lists name others */
    {"soc-slashdot0902", GNN_IMPORT_SNAP, false, false}, /* a twin's reach takes nodes that the graph's has not */
    {"amsterdam-museum", GNN_IMPORT_OGB, false, true},
    {"cora", GNN_IMPORT_OGB, false, false}, /* mutual lists in cliques */
    {"coauthor-physics", GNN_IMPORT_OGB, false, true},
};

static void import_graph(size_t i, const char *from, const char *dir)
{
    struct gnn_import_options options;
    struct gnn_err err = {0};
    gnn_option_defaults(gnn_import_table, &options);
    options.add_reverse = graphs[i].add_reverse;
    options.drop_duplicates = options.drop_self_loops = graphs[i].format == GNN_IMPORT_SNAP;
    if (graphs[i].format == GNN_IMPORT_SNAP) {
        options.dim = 64;
        options.classes = 4;
    }
    const struct gnn_import_source source = {.format = graphs[i].format, .from = from};
    const struct gnn_prepare_job job = {.out_dir = dir};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
}

static struct gnn_stats_config config_of(const struct gnn_dataset *d)
{
    const uint32_t seeds = d->train.count > 0 ? d->train.count : d->node_count;
    return (struct gnn_stats_config){.seed = 1,
                                     .batch_size = gnn_min_u32(gnn_max_u32(seeds / 20, 1), 1000),
                                     .fanout = {2, {10, 10}},
                                     .epochs = 2,
                                     .accesses_max = 20000000,
                                     .window_bytes = 131072,
                                     .lists = true,
                                     .mixing = true};
}

/* Counts both; says which statistics differ. */
static unsigned compare(const char *name, const struct gnn_stats *real, const struct gnn_stats *twin)
{
    const struct {
        const char *what;
        double real, twin;
    } pairs[] = {
        {"neighbours of a node", real->lists.mean, twin->lists.mean},
        {"nodes without one", real->lists.zero, twin->lists.zero},
        {"reach", real->reach, twin->reach},
        {"windows", (double)real->windows_reached / (double)real->windows,
         (double)twin->windows_reached / (double)twin->windows},
        {"edges of a class", real->same_class, twin->same_class},
        {"best 1 % of the sources", real->sources.best[0], twin->sources.best[0]},
        {"best 10 % of the sources", real->sources.best[3], twin->sources.best[3]},
        {"rows", real->rows, twin->rows},
        {"edges", real->edges, twin->edges},
        {"touched by an epoch", real->touched_first, twin->touched_first},
        {"touched again", real->next_epoch, twin->next_epoch},
        {"best 1 % of the rows", real->hits[0].best, twin->hits[0].best},
        {"best 10 % of the rows", real->hits[3].best, twin->hits[3].best},
        {"best 30 % of the rows", real->hits[7].best, twin->hits[7].best},
        {"LRU of 10 %", real->hits[3].lru, twin->hits[3].lru},
        {"LRU of 30 %", real->hits[7].lru, twin->hits[7].lru},
        {"Belady of 10 %", real->hits[3].belady, twin->hits[3].belady},
        {"Belady of 30 %", real->hits[7].belady, twin->hits[7].belady},
    };
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const double off = fabs(pairs[i].twin - pairs[i].real);
        if (isnan(pairs[i].real) || off <= fmax(0.1 * fabs(pairs[i].real), 0.01))
            continue;
        print_error("%s, %s: %g, twin %g\n", name, pairs[i].what, pairs[i].real, pairs[i].twin);
        wrong++;
    }
    return wrong;
}

static unsigned try_graph(struct gnn_world *world, size_t i, const char *from, const char *root)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_lists *lists;
    struct gnn_stats *const s = calloc(2, sizeof *s);
    struct gnn_recipe_file *const twin = calloc(1, sizeof *twin);
    struct gnn_generate_options options;
    import_graph(i, from, data_path(dir, root, graphs[i].name));
    must(gnn_lists_open_prepared(world, dir, 0, GNN_F32, &lists, &err), &err);
    const struct gnn_stats_config config = config_of(gnn_lists_dataset(lists));
    must(gnn_stats_measure(world, lists, &config, &s[0], &err), &err);
    must(gnn_twin_of(world, gnn_lists_dataset(lists), &s[0], config.window_bytes, twin, &err), &err);
    gnn_lists_close(lists);
    process_remove_tree(dir);
    gnn_option_defaults(gnn_generate_table, &options);
    must(gnn_lists_open_computed(world, &twin->entry, &options, 1, &lists, &err), &err);
    must(gnn_stats_measure(world, lists, &config, &s[1], &err), &err);
    gnn_lists_close(lists);
    const unsigned wrong = compare(graphs[i].name, &s[0], &s[1]);
    free(twin);
    free(s);
    return wrong;
}

static void test_twins(void **state)
{
    unsigned done = 0, wrong = 0;
    char *root = process_temp_dir();
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        char from[DATA_PATH];
        if (graphs[i].large && getenv("OOCGNN_TEST_LONG") == NULL)
            continue;
        if (data_real(graphs[i].name, from) == NULL)
            continue;
        wrong += try_graph(*state, i, from, root);
        done++;
    }
    process_remove_tree(root);
    free(root);
    if (done == 0)
        skip();
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_twins)};
    return cmocka_run_group_tests_name("twin_real", tests, measured_world_open, measured_world_close);
}
