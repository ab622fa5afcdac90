/* runtime.h on CUDA: one compute stream, a stream a lane, cuBLAS for GEMM, CUB for the stable sort. */
#include "harness/tensor/cuda/runtime.h"

#include <cub/device/device_radix_sort.cuh>
#include <cublas_v2.h>

#include <atomic>
#include <mutex>

struct gnn_device {
    int number;
    cudaDeviceProp properties;
    cudaStream_t compute;
    cudaStream_t lanes[GNN_DEVICE_LANES_MAX]; /* NULL: not used yet */
    cublasHandle_t blas;
    cublasComputeType_t product;
    std::mutex mutex; /* of err: lanes are other threads' */
    struct gnn_err err;
};

/* ---- errors ---- */

/* Keeps the first failure. */
static void keep(struct gnn_device *d, enum gnn_status status, const char *what, const char *why)
{
    const std::lock_guard<std::mutex> held(d->mutex);
    if (d->err.status == GNN_OK)
        (void)gnn_fail(&d->err, status, "CUDA device %d: %s: %s", d->number, what, why);
}

static enum gnn_status status_of(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? GNN_EGPU : GNN_EIO;
}

static void watch(struct gnn_device *d, cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        keep(d, status_of(error), what, cudaGetErrorString(error));
}

void gnn_device_launched(struct gnn_device *d, const char *kernel)
{
    watch(d, cudaGetLastError(), kernel);
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
                        "--compute cuda: this build needs a driver for CUDA %d.%d or later; install one",
                        CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (error != cudaSuccess || count == 0)
        return gnn_fail(err, GNN_ENOTSUP,
                        "--compute cuda: no CUDA device here (%s); say --compute cpu or model:PROFILE",
                        error != cudaSuccess ? cudaGetErrorString(error) : "the driver lists none");
    if (number >= (uint32_t)count)
        return gnn_fail(err, GNN_ENOTSUP, "--compute cuda:%u: there are devices 0 to %d", number, count - 1);
    return GNN_OK;
}

static cublasComputeType_t product_of(enum gnn_precision precision)
{
    return precision == GNN_PRECISION_TF32   ? CUBLAS_COMPUTE_32F_FAST_TF32
           : precision == GNN_PRECISION_BF16 ? CUBLAS_COMPUTE_32F_FAST_16BF
                                             : CUBLAS_COMPUTE_32F;
}

static enum gnn_status fill_device(struct gnn_device *d, struct gnn_err *err)
{
    cudaError_t error = cudaSetDevice(d->number);
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&d->properties, d->number);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&d->compute, cudaStreamNonBlocking);
    if (error != cudaSuccess)
        return gnn_fail(err, GNN_ENOTSUP, "CUDA device %d cannot be opened: %s", d->number, cudaGetErrorString(error));
    cublasStatus_t blas = cublasCreate(&d->blas);
    if (blas == CUBLAS_STATUS_SUCCESS)
        blas = cublasSetStream(d->blas, d->compute);
    if (blas != CUBLAS_STATUS_SUCCESS)
        return gnn_fail(err, GNN_ENOTSUP, "CUDA device %d: cuBLAS: %s", d->number, cublasGetStatusString(blas));
    return GNN_OK;
}

enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err)
{
    GNN_TRY(find_device(number, err));
    struct gnn_device *d = new (std::nothrow) gnn_device();
    if (d == NULL)
        return gnn_fail(err, GNN_ENOMEM, "CUDA device");
    d->number = (int)number;
    d->product = product_of(precision);
    const enum gnn_status status = fill_device(d, err);
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
    for (cudaStream_t lane : d->lanes)
        if (lane != NULL)
            (void)cudaStreamDestroy(lane);
    if (d->blas != NULL)
        (void)cublasDestroy(d->blas);
    if (d->compute != NULL)
        (void)cudaStreamDestroy(d->compute);
    delete d;
}

uint32_t gnn_device_multiprocessors(const struct gnn_device *d)
{
    return (uint32_t)d->properties.multiProcessorCount;
}

cudaStream_t gnn_device_stream(struct gnn_device *d)
{
    return d->compute;
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
    watch(d, cudaSetDevice(d->number), "choice of the device"); /* it belongs to the calling thread */
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
        watch(d, cudaFree(ptr), "free");
}

