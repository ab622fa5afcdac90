/* SPDX-License-Identifier: MIT */
/* A tiny generated dataset and runs of the program on it, for tests from outside. */
#ifndef GNN_TESTS_TINY_RUNS_H
#define GNN_TESTS_TINY_RUNS_H

#include "tests/support/process.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TINY_ARGUMENTS_MAX = 64 };

struct tiny_runs {
    char *dir;
    char data[600], db[600];
    json_t *kept;   /* tiny_runs_once: the records so far, by their words */
    bool confined;  /* a memory cgroup may be made here */
    bool throttled; /* … and the device can be slowed down */
};

/* cmocka's group set-up and tear-down: *state is a struct tiny_runs. tiny_runs_prepare does not ask what the machine
 * can do, which makes a control group for a moment: confined and throttled stay false. */
int tiny_runs_set_up(void **state);
int tiny_runs_prepare(void **state);
int tiny_runs_tear_down(void **state);

/* `oocgnn run` on the dataset: the usual arguments, then more (NULL-terminated); a later one wins. */
void tiny_runs_arguments(const struct tiny_runs *t, const char *const *more, const char **argv);

/* Runs to the end; the JSON object of the record, which must be there. The caller decrefs it. */
json_t *tiny_runs_json(const struct tiny_runs *t, const char *const *more, int *exit_status);

/* The same, run at the first call alone: later ones with the same words are given its record again, which they leave as
 * it is. For simulated runs: such a record is the same whenever it is made. */
json_t *tiny_runs_once(const struct tiny_runs *t, const char *const *more, int *exit_status);

/* The same of a run that must end so: words of `first`, then of `more`, both NULL-terminated. */
json_t *tiny_runs_must(const struct tiny_runs *t, int exit_status, const char *const *first, const char *const *more);

/* Fails the test unless the run's status is that and its reasons hold the part; decrefs it. */
void tiny_runs_expect_reason(json_t *run, const char *status, const char *part);

/* Returns the JSON object that a command printed. Fails the test if it printed none or ended with another status. Frees
 * the result. The caller decrefs the object. */
json_t *tiny_runs_parse(struct process_result r, int exit_status, const char *command);

/* Reads the losses that --trace-loss wrote, at most max; returns how many. */
uint32_t tiny_runs_losses(const char *path, double *losses, uint32_t max);

/* The newest run in the database. */
json_t *tiny_runs_last(const struct tiny_runs *t);

/* A process of a run on this dataset is alive. */
bool tiny_runs_worker_left(const struct tiny_runs *t);

/* Waits until none is, or it has to be taken for a hang. */
void tiny_runs_await_end(const struct tiny_runs *t);

/* The worker of the supervisor, once there is one; 0 where none comes (hang.h). */
pid_t tiny_runs_worker_of(pid_t supervisor);

/* Starts such a run in the background and waits, as long as that takes, until its first epoch is over. */
pid_t tiny_runs_start_training(const struct tiny_runs *t, const char *const *more);

/* "" where the key is missing or null. */
const char *tiny_runs_text(const json_t *object, const char *key);

void tiny_runs_nap(double seconds);

#endif
