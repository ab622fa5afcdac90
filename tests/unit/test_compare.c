/* SPDX-License-Identifier: MIT */
/* Exact values of two builds: what has to be red, what must not, what is accepted and kept, how it is told. */
#include "harness/compare/baseline.h"
#include "harness/compare/callgrind.h"
#include "harness/compare/changes.h"
#include "harness/record/record.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- runs ---- */

/* A run of two epochs as `oocgnn run --json` prints it; world "simulated" or "measured". */
static json_t *run_of(const char *system, const char *world)
{
    struct gnn_run_record run;
    struct gnn_err err = {0};
    char *text = NULL;
    size_t bytes = 0;
    fake_run(&run, system, 1, 2, 7);
    (void)snprintf(run.world, sizeof run.world, "%s", world);
    must(gnn_kv_set(&run.config, "system", system, &err), &err);
    must(gnn_kv_set(&run.config, "db", "somewhere.db", &err), &err);
    must(gnn_kv_set(&run.environment, "system.open_ns", "5000000", &err), &err);
    FILE *const out = open_memstream(&text, &bytes);
    must(gnn_run_json(&run, false, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    json_t *const object = json_loads(text, 0, NULL);
    assert_non_null(object);
    free(text);
    gnn_run_record_free(&run);
    return object;
}

static json_t *epoch_of(json_t *run, size_t epoch)
{
    return json_array_get(json_object_get(run, "epochs"), epoch);
}

static json_t *counters_of(json_t *run, size_t epoch)
{
    return json_object_get(epoch_of(run, epoch), "counters");
}

static void raise_by(json_t *object, const char *key, json_int_t more)
{
    json_t *const value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    assert_int_equal(json_integer_set(value, json_integer_value(value) + more), 0);
}

static void add_run_of(struct gnn_facts *facts, const char *job, json_t *run)
{
    struct gnn_err err = {0};
    must(gnn_facts_add(facts, job, run, &err), &err);
    json_decref(run);
}

static void add_run(struct gnn_facts *facts, json_t *run)
{
    add_run_of(facts, "", run);
}

static void name(struct gnn_facts *facts, const char *as)
{
    (void)snprintf(facts->name, sizeof facts->name, "%.200s", as);
    gnn_facts_label(facts);
}

/* One run on each side; plant changes HEAD's. The caller clears the changes. */
static struct gnn_changes compared(const char *world, void (*plant)(json_t *run))
{
    struct gnn_facts base = {.count = 0}, head = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    json_t *const run = run_of("gnndrive", world);
    plant(run);
    add_run(&base, run_of("gnndrive", world));
    add_run(&head, run);
    name(&base, "base");
    name(&head, "head");
    must(gnn_compare_exact(&base, &head, &changes, &err), &err);
    assert_int_equal(changes.cells, 1);
    gnn_facts_clear(&base);
    gnn_facts_clear(&head);
    return changes;
}

/* ---- what is red ---- */

static void nothing(json_t *run)
{
    (void)run;
}

static void a_read_a_mini_batch(json_t *run)
{
    for (size_t e = 0; e < 2; e++)
        raise_by(counters_of(run, e), "requested_ios", 1208);
}

static void a_read_of_open(json_t *run)
{
    raise_by(json_object_get(run, "before_first_epoch"), "device_read_ios", 12);
}

static void a_lost_hit(json_t *run)
{
    raise_by(counters_of(run, 1), "cache_hits", -1);
    raise_by(counters_of(run, 1), "cache_misses", 1);
}

static void a_changed_block(json_t *run)
{
    (void)json_object_set_new(counters_of(run, 0), "batch_digest", json_string("fedcba9876543211"));
}

static void three_percent(json_t *run)
{
    for (size_t e = 0; e < 2; e++)
        raise_by(epoch_of(run, e), "wall_ns",
                 3 * json_integer_value(json_object_get(epoch_of(run, e), "wall_ns")) / 100);
}

static void a_nanosecond(json_t *run)
{
    raise_by(epoch_of(run, 1), "wall_ns", 1);
}

static void a_wait_of_a_stage(json_t *run)
{
    raise_by(json_array_get(json_object_get(epoch_of(run, 0), "stages"), 1), "wait_io_ns", 5);
}

static void a_figure(json_t *run)
{
    raise_by(json_object_get(epoch_of(run, 0), "figures"), "wait_list_rows", 1);
}

static void an_unknown_value(json_t *run)
{
    (void)json_object_set_new(counters_of(run, 0), "refaults", json_null());
}

static void another_end(json_t *run)
{
    (void)json_object_set_new(run, "status", json_string("oom"));
}

static void other_identity(json_t *run)
{
    (void)json_object_set_new(run, "run_id", json_integer(99));
    (void)json_object_set_new(run, "started_unix_ns", json_integer(1));
    (void)json_object_set_new(json_object_get(run, "environment"), "host.name", json_string("other"));
    (void)json_object_set_new(json_object_get(run, "config"), "db", json_string("other.db"));
}

static void a_new_figure(json_t *run)
{
    (void)json_object_set_new(json_object_get(epoch_of(run, 0), "figures"), "brand_new", json_integer(3));
}

static void a_longer_opening(json_t *run)
{
    (void)json_object_set_new(json_object_get(run, "environment"), "system.open_ns", json_string("5000001"));
}

static void a_new_option(json_t *run)
{
    (void)json_object_set_new(json_object_get(run, "config"), "new-option", json_string("5"));
}

static const struct planted {
    const char *world;
    void (*plant)(json_t *run);
    uint32_t red;
    const char *value, *text; /* of the first */
} planted[] = {
    {"simulated", nothing, 0, NULL, NULL},
    {"simulated", other_identity, 0, NULL, NULL},
    {"simulated", a_new_figure, 0, NULL, NULL},
    {"simulated", a_new_option, 0, NULL, NULL},
    {"simulated", a_read_a_mini_batch, 2, "epoch 0 requested_ios", "+0.0263 %"}, /* 1208 of 4.6 million */
    {"simulated", a_read_of_open, 1, "before the first epoch device_read_ios", "+10 %"},
    {"measured", a_read_of_open, 0, NULL, NULL}, /* what a measured system reads when it opens may differ */
    {"simulated", a_lost_hit, 2, "epoch 1 cache_hits", "-8.33e-05 %"},
    {"simulated", a_changed_block, 1, "epoch 0 batch_digest", ""},
    {"simulated", three_percent, 2, "epoch 0 wall_ns", "+3 %"},
    {"simulated", a_nanosecond, 1, "epoch 1 wall_ns", "+1e-07 %"},
    {"simulated", a_longer_opening, 1, "open_ns", "+2e-05 %"},
    {"simulated", a_wait_of_a_stage, 1, "epoch 0 extract wait_io_ns", NULL},
    {"simulated", a_figure, 1, "epoch 0 wait_list_rows", "+5.88 %"},
    {"simulated", an_unknown_value, 1, "epoch 0 refaults", ""},
    {"simulated", another_end, 1, "status", ""},
    {"measured", nothing, 0, NULL, NULL},
    {"measured", three_percent, 0, NULL, NULL}, /* a time of one run says nothing */
    {"measured", a_longer_opening, 0, NULL, NULL},
    {"measured", a_read_a_mini_batch, 0, NULL, NULL}, /* threads race for rows: counts of reads vary */
    {"measured", a_changed_block, 1, "epoch 0 batch_digest", ""},
    {"measured", another_end, 1, "status", ""},
};

static void planted_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        struct gnn_changes changes = compared(planted[i].world, planted[i].plant);
        if (gnn_changes_red(&changes) != planted[i].red)
            fail_msg("case %zu: %u red, expected %u", i, gnn_changes_red(&changes), planted[i].red);
        if (planted[i].value != NULL)
            assert_string_equal(changes.of[0].name, planted[i].value);
        if (planted[i].text != NULL)
            assert_string_equal(changes.of[0].text, planted[i].text);
        assert_int_equal(changes.new_values, planted[i].plant == a_new_figure ? 1 : 0);
        gnn_changes_clear(&changes);
    }
}

