/* SPDX-License-Identifier: MIT */
/* The launcher's second engine: nvcc's PTX of the same kernels, executed on the host (tests/support/ptx). It is chosen
 * by OOCGNN_CUDA_PTX, a directory with the .ptx files of the build. With OOCGNN_CUDA_PTX_LOG, a file, the mangled name
 * of each kernel that runs is appended to it once. OOCGNN_CUDA_PTX_SEED chooses the order of blocks and warps. */
#ifndef GNN_TESTS_CUDA_HOST_PTX_H
#define GNN_TESTS_CUDA_HOST_PTX_H

#include "tests/support/cuda_host.h"

extern "C" {
#include "tests/support/ptx/ptx.h"
}

/* Returns whether OOCGNN_CUDA_PTX is set. */
bool cuda_host_ptx_asked();

/* Runs the call's kernel. Returns the fault, or "" if there is none. Not for two threads at a time. */
std::string cuda_host_ptx_launch(const cuda_host_call &call, uint32_t blocks, uint32_t threads,
                                 const std::vector<ptx_range> &ranges);

/* Return the name of a kernel with its template arguments: from cuda_host_describe, and from its mangled name. */
std::string cuda_host_ptx_name(std::string_view description);
std::string cuda_host_ptx_demangled(const char *mangled);

#endif
