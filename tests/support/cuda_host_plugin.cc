/* The launcher as a plugin: with OOCGNN_CUDA_PLUGIN naming it, the program and the tests of a GPU run whole on a machine
 * without one. It shows that they work, and nothing about a GPU. `cuda_host_stand_in` tells it from the real one. */
#include "harness/tensor/cuda/plugin.h"

extern "C" {
extern const int gnn_cuda_plugin_abi, cuda_host_stand_in;
const int gnn_cuda_plugin_abi = GNN_CUDA_PLUGIN_ABI;
const int cuda_host_stand_in = 1;
}
