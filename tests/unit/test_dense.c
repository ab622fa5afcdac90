/* SPDX-License-Identifier: MIT */
/* DENSE against the paper's algorithms written down as they are printed (MariusGNN, EuroSys 2023, algorithms 1 and 2),
 * with arrays that are prepended to; its invariants; and what its shared lists do in the models. */
#include "harness/base/rng.h"
#include "harness/model/model.h"
#include "harness/sample/sample.h"
#include "harness/world/faults.h"
#include "systems/mariusgnn/dense.h"
#include "tests/support/measured_world.h"
#include "tests/support/memory_source.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"
#include "tests/support/small_graph.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES_MAX = 300, LOCALS_MAX = 420, NBRS_MAX = 1 << 15, TARGETS_MAX = 20 };

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* ---- subgraphs ---- */

/* A graph under local IDs, as a partition buffer would hold all of it: a list's order is the dataset's. */
struct resident {
    struct marius_subgraph graph;
    uint32_t *in_start, *in_nbrs, *out_start, *out_nbrs;
    gnn_node *original;
    uint32_t local[NODES_MAX]; /* of each node */
};

static void *zeroed(uint64_t count, size_t bytes)
{
    void *const memory = calloc(count + 1, bytes);
    assert_non_null(memory);
    return memory;
}

/* Takes the next entries of a list to be filled: start[v] moves, and is moved back by settle. */
static void settle(uint32_t *start, uint32_t count)
{
    for (uint32_t v = count; v > 0; v--)
        start[v] = start[v - 1];
    start[0] = 0;
}

static void fill_lists(struct resident *r, const struct small_graph *from)
{
    const uint32_t nodes = from->dataset.node_count, locals = r->graph.local_count;
    for (uint32_t v = 0; v < nodes; v++)
        for (uint64_t e = from->indptr[v]; e < from->indptr[v + 1]; e++) {
            r->in_start[r->local[v] + 1]++;
            r->out_start[r->local[from->indices[e]] + 1]++;
        }
    for (uint32_t v = 0; v < locals; v++) {
        r->in_start[v + 1] += r->in_start[v];
        r->out_start[v + 1] += r->out_start[v];
    }
    for (uint32_t v = 0; v < nodes; v++)
        for (uint64_t e = from->indptr[v]; e < from->indptr[v + 1]; e++) {
            const uint32_t source = r->local[from->indices[e]], target = r->local[v];
            r->in_nbrs[r->in_start[target]++] = source;
            r->out_nbrs[r->out_start[source]++] = target;
        }
    settle(r->in_start, locals);
    settle(r->out_start, locals);
}

/* Nodes stand at random among `locals` local IDs; rng NULL: in order. */
static void resident_open(struct resident *r, const struct small_graph *from, uint32_t locals, struct gnn_rng *rng)
{
    const uint32_t nodes = from->dataset.node_count;
    uint32_t order[LOCALS_MAX];
    assert_true(nodes <= NODES_MAX && locals <= LOCALS_MAX && nodes <= locals);
    for (uint32_t v = 0; v < locals; v++)
        order[v] = v;
    if (rng != NULL)
        gnn_epoch_order(gnn_rng_next(rng), 0, order, locals, order);
    r->in_start = zeroed(locals + 1, sizeof *r->in_start);
    r->out_start = zeroed(locals + 1, sizeof *r->out_start);
    r->in_nbrs = zeroed(from->dataset.edge_count, sizeof *r->in_nbrs);
    r->out_nbrs = zeroed(from->dataset.edge_count, sizeof *r->out_nbrs);
    r->original = zeroed(locals, sizeof *r->original);
    for (uint32_t v = 0; v < locals; v++)
        r->original[v] = GNN_NODE_NONE;
    for (uint32_t v = 0; v < nodes; v++) {
        r->local[v] = order[v];
        r->original[order[v]] = v;
    }
    r->graph = (struct marius_subgraph){.local_count = locals,
                                        .edge_count = from->dataset.edge_count,
                                        .in_start = r->in_start,
                                        .in_nbrs = r->in_nbrs,
                                        .out_start = r->out_start,
                                        .out_nbrs = r->out_nbrs,
                                        .original = r->original};
    fill_lists(r, from);
}

static void resident_close(struct resident *r)
{
    free(r->in_start);
    free(r->out_start);
    free(r->in_nbrs);
    free(r->out_nbrs);
    free(r->original);
}

/* Distinct nodes, as local IDs. */
static uint32_t draw_targets(struct gnn_rng *rng, const struct resident *r, uint32_t nodes, uint32_t *targets)
{
    const uint32_t count = 1 + (uint32_t)gnn_rng_below(rng, gnn_min_u32(nodes, TARGETS_MAX));
    uint32_t all[NODES_MAX];
    for (uint32_t v = 0; v < nodes; v++)
        all[v] = r->local[v];
    gnn_epoch_order(gnn_rng_next(rng), 0, all, nodes, all);
    memcpy(targets, all, count * sizeof *targets);
    return count;
}

/* ---- sampling ---- */

struct rig {
    struct gnn_world *world;
    struct marius_dense *dense;
    struct marius_dense_batch *batch;
};

static void rig_open(struct rig *rig, struct gnn_world *world, const struct marius_dense_config *config)
{
    struct gnn_err err = {0};
    *rig = (struct rig){.world = world};
    must(marius_dense_open(world, config, &rig->dense, &err), &err);
    must(marius_dense_batch_open(world, &rig->batch, &err), &err);
}

static void rig_close(struct rig *rig)
{
    marius_dense_batch_close(rig->world, rig->batch);
    marius_dense_close(rig->dense);
}

static const struct gnn_batch_view *rig_sample(struct rig *rig, const struct resident *r, uint64_t epoch,
                                               uint64_t batch, const uint32_t *targets, uint32_t count)
{
    struct gnn_err err = {0};
    must(marius_dense_sample(rig->dense, &r->graph, epoch, batch, targets, count, rig->batch, &err), &err);
    return marius_dense_view(rig->batch);
}

/* ---- the paper's ---- */

/* Delta_d and, but for d = 0, one sample of each of its nodes' neighbours. */
struct plain_delta {
    uint32_t count, nbr_count;
    uint32_t nodes[LOCALS_MAX];
    uint32_t offsets[LOCALS_MAX]; /* of each node's neighbours in nbrs */
    uint32_t nbrs[NBRS_MAX];
};

/* The four arrays and repr_map. */
struct plain {
    uint32_t delta_count, node_count, offset_count, nbr_count;
    uint32_t node_id_offsets[GNN_LAYERS_MAX + 1], node_ids[LOCALS_MAX], nbr_offsets[LOCALS_MAX], nbrs[NBRS_MAX];
    uint32_t repr_map[NBRS_MAX];
};

struct paper {
    const struct marius_subgraph *graph;
    const struct marius_dense_config *config;
    struct plain_delta deltas[GNN_LAYERS_MAX + 1];
    struct plain dense;
};

static bool has(const uint32_t *set, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (set[i] == value)
            return true;
    return false;
}

