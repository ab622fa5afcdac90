/* SPDX-License-Identifier: MIT */
/* The page cache's share of CPU time: faults through this program's own mappings, buffered reads, entering the kernel.
 * Time is the threads' own CPU time and what interrupts took elsewhere (busy.h); waiting for the device is in
 * neither. */
#include "harness/base/rng.h"
#include "harness/calibrate/internal.h"
#include "harness/calibrate/touch.h"
#include "harness/measure/page_cache.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What one fault maps around itself where it is cached, 64 KiB; threads that fault at a time: more than one, since a
 * busy device is told of new requests more cheaply than an idle one, and gathers of a pipeline run side by side. */
enum { AROUND_PAGES = 16, THREADS = GNN_TOUCH_THREADS_MAX };

static const uint64_t page_elements = GNN_PAGE_BYTES / sizeof(uint32_t);

struct pages {
    struct gnn_bench *bench;
    struct gnn_file *random, *plain;
    uint64_t page_count;
    uint64_t *index; /* (index_max) elements, one of each page to touch */
    uint64_t index_max;
    unsigned char *buffer; /* of buffered reads */
};

enum { BUFFER_BYTES = 1 << 20, BUFFERS = 8 /* of the file, read through the cache */ };

/* Touches index[0..count) through a new mapping, `threads` at a time. */
static enum gnn_status touch(struct pages *p, enum gnn_map_advice advice, uint64_t count, uint32_t threads,
                             struct gnn_touches *sum, struct gnn_err *err)
{
    assert(count <= p->index_max);
    return gnn_touch_pages(p->bench->world, p->plain, advice, p->index, count, threads, p->bench->out->cores, sum, err);
}

/* `count` pages of different 64 KiB windows, in random order. */
static void scattered(struct pages *p, uint64_t round, uint64_t count)
{
    const uint64_t windows = p->page_count / AROUND_PAGES;
    assert(count > 0);
    assert(count <= windows);
    for (uint64_t i = 0; i < count; i++)
        p->index[i] =
            (i * (windows / count) * AROUND_PAGES + gnn_splitmix64_at(round, i) % AROUND_PAGES) * page_elements;
    for (uint64_t i = count - 1; i > 0; i--) {
        const uint64_t other = gnn_splitmix64_at(round + 1, i) % (i + 1), kept = p->index[i];
        p->index[i] = p->index[other];
        p->index[other] = kept;
    }
}

static enum gnn_status nothing_happened(const char *what, struct gnn_err *err)
{
    return gnn_fail(err, GNN_ENOTSUP,
                    "calibrate: evicted pages were touched and no %s happened: does --device lie in memory?", what);
}

static uint64_t fault_count(const struct pages *p, uint64_t wanted)
{
    const uint64_t windows = p->page_count / AROUND_PAGES, count = gnn_bench_count(p->bench, wanted);
    return gnn_min_u64(count, windows);
}

/* Evicted pages, nothing read ahead: each touch is a fault that reads. */
static enum gnn_status major_once(void *ctx, double *values, struct gnn_err *err)
{
    struct pages *const p = ctx;
    struct gnn_touches sum;
    const uint64_t count = fault_count(p, 30000);
    scattered(p, 11, count);
    GNN_TRY(gnn_cache_evict(p->bench->data, err));
    GNN_TRY(touch(p, GNN_MAP_RANDOM, count, THREADS, &sum, err));
    if (sum.major * 2 < count)
        return nothing_happened("reading fault", err);
    values[0] = (sum.cpu_ns + sum.besides_ns) / (double)sum.major;
    return GNN_OK;
}

/* The same pages brought into the cache by reads: each touch is a fault that finds its page, alone in its window. */
static enum gnn_status minor_once(void *ctx, double *values, struct gnn_err *err)
{
    struct pages *const p = ctx;
    struct gnn_touches sum;
    const uint64_t count = fault_count(p, 3000);
    scattered(p, 11, count);
    for (uint64_t i = 0; i < count; i++)
        if (gnn_file_read(p->bench->world, p->random, p->index[i] * sizeof(uint32_t), p->buffer, 64) != 64)
            return gnn_fail(err, GNN_EIO, "%s: a page cannot be read", p->bench->data);
    GNN_TRY(touch(p, GNN_MAP_RANDOM, count, 1, &sum, err));
    if (sum.minor * 2 < count)
        return nothing_happened("fault", err);
    values[0] = sum.cpu_ns / (double)sum.minor;
    return GNN_OK;
}

