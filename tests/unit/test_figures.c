/* SPDX-License-Identifier: MIT */
/* The figures of experiments/papers: each can be read, its cells made, its predicates parsed; what they say is printed
 * stands among the published values. And what a figure's or a table's file may not be. */
#include "harness/base/data_dirs.h"
#include "harness/figure/figure.h"
#include "harness/figure/metric.h"
#include "harness/figure/order.h"
#include "harness/figure/ratio.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PUBLISHED_ROW(dim, value, relation) "fig,P,,,,dim=" dim ",time," value ",s,," relation ",Table 1\n"

/* ---- the files of the tree ---- */

struct visit {
    uint32_t figures, ours, missing, cells, predicates, ratios;
    char published[GNN_DATA_DIR_BYTES];
};

struct leaves {
    bool plain, of_run;
};

static void look_at_leaf(void *ctx, const char *metric, double number)
{
    struct leaves *const leaves = ctx;
    leaves->plain = leaves->plain && metric[0] == '\0' && number == 1;
    leaves->of_run = leaves->of_run || (metric[0] != '\0' && !gnn_metric_of_dataset(metric));
}

/* Whether a finding that is no ratio says that things are alike, or what a dataset's size is. */
static bool is_plain(const struct gnn_predicate *predicate)
{
    struct leaves left = {.plain = true}, right = {.plain = true};
    gnn_predicate_leaves(predicate, 0, look_at_leaf, &left);
    gnn_predicate_leaves(predicate, 1, look_at_leaf, &right);
    return right.plain || !left.of_run;
}

/* Every number that a measured value is about is printed in the paper, or is 1: alike. */
static void check_predicates(const struct gnn_paper_figure *figure, struct visit *visit)
{
    for (uint32_t i = 0; i < figure->predicate_count; i++) {
        const struct gnn_figure_predicate *const predicate = &figure->predicates[i];
        struct gnn_ratio_kind kind;
        visit->predicates++;
        if (gnn_figure_ratio_kind(figure, &predicate->parsed, &kind))
            visit->ratios++;
        else if (gnn_predicate_is_about(&predicate->parsed) && !is_plain(&predicate->parsed))
            fail_msg("%s: %s: no number of %s is among the figure's published values", figure->id, predicate->name,
                     predicate->text);
    }
}

static void visit_figure(void *ctx, const char *path, const char *name)
{
    struct visit *const visit = ctx;
    struct gnn_paper_figure *figure = NULL;
    struct gnn_figure_about about;
    struct gnn_err err = {0};
    char published[GNN_DATA_DIR_BYTES + GNN_FIGURE_LINE + 8];
    if (strcmp(name, "tolerances") == 0)
        return;
    must(gnn_figure_about(path, &about, &err), &err);
    const bool ours = strcmp(about.paper, "oocgnn") == 0; /* of no paper, so nothing is published */
    visit->figures += !ours;
    visit->ours += ours;
    if (about.missing[0] != '\0') {
        visit->missing++;
        return;
    }
    (void)snprintf(published, sizeof published, "%s/%s.csv", visit->published, about.paper);
    for (int world = 0; world < 2; world++) {
        const struct gnn_figure_setup setup = {.world = world == 0 ? GNN_WORLD_SIMULATED : GNN_WORLD_MEASURED,
                                               .scale_divisor = world == 0 ? 0 : 100,
                                               .db = "x.db",
                                               .data_dir = "data",
                                               .published_path = ours ? NULL : published};
        must(gnn_figure_open(path, &setup, &figure, &err), &err);
        assert_string_equal(figure->id, name);
        for (uint32_t i = 0; i < figure->job->count; i++)
            if (figure->job->cells[i].refusal[0] != '\0' && /* graphs with options are simulated only */
                (world == 0 || gnn_kv_get(&figure->job->cells[i].choices, "generate") == NULL))
                fail_msg("%s [%s]: %s", name, figure->job->cells[i].section, figure->job->cells[i].refusal);
        if (world == 0)
            check_predicates(figure, visit);
        visit->cells += figure->job->count;
        gnn_figure_close(figure);
    }
}

