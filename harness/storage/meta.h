/* SPDX-License-Identifier: MIT */
/* A dataset's `meta` file: the contents of the directory, as text.
 *
 * ```
 *    format = oocgnn-dataset 1
 *    name = papers100m
 *    origin = generated
 *    scale = 1/100
 *    nodes = 1110599
 *    edges = 16156858
 *    classes = 172
 *    dims = 128
 *    train = 12071
 *    valid = 1252
 *    test = 2143
 *    param.seed = 1
 *    file.indptr = 8884800 0123456789abcdef0123456789abcdef
 * ```
 *
 * Each line is one `key = value`. Blank lines and lines that start with '#' are skipped. An unknown or repeated key is
 * an error. `file.NAME` holds the size in bytes and the XXH3-128 checksum in hex. All files are little-endian and have
 * no header:
 *
 *     `indptr`            u64 [nodes + 1]: start of each node's in-neighbour list in indices. [0] = 0, [nodes] = edges.
 *     `indices`           u32 [edges]: in-neighbours, ascending inside each list. With param.list_order = generation
 *                         they are in the order in which they were drawn, with input in that of the input.
 *     `indices-8`         u64 [edges]: the same for systems with 64-bit IDs. `id_bytes` lists which of the two exist:
 *                         "4" (also without the key), "8" or "4 8".
 *     `features-d<dim>`   f32 [nodes][dim]: one file per entry of dims; several widths may coexist.
 *     `features-f16-d<dim>`  f16 [nodes][dim]: the same as IEEE 754 half precision. `dims` lists it as "f16:<dim>".
 *     `labels`            i32 [nodes]: class, or -1 = unlabelled.
 *     `train valid test`  u32 [count]: node IDs, ascending.
 *
 * A knowledge graph has `relations = R`, `train_triples`, `valid_triples` and `test_triples`. In place of features it
 * has:
 *
 *     `triples-train triples-valid triples-test`  u32 [count][3]: source, relation, target.
 *     `node-names relation-names`                 Text: line i is the name of number i. `node_name_bytes` and
 *                                                 `relation_name_bytes` are their sizes; 0: no names.
 *
 * Next to `indices`, `indices-8`, features and triples, a preparation writes checksums of their blocks:
 *
 *     `blocks-NAME`                               Checksums of the blocks of file NAME (storage/block_sums.h).
 *                                                 `param.blocks.NAME` is the XXH3-128 of this file. Datasets of earlier
 *                                                 builds have none. Earlier builds ignore the parameter.
 *
 * The meta file is written last and by rename. A directory without it is not a dataset. This file handles text only; it
 * does no I/O. */
#ifndef GNN_STORAGE_META_H
#define GNN_STORAGE_META_H

#include "harness/base/half.h"
#include "harness/oocgnn.h"
#include "harness/storage/checksum.h"

enum {
    GNN_META_VERSION = 1,
    GNN_META_DIMS_MAX = 16,
    GNN_META_FILES_MAX = 12 + GNN_META_DIMS_MAX,
    GNN_META_PARAMS_MAX = 48,
    GNN_META_TEXT_MAX = 32 * 1024, /* bytes of a meta file */
};

#define GNN_META_NODE_NAMES "node-names"
#define GNN_META_RELATION_NAMES "relation-names"

/* Parameter with the order of lists that are not ascending. */
#define GNN_META_LIST_ORDER "list_order"
#define GNN_META_LIST_ORDER_GENERATION "generation"
#define GNN_META_LIST_ORDER_INPUT "input"
/* Parameter of a generated graph whose training nodes are a community; other graphs do not have it. */
#define GNN_META_TRAIN_SHARE "train_share"

/* Parameter of an import with the number of nodes without edges. */
#define GNN_META_ISOLATED "nodes_without_edges"

enum { GNN_META_NAME = 32 };

struct gnn_meta_file {
    char name[GNN_META_NAME];
    uint64_t bytes;
    char checksum[GNN_CHECKSUM_TEXT];
};

/* Origin of the dataset: a generator parameter or an import option. */
struct gnn_meta_param {
    char key[40];
    char value[160];
};