static void a_changed_version(json_t *run)
{
    (void)json_object_set_new(json_object_get(run, "environment"), GNN_ENVIRONMENT_DIGEST_VERSION, json_string("2"));
}

static void a_changed_version_and_block(json_t *run)
{
    a_changed_version(run);
    a_changed_block(run);
}

static void a_changed_version_and_hit(json_t *run)
{
    a_changed_version(run);
    a_lost_hit(run);
}

/* Digests of two versions are neither equal nor unequal, which is noted; all other values are compared as ever. */
static void digests_of_two_versions_are_not_compared(void **state)
{
    (void)state;
    static const struct {
        const char *world;
        void (*plant)(json_t *run);
        uint32_t red;
    } cases[] = {{"simulated", a_changed_version, 0},
                 {"simulated", a_changed_version_and_block, 0},
                 {"simulated", a_changed_version_and_hit, 2},
                 {"measured", a_changed_version_and_block, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_changes same = compared(cases[i].world, nothing), changes = compared(cases[i].world, cases[i].plant);
        assert_int_equal(gnn_changes_red(&changes), cases[i].red);
        assert_int_equal(changes.count, cases[i].red + 1);
        assert_int_equal(changes.values, same.values - 3); /* of two epochs, and the version */
        assert_int_equal(changes.new_values, 0);
        assert_int_equal(changes.of[0].judgement, GNN_JUDGED_NOTE);
        assert_string_equal(changes.of[0].name, "batch_digest version");
        assert_string_equal(changes.of[0].base, "1");
        assert_string_equal(changes.of[0].head, "2");
        assert_non_null(strstr(changes.of[0].text, "cannot be compared"));
        gnn_changes_clear(&changes);
        gnn_changes_clear(&same);
    }
}

static void a_gone_run_is_red_and_a_new_one_is_not(void **state)
{
    (void)state;
    struct gnn_facts both = {.count = 0}, one = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    add_run(&both, run_of("gnndrive", "simulated"));
    add_run(&both, run_of("ginex", "simulated"));
    add_run(&one, run_of("ginex", "simulated"));
    name(&both, "both");
    name(&one, "one");
    must(gnn_compare_exact(&both, &one, &changes, &err), &err);
    assert_int_equal(changes.count, 1);
    assert_int_equal(changes.of[0].kind, GNN_CHANGE_MISSING);
    assert_string_equal(changes.of[0].cell, "gnndrive");
    gnn_changes_clear(&changes);
    must(gnn_compare_exact(&one, &both, &changes, &err), &err);
    assert_int_equal(changes.count, 0);
    assert_int_equal(changes.new_cells, 1);
    gnn_changes_clear(&changes);
    gnn_facts_clear(&both);
    gnn_facts_clear(&one);
}

static json_t *run_with(const char *option, const char *value, json_int_t more_ns)
{
    json_t *const run = run_of("gnndrive", "simulated");
    (void)json_object_set_new(json_object_get(run, "config"), option, json_string(value));
    raise_by(epoch_of(run, 0), "wall_ns", more_ns);
    return run;
}

/* A default that changed: the option is named, and the values are compared all the same. */
static void a_changed_default_is_named(void **state)
{
    (void)state;
    struct gnn_facts base = {.count = 0}, head = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    add_run_of(&base, "usual", run_with("gnndrive.depth", "80", 0));
    add_run_of(&base, "shallow", run_with("gnndrive.depth", "8", 3)); /* the job file sets 8 */
    add_run_of(&head, "usual", run_with("gnndrive.depth", "8", 1));
    add_run_of(&head, "shallow", run_with("gnndrive.depth", "8", 3));
    assert_int_equal(head.count, 2); /* alike by now, and still two */
    name(&base, "base");
    name(&head, "head");
    must(gnn_compare_exact(&base, &head, &changes, &err), &err);
    assert_int_equal(changes.cells, 2);
    assert_int_equal(changes.new_cells, 0);
    assert_int_equal(changes.count, 2);
    assert_int_equal(changes.of[0].kind, GNN_CHANGE_CONFIG);
    assert_int_equal(changes.of[0].judgement, GNN_JUDGED_NOTE);
    assert_string_equal(changes.of[0].cell, "gnndrive depth=80");
    assert_string_equal(changes.of[0].name, "depth");
    assert_string_equal(changes.of[0].base, "80");
    assert_string_equal(changes.of[0].head, "8");
    assert_int_equal(changes.of[1].kind, GNN_CHANGE_EXACT);
    assert_string_equal(changes.of[1].name, "epoch 0 wall_ns");
    gnn_changes_clear(&changes);
    gnn_facts_clear(&base);
    gnn_facts_clear(&head);
}

/* Options decide before the place in the job file: a grid that got one value more is compared value by value. Without a
 * place, as in databases, a run with other options is another run. */
static void options_decide_before_the_place(void **state)
{
    (void)state;
    struct gnn_facts base = {.count = 0}, head = {.count = 0}, recorded = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    add_run_of(&base, "grid", run_with("memory", "8M", 1));
    add_run_of(&base, "grid 2", run_with("memory", "16M", 2));
    add_run_of(&head, "grid", run_with("memory", "4M", 0));
    add_run_of(&head, "grid 2", run_with("memory", "8M", 1));
    add_run_of(&head, "grid 3", run_with("memory", "16M", 2));
    must(gnn_compare_exact(&base, &head, &changes, &err), &err);
    assert_int_equal(changes.count, 0);
    assert_int_equal(changes.new_cells, 1);
    add_run(&recorded, run_with("memory", "8M", 1));
    add_run(&recorded, run_with("memory", "32M", 1));
    must(gnn_compare_exact(&recorded, &head, &changes, &err), &err);
    assert_int_equal(changes.count, 1);
    assert_int_equal(changes.of[0].kind, GNN_CHANGE_MISSING);
    gnn_changes_clear(&changes);
    gnn_facts_clear(&base);
    gnn_facts_clear(&head);
    gnn_facts_clear(&recorded);
}

/* A gate that compares nothing would be green for ever. */
static void nothing_in_common_is_no_green(void **state)
{
    (void)state;
    struct gnn_facts a = {.count = 0}, b = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    add_run(&a, run_of("gnndrive", "simulated"));
    add_run(&b, run_of("ginex", "simulated"));
    assert_int_equal(gnn_compare_exact(&a, &b, &changes, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "nothing to compare"));
    gnn_changes_clear(&changes);
    gnn_facts_clear(&a);
    gnn_facts_clear(&b);
}

/* Virtual time that does not repeat within one build is a bug of that build. */
static void values_that_do_not_repeat_are_red(void **state)
{
    (void)state;
    struct gnn_facts base = {.count = 0}, head = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    json_t *const again = run_of("gnndrive", "simulated");
    a_nanosecond(again);
    add_run(&base, run_of("gnndrive", "simulated"));
    add_run(&head, run_of("gnndrive", "simulated"));
    add_run(&head, again);
    assert_int_equal(head.count, 1);
    assert_int_equal(head.cells[0].runs, 2);
    must(gnn_compare_exact(&base, &head, &changes, &err), &err);
    assert_int_equal(changes.count, 1);
    assert_int_equal(changes.of[0].kind, GNN_CHANGE_UNSTEADY);
    assert_string_equal(changes.of[0].name, "epoch 1 wall_ns");
    assert_string_equal(changes.of[0].head, "1000000000 | 1000000001");
    gnn_changes_clear(&changes);
    gnn_facts_clear(&base);
    gnn_facts_clear(&head);
}

static void cells_are_named_by_what_differs(void **state)
{
    (void)state;
    struct gnn_facts facts = {.count = 0};
    const char *const slots[] = {"10", "20"};
    for (int i = 0; i < 2; i++) {
        json_t *const run = run_of("gnndrive", "simulated");
        (void)json_object_set_new(json_object_get(run, "config"), "gnndrive.slots", json_string(slots[i]));
        (void)json_object_set_new(json_object_get(run, "config"), "hidden", json_string("16"));
        add_run(&facts, run);
    }
    add_run(&facts, run_of("ginex", "simulated"));
    gnn_facts_label(&facts);
    assert_string_equal(facts.cells[0].label, "gnndrive slots=10");
    assert_string_equal(facts.cells[1].label, "gnndrive slots=20");
    assert_string_equal(facts.cells[2].label, "ginex");
    gnn_facts_clear(&facts);
}

/* ---- instructions ---- */

static void give(struct gnn_facts *facts, const char *function, const char *count)
{
    struct gnn_err err = {0};
    must(gnn_kv_set(&facts->instructions, function, count, &err), &err);
}

struct count {
    const char *name, *base, *head; /* head NULL: HEAD does not have it */
};

static struct gnn_changes compared_counts(const struct count *counts, size_t count)
{
    struct gnn_facts base = {.count = 0}, head = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    for (size_t i = 0; i < count; i++) {
        give(&base, counts[i].name, counts[i].base);
        if (counts[i].head != NULL)
            give(&head, counts[i].name, counts[i].head);
    }
    must(gnn_compare_instructions(&base, &head, 0.005, &changes, &err), &err);
    gnn_facts_clear(&base);
    gnn_facts_clear(&head);
    return changes;
}

static void instructions_have_a_tolerance(void **state)
{
    (void)state;
    static const struct count counts[] = {
        {"ginex: total", "1000000", "1005000"}, {"ginex: sample", "200000", "201001"},
        {"ginex: gather", "100000", "99000"},   {"ginex: put", "20000", "20100"},
        {"ginex: cold", "9999", "19999"},       {"ginex: inlined_now", "30000", NULL}};
    struct gnn_changes changes = compared_counts(counts, sizeof counts / sizeof *counts);
    assert_int_equal(changes.functions, 4);
    assert_int_equal(changes.count, 2); /* 0.5005 % more, and 1 % less */
    assert_int_equal(gnn_changes_red(&changes), 1);
    assert_string_equal(changes.of[0].cell, "ginex");
    assert_string_equal(changes.of[0].name, "sample");
    assert_int_equal(changes.of[1].judgement, GNN_JUDGED_NOTE);
    gnn_changes_clear(&changes);
}

/* Hot is measured within a part: the sampler has 0.5 % of all instructions here. */
static void a_loop_is_hot_within_its_part(void **state)
{
    (void)state;
    static const struct count counts[] = {{"ginex: total", "1000000", "1000100"},
                                          {"ginex: sample", "10000", "10100"},
                                          {"ginex simulation: total", "9000000", "9000000"},
                                          {"ginex simulation: draw_graph", "8000000", "8000000"},
                                          {"ginex simulation: cold", "80000", "90000"},
                                          {"agnes: total", "40000000", "40000000"},
                                          {"agnes: sample", "10000", "10100"}};
    struct gnn_changes changes = compared_counts(counts, sizeof counts / sizeof *counts);
    assert_int_equal(changes.functions, 5);
    assert_int_equal(changes.count, 1);
    assert_string_equal(changes.of[0].cell, "ginex");
    assert_string_equal(changes.of[0].name, "sample");
    assert_string_equal(changes.of[0].text, "+1 %");
    gnn_changes_clear(&changes);
}

static void a_part_that_is_gone_is_red(void **state)
{
    (void)state;
    static const struct count counts[] = {{"ginex: total", "1000", "1000"},
                                          {"agnes: total", "1000", NULL},
                                          {"agnes: sample", "800", NULL}},
                              nothing_counted[] = {{"ginex: total", "1000", NULL}};
    struct gnn_changes changes = compared_counts(counts, sizeof counts / sizeof *counts);
    assert_int_equal(changes.count, 1);
    assert_int_equal(gnn_changes_red(&changes), 1);
    assert_string_equal(changes.of[0].cell, "agnes");
    assert_string_equal(changes.of[0].head, "gone");
    gnn_changes_clear(&changes);
    changes = compared_counts(nothing_counted, 1);
    assert_int_equal(changes.count, 0); /* left out, which the summary reports */
    gnn_changes_clear(&changes);
}

/* As callgrind writes it: names by number, costs of callees behind `calls`, positions relative to the last one, another
 * object in between. A file stays current until another one is named. */
static const char profile[] = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\ncmd: ./oocgnn --worker\n"
                              "positions: line\nevents: Ir\nsummary: 5000\n\n"
                              "ob=(1) /somewhere/build/oocgnn\nfl=(1) /home/harness/sample/sample.c\nfn=(1) sample\n"
                              "16 400\n+3 300\ncfn=(2) put\ncalls=7 +30\n* 900\n-2 100\n"
                              "fn=(2)\n20 500\nfi=(2) harness/base/id_map.h\n+1 100\n\n"
                              "ob=(2) /lib/x86_64-linux-gnu/libc.so.6\nfn=(3) memcpy\n0 2000\n"
                              "cob=(1)\ncfn=(1)\ncalls=1 16\n0 800\n\n"
                              "ob=(1)\nfn=(4) rare\n5 6\nfn=(5) rare'2\n5 3\nfn=(6) rare.part.0\n5 1\n"
                              "fl=(3) ./harness/world/simulated/device.c\nfn=(7) accept\n7 5000\ncfi=(4) "
                              "harness/graph/entries.c\ncfn=(8) draw\ncalls=1 3\n8 70000\nfl=(4)\nfn=(8)\n9 70000\n"
                              "fl=(5) ???\nfn=(9) sim_switch\n0 20\nfn=(10) __udivti3\n0 7\n"
                              "fl=(1)\nfn=(11) put\n0 2\nfi=(4)\n0 1\nfn=(12) sample\n0 8\n\ntotals: 3409\n";

static enum gnn_status read_profile(const char *text, struct gnn_kv_list *out, struct gnn_err *err)
{
    FILE *const in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(in);
    const enum gnn_status status = gnn_callgrind_read(in, "callgrind.out", "/oocgnn", "ginex", out, err);
    (void)fclose(in);
    return status;
}

static void callgrind_counts_are_the_functions_own(void **state)
{
    (void)state;
    static const struct {
        const char *name, *count;
    } wanted[] = {{"ginex: total", "1420"},
                  {"ginex: sample", "800"},
                  {"ginex: put", "603"}, /* in two files, and with what was inlined */
                  {"ginex: memcpy", NULL},
                  {"ginex: rare", "10"}, /* and f inside f, and a part of f */
                  {"ginex: sim_switch", NULL},
                  {"ginex: __udivti3", "7"},
                  {"ginex simulation: total", "75028"},
                  {"ginex simulation: accept", "5000"},
                  {"ginex simulation: draw", "70000"},
                  {"ginex simulation: sim_switch", "20"},
                  {"ginex simulation: sample", "8"}};
    struct gnn_kv_list counts = {0};
    struct gnn_err err = {0};
    must(read_profile(profile, &counts, &err), &err);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *const count = gnn_kv_get(&counts, wanted[i].name);
        if (wanted[i].count == NULL ? count != NULL : count == NULL || strcmp(count, wanted[i].count) != 0)
            fail_msg("%s: %s", wanted[i].name, count == NULL ? "none" : count);
    }
    must(read_profile(profile, &counts, &err), &err);
    assert_string_equal(gnn_kv_get(&counts, "ginex: total"), "2840"); /* files add up */
    gnn_kv_clear(&counts);
}

