/* SPDX-License-Identifier: MIT */
/* Writes the arrays of a dataset. Every file is read once from its start to its end (indptr twice for pairs), so
 * memory does not depend on its size, and its checksum is compared on the way. */
#include "harness/base/link_view.h"
#include "harness/base/log.h"
#include "harness/dataset/exported.h"
#include "harness/dataset/read.h"
#include "harness/export/export.h"
#include "harness/base/npy_out.h"
#include "harness/export/target.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_NUMBERS = 1 << 16,
    PIECE_BYTES = 12 * PIECE_NUMBERS, /* whole numbers of 4 and 8 bytes, whole triples */
    OUT_BUFFER = 1 << 18,
    DESCRIPTION_BYTES = 1024
};

const char *const gnn_export_formats[] = {[GNN_EXPORT_NPY] = "npy", [GNN_EXPORT_CSC] = "csc", NULL};

struct exporter {
    const struct gnn_export_config *config;
    const struct gnn_prepare_job *job;
    struct gnn_export_result *result;
    struct gnn_output output;
    struct gnn_ticker ticker;
    uint64_t read_bytes;
    struct gnn_out_file *file; /* that is being written */
    uint64_t list, list_start; /* of targets: the next list, and the offset of its start */
    uint32_t relation_count;   /* largest relation of the triples + 1 */
    uint32_t dim, id_bytes;
    enum gnn_feature_type type;
    struct gnn_meta meta;
    _Alignas(8) unsigned char piece[PIECE_BYTES];
    int64_t wide[PIECE_BYTES / 4];
};

/* ---- what is done with the bytes of a file ---- */

typedef enum gnn_status take_fn(struct exporter *x, uint64_t bytes, struct gnn_err *err);

static enum gnn_status write_out(struct exporter *x, const void *data, uint64_t bytes, struct gnn_err *err)
{
    x->result->bytes += bytes;
    return gnn_out_write(x->file, data, bytes, err);
}

static enum gnn_status take_as_is(struct exporter *x, uint64_t bytes, struct gnn_err *err)
{
    return write_out(x, x->piece, bytes, err);
}

static enum gnn_status take_u32(struct exporter *x, uint64_t bytes, struct gnn_err *err)
{
    gnn_npy_out_widen(x->piece, false, bytes / 4, x->wide);
    return write_out(x, x->wide, bytes / 4 * sizeof *x->wide, err);
}

static enum gnn_status take_i32(struct exporter *x, uint64_t bytes, struct gnn_err *err)
{
    gnn_npy_out_widen(x->piece, true, bytes / 4, x->wide);
    return write_out(x, x->wide, bytes / 4 * sizeof *x->wide, err);
}

static enum gnn_status take_triples(struct exporter *x, uint64_t bytes, struct gnn_err *err)
{
    const struct gnn_triple *const triples = (const void *)x->piece;
    for (uint64_t i = 0; i < bytes / sizeof *triples; i++)
        x->relation_count = gnn_max_u32(x->relation_count, triples[i].relation + 1);
    return take_u32(x, bytes, err);
}

/* Repeats the node of each list as often as it has entries. */
static enum gnn_status repeat_target(struct exporter *x, uint64_t count, struct gnn_err *err)
{
    const uint64_t room = sizeof x->wide / sizeof *x->wide;
    for (uint64_t i = 0; i < gnn_min_u64(count, room); i++)
        x->wide[i] = (int64_t)x->list;
    for (uint64_t left = count; left > 0;) {
        const uint64_t some = gnn_min_u64(left, room);
        GNN_TRY(write_out(x, x->wide, some * sizeof *x->wide, err));
        left -= some;
    }
    return GNN_OK;
}

static enum gnn_status take_targets(struct exporter *x, uint64_t bytes, struct gnn_err *err)
{
    const uint64_t *const offsets = (const void *)x->piece;
    uint64_t i = 0;
    if (x->list == UINT64_MAX) { /* offset 0 starts list 0 */
        x->list = x->list_start = 0;
        i = 1;
    }
    for (; i < bytes / sizeof *offsets; i++, x->list++) {
        if (offsets[i] < x->list_start || offsets[i] > x->meta.edge_count)
            return gnn_fail(err, GNN_EFORMAT,
                            "%s/indptr: list %" PRIu64 " ends at %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
                            x->config->dir, x->list, offsets[i], x->list_start, x->meta.edge_count);
        GNN_TRY(repeat_target(x, offsets[i] - x->list_start, err));
        x->list_start = offsets[i];
    }
    return GNN_OK;
}

/* ---- reading ---- */

