/* The device as the back-end sees it: memory, copies in streams, a stable sort, GEMM and launches. runtime.cu does it
 * with the CUDA runtime, cuBLAS and CUB; the test suite's launcher does it in host memory. The first failure of a
 * device call is kept and returned by gnn_device_check: ops return nothing.
 *
 * Threads  one thread computes; any thread copies in a lane of its own. */
#ifndef GNN_TENSOR_CUDA_RUNTIME_H
#define GNN_TENSOR_CUDA_RUNTIME_H

#include "harness/tensor/cuda/device.h"

struct gnn_device;

enum { GNN_DEVICE_LANES_MAX = 64 };

/* Opens device `number`. GNN_ENOTSUP without driver or device, with the remedy; GNN_EGPU. */
enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err);
void gnn_device_close(struct gnn_device *d); /* accepts NULL */
uint32_t gnn_device_multiprocessors(const struct gnn_device *d);

/* Memory of the device, aligned to 256 bytes. GNN_EGPU when it is full: name, bytes, what is free. */
enum gnn_status gnn_device_alloc(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                 struct gnn_err *err);
void gnn_device_free(struct gnn_device *d, void *ptr); /* accepts NULL; waits for what uses it */
/* Pinned memory of the host. GNN_ENOMEM. */
enum gnn_status gnn_device_alloc_pinned(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                        struct gnn_err *err);
void gnn_device_free_pinned(struct gnn_device *d, void *ptr);

/* In the compute stream. upload and download have landed when they return; the others are ordered before the next
 * launch. src of upload_ordered is pinned and stays untouched until the stream has passed it. */
void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes);
void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes);
void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes);
void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes);
void gnn_device_synchronize(struct gnn_device *d);

/* Copies beside the compute stream, in order within a lane. */
void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane);

/* keys_out, values_out = the pairs in ascending order of key, equal keys in their old order. scratch: device memory of
 * gnn_device_sort_bytes(count). keys are below 2^key_bits. */
uint64_t gnn_device_sort_bytes(uint32_t count);
void gnn_device_sort(struct gnn_device *d, void *scratch, uint64_t scratch_bytes, const uint32_t *keys,
                     uint32_t *keys_out, const uint32_t *values, uint32_t *values_out, uint32_t count,
                     uint32_t key_bits);

/* c = alpha op(a) op(b) + beta c, row-major; no dimension is 0. */
void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c);

/* GNN_OK, or the first failure since open. */
enum gnn_status gnn_device_check(const struct gnn_device *d, struct gnn_err *err);

/* ---- launches ---- */

/* Blocks for `threads` threads in all, enough to fill the device and no more: kernels loop. */
uint32_t gnn_device_blocks(const struct gnn_device *d, uint64_t threads);

#ifdef __CUDACC__
void gnn_device_launched(struct gnn_device *d, const char *kernel); /* keeps the launch's error */
cudaStream_t gnn_device_stream(struct gnn_device *d);
#define GNN_LAUNCH_BLOCKS(d, kernel, blocks, ...)                                                                      \
    do {                                                                                                               \
        (kernel)<<<(blocks), GNN_BLOCK_THREADS, 0, gnn_device_stream(d)>>>(__VA_ARGS__);                               \
        gnn_device_launched((d), #kernel);                                                                             \
    } while (0)
#else
#define GNN_LAUNCH_BLOCKS(d, kernel, blocks, ...)                                                                      \
    do {                                                                                                               \
        (void)(d);                                                                                                     \
        cuda_host_launch((blocks), GNN_BLOCK_THREADS, [&] { kernel(__VA_ARGS__); });                                   \
    } while (0)
#endif
/* A thread for each of `items`, or a warp. Nothing is launched for none. */
#define GNN_LAUNCH(d, kernel, items, ...)                                                                              \
    do {                                                                                                               \
        if ((items) > 0)                                                                                               \
            GNN_LAUNCH_BLOCKS(d, kernel, gnn_device_blocks(d, items), __VA_ARGS__);                                    \
    } while (0)
#define GNN_LAUNCH_WARPS(d, kernel, items, ...) GNN_LAUNCH(d, kernel, (uint64_t)(items)*GNN_WARP, __VA_ARGS__)

#endif
