/* SPDX-License-Identifier: MIT */
#include "systems/ginex/feature_cache.h"

#include "harness/pipeline/team.h"
#include "harness/storage/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PREFETCH = 16 };
enum {
    FILL_SPAN_BYTES = 128 << 10, /* of one read of the direct fill */
    FILL_GAP_BYTES = 8 << 10,    /* rows further apart than this are read apart */
    FILL_DEPTH = 33,             /* one span in use, 32 in flight */
};

/* Counts of one worker; padded so that two workers never share a cache line. */
struct worker_counts {
    struct ginex_cache_counts counts;
    uint64_t padding[13];
};
_Static_assert(sizeof(struct worker_counts) >= 128, "a cache line and its neighbour, which the CPU fetches too");
_Static_assert(FILL_GAP_BYTES < FILL_SPAN_BYTES, "a read spans gaps between rows");

struct ginex_cache {
    struct gnn_world *world;
    struct ginex_cache_config config;
    struct gnn_row_layout layout;
    uint64_t features_bytes;
    uint32_t *table; /* (N) slot + 1; 0: not here. Fresh memory is an empty table */
    unsigned char *rows;
    unsigned char *windows; /* (workers, window_bytes_max); NULL when rows are units */
    struct worker_counts *counts;
};

uint64_t ginex_cache_bytes(const struct ginex_cache_config *config)
{
    const struct gnn_row_layout layout = gnn_row_layout(config->row_bytes, config->unit_bytes);
    const uint64_t table = gnn_mul_bytes(config->node_count, sizeof(uint32_t));
    const uint64_t windows = gnn_mul_bytes(config->workers, layout.window_bytes_max);
    return gnn_add_bytes(gnn_add_bytes(table, windows), gnn_mul_bytes(config->rows, config->row_bytes));
}

enum gnn_status ginex_cache_open(struct gnn_world *world, const struct ginex_cache_config *c, struct ginex_cache **out,
                                 struct gnn_err *err)
{
    assert(c->rows > 0);
    assert(c->rows <= c->node_count);
    struct gnn_file_info info;
    struct ginex_cache *cache;
    GNN_NEW(cache, 1, err, "ginex's feature cache");
    *out = cache;
    gnn_file_info(world, c->features, &info);
    cache->world = world;
    cache->config = *c;
    cache->layout = gnn_row_layout(c->row_bytes, c->unit_bytes);
    cache->features_bytes = info.size_bytes;
    const uint64_t window_bytes = gnn_mul_bytes(c->workers, cache->layout.window_bytes_max);
    GNN_MEM_NEW(world, cache->table, c->node_count, "ginex address table", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, cache->rows, gnn_mul_bytes(c->rows, c->row_bytes), "ginex feature cache", GNN_MEM_FEATURES, err);
    if (c->unit_bytes > 1 && c->row_bytes % c->unit_bytes != 0)
        GNN_MEM_NEW(world, cache->windows, window_bytes, "ginex read windows", GNN_MEM_FEATURES, err);
    GNN_NEW(cache->counts, c->workers, err, "counts of %" PRIu32 " ginex gather threads", c->workers);
    return GNN_OK;
}

void ginex_cache_close(struct ginex_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->counts);
    gnn_mem_free(cache->world, cache->windows);
    gnn_mem_free(cache->world, cache->rows);
    gnn_mem_free(cache->world, cache->table);
    free(cache);
}

static unsigned char *row_at(const struct ginex_cache *cache, uint32_t slot)
{
    assert(slot < cache->config.rows);
    return cache->rows + (uint64_t)slot * cache->config.row_bytes;
}

/* ---- fill ---- */

void ginex_cache_assign(struct ginex_cache *cache, const gnn_node *initial, uint32_t count)
{
    assert(count <= cache->config.rows);
    gnn_charge(cache->world, GNN_WORK_TABLE_ENTRY, count);
    for (uint32_t k = 0; k < count; k++) {
        assert(cache->table[initial[k]] == 0);
        cache->table[initial[k]] = k + 1;
    }
}

enum gnn_status ginex_cache_fill(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    const struct ginex_fill_job *job = ctx;
    const uint32_t row_bytes = job->cache->config.row_bytes;
    uint64_t first, end;
    gnn_team_share(job->count, worker, workers, &first, &end);
    if (first == end)
        return GNN_OK;
    return gnn_map_gather_rows(job->cache->world, job->features, row_bytes, job->initial + first, end - first,
                               row_at(job->cache, (uint32_t)first), row_bytes, err);
}

