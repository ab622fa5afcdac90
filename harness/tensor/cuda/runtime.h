/* SPDX-License-Identifier: MIT */
/* The device as the back-end uses it: memory, copies in streams, events, captured steps, a stable sort, GEMM and
 * launches. The files runtime.cu, timeline.cu and products.cu implement it with the CUDA runtime, CUB and cuBLAS. The
 * test suite's launcher implements it in host memory. Device calls return no status: the first failure is kept, and
 * gnn_device_check returns it.
 *
 * Threads  One thread computes; any thread copies in a lane of its own. Any thread may call the functions for memory,
 *          events and registration. */
#ifndef GNN_TENSOR_CUDA_RUNTIME_H
#define GNN_TENSOR_CUDA_RUNTIME_H

#include "harness/tensor/cuda/device.h"

struct gnn_device;

/* Opens device `number`, or returns GNN_ENOTSUP with the remedy if there is no driver or device, or GNN_EGPU. */
enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err);
void gnn_device_close(struct gnn_device *d); /* accepts NULL */
uint32_t gnn_device_multiprocessors(const struct gnn_device *d);
/* Returns the bytes that were free when the device was open. */
uint64_t gnn_device_memory_bytes(const struct gnn_device *d);
void gnn_device_identify(const struct gnn_device *d, struct gnn_gpu_identity *out);

/* Allocates device memory aligned to 256 bytes, or returns GNN_EGPU with name, bytes and free memory if it is full. */
enum gnn_status gnn_device_alloc(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                 struct gnn_err *err);
void gnn_device_free(struct gnn_device *d, void *ptr); /* accepts NULL; waits until the device no longer uses it */
/* Registers host memory, which the device then reads at the same address, or returns GNN_ENOMEM or GNN_ENOTSUP. */
enum gnn_status gnn_device_pin(struct gnn_device *d, const char *name, void *host, uint64_t bytes, struct gnn_err *err);
void gnn_device_unpin(struct gnn_device *d, void *host); /* accepts NULL */

/* Copy in the compute stream. Upload and download are complete when they return. The others are ordered before the next
 * launch. The source of upload_ordered is pinned and must not change until the stream has passed the copy. */
void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes);
void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes);
void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes);
/* Copies into pinned memory, which holds the data after the next synchronize. */
void gnn_device_download_ordered(struct gnn_device *d, void *pinned_dst, const void *src, uint64_t bytes);
void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes);
void gnn_device_synchronize(struct gnn_device *d);
/* Returns whether the stream has finished all its work. */
bool gnn_device_passed(struct gnn_device *d);
/* Return the compute stream for other libraries, and make this device the calling thread's device (choose). */
void *gnn_device_stream_of(struct gnn_device *d);
void gnn_device_choose(struct gnn_device *d);

/* Starts a copy that runs concurrently with the compute stream. Copies of a lane run in order. */
void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
/* Counts `bytes` that a kernel in a lane or in the stream reads across the bus. */
void gnn_device_count_upload(struct gnn_device *d, uint64_t bytes);
void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane);

/* ---- timeline.cu ---- */

/* Events of tensor.h. GNN_LANE_STREAM as lane is the compute stream. */
enum gnn_status gnn_device_event_open(struct gnn_device *d, struct gnn_event **out, struct gnn_err *err);
void gnn_device_event_close(struct gnn_device *d, struct gnn_event *event);
void gnn_device_event_record(struct gnn_device *d, struct gnn_event *event, uint32_t lane);
void gnn_device_event_await(struct gnn_device *d, struct gnn_event *event, uint32_t lane);
void gnn_device_event_wait(struct gnn_device *d, struct gnn_event *event);

/* Starts recording, or returns false if this device does not record. Launches, ordered copies and sorts of the compute
 * stream are then recorded, and run when they are launched together. Without recording they run at once. Until the end
 * of the recording this thread may not allocate or wait for the stream. */
bool gnn_device_capture(struct gnn_device *d);
/* Ends the recording. Returns false if the recording or a call in it failed. Nothing of it has run then. */
bool gnn_device_end_capture(struct gnn_device *d);
/* Keep GNN_STEP_GRAPHS built graphs, by slot. Update sets the parameters of a slot's graph to those of the recorded
 * step. It returns false if the graph has another shape, or the slot is empty. Build replaces the slot's graph by one
 * of the recorded step. Launch launches the slot's graph and discards the recorded step. */
