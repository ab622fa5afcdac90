/* SPDX-License-Identifier: MIT */
#include "harness/cli/doctor.h"

#include "harness/base/data_dirs.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/confine/confine.h"
#include "harness/measure/device.h"
#include "harness/measure/environment.h"
#include "harness/measure/gpu.h"
#include "harness/tensor/cpu/kernels.h"
#include "harness/tensor/cuda/plugin.h"
#include "harness/tensor/group.h"
#include "harness/world/measured/measured.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* A device readahead above this is reported: the kernel's own default is 128 KiB. */
#define GNN_READAHEAD_LARGE_BYTES (UINT64_C(1) << 20)

enum { FEW_PIDS = 256 }; /* PyG+ as published starts 160 threads */

struct doctor {
    const char *dir;
    struct gnn_world *world;
    struct gnn_finding *out;
    uint32_t count;
};

static void find(struct doctor *d, const char *topic, enum gnn_verdict verdict, bool needed, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));

/* remedy: "" if none is needed. */
static void find(struct doctor *d, const char *topic, enum gnn_verdict verdict, bool needed, const char *remedy,
                 const char *format, ...)
{
    assert(d->count < GNN_FINDINGS_MAX);
    struct gnn_finding *const f = &d->out[d->count++];
    *f = (struct gnn_finding){.topic = topic, .verdict = verdict, .needed = needed};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    (void)snprintf(f->remedy, sizeof f->remedy, "%.*s", (int)sizeof f->remedy - 1, remedy);
}

static void look_at_kernel(struct doctor *d)
{
    struct utsname name;
    struct sysinfo info;
    char memory[32];
    (void)uname(&name);
    (void)sysinfo(&info);
    find(d, "kernel", GNN_VERDICT_OK, true, "", "%s %s %s, %ld CPUs, %s memory", name.sysname, name.release,
         name.machine, sysconf(_SC_NPROCESSORS_ONLN),
         gnn_format_bytes((uint64_t)info.totalram * info.mem_unit, memory, sizeof memory));
    if (info.totalswap != 0)
        find(d, "swap", GNN_VERDICT_NOTE, false,
             "runs with a memory limit use no swap unless --swap is given; `sudo swapoff -a` disables it for the "
             "machine",
             "%s of swap", gnn_format_bytes((uint64_t)info.totalswap * info.mem_unit, memory, sizeof memory));
}

/* Buffers of direct I/O ask for large pages; a kernel set to `never` gives none. */
static void look_at_large_pages(struct doctor *d)
{
    char setting[64] = "";
    FILE *const file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    const bool known = file != NULL;
    if (known) {
        if (fgets(setting, sizeof setting, file) == NULL)
            setting[0] = '\0';
        (void)fclose(file);
    }
    const bool given = strstr(setting, "[always]") != NULL || strstr(setting, "[madvise]") != NULL;
    find(d, "large pages", given ? GNN_VERDICT_OK : GNN_VERDICT_NOTE, false,
         given || !known
             ? ""
             : "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled; a virtual disk may read blocks of "
               "64 KiB and more at half its rate into small ones",
         "%s",
         given    ? "given to buffers of direct I/O"
         : !known ? "not known to this kernel"
                  : "not given by this kernel");
}

/* Adds the file name of a loaded library, links followed, as that carries the version. */
static int add_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct gnn_finding *const f = ctx;
    char *const path = realpath(info->dlpi_name, NULL);
    (void)size;
    if (path != NULL) { /* neither the program itself, which has no name, nor what the kernel maps */
        const char *const slash = strrchr(path, '/');
        const size_t length = strlen(f->text);
        (void)snprintf(f->text + length, sizeof f->text - length, " %s", slash == NULL ? path : slash + 1);
    }
    free(path);
    return 0;
}

/* What was loaded before the first line of the program ran: without one of these there would be no answer at all. */
static void look_at_libraries(struct doctor *d)
{
    struct stat info;
    char bytes[32] = "?";
    if (stat("/proc/self/exe", &info) == 0)
        (void)gnn_format_bytes((uint64_t)info.st_size, bytes, sizeof bytes);
    find(d, "libraries", GNN_VERDICT_OK, true, "", "%s of program, with", bytes);
    (void)dl_iterate_phdr(add_library, &d->out[d->count - 1]);
}

