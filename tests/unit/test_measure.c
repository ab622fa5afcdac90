/* SPDX-License-Identifier: MIT */
/* Probes: the kernel's texts, intervals, page cache, devices, environment. */
#include "harness/measure/device.h"
#include "harness/measure/environment.h"
#include "harness/measure/gpu.h"
#include "harness/measure/measure.h"
#include "harness/measure/page_cache.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void proc_stat(void **state)
{
    (void)state;
    struct gnn_cpu_ticks ticks = {0};
    assert_true(gnn_parse_proc_stat("cpu  100 10 50 800 40 1 2 3 70 7\ncpu0 1 2 3 4\n", &ticks));
    assert_int_equal(ticks.total, 1006); /* guest and guest_nice are inside user and nice */
    assert_int_equal(ticks.idle, 800);
    assert_int_equal(ticks.iowait, 40);
    assert_true(gnn_parse_proc_stat("cpu 1 2 3 4 5\n", &ticks));
    assert_int_equal(ticks.total, 15);
    assert_false(gnn_parse_proc_stat("cpu0 1 2 3 4 5\n", &ticks));
    assert_false(gnn_parse_proc_stat("", &ticks));
    assert_int_equal(ticks.total, 15);
}

static void pid_stat(void **state)
{
    (void)state;
    struct gnn_pid_stat stat;
    const char *text = "4242 (a b) (c) S 1 4242 4242 0 -1 4194560 1111 22 33 44 555 66 7 8 20 0 9 0 98765 1000000 "
                       "256 18446744073709551615 1 1 0\n";
    assert_true(gnn_parse_pid_stat(text, &stat));
    assert_int_equal(stat.major_faults, 33);
    assert_int_equal(stat.user_ticks, 555);
    assert_int_equal(stat.system_ticks, 66);
    assert_int_equal(stat.threads, 9);
    assert_int_equal(stat.start_ticks, 98765);
    assert_int_equal(stat.rss_pages, 256);
    assert_false(gnn_parse_pid_stat("4242 (x) S 1 2", &stat));
    assert_false(gnn_parse_pid_stat("", &stat));
}

