/* SPDX-License-Identifier: MIT */
/* What scripts/gpu_check.sh asks of a GPU besides tests. Every command prints one JSON object a line.
 *
 *   bench_gpu probe      what is there: {"present":..,"stand_in":..,"name":..,"driver":..,"memory_bytes":..,"why":..}
 *   bench_gpu hog BYTES  takes the device's memory but BYTES, says "taken", and keeps it until it is ended
 *   bench_gpu rates [modelled]
 *                        what it does at most (harness/calibrate/gpu.h), and the shapes that check it; modelled: of a
 *                        modelled GPU, to try the command
 *   bench_gpu step MODEL SIZE GEMM BANDWIDTH GATHER BUS [FOLDER]
 *                        training steps against the roofline of these rates; MODEL sage or gat, SIZE whole, small,
 *                        hub or small-hub (bench_step in bench_gpu.h)
 *   bench_gpu counts MODEL GEMM BANDWIDTH GATHER BUS
 *                        the first line of step, of whole sizes: FLOPs, bytes and roofline, also of padded shapes;
 *                        wants no GPU
 *   bench_gpu transfer ROWS
 *                        small rows from pinned memory: a copy each, and a kernel that gathers them
 *   bench_gpu reads FILE BYTES THREADS SECONDS uring|pool
 *                        random direct reads a second, through this program's own reader; wants no GPU */
#include "tests/gpu/bench_gpu.h"
#include "harness/base/clock.h"
#include "harness/calibrate/gpu.h"
#include "harness/measure/gpu.h"
#include "harness/tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- JSON ---- */

/* A text, or null for "". Quotes and what is not printable are left out. */
static void print_text(const char *key, const char *text)
{
    (void)printf("\"%s\":", key);
    if (text[0] == '\0') {
        (void)printf("null,");
        return;
    }
    (void)putchar('"');
    for (const char *c = text; *c != '\0'; c++)
        if (*c >= ' ' && *c != '"' && *c != '\\')
            (void)putchar(*c);
    (void)printf("\",");
}

/* ---- probe ---- */

static int probe(void)
{
    struct gpu_device gpu;
    char why[sizeof((struct gnn_err *)0)->message];
    const bool there = gpu_device_look(&gpu, why, sizeof why);
    struct gnn_gpu *const seen = there && !gpu.stand_in ? gnn_gpu_open(NULL, NULL) : NULL;
    const uint64_t bytes = seen != NULL ? gnn_gpu_total_bytes(seen) : GNN_UNKNOWN;
    (void)printf("{\"present\":%s,\"stand_in\":%s,", there ? "true" : "false",
                 there && gpu.stand_in ? "true" : "false");
    print_text("name", seen != NULL ? gnn_gpu_name(seen) : "");
    print_text("driver", seen != NULL ? gnn_gpu_driver(seen) : "");
    print_text("why", there ? "" : why);
    if (bytes == GNN_UNKNOWN)
        (void)printf("\"memory_bytes\":null}\n");
    else
        (void)printf("\"memory_bytes\":%" PRIu64 "}\n", bytes);
    gnn_gpu_close(seen);
    return 0;
}

/* ---- hog ---- */

static int hog(uint64_t left_bytes)
{
    struct gpu_device gpu;
    void *room = NULL, *piece = NULL;
    if (!gpu_device_find(&gpu) || gpu.stand_in)
        return 4;
    struct gnn_tensor *const t = gpu_device_open(&gpu);
    if (t->ops->alloc(t, "room for others", left_bytes, &room, NULL) != GNN_OK)
        return 1;
    struct gnn_tensor *const taker = gpu_device_open(&gpu); /* its memory is not given out of the other's */
    for (uint64_t bytes = UINT64_C(4) << 30; bytes >= 1 << 20; bytes /= 2)
        while (taker->ops->alloc(taker, "taken", bytes, &piece, NULL) == GNN_OK)
            continue;
    t->ops->close(t);
    (void)puts("taken");
    (void)fflush(stdout);
    (void)getchar();
    taker->ops->close(taker);
    return 0;
}

/* ---- rates ---- */

static uint64_t host_clock(void *ctx)
{
    (void)ctx;
    return gnn_host_now_ns();
}

static void print_figure(const char *name, struct gnn_figure figure)
{
    (void)printf("\"%s\":%.6g,\"%s_spread\":%.3g,", name, figure.value, name, figure.spread);
}

static uint64_t modelled_clock(void *ctx)
{
    return ((const struct bench_clock *)ctx)->now_ns;
}

