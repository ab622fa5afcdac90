/* SPDX-License-Identifier: MIT */
/* The generator: writes the procedural graph (harness/graph/procedural.h) and synthetic features as a dataset. Memory:
 * 8 B a node for indptr, 4 B a node of the splits, and the chunks in flight. */
#include "harness/dataset/chunks.h"
#include "harness/dataset/commit.h"
#include "harness/dataset/import_parts.h"
#include "harness/dataset/kron.h"
#include "harness/dataset/lock.h"
#include "harness/dataset/read.h"
#include "harness/dataset/recipe.h"
#include "harness/dataset/widths.h"
#include "harness/graph/invariants.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct generator {
    struct gnn_recipe recipe;
    const struct gnn_prepare_job *job;
    uint64_t *indptr; /* (nodes + 1) */
};

/* ---- contents of the chunks ---- */

static void fill_indptr(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    memcpy(dst, g->indptr + first, count * sizeof *g->indptr);
}

static void fill_indices(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    const gnn_node node = gnn_indptr_find(g->indptr, g->recipe.counts.nodes, first);
    gnn_recipe_indices(&g->recipe, g->indptr, node, first, count, dst);
    gnn_ids_store(dst, count, gnn_id_width_bytes(g->recipe.options.id_width), dst);
}

static void fill_labels(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    gnn_recipe_labels(&g->recipe, (gnn_node)first, count, dst);
}

static void fill_features(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    gnn_recipe_features(&g->recipe, (gnn_node)first, count, dst);
}

static struct gnn_chunk_stream indptr_of(const struct generator *g)
{
    return (struct gnn_chunk_stream){.name = "indptr",
                                     .fill = fill_indptr,
                                     .ctx = g,
                                     .items = (uint64_t)g->recipe.counts.nodes + 1,
                                     .item_bytes = sizeof *g->indptr};
}

static struct gnn_chunk_stream indices_of(const struct generator *g)
{
    const uint32_t id_bytes = gnn_id_width_bytes(g->recipe.options.id_width);
    return (struct gnn_chunk_stream){.name = gnn_meta_indices_name(id_bytes),
                                     .fill = fill_indices,
                                     .ctx = g,
                                     .items = g->indptr[g->recipe.counts.nodes],
                                     .item_bytes = id_bytes};
}

/* Enters their width into meta. name: room for the file's. */
static struct gnn_chunk_stream features_of(const struct generator *g, struct gnn_meta *meta, char name[32])
{
    const struct gnn_generate_options *const o = &g->recipe.options;
    gnn_meta_features_name(o->dim, o->feature_type, name, 32);
    gnn_meta_add_dim(meta, o->dim, o->feature_type);
    return (struct gnn_chunk_stream){.name = name,
                                     .fill = fill_features,
                                     .ctx = g,
                                     .items = g->recipe.counts.nodes,
                                     .item_bytes = o->dim * gnn_feature_type_bytes(o->feature_type)};
}

static struct gnn_chunk_stream labels_of(const struct generator *g)
{
    return (struct gnn_chunk_stream){.name = "labels",
                                     .fill = fill_labels,
                                     .ctx = g,
                                     .items = g->recipe.counts.nodes,
                                     .item_bytes = sizeof(int32_t)};
}

/* ---- steps ---- */

enum { DRAWN_NODES = 4096, DRAWING_THREADS_MAX = 64 };

/* Lengths of lists in the making: a thread takes the next nodes. */
struct drawing {
    const struct gnn_recipe *recipe;
    uint64_t *indptr;           /* (nodes + 1): node v's length goes behind its offset */
    atomic_uint_least64_t next; /* node, beyond the last one when all are taken */
};

/* Returns the nodes that were taken so far; false in *more: none were left. */
static uint64_t draw_next(struct drawing *d, bool *more)
{
    const uint32_t nodes = d->recipe->counts.nodes;
    const uint64_t first = atomic_fetch_add(&d->next, DRAWN_NODES);
    *more = first < nodes;
    if (!*more)
        return nodes;
    const uint32_t count = gnn_min_u32(nodes - (uint32_t)first, DRAWN_NODES);
    gnn_recipe_degrees(d->recipe, (gnn_node)first, count, d->indptr + first + 1);
    return first + count;
}

static void *draw_degrees(void *arg)
{
    bool more = true;
    while (more)
        (void)draw_next(arg, &more);
    return NULL;
}

