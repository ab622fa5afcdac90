/* SPDX-License-Identifier: MIT */
#include "harness/tensor/modelled/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* An operation takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct gnn_event {
    uint64_t ns;
};

/* ---- time lines ---- */

void modelled_run_op(struct gnn_tensor *t, struct gnn_cost cost)
{
    struct modelled *m = modelled_of(t);
    const uint64_t duration_ns = gnn_cost_ns(&cost, &m->roof);
    const uint64_t launch_ns = cost.launches * m->launch_ns;
    m->env.compute_ns(m->env.ctx, m->env.gpu ? launch_ns : launch_ns + duration_ns);
    const uint64_t launched_ns = now(m);
    lock(m);
    m->counts.ops++;
    m->counts.launches += cost.launches;
    m->counts.busy_ns += m->env.gpu ? duration_ns : launch_ns + duration_ns;
    if (m->env.gpu)
        m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, launched_ns) + duration_ns;
    unlock(m);
}

void modelled_copy_and_wait(struct modelled *m, uint64_t bytes, uint64_t *counter)
{
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m), moving_ns = gnn_transfer_ns(bytes, m->bus.pageable_bytes_per_s);
    lock(m);
    const uint64_t ready_ns =
        gnn_max_u64(gnn_max_u64(start_ns, m->device->stream_free_ns) + m->bus.latency_ns, m->device->bus_free_ns);
    const uint64_t end_ns = ready_ns + moving_ns;
    m->device->stream_free_ns = m->device->bus_free_ns = end_ns;
    m->counts.bus_busy_ns += moving_ns;
    *counter += bytes;
    unlock(m);
    m->env.wait_until(m->env.ctx, end_ns);
}

void modelled_cross_bus(struct modelled *m, uint64_t bytes)
{
    const uint64_t moving_ns = gnn_transfer_ns(bytes, m->bus.pinned_bytes_per_s);
    lock(m);
    const uint64_t ready_ns = gnn_max_u64(m->device->stream_free_ns, m->device->bus_free_ns) + m->bus.latency_ns;
    m->device->stream_free_ns = m->device->bus_free_ns = ready_ns + moving_ns;
    m->counts.bus_busy_ns += moving_ns;
    m->counts.uploaded_bytes += bytes;
    unlock(m);
}

void modelled_synchronize(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    const bool result_due = m->result_due;
    m->result_due = false;
    m->resident_count = 0; /* a step ends */
    unlock(m);
    if (result_due)
        modelled_copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    lock(m);
    const uint64_t free_ns = m->device->stream_free_ns;
    unlock(m);
    if (m->env.gpu)
        m->env.wait_until(m->env.ctx, free_ns);
}

void gnn_modelled_all_reduce(struct gnn_tensor *t, uint32_t ranks, uint64_t bytes)
{
    struct modelled *const m = modelled_of(t);
    assert(m->base.no_values);
    assert(ranks > 1);
    const uint64_t share_bytes = gnn_div_up(bytes, ranks), rounds = 2 * (ranks - UINT64_C(1));
    if (!m->env.gpu) {
        /* Its gradient is copied out, a W-th of each read and of the mean written, and the whole mean copied back. */
        const uint64_t moved_bytes = 2 * bytes + gnn_mul_bytes(ranks + UINT64_C(1), share_bytes) + 2 * bytes;
        m->env.compute_ns(m->env.ctx, gnn_transfer_ns(moved_bytes, m->core_bytes_per_s));
        return;
    }
    const uint64_t round_ns = m->bus.link_latency_ns + gnn_transfer_ns(share_bytes, m->bus.link_bytes_per_s);
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m);
    lock(m);
    m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, start_ns) + rounds * round_ns;
    const uint64_t end_ns = m->device->stream_free_ns;
    unlock(m);
    m->env.wait_until(m->env.ctx, end_ns);
}

void modelled_host_copy(struct modelled *m, uint64_t bytes)
{
    m->env.compute_ns(m->env.ctx, gnn_transfer_ns(gnn_mul_bytes(2, bytes), m->core_bytes_per_s));
}

void modelled_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        modelled_copy_and_wait(m, bytes, &m->counts.uploaded_bytes);
    else
        modelled_host_copy(m, bytes);
}

void modelled_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    modelled_synchronize(t);
    if (m->env.gpu)
        modelled_copy_and_wait(m, bytes, &m->counts.downloaded_bytes);
    else
        modelled_host_copy(m, bytes);
    if (host_dst != NULL)
        memset(host_dst, 0, bytes);
}

void modelled_lane_copy(struct modelled *m, uint32_t lane, uint64_t bytes)
{
    assert(lane < GNN_LANES_MAX);
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m), moving_ns = gnn_transfer_ns(bytes, m->bus.pinned_bytes_per_s);
    lock(m);
    const uint64_t ready_ns =
        gnn_max_u64(gnn_max_u64(start_ns + m->bus.latency_ns, m->lanes[lane].free_ns), m->device->bus_free_ns);
    m->lanes[lane].free_ns = m->device->bus_free_ns = ready_ns + moving_ns;
    m->counts.bus_busy_ns += moving_ns;
    m->counts.uploaded_bytes += bytes;
    unlock(m);
}

void modelled_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        modelled_lane_copy(m, lane, bytes);
    else
        modelled_host_copy(m, bytes);
}

void modelled_upload_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                          const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    modelled_upload_async(t, lane, table, host_rows, gnn_mul_bytes(count, row_bytes));
}

void modelled_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    assert(lane < GNN_LANES_MAX);
    if (!m->env.gpu)
        return;
    lock(m);
    const uint64_t landed_ns = m->lanes[lane].free_ns;
    unlock(m);
    m->env.wait_until(m->env.ctx, landed_ns);
}

/* ---- events ---- */

/* The time line of a lane or of the stream; the mutex is held. */
static uint64_t *line_of(struct modelled *m, uint32_t lane)
{
    assert(lane < GNN_LANES_MAX || lane == GNN_LANE_STREAM);
    return lane == GNN_LANE_STREAM ? &m->device->stream_free_ns : &m->lanes[lane].free_ns;
}

enum gnn_status modelled_event_open(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "event of a modelled GPU");
    return GNN_OK;
}

void modelled_event_close(struct gnn_tensor *t, struct gnn_event *event)
{
    free(event);
}

void modelled_event_record(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    event->ns = *line_of(m, lane);
    unlock(m);
}

void modelled_event_await(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    uint64_t *const line = line_of(m, lane);
    *line = gnn_max_u64(*line, event->ns);
    unlock(m);
}

void modelled_event_wait(struct gnn_tensor *t, struct gnn_event *event)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        m->env.wait_until(m->env.ctx, event->ns);
}
