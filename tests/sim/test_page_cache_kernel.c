/* SPDX-License-Identifier: MIT */
/* The page cache model against this machine's kernel: the same accesses run in a child inside a memory group, where
 * mincore says before each whether its page is cached, and through the model; hit rates must agree. Files are sparse:
 * the kernel caches their pages like any others and the disk stays out of it.
 *
 * OOCGNN_TEST_ACCESSES=10 runs ten times the accesses: minutes, since each miss of a mapping with the kernel's
 * readahead reads the device's whole window. OOCGNN_TEST_TRACE=TEXT runs the traces with TEXT in their name. Skipped
 * where no group can be made.
 *
 * Traces with a window of their own hold the device's readahead at it meanwhile, and are left out where this user may
 * not set it. */
#include "harness/base/rng.h"
#include "harness/confine/confine.h"
#include "harness/confine/readahead.h"
#include "harness/measure/device.h"
#include "harness/world/simulated/page_cache.h"
#include "tests/support/must.h"
#include "tests/support/sanitizers.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, FILES_MAX = 2, PAGES_MAX = 8, MIB_PAGES = MIB / GNN_PAGE_BYTES };

static const double tolerance_points = 3;

enum access { MAP_RANDOM, MAP_NORMAL, READ_RANDOM, READ_NORMAL };
enum pattern { UNIFORM, SKEWED, SCAN_AND_HOT, SCAN };

struct trace_file {
    uint32_t mib;
    enum access access;
    enum pattern pattern;
    uint32_t share; /* of the touches, in parts of the sum */
    uint32_t pages; /* of one read(), aligned to them */
};

struct trace {
    const char *name;
    uint32_t cap_mib;
    uint32_t touches;
    uint32_t sum_every; /* touches between two sums of the group's statistics */
    struct trace_file files[FILES_MAX];
    uint32_t window; /* WINDOW(KiB); 0: as the device has it */
};

#define WINDOW(kib) ((kib) + 1)

static const struct trace traces[] = {
    {"uniform, mapped random", 64, 60000, 2000, {{200, MAP_RANDOM, UNIFORM, 1, 1}}, 0},
    {"skewed, mapped random", 64, 60000, 2000, {{200, MAP_RANDOM, SKEWED, 1, 1}}, 0},
    {"scan and hot set, mapped random", 64, 60000, 2000, {{200, MAP_RANDOM, SCAN_AND_HOT, 1, 1}}, 0},
    {"topology and features, mapped random",
     80,
     80000,
     2000,
     {{40, MAP_RANDOM, SKEWED, 3, 1}, {240, MAP_RANDOM, SKEWED, 2, 1}},
     0},
    {"uniform, mapped normal", 64, 250, 50, {{200, MAP_NORMAL, UNIFORM, 1, 1}}, 0},
    {"skewed, mapped normal", 64, 250, 50, {{200, MAP_NORMAL, SKEWED, 1, 1}}, 0},
    {"scan and hot set, mapped normal", 64, 250, 50, {{200, MAP_NORMAL, SCAN_AND_HOT, 1, 1}}, 0},
    {"topology and features, mapped normal",
     80,
     250,
     50,
     {{40, MAP_NORMAL, SKEWED, 3, 1}, {240, MAP_NORMAL, SKEWED, 2, 1}},
     0},
    {"uniform, mapped, no readahead", 64, 60000, 2000, {{200, MAP_NORMAL, UNIFORM, 1, 1}}, WINDOW(0)},
    {"skewed, mapped, no readahead", 64, 60000, 2000, {{200, MAP_NORMAL, SKEWED, 1, 1}}, WINDOW(0)},
    {"uniform, mapped, 16 KiB", 64, 20000, 1000, {{200, MAP_NORMAL, UNIFORM, 1, 1}}, WINDOW(16)},
    {"uniform, mapped, 128 KiB", 64, 5000, 500, {{200, MAP_NORMAL, UNIFORM, 1, 1}}, WINDOW(128)},
    {"skewed, mapped, 128 KiB", 64, 5000, 500, {{200, MAP_NORMAL, SKEWED, 1, 1}}, WINDOW(128)},
    {"topology and features, mapped, 128 KiB",
     80,
     5000,
     500,
     {{40, MAP_NORMAL, SKEWED, 3, 1}, {240, MAP_NORMAL, SKEWED, 2, 1}},
     WINDOW(128)},
    {"uniform, mapped, 1 MiB", 64, 1000, 100, {{200, MAP_NORMAL, UNIFORM, 1, 1}}, WINDOW(1024)},
    {"uniform, read random", 64, 60000, 2000, {{200, READ_RANDOM, UNIFORM, 1, 1}}, 0},
    {"skewed, read random", 64, 60000, 2000, {{200, READ_RANDOM, SKEWED, 1, 1}}, 0},
    {"uniform, read normal", 64, 60000, 2000, {{200, READ_NORMAL, UNIFORM, 1, 1}}, 0},
    {"skewed, read normal", 64, 60000, 2000, {{200, READ_NORMAL, SKEWED, 1, 1}}, 0},
    {"scan and hot set, read normal", 64, 60000, 2000, {{200, READ_NORMAL, SCAN_AND_HOT, 1, 1}}, 0},
    {"scan, read normal", 64, 60000, 2000, {{200, READ_NORMAL, SCAN, 1, 1}}, 0},
    {"uniform, read normal, 8 pages", 64, 20000, 1000, {{200, READ_NORMAL, UNIFORM, 1, 8}}, 0},
    {"skewed, read random, 3 pages", 64, 30000, 1000, {{200, READ_RANDOM, SKEWED, 1, 3}}, 0},
    {"mapped topology, features by read",
     80,
     80000,
     2000,
     {{40, MAP_RANDOM, SKEWED, 3, 1}, {240, READ_NORMAL, SKEWED, 2, 1}},
     0},
};

