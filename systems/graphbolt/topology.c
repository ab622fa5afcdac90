/* SPDX-License-Identifier: MIT */
/* Dependent mini-batches (Balin, Catalyurek, "Layer-Neighbor Sampling", NeurIPS 2023, and the released
 * batch_dependency). Each neighbour t has a number r(t) that all nodes of a hop share. A node draws its neighbours with
 * the smallest numbers. Nodes with common neighbours thus draw the same ones. With a dependency of D, r(t) turns from
 * the numbers of one random seed to those of the next during D mini-batches:
 *
 *     r(t) = cos(pi x / 2) a(t) + sin(pi x / 2) b(t)    at the part x of the turn
 *
 * The released code draws a and b from a normal distribution. Here they are sums of four uniform integers. The draw
 * depends on the order of r only, and independent numbers of one distribution make every set of neighbours equally
 * likely. */
#include "systems/graphbolt/topology.h"

#include "harness/base/rng.h"
#include "harness/system/scan.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_ONE = 1 << 20 };
#define QUARTER_TURN 1.57079632679489661923

struct source {
    struct gnn_neighbour_source base;
    const struct graphbolt_topology *t;
    uint64_t key[2];    /* of a and b, for the mini-batch */
    int64_t weight[2];  /* of a and b, in parts of WEIGHT_ONE */
    uint32_t hop;       /* of the mini-batch that is being drawn */
    int64_t *smallest;  /* (fan-out) numbers of the neighbours chosen so far, ascending */
    uint32_t *position; /* (fan-out) their places in the list */
};

struct graphbolt_topology {
    const struct gnn_env *env;
    gnn_node *neighbours; /* (edge_count) */
    uint32_t dependency;  /* 0: draws are the sampler's */
    uint32_t workers;
    struct source **source; /* (workers) */
};

static uint32_t largest_fanout(const struct gnn_workload *workload)
{
    uint32_t most = 1;
    for (uint32_t l = 0; l < workload->layers; l++)
        most = gnn_max_u32(most, workload->fanout[l]);
    return most;
}

uint64_t graphbolt_topology_bytes(const struct gnn_dataset *dataset)
{
    return gnn_round_up(gnn_mul_bytes(gnn_add_bytes(dataset->edge_count, 1), sizeof(gnn_node)), GNN_PAGE_BYTES);
}

uint64_t graphbolt_topology_scan_bytes(const struct gnn_dataset *dataset)
{
    return gnn_scan_bytes(dataset->id_bytes);
}

/* ---- the lists ---- */

static enum gnn_status copy_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    struct graphbolt_topology *const t = ctx;
    (void)err;
    memcpy(t->neighbours + first, data, count * sizeof *t->neighbours);
    gnn_charge(t->env->world, GNN_WORK_COPIED_BYTE, count * sizeof *t->neighbours);
    return GNN_OK;
}

enum gnn_status graphbolt_topology_open(const struct gnn_env *env, bool direct, uint32_t dependency, uint32_t workers,
                                        struct graphbolt_topology **out, struct gnn_err *err)
{
    struct graphbolt_topology *t;
    GNN_NEW(t, 1, err, "graphbolt: topology");
    *out = t;
    *t = (struct graphbolt_topology){.env = env, .dependency = dependency, .workers = workers};
    GNN_NEW(t->source, workers, err, "graphbolt: sources of %" PRIu32 " samplers", workers);
    GNN_MEM_NEW(env->world, t->neighbours, env->dataset->edge_count + 1, "graphbolt topology", GNN_MEM_LARGE, err);
    const struct gnn_scan scan = gnn_scan_of_edges(env, direct);
    return gnn_scan_file(env, &scan, copy_edges, t, err);
}

void graphbolt_topology_close(struct graphbolt_topology *t)
{
    if (t == NULL)
        return;
    gnn_mem_free(t->env->world, t->neighbours);
    free(t->source);
    free(t);
}

/* ---- draws ---- */

