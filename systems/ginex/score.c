/* SPDX-License-Identifier: MIT */
#include "systems/ginex/score.h"

#include "harness/base/id_width.h"
#include "harness/graph/invariants.h"
#include "harness/storage/stream.h"
#include "harness/system/sampling.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 1 << 16, PREFETCH = 32 };
enum { SCAN_BYTES = 1 << 20, SCAN_DEPTH = 4 }; /* of one read of the scan; reads in memory */
_Static_assert(SCAN_BYTES % sizeof(uint64_t) == 0, "a piece holds whole neighbours");

/* ---- the scan ---- */

static bool next_piece(void *ctx, struct gnn_span *out)
{
    struct ginex_scan *scan = ctx;
    const uint64_t bytes = gnn_stream_bytes(scan->indices);
    assert(scan->next_bytes <= bytes);
    if (scan->next_bytes == bytes)
        return false;
    const uint64_t len = gnn_min_u64(bytes - scan->next_bytes, SCAN_BYTES);
    *out = (struct gnn_span){.stream = scan->indices, .offset_bytes = scan->next_bytes, .len_bytes = len};
    scan->next_bytes += len;
    return true;
}

void ginex_scan_start(struct ginex_scan *scan)
{
    scan->next_bytes = 0;
    gnn_span_reader_start(scan->reader, next_piece, scan);
}

enum gnn_status ginex_scan_next(struct ginex_scan *scan, const void **ids, uint64_t *first_edge, uint64_t *count,
                                struct gnn_err *err)
{
    struct gnn_span span = {.len_bytes = 0};
    void *data;
    GNN_TRY(gnn_span_reader_next(scan->reader, &span, &data, err));
    const uint32_t id_bytes = scan->env->dataset->id_bytes;
    assert(span.len_bytes % id_bytes == 0);
    *ids = data;
    *first_edge = span.offset_bytes / id_bytes;
    *count = span.len_bytes / id_bytes;
    assert(*first_edge + *count <= scan->env->dataset->edge_count);
    return GNN_OK;
}

/* Counts up to the first ID outside the graph; returns how many. Compiled for each width on its own. */
static inline uint64_t count_ids(const void *ids, uint32_t id_bytes, uint64_t count, uint32_t node_count,
                                 uint32_t *degree)
{
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node ahead = i + PREFETCH < count ? gnn_id_at(ids, id_bytes, i + PREFETCH) : GNN_NODE_NONE;
        if (ahead < node_count)
            __builtin_prefetch(&degree[ahead], 1);
        const gnn_node v = gnn_id_at(ids, id_bytes, i);
        if (v >= node_count)
            return i;
        degree[v]++;
    }
    return count;
}

static enum gnn_status count_block(const struct gnn_dataset *dataset, const void *ids, uint64_t first, uint64_t count,
                                   uint32_t *degree, struct gnn_err *err)
{
    const uint32_t nodes = dataset->node_count;
    const uint64_t done = dataset->id_bytes == sizeof(gnn_node)
                              ? count_ids(ids, sizeof(gnn_node), count, nodes, degree)
                              : count_ids(ids, sizeof(uint64_t), count, nodes, degree);
    if (done == count)
        return GNN_OK;
    const void *const bad = (const char *)ids + done * dataset->id_bytes;
    return gnn_check_ids(bad, dataset->id_bytes, 1, first + done, nodes, dataset->indices_path, err);
}

static enum gnn_status count_out_degrees(struct ginex_scan *scan, struct gnn_err *err)
{
    ginex_scan_start(scan);
    for (;;) {
        const void *ids;
        uint64_t first_edge, count;
        GNN_TRY(ginex_scan_next(scan, &ids, &first_edge, &count, err));
        if (ids == NULL)
            return GNN_OK;
        gnn_charge(scan->env->world, GNN_WORK_TABLE_ENTRY, count);
        GNN_TRY(count_block(scan->env->dataset, ids, first_edge, count, scan->out_degree, err));
        GNN_TRY(gnn_check_stop(scan->env, err));
    }
}

uint64_t ginex_scan_bytes(const struct gnn_env *env)
{
    return gnn_add_bytes(gnn_mul_bytes(env->dataset->node_count, sizeof(uint32_t)), (uint64_t)SCAN_BYTES * SCAN_DEPTH);
}

enum gnn_status ginex_scan_open(const struct gnn_env *env, struct gnn_file *indices, struct ginex_scan *out,
                                struct gnn_err *err)
{
    const struct gnn_dataset *d = env->dataset;
    const struct gnn_span_reader_config reader = {
        .engine = env->io_engine, .file = indices, .depth = SCAN_DEPTH, .span_bytes_max = SCAN_BYTES};
    *out = (struct ginex_scan){.env = env};
    GNN_TRY(gnn_stream_attach(env->world, indices, d->indices_bytes, &out->indices, err));
    GNN_TRY(gnn_span_reader_open(env->world, &reader, &out->reader, err));
    GNN_MEM_NEW(env->world, out->out_degree, d->node_count, "ginex out-degrees", GNN_MEM_PLAIN, err);
    return count_out_degrees(out, err);
}

