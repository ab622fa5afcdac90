/* SPDX-License-Identifier: MIT */
/* Job files: values a key runs through, cells they make, what includes and overrides do, the order they are run in. */
#include "harness/run/identity.h"
#include "harness/run/sweep/grid.h"
#include "harness/run/sweep/job_file.h"
#include "harness/run/sweep/order.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The values, joined with blanks. */
static void join(const struct gnn_grid_values *values, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < values->count; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i == 0 ? "" : " ", values->of[i]);
}

static void keys_run_through_lists_and_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *option, *text, *values;
    } cases[] = {
        {"memory", "32G", "32G"},
        {"memory", "80M | 160M", "80M 160M"},
        {"memory", "80M, 160M,320M", "80M 160M 320M"},
        {"memory", "8G..128G*2", "8G 16G 32G 64G 128G"},
        {"memory", "8G..40G+16G, 1M", "8G 24G 40G 1M"},
        {"dim", "64..512*2", "64 128 256 512"},
        {"dim", "64..511*2", "64 128 256"},
        {"batch", "1..3", "1 2 3"},
        {"batch", "10..50+20 | 7", "10 30 50 7"},
        {"seed", "18446744073709551615..18446744073709551615*2", "18446744073709551615"},
        {"seed", "18446744073709551614..18446744073709551615", "18446744073709551614 18446744073709551615"},
        {"fanout", "10,10,10", "10,10,10"},
        {"fanout", "20 | 20,15", "20 20,15"},
        {"fault", "eio=1e-6,slow=0.01", "eio=1e-6,slow=0.01"},
        {"data", "a,b..c", "a,b..c"},
        {"profile-set", "cpu.lock=x2,cpu.wake=x2 | cpu.lock=1ns", "cpu.lock=x2,cpu.wake=x2 cpu.lock=1ns"},
        {"system", "null, pygplus", "null pygplus"},
        {"dataset", "../mine", "../mine"},
        {"gnndrive.extractors", "1..4*2", "1 2 4"},
        {"no-such-option", "1..3,4", "1..3,4"},
        {"nobody.option", "a | b", "a b"},
    };
    struct gnn_grid_values *const values = malloc(sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        struct gnn_err err = {0};
        must(gnn_grid_values(gnn_grid_option(cases[i].option), cases[i].text, values, &err), &err);
        join(values, text, sizeof text);
        if (strcmp(text, cases[i].values) != 0)
            fail_msg("%s = %s: \"%s\", expected \"%s\"", cases[i].option, cases[i].text, text, cases[i].values);
    }
    free(values);
}

static void ranges_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *option, *text, *part;
    } cases[] = {
        {"memory", "8G..32G", "the step is missing"},
        {"dim", "512..64*2", "ends before it begins"},
        {"dim", "0..64*2", "does not get on"},
        {"dim", "1..64*1", "does not get on"},
        {"dim", "1..64+0", "does not get on"},
        {"dim", "1..1000", "more than 64 values"},
        {"dim", "1..x", "x"},
        {"dim", "1..64*2G", "2G"},
    };
    struct gnn_grid_values *const values = malloc(sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_err err = {0};
        const enum gnn_status status = gnn_grid_values(gnn_grid_option(cases[i].option), cases[i].text, values, &err);
        if (status != GNN_EUSAGE || strstr(err.message, cases[i].part) == NULL)
            fail_msg("%s = %s: %s", cases[i].option, cases[i].text, err.message);
    }
    free(values);
}

/* ---- files ---- */

static struct gnn_job *open_job(const char *dir, const struct gnn_job_options *options)
{
    char path[700];
    struct gnn_job *job = NULL;
    struct gnn_err err = {0};
    (void)snprintf(path, sizeof path, "%s/job.ini", dir);
    must(gnn_job_open(path, options, &job, &err), &err);
    return job;
}

