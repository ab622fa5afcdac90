/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cuda/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char plugin_file[] = "liboocgnn-cuda.so";

/* The plugin's path beside the executable; false when the executable is not known. */
static bool beside_executable(char *path, size_t path_bytes)
{
    const ssize_t length = readlink("/proc/self/exe", path, path_bytes - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    char *const slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash + 1 - path) + sizeof plugin_file > path_bytes)
        return false;
    memcpy(slash + 1, plugin_file, sizeof plugin_file);
    return access(path, R_OK) == 0;
}

/* A plugin that is there, and does not load, lacks a library. */
static const char remedy_build[] = "run make where nvcc is installed",
                  remedy_library[] =
                      "add the folder of the library that is missing to LD_LIBRARY_PATH, see oocgnn doctor";

static void *open_plugin(char *why, size_t why_bytes, const char **remedy)
{
    char path[PATH_MAX];
    const char *const asked = getenv("OOCGNN_CUDA_PLUGIN");
    const char *const file = asked != NULL ? asked : beside_executable(path, sizeof path) ? path : plugin_file;
    void *const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        (void)snprintf(why, why_bytes, "%s", dlerror());
    *remedy = access(file, R_OK) == 0 ? remedy_library : remedy_build;
    return handle;
}

enum gnn_status gnn_cuda_plugin(const struct gnn_tensor_ops **out, struct gnn_err *err)
{
    char why[512];
    const char *remedy;
    void *const handle = open_plugin(why, sizeof why, &remedy);
    if (handle == NULL)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--compute cuda needs the plugin %s (%s): %s, or use --compute cpu or model:PROFILE",
                        plugin_file, why, remedy);
    const int *const abi = dlsym(handle, "gnn_cuda_plugin_abi");
    const struct gnn_tensor_ops *const ops = dlsym(handle, "gnn_tensor_cuda");
    if (abi == NULL || *abi != GNN_CUDA_PLUGIN_ABI || ops == NULL)
        return gnn_fail(err, GNN_ENOTSUP, "%s is of another build (version %d, expected %d): run make again",
                        plugin_file, abi == NULL ? 0 : *abi, GNN_CUDA_PLUGIN_ABI);
    *out = ops;
    return GNN_OK;
}
