/* SPDX-License-Identifier: MIT */
/* Samples on demand (paper, section 4.4, Figure 6): a stream of requests of one target each, `concurrency` of them in
 * service at a time; request r is thread r mod C's. Closed loop: a thread starts its next request when one is done.
 *
 * Two latencies are kept: of the request from its start, and its completion counted from the start of the stream. The
 * paper's figure (half of a million within 1.15 s) reads like the second. */
#include "systems/ringsampler/thread.h"

enum gnn_status rs_on_demand_thread(struct ringsampler *s, uint32_t index, uint64_t *items, struct gnn_err *err)
{
    struct rs_thread *const thread = &s->threads[index];
    struct gnn_world *const world = s->env->world;
    thread->latencies = (struct rs_latencies){.request = {.count = 0}};
    for (uint64_t r = index; r < s->config->requests; r += s->config->concurrency) {
        const uint64_t start_ns = gnn_now_ns(world);
        GNN_TRY(rs_thread_run(thread, (uint32_t)r, 1, 1, items, err));
        const uint64_t end_ns = gnn_now_ns(world);
        gnn_histogram_add(&thread->latencies.request, end_ns - start_ns);
        gnn_histogram_add(&thread->latencies.stream, end_ns - s->start_ns);
    }
    return GNN_OK;
}

/* Enough of both distributions to draw them. */
static const struct {
    double share;
    const char *request, *stream;
} quantiles[] = {
    {0.1, "latency_p10_ns", "stream_p10_ns"},     {0.25, "latency_p25_ns", "stream_p25_ns"},
    {0.5, "latency_p50_ns", "stream_p50_ns"},     {0.75, "latency_p75_ns", "stream_p75_ns"},
    {0.9, "latency_p90_ns", "stream_p90_ns"},     {0.99, "latency_p99_ns", "stream_p99_ns"},
    {0.999, "latency_p999_ns", "stream_p999_ns"},
};

void rs_on_demand_result(const struct ringsampler *s, struct gnn_epoch_result *out)
{
    struct rs_latencies all = {.request = {.count = 0}};
    for (uint32_t i = 0; i < s->sizes.threads; i++) {
        gnn_histogram_merge(&all.request, &s->threads[i].latencies.request);
        gnn_histogram_merge(&all.stream, &s->threads[i].latencies.stream);
    }
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        gnn_epoch_figure(out, quantiles[i].request, gnn_histogram_quantile(&all.request, quantiles[i].share));
        gnn_epoch_figure(out, quantiles[i].stream, gnn_histogram_quantile(&all.stream, quantiles[i].share));
    }
    gnn_epoch_figure(out, "latency_max_ns", all.request.count > 0 ? all.request.max_ns : GNN_UNKNOWN);
    gnn_epoch_figure(out, "stream_max_ns", all.stream.count > 0 ? all.stream.max_ns : GNN_UNKNOWN);
}
