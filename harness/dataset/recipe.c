/* SPDX-License-Identifier: MIT */
#include "harness/dataset/recipe.h"

#include "harness/base/rng.h"
#include "harness/dataset/features.h"
#include "harness/dataset/recipe_file.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION(field) .name = #field, .offset = offsetof(struct gnn_generate_options, field)

/* clang-format off */
const struct gnn_option gnn_generate_table[] = {
    {OPTION(seed), .type = GNN_OPT_U64, .def = "1", .help = "Seed for every random choice"},
    {OPTION(dim), .type = GNN_OPT_U32, .unit = "floats", .def = "0", .min = 0, .max = GNN_DIM_MAX,
     .help = "Feature width; 0 = the dataset's own"},
    {.name = "id_bytes", .offset = offsetof(struct gnn_generate_options, id_width), .type = GNN_OPT_CHOICE,
     .unit = "bytes", .def = "4", .choices = gnn_id_width_words,
     .help = "Width of a neighbour ID on disk: 4 writes `indices`, 8 writes `indices-8`"},
    {.name = "feature_type", .offset = offsetof(struct gnn_generate_options, feature_type), .type = GNN_OPT_CHOICE,
     .def = "f32", .choices = gnn_feature_type_words,
     .help = "Number format of the features on disk: f32, or f16 (half precision), which takes half the space. "
             "Runs widen f16 to f32 when they gather rows."},
    {OPTION(threads), .type = GNN_OPT_U32, .unit = "threads", .def = "0", .min = 0, .max = 64,
     .help = "Threads that generate; 0 = one for each core. The number does not change the result."},
    {OPTION(homophily), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 1,
     .help = "Share of edges that stay inside a class; -1 = the dataset's own, or 0.7 without a reachable set"},
    {OPTION(popularity), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 4,
     .help = "Zipf exponent of how often a node is a neighbour; values above 1 need a reachable set; 0 = uniform, "
             "-1 = the dataset's own"},
    {OPTION(locality), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 1,
     .help = "Share of a node's neighbours within the 1 % of node IDs around it; -1 = the dataset's own"},
    {OPTION(degree_exponent), .type = GNN_OPT_F64, .def = "0", .min = 0, .max = 10,
     .help = "Exponent of the in-degrees' power law, above 2; 0 = the dataset's own"},
    {OPTION(label_noise), .type = GNN_OPT_F64, .def = "0.1", .min = 0, .max = 1,
     .help = "Share of nodes with a wrong label, so that no model reaches 100 %"},
    {OPTION(signal), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 10,
     .help = "Distance of the class centroids, divided by the noise; small values make the neighbours necessary; -1 "
             "= 0.75, or 3 with a reachable set"},
    {OPTION(reach), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 1,
     .help = "Share of the nodes in the reachable set, which holds all splits and all their neighbours; 0 = no such "
             "set, with plain Zipf popularity and homophily; -1 = the dataset's own"},
    {OPTION(order), .type = GNN_OPT_TEXT, .def = "own",
     .help = "Order of the reachable set among the node IDs: `own` = the dataset's, `low` or `high` = its bracket, "
             "`even`, or pairs ID_SHARE:MEMBER_SHARE joined by +"},
    {OPTION(empty), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 0.999,
     .help = "Share of the reachable set's nodes without neighbours; -1 = the dataset's own"},
    {OPTION(list_mean), .type = GNN_OPT_F64, .unit = "edges", .def = "-1", .min = -1, .max = 1e6,
     .help = "Mean number of neighbours of the other nodes of the reachable set; 0 = from the edges of the whole "
             "graph, -1 = the dataset's own"},
    {OPTION(train_empty), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 0.999,
     .help = "Share of the training nodes without neighbours, with train_mean; -1 = the dataset's own"},
    {OPTION(train_mean), .type = GNN_OPT_F64, .unit = "edges", .def = "-1", .min = -1, .max = 1e6,
     .help = "Mean number of neighbours of the other training nodes, in a reachable set; 0 = as in the whole set, "
             "-1 = the dataset's own"},
    {OPTION(train_share), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 0.99,
     .help = "Share of a training node's neighbours that are training nodes; 0 = as for other nodes of the reachable "
             "set, -1 = the dataset's own"},
    {OPTION(hub_shift), .type = GNN_OPT_F64, .def = "-1", .min = -1, .max = 1,
     .help = "Share of the reachable set below which popularity is constant; -1 = the dataset's own"},
    {OPTION(coupling), .type = GNN_OPT_F64, .def = "-2", .min = -2, .max = 1,
     .help = "Share of the reachable set whose number of neighbours follows popularity; a negative share follows it "
             "inversely; -2 = the dataset's own"},
    {OPTION(votes), .type = GNN_OPT_U32, .unit = "entries", .def = "16", .min = 0, .max = 64,
     .help = "Neighbours of a training, validation or test node that decide its label, in a reachable set; 0 = the "
             "node's class decides, as for nodes without neighbours"},
    {OPTION(levels), .type = GNN_OPT_U32, .unit = "levels", .def = "0", .min = 0, .max = 30,
     .help = "Levels of the graph `kron`, which has 2^levels nodes; 0 = 23"},
    {0},
};
/* clang-format on */