void ginex_scan_close(struct ginex_scan *scan)
{
    if (scan->env == NULL)
        return;
    gnn_mem_free(scan->env->world, scan->out_degree);
    gnn_span_reader_close(scan->reader);
    gnn_stream_close(scan->indices);
    *scan = (struct ginex_scan){.env = NULL};
}

/* ---- the choice ---- */

static uint64_t in_degree(const struct gnn_dataset *dataset, gnn_node v)
{
    assert(dataset->indptr[v] <= dataset->indptr[v + 1]);
    return dataset->indptr[v + 1] - dataset->indptr[v];
}

static bool left_out(const struct ginex_choice *choice, gnn_node v)
{
    return choice->skip_isolated && in_degree(choice->dataset, v) == 0;
}

/* The score's bits: positive floats order like them. */
static uint32_t key_of(const struct ginex_choice *choice, gnn_node v)
{
    const float score = ((float)choice->out_degree[v] + 1e-8f) / ((float)in_degree(choice->dataset, v) + 1e-8f);
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits;
}
_Static_assert(sizeof(float) == sizeof(uint32_t), "a score's bits are its key");

static uint64_t cost_of(const struct ginex_choice *choice, enum ginex_cost cost, gnn_node v)
{
    return cost == GINEX_COST_ROW ? 1 : in_degree(choice->dataset, v) + 1;
}

/* Sums the costs by the upper half of the key, or by the lower half of the keys whose upper half is `upper`. */
static void fill_bins(const struct ginex_choice *choice, enum ginex_cost cost, bool lower, uint32_t upper,
                      uint64_t *bins)
{
    memset(bins, 0, BINS * sizeof *bins);
    for (gnn_node v = 0; v < choice->dataset->node_count; v++) {
        if (left_out(choice, v))
            continue;
        const uint32_t key = key_of(choice, v);
        if (!lower || key >> 16 == upper)
            bins[lower ? key & 0xffff : key >> 16] += cost_of(choice, cost, v);
    }
}

/* Returns the highest bin that does not fit into *budget whole (-1: all fit), and takes those above off *budget. */
static int64_t last_bin(const uint64_t *bins, uint64_t *budget)
{
    for (int64_t bin = BINS - 1; bin >= 0; bin--) {
        if (bins[bin] > *budget)
            return bin;
        *budget -= bins[bin];
    }
    return -1;
}

/* Chooses as many of the nodes with the boundary score as fit, by ID, and sums up all that is chosen. */
static void choose_at_boundary(struct ginex_choice *choice, enum ginex_cost cost, uint64_t budget)
{
    bool open = true;
    uint64_t left = budget;
    for (gnn_node v = 0; v < choice->dataset->node_count; v++) {
        const uint64_t price = cost_of(choice, cost, v);
        if (open && !left_out(choice, v) && key_of(choice, v) == choice->key) {
            open = price <= left;
            if (open) {
                left -= price;
                choice->last = v;
                choice->any = true;
            }
        }
        if (ginex_chosen(choice, v)) {
            choice->nodes++;
            choice->cost += price;
        }
    }
}

enum gnn_status ginex_choose(const struct gnn_dataset *dataset, const uint32_t *out_degree, enum ginex_cost cost,
                             uint64_t budget, bool skip_isolated, struct ginex_choice *out, struct gnn_err *err)
{
    *out = (struct ginex_choice){.dataset = dataset, .out_degree = out_degree, .skip_isolated = skip_isolated};
    uint64_t *bins, left = budget;
    GNN_NEW(bins, BINS, err, "ginex's scores");
    fill_bins(out, cost, false, 0, bins);
    const int64_t upper = last_bin(bins, &left);
    if (upper >= 0) {
        fill_bins(out, cost, true, (uint32_t)upper, bins);
        const int64_t lower = last_bin(bins, &left);
        assert(lower >= 0);
        out->key = (uint32_t)(upper << 16 | lower);
    }
    choose_at_boundary(out, cost, left);
    free(bins);
    assert(out->cost <= budget);
    return GNN_OK;
}

bool ginex_chosen(const struct ginex_choice *choice, gnn_node v)
{
    if (left_out(choice, v))
        return false;
    const uint32_t key = key_of(choice, v);
    return key != choice->key ? key > choice->key : choice->any && v <= choice->last;
}

enum gnn_status ginex_top_nodes_open(const struct ginex_scan *scan, uint32_t rows, struct ginex_top_nodes *out,
                                     struct gnn_err *err)
{
    const struct gnn_env *env = scan->env;
    const struct gnn_dataset *d = env->dataset;
    struct ginex_choice choice;
    *out = (struct ginex_top_nodes){.count = 0};
    GNN_TRY(ginex_choose(d, scan->out_degree, GINEX_COST_ROW, rows, false, &choice, err));
    gnn_charge(env->world, GNN_WORK_TABLE_ENTRY, (GINEX_CHOICE_PASSES + 1) * (uint64_t)d->node_count);
    GNN_MEM_NEW(env->world, out->node, rows, "ginex nodes by score", GNN_MEM_PLAIN, err);
    for (gnn_node v = 0; v < d->node_count; v++)
        if (ginex_chosen(&choice, v))
            out->node[out->count++] = v;
    assert(out->count == choice.nodes);
    assert(out->count <= rows);
    return GNN_OK;
}
