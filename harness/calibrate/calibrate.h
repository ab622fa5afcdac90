/* SPDX-License-Identifier: MIT */
/* A profile of this machine: the figures that `oocgnn calibrate` measures, and the text that is made of them
 * (workloads/hardware/README.md). Storage figures come from fio's JSON output. All others come from small loops over
 * this program's own code. They use its sampler, ID map, gathers, rings, locks and tensor back-end, and its CUDA
 * back-end if there is a GPU. No figure is fitted to an epoch time.
 *
 * Measuring requires an otherwise idle machine, because other work falsifies the figures. Every figure is the median of
 * repetitions. The profile states which figures vary between repetitions. */
#ifndef GNN_CALIBRATE_H
#define GNN_CALIBRATE_H

#include "harness/calibrate/figure.h"
#include "harness/calibrate/gpu.h"
#include "harness/world/profile.h"

#include <stdatomic.h>
#include <stdio.h>

/* The figures other than the read grid. The table in text.c has key, unit and source of each. Rates are per second,
 * times in nanoseconds, sizes in bytes. Figures of one measurement are adjacent. */
enum gnn_figure_id {
    GNN_FIGURE_PROCESS,
    GNN_FIGURE_WRITE_LATENCY,
    GNN_FIGURE_WRITE_IOPS,
    GNN_FIGURE_WRITE_BANDWIDTH,
    GNN_FIGURE_MIXED_BANDWIDTH,
    GNN_FIGURE_CLOCK,
    GNN_FIGURE_SAMPLED_EDGE,
    GNN_FIGURE_HASHED_ID,
    GNN_FIGURE_SORTED_KEY,
    GNN_FIGURE_COPIED_BYTE,
    GNN_FIGURE_TABLE_ENTRY,
    GNN_FIGURE_GATHER_ELEMENT,
    GNN_FIGURE_GATHER_ROW,
    GNN_FIGURE_FAULT_MINOR,
    GNN_FIGURE_FAULT_MAJOR,
    GNN_FIGURE_READAHEAD_PAGE,
    GNN_FIGURE_EVICT_PAGE, /* 0: no group with a memory limit can be created; likewise the next one */
    GNN_FIGURE_UNMAP_PAGE,
    GNN_FIGURE_SYSCALL,
    GNN_FIGURE_BUFFERED_PAGE,
    GNN_FIGURE_SUBMIT,
    GNN_FIGURE_COMPLETE,
    GNN_FIGURE_RING_CACHED_READ,
    GNN_FIGURE_RING_MISSED_READ,
    GNN_FIGURE_LOCK,
    GNN_FIGURE_WAKE,
    GNN_FIGURE_WAKE_LATENCY,
    GNN_FIGURE_THREAD_START,
    GNN_FIGURE_GEMM,
    GNN_FIGURE_GEMM_OPERAND,
    GNN_FIGURE_BANDWIDTH,
    GNN_FIGURE_BANDWIDTH_SHARED,
    GNN_FIGURE_HOST_GATHER,
    GNN_FIGURE_LAUNCH,
    GNN_FIGURE_COUNT
};

enum { GNN_COMPUTE_CHECKS = 7 };

/* Sequential writing without a pause (sustained.h). */
struct gnn_sustained {
    double written_bytes; /* in total */
    bool falls;           /* the rate falls; the two fields below are set */
    double bytes_per_s;   /* the rate that it falls to */
    double burst_bytes;   /* bytes that are written before it falls */
};

struct gnn_calibration {
    uint64_t began_s; /* since 1970 in UTC */
    char host[64], kernel[128], cpu_model[128], device_model[128], file_system[64], fio_version[32], fio_engine[16],
        load[64];
    uint64_t memory_bytes, file_bytes;
    uint32_t cores;
    bool quick;
    struct gnn_profile_storage storage; /* sizes, depths, both grids; sector, readahead */
    double read_spread[GNN_PROFILE_SIZES_MAX][GNN_PROFILE_DEPTHS_MAX];
    double scattered_spread[GNN_PROFILE_SIZES_MAX][GNN_PROFILE_DEPTHS_MAX];
    double sequential_read_bytes_per_s;
    struct gnn_sustained sustained;
    struct gnn_figure figure[GNN_FIGURE_COUNT];
    struct gnn_check checks[GNN_COMPUTE_CHECKS]; /* of operations on the CPU */
    uint32_t check_count;
    char scattered_missing[256]; /* why reads into single pages are not measured; "": they are */
    char reclaim_missing[256];   /* why evict_page and unmap_page are not measured; "": they are */
    bool gpu_present;            /* true: the fields after gpu_missing are set */
    char gpu_missing[256];       /* if not gpu_present: why there is no [gpu] */
    char gpu_model[96], gpu_driver[96];
    uint64_t gpu_memory_bytes;
    struct gnn_gpu_figures gpu;
};

struct gnn_calibrate_config {
    /* A directory, or a regular file. In a directory, a file of file_bytes is written, read and removed. A regular file
     * is read only; other files are written to its directory. */
    const char *device;
    uint64_t file_bytes;
    bool quick; /* takes seconds instead of minutes, with less accurate figures: for tests */
    const atomic_bool *stop;
    FILE *progress; /* receives one line per step; NULL: silent */
};

/* Measures this machine and fills out. Removes all of its files. Returns GNN_ENOTSUP if there is no fio or no direct
 * I/O at config->device, GNN_ENOSPC if the device is full, or GNN_ECANCELLED if stop was set. Returns GNN_EUSAGE,
 * GNN_ENOENT or GNN_EPERM if config->device cannot be used. */
GNN_MUST_CHECK enum gnn_status gnn_calibrate(const struct gnn_calibrate_config *config, struct gnn_calibration *out,
                                             struct gnn_err *err);

/* Writes the profile's text to *text, which the caller frees; gnn_profile_parse() reads it. Returns GNN_EBUG, which
 * names the figure, if a figure is not a positive number. */
GNN_MUST_CHECK enum gnn_status gnn_calibration_text(const struct gnn_calibration *calibration, char **text,
                                                    struct gnn_err *err);

/* ---- the check ---- */

struct gnn_grid_point {
    uint64_t size_bytes;
    uint32_t depth;
    bool scattered; /* from the grid of reads into single pages */
    double profile_iops, simulated_iops;
};
struct gnn_grid_check {
    uint32_t count;
    struct gnn_grid_point points[2 * GNN_PROFILE_SIZES_MAX * GNN_PROFILE_DEPTHS_MAX];
    double worst; /* largest |simulated / profile - 1| */
};

/* Runs the simulated device in a closed loop at every point of the profile's own grids. Returns GNN_EBUG if no
 * simulated time passes, or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_grid_check(const struct gnn_profile_storage *storage, struct gnn_grid_check *out,
                                              struct gnn_err *err);

#endif