/* Draws on this thread, too, which tells the progress and looks whether to stop. */
static enum gnn_status draw_here(struct drawing *d, struct gnn_ticker *ticker, struct gnn_err *err)
{
    enum gnn_status status = GNN_OK;
    for (bool more = true; more && status == GNN_OK;)
        status = gnn_ticker_set(ticker, draw_next(d, &more), err);
    if (status != GNN_OK)
        atomic_store(&d->next, d->recipe->counts.nodes); /* ends the drawing on the other threads */
    return status;
}

static enum gnn_status draw_all_degrees(struct drawing *d, uint32_t threads, struct gnn_ticker *ticker,
                                        struct gnn_err *err)
{
    pthread_t ids[DRAWING_THREADS_MAX];
    uint32_t started = 0;
    while (started < threads - 1 && pthread_create(&ids[started], NULL, draw_degrees, d) == 0)
        started++; /* fewer than wanted are slower, nothing else */
    const enum gnn_status status = draw_here(d, ticker, err);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(ids[i], NULL);
    return status;
}

static enum gnn_status build_indptr(struct generator *g, struct gnn_err *err)
{
    const uint32_t nodes = g->recipe.counts.nodes;
    GNN_NEW(g->indptr, (uint64_t)nodes + 1, err, "offsets of %" PRIu32 " nodes", nodes);
    struct drawing drawing = {.recipe = &g->recipe, .indptr = g->indptr};
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, g->job, "degrees", "nodes", nodes);
    GNN_TRY(
        draw_all_degrees(&drawing, gnn_chunk_threads(g->recipe.options.threads, DRAWING_THREADS_MAX), &ticker, err));
    g->indptr[0] = 0;
    for (uint32_t v = 0; v < nodes; v++)
        g->indptr[v + 1] += g->indptr[v];
    gnn_ticker_end(&ticker);
    return GNN_OK;
}

static enum gnn_status write_split(const struct generator *g, enum gnn_recipe_split split, struct gnn_output *output,
                                   struct gnn_meta *meta, struct gnn_err *err)
{
    const char *const name = gnn_recipe_split_names[split];
    const uint32_t count = gnn_recipe_split_count(&g->recipe, split);
    gnn_node *nodes;
    GNN_NEW(nodes, (size_t)count + 1, err, "split %s of %" PRIu32 " nodes", name, count);
    gnn_recipe_split(&g->recipe, split, nodes);
    const enum gnn_status status =
        gnn_out_array(output, name, nodes, (uint64_t)count * sizeof *nodes, GNN_OUT_DATASET, meta, err);
    free(nodes);
    return status;
}

static enum gnn_status write_streams(const struct generator *g, const char *phase,
                                     const struct gnn_chunk_stream *streams, uint32_t count, struct gnn_output *output,
                                     struct gnn_meta *meta, struct gnn_err *err)
{
    const struct gnn_chunk_job job = {
        .phase = phase, .streams = streams, .stream_count = count, .threads = g->recipe.options.threads};
    return gnn_chunks_write(&job, output, meta, err);
}

static enum gnn_status write_features(const struct generator *g, struct gnn_output *output, struct gnn_meta *meta,
                                      struct gnn_err *err)
{
    char name[32];
    const struct gnn_chunk_stream stream = features_of(g, meta, name);
    return write_streams(g, name, &stream, 1, output, meta, err);
}

/* Edges take the processor, features the disk. */
static enum gnn_status write_arrays(const struct generator *g, struct gnn_output *output, struct gnn_meta *meta,
                                    struct gnn_err *err)
{
    char name[32];
    const struct gnn_chunk_stream streams[] = {indptr_of(g), indices_of(g), features_of(g, meta, name), labels_of(g)};
    return write_streams(g, "indptr, indices, features, labels", streams, sizeof streams / sizeof *streams, output,
                         meta, err);
}

static enum gnn_status write_dataset(struct generator *g, struct gnn_err *err)
{
    struct gnn_output output;
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta");
    const uint64_t nodes = g->recipe.counts.nodes, edges = g->indptr[nodes];
    assert(edges >= nodes || g->recipe.options.reach > 0); /* without one every node has an in-neighbour */
    gnn_recipe_describe(&g->recipe, edges, meta);
    const uint32_t id_bytes = gnn_id_width_bytes(g->recipe.options.id_width);
    const struct gnn_generate_options *const o = &g->recipe.options;
    const uint64_t narrowed = nodes * o->dim * (sizeof(float) - gnn_feature_type_bytes(o->feature_type));
    const uint64_t bytes = g->recipe.counts.dataset_bytes - narrowed + edges * (id_bytes - sizeof(gnn_node));
    enum gnn_status status = gnn_output_open(g->job, bytes, &output, err);
    GNN_NEXT(status, write_arrays(g, &output, meta, err));
    for (unsigned split = GNN_RECIPE_TRAIN; status == GNN_OK && split <= GNN_RECIPE_TEST; split++)
        status = write_split(g, (enum gnn_recipe_split)split, &output, meta, err);
    GNN_NEXT(status, gnn_dataset_commit(&output, meta, err));
    gnn_output_close(&output);
    free(meta);
    return status;
}