/* Looks which kernels OpenBLAS multiplies with, who chose them (harness/tensor/cpu/kernels.h), and whether narrow
 * products have some of their own (tile_kernels.h). */
static void look_at_blas(struct doctor *d)
{
    struct gnn_blas_facts facts;
    char who[160] = "", remedy[200] = "";
    gnn_blas_look(&facts);
    const char *const better = gnn_blas_better_kernels(&facts);
    const bool slow = strcmp(facts.taken, "Prescott") == 0;
    if (facts.told_here)
        (void)snprintf(who, sizeof who, ", chosen by this program: the library does not recognise this processor");
    else if (facts.told != NULL)
        (void)snprintf(who, sizeof who, ", by OPENBLAS_CORETYPE=%.60s", facts.told);
    if (better != NULL)
        (void)snprintf(remedy, sizeof remedy,
                       "these run on any x86, at a fifth of the speed: export OPENBLAS_CORETYPE=%s", better);
    else if (slow && facts.has_avx2)
        (void)snprintf(remedy, sizeof remedy,
                       "these run on any x86, at a fifth of what this processor can do: unset OPENBLAS_CORETYPE");
    const char *const narrow = gnn_narrow_kernels();
    find(d, "BLAS", slow ? GNN_VERDICT_NOTE : GNN_VERDICT_OK, false, remedy, "OpenBLAS with the kernels of %s%s; %s%s",
         facts.taken, who,
         narrow != NULL ? "narrow products by kernels of libxsmm for "
                        : "for narrow products, too: this build has no libxsmm or the processor no AVX2",
         narrow != NULL ? narrow : "");
}

static void look_at_ring(struct doctor *d, enum gnn_ring_engine engine, const char *topic)
{
    const struct gnn_ring_config config = {.engine = engine, .depth = 32};
    struct gnn_ring *ring = NULL;
    struct gnn_err err = {0};
    if (gnn_ring_open(d->world, &config, &ring, &err) == GNN_OK) {
        find(d, topic, GNN_VERDICT_OK, false, "", "works (--io %s)", engine == GNN_RING_URING ? "uring" : "pool");
        gnn_ring_close(d->world, ring);
    } else {
        find(d, topic, GNN_VERDICT_MISSING, engine == GNN_RING_POOL,
             "run with --io pool, or allow io_uring (sysctl kernel.io_uring_disabled=0; containers: a seccomp "
             "profile that permits it)",
             "%s", err.message);
    }
}

static void look_at_direct(struct doctor *d)
{
    char path[600];
    struct gnn_file *file = NULL;
    struct gnn_err err = {0};
    (void)snprintf(path, sizeof path, "%s/.oocgnn-doctor-%d", d->dir, (int)getpid());
    const enum gnn_status made = gnn_file_open(d->world, path, GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE, &file, &err);
    if (made != GNN_OK) {
        find(d, "data directory", GNN_VERDICT_MISSING, true,
             "name a directory you may write to: oocgnn doctor --data DIR", "%s", err.message);
        return;
    }
    gnn_file_close(d->world, file);
    struct gnn_file *direct = NULL;
    if (gnn_file_open(d->world, path, GNN_OPEN_READ | GNN_OPEN_DIRECT, &direct, &err) == GNN_OK) {
        struct gnn_file_info info;
        gnn_file_info(d->world, direct, &info);
        find(d, "direct I/O", GNN_VERDICT_OK, false, "", "works in %s, offsets aligned to %u B, buffers to %u B",
             d->dir, info.offset_align_bytes, info.mem_align_bytes);
        gnn_file_close(d->world, direct);
    } else {
        find(d, "direct I/O", GNN_VERDICT_MISSING, false,
             "put the datasets on ext4 or xfs, or read them buffered, by name: --set SYSTEM.io=buffered", "%s",
             err.message);
    }
    (void)unlink(path);
}