/* Some figures are of this machine, which is the golden one here. */
static void every_figure_of_the_tree_is_one(void **state)
{
    struct gnn_data_dirs dirs, published;
    struct gnn_tolerances tolerances;
    struct gnn_err err = {0};
    char path[GNN_DATA_DIR_BYTES + 32];
    struct process_result copied = process_shell("mkdir %s/oocgnn && cp tests/golden/machine.ini %s/oocgnn/this.ini",
                                                 (char *)*state, (char *)*state);
    assert_int_equal(copied.exit_status, 0);
    process_free(&copied);
    (void)setenv("XDG_DATA_HOME", *state, 1);
    gnn_figure_dirs(&dirs);
    gnn_published_dirs(&published);
    assert_non_null(dirs.dirs[0]);
    assert_non_null(published.dirs[0]);
    struct visit visit = {.figures = 0};
    (void)snprintf(visit.published, sizeof visit.published, "%s", published.dirs[0]);
    must(gnn_data_files(dirs.dirs, visit_figure, &visit, &err), &err);
    assert_int_equal(visit.figures, 70); /* of papers 66, Table 8 on FB15k-237, and three of repositories */
    assert_int_equal(visit.ours, 29);
    assert_in_range(visit.missing, 0, 9);
    assert_in_range(visit.ratios, 40, 1000);
    (void)snprintf(path, sizeof path, "%s/tolerances.ini", dirs.dirs[0]);
    must(gnn_tolerances_open(path, &tolerances, &err), &err);
    assert_float_equal(tolerances.about, 1.25, 0); /* not widened to pass */
    assert_float_equal(tolerances.flat, 1.15, 0);
    assert_float_equal(tolerances.noise, 1.02, 0);
}

/* Columns of ideal costs set back every setting of the released programs. Costs are the variant's own. */
static void ideal_variants_set_back_what_is_released(void **state)
{
    struct gnn_ini *released = NULL, *design = NULL;
    struct gnn_err err = {0};
    (void)state;
    must(gnn_ini_open("experiments/papers/common/released.ini", &released, &err), &err);
    must(gnn_ini_open("experiments/variants/common/design.ini", &design, &err), &err);
    const struct gnn_ini_section *const settings = gnn_ini_global(released), *const back = gnn_ini_global(design);
    assert_non_null(settings);
    assert_non_null(back);
    for (uint32_t i = 0; i < settings->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &settings->entries[i];
        const struct gnn_ini_entry *const set_back = gnn_ini_find(back, entry->key);
        if (strcmp(entry->key, "costs") == 0)
            continue;
        if (set_back == NULL)
            fail_msg("experiments/variants/common/design.ini does not set back %s", entry->key);
        assert_string_not_equal(set_back->value, entry->value);
    }
    assert_int_equal(back->entry_count + 1, settings->entry_count);
    gnn_ini_close(released);
    gnn_ini_close(design);
}

/* ---- files that are none ---- */

#define CELLS "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = cora\n[A]\nsystem = null\ndim = 1, 2\n"
#define ABOUT "[figure]\npaper = p\nplace = Figure 1\ntitle = t\nchart = bars\nx = dim\n"

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"[A]\nsystem = null\n", "has a section [figure]"},
        {"[figure]\npaper = p\ntitle = t\n", "needs a title, and for a figure of a paper paper and place"},
        {"[figure]\npaper = p\nplace = Figure 1\ntitle = t\nchart = pie\n", "chart \"pie\""},
        {CELLS ABOUT, "has no y"},
        {CELLS ABOUT "y = speed\n", "no metric \"speed\""},
        {CELLS ABOUT "y = epoch_s\ntitel = u\n", "did you mean \"title\""},
        {ABOUT "y = epoch_s\n", "nothing to show"},
        {CELLS ABOUT "y = epoch_s\n[holds]\nfast = epoch_s[B] < 3\n",
         "fig.ini:16: \"epoch_s[B] < 3\": the figure has no"},
        {CELLS ABOUT "y = epoch_s\n[holds]\nfast = epoch_s[A] < 3\n[says]\nfsat = A is fast\n",
         "fig.ini:18: [holds] has no predicate \"fsat\"; did you mean \"fast\"?"},
        {CELLS ABOUT "y = epoch_s\n[says]\nfast = A is fast\n", "fig.ini:16: [holds] has no predicate \"fast\""},
        {CELLS ABOUT "y = epoch_s\nscale = 2\n", "scale"},
        {CELLS "memori = 3\n" ABOUT "y = epoch_s\n", "memori"},
        {CELLS ABOUT "y = epoch_s\nmeasured_by = dd\n", "measured_by \"dd\""},
    };
    const struct gnn_figure_setup setup = {.db = "x.db", .data_dir = "data"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_paper_figure *figure = NULL;
        struct gnn_err err = {0};
        char *const path = figure_file(*state, "fig.ini", cases[i].text);
        if (gnn_figure_open(path, &setup, &figure, &err) == GNN_OK || strstr(err.message, cases[i].part) == NULL)
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.message, cases[i].part);
        assert_null(figure);
        free(path);
    }
    struct gnn_tolerances tolerances;
    struct gnn_err err = {0};
    char *const path = figure_file(*state, "t.ini", "[tolerances]\nabout = 0.9\nflat = 2\nnoise = 2\n");
    assert_int_equal(gnn_tolerances_open(path, &tolerances, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "about"));
    free(path);
}

