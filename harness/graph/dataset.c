/* SPDX-License-Identifier: MIT */
#include "harness/graph/dataset.h"

#include "harness/base/plain_text.h"
#include "harness/graph/invariants.h"
#include "harness/storage/exact.h"
#include "harness/storage/meta.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The public struct comes first, so that close finds the memory behind the const pointers. */
struct dataset {
    struct gnn_dataset public;
    struct gnn_meta meta;
    void *memory[5]; /* of the files in `loaded` */
};

enum { INDPTR, LABELS, TRAIN, VALID, TEST };
static const char *const loaded[] = {"indptr", "labels", "train", "valid", "test"};

enum { PATH_MAX_BYTES = sizeof((struct gnn_dataset *)0)->indices_path };
_Static_assert(sizeof((struct gnn_dataset *)0)->features_path == PATH_MAX_BYTES, "one length for both paths");
_Static_assert(sizeof((struct gnn_dataset *)0)->triple_count == sizeof((struct gnn_meta *)0)->triple_count, "alike");
_Static_assert(sizeof((struct gnn_dataset *)0)->name == sizeof((struct gnn_meta *)0)->name, "a name is copied whole");
_Static_assert(sizeof((struct gnn_dataset *)0)->digest >= GNN_CHECKSUM_TEXT, "a digest is a checksum's text");

static void join(char path[PATH_MAX_BYTES], const char *dir, const char *name)
{
    (void)snprintf(path, PATH_MAX_BYTES, "%s/%s", dir, name);
}

static enum gnn_status check_size(struct gnn_world *world, struct gnn_file *file, uint64_t expected,
                                  struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    if (info.size_bytes != expected)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %" PRIu64 " B, meta has %" PRIu64
                        "; the file is truncated, replaced or from another dataset: remove the dataset and prepare it "
                        "again",
                        gnn_file_path(world, file), info.size_bytes, expected);
    return GNN_OK;
}

/* Size alone, for the files that stay on disk during a run. */
static enum gnn_status check_on_disk(struct gnn_world *world, const char *path, uint64_t expected, struct gnn_err *err)
{
    struct gnn_file *file;
    GNN_TRY(gnn_file_open(world, path, GNN_OPEN_READ, &file, err));
    const enum gnn_status status = check_size(world, file, expected, err);
    gnn_file_close(world, file);
    return status;
}

/* Loads a whole file into world memory and compares its checksum, which also catches two swapped files of one size. */
static enum gnn_status load(struct gnn_world *world, const struct dataset *d, const char *name, void **out,
                            struct gnn_err *err)
{
    const struct gnn_meta_file *entry = gnn_meta_find_file(&d->meta, name);
    assert(entry != NULL); /* gnn_meta_parse demands every one */
    char path[PATH_MAX_BYTES];
    join(path, d->public.dir, name);
    struct gnn_file *file;
    GNN_TRY(gnn_file_open(world, path, GNN_OPEN_READ, &file, err));
    enum gnn_status status = check_size(world, file, entry->bytes, err);
    if (status == GNN_OK) /* an empty split still gets an address */
        status = gnn_mem_alloc(world, name, gnn_max_u64(entry->bytes, 1), GNN_MEM_LARGE, out, err);
    GNN_NEXT(status, gnn_read_all(world, file, 0, *out, entry->bytes, err));
    gnn_file_close(world, file);
    GNN_TRY(status);
    assert(*out != NULL);
    char checksum[GNN_CHECKSUM_TEXT];
    gnn_checksum_of(*out, entry->bytes, checksum);
    if (strcmp(checksum, entry->checksum) != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: checksum %s, meta has %s; remove the dataset and prepare it again", path,
                        checksum, entry->checksum);
    return GNN_OK;
}

static enum gnn_status read_meta(struct gnn_world *world, struct dataset *d, struct gnn_err *err)
{
    char path[PATH_MAX_BYTES], word[PATH_MAX_BYTES];
    join(path, d->public.dir, "meta");
    struct gnn_file *file;
    struct gnn_err why = {0};
    enum gnn_status status = gnn_file_open(world, path, GNN_OPEN_READ, &file, &why);
    if (status == GNN_ENOENT)
        return gnn_fail(err, GNN_ENOENT,
                        "%s is not a dataset: it has no meta file; `oocgnn prepare NAME --out %s` makes one",
                        d->public.dir, gnn_shell_word(d->public.dir, word, sizeof word));
    if (status != GNN_OK)
        return gnn_fail(err, status, "%s", why.message);
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    char *text = NULL;
    if (info.size_bytes > GNN_META_TEXT_MAX)
        status = gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " B, a meta file has at most %d", path, info.size_bytes,
                          GNN_META_TEXT_MAX);
    else if ((text = malloc(GNN_META_TEXT_MAX)) == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "text of %s", path);
    else
        status = gnn_read_all(world, file, 0, text, info.size_bytes, err);
    gnn_file_close(world, file);
    GNN_NEXT(status, gnn_meta_parse(text, info.size_bytes, path, &d->meta, err));
    free(text);
    return status;
}