static void look_at_device(struct doctor *d)
{
    struct gnn_device_info info;
    assert(d->dir != NULL);
    struct gnn_err err = {0};
    struct statvfs space;
    char bytes[32], readahead[32] = "?", remedy[256] = "";
    if (gnn_device_find(d->dir, &info, &err) != GNN_OK)
        return; /* look_at_direct has said so */
    if (info.readahead_bytes != GNN_UNKNOWN)
        (void)gnn_format_bytes(info.readahead_bytes, readahead, sizeof readahead);
    const uint64_t free_bytes = statvfs(d->dir, &space) == 0 ? (uint64_t)space.f_bavail * space.f_frsize : 0;
    const bool large = info.readahead_bytes != GNN_UNKNOWN && info.readahead_bytes > GNN_READAHEAD_LARGE_BYTES;
    if (large && info.name[0] != '\0')
        (void)snprintf(remedy, sizeof remedy,
                       "buffered reads fetch far more than they need: `--device-readahead 128K` for one run, or "
                       "`echo 128 | sudo tee /sys/block/%.64s/queue/read_ahead_kb` for the machine",
                       info.name);
    find(d, "device", info.major == 0 || large ? GNN_VERDICT_NOTE : GNN_VERDICT_OK, false, remedy,
         "%s on %s (%s), readahead %s, %s free", info.file_system, info.name[0] ? info.name : "no block device",
         info.scheduler[0] ? info.scheduler : "no scheduler", readahead,
         gnn_format_bytes(free_bytes, bytes, sizeof bytes));
}

/* Limits of the control group that this process lives in, or of one above it: every run lives under them, too. */
static void look_at_inherited(struct doctor *d, const struct gnn_confine *confine)
{
    char text[32];
    const bool few = confine->pids_limit != GNN_UNKNOWN && confine->pids_used != GNN_UNKNOWN &&
                     confine->pids_limit < gnn_add_bytes(confine->pids_used, FEW_PIDS);
    if (confine->ancestor_limit_bytes == GNN_UNKNOWN)
        find(d, "memory limit", GNN_VERDICT_OK, false, "", "none on this process's control group");
    else
        find(d, "memory limit", GNN_VERDICT_NOTE, false, "a run without --memory lives under this limit, too",
             "%s, set on this process's control group or one above it",
             gnn_format_bytes(confine->ancestor_limit_bytes, text, sizeof text));
    if (confine->pids_limit == GNN_UNKNOWN)
        find(d, "pids limit", GNN_VERDICT_OK, false, "", "none on this process's control group");
    else
        find(d, "pids limit", few ? GNN_VERDICT_NOTE : GNN_VERDICT_OK, false,
             few ? "a run may need more threads: raise pids.max (docker run --pids-limit=-1), or use fewer workers"
                 : "",
             "%" PRIu64 " processes and threads, %" PRIu64 " in use", confine->pids_limit, confine->pids_used);
}

static void look_at_cgroup(struct doctor *d)
{
    struct gnn_confine confine;
    struct gnn_err err = {0};
    uint64_t rise_bytes = 0;
    static const uint64_t probe_bytes = 8u << 20;
    const enum gnn_status detected = gnn_confine_detect(&confine, &err);
    if (detected == GNN_OK)
        look_at_inherited(d, &confine);
    if (detected != GNN_OK || !confine.memory_usable) {
        find(d, "memory cgroup", GNN_VERDICT_MISSING, false, err.status != GNN_OK ? err.message : confine.remedy,
             "no writable control group for memory");
        return;
    }
    if (gnn_confine_self_test(&confine, probe_bytes, &rise_bytes, &err) != GNN_OK) {
        find(d, "memory cgroup", GNN_VERDICT_MISSING, false, confine.remedy, "%s", err.message);
        return;
    }
    find(d, "memory cgroup", gnn_confine_counts(probe_bytes, rise_bytes) ? GNN_VERDICT_OK : GNN_VERDICT_MISSING, false,
         "", "cgroup %s%s; touching 8 MiB raised the charge by %.1f MiB", confine.memory == GNN_CGROUP_V2 ? "v2" : "v1",
         confine.hybrid ? " (hybrid)" : "", (double)rise_bytes / (1 << 20));
    if (confine.io_usable)
        find(d, "device throttle", GNN_VERDICT_OK, false, "", "cgroup %s", confine.io == GNN_CGROUP_V2 ? "v2" : "v1");
    else
        find(d, "device throttle", GNN_VERDICT_MISSING, false, confine.remedy,
             "no writable control group for I/O: device bytes are not counted either");
}

