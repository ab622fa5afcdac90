/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/host.h"

#include "harness/base/clock.h"
#include "harness/confine/readahead.h"
#include "harness/measure/device.h"
#include "harness/measure/environment.h"
#include "harness/measure/measure.h"
#include "harness/measure/page_cache.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct gnn_run_host {
    const struct gnn_run_config *config;
    char dataset_dir[GNN_TEXT_MAX * 2];
    struct gnn_device_info device;
    struct gnn_confine confine;
    struct gnn_cgroup *cgroup;
    struct gnn_readahead *readahead; /* NULL: the device keeps its own */
    struct gnn_probe *probe;
    uint64_t start_ns, next_probe_ns;
    struct gnn_sample last_sample;
    const struct gnn_intent *intent;                /* NULL: the system is not open yet */
    uint64_t resident_before[GNN_INTENT_FILES_MAX]; /* of the files, when the system was open or last evaluated */
};

/* Of a file read directly, at most this part comes into the page cache. */
enum { DIRECT_ONE_IN = 100 };

enum gnn_status gnn_run_host_open(const struct gnn_run_config *config, const char *dataset_dir,
                                  struct gnn_run_host **out, struct gnn_err *err)
{
    assert(config->world == GNN_WORLD_MEASURED);
    assert(strlen(dataset_dir) < sizeof((struct gnn_run_host *)0)->dataset_dir);
    struct gnn_run_host *host;
    GNN_NEW(host, 1, err, "supervisor state");
    host->config = config;
    host->next_probe_ns = UINT64_MAX;
    (void)snprintf(host->dataset_dir, sizeof host->dataset_dir, "%s", dataset_dir);
    *out = host;
    return gnn_device_find(dataset_dir, &host->device, err);
}

void gnn_run_host_close(struct gnn_run_host *host)
{
    if (host == NULL)
        return;
    gnn_probe_close(host->probe);
    gnn_cgroup_close(host->cgroup);
    gnn_readahead_release(host->readahead);
    free(host);
}

/* ---- before the worker ---- */

/* Checks that this machine can enforce what was asked for. */
static enum gnn_status check_groups(const struct gnn_run_host *host, bool capped, bool throttled, struct gnn_err *err)
{
    if (capped && !host->confine.memory_usable)
        return gnn_fail(err, GNN_EPERM,
                        "--memory needs a control group: %s; or add `--cap program`, which limits the program's own "
                        "allocations but not the page cache",
                        host->confine.remedy);
    if (throttled && !host->confine.io_usable)
        return gnn_fail(err, GNN_EPERM, "--device-bps and --device-iops need a writable io control group: %s",
                        host->confine.remedy);
    if (throttled && host->device.major == 0)
        return gnn_fail(err, GNN_ENOTSUP, "--device-bps, --device-iops: no block device is behind %s (%s)",
                        host->dataset_dir, host->device.file_system);
    return GNN_OK;
}

/* Records the memory limit that every process here has, whatever --memory is. */
static enum gnn_status record_inherited(struct gnn_run_record *run, struct gnn_err *err)
{
    const uint64_t bytes = gnn_inherited_memory_bytes();
    if (bytes == GNN_UNKNOWN)
        return GNN_OK;
    return gnn_kv_setf(&run->environment, err, GNN_ENVIRONMENT_INHERITED, "%" PRIu64, bytes);
}

