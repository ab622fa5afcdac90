/* The first NVIDIA GPU, through NVML loaded at run time. Internal to measure. */
#ifndef GNN_MEASURE_GPU_H
#define GNN_MEASURE_GPU_H

#include "harness/oocgnn.h"

struct gnn_gpu;

/* NULL without the library, a driver or a GPU: no error, there is just nothing to see. library NULL: the usual name. */
struct gnn_gpu *gnn_gpu_open(const char *library);
/* NAN and GNN_UNKNOWN where this GPU does not tell (MIG, vGPU). */
void gnn_gpu_read(const struct gnn_gpu *gpu, double *busy_pct, uint64_t *memory_bytes);
/* "" when unknown. */
const char *gnn_gpu_name(const struct gnn_gpu *gpu);
const char *gnn_gpu_driver(const struct gnn_gpu *gpu);
uint64_t gnn_gpu_total_bytes(const struct gnn_gpu *gpu);
void gnn_gpu_close(struct gnn_gpu *gpu); /* accepts NULL */

#endif