static enum gnn_status read_pieces(struct exporter *x, int fd, const char *path, uint64_t total, take_fn *take,
                                   struct gnn_checksum *sum, struct gnn_err *err)
{
    uint64_t done = 0, got;
    do {
        GNN_TRY(gnn_read_bytes(fd, x->piece, sizeof x->piece, path, &got, err));
        if (got > total - done)
            return gnn_fail(err, GNN_EFORMAT, "%s is longer than the %" PRIu64 " bytes that meta states", path, total);
        gnn_checksum_add(sum, x->piece, got);
        GNN_TRY(take(x, got, err));
        done += got;
        x->read_bytes += got;
        GNN_TRY(gnn_ticker_set(&x->ticker, x->read_bytes, err));
    } while (got > 0);
    return done == total
               ? GNN_OK
               : gnn_fail(err, GNN_ESHORT, "%s has %" PRIu64 " bytes, meta states %" PRIu64, path, done, total);
}

/* Hands a file of the dataset over piece by piece, and compares its checksum at the end. */
static enum gnn_status each_piece(struct exporter *x, const char *name, take_fn *take, struct gnn_err *err)
{
    const struct gnn_meta_file *const file = gnn_meta_find_file(&x->meta, name);
    char path[GNN_OUTPUT_PATH], sum_text[GNN_CHECKSUM_TEXT];
    struct gnn_checksum *sum = NULL;
    int fd;
    assert(file != NULL); /* a meta file lists all that its counts require */
    gnn_dataset_path(x->config->dir, name, path);
    GNN_TRY(gnn_open_regular(path, &fd, err));
    enum gnn_status status = gnn_checksum_open(&sum, err);
    GNN_NEXT(status, read_pieces(x, fd, path, file->bytes, take, sum, err));
    if (status == GNN_OK) {
        gnn_checksum_text(sum, sum_text);
        if (strcmp(sum_text, file->checksum) != 0)
            status = gnn_fail(err, GNN_EFORMAT,
                              "%s: its checksum is %s, meta states %s: the file was changed or damaged; prepare the "
                              "dataset again",
                              path, sum_text, file->checksum);
    }
    gnn_checksum_close(sum);
    (void)close(fd);
    return status;
}

/* ---- writing ---- */

static enum gnn_status begin(struct exporter *x, const char *name, const struct gnn_npy_shape *shape,
                             struct gnn_err *err)
{
    char header[GNN_NPY_OUT_HEADER];
    assert(x->file == NULL);
    GNN_TRY(gnn_out_open(&x->output, name, OUT_BUFFER, GNN_OUT_EXPORT, &x->file, err));
    if (shape == NULL)
        return GNN_OK;
    gnn_npy_out_header(shape, header);
    return write_out(x, header, sizeof header, err);
}

static enum gnn_status end(struct exporter *x, enum gnn_status status, struct gnn_err *err)
{
    struct gnn_out_file *const file = x->file;
    x->file = NULL;
    return gnn_out_end(file, status, NULL, err);
}

/* Writes one file of the dataset as an array, or as it is if shape is NULL. */
static enum gnn_status export_array(struct exporter *x, const char *from, const char *to,
                                    const struct gnn_npy_shape *shape, take_fn *take, struct gnn_err *err)
{
    enum gnn_status status = begin(x, to, shape, err);
    GNN_NEXT(status, each_piece(x, from, take, err));
    return end(x, status, err);
}

static enum gnn_status write_sources(struct exporter *x, struct gnn_err *err)
{
    return each_piece(x, gnn_meta_indices_name(x->id_bytes), x->id_bytes == sizeof(gnn_node) ? take_u32 : take_as_is,
                      err);
}

static enum gnn_status export_pairs(struct exporter *x, struct gnn_err *err)
{
    const struct gnn_npy_shape shape = {.descr = "<i8", .rows = 2, .columns = x->meta.edge_count};
    enum gnn_status status = begin(x, "edge_index.npy", &shape, err);
    GNN_NEXT(status, write_sources(x, err));
    x->list = UINT64_MAX;
    GNN_NEXT(status, each_piece(x, "indptr", take_targets, err));
    return end(x, status, err);
}

static enum gnn_status export_lists(struct exporter *x, struct gnn_err *err)
{
    const struct gnn_npy_shape offsets = {.descr = "<i8", .rows = x->meta.node_count + UINT64_C(1)},
                               ids = {.descr = "<i8", .rows = x->meta.edge_count};
    GNN_TRY(export_array(x, "indptr", "indptr.npy", &offsets, take_as_is, err));
    enum gnn_status status = begin(x, "indices.npy", &ids, err);
    GNN_NEXT(status, write_sources(x, err));
    return end(x, status, err);
}

