/* SPDX-License-Identifier: MIT */
/* A dataset's `meta` file: what the directory holds, in text a person can read.
 *
 *     format = oocgnn-dataset 1
 *     name = papers100m
 *     origin = generated
 *     scale = 1/100
 *     nodes = 1110599
 *     edges = 16156858
 *     classes = 172
 *     dims = 128
 *     train = 12071
 *     valid = 1252
 *     test = 2143
 *     param.seed = 1
 *     file.indptr = 8884800 0123456789abcdef0123456789abcdef
 *
 * One `key = value` a line; blank lines and lines that start with '#' are skipped; an unknown or repeated key is an
 * error. `file.NAME` holds the size in bytes and the XXH3-128 checksum in hex. The files, all little-endian and without
 * headers:
 *
 *     indptr          u64 [nodes + 1]     where a node's in-neighbour list starts in indices; [0] = 0, [nodes] = edges
 *     indices         u32 [edges]         in-neighbours, ascending inside each list
 *                                         (param.list_order = generation: as they were drawn)
 *     indices-8       u64 [edges]         the same, as systems with 64-bit IDs store it; `id_bytes` says which of the
 *                                         two there are: "4" (also without the key), "8" or "4 8"
 *     features-d<dim> f32 [nodes][dim]    one file for each entry of dims; several widths may coexist
 *     labels          i32 [nodes]         class, or -1 = unlabelled
 *     train valid test u32 [count]        node IDs, ascending
 *
 * A knowledge graph has `relations = R`, `train_triples`, `valid_triples`, `test_triples`, and in place of features
 *
 *     triples-train triples-valid triples-test  u32 [count][3]  source, relation, target
 *     node-names relation-names                 text            line i is the name of number i; `node_name_bytes` and
 *                                                               `relation_name_bytes` say how long they are; none: 0
 *
 * meta is written last and by rename: a directory without it is not a dataset. Pure text handling, no I/O here. */
#ifndef GNN_STORAGE_META_H
#define GNN_STORAGE_META_H

#include "harness/oocgnn.h"

enum {
    GNN_META_VERSION = 1,
    GNN_META_DIMS_MAX = 16,
    GNN_META_FILES_MAX = 12 + GNN_META_DIMS_MAX,
    GNN_META_PARAMS_MAX = 48,
    GNN_META_TEXT_MAX = 32 * 1024, /* bytes of a meta file */
    GNN_CHECKSUM_TEXT = 33,        /* 32 hex digits and the terminator */
};

#define GNN_META_NODE_NAMES "node-names"
#define GNN_META_RELATION_NAMES "relation-names"

/* A parameter that says how lists are ordered where they are not ascending. */
#define GNN_META_LIST_ORDER "list_order"
#define GNN_META_LIST_ORDER_GENERATION "generation"

struct gnn_meta_file {
    char name[32];
    uint64_t bytes;
    char checksum[GNN_CHECKSUM_TEXT];
};

/* How the dataset came to be: generator parameters or import options. */
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
    uint32_t dims[GNN_META_DIMS_MAX]; /* the first is the default */
    uint32_t relation_count;          /* 0: no knowledge graph, and no triples */
    uint32_t triple_count[3];         /* of train, valid, test */
    uint64_t name_bytes[2];           /* of the names of nodes and relations; 0: there are none */
    uint32_t id_widths;               /* bytes of neighbour IDs that there is a file of: 4, 8, or 4 | 8 */
    uint32_t param_count;
    struct gnn_meta_param params[GNN_META_PARAMS_MAX];
    uint32_t file_count;
    struct gnn_meta_file files[GNN_META_FILES_MAX];
};

/* Parses and checks text (len bytes, need not end in NUL): every key present, every file listed with the size that the
 * counts demand. path is for messages. GNN_EFORMAT names path, line, what was expected and what was found. */
GNN_MUST_CHECK enum gnn_status gnn_meta_parse(const char *text, size_t len, const char *path, struct gnn_meta *out,
                                              struct gnn_err *err);

/* Writes the text that parses back into the same meta; GNN_EBUG when it does not fit text_bytes. */
GNN_MUST_CHECK enum gnn_status gnn_meta_format(const struct gnn_meta *meta, char *text, size_t text_bytes,
                                               struct gnn_err *err);

/* NULL when meta has no such file or parameter. */
const struct gnn_meta_file *gnn_meta_find_file(const struct gnn_meta *meta, const char *name);
const char *gnn_meta_param(const struct gnn_meta *meta, const char *key);

/* "features-d128" into text. */
void gnn_meta_features_name(uint32_t dim, char *text, size_t text_bytes);
/* "indices" or "indices-8", for IDs of 4 or 8 bytes. */
const char *gnn_meta_indices_name(uint32_t id_bytes);

/* "triples-train" and so on, for splits 0 to 2. */
const char *gnn_meta_triples_name(int split);

/* Adds or replaces a file entry, appends a parameter (printf style). Overfull tables assert. */
void gnn_meta_add_file(struct gnn_meta *meta, const char *name, uint64_t bytes, const char *checksum);
void gnn_meta_add_param(struct gnn_meta *meta, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The size in bytes that the counts demand of a file; 0 for a name that is no dataset file. */
uint64_t gnn_meta_expected_bytes(const struct gnn_meta *meta, const char *name);

/* Identity of what a run with these widths of features and IDs reads: a hash over counts and the checksums of every
 * file except those of other widths (32 hex digits). dim 0: the topology, labels and splits alone. */
void gnn_meta_digest(const struct gnn_meta *meta, uint32_t dim, uint32_t id_bytes, char text[GNN_CHECKSUM_TEXT]);

/* ---- checksums ---- */

/* XXH3-128 of a stream, in hex as `xxh128sum` prints it. */
struct gnn_checksum;
GNN_MUST_CHECK enum gnn_status gnn_checksum_open(struct gnn_checksum **out, struct gnn_err *err);
void gnn_checksum_add(struct gnn_checksum *checksum, const void *data, uint64_t bytes);
void gnn_checksum_text(const struct gnn_checksum *checksum, char text[GNN_CHECKSUM_TEXT]);
void gnn_checksum_close(struct gnn_checksum *checksum); /* accepts NULL */

/* The same of bytes in memory. */
void gnn_checksum_of(const void *data, uint64_t bytes, char text[GNN_CHECKSUM_TEXT]);

#endif
