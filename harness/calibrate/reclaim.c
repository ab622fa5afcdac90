/* SPDX-License-Identifier: MIT */
/* Measures the CPU time of reclaim: pages brought in under a memory cap that is full, against the same without a cap. A
 * child process does it in a control group with that cap; if no such group can be made, both figures are left out and
 * the profile says why.
 *
 * evict_page  a page without a page-table entry: readahead brought it in, nothing touched it
 * unmap_page  what a page with an entry costs besides: the entry is found and removed, other processors are told
 *
 * Time is that of busy.h. */
#include "harness/base/thread_limits.h"
#include "harness/calibrate/internal.h"
#include "harness/calibrate/touch.h"
#include "harness/confine/confine.h"
#include "harness/measure/page_cache.h"
#include "harness/world/measured/measured.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CAP_MIN_MIB = 16, /* a child with its threads and page tables takes a few */
    CAP_MAX_MIB = 32,
    FILE_OF_CAPS = 4, /* the file is as many times as large */
    WINDOW_PAGES = 32,
    AROUND_PAGES = 16, /* what one fault maps around itself where it is cached */
    AHEAD_PAGES = 32768,
    FAULTS = 30000,
};

struct reclaim {
    struct gnn_bench *bench;
    struct gnn_confine confine;
    uint64_t cap_pages, page_count;
    uint64_t *index; /* (page_count) elements, one a page: in every window's turn another page of it */
};

/* What the child measured in its group; written to a pipe. */
struct found {
    double ahead_ns; /* a page brought in ahead */
    double fault_ns; /* a fault that reads */
    enum gnn_status status;
    char message[200];
};

/* ---- without a page-table entry ---- */

/* Asks for a window and waits for its last page. Returns 0, or an errno value. */
static int bring_in_window(int fd, uint64_t page)
{
    char byte;
    const off_t start = (off_t)(page * GNN_PAGE_BYTES), bytes = (off_t)WINDOW_PAGES * GNN_PAGE_BYTES;
    const int advised = posix_fadvise(fd, start, bytes, POSIX_FADV_WILLNEED);
    if (advised != 0)
        return advised;
    const ssize_t got = pread(fd, &byte, 1, start + bytes - 1);
    return got == 1 ? 0 : got < 0 ? errno : EIO;
}

/* Brings pages [first, first + count) in, window by window; *ns: processor time of one. */
static enum gnn_status bring_in(const struct reclaim *r, int fd, uint64_t first, uint64_t count, double *ns,
                                struct gnn_err *err)
{
    struct gnn_busy busy;
    int failed = 0;
    assert(count >= WINDOW_PAGES);
    gnn_busy_begin(r->bench->out->cores, &busy);
    const uint64_t start_ns = gnn_thread_cpu_ns();
    uint64_t page = first;
    for (; failed == 0 && page + WINDOW_PAGES <= first + count; page += WINDOW_PAGES)
        failed = bring_in_window(fd, page);
    const double own_ns = (double)(gnn_thread_cpu_ns() - start_ns);
    *ns = (own_ns + gnn_busy_besides_ns(&busy, own_ns)) / (double)(page - first);
    return failed == 0 ? GNN_OK
                       : gnn_fail(err, GNN_EIO, "%s: no readahead there: %s", r->bench->data, strerror(failed));
}

static uint64_t ahead_pages(const struct reclaim *r)
{
    return gnn_min_u64(gnn_bench_count(r->bench, AHEAD_PAGES), r->page_count - r->cap_pages);
}

/* What is brought in first fills a cap, and is not counted. */
static enum gnn_status ahead(const struct reclaim *r, double *ns, struct gnn_err *err)
{
    const int fd = open(r->bench->data, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "%s: %s", r->bench->data, strerror(errno));
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* the wait for a window reads nothing ahead itself */
    enum gnn_status status = bring_in(r, fd, 0, r->cap_pages, ns, err);
    GNN_NEXT(status, bring_in(r, fd, r->cap_pages, ahead_pages(r), ns, err));
    (void)close(fd);
    return status;
}

/* ---- with one ---- */