enum { GNN_STEP_GRAPHS = 4 };
bool gnn_device_graph_update(struct gnn_device *d, uint32_t slot);
void gnn_device_graph_build(struct gnn_device *d, uint32_t slot);
void gnn_device_graph_launch(struct gnn_device *d, uint32_t slot);

/* Enclose a copy, or a kernel that reads host memory, in a lane or in GNN_LANE_STREAM, and add its time to copy_ns.
 * Work recorded for a step is not timed. The copies above are timed by themselves. */
void gnn_device_copy_begin(struct gnn_device *d, uint32_t lane);
void gnn_device_copy_end(struct gnn_device *d, uint32_t lane);
/* Marks the start of a span in which the stream is held, which ends at the next synchronize and counts in held_ns. */
void gnn_device_held_begin(struct gnn_device *d);
/* Enclose work of the stream, whose time counts in kernel_ns. Begin is part of every launch, sort, product, copy on the
 * device and launch of a graph. It does nothing if a span was begun, or while the calling thread records a step. Work
 * ends here or at the next synchronize. */
void gnn_device_work_begin(struct gnn_device *d);
void gnn_device_work_end(struct gnn_device *d);
/* Writes kernel_ns, held_ns, copy_ns, launches and bytes since the last call to *out. */
void gnn_device_take_times(struct gnn_device *d, struct gnn_device_times *out);
/* Opens an NVTX range of the calling thread; NULL closes the innermost. */
void gnn_device_range(struct gnn_device *d, const char *name);

/* ---- products.cu ---- */

/* Sorts pairs stably by ascending key into keys_out and values_out. scratch is device memory of
 * gnn_device_sort_bytes(count). Keys are below 2^key_bits. */
uint64_t gnn_device_sort_bytes(uint32_t count);
void gnn_device_sort(struct gnn_device *d, void *scratch, uint64_t scratch_bytes, const uint32_t *keys,
                     uint32_t *keys_out, const uint32_t *values, uint32_t *values_out, uint32_t count,
                     uint32_t key_bits);

/* Computes c = alpha op(a) op(b) + beta c, row-major. No dimension is 0. */
void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c);

/* Returns GNN_OK, or the first failure since open. */
enum gnn_status gnn_device_check(const struct gnn_device *d, struct gnn_err *err);

/* ---- launches ---- */

/* Returns the number of blocks for `threads` threads in total. Limited to what fills the device, because kernels
 * loop. */
uint32_t gnn_device_blocks(const struct gnn_device *d, uint64_t threads);

/* Whether launches may have more than 4 KB of parameters. */
#if defined(__CUDACC__) && CUDART_VERSION < 12010
enum { GNN_LONG_PARAMETERS = false };
#else
enum { GNN_LONG_PARAMETERS = true };
#endif

#ifdef __CUDACC__
void gnn_device_launching(struct gnn_device *d, uint32_t lane);     /* begins the stream's work */
void gnn_device_launched(struct gnn_device *d, const char *kernel); /* keeps the launch's error */
cudaStream_t gnn_device_stream(struct gnn_device *d, uint32_t lane);
#define GNN_LAUNCH_IN(d, lane, kernel, blocks, ...)                                                                    \
    do {                                                                                                               \
        gnn_device_launching((d), (lane));                                                                             \
        (kernel)<<<(blocks), GNN_BLOCK_THREADS, 0, gnn_device_stream(d, lane)>>>(__VA_ARGS__);                         \
        gnn_device_launched((d), #kernel);                                                                             \
    } while (0)
#else
/* Arguments are copied now; the kernel runs when its stream reaches it. */
#define GNN_LAUNCH_IN(d, lane, kernel, blocks, ...)                                                                    \
    cuda_host_enqueue((d), (lane), #kernel, (blocks), cuda_host_call_of<kernel>(__VA_ARGS__))
#endif
#define GNN_LAUNCH_BLOCKS(d, kernel, blocks, ...) GNN_LAUNCH_IN(d, GNN_LANE_STREAM, kernel, blocks, __VA_ARGS__)
/* Launch a thread, or a warp, for each of `items`. With 0 items nothing is launched. */
#define GNN_LAUNCH(d, kernel, items, ...)                                                                              \
    do {                                                                                                               \
        if ((items) > 0)                                                                                               \
            GNN_LAUNCH_BLOCKS(d, kernel, gnn_device_blocks(d, items), __VA_ARGS__);                                    \
    } while (0)
#define GNN_LAUNCH_WARPS(d, kernel, items, ...) GNN_LAUNCH(d, kernel, (uint64_t)(items)*GNN_WARP, __VA_ARGS__)

#endif
