/* SPDX-License-Identifier: MIT */
#include "harness/stats/bound.h"

#include "harness/base/bitset.h"
#include "harness/base/units.h"
#include "harness/sample/digest.h"
#include "harness/stats/curves.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gnn_row_trace {
    struct gnn_world *world;
    const struct gnn_dataset *dataset;
    struct gnn_row_trace_config config;
    struct gnn_row_trace_epoch *epochs; /* (config.epochs) */
    uint64_t *ends;                     /* (config.epochs) positions behind each */
    gnn_node *rows;                     /* (count) */
    uint64_t count, distinct, largest_batch;
};

/* What only sampling needs. */
struct sampling {
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    gnn_node *seeds, *order; /* (seed_count) */
    uint64_t *seen;          /* a set of nodes */
    uint32_t seed_count;
};

/* ---- sampling ---- */

static enum gnn_status add_batch(struct gnn_row_trace *t, struct sampling *s, struct gnn_row_trace_epoch *epoch,
                                 struct gnn_err *err)
{
    const struct gnn_batch_view *const view = gnn_batch_view(s->batch);
    if (view->node_count > t->config.accesses_max - t->count)
        return gnn_fail(err, GNN_ENOMEM,
                        "the mini-batches ask for more than %" PRIu64
                        " rows: raise --accesses (8.2 bytes each), or take fewer epochs or a smaller scale",
                        t->config.accesses_max);
    memcpy(t->rows + t->count, view->nodes, view->node_count * sizeof *t->rows);
    t->count += view->node_count;
    t->largest_batch = gnn_max_u64(t->largest_batch, view->node_count);
    for (uint32_t i = 0; i < view->node_count; i++)
        epoch->rows_new += gnn_bitset_add(s->seen, view->nodes[i]);
    epoch->rows_asked += view->node_count;
    epoch->batches++;
    return GNN_OK;
}

