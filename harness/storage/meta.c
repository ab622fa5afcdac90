/* SPDX-License-Identifier: MIT */
#include "harness/storage/meta.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- the structure ---- */

/* Files of every dataset; those of neighbour IDs and of features come on top, one for each width. */
static const char *const fixed_files[] = {"indptr", "labels", "train", "valid", "test"};
enum { FIXED_FILES = sizeof fixed_files / sizeof fixed_files[0] };
static const uint32_t id_widths[] = {sizeof(gnn_node), sizeof(uint64_t)};
enum { ID_WIDTHS = sizeof id_widths / sizeof id_widths[0] };
static const char *const triple_files[] = {"triples-train", "triples-valid", "triples-test"};
static const char *const name_files[] = {GNN_META_NODE_NAMES, GNN_META_RELATION_NAMES};
enum {
    TRIPLE_FILES = sizeof triple_files / sizeof triple_files[0],
    NAME_FILES = sizeof name_files / sizeof *name_files
};
_Static_assert(FIXED_FILES + ID_WIDTHS + TRIPLE_FILES + NAME_FILES + (int)GNN_META_DIMS_MAX == (int)GNN_META_FILES_MAX,
               "room for every file");
_Static_assert(sizeof(float) == 4, "features are f32, or half of it");
_Static_assert(sizeof(gnn_node) == 4, "indices and splits are u32");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "dataset files are little-endian and read as they are");

const struct gnn_meta_file *gnn_meta_find_file(const struct gnn_meta *meta, const char *name)
{
    for (uint32_t i = 0; i < meta->file_count; i++)
        if (strcmp(meta->files[i].name, name) == 0)
            return &meta->files[i];
    return NULL;
}

const char *gnn_meta_param(const struct gnn_meta *meta, const char *key)
{
    for (uint32_t i = 0; i < meta->param_count; i++)
        if (strcmp(meta->params[i].key, key) == 0)
            return meta->params[i].value;
    return NULL;
}

bool gnn_meta_is_ascending(const struct gnn_meta *meta)
{
    const char *const order = gnn_meta_param(meta, GNN_META_LIST_ORDER);
    return order == NULL ||
           (strcmp(order, GNN_META_LIST_ORDER_GENERATION) != 0 && strcmp(order, GNN_META_LIST_ORDER_INPUT) != 0);
}

/* Beginnings of the names of features files, which a width follows, and of words of `dims`. */
static const char *const features_prefixes[] = {[GNN_F32] = "features-d", [GNN_F16] = "features-f16-d"};
static const char *const dims_prefixes[] = {[GNN_F32] = "", [GNN_F16] = "f16:"};
enum { FEATURE_TYPES = sizeof features_prefixes / sizeof *features_prefixes };

void gnn_meta_features_name(uint32_t dim, enum gnn_feature_type type, char *text, size_t text_bytes)
{
    assert((unsigned)type < FEATURE_TYPES);
    (void)snprintf(text, text_bytes, "%s%" PRIu32, features_prefixes[type], dim);
}

uint32_t gnn_meta_first_dim(const struct gnn_meta *meta, enum gnn_feature_type type)
{
    for (uint32_t i = 0; i < meta->dim_count; i++)
        if (meta->types[i] == type)
            return meta->dims[i];
    return 0;
}

void gnn_meta_add_dim(struct gnn_meta *meta, uint32_t dim, enum gnn_feature_type type)
{
    assert(meta->dim_count < GNN_META_DIMS_MAX);
    meta->dims[meta->dim_count] = dim;
    meta->types[meta->dim_count++] = type;
}

const char *gnn_meta_dims_text(const struct gnn_meta *meta, enum gnn_feature_type type, char *text, size_t text_bytes)
{
    size_t used = 0;
    (void)snprintf(text, text_bytes, "none");
    for (uint32_t i = 0; i < meta->dim_count && used < text_bytes; i++)
        if (meta->types[i] == type)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRIu32, used > 0 ? ", " : "", meta->dims[i]);
    return text;
}