static void callgrind_files_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {{"\n", "no instruction of /oocgnn"},
                 {"events: Dr Dw\n", "the event Ir is missing"},
                 {"events: Ir\nfn=(9)\n", "callgrind.out:2: number 9 has no name"},
                 {"events: Ir\nfn=(9\n", "without its end"},
                 {"events: Ir\nfn=(99999999999) f\n", "too large"},
                 {"events: Ir\nob=(1) /oocgnn\nfn=(1) f\n3 x\n", "no cost"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_kv_list counts = {0};
        struct gnn_err err = {0};
        assert_int_equal(read_profile(cases[i].text, &counts, &err), GNN_EFORMAT);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s", i, err.message);
        gnn_kv_clear(&counts);
    }
}

/* ---- accepting ---- */

/* An accepted count covers that change, within the tolerance, and neither a later one nor one from elsewhere. */
static void an_accepted_count_covers_no_other(void **state)
{
    (void)state;
    static const struct {
        const char *base, *head;
        bool covered;
    } cases[] = {{"100000", "103000", true},  {"100100", "103100", true},  {"100000", "106000", false},
                 {"100000", "101000", false}, {"103000", "106000", false}, {"97000", "103000", false}};
    json_t *const accepted = json_array();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_facts base = {.count = 0}, head = {.count = 0};
        struct gnn_changes changes = {.count = 0};
        struct gnn_err err = {0};
        give(&base, "ginex: total", cases[i].base);
        give(&head, "ginex: total", cases[i].head);
        must(gnn_compare_instructions(&base, &head, 0.005, &changes, &err), &err);
        assert_int_equal(gnn_changes_red(&changes), 1);
        if (i == 0)
            must(gnn_changes_accept(&changes, accepted, "more checks", "aaa", "bbb", &err), &err);
        else
            gnn_changes_accept_known(&changes, accepted, 0.005);
        if (gnn_changes_red(&changes) != (cases[i].covered ? 0 : 1))
            fail_msg("case %zu: %u red", i, gnn_changes_red(&changes));
        gnn_changes_clear(&changes);
        gnn_facts_clear(&base);
        gnn_facts_clear(&head);
    }
    json_decref(accepted);
}

