/* SPDX-License-Identifier: MIT */
/* The GPU of this machine, through the CUDA plugin; a profile without [gpu] and [bus], and why, where there is none. */
#include "harness/base/clock.h"
#include "harness/calibrate/internal.h"
#include "harness/measure/gpu.h"
#include "harness/tensor/cuda/plugin.h"

#include <stdio.h>

/* Name, driver and memory; false when NVML does not tell them. */
static bool describe(const struct gnn_tensor *tensor, struct gnn_calibration *out)
{
    struct gnn_gpu *const gpu = gnn_gpu_open(NULL, tensor->gpu.bus_id);
    if (gpu == NULL)
        return false;
    (void)snprintf(out->gpu_model, sizeof out->gpu_model, "%s", gnn_gpu_name(gpu));
    (void)snprintf(out->gpu_driver, sizeof out->gpu_driver, "%s", gnn_gpu_driver(gpu));
    out->gpu_memory_bytes = gnn_gpu_total_bytes(gpu);
    gnn_gpu_close(gpu);
    return out->gpu_memory_bytes != GNN_UNKNOWN;
}

static uint64_t host_clock(void *ctx)
{
    (void)ctx;
    return gnn_host_now_ns();
}

enum gnn_status gnn_bench_cuda(struct gnn_bench *bench, struct gnn_err *err)
{
    struct gnn_calibration *const out = bench->out;
    const struct gnn_tensor_ops *ops = NULL;
    struct gnn_err missing = {0};
    struct gnn_tensor *tensor = NULL;
    enum gnn_status status = gnn_cuda_plugin(&ops, &missing);
    GNN_NEXT(status, gnn_bench_tensor_open(bench, ops, &tensor, &missing));
    if (status == GNN_OK && !describe(tensor, out))
        status = gnn_fail(&missing, GNN_ENOTSUP, "NVML does not report the memory size of the device");
    out->gpu_present = status == GNN_OK;
    if (!out->gpu_present) {
        (void)snprintf(out->gpu_missing, sizeof out->gpu_missing, "%.*s", (int)sizeof out->gpu_missing - 1,
                       missing.message);
    } else {
        const struct gnn_gpu_bench config = {.tensor = tensor,
                                             .now_ns = host_clock,
                                             .repeats = bench->repeats,
                                             .divisor = bench->config->quick ? 16 : 1};
        status = gnn_gpu_measure(&config, &out->gpu, err);
    }
    if (tensor != NULL)
        ops->close(tensor);
    return out->gpu_present ? status : GNN_OK;
}