const char *gnn_meta_indices_name(uint32_t id_bytes)
{
    assert(id_bytes == sizeof(gnn_node) || id_bytes == sizeof(uint64_t));
    return id_bytes == sizeof(gnn_node) ? "indices" : "indices-8";
}

const char *gnn_meta_triples_name(int split)
{
    assert(split >= 0);
    assert(split < TRIPLE_FILES);
    return triple_files[split];
}

void gnn_meta_add_file(struct gnn_meta *meta, const char *name, uint64_t bytes, const char *checksum)
{
    uint32_t at = 0;
    while (at < meta->file_count && strcmp(meta->files[at].name, name) != 0)
        at++;
    assert(at < GNN_META_FILES_MAX);
    struct gnn_meta_file *file = &meta->files[at];
    assert(strlen(name) < sizeof file->name);
    assert(strlen(checksum) < sizeof file->checksum);
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    (void)snprintf(file->checksum, sizeof file->checksum, "%s", checksum);
    file->bytes = bytes;
    if (at == meta->file_count)
        meta->file_count++;
}

void gnn_meta_add_param(struct gnn_meta *meta, const char *key, const char *format, ...)
{
    assert(meta->param_count < GNN_META_PARAMS_MAX);
    struct gnn_meta_param *param = &meta->params[meta->param_count++];
    assert(strlen(key) < sizeof param->key);
    (void)snprintf(param->key, sizeof param->key, "%s", key);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(param->value, sizeof param->value, format, args);
    va_end(args);
}

void gnn_meta_blocks_name(const char *name, char text[GNN_META_NAME])
{
    const int length = snprintf(text, GNN_META_NAME, "blocks-%s", name);
    assert(length > 0);
    assert(length < GNN_META_NAME);
}

static void blocks_key(const char *name, char key[sizeof((struct gnn_meta_param *)0)->key])
{
    (void)snprintf(key, sizeof((struct gnn_meta_param *)0)->key, "blocks.%s", name);
}

const char *gnn_meta_blocks(const struct gnn_meta *meta, const char *name)
{
    char key[sizeof meta->params[0].key];
    blocks_key(name, key);
    return gnn_meta_param(meta, key);
}

enum gnn_status gnn_meta_set_blocks(struct gnn_meta *meta, const char *name, const char *checksum, struct gnn_err *err)
{
    char key[sizeof meta->params[0].key];
    blocks_key(name, key);
    assert(strlen(checksum) < GNN_CHECKSUM_TEXT);
    for (uint32_t i = 0; i < meta->param_count; i++)
        if (strcmp(meta->params[i].key, key) == 0) {
            (void)snprintf(meta->params[i].value, sizeof meta->params[i].value, "%s", checksum);
            return GNN_OK;
        }
    if (meta->param_count == GNN_META_PARAMS_MAX)
        return gnn_fail(err, GNN_EFORMAT,
                        "meta of %s has %d parameters, the most there may be: no room for %s; remove parameters that "
                        "you added to it",
                        meta->name, GNN_META_PARAMS_MAX, key);
    gnn_meta_add_param(meta, key, "%s", checksum);
    return GNN_OK;
}

/* The bytes of a row in a features file of that name, 0 for any other name. */
static uint32_t features_row_bytes(const char *name)
{
    for (unsigned type = 0; type < FEATURE_TYPES; type++) {
        const size_t length = strlen(features_prefixes[type]);
        uint64_t dim;
        if (strncmp(name, features_prefixes[type], length) == 0 && gnn_parse_u64(name + length, &dim, NULL) == GNN_OK &&
            dim <= GNN_DIM_MAX)
            return (uint32_t)dim * gnn_feature_type_bytes((enum gnn_feature_type)type);
    }
    return 0;
}

bool gnn_meta_is_blocked(const char *name)
{
    bool found = features_row_bytes(name) > 0;
    for (int i = 0; i < ID_WIDTHS; i++)
        found = found || strcmp(name, gnn_meta_indices_name(id_widths[i])) == 0;
    for (int i = 0; i < TRIPLE_FILES; i++)
        found = found || strcmp(name, triple_files[i]) == 0;
    return found;
}

