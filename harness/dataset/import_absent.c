/* SPDX-License-Identifier: MIT */
/* Parts that an input from arrays lacks: whether they may be drawn at random, and where they may be instead. */
#include "harness/dataset/import_parts.h"
#include "harness/dataset/near_files.h"

/* A part that the publisher ships is missing. */
static enum gnn_status fail_published(const struct gnn_importer *importer, const char *part, const char *option,
                                      struct gnn_err *err)
{
    return gnn_fail(
        err, GNN_ENOENT,
        "%s has no %s, but the published dataset (%s) has: download and extract it completely, or add %s, which "
        "draws random ones",
        importer->source->from, part, importer->source->title, option);
}

static enum gnn_status fail_absent(const struct gnn_importer *importer, const char *part, const char *option,
                                   const char *named, const char *const *words, struct gnn_err *err)
{
    const char *const from = importer->source->from;
    char near[GNN_NEAR_BYTES] = "";
    if (importer->source->title != NULL && named == NULL)
        return fail_published(importer, part, option, err);
    if (importer->source->format == GNN_IMPORT_OGB && named == NULL)
        (void)gnn_near_files(from, words, near);
    if (near[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s has no %s: %s draws random ones", from, part, option);
    return gnn_fail(err, GNN_EUSAGE,
                    "%s has no %s in a form that is read (not read: %s): save them with numpy.save in a file for --%s "
                    "FILE; %s draws random ones",
                    from, part, near, part, option);
}

enum gnn_status gnn_import_check_parts(const struct gnn_importer *importer, const struct gnn_node_files *files,
                                       struct gnn_err *err)
{
    static const char *const label_words[] = {"label", "class", "target", NULL};
    static const char *const feature_words[] = {"feat", "attr", "embed", NULL};
    const struct gnn_import_source *const source = importer->source;
    const struct gnn_split_file *const split = files->arrays.split;
    if (!files->train && (split[1].form != GNN_SPLIT_NONE || split[2].form != GNN_SPLIT_NONE))
        return gnn_fail(err, GNN_ENOENT,
                        "%s has %s, but neither train_idx.npy nor train.csv: a split needs its training nodes; add "
                        "them, or remove it to have all splits drawn at random",
                        source->from, split[split[1].form != GNN_SPLIT_NONE ? 1 : 2].path);
    if (!files->labels && importer->options->classes == 0)
        return fail_absent(importer, "labels", "--classes C", source->labels, label_words, err);
    if (!files->dense && !files->sparse && importer->options->dim == 0)
        return fail_absent(importer, "features", "--dim D", source->features, feature_words, err);
    if (!files->train && source->title != NULL && source->has_splits)
        return fail_published(importer, "splits", "--train-fraction F", err);
    return GNN_OK;
}