/* array = cat(head, array + shift) */
static void prepend(uint32_t *array, uint32_t *count, const uint32_t *head, uint32_t head_count, uint32_t shift)
{
    memmove(array + head_count, array, *count * sizeof *array);
    memcpy(array, head, head_count * sizeof *array);
    *count += head_count;
    for (uint32_t i = head_count; i < *count; i++)
        array[i] += shift;
}

/* array = array[head_count:] - shift */
static void drop(uint32_t *array, uint32_t *count, uint32_t head_count, uint32_t shift)
{
    *count -= head_count;
    memmove(array, array + head_count, *count * sizeof *array);
    for (uint32_t i = 0; i < *count; i++)
        array[i] -= shift;
}

/* Positions drawn from a list of `degree`. */
static uint32_t plain_draw(uint64_t key, uint32_t degree, uint32_t fanout, bool replace, uint32_t *positions)
{
    struct gnn_rng rng = gnn_rng_at(key);
    uint32_t count = 0;
    if (degree <= fanout) {
        for (; count < degree; count++)
            positions[count] = count;
        return count;
    }
    if (replace) {
        for (; count < fanout; count++)
            positions[count] = (uint32_t)gnn_rng_below(&rng, degree);
        return count;
    }
    for (uint32_t j = degree - fanout; j < degree; j++) { /* Floyd's */
        const uint32_t t = (uint32_t)gnn_rng_below(&rng, j + UINT64_C(1));
        positions[count] = has(positions, count, t) ? j : t;
        count++;
    }
    qsort(positions, count, sizeof *positions, compare_u32);
    return count;
}

static void append_drawn(struct plain_delta *delta, const uint32_t *list, const uint32_t *positions, uint32_t count)
{
    assert_true(delta->nbr_count + count <= NBRS_MAX);
    for (uint32_t i = 0; i < count; i++)
        delta->nbrs[delta->nbr_count++] = list[positions[i]];
}

/* oneHopSample: in, then out. */
static void one_hop(const struct paper *p, struct plain_delta *delta, uint32_t hop, uint64_t epoch, uint64_t batch)
{
    const struct marius_subgraph *const g = p->graph;
    const uint32_t fanout = p->config->fanout[hop - 1];
    uint32_t positions[NODES_MAX + MARIUS_DENSE_FANOUT_MAX];
    delta->nbr_count = 0;
    for (uint32_t i = 0; i < delta->count; i++) {
        const uint32_t v = delta->nodes[i];
        uint64_t key = gnn_rng_fork(p->config->seed, "sample");
        const uint64_t words[] = {epoch, batch, hop, g->original[v]};
        for (int w = 0; w < 4; w++)
            key = gnn_rng_fold(key, words[w]);
        delta->offsets[i] = delta->nbr_count;
        append_drawn(delta, g->in_nbrs + g->in_start[v], positions,
                     plain_draw(key, g->in_start[v + 1] - g->in_start[v], fanout, p->config->replace, positions));
        if (p->config->out_edges)
            append_drawn(delta, g->out_nbrs + g->out_start[v], positions,
                         plain_draw(gnn_rng_fold(key, 1), g->out_start[v + 1] - g->out_start[v], fanout,
                                    p->config->replace, positions));
    }
}

/* computeNextDelta: distinct neighbours that node_ids does not have. */
static void next_delta(const struct paper *p, const struct plain_delta *delta, bool hashed, struct plain_delta *next)
{
    bool known[LOCALS_MAX] = {false};
    for (uint32_t i = 0; i < p->dense.node_count; i++)
        known[p->dense.node_ids[i]] = true;
    next->count = 0;
    for (uint32_t e = 0; e < delta->nbr_count; e++) {
        if (!known[delta->nbrs[e]])
            next->nodes[next->count++] = delta->nbrs[e];
        known[delta->nbrs[e]] = true;
    }
    if (!hashed)
        qsort(next->nodes, next->count, sizeof *next->nodes, compare_u32);
}

static void map_neighbours(struct plain *d)
{
    uint32_t at[LOCALS_MAX];
    for (uint32_t i = 0; i < d->node_count; i++)
        at[d->node_ids[i]] = i;
    for (uint32_t e = 0; e < d->nbr_count; e++)
        d->repr_map[e] = at[d->nbrs[e]];
}

/* Algorithm 1. */
static void paper_sample(struct paper *p, uint64_t epoch, uint64_t batch, const uint32_t *targets, uint32_t count)
{
    const uint32_t layers = p->config->layers;
    struct plain *const d = &p->dense;
    d->offset_count = d->nbr_count = 0;
    d->node_id_offsets[0] = 0;
    d->delta_count = 1;
    d->node_count = count;
    memcpy(d->node_ids, targets, count * sizeof *targets);
    p->deltas[layers].count = count;
    memcpy(p->deltas[layers].nodes, targets, count * sizeof *targets);
    for (uint32_t i = layers; i > 0; i--) {
        struct plain_delta *const delta = &p->deltas[i], *const next = &p->deltas[i - 1];
        const uint32_t hop = layers - i + 1, zero = 0;
        one_hop(p, delta, hop, epoch, batch);
        prepend(d->nbr_offsets, &d->offset_count, delta->offsets, delta->count, delta->nbr_count);
        prepend(d->nbrs, &d->nbr_count, delta->nbrs, delta->nbr_count, 0);
        next_delta(p, delta, hop <= p->config->hash_hops, next);
        prepend(d->node_id_offsets, &d->delta_count, &zero, 1, next->count);
        prepend(d->node_ids, &d->node_count, next->nodes, next->count, 0);
    }
    map_neighbours(d);
}

/* Algorithm 2. */
static void paper_update(struct plain *d)
{
    const uint32_t a = d->node_id_offsets[1];
    const uint32_t u = (d->delta_count > 2 ? d->node_id_offsets[2] : d->node_count) - a;
    const uint32_t v = u < d->offset_count ? d->nbr_offsets[u] : d->nbr_count;
    uint32_t mapped = d->nbr_count;
    drop(d->nbrs, &d->nbr_count, v, 0);
    drop(d->repr_map, &mapped, v, a);
    drop(d->nbr_offsets, &d->offset_count, u, v);
    drop(d->node_ids, &d->node_count, a, 0);
    drop(d->node_id_offsets, &d->delta_count, 1, a);
}

/* The arrays of Delta_first .. Delta_K and the samples of all but the first, built at once. */
static void paper_stack(const struct paper *p, uint32_t first, struct plain *out)
{
    out->delta_count = out->node_count = out->offset_count = out->nbr_count = 0;
    for (uint32_t i = first; i <= p->config->layers; i++) {
        const struct plain_delta *const delta = &p->deltas[i];
        out->node_id_offsets[out->delta_count++] = out->node_count;
        memcpy(out->node_ids + out->node_count, delta->nodes, delta->count * sizeof *delta->nodes);
        out->node_count += delta->count;
        if (i == first)
            continue;
        for (uint32_t k = 0; k < delta->count; k++)
            out->nbr_offsets[out->offset_count++] = out->nbr_count + delta->offsets[k];
        memcpy(out->nbrs + out->nbr_count, delta->nbrs, delta->nbr_count * sizeof *delta->nbrs);
        out->nbr_count += delta->nbr_count;
    }
    map_neighbours(out);
}

static void same_array(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
    assert_int_equal(a_count, b_count);
    if (a_count > 0)
        assert_memory_equal(a, b, a_count * sizeof *a);
}

