/* runtime.h on CUDA: events, captured steps, times and ranges. */
#include "harness/tensor/cuda/device_state.h"

#include <nvtx3/nvToolsExt.h>

/* ---- events ---- */

enum gnn_status gnn_device_event_open(struct gnn_device *d, struct gnn_event **out, struct gnn_err *err)
{
    struct gnn_event *event = new (std::nothrow) gnn_event();
    if (event == NULL)
        return gnn_fail(err, GNN_ENOMEM, "event of a CUDA device");
    gnn_device_watch(d, cudaSetDevice(d->number), "choice of the device");
    const cudaError_t error = cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming | cudaEventBlockingSync);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        delete event;
        return gnn_fail(err, GNN_EGPU, "event of CUDA device %d: %s", d->number, cudaGetErrorString(error));
    }
    *out = event;
    return GNN_OK;
}

void gnn_device_event_close(struct gnn_device *d, struct gnn_event *event)
{
    if (event == NULL)
        return;
    gnn_device_watch(d, cudaEventDestroy(event->event), "end of an event");
    delete event;
}

void gnn_device_event_record(struct gnn_device *d, struct gnn_event *event, uint32_t lane)
{
    const cudaStream_t stream = gnn_device_plain_stream(d, lane);
    if (lane != GNN_LANE_STREAM)
        gnn_device_span_end(d, &d->lanes[lane].spans, stream);
    gnn_device_watch(d, cudaEventRecord(event->event, stream), "event");
}

void gnn_device_event_await(struct gnn_device *d, struct gnn_event *event, uint32_t lane)
{
    gnn_device_watch(d, cudaStreamWaitEvent(gnn_device_plain_stream(d, lane), event->event, 0), "order of two streams");
}

void gnn_device_event_wait(struct gnn_device *d, struct gnn_event *event)
{
    gnn_device_watch(d, cudaEventSynchronize(event->event), "wait for an event");
}

/* ---- a step as one graph ---- */

bool gnn_device_capture(struct gnn_device *d)
{
    const cudaError_t error = cudaStreamBeginCapture(d->compute, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* plain launches do as well */
    return error == cudaSuccess;
}

bool gnn_device_end_capture(struct gnn_device *d)
{
    gnn_device_watch(d, cudaStreamEndCapture(d->compute, &d->recorded), "capture of a step");
    return d->recorded != NULL;
}

/* A graph of another shape stays as it was, or half of its figures changed: the next update that succeeds sets all. */
bool gnn_device_graph_update(struct gnn_device *d, uint32_t slot)
{
    cudaGraphExecUpdateResultInfo info = {};
    if (d->graphs[slot] == NULL)
        return false;
    if (cudaGraphExecUpdate(d->graphs[slot], d->recorded, &info) == cudaSuccess)
        return true;
    (void)cudaGetLastError();
    return false;
}

void gnn_device_graph_build(struct gnn_device *d, uint32_t slot)
{
    if (d->graphs[slot] != NULL)
        gnn_device_watch(d, cudaGraphExecDestroy(d->graphs[slot]), "end of a graph");
    d->graphs[slot] = NULL;
    gnn_device_watch(d, cudaGraphInstantiate(&d->graphs[slot], d->recorded, 0), "building of a step's graph");
}

void gnn_device_graph_launch(struct gnn_device *d, uint32_t slot)
{
    if (d->graphs[slot] != NULL)
        gnn_device_watch(d, cudaGraphLaunch(d->graphs[slot], d->compute), "launch of a step's graph");
    gnn_device_watch(d, cudaGraphDestroy(d->recorded), "end of a captured step");
    d->recorded = NULL;
}

/* ---- times ---- */

/* Adds up the spans that have passed; with `all`, waits for them. */
static void read_spans(struct gnn_device *d, struct gnn_span_ring *ring, bool all)
{
    while (ring->count > 0) {
        const uint32_t at = ring->first;
        if (!all && cudaEventQuery(ring->end[at]) == cudaErrorNotReady) {
            (void)cudaGetLastError();
            return;
        }
        float ms = 0;
        gnn_device_watch(d, cudaEventSynchronize(ring->end[at]), "end of a span");
        gnn_device_watch(d, cudaEventElapsedTime(&ms, ring->begin[at], ring->end[at]), "length of a span");
        ring->ns += (uint64_t)((double)ms * 1e6);
        ring->first = (at + 1) % GNN_SPANS;
        ring->count--;
    }
}

static void record_time(struct gnn_device *d, cudaEvent_t *event, cudaStream_t stream)
{
    if (*event == NULL)
        gnn_device_watch(d, cudaEventCreate(event), "event with a time");
    gnn_device_watch(d, cudaEventRecord(*event, stream), "event with a time");
}

void gnn_device_span_begin(struct gnn_device *d, struct gnn_span_ring *ring, cudaStream_t stream)
{
    const std::lock_guard<std::mutex> held(d->spans);
    if (ring->open)
        return;
    read_spans(d, ring, ring->count == GNN_SPANS);
    record_time(d, &ring->begin[(ring->first + ring->count) % GNN_SPANS], stream);
    ring->open = true;
}

void gnn_device_span_end(struct gnn_device *d, struct gnn_span_ring *ring, cudaStream_t stream)
{
    const std::lock_guard<std::mutex> held(d->spans);
    if (!ring->open)
        return;
    record_time(d, &ring->end[(ring->first + ring->count) % GNN_SPANS], stream);
    ring->open = false;
    ring->count++;
}

void gnn_device_busy_begin(struct gnn_device *d)
{
    gnn_device_watch(d, cudaSetDevice(d->number), "choice of the device"); /* it belongs to the calling thread */
    gnn_device_span_begin(d, &d->busy, d->compute);
}

static uint64_t take_spans(struct gnn_device *d, struct gnn_span_ring *ring)
{
    read_spans(d, ring, false);
    const uint64_t ns = ring->ns;
    ring->ns = 0;
    return ns;
}

void gnn_device_take_times(struct gnn_device *d, struct gnn_device_times *out)
{
    const std::lock_guard<std::mutex> held(d->spans);
    out->kernel_ns = take_spans(d, &d->busy);
    for (struct gnn_lane_state &lane : d->lanes)
        out->copy_ns += take_spans(d, &lane.spans);
    out->uploaded_bytes = d->uploaded_bytes.exchange(0);
    out->downloaded_bytes = d->downloaded_bytes.exchange(0);
    out->launches = d->launches.exchange(0);
}

static void close_ring(struct gnn_span_ring *ring)
{
    for (uint32_t i = 0; i < GNN_SPANS; i++) {
        if (ring->begin[i] != NULL)
            (void)cudaEventDestroy(ring->begin[i]);
        if (ring->end[i] != NULL)
            (void)cudaEventDestroy(ring->end[i]);
    }
}

void gnn_device_timeline_close(struct gnn_device *d)
{
    close_ring(&d->busy);
    for (struct gnn_lane_state &lane : d->lanes)
        close_ring(&lane.spans);
    for (cudaGraphExec_t graph : d->graphs)
        if (graph != NULL)
            (void)cudaGraphExecDestroy(graph);
}

/* ---- ranges ---- */

void gnn_device_range(struct gnn_device *d, const char *name)
{
    (void)d;
    if (name != NULL)
        (void)nvtxRangePushA(name);
    else
        (void)nvtxRangePop();
}
