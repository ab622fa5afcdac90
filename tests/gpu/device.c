/* SPDX-License-Identifier: MIT */
#include "tests/gpu/device.h"

#include "harness/tensor/cuda/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void name_plugin(char *path, size_t path_bytes)
{
    const char *const asked = getenv("OOCGNN_CUDA_PLUGIN"), *const program = getenv("OOCGNN");
    const char *const slash = program != NULL ? strrchr(program, '/') : NULL;
    if (asked != NULL)
        (void)snprintf(path, path_bytes, "%s", asked);
    else
        (void)snprintf(path, path_bytes, "%.*sliboocgnn-cuda.so", slash != NULL ? (int)(slash + 1 - program) : 0,
                       slash != NULL ? program : "");
    (void)setenv("OOCGNN_CUDA_PLUGIN", path, 1);
}

/* Staging of the back-end; nothing counts it here. */
static enum gnn_status host_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    (void)ctx;
    *out = aligned_alloc(4096, gnn_round_up(bytes, 4096));
    return *out != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "%s", name);
}

static void host_free(void *ctx, void *ptr)
{
    (void)ctx;
    free(ptr);
}

static const struct gnn_tensor_env host = {.threads = 1, .graphs = true, .alloc = host_alloc, .free = host_free};

bool gpu_device_look(struct gpu_device *out, char *why, size_t why_bytes)
{
    char path[1024];
    struct gnn_err err = {0};
    struct gnn_tensor *tensor = NULL;
    *out = (struct gpu_device){.table = NULL};
    name_plugin(path, sizeof path);
    enum gnn_status status = gnn_cuda_plugin(&out->table, &err);
    if (status == GNN_OK)
        status = out->table->open(&host, NULL, &tensor, &err);
    if (status != GNN_OK) {
        (void)snprintf(why, why_bytes, "%s", err.message);
        return false;
    }
    out->table->close(tensor);
    void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    out->stand_in = dlsym(plugin, "cuda_host_stand_in") != NULL;
    void *const count = dlsym(plugin, "gnn_cuda_allocations");
    memcpy(&out->allocations, &count, sizeof count);
    return true;
}

bool gpu_device_find(struct gpu_device *out)
{
    char why[sizeof((struct gnn_err *)0)->message];
    const bool there = gpu_device_look(out, why, sizeof why);
    if (!there)
        (void)printf("skip: %s\n", why);
    return there;
}

struct gnn_tensor *gpu_device_open(const struct gpu_device *gpu)
{
    return gpu_device_open_as(gpu, host.graphs);
}

struct gnn_tensor *gpu_device_open_as(const struct gpu_device *gpu, bool graphs)
{
    struct gnn_tensor *t = NULL;
    struct gnn_err err = {0};
    struct gnn_tensor_env env = host;
    env.graphs = graphs;
    if (gpu->table->open(&env, NULL, &t, &err) != GNN_OK) {
        (void)fprintf(stderr, "device 0: %s\n", err.message);
        exit(1);
    }
    return t;
}
