/* SPDX-License-Identifier: MIT */
/* Imports a graph that another program wrote.
 *
 * Memory   options->memory_bytes, whatever the size of the input: edges are sorted by (target, source) outside memory
 *          where they do not fit; offsets, labels, splits and features are streamed
 * Disk     the dataset, and 8 B for each edge that does not fit into memory, given back while the lists are written */
#include "harness/dataset/commit.h"
#include "harness/dataset/find_edges.h"
#include "harness/dataset/find_places.h"
#include "harness/dataset/import_parts.h"

#include "harness/base/log.h"
#include "harness/base/plain_text.h"
#include "harness/dataset/near_files.h"
#include "harness/dataset/read.h"
#include "harness/dataset/sorter.h"
#include "harness/dataset/widths.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION(field) .name = #field, .offset = offsetof(struct gnn_import_options, field)

/* clang-format off */
const struct gnn_option gnn_import_table[] = {
    {.name = "memory", .offset = offsetof(struct gnn_import_options, memory_bytes), .type = GNN_OPT_BYTES,
     .unit = "bytes", .def = "2G", .min = 4 << 20, .max = 0x1p50, .help = "bound on the importer's own memory"},
    {OPTION(add_reverse), .type = GNN_OPT_BOOL, .def = "no",
     .help = "also store each edge the other way round: for undirected edges that the input lists once"},
    {OPTION(transpose), .type = GNN_OPT_BOOL, .def = "no",
     .help = "Swap source and target, so that messages flow against the stored edges"},
    {OPTION(drop_self_loops), .type = GNN_OPT_BOOL, .def = "no", .help = "Leave out edges from a node to itself"},
    {OPTION(drop_duplicates), .type = GNN_OPT_BOOL, .def = "no", .help = "Keep each (source, target) pair once"},
    {OPTION(keep_order), .type = GNN_OPT_BOOL, .def = "no",
     .help = "Keep the order of the input inside each neighbour list instead of sorting it; the edges of arrays must "
             "be grouped by target, in ascending order"},
    {OPTION(relabel), .type = GNN_OPT_BOOL, .def = "no",
     .help = "Number the nodes of an edge list 0, 1, 2 and so on, in the order of their IDs"},
    {OPTION(ignore_columns), .type = GNN_OPT_BOOL, .def = "no",
     .help = "Read only the two columns of node IDs in an edge list; further columns may hold anything"},
    {OPTION(nodes), .type = GNN_OPT_U32, .unit = "nodes", .def = "0", .min = 0, .max = GNN_NODE_NONE - 1,
     .help = "Number of nodes of an edge list; 0 = its largest ID + 1, which must not be far above the number of "
             "edges. For triples: 0 = fields are names, numbered in order of appearance; otherwise fields are "
             "numbers."},
    {OPTION(columns), .type = GNN_OPT_CHOICE, .def = "hrt", .choices = gnn_columns_words,
     .help = "Order of the columns of triples: head (source), relation, tail (target); rht: relation first; "
"ht: two columns, one relation"},
    {OPTION(row_normalise), .type = GNN_OPT_BOOL, .def = "no",
     .help = "Divide each feature row by the sum of its absolute values"},
    {.name = "id_bytes", .offset = offsetof(struct gnn_import_options, id_width), .type = GNN_OPT_CHOICE,
     .unit = "bytes", .def = "4", .choices = gnn_id_width_words,
     .help = "Width of a neighbour ID on disk: 4 writes `indices`, 8 writes `indices-8`"},
    {.name = "feature_type", .offset = offsetof(struct gnn_import_options, feature_type), .type = GNN_OPT_CHOICE,
     .def = "f32", .choices = gnn_feature_type_words,
     .help = "Number format of the features on disk: f32, or f16 (half precision). Values that are halves are copied "
             "exactly, others are rounded to the nearest half, and values above 65504 are rejected."},
    {OPTION(dim), .type = GNN_OPT_U32, .unit = "floats", .def = "0", .min = 0, .max = GNN_DIM_MAX,
     .help = "Width of random features for an input without features; 0 = reject such an input"},
    {OPTION(classes), .type = GNN_OPT_U32, .unit = "classes", .def = "0", .min = 0, .max = GNN_IMPORT_CLASSES_MAX,
     .help = "Number of classes; also of random labels for an input without labels; 0 = largest label + 1"},
    {OPTION(unlabelled), .type = GNN_OPT_F64, .unit = "label", .def = "-1", .min = -0x1p31, .max = 0x1p31,
     .help = "Whole number that means in the labels that a node has none; -1 and NaN always mean it"},
    {OPTION(label_column), .type = GNN_OPT_U32, .unit = "column", .def = "0", .min = 0, .max = GNN_IMPORT_CLASSES_MAX,
     .help = "Column of labels with several per node, from 1; 0 = reject such labels"},
    {OPTION(train_fraction), .type = GNN_OPT_F64, .def = "0.01", .min = 0, .max = 1,
     .help = "Share of the nodes drawn for training, if the input has no splits"},
    {OPTION(valid_fraction), .type = GNN_OPT_F64, .def = "0.001", .min = 0, .max = 1,
     .help = "Share of the nodes drawn for validation, if the input has no splits"},
    {OPTION(test_fraction), .type = GNN_OPT_F64, .def = "0.002", .min = 0, .max = 1,
     .help = "Share of the nodes drawn for testing, if the input has no splits"},
    {OPTION(seed), .type = GNN_OPT_U64, .def = "1", .help = "Seed for random features, labels and splits"},
    {0},
};
/* clang-format on */

