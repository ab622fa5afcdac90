/* SPDX-License-Identifier: MIT */
/* The CUDA plugin, liboocgnn-cuda.so, loaded at run time so that one build serves machines with and without a GPU. The
 * first of these is used: the file that OOCGNN_CUDA_PLUGIN names, the file in the executable's folder, the file that
 * the loader finds. It is never unloaded. */
#ifndef GNN_TENSOR_CUDA_PLUGIN_H
#define GNN_TENSOR_CUDA_PLUGIN_H

#include "harness/tensor/tensor.h"

/* Finds the plugin's back-end, or returns GNN_ENOTSUP with the remedy if there is no plugin or it is from another
 * build. */
GNN_MUST_CHECK enum gnn_status gnn_cuda_plugin(const struct gnn_tensor_ops **out, struct gnn_err *err);

enum {
    GNN_CUDA_PLUGIN_ABI = 6
}; /* exported by the plugin as `gnn_cuda_plugin_abi`; changes with struct gnn_tensor_ops and what it takes */

#endif
