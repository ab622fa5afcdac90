/* Hardware profiles: every shipped file, what is refused with file and line, the grid by hand, scaled costs, names,
 * digests. */
#include "harness/world/profile.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const shipped[] = {"workloads/hardware", NULL};

#define MACHINE "[machine]\nmachine_id = toy\ntitle = A toy\nmemory = 8G stated\nprocess = 1M assumed: small\n"
#define WRITES                                                                                                         \
    "devices = 2 stated\nstripe = 64K stated\nsector = 512 stated\ndepth_max = 32 stated\n"                            \
    "write_latency = 40us assumed\nwrite_iops = 20k/s stated\nwrite_bandwidth = 400MB/s stated\n"                      \
    "readahead = 128K assumed\n"
#define CURVE "read_latency = 80us measured\nread_iops = 100k/s datasheet\nread_bandwidth = 409.6MB/s datasheet\n"
#define COSTS                                                                                                          \
    "sampled_edge = 7ns measured\nhashed_id = 8.5ns measured\nsorted_key = 5ns measured\n"                             \
    "copied_byte = 0.07ns measured\ntable_entry = 12ns measured\ngather_element = 11ns measured\n"                     \
    "gather_row = 120ns measured\nfault_minor = 330ns measured\nfault_major = 2.5us assumed\n"                         \
    "readahead_page = 300ns measured\nsyscall = 167ns measured\nsubmit = 700ns assumed\n"                              \
    "complete = 600ns assumed\nbuffered_page = 500ns measured\nlock = 6ns measured\nwake = 3.5us measured\n"           \
    "wake_latency = 5.7us measured\nthread_start = 36us measured\n"
#define CPU "[cpu]\nmodel = Toy\ncores = 4 stated\nclock = 2.6GHz stated\n"
#define HOST                                                                                                           \
    "[host]\ngemm = 100GFLOP/s derived\nbandwidth = 10GB/s assumed\nbandwidth_shared = 40GB/s derived\n"               \
    "gather = 4GB/s assumed\nlaunch = 200ns assumed\n"
#define GPU                                                                                                            \
    "[gpu]\ngemm = 24.9TFLOP/s derived\nbandwidth = 795GB/s derived\ngather = 400GB/s derived\n"                       \
    "launch = 3us assumed\nmemory = 24G stated\n"
#define BUS "[bus]\npinned = 25GB/s derived\npageable = 8GB/s assumed\nlatency = 10us assumed\n"
#define GOOD MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST GPU BUS

static struct gnn_profile *parse(const char *path, const char *text)
{
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    must(gnn_profile_parse(path, text, &p, &err), &err);
    return p;
}

static void test_figures(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("some/where/toy-box.ini", GOOD);
    assert_string_equal(p->name, "toy-box");
    assert_string_equal(p->machine_id, "toy");
    assert_string_equal(p->title, "A toy");
    assert_int_equal(p->memory_bytes, UINT64_C(8) << 30);
    assert_int_equal(p->kernel, GNN_PROFILE_KERNEL); /* none is named */
    assert_int_equal(p->storage.devices, 2);
    assert_int_equal(p->storage.write_latency_ns, 40000);
    assert_int_equal(p->storage.write_iops, 20000);
    assert_int_equal(p->storage.write_bytes_per_s, 400000000);
    assert_int_equal(p->cpu.cores, 4);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE], 7000);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_HASHED_ID], 8500);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_COPIED_BYTE], 70);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_CPU_NS], 1000);
    assert_int_equal(p->cpu.fault_major_ns, 2500);
    assert_true(p->host.present && p->gpu.present);
    assert_int_equal(p->host.gemm_flops_per_s, UINT64_C(100000000000));
    assert_int_equal(p->gpu.gemm_flops_per_s, UINT64_C(24900000000000));
    assert_int_equal(p->gpu.memory_bytes, UINT64_C(24) << 30);
    assert_int_equal(p->gpu.bytes_per_s_shared, UINT64_C(795000000000));
    assert_int_equal(p->gpu.devices, 1); /* one, that has nobody to talk to but the host */
    assert_int_equal(p->bus.link_bytes_per_s, p->bus.pinned_bytes_per_s);
    assert_int_equal(p->bus.link_latency_ns, p->bus.latency_ns);
    assert_int_equal(p->bus.latency_ns, 10000);
    gnn_profile_close(p);
    gnn_profile_close(NULL);
}