const char *const gnn_recipe_split_names[] = {
    [GNN_RECIPE_TRAIN] = "train", [GNN_RECIPE_VALID] = "valid", [GNN_RECIPE_TEST] = "test"};

enum gnn_status gnn_generate_set(struct gnn_generate_options *options, const char *text, struct gnn_err *err)
{
    char words[GNN_TEXT_MAX], *rest = NULL;
    if (strlen(text) >= sizeof words)
        return gnn_fail(err, GNN_EUSAGE, "generator options of %zu characters, at most %zu fit", strlen(text),
                        sizeof words - 1);
    (void)snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok_r(words, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        char *const equals = strchr(word, '=');
        if (equals == NULL)
            return gnn_fail(err, GNN_EUSAGE, "generator option \"%s\": expected NAME=VALUE,NAME=VALUE", word);
        *equals = '\0';
        GNN_TRY(gnn_option_set(gnn_generate_table, options, word, equals + 1, err));
    }
    return GNN_OK;
}

static const double usual_homophily = 0.7;
static const uint32_t usual_votes = 16; /* as in the table */

static void fill_in(struct gnn_generate_options *options, const struct gnn_registry_entry *entry)
{
    if (options->dim == 0)
        options->dim = entry->dim;
    if (options->degree_exponent == 0)
        options->degree_exponent = entry->degree_exponent;
    if (options->popularity < 0) /* a graph without a reach has no more than 1 */
        options->popularity = options->reach == 0 ? fmin(entry->popularity, 1) : entry->popularity;
    if (options->locality < 0)
        options->locality = entry->locality;
    if (entry->laws != NULL) { /* read with the graph's other figures */
        options->homophily = entry->laws->homophily;
        options->label_noise = entry->laws->label_noise;
        options->votes = 0; /* homophily was read off labels, which are the classes then */
    }
    static const struct gnn_registry_reach none = {0};
    const struct gnn_registry_reach *const own = options->reach == 0 ? &none : &entry->reach; /* 0 = without its own */
    if (options->homophily < 0)
        options->homophily = own->homophily > 0 ? own->homophily : usual_homophily;
    double *const wanted[] = {&options->reach,      &options->empty,       &options->list_mean, &options->train_empty,
                              &options->train_mean, &options->train_share, &options->hub_shift};
    const double have[] = {own->share,      own->empty,       own->list_mean, own->train_empty,
                           own->train_mean, own->train_share, own->hub_shift};
    for (size_t i = 0; i < sizeof have / sizeof have[0]; i++)
        if (*wanted[i] < 0)
            *wanted[i] = have[i];
    if (options->coupling < -1)
        options->coupling = own->coupling;
    if (options->signal < 0)
        options->signal = options->reach > 0 ? GNN_FEATURE_SIGNAL_REACH : GNN_FEATURE_SIGNAL;
}

