/* SPDX-License-Identifier: MIT */
/* `oocgnn run --dry-run` and `oocgnn rerun`: what a run would be, and whether a recorded one repeats. */
#include "tests/support/must.h"
#include "tests/support/tiny_runs.h"

#include <limits.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RUN_MAX = 6000, WORDS_MAX = 3000 };

#define GOLDEN "--world simulated --profile tests/golden/machine.ini --dim 100 --generate reach=0"

/* The usual arguments, for a shell. Paths of the fixture hold no blanks. */
static const char *usual(const struct tiny_runs *t, const char *more, char text[RUN_MAX])
{
    (void)snprintf(text, RUN_MAX,
                   "%s run --dataset papers100m --scale 1/4000 --data %s --db %s --batch 32 --hidden 16 --fanout 5,5 "
                   "--quiet %s",
                   process_program(), t->data, t->db, more);
    return text;
}

static json_t *json_of(const char *command, int exit_status)
{
    return tiny_runs_parse(process_shell("%s", command), exit_status, command);
}

static json_t *run_json(const struct tiny_runs *t, const char *more)
{
    char run[RUN_MAX], words[WORDS_MAX];
    (void)snprintf(words, sizeof words, "%s --json", more);
    return json_of(usual(t, words, run), 0);
}

/* ---- --dry-run ---- */

static void wrong_dry_runs(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more;
        int exit_status;
        const char *part;
    } cases[] = {
        {"--dry-run=yes", 2, "--dry-run takes no value"},
        {"--dry-runs", 2, "--dry-run"},
        {"--system nul --dry-run", 2, "null"},
        {"--system null --dry-run --no-cold " GOLDEN, 4, "--no-cold"},
        {"--system null --dry-run --scale 1/3999", 2, "oocgnn prepare papers100m --scale 1/3999"},
        {"--system null --dry-run --set null.x=1", 2, "x"},
    };
    char run[RUN_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        process_expect(process_shell("%s", usual(t, cases[i].more, run)), cases[i].exit_status, cases[i].part,
                       cases[i].more);
}

static const char *text_at(const json_t *dry, const char *key, const char *field)
{
    return tiny_runs_text(json_object_get(json_object_get(dry, "config"), key), field);
}

static void expect_option(const json_t *dry, const char *key, const char *value, const char *source)
{
    if (strcmp(text_at(dry, key, "value"), value) != 0 || strcmp(text_at(dry, key, "source"), source) != 0)
        fail_msg("%s: \"%s\" from %s, expected \"%s\" from %s", key, text_at(dry, key, "value"),
                 text_at(dry, key, "source"), value, source);
}

#define DRY                                                                                                            \
    "--system gnndrive --preset gnndrive --memory 20M --lr 0.003 --set gnndrive.samplers=3 " GOLDEN " --no-bound"

/* Every option of a record, and where it comes from; nothing is run. */
static void sources_of_options(void **state)
{
    const struct tiny_runs *const t = *state;
    struct tiny_runs other = *t;
    struct stat info;
    (void)snprintf(other.db, sizeof other.db, "%s/none.db", t->dir);
    json_t *const dry = run_json(&other, DRY " --dry-run");
    assert_int_not_equal(stat(other.db, &info), 0);
    expect_option(dry, "system", "gnndrive", "command line");
    expect_option(dry, "scale", "1/4000", "command line");
    expect_option(dry, "memory", "20M", "command line");
    expect_option(dry, "lr", "0.003", "command line");
    expect_option(dry, "bound", "false", "command line");
    expect_option(dry, "id-bytes", "8", "preset");
    expect_option(dry, "dropout", "0.5", "default");
    expect_option(dry, "compute", "model:tests/golden/machine.ini/gpu", "resolved");
    expect_option(dry, "gnndrive.samplers", "3", "command line");
    expect_option(dry, "gnndrive.extractors", "4", "preset");
    expect_option(dry, "gnndrive.depth", "80", "default");
    json_t *const run = run_json(t, DRY);
    const json_t *const config = json_object_get(run, "config");
    const char *key;
    json_t *value;
    assert_int_equal(json_object_size(config), json_object_size(json_object_get(dry, "config")));
    json_object_foreach((json_t *)config, key, value)
    {
        if (strcmp(key, "db") != 0)
            assert_string_equal(json_string_value(value), text_at(dry, key, "value"));
    }
    assert_string_equal(tiny_runs_text(json_object_get(run, "environment"), "run.identity"),
                        tiny_runs_text(dry, "identity"));
    json_decref(run);
    json_decref(dry);
}

