/* SPDX-License-Identifier: MIT */
/* Rows copied out of a mapping whose pages are there, entries of a large table, and the core's clock. */
#include "harness/base/rng.h"
#include "harness/calibrate/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t row_bytes[] = {256, 512, 1024, 2048};
enum { WIDTHS = sizeof row_bytes / sizeof *row_bytes, BATCH_ROWS = 4096, CHAIN = 4000000 };
_Static_assert((int)WIDTHS <= (int)GNN_FIGURES_MAX, "one repetition measures every width");
_Static_assert(CHAIN % 80 == 0, "the clock's chain is unrolled eight times, a quick one is a tenth");

struct gather {
    struct gnn_bench *bench;
    struct gnn_map *map;
    uint64_t bytes; /* of the mapping that is used */
    gnn_node *rows; /* (BATCH_ROWS) */
    unsigned char *dst;
};

/* Nanoseconds of one row of that width, from random places, into consecutive ones. */
static enum gnn_status gather_width(struct gather *g, uint32_t width, uint64_t round, double *ns, struct gnn_err *err)
{
    const uint64_t batches = gnn_bench_count(g->bench, 40);
    assert(g->bytes >= width);
    uint64_t sum_ns = 0;
    for (uint64_t k = 0; k < batches; k++) {
        for (uint32_t i = 0; i < BATCH_ROWS; i++)
            g->rows[i] = (gnn_node)(gnn_splitmix64_at(round * 131 + k, i) % (g->bytes / width));
        const uint64_t start_ns = gnn_thread_cpu_ns();
        GNN_TRY(gnn_map_gather_rows(g->bench->world, g->map, width, g->rows, BATCH_ROWS, g->dst, width, err));
        sum_ns += gnn_thread_cpu_ns() - start_ns;
    }
    *ns = (double)sum_ns / (double)(batches * BATCH_ROWS);
    return GNN_OK;
}

/* values: nanoseconds of a row of every width. */
static enum gnn_status gather_once(void *ctx, double *values, struct gnn_err *err)
{
    struct gather *const g = ctx;
    for (uint32_t w = 0; w < WIDTHS; w++)
        GNN_TRY(gather_width(g, row_bytes[w], w, &values[w], err));
    return GNN_OK;
}

/* The line through the widths: nanoseconds of a byte, and of a row of none. Each width weighs by its inverse, so that
 * the short rows, whose share of the intercept is large, count as much as the long ones. */
static void fit_line(const struct gnn_figure *rows, struct gnn_figure *byte, struct gnn_figure *row)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, spread = 0;
    for (uint32_t w = 0; w < WIDTHS; w++) {
        const double width = row_bytes[w], weight = 1 / width;
        n += weight;
        x += weight * width;
        y += weight * rows[w].value;
        xx += weight * width * width;
        xy += weight * width * rows[w].value;
        spread = fmax(spread, rows[w].spread);
    }
    assert(n * xx > x * x); /* the widths differ */
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    *byte = (struct gnn_figure){.value = fmax(slope, 1e-3), .spread = spread};
    *row = (struct gnn_figure){.value = fmax((y - slope * x) / n, 1), .spread = spread};
}

static enum gnn_status touch_all(struct gather *g, struct gnn_err *err)
{
    for (uint64_t at = 0; at < g->bytes / sizeof(uint32_t); at += GNN_PAGE_BYTES / sizeof(uint32_t)) {
        uint32_t value;
        GNN_TRY(gnn_map_gather_u32(g->bench->world, g->map, &at, 1, &value, err));
    }
    return GNN_OK;
}

static enum gnn_status measure_gather(struct gnn_bench *b, struct gnn_err *err)
{
    struct gather g = {.bench = b, .bytes = b->data_bytes < (256U << 20) ? b->data_bytes : (256U << 20)};
    struct gnn_file *file = NULL;
    struct gnn_figure figures[WIDTHS];
    void *dst = NULL;
    enum gnn_status status = gnn_file_open(b->world, b->data, GNN_OPEN_READ, &file, err);
    GNN_NEXT(status, gnn_map_open(b->world, file, GNN_MAP_NORMAL, &g.map, err));
    GNN_NEXT(status, gnn_mem_alloc(b->world, "gathered rows", (uint64_t)BATCH_ROWS * row_bytes[WIDTHS - 1],
                                   GNN_MEM_FEATURES, &dst, err));
    g.dst = dst;
    g.rows = calloc(BATCH_ROWS, sizeof *g.rows);
    if (status == GNN_OK && g.rows == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "calibrate: %d row numbers", BATCH_ROWS);
    GNN_NEXT(status, touch_all(&g, err));
    GNN_NEXT(status, gnn_figures_measure(gather_once, &g, b->repeats, WIDTHS, figures, err));
    if (status == GNN_OK)
        fit_line(figures, &b->out->figure[GNN_FIGURE_COPIED_BYTE], &b->out->figure[GNN_FIGURE_GATHER_ROW]);
    free(g.rows);
    gnn_mem_free(b->world, dst);
    gnn_map_close(b->world, g.map);
    gnn_file_close(b->world, file);
    return status;
}

/* ---- a table ---- */

struct entry {
    uint32_t slot, references;
};

struct table {
    struct gnn_bench *bench;
    struct entry *entries;
    uint64_t count;
};

/* Each entry found at a random place, read and written, in small pages, as systems have their tables. */
static enum gnn_status table_once(void *ctx, double *values, struct gnn_err *err)
{
    struct table *const t = ctx;
    (void)err;
    const uint64_t visits = gnn_bench_count(t->bench, 2000000);
    uint32_t seen = 0;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < visits; i++) {
        struct entry *const entry = &t->entries[(gnn_splitmix64_at(3, i) >> 32) * t->count >> 32];
        entry->references++;
        seen += entry->slot;
        __asm__ volatile("" : "+r"(seen));
    }
    values[0] = (double)(gnn_thread_cpu_ns() - start_ns) / (double)visits;
    return GNN_OK;
}

static enum gnn_status measure_table(struct gnn_bench *b, struct gnn_err *err)
{
    struct table t = {.bench = b, .count = gnn_bench_count(b, UINT64_C(1) << 24)};
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(b->world, "a table", t.count * sizeof *t.entries, GNN_MEM_PLAIN, &memory, err));
    t.entries = memory;
    memset(t.entries, 0, t.count * sizeof *t.entries); /* no first touch in what is measured */
    const enum gnn_status status =
        gnn_figures_measure(table_once, &t, b->repeats, 1, &b->out->figure[GNN_FIGURE_TABLE_ENTRY], err);
    gnn_mem_free(b->world, memory);
    return status;
}

/* ---- the clock ---- */

/* Additions that need one another take a cycle each. */
static enum gnn_status clock_once(void *ctx, double *values, struct gnn_err *err)
{
    const uint64_t steps = gnn_bench_count(ctx, CHAIN);
    uint64_t value = 1, step = 3;
    (void)err;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < steps; i += 8)
        for (uint32_t k = 0; k < 8; k++) {
            value += step;
            __asm__ volatile("" : "+r"(value), "+r"(step));
        }
    values[0] = (double)steps / (double)(gnn_thread_cpu_ns() - start_ns) * 1e9;
    return GNN_OK;
}

enum gnn_status gnn_bench_memory(struct gnn_bench *bench, struct gnn_err *err)
{
    GNN_TRY(gnn_figures_measure(clock_once, bench, bench->repeats, 1, &bench->out->figure[GNN_FIGURE_CLOCK], err));
    GNN_TRY(measure_gather(bench, err));
    return measure_table(bench, err);
}
