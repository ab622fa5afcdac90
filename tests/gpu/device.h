/* SPDX-License-Identifier: MIT */
/* The plugin's back-end for the tests of a GPU, and whether there is a device below it. */
#ifndef GNN_TESTS_GPU_DEVICE_H
#define GNN_TESTS_GPU_DEVICE_H

#include "harness/tensor/tensor.h"

struct gpu_device {
    const struct gnn_tensor_ops *table;
    uint64_t (*allocations)(const struct gnn_tensor *t); /* of the device since open; NULL: the plugin does not tell */
    bool stand_in; /* tests/support/cuda_host_plugin.cc: no GPU, and no fused rounding */
};

/* The plugin that OOCGNN_CUDA_PLUGIN names, else the one beside the program ($OOCGNN), on device 0. Without plugin,
 * driver or device: false, and why. */
bool gpu_device_look(struct gpu_device *out, char *why, size_t why_bytes);
/* Likewise; prints "skip: WHY". */
bool gpu_device_find(struct gpu_device *out);

/* Device 0 once more, with memory of its own to give out. Ends the program where that fails. */
struct gnn_tensor *gpu_device_open(const struct gpu_device *gpu);
/* The same, with every step as one graph or op by op. */
struct gnn_tensor *gpu_device_open_as(const struct gpu_device *gpu, bool graphs);

#endif
