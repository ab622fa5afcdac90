/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/training_edges.h"

#include "harness/base/rng.h"
#include "harness/graph/permute.h"
#include "harness/graph/procedural.h"
#include "harness/graph/triples.h"
#include "harness/sample/link_batch.h"
#include "harness/storage/reader.h"
#include "harness/system/buffer.h"
#include "systems/mariusgnn/policy.h"
#include "systems/mariusgnn/resident_edges.h"

#include <assert.h>
#include <inttypes.h>

enum { LOADS_MAX = 256 };

struct set {
    struct gnn_buffer memory; /* of what was read by buckets */
    const struct gnn_triple *edges;
    uint32_t count;
};

struct marius_training_edges {
    const struct gnn_env *env;
    struct marius_training_edges_config config;
    struct gnn_triple *all; /* with `whole` */
    struct set sets[MARIUS_SETS_MAX];
    uint32_t *sorted; /* (slots) resident partitions, ascending */
    uint32_t sorted_count;
    struct gnn_reader *reader;
    struct gnn_load loads[LOADS_MAX];
    uint32_t load_count;
    struct run {
        uint64_t file_edge, count; /* edges that follow each other in the file … */
        struct gnn_triple *dst;    /* … and in memory */
    } run;
    struct marius_training_edges_counters counters;
};

/* ---- open ---- */

static struct gnn_reader_config reader_config(const struct marius_training_edges_config *config)
{
    return (struct gnn_reader_config){
        .depth = config->depth, .file_count = 1, .bounce_bytes_max = config->direct ? MARIUS_BUCKET_PIECE_BYTES : 0};
}

static enum gnn_status open_parts(struct marius_training_edges *edges, struct gnn_err *err)
{
    struct gnn_file *const file = edges->config.store->triples;
    struct gnn_reader_config reader = reader_config(&edges->config);
    for (uint32_t s = 0; s < edges->config.sets; s++)
        edges->sets[s].memory = (struct gnn_buffer){.name = "training edges of a state"};
    if (edges->config.whole)
        return GNN_OK;
    reader.engine = edges->env->io_engine;
    reader.files = &file;
    GNN_NEW(edges->sorted, edges->config.slots, err, "resident partitions");
    return gnn_reader_open(edges->env->world, &reader, &edges->reader, err);
}

enum gnn_status marius_training_edges_open(const struct gnn_env *env, const struct marius_training_edges_config *config,
                                           struct marius_training_edges **out, struct gnn_err *err)
{
    struct marius_training_edges *edges;
    assert(config->sets >= 1);
    assert(config->sets <= MARIUS_SETS_MAX);
    GNN_NEW(edges, 1, err, "training edges");
    edges->env = env;
    edges->config = *config;
    *out = edges;
    return open_parts(edges, err);
}

void marius_training_edges_close(struct marius_training_edges *edges)
{
    if (edges == NULL)
        return;
    gnn_reader_close(edges->reader);
    for (uint32_t s = 0; s < edges->config.sets; s++)
        gnn_buffer_close(edges->env->world, &edges->sets[s].memory);
    gnn_mem_free(edges->env->world, edges->all);
    free(edges->sorted);
    free(edges);
}

uint64_t marius_training_edges_bytes(const struct marius_training_edges_config *config, uint64_t state_edges)
{
    const struct gnn_reader_config reader = reader_config(config);
    const uint64_t grown = config->whole ? state_edges : state_edges + state_edges / 16; /* as gnn_buffer grows */
    const uint64_t edges = gnn_mul_bytes(config->sets, gnn_mul_bytes(grown, sizeof(struct gnn_triple)));
    const uint64_t reading = config->whole ? 0 : gnn_reader_memory_bytes(&reader, config->direct ? GNN_PAGE_BYTES : 1);
    return gnn_add_bytes(edges, reading);
}

/* ---- which buckets ---- */

static void sort_resident(struct marius_training_edges *edges, const uint32_t *resident)
{
    edges->sorted_count = 0;
    for (uint32_t s = 0; s < edges->config.slots; s++) { /* by insertion: hundreds, and mostly in order */
        uint32_t at = edges->sorted_count;
        if (resident[s] == MARIUS_NONE)
            continue;
        for (; at > 0 && edges->sorted[at - 1] > resident[s]; at--)
            edges->sorted[at] = edges->sorted[at - 1];
        edges->sorted[at] = resident[s];
        edges->sorted_count++;
    }
}

