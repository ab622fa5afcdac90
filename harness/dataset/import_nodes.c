/* SPDX-License-Identifier: MIT */
#include "harness/base/log.h"
#include "harness/base/rng.h"
#include "harness/dataset/features.h"
#include "harness/dataset/find_arrays.h"
#include "harness/dataset/find_edges.h"
#include "harness/dataset/import_parts.h"
#include "harness/dataset/labels_seen.h"
#include "harness/dataset/npy.h"
#include "harness/dataset/sorter.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_BUFFER = 262144, SPLITS = 3, LOOK_EVERY = 65536 /* nodes between two looks at the stop flag */ };
_Static_assert(SPLITS <= 4, "a split takes two bits of a sorted key");

static const char *const split_names[SPLITS] = {"train", "valid", "test"};

/* ---- the files of the input ---- */

/* Every file that tells the number of nodes must tell the same. */
static enum gnn_status agree_on_nodes(struct gnn_importer *importer, uint64_t nodes, const char *path,
                                      struct gnn_err *err)
{
    if (nodes == 0 || nodes >= GNN_NODE_NONE)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " nodes, expected 1 to %" PRIu32, path, nodes,
                        GNN_NODE_NONE - 1);
    if (importer->nodes_known && nodes != importer->meta.node_count)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " rows, expected one for each of the %" PRIu32 " nodes of %s",
                        path, nodes, importer->meta.node_count, importer->nodes_from);
    importer->meta.node_count = (uint32_t)nodes;
    importer->nodes_known = true;
    importer->nodes_from = path;
    return GNN_OK;
}

static enum gnn_status set_dim(struct gnn_importer *importer, uint64_t dim, const char *path, struct gnn_err *err)
{
    if (dim > GNN_DIM_MAX)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: features of width %" PRIu64 ", expected 1 to %d: save fewer columns, such as the first "
                        "components of a decomposition, or import random features with --features none --dim D",
                        path, dim, GNN_DIM_MAX);
    if (dim == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: features of width 0, expected 1 to %d", path, GNN_DIM_MAX);
    gnn_meta_add_dim(&importer->meta, (uint32_t)dim, importer->options->feature_type);
    return GNN_OK;
}

/* Takes the node count, and of features the width, from a dense array's header: [N] or [N, 1] labels, [N, dim]. */
static enum gnn_status probe_dense(struct gnn_importer *importer, const char *path, const struct gnn_npy_header *raw,
                                   bool features, struct gnn_err *err)
{
    struct gnn_npy *npy;
    GNN_TRY(gnn_npy_open_as(path, raw, &npy, err));
    const struct gnn_npy_header header = npy->header;
    gnn_npy_close(npy);
    if (features && header.dim_count != 2)
        return gnn_fail(err, GNN_EFORMAT, "%s: expected the shape [N, dim]: a.reshape(len(a), -1) has it", path);
    if (features && importer->nodes_known && header.shape[0] != importer->meta.node_count &&
        header.shape[1] == importer->meta.node_count)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %" PRIu64 " rows and a column for each of the %" PRIu32
                        " nodes of %s: save numpy.ascontiguousarray(a.T)",
                        path, header.shape[0], importer->meta.node_count, importer->nodes_from);
    if (features && raw->item_bytes > 0 && importer->nodes_known && header.shape[0] != importer->meta.node_count)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %" PRIu64 " rows of %" PRIu64 " float32 numbers, expected one for each of the %" PRIu32
                        " nodes of %s: check --raw-dim, and whether the numbers are float32",
                        path, header.shape[0], header.shape[1], importer->meta.node_count, importer->nodes_from);
    if (features && header.kind == 'u' && header.item_bytes == 2)
        gnn_log_warn("%s holds uint16, which are read as whole numbers. If they are the bits of bfloat16, save "
                     "(a.astype('uint32') << 16).view('float32')",
                     path);
    if (!features && !gnn_labels_fit(&header, importer->options->label_column))
        return gnn_labels_misfit(&header, importer->options->label_column, path, err);
    const uint32_t labelled = importer->labelled;
    if (!features && labelled > 0)
        return header.shape[0] >= labelled
                   ? GNN_OK
                   : gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " labels, expected the %" PRIu32 " of --labelled", path,
                              header.shape[0], labelled);
    GNN_TRY(agree_on_nodes(importer, header.shape[0], path, err));
    return features ? set_dim(importer, header.shape[1], path, err) : GNN_OK;
}