static void published_values_are_read_and_found(void **state)
{
    struct gnn_published published;
    struct gnn_err err = {0};
    char value[32];
    char *path = figure_file(*state, "p.csv",
                             PUBLISHED_HEADING
                             "f,S,GPU,Papers100M,GraphSAGE,\"dim=128;memory=32GB;fanout=10,10\",t,16.9,x,,exact,\"a "
                             "\"\"b\"\"\"\nf,S,,,,memory=10%;part=8B,t,OOM,x,,exact,c\n");
    must(gnn_published_open(path, &published, &err), &err);
    assert_int_equal(published.count, 2);
    assert_float_equal(gnn_published_value(&published.rows[0]), 16.9, 0);
    assert_true(isnan(gnn_published_value(&published.rows[1])));
    assert_string_equal(published.rows[0].source, "a \"b\"");
    assert_true(gnn_published_parameter(&published.rows[0], "memory", value, sizeof value));
    assert_string_equal(value, "32G");
    assert_true(gnn_published_parameter(&published.rows[0], "fanout", value, sizeof value));
    assert_string_equal(value, "10,10");
    assert_true(gnn_published_parameter(&published.rows[1], "memory", value, sizeof value));
    assert_string_equal(value, "10");
    assert_true(gnn_published_parameter(&published.rows[1], "part", value, sizeof value));
    assert_string_equal(value, "8B");
    assert_false(gnn_published_parameter(&published.rows[1], "dim", value, sizeof value));
    assert_true(gnn_published_same_name("GraphSAGE", "sage"));
    assert_true(gnn_published_same_name("Papers100M", "papers100m-sym"));
    assert_true(gnn_published_same_name("MAG240M-Cites", "mag240m-cites"));
    assert_true(gnn_published_same_name("", "anything"));
    assert_false(gnn_published_same_name("MAG240M-Cites", "mag240m"));
    assert_false(gnn_published_same_name("GAT", "gcn"));
    gnn_published_close(&published);
    free(path);
    static const char *const bad[] = {"a,b\n", PUBLISHED_HEADING "f,S\n", PUBLISHED_HEADING "f,\"S,\n",
                                      PUBLISHED_HEADING "1,2,3,4,5,6,7,8,9,10,11,12,13\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err = (struct gnn_err){0};
        path = figure_file(*state, "p.csv", bad[i]);
        assert_int_equal(gnn_published_open(path, &published, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "p.csv:"));
        free(path);
    }
}

/* Sizes of the paper are divided by the scale, once; what a preset gives is divided by it already. */
static void sizes_follow_the_scale(void **state)
{
    struct gnn_paper_figure *figure;
    struct gnn_err err = {0};
    char *const path = figure_file(
        *state, "fig.ini",
        "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\npreset = gnndrive\nmodel "
        "= sage\n[A]\n"
        "system = gnndrive\nmemory = 16G\ngnndrive.slots = 4000\n[B]\nsystem = pygplus\nbatch = 500\nepochs "
        "= 1\nwarmup = 20\nbatches = 40\n[C]\nsystem = mariusgnn\nmariusgnn.partitions = 8192\n"
        "mariusgnn.capacity = 0\n" ABOUT "y = epoch_s\nscaled = gnndrive.slots\n"
        "scaled_root = mariusgnn.partitions, mariusgnn.capacity\n");
    const struct gnn_figure_setup setup = {
        .scale_divisor = 100, .db = "x.db", .data_dir = "data", .world = GNN_WORLD_SIMULATED};
    must(gnn_figure_open(path, &setup, &figure, &err), &err);
    const struct gnn_run_config *const a = &figure->job->cells[0].config, *const b = &figure->job->cells[1].config;
    assert_int_equal(a->memory_bytes, (UINT64_C(16) << 30) / 100 / 4096 * 4096);
    assert_int_equal(a->batch_size, 10);
    assert_string_equal(a->sets[a->set_count - 1], "gnndrive.slots=40");
    assert_int_equal(b->batch_size, 5);
    assert_int_equal(b->batches, 0); /* a part of an epoch is for scale 1 */
    assert_int_equal(b->epochs, 2);
    assert_int_equal(b->memory_bytes, (UINT64_C(32) << 30) / 100 / 4096 * 4096);
    const struct gnn_run_config *const c = &figure->job->cells[2].config;
    assert_string_equal(c->sets[c->set_count - 2], "mariusgnn.capacity=0"); /* 0 means another thing */
    assert_string_equal(c->sets[c->set_count - 1], "mariusgnn.partitions=819");
    gnn_figure_close(figure);
    gnn_figure_close(NULL);
    free(path);
}