static void look_at_limits(struct doctor *d)
{
    struct rlimit lock;
    char text[32] = "unlimited";
    (void)getrlimit(RLIMIT_MEMLOCK, &lock);
    if (lock.rlim_cur != RLIM_INFINITY)
        (void)gnn_format_bytes(lock.rlim_cur, text, sizeof text);
    const bool any = geteuid() == 0 || lock.rlim_cur == RLIM_INFINITY;
    find(d, "memlock", any ? GNN_VERDICT_OK : GNN_VERDICT_NOTE, false,
         any ? "" : "registered buffers beyond it are refused: ulimit -l unlimited", "%s may be pinned",
         geteuid() == 0 ? "any amount (root)" : text);
}

/* A program in PATH, as a shell would find it. */
static bool in_path(const char *program)
{
    char dirs[4096], path[4200];
    const char *const value = getenv("PATH");
    (void)snprintf(dirs, sizeof dirs, "%s", value == NULL ? "" : value);
    char *rest = dirs;
    for (char *dir = strsep(&rest, ":"); dir != NULL; dir = strsep(&rest, ":")) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, program);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static void look_at_programs(struct doctor *d)
{
    static const struct {
        const char *program, *use, *remedy;
    } programs[] = {
        {"gnuplot", "plots", "sudo apt-get install -y gnuplot-nox"},
        {"fio", "make bench, oocgnn calibrate, figures that measure the disk", "sudo apt-get install -y fio"}};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        const bool there = in_path(programs[i].program);
        find(d, programs[i].program, there ? GNN_VERDICT_OK : GNN_VERDICT_MISSING, false,
             there ? "" : programs[i].remedy, "%s (%s)", there ? "installed" : "not installed", programs[i].use);
    }
}

static void look_at_gpu(struct doctor *d)
{
    struct gnn_gpu *const gpu = gnn_gpu_open(NULL, NULL);
    char memory[32] = "";
    if (gpu == NULL) {
        find(d, "GPU", GNN_VERDICT_NOTE, false,
             "install the driver of the GPU, if there is one; training is on the CPU, or modelled: --compute model:P",
             "no NVIDIA driver seen (libnvidia-ml.so.1)");
        return;
    }
    const uint64_t bytes = gnn_gpu_total_bytes(gpu);
    find(d, "GPU", GNN_VERDICT_OK, false, "", "%s, driver %s%s%s",
         gnn_gpu_name(gpu)[0] != '\0' ? gnn_gpu_name(gpu) : "unnamed",
         gnn_gpu_driver(gpu)[0] != '\0' ? gnn_gpu_driver(gpu) : "unknown", bytes != GNN_UNKNOWN ? ", " : "",
         bytes != GNN_UNKNOWN ? gnn_format_bytes(bytes, memory, sizeof memory) : "");
    gnn_gpu_close(gpu);
}

static enum gnn_status staging_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    return gnn_mem_alloc(ctx, name, bytes, GNN_MEM_FEATURES, out, err);
}

static void staging_free(void *ctx, void *ptr)
{
    gnn_mem_free(ctx, ptr);
}

/* What sums the gradients of several workers with a GPU each. */
static void look_at_nccl(struct doctor *d, const struct gnn_tensor_ops *ops)
{
    char found[64];
    struct gnn_err err = {0};
    assert(ops->group != NULL);
    if (ops->group->find(found, sizeof found, &err) == GNN_OK)
        find(d, "NCCL", GNN_VERDICT_OK, false, "", "%s, for --workers with a GPU each", found);
    else
        find(d, "NCCL", GNN_VERDICT_NOTE, false, "", "%s", err.message);
}