static enum gnn_status sample_epoch(struct gnn_row_trace *t, struct sampling *s, uint32_t e, struct gnn_err *err)
{
    const struct gnn_row_trace_config *const c = &t->config;
    struct gnn_sample_counters before, after;
    uint32_t batches = (uint32_t)gnn_div_up(s->seed_count, c->batch_size);
    if (c->max_batches > 0)
        batches = gnn_min_u32(batches, c->max_batches);
    gnn_sampler_counters(s->sampler, &before);
    gnn_epoch_order(c->seed, e, s->seeds, s->seed_count, s->order);
    for (uint32_t k = 0; k < batches; k++) {
        const uint32_t first = k * c->batch_size, count = gnn_min_u32(c->batch_size, s->seed_count - first);
        if (c->stop != NULL && atomic_load(c->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped");
        GNN_TRY(gnn_sampler_sample(s->sampler, e, k, s->order + first, count, s->batch, err));
        GNN_TRY(add_batch(t, s, &t->epochs[e], err));
    }
    gnn_sampler_counters(s->sampler, &after);
    t->epochs[e].batch_digest = after.batch_digest - before.batch_digest;
    t->ends[e] = t->count;
    t->distinct += t->epochs[e].rows_new;
    return GNN_OK;
}

static enum gnn_status open_sampling(struct gnn_row_trace *t, struct gnn_lists *lists, struct sampling *s,
                                     struct gnn_err *err)
{
    const struct gnn_dataset *const d = t->dataset;
    struct gnn_sampler_config config = {
        .seed = t->config.seed, .layers = t->config.fanout.count, .floyd_biased = t->config.floyd_biased};
    memcpy(config.fanout, t->config.fanout.values, sizeof config.fanout);
    GNN_TRY(gnn_sampler_open(t->world, &config, d, gnn_lists_source(lists), &s->sampler, err));
    GNN_TRY(gnn_batch_open(t->world, &s->batch, err));
    s->seed_count = d->train.count > 0 ? d->train.count : d->node_count;
    GNN_MEM_NEW(t->world, s->seeds, s->seed_count, "seeds", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(t->world, s->order, s->seed_count, "order of an epoch", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(t->world, s->seen, gnn_bitset_words(d->node_count), "rows seen", GNN_MEM_PLAIN, err);
    memset(s->seen, 0, gnn_bitset_words(d->node_count) * sizeof *s->seen);
    for (uint32_t i = 0; i < s->seed_count; i++)
        s->seeds[i] = d->train.count > 0 ? d->train.nodes[i] : i;
    return GNN_OK;
}

static enum gnn_status sample_all(struct gnn_row_trace *t, struct gnn_lists *lists, struct gnn_err *err)
{
    struct sampling s = {0};
    enum gnn_status status = open_sampling(t, lists, &s, err);
    for (uint32_t e = 0; e < t->config.epochs && status == GNN_OK; e++)
        status = sample_epoch(t, &s, e, err);
    gnn_mem_free(t->world, s.seen);
    gnn_mem_free(t->world, s.order);
    gnn_mem_free(t->world, s.seeds);
    gnn_batch_close(t->world, s.batch);
    gnn_sampler_close(s.sampler);
    return status;
}

static enum gnn_status check_config(const struct gnn_row_trace_config *config, struct gnn_err *err)
{
    if (config->batch_size == 0 || config->fanout.count == 0 || config->epochs == 0)
        return gnn_fail(err, GNN_EUSAGE, "a bound needs an epoch, a mini-batch a seed and a fan-out");
    if (config->accesses_max >= UINT32_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%" PRIu64 " accesses to keep: at most %" PRIu32, config->accesses_max,
                        UINT32_MAX - 1);
    return GNN_OK;
}

static enum gnn_status open_memory(struct gnn_row_trace *t, struct gnn_err *err)
{
    GNN_NEW(t->epochs, t->config.epochs, err, "%" PRIu32 " epochs", t->config.epochs);
    GNN_NEW(t->ends, t->config.epochs, err, "%" PRIu32 " epochs", t->config.epochs);
    /* what stays untouched is address space alone */
    GNN_MEM_NEW(t->world, t->rows, gnn_max_u64(t->config.accesses_max, 1), "row accesses", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

enum gnn_status gnn_row_trace_open(struct gnn_world *world, struct gnn_lists *lists,
                                   const struct gnn_row_trace_config *config, struct gnn_row_trace **out,
                                   struct gnn_err *err)
{
    struct gnn_row_trace *t;
    GNN_TRY(check_config(config, err));
    GNN_NEW(t, 1, err, "rows of mini-batches");
    t->world = world;
    t->dataset = gnn_lists_dataset(lists);
    t->config = *config;
    enum gnn_status status = open_memory(t, err);
    GNN_NEXT(status, sample_all(t, lists, err));
    return GNN_OPENED(status, t, out, gnn_row_trace_close);
}

void gnn_row_trace_close(struct gnn_row_trace *t)
{
    if (t == NULL)
        return;
    gnn_mem_free(t->world, t->rows);
    free(t->ends);
    free(t->epochs);
    free(t);
}

/* ---- what is asked of it ---- */

const struct gnn_row_trace_epoch *gnn_row_trace_epochs(const struct gnn_row_trace *t, uint32_t *count)
{
    *count = t->config.epochs;
    return t->epochs;
}

uint64_t gnn_row_trace_row_bytes(const struct gnn_row_trace *t)
{
    return t->dataset->row_bytes;
}

uint32_t gnn_row_trace_digest_version(void)
{
    return GNN_DIGEST_VERSION;
}

uint64_t gnn_row_trace_distinct(const struct gnn_row_trace *t)
{
    return t->distinct;
}

uint64_t gnn_row_trace_largest_batch(const struct gnn_row_trace *t)
{
    return t->largest_batch;
}

uint64_t gnn_row_trace_memory_min(const struct gnn_row_trace *t)
{
    return gnn_mul_bytes(t->largest_batch, t->dataset->row_bytes);
}

/* Returns GNN_EUSAGE if the rows of a mini-batch do not fit together. */
static enum gnn_status check_memory(const struct gnn_row_trace *t, uint64_t memory_bytes, struct gnn_err *err)
{
    char memory[32], least[32];
    const uint64_t least_bytes = gnn_row_trace_memory_min(t);
    if (memory_bytes >= least_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "memory of %s (%" PRIu64 " bytes) is below the largest mini-batch (%" PRIu64
                    " rows, %s): minimum reads assume that all rows of a mini-batch are in memory together. Use at "
                    "least %" PRIu64 " bytes, or smaller mini-batches",
                    gnn_format_bytes(memory_bytes, memory, sizeof memory), memory_bytes, t->largest_batch,
                    gnn_format_bytes(least_bytes, least, sizeof least), least_bytes);
}

enum gnn_status gnn_row_trace_least(const struct gnn_row_trace *t, const uint64_t *memory_bytes, uint32_t count,
                                    uint64_t *rows, struct gnn_err *err)
{
    const struct gnn_accesses accesses = {.rows = t->rows, .count = t->count, .node_count = t->dataset->node_count};
    uint64_t *slots;
    assert(t->dataset->row_bytes > 0);
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(check_memory(t, memory_bytes[i], err));
    GNN_NEW(slots, count + UINT64_C(1), err, "%" PRIu32 " sizes of memory", count);
    for (uint32_t i = 0; i < count; i++)
        slots[i] = memory_bytes[i] / t->dataset->row_bytes;
    const enum gnn_status status =
        gnn_belady_misses(t->world, &accesses, slots, count, t->ends, t->config.epochs, rows, err);
    free(slots);
    return status;
}

/* ---- a device ---- */

void gnn_row_costs_of(const struct gnn_profile_storage *st, uint64_t row_bytes, struct gnn_row_costs *out)
{
    assert(st->size_count > 0);
    assert(st->devices > 0);
    assert(st->write_bytes_per_s > 0);
    double byte_ps = INFINITY;
    for (uint32_t s = 0; s < st->size_count; s++)
        byte_ps = fmin(byte_ps, gnn_storage_best_read_ps(st, st->size_bytes[s]) / (double)st->size_bytes[s]);
    out->row_ns = gnn_storage_best_read_ps(st, row_bytes) / 1000 / st->devices;
    out->byte_ns = byte_ps / 1000 / st->devices;
    out->write_byte_ns = 1e9 / (double)st->write_bytes_per_s / st->devices;
}

/* Distribution passes until each bucket fits in memory: memory holds a block of every bucket. */
static uint32_t passes_of(double rows, double memory_rows, double block_rows)
{
    const double buckets = memory_rows / block_rows;
    double reach = memory_rows * buckets;
    uint32_t passes = 1;
    if (buckets < 2)
        return UINT32_MAX; /* no sorting in so little */
    while (reach < rows) {
        reach *= buckets;
        passes++;
    }
    return passes;
}

void gnn_row_times_of(const struct gnn_row_costs *costs, uint64_t row_bytes, uint64_t rows, uint64_t distinct,
                      uint64_t memory_rows, struct gnn_row_times *out)
{
    const double bytes = (double)rows * (double)row_bytes;
    const double block_rows = fmax(costs->row_ns / costs->byte_ns / (double)row_bytes, 1);
    const double swept = (double)gnn_min_u64(distinct, rows) * (double)row_bytes;
    out->bytes_s = 1e-9 * bytes * costs->byte_ns;
    out->random_s = 1e-9 * (double)rows * costs->row_ns;
    out->passes = passes_of((double)rows, (double)memory_rows, block_rows);
    out->sorted_s =
        out->passes == UINT32_MAX
            ? INFINITY
            : 1e-9 * (swept * costs->byte_ns + out->passes * bytes * (costs->byte_ns + costs->write_byte_ns));
}