/* Sets options->order to the text of *out. A graph without a reachable set is `even`. */
static enum gnn_status settle_order(struct gnn_generate_options *options, const struct gnn_registry_entry *entry,
                                    struct gnn_node_order *out, struct gnn_err *err)
{
    const struct gnn_registry_reach *const own = &entry->reach;
    const struct {
        const char *word, *text;
    } words[] = {{"own", own->order}, {"low", own->order_low}, {"high", own->order_high}};
    const char *text = options->order;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(options->order, words[i].word) == 0)
            text = words[i].text != NULL ? words[i].text : own->order;
    GNN_TRY(gnn_node_order_parse(text != NULL && options->reach > 0 ? text : "even", out, err));
    gnn_node_order_format(out, options->order);
    return GNN_OK;
}

/* The reach's options change nothing without a reach, so one that was given was meant for one. */
static enum gnn_status check_reach(const struct gnn_generate_options *given, const struct gnn_generate_options *settled,
                                   struct gnn_err *err)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {{"order", strchr(given->order, ':') != NULL}, {"empty", given->empty >= 0},
                  {"list_mean", given->list_mean >= 0},         {"train_empty", given->train_empty >= 0},
                  {"train_mean", given->train_mean >= 0},       {"hub_shift", given->hub_shift >= 0},
                  {"coupling", given->coupling >= -1},          {"votes", given->votes != usual_votes}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].given && settled->reach == 0)
            return gnn_fail(err, GNN_EUSAGE,
                            "option %s requires a reachable set, which this graph does not have; add --reach SHARE",
                            others[i].name);
    return GNN_OK;
}

static struct gnn_reach_config reach_of(const struct gnn_recipe *recipe, const struct gnn_node_order *order)
{
    const struct gnn_generate_options *const o = &recipe->options;
    const struct gnn_recipe_laws *const laws = recipe->entry->laws;
    const struct gnn_registry_counts *const n = &recipe->counts;
    struct gnn_reach_config reach = {.share = o->reach,
                                     .order = *order,
                                     .empty = o->empty,
                                     .list_mean = o->list_mean,
                                     .train_empty = o->train_empty,
                                     .train_mean = o->train_mean,
                                     .train_share = o->train_share,
                                     .train_count = n->train,
                                     .split_count = n->train + n->valid + n->test,
                                     .hub_shift = o->hub_shift,
                                     .votes = o->votes,
                                     .coupling = o->coupling};
    if (laws != NULL) {
        reach.popularity = laws->popularity.count > 0 ? &laws->popularity : NULL;
        reach.degrees = laws->degrees.count > 0 ? &laws->degrees : NULL;
        reach.train_degrees = laws->train_degrees.count > 0 ? &laws->train_degrees : NULL;
        reach.rest_degrees = laws->rest_degrees.count > 0 ? &laws->rest_degrees : NULL;
        reach.mixing = laws->mixing.groups > 0 ? &laws->mixing : NULL;
        reach.mutual = laws->mutual > 0;
        reach.clique_share = laws->clique_share;
    }
    return reach;
}

