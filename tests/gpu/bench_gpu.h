/* SPDX-License-Identifier: MIT */
/* The commands of bench_gpu that fill a file each. */
#ifndef GNN_TESTS_BENCH_GPU_H
#define GNN_TESTS_BENCH_GPU_H

#include "harness/world/world.h"
#include "tests/gpu/device.h"
#include "tests/support/toy_block.h"

/* What a device does at most; per second and nanoseconds (harness/calibrate/gpu.h). */
struct bench_roof {
    double gemm, bandwidth, gather, bus, latency, launch;
};

struct bench_clock {
    struct toy_memory memory; /* first: toy_alloc takes the clock for it */
    uint64_t now_ns;
};

/* The modelled GPU of these rates, on that clock. */
struct gnn_tensor *bench_modelled_open(const struct bench_roof *roof, struct bench_clock *clock);

struct bench_reads {
    const char *path; /* of a file on the storage in question */
    uint32_t bytes;   /* of a read: a multiple of the sector */
    uint32_t threads;
    double seconds;
    enum gnn_ring_engine engine;
};

/* Prints the reads per second that this program's reader gets from storage. Exit status. */
int bench_reads(const struct bench_reads *config);

/* Prints what a row of 128 to 4096 bytes takes by a copy each, and by a kernel that gathers `rows` of them. Exit
 * status; 1 also where a row did not land as it was. */
int bench_transfer(const struct gpu_device *gpu, uint32_t rows);

/* Prints the line of counts that bench_step begins with, of whole sizes; wants no GPU. Exit status. */
int bench_counts(const char *model, const struct bench_roof *roof);

/* Training steps of `model` ("sage" or "gat", three layers, 256 wide) on four mini-batches. Prints the counts and the
 * roofline, then for every line "N WAY" on standard input trains N steps and prints their times. WAY is graphs, plain
 * or demand. size: "whole", or "small", which a launcher can do, or "hub" and "small-hub", where one node has 30 % of
 * all edges. dump: folder that the mini-batches are written into, or NULL. Exit status; 2 for another size or WAY. */
int bench_step(const struct gpu_device *gpu, const char *model, const struct bench_roof *roof, const char *size,
               const char *dump);

#endif
