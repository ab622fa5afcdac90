/* SPDX-License-Identifier: MIT */
/* The device's open state, shared by the files that implement runtime.h with CUDA. */
#ifndef GNN_TENSOR_CUDA_DEVICE_STATE_H
#define GNN_TENSOR_CUDA_DEVICE_STATE_H

#include "harness/tensor/cuda/runtime.h"
#include "harness/tensor/cuda/spans.h"

#include <cublas_v2.h>

#include <atomic>
#include <mutex>
#include <thread>

/* The clock of spans.h with CUDA's events. An event that is NULL is created when it is first recorded. */
struct gnn_event_clock {
    using event = cudaEvent_t;
    struct gnn_device *device;

    void record(cudaEvent_t *event, cudaStream_t stream);
    bool passed(cudaEvent_t event);
    uint64_t ns_between(cudaEvent_t begin, cudaEvent_t end);
};
using gnn_device_spans = gnn_spans<gnn_event_clock>;

struct gnn_lane_state {
    cudaStream_t stream; /* NULL: not used yet */
    std::mutex spans;    /* guards copies */
    gnn_device_spans copies;
};

struct gnn_event {
    cudaEvent_t event;
};

struct gnn_device {
    int number;
    cudaDeviceProp properties;
    uint64_t free_bytes; /* when it was opened: without the context, cuBLAS and other processes */
    cudaStream_t compute;
    struct gnn_lane_state lanes[GNN_LANES_MAX];
    cublasHandle_t blas;
    cublasComputeType_t product;
    /* of cuBLAS, which would otherwise allocate its own during a captured step */
    void *workspace;
    std::atomic<std::thread::id> recorder;   /* the thread that records the compute stream's work */
    bool record_failed;                      /* a call in this recording failed */
    cudaGraph_t recorded;                    /* a step, between end_capture and its launch */
    cudaGraphExec_t graphs[GNN_STEP_GRAPHS]; /* NULL: none */
    gnn_device_spans busy, held, copies;     /* of the compute stream */
    std::atomic<uint64_t> uploaded_bytes, downloaded_bytes, launches;
    std::mutex spans; /* guards the stream's: another thread may call gnn_device_take_times */
    std::mutex mutex; /* guards err: lanes belong to other threads */
    struct gnn_err err;
};

/* Keep the first failure for gnn_device_check. gnn_device_watch does nothing if error is cudaSuccess. */
void gnn_device_keep(struct gnn_device *d, enum gnn_status status, const char *what, const char *why);
void gnn_device_watch(struct gnn_device *d, cudaError_t error, const char *what);

/* timeline.cu */
void gnn_device_spans_end(struct gnn_device *d);
/* Returns whether the calling thread records a step. A failure of its calls is then kept for the end of the recording,
 * because the step can run again without one. */
bool gnn_device_records(const struct gnn_device *d);
void gnn_device_timeline_close(struct gnn_device *d);

/* products.cu */
enum gnn_status gnn_device_products_open(struct gnn_device *d, enum gnn_precision precision, struct gnn_err *err);
void gnn_device_products_close(struct gnn_device *d);

#endif
