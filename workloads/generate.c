/* The generator: writes the procedural graph (harness/graph/procedural.h) and synthetic features as a
 * dataset. Memory: 8 B a node for indptr, 4 B a node of the splits, and the chunks in flight. */
#include "harness/base/rng.h"
#include "harness/graph/procedural.h"
#include "workloads/chunks.h"
#include "workloads/features.h"
#include "workloads/read.h"

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
    {OPTION(popularity), .type = GNN_OPT_F64, .def = "1", .min = 0, .max = 1,
     .help = "Zipf exponent of how often a node is a neighbour; 0 = all alike"},
    {OPTION(locality), .type = GNN_OPT_F64, .def = "0", .min = 0, .max = 1,
     .help = "share of a node's neighbours within the 1 % of node IDs around it"},
    {OPTION(degree_exponent), .type = GNN_OPT_F64, .def = "0", .min = 0, .max = 10,
     .help = "alpha of the in-degrees' power law, above 2; 0 = the dataset's own"},
    {OPTION(label_noise), .type = GNN_OPT_F64, .def = "0.1", .min = 0, .max = 1,
     .help = "share of nodes that show a wrong label, so no model reaches 100 %"},
    {OPTION(signal), .type = GNN_OPT_F64, .def = "0.75", .min = 0, .max = 10,
     .help =
         "distance of the class centroids over the noise; small values leave the answer to the neighbours"},
    {0},
};

struct generator {
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    const struct gnn_prepare_job *job;
    uint32_t scale_divisor;
    struct gnn_registry_counts counts;
    struct gnn_procedural *graph;
    uint64_t *indptr; /* (nodes + 1) */
    uint64_t feature_key;
    float amplitude;
};

/* ---- what the chunks hold ---- */

static void fill_degrees(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    uint64_t *degrees = dst;
    for (uint64_t i = 0; i < count; i++)
        degrees[i] = gnn_procedural_degree(g->graph, (gnn_node)(first + i));
}

/* The node whose list holds edge offset e. */
static gnn_node node_of_edge(const struct generator *g, uint64_t edge)
{
    uint64_t low = 0, high = g->counts.nodes; /* indptr[low] <= edge < indptr[high] */
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
    gnn_node *out = dst;
    gnn_node node = node_of_edge(g, first);
    for (uint64_t edge = first; edge < first + count; node++) {
        const uint64_t start = g->indptr[node];
        const uint64_t end = g->indptr[node + 1] < first + count ? g->indptr[node + 1] : first + count;
        const uint32_t degree = (uint32_t)(g->indptr[node + 1] - start);
        for (; edge < end; edge++)
            *out++ = gnn_procedural_neighbour(g->graph, node, degree, (uint32_t)(edge - start));
    }
}

static void fill_labels(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    int32_t *labels = dst;
    for (uint64_t i = 0; i < count; i++)
        labels[i] = (int32_t)gnn_procedural_label(g->graph, (gnn_node)(first + i));
}

static void fill_features(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct generator *g = ctx;
    float *rows = dst;
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node node = (gnn_node)(first + i);
        gnn_feature_row(g->feature_key, gnn_procedural_class(g->graph, node), node, g->options.dim,
                        g->amplitude, rows + i * g->options.dim);
    }
}

static enum gnn_status write_chunked(const struct generator *g, gnn_chunk_fill *fill, uint64_t items,
                                     uint32_t item_bytes, const char *name, struct gnn_output *output,
                                     struct gnn_meta *meta, struct gnn_err *err)
{
    const struct gnn_chunk_stream stream = {
        .fill = fill, .ctx = g, .items = items, .item_bytes = item_bytes, .threads = g->options.threads};
    return gnn_chunks_write(&stream, output, name, meta, err);
}

/* ---- steps ---- */