struct touch {
    uint32_t file, page;
};

/* Shared with the child. */
struct shared {
    uint64_t room_bytes;
    uint64_t hits[FILES_MAX], touches[FILES_MAX];
    uint64_t window_bytes;
    struct touch touch[];
};

/* ---- traces ---- */

/* Pages of equal popularity lie apart: multiplied by a number without a factor in common. */
static uint32_t scatter(uint64_t rank, uint64_t pages)
{
    return (uint32_t)(rank * UINT64_C(2654435761) % pages);
}

/* In units of file->pages. */
static uint32_t next_page(const struct trace_file *file, struct gnn_rng *rng, uint64_t *scan)
{
    const uint64_t pages = (uint64_t)file->mib * MIB_PAGES / file->pages;
    switch (file->pattern) {
    case UNIFORM:
        return (uint32_t)(gnn_rng_unit(rng) * (double)pages);
    case SKEWED:
        return scatter((uint64_t)((double)pages * pow(gnn_rng_unit(rng), 3)), pages);
    case SCAN_AND_HOT: /* one touch in three goes on with the scan; a tenth of the file is hot */
        if (gnn_rng_unit(rng) < 2.0 / 3)
            return scatter((uint64_t)(gnn_rng_unit(rng) * (double)(pages / 10)), pages);
        return (uint32_t)((*scan)++ % pages);
    case SCAN:
        return (uint32_t)((*scan)++ % pages);
    }
    abort();
}

static void fill(const struct trace *trace, struct touch *out, uint32_t touches)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(1, "page cache"));
    uint64_t scan[FILES_MAX] = {0};
    const uint32_t shares = trace->files[0].share + trace->files[1].share;
    for (uint32_t i = 0; i < touches; i++) {
        const uint32_t file = gnn_rng_unit(&rng) * shares < trace->files[0].share ? 0 : 1;
        const uint32_t unit = next_page(&trace->files[file], &rng, &scan[file]);
        out[i] = (struct touch){file, unit * trace->files[file].pages};
    }
}

/* ---- the kernel's side ---- */

struct opened {
    int fd;
    volatile unsigned char *map;
};

