/* SPDX-License-Identifier: MIT */
/* Readings: data that the cgroup (confine) and the probes (measure) fill and the record stores. They are defined here
 * because these three parts do not include one another. Counts are cumulative unless a comment states otherwise.
 * GNN_UNKNOWN (integers) and NAN (doubles) mean that this kernel, hierarchy or machine does not report a value. */
#ifndef GNN_BASE_READING_H
#define GNN_BASE_READING_H

#include "harness/oocgnn.h"

/* Pressure stall information (Documentation/accounting/psi.rst): total time in which some or all tasks were stalled. */
struct gnn_psi {
    uint64_t some_us;
    uint64_t full_us;
};

/* What the kernel reports for one control group. */
struct gnn_group_reading {
    uint64_t limit_bytes;      /* as read back; GNN_UNKNOWN: no limit */
    uint64_t swap_limit_bytes; /* swap alone, as read back; GNN_UNKNOWN: no limit, or no swap accounting */
    uint64_t current_bytes;    /* charged now: anonymous, page cache, kernel */
    uint64_t peak_bytes;       /* GNN_UNKNOWN before Linux 5.19 on cgroup v2 */
    uint64_t oom_kills;        /* processes of the group that the kernel killed for memory */
    uint64_t anon_bytes;       /* now */
    uint64_t file_bytes;       /* now: page cache, shmem included */
    uint64_t shmem_bytes;      /* now: pinned memory of some drivers shows up here */
    uint64_t swap_bytes;       /* now */
    uint64_t refaults;         /* file pages read again after they were evicted (workingset_refault_file) */
    uint64_t major_faults;
    uint64_t read_bytes, read_ios, write_bytes, write_ios; /* of all block devices */
    /* 1: write-back of the page cache is not in write_bytes, because cgroup v1 counts it elsewhere; 0: it is */
    uint64_t misses_buffered_writes;
    struct gnn_psi psi_memory; /* the group's own; cgroup v2 only */
    struct gnn_psi psi_io;
};

/* What the kernel reports for the machine, and for the worker's process in /proc. */
struct gnn_host_reading {
    uint64_t now_ns;       /* CLOCK_MONOTONIC at the reading */
    uint64_t cpu_total_ns; /* over all CPUs, every state; steal included, guest not counted twice */
    uint64_t cpu_idle_ns;
    uint64_t cpu_iowait_ns;
    uint64_t cpu_stolen_ns; /* over all CPUs: a hypervisor ran something else while a thread here was ready to run */
    uint64_t worker_cpu_ns; /* user + system of the worker's process, its ended threads included */
    uint64_t worker_rss_bytes;
    uint64_t worker_major_faults;
    uint64_t worker_threads;
    struct gnn_psi psi_cpu, psi_memory, psi_io;
    /* The watched block device, every process. */
    uint64_t disk_read_bytes, disk_read_ios, disk_write_bytes, disk_write_ios;
    uint64_t disk_busy_ns; /* time with at least one request in flight */
    double gpu_busy_pct;   /* NVML's "gpu": share of its last window with any kernel running, not occupancy */
    uint64_t gpu_memory_bytes;
    double gpu_power_w;                            /* of the whole board, as NVML averages it */
    double gpu_rx_bytes_per_s, gpu_tx_bytes_per_s; /* over PCIe in NVML's last 20 ms, into the device and out of it */
};

struct gnn_sample {
    struct gnn_host_reading host;
    struct gnn_group_reading group;
};

/* One row of a run's time series: the interval that ends at time_ns. */
struct gnn_series_point {
    uint64_t time_ns; /* since the start of the run */
    uint64_t interval_ns;
    double cpu_pct;        /* busy share of all CPUs; idle and iowait are not busy */
    double iowait_pct;     /* of all CPUs; kernels count different sleeps as iowait */
    double worker_cpu_pct; /* 100 = one CPU */
    double psi_cpu_some_pct, psi_memory_some_pct, psi_memory_full_pct, psi_io_some_pct, psi_io_full_pct;
    double disk_read_bytes_per_s, disk_read_ios_per_s, disk_write_bytes_per_s, disk_busy_pct;
    double group_read_bytes_per_s, group_read_ios_per_s;
    uint64_t memory_bytes; /* the group's charge at the end of the interval */
    uint64_t anon_bytes, file_bytes;
    uint64_t refaults, worker_major_faults; /* in the interval */
    double gpu_busy_pct;
    uint64_t gpu_memory_bytes;
    double gpu_power_w, gpu_rx_bytes_per_s, gpu_tx_bytes_per_s;
};

/* Set every field to GNN_UNKNOWN or NAN: the state before the first reading. */
void gnn_group_reading_unknown(struct gnn_group_reading *out);
void gnn_host_reading_unknown(struct gnn_host_reading *out);

/* Parses /proc/pressure/X or a group's X.pressure: lines "some avg10=… total=N" and "full …". full_us is
 * GNN_UNKNOWN if there is no such line (cpu before Linux 5.13). Returns false, with out unchanged, if text is something
 * else. */
bool gnn_parse_psi(const char *text, struct gnn_psi *out);

#endif
