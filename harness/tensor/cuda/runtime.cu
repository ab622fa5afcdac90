/* SPDX-License-Identifier: MIT */
/* runtime.h on CUDA: the device, its memory, one compute stream and a stream a lane. */
#include "harness/tensor/cuda/device_state.h"

#include <stdio.h>

/* ---- errors ---- */

void gnn_device_keep(struct gnn_device *d, enum gnn_status status, const char *what, const char *why)
{
    if (gnn_device_records(d)) {
        d->record_failed = true;
        return;
    }
    const std::lock_guard<std::mutex> held(d->mutex);
    if (d->err.status == GNN_OK)
        (void)gnn_fail(&d->err, status, "CUDA device %d: %s: %s", d->number, what, why);
}

static enum gnn_status status_of(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? GNN_EGPU : GNN_EIO;
}

void gnn_device_watch(struct gnn_device *d, cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        gnn_device_keep(d, status_of(error), what, cudaGetErrorString(error));
}

void gnn_device_launching(struct gnn_device *d, uint32_t lane)
{
    if (lane == GNN_LANE_STREAM)
        gnn_device_work_begin(d);
}

void gnn_device_launched(struct gnn_device *d, const char *kernel)
{
    d->launches.fetch_add(1, std::memory_order_relaxed);
    gnn_device_watch(d, cudaGetLastError(), kernel);
}

enum gnn_status gnn_device_check(const struct gnn_device *d, struct gnn_err *err)
{
    struct gnn_device *device = const_cast<struct gnn_device *>(d);
    const std::lock_guard<std::mutex> held(device->mutex);
    return d->err.status == GNN_OK ? GNN_OK : gnn_fail(err, d->err.status, "%s", d->err.message);
}

/* ---- open, close ---- */

static enum gnn_status find_device(uint32_t number, struct gnn_err *err)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--compute cuda: this build needs a driver for CUDA %d.%d or later; install one, or build with "
                        "the nvcc of the driver's CUDA version (12.0 or later)",
                        CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (error != cudaSuccess || count == 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--compute cuda: no CUDA device here (%s); say --compute cpu or model:PROFILE",
                        error != cudaSuccess ? cudaGetErrorString(error) : "the driver lists none");
    if (number >= (uint32_t)count)
        return gnn_fail(err, GNN_ENOTSUP, "--compute cuda:%u: there are devices 0 to %d", number, count - 1);
    return GNN_OK;
}

/* Compiled for the same devices as all kernels of the plugin. */
__global__ void gnn_cuda_any_kernel()
{
}

/* Returns GNN_ENOTSUP with the remedy if the plugin has no code for this device. */
static enum gnn_status check_code(const struct gnn_device *d, struct gnn_err *err)
{
    cudaFuncAttributes attributes = {};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, gnn_cuda_any_kernel);
    if (error == cudaSuccess)
        return GNN_OK;
    (void)cudaGetLastError(); /* not sticky: it must not be taken for the next launch's */
    const int major = d->properties.major, minor = d->properties.minor;
    return gnn_fail(err, GNN_ENOTSUP,
                    "--compute cuda: the plugin has no code for device %d (%s, compute capability %d.%d): %s. Run make "
                    "CUDA_ARCHS=%d%d, or use --compute cpu",
                    d->number, d->properties.name, major, minor, cudaGetErrorString(error), major, minor);
}

/* Makes a device the calling thread's. CUDA is called once a thread, unless the thread changes devices. */
static cudaError_t choose(int number)
{
    static thread_local int chosen = -1;
    if (chosen == number)
        return cudaSuccess;
    const cudaError_t error = cudaSetDevice(number);
    chosen = error == cudaSuccess ? number : -1;
    return error;
}

static enum gnn_status fill_device(struct gnn_device *d, struct gnn_err *err)
{
    cudaError_t error = choose(d->number);
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&d->properties, d->number);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&d->compute, cudaStreamNonBlocking);
    if (error != cudaSuccess)
        return gnn_fail(err, GNN_ENOTSUP, "CUDA device %d cannot be opened: %s", d->number, cudaGetErrorString(error));
    return check_code(d, err);
}

enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err)
{
    GNN_TRY(find_device(number, err));
    struct gnn_device *d = new (std::nothrow) gnn_device();
    if (d == NULL)
        return gnn_fail(err, GNN_ENOMEM, "CUDA device");
    d->number = (int)number;
    enum gnn_status status = fill_device(d, err);
    if (status == GNN_OK)
        status = gnn_device_products_open(d, precision, err);
    size_t free_bytes = 0, all_bytes = 0;
    gnn_device_watch(d, cudaMemGetInfo(&free_bytes, &all_bytes), "free memory");
    d->free_bytes = free_bytes;
    if (status == GNN_OK)
        *out = d;
    else
        gnn_device_close(d);
    return status;
}

void gnn_device_close(struct gnn_device *d)
{
    if (d == NULL)
        return;
    gnn_device_timeline_close(d);
    for (const struct gnn_lane_state &lane : d->lanes)
        if (lane.stream != NULL)
            (void)cudaStreamDestroy(lane.stream);
    gnn_device_products_close(d);
    if (d->compute != NULL)
        (void)cudaStreamDestroy(d->compute);
    delete d;
}

uint32_t gnn_device_multiprocessors(const struct gnn_device *d)
{
    return (uint32_t)d->properties.multiProcessorCount;
}

uint64_t gnn_device_memory_bytes(const struct gnn_device *d)
{
    return d->free_bytes;
}

/* NVML's form of a UUID: 8, 4, 4, 4 and 12 digits. */
static void print_uuid(const cudaUUID_t *uuid, char *out, size_t out_bytes)
{
    size_t at = (size_t)snprintf(out, out_bytes, "GPU");
    for (uint32_t i = 0; i < sizeof uuid->bytes; i++)
        at += (size_t)snprintf(out + at, out_bytes - at, "%s%02x",
                               i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               (unsigned)(unsigned char)uuid->bytes[i]);
}

void gnn_device_identify(const struct gnn_device *d, struct gnn_gpu_identity *out)
{
    *out = {};
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, d->properties.name);
    print_uuid(&d->properties.uuid, out->uuid, sizeof out->uuid);
    if (cudaDeviceGetPCIBusId(out->bus_id, sizeof out->bus_id, d->number) != cudaSuccess)
        (void)cudaGetLastError();
    out->capability_major = (uint32_t)d->properties.major;
    out->capability_minor = (uint32_t)d->properties.minor;
    out->multiprocessors = (uint32_t)d->properties.multiProcessorCount;
}

uint32_t gnn_device_blocks(const struct gnn_device *d, uint64_t threads)
{
    enum { BLOCKS_PER_MULTIPROCESSOR = 16 };
    const uint64_t wanted = gnn_div_up(threads, GNN_BLOCK_THREADS);
    return (uint32_t)gnn_min_u64(wanted, (uint64_t)d->properties.multiProcessorCount * BLOCKS_PER_MULTIPROCESSOR);
}

/* ---- memory ---- */

enum gnn_status gnn_device_alloc(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                 struct gnn_err *err)
{
    gnn_device_choose(d);
    const cudaError_t error = cudaMalloc(out, bytes);
    if (error == cudaSuccess)
        return GNN_OK;
    (void)cudaGetLastError(); /* not sticky: it must not be taken for the next launch's */
    size_t free_bytes = 0, all_bytes = 0;
    (void)cudaMemGetInfo(&free_bytes, &all_bytes);
    return gnn_fail(err, status_of(error), "%s: %llu bytes on CUDA device %d, of whose %llu %llu are free: %s", name,
                    (unsigned long long)bytes, d->number, (unsigned long long)all_bytes, (unsigned long long)free_bytes,
                    cudaGetErrorString(error));
}

void gnn_device_free(struct gnn_device *d, void *ptr)
{
    if (ptr != NULL)
        gnn_device_watch(d, cudaFree(ptr), "free");
}

/* CUDA's registration is not bound by `ulimit -l`. */
static const char *pin_remedy(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return "raise the memory limit (--memory), or lower --batch, --fanout or the system's staging";
    case cudaErrorHostMemoryAlreadyRegistered:
        return "the address is registered already, which is a bug; report it with the command";
    case cudaErrorNotSupported:
        return "this machine does not let processes register memory; use --compute cpu";
    default:
        return "lower --batch, --fanout or the system's staging";
    }
}

