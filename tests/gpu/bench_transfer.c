/* SPDX-License-Identifier: MIT */
/* Small rows from pinned memory of the host into a table on the device, both ways a system may choose: a copy each in a
 * lane, or one launch whose kernel reads them across the bus. Rows lie at random places on both sides, as an extractor
 * leaves them. */
#include "harness/base/clock.h"
#include "harness/base/rng.h"
#include "tests/gpu/bench_gpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 7, LANE = 0 };

struct transfer {
    struct gnn_tensor *t;
    uint32_t rows, row_bytes;
    uint32_t *from, *to;
    char *host;  /* (rows, row_bytes), pinned */
    void *table; /* likewise, on the device */
};

static void copy_each(const struct transfer *x)
{
    for (uint32_t i = 0; i < x->rows; i++)
        x->t->ops->upload_async(x->t, LANE, (char *)x->table + (uint64_t)x->to[i] * x->row_bytes,
                                x->host + (uint64_t)x->from[i] * x->row_bytes, x->row_bytes);
}

static void gather_all(const struct transfer *x)
{
    x->t->ops->upload_rows(x->t, LANE, x->table, x->to, x->host, x->from, x->rows, x->row_bytes);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median nanoseconds of a row, landing included. */
static double row_ns(const struct transfer *x, void (*move)(const struct transfer *x))
{
    double seen[REPEATS];
    move(x);
    x->t->ops->upload_wait(x->t, LANE);
    for (int r = 0; r < REPEATS; r++) {
        const uint64_t start_ns = gnn_host_now_ns();
        move(x);
        x->t->ops->upload_wait(x->t, LANE);
        seen[r] = (double)(gnn_host_now_ns() - start_ns) / x->rows;
    }
    qsort(seen, REPEATS, sizeof *seen, ascending);
    return seen[REPEATS / 2];
}

/* Whether every row came to its place with its bytes. */
static bool landed(const struct transfer *x)
{
    const uint64_t bytes = (uint64_t)x->rows * x->row_bytes;
    char *const seen = malloc(bytes);
    bool same = seen != NULL;
    if (same)
        x->t->ops->download(x->t, seen, x->table, bytes);
    for (uint32_t i = 0; same && i < x->rows; i++)
        same = memcmp(seen + (uint64_t)x->to[i] * x->row_bytes, x->host + (uint64_t)x->from[i] * x->row_bytes,
                      x->row_bytes) == 0;
    free(seen);
    return same;
}

/* 0 .. count - 1 in an order of its own. */
static uint32_t *permutation(uint32_t count, uint64_t key)
{
    uint32_t *const order = malloc(count * sizeof *order);
    struct gnn_rng rng = gnn_rng_at(key);
    for (uint32_t i = 0; order != NULL && i < count; i++) {
        const uint32_t other = (uint32_t)gnn_rng_below(&rng, i + 1);
        order[i] = i;
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

static enum gnn_status open_transfer(struct transfer *x, struct gnn_err *err)
{
    const uint64_t bytes = (uint64_t)x->rows * x->row_bytes;
    x->from = permutation(x->rows, 1);
    x->to = permutation(x->rows, 2);
    x->host = aligned_alloc(4096, gnn_round_up(bytes, 4096));
    if (x->from == NULL || x->to == NULL || x->host == NULL)
        return gnn_fail(err, GNN_ENOMEM, "rows of a transfer");
    for (uint64_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t word = gnn_splitmix64_at(9, i);
        memcpy(x->host + i, &word, sizeof word);
    }
    GNN_TRY(x->t->ops->pin(x->t, "rows of a transfer", x->host, bytes, err));
    return x->t->ops->alloc(x->t, "table of a transfer", bytes, &x->table, err);
}

static void close_transfer(struct transfer *x)
{
    x->t->ops->free(x->t, x->table);
    x->t->ops->unpin(x->t, x->host);
    free(x->host);
    free(x->from);
    free(x->to);
}

int bench_transfer(const struct gpu_device *gpu, uint32_t rows)
{
    static const uint32_t sizes[] = {128, 512, 2048, 4096};
    struct gnn_tensor *const t = gpu_device_open(gpu);
    struct gnn_err err = {0};
    bool right = true;
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes && err.status == GNN_OK && right; s++) {
        struct transfer x = {.t = t, .rows = rows, .row_bytes = sizes[s]};
        if (open_transfer(&x, &err) == GNN_OK) {
            const double copies_ns = row_ns(&x, copy_each);
            right = landed(&x);
            const double kernel_ns = row_ns(&x, gather_all);
            right = right && landed(&x);
            (void)printf("{\"row_bytes\":%u,\"rows\":%u,\"copies_ns\":%.6g,\"kernel_ns\":%.6g}\n", sizes[s], rows,
                         copies_ns, kernel_ns);
        }
        close_transfer(&x);
    }
    if (err.status == GNN_OK && t->ops->check != NULL)
        (void)t->ops->check(t, &err);
    t->ops->close(t);
    if (err.status != GNN_OK || !right)
        (void)fprintf(stderr, "bench_gpu: %s\n", right ? err.message : "a row did not land as it was");
    return err.status == GNN_OK && right ? 0 : 1;
}