/* The printed command makes the same configuration. */
static void the_command_repeats_it(void **state)
{
    const struct tiny_runs *const t = *state;
    char command[RUN_MAX];
    json_t *const dry = run_json(t, DRY " --dry-run");
    const char *const printed = tiny_runs_text(dry, "command");
    assert_int_equal(strncmp(printed, "oocgnn run ", 11), 0);
    assert_null(strstr(printed, "json"));
    assert_null(strstr(printed, "dry-run"));
    (void)snprintf(command, sizeof command, "%s %s --dry-run --json", process_program(), printed + 7);
    json_t *const again = json_of(command, 0);
    json_t *const config = json_object_get(dry, "config"), *const other = json_object_get(again, "config");
    if (!json_equal(config, other))
        fail_msg("%s makes another configuration", printed);
    assert_string_equal(tiny_runs_text(again, "identity"), tiny_runs_text(dry, "identity"));
    json_decref(again);
    json_decref(dry);
}

/* The plan is that of the run, and says beforehand why it ends. */
static void plans_before_the_run(void **state)
{
    const struct tiny_runs *const t = *state;
    json_t *const dry = run_json(t, "--system ginex --memory 5M --dry-run " GOLDEN);
    const json_t *const plan = json_object_get(dry, "plan");
    assert_true(json_array_size(json_object_get(plan, "parts")) > 3);
    assert_true(json_integer_value(json_object_get(plan, "bytes")) > 5 << 20);
    const char *const reason = tiny_runs_text(plan, "out_of_memory");
    assert_true(reason[0] != '\0');
    json_t *const run = run_json(t, "--system ginex --memory 5M " GOLDEN);
    assert_string_equal(tiny_runs_text(run, "status"), "oom");
    assert_string_equal(tiny_runs_text(run, "reasons"), reason);
    json_decref(run);
    json_decref(dry);
    char text[RUN_MAX];
    struct process_result r = process_shell("%s", usual(t, "--system ginex --memory 5M --dry-run " GOLDEN, text));
    const char *const parts[] = {"configuration:\n  system ",
                                 "command line\n",
                                 "\nidentity: ",
                                 "\nmemory plan: ",
                                 " of 5.00 MiB\n",
                                 "  smaller by ",
                                 "\nThe run would end with out of memory: ",
                                 "\ncommand: oocgnn run --system=ginex ",
                                 NULL};
    process_expect_all(&r, 0, parts);
    process_free(&r);
}

/* ---- rerun ---- */

