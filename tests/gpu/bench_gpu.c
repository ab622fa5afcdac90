/* What scripts/gpu_check.sh asks of a GPU besides tests. Every command prints one JSON object a line.
 *
 *   bench_gpu probe          what is there: {"present":…,"stand_in":…,"name":…,"driver":…,"memory_bytes":…,"why":…}
 *   bench_gpu hog BYTES      takes the device's memory but BYTES, says "taken", and keeps it until it is ended
 */
#include "harness/measure/gpu.h"
#include "harness/tensor/tensor.h"
#include "tests/gpu/device.h"

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
    struct gnn_gpu *const seen = there && !gpu.stand_in ? gnn_gpu_open(NULL) : NULL;
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

static int usage(void)
{
    (void)fputs("usage: bench_gpu probe | hog BYTES\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "probe") == 0)
        return probe();
    if (argc == 3 && strcmp(argv[1], "hog") == 0)
        return hog(strtoull(argv[2], NULL, 10));
    return usage();
}
