/* SPDX-License-Identifier: MIT */
#include "tests/support/tiny_runs.h"

#include "tests/support/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

void tiny_runs_arguments(const struct tiny_runs *t, const char *const *more, const char **argv)
{
    const char *const usual[] = {process_program(), "run",   "--dataset", "papers100m", "--scale", "1/4000",
                                 "--data",          t->data, "--db",      t->db,        "--batch", "32",
                                 "--hidden",        "16",    "--fanout",  "5,5",        "--json",  "--quiet"};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        argv[count++] = usual[i];
    while (*more != NULL && count < TINY_ARGUMENTS_MAX - 1)
        argv[count++] = *more++;
    assert_null(*more);
    argv[count] = NULL;
}

json_t *tiny_runs_json(const struct tiny_runs *t, const char *const *more, int *exit_status)
{
    const char *argv[TINY_ARGUMENTS_MAX];
    tiny_runs_arguments(t, more, argv);
    struct process_result r = process_run(argv);
    *exit_status = r.exit_status;
    json_error_t error;
    json_t *const run = json_loads(r.out, 0, &error);
    if (run == NULL)
        print_error("exit %d, no JSON: %s\n%s\n", r.exit_status, error.text, r.err);
    process_free(&r);
    assert_non_null(run);
    return run;
}

json_t *tiny_runs_once(const struct tiny_runs *t, const char *const *more, int *exit_status)
{
    json_t *const words = json_array();
    for (const char *const *word = more; *word != NULL; word++)
        assert_int_equal(json_array_append_new(words, json_string(*word)), 0);
    char *const key = json_dumps(words, JSON_COMPACT);
    json_t *kept = json_object_get(t->kept, key);
    if (kept == NULL) {
        json_t *const run = tiny_runs_json(t, more, exit_status);
        kept = json_pack("{s:i, s:o}", "exit", *exit_status, "run", run);
        assert_int_equal(json_object_set_new(t->kept, key, kept), 0);
    }
    free(key);
    json_decref(words);
    *exit_status = (int)json_integer_value(json_object_get(kept, "exit"));
    return json_incref(json_object_get(kept, "run"));
}

json_t *tiny_runs_must(const struct tiny_runs *t, int exit_status, const char *const *first, const char *const *more)
{
    const char *words[TINY_ARGUMENTS_MAX];
    size_t count = 0;
    int status;
    while (*first != NULL && count < TINY_ARGUMENTS_MAX - 1)
        words[count++] = *first++;
    while (*more != NULL && count < TINY_ARGUMENTS_MAX - 1)
        words[count++] = *more++;
    assert_null(*more);
    words[count] = NULL;
    json_t *const run = tiny_runs_json(t, words, &status);
    if (status != exit_status) {
        char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
        fail_msg("exit %d, expected %d: %s", status, exit_status, reasons);
    }
    return run;
}

void tiny_runs_expect_reason(json_t *run, const char *status, const char *part)
{
    char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
    assert_string_equal(tiny_runs_text(run, "status"), status);
    if (strstr(reasons, part) == NULL)
        fail_msg("no \"%s\" in %s", part, reasons);
    free(reasons);
    json_decref(run);
}

uint32_t tiny_runs_losses(const char *path, double *losses, uint32_t max)
{
    FILE *const file = fopen(path, "r");
    uint32_t count = 0;
    unsigned long epoch, batch;
    unsigned correct;
    assert_non_null(file);
    while (count < max && fscanf(file, "%lu %lu %la %u", &epoch, &batch, &losses[count], &correct) == 4)
        count++;
    assert_int_equal(fclose(file), 0);
    return count;
}

json_t *tiny_runs_last(const struct tiny_runs *t)
{
    const char *const argv[] = {process_program(), "report", "--last", "1", "--json", "--points", "--db", t->db, NULL};
    struct process_result r = process_run(argv);
    json_t *const run = json_loads(r.out, 0, NULL);
    if (run == NULL)
        print_error("%s", r.err);
    process_free(&r);
    assert_non_null(run);
    return run;
}