static void base_name(const char *path, char *out, size_t out_bytes)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    (void)snprintf(out, out_bytes, "%.*s", (int)(len - start), path + start);
}

/* Datasets of earlier builds have no parameter of a later option, so its default is not recorded. */
static bool is_later_default(const struct gnn_option *option, const char *value)
{
    static const struct {
        const char *name, *value;
    } later[] = {{"ignore_columns", "false"},
                 {"columns", "hrt"},
                 {"unlabelled", "-1"},
                 {"label_column", "0"},
                 {"keep_order", "false"}};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(option->name, later[i].name) == 0)
            return strcmp(value, later[i].value) == 0;
    return false;
}

/* Adds what was given and changes the result. */
static void describe_source(const struct gnn_import_source *source, struct gnn_meta *meta)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        {"split", source->split}, {"edges", source->edges}, {"features", source->features}, {"labels", source->labels}};
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"raw_rows", source->raw_rows},
                   {"raw_dim", source->raw_dim},
                   {"labelled", source->labelled},
                   {"split_by_id", source->split_by_id}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value != NULL)
            gnn_meta_add_param(meta, texts[i].key, "%s", texts[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0)
            gnn_meta_add_param(meta, numbers[i].key, "%" PRIu64, numbers[i].value);
}

static void describe(struct gnn_importer *importer, const struct gnn_node_files *files)
{
    struct gnn_meta *meta = &importer->meta;
    const struct gnn_import_source *source = importer->source;
    char last[128], name[GNN_OUTPUT_PATH];
    base_name(source->from, last, sizeof last);
    base_name(source->name != NULL ? source->name : source->from, name, sizeof name);
    meta->scale_divisor = 1;
    (void)snprintf(meta->name, sizeof meta->name, "%.63s", name);
    (void)snprintf(meta->origin, sizeof meta->origin, "imported from %s (%s)%s%s%s", last,
                   gnn_import_formats[source->format], files->dense || files->sparse ? "" : ", features random",
                   files->labels ? "" : ", labels random", files->train ? "" : ", splits random");
    gnn_text_make_plain(meta->origin);
    for (char *line = meta->origin; (line = strchr(line, '\n')) != NULL;)
        *line = '?';
    describe_source(source, meta);
    for (const struct gnn_option *option = gnn_import_table; option->name != NULL; option++) {
        char value[64];
        if (strcmp(option->name, "memory") == 0 || strcmp(option->name, "id_bytes") == 0 ||
            strcmp(option->name, "feature_type") == 0)
            continue; /* does not change the graph; `dims` has the type */
        gnn_option_format(option, importer->options, value, sizeof value);
        if (is_later_default(option, value))
            continue;
        gnn_meta_add_param(meta, option->name, "%s", value);
    }
}