static struct opened open_one(const struct trace_file *file)
{
    struct opened o = {.fd = -1};
    char path[] = "./oocgnn-pages-XXXXXX"; /* on the build's disk: /tmp may be memory */
    o.fd = mkstemp(path);
    if (o.fd < 0 || unlink(path) != 0 || ftruncate(o.fd, (off_t)file->mib * MIB) != 0)
        abort();
    if (file->access == READ_RANDOM && posix_fadvise(o.fd, 0, 0, POSIX_FADV_RANDOM) != 0)
        abort();
    void *map = mmap(NULL, (size_t)file->mib * MIB, PROT_READ, MAP_SHARED, o.fd, 0);
    if (map == MAP_FAILED)
        abort();
    if (madvise(map, (size_t)file->mib * MIB, file->access == MAP_NORMAL ? MADV_NORMAL : MADV_RANDOM) != 0)
        abort();
    o.map = map;
    return o;
}

static void touch_one(const struct opened *o, const struct trace_file *file, uint32_t page)
{
    static unsigned char bytes[PAGES_MAX * GNN_PAGE_BYTES];
    const size_t len_bytes = (size_t)file->pages * GNN_PAGE_BYTES;
    if (file->access == MAP_RANDOM || file->access == MAP_NORMAL)
        (void)o->map[(uint64_t)page * GNN_PAGE_BYTES];
    else if (pread(o->fd, bytes, len_bytes, (off_t)page * GNN_PAGE_BYTES) != (ssize_t)len_bytes)
        abort();
}

static uint64_t window_bytes(int fd)
{
    struct stat info;
    char path[128];
    unsigned long long kib = 128;
    if (fstat(fd, &info) != 0)
        abort();
    (void)snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(info.st_dev), minor(info.st_dev));
    FILE *stream = fopen(path, "re");
    if (stream != NULL) {
        if (fscanf(stream, "%llu", &kib) != 1)
            kib = 128;
        (void)fclose(stream);
    }
    return kib * 1024;
}

/* Reading the group's statistics is what makes the kernel sum them up. */
static struct gnn_group_reading sum_statistics(const struct gnn_cgroup *cgroup)
{
    struct gnn_group_reading reading;
    struct gnn_err err = {0};
    if (gnn_cgroup_read(cgroup, &reading, &err) != GNN_OK)
        abort();
    return reading;
}

static void run_child(const struct gnn_cgroup *cgroup, const struct trace *trace, uint32_t touches,
                      struct shared *shared)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one); /* a CPU holds a few dozen pages back: one CPU's worth is enough */
    (void)sched_setaffinity(0, sizeof one, &one);
    struct opened files[FILES_MAX];
    for (uint32_t f = 0; f < FILES_MAX && trace->files[f].mib > 0; f++)
        files[f] = open_one(&trace->files[f]);
    shared->window_bytes = window_bytes(files[0].fd);
    shared->room_bytes = (uint64_t)trace->cap_mib * MIB - sum_statistics(cgroup).current_bytes;
    for (uint32_t i = 0; i < touches; i++) {
        const struct touch *t = &shared->touch[i];
        const uint32_t pages = trace->files[t->file].pages;
        unsigned char resident[PAGES_MAX];
        void *at = (void *)(uintptr_t)(files[t->file].map + (uint64_t)t->page * GNN_PAGE_BYTES);
        if (mincore(at, (size_t)pages * GNN_PAGE_BYTES, resident) != 0)
            abort();
        for (uint32_t p = 0; p < pages; p++)
            shared->hits[t->file] += resident[p] & 1;
        shared->touches[t->file] += pages;
        touch_one(&files[t->file], &trace->files[t->file], t->page);
        if ((i + 1) % trace->sum_every == 0)
            (void)sum_statistics(cgroup);
    }
}

/* ---- the model's side ---- */