static void same_plain(const struct plain *a, const struct plain *b)
{
    same_array(a->node_id_offsets, a->delta_count, b->node_id_offsets, b->delta_count);
    same_array(a->node_ids, a->node_count, b->node_ids, b->node_count);
    same_array(a->nbr_offsets, a->offset_count, b->nbr_offsets, b->offset_count);
    same_array(a->nbrs, a->nbr_count, b->nbrs, b->nbr_count);
    same_array(a->repr_map, a->nbr_count, b->repr_map, b->nbr_count);
}

/* Where the mirror image has what the paper has at `at` of node_ids: the deltas' order turns, a delta's does not. */
static uint32_t mirrored(const struct plain *d, uint32_t at)
{
    uint32_t delta = 0;
    while (delta + 1 < d->delta_count && d->node_id_offsets[delta + 1] <= at)
        delta++;
    const uint32_t end = delta + 1 < d->delta_count ? d->node_id_offsets[delta + 1] : d->node_count;
    return d->node_count - end + (at - d->node_id_offsets[delta]);
}

/* One layer's input: the block against the arrays. */
static void same_block(const struct plain *d, const struct gnn_block *block, const uint32_t *rows)
{
    const uint32_t before = d->node_id_offsets[1]; /* Delta_0 of this layer: sources alone */
    assert_int_equal(block->src_count, d->node_count);
    assert_int_equal(block->dst_count, d->node_count - before);
    assert_int_equal(block->dst_count, d->offset_count);
    assert_int_equal(block->edge_count, d->nbr_count);
    assert_int_equal(block->row_start[0], 0);
    for (uint32_t at = 0; at < d->node_count; at++)
        assert_int_equal(rows[mirrored(d, at)], d->node_ids[at]);
    for (uint32_t k = 0; k < d->offset_count; k++) {
        const uint32_t first = d->nbr_offsets[k];
        const uint32_t end = k + 1 < d->offset_count ? d->nbr_offsets[k + 1] : d->nbr_count;
        const uint32_t row = mirrored(d, before + k);
        assert_true(row < block->dst_count);
        assert_int_equal(block->row_start[row + 1] - block->row_start[row], end - first);
        for (uint32_t e = first; e < end; e++)
            assert_int_equal(block->col[block->row_start[row] + (e - first)], mirrored(d, d->repr_map[e]));
    }
}

static void compare_with_paper(struct paper *p, const struct gnn_batch_view *view, const uint32_t *rows)
{
    static struct plain fresh;
    const uint32_t layers = p->config->layers;
    assert_int_equal(view->layer_count, layers);
    assert_int_equal(view->node_count, view->blocks[0].src_count);
    for (uint32_t layer = 1; layer <= layers; layer++) {
        paper_stack(p, layer - 1, &fresh);
        same_plain(&p->dense, &fresh);
        same_block(&p->dense, &view->blocks[layer - 1], rows);
        if (layer < layers)
            paper_update(&p->dense);
    }
}

/* ---- invariants, checked without knowing the draws ---- */

/* Every drawn neighbour is an entry of the list, and without replacement no entry serves twice. */
static void check_part(const uint32_t *list, uint32_t degree, const uint32_t *drawn, uint32_t count, uint32_t fanout,
                       bool replace)
{
    bool used[NODES_MAX] = {false};
    assert_int_equal(count, degree < fanout ? degree : fanout);
    for (uint32_t e = 0; e < count; e++) {
        uint32_t at = 0;
        while (at < degree && (list[at] != drawn[e] || (used[at] && !replace)))
            at++;
        assert_true(at < degree);
        used[at] = true;
    }
}

static void check_row(const struct marius_subgraph *g, const struct marius_dense_config *config, uint32_t v,
                      const uint32_t *drawn, uint32_t count, uint32_t fanout)
{
    const uint32_t in = g->in_start[v + 1] - g->in_start[v], out = g->out_start[v + 1] - g->out_start[v];
    const uint32_t in_count = in < fanout ? in : fanout;
    assert_true(in_count <= count);
    check_part(g->in_nbrs + g->in_start[v], in, drawn, in_count, fanout, config->replace);
    if (config->out_edges)
        check_part(g->out_nbrs + g->out_start[v], out, drawn + in_count, count - in_count, fanout, config->replace);
    else
        assert_int_equal(count, in_count);
}

static void check_nodes(const struct marius_subgraph *g, const struct gnn_batch_view *view, const uint32_t *rows)
{
    uint32_t sorted[LOCALS_MAX];
    memcpy(sorted, rows, view->node_count * sizeof *rows);
    qsort(sorted, view->node_count, sizeof *sorted, compare_u32);
    for (uint32_t i = 0; i < view->node_count; i++) {
        assert_true(sorted[i] < g->local_count);
        assert_true(i == 0 || sorted[i - 1] < sorted[i]); /* distinct, hence deltas are disjoint */
        assert_int_not_equal(view->nodes[i], GNN_NODE_NONE);
        assert_int_equal(view->nodes[i], g->original[rows[i]]);
    }
}

static void check_batch(const struct marius_subgraph *g, const struct marius_dense_config *config,
                        const struct gnn_batch_view *view, const struct marius_dense_batch *batch)
{
    const uint32_t *const rows = marius_dense_rows(batch), *const ends = marius_dense_ends(batch);
    check_nodes(g, view, rows);
    assert_int_equal(view->seed_count, ends[0]);
    assert_int_equal(view->node_count, ends[config->layers]);
    for (uint32_t hop = 1; hop <= config->layers; hop++) {
        const struct gnn_block *const block = &view->blocks[config->layers - hop];
        assert_ptr_equal(block->row_start, view->blocks[0].row_start); /* one list for all layers */
        assert_ptr_equal(block->col, view->blocks[0].col);
        assert_int_equal(block->dst_count, ends[hop - 1]);
        assert_int_equal(block->src_count, ends[hop]);
        assert_int_equal(block->edge_count, block->row_start[block->dst_count]);
        for (uint32_t row = hop == 1 ? 0 : ends[hop - 2]; row < ends[hop - 1]; row++) {
            const uint32_t first = block->row_start[row], count = block->row_start[row + 1] - first;
            uint32_t drawn[2 * NODES_MAX];
            for (uint32_t e = 0; e < count; e++) {
                assert_true(block->col[first + e] < ends[hop]); /* of Delta_i: in Delta_i-1 or later */
                drawn[e] = rows[block->col[first + e]];
            }
            check_row(g, config, rows[row], drawn, count, config->fanout[hop - 1]);
        }
    }
}

/* ---- fuzz ---- */

static struct marius_dense_config random_config(struct gnn_rng *rng)
{
    struct marius_dense_config config = {.seed = gnn_rng_next(rng)};
    config.layers = 1 + (uint32_t)gnn_rng_below(rng, 4);
    config.out_edges = gnn_rng_below(rng, 2) == 0;
    config.replace = gnn_rng_below(rng, 2) == 0;
    config.hash_hops = (uint32_t)gnn_rng_below(rng, config.layers + UINT64_C(2)); /* more than layers too */
    for (uint32_t h = 0; h < config.layers; h++)
        config.fanout[h] = gnn_rng_below(rng, 8) == 0 ? MARIUS_DENSE_ALL : 1 + (uint32_t)gnn_rng_below(rng, 12);
    return config;
}