uint64_t gnn_meta_expected_bytes(const struct gnn_meta *meta, const char *name)
{
    if (strcmp(name, "indptr") == 0)
        return ((uint64_t)meta->node_count + 1) * sizeof(uint64_t);
    for (int i = 0; i < ID_WIDTHS; i++)
        if (strcmp(name, gnn_meta_indices_name(id_widths[i])) == 0)
            return gnn_mul_bytes(meta->edge_count, id_widths[i]);
    if (strcmp(name, "labels") == 0)
        return (uint64_t)meta->node_count * sizeof(int32_t);
    if (strcmp(name, "train") == 0)
        return (uint64_t)meta->train_count * sizeof(gnn_node);
    if (strcmp(name, "valid") == 0)
        return (uint64_t)meta->valid_count * sizeof(gnn_node);
    if (strcmp(name, "test") == 0)
        return (uint64_t)meta->test_count * sizeof(gnn_node);
    for (int i = 0; i < TRIPLE_FILES; i++)
        if (strcmp(name, triple_files[i]) == 0)
            return (uint64_t)meta->triple_count[i] * 3 * sizeof(uint32_t);
    for (int i = 0; i < NAME_FILES; i++)
        if (strcmp(name, name_files[i]) == 0)
            return meta->name_bytes[i];
    return (uint64_t)meta->node_count * features_row_bytes(name);
}

void gnn_meta_digest(const struct gnn_meta *meta, uint32_t dim, enum gnn_feature_type type, uint32_t id_bytes,
                     char text[GNN_CHECKSUM_TEXT])
{
    char lines[1024], features[32];
    const char *const names[] = {"indptr",        gnn_meta_indices_name(id_bytes),
                                 "labels",        "train",
                                 "valid",         "test",
                                 triple_files[0], triple_files[1],
                                 triple_files[2], features};
    size_t used = (size_t)snprintf(lines, sizeof lines, "%" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu32 "\n",
                                   meta->node_count, meta->edge_count, meta->class_count, dim);
    gnn_meta_features_name(dim, type, features, sizeof features);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gnn_meta_file *file = gnn_meta_find_file(meta, names[i]);
        if (file != NULL)
            used += (size_t)snprintf(lines + used, sizeof lines - used, "%s %" PRIu64 " %s\n", file->name, file->bytes,
                                     file->checksum);
        assert(used < sizeof lines);
    }
    gnn_checksum_of(lines, used, text);
}

/* ---- text out ---- */

struct text_out {
    char *text;
    size_t used, cap;
};

static void put(struct text_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text_out *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t room = out->used < out->cap ? out->cap - out->used : 0;
    const int len = vsnprintf(room > 0 ? out->text + out->used : NULL, room, format, args);
    va_end(args);
    assert(len >= 0);
    out->used += (size_t)len;
}