static enum gnn_status probe_sparse(struct gnn_importer *importer, const struct gnn_array_files *f, struct gnn_err *err)
{
    struct gnn_npy *npy;
    int64_t shape[2] = {0, 0};
    GNN_TRY(gnn_npy_open(f->sparse_path[3], &npy, err));
    enum gnn_status status = GNN_OK;
    if (npy->header.items != 2)
        status = gnn_fail(err, GNN_EFORMAT, "%s: expected two numbers, rows and columns", f->sparse_path[3]);
    GNN_NEXT(status, gnn_npy_read_i64(npy, shape, 2, err));
    gnn_npy_close(npy);
    GNN_TRY(status);
    GNN_TRY(agree_on_nodes(importer, shape[0] < 0 ? 0 : (uint64_t)shape[0], f->sparse_path[3], err));
    return set_dim(importer, shape[1] < 0 ? 0 : (uint64_t)shape[1], f->sparse_path[3], err);
}

/* Offsets of neighbour lists define the number of nodes, too. */
static enum gnn_status probe_lists(struct gnn_importer *importer, const struct gnn_edge_files *edges,
                                   struct gnn_err *err)
{
    struct gnn_edge_arrays *arrays;
    if (edges->form != GNN_EDGES_CSC && edges->form != GNN_EDGES_CSR)
        return GNN_OK;
    GNN_TRY(gnn_edge_arrays_open(edges, &arrays, err));
    const uint64_t nodes = gnn_edge_arrays_nodes(arrays);
    gnn_edge_arrays_close(arrays);
    if (importer->nodes_known && nodes + 1 == importer->meta.node_count)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: an offset for each of the %" PRIu32
                        " nodes of %s, expected one more: save numpy.append(a, "
                        "len(indices))",
                        edges->path[0], importer->meta.node_count, importer->nodes_from);
    return agree_on_nodes(importer, nodes, edges->path[0], err);
}

static void set_labelled(struct gnn_importer *importer)
{
    const uint64_t labelled = importer->source->labelled, of = importer->source->labelled_of;
    importer->labelled = (uint32_t)labelled;
    if (of > 0 && importer->nodes_known)
        importer->labelled = (uint32_t)(labelled * importer->meta.node_count / of);
}

static enum gnn_status probe_parts(struct gnn_importer *importer, const struct gnn_node_files *f, struct gnn_err *err)
{
    const struct gnn_array_files *const a = &f->arrays;
    const bool late = importer->source->labelled > 0; /* labels of some nodes do not define their number */
    if (f->labels && !late)
        GNN_TRY(probe_dense(importer, a->label_path, &a->label_raw, false, err));
    if (f->dense)
        GNN_TRY(probe_dense(importer, a->feature_path, &a->feature_raw, true, err));
    else if (f->sparse)
        GNN_TRY(probe_sparse(importer, a, err));
    else
        GNN_TRY(set_dim(importer, importer->options->dim, "--dim", err));
    GNN_TRY(probe_lists(importer, &a->edges, err));
    if (a->nodes > 0 && importer->nodes_known && a->nodes != importer->meta.node_count)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %" PRIu32 " rows, and %" PRIu64 " nodes are stated next to %s: one of the two files is "
                        "incomplete, or of another graph",
                        importer->nodes_from, importer->meta.node_count, a->nodes, a->edges.path[0]);
    if (a->nodes > 0 && !importer->nodes_known)
        GNN_TRY(agree_on_nodes(importer, a->nodes, a->edges.path[0], err));
    set_labelled(importer);
    if (f->labels && late)
        GNN_TRY(probe_dense(importer, a->label_path, &a->label_raw, false, err));
    if ((f->dense || f->sparse) && importer->options->dim != 0 && importer->options->dim != importer->meta.dims[0])
        return gnn_fail(err, GNN_EUSAGE, "%s has features of width %" PRIu32 ": --dim is for inputs without",
                        importer->source->from, importer->meta.dims[0]);
    return GNN_OK;
}