/* Latency 80 us, 100 k/s, 409.6 MB/s: 10 us a request, and 10 us for each 4 KiB. */
static void test_grid_from_three_figures(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("toy.ini", GOOD);
    const struct gnn_profile_storage *st = &p->storage;
    assert_int_equal(st->size_count, 12);
    assert_int_equal(st->size_bytes[0], 512);
    assert_int_equal(st->size_bytes[11], 1 << 20);
    assert_int_equal(st->depth_count, 6);
    assert_int_equal(st->depth[0], 1);
    assert_int_equal(st->depth[5], 32);
    const struct {
        uint32_t size, depth;
        uint64_t us;
    } cases[] = {
        {0, 0, 80},    {3, 0, 80},    {0, 3, 10}, /* 512 B and 4 KiB alike: 80 / 8 = 10 */
        {3, 2, 20},    {3, 5, 10},                /* IOPS bound */
        {4, 0, 90},    {4, 3, 20},                /* 8 KiB: 80 + 10 alone; the bandwidth at depth */
        {11, 0, 2630}, {11, 5, 2560},             /* 1 MiB */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(st->read_ps[cases[i].size][cases[i].depth], cases[i].us * 1000000);
    gnn_profile_close(p);
    p = parse("deep.ini", MACHINE "[storage]\ndevices = 1 stated\nstripe = 64K stated\nsector = 4096 stated\n"
                                  "depth_max = 48 stated\nwrite_latency = 1us stated\nwrite_iops = 1/s stated\n"
                                  "write_bandwidth = 1B/s stated\nreadahead = 0 stated\n" CURVE CPU COSTS HOST);
    assert_int_equal(p->storage.size_bytes[0], 4096);
    assert_int_equal(p->storage.depth_count, 7);
    assert_int_equal(p->storage.depth[6], 48); /* the deepest is in the grid */
    assert_false(p->gpu.present);
    gnn_profile_close(p);
}

static void test_the_kernel_is_a_version(void **state)
{
    (void)state;
    static const struct {
        const char *figure;
        uint32_t kernel; /* 0: refused */
    } cases[] = {{"5.19 stated", 5019}, {"6.8 assumed: not stated", 6008},
                 {"6.10 stated", 6010}, {"5.19", 0},
                 {"5 stated", 0},       {"5.1x stated", 0},
                 {".19 stated", 0},     {"5. stated", 0},
                 {"2.6 stated", 0},     {"5.1000 stated", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        (void)snprintf(text, sizeof text, "%skernel = %s\n[storage]\n%s%s%s%s%s", MACHINE, cases[i].figure, WRITES,
                       CURVE, CPU, COSTS, HOST);
        const enum gnn_status status = gnn_profile_parse("p.ini", text, &p, &err);
        assert_int_equal(status, cases[i].kernel == 0 ? GNN_EFORMAT : GNN_OK);
        if (status == GNN_OK)
            assert_int_equal(p->kernel, cases[i].kernel);
        gnn_profile_close(p);
    }
}

static void test_grid_given(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("toy.ini", MACHINE "[storage]\n" WRITES "read_depths = 1,4,128 measured: fio\n"
                                                     "read_us.512 = 80.25,20.000001,10 measured\n"
                                                     "read_us.1M = 2000,1900,1900 measured\n" CPU COSTS HOST);
    const struct gnn_profile_storage *st = &p->storage;
    assert_int_equal(st->size_count, 2);
    assert_int_equal(st->depth_count, 3);
    assert_int_equal(st->depth[2], 128);
    assert_int_equal(st->size_bytes[1], 1 << 20);
    assert_int_equal(st->read_ps[0][0], 80250000);
    assert_int_equal(st->read_ps[0][1], 20000001);
    assert_int_equal(st->read_ps[1][2], UINT64_C(1900000000));
    assert_int_equal(st->scattered_ps[1][0], 0); /* not known */
    gnn_profile_close(p);
}

/* Reads into single pages have rows of their own, of sizes that have one already. */
static void test_scattered_rows(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("toy.ini", MACHINE "[storage]\n" WRITES "read_depths = 1,4 measured: fio\n"
                                                     "read_us.4K = 80,20 measured\n"
                                                     "read_us.64K = 100,30 measured\n"
                                                     "read_us.1M = 400,300 measured\n"
                                                     "read_scattered_us.1M = 900,800.5 measured\n"
                                                     "read_scattered_us.64K = 110,31 measured\n" CPU COSTS HOST);
    static const uint64_t expected_us[3][2] = {{0, 0}, {110, 31}, {900, 800}};
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t d = 0; d < 2; d++)
            assert_int_equal(p->storage.scattered_ps[s][d] / 1000000, expected_us[s][d]);
    assert_int_equal(p->storage.scattered_ps[2][1], UINT64_C(800500000));
    assert_int_equal(p->storage.read_ps[2][1], UINT64_C(300000000));
    gnn_profile_close(p);
}

/* What a device does with reads beside writes, and written to for long, may be left out. */
static void test_mixed_and_sustained_figures(void **state)
{
    (void)state;
    struct gnn_profile *p = parse("p.ini", MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST);
    assert_int_equal(p->storage.mixed_bytes_per_s, 0);
    assert_int_equal(p->storage.write_sustained_bytes_per_s, 0);
    assert_int_equal(p->storage.write_burst_bytes, 0);
    gnn_profile_close(p);
    p = parse("p.ini", MACHINE "[storage]\nmixed_bandwidth = 300MB/s measured\nwrite_sustained = 90MB/s datasheet\n"
                               "write_burst = 42G datasheet\n" WRITES CURVE CPU COSTS HOST);
    assert_int_equal(p->storage.mixed_bytes_per_s, 300000000);
    assert_int_equal(p->storage.write_sustained_bytes_per_s, 90000000);
    assert_int_equal(p->storage.write_burst_bytes, UINT64_C(42) << 30);
    gnn_profile_close(p);
}

/* ---- refusals ---- */

static void test_refusals_name_file_line_and_key(void **state)
{
    (void)state;
    const struct {
        const char *text, *words[3];
    } cases[] = {
        {MACHINE "[storage]\n" WRITES CURVE "[cpu]\ncores = 4\n", {"p.ini:19:", "cores = 4", "stated, datasheet"}},
        {MACHINE "[cpu]\ncores = 4 guessed\n", {"p.ini:7:", "cores", "source"}},
        {MACHINE "[cpu]\ncores = 4 stated by nobody\n", {"p.ini:7:", "colon"}},
        {MACHINE "[cpu]\ncores = 4 statedly\n", {"p.ini:7:", "source"}},
        {MACHINE "[cpu]\ncoers = 4 stated\n", {"p.ini:7:", "coers", "did you mean \"cores\""}},
        {"[machin]\nmemory = 8G stated\n", {"p.ini:1:", "[machin]", "\"machine\""}},
        {"[global]\nmemory = 8G stated\n", {"p.ini:1:", "[global]"}},
        {MACHINE "[cpu]\nclock = 2.6 stated\n", {"p.ini:7:", "MHz or GHz"}},
        {MACHINE "[cpu]\nclock = 2.6GB/s stated\n", {"p.ini:7:", "clock"}},
        {MACHINE "[cpu]\ncores = 4.5 stated\n", {"p.ini:7:", "plain integer"}},
        {MACHINE "[cpu]\ncores = -4 stated\n", {"p.ini:7:", "plain integer"}},
        {MACHINE "[cpu]\ncores = 0 stated\n", {"p.ini:7:", "too small"}},
        {MACHINE "[cpu]\ncores = 99999999999 stated\n", {"p.ini:7:", "too large"}},
        {MACHINE "[cpu]\nsyscall = 0.5ns stated\n", {"p.ini:7:", "whole nanoseconds"}},
        {MACHINE "[cpu]\nsampled_edge = 0.0001ns stated\n", {"p.ini:7:", "whole picoseconds"}},
        {MACHINE "[cpu]\nsyscall = 99999999999999999999999s stated\n", {"p.ini:7:", "syscall"}},
        {MACHINE "[cpu]\nsyscall = . stated\n", {"p.ini:7:", "syscall"}},
        {MACHINE "[storage]\nread_bandwidth = 550MiB/s stated\n", {"p.ini:7:", "powers of 1000"}},
        {MACHINE "[storage]\nread_iops = 98000 stated\n", {"p.ini:7:", "98k/s"}},
        {MACHINE "[storage]\nstripe = 64Q stated\n", {"p.ini:7:", "128K"}},
        {MACHINE "[storage]\nread_us.512 = 1 stated\n", {"p.ini:7:", "read_depths"}},
        {MACHINE "[storage]\nread_depths = 2,4 stated\n", {"p.ini:7:", "start at 1"}},
        {MACHINE "[storage]\nread_depths = 1,4,4 stated\n", {"p.ini:7:", "ascend"}},
        {MACHINE "[storage]\nread_depths = 1,,4 stated\n", {"p.ini:7:", "1,2,4"}},
        {MACHINE "[storage]\nread_depths = 1,2 stated\nread_us.4K = 3 stated\n", {"p.ini:8:", "each of read_depths"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 0 stated\n", {"p.ini:8:", "microseconds"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_us.512 = 3 stated\n",
         {"p.ini:9:", "above"}},
        {MACHINE "[storage]\n" WRITES "read_depths = 1 stated\n" CPU COSTS HOST, {"p.ini:15:", "read_us.SIZE"}},
        {MACHINE "[storage]\nread_scattered_us.4K = 3 stated\n", {"p.ini:7:", "read_us", "stands before"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.8K = 3 stated\n",
         {"p.ini:9:", "read_us", "stands before"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.x = 3 stated\n",
         {"p.ini:9:", "read_us", "stands before"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.4K = 3,4 stated\n",
         {"p.ini:9:", "each of read_depths"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.4K = 3 stated\nread_scattered_us.4K = 0 stated\n",
         {"p.ini:9:", "microseconds"}},
        {MACHINE "[storage]\nread_depths = 1 stated\nread_us.1M = 3 stated\nread_scattered_us.1M = 4 stated\n"
                 "read_scattered_us.1024K = 5 stated\n",
         {"p.ini:10:", "second row"}},
        {MACHINE "[storage]\n" WRITES CPU COSTS HOST, {"p.ini:", "read_latency"}},
        {MACHINE "[storage]\nmixed_bandwidth = 900kB/s stated\n", {"p.ini:7:", "mixed_bandwidth", "too small"}},
        {MACHINE "[storage]\nwrite_burst = 1G stated\n" WRITES CURVE CPU COSTS HOST, {"p.ini:", "stand together"}},
        {MACHINE "[storage]\nwrite_sustained = 1MB/s stated\n" WRITES CURVE CPU COSTS HOST,
         {"p.ini:", "stand together"}},
        {MACHINE "[storage]\nwrite_sustained = 401MB/s stated\nwrite_burst = 1G stated\n" WRITES CURVE CPU COSTS HOST,
         {"p.ini:", "write_bandwidth"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU HOST, {"p.ini:", "sampled_edge"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS, {"p.ini:", "[host] lacks gemm"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST GPU, {"p.ini:", "[bus] lacks pinned"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST "[gpu]\n" BUS, {"p.ini:", "[gpu] lacks gemm"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS "[host]\ngemm = 100GFLOP/s derived\nbandwidth = 10GB/s assumed\n"
                 "bandwidth_shared = 9.9GB/s derived\ngather = 4GB/s assumed\nlaunch = 200ns assumed\n",
         {"p.ini:", "bandwidth_shared is below"}},
        {MACHINE "[storage]\n" WRITES CURVE CPU "costs = no/such.ini\n" HOST, {"no/such.ini"}},
        {"[machine]\nmachine_id = toy\n", {"p.ini:", "title"}},
        {"[machine]\nmachine_id =\n", {"p.ini:2:"}},
        {"[machine]\ncalibrated = 2026-11-24T17:33:34Z\n", {"p.ini:2:", "source"}},
        {"[machine]\ncalibrated = 2026-11-24 stated\n", {"p.ini:2:", "calibrated", "2026-11-24T17:33:34Z"}},
        {"[machine]\ncalibrated = 2026-11-24T17:33:34+01:00 stated\n", {"p.ini:2:", "2026-11-24T17:33:34Z"}},
        {"[machine]\ncalibrated = 1970-01-01T00:00:00Z stated\n", {"p.ini:2:", "too small"}},
        {"memory = 8G stated\n", {"p.ini:1:", "section"}},
        {"", {"p.ini:", "machine_id"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        const enum gnn_status status = gnn_profile_parse("p.ini", cases[c].text, &p, &err);
        if (status == GNN_OK)
            fail_msg("case %zu is taken", c);
        for (size_t w = 0; w < 3 && cases[c].words[w] != NULL; w++)
            if (strstr(err.message, cases[c].words[w]) == NULL)
                fail_msg("case %zu: \"%s\" is not in: %s", c, cases[c].words[w], err.message);
        assert_null(p);
    }
}

/* ---- when it was calibrated ---- */

static void test_the_age_of_a_calibration(void **state)
{
    (void)state;
    static const uint64_t then = 1767323045; /* 2026-01-02T03:04:05Z */
    static const struct {
        const char *line;
        uint64_t now_s, age_s;
        const char *text;
    } cases[] = {
        {"", then, GNN_UNKNOWN, "calibrated at an unknown time"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then, 0, "calibrated 2026-01-02T03:04:05Z, 0 hours ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated: by a clock\n", then + 3600, 3600,
         "calibrated 2026-01-02T03:04:05Z, 1 hour ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then + 48 * 3600 - 1, 48 * 3600 - 1,
         "calibrated 2026-01-02T03:04:05Z, 47 hours ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then + 48 * 3600, 48 * 3600,
         "calibrated 2026-01-02T03:04:05Z, 2 days ago"},
        {"calibrated = 2026-01-02T03:04:05Z stated\n", then - 1, GNN_UNKNOWN,
         "calibrated 2026-01-02T03:04:05Z, which is yet to come by this machine's clock"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[2048], age[GNN_PROFILE_AGE_BYTES];
        (void)snprintf(text, sizeof text, "%s%s%s", MACHINE, cases[c].line, "[storage]\n" WRITES CURVE CPU COSTS HOST);
        struct gnn_profile *const p = parse("p.ini", text);
        assert_int_equal(gnn_profile_age_s(p, cases[c].now_s), cases[c].age_s);
        assert_string_equal(gnn_profile_age_text(p, cases[c].now_s, age, sizeof age), cases[c].text);
        gnn_profile_close(p);
    }
}

/* ---- files ---- */

static void remove_files(const char *dir)
{
    DIR *open_dir = opendir(dir);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir)) != NULL;) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(unlink(path), 0);
    }
    (void)closedir(open_dir);
    assert_int_equal(rmdir(dir), 0);
}

static void test_costs_scale_with_the_clock(void **state)
{
    (void)state;
    char dir[256];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, sizeof dir, "%.200s/oocgnn-profile-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    process_write_file(dir, "costs.ini", 0644, "%s", "[cpu]\nclock = 2.6GHz stated\n" COSTS);
    process_write_file(dir, "slow.ini", 0644, "%s",
                       MACHINE "[storage]\n" WRITES CURVE
                               "[cpu]\ncores = 1 stated\nclock = 1.3GHz stated\ncosts = costs.ini\n"
                               "lock = 5ns measured\n" HOST);
    const char *const dirs[] = {"no-such-directory", dir, NULL};
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    must(gnn_profile_open("slow", dirs, &p, &err), &err);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE], 14000);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_COPIED_BYTE], 140);
    assert_int_equal(p->cpu.fault_minor_ns, 660);
    assert_int_equal(p->cpu.lock_ns, 5);        /* its own figure wins, unscaled */
    assert_int_equal(p->cpu.ring_cached_ns, 0); /* a cost nobody needs, given by nobody */
    char digest[sizeof p->digest];
    memcpy(digest, p->digest, sizeof digest);
    gnn_profile_close(p);
    process_write_file(dir, "costs.ini", 0644, "%s",
                       "[cpu]\nclock = 2.7GHz stated\nring_cached_read = 650ns measured\n" COSTS);
    assert_int_equal(gnn_profile_open("toy", dirs, &p, &err), GNN_OK); /* by its machine_id */
    assert_string_not_equal(digest, p->digest);                        /* costs belong to it */
    assert_int_equal(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE], 14538);    /* 7 ns x 2.7 / 1.3, rounded */
    assert_int_equal(p->cpu.ring_cached_ns, 1350);
    assert_int_equal(p->cpu.ring_missed_ns, 0);
    assert_int_equal(p->cpu.ring_cached_ns, 1350);
    assert_int_equal(p->cpu.ring_missed_ns, 0);
    gnn_profile_close(p);
    static const char *const wrong[][2] = {{"[cpu]\n" COSTS, "clock"},
                                           {"[cpu]\nclock = 1GHz stated\nlock = 1ns stated\n", "sampled_edge"},
                                           {"[cpu]\nclock = 1GHz stated\ncores = 2 stated\n" COSTS, "cores"}};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        process_write_file(dir, "costs.ini", 0644, "%s", wrong[w][0]);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_profile_open("slow", dirs, &p, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "costs.ini"));
        assert_non_null(strstr(err.message, wrong[w][1]));
    }
    remove_files(dir);
}

#define RELEASED                                                                                                       \
    "[released]\nclock = 2.6GHz stated\nframework_edge = 200ns derived\nshared_edge = 60ns derived\n"                  \
    "list_take = 1.1us measured\n"                                                                                     \
    "list_evict = 1.3us measured\nlist_put = 0.7us measured\nfresh_page = 500ns derived\n"                             \
    "process_start = 20ms assumed\nstep = 2ms derived\nstep_edge = 40ns derived\ncpu_cores = 1.25cores derived\n"

/* A profile has none of them; from their file they come as cycles, but for the GPU's step and the share of the CPU. */
static void test_released_costs(void **state)
{
    (void)state;
    struct gnn_profile *p =
        parse("toy.ini",
              MACHINE "[storage]\n" WRITES CURVE "[cpu]\ncores = 4 stated\nclock = 1.3GHz stated\n" COSTS HOST GPU BUS);
    struct gnn_err err = {0};
    const uint64_t *const ps = p->cpu.work_ps;
    assert_int_equal(ps[GNN_WORK_FRAMEWORK_EDGE], 7000 + 8500 + 5000); /* drawn, hashed, sorted: nothing else */
    assert_int_equal(ps[GNN_WORK_LIST_TAKE] + ps[GNN_WORK_LIST_EVICT] + ps[GNN_WORK_LIST_PUT], 0);
    assert_int_equal(ps[GNN_WORK_FRESH_PAGE] + ps[GNN_WORK_PROCESS_START] + ps[GNN_WORK_SHARED_EDGE], 0);
    assert_int_equal(p->framework.step_ns + p->framework.step_edge_ps + p->framework.milli_cores, 0);
    assert_string_equal(p->costs_digest, "");
    must(gnn_profile_parse_costs(p, "costs.ini", RELEASED, &err), &err);
    assert_int_equal(ps[GNN_WORK_FRAMEWORK_EDGE], 400000);
    assert_int_equal(ps[GNN_WORK_SHARED_EDGE], 120000);
    assert_int_equal(ps[GNN_WORK_LIST_TAKE], 2200000);
    assert_int_equal(ps[GNN_WORK_LIST_EVICT], 2600000);
    assert_int_equal(ps[GNN_WORK_LIST_PUT], 1400000);
    assert_int_equal(ps[GNN_WORK_FRESH_PAGE], 1000000);
    assert_int_equal(ps[GNN_WORK_PROCESS_START], UINT64_C(40000000000));
    assert_int_equal(ps[GNN_WORK_SAMPLED_EDGE], 7000);
    assert_int_equal(p->framework.step_ns, 2000000);
    assert_int_equal(p->framework.step_edge_ps, 40000);
    assert_int_equal(p->framework.milli_cores, 1250);
    assert_int_equal(strlen(p->costs_digest), 32);
    gnn_profile_close(p);
}

/* What is of a mini-batch or an epoch is divided, to the nearest, and what is of an edge, a row or a page is not. */
static void test_costs_of_a_piece_are_divided(void **state)
{
    (void)state;
    struct gnn_profile *const p = parse("toy.ini", GOOD);
    struct gnn_err err = {0};
    must(gnn_profile_parse_costs(p, "costs.ini", RELEASED, &err), &err);
    struct gnn_profile expected = *p;
    gnn_profile_divide_costs(p, 1);
    assert_memory_equal(p, &expected, sizeof expected);
    gnn_profile_divide_costs(p, 300);
    expected.framework.step_ns = 6667;                       /* of 2 ms */
    expected.cpu.work_ps[GNN_WORK_PROCESS_START] = 66666667; /* of 20 ms */
    assert_memory_equal(p, &expected, sizeof expected);
    gnn_profile_close(p);
}

static void test_released_costs_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words[2];
    } cases[] = {
        {"[released]\nclock = 2.6GHz stated\n", {"c.ini", "framework_edge"}},
        {RELEASED "[cpu]\ncores = 2 stated\n", {"c.ini:13:", "[released] alone"}},
        {"[released]\nlist_take = 1us\n", {"c.ini:2:", "source"}},
        {"[released]\ncpu_cores = 2 stated\n", {"c.ini:2:", "1.3cores"}},
        {"[released]\nlist_takes = 1us stated\n", {"c.ini:2:", "list_take"}},
    };
    struct gnn_profile *const p = parse("toy.ini", GOOD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        assert_int_equal(gnn_profile_parse_costs(p, "c.ini", cases[i].text, &err), GNN_EFORMAT);
        for (size_t w = 0; w < 2; w++)
            if (strstr(err.message, cases[i].words[w]) == NULL)
                fail_msg("case %zu: no \"%s\" in: %s", i, cases[i].words[w], err.message);
        assert_int_equal(p->cpu.work_ps[GNN_WORK_LIST_TAKE], 0); /* as it was */
        assert_string_equal(p->costs_digest, "");
    }
    struct gnn_profile *none = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_profile_parse("p.ini", GOOD RELEASED, &none, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "--costs"));
    assert_int_equal(gnn_profile_add_costs(p, "relaesed", shipped, &err), GNN_EUSAGE);
    must(gnn_profile_add_costs(p, "released", shipped, &err), &err);
    assert_true(p->cpu.work_ps[GNN_WORK_FRAMEWORK_EDGE] > 100000); /* several times what drawing takes here */
    gnn_profile_close(p);
}