static enum gnn_status make_group(struct gnn_run_host *host, struct gnn_run_record *run, struct gnn_err *err)
{
    const struct gnn_run_config *const c = host->config;
    const bool capped = c->memory_bytes != 0 && c->cap_kind == GNN_CAP_CGROUP;
    GNN_TRY(record_inherited(run, err));
    GNN_TRY(gnn_confine_detect(&host->confine, err));
    GNN_TRY(check_groups(host, capped, c->device_bps != 0 || c->device_iops != 0, err));
    if (c->memory_bytes != 0 && !capped)
        (void)snprintf(run->cap_enforcement, GNN_NAME_MAX, "%s", GNN_CAP_IN_PROGRAM);
    if (!host->confine.memory_usable)
        return GNN_OK;
    const struct gnn_cgroup_config config = {
        .memory_bytes = capped ? c->memory_bytes : 0,
        .swap_bytes = c->swap_bytes,
        .throttle = {
            .major = host->device.major, .minor = host->device.minor, .bps = c->device_bps, .iops = c->device_iops}};
    GNN_TRY(gnn_cgroup_create(&host->confine, &config, &host->cgroup, err));
    if (capped)
        (void)snprintf(run->cap_enforcement, GNN_NAME_MAX, "%s", gnn_cgroup_enforcement(host->cgroup));
    return GNN_OK;
}

/* Sets the device's readahead, until the host is closed; the record has both values. */
static enum gnn_status hold_readahead(struct gnn_run_host *host, struct gnn_run_record *run, struct gnn_err *err)
{
    char path[GNN_READAHEAD_PATH];
    uint64_t bytes;
    if (!gnn_run_readahead(host->config, &bytes))
        return GNN_OK;
    if (host->device.major == 0 || host->device.by_mount)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--device-readahead: %s is on %s, which ignores the readahead of a block device; keep the "
                        "dataset on ext4 or XFS, or leave the option out",
                        host->dataset_dir, host->device.file_system);
    gnn_readahead_path(host->device.major, host->device.minor, path);
    GNN_TRY(gnn_readahead_hold(path, bytes, &host->readahead, err));
    GNN_TRY(gnn_kv_setf(&run->environment, err, "device.readahead_bytes", "%" PRIu64, bytes));
    return gnn_kv_setf(&run->environment, err, "device.readahead_before_bytes", "%" PRIu64,
                       gnn_readahead_before(host->readahead));
}

static enum gnn_status start_cold(const struct gnn_run_host *host, struct gnn_run_record *run, struct gnn_err *err)
{
    const bool cold = host->config->cold;
    if (cold && host->device.in_memory)
        return gnn_fail(
            err, GNN_ENOTSUP,
            "%s is on %s, in memory, so no start can be cold; keep the dataset on a disk file system (ext4, "
            "XFS), or give --no-cold",
            host->dataset_dir, host->device.file_system);
    const char *const paths[] = {host->dataset_dir};
    struct gnn_residency residency;
    GNN_TRY(cold ? gnn_cache_make_cold(paths, 1, &residency, err) : gnn_cache_residency_all(paths, 1, &residency, err));
    const bool known = residency.resident_bytes != GNN_UNKNOWN;
    if (cold && !known)
        return gnn_fail(err, GNN_EPERM,
                        "a cold start of %s cannot be observed: the kernel reports the page cache of a file only to "
                        "its owner and to users who may write it. Use a copy, or give --no-cold",
                        host->dataset_dir);
    run->resident_start_bytes = residency.resident_bytes;
    run->cold_observed = known ? gnn_cache_is_cold(&residency) : -1;
    return GNN_OK;
}

enum gnn_status gnn_run_host_prepare(struct gnn_run_host *host, struct gnn_run_record *run, struct gnn_err *err)
{
    if (host == NULL) {
        run->cold_observed = 1; /* a modelled page cache starts empty */
        return GNN_OK;
    }
    GNN_TRY(make_group(host, run, err));
    GNN_TRY(hold_readahead(host, run, err));
    return start_cold(host, run, err);
}

const struct gnn_cgroup *gnn_run_host_cgroup(const struct gnn_run_host *host)
{
    return host == NULL ? NULL : host->cgroup;
}

/* ---- while it runs ---- */

void gnn_run_host_read_group(const struct gnn_run_host *host, struct gnn_group_reading *out)
{
    struct gnn_err ignored = {0};
    gnn_group_reading_unknown(out);
    if (host != NULL && host->cgroup != NULL && gnn_cgroup_read(host->cgroup, out, &ignored) != GNN_OK)
        gnn_group_reading_unknown(out);
}