enum gnn_status gnn_import_find_nodes(struct gnn_importer *importer, struct gnn_node_files *out, struct gnn_err *err)
{
    struct gnn_array_files *const a = &out->arrays;
    *out = (struct gnn_node_files){0};
    if (importer->source->format == GNN_IMPORT_OGB) {
        GNN_TRY(gnn_find_edges(importer->source, a, err));
        if (a->edges.form == GNN_EDGES_NONE)
            return gnn_fail(err, GNN_ENOENT, "%s has no edges any more", importer->source->from);
        GNN_TRY(gnn_find_node_arrays(importer->source, a, err));
        importer->arrays = a;
    }
    out->labels = a->label_path[0] != '\0';
    out->dense = a->feature_path[0] != '\0';
    out->sparse = !out->dense && a->sparse_path[0][0] != '\0';
    out->train = a->split[0].form != GNN_SPLIT_NONE || importer->source->split_by_id;
    GNN_TRY(gnn_import_check_parts(importer, out, err));
    return probe_parts(importer, out, err);
}

/* ---- labels ---- */

static enum gnn_status check_label(int64_t value, uint64_t node, const struct gnn_import_options *options,
                                   const char *path, int32_t *out, struct gnn_err *err)
{
    const int64_t end = options->classes > 0 ? options->classes : GNN_IMPORT_CLASSES_MAX;
    if (value == GNN_NPY_NAN || value == (int64_t)options->unlabelled)
        value = -1;
    if (value < -1 || value >= end)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: node %" PRIu64 " has label %" PRId64 ", expected -1 (none) or a class below %" PRId64
                        "; if it means none, add --unlabelled %" PRId64,
                        path, node, value, end, value);
    *out = (int32_t)value;
    return GNN_OK;
}

