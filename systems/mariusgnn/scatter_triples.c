/* SPDX-License-Identifier: MIT */
/* Scattering the training edges of a knowledge graph into edge buckets, out of core: the buckets are counted in one
 * pass over the dataset's file, then cut into ranges of what the window holds, and each range takes another pass, whose
 * edges of that range go to their places. Within a bucket edges keep the dataset's order. Reads: the input, once and
 * once for each range; writes: each edge once, through the page cache, which holds nothing of them afterwards.
 *
 * Edges keep the dataset's node IDs, so that mini-batches are those of a system without partitions. */
#include "systems/mariusgnn/store.h"

#include "harness/graph/triples.h"
#include "harness/storage/exact.h"
#include "harness/system/scan.h"

#include <assert.h>
#include <inttypes.h>

struct job {
    const struct marius_scatter *scatter;
    uint64_t *cursor;          /* (p * p) where the next edge of a bucket goes */
    uint64_t first, end;       /* buckets of the range */
    uint64_t window_first;     /* edge of the result that stands first in the window */
    struct gnn_triple *window; /* (window_edges) */
    uint64_t window_edges;
};

static enum gnn_status check_edge(const struct job *job, const struct gnn_triple *edge, uint64_t number,
                                  struct gnn_err *err)
{
    const struct gnn_dataset *const d = job->scatter->env->dataset;
    if (edge->source < d->node_count && edge->target < d->node_count && edge->relation < d->relation_count)
        return GNN_OK;
    return gnn_dataset_damaged(d, err,
                               "%s: training edge %" PRIu64 " is (%" PRIu32 ", %" PRIu32 ", %" PRIu32
                               "), expected nodes below %" PRIu32 " and a relation below %" PRIu32,
                               d->dir, number, edge->source, edge->relation, edge->target, d->node_count,
                               d->relation_count);
}

static uint64_t bucket_of(const struct job *job, const struct gnn_triple *edge)
{
    const struct marius_store *const store = job->scatter->store;
    const gnn_node *const old_to_new = job->scatter->old_to_new;
    return (uint64_t)(old_to_new[edge->source] / store->rows) * store->partitions +
           old_to_new[edge->target] / store->rows;
}

/* The visitors are gnn_scan_fn over edges. */
static enum gnn_status count_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    const struct job *const job = ctx;
    const struct gnn_triple *const edges = data;
    for (uint64_t i = 0; i < count; i++) {
        GNN_TRY(check_edge(job, &edges[i], first + i, err));
        job->cursor[bucket_of(job, &edges[i]) + 1]++;
    }
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, 2 * count);
    return GNN_OK;
}

static enum gnn_status place_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    const struct job *const job = ctx;
    const struct gnn_triple *const edges = data;
    for (uint64_t i = 0; i < count; i++) {
        GNN_TRY(check_edge(job, &edges[i], first + i, err));
        const uint64_t bucket = bucket_of(job, &edges[i]);
        if (bucket >= job->first && bucket < job->end)
            job->window[job->cursor[bucket]++ - job->window_first] = edges[i];
    }
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, 2 * count);
    return GNN_OK;
}

static enum gnn_status scan(struct job *job, gnn_scan_fn *visit, struct gnn_err *err)
{
    const struct gnn_env *const env = job->scatter->env;
    char path[GNN_TRIPLES_PATH];
    gnn_triples_path(env->dataset, GNN_TRIPLES_TRAIN, path);
    const struct gnn_scan edges = {.path = path,
                                   .direct = job->scatter->direct,
                                   .end_bytes = env->dataset->triple_count[GNN_TRIPLES_TRAIN] *
                                                (uint64_t)sizeof(struct gnn_triple),
                                   .unit_bytes = sizeof(struct gnn_triple),
                                   .mem_flags = GNN_MEM_PLAIN};
    return gnn_scan_file(env, &edges, visit, job, err);
}

/* As for the other buckets the table has a place in front: after the sums entry b + 1 is where bucket b's next edge
 * goes and, when all are placed, where bucket b + 1 begins. */
static enum gnn_status count_buckets(struct job *job, struct gnn_err *err)
{
    struct marius_store *const store = job->scatter->store;
    const uint64_t buckets = (uint64_t)store->partitions * store->partitions;
    GNN_MEM_NEW(job->scatter->env->world, store->triple_start, buckets + 2, "table of training edges", GNN_MEM_PLAIN,
                err);
    job->cursor = store->triple_start + 1;
    GNN_TRY(scan(job, count_edges, err));
    job->window_edges = gnn_max_u64(job->scatter->window_bytes / sizeof(struct gnn_triple), 1);
    for (uint64_t b = 0; b < buckets; b++) {
        job->window_edges = gnn_max_u64(job->window_edges, job->cursor[b + 1]); /* one bucket at least */
        job->cursor[b + 1] += job->cursor[b];
    }
    job->window_edges = gnn_min_u64(job->window_edges, job->cursor[buckets]);
    return GNN_OK;
}

static enum gnn_status place_ranges(struct job *job, struct gnn_file *file, struct gnn_err *err)
{
    const struct marius_store *const store = job->scatter->store;
    const uint64_t buckets = (uint64_t)store->partitions * store->partitions;
    for (job->end = 0; job->end < buckets;) {
        job->first = job->end;
        job->window_first = job->cursor[job->first];
        while (job->end < buckets && job->cursor[job->end + 1] - job->window_first <= job->window_edges)
            job->end++;
        const uint64_t count = job->cursor[job->end] - job->window_first;
        assert(count <= job->window_edges);
        if (count == 0)
            continue;
        GNN_TRY(scan(job, place_edges, err));
        GNN_TRY(gnn_write_all(job->scatter->env->world, file, job->window_first * sizeof(struct gnn_triple),
                              job->window, count * sizeof(struct gnn_triple), err));
    }
    return gnn_file_evict(job->scatter->env->world, file, err);
}

enum gnn_status marius_scatter_triples(const struct marius_scatter *scatter, struct gnn_err *err)
{
    struct gnn_world *const world = scatter->env->world;
    struct gnn_prepared *const prepared = &scatter->store->prepared;
    struct job job = {.scatter = scatter};
    struct gnn_file *file = NULL;
    GNN_TRY(count_buckets(&job, err));
    GNN_MEM_NEW(world, job.window, job.window_edges, "training edges in their buckets", GNN_MEM_PLAIN, err);
    enum gnn_status status = gnn_prepared_begin(prepared, "triples", 0, &file, err);
    GNN_NEXT(status, place_ranges(&job, file, err));
    status = gnn_prepared_end(prepared, "triples", file, status, err);
    gnn_mem_free(world, job.window);
    return status;
}
