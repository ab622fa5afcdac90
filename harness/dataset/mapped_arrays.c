/* SPDX-License-Identifier: MIT */
#include "harness/dataset/mapped_arrays.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONF_MAX = 65536 };

static bool take_dtype(const char *dtype, struct gnn_npy_header *out)
{
    static const struct {
        const char *name;
        char kind;
        uint32_t bytes;
    } known[] = {{"float16", 'f', 2}, {"float32", 'f', 4}, {"float64", 'f', 8}, {"int8", 'i', 1},
                 {"int16", 'i', 2},   {"int32", 'i', 4},   {"int64", 'i', 8},   {"uint8", 'u', 1},
                 {"uint16", 'u', 2},  {"uint32", 'u', 4},  {"uint64", 'u', 8},  {"bool", 'b', 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(dtype, known[i].name) == 0) {
            out->kind = known[i].kind;
            out->item_bytes = known[i].bytes;
            return true;
        }
    return false;
}

static bool take_shape(const json_t *shape, struct gnn_npy_header *out)
{
    const size_t dims = json_array_size(shape);
    out->items = 1;
    for (size_t i = 0; i < dims && i < GNN_NPY_DIMS_MAX; i++) {
        const json_t *const size = json_array_get(shape, i);
        const json_int_t value = json_integer_value(size);
        if (!json_is_integer(size) || value < 0 || __builtin_mul_overflow(out->items, (uint64_t)value, &out->items))
            return false;
        out->shape[i] = (uint64_t)value;
    }
    out->dim_count = (uint32_t)dims;
    return dims >= 1 && dims <= GNN_NPY_DIMS_MAX && gnn_mul_bytes(out->items, out->item_bytes) < UINT64_MAX;
}

/* Takes NAME_dtype and NAME_shape. Leaves a zeroed header if both are missing. */
static enum gnn_status take_array(const json_t *root, const char *name, const char *path, struct gnn_npy_header *out,
                                  struct gnn_err *err)
{
    char key[64];
    *out = (struct gnn_npy_header){0};
    (void)snprintf(key, sizeof key, "%s_dtype", name);
    const char *const dtype = json_string_value(json_object_get(root, key));
    (void)snprintf(key, sizeof key, "%s_shape", name);
    const json_t *const shape = json_object_get(root, key);
    if (dtype == NULL && shape == NULL)
        return GNN_OK;
    if (dtype != NULL && shape != NULL && take_dtype(dtype, out) && take_shape(shape, out))
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: %s_dtype and %s_shape: expected a type such as \"int64\" and a list of one or two sizes", path,
                    name, name);
}

enum gnn_status gnn_mapped_parse(const char *text, const char *path, struct gnn_array_files *out, struct gnn_err *err)
{
    json_error_t trouble;
    json_t *const root = json_loads(text, 0, &trouble);
    if (!json_is_object(root)) {
        json_decref(root);
        return gnn_fail(err, GNN_EFORMAT, "%s: not a JSON object that describes arrays (%.80s)", path,
                        root == NULL ? trouble.text : "another kind of value");
    }
    enum gnn_status status = take_array(root, "indptr", path, &out->edges.raw[0], err);
    GNN_NEXT(status, take_array(root, "indices", path, &out->edges.raw[1], err));
    GNN_NEXT(status, take_array(root, "features", path, &out->feature_raw, err));
    GNN_NEXT(status, take_array(root, "labels", path, &out->label_raw, err));
    const json_int_t nodes = json_integer_value(json_object_get(root, "num_nodes"));
    out->nodes = nodes > 0 ? (uint64_t)nodes : 0;
    json_decref(root);
    return status;
}

static enum gnn_status read_text(const char *path, char *text, struct gnn_err *err)
{
    struct gnn_input *input;
    uint64_t got = 0;
    GNN_TRY(gnn_input_open(path, &input, err));
    enum gnn_status status = gnn_input_read(input, text, CONF_MAX, &got, err);
    if (status == GNN_OK && (got == CONF_MAX || memchr(text, '\0', got) != NULL))
        status = gnn_fail(err, GNN_EFORMAT, "%s: expected text of less than %d B", path, CONF_MAX);
    text[status == GNN_OK ? got : 0] = '\0';
    gnn_input_close(input);
    return status;
}

/* Enters dir/name as the path of a described array. */
static enum gnn_status take_file(const char *dir, const char *name, const struct gnn_npy_header *raw, char *path,
                                 struct gnn_err *err)
{
    if (raw->item_bytes == 0)
        return GNN_OK;
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s/%s", dir, name);
    return access(path, F_OK) == 0
               ? GNN_OK
               : gnn_fail(err, GNN_ENOENT, "%s/conf.json describes %s, which is missing", dir, name);
}

static enum gnn_status take_files(const char *dir, struct gnn_array_files *out, struct gnn_err *err)
{
    struct gnn_edge_files *const e = &out->edges;
    if (e->raw[0].item_bytes == 0 || e->raw[1].item_bytes == 0)
        return gnn_fail(err, GNN_EFORMAT, "%s/conf.json describes no indptr and indices", dir);
    e->form = GNN_EDGES_CSC;
    GNN_TRY(take_file(dir, "indptr.dat", &e->raw[0], e->path[0], err));
    GNN_TRY(take_file(dir, "indices.dat", &e->raw[1], e->path[1], err));
    GNN_TRY(take_file(dir, "features.dat", &out->feature_raw, out->feature_path, err));
    GNN_TRY(take_file(dir, "labels.dat", &out->label_raw, out->label_path, err));
    if (out->nodes != 0 && e->raw[0].items != out->nodes + 1)
        return gnn_fail(err, GNN_EFORMAT, "%s/conf.json: %" PRIu64 " nodes, and %" PRIu64 " offsets for them", dir,
                        out->nodes, e->raw[0].items);
    return GNN_OK;
}

enum gnn_status gnn_mapped_find(const char *dir, struct gnn_array_files *out, bool *found, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH];
    (void)snprintf(path, sizeof path, "%s/conf.json", dir);
    *found = access(path, F_OK) == 0;
    if (!*found)
        return GNN_OK;
    char *const text = malloc(CONF_MAX);
    if (text == NULL)
        return gnn_fail(err, GNN_ENOMEM, "text of %s", path);
    enum gnn_status status = read_text(path, text, err);
    GNN_NEXT(status, gnn_mapped_parse(text, path, out, err));
    GNN_NEXT(status, take_files(dir, out, err));
    free(text);
    return status;
}