enum gnn_status gnn_recipe_open(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                const struct gnn_generate_options *options, struct gnn_recipe *out, struct gnn_err *err)
{
    *out = (struct gnn_recipe){.entry = entry, .options = *options, .scale_divisor = scale_divisor};
    if (entry->kind != GNN_REGISTRY_PROCEDURAL)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s is not a procedural graph: its edges take a sort, so it is prepared on a disk and has none "
                        "of these options",
                        entry->name);
    if (options->levels != 0)
        return gnn_fail(err, GNN_EUSAGE, "levels %" PRIu32 ": %s takes a scale; levels are for kron", options->levels,
                        entry->name);
    struct gnn_node_order order;
    fill_in(&out->options, entry);
    GNN_TRY(check_reach(options, &out->options, err));
    GNN_TRY(settle_order(&out->options, entry, &order, err));
    GNN_TRY(gnn_registry_scale(entry, scale_divisor, out->options.dim, &out->counts, err));
    const struct gnn_procedural_config config = {.seed = out->options.seed,
                                                 .node_count = out->counts.nodes,
                                                 .mean_degree = (double)out->counts.edges / out->counts.nodes,
                                                 .degree_exponent = out->options.degree_exponent,
                                                 .class_count = entry->classes,
                                                 .homophily = out->options.homophily,
                                                 .popularity = out->options.popularity,
                                                 .locality = out->options.locality,
                                                 .label_noise = out->options.label_noise,
                                                 .reach = reach_of(out, &order)};
    GNN_TRY(gnn_procedural_open(&config, &out->graph, err));
    out->feature_key = gnn_rng_fork(out->options.seed, "features");
    out->amplitude = gnn_feature_amplitude(out->options.signal, entry->classes, out->options.dim);
    return GNN_OK;
}

void gnn_recipe_close(struct gnn_recipe *recipe)
{
    gnn_procedural_close(recipe->graph);
    recipe->graph = NULL;
}

void gnn_recipe_degrees(const struct gnn_recipe *recipe, gnn_node first, uint32_t count, uint64_t *degrees)
{
    enum { STEP = 4096 };
    uint32_t some[STEP];
    assert((uint64_t)first + count <= recipe->counts.nodes);
    for (uint32_t done = 0; done < count; done += STEP) {
        const uint32_t step = gnn_min_u32(count - done, STEP);
        gnn_procedural_degrees(recipe->graph, first + done, step, some);
        for (uint32_t i = 0; i < step; i++)
            degrees[done + i] = some[i];
    }
}

void gnn_recipe_indptr(const struct gnn_recipe *recipe, gnn_node first, uint32_t count, uint64_t *indptr)
{
    if (first == 0)
        indptr[0] = 0;
    gnn_recipe_degrees(recipe, first, count, indptr + first + 1);
    for (uint32_t v = first; v < first + count; v++)
        indptr[v + 1] += indptr[v];
}

void gnn_recipe_indices(const struct gnn_recipe *recipe, const uint64_t *indptr, gnn_node node, uint64_t first,
                        uint64_t count, gnn_node *out)
{
    assert(count == 0 || indptr[node] <= first);
    assert(count == 0 || first < indptr[node + 1]);
    assert(count == 0 || first + count <= indptr[recipe->counts.nodes]);
    gnn_procedural_lists(recipe->graph, indptr, node, first, count, out);
}

void gnn_recipe_labels(const struct gnn_recipe *recipe, gnn_node first, uint64_t count, int32_t *labels)
{
    assert(first + count <= recipe->counts.nodes);
    gnn_procedural_labels(recipe->graph, first, (uint32_t)count, (uint32_t *)labels); /* classes are fewer than 2^31 */
}

void gnn_recipe_features(const struct gnn_recipe *recipe, gnn_node first, uint64_t count, void *rows)
{
    const uint32_t dim = recipe->options.dim;
    const enum gnn_feature_type type = recipe->options.feature_type;
    assert(first + count <= recipe->counts.nodes);
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node node = (gnn_node)(first + i);
        const float amplitude = recipe->amplitude * (float)gnn_procedural_clarity(recipe->graph, node);
        gnn_feature_row_store(recipe->feature_key, gnn_procedural_class(recipe->graph, node), node, dim, amplitude,
                              type, (unsigned char *)rows + i * dim * gnn_feature_type_bytes(type));
    }
}

uint32_t gnn_recipe_split_count(const struct gnn_recipe *recipe, enum gnn_recipe_split split)
{
    if (split == GNN_RECIPE_TRAIN)
        return recipe->counts.train;
    return split == GNN_RECIPE_VALID ? recipe->counts.valid : recipe->counts.test;
}

