/* NVML's calls as its API reference documents them; the header is not packaged everywhere, eight symbols are enough. */
#include "harness/measure/gpu.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_OK = 0, NVML_TEXT_BYTES = 96 };

struct utilization {
    unsigned gpu, memory; /* per cent of the driver's last sampling window */
};

struct memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*device_by_index)(unsigned index, void **device);
    int (*device_utilization)(void *device, struct utilization *out);
    int (*device_memory)(void *device, struct memory *out);
    int (*device_name)(void *device, char *text, unsigned bytes);
    int (*driver_version)(char *text, unsigned bytes);
};

struct gnn_gpu {
    void *library;
    struct nvml nvml;
    bool started;
    void *device;
    char name[NVML_TEXT_BYTES];
    char driver[NVML_TEXT_BYTES];
};

/* ISO C has no cast from data to function pointers; POSIX says the bytes are the same. */
static bool load(void *library, const char *symbol, void *slot)
{
    _Static_assert(sizeof(void *) == sizeof(int (*)(void)), "POSIX: dlsym returns either in one type");
    void *address = dlsym(library, symbol);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

static bool load_all(struct gnn_gpu *gpu)
{
    struct nvml *nvml = &gpu->nvml;
    return load(gpu->library, "nvmlInit_v2", &nvml->init) && load(gpu->library, "nvmlShutdown", &nvml->shutdown) &&
           load(gpu->library, "nvmlDeviceGetHandleByIndex_v2", &nvml->device_by_index) &&
           load(gpu->library, "nvmlDeviceGetUtilizationRates", &nvml->device_utilization) &&
           load(gpu->library, "nvmlDeviceGetMemoryInfo", &nvml->device_memory) &&
           load(gpu->library, "nvmlDeviceGetName", &nvml->device_name) &&
           load(gpu->library, "nvmlSystemGetDriverVersion", &nvml->driver_version);
}

static bool start(struct gnn_gpu *gpu, const char *library)
{
    gpu->library = dlopen(library == NULL ? "libnvidia-ml.so.1" : library, RTLD_NOW | RTLD_LOCAL);
    if (gpu->library == NULL || !load_all(gpu))
        return false;
    gpu->started = gpu->nvml.init() == NVML_OK;
    if (!gpu->started || gpu->nvml.device_by_index(0, &gpu->device) != NVML_OK)
        return false;
    if (gpu->nvml.device_name(gpu->device, gpu->name, sizeof gpu->name) != NVML_OK)
        gpu->name[0] = '\0';
    if (gpu->nvml.driver_version(gpu->driver, sizeof gpu->driver) != NVML_OK)
        gpu->driver[0] = '\0';
    return true;
}

struct gnn_gpu *gnn_gpu_open(const char *library)
{
    struct gnn_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu != NULL && !start(gpu, library)) {
        gnn_gpu_close(gpu);
        gpu = NULL;
    }
    return gpu;
}

void gnn_gpu_read(const struct gnn_gpu *gpu, double *busy_pct, uint64_t *memory_bytes)
{
    assert(gpu->started);
    struct utilization utilization;
    struct memory memory;
    *busy_pct = gpu->nvml.device_utilization(gpu->device, &utilization) == NVML_OK ? utilization.gpu : (double)NAN;
    *memory_bytes = gpu->nvml.device_memory(gpu->device, &memory) == NVML_OK ? memory.used : GNN_UNKNOWN;
}

const char *gnn_gpu_name(const struct gnn_gpu *gpu)
{
    return gpu->name;
}

const char *gnn_gpu_driver(const struct gnn_gpu *gpu)
{
    return gpu->driver;
}

uint64_t gnn_gpu_total_bytes(const struct gnn_gpu *gpu)
{
    struct memory memory;
    return gpu->nvml.device_memory(gpu->device, &memory) == NVML_OK ? memory.total : GNN_UNKNOWN;
}

void gnn_gpu_close(struct gnn_gpu *gpu)
{
    if (gpu == NULL)
        return;
    if (gpu->started)
        (void)gpu->nvml.shutdown();
    if (gpu->library != NULL)
        (void)dlclose(gpu->library);
    free(gpu);
}
