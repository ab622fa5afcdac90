/* SPDX-License-Identifier: MIT */
/* A graph's statistics by hand, the same from a disk and without one, and the recipe that is made of them. */
#include "harness/stats/stats.h"

#include "harness/dataset/recipe_file.h"
#include "harness/stats/show.h"
#include "harness/stats/twin.h"
#include "tests/support/data_files.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void expect_near(double value, double wanted, double tolerance, const char *what)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%s: %g, expected %g to within %g", what, value, wanted, tolerance);
}

static const struct gnn_stats_config usual = {.seed = 1,
                                              .batch_size = 1,
                                              .fanout = {2, {10, 10}},
                                              .epochs = 2,
                                              .accesses_max = 1000,
                                              .window_bytes = 24,
                                              .lists = true,
                                              .mixing = true};

/* ---- by hand ---- */

/* 0 trains. Its list is 1 and 2, theirs 3, whose is 4. 5 has 0 and 6, 6 has 5, nobody has 7. Two rows a window. */
static void write_hand_graph(const char *root)
{
    char in[DATA_PATH], to[DATA_PATH];
    static const int64_t edges[] = {1, 2, 3, 3, 4, 0, 5, 6, 0, 0, 1, 2, 3, 5, 6, 5};
    static const int64_t labels[] = {0, 1, 0, 1, 0, 1, 0, 1}, train[] = {0}, valid[] = {1}, test[] = {2};
    float features[8 * 3] = {0};
    struct gnn_import_options options;
    struct gnn_err err = {0};
    gnn_option_defaults(gnn_import_table, &options);
    (void)mkdir(data_path(in, root, "in"), 0777);
    data_write_npy(in, "edge_index.npy", "<i8", "(2, 8)", edges, sizeof edges);
    data_write_npy(in, "node_feat.npy", "<f4", "(8, 3)", features, sizeof features);
    data_write_npy(in, "node_label.npy", "<i8", "(8,)", labels, sizeof labels);
    data_write_npy(in, "train_idx.npy", "<i8", "(1,)", train, sizeof train);
    data_write_npy(in, "valid_idx.npy", "<i8", "(1,)", valid, sizeof valid);
    data_write_npy(in, "test_idx.npy", "<i8", "(1,)", test, sizeof test);
    const struct gnn_import_source source = {.format = GNN_IMPORT_OGB, .from = in, .name = "hand"};
    const struct gnn_prepare_job job = {.out_dir = data_path(to, root, "hand")};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
}

static void expect_hand_lists(const struct gnn_stats *s)
{
    assert_int_equal(s->lists.nodes, 8);
    expect_near(s->lists.mean, 1, 0, "mean");
    expect_near(s->lists.zero, 0.25, 0, "without neighbours");
    assert_int_equal(s->lists.max, 2);
    assert_int_equal(s->lists.quantile[3], 1);
    assert_int_equal(s->train_lists.nodes, 1);
    expect_near(s->train_lists.mean, 2, 0, "training node's mean");
    assert_int_equal(s->reach_lists.nodes, 4);
    expect_near(s->reach_lists.mean, 0.75, 0, "mean of the others");
    assert_int_equal(s->rest_lists.nodes, 3);
    expect_near(s->rest_lists.mean, 1, 0, "mean outside");
    assert_int_equal(s->sources.max, 2);
    expect_near(s->sources.zero, 0.125, 0, "in no list");
    assert_int_equal(s->isolated, 1);
    expect_near(s->reach_sources.mean, 1, 0, "lists of the reach a node is in");
    expect_near(s->reach_sources.zero, 0.2, 0, "in none of them");
    expect_near(s->same_class, 0.4, 0, "entries inside a class"); /* of 1-0, 2-0, 3-1, 3-2, 4-3 */
    expect_near(s->coupling, -0.5, 1e-12, "coupling");
    expect_near(s->trees.mutual, 0, 0, "neighbours that name the training node");
    expect_near(s->trees.again, 0.5, 0, "entries named again"); /* 3, by 1 and by 2 */
    assert_int_equal(s->mixing.groups, 2);                      /* lists of one, lists of two */
    assert_int_equal(s->mixing.upto[0], 1);
    static const double short_lists[] = {1, 1 / 3.0, 1 / 3.0, 1 / 3.0, 1}; /* 3; 1, 2 and 4; 0, which is in none */
    assert_int_equal(s->reach_sources.law.count, 5);
    for (int i = 0; i < 5; i++)
        expect_near(s->mixing.share[0][i], short_lists[i], 1e-12, "entries in short lists");
    expect_near(s->mixing.share[1][1], 2 / 3.0, 1e-12, "entries in long lists");
}

