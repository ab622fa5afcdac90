/* SPDX-License-Identifier: MIT */
/* One NVIDIA GPU, through NVML loaded at run time. */
#ifndef GNN_MEASURE_GPU_H
#define GNN_MEASURE_GPU_H

#include "harness/base/reading.h"

struct gnn_gpu;

/* NULL without the library, a driver or the GPU of that number: no error, there is just nothing to see. library NULL:
 * the usual name. */
struct gnn_gpu *gnn_gpu_open(const char *library, uint32_t number);
/* Fills the gpu_ fields of a reading: NAN and GNN_UNKNOWN where this GPU or driver does not tell (MIG, vGPU). NVML
 * counts PCIe over 20 ms, during which the caller waits, once in each direction. */
void gnn_gpu_read(const struct gnn_gpu *gpu, struct gnn_host_reading *out);
/* "" when unknown. */
const char *gnn_gpu_name(const struct gnn_gpu *gpu);
const char *gnn_gpu_driver(const struct gnn_gpu *gpu);
uint64_t gnn_gpu_total_bytes(const struct gnn_gpu *gpu);
void gnn_gpu_close(struct gnn_gpu *gpu); /* accepts NULL */

#endif