static void what_is_accepted_is_so_once(void **state)
{
    (void)state;
    struct gnn_changes first = compared("simulated", three_percent), again = compared("simulated", three_percent),
                       other = compared("simulated", a_nanosecond);
    struct gnn_err err = {0};
    json_t *const accepted = json_array();
    gnn_changes_accept_known(&first, accepted, 0);
    assert_int_equal(gnn_changes_red(&first), 2);
    must(gnn_changes_accept(&first, accepted, "a slower disk", "aaa", "bbb", &err), &err);
    assert_int_equal(gnn_changes_red(&first), 0);
    assert_non_null(strstr(first.of[0].text, "accepted: a slower disk"));
    assert_int_equal(json_array_size(accepted), 1);
    gnn_changes_accept_known(&again, accepted, 0);
    assert_int_equal(gnn_changes_red(&again), 0);
    gnn_changes_accept_known(&other, accepted, 0);
    assert_int_equal(gnn_changes_red(&other), 1); /* the same value, another number */
    must(gnn_changes_accept(&again, accepted, "nothing to accept", "aaa", "bbb", &err), &err);
    assert_int_equal(json_array_size(accepted), 1);
    json_decref(accepted);
    gnn_changes_clear(&first);
    gnn_changes_clear(&again);
    gnn_changes_clear(&other);
}

