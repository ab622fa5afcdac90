/* SPDX-License-Identifier: MIT */
/* The device as the back-end sees it: memory, copies in streams, events, captured steps, a stable sort, GEMM and
 * launches. runtime.cu, timeline.cu and products.cu do it with the CUDA runtime, CUB and cuBLAS; the test suite's
 * launcher does it in host memory. The first failure of a device call is kept and returned by gnn_device_check: ops
 * return nothing.
 *
 * Threads  one thread computes; any thread copies in a lane of its own. Memory, events and registration: any. */
#ifndef GNN_TENSOR_CUDA_RUNTIME_H
#define GNN_TENSOR_CUDA_RUNTIME_H

#include "harness/tensor/cuda/device.h"

struct gnn_device;

/* Opens device `number`. GNN_ENOTSUP without driver or device, with the remedy; GNN_EGPU. */
enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err);
void gnn_device_close(struct gnn_device *d); /* accepts NULL */
uint32_t gnn_device_multiprocessors(const struct gnn_device *d);
uint64_t gnn_device_memory_bytes(const struct gnn_device *d);

/* Memory of the device, aligned to 256 bytes. GNN_EGPU when it is full: name, bytes, what is free. */
enum gnn_status gnn_device_alloc(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                 struct gnn_err *err);
void gnn_device_free(struct gnn_device *d, void *ptr); /* accepts NULL; waits for what uses it */
/* Registers memory of the host, which the device then reads at the same address. GNN_ENOMEM, GNN_ENOTSUP. */
enum gnn_status gnn_device_pin(struct gnn_device *d, const char *name, void *host, uint64_t bytes, struct gnn_err *err);
void gnn_device_unpin(struct gnn_device *d, void *host); /* accepts NULL */

/* In the compute stream. upload and download have landed when they return; the others are ordered before the next
 * launch. src of upload_ordered is pinned and stays untouched until the stream has passed it. */
void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes);
void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes);
void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes);
/* Into pinned memory, which holds it after the next synchronize. */
void gnn_device_download_ordered(struct gnn_device *d, void *pinned_dst, const void *src, uint64_t bytes);
void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes);
void gnn_device_synchronize(struct gnn_device *d);
/* Whether the stream has done everything given to it. */
bool gnn_device_passed(struct gnn_device *d);
/* The compute stream as other libraries take it; the device is the calling thread's from here on (choose). */
void *gnn_device_stream_of(struct gnn_device *d);
void gnn_device_choose(struct gnn_device *d);

/* Copies beside the compute stream, in order within a lane. */
void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
/* A kernel in a lane or in the stream reads so much across the bus. */
void gnn_device_count_upload(struct gnn_device *d, uint64_t bytes);
void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane);

/* ---- timeline.cu ---- */

/* Events of tensor.h; lane GNN_LANE_STREAM is the compute stream. */
enum gnn_status gnn_device_event_open(struct gnn_device *d, struct gnn_event **out, struct gnn_err *err);
void gnn_device_event_close(struct gnn_device *d, struct gnn_event *event);
void gnn_device_event_record(struct gnn_device *d, struct gnn_event *event, uint32_t lane);
void gnn_device_event_await(struct gnn_device *d, struct gnn_event *event, uint32_t lane);
void gnn_device_event_wait(struct gnn_device *d, struct gnn_event *event);

/* From here on launches, ordered copies and sorts of the compute stream are recorded and run when they are launched
 * together. false: this device does not record; they run as they come. Nothing that waits for the stream and no
 * allocation may be called meanwhile by this thread. */
bool gnn_device_capture(struct gnn_device *d);
/* Ends the recording; false: it failed, which is kept, and there is nothing to launch. */
bool gnn_device_end_capture(struct gnn_device *d);
/* Graphs that were built are kept, a few of them. update: gives graph `slot` the figures of what was recorded; false
 * when it has another shape, or there is none. build: builds it from what was recorded, in place of what was there.
 * launch: launches it, and what was recorded is forgotten. */
enum { GNN_STEP_GRAPHS = 4 };
bool gnn_device_graph_update(struct gnn_device *d, uint32_t slot);
void gnn_device_graph_build(struct gnn_device *d, uint32_t slot);
void gnn_device_graph_launch(struct gnn_device *d, uint32_t slot);

/* Around a copy, or a kernel that reads the host's memory, in a lane or in GNN_LANE_STREAM: copy_ns. What is recorded
 * for a step is left out. The copies above are timed by themselves. */
void gnn_device_copy_begin(struct gnn_device *d, uint32_t lane);
void gnn_device_copy_end(struct gnn_device *d, uint32_t lane);
/* The stream is busy from here to the next synchronize: kernel_ns. */
void gnn_device_busy_begin(struct gnn_device *d);
/* kernel_ns, copy_ns, launches and the bytes, since the last call. */
void gnn_device_take_times(struct gnn_device *d, struct gnn_device_times *out);
/* An NVTX range of the calling thread; NULL closes the innermost. */
void gnn_device_range(struct gnn_device *d, const char *name);

/* ---- products.cu ---- */

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
cudaStream_t gnn_device_stream(struct gnn_device *d, uint32_t lane);
#define GNN_LAUNCH_IN(d, lane, kernel, blocks, ...)                                                                    \
    do {                                                                                                               \
        (kernel)<<<(blocks), GNN_BLOCK_THREADS, 0, gnn_device_stream(d, lane)>>>(__VA_ARGS__);                         \
        gnn_device_launched((d), #kernel);                                                                             \
    } while (0)
#else
/* The arguments are taken now, the kernel runs when its stream comes to it. */
#define GNN_LAUNCH_IN(d, lane, kernel, blocks, ...)                                                                    \
    cuda_host_enqueue((d), (lane), #kernel, (blocks), [args = std::make_tuple(__VA_ARGS__)] {                          \
        std::apply([](auto... gnn_arg) { kernel(gnn_arg...); }, args);                                                 \
    })
#endif
#define GNN_LAUNCH_BLOCKS(d, kernel, blocks, ...) GNN_LAUNCH_IN(d, GNN_LANE_STREAM, kernel, blocks, __VA_ARGS__)
/* A thread for each of `items`, or a warp. Nothing is launched for none. */
#define GNN_LAUNCH(d, kernel, items, ...)                                                                              \
    do {                                                                                                               \
        if ((items) > 0)                                                                                               \
            GNN_LAUNCH_BLOCKS(d, kernel, gnn_device_blocks(d, items), __VA_ARGS__);                                    \
    } while (0)
#define GNN_LAUNCH_WARPS(d, kernel, items, ...) GNN_LAUNCH(d, kernel, (uint64_t)(items)*GNN_WARP, __VA_ARGS__)

#endif
