/* SPDX-License-Identifier: MIT */
/* Measures a device through tensor_ops: the [gpu] and [bus] figures of a profile. Also measures the error of the cost
 * model with these figures, on shapes that they were not fitted to. Any back-end can be measured. The CUDA plugin runs
 * on a GPU. The modelled back-end runs on its own clock, and its own figures must result. */
#ifndef GNN_CALIBRATE_GPU_H
#define GNN_CALIBRATE_GPU_H

#include "harness/calibrate/figure.h"
#include "harness/tensor/tensor.h"

struct gnn_gpu_bench {
    struct gnn_tensor *tensor;
    uint64_t (*now_ns)(void *ctx); /* the clock that its work takes time on */
    void *ctx;
    uint32_t repeats; /* at most GNN_REPEATS_MAX */
    uint32_t divisor; /* divides the sizes: 1 to measure, up to 256 to try the command */
};

enum { GNN_GPU_CHECKS_MAX = 16 };

struct gnn_gpu_figures {
    struct gnn_figure gemm;      /* FLOP/s: products with 256 columns and their two gradients */
    struct gnn_figure bandwidth; /* bytes/s: the faster of a copy on the device, read and written, and sums */
    struct gnn_figure sums;      /* bytes/s: y += x */
    struct gnn_figure gather;   /* bytes/s: means over ten rows at random places, without the time of sequential data */
    struct gnn_figure launch;   /* ns: an op on one number */
    struct gnn_figure pinned;   /* bytes/s: copies to the device from pinned memory, in a lane */
    struct gnn_figure pageable; /* bytes/s: copies from any memory, synchronous */
    struct gnn_figure latency;  /* ns: of a small copy, without its bytes and its launch */
    struct gnn_check checks[GNN_GPU_CHECKS_MAX];
    uint32_t check_count;
};

/* Measures the figures and checks them. Returns GNN_EGPU if less than 1 GiB / divisor of the device's memory is free,
 * or GNN_EBUG if a figure is not a positive number. */
GNN_MUST_CHECK enum gnn_status gnn_gpu_measure(const struct gnn_gpu_bench *bench, struct gnn_gpu_figures *out,
                                               struct gnn_err *err);

/* Returns the largest |predicted / measured - 1| of the checks. */
double gnn_gpu_worst(const struct gnn_gpu_figures *figures);

#endif
