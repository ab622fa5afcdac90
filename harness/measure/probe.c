/* SPDX-License-Identifier: MIT */
#include "harness/base/clock.h"
#include "harness/base/text_file.h"
#include "harness/measure/gpu.h"
#include "harness/measure/measure.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 512, TEXT_BYTES = 1 << 16 };

static const uint64_t ns_per_s = UINT64_C(1000000000);
static const uint64_t sector_bytes = 512; /* of /proc/diskstats, whatever the device's own */

struct gnn_probe {
    struct gnn_probe_config config;
    char root[256];
    struct gnn_gpu *gpu; /* NULL: none seen */
    uint64_t ns_per_tick;
    uint64_t page_bytes;
    char text[TEXT_BYTES]; /* one file at a time */
};

enum gnn_status gnn_probe_open(const struct gnn_probe_config *config, struct gnn_probe **out, struct gnn_err *err)
{
    *out = NULL;
    struct gnn_probe *probe;
    GNN_NEW(probe, 1, err, "a probe of %zu bytes", sizeof *probe);
    probe->config = *config;
    (void)snprintf(probe->root, sizeof probe->root, "%s", config->proc_root == NULL ? "/proc" : config->proc_root);
    probe->config.proc_root = probe->root;
    probe->ns_per_tick = ns_per_s / (uint64_t)sysconf(_SC_CLK_TCK);
    probe->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    probe->gpu = config->gpu ? gnn_gpu_open(NULL, NULL) : NULL;
    *out = probe;
    return GNN_OK;
}

void gnn_probe_gpu(struct gnn_probe *probe, const char *bus_id)
{
    gnn_gpu_close(probe->gpu);
    probe->gpu = gnn_gpu_open(NULL, bus_id);
}

static bool read_file(struct gnn_probe *probe, const char *name)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", probe->root, name);
    return gnn_text_file_read(path, probe->text, sizeof probe->text) == 0;
}

static void read_cpu(struct gnn_probe *probe, struct gnn_host_reading *out)
{
    struct gnn_cpu_ticks ticks;
    if (!read_file(probe, "stat") || !gnn_parse_proc_stat(probe->text, &ticks))
        return;
    out->cpu_total_ns = ticks.total * probe->ns_per_tick;
    out->cpu_idle_ns = ticks.idle * probe->ns_per_tick;
    out->cpu_iowait_ns = ticks.iowait * probe->ns_per_tick;
    out->cpu_stolen_ns = ticks.steal * probe->ns_per_tick;
}

uint64_t gnn_probe_stolen_ns(struct gnn_probe *probe)
{
    struct gnn_host_reading cpu = {.cpu_stolen_ns = GNN_UNKNOWN};
    read_cpu(probe, &cpu);
    return cpu.cpu_stolen_ns;
}

static void read_worker(struct gnn_probe *probe, struct gnn_host_reading *out)
{
    if (probe->config.worker_pid == 0)
        return;
    assert(probe->config.worker_pid > 0);
    char name[64];
    struct gnn_pid_stat stat;
    (void)snprintf(name, sizeof name, "%ld/stat", (long)probe->config.worker_pid);
    if (!read_file(probe, name) || !gnn_parse_pid_stat(probe->text, &stat))
        return;
    out->worker_cpu_ns = (stat.user_ticks + stat.system_ticks) * probe->ns_per_tick;
    out->worker_rss_bytes = stat.rss_pages * probe->page_bytes;
    out->worker_major_faults = stat.major_faults;
    out->worker_threads = stat.threads;
}

static void read_pressure(struct gnn_probe *probe, const char *name, struct gnn_psi *out)
{
    if (read_file(probe, name))
        (void)gnn_parse_psi(probe->text, out);
}

static void read_disk(struct gnn_probe *probe, struct gnn_host_reading *out)
{
    const struct gnn_probe_config *config = &probe->config;
    struct gnn_disk_stats stats;
    if (config->disk_major == 0 || !read_file(probe, "diskstats") ||
        !gnn_parse_diskstats(probe->text, config->disk_major, config->disk_minor, &stats))
        return;
    out->disk_read_bytes = stats.read_sectors * sector_bytes;
    out->disk_read_ios = stats.read_ios;
    out->disk_write_bytes = stats.write_sectors * sector_bytes;
    out->disk_write_ios = stats.write_ios;
    out->disk_busy_ns = stats.busy_ms * UINT64_C(1000000);
}

void gnn_probe_read(struct gnn_probe *probe, struct gnn_host_reading *out)
{
    gnn_host_reading_unknown(out);
    out->now_ns = gnn_host_now_ns();
    read_cpu(probe, out);
    read_worker(probe, out);
    read_pressure(probe, "pressure/cpu", &out->psi_cpu);
    read_pressure(probe, "pressure/memory", &out->psi_memory);
    read_pressure(probe, "pressure/io", &out->psi_io);
    read_disk(probe, out);
    if (probe->gpu != NULL)
        gnn_gpu_read(probe->gpu, out);
}

void gnn_probe_close(struct gnn_probe *probe)
{
    if (probe == NULL)
        return;
    gnn_gpu_close(probe->gpu);
    free(probe);
}

/* ---- intervals ---- */

