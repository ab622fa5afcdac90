/* SPDX-License-Identifier: MIT */
/* DiskGNN's packing against the drive, and batched against row by row.
 *
 *     bench_packing [--dir build/bench] [--oocgnn build/gcc/oocgnn] [--data data] [--memory 320M] [--rounds 3]
 *                   [--profile NAME]
 *
 * Packs papers100m at 1/100 (which is to be prepared: make bench does) under a cap, in alternate rounds with fio's
 * sequential direct reads and writes of 1 MiB, 32 in flight, in the same directory. Samples and tables are made once;
 * packing, of which only its own time counts, is done again each round. Targets: the bytes that batched packing reads
 * and writes take fio no less than 80 % of its time; row by row it takes 5 times as long or longer.
 *
 * --profile: in the simulated world, where there is no fio to compare with. */
#include "tests/bench/arguments.h"
#include "tests/bench/fio.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/stat.h>

enum { ROUNDS_MAX = 16, WAYS = 2, WORDS_MAX = 48 };
static const char *const ways[WAYS] = {"batched", "individual"};

struct bench {
    const char *dir, *oocgnn, *data, *memory, *profile;
    uint32_t rounds;
};

/* What one packing did. */
struct packing {
    double seconds, reading_s, read_bytes, written_bytes;
};

static double best(const double *values, uint32_t count)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* ---- fio ---- */

static bool measure_fio(const struct bench *b, const char *rw, double *bytes_per_s)
{
    char filename[600], direction[32];
    (void)snprintf(filename, sizeof filename, "--filename=%s/bench_packing.data", b->dir);
    (void)snprintf(direction, sizeof direction, "--rw=%s", rw);
    const char *const argv[] = {
        FIO_IN_LARGE_PAGES, "--name=bench", "--ioengine=io_uring", "--direct=1",           direction, "--gtod_reduce=1",
        "--size=1g",        "--bs=1m",      "--iodepth=32",        "--output-format=json", filename,  NULL};
    if (fio_figure(argv, rw, "bw_bytes", bytes_per_s))
        return true;
    (void)fprintf(stderr, "bench_packing: fio did not run or printed no bandwidth; install fio\n");
    return false;
}

/* ---- ours ---- */

