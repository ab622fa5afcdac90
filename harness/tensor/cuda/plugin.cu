/* SPDX-License-Identifier: MIT */
/* What the loader asks of liboocgnn-cuda.so beside the table (backend.cc): which build it is of. */
#include "harness/tensor/cuda/plugin.h"

extern "C" {
extern const int gnn_cuda_plugin_abi;
const int gnn_cuda_plugin_abi = GNN_CUDA_PLUGIN_ABI;
}
