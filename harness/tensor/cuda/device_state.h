/* The device's open state, shared by the files that do runtime.h with CUDA. */
#ifndef GNN_TENSOR_CUDA_DEVICE_STATE_H
#define GNN_TENSOR_CUDA_DEVICE_STATE_H

#include "harness/tensor/cuda/runtime.h"

#include <cublas_v2.h>

#include <atomic>
#include <mutex>

/* Two events with times around what is measured. */
enum { GNN_SPANS = 8 };
struct gnn_span_ring {
    cudaEvent_t begin[GNN_SPANS], end[GNN_SPANS]; /* NULL: not made yet */
    uint32_t first, count;                        /* closed and not yet read */
    bool open;                                    /* begin[(first + count) % GNN_SPANS] was recorded */
    uint64_t ns;                                  /* of those that were read */
};

struct gnn_lane_state {
    cudaStream_t stream; /* NULL: not used yet */
    struct gnn_span_ring spans;
};

struct gnn_event {
    cudaEvent_t event;
};

struct gnn_device {
    int number;
    cudaDeviceProp properties;
    cudaStream_t compute;
    struct gnn_lane_state lanes[GNN_LANES_MAX];
    cublasHandle_t blas;
    cublasComputeType_t product;
    void *workspace;                         /* of cuBLAS: its own would be allocated in the midst of a captured step */
    cudaGraph_t recorded;                    /* a step, between end_capture and its launch */
    cudaGraphExec_t graphs[GNN_STEP_GRAPHS]; /* NULL: none */
    struct gnn_span_ring busy;
    std::atomic<uint64_t> uploaded_bytes, downloaded_bytes, launches;
    std::mutex spans; /* of every ring: who asks for times is another thread */
    std::mutex mutex; /* of err: lanes are other threads' */
    struct gnn_err err;
};

/* Keeps the first failure. */
void gnn_device_keep(struct gnn_device *d, enum gnn_status status, const char *what, const char *why);
void gnn_device_watch(struct gnn_device *d, cudaError_t error, const char *what);

/* The stream of a lane or of the ops, without opening a span. The lane's thread. */
cudaStream_t gnn_device_plain_stream(struct gnn_device *d, uint32_t lane);

/* timeline.cu: a span of a stream begins unless one is open; ends if one is; rings are emptied and closed. */
void gnn_device_span_begin(struct gnn_device *d, struct gnn_span_ring *ring, cudaStream_t stream);
void gnn_device_span_end(struct gnn_device *d, struct gnn_span_ring *ring, cudaStream_t stream);
void gnn_device_timeline_close(struct gnn_device *d);

/* products.cu */
enum gnn_status gnn_device_products_open(struct gnn_device *d, enum gnn_precision precision, struct gnn_err *err);
void gnn_device_products_close(struct gnn_device *d);

#endif