static void expect_hand_reach(const struct gnn_stats *s)
{
    static const double hops[] = {0.125, 0.375, 0.5, 0.625, 0.625};
    for (int hop = 0; hop < 5; hop++)
        expect_near(s->hop[hop], hops[hop], 0, "reach");
    expect_near(s->reach, 0.625, 0, "reach");
    assert_int_equal(s->reach_hops, 3);
    assert_int_equal(s->windows, 4);
    assert_int_equal(s->windows_reached, 3);
}

/* A mini-batch is 0, 1, 2 and 3, each epoch has one. */
static void expect_hand_batches(const struct gnn_stats *s)
{
    assert_int_equal(s->batches, 2);
    assert_int_equal(s->accesses, 8);
    expect_near(s->rows, 4, 0, "rows");
    expect_near(s->edges, 6, 0, "edges");
    expect_near(s->touched_first, 0.5, 0, "touched");
    expect_near(s->touched, 0.5, 0, "touched");
    expect_near(s->next_epoch, 1, 0, "touched again");
    expect_near(s->hits[8].best, 0.75, 0, "three best rows");
    expect_near(s->hits[8].lru, 0, 0, "LRU of three");
    expect_near(s->hits[8].belady, 0.375, 0, "Belady of three");
    expect_near(s->hits[9].best, 1, 0, "four best rows");
    expect_near(s->hits[9].lru, 0.5, 0, "LRU of four");
    expect_near(s->hits[9].belady, 0.5, 0, "Belady of four");
}

/* The table has what was counted; the picture is there. */
static void expect_shown(const char *root, const struct gnn_dataset *dataset, const struct gnn_stats_config *config,
                         const struct gnn_stats *s)
{
    const struct gnn_stats_heading heading = {dataset, config};
    char dir[DATA_PATH], *text = NULL;
    size_t length = 0;
    struct gnn_err err = {0};
    FILE *const out = open_memstream(&text, &length);
    assert_non_null(out);
    gnn_stats_text(&heading, s, out);
    assert_int_equal(fclose(out), 0);
    static const char *const parts[] = {"hand at 1/1: 8 nodes, 8 edges, 1 training nodes; fan-out 10,10",
                                        "| neighbours of a node | 8 | 1.00 | 25.00 % | 0 | 0 |",
                                        "| within 1 hops | 37.50 % |",
                                        "| at all (3 hops) | 62.50 % |",
                                        "of the feature file that hold a reached row | 75.00 % |",
                                        "| 2 mini-batches of 1 seeds | |",
                                        "| rows of one | 4 |\n| edges of one | 6 |",
                                        "| 40 % | 75.00 % | 0.00 % | 37.50 % |"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(text, parts[i]) == NULL)
            fail_msg("\"%s\" is not in:\n%s", parts[i], text);
    free(text);
    const enum gnn_status status = gnn_stats_plot(&heading, s, data_path(dir, root, "plots"), &err);
    if (status == GNN_ENOTSUP) {
        leave_out("%s", err.message);
        return;
    }
    must(status, &err);
    assert_true(data_exists(dir, "caches.png") && data_exists(dir, "caches.svg"));
}

static void test_by_hand(void **state)
{
    struct gnn_world *const world = *state;
    struct gnn_err err = {0};
    void *root = NULL;
    char dir[DATA_PATH];
    assert_int_equal(data_set_up(&root), 0);
    write_hand_graph(root);
    struct gnn_lists *lists;
    struct gnn_stats s;
    must(gnn_lists_open_prepared(world, data_path(dir, root, "hand"), 0, GNN_F32, &lists, &err), &err);
    must(gnn_stats_measure(world, lists, &usual, &s, &err), &err);
    expect_hand_lists(&s);
    expect_hand_reach(&s);
    expect_hand_batches(&s);
    expect_shown(root, gnn_lists_dataset(lists), &usual, &s);
    struct gnn_stats_config some = usual;
    some.batch_size = 1000; /* no mini-batch is whole: those there are count */
    must(gnn_stats_measure(world, lists, &some, &s, &err), &err);
    expect_hand_batches(&s);
    expect_shown(root, gnn_lists_dataset(lists), &some, &s);
    some.lists = false;
    some.epochs = 0;
    must(gnn_stats_measure(world, lists, &some, &s, &err), &err);
    assert_true(isnan(s.trees.mutual) && isnan(s.trees.again));
    assert_true(isnan(s.reach) && isnan(s.rows) && isnan(s.hits[9].lru) && isnan(s.sources.mean));
    expect_near(s.lists.mean, 1, 0, "mean");
    struct gnn_recipe_file file;
    assert_int_equal(gnn_twin_of(world, gnn_lists_dataset(lists), &s, 24, &file, &err), GNN_EUSAGE);
    gnn_lists_close(lists);
    (void)data_tear_down(&root);
}

