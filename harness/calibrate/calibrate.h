/* SPDX-License-Identifier: MIT */
/* A profile of the machine at hand: what `oocgnn calibrate` measures, and the text it becomes
 * (workloads/hardware/README.md). Storage comes from fio's own JSON output, the rest from this program's own code in
 * small loops: its sampler, its ID map, its gathers, its rings, its locks, its tensor back-end, and its CUDA back-end
 * where there is a GPU. Nothing here knows an epoch time.
 *
 * Measuring takes the machine for itself: other work on it makes the figures wrong. Every figure is the median of
 * repetitions, and the profile says which ones spread. */
#ifndef GNN_CALIBRATE_H
#define GNN_CALIBRATE_H

#include "harness/calibrate/figure.h"
#include "harness/calibrate/gpu.h"
#include "harness/world/profile.h"

#include <stdatomic.h>
#include <stdio.h>

/* What is measured besides the read grid; text.c's table says key, unit and source of each. Rates are per second, times
 * nanoseconds, sizes bytes. What one measurement yields together stands together. */
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
    GNN_FIGURE_EVICT_PAGE, /* 0: no group with a cap can be made here; likewise the next one */
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

/* Writing in sequence without a pause (sustained.h). */
struct gnn_sustained {
    double written_bytes; /* in all */
    bool falls;           /* it became slower: the two below */
    double bytes_per_s;   /* to this */
    double burst_bytes;   /* after so many */
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
    char scattered_missing[256]; /* why reads into single pages are left out; "": they are not */
    char reclaim_missing[256];   /* why evict_page and unmap_page are left out; "": they are not */
    bool gpu_present;            /* what follows gpu_missing is filled */
    char gpu_missing[256];       /* else: why there is no [gpu] */
    char gpu_model[96], gpu_driver[96];
    uint64_t gpu_memory_bytes;
    struct gnn_gpu_figures gpu;
};

struct gnn_calibrate_config {
    /* A directory: a file of file_bytes is written there, read, and removed. A regular file: that one is read; what is
     * written goes beside it. */
    const char *device;
    uint64_t file_bytes;
    bool quick; /* seconds instead of minutes, and figures to match: for tests */
    const atomic_bool *stop;
    FILE *progress; /* one line a step; NULL: silent */
};

/* GNN_ENOTSUP: no fio, or no direct I/O there; GNN_ENOSPC; GNN_ECANCELLED: stop was raised. Leaves nothing behind. */
GNN_MUST_CHECK enum gnn_status gnn_calibrate(const struct gnn_calibrate_config *config, struct gnn_calibration *out,
                                             struct gnn_err *err);

/* The profile's text, to be freed; gnn_profile_parse reads it. GNN_EBUG names a figure that is no positive number. */
GNN_MUST_CHECK enum gnn_status gnn_calibration_text(const struct gnn_calibration *calibration, char **text,
                                                    struct gnn_err *err);

/* ---- the check ---- */

struct gnn_grid_point {
    uint64_t size_bytes;
    uint32_t depth;
    bool scattered; /* of the grid of reads into single pages */
    double profile_iops, simulated_iops;
};
struct gnn_grid_check {
    uint32_t count;
    struct gnn_grid_point points[2 * GNN_PROFILE_SIZES_MAX * GNN_PROFILE_DEPTHS_MAX];
    double worst; /* the largest |simulated / profile - 1| */
};

/* The simulated device in a closed loop at every point of the profile's own grids. */
GNN_MUST_CHECK enum gnn_status gnn_grid_check(const struct gnn_profile_storage *storage, struct gnn_grid_check *out,
                                              struct gnn_err *err);

#endif
