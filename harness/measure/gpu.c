/* SPDX-License-Identifier: MIT */
/* NVML's calls as its API reference documents them; the header is not packaged everywhere, ten symbols are enough. */
#include "harness/measure/gpu.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_OK = 0, NVML_TEXT_BYTES = 96, NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };

static const double kilobyte = 1024; /* of NVML's KB/s */

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
    int (*device_by_bus_id)(const char *bus_id, void **device);
    int (*device_utilization)(void *device, struct utilization *out);
    int (*device_memory)(void *device, struct memory *out);
    int (*device_name)(void *device, char *text, unsigned bytes);
    int (*driver_version)(char *text, unsigned bytes);
    /* Not in every driver: NULL. */
    int (*device_power)(void *device, unsigned *milliwatts);
    int (*device_pcie)(void *device, int counter, unsigned *kilobytes_per_s);
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
           load(gpu->library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->device_by_bus_id) &&
           load(gpu->library, "nvmlDeviceGetUtilizationRates", &nvml->device_utilization) &&
           load(gpu->library, "nvmlDeviceGetMemoryInfo", &nvml->device_memory) &&
           load(gpu->library, "nvmlDeviceGetName", &nvml->device_name) &&
           load(gpu->library, "nvmlSystemGetDriverVersion", &nvml->driver_version);
}

static bool find_device(struct gnn_gpu *gpu, const char *bus_id)
{
    const int found =
        bus_id != NULL ? gpu->nvml.device_by_bus_id(bus_id, &gpu->device) : gpu->nvml.device_by_index(0, &gpu->device);
    return found == NVML_OK;
}

static bool start(struct gnn_gpu *gpu, const char *library, const char *bus_id)
{
    gpu->library = dlopen(library == NULL ? "libnvidia-ml.so.1" : library, RTLD_NOW | RTLD_LOCAL);
    if (gpu->library == NULL || !load_all(gpu))
        return false;
    (void)load(gpu->library, "nvmlDeviceGetPowerUsage", &gpu->nvml.device_power);
    (void)load(gpu->library, "nvmlDeviceGetPcieThroughput", &gpu->nvml.device_pcie);
    gpu->started = gpu->nvml.init() == NVML_OK;
    if (!gpu->started || !find_device(gpu, bus_id))
        return false;
    if (gpu->nvml.device_name(gpu->device, gpu->name, sizeof gpu->name) != NVML_OK)
        gpu->name[0] = '\0';
    if (gpu->nvml.driver_version(gpu->driver, sizeof gpu->driver) != NVML_OK)
        gpu->driver[0] = '\0';
    return true;
}

struct gnn_gpu *gnn_gpu_open(const char *library, const char *bus_id)
{
    struct gnn_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu != NULL && !start(gpu, library, bus_id)) {
        gnn_gpu_close(gpu);
        gpu = NULL;
    }
    return gpu;
}

static double pcie_bytes_per_s(const struct gnn_gpu *gpu, int counter)
{
    unsigned kilobytes;
    const bool told =
        gpu->nvml.device_pcie != NULL && gpu->nvml.device_pcie(gpu->device, counter, &kilobytes) == NVML_OK;
    return told ? kilobytes * kilobyte : (double)NAN;
}

void gnn_gpu_read(const struct gnn_gpu *gpu, struct gnn_host_reading *out)
{
    assert(gpu->started);
    const struct nvml *const nvml = &gpu->nvml;
    struct utilization utilization;
    struct memory memory;
    unsigned milliwatts;
    const bool power = nvml->device_power != NULL && nvml->device_power(gpu->device, &milliwatts) == NVML_OK;
    out->gpu_busy_pct = nvml->device_utilization(gpu->device, &utilization) == NVML_OK ? utilization.gpu : (double)NAN;
    out->gpu_memory_bytes = nvml->device_memory(gpu->device, &memory) == NVML_OK ? memory.used : GNN_UNKNOWN;
    out->gpu_power_w = power ? milliwatts * 1e-3 : (double)NAN;
    out->gpu_rx_bytes_per_s = pcie_bytes_per_s(gpu, NVML_PCIE_RX);
    out->gpu_tx_bytes_per_s = pcie_bytes_per_s(gpu, NVML_PCIE_TX);
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