enum gnn_status gnn_meta_format(const struct gnn_meta *meta, char *text, size_t text_bytes, struct gnn_err *err)
{
    struct text_out out = {.text = text, .used = 0, .cap = text_bytes};
    put(&out, "format = oocgnn-dataset %d\n", GNN_META_VERSION);
    put(&out, "name = %s\norigin = %s\nscale = 1/%" PRIu32 "\n", meta->name, meta->origin, meta->scale_divisor);
    put(&out, "nodes = %" PRIu32 "\nedges = %" PRIu64 "\nclasses = %" PRIu32 "\n", meta->node_count, meta->edge_count,
        meta->class_count);
    put(&out, "dims =");
    for (uint32_t i = 0; i < meta->dim_count; i++)
        put(&out, " %s%" PRIu32, dims_prefixes[meta->types[i]], meta->dims[i]);
    if ((meta->id_widths & sizeof(uint64_t)) != 0)
        put(&out, "\nid_bytes = %s", (meta->id_widths & sizeof(gnn_node)) != 0 ? "4 8" : "8");
    put(&out, "\ntrain = %" PRIu32 "\nvalid = %" PRIu32 "\ntest = %" PRIu32 "\n", meta->train_count, meta->valid_count,
        meta->test_count);
    if (meta->relation_count > 0)
        put(&out,
            "relations = %" PRIu32 "\ntrain_triples = %" PRIu32 "\nvalid_triples = %" PRIu32 "\ntest_triples = %" PRIu32
            "\nnode_name_bytes = %" PRIu64 "\nrelation_name_bytes = %" PRIu64 "\n",
            meta->relation_count, meta->triple_count[0], meta->triple_count[1], meta->triple_count[2],
            meta->name_bytes[0], meta->name_bytes[1]);
    for (uint32_t i = 0; i < meta->param_count; i++)
        put(&out, "param.%s = %s\n", meta->params[i].key, meta->params[i].value);
    put(&out, "# file.NAME = bytes, XXH3-128\n");
    for (uint32_t i = 0; i < meta->file_count; i++)
        put(&out, "file.%s = %" PRIu64 " %s\n", meta->files[i].name, meta->files[i].bytes, meta->files[i].checksum);
    if (out.used >= out.cap)
        return gnn_fail(err, GNN_EBUG, "meta of %s takes %zu B, the limit is %zu", meta->name, out.used, out.cap);
    return GNN_OK;
}

/* ---- text in ---- */

enum scalar_type { SCALAR_FORMAT, SCALAR_WORD, SCALAR_SCALE, SCALAR_U32, SCALAR_U64, SCALAR_DIMS, SCALAR_ID_BYTES };

#define FIELD(field) .offset = offsetof(struct gnn_meta, field), .bytes = sizeof((struct gnn_meta *)0)->field

/* Keys that every meta file has once, with their place in the structure and the largest value; id_bytes and those of
 * knowledge graphs may be missing. */
static const struct scalar {
    const char *key;
    enum scalar_type type;
    size_t offset, bytes;
    uint64_t max;
} scalars[] = {
    {"format", SCALAR_FORMAT, .max = 0},
    {"name", SCALAR_WORD, FIELD(name)},
    {"origin", SCALAR_WORD, FIELD(origin)},
    {"scale", SCALAR_SCALE, FIELD(scale_divisor), .max = UINT32_MAX},
    {"nodes", SCALAR_U32, FIELD(node_count), .max = GNN_NODE_NONE - 1},
    {"edges", SCALAR_U64, FIELD(edge_count), .max = UINT64_MAX / sizeof(uint64_t)},
    {"classes", SCALAR_U32, FIELD(class_count), .max = INT32_MAX},
    {"dims", SCALAR_DIMS, .max = GNN_DIM_MAX},
    {"train", SCALAR_U32, FIELD(train_count), .max = UINT32_MAX},
    {"valid", SCALAR_U32, FIELD(valid_count), .max = UINT32_MAX},
    {"test", SCALAR_U32, FIELD(test_count), .max = UINT32_MAX},
    {"id_bytes", SCALAR_ID_BYTES, FIELD(id_widths), .max = 0},
    {"relations", SCALAR_U32, FIELD(relation_count), .max = UINT32_MAX},
    {"train_triples", SCALAR_U32, FIELD(triple_count[0]), .max = UINT32_MAX},
    {"valid_triples", SCALAR_U32, FIELD(triple_count[1]), .max = UINT32_MAX},
    {"test_triples", SCALAR_U32, FIELD(triple_count[2]), .max = UINT32_MAX},
    {"node_name_bytes", SCALAR_U64, FIELD(name_bytes[0]), .max = INT64_MAX},
    {"relation_name_bytes", SCALAR_U64, FIELD(name_bytes[1]), .max = INT64_MAX},
};
enum { SCALARS = sizeof scalars / sizeof scalars[0], OPTIONAL = 7, REQUIRED = SCALARS - OPTIONAL };

struct parser {
    const char *path;
    unsigned line;
    bool seen[SCALARS];
    struct gnn_meta *meta;
    struct gnn_err *err;
};