static const struct gnn_ab_plan plan = {
    .pairs = 10, .pairs_max = 10, .margin = 0.01, .limit = 0.03, .alpha = 0.01, .seed = 1};

static struct gnn_ab_series slower_by(double share)
{
    struct gnn_ab_series s = {.count = 10};
    for (uint32_t i = 0; i < s.count; i++) {
        s.base[i] = 2e9 * (1 + 0.001 * i);
        s.head[i] = s.base[i] * (1 + share);
    }
    gnn_ab_judge(&plan, &s, 1, 0, 1);
    return s;
}

static void a_time_is_never_accepted(void **state)
{
    (void)state;
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    json_t *const accepted = json_array();
    const struct gnn_ab_series slow = slower_by(0.04), same = slower_by(0), absent = {.verdict = GNN_AB_ABSENT};
    must(gnn_compare_time("gnndrive", "epoch", &plan, &slow, &changes, &err), &err);
    must(gnn_compare_time("ginex", "epoch", &plan, &same, &changes, &err), &err);
    must(gnn_compare_time("ginex", "GPU kernels", &plan, &absent, &changes, &err), &err);
    assert_int_equal(changes.series, 2);
    assert_int_equal(gnn_changes_red(&changes), 1);
    assert_string_equal(changes.of[0].base, "2.009 s");
    assert_non_null(strstr(changes.of[0].text,
                           "+4.00 %, 95 % interval +4.00 to +4.00 %, mean +4.00 % (+4.00 to +4.00 %), 10 pairs"));
    assert_int_equal(gnn_changes_accept(&changes, accepted, "why not", "a", "b", &err), GNN_EUSAGE);
    assert_int_equal(gnn_changes_red(&changes), 1);
    assert_int_equal(json_array_size(accepted), 0);
    json_decref(accepted);
    gnn_changes_clear(&changes);
}

