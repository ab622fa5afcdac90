/* SPDX-License-Identifier: MIT */
/* A device that computes, measured through tensor_ops: the [gpu] and [bus] figures of a profile, and how far the cost
 * model with these figures is off on shapes that they were not fitted to. Any back-end can be measured: the CUDA plugin
 * on a GPU, the modelled back-end on its own clock (whose figures must come back). */
#ifndef GNN_CALIBRATE_GPU_H
#define GNN_CALIBRATE_GPU_H

#include "harness/calibrate/figure.h"
#include "harness/tensor/tensor.h"

struct gnn_gpu_bench {
    struct gnn_tensor *tensor;
    uint64_t (*now_ns)(void *ctx); /* the clock that its work takes time on */
    void *ctx;
    uint32_t repeats; /* at most GNN_REPEATS_MAX */
    uint32_t divisor; /* of the sizes: 1 to measure, more (256 at most) to try the command */
};

enum { GNN_GPU_CHECKS_MAX = 16 };

struct gnn_gpu_figures {
    struct gnn_figure gemm;      /* FLOP/s: products of 256 columns and their two gradients */
    struct gnn_figure bandwidth; /* bytes/s: y += x */
    struct gnn_figure gather;    /* bytes/s: means over ten rows at random places, less what streams */
    struct gnn_figure launch;    /* ns: an op on one number */
    struct gnn_figure pinned;    /* bytes/s: copies up from pinned memory, in a lane */
    struct gnn_figure pageable;  /* bytes/s: from any memory, waited for */
    struct gnn_figure latency;   /* ns: of a small copy, besides its bytes and its launch */
    struct gnn_check checks[GNN_GPU_CHECKS_MAX];
    uint32_t check_count;
};

/* GNN_EGPU: less than 1 GiB of the device, over the divisor, is free; GNN_EBUG: a figure came out as no positive
 * number. */
GNN_MUST_CHECK enum gnn_status gnn_gpu_measure(const struct gnn_gpu_bench *bench, struct gnn_gpu_figures *out,
                                               struct gnn_err *err);

/* The largest |predicted / measured - 1| of the checks. */
double gnn_gpu_worst(const struct gnn_gpu_figures *figures);

#endif