enum gnn_status gnn_device_alloc_pinned(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                        struct gnn_err *err)
{
    (void)d;
    const cudaError_t error = cudaHostAlloc(out, bytes, cudaHostAllocDefault);
    if (error == cudaSuccess)
        return GNN_OK;
    (void)cudaGetLastError();
    return gnn_fail(err, GNN_ENOMEM, "%s (%llu bytes pinned): %s", name, (unsigned long long)bytes,
                    cudaGetErrorString(error));
}

void gnn_device_free_pinned(struct gnn_device *d, void *ptr)
{
    if (ptr != NULL)
        watch(d, cudaFreeHost(ptr), "free of pinned memory");
}

/* ---- copies ---- */

static void copy(struct gnn_device *d, cudaStream_t stream, void *dst, const void *src, uint64_t bytes,
                 cudaMemcpyKind kind, const char *what)
{
    watch(d, cudaSetDevice(d->number), "choice of the device");
    watch(d, cudaMemcpyAsync(dst, src, bytes, kind, stream), what);
}

void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes)
{
    copy(d, d->compute, dst, host_src, bytes, cudaMemcpyHostToDevice, "upload");
    watch(d, cudaStreamSynchronize(d->compute), "upload");
}

void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes)
{
    copy(d, d->compute, dst, pinned_src, bytes, cudaMemcpyHostToDevice, "upload of staged arrays");
}

void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes)
{
    copy(d, d->compute, host_dst, src, bytes, cudaMemcpyDeviceToHost, "download");
    watch(d, cudaStreamSynchronize(d->compute), "download");
}

void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes)
{
    copy(d, d->compute, dst, src, bytes, cudaMemcpyDeviceToDevice, "copy on the device");
}

void gnn_device_synchronize(struct gnn_device *d)
{
    watch(d, cudaStreamSynchronize(d->compute), "kernels of a step");
}

/* A lane's stream is made by the thread that uses the lane. */
static cudaStream_t lane_stream(struct gnn_device *d, uint32_t lane)
{
    assert(lane < GNN_DEVICE_LANES_MAX);
    if (d->lanes[lane] == NULL) {
        watch(d, cudaSetDevice(d->number), "choice of the device");
        watch(d, cudaStreamCreateWithFlags(&d->lanes[lane], cudaStreamNonBlocking), "a lane's stream");
    }
    return d->lanes[lane];
}

void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    copy(d, lane_stream(d, lane), dst, host_src, bytes, cudaMemcpyHostToDevice, "upload in a lane");
}

void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane)
{
    watch(d, cudaStreamSynchronize(lane_stream(d, lane)), "uploads of a lane");
}

/* ---- libraries ---- */

uint64_t gnn_device_sort_bytes(uint32_t count)
{
    size_t bytes = 0;
    (void)cub::DeviceRadixSort::SortPairs(NULL, bytes, (const uint32_t *)NULL, (uint32_t *)NULL, (const uint32_t *)NULL,
                                          (uint32_t *)NULL, (int)count);
    return gnn_max_u64(bytes, 1);
}

void gnn_device_sort(struct gnn_device *d, void *scratch, uint64_t scratch_bytes, const uint32_t *keys,
                     uint32_t *keys_out, const uint32_t *values, uint32_t *values_out, uint32_t count,
                     uint32_t key_bits)
{
    assert(count <= INT32_MAX);
    size_t bytes = scratch_bytes;
    watch(d,
          cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, keys_out, values, values_out, (int)count, 0,
                                          (int)key_bits, d->compute),
          "sort of a block");
}

/* Row-major c = op(a) op(b) is column-major c' = op(b)' op(a)': the operands change places. */
void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c)
{
    const uint32_t inner = trans_a ? a.rows : a.cols;
    assert(inner > 0);
    const cublasStatus_t status =
        cublasGemmEx(d->blas, trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)c.cols,
                     (int)c.rows, (int)inner, &alpha, b.data, CUDA_R_32F, (int)b.cols, a.data, CUDA_R_32F, (int)a.cols,
                     &beta, c.data, CUDA_R_32F, (int)c.cols, d->product, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        keep(d, GNN_EIO, "GEMM", cublasGetStatusString(status));
}