/* Real training may have a scale of its own, which the default scale of the figure leaves alone. */
static void training_may_have_its_own_scale(void **state)
{
    static const struct {
        uint32_t asked, timed, trained;
    } cases[] = {{0, 10, 100}, {50, 50, 50}};
    char *const path =
        figure_file(*state, "fig.ini",
                    "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\nmodel = sage\n"
                    "memory = 16G\nscale = 1/7\n[A]\nsystem = gnndrive\ngnndrive.slots = 40000\n[A, it]\n"
                    "system = gnndrive\ngnndrive.slots = 40000\ntrains = yes\nscale = 1/100\n" ABOUT
                    "y = epoch_s\nscale = 1/10\nscaled = gnndrive.slots\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_paper_figure *figure;
        struct gnn_err err = {0};
        const struct gnn_figure_setup setup = {
            .scale_divisor = cases[i].asked, .db = "x.db", .data_dir = "data", .world = GNN_WORLD_SIMULATED};
        must(gnn_figure_open(path, &setup, &figure, &err), &err);
        assert_int_equal(figure->scale_divisor, cases[i].timed);
        for (uint32_t c = 0; c < 2; c++) {
            const struct gnn_run_config *const config = &figure->job->cells[c].config;
            const uint32_t divisor = c == 0 ? cases[i].timed : cases[i].trained;
            char slots[32];
            (void)snprintf(slots, sizeof slots, "gnndrive.slots=%u", 40000 / divisor);
            assert_string_equal(figure->job->cells[c].refusal, "");
            assert_int_equal(config->scale_divisor, divisor);
            assert_int_equal(config->memory_bytes, (UINT64_C(16) << 30) / divisor / 4096 * 4096);
            assert_string_equal(config->sets[config->set_count - 1], slots);
        }
        gnn_figure_close(figure);
    }
    free(path);
}

/* Limits are shown as the runs had them, whatever their unit; other values and those of scale 1 as in the file. */
static void limits_are_shown_at_their_scale(void **state)
{
    static const struct {
        uint32_t divisor, axis, value;
        const char *shown;
    } cases[] = {{100, 0, 0, "80.0 MiB"}, {100, 0, 1, "82.0 MiB"}, {100, 0, 2, "0"},
                 {100, 1, 0, "128"},      {1, 0, 0, "8000M"},      {1, 0, 1, "8200M"}};
    char *const path =
        figure_file(*state, "fig.ini",
                    "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\nmodel = sage\n"
                    "memory = 8000M, 8200M, 0\ndim = 128, 256\n[A]\nsystem = gnndrive\n[figure]\npaper = p\n"
                    "place = Figure 1\ntitle = T\nchart = table\nx = memory\nfacets = dim\ny = epoch_s\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_paper_figure *figure;
        struct gnn_err err = {0};
        char text[GNN_AXIS_LABEL];
        const struct gnn_figure_setup setup = {
            .scale_divisor = cases[i].divisor, .db = "x.db", .data_dir = "data", .world = GNN_WORLD_SIMULATED};
        must(gnn_figure_open(path, &setup, &figure, &err), &err);
        assert_string_equal(gnn_axis_label(figure, cases[i].axis, cases[i].value, text), cases[i].shown);
        gnn_figure_close(figure);
    }
    free(path);
}