/* Stored labels, class_count = the largest + 1 unless --classes says more. */
static enum gnn_status copy_labels(struct gnn_importer *importer, struct gnn_npy *npy, struct gnn_labels_seen *seen,
                                   struct gnn_out_file *out, struct gnn_err *err)
{
    const uint64_t all = importer->meta.node_count, labelled = importer->labelled;
    const uint64_t nodes = labelled > 0 ? gnn_min_u64(labelled, all) : all;
    int64_t values[GNN_NPY_BATCH];
    int32_t labels[GNN_NPY_BATCH];
    int32_t largest = -1;
    for (uint64_t first = 0; first < nodes; first += GNN_NPY_BATCH) {
        const uint64_t count = gnn_min_u64(nodes - first, GNN_NPY_BATCH);
        GNN_TRY(gnn_job_stopped(importer->job, "labels", err));
        GNN_TRY(gnn_labels_read(npy, importer->options->label_column, values, count, err));
        for (uint64_t i = 0; i < count; i++) {
            GNN_TRY(check_label(values[i], first + i, importer->options, npy->input->path, &labels[i], err));
            largest = labels[i] > largest ? labels[i] : largest;
        }
        gnn_labels_seen_add(seen, labels, count);
        GNN_TRY(gnn_out_write(out, labels, count * sizeof *labels, err));
    }
    if (largest < 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: no node has a label", npy->input->path);
    importer->meta.class_count = importer->options->classes > 0 ? importer->options->classes : (uint32_t)largest + 1;
    if (importer->options->classes == 0)
        GNN_TRY(gnn_labels_seen_judge(seen, nodes, npy->input->path, err));
    for (uint64_t node = nodes; node < all; node++) {
        if (node % LOOK_EVERY == 0)
            GNN_TRY(gnn_job_stopped(importer->job, "labels", err));
        GNN_TRY(gnn_out_write(out, &(int32_t){-1}, sizeof(int32_t), err));
    }
    return labelled > 0 ? GNN_OK : gnn_npy_expect_end(npy, err);
}

static enum gnn_status draw_labels(struct gnn_importer *importer, struct gnn_out_file *out, struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(importer->options->seed, "import.label");
    const uint32_t classes = importer->options->classes;
    assert(classes > 0);
    importer->meta.class_count = classes;
    for (uint64_t node = 0; node < importer->meta.node_count; node++) {
        if (node % LOOK_EVERY == 0)
            GNN_TRY(gnn_job_stopped(importer->job, "labels", err));
        struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(key, node));
        const int32_t label = (int32_t)gnn_rng_below(&rng, classes);
        GNN_TRY(gnn_out_write(out, &label, sizeof label, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_import_labels(struct gnn_importer *importer, const struct gnn_node_files *files,
                                  struct gnn_err *err)
{
    struct gnn_out_file *out;
    struct gnn_npy *npy = NULL;
    GNN_TRY(gnn_out_open(&importer->output, "labels", OUT_BUFFER, GNN_OUT_DATASET, &out, err));
    struct gnn_labels_seen *seen = NULL;
    enum gnn_status status =
        files->labels ? gnn_npy_open_as(files->arrays.label_path, &files->arrays.label_raw, &npy, err) : GNN_OK;
    GNN_NEXT(status, gnn_labels_seen_open(&seen, err));
    GNN_NEXT(status, files->labels ? copy_labels(importer, npy, seen, out, err) : draw_labels(importer, out, err));
    gnn_npy_close(npy);
    gnn_labels_seen_close(seen);
    return gnn_out_end(out, status, &importer->meta, err);
}

/* ---- splits ---- */

/* Each node on its own: uniform draw u, train if u < a, valid if u < a + b, test if u < a + b + c. */
static int drawn_split(const struct gnn_import_options *options, uint64_t key, uint64_t node)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(key, node));
    const double shares[SPLITS] = {options->train_fraction, options->valid_fraction, options->test_fraction};
    double u = gnn_rng_unit(&rng);
    for (int i = 0; i < SPLITS; i++) {
        if (u < shares[i])
            return i;
        u -= shares[i];
    }
    return -1;
}

struct split_writer {
    struct gnn_out_file *files[SPLITS];
    FILE *labels; /* as written just before, node after node */
    uint32_t counts[SPLITS];
    uint64_t next; /* node whose label is read next */
    int32_t label;
    uint64_t unlabelled;
};

/* Moves on to node's label. Nodes ascend. */
static enum gnn_status label_of(struct split_writer *w, uint64_t node, struct gnn_err *err)
{
    assert(w->next <= node + 1);
    for (; w->next <= node; w->next++)
        if (fread(&w->label, sizeof w->label, 1, w->labels) != 1)
            return gnn_fail(err, GNN_EIO, "reading back the labels: %s", ferror(w->labels) ? strerror(errno) : "short");
    return GNN_OK;
}

static enum gnn_status put_member(struct split_writer *w, uint64_t node, int split, struct gnn_err *err)
{
    const gnn_node id = (gnn_node)node;
    assert(split >= 0);
    assert(split < SPLITS);
    GNN_TRY(label_of(w, node, err));
    if (w->label < 0) { /* nothing to learn from or to compare with */
        w->unlabelled++;
        return GNN_OK;
    }
    w->counts[split]++;
    return gnn_out_write(w->files[split], &id, sizeof id, err);
}

static enum gnn_status fail_overlap(uint64_t node, uint64_t first, uint64_t second, struct gnn_err *err)
{
    static const char *const ways[] = {
        "remove it from one of them",
        "numpy.unique(a) removes repeats; if the list has 0 or 1 for every node, name it as a mask, such as "
        "train_mask.npy"};
    return gnn_fail(err, GNN_EFORMAT, "node %" PRIu64 " is in the splits %s and %s: %s", node, split_names[first],
                    split_names[second], ways[first == second]);
}

static enum gnn_status write_sorted(struct gnn_sorter *sorter, struct split_writer *w, struct gnn_err *err)
{
    uint64_t previous = UINT64_MAX;
    for (;;) {
        const uint64_t *keys;
        uint64_t count = 0;
        GNN_TRY(gnn_sorter_next(sorter, &keys, &count, err));
        if (count == 0)
            return GNN_OK;
        for (uint64_t i = 0; i < count; i++) {
            if (previous != UINT64_MAX && previous >> 2 == keys[i] >> 2)
                return fail_overlap(keys[i] >> 2, previous & 3, keys[i] & 3, err);
            GNN_TRY(put_member(w, keys[i] >> 2, (int)(keys[i] & 3), err));
            previous = keys[i];
        }
    }
}

static enum gnn_status write_given(struct gnn_importer *importer, const struct gnn_node_files *files,
                                   struct split_writer *w, struct gnn_err *err)
{
    struct gnn_sorter *sorter;
    const bool torch = files->arrays.split[0].form == GNN_SPLIT_TORCH; /* whose arrays take the other half */
    const uint64_t budget = gnn_import_budget(importer) / (torch ? 2 : 1);
    GNN_TRY(gnn_sorter_open(&importer->output, budget, false, &sorter, err));
    enum gnn_status status = gnn_import_split_members(importer, files, sorter, err);
    GNN_NEXT(status, gnn_sorter_finish(sorter, err));
    GNN_NEXT(status, write_sorted(sorter, w, err));
    gnn_sorter_close(sorter);
    return status;
}

static enum gnn_status write_drawn(const struct gnn_importer *importer, struct split_writer *w, struct gnn_err *err)
{
    const uint64_t key = gnn_rng_fork(importer->options->seed, "import.split");
    for (uint64_t node = 0; node < importer->meta.node_count; node++) {
        if (node % LOOK_EVERY == 0)
            GNN_TRY(gnn_job_stopped(importer->job, "splits", err));
        const int split = drawn_split(importer->options, key, node);
        if (split >= 0)
            GNN_TRY(put_member(w, node, split, err));
    }
    return GNN_OK;
}

static enum gnn_status open_split_files(struct gnn_importer *importer, struct split_writer *w, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/labels", importer->output.partial);
    w->labels = fopen(path, "rbe");
    if (w->labels == NULL)
        return gnn_out_errno(errno, "cannot open", path, err);
    for (int i = 0; i < SPLITS; i++)
        GNN_TRY(gnn_out_open(&importer->output, split_names[i], 65536, GNN_OUT_DATASET, &w->files[i], err));
    return GNN_OK;
}

enum gnn_status gnn_import_splits(struct gnn_importer *importer, const struct gnn_node_files *files,
                                  struct gnn_err *err)
{
    struct split_writer w = {0};
    enum gnn_status status = open_split_files(importer, &w, err);
    GNN_NEXT(status, files->train ? write_given(importer, files, &w, err) : write_drawn(importer, &w, err));
    if (w.labels != NULL)
        (void)fclose(w.labels);
    for (int i = 0; i < SPLITS; i++)
        status = gnn_out_end(w.files[i], status, &importer->meta, err);
    GNN_TRY(status);
    importer->meta.train_count = w.counts[0];
    importer->meta.valid_count = w.counts[1];
    importer->meta.test_count = w.counts[2];
    if (w.unlabelled > 0)
        gnn_log_warn("%" PRIu64 " nodes of the splits have no label and were left out", w.unlabelled);
    if (w.counts[0] > 0)
        return GNN_OK;
    if (files->train)
        return gnn_fail(err, GNN_EFORMAT, "%s: no node of its training split has a label", importer->source->from);
    return gnn_fail(err, GNN_EFORMAT, "%s: no labelled node was drawn to train on: raise --train-fraction, %g here",
                    importer->source->from, importer->options->train_fraction);
}

/* ---- features ---- */

struct feature_writer {
    struct gnn_importer *importer;
    struct gnn_out_file *out;
    struct gnn_npy *data, *indices, *indptr; /* dense: data alone */
    uint64_t offset;                         /* sparse: where the row starts */
    float *row;                              /* (dim) */
    uint16_t *half_row;                      /* (dim), for float16 features, else NULL */
};

/* Writes the row as it is stored. A finite number must stay finite. */
static enum gnn_status write_row(const struct feature_writer *w, uint64_t node, struct gnn_err *err)
{
    const uint32_t dim = w->importer->meta.dims[0];
    if (w->half_row == NULL)
        return gnn_out_write(w->out, w->row, dim * sizeof *w->row, err);
    for (uint32_t i = 0; i < dim; i++)
        if (fabsf(w->row[i]) >= GNN_HALF_OVERFLOW)
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: feature %" PRIu32 " of node %" PRIu64
                            " is %g, and the largest float16 is %g; leave out --feature-type f16, or add "
                            "--row-normalise",
                            w->data != NULL ? w->data->input->path : w->importer->source->from, i, node,
                            (double)w->row[i], (double)GNN_HALF_MAX);
    gnn_halves_narrow(w->row, dim, w->half_row);
    return gnn_out_write(w->out, w->half_row, dim * sizeof *w->half_row, err);
}

/* Numbers of 8 bytes may be finite, and too large for float32. */
static enum gnn_status fail_infinite(const struct feature_writer *w, uint64_t node, uint32_t column,
                                     struct gnn_err *err)
{
    const bool wide = w->data->header.item_bytes > sizeof(float);
    return gnn_fail(err, GNN_EFORMAT, "%s: feature %" PRIu32 " of node %" PRIu64 " is not a finite %s; %s",
                    w->data->input->path, column, node, wide ? "float32" : "number",
                    wide ? "numpy.clip(numpy.nan_to_num(a), -3e38, 3e38) replaces such numbers"
                         : "numpy.nan_to_num(a) replaces such numbers");
}

static enum gnn_status finish_row(const struct feature_writer *w, uint64_t node, struct gnn_err *err)
{
    const uint32_t dim = w->importer->meta.dims[0];
    double sum = 0;
    for (uint32_t i = 0; i < dim; i++) {
        if (!isfinite(w->row[i]))
            return fail_infinite(w, node, i, err);
        sum += fabs((double)w->row[i]);
    }
    if (w->importer->options->row_normalise && sum > 0)
        for (uint32_t i = 0; i < dim; i++)
            w->row[i] = (float)((double)w->row[i] / sum);
    return write_row(w, node, err);
}

static enum gnn_status dense_row(struct feature_writer *w, uint64_t node, struct gnn_err *err)
{
    const uint32_t dim = w->importer->meta.dims[0];
    for (uint32_t first = 0; first < dim; first += GNN_NPY_BATCH)
        GNN_TRY(gnn_npy_read_f32(w->data, w->row + first, gnn_min_u32(dim - first, GNN_NPY_BATCH), err));
    return finish_row(w, node, err);
}

static enum gnn_status sparse_row(struct feature_writer *w, uint64_t node, struct gnn_err *err)
{
    const uint32_t dim = w->importer->meta.dims[0];
    int64_t end = 0;
    assert(w->offset <= w->data->header.items);
    GNN_TRY(gnn_npy_read_i64(w->indptr, &end, 1, err));
    if (end < 0 || (uint64_t)end < w->offset || (uint64_t)end > w->data->header.items)
        return gnn_fail(err, GNN_EFORMAT, "%s: row %" PRIu64 " ends at %" PRId64 ", expected %" PRIu64 " to %" PRIu64,
                        w->indptr->input->path, node, end, w->offset, w->data->header.items);
    memset(w->row, 0, dim * sizeof *w->row);
    while (w->offset < (uint64_t)end) {
        int64_t columns[GNN_NPY_BATCH];
        float values[GNN_NPY_BATCH];
        const uint64_t count = gnn_min_u64((uint64_t)end - w->offset, GNN_NPY_BATCH);
        GNN_TRY(gnn_npy_read_i64(w->indices, columns, count, err));
        GNN_TRY(gnn_npy_read_f32(w->data, values, count, err));
        for (uint64_t i = 0; i < count; i++) {
            if (columns[i] < 0 || columns[i] >= dim)
                return gnn_fail(err, GNN_EFORMAT, "%s: row %" PRIu64 " has column %" PRId64 ", expected below %" PRIu32,
                                w->indices->input->path, node, columns[i], dim);
            w->row[columns[i]] += values[i]; /* a repeated column adds up, as in SciPy */
        }
        w->offset += count;
    }
    return finish_row(w, node, err);
}

/* Turning a matrix in Fortran order takes memory that the sorted edges no longer need. */
static enum gnn_status open_dense(struct feature_writer *w, const struct gnn_node_files *files, struct gnn_err *err)
{
    GNN_TRY(gnn_npy_open_as(files->arrays.feature_path, &files->arrays.feature_raw, &w->data, err));
    gnn_npy_set_block(w->data, gnn_import_budget(w->importer));
    return GNN_OK;
}

static enum gnn_status open_sparse(struct feature_writer *w, const struct gnn_node_files *files, struct gnn_err *err)
{
    int64_t first = 0;
    GNN_TRY(gnn_npy_open(files->arrays.sparse_path[0], &w->data, err));
    GNN_TRY(gnn_npy_open(files->arrays.sparse_path[1], &w->indices, err));
    GNN_TRY(gnn_npy_open(files->arrays.sparse_path[2], &w->indptr, err));
    const uint64_t values = w->data->header.items, columns = w->indices->header.items;
    const uint64_t offsets = w->indptr->header.items, expected = (uint64_t)w->importer->meta.node_count + 1;
    if (values != columns)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " entries, expected one for each of the %" PRIu64 " values",
                        files->arrays.sparse_path[1], columns, values);
    if (offsets != expected)
        return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " entries, expected %" PRIu64 " (rows + 1)",
                        files->arrays.sparse_path[2], offsets, expected);
    GNN_TRY(gnn_npy_read_i64(w->indptr, &first, 1, err));
    if (first != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: starts at %" PRId64 ", expected 0", files->arrays.sparse_path[2], first);
    return GNN_OK;
}