static void test_stopped_and_refused(void **state)
{
    struct gnn_world *const world = *state;
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    struct gnn_lists *lists;
    struct gnn_err err = {0};
    struct gnn_stats s;
    const atomic_bool stop = true;
    gnn_option_defaults(gnn_generate_table, &options);
    must(gnn_registry_find("papers100m", &entry, &err), &err);
    must(gnn_lists_open_computed(world, entry, &options, 20000, &lists, &err), &err);
    struct gnn_stats_config config = usual;
    config.stop = &stop;
    assert_int_equal(gnn_stats_measure(world, lists, &config, &s, &err), GNN_ECANCELLED);
    err = (struct gnn_err){0};
    config = usual;
    config.accesses_max = UINT32_MAX;
    assert_int_equal(gnn_stats_measure(world, lists, &config, &s, &err), GNN_EUSAGE);
    gnn_lists_close(lists);
}

/* ---- a disk or none ---- */

static char *json_of(const struct gnn_stats_heading *heading, const struct gnn_stats *stats)
{
    char *text = NULL;
    size_t length = 0;
    struct gnn_err err = {0};
    FILE *const out = open_memstream(&text, &length);
    assert_non_null(out);
    must(gnn_stats_json(heading, stats, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_prepared_is_computed(void **state)
{
    struct gnn_world *const world = *state;
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    struct gnn_lists *lists[2];
    struct gnn_stats s;
    struct gnn_err err = {0};
    void *root = NULL;
    char dir[DATA_PATH], *text[2] = {NULL, NULL};
    assert_int_equal(data_set_up(&root), 0);
    gnn_option_defaults(gnn_generate_table, &options);
    options.reach = 0.3;
    options.empty = 0.2;
    options.hub_shift = 0.01;
    options.popularity = 1.2;
    must(gnn_registry_find("livejournal", &entry, &err), &err);
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, root, "d")};
    must(gnn_prepare_generate(entry, 500, &options, &job, &err), &err);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_lists_open_prepared(world, dir, 0, GNN_F32, &lists[0], &err), &err);
    must(gnn_lists_open_computed(world, entry, &options, 500, &lists[1], &err), &err);
    struct gnn_stats_config config = usual;
    config.batch_size = 20;
    config.window_bytes = 4096;
    for (int i = 0; i < 2; i++) {
        must(gnn_stats_measure(world, lists[i], &config, &s, &err), &err);
        const struct gnn_stats_heading heading = {gnn_lists_dataset(lists[i]), &config};
        text[i] = json_of(&heading, &s);
        gnn_lists_close(lists[i]);
    }
    assert_string_equal(text[0], text[1]);
    assert_non_null(strstr(text[0], "\"hits_lru\":["));
    expect_near(s.reach, 0.3, 0.03, "reach");
    expect_near(s.same_class, 0.7 * 0.81, 0.03, "edges of one label"); /* a tenth of the labels is wrong */
    free(text[0]);
    free(text[1]);
    (void)data_tear_down(&root);
}

/* ---- recipes ---- */

