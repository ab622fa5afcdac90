/* SPDX-License-Identifier: MIT */
/* What a read through this program's own ring costs the CPU, the device kept busy: the thread that submits and
 * reaps, and the interrupts, wherever they land (busy.h). Direct reads, and small ones through the page cache,
 * which the kernel serves while they are submitted where it finds their page, and tries twice where it does not. */
#include "harness/calibrate/internal.h"
#include "harness/measure/page_cache.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { DEPTH = 64, STEP = DEPTH / 8 + 1 /* what the ring hands over with one call */, SLOT_BYTES = 4096 };
enum { SMALL_BYTES = 4 /* a neighbour's ID */, CACHED_BYTES = 64 << 20 /* beyond any cache of a processor */ };

struct ring {
    struct gnn_bench *bench;
    struct gnn_ring *ring;
    unsigned char *slots; /* (DEPTH, SLOT_BYTES) */
    /* What is read: */
    struct gnn_file *file;
    uint32_t read_bytes;
    uint64_t place_bytes; /* apart */
    uint64_t places;      /* a power of two */
};

/* One repetition's sums. */
struct sums {
    uint64_t reads, calls, sleeps;
    double submit_ns, whole_ns, taken_ns;
};

static uint64_t sleeps_so_far(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw;
}

/* Chooses places to read from among the first `bytes` of file. */
static void read_from(struct ring *r, struct gnn_file *file, uint32_t read_bytes, uint64_t place_bytes, uint64_t bytes)
{
    assert(read_bytes <= SLOT_BYTES);
    assert(bytes >= place_bytes);
    r->file = file;
    r->read_bytes = read_bytes;
    r->place_bytes = place_bytes;
    r->places = UINT64_C(1) << (63 - __builtin_clzll(bytes / place_bytes));
}

/* Each place once, in no order, before the first comes again: every step is one to one. */
static uint64_t place_at(const struct ring *r, uint64_t serial)
{
    const uint64_t mask = r->places - 1;
    uint64_t at = serial * UINT64_C(0x9e3779b97f4a7c15) & mask;
    at ^= at >> 9;
    return at * UINT64_C(0xd6e8feb86659fd93) & mask;
}

static enum gnn_status submit(struct ring *r, const uint64_t *tags, uint32_t count, uint64_t *serial, struct sums *sums,
                              struct gnn_err *err)
{
    assert(count <= DEPTH);
    assert(r->places > 0);
    struct gnn_read reads[DEPTH];
    for (uint32_t i = 0; i < count; i++)
        reads[i] = (struct gnn_read){.file = r->file,
                                     .offset_bytes = place_at(r, (*serial)++) * r->place_bytes,
                                     .dst = r->slots + tags[i] * r->read_bytes,
                                     .len_bytes = r->read_bytes,
                                     .tag = tags[i]};
    for (uint32_t done = 0; done < count;) {
        uint32_t accepted;
        const uint32_t part = gnn_min_u32(count - done, STEP);
        const uint64_t start_ns = gnn_thread_cpu_ns();
        GNN_TRY(gnn_ring_submit(r->bench->world, r->ring, reads + done, part, &accepted, err));
        sums->submit_ns += (double)(gnn_thread_cpu_ns() - start_ns);
        sums->calls++;
        if (accepted == 0)
            return gnn_fail(err, GNN_EBUG, "calibrate: a ring of depth %d takes no read", DEPTH);
        done += accepted;
    }
    return GNN_OK;
}