/* In the order of hardware.csv: every machine of the papers' tables. */
static const char *const machines[] = {"gnndrive-main",        "gnndrive-multigpu",    "diskgnn-g5.48xlarge",
                                       "mariusgnn-p3.2xlarge", "mariusgnn-p3.8xlarge", "mariusgnn-p3.16xlarge",
                                       "ringsampler-main",     "agnes-main",           "agnes-distdgl-node"};
enum { MACHINES = sizeof machines / sizeof *machines };

static void test_every_machine_has_a_profile(void **state)
{
    (void)state;
    char digests[MACHINES][40];
    for (size_t i = 0; i < MACHINES; i++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        must(gnn_profile_open(machines[i], shipped, &p, &err), &err);
        assert_string_equal(p->machine_id, machines[i]);
        assert_int_equal(strlen(p->digest), 32);
        memcpy(digests[i], p->digest, sizeof digests[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(digests[i], digests[j]);
        assert_true(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE] > 1000);
        assert_true(p->gpu.present == (strcmp(machines[i], "agnes-distdgl-node") != 0));
        /* deeper is never slower, larger never faster */
        for (uint32_t s = 0; s < p->storage.size_count; s++)
            for (uint32_t d = 0; d < p->storage.depth_count; d++) {
                assert_true(d == 0 || p->storage.read_ps[s][d] <= p->storage.read_ps[s][d - 1]);
                assert_true(s == 0 || p->storage.read_ps[s][d] >= p->storage.read_ps[s - 1][d]);
            }
        gnn_profile_close(p);
    }
}

/* The same machine with more drives: nothing else differs, so that figures over drives compare drives. */
static void test_more_drives_are_nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {"agnes-paper", "agnes-paper-2ssd", "agnes-paper-4ssd"};
    struct gnn_profile *p[3];
    struct gnn_err err = {0};
    for (int i = 0; i < 3; i++)
        must(gnn_profile_open(names[i], shipped, &p[i], &err), &err);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p[i]->storage.devices, UINT32_C(1) << i);
        p[i]->storage.devices = 1;
        assert_memory_equal(&p[i]->storage.read_ps, &p[0]->storage.read_ps, sizeof p[0]->storage.read_ps);
        assert_memory_equal(&p[i]->cpu, &p[0]->cpu, sizeof p[0]->cpu);
        assert_memory_equal(&p[i]->gpu, &p[0]->gpu, sizeof p[0]->gpu);
        assert_int_equal(p[i]->memory_bytes, p[0]->memory_bytes);
        assert_int_equal(p[i]->process_bytes, p[0]->process_bytes);
        assert_int_equal(p[i]->storage.write_latency_ns, p[0]->storage.write_latency_ns);
        assert_int_equal(p[i]->storage.write_bytes_per_s, p[0]->storage.write_bytes_per_s);
        assert_int_equal(p[i]->storage.readahead_bytes, p[0]->storage.readahead_bytes);
        assert_int_equal(p[i]->kernel, p[0]->kernel);
    }
    for (int i = 0; i < 3; i++)
        gnn_profile_close(p[i]);
}

