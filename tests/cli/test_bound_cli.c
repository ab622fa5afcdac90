/* SPDX-License-Identifier: MIT */
/* The bound from outside: no exact system brings in less, more memory never raises it, and a record says what it is and
 * when there is none. Simulated runs of a computed graph, whose rows are ten times the cap. */
#include "tests/support/process.h"
#include "tests/support/tiny_runs.h"

#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MAX = 48, EPOCHS = 2 };

/* Without a reach: what is asked for is more than the cap holds. It is computed, whatever datasets lie in the tree. */
#define GRAPH                                                                                                          \
    "--data", "no/data/here", "--dataset", "papers100m", "--scale", "1/1000", "--generate", "reach=0", "--dim",        \
        "1024", "--batch", "5", "--fanout", "5,4"
#define TIGHT "--memory", "20M"

/* Everything on one command line, ended by NULL. */
static struct process_result call(const struct tiny_runs *t, const char *command, const char *const *more)
{
    const char *argv[WORDS_MAX] = {process_program(), command, "--db", t->db};
    uint32_t count = 4;
    while (*more != NULL && count < WORDS_MAX - 1)
        argv[count++] = *more++;
    assert_null(*more);
    return process_run(argv);
}

static json_t *json_of(struct process_result r)
{
    json_t *const object = json_loads(r.out, 0, NULL);
    if (object == NULL || r.exit_status != 0)
        print_error("exit %d: %s\n", r.exit_status, r.err);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
    assert_non_null(object);
    return object;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define RUN(...)                                                                                                       \
    WORDS(GRAPH, "--world", "simulated", "--profile", "tests/golden/machine.ini", "--compute", "cpu", "--hidden", "8", \
          "--epochs", "2", "--evaluate", "never", "--quiet", "--json", __VA_ARGS__)

static void expect_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-6 * wanted))
        fail_msg("%.9g, expected %.9g", value, wanted);
}

static json_int_t counter(const json_t *run, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(run, "counters"), name));
}

static void nobody_brings_in_less(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const systems[] = {"ginex", "gnndrive", "ringsampler", "agnes", "presort"};
    json_t *const bound = json_of(call(t, "bound", WORDS(GRAPH, TIGHT, "--epochs", "2", "--json")));
    const json_t *const line = json_array_get(json_object_get(bound, "memory"), 0);
    const json_int_t least = json_integer_value(json_object_get(line, "bound_bytes"));
    assert_true(least > json_integer_value(json_object_get(bound, "distinct_rows")) * 4096); /* the cap binds */
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        json_t *const run = json_of(call(t, "run", RUN("--system", systems[s], TIGHT, "--bound")));
        const double ratio = json_real_value(json_object_get(run, "bound_ratio"));
        assert_int_equal(json_integer_value(json_object_get(run, "bound_bytes")), least);
        assert_true(ratio >= 1);
        expect_near(ratio, (double)counter(run, "rows_read") * 4096 / (double)least);
        assert_true(counter(run, "device_read_bytes") >= least);
        json_decref(run);
    }
    json_decref(bound);
}

/* DiskGNN fills its caches when it opens. */
static void what_open_brings_in_counts(void **state)
{
    const struct tiny_runs *const t = *state;
    json_t *const run = json_of(call(t, "run", RUN("--system", "diskgnn", TIGHT, "--bound", "--epochs", "1")));
    const json_t *const figures = json_object_get(json_array_get(json_object_get(run, "epochs"), 0), "figures");
    const json_int_t opened = json_integer_value(json_object_get(figures, "open_rows"));
    const json_int_t bytes = json_integer_value(json_object_get(run, "bound_bytes"));
    assert_true(opened > 0);
    assert_true(counter(run, "rows_read") * 4096 < bytes); /* without them it would be below */
    const double ratio = json_real_value(json_object_get(run, "bound_ratio"));
    assert_true(ratio >= 1);
    expect_near(ratio, (double)(counter(run, "rows_read") + opened) * 4096 / (double)bytes);
    json_decref(run);
}

/* With samples of its own for every epoch, DiskGNN fills its caches before each of them. */
static void what_is_brought_in_before_every_epoch_counts(void **state)
{
    const struct tiny_runs *const t = *state;
    json_t *const run = json_of(
        call(t, "run", RUN("--system", "diskgnn", "--memory", "200M", "--bound", "--set", "diskgnn.resample_every=1")));
    const double ratio = json_real_value(json_object_get(run, "bound_ratio"));
    json_int_t rows = counter(run, "rows_read");
    for (size_t e = 0; e < EPOCHS; e++) {
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), e);
        const json_int_t opened = json_integer_value(json_object_get(json_object_get(epoch, "figures"), "open_rows"));
        assert_true(opened > 0);
        rows += opened;
    }
    assert_true(ratio >= 1);
    expect_near(ratio, (double)rows * 4096 / (double)json_integer_value(json_object_get(run, "bound_bytes")));
    json_decref(run);
}