typedef enum gnn_status bucket_fn(void *ctx, uint32_t from, uint32_t to, uint64_t count, struct gnn_err *err);

/* Calls each for every bucket of the state that has edges, in the order of the file. */
static enum gnn_status for_buckets(struct marius_training_edges *edges, uint32_t state, const uint32_t *state_of,
                                   bucket_fn *each, void *ctx, struct gnn_err *err)
{
    const struct marius_store *const store = edges->config.store;
    for (uint32_t i = 0; i < edges->sorted_count; i++)
        for (uint32_t j = 0; j < edges->sorted_count; j++) {
            const uint32_t from = edges->sorted[i], to = edges->sorted[j];
            const uint64_t count = marius_bucket_triples(store, from, to);
            if (count > 0 && state_of[(uint64_t)from * store->partitions + to] == state)
                GNN_TRY(each(ctx, from, to, count, err));
        }
    return GNN_OK;
}

static enum gnn_status count_bucket(void *ctx, uint32_t from, uint32_t to, uint64_t count, struct gnn_err *err)
{
    (void)from;
    (void)to;
    (void)err;
    *(uint64_t *)ctx += count;
    return GNN_OK;
}

/* ---- reading ---- */

static enum gnn_status flush_loads(struct marius_training_edges *edges, struct gnn_err *err)
{
    const uint32_t count = edges->load_count;
    edges->load_count = 0;
    return gnn_reader_load_all(edges->reader, edges->loads, count, NULL, NULL, err);
}

/* Queues the reads of the run, a piece each. */
static enum gnn_status end_run(struct marius_training_edges *edges, struct gnn_err *err)
{
    const struct run run = edges->run;
    const uint64_t piece = MARIUS_BUCKET_PIECE_BYTES / sizeof(struct gnn_triple);
    edges->run = (struct run){.count = 0};
    for (uint64_t at = 0; at < run.count; at += piece) {
        if (edges->load_count == LOADS_MAX)
            GNN_TRY(flush_loads(edges, err));
        edges->loads[edges->load_count++] =
            (struct gnn_load){.len_bytes = (uint32_t)(gnn_min_u64(run.count - at, piece) * sizeof(struct gnn_triple)),
                              .offset_bytes = (run.file_edge + at) * sizeof(struct gnn_triple),
                              .dst = run.dst + at};
    }
    return GNN_OK;
}

struct reading {
    struct marius_training_edges *edges;
    struct gnn_triple *dst;
};

/* Adds a bucket to the run, or to the next one. */
static enum gnn_status want_bucket(void *ctx, uint32_t from, uint32_t to, uint64_t count, struct gnn_err *err)
{
    struct reading *const reading = ctx;
    struct marius_training_edges *const edges = reading->edges;
    const struct marius_store *const store = edges->config.store;
    const uint64_t file_edge = store->triple_start[(uint64_t)from * store->partitions + to];
    edges->counters.buckets++;
    if (edges->run.count > 0 && edges->run.file_edge + edges->run.count == file_edge && !edges->config.single) {
        edges->run.count += count;
    } else {
        GNN_TRY(end_run(edges, err));
        edges->run = (struct run){.file_edge = file_edge, .count = count, .dst = reading->dst};
    }
    reading->dst += count;
    return GNN_OK;
}

/* ---- looking at what was read ---- */

struct checking {
    const struct marius_training_edges *edges;
    const struct gnn_triple *at;
    uint64_t wrong;
};

static enum gnn_status check_bucket(void *ctx, uint32_t from, uint32_t to, uint64_t count, struct gnn_err *err)
{
    (void)err;
    struct checking *const c = ctx;
    const struct marius_store *const store = c->edges->config.store;
    const struct gnn_dataset *const d = c->edges->env->dataset;
    for (uint64_t e = 0; e < count; e++) {
        const struct gnn_triple edge = c->at[e];
        c->wrong += edge.source >= d->node_count || edge.target >= d->node_count ||
                    edge.relation >= d->relation_count || store->old_to_new[edge.source] / store->rows != from ||
                    store->old_to_new[edge.target] / store->rows != to;
    }
    c->at += count;
    gnn_charge(c->edges->env->world, GNN_WORK_TABLE_ENTRY, 2 * count);
    return GNN_OK;
}