int gnn_node_compare(const void *a, const void *b)
{
    const gnn_node x = *(const gnn_node *)a, y = *(const gnn_node *)b;
    return x < y ? -1 : x > y;
}

void gnn_recipe_split(const struct gnn_recipe *recipe, enum gnn_recipe_split split, gnn_node *nodes)
{
    uint32_t first = 0;
    for (unsigned earlier = 0; earlier < split; earlier++)
        first += gnn_recipe_split_count(recipe, (enum gnn_recipe_split)earlier);
    const uint32_t count = gnn_recipe_split_count(recipe, split);
    assert((uint64_t)first + count <= gnn_procedural_reach_count(recipe->graph)); /* so the splits are disjoint */
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = gnn_procedural_split_node(recipe->graph, first + i);
    qsort(nodes, count, sizeof *nodes, gnn_node_compare);
}

static bool is_among(const char *option, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(option, *names) == 0)
            return true;
    return false;
}

/* Not so what the graph and its files do not depend on, what other entries take, and what only a reach has: a graph
 * without one is described as it was before there were any. */
static bool is_parameter(const char *option, bool has_reach)
{
    static const char *const others[] = {"dim", "id_bytes", "feature_type", "threads", "levels", NULL};
    static const char *const of_reach[] = {"reach",       "order",      "empty",       "list_mean",
                                           "train_empty", "train_mean", "train_share", "hub_shift",
                                           "coupling",    "votes",      NULL};
    return !is_among(option, others) && (has_reach || !is_among(option, of_reach));
}

/* An order that fills the first IDs evenly has the parameter `spread`, as datasets of earlier versions have. */
static void describe_order(const char *text, struct gnn_meta *meta)
{
    static const struct gnn_option number = {.type = GNN_OPT_F64};
    struct gnn_node_order order;
    char value[64];
    const enum gnn_status status = gnn_node_order_parse(text, &order, NULL);
    assert(status == GNN_OK);
    (void)status;
    const double filled = gnn_node_order_filled(&order);
    if (isnan(filled)) {
        gnn_meta_add_param(meta, "order", "%s", text);
        return;
    }
    gnn_option_format(&number, &filled, value, sizeof value);
    gnn_meta_add_param(meta, "spread", "%s", value);
}

void gnn_recipe_describe(const struct gnn_recipe *recipe, uint64_t edge_count, struct gnn_meta *meta)
{
    *meta = (struct gnn_meta){.scale_divisor = recipe->scale_divisor,
                              .node_count = recipe->counts.nodes,
                              .edge_count = edge_count,
                              .class_count = recipe->entry->classes,
                              .id_widths = gnn_id_width_bytes(recipe->options.id_width),
                              .train_count = recipe->counts.train,
                              .valid_count = recipe->counts.valid,
                              .test_count = recipe->counts.test};
    (void)snprintf(meta->name, sizeof meta->name, "%s", recipe->entry->name);
    (void)snprintf(meta->origin, sizeof meta->origin, "generated by oocgnn, generator 1; counts of %s",
                   recipe->entry->title);
    const bool has_reach = recipe->options.reach > 0;
    for (const struct gnn_option *option = gnn_generate_table; option->name != NULL; option++) {
        char value[64];
        if (!is_parameter(option->name, has_reach))
            continue;
        if (strcmp(option->name, "order") == 0) {
            describe_order(recipe->options.order, meta);
            continue;
        }
        if (strcmp(option->name, GNN_META_TRAIN_SHARE) == 0 && recipe->options.train_share == 0)
            continue; /* as in datasets of earlier versions */
        gnn_option_format(option, &recipe->options, value, sizeof value);
        gnn_meta_add_param(meta, option->name, "%s", value);
    }
    if (has_reach)
        gnn_meta_add_param(meta, GNN_META_LIST_ORDER, GNN_META_LIST_ORDER_GENERATION);
    if (recipe->entry->laws != NULL)
        gnn_meta_add_param(meta, "recipe", "%s", recipe->entry->laws->checksum);
}