static void other_mini_batches_have_none(void **state)
{
    const struct tiny_runs *const t = *state;
    struct process_result r = call(t, "run", RUN("--system", "diskgnn", TIGHT, "--bound", "--no-quiet")); /* reused */
    assert_non_null(strstr(r.err, "no bound: its mini-batches are not those of its seed"));
    json_t *run = json_of(r);
    assert_true(json_is_null(json_object_get(run, "bound_bytes")));
    assert_true(json_is_null(json_object_get(run, "bound_ratio")));
    json_decref(run);
    run = json_of(call(t, "run", RUN("--system", "pygplus", TIGHT, "--bound"))); /* a mapping counts no rows */
    assert_true(json_integer_value(json_object_get(run, "bound_bytes")) > 0);
    assert_true(json_is_null(json_object_get(run, "bound_ratio")));
    json_decref(run);
    run = json_of(call(t, "run", RUN("--system", "gnndrive", "--sample-only", "--bound")));
    assert_true(json_is_null(json_object_get(run, "bound_bytes")));
    json_decref(run);
}

static void a_run_gets_it_later(void **state)
{
    const struct tiny_runs *const t = *state;
    char number[32];
    json_t *run = json_of(call(t, "run", RUN("--system", "gnndrive", TIGHT, "--seed", "7")));
    assert_true(json_is_null(json_object_get(run, "bound_ratio")));
    (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(run, "run_id")));
    json_decref(run);
    struct process_result r = call(t, "report", WORDS("--last", "1"));
    assert_null(strstr(r.out, "rows read/bound"));
    process_free(&r);
    run = json_of(call(t, "bound", WORDS(number, "--json")));
    const double ratio = json_real_value(json_object_get(run, "bound_ratio"));
    assert_true(ratio > 1);
    json_decref(run);
    run = tiny_runs_last(t); /* it is in the database */
    assert_true(json_real_value(json_object_get(run, "bound_ratio")) == ratio);
    assert_string_equal(tiny_runs_text(run, "status"), "ok");
    json_decref(run);
    r = call(t, "report", WORDS("--last", "1"));
    assert_non_null(strstr(r.out, "rows read/bound"));
    process_free(&r);
}

/* A GPU's memory holds rows too: the golden one holds all of them, so each is brought in once. */
static void a_gpu_s_memory_is_cache(void **state)
{
    const struct tiny_runs *const t = *state;
    json_t *const bound = json_of(call(t, "bound", WORDS(GRAPH, "--epochs", "2", "--json")));
    json_t *const run = json_of(call(t, "run", RUN("--system", "gnndrive", TIGHT, "--bound", "--compute", "auto")));
    assert_int_equal(json_integer_value(json_object_get(run, "bound_bytes")),
                     json_integer_value(json_object_get(bound, "distinct_rows")) * 4096);
    json_decref(run);
    json_decref(bound);
}

/* Reads the least memory from the output, and asks for it, for a byte less, and for shares of a small working set. */
static void memory_holds_a_mini_batch(void **state)
{
    const struct tiny_runs *const t = *state;
    char least[32], less[32];
    json_t *bound = json_of(call(t, "bound", WORDS(GRAPH, "--json")));
    const json_int_t bytes = json_integer_value(json_object_get(bound, "largest_batch_rows")) * 4096;
    assert_string_equal(tiny_runs_text(bound, "premise"), "all rows of a mini-batch are in memory together");
    assert_int_equal(json_integer_value(json_object_get(bound, "batch_digest_version")), 2);
    json_decref(bound);
    (void)snprintf(least, sizeof least, "%lld", (long long)bytes);
    (void)snprintf(less, sizeof less, "%lld", (long long)bytes - 1);
    bound = json_of(call(t, "bound", WORDS(GRAPH, "--memory", least, "--json")));
    assert_int_equal(json_array_size(json_object_get(bound, "memory")), 1);
    json_decref(bound);
    process_expect(call(t, "bound", WORDS(GRAPH, "--memory", less)), 2, "is below the largest mini-batch",
                   "too little");
    /* one mini-batch is the working set: none of the shares below 1 holds it */
    struct process_result r = call(t, "bound", WORDS(GRAPH, "--max-batches", "1", "--epochs", "1"));
    assert_int_equal(r.exit_status, 0);
    assert_non_null(strstr(r.out, "| batch digest (version 2) |"));
    assert_non_null(strstr(r.out, "Premise: all rows of a mini-batch are in memory together."));
    assert_non_null(strstr(r.out, "Smaller memory sizes are left out (6)."));
    assert_non_null(strstr(r.out, "| 1.000 |"));
    assert_null(strstr(r.out, "| 0.700 |"));
    process_free(&r);
}

