/* The generator: writes the procedural graph (harness/graph/procedural.h) and synthetic features as a dataset. Memory:
 * 8 B a node for indptr, 4 B a node of the splits, and the chunks in flight. */
#include "harness/dataset/chunks.h"
#include "harness/dataset/features.h"
#include "harness/dataset/kron.h"
#include "harness/dataset/read.h"
#include "harness/dataset/recipe.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION(field) .name = #field, .offset = offsetof(struct gnn_generate_options, field)

const struct gnn_option gnn_generate_table[] = {
    {OPTION(seed), .type = GNN_OPT_U64, .def = "1", .help = "of every random choice"},
    {OPTION(dim), .type = GNN_OPT_U32, .unit = "floats", .def = "0", .min = 0, .max = GNN_DIM_MAX,
     .help = "feature width; 0 = the dataset's own"},
    {OPTION(threads), .type = GNN_OPT_U32, .unit = "threads", .def = "0", .min = 0, .max = 64,
     .help = "generating threads, which do not change the result; 0 = one per core"},
    {OPTION(homophily), .type = GNN_OPT_F64, .def = "0.7", .min = 0, .max = 1,
     .help = "share of edges that stay inside a class"},
    {OPTION(popularity), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 1,
     .help = "Zipf exponent of how often a node is a neighbour; 0 = all alike, -1 = the dataset's own"},
    {OPTION(locality), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 1,
     .help = "share of a node's neighbours within the 1 % of node IDs around it; -1 = the dataset's own"},
    {OPTION(degree_exponent), .type = GNN_OPT_F64, .def = "0", .min = 0, .max = 10,
     .help = "alpha of the in-degrees' power law, above 2; 0 = the dataset's own"},
    {OPTION(label_noise), .type = GNN_OPT_F64, .def = "0.1", .min = 0, .max = 1,
     .help = "share of nodes that show a wrong label, so no model reaches 100 %"},
    {OPTION(signal), .type = GNN_OPT_F64, .def = "0.75", .min = 0, .max = 10,
     .help = "distance of the class centroids over the noise; small values leave the answer to the neighbours"},
    {OPTION(levels), .type = GNN_OPT_U32, .unit = "levels", .def = "0", .min = 0, .max = 30,
     .help = "kron alone: 2^levels nodes; 0 = its 23"},
    {0},
};

struct generator {
    struct gnn_recipe recipe;
    const struct gnn_prepare_job *job;
    uint64_t *indptr; /* (nodes + 1) */
};

/* ---- what the chunks hold ---- */

/* The node whose list holds edge offset e. */
static gnn_node node_of_edge(const struct generator *g, uint64_t edge)
{
    uint64_t low = 0, high = g->recipe.counts.nodes; /* indptr[low] <= edge < indptr[high] */
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (g->indptr[middle] <= edge)
            low = middle;
        else
            high = middle;
    }
    return (gnn_node)low;
}

static void fill_indices(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    gnn_recipe_indices(&g->recipe, g->indptr, node_of_edge(g, first), first, count, dst);
}

static void fill_labels(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    gnn_recipe_labels(&g->recipe, (gnn_node)first, count, dst);
}

static void fill_features(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct gnn_recipe *recipe = &((const struct generator *)ctx)->recipe;
    const uint32_t dim = recipe->options.dim;
    float *rows = dst;
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node node = (gnn_node)(first + i);
        gnn_feature_row(recipe->feature_key, gnn_procedural_class(recipe->graph, node), node, dim, recipe->amplitude,
                        rows + i * dim);
    }
}

static enum gnn_status write_chunked(const struct generator *g, gnn_chunk_fill *fill, uint64_t items,
                                     uint32_t item_bytes, const char *name, struct gnn_output *output,
                                     struct gnn_meta *meta, struct gnn_err *err)
{
    const struct gnn_chunk_stream stream = {
        .fill = fill, .ctx = g, .items = items, .item_bytes = item_bytes, .threads = g->recipe.options.threads};
    return gnn_chunks_write(&stream, output, name, meta, err);
}

/* ---- steps ---- */

static enum gnn_status build_indptr(struct generator *g, struct gnn_err *err)
{
    const uint32_t nodes = g->recipe.counts.nodes;
    g->indptr = calloc((uint64_t)nodes + 1, sizeof *g->indptr);
    if (g->indptr == NULL)
        return gnn_fail(err, GNN_ENOMEM, "offsets of %" PRIu32 " nodes", nodes);
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, g->job, "degrees", "nodes", nodes);
    const uint32_t step = 65536;
    for (uint32_t first = 0; first < nodes;) {
        const uint32_t count = nodes - first < step ? nodes - first : step;
        gnn_recipe_indptr(&g->recipe, first, count, g->indptr);
        first += count;
        GNN_TRY(gnn_ticker_set(&ticker, first, err));
    }
    gnn_ticker_end(&ticker);
    return GNN_OK;
}