static int rates(bool modelled)
{
    static const struct bench_roof made_up = {40e12, 3e12, 2e12, 20e9, 8000, 3000};
    struct gpu_device gpu;
    struct gnn_gpu_figures f;
    struct gnn_err err = {0};
    struct bench_clock clock = {.now_ns = 0};
    if (!modelled && !gpu_device_find(&gpu))
        return 4;
    struct gnn_tensor *const t = modelled ? bench_modelled_open(&made_up, &clock) : gpu_device_open(&gpu);
    const struct gnn_gpu_bench bench = {
        .tensor = t, .now_ns = modelled ? modelled_clock : host_clock, .ctx = &clock, .repeats = 5, .divisor = 1};
    const enum gnn_status status = gnn_gpu_measure(&bench, &f, &err);
    t->ops->close(t);
    if (status != GNN_OK) {
        (void)fprintf(stderr, "bench_gpu: %s\n", err.message);
        return 1;
    }
    (void)putchar('{');
    print_figure("gemm", f.gemm);
    print_figure("bandwidth", f.bandwidth);
    print_figure("sums", f.sums);
    print_figure("gather", f.gather);
    print_figure("launch", f.launch);
    print_figure("pinned", f.pinned);
    print_figure("pageable", f.pageable);
    print_figure("latency", f.latency);
    (void)printf("\"checks\":[");
    for (uint32_t i = 0; i < f.check_count; i++) {
        (void)printf("%s{", i == 0 ? "" : ",");
        print_text("what", f.checks[i].what);
        (void)printf("\"predicted_ns\":%.6g,\"measured_ns\":%.6g}", f.checks[i].predicted_ns, f.checks[i].measured_ns);
    }
    (void)puts("]}");
    return 0;
}

/* ---- command line ---- */

static int usage(void)
{
    (void)fputs("usage: bench_gpu probe | hog BYTES | rates [modelled] |\n"
                "       step sage|gat whole|small|hub|small-hub GEMM BANDWIDTH GATHER BUS [FOLDER] |\n"
                "       counts sage|gat GEMM BANDWIDTH GATHER BUS |\n"
                "       transfer ROWS | reads FILE BYTES THREADS SECONDS uring|pool\n",
                stderr);
    return 2;
}

static int transfer(const char *rows)
{
    struct gpu_device gpu;
    const unsigned long count = strtoul(rows, NULL, 10);
    if (count < 1 || count > 1 << 20)
        return usage();
    return gpu_device_find(&gpu) ? bench_transfer(&gpu, (uint32_t)count) : 4;
}

static int reads(char **words)
{
    const struct bench_reads config = {.path = words[0],
                                       .bytes = (uint32_t)strtoul(words[1], NULL, 10),
                                       .threads = (uint32_t)strtoul(words[2], NULL, 10),
                                       .seconds = strtod(words[3], NULL),
                                       .engine = strcmp(words[4], "pool") == 0 ? GNN_RING_POOL : GNN_RING_URING};
    const int status = bench_reads(&config);
    return status == 2 ? usage() : status;
}

/* Four rates; false: one is none. */
static bool read_roof(char **words, struct bench_roof *out)
{
    *out = (struct bench_roof){.gemm = strtod(words[0], NULL),
                               .bandwidth = strtod(words[1], NULL),
                               .gather = strtod(words[2], NULL),
                               .bus = strtod(words[3], NULL)};
    return out->gemm >= 1 && out->bandwidth >= 1 && out->gather >= 1 && out->bus >= 1;
}

static int counts(char **words)
{
    struct bench_roof roof;
    return read_roof(words + 1, &roof) ? bench_counts(words[0], &roof) : usage();
}

static int step(char **words, int count)
{
    struct gpu_device gpu;
    struct bench_roof roof;
    if (!read_roof(words + 2, &roof))
        return usage();
    if (!gpu_device_find(&gpu))
        return 4;
    const int status = bench_step(&gpu, words[0], &roof, words[1], count > 6 ? words[6] : NULL);
    return status == 2 ? usage() : status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "probe") == 0)
        return probe();
    if (argc == 3 && strcmp(argv[1], "hog") == 0)
        return hog(strtoull(argv[2], NULL, 10));
    if ((argc == 2 || argc == 3) && strcmp(argv[1], "rates") == 0)
        return rates(argc == 3 && strcmp(argv[2], "modelled") == 0);
    if ((argc == 8 || argc == 9) && strcmp(argv[1], "step") == 0)
        return step(argv + 2, argc - 2);
    if (argc == 7 && strcmp(argv[1], "counts") == 0)
        return counts(argv + 2);
    if (argc == 3 && strcmp(argv[1], "transfer") == 0)
        return transfer(argv[2]);
    if (argc == 7 && strcmp(argv[1], "reads") == 0)
        return reads(argv + 2);
    return usage();
}