static void change_records(const struct tiny_runs *t, const char *statements)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(t->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A limit that leaves the page cache out, one that no mini-batch fits in, and digests of another version: a record gets
 * neither a number nor an error. */
static void such_limits_have_none(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *change, *reason;
    } cases[] = {
        {"UPDATE runs SET cap_enforcement = 'in-program'", "leaves the page cache out (--cap program)"},
        {"UPDATE runs SET cap_enforcement = 'simulated'; UPDATE config SET value = '40K' WHERE key = 'memory'",
         "is below its largest mini-batch"},
        {"DELETE FROM environment WHERE key = 'batch_digest.version'",
         "its batch digests have version 1, this program makes version 2, and the two cannot be compared"},
    };
    char number[32];
    json_t *run = json_of(call(t, "run", RUN("--system", "gnndrive", TIGHT, "--max-batches", "2")));
    (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(run, "run_id")));
    json_decref(run);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        change_records(t, cases[i].change);
        struct process_result r = call(t, "bound", WORDS(number, "--json"));
        if (r.exit_status != 0 || strstr(r.err, cases[i].reason) == NULL)
            fail_msg("case %zu: exit %d: %s", i, r.exit_status, r.err);
        run = json_of(r);
        assert_true(json_is_null(json_object_get(run, "bound_bytes")));
        json_decref(run);
    }
}

static void more_memory_never_raises_it(void **state)
{
    const struct tiny_runs *const t = *state;
    json_t *const bound =
        json_of(call(t, "bound", WORDS(GRAPH, "--epochs", "2", "--profile", "tests/golden/machine.ini", "--json")));
    const json_t *const lines = json_object_get(bound, "memory"), *const epochs = json_object_get(bound, "epochs");
    json_int_t before = INT64_MAX, asked = 0;
    assert_true(json_array_size(lines) > 5);
    assert_int_equal(json_array_size(epochs), EPOCHS);
    for (size_t e = 0; e < EPOCHS; e++)
        asked += json_integer_value(json_object_get(json_array_get(epochs, e), "rows_asked"));
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *const line = json_array_get(lines, i);
        const json_int_t rows = json_integer_value(json_object_get(line, "bound_rows"));
        assert_true(rows <= before);
        assert_true(rows <= asked);
        /* two devices of 500 MB/s: the bytes at full speed */
        expect_near(json_real_value(json_object_get(line, "bound_s")), (double)rows * 4096 / 1e9);
        assert_true(json_real_value(json_object_get(line, "random_s")) >=
                    json_real_value(json_object_get(line, "bound_s")));
        before = rows;
    }
    assert_int_equal(before, json_integer_value(json_object_get(bound, "distinct_rows"))); /* all fit */
    json_decref(bound);
}

static void refusals_say_what_to_do(void **state)
{
    const struct tiny_runs *const t = *state;
    process_expect(call(t, "bound", WORDS("--json")), 2, "name a workload by --dataset", "no workload");
    process_expect(call(t, "bound", WORDS("one")), 2, "is no run's number", "a word");
    process_expect(call(t, "bound", WORDS("1", GRAPH)), 2, "not both", "both");
    process_expect(call(t, "bound", WORDS("999999")), 2, "has no run", "a run that is not there");
    process_expect(call(t, "bound", WORDS(GRAPH, "--accesses", "100")), 1, "raise --accesses", "too many accesses");
    process_expect(call(t, "bound", WORDS(GRAPH, "--profile", "nosuch")), 2, "no profile \"nosuch\" in ",
                   "no such profile");
    process_expect(call(t, "bound", WORDS(GRAPH, "--profile", "gnndrive-papr")), 2,
                   "\"?; `oocgnn list profiles` has them all", "a profile's typing error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_brings_in_less),
        cmocka_unit_test(what_open_brings_in_counts),
        cmocka_unit_test(what_is_brought_in_before_every_epoch_counts),
        cmocka_unit_test(other_mini_batches_have_none),
        cmocka_unit_test(a_run_gets_it_later),
        cmocka_unit_test(a_gpu_s_memory_is_cache),
        cmocka_unit_test(more_memory_never_raises_it),
        cmocka_unit_test(memory_holds_a_mini_batch),
        cmocka_unit_test(such_limits_have_none),
        cmocka_unit_test(refusals_say_what_to_do),
    };
    return cmocka_run_group_tests_name("bound_cli", tests, tiny_runs_prepare, tiny_runs_tear_down);
}