static enum gnn_status read_buckets(struct marius_training_edges *edges, struct set *set, uint32_t state,
                                    const uint32_t *state_of, uint64_t count, struct gnn_err *err)
{
    struct gnn_world *const world = edges->env->world;
    GNN_TRY(gnn_buffer_reserve(world, &set->memory, gnn_max_u64(count, 1) * sizeof(struct gnn_triple), err));
    struct reading reading = {.edges = edges, .dst = set->memory.data};
    struct checking checking = {.edges = edges, .at = set->memory.data};
    edges->run = (struct run){.count = 0};
    edges->load_count = 0;
    GNN_TRY(for_buckets(edges, state, state_of, want_bucket, &reading, err));
    GNN_TRY(end_run(edges, err));
    GNN_TRY(flush_loads(edges, err));
    GNN_TRY(for_buckets(edges, state, state_of, check_bucket, &checking, err));
    if (checking.wrong > 0)
        return gnn_fail(
            err, GNN_EFORMAT,
            "%s: %" PRIu64
            " edges do not belong to their bucket, the file is damaged; remove the directory to prepare it again",
            gnn_file_path(world, edges->config.store->triples), checking.wrong);
    set->edges = set->memory.data;
    set->count = (uint32_t)count;
    return GNN_OK;
}

static enum gnn_status read_whole(struct marius_training_edges *edges, struct set *set, struct gnn_err *err)
{
    const struct gnn_dataset *const d = edges->env->dataset;
    if (edges->all != NULL)
        return GNN_OK;
    GNN_TRY(gnn_triples_load(edges->env->world, d, GNN_TRIPLES_TRAIN, &edges->all, err));
    set->edges = edges->all;
    set->count = d->triple_count[GNN_TRIPLES_TRAIN];
    edges->counters.reads++;
    edges->counters.read_bytes += set->count * (uint64_t)sizeof(struct gnn_triple);
    return GNN_OK;
}

enum gnn_status marius_training_edges_read(struct marius_training_edges *edges, uint32_t which, uint32_t state,
                                           const uint32_t *resident, const uint32_t *state_of, struct gnn_err *err)
{
    assert(which < edges->config.sets);
    struct set *const set = &edges->sets[which];
    uint64_t count = 0;
    if (edges->config.whole)
        return read_whole(edges, set, err);
    set->edges = NULL;
    set->count = 0;
    sort_resident(edges, resident);
    GNN_TRY(for_buckets(edges, state, state_of, count_bucket, &count, err));
    assert(count <= edges->env->dataset->triple_count[GNN_TRIPLES_TRAIN]);
    return read_buckets(edges, set, state, state_of, count, err);
}

/* ---- looking ---- */

uint32_t marius_training_edges_count(const struct marius_training_edges *edges, uint32_t which)
{
    assert(which < edges->config.sets);
    return edges->sets[which].count;
}

void marius_training_edges_take(const struct marius_training_edges *edges, uint32_t which, uint64_t epoch,
                                uint32_t state, uint32_t first, uint32_t count, struct gnn_triple *out)
{
    const struct set *const set = &edges->sets[which];
    const uint64_t seed = edges->env->workload->seed;
    const uint64_t key = gnn_rng_fold(gnn_rng_fold(gnn_rng_fork(seed, "permute-edges"), epoch), state);
    assert((uint64_t)first + count <= set->count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = set->edges[edges->config.whole ? gnn_epoch_edge(seed, epoch, set->count, first + i)
                                                : gnn_permute(key, set->count, first + i)];
    gnn_charge(edges->env->world, GNN_WORK_TABLE_ENTRY, count);
}

void marius_training_edges_take_counters(struct marius_training_edges *edges,
                                         struct marius_training_edges_counters *out)
{
    *out = edges->counters;
    edges->counters = (struct marius_training_edges_counters){.reads = 0};
    if (edges->reader == NULL)
        return;
    struct gnn_reader_counters reader;
    gnn_reader_counters(edges->reader, &reader);
    gnn_reader_clear_counters(edges->reader);
    out->read_bytes += reader.requested_bytes;
    out->reads += reader.requested_ios;
}