enum gnn_status gnn_device_pin(struct gnn_device *d, const char *name, void *host, uint64_t bytes, struct gnn_err *err)
{
    gnn_device_choose(d);
    const cudaError_t error = cudaHostRegister(host, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return gnn_fail(err, GNN_ENOMEM, "%s: %llu bytes cannot be pinned (%s): %s", name, (unsigned long long)bytes,
                        cudaGetErrorString(error), pin_remedy(error));
    }
    void *there = NULL;
    if (cudaHostGetDevicePointer(&there, host, 0) == cudaSuccess && there == host)
        return GNN_OK;
    (void)cudaGetLastError();
    (void)cudaHostUnregister(host);
    return gnn_fail(err, GNN_ENOTSUP, "%s: CUDA device %d does not read the host's memory at its own addresses", name,
                    d->number);
}

void gnn_device_unpin(struct gnn_device *d, void *host)
{
    if (host != NULL)
        gnn_device_watch(d, cudaHostUnregister(host), "unregistering of pinned memory");
}

/* ---- copies ---- */

/* Gives a copy to a lane or to the compute stream, with its time. */
static void copy(struct gnn_device *d, uint32_t lane, void *dst, const void *src, uint64_t bytes, cudaMemcpyKind kind,
                 const char *what)
{
    gnn_device_choose(d);
    const cudaStream_t stream = gnn_device_stream(d, lane);
    gnn_device_copy_begin(d, lane);
    gnn_device_watch(d, cudaMemcpyAsync(dst, src, bytes, kind, stream), what);
    gnn_device_copy_end(d, lane);
}

void gnn_device_count_upload(struct gnn_device *d, uint64_t bytes)
{
    d->uploaded_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes)
{
    gnn_device_upload_ordered(d, dst, host_src, bytes);
    gnn_device_watch(d, cudaStreamSynchronize(d->compute), "upload");
}

void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes)
{
    gnn_device_count_upload(d, bytes);
    copy(d, GNN_LANE_STREAM, dst, pinned_src, bytes, cudaMemcpyHostToDevice, "upload");
}

void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes)
{
    gnn_device_download_ordered(d, host_dst, src, bytes);
    gnn_device_watch(d, cudaStreamSynchronize(d->compute), "download");
}

void gnn_device_download_ordered(struct gnn_device *d, void *pinned_dst, const void *src, uint64_t bytes)
{
    d->downloaded_bytes.fetch_add(bytes, std::memory_order_relaxed);
    copy(d, GNN_LANE_STREAM, pinned_dst, src, bytes, cudaMemcpyDeviceToHost, "download");
}

void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes)
{
    gnn_device_choose(d);
    gnn_device_work_begin(d);
    gnn_device_watch(d, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, d->compute), "copy on the device");
}

void gnn_device_synchronize(struct gnn_device *d)
{
    gnn_device_spans_end(d);
    gnn_device_watch(d, cudaStreamSynchronize(d->compute), "kernels of a step");
}

bool gnn_device_passed(struct gnn_device *d)
{
    const cudaError_t error = cudaStreamQuery(d->compute);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* not sticky: it must not be taken for the next launch's */
        return false;
    }
    gnn_device_watch(d, error, "kernels of a step");
    return true;
}

void gnn_device_choose(struct gnn_device *d)
{
    gnn_device_watch(d, choose(d->number), "choice of the device");
}

void *gnn_device_stream_of(struct gnn_device *d)
{
    gnn_device_choose(d);
    return d->compute;
}

/* ---- lanes ---- */

/* A lane's stream is made by the thread that uses the lane. */
cudaStream_t gnn_device_stream(struct gnn_device *d, uint32_t lane)
{
    gnn_device_choose(d); /* also for the stream: an op may be a thread's first call */
    if (lane == GNN_LANE_STREAM)
        return d->compute;
    assert(lane < GNN_LANES_MAX);
    struct gnn_lane_state *own = &d->lanes[lane];
    if (own->stream == NULL)
        gnn_device_watch(d, cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking), "a lane's stream");
    return own->stream;
}

void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    gnn_device_count_upload(d, bytes);
    copy(d, lane, dst, host_src, bytes, cudaMemcpyHostToDevice, "upload in a lane");
}

void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane)
{
    assert(lane < GNN_LANES_MAX);
    if (d->lanes[lane].stream != NULL) /* something was given to it */
        gnn_device_watch(d, cudaStreamSynchronize(d->lanes[lane].stream), "uploads of a lane");
}
