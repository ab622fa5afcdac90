#include "systems/ginex/score.h"

#include "harness/storage/stream.h"
#include "harness/system/sampling.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 1 << 16, PREFETCH = 32 };

bool ginex_walk_next(void *ctx, struct gnn_span *out)
{
    struct ginex_walk *walk = ctx;
    const uint64_t left = gnn_stream_bytes(walk->stream) - walk->at_bytes;
    if (left == 0)
        return false;
    *out = (struct gnn_span){.stream = walk->stream,
                             .offset_bytes = walk->at_bytes,
                             .len_bytes = left < walk->step_bytes ? left : walk->step_bytes};
    walk->at_bytes += out->len_bytes;
    return true;
}

static enum gnn_status count_block(const struct gnn_dataset *dataset, const gnn_node *neighbours, uint64_t count,
                                   uint32_t *degree, struct gnn_err *err)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i + PREFETCH < count && neighbours[i + PREFETCH] < dataset->node_count)
            __builtin_prefetch(&degree[neighbours[i + PREFETCH]], 1);
        if (neighbours[i] >= dataset->node_count)
            return gnn_fail(err, GNN_EFORMAT,
                            "dataset %s: neighbour %" PRIu32 ", but there are %" PRIu32
                            " nodes; run `oocgnn prepare --check`",
                            dataset->name, neighbours[i], dataset->node_count);
        degree[neighbours[i]]++;
    }
    return GNN_OK;
}

enum gnn_status ginex_out_degrees(const struct gnn_env *env, struct gnn_span_reader *reader,
                                  const struct gnn_stream *indices, uint32_t *degree, struct gnn_err *err)
{
    struct ginex_walk walk = {.stream = indices, .step_bytes = GINEX_SCAN_BYTES};
    gnn_span_reader_start(reader, ginex_walk_next, &walk);
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_span_reader_next(reader, &span, &data, err));
        if (data == NULL)
            return GNN_OK;
        const uint64_t count = span.len_bytes / sizeof(gnn_node);
        gnn_charge(env->world, GNN_WORK_TABLE_ENTRY, count);
        GNN_TRY(count_block(env->dataset, data, count, degree, err));
        GNN_TRY(gnn_check_stop(env, err));
    }
}

float ginex_score(uint32_t out_degree, uint64_t in_degree)
{
    return ((float)out_degree + 1e-8f) / ((float)in_degree + 1e-8f);
}

static uint64_t in_degree(const struct gnn_dataset *dataset, gnn_node v)
{
    return dataset->indptr[v + 1] - dataset->indptr[v];
}

/* Positive floats order like their bits. */
static uint32_t key_of(const struct gnn_dataset *dataset, const uint32_t *out_degree, gnn_node v)
{
    const float score = ginex_score(out_degree[v], in_degree(dataset, v));
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits;
}

struct counting {
    const struct gnn_dataset *dataset;
    const uint32_t *out_degree;
    enum ginex_cost cost;
    bool skip_isolated;
    uint64_t *bins; /* (BINS) cost per bin */
};

static uint64_t cost_of(const struct counting *c, gnn_node v)
{
    return c->cost == GINEX_COST_ROW ? 1 : in_degree(c->dataset, v) + 1;
}

/* Costs by the upper half of the key, or by the lower half of the keys whose upper half is `upper`. */
static void fill_bins(const struct counting *c, bool lower, uint32_t upper)
{
    memset(c->bins, 0, BINS * sizeof *c->bins);
    for (gnn_node v = 0; v < c->dataset->node_count; v++) {
        if (c->skip_isolated && in_degree(c->dataset, v) == 0)
            continue;
        const uint32_t key = key_of(c->dataset, c->out_degree, v);
        if (!lower || key >> 16 == upper)
            c->bins[lower ? key & 0xffff : key >> 16] += cost_of(c, v);
    }
}

/* The highest bin that does not fit into *budget whole; what lies above it is taken off. -1: all fit. */
static int64_t last_bin(const uint64_t *bins, uint64_t *budget)
{
    for (int64_t bin = BINS - 1; bin >= 0; bin--) {
        if (bins[bin] > *budget)
            return bin;
        *budget -= bins[bin];
    }
    return -1;
}

/* Of the nodes with the boundary score as many as fit, by ID; and the sums of all that is chosen. */
static void settle(const struct counting *c, uint64_t budget, struct ginex_choice *out)
{
    bool open = true;
    uint64_t left = budget;
    for (gnn_node v = 0; v < c->dataset->node_count; v++) {
        if (c->skip_isolated && in_degree(c->dataset, v) == 0)
            continue;
        const uint32_t key = key_of(c->dataset, c->out_degree, v);
        const uint64_t cost = cost_of(c, v);
        bool taken = key > out->key;
        if (key == out->key && open) {
            open = cost <= left;
            taken = open;
            left -= taken ? cost : 0;
            if (taken) {
                out->last = v;
                out->any = true;
            }
        }
        out->nodes += taken;
        out->cost += taken ? cost : 0;
    }
}

enum gnn_status ginex_choose(const struct gnn_dataset *dataset, const uint32_t *out_degree, enum ginex_cost cost,
                             uint64_t budget, bool skip_isolated, struct ginex_choice *out, struct gnn_err *err)
{
    *out = (struct ginex_choice){.skip_isolated = skip_isolated};
    struct counting c = {dataset, out_degree, cost, skip_isolated, calloc(BINS, sizeof(uint64_t))};
    if (c.bins == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: scores");
    uint64_t left = budget;
    fill_bins(&c, false, 0);
    const int64_t upper = last_bin(c.bins, &left);
    int64_t lower = -1;
    if (upper >= 0) {
        fill_bins(&c, true, (uint32_t)upper);
        lower = last_bin(c.bins, &left);
        assert(lower >= 0);
    }
    out->key = upper < 0 ? 0 : (uint32_t)(upper << 16 | lower);
    settle(&c, left, out);
    free(c.bins);
    assert(out->cost <= budget);
    return GNN_OK;
}

bool ginex_chosen(const struct ginex_choice *choice, const struct gnn_dataset *dataset, const uint32_t *out_degree,
                  gnn_node v)
{
    if (choice->skip_isolated && in_degree(dataset, v) == 0)
        return false;
    const uint32_t key = key_of(dataset, out_degree, v);
    if (key != choice->key)
        return key > choice->key;
    return choice->any && v <= choice->last;
}