static enum gnn_status touch(const struct reclaim *r, struct gnn_world *world, struct gnn_file *file, uint64_t first,
                             uint64_t count, struct gnn_touches *out, struct gnn_err *err)
{
    assert(first + count <= r->page_count);
    return gnn_touch_pages(world, file, GNN_MAP_RANDOM, r->index + first, count, GNN_TOUCH_THREADS_MAX,
                           r->bench->out->cores, out, err);
}

static enum gnn_status touch_in_turn(const struct reclaim *r, struct gnn_world *world, struct gnn_file *file,
                                     double *ns, struct gnn_err *err)
{
    struct gnn_touches sum;
    const uint64_t count = gnn_min_u64(gnn_bench_count(r->bench, FAULTS), r->page_count - r->cap_pages);
    GNN_TRY(touch(r, world, file, 0, r->cap_pages, &sum, err));
    GNN_TRY(touch(r, world, file, r->cap_pages, count, &sum, err));
    if (sum.major * 2 < count)
        return gnn_fail(err, GNN_ENOTSUP,
                        "with a limit of %llu MiB, half the pages of %s stay in memory: the limit is not enforced",
                        (unsigned long long)(r->cap_pages * GNN_PAGE_BYTES >> 20), r->bench->data);
    *ns = (sum.cpu_ns + sum.besides_ns) / (double)sum.major;
    return GNN_OK;
}

static enum gnn_status faults(const struct reclaim *r, double *ns, struct gnn_err *err)
{
    struct gnn_world *world = NULL;
    struct gnn_file *file = NULL;
    GNN_TRY(gnn_world_measured_open(NULL, &world, err)); /* the parent's is not this process's */
    enum gnn_status status = gnn_file_open(world, r->bench->data, GNN_OPEN_READ, &file, err);
    GNN_NEXT(status, touch_in_turn(r, world, file, ns, err));
    gnn_file_close(world, file);
    gnn_world_measured_close(world);
    return status;
}

/* ---- the child ---- */

