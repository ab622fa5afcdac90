/* SPDX-License-Identifier: MIT */
/* The CUDA plugin, liboocgnn-cuda.so: found and loaded at run time, so that one build serves machines with and without
 * a GPU. It is the file that OOCGNN_CUDA_PLUGIN names, else the one beside the executable, else the loader's. It stays
 * loaded. */
#ifndef GNN_TENSOR_CUDA_PLUGIN_H
#define GNN_TENSOR_CUDA_PLUGIN_H

#include "harness/tensor/tensor.h"

/* The plugin's back-end. GNN_ENOTSUP when there is no plugin or it is another build's, with the remedy. */
GNN_MUST_CHECK enum gnn_status gnn_cuda_plugin(const struct gnn_tensor_ops **out, struct gnn_err *err);

enum {
    GNN_CUDA_PLUGIN_ABI = 4
}; /* exported by the plugin as `gnn_cuda_plugin_abi`; changes with struct gnn_tensor_ops and what it takes */

#endif