/* Plugin, cuBLAS, NCCL and device, each with the remedy that is its own. */
static void look_at_cuda(struct doctor *d)
{
    const struct gnn_tensor_ops *ops = NULL;
    const struct gnn_tensor_env env = {.threads = 1, .alloc = staging_alloc, .free = staging_free, .ctx = d->world};
    struct gnn_tensor *tensor = NULL;
    struct gnn_err err = {0};
    if (gnn_cuda_plugin(&ops, &err) != GNN_OK) {
        if (strstr(err.message, "libcublas") != NULL)
            find(d, "cuBLAS", GNN_VERDICT_NOTE, false,
                 "put its folder into LD_LIBRARY_PATH: the toolkit's lib64, or pip's nvidia/cu13/lib", "%s",
                 err.message);
        else
            find(d, "CUDA plugin", GNN_VERDICT_NOTE, false, "", "%s", err.message);
        return;
    }
    find(d, "CUDA plugin", GNN_VERDICT_OK, false, "", "loads, and cuBLAS with it");
    look_at_nccl(d, ops);
    if (ops->open(&env, NULL, &tensor, &err) == GNN_OK) {
        find(d, "CUDA device", GNN_VERDICT_OK, false, "", "device 0 opens (--compute cuda): %s at %s, capability %u.%u",
             tensor->gpu.name, tensor->gpu.bus_id, tensor->gpu.capability_major, tensor->gpu.capability_minor);
        ops->close(tensor);
    } else {
        find(d, "CUDA device", GNN_VERDICT_NOTE, false, "", "%s", err.message);
    }
}

/* Finds the profile of this machine, which runs are compared with, and says how old it is; a note where it cannot be
 * opened, with the cause. */
static void look_at_calibration(struct doctor *d)
{
    struct gnn_data_dirs found;
    struct gnn_profile *profile;
    char age[GNN_PROFILE_AGE_BYTES];
    struct gnn_err err = {0};
    const uint64_t now_s = (uint64_t)time(NULL);
    gnn_data_dirs(&found);
    if (gnn_profile_open("this", found.dirs, &profile, &err) != GNN_OK) { /* none, or one that cannot be read */
        char remedy[512], dir[400];
        (void)snprintf(remedy, sizeof remedy, "`oocgnn calibrate --device %s`, while nothing else runs",
                       gnn_shell_word(d->dir, dir, sizeof dir));
        find(d, "calibration", GNN_VERDICT_NOTE, false, remedy, "%s", err.message);
        return;
    }
    const bool fresh = gnn_profile_age_s(profile, now_s) != GNN_UNKNOWN && !gnn_profile_is_old(profile, now_s);
    find(d, "calibration", fresh ? GNN_VERDICT_OK : GNN_VERDICT_NOTE, false,
         fresh ? "" : "`oocgnn calibrate` measures this machine anew", "profile %s, %s", profile->name,
         gnn_profile_age_text(profile, now_s, age, sizeof age));
    gnn_profile_close(profile);
}

uint32_t gnn_doctor(const char *dir, struct gnn_finding *out)
{
    struct doctor d = {.dir = dir, .out = out};
    struct gnn_err err = {0};
    find(&d, "program", GNN_VERDICT_OK, true, "", "oocgnn %s", gnn_build_text());
    look_at_kernel(&d);
    look_at_large_pages(&d);
    look_at_libraries(&d);
    look_at_blas(&d);
    if (gnn_world_measured_open(NULL, &d.world, &err) != GNN_OK) {
        find(&d, "world", GNN_VERDICT_MISSING, true, "", "%s", err.message);
        return d.count;
    }
    look_at_ring(&d, GNN_RING_URING, "io_uring");
    look_at_ring(&d, GNN_RING_POOL, "pread pool");
    look_at_direct(&d);
    look_at_device(&d);
    look_at_cgroup(&d);
    look_at_limits(&d);
    look_at_gpu(&d);
    look_at_cuda(&d);
    look_at_programs(&d);
    look_at_calibration(&d);
    gnn_world_measured_close(d.world);
    return d.count;
}
