/* SPDX-License-Identifier: MIT */
#include "harness/measure/environment.h"

#include "build_libraries.h" /* written by make: GNN_LIBXSMM_VERSION */
#include "build_revision.h"  /* written by make: GNN_VERSION, GNN_BUILD_REVISION, GNN_BUILD_FLAGS */
#include "harness/base/text_file.h"
#include "harness/measure/device.h"
#include "harness/measure/gpu.h"

#include <cblas.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

enum { TEXT_BYTES = 8192 };

const char *gnn_build_revision(void)
{
    return GNN_BUILD_REVISION;
}

const char *gnn_build_version(void)
{
    return GNN_VERSION;
}

const char *gnn_build_text(void)
{
    return GNN_VERSION " (commit " GNN_BUILD_REVISION ", " GNN_BUILD_FLAGS ")";
}

_Static_assert(sizeof(rlim_t) <= sizeof(uint64_t), "a limit fits a number");

/* "" is unknown. */
static enum gnn_status set_text(struct gnn_kv_list *out, const char *key, const char *value, struct gnn_err *err)
{
    return gnn_kv_set(out, key, value == NULL || value[0] == '\0' ? NULL : value, err);
}

static enum gnn_status set_number(struct gnn_kv_list *out, const char *key, uint64_t value, struct gnn_err *err)
{
    return value == GNN_UNKNOWN ? gnn_kv_set(out, key, NULL, err) : gnn_kv_setf(out, err, key, "%" PRIu64, value);
}

/* The first line of a file; with `name`, the value behind "name :" or "name:" in a file of such lines. */
static enum gnn_status set_file(struct gnn_kv_list *out, const char *key, const char *path, const char *name,
                                struct gnn_err *err)
{
    char text[TEXT_BYTES];
    (void)gnn_text_file_read(path, text, sizeof text); /* "" where it cannot be read */
    char *line = text;
    while (name != NULL && *line != '\0' && strncmp(line, name, strlen(name)) != 0)
        line += gnn_next_line(line) - line;
    line[strcspn(line, "\n")] = '\0';
    const char *const colon = name != NULL ? strchr(line, ':') : NULL;
    if (name == NULL) {
        gnn_trim(line);
        return set_text(out, key, line, err);
    }
    return set_text(out, key, colon != NULL ? colon + 1 + strspn(colon + 1, " \t") : NULL, err);
}

static enum gnn_status capture_kernel(struct gnn_kv_list *out, struct gnn_err *err)
{
    struct utsname name;
    if (uname(&name) == 0) {
        GNN_TRY(set_text(out, "host.name", name.nodename, err));
        GNN_TRY(set_text(out, "kernel.release", name.release, err));
        GNN_TRY(set_text(out, "kernel.version", name.version, err));
        GNN_TRY(set_text(out, "cpu.machine", name.machine, err));
    }
    GNN_TRY(set_file(out, "host.boot_id", "/proc/sys/kernel/random/boot_id", NULL, err));
    GNN_TRY(set_file(out, "kernel.cmdline", "/proc/cmdline", NULL, err));
    GNN_TRY(set_file(out, "kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled", NULL, err));
    GNN_TRY(set_file(out, "kernel.transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled", NULL, err));
    return set_file(out, "kernel.swappiness", "/proc/sys/vm/swappiness", NULL, err);
}