/* The last part of the name given, or of the input's path: what tables, pictures and meta call the dataset. */
static enum gnn_status check_name(const struct gnn_import_source *source, struct gnn_err *err)
{
    char name[GNN_OUTPUT_PATH];
    base_name(source->name != NULL ? source->name : source->from, name, sizeof name);
    if (name[0] == '\0' || strlen(name) >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE, "\"%.80s\": the name of a dataset has 1 to %d bytes", name, GNN_NAME_MAX - 1);
    if (!gnn_text_is_plain(name) || (source->split != NULL && !gnn_text_is_plain(source->split)))
        return gnn_fail(err, GNN_EUSAGE,
                        "the name of the dataset or of its split holds control characters or bytes that are no UTF-8; "
                        "choose another one");
    return GNN_OK;
}

/* What a knowledge graph has no use for was meant to change something. */
static enum gnn_status check_triples(const struct gnn_import_source *source, const struct gnn_import_options *options,
                                     struct gnn_err *err)
{
    if (options->dim != 0 || options->classes != 0 || options->row_normalise || options->feature_type != GNN_F32)
        return gnn_fail(err, GNN_EUSAGE,
                        "--dim, --feature-type, --classes and --row-normalise: %s is a knowledge graph, whose nodes "
                        "have no features or "
                        "classes; leave them out (a run with --task link learns vectors of width --dim)",
                        source->from);
    if (source->split != NULL)
        return gnn_fail(err, GNN_EUSAGE, "--split %s: the splits of a knowledge graph are its files", source->split);
    return GNN_OK;
}

/* The options of arrays go with arrays, and with each other. */
static enum gnn_status check_arrays(const struct gnn_import_source *source, struct gnn_err *err)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {{"edges", source->edges != NULL},    {"features", source->features != NULL},
                   {"labels", source->labels != NULL},  {"raw-rows", source->raw_rows != 0},
                   {"raw-dim", source->raw_dim != 0},   {"labelled", source->labelled != 0},
                   {"split-by-id", source->split_by_id}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *const value = i == 0 ? source->edges : i == 1 ? source->features : i == 2 ? source->labels : NULL;
        if (options[i].given && source->format != GNN_IMPORT_OGB)
            return gnn_fail(err, GNN_EUSAGE, "--%s is for arrays (--format ogb)", options[i].name);
        if (value != NULL && !gnn_text_is_plain(value))
            return gnn_fail(err, GNN_EUSAGE, "--%s: the path holds control characters or bytes that are no UTF-8",
                            options[i].name);
    }
    if (source->raw_rows != 0 && source->raw_dim == 0)
        return gnn_fail(err, GNN_EUSAGE, "--raw-rows goes with --raw-dim D, the width of features without a header");
    if (source->split_by_id && source->split != NULL)
        return gnn_fail(err, GNN_EUSAGE, "--split %s and --split-by-id: choose one", source->split);
    return GNN_OK;
}

static enum gnn_status check_request(const struct gnn_import_source *source, const struct gnn_import_options *options,
                                     struct gnn_err *err)
{
    GNN_TRY(gnn_import_check_kind(source, err));
    if (options->memory_bytes < GNN_IMPORT_RESERVE + 2 * GNN_SORTER_MEMORY_MIN)
        return gnn_fail(err, GNN_EUSAGE, "--memory %" PRIu64 ": an import takes at least %d", options->memory_bytes,
                        GNN_IMPORT_RESERVE + 2 * GNN_SORTER_MEMORY_MIN);
    if (options->nodes != 0 && source->format == GNN_IMPORT_OGB)
        return gnn_fail(err, GNN_EUSAGE,
                        "--nodes is for edge lists: the node files of %s already define the number of nodes",
                        source->from);
    if (options->relabel && source->format != GNN_IMPORT_SNAP)
        return gnn_fail(err, GNN_EUSAGE, "relabel is for edge lists: the node files of %s are in the order of the IDs",
                        source->from);
    if (source->format == GNN_IMPORT_TRIPLES)
        GNN_TRY(check_triples(source, options, err));
    GNN_TRY(check_arrays(source, err));
    GNN_TRY(check_name(source, err));
    if (options->keep_order &&
        (source->format != GNN_IMPORT_OGB || options->add_reverse || options->transpose || options->drop_duplicates))
        return gnn_fail(err, GNN_EUSAGE,
                        "--keep-order is for arrays (--format ogb), without --add-reverse, --transpose and "
                        "--drop-duplicates, which sort the edges");
    if (options->train_fraction + options->valid_fraction + options->test_fraction > 1)
        return gnn_fail(err, GNN_EUSAGE, "the fractions of the splits add up to %g, at most 1 is possible",
                        options->train_fraction + options->valid_fraction + options->test_fraction);
    if (options->unlabelled != floor(options->unlabelled))
        return gnn_fail(err, GNN_EUSAGE, "--unlabelled %g: labels are whole numbers", options->unlabelled);
    if (options->relabel && options->nodes != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--nodes %" PRIu32 " and --relabel, which numbers the nodes that occur: choose "
                        "one",
                        options->nodes);
    return GNN_OK;
}