/* The initial nodes, cut into runs whose rows lie close together; a span's tag is the position of its run's first. */
struct runs {
    const struct ginex_cache *cache;
    const struct gnn_stream *features;
    const gnn_node *initial;
    uint32_t count, next;
};

static uint64_t window_start(const struct ginex_cache *cache, gnn_node v)
{
    return gnn_round_down((uint64_t)v * cache->config.row_bytes, cache->config.unit_bytes);
}

static uint64_t window_end(const struct ginex_cache *cache, gnn_node v)
{
    const uint64_t end = gnn_round_up(((uint64_t)v + 1) * cache->config.row_bytes, cache->config.unit_bytes);
    return gnn_min_u64(end, cache->features_bytes);
}

static bool next_run(void *ctx, struct gnn_span *out)
{
    struct runs *r = ctx;
    if (r->next == r->count)
        return false;
    const uint32_t first = r->next++;
    const uint64_t start = window_start(r->cache, r->initial[first]);
    uint64_t end = window_end(r->cache, r->initial[first]);
    for (; r->next < r->count; r->next++) {
        const gnn_node v = r->initial[r->next];
        assert(v > r->initial[r->next - 1]);
        if (window_start(r->cache, v) > end + FILL_GAP_BYTES || window_end(r->cache, v) - start > FILL_SPAN_BYTES)
            break;
        end = window_end(r->cache, v);
    }
    *out = (struct gnn_span){.stream = r->features, .offset_bytes = start, .len_bytes = end - start, .tag = first};
    return true;
}

/* Copies every row of the run to its slot. */
static void scatter_run(const struct ginex_cache *cache, const struct runs *runs, const struct gnn_span *span,
                        const unsigned char *data)
{
    const uint64_t row_bytes = cache->config.row_bytes, end = span->offset_bytes + span->len_bytes;
    for (uint32_t k = (uint32_t)span->tag; k < runs->count; k++) {
        const uint64_t at = runs->initial[k] * row_bytes;
        if (at + row_bytes > end)
            break;
        gnn_mem_copy(cache->world, row_at(cache, k), data + (at - span->offset_bytes), row_bytes);
    }
}

static uint64_t fill_span_bytes(uint32_t row_bytes)
{
    return gnn_max_u64(gnn_span_room(row_bytes) + GNN_PAGE_BYTES, FILL_SPAN_BYTES);
}

uint64_t ginex_cache_fill_direct_bytes(uint32_t row_bytes)
{
    return FILL_DEPTH * fill_span_bytes(row_bytes);
}

static enum gnn_status fill_runs(struct ginex_cache *cache, struct gnn_span_reader *reader, struct runs *runs,
                                 struct gnn_err *err)
{
    gnn_span_reader_start(reader, next_run, runs);
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_span_reader_next(reader, &span, &data, err));
        if (data == NULL)
            return GNN_OK;
        scatter_run(cache, runs, &span, data);
    }
}

enum gnn_status ginex_cache_fill_direct(struct ginex_cache *cache, enum gnn_ring_engine engine, const gnn_node *initial,
                                        uint32_t count, uint64_t *bytes, uint64_t *ios, struct gnn_err *err)
{
    const struct gnn_span_reader_config config = {.engine = engine,
                                                  .file = cache->config.features,
                                                  .depth = FILL_DEPTH,
                                                  .span_bytes_max = fill_span_bytes(cache->config.row_bytes),
                                                  .mem_flags = GNN_MEM_FEATURES};
    struct runs runs = {.cache = cache, .initial = initial, .count = count};
    struct gnn_stream *features = NULL;
    struct gnn_span_reader *reader = NULL;
    enum gnn_status status =
        gnn_stream_attach(cache->world, cache->config.features, cache->features_bytes, &features, err);
    GNN_NEXT(status, gnn_span_reader_open(cache->world, &config, &reader, err));
    if (status == GNN_OK) {
        struct gnn_reader_counters counters;
        runs.features = features;
        status = fill_runs(cache, reader, &runs, err);
        gnn_span_reader_counters(reader, &counters);
        *bytes += counters.requested_bytes;
        *ios += counters.requested_ios;
    }
    gnn_span_reader_close(reader);
    gnn_stream_close(features);
    return status;
}

/* ---- gather ---- */