static void execute(const struct tiny_runs *t, const char *format, ...)
{
    char text[512], *message = NULL;
    sqlite3 *db;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_int_equal(sqlite3_open(t->db, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static json_t *rerun(const struct tiny_runs *t, json_int_t run, int exit_status)
{
    char command[RUN_MAX];
    (void)snprintf(command, sizeof command, "%s rerun %lld --db %s --quiet --json", process_program(), (long long)run,
                   t->db);
    return json_of(command, exit_status);
}

static json_int_t id_of(json_t *run)
{
    const json_int_t id = json_integer_value(json_object_get(run, "run_id"));
    assert_true(id > 0);
    json_decref(run);
    return id;
}

static void expect_wrong(const struct tiny_runs *t, const char *words, int exit_status, const char *part)
{
    process_expect(process_shell("%s rerun --quiet --db %s %s", process_program(), t->db, words), exit_status, part,
                   words);
}

static void wrong_reruns(void **state)
{
    const struct tiny_runs *const t = *state;
    const json_int_t id = id_of(run_json(t, "--system null " GOLDEN));
    char words[32];
    (void)snprintf(words, sizeof words, "%lld", (long long)id);
    expect_wrong(t, "", 2, "which run? `oocgnn report --last 10 --db");
    expect_wrong(t, "x", 2, "\"x\" is no run's number");
    expect_wrong(t, "1 2", 2, "one run at a time");
    expect_wrong(t, "123456", 2, "has no run 123456");
    process_expect(process_shell("%s rerun 1 --db %s/no.db", process_program(), t->dir), 2, "no.db", "no database");
    execute(t, "INSERT INTO config VALUES (%lld, 'null.later', '3')", (long long)id);
    expect_wrong(t, words, 2, "has an option that this build rejects: null");
    execute(t, "DELETE FROM config WHERE key = 'null.later'; INSERT INTO config VALUES (%lld, 'later', '3')",
            (long long)id);
    expect_wrong(t, words, 2, "has an option that this build rejects: later");
    execute(t,
            "DELETE FROM config WHERE key = 'later'; UPDATE config SET value = 'x' WHERE run_id = %lld AND "
            "key = 'seed'",
            (long long)id);
    expect_wrong(t, words, 2, "rejects: seed");
    execute(t,
            "UPDATE config SET value = '1' WHERE run_id = %lld AND key = 'seed'; UPDATE runs SET status = 'running' "
            "WHERE run_id = %lld",
            (long long)id, (long long)id);
    expect_wrong(t, words, 2, "has not ended");
    execute(t, "UPDATE runs SET status = 'ok' WHERE run_id = %lld", (long long)id);
    json_decref(rerun(t, id, 0));
}

/* With a preset, parameters, changes of the profile: the same nanoseconds, and the same identity. */
static void a_simulated_run_repeats(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const runs[] = {
        DRY " --epochs 2", "--system presort --set presort.row_memory=300K --epochs 2 --seed 7 " GOLDEN,
        "--system pygplus --memory 8M --set pygplus.readahead=off --profile-set storage.read_iops=x0.5 " GOLDEN,
        "--system ginex --memory 5M " GOLDEN, /* out of memory is a result, too */
    };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        json_t *const then = run_json(t, runs[i]);
        char identity[64];
        (void)snprintf(identity, sizeof identity, "%s",
                       tiny_runs_text(json_object_get(then, "environment"), "run.identity"));
        json_t *const result = rerun(t, id_of(then), 0);
        assert_true(json_is_true(json_object_get(result, "same")));
        assert_true(json_is_true(json_object_get(result, "exact")));
        assert_int_equal(json_array_size(json_object_get(result, "conditions")), 0);
        json_t *const now = tiny_runs_last(t);
        assert_int_equal(json_integer_value(json_object_get(now, "run_id")),
                         json_integer_value(json_object_get(result, "rerun")));
        assert_string_equal(tiny_runs_text(json_object_get(now, "environment"), "run.identity"), identity);
        json_decref(now);
        json_decref(result);
    }
}

static void expect_difference(const json_t *list, const char *what)
{
    size_t i;
    json_t *entry;
    json_array_foreach((json_t *)list, i, entry)
    {
        if (strcmp(tiny_runs_text(entry, "what"), what) == 0)
            return;
    }
    fail_msg("no difference of %s", what);
}

/* One nanosecond is a difference, and so is another build. */
static void differences_are_found(void **state)
{
    const struct tiny_runs *const t = *state;
    const json_int_t id = id_of(run_json(t, "--system gnndrive --memory 12M " GOLDEN));
    execute(t, "UPDATE epochs SET wall_ns = wall_ns + 1 WHERE run_id = %lld", (long long)id);
    execute(t, "UPDATE environment SET value = 'other' WHERE run_id = %lld AND key = 'build.revision'", (long long)id);
    json_t *const result = rerun(t, id, 1);
    assert_true(json_is_false(json_object_get(result, "same")));
    assert_int_equal(json_array_size(json_object_get(result, "results")), 1);
    expect_difference(json_object_get(result, "results"), "epochs[0].wall_ns");
    expect_difference(json_object_get(result, "conditions"), "build.revision");
    json_decref(result);
    execute(t, "UPDATE counters SET cpu_ns = cpu_ns + 1 WHERE run_id = %lld AND epoch = -2", (long long)id);
    json_t *const before = rerun(t, id, 1);
    assert_int_equal(json_array_size(json_object_get(before, "results")), 2);
    expect_difference(json_object_get(before, "results"), "before_first_epoch.cpu_ns");
    json_decref(before);
    struct process_result r = process_shell("%s rerun %lld --db %s --quiet", process_program(), (long long)id, t->db);
    const char *const parts[] = {"conditions that differ:\n  build.revision: other, now ",
                                 "results that differ:\n  epochs[0].wall_ns: ", " does not repeat run ", NULL};
    process_expect_all(&r, 1, parts);
    process_free(&r);
}

/* Times of a measured run may differ, its mini-batches and losses may not. */
static void a_measured_run_repeats(void **state)
{
    const struct tiny_runs *const t = *state;
    const json_int_t id = id_of(run_json(t, "--system gnndrive --set gnndrive.in_order=yes --epochs 2"));
    execute(t, "UPDATE epochs SET wall_ns = wall_ns + 1 WHERE run_id = %lld", (long long)id);
    json_t *result = rerun(t, id, 0);
    assert_true(json_is_false(json_object_get(result, "exact")));
    assert_true(json_is_true(json_object_get(result, "same")));
    json_decref(result);
    execute(t, "UPDATE epochs SET loss = loss * 1.000001 WHERE run_id = %lld AND epoch = 1", (long long)id);
    result = rerun(t, id, 1);
    assert_int_equal(json_array_size(json_object_get(result, "results")), 1);
    expect_difference(json_object_get(result, "results"), "epochs[1].loss");
    json_decref(result);
    execute(t,
            "UPDATE environment SET value = '0' WHERE run_id = %lld AND key = 'model.hash'; UPDATE counters SET "
            "batch_digest = '0000000000000000' WHERE run_id = %lld AND epoch = 0",
            (long long)id, (long long)id);
    result = rerun(t, id, 1);
    expect_difference(json_object_get(result, "results"), "model.hash");
    expect_difference(json_object_get(result, "results"), "epochs[0].batch_digest");
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_dry_runs),         cmocka_unit_test(sources_of_options),
        cmocka_unit_test(the_command_repeats_it), cmocka_unit_test(plans_before_the_run),
        cmocka_unit_test(wrong_reruns),           cmocka_unit_test(a_simulated_run_repeats),
        cmocka_unit_test(differences_are_found),  cmocka_unit_test(a_measured_run_repeats),
    };
    return cmocka_run_group_tests(tests, tiny_runs_prepare, tiny_runs_tear_down);
}