static enum gnn_status add_features(struct generator *g, struct gnn_meta *have, struct gnn_err *err)
{
    struct gnn_output output = {0};
    char name[32];
    const struct gnn_generate_options *const o = &g->recipe.options;
    const uint64_t bytes = (uint64_t)g->recipe.counts.nodes * o->dim * gnn_feature_type_bytes(o->feature_type);
    gnn_meta_features_name(o->dim, o->feature_type, name, sizeof name);
    if (have->dim_count == GNN_META_DIMS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s holds %d feature widths, the most a dataset may have", g->job->out_dir,
                        GNN_META_DIMS_MAX);
    enum gnn_status status = gnn_output_open(g->job, bytes, &output, err);
    GNN_NEXT(status, write_features(g, &output, have, err));
    GNN_NEXT(status, gnn_output_commit_into(&output, name, have, err));
    gnn_output_close(&output);
    return status;
}

struct lacking {
    bool features, ids;
};

/* Finds which of the wanted widths, of features and of neighbour IDs, the dataset at out_dir lacks. */
static enum gnn_status find_lacking(const struct generator *g, struct gnn_meta *have, const struct gnn_meta *want,
                                    struct lacking *out, struct gnn_err *err)
{
    const struct gnn_generate_options *const o = &g->recipe.options;
    char features[32];
    gnn_meta_features_name(o->dim, o->feature_type, features, sizeof features);
    GNN_TRY(gnn_read_meta(g->job->out_dir, have, err));
    GNN_TRY(gnn_check_same(g->job->out_dir, have, want, err));
    *out = (struct lacking){.features = gnn_meta_find_file(have, features) == NULL,
                            .ids = (have->id_widths & gnn_id_width_bytes(o->id_width)) == 0};
    return GNN_OK;
}

/* Adds the widths that are lacking; the lock is held. Another process may have added them before. */
static enum gnn_status add_widths(struct generator *g, struct gnn_meta *have, const struct gnn_meta *want,
                                  struct gnn_err *err)
{
    struct lacking lacks;
    GNN_TRY(find_lacking(g, have, want, &lacks, err));
    if (lacks.features)
        GNN_TRY(add_features(g, have, err));
    return lacks.ids ? gnn_add_id_width(g->job, have, gnn_id_width_bytes(g->recipe.options.id_width), err) : GNN_OK;
}

/* Adds what the dataset lacks, under its lock. Another process that adds a width has finished before meta is read, and
 * the next one waits until meta is written. A dataset that lacks nothing is not locked, because files are never
 * removed. */
static enum gnn_status add_to_existing(struct generator *g, struct gnn_err *err)
{
    struct gnn_meta *meta;
    struct lacking lacks = {.features = false};
    int lock_fd = -1;
    GNN_NEW(meta, 2, err, "meta");
    struct gnn_meta *const have = &meta[0], *const want = &meta[1];
    gnn_recipe_describe(&g->recipe, g->indptr[g->recipe.counts.nodes], want);
    enum gnn_status status = find_lacking(g, have, want, &lacks, err);
    if (status == GNN_OK && (lacks.features || lacks.ids)) {
        status = gnn_dataset_lock(g->job, g->job->out_dir, &lock_fd, err);
        GNN_NEXT(status, add_widths(g, have, want, err));
    }
    if (lock_fd >= 0)
        (void)close(lock_fd);
    free(meta);
    return status;
}

enum gnn_status gnn_prepare_generate(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                     const struct gnn_generate_options *options, const struct gnn_prepare_job *job,
                                     struct gnn_err *err)
{
    if (entry->kind == GNN_REGISTRY_KNOWLEDGE)
        return gnn_prepare_knowledge(entry, scale_divisor, options, job, err);
    if (entry->kind == GNN_REGISTRY_KRON)
        return gnn_prepare_kron(entry, scale_divisor, options, GNN_KRON_WINDOW_EDGES, job, err);
    struct generator g = {.job = job};
    gnn_output_sweep(job->out_dir);
    GNN_TRY(gnn_recipe_open(entry, scale_divisor, options, &g.recipe, err));
    enum gnn_status status = build_indptr(&g, err);
    GNN_NEXT(status, access(job->out_dir, F_OK) == 0 ? add_to_existing(&g, err) : write_dataset(&g, err));
    free(g.indptr);
    gnn_recipe_close(&g.recipe);
    return status;
}
