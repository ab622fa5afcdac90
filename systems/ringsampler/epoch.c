/* An epoch: threads take their batches by a static rule and run to the end without meeting (paper, section 3.1).
 *
 *   consecutive   thread i: floor(M / n) batches in a row, the first M mod n threads one more (paper; sampling only)
 *   interleaved   thread i: batches i, i + n, … (always with training: batches are wanted in order)
 *   release       as consecutive, but thread i's first seed is number i * floor(M / n), not B times that: the released
 *                 code's bug. Seeds repeat between threads; kept to reproduce published capped figures (spec 7.1) */
#include "systems/ringsampler/ringsampler.h"

#include <assert.h>
#include <string.h>

/* First batch of a thread under the consecutive split; how many it has. */
static uint32_t consecutive(const struct ringsampler *s, uint32_t thread, uint32_t *count)
{
    const uint32_t each = s->batches / s->sizes.threads, over = s->batches % s->sizes.threads;
    *count = each + (thread < over);
    return thread * each + (thread < over ? thread : over);
}

/* The seed that batch `number` starts with under the released split. */
static uint64_t release_start(const struct ringsampler *s, uint32_t number)
{
    uint32_t thread = 0, count, first = consecutive(s, 0, &count);
    while (number >= first + count)
        first = consecutive(s, ++thread, &count);
    return (uint64_t)first + (uint64_t)(number - first) * s->env->workload->batch_size;
}

const gnn_node *rs_seeds(const struct ringsampler *s, uint32_t number, uint32_t *count)
{
    const uint32_t total = s->env->dataset->train.count, size = s->env->workload->batch_size;
    if (s->config->requests > 0) { /* a stream of single targets: the order, again and again */
        *count = 1;
        return s->order + number % total;
    }
    assert(number < s->batches);
    const uint64_t start = s->config->split == RS_SPLIT_RELEASE ? release_start(s, number) : (uint64_t)number * size;
    assert(start < total);
    const uint64_t left = total - start;
    *count = left < size ? (uint32_t)left : size;
    return s->order + start;
}

/* ---- sampling only ---- */

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    if (s->config->requests > 0)
        return rs_on_demand_thread(s, worker->index, &worker->items, err);
    struct rs_thread *const thread = &s->threads[worker->index];
    if (s->config->split == RS_SPLIT_INTERLEAVED) {
        const uint32_t n = s->sizes.threads, first = worker->index;
        const uint32_t count = first < s->batches ? (s->batches - first + n - 1) / n : 0;
        return rs_thread_run(thread, first, count, n, &worker->items, err);
    }
    uint32_t count;
    const uint32_t first = consecutive(s, worker->index, &count);
    return rs_thread_run(thread, first, count, 1, &worker->items, err);
}

/* ---- result ---- */

static void add_counts(struct rs_fetch_counts *sum, const struct rs_fetch_counts *one)
{
    sum->reads += one->reads;
    sum->completions += one->completions;
    sum->requested_bytes += one->requested_bytes;
    sum->submits += one->submits;
    sum->cache_hits += one->cache_hits;
    sum->cache_misses += one->cache_misses;
    sum->sweeps += one->sweeps;
    sum->in_flight_peak = one->in_flight_peak > sum->in_flight_peak ? one->in_flight_peak : sum->in_flight_peak;
}

static void sum_fetches(const struct ringsampler *s, struct rs_fetch_counts *sum)
{
    *sum = (struct rs_fetch_counts){.reads = 0};
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        add_counts(sum, &s->threads[i].fetch->counts);
}

static void fill_extras(const struct ringsampler *s, const struct rs_fetch_counts *now, uint64_t frontier_nodes,
                        uint64_t deferred, uint64_t bundle, struct gnn_epoch_result *out)
{
    const struct rs_fetch_counts *const before = &s->before;
    gnn_epoch_figure(out, "frontier_nodes", frontier_nodes);
    if (s->config->io == RS_IO_MAPPED)
        return;
    gnn_epoch_figure(out, "edge_reads", now->reads - before->reads);
    gnn_epoch_figure(out, "edge_completions", now->completions - before->completions);
    gnn_epoch_figure(out, "submits", now->submits - before->submits);
    gnn_epoch_figure(out, "in_flight_peak", now->in_flight_peak);
    if (s->config->io != RS_IO_SORTED)
        return;
    if (s->cache != NULL) {
        gnn_epoch_figure(out, "sector_hits", now->cache_hits - before->cache_hits);
        gnn_epoch_figure(out, "sector_misses", now->cache_misses - before->cache_misses);
    }
    if (s->config->requests > 0)
        return;
    gnn_epoch_figure(out, "sweeps", now->sweeps - before->sweeps);
    gnn_epoch_figure(out, "bundle", bundle);
    gnn_epoch_figure(out, "deferred_batches", deferred);
}

static void fill_result(const struct ringsampler *s, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    struct rs_fetch_counts now;
    uint64_t frontier_nodes = 0, deferred = 0, bundle = 0;
    for (uint32_t i = 0; i < s->sizes.threads; i++) {
        const struct rs_thread *const thread = &s->threads[i];
        c->sample.batches += thread->counters.batches;
        c->sample.sampled_nodes += thread->counters.sampled_nodes;
        c->sample.sampled_edges += thread->counters.sampled_edges;
        c->sample.batch_digest += thread->counters.batch_digest;
        frontier_nodes += thread->frontier_nodes;
        deferred += thread->deferred_batches;
        bundle = thread->bundle_peak > bundle ? thread->bundle_peak : bundle;
    }
    sum_fetches(s, &now);
    c->needed_bytes = c->sample.sampled_edges * sizeof(gnn_node) + s->extracted_rows * s->env->dataset->row_bytes;
    c->requested_ios = c->requested_bytes = GNN_UNKNOWN;                /* a mapping: only the kernel knows */
    c->cache_hits = c->cache_misses = c->cache_evictions = GNN_UNKNOWN; /* of feature rows: there are none */
    if (s->config->io != RS_IO_MAPPED) {
        c->requested_ios = now.reads - s->before.reads;
        c->requested_bytes = now.requested_bytes - s->before.requested_bytes;
    }
    fill_extras(s, &now, frontier_nodes, deferred, bundle, out);
    if (!s->env->workload->sample_only)
        rs_training_result(s, out);
    if (s->config->requests > 0)
        rs_on_demand_result(s, out);
}

/* ---- the epoch ---- */

static void begin(struct ringsampler *s, uint64_t epoch)
{
    const struct gnn_split *const train = &s->env->dataset->train;
    gnn_epoch_order(s->env->workload->seed, epoch, train->nodes, train->count, s->order);
    for (uint32_t i = 0; i < s->sizes.threads; i++)
        rs_thread_begin(&s->threads[i], epoch);
    sum_fetches(s, &s->before);
    s->extracted_rows = 0;
    s->start_ns = gnn_now_ns(s->env->world);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct ringsampler *const s = ctx;
    if (s->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "sample", s->sizes.threads, sample_stage, s, err);
    return rs_training_stages(s, pipeline, err);
}

enum gnn_status rs_epoch(struct ringsampler *s, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    begin(s, epoch);
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    rs_training_stages_close(s);
    fill_result(s, out);
    return status;
}