/* "[section] system dim batch" of every cell. */
static void expect_cells(const struct gnn_job *job, const char *const *cells)
{
    uint32_t count = 0;
    for (; cells[count] != NULL; count++) {
        char text[400];
        assert_in_range(count, 0, job->count - 1);
        const struct gnn_run_config *const c = &job->cells[count].config;
        (void)snprintf(text, sizeof text, "[%s] %s %u %u", job->cells[count].section, c->system, c->dim, c->batch_size);
        assert_string_equal(text, cells[count]);
    }
    assert_int_equal(job->count, count);
}

static void a_grid_is_every_combination(void **state)
{
    static const char *const cells[] = {"[a] null 32 10",
                                        "[a] null 64 10",
                                        "[a] pygplus 32 10",
                                        "[a] pygplus 64 10",
                                        "[b] null 16 5",
                                        "[b] null 16 1000",
                                        NULL};
    process_write_file(
        *state, "job.ini", 0644, "%s",
        "[global]\ndataset = cora\nbatch = 10\n[a]\nsystem = null, pygplus\ndim = 32..64*2\n[b]\nsystem = "
        "null\ndim = 16\nbatch = 5 | 1000\n");
    struct gnn_job *const job = open_job(*state, NULL);
    expect_cells(job, cells);
    assert_string_equal(gnn_kv_get(&job->cells[1].choices, "dim"), "64");
    assert_string_equal(gnn_kv_get(&job->cells[5].choices, "batch"), "1000");
    assert_null(gnn_kv_get(&job->cells[0].choices, "memory"));
    gnn_job_close(job);
    gnn_job_close(NULL);
}