/* Returns the sum of four 16-bit numbers around 0. */
static int64_t number_of(uint64_t key, gnn_node node)
{
    const uint64_t word = gnn_mix64(key ^ gnn_mix64(node + GNN_RNG_GOLDEN));
    const uint64_t sum = (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
    return (int64_t)sum - 2 * 0xffff;
}

/* Keeps the `kept` smallest numbers of the list, with their places; equal numbers keep the earlier place. */
static void choose_smallest(struct source *s, const uint64_t keys[2], const gnn_node *list, uint64_t degree,
                            uint32_t kept)
{
    uint32_t found = 0;
    for (uint64_t i = 0; i < degree; i++) {
        const int64_t r = s->weight[0] * number_of(keys[0], list[i]) + s->weight[1] * number_of(keys[1], list[i]);
        if (found == kept && r >= s->smallest[found - 1])
            continue;
        uint32_t at = found < kept ? found++ : found - 1;
        for (; at > 0 && s->smallest[at - 1] > r; at--) {
            s->smallest[at] = s->smallest[at - 1];
            s->position[at] = s->position[at - 1];
        }
        s->smallest[at] = r;
        s->position[at] = (uint32_t)i;
    }
    assert(found == kept);
}

static int by_place(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void draw_dependent(struct source *s, const gnn_node *nodes, const uint32_t *row_start, uint32_t row_count,
                           gnn_node *out)
{
    const struct graphbolt_topology *const t = s->t;
    const uint64_t *const indptr = t->env->dataset->indptr;
    const uint64_t keys[2] = {gnn_rng_fold(s->key[0], s->hop), gnn_rng_fold(s->key[1], s->hop)};
    uint64_t seen = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        const gnn_node *const list = t->neighbours + indptr[nodes[row]];
        const uint64_t degree = indptr[nodes[row] + 1] - indptr[nodes[row]];
        const uint32_t kept = row_start[row + 1] - row_start[row];
        if (kept == 0)
            continue;
        choose_smallest(s, keys, list, degree, kept);
        qsort(s->position, kept, sizeof *s->position, by_place);
        for (uint32_t i = 0; i < kept; i++)
            out[row_start[row] + i] = list[s->position[i]];
        seen += degree;
    }
    s->hop++;
    gnn_charge(t->env->world, GNN_WORK_TABLE_ENTRY, seen);
}

static enum gnn_status fetch_lists(struct gnn_neighbour_source *source, const gnn_node *nodes,
                                   const uint32_t *row_start, uint32_t row_count, const uint64_t *edge_offset,
                                   gnn_node *out, struct gnn_err *err)
{
    struct source *const s = (struct source *)source;
    const struct graphbolt_topology *const t = s->t;
    const uint32_t count = row_start[row_count];
    (void)err;
    if (t->dependency > 0) {
        draw_dependent(s, nodes, row_start, row_count, out);
        return GNN_OK;
    }
    gnn_charge(t->env->world, GNN_WORK_TABLE_ENTRY, count + (uint64_t)row_count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = t->neighbours[edge_offset[i]];
    return GNN_OK;
}

/* ---- sources ---- */

static void close_source(struct gnn_neighbour_source *source)
{
    struct source *const s = (struct source *)source;
    if (s == NULL)
        return;
    free(s->smallest);
    free(s->position);
    free(s);
}

static const struct gnn_neighbour_source_ops memory_ops = {
    .name = "memory", .fetch_lists = fetch_lists, .close = close_source};

enum gnn_status graphbolt_topology_source(void *ctx, uint32_t worker, struct gnn_neighbour_source **out,
                                          struct gnn_err *err)
{
    struct graphbolt_topology *const t = ctx;
    struct source *s;
    assert(worker < t->workers);
    GNN_NEW(s, 1, err, "graphbolt: neighbour source");
    s->base.ops = &memory_ops;
    s->t = t;
    *out = &s->base;
    t->source[worker] = s;
    if (t->dependency == 0)
        return GNN_OK;
    const uint32_t fanout = largest_fanout(t->env->workload);
    GNN_NEW(s->smallest, fanout, err, "graphbolt: numbers of %" PRIu32 " neighbours", fanout);
    GNN_NEW(s->position, fanout, err, "graphbolt: places of %" PRIu32 " neighbours", fanout);
    return GNN_OK;
}

void graphbolt_topology_begin_batch(struct graphbolt_topology *topology, uint32_t worker, uint64_t epoch, uint32_t k,
                                    uint32_t batches)
{
    if (topology->dependency == 0)
        return;
    struct source *const s = topology->source[worker];
    const uint64_t step = epoch * batches + k, turn = step / topology->dependency;
    const uint64_t key = gnn_rng_fork(topology->env->workload->seed, "graphbolt dependency");
    const double part = (double)(step % topology->dependency) / topology->dependency;
    for (int i = 0; i < 2; i++)
        s->key[i] = gnn_rng_fold(key, turn + (uint64_t)i);
    s->weight[0] = lround(cos(part * QUARTER_TURN) * WEIGHT_ONE);
    s->weight[1] = lround(sin(part * QUARTER_TURN) * WEIGHT_ONE);
    s->hop = 0;
}