struct seen {
    uint32_t count;
    char last[256];
};

static void see(void *ctx, const char *path, const struct gnn_profile *profile)
{
    struct seen *seen = ctx;
    assert_true(strcmp(path, seen->last) > 0); /* in order */
    assert_non_null(strstr(path, profile->name));
    (void)snprintf(seen->last, sizeof seen->last, "%s", path);
    seen->count++;
}

static uint32_t count_files(const char *dir)
{
    uint32_t count = 0;
    DIR *open_dir = opendir(dir);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir)) != NULL;)
        count += strstr(entry->d_name, ".ini") != NULL;
    (void)closedir(open_dir);
    return count;
}

/* The stem of a path is the profile's name. */
static void test_file_names_of_a_fitting_length(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name; /* NULL: refused */
    } cases[] = {
        {"some/where/.ini", ".ini"},
        {"some/where/", NULL},
        {"toy", "toy"},
        {"a/012345678901234567890123456789012345678901234567890123456789012.ini",
         "012345678901234567890123456789012345678901234567890123456789012"},
        {"a/0123456789012345678901234567890123456789012345678901234567890123.ini", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_profile_parse(cases[i].path, GOOD, &p, &err), cases[i].name != NULL ? GNN_OK : GNN_EUSAGE);
        if (cases[i].name != NULL)
            assert_string_equal(p->name, cases[i].name);
        else
            assert_non_null(strstr(err.message, "1 to 63 bytes"));
        gnn_profile_close(p);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const papers[][2] = {{"gnndrive-paper", "gnndrive-main"},
                                            {"diskgnn-paper", "diskgnn-g5.48xlarge"},
                                            {"mariusgnn-paper", "mariusgnn-p3.2xlarge"},
                                            {"ringsampler-paper", "ringsampler-main"},
                                            {"agnes-paper", "agnes-main"},
                                            {"workloads/hardware/gnndrive-paper.ini", "gnndrive-main"}};
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++) {
        assert_int_equal(gnn_profile_open(papers[i][0], shipped, &p, &err), GNN_OK);
        assert_string_equal(p->machine_id, papers[i][1]);
        gnn_profile_close(p);
    }
    p = NULL;
    assert_int_equal(gnn_profile_open("gnndrive-papr", shipped, &p, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "did you mean \"gnndrive-paper\""));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_profile_open("./no-such.ini", shipped, &p, &err), GNN_ENOENT);
    assert_null(p);
    struct seen seen = {0};
    assert_int_equal(gnn_profile_scan(shipped, see, &seen, &err), GNN_OK);
    assert_true(seen.count >= MACHINES);
    assert_int_equal(seen.count, count_files(shipped[0])); /* none that does not parse */
}