static void run_model(const struct trace *trace, uint32_t touches, const struct shared *shared,
                      uint64_t hits[FILES_MAX])
{
    struct gnn_err err = {0};
    struct sim_page_cache *cache = NULL;
    uint32_t number[FILES_MAX] = {0};
    must(sim_page_cache_open(shared->room_bytes, shared->window_bytes, &cache, &err), &err);
    for (uint32_t f = 0; f < FILES_MAX && trace->files[f].mib > 0; f++)
        assert_int_equal(sim_page_cache_add_file(cache, (uint64_t)trace->files[f].mib * MIB, &number[f], &err), GNN_OK);
    for (uint32_t i = 0; i < touches; i++) {
        const struct touch *t = &shared->touch[i];
        const enum access access = trace->files[t->file].access;
        const enum sim_readahead advice =
            access == MAP_NORMAL || access == READ_NORMAL ? SIM_READAHEAD_NORMAL : SIM_READAHEAD_RANDOM;
        struct sim_touch out;
        const uint32_t pages = trace->files[t->file].pages;
        for (uint32_t p = 0; p < pages; p++)
            hits[t->file] += sim_page_cache_holds(cache, number[t->file], t->page + p);
        if (access == MAP_RANDOM || access == MAP_NORMAL)
            sim_page_cache_touch(cache, number[t->file], t->page, advice, &out);
        else
            sim_page_cache_read(cache, number[t->file], t->page, pages, advice, &out);
        if ((i + 1) % trace->sum_every == 0)
            sim_page_cache_sum_statistics(cache);
    }
    sim_page_cache_close(cache);
}

/* ---- tests ---- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* Sets the window of the device that the traces' files lie on; false: not permitted. */
static bool hold_window(const struct trace *trace, struct gnn_readahead **held)
{
    struct gnn_device_info device;
    struct gnn_err err = {0};
    char path[GNN_READAHEAD_PATH];
    *held = NULL;
    if (trace->window == 0)
        return true;
    must(gnn_device_find(".", &device, &err), &err);
    gnn_readahead_path(device.major, device.minor, path);
    if (gnn_readahead_hold(path, (uint64_t)(trace->window - 1) * 1024, held, &err) == GNN_OK)
        return true;
    print_message("left out: %s: %s\n", trace->name, err.message);
    return false;
}

static bool compare(const struct gnn_confine *confine, const struct trace *trace, uint32_t scale)
{
    const uint32_t touches = trace->touches * scale;
    const size_t bytes = sizeof(struct shared) + touches * sizeof(struct touch);
    struct shared *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert_true(shared != MAP_FAILED);
    fill(trace, shared->touch, touches);
    struct gnn_err err = {0};
    struct gnn_readahead *held = NULL;
    struct gnn_cgroup *cgroup = NULL;
    const struct gnn_cgroup_config config = {.memory_bytes = (uint64_t)trace->cap_mib * MIB};
    if (!hold_window(trace, &held))
        return true;
    must(gnn_cgroup_create(confine, &config, &cgroup, &err), &err);
    const pid_t child = fork();
    if (child == 0) {
        if (gnn_cgroup_enter(cgroup) != 0)
            _exit(9);
        run_child(cgroup, trace, touches, shared);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    gnn_cgroup_close(cgroup);
    gnn_readahead_release(held);
    uint64_t hits[FILES_MAX] = {0};
    run_model(trace, touches, shared, hits);
    bool close = true;
    for (uint32_t f = 0; f < FILES_MAX && trace->files[f].mib > 0; f++) {
        const double real = percent(shared->hits[f], shared->touches[f]);
        const double modelled = percent(hits[f], shared->touches[f]);
        print_message("%-38s file %u  kernel %6.2f %%  model %6.2f %%  %+.2f\n", trace->name, f, real, modelled,
                      modelled - real);
        close = close && fabs(real - modelled) <= tolerance_points;
    }
    (void)munmap(shared, bytes);
    return close;
}

static void test_hit_rates_are_the_kernels(void **state)
{
    (void)state;
    struct gnn_confine confine;
    struct gnn_err err = {0};
    assert_int_equal(gnn_confine_detect(&confine, &err), GNN_OK);
    if (!confine.memory_usable)
        skip_test("no memory group can be made here: %s", confine.remedy);
    if (SANITIZERS_SHADOW_PERCENT > 100)
        skip_test("a sanitizer's shadow memory would be charged to the cap");
    const char *const times = getenv("OOCGNN_TEST_ACCESSES");
    const uint32_t scale = times != NULL ? (uint32_t)strtoul(times, NULL, 10) : 1;
    const char *only = getenv("OOCGNN_TEST_TRACE");
    bool close = true;
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++)
        if (only == NULL || strstr(traces[i].name, only) != NULL)
            close = compare(&confine, &traces[i], scale) && close;
    assert_true(close);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hit_rates_are_the_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