/* Keeps DEPTH reads in flight until `wanted` have completed; what is in flight then is left to the caller. */
static enum gnn_status keep_busy(struct ring *r, uint64_t wanted, uint32_t *in_flight, struct sums *sums,
                                 struct gnn_err *err)
{
    struct gnn_completion done[DEPTH];
    uint64_t tags[DEPTH], serial = 0;
    for (uint32_t i = 0; i < DEPTH; i++)
        tags[i] = i;
    uint32_t free_count = DEPTH;
    while (sums->reads < wanted) {
        GNN_TRY(submit(r, tags, free_count, &serial, sums, err));
        *in_flight += free_count;
        GNN_TRY(gnn_ring_wait(r->bench->world, r->ring, 1, STEP, done, &free_count, err));
        *in_flight -= free_count;
        sums->reads += free_count;
        assert(free_count <= DEPTH);
        for (uint32_t i = 0; i < free_count; i++) {
            assert(done[i].tag < DEPTH);
            if (done[i].result != (int32_t)r->read_bytes)
                return gnn_fail(err, GNN_EIO, "%s: a read of %u bytes gave %d", r->bench->data, r->read_bytes,
                                done[i].result);
            tags[i] = done[i].tag;
        }
    }
    return GNN_OK;
}

static void drain(struct ring *r, uint32_t in_flight)
{
    struct gnn_completion done[DEPTH];
    while (in_flight > 0) {
        uint32_t got = 0;
        if (gnn_ring_wait(r->bench->world, r->ring, 1, DEPTH, done, &got, NULL) != GNN_OK)
            return;
        assert(got <= in_flight);
        in_flight -= got;
    }
}

/* Measures `wanted` reads. */
static enum gnn_status reads_once(struct ring *r, uint64_t wanted, struct sums *sums, struct gnn_err *err)
{
    uint32_t in_flight = 0;
    struct gnn_busy busy;
    gnn_busy_begin(r->bench->out->cores, &busy);
    const uint64_t sleeps = sleeps_so_far(), start_ns = gnn_thread_cpu_ns();
    const enum gnn_status status = keep_busy(r, wanted, &in_flight, sums, err);
    sums->whole_ns = (double)(gnn_thread_cpu_ns() - start_ns);
    sums->sleeps = sleeps_so_far() - sleeps;
    sums->taken_ns = gnn_busy_besides_ns(&busy, sums->whole_ns);
    drain(r, in_flight);
    return status;
}

/* values: a request handed over; a completion. A call into the kernel for every submission and for every wait that
 * slept is charged by itself. */
static enum gnn_status direct_once(void *ctx, double *values, struct gnn_err *err)
{
    struct ring *const r = ctx;
    const double syscall_ns = r->bench->out->figure[GNN_FIGURE_SYSCALL].value, look_ns = gnn_thread_cpu_look_ns();
    struct sums sums = {0};
    GNN_TRY(reads_once(r, gnn_bench_count(r->bench, 40000), &sums, err));
    const double calls = (double)sums.calls, reads = (double)sums.reads;
    const double handing_ns = sums.submit_ns - calls * look_ns;
    const double rest_ns = sums.whole_ns - sums.submit_ns - calls * look_ns + sums.taken_ns;
    values[0] = fmax(1, (handing_ns - calls * syscall_ns) / reads);
    values[1] = fmax(1, (rest_ns - (double)sums.sleeps * syscall_ns) / reads);
    return GNN_OK;
}

/* ---- through the page cache ---- */

/* What a read took the thread, without the calls into the kernel. */
static double own_ns(const struct ring *r, const struct sums *sums)
{
    const double syscall_ns = r->bench->out->figure[GNN_FIGURE_SYSCALL].value, look_ns = gnn_thread_cpu_look_ns();
    const double calls = (double)sums->calls, sleeps = (double)sums->sleeps;
    return (sums->whole_ns - 2 * calls * look_ns - (calls + sleeps) * syscall_ns) / (double)sums->reads;
}