static uint64_t rise(uint64_t before, uint64_t now)
{
    return before == GNN_UNKNOWN || now == GNN_UNKNOWN || now < before ? GNN_UNKNOWN : now - before;
}

/* 100 * rise / whole */
static double share_pct(uint64_t before, uint64_t now, uint64_t whole)
{
    const uint64_t part = rise(before, now);
    return part == GNN_UNKNOWN || whole == GNN_UNKNOWN || whole == 0 ? (double)NAN
                                                                     : 100.0 * (double)part / (double)whole;
}

static double per_second(uint64_t before, uint64_t now, uint64_t interval_ns)
{
    return share_pct(before, now, interval_ns) * (double)ns_per_s / 100.0;
}

static double stall_pct(uint64_t before_us, uint64_t now_us, uint64_t interval_ns)
{
    return share_pct(before_us, now_us, interval_ns) * 1000.0;
}

/* Idle and iowait in one: the kernel moves time between them, so either alone may run backwards (proc(5)). */
static uint64_t not_busy_ns(const struct gnn_host_reading *reading)
{
    const bool known = reading->cpu_idle_ns != GNN_UNKNOWN && reading->cpu_iowait_ns != GNN_UNKNOWN;
    return known ? reading->cpu_idle_ns + reading->cpu_iowait_ns : GNN_UNKNOWN;
}

static void host_rates(const struct gnn_host_reading *b, const struct gnn_host_reading *n, struct gnn_series_point *out)
{
    const uint64_t interval_ns = out->interval_ns;
    const uint64_t cpu_ns = rise(b->cpu_total_ns, n->cpu_total_ns);
    out->iowait_pct = share_pct(b->cpu_iowait_ns, n->cpu_iowait_ns, cpu_ns);
    out->cpu_pct = 100.0 - share_pct(not_busy_ns(b), not_busy_ns(n), cpu_ns);
    out->worker_cpu_pct = share_pct(b->worker_cpu_ns, n->worker_cpu_ns, interval_ns);
    out->psi_cpu_some_pct = stall_pct(b->psi_cpu.some_us, n->psi_cpu.some_us, interval_ns);
    out->disk_read_bytes_per_s = per_second(b->disk_read_bytes, n->disk_read_bytes, interval_ns);
    out->disk_read_ios_per_s = per_second(b->disk_read_ios, n->disk_read_ios, interval_ns);
    out->disk_write_bytes_per_s = per_second(b->disk_write_bytes, n->disk_write_bytes, interval_ns);
    out->disk_busy_pct = share_pct(b->disk_busy_ns, n->disk_busy_ns, interval_ns);
    out->worker_major_faults = rise(b->worker_major_faults, n->worker_major_faults);
    out->gpu_busy_pct = n->gpu_busy_pct;
    out->gpu_memory_bytes = n->gpu_memory_bytes;
    out->gpu_power_w = n->gpu_power_w;
    out->gpu_rx_bytes_per_s = n->gpu_rx_bytes_per_s;
    out->gpu_tx_bytes_per_s = n->gpu_tx_bytes_per_s;
}

/* The group's own pressure where the kernel keeps it (v2), the machine's otherwise. */
static const struct gnn_psi *group_or_host(const struct gnn_psi *group, const struct gnn_psi *host)
{
    return group->some_us != GNN_UNKNOWN ? group : host;
}

static void pressure_rates(const struct gnn_sample *b, const struct gnn_sample *n, struct gnn_series_point *out)
{
    const uint64_t interval_ns = out->interval_ns;
    const struct gnn_psi *memory_before = group_or_host(&b->group.psi_memory, &b->host.psi_memory);
    const struct gnn_psi *memory_now = group_or_host(&n->group.psi_memory, &n->host.psi_memory);
    const struct gnn_psi *io_before = group_or_host(&b->group.psi_io, &b->host.psi_io);
    const struct gnn_psi *io_now = group_or_host(&n->group.psi_io, &n->host.psi_io);
    out->psi_memory_some_pct = stall_pct(memory_before->some_us, memory_now->some_us, interval_ns);
    out->psi_memory_full_pct = stall_pct(memory_before->full_us, memory_now->full_us, interval_ns);
    out->psi_io_some_pct = stall_pct(io_before->some_us, io_now->some_us, interval_ns);
    out->psi_io_full_pct = stall_pct(io_before->full_us, io_now->full_us, interval_ns);
}

void gnn_series_point(uint64_t start_ns, const struct gnn_sample *before, const struct gnn_sample *now,
                      struct gnn_series_point *out)
{
    *out = (struct gnn_series_point){
        .time_ns = rise(start_ns, now->host.now_ns),
        .interval_ns = rise(before->host.now_ns, now->host.now_ns),
        .memory_bytes = now->group.current_bytes,
        .anon_bytes = now->group.anon_bytes,
        .file_bytes = now->group.file_bytes,
        .refaults = rise(before->group.refaults, now->group.refaults),
    };
    host_rates(&before->host, &now->host, out);
    pressure_rates(before, now, out);
    out->group_read_bytes_per_s = per_second(before->group.read_bytes, now->group.read_bytes, out->interval_ns);
    out->group_read_ios_per_s = per_second(before->group.read_ios, now->group.read_ios, out->interval_ns);
}