static void test_digest_is_of_the_bytes(void **state)
{
    (void)state;
    struct gnn_profile *a = parse("toy.ini", GOOD), *b = parse("other/name.ini", GOOD),
                       *c = parse("toy.ini", GOOD "; more\n");
    assert_string_equal(a->digest, b->digest);
    assert_string_not_equal(a->digest, c->digest);
    gnn_profile_close(a);
    gnn_profile_close(b);
    gnn_profile_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_grid_from_three_figures),
        cmocka_unit_test(test_the_kernel_is_a_version),
        cmocka_unit_test(test_grid_given),
        cmocka_unit_test(test_scattered_rows),
        cmocka_unit_test(test_mixed_and_sustained_figures),
        cmocka_unit_test(test_refusals_name_file_line_and_key),
        cmocka_unit_test(test_the_age_of_a_calibration),
        cmocka_unit_test(test_costs_scale_with_the_clock),
        cmocka_unit_test(test_released_costs),
        cmocka_unit_test(test_costs_of_a_piece_are_divided),
        cmocka_unit_test(test_released_costs_are_refused_by_name),
        cmocka_unit_test(test_every_machine_has_a_profile),
        cmocka_unit_test(test_more_drives_are_nothing_else),
        cmocka_unit_test(test_file_names_of_a_fitting_length),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_digest_is_of_the_bytes),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