static enum gnn_status parse_count(const struct parser *p, const char *key, const char *value, uint64_t max,
                                   uint64_t *out)
{
    if (gnn_parse_u64(value, out, NULL) == GNN_OK && *out <= max)
        return GNN_OK;
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: %s = %s: expected an integer up to %" PRIu64, p->path, p->line, key,
                    value, max);
}

static enum gnn_status parse_u32(const struct parser *p, const char *key, const char *value, uint32_t max,
                                 uint32_t *out)
{
    uint64_t wide = 0;
    GNN_TRY(parse_count(p, key, value, max, &wide));
    *out = (uint32_t)wide;
    return GNN_OK;
}

static enum gnn_status parse_word(const struct parser *p, const char *key, const char *value, char *out,
                                  size_t out_bytes)
{
    if (strlen(value) >= out_bytes)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: %s takes %zu characters, at most %zu fit", p->path, p->line, key,
                        strlen(value), out_bytes - 1);
    (void)snprintf(out, out_bytes, "%s", value);
    return GNN_OK;
}

static enum gnn_status parse_dims(const struct parser *p, const char *value)
{
    struct gnn_meta *meta = p->meta;
    while (*value != '\0') {
        char word[16];
        const size_t len = strcspn(value, " ");
        if (len >= sizeof word || meta->dim_count == GNN_META_DIMS_MAX)
            return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: dims: at most %d widths up to %d", p->path, p->line,
                            GNN_META_DIMS_MAX, GNN_DIM_MAX);
        (void)snprintf(word, sizeof word, "%.*s", (int)len, value);
        const size_t mark = strlen(dims_prefixes[GNN_F16]);
        const enum gnn_feature_type type = strncmp(word, dims_prefixes[GNN_F16], mark) == 0 ? GNN_F16 : GNN_F32;
        uint32_t dim;
        GNN_TRY(parse_u32(p, "dims", word + (type == GNN_F16 ? mark : 0), GNN_DIM_MAX, &dim));
        if (dim == 0)
            return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: dims: a width of 0", p->path, p->line);
        for (uint32_t i = 0; i < meta->dim_count; i++)
            if (meta->dims[i] == dim && meta->types[i] == type)
                return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: dims lists %s twice", p->path, p->line, word);
        gnn_meta_add_dim(meta, dim, type);
        value += len;
        value += strspn(value, " ");
    }
    return GNN_OK;
}

static enum gnn_status parse_id_widths(const struct parser *p, const char *value)
{
    static const char *const words[] = {"4", "8", "4 8"};
    static const uint32_t widths[] = {4, 8, 4 | 8};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (strcmp(value, words[i]) == 0) {
            p->meta->id_widths = widths[i];
            return GNN_OK;
        }
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: id_bytes = %s: expected 4, 8 or 4 8", p->path, p->line, value);
}

static enum gnn_status parse_scalar(struct parser *p, int index, const char *value)
{
    const struct scalar *scalar = &scalars[index];
    void *const field = (char *)p->meta + scalar->offset;
    if (p->seen[index])
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: %s appears twice", p->path, p->line, scalar->key);
    p->seen[index] = true;
    assert(scalar->offset + scalar->bytes <= sizeof *p->meta);
    switch (scalar->type) {
    case SCALAR_FORMAT:
        if (strcmp(value, "oocgnn-dataset 1") != 0)
            return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: format is '%s', expected 'oocgnn-dataset %d'", p->path,
                            p->line, value, GNN_META_VERSION);
        return GNN_OK;
    case SCALAR_WORD:
        return parse_word(p, scalar->key, value, field, scalar->bytes);
    case SCALAR_SCALE:
        if (strncmp(value, "1/", 2) != 0)
            return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: scale is '%s', expected 1/K", p->path, p->line, value);
        return parse_u32(p, scalar->key, value + 2, UINT32_MAX, field);
    case SCALAR_U32:
        assert(scalar->bytes == sizeof(uint32_t));
        return parse_u32(p, scalar->key, value, (uint32_t)scalar->max, field);
    case SCALAR_U64:
        assert(scalar->bytes == sizeof(uint64_t));
        return parse_count(p, scalar->key, value, scalar->max, field);
    case SCALAR_ID_BYTES:
        return parse_id_widths(p, value);
    case SCALAR_DIMS:
        break;
    }
    return parse_dims(p, value);
}