/* Names files that may be a split of another name: in the input, or where the training nodes are. */
static const char *near_splits(const struct gnn_importer *importer, const struct gnn_node_files *files, int split,
                               char text[GNN_NEAR_BYTES])
{
    static const char *const words[GNN_FIND_SPLITS][5] = {{"train", "mask", "split", "role", NULL},
                                                          {"val", "dev", "mask", "split", NULL},
                                                          {"test", "mask", "split", NULL}};
    char dir[GNN_OUTPUT_PATH];
    gnn_container_of(files->arrays.split[0].path, dir);
    if (gnn_near_files(importer->source->from, words[split], text)[0] == '\0' && files->train)
        (void)gnn_near_files(dir, words[split], text);
    return text;
}

/* Says what of the result is not the input's. */
static void tell_random(const struct gnn_importer *importer, const struct gnn_node_files *files)
{
    const struct gnn_import_options *const o = importer->options;
    const char *const from = importer->source->from;
    char near[GNN_NEAR_BYTES];
    if (!files->dense && !files->sparse)
        gnn_log_warn("%s has no features: random ones of width %" PRIu32 " are drawn (--seed %" PRIu64 ")", from,
                     importer->meta.dims[0], o->seed);
    if (!files->labels)
        gnn_log_warn("%s has no labels: random ones of %" PRIu32 " classes are drawn; no accuracy means anything", from,
                     o->classes);
    if (files->train)
        return;
    const bool named = importer->arrays != NULL && near_splits(importer, files, 0, near)[0] != '\0';
    gnn_log_warn("%s has no splits%s%s%s: %g of the nodes are drawn for training, %g for validation, %g for testing",
                 from, named ? " under usual names (not read: " : "", named ? near : "",
                 named ? "; usual are train_idx.npy, train_mask.npy and train.csv)" : "", o->train_fraction,
                 o->valid_fraction, o->test_fraction);
}

/* Says where edges and splits were found if that is not the input itself. */
static void tell_found(const struct gnn_importer *importer, const struct gnn_node_files *files)
{
    const struct gnn_array_files *const a = &files->arrays;
    const char *const from = importer->source->from;
    char dir[GNN_OUTPUT_PATH];
    struct gnn_edge_files other;
    gnn_container_of(a->edges.path[0], dir);
    if (importer->arrays != NULL && importer->source->edges == NULL && strcmp(gnn_below(from, dir), "") != 0)
        gnn_log_info("edges: %s", a->edges.path[0]);
    if (importer->source->edges == NULL && gnn_find_other_edges(&a->edges, &other))
        gnn_log_warn("edges are read from %s; %s and %s are not read; remove the files that are not meant",
                     a->edges.path[0], other.path[0], other.path[1]);
    if (a->edges.form == GNN_EDGES_CSC)
        gnn_log_info(
            "%s holds neighbour lists: list v is read as the sources of the edges to node v (--transpose reads "
            "it as their targets)",
            a->edges.path[1]);
    if (a->split_dir[0] != '\0')
        gnn_log_info("splits: %s", a->split_dir);
}

/* Says which splits are absent where there are training nodes. */
static void tell_absent(const struct gnn_importer *importer, const struct gnn_node_files *files)
{
    static const char *const kinds[GNN_FIND_SPLITS] = {"training", "validation", "test"};
    char near[GNN_NEAR_BYTES];
    for (int i = 1; i < GNN_FIND_SPLITS && files->train && !importer->source->split_by_id; i++) {
        if (files->arrays.split[i].form != GNN_SPLIT_NONE)
            continue;
        (void)near_splits(importer, files, i, near);
        gnn_log_warn("%s has no file of %s nodes under a usual name%s%s", importer->source->from, kinds[i],
                     near[0] != '\0' ? "; not read: " : "", near);
    }
}