/* An included file's [global] stands where it is named; in [global] its cases come first, under our entries. */
static void files_include_files(void **state)
{
    static const char *const as_written[] = {"[base] null 8 9", "[mine] null 8 9", "[other] null 8 5", NULL};
    static const char *const overridden[] = {"[base] null 8 7", "[mine] null 8 7", "[other] null 8 7", NULL};
    static const char *const taken_out[] = {"[base] null 8 1000", "[mine] null 8 1000", "[other] null 8 1000", NULL};
    static const char *const notes[] = {"remark", NULL};
    struct gnn_kv_list overrides = {0};
    struct gnn_err err = {0};
    const struct gnn_job_options options = {.other_keys = notes, .overrides = &overrides};
    process_write_file(*state, "base.ini", 0644, "%s",
                       "[global]\ndataset = cora\ndim = 4\nbatch = 9\n[base]\nsystem = null\n");
    process_write_file(*state, "more.ini", 0644, "%s", "[global]\nbatch = 5\n");
    process_write_file(
        *state, "job.ini", 0644, "%s",
        "[global]\nbatch = 3\ninclude = base.ini\ndim = 8\nremark = a, b\n[mine]\nsystem = null\n[other]\nsystem "
        "= null\ninclude = more.ini\n");
    struct gnn_job *job = open_job(*state, &options);
    expect_cells(job, as_written);
    assert_string_equal(gnn_kv_get(&job->cells[0].choices, "remark"), "a, b");
    gnn_job_close(job);
    must(gnn_kv_set(&overrides, "batch", "7", &err), &err);
    job = open_job(*state, &options);
    expect_cells(job, overridden);
    gnn_job_close(job);
    must(gnn_kv_set(&overrides, "batch", NULL, &err), &err);
    job = open_job(*state, &options);
    expect_cells(job, taken_out);
    gnn_job_close(job);
    gnn_kv_clear(&overrides);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"[global]\ndim = 1..9*1\n[a]\nsystem = null\ndataset = cora\n", "job.ini:2: dim"},
        {"[global]\ninclude = job.ini\n[a]\nsystem = null\ndataset = cora\n", "include itself"},
        {"[a]\nsystem = null\ninclude = nowhere.ini\n", "job.ini:3: include"},
        {"[a]\nsystem = null\ninclude = nowhere.ini\n", "the path is relative to this file"},
        {"[a]\nsystem = null\ndataset = cora\nnull.x = 1\n", "[a]"},
        {"[a]\nsystem = null | nul\ndataset = cora\n", "did you mean \"null\""},
        {"[a]\nsystem = null\ndataset = cora\nbatch = 1 | 2 parsecs\n", "job.ini:4"},
        {"[a]\nsystem = null\nmemory = least 4M\n", "expected a range of sizes from 4K on, as in least 4M..1G"},
        {"[a]\nsystem = null\nmemory = least 4G..1G\n", "job.ini:3: \"least 4G..1G\""},
        {"[a]\nsystem = null\nmemory = least 1..1G\n", "from 4K on"},
        {"[a]\nsystem = null\nepochs = least 1..4\n", "job.ini:3"},
        {"[a]\nsystem = null\nfirst_of = gnndrive.samplers 4\n", "expected an option of a run or a parameter"},
        {"[a]\nsystem = null\nfirst_of = gnndrive.sampler: 4\n", "expected an option of a run or a parameter"},
        {"[a]\nsystem = null\nfirst_of = dim: 9..3\n", "ends before it begins"},
        {"[a]\nsystem = null\nmemory = least 4M..1G\nfirst_of = dim: 2\n", "at most one search"},
        {"[a]\nsystem = null\ndim = 3\nfirst_of = dim: 2\n", "also sets dim, which is searched"},
    };
    char path[700];
    (void)snprintf(path, sizeof path, "%s/job.ini", (const char *)*state);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_job *job = NULL;
        struct gnn_err err = {0};
        process_write_file(*state, "job.ini", 0644, "%s", cases[i].text);
        const enum gnn_status status = gnn_job_open(path, NULL, &job, &err);
        if (status == GNN_OK || strstr(err.message, cases[i].part) == NULL)
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.message, cases[i].part);
        assert_null(job);
    }
    /* An absolute path is looked for where it says. */
    struct gnn_job *job = NULL;
    struct gnn_err err = {0};
    process_write_file(*state, "job.ini", 0644, "%s", "[a]\nsystem = null\ninclude = /nowhere.ini\n");
    assert_int_not_equal(gnn_job_open(path, NULL, &job, &err), GNN_OK);
    assert_non_null(strstr(err.message, "/nowhere.ini"));
    assert_null(strstr(err.message, "beside this file"));
}

static void what_cannot_be_run_is_kept_where_asked(void **state)
{
    const struct gnn_job_options options = {.keep_refused = true, .pass_without_system = true};
    process_write_file(
        *state, "job.ini", 0644, "%s",
        "[global]\ndataset = cora\n[a]\nsystem = pygplus, null\ntask = nodes, link\n[published]\nbatch = 3\n");
    struct gnn_job *const job = open_job(*state, &options);
    uint32_t refused = 0;
    assert_int_equal(job->count, 4);
    for (uint32_t i = 0; i < job->count; i++)
        refused += job->cells[i].refusal[0] != '\0' ? 1 : 0;
    assert_int_equal(refused, 1); /* one that learns nothing learns no links */
    assert_non_null(strstr(job->cells[3].refusal, "--task link"));
    gnn_job_close(job);
}

/* ---- order ---- */

/* Systems of one workload are neighbours, whatever the file's order, and take turns in being first. */
static void repetitions_are_interleaved(void **state)
{
    uint32_t cells[6];
    struct gnn_sweep_order order;
    struct gnn_err err = {0};
    process_write_file(*state, "job.ini", 0644, "%s",
                       "[global]\ndataset = cora\nbatch = 1, 2\n[x]\nsystem = null\n[y]\nsystem = pygplus, gnndrive\n");
    struct gnn_job *const job =
        open_job(*state, NULL); /* null 1, null 2, pygplus and gnndrive of batch 1, of batch 2 */
    assert_int_equal(job->count, 6);
    must(gnn_sweep_order_open(job, &order, &err), &err);
    for (uint32_t round = 0; round < 3; round++) {
        gnn_sweep_round(&order, round, cells);
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(job->cells[cells[i]].config.batch_size, i < 3 ? 1 : 2);
        for (uint32_t group = 0; group < 2; group++) {
            assert_string_equal(job->cells[cells[3 * group + (round % 2 == 0 ? 0 : 2)]].config.system, "null");
            assert_string_not_equal(job->cells[cells[3 * group + 1]].config.system, "null");
        }
    }
    gnn_sweep_order_close(&order);
    gnn_sweep_order_close(&order);
    gnn_job_close(job);
}