/* A number that HEAD stopped to record is red; one that is missing now and then is named; a new one is a note. */
static void a_metric_that_is_gone_is_red(void **state)
{
    (void)state;
    static struct gnn_ab_series partial;
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    const struct gnn_ab_series gone = {.tried = 10, .missing = {0, 10}, .verdict = GNN_AB_GONE},
                               new_one = {.tried = 10, .missing = {10, 0}, .verdict = GNN_AB_ABSENT},
                               rare = {.tried = 40, .missing = {0, 36}, .count = 4, .verdict = GNN_AB_UNSURE};
    partial = slower_by(0);
    partial.tried = 11;
    partial.missing[1] = 1;
    must(gnn_compare_time("a", "GPU kernels", &plan, &gone, &changes, &err), &err);
    must(gnn_compare_time("b", "GPU kernels", &plan, &new_one, &changes, &err), &err);
    must(gnn_compare_time("c", "GPU kernels", &plan, &rare, &changes, &err), &err);
    must(gnn_compare_time("d", "GPU kernels", &plan, &partial, &changes, &err), &err);
    assert_int_equal(changes.count, 4);
    assert_int_equal(changes.series, 3);
    assert_int_equal(changes.unsure, 1);
    assert_int_equal(gnn_changes_red(&changes), 1);
    assert_int_equal(changes.of[0].judgement, GNN_JUDGED_RED);
    assert_string_equal(changes.of[0].head, "gone");
    assert_string_equal(changes.of[0].text, "gone: no value in 0 (base) and 10 (head) of 10 pairs");
    assert_string_equal(changes.of[1].text, "new in head: no value in 10 (base) and 0 (head) of 10 pairs");
    assert_string_equal(changes.of[2].text, "unsure: no value in 0 (base) and 36 (head) of 40 pairs");
    assert_non_null(strstr(changes.of[3].text, "fine: +0.00 %"));
    assert_non_null(strstr(changes.of[3].text, "10 pairs; no value in 0 (base) and 1 (head) of 11 pairs"));
    gnn_changes_clear(&changes);
}

