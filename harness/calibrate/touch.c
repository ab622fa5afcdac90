/* SPDX-License-Identifier: MIT */
#include "harness/calibrate/touch.h"

#include "harness/calibrate/busy.h"

#include <assert.h>
#include <sys/resource.h>

struct faults {
    uint64_t minor, major;
};

static struct faults faults_so_far(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (struct faults){.minor = (uint64_t)usage.ru_minflt, .major = (uint64_t)usage.ru_majflt};
}

/* One thread's part of the pages to touch. */
struct toucher {
    struct gnn_world *world;
    struct gnn_map *map;
    const uint64_t *index;
    uint64_t count;
    struct gnn_thread *thread;
    double cpu_ns;
    struct faults happened;
    enum gnn_status status;
    struct gnn_err err;
};

static void toucher_main(void *arg)
{
    enum { CHUNK = 1024 };
    struct toucher *const t = arg;
    uint32_t out[CHUNK];
    const struct faults before = faults_so_far();
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t at = 0; t->status == GNN_OK && at < t->count; at += CHUNK)
        t->status =
            gnn_map_gather_u32(t->world, t->map, t->index + at, gnn_min_u64(t->count - at, CHUNK), out, &t->err);
    t->cpu_ns = (double)(gnn_thread_cpu_ns() - start_ns);
    const struct faults after = faults_so_far();
    assert(after.minor >= before.minor);
    assert(after.major >= before.major);
    t->happened = (struct faults){.minor = after.minor - before.minor, .major = after.major - before.major};
}

/* Starts the threads and waits for all; what they did is summed up in `sum`. */
static enum gnn_status run_touchers(struct toucher *touchers, uint32_t count, struct gnn_touches *sum,
                                    struct gnn_err *err)
{
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; status == GNN_OK && i < count; i++)
        status = gnn_thread_start(touchers[i].world, "faults", toucher_main, &touchers[i], &touchers[i].thread, err);
    for (uint32_t i = 0; i < count; i++) {
        gnn_thread_join(touchers[i].world, touchers[i].thread);
        if (status == GNN_OK && touchers[i].status != GNN_OK)
            status = gnn_fail(err, touchers[i].status, "%s", touchers[i].err.message);
        sum->cpu_ns += touchers[i].cpu_ns;
        sum->minor += touchers[i].happened.minor;
        sum->major += touchers[i].happened.major;
    }
    return status;
}

enum gnn_status gnn_touch_pages(struct gnn_world *world, struct gnn_file *file, enum gnn_map_advice advice,
                                const uint64_t *index, uint64_t count, uint32_t threads, uint32_t cores,
                                struct gnn_touches *out, struct gnn_err *err)
{
    assert(threads >= 1);
    assert(threads <= GNN_TOUCH_THREADS_MAX);
    struct toucher touchers[GNN_TOUCH_THREADS_MAX];
    struct gnn_map *map = NULL;
    struct gnn_busy busy;
    *out = (struct gnn_touches){.cpu_ns = 0};
    GNN_TRY(gnn_map_open(world, file, advice, &map, err));
    for (uint32_t i = 0; i < threads; i++) {
        const uint64_t first = count * i / threads;
        touchers[i] = (struct toucher){
            .world = world, .map = map, .index = index + first, .count = count * (i + 1) / threads - first};
    }
    gnn_busy_begin(cores, &busy);
    const enum gnn_status status = run_touchers(touchers, threads, out, err);
    out->besides_ns = gnn_busy_besides_ns(&busy, out->cpu_ns);
    gnn_map_close(world, map);
    return status;
}
