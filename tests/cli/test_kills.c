/* SPDX-License-Identifier: MIT */
/* Runs of every system, and preparations, that are killed at any moment: the worker, the supervisor or both, by a
 * signal that asks or one that does not. Whatever was going on, the run ends; the next one works; after it no process,
 * control group or half-written file is left, and the database is whole and calls no dead run a running one.
 * `make kills N=1000` makes a campaign of it.
 *
 *   OOCGNN_KILLS        kills; 6
 *   OOCGNN_TEST_SEED    seed of the first; the others follow */
#include "harness/base/rng.h"
#include "harness/system/system.h"
#include "tests/support/hang.h"
#include "tests/support/seed.h"
#include "tests/support/tiny_runs.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { USUAL_KILLS = 6, WORDS_MAX = 40, SYSTEMS_MAX = 32, WORLDS = 2, BREACHES_MAX = 20 };

static const char dataset[] = "papers100m-1_4000";

/* With these the mechanisms of a system are at work in a short run. */
static const struct {
    const char *system;
    const char *words[7]; /* the last: NULL */
} bases[] = {
    {"ginex", {"ginex.superbatch=3", "ginex.feature_cache=400K"}},
    {"agnes",
     {"agnes.hyperbatch=3", "agnes.feature_cache=100K", "agnes.layout=random", "agnes.overlap=epochs",
      "agnes.first=1"}},
    {"diskgnn", {"diskgnn.segment=4", "diskgnn.disk_rows=500", "diskgnn.partitions=4", "diskgnn.checkpoint=64K"}},
    {"mariusgnn", {"mariusgnn.partitions=15", "mariusgnn.capacity=6", "mariusgnn.policy=replace"}},
    {"presort",
     {"presort.hyperbatch=3", "presort.row_memory=1", "presort.classes=sorted", "presort.hot=run", "presort.reuse=2",
      "presort.topology=swept"}},
};

enum target { WORKER, SUPERVISOR, BOTH, TARGETS };
static const char *const target_words[] = {"the worker", "the supervisor", "both"};
static const int signals[] = {SIGKILL, SIGINT, SIGTERM};
static const char *const signal_words[] = {"SIGKILL", "SIGINT", "SIGTERM"};

struct campaign {
    const struct tiny_runs *t;
    char db[700];
    char *pristine;                      /* what the dataset's files are: names and sizes */
    double seconds[SYSTEMS_MAX][WORLDS]; /* a run takes; 0: not known yet */
    double prepare_s;
    uint32_t system_count, breaches;
};

/* What is to be killed. */
struct victim {
    const char *system; /* NULL: a preparation */
    uint32_t number, world, signal;
    enum target target;
    const char *words[WORDS_MAX];
    double after; /* of the time that it takes when nobody is killed */
    double after_s;
    char what[400];
};

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void breach(struct campaign *c, uint64_t seed, const struct victim *v, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void breach(struct campaign *c, uint64_t seed, const struct victim *v, const char *format, ...)
{
    va_list args;
    c->breaches++;
    (void)fprintf(stderr, "breach: ");
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n    %s\n    OOCGNN_TEST_SEED=%llu OOCGNN_KILLS=1 OOCGNN=%s %s\n", v->what,
                  (unsigned long long)seed, process_program(), program_invocation_name);
}

/* ---- what is run ---- */

static void add_words(struct victim *v, uint32_t *count, const char *const *more)
{
    for (; *more != NULL; more++) {
        assert_true(*count < WORDS_MAX - 1);
        v->words[(*count)++] = *more;
    }
    v->words[*count] = NULL;
}
#define ADD(...) add_words(v, &count, (const char *const[]){__VA_ARGS__, NULL})

static void fill_run(struct victim *v, const char *db, bool workers)
{
    uint32_t count = 0;
    ADD("--system", v->system, "--epochs", "2", "--no-cold", "--db", db);
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        for (size_t w = 0; strcmp(bases[b].system, v->system) == 0 && bases[b].words[w] != NULL; w++)
            ADD("--set", bases[b].words[w]);
    if (v->world == 1) /* cold by nature */
        ADD("--cold", "--world", "simulated", "--profile", "tests/golden/machine.ini", "--dim", "32");
    if (workers)
        ADD("--workers", "2", "--batch", "16", "--compute", "cpu");
}

static const char **prepare_words(const struct campaign *c, const char *data, const char **argv)
{
    const char *const words[] = {process_program(), "prepare", "papers100m", "--scale", "1/4000", "--dim", "32",
                                 "--data",          data,      "--quiet",    NULL};
    (void)c;
    memcpy(argv, words, sizeof words);
    return argv;
}