bool tiny_runs_worker_left(const struct tiny_runs *t)
{
    char pattern[700];
    (void)snprintf(pattern, sizeof pattern, "data=%s", t->data);
    const char *const argv[] = {"pgrep", "-f", pattern, NULL};
    struct process_result r = process_run(argv);
    assert_true(r.exit_status == 0 || r.exit_status == 1); /* anything else: no pgrep (package procps) */
    const bool left = r.exit_status == 0;
    process_free(&r);
    return left;
}

void tiny_runs_await_end(const struct tiny_runs *t)
{
    uint32_t naps = 0;
    while (tiny_runs_worker_left(t) && patient(&naps))
        continue;
}

pid_t tiny_runs_worker_of(pid_t supervisor)
{
    char parent[32];
    pid_t worker = 0;
    (void)snprintf(parent, sizeof parent, "%ld", (long)supervisor);
    const char *const argv[] = {"pgrep", "-P", parent, NULL};
    uint32_t naps = 0;
    do {
        struct process_result r = process_run(argv);
        worker = (pid_t)strtol(r.out, NULL, 10);
        process_free(&r);
    } while (worker == 0 && patient(&naps));
    return worker;
}

pid_t tiny_runs_start_training(const struct tiny_runs *t, const char *const *more)
{
    const char *words[TINY_ARGUMENTS_MAX] = {"--trace-loss"}, *argv[TINY_ARGUMENTS_MAX];
    char trace[700];
    uint32_t count = 2;
    (void)snprintf(trace, sizeof trace, "%s/first-epoch.trace", t->dir);
    (void)unlink(trace);
    words[1] = trace;
    while (*more != NULL)
        words[count++] = *more++;
    tiny_runs_arguments(t, words, argv);
    const pid_t supervisor = process_start(argv);
    struct stat info = {.st_size = 0};
    uint32_t naps = 0;
    while ((stat(trace, &info) != 0 || info.st_size == 0) && patient(&naps))
        continue;
    assert_true(info.st_size > 0); /* the loss trace is written out after every epoch */
    return supervisor;
}

json_t *tiny_runs_parse(struct process_result r, int exit_status, const char *command)
{
    json_t *const root = json_loads(r.out, 0, NULL);
    if (root == NULL || r.exit_status != exit_status)
        fail_msg("%s: exit %d, expected %d: %s%s", command, r.exit_status, exit_status, r.out, r.err);
    process_free(&r);
    return root;
}

const char *tiny_runs_text(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

void tiny_runs_nap(double seconds)
{
    const struct timespec ts = {.tv_sec = (time_t)seconds,
                                .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&ts, NULL);
}

int tiny_runs_prepare(void **state)
{
    struct tiny_runs *const t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->dir = process_temp_dir();
    t->kept = json_object();
    (void)snprintf(t->data, sizeof t->data, "%s/data", t->dir);
    (void)snprintf(t->db, sizeof t->db, "%s/runs.db", t->dir);
    const char *const prepare[] = {process_program(), "prepare", "papers100m", "--scale", "1/4000", "--dim", "32",
                                   "--data",          t->data,   "--quiet",    NULL};
    struct process_result r = process_run(prepare);
    if (r.exit_status != 0)
        print_error("%s", r.err);
    const bool ready = r.exit_status == 0;
    process_free(&r);
    *state = t;
    return ready ? 0 : -1;
}

int tiny_runs_set_up(void **state)
{
    const int failed = tiny_runs_prepare(state);
    struct tiny_runs *const t = *state;
    const char *const doctor[] = {process_program(), "doctor", "--data", t->dir, NULL};
    struct process_result r = process_run(doctor);
    t->confined = strstr(r.out, "ok       memory cgroup") != NULL;
    t->throttled =
        t->confined && strstr(r.out, "ok       device throttle") != NULL && strstr(r.out, "ok       device ") != NULL;
    process_free(&r);
    return failed;
}

int tiny_runs_tear_down(void **state)
{
    struct tiny_runs *const t = *state;
    process_remove_tree(t->dir);
    json_decref(t->kept);
    free(t->dir);
    free(t);
    return 0;
}