static enum gnn_status cached_once(void *ctx, double *values, struct gnn_err *err)
{
    struct ring *const r = ctx;
    const uint64_t bytes = r->places * r->place_bytes;
    struct sums sums = {0};
    for (uint64_t at = 0; at < bytes; at += (uint64_t)DEPTH * SLOT_BYTES)
        if (gnn_file_read(r->bench->world, r->file, at, r->slots, (uint64_t)DEPTH * SLOT_BYTES) <= 0)
            return gnn_fail(err, GNN_EIO, "%s: cannot be read", r->bench->data);
    GNN_TRY(reads_once(r, gnn_bench_count(r->bench, 400000), &sums, err));
    values[0] = fmax(1, own_ns(r, &sums));
    return GNN_OK;
}

/* One read of a page, none read ahead, so that no read finds one. */
static enum gnn_status missed_once(void *ctx, double *values, struct gnn_err *err)
{
    struct ring *const r = ctx;
    struct sums sums = {0};
    GNN_TRY(gnn_cache_evict(r->bench->data, err));
    const uint64_t wanted = gnn_bench_count(r->bench, 40000);
    GNN_TRY(reads_once(r, gnn_min_u64(wanted, r->places / 2), &sums, err));
    values[0] = fmax(1, own_ns(r, &sums) + sums.taken_ns / (double)sums.reads);
    return GNN_OK;
}

/* ---- the whole ---- */

static enum gnn_status measure_direct(struct ring *r, struct gnn_err *err)
{
    struct gnn_bench *const b = r->bench;
    struct gnn_file *file;
    struct gnn_file_info info;
    GNN_TRY(gnn_file_open(b->world, b->data, GNN_OPEN_READ | GNN_OPEN_DIRECT, &file, err));
    gnn_file_info(b->world, file, &info);
    const uint32_t bytes = gnn_max_u32(info.offset_align_bytes, 512);
    enum gnn_status status = GNN_OK;
    if (bytes > SLOT_BYTES)
        status = gnn_fail(err, GNN_ENOTSUP, "%s: direct reads require %u bytes", b->data, bytes);
    else
        read_from(r, file, bytes, bytes, b->data_bytes);
    GNN_NEXT(status, gnn_figures_measure(direct_once, r, b->repeats, 2, &b->out->figure[GNN_FIGURE_SUBMIT], err));
    gnn_file_close(b->world, file);
    return status;
}

static enum gnn_status measure_buffered(struct ring *r, struct gnn_err *err)
{
    struct gnn_bench *const b = r->bench;
    struct gnn_figure *const figure = b->out->figure;
    struct gnn_file *file;
    GNN_TRY(gnn_file_open(b->world, b->data, GNN_OPEN_READ | GNN_OPEN_RANDOM, &file, err));
    read_from(r, file, SMALL_BYTES, GNN_PAGE_BYTES, b->data_bytes);
    enum gnn_status status =
        gnn_figures_measure(missed_once, r, b->repeats, 1, &figure[GNN_FIGURE_RING_MISSED_READ], err);
    read_from(r, file, SMALL_BYTES, SMALL_BYTES, gnn_min_u64(b->data_bytes, CACHED_BYTES));
    GNN_NEXT(status, gnn_figures_measure(cached_once, r, b->repeats, 1, &figure[GNN_FIGURE_RING_CACHED_READ], err));
    gnn_file_close(b->world, file);
    return status;
}

enum gnn_status gnn_bench_ring(struct gnn_bench *bench, struct gnn_err *err)
{
    struct ring r = {.bench = bench};
    const struct gnn_ring_config config = {.engine = GNN_RING_URING, .depth = DEPTH};
    void *slots = NULL;
    GNN_TRY(gnn_mem_alloc(bench->world, "slots of reads", (uint64_t)DEPTH * SLOT_BYTES, GNN_MEM_PINNED, &slots, err));
    r.slots = slots;
    enum gnn_status status = gnn_ring_open(bench->world, &config, &r.ring, err);
    GNN_NEXT(status, measure_direct(&r, err));
    GNN_NEXT(status, measure_buffered(&r, err));
    if (r.ring != NULL)
        gnn_ring_close(bench->world, r.ring);
    gnn_mem_free(bench->world, slots);
    return status;
}