static enum gnn_status export_nodes(struct exporter *x, struct gnn_err *err)
{
    const struct gnn_npy_shape features = {.descr = x->type == GNN_F16 ? "<f2" : "<f4",
                                           .rows = x->meta.node_count,
                                           .columns = x->dim},
                               labels = {.descr = "<i8", .rows = x->meta.node_count};
    const struct {
        const char *from, *to;
        uint32_t count;
    } splits[] = {{"train", "train_idx.npy", x->meta.train_count},
                  {"valid", "valid_idx.npy", x->meta.valid_count},
                  {"test", "test_idx.npy", x->meta.test_count}};
    char name[GNN_META_NAME];
    GNN_TRY(export_array(x, "labels", "node_label.npy", &labels, take_i32, err));
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        const struct gnn_npy_shape nodes = {.descr = "<i8", .rows = splits[i].count};
        GNN_TRY(export_array(x, splits[i].from, splits[i].to, &nodes, take_u32, err));
    }
    gnn_meta_features_name(x->dim, x->type, name, sizeof name);
    return export_array(x, name, "node_feat.npy", &features, take_as_is, err);
}

static enum gnn_status export_triples(struct exporter *x, struct gnn_err *err)
{
    static const char *const names[] = {"train_hrt.npy", "valid_hrt.npy", "test_hrt.npy"};
    static const char *const texts[] = {GNN_META_NODE_NAMES, GNN_META_RELATION_NAMES};
    for (int split = 0; split < 3; split++) {
        const struct gnn_npy_shape shape = {.descr = "<i8", .rows = x->meta.triple_count[split], .columns = 3};
        GNN_TRY(export_array(x, gnn_meta_triples_name(split), names[split], &shape, take_triples, err));
    }
    for (int i = 0; i < 2; i++)
        if (x->meta.name_bytes[i] > 0)
            GNN_TRY(export_array(x, texts[i], i == 0 ? "node-names.txt" : "relation-names.txt", NULL, take_as_is, err));
    if (x->relation_count < x->meta.relation_count)
        gnn_log_warn("no edge has the last %" PRIu32 " of %" PRIu32 " relations: an import has fewer relations",
                     x->meta.relation_count - x->relation_count, x->meta.relation_count);
    return GNN_OK;
}

/* ---- what an import has to know ---- */

static void add_option(char text[DESCRIPTION_BYTES], const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_option(char text[DESCRIPTION_BYTES], const char *name, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    used += (size_t)snprintf(text + used, DESCRIPTION_BYTES - used, "%s = ", name);
    va_start(args, format);
    used += (size_t)vsnprintf(text + used, DESCRIPTION_BYTES - used, format, args);
    va_end(args);
    assert(used + 1 < DESCRIPTION_BYTES);
    memcpy(text + used, "\n", 2);
}

/* Lists of a knowledge graph are made from its training edges, by these options. */
static void describe_triples(const struct exporter *x, char text[DESCRIPTION_BYTES])
{
    static const char *const options[] = {"add_reverse", "transpose", "drop_self_loops"};
    add_option(text, "nodes", "%" PRIu32, x->meta.node_count);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *const value = gnn_meta_param(&x->meta, options[i]);
        if (value != NULL && strcmp(value, "true") == 0)
            add_option(text, options[i], "yes");
    }
}

static enum gnn_status write_description(struct exporter *x, struct gnn_err *err)
{
    const bool links = x->meta.relation_count > 0;
    char text[DESCRIPTION_BYTES];
    (void)snprintf(text, sizeof text,
                   "; Written by `oocgnn export`. Options of `oocgnn prepare NAME --from DIR`, which reads this file.\n"
                   "[import]\n");
    add_option(text, "format", "%s", gnn_import_formats[links ? GNN_IMPORT_TRIPLES : GNN_IMPORT_OGB]);
    if (links)
        describe_triples(x, text);
    else
        add_option(text, "classes", "%" PRIu32, x->meta.class_count);
    if (!links && x->type == GNN_F16)
        add_option(text, "feature_type", "%s", gnn_feature_type_words[GNN_F16]);
    if (!links && !gnn_meta_is_ascending(&x->meta))
        add_option(text, "keep_order", "yes");
    if (x->id_bytes != sizeof(gnn_node))
        add_option(text, "id_bytes", "%" PRIu32, x->id_bytes);
    return gnn_out_array(&x->output, GNN_EXPORTED_OPTIONS, text, strlen(text), GNN_OUT_EXPORT, NULL, err);
}

/* ---- the whole ---- */