/* ---- the file ---- */

static void a_baseline_is_read_as_it_was_written(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    char path[600];
    struct gnn_facts facts = {.count = 0}, back = {.count = 0};
    struct gnn_changes changes = {.count = 0};
    struct gnn_err err = {0};
    (void)snprintf(path, sizeof path, "%s/baseline.json", dir);
    add_run_of(&facts, "usual 2", run_of("gnndrive", "simulated"));
    add_run(&facts, run_of("ginex", "measured"));
    give(&facts, "ginex: total", "123456");
    give(&facts, "ginex: cold", "1234");
    name(&facts, path);
    json_t *accepted = json_pack("[{s:s, s:s, s:s, s:[[s, s, s, s]]}]", "reason", "because", "base", "a", "head", "b",
                                 "changes", "gnndrive", "status", "ok", "oom");
    must(gnn_baseline_write(path, &facts, accepted, &err), &err);
    json_decref(accepted);
    must(gnn_baseline_read(path, &back, &accepted, &err), &err);
    assert_int_equal(back.count, 2);
    assert_string_equal(back.cells[0].job, "usual 2");
    assert_string_equal(back.cells[1].job, "");
    assert_string_equal(back.revision, "0123456789ab");
    assert_string_equal(gnn_kv_get(&back.instructions, "ginex: total"), "123456");
    assert_int_equal(back.instructions.count, 1);
    assert_int_equal(json_array_size(accepted), 1);
    must(gnn_compare_exact(&facts, &back, &changes, &err), &err);
    assert_int_equal(changes.count, 0);
    assert_int_equal(changes.cells, 2);
    assert_int_equal(changes.values, facts.cells[0].exact.count + facts.cells[1].exact.count);
    assert_int_equal(changes.new_values, 0);
    gnn_changes_clear(&changes);
    json_decref(accepted);
    gnn_facts_clear(&back);
    gnn_facts_clear(&facts);
    process_remove_tree(dir);
    free(dir);
}

/* Files from before there were versions have the first one. */
static void an_older_baseline_has_the_first_version(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    char path[700];
    struct gnn_facts facts = {.count = 0};
    struct gnn_err err = {0};
    json_t *accepted;
    (void)snprintf(path, sizeof path, "%s/older.json", dir);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("{\"format\": \"oocgnn-baseline\", \"version\": 1, \"cells\": [{\"config\": {\"system\": \"null\"}, "
                "\"exact\": {\"status\": \"ok\"}}]}",
                file);
    assert_int_equal(fclose(file), 0);
    must(gnn_baseline_read(path, &facts, &accepted, &err), &err);
    assert_int_equal(facts.count, 1);
    assert_string_equal(gnn_kv_get(&facts.cells[0].exact, GNN_FACT_DIGEST_VERSION), "1");
    json_decref(accepted);
    gnn_facts_clear(&facts);
    process_remove_tree(dir);
    free(dir);
}