static enum gnn_status build_indptr(struct generator *g, struct gnn_err *err)
{
    const uint64_t nodes = g->counts.nodes;
    g->indptr = malloc((nodes + 1) * sizeof *g->indptr);
    if (g->indptr == NULL)
        return gnn_fail(err, GNN_ENOMEM, "no memory for the offsets of %" PRIu64 " nodes", nodes);
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, g->job, "degrees", "nodes", nodes);
    const uint64_t step = 65536;
    g->indptr[0] = 0;
    for (uint64_t first = 0; first < nodes; first += step) {
        const uint64_t count = nodes - first < step ? nodes - first : step;
        fill_degrees(g, first, count, g->indptr + first + 1);
        for (uint64_t i = first; i < first + count; i++)
            g->indptr[i + 1] += g->indptr[i];
        GNN_TRY(gnn_ticker_set(&ticker, first + count, err));
    }
    gnn_ticker_end(&ticker);
    return GNN_OK;
}

static int compare_nodes(const void *a, const void *b)
{
    const gnn_node x = *(const gnn_node *)a, y = *(const gnn_node *)b;
    return x < y ? -1 : x > y;
}

/* Members [first, first + count) of one permutation of the nodes, in ascending order: disjoint splits, exact
 * counts. */
static enum gnn_status write_split(const struct generator *g, const char *name, uint32_t first,
                                   uint32_t count, struct gnn_output *output, struct gnn_meta *meta,
                                   struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(g->options.seed, "split");
    gnn_node *nodes = malloc(((size_t)count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return gnn_fail(err, GNN_ENOMEM, "no memory for split %s of %" PRIu32 " nodes", name, count);
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = gnn_permute(key, g->counts.nodes, first + i);
    qsort(nodes, count, sizeof *nodes, compare_nodes);
    const enum gnn_status status =
        gnn_out_array(output, name, nodes, (uint64_t)count * sizeof *nodes, meta, err);
    free(nodes);
    return status;
}

static enum gnn_status write_features(const struct generator *g, struct gnn_output *output,
                                      struct gnn_meta *meta, struct gnn_err *err)
{
    char name[32];
    gnn_meta_features_name(g->options.dim, name, sizeof name);
    assert(meta->dim_count < GNN_META_DIMS_MAX);
    meta->dims[meta->dim_count++] = g->options.dim;
    return write_chunked(g, fill_features, g->counts.nodes, g->options.dim * (uint32_t)sizeof(float), name,
                         output, meta, err);
}

static void describe(const struct generator *g, struct gnn_meta *meta)
{
    *meta = (struct gnn_meta){.scale_divisor = g->scale_divisor,
                              .node_count = g->counts.nodes,
                              .edge_count = g->indptr[g->counts.nodes],
                              .class_count = g->entry->classes,
                              .train_count = g->counts.train,
                              .valid_count = g->counts.valid,
                              .test_count = g->counts.test};
    (void)snprintf(meta->name, sizeof meta->name, "%s", g->entry->name);
    (void)snprintf(meta->origin, sizeof meta->origin, "generated by oocgnn, generator 1; counts of %s",
                   g->entry->title);
    for (const struct gnn_option *option = gnn_generate_table; option->name != NULL; option++) {
        char value[64];
        if (strcmp(option->name, "dim") == 0 || strcmp(option->name, "threads") == 0)
            continue;
        gnn_option_format(option, &g->options, value, sizeof value);
        gnn_meta_add_param(meta, option->name, "%s", value);
    }
}

static enum gnn_status write_dataset(struct generator *g, struct gnn_err *err)
{
    struct gnn_output output;
    struct gnn_meta *meta = malloc(sizeof *meta);
    if (meta == NULL)
        return gnn_fail(err, GNN_ENOMEM, "no memory for meta");
    describe(g, meta);
    const uint64_t nodes = g->counts.nodes, edges = meta->edge_count;
    enum gnn_status status = gnn_output_open(g->job, g->counts.dataset_bytes, &output, err);
    if (status == GNN_OK)
        status = gnn_out_array(&output, "indptr", g->indptr, (nodes + 1) * sizeof *g->indptr, meta, err);
    if (status == GNN_OK)
        status = write_chunked(g, fill_indices, edges, sizeof(gnn_node), "indices", &output, meta, err);
    if (status == GNN_OK)
        status = write_features(g, &output, meta, err);
    if (status == GNN_OK)
        status = write_chunked(g, fill_labels, nodes, sizeof(int32_t), "labels", &output, meta, err);
    if (status == GNN_OK)
        status = write_split(g, "train", 0, g->counts.train, &output, meta, err);
    if (status == GNN_OK)
        status = write_split(g, "valid", g->counts.train, g->counts.valid, &output, meta, err);
    if (status == GNN_OK)
        status =
            write_split(g, "test", g->counts.train + g->counts.valid, g->counts.test, &output, meta, err);
    if (status == GNN_OK)
        status = gnn_output_commit(&output, meta, err);
    gnn_output_close(&output);
    free(meta);
    return status;
}

/* The dataset at out_dir has the same name, scale and parameters. */
static enum gnn_status check_same(const struct generator *g, const struct gnn_meta *have,
                                  const struct gnn_meta *want, struct gnn_err *err)
{
    const char *dir = g->job->out_dir;
    if (strcmp(have->name, want->name) != 0 || have->scale_divisor != want->scale_divisor)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s holds %s at 1/%" PRIu32 ": remove it or choose another directory", dir,
                        have->name, have->scale_divisor);
    for (uint32_t i = 0; i < want->param_count; i++) {
        const char *value = gnn_meta_param(have, want->params[i].key);
        if (value == NULL || strcmp(value, want->params[i].value) != 0)
            return gnn_fail(err, GNN_EUSAGE,
                            "%s was generated with %s %s, not %s: remove it or choose another directory", dir,
                            want->params[i].key, value != NULL ? value : "unknown", want->params[i].value);
    }
    for (uint32_t i = 0; i < have->dim_count; i++)
        if (have->dims[i] == g->options.dim)
            return gnn_fail(err, GNN_EUSAGE,
                            "%s holds this dataset already, features of width %" PRIu32 " included", dir,
                            g->options.dim);
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
        return gnn_fail(err, GNN_ENOMEM, "no memory for meta");
    }
    struct gnn_output output = {0};
    describe(g, want);
    enum gnn_status status = gnn_read_meta(g->job->out_dir, have, err);
    if (status == GNN_OK)
        status = check_same(g, have, want, err);
    if (status == GNN_OK)
        status =
            gnn_output_open(g->job, (uint64_t)g->counts.nodes * g->options.dim * sizeof(float), &output, err);
    if (status == GNN_OK)
        status = write_features(g, &output, have, err);
    char name[32];
    gnn_meta_features_name(g->options.dim, name, sizeof name);
    if (status == GNN_OK)
        status = gnn_output_commit_into(&output, name, have, err);
    gnn_output_close(&output);
    free(have);
    free(want);
    return status;
}