static enum gnn_status choose_features(struct exporter *x, struct gnn_err *err)
{
    const struct gnn_export_config *const c = x->config;
    char widths[256];
    for (uint32_t i = 0; i < x->meta.dim_count; i++)
        if ((c->dim == 0 || c->dim == x->meta.dims[i]) && (!c->has_type || c->feature_type == x->meta.types[i])) {
            x->dim = x->meta.dims[i];
            x->type = x->meta.types[i];
            return GNN_OK;
        }
    const enum gnn_feature_type type = c->has_type ? c->feature_type : GNN_F32;
    if (x->meta.relation_count > 0)
        return c->dim == 0 && !c->has_type ? GNN_OK
                                           : gnn_fail(err, GNN_EUSAGE,
                                                      "%s is a knowledge graph without features: leave out --dim and "
                                                      "--feature-type",
                                                      c->dir);
    return gnn_fail(err, GNN_EUSAGE, "%s has no such features; widths of %s: %s", c->dir, gnn_feature_type_words[type],
                    gnn_meta_dims_text(&x->meta, type, widths, sizeof widths));
}

/* Opens the dataset, and chooses what of it is exported. */
static enum gnn_status choose(struct exporter *x, struct gnn_err *err)
{
    GNN_TRY(gnn_read_meta(x->config->dir, &x->meta, err));
    x->id_bytes = (x->meta.id_widths & sizeof(gnn_node)) != 0 ? sizeof(gnn_node) : sizeof(uint64_t);
    GNN_TRY(choose_features(x, err));
    if (x->meta.relation_count > 0 && x->config->format != GNN_EXPORT_NPY)
        return gnn_fail(err, GNN_EUSAGE,
                        "--format %s: %s is a knowledge graph, whose edges have relations; use --format npy",
                        gnn_export_formats[x->config->format], x->config->dir);
    gnn_meta_digest(&x->meta, x->dim, x->type, x->id_bytes, x->result->digest);
    return GNN_OK;
}

/* Returns the bytes to read, and writes those of the arrays, headers and description included, to written. */
static uint64_t plan_bytes(const struct exporter *x, uint64_t *written)
{
    const struct gnn_meta *const m = &x->meta;
    const uint64_t offsets = (m->node_count + UINT64_C(1)) * sizeof(uint64_t);
    const uint64_t features = gnn_mul_bytes(m->node_count, x->dim * (uint64_t)(x->type == GNN_F16 ? 2 : 4));
    const uint64_t rest = m->node_count + (uint64_t)m->train_count + m->valid_count + m->test_count;
    const uint64_t triples = (uint64_t)m->triple_count[0] + m->triple_count[1] + m->triple_count[2];
    const uint64_t names = m->name_bytes[0] + m->name_bytes[1];
    *written = 8 * GNN_NPY_OUT_HEADER + DESCRIPTION_BYTES;
    if (m->relation_count > 0) {
        *written += 24 * triples + names;
        return 12 * triples + names;
    }
    const bool pairs = x->config->format == GNN_EXPORT_NPY;
    *written += 8 * rest + features + (pairs ? gnn_mul_bytes(m->edge_count, 16) : offsets + 8 * m->edge_count);
    return 4 * rest + features + offsets + m->edge_count * x->id_bytes;
}

static enum gnn_status write_files(struct exporter *x, struct gnn_err *err)
{
    uint64_t written;
    const uint64_t total = plan_bytes(x, &written);
    GNN_TRY(gnn_output_open(x->job, written, &x->output, err));
    gnn_ticker_start(&x->ticker, x->job, "arrays", "B", total);
    if (x->meta.relation_count > 0) {
        GNN_TRY(export_triples(x, err));
    } else {
        GNN_TRY(x->config->format == GNN_EXPORT_NPY ? export_pairs(x, err) : export_lists(x, err));
        GNN_TRY(export_nodes(x, err));
    }
    assert(x->read_bytes == total);
    GNN_TRY(write_description(x, err));
    gnn_ticker_end(&x->ticker);
    return gnn_output_publish(&x->output, err);
}

enum gnn_status gnn_export_dataset(const struct gnn_export_config *config, const struct gnn_prepare_job *job,
                                   struct gnn_export_result *out, struct gnn_err *err)
{
    struct exporter *x;
    GNN_TRY(gnn_export_check_target(job->out_dir, err));
    GNN_NEW(x, 1, err, "export of %s", config->dir);
    *out = (struct gnn_export_result){.bytes = 0};
    x->config = config;
    x->job = job;
    x->result = out;
    x->output.lock_fd = -1;
    enum gnn_status status = choose(x, err);
    GNN_NEXT(status, write_files(x, err));
    gnn_output_close(&x->output);
    free(x);
    return status;
}