static enum gnn_status expect_ends(const struct feature_writer *w, struct gnn_err *err)
{
    const uint64_t values = w->data->header.items;
    if (w->indptr != NULL && w->offset != values)
        return gnn_fail(err, GNN_EFORMAT, "%s: ends at %" PRIu64 ", expected the %" PRIu64 " values",
                        w->indptr->input->path, w->offset, values);
    GNN_TRY(gnn_npy_expect_end(w->data, err));
    if (w->indptr == NULL)
        return GNN_OK;
    GNN_TRY(gnn_npy_expect_end(w->indices, err));
    return gnn_npy_expect_end(w->indptr, err);
}

static enum gnn_status write_rows(struct feature_writer *w, const char *name, struct gnn_err *err)
{
    const struct gnn_meta *meta = &w->importer->meta;
    const uint64_t row_bytes = meta->dims[0] * gnn_feature_type_bytes(meta->types[0]);
    assert(meta->dim_count == 1);
    assert(meta->node_count > 0);
    const uint64_t key = gnn_rng_fork(w->importer->options->seed, "import.features");
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, w->importer->job, name, "B", meta->node_count * row_bytes);
    for (uint64_t node = 0; node < meta->node_count; node++) {
        if (w->indptr != NULL) {
            GNN_TRY(sparse_row(w, node, err));
        } else if (w->data != NULL) {
            GNN_TRY(dense_row(w, node, err));
        } else {
            gnn_feature_row(key, 0, (gnn_node)node, meta->dims[0], 0, w->row);
            GNN_TRY(write_row(w, node, err));
        }
        if (node % 1024 == 0)
            GNN_TRY(gnn_ticker_set(&ticker, node * row_bytes, err));
    }
    GNN_TRY(gnn_ticker_set(&ticker, meta->node_count * row_bytes, err));
    gnn_ticker_end(&ticker);
    return w->data != NULL ? expect_ends(w, err) : GNN_OK;
}