static void test_recipe_file(void **state)
{
    (void)state;
    void *root = NULL;
    char path[DATA_PATH], again[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_recipe_file *file, *same;
    static const char text[] =
        "; a comment\n[graph]\nname = toy\nnodes = 1000\nedges = 5000\ntrain = 10\nclasses = 3\n"
        "reach = 0.5\norder = 0.6:0.25+0.4:0.75\ntrain_share = 0.24\ncoupling = -0.25\nhomophily = 0.125\n"
        "[degrees]\n0.1 = 40\n1 = 2.5\n[popularity]\n0.25 = 3\n0.5 = 0.5\n1 = 0\n"
        "[mixing]\nlists = 2 9\n0.25 = 0.5 0.25 0.25\n0.5 = 0 0 1\n1 = 0.125 0.75 0.125\n";
    assert_int_equal(data_set_up(&root), 0);
    data_write(root, "a.ini", text, sizeof text - 1);
    must(gnn_recipe_file_open(data_path(path, root, "a.ini"), &file, &err), &err);
    assert_string_equal(file->entry.name, "toy");
    assert_int_equal(file->entry.nodes, 1000);
    assert_int_equal(file->entry.train, 10);
    expect_near(file->entry.reach.coupling, -0.25, 0, "coupling");
    expect_near(file->laws.homophily, 0.125, 0, "homophily");
    assert_int_equal(file->laws.degrees.count, 2);
    expect_near(file->laws.degrees.mean[1], 2.5, 0, "mean");
    assert_int_equal(file->laws.popularity.count, 3);
    assert_int_equal(file->laws.train_degrees.count, 0);
    assert_int_equal(file->laws.mixing.groups, 3);
    assert_int_equal(file->laws.mixing.upto[1], 9);
    expect_near(file->laws.mixing.share[1][2], 0.75, 0, "share");
    FILE *const out = fopen(data_path(again, root, "b.ini"), "w");
    gnn_recipe_file_write(file, "again", out);
    assert_int_equal(fclose(out), 0);
    must(gnn_recipe_file_open(again, &same, &err), &err);
    assert_string_equal(same->laws.checksum, file->laws.checksum);
    assert_memory_equal(&same->laws.mixing, &file->laws.mixing, sizeof same->laws.mixing);
    assert_int_equal(same->entry.edges, file->entry.edges);
    expect_near(same->entry.reach.share, 0.5, 0, "reach");
    expect_near(same->entry.reach.train_share, 0.24, 0, "training share");
    assert_string_equal(same->entry.reach.order, "0.6:0.25+0.4:0.75");
    free(file);
    free(same);
    (void)data_tear_down(&root);
}

/* Both keys come back as they were written; a recipe without them has the checksum it always had, one with them
 * another, for each value its own. */
static void test_recipe_of_mutual_lists(void **state)
{
    (void)state;
    static const char *const keys[] = {"", "mutual = 0\nclique_share = 0\n", "mutual = 1\n",
                                       "mutual = 1\nclique_share = 0.25\n"};
    char checksum[4][40], text[300], *written = NULL;
    for (size_t i = 0; i < 4; i++) {
        struct gnn_recipe_file *file, *same;
        struct gnn_err err = {0};
        size_t length = 0;
        (void)snprintf(text, sizeof text,
                       "[graph]\nname = toy\nnodes = 100\nedges = 500\ntrain = 10\n%s[degrees]\n1 = 5\n", keys[i]);
        must(gnn_recipe_file_parse("a.ini", text, &file, &err), &err);
        assert_int_equal(file->laws.mutual, i >= 2);
        expect_near(file->laws.clique_share, i == 3 ? 0.25 : 0, 0, "share of cliques");
        memcpy(checksum[i], file->laws.checksum, sizeof checksum[i]);
        FILE *const out = open_memstream(&written, &length);
        gnn_recipe_file_write(file, "again", out);
        assert_int_equal(fclose(out), 0);
        must(gnn_recipe_file_parse("b.ini", written, &same, &err), &err);
        assert_string_equal(same->laws.checksum, file->laws.checksum);
        free(written);
        free(same);
        free(file);
    }
    assert_string_equal(checksum[0], "fecf2ae20049d2f9e5cfb2f0c2eb2609");
    assert_string_equal(checksum[1], checksum[0]);
    assert_string_not_equal(checksum[2], checksum[0]);
    assert_string_not_equal(checksum[3], checksum[2]);
}

#define GRAPH "[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\n"

static void test_recipe_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[degrees]\n1 = 2\n", "begins with the section [graph]"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\n", "lacks the key \"train\""},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\nreach = 2\n", "a.ini:6: option reach"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\nrich = 1\n", "reach"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\n[degrees]\n0.5 = 2\n", "ends at 0.5"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\n[degrees]\n0.5 = 2\n1 = 3\n", "a.ini:8"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\n[degrees]\n0.5 = 2\n0.5 = 1\n", "a.ini:8"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\n[degrees]\n1 = x\n", "a.ini:7"},
        {"[graph]\nname = a\nnodes = 100\nedges = 5\ntrain = 1\n[popular]\n1 = 1\n", "no section [popular]"},
        {GRAPH "[mixing]\nlists = 2\n1 = 0.5 0.5\n", "a.ini:6: [mixing] must follow [popularity]"},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 2\n", "one line more than its 1"},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 9 2\n1 = 0.5 0.5 0\n", "a.ini:9: \"lists = 9 2\""},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 2\n1 = 0.5 0.5 0\n", "a.ini:10"},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 2\n1 = 0.5 0.4\n", "a.ini:10"},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 2\n1 = 1.5 -0.5\n", "a.ini:10"},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 2\n0.9 = 0.5 0.5\n", "a.ini:10"},
        {GRAPH "[popularity]\n1 = 2\n[mixing]\nlists = 2 x\n1 = 0.5 0.5\n", "a.ini:9"},
        {GRAPH "order = 0.5:1\n", "a.ini: order \"0.5:1\": expected `even`"},
        {GRAPH "reach = 0.5\norder = 0.4:1+0.6:0\n",
         "piece 1 has 0.4 of the node IDs, too few for 1 of a reachable set"},
        {GRAPH "spread = 0.7\n", "a.ini:6: a recipe has no key spread any more; write: order = 0.7:1+0.3:0"},
        {GRAPH "spread = 1\n", "write: order = even"},
        {GRAPH "mutual = 2\n", "a.ini:6: option mutual"},
        {GRAPH "mutual = 1\nclique_share = 1.5\n", "a.ini:7: option clique_share"},
        {GRAPH "clique_share = 0.5\n", "clique_share = 0.5: only mutual lists have cliques; set mutual = 1"},
        {GRAPH "mutual = 1\n[popularity]\n1 = 2\n", "mutual = 1 together with [popularity]"},
    };
    void *root = NULL;
    char path[DATA_PATH];
    assert_int_equal(data_set_up(&root), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_recipe_file *file = NULL;
        struct gnn_err err = {0};
        data_write(root, "a.ini", cases[i].text, strlen(cases[i].text));
        assert_int_equal(gnn_recipe_file_open(data_path(path, root, "a.ini"), &file, &err), GNN_EUSAGE);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
    }
    (void)data_tear_down(&root);
}

