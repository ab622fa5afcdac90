/* SPDX-License-Identifier: MIT */
#include "systems/presort/topology.h"

#include "harness/base/bitset.h"
#include "harness/system/scan.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct presort_topology {
    const struct gnn_env *env;
    gnn_node *neighbours; /* (edges) lists of the nodes that are held, by node */
    uint64_t edges;
    uint64_t *held; /* a set of nodes; NULL: all */
    uint64_t *base; /* (words of held) where the first list of a word's nodes begins */
    uint64_t held_bytes;
};

/* ---- open ---- */

uint64_t presort_topology_bytes_all(const struct gnn_dataset *dataset)
{
    return gnn_round_up(gnn_mul_bytes(dataset->edge_count, sizeof(gnn_node)), GNN_PAGE_BYTES);
}

/* A pass over the edges: what it does with the part of a list that came. */
struct pass {
    struct presort_topology *t;
    gnn_node node;     /* whose list the pass is at */
    uint64_t *reached; /* marks neighbours; NULL: copies them */
    uint64_t copied;   /* edges */
};

static enum gnn_status visit_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    struct pass *const p = ctx;
    const uint64_t *const indptr = p->t->env->dataset->indptr, end = first + count;
    const gnn_node *const ids = data;
    uint64_t used = 0;
    (void)err;
    for (uint64_t at = first, next; at < end; at = next) {
        while (indptr[p->node + 1] <= at)
            p->node++;
        next = gnn_min_u64(indptr[p->node + 1], end);
        if (p->t->held != NULL && !gnn_bitset_has(p->t->held, p->node))
            continue;
        used += next - at;
        for (uint64_t i = at; p->reached != NULL && i < next; i++)
            (void)gnn_bitset_add(p->reached, ids[i - first]);
        if (p->reached == NULL)
            memcpy(p->t->neighbours + p->copied, ids + (at - first), (next - at) * sizeof *ids);
        p->copied += next - at;
    }
    if (p->reached != NULL)
        gnn_charge(p->t->env->world, GNN_WORK_TABLE_ENTRY, used);
    else
        gnn_charge(p->t->env->world, GNN_WORK_COPIED_BYTE, used * sizeof *ids);
    return GNN_OK;
}

static enum gnn_status scan_edges(struct presort_topology *t, bool direct, uint64_t *reached, struct gnn_err *err)
{
    const struct gnn_scan scan = gnn_scan_of_edges(t->env, direct);
    struct pass pass = {.t = t, .reached = reached};
    GNN_TRY(gnn_scan_file(t->env, &scan, visit_edges, &pass, err));
    assert(reached != NULL || pass.copied == t->edges);
    return GNN_OK;
}

/* Adds the nodes one hop further to those that are held. */
static enum gnn_status reach_further(struct presort_topology *t, bool direct, uint64_t *reached, struct gnn_err *err)
{
    const uint64_t words = gnn_bitset_words(t->env->dataset->node_count);
    memset(reached, 0, words * sizeof *reached);
    GNN_TRY(scan_edges(t, direct, reached, err));
    for (uint64_t i = 0; i < words; i++)
        t->held[i] |= reached[i];
    return GNN_OK;
}