static void files_that_are_no_baseline(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        enum gnn_status status;
    } cases[] = {{"{\"format\": \"other\"}", "no baseline of version 1", GNN_EFORMAT},
                 {"{\"format\": \"oocgnn-baseline\", \"version\": 2}", "no baseline of version 1", GNN_EFORMAT},
                 {"{\"format\":\n \"oocgnn-baseline\", }", ":2:", GNN_EFORMAT},
                 {"{\"format\": \"oocgnn-baseline\", \"version\": 1, \"cells\": [{}]}", "configuration 1 has no config",
                  GNN_EFORMAT}};
    char *const dir = process_temp_dir();
    char path[600];
    json_t *accepted;
    (void)snprintf(path, sizeof path, "%s/file.json", dir);
    struct gnn_err none = {0};
    assert_int_equal(gnn_baseline_read(path, NULL, &accepted, &none), GNN_ENOENT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_facts facts = {.count = 0};
        struct gnn_err err = {0};
        FILE *const out = fopen(path, "w");
        assert_non_null(out);
        (void)fputs(cases[i].text, out);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(gnn_baseline_read(path, &facts, &accepted, &err), cases[i].status);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: %s", i, err.message);
        gnn_facts_clear(&facts);
    }
    process_remove_tree(dir);
    free(dir);
}

/* ---- telling ---- */

static char *told(const struct gnn_changes *changes, bool markdown, uint32_t rows)
{
    struct gnn_facts base = {.count = 0, .name = "base.json", .revision = "aaa"}, head = {.count = 0, .name = "build"};
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    (void)snprintf(head.no_instructions, sizeof head.no_instructions, "valgrind is not installed");
    gnn_changes_print(changes, &base, &head, markdown, rows, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void a_summary_says_what_was_looked_at(void **state)
{
    (void)state;
    struct gnn_changes green = compared("simulated", nothing), red = compared("simulated", a_read_a_mini_batch);
    char *text = told(&green, false, 50);
    must_show(text,
              "No regression: 0 red, 0 accepted, 0 noted\nbase: base.json (aaa); head: build (revision unknown)\n");
    must_show(text, "exact values of 1 runs were compared.");
    must_show(text, "Left out: instruction counts: valgrind is not installed");
    free(text);
    text = told(&red, false, 1);
    must_show(text, "Regression: 2 red");
    must_show(text, "  red      gnndrive epoch 0 requested_ios: 4600000 -> 4601208  +0.0263 %\n  and 1 more\n");
    free(text);
    text = told(&red, true, 50);
    must_show(text, "## Regression: 2 red, 0 accepted, 0 noted\n");
    must_show(text, "### Exact values\n\n| | run | value | base | head | |\n|---|---|---|--:|--:|---|\n");
    must_show(text, "| red | gnndrive | epoch 1 requested\\_ios | 4600000 | 4601208 | +0.0263 % |\n");
    free(text);
    gnn_changes_clear(&green);
    gnn_changes_clear(&red);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_changes),
        cmocka_unit_test(digests_of_two_versions_are_not_compared),
        cmocka_unit_test(an_older_baseline_has_the_first_version),
        cmocka_unit_test(a_gone_run_is_red_and_a_new_one_is_not),
        cmocka_unit_test(a_changed_default_is_named),
        cmocka_unit_test(options_decide_before_the_place),
        cmocka_unit_test(nothing_in_common_is_no_green),
        cmocka_unit_test(values_that_do_not_repeat_are_red),
        cmocka_unit_test(cells_are_named_by_what_differs),
        cmocka_unit_test(instructions_have_a_tolerance),
        cmocka_unit_test(a_loop_is_hot_within_its_part),
        cmocka_unit_test(a_part_that_is_gone_is_red),
        cmocka_unit_test(callgrind_counts_are_the_functions_own),
        cmocka_unit_test(callgrind_files_that_are_none),
        cmocka_unit_test(an_accepted_count_covers_no_other),
        cmocka_unit_test(what_is_accepted_is_so_once),
        cmocka_unit_test(a_time_is_never_accepted),
        cmocka_unit_test(a_metric_that_is_gone_is_red),
        cmocka_unit_test(a_baseline_is_read_as_it_was_written),
        cmocka_unit_test(files_that_are_no_baseline),
        cmocka_unit_test(a_summary_says_what_was_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