static enum gnn_status parse_file(const struct parser *p, const char *name, const char *value)
{
    struct gnn_meta *meta = p->meta;
    char bytes_text[24];
    const size_t digits = strcspn(value, " ");
    const char *hex = value + digits + strspn(value + digits, " ");
    if (digits >= sizeof bytes_text || strlen(hex) != 32 || strspn(hex, "0123456789abcdef") != 32)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: file.%s = %s: expected bytes and 32 hex digits", p->path, p->line,
                        name, value);
    if (strlen(name) >= sizeof meta->files[0].name || strchr(name, '/') != NULL)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: file.%s is no dataset file", p->path, p->line, name);
    if (gnn_meta_find_file(meta, name) != NULL || meta->file_count == GNN_META_FILES_MAX)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: file.%s appears twice or is one too many", p->path, p->line, name);
    (void)snprintf(bytes_text, sizeof bytes_text, "%.*s", (int)digits, value);
    uint64_t bytes = 0;
    GNN_TRY(parse_count(p, name, bytes_text, UINT64_MAX, &bytes));
    gnn_meta_add_file(meta, name, bytes, hex);
    return GNN_OK;
}

static enum gnn_status parse_param(const struct parser *p, const char *key, const char *value)
{
    struct gnn_meta *meta = p->meta;
    if (meta->param_count == GNN_META_PARAMS_MAX)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: more than %d parameters", p->path, p->line, GNN_META_PARAMS_MAX);
    struct gnn_meta_param *param = &meta->params[meta->param_count];
    GNN_TRY(parse_word(p, "a parameter's name", key, param->key, sizeof param->key));
    GNN_TRY(parse_word(p, key, value, param->value, sizeof param->value));
    meta->param_count++;
    return GNN_OK;
}

/* line: NUL-terminated, without the newline; cut into key and value in place. */
static enum gnn_status parse_line(struct parser *p, char *line)
{
    assert(memchr(line, '\n', strlen(line)) == NULL);
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return GNN_OK;
    const size_t length = strlen(line);
    if (line[length - 1] == '\r')
        return gnn_fail(p->err, GNN_EFORMAT,
                        "%s:%u: the line ends with a carriage return (CR LF, as other systems write it); take them out "
                        "with: sed -i 's/\\r$//' meta",
                        p->path, p->line);
    if (!gnn_text_is_plain(line))
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: holds control characters or bytes that are no UTF-8", p->path,
                        p->line);
    char *equals = strstr(line, " =");
    if (equals == NULL || equals == line)
        return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: expected 'key = value'", p->path, p->line);
    *equals = '\0';
    char *value = equals + 2 + strspn(equals + 2, " ");
    for (size_t len = strlen(value); len > 0 && value[len - 1] == ' '; len--)
        value[len - 1] = '\0';
    if (strncmp(line, "file.", 5) == 0)
        return parse_file(p, line + 5, value);
    if (strncmp(line, "param.", 6) == 0)
        return parse_param(p, line + 6, value);
    for (int i = 0; i < SCALARS; i++)
        if (strcmp(line, scalars[i].key) == 0)
            return parse_scalar(p, i, value);
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%u: unknown key '%.40s'", p->path, p->line, line);
}

static enum gnn_status check_file(const struct parser *p, const char *name)
{
    const struct gnn_meta_file *file = gnn_meta_find_file(p->meta, name);
    if (file == NULL)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: no line for file.%s", p->path, name);
    const uint64_t expected = gnn_meta_expected_bytes(p->meta, name);
    if (file->bytes != expected)
        return gnn_fail(p->err, GNN_EFORMAT,
                        "%s: file.%s: expected from the counts: %" PRIu64 " B, found in the line: %" PRIu64, p->path,
                        name, expected, file->bytes);
    return GNN_OK;
}

