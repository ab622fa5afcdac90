/* SPDX-License-Identifier: MIT */
/* The launcher as a plugin: with OOCGNN_CUDA_PLUGIN naming it, the program and the tests of a GPU run whole on a
 * machine without one. It shows that they work, and nothing about a GPU. `cuda_host_stand_in` tells it from the real
 * one; OOCGNN_STAND_IN_BYTES limits its memory, OOCGNN_STAND_IN_DEVICES says how many there are (1),
 * OOCGNN_STAND_IN_DRIVER_BYTES what an open one takes of the host's memory (0), and OOCGNN_STAND_IN_ORDER in which
 * order the streams run (enum cuda_host_order, or a seed). */
#include "harness/tensor/cuda/plugin.h"

#include <cstdlib>

extern uint64_t cuda_host_capacity_bytes; /* tests/support/cuda_host.cc */
extern uint64_t cuda_host_driver_bytes;
extern uint32_t cuda_host_devices;
extern uint64_t cuda_host_order; /* tests/support/cuda_host_streams.cc */

__attribute__((constructor)) static void read_environment(void)
{
    const char *const bytes = std::getenv("OOCGNN_STAND_IN_BYTES");
    const char *const driver = std::getenv("OOCGNN_STAND_IN_DRIVER_BYTES");
    const char *const devices = std::getenv("OOCGNN_STAND_IN_DEVICES");
    const char *const order = std::getenv("OOCGNN_STAND_IN_ORDER");
    if (order != NULL)
        cuda_host_order = std::strtoull(order, NULL, 10);
    if (bytes != NULL)
        cuda_host_capacity_bytes = std::strtoull(bytes, NULL, 10);
    if (driver != NULL)
        cuda_host_driver_bytes = std::strtoull(driver, NULL, 10);
    if (devices != NULL)
        cuda_host_devices = (uint32_t)std::strtoul(devices, NULL, 10);
}

extern "C" {
extern const int gnn_cuda_plugin_abi, cuda_host_stand_in;
const int gnn_cuda_plugin_abi = GNN_CUDA_PLUGIN_ABI;
const int cuda_host_stand_in = 1;
}