static pid_t start(const struct campaign *c, const struct victim *v, const char *other)
{
    const char *argv[TINY_ARGUMENTS_MAX];
    if (v->system == NULL)
        return process_start(prepare_words(c, other, argv));
    tiny_runs_arguments(c->t, v->words, argv);
    return process_start(argv);
}

static void draw_victim(const struct campaign *c, struct gnn_rng *rng, struct victim *v)
{
    *v = (struct victim){.number = (uint32_t)gnn_rng_below(rng, c->system_count + 1),
                         .world = (uint32_t)gnn_rng_below(rng, WORLDS),
                         .target = (enum target)gnn_rng_below(rng, TARGETS),
                         .signal = (uint32_t)gnn_rng_below(rng, sizeof signals / sizeof *signals),
                         .after = 1.1 * gnn_rng_unit(rng)};
    const bool preparation = v->number == c->system_count;
    const struct gnn_system *const system = preparation ? NULL : gnn_systems[v->number];
    const bool workers = !preparation && gnn_rng_below(rng, 3) == 0 && system->workers_max > 1;
    if (preparation) {
        v->target = SUPERVISOR;
        v->world = 0;
    } else {
        v->system = system->name;
        fill_run(v, c->db, workers);
    }
    (void)snprintf(v->what, sizeof v->what, "%s, %s world%s: %s to %s after %.3f of its time",
                   preparation ? "prepare" : v->system, v->world == 0 ? "measured" : "simulated",
                   workers ? ", two workers" : "", signal_words[v->signal], target_words[v->target], v->after);
}

/* ---- killing ---- */

/* The first child, 0 where there is none (yet): looked up in /proc, which takes no time. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    long child = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)parent, (long)parent);
    FILE *const file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%ld", &child) != 1)
            child = 0;
        (void)fclose(file);
        return (pid_t)child;
    }
    struct process_result r = process_shell("pgrep -P %ld", (long)parent);
    child = strtol(r.out, NULL, 10);
    process_free(&r);
    return (pid_t)child;
}

static void strike(const struct victim *v, pid_t supervisor)
{
    const int number = signals[v->signal];
    tiny_runs_nap(v->after_s);
    const pid_t worker = v->target == SUPERVISOR ? 0 : child_of(supervisor);
    if (worker > 0)
        (void)kill(worker, number);
    if (v->target != WORKER || worker == 0)
        (void)kill(supervisor, number);
}

/* ---- what must hold afterwards ---- */

static char *listing(const char *dir)
{
    struct process_result r = process_shell("cd %s && find . -maxdepth 1 -type f -printf '%%P %%s\\n' | sort", dir);
    free(r.err);
    return r.out;
}

static int64_t query(const char *path, const char *sql, char *text, size_t text_bytes)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    text[0] = '\0';
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        value = sqlite3_column_int64(statement, 0);
        const unsigned char *const words = sqlite3_column_text(statement, 0);
        (void)snprintf(text, text_bytes, "%s", words == NULL ? "" : (const char *)words);
    } else {
        (void)snprintf(text, text_bytes, "%s", sqlite3_errmsg(db));
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return value;
}

static void check_database(struct campaign *c, uint64_t seed, const struct victim *v)
{
    char text[300];
    (void)query(c->db, "PRAGMA integrity_check", text, sizeof text);
    if (strcmp(text, "ok") != 0)
        breach(c, seed, v, "the database: %s", text);
    if (query(c->db, "SELECT count(*) FROM runs WHERE status = 'running'", text, sizeof text) != 0)
        breach(c, seed, v, "a dead run is called running, or: %s", text);
    if (query(c->db,
              "SELECT count(*) FROM runs WHERE (status = 'ok') != (valid IS 1 AND epochs_planned = "
              "(SELECT count(*) FROM epochs WHERE epochs.run_id = runs.run_id))",
              text, sizeof text) != 0)
        breach(c, seed, v, "a row is ok without all its epochs, or not ok with them: %s", text);
    if (query(c->db, "SELECT count(*) FROM runs WHERE status NOT IN ('ok') AND reasons IS NULL", text, sizeof text) !=
        0)
        breach(c, seed, v, "a row has no reason: %s", text);
}