uint64_t gnn_run_host_stolen_ns(const struct gnn_run_host *host)
{
    return host == NULL || host->probe == NULL ? GNN_UNKNOWN : gnn_probe_stolen_ns(host->probe);
}

enum gnn_status gnn_run_host_watch(struct gnn_run_host *host, pid_t worker, uint64_t start_ns,
                                   struct gnn_run_record *run, struct gnn_err *err)
{
    if (host == NULL)
        return GNN_OK;
    assert(worker > 0);
    uint32_t number;
    const struct gnn_probe_config config = {.worker_pid = worker,
                                            .disk_major = host->device.major,
                                            .disk_minor = host->device.minor,
                                            .gpu = !gnn_compute_is_cuda(host->config, &number)};
    GNN_TRY(gnn_probe_open(&config, &host->probe, err));
    host->start_ns = start_ns;
    host->next_probe_ns = gnn_later_ns(start_ns, host->config->interval_ns);
    gnn_probe_read(host->probe, &host->last_sample.host);
    gnn_run_host_read_group(host, &host->last_sample.group);
    run->cap_read_back_bytes = host->last_sample.group.limit_bytes;
    run->swap_read_back_bytes = host->last_sample.group.swap_limit_bytes;
    return GNN_OK;
}

enum gnn_status gnn_run_host_watch_gpu(struct gnn_run_host *host, const struct gnn_gpu_identity *gpu,
                                       struct gnn_run_record *run, struct gnn_err *err)
{
    struct gnn_kv_list *const env = &run->environment;
    if (host == NULL || gpu->bus_id[0] == '\0')
        return GNN_OK;
    assert(host->probe != NULL);
    gnn_probe_gpu(host->probe, gpu->bus_id);
    GNN_TRY(gnn_environment_gpu(env, gpu->bus_id, err));
    GNN_TRY(gnn_kv_set(env, "gpu.name", gpu->name, err));
    GNN_TRY(gnn_kv_set(env, "gpu.bus_id", gpu->bus_id, err));
    GNN_TRY(gnn_kv_set(env, "gpu.uuid", gpu->uuid, err));
    GNN_TRY(
        gnn_kv_setf(env, err, "gpu.capability", "%" PRIu32 ".%" PRIu32, gpu->capability_major, gpu->capability_minor));
    return gnn_kv_setf(env, err, "gpu.multiprocessors", "%" PRIu32, gpu->multiprocessors);
}

uint64_t gnn_run_host_next_probe_ns(const struct gnn_run_host *host)
{
    return host == NULL ? UINT64_MAX : host->next_probe_ns;
}

void gnn_run_host_probe(struct gnn_run_host *host, struct gnn_series_point *out)
{
    assert(host->probe != NULL);
    struct gnn_sample sample;
    gnn_probe_read(host->probe, &sample.host);
    gnn_run_host_read_group(host, &sample.group);
    gnn_series_point(host->start_ns, &host->last_sample, &sample, out);
    host->last_sample = sample;
    host->next_probe_ns = gnn_later_ns(gnn_host_now_ns(), host->config->interval_ns);
}

/* Resident bytes of a file; GNN_UNKNOWN where this user does not see them. */
static uint64_t resident_of(const char *path, uint64_t *file_bytes)
{
    struct gnn_residency residency;
    struct gnn_err ignored = {0};
    const bool known = gnn_cache_residency(path, &residency, &ignored) == GNN_OK;
    *file_bytes = known ? residency.file_bytes : 0;
    return known ? residency.resident_bytes : GNN_UNKNOWN;
}

/* Whether a file is read past the page cache and in no other way, so that its residency tells. */
static bool only_direct(const struct gnn_used_file *file)
{
    return file->path[0] != '\0' && (file->how & ~(uint32_t)GNN_READS_MADE) == GNN_READS_DIRECT;
}