static void equals_the_papers_algorithms(void **state)
{
    static struct paper paper;
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int round = 0; round < 120; round++) {
        const uint32_t nodes = 1 + (uint32_t)gnn_rng_below(&rng, round % 2 == 0 ? 20 : NODES_MAX);
        const struct marius_dense_config config = random_config(&rng);
        struct small_graph graph;
        struct resident r;
        struct rig rig;
        struct gnn_sample_counters counters;
        uint64_t digest = 0, edges = 0, drawn = 0, sampled = 0;
        small_graph_open(&graph, gnn_rng_next(&rng), nodes);
        resident_open(&r, &graph, nodes + (uint32_t)gnn_rng_below(&rng, LOCALS_MAX - NODES_MAX), &rng);
        rig_open(&rig, *state, &config);
        paper.graph = &r.graph;
        paper.config = &config;
        for (int k = 0; k < 3; k++) {
            uint32_t targets[TARGETS_MAX];
            const uint32_t count = draw_targets(&rng, &r, nodes, targets);
            const uint64_t epoch = gnn_rng_below(&rng, 3), batch = gnn_rng_below(&rng, 1000);
            const struct gnn_batch_view *const view = rig_sample(&rig, &r, epoch, batch, targets, count);
            assert_true(view->epoch == epoch && view->batch == batch);
            check_batch(&r.graph, &config, view, rig.batch);
            paper_sample(&paper, epoch, batch, targets, count);
            compare_with_paper(&paper, view, marius_dense_rows(rig.batch));
            digest += gnn_batch_digest(view, NULL);
            drawn += view->blocks[0].edge_count;
            sampled += view->node_count;
            for (uint32_t b = 0; b < config.layers; b++)
                edges += view->blocks[b].edge_count;
        }
        marius_dense_counters(rig.dense, &counters);
        assert_int_equal(counters.batches, 3);
        assert_int_equal(counters.sampled_nodes, sampled);
        assert_true(counters.batch_digest == digest && counters.sampled_edges == edges);
        assert_true(marius_dense_one_hop_edges(rig.dense) == drawn);
        marius_dense_clear_counters(rig.dense);
        marius_dense_counters(rig.dense, &counters);
        assert_true(counters.batches == 0 && counters.batch_digest == 0 && counters.sampled_nodes == 0);
        assert_int_equal(marius_dense_one_hop_edges(rig.dense), 0);
        rig_close(&rig);
        resident_close(&r);
        small_graph_close(&graph);
    }
}

/* ---- by hand ---- */

/* A graph like that of the paper's figure 3: from A and B to C and D, from there to E and back to A. Edges C->A, D->A,
 * C->B, A->C, E->C, A->D. Local IDs of A to E among ten: */
enum { A = 7, B = 3, C = 9, D = 1, E = 4, FIGURE_LOCALS = 10 };

static void figure_open(struct resident *r)
{
    static const gnn_node sources[] = {2, 3, 2, 0, 4, 0}; /* of A, A, B, C, C, D */
    static const uint32_t locals[] = {A, B, C, D, E}, degrees[] = {2, 1, 2, 1, 0};
    struct small_graph graph = {.dataset = {.node_count = 5, .edge_count = 6}};
    uint64_t indptr[6] = {0};
    gnn_node indices[6];
    memcpy(indices, sources, sizeof indices);
    for (uint32_t v = 0; v < 5; v++)
        indptr[v + 1] = indptr[v] + degrees[v];
    graph.indptr = indptr;
    graph.indices = indices;
    resident_open(r, &graph, FIGURE_LOCALS, NULL);
    memset(r->in_start, 0, (FIGURE_LOCALS + 1) * sizeof *r->in_start);
    memset(r->out_start, 0, (FIGURE_LOCALS + 1) * sizeof *r->out_start);
    for (uint32_t v = 0; v < FIGURE_LOCALS; v++)
        r->original[v] = GNN_NODE_NONE;
    for (uint32_t v = 0; v < 5; v++) {
        r->local[v] = locals[v];
        r->original[locals[v]] = 100 + v;
    }
    fill_lists(r, &graph);
}

#define SAME(array, ...)                                                                                               \
    do {                                                                                                               \
        const uint32_t same_[] = {__VA_ARGS__};                                                                        \
        assert_memory_equal(array, same_, sizeof same_);                                                               \
    } while (0)

static void counts_are(const struct gnn_block *block, uint32_t dst, uint32_t src, uint32_t edges)
{
    assert_int_equal(block->dst_count, dst);
    assert_int_equal(block->src_count, src);
    assert_int_equal(block->edge_count, edges);
}

static void the_figure_by_hand(void **state)
{
    const uint32_t targets[] = {A, B};
    struct marius_dense_config config = {.layers = 2, .fanout = {MARIUS_DENSE_ALL, MARIUS_DENSE_ALL}, .hash_hops = 2};
    struct resident r;
    struct rig rig;
    figure_open(&r);
    for (uint32_t hash_hops = 0; hash_hops <= 2; hash_hops += 2) {
        config.hash_hops = hash_hops;
        rig_open(&rig, *state, &config);
        const struct gnn_batch_view *const view = rig_sample(&rig, &r, 0, 0, targets, 2);
        assert_int_equal(view->node_count, 5);
        assert_int_equal(view->seed_count, 2);
        SAME(marius_dense_ends(rig.batch), 2, 4, 5);
        counts_are(&view->blocks[0], 4, 5, 6);
        counts_are(&view->blocks[1], 2, 4, 3);
        if (hash_hops == 2) { /* in order of discovery: A, B | C, D | E */
            SAME(marius_dense_rows(rig.batch), A, B, C, D, E);
            SAME(view->nodes, 100, 101, 102, 103, 104);
            SAME(view->blocks[0].row_start, 0, 2, 3, 5, 6);
            SAME(view->blocks[0].col, 2, 3, 2, 0, 4, 0);
        } else { /* ascending local IDs: A, B | D, C | E */
            SAME(marius_dense_rows(rig.batch), A, B, D, C, E);
            SAME(view->nodes, 100, 101, 103, 102, 104);
            SAME(view->blocks[0].row_start, 0, 2, 3, 4, 6);
            SAME(view->blocks[0].col, 3, 2, 3, 0, 0, 4);
        }
        rig_close(&rig);
    }
    resident_close(&r);
}

/* A has C and D on both sides: each stands twice in its row, incoming ones first. */
static void both_directions_by_hand(void **state)
{
    const uint32_t targets[] = {A, E};
    const struct marius_dense_config config = {
        .layers = 1, .fanout = {MARIUS_DENSE_ALL}, .hash_hops = 1, .out_edges = true};
    struct resident r;
    struct rig rig;
    figure_open(&r);
    rig_open(&rig, *state, &config);
    const struct gnn_batch_view *const view = rig_sample(&rig, &r, 0, 0, targets, 2);
    SAME(marius_dense_rows(rig.batch), A, E, C, D);
    SAME(view->blocks[0].row_start, 0, 4, 5);
    SAME(view->blocks[0].col, 2, 3, 2, 3, 2); /* E has no source and one destination */
    counts_are(&view->blocks[0], 2, 4, 5);
    rig_close(&rig);
    resident_close(&r);
}