/* The rows go, samples and tables stay. */
static void remove_rows(const struct bench *b)
{
    char pattern[600];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/diskgnn-*/*-cached", b->dir);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        (void)unlink(found.gl_pathv[i]);
    globfree(&found);
}

static void add(const char **argv, uint32_t *count, const char *const *words)
{
    for (; *words != NULL && *count < WORDS_MAX - 1; words++)
        argv[(*count)++] = *words;
    argv[*count] = NULL;
}
#define ADD(...) add(argv, &count, (const char *const[]){__VA_ARGS__, NULL})

static bool figures_of(const char *text, struct packing *out)
{
    json_t *const root = json_loads(text, 0, NULL);
    const json_t *const epoch = json_array_get(json_object_get(root, "epochs"), 0);
    const json_t *const figures = json_object_get(epoch, "figures");
    out->seconds = 1e-9 * json_number_value(json_object_get(figures, "pack_prepare_ns"));
    out->reading_s = 1e-9 * json_number_value(json_object_get(figures, "pack_read_prepare_ns"));
    out->read_bytes = json_number_value(json_object_get(figures, "pack_read_prepare_bytes"));
    out->written_bytes = json_number_value(json_object_get(figures, "pack_written_prepare_bytes"));
    json_decref(root);
    return out->seconds > 0;
}

static bool measure_ours(const struct bench *b, uint32_t way, struct packing *out)
{
    const char *argv[WORDS_MAX];
    char packing[64], place[600], db[600];
    uint32_t count = 0;
    (void)snprintf(packing, sizeof packing, "diskgnn.packing=%s", ways[way]);
    (void)snprintf(place, sizeof place, "diskgnn.prepare_dir=%s", b->dir);
    (void)snprintf(db, sizeof db, "%s/bench_packing.db", b->dir);
    ADD(b->oocgnn, "run", "--system", "diskgnn", "--dataset", "papers100m", "--scale", "1/100", "--data", b->data);
    ADD("--preset", "gnndrive", "--id-bytes", "4", "--dim", "128", "--memory", b->memory, "--epochs", "1");
    ADD("--max-batches", "1", "--evaluate", "never", "--db", db, "--json", "--quiet", "--set", packing);
    if (b->profile != NULL)
        ADD("--world", "simulated", "--profile", b->profile, "--compute", "cpu");
    else
        ADD("--set", place);
    remove_rows(b);
    char *const text = output_of((char *const *)argv);
    const bool done = text != NULL && figures_of(text, out);
    free(text);
    if (!done)
        (void)fprintf(stderr, "bench_packing: a run did not pack: %s run --system diskgnn ... --memory %s --set %s\n",
                      b->oocgnn, b->memory, packing);
    return done;
}

/* ---- comparison ---- */

struct rounds {
    double read[ROUNDS_MAX], write[ROUNDS_MAX]; /* fio, bytes per second */
    struct packing fastest[WAYS];
};

static bool run_round(const struct bench *b, uint32_t round, struct rounds *r)
{
    r->read[round] = r->write[round] = 0;
    if (b->profile == NULL && (!measure_fio(b, "write", &r->write[round]) || !measure_fio(b, "read", &r->read[round])))
        return false;
    for (uint32_t way = 0; way < WAYS; way++) {
        struct packing p;
        if (!measure_ours(b, way, &p))
            return false;
        if (round == 0 || p.seconds < r->fastest[way].seconds)
            r->fastest[way] = p;
    }
    return true;
}

static void report(const struct bench *b, const struct rounds *r)
{
    for (uint32_t way = 0; way < WAYS; way++) {
        const struct packing *const p = &r->fastest[way];
        printf("packing %-10s under %s: %7.0f MB read, %6.0f MB written in %6.2f s, %.2f s of it reading\n", ways[way],
               b->memory, p->read_bytes * 1e-6, p->written_bytes * 1e-6, p->seconds, p->reading_s);
    }
    const struct packing *const batched = &r->fastest[0];
    const double times = r->fastest[1].seconds / batched->seconds;
    if (b->profile == NULL) {
        const double read = best(r->read, b->rounds), write = best(r->write, b->rounds);
        const double fio_s = batched->read_bytes / read + batched->written_bytes / write;
        printf("fio reads %.0f MB/s and writes %.0f MB/s: %.2f s for the same bytes, ratio %5.1f %%%s\n", read * 1e-6,
               write * 1e-6, fio_s, 100 * fio_s / batched->seconds,
               fio_s < 0.8 * batched->seconds ? "  below the target of 80 %" : "");
        printf("at fio's speed it would be %.1f times faster than row by row\n", r->fastest[1].seconds / fio_s);
    }
    printf("batched packing is %.1f times faster than row by row%s\n", times,
           times < 5 ? "  below the target of 5 times" : "");
}

static bool read_arguments(struct bench *b, int argc, char **argv)
{
    const struct bench_option options[] = {{"--dir", &b->dir, NULL},
                                           {"--oocgnn", &b->oocgnn, NULL},
                                           {"--data", &b->data, NULL},
                                           {"--memory", &b->memory, NULL},
                                           {"--profile", &b->profile, NULL},
                                           {"--rounds", NULL, &b->rounds},
                                           {NULL, NULL, NULL}};
    return bench_arguments(options, argc, argv) && b->rounds > 0 && b->rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    struct bench b = {
        .dir = "build/bench", .oocgnn = "build/gcc/oocgnn", .data = "data", .memory = "320M", .rounds = 3};
    static struct rounds r;
    char path[600];
    if (!read_arguments(&b, argc, argv)) {
        (void)fprintf(stderr,
                      "usage: bench_packing [--dir build/bench] [--oocgnn build/gcc/oocgnn] [--data data] "
                      "[--memory 320M] [--rounds 1..%d] [--profile NAME]\n",
                      ROUNDS_MAX);
        return 2;
    }
    if (mkdir(b.dir, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "bench_packing: %s: %s\n", b.dir, strerror(errno));
        return 1;
    }
    if (b.profile != NULL)
        b.rounds = 1; /* the same every time */
    bool done = true;
    for (uint32_t round = 0; done && round < b.rounds; round++)
        done = run_round(&b, round, &r);
    (void)snprintf(path, sizeof path, "%s/bench_packing.data", b.dir);
    (void)unlink(path);
    if (done)
        report(&b, &r);
    return done ? 0 : 1;
}
