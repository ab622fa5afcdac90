/* SPDX-License-Identifier: MIT */
/* One NVIDIA GPU, through NVML loaded at run time. */
#ifndef GNN_MEASURE_GPU_H
#define GNN_MEASURE_GPU_H

#include "harness/base/reading.h"

struct gnn_gpu;

/* Opens the GPU of that PCI bus ID, or NVML's first GPU if bus_id is NULL. Returns NULL if there is no library, driver
 * or such GPU. That is not an error. library NULL: the usual name. */
struct gnn_gpu *gnn_gpu_open(const char *library, const char *bus_id);
/* Fills the gpu_ fields of a reading. A field is NAN or GNN_UNKNOWN if this GPU or driver does not report it (MIG,
 * vGPU). Waits 20 ms for NVML's PCIe counter in each direction. */
void gnn_gpu_read(const struct gnn_gpu *gpu, struct gnn_host_reading *out);
/* Return the name, or "" if it is unknown. The text lives until the GPU is closed. */
const char *gnn_gpu_name(const struct gnn_gpu *gpu);
const char *gnn_gpu_driver(const struct gnn_gpu *gpu);
uint64_t gnn_gpu_total_bytes(const struct gnn_gpu *gpu);
void gnn_gpu_close(struct gnn_gpu *gpu); /* accepts NULL */

#endif