enum gnn_status gnn_import_features(struct gnn_importer *importer, const struct gnn_node_files *files,
                                    struct gnn_err *err)
{
    struct feature_writer w = {.importer = importer};
    char name[32];
    gnn_meta_features_name(importer->meta.dims[0], importer->meta.types[0], name, sizeof name);
    enum gnn_status status = gnn_out_open(&importer->output, name, OUT_BUFFER, GNN_OUT_DATASET, &w.out, err);
    if (status == GNN_OK && files->dense)
        status = open_dense(&w, files, err);
    if (status == GNN_OK && files->sparse)
        status = open_sparse(&w, files, err);
    if (status == GNN_OK) {
        const bool half = importer->meta.types[0] == GNN_F16;
        w.row = malloc(importer->meta.dims[0] * sizeof *w.row);
        w.half_row = half ? malloc(importer->meta.dims[0] * sizeof *w.half_row) : NULL;
        status = w.row != NULL && (w.half_row != NULL || !half) ? write_rows(&w, name, err)
                                                                : gnn_fail(err, GNN_ENOMEM, "feature row");
    }
    free(w.row);
    free(w.half_row);
    gnn_npy_close(w.data);
    gnn_npy_close(w.indices);
    gnn_npy_close(w.indptr);
    return gnn_out_end(w.out, status, &importer->meta, err);
}