static enum gnn_status read_row(struct ginex_cache *cache, uint32_t worker, gnn_node v, void *dst, struct gnn_err *err)
{
    const uint64_t row_bytes = cache->config.row_bytes, unit = cache->config.unit_bytes;
    const uint64_t at = v * row_bytes, start = gnn_round_down(at, unit);
    const uint64_t len = gnn_round_up(at + row_bytes, unit) - start;
    unsigned char *const window =
        cache->windows == NULL ? dst : cache->windows + (uint64_t)worker * cache->layout.window_bytes_max;
    struct ginex_cache_counts *const counts = &cache->counts[worker].counts;
    assert(cache->windows != NULL || len == row_bytes);
    assert(cache->windows == NULL || len <= cache->layout.window_bytes_max);
    GNN_TRY(gnn_read_window(cache->world, cache->config.features, start, window, len, at + row_bytes - start, err));
    if (window != dst)
        gnn_mem_copy(cache->world, dst, window + (at - start), row_bytes);
    counts->misses++;
    counts->bytes += len;
    counts->ios++;
    return GNN_OK;
}

enum gnn_status ginex_cache_gather(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    const struct ginex_gather *job = ctx;
    struct ginex_cache *cache = job->cache;
    const uint64_t row_bytes = cache->config.row_bytes;
    uint64_t first, end;
    assert(workers == cache->config.workers);
    gnn_team_share(job->count, worker, workers, &first, &end);
    gnn_charge(cache->world, GNN_WORK_TABLE_ENTRY, end - first);
    gnn_charge(cache->world, GNN_WORK_FRESH_PAGE, (end - first) * row_bytes / GNN_PAGE_BYTES); /* its own a batch */
    for (uint64_t i = first; i < end; i++) {
        if (i + PREFETCH < end)
            __builtin_prefetch(&cache->table[job->nodes[i + PREFETCH]]);
        unsigned char *const dst = (unsigned char *)job->dst + i * row_bytes;
        const uint32_t entry = cache->table[job->nodes[i]];
        if (entry != 0)
            gnn_mem_copy(cache->world, dst, row_at(cache, entry - 1), row_bytes);
        else
            GNN_TRY(read_row(cache, worker, job->nodes[i], dst, err));
    }
    return GNN_OK;
}

void ginex_cache_take_counts(struct ginex_cache *cache, struct ginex_cache_counts *out)
{
    *out = (struct ginex_cache_counts){.misses = 0};
    for (uint32_t w = 0; w < cache->config.workers; w++) {
        struct ginex_cache_counts *const counts = &cache->counts[w].counts;
        out->misses += counts->misses;
        out->bytes += counts->bytes;
        out->ios += counts->ios;
        *counts = (struct ginex_cache_counts){.misses = 0};
    }
}

/* ---- change sets ---- */

enum gnn_status ginex_cache_apply(void *ctx, uint32_t worker, uint32_t workers, struct gnn_err *err)
{
    const struct ginex_apply *job = ctx;
    struct ginex_cache *cache = job->cache;
    const struct ginex_changes *changes = job->changes;
    const uint64_t row_bytes = cache->config.row_bytes, nodes = cache->config.node_count;
    uint64_t first, end;
    assert(changes->count <= job->row_count);
    gnn_team_share(changes->count, worker, workers, &first, &end);
    gnn_charge(cache->world, GNN_WORK_TABLE_ENTRY, 3 * (end - first));
    for (uint64_t k = first; k < end; k++) {
        const gnn_node in = changes->in_node[k], out = changes->out_node[k];
        if (in >= nodes || out >= nodes || changes->in_row[k] >= job->row_count)
            return gnn_fail(err, GNN_EFORMAT,
                            "ginex: change %" PRIu64 " of the trace is damaged: row %" PRIu32 " of %" PRIu32
                            ", node %" PRIu32 " for node %" PRIu32 ", but there are %" PRIu64
                            " nodes; check the disk and run again",
                            k, changes->in_row[k], job->row_count, in, out, nodes);
        if (cache->table[out] == 0 || cache->table[in] != 0)
            return gnn_fail(err, GNN_EBUG,
                            "ginex: change %" PRIu64 " replaces node %" PRIu32 " by node %" PRIu32
                            ", but the cache differs from the state that the inspection predicted",
                            k, in, out);
        const uint32_t entry = cache->table[out];
        gnn_mem_copy(cache->world, row_at(cache, entry - 1),
                     (const unsigned char *)job->rows + changes->in_row[k] * row_bytes, row_bytes);
        cache->table[in] = entry;
        cache->table[out] = 0;
    }
    return GNN_OK;
}
