/* SPDX-License-Identifier: MIT */
#include "harness/graph/triples.h"

#include "harness/storage/exact.h"
#include "harness/storage/meta.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- splits ---- */

void gnn_triples_path(const struct gnn_dataset *dataset, enum gnn_triple_split split, char path[GNN_TRIPLES_PATH])
{
    (void)snprintf(path, GNN_TRIPLES_PATH, "%s/%s", dataset->dir, gnn_meta_triples_name((int)split));
}

static uint64_t split_bytes(const struct gnn_dataset *dataset, enum gnn_triple_split split)
{
    assert(split < GNN_TRIPLE_SPLITS);
    return dataset->triple_count[split] * (uint64_t)sizeof(struct gnn_triple);
}

enum gnn_status gnn_triples_file(struct gnn_world *world, const struct gnn_dataset *dataset,
                                 enum gnn_triple_split split, struct gnn_file **out, struct gnn_err *err)
{
    char path[GNN_TRIPLES_PATH];
    struct gnn_file_info info;
    gnn_triples_path(dataset, split, path);
    GNN_TRY(gnn_file_open(world, path, GNN_OPEN_READ, out, err));
    gnn_file_info(world, *out, &info);
    if (info.size_bytes == split_bytes(dataset, split))
        return GNN_OK;
    gnn_file_close(world, *out);
    *out = NULL;
    return gnn_dataset_damaged(dataset, err, "%s: %" PRIu64 " bytes, %" PRIu64 " expected", path, info.size_bytes,
                               split_bytes(dataset, split));
}

static enum gnn_status check_edges(const struct gnn_dataset *dataset, enum gnn_triple_split split,
                                   const struct gnn_triple *edges, struct gnn_err *err)
{
    for (uint32_t i = 0; i < dataset->triple_count[split]; i++) {
        if (edges[i].source < dataset->node_count && edges[i].target < dataset->node_count &&
            edges[i].relation < dataset->relation_count)
            continue;
        char path[GNN_TRIPLES_PATH];
        gnn_triples_path(dataset, split, path);
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: edge %" PRIu32 " is (%" PRIu32 ", %" PRIu32 ", %" PRIu32 "), expected nodes below %" PRIu32
                        " and a relation below %" PRIu32,
                        path, i, edges[i].source, edges[i].relation, edges[i].target, dataset->node_count,
                        dataset->relation_count);
    }
    return GNN_OK;
}

/* Reads a split to where it has room. */
static enum gnn_status read_split(struct gnn_world *world, const struct gnn_dataset *dataset,
                                  enum gnn_triple_split split, struct gnn_triple *to, struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    GNN_TRY(gnn_triples_file(world, dataset, split, &file, err));
    const enum gnn_status status = gnn_read_all(world, file, 0, to, split_bytes(dataset, split), err);
    gnn_file_close(world, file);
    GNN_TRY(status);
    return check_edges(dataset, split, to, err);
}

enum gnn_status gnn_triples_load(struct gnn_world *world, const struct gnn_dataset *dataset,
                                 enum gnn_triple_split split, struct gnn_triple **out, struct gnn_err *err)
{
    void *edges = NULL;
    GNN_TRY(gnn_mem_alloc(world, gnn_meta_triples_name((int)split), gnn_max_u64(split_bytes(dataset, split), 1),
                          GNN_MEM_PLAIN, &edges, err));
    const enum gnn_status status = read_split(world, dataset, split, edges, err);
    if (status == GNN_OK)
        *out = edges;
    else
        gnn_mem_free(world, edges);
    return status;
}

/* ---- known edges ---- */

struct gnn_known {
    struct gnn_world *world;
    struct gnn_triple *by[2]; /* (count) [1]: by (source, relation, target); [0]: by (target, relation, source) */
    uint64_t count[2];
};

uint64_t gnn_known_bytes(const struct gnn_dataset *dataset)
{
    uint64_t edges = 0;
    for (int split = 0; split < GNN_TRIPLE_SPLITS; split++)
        edges += dataset->triple_count[split];
    return gnn_mul_bytes(edges, 2 * sizeof(struct gnn_triple));
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_target(const void *left, const void *right)
{
    const struct gnn_triple *const a = left, *const b = right;
    const int target = compare(a->target, b->target), relation = compare(a->relation, b->relation);
    return target != 0 ? target : relation != 0 ? relation : compare(a->source, b->source);
}

static int by_source(const void *left, const void *right)
{
    const struct gnn_triple *const a = left, *const b = right;
    const int source = compare(a->source, b->source), relation = compare(a->relation, b->relation);
    return source != 0 ? source : relation != 0 ? relation : compare(a->target, b->target);
}

/* Removes repeats of a sorted list; returns how many are left. */
static uint64_t unique(struct gnn_triple *edges, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (kept == 0 || memcmp(&edges[kept - 1], &edges[i], sizeof *edges) != 0)
            edges[kept++] = edges[i];
    return kept;
}

static enum gnn_status fill_known(struct gnn_known *known, const struct gnn_dataset *dataset, struct gnn_err *err)
{
    const uint64_t bytes = gnn_known_bytes(dataset) / 2;
    for (int side = 0; side < 2; side++) {
        void *edges = NULL;
        GNN_TRY(gnn_mem_alloc(known->world, "known edges", gnn_max_u64(bytes, 1), GNN_MEM_PLAIN, &edges, err));
        known->by[side] = edges;
    }
    uint64_t at = 0;
    for (int split = 0; split < GNN_TRIPLE_SPLITS; split++) {
        GNN_TRY(read_split(known->world, dataset, (enum gnn_triple_split)split, known->by[0] + at, err));
        at += dataset->triple_count[split];
    }
    memcpy(known->by[1], known->by[0], bytes);
    qsort(known->by[0], at, sizeof *known->by[0], by_target);
    qsort(known->by[1], at, sizeof *known->by[1], by_source);
    gnn_charge(known->world, GNN_WORK_SORTED_KEY, 2 * at);
    for (int side = 0; side < 2; side++)
        known->count[side] = unique(known->by[side], at);
    return GNN_OK;
}

enum gnn_status gnn_known_open(struct gnn_world *world, const struct gnn_dataset *dataset, struct gnn_known **out,
                               struct gnn_err *err)
{
    struct gnn_known *known;
    GNN_NEW(known, 1, err, "known edges");
    known->world = world;
    const enum gnn_status status = fill_known(known, dataset, err);
    return GNN_OPENED(status, known, out, gnn_known_close);
}

void gnn_known_close(struct gnn_known *known)
{
    if (known == NULL)
        return;
    for (int side = 0; side < 2; side++)
        gnn_mem_free(known->world, known->by[side]);
    free(known);
}

const struct gnn_triple *gnn_known_find(const struct gnn_known *known, uint32_t side, gnn_node end, uint32_t relation,
                                        uint64_t *count)
{
    assert(side < 2);
    const struct gnn_triple *const edges = known->by[side];
    const struct gnn_triple key = {.source = side == 1 ? end : 0, .relation = relation, .target = side == 1 ? 0 : end};
    uint64_t low = 0, high = known->count[side];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const int order = side == 1 ? by_source(&edges[middle], &key) : by_target(&edges[middle], &key);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t past = low;
    while (past < known->count[side] && edges[past].relation == relation &&
           (side == 1 ? edges[past].source : edges[past].target) == end)
        past++;
    *count = past - low;
    return edges + low;
}