/* ---- against the harness's sampler ---- */

static void one_layer_is_the_exact_systems(void **state)
{
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (int round = 0; round < 20; round++) {
        const uint64_t seed = gnn_rng_next(&rng);
        const uint32_t fanout = 1 + (uint32_t)gnn_rng_below(&rng, GNN_FANOUT_MAX);
        const struct marius_dense_config config = {.seed = seed, .layers = 1, .fanout = {fanout}, .hash_hops = 1};
        const struct gnn_sampler_config exact = {.seed = seed, .layers = 1, .fanout = {fanout}};
        struct gnn_neighbour_source *source;
        struct gnn_sampler *sampler;
        struct gnn_batch *batch;
        struct gnn_err err = {0};
        struct small_graph graph;
        struct resident r;
        struct rig rig;
        uint32_t targets[TARGETS_MAX];
        small_graph_open(&graph, gnn_rng_next(&rng), NODES_MAX);
        resident_open(&r, &graph, NODES_MAX, NULL);
        rig_open(&rig, *state, &config);
        must(gnn_source_memory(*state, graph.indices, graph.dataset.edge_count, &source, &err), &err);
        must(gnn_sampler_open(*state, &exact, &graph.dataset, source, &sampler, &err), &err);
        must(gnn_batch_open(*state, &batch, &err), &err);
        const uint32_t count = draw_targets(&rng, &r, NODES_MAX, targets);
        const struct gnn_batch_view *const view = rig_sample(&rig, &r, 3, 17, targets, count);
        must(gnn_sampler_sample(sampler, 3, 17, targets, count, batch, &err), &err);
        const struct gnn_batch_view *const wanted = gnn_batch_view(batch);
        same_array(view->nodes, view->node_count, wanted->nodes, wanted->node_count);
        assert_true(gnn_batch_digest(view, NULL) == gnn_batch_digest(wanted, NULL));
        gnn_batch_close(*state, batch);
        gnn_sampler_close(sampler);
        gnn_source_close(source);
        rig_close(&rig);
        resident_close(&r);
        small_graph_close(&graph);
    }
}

/* ---- what a batch does not depend on ---- */

enum { BATCHES = 24, BATCH_TARGETS = 12, THREADS = 3 };

static const struct marius_dense_config usual = {
    .seed = 5, .layers = 3, .fanout = {4, 3, 2}, .out_edges = true, .replace = true, .hash_hops = 1};

struct worker {
    struct gnn_world *world;
    const struct resident *r;
    uint32_t first, step; /* batches first, first + step ... */
    uint64_t digest[BATCHES];
};

static void sample_some(void *arg)
{
    struct worker *const w = arg;
    struct rig rig;
    rig_open(&rig, w->world, &usual);
    for (uint32_t k = w->first; k < BATCHES; k += w->step)
        w->digest[k] =
            gnn_batch_digest(rig_sample(&rig, w->r, 1, k, w->r->local + k * BATCH_TARGETS, BATCH_TARGETS), NULL);
    rig_close(&rig);
}

static void threads_change_nothing(void **state)
{
    struct small_graph graph;
    struct resident r;
    struct gnn_err err = {0};
    struct gnn_thread *threads[THREADS];
    static struct worker alone, workers[THREADS];
    small_graph_open(&graph, 11, NODES_MAX);
    resident_open(&r, &graph, NODES_MAX, NULL);
    alone = (struct worker){.world = *state, .r = &r, .step = 1};
    sample_some(&alone);
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){.world = *state, .r = &r, .first = t, .step = THREADS};
        must(gnn_thread_start(*state, "sampler", sample_some, &workers[t], &threads[t], &err), &err);
    }
    for (uint32_t t = 0; t < THREADS; t++)
        gnn_thread_join(*state, threads[t]);
    for (uint32_t k = 0; k < BATCHES; k++) {
        assert_true(workers[k % THREADS].digest[k] == alone.digest[k]);
        assert_true(k == 0 || alone.digest[k] != alone.digest[k - 1]);
    }
    resident_close(&r);
    small_graph_close(&graph);
}

/* How new nodes are found, where nodes lie, and what the sampler did before: the same edges in original IDs. */
static void methods_slots_and_history_change_nothing(void **state)
{
    struct gnn_rng rng = gnn_rng_at(test_seed());
    struct small_graph graph;
    struct resident in_order;
    small_graph_open(&graph, 12, NODES_MAX);
    resident_open(&in_order, &graph, NODES_MAX, NULL);
    uint64_t wanted = 0;
    for (uint32_t hash_hops = 0; hash_hops <= 3; hash_hops++) {
        struct marius_dense_config config = usual;
        struct resident moved;
        struct rig rig;
        config.hash_hops = hash_hops;
        resident_open(&moved, &graph, LOCALS_MAX, &rng);
        rig_open(&rig, *state, &config);
        const uint64_t first = gnn_batch_digest(rig_sample(&rig, &in_order, 2, 9, in_order.local, BATCH_TARGETS), NULL);
        const uint64_t second = gnn_batch_digest(rig_sample(&rig, &moved, 2, 9, moved.local, BATCH_TARGETS), NULL);
        const uint64_t again = gnn_batch_digest(rig_sample(&rig, &in_order, 2, 9, in_order.local, BATCH_TARGETS), NULL);
        wanted = hash_hops == 0 ? first : wanted;
        assert_true(first == wanted && second == wanted && again == wanted);
        rig_close(&rig);
        resident_close(&moved);
    }
    resident_close(&in_order);
    small_graph_close(&graph);
}

/* ---- draws are uniform ---- */

enum { DRAWS = 30000, STAR_DEGREE = 30, STAR_FANOUT = 10 };

/* Upper quantile of chi-square at 4.75 sigma (one in a million), Wilson and Hilferty's approximation. */
static double chi_square_limit(double freedom)
{
    const double a = 2.0 / (9.0 * freedom);
    return freedom * pow(1.0 - a + 4.75 * sqrt(a), 3.0);
}

/* Node 0 has an edge from and to every other one. */
static void star_open(struct small_graph *graph)
{
    const uint32_t nodes = STAR_DEGREE + 1;
    graph->indptr = zeroed(nodes + 1, sizeof *graph->indptr);
    graph->indices = zeroed(UINT64_C(2) * STAR_DEGREE, sizeof *graph->indices);
    for (uint32_t v = 1; v <= STAR_DEGREE; v++)
        graph->indices[v - 1] = v;
    for (uint32_t v = 1; v <= nodes; v++)
        graph->indptr[v] = STAR_DEGREE + v - 1; /* their lists hold node 0: zeroed */
    graph->dataset = (struct gnn_dataset){.node_count = nodes, .edge_count = 2 * STAR_DEGREE, .indptr = graph->indptr};
}

