/* SPDX-License-Identifier: MIT */
/* A run's identity covers what the files of its machine hold, not only their names. */
#include "harness/base/option.h"
#include "harness/run/config.h"
#include "harness/run/identity.h"
#include "harness/storage/meta.h"
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

/* A folder with the golden machine as profile `mine`, where profiles are looked for. */
static int make_dir(void **state)
{
    char *const dir = process_temp_dir();
    *state = dir;
    struct process_result r = process_shell("mkdir -p %s/oocgnn && cp tests/golden/machine.ini %s/oocgnn/mine.ini && "
                                            "cp workloads/hardware/costs/released.ini %s/costs.ini",
                                            dir, dir, dir);
    const int status = r.exit_status;
    process_free(&r);
    (void)setenv("XDG_DATA_HOME", dir, 1);
    return status;
}

static int remove_dir(void **state)
{
    process_remove_tree(*state);
    free(*state);
    return 0;
}

static void edit(const char *dir, const char *command)
{
    struct process_result r = process_shell("cd %s && %s", dir, command);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
}

static void set(struct gnn_run_config *config, const char *name, const char *value)
{
    struct gnn_err err = {0};
    must(gnn_option_set(gnn_run_options, config, name, value, &err), &err);
}

static struct gnn_run_config plain(const char *dataset, const char *world)
{
    struct gnn_run_config config;
    gnn_run_config_defaults(&config);
    set(&config, "system", "pygplus");
    set(&config, "dataset", dataset);
    set(&config, "world", world);
    if (strcmp(world, "simulated") == 0)
        set(&config, "profile", "mine");
    return config;
}

struct identity {
    char text[GNN_CHECKSUM_TEXT];
};

static struct identity of(const struct gnn_run_config *config)
{
    struct identity identity;
    struct gnn_err err = {0};
    must(gnn_run_identity(config, GNN_IDENTITY_RUN, identity.text, &err), &err);
    return identity;
}

static bool same(const struct gnn_run_config *config, struct identity before)
{
    return strcmp(of(config).text, before.text) == 0;
}

/* A computed graph has no files: its options count. */
static void a_computed_graph_is_its_options(void **state)
{
    struct gnn_run_config config = plain("papers100m", "simulated");
    const struct identity before = of(&config);
    (void)state;
    set(&config, "generate", "reach=0");
    assert_false(same(&config, before));
    set(&config, "generate", "");
    set(&config, "scale", "1/10");
    assert_false(same(&config, before));
}

/* Records of builds without the option still count: float32 says nothing, float16 does, to the workload too. */
static void only_float16_counts(void **state)
{
    struct gnn_run_config config = plain("papers100m", "simulated");
    char workload[2][GNN_CHECKSUM_TEXT];
    struct gnn_err err = {0};
    (void)state;
    set(&config, "feature-type", "f16");
    const struct identity half = of(&config);
    must(gnn_run_identity(&config, GNN_IDENTITY_WORKLOAD, workload[0], &err), &err);
    set(&config, "feature-type", "f32");
    assert_false(same(&config, half));
    must(gnn_run_identity(&config, GNN_IDENTITY_WORKLOAD, workload[1], &err), &err);
    assert_string_not_equal(workload[0], workload[1]);
}

/* Likewise: sampled negatives and relations that begin as the identity say nothing. */
static void only_other_negatives_count(void **state)
{
    struct gnn_run_config config = plain("freebase86m", "simulated");
    (void)state;
    const struct identity sampled = of(&config);
    set(&config, "negative-set", "own");
    assert_false(same(&config, sampled));
    const struct identity own = of(&config);
    set(&config, "negative-set", "all");
    assert_false(same(&config, own));
    set(&config, "negative-set", "sampled");
    assert_true(same(&config, sampled));
    set(&config, "relation-start", "random");
    assert_false(same(&config, sampled));
    set(&config, "relation-start", "identity");
    assert_true(same(&config, sampled));
    set(&config, "n3", "0.05");
    assert_false(same(&config, sampled));
    set(&config, "n3", "0.0");
    assert_true(same(&config, sampled));
}