/* A knowledge graph has no features: its vectors are learned, and belong to the run. */
static enum gnn_status choose_vectors(struct dataset *d, uint32_t dim, struct gnn_err *err)
{
    if (dim == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s is a knowledge graph, whose nodes have no features or classes; add --task link",
                        d->public.dir);
    d->public.dim = dim;
    d->public.row_bytes = dim * (uint32_t)sizeof(float);
    return GNN_OK;
}

/* Names the option that reads what the dataset has, or the command that adds the width. Features that were imported
 * have only the width and the type of their import. */
static enum gnn_status no_such_features(const struct dataset *d, uint32_t dim, enum gnn_feature_type type,
                                        struct gnn_err *err)
{
    const enum gnn_feature_type other = type == GNN_F16 ? GNN_F32 : GNN_F16;
    const char *const word = gnn_feature_type_words[type], *const other_word = gnn_feature_type_words[other];
    char dir[PATH_MAX_BYTES], have[128], have_other[128], width[64], name[32];
    (void)gnn_meta_dims_text(&d->meta, type, have, sizeof have);
    (void)gnn_meta_dims_text(&d->meta, other, have_other, sizeof have_other);
    (void)snprintf(width, sizeof width, dim == 0 ? "any width" : "width %" PRIu32, dim);
    gnn_meta_features_name(dim, other, name, sizeof name);
    const bool imported = strncmp(d->meta.origin, "imported", strlen("imported")) == 0;
    if (dim == 0 ? d->meta.dim_count > 0 : gnn_meta_find_file(&d->meta, name) != NULL)
        return gnn_fail(err, GNN_ENOENT,
                        "%s has no %s features of %s, but %s features of width %s; add --feature-type %s",
                        d->public.dir, word, width, other_word, have_other, other_word);
    if (imported)
        return gnn_fail(err, GNN_ENOENT,
                        "%s has no features of %s: those that were imported have width %s; leave --dim out",
                        d->public.dir, width, strcmp(have, "none") != 0 ? have : have_other);
    return gnn_fail(err, GNN_ENOENT,
                    "%s has no %sfeatures of %s (it has: %s); `oocgnn prepare %s --dim %" PRIu32 "%s` adds them",
                    d->public.dir, type == GNN_F16 ? "f16 " : "", width, have,
                    gnn_shell_word(d->public.dir, dir, sizeof dir), dim, type == GNN_F16 ? " --feature-type f16" : "");
}

/* Chooses the features and names the files that the run reads itself. */
static enum gnn_status choose_features(struct dataset *d, uint32_t dim, enum gnn_feature_type type, struct gnn_err *err)
{
    struct gnn_dataset *p = &d->public;
    const struct gnn_meta *meta = &d->meta;
    if (meta->relation_count > 0)
        return choose_vectors(d, dim, err);
    if (dim == 0)
        dim = gnn_meta_first_dim(meta, type);
    char name[32];
    gnn_meta_features_name(dim, type, name, sizeof name);
    const struct gnn_meta_file *file = gnn_meta_find_file(meta, name);
    if (file == NULL)
        return no_such_features(d, dim, type, err);
    assert(dim > 0);
    assert(dim <= GNN_DIM_MAX);
    assert(file->bytes == gnn_meta_expected_bytes(meta, name));
    p->dim = dim;
    p->feature_type = type;
    p->row_bytes = dim * gnn_feature_type_bytes(type);
    p->feature_bytes = file->bytes;
    join(p->features_path, p->dir, name);
    return GNN_OK;
}

/* Chooses the file of neighbour IDs of this width. */
static enum gnn_status choose_indices(struct dataset *d, uint32_t id_bytes, struct gnn_err *err)
{
    struct gnn_dataset *p = &d->public;
    char dir[PATH_MAX_BYTES];
    if ((d->meta.id_widths & id_bytes) == 0)
        return gnn_fail(err, GNN_ENOENT,
                        "%s has no neighbour IDs of %" PRIu32 " bytes (it has: %" PRIu32
                        "); `oocgnn prepare %s --id-bytes %" PRIu32 "` adds them",
                        p->dir, id_bytes, d->meta.id_widths, gnn_shell_word(p->dir, dir, sizeof dir), id_bytes);
    const char *const name = gnn_meta_indices_name(id_bytes);
    p->id_bytes = id_bytes;
    p->indices_bytes = gnn_meta_find_file(&d->meta, name)->bytes;
    assert(p->indices_bytes == gnn_meta_expected_bytes(&d->meta, name));
    join(p->indices_path, p->dir, name);
    return GNN_OK;
}

