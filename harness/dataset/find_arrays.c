/* SPDX-License-Identifier: MIT */
#include "harness/dataset/find_arrays.h"

#include "harness/dataset/csv_numbers.h"
#include "harness/dataset/find_places.h"
#include "harness/dataset/find_splits.h"
#include "harness/dataset/near_files.h"
#include "harness/dataset/ogb_csv.h"

#include "harness/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const label_names[] = {"node_label", "node_labels", "labels", "label", "y", NULL};
static const char *const feature_names[] = {
    "node_feat", "node_feats", "node_features", "features", "feature", "feat", "feats", "x", NULL};

/* IGB ships labels of several kinds side by side, such as node_label_19 and node_label_2K. */
static enum gnn_status label_of_several(struct gnn_finder *f, const char *dir, struct gnn_array_files *out)
{
    struct gnn_listing *const kinds = gnn_list_starts(f, dir, "node_label_");
    if (kinds == NULL)
        return f->status;
    if (kinds->count > 1)
        f->status =
            gnn_fail(f->err, GNN_EUSAGE, "%s has labels of several kinds: choose with --labels %s/%s or --labels %s/%s",
                     dir, dir, kinds->name[0], dir, kinds->name[1]);
    else if (kinds->count == 1)
        gnn_join(out->label_path, dir, kinds->name[0]);
    gnn_listing_close(kinds);
    return f->status;
}

/* Data, indices, indptr and shape of a matrix in CSR form: with a prefix, or in an archive of SciPy. */
static bool find_sparse(struct gnn_finder *f, const char *dir, struct gnn_array_files *out)
{
    static const char *const parts[] = {"data", "indices", "indptr", "shape"};
    static const char *const prefixes[] = {"feat_", "attr_", "node_feat_", "feature_", "x_"};
    static const char *const archives[] = {"node_feat", "features", "feat", "feature", "attr", "x"};
    char name[64], path[GNN_OUTPUT_PATH];
    int found = 0;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes && found < 4; p++)
        for (found = 0; found < 4; found++) {
            (void)snprintf(name, sizeof name, "%s%s", prefixes[p], parts[found]);
            if (!gnn_find_array(f, dir, name, true, out->sparse_path[found]))
                break;
        }
    for (size_t a = 0; a < sizeof archives / sizeof *archives && found < 4; a++) {
        (void)snprintf(name, sizeof name, "%s.npz", archives[a]);
        gnn_join(path, dir, name);
        for (found = 0; found < 4 && gnn_input_is_npz(path); found++)
            if (!gnn_find_array(f, path, parts[found], false, out->sparse_path[found]))
                break;
    }
    if (found < 4)
        out->sparse_path[0][0] = '\0';
    return found == 4;
}

/* A matrix of SciPy in another form than CSR has its numbers in another order. */
static enum gnn_status check_sparse(struct gnn_finder *f, const struct gnn_array_files *out)
{
    char dir[GNN_OUTPUT_PATH], path[GNN_OUTPUT_PATH], word[4];
    gnn_container_of(out->sparse_path[0], dir);
    if (gnn_input_is_npz(dir) && gnn_find_array(f, dir, "format", false, path) && gnn_find_word(f, path, word) &&
        strcmp(word, "csr") != 0)
        f->status = gnn_fail(f->err, GNN_EFORMAT,
                             "%s: a sparse matrix in %s form, expected csr: `python3 -c \"import scipy.sparse as s; "
                             "s.save_npz('%s', s.load_npz('%s').tocsr())\"` converts it",
                             dir, word, dir, dir);
    return f->status;
}

/* Names the files with labels that could be meant. */
static enum gnn_status fail_labels(const struct gnn_import_source *source, const struct gnn_places *places,
                                   struct gnn_err *err)
{
    static const char *const words[] = {"label", NULL};
    char path[GNN_OUTPUT_PATH], near[GNN_NEAR_BYTES] = "";
    for (uint32_t i = 0; i < places->count && near[0] == '\0'; i++)
        (void)gnn_near_files(places->dir[i], words, near);
    gnn_join(path, source->from, source->labels);
    return gnn_fail(err, GNN_ENOENT, "--labels %s: neither %s nor %s exists%s%s", source->labels, source->labels, path,
                    near[0] != '\0' ? "; files with labels: " : "", near);
}

static enum gnn_status find_labels(struct gnn_finder *f, const struct gnn_import_source *source,
                                   const struct gnn_places *places, struct gnn_array_files *out)
{
    if (source->labels != NULL) {
        out->label_raw = (struct gnn_npy_header){0};
        out->label_path[0] = '\0';
        if (strcmp(source->labels, "none") == 0)
            return GNN_OK;
        for (uint32_t i = 0; i < places->count; i++) {
            gnn_join(out->label_path, places->dir[i], source->labels);
            if (gnn_input_exists(out->label_path))
                return GNN_OK;
        }
        (void)snprintf(out->label_path, GNN_OUTPUT_PATH, "%s", source->labels);
        return gnn_input_exists(source->labels) ? GNN_OK : fail_labels(source, places, f->err);
    }
    for (uint32_t i = 0; i < places->count && out->label_path[0] == '\0' && f->status == GNN_OK; i++)
        if (!gnn_find_role(f, places->dir[i], label_names, out->label_path)) {
            out->label_path[0] = '\0';
            GNN_TRY(label_of_several(f, places->dir[i], out));
        }
    return f->status;
}

