/* SPDX-License-Identifier: MIT */
/* Probes that observe a run from outside, one reading at a time: CPU and I/O wait, the worker's own CPU, PSI, the block
 * device, the GPU. The cgroup's reading is confine's; gnn_series_point() combines both.
 *
 * One thread uses a probe. A reading costs a few reads of /proc, well under a millisecond. With a GPU it waits 40 ms
 * for NVML's PCIe counters. */
#ifndef GNN_MEASURE_H
#define GNN_MEASURE_H

#include "harness/base/reading.h"
#include "harness/oocgnn.h"

#include <sys/types.h>

struct gnn_probe;

struct gnn_probe_config {
    pid_t worker_pid;    /* 0: none */
    uint32_t disk_major; /* whole device to watch (measure/device.h); 0:0 = none */
    uint32_t disk_minor;
    bool gpu;              /* read NVML's first GPU if there is one; gnn_probe_gpu changes it */
    const char *proc_root; /* NULL: "/proc" */
};

GNN_MUST_CHECK enum gnn_status gnn_probe_open(const struct gnn_probe_config *config, struct gnn_probe **out,
                                              struct gnn_err *err);
/* Reads the GPU of that PCI bus ID from now on, or none if NVML does not find it. */
void gnn_probe_gpu(struct gnn_probe *probe, const char *bus_id);
/* Reads all values. A value that cannot be read is GNN_UNKNOWN or NAN: a probe never stops a run. */
void gnn_probe_read(struct gnn_probe *probe, struct gnn_host_reading *out);
/* Reads cpu_stolen_ns, and only the file /proc/stat. Returns GNN_UNKNOWN if it cannot be read. */
uint64_t gnn_probe_stolen_ns(struct gnn_probe *probe);
void gnn_probe_close(struct gnn_probe *probe); /* accepts NULL */

/* Computes the row of the series for the interval between two samples. start_ns: CLOCK_MONOTONIC at the run's start. A
 * rate is unknown if its counter is unknown at either end, or decreased because a device was replaced or a process
 * ended. */
void gnn_series_point(uint64_t start_ns, const struct gnn_sample *before, const struct gnn_sample *now,
                      struct gnn_series_point *out);

/* ---- parsers, one per kernel file; text is the file's content ---- */
/* Each returns false and leaves out unchanged if the text does not have the format that the kernel documents. */

struct gnn_cpu_ticks {
    uint64_t total, idle, iowait; /* in USER_HZ */
    uint64_t interrupts, steal;   /* interrupts: hard and soft */
};

bool gnn_parse_proc_stat(const char *text, struct gnn_cpu_ticks *out);

struct gnn_pid_stat {
    uint64_t major_faults, user_ticks, system_ticks, threads, start_ticks, rss_pages;
};

/* Parses /proc/PID/stat. The process name may contain spaces and parentheses. */
bool gnn_parse_pid_stat(const char *text, struct gnn_pid_stat *out);

struct gnn_disk_stats {
    uint64_t read_ios, read_sectors, write_ios, write_sectors, busy_ms; /* sectors of 512 bytes */
};

bool gnn_parse_diskstats(const char *text, uint32_t major, uint32_t minor, struct gnn_disk_stats *out);

#endif