static void pressure(void **state)
{
    (void)state;
    struct gnn_psi psi = {1, 2};
    assert_true(gnn_parse_psi("some avg10=1.53 avg60=0.87 avg300=1.73 total=1088168194\n"
                              "full avg10=0.00 avg60=0.00 avg300=0.00 total=42\n",
                              &psi));
    assert_int_equal(psi.some_us, 1088168194);
    assert_int_equal(psi.full_us, 42);
    assert_true(gnn_parse_psi("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", &psi));
    assert_int_equal(psi.full_us, GNN_UNKNOWN);
    static const char *const bad[] = {"", "some\n", "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
                                      "other avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(gnn_parse_psi(bad[i], &psi));
    assert_int_equal(psi.some_us, 7);
}

static void diskstats(void **state)
{
    (void)state;
    const char *text = "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n"
                       " 259       1 nvme0n1p1 10 20 30 40 50 60 70 80 0 100 110 1 2 3 4\n"
                       " 254       0 vda 33961 9176 4484250 19342 46308 11960 3550608 9356 1 13748 29156 3708 0 2 2\n";
    struct gnn_disk_stats stats;
    assert_true(gnn_parse_diskstats(text, 254, 0, &stats));
    assert_int_equal(stats.read_ios, 33961);
    assert_int_equal(stats.read_sectors, 4484250);
    assert_int_equal(stats.write_ios, 46308);
    assert_int_equal(stats.write_sectors, 3550608);
    assert_int_equal(stats.busy_ms, 13748);
    assert_false(gnn_parse_diskstats(text, 8, 0, &stats));
    assert_false(gnn_parse_diskstats("254 0 vda 1 2\n", 254, 0, &stats));
}

/* One line of /proc of a machine that is not this one. */
static void a_hypervisor_s_share_is_read(void **state)
{
    (void)state;
    char *const root = process_temp_dir();
    struct gnn_probe *probe;
    struct gnn_err err = {0};
    process_write_file(root, "stat", 0644, "%s", "cpu  10 0 20 70 5 1 2 42 0 0\n");
    const struct gnn_probe_config config = {.proc_root = root};
    must(gnn_probe_open(&config, &probe, &err), &err);
    assert_int_equal(gnn_probe_stolen_ns(probe), UINT64_C(42) * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
    process_write_file(root, "stat", 0644, "%s", "intr 5\n");
    assert_true(gnn_probe_stolen_ns(probe) == GNN_UNKNOWN);
    gnn_probe_close(probe);
    process_remove_tree(root);
    free(root);
}

static void intervals(void **state)
{
    (void)state;
    struct gnn_sample before, now;
    gnn_host_reading_unknown(&before.host);
    gnn_group_reading_unknown(&before.group);
    now = before;
    before.host.now_ns = 1000000000;
    now.host.now_ns = 3000000000; /* two seconds */
    before.host.cpu_total_ns = 0;
    before.host.cpu_idle_ns = 0;
    before.host.cpu_iowait_ns = 0;
    now.host.cpu_total_ns = 4000000000; /* two CPUs */
    now.host.cpu_idle_ns = 1000000000;
    now.host.cpu_iowait_ns = 2000000000;
    before.host.worker_cpu_ns = 5;
    now.host.worker_cpu_ns = 3000000005;
    before.host.disk_read_bytes = 4096;
    now.host.disk_read_bytes = 4096 + 2000000;
    before.host.disk_busy_ns = 0;
    now.host.disk_busy_ns = 500000000;
    before.host.psi_io = (struct gnn_psi){0, 0};
    now.host.psi_io = (struct gnn_psi){1000000, 500000};
    before.host.disk_read_ios = 100;
    now.host.disk_read_ios = 50; /* another device under the same number */
    before.group.refaults = 3;
    now.group.refaults = 10;
    now.host.gpu_power_w = 250;
    now.host.gpu_rx_bytes_per_s = 3e9;
    now.host.gpu_tx_bytes_per_s = 1e8;
    now.group.current_bytes = 77;
    struct gnn_series_point point;
    gnn_series_point(500000000, &before, &now, &point);
    assert_int_equal(point.time_ns, 2500000000);
    assert_int_equal(point.interval_ns, 2000000000);
    assert_float_equal(point.cpu_pct, 25.0, 1e-9);
    assert_float_equal(point.iowait_pct, 50.0, 1e-9);
    assert_float_equal(point.worker_cpu_pct, 150.0, 1e-9);
    assert_float_equal(point.disk_read_bytes_per_s, 1e6, 1e-3);
    assert_float_equal(point.disk_busy_pct, 25.0, 1e-9);
    assert_float_equal(point.psi_io_some_pct, 50.0, 1e-9);
    assert_float_equal(point.psi_io_full_pct, 25.0, 1e-9);
    assert_true(isnan(point.disk_read_ios_per_s));
    assert_true(isnan(point.psi_memory_some_pct));
    assert_true(isnan(point.gpu_busy_pct));
    assert_float_equal(point.gpu_power_w, 250, 0);
    assert_float_equal(point.gpu_rx_bytes_per_s, 3e9, 0);
    assert_float_equal(point.gpu_tx_bytes_per_s, 1e8, 0);
    assert_int_equal(point.refaults, 7);
    assert_int_equal(point.memory_bytes, 77);
    assert_int_equal(point.anon_bytes, GNN_UNKNOWN);
    /* The group's own pressure wins over the machine's. */
    before.group.psi_io = (struct gnn_psi){0, 0};
    now.group.psi_io = (struct gnn_psi){200000, 100000};
    gnn_series_point(0, &before, &now, &point);
    assert_float_equal(point.psi_io_some_pct, 10.0, 1e-9);
}

static void probe_reads_this_machine(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    struct gnn_device_info device;
    assert_int_equal(gnn_device_find(".", &device, &err), GNN_OK);
    const struct gnn_probe_config config = {
        .worker_pid = getpid(), .disk_major = device.major, .disk_minor = device.minor, .gpu = true};
    struct gnn_probe *probe;
    assert_int_equal(gnn_probe_open(&config, &probe, &err), GNN_OK);
    struct gnn_host_reading first, second;
    gnn_probe_read(probe, &first);
    volatile uint64_t sink = 0;
    do {
        for (uint64_t i = 0; i < 20000000; i++)
            sink = sink + i;
        gnn_probe_read(probe, &second);
    } while (second.worker_cpu_ns < first.worker_cpu_ns + 20000000);
    assert_true(first.now_ns < second.now_ns);
    assert_true(first.cpu_total_ns < second.cpu_total_ns);
    assert_true(second.worker_rss_bytes > 100000 && second.worker_rss_bytes < (UINT64_C(1) << 34));
    assert_true(second.worker_threads >= 1); /* a BLAS may have started its own */
    gnn_probe_close(probe);
    gnn_probe_close(NULL);
}

/* A machine that tells nothing. */
static void probe_survives_an_empty_proc(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    const struct gnn_probe_config config = {.worker_pid = 1, .disk_major = 8, .proc_root = "/nonexistent"};
    struct gnn_probe *probe;
    assert_int_equal(gnn_probe_open(&config, &probe, &err), GNN_OK);
    struct gnn_host_reading reading;
    gnn_probe_read(probe, &reading);
    assert_int_equal(reading.cpu_total_ns, GNN_UNKNOWN);
    assert_int_equal(reading.worker_cpu_ns, GNN_UNKNOWN);
    assert_int_equal(reading.psi_io.some_us, GNN_UNKNOWN);
    assert_int_equal(reading.disk_read_bytes, GNN_UNKNOWN);
    gnn_probe_close(probe);
}

static void device_under_a_path(void **state)
{
    (void)state;
    struct gnn_device_info device;
    struct gnn_err err = {0};
    assert_int_equal(gnn_device_find("/nonexistent/x", &device, &err), GNN_ENOENT);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_device_find("/proc", &device, &err), GNN_OK);
    assert_int_equal(device.major, 0);
    assert_string_equal(device.file_system, "proc");
    assert_int_equal(device.readahead_bytes, GNN_UNKNOWN);
    assert_int_equal(gnn_device_find(".", &device, &err), GNN_OK);
    if (device.major == 0) {
        leave_out("the device's counters: no block device under the build, %s", device.file_system);
        return;
    }
    print_message("%s (%u:%u), %s, scheduler %s, readahead %llu\n", device.name, device.major, device.minor,
                  device.file_system, device.scheduler, (unsigned long long)device.readahead_bytes);
    assert_true(device.name[0] != '\0');
    assert_true(device.logical_block_bytes >= 512);
}

static void page_cache(void **state)
{
    (void)state;
    enum { PAGES = 64, PAGE = 4096, TAIL = 100 };
    char dir[] = "./oocgnn-cache-XXXXXX"; /* a disk's file system; /tmp may be memory, which cannot be evicted */
    assert_non_null(mkdtemp(dir));
    char path[64];
    (void)snprintf(path, sizeof path, "%s/file", dir);
    const int fd = open(path, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    static const unsigned char block[PAGE];
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(write(fd, block, PAGE), PAGE);
    assert_int_equal(write(fd, block, TAIL), TAIL);
    struct gnn_err err = {0};
    struct gnn_residency residency;
    assert_int_equal(gnn_cache_residency(path, &residency, &err), GNN_OK);
    assert_int_equal(residency.file_bytes, PAGES * PAGE + TAIL);
    assert_int_equal(residency.resident_bytes, residency.file_bytes);
    assert_false(gnn_cache_is_cold(&residency));
    const char *paths[] = {dir};
    char below[64], deep[96], link_path[64];
    (void)snprintf(below, sizeof below, "%s/layout", dir); /* what a system prepared lies deeper */
    (void)snprintf(deep, sizeof deep, "%s/graph", below);
    (void)snprintf(link_path, sizeof link_path, "%s/back", dir);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(symlink(".", link_path), 0); /* a circle is not followed */
    const int deep_fd = open(deep, O_CREAT | O_RDWR, 0600);
    assert_int_equal(write(deep_fd, block, PAGE), PAGE);
    (void)close(deep_fd);
    assert_int_equal(gnn_cache_residency_all(paths, 1, &residency, &err), GNN_OK);
    assert_int_equal(residency.file_bytes, (PAGES + 1) * PAGE + TAIL);
    assert_int_equal(residency.resident_bytes, (PAGES + 1) * PAGE + TAIL);
    assert_int_equal(gnn_cache_make_cold(paths, 1, &residency, &err), GNN_OK);
    assert_int_equal(residency.file_bytes, (PAGES + 1) * PAGE + TAIL);
    struct gnn_device_info device;
    assert_int_equal(gnn_device_find(dir, &device, &err), GNN_OK);
    if (device.major != 0) {
        assert_int_equal(residency.resident_bytes, 0);
        assert_true(gnn_cache_is_cold(&residency));
        char page[PAGE];
        assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
        assert_int_equal(pread(fd, page, PAGE, 8 * PAGE), PAGE);
        assert_int_equal(gnn_cache_residency_all(paths, 1, &residency, &err), GNN_OK);
        assert_int_equal(residency.resident_bytes, PAGE);
        assert_false(gnn_cache_is_cold(&residency)); /* one page of 65 is more than one in a thousand */
    }
    (void)close(fd);
    (void)unlink(path);
    (void)unlink(deep);
    (void)unlink(link_path);
    (void)rmdir(below);
    (void)rmdir(dir);
    assert_int_equal(gnn_cache_evict(path, &err), GNN_ENOENT);
    const struct gnn_residency hidden = {.file_bytes = 1 << 20, .resident_bytes = GNN_UNKNOWN};
    assert_false(gnn_cache_is_cold(&hidden));
}

/* Maps the file's first page in a process of its own, which ends after 100 ms; returns when the page is mapped. */
static pid_t hold_a_page(int fd)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        const volatile char *const page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        byte = page == MAP_FAILED ? 0 : page[0];
        if (write(ready[1], &byte, 1) == 1)
            (void)usleep(100000);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return holder;
}

/* What another process lets go of soon is waited for: a run is not called invalid for it. */
static void a_page_held_for_a_moment_is_evicted(void **state)
{
    (void)state;
    static const char block[4096];
    char path[] = "./oocgnn-held-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    const char *const paths[] = {path};
    struct gnn_residency residency;
    struct gnn_device_info device;
    assert_int_equal(gnn_device_find(path, &device, NULL), GNN_OK);
    const pid_t holder = hold_a_page(fd);
    assert_int_equal(gnn_cache_make_cold(paths, 1, &residency, NULL), GNN_OK);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    (void)close(fd);
    (void)unlink(path);
    assert_true(device.major == 0 || gnn_cache_is_cold(&residency));
}

/* tmpfs under another name: /dev is one, and in a container so is what lies below it. */
static void a_file_system_in_memory(void **state)
{
    (void)state;
    struct gnn_device_info device;
    struct gnn_err err = {0};
    struct statfs fs;
    if (statfs("/dev", &fs) != 0 || fs.f_type != TMPFS_MAGIC)
        skip_test("/dev is no tmpfs");
    assert_int_equal(gnn_device_find("/dev", &device, &err), GNN_OK);
    assert_true(device.in_memory);
    assert_int_equal(gnn_device_find("/proc", &device, &err), GNN_OK);
    assert_false(device.in_memory);
}

static void environment(void **state)
{
    (void)state;
    struct gnn_kv_list list = {0};
    struct gnn_err err = {0};
    assert_int_equal(gnn_environment_capture(&list, ".", &err), GNN_OK);
    static const char *const needed[] = {"kernel.release", "memory.total",   "lib.sqlite",     "lib.openblas",
                                         "lib.libxsmm",    "build.version",  "build.revision", "build.compiler",
                                         "cpu.online",     "filesystem.type"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        assert_non_null(gnn_kv_get(&list, needed[i]));
    assert_true(list.count > 30);
    assert_int_equal(gnn_kv_set(&list, "device.name", NULL, &err), GNN_OK);
    assert_null(gnn_kv_get(&list, "device.name"));
    gnn_kv_clear(&list);
    assert_int_equal(list.count, 0);
    gnn_kv_clear(NULL);
}

/* NVML as its reference documents it, built on the spot. */
static const char fake_nvml[] =
    "struct u { unsigned gpu, memory; }; struct m { unsigned long long total, free, used; };\n"
    "int nvmlInit_v2(void) { return 0; }\nint nvmlShutdown(void) { return 0; }\n"
    "static int first, second;\n"
    "int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = &first; return i; }\n"
    "int nvmlDeviceGetHandleByPciBusId_v2(const char *b, void **d)\n"
    "{ *d = b[6] == '1' ? &second : &first; return b[0] != '0'; }\n"
    "int nvmlDeviceGetUtilizationRates(void *d, struct u *o) { (void)d; o->gpu = 73; o->memory = 5; return "
    "0; }\n"
    "int nvmlDeviceGetMemoryInfo(void *d, struct m *o) { (void)d; o->total = 100; o->free = 60; o->used = "
    "40; return 0; }\n"
    "int nvmlDeviceGetName(void *d, char *t, unsigned n) { (void)n; t[0] = d == &second ? 'H' : 'G'; t[1] = 0; return "
    "0; "
    "}\n"
    "int nvmlSystemGetDriverVersion(char *t, unsigned n) { (void)t; (void)n; return 3; }\n"
    "#ifndef OLD\n"
    "int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { (void)d; *mw = 312500; return 0; }\n"
    "int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *kb) { (void)d; *kb = counter == 1 ? 2000 : 30; "
    "return 0; }\n"
    "#endif\n";

/* The stand-in, loaded; old: a driver without power and PCIe. NULL without a compiler. */
static struct gnn_gpu *open_fake_nvml(bool old, const char *bus_id)
{
    char dir[] = "/tmp/oocgnn-nvml-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char source[64], library[64], command[256];
    (void)snprintf(source, sizeof source, "%s/nvml.c", dir);
    (void)snprintf(library, sizeof library, "%s/nvml.so", dir);
    (void)snprintf(command, sizeof command, "cc -shared -fPIC %s -o %s %s 2>/dev/null", old ? "-DOLD" : "", library,
                   source);
    FILE *file = fopen(source, "w");
    assert_non_null(file);
    (void)fputs(fake_nvml, file);
    (void)fclose(file);
    const bool built = system(command) == 0;
    struct gnn_gpu *found = built ? gnn_gpu_open(library, bus_id) : NULL;
    (void)unlink(source);
    (void)unlink(library);
    (void)rmdir(dir);
    if (!built)
        skip_test("no compiler to build a stand-in for NVML");
    return found;
}

static void gpu(void **state)
{
    (void)state;
    assert_null(gnn_gpu_open("libthere-is-none.so", NULL));
    gnn_gpu_close(NULL);
    assert_null(open_fake_nvml(false, "ffff:01:00.0")); /* no such GPU */
    struct gnn_host_reading reading;
    struct gnn_gpu *found = open_fake_nvml(false, "0000:01:00.0");
    assert_non_null(found);
    assert_string_equal(gnn_gpu_name(found), "H");
    gnn_gpu_close(found);
    found = open_fake_nvml(false, NULL);
    assert_non_null(found);
    gnn_gpu_read(found, &reading);
    assert_float_equal(reading.gpu_busy_pct, 73.0, 0);
    assert_int_equal(reading.gpu_memory_bytes, 40);
    assert_float_equal(reading.gpu_power_w, 312.5, 1e-9);
    assert_float_equal(reading.gpu_rx_bytes_per_s, 2000 * 1024.0, 0);
    assert_float_equal(reading.gpu_tx_bytes_per_s, 30 * 1024.0, 0);
    assert_int_equal(gnn_gpu_total_bytes(found), 100);
    assert_string_equal(gnn_gpu_name(found), "G");
    assert_string_equal(gnn_gpu_driver(found), "");
    gnn_gpu_close(found);
}

static void an_old_driver_tells_less(void **state)
{
    (void)state;
    struct gnn_host_reading reading;
    struct gnn_gpu *found = open_fake_nvml(true, NULL);
    assert_non_null(found);
    gnn_gpu_read(found, &reading);
    assert_float_equal(reading.gpu_busy_pct, 73.0, 0);
    assert_true(isnan(reading.gpu_power_w) && isnan(reading.gpu_rx_bytes_per_s) && isnan(reading.gpu_tx_bytes_per_s));
    gnn_gpu_close(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proc_stat),
        cmocka_unit_test(pid_stat),
        cmocka_unit_test(pressure),
        cmocka_unit_test(diskstats),
        cmocka_unit_test(a_hypervisor_s_share_is_read),
        cmocka_unit_test(intervals),
        cmocka_unit_test(probe_reads_this_machine),
        cmocka_unit_test(probe_survives_an_empty_proc),
        cmocka_unit_test(device_under_a_path),
        cmocka_unit_test(page_cache),
        cmocka_unit_test(a_page_held_for_a_moment_is_evicted),
        cmocka_unit_test(a_file_system_in_memory),
        cmocka_unit_test(environment),
        cmocka_unit_test(gpu),
        cmocka_unit_test(an_old_driver_tells_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
