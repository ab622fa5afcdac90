/* SPDX-License-Identifier: MIT */
/* The time to start a command, and to start and record a run of the system null, which moves no data.
 *
 *     bench_startup [--dir build/bench] [--oocgnn build/gcc/oocgnn] [--data data] [--starts 21]
 *
 * Prints median and range over the starts: wall time, and CPU time of the process. The run uses papers100m at 1/1000
 * from --data, which is prepared if it is missing. */
#include "tests/bench/arguments.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { STARTS_MAX = 1000, PATH_BYTES = 600, COMMAND_TARGET_MS = 10, RUN_TARGET_MS = 100 };

struct times {
    double wall_ms[STARTS_MAX], cpu_ms[STARTS_MAX];
};

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

/* Runs argv without its output and measures it. Returns false if it cannot be started or fails. */
static bool start(const char *const *argv, double *wall_ms, double *cpu_ms)
{
    posix_spawn_file_actions_t actions;
    struct timespec begin, end;
    struct rusage used;
    pid_t child;
    int exit_status = -1;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    const int rc = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0 || wait4(child, &exit_status, 0, &used) != child || exit_status != 0)
        return false;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    *wall_ms = 1e3 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec);
    *cpu_ms = 1e3 * (seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime));
    return true;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints median and range of the values, and returns the median. */
static double print_values(const char *what, double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, ascending);
    const double median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    (void)printf("%s %.0f ms (%.0f to %.0f)", what, median, values[0], values[count - 1]);
    return median;
}

/* Measures the command after a start that brings its pages into memory. */
static bool measure(const char *what, double target_ms, const char *const *argv, uint32_t starts, struct times *t)
{
    double ignored;
    if (!start(argv, &ignored, &ignored)) {
        (void)fprintf(stderr, "bench_startup: %s cannot be started or failed\n", what);
        return false;
    }
    for (uint32_t i = 0; i < starts; i++)
        if (!start(argv, &t->wall_ms[i], &t->cpu_ms[i]))
            return false;
    (void)printf("%-28s ", what);
    const double wall_ms = print_values("wall", t->wall_ms, starts);
    (void)print_values(", cores", t->cpu_ms, starts);
    (void)printf("   target %.0f ms: %s\n", target_ms, wall_ms < target_ms ? "met" : "MISSED");
    return true;
}

int main(int argc, char **argv)
{
    static struct times times;
    const char *dir = "build/bench", *oocgnn = "build/gcc/oocgnn", *data = "data";
    char db[PATH_BYTES], meta[PATH_BYTES];
    uint32_t starts = 21;
    double ignored;
    const struct bench_option options[] = {{"--dir", &dir, NULL},
                                           {"--oocgnn", &oocgnn, NULL},
                                           {"--data", &data, NULL},
                                           {"--starts", NULL, &starts},
                                           {NULL, NULL, NULL}};
    if (!bench_arguments(options, argc, argv) || starts == 0 || starts > STARTS_MAX) {
        (void)fprintf(stderr, "usage: bench_startup [--dir DIR] [--oocgnn PROGRAM] [--data DIR] [--starts 1..%d]\n",
                      STARTS_MAX);
        return 2;
    }
    (void)snprintf(db, sizeof db, "%s/startup.db", dir);
    (void)snprintf(meta, sizeof meta, "%s/papers100m-1_1000/meta", data);
    (void)unlink(db);
    const char *const version[] = {oocgnn, "--version", NULL};
    const char *const prepare[] = {oocgnn, "prepare", "papers100m", "--scale", "1/1000", "--dim",
                                   "32",   "--data",  data,         "--quiet", NULL};
    const char *const null_run[] = {oocgnn,       "run",    "--system", "null", "--dataset", "papers100m",
                                    "--scale",    "1/1000", "--dim",    "32",   "--data",    data,
                                    "--evaluate", "never",  "--quiet",  "--db", db,          NULL};
    if (access(meta, F_OK) != 0 && !start(prepare, &ignored, &ignored)) {
        (void)fprintf(stderr, "bench_startup: `%s prepare` cannot be started or failed\n", oocgnn);
        return 1;
    }
    const bool done = measure("oocgnn --version", COMMAND_TARGET_MS, version, starts, &times) &&
                      measure("oocgnn run --system null", RUN_TARGET_MS, null_run, starts, &times);
    return done ? 0 : 1;
}