static void live_under_the_cap(const struct reclaim *r, const struct gnn_cgroup *cgroup, int say_fd)
{
    struct found found = {.status = GNN_EPERM};
    struct gnn_err err = {0};
    if (gnn_cgroup_enter(cgroup) != 0)
        (void)snprintf(err.message, sizeof err.message, "entering a control group: %s", strerror(errno));
    else
        found.status = ahead(r, &found.ahead_ns, &err);
    GNN_NEXT(found.status, gnn_cache_evict(r->bench->data, &err));
    GNN_NEXT(found.status, faults(r, &found.fault_ns, &err));
    (void)snprintf(found.message, sizeof found.message, "%.190s", err.message);
    _exit(write(say_fd, &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
}

static enum gnn_status hear(const struct reclaim *r, int fd, struct found *found, struct gnn_err *err)
{
    ssize_t got;
    do
        got = read(fd, found, sizeof *found);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *found)
        return gnn_fail(err, GNN_ECAP, "the process under a memory limit of %llu MiB ended before it had measured",
                        (unsigned long long)(r->cap_pages * GNN_PAGE_BYTES >> 20));
    return found->status == GNN_OK ? GNN_OK : gnn_fail(err, found->status, "%s", found->message);
}

static enum gnn_status run_child(const struct reclaim *r, const struct gnn_cgroup *cgroup, struct found *found,
                                 struct gnn_err *err)
{
    int pipe_fd[2];
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    const pid_t child = fork();
    const int failed = errno;
    if (child == 0) {
        (void)close(pipe_fd[0]);
        live_under_the_cap(r, cgroup, pipe_fd[1]);
    }
    (void)close(pipe_fd[1]);
    const enum gnn_status status =
        child < 0 ? gnn_fail_thread(err, "a process", failed, 0) : hear(r, pipe_fd[0], found, err);
    (void)close(pipe_fd[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static enum gnn_status under_a_cap(const struct reclaim *r, struct found *found, struct gnn_err *err)
{
    const struct gnn_cgroup_config config = {.memory_bytes = r->cap_pages * GNN_PAGE_BYTES};
    struct gnn_cgroup *cgroup;
    GNN_TRY(gnn_cgroup_create(&r->confine, &config, &cgroup, err));
    const enum gnn_status status = run_child(r, cgroup, found, err);
    gnn_cgroup_close(cgroup);
    return status;
}

/* ---- the whole ---- */

/* values: evict_page, unmap_page. */
static enum gnn_status once(void *ctx, double *values, struct gnn_err *err)
{
    const struct reclaim *const r = ctx;
    struct found found;
    double free_ns;
    GNN_TRY(gnn_cache_evict(r->bench->data, err));
    GNN_TRY(ahead(r, &free_ns, err));
    GNN_TRY(gnn_cache_evict(r->bench->data, err));
    GNN_TRY(under_a_cap(r, &found, err));
    values[0] = fmax(1, found.ahead_ns - free_ns);
    values[1] = fmax(1, found.fault_ns - r->bench->out->figure[GNN_FIGURE_FAULT_MAJOR].value - values[0]);
    return GNN_OK;
}

/* Window by window, 64 KiB each and far apart, and the next page of every window in the next turn: where the cap is
 * smaller than a page of every window, what lies around a fault has gone. */
static enum gnn_status order_pages(struct reclaim *r, struct gnn_err *err)
{
    const uint64_t windows = r->page_count / AROUND_PAGES, apart = 4093; /* prime */
    GNN_NEW(r->index, r->page_count, err, "calibrate: %llu pages to touch", (unsigned long long)r->page_count);
    for (uint64_t i = 0; i < r->page_count; i++) {
        const uint64_t window = i % windows * apart % windows, page = (i / windows * 5 + 3) % AROUND_PAGES;
        r->index[i] = (window * AROUND_PAGES + page) * (GNN_PAGE_BYTES / sizeof(uint32_t));
    }
    return GNN_OK;
}

/* Why there is nothing to measure; NULL: there is. */
static const char *missing(const struct reclaim *r)
{
    if (!r->confine.memory_usable)
        return r->confine.remedy;
    if (r->bench->data_bytes < (uint64_t)FILE_OF_CAPS * CAP_MIN_MIB << 20)
        return "the file is smaller than 64 MiB";
    return NULL;
}

/* Measures both. If this machine does not permit it, or the child is killed by its cap, that is no error: the figures
 * stay 0, the reason is kept, and calibration goes on with the others. */
static enum gnn_status measure(struct reclaim *r, struct gnn_err *err)
{
    struct gnn_calibration *const out = r->bench->out;
    struct gnn_figure *const figure = &out->figure[GNN_FIGURE_EVICT_PAGE];
    struct gnn_err cause = {0};
    const enum gnn_status status = gnn_figures_measure(once, r, r->bench->repeats, 2, figure, &cause);
    if (status == GNN_OK)
        return GNN_OK;
    if (status != GNN_EPERM && status != GNN_ENOTSUP && status != GNN_ECAP)
        return gnn_fail(err, status, "%s", cause.message);
    (void)snprintf(out->reclaim_missing, sizeof out->reclaim_missing, "%.250s", cause.message);
    return GNN_OK;
}

enum gnn_status gnn_bench_reclaim(struct gnn_bench *bench, struct gnn_err *err)
{
    struct reclaim r = {.bench = bench};
    struct gnn_calibration *const out = bench->out;
    GNN_TRY(gnn_confine_detect(&r.confine, err));
    if (missing(&r) != NULL) {
        (void)snprintf(out->reclaim_missing, sizeof out->reclaim_missing, "%.250s", missing(&r));
        return GNN_OK;
    }
    const uint64_t cap_bytes = gnn_min_u64((uint64_t)CAP_MAX_MIB << 20, bench->data_bytes / FILE_OF_CAPS);
    r.cap_pages = cap_bytes / GNN_PAGE_BYTES;
    r.page_count = gnn_round_down(bench->data_bytes / GNN_PAGE_BYTES, AROUND_PAGES);
    enum gnn_status status = order_pages(&r, err);
    GNN_NEXT(status, measure(&r, err));
    free(r.index);
    return status;
}