/* ---- identity ---- */

static void identity(const struct gnn_run_config *config, enum gnn_identity what, char text[GNN_CHECKSUM_TEXT])
{
    struct gnn_err err = {0};
    must(gnn_run_identity(config, what, text, &err), &err);
    assert_int_equal(strlen(text), GNN_CHECKSUM_TEXT - 1);
}

/* Every option is part of what a run is, but for those that say where it is told. */
static void identity_sees_every_option(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        bool run, workload; /* whether the identity changes */
    } cases[] = {
        {"db", "other.db", false, false},
        {"json", "yes", false, false},
        {"quiet", "yes", false, false},
        {"trace-loss", "x", false, false},
        {"trace-io", "x", false, false},
        {"trace-rows", "x", false, false},
        {"seed", "2", true, true},
        {"memory", "1M", true, true},
        {"system", "gnndrive", true, false},
        {"compute", "ref", true, false},
        {"dim", "7", true, true},
        {"profile-set", "cpu.lock=x2", true, true},
        {"profile", "gnndrive-paper", true, true},
        {"cold", "no", true, true},
        {"time-limit", "3s", true, true},
    };
    struct gnn_run_config plain, other;
    struct gnn_err err = {0};
    char before[2][GNN_CHECKSUM_TEXT], after[2][GNN_CHECKSUM_TEXT];
    gnn_run_config_defaults(&plain);
    must(gnn_option_set(gnn_run_options, &plain, "system", "pygplus", &err), &err);
    identity(&plain, GNN_IDENTITY_RUN, before[0]);
    identity(&plain, GNN_IDENTITY_WORKLOAD, before[1]);
    assert_string_not_equal(before[0], before[1]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        other = plain;
        must(gnn_option_set(gnn_run_options, &other, cases[i].name, cases[i].value, &err), &err);
        identity(&other, GNN_IDENTITY_RUN, after[0]);
        identity(&other, GNN_IDENTITY_WORKLOAD, after[1]);
        if ((strcmp(before[0], after[0]) != 0) != cases[i].run ||
            (strcmp(before[1], after[1]) != 0) != cases[i].workload)
            fail_msg("--%s %s", cases[i].name, cases[i].value);
    }
    other = plain;
    must(gnn_run_config_set(&other, "pygplus.workers=3", &err), &err);
    identity(&other, GNN_IDENTITY_RUN, after[0]);
    identity(&other, GNN_IDENTITY_WORKLOAD, after[1]);
    assert_string_not_equal(before[0], after[0]);
    assert_string_equal(before[1], after[1]);
    (void)snprintf(other.profile, sizeof other.profile, "no-such-profile");
    assert_int_equal(gnn_run_identity(&other, GNN_IDENTITY_RUN, after[0], &err), GNN_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_run_through_lists_and_ranges),
        cmocka_unit_test(ranges_that_are_none_are_refused),
        cmocka_unit_test_setup_teardown(a_grid_is_every_combination, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(files_include_files, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_named, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_run_is_kept_where_asked, process_dir_set_up,
                                        process_dir_tear_down),
        cmocka_unit_test_setup_teardown(repetitions_are_interleaved, process_dir_set_up, process_dir_tear_down),
        cmocka_unit_test(identity_sees_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