static enum gnn_status find_features(struct gnn_finder *f, const struct gnn_import_source *source,
                                     const struct gnn_places *places, struct gnn_array_files *out)
{
    bool found = out->feature_path[0] != '\0';
    if (source->features != NULL) {
        out->feature_raw = (struct gnn_npy_header){0};
        out->feature_path[0] = '\0';
        if (strcmp(source->features, "none") == 0)
            return GNN_OK;
        return gnn_find_named(source->from, "features", source->features, out->feature_path, f->err);
    }
    for (uint32_t i = 0; i < places->count && !found && f->status == GNN_OK; i++) {
        found = gnn_find_role(f, places->dir[i], feature_names, out->feature_path);
        if (!found)
            out->feature_path[0] = '\0';
        found = found || find_sparse(f, places->dir[i], out);
    }
    return f->status == GNN_OK && out->sparse_path[0][0] != '\0' ? check_sparse(f, out) : f->status;
}

static uint64_t file_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static struct gnn_npy_header float_rows(uint64_t rows, uint32_t dim)
{
    return (struct gnn_npy_header){.kind = 'f',
                                   .item_bytes = sizeof(float),
                                   .dim_count = dim > 0 ? 2 : 1,
                                   .shape = {rows, dim},
                                   .items = gnn_mul_bytes(rows, gnn_max_u32(dim, 1))};
}

static bool has_no_header(const char *path)
{
    return !gnn_csv_is_name(path) && !gnn_npy_has_magic(path);
}

/* Features and labels without a header have the width that the options state, and the rows that they state or that the
 * files have. */
static enum gnn_status describe_raw(const struct gnn_import_source *source, struct gnn_array_files *out,
                                    struct gnn_err *err)
{
    if (source->raw_dim == 0)
        return GNN_OK;
    const bool features = out->feature_path[0] != '\0' && out->feature_raw.item_bytes == 0;
    const bool labels = out->label_path[0] != '\0' && out->label_raw.item_bytes == 0;
    const uint64_t row_bytes = source->raw_dim * sizeof(float);
    bool used = false;
    if (features && has_no_header(out->feature_path)) {
        out->feature_raw = float_rows(
            source->raw_rows > 0 ? source->raw_rows : file_bytes(out->feature_path) / row_bytes, source->raw_dim);
        used = true;
    }
    if (labels && has_no_header(out->label_path)) {
        const bool all = source->raw_rows > 0 && source->labelled == 0;
        out->label_raw = float_rows(all ? source->raw_rows : file_bytes(out->label_path) / sizeof(float), 0);
        used = true;
    }
    return used || source->raw_if_needed
               ? GNN_OK
               : gnn_fail(err, GNN_EUSAGE,
                          "%s: every array has a header of its own: leave out --raw-dim and --raw-rows", source->from);
}

/* Tables in text, unless the options name other files or none. */
static enum gnn_status find_text(const struct gnn_import_source *source, struct gnn_array_files *out,
                                 struct gnn_err *err)
{
    GNN_TRY(gnn_ogb_csv_find_nodes(out, err));
    if (source->features != NULL && strcmp(source->features, "none") == 0)
        out->feature_path[0] = '\0';
    if (source->labels != NULL && strcmp(source->labels, "none") == 0)
        out->label_path[0] = '\0';
    return GNN_OK;
}

static enum gnn_status read_count(const char *path, uint64_t *out, struct gnn_err *err)
{
    struct gnn_npy *npy;
    int64_t count = 0;
    GNN_TRY(gnn_npy_open(path, &npy, err));
    enum gnn_status status = GNN_OK;
    if (npy->header.items != 1)
        status = gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " graphs, expected one", path, npy->header.items);
    GNN_NEXT(status, gnn_npy_read_i64(npy, &count, 1, err));
    gnn_npy_close(npy);
    *out = count > 0 ? (uint64_t)count : 0;
    return status;
}

/* OGB's archive states the numbers of nodes and edges. */
static enum gnn_status take_counts(struct gnn_finder *f, struct gnn_array_files *out)
{
    char dir[GNN_OUTPUT_PATH], path[GNN_OUTPUT_PATH];
    struct gnn_edge_arrays *arrays;
    uint64_t stated = 0;
    gnn_container_of(out->edges.path[0], dir);
    if (out->edges.form == GNN_EDGES_TEXT || !gnn_input_is_npz(dir))
        return GNN_OK;
    if (gnn_find_array(f, dir, "num_nodes_list", false, path))
        GNN_TRY(read_count(path, &out->nodes, f->err));
    if (!gnn_find_array(f, dir, "num_edges_list", false, path))
        return f->status;
    GNN_TRY(read_count(path, &stated, f->err));
    GNN_TRY(gnn_edge_arrays_open(&out->edges, &arrays, f->err));
    if (gnn_edge_arrays_total(arrays) != stated)
        gnn_log_warn("%s: %" PRIu64 " edges are stated, and it has %" PRIu64 ": it may be incomplete",
                     out->edges.path[0], stated, gnn_edge_arrays_total(arrays));
    gnn_edge_arrays_close(arrays);
    return GNN_OK;
}

enum gnn_status gnn_find_node_arrays(const struct gnn_import_source *source, struct gnn_array_files *out,
                                     struct gnn_err *err)
{
    struct gnn_finder f = {.err = err};
    struct gnn_places *places;
    GNN_NEW(places, 1, err, "places of node arrays");
    gnn_places_of(source->from, out->edges.path[0], places);
    enum gnn_status status = take_counts(&f, out);
    GNN_NEXT(status, find_labels(&f, source, places, out));
    GNN_NEXT(status, find_features(&f, source, places, out));
    if (status == GNN_OK && out->edges.form == GNN_EDGES_TEXT)
        status = find_text(source, out, err);
    GNN_NEXT(status, describe_raw(source, out, err));
    GNN_NEXT(status, gnn_find_splits(source, places, out, err));
    gnn_places_close(places);
    return status;
}