/* The files of a knowledge graph; *files grows by how many there are. */
static enum gnn_status check_triples(const struct parser *p, uint32_t *files)
{
    const struct gnn_meta *meta = p->meta;
    const bool any = meta->triple_count[0] + (uint64_t)meta->triple_count[1] + meta->triple_count[2] +
                         (meta->name_bytes[0] | meta->name_bytes[1]) >
                     0;
    if (meta->relation_count == 0 && any)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: triples or names without 'relations'", p->path);
    if (meta->relation_count == 0)
        return GNN_OK;
    for (int i = 0; i < TRIPLE_FILES; i++, (*files)++)
        GNN_TRY(check_file(p, triple_files[i]));
    for (int i = 0; i < NAME_FILES; i++) {
        if (meta->name_bytes[i] == 0)
            continue;
        GNN_TRY(check_file(p, name_files[i]));
        (*files)++;
    }
    return GNN_OK;
}

static enum gnn_status check_meta(const struct parser *p)
{
    const struct gnn_meta *meta = p->meta;
    for (int i = 0; i < REQUIRED; i++)
        if (!p->seen[i])
            return gnn_fail(p->err, GNN_EFORMAT, "%s: key '%s' is missing", p->path, scalars[i].key);
    assert(meta->dim_count <= GNN_META_DIMS_MAX);
    assert(meta->file_count <= GNN_META_FILES_MAX);
    if (meta->name[0] == '\0')
        return gnn_fail(p->err, GNN_EFORMAT, "%s: name is empty", p->path);
    if (meta->scale_divisor == 0 || meta->node_count == 0)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: scale and nodes start at 1", p->path);
    if (gnn_max_u32(gnn_max_u32(meta->train_count, meta->valid_count), meta->test_count) > meta->node_count)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: a split holds more than the %" PRIu32 " nodes", p->path,
                        meta->node_count);
    for (int i = 0; i < FIXED_FILES; i++)
        GNN_TRY(check_file(p, fixed_files[i]));
    uint32_t files = FIXED_FILES + meta->dim_count;
    for (int i = 0; i < ID_WIDTHS; i++) {
        if ((meta->id_widths & id_widths[i]) == 0)
            continue;
        GNN_TRY(check_file(p, gnn_meta_indices_name(id_widths[i])));
        files++;
    }
    for (uint32_t i = 0; i < meta->dim_count; i++) {
        char name[32];
        gnn_meta_features_name(meta->dims[i], meta->types[i], name, sizeof name);
        GNN_TRY(check_file(p, name));
    }
    GNN_TRY(check_triples(p, &files));
    if (meta->file_count != files)
        return gnn_fail(p->err, GNN_EFORMAT, "%s: lists %" PRIu32 " files, the counts and widths make it %" PRIu32,
                        p->path, meta->file_count, files);
    return GNN_OK;
}

enum gnn_status gnn_meta_parse(const char *text, size_t len, const char *path, struct gnn_meta *out,
                               struct gnn_err *err)
{
    *out = (struct gnn_meta){.id_widths = sizeof(gnn_node)};
    struct parser p = {.path = path, .meta = out, .err = err};
    if (len > GNN_META_TEXT_MAX)
        return gnn_fail(err, GNN_EFORMAT, "%s: %zu B, a meta file has at most %d", path, len, GNN_META_TEXT_MAX);
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
    const size_t start = len >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    for (size_t at = start; at < len;) {
        char line[512];
        const char *newline = memchr(text + at, '\n', len - at);
        const size_t line_len = newline != NULL ? (size_t)(newline - (text + at)) : len - at;
        p.line++;
        if (line_len >= sizeof line || memchr(text + at, '\0', line_len) != NULL)
            return gnn_fail(err, GNN_EFORMAT, "%s:%u: not a line of text", path, p.line);
        assert(at + line_len <= len);
        memcpy(line, text + at, line_len);
        line[line_len] = '\0';
        GNN_TRY(parse_line(&p, line));
        at += line_len + 1;
    }
    return check_meta(&p);
}