static void profile_and_costs_count(void **state)
{
    const char *const dir = *state;
    char costs[1100];
    struct gnn_run_config config = plain("papers100m", "simulated");
    const struct identity ideal = of(&config);
    edit(dir, "sed -i 's/^cores = .*/cores = 5 stated/' oocgnn/mine.ini && grep -q '^cores = 5' oocgnn/mine.ini");
    assert_false(same(&config, ideal));
    (void)snprintf(costs, sizeof costs, "%s/costs.ini", dir);
    const struct identity before = of(&config);
    set(&config, "costs", costs);
    const struct identity costly = of(&config);
    assert_string_not_equal(before.text, costly.text);
    edit(dir,
         "cp costs.ini old && sed -i '0,/= [0-9.]*\\(ns\\|us\\|ms\\)/s//= 17us/' costs.ini && ! cmp -s old costs.ini");
    assert_false(same(&config, costly));
    edit(dir, "cp old costs.ini");
    assert_true(same(&config, costly));
    struct gnn_err err = {0};
    char text[GNN_CHECKSUM_TEXT];
    edit(dir, "echo nonsense >costs.ini");
    assert_int_not_equal(gnn_run_identity(&config, GNN_IDENTITY_RUN, text, &err), GNN_OK);
}

static void set_system(struct gnn_run_config *config, const char *text)
{
    config->set_count = 1;
    (void)snprintf(config->sets[0], sizeof config->sets[0], "%s", text);
}

/* An option that was added later counts only if it is not at its default. */
static void added_options_count_if_they_are_set(void **state)
{
    struct gnn_run_config config = plain("papers100m", "simulated");
    (void)state;
    set(&config, "system", "diskgnn");
    const struct identity before = of(&config);
    set_system(&config, "diskgnn.loader=in_place");
    assert_true(same(&config, before));
    set_system(&config, "diskgnn.loader=copies");
    assert_false(same(&config, before));
    set_system(&config, "diskgnn.table_stage=true"); /* an older one */
    assert_false(same(&config, before));
}

/* Records of earlier builds have these identities. A new option must be among `set_only`, or all of them change. */
static void an_unset_option_does_not_count(void **state)
{
    (void)state;
    static const struct {
        const char *system, *identity;
    } cases[] = {
        {"null", "5e0d1a8301db8cd99eb4f6f90a0b07e6"},        {"pygplus", "b72addb7725a99170b2657dd0dda3765"},
        {"ginex", "9178ce435cfc2dc3e0e3bee925b38638"},       {"gnndrive", "4126f576a68b1b3af2f224d0612e9edf"},
        {"ringsampler", "6ea97504d8406ebeca4733b18d67ace9"}, {"agnes", "d5eb6dd39478cdcdc7fa179f7c671630"},
        {"diskgnn", "b39c3b79a93c896cda2afaf6adff1c8e"},     {"mariusgnn", "182889e2c39a177e3ec47b69972a4bda"},
        {"presort", "37646e9990d01abc3be71315f8ddc157"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_run_config config = plain("papers100m", "simulated");
        set(&config, "system", cases[i].system);
        if (strcmp(of(&config).text, cases[i].identity) != 0)
            fail_msg("%s has another identity, %s. Is a new option missing in set_only?", cases[i].system,
                     of(&config).text);
    }
    struct gnn_run_config config = plain("papers100m", "simulated");
    const struct identity unset = of(&config);
    set(&config, "profile-set", "storage.read_latency=x2");
    assert_false(same(&config, unset));
    set(&config, "profile-set", "");
    assert_true(same(&config, unset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_computed_graph_is_its_options, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(only_float16_counts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(only_other_negatives_count, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(profile_and_costs_count, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(added_options_count_if_they_are_set, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(an_unset_option_does_not_count, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
