/* SPDX-License-Identifier: MIT */
/* runtime.h on CUDA: events, captured steps, times and ranges. */
#include "harness/tensor/cuda/device_state.h"

#include <nvtx3/nvToolsExt.h>

/* ---- events ---- */

enum gnn_status gnn_device_event_open(struct gnn_device *d, struct gnn_event **out, struct gnn_err *err)
{
    struct gnn_event *event = new (std::nothrow) gnn_event();
    if (event == NULL)
        return gnn_fail(err, GNN_ENOMEM, "event of a CUDA device");
    gnn_device_choose(d);
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
    gnn_device_watch(d, cudaEventRecord(event->event, gnn_device_stream(d, lane)), "event");
}

/* A lane that waits for another stream copies nothing meanwhile. */
void gnn_device_event_await(struct gnn_device *d, struct gnn_event *event, uint32_t lane)
{
    const cudaStream_t stream = gnn_device_stream(d, lane);
    if (lane != GNN_LANE_STREAM) {
        const std::lock_guard<std::mutex> held(d->lanes[lane].spans);
        d->lanes[lane].copies.close();
    }
    gnn_device_watch(d, cudaStreamWaitEvent(stream, event->event, 0), "order of two streams");
}

void gnn_device_event_wait(struct gnn_device *d, struct gnn_event *event)
{
    gnn_device_watch(d, cudaEventSynchronize(event->event), "wait for an event");
}

/* ---- a step as one graph ---- */

bool gnn_device_records(const struct gnn_device *d)
{
    return d->recorder.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

bool gnn_device_capture(struct gnn_device *d)
{
    const cudaError_t error = cudaStreamBeginCapture(d->compute, cudaStreamCaptureModeThreadLocal);
    d->record_failed = false;
    if (error == cudaSuccess)
        d->recorder = std::this_thread::get_id();
    else
        (void)cudaGetLastError(); /* plain launches do as well */
    return error == cudaSuccess;
}

/* A graph of a failed recording is not launched, even if CUDA returned one. */
bool gnn_device_end_capture(struct gnn_device *d)
{
    d->recorder = std::thread::id();
    const cudaError_t error = cudaStreamEndCapture(d->compute, &d->recorded);
    if (error == cudaSuccess && !d->record_failed)
        return d->recorded != NULL;
    (void)cudaGetLastError();
    if (error == cudaSuccess && d->recorded != NULL)
        (void)cudaGraphDestroy(d->recorded);
    d->recorded = NULL;
    return false;
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
    gnn_device_work_begin(d);
    if (d->graphs[slot] != NULL)
        gnn_device_watch(d, cudaGraphLaunch(d->graphs[slot], d->compute), "launch of a step's graph");
    gnn_device_watch(d, cudaGraphDestroy(d->recorded), "end of a captured step");
    d->recorded = NULL;
}

/* ---- times ---- */

void gnn_event_clock::record(cudaEvent_t *event, cudaStream_t stream)
{
    if (*event == NULL)
        gnn_device_watch(device, cudaEventCreate(event), "event with a time");
    gnn_device_watch(device, cudaEventRecord(*event, stream), "event with a time");
}

bool gnn_event_clock::passed(cudaEvent_t event)
{
    const cudaError_t error = cudaEventQuery(event);
    if (error == cudaErrorNotReady)
        (void)cudaGetLastError(); /* not sticky: it must not be taken for the next launch's */
    return error != cudaErrorNotReady;
}

uint64_t gnn_event_clock::ns_between(cudaEvent_t begin, cudaEvent_t end)
{
    float ms = 0;
    gnn_device_watch(device, cudaEventElapsedTime(&ms, begin, end), "length of a span");
    return (uint64_t)((double)ms * 1e6);
}

static gnn_device_spans *copies_of(struct gnn_device *d, uint32_t lane)
{
    return lane == GNN_LANE_STREAM ? &d->copies : &d->lanes[lane].copies;
}

/* A lane's thread does not wait for those of other lanes. */
static std::mutex &spans_mutex(struct gnn_device *d, uint32_t lane)
{
    return lane == GNN_LANE_STREAM ? d->spans : d->lanes[lane].spans;
}

void gnn_device_copy_begin(struct gnn_device *d, uint32_t lane)
{
    gnn_event_clock clock = {d};
    const cudaStream_t stream = gnn_device_stream(d, lane);
    if (lane == GNN_LANE_STREAM && gnn_device_records(d))
        return;
    const std::lock_guard<std::mutex> held(spans_mutex(d, lane));
    copies_of(d, lane)->copy_begin(clock, stream);
}

void gnn_device_copy_end(struct gnn_device *d, uint32_t lane)
{
    gnn_event_clock clock = {d};
    const cudaStream_t stream = gnn_device_stream(d, lane);
    if (lane == GNN_LANE_STREAM && gnn_device_records(d))
        return;
    const std::lock_guard<std::mutex> held(spans_mutex(d, lane));
    copies_of(d, lane)->copy_end(clock, stream);
    if (lane == GNN_LANE_STREAM) /* kernels follow */
        d->copies.close();
}

void gnn_device_held_begin(struct gnn_device *d)
{
    gnn_event_clock clock = {d};
    gnn_device_choose(d);
    const std::lock_guard<std::mutex> held(d->spans);
    d->held.start(clock, d->compute);
}

void gnn_device_work_begin(struct gnn_device *d)
{
    gnn_event_clock clock = {d};
    if (gnn_device_records(d))
        return;
    const std::lock_guard<std::mutex> held(d->spans);
    d->busy.start(clock, d->compute);
}

void gnn_device_work_end(struct gnn_device *d)
{
    gnn_event_clock clock = {d};
    if (gnn_device_records(d))
        return;
    const std::lock_guard<std::mutex> held(d->spans);
    d->busy.finish(clock, d->compute);
}

void gnn_device_spans_end(struct gnn_device *d)
{
    gnn_event_clock clock = {d};
    const std::lock_guard<std::mutex> held(d->spans);
    d->busy.finish(clock, d->compute);
    d->held.finish(clock, d->compute);
}

void gnn_device_take_times(struct gnn_device *d, struct gnn_device_times *out)
{
    gnn_event_clock clock = {d};
    const std::lock_guard<std::mutex> held(d->spans);
    out->kernel_ns = d->busy.take(clock);
    out->held_ns = d->held.take(clock);
    out->copy_ns = d->copies.take(clock);
    for (struct gnn_lane_state &lane : d->lanes) {
        const std::lock_guard<std::mutex> own(lane.spans);
        out->copy_ns += lane.copies.take(clock);
    }
    out->uploaded_bytes = d->uploaded_bytes.exchange(0);
    out->downloaded_bytes = d->downloaded_bytes.exchange(0);
    out->launches = d->launches.exchange(0);
}

static void close_spans(const gnn_device_spans *spans)
{
    for (uint32_t i = 0; i < GNN_SPANS; i++) {
        if (spans->begins[i] != NULL)
            (void)cudaEventDestroy(spans->begins[i]);
        if (spans->ends[i] != NULL)
            (void)cudaEventDestroy(spans->ends[i]);
    }
}

void gnn_device_timeline_close(struct gnn_device *d)
{
    close_spans(&d->busy);
    close_spans(&d->held);
    close_spans(&d->copies);
    for (const struct gnn_lane_state &lane : d->lanes)
        close_spans(&lane.copies);
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