struct gnn_meta {
    char name[GNN_NAME_MAX];
    char origin[256];
    uint32_t scale_divisor; /* K of scale 1/K */
    uint32_t node_count;
    uint64_t edge_count;
    uint32_t class_count;
    uint32_t train_count, valid_count, test_count;
    uint32_t dim_count;
    uint32_t dims[GNN_META_DIMS_MAX]; /* the first one of a type is the default */
    enum gnn_feature_type types[GNN_META_DIMS_MAX];
    uint32_t relation_count;  /* 0: not a knowledge graph, no triples */
    uint32_t triple_count[3]; /* [0] train, [1] valid, [2] test */
    uint64_t name_bytes[2];   /* [0] names of nodes, [1] of relations; 0: no names */
    uint32_t id_widths;       /* sizes of neighbour IDs, in bytes, that have a file: 4, 8, or 4 | 8 */
    uint32_t param_count;
    struct gnn_meta_param params[GNN_META_PARAMS_MAX];
    uint32_t file_count;
    struct gnn_meta_file files[GNN_META_FILES_MAX];
};

/* Parses and checks text (len bytes, without NUL at the end). Every key must be present, and every file must have the
 * size that the counts require. path: for messages. GNN_EFORMAT: the message has path, line, expected and actual
 * value. */
GNN_MUST_CHECK enum gnn_status gnn_meta_parse(const char *text, size_t len, const char *path, struct gnn_meta *out,
                                              struct gnn_err *err);

/* Writes text that parses back into the same meta. GNN_EBUG: it does not fit text_bytes. */
GNN_MUST_CHECK enum gnn_status gnn_meta_format(const struct gnn_meta *meta, char *text, size_t text_bytes,
                                               struct gnn_err *err);

/* Returns whether the lists of neighbours are ascending. */
bool gnn_meta_is_ascending(const struct gnn_meta *meta);

/* Return the file or the parameter's value, or NULL if meta has none of this name. Both are meta's. */
const struct gnn_meta_file *gnn_meta_find_file(const struct gnn_meta *meta, const char *name);
const char *gnn_meta_param(const struct gnn_meta *meta, const char *key);

/* Writes "features-d128", "features-f16-d128" and the like to text. */
void gnn_meta_features_name(uint32_t dim, enum gnn_feature_type type, char *text, size_t text_bytes);
/* Returns the first listed width of this type, or 0 if the dataset has no features of it. */
uint32_t gnn_meta_first_dim(const struct gnn_meta *meta, enum gnn_feature_type type);
/* Appends a width. A table that is full is an assertion failure. */
void gnn_meta_add_dim(struct gnn_meta *meta, uint32_t dim, enum gnn_feature_type type);
/* Writes the widths of this type, such as "128, 64", or "none" to text. */
const char *gnn_meta_dims_text(const struct gnn_meta *meta, enum gnn_feature_type type, char *text, size_t text_bytes);
/* Returns "indices" or "indices-8", for IDs of 4 or 8 bytes. */
const char *gnn_meta_indices_name(uint32_t id_bytes);

/* Returns "triples-train" and so on, for splits 0 to 2. */
const char *gnn_meta_triples_name(int split);

/* Add or replace a file entry; append a parameter (printf style). A table that is full is an assertion failure. */
void gnn_meta_add_file(struct gnn_meta *meta, const char *name, uint64_t bytes, const char *checksum);
void gnn_meta_add_param(struct gnn_meta *meta, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns whether a file of this name has checksums of blocks in datasets that are prepared now. */
bool gnn_meta_is_blocked(const char *name);
/* Writes "blocks-features-d128" and the like to text. */
void gnn_meta_blocks_name(const char *name, char text[GNN_META_NAME]);
/* Returns the checksum of the file blocks-NAME, or NULL if the dataset has no such file. */
const char *gnn_meta_blocks(const struct gnn_meta *meta, const char *name);
/* Adds or replaces it, or returns GNN_EFORMAT if the meta has no room for another parameter. */
GNN_MUST_CHECK enum gnn_status gnn_meta_set_blocks(struct gnn_meta *meta, const char *name, const char *checksum,
                                                   struct gnn_err *err);

/* Returns the size in bytes that the counts require of a file; 0 if `name` is not a file of a dataset. */
uint64_t gnn_meta_expected_bytes(const struct gnn_meta *meta, const char *name);

/* Writes the digest of what a run with these features and this width of IDs reads (32 hex digits). It is a hash over
 * the counts and the names, sizes and checksums of the files. Files of other widths or types and the names of a
 * knowledge graph are left out. dim 0: features are left out, too. */
void gnn_meta_digest(const struct gnn_meta *meta, uint32_t dim, enum gnn_feature_type type, uint32_t id_bytes,
                     char text[GNN_CHECKSUM_TEXT]);

#endif