static enum gnn_status import_knowledge_graph(struct gnn_importer *importer, struct gnn_err *err)
{
    const struct gnn_node_files all = {.labels = true, .dense = true, .train = true};
    describe(importer, &all);
    enum gnn_status status = gnn_import_triples(importer, err);
    GNN_NEXT(status, gnn_dataset_commit(&importer->output, &importer->meta, err));
    gnn_output_close(&importer->output);
    return status;
}

static enum gnn_status import_parts(struct gnn_importer *importer, struct gnn_err *err)
{
    if (importer->source->format == GNN_IMPORT_TRIPLES)
        return import_knowledge_graph(importer, err);
    struct gnn_node_files *files;
    GNN_NEW(files, 1, err, "names of the node files");
    enum gnn_status status = gnn_import_check_edges(importer->source, importer->options, err);
    GNN_NEXT(status, gnn_import_find_nodes(importer, files, err));
    if (status == GNN_OK) {
        describe(importer, files);
        tell_found(importer, files);
        tell_random(importer, files);
        tell_absent(importer, files);
        const uint64_t row_bytes = importer->meta.dims[0] * gnn_feature_type_bytes(importer->options->feature_type) +
                                   sizeof(int32_t) + sizeof(uint64_t);
        status = gnn_output_open(importer->job, importer->meta.node_count * row_bytes, &importer->output, err);
    }
    const bool labels_first = files->labels && importer->nodes_known; /* small; they show that a header is wrong */
    if (labels_first)
        GNN_NEXT(status, gnn_import_labels(importer, files, err));
    GNN_NEXT(status, gnn_import_topology(importer, err));
    if (!labels_first)
        GNN_NEXT(status, gnn_import_labels(importer, files, err));
    GNN_NEXT(status, gnn_import_splits(importer, files, err));
    GNN_NEXT(status, gnn_import_features(importer, files, err));
    GNN_NEXT(status, gnn_dataset_commit(&importer->output, &importer->meta, err));
    gnn_output_close(&importer->output);
    free(files);
    return status;
}

/* Fails if the dataset that is there has features of the other type only: they would need the input. */
static enum gnn_status check_feature_type(const struct gnn_importer *importer, struct gnn_err *err)
{
    const char *const dir = importer->job->out_dir, *const word =
                                                        gnn_feature_type_words[importer->options->feature_type];
    struct gnn_meta *have;
    GNN_NEW(have, 1, err, "meta of %s", dir);
    const bool is_dataset = gnn_read_meta(dir, have, NULL) == GNN_OK;
    const bool lacks =
        is_dataset && have->dim_count > 0 && gnn_meta_first_dim(have, importer->options->feature_type) == 0;
    free(have);
    if (lacks)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s exists already, without features of --feature-type %s; remove it, or import under another "
                        "name",
                        dir, word);
    return GNN_OK;
}

static enum gnn_status add_to_existing(struct gnn_importer *importer, struct gnn_err *err)
{
    const struct gnn_node_files unread = {.labels = false};
    describe(importer, &unread);
    GNN_TRY(check_feature_type(importer, err));
    gnn_log_warn("%s is there already: %s is not read again; remove the dataset to import it anew",
                 importer->job->out_dir, importer->source->from);
    return gnn_add_id_width_alone(importer->job, &importer->meta, gnn_id_width_bytes(importer->options->id_width), err);
}

enum gnn_status gnn_prepare_import(const struct gnn_import_source *source, const struct gnn_import_options *options,
                                   const struct gnn_prepare_job *job, struct gnn_err *err)
{
    gnn_output_sweep(job->out_dir);
    GNN_TRY(check_request(source, options, err));
    struct gnn_importer *importer;
    GNN_NEW(importer, 1, err, "importer");
    *importer = (struct gnn_importer){.source = source, .options = options, .job = job};
    if (source->format == GNN_IMPORT_SNAP && options->nodes != 0) {
        importer->meta.node_count = options->nodes;
        importer->nodes_known = true;
    }
    const enum gnn_status status =
        access(job->out_dir, F_OK) == 0 ? add_to_existing(importer, err) : import_parts(importer, err);
    free(importer);
    return status;
}