static void publish_meta(struct dataset *d)
{
    struct gnn_dataset *p = &d->public;
    const struct gnn_meta *meta = &d->meta;
    memcpy(p->name, meta->name, sizeof p->name);
    gnn_meta_digest(meta, p->dim, p->feature_type, p->id_bytes, p->digest);
    p->scale_divisor = meta->scale_divisor;
    p->node_count = meta->node_count;
    p->edge_count = meta->edge_count;
    p->class_count = meta->class_count;
    p->relation_count = meta->relation_count;
    memcpy(p->triple_count, meta->triple_count, sizeof p->triple_count);
    p->topology_bytes = gnn_meta_find_file(meta, "indptr")->bytes + p->indices_bytes;
}

static enum gnn_status check_contents(const struct dataset *d, struct gnn_err *err)
{
    const struct gnn_dataset *p = &d->public;
    char path[PATH_MAX_BYTES];
    uint64_t previous = 0;
    join(path, p->dir, "indptr");
    GNN_TRY(gnn_check_indptr(p->indptr, (uint64_t)p->node_count + 1, 0, p->node_count, p->edge_count, &previous, path,
                             err));
    join(path, p->dir, "labels");
    GNN_TRY(gnn_check_labels(p->labels, p->node_count, 0, p->class_count, path, err));
    const struct gnn_split splits[] = {p->train, p->valid, p->test};
    for (int i = 0; i < 3; i++) {
        join(path, p->dir, loaded[TRAIN + i]);
        GNN_TRY(gnn_check_split(splits[i].nodes, splits[i].count, p->node_count, p->labels, path, err));
    }
    return GNN_OK;
}

static enum gnn_status fill(struct gnn_world *world, struct dataset *d, uint32_t dim, enum gnn_feature_type type,
                            uint32_t id_bytes, struct gnn_err *err)
{
    struct gnn_dataset *p = &d->public;
    GNN_TRY(read_meta(world, d, err));
    GNN_TRY(choose_features(d, dim, type, err));
    GNN_TRY(choose_indices(d, id_bytes, err));
    publish_meta(d);
    GNN_TRY(check_on_disk(world, p->indices_path, p->indices_bytes, err));
    if (p->relation_count == 0)
        GNN_TRY(check_on_disk(world, p->features_path, p->feature_bytes, err));
    for (int i = INDPTR; i <= TEST; i++)
        GNN_TRY(load(world, d, loaded[i], &d->memory[i], err));
    p->indptr = d->memory[INDPTR];
    p->labels = d->memory[LABELS];
    p->train = (struct gnn_split){d->memory[TRAIN], d->meta.train_count, loaded[TRAIN]};
    p->valid = (struct gnn_split){d->memory[VALID], d->meta.valid_count, loaded[VALID]};
    p->test = (struct gnn_split){d->memory[TEST], d->meta.test_count, loaded[TEST]};
    return check_contents(d, err);
}

enum gnn_status gnn_dataset_open(struct gnn_world *world, const char *dir, uint32_t dim, enum gnn_feature_type type,
                                 uint32_t id_bytes, struct gnn_dataset **out, struct gnn_err *err)
{
    struct dataset *d;
    if (strlen(dir) >= sizeof d->public.dir)
        return gnn_fail(err, GNN_EUSAGE, "dataset path of %zu characters, at most %zu fit", strlen(dir),
                        sizeof d->public.dir - 1);
    GNN_NEW(d, 1, err, "dataset %s", dir);
    (void)snprintf(d->public.dir, sizeof d->public.dir, "%s", dir);
    const enum gnn_status status = fill(world, d, dim, type, id_bytes, err);
    if (status == GNN_OK)
        *out = &d->public;
    else
        gnn_dataset_close(world, &d->public);
    return status;
}

enum gnn_status gnn_dataset_damaged(const struct gnn_dataset *dataset, struct gnn_err *err, const char *format, ...)
{
    char what[GNN_ERR_MAX / 2], dir[sizeof dataset->dir];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return gnn_fail(err, GNN_EFORMAT, "%s; the dataset is damaged: `oocgnn prepare %s --check` names the file", what,
                    gnn_shell_word(dataset->dir, dir, sizeof dir));
}

void gnn_dataset_drop_labels(struct gnn_world *world, struct gnn_dataset *dataset)
{
    struct dataset *const d = (struct dataset *)dataset;
    gnn_mem_free(world, d->memory[LABELS]);
    d->memory[LABELS] = NULL;
    dataset->labels = NULL;
}

void gnn_dataset_close(struct gnn_world *world, struct gnn_dataset *dataset)
{
    if (dataset == NULL)
        return;
    struct dataset *d = (struct dataset *)dataset;
    for (int i = INDPTR; i <= TEST; i++)
        gnn_mem_free(world, d->memory[i]);
    free(d);
}
