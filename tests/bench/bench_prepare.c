/* SPDX-License-Identifier: MIT */
/* Preparing a generated dataset against fio writing as many bytes, in alternate rounds.
 *
 *     bench_prepare [--dir build/bench] [--oocgnn build/gcc/oocgnn] [--dataset papers100m] [--rounds 2]
 *
 * Each round writes the dataset at 1/100 and 1/10 into --dir (6.5 GB are needed there), and fio a file of the same
 * size: sequential direct writes of 1 MiB, 8 in flight, without the sync at the end, which is in our time. Target: no
 * more than twice fio's. What scale 1 would take follows from the two scales, time and memory along a line of bytes. */
#include "tests/bench/arguments.h"
#include "tests/bench/fio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

enum { SCALES = 2, TIMES_OF_FIO = 2 };
static const uint32_t divisors[SCALES] = {100, 10};

struct bench {
    const char *dir, *oocgnn, *dataset;
    uint32_t rounds;
};

/* Of the fastest round. */
struct preparation {
    double seconds, fio_s, bytes, peak_bytes;
};

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the folder ---- */

/* Adds up the files of the dataset's folder, and removes them with it where that is wanted. */
static double bytes_of(const char *folder, bool remove_all)
{
    double bytes = 0;
    DIR *const dir = opendir(folder);
    if (dir == NULL)
        return 0;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        struct stat info;
        if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
            continue;
        bytes += (double)info.st_size;
        if (remove_all)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    (void)closedir(dir);
    if (remove_all)
        (void)rmdir(folder);
    return bytes;
}

/* ---- both ---- */

/* Runs argv and says what it took; its standard output, the folder's name, goes to the errors. */
static bool run_program(const char *const *argv, double *seconds, double *peak_bytes)
{
    posix_spawn_file_actions_t actions;
    struct rusage used;
    pid_t child;
    int exit_status = -1;
    const double start_s = now_s();
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    const int rc = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0 || wait4(child, &exit_status, 0, &used) != child || exit_status != 0)
        return false;
    *seconds = now_s() - start_s;
    *peak_bytes = (double)used.ru_maxrss * 1024;
    return true;
}

static bool measure_ours(const struct bench *b, uint32_t divisor, struct preparation *out)
{
    char folder[600], scale[32];
    (void)snprintf(folder, sizeof folder, "%s/prepare", b->dir);
    (void)snprintf(scale, sizeof scale, "1/%u", divisor);
    const char *const argv[] = {b->oocgnn, "prepare", b->dataset, "--scale", scale, "--out", folder, "--quiet", NULL};
    (void)bytes_of(folder, true);
    const bool done = run_program(argv, &out->seconds, &out->peak_bytes);
    out->bytes = bytes_of(folder, true);
    if (!done)
        (void)fprintf(stderr, "bench_prepare: %s prepare %s --scale %s failed\n", b->oocgnn, b->dataset, scale);
    return done;
}

static bool measure_fio(const struct bench *b, double bytes, double *seconds)
{
    char filename[600], size[64];
    double bytes_per_s = 0;
    (void)snprintf(filename, sizeof filename, "--filename=%s/bench_prepare.data", b->dir);
    (void)snprintf(size, sizeof size, "--size=%.0fm", bytes / (1 << 20));
    const char *const argv[] = {FIO_IN_LARGE_PAGES,
                                "--name=bench",
                                "--ioengine=io_uring",
                                "--direct=1",
                                "--rw=write",
                                "--gtod_reduce=1",
                                size,
                                "--bs=1m",
                                "--iodepth=8",
                                "--end_fsync=1",
                                "--output-format=json",
                                filename,
                                NULL};
    const bool done = fio_figure(argv, "write", "bw_bytes", &bytes_per_s);
    (void)unlink(filename + strlen("--filename="));
    if (!done)
        (void)fprintf(stderr, "bench_prepare: fio did not run or printed no bandwidth; install fio\n");
    *seconds = bytes / bytes_per_s;
    return done;
}

static bool run_round(const struct bench *b, uint32_t round, struct preparation *fastest)
{
    for (uint32_t i = 0; i < SCALES; i++) {
        struct preparation p = {.seconds = 0};
        if (!measure_ours(b, divisors[i], &p) || !measure_fio(b, p.bytes, &p.fio_s))
            return false;
        const double fio_s = round > 0 && fastest[i].fio_s < p.fio_s ? fastest[i].fio_s : p.fio_s;
        if (round == 0 || p.seconds < fastest[i].seconds)
            fastest[i] = p;
        fastest[i].fio_s = fio_s;
    }
    return true;
}

/* ---- report ---- */

static double on_line(double x, double x0, double y0, double x1, double y1)
{
    return y1 + (x - x1) * (y1 - y0) / (x1 - x0);
}

static void report(const struct bench *b, const struct preparation *p)
{
    for (uint32_t i = 0; i < SCALES; i++)
        printf("prepare %s at 1/%-3u: %6.0f MB in %6.2f s, %5.0f MB/s, peak %5.0f MB; fio %6.2f s, %.2f times its "
               "time%s\n",
               b->dataset, divisors[i], p[i].bytes * 1e-6, p[i].seconds, p[i].bytes / p[i].seconds * 1e-6,
               p[i].peak_bytes * 1e-6, p[i].fio_s, p[i].seconds / p[i].fio_s,
               p[i].seconds > TIMES_OF_FIO * p[i].fio_s ? "  above the target of twice" : "");
    const double whole = p[1].bytes * divisors[1];
    printf("scale 1, on these lines: %.0f GB in %.0f s with %.2f GB of memory\n", whole * 1e-9,
           on_line(whole, p[0].bytes, p[0].seconds, p[1].bytes, p[1].seconds),
           on_line(whole, p[0].bytes, p[0].peak_bytes, p[1].bytes, p[1].peak_bytes) * 1e-9);
}

static bool read_arguments(struct bench *b, int argc, char **argv)
{
    const struct bench_option options[] = {{"--dir", &b->dir, NULL},
                                           {"--oocgnn", &b->oocgnn, NULL},
                                           {"--dataset", &b->dataset, NULL},
                                           {"--rounds", NULL, &b->rounds},
                                           {NULL, NULL, NULL}};
    return bench_arguments(options, argc, argv) && b->rounds > 0;
}

int main(int argc, char **argv)
{
    struct bench b = {.dir = "build/bench", .oocgnn = "build/gcc/oocgnn", .dataset = "papers100m", .rounds = 2};
    struct preparation fastest[SCALES] = {{.seconds = 0}};
    if (!read_arguments(&b, argc, argv)) {
        (void)fprintf(stderr, "usage: bench_prepare [--dir build/bench] [--oocgnn build/gcc/oocgnn] "
                              "[--dataset papers100m] [--rounds N]\n");
        return 2;
    }
    if (mkdir(b.dir, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "bench_prepare: %s: %s\n", b.dir, strerror(errno));
        return 1;
    }
    for (uint32_t round = 0; round < b.rounds; round++)
        if (!run_round(&b, round, fastest))
            return 1;
    report(&b, fastest);
    return 0;
}