static void check_leavings(struct campaign *c, uint64_t seed, const struct victim *v, pid_t supervisor,
                           const char *data)
{
    char dir[900];
    struct process_result r =
        process_shell("find %s -name '*.part*' -o -name '*-packing'; find /sys/fs/cgroup -type d -name 'oocgnn-%ld-*' "
                      "2>/dev/null; ls -d /dev/shm/oocgnn-%ld* 2>/dev/null",
                      data, (long)supervisor, (long)supervisor);
    if (r.out[0] != '\0')
        breach(c, seed, v, "left behind: %s", r.out);
    process_free(&r);
    (void)snprintf(dir, sizeof dir, "%s/%s", data, dataset);
    char *const now = listing(dir);
    if (strcmp(now, c->pristine) != 0)
        breach(c, seed, v, "the dataset was\n%sand is\n%s", c->pristine, now);
    free(now);
}

/* Waits for the worker, who notices a dead supervisor by himself. */
static void check_processes(struct campaign *c, uint64_t seed, const struct victim *v)
{
    tiny_runs_await_end(c->t);
    if (tiny_runs_worker_left(c->t))
        breach(c, seed, v, "a process is left");
}

static void check_next(struct campaign *c, uint64_t seed, const struct victim *v, const char *other)
{
    const char *argv[TINY_ARGUMENTS_MAX];
    if (v->system == NULL)
        (void)prepare_words(c, other, argv);
    else
        tiny_runs_arguments(c->t, v->words, argv);
    struct process_result r = process_run(argv);
    if (r.exit_status != 0)
        breach(c, seed, v, "the next one ends with %d: %s%s", r.exit_status, r.err, r.out);
    process_free(&r);
}

/* ---- the campaign ---- */

/* What systems prepare lies in directories beside the dataset's files. */
static void remove_prepared(const struct campaign *c)
{
    struct process_result r =
        process_shell("find %s/%s -mindepth 1 -maxdepth 1 -type d -exec rm -r {} +", c->t->data, dataset);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
}

/* Says when to strike: the first of a kind is run to its end, to see how long it takes. */
static void choose_moment(struct campaign *c, uint64_t seed, struct victim *v, const char *other)
{
    double *const seconds = v->system == NULL ? &c->prepare_s : &c->seconds[v->number][v->world];
    if (*seconds <= 0) {
        const double start_s = now_s();
        const int status = process_wait(start(c, v, other));
        *seconds = now_s() - start_s;
        if (status != 0)
            breach(c, seed, v, "without a signal it ends with %d", status);
        process_remove_tree(other);
    }
    v->after_s = v->after * *seconds;
}

static void kill_one(struct campaign *c, uint64_t seed, const char *other)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "kills"));
    struct victim v;
    draw_victim(c, &rng, &v);
    choose_moment(c, seed, &v, other);
    const char *const data = v.system == NULL ? other : c->t->data;
    if (gnn_rng_below(&rng, 2) == 0)
        remove_prepared(c);
    (void)unlink(c->db);
    const pid_t supervisor = start(c, &v, other);
    strike(&v, supervisor);
    const double struck_s = now_s();
    (void)process_wait(supervisor);
    if (now_s() - struck_s > HANG_WAIT_SECONDS - 1)
        breach(c, seed, &v, "it does not end");
    check_processes(c, seed, &v);
    check_next(c, seed, &v, other);
    check_leavings(c, seed, &v, supervisor, data);
    if (v.system != NULL)
        check_database(c, seed, &v);
    process_remove_tree(other);
}

static void what_is_killed_leaves_nothing(void **state)
{
    struct campaign c = {.t = *state};
    char dir[700], other[700];
    const char *const wanted = getenv("OOCGNN_KILLS");
    const uint64_t kills = wanted == NULL ? USUAL_KILLS : strtoull(wanted, NULL, 0), first = test_seed();
    (void)snprintf(dir, sizeof dir, "%s/%s", c.t->data, dataset);
    (void)snprintf(other, sizeof other, "%s/other", c.t->dir);
    (void)snprintf(c.db, sizeof c.db, "%s/kills.db", c.t->dir);
    c.pristine = listing(dir);
    while (gnn_systems[c.system_count] != NULL)
        c.system_count++;
    assert_true(c.system_count <= SYSTEMS_MAX);
    uint64_t done = 0;
    for (; done < kills && c.breaches < BREACHES_MAX; done++) {
        kill_one(&c, first + done, other);
        if ((done + 1) % 100 == 0)
            (void)fprintf(stderr, "%llu kills, %u breaches\n", (unsigned long long)done + 1, c.breaches);
    }
    print_message("%llu kills of %u systems and of preparations, %u breaches\n", (unsigned long long)done,
                  c.system_count, c.breaches);
    free(c.pristine);
    assert_int_equal(c.breaches, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_killed_leaves_nothing)};
    return cmocka_run_group_tests_name("kills", tests, tiny_runs_set_up, tiny_runs_tear_down);
}