/* hits[d]: how often each neighbour was drawn in direction d. Returns in how many draws both directions agreed. */
static uint32_t count_hits(struct gnn_world *world, const struct resident *r, bool replace,
                           uint32_t hits[2][STAR_DEGREE])
{
    const struct marius_dense_config config = {
        .seed = 3, .layers = 1, .fanout = {STAR_FANOUT}, .out_edges = true, .replace = replace, .hash_hops = 1};
    struct rig rig;
    uint32_t agreed = 0;
    memset(hits, 0, 2 * sizeof *hits);
    rig_open(&rig, world, &config);
    for (uint32_t k = 0; k < DRAWS; k++) {
        const struct gnn_batch_view *const view = rig_sample(&rig, r, 0, k, r->local, 1);
        const uint32_t *const col = view->blocks[0].col;
        assert_int_equal(view->blocks[0].edge_count, 2 * STAR_FANOUT);
        for (uint32_t e = 0; e < 2 * STAR_FANOUT; e++)
            hits[e / STAR_FANOUT][view->nodes[col[e]] - 1]++;
        agreed += memcmp(col, col + STAR_FANOUT, STAR_FANOUT * sizeof *col) == 0;
    }
    rig_close(&rig);
    return agreed;
}

static void draws_are_uniform(void **state)
{
    struct small_graph graph;
    struct resident r;
    uint32_t hits[2][STAR_DEGREE];
    star_open(&graph);
    resident_open(&r, &graph, STAR_DEGREE + 1, NULL);
    for (int replace = 0; replace < 2; replace++) {
        assert_int_equal(count_hits(*state, &r, replace != 0, hits), 0); /* a chance of 30000 in 30 million, or less */
        for (int d = 0; d < 2; d++) {
            const double g = STAR_DEGREE, p = STAR_FANOUT / g, mean = DRAWS * p;
            /* with replacement counts are multinomial; without, their variance is n p (1 - p) */
            const double scale = replace != 0 ? 1 / mean : (g - 1) / g / (mean * (1 - p));
            double chi = 0;
            for (uint32_t v = 0; v < STAR_DEGREE; v++)
                chi += pow(hits[d][v] - mean, 2) * scale;
            if (chi > chi_square_limit(g - 1))
                fail_msg("replace %d, direction %d: chi-square %.1f over %.0f", replace, d, chi,
                         chi_square_limit(g - 1));
        }
    }
    resident_close(&r);
    free(graph.indptr);
    free(graph.indices);
}

/* ---- in the models ---- */

enum { DIM = 5, HIDDEN = 6, CLASSES = 3 };

struct toy_model {
    struct toy_memory memory;
    struct gnn_tensor *tensor;
    struct gnn_model *model;
};

static void toy_model_open(struct toy_model *m, const struct gnn_tensor_ops *ops, enum gnn_model_kind kind,
                           uint32_t layers)
{
    const struct gnn_model_config config = {.kind = kind,
                                            .layers = layers,
                                            .in_dim = DIM,
                                            .hidden = HIDDEN,
                                            .heads = 2,
                                            .classes = CLASSES,
                                            .lr = 0.01,
                                            .seed = 4};
    struct gnn_err err = {0};
    *m = (struct toy_model){.memory = {0}};
    m->tensor = toy_tensor_open(ops, &m->memory, 1);
    must(gnn_model_open(m->tensor, &config, &m->model, &err), &err);
}

static void toy_model_close(struct toy_model *m)
{
    gnn_model_close(m->model);
    m->tensor->ops->close(m->tensor);
    assert_int_equal(m->memory.current_bytes, 0);
}

static void features(const struct gnn_batch_view *view, gnn_real *x)
{
    for (uint32_t i = 0; i < view->node_count; i++)
        for (uint32_t c = 0; c < DIM; c++)
            x[i * DIM + c] = (gnn_real)sin((double)(view->nodes[i] * DIM + c + 1));
}

/* h of node i after `layer` layers, from its one row of neighbours, by recursion (section 2: h_v = AGG(h_v, {h_u})). */
static void naive(const struct gnn_model *model, const struct gnn_batch_view *view, const gnn_real *x, uint32_t layer,
                  uint32_t i, double *h)
{
    const struct gnn_block *const all = &view->blocks[0];
    const uint32_t width = layer == 1 ? DIM : HIDDEN;
    double self[HIDDEN], mean[HIDDEN] = {0}, other[HIDDEN];
    if (layer == 0) {
        for (uint32_t c = 0; c < DIM; c++)
            h[c] = x[i * DIM + c];
        return;
    }
    naive(model, view, x, layer - 1, i, self);
    const uint32_t first = all->row_start[i], degree = all->row_start[i + 1] - first;
    for (uint32_t e = 0; e < degree; e++) {
        naive(model, view, x, layer - 1, all->col[first + e], other);
        for (uint32_t c = 0; c < width; c++)
            mean[c] += other[c] / degree;
    }
    const struct gnn_param b = gnn_model_param(model, 3 * (layer - 1)), w_l = gnn_model_param(model, 3 * layer - 2),
                           w_r = gnn_model_param(model, 3 * layer - 1);
    for (uint32_t o = 0; o < b.cols; o++) {
        h[o] = b.value[o];
        for (uint32_t c = 0; c < width; c++)
            h[o] += w_l.value[o * width + c] * mean[c] + w_r.value[o * width + c] * self[c];
        if (layer < view->layer_count && h[o] < 0)
            h[o] = 0;
    }
}

static void layers_equal_a_recursion_per_node(void **state)
{
    static const struct gnn_tensor_ops *const backends[] = {&gnn_tensor_ref, &gnn_tensor_cpu};
    struct small_graph graph;
    struct resident r;
    struct rig rig;
    struct gnn_err err = {0};
    small_graph_open(&graph, 31, 60);
    resident_open(&r, &graph, 80, &(struct gnn_rng){.key = 8});
    rig_open(&rig, *state, &usual);
    const struct gnn_batch_view *const view = rig_sample(&rig, &r, 0, 1, r.local, BATCH_TARGETS);
    gnn_real *const x = zeroed((uint64_t)view->node_count * DIM, sizeof *x);
    features(view, x);
    for (int k = 0; k < 2; k++) {
        struct toy_model m;
        gnn_real logits[BATCH_TARGETS * CLASSES];
        toy_model_open(&m, backends[k], GNN_MODEL_SAGE, usual.layers);
        must(gnn_model_logits(m.model, view, x, logits, &err), &err);
        for (uint32_t i = 0; i < BATCH_TARGETS; i++) {
            double h[HIDDEN];
            naive(m.model, view, x, usual.layers, i, h);
            for (uint32_t c = 0; c < CLASSES; c++)
                assert_true(fabs(h[c] - (double)logits[i * CLASSES + c]) < 1e-5);
        }
        toy_model_close(&m);
    }
    free(x);
    rig_close(&rig);
    resident_close(&r);
    small_graph_close(&graph);
}

