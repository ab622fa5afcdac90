/* SPDX-License-Identifier: MIT */
/* An epoch: threads take their batches by a static rule (thread.h) and run to the end without meeting; with training,
 * extraction and training follow in a chain (training.h). */
#include "systems/ringsampler/fetch.h"
#include "systems/ringsampler/thread.h"
#include "systems/ringsampler/training.h"

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    if (s->config->requests > 0)
        return rs_on_demand_thread(s, worker->index, &worker->items, err);
    const struct rs_share share = rs_share_of(s, worker->index);
    return rs_thread_run(&s->threads[worker->index], share.first, share.count, share.step, &worker->items, err);
}

/* ---- result ---- */

static struct rs_fetch_counts sum_fetches(const struct ringsampler *s)
{
    struct rs_fetch_counts sum = {.submits = 0};
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        rs_fetch_add_counts(s->threads[i].fetch, &sum);
    return sum;
}

/* Figures of the reads since `before`; in_flight_peak is that of all epochs. */
static void add_read_figures(const struct ringsampler *s, const struct rs_fetch_counts *before,
                             const struct rs_fetch_counts *now, struct gnn_epoch_result *out)
{
    out->counters.requested_ios = now->ring.requested_ios - before->ring.requested_ios;
    out->counters.requested_bytes = now->ring.requested_bytes - before->ring.requested_bytes;
    gnn_epoch_figure(out, "edge_reads", out->counters.requested_ios);
    gnn_epoch_figure(out, "edge_completions", now->ring.completed - before->ring.completed);
    gnn_epoch_figure(out, "submits", now->submits - before->submits);
    gnn_epoch_figure(out, "in_flight_peak", now->ring.in_flight_peak);
    if (s->cache != NULL) {
        gnn_epoch_figure(out, "sector_hits", now->cache_hits - before->cache_hits);
        gnn_epoch_figure(out, "sector_misses", now->cache_misses - before->cache_misses);
    }
}

static void fill_result(const struct ringsampler *s, const struct rs_fetch_counts *before, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    const struct rs_fetch_counts now = sum_fetches(s);
    uint64_t frontier_nodes = 0, deferred = 0, bundle = 0;
    for (uint32_t i = 0; i < s->sizes.threads; i++) {
        const struct rs_thread *const thread = &s->threads[i];
        c->sample.batches += thread->counters.batches;
        c->sample.sampled_nodes += thread->counters.sampled_nodes;
        c->sample.sampled_edges += thread->counters.sampled_edges;
        c->sample.batch_digest += thread->counters.batch_digest;
        c->sample.spot_digest += thread->counters.spot_digest;
        frontier_nodes += thread->frontier_nodes;
        deferred += thread->deferred_batches;
        bundle = gnn_max_u64(bundle, thread->bundle_peak);
    }
    c->needed_bytes = c->sample.sampled_edges * s->env->dataset->id_bytes;
    c->requested_ios = c->requested_bytes = GNN_UNKNOWN;                /* a mapping: only the kernel knows */
    c->cache_hits = c->cache_misses = c->cache_evictions = GNN_UNKNOWN; /* of feature rows: there are none */
    gnn_epoch_figure(out, "frontier_nodes", frontier_nodes);
    if (s->config->io != RS_IO_MAPPED)
        add_read_figures(s, before, &now, out);
    if (s->config->io != RS_IO_SORTED || s->config->requests > 0)
        return;
    gnn_epoch_figure(out, "sweeps", now.sweeps - before->sweeps);
    gnn_epoch_figure(out, "bundle", bundle);
    gnn_epoch_figure(out, "deferred_batches", deferred);
}

/* ---- the epoch ---- */

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    if (s->training != NULL)
        return rs_training_begin(s->training, pipeline, err);
    return gnn_pipeline_stage(pipeline, "sample", s->sizes.threads, sample_stage, s, err);
}

enum gnn_status rs_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct ringsampler *const s = state;
    gnn_batch_order_begin(&s->order, epoch);
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        rs_thread_begin(&s->threads[i], epoch);
    const struct rs_fetch_counts before = sum_fetches(s);
    s->start_ns = gnn_now_ns(s->env->world);
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    fill_result(s, &before, out);
    if (s->training != NULL)
        rs_training_end(s->training, out);
    if (s->config->requests > 0)
        rs_on_demand_result(s, out);
    return status;
}
