/* The one translation unit of liboocgnn-cuda.so that holds kernels: the back-end over the CUDA runtime. */
#include "harness/tensor/cuda/backend.cc"

#include "harness/tensor/cuda/plugin.h"

extern "C" {
extern const int gnn_cuda_plugin_abi;
const int gnn_cuda_plugin_abi = GNN_CUDA_PLUGIN_ABI;
}