static enum gnn_status write_split(const struct generator *g, enum gnn_recipe_split split, struct gnn_output *output,
                                   struct gnn_meta *meta, struct gnn_err *err)
{
    const char *const name = gnn_recipe_split_names[split];
    const uint32_t count = gnn_recipe_split_count(&g->recipe, split);
    gnn_node *nodes = malloc(((size_t)count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return gnn_fail(err, GNN_ENOMEM, "split %s of %" PRIu32 " nodes", name, count);
    gnn_recipe_split(&g->recipe, split, nodes);
    const enum gnn_status status = gnn_out_array(output, name, nodes, (uint64_t)count * sizeof *nodes, meta, err);
    free(nodes);
    return status;
}

static enum gnn_status write_features(const struct generator *g, struct gnn_output *output, struct gnn_meta *meta,
                                      struct gnn_err *err)
{
    char name[32];
    gnn_meta_features_name(g->recipe.options.dim, name, sizeof name);
    assert(meta->dim_count < GNN_META_DIMS_MAX);
    meta->dims[meta->dim_count++] = g->recipe.options.dim;
    return write_chunked(g, fill_features, g->recipe.counts.nodes, g->recipe.options.dim * (uint32_t)sizeof(float),
                         name, output, meta, err);
}

static enum gnn_status write_dataset(struct generator *g, struct gnn_err *err)
{
    struct gnn_output output;
    struct gnn_meta *meta = malloc(sizeof *meta);
    if (meta == NULL)
        return gnn_fail(err, GNN_ENOMEM, "meta");
    const uint64_t nodes = g->recipe.counts.nodes, edges = g->indptr[nodes];
    gnn_recipe_describe(&g->recipe, edges, meta);
    enum gnn_status status = gnn_output_open(g->job, g->recipe.counts.dataset_bytes, &output, err);
    if (status == GNN_OK)
        status = gnn_out_array(&output, "indptr", g->indptr, (nodes + 1) * sizeof *g->indptr, meta, err);
    if (status == GNN_OK)
        status = write_chunked(g, fill_indices, edges, sizeof(gnn_node), "indices", &output, meta, err);
    if (status == GNN_OK)
        status = write_features(g, &output, meta, err);
    if (status == GNN_OK)
        status = write_chunked(g, fill_labels, nodes, sizeof(int32_t), "labels", &output, meta, err);
    for (unsigned split = GNN_RECIPE_TRAIN; status == GNN_OK && split <= GNN_RECIPE_TEST; split++)
        status = write_split(g, (enum gnn_recipe_split)split, &output, meta, err);
    if (status == GNN_OK)
        status = gnn_output_commit(&output, meta, err);
    gnn_output_close(&output);
    free(meta);
    return status;
}

/* The dataset at out_dir has the same name, scale and parameters. */
static enum gnn_status check_same(const struct generator *g, const struct gnn_meta *have, const struct gnn_meta *want,
                                  struct gnn_err *err)
{
    const char *dir = g->job->out_dir;
    if (strcmp(have->name, want->name) != 0 || have->scale_divisor != want->scale_divisor)
        return gnn_fail(err, GNN_EUSAGE, "%s holds %s at 1/%" PRIu32 ": remove it or choose another directory", dir,
                        have->name, have->scale_divisor);
    for (uint32_t i = 0; i < want->param_count; i++) {
        const char *value = gnn_meta_param(have, want->params[i].key);
        if (value == NULL || strcmp(value, want->params[i].value) != 0)
            return gnn_fail(err, GNN_EUSAGE,
                            "%s was generated with %s %s, not %s: remove it or choose another directory", dir,
                            want->params[i].key, value != NULL ? value : "unknown", want->params[i].value);
    }
    for (uint32_t i = 0; i < have->dim_count; i++)
        if (have->dims[i] == g->recipe.options.dim)
            return gnn_fail(err, GNN_EUSAGE, "%s holds this dataset already, features of width %" PRIu32 " included",
                            dir, g->recipe.options.dim);
    if (have->dim_count == GNN_META_DIMS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s holds %d feature widths, the most a dataset may have", dir,
                        GNN_META_DIMS_MAX);
    return GNN_OK;
}

static enum gnn_status add_features(struct generator *g, struct gnn_err *err)
{
    struct gnn_meta *const have = malloc(sizeof *have), *const want = malloc(sizeof *want);
    if (have == NULL || want == NULL) {
        free(have);
        free(want);
        return gnn_fail(err, GNN_ENOMEM, "meta");
    }
    struct gnn_output output = {0};
    gnn_recipe_describe(&g->recipe, g->indptr[g->recipe.counts.nodes], want);
    enum gnn_status status = gnn_read_meta(g->job->out_dir, have, err);
    if (status == GNN_OK)
        status = check_same(g, have, want, err);
    if (status == GNN_OK)
        status = gnn_output_open(g->job, (uint64_t)g->recipe.counts.nodes * g->recipe.options.dim * sizeof(float),
                                 &output, err);
    if (status == GNN_OK)
        status = write_features(g, &output, have, err);
    char name[32];
    gnn_meta_features_name(g->recipe.options.dim, name, sizeof name);
    if (status == GNN_OK)
        status = gnn_output_commit_into(&output, name, have, err);
    gnn_output_close(&output);
    free(have);
    free(want);
    return status;
}

enum gnn_status gnn_prepare_generate(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                     const struct gnn_generate_options *options, const struct gnn_prepare_job *job,
                                     struct gnn_err *err)
{
    if (entry->kind == GNN_REGISTRY_KRON)
        return gnn_prepare_kron(entry, scale_divisor, options, GNN_KRON_WINDOW_EDGES, job, err);
    struct generator g = {.job = job};
    GNN_TRY(gnn_recipe_open(entry, scale_divisor, options, &g.recipe, err));
    enum gnn_status status = build_indptr(&g, err);
    if (status == GNN_OK)
        status = access(job->out_dir, F_OK) == 0 ? add_features(&g, err) : write_dataset(&g, err);
    free(g.indptr);
    gnn_recipe_close(&g.recipe);
    return status;
}
