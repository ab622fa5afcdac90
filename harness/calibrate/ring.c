/* What a direct read through this program's own ring costs the CPU, the device kept busy: the thread that submits and
 * reaps, and the interrupts, wherever they land (busy.h). */
#include "harness/base/rng.h"
#include "harness/calibrate/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { DEPTH = 64, STEP = DEPTH / 8 + 1 /* what the ring hands over with one call */, SLOT_BYTES = 4096 };

struct ring {
    struct gnn_bench *bench;
    struct gnn_file *file;
    struct gnn_ring *ring;
    unsigned char *slots; /* (DEPTH, SLOT_BYTES) */
    uint32_t read_bytes;
    uint64_t offsets; /* places to read from */
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

static enum gnn_status submit(struct ring *r, const uint64_t *tags, uint32_t count, uint64_t *serial, struct sums *sums,
                              struct gnn_err *err)
{
    assert(count <= DEPTH);
    assert(r->offsets > 0);
    struct gnn_read reads[DEPTH];
    for (uint32_t i = 0; i < count; i++)
        reads[i] = (struct gnn_read){.file = r->file,
                                     .offset_bytes = gnn_splitmix64_at(17, (*serial)++) % r->offsets * r->read_bytes,
                                     .dst = r->slots + tags[i] * SLOT_BYTES,
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
                return gnn_fail(err, GNN_EIO, "%s: a direct read of %u bytes gave %d", r->bench->data, r->read_bytes,
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

/* values: a request handed over; a completion. A call into the kernel for every submission and for every wait that
 * slept is charged by itself. */
static enum gnn_status ring_once(void *ctx, double *values, struct gnn_err *err)
{
    struct ring *const r = ctx;
    const double syscall_ns = r->bench->out->figure[GNN_FIGURE_SYSCALL].value, look_ns = gnn_thread_cpu_look_ns();
    struct sums sums = {0};
    uint32_t in_flight = 0;
    struct gnn_busy busy;
    gnn_busy_begin(r->bench->out->cores, &busy);
    const uint64_t sleeps = sleeps_so_far(), start_ns = gnn_thread_cpu_ns();
    const enum gnn_status status = keep_busy(r, gnn_bench_count(r->bench, 40000), &in_flight, &sums, err);
    sums.whole_ns = (double)(gnn_thread_cpu_ns() - start_ns);
    sums.sleeps = sleeps_so_far() - sleeps;
    sums.taken_ns = gnn_busy_besides_ns(&busy, sums.whole_ns);
    drain(r, in_flight);
    GNN_TRY(status);
    const double calls = (double)sums.calls, reads = (double)sums.reads;
    const double handing_ns = sums.submit_ns - calls * look_ns;
    const double rest_ns = sums.whole_ns - sums.submit_ns - calls * look_ns + sums.taken_ns;
    values[0] = fmax(1, (handing_ns - calls * syscall_ns) / reads);
    values[1] = fmax(1, (rest_ns - (double)sums.sleeps * syscall_ns) / reads);
    return GNN_OK;
}

static enum gnn_status ring_open(struct ring *r, struct gnn_err *err)
{
    struct gnn_bench *const b = r->bench;
    void *slots = NULL;
    struct gnn_file_info info;
    GNN_TRY(gnn_file_open(b->world, b->data, GNN_OPEN_READ | GNN_OPEN_DIRECT, &r->file, err));
    gnn_file_info(b->world, r->file, &info);
    r->read_bytes = gnn_max_u32(info.offset_align_bytes, 512);
    if (r->read_bytes > SLOT_BYTES)
        return gnn_fail(err, GNN_ENOTSUP, "%s: direct reads want %u bytes", b->data, r->read_bytes);
    r->offsets = b->data_bytes / r->read_bytes;
    GNN_TRY(gnn_mem_alloc(b->world, "slots of reads", (uint64_t)DEPTH * SLOT_BYTES, GNN_MEM_PINNED, &slots, err));
    r->slots = slots;
    const struct gnn_ring_config config = {.engine = GNN_RING_URING, .depth = DEPTH};
    return gnn_ring_open(b->world, &config, &r->ring, err);
}

enum gnn_status gnn_bench_ring(struct gnn_bench *bench, struct gnn_err *err)
{
    struct ring r = {.bench = bench};
    enum gnn_status status = ring_open(&r, err);
    GNN_NEXT(status,
             gnn_figures_measure(ring_once, &r, bench->repeats, 2, &bench->out->figure[GNN_FIGURE_SUBMIT], err));
    if (r.ring != NULL)
        gnn_ring_close(bench->world, r.ring);
    gnn_mem_free(bench->world, r.slots);
    gnn_file_close(bench->world, r.file);
    return status;
}