/* A scan through a mapping with readahead: its time less that of its faults. */
static enum gnn_status readahead_once(void *ctx, double *values, struct gnn_err *err)
{
    struct pages *const p = ctx;
    const struct gnn_figure *const figure = p->bench->out->figure;
    struct gnn_touches sum;
    const uint64_t wanted = gnn_bench_count(p->bench, 32768);
    const uint64_t count = gnn_min_u64(wanted, p->page_count);
    for (uint64_t i = 0; i < count; i++)
        p->index[i] = i * page_elements;
    GNN_TRY(gnn_cache_evict(p->bench->data, err));
    GNN_TRY(touch(p, GNN_MAP_NORMAL, count, 1, &sum, err));
    const double rest = sum.cpu_ns - (double)sum.major * figure[GNN_FIGURE_FAULT_MAJOR].value -
                        (double)sum.minor * figure[GNN_FIGURE_FAULT_MINOR].value;
    values[0] = rest > (double)count ? rest / (double)count : 1;
    return GNN_OK;
}

/* values: a system call that does nothing; a page of a long buffered read that finds everything in the cache. */
static enum gnn_status read_once(void *ctx, double *values, struct gnn_err *err)
{
    struct pages *const p = ctx;
    struct gnn_world *const world = p->bench->world;
    const uint64_t calls = gnn_bench_count(p->bench, 20000), rounds = gnn_bench_count(p->bench, 64);
    const uint64_t bytes = (uint64_t)BUFFERS * BUFFER_BYTES;
    for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES)
        if (gnn_file_read(world, p->plain, at, p->buffer, BUFFER_BYTES) != BUFFER_BYTES)
            return gnn_fail(err, GNN_EIO, "%s: cannot be read", p->bench->data);
    uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < calls; i++)
        (void)gnn_file_read(world, p->plain, 0, p->buffer, 0);
    const double syscall_ns = (double)(gnn_thread_cpu_ns() - start_ns) / (double)calls;
    start_ns = gnn_thread_cpu_ns();
    for (uint64_t i = 0; i < rounds; i++)
        (void)gnn_file_read(world, p->plain, i * BUFFER_BYTES % bytes, p->buffer, BUFFER_BYTES);
    const double round_ns = (double)(gnn_thread_cpu_ns() - start_ns) / (double)rounds;
    values[0] = syscall_ns;
    values[1] = fmax(1, (round_ns - syscall_ns) * GNN_PAGE_BYTES / BUFFER_BYTES);
    return GNN_OK;
}

/* ---- the whole ---- */

static enum gnn_status pages_open(struct pages *p, struct gnn_err *err)
{
    struct gnn_bench *const b = p->bench;
    void *buffer = NULL;
    p->page_count = b->data_bytes / GNN_PAGE_BYTES;
    p->index_max = 32768;
    if (b->data_bytes < (uint64_t)BUFFERS * BUFFER_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "%s: %llu bytes are too few to measure page faults in; 8M at least", b->data,
                        (unsigned long long)b->data_bytes);
    GNN_TRY(gnn_file_open(b->world, b->data, GNN_OPEN_READ, &p->plain, err));
    GNN_TRY(gnn_file_open(b->world, b->data, GNN_OPEN_READ | GNN_OPEN_RANDOM, &p->random, err));
    GNN_TRY(gnn_mem_alloc(b->world, "a buffer of reads", BUFFER_BYTES, GNN_MEM_PINNED, &buffer, err));
    p->buffer = buffer;
    GNN_NEW(p->index, p->index_max, err, "calibrate: %llu pages to touch", (unsigned long long)p->index_max);
    return GNN_OK;
}

static enum gnn_status measure(struct pages *p, struct gnn_err *err)
{
    struct gnn_figure *const figure = p->bench->out->figure;
    const uint32_t repeats = p->bench->repeats;
    GNN_TRY(gnn_figures_measure(major_once, p, repeats, 1, &figure[GNN_FIGURE_FAULT_MAJOR], err));
    GNN_TRY(gnn_figures_measure(minor_once, p, repeats, 1, &figure[GNN_FIGURE_FAULT_MINOR], err));
    GNN_TRY(gnn_figures_measure(readahead_once, p, repeats, 1, &figure[GNN_FIGURE_READAHEAD_PAGE], err));
    return gnn_figures_measure(read_once, p, repeats, 2, &figure[GNN_FIGURE_SYSCALL], err);
}

enum gnn_status gnn_bench_pages(struct gnn_bench *bench, struct gnn_err *err)
{
    struct pages p = {.bench = bench};
    enum gnn_status status = pages_open(&p, err);
    GNN_NEXT(status, measure(&p, err));
    free(p.index);
    gnn_mem_free(bench->world, p.buffer);
    gnn_file_close(bench->world, p.random);
    gnn_file_close(bench->world, p.plain);
    return status;
}