/* What open left in the page cache of a file that it wrote: the start is no colder than that. */
static void add_made(uint64_t resident_bytes, uint64_t file_bytes, struct gnn_run_record *run)
{
    const struct gnn_residency residency = {.file_bytes = file_bytes, .resident_bytes = resident_bytes};
    if (resident_bytes == GNN_UNKNOWN || run->resident_start_bytes == GNN_UNKNOWN) {
        run->cold_observed = -1;
        run->resident_start_bytes = GNN_UNKNOWN;
        return;
    }
    run->resident_start_bytes += resident_bytes;
    if (run->cold_observed == 1 && !gnn_cache_is_cold(&residency))
        run->cold_observed = 0;
}

void gnn_run_host_observe_opened(struct gnn_run_host *host, const struct gnn_intent *intent, struct gnn_run_record *run)
{
    if (host == NULL)
        return;
    host->intent = intent;
    for (uint32_t i = 0; i < intent->file_count; i++) {
        const struct gnn_used_file *const file = &intent->files[i];
        uint64_t file_bytes = 0;
        host->resident_before[i] = file->path[0] == '\0' ? GNN_UNKNOWN : resident_of(file->path, &file_bytes);
        if ((file->how & GNN_READS_MADE) != 0)
            add_made(host->resident_before[i], file_bytes, run);
    }
}

void gnn_run_host_observe_direct(const struct gnn_run_host *host, struct gnn_run_record *run)
{
    for (uint32_t i = 0; host != NULL && host->intent != NULL && i < host->intent->file_count; i++) {
        uint64_t file_bytes;
        if (!only_direct(&host->intent->files[i]))
            continue;
        const uint64_t now_bytes = resident_of(host->intent->files[i].path, &file_bytes);
        const uint64_t before_bytes = host->resident_before[i], few_bytes = file_bytes / DIRECT_ONE_IN;
        if (now_bytes == GNN_UNKNOWN || before_bytes == GNN_UNKNOWN)
            continue;
        if (now_bytes > before_bytes + few_bytes)
            run->direct_observed = 0;
        else if (before_bytes <= few_bytes && run->direct_observed == -1)
            run->direct_observed = 1; /* else the file was in the page cache for another reason */
    }
}

void gnn_run_host_observe_evaluated(struct gnn_run_host *host)
{
    for (uint32_t i = 0; host != NULL && host->intent != NULL && i < host->intent->file_count; i++) {
        uint64_t ignored;
        if (only_direct(&host->intent->files[i]))
            host->resident_before[i] = resident_of(host->intent->files[i].path, &ignored);
    }
}

/* Resident bytes of the whole dataset; GNN_UNKNOWN where this user does not see them. */
static uint64_t resident_of_dataset(const struct gnn_run_host *host)
{
    const char *const paths[] = {host->dataset_dir};
    struct gnn_residency residency;
    struct gnn_err ignored = {0};
    const bool known = gnn_cache_residency_all(paths, 1, &residency, &ignored) == GNN_OK;
    return known ? residency.resident_bytes : GNN_UNKNOWN;
}

static void raise_to(uint64_t *most_bytes, uint64_t bytes)
{
    if (bytes != GNN_UNKNOWN)
        *most_bytes = gnn_max_u64(*most_bytes, bytes);
}

void gnn_run_host_observe_cache(const struct gnn_run_host *host, uint64_t *most_bytes)
{
    if (host != NULL && host->config->memory_bytes != 0)
        raise_to(most_bytes, resident_of_dataset(host));
}

void gnn_run_host_end(const struct gnn_run_host *host, struct gnn_run_record *run, uint64_t *peak_bytes,
                      uint64_t *most_bytes)
{
    *peak_bytes = GNN_UNKNOWN;
    if (host == NULL) {
        run->oom_kills = 0;
        return;
    }
    struct gnn_group_reading end;
    gnn_run_host_read_group(host, &end);
    run->oom_kills = end.oom_kills;
    *peak_bytes = end.peak_bytes;
    if (run->epoch_count == 0)
        run->counters.peak_memory_bytes = end.peak_bytes;
    run->resident_end_bytes = resident_of_dataset(host);
    raise_to(most_bytes, run->resident_end_bytes);
}