/* ---- a twin ---- */

static void measure_computed(struct gnn_world *world, const struct gnn_registry_entry *entry,
                             const struct gnn_generate_options *options, uint32_t divisor,
                             const struct gnn_stats_config *config, struct gnn_stats *s, struct gnn_recipe_file *twin)
{
    struct gnn_lists *lists;
    struct gnn_err err = {0};
    must(gnn_lists_open_computed(world, entry, options, divisor, &lists, &err), &err);
    must(gnn_stats_measure(world, lists, config, s, &err), &err);
    if (twin != NULL)
        must(gnn_twin_of(world, gnn_lists_dataset(lists), s, config->window_bytes, twin, &err), &err);
    gnn_lists_close(lists);
}

/* A generated graph has laws of its own; its twin, made of the recipe that they were read into, has them too. */
static void test_twin_of_a_generated_graph(void **state)
{
    struct gnn_world *const world = *state;
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    struct gnn_recipe_file *const twin = calloc(1, sizeof *twin);
    struct gnn_stats *const s = calloc(2, sizeof *s);
    struct gnn_err err = {0};
    gnn_option_defaults(gnn_generate_table, &options);
    options.reach = 0.4;
    (void)snprintf(options.order, sizeof options.order, "0.7:1+0.3:0");
    options.empty = 0.1;
    options.popularity = 0.8;
    options.label_noise = 0; /* classes are read off labels */
    struct gnn_stats_config config = usual;
    config.batch_size = 20;
    config.accesses_max = 1000000;
    config.window_bytes = 131072;
    must(gnn_registry_find("livejournal", &entry, &err), &err);
    measure_computed(world, entry, &options, 100, &config, &s[0], twin);
    gnn_option_defaults(gnn_generate_table, &options);
    measure_computed(world, &twin->entry, &options, 1, &config, &s[1], NULL);
    const struct {
        const char *what;
        double value, wanted;
    } pairs[] = {
        {"lists", s[1].lists.mean, s[0].lists.mean},
        {"lists of the reach", s[1].reach_lists.mean, s[0].reach_lists.mean},
        {"empty lists of the reach", s[1].reach_lists.zero, s[0].reach_lists.zero},
        {"best tenth of the sources", s[1].reach_sources.best[3], s[0].reach_sources.best[3]},
        {"reach", s[1].reach, s[0].reach},
        {"windows", (double)s[1].windows_reached, (double)s[0].windows_reached},
        {"rows", s[1].rows, s[0].rows},
        {"touched", s[1].touched, s[0].touched},
        {"next epoch", s[1].next_epoch, s[0].next_epoch},
        {"best rows, 10 %", s[1].hits[3].best, s[0].hits[3].best},
        {"LRU, 10 %", s[1].hits[3].lru, s[0].hits[3].lru},
        {"Belady, 10 %", s[1].hits[3].belady, s[0].hits[3].belady},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        expect_near(pairs[i].value, pairs[i].wanted, 0.1 * pairs[i].wanted, pairs[i].what);
    free(twin);
    free(s);
}

/* The twin of a graph of mutual lists with cliques is one, and its trees name nodes again as often. */
static void test_twin_of_mutual_lists(void **state)
{
    struct gnn_world *const world = *state;
    static const char text[] =
        "[graph]\nname = toy\nnodes = 4000\nedges = 32000\ntrain = 400\nclasses = 5\nlabel_noise = 0\nmutual = 1\n"
        "clique_share = 0.6\n[degrees]\n0.01 = 60\n0.1 = 18\n0.5 = 8.5\n1 = 4\n";
    struct gnn_generate_options options;
    struct gnn_recipe_file *const twin = calloc(1, sizeof *twin), *toy;
    struct gnn_stats *const s = calloc(2, sizeof *s);
    struct gnn_err err = {0};
    struct gnn_stats_config config = usual;
    config.batch_size = 8;
    config.accesses_max = 1000000;
    must(gnn_recipe_file_parse("toy.ini", text, &toy, &err), &err);
    gnn_option_defaults(gnn_generate_table, &options);
    measure_computed(world, &toy->entry, &options, 1, &config, &s[0], twin);
    measure_computed(world, &twin->entry, &options, 1, &config, &s[1], NULL);
    assert_int_equal(twin->laws.mutual, 1);
    assert_int_equal(twin->laws.popularity.count, 0);
    assert_int_equal(twin->laws.mixing.groups, 0);
    expect_near(s[0].trees.mutual, 1, 0.02, "neighbours that name the root");
    assert_true(s[0].trees.again > 0.25);
    expect_near(s[1].trees.again, s[0].trees.again, 0.03, "entries named again");
    expect_near(twin->laws.clique_share, 0.6, 0.1, "share of cliques");
    expect_near(s[1].rows, s[0].rows, 0.05 * s[0].rows, "rows");
    expect_near(s[1].same_class, s[0].same_class, 0.03, "edges of a class");
    free(twin);
    free(toy);
    free(s);
}

/* ---- any scale ---- */

/* What a cache of a share of the rows catches at 1/400 and at 1/100 of one graph, with a batch scaled with it. */
static void test_hits_survive_scaling(void **state)
{
    struct gnn_world *const world = *state;
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    struct gnn_stats *const s = calloc(2, sizeof *s);
    struct gnn_err err = {0};
    static const uint32_t divisors[] = {400, 100};
    static const int sizes[] = {0, 2, 3, 7}; /* 1, 5, 10 and 30 % */
    gnn_option_defaults(gnn_generate_table, &options);
    options.reach = 0.216;
    options.empty = 0.33;
    options.list_mean = 13.5;
    options.train_empty = 0.05;
    options.train_mean = 30;
    options.hub_shift = 0.0019;
    options.popularity = 1.3;
    options.homophily = 0.35;
    must(gnn_registry_find("papers100m", &entry, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct gnn_stats_config config = usual;
        config.fanout = (struct gnn_u32_list){3, {10, 10, 10}};
        config.batch_size = 4000 / divisors[i];
        config.accesses_max = 100000000;
        config.lists = false;
        config.window_bytes = 131072;
        measure_computed(world, entry, &options, divisors[i], &config, &s[i], NULL);
    }
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const struct gnn_cache_hits *const small = &s[0].hits[sizes[k]], *const large = &s[1].hits[sizes[k]];
        expect_near(small->best, large->best, 0.03, "best rows");
        expect_near(small->lru, large->lru, 0.03, "LRU");
        expect_near(small->belady, large->belady, 0.03, "Belady");
    }
    expect_near(s[0].rows * 4, s[1].rows, 0.05 * s[1].rows, "rows");
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_stopped_and_refused),
        cmocka_unit_test(test_prepared_is_computed),
        cmocka_unit_test(test_recipe_file),
        cmocka_unit_test(test_recipe_of_mutual_lists),
        cmocka_unit_test(test_recipe_refused),
        cmocka_unit_test(test_twin_of_a_generated_graph),
        cmocka_unit_test(test_twin_of_mutual_lists),
        cmocka_unit_test(test_hits_survive_scaling),
    };
    return cmocka_run_group_tests_name("stats", tests, measured_world_open, measured_world_close);
}