static enum gnn_status find_reach(struct presort_topology *t, bool direct, struct gnn_err *err)
{
    const struct gnn_dataset *const d = t->env->dataset;
    const uint64_t words = gnn_bitset_words(d->node_count);
    uint64_t *reached = NULL;
    GNN_MEM_NEW(t->env->world, t->held, words, "presort nodes with lists", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(t->env->world, reached, words, "presort nodes that are reached", GNN_MEM_PLAIN, err);
    for (uint32_t i = 0; i < d->train.count; i++)
        (void)gnn_bitset_add(t->held, d->train.nodes[i]);
    enum gnn_status status = GNN_OK;
    for (uint32_t hop = 1; hop < t->env->workload->layers; hop++)
        GNN_NEXT(status, reach_further(t, direct, reached, err));
    gnn_mem_free(t->env->world, reached);
    return status;
}

static uint64_t degree(const struct gnn_dataset *d, gnn_node v)
{
    return d->indptr[v + 1] - d->indptr[v];
}

/* Counts the edges of what is held, and where each word's lists begin. */
static enum gnn_status place_lists(struct presort_topology *t, struct gnn_err *err)
{
    const struct gnn_dataset *const d = t->env->dataset;
    const uint64_t words = gnn_bitset_words(d->node_count);
    GNN_MEM_NEW(t->env->world, t->base, words, "presort beginnings of lists", GNN_MEM_PLAIN, err);
    gnn_charge(t->env->world, GNN_WORK_TABLE_ENTRY, words);
    for (uint64_t i = 0; i < words; i++) {
        t->base[i] = t->edges;
        for (uint64_t word = t->held[i]; word != 0; word &= word - 1)
            t->edges += degree(d, (gnn_node)(i * 64 + (uint64_t)__builtin_ctzll(word)));
    }
    return GNN_OK;
}

static void count_bytes(struct presort_topology *t)
{
    const uint64_t bits = t->held != NULL ? gnn_bitset_words(t->env->dataset->node_count) * 2 * sizeof *t->held : 0;
    t->held_bytes = gnn_round_up(t->edges * sizeof *t->neighbours, GNN_PAGE_BYTES) + gnn_round_up(bits, GNN_PAGE_BYTES);
}

/* Chooses the lists; held_bytes says what they take. */
static enum gnn_status choose_lists(struct presort_topology *t, const struct presort_topology_config *config,
                                    struct gnn_err *err)
{
    const struct gnn_dataset *const d = t->env->dataset;
    if (presort_topology_bytes_all(d) <= config->room_bytes) {
        t->edges = d->edge_count;
    } else {
        GNN_TRY(find_reach(t, config->direct, err));
        GNN_TRY(place_lists(t, err));
    }
    count_bytes(t);
    return GNN_OK;
}

enum gnn_status presort_topology_open(const struct gnn_env *env, const struct presort_topology_config *config,
                                      struct presort_topology **out, struct gnn_err *err)
{
    *out = NULL;
    if (config->kind != PRESORT_TOPOLOGY_AUTO && config->kind != PRESORT_TOPOLOGY_RESIDENT)
        return GNN_OK;
    struct presort_topology *t;
    GNN_NEW(t, 1, err, "presort's neighbour lists");
    *out = t;
    t->env = env;
    GNN_TRY(choose_lists(t, config, err));
    if (t->held_bytes > config->room_bytes) {
        if (config->kind == PRESORT_TOPOLOGY_RESIDENT)
            return gnn_fail(
                err, GNN_ECAP,
                "presort.topology=resident: the lists that mini-batches can draw from take %" PRIu64
                " bytes, but only %" PRIu64
                " are available: raise --memory or presort.topology_share, or set presort.topology=swept or mapped",
                t->held_bytes, config->room_bytes);
        presort_topology_close(t);
        *out = NULL;
        return GNN_OK;
    }
    GNN_MEM_NEW(env->world, t->neighbours, t->edges + 1, "presort neighbour lists", GNN_MEM_LARGE, err);
    return scan_edges(t, config->direct, NULL, err);
}

void presort_topology_close(struct presort_topology *t)
{
    if (t == NULL)
        return;
    gnn_mem_free(t->env->world, t->neighbours);
    gnn_mem_free(t->env->world, t->base);
    gnn_mem_free(t->env->world, t->held);
    free(t);
}

uint64_t presort_topology_bytes(const struct presort_topology *t)
{
    return t->held_bytes;
}

/* ---- lists ---- */

/* Where the list of a node that is held begins. */
static uint64_t begin_of(const struct presort_topology *t, gnn_node v)
{
    const struct gnn_dataset *const d = t->env->dataset;
    if (t->held == NULL)
        return d->indptr[v];
    assert(gnn_bitset_has(t->held, v));
    uint64_t at = t->base[v / 64];
    for (uint64_t word = t->held[v / 64] & ((UINT64_C(1) << v % 64) - 1); word != 0; word &= word - 1)
        at += degree(d, (gnn_node)(v / 64 * UINT64_C(64) + (uint64_t)__builtin_ctzll(word)));
    return at;
}

const gnn_node *presort_topology_list(const struct presort_topology *t, gnn_node node, uint64_t *count)
{
    *count = degree(t->env->dataset, node);
    return t->neighbours + begin_of(t, node);
}

/* ---- the source ---- */

struct source {
    struct gnn_neighbour_source base;
    const struct presort_topology *t;
};

static enum gnn_status fetch_lists(struct gnn_neighbour_source *source, const gnn_node *nodes,
                                   const uint32_t *row_start, uint32_t row_count, const uint64_t *edge_offset,
                                   gnn_node *out, struct gnn_err *err)
{
    const struct presort_topology *const t = ((const struct source *)source)->t;
    (void)err;
    gnn_charge(t->env->world, GNN_WORK_TABLE_ENTRY, row_start[row_count] + (uint64_t)row_count);
    for (uint32_t r = 0; r < row_count; r++) {
        if (row_start[r] == row_start[r + 1])
            continue;
        const gnn_node *const list = t->neighbours + begin_of(t, nodes[r]);
        for (uint32_t i = row_start[r]; i < row_start[r + 1]; i++)
            out[i] = list[edge_offset[i] - t->env->dataset->indptr[nodes[r]]];
    }
    return GNN_OK;
}

static void close_source(struct gnn_neighbour_source *source)
{
    free(source);
}

static const struct gnn_neighbour_source_ops resident_ops = {
    .name = "resident", .fetch_lists = fetch_lists, .close = close_source};

enum gnn_status presort_topology_source(void *topology, uint32_t worker, struct gnn_neighbour_source **out,
                                        struct gnn_err *err)
{
    struct source *source;
    (void)worker;
    GNN_NEW(source, 1, err, "presort: neighbour source");
    *source = (struct source){.base = {&resident_ops}, .t = topology};
    *out = &source->base;
    return GNN_OK;
}