/* Sharing the lists changes no bit of any model's steps. */
static void shared_lists_train_as_lists_apart(void **state)
{
    static const struct gnn_tensor_ops *const backends[] = {&gnn_tensor_ref, &gnn_tensor_cpu};
    const int32_t labels[BATCH_TARGETS] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
    struct small_graph graph;
    struct resident r;
    struct rig rig;
    struct gnn_err err = {0};
    small_graph_open(&graph, 32, 60);
    resident_open(&r, &graph, 60, NULL);
    rig_open(&rig, *state, &usual);
    const struct gnn_batch_view *const view = rig_sample(&rig, &r, 0, 1, r.local, BATCH_TARGETS);
    struct gnn_batch_view copy = toy_batch_apart(view);
    gnn_real *const x = zeroed((uint64_t)view->node_count * DIM, sizeof *x);
    features(view, x);
    for (int k = 0; k < 2 * GNN_MODEL_KINDS; k++) {
        struct toy_model shared, own;
        toy_model_open(&shared, backends[k % 2], (enum gnn_model_kind)(k / 2), usual.layers);
        toy_model_open(&own, backends[k % 2], (enum gnn_model_kind)(k / 2), usual.layers);
        double last = INFINITY;
        for (int step = 0; step < 3; step++) {
            struct gnn_step_result a, b;
            must(gnn_model_train(shared.model, view, x, labels, &a, &err), &err);
            must(gnn_model_train(own.model, &copy, x, labels, &b, &err), &err);
            assert_true(a.finite && b.finite && a.loss == b.loss && a.correct == b.correct);
            assert_true(a.loss < last); /* the same batch again: it learns */
            last = a.loss;
        }
        toy_model_close(&shared);
        toy_model_close(&own);
    }
    toy_batch_free(&copy);
    free(x);
    rig_close(&rig);
    resident_close(&r);
    small_graph_close(&graph);
}

/* Sums or means over the rows, and their transpose, element by element. */
static void check_segments(const struct gnn_tensor_ops *ops, enum gnn_reduce kind, const struct gnn_block *b,
                           gnn_real *x)
{
    const uint64_t sources = (uint64_t)b->src_count * DIM;
    gnn_real *const out = zeroed((uint64_t)b->dst_count * DIM, sizeof *out), *const dx = zeroed(sources, sizeof *dx);
    double *const back = zeroed(sources, sizeof *back);
    const struct gnn_mat rows = {out, b->dst_count, DIM};
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(ops, &memory, 1);
    t->ops->segment_reduce(t, kind, rows, b, (struct gnn_mat){x, b->src_count, DIM}, NULL);
    t->ops->segment_reduce_back(t, kind, (struct gnn_mat){dx, b->src_count, DIM}, b, rows, NULL);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t first = b->row_start[i], end = b->row_start[i + 1];
        const double share = kind == GNN_REDUCE_MEAN && end > first ? 1.0 / (end - first) : 1;
        for (uint32_t c = 0; c < DIM; c++) {
            double sum = 0;
            for (uint32_t e = first; e < end; e++) {
                sum += (double)x[b->col[e] * DIM + c] * share;
                back[b->col[e] * DIM + c] += (double)out[i * DIM + c] * share;
            }
            assert_true(fabs(sum - (double)out[i * DIM + c]) < 1e-5);
        }
    }
    for (uint64_t j = 0; j < sources; j++)
        assert_true(fabs(back[j] - (double)dx[j]) < 1e-4);
    t->ops->close(t);
    free(out);
    free(dx);
    free(back);
}

/* Rows that repeat sources, and rows that are empty: nodes without an incoming edge. */
static void segments_equal_a_scalar_loop(void **state)
{
    static const struct gnn_tensor_ops *const backends[] = {&gnn_tensor_ref, &gnn_tensor_cpu};
    struct marius_dense_config config = usual;
    struct small_graph graph;
    struct resident r;
    struct rig rig;
    uint32_t empty = 0, repeated = 0;
    config.out_edges = false;
    small_graph_open(&graph, 33, 60);
    resident_open(&r, &graph, 60, NULL);
    rig_open(&rig, *state, &config);
    const struct gnn_batch_view *const view = rig_sample(&rig, &r, 0, 2, r.local, BATCH_TARGETS);
    const struct gnn_block *const b = &view->blocks[0];
    gnn_real *const x = zeroed((uint64_t)b->src_count * DIM, sizeof *x);
    features(view, x);
    for (uint32_t i = 0; i < b->dst_count; i++) {
        const uint32_t first = b->row_start[i], end = b->row_start[i + 1];
        empty += first == end;
        for (uint32_t e = first; e < end; e++)
            repeated += has(b->col + first, e - first, b->col[e]);
    }
    assert_true(empty > 0 && repeated > 0); /* the case is there */
    for (int k = 0; k < 2; k++) {
        check_segments(backends[k], GNN_REDUCE_MEAN, b, x);
        check_segments(backends[k], GNN_REDUCE_SUM, b, x);
    }
    free(x);
    rig_close(&rig);
    resident_close(&r);
    small_graph_close(&graph);
}

/* ---- memory and refusals ---- */

static enum gnn_status try_sample(struct rig *rig, const struct resident *r, uint64_t *digest)
{
    struct gnn_err err = {0};
    const enum gnn_status status =
        marius_dense_sample(rig->dense, &r->graph, 0, 0, r->local, BATCH_TARGETS, rig->batch, &err);
    *digest = gnn_batch_digest(marius_dense_view(rig->batch), NULL);
    if (status != GNN_OK) {
        assert_int_equal(status, GNN_ENOMEM);
        assert_int_equal(marius_dense_view(rig->batch)->node_count, 0);
    }
    return status;
}

/* At warm-up or when a larger subgraph comes: the sampler is as good as before, for the small one and the large one. */
static void refused_memory_is_an_error_and_no_more(void **state)
{
    struct small_graph graph, larger;
    struct resident r, more;
    uint64_t wanted = 0, wanted_more = 0;
    uint32_t refusals = 0;
    small_graph_open(&graph, 41, NODES_MAX / 2);
    small_graph_open(&larger, 44, NODES_MAX);
    resident_open(&r, &graph, NODES_MAX / 2, NULL);
    resident_open(&more, &larger, LOCALS_MAX, &(struct gnn_rng){.key = 9});
    for (uint64_t at = 14; at > 0; at--) { /* the first ones refuse nothing */
        const struct gnn_fault_plan plan = {.seed = 1, .alloc_fail_at = at};
        struct gnn_world *faulty;
        struct gnn_err err = {0};
        struct rig rig;
        must(gnn_world_faulty_open(*state, &plan, &faulty, &err), &err);
        rig_open(&rig, faulty, &usual);
        const struct resident *const turns[] = {&r, &more, &r, &more};
        for (int k = 0; k < 4; k++) {
            uint64_t digest, *const of = k % 2 == 0 ? &wanted : &wanted_more;
            if (try_sample(&rig, turns[k], &digest) != GNN_OK) {
                refusals++;
                continue;
            }
            *of = *of == 0 ? digest : *of;
            assert_true(digest == *of);
        }
        rig_close(&rig);
        gnn_world_faulty_close(faulty);
    }
    assert_int_equal(refusals, 2 * 5); /* hash set, marks, known nodes, places; the batch */
    resident_close(&r);
    resident_close(&more);
    small_graph_close(&graph);
    small_graph_close(&larger);
}

struct growth {
    const struct marius_subgraph *graph;
    const uint32_t *targets;
    uint32_t count;
};