static enum gnn_status capture_cpu(struct gnn_kv_list *out, struct gnn_err *err)
{
    GNN_TRY(set_file(out, "cpu.model", "/proc/cpuinfo", "model name", err));
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    GNN_TRY(set_number(out, "cpu.online", online <= 0 ? GNN_UNKNOWN : (uint64_t)online, err));
    GNN_TRY(set_file(out, "cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL, err));
    GNN_TRY(set_file(out, "cpu.no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", NULL, err));
    GNN_TRY(set_file(out, "memory.numa_nodes", "/sys/devices/system/node/online", NULL, err));
    GNN_TRY(set_file(out, "memory.total", "/proc/meminfo", "MemTotal", err));
    return set_file(out, "memory.swap", "/proc/meminfo", "SwapTotal", err);
}

static enum gnn_status capture_device(struct gnn_kv_list *out, const char *path, struct gnn_err *err)
{
    struct gnn_device_info device;
    GNN_TRY(gnn_device_find(path, &device, err));
    GNN_TRY(set_text(out, "device.name", device.name, err));
    GNN_TRY(set_text(out, "device.model", device.model, err));
    GNN_TRY(set_text(out, "device.scheduler", device.scheduler, err));
    GNN_TRY(set_number(out, "device.size_bytes", device.size_bytes, err));
    GNN_TRY(set_number(out, "device.readahead_bytes", device.readahead_bytes, err));
    GNN_TRY(set_number(out, "device.logical_block_bytes", device.logical_block_bytes, err));
    GNN_TRY(set_number(out, "device.physical_block_bytes", device.physical_block_bytes, err));
    GNN_TRY(set_number(out, "device.rotational", device.rotational, err));
    GNN_TRY(set_text(out, "filesystem.type", device.file_system, err));
    return set_text(out, "filesystem.options", device.mount_options, err);
}

static enum gnn_status set_limit(struct gnn_kv_list *out, const char *key, int resource, struct gnn_err *err)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
        return gnn_kv_set(out, key, NULL, err);
    if (limit.rlim_cur == RLIM_INFINITY)
        return gnn_kv_set(out, key, "unlimited", err);
    return set_number(out, key, limit.rlim_cur, err);
}

static enum gnn_status capture_limits(struct gnn_kv_list *out, struct gnn_err *err)
{
    GNN_TRY(set_number(out, "user.euid", geteuid(), err));
    GNN_TRY(set_limit(out, "limit.memlock_bytes", RLIMIT_MEMLOCK, err));
    GNN_TRY(set_limit(out, "limit.open_files", RLIMIT_NOFILE, err));
    GNN_TRY(set_limit(out, "limit.address_space_bytes", RLIMIT_AS, err));
    return set_limit(out, "limit.processes", RLIMIT_NPROC, err);
}

static enum gnn_status capture_build(struct gnn_kv_list *out, struct gnn_err *err)
{
    GNN_TRY(set_text(out, "build.version", GNN_VERSION, err));
    GNN_TRY(set_text(out, "build.revision", GNN_BUILD_REVISION, err));
    GNN_TRY(set_text(out, "build.compiler", __VERSION__, err));
    GNN_TRY(set_text(out, "build.flags", GNN_BUILD_FLAGS, err));
    GNN_TRY(set_text(out, "lib.libc", gnu_get_libc_version(), err));
    GNN_TRY(set_text(out, "lib.sqlite", sqlite3_libversion(), err));
    GNN_TRY(set_text(out, "lib.openblas", openblas_get_config(), err));
    GNN_TRY(set_text(out, "lib.libxsmm", GNN_LIBXSMM_VERSION, err));
    GNN_TRY(set_text(out, "lib.jansson", JANSSON_VERSION, err));
    GNN_TRY(set_number(out, "lib.xxhash", XXH_versionNumber(), err));
    return set_text(out, "lib.zlib", zlibVersion(), err);
}

enum gnn_status gnn_environment_gpu(struct gnn_kv_list *out, const char *bus_id, struct gnn_err *err)
{
    struct gnn_gpu *gpu = gnn_gpu_open(NULL, bus_id);
    enum gnn_status status = set_text(out, "gpu.name", gpu == NULL ? NULL : gnn_gpu_name(gpu), err);
    GNN_NEXT(status, set_text(out, "gpu.driver", gpu == NULL ? NULL : gnn_gpu_driver(gpu), err));
    GNN_NEXT(status, set_number(out, "gpu.memory_bytes", gpu == NULL ? GNN_UNKNOWN : gnn_gpu_total_bytes(gpu), err));
    gnn_gpu_close(gpu);
    return status;
}

/* What changes from one moment to the next: of use beside what was measured here, noise beside what was not. */
static enum gnn_status capture_moment(struct gnn_kv_list *out, struct gnn_err *err)
{
    GNN_TRY(set_file(out, "cpu.load", "/proc/loadavg", NULL, err));
    return set_file(out, "memory.available", "/proc/meminfo", "MemAvailable", err);
}

enum gnn_status gnn_environment_capture(struct gnn_kv_list *out, const char *data_path, struct gnn_err *err)
{
    GNN_TRY(capture_kernel(out, err));
    GNN_TRY(capture_cpu(out, err));
    if (data_path != NULL) {
        GNN_TRY(capture_moment(out, err));
        GNN_TRY(capture_device(out, data_path, err));
    }
    GNN_TRY(capture_limits(out, err));
    GNN_TRY(capture_build(out, err));
    return gnn_environment_gpu(out, NULL, err);
}