/* What kept a simulated run from a finding is not what kept a run of this machine from it. */
static void reasons_are_of_their_world(void **state)
{
    static const struct {
        enum gnn_world_kind world;
        const char *reason, *other;
    } cases[] = {{GNN_WORLD_SIMULATED, "the model", ""}, {GNN_WORLD_MEASURED, "the drive", "few seeds"}};
    char *const path = figure_file(
        *state, "fig.ini",
        "[global]\nprofile = gnndrive-paper\ndataset = twitter\nmodel = sage\n[A]\nsystem = gnndrive\n" ABOUT
        "y = epoch_s\n[holds]\nquick = epoch_s[A] < 1\nslow = epoch_s[A] > 1\n[reasons]\nquick = the "
        "model\n[measured reasons]\nquick = the drive\nslow = few seeds\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_paper_figure *figure;
        struct gnn_err err = {0};
        const struct gnn_figure_setup setup = {
            .scale_divisor = 100, .db = "x.db", .data_dir = "data", .world = cases[i].world};
        must(gnn_figure_open(path, &setup, &figure, &err), &err);
        assert_int_equal(figure->predicate_count, 2);
        assert_string_equal(figure->predicates[0].reason, cases[i].reason);
        assert_string_equal(figure->predicates[1].reason, cases[i].other);
        gnn_figure_close(figure);
    }
    free(path);
}

/* ---- variants ---- */

/* A cell for each variant, whose keys win; predicates have the axes without it, and each has the published value. What
 * trains really is on no modelled machine. */
static void variants_are_cells(void **state)
{
    struct gnn_paper_figure *figure;
    struct gnn_ini *variants;
    struct gnn_value_source source;
    struct gnn_err err = {0};
    char *const path = figure_file(*state, "fig.ini",
                                   "[global]\nworld = simulated\nprofile = gnndrive-paper\ndataset = twitter\n"
                                   "memory = 3G\n[A]\nsystem = gnndrive\npublished = P\ndim = 64\n[A, it]\n"
                                   "system = gnndrive\ntrains = yes\n" ABOUT "y = epoch_s\npublished = time\n[holds]\n"
                                   "quick = epoch_s[A] < 1\n");
    char *const published = figure_file(*state, "p.csv", PUBLISHED_HEADING PUBLISHED_ROW("64", "30", "exact"));
    const uint32_t second[GNN_AXES_MAX] = {0, 1};
    must(gnn_ini_parse("here/machines.ini",
                       "[plain]\n[other]\nmemory = 2G\ndevice-readahead = 0\n"
                       "profile-set = cpu.lock=x2,cpu.wake=x2\ncosts = released\n",
                       &variants, &err),
         &err);
    const struct gnn_figure_setup setup = {.scale_divisor = 100,
                                           .db = "x.db",
                                           .data_dir = "data",
                                           .world = GNN_WORLD_SIMULATED,
                                           .variants = variants,
                                           .change = "cpu.lock=1ns",
                                           .change_profile = "gnndrive-paper",
                                           .published_path = published};
    must(gnn_figure_open(path, &setup, &figure, &err), &err);
    assert_string_equal(figure->id, "fig");
    assert_string_equal(figure->file, "fig-machines");
    assert_true(figure->has_variants);
    assert_int_equal(figure->job->count, 4);
    assert_int_equal(figure->axis_count, 2);
    assert_string_equal(figure->axes[1].key, "variant");
    assert_string_equal(figure->axes[1].values[1], "other");
    const struct gnn_job_cell *const cells = figure->job->cells;
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(cells[i].refusal, "");
    assert_int_equal(figure->cells[1].at[1], 1);
    assert_string_equal(cells[0].config.costs, "ideal");
    assert_string_equal(cells[0].config.profile_set, "cpu.lock=1ns");
    assert_string_equal(cells[1].config.costs, "released");
    assert_string_equal(cells[1].config.profile_set, "cpu.lock=x2,cpu.wake=x2,cpu.lock=1ns");
    assert_int_equal(cells[0].config.memory_bytes / 4096, (UINT64_C(3) << 30) / 100 / 4096); /* a size as the paper's */
    assert_int_equal(cells[1].config.memory_bytes / 4096, (UINT64_C(2) << 30) / 100 / 4096);
    assert_string_equal(cells[3].config.costs, "ideal");
    assert_string_equal(cells[3].config.device_readahead, "");
    assert_string_equal(cells[3].config.profile_set, "");
    gnn_figure_values(figure, &source);
    assert_int_equal(source.axis_count, 1);
    assert_non_null(gnn_figure_published(figure, 0, 0, second));
    gnn_figure_close(figure);
    gnn_ini_close(variants);
    free(path);
    free(published);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_figure_of_the_tree_is_one, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test(ideal_variants_set_back_what_is_released),
        cmocka_unit_test_setup_teardown(mistakes_are_named, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(published_values_are_read_and_found, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(sizes_follow_the_scale, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(training_may_have_its_own_scale, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(limits_are_shown_at_their_scale, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(reasons_are_of_their_world, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(variants_are_cells, process_dir_set_up, process_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