/* Samples twice each; memory changes at the first of a kind alone, and is what a plan says. */
static void grow(struct gnn_world *world, const struct marius_dense_config *config, const struct growth *turns,
                 uint32_t turn_count)
{
    struct gnn_mem_usage before, now;
    struct gnn_err err = {0};
    struct rig rig;
    uint64_t held = 0, planned = 0;
    gnn_mem_usage(world, &before);
    rig_open(&rig, world, config);
    for (uint32_t k = 0; k < turn_count; k++) {
        const struct marius_subgraph *const g = turns[k].graph;
        const uint32_t count = turns[k].count;
        for (int again = 0; again < 2; again++) {
            must(marius_dense_sample(rig.dense, g, 0, k, turns[k].targets, count, rig.batch, &err), &err);
            gnn_mem_usage(world, &now);
            assert_true(again == 0 || now.current_bytes == held);
            held = now.current_bytes;
        }
        const uint64_t own = marius_dense_bytes(config, g->local_count, g->edge_count, count);
        planned = gnn_max_u64(planned, own + marius_dense_batch_bytes(config, g->local_count, g->edge_count, count));
        assert_true(held - before.current_bytes >= planned);
        assert_true(held - before.current_bytes <= planned + UINT64_C(5) * GNN_PAGE_BYTES);
    }
    rig_close(&rig);
}

static void memory_grows_at_warm_up_alone_and_as_planned(void **state)
{
    struct small_graph graph, larger;
    struct resident r, more;
    struct marius_dense_config config = usual;
    small_graph_open(&graph, 42, NODES_MAX / 2);
    small_graph_open(&larger, 43, NODES_MAX);
    resident_open(&r, &graph, NODES_MAX / 2, NULL);
    resident_open(&more, &larger, LOCALS_MAX, NULL);
    const struct growth turns[] = {{&r.graph, r.local, 2},
                                   {&r.graph, r.local, BATCH_TARGETS},
                                   {&r.graph, r.local, 1},
                                   {&more.graph, more.local, BATCH_TARGETS},
                                   {&r.graph, r.local, BATCH_TARGETS}};
    for (config.hash_hops = 0; config.hash_hops <= config.layers; config.hash_hops++)
        grow(*state, &config, turns, sizeof turns / sizeof *turns);
    resident_close(&r);
    resident_close(&more);
    small_graph_close(&graph);
    small_graph_close(&larger);
}

/* Local IDs and targets by themselves, each over many pages. */
static void every_array_grows(void **state)
{
    enum { LOCALS = 400000, TARGETS = 40000 };
    uint32_t *const starts = zeroed(LOCALS + 1, sizeof *starts), *const ids = zeroed(LOCALS, sizeof *ids);
    const struct marius_dense_config config = {.seed = 5, .layers = 1, .fanout = {1}};
    for (uint32_t v = 0; v < LOCALS; v++)
        ids[v] = v;
    const struct marius_subgraph wide = {.local_count = LOCALS, .in_start = starts, .in_nbrs = ids, .original = ids};
    struct marius_subgraph narrow = wide;
    narrow.local_count = LOCALS / 2;
    const struct growth turns[] = {{&narrow, ids, 2}, {&narrow, ids, TARGETS}, {&wide, ids, TARGETS}, {&wide, ids, 3}};
    grow(*state, &config, turns, sizeof turns / sizeof *turns);
    free(starts);
    free(ids);
}

/* Lists begin on 64 bytes. */
static void sizes_by_hand(void **state)
{
    (void)state;
    const struct marius_dense_config one = {.layers = 1, .fanout = {5}}, two = {.layers = 2, .fanout = {8, 2}};
    /* 10 entries in all lists: 4 + 10 nodes twice, 4 + 1 starts, 10 columns */
    assert_int_equal(marius_dense_batch_bytes(&one, 1000, 10, 4), 64 + 64 + 64 + 64);
    /* 4 targets draw 32 and find the other 16 of 20 nodes, which draw 32 */
    assert_int_equal(marius_dense_batch_bytes(&two, 20, 1000000, 4), 128 + 128 + 128 + 4 * 64);
    /* marks and known nodes of 16 words, places of 14 nodes */
    assert_int_equal(marius_dense_bytes(&one, 1000, 10, 4), 16 * 8 + 16 * 16 + 14 * 4);
    /* as many slots as there are nodes: at most twice those that are hashed, 4 + 10 */
    struct marius_dense_config hashed = one;
    hashed.hash_hops = 1;
    assert_int_equal(marius_dense_bytes(&hashed, 20, 10, 4), 20 * 8);
}

static void refused_configurations(void **state)
{
    static const struct {
        struct marius_dense_config config;
        const char *says;
    } cases[] = {
        {{.layers = 0}, "0 layers"},
        {{.layers = GNN_LAYERS_MAX + 1}, "9 layers"},
        {{.layers = 2, .fanout = {3, 0}}, "fan-out 0 of hop 2"},
        {{.layers = 1, .fanout = {MARIUS_DENSE_FANOUT_MAX + 1}}, "fan-out 1025 of hop 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marius_dense *dense = NULL;
        struct gnn_err err = {0};
        assert_int_equal(marius_dense_open(*state, &cases[i].config, &dense, &err), GNN_EUSAGE);
        assert_non_null(strstr(err.message, cases[i].says));
    }
    const struct marius_dense_config widest = {.layers = 1, .fanout = {MARIUS_DENSE_FANOUT_MAX}};
    struct rig rig;
    rig_open(&rig, *state, &widest);
    rig_close(&rig);
}

/* The bounds alone refuse: no list is read. */
static void too_many_neighbours_for_the_lists(void **state)
{
    const struct marius_dense_config config = {
        .layers = 1, .fanout = {MARIUS_DENSE_ALL}, .hash_hops = 1, .out_edges = true};
    const uint32_t none = 0;
    const struct marius_subgraph graph = {.local_count = 4,
                                          .edge_count = UINT32_MAX,
                                          .in_start = &none,
                                          .in_nbrs = &none,
                                          .out_start = &none,
                                          .out_nbrs = &none,
                                          .original = &none};
    struct resident r;
    struct rig rig;
    struct gnn_err err = {0};
    figure_open(&r);
    rig_open(&rig, *state, &config);
    assert_int_equal(rig_sample(&rig, &r, 0, 0, r.local, 1)->node_count, 3);
    assert_int_equal(marius_dense_sample(rig.dense, &graph, 0, 0, &none, 1, rig.batch, &err), GNN_EUSAGE);
    assert_int_equal(marius_dense_view(rig.batch)->node_count, 0); /* nor the batch before */
    resident_close(&r);
    assert_non_null(strstr(err.message, "could draw 8589934590 neighbours"));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_papers_algorithms),
        cmocka_unit_test(the_figure_by_hand),
        cmocka_unit_test(both_directions_by_hand),
        cmocka_unit_test(one_layer_is_the_exact_systems),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(methods_slots_and_history_change_nothing),
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(layers_equal_a_recursion_per_node),
        cmocka_unit_test(shared_lists_train_as_lists_apart),
        cmocka_unit_test(segments_equal_a_scalar_loop),
        cmocka_unit_test(refused_memory_is_an_error_and_no_more),
        cmocka_unit_test(memory_grows_at_warm_up_alone_and_as_planned),
        cmocka_unit_test(every_array_grows),
        cmocka_unit_test(sizes_by_hand),
        cmocka_unit_test(refused_configurations),
        cmocka_unit_test(too_many_neighbours_for_the_lists),
    };
    return cmocka_run_group_tests_name("dense", tests, measured_world_open, measured_world_close);
}