enum gnn_status gnn_prepare_generate(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                     const struct gnn_generate_options *options,
                                     const struct gnn_prepare_job *job, struct gnn_err *err)
{
    struct generator g = {.entry = entry, .options = *options, .job = job, .scale_divisor = scale_divisor};
    if (g.options.dim == 0)
        g.options.dim = entry->dim;
    if (g.options.degree_exponent == 0)
        g.options.degree_exponent = entry->degree_exponent;
    GNN_TRY(gnn_registry_scale(entry, scale_divisor, g.options.dim, &g.counts, err));
    const struct gnn_procedural_config config = {.seed = g.options.seed,
                                                 .node_count = g.counts.nodes,
                                                 .mean_degree = (double)g.counts.edges / g.counts.nodes,
                                                 .degree_exponent = g.options.degree_exponent,
                                                 .class_count = entry->classes,
                                                 .homophily = g.options.homophily,
                                                 .popularity = g.options.popularity,
                                                 .locality = g.options.locality,
                                                 .label_noise = g.options.label_noise};
    GNN_TRY(gnn_procedural_open(&config, &g.graph, err));
    g.feature_key = gnn_rng_fork(g.options.seed, "features");
    g.amplitude = gnn_feature_amplitude(g.options.signal, entry->classes, g.options.dim);
    enum gnn_status status = build_indptr(&g, err);
    if (status == GNN_OK)
        status = access(job->out_dir, F_OK) == 0 ? add_features(&g, err) : write_dataset(&g, err);
    free(g.indptr);
    gnn_procedural_close(g.graph);
    return status;
}
